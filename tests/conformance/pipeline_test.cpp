// Pipelines: data in, data out, in order, for any source, sink and sizes.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "conformance/pipeline_rig.h"

using namespace gpo::test;

TEST_CASE("memory goes through a kernel to memory, for all sizes, chunks and slots") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    for (const uint64_t chunk : {uint64_t(GPO_AUTO), uint64_t{4096}, uint64_t{64 << 10}, uint64_t{1 << 20}})
        for (const uint32_t slots : {uint32_t(GPO_AUTO), 1u, 2u, 5u}) {
            rig.options.chunk_bytes = chunk;
            rig.options.slots = slots;
            Pipeline pipeline = rig.create(gpu);
            for (const size_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 300'001u}) {
                CAPTURE(chunk);
                CAPTURE(slots);
                CAPTURE(bytes);
                const auto data = noise(bytes);
                std::vector<uint8_t> out(bytes + 1, 0xee);
                auto result = sized<gpo_pipeline_result>();
                REQUIRE_OK(run(pipeline, from_memory(data.data(), bytes), to_memory(out.data(), bytes), &result));
                CHECK(out.back() == 0xee);
                out.pop_back();
                CHECK(out == complement(data));
                CHECK(result.status == GPO_SUCCESS);
                CHECK(result.bytes_in == bytes);
                CHECK(result.bytes_out == bytes);
                CHECK(result.staged_bytes == 2 * bytes);
                if (chunk != GPO_AUTO) {
                    CHECK(result.chunk_bytes == chunk);
                    CHECK(result.chunks == (bytes + chunk - 1) / chunk);
                }
                if (slots != GPO_AUTO) CHECK(result.slots == slots);
            }
        }
}

TEST_CASE("pinned memory is copied from and to where it is") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    const uint64_t bytes = 3'000'007;
    Pinned<uint8_t> in = gpu.pinned<uint8_t>(bytes), out = gpu.pinned<uint8_t>(bytes);
    const auto data = noise(bytes);
    std::copy(data.begin(), data.end(), in.begin());
    for (const uint64_t chunk : {uint64_t(GPO_AUTO), uint64_t{64 << 10}}) {
        rig.options.chunk_bytes = chunk;
        Pipeline pipeline = rig.create(gpu);
        const auto before = gpu.statistics();
        for (int again = 0; again < 3; ++again) {
            std::fill(out.begin(), out.end(), uint8_t{0});
            auto result = sized<gpo_pipeline_result>();
            REQUIRE_OK(run(pipeline, from_memory(in.data(), bytes), to_memory(out.data(), bytes), &result));
            CHECK(std::vector<uint8_t>(out.begin(), out.end()) == complement(data));
            CHECK(result.staged_bytes == 0);
        }
        CHECK(gpu.statistics().pageable_copies == before.pageable_copies);
    }
}

