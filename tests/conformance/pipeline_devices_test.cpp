// Pipelines over several devices: one source, one sink, the chunks in order, whichever device they were on.
#include <algorithm>
#include <numeric>
#include <set>

#include "conformance/pipeline_rig.h"
#include "support/report.h"
#include "support/setting.h"

using namespace gpo::test;

namespace {

/// `complement` of the rig, but each byte is written `rounds` times: one device may have to do more than another.
const char* const kSlowComplement = R"(
extern "C" __global__ void complement(const unsigned char *in, unsigned char *out, unsigned long long *result,
                                      unsigned long long bytes, unsigned long long index, unsigned long long rounds) {
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long sum = 0;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < bytes; i += threads) {
        for (unsigned long long round = 0; round < rounds; ++round) ((volatile unsigned char *)out)[i] = ~in[i];
        sum += in[i];
    }
    atomicAdd(&result[0], sum);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result[1] += index;
        result[2] += rounds;
    }
}
)";

/// All devices, up to `most`, with the kernel on each, and a pipeline's options for them.
class Devices : private Setting, public Gpu {
public:
    explicit Devices(uint32_t most = 8) : Setting("GPUORCH_SOFT_DEVICES", "8") {
        uint32_t there = 0;
        REQUIRE_OK(gpo_runtime_get_device_count(runtime, &there));
        count = std::min(there, most);
        auto compile = sized<gpo_compile_options>();
        compile.source = kSlowComplement;
        compile.file_name = "complement.cu";
        for (uint32_t i = 0; i < count; ++i) {
            auto options = sized<gpo_device_options>();
            options.ordinal = i;
            REQUIRE_OK(gpo_device_open(runtime, &options, opened_.emplace_back().out()));
            REQUIRE_OK(gpo_module_compile(opened_[i], &compile, modules_.emplace_back().out()));
            REQUIRE_OK(gpo_module_get_kernel(modules_[i], "complement", owned_.emplace_back().out()));
            devices.push_back(opened_[i]);
            kernels.push_back(owned_[i]);
            rounds.push_back(1);
        }
        arguments = {argument(GPO_ARGUMENT_INPUT),       argument(GPO_ARGUMENT_OUTPUT), argument(GPO_ARGUMENT_RESULT),
                     argument(GPO_ARGUMENT_INPUT_BYTES), argument(GPO_ARGUMENT_INDEX),  constant(rounds[0])};
        arguments[5].kind = GPO_ARGUMENT_DEVICE_VALUE;
        arguments[5].value = rounds.data();
        stage.kind = GPO_STAGE_KERNEL;
        stage.kernels = kernels.data();
        stage.block[0] = 64;
        stage.grid[0] = 2;
        stage.arguments = arguments.data();
        stage.argument_stride = sizeof(gpo_stage_argument);
        stage.argument_count = static_cast<uint32_t>(arguments.size());
        options.stages = &stage;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.result_bytes = 24;
        options.chunk_bytes = 4096;
        options.devices = devices.data();
        options.device_count = count;
        options.label = "wide";
    }
    gpo_status create(Pipeline& pipeline) { return gpo_pipeline_create(devices[0], &options, pipeline.out()); }
    Pipeline create() {
        Pipeline pipeline;
        REQUIRE_OK(create(pipeline));
        return pipeline;
    }

    uint32_t count = 0;
    std::vector<gpo_device_t> devices;
    std::vector<gpo_kernel_t> kernels;
    std::vector<uint64_t> rounds;
    std::vector<gpo_stage_argument> arguments;
    gpo_stage stage = sized<gpo_stage>();
    gpo_pipeline_options options = sized<gpo_pipeline_options>();

private:
    std::vector<Device> opened_;
    std::vector<Module> modules_;
    std::vector<Kernel> owned_;
};

std::vector<gpo_pipeline_share> shares(gpo_pipeline_t pipeline, uint32_t count) {
    std::vector<gpo_pipeline_share> out(count, sized<gpo_pipeline_share>());
    for (uint32_t i = 0; i < count; ++i) REQUIRE_OK(gpo_pipeline_get_share(pipeline, i, &out[i]));
    return out;
}

/// Counts, in the sink's callback, the chunks that don't fit each other or the data (`wrong`).
struct Seen {
    const std::vector<uint8_t>& data;
    const std::vector<uint64_t>& rounds;
    uint64_t chunks = 0, bytes = 0, wrong = 0;
    std::vector<uint64_t> on = std::vector<uint64_t>(rounds.size());   // chunks, of each device

