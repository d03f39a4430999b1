// Resources are scarce: descriptors, threads, stacks, addresses, a compiler, a folder for the cache; or signals
// interrupt all calls. Each shortage gives a status or has no effect. Afterwards everything must work.
// RUN: descriptors
// RUN: threads
// RUN: stacks
// RUN: GPUORCH_DEVICE=soft addresses
// RUN: signals
// RUN: compiler
// RUN: cache
// RUN: shm
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

std::atomic<bool> no_threads{false};
std::atomic<int> threads_refused{0};

constexpr const char* kSource = R"(
extern "C" __global__ void answer(unsigned *target, unsigned value) { *target = value; }
)";

void run_kernel(Opened& a, gpo_kernel_t kernel, unsigned value) {
    uint32_t* word = pinned(a.device, 1);
    EXPECT_OK(launch(a.stream, kernel, word, value));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT(*word == value);
}

/// Makes a runtime, a device, a stream and a queue, waits for a mark, and shuts the runtime down, which must succeed.
/// Returns the first failure.
gpo_status try_everything() {
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_cq_t queue = nullptr;
    gpo_status status = gpo_runtime_create(nullptr, &runtime);
    if (status) return status;
    if (!status) status = gpo_device_open(runtime, nullptr, &device);
    if (!status) status = gpo_stream_create(device, nullptr, &stream);
    if (!status) status = gpo_cq_create(runtime, nullptr, &queue);
    if (!status) status = gpo_stream_notify(stream, queue, 1);
    if (!status) status = gpo_cq_wait(queue, kPatience);
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    return status;
}

bool scarcity(gpo_status status) {
    return status == GPO_SUCCESS || status == GPO_LIMIT_EXCEEDED || status == GPO_OUT_OF_MEMORY ||
           status == GPO_NO_DEVICE;
}

void without_descriptors() {
    std::vector<int> all;
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) {
        all.push_back(fd);
        if (all.size() == 512) {  // no need for all that the machine has
            const rlimit limit{static_cast<rlim_t>(fd) + 1, static_cast<rlim_t>(fd) + 1};
            EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        }
    }
    EXPECT(open("/dev/null", O_RDONLY) < 0);
    EXPECT(scarcity(try_everything()));
    for (size_t i = 0; i < all.size(); ++i) {  // make the descriptors available again, one by one
        close(all[i]);
        if (i < 8) EXPECT(scarcity(try_everything()));
    }
    EXPECT_OK(try_everything());
}

void without_threads() {
    for (int i = 0; i < 3; ++i) {
        no_threads = true;
        const gpo_status status = try_everything();
        std::printf("without threads: %s\n", gpo_status_name(status));
        EXPECT(scarcity(status));
        EXPECT(threads_refused > 0);
        EXPECT(status != GPO_SUCCESS);
        no_threads = false;
        EXPECT_OK(try_everything());
    }
}

void* on_tiny_stack(void*) {
    Opened a;
    a.check_works();
    a.shut_down();
    return nullptr;
}

void on_tiny_stacks() {
    try_everything();  // completes initialisation that happens once per process
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // The least that the system allows, and room for the test's own structs.
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    EXPECT(pthread_attr_setstacksize(&attributes, static_cast<size_t>(least) + 48 * 1024) == 0);
    pthread_t thread{};
    EXPECT(pthread_create(&thread, &attributes, on_tiny_stack, nullptr) == 0);
    EXPECT(pthread_join(thread, nullptr) == 0);
}

uint64_t addresses_used() {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    file >> pages;
    return pages * 4096;
}

