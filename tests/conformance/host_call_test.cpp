// Host calls: host code in the order of a stream, which waits for it on the host and fails with it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/arrivals.h"
#include "support/gpu.h"
#include "support/pipeline_ends.h"

using namespace gpo::test;

namespace {

uint64_t held(gpo_stream_t stream) {
    gpo_stream_info info = info_of(stream);
    return info.held;
}

/// A host call that returns `answer` and notes its arguments.
struct Call {
    gpo_status answer = GPO_SUCCESS;
    Arrivals came;
    std::atomic<int> status{GPO_INTERNAL};
    std::atomic<uint64_t> number{0};
    std::string message;
    static gpo_status function(void* user, const gpo_host_call* call) {
        auto& me = *static_cast<Call*>(user);
        me.status = call->status;
        if (call->error) me.message = call->error->message;
        me.number = call->call;
        ++me.came;
        return me.answer;
    }
};

struct Fixture {
    Gpu gpu;
    Writer writer{gpu};
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(4);
    Executor executor = gpu.executor();
    Queue queue = gpu.queue();
    Stream stream = gpu.stream("upload");
};

}  // namespace

TEST_CASE("a host call sees what was put on before it, and what is behind it sees the host call") {
    Fixture f;
    struct Inside {
        uint32_t* words;
        std::atomic<uint32_t> seen{0};
        static gpo_status function(void* user, const gpo_host_call* call) {
            auto& me = *static_cast<Inside*>(user);
            if (call->status != GPO_SUCCESS) return GPO_FAILED;
            me.seen = read(me.words[0]);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            me.words[1] = me.seen + 1;
            return GPO_SUCCESS;
        }
    } inside{f.words.data()};
    for (uint32_t round = 1; round <= 20; ++round) {
        REQUIRE_OK(f.writer.write(f.stream, &f.words[0], round));
        REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Inside::function, &inside));
        REQUIRE_OK(f.writer.add(f.stream, &f.words[2], &f.words[1], 10));
        REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, round));
        if (round % 2) REQUIRE_OK(gpo_stream_wait(f.stream, kPatience));
    }
    for (const auto& entry : take(f.queue, 20)) CHECK(entry.status == GPO_SUCCESS);
    CHECK(inside.seen == 20);
    CHECK(read(f.words[2]) == 31);
    gpo_stream_info info = info_of(f.stream);
    CHECK(info.accepted == 60);
    CHECK(info.completed == 60);
}

TEST_CASE("the entries of marks around a host call name the operations before them") {
    Fixture f;
    Call call;
    call.answer = GPO_NOT_READY;
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 1));
    REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 1));
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
    REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 2));
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 2));
    REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 3));
    CHECK(take(f.queue, 1)[0].operation == 1);
    REQUIRE(call.came.reach(1));
    gpo_stream_info info = info_of(f.stream);
    CHECK(info.completed == 1);
    REQUIRE_OK(gpo_host_call_finish(f.executor, call.number, GPO_SUCCESS, nullptr));
    const auto entries = take(f.queue, 2);
    CHECK(entries[0].operation == 2);
    CHECK(entries[1].operation == 3);
}

TEST_CASE("a host call under way holds the stream until another thread finishes it, once") {
    Fixture f;
    Call call;
    call.answer = GPO_NOT_READY;
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 5));
    REQUIRE(call.came.reach(1));
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(f.stream));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(f.stream, 5'000'000));
    CHECK(read(f.words[0]) == 0);
    CHECK(held(f.stream) >= 2);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_call_finish(f.executor, call.number, GPO_TIMEOUT, nullptr));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_host_call_finish(f.executor, call.number + 1, GPO_SUCCESS, nullptr));
    std::thread other([&] { CHECK_OK(gpo_host_call_finish(f.executor, call.number, GPO_SUCCESS, nullptr)); });
    CHECK_OK(gpo_stream_wait(f.stream, kPatience));
    other.join();
    CHECK(read(f.words[0]) == 5);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_host_call_finish(f.executor, call.number, GPO_SUCCESS, nullptr));
    CHECK(call.came == 1);
}

