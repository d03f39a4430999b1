// Symmetric memory of groups of several processes by NVSHMEM: with NVIDIA's library on two GPUs, and with one made for
// tests (support/fake_nvshmem.cpp) on software GPUs. A kernel of each rank puts data into the other's memory and
// signals.
// RUN: GPUORCH_DEVICE=soft fake ping_pong
// RUN: GPUORCH_DEVICE=soft fake frees
// RUN: GPUORCH_DEVICE=soft fake differ
// RUN: GPUORCH_DEVICE=soft fake worlds
// RUN: GPUORCH_DEVICE=soft FAKE_NVSHMEM_FAR=1 fake far
// RUN: GPUORCH_DEVICE=soft fake modules
// RUN: GPUORCH_DEVICE=soft fake mislinked
// RUN: GPUORCH_DEVICE=soft fake lost
// RUN: GPUORCH_DEVICE=soft FAKE_NVSHMEM_INIT=7 fake refuses
// RUN: GPUORCH_DEVICE=soft FAKE_NVSHMEM_VERSION=30209 fake too_old
// RUN: GPUORCH_DEVICE=soft GPUORCH_NVSHMEM=/nonexistent/libnvshmem_host.so.3 real absent
// RUN: GPUORCH_DEVICE=soft real software
// RUN: GPUORCH_DEVICE=cuda NVSHMEM_DISABLE_NVLS=1 real ping_pong
// RUN: GPUORCH_DEVICE=cuda NVSHMEM_DISABLE_NVLS=1 real frees
// RUN: GPUORCH_DEVICE=cuda NVSHMEM_DISABLE_NVLS=1 real worlds
// TIMEOUT: 120
#include <dlfcn.h>

#include <algorithm>
#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr uint32_t kRanks = 2;
constexpr int kSkips = 3;   // a rank's exit code: there is no NVSHMEM
bool g_fake = false;

// Each round rank 0 sends a page and rank 1 one back.
constexpr const char* kSource = R"(
#include <gpuorch/device/peer.cuh>

__device__ inline void fill(unsigned *page, unsigned value)
{
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) page[i] = value * 1024 + i;
    __syncthreads();
}

extern "C" __global__ void ping_pong(gpo::symmetric memory, unsigned rounds, unsigned *result)
{
    const unsigned other = 1 - memory.rank;
    unsigned *own = gpo::pointer<unsigned>(memory, memory.rank, 8192);
    const volatile unsigned *got = gpo::pointer<unsigned>(memory, memory.rank, 256);
    const gpo::bound limit = gpo::nanoseconds(20000000000ull);
    for (unsigned round = 1; round <= rounds; ++round) {
        const unsigned value = round * 2 + memory.rank;
        if (memory.rank == 0) {
            fill(own, value);
            gpo::block_put_signal(memory, other, 256, own, 4096, 0, round);
        }
        if (gpo::block_wait(memory, 0, gpo::wait_at_least, round, limit) != gpo::peer_success) return;
        for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x)
            if (got[i] != (round * 2 + other) * 1024 + i) atomicAdd(result + 1, 1u);
        if (memory.rank == 1) {
            fill(own, value);
            gpo::block_put_signal(memory, other, 256, own, 4096, 0, round);
        }
        if (threadIdx.x == 0) result[0] = round;
    }
    if (gpo::barrier(memory, limit) == gpo::peer_success && threadIdx.x == 0) result[2] = 1;
}

