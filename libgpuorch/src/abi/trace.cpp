#include "gpuorch/trace.h"

#include "abi/call.h"
#include "runtime/tracing.h"
#include "trace/recorder/recorder.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_trace_start(gpo_runtime_t runtime, const gpo_trace_options* options) {
    return abi::call(__func__, {runtime}, [&] {
        const gpo_trace_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_TRACE_NO_GPU_TIMES, "options.flags");
        trace::Options wanted;
        const auto text_of = [](const char* value) { return std::string(value ? value : ""); };
        wanted.path = text_of(read.path);
        wanted.picture = text_of(read.picture);
        wanted.title = text_of(read.title);
        wanted.gpu_times = !(read.flags & GPO_TRACE_NO_GPU_TIMES);
        Pin<Runtime> pinned(runtime);
        trace::Recorder& recorder = pinned->annex<trace::Recorder>();
        if (pinned->shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        return abi::blame(*pinned, [&] {
            recorder.start(wanted, trace_source());
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_trace_stop(gpo_runtime_t runtime) {
    return abi::call(__func__, {runtime}, [&] {
        Pin<Runtime> pinned(runtime);
        return abi::blame(*pinned, [&] {
            trace::Recorder* recorder = trace::Recorder::of(*pinned);
            if (!recorder) fail(GPO_INVALID_STATE, "the runtime is not being traced");
            recorder->stop();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_trace_get_info(gpo_runtime_t runtime, gpo_trace_info* info) {
    return abi::call(__func__, {runtime}, [&] {
        required(info, "info");
        Pin<Runtime> pinned(runtime);
        trace::Recorder* recorder = trace::Recorder::of(*pinned);
        write_struct(info, recorder ? recorder->info() : gpo_trace_info{}, "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_trace_get_summary(gpo_runtime_t runtime, char* buffer, size_t capacity, size_t* needed) {
    return abi::call(__func__, {runtime}, [&] {
        Pin<Runtime> pinned(runtime);
        trace::Recorder* recorder = trace::Recorder::of(*pinned);
        if (!recorder || !recorder->session()) fail(GPO_INVALID_STATE, "the runtime has not been traced");
        return write_text(recorder->summary(), buffer, capacity, needed);
    });
}

}
