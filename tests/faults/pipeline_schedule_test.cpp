// Pipelines that end early, under explored schedules. A failure, a cancellation, the source or the sink ends the run,
// at a random chunk and a random point of the schedule. On either device, chunks must be taken in order and at most
// once. The counts must be right, the end must be reported once, all buffers must be returned, and the pipeline must
// run again. GPUORCH_TEST_SEED=n replays one schedule.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/faults.h"
#include "host/host.h"
#include "support/explore.h"
#include "support/files.h"
#include "support/gpu.h"
#include "support/pipeline_ends.h"

using namespace gpo::test;
namespace faults = gpo::driver::faults;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kChunk = 4096;

/// The side that ends the run, and how.
enum class End : uint32_t {
    nobody,
    source_ends,
    source_fails,
    source_throws,
    source_cancels,
    stage_fails,
    stage_throws,
    stage_cancels,
    stage_holds,
    sink_ends,
    sink_fails,
    sink_throws,
    sink_cancels,
    progress_throws,
    other_cancels,
    other_destroys,
    driver_fails,
    count
};
constexpr const char* kEnds[] = {
    "nobody", "source ends", "source fails", "source throws", "source cancels", "stage fails", "stage throws",
    "stage cancels", "stage holds", "sink ends", "sink fails", "sink throws", "sink cancels", "progress throws",
    "another thread cancels", "another thread destroys", "a driver call fails"};

/// Counts of the callbacks of one run, and the faults that they saw.
struct Account {
    End end = End::nobody;
    uint64_t at = 0;   // chunk
    const std::vector<uint8_t>* data = nullptr;
    bool has_output = true;

    std::atomic<bool> reached{false};   // the run was made to end
    bool over = false;                  // the end was reported
    uint64_t given = 0;
    uint64_t staged = 0, staged_bytes = 0, taken = 0, taken_bytes = 0;
    uint64_t progressed = 0;
    std::string wrong;

    void expect(bool holds, const char* what) {
        if (!holds) wrong += std::string(what) + "; ";
    }
};

/// The user data of all callbacks.
struct Rig {
    gpo_pipeline_t pipeline = nullptr;
    gpo_timeline_t never = nullptr;   // is never signalled
    std::mt19937_64 random;
    Account* now = nullptr;

    /// The status with which a callback returns that has come to the end's chunk.
    gpo_status bring_about(End fails, End throws, End cancels) {
        Account& account = *now;
        account.reached = true;
        if (account.end == throws) throw std::runtime_error("at random");
        if (account.end == cancels) account.expect(gpo_pipeline_cancel(pipeline) == GPO_SUCCESS, "cancel failed");
        return account.end == fails ? GPO_FAILED : GPO_SUCCESS;
    }
};

gpo_status fill(void* user, void* buffer, uint64_t capacity, uint64_t* bytes) {
    auto& rig = *static_cast<Rig*>(user);
    Account& account = *rig.now;
    account.expect(!account.over, "the source was asked after the end");
    *bytes = 0;
    const bool due = account.given / kChunk >= account.at && !account.reached;
    if (due && account.end >= End::source_ends && account.end <= End::source_cancels) {
        if (account.end == End::source_ends) {
            account.reached = true;
            return GPO_END;
        }
        if (const gpo_status status = rig.bring_about(End::source_fails, End::source_throws, End::source_cancels))
            return status;
    }
    const uint64_t left = account.data->size() - account.given;
    *bytes = std::min({capacity, left, rig.random() % 6000});
    std::memcpy(buffer, account.data->data() + account.given, *bytes);
    account.given += *bytes;
    return *bytes == left ? GPO_END : GPO_SUCCESS;
}

