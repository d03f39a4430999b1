// A breadth-first search whose frontier lives in a ring on the GPU: a visit to a node pushes visits to the neighbours
// that it has found a shorter way to. There is one launch, however many levels the graph has, and the kernel ends by
// itself when no visit is left. The result is compared with that of a search on the host.
//     c++ -std=c++17 breadth_first.cpp $(pkg-config --cflags --libs gpuorch) -o breadth_first && ./breadth_first
#include <gpuorch/gpuorch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr char source[] = R"(
#include <gpuorch/device/queue.cuh>

struct visit { unsigned node, depth; };

// A warp makes a visit: its lanes look at a neighbour each. No visit waits for a level to end, so a node may be reached
// on a longer way first: it is visited again when a shorter way is found.
extern "C" __global__ void search(gpo::ring frontier, const unsigned *first_edge, const unsigned *neighbours,
                                  unsigned *depths, unsigned *visits, unsigned *failures) {
    const gpo::bound patience = gpo::nanoseconds(30000000000ull);
    visit here;
    int status;
    while ((status = gpo::warp_pop(frontier, here, patience)) == gpo::queue_success) {
        const bool newest = gpo::atomic::load_relaxed(&depths[here.node]) == here.depth;
        const unsigned end = newest ? first_edge[here.node + 1] : 0;
        for (unsigned edge = first_edge[here.node] + threadIdx.x % 32; edge < end; edge += 32) {
            const visit next = {neighbours[edge], here.depth + 1};
            if (atomicMin(&depths[next.node], next.depth) <= next.depth) continue;
            if (gpo::push(frontier, next, patience) != gpo::queue_success) atomicAdd(failures, 1u);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) atomicAdd(visits, 1u);
        gpo::warp_done(frontier);   // behind the visits that this one has pushed
    }
    if (status != gpo::queue_end && threadIdx.x % 32 == 0) atomicAdd(failures, 1u);
})";

constexpr unsigned nodes = 1 << 14, unreached = ~0u;

struct visit {
    unsigned node, depth, padding[2];   // to the ring's task size
};

struct graph {
    std::vector<unsigned> first_edge, neighbours;   // those of node i begin at first_edge[i]
};

// A few nodes have very many neighbours, most have few, and some aren't reached from node 0.
graph make_graph() {
    std::mt19937 random(1);
    std::vector<std::vector<unsigned>> lists(nodes);
    for (unsigned edge = 0; edge < 3 * nodes; ++edge) {
        const unsigned hub = static_cast<unsigned>(random() % nodes) >> random() % 14;
        const unsigned other = static_cast<unsigned>(random() % nodes);
        lists[hub].push_back(other);
        lists[other].push_back(hub);
    }
    graph made;
    for (const auto& list : lists) {
        made.first_edge.push_back(static_cast<unsigned>(made.neighbours.size()));
        made.neighbours.insert(made.neighbours.end(), list.begin(), list.end());
    }
    made.first_edge.push_back(static_cast<unsigned>(made.neighbours.size()));
    return made;
}

std::vector<unsigned> search_on_host(const graph& where, unsigned start) {
    std::vector<unsigned> depths(nodes, unreached), frontier{start};
    depths[start] = 0;
    for (std::size_t i = 0; i < frontier.size(); ++i)
        for (unsigned edge = where.first_edge[frontier[i]]; edge < where.first_edge[frontier[i] + 1]; ++edge) {
            const unsigned next = where.neighbours[edge];
            if (depths[next] != unreached) continue;
            depths[next] = depths[frontier[i]] + 1;
            frontier.push_back(next);
        }
    return depths;
}

int main() try {
    const graph where = make_graph();
    auto runtime = gpuorch::runtime::create();
    auto device = runtime.open_device();
    auto stream = device.create_stream();
    auto search = device.compile(source).kernel("search");

    auto first_edge = device.allocate<unsigned>(where.first_edge.size());
    auto neighbours = device.allocate<unsigned>(where.neighbours.size());
    auto depths = device.allocate<unsigned>(nodes);
    auto counts = device.allocate<unsigned>(2);   // visits, failures
    stream.copy_to_device(first_edge, where.first_edge);
    stream.copy_to_device(neighbours, where.neighbours);

    gpo_queue_options options{};
    options.kind = GPO_QUEUE_RING;
    options.capacity = 4 * nodes;   // nodes that are found on a longer way first are in it twice
    options.task_size = sizeof(visit);
    options.label = "frontier";
    auto frontier = device.create_queue(options);

    const visit start{0, 0, {}};
    stream.fill(depths, unreached);
    stream.fill(depths.get(), 0, 1);
    stream.fill(counts, 0);
    frontier.push(stream, &start, 1);
    stream.wait();
    frontier.close();   // from here on only visits push visits
    search.launch(stream, 2 * device.properties().multiprocessors, 256, frontier.ring(), first_edge, neighbours, depths,
                  counts, counts.get() + 1);

    std::vector<unsigned> found(nodes), counted(2);
    stream.copy_to_host(found, depths);
    stream.copy_to_host(counted, counts);
    stream.wait();

    const std::vector<unsigned> expected = search_on_host(where, 0);
    const auto reached = nodes - std::count(expected.begin(), expected.end(), unreached);
    unsigned deepest = 0;
    for (const unsigned depth : expected)
        if (depth != unreached) deepest = std::max(deepest, depth);
    const bool right = found == expected && counted[1] == 0;
    std::printf("%u nodes, %zu edges: %td reached in %u steps by %u visits, %s\n", nodes, where.neighbours.size() / 2,
                static_cast<std::ptrdiff_t>(reached), deepest, counted[0],
                right ? "as by a search on the host" : "and that is wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const gpuorch::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
}