TEST_CASE("a host call isn't done while it is under way, also as its stream's first operation") {
    Fixture f;
    Call call;
    call.answer = GPO_NOT_READY;
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
    REQUIRE(call.came.reach(1));
    gpo_stream_info info = info_of(f.stream);
    CHECK(info.accepted == 1);
    CHECK(info.completed == 0);
    REQUIRE_OK(gpo_host_call_finish(f.executor, call.number, GPO_SUCCESS, nullptr));
    CHECK_OK(gpo_stream_wait(f.stream, kPatience));
    REQUIRE_OK(gpo_stream_get_info(f.stream, &info));
    CHECK(info.completed == 1);
}

TEST_CASE("a call that was finished before its function returned is finished as that said") {
    Fixture f;
    struct Early {
        gpo_executor_t executor;
        const uint32_t& behind;
        gpo_status finished = GPO_INTERNAL;
        static gpo_status function(void* user, const gpo_host_call* call) {
            auto& me = *static_cast<Early*>(user);
            me.finished = gpo_host_call_finish(me.executor, call->call, GPO_SUCCESS, nullptr);
            while (read(me.behind) != 5) std::this_thread::yield();   // work behind the call runs before it returns
            return GPO_NOT_READY;
        }
    } early{f.executor, f.words[0]};
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Early::function, &early));
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 5));
    CHECK_OK(gpo_executor_run_for(f.executor, kPatience, nullptr));
    CHECK(early.finished == GPO_SUCCESS);
    CHECK(read(f.words[0]) == 5);
}

TEST_CASE("a host call that fails, throws or is failed takes what is behind it along, which never runs") {
    for (int how = 0; how < 3; ++how) {
        CAPTURE(how);
        Fixture f;
        Call call, behind;
        call.answer = how == 0 ? GPO_IO_ERROR : GPO_NOT_READY;
        gpo_host_fn function = Call::function;
        if (how == 1) function = [](void* user, const gpo_host_call*) -> gpo_status {
            ++static_cast<Call*>(user)->came;
            throw std::runtime_error("on purpose");
        };
        REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 1));
        REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 1));
        REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, function, &call));
        const gpo_status put = f.writer.write(f.stream, &f.words[1], 1);  // the stream may have failed already
        if (put == GPO_SUCCESS) {
            const gpo_status second = gpo_stream_host_call(f.stream, f.executor, Call::function, &behind);
            if (second == GPO_SUCCESS && how != 2) CHECK(behind.came.reach(1));
        }
        REQUIRE(call.came.reach(1));
        if (how == 2) {
            CHECK(behind.came == 0);
            CHECK_OK(gpo_host_call_finish(f.executor, call.number, GPO_FAILED, "the disk is full"));
            CHECK(behind.came.reach(1));
            CHECK(behind.status == GPO_FAILED);
            CHECK(behind.message.find("the disk is full") != std::string::npos);
        }
        CHECK(gpo_stream_wait(f.stream, kPatience) != GPO_TIMEOUT);
        REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 2));
        const auto entries = take(f.queue, 2);
        CHECK(entries[0].status == GPO_SUCCESS);
        CHECK(entries[1].status == (how == 2 ? GPO_FAILED : GPO_CALLBACK_FAILED));
        CHECK_STATUS(how == 2 ? GPO_FAILED : GPO_CALLBACK_FAILED, f.writer.write(f.stream, &f.words[1], 2));
        CHECK(object_error(f.stream).status == (how == 2 ? GPO_FAILED : GPO_CALLBACK_FAILED));
        CHECK(read(f.words[0]) == 1);
        CHECK(read(f.words[1]) == 0);
        Stream other = f.gpu.stream();
        REQUIRE_OK(f.writer.write(other, &f.words[3], 9));
        CHECK_OK(gpo_stream_wait(other, kPatience));
    }
}

