// Modules: loading images, finding kernels and variables, attributes of functions.
#include <algorithm>
#include <cstring>

#include "softgpu/api/call.h"
#include "softgpu/api/entries.h"

namespace gpo::softgpu {

namespace {

/// Where the caller wants the loader's text. Sizes go in as capacity and come out as what was written.
struct Log {
    char* text = nullptr;
    size_t capacity = 0;
    void** written = nullptr;

    void put(const std::string& message) const {
        size_t length = 0;
        if (text && capacity) {
            length = std::min(message.size(), capacity - 1);
            std::memcpy(text, message.data(), length);
            text[length] = 0;
            if (length) ++length;   // the terminating zero counts
        }
        if (written) *written = reinterpret_cast<void*>(length);
    }
};

struct Logs {
    Log info, error;
};

Logs read_options(unsigned count, const CUjit_option* options, void** values) {
    Logs logs;
    require(count == 0 || (options && values));
    for (unsigned i = 0; i < count; ++i) {
        require(options[i] >= 0 && options[i] < CU_JIT_NUM_OPTIONS);
        const size_t number = size_t(reinterpret_cast<uintptr_t>(values[i])) & 0xffffffff;
        switch (options[i]) {
            case CU_JIT_INFO_LOG_BUFFER: logs.info.text = static_cast<char*>(values[i]); break;
            case CU_JIT_ERROR_LOG_BUFFER: logs.error.text = static_cast<char*>(values[i]); break;
            case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
                logs.info.capacity = number;
                logs.info.written = &values[i];
                break;
            case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
                logs.error.capacity = number;
                logs.error.written = &values[i];
                break;
            default: break;   // of the compiler: an image of the software GPU is compiled already
        }
    }
    return logs;
}

/// The size of a kernel's parameters.
size_t argument_bytes(const gpo_soft_kernel& kernel) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < kernel.parameter_count; ++i)
        bytes = std::max(bytes, size_t(kernel.parameters[i].offset) + kernel.parameters[i].size);
    return bytes;
}

void drop(Machine& machine, Module& module) noexcept {
    if (module.image)
        for (const gpo_soft_variable& variable : module.image->variables())
            machine.memory.remove_variable(variable.address);
    for (Function* function : module.functions) {
        machine.functions.retire(function);
        machine.functions.recycle(function);
    }
    module.functions.clear();
    module.image.reset();
    module.context = nullptr;
    machine.modules.retire(&module);
    machine.modules.recycle(&module);
}

CUresult CUDAAPI load(CUmodule* module, const void* data, unsigned option_count, CUjit_option* options, void** values) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(module != nullptr && data != nullptr);
        const Logs logs = read_options(option_count, options, values);
        current_context(machine);
        std::string text;
        std::unique_ptr<Image> loaded;
        const CUresult result = Image::load(data, 0, &text, &loaded);
        logs.info.put(result == CUDA_SUCCESS ? text : "");
        logs.error.put(result == CUDA_SUCCESS ? "" : text);
        if (result != CUDA_SUCCESS) return result;
        std::shared_ptr<Image> image = std::move(loaded);
        machine.wait_running(current_context(machine));
        host::Lock hold(machine.lock);
        Context& context = current_context(machine);
        Module* made = machine.modules.create();
        made->context = &context;
        try {
            made->image = image;
            const auto kernels = image->kernels();
            made->functions.reserve(kernels.size());
            for (const gpo_soft_kernel& kernel : kernels) {
                Function* function = machine.functions.create();
                made->functions.push_back(function);
                function->module = made;
                function->kernel = &kernel;
                function->argument_bytes = argument_bytes(kernel);
                function->dynamic_shared_limit =
                    int(kSharedDefault - std::min<size_t>(kernel.static_shared_bytes, kSharedDefault));
                function->carveout = -1;
                function->non_portable_cluster = function->cluster_policy = 0;
            }
            for (const gpo_soft_variable& variable : image->variables())
                if (variable.size)
                    machine.memory.add_variable(context.as<CUcontext>(), context.device->ordinal, variable.address,
                                                variable.size);
        } catch (...) {
            drop(machine, *made);
            throw;
        }
        *module = made->as<CUmodule>();
        return CUDA_SUCCESS;
    });
}

/// Lock held.
Module& module_of(Machine& machine, CUmodule handle) {
    Module* module = machine.modules.find(handle);
    require(module != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return *module;
}

CUresult CUDAAPI unload(CUmodule handle) {
    return enter([&](Machine& machine) -> CUresult {
        current_context(machine);
        if (!success_unless_lost(machine)) refuse_beside_capture(machine);
        machine.wait_running(current_context(machine));
        std::shared_ptr<Image> keeps;   // released after the lock
        host::Lock hold(machine.lock);
        Module& module = module_of(machine, handle);
        keeps = module.image;
        drop(machine, module);
        hold.unlock();
        return success_unless_lost(machine);
    });
}

CUresult CUDAAPI get_function(CUfunction* function, CUmodule handle, const char* name) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(function != nullptr && name != nullptr);
        host::Lock hold(machine.lock);
        for (Function* each : module_of(machine, handle).functions)
            if (std::strcmp(each->kernel->name, name) == 0) {
                *function = each->as<CUfunction>();
                return CUDA_SUCCESS;
            }
        return CUDA_ERROR_NOT_FOUND;
    });
}

