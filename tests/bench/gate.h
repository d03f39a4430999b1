// A gate that blocks a stream until the host opens it.
#pragma once

#include "bench/gpu.h"

namespace gpo::bench {

/// A flag in pinned memory that a kernel waits for.
struct Gate {
    explicit Gate(Gpu& gpu) : arena(gpu.arena(0)), kernel(gpu.kernel("gate")) {
        void* memory = nullptr;
        CHECK_GPO(gpo_arena_allocate(arena, 256, GPO_AUTO, &memory));
        open = static_cast<unsigned*>(memory);
    }
    ~Gate() { gpo_arena_free(arena, open); }
    void close(gpo_stream_t stream) {
        __atomic_store_n(open, 0u, __ATOMIC_SEQ_CST);
        launch(stream, kernel, shape(1, 1), open);
    }
    void let_go() { __atomic_store_n(open, 1u, __ATOMIC_SEQ_CST); }
    Arena arena;
    Kernel kernel;
    unsigned* open = nullptr;
};

}  // namespace gpo::bench
