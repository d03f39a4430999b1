#include "softgpu/image/check.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gpo::softgpu {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif

/// The bytes, read by copies: nothing in an image need be aligned.
class Bytes {
public:
    Bytes(const char* data, size_t size) : data_(data), size_(size) {}
    bool holds(uint64_t offset, uint64_t length) const { return offset <= size_ && length <= size_ - offset; }
    template <class T>
    bool read(uint64_t offset, T& out) const {
        if (!holds(offset, sizeof(T))) return false;
        std::memcpy(&out, data_ + offset, sizeof(T));
        return true;
    }
    /// Does the string at `offset`, ended within [.., end), equal `text`?
    bool equals(uint64_t offset, uint64_t end, const char* text) const {
        const size_t length = std::strlen(text) + 1;
        return offset < end && length <= end - offset && std::memcmp(data_ + offset, text, length) == 0;
    }

private:
    const char* data_;
    uint64_t size_;
};

bool right_header(const Elf64_Ehdr& header) {
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_ident[EI_VERSION] == EV_CURRENT;
}

const char* segments_fault(const Bytes& bytes, const Elf64_Ehdr& header) {
    bool loads = false, dynamic = false;
    uint64_t previous_end = 0;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!bytes.read(header.e_phoff + uint64_t{i} * sizeof segment, segment))
            return "its program headers are cut short";
        if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC) continue;
        if (!bytes.holds(segment.p_offset, segment.p_filesz)) return "a segment is cut short";
        if (segment.p_filesz > segment.p_memsz) return "a segment's sizes don't agree";
        if (segment.p_type == PT_DYNAMIC) {
            dynamic = true;
            continue;
        }
        uint64_t end;
        if (__builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &end) || segment.p_vaddr < previous_end ||
            end > uint64_t{1} << 40 || (segment.p_vaddr - segment.p_offset) % 4096 != 0)
            return "its segments are out of order";
        previous_end = end;
        loads = true;
    }
    return !loads ? "it has no segment to load" : !dynamic ? "it isn't a shared object" : nullptr;
}

const char* sections_fault(const Bytes& bytes, const Elf64_Ehdr& header) {
    bool found = false;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        if (!bytes.read(header.e_shoff + uint64_t{i} * sizeof section, section))
            return "its section headers are cut short";
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
            !bytes.holds(section.sh_offset, section.sh_size))
            return "a section is cut short";
        if (section.sh_type != SHT_DYNSYM || found) continue;
        Elf64_Shdr names;
        if (section.sh_link >= header.e_shnum ||
            !bytes.read(header.e_shoff + uint64_t{section.sh_link} * sizeof names, names) ||
            !bytes.holds(names.sh_offset, names.sh_size))
            return "its symbol names are cut short";
        for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size && !found; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;
            bytes.read(section.sh_offset + at, symbol);
            uint64_t name;
            if (symbol.st_shndx == SHN_UNDEF || __builtin_add_overflow(names.sh_offset, symbol.st_name, &name))
                continue;
            found = bytes.equals(name, names.sh_offset + names.sh_size, kImageGetter);
        }
    }
    return found ? nullptr : "it doesn't export gpo_soft_image_get";
}

}  // namespace

size_t image_size(const char* data) noexcept {
    Elf64_Ehdr header;
    std::memcpy(&header, data, SELFMAG);   // no more is read of what isn't ELF
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    std::memcpy(&header, data, sizeof header);
    if (!right_header(header) || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shoff > uint64_t{1} << 40 || header.e_phoff > header.e_shoff)
        return 0;
    uint64_t size = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        std::memcpy(&segment, data + header.e_phoff + i * sizeof segment, sizeof segment);
        uint64_t end;
        if (segment.p_type != PT_LOAD || __builtin_add_overflow(segment.p_offset, segment.p_filesz, &end)) continue;
        size = std::max(size, end);
    }
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        std::memcpy(&section, data + header.e_shoff + i * sizeof section, sizeof section);
        uint64_t end;
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL ||
            __builtin_add_overflow(section.sh_offset, section.sh_size, &end))
            continue;
        size = std::max(size, end);
    }
    return size;
}

const char* image_fault(const char* data, size_t size) noexcept {
    const Bytes bytes(data, size);
    Elf64_Ehdr header;
    if (!bytes.read(0, header)) return size == 0 ? "it is empty or not ELF" : "it is too short";
    if (!right_header(header)) return "it isn't a 64-bit ELF file";
    if (header.e_machine != kMachine) return "it is for another kind of processor";
    if (header.e_type != ET_DYN) return "it isn't a shared object";
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr) || header.e_phnum == 0 ||
        header.e_shnum == 0)
        return "its headers are not those of a shared object";
    if (!bytes.holds(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
        return "its program headers are cut short";
    if (!bytes.holds(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
        return "its section headers are cut short";
    if (const char* fault = segments_fault(bytes, header)) return fault;
    return sections_fault(bytes, header);
}

}  // namespace gpo::softgpu