extern "C" __global__ void reaches(gpo::symmetric memory, int *status)
{
    const unsigned other = 1 - memory.rank;
    const unsigned long long piece = 7;
    unsigned long long taken = 0;
    const gpo::bound limit = gpo::polls(10);
    int *to = status;
    *to++ = gpo::put(memory, other, 256, &piece, 8);
    *to++ = gpo::warp_put(memory, other, 256, &piece, 8);
    *to++ = gpo::block_put(memory, other, 256, &piece, 8);
    *to++ = gpo::get(&taken, memory, other, 256, 8);
    *to++ = gpo::warp_get(&taken, memory, other, 256, 8);
    *to++ = gpo::block_get(&taken, memory, other, 256, 8);
    *to++ = gpo::put_signal(memory, other, 256, &piece, 8, 0, 1);
    *to++ = gpo::warp_put_signal(memory, other, 256, &piece, 8, 0, 1);
    *to++ = gpo::block_put_signal(memory, other, 256, &piece, 8, 0, 1);
    *to++ = gpo::signal(memory, other, 0, 1);
    *to++ = gpo::warp_signal(memory, other, 0, 1);
    *to++ = gpo::block_signal(memory, other, 0, 1);
    *to++ = gpo::fetch_add(memory, other, 0, 1);
    *to++ = gpo::put_packet(memory, other, 256, 1, 2);
    *to++ = gpo::barrier(memory, limit);
    *to++ = gpo::pointer<int>(memory, other, 256) ? -1 : 14;
    *to++ = gpo::put(memory, memory.rank, 256, &piece, 8) + 100;
    *to++ = gpo::put(memory, other, memory.bytes, &piece, 8) + 200;
}
)";
constexpr int kReaches = 16;   // of a rank without an address; the others follow

struct Rank : Opened {
    uint32_t rank = 0;
    gpo_peers_t peers = nullptr;

    Rank(uint32_t rank, const std::string& path, uint32_t ranks) : rank(rank) {
        auto options = sized<gpo_join_options>();
        options.by = GPO_JOIN_FILE;
        options.path = path.c_str();
        options.rank = rank;
        options.ranks = ranks;
        options.engine = GPO_ENGINE_HOST;
        options.timeout_ns = kPatience;
        EXPECT_OK(gpo_peers_join(device, &options, &peers));
    }
    static gpo_symmetric_options by_nvshmem(uint64_t alignment = 0, uint32_t flags = 0) {
        auto options = sized<gpo_symmetric_options>();
        options.engine = GPO_ENGINE_NVSHMEM;
        options.alignment = alignment;
        options.flags = flags;
        options.label = "shared";
        return options;
    }
    gpo_symmetric_t allocate(uint64_t bytes, const gpo_symmetric_options& options = by_nvshmem()) {
        gpo_symmetric_t memory = nullptr;
        const gpo_status status = gpo_symmetric_allocate(peers, bytes, &options, &memory);
        if (!g_fake && status == GPO_NOT_SUPPORTED) {
            std::fprintf(stderr, "%s\n", last_message().c_str());
            std::fflush(nullptr);
            _exit(kSkips);
        }
        EXPECT_OK(status);
        return memory;
    }
    void refused(gpo_status status, const char* what, uint64_t bytes = 4096,
                 const gpo_symmetric_options& options = by_nvshmem()) {
        gpo_symmetric_t memory = nullptr;
        EXPECT_STATUS(status, gpo_symmetric_allocate(peers, bytes, &options, &memory));
        EXPECT(memory == nullptr);
        if (last_message().find(what) == std::string::npos)
            end_failed(__FILE__, __LINE__, std::string("no `") + what + "` in `" + last_message() + "`");
    }
    std::vector<uint8_t> handle(gpo_symmetric_t memory) {
        std::vector<uint8_t> out(GPO_SYMMETRIC_HANDLE_BYTES);
        EXPECT_OK(gpo_symmetric_get_device_handle(memory, rank, out.data(), out.size(), nullptr));
        return out;
    }
    gpo_status launch(gpo_kernel_t kernel, uint32_t threads, const std::vector<uint8_t>& memory,
                      const std::vector<const void*>& more, const std::vector<uint32_t>& bytes) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = threads;
        std::vector<const void*> arguments{memory.data()};
        std::vector<uint32_t> sizes{GPO_SYMMETRIC_HANDLE_BYTES};
        arguments.insert(arguments.end(), more.begin(), more.end());
        sizes.insert(sizes.end(), bytes.begin(), bytes.end());
        return gpo_stream_launch_kernel(stream, kernel, &shape, arguments.data(), sizes.data(),
                                        static_cast<uint32_t>(arguments.size()));
    }
    void play(gpo_symmetric_t memory, uint32_t rounds) {
        const gpo_kernel_t kernel = compile(device, kSource, "ping_pong");
        uint32_t* const result = pinned(device, 3);
        EXPECT_OK(launch(kernel, 64, handle(memory), {&rounds, &result}, {sizeof rounds, sizeof result}));
        EXPECT_OK(gpo_stream_wait(stream, kPatience));
        EXPECT(result[0] == rounds);
        EXPECT(result[1] == 0);
        EXPECT(result[2] == 1);
    }
    void end() {
        EXPECT_OK(gpo_peers_destroy(peers));
        shut_down();
    }
};

