// The text for Prometheus: each metric once, with its help and type, followed by the samples. Names follow Prometheus'
// conventions: base units, _total for counters. Labels have few values.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "device/contexts.h"
#include "device/device.h"
#include "metrics/metrics.h"
#include "serving/admission.h"
#include "serving/batcher.h"

namespace gpo::metrics {

namespace {

class Text {
public:
    /// `runtime`: the first label of every sample.
    explicit Text(std::string runtime) : runtime_(std::move(runtime)) {}
    /// Begins a metric.
    Text& metric(const char* name, const char* type, const char* help) {
        name_ = name;
        out_ += text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
        return *this;
    }
    /// `labels`: "kind=\"copy\"", or "".
    Text& sample(uint64_t value, std::string_view labels = {}) { return line("", labels, text(value)); }
    Text& sample(double value, std::string_view labels = {}) { return line("", labels, real(value)); }
    Text& part(const char* suffix, std::string_view labels, std::string_view value) {
        return line(suffix, labels, value);
    }
    static std::string real(double value) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
        return {digits, end};
    }
    static std::string label(const char* name, std::string_view value) {
        std::string out = text(name, "=\"");
        for (const char c : value) {
            if (c == '\\' || c == '"') out += '\\';
            if (c == '\n')
                out += "\\n";
            else
                out += c;
        }
        return out + '"';
    }
    std::string take() { return std::move(out_); }

private:
    Text& line(const char* suffix, std::string_view labels, std::string_view value) {
        out_ += name_;
        out_ += suffix;
        out_ += text("{", runtime_, labels.empty() ? "" : ",", labels, "} ", value, "\n");
        return *this;
    }
    const std::string runtime_;
    std::string out_;
    const char* name_ = "";
};

void counters(Text& out, const gpo_statistics& s) {
    out.metric("gpuorch_operations_total", "counter", "Operations put on streams.")
        .sample(s.launches, "kind=\"kernel\"")
        .sample(s.copies, "kind=\"copy\"")
        .sample(s.fills, "kind=\"fill\"");
    out.metric("gpuorch_copied_bytes_total", "counter", "Bytes of the copies put on streams.").sample(s.copied_bytes);
    out.metric("gpuorch_holds_total", "counter", "Operations that were held back on the host, for a while.")
        .sample(s.holds);
    out.metric("gpuorch_notifies_total", "counter", "Marks accepted for completion queues.").sample(s.notifies);
    out.metric("gpuorch_operation_failures_total", "counter", "Marks and held operations that ended with a failure.")
        .sample(s.failures);
    out.metric("gpuorch_serialising_calls_total", "counter",
               "Calls that made the device or the driver wait for other work.")
        .sample(s.device_allocations, "call=\"device_allocation\"")
        .sample(s.host_registrations, "call=\"host_registration\"")
        .sample(s.pageable_copies, "call=\"pageable_copy\"")
        .sample(s.legacy_stream_uses, "call=\"legacy_stream\"")
        .sample(s.module_loads, "call=\"module_load\"");
    out.metric("gpuorch_pageable_bytes_total", "counter", "Bytes of copies from or to memory that is not pinned.")
        .sample(s.pageable_bytes);
    out.metric("gpuorch_objects", "gauge", "Handles not destroyed.").sample(uint64_t{s.live_objects});
}

void gauges(Text& out, const gpo_metrics& m) {
    out.metric("gpuorch_streams", "gauge", "Streams that there are.").sample(m.streams);
    out.metric("gpuorch_operations_pending", "gauge", "Operations accepted by streams and not seen done.")
        .sample(m.operations_pending);
    out.metric("gpuorch_operations_held", "gauge", "Of them, those held on the host now.").sample(m.operations_held);
    out.metric("gpuorch_completions_pending", "gauge", "Entries accepted by completion queues and not drained.")
        .sample(m.completions_pending);
    out.metric("gpuorch_notifies_refused_total", "counter", "Notifies that met a full completion queue.")
        .sample(m.notifies_refused);
    out.metric("gpuorch_executors", "gauge", "Executors that there are.").sample(m.executors);
    out.metric("gpuorch_executor_threads", "gauge", "Threads of the library that run callbacks.")
        .sample(m.executor_threads);
    out.metric("gpuorch_callbacks_total", "counter", "Callbacks that executors have run.").sample(m.callbacks);
    out.metric("gpuorch_callbacks_pending", "gauge", "Callbacks accepted by executors and not run yet.")
        .sample(m.callbacks_pending);
    out.metric("gpuorch_memory_in_use_bytes", "gauge", "Memory handed out and not freed.")
        .sample(m.arena_in_use, "kind=\"arena\"")
        .sample(m.pool_in_use, "kind=\"pool\"");
    out.metric("gpuorch_memory_reserved_bytes", "gauge", "Memory taken from the driver.")
        .sample(m.arena_reserved, "kind=\"arena\"")
        .sample(m.pool_reserved, "kind=\"pool\"");
    out.metric("gpuorch_memory_peak_bytes", "gauge", "The most that was handed out at a time.")
        .sample(m.arena_peak, "kind=\"arena\"")
        .sample(m.pool_peak, "kind=\"pool\"");
    out.metric("gpuorch_pipeline_pinned_bytes", "gauge", "Pinned memory of pipelines, which is in no arena.")
        .sample(m.pipeline_pinned);
}

void latencies(Text& out, const gpo_metrics& m) {
    out.metric("gpuorch_completion_latency_seconds", "histogram",
               "From the notify to the entry in the completion queue.");
    uint64_t below = 0;
    for (size_t i = 0; i + 1 < GPO_METRICS_LATENCIES; ++i) {
        below += m.latencies[i];
        if (i > 24) continue;  // 16 s; longer times are in +Inf
        out.part("_bucket", text("le=\"", Text::real(std::ldexp(1e-6, static_cast<int>(i))), "\""), text(below));
    }
    out.part("_bucket", "le=\"+Inf\"", text(m.latency_count));
    out.part("_sum", "", Text::real(static_cast<double>(m.latency_sum) * 1e-9));
    out.part("_count", "", text(m.latency_count));
}

void errors(Text& out, const gpo_metrics& m) {
    out.metric("gpuorch_errors_total", "counter", "Calls on live objects, and completions, that failed.");
    for (gpo_status status = 0; status < GPO_METRICS_ERRORS; ++status)
        if (m.errors[status]) out.sample(m.errors[status], Text::label("status", gpo_status_name(status)));
}

struct Gpu {
    std::string labels;
    gpo_device_metrics figures;
};

void gpus(Text& out, const std::vector<Gpu>& all) {
    struct Figure {
        const char *name, *type, *help;
        int64_t gpo_device_metrics::*field;
        double scale;
    };
    static constexpr Figure kFigures[] = {
        {"gpuorch_gpu_memory_total_bytes", "gauge", "Memory of the GPU.", &gpo_device_metrics::memory_total, 1},
        {"gpuorch_gpu_memory_used_bytes", "gauge", "Memory in use, of all processes.", &gpo_device_metrics::memory_used,
         1},
        {"gpuorch_gpu_utilization_ratio", "gauge", "Share of time in which a kernel ran.",
         &gpo_device_metrics::utilization, 0.01},
        {"gpuorch_gpu_memory_utilization_ratio", "gauge", "Share of time in which device memory was used.",
         &gpo_device_metrics::memory_utilization, 0.01},
        {"gpuorch_gpu_power_watts", "gauge", "Power drawn.", &gpo_device_metrics::power, 1e-3},
        {"gpuorch_gpu_energy_joules_total", "counter", "Energy used since the driver was loaded.",
         &gpo_device_metrics::energy, 1e-3},
        {"gpuorch_gpu_temperature_celsius", "gauge", "Temperature.", &gpo_device_metrics::temperature, 1},
        {"gpuorch_gpu_sm_clock_hertz", "gauge", "Clock of the multiprocessors.", &gpo_device_metrics::sm_clock, 1},
        {"gpuorch_gpu_memory_clock_hertz", "gauge", "Clock of the memory.", &gpo_device_metrics::memory_clock, 1},
        {"gpuorch_gpu_pcie_sent_bytes_total", "counter", "Bytes that the GPU sent over PCIe.",
         &gpo_device_metrics::pcie_sent, 1},
        {"gpuorch_gpu_pcie_received_bytes_total", "counter", "Bytes that the GPU received over PCIe.",
         &gpo_device_metrics::pcie_received, 1},
    };
    for (const Figure& figure : kFigures) {
        bool begun = false;
        for (const Gpu& gpu : all) {
            const int64_t value = gpu.figures.*figure.field;
            if (value < 0) continue;
            if (!std::exchange(begun, true)) out.metric(figure.name, figure.type, figure.help);
            if (figure.scale == 1)
                out.sample(static_cast<uint64_t>(value), gpu.labels);
            else
                out.sample(static_cast<double>(value) * figure.scale, gpu.labels);
        }
    }
}

/// A histogram of one object: `counts[i]` is of values of at most 2^i times `unit`, the last of larger ones. `sum`: of
/// all values.
void histogram(Text& out, const std::string& labels, const uint64_t* counts, size_t length, double unit, double sum) {
    uint64_t below = 0;
    for (size_t i = 0; i < length; ++i) {
        below += counts[i];
        const std::string bound = i + 1 < length ? Text::real(std::ldexp(unit, static_cast<int>(i))) : "+Inf";
        out.part("_bucket", text(labels, ",le=\"", bound, "\""), text(below));
    }
    out.part("_sum", labels, Text::real(sum));
    out.part("_count", labels, text(below));
}

/// The admissions of a runtime, each with a label of its own.
std::vector<std::pair<std::string, gpo_admission_info>> admissions_of(Runtime& runtime) {
    std::vector<std::pair<std::string, gpo_admission_info>> out;
    runtime.for_each([&](Object& object) {
        if (object.type() != Type::admission) return;
        auto& admission = static_cast<Admission&>(object);
        std::string label = Text::label("admission", *object.label() ? object.label() : text(admission.number()));
        if (std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.first == label; }))
            label = Text::label("admission", text(object.label(), "-", admission.number()));
        out.emplace_back(std::move(label), admission.info());
    });
    return out;
}

