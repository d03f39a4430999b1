// Kernels that combine the data of several ranks on a device (driver/combine.cu), and a launch of them as a value.
#pragma once

#include <span>

#include "kernel/kernel.h"
#include "peers/collective.h"
#include "stream/work.h"

namespace gpo::peers {

/// Of the module of a context.
struct PeerKernels final : Counted {
    Ref<Kernel> combine;
    Ref<Kernel> small[kTypes];   // by type
};

/// Loaded when a context's are first asked for. Throws Failure.
Ref<const PeerKernels> kernels_of(Context& context);

/// Blocks of a combine that fill the context's device. Throws Failure.
uint32_t most_combine_blocks(Context& context);

/// As many sources as one launch takes.
inline constexpr uint32_t kMostCombined = GPO_PEERS_MOST_RANKS;

/// destination[i] = sources[0][i] op sources[1][i] op ..., for elements and the reduction of a collective of all its
/// ranks, or of no more than kMostCombined.
class Combine {
public:
    /// `bytes`: of the destination.
    Combine(const PeerKernels& kernels, uint32_t most_blocks, const Collective& collective, uint64_t destination,
            std::span<const uint64_t> sources, uint64_t bytes);
    Combine(const Combine&) = delete;
    Combine& operator=(const Combine&) = delete;
    /// Refers to this.
    const KernelWork& work() const noexcept { return work_; }

private:
    uint64_t destination_, sources_[kMostCombined] = {}, count_;
    uint32_t source_count_, type_, reduction_, ranks_;
    void* arguments_[7];
    KernelWork work_;
};

}  // namespace gpo::peers
