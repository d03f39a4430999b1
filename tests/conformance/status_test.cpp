// Statuses, the failures behind them, and labels.
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("every status has a name of its own and a sentence") {
    std::set<std::string> names;
    for (gpo_status status :
         {GPO_SUCCESS, GPO_NOT_READY, GPO_TIMEOUT, GPO_WOULD_BLOCK, GPO_END, GPO_INVALID_ARGUMENT, GPO_INVALID_HANDLE,
          GPO_STALE_HANDLE, GPO_INVALID_STATE, GPO_NOT_SUPPORTED, GPO_NOT_FOUND, GPO_WOULD_DEADLOCK,
          GPO_BUFFER_TOO_SMALL, GPO_CAPTURE_REFUSED, GPO_OUT_OF_MEMORY, GPO_LIMIT_EXCEEDED, GPO_NO_DEVICE,
          GPO_NO_COMPILER, GPO_COMPILE_FAILED, GPO_INVALID_IMAGE, GPO_IO_ERROR, GPO_CANCELLED, GPO_FAILED,
          GPO_CALLBACK_FAILED, GPO_DEVICE_LOST, GPO_FORKED, GPO_SHUT_DOWN, GPO_DRIVER_ERROR, GPO_INTERNAL}) {
        CAPTURE(status);
        CHECK(std::string(gpo_status_name(status)).starts_with("GPO_"));
        CHECK(std::strlen(gpo_status_text(status)) > 3);
        CHECK(names.insert(gpo_status_name(status)).second);
    }
    CHECK(std::string(gpo_status_name(GPO_WOULD_BLOCK)) == "GPO_WOULD_BLOCK");
    for (gpo_status status : {-1, 5, 99, INT32_MAX, INT32_MIN}) {
        CHECK(std::string(gpo_status_name(status)) == "GPO_UNKNOWN");
        CHECK(gpo_status_text(status) != nullptr);
    }
}

TEST_CASE("the last error is the calling thread's own, names the function, and outlives later successes") {
    Gpu gpu;
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_query(nullptr));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    gpo_error error = last_error();
    CHECK(error.status == GPO_INVALID_HANDLE);
    CHECK(std::string(error.function) == "gpo_stream_query");
    CHECK(std::strlen(error.message) > 3);
    std::thread([&] {
        gpo_error other{};
        other.struct_size = sizeof other;
        CHECK(gpo_last_error(&other) == GPO_SUCCESS);
        CHECK(other.status == GPO_SUCCESS);
        CHECK(gpo_event_query(nullptr) == GPO_INVALID_HANDLE);
    }).join();
    CHECK(std::string(last_error().function) == "gpo_stream_query");
}

TEST_CASE("a caller with an older, smaller error struct gets that much of it") {
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_query(nullptr));
    alignas(gpo_error) unsigned char bytes[sizeof(gpo_error)];
    std::memset(bytes, 0xee, sizeof bytes);
    auto* error = reinterpret_cast<gpo_error*>(bytes);
    error->struct_size = offsetof(gpo_error, operation);
    CHECK_OK(gpo_last_error(error));
    CHECK(error->status == GPO_INVALID_HANDLE);
    CHECK(error->struct_size == offsetof(gpo_error, operation));
    for (size_t i = offsetof(gpo_error, operation); i < sizeof bytes; ++i) REQUIRE(bytes[i] == 0xee);
}

TEST_CASE("an object keeps the last failure of a call on it, readable from another thread") {
    Gpu gpu;
    Stream stream = gpu.stream("upload");
    CHECK(object_error(stream).status == GPO_SUCCESS);
    Timeline timeline = gpu.timeline(5);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_timeline_signal(timeline, 5));
    std::thread([&] {
        const gpo_error error = object_error(timeline);
        CHECK(error.status == GPO_INVALID_ARGUMENT);
        CHECK(std::string(error.function) == "gpo_timeline_signal");
    }).join();
    CHECK(object_error(stream).status == GPO_SUCCESS);
}

