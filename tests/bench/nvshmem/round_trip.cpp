// Two processes, each with a GPU, and kernels with NVSHMEM's device library (kernels.cu). The program checks that all
// calls of peer.cuh move the right data, and times a put of 8 bytes with a signal there and back:
//     by address   peer.cuh, over the other rank's address
//     by NVSHMEM   peer.cuh, as if the other rank had no address, as for ranks of other hosts
//     NVSHMEM      nvshmem_putmem_signal and nvshmem_signal_wait_until
// ./run builds and runs the program. Argument: the folder of the cubin. Under mpirun -np 2, also on two hosts, the
// processes join by MPI.
#include <gpuorch/gpuorch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int64_t kPatience = 60'000'000'000;

void check(gpo_status status, const char* call) {
    if (status == GPO_SUCCESS) return;
    gpo_error error{};
    error.struct_size = sizeof error;
    gpo_last_error(&error);
    std::fprintf(stderr, "%s: %s: %s\n", call, gpo_status_name(status), error.message);
    _exit(1);
}
#define CHECK(call) check(call, #call)

template <class T>
T sized() {
    T made{};
    made.struct_size = sizeof made;
    return made;
}

// gpo::symmetric, with the fields that this program changes.
struct Handle {
    uint32_t words[10];
    uint64_t remote, reserved[2], addresses[32];
};
static_assert(sizeof(Handle) == GPO_SYMMETRIC_HANDLE_BYTES);

struct Rank {
    gpo_stream_t stream = nullptr;
    gpo_module_t module = nullptr;
    uint32_t* result = nullptr;
    Handle handle{};
    uint32_t rank = 0;
    uint64_t round = 1;

    gpo_kernel_t kernel(const char* name) const {
        gpo_kernel_t made = nullptr;
        CHECK(gpo_module_get_kernel(module, name, &made));
        return made;
    }
    void launch(gpo_kernel_t kernel, uint32_t threads, std::vector<const void*> arguments,
                std::vector<uint32_t> sizes) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = threads;
        CHECK(gpo_stream_launch_kernel(stream, kernel, &shape, arguments.data(), sizes.data(),
                                       static_cast<uint32_t>(arguments.size())));
        CHECK(gpo_stream_wait(stream, kPatience));
    }
    void meet() {
        auto none = sized<gpo_collective>();
        none.kind = GPO_COLLECTIVE_BARRIER;
        auto part = sized<gpo_rank_part>();
        part.stream = stream;
        CHECK(gpo_peers_submit(peers, &none, &part, sizeof part, 1));
        CHECK(gpo_stream_wait(stream, kPatience));
    }
    double nanoseconds(const char* name, const Handle& memory, uint32_t rounds) {
        const gpo_kernel_t of = kernel(name);
        std::vector<double> times;
        for (int turn = 0; turn < 9; ++turn) {
            *result = 0;
            meet();
            const auto begin = std::chrono::steady_clock::now();
            launch(of, 1, {&memory, &round, &rounds, &result}, {sizeof memory, 8, 4, 8});
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
            if (*result != rounds) {
                std::fprintf(stderr, "rank %u, %s: a wait has timed out\n", rank, name);
                _exit(1);
            }
            round += rounds;
            times.push_back(took.count() / rounds);
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
    }
    bool all_right(const Handle& memory, const char* how) {
        result[0] = result[1] = 0;
        meet();
        launch(kernel("all_calls"), 128, {&memory, &result}, {sizeof memory, 8});
        std::printf("rank %u, %s: %u checks, %u wrong\n", rank, how, result[0], result[1]);
        return result[0] > 0 && result[1] == 0;
    }
    gpo_peers_t peers = nullptr;
};

int be_rank(int given_rank, const std::string& path, const std::string& folder) {
    Rank r;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    CHECK(gpo_runtime_create(nullptr, &runtime));
    CHECK(gpo_device_open(runtime, nullptr, &device));
    CHECK(gpo_stream_create(device, nullptr, &r.stream));
    auto join = sized<gpo_join_options>();
    join.engine = GPO_ENGINE_HOST;
    join.timeout_ns = kPatience;
    join.by = given_rank < 0 ? GPO_JOIN_MPI : GPO_JOIN_FILE;
    if (given_rank >= 0) {
        join.path = path.c_str();
        join.rank = static_cast<uint32_t>(given_rank);
        join.ranks = 2;
    }
    CHECK(gpo_peers_join(device, &join, &r.peers));
    auto info = sized<gpo_peers_info>();
    CHECK(gpo_peers_get_info(r.peers, &info));
    r.rank = info.rank;

    auto options = sized<gpo_symmetric_options>();
    options.engine = GPO_ENGINE_NVSHMEM;
    options.flags = GPO_SYMMETRIC_REMOTE;
    gpo_symmetric_t memory[3] = {};
    for (gpo_symmetric_t& one : memory) CHECK(gpo_symmetric_allocate(r.peers, 1 << 20, &options, &one));
    const auto handle_of = [&](gpo_symmetric_t one) {
        Handle handle;
        CHECK(gpo_symmetric_get_device_handle(one, r.rank, &handle, sizeof handle, nullptr));
        return handle;
    };
    std::ifstream file(folder + "/kernels.cubin", std::ios::binary);
    const std::vector<char> image((std::istreambuf_iterator<char>(file)), {});
    CHECK(gpo_module_load(device, image.data(), image.size(), "kernels", &r.module));
    gpo_arena_t arena = nullptr;
    void* result = nullptr;
    CHECK(gpo_arena_create(device, nullptr, &arena));
    CHECK(gpo_arena_allocate(arena, 64, 0, &result));
    r.result = static_cast<uint32_t*>(result);

    bool right = true;
    Handle near = handle_of(memory[0]), far = handle_of(memory[1]);
    const bool has_address = near.addresses[1 - r.rank] != 0;
    if (has_address) {
        right = r.all_right(near, "by address");
        far.addresses[1 - r.rank] = 0;
        far.remote = 1;
    }
    right = r.all_right(far, "by NVSHMEM") && right;
    near = handle_of(memory[2]);
    far = near;
    far.addresses[1 - r.rank] = 0;
    far.remote = 1;
    const uint32_t rounds = 5000;
    const double by_address = has_address ? r.nanoseconds("by_peer", near, rounds) : 0;
    const double by_far = r.nanoseconds("by_peer", far, rounds), own = r.nanoseconds("by_nvshmem", near, rounds);
    if (r.rank == 0) {
        if (has_address) std::printf("put + signal round trip, by address: %.0f ns\n", by_address);
        std::printf("put + signal round trip, by NVSHMEM: %.0f ns; NVSHMEM's own words: %.0f ns\n", by_far, own);
    }
    CHECK(gpo_peers_destroy(r.peers));
    CHECK(gpo_runtime_shutdown(runtime, kPatience));
    std::fflush(nullptr);
    return right ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    const std::string folder = count > 1 ? words[1] : ".";
    if (std::getenv("OMPI_COMM_WORLD_RANK") || std::getenv("PMI_RANK")) return be_rank(-1, "", folder);
    const std::string path = folder + "/group";
    pid_t ranks[2];
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank] = fork();
        if (ranks[rank] != 0) continue;
        // Each process sees both devices: NVSHMEM doesn't reach invisible devices.
        setenv("GPUORCH_DEVICE", rank ? "cuda:1" : "cuda:0", 1);
        std::exit(be_rank(rank, path, folder));
    }
    int wrong = 0;
    for (const pid_t rank : ranks) {
        int status = 0;
        waitpid(rank, &status, 0);
        wrong += status != 0;
    }
    return wrong != 0;
}
