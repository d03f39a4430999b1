#include "core/runtime.h"

#include "abi/call.h"
#include "metrics/metrics.h"
#include "runtime/shutdown.h"
#include "runtime/tracing.h"
#include "trace/nvtx.h"
#include "trace/recorder/recorder.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_runtime_create(const gpo_runtime_options* options, gpo_runtime_t* runtime) {
    return abi::call(__func__, {}, [&] {
        required(runtime, "runtime");
        auto made = make<Runtime>(read_struct(options, "options"));
        made->report_mistakes();
        trace::nvtx::attach();
        trace::Recorder::start_from_environment(*made, trace_source());
        *runtime = made->handle();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_runtime_shutdown(gpo_runtime_t runtime, int64_t timeout_ns) {
    return abi::call(__func__, {runtime}, [&]() -> gpo_status {
        if (!runtime) return GPO_SUCCESS;
        gpo_status status = GPO_INVALID_HANDLE;
        try {
            Pin<Runtime> pinned(runtime);
            pinned->refuse_in_host_function();
            status = shut_down(*pinned, host::deadline_after(timeout_ns));
        } catch (const Failure& failure) {
            // Another thread has finished the shutdown: even the handle is stale.
            if (failure.error()->status != GPO_STALE_HANDLE) throw;
        }
        if (status == GPO_INVALID_HANDLE) fail(status, "another thread has shut the runtime down");
        return status;
    });
}

GPO_API gpo_status gpo_runtime_get_driver(gpo_runtime_t runtime, gpo_driver_info* info) {
    return abi::call(__func__, {runtime}, [&] {
        required(info, "info");
        Pin<Runtime> pinned(runtime);
        const driver::Driver& driver = pinned->driver();
        gpo_driver_info out{};
        out.version = driver.version;
        out.software = driver.software;
        out.device_count = static_cast<uint32_t>(pinned->ordinals().size());
        copy_text(out.name, driver.name);
        copy_text(out.reason, pinned->driver_reason());
        write_struct(info, out, "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_runtime_get_statistics(gpo_runtime_t runtime, gpo_statistics* statistics) {
    return abi::call(__func__, {runtime}, [&] {
        required(statistics, "statistics");
        Pin<Runtime> pinned(runtime);
        write_struct(statistics, metrics::statistics(*pinned), "statistics");
        return GPO_SUCCESS;
    });
}

GPO_API uint32_t gpo_version(void) {
    return GPO_VERSION;
}

}