gpo_status enqueue(void* user, gpo_stream_t stream, const gpo_chunk* chunk) {
    auto& rig = *static_cast<Rig*>(user);
    Account& account = *rig.now;
    account.expect(!account.over, "a stage was asked for after the end");
    account.expect(chunk->index == account.staged, "a chunk was staged out of turn");
    account.expect(chunk->offset == account.staged_bytes, "a chunk was staged from elsewhere");
    if (chunk->index == account.at && account.end >= End::stage_fails && account.end <= End::stage_holds) {
        if (const gpo_status status = rig.bring_about(End::stage_fails, End::stage_throws, End::stage_cancels))
            return status;
        if (account.end == End::stage_holds) {
            const gpo_status held = gpo_stream_wait_timeline(stream, rig.never, 1);
            account.expect(held == GPO_SUCCESS, "the stage's stream can't be held");
        }
    }
    // After another thread has cancelled the run, the stream refuses work behind the held work.
    const gpo_status copied =
        gpo_copy_on_device(stream, chunk->output_address, chunk->input_address, chunk->output_bytes);
    if (copied == GPO_SUCCESS) {
        ++account.staged;
        account.staged_bytes += chunk->bytes;
    }
    return copied;
}

gpo_status take_chunk(void* user, const gpo_chunk* chunk) {
    auto& rig = *static_cast<Rig*>(user);
    Account& account = *rig.now;
    account.expect(!account.over, "the sink was told after the end");
    account.expect(chunk->index == account.taken, "a chunk was taken out of turn");
    account.expect(chunk->offset == account.taken_bytes, "a chunk was taken from elsewhere");
    account.expect(chunk->bytes != 0 && chunk->offset + chunk->bytes <= account.data->size(),
                   "a chunk has too many bytes");
    const uint8_t* in = account.data->data() + chunk->offset;
    if (account.has_output)
        account.expect(std::memcmp(chunk->output, in, chunk->bytes) == 0, "a chunk has other bytes");
    uint64_t counted = 0, histogram[256];
    std::memcpy(histogram, chunk->result, sizeof histogram);
    for (uint64_t count : histogram) counted += count;
    account.expect(counted == chunk->bytes && histogram[in[0]] != 0, "a chunk has another result");
    if (chunk->index == account.at && account.end >= End::sink_ends && account.end <= End::sink_cancels) {
        if (const gpo_status status = rig.bring_about(End::sink_fails, End::sink_throws, End::sink_cancels))
            return status;
    }
    ++account.taken;
    account.taken_bytes += chunk->bytes;
    return account.end == End::sink_ends && account.reached ? GPO_END : GPO_SUCCESS;
}

void note_progress(void* user, const gpo_pipeline_progress* progress) {
    auto& rig = *static_cast<Rig*>(user);
    Account& account = *rig.now;
    account.expect(!account.over, "progress was told after the end");
    account.expect(progress->chunks_done >= account.progressed, "progress went back");
    account.expect(progress->chunks_done <= account.taken, "progress ran ahead");
    account.progressed = progress->chunks_done;
    if (account.end == End::progress_throws && progress->chunks_done > account.at && !account.reached)
        static_cast<void>(rig.bring_about(End::count, End::progress_throws, End::count));
}

/// A folder for the files of one run.
struct Files {
    Files() : folder(fs::temp_directory_path() / ("gpuorch-ends-" + std::to_string(getpid()))) {
        fs::remove_all(folder);
        fs::create_directory(folder);
    }
    ~Files() { fs::remove_all(folder); }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().filename());
        std::sort(found.begin(), found.end());
        return found;
    }
    const fs::path folder;
};

/// A pipeline with two runs: to a random end, then to its own.
class Walk {
public:
    explicit Walk(uint64_t seed) {
        rig_.random.seed(seed);
        auto options = sized<gpo_runtime_options>();
        options.completion_mode = draw(2) ? GPO_COMPLETION_LATENCY : GPO_COMPLETION_BALANCED;
        REQUIRE_OK(gpo_runtime_create(&options, &runtime_));
        open_devices();
        REQUIRE_OK(gpo_cq_create(runtime_, nullptr, &queue_));
        REQUIRE_OK(gpo_executor_create(runtime_, nullptr, &executor_));
        REQUIRE_OK(gpo_arena_create(devices_.front(), nullptr, &arena_));
        REQUIRE_OK(gpo_timeline_create(runtime_, nullptr, &rig_.never));
        data_.reserve(1);   // so that data() isn't NULL, even if there are no bytes
        data_.resize(draw(8) ? draw(12 * kChunk) : draw(3) * kChunk);
        for (uint8_t& byte : data_) byte = static_cast<uint8_t>(rig_.random());
        memory_.reserve(1);
        memory_.resize(data_.size());
        pinned_in_ = static_cast<uint8_t*>(pinned());
        pinned_out_ = static_cast<uint8_t*>(pinned());
        first_.end = static_cast<End>(seed % static_cast<uint64_t>(End::count));
        first_.at = draw(data_.size() / kChunk + 2);
    }

