// Modules: images that a driver has loaded, and facts about their functions.
//
// The handle, the kernels and their held launches have references to a module. After the last reference is released,
// the module is unloaded as soon as all work that was on the context's streams at that time is done. Thus no module is
// unloaded while one of its kernels may run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "gpuorch/module.h"
#include "kernel/kernel_image.h"

namespace gpo {

/// The limits for checks of launches. The driver is asked once for each module.
struct LaunchLimits {
    uint32_t max_threads = 0;
    uint32_t max_block[3] = {};
    uint32_t max_grid[3] = {};
    uint32_t multiprocessors = 0;
    bool cooperative = false, cluster = false;
};

/// The facts about a function that launches need. All kernel handles of a CUfunction share one object, since the
/// changeable value (max_dynamic_shared) belongs to the function.
struct alignas(64) Function {
    struct Parameter {
        uint32_t offset, bytes;
    };
    // Read by every launch, in one cache line:
    CUfunction native = nullptr;
    bool loaded = false;                           // the first launch has nothing to load
    bool parameters_known = false;                 // the driver could report them
    uint32_t max_threads = 0;                      // per block, for this function
    std::atomic<uint32_t> max_dynamic_shared{0};   // bytes
    std::vector<Parameter> parameters;
    // Other facts:
    std::string symbol;
    uint32_t parameter_bytes = 0;                  // with padding
    uint32_t local_bytes = 0;                      // for each thread
    /// The last occupancy that a cooperative launch asked for: threads 12 bits, dynamic shared bytes 32, blocks 20;
    /// 0: none.
    std::atomic<uint64_t> occupancy{0};
};

class Module final : public Object {
public:
    using Lowered = std::vector<std::pair<std::string, std::string>>;

    /// Loads the image. `log` gets the driver's text. Throws Failure(GPO_INVALID_IMAGE) with it.
    Module(Ref<Context> context, kernel::ImageBytes image, Lowered lowered, const char* label, std::string* log);

    Context& context() const noexcept { return *context_; }
    const kernel::ImageBytes& image() const noexcept { return image_; }
    const LaunchLimits& limits() const noexcept { return limits_; }

    /// The function that a name stands for. Throws Failure(GPO_NOT_FOUND), with a list of the kernels.
    Function& function(std::string_view name);
    /// A variable. Throws Failure(GPO_NOT_FOUND).
    std::pair<CUdeviceptr, size_t> symbol(std::string_view name);
    /// If NVSHMEM runs and its device library is linked into the module: gives the module NVSHMEM's state, which its
    /// kernels need. Called by function(), and for existing modules when NVSHMEM begins (peers/nvshmem_memory.h).
    /// Without effect for other modules, and the second time. Throws Failure(GPO_NOT_SUPPORTED): NVSHMEM refuses it.
    void begin_nvshmem();

private:
    ~Module() override;
    /// Inside a DriverScope.
    std::vector<std::string> symbols();
    void load(std::string* log);
    void load(Function& function);
    CUfunction native_function(std::string_view name, std::string* symbol);
    std::unique_ptr<Function> describe_function(CUfunction native, std::string symbol);

    const Ref<Context> context_;
    const kernel::ImageBytes image_;
    const Lowered lowered_;
    CUmodule native_ = nullptr;
    host::Mutex nvshmem_lock_;
    bool nvshmem_looked_ = false, nvshmem_begun_ = false;   // under nvshmem_lock_
    LaunchLimits limits_;
    host::Mutex functions_lock_;
    std::map<CUfunction, std::unique_ptr<Function>> functions_;   // entries stay for the module's life
    std::map<std::string, Function*, std::less<>> asked_;   // by requested name; entries stay too
};

template <>
struct TypeOf<Module> { static constexpr Type value = Type::module; };

/// Needs no DriverScope. Throws.
LaunchLimits launch_limits(Context& context);
/// Needs no DriverScope. Throws.
int device_attribute(Context& context, CUdevice_attribute which);

/// From source, by way of the cache. Throws Failure with GPO_COMPILE_FAILED, GPO_NO_COMPILER, …
Ref<Module> compile_module(Device& device, const gpo_compile_options& options);
Ref<Module> load_module(Device& device, const void* image, uint64_t bytes, const char* label);
Ref<Module> builtin_module(Device& device);

/// The calling thread's compile log.
void set_compile_log(std::string log) noexcept;
std::string_view compile_log() noexcept;

}  // namespace gpo