CUresult CUDAAPI get_global(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(name != nullptr && (address || bytes));
        host::Lock hold(machine.lock);
        for (const gpo_soft_variable& variable : module_of(machine, handle).image->variables())
            if (std::strcmp(variable.name, name) == 0) {
                if (address) *address = reinterpret_cast<CUdeviceptr>(variable.address);
                if (bytes) *bytes = variable.size;
                return CUDA_SUCCESS;
            }
        return CUDA_ERROR_NOT_FOUND;
    });
}

CUresult CUDAAPI function_count(unsigned* count, CUmodule handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(count != nullptr);
        host::Lock hold(machine.lock);
        *count = unsigned(module_of(machine, handle).functions.size());
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI enumerate_functions(CUfunction* functions, unsigned count, CUmodule handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(functions != nullptr && count != 0);
        host::Lock hold(machine.lock);
        const auto& all = module_of(machine, handle).functions;
        for (size_t i = 0; i < std::min(size_t(count), all.size()); ++i) functions[i] = all[i]->as<CUfunction>();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI function_name(const char** name, CUfunction handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(name != nullptr);
        host::Lock hold(machine.lock);
        *name = function_of(machine, handle).kernel->name;
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI get_attribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(value != nullptr);
        host::Lock hold(machine.lock);
        const Function& function = function_of(machine, handle);
        switch (attribute) {
            case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = int(function.kernel->max_threads); break;
            case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = int(function.kernel->static_shared_bytes); break;
            case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
            case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
            case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
            case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
            case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function.dynamic_shared_limit; break;
            case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function.carveout; break;
            case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = 0; break;
            case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = int(function.kernel->cluster.x); break;
            case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = int(function.kernel->cluster.y); break;
            case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = int(function.kernel->cluster.z); break;
            case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = function.non_portable_cluster; break;
            case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = function.cluster_policy; break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI set_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    return enter_live([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        Function& function = function_of(machine, handle);
        switch (attribute) {
            case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                require(value >= 0 && size_t(value) + function.kernel->static_shared_bytes <= kSharedMost);
                function.dynamic_shared_limit = value;
                break;
            case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                require(value >= -1 && value <= 100);
                function.carveout = value;
                break;
            case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
                require(value == 0 || value == 1);
                function.non_portable_cluster = value;
                break;
            case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                require(value >= 0 && value <= 2);
                function.cluster_policy = value;
                break;
            default: return CUDA_ERROR_INVALID_VALUE;
        }
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI parameter_info(CUfunction handle, size_t index, size_t* offset, size_t* size) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(offset != nullptr);
        host::Lock hold(machine.lock);
        const Function& function = function_of(machine, handle);
        require(index < function.kernel->parameter_count);
        *offset = function.kernel->parameters[index].offset;
        if (size) *size = function.kernel->parameters[index].size;
        return CUDA_SUCCESS;
    });
}

// Fails always: the software GPU has no libraries (CUlibrary), and thus no kernels of libraries.
CUresult CUDAAPI function_of_kernel(CUfunction*, CUkernel) {
    return enter_live([](Machine&) -> CUresult { return CUDA_ERROR_INVALID_HANDLE; });
}

// The compiler makes whole images: there is nothing to link.
template <class... Args>
CUresult CUDAAPI no_linker(Args...) {
    return enter_live([](Machine&) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; });
}

CUresult CUDAAPI load_function(CUfunction handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        host::Lock hold(machine.lock);
        function_of(machine, handle);   // loaded with its image
        return CUDA_SUCCESS;
    });
}

}  // namespace

void fill_module_entries(driver::Table& table) noexcept {
    table.cuModuleLoadDataEx = load;
    table.cuModuleUnload = unload;
    table.cuModuleGetFunction = get_function;
    table.cuModuleGetGlobal = get_global;
    table.cuModuleGetFunctionCount = function_count;
    table.cuModuleEnumerateFunctions = enumerate_functions;
    table.cuFuncGetName = function_name;
    table.cuFuncGetAttribute = get_attribute;
    table.cuFuncSetAttribute = set_attribute;
    table.cuFuncGetParamInfo = parameter_info;
    table.cuFuncLoad = load_function;
    table.cuKernelGetFunction = function_of_kernel;
    table.cuLinkCreate = no_linker;
    table.cuLinkAddData = no_linker;
    table.cuLinkAddFile = no_linker;
    table.cuLinkComplete = no_linker;
    table.cuLinkDestroy = no_linker;
}

}  // namespace gpo::softgpu