// --- scenarios ---

void ping_pong(Rank& r) {
    const gpo_symmetric_t memory = r.allocate(65536, Rank::by_nvshmem(4096));
    auto info = sized<gpo_symmetric_info>();
    EXPECT_OK(gpo_symmetric_get_info(memory, &info));
    EXPECT(info.ranks == kRanks && info.bytes == 65536 && info.alignment == 4096);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        uint64_t address = 0;
        EXPECT_OK(gpo_symmetric_get_address(memory, rank, &address));
        EXPECT(address != 0 && (rank != r.rank || address % 4096 == 0));
    }
    uint8_t none[GPO_SYMMETRIC_HANDLE_BYTES];
    EXPECT_STATUS(GPO_INVALID_ARGUMENT,
                  gpo_symmetric_get_device_handle(memory, 1 - r.rank, none, sizeof none, nullptr));
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_reset(memory, 1 - r.rank, r.stream));
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_reset(memory, 2, r.stream));
    r.play(memory, 50);
    const gpo_symmetric_t second = r.allocate(65536);
    r.play(second, 5);
    EXPECT_OK(gpo_symmetric_destroy(memory));
    EXPECT_OK(gpo_symmetric_destroy(second));
}

// Allocates more than the heap has, in turns, so that memory which both ranks destroyed has to be freed. Memory that
// only one rank destroyed stays.
void frees(Rank& r) {
    const uint64_t most = 40 << 20;
    for (int turn = 0; turn < 5; ++turn) {
        const gpo_symmetric_t memory = r.allocate(most);
        r.play(memory, 2);
        EXPECT_OK(gpo_symmetric_destroy(memory));
        EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
        EXPECT_OK(gpo_device_wait(r.device, kPatience));
    }
    const gpo_symmetric_t small = r.allocate(1 << 20), other = r.allocate(1 << 20);
    if (r.rank == 0) EXPECT_OK(gpo_symmetric_destroy(small));
    EXPECT_OK(gpo_device_wait(r.device, kPatience));
    r.play(other, 2);
    const gpo_symmetric_t third = r.allocate(1 << 20);
    uint64_t was = 0, is = 0;
    if (r.rank == 1) {
        EXPECT_OK(gpo_symmetric_get_address(small, 0, &was));
        EXPECT_OK(gpo_symmetric_get_address(third, 0, &is));
        EXPECT(was != is);
    }
    if (!g_fake) return;
    r.refused(GPO_OUT_OF_MEMORY, "NVSHMEM_SYMMETRIC_SIZE", uint64_t{64} << 20);
    EXPECT(r.allocate(1 << 20));
}

void differ(Rank& r) {
    r.refused(GPO_INVALID_ARGUMENT, "rank 1 asks for", r.rank ? 8192 : 4096);
    r.play(r.allocate(65536), 2);
    r.refused(GPO_INVALID_ARGUMENT, "aligned to", 4096, Rank::by_nvshmem(r.rank ? 1024 : 4096));
    r.refused(GPO_INVALID_ARGUMENT, "rank 1: options.alignment is 3", 4096, Rank::by_nvshmem(r.rank ? 3 : 4096));
    r.play(r.allocate(65536), 2);
}

void worlds(Rank& r) {
    r.play(r.allocate(65536), 2);
    const gpo_peers_t all = r.peers;
    const uint32_t reversed[] = {1, 0}, alone[] = {r.rank}, same[] = {0, 1};
    EXPECT_OK(gpo_peers_split(all, reversed, 2, nullptr, &r.peers));
    r.refused(GPO_NOT_SUPPORTED, "the same processes in the same order");
    EXPECT_OK(gpo_peers_destroy(r.peers));
    EXPECT_OK(gpo_peers_split(all, alone, 1, nullptr, &r.peers));
    r.refused(GPO_NOT_SUPPORTED, "the same processes in the same order");
    EXPECT_OK(gpo_peers_destroy(r.peers));
    EXPECT_OK(gpo_peers_split(all, same, 2, nullptr, &r.peers));
    r.play(r.allocate(65536), 2);
    EXPECT_OK(gpo_peers_destroy(r.peers));
    r.peers = all;
}

