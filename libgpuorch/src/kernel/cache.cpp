#include "kernel/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/digest.h"
#include "base/text.h"

namespace gpo::kernel {

namespace {

constexpr char kMagic[8] = {'G', 'P', 'O', 'C', 'A', 'C', 'H', '1'};
constexpr size_t kHeader = sizeof kMagic + sizeof(uint64_t) + 32;   // magic, length of all, SHA-256 of what follows
constexpr uint64_t kLargestEntry = 1u << 30;
constexpr const char kSuffix[] = ".kernel";
constexpr const char kKeptSuffix[] = ".kept";
constexpr const char kTemporary[] = ".new-";
constexpr time_t kAbandoned = 3600;   // seconds after which a temporary file counts as abandoned

class File {
public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return descriptor_; }

private:
    const int descriptor_;
};

int open_at(int folder, const char* name, int flags, mode_t mode = 0) {
    for (;;) {
        const int descriptor = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
        if (descriptor >= 0 || errno != EINTR) return descriptor;
    }
}

bool read_all(int descriptor, char* to, size_t count) {
    while (count) {
        const ssize_t part = read(descriptor, to, count);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return false;
        to += part;
        count -= static_cast<size_t>(part);
    }
    return true;
}

bool write_all(int descriptor, const char* from, size_t count) {
    while (count) {
        const ssize_t part = write(descriptor, from, count);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) return false;
        from += part;
        count -= static_cast<size_t>(part);
    }
    return true;
}

bool is_ours(const struct stat& status) {
    return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void put(std::string& out, uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void put(std::string& out, std::string_view field) {
    put(out, uint64_t{field.size()});
    out.append(field);
}

class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    bool number(uint64_t* out) {
        if (rest_.size() < sizeof *out) return false;
        std::memcpy(out, rest_.data(), sizeof *out);
        rest_.remove_prefix(sizeof *out);
        return true;
    }
    bool field(std::string_view* out) {
        uint64_t length = 0;
        if (!number(&length) || length > rest_.size()) return false;
        *out = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
    }
    bool at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

std::string pack(const std::string& key, const driver::CompileResult& result) {
    std::string body;
    put(body, key);
    put(body, result.log);
    put(body, uint64_t{result.lowered.size()});
    for (const auto& [expression, symbol] : result.lowered) {
        put(body, expression);
        put(body, symbol);
    }
    put(body, std::string_view(reinterpret_cast<const char*>(result.image.data()), result.image.size()));
    Digest digest;
    digest.add(body.data(), body.size());
    const auto sum = digest.finish();
    std::string entry(kMagic, sizeof kMagic);
    put(entry, uint64_t{kHeader + body.size()});
    entry.append(reinterpret_cast<const char*>(sum.data()), sum.size());
    return entry + body;
}

bool unpack(std::string_view entry, const std::string& key, driver::CompileResult* result) {
    if (entry.size() < kHeader || std::memcmp(entry.data(), kMagic, sizeof kMagic) != 0) return false;
    uint64_t length = 0;
    std::memcpy(&length, entry.data() + sizeof kMagic, sizeof length);
    if (length != entry.size()) return false;
    const std::string_view body = entry.substr(kHeader);
    Digest digest;
    digest.add(body.data(), body.size());
    const auto sum = digest.finish();
    if (std::memcmp(sum.data(), entry.data() + sizeof kMagic + sizeof length, sum.size()) != 0) return false;
    Reader reader(body);
    std::string_view key_in_entry, log, image;
    uint64_t names = 0;
    if (!reader.field(&key_in_entry) || key_in_entry != key) return false;
    if (!reader.field(&log) || !reader.number(&names)) return false;
    for (uint64_t i = 0; i < names; ++i) {
        std::string_view expression, symbol;
        if (!reader.field(&expression) || !reader.field(&symbol)) return false;
        result->lowered.emplace_back(expression, symbol);
    }
    if (!reader.field(&image) || !reader.at_end()) return false;
    result->log = log;
    const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
    result->image.assign(bytes, bytes + image.size());
    result->ok = true;
    return true;
}

/// A checksum against accidents, not against forgery: a file that was cut short, or that the disk altered. With four
/// independent lanes, the sum is as fast as reading the memory.
uint64_t sum_of(std::string_view bytes) {
    constexpr uint64_t kPrime = 0x9e3779b97f4a7c15u;
    uint64_t lanes[4] = {1, 2, 3, bytes.size()};
    const auto add = [](uint64_t& lane, uint64_t word) {
        lane = (lane ^ word) * kPrime;
        lane ^= lane >> 29;
    };
    size_t at = 0;
    for (; at + sizeof lanes <= bytes.size(); at += sizeof lanes)
        for (size_t i = 0; i < 4; ++i) {
            uint64_t word;
            std::memcpy(&word, bytes.data() + at + 8 * i, sizeof word);
            add(lanes[i], word);
        }
    for (; at < bytes.size(); ++at) add(lanes[0], static_cast<unsigned char>(bytes[at]));
    uint64_t sum = kPrime;
    for (const uint64_t lane : lanes) add(sum, lane);
    return sum;
}

constexpr size_t kKeptHeader = 4 * sizeof(uint64_t);   // magic, sum of the name, length of what follows, sum of it

std::string kept_header(const std::string& name, std::string_view bytes) {
    std::string header("GPOKEPT1");
    put(header, sum_of(name));
    put(header, uint64_t{bytes.size()});
    put(header, sum_of(bytes));
    return header;
}

/// Makes the folder and all folders above it, with mode 0700. Folders that exist stay unchanged.
void make_folders(const std::string& path) {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        mkdir(path.substr(0, slash).c_str(), 0700);
        if (slash == std::string::npos) return;
    }
}

}  // namespace

