// Memory that processes of one host share, without a name in a file system; also the identity of a process, and a test
// for its end.
//
// A shared file lives in memory alone (memfd_create), for as long as any process has it open or mapped. Other processes
// of the same user open it through /proc, by the process number of the maker and the maker's descriptor. Both numbers
// may have been reused meanwhile. The file's last page therefore holds a random *key*, which is compared first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpo::host {

/// A process of this host. The system may reuse the number, but a later process with this number has a later start.
struct Process {
    int32_t number = 0;
    uint64_t start = 0;   // clock ticks since the host's own start
    bool operator==(const Process&) const = default;
};
/// The calling process; number 0 without /proc.
Process this_process() noexcept;
/// True once the process has ended, whether or not its parent has asked for its exit status. Takes some microseconds.
bool has_ended(const Process& process) noexcept;

/// Writes a text that is equal for two processes if they run on one host and share a PID namespace: the host's boot
/// identifier and the namespace.
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

    /// Makes a file of zeroes. Pages take no memory until they are written. `bytes`: a multiple of the page size. False
    /// with errno set.
    bool create(uint64_t bytes) noexcept;
    /// Opens another process's file. False with errno set; ENOENT: no such file (any more).
    bool open(const SharedFileName& name) noexcept;
    void close() noexcept;

    bool is_open() const noexcept { return descriptor_ >= 0; }
    int descriptor() const noexcept { return descriptor_; }
    uint64_t bytes() const noexcept { return bytes_; }
    /// The name by which other processes open this file. Only for files made by create().
    SharedFileName name() const noexcept;
    /// Maps the whole file, readable and writable; NULL with errno set. The mapping outlives the file's descriptor.
    void* map() const noexcept;

private:
    void swap(SharedFile& other) noexcept;

    int descriptor_ = -1;
    uint64_t bytes_ = 0, key_ = 0;   // without the key's page
};

}  // namespace gpo::host
