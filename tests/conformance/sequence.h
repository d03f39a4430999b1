// Random sequences of calls, right and wrong ones mixed, by a seed: their objects and checks, and the calls of streams,
// events, timelines, queues and executors. sequence_test.cpp has the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

inline constexpr int kCalls = 300;

/// Handles of one type: all live handles, and some destroyed handles.
template <class Handle>
struct Handles {
    std::vector<Handle> live, gone;
};

class Sequence {
public:
    /// `schedule`: seed of the explored schedule of the run; 0: none.
    Sequence(uint64_t seed, uint64_t schedule) : random_(seed) {
        auto options = sized<gpo_runtime_options>();
        options.schedule_seed = schedule;
        options.log_level = GPO_LOG_WARNING;
        options.log = [](void* user, int32_t, const char* line) {
            *static_cast<std::string*>(user) += std::string(line) + "\n";
        };
        options.log_user = &log_;
        REQUIRE_OK(gpo_runtime_create(&options, &runtime_));
        REQUIRE_OK(gpo_device_open(runtime_, nullptr, &device_));
        REQUIRE_OK(gpo_arena_create(device_, nullptr, &arena_));
        REQUIRE_OK(gpo_pool_create(device_, nullptr, &pool_));
        REQUIRE_OK(gpo_module_load_builtin(device_, &module_));
        REQUIRE_OK(gpo_module_get_kernel(module_, "gpo_fill_u32", &kernel_));
        REQUIRE_OK(gpo_memory_allocate(device_, kBytes, nullptr, &memory_));
        REQUIRE_OK(gpo_arena_allocate(arena_, kBytes, 0, &pinned_));
        for (int i = 0; i < 2; ++i) create_stream();
        create_queue();
        create_event();
        create_timeline();
        create_executor();
    }

protected:
    using Call = void (Sequence::*)();
    /// Calls of streams and of notifications about their work; some are likelier than others.
    static std::vector<Call> calls() {
        return {&Sequence::create_stream,
                &Sequence::create_event,
                &Sequence::create_timeline,
                &Sequence::create_queue,
                &Sequence::create_executor,
                &Sequence::destroy_something,
                &Sequence::notify,
                &Sequence::notify,
                &Sequence::notify,
                &Sequence::launch_fill,
                &Sequence::launch_fill,
                &Sequence::fill,
                &Sequence::copy,
                &Sequence::copy,
                &Sequence::record,
                &Sequence::wait_event,
                &Sequence::wait_stream,
                &Sequence::wait_timeline,
                &Sequence::signal,
                &Sequence::signal_behind,
                &Sequence::fail_timeline,
                &Sequence::cancel,
                &Sequence::query,
                &Sequence::wait_shortly,
                &Sequence::drain_some,
                &Sequence::then,
                &Sequence::then,
                &Sequence::host_call,
                &Sequence::piece,
                &Sequence::pooled,
                &Sequence::wake,
                &Sequence::ask};
    }

    /// Takes all marks that are due.
    void let_go() {
        // Release held work, also on streams whose handles are destroyed.
        destroy_all(timelines_, gpo_timeline_destroy);
        destroy_all(executors_, gpo_executor_destroy);
        for (gpo_stream_t stream : streams_.live) CHECK_OK(gpo_stream_cancel_held(stream, nullptr));
        // Streams without handles that wait for their own signals end only with the shutdown.
        const auto due = [&](const Mark& mark) { return mark.times == 0 && !gone(streams_, mark.stream); };
        for (gpo_cq_t queue : queues_.live) {
            drain(queue, 64);
            const auto& marks = marks_[queue];
            while (std::any_of(marks.begin(), marks.end(), [&](const auto& mark) { return due(mark.second); })) {
                REQUIRE_OK(gpo_cq_wait(queue, kPatience));
                drain(queue, 64);
            }
        }
    }