// No address of the other's memory: refused by the host, or by the kernel's calls.
void far(Rank& r) {
    const gpo_symmetric_t near_alone = r.allocate(4096);
    const gpo_symmetric_t memory = r.allocate(4096, Rank::by_nvshmem(0, GPO_SYMMETRIC_REMOTE));
    uint8_t none[GPO_SYMMETRIC_HANDLE_BYTES];
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_symmetric_get_device_handle(near_alone, r.rank, none, sizeof none, nullptr));
    EXPECT(last_message().find("GPO_SYMMETRIC_REMOTE") != std::string::npos);
    uint64_t address = 0;
    EXPECT_OK(gpo_symmetric_get_address(memory, r.rank, &address));
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_symmetric_get_address(memory, 1 - r.rank, &address));
    const gpo_kernel_t kernel = compile(r.device, kSource, "reaches");
    int32_t* const status = reinterpret_cast<int32_t*>(pinned(r.device, kReaches + 2));
    EXPECT_OK(r.launch(kernel, 1, r.handle(memory), {&status}, {sizeof status}));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    for (int i = 0; i < kReaches; ++i)
        if (status[i] != 14)
            end_failed(__FILE__, __LINE__, "call " + std::to_string(i) + " gave " + std::to_string(status[i]));
    EXPECT(status[kReaches] == 100);
    EXPECT(status[kReaches + 1] == 210);
}

// A module with NVSHMEM's state is initialised when NVSHMEM begins, a later module with its first kernel.
constexpr const char* kWithState = "extern \"C\" __device__ int nvshmemi_device_state_d; "
                                   "extern \"C\" __global__ void k() { nvshmemi_device_state_d = 1; }";
void modules(Rank& r) {
    const char* const without = "extern \"C\" __global__ void k() { }";
    const gpo_kernel_t before = compile(r.device, kWithState, "k"), others = compile(r.device, without, "k");
    EXPECT(r.allocate(4096));
    void* const library = dlopen(std::getenv("GPUORCH_NVSHMEM"), RTLD_NOW | RTLD_NOLOAD);
    EXPECT(library);
    const auto counts = reinterpret_cast<void (*)(int*, int*)>(dlsym(library, "fake_nvshmem_modules"));
    EXPECT(counts);
    int begun = 0, given_back = 0;
    counts(&begun, &given_back);
    EXPECT(begun == 1 && given_back == 0);
    const gpo_kernel_t after = compile(r.device, kWithState, "k");
    counts(&begun, &given_back);
    EXPECT(begun == 2 && given_back == 0);
    for (const gpo_kernel_t kernel : {before, others, after}) EXPECT_OK(gpo_kernel_destroy(kernel));
    r.end();
    counts(&begun, &given_back);
    EXPECT(begun == 2 && given_back == 2);
    _exit(0);
}

// NVSHMEM refuses the module in one process: the allocation fails in both, and succeeds after the module's end.
void mislinked(Rank& r) {
    if (r.rank == 1) setenv("FAKE_NVSHMEM_MODULE", "5", 1);
    const gpo_kernel_t kernel = compile(r.device, kWithState, "k");
    r.refused(GPO_NOT_SUPPORTED, "nvshmemx_cumodule_init has failed (5)");
    r.refused(GPO_NOT_SUPPORTED, "rank 1: module");
    EXPECT_OK(gpo_kernel_destroy(kernel));
    r.play(r.allocate(65536), 2);
    auto options = sized<gpo_compile_options>();
    options.source = kWithState;
    gpo_module_t module = nullptr;
    gpo_kernel_t later = nullptr;
    EXPECT_OK(gpo_module_compile(r.device, &options, &module));
    EXPECT_STATUS(r.rank ? GPO_NOT_SUPPORTED : GPO_SUCCESS, gpo_module_get_kernel(module, "k", &later));
}