void limit_addresses(uint64_t bytes) {
    const rlimit limit{bytes, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

/// With RLIMIT_AS at 4 GiB, as batch systems set it, the software GPU works; with less it works or names the shortage.
void without_addresses() {
    constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;
    // A sanitizer's shadow doesn't count.
    const uint64_t used = addresses_used(), before = used > 4 * kGiB ? used : 0;
    limit_addresses(before + 4 * kGiB);
    {
        Opened a;
        auto properties = sized<gpo_device_properties>();
        EXPECT_OK(gpo_device_get_properties(a.device, &properties));
        std::printf("a device of %llu MiB\n", static_cast<unsigned long long>(properties.memory_bytes / kMiB));
        EXPECT(properties.memory_bytes >= 256 * kMiB && properties.memory_bytes <= 4 * kGiB);
        run_kernel(a, compile(a.device, kSource, "answer"), 42);
        // Threads that wait for each other need stacks of their own, in each of many blocks.
        gpo_kernel_t turned = compile(a.device, R"(
extern "C" __global__ void turned(unsigned *out) {
    __shared__ unsigned all[256];
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (all[255 - threadIdx.x] == 255 - threadIdx.x) atomicAdd(out, 1u);
})",
                                      "turned");
        uint32_t* count = pinned(a.device, 1);
        EXPECT_OK(launch_blocks(a.stream, turned, 200, 256, count));
        EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
        EXPECT(*count == 200 * 256);
        uint64_t memory = 0;
        EXPECT_OK(gpo_memory_allocate(a.device, properties.memory_bytes / 2, "half of it", &memory));
        EXPECT_OK(gpo_memory_free(a.device, memory));
        a.shut_down();
    }
    gpo_status status = GPO_SUCCESS;
    for (const uint64_t room : {2048, 1024, 512, 256, 128, 64}) {
        limit_addresses(addresses_used() + room * kMiB);
        status = try_everything();
        const std::string message = status ? last_message() : "";
        std::printf("with %llu MiB: %s %s\n", static_cast<unsigned long long>(room), gpo_status_name(status),
                    message.c_str());
        EXPECT(scarcity(status));
        EXPECT(status == GPO_SUCCESS || room < 2048);
    }
    EXPECT(status != GPO_SUCCESS);
    EXPECT(last_message().find("RLIMIT_AS") != std::string::npos);
    limit_addresses(RLIM_INFINITY);
    EXPECT_OK(try_everything());
}

std::atomic<int> signals_seen{0};

void in_a_signal_storm() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++signals_seen; };  // no SA_RESTART: calls are interrupted
    EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
    const itimerval often{{0, 200}, {0, 200}};
    EXPECT(setitimer(ITIMER_REAL, &often, nullptr) == 0);
    Opened a;
    gpo_kernel_t kernel = compile(a.device, kSource, "answer");
    for (unsigned i = 1; i < 100; ++i) {
        run_kernel(a, kernel, i);
        a.check_works();
        EXPECT_STATUS(GPO_TIMEOUT, gpo_cq_wait(a.queue, 1'000'000));
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    EXPECT(signals_seen > 10);
    a.shut_down();
}

void without_compiler() {
    Folder folder;
    auto runtime_options = sized<gpo_runtime_options>();
    runtime_options.cache = "";
    setenv("GPUORCH_CXX", (folder / "no-such-compiler").c_str(), 1);
    setenv("GPUORCH_NVRTC", (folder / "no-such-nvrtc.so").c_str(), 1);
    setenv("PATH", folder.path.c_str(), 1);
    Opened a(runtime_options);
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    gpo_module_t module = nullptr;
    EXPECT_STATUS(GPO_NO_COMPILER, gpo_module_compile(a.device, &options, &module));
    EXPECT(module == nullptr);
    EXPECT(last_message().find("no-such-") != std::string::npos);
    // Built-in kernels need none.
    gpo_kernel_t fill = nullptr;
    EXPECT_OK(gpo_module_load_builtin(a.device, &module));
    EXPECT_OK(gpo_module_get_kernel(module, "gpo_fill_u32", &fill));
    uint32_t* words = pinned(a.device, 16);
    const uint32_t value = 5;
    const uint64_t n = 16;
    EXPECT_OK(launch(a.stream, fill, words, value, n));
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT(words[0] == 5 && words[15] == 5);
    a.shut_down();
}

void without_cache() {
    Folder folder;
    std::ofstream(folder / "file") << "a file, no folder\n";
    const std::string places[] = {"/proc/nowhere", folder / "file/cache", "/dev/null", "", std::string(PATH_MAX, 'x')};
    for (const std::string& place : places) {
        auto options = sized<gpo_runtime_options>();
        options.cache = place.c_str();
        Opened a(options);
        run_kernel(a, compile(a.device, kSource, "answer"), 3);
        a.shut_down();
    }
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    Opened a;
    run_kernel(a, compile(a.device, kSource, "answer"), 4);
    a.shut_down();
}

void without_shm() {
    // A mount namespace of our own, in which /dev/shm can't be written.
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) end_skipped("scarce shm", "no namespaces here");
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_RDONLY, nullptr) != 0) end_skipped("scarce shm", "no mounts here");
    Opened a;
    a.check_works();
    a.shut_down();
}

}  // namespace

// Stands before the C library's, and has to be seen by the library for that.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*body)(void*), void* argument) {
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
    if (no_threads) {
        ++threads_refused;
        return EAGAIN;
    }
    return create(thread, attributes, body, argument);
}

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    if (kind == "descriptors") without_descriptors();
    if (kind == "threads") without_threads();
    if (kind == "stacks") on_tiny_stacks();
    if (kind == "addresses") without_addresses();
    if (kind == "signals") in_a_signal_storm();
    if (kind == "compiler") without_compiler();
    if (kind == "cache") without_cache();
    if (kind == "shm") without_shm();
    return 0;
}
