// The exported functions of pipeline.h.
#include "gpuorch/pipeline.h"

#include "abi/call.h"
#include "pipeline/pipeline.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_pipeline_create(gpo_device_t device, const gpo_pipeline_options* options,
                                       gpo_pipeline_t* pipeline) {
    return abi::call(__func__, {device}, [&] {
        Pin<Device> d(device);
        required(options, "options");
        required(pipeline, "pipeline");
        auto made = make<Pipeline>(*d, device, read_struct(options, "options"));
        *pipeline = d->runtime().publish<gpo_pipeline_t>(*made);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_pipeline_destroy(gpo_pipeline_t pipeline) {
    return abi::destroy(__func__, pipeline, Type::pipeline);
}

GPO_API gpo_status gpo_pipeline_start(gpo_pipeline_t pipeline, const gpo_source* source, const gpo_sink* sink) {
    return abi::call(__func__, {pipeline}, [&] {
        Pin<Pipeline> p(pipeline);
        return abi::blame(*p, [&] {
            if (p->runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
            required(source, "source");
            required(sink, "sink");
            p->start(read_struct(source, "source"), read_struct(sink, "sink"));
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_pipeline_wait(gpo_pipeline_t pipeline, int64_t timeout_ns, gpo_pipeline_result* result) {
    return abi::call(__func__, {pipeline}, [&] {
        Pin<Pipeline> p(pipeline);
        const uint64_t deadline = host::deadline_after(timeout_ns);
        gpo_pipeline_result out{};
        if (result) writable(*result, "result");  // refused before the wait, if at all
        ErrorPtr error;
        const gpo_status status = p->wait(deadline, &out, &error);
        if (status == GPO_TIMEOUT) return status;
        if (result) write_struct(result, out, "result");
        if (error) throw Failure(error);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_pipeline_get_share(gpo_pipeline_t pipeline, uint32_t device, gpo_pipeline_share* share) {
    return abi::call(__func__, {pipeline}, [&] {
        Pin<Pipeline> p(pipeline);
        required(share, "share");
        write_struct(share, p->share(device), "share");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_pipeline_cancel(gpo_pipeline_t pipeline) {
    return abi::call(__func__, {pipeline}, [&] {
        Pin<Pipeline> p(pipeline);
        p->cancel();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_pipeline_notify(gpo_pipeline_t pipeline, gpo_cq_t cq, uint64_t user_data) {
    return abi::call(__func__, {pipeline, cq}, [&] {
        Pin<Pipeline> p(pipeline);
        Pin<CompletionQueue> queue(cq);
        return p->notify(*queue, user_data);
    });
}

GPO_API gpo_status gpo_pipeline_get_progress(gpo_pipeline_t pipeline, gpo_pipeline_progress* progress) {
    return abi::call(__func__, {pipeline}, [&] {
        Pin<Pipeline> p(pipeline);
        write_struct(progress, p->progress(), "progress");
        return GPO_SUCCESS;
    });
}

}  // extern "C"
