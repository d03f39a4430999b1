// Tasks whose lengths differ, over all devices of the machine: the numbers are shared out evenly, the work isn't, and
// devices that are done early take over numbers of the others. Each result goes straight into the memory of the first
// device, whichever has computed it. Without GPUs there are four software GPUs, or as many as GPUORCH_SOFT_DEVICES
// says.
//     c++ -std=c++17 steal.cpp $(pkg-config --cflags --libs gpuorch) -o steal && ./steal
#include <gpuorch/gpuorch.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr char source[] = R"(
#include <gpuorch/device/steal.cuh>

// Task i takes i turns.
__device__ unsigned task(unsigned i) {
    unsigned value = i + 1;
    for (unsigned turn = 0; turn < i; ++turn) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    return value;
}

// On each device the memory has the shared range at offset 0, then at `done` how many tasks the device did; at
// `results` on the first one what came out.
extern "C" __global__ void work(gpo::symmetric memory, unsigned long long tasks, unsigned long long done,
                                unsigned long long results) {
    gpo::warp_steal mine(gpo::shared_numbers(memory, 0, tasks, 32));
    unsigned *const to = gpo::pointer<unsigned>(memory, 0, results);
    unsigned long long *const count = gpo::pointer<unsigned long long>(memory, memory.rank, done);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success) {
        const unsigned i = (unsigned)first + threadIdx.x % 32;
        if (i < last) to[i] = task(i);
        if (threadIdx.x % 32 == 0) atomicAdd(count, last - first);
    }
})";

constexpr std::uint64_t tasks = 16000, done = GPO_STEAL_BYTES, results = done + 128;   // the last two are offsets

std::uint32_t task(std::uint32_t i) {
    std::uint32_t value = i + 1;
    for (std::uint32_t turn = 0; turn < i; ++turn) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    return value;
}

struct place {
    gpuorch::device device;
    gpuorch::stream stream;
    gpuorch::kernel work;
};

int main() try {
    setenv("GPUORCH_SOFT_DEVICES", "4", 0);
    auto runtime = gpuorch::runtime::create();
    std::vector<place> places;
    std::vector<gpo_device_t> devices;
    for (std::uint32_t rank = 0; rank < runtime.device_count() && rank < GPO_PEERS_MOST_RANKS; ++rank) {
        gpo_device_options options{};
        options.ordinal = rank;
        auto device = runtime.open_device(options);
        auto stream = device.create_stream();
        auto work = device.compile(source).kernel("work");
        places.push_back({std::move(device), std::move(stream), std::move(work)});
        devices.push_back(places.back().device);
    }
    const auto ranks = static_cast<std::uint32_t>(places.size());

    const auto all = gpuorch::peers::create(devices);
    const auto memory = all.allocate_symmetric(results + tasks * sizeof(std::uint32_t));

    // A launch for each device; what it points to stays until gpo_peers_launch returns.
    std::vector<gpo_launch> shapes(ranks, gpuorch::sized<gpo_launch>());
    std::vector<gpuorch::symmetric_argument> handles(ranks);
    std::vector<std::array<const void*, 4>> arguments(ranks);
    std::vector<gpo_rank_launch> launches(ranks, gpuorch::sized<gpo_rank_launch>());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const place& here = places[rank];
        handles[rank] = memory.argument(rank);
        arguments[rank] = {&handles[rank], &tasks, &done, &results};
        shapes[rank].grid[0] = here.device.properties().multiprocessors;
        shapes[rank].block[0] = 128;
        launches[rank].stream = here.stream;
        launches[rank].kernel = here.work;
        launches[rank].launch = &shapes[rank];
        launches[rank].arguments = arguments[rank].data();
        launches[rank].argument_count = 4;
    }
    gpuorch::check(gpo_peers_launch(all, launches.data(), sizeof launches[0], ranks));
    for (const place& here : places) here.stream.wait();

    const auto read = [&](std::uint32_t rank, std::uint64_t offset, void* to, std::uint64_t bytes) {
        gpuorch::check(gpo_copy_to_host(places[rank].stream, to, memory.address(rank) + offset, bytes));
        places[rank].stream.wait();
    };
    std::uint64_t sum = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::uint64_t count = 0;
        read(rank, done, &count, sizeof count);
        std::printf("device %u did %llu of %llu tasks\n", rank, static_cast<unsigned long long>(count),
                    static_cast<unsigned long long>(tasks));
        sum += count;
    }
    std::vector<std::uint32_t> found(tasks);
    read(0, results, found.data(), tasks * sizeof found[0]);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < tasks; ++i) wrong += found[i] != task(i);
    const bool right = wrong == 0 && sum == tasks;
    std::printf("%s\n", right ? "each task was done once, and all results are right" : "and that is wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const gpuorch::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
}