TEST_CASE("a chunk doesn't write over what the chunk before in its slot still has to copy out, nor over its input") {
    // The copies are large beside the kernels: the last word of a chunk's input and output is written first and copied
    // last.
    Gpu gpu;
    Kernel spread = gpu.kernel(R"(
extern "C" __global__ void spread(const unsigned *in, unsigned *out, unsigned long long words, unsigned factor) {
    const unsigned long long all = words * factor;
    const unsigned last = in[words - 1];
    out[all - 1] = last;
    out[0] = in[0];
    out[all / 2] = in[words / 2];
}
)",
                               "spread");
    constexpr uint32_t kFactor = 64;
    constexpr uint64_t kChunk = 64 << 10, kChunks = 12, kChunkWords = kChunk / sizeof(uint32_t);
    const uint64_t chunk_words = kChunkWords;
    gpo_stage_argument arguments[] = {argument(GPO_ARGUMENT_INPUT), argument(GPO_ARGUMENT_OUTPUT),
                                      constant(chunk_words), constant(kFactor)};
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_KERNEL;
    stage.kernel = spread;
    stage.block[0] = 1;
    std::fill_n(stage.grid, 3, 1u);
    stage.arguments = arguments;
    stage.argument_stride = sizeof(gpo_stage_argument);
    stage.argument_count = 4;
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.chunk_bytes = kChunk;
    options.output_numerator = kFactor;
    options.output_denominator = 1;
    Pinned<uint32_t> in = gpu.pinned<uint32_t>(kChunks * kChunkWords),
                     out = gpu.pinned<uint32_t>(kChunks * kChunkWords * kFactor);
    for (uint64_t i = 0; i < kChunks * kChunkWords; ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
    Pipeline pipeline;
    for (int run_number = 0; run_number < 6; ++run_number) {
        options.slots = 1 + run_number % 2;
        CAPTURE(options.slots);
        pipeline.reset();
        REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
        std::fill(out.begin(), out.end(), 0u);
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(run(pipeline, from_memory(in.data(), in.bytes()), to_memory(out.data(), out.bytes()), &result));
        CHECK(result.staged_bytes == 0);
        size_t wrong = 0;
        for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
            const uint32_t* from = in.data() + chunk * kChunkWords;
            const uint32_t* to = out.data() + chunk * kChunkWords * kFactor;
            wrong += to[0] != from[0];
            wrong += to[kChunkWords * kFactor / 2] != from[kChunkWords / 2];
            wrong += to[kChunkWords * kFactor - 1] != from[kChunkWords - 1];
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("memory that the caller registered is pinned memory") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Pipeline pipeline = rig.create(gpu);
    auto data = noise(1 << 20);
    REQUIRE_OK(gpo_host_register(gpu.device, data.data(), data.size(), 0));
    std::vector<uint8_t> out(data.size());
    auto result = sized<gpo_pipeline_result>();
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size()), &result));
    CHECK(out == complement(data));
    CHECK(result.staged_bytes == out.size());  // only the way out
    REQUIRE_OK(gpo_host_unregister(gpu.device, data.data()));
}

TEST_CASE("the sink's callback sees every chunk once, in order, with its result") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 8192;
    Pipeline pipeline = rig.create(gpu);
    struct Seen {
        const std::vector<uint8_t>* data;
        uint64_t chunks = 0, bytes = 0, wrong = 0;
    };
    const auto data = noise(1'000'001);
    Seen seen{&data};
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.user = &seen;
    sink.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
        auto& seen = *static_cast<Seen*>(user);
        const auto* data = seen.data->data() + chunk->offset;
        const auto* out = static_cast<const uint8_t*>(chunk->output);
        const auto* result = static_cast<const uint64_t*>(chunk->result);
        seen.wrong += chunk->index != seen.chunks++ || chunk->offset != seen.bytes ||
                      chunk->output_offset != seen.bytes || chunk->output_bytes != chunk->bytes ||
                      result[1] != chunk->index || result[2] != chunk->offset ||
                      result[0] != std::accumulate(data, data + chunk->bytes, uint64_t{0});
        for (uint64_t i = 0; i < chunk->bytes; ++i) seen.wrong += out[i] != uint8_t(~data[i]);
        seen.bytes += chunk->bytes;
        return GPO_SUCCESS;
    };
    for (int again = 0; again < 2; ++again) {  // results are zeroed each time
        seen.chunks = seen.bytes = 0;
        REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), sink));
        CHECK(seen.chunks == 123);
        CHECK(seen.bytes == data.size());
        CHECK(seen.wrong == 0);
    }
}

