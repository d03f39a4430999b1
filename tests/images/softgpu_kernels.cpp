// A kernel image of the software GPU, written by hand against its ABI: what the unit tests of its driver launch, with
// no compiler in the way. Kernels run their threads as plain loops, or, where they wait, as the multiprocessors'
// fibers.
#include <unistd.h>

#include "softgpu/kernel_abi.h"

namespace {

template <class T>
T argument(const gpo_soft_block* block, int index) {
    return *static_cast<const T*>(block->args[index]);
}

unsigned first_thread(const gpo_soft_block* block) { return block->block_index.x * block->block.x; }

unsigned load(const unsigned* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

/// data[i] += amount for i < count.
void add(gpo_soft_block* block) {
    auto data = argument<int*>(block, 0);
    const int amount = argument<int>(block, 1);
    const auto count = argument<unsigned long long>(block, 2);
    for (unsigned t = 0; t < block->block.x; ++t)
        if (first_thread(block) + t < count) data[first_thread(block) + t] += amount;
}

/// Sets *begun, then waits until *go.
void wait_for_thread(void* closure) {
    auto block = static_cast<gpo_soft_block*>(closure);
    auto begun = argument<unsigned*>(block, 0);
    auto go = argument<const unsigned*>(block, 1);
    __atomic_store_n(begun, 1u, __ATOMIC_RELEASE);
    while (!load(go)) block->services->yield(block);
}

void wait_for(gpo_soft_block* block) { block->services->run_threads(block, wait_for_thread, block); }

/// Ends the launch with a CUresult once *go.
void fail_when_thread(void* closure) {
    auto block = static_cast<gpo_soft_block*>(closure);
    auto go = argument<const unsigned*>(block, 0);
    while (!load(go)) block->services->yield(block);
    block->services->fail(block, argument<int>(block, 1), "softgpu_kernels.cpp:1: block 0, thread 0: it was asked to");
}

void fail_when(gpo_soft_block* block) { block->services->run_threads(block, fail_when_thread, block); }

/// Counts itself.
void count(gpo_soft_block* block) { __atomic_fetch_add(argument<unsigned*>(block, 0), 1u, __ATOMIC_RELAXED); }

/// Counts itself, then keeps its worker until go[its block] isn't 0: the block can't be put aside for another.
void occupy(gpo_soft_block* block) {
    __atomic_fetch_add(argument<unsigned*>(block, 0), 1u, __ATOMIC_RELEASE);
    while (!load(argument<const unsigned*>(block, 1) + block->block_index.x)) usleep(50);
}

/// Puts its name into the next of names[1..]; names[0] counts.
void sign(gpo_soft_block* block) {
    auto names = argument<unsigned*>(block, 0);
    names[1 + __atomic_fetch_add(names, 1u, __ATOMIC_RELAXED)] = argument<unsigned>(block, 1);
}

struct Large {
    unsigned char bytes[600];
};

/// Sums the bytes of a struct passed by value.
void sum_large(gpo_soft_block* block) {
    const Large& large = *static_cast<const Large*>(block->args[1]);
    unsigned sum = 0;
    for (unsigned char byte : large.bytes) sum += byte;
    *argument<unsigned*>(block, 0) = sum;
}

int table[4] = {1, 2, 3, 4};

/// out[i] = table[i].
void read_table(gpo_soft_block* block) {
    auto out = argument<int*>(block, 0);
    for (int i = 0; i < 4; ++i) out[i] = table[i];
}

void shared_user(gpo_soft_block* block) {
    if (block->dynamic_shared_bytes) static_cast<char*>(block->dynamic_shared)[block->dynamic_shared_bytes - 1] = 1;
}

/// Sets the condition to --*left.
void count_down(gpo_soft_block* block) {
    block->services->set_condition(block, argument<unsigned long long>(block, 0), --*argument<unsigned*>(block, 1));
}

/// Launches graphs[i] for i < count, and has answers[i] what the launch returns.
void launch_graphs(gpo_soft_block* block) {
    auto graphs = argument<const unsigned long long*>(block, 0);
    auto answers = argument<int*>(block, 3);
    for (unsigned i = 0; i < argument<unsigned>(block, 1); ++i)
        answers[i] = block->services->launch_graph(block, graphs[i], argument<unsigned>(block, 2));
}

const gpo_soft_parameter add_parameters[] = {{0, 8}, {8, 4}, {16, 8}};
const gpo_soft_parameter two_pointers[] = {{0, 8}, {8, 8}};
const gpo_soft_parameter pointer_and_int[] = {{0, 8}, {8, 4}};
const gpo_soft_parameter launch_parameters[] = {{0, 8}, {8, 4}, {12, 4}, {16, 8}};
const gpo_soft_parameter large_parameters[] = {{0, 8}, {8, sizeof(Large)}};

const gpo_soft_kernel kernels[] = {
    {"add", add_parameters, 3, 0, 0, 1024, add, {}},
    {"wait_for", two_pointers, 2, GPO_SOFT_KERNEL_WAITS, 0, 1024, wait_for, {}},
    {"fail_when", pointer_and_int, 2, GPO_SOFT_KERNEL_WAITS, 0, 1024, fail_when, {}},
    {"count", two_pointers, 1, 0, 0, 1024, count, {}},
    {"occupy", two_pointers, 2, 0, 0, 1024, occupy, {}},
    {"count_down", two_pointers, 2, 0, 0, 1024, count_down, {}},
    {"launch_graphs", launch_parameters, 4, GPO_SOFT_KERNEL_LAUNCHES_GRAPHS, 0, 1024, launch_graphs, {}},
    {"sign", pointer_and_int, 2, 0, 0, 1024, sign, {}},
    {"sum_large", large_parameters, 2, 0, 0, 1024, sum_large, {}},
    {"read_table", two_pointers, 1, 0, 0, 1024, read_table, {}},
    {"shared_user", nullptr, 0, 0, 1024, 256, shared_user, {}},
};
const gpo_soft_variable variables[] = {{"table", table, sizeof table, 0}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const gpo_soft_image* gpo_soft_image_get(void) {
    static gpo_soft_image image;
    image.abi = GPO_SOFT_KERNEL_ABI;
    image.struct_size = sizeof image;
    image.kernels = kernels;
    image.kernel_count = sizeof kernels / sizeof *kernels;
    image.variables = variables;
    image.variable_count = sizeof variables / sizeof *variables;
    return &image;
}
