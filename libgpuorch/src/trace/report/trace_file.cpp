#include "trace/report/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/part_file.h"

namespace gpo::trace {

namespace {

constexpr uint64_t kBlock = 4096;  // of file systems: the unit of freed space
constexpr size_t kBoundaries = 16;
constexpr std::string_view kHeader("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);  // gzip's

ErrorPtr io_error(const std::string& path, const char* what, int number) {
    auto error = std::make_shared<Error>();
    error->status = GPO_IO_ERROR;
    error->native_code = number;
    error->native_domain = GPO_NATIVE_ERRNO;
    char reason[128];
    error->message = text(path, " ", what, ": ", strerror_r(number, reason, sizeof reason));
    return error;
}

constexpr off_t kBehind = -1;  // behind earlier writes: pipes know no other place

bool write_all(int descriptor, off_t at, std::string_view data, std::string_view behind, int* number) noexcept {
    while (!data.empty() || !behind.empty()) {
        const iovec both[2] = {{const_cast<char*>(data.data()), data.size()},
                               {const_cast<char*>(behind.data()), behind.size()}};
        const ssize_t written = at == kBehind ? ::writev(descriptor, both, 2) : ::pwritev(descriptor, both, 2, at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            *number = written < 0 ? errno : ENOSPC;
            return false;
        }
        const size_t of_data = std::min(data.size(), static_cast<size_t>(written));
        data.remove_prefix(of_data);
        behind.remove_prefix(static_cast<size_t>(written) - of_data);
        if (at != kBehind) at += written;
    }
    return true;
}

}  // namespace

File::File(const std::string& path, std::string opening, std::string closing, bool alone)
    : path_(path), opening_(std::move(opening)), closing_(std::move(closing)), gzip_(path.ends_with(".gz")) {
    boundaries_.reserve(kBoundaries + 1);
    packed_.resize(1 << 16);
    ending_.reserve(kHeader.size() + opening_.size() + closing_.size() + 13);
    claim_ = make<Claim>(path, alone);
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

// `behind` is not part of what has been written: the next call writes over it.
bool File::write(std::string_view data, std::string_view behind) noexcept {
    int number = 0;
    if (!write_all(descriptor_, claim_->regular() ? static_cast<off_t>(offset_) : kBehind, data, behind, &number)) {
        fail(number);
        return false;
    }
    offset_ += data.size();
    return true;
}

// Removes the file's old content.
bool File::empty() noexcept {
    if (claim_->regular() && ftruncate(descriptor_, 0) != 0) {
        fail(errno);
        return false;
    }
    claim_->keep_file();
    return true;
}

bool File::deflate_all(std::string_view text, bool to_boundary) noexcept {
    check_ = static_cast<uint32_t>(
        crc32(check_, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
    length_ += static_cast<uint32_t>(text.size());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    bool more;
    do {
        stream_.next_out = packed_.data();
        stream_.avail_out = static_cast<uInt>(packed_.size());
        // To a byte's end, so that the file could be closed here.
        deflate(&stream_, Z_SYNC_FLUSH);
        more = stream_.avail_out == 0;
        const std::string_view packed(reinterpret_cast<const char*>(packed_.data()),
                                      packed_.size() - stream_.avail_out);
        if (!write(packed, to_boundary && !more ? ending({0, check_, length_}) : std::string_view())) return false;
    } while (more);
    return true;
}

bool File::put(std::string_view text, bool to_boundary) noexcept {
    to_boundary = to_boundary && claim_->regular();
    if (gzip_) return deflate_all(text, to_boundary);
    return write(text, to_boundary ? std::string_view(closing_) : std::string_view());
}

void File::append(std::string_view text) noexcept {
    if (error_ || descriptor_ < 0 || text.empty()) return;
    const bool begun = offset_ != 0 || (empty() && (!gzip_ || write(kHeader)) && put(opening_, false));
    if (!begun || !put(text, true)) {
        rescue();
        return;
    }
    // Drop boundaries that are close to the next one: cutting the file there would free no block.
    const size_t count = boundaries_.size();
    if (count > 2 && boundaries_[count - 1].offset - boundaries_[count - 2].offset < kBlock) boundaries_.pop_back();
    else if (count == kBoundaries) boundaries_.erase(boundaries_.begin() + 1);
    boundaries_.push_back({offset_, check_, length_});
}

// The text that closes the file at a boundary. Before the first append (offset and length are 0): the whole file.
std::string_view File::ending(const Boundary& at) noexcept {
    const bool empty = at.length == 0 && at.offset == 0;
    ending_.clear();
    if (!gzip_) return ending_.append(empty ? opening_ : "").append(closing_);
    // A last block, stored without compression, and gzip's own end.
    const auto size = static_cast<uint16_t>(closing_.size() + (empty ? opening_.size() : 0));
    const auto little = [&](uint32_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) ending_ += static_cast<char>(value >> (8 * i) & 0xff);
    };
    if (empty) ending_ += kHeader;
    little(1, 1);
    little(size, 2);
    little(static_cast<uint16_t>(~size), 2);
    const size_t begin = ending_.size();
    ending_.append(empty ? opening_ : "").append(closing_);
    const auto check = static_cast<uint32_t>(
        crc32(at.check, reinterpret_cast<const Bytef*>(ending_.data() + begin), static_cast<uInt>(size)));
    little(check, 4);
    little(at.length + size, 4);
    return ending_;
}

int File::close_descriptor() noexcept {
    descriptor_ = -1;
    return claim_->flush();
}

// Writing the ending over an old ending takes no new room. The file is cut behind the ending afterwards.
bool File::close_at(const Boundary& at) noexcept {
    const std::string_view last = ending(at);
    int number = 0;
    if (!write_all(descriptor_, static_cast<off_t>(at.offset), last, {}, &number)) return false;
    offset_ = at.offset + last.size();
    return ftruncate(descriptor_, static_cast<off_t>(offset_)) == 0;
}

void File::rescue() noexcept {
    bool rescued = !claim_->regular();
    struct stat now;
    const uint64_t end = fstat(descriptor_, &now) == 0 ? static_cast<uint64_t>(now.st_size) : offset_;
    if (!rescued && boundaries_.size() > 1) rescued = close_at(boundaries_.back());
    // Cuts back to a boundary so early that a block becomes free, or else to the file's beginning.
    for (size_t i = boundaries_.size(); i-- > 0 && !rescued;) {
        const Boundary& at = boundaries_[i];
        if (i > 0 && at.offset + 2 * kBlock > end) continue;
        rescued = ftruncate(descriptor_, static_cast<off_t>(at.offset)) == 0 && close_at(at);
    }
    if (close_descriptor() != 0) rescued = false;
    if (!rescued) {
        unlink(path_.c_str());
        offset_ = 0;
    }
}

void File::close() noexcept {
    if (descriptor_ < 0) return;
    const bool is_whole = offset_ != 0 && claim_->regular();
    const std::string_view last = ending({offset_, check_, length_});
    if (is_whole) offset_ += last.size();
    else if ((offset_ == 0 && !empty()) || !write(last)) return rescue();
    if (const int number = close_descriptor()) {  // network file systems may report errors only now
        fail(number);
        if (claim_->regular()) unlink(path_.c_str());
    }
}

void write_whole(const std::string& path, std::string_view text, Claim* claim, bool alone) {
    int number = 0;
    if (claim && !claim->regular()) {
        write_all(claim->descriptor(), kBehind, text, {}, &number);
    } else {
        PartFile part(path);
        number = part.create(alone ? 0600 : 0644);
        if (number == 0) write_all(part.descriptor(), kBehind, text, {}, &number);
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