TEST_CASE("a source callback fills as much as it likes, and says when it ends") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    Pipeline pipeline = rig.create(gpu);
    struct Feed {
        const std::vector<uint8_t>* data;
        uint64_t at = 0, calls = 0;
        bool end_with_bytes = false;
    };
    const auto data = noise(100'001);
    for (const bool end_with_bytes : {false, true}) {
        CAPTURE(end_with_bytes);
        Feed feed{&data};
        feed.end_with_bytes = end_with_bytes;
        auto source = sized<gpo_source>();
        source.kind = GPO_SOURCE_CALLBACK;
        source.user = &feed;
        source.fill = [](void* user, void* buffer, uint64_t capacity, uint64_t* bytes) -> gpo_status {
            auto& feed = *static_cast<Feed*>(user);
            const uint64_t left = feed.data->size() - feed.at, step = feed.calls++ % 1000;  // also 0
            *bytes = std::min(std::min(left, capacity), step);
            std::copy_n(feed.data->data() + feed.at, *bytes, static_cast<uint8_t*>(buffer));
            feed.at += *bytes;
            return (feed.end_with_bytes ? *bytes == left : left == 0) ? GPO_END : GPO_SUCCESS;
        };
        std::vector<uint8_t> out(data.size());
        auto result = sized<gpo_pipeline_result>();
        REQUIRE_OK(run(pipeline, source, to_memory(out.data(), out.size()), &result));
        CHECK(out == complement(data));
        CHECK(result.chunks == 25);
    }
}

TEST_CASE("a file goes to a file, which has its name only when all of it is there") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Pipeline pipeline = rig.create(gpu);
    Folder folder;
    const auto data = noise(5'000'003);
    write_file(folder / "in", data);
    const std::string in = folder / "in", out = folder / "out";
    auto sink = to_file(out);
    struct Look {
        const Folder* folder;
        bool early = false;
    } look{&folder};
    sink.user = &look;
    sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
        auto& look = *static_cast<Look*>(user);
        for (const std::string& name : look.folder->names()) look.early |= name == "out";
        return GPO_SUCCESS;
    };
    const mode_t before = umask(027);
    REQUIRE_OK(run(pipeline, from_file(in), sink));
    umask(before);
    CHECK_FALSE(look.early);
    CHECK(read_file(out) == complement(data));
    CHECK(folder.names().size() == 2);
    struct stat about;
    REQUIRE(stat(out.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777) == 0640);

    // Again, over the old one, and in place.
    REQUIRE_OK(run(pipeline, from_file(out), to_file(out)));
    CHECK(read_file(out) == data);
    CHECK(folder.names().size() == 2);
}

TEST_CASE("a part of a file is read, and an empty one is no error") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Pipeline pipeline = rig.create(gpu);
    Folder folder;
    const std::string in = folder / "in", empty = folder / "empty";
    const auto data = noise(100'000);
    write_file(in, data);
    write_file(empty, {});
    std::vector<uint8_t> out(1000);
    auto source = from_file(in);
    source.offset = 12'345;
    source.bytes = 1000;
    REQUIRE_OK(run(pipeline, source, to_memory(out.data(), out.size())));
    CHECK(complement(out) == std::vector<uint8_t>(data.begin() + 12'345, data.begin() + 13'345));

    auto result = sized<gpo_pipeline_result>();
    const std::string nothing = folder / "out";
    REQUIRE_OK(run(pipeline, from_file(empty), to_file(nothing), &result));
    CHECK(result.bytes_in == 0);
    CHECK(result.chunks == 0);
    CHECK(read_file(nothing).empty());

    source.offset = 1'000'000;  // behind the end
    source.bytes = 0;
    REQUIRE_OK(run(pipeline, source, to_memory(out.data(), out.size()), &result));
    CHECK(result.bytes_in == 0);
}