    static gpo_status take(void* user, const gpo_chunk* chunk) {
        auto& seen = *static_cast<Seen*>(user);
        const uint8_t* data = seen.data.data() + chunk->offset;
        const auto* result = static_cast<const uint64_t*>(chunk->result);
        if (chunk->device >= seen.on.size()) return GPO_FAILED;
        seen.wrong += chunk->index != seen.chunks++ || chunk->offset != seen.bytes ||
                      chunk->output_offset != seen.bytes || result[1] != chunk->index ||
                      result[0] != std::accumulate(data, data + chunk->bytes, uint64_t{0}) ||
                      result[2] != seen.rounds[chunk->device];
        seen.bytes += chunk->bytes;
        ++seen.on[chunk->device];
        return GPO_SUCCESS;
    }
};

}  // namespace

TEST_CASE("a pipeline splits one source over all devices, and the sink gets the chunks in order") {
    Devices all;
    const auto data = noise(60 * 4096 + 100);
    for (const uint32_t count : {1u, 2u, 3u, 8u}) {
        if (count > all.count) continue;
        all.options.device_count = count;
        for (const uint32_t slots : {uint32_t(GPO_AUTO), 1u, 2u, 5u}) {
            CAPTURE(count);
            CAPTURE(slots);
            all.options.slots = slots;
            Pipeline pipeline = all.create();
            auto share = sized<gpo_pipeline_share>();
            CHECK(gpo_pipeline_get_share(pipeline, 0, &share) == GPO_INVALID_STATE);
            for (int again = 0; again < 2; ++again) {
                Seen seen{data, all.rounds};
                std::vector<uint8_t> out(data.size());
                gpo_sink sink = to_memory(out.data(), out.size());
                sink.take = Seen::take;
                sink.user = &seen;
                auto result = sized<gpo_pipeline_result>();
                REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), sink, &result));
                CHECK(out == complement(data));
                CHECK(seen.wrong == 0);
                CHECK(seen.chunks == 61);
                CHECK(result.chunks == 61);
                CHECK(result.bytes_in == data.size());
                uint64_t chunks = 0, bytes = 0;
                const auto all_shares = shares(pipeline, count);
                for (uint32_t i = 0; i < count; ++i) {
                    CHECK(all_shares[i].chunks == seen.on[i]);
                    CHECK(all_shares[i].chunks > 0);
                    chunks += all_shares[i].chunks;
                    bytes += all_shares[i].bytes_in;
                }
                CHECK(chunks == 61);
                CHECK(bytes == data.size());
            }
        }
    }
}

TEST_CASE("files, pinned memory and callbacks go over several devices, with chunks of a size that is found") {
    Devices all;
    const auto data = noise(3'000'001);
    const std::string in = "/tmp/gpuorch-test-devices-in-" + std::to_string(getpid()), out = in + "-out";
    write_file(in, data);
    Pinned<uint8_t> from = all.pinned<uint8_t>(data.size()), to = all.pinned<uint8_t>(data.size());
    std::copy(data.begin(), data.end(), from.begin());
    for (const uint64_t chunk : {uint64_t(GPO_AUTO), uint64_t{64 << 10}}) {
        CAPTURE(chunk);
        all.options.chunk_bytes = chunk;
        all.options.flags = GPO_PIPELINE_TIMES;
        Pipeline pipeline = all.create();
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(run(pipeline, from_file(in), to_file(out), &result));
        CHECK(read_file(out) == complement(data));
        REQUIRE_OK(run(pipeline, from_memory(from.data(), from.size()), to_memory(to.data(), to.size()), &result));
        CHECK(std::vector<uint8_t>(to.begin(), to.end()) == complement(data));
        CHECK(result.staged_bytes == 0);
        uint64_t kernels = 0, copies = 0;
        for (const gpo_pipeline_share& share : shares(pipeline, all.count)) {
            CHECK((share.kernel_ns > 0) == (share.chunks > 0));
            CHECK(share.copy_hidden_ns <= share.copy_in_ns + share.copy_out_ns);
            kernels += share.kernel_ns;
            copies += share.copy_in_ns;
        }
        CHECK(result.kernel_ns == kernels);
        CHECK(result.copy_in_ns == copies);
        struct Feed {
            const std::vector<uint8_t>* data;
            uint64_t at = 0;
        } feed{&data};
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.user = &feed;
        source.fill = [](void* user, void* buffer, uint64_t capacity, uint64_t* bytes) -> gpo_status {
            auto& feed = *static_cast<Feed*>(user);
            *bytes = std::min(feed.data->size() - feed.at, capacity);
            std::copy_n(feed.data->data() + feed.at, *bytes, static_cast<uint8_t*>(buffer));
            feed.at += *bytes;
            return feed.at == feed.data->size() ? GPO_END : GPO_SUCCESS;
        };
        std::vector<uint8_t> memory(data.size());
        REQUIRE_OK(run(pipeline, source, to_memory(memory.data(), memory.size()), &result));
        CHECK(memory == complement(data));
    }
    std::filesystem::remove(in);
    std::filesystem::remove(out);
}