    void finish() {
        for (void* piece : pieces_) CHECK_OK(gpo_arena_free(arena_, piece));
        CHECK_OK(gpo_arena_free(arena_, pinned_));
        CHECK_OK(gpo_memory_free(device_, memory_));
        // A cancelled free was never done.
        gpo_stream_t last = nullptr;
        REQUIRE_OK(gpo_stream_create(device_, nullptr, &last));
        for (const uint64_t address : pooled_) {
            const gpo_status status = gpo_pool_free(pool_, last, address);
            CHECK((status == GPO_SUCCESS || status == GPO_INVALID_ARGUMENT));
        }
        CHECK_OK(gpo_stream_destroy(last));
        destroy_all(streams_, gpo_stream_destroy);
        destroy_all(events_, gpo_event_destroy);
        destroy_all(queues_, gpo_cq_destroy);
        CHECK_OK(gpo_kernel_destroy(kernel_));
        CHECK_OK(gpo_module_destroy(module_));
        CHECK_OK(gpo_pool_destroy(pool_));
        CHECK_OK(gpo_arena_destroy(arena_));
        CHECK_OK(gpo_device_close(device_));
        CHECK_OK(gpo_runtime_shutdown(runtime_, kPatience));
        CHECK(came_ == owed_);
        // Frees held by such a stream until the shutdown were never done.
        for (size_t begin = 0, end; (end = log_.find('\n', begin)) != std::string::npos; begin = end + 1) {
            const std::string line = log_.substr(begin, end - begin);
            INFO(line);
            CHECK(line.starts_with("never freed: pool"));
        }
    }

    static constexpr uint64_t kBytes = 1 << 16;

    struct Mark {
        gpo_stream_t stream;
        int times;   // how often the mark came
    };
    template <class Handle>
    static bool gone(const Handles<Handle>& handles, Handle handle) {
        return std::find(handles.gone.begin(), handles.gone.end(), handle) != handles.gone.end();
    }

    /// Mostly a live handle; now and then a destroyed handle, NULL, or a number.
    template <class Handle>
    struct Chosen {
        Handle handle;
        bool good;
    };
    template <class Handle>
    Chosen<Handle> choose(Handles<Handle>& pool) {
        const uint64_t number = random_();
        if (number % 32 == 0) return {nullptr, false};
        if (number % 32 == 1) return {reinterpret_cast<Handle>(number), false};
        if ((number % 32 < 4 || pool.live.empty()) && !pool.gone.empty())
            return {pool.gone[number / 32 % pool.gone.size()], false};
        if (pool.live.empty()) return {nullptr, false};
        return {pool.live[number / 32 % pool.live.size()], true};
    }
    /// The answer to a call with these handles.
    bool judge(const char* call, gpo_status status, bool good) {
        INFO(explain(call, status));
        if (!good) {
            CHECK((status == GPO_INVALID_HANDLE || status == GPO_STALE_HANDLE));
            return false;
        }
        CHECK(std::string(gpo_status_name(status)) != "GPO_UNKNOWN");
        CHECK(status != GPO_INTERNAL);
        CHECK(status != GPO_DRIVER_ERROR);
        CHECK(status != GPO_DEVICE_LOST);
        CHECK(status != GPO_INVALID_HANDLE);
        CHECK(status != GPO_STALE_HANDLE);
        return status == GPO_SUCCESS;
    }
#define JUDGE(good, ...) judge(#__VA_ARGS__, __VA_ARGS__, good)

    template <class Handle>
    void keep(Handles<Handle>& pool, gpo_status status, Handle made) {
        if (judge("create", status, true)) pool.live.push_back(made);
    }
    template <class Handle>
    bool destroy_one(Handles<Handle>& pool, gpo_status (*destroy)(Handle), Handle* which) {
        const auto chosen = choose(pool);
        *which = chosen.handle;
        if (!chosen.handle) {
            CHECK_OK(destroy(nullptr));
            return false;
        }
        if (!judge("destroy", destroy(chosen.handle), chosen.good)) return false;
        std::erase(pool.live, chosen.handle);
        pool.gone.push_back(chosen.handle);
        return true;
    }
    template <class Handle>
    void destroy_all(Handles<Handle>& pool, gpo_status (*destroy)(Handle)) {
        for (Handle handle : pool.live) CHECK_OK(destroy(handle));
    }

