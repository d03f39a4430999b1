#include "faults/job_scenarios.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "support/files.h"
#include "support/setting.h"

namespace gpo::test {

namespace {

namespace fs = std::filesystem;

constexpr size_t kChunk = 4096, kFileBytes = 4 * kChunk + 1000;

/// A folder with the file that the job reads.
class Job {
public:
    Job() : folder_("/tmp/gpuorch-test-job-" + std::to_string(getpid())) {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
        for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * 7 + i / 256);
        std::ofstream(in(), std::ios::binary).write(content_.data(), static_cast<std::streamsize>(content_.size()));
    }
    ~Job() { fs::remove_all(folder_); }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    std::string in() const { return folder_ + "/in"; }
    std::string out() const { return folder_ + "/out"; }
    /// Names of what lies there.
    std::vector<std::string> found() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }
    bool whole() const {
        return gpo::test::read_whole(out()) == content_;
    }

private:
    const std::string folder_;
    std::string content_ = std::string(kFileBytes, '\0');
};

gpo_status copy_through(void*, gpo_stream_t stream, const gpo_chunk* chunk) {
    return gpo_copy_on_device(stream, chunk->output_address, chunk->input_address, chunk->output_bytes);
}

/// A kernel that takes the histogram of a chunk, and a callback that copies it from the input to the output.
struct Stages {
    Stages(gpo_kernel_t kernel) {
        auto& [stage, copy] = stages;
        for (size_t i = 0; i < std::size(kinds); ++i) {
            arguments[i] = sized<gpo_stage_argument>();
            arguments[i].kind = kinds[i];
        }
        stage.kind = GPO_STAGE_KERNEL;
        stage.kernel = kernel;
        stage.block[0] = 64;
        stage.bytes_per_block = 4096;
        stage.max_blocks = 4;
        stage.arguments = arguments;
        stage.argument_stride = sizeof(gpo_stage_argument);
        stage.argument_count = std::size(kinds);
        copy.kind = GPO_STAGE_CALLBACK;
        copy.enqueue = copy_through;
    }
    static constexpr uint32_t kinds[] = {GPO_ARGUMENT_RESULT, GPO_ARGUMENT_INPUT, GPO_ARGUMENT_INPUT_BYTES};
    gpo_stage_argument arguments[std::size(kinds)];
    gpo_stage stages[2] = {sized<gpo_stage>(), sized<gpo_stage>()};
};

Kernel builtin(Attempt& a, const char* name) {
    Module module;
    Kernel kernel;
    if (STEP(a, gpo_module_load_builtin(a.device, module.out())))
        STEP(a, gpo_module_get_kernel(module, name, kernel.out()));
    return kernel;
}

/// True if the run was begun and succeeded.
bool run(Attempt& a, gpo_pipeline_t pipeline, const gpo_source& source, const gpo_sink& sink,
         gpo_pipeline_result& result) {
    if (!STEP(a, gpo_pipeline_start(pipeline, &source, &sink))) return false;
    const uint64_t mark = a.next_mark();
    if (STEP(a, gpo_pipeline_notify(pipeline, a.queue, mark))) a.accepted(mark);
    return STEP(a, gpo_pipeline_wait(pipeline, kPatience, &result));
}

/// Bytes in, by 1000, and bytes out.
struct Counted {
    uint64_t given = 0, taken = 0, total = 0;

    static gpo_status fill(void* user, void* buffer, uint64_t capacity, uint64_t* bytes) {
        auto& self = *static_cast<Counted*>(user);
        *bytes = std::min<uint64_t>({capacity, 1'000'000, self.total - self.given});
        std::memset(buffer, 3, *bytes);
        self.given += *bytes;
        return self.given == self.total ? GPO_END : GPO_SUCCESS;
    }
    static gpo_status take(void* user, const gpo_chunk* chunk) {
        static_cast<Counted*>(user)->taken += chunk->output_bytes;
        return GPO_SUCCESS;
    }
};