TEST_CASE("descriptors are read and written and stay open, pipes too") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    Pipeline pipeline = rig.create(gpu);
    int in[2], out[2];
    REQUIRE(pipe(in) == 0);
    REQUIRE(pipe(out) == 0);
    const auto data = noise(300'000);
    std::thread writer([&] {
        for (size_t at = 0; at < data.size();)
            at += static_cast<size_t>(write(in[1], &data[at], std::min<size_t>(7777, data.size() - at)));
        close(in[1]);
    });
    std::vector<uint8_t> got(data.size());
    std::thread reader([&] {
        for (size_t at = 0; at < got.size();) {
            const ssize_t bytes = read(out[0], &got[at], got.size() - at);
            if (bytes <= 0) break;
            at += static_cast<size_t>(bytes);
        }
    });
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.flags = GPO_SOURCE_USE_DESCRIPTOR;
    source.descriptor = in[0];
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    sink.flags = GPO_SINK_USE_DESCRIPTOR;
    sink.descriptor = out[1];
    CHECK_OK(run(pipeline, source, sink));
    CHECK(close(in[0]) == 0);
    CHECK(close(out[1]) == 0);
    writer.join();
    reader.join();
    CHECK(got == complement(data));
    close(out[0]);
}

TEST_CASE("stages run one after the other, kernels and callbacks, and the output may have another size") {
    Gpu gpu;
    const char* source_text = R"(
        extern "C" __global__ void halve(const unsigned char *in, unsigned char *scratch, unsigned long long bytes) {
            const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
            if (2 * i < bytes) scratch[i] = in[2 * i];
        }
        extern "C" __global__ void add(const unsigned char *scratch, unsigned char *out,
                                       unsigned long long bytes, unsigned char what) {
            const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
            if (i < bytes) out[i] = scratch[i] + what;
        }
    )";
    Kernel halve = gpu.kernel(source_text, "halve"), add = gpu.kernel(source_text, "add");
    const unsigned char what = 7;
    const gpo_stage_argument first[] = {argument(GPO_ARGUMENT_INPUT), argument(GPO_ARGUMENT_SCRATCH),
                                        argument(GPO_ARGUMENT_INPUT_BYTES)};
    const gpo_stage_argument last[] = {argument(GPO_ARGUMENT_SCRATCH), argument(GPO_ARGUMENT_OUTPUT),
                                       argument(GPO_ARGUMENT_OUTPUT_BYTES), constant(what)};
    struct Between {
        Gpu* gpu;
        std::atomic<uint64_t> calls{0}, wrong{0};
    } between{&gpu};
    gpo_stage stages[3] = {sized<gpo_stage>(), sized<gpo_stage>(), sized<gpo_stage>()};
    stages[0].kind = GPO_STAGE_KERNEL;
    stages[0].kernel = halve;
    stages[0].arguments = first;
    stages[0].argument_stride = sizeof(gpo_stage_argument);
    stages[0].argument_count = 3;
    stages[1].kind = GPO_STAGE_CALLBACK;
    stages[1].user = &between;
    stages[1].enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk* chunk) -> gpo_status {
        auto& between = *static_cast<Between*>(user);
        between.wrong += chunk->index != between.calls++ || !chunk->input_address || !chunk->scratch_address;
        // The first byte of every chunk is overwritten between the two kernels.
        return gpo_fill(stream, chunk->scratch_address, 100, 1, 1);
    };
    stages[2].kind = GPO_STAGE_KERNEL;
    stages[2].kernel = add;
    stages[2].block[0] = 128;
    stages[2].arguments = last;
    stages[2].argument_stride = sizeof(gpo_stage_argument);
    stages[2].argument_count = 4;
    auto options = sized<gpo_pipeline_options>();
    options.stages = stages;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 3;
    options.chunk_bytes = 8192;
    options.scratch_bytes = 4096;
    options.output_numerator = 1;
    options.output_denominator = 2;
    Pipeline pipeline;
    REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
    const auto data = noise(100'001);
    std::vector<uint8_t> out(50'001);
    auto result = sized<gpo_pipeline_result>();
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size()), &result));
    CHECK(result.bytes_out == out.size());
    CHECK(between.calls == 13);
    CHECK(between.wrong == 0);
    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != uint8_t((i % 4096 == 0 ? 100 : data[2 * i]) + what);
    CHECK(wrong == 0);
}