    void run() {
        const std::vector<uint64_t> before = free_memory();
        create();
        first_run();
        if (first_.end == End::other_destroys) return end();
        // The failed driver call may have lost the device.
        const auto lost = [](gpo_device_t device) { return gpo_device_wait(device, 0) == GPO_DEVICE_LOST; };
        if (first_.end == End::driver_fails && std::any_of(devices_.begin(), devices_.end(), lost)) {
            CHECK_OK(gpo_pipeline_destroy(rig_.pipeline));
            return end();
        }
        second_run();
        REQUIRE_OK(gpo_pipeline_destroy(rig_.pipeline));
        CHECK(free_memory() == before);
        auto metrics = sized<gpo_metrics>();
        REQUIRE_OK(gpo_runtime_get_metrics(runtime_, &metrics));
        CHECK(metrics.pipeline_pinned == 0);
        end();
    }

    End ending() const { return first_.end; }
    bool reached() const { return first_.reached; }

private:
    uint64_t draw(uint64_t below) { return rig_.random() % below; }

    /// Up to two of them, with the kernel on each.
    void open_devices() {
        for (uint32_t count = 1 + static_cast<uint32_t>(draw(2)); devices_.size() < count;) {
            auto options = sized<gpo_device_options>();
            options.ordinal = static_cast<uint32_t>(devices_.size());
            REQUIRE_OK(gpo_device_open(runtime_, &options, &devices_.emplace_back()));
            Module module;
            REQUIRE_OK(gpo_module_load_builtin(devices_.back(), module.out()));
            REQUIRE_OK(gpo_module_get_kernel(module, "gpo_histogram_u8", kernels_.emplace_back().out()));
        }
    }

    std::vector<uint64_t> free_memory() const {
        std::vector<uint64_t> bytes(devices_.size());
        uint64_t total = 0;
        for (size_t i = 0; i < devices_.size(); ++i)
            REQUIRE_OK(gpo_device_get_memory(devices_[i], &bytes[i], &total));
        return bytes;
    }

    void create() {
        const std::vector<gpo_kernel_t> kernels(kernels_.begin(), kernels_.end());
        auto stages = std::vector{sized<gpo_stage>(), sized<gpo_stage>()};
        constexpr uint32_t kinds[] = {GPO_ARGUMENT_RESULT, GPO_ARGUMENT_INPUT, GPO_ARGUMENT_INPUT_BYTES};
        gpo_stage_argument arguments[3];
        for (size_t i = 0; i < std::size(kinds); ++i) {
            arguments[i] = sized<gpo_stage_argument>();
            arguments[i].kind = kinds[i];
        }
        stages[0].kind = GPO_STAGE_KERNEL;
        if (kernels.size() == 1) stages[0].kernel = kernels.front();
        else stages[0].kernels = kernels.data();
        stages[0].block[0] = 32;
        stages[0].bytes_per_block = kChunk;
        stages[0].arguments = arguments;
        stages[0].argument_stride = sizeof(gpo_stage_argument);
        stages[0].argument_count = 3;
        stages[1].kind = GPO_STAGE_CALLBACK;
        stages[1].enqueue = enqueue;
        stages[1].user = &rig_;
        auto options = sized<gpo_pipeline_options>();
        options.flags = draw(3) == 0 ? GPO_PIPELINE_TIMES : 0;
        options.chunk_bytes = kChunk;
        options.slots = 1 + static_cast<uint32_t>(draw(5));
        options.stages = stages.data();
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 2;
        options.result_bytes = 256 * sizeof(uint64_t);
        options.progress = note_progress;
        options.progress_user = &rig_;
        options.progress_ns = 1;
        options.executor = draw(3) == 0 ? executor_ : nullptr;
        if (devices_.size() > 1) {
            options.devices = devices_.data();
            options.device_count = static_cast<uint32_t>(devices_.size());
        }
        REQUIRE_OK(gpo_pipeline_create(devices_.front(), &options, &rig_.pipeline));
    }