std::string cache_key(const driver::CompileRequest& request, const std::string& inputs, const std::string& compiler,
                      const char* driver) {
    Digest digest;
    digest.add_field(request.dynamic_parallelism ? "gpuorch kernel 2 launches" : "gpuorch kernel 2");
    digest.add_field(inputs);
    digest.add_field(driver);
    digest.add_field(compiler);
    digest.add_field(static_cast<uint64_t>(request.compute_capability));
    digest.add_field(request.source);
    digest.add_field(request.file_name);   // assert and #line show it
    for (const auto* list : {&request.options, &request.name_expressions}) {
        digest.add_field(uint64_t{list->size()});
        for (const std::string& item : *list) digest.add_field(item);
    }
    digest.add_field(uint64_t{request.headers.size()});
    for (const auto& [name, text] : request.headers) {
        digest.add_field(name);
        digest.add_field(text);
    }
    return hex_of(digest.finish());
}

Cache::Cache(const std::string& folder, uint64_t capacity) : capacity_(capacity) {
    if (folder.empty()) {
        refused_ = "none was asked for";
        return;
    }
    make_folders(folder);
    folder_ = open_at(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
    struct stat status;
    if (folder_ < 0)
        refused_ = errno == ELOOP || errno == ENOTDIR ? text(folder, " is not a folder, or a link")
                                                      : text(folder, " can't be opened: ", std::strerror(errno));
    else if (fstat(folder_, &status) != 0)
        refused_ = text(folder, " can't be looked at: ", std::strerror(errno));
    else if (status.st_uid != geteuid())
        refused_ = text(folder, " belongs to another user");
    else if (!is_ours(status))
        refused_ = text(folder, " may be written to by other users");
    if (!refused_.empty() && folder_ >= 0) {
        close(folder_);
        folder_ = -1;
    }
}

Cache::~Cache() {
    if (folder_ >= 0) close(folder_);
}

std::optional<std::string> Cache::read(const std::string& name) {
    if (folder_ < 0) return std::nullopt;
    const File file(open_at(folder_, name.c_str(), O_RDONLY | O_NONBLOCK));
    if (file.get() < 0) return std::nullopt;
    struct stat status;
    const bool trusted = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && is_ours(status) &&
                         status.st_size >= 0 && static_cast<uint64_t>(status.st_size) <= kLargestEntry;
    std::string bytes(trusted ? static_cast<size_t>(status.st_size) : 0, '\0');
    if (!trusted || !read_all(file.get(), bytes.data(), bytes.size())) {
        unlinkat(folder_, name.c_str(), 0);
        return std::nullopt;
    }
    futimens(file.get(), nullptr);   // used now: the oldest go first. Failure is harmless, as in a read-only folder
    return bytes;
}

bool Cache::write(const std::string& name, std::string_view first, std::string_view second) {
    if (folder_ < 0 || first.size() + second.size() > std::min(capacity_, kLargestEntry)) return false;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
    const std::string temporary = text(kTemporary, hex(random));
    bool written = false;
    struct stat status{};
    {
        const File file(open_at(folder_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
        if (file.get() < 0) return false;
        written = write_all(file.get(), first.data(), first.size()) &&
                  write_all(file.get(), second.data(), second.size()) && fstat(file.get(), &status) == 0;
    }
    written = written && renameat(folder_, temporary.c_str(), folder_, name.c_str()) == 0;
    if (!written)
        unlinkat(folder_, temporary.c_str(), 0);
    else
        evict(status.st_mtim.tv_sec);
    return written;
}

std::optional<driver::CompileResult> Cache::find(const std::string& key) {
    const auto entry = read(key + kSuffix);
    if (!entry) return std::nullopt;
    driver::CompileResult result;
    if (unpack(*entry, key, &result)) return result;
    remove(key);
    return std::nullopt;
}

bool Cache::store(const std::string& key, const driver::CompileResult& result) {
    return folder_ >= 0 && write(key + kSuffix, pack(key, result), {});
}

std::optional<std::string> Cache::take(const std::string& name) {
    auto kept = read(name + kKeptSuffix);
    if (!kept) return std::nullopt;
    const std::string_view bytes = std::string_view(*kept).substr(std::min(kept->size(), kKeptHeader));
    if (kept->size() < kKeptHeader || kept->compare(0, kKeptHeader, kept_header(name, bytes)) != 0) {
        unlinkat(folder_, (name + kKeptSuffix).c_str(), 0);
        return std::nullopt;
    }
    kept->erase(0, kKeptHeader);
    return kept;
}

bool Cache::put(const std::string& name, std::string_view bytes) {
    return folder_ >= 0 && write(name + kKeptSuffix, kept_header(name, bytes), bytes);
}

void Cache::remove(const std::string& key) noexcept {
    try {
        if (folder_ >= 0) unlinkat(folder_, (key + kSuffix).c_str(), 0);
    } catch (...) {
        // No memory for the file name. The entry stays, and find() refuses it again.
    }
}

void Cache::evict(time_t now) {
    struct Entry {
        std::string name;
        timespec used;
        uint64_t bytes;
    };
    const int descriptor = open_at(folder_, ".", O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) return;
    DIR* listing = fdopendir(descriptor);
    if (!listing) {
        close(descriptor);
        return;
    }
    std::vector<Entry> entries;
    uint64_t total = 0;
    try {
        while (const dirent* item = readdir(listing)) {
            const std::string_view name = item->d_name;
            struct stat status;
            if (fstatat(folder_, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
            if (name.starts_with(kTemporary)) {
                if (now - status.st_mtim.tv_sec > kAbandoned) unlinkat(folder_, item->d_name, 0);
            } else if (name.ends_with(kSuffix) || name.ends_with(kKeptSuffix)) {
                entries.push_back({std::string(name), status.st_mtim, static_cast<uint64_t>(status.st_size)});
                total += entries.back().bytes;
            }
        }
    } catch (...) {
        closedir(listing);
        throw;
    }
    closedir(listing);
    if (total <= capacity_) return;
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
    });
    // Down to seven eighths of the capacity, so that the next stores evict nothing.
    for (const Entry& entry : entries) {
        if (total <= capacity_ - capacity_ / 8) return;
        if (unlinkat(folder_, entry.name.c_str(), 0) == 0) total -= entry.bytes;
    }
}

}  // namespace gpo::kernel
