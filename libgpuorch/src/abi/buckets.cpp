// The exported functions of buckets.h.
#include "gpuorch/buckets.h"

#include "abi/call.h"
#include "device/device.h"
#include "graph/buckets.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_buckets_create(gpo_device_t device, const gpo_buckets_options* options, gpo_buckets_t* buckets) {
    return abi::call(__func__, {device}, [&] {
        required(options, "options");
        required(buckets, "buckets");
        const gpo_buckets_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_BUCKETS_NO_WARM_UP | GPO_BUCKETS_EAGER_FALLBACK, "options.flags");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<Buckets>(pinned->context_ref(), device, read);
            *buckets = pinned->runtime().publish<gpo_buckets_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_buckets_destroy(gpo_buckets_t buckets) { return abi::destroy(__func__, buckets, Type::buckets); }

GPO_API gpo_status gpo_buckets_prepare(gpo_buckets_t buckets, gpo_stream_t stream) {
    return abi::call(__func__, {buckets, abi::works_on(stream)}, [&] {
        Pin<Buckets> pinned(buckets);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] {
            pinned->prepare(*on);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_buckets_launch(gpo_buckets_t buckets, gpo_stream_t stream, uint64_t size,
                                      const gpo_setting* settings, uint64_t stride, uint64_t count, uint64_t* shape) {
    return abi::submit(__func__, {buckets, abi::works_on(stream)}, [&] {
        Pin<Buckets> pinned(buckets);
        Pin<Stream> on(stream, pinned);
        return abi::blame(*on, [&] { return pinned->launch(*on, stream, {size, settings, stride, count}, shape); });
    });
}

GPO_API gpo_status gpo_buckets_get_statistics(gpo_buckets_t buckets, gpo_buckets_statistics* statistics) {
    return abi::call(__func__, {buckets}, [&] {
        required(statistics, "statistics");
        Pin<Buckets> pinned(buckets);
        write_struct(statistics, pinned->statistics(), "statistics");
        return GPO_SUCCESS;
    });
}
}
