// Records of work (stream/work.h). A record has the same effect whether it is put on a stream or added to a graph. Also
// checks the descriptions of records.
#include <cstring>
#include <string>
#include <vector>

#include "core/handles.h"
#include "foreign/raw.h"
#include "kernel/launch.h"
#include "memory/copies.h"
#include "memory/fill.h"

using namespace gpo::test;
using gpo::CopyWork;
using gpo::EventWork;
using gpo::FillWork;
using gpo::RowsWork;

namespace {

constexpr uint32_t kWords = 1024;

/// A graph made with driver calls. Each new node depends on the previous one.
struct Chain {
    explicit Chain(gpo::Context& context) : context(context) { RAW_OK(context.table().cuGraphCreate(&graph, 0)); }
    ~Chain() {
        if (exec) context.table().cuGraphExecDestroy(exec);
        context.table().cuGraphDestroy(graph);
    }
    template <class Record>
    void put(const Record& work) {
        CUgraphNode node = nullptr;
        const gpo::Issued added = gpo::add(context, graph, {&last, last ? 1u : 0u}, work, &node);
        INFO(added.function);
        RAW_OK(added.result);
        last = node;
    }
    void launch(CUstream stream) {
        if (!exec) RAW_OK(context.table().cuGraphInstantiateWithFlags(&exec, graph, 0));
        RAW_OK(context.table().cuGraphLaunch(exec, stream));
        RAW_OK(context.table().cuStreamSynchronize(stream));
    }
    gpo::Context& context;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUgraphNode last = nullptr;
};

/// Gives each record to a stream.
struct Straight {
    template <class Record>
    void put(const Record& work) {
        const gpo::Issued issued = gpo::issue(context, stream, work);
        INFO(issued.function);
        RAW_OK(issued.result);
    }
    gpo::Context& context;
    CUstream stream;
};

struct Rig : Gpu {
    Rig()
        : words(memory(4 * kWords)), out(pinned<uint32_t>(kWords)), in(pinned<uint32_t>(kWords)),
          on(stream("records")) {
        for (uint32_t i = 0; i < kWords; ++i) in[i] = i;
    }
    Kernel add_one = kernel("extern \"C\" __global__ void add(unsigned *words, unsigned count, unsigned by) {\n"
                            "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "    if (i < count) words[i] += by;\n"
                            "}\n",
                            "add");
    Memory words;
    Pinned<uint32_t> out, in;
    Stream on;
};

// A copy in, a kernel, fills of every size of element and of rows, a copy of rows, a copy on the device, a copy out.
template <class Way>
void describe(Rig& rig, Way& way) {
    const gpo::Pin<gpo::Kernel> kernel(rig.add_one.get());
    const uint64_t words = rig.words;
    uint64_t address = words;
    uint32_t count = kWords, by = 1000;
    const void* arguments[] = {&address, &count, &by};
    const uint32_t sizes[] = {8, 4, 4};
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 8;
    shape.block[0] = 128;
    const gpo::Copy copy(way.context, gpo::Copy::Way::to_device, words, rig.in.address(), 4 * kWords);
    const gpo::LaunchKernel launch(*kernel, shape, arguments, sizes, 3);
    way.put(copy.record());
    way.put(launch.record());
    way.put(gpo::Fill(way.context, words, 0x0badf00d, 4, 2).record());
    way.put(gpo::Fill(way.context, words + 8, 0x1234, 2, 2).record());
    way.put(gpo::Fill(way.context, words + 12, 0x5a, 1, 3).record());
    way.put(gpo::Fill(way.context, words + 64, 32, 7, 8, 3).record());
    RowsWork rows;
    rows.destination = words + 1024;
    rows.source = words + 16;
    rows.destination_pitch = 64;
    rows.source_pitch = 32;
    rows.width = 8;
    rows.height = 2;
    rows.to_device = rows.from_device = true;
    way.put(rows);
    way.put(gpo::Copy(way.context, gpo::Copy::Way::on_device, words + 2048, words, 256).record());
    way.put(gpo::Copy(way.context, gpo::Copy::Way::to_host, rig.out.address(), words, 4 * kWords).record());
}

}  // namespace

TEST_CASE("records: what is put on a stream and what is added to a graph has the same effect") {
    Rig rig;
    const gpo::Pin<gpo::Stream> stream(rig.on.get());
    gpo::Context& context = stream->context();
    const gpo::DriverScope scope(context);
    Straight straight{context, stream->native()};
    describe(rig, straight);
    RAW_OK(context.table().cuStreamSynchronize(stream->native()));
    const std::vector<uint32_t> expected(rig.out.begin(), rig.out.end());
    REQUIRE(expected[0] == 0x0badf00d);
    REQUIRE(expected[2] == 0x12341234);
    REQUIRE((expected[3] & 0xffffff) == 0x5a5a5a);
    REQUIRE(expected[16] == 0x07070707);
    REQUIRE(expected[18] == 1018);
    REQUIRE(expected[256] == 1004);
    REQUIRE(expected[512] == 0x0badf00d);
    REQUIRE(expected[kWords - 1] == 1000 + kWords - 1);

    Chain chain(context);
    describe(rig, chain);
    for (int round = 0; round < 2; ++round) {
        std::memset(rig.out.data(), 0, rig.out.bytes());
        chain.launch(stream->native());
        CHECK(std::vector<uint32_t>(rig.out.begin(), rig.out.end()) == expected);
    }
}