TEST_CASE("stages and arguments lie as far apart as their strides say, whatever the sizes of the structs") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    // The bytes behind a struct are the caller's. A smaller struct is one of an older version.
    struct Argument {
        gpo_stage_argument argument;
        uint64_t own = UINT64_MAX;
    };
    std::vector<Argument> arguments;
    for (const gpo_stage_argument& one : rig.arguments) arguments.push_back({one});
    arguments[1].argument.struct_size = offsetof(gpo_stage_argument, value);
    struct OneStage {
        gpo_stage stage;
        uint64_t own[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    } stages[2] = {{rig.stage}, {sized<gpo_stage>()}};
    stages[0].stage.arguments = &arguments[0].argument;
    stages[0].stage.argument_stride = sizeof arguments[0];
    stages[1].stage.kind = GPO_STAGE_CALLBACK;
    stages[1].stage.struct_size = offsetof(gpo_stage, label);
    stages[1].stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
    rig.options.stages = &stages[0].stage;
    rig.options.stage_stride = sizeof stages[0];
    rig.options.stage_count = 2;
    Pipeline pipeline = rig.create(gpu);
    const auto data = noise(50'000);
    std::vector<uint8_t> out(data.size());
    CHECK_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    CHECK(out == complement(data));
}

TEST_CASE("a stride that can't be right is refused by its name") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    const auto refused = [&](const char* said) {
        Pipeline pipeline;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_pipeline_create(gpu.device, &rig.options, pipeline.out()));
        CHECK(std::string(last_error().message).find(said) != std::string::npos);
    };
    for (const uint64_t stride : {uint64_t{0}, sizeof(gpo_stage) - 8, sizeof(gpo_stage) + 4, UINT64_MAX - 7}) {
        CAPTURE(stride);
        rig.options.stage_stride = stride;
        refused("options.stage_stride is");
    }
    rig.options.stage_stride = sizeof(gpo_stage);
    for (const uint64_t stride : {uint64_t{0}, uint64_t{16}, sizeof(gpo_stage_argument) + 1, uint64_t{1} << 62}) {
        CAPTURE(stride);
        rig.stage.argument_stride = stride;
        refused("stage.argument_stride is");
    }
}

TEST_CASE("the short forms of the header describe a kernel and its arguments") {
    Gpu gpu;
    const char* source_text = R"(
        extern "C" __global__ void add(const unsigned char *in, unsigned char *out, unsigned long long bytes,
                                       unsigned char what) {
            const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
            if (i < bytes) out[i] = in[i] + what;
        }
    )";
    Kernel add = gpu.kernel(source_text, "add");
    const unsigned char what = 9;
    const gpo_stage_argument arguments[] = {GPO_STAGE_ARGUMENT(INPUT), GPO_STAGE_ARGUMENT(OUTPUT),
                                            GPO_STAGE_ARGUMENT(INPUT_BYTES), GPO_STAGE_ARGUMENT_VALUE(what)};
    const gpo_stage stages[] = {GPO_STAGE_FOR_KERNEL(add, arguments)};
    auto options = sized<gpo_pipeline_options>();
    options.stages = stages;
    options.stage_stride = sizeof stages[0];
    options.stage_count = 1;
    Pipeline pipeline;
    REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
    const auto data = noise(20'000);
    std::vector<uint8_t> out(data.size());
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != uint8_t(data[i] + what);
    CHECK(wrong == 0);
}

