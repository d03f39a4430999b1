// Two copies of the library in one process: both work, and neither takes the other's handles.
// LINK: none
#include <dlfcn.h>

#include "gpuorch/api.h"
#include "process/process.h"

namespace {
const gpo_api* current = nullptr;
}
extern "C" const char* gpo_status_name(gpo_status status) { return current ? current->status_name(status) : "?"; }
extern "C" gpo_status gpo_last_error(gpo_error* error) { return current ? current->last_error(error) : GPO_INTERNAL; }

using namespace gpo::test;

namespace {

struct Copy {
    const gpo_api* api = nullptr;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_cq_t queue = nullptr;

    explicit Copy(const std::string& path) {
        void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) end_failed(__FILE__, __LINE__, dlerror());
        const gpo_api* (*get)(uint32_t);
        *reinterpret_cast<void**>(&get) = dlsym(library, "gpo_get_api");
        EXPECT(get != nullptr);
        current = api = get(GPO_VERSION);
        EXPECT(api != nullptr);
        EXPECT_OK(api->runtime_create(nullptr, &runtime));
        EXPECT_OK(api->device_open(runtime, nullptr, &device));
        EXPECT_OK(api->stream_create(device, nullptr, &stream));
        EXPECT_OK(api->cq_create(runtime, nullptr, &queue));
    }
    void work() {
        current = api;
        gpo_completion entry{};
        uint64_t count = 0;
        EXPECT_OK(api->stream_notify(stream, queue, 8));
        EXPECT_OK(api->cq_wait(queue, kPatience));
        EXPECT_OK(api->cq_drain(queue, &entry, sizeof entry, 1, &count));
        EXPECT(count == 1 && entry.user_data == 8 && entry.status == GPO_SUCCESS);
    }
};

}  // namespace

int main() {
    const char* path = std::getenv("GPUORCH_LIBRARY");
    if (!path) path = GPUORCH_LIBRARY;
    Folder folder;
    const std::string copy = folder / "libgpuorch-copy.so";
    EXPECT(std::system(("cp '" + std::string(path) + "' '" + copy + "'").c_str()) == 0);
    Copy one(path), two(copy);
    EXPECT(one.api != two.api);
    for (int i = 0; i < 20; ++i) {
        one.work();
        two.work();
    }
    current = two.api;
    EXPECT_STATUS(GPO_INVALID_HANDLE, two.api->stream_query(one.stream));
    EXPECT_STATUS(GPO_INVALID_HANDLE, two.api->runtime_shutdown(one.runtime, 0));
    current = one.api;
    EXPECT_STATUS(GPO_INVALID_HANDLE, one.api->stream_notify(one.stream, two.queue, 1));
    EXPECT_OK(one.api->runtime_shutdown(one.runtime, kPatience));
    two.work();
    current = two.api;
    EXPECT_OK(two.api->runtime_shutdown(two.runtime, kPatience));
    return 0;
}