void lost(Rank& r) {
    EXPECT(r.allocate(4096));
    if (r.rank == 1) _exit(0);
    r.refused(GPO_PEER_LOST, "rank 1 has died");
}

void refuses(Rank& r) {
    r.refused(GPO_NOT_SUPPORTED, "rank 0: nvshmemx_hostlib_init_attr has failed (7)");
    r.refused(GPO_NOT_SUPPORTED, "NVSHMEM_DISABLE_NVLS=1");
}

void too_old(Rank& r) {
    r.refused(GPO_NOT_SUPPORTED, "is version 3.2.9");
    r.refused(GPO_NOT_SUPPORTED, "nvidia-nvshmem-cu12");
}

void absent(Rank& r) {
    r.refused(GPO_NOT_SUPPORTED, "/nonexistent/libnvshmem_host.so.3");
    r.refused(GPO_NOT_SUPPORTED, "GPUORCH_NVSHMEM");
}

void software(Rank& r) {
    r.refused(GPO_NOT_SUPPORTED, "software GPU");
    auto direct = Rank::by_nvshmem();
    direct.engine = GPO_AUTO;
    gpo_symmetric_t memory = nullptr;   // processes of one host do without NVSHMEM
    EXPECT_OK(gpo_symmetric_allocate(r.peers, 4096, &direct, &memory));
    EXPECT_OK(gpo_symmetric_destroy(memory));
    direct.engine = 3;
    r.refused(GPO_INVALID_ARGUMENT, "options.engine is GPO_ENGINE_HOST", 4096, direct);
}

const struct {
    const char* name;
    void (*rank)(Rank&);
} kScenarios[] = {{"ping_pong", ping_pong}, {"frees", frees},     {"differ", differ},   {"worlds", worlds},
                  {"far", far},             {"modules", modules}, {"mislinked", mislinked},
                  {"lost", lost},           {"refuses", refuses},
                  {"too_old", too_old},     {"absent", absent},   {"software", software}};

pid_t begin(void (*scenario)(Rank&), uint32_t rank, const std::string& path) {
    std::fflush(nullptr);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child) return child;
    // Each process sees all GPUs: NVSHMEM reaches none that it doesn't see.
    const char* device = std::getenv("GPUORCH_DEVICE");
    if (device && device == std::string("cuda"))
        setenv("GPUORCH_DEVICE", ("cuda:" + std::to_string(rank)).c_str(), 1);
    Rank r(rank, path, kRanks);
    scenario(r);
    r.end();
    std::exit(0);
}

void skip_without_gpus() {
    const int code = in_child([] {
        gpo_runtime_t runtime = nullptr;
        uint32_t devices = 0;
        return gpo_runtime_create(nullptr, &runtime) == GPO_SUCCESS &&
                       gpo_runtime_get_device_count(runtime, &devices) == GPO_SUCCESS && devices >= kRanks
                   ? 0
                   : 2;
    });
    if (code) end_skipped("nvshmem", "there are no two GPUs");
}

}  // namespace

int main(int count, char** words) {
    EXPECT(count == 3);
    g_fake = words[1] == std::string("fake");
    if (g_fake) setenv("GPUORCH_NVSHMEM", GPUORCH_FAKE_NVSHMEM, 1);
    const char* device = std::getenv("GPUORCH_DEVICE");
    if (device && device == std::string("cuda")) skip_without_gpus();
    Folder folder;   // this process has not used the library when it forks
    for (const auto& scenario : kScenarios) {
        if (scenario.name != std::string(words[2])) continue;
        std::vector<pid_t> ranks;
        for (uint32_t rank = 0; rank < kRanks; ++rank) ranks.push_back(begin(scenario.rank, rank, folder / "group"));
        std::vector<int> codes;
        for (const pid_t rank : ranks) {
            int status = 0;
            EXPECT(waitpid(rank, &status, 0) == rank);
            codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        }
        if (std::all_of(codes.begin(), codes.end(), [](int code) { return code == kSkips; }))
            end_skipped("nvshmem", "NVSHMEM can't be used");
        for (const int code : codes)
            if (code) end_failed(__FILE__, __LINE__, "a rank ended with " + std::to_string(code));
        return 0;
    }
    EXPECT(false);
}