void admissions(Text& out, Runtime& runtime) {
    const auto all = admissions_of(runtime);
    if (all.empty()) return;
    using Field = uint64_t gpo_admission_info::*;
    const auto figure = [&](const char* name, const char* type, const char* help, Field field) {
        out.metric(name, type, help);
        for (const auto& [label, info] : all) out.sample(info.*field, label);
    };
    using Info = gpo_admission_info;
    figure("gpuorch_admission_requests_held", "gauge", "Requests that hold places.", &Info::held);
    figure("gpuorch_admission_places_held", "gauge", "Places that are held.", &Info::held_count);
    figure("gpuorch_admission_held_bytes", "gauge", "Bytes of requests that hold places.", &Info::held_bytes);
    figure("gpuorch_admission_requests_waiting", "gauge", "Requests that wait.", &Info::waiting);
    figure("gpuorch_admission_waiting_bytes", "gauge", "Bytes of requests that wait.", &Info::waiting_bytes);
    figure("gpuorch_admission_admitted_total", "counter", "Requests that were admitted.", &Info::admitted);
    out.metric("gpuorch_admission_rejected_total", "counter", "Requests that were not admitted, by the reason.");
    const std::pair<const char*, Field> reasons[] = {{"line_full", &Info::refused},
                                                     {"too_large", &Info::too_large},
                                                     {"deadline", &Info::expired},
                                                     {"cancelled", &Info::cancelled}};
    for (const auto& [label, info] : all)
        for (const auto& [reason, field] : reasons) out.sample(info.*field, text(label, ",reason=\"", reason, "\""));
    out.metric("gpuorch_admission_wait_seconds", "histogram", "Times that admitted requests waited.");
    for (const auto& [label, info] : all)
        histogram(out, label, info.wait_times, GPO_ADMISSION_TIMES, 1e-6, static_cast<double>(info.wait_ns) * 1e-9);
    out.metric("gpuorch_admission_paused", "gauge", "1: the watched pool has too much in use.");
    for (const auto& [label, info] : all) out.sample(uint64_t{info.paused}, label);
}