TEST_CASE("the size of chunks is found on all devices together, and remembered") {
    Devices all(2);
    gpo_stage stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    all.options.stages = &stage;
    all.options.chunk_bytes = GPO_AUTO;
    all.options.output_denominator = 1;   // no output
    Pipeline pipeline = all.create();
    const uint64_t bytes = uint64_t{512} << 20;
    Pinned<uint8_t> data = all.pinned<uint8_t>(bytes);
    auto result = sized<gpo_pipeline_result>();
    REQUIRE_OK(run(pipeline, from_memory(data.data(), bytes), to_nothing(), &result));
    CHECK(result.bytes_in == bytes);
    CHECK(result.tuned == 1);
    for (int again = 0; again < 3 && result.tuned; ++again)
        REQUIRE_OK(run(pipeline, from_memory(data.data(), bytes), to_nothing(), &result));
    CHECK(result.bytes_in == bytes);
    CHECK(result.tuned == 0);
}

TEST_CASE("a device that takes longer gets fewer chunks") {
    Devices all(2);
    if (all.count < 2) return;
    all.rounds[0] = 200;
    all.options.chunk_bytes = 16 << 10;
    Pipeline pipeline = all.create();
    const auto data = noise(200 * (16 << 10));
    Seen seen{data, all.rounds};
    std::vector<uint8_t> out(data.size());
    gpo_sink sink = to_memory(out.data(), out.size());
    sink.take = Seen::take;
    sink.user = &seen;
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), sink));
    CHECK(out == complement(data));
    CHECK(seen.wrong == 0);
    const auto share = shares(pipeline, 2);
    CHECK(share[0].chunks + share[1].chunks == 200);
    CHECK(share[0].chunks < share[1].chunks);
}

TEST_CASE("stage callbacks get the stream of the chunk's device") {
    Devices all;
    struct Staged {
        std::vector<gpo_stream_t> streams;
        uint64_t wrong = 0;
    } staged{std::vector<gpo_stream_t>(all.count)};
    gpo_stage stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.user = &staged;
    stage.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk* chunk) -> gpo_status {
        auto& staged = *static_cast<Staged*>(user);
        if (chunk->device >= staged.streams.size()) return GPO_FAILED;
        gpo_stream_t& its = staged.streams[chunk->device];
        staged.wrong += its && its != stream;
        its = stream;
        return gpo_copy_on_device(stream, chunk->output_address, chunk->input_address, chunk->bytes);
    };
    all.options.stages = &stage;
    Pipeline pipeline = all.create();
    const auto data = noise(40 * 4096);
    std::vector<uint8_t> out(data.size());
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    CHECK(out == data);
    CHECK(staged.wrong == 0);
    const std::set<gpo_stream_t> distinct(staged.streams.begin(), staged.streams.end());
    CHECK(distinct.size() == all.count);
    CHECK(distinct.count(nullptr) == 0);
}

TEST_CASE("a failure on one device ends the run, and the pipeline works afterwards") {
    Devices all(3);
    struct Failing {
        uint64_t at;
        bool fails = true;
    } failing{20};
    gpo_stage stages[] = {all.stage, sized<gpo_stage>()};
    stages[1].kind = GPO_STAGE_CALLBACK;
    stages[1].user = &failing;
    stages[1].enqueue = [](void* user, gpo_stream_t, const gpo_chunk* chunk) -> gpo_status {
        const auto& failing = *static_cast<Failing*>(user);
        return failing.fails && chunk->index == failing.at ? GPO_FAILED : GPO_SUCCESS;
    };
    all.options.stages = stages;
    all.options.stage_count = 2;
    Pipeline pipeline = all.create();
    const auto data = noise(50 * 4096);
    std::vector<uint8_t> out(data.size());
    auto result = sized<gpo_pipeline_result>();
    REQUIRE(gpo_pipeline_start(pipeline, std::data({from_memory(data.data(), data.size())}),
                               std::data({to_memory(out.data(), out.size())})) == GPO_SUCCESS);
    CHECK(gpo_pipeline_wait(pipeline, kPatience, &result) == GPO_CALLBACK_FAILED);
    CHECK(result.chunks <= 20);
    failing.fails = false;
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    CHECK(out == complement(data));
}