TEST_CASE("work that a stage holds back keeps its place") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    Timeline timeline = gpu.timeline();
    struct Hold {
        gpo_timeline_t timeline;
        std::atomic<uint64_t> calls{0};
    } hold{timeline};
    auto waits = sized<gpo_stage>();
    waits.kind = GPO_STAGE_CALLBACK;
    waits.user = &hold;
    waits.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk*) -> gpo_status {
        auto& hold = *static_cast<Hold*>(user);
        return gpo_stream_wait_timeline(stream, hold.timeline, ++hold.calls);
    };
    const gpo_stage stages[] = {waits, rig.stage};
    rig.options.stages = stages;
    rig.options.stage_stride = sizeof(gpo_stage);
    rig.options.stage_count = 2;
    Pipeline pipeline = rig.create(gpu);
    const auto data = noise(40'000);
    std::vector<uint8_t> out(data.size());
    const auto source = from_memory(data.data(), data.size());
    const auto sink = to_memory(out.data(), out.size());
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(pipeline, 5'000'000, nullptr));
    for (uint64_t value = 1; value <= 10; ++value) REQUIRE_OK(gpo_timeline_signal(timeline, value));
    CHECK_OK(gpo_pipeline_wait(pipeline, kPatience, nullptr));
    CHECK(out == complement(data));

    // The next run is cancelled while everything is held.
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    CHECK_STATUS(GPO_TIMEOUT, gpo_pipeline_wait(pipeline, 5'000'000, nullptr));
    REQUIRE_OK(gpo_pipeline_cancel(pipeline));
    CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(pipeline, kPatience, nullptr));
}

TEST_CASE("the chunk size is found once, and times say what was hidden") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.stage.bytes_per_block = 1 << 16;
    rig.stage.max_blocks = 0;
    rig.options.flags = GPO_PIPELINE_TIMES;
    Pipeline pipeline = rig.create(gpu);
    const auto data = noise(72 << 20);
    std::vector<uint8_t> out(data.size());
    auto first = sized<gpo_pipeline_result>(), second = sized<gpo_pipeline_result>();
    const auto source = from_memory(data.data(), data.size());
    const auto sink = to_memory(out.data(), out.size());
    REQUIRE_OK(run(pipeline, source, sink, &first));
    CHECK(out == complement(data));
    REQUIRE_OK(run(pipeline, source, sink, &second));
    CHECK(first.tuned == 1);
    CHECK(second.tuned == 0);
    for (const auto& result : {first, second}) {
        CHECK(result.chunk_bytes % 4096 == 0);
        CHECK(result.chunk_bytes >= 64 << 10);
        CHECK(result.chunk_bytes <= 64 << 20);
        CHECK(result.slots <= 16);
        CHECK(result.copy_in_ns > 0);
        CHECK(result.copy_out_ns > 0);
        CHECK(result.kernel_ns > 0);
        CHECK(result.copy_hidden_ns <= result.copy_in_ns + result.copy_out_ns);
    }

    rig.options.flags = 0;
    Pipeline untimed = rig.create(gpu);
    REQUIRE_OK(run(untimed, source, sink, &first));
    CHECK(first.tuned == 1);
    CHECK(first.copy_in_ns + first.copy_out_ns + first.kernel_ns + first.copy_hidden_ns == 0);
}

TEST_CASE("times add up over all chunks: each kernel's time is in them") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    const Kernel slow = gpu.kernel(R"(
extern "C" __global__ void slow(unsigned *data, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) { }
    data[0] += 1;
})", "slow");
    const int64_t cycles = 4'000'000;   // 4 ms on the software GPU, some 2 ms on a GPU of 2 GHz
    auto data = argument(GPO_ARGUMENT_INPUT), time = argument(GPO_ARGUMENT_VALUE);
    time.value = &cycles;
    time.bytes = sizeof cycles;
    const std::vector<gpo_stage_argument> arguments = {data, time};
    rig.stage.kernel = slow;
    rig.stage.block[0] = 1;
    rig.stage.max_blocks = 1;
    rig.stage.arguments = arguments.data();
    rig.stage.argument_count = 2;
    rig.options.chunk_bytes = 4096;
    rig.options.result_bytes = 0;
    rig.options.flags = GPO_PIPELINE_TIMES;
    Pipeline pipeline = rig.create(gpu);
    const uint64_t chunks = 20;
    std::vector<uint32_t> words(chunks * 1024);
    const auto source = from_memory(words.data(), words.size() * 4);
    auto result = sized<gpo_pipeline_result>();
    const auto nowhere = sized<gpo_sink>();
    REQUIRE_OK(run(pipeline, source, nowhere, &result));
    CHECK(result.chunks == chunks);
    CHECK(result.kernel_ns >= chunks * 1'600'000);
    CHECK(result.kernel_ns <= result.elapsed_ns);
}

