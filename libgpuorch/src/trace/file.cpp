#include "trace/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/part_file.h"

namespace gpo::trace {

namespace {

constexpr uint64_t kBlock = 4096;  // of file systems: room that is freed comes in these
constexpr size_t kBoundaries = 16;
constexpr unsigned char kGzipHeader[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

ErrorPtr io_error(const std::string& path, const char* what, int number) {
    auto error = std::make_shared<Error>();
    error->status = GPO_IO_ERROR;
    error->native_code = number;
    error->native_domain = GPO_NATIVE_ERRNO;
    char reason[128];
    error->message = text(path, " ", what, ": ", strerror_r(number, reason, sizeof reason));
    return error;
}

bool write_all(int descriptor, const void* data, size_t size, int* number) noexcept {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t written = ::write(descriptor, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            *number = written < 0 ? errno : ENOSPC;
            return false;
        }
        at += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

}  // namespace

File::File(const std::string& path, std::string opening, std::string closing)
    : path_(path), opening_(std::move(opening)), closing_(std::move(closing)), gzip_(path.ends_with(".gz")) {
    boundaries_.reserve(kBoundaries + 1);
    packed_.resize(1 << 16);
    claim_ = make<Claim>(path);
    if (gzip_) {
        if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
        check_ = static_cast<uint32_t>(crc32(0, nullptr, 0));
    }
    boundaries_.push_back({offset_, check_, length_});
    descriptor_ = claim_->descriptor();
}

File::~File() {
    if (gzip_) deflateEnd(&stream_);
}

void File::fail(int number) noexcept {
    if (error_) return;
    try {
        error_ = io_error(path_, "can't be written any more, and ends early", number);
    } catch (...) {
        error_ = bare_error(GPO_OUT_OF_MEMORY);
    }
}

bool File::write(const void* data, size_t size) noexcept {
    int number = 0;
    if (!write_all(descriptor_, data, size, &number)) {
        fail(number);
        return false;
    }
    offset_ += size;
    return true;
}

// Of what it held before.
bool File::empty() noexcept {
    if (claim_->regular() && ftruncate(descriptor_, 0) != 0) {
        fail(errno);
        return false;
    }
    claim_->keep_file();
    return true;
}

bool File::deflate_all(std::string_view text) noexcept {
    check_ = static_cast<uint32_t>(
        crc32(check_, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
    length_ += static_cast<uint32_t>(text.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
        stream_.next_out = packed_.data();
        stream_.avail_out = static_cast<uInt>(packed_.size());
        // To a byte's end, so that the file could be closed here.
        deflate(&stream_, Z_SYNC_FLUSH);
        if (!write(packed_.data(), packed_.size() - stream_.avail_out)) return false;
    } while (stream_.avail_out == 0);
    return true;
}

bool File::put(std::string_view text) noexcept { return gzip_ ? deflate_all(text) : write(text.data(), text.size()); }

void File::append(std::string_view text) noexcept {
    if (error_ || descriptor_ < 0 || text.empty()) return;
    const bool begun = offset_ != 0 || (empty() && (!gzip_ || write(kGzipHeader, sizeof kGzipHeader)) && put(opening_));
    if (!begun || !put(text)) {
        rescue();
        return;
    }
    if (boundaries_.size() == kBoundaries) boundaries_.erase(boundaries_.begin() + 1);
    boundaries_.push_back({offset_, check_, length_});
}

// What closes the file at a boundary; at the first one, all of it.
std::string File::ending(const Boundary& at) const {
    const bool empty = at.offset == 0;
    const std::string last = empty ? opening_ + closing_ : closing_;
    if (!gzip_) return last;
    // One last block, stored as it is, and gzip's own end.
    const auto size = static_cast<uint16_t>(last.size());
    const auto check = static_cast<uint32_t>(
        crc32(at.check, reinterpret_cast<const Bytef*>(last.data()), static_cast<uInt>(last.size())));
    std::string out;
    if (empty) out.assign(reinterpret_cast<const char*>(kGzipHeader), sizeof kGzipHeader);
    const auto little = [&](uint32_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    };
    little(1, 1);
    little(size, 2);
    little(static_cast<uint16_t>(~size), 2);
    out += last;
    little(check, 4);
    little(at.length + size, 4);
    return out;
}

int File::close_descriptor() noexcept {
    descriptor_ = -1;
    return claim_->flush();
}

void File::rescue() noexcept {
    bool rescued = !claim_->regular();
    try {
        off_t end = lseek(descriptor_, 0, SEEK_CUR);
        if (end < 0) end = static_cast<off_t>(offset_);
        // A boundary so far back that the cut frees a block; if nothing was cut off, whatever there is.
        for (size_t i = boundaries_.size(); i-- > 0 && !rescued;) {
            const Boundary& at = boundaries_[i];
            if (i > 0 && at.offset + 2 * kBlock > static_cast<uint64_t>(end)) continue;
            const std::string last = ending(at);
            int number = 0;
            rescued = ftruncate(descriptor_, static_cast<off_t>(at.offset)) == 0 &&
                      lseek(descriptor_, static_cast<off_t>(at.offset), SEEK_SET) >= 0 &&
                      write_all(descriptor_, last.data(), last.size(), &number);
            if (rescued) offset_ = at.offset + last.size();
        }
    } catch (...) {}
    if (close_descriptor() != 0) rescued = false;
    if (!rescued) {
        unlink(path_.c_str());
        offset_ = 0;
    }
}

void File::close() noexcept {
    if (descriptor_ < 0) return;
    bool written = false;
    try {
        const std::string last = ending({offset_, check_, length_});
        written = (offset_ != 0 || empty()) && write(last.data(), last.size());
    } catch (...) {
        fail(ENOMEM);
    }
    if (!written) return rescue();
    if (const int number = close_descriptor()) {  // a network's file system may say it only now
        fail(number);
        if (claim_->regular()) unlink(path_.c_str());
    }
}

void write_whole(const std::string& path, std::string_view text, Claim* claim) {
    int number = 0;
    if (claim && !claim->regular()) {
        write_all(claim->descriptor(), text.data(), text.size(), &number);
    } else {
        PartFile part(path);
        number = part.create(0644);
        if (number == 0) write_all(part.descriptor(), text.data(), text.size(), &number);
        if (number == 0 && claim) number = claim->replace(part);
        if (number == 0 && !claim) number = part.close();
        if (number == 0 && !claim) number = part.put_in_place();
    }
    if (number != 0) throw Failure(io_error(path, "can't be written", number));
}

void check_writable(const std::string& path, const Claim* claim) {
    if (claim && !claim->regular()) return;
    if (const int number = PartFile(path).create(0644)) throw Failure(io_error(path, "can't be written", number));
}

}  // namespace gpo::trace
