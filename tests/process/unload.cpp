// dlopen, work, dlclose with work in flight, dlopen again and the same runtime used on; then shut down. Descriptors and
// threads don't change in number.
// LINK: none
// REPEAT: 1 1
#include <dlfcn.h>

#include <atomic>

#include "gpuorch/api.h"
#include "process/process.h"

#undef EXPECT_OK
#define EXPECT_OK(...) EXPECT((__VA_ARGS__) == GPO_SUCCESS)

// This program isn't linked with the library: what process.h says in failures comes from the table.
namespace {
const gpo_api* api = nullptr;
}
extern "C" const char* gpo_status_name(gpo_status status) { return api ? api->status_name(status) : "?"; }
extern "C" gpo_status gpo_last_error(gpo_error* error) { return api ? api->last_error(error) : GPO_INTERNAL; }

using namespace gpo::test;

namespace {

void* open_library() {
    const char* path = std::getenv("GPUORCH_LIBRARY");
    void* library = dlopen(path ? path : GPUORCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    EXPECT(library != nullptr);
    const gpo_api* (*get)(uint32_t);
    *reinterpret_cast<void**>(&get) = dlsym(library, "gpo_get_api");
    EXPECT(get != nullptr);
    api = get(GPO_VERSION);
    EXPECT(api != nullptr);
    return library;
}

/// Takes the entries of both streams.
void take_both(gpo_cq_t queue) {
    uint64_t sum = 0;
    for (int drained = 0; drained < 2;) {
        gpo_completion entries[8];
        uint64_t count = 0;
        EXPECT_OK(api->cq_wait(queue, kPatience));
        EXPECT_OK(api->cq_drain(queue, entries, sizeof entries[0], 8, &count));
        for (uint64_t i = 0; i < count; ++i, ++drained) {
            EXPECT(entries[i].status == GPO_SUCCESS);
            sum += entries[i].user_data;
        }
    }
    EXPECT(sum == 3);
}

}  // namespace

int main() {
    void* library = open_library();
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr, held = nullptr;
    gpo_cq_t queue = nullptr;
    gpo_timeline_t timeline = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t gate = nullptr;
    gpo_executor_t executor = nullptr;
    EXPECT_OK(api->runtime_create(nullptr, &runtime));
    EXPECT_OK(api->device_open(runtime, nullptr, &device));
    EXPECT_OK(api->stream_create(device, nullptr, &stream));
    EXPECT_OK(api->stream_create(device, nullptr, &held));
    EXPECT_OK(api->cq_create(runtime, nullptr, &queue));
    EXPECT_OK(api->timeline_create(runtime, nullptr, &timeline));
    EXPECT_OK(api->executor_create(runtime, nullptr, &executor));
    auto compile_options = sized<gpo_compile_options>();
    compile_options.source = kGateSource;
    EXPECT_OK(api->module_compile(device, &compile_options, &module));
    EXPECT_OK(api->module_get_kernel(module, "gate", &gate));
    void* memory = nullptr;
    EXPECT_OK(api->arena_create(device, nullptr, &arena));
    EXPECT_OK(api->arena_allocate(arena, 64, 0, &memory));
    auto* open = static_cast<uint32_t*>(memory);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const void* arguments[] = {&open};

    int open_before = 0, threads_before = 0;
    std::atomic<int> called{0};
    const auto count_call = [](void* user, const gpo_completion*, const gpo_error*) {
        ++*static_cast<std::atomic<int>*>(user);
    };
    const int turns = full() ? 1000 : 50;
    for (int turn = 0; turn < turns; ++turn) {
        // In flight: a running kernel, work behind it, held work, a pending callback.
        __atomic_store_n(open, 0u, __ATOMIC_SEQ_CST);
        EXPECT_OK(api->stream_launch_kernel(stream, gate, &shape, arguments, nullptr, 1));
        EXPECT_OK(api->stream_notify(stream, queue, 1));
        EXPECT_OK(api->stream_then(stream, executor, count_call, &called));
        EXPECT_OK(api->stream_wait_timeline(held, timeline, static_cast<uint64_t>(turn) + 1));
        EXPECT_OK(api->stream_notify(held, queue, 2));
        api = nullptr;
        EXPECT(dlclose(library) == 0);
        library = open_library();
        EXPECT(api->stream_query(stream) == GPO_NOT_READY);
        EXPECT(api->stream_query(held) == GPO_NOT_READY);
        EXPECT(called == turn);
        __atomic_store_n(open, 1u, __ATOMIC_SEQ_CST);
        EXPECT_OK(api->timeline_signal(timeline, static_cast<uint64_t>(turn) + 1));
        EXPECT_OK(api->stream_wait(stream, kPatience));
        EXPECT_OK(api->stream_wait(held, kPatience));
        EXPECT_OK(api->executor_run_for(executor, kPatience, nullptr));
        EXPECT(called == turn + 1);
        take_both(queue);
        if (turn == 0) {
            open_before = descriptors();
            threads_before = threads();
        }
    }
    EXPECT(descriptors() == open_before);
    EXPECT(threads() == threads_before);
    EXPECT_OK(api->runtime_shutdown(runtime, kPatience));
    EXPECT(dlclose(library) == 0);
    return 0;
}
