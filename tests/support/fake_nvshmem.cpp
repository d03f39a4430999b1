// A libnvshmem_host.so.3 for tests: symmetric heaps of 64 MiB in shared memory of one host, which kernels of software
// GPUs use as any memory. The library checks what NVSHMEM checks: versions of structs, and calls that all PEs have to
// make alike. Environment: FAKE_NVSHMEM_VERSION (30800); FAKE_NVSHMEM_INIT and FAKE_NVSHMEM_MODULE, the results of the
// initialisation and of a module's initialisation; FAKE_NVSHMEM_FAR=1: no PE reaches another.
// fake_nvshmem_modules() returns how many modules have received the state, and how many gave it back.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

struct UniqueId {
    int version;
    char bytes[124];
};
struct Attributes {
    int version;
    void* communicator;
    struct {
        int version;
        struct {
            int version;
            const UniqueId* id;
            int rank, ranks;
        } by_id;
        char rest[96];
    } arguments;
};
static_assert(sizeof(UniqueId) == 128 && sizeof(Attributes) == 144);

constexpr size_t kHeap = 64 << 20, kPage = 4096, kUnit = 512;
constexpr int kMostPes = 64;

struct Control {
    std::atomic<unsigned> arrived, generation;
    std::atomic<size_t> asked[kMostPes];
};
static_assert(sizeof(Control) <= kPage);

struct Block {
    size_t first, bytes;
};

int g_pe = -1, g_pes = 0, g_begun = 0, g_modules = 0, g_given_back = 0;
char* g_memory = nullptr;
std::vector<Block> g_blocks;   // by place

int number(const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value ? std::atoi(value) : otherwise;
}
Control& control() { return *reinterpret_cast<Control*>(g_memory); }
char* heap(int pe) { return g_memory + kPage + static_cast<size_t>(pe) * kHeap; }

void barrier() {
    Control& all = control();
    const unsigned generation = all.generation.load();
    if (all.arrived.fetch_add(1) + 1 == static_cast<unsigned>(g_pes)) {
        all.arrived.store(0);
        all.generation.fetch_add(1);
        return;
    }
    while (all.generation.load() == generation) sched_yield();
}

// Whether all PEs call with the same value.
bool same_everywhere(size_t value) {
    control().asked[g_pe].store(value);
    barrier();
    bool same = true;
    for (int pe = 0; pe < g_pes; ++pe) same = same && control().asked[pe].load() == value;
    barrier();
    return same;
}

}  // namespace

EXPORTED void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
    const int version = number("FAKE_NVSHMEM_VERSION", 30800);
    *major = version / 10000;
    *minor = version / 100 % 100;
    *patch = version % 100;
}
EXPORTED int nvshmemx_init_status() { return g_begun ? 2 : 0; }
EXPORTED int nvshmemx_get_uniqueid(UniqueId* id) {
    if (id->version != (1 << 16) + 128) return 1;
    static int made = 0;
    std::snprintf(id->bytes, sizeof id->bytes, "/gpo_fake_nvshmem_%d_%d", getpid(), made++);
    return 0;
}
EXPORTED int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const UniqueId* id, Attributes* attributes) {
    attributes->arguments.by_id.id = id;
    attributes->arguments.by_id.rank = rank;
    attributes->arguments.by_id.ranks = ranks;
    return 0;
}
EXPORTED int nvshmemx_hostlib_init_attr(unsigned flags, Attributes* given) {
    if (const int refuses = number("FAKE_NVSHMEM_INIT", 0)) return refuses;
    const auto& by_id = given->arguments.by_id;
    if (flags != 8 || g_begun || given->version != (1 << 16) + 144 || given->arguments.version != (1 << 16) + 128 ||
        by_id.version != (1 << 16) + 24 || by_id.id->version != (1 << 16) + 128 || by_id.ranks > kMostPes)
        return 99;
    g_pe = by_id.rank;
    g_pes = by_id.ranks;
    const size_t bytes = kPage + static_cast<size_t>(g_pes) * kHeap;
    const int file = shm_open(by_id.id->bytes, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return 98;
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return 97;
    g_memory = static_cast<char*>(mapped);
    barrier();
    if (g_pe == 0) shm_unlink(by_id.id->bytes);
    g_begun = 1;
    return 0;
}
EXPORTED int nvshmem_my_pe() { return g_pe; }
EXPORTED int nvshmem_n_pes() { return g_pes; }
EXPORTED void* nvshmem_calloc(size_t count, size_t size) {
    const size_t bytes = (count * size + kUnit - 1) / kUnit * kUnit;
    if (!same_everywhere(bytes)) return nullptr;
    size_t first = 0;
    auto place = g_blocks.begin();
    for (; place != g_blocks.end() && place->first - first < bytes; ++place) first = place->first + place->bytes;
    if (kHeap - first < bytes) return nullptr;
    g_blocks.insert(place, {first, bytes});
    std::memset(heap(g_pe) + first, 0, bytes);
    barrier();
    return heap(g_pe) + first;
}
EXPORTED void nvshmem_free(void* memory) {
    const size_t first = static_cast<size_t>(static_cast<char*>(memory) - heap(g_pe));
    if (!same_everywhere(first)) std::abort();
    std::erase_if(g_blocks, [&](const Block& block) { return block.first == first; });
}
EXPORTED void* nvshmem_ptr(const void* memory, int pe) {
    if (pe != g_pe && number("FAKE_NVSHMEM_FAR", 0)) return nullptr;
    return heap(pe) + (static_cast<const char*>(memory) - heap(g_pe));
}
EXPORTED int nvshmemx_cumodule_init(void*) {
    if (const int refuses = number("FAKE_NVSHMEM_MODULE", 0)) return refuses;
    return ++g_modules, 0;
}
EXPORTED int nvshmemx_cumodule_finalize(void*) { return ++g_given_back, 0; }
EXPORTED void fake_nvshmem_modules(int* begun, int* given_back) {
    *begun = g_modules;
    *given_back = g_given_back;
}