TEST_CASE("records: a graph's executable keeps what the graph was; a node that the driver refuses leaves none") {
    Rig rig;
    const gpo::Pin<gpo::Stream> stream(rig.on.get());
    gpo::Context& context = stream->context();
    const gpo::DriverScope scope(context);
    Chain chain(context);
    chain.put(gpo::Fill(context, rig.words, 1, 4, kWords).record());
    chain.put(gpo::Copy(context, gpo::Copy::Way::to_host, rig.out.address(), rig.words, 4 * kWords).record());
    chain.launch(stream->native());
    CHECK(rig.out[5] == 1);
    chain.put(gpo::Fill(context, rig.words, 2, 4, kWords).record());   // not part of the executable that was made
    chain.launch(stream->native());
    CHECK(rig.out[5] == 1);

    const gpo::Pin<gpo::Kernel> kernel(rig.add_one.get());
    gpo::KernelWork wide;
    uint64_t address = rig.words;
    uint32_t count = kWords, by = 1;
    void* arguments[] = {&address, &count, &by};
    wide.function = kernel->native();
    wide.arguments = arguments;
    wide.cluster[0] = 3;
    wide.cluster[1] = wide.cluster[2] = 1;
    wide.grid[0] = 4;   // no multiple of the cluster
    size_t before = 0, after = 0;
    RAW_OK(context.table().cuGraphGetNodes(chain.graph, nullptr, &before));
    CUgraphNode node = nullptr;
    const gpo::Issued added = gpo::add(context, chain.graph, {}, wide, &node);
    if (added.result == CUDA_SUCCESS) {
        // Some drivers look at clusters only when the graph is instantiated.
        CUgraphExec exec = nullptr;
        CHECK(context.table().cuGraphInstantiateWithFlags(&exec, chain.graph, 0) != CUDA_SUCCESS);
        if (exec) context.table().cuGraphExecDestroy(exec);
    } else {
        RAW_OK(context.table().cuGraphGetNodes(chain.graph, nullptr, &after));
        CHECK(after == before);
        CHECK(node == nullptr);
    }
}

TEST_CASE("records: a kernel's priority goes into the graph with it") {
    Rig rig;
    const gpo::Pin<gpo::Stream> stream(rig.on.get());
    const gpo::Pin<gpo::Kernel> kernel(rig.add_one.get());
    gpo::Context& context = stream->context();
    const gpo::DriverScope scope(context);
    Chain chain(context);
    uint64_t address = rig.words;
    uint32_t count = kWords, by = 3;
    const void* arguments[] = {&address, &count, &by};
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 8;
    shape.block[0] = 128;
    shape.flags = GPO_LAUNCH_PRIORITY;
    shape.priority = -1;
    const gpo::LaunchKernel launch(*kernel, shape, arguments, nullptr, 3);
    CHECK(launch.record().has_priority);
    chain.put(gpo::Copy(context, gpo::Copy::Way::to_device, rig.words, rig.in.address(), 4 * kWords).record());
    chain.put(launch.record());
    chain.put(gpo::Copy(context, gpo::Copy::Way::to_host, rig.out.address(), rig.words, 4 * kWords).record());
    chain.launch(stream->native());
    CHECK(rig.out[7] == 10);
}

TEST_CASE("records: each says what it is called and which memory it touches, as far as that is known") {
    CHECK(std::string(name(gpo::KernelWork{})) == "kernel");
    CHECK(std::string(name(EventWork{nullptr, true})) == "wait for event");
    CHECK(std::string(name(EventWork{nullptr, false})) == "record event");
    CHECK_FALSE(accesses(gpo::KernelWork{}).known);
    const gpo::Accesses copied = accesses(CopyWork{CopyWork::Way::on_device, 0x1000, 0x2000, 16});
    CHECK(copied.known);
    CHECK((copied.reads.address == 0x2000 && copied.reads.bytes == 16));
    CHECK((copied.writes.address == 0x1000 && copied.writes.bytes == 16));
    RowsWork rows;
    rows.destination = 0x100;
    rows.source = 0x900;
    rows.destination_pitch = 64;
    rows.source_pitch = 32;
    rows.width = 8;
    rows.height = 3;
    CHECK(accesses(rows).writes.bytes == 2 * 64 + 8);
    CHECK(accesses(rows).reads.bytes == 2 * 32 + 8);
    CHECK(bytes_of(rows) == 24);
    FillWork fill;
    fill.destination = 0x40;
    fill.count = 5;
    fill.element_bytes = 4;
    CHECK(accesses(fill).reads.bytes == 0);
    CHECK(accesses(fill).writes.bytes == 20);
    CHECK(accesses(EventWork{}).writes.bytes == 0);
}
