// arena.hpp: arenas of pinned host memory (memory.h).
#ifndef GPUORCH_CPP_ARENA_HPP
#define GPUORCH_CPP_ARENA_HPP

#include <cstddef>
#include <cstdint>

#include "memory.hpp"

namespace gpuorch {

class arena : public owner<ref<gpo_arena_t>, gpo_arena_destroy> {
public:
    using owner::owner;

    template <class T>
    [[nodiscard]] pinned<T> allocate(std::size_t count) const {
        void* memory = nullptr;
        check(gpo_arena_allocate(get(), detail::bytes_of<T>(count), alignof(T) > 256 ? alignof(T) : GPO_AUTO, &memory));
        return pinned<T>(get(), static_cast<T*>(memory), count);
    }
    void trim(std::uint64_t keep_bytes) const { check(gpo_arena_trim(get(), keep_bytes)); }
    gpo_memory_statistics statistics() const { return detail::got(gpo_arena_get_statistics, get()); }
};

}  // namespace gpuorch

#endif