TEST_CASE("the failure of a host call that threw has the exception's text, wherever it is asked for") {
    Gpu gpu;
    struct Own : std::exception {
        const char* what() const noexcept override { return "a type of the program's own"; }
    };
    static const std::string long_text(2000, 'x');
    const struct {
        gpo_host_fn function;
        std::string text;
    } rows[] = {
        {[](void*, const gpo_host_call*) -> gpo_status { throw std::runtime_error("the disk is full"); },
         "a host call threw a C++ exception: the disk is full"},
        {[](void*, const gpo_host_call*) -> gpo_status { throw Own(); },
         "a host call threw a C++ exception: a type of the program's own"},
        {[](void*, const gpo_host_call*) -> gpo_status { throw 7; }, "a host call threw a C++ exception"},
        {[](void*, const gpo_host_call*) -> gpo_status { throw std::runtime_error(long_text); },
         "a host call threw a C++ exception: " + long_text.substr(0, 300)},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        Stream stream = gpu.stream("worker");
        Executor executor = gpu.executor(0, 1);
        Queue queue = gpu.queue();
        REQUIRE_OK(gpo_stream_host_call(stream, executor, row.function, nullptr));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_wait(stream, kPatience));
        CHECK(std::string(last_error().message).starts_with(row.text));
        CHECK(std::string(object_error(stream).message).starts_with(row.text));
        const gpo_completion entry = take(queue, 1)[0];
        CHECK(entry.status == GPO_CALLBACK_FAILED);
        auto told = sized<gpo_error>();
        REQUIRE_OK(gpo_cq_get_error(queue, entry.error_id, &told));
        CHECK(std::string(told.message).starts_with(row.text));
    }
}

TEST_CASE("a host call behind work that fails is told so, and does not hold the stream") {
    Fixture f;
    Call call;
    Timeline timeline = f.gpu.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(f.stream, timeline, 1));
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
    REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
    CHECK(call.came.reach(1));
    CHECK(call.status == GPO_FAILED);
    CHECK(call.message.find("on purpose") != std::string::npos);
    CHECK(held(f.stream) == 0);
}

TEST_CASE("cancelling what is held cancels a host call that has not begun, and gives up one that runs") {
    Fixture f;
    Call running, waiting;
    running.answer = GPO_NOT_READY;
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &running));
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &waiting));
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 1));
    REQUIRE(running.came.reach(1));
    uint64_t count = 0;
    REQUIRE_OK(gpo_stream_cancel_held(f.stream, &count));
    CHECK(count == 3);
    CHECK(waiting.came.reach(1));
    CHECK(waiting.status == GPO_CANCELLED);
    REQUIRE_OK(f.writer.write(f.stream, &f.words[1], 2));
    CHECK_OK(gpo_stream_wait(f.stream, kPatience));
    CHECK(read(f.words[0]) == 0);
    CHECK(read(f.words[1]) == 2);
    CHECK_OK(gpo_host_call_finish(f.executor, running.number, GPO_FAILED, nullptr));  // too late to matter
    CHECK_OK(gpo_stream_query(f.stream));
}

TEST_CASE("a host call that is dropped before its turn is told so when the work before it has ended" * gated) {
    for (bool fails : {false, true}) {
        CAPTURE(fails);
        Fixture f;
        Call call;
        Timeline timeline = f.gpu.timeline();
        Gate gate(f.gpu);
        gate.put_on(f.stream);
        REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 1));
        REQUIRE_OK(gpo_stream_wait_timeline(f.stream, timeline, 1));
        REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
        if (fails)
            REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
        else
            REQUIRE_OK(gpo_stream_cancel_held(f.stream, nullptr));
        CHECK(held(f.stream) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        CHECK(call.came == 0);
        gate.open();
        CHECK(call.came.reach(1));
        CHECK(call.status == (fails ? GPO_FAILED : GPO_CANCELLED));
        CHECK(read(f.words[0]) == 1);
    }
}

