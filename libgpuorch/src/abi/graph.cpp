// The exported functions of template.h that take graphs.
#include "abi/call.h"
#include "graph/instance.h"
#include "graph/settings.h"
#include "stream/streams.h"

using namespace gpo;

namespace {

void upload_and_wait(Graph& graph) {
    const BorrowedStream borrowed(graph.context());
    UploadGraph upload(graph);
    borrowed->submit(upload);
    borrowed->wait(host::kForever);
}

// Bytes free on the device; 0 if the driver doesn't report them.
uint64_t free_memory(Context& context) {
    DriverScope scope(context);
    size_t left = 0, total = 0;
    return context.table().cuMemGetInfo(&left, &total) == CUDA_SUCCESS ? left : 0;
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_graph_create(gpo_template_t graph_template, const gpo_graph_options* options,
                                    gpo_graph_t* graph) {
    return abi::call(__func__, {graph_template}, [&] {
        required(graph, "graph");
        const gpo_graph_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_GRAPH_UPLOAD | GPO_GRAPH_DEVICE_LAUNCH, "options.flags");
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            const uint64_t before = read.flags ? free_memory(pinned->context()) : 0;
            auto made = make<Graph>(pinned.ref(), read.flags, read.label);
            if (read.flags) {
                upload_and_wait(*made);
                const uint64_t left = free_memory(pinned->context());
                pinned->counters().instance_bytes.store(before > left ? before - left : 0, std::memory_order_relaxed);
            }
            *graph = pinned->runtime().publish<gpo_graph_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_destroy(gpo_graph_t graph) { return abi::destroy(__func__, graph, Type::graph); }

GPO_API gpo_status gpo_graph_set(gpo_graph_t graph, const char* name, const void* value, uint64_t bytes) {
    return abi::submit(__func__, {graph}, [&] {
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            pinned->set(&required(name, "name"), value, bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_set_parameter(gpo_graph_t graph, uint32_t parameter, const void* value, uint64_t bytes) {
    return abi::submit(__func__, {graph}, [&] {
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            const Setting setting{parameter, value, bytes};
            pinned->set({&setting, 1});
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_set_all(gpo_graph_t graph, const gpo_setting* settings, uint64_t stride, uint64_t count) {
    return abi::submit(__func__, {graph}, [&] {
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            const SettingArray array(settings, stride, count);
            const std::vector<Setting> all = array.for_graph(*pinned);
            pinned->set(all);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_get(gpo_graph_t graph, const char* name, void* value, uint64_t bytes) {
    return abi::call(__func__, {graph}, [&] {
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            required(name, "name");
            if (!value) fail(GPO_INVALID_ARGUMENT, "value is NULL");
            pinned->get(name, value, bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_launch(gpo_graph_t graph, gpo_stream_t stream) {
    return abi::submit(__func__, {graph, abi::works_on(stream)}, [&] {
        Pin<Stream> on(stream);
        Pin<Graph> pinned(graph, on);
        return abi::blame(*on, [&] {
            pinned->require_device(*on);
            LaunchGraph operation(*pinned, *on);
            return operation.put();
        });
    });
}

GPO_API gpo_status gpo_graph_upload(gpo_graph_t graph, gpo_stream_t stream) {
    return abi::call(__func__, {graph, abi::works_on(stream)}, [&] {
        Pin<Stream> on(stream);
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            pinned->require_device(*on);
            UploadGraph upload(*pinned);
            return on->submit(upload);
        });
    });
}

GPO_API gpo_status gpo_graph_update(gpo_graph_t graph, gpo_graph_update_report* report) {
    return abi::call(__func__, {graph}, [&] {
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            if (report) static_cast<void>(writable(*report, "report"));   // before anything is done
            const gpo_graph_update_report made = pinned->update();
            if (report) write_struct(report, made, "report");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_get_native(gpo_graph_t graph, void** native) {
    return abi::call(__func__, {graph}, [&] {
        required(native, "native");
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            *native = pinned->native();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_get_loop(gpo_graph_t graph, gpo_template_t conditional_in, uint32_t node,
                                      uint64_t* iterations, uint32_t* limited) {
    return abi::call(__func__, {graph, conditional_in}, [&] {
        Pin<Graph> pinned(graph);
        Pin<Template> of(conditional_in);
        if (&pinned->runtime() != &of->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", of->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] {
            if (&of->runtime() != &pinned->runtime())
                fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", of->describe(), " are of different runtimes");
            const auto [count, ended] = pinned->loop(*of, node);
            if (iterations) *iterations = count;
            if (limited) *limited = ended;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_get_device_handle(gpo_graph_t graph, uint64_t* native, uint64_t* status) {
    return abi::call(__func__, {graph}, [&] {
        required(native, "native");
        required(status, "status");
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            std::tie(*native, *status) = pinned->device_handle();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_graph_get_device_status(gpo_graph_t graph, gpo_status* device_status) {
    return abi::call(__func__, {graph}, [&] {
        required(device_status, "device_status");
        Pin<Graph> pinned(graph);
        return abi::blame(*pinned, [&] {
            *device_status = pinned->take_device_status();
            return GPO_SUCCESS;
        });
    });
}

}
