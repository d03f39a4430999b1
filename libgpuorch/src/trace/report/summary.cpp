#include "trace/report/summary.h"

#include "base/text.h"
#include "host/host.h"
#include "trace/report/words.h"

namespace gpo::trace {

std::string summary_text(const Summary& about) {
    const gpo_trace_info& info = about.info;
    const uint64_t time = (about.end ? about.end : host::now()) - about.start;
    std::string out = text("trace of ", about.title, ": ", time_text(static_cast<double>(time)), ", ",
                           counts_text(info), "\n");
    for (const auto& [number, device] : about.devices) {
        const uint64_t span = device.end - device.begin;
        out += text("GPU ", number, ": some engine worked ", percent(device.any, span), " of the ",
                    time_text(static_cast<double>(span)), " from the first operation to the last\n");
        for (size_t i = 1; i < kEngines; ++i) {
            const auto& engine = device.engines[i];
            if (engine.spans == 0) continue;
            std::string name = engine_name(static_cast<Engine>(i));
            name.resize(16, ' ');
            out += text("  ", name, percent(engine.busy, span), " busy, ",
                        count_text(engine.spans, "timed operation"));
            if (engine.nodes) out += text(" with ", count_text(engine.nodes, "node"));
            if (engine.bytes)
                out += text(", ", bytes_text(static_cast<double>(engine.bytes)), " at ",
                            speed_text(engine.bytes, engine.busy));
            out += '\n';
        }
        if (device.copying)
            out += text("  ", percent(device.hidden, device.copying), " of the copying was hidden behind other work\n");
        for (const Gap& gap : device.gaps)
            out += text("  gap of ", time_text(static_cast<double>(gap.end - gap.begin)), " at ",
                        time_text(static_cast<double>(gap.begin - about.start)), ", after ", gap.before, ", before ",
                        gap.after, "\n");
    }
    for (const auto& [what, all] : about.serialising)
        out += text("serialising: ", all.count, " x ", what,
                    all.time ? text(", ", time_text(static_cast<double>(all.time))) : std::string(), "\n");
    const uint64_t cost = info.calls * info.call_cost_ns + info.timed * info.operation_cost_ns;
    out += text("recording took the host's threads about ", percent(cost, time), ": ", info.call_cost_ns, " ns a call");
    if (info.operation_cost_ns)
        out +=
            text(", ", info.operation_cost_ns, " ns an operation; GPU times are right to ", info.clock_error_ns, " ns");
    out += info.dropped ? text("; ", info.dropped, " records were lost\n") : "\n";
    return out;
}

}  // namespace gpo::trace