TEST_CASE("an executor that is destroyed, or a runtime that shuts down, finishes host calls with GPO_CANCELLED") {
    for (bool shutdown : {false, true}) {
        CAPTURE(shutdown);
        Fixture f;
        Call running, waiting;
        running.answer = GPO_NOT_READY;
        REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &running));
        REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 1));
        REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &waiting));
        REQUIRE(running.came.reach(1));
        if (shutdown) {
            const gpo_executor_t executor = f.executor.release();
            CHECK_OK(gpo_runtime_shutdown(f.gpu.runtime, kPatience));
            CHECK_STATUS(GPO_INVALID_HANDLE, gpo_executor_poll(executor, nullptr));
        } else {
            f.executor.reset();
            CHECK(take(f.queue, 1)[0].status == GPO_CANCELLED);
        }
        CHECK(waiting.came.reach(1));
        CHECK(waiting.status == GPO_CANCELLED);
        CHECK(running.came == 1);
    }
}

TEST_CASE("inside a host call the library and CUDA can be used; waiting for its own stream is refused") {
    Fixture f;
    Stream other = f.gpu.stream();
    struct Inside {
        Fixture& f;
        gpo_stream_t other;
        gpo_event_t elsewhere, behind;
        gpo_status statuses[9] = {};
        static gpo_status function(void* user, const gpo_host_call*) {
            auto& me = *static_cast<Inside*>(user);
            me.statuses[0] = me.f.writer.write(me.other, &me.f.words[0], 4);
            me.statuses[1] = gpo_stream_wait(me.other, kPatience);
            me.statuses[2] = gpo_stream_wait(me.f.stream, kPatience);
            me.statuses[3] = gpo_device_wait(me.f.gpu.device, kPatience);
            me.statuses[4] = me.f.writer.write(me.f.stream, &me.f.words[1], 5);  // held behind itself
            me.statuses[5] = gpo_event_record(me.elsewhere, me.other);
            me.statuses[6] = gpo_event_wait(me.elsewhere, kPatience);
            me.statuses[7] = gpo_event_wait(me.behind, kPatience);
            me.statuses[8] = gpo_event_wait(me.behind, 0);
            return GPO_SUCCESS;
        }
    };
    Event elsewhere = f.gpu.event(), behind = f.gpu.event();
    Timeline recorded = f.gpu.timeline();
    Inside inside{f, other, elsewhere, behind};
    REQUIRE_OK(gpo_stream_wait_timeline(f.stream, recorded, 1));
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Inside::function, &inside));
    REQUIRE_OK(gpo_event_record(behind, f.stream));
    REQUIRE_OK(gpo_timeline_signal(recorded, 1));
    CHECK_OK(gpo_event_wait(behind, kPatience));
    CHECK_OK(gpo_stream_wait(f.stream, kPatience));
    CHECK_OK(inside.statuses[0]);
    CHECK_OK(inside.statuses[1]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[2]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[3]);
    CHECK_OK(inside.statuses[4]);
    CHECK_OK(inside.statuses[5]);
    CHECK_OK(inside.statuses[6]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[7]);
    CHECK_STATUS(GPO_TIMEOUT, inside.statuses[8]);
    CHECK_OK(gpo_stream_wait(f.stream, kPatience));
    CHECK(read(f.words[0]) == 4);
    CHECK(read(f.words[1]) == 5);
}

TEST_CASE("host calls are refused on wrapped streams, which then go on") {
    Fixture f;
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(f.stream, &native));
    Stream wrapped;
    REQUIRE_OK(gpo_stream_wrap(f.gpu.device, native, nullptr, wrapped.out()));
    Call call;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_host_call(wrapped, f.executor, Call::function, &call));
    REQUIRE_OK(f.writer.write(wrapped, &f.words[0], 4));
    CHECK_OK(gpo_stream_wait(wrapped, kPatience));
    CHECK(read(f.words[0]) == 4);
    CHECK(call.came == 0);
}

