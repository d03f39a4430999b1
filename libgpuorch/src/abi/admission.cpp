#include "gpuorch/admission.h"

#include "abi/call.h"
#include "serving/enter_call.h"

using namespace gpo;

namespace {

constexpr uint32_t kDefaultWaiting = 65536, kMostWaiting = 1u << 20, kMostPriorities = 16, kMostWeight = 1u << 16;

gpo_admission_options checked(const gpo_admission_options* options) {
    gpo_admission_options read = read_struct(options, "options");
    refuse_unknown_flags(read.flags, 0, "options.flags");
    const auto at_most = [](uint64_t value, uint64_t most, const char* name) {
        if (value > most)
            fail(GPO_INVALID_ARGUMENT, "options.", name, " is ", value, ", at most ", most, " are possible");
    };
    at_most(read.capacity, kMostWaiting, "capacity");
    at_most(read.priorities, kMostPriorities, "priorities");
    if (read.count == GPO_AUTO) read.count = UINT64_MAX;
    if (read.bytes == GPO_AUTO) read.bytes = UINT64_MAX;
    if (read.capacity == GPO_AUTO) read.capacity = kDefaultWaiting;
    if (read.priorities == GPO_AUTO) read.priorities = 1;
    if (!read.pool && (read.high_bytes || read.low_bytes))
        fail(GPO_INVALID_ARGUMENT, "options has watermarks, and options.pool is NULL");
    if (read.pool && !read.high_bytes) fail(GPO_INVALID_ARGUMENT, "options has a pool, and options.high_bytes is 0");
    if (read.low_bytes == GPO_AUTO) read.low_bytes = read.high_bytes - read.high_bytes / 10;
    if (read.low_bytes > read.high_bytes)
        fail(GPO_INVALID_ARGUMENT, "options.low_bytes is ", read.low_bytes, ", above options.high_bytes, ",
             read.high_bytes);
    return read;
}

gpo_admission_request checked(const gpo_admission_request* request) {
    gpo_admission_request read = read_struct(request, "request");
    if (read.count == GPO_AUTO) read.count = 1;
    return read;
}

template <class Other>
void of_one_runtime(const Admission& admission, const Other& other) {
    if (&admission.runtime() != &other.runtime())
        fail(GPO_INVALID_HANDLE, admission.describe(), " and ", other.describe(), " are of different runtimes");
}

template <class Work>
gpo_status on(const char* function, gpo_admission_t admission, Work&& work) noexcept {
    return abi::submit(function, {admission}, [&] {
        Pin<Admission> pinned(admission);
        return abi::blame(*pinned, [&] {
            work(*pinned);
            return GPO_SUCCESS;
        });
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_admission_create(gpo_runtime_t runtime, const gpo_admission_options* options,
                                        gpo_admission_t* admission) {
    return abi::call(__func__, {runtime}, [&] {
        required(admission, "admission");
        const gpo_admission_options read = checked(options);
        Pin<Runtime> pinned(runtime);
        Ref<Pool> pool;
        if (read.pool) {
            Pin<Pool> watched(read.pool);
            if (&watched->runtime() != &*pinned)
                fail(GPO_INVALID_HANDLE, watched->describe(), " is of another runtime");
            pool = watched.ref();
        }
        auto made = make<Admission>(*pinned, read, std::move(pool));
        try {
            *admission = pinned->publish<gpo_admission_t>(*made);
        } catch (...) {
            made->close();
            throw;
        }
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_admission_destroy(gpo_admission_t admission) {
    return abi::destroy(__func__, admission, Type::admission);
}

GPO_API gpo_status gpo_admission_enter(gpo_admission_t admission, const gpo_admission_request* request, gpo_cq_t cq,
                                       uint64_t user_data, uint64_t* ticket) {
    return abi::submit(__func__, {admission, cq}, [&] {
        required(ticket, "ticket");
        const gpo_admission_request read = checked(request);
        Pin<Admission> pinned(admission);
        Pin<CompletionQueue> queue(cq, pinned);
        of_one_runtime(*pinned, *queue);
        return abi::blame(*pinned, [&] {
            if (!queue->reserve()) return GPO_WOULD_BLOCK;
            try {
                Admission::Target target;
                target.queue = &*queue;
                target.user_data = user_data;
                const gpo_status status = pinned->enter(read, std::move(target), ticket);
                if (status != GPO_SUCCESS) queue->unreserve();
                return status;
            } catch (...) {
                queue->unreserve();
                throw;
            }
        });
    });
}

GPO_API gpo_status gpo_admission_enter_then(gpo_admission_t admission, const gpo_admission_request* request,
                                            gpo_executor_t executor, gpo_completion_fn callback, void* user,
                                            uint64_t* ticket) {
    return abi::call(__func__, {admission, executor}, [&] {
        required(callback, "callback");
        required(ticket, "ticket");
        const gpo_admission_request read = checked(request);
        Pin<Admission> pinned(admission);
        Pin<Executor> run_by(executor);
        of_one_runtime(*pinned, *run_by);
        return abi::blame(*pinned, [&] {
            const auto task = make<EnterCall>(*run_by, *pinned, callback, user);
            return accept_and_submit(*run_by, task, nullptr, [&] { return task->enter(read, ticket); });
        });
    });
}

GPO_API gpo_status gpo_admission_cancel(gpo_admission_t admission, uint64_t ticket) {
    return on(__func__, admission, [&](Admission& pinned) { pinned.cancel(ticket); });
}

GPO_API gpo_status gpo_admission_leave(gpo_admission_t admission, uint64_t ticket) {
    return on(__func__, admission, [&](Admission& pinned) { pinned.leave(ticket); });
}

GPO_API gpo_status gpo_admission_leave_after(gpo_admission_t admission, uint64_t ticket, gpo_stream_t stream) {
    return abi::call(__func__, {admission, abi::works_on(stream)}, [&] {
        Pin<Admission> pinned(admission);
        Pin<Stream> behind(stream);
        return abi::blame(*pinned, [&] { return pinned->leave_after(ticket, *behind); });
    });
}

GPO_API gpo_status gpo_admission_set_budget(gpo_admission_t admission, uint64_t count, uint64_t bytes) {
    return on(__func__, admission, [&](Admission& pinned) { pinned.set_budget(count, bytes); });
}

GPO_API gpo_status gpo_admission_set_flow(gpo_admission_t admission, uint64_t flow, uint32_t weight) {
    return on(__func__, admission, [&](Admission& pinned) {
        if (weight == 0 || weight > kMostWeight)
            fail(GPO_INVALID_ARGUMENT, "weight is ", weight, ", it must be 1 to ", kMostWeight);
        pinned.set_flow(flow, weight);
    });
}

GPO_API gpo_status gpo_admission_get_info(gpo_admission_t admission, gpo_admission_info* info) {
    return abi::call(__func__, {admission}, [&] {
        required(info, "info");
        Pin<Admission> pinned(admission);
        write_struct(info, pinned->info(), "info");
        return GPO_SUCCESS;
    });
}

}  // extern "C"