    void* pinned() {
        void* memory = nullptr;
        REQUIRE_OK(gpo_arena_allocate(arena_, data_.size() + 1, 0, &memory));
        return memory;
    }

    gpo_source choose_source(Account& account) {
        auto source = sized<gpo_source>();
        const bool called = account.end >= End::source_ends && account.end <= End::source_cancels;
        switch (called ? 0 : draw(4)) {
            case 0:
                source.kind = GPO_SOURCE_CALLBACK;
                source.fill = fill;
                source.user = &rig_;
                break;
            case 1: source = from_memory(data_.data(), data_.size()); break;
            case 2: source = from_memory(std::memcpy(pinned_in_, data_.data(), data_.size()), data_.size()); break;
            default:
                std::ofstream(files_.folder / "in", std::ios::binary)
                    .write(reinterpret_cast<const char*>(data_.data()), static_cast<std::streamsize>(data_.size()));
                source.kind = GPO_SOURCE_FILE;
                in_ = files_.folder / "in";
                source.path = in_.c_str();
        }
        return source;
    }

    gpo_sink choose_sink(Account& account) {
        auto sink = sized<gpo_sink>();
        sink.take = take_chunk;
        sink.user = &rig_;
        sink.kind = static_cast<uint32_t>(draw(4));
        account.has_output = sink.kind != GPO_SINK_NONE;
        if (sink.kind == GPO_SINK_MEMORY) {
            sink.memory = draw(2) ? memory_.data() : pinned_out_;
            sink.bytes = data_.size();
        } else if (sink.kind == GPO_SINK_FILE) {
            out_ = files_.folder / "out";
            sink.path = out_.c_str();
        }
        return sink;
    }

    void first_run() {
        rig_.now = &first_;
        first_.data = &data_;
        const gpo_source source = choose_source(first_);
        const gpo_sink sink = choose_sink(first_);
        const auto before = files_.names();
        if (first_.end == End::driver_fails) {
            constexpr CUresult kResults[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN, CUDA_ERROR_OPERATING_SYSTEM};
            faults::arm({.function = {},
                         .kth = 1 + draw(60 + data_.size() / 60),
                         .result = kResults[draw(3)],
                         .for_ever = false});
        }
        const gpo_status started = gpo_pipeline_start(rig_.pipeline, &source, &sink);
        if (first_.end == End::driver_fails && started != GPO_SUCCESS) {
            faults::disarm();
            CHECK(started >= 10);
            CHECK(started != GPO_INTERNAL);
            return;
        }
        REQUIRE_OK(started);
        gpo::host::Thread other;
        const uint64_t patience = draw(4000);
        if (first_.end == End::stage_holds || first_.end == End::other_cancels || first_.end == End::other_destroys)
            other = gpo::host::Thread("other", [&] {
                if (first_.end == End::stage_holds)
                    for (unsigned spins = 0; !first_.reached && !ended_; ++spins) gpo::host::step(spins);
                for (uint64_t i = 0; i < patience; ++i) gpo::host::crossing();
                if (first_.end != End::stage_holds) first_.reached = true;
                CHECK_OK(first_.end == End::other_destroys ? gpo_pipeline_destroy(rig_.pipeline)
                                                           : gpo_pipeline_cancel(rig_.pipeline));
            });
        const gpo_status noticed = gpo_pipeline_notify(rig_.pipeline, queue_, 7);
        const gpo_status then = gpo_pipeline_then(rig_.pipeline, executor_, told, &told_);
        auto result = sized<gpo_pipeline_result>();
        if (first_.end == End::other_destroys) {
            CHECK((noticed == GPO_SUCCESS || noticed == GPO_STALE_HANDLE));
            CHECK((then == GPO_SUCCESS || then == GPO_STALE_HANDLE));
            other.join();
            gpo_status status = GPO_CANCELLED;
            if (noticed == GPO_SUCCESS) status = entry();
            CHECK((status == GPO_CANCELLED || status == GPO_SUCCESS));
            accepted_ += then == GPO_SUCCESS;
            return;
        }
        CHECK_OK(noticed);
        CHECK_OK(then);
        ++accepted_;
        gpo_status status = GPO_TIMEOUT;
        if (draw(2)) status = gpo_pipeline_wait(rig_.pipeline, 0, &result);
        if (status == GPO_TIMEOUT) status = gpo_pipeline_wait(rig_.pipeline, kPatience, &result);
        first_.over = true;
        ended_ = true;
        other.join();
        faults::disarm();
        INFO(gpo_status_name(status), " after ", first_.taken, " chunks, ", last_error().message);
        check_status(status);
        CHECK(result.status == status);
        CHECK(entry() == status);
        check_account(first_, status, result);
        check_outputs(status, sink, before);
    }