TEST_CASE("the stream's handle may be destroyed while its host call is under way; the work goes on after it") {
    Fixture f;
    Call call;
    call.answer = GPO_NOT_READY;
    REQUIRE_OK(gpo_stream_host_call(f.stream, f.executor, Call::function, &call));
    REQUIRE_OK(f.writer.write(f.stream, &f.words[0], 6));
    REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 1));
    REQUIRE(call.came.reach(1));
    f.stream.reset();
    REQUIRE_OK(gpo_host_call_finish(f.executor, call.number, GPO_SUCCESS, nullptr));
    CHECK(take(f.queue, 1)[0].status == GPO_SUCCESS);
    CHECK(read(f.words[0]) == 6);
}

TEST_CASE("a host call destroys its stream, its executor and its queue, on the executor's thread and on the caller's") {
    for (uint32_t flags : {0u, unsigned{GPO_EXECUTOR_CALLER}}) {
        CAPTURE(flags);
        Fixture f;
        Executor executor = f.gpu.executor(flags);
        Queue queue = f.gpu.queue();
        struct Ends {
            gpo_stream_t stream;
            gpo_executor_t executor;
            gpo_cq_t queue;
            Arrivals put{}, came{};   // all work has been put on the stream
            gpo_status statuses[3] = {GPO_INTERNAL, GPO_INTERNAL, GPO_INTERNAL};
            static gpo_status function(void* user, const gpo_host_call*) {
                auto& me = *static_cast<Ends*>(user);
                static_cast<void>(me.put.reach(1));
                me.statuses[0] = gpo_stream_destroy(me.stream);
                me.statuses[1] = gpo_executor_destroy(me.executor);
                me.statuses[2] = gpo_cq_destroy(me.queue);
                ++me.came;
                return GPO_SUCCESS;
            }
        } ends{f.stream, executor, queue};
        Call behind;
        REQUIRE_OK(gpo_stream_host_call(f.stream, executor, Ends::function, &ends));
        REQUIRE_OK(gpo_stream_notify(f.stream, queue, 1));
        REQUIRE_OK(gpo_stream_notify(f.stream, f.queue, 2));
        REQUIRE_OK(gpo_stream_host_call(f.stream, executor, Call::function, &behind));
        const gpo_executor_t handle = executor.release();
        const gpo_stream_t stream = f.stream.release();
        queue.release();
        ++ends.put;
        if (flags) CHECK_STATUS(GPO_CANCELLED, gpo_executor_run(handle, nullptr));
        CHECK(ends.came.reach(1));
        CHECK(behind.came.reach(1));
        for (const gpo_status status : ends.statuses) CHECK_OK(status);
        // The executor was destroyed during the call: the call and the work behind it were cancelled.
        CHECK(take(f.queue, 1)[0].status == GPO_CANCELLED);
        CHECK(behind.status == GPO_CANCELLED);
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_wait(stream, 0));
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_executor_run(handle, nullptr));
    }
}

TEST_CASE("a pipeline calls back when its run has ended") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) { return gpo_status{GPO_SUCCESS}; };
    auto options = sized<gpo_pipeline_options>();
    options.chunk_bytes = 4096;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage;
    Pipeline pipeline;
    REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
    struct Told {
        gpo_completion completion{};
        int came = 0;
        static void callback(void* user, const gpo_completion* completion, const gpo_error*) {
            static_cast<Told*>(user)->completion = *completion;
            ++static_cast<Told*>(user)->came;
        }
    } told;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pipeline_then(pipeline, executor, Told::callback, &told));
    std::vector<char> data(1 << 16);
    const gpo_source source = from_memory(data.data(), data.size());
    const gpo_sink sink = to_nothing();
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    REQUIRE_OK(gpo_pipeline_then(pipeline, executor, Told::callback, &told));
    CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
    CHECK(told.came == 1);
    CHECK(told.completion.status == GPO_SUCCESS);
    CHECK(told.completion.origin == GPO_ORIGIN_PIPELINE);
    REQUIRE_OK(gpo_pipeline_wait(pipeline, kPatience, nullptr));
    REQUIRE_OK(gpo_pipeline_then(pipeline, executor, Told::callback, &told));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK(told.came == 2);
}