bool file_job(Attempt& a, const Job& job) {
    if (!a.open()) return false;
    Kernel kernel = builtin(a, "gpo_histogram_u8");
    if (!kernel) return false;
    Stages stages(kernel);
    auto options = sized<gpo_pipeline_options>();
    options.flags = GPO_PIPELINE_TIMES;
    options.chunk_bytes = kChunk;
    options.slots = 2;
    options.max_pinned_bytes = 1 << 20;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 2;
    options.stages = stages.stages;
    options.result_bytes = 256 * sizeof(uint64_t);
    Pipeline pipeline;
    if (!STEP(a, gpo_pipeline_create(a.device, &options, pipeline.out()))) return false;
    const std::string in = job.in(), out = job.out();
    Counted counted;
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.path = in.c_str();
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    sink.path = out.c_str();
    sink.take = Counted::take;
    sink.user = &counted;
    auto result = sized<gpo_pipeline_result>();
    const bool done = run(a, pipeline, source, sink, result);
    if (done) {
        CHECK(result.bytes_out == kFileBytes);
        CHECK(counted.taken == kFileBytes);
    }
    STEP(a, gpo_pipeline_destroy(pipeline.release()));
    a.finish();   // the run has ended then, and `counted` may go
    return done;
}

}  // namespace

void files(Attempt& a) {
    const Job job;
    const bool done = file_job(a, job);
    const auto found = job.found();
    if (done) {
        CHECK(found == std::vector<std::string>{"in", "out"});
        CHECK(job.whole());
    } else if (found != std::vector<std::string>{"in"}) {   // the run may have ended well before the wait for it failed
        CHECK(found == std::vector<std::string>{"in", "out"});
        CHECK(job.whole());
    }
}

void tuned_pipeline(Attempt& a) {
    // Static: a run that can't be waited for ends with the runtime.
    static Counted counted;
    counted = {.total = 3'000'000};
    if (!a.open()) return;
    Kernel kernel = builtin(a, "gpo_histogram_u8");
    if (!kernel) return;
    Stages stages(kernel);
    auto options = sized<gpo_pipeline_options>();
    options.max_pinned_bytes = 64 << 20;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 2;
    options.stages = stages.stages;
    options.result_bytes = 256 * sizeof(uint64_t);
    Pipeline pipeline;
    if (!STEP(a, gpo_pipeline_create(a.device, &options, pipeline.out()))) return;
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_CALLBACK;
    source.fill = Counted::fill;
    source.user = &counted;
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.take = Counted::take;
    sink.user = &counted;
    auto result = sized<gpo_pipeline_result>();
    if (run(a, pipeline, source, sink, result)) {
        CHECK(
            (result.tuned == 1 || a.memory_may_be_out()));  // smaller chunks, of no measured size, where memory is out
        CHECK(counted.taken == counted.total);
    }
    STEP(a, gpo_pipeline_destroy(pipeline.release()));
    a.finish();
}

namespace {

/// Folder for the compiler's files; checks at the end that the compiler has removed them all.
class Workshop {
public:
    Workshop() : folder_("/tmp/gpuorch-test-workshop-" + std::to_string(getpid())) { fs::create_directory(folder_); }
    ~Workshop() {
        CHECK(fs::is_empty(folder_));
        fs::remove_all(folder_);
    }
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;

private:
    const std::string folder_;
    const Setting setting_{"TMPDIR", folder_};
};

/// Wraps a C++ compiler and caches its output: for the same text and arguments it copies an earlier output, which takes
/// milliseconds. The library can't distinguish it from another compiler.
class Rememberer {
public:
    Rememberer() : folder_("/tmp/gpuorch-test-rememberer-" + std::to_string(getpid())) {
        fs::create_directory(folder_);
        const char* const given = std::getenv("GPUORCH_CXX");
        std::ofstream(program()) << "#!/bin/sh\n"
                                    "real='"
                                 << (given && *given ? given : "c++") << "' memory='" << folder_ << "'\n"
                                 << R"(
for made; do :; done   # the last argument
case " $* " in
*" c++-header "*) echo "no precompiled header, which compilers overlook" > "$made"; exit ;;   # of megabytes else
*" -o "*) ;;
*) exec "$real" "$@" ;;
esac
text=source.cu
[ ! -f kernels.cpp ] || text=kernels.cpp
known=$memory/$({ echo "$*"; cat $text; } | cksum | tr ' ' -)
if [ ! -f "$known" ]; then
    "$real" "$@" || exit
    cp "$made" "$known.new" && mv "$known.new" "$known"
