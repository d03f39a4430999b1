// The engine that leaves collectives to NCCL: one communicator for each rank, all of which this process has.
//
// NCCL allows one thread at a time to use a communicator, and launches what a group's calls ask for when the group
// ends. What it sets up for a kind of collective when it first does one, it does by calls that can't be recorded and
// that may wait: so each kind is done once beforehand, on streams of the engine's own (warm_up).
#pragma once

#include <vector>

#include "driver/nccl.h"
#include "peers/engine.h"

namespace gpo::peers {

class NcclEngine final : public StreamEngine {
public:
    /// Throws Failure(GPO_NOT_SUPPORTED): NCCL can't be used here.
    explicit NcclEngine(std::span<const Ref<Context>> contexts);
    int version() const noexcept { return nccl_->version(); }
    Ref<Counted> prepare(const Collective& collective, bool captured) override;
    void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared, void (*begin)(void*),
               void* of) override;

private:
    ~NcclEngine() override;
    void warm_up(const Collective& collective);
    void call(const Collective& collective, std::span<const Part> parts, std::span<const CUstream> streams);
    void check(driver::Nccl::Result result, const char* function) const;

    const driver::Nccl* nccl_ = nullptr;
    std::vector<Ref<Context>> contexts_;
    std::vector<driver::Nccl::Communicator> communicators_;
    host::Mutex lock_;            // the communicators; taken under submit locks, and a leaf but for NCCL and the driver
    std::vector<bool> warm_;      // by kind and size. Under lock_
};

}  // namespace gpo::peers