    void check_status(gpo_status status) {
        const End end = first_.end;
        const bool fails = end == End::source_fails || end == End::source_throws || end == End::stage_fails ||
                           end == End::stage_throws || end == End::sink_fails || end == End::sink_throws ||
                           end == End::progress_throws;
        const bool cancels = end == End::source_cancels || end == End::stage_cancels || end == End::stage_holds ||
                             end == End::sink_cancels;
        if (end == End::other_cancels) {
            CHECK((status == GPO_CANCELLED || status == GPO_SUCCESS));
        } else if (end == End::driver_fails) {
            CHECK((status == GPO_SUCCESS || (status >= 10 && status != GPO_INTERNAL)));
        } else if (fails && first_.reached) {
            CHECK(status == GPO_CALLBACK_FAILED);
        } else if (cancels && first_.reached) {
            CHECK(status == GPO_CANCELLED);
        } else {
            CHECK_OK(status);
        }
    }

    void check_account(const Account& account, gpo_status status, const gpo_pipeline_result& result) {
        CHECK(account.wrong == "");
        CHECK(result.chunks == account.taken);
        CHECK(result.bytes_out == (account.has_output ? account.taken_bytes : 0));
        CHECK(result.bytes_in >= account.taken_bytes);
        CHECK(result.bytes_in <= account.staged_bytes);
        if (account.end != End::driver_fails) CHECK(result.bytes_in == account.staged_bytes);
        uint64_t chunks = 0, bytes = 0;
        for (uint32_t device = 0; device < devices_.size(); ++device) {
            auto share = sized<gpo_pipeline_share>();
            REQUIRE_OK(gpo_pipeline_get_share(rig_.pipeline, device, &share));
            chunks += share.chunks;
            bytes += share.bytes_in;
        }
        CHECK(chunks == account.taken);
        CHECK(bytes == account.taken_bytes);
        if (status == GPO_SUCCESS) {
            const uint64_t all = account.end == End::source_ends && account.reached ? account.given : data_.size();
            if (account.end == End::sink_ends && account.reached)
                CHECK(account.taken == account.at + 1);
            else
                CHECK(account.taken_bytes == all);
        }
        auto metrics = sized<gpo_metrics>();
        REQUIRE_OK(gpo_runtime_get_metrics(runtime_, &metrics));
        CHECK(metrics.operations_pending == 0);   // nothing of the run is on the device any more
        CHECK(metrics.operations_held == 0);
        auto progress = sized<gpo_pipeline_progress>();
        REQUIRE_OK(gpo_pipeline_get_progress(rig_.pipeline, &progress));
        CHECK(progress.running == 0);
        CHECK(progress.chunks_done == account.taken);
        CHECK(progress.bytes_done == account.taken_bytes);
    }

