#include "softgpu/image/init.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace gpo::softgpu {

namespace {

/// Reads and writes the structures of a shared object (ELF) by copying them, because they may be unaligned.
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

    /// Calls each(entry) for a section's entries, and writes an entry back if the call returns true.
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

/// One of the arrays of functions that the loader calls, and the names of the functions that stay in it.
struct Kept {
    Elf64_Word section;   // type of the array's section
    Elf64_Sxword size;    // tag of the dynamic entry with the array's size
    std::string_view ours, runtime;   // part of the names in the device header; name of the C runtime's function
};
constexpr Kept kKept[] = {
    {SHT_INIT_ARRAY, DT_INIT_ARRAYSZ, "__gpo_enter", {}},
    // The C runtime's function destroys static variables of functions.
    {SHT_FINI_ARRAY, DT_FINI_ARRAYSZ, "__gpo_forget", "__do_global_dtors_aux"},
};

/// The addresses of the functions that are kept.
std::set<uint64_t> functions(Object& object, const Kept& kept) {
    std::set<uint64_t> out;
    for (const Elf64_Shdr& section : object.sections()) {
        if (section.sh_type != SHT_SYMTAB) continue;
        object.each<Elf64_Sym>(section, [&](const Elf64_Sym& symbol) {
            const std::string_view name = object.name(section, symbol);
            const bool whole = name.find('.') == name.npos;   // not a part of a function, which the compiler split off
            if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && whole &&
                (name.find(kept.ours) != name.npos || (!kept.runtime.empty() && name == kept.runtime)))
                out.insert(symbol.st_value);
            return false;
        });
    }
    return out;
}

/// Moves our functions to the front of the array and returns their number. The loader fills each element by a
/// relocation, which contains the function's address. A packed relocation doesn't: then the element contains it.
uint64_t move_to_front(Object& object, const Elf64_Shdr& array, const std::set<uint64_t>& ours) {
    uint64_t front = 0, back = array.sh_size / sizeof(uint64_t);
    bool packed = true;
    for (const Elf64_Shdr& section : object.sections()) {
        if (section.sh_type != SHT_RELA) continue;
        object.each<Elf64_Rela>(section, [&](Elf64_Rela& place) {
            if (place.r_offset < array.sh_addr || place.r_offset - array.sh_addr >= array.sh_size) return false;
            packed = false;
            const bool own = ELF64_R_SYM(place.r_info) == 0 && ours.contains(static_cast<uint64_t>(place.r_addend));
            place.r_offset = array.sh_addr + sizeof(uint64_t) * (own ? front++ : --back);
            return true;
        });
    }
    if (!packed) return front;
    std::vector<uint64_t> addresses;
    object.each<uint64_t>(array, [&](uint64_t address) {
        addresses.push_back(address);
        return false;
    });
    const auto is_ours = [&](uint64_t address) { return ours.contains(address); };
    const auto others = std::stable_partition(addresses.begin(), addresses.end(), is_ours);
    object.each<uint64_t>(array, [next = addresses.begin()](uint64_t& address) mutable {
        address = *next++;
        return true;
    });
    return static_cast<uint64_t>(others - addresses.begin());
}

/// Changes the size in the dynamic section, where the loader reads it.
void set_size(Object& object, Elf64_Sxword tag, uint64_t size) {
    for (const Elf64_Shdr& section : object.sections()) {
        if (section.sh_type != SHT_DYNAMIC) continue;
        object.each<Elf64_Dyn>(section, [&](Elf64_Dyn& entry) {
            if (entry.d_tag != tag) return false;
            entry.d_un.d_val = size;
            return true;
        });
    }
}

}  // namespace

bool initializes_variables(std::string_view object) noexcept {
    // GCC's and Clang's names for initialisers; the last two are for initialisers with a priority.
    for (std::string_view name : {"_GLOBAL__sub_I_", "_GLOBAL__sub_I.", "_GLOBAL__I_"})
        if (object.find(name) != object.npos) return true;
    return false;
}

bool keep_own_init_and_fini(std::string& bytes) {
    Object object(bytes);
    for (const Kept& kept : kKept) {
        const std::set<uint64_t> ours = functions(object, kept);
        uint64_t found = 0;
        for (const Elf64_Shdr& section : object.sections()) {
            if (section.sh_type != kept.section) continue;
            found = move_to_front(object, section, ours);
            set_size(object, kept.size, found * sizeof(uint64_t));
        }
        if (found < ours.size()) return false;
    }
    return true;
}

}  // namespace gpo::softgpu