else
    cp "$known" "$made"
fi
)";
        fs::permissions(program(), fs::perms::owner_all);
    }
    ~Rememberer() { fs::remove_all(folder_); }
    std::string program() const { return folder_ + "/c++"; }

private:
    const std::string folder_;
};

/// A new, empty folder for compiled kernels.
class FreshCache {
public:
    FreshCache() { fs::remove_all(path); }
    ~FreshCache() { fs::remove_all(path); }
    const std::string path = "/tmp/gpuorch-test-kernels-" + std::to_string(getpid());
};

/// `flags` of the compile: GPO_COMPILE_*.
void compile(Attempt& a, uint32_t flags, const char* cache) {
    const Workshop workshop;
    auto runtime_options = sized<gpo_runtime_options>();
    runtime_options.cache = cache;
    if (!a.open(runtime_options)) return;
    auto options = sized<gpo_compile_options>();
    options.flags = flags;
    options.source = "template <class T> __global__ void put(T *target, T value) { *target = value; }";
    const char* const expressions[] = {"put<unsigned>"};
    options.name_expressions = expressions;
    options.name_expression_count = 1;
    Module module;
    Kernel kernel;
    if (!STEP(a, gpo_module_compile(a.device, &options, module.out()))) {
        CHECK(module.get() == nullptr);
        return;
    }
    Stream stream;
    uint64_t memory = 0;
    if (!STEP(a, gpo_module_get_kernel(module, "put<unsigned>", kernel.out())) ||
        !STEP(a, gpo_stream_create(a.device, nullptr, stream.out())) ||
        !STEP(a, gpo_memory_allocate(a.device, 4, nullptr, &memory)))
        return;
    STEP(a, launch(stream, kernel, 1, 1, memory, uint32_t{7}));
    ASK(a, gpo_stream_wait(stream, kPatience));
    STEP(a, gpo_memory_free(a.device, memory));
}

}  // namespace

void compile_uncached(Attempt& a) { compile(a, GPO_COMPILE_NO_CACHE, nullptr); }

void compile_remembered(Attempt& a) {
    static const Rememberer rememberer;
    const Setting setting("GPUORCH_CXX", rememberer.program());
    const FreshCache cache;
    compile(a, 0, cache.path.c_str());
}

namespace {

/// The driver that the runtime has opened, without what the tests put around it: the host's own calls don't fail.
std::shared_ptr<driver::Driver> host_driver(gpo_runtime_t runtime) {
    auto info = sized<gpo_driver_info>();
    if (gpo_runtime_get_driver(runtime, &info) != GPO_SUCCESS) return nullptr;
    return info.software ? driver::open_soft(nullptr) : driver::open_cuda(nullptr);
}

void captured(Attempt& a, gpo_stream_t stream, gpo_kernel_t fill, uint64_t memory) {
    void *native = nullptr, *context = nullptr;
    if (!STEP(a, gpo_stream_get_native(stream, &native))) return;
    if (!STEP(a, gpo_device_get_native(a.device, &context, nullptr))) return;
    const auto driver = host_driver(a.runtime);
    if (!driver) return;
    const auto& cu = driver->table;
    const auto captured = static_cast<CUstream>(native);
    // The host's driver calls need a current context. Calls of the library don't change the current context.
    const auto there = [&](const std::function<CUresult()>& call) {
        CUcontext popped = nullptr;
        const CUresult pushed = cu.cuCtxPushCurrent(static_cast<CUcontext>(context));
        if (pushed != CUDA_SUCCESS) return pushed;
        const CUresult result = call();
        cu.cuCtxPopCurrent(&popped);
        return result;
    };
    if (there([&] { return cu.cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED); }) != CUDA_SUCCESS)
        return;
    STEP(a, launch(stream, fill, 1, 64, memory, uint32_t{5}, uint64_t{64}));
    STEP(a, gpo_fill(stream, memory, 1, 4, 16));
    a.ask("notify in a capture", [&] {
        const gpo_status status = gpo_stream_notify(stream, a.queue, 0);
        return status == GPO_CAPTURE_REFUSED ? GPO_SUCCESS : status == GPO_SUCCESS ? GPO_INTERNAL : status;
    });
    there([&] {
        CUgraph graph = nullptr;
        size_t nodes = 0;
        const CUresult result = cu.cuStreamEndCapture(captured, &graph);
        if (result != CUDA_SUCCESS || !graph) return result;
        cu.cuGraphGetNodes(graph, nullptr, &nodes);
        if (a.failures() == 0) CHECK(nodes == 2);
        return cu.cuGraphDestroy(graph);
    });
}

}  // namespace

