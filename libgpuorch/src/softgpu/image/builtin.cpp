// The kernels of driver/builtin.cu, condition.cu and push.cu for the software GPU, and the list of all built-in
// kernels.
#include "softgpu/image/builtin.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/exchange.h"
#include "softgpu/image/combine.h"
#include "softgpu/image/elements.h"

namespace gpo::softgpu {

namespace {

constexpr std::string_view kImage = "GPOBUILTIN";

void fill_u32(gpo_soft_block* block) {
    auto* y = argument<uint32_t*>(block, 0);
    const auto value = argument<uint32_t>(block, 1);
    for_elements(block, argument<uint64_t>(block, 2),
                 [=](uint64_t from, uint64_t to) { std::fill(y + from, y + to, value); });
}

void copy_u32(gpo_soft_block* block) {
    auto* y = argument<uint32_t*>(block, 0);
    const auto* x = argument<const uint32_t*>(block, 1);
    for_elements(block, argument<uint64_t>(block, 2), [=](uint64_t from, uint64_t to) {
        for (uint64_t i = from; i < to; ++i) y[i] = x[i];
    });
}

void scale_add_f32(gpo_soft_block* block) {
    auto* y = argument<float*>(block, 0);
    const auto* x = argument<const float*>(block, 1);
    const auto a = argument<float>(block, 2);
    for_elements(block, argument<uint64_t>(block, 3), [=](uint64_t from, uint64_t to) {
        for (uint64_t i = from; i < to; ++i) y[i] = a * x[i] + y[i];
    });
}

void add_f32(gpo_soft_block* block) {
    auto* z = argument<float*>(block, 0);
    const auto* x = argument<const float*>(block, 1);
    const auto* y = argument<const float*>(block, 2);
    for_elements(block, argument<uint64_t>(block, 3), [=](uint64_t from, uint64_t to) {
        for (uint64_t i = from; i < to; ++i) z[i] = x[i] + y[i];
    });
}

constexpr uint32_t kHistogramBytes = 4 * 256 * sizeof(uint64_t);

void histogram_u8(gpo_soft_block* block) {
    auto* bins = argument<uint64_t*>(block, 0);
    const auto* x = argument<const uint8_t*>(block, 1);
    // Four tables, so that equal neighbours don't wait for each other's store.
    auto* counts = static_cast<uint64_t(*)[256]>(block->static_shared);
    std::memset(counts, 0, kHistogramBytes);
    for_elements(block, argument<uint64_t>(block, 2), [&](uint64_t from, uint64_t to) {
        for (; from + 4 <= to; from += 4)
            for (int lane = 0; lane < 4; ++lane) ++counts[lane][x[from + lane]];
        for (; from < to; ++from) ++counts[0][x[from]];
    });
    for (int i = 0; i < 256; ++i)
        if (const uint64_t count = counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i])
            std::atomic_ref(bins[i]).fetch_add(count, std::memory_order_relaxed);
}

void reduce_add_f32(gpo_soft_block* block) {
    auto* sum = argument<float*>(block, 0);
    const auto* x = argument<const float*>(block, 1);
    float partial[32] = {};   // as many chains of additions as a warp has lanes
    for_elements(block, argument<uint64_t>(block, 2), [&](uint64_t from, uint64_t to) {
        for (; from + 32 <= to; from += 32)
            for (int lane = 0; lane < 32; ++lane) partial[lane] += x[from + lane];
        for (int lane = 0; from < to; ++from, ++lane) partial[lane] += x[from];
    });
    for (int half = 16; half; half /= 2)
        for (int lane = 0; lane < half; ++lane) partial[lane] += partial[lane + half];
    std::atomic_ref total(*sum);
    float before = total.load(std::memory_order_relaxed);
    while (!total.compare_exchange_weak(before, before + partial[0], std::memory_order_relaxed)) {
    }
}

// driver/condition.cu.
void decide(gpo_soft_block* block) {
    const auto handle = argument<uint64_t>(block, 0);
    const auto comparison = argument<uint32_t>(block, 2), constant = argument<uint32_t>(block, 3);
    auto* state = argument<uint32_t*>(block, 4);
    const auto limit = argument<uint32_t>(block, 5), when = argument<uint32_t>(block, 6);
    uint32_t value = 0;
    if (comparison) value = std::atomic_ref(*argument<uint32_t*>(block, 1)).load(std::memory_order_relaxed);
    switch (comparison) {
        case 1: value = value == constant; break;
        case 2: value = value != constant; break;
        case 3: value = value < constant; break;
        case 4: value = value >= constant; break;
        default: break;
    }
    if (when == 1 && state) state[0] = state[1] = 0;
    if (when == 2 && state) {
        const bool ends = ++state[0] >= limit;
        if (ends && (comparison == 0 || value)) state[1] = 1;
        if (ends) value = 0;
        if (ends && comparison == 0) block->services->set_condition(block, handle, 0);
    }
    if (comparison) block->services->set_condition(block, handle, value);
}

// driver/push.cu. A block is one thread here.
struct PushTarget {
    unsigned char* words;   // of the priority
    uint32_t* sequence;
    unsigned char* slots;
    uint32_t capacity_log2, task_size;

