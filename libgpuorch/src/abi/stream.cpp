#include "stream/stream.h"

#include "abi/call.h"
#include "device/device.h"
#include "queue/scheduler/load_early.h"
#include "stream/event.h"
#include "stream/stream_pool.h"
#include "stream/timeline.h"

using namespace gpo;

namespace {

gpo_stream_options read_options(const gpo_stream_options* options) {
    const gpo_stream_options read = read_struct(options, "options");
    refuse_unknown_flags(read.flags, GPO_STREAM_BLOCKING | GPO_STREAM_LEARNS | GPO_STREAM_RESIDENT, "options.flags");
    return read;
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_stream_create(gpo_device_t device, const gpo_stream_options* options, gpo_stream_t* stream) {
    return abi::call(__func__, {device}, [&] {
        required(stream, "stream");
        const gpo_stream_options read = read_options(options);
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            if (read.flags & GPO_STREAM_RESIDENT) scheduler::load_early(pinned->context());
            auto made = make<Stream>(pinned->context_ref(), device, read);
            made->announce();
            *stream = pinned->runtime().publish<gpo_stream_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_stream_wrap(gpo_device_t device, void* native, const gpo_stream_options* options,
                                   gpo_stream_t* stream) {
    return abi::call(__func__, {device}, [&] {
        required(stream, "stream");
        const gpo_stream_options read = read_options(options);
        if (read.flags & GPO_STREAM_LEARNS)
            fail(GPO_NOT_SUPPORTED,
                 "options.flags has GPO_STREAM_LEARNS, and a wrapped stream can't learn: the program "
                 "may put work on it that the library doesn't see");
        if (read.flags & GPO_STREAM_RESIDENT)
            fail(GPO_NOT_SUPPORTED,
                 "options.flags has GPO_STREAM_RESIDENT, and a wrapped stream can't be resident: the program may put "
                 "work on it while a call of the driver waits for all kernels");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<Stream>(pinned->context_ref(), device, static_cast<CUstream>(native), read);
            made->announce();
            *stream = pinned->runtime().publish<gpo_stream_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_stream_destroy(gpo_stream_t stream) {
    return abi::call(__func__, {stream}, [&] {
        if (!stream) return GPO_SUCCESS;
        {
            Pin<Stream> pinned(stream);
            if (const char* whole = pinned->whole()) fail(GPO_INVALID_STATE, pinned->describe(), " is of ", whole);
        }
        return abi::destroy("gpo_stream_destroy", stream, Type::stream);
    });
}

GPO_API gpo_status gpo_device_get_priority_range(gpo_device_t device, int32_t* least, int32_t* greatest) {
    return abi::call(__func__, {device}, [&] {
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            Context& context = pinned->context();
            DriverScope scope(context);
            int low = 0, high = 0;
            context.check(context.table().cuCtxGetStreamPriorityRange(&low, &high), "cuCtxGetStreamPriorityRange");
            if (least) *least = low;
            if (greatest) *greatest = high;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_stream_get_info(gpo_stream_t stream, gpo_stream_info* info) {
    return abi::call(__func__, {abi::works_on(stream)}, [&] {
        required(info, "info");
        Pin<Stream> pinned(stream);
        write_struct(info, pinned->info(), "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_stream_get_native(gpo_stream_t stream, void** native) {
    return abi::call(__func__, {abi::works_on(stream)}, [&] {
        required(native, "native");
        Pin<Stream> pinned(stream);
        *native = pinned->expose();
        pinned->issue_withheld();  // nothing is withheld from here on
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_stream_query(gpo_stream_t stream) {
    return abi::call(__func__, {abi::works_on(stream)}, [&] {
        Pin<Stream> pinned(stream);
        return abi::blame(*pinned, [&] { return pinned->query(); });
    });
}

GPO_API gpo_status gpo_stream_wait(gpo_stream_t stream, int64_t timeout_ns) {
    return abi::call(__func__, {abi::works_on(stream)}, [&] {
        Pin<Stream> pinned(stream);
        return abi::blame(*pinned,
                          [&] { return pinned->wait(timeout_ns == 0 ? 0 : host::deadline_after(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_stream_cancel_held(gpo_stream_t stream, uint64_t* count) {
    return abi::call(__func__, {abi::works_on(stream)}, [&] {
        Pin<Stream> pinned(stream);
        const uint64_t cancelled = pinned->held().cancel();
        if (count) *count = cancelled;
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_stream_wait_event(gpo_stream_t stream, gpo_event_t event) {
    return abi::submit(__func__, {abi::works_on(stream), event}, [&] {
        Pin<Stream> pinned(stream);
        Pin<Event> point(event, pinned);
        return abi::blame(*pinned, [&] { return point->put_wait(*pinned); });
    });
}

GPO_API gpo_status gpo_stream_wait_stream(gpo_stream_t stream, gpo_stream_t other) {
    return abi::call(__func__, {abi::works_on(stream), abi::works_on(other)}, [&] {
        Pin<Stream> pinned(stream), first(other);
        if (&pinned->runtime() != &first->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", first->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] {
            auto point = make<Event>(Ref<Context>(&first->context()), 0u, nullptr);
            const gpo_status status = point->record(*first);
            point->set_last();
            return status == GPO_SUCCESS ? point->put_wait(*pinned) : status;
        });
    });
}

GPO_API gpo_status gpo_stream_wait_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value) {
    return abi::call(__func__, {abi::works_on(stream), timeline}, [&] {
        Pin<Stream> pinned(stream);
        Pin<Timeline> awaited(timeline);
        if (&pinned->runtime() != &awaited->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", awaited->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] { return awaited->put_wait(*pinned, value); });
    });
}

GPO_API gpo_status gpo_stream_signal_timeline(gpo_stream_t stream, gpo_timeline_t timeline, uint64_t value) {
    return abi::call(__func__, {abi::works_on(stream), timeline}, [&] {
        Pin<Stream> pinned(stream);
        Pin<Timeline> signalled(timeline);
        if (&pinned->runtime() != &signalled->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", signalled->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] { return signalled->put_signal(*pinned, value); });
    });
}

GPO_API gpo_status gpo_stream_pool_create(gpo_device_t device, const gpo_stream_pool_options* options,
                                          gpo_stream_pool_t* pool) {
    return abi::call(__func__, {device}, [&] {
        required(pool, "pool");
        const gpo_stream_pool_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, 0, "options.flags");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<StreamPool>(pinned->context_ref(), device, read);
            try {
                *pool = pinned->runtime().publish<gpo_stream_pool_t>(*made);
            } catch (...) {
                made->close();
                throw;
            }
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_stream_pool_destroy(gpo_stream_pool_t pool) {
    return abi::destroy(__func__, pool, Type::stream_pool);
}

GPO_API gpo_status gpo_stream_pool_acquire(gpo_stream_pool_t pool, int32_t priority, gpo_stream_t* stream) {
    return abi::call(__func__, {pool}, [&] {
        required(stream, "stream");
        Pin<StreamPool> pinned(pool);
        *stream = pinned->acquire(priority);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_stream_pool_release(gpo_stream_pool_t pool, gpo_stream_t stream) {
    return abi::call(__func__, {pool, abi::works_on(stream)}, [&] {
        Pin<StreamPool> pinned(pool);
        Pin<Stream> checked(stream);
        if (&checked->runtime() != &pinned->runtime())
            fail(GPO_INVALID_HANDLE, checked->describe(), " and ", pinned->describe(), " are of different runtimes");
        pinned->give_back(stream);
        return GPO_SUCCESS;
    });
}

}
