#include "softgpu/image_start.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace gpo::softgpu {

namespace {

/// The parts of a shared object, read and written by copies: nothing in it need be aligned.
class Object {
public:
    explicit Object(std::string& bytes) : bytes_(bytes) {
        Elf64_Ehdr header;
        if (!read(0, header)) return;
        for (unsigned i = 0; i < header.e_shnum; ++i) {
            Elf64_Shdr section;
            if (!read(header.e_shoff + uint64_t{i} * sizeof section, section)) return;
            sections_.push_back(section);
        }
    }

    const std::vector<Elf64_Shdr>& sections() const { return sections_; }

    /// Calls each(entry) for a section's entries, and writes those back for which it returns true.
    template <class Entry, class Each>
    void each(const Elf64_Shdr& section, Each each) {
        Entry entry;
        for (uint64_t at = 0; at < section.sh_size && read(section.sh_offset + at, entry); at += sizeof entry)
            if (each(entry)) std::memcpy(bytes_.data() + section.sh_offset + at, &entry, sizeof entry);
    }

    std::string_view name(const Elf64_Shdr& symbols, const Elf64_Sym& symbol) const {
        if (symbols.sh_link >= sections_.size()) return {};
        const uint64_t at = sections_[symbols.sh_link].sh_offset + symbol.st_name;
        if (at >= bytes_.size()) return {};
        const std::string_view text = std::string_view(bytes_).substr(at);
        return text.substr(0, text.find('\0'));
    }

private:
    template <class T>
    bool read(uint64_t offset, T& out) const {
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) return false;
        std::memcpy(&out, bytes_.data() + offset, sizeof out);
        return true;
    }

    std::string& bytes_;
    std::vector<Elf64_Shdr> sections_;
};

}  // namespace

bool initializes_variables(std::string_view object) noexcept {
    // What GCC and Clang call such functions; the last two have a priority.
    for (std::string_view name : {"_GLOBAL__sub_I_", "_GLOBAL__sub_I.", "_GLOBAL__I_"})
        if (object.find(name) != object.npos) return true;
    return false;
}

bool keep_own_constructors(std::string& bytes) {
    Object object(bytes);
    const Elf64_Shdr* starts = nullptr;   // the array of functions
    std::set<uint64_t> ours;   // addresses
    for (const Elf64_Shdr& section : object.sections()) {
        if (section.sh_type == SHT_INIT_ARRAY) starts = &section;
        if (section.sh_type == SHT_SYMTAB)
            object.each<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
                const std::string_view name = object.name(section, symbol);
                const bool whole = name.find('.') == name.npos;   // no part that the compiler has split off
                if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && whole && name.find("__gpo_enter") != name.npos)
                    ours.insert(symbol.st_value);
                return false;
            });
    }
    if (!starts) return ours.empty();
    // Each place in the array is filled by a relocation, which has the function's address, or packed ones add to the address that is
    // there. Ours get the first places, and the array ends behind them.
    const auto in_array = [&](const Elf64_Rela& place) {
        return place.r_offset >= starts->sh_addr && place.r_offset - starts->sh_addr < starts->sh_size;
    };
    uint64_t kept = 0, others = starts->sh_size / sizeof(uint64_t);   // places taken from the front, and from the back
    bool packed = true;
    for (const Elf64_Shdr& section : object.sections()) {
        if (section.sh_type != SHT_RELA) continue;
        object.each<Elf64_Rela>(section, [&](Elf64_Rela& place) {
            if (!in_array(place)) return false;
            packed = false;
            const bool own = ELF64_R_SYM(place.r_info) == 0 && ours.contains(static_cast<uint64_t>(place.r_addend));
            place.r_offset = starts->sh_addr + sizeof(uint64_t) * (own ? kept++ : --others);
            return true;
        });
    }
    if (packed) {
        std::vector<uint64_t> own, foreign;
        object.each<uint64_t>(*starts, [&](uint64_t address) {
            (ours.contains(address) ? own : foreign).push_back(address);
            return false;
        });
        kept = own.size();
        own.insert(own.end(), foreign.begin(), foreign.end());
        object.each<uint64_t>(*starts, [&, at = size_t{0}](uint64_t& address) mutable {
            address = own[at++];
            return true;
        });
    }
    if (kept < ours.size()) return false;
    for (const Elf64_Shdr& section : object.sections())
        if (section.sh_type == SHT_DYNAMIC)
            object.each<Elf64_Dyn>(section, [&](Elf64_Dyn& entry) {
                if (entry.d_tag != DT_INIT_ARRAYSZ) return false;
                entry.d_un.d_val = kept * sizeof(uint64_t);
                return true;
            });
    return true;
}

}  // namespace gpo::softgpu