    void create_stream() {
        if (streams_.live.size() > 6) return;
        auto options = sized<gpo_stream_options>();
        options.flags = random_() % 4 == 0 ? GPO_STREAM_BLOCKING : 0;
        options.max_held = random_() % 4 == 0 ? 4 : 0;
        gpo_stream_t made = nullptr;
        const gpo_status status = gpo_stream_create(device_, &options, &made);
        keep(streams_, status, made);
    }
    void create_event() {
        auto options = sized<gpo_event_options>();
        options.flags = random_() % 2 ? GPO_EVENT_TIMING : 0;
        gpo_event_t made = nullptr;
        const gpo_status status = gpo_event_create(device_, &options, &made);
        keep(events_, status, made);
    }
    void create_timeline() {
        gpo_timeline_t made = nullptr;
        const gpo_status status = gpo_timeline_create(runtime_, nullptr, &made);
        keep(timelines_, status, made);
    }
    void create_queue() {
        auto options = sized<gpo_cq_options>();
        options.capacity = 1 + static_cast<uint32_t>(random_() % 16);
        gpo_cq_t made = nullptr;
        const gpo_status status = gpo_cq_create(runtime_, &options, &made);
        keep(queues_, status, made);
    }
    void create_executor() {
        if (executors_.live.size() > 2) return;
        auto options = sized<gpo_executor_options>();
        options.flags = random_() % 2 ? GPO_EXECUTOR_CALLER : 0;
        options.threads = options.flags ? 0 : 1;
        gpo_executor_t made = nullptr;
        const gpo_status status = gpo_executor_create(runtime_, &options, &made);
        keep(executors_, status, made);
    }
    void destroy_something() {
        gpo_stream_t stream;
        gpo_event_t event;
        gpo_timeline_t timeline;
        gpo_cq_t queue;
        gpo_executor_t executor;
        switch (random_() % 5) {
            case 0: destroy_one(streams_, gpo_stream_destroy, &stream); break;
            case 1: destroy_one(events_, gpo_event_destroy, &event); break;
            case 2: destroy_one(timelines_, gpo_timeline_destroy, &timeline); break;
            case 3: destroy_one(queues_, gpo_cq_destroy, &queue); break;
            default: destroy_one(executors_, gpo_executor_destroy, &executor);
        }
    }