    static constexpr uint64_t kTail = 0, kRoom = 256, kItems = 384, kRefused = 640;
    std::atomic_ref<uint64_t> word(uint64_t offset) const { return std::atomic_ref(*as<uint64_t>(words + offset)); }
    uint64_t slot(uint64_t position) const { return position & ((uint64_t{1} << capacity_log2) - 1); }
    uint32_t free_in(uint64_t position) const { return static_cast<uint32_t>(2 * (position >> capacity_log2)); }
    bool is_free(uint64_t position) const {
        return std::atomic_ref(sequence[slot(position)]).load(std::memory_order_acquire) == free_in(position);
    }
    void fill(uint64_t position, const unsigned char* task) const {
        std::memcpy(slots + slot(position) * task_size, task, task_size);
        std::atomic_ref(sequence[slot(position)]).store(free_in(position) + 1, std::memory_order_release);
    }
    template <class T>
    static T* as(void* bytes) {
        return static_cast<T*>(bytes);
    }
};

bool wait_for_slot(gpo_soft_block* block, const PushTarget& ring, uint64_t position) {
    constexpr uint32_t kPolls = 1 << 16;   // for a pop that is between taking its place and giving it free
    for (uint32_t polls = 0; !ring.is_free(position); ++polls) {
        if (polls == kPolls) return false;
        block->services->yield(block);
    }
    return true;
}

// One task. False: there is no room.
bool push_counted(gpo_soft_block* block, const PushTarget& ring, const unsigned char* task, uint32_t* state) {
    if (static_cast<int64_t>(ring.word(PushTarget::kRoom).fetch_sub(1)) <= 0) {
        ring.word(PushTarget::kRoom).fetch_add(1);
        return false;
    }
    const uint64_t position = ring.word(PushTarget::kTail).fetch_add(1);
    if (!wait_for_slot(block, ring, position)) {
        std::atomic_ref(*state).store(2, std::memory_order_release);   // whoever had the slot is gone
        return true;
    }
    ring.fill(position, task);
    ring.word(PushTarget::kItems).fetch_add(1);
    return true;
}

bool push_with_ticket(const PushTarget& ring, const unsigned char* task) {
    const auto tail = ring.word(PushTarget::kTail);
    uint64_t position = tail.load(std::memory_order_relaxed);
    do {
        if (!ring.is_free(position)) return false;
    } while (!tail.compare_exchange_weak(position, position + 1));
    ring.fill(position, task);
    return true;
}

void push(gpo_soft_block* block) {
    auto* const state = argument<uint32_t*>(block, 1);
    const PushTarget ring{argument<unsigned char*>(block, 0), argument<uint32_t*>(block, 2),
                          argument<unsigned char*>(block, 3), argument<uint32_t>(block, 4),
                          argument<uint32_t>(block, 5)};
    const bool tickets = argument<uint32_t>(block, 6) != 0;
    const auto* task = argument<const unsigned char*>(block, 7);
    const auto count = argument<uint64_t>(block, 8);
    uint64_t pushed = 0;
    for (; pushed < count; ++pushed, task += ring.task_size) {
        if (std::atomic_ref(*state).load(std::memory_order_acquire) != 0) break;   // closed or aborted
        if (!(tickets ? push_with_ticket(ring, task) : push_counted(block, ring, task, state))) break;
        if (pushed % 1024 == 1023) block->services->yield(block);
    }
    if (pushed < count) ring.word(PushTarget::kRefused).fetch_add(count - pushed);
}

constexpr gpo_soft_parameter kPush[] = {{0, 8},  {8, 8},  {16, 8}, {24, 8}, {32, 4},
                                        {36, 4}, {40, 4}, {48, 8}, {56, 8}};
constexpr gpo_soft_parameter kCombine[] = {{0, 8}, {8, 128}, {136, 4}, {140, 4}, {144, 4}, {148, 4}, {152, 8}};
constexpr gpo_soft_parameter kSmallAllReduce[] = {
    {0, sizeof(exchange::Mailboxes)}, {88, 8}, {96, 8}, {104, 8}, {112, 4}, {120, sizeof(exchange::Stop)}};
static_assert(sizeof(exchange::Mailboxes) == 88);
constexpr gpo_soft_parameter kDecide[] = {{0, 8}, {8, 8}, {16, 4}, {20, 4}, {24, 8}, {32, 4}, {36, 4}};
constexpr gpo_soft_parameter kFill[] = {{0, 8}, {8, 4}, {16, 8}};
constexpr gpo_soft_parameter kThreeWords[] = {{0, 8}, {8, 8}, {16, 8}};
constexpr gpo_soft_parameter kScaleAdd[] = {{0, 8}, {8, 8}, {16, 4}, {24, 8}};
constexpr gpo_soft_parameter kAdd[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}};

