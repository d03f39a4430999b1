#include "kernel/module.h"

#include <algorithm>

#include "driver/nvshmem.h"
#include "kernel/kernel_names.h"
#include "stream/streams.h"
#include "trace/record.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

constexpr size_t kLogBytes = 64 * 1024;

/// Results of loading that say something about the image and nothing about the driver.
bool blames_image(CUresult result) noexcept {
    switch (result) {
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_SOURCE:
        case CUDA_ERROR_FILE_NOT_FOUND:
        case CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND:
        case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_NOT_FOUND: return true;
        default: return false;
    }
}

class Unload final : public BlockingCall {
public:
    Unload(Context& context, CUmodule module, bool of_nvshmem) noexcept
        : BlockingCall(context), module_(module), of_nvshmem_(of_nvshmem) {}

private:
    void call(bool ok) noexcept override {
        const driver::Nvshmem* const nvshmem = of_nvshmem_ ? driver::Nvshmem::running() : nullptr;
        if (ok && nvshmem && nvshmem->nvshmemx_cumodule_finalize) {
            const driver::Nvshmem::Calls calls(nvshmem->calls());
            nvshmem->nvshmemx_cumodule_finalize(module_);
        }
        if (ok && context().table().cuModuleUnload(module_) == CUDA_SUCCESS)
            serialised(context().runtime(), Serialising::module_load);
        delete this;
    }
    const CUmodule module_;
    const bool of_nvshmem_;
};

uint32_t attribute(Context& context, CUdevice_attribute which) {
    return static_cast<uint32_t>(std::max(device_attribute(context, which), 0));
}

// Drivers before CUDA 12.4 can't report the parameters that a graph with the kernel needs.
bool needs_room(const Function& function) {
    return function.local_bytes > Room::kLocalBytes && function.parameters_known;
}

}  // namespace

