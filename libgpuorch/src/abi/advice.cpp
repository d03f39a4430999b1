// The exported functions of advice.h.
#include "gpuorch/advice.h"

#include "abi/call.h"
#include "core/struct_array.h"
#include "device/device.h"
#include "advice/ranked_forms.h"
#include "advice/costs.h"
#include "advice/probe.h"
#include "advice/trace_advice.h"

using namespace gpo;

namespace {

gpo_costs costs_of_device(gpo_device_t device) {
    if (!device) return advice::default_costs();
    Pin<Device> pinned(device);
    return advice::costs_of(device_properties(pinned->context().driver(), pinned->context().ordinal()));
}

gpo_workload read_workload(const gpo_workload* workload) {
    const gpo_workload read = read_struct(&required(workload, "workload"), "workload");
    if (read.reserved) fail(GPO_INVALID_ARGUMENT, "workload.reserved is not 0");
    return read;
}

gpo_costs complete_costs(const gpo_costs* given, gpo_device_t device) {
    const gpo_costs read = read_struct(given, "workload.costs");
    if (read.reserved) fail(GPO_INVALID_ARGUMENT, "workload.costs.reserved is not 0");
    return advice::completed(read, costs_of_device(device));
}

gpo_advice* element(gpo_advice* first, uint64_t stride, uint64_t number) {
    return reinterpret_cast<gpo_advice*>(reinterpret_cast<std::byte*>(first) + number * stride);
}

/// Writes all elements or none.
void write_all(const std::vector<gpo_advice>& from, gpo_advice* to, uint64_t stride, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        if (element(to, stride, i)->struct_size > stride)
            fail(GPO_INVALID_ARGUMENT, "stride is ", stride, ", less than advice[", i, "].struct_size, ",
                 element(to, stride, i)->struct_size);
        writable(*element(to, stride, i), "advice");
    }
    for (uint64_t i = 0; i < count; ++i) write_struct(element(to, stride, i), from[i], "advice");
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_device_get_costs(gpo_device_t device, uint32_t flags, gpo_costs* costs) {
    return abi::call(__func__, {device}, [&] {
        required(costs, "costs");
        refuse_unknown_flags(flags, GPO_COSTS_PROBE, "flags");
        writable(*costs, "costs");
        Pin<Device> pinned(device);
        Context& context = pinned->context();
        gpo_costs found = advice::costs_of(device_properties(context.driver(), context.ordinal()));
        return abi::blame(*pinned, [&] {
            if (flags & GPO_COSTS_PROBE) advice::probe(*pinned, found);
            write_struct(costs, found, "costs");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_advise(gpo_device_t device, const gpo_workload* workload, gpo_diagnosis* diagnosis,
                              gpo_advice* advice, uint64_t stride, uint64_t capacity, uint64_t* count) {
    return abi::call(__func__, {device}, [&] {
        required(count, "count");
        const gpo_workload read = read_workload(workload);
        const gpo_costs costs = complete_costs(read.costs, device);
        const StructArray<gpo_advice> checked(advice, stride, capacity, "advice", "stride");
        static_cast<void>(checked);
        if (diagnosis) writable(*diagnosis, "diagnosis");
        const advice::Answer answer = advice::advise(read, costs);
        const uint64_t written = std::min<uint64_t>(capacity, answer.ranked.size());
        write_all(answer.ranked, advice, stride, written);
        if (diagnosis) write_struct(diagnosis, answer.diagnosis, "diagnosis");
        *count = written;
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_advise_trace(const char* path, gpo_workload* workload, char* buffer, size_t capacity,
                                    size_t* needed) {
    return abi::call(__func__, {}, [&] {
        required(path, "path");
        if (workload) writable(*workload, "workload");
        const advice::TraceAdvice found = advice::advise_trace(trace::read_trace(path));
        const gpo_status status = write_text(found.text, buffer, capacity, needed);
        if (status == GPO_SUCCESS && workload) write_struct(workload, found.workload, "workload");
        return status;
    });
}
}
