// dlopen, work, dlclose with work in flight, dlopen again and the same runtime used on; then shut down. Descriptors and
// threads stay as they were.
// LINK: none
// REPEAT: 1 1
#include <dlfcn.h>

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

}  // namespace

int main() {
    void* library = open_library();
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_cq_t queue = nullptr;
    EXPECT_OK(api->runtime_create(nullptr, &runtime));
    EXPECT_OK(api->device_open(runtime, nullptr, &device));
    EXPECT_OK(api->stream_create(device, nullptr, &stream));
    EXPECT_OK(api->cq_create(runtime, nullptr, &queue));
    EXPECT_OK(api->stream_notify(stream, queue, 0));
    EXPECT_OK(api->stream_wait(stream, kPatience));
    int open_before = 0, threads_before = 0;
    const int turns = full() ? 1000 : 50;
    uint64_t drained = 0;
    for (int turn = 0; turn < turns; ++turn) {
        EXPECT_OK(api->stream_notify(stream, queue, 1));
        api = nullptr;
        EXPECT(dlclose(library) == 0);
        library = open_library();
        EXPECT_OK(api->stream_wait(stream, kPatience));
        gpo_completion entries[8];
        uint64_t count = 0;
        EXPECT_OK(api->cq_drain(queue, entries, sizeof entries[0], 8, &count));
        drained += count;
        if (turn == 0) {
            open_before = descriptors();
            threads_before = threads();
        }
    }
    EXPECT(descriptors() == open_before);
    EXPECT(threads() == threads_before);
    while (drained < static_cast<uint64_t>(turns) + 1) {
        gpo_completion entries[8];
        uint64_t count = 0;
        EXPECT_OK(api->cq_wait(queue, kPatience));
        EXPECT_OK(api->cq_drain(queue, entries, sizeof entries[0], 8, &count));
        drained += count;
    }
    EXPECT_OK(api->runtime_shutdown(runtime, kPatience));
    EXPECT(dlclose(library) == 0);
    return 0;
}
