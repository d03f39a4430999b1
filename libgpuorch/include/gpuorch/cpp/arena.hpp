// arena.hpp: arenas of pinned host memory (memory.h).
#ifndef GPUORCH_CPP_ARENA_HPP
#define GPUORCH_CPP_ARENA_HPP

#include <cstddef>

#include "arena_calls.hpp"
#include "memory.hpp"

namespace gpuorch {

class arena : public owner<arena_calls, gpo_arena_destroy> {
public:
    using owner::owner;

    template <class T>
    [[nodiscard]] pinned<T> allocate(std::size_t count) const {
        void* memory = nullptr;
        check(gpo_arena_allocate(get(), detail::bytes_of<T>(count), alignof(T) > 256 ? alignof(T) : GPO_AUTO, &memory));
        return pinned<T>(get(), static_cast<T*>(memory), count);
    }
};

}  // namespace gpuorch

#endif
