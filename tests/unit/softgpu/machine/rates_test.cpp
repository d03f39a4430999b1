// The software GPU with rates, in virtual time: durations and overlaps are exact numbers.
#include "unit/softgpu/softgpu.h"

#include <cmath>

#include "host/host.h"
#include "host/schedule.h"
#include "softgpu/machine/rates.h"

using namespace softgpu_test;

namespace {

constexpr size_t kMiB = 1 << 20;

/// Milliseconds between two events.
double between(Gpu& gpu, CUevent begin, CUevent end) {
    float ms = -1;
    OK(gpu.cu->cuEventElapsedTime(&ms, begin, end));
    return double(ms);
}

}  // namespace

TEST_CASE("rates are read from text") {
    gpo::softgpu::Rates rates;
    std::string why;
    CHECK(gpo::softgpu::parse_rates("h2d=55e9,d2h=50e9,d2d=2e12,launch=3000,kernel=10", &rates, &why));
    CHECK((rates.h2d_bytes_per_s == 55e9 && rates.d2h_bytes_per_s == 50e9 && rates.d2d_bytes_per_s == 2e12));
    CHECK((rates.kernel_launch_ns == 3000 && rates.kernel_ns == 10));
    for (const char* bad : {"h2d", "h2d=", "h2d=-1", "h2d=nan", "speed=1", "h2d=1x"}) {
        CHECK(!gpo::softgpu::parse_rates(bad, &rates, &why));
        CHECK(!why.empty());
    }
}

TEST_CASE("in virtual time copies take what their rate says, and the two directions and kernels overlap") {
    // 1 MiB takes 1 ms in, 2 ms out; a kernel 3 ms.
    const std::string rates =
        "h2d=" + std::to_string(kMiB * 1000) + ",d2h=" + std::to_string(kMiB * 500) + ",kernel=3000000";
    Setting setting("GPUORCH_SOFT_RATES", rates);
    gpo::host::Schedule schedule(5);
    {
        Gpu gpu;
        const CUstream in = gpu.stream(), out = gpu.stream(), run = gpu.stream();
        char* host = gpu.pinned<char>(2 * kMiB);
        uint32_t* words = gpu.pinned(1);
        const CUdeviceptr a = gpu.memory(kMiB), b = gpu.memory(kMiB);
        CUevent events[7];
        for (CUevent& event : events) event = gpu.event(0);
        gpu.kernel("count");
        const uint64_t begin = gpo::host::now();
        OK(gpu.cu->cuEventRecord(events[0], in));
        for (int i = 0; i < 4; ++i) OK(gpu.cu->cuMemcpyHtoDAsync(a, host, kMiB, in));
        OK(gpu.cu->cuEventRecord(events[1], in));
        for (int i = 0; i < 2; ++i) OK(gpu.cu->cuMemcpyDtoHAsync(host + kMiB, b, kMiB, out));
        OK(gpu.cu->cuEventRecord(events[2], out));
        OK(gpu.launch(run, "count", words));
        OK(gpu.cu->cuEventRecord(events[3], run));
        CHECK(gpo::host::now() == begin);   // the calls did nothing and waited for nothing
        for (const CUstream stream : {in, out, run}) OK(gpu.cu->cuStreamSynchronize(stream));
        CHECK(between(gpu, events[0], events[1]) == doctest::Approx(4.0).epsilon(1e-5));
        CHECK(between(gpu, events[0], events[2]) == doctest::Approx(4.0).epsilon(1e-5));
        CHECK(between(gpu, events[0], events[3]) == doctest::Approx(3.0).epsilon(1e-5));
        CHECK(double(gpo::host::now() - begin) == doctest::Approx(4e6).epsilon(1e-5));
        // In one stream the same operations run one after the other.
        OK(gpu.cu->cuEventRecord(events[4], in));
        OK(gpu.cu->cuMemcpyHtoDAsync(a, host, kMiB, in));
        OK(gpu.launch(in, "count", words));
        OK(gpu.cu->cuMemcpyDtoHAsync(host, a, kMiB, in));
        OK(gpu.cu->cuEventRecord(events[5], in));
        OK(gpu.cu->cuStreamSynchronize(in));
        CHECK(between(gpu, events[4], events[5]) == doctest::Approx(6.0).epsilon(1e-5));
        CHECK(words[0] == 2);
    }
    CHECK(!schedule.deadlocked());
}

TEST_CASE("a run of the software GPU is the same for the same seed") {
    const auto run = [](uint64_t seed) {
        Setting setting("GPUORCH_SOFT_RATES", "h2d=1e9,d2h=1e9,d2d=1e10,kernel=2000");
        gpo::host::Schedule schedule(seed);
        {
            Gpu gpu;
            const CUstream a = gpu.stream(), b = gpu.stream();
            const CUevent event = gpu.event();
            uint32_t* words = gpu.pinned(16);
            const CUdeviceptr data = gpu.memory(64);
            for (int i = 0; i < 5; ++i) {
                OK(gpu.cu->cuMemcpyHtoDAsync(data, words, 64, a));
                OK(gpu.cu->cuEventRecord(event, a));
                OK(gpu.cu->cuStreamWaitEvent(b, event, 0));
                OK(gpu.launch(b, "count", words + 3));
                OK(gpu.cu->cuMemcpyDtoHAsync(words + 8, data, 4, b));
            }
            OK(gpu.cu->cuStreamSynchronize(a));
            OK(gpu.cu->cuStreamSynchronize(b));
            CHECK(words[3] == 5);
        }
        CHECK(!schedule.deadlocked());
        return schedule.trace_hash();
    };
    for (uint64_t seed = 1; seed <= 5; ++seed) CHECK(run(seed) == run(seed));
}
