// The exported functions of template.h that take templates.
#include "gpuorch/template.h"

#include "abi/call.h"
#include "device/device.h"
#include "graph/host_function.h"
#include "graph/instance.h"
#include "graph/instances.h"
#include "graph/picture/dot.h"
#include "graph/picture/svg.h"
#include "graph/settings.h"
#include "kernel/launch.h"
#include "memory/copies.h"
#include "memory/fill.h"
#include "stream/event.h"

using namespace gpo;

namespace {

std::span<const uint32_t> nodes_of(const uint32_t* after, uint32_t count) {
    if (count && !after) fail(GPO_INVALID_ARGUMENT, "after is NULL and after_count is ", count);
    return {after, count};
}

/// The frame around a function that adds a node: `add(template)` returns the node. If it fails during a recording, the
/// recording fails too. The template is the first of the given handles.
template <class Add>
gpo_status add(const char* function, const abi::Given& given, uint32_t* node, Add&& add) {
    return abi::call(function, given, [&] {
        Pin<Template> pinned(given.handles[0].number);
        return abi::blame(*pinned, [&] {
            try {
                const uint32_t made = add(*pinned);
                if (node) *node = made;
                return GPO_SUCCESS;
            } catch (const Failure& failure) {
                pinned->note_refused(function, failure.error());
                throw;
            } catch (const std::bad_alloc&) {
                pinned->note_refused(function, bare_error(GPO_OUT_OF_MEMORY));
                throw;
            }
        });
    });
}

gpo_template_options read_options(const gpo_template_options* options) {
    const gpo_template_options read = read_struct(options, "options");
    refuse_unknown_flags(read.flags, 0, "options.flags");
    if (read.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
    return read;
}

constexpr uint32_t kMostBodies = 1024;

gpo_condition read_condition(const gpo_condition* condition) {
    return read_struct(&required(condition, "condition"), "condition");
}

template <class Thing>
void require_device(const Template& of, const Thing& thing) {
    if (&of.runtime() != &thing.runtime())
        fail(GPO_INVALID_HANDLE, of.describe(), " and ", thing.describe(), " are of different runtimes");
    if (&of.context() != &thing.context())
        fail(GPO_INVALID_ARGUMENT, of.describe(), " and ", thing.describe(), " are not of one device");
}

gpo_status add_event(const char* function, gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                     gpo_event_t event, bool wait, uint32_t* node) {
    return add(function, {graph_template, event}, node, [&](Template& to) {
        Pin<Event> pinned(event);
        require_device(to, *pinned);
        pinned->require_own("a template's node");
        return to.add(nodes_of(after, after_count), EventWork{pinned->native(), wait}, pinned->label(), pinned.ref());
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_template_create(gpo_device_t device, const gpo_template_options* options,
                                       gpo_template_t* graph_template) {
    return abi::call(__func__, {device}, [&] {
        required(graph_template, "graph_template");
        const gpo_template_options read = read_options(options);
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<Template>(pinned->context_ref(), read);
            *graph_template = pinned->runtime().publish<gpo_template_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_import(gpo_device_t device, void* native, const gpo_template_options* options,
                                       gpo_template_t* graph_template) {
    return abi::call(__func__, {device}, [&] {
        required(graph_template, "graph_template");
        if (!native) fail(GPO_INVALID_ARGUMENT, "native is NULL");
        const gpo_template_options read = read_options(options);
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<Template>(pinned->context_ref(), read);
            made->copy(static_cast<CUgraph>(native));
            *graph_template = pinned->runtime().publish<gpo_template_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_destroy(gpo_template_t graph_template) {
    return abi::call(__func__, {graph_template}, [&] {
        if (!graph_template) return GPO_SUCCESS;
        {
            Pin<Template> pinned(graph_template);
            if (const char* whole = pinned->whole()) fail(GPO_INVALID_STATE, pinned->describe(), " is of ", whole);
        }
        return abi::destroy("gpo_template_destroy", graph_template, Type::graph_template);
    });
}

// --- recording ---

GPO_API gpo_status gpo_template_begin(gpo_template_t graph_template, gpo_stream_t stream) {
    return abi::call(__func__, {graph_template, abi::works_on(stream)}, [&] {
        Pin<Template> pinned(graph_template);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] {
            pinned->begin(on.ref());
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_end(gpo_template_t graph_template) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            pinned->end();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_cancel(gpo_template_t graph_template) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            pinned->cancel();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_get_last_node(gpo_template_t graph_template, gpo_stream_t stream, uint32_t* node) {
    return abi::call(__func__, {graph_template, stream}, [&] {
        required(node, "node");
        Pin<Template> pinned(graph_template);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] {
            *node = pinned->last_node(*on);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_set_last_node(gpo_template_t graph_template, gpo_stream_t stream, uint32_t node) {
    return abi::call(__func__, {graph_template, stream}, [&] {
        Pin<Template> pinned(graph_template);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] {
            pinned->set_last_node(*on, node);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_clear(gpo_template_t graph_template) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            pinned->clear();
            return GPO_SUCCESS;
        });
    });
}

// --- node by node ---

GPO_API gpo_status gpo_template_add_kernel(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                           gpo_kernel_t kernel, const gpo_launch* launch, const void* const* arguments,
                                           const uint32_t* sizes, uint32_t count, uint32_t* node) {
    return add(__func__, {graph_template, kernel}, node, [&](Template& to) {
        Pin<Kernel> pinned(kernel);
        require_device(to, *pinned);
        required(launch, "launch");
        const LaunchKernel operation(*pinned, read_struct(launch, "launch"), arguments, sizes, count);
        return to.add(nodes_of(after, after_count), operation.record(), operation.label(), pinned.ref());
    });
}

GPO_API gpo_status gpo_template_add_copy(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                         const gpo_copy* copy, uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(copy, "copy");
        const gpo_copy read = read_struct(copy, "copy");
        const DriverScope scope(to.context());
        return to.add(nodes_of(after, after_count), row_between(to.context(), read), "", nullptr);
    });
}

GPO_API gpo_status gpo_template_add_fill(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                         uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count,
                                         uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        const Fill fill(to.context(), destination, value, element_bytes, count);
        if (count == 0) fail(GPO_INVALID_ARGUMENT, "count is 0");
        return to.add(nodes_of(after, after_count), fill.record(), "", nullptr);
    });
}

GPO_API gpo_status gpo_template_add_empty(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                          uint32_t* node) {
    return add(__func__, {graph_template}, node,
               [&](Template& to) { return to.add_node(nodes_of(after, after_count), EmptyNode{}); });
}

GPO_API gpo_status gpo_template_add_event_record(gpo_template_t graph_template, const uint32_t* after,
                                                 uint32_t after_count, gpo_event_t event, uint32_t* node) {
    return add_event(__func__, graph_template, after, after_count, event, false, node);
}

GPO_API gpo_status gpo_template_add_event_wait(gpo_template_t graph_template, const uint32_t* after,
                                               uint32_t after_count, gpo_event_t event, uint32_t* node) {
    return add_event(__func__, graph_template, after, after_count, event, true, node);
}

GPO_API gpo_status gpo_template_add_host_call(gpo_template_t graph_template, const uint32_t* after,
                                              uint32_t after_count, gpo_host_node_fn function, void* user,
                                              uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(function, "function");
        return to.add_node(nodes_of(after, after_count),
                           HostNode{HostFunction::params(to.runtime(), function, user)});
    });
}

GPO_API gpo_status gpo_template_add_child(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                          gpo_template_t child, const char* prefix, uint32_t* node) {
    return add(__func__, {graph_template, child}, node, [&](Template& to) {
        Pin<Template> pinned(child);
        require_device(to, *pinned);
        return to.add_child(nodes_of(after, after_count), *pinned, prefix);
    });
}

GPO_API gpo_status gpo_template_add_allocation(gpo_template_t graph_template, const uint32_t* after,
                                               uint32_t after_count, uint64_t bytes, uint64_t* address,
                                               uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(address, "address");
        if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
        return to.add_allocation(nodes_of(after, after_count), bytes, *address);
    });
}

GPO_API gpo_status gpo_template_add_free(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                         uint64_t address, uint32_t* node) {
    return add(__func__, {graph_template}, node,
               [&](Template& to) { return to.add_free(nodes_of(after, after_count), address); });
}

// --- decisions on the GPU ---

GPO_API gpo_status gpo_template_add_if(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                       const gpo_condition* condition, gpo_template_t* body, gpo_template_t* otherwise,
                                       uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(body, "body");
        gpo_template_t bodies[2] = {};
        const uint32_t made = to.add_conditional(nodes_of(after, after_count), CU_GRAPH_COND_TYPE_IF,
                                                 read_condition(condition), {bodies, otherwise ? 2u : 1u});
        *body = bodies[0];
        if (otherwise) *otherwise = bodies[1];
        return made;
    });
}

GPO_API gpo_status gpo_template_add_while(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                          const gpo_condition* condition, gpo_template_t* body, uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(body, "body");
        return to.add_conditional(nodes_of(after, after_count), CU_GRAPH_COND_TYPE_WHILE, read_condition(condition),
                                  {body, 1});
    });
}

GPO_API gpo_status gpo_template_add_switch(gpo_template_t graph_template, const uint32_t* after, uint32_t after_count,
                                           const gpo_condition* condition, gpo_template_t* bodies, uint32_t count,
                                           uint32_t* node) {
    return add(__func__, {graph_template}, node, [&](Template& to) {
        required(bodies, "bodies");
        if (count == 0 || count > kMostBodies)
            fail(GPO_INVALID_ARGUMENT, "count is ", count, ": a switch has 1 to ", kMostBodies, " bodies");
        return to.add_conditional(nodes_of(after, after_count), CU_GRAPH_COND_TYPE_SWITCH, read_condition(condition),
                                  {bodies, count});
    });
}

GPO_API gpo_status gpo_template_bind_condition(gpo_template_t kernel_in, uint32_t kernel_node, uint32_t index,
                                               gpo_template_t conditional_in, uint32_t conditional) {
    return abi::call(__func__, {kernel_in, conditional_in}, [&] {
        Pin<Template> pinned(kernel_in);
        Pin<Template> other(conditional_in);
        require_device(*pinned, *other);
        return abi::blame(*pinned, [&] {
            require_device(*pinned, *other);
            pinned->bind_condition(kernel_node, index, *other, conditional);
            return GPO_SUCCESS;
        });
    });
}

// --- memory ---

GPO_API gpo_status gpo_template_allocate(gpo_template_t graph_template, uint64_t bytes, uint64_t* address) {
    return abi::call(__func__, {graph_template}, [&] {
        required(address, "address");
        if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            *address = pinned->memory().allocate(bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_allocate_host(gpo_template_t graph_template, uint64_t bytes, void** memory) {
    return abi::call(__func__, {graph_template}, [&] {
        required(memory, "memory");
        if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            *memory = pinned->memory().allocate_host(bytes);
            return GPO_SUCCESS;
        });
    });
}

// --- parameters, and what a template is ---

GPO_API gpo_status gpo_template_add_parameter(gpo_template_t graph_template, const char* name, uint32_t node,
                                              uint32_t what, uint32_t index) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            pinned->add_parameter(&required(name, "name"), node, what, index);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_get_parameter(gpo_template_t graph_template, const char* name, uint32_t* parameter,
                                              uint64_t* bytes) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            const uint32_t number = pinned->parameter(&required(name, "name"), bytes);
            if (parameter) *parameter = number;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_find_node(gpo_template_t graph_template, const char* label, uint32_t* node) {
    return abi::call(__func__, {graph_template}, [&] {
        required(node, "node");
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            *node = pinned->find_node(&required(label, "label"));
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_get_native(gpo_template_t graph_template, void** native) {
    return abi::call(__func__, {graph_template}, [&] {
        required(native, "native");
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            *native = pinned->native();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_template_get_statistics(gpo_template_t graph_template, gpo_template_statistics* statistics) {
    return abi::call(__func__, {graph_template}, [&] {
        required(statistics, "statistics");
        Pin<Template> pinned(graph_template);
        write_struct(statistics, pinned->statistics(), "statistics");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_template_get_picture(gpo_template_t graph_template, uint32_t format, char* buffer,
                                            size_t capacity, size_t* needed) {
    return abi::call(__func__, {graph_template}, [&] {
        Pin<Template> pinned(graph_template);
        return abi::blame(*pinned, [&] {
            if (format != GPO_PICTURE_DOT && format != GPO_PICTURE_SVG)
                fail(GPO_INVALID_ARGUMENT, "format is ", format, ", none of GPO_PICTURE_*");
            const Diagram diagram = pinned->diagram();
            return write_text(format == GPO_PICTURE_DOT ? dot_of(diagram) : svg_of(diagram), buffer, capacity, needed);
        });
    });
}

// --- launches that need no graph of the caller's ---

GPO_API gpo_status gpo_template_launch(gpo_template_t graph_template, gpo_stream_t stream, const gpo_setting* settings,
                                       uint64_t stride, uint64_t count) {
    return abi::submit(__func__, {graph_template, abi::works_on(stream)}, [&] {
        Pin<Template> pinned(graph_template);
        Pin<Stream> on(stream);
        return abi::blame(*on, [&] {
            require_device(*pinned, *on);
            const Ref<Recipe> recipe = pinned->seal();   // a body has no graphs
            const SettingArray array(settings, stride, count);
            const Ref<Graph> graph = pinned->instances().of_stream(*on, *recipe, [&] { array.check(*recipe); });
            LaunchGraph operation(*graph, *on, array.values_for(*graph));
            return operation.put();
        });
    });
}

GPO_API gpo_status gpo_template_prepare(gpo_template_t graph_template, uint32_t count, gpo_stream_t stream) {
    return abi::call(__func__, {graph_template, abi::works_on(stream)}, [&] {
        Pin<Template> pinned(graph_template);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] {
            require_device(*pinned, *on);
            const Ref<Recipe> recipe = pinned->seal();
            return pinned->instances().prepare(count, *on, *recipe);
        });
    });
}

}