    void notify() {
        const auto stream = choose(streams_);
        const auto queue = choose(queues_);
        const uint64_t number = ++last_mark_;
        if (JUDGE(stream.good && queue.good, gpo_stream_notify(stream.handle, queue.handle, number)))
            marks_[queue.handle][number] = {stream.handle, 0};
    }
    void launch_fill() {
        const auto stream = choose(streams_);
        const bool wrong = random_() % 8 == 0;
        auto shape = sized<gpo_launch>();
        shape.grid[0] = wrong ? 0xffffffffu : 2;
        shape.block[0] = wrong ? 5000 : 64;
        const uint32_t value = static_cast<uint32_t>(random_());
        const uint64_t count = kBytes / 4;
        const void* arguments[] = {&memory_, &value, &count};
        JUDGE(stream.good, gpo_stream_launch_kernel(stream.handle, kernel_, &shape, arguments, nullptr, 3));
    }
    void fill() {
        const auto stream = choose(streams_);
        const uint64_t bytes = random_() % 8 == 0 ? random_() : random_() % kBytes;
        JUDGE(stream.good, gpo_fill(stream.handle, memory_, 7, 1, bytes));
    }
    void copy() {
        const auto stream = choose(streams_);
        const uint64_t bytes = random_() % 2000;
        switch (random_() % 4) {
            case 0: JUDGE(stream.good, gpo_copy_to_device(stream.handle, memory_, pinned_, bytes)); break;
            case 1: JUDGE(stream.good, gpo_copy_to_host(stream.handle, pinned_, memory_, bytes)); break;
            case 2: JUDGE(stream.good, gpo_copy_on_device(stream.handle, memory_ + 4096, memory_, bytes)); break;
            default: JUDGE(stream.good, gpo_copy_on_device(stream.handle, memory_, 64, bytes + 1));
        }
    }
    void record() {
        const auto stream = choose(streams_);
        const auto event = choose(events_);
        JUDGE(stream.good && event.good, gpo_event_record(event.handle, stream.handle));
    }
    void wait_event() {
        const auto stream = choose(streams_);
        const auto event = choose(events_);
        JUDGE(stream.good && event.good, gpo_stream_wait_event(stream.handle, event.handle));
    }
    void wait_stream() {
        const auto one = choose(streams_), other = choose(streams_);
        JUDGE(one.good && other.good, gpo_stream_wait_stream(one.handle, other.handle));
    }
    void wait_timeline() {
        const auto stream = choose(streams_);
        const auto timeline = choose(timelines_);
        JUDGE(stream.good && timeline.good, gpo_stream_wait_timeline(stream.handle, timeline.handle, random_() % 20));
    }
    void signal() {
        const auto timeline = choose(timelines_);
        JUDGE(timeline.good, gpo_timeline_signal(timeline.handle, random_() % 20));
    }
    void signal_behind() {
        const auto stream = choose(streams_);
        const auto timeline = choose(timelines_);
        JUDGE(stream.good && timeline.good, gpo_stream_signal_timeline(stream.handle, timeline.handle, random_() % 20));
    }
    void fail_timeline() {
        if (random_() % 4) return;
        const auto timeline = choose(timelines_);
        JUDGE(timeline.good, gpo_timeline_fail(timeline.handle, GPO_FAILED, "at random"));
    }
    void cancel() {
        const auto stream = choose(streams_);
        JUDGE(stream.good, gpo_stream_cancel_held(stream.handle, nullptr));
    }
    void query() {
        const auto stream = choose(streams_);
        const auto event = choose(events_);
        JUDGE(stream.good, gpo_stream_query(stream.handle));
        JUDGE(event.good, gpo_event_query(event.handle));
    }
    void wait_shortly() {
        const auto stream = choose(streams_);
        const auto event = choose(events_);
        const auto queue = choose(queues_);
        const auto timeline = choose(timelines_);
        const auto timeout = static_cast<int64_t>(random_() % 200'000);
        switch (random_() % 5) {
            case 0: JUDGE(stream.good, gpo_stream_wait(stream.handle, timeout)); break;
            case 1: JUDGE(event.good, gpo_event_wait(event.handle, timeout)); break;
            case 2: JUDGE(queue.good, gpo_cq_wait(queue.handle, timeout)); break;
            case 3: JUDGE(timeline.good, gpo_timeline_wait(timeline.handle, random_() % 20, timeout)); break;
            default: JUDGE(true, gpo_device_wait(device_, timeout));
        }
    }
    void drain(gpo_cq_t queue, uint64_t room) {
        gpo_completion entries[64];
        uint64_t count = 0;
        if (!JUDGE(true, gpo_cq_drain(queue, entries, sizeof entries[0], room, &count))) return;
        for (uint64_t i = 0; i < count; ++i) {
            const auto mark = marks_[queue].find(entries[i].user_data);
            REQUIRE(mark != marks_[queue].end());
            CHECK(++mark->second.times == 1);
        }
    }
    void drain_some() {
        const auto queue = choose(queues_);
        gpo_completion none;
        uint64_t count = 0;
        if (queue.good)
            drain(queue.handle, 1 + random_() % 8);
        else
            JUDGE(false, gpo_cq_drain(queue.handle, &none, sizeof none, 1, &count));
    }
    void then() {
        const auto stream = choose(streams_);
        const auto timeline = choose(timelines_);
        const auto executor = choose(executors_);
        const gpo_completion_fn called = [](void* user, const gpo_completion*, const gpo_error*) {
            ++*static_cast<std::atomic<int>*>(user);
        };
        if (random_() % 2)
            owed_ +=
                JUDGE(stream.good && executor.good, gpo_stream_then(stream.handle, executor.handle, called, &came_));
        else
            owed_ += JUDGE(timeline.good && executor.good,
                           gpo_timeline_then(timeline.handle, random_() % 20, executor.handle, called, &came_));
    }
    void host_call() {
        const auto stream = choose(streams_);
        const auto executor = choose(executors_);
        const gpo_host_fn called = [](void* user, const gpo_host_call*) -> gpo_status {
            ++*static_cast<std::atomic<int>*>(user);
            return GPO_SUCCESS;
        };
        owed_ +=
            JUDGE(stream.good && executor.good, gpo_stream_host_call(stream.handle, executor.handle, called, &came_));
        if (executor.good && random_() % 2) JUDGE(true, gpo_executor_poll(executor.handle, nullptr));
    }
    void piece() {
        void* memory = nullptr;
        if (pieces_.size() < 20 && JUDGE(true, gpo_arena_allocate(arena_, random_() % 4000, 0, &memory)))
            pieces_.push_back(memory);
        if (pieces_.empty() || random_() % 2) return;
        const auto stream = choose(streams_);
        if (JUDGE(stream.good, gpo_arena_free_after(arena_, pieces_.back(), stream.handle))) pieces_.pop_back();
    }
    void pooled() {
        const auto stream = choose(streams_);
        uint64_t address = 0;
        if (pooled_.size() < 20 &&
            JUDGE(stream.good, gpo_pool_allocate(pool_, stream.handle, 1 + random_() % 4000, &address)))
            pooled_.push_back(address);
        if (pooled_.empty() || random_() % 2) return;
        JUDGE(stream.good,
              gpo_pool_free(pool_, stream.handle, pooled_[random_() % pooled_.size()]));  // once more, at times
    }
    void wake() {
        const auto queue = choose(queues_);
        JUDGE(queue.good, gpo_cq_wake(queue.handle));
    }
    void ask() {
        auto statistics = sized<gpo_statistics>();
        auto metrics = sized<gpo_metrics>();
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_runtime_get_statistics(runtime_, &statistics));
        CHECK_OK(gpo_runtime_get_metrics(runtime_, &metrics));
        const auto stream = choose(streams_);
        if (stream.handle) JUDGE(stream.good, gpo_object_get_error(stream.handle, &error));
    }
    std::mt19937_64 random_;
    std::string log_;
    gpo_runtime_t runtime_ = nullptr;
    gpo_device_t device_ = nullptr;
    gpo_arena_t arena_ = nullptr;
    gpo_pool_t pool_ = nullptr;
    gpo_module_t module_ = nullptr;
    gpo_kernel_t kernel_ = nullptr;
    uint64_t memory_ = 0;
    void* pinned_ = nullptr;
    Handles<gpo_stream_t> streams_;
    Handles<gpo_event_t> events_;
    Handles<gpo_timeline_t> timelines_;
    Handles<gpo_cq_t> queues_;
    Handles<gpo_executor_t> executors_;
    std::map<gpo_cq_t, std::map<uint64_t, Mark>> marks_;   // accepted
    std::vector<void*> pieces_;
    std::vector<uint64_t> pooled_;
    uint64_t last_mark_ = 0;
    int owed_ = 0;
    std::atomic<int> came_{0};
};

}  // namespace gpo::test