template <size_t N>
constexpr gpo_soft_kernel kernel(const char* name, const gpo_soft_parameter (&parameters)[N],
                                 void (*run)(gpo_soft_block*), uint32_t shared_bytes = 0, uint32_t flags = 0) {
    return {name, parameters, N, flags, shared_bytes, 1024, run, {}};
}

constexpr gpo_soft_kernel kKernels[] = {
    kernel("gpo_fill_u32", kFill, fill_u32),
    kernel("gpo_copy_u32", kThreeWords, copy_u32),
    kernel("gpo_scale_add_f32", kScaleAdd, scale_add_f32),
    kernel("gpo_add_f32", kAdd, add_f32),
    kernel("gpo_histogram_u8", kThreeWords, histogram_u8, kHistogramBytes),
    kernel("gpo_reduce_add_f32", kThreeWords, reduce_add_f32),
    kernel("gpo_decide", kDecide, decide),
    kernel("gpo_push", kPush, push),
    kernel("gpo_combine", kCombine, combine),
#define GPO_KERNEL(name, ...) \
    kernel("gpo_all_reduce_small_" #name, kSmallAllReduce, all_reduce_small<gpo::combine::__VA_ARGS__>, 0, \
           GPO_SOFT_KERNEL_WAITS),
    GPO_EACH_SMALL_ALL_REDUCE(GPO_KERNEL)
#undef GPO_KERNEL
};

}  // namespace

std::string_view builtin_image() noexcept { return kImage; }

bool is_builtin_image(const void* data) noexcept {
    return std::strncmp(static_cast<const char*>(data), kImage.data(), kImage.size()) == 0;
}

std::span<const gpo_soft_kernel> builtin_kernels() noexcept { return kKernels; }

}  // namespace gpo::softgpu
