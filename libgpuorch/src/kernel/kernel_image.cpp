#include "kernel/kernel_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace gpo::kernel {

namespace {

constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr size_t kPadding = 64;
constexpr size_t kLongestName = 4096;

using Bytes = std::span<const std::byte>;

template <class T>
bool read_at(Bytes bytes, uint64_t offset, T* out) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
    std::memcpy(out, bytes.data() + offset, sizeof(T));
    return true;
}

bool within(Bytes bytes, uint64_t offset, uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
}

bool is_elf(Bytes bytes) { return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0; }

/// Headers, sections and segments lie within the bytes.
bool elf_is_whole(Bytes bytes) {
    Elf64_Ehdr header;
    if (!read_at(bytes, 0, &header)) return false;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) return false;
    if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) return false;
    if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) return false;
    if (!header.e_shnum && !header.e_phnum) return false;
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        if (header.e_shoff > bytes.size()) return false;
        if (!read_at(bytes, header.e_shoff + i * sizeof section, &section)) return false;
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !within(bytes, section.sh_offset, section.sh_size))
            return false;
    }
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (header.e_phoff > bytes.size()) return false;
        if (!read_at(bytes, header.e_phoff + i * sizeof segment, &segment)) return false;
        if (segment.p_filesz && !within(bytes, segment.p_offset, segment.p_filesz)) return false;
    }
    return true;
}

struct FatbinHeader {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t body_bytes;
};

bool fatbin_is_whole(Bytes bytes) {
    FatbinHeader header;
    return read_at(bytes, 0, &header) && header.header_bytes >= sizeof header && header.header_bytes <= bytes.size() &&
           within(bytes, header.header_bytes, header.body_bytes);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// True if the first token that is no comment is the .version directive, and there is no NUL except at the end.
bool is_ptx(std::string_view text) {
    while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
    if (text.find('\0') != std::string_view::npos) return false;
    for (;;) {
        while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
        size_t end = 0;
        if (text.starts_with("//"))
            end = text.find('\n');
        else if (text.starts_with("/*"))
            end = text.find("*/", 2);
        else
            return text.starts_with(".version");
        if (end == std::string_view::npos) return false;
        text.remove_prefix(end + (text[end] == '*' ? 2 : 1));
    }
}

bool is_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

std::vector<std::string> identifiers_of(std::string_view bytes) {
    std::vector<std::string> names;
    size_t begin = 0;
    for (size_t at = 0; at < bytes.size(); ++at) {
        if (is_identifier(bytes[at])) continue;
        if (bytes[at] == '\0' && at > begin && at - begin <= kLongestName)
            names.emplace_back(bytes.substr(begin, at - begin));
        begin = at + 1;
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string> kernels_of_ptx(std::string_view text) {
    std::vector<std::string> names;
    for (size_t at = text.find(".entry"); at != std::string_view::npos; at = text.find(".entry", at)) {
        at += 6;
        while (at < text.size() && is_space(text[at])) ++at;
        const size_t begin = at;
        while (at < text.size() && !is_space(text[at]) && text[at] != '(' && text[at] != '{' && text[at] != '\0') ++at;
        if (at > begin) names.emplace_back(text.substr(begin, at - begin));
    }
    return names;
}

}  // namespace

ImageBytes::ImageBytes(const void* data, size_t size) : size_(size) {
    const Bytes bytes(static_cast<const std::byte*>(data), size);
    const std::string_view text(static_cast<const char*>(data), size);
    uint32_t magic = 0;
    read_at(bytes, 0, &magic);
    bool whole = true;
    if (is_elf(bytes))
        whole = elf_is_whole(bytes);
    else if (magic == kFatbinMagic)
        whole = fatbin_is_whole(bytes);
    else if (!text.starts_with(kBuiltinMagic) && !is_ptx(text))
        fail(GPO_INVALID_IMAGE, "the ", size, " bytes are neither an ELF file, nor a fatbin, nor PTX");
    if (!whole)
        fail(GPO_INVALID_IMAGE, "the image has ", size, " bytes, fewer than its headers tell: it is cut short or "
             "altered");
    if (size > SIZE_MAX - kPadding) fail(GPO_INVALID_ARGUMENT, "bytes is ", size);
    bytes_.resize(size + kPadding);
    std::memcpy(bytes_.data(), data, size);
}

std::vector<std::string> names_in_image(Bytes image) {
    const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
    if (is_elf(image)) return identifiers_of(text);
    return is_ptx(text) ? kernels_of_ptx(text) : std::vector<std::string>{};
}

}  // namespace gpo::kernel