void launches(Attempt& a) {
    if (!a.open()) return;
    auto properties = sized<gpo_device_properties>();
    if (!STEP(a, gpo_device_get_properties(a.device, &properties))) return;
    Kernel fill = builtin(a, "gpo_fill_u32");
    Stream stream;
    uint64_t memory = 0;
    if (!fill || !STEP(a, gpo_stream_create(a.device, nullptr, stream.out())) ||
        !STEP(a, gpo_memory_allocate(a.device, 4096, nullptr, &memory)))
        return;
    const uint32_t value = 3;
    const uint64_t n = 1024;
    const void* arguments[] = {&memory, &value, &n};
    const uint32_t sizes[] = {8, 4, 8};
    auto shape = sized<gpo_launch>();
    shape.block[0] = 64;
    shape.grid[0] = 2;
    shape.flags = GPO_LAUNCH_COOPERATIVE;
    STEP(a, gpo_stream_launch_kernel(stream, fill, &shape, arguments, sizes, 3));
    shape.flags = GPO_LAUNCH_PRIORITY;
    STEP(a, gpo_stream_launch_kernel(stream, fill, &shape, arguments, sizes, 3));
    shape.flags = 0;
    if (properties.cluster_launch) {
        shape.cluster[0] = 2;
        STEP(a, gpo_stream_launch_kernel(stream, fill, &shape, arguments, sizes, 3));
    }
    // Held work with pageable copies, released later.
    static uint8_t in[4096], out[4096];
    Timeline timeline;
    if (STEP(a, gpo_timeline_create(a.runtime, nullptr, timeline.out()))) {
        const bool held = STEP(a, gpo_stream_wait_timeline(stream, timeline, 1));
        STEP(a, gpo_copy_to_device(stream, memory, in, sizeof in));
        STEP(a, launch(stream, fill, 1, 64, memory, value, n / 2));
        STEP(a, gpo_copy_to_host(stream, out, memory, sizeof out));
        a.notify(stream);
        if (held) STEP(a, gpo_timeline_signal(timeline, 1));
        ASK(a, gpo_stream_wait(stream, kPatience));
    }
    captured(a, stream, fill, memory);
    a.notify(stream);
    ASK(a, gpo_stream_wait(stream, kPatience));
    STEP(a, gpo_memory_free(a.device, memory));
}

namespace {

constexpr const char* kFamilySource = R"(
__global__ void count(unsigned* words) { atomicAdd(words, 1u); }
__device__ void see(unsigned* words) { if (cudaGetLastError() != cudaSuccess) atomicAdd(words + 1, 1u); }
extern "C" __global__ void parent(unsigned* words, unsigned deep) {
    count<<<1, 1>>>(words);
    see(words);
    count<<<2, 1>>>(words);
    see(words);
    see(words);
    if (deep) parent<<<1, 1, 0, cudaStreamFireAndForget>>>(words, deep - 1);
    if (cudaGetLastError() != cudaSuccess) words[2] = 1;
    count<<<1, 1, 0, cudaStreamTailLaunch>>>(words);
    see(words);
}
)";

/// On CUDA libcudadevrt.a may be missing: then there is nothing to walk through.
bool compile_family(Attempt& a, Module& module) {
    auto options = sized<gpo_compile_options>();
    options.source = kFamilySource;
    options.flags = GPO_COMPILE_DYNAMIC_PARALLELISM;
    STEP(a, [&] {
        const gpo_status status = gpo_module_compile(a.device, &options, module.out());
        auto info = sized<gpo_driver_info>();
        const bool missing = status == GPO_NO_COMPILER && gpo_runtime_get_driver(a.runtime, &info) == GPO_SUCCESS &&
                             !info.software;
        return missing ? GPO_SUCCESS : status;
    }());
    return module.get() != nullptr;
}

}  // namespace

