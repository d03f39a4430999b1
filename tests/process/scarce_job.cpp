// A whole job (a compiled kernel, files through a pipeline, callbacks) on a machine short of descriptors or threads,
// from none to just enough. Each call works or gives a status of scarcity. Nothing is left half done or lost, and
// afterwards everything works.
// RUN: descriptors
// RUN: threads
// TIMEOUT: 600
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <vector>

#include "process/process.h"
#include "support/files.h"

using namespace gpo::test;

namespace {

constexpr size_t kFileBytes = 50'000;

constexpr const char* kSource = R"(
extern "C" __global__ void complement(const unsigned char *in, unsigned char *out, unsigned long long bytes) {
    for (unsigned long long i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = ~in[i];
}
)";

// Of pthread_create, below.
constexpr int kNever = 1 << 30;
std::atomic<int> threads_started{0}, first_refused{kNever}, last_refused{kNever};

std::string content(size_t bytes, bool complemented) {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 7 + i / 256) ^ (complemented ? 0xff : 0));
    return text;
}

/// A walk through everything. A failure has to be a status of scarcity; steps that don't depend on it continue.
class Job {
public:
    Job(const Folder& folder, bool compiles) : folder_(folder), compiles_(compiles) {}

    /// How many calls failed.
    int run() {
        gpo_runtime_t runtime = nullptr;
        if (!judge("gpo_runtime_create", gpo_runtime_create(nullptr, &runtime))) return failures_;
        if (judge("gpo_device_open", gpo_device_open(runtime, nullptr, &device_))) {
            callbacks(runtime);
            if (gpo_kernel_t kernel = make_kernel()) stream_files(kernel);
        }
        EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
        return failures_;
    }

private:
    bool judge(const char* call, gpo_status status) {
        if (status == GPO_SUCCESS) return true;
        ++failures_;
        // GPO_IO_ERROR names the file; GPO_NO_COMPILER and GPO_NO_DEVICE give the reason.
        static const std::set<gpo_status> scarce{GPO_LIMIT_EXCEEDED, GPO_OUT_OF_MEMORY, GPO_IO_ERROR, GPO_NO_COMPILER,
                                                 GPO_NO_DEVICE};
        if (scarce.count(status) == 0 || last_message().empty())
            end_failed(__FILE__, __LINE__,
                       std::string(call) + " gave " + gpo_status_name(status) + ": " + last_message());
        return false;
    }

    void callbacks(gpo_runtime_t runtime) {
        gpo_stream_t stream = nullptr;
        gpo_executor_t executor = nullptr;
        gpo_cq_t queue = nullptr;
        int descriptor = -1, accepted = 0;
        std::atomic<int> called{0};
        const auto count = [](void* user, const gpo_completion*, const gpo_error*) {
            ++*static_cast<std::atomic<int>*>(user);
        };
        if (!judge("gpo_stream_create", gpo_stream_create(device_, nullptr, &stream))) return;
        if (judge("gpo_cq_create", gpo_cq_create(runtime, nullptr, &queue))) {
            if (judge("gpo_cq_get_fd", gpo_cq_get_fd(queue, &descriptor))) close(descriptor);
            if (judge("gpo_stream_notify", gpo_stream_notify(stream, queue, 1)))
                EXPECT_OK(gpo_cq_wait(queue, kPatience));
        }
        if (judge("gpo_executor_create", gpo_executor_create(runtime, nullptr, &executor))) {
            accepted = judge("gpo_stream_then", gpo_stream_then(stream, executor, count, &called));
            EXPECT_OK(gpo_executor_run_for(executor, kPatience, nullptr));
            EXPECT_OK(gpo_executor_destroy(executor));
        }
        EXPECT(called == accepted);
        EXPECT_OK(gpo_cq_destroy(queue));
        EXPECT_OK(gpo_stream_destroy(stream));
    }

    gpo_kernel_t make_kernel() {
        auto options = sized<gpo_compile_options>();
        options.flags = compiles_ ? GPO_COMPILE_NO_CACHE : 0;
        options.source = kSource;
        gpo_module_t module = nullptr;
        gpo_kernel_t kernel = nullptr;
        if (!judge("gpo_module_compile", gpo_module_compile(device_, &options, &module))) return nullptr;
        EXPECT_OK(gpo_module_get_kernel(module, "complement", &kernel));
        EXPECT_OK(gpo_module_destroy(module));
        return kernel;
    }

