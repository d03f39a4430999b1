// The direct engine: kernels and copies of the library's own, over memory of other devices that a device reaches.
//
// A collective is a few phases. In each, every rank does something of its own with what others have; between two of
// them, and before the first and behind the last, all streams wait for each other (join). So nobody waits on the GPU
// for what isn't on its way, and no number of multiprocessors is needed. Reductions take the ranks in their order: an
// all-reduce reduces a piece of the data on each rank, and then each rank copies the pieces of the others.
#pragma once

#include <vector>

#include "kernel/kernel.h"
#include "peers/engine.h"

namespace gpo::peers {

class DirectEngine final : public StreamEngine {
public:
    /// The ranks' devices, which reach each other. Throws.
    explicit DirectEngine(std::span<const Ref<Context>> contexts);
    void prepare(const Collective&) override {}
    void issue(const Collective& collective, std::span<const Part> parts, void (*begin)(void*), void* of) override;

private:
    struct Rank {
        Ref<Context> context;
        Ref<Kernel> combine;
        CUevent here = nullptr;   // recorded where a rank joins
        uint32_t blocks = 1;      // that fill the device
    };
    class Issue;
    ~DirectEngine() override;

    host::Mutex lock_;            // its events; taken under submit locks, and a leaf but for driver calls
    std::vector<Rank> ranks_;
};

}  // namespace gpo::peers