    void check_outputs(gpo_status status, const gpo_sink& sink, std::vector<std::string> before) {
        const auto taken = static_cast<std::ptrdiff_t>(first_.taken_bytes);
        if (sink.kind == GPO_SINK_MEMORY) CHECK(std::memcmp(sink.memory, data_.data(), first_.taken_bytes) == 0);
        if (sink.kind == GPO_SINK_FILE && status == GPO_SUCCESS) {
            const std::string found = gpo::test::read_whole(out_);
            CHECK(std::equal(found.begin(), found.end(), data_.begin(), data_.begin() + taken,
                             [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
            before.push_back("out");
        }
        CHECK(files_.names() == before);
    }

    void second_run() {
        // The first run has ended, so its memory may be written.
        std::fill(memory_.begin(), memory_.end(), uint8_t{0x55});
        std::fill(pinned_out_, pinned_out_ + data_.size(), uint8_t{0x55});
        Account account;
        account.data = &data_;
        rig_.now = &account;
        std::vector<uint8_t> memory(data_.size());
        const gpo_source source = choose_source(account);
        gpo_sink sink = to_memory(memory.data(), memory.size());
        sink.take = take_chunk;
        sink.user = &rig_;
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(gpo_pipeline_start(rig_.pipeline, &source, &sink));
        REQUIRE_OK(gpo_pipeline_notify(rig_.pipeline, queue_, 7));
        INFO("the second run");
        CHECK_OK(gpo_pipeline_wait(rig_.pipeline, kPatience, &result));
        account.over = true;
        CHECK(entry() == GPO_SUCCESS);
        check_account(account, GPO_SUCCESS, result);
        CHECK(memory == data_);
        const auto kept = [](uint8_t byte) { return byte == 0x55; };
        CHECK(std::all_of(memory_.begin(), memory_.end(), kept));
        CHECK(std::all_of(pinned_out_, pinned_out_ + data_.size(), kept));
    }

    /// Status of the queue's next entry, which is the pipeline's.
    gpo_status entry() {
        const auto entries = take(queue_, 1);
        CHECK(entries[0].user_data == 7);
        CHECK(entries[0].origin == GPO_ORIGIN_PIPELINE);
        return entries[0].status;
    }
    static void told(void* user, const gpo_completion*, const gpo_error*) { ++*static_cast<std::atomic<int>*>(user); }

    void end() {
        kernels_.clear();
        REQUIRE_OK(gpo_runtime_shutdown(runtime_, kPatience));
        CHECK_OK(gpo_cq_destroy(queue_));
        CHECK(told_ == accepted_);
        CHECK(gpo::host::detail::running_threads() == 0);
    }

    Rig rig_;
    gpo_runtime_t runtime_ = nullptr;
    std::vector<gpo_device_t> devices_;
    gpo_cq_t queue_ = nullptr;
    gpo_executor_t executor_ = nullptr;
    gpo_arena_t arena_ = nullptr;
    uint8_t *pinned_in_ = nullptr, *pinned_out_ = nullptr;
    std::vector<Kernel> kernels_;
    Files files_;
    std::string in_, out_;
    std::vector<uint8_t> data_, memory_;
    Account first_;
    std::atomic<bool> ended_{false};
    std::atomic<int> told_{0};
    int accepted_ = 0;
};

}  // namespace

TEST_CASE("a pipeline ends anywhere with exact accounts, under every schedule, and can be run again") {
    std::vector<int> reached(static_cast<size_t>(End::count));
    {
        // The first walk can't be replayed: it depends on the order in which earlier, real threads have ended.
        const gpo::host::Schedule schedule(0);
        Walk(0).run();
    }
    explore(400, [&](uint64_t seed) {
        INFO(std::string(kEnds[seed % static_cast<uint64_t>(End::count)]));
        Walk walk(seed);
        walk.run();
        reached[static_cast<size_t>(walk.ending())] += walk.reached();
    });
    if (seeds({0, 400}).count < 400) return;
    for (size_t end = static_cast<size_t>(End::source_ends); end < static_cast<size_t>(End::driver_fails); ++end) {
        INFO(std::string(kEnds[end]));
        CHECK(reached[end] > 0);
    }
}