void families(Attempt& a) {
    if (!a.open()) return;
    Module module;
    Kernel parent;
    Stream stream;
    Arena arena;
    void* pinned = nullptr;
    if (!compile_family(a, module) || !STEP(a, gpo_module_get_kernel(module, "parent", parent.out())) ||
        !STEP(a, gpo_stream_create(a.device, nullptr, stream.out())) ||
        !STEP(a, gpo_arena_create(a.device, nullptr, arena.out())) ||
        !STEP(a, gpo_arena_allocate(arena, 64, 0, &pinned)))
        return;
    auto* const words = static_cast<uint32_t*>(pinned);
    // Clear the words on the GPU: the host must not access them, because a shutdown may have freed them.
    const bool cleared = STEP(a, gpo_fill(stream, reinterpret_cast<uint64_t>(words), 0, sizeof *words, 3));
    uint64_t limit = 0;
    STEP(a, gpo_device_get_limit(a.device, GPO_LIMIT_PENDING_LAUNCHES, &limit));
    const uint32_t deep = 2, children = 4;   // counts of each parent: 1, 2 by a grid of two blocks, and 1 by a tail
    const bool launched = STEP(a, launch(stream, parent, 1, 1, words, deep));
    a.notify(stream);
    const bool waited = ASK(a, gpo_stream_wait(stream, kPatience)) && gpo_stream_query(stream) == GPO_SUCCESS;
    // If no launch by a parent failed, every other launch has run or its kernel has seen a failure status.
    if (cleared && launched && waited && !a.shuts_down() && words[2] == 0) {
        CHECK(words[0] <= (deep + 1) * children);
        CHECK(words[0] + 2 * words[1] >= (deep + 1) * children);
        CHECK((words[1] || words[0] == (deep + 1) * children));
    }
    if (waited) STEP(a, gpo_arena_free(arena, pinned));
}

void learned_sequences(Attempt& a) {
    if (!a.open()) return;
    Kernel fill = builtin(a, "gpo_fill_u32");
    auto options = sized<gpo_stream_options>();
    options.flags = GPO_STREAM_LEARNS;
    Stream stream;
    Arena arena;
    void* pinned = nullptr;
    uint64_t memory = 0;
    const uint64_t n = 16, bytes = n * sizeof(uint32_t);
    if (!fill || !STEP(a, gpo_stream_create(a.device, &options, stream.out())) ||
        !STEP(a, gpo_arena_create(a.device, nullptr, arena.out())) ||
        !STEP(a, gpo_arena_allocate(arena, 2 * bytes, 0, &pinned)) ||
        !STEP(a, gpo_memory_allocate(a.device, 2 * bytes, nullptr, &memory)))
        return;
    auto* const out = static_cast<uint32_t*>(pinned) + n;
    for (uint32_t turn = 0; turn < 12; ++turn) {
        STEP(a, launch(stream, fill, 1, 64, memory, turn, n));
        STEP(a, gpo_fill(stream, memory + bytes, turn, 4, 1 + turn));
        if (turn % 4 == 3) a.notify(stream);   // breaks the sequence
        STEP(a, gpo_copy_to_device(stream, memory + bytes, pinned, bytes - 4 * turn));
        STEP(a, gpo_copy_to_host(stream, out, memory, bytes));
        ASK(a, gpo_stream_wait(stream, kPatience));
    }
    auto info = sized<gpo_stream_info>();
    STEP(a, gpo_stream_get_info(stream, &info));
    STEP(a, launch(stream, fill, 1, 64, memory, 3u, n));
    STEP(a, gpo_memory_free(a.device, memory));
    STEP(a, gpo_stream_destroy(stream.release()));
    ASK(a, gpo_device_wait(a.device, kPatience));
    STEP(a, gpo_arena_free(arena, pinned));
}

}  // namespace gpo::test
