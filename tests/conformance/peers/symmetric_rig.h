// Groups of devices whose kernels use symmetric memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/peers/rig.h"

namespace gpo::test {

using Symmetric = Owned<gpo_symmetric_t, gpo_symmetric_destroy>;

/// The layout of gpo::symmetric in kernels.
struct SymmetricRow {
    uint32_t magic, version;
    uint64_t bytes;
    uint32_t rank, ranks;
    uint64_t words;
    uint32_t blocks, block_words;
    uint64_t reserved[3];
    uint64_t addresses[32];
};
static_assert(sizeof(SymmetricRow) == GPO_SYMMETRIC_HANDLE_BYTES);

class SymmetricRig : public PeersRig {
public:
    explicit SymmetricRig(uint32_t most = 8) : PeersRig(most) {}

    Symmetric symmetric(uint64_t bytes, const char* label = nullptr, uint64_t alignment = 0) {
        auto options = sized<gpo_symmetric_options>();
        options.label = label;
        options.alignment = alignment;
        Symmetric made;
        REQUIRE_OK(gpo_symmetric_allocate(peers, bytes, &options, made.out()));
        return made;
    }
    static SymmetricRow row(gpo_symmetric_t memory, uint32_t rank) {
        SymmetricRow row{};
        REQUIRE_OK(gpo_symmetric_get_device_handle(memory, rank, &row, sizeof row, nullptr));
        return row;
    }
    static uint64_t address(gpo_symmetric_t memory, uint32_t rank) {
        uint64_t address = 0;
        REQUIRE_OK(gpo_symmetric_get_address(memory, rank, &address));
        return address;
    }
    template <class T>
    std::vector<T> values(gpo_symmetric_t memory, uint32_t rank, uint64_t count, uint64_t offset = 0) {
        std::vector<T> out(count);
        REQUIRE_OK(gpo_copy_to_host(streams[rank], out.data(), address(memory, rank) + offset, count * sizeof(T)));
        REQUIRE_OK(gpo_stream_wait(streams[rank], kPatience));
        return out;
    }

    /// Compiles the source for each device. Returns the kernel of each rank.
    std::vector<Kernel> kernels(const std::string& source, const char* name) {
        std::vector<Kernel> out;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            auto options = sized<gpo_compile_options>();
            options.source = source.c_str();
            Module module;
            Kernel kernel;
            REQUIRE_OK(gpo_module_compile(devices[rank], &options, module.out()));
            REQUIRE_OK(gpo_module_get_kernel(module, name, kernel.out()));
            out.push_back(std::move(kernel));
        }
        return out;
    }

    /// Launches the kernels of all ranks with one call. `arguments_of(rank)` returns a tuple of the kernel's arguments.
    template <class ArgumentsOf>
    gpo_status launch(const std::vector<Kernel>& of, uint32_t blocks, uint32_t threads, ArgumentsOf arguments_of) {
        using Arguments = decltype(arguments_of(0u));
        constexpr size_t count = std::tuple_size_v<Arguments>;
        std::vector<Arguments> values;
        for (uint32_t rank = 0; rank < ranks; ++rank) values.push_back(arguments_of(rank));
        auto shape = sized<gpo_launch>();
        shape.grid[0] = blocks;
        shape.block[0] = threads;
        std::vector<std::array<const void*, count>> pointers(ranks);
        std::array<uint32_t, count> sizes{};
        std::vector<gpo_rank_launch> launches(ranks, sized<gpo_rank_launch>());
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            std::apply(
                [&](const auto&... value) {
                    pointers[rank] = {&value...};
                    sizes = {static_cast<uint32_t>(sizeof value)...};
                },
                values[rank]);
            launches[rank].stream = streams[rank];
            launches[rank].kernel = of[rank];
            launches[rank].launch = &shape;
            launches[rank].arguments = pointers[rank].data();
            launches[rank].sizes = sizes.data();
            launches[rank].argument_count = static_cast<uint32_t>(count);
        }
        return gpo_peers_launch(peers, launches.data(), sizeof launches[0], ranks);
    }

    /// Records the work that `record` puts on the streams of all ranks. Returns a graph of the recording.
    template <class Record>
    Graph recorded(Record record) {
        auto options = sized<gpo_template_options>();
        Template step;
        REQUIRE_OK(gpo_template_create(devices[0], &options, step.out()));
        Event fork = event();
        std::vector<Event> joins;
        REQUIRE_OK(gpo_template_begin(step, streams[0]));
        REQUIRE_OK(gpo_event_record(fork, streams[0]));
        for (uint32_t rank = 1; rank < ranks; ++rank) REQUIRE_OK(gpo_stream_wait_event(streams[rank], fork));
        record();
        for (uint32_t rank = 1; rank < ranks; ++rank) {
            auto of = sized<gpo_event_options>();
            Event join;
            REQUIRE_OK(gpo_event_create(devices[rank], &of, join.out()));
            REQUIRE_OK(gpo_event_record(join, streams[rank]));
            REQUIRE_OK(gpo_stream_wait_event(streams[0], join));
            joins.push_back(std::move(join));
        }
        REQUIRE_OK(gpo_template_end(step));
        Graph graph;
        REQUIRE_OK(gpo_graph_create(step, nullptr, graph.out()));
        return graph;
    }
};

}  // namespace gpo::test
