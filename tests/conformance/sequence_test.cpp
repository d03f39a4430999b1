// Random sequences of calls, right and wrong ones mixed, by a seed: no crash, no hang, no leak. Wrong handles are
// always refused, and accepted work comes once. GPUORCH_TEST_SEED=n runs a sequence again. On the software GPU the
// sequence replays with its schedule, unless it compiles.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

#include "conformance/pipeline_rig.h"
#include "conformance/sequence.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
__device__ unsigned bias;
extern "C" __global__ void add_bias(unsigned *words, unsigned n) {
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) words[i] += bias;
}
)";

/// With pipelines, stream pools, memory of all kinds, copies of all kinds, modules and traces among the calls.
class WholeSequence : public Sequence {
public:
    /// `image`: of a module with kSource. `compiles`: the sequence may call the compiler, which no schedule covers.
    WholeSequence(uint64_t seed, uint64_t schedule, const std::vector<char>& image, bool compiles)
        : Sequence(seed, schedule), image_(image), compiles_(compiles) {
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        uint32_t count = 0;
        REQUIRE_OK(gpo_runtime_get_device_count(runtime_, &count));
        if (count > 1) REQUIRE_OK(gpo_device_open(runtime_, &options, &second_));
        REQUIRE_OK(gpo_memory_allocate(second_ ? second_ : device_, kBytes, nullptr, &second_memory_));
        for (auto& page : own_) page.resize(3 * kPage);
        create_pipeline();
    }

    void run() {
        using Whole = void (WholeSequence::*)();
        std::vector<Whole> all;
        for (const Call call : calls()) all.push_back(call);
        for (const Whole call : {&WholeSequence::create_pipeline,
                                 &WholeSequence::start_pipeline,
                                 &WholeSequence::start_pipeline,
                                 &WholeSequence::cancel_pipeline,
                                 &WholeSequence::ask_pipeline,
                                 &WholeSequence::tell_of_pipeline,
                                 &WholeSequence::destroy_pipeline,
                                 &WholeSequence::lend,
                                 &WholeSequence::lend,
                                 &WholeSequence::give_back,
                                 &WholeSequence::change_stream_pools,
                                 &WholeSequence::copy_batch,
                                 &WholeSequence::copy_rows,
                                 &WholeSequence::copy_peer,
                                 &WholeSequence::allocate,
                                 &WholeSequence::free_memory,
                                 &WholeSequence::register_memory,
                                 &WholeSequence::unregister_memory,
                                 &WholeSequence::load,
                                 &WholeSequence::launch_loaded,
                                 &WholeSequence::destroy_loaded,
                                 &WholeSequence::compile,
                                 &WholeSequence::trace})
            all.push_back(call);
        for (int i = 0; i < kCalls; ++i) (this->*all[random_() % all.size()])();
    }

    void end() {
        for (gpo_pipeline_t pipeline : pipelines_.live) CHECK_OK(gpo_pipeline_cancel(pipeline));
        let_go();
        for (gpo_pipeline_t pipeline : pipelines_.live) {
            const gpo_status status = gpo_pipeline_wait(pipeline, kPatience, nullptr);
            INFO(explain("gpo_pipeline_wait", status));
            CHECK(status != GPO_TIMEOUT);
        }
        destroy_all(pipelines_, gpo_pipeline_destroy);
        destroy_all(stream_pools_, gpo_stream_pool_destroy);
        destroy_all(kernels_, gpo_kernel_destroy);
        destroy_all(modules_, gpo_module_destroy);
        for (const uint64_t address : allocated_) CHECK_OK(gpo_memory_free(device_, address));
        for (void* memory : registered_) CHECK_OK(gpo_host_unregister(device_, memory));
        CHECK_OK(gpo_memory_free(second_ ? second_ : device_, second_memory_));
        if (second_) CHECK_OK(gpo_device_close(second_));
        finish();
        for (const auto& job : jobs_) CHECK(job->wrong == 0);
    }

private:
    static constexpr size_t kPage = 4096;

