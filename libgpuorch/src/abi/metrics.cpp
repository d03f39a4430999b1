#include "metrics/metrics.h"

#include "abi/call.h"
#include "device/device.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_runtime_get_metrics(gpo_runtime_t runtime, gpo_metrics* metrics) {
    return abi::call(__func__, {runtime}, [&] {
        required(metrics, "metrics");
        Pin<Runtime> pinned(runtime);
        write_struct(metrics, metrics::of_runtime(*pinned), "metrics");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_device_get_metrics(gpo_device_t device, gpo_device_metrics* metrics) {
    return abi::call(__func__, {device}, [&] {
        required(metrics, "metrics");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            pinned->context().require_alive();
            write_struct(metrics, metrics::of_device(pinned->context()), "metrics");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_runtime_get_metrics_text(gpo_runtime_t runtime, char* buffer, size_t capacity, size_t* needed) {
    return abi::call(__func__, {runtime}, [&] {
        Pin<Runtime> pinned(runtime);
        return write_text(metrics::prometheus(*pinned), buffer, capacity, needed);
    });
}

}