int device_attribute(Context& context, CUdevice_attribute which) {
    CUdevice device = 0;
    context.check(context.table().cuDeviceGet(&device, context.ordinal()), "cuDeviceGet");
    int value = 0;
    context.check(context.table().cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
}

LaunchLimits launch_limits(Context& context) {
    LaunchLimits limits;
    limits.max_threads = attribute(context, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    constexpr CUdevice_attribute kBlock[] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                             CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    constexpr CUdevice_attribute kGrid[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    for (int i = 0; i < 3; ++i) {
        limits.max_block[i] = attribute(context, kBlock[i]);
        limits.max_grid[i] = attribute(context, kGrid[i]);
    }
    limits.multiprocessors = attribute(context, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    limits.cooperative = attribute(context, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0;
    limits.cluster = attribute(context, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
    return limits;
}

Module::Module(Ref<Context> context, kernel::ImageBytes image, Lowered lowered, const char* label, std::string* log)
    : Object(context->runtime(), Type::module, label),
      context_(std::move(context)),
      image_(std::move(image)),
      lowered_(std::move(lowered)) {
    DriverScope scope(*context_);
    limits_ = launch_limits(*context_);
    load(log);
}

void Module::begin_nvshmem() {
    const driver::Nvshmem* const nvshmem = driver::Nvshmem::running();
    if (!nvshmem) return;
    std::lock_guard lock(nvshmem_lock_);
    if (nvshmem_looked_) return;
    const DriverScope scope(*context_);
    CUdeviceptr state = 0;
    size_t bytes = 0;
    if (context_->table().cuModuleGetGlobal(&state, &bytes, native_, "nvshmemi_device_state_d") == CUDA_SUCCESS) {
        const driver::Nvshmem::Calls calls(nvshmem->calls());
        if (const int result = nvshmem->nvshmemx_cumodule_init(native_); result != driver::Nvshmem::kSuccess)
            fail(GPO_NOT_SUPPORTED, describe(), ": nvshmemx_cumodule_init has failed (", result,
                 "): it has to be linked with the device library of NVSHMEM ",
                 driver::Nvshmem::version_text(nvshmem->version()), ", which the process has loaded");
        nvshmem_begun_ = true;
    }
    nvshmem_looked_ = true;
}

void Module::load(std::string* log) {
    std::vector<char> info(kLogBytes), errors(kLogBytes);
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {info.data(), reinterpret_cast<void*>(kLogBytes), errors.data(),
                      reinterpret_cast<void*>(kLogBytes)};
    const BlockingCalls::Now now(*context_, "loading a module");
    const uint64_t begin = trace::on() ? host::now() : 0;
    const CUresult result = context_->table().cuModuleLoadDataEx(&native_, image_.data(), 4, options, values);
    info.back() = errors.back() = '\0';
    std::string text_of_errors = errors.data();
    while (!text_of_errors.empty() && text_of_errors.back() == '\n') text_of_errors.pop_back();
    if (log) *log = text(info.data(), info[0] && !text_of_errors.empty() ? "\n" : "", text_of_errors);
    if (result == CUDA_SUCCESS) {
        serialised(runtime(), Serialising::module_load, 0, begin);
        return;
    }
    native_ = nullptr;
    if (!blames_image(result)) context_->check(result, "cuModuleLoadDataEx");
    auto error = std::make_shared<Error>(*context_->error_of(result, "cuModuleLoadDataEx"));
    error->status = GPO_INVALID_IMAGE;
    error->object = describe();
    if (!text_of_errors.empty()) error->message += ": " + text_of_errors;
    throw Failure(std::move(error));
}

Module::~Module() {
    if (!native_ || host::forked()) return;
    Streams& streams = Streams::of(*context_);
    for (const auto& [native, function] : functions_)
        if (needs_room(*function)) streams.room().remove_kernel(native);
    try {
        auto unload = std::make_unique<Unload>(*context_, native_, nvshmem_begun_);
        streams.when_all_pass([call = unload.get()](bool) { call->make(); });
        static_cast<void>(unload.release());
    } catch (...) {
        // No memory for a wait. The module stays loaded until its context is destroyed: that is always safe.
    }
}

std::vector<std::string> Module::symbols() {
    const driver::Table& table = context_->table();
    if (!table.cuModuleGetFunctionCount || !table.cuModuleEnumerateFunctions || !table.cuFuncGetName) {
        // This driver can't list them: ask for every name that occurs in the image.
        std::vector<std::string> names = kernel::names_in_image(image_.bytes());
        std::erase_if(names, [&](const std::string& name) {
            CUfunction function = nullptr;
            return table.cuModuleGetFunction(&function, native_, name.c_str()) != CUDA_SUCCESS;
        });
        return names;
    }
    unsigned count = 0;
    context_->check(table.cuModuleGetFunctionCount(&count, native_), "cuModuleGetFunctionCount");
    std::vector<CUfunction> functions(count);
    if (count)
        context_->check(table.cuModuleEnumerateFunctions(functions.data(), count, native_),
                        "cuModuleEnumerateFunctions");
    std::vector<std::string> names;
    for (const CUfunction function : functions) {
        const char* name = nullptr;
        if (function && table.cuFuncGetName(&name, function) == CUDA_SUCCESS && name) names.emplace_back(name);
    }
    return names;
}

CUfunction Module::native_function(std::string_view name, std::string* symbol) {
    const driver::Table& table = context_->table();
    CUfunction function = nullptr;
    // Most names are symbols of the module: look the name up before listing all symbols.
    *symbol = name;
    for (const auto& [expression, lowered] : lowered_)
        if (expression == name) *symbol = lowered;
    // CUDA calls an empty name invalid; for us no kernel has the name.
    CUresult result =
        name.empty() ? CUDA_ERROR_NOT_FOUND : table.cuModuleGetFunction(&function, native_, symbol->c_str());
    if (result == CUDA_ERROR_NOT_FOUND) {
        std::string why;
        *symbol = kernel::find_symbol(name, symbols(), lowered_, &why);
        if (symbol->empty()) fail(GPO_NOT_FOUND, why);
        result = table.cuModuleGetFunction(&function, native_, symbol->c_str());
        if (result == CUDA_ERROR_NOT_FOUND) fail(GPO_NOT_FOUND, "`", *symbol, "` is no kernel of the module");
    }
    context_->check(result, "cuModuleGetFunction");
    return function;
}

// Loads the function now, since a load by the first launch would serialise the device. A driver without cuFuncLoad
// loads with the first launch: its load is counted here all the same.
void Module::load(Function& function) {
    const driver::Table& table = context_->table();
    const uint64_t begin = trace::on() ? host::now() : 0;
    if (table.cuFuncLoad) {
        context_->check(table.cuFuncLoad(function.native), "cuFuncLoad");
        function.loaded = true;
    }
    serialised(runtime(), Serialising::module_load, 0, begin);
}

std::unique_ptr<Function> Module::describe_function(CUfunction native, std::string symbol) {
    const driver::Table& table = context_->table();
    auto function = std::make_unique<Function>();
    function->native = native;
    function->symbol = std::move(symbol);
    load(*function);

    int value = 0;
    context_->check(table.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, native),
                    "cuFuncGetAttribute");
    function->max_threads = static_cast<uint32_t>(value);
    context_->check(table.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, native),
                    "cuFuncGetAttribute");
    function->max_dynamic_shared.store(static_cast<uint32_t>(value), std::memory_order_relaxed);
    context_->check(table.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, native), "cuFuncGetAttribute");
    function->local_bytes = static_cast<uint32_t>(value);
    if (!table.cuFuncGetParamInfo) return function;
    for (size_t i = 0;; ++i) {
        size_t offset = 0, bytes = 0;
        const CUresult result = table.cuFuncGetParamInfo(native, i, &offset, &bytes);
        if (result == CUDA_ERROR_INVALID_VALUE) break;   // no parameter i: the list is complete
        context_->check(result, "cuFuncGetParamInfo");
        function->parameters.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
        function->parameter_bytes = std::max(function->parameter_bytes, static_cast<uint32_t>(offset + bytes));
    }
    function->parameters_known = true;
    return function;
}

// Doesn't ask the driver for an unloaded function while a resident kernel runs: the driver would then make launches
// wait for the kernel (seen on an H200, driver 580).
Function& Module::function(std::string_view name) {
    begin_nvshmem();
    DriverScope scope(*context_);
    {
        std::lock_guard lock(functions_lock_);
        if (auto found = asked_.find(name); found != asked_.end()) return *found->second;
    }
    const BlockingCalls::Now now(*context_, "loading a kernel");
    std::string symbol;
    const CUfunction native = native_function(name, &symbol);
    std::unique_lock lock(functions_lock_);
    auto found = functions_.find(native);
    if (found == functions_.end()) {
        lock.unlock();
        auto made = describe_function(native, std::move(symbol));
        if (needs_room(*made))
            Streams::of(*context_).room().add_kernel(native, made->local_bytes, made->parameter_bytes);
        lock.lock();
        // Another thread may have been faster: then its entry stays.
        found = functions_.try_emplace(native, std::move(made)).first;
    }
    asked_.try_emplace(std::string(name), found->second.get());
    return *found->second;
}

std::pair<CUdeviceptr, size_t> Module::symbol(std::string_view name) {
    DriverScope scope(*context_);
    std::string symbol(name);
    for (const auto& [expression, lowered] : lowered_)
        if (expression == name || expression == text("&", name)) symbol = lowered;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    const CUresult result = context_->table().cuModuleGetGlobal(&address, &bytes, native_, symbol.c_str());
    if (result == CUDA_ERROR_NOT_FOUND)
        fail(GPO_NOT_FOUND, "the module has no variable `", name, "`; one in a namespace has a mangled symbol, which ",
             "the name expression `&", name, "` stands for");
    context_->check(result, "cuModuleGetGlobal");
    return {address, bytes};
}

}  // namespace gpo