TEST_CASE("progress is told while it runs and once at the end") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    rig.options.chunk_bytes = 4096;
    struct Log {
        std::vector<gpo_pipeline_progress> entries;
    } log;
    rig.options.progress = [](void* user, const gpo_pipeline_progress* progress) {
        static_cast<Log*>(user)->entries.push_back(*progress);
    };
    rig.options.progress_user = &log;
    rig.options.progress_ns = 1;
    Pipeline pipeline = rig.create(gpu);
    auto progress = sized<gpo_pipeline_progress>();
    REQUIRE_OK(gpo_pipeline_get_progress(pipeline, &progress));
    CHECK(progress.running == 0);
    const auto data = noise(100'000);
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_nothing()));
    REQUIRE(log.entries.size() >= 2);
    for (size_t i = 0; i < log.entries.size(); ++i) {
        const auto& entry = log.entries[i];
        CHECK(entry.running == (i + 1 < log.entries.size()));
        CHECK(entry.bytes_total == data.size());
        CHECK(entry.bytes_done <= entry.bytes_in);
        if (i > 0) CHECK(entry.bytes_done >= log.entries[i - 1].bytes_done);
    }
    CHECK(log.entries.back().bytes_done == data.size());
    CHECK(log.entries.back().chunks_done == 25);
    REQUIRE_OK(gpo_pipeline_get_progress(pipeline, &progress));
    CHECK(progress.running == 0);
    CHECK(progress.bytes_done == data.size());
}

TEST_CASE("the end of a run comes into a completion queue, also when it is past") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Pipeline pipeline = rig.create(gpu);
    Queue queue = gpu.queue();
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pipeline_notify(pipeline, queue, 1));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pipeline_wait(pipeline, 0, nullptr));
    const auto data = noise(100'000);
    std::vector<uint8_t> out(data.size());
    const auto source = from_memory(data.data(), data.size());
    const auto sink = to_memory(out.data(), out.size());
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    REQUIRE_OK(gpo_pipeline_notify(pipeline, queue, 42));
    REQUIRE_OK(gpo_pipeline_wait(pipeline, kPatience, nullptr));
    REQUIRE_OK(gpo_pipeline_notify(pipeline, queue, 43));
    const auto entries = take(queue, 2);
    uint64_t sum = 0;
    for (const auto& entry : entries) {
        CHECK(entry.origin == GPO_ORIGIN_PIPELINE);
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(entry.completed_ns >= entry.submitted_ns);
        sum += entry.user_data;
    }
    CHECK(sum == 85);
}

TEST_CASE("a pipeline does many small runs, and two run side by side") {
    Gpu gpu;
    ComplementOptions rig(gpu);
    Pipeline one = rig.create(gpu), two = rig.create(gpu);
    const auto work = [&](gpo_pipeline_t pipeline, uint32_t seed) {
        for (uint32_t i = 0; i < 50; ++i) {
            const auto data = noise(1 + 997 * i, seed + i);
            std::vector<uint8_t> out(data.size());
            if (run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())) != GPO_SUCCESS)
                return false;
            if (out != complement(data)) return false;
        }
        return true;
    };
    bool first = false;
    std::thread other([&] { first = work(one, 1000); });
    CHECK(work(two, 2000));
    other.join();
    CHECK(first);
}