    /// A pipeline with its data.
    struct Job {
        gpo_pipeline_t pipeline = nullptr;
        std::vector<uint8_t> in = noise(5 * kPage + 123), out = std::vector<uint8_t>(in.size());
        uint64_t fails_at = UINT64_MAX, ends_at = UINT64_MAX;
        uint64_t expected = 0;                 // index of the next chunk to be taken; a run begins with 0
        std::atomic<int> wrong{0};

        static gpo_status enqueue(void*, gpo_stream_t stream, const gpo_chunk* chunk) {
            return gpo_copy_on_device(stream, chunk->output_address, chunk->input_address, chunk->output_bytes);
        }
        static gpo_status take(void* user, const gpo_chunk* chunk) {
            auto& job = *static_cast<Job*>(user);
            if (chunk->index != 0 && chunk->index != job.expected) ++job.wrong;
            if (chunk->bytes && std::memcmp(chunk->output, job.in.data() + chunk->offset, chunk->bytes) != 0)
                ++job.wrong;
            job.expected = chunk->index + 1;
            return chunk->index == job.fails_at ? GPO_FAILED : chunk->index == job.ends_at ? GPO_END : GPO_SUCCESS;
        }
    };

    void create_pipeline() {
        if (pipelines_.live.size() > 2) return;
        auto job = std::make_unique<Job>();
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = Job::enqueue;
        auto options = sized<gpo_pipeline_options>();
        options.slots = 1 + random_() % 3;
        options.stages = &stage;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        const bool on_executor = random_() % 3 == 0;
        const auto executor = choose(executors_);
        options.executor = on_executor ? executor.handle : nullptr;
        const bool good = !options.executor || executor.good;
        options.chunk_bytes = good && random_() % 8 == 0 ? 4097 : kPage;   // the first is no multiple of the granule
        gpo_pipeline_t made = nullptr;
        if (!JUDGE(good, gpo_pipeline_create(device_, &options, &made))) return;
        job->pipeline = made;
        pipelines_.live.push_back(made);
        jobs_.push_back(std::move(job));
    }
    void start_pipeline() {
        const auto pipeline = choose(pipelines_);
        const auto found =
            std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->pipeline == pipeline.handle; });
        static Job none;
        Job& job = found == jobs_.end() ? none : **found;
        auto progress = sized<gpo_pipeline_progress>();
        if (pipeline.good && gpo_pipeline_get_progress(pipeline.handle, &progress) == GPO_SUCCESS &&
            !progress.running) {
            job.fails_at = random_() % 12;
            job.ends_at = random_() % 12;
        }
        auto source = from_memory(job.in.data(), random_() % (job.in.size() + 1));
        auto sink = to_memory(job.out.data(), random_() % 4 ? job.out.size() : 5000);
        sink.take = Job::take;
        sink.user = &job;
        if (random_() % 8 == 0) source.kind = 77;
        JUDGE(pipeline.good, gpo_pipeline_start(pipeline.handle, &source, &sink));
    }
    void cancel_pipeline() {
        const auto pipeline = choose(pipelines_);
        JUDGE(pipeline.good, gpo_pipeline_cancel(pipeline.handle));
    }
    void ask_pipeline() {
        const auto pipeline = choose(pipelines_);
        auto result = sized<gpo_pipeline_result>();
        auto progress = sized<gpo_pipeline_progress>();
        JUDGE(pipeline.good, gpo_pipeline_get_progress(pipeline.handle, &progress));
        JUDGE(pipeline.good, gpo_pipeline_wait(pipeline.handle, static_cast<int64_t>(random_() % 200'000), &result));
    }
    void tell_of_pipeline() {
        const auto pipeline = choose(pipelines_);
        const auto queue = choose(queues_);
        const uint64_t number = ++last_mark_;
        if (JUDGE(pipeline.good && queue.good, gpo_pipeline_notify(pipeline.handle, queue.handle, number)))
            marks_[queue.handle][number] = {nullptr, 0};
        const auto executor = choose(executors_);
        const gpo_completion_fn called = [](void* user, const gpo_completion*, const gpo_error*) {
            ++*static_cast<std::atomic<int>*>(user);
        };
        owed_ +=
            JUDGE(pipeline.good && executor.good, gpo_pipeline_then(pipeline.handle, executor.handle, called, &came_));
    }
    void destroy_pipeline() {
        gpo_pipeline_t pipeline;
        if (random_() % 2) destroy_one(pipelines_, gpo_pipeline_destroy, &pipeline);
    }

    void change_stream_pools() {
        gpo_stream_pool_t pool = nullptr;
        if (random_() % 2 == 0 && !stream_pools_.live.empty()) {
            if (!destroy_one(stream_pools_, gpo_stream_pool_destroy, &pool)) return;
            std::erase_if(lent_, [&](const auto& lent) { return lent.first == pool; });
            return;
        }
        auto options = sized<gpo_stream_pool_options>();
        options.streams = static_cast<uint32_t>(random_() % 4);
        if (stream_pools_.live.size() > 2) return;
        const gpo_status status = gpo_stream_pool_create(device_, &options, &pool);
        keep(stream_pools_, status, pool);
    }
    void lend() {
        const auto pool = choose(stream_pools_);
        gpo_stream_t stream = nullptr;
        if (!JUDGE(pool.good, gpo_stream_pool_acquire(pool.handle, static_cast<int32_t>(random_() % 3) - 1, &stream)))
            return;
        lent_.emplace_back(pool.handle, stream);
        CHECK_OK(gpo_fill(stream, memory_, 3, 1, 100));
        const auto queue = choose(queues_);
        const uint64_t number = ++last_mark_;
        if (JUDGE(queue.good, gpo_stream_notify(stream, queue.handle, number)))
            marks_[queue.handle][number] = {nullptr, 0};
    }
    void give_back() {
        const auto pool = choose(stream_pools_);
        if (lent_.empty()) {
            const auto stream = choose(streams_);
            if (pool.good && stream.good)
                CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_pool_release(pool.handle, stream.handle));
            return;
        }
        const auto at = lent_.begin() + static_cast<std::ptrdiff_t>(random_() % lent_.size());
        CHECK_OK(gpo_stream_pool_release(at->first, at->second));
        lent_.erase(at);
    }

    void copy_batch() {
        const auto stream = choose(streams_);
        gpo_copy pieces[4];
        const uint64_t base = reinterpret_cast<uint64_t>(pinned_);
        for (size_t i = 0; i < std::size(pieces); ++i)
            pieces[i] = {sizeof(gpo_copy), 0, memory_ + 8192 * i, base + 8192 * i, 1 + random_() % 4000};
        switch (random_() % 8) {
            case 0: pieces[3].flags = 1; break;
            case 1: pieces[2].bytes = UINT64_MAX - 5; break;
            case 2: pieces[1].destination = memory_ + kBytes - 1, pieces[1].bytes = 4000; break;
            default: break;
        }
        JUDGE(stream.good, gpo_copy_batch(stream.handle, pieces, sizeof pieces[0], random_() % 5));
    }
    void copy_rows() {
        const auto stream = choose(streams_);
        auto rows = sized<gpo_copy_2d>();
        rows.destination = memory_;
        rows.source = second_ || random_() % 2 ? reinterpret_cast<uint64_t>(pinned_) : memory_ + kBytes / 2;
        rows.destination_pitch = 64 + random_() % 200;
        rows.source_pitch = 64 + random_() % 200;
        rows.width = random_() % 8 == 0 ? 1000 : random_() % 64;   // wider than the pitch, at times
        rows.height = random_() % 8 == 0 ? random_() : random_() % 100;
        JUDGE(stream.good, gpo_copy_rows(stream.handle, &rows));
    }
    void copy_peer() {
        const auto stream = choose(streams_);
        const gpo_device_t other = second_ ? second_ : device_;
        const uint64_t bytes = random_() % 8 == 0 ? random_() : random_() % kBytes;
        if (random_() % 2)
            JUDGE(stream.good, gpo_copy_peer(stream.handle, other, second_memory_, device_, memory_, bytes));
        else
            JUDGE(stream.good, gpo_copy_peer(stream.handle, device_, memory_, other, second_memory_, bytes));
    }

    void allocate() {
        uint64_t address = 0;
        const uint64_t bytes = random_() % 8 == 0 ? random_() : random_() % 100'000;
        if (allocated_.size() < 20 && JUDGE(true, gpo_memory_allocate(device_, bytes, nullptr, &address)))
            allocated_.insert(address);
    }
    void free_memory() {
        if (random_() % 4 == 0) {
            CHECK_OK(gpo_memory_free(device_, 0));
            CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(device_, memory_ + 4));
        }
        if (allocated_.empty()) return;
        const uint64_t address = *allocated_.begin();
        CHECK_OK(gpo_memory_free(device_, address));
        allocated_.erase(address);
        // A second free is refused: only this thread could have allocated the address anew.
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(device_, address));
    }
    void register_memory() {
        auto& page = own_[random_() % std::size(own_)];
        auto* memory = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(page.data()) + kPage - 1) / kPage * kPage);
        const bool there = registered_.count(memory) != 0;
        const gpo_status status = gpo_host_register(device_, memory, kPage, random_() % 8 == 0 ? 64 : 0);
        INFO(explain("gpo_host_register", status));
        CHECK((there ? status == GPO_INVALID_STATE || status == GPO_INVALID_ARGUMENT
                     : status == GPO_SUCCESS || status == GPO_INVALID_ARGUMENT));
        if (status != GPO_SUCCESS) return;
        registered_.insert(memory);
        // Copies on a stream of its own: no copy may be using the memory when it is unregistered.
        Stream stream;
        REQUIRE_OK(gpo_stream_create(device_, nullptr, stream.out()));
        CHECK_OK(gpo_copy_to_device(stream, second_ ? memory_ : second_memory_, memory, kPage));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
    }
    void unregister_memory() {
        if (registered_.empty()) return;
        void* memory = *registered_.begin();
        CHECK_OK(gpo_host_unregister(device_, memory));
        registered_.erase(memory);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_unregister(device_, memory));
    }

    void load() {
        if (modules_.live.size() > 3) return;
        const bool whole = random_() % 4 != 0;
        gpo_module_t module = nullptr;
        const gpo_status status = gpo_module_load(device_, image_.data(),
                                                  whole ? image_.size() : random_() % image_.size(), "loaded", &module);
        INFO(explain("gpo_module_load", status));
        CHECK((whole ? status == GPO_SUCCESS : status == GPO_INVALID_IMAGE || status == GPO_INVALID_ARGUMENT));
        if (status == GPO_SUCCESS) add_module(module);
    }
    void compile() {
        if (!compiles_ || modules_.live.size() > 3) return;
        const bool good = random_() % 3 != 0;
        auto options = sized<gpo_compile_options>();
        options.source = good ? kSource : "extern \"C\" __global__ void broken(";
        gpo_module_t module = nullptr;
        const gpo_status status = gpo_module_compile(device_, &options, &module);
        CHECK_STATUS((good ? GPO_SUCCESS : GPO_COMPILE_FAILED), status);
        if (status == GPO_SUCCESS) add_module(module);
    }
    void add_module(gpo_module_t module) {
        modules_.live.push_back(module);
        gpo_kernel_t kernel = nullptr;
        CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_kernel(module, "of no such name", &kernel));
        if (JUDGE(true, gpo_module_get_kernel(module, "add_bias", &kernel))) kernels_.live.push_back(kernel);
    }
    void launch_loaded() {
        const auto stream = choose(streams_);
        const auto kernel = choose(kernels_);
        const uint32_t count = 1000;
        JUDGE(stream.good && kernel.good, launch(stream.handle, kernel.handle, 1, 64, memory_, count));
        const auto module = choose(modules_);
        uint64_t address = 0, bytes = 0;
        if (JUDGE(module.good, gpo_module_get_symbol(module.handle, "bias", &address, &bytes))) {
            CHECK(bytes == 4);
            // Not on a stream that may be held: the module may go.
            CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(device_, address));
        }
    }
    void destroy_loaded() {
        gpo_module_t module;
        gpo_kernel_t kernel;
        if (random_() % 2) destroy_one(modules_, gpo_module_destroy, &module);
        if (random_() % 2) destroy_one(kernels_, gpo_kernel_destroy, &kernel);
    }

    void trace() {
        auto options = sized<gpo_trace_options>();
        const std::string path = traces_ / "trace.json";
        if (random_() % 2) options.path = path.c_str();
        options.flags = random_() % 2 ? GPO_TRACE_NO_GPU_TIMES : 0;
        char text[1 << 14];
        auto info = sized<gpo_trace_info>();
        CHECK_OK(gpo_trace_get_info(runtime_, &info));
        CHECK(info.running == traced_);
        if (random_() % 2) {
            CHECK_STATUS((traced_ ? GPO_INVALID_STATE : GPO_SUCCESS), gpo_trace_start(runtime_, &options));
            traced_ = true;
        } else {
            CHECK_STATUS((traced_ ? GPO_SUCCESS : GPO_INVALID_STATE), gpo_trace_stop(runtime_));
            traced_ = false;
        }
        JUDGE(true, gpo_trace_get_summary(runtime_, text, sizeof text, nullptr));
    }

    const std::vector<char>& image_;
    const bool compiles_;
    gpo_device_t second_ = nullptr;
    uint64_t second_memory_ = 0;
    Handles<gpo_pipeline_t> pipelines_;
    Handles<gpo_stream_pool_t> stream_pools_;
    Handles<gpo_module_t> modules_;
    Handles<gpo_kernel_t> kernels_;
    std::vector<std::unique_ptr<Job>> jobs_;
    std::vector<std::pair<gpo_stream_pool_t, gpo_stream_t>> lent_;
    std::set<uint64_t> allocated_;
    std::vector<char> own_[3];
    std::set<void*> registered_;
    Folder traces_;
    bool traced_ = false;
};

}  // namespace