TEST_CASE("anything with a handle has a label, which comes out by buffer and needed length") {
    Gpu gpu;
    Stream stream = gpu.stream("upload");
    char buffer[64] = "unchanged";
    size_t needed = 0;
    CHECK_OK(gpo_object_get_label(stream, nullptr, 0, &needed));
    CHECK(needed == sizeof "upload");
    CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_object_get_label(stream, buffer, 6, &needed));
    CHECK(needed == sizeof "upload");
    CHECK_OK(gpo_object_get_label(stream, buffer, 7, nullptr));
    CHECK(std::string(buffer) == "upload");

    const void* objects[] = {gpu.runtime, gpu.device, stream.get()};
    for (const void* object : objects) {
        CHECK_OK(gpo_object_set_label(const_cast<void*>(object), "blur"));
        CHECK_OK(gpo_object_get_label(object, buffer, sizeof buffer, &needed));
        CHECK(std::string(buffer) == "blur");
    }
    CHECK_OK(gpo_object_set_label(stream, std::string(100, 'x').c_str()));
    CHECK_OK(gpo_object_get_label(stream, buffer, sizeof buffer, &needed));
    CHECK(std::string(buffer) == std::string(63, 'x'));
    CHECK_OK(gpo_object_set_label(stream, nullptr));
    CHECK_OK(gpo_object_get_label(stream, buffer, sizeof buffer, &needed));
    CHECK(std::string(buffer).empty());
    CHECK(needed == 1);
}

TEST_CASE("a label cut to fit is still UTF-8") {
    Gpu gpu;
    std::string label(62, 'x');
    label += "\u00e9";
    CHECK_OK(gpo_object_set_label(gpu.device, label.c_str()));
    char buffer[64];
    CHECK_OK(gpo_object_get_label(gpu.device, buffer, sizeof buffer, nullptr));
    CHECK(std::string(buffer) == std::string(62, 'x'));
}

TEST_CASE("errors name the culprit by type and label") {
    Gpu gpu;
    Stream stream = gpu.stream("upload");
    Timeline timeline = gpu.timeline(0, "ready");
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_timeline_fail(timeline, GPO_CALLBACK_FAILED, "the disk is gone"));
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_timeline_wait(timeline, 1, kPatience));
    const gpo_error error = object_error(timeline);
    CHECK(std::string(error.object) == "timeline `ready`");
    CHECK(std::string(error.message).find("the disk is gone") != std::string::npos);
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_stream_wait(stream, kPatience));
    CHECK(std::string(object_error(stream).message).find("the disk is gone") != std::string::npos);
}