struct KeyFigures {
    std::string labels;
    gpo_batcher_info info;
};

/// The keys of all batchers of a runtime, each with labels of its own.
std::vector<KeyFigures> keys_of(Runtime& runtime) {
    std::vector<KeyFigures> out;
    std::vector<std::string> batchers;
    runtime.for_each([&](Object& object) {
        if (object.type() != Type::batcher) return;
        auto& batcher = static_cast<Batcher&>(object);
        const auto has = [](const std::vector<std::string>& in, const std::string& label) {
            return std::find(in.begin(), in.end(), label) != in.end();
        };
        std::string of = Text::label("batcher", *object.label() ? object.label() : text(batcher.number()));
        if (has(batchers, of)) of = Text::label("batcher", text(object.label(), "-", batcher.number()));
        batchers.push_back(of);
        std::vector<std::string> keys;
        const uint32_t count = batcher.keys();
        for (uint32_t key = 0; key < count; ++key) {
            std::string label = Text::label("key", batcher.key_label(key));
            if (has(keys, label)) label = Text::label("key", text(batcher.key_label(key), "-", key));
            keys.push_back(label);
            out.push_back({text(of, ",", label), batcher.key_info(key)});
        }
    });
    return out;
}

void batchers(Text& out, Runtime& runtime) {
    const auto all = keys_of(runtime);
    if (all.empty()) return;
    using Info = gpo_batcher_info;
    using Field = uint64_t Info::*;
    const auto figure = [&](const char* name, const char* type, const char* help, Field field) {
        out.metric(name, type, help);
        for (const auto& [labels, info] : all) out.sample(info.*field, labels);
    };
    const auto by = [&](const char* name, const char* help, const char* what,
                        std::initializer_list<std::pair<const char*, Field>> kinds) {
        out.metric(name, "counter", help);
        for (const auto& [labels, info] : all)
            for (const auto& [kind, field] : kinds) out.sample(info.*field, text(labels, ",", what, "=\"", kind, "\""));
    };
    const auto times = [&](const char* name, const char* help, const auto& of, Field sum) {
        out.metric(name, "histogram", help);
        for (const auto& key : all)
            histogram(out, key.labels, of(key.info), GPO_BATCHER_TIMES, 1e-6,
                      static_cast<double>(key.info.*sum) * 1e-9);
    };
    figure("gpuorch_batcher_requests_waiting", "gauge", "Requests that wait for a batch.", &Info::waiting);
    figure("gpuorch_batcher_requests_running", "gauge", "Requests in batches that run.", &Info::running);
    figure("gpuorch_batcher_batches_running", "gauge", "Batches that run.", &Info::running_batches);
    figure("gpuorch_batcher_submitted_total", "counter", "Requests that were accepted.", &Info::submitted);
    figure("gpuorch_batcher_submitted_bytes_total", "counter", "Input of these, and their room for output.",
           &Info::submitted_bytes);
    by("gpuorch_batcher_requests_total", "Requests that have ended, by their outcome.", "outcome",
       {{"success", &Info::succeeded},
        {"failure", &Info::failed},
        {"deadline", &Info::expired},
        {"cancelled", &Info::cancelled}});
    by("gpuorch_batcher_refused_total", "Requests that were refused, by the reason.", "reason",
       {{"full", &Info::refused_full}, {"deadline", &Info::refused_deadline}});
    figure("gpuorch_batcher_late_total", "counter", "Requests that succeeded after their deadline.", &Info::late);
    figure("gpuorch_batcher_batches_total", "counter", "Batches that have ended.", &Info::batches);
    by("gpuorch_batcher_elements_total", "Elements that batches worked on: of requests, and of padding.", "kind",
       {{"request", &Info::batch_elements}, {"padding", &Info::padded_elements}});
    out.metric("gpuorch_batcher_delay_seconds", "gauge", "How long the newest batch has waited for members.");
    for (const auto& [labels, info] : all) out.sample(static_cast<double>(info.delay_ns) * 1e-9, labels);
    out.metric("gpuorch_batcher_predicted_wait_seconds", "gauge", "Until a request that comes now would be done.");
    for (const auto& [labels, info] : all) out.sample(static_cast<double>(info.wait_ns) * 1e-9, labels);
    out.metric("gpuorch_batcher_batch_size", "histogram", "Requests of a batch.");
    for (const auto& key : all)
        histogram(out, key.labels, key.info.sizes, GPO_BATCHER_SIZES, 1,
                  static_cast<double>(key.info.succeeded + key.info.failed));
    times(
        "gpuorch_batcher_queue_seconds", "From the submission of a request to the forming of its batch.",
        [](const Info& info) { return info.queue_times; }, &Info::queue_ns);
    times(
        "gpuorch_batcher_batch_seconds", "From the forming of a batch to its end.",
        [](const Info& info) { return info.batch_times; }, &Info::batch_ns);
    times(
        "gpuorch_batcher_request_seconds", "From the submission of a request to its entry, if it succeeded.",
        [](const Info& info) { return info.request_times; }, &Info::request_ns);
}

}  // namespace

std::string prometheus(Runtime& runtime) {
    Text out(Text::label("runtime", *runtime.label() ? std::string(runtime.label()) : text(runtime.number())));
    const gpo_metrics metrics = of_runtime(runtime);
    counters(out, statistics(runtime));
    gauges(out, metrics);
    latencies(out, metrics);
    errors(out, metrics);
    admissions(out, runtime);
    batchers(out, runtime);
    std::vector<Gpu> all;
    for (const auto& context : Contexts::of(runtime).all()) {
        const bool seen = std::any_of(all.begin(), all.end(), [&](const Gpu& gpu) {
            return gpu.labels.starts_with(text("gpu=\"", context->ordinal(), "\""));
        });
        if (seen) continue;  // a foreign context beside the primary one
        const gpo_device_properties properties = device_properties(context->driver(), context->ordinal());
        all.push_back(
            {text("gpu=\"", context->ordinal(), "\",", Text::label("name", properties.name)), of_device(*context)});
    }
    gpus(out, all);
    return out.take();
}

}  // namespace gpo::metrics