namespace {

// A run whose source, stage, sink and progress note the threads on which they are called.
struct Threads {
    std::thread::id source, stage, sink, progress;
    int left = 6, taken = 0;
    static gpo_status fill(void* user, void* buffer, uint64_t capacity, uint64_t* bytes) {
        auto& me = *static_cast<Threads*>(user);
        me.source = std::this_thread::get_id();
        std::fill_n(static_cast<char*>(buffer), capacity, 'x');
        *bytes = capacity;
        return --me.left ? GPO_SUCCESS : GPO_END;
    }
    static gpo_status enqueue(void* user, gpo_stream_t stream, const gpo_chunk* chunk) {
        static_cast<Threads*>(user)->stage = std::this_thread::get_id();
        return gpo_copy_on_device(stream, chunk->output_address, chunk->input_address, chunk->bytes);
    }
    static gpo_status take(void* user, const gpo_chunk* chunk) {
        auto& me = *static_cast<Threads*>(user);
        me.sink = std::this_thread::get_id();
        me.taken += static_cast<const char*>(chunk->output)[0] == 'x';
        return GPO_SUCCESS;
    }
    static void note(void* user, const gpo_pipeline_progress*) {
        static_cast<Threads*>(user)->progress = std::this_thread::get_id();
    }

    Pipeline pipeline(Gpu& gpu, gpo_executor_t executor) {
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = enqueue;
        stage.user = this;
        auto options = sized<gpo_pipeline_options>();
        options.chunk_bytes = 4096;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.stages = &stage;
        options.progress = note;
        options.progress_user = this;
        options.executor = executor;
        Pipeline made;
        REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, made.out()));
        return made;
    }
    void start(gpo_pipeline_t pipeline) {
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.fill = fill;
        source.user = this;
        auto sink = sized<gpo_sink>();
        sink.kind = GPO_SINK_CALLBACK;
        sink.take = take;
        sink.user = this;
        REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    }
};

}  // namespace

TEST_CASE("a pipeline's callbacks run on the executor that it was given, the caller's included") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER, 0, 1);
    Threads threads;
    Pipeline pipeline = threads.pipeline(gpu, executor);
    threads.start(pipeline);
    struct Told {
        gpo_status status = GPO_INTERNAL;
        static void callback(void* user, const gpo_completion* completion, const gpo_error*) {
            static_cast<Told*>(user)->status = completion->status;
        }
    } told;
    // Room for one callback, which the pipeline's own callbacks may take.
    gpo_status status;
    while ((status = gpo_pipeline_then(pipeline, executor, Told::callback, &told)) == GPO_WOULD_BLOCK)
        gpo_executor_poll(executor, nullptr);
    REQUIRE_OK(status);
    CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
    CHECK_OK(told.status);
    CHECK(threads.taken == 6);
    for (auto thread : {threads.source, threads.stage, threads.sink, threads.progress})
        CHECK(thread == std::this_thread::get_id());
}

TEST_CASE("a pipeline whose executor is destroyed, or that nobody runs at shutdown, ends with GPO_CANCELLED") {
    for (bool shutdown : {false, true}) {
        CAPTURE(shutdown);
        Gpu gpu;
        Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
        Threads threads;
        Pipeline pipeline = threads.pipeline(gpu, executor);
        threads.start(pipeline);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (shutdown) {
            CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
            pipeline.release();
            executor.release();
        } else {
            executor.reset();
            CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(pipeline, kPatience, nullptr));
        }
        CHECK(threads.taken < 6);
    }
}

TEST_CASE("a pipeline is not made with an executor that isn't there") {
    Gpu gpu, other;
    Executor executor = gpu.executor(), foreign = other.executor();
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = Threads::enqueue;
    auto options = sized<gpo_pipeline_options>();
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage;
    gpo_pipeline_t pipeline = nullptr;
    options.executor = foreign;
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_pipeline_create(gpu.device, &options, &pipeline));
    options.executor = executor;
    executor.reset();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_pipeline_create(gpu.device, &options, &pipeline));
    CHECK(pipeline == nullptr);
}