TEST_CASE("a refused call names the object that it was for, and so does what that object keeps") {
    Gpu gpu;
    Stream stream = gpu.stream("upload");
    Memory memory = gpu.memory(256);
    Kernel kernel = gpu.kernel("extern \"C\" __global__ void blur(int *x) { *x = 1; }", "blur");
    REQUIRE_OK(gpo_object_set_label(kernel, "blur"));
    auto pool_options = sized<gpo_pool_options>();
    pool_options.max_bytes = 1024;
    pool_options.label = "tensors";
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, &pool_options, pool.out()));
    auto template_options = sized<gpo_template_options>();
    template_options.label = "step";
    Template step;
    REQUIRE_OK(gpo_template_create(gpu.device, &template_options, step.out()));
    Event event = gpu.event();
    uint64_t none = 0;
    int value = 0;
    const uint64_t address = memory;
    const struct {
        const char* what;
        gpo_status status;
        std::function<gpo_status()> call;
        const char* object;
        const void* keeps;   // NULL: nobody
    } rows[] = {
        {"a block that is too large", GPO_INVALID_ARGUMENT, [&] { return launch(stream, kernel, 1, 4096, address); },
         "stream `upload`", stream},
        {"no arguments", GPO_INVALID_ARGUMENT, [&] { return launch(stream, kernel, 1, 1); }, "stream `upload`", stream},
        {"a struct that is missing", GPO_INVALID_ARGUMENT,
         [&] { return gpo_stream_launch_kernel(stream, kernel, nullptr, nullptr, nullptr, 0); }, "stream `upload`",
         nullptr},
        {"a pool that is full", GPO_LIMIT_EXCEEDED, [&] { return gpo_pool_allocate(pool, stream, 4096, &none); },
         "pool `tensors`", pool},
        {"a parameter that isn't there", GPO_NOT_FOUND,
         [&] { return gpo_template_get_parameter(step, "n", nullptr, nullptr); }, "template `step`", step},
        {"the second handle is NULL", GPO_INVALID_HANDLE, [&] { return gpo_stream_wait_event(stream, nullptr); },
         "stream `upload`", nullptr},
        {"the first handle is NULL", GPO_INVALID_HANDLE, [&] { return gpo_stream_wait_event(nullptr, event); },
         "event", nullptr},
        {"a handle of another type", GPO_INVALID_HANDLE,
         [&] { return gpo_event_query(reinterpret_cast<gpo_event_t>(static_cast<gpo_stream_t>(stream))); },
         "stream `upload`", nullptr},
        {"no valid handle", GPO_INVALID_HANDLE, [&] { return gpo_stream_wait_event(nullptr, nullptr); }, "", nullptr},
        {"a label that is cut", GPO_INVALID_ARGUMENT,
         [&] {
             const gpo_status status = gpo_object_set_label(event, std::string(63, 'x').c_str());
             return status == GPO_SUCCESS ? gpo_event_get_native(event, nullptr) : status;
         },
         "event `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", nullptr},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        CHECK_STATUS(row.status, row.call());
        CHECK(std::string(last_error().object) == row.object);
        if (row.keeps) CHECK(std::string(object_error(row.keeps).object) == row.object);
    }
    REQUIRE_OK(gpo_template_begin(step, stream));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait(stream, kPatience));
    CHECK(std::string(last_error().object) == "stream `upload`");
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_copy_to_host(stream, &value, memory, sizeof value));
    CHECK(std::string(last_error().object) == "stream `upload`");
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(step));
    CHECK(std::string(last_error().object) == "template `step`");
}

TEST_CASE("a refusal in a recording says who refused what, each once, and names the function that was called") {
    Gpu gpu;
    Stream stream = gpu.stream("s");
    Queue queue = gpu.queue();
    Executor executor = gpu.executor();
    const struct {
        const char* function;
        std::function<gpo_status()> call;
    } rows[] = {
        {"gpo_stream_notify", [&] { return gpo_stream_notify(stream, queue, 1); }},
        {"gpo_stream_wait", [&] { return gpo_stream_wait(stream, kPatience); }},
        {"gpo_stream_query", [&] { return gpo_stream_query(stream); }},
        {"gpo_stream_then",
         [&] {
             return gpo_stream_then(stream, executor, [](void*, const gpo_completion*, const gpo_error*) {}, nullptr);
         }},
        {"gpo_stream_host_call",
         [&] {
             return gpo_stream_host_call(
                 stream, executor, [](void*, const gpo_host_call*) -> gpo_status { return GPO_SUCCESS; }, nullptr);
         }},
    };
    for (const auto& row : rows) {
        CAPTURE(row.function);
        Template made;
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, made.out()));
        REQUIRE_OK(gpo_template_begin(made, stream));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, row.call());
        CHECK(std::string(last_error().function) == row.function);
        CHECK(std::string(last_error().message) == "stream `s` is being captured");
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(made));
        CHECK(std::string(last_error().message) == "the recording lacks what was refused: " +
                                                       std::string(row.function) +
                                                       " on stream `s`: it is being captured");
    }
    // A wait for an event gives the same message as a query.
    Event event = gpu.event();
    REQUIRE_OK(gpo_object_set_label(event, "e"));
    Template made;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, made.out()));
    REQUIRE_OK(gpo_template_begin(made, stream));
    REQUIRE_OK(gpo_event_record(event, stream));
    for (const bool waits : {false, true}) {
        CAPTURE(waits);
        CHECK_STATUS(GPO_CAPTURE_REFUSED, waits ? gpo_event_wait(event, kPatience) : gpo_event_query(event));
        CHECK(std::string(last_error().message) == "event `e` was recorded on a stream that is being captured");
    }
    CHECK_OK(gpo_template_cancel(made));
}
