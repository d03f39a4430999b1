// A kernel and two more behind it, each over half of the data: launched by the kernel, or by the host with or without a
// wait in between. All arms launch through the library, and all kernels are in one module.
#include <cstdint>
#include <string>

#include "bench/gpu.h"
#include "bench/pairs.h"

using namespace gpo::bench;

namespace {

const char* const kSource = R"(
extern "C" __global__ void child(float *x, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
extern "C" __global__ void parent(float *x, unsigned n) {
    if (threadIdx.x == 0 && n == 0) x[0] = 0;
}
extern "C" __global__ void launching_parent(float *x, unsigned n) {
    child<<<(n / 2 + 255) / 256, 256>>>(x, n / 2);
    child<<<(n / 2 + 255) / 256, 256>>>(x + n / 2, n / 2);
}
)";

enum class Launches { by_kernel, by_host_with_wait, by_host };
constexpr const char* kNames[] = {"launched by the kernel", "by the host, which waits", "by the host"};

class Family {
public:
    explicit Family(const Row& row)
        : half_(row.size(1u << 19, 1u << 10)), data_(gpu_, uint64_t{half_} * 2 * sizeof(float)),
          children_(shape((half_ + 255) / 256, 256)) {
        auto options = sized<gpo_compile_options>();
        options.source = kSource;
        options.flags = GPO_COMPILE_DYNAMIC_PARALLELISM;
        const gpo_status status = gpo_module_compile(gpu_.device, &options, module_.out());
        if (status == GPO_NO_COMPILER || status == GPO_NOT_SUPPORTED)
            throw Skip("nothing here links kernels that launch kernels");
        check_call("gpo_module_compile", status);
        CHECK_GPO(gpo_module_get_kernel(module_, "child", child_.out()));
        CHECK_GPO(gpo_module_get_kernel(module_, "parent", parent_.out()));
        CHECK_GPO(gpo_module_get_kernel(module_, "launching_parent", launching_.out()));
    }
    gpo_device_t device() const { return gpu_.device; }

    /// Nanoseconds from the first launch until the host knows that all kernels are done.
    double run(Launches how) {
        const double begin = now_ns();
        launch(stream_, how == Launches::by_kernel ? launching_ : parent_, one_, data_.address, 2 * half_);
        if (how == Launches::by_host_with_wait) finish(stream_);
        if (how != Launches::by_kernel)
            for (const uint64_t from : {data_.address, data_.address + half_ * sizeof(float)})
                launch(stream_, child_, children_, from, half_);
        finish(stream_);
        return now_ns() - begin;
    }
    /// The median of many.
    double block(Launches how, int count) {
        std::vector<double> times;
        for (int i = 0; i < count; ++i) times.push_back(run(how));
        return median(times);
    }

private:
    const Gpu gpu_;
    const uint32_t half_;
    const Memory data_;
    Module module_;
    Kernel child_, parent_, launching_;
    const Stream stream_ = gpu_.stream();
    const gpo_launch one_ = shape(1, 1), children_;
};

void against(Row& row, Launches base) {
    Family family(row);
    const int count = row.size(100, 5);
    row.pairs([&] { return family.block(base, count); }, [&] { return family.block(Launches::by_kernel, count); });
}

/// gpo_advise()'s answer for a program whose kernels launch kernels.
Launches advised(gpo_device_t device) {
    auto workload = sized<gpo_workload>();
    workload.flags = GPO_WORKLOAD_DYNAMIC_PARALLELISM;
    workload.launches = 3;
    workload.kernel_ns = 3 * 1100;
    workload.decisions = 1;
    auto best = sized<gpo_advice>();
    uint64_t count = 0;
    CHECK_GPO(gpo_advise(device, &workload, nullptr, &best, sizeof best, 1, &count));
    return best.form == GPO_FORM_HOST_LAUNCHES ? Launches::by_host : Launches::by_kernel;
}

void advice(Row& row) {
    Family family(row);
    const int count = row.size(100, 5);
    Launches best = Launches::by_kernel;
    for (const Launches how : {Launches::by_host_with_wait, Launches::by_host})
        if (family.block(how, count) < family.block(best, count)) best = how;
    const Launches ours = advised(family.device());
    row.pairs([&] { return family.block(best, count); }, [&] { return family.block(ours, count); });
    row.note(std::string("advised: ") + kNames[static_cast<int>(ours)] + ", best: " + kNames[static_cast<int>(best)]);
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("children", argc, argv);
    bench.row({.name = "children_of_kernel",
               .what = "a kernel that launches two more, until the host knows that all are done",
               .base = "three launches by the host, which waits for the first"},
              [](Row& row) { against(row, Launches::by_host_with_wait); });
    bench.row({.name = "children_of_kernel_no_wait",
               .what = "the same",
               .base = "three launches by the host"},
              [](Row& row) { against(row, Launches::by_host); });
    bench.row({.name = "advice_children",
               .what = "a kernel and two more, launched as gpo_advise says",
               .base = "the fastest of these three ways",
               .target = ratio_at_most(1.05)},
              advice);
    return bench.finish();
}
