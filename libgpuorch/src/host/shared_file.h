// What processes of one host share without a name in a file system: which process another one is, whether it has ended,
// and memory of one that others open.
//
// A shared file lives in memory alone (memfd_create), for as long as any process has it open or mapped. Another process
// of the same user opens it through /proc by the process that made it and that process's descriptor. Both may be
// another thing's by then, so the file's last page has a random *key*, which is compared before anything is touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpo::host {

/// A process of this host. Its number may be given again; not with the same start.
struct Process {
    int32_t number = 0;
    uint64_t start = 0;   // clock ticks since the host's own start
    bool operator==(const Process&) const = default;
};
/// The calling process; number 0 where /proc isn't there.
Process this_process() noexcept;
/// True once the process has ended, whether or not its parent has asked for its exit status. Takes some microseconds.
bool has_ended(const Process& process) noexcept;

/// A text that two processes have alike if they are on one host and know each other by the same numbers: the host's
/// boot, and the PID namespace.
void describe_place(char* to, size_t size) noexcept;

/// How another process finds a shared file.
struct SharedFileName {
    int32_t process = 0, descriptor = -1;
    uint64_t key = 0;
};

class SharedFile {
public:
    SharedFile() = default;
    ~SharedFile() { close(); }
    SharedFile(SharedFile&& other) noexcept { swap(other); }
    SharedFile& operator=(SharedFile&& other) noexcept {
        swap(other);
        return *this;
    }

    /// Of zeroes, which take no memory until they are written. `bytes` is a multiple of the page. False with errno set.
    bool create(uint64_t bytes) noexcept;
    /// Opens another process's. False with errno set; ENOENT: there is none (any more).
    bool open(const SharedFileName& name) noexcept;
    void close() noexcept;

    bool is_open() const noexcept { return descriptor_ >= 0; }
    int descriptor() const noexcept { return descriptor_; }
    uint64_t bytes() const noexcept { return bytes_; }
    /// Of a file that this process has created.
    SharedFileName name() const noexcept;
    /// All of it, readable and writable; NULL with errno set. The mapping outlives the file's descriptor.
    void* map() const noexcept;

private:
    void swap(SharedFile& other) noexcept;

    int descriptor_ = -1;
    uint64_t bytes_ = 0, key_ = 0;   // without the key's page
};

}  // namespace gpo::host