TEST_CASE("a run over several devices is cancelled, and ended by its sink") {
    Devices all(3);
    Pipeline pipeline = all.create();
    struct Ending {
        gpo_pipeline_t pipeline;
        bool cancels;
        uint64_t taken = 0;
    } ending{pipeline, true};
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.user = &ending;
    sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
        auto& ending = *static_cast<Ending*>(user);
        ++ending.taken;
        if (chunk->index != 10) return GPO_SUCCESS;
        return ending.cancels ? gpo_pipeline_cancel(ending.pipeline) : gpo_status(GPO_END);
    };
    auto source = sized<gpo_source>();   // endless
    source.kind = GPO_SOURCE_CALLBACK;
    source.fill = [](void*, void* buffer, uint64_t capacity, uint64_t* bytes) -> gpo_status {
        std::fill_n(static_cast<uint8_t*>(buffer), capacity, uint8_t{1});
        *bytes = capacity;
        return GPO_SUCCESS;
    };
    for (const bool cancels : {true, false}) {
        ending.cancels = cancels;
        ending.taken = 0;
        CHECK(run(pipeline, source, sink) == (cancels ? GPO_CANCELLED : GPO_SUCCESS));
        CHECK(ending.taken == 11);
    }
}

TEST_CASE("the limit of pinned memory is that of all devices together") {
    Devices all(2);
    if (all.count < 2) return;
    all.options.chunk_bytes = 64 << 10;
    all.options.slots = 2;
    all.options.max_pinned_bytes = 2 * 2 * 2 * (64 << 10);   // no room for the results
    Pipeline pipeline = all.create();
    const auto data = noise(1 << 20);
    std::vector<uint8_t> out(data.size());
    gpo_sink sink = to_memory(out.data(), out.size());
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), sink));
    all.options.max_pinned_bytes -= 8192;
    pipeline = all.create();
    CHECK(run(pipeline, from_memory(data.data(), data.size()), sink) == GPO_LIMIT_EXCEEDED);
    CHECK(std::string(last_error().message).find("on each of 2 devices") != std::string::npos);
}

TEST_CASE("lists of devices and kernels that can't be are refused by name") {
    Devices all(2);
    Pipeline pipeline;
    const auto refused = [&](gpo_status expected, const char* says) {
        CHECK(all.create(pipeline) == expected);
        INFO(last_error().message);
        CHECK(std::string(last_error().message).find(says) != std::string::npos);
    };
    const gpo_pipeline_options good = all.options;
    const gpo_stage good_stage = all.stage;
    const auto again = [&] {
        all.options = good;
        all.stage = good_stage;
        all.options.stages = &all.stage;
    };
    all.options.devices = nullptr;
    refused(GPO_INVALID_ARGUMENT, "options.devices is NULL");
    again();
    all.options.device_count = 0;
    refused(GPO_INVALID_ARGUMENT, "options.device_count is 0");
    all.options.device_count = 65;
    refused(GPO_INVALID_ARGUMENT, "options.device_count is 65");
    again();
    all.options.reserved = 1;
    refused(GPO_INVALID_ARGUMENT, "options.reserved is 1");
    again();
    all.stage.kernel = all.kernels[0];
    refused(GPO_INVALID_ARGUMENT, "options.stages[0] has a kernel and a list of kernels");
    again();
    const gpo_device_t twice[] = {all.devices[0], all.devices[0]};
    all.options.devices = twice;
    all.options.device_count = 2;
    refused(GPO_INVALID_ARGUMENT, "options.devices[0] and options.devices[1] are the same device");
    const gpo_device_t hole[] = {all.devices[0], nullptr};
    all.options.devices = hole;
    CHECK(all.create(pipeline) == GPO_INVALID_HANDLE);
    again();
    Gpu other;
    const gpo_device_t foreign[] = {all.devices[0], other.device};
    all.options.devices = foreign;
    all.options.device_count = 2;
    refused(GPO_INVALID_HANDLE, "options.devices[1]");
    again();
    if (all.count < 2) return;
    all.stage.kernels = nullptr;
    refused(GPO_INVALID_ARGUMENT, "options.stages[0].kernels is NULL, and the pipeline has 2 devices");
    again();
    const gpo_kernel_t crossed[] = {all.kernels[1], all.kernels[0]};
    all.stage.kernels = crossed;
    refused(GPO_INVALID_ARGUMENT, "is of another device than options.devices[0]");
    again();
    const gpo_device_t turned[] = {all.devices[1], all.devices[0]};
    all.options.devices = turned;
    refused(GPO_INVALID_ARGUMENT, "options.devices[0]");
    again();
    pipeline = all.create();
    auto share = sized<gpo_pipeline_share>();
    CHECK(gpo_pipeline_get_share(pipeline, 2, &share) == GPO_INVALID_ARGUMENT);
    CHECK(std::string(last_error().message).find("has 2 devices, and none with number 2") != std::string::npos);
}
