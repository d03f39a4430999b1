// The launch of a kernel, as an operation.
//
// This is the library's hottest path. The limits for its checks are stored with the function. Between the caller and
// cuLaunchKernel nothing is allocated, and no lock is taken but the stream's submit lock.
#pragma once

#include "kernel/kernel.h"
#include "stream/operation.h"
#include "stream/stream.h"
#include "stream/work.h"

namespace gpo {

class LaunchKernel : public Operation {
public:
    /// Checks the shape and the arguments. Refers to `kernel`, `arguments` and `sizes`, which must outlive it. Throws
    /// Failure(GPO_INVALID_ARGUMENT, GPO_LIMIT_EXCEEDED, GPO_NOT_SUPPORTED).
    LaunchKernel(Kernel& kernel, const gpo_launch& launch, const void* const* arguments, const uint32_t* sizes,
                 uint32_t count);
    /// Throws Failure(GPO_INVALID_HANDLE, GPO_INVALID_ARGUMENT) if the kernel can't run on the stream's device.
    static void require_device(const Kernel& kernel, const Stream& stream) {
        if (&kernel.context() != &stream.context()) [[unlikely]] fail_device(kernel, stream);
    }

    const KernelWork& record() const noexcept { return work_; }

    /// False for a launch that has to load its function first.
    bool plain() const noexcept override { return kernel_.function().loaded; }
    void issue(Stream& stream) override;
    bool add_to(Stream& stream, StreamRecording& recording) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override { return {trace::Engine::kernel}; }
    Ref<const Counted> owner() const noexcept override { return Ref<const Counted>(&kernel_); }
    LearnableWork learnable() const noexcept override;
    std::vector<uint32_t> argument_bytes() const override;

protected:
    /// For a held launch, which was checked already.
    LaunchKernel(const LaunchKernel& other, void** arguments) noexcept
        : Operation(other), kernel_(other.kernel_), work_(other.work_) {
        work_.arguments = arguments;
    }

private:
    // The fast checks only return whether all is well; the slow checks find the fault and throw.
    bool shape_fits() const noexcept;
    bool arguments_match() const noexcept;
    [[gnu::cold, gnu::noinline]] void check_shape() const;
    [[gnu::cold, gnu::noinline]] void check_arguments() const;
    [[gnu::cold, gnu::noinline]] void check_rest(const gpo_launch& launch) const;
    void check_cluster() const;
    void check_cooperative() const;
    [[noreturn, gnu::cold, gnu::noinline]] static void fail_device(const Kernel& kernel, const Stream& stream);
    [[noreturn, gnu::cold, gnu::noinline]] void fail_launch(Stream& stream, const Issued& issued) const;

    Kernel& kernel_;
    KernelWork work_;
    const uint32_t* sizes_ = nullptr;
    uint32_t count_ = 0;
};

}  // namespace gpo