    void stream_files(gpo_kernel_t kernel) {
        constexpr uint32_t kinds[] = {GPO_ARGUMENT_INPUT, GPO_ARGUMENT_OUTPUT, GPO_ARGUMENT_INPUT_BYTES};
        gpo_stage_argument arguments[3];
        for (size_t i = 0; i < 3; ++i) {
            arguments[i] = sized<gpo_stage_argument>();
            arguments[i].kind = kinds[i];
        }
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_KERNEL;
        stage.kernel = kernel;
        stage.block[0] = 64;
        stage.grid[0] = 1;
        stage.arguments = arguments;
        stage.argument_stride = sizeof(gpo_stage_argument);
        stage.argument_count = 3;
        auto options = sized<gpo_pipeline_options>();
        options.chunk_bytes = 4096;
        options.stages = &stage;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        gpo_pipeline_t pipeline = nullptr;
        const std::string in = folder_ / "in", out = folder_ / "out";
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_FILE;
        source.path = in.c_str();
        auto sink = sized<gpo_sink>();
        sink.kind = GPO_SINK_FILE;
        sink.path = out.c_str();
        if (judge("gpo_pipeline_create", gpo_pipeline_create(device_, &options, &pipeline))) {
            if (judge("gpo_pipeline_start", gpo_pipeline_start(pipeline, &source, &sink)))
                done_ = judge("gpo_pipeline_wait", gpo_pipeline_wait(pipeline, kPatience, nullptr));
            EXPECT_OK(gpo_pipeline_destroy(pipeline));
        }
        EXPECT_OK(gpo_kernel_destroy(kernel));
    }

public:
    bool done() const { return done_; }

private:
    const Folder& folder_;
    const bool compiles_;
    gpo_device_t device_ = nullptr;
    int failures_ = 0;
    bool done_ = false;
};

/// Whole, or not there at all.
void check_files(const Folder& folder, bool done) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) names.insert(entry.path().filename());
    EXPECT((names == (done ? std::set<std::string>{"in", "out", "tmp"} : std::set<std::string>{"in", "tmp"})));
    if (done) EXPECT(gpo::test::read_whole(folder / "out") == content(kFileBytes, true));
    std::filesystem::remove(folder / "out");
    for (const auto& left : std::filesystem::recursive_directory_iterator(folder / "tmp"))
        end_failed(__FILE__, __LINE__, left.path().string() + " was left");
}

void without_descriptors(const Folder& folder) {
    constexpr int kMost = 400;
    const rlimit limit{kMost, kMost};
    EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    int failed = 0;
    for (int left = 0;; ++left) {
        std::vector<int> taken;
        for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
        EXPECT(taken.size() > 100);
        for (int i = 0; i < left; ++i) {
            close(taken.back());
            taken.pop_back();
        }
        Job job(folder, true);
        const int failures = job.run();
        for (const int fd : taken) close(fd);
        check_files(folder, job.done());
        failed += failures != 0;
        if (failures == 0) {
            std::printf("%d descriptors are enough\n", left);
            break;
        }
        EXPECT(left < 100);
    }
    EXPECT(failed > 3);
}

void without_threads(const Folder& folder) {
    threads_started = 0;
    Job whole(folder, false);
    EXPECT(whole.run() == 0);
    check_files(folder, true);
    const int total = threads_started;
    EXPECT(total > 5);
    std::printf("%d threads\n", total);
    int failed = 0;
    for (int kth = 1; kth <= total; ++kth)
        for (const bool for_ever : {false, true}) {
            threads_started = 0;
            last_refused = for_ever ? kNever : kth;
            first_refused = kth;
            Job job(folder, false);
            failed += job.run() != 0;
            first_refused = kNever;
            check_files(folder, job.done());
        }
    EXPECT(failed > total);   // a few can be done without
}

}  // namespace

// Stands before the C library's, and has to be seen by the library for that.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*body)(void*), void* argument) {
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
    const int number = ++threads_started;
    if (number >= first_refused && number <= last_refused) return EAGAIN;
    return create(thread, attributes, body, argument);
}

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    Folder folder;
    std::filesystem::create_directory(folder / "tmp");
    setenv("TMPDIR", (folder / "tmp").c_str(), 1);
    std::ofstream(folder / "in", std::ios::binary) << content(kFileBytes, false);
    {
        Job once(folder, true);   // what is done once is done
        EXPECT(once.run() == 0);
        check_files(folder, true);
    }
    const int descriptors_before = descriptors(), threads_before = threads();
    if (std::string(argv[1]) == "descriptors") without_descriptors(folder);
    if (std::string(argv[1]) == "threads") without_threads(folder);
    EXPECT(descriptors() == descriptors_before);
    EXPECT(threads() == threads_before);
    Job once_more(folder, true);
    EXPECT(once_more.run() == 0);
    check_files(folder, true);
    return 0;
}