TEST_CASE(
    "random sequences of right and wrong calls: wrong handles are refused, what was accepted comes once, nothing is "
    "left") {
#if defined(__SANITIZE_THREAD__)
    constexpr uint64_t kCompiles = 0;
    skip("streams that nobody has ordered write the same memory, which is a race outside of a schedule",
         "sequences that compile");
#else
    constexpr uint64_t kCompiles = 25;   // a part of the sequences does
#endif
    setenv("GPUORCH_SOFT_DEVICES", "2", 1);
    bool software = false;
    std::vector<char> image(1 << 20);
    {
        Gpu gpu;
        auto info = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(gpu.runtime, &info));
        software = info.software != 0;
        auto options = sized<gpo_compile_options>();
        options.source = kSource;
        Module module;
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        size_t needed = 0;
        REQUIRE_OK(gpo_module_get_image(module, image.data(), image.size(), &needed));
        image.resize(needed);
    }
    uint64_t first = 0, count = 200;
    if (const char* text = std::getenv("GPUORCH_TEST_SEEDS")) count = std::strtoull(text, nullptr, 10);
    if (const char* text = std::getenv("GPUORCH_TEST_SEED")) {
        first = std::strtoull(text, nullptr, 10);
        count = 1;
    }
    for (uint64_t seed = first; seed < first + count; ++seed) {
        INFO("GPUORCH_TEST_SEED=", seed);
        const bool compiles = kCompiles != 0 && seed % kCompiles == kCompiles - 1;
        WholeSequence sequence(seed, software && !compiles ? seed + 1 : 0, image, compiles);
        sequence.run();
        sequence.end();
    }
    unsetenv("GPUORCH_SOFT_DEVICES");
}
