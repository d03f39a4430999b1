// The exported functions of module.h.
#include "gpuorch/module.h"

#include <cstring>

#include "abi/call.h"
#include "kernel/kernel.h"
#include "kernel/launch.h"
#include "kernel/module.h"
#include "stream/stream.h"

using gpo::Device;
using gpo::Kernel;
using gpo::Module;
using gpo::Pin;
using gpo::abi::blame;
using gpo::abi::call;

extern "C" {

GPO_API gpo_status gpo_module_compile(gpo_device_t device, const gpo_compile_options* options, gpo_module_t* module) {
    return call(__func__, {device}, [&] {
        Pin<Device> d(device);
        return blame(*d, [&] {
            gpo::required(module, "module");
            gpo::required(options, "options");
            auto made = gpo::compile_module(*d, gpo::read_struct(options, "options"));
            *module = d->runtime().publish<gpo_module_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_last_compile_log(char* buffer, size_t capacity, size_t* needed) {
    return call(__func__, {}, [&] { return gpo::write_text(gpo::compile_log(), buffer, capacity, needed); });
}

GPO_API gpo_status gpo_module_load(gpo_device_t device, const void* image, uint64_t bytes, const char* label,
                                   gpo_module_t* module) {
    return call(__func__, {device}, [&] {
        Pin<Device> d(device);
        return blame(*d, [&] {
            gpo::required(module, "module");
            auto made = gpo::load_module(*d, image, bytes, label);
            *module = d->runtime().publish<gpo_module_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_module_get_image(gpo_module_t module, void* buffer, size_t capacity, size_t* needed) {
    return call(__func__, {module}, [&] {
        Pin<Module> m(module);
        return blame(*m, [&]() -> gpo_status {
            const size_t bytes = m->image().size();
            if (!buffer && capacity) gpo::fail(GPO_INVALID_ARGUMENT, "buffer is NULL and capacity is ", capacity);
            if (needed) *needed = bytes;
            if (!buffer) return GPO_SUCCESS;
            if (capacity < bytes)
                gpo::fail(GPO_BUFFER_TOO_SMALL, "the image has ", bytes, " bytes, capacity is ", capacity);
            std::memcpy(buffer, m->image().data(), bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_module_load_builtin(gpo_device_t device, gpo_module_t* module) {
    return call(__func__, {device}, [&] {
        Pin<Device> d(device);
        return blame(*d, [&] {
            gpo::required(module, "module");
            auto made = gpo::builtin_module(*d);
            *module = d->runtime().publish<gpo_module_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_module_get_kernel(gpo_module_t module, const char* name, gpo_kernel_t* kernel) {
    return call(__func__, {module}, [&] {
        Pin<Module> m(module);
        return blame(*m, [&] {
            gpo::required(kernel, "kernel");
            gpo::required(name, "name");
            auto made = gpo::make<Kernel>(m.ref(), m->function(name), name);
            *kernel = m->runtime().publish<gpo_kernel_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_module_get_symbol(gpo_module_t module, const char* name, uint64_t* address, uint64_t* bytes) {
    return call(__func__, {module}, [&] {
        Pin<Module> m(module);
        return blame(*m, [&] {
            gpo::required(name, "name");
            const auto [where, size] = m->symbol(name);
            if (address) *address = where;
            if (bytes) *bytes = size;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_get_attributes(gpo_kernel_t kernel, gpo_kernel_attributes* attributes) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            gpo::required(attributes, "attributes");
            gpo::write_struct(attributes, k->attributes(), "attributes");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_get_name(gpo_kernel_t kernel, char* buffer, size_t capacity, size_t* needed) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] { return gpo::write_text(k->function().symbol, buffer, capacity, needed); });
    });
}

GPO_API gpo_status gpo_kernel_get_native(gpo_kernel_t kernel, void** function) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            gpo::required(function, "function");
            *function = k->native();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_get_parameter(gpo_kernel_t kernel, uint32_t index, uint64_t* offset, uint64_t* bytes) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            const gpo::Function::Parameter& parameter = k->parameter(index);
            if (offset) *offset = parameter.offset;
            if (bytes) *bytes = parameter.bytes;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_set_max_dynamic_shared(gpo_kernel_t kernel, uint64_t bytes) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            k->set_max_dynamic_shared(bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_get_occupancy(gpo_kernel_t kernel, uint32_t threads, uint64_t dynamic_shared_bytes,
                                        uint32_t* blocks) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            gpo::required(blocks, "blocks");
            *blocks = k->blocks_per_multiprocessor(threads, dynamic_shared_bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_kernel_suggest_shape(gpo_kernel_t kernel, uint64_t dynamic_shared_bytes, uint32_t max_threads,
                                      uint32_t* threads, uint32_t* blocks) {
    return call(__func__, {kernel}, [&] {
        Pin<Kernel> k(kernel);
        return blame(*k, [&] {
            const auto [best_threads, best_blocks] = k->suggest(dynamic_shared_bytes, max_threads);
            if (threads) *threads = best_threads;
            if (blocks) *blocks = best_blocks;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_stream_launch_kernel(gpo_stream_t stream, gpo_kernel_t kernel, const gpo_launch* launch,
                                     const void* const* arguments, const uint32_t* sizes, uint32_t count) {
    return gpo::abi::submit(__func__, {gpo::abi::works_on(stream), kernel}, [&] {
        Pin<gpo::Stream> s(stream);
        Pin<Kernel> k(kernel, s);
        return blame(*s, [&] {
            gpo::required(launch, "launch");
            gpo::LaunchKernel::require_device(*k, *s);
            gpo::LaunchKernel operation(*k, gpo::read_struct(launch, "launch"), arguments, sizes, count);
            return s->submit(operation);
        });
    });
}

GPO_API gpo_status gpo_module_destroy(gpo_module_t module) {
    return gpo::abi::destroy(__func__, module, gpo::Type::module);
}

GPO_API gpo_status gpo_kernel_destroy(gpo_kernel_t kernel) {
    return gpo::abi::destroy(__func__, kernel, gpo::Type::kernel);
}

}
