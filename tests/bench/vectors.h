// Short vectors, and small kernels that double them, in both arms: for rows about many small kernels with checked
// results.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu.h"
#include "bench/raw.h"

namespace gpo::bench {

inline constexpr unsigned kThreads = 32;
inline constexpr uint64_t kVectorBytes = kThreads * 16;  // one float4 for each thread
inline constexpr size_t kFloats = kVectorBytes / sizeof(float);

inline uint32_t bits_of(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline void require_all(const float (&vector)[kFloats], float wanted, const char* arm) {
    for (const float value : vector)
        if (value != wanted)
            throw std::runtime_error(std::string(arm) + " has " + std::to_string(value) + " and not " +
                                     std::to_string(wanted));
}

/// The driver's arm: vectors, a kernel and a stream.
class RawVectors {
public:
    RawVectors(Raw& raw, Gpu& gpu) : raw_(raw), stream_(raw.stream()), kernel_(raw.function(gpu, "scale")) {}

    CUdeviceptr vector(float value) {
        const CUdeviceptr made = raw_.memory(kVectorBytes);
        CHECK_CU(raw_.cu.cuMemsetD32Async(made, bits_of(value), kFloats, stream_));
        return made;
    }
    void twice(CUdeviceptr to, CUdeviceptr from) {
        unsigned long long bytes = kVectorBytes;
        void* arguments[] = {&to, &from, &bytes};
        CHECK_CU(raw_.cu.cuLaunchKernel(kernel_, 1, 1, 1, kThreads, 1, 1, 0, stream_, arguments, nullptr));
    }
    void finish() const { raw_.finish(stream_); }
    void check(CUdeviceptr vector, float wanted) const {
        float read[kFloats];
        CHECK_CU(raw_.cu.cuMemcpyDtoHAsync(read, vector, sizeof read, stream_));
        finish();
        require_all(read, wanted, "the base");
    }

private:
    Raw& raw_;
    const CUstream stream_;
    const CUfunction kernel_;
};

/// The library's arm.
class Vectors {
public:
    explicit Vectors(Gpu& gpu) : gpu_(gpu), stream_(gpu.stream()), kernel_(gpu.kernel("scale")) {
        CHECK_GPO(gpo_template_create(gpu.device, nullptr, template_.out()));
    }

    uint64_t vector(float value) {
        memory_.push_back(std::make_unique<Memory>(gpu_, kVectorBytes));
        const uint64_t made = memory_.back()->address;
        CHECK_GPO(gpo_fill(stream_, made, bits_of(value), sizeof value, kFloats));
        finish(stream_);
        return made;
    }
    void begin() { CHECK_GPO(gpo_template_begin(template_, stream_)); }
    void twice(uint64_t to, uint64_t from) { launch(stream_, kernel_, shape(1, kThreads), to, from, kVectorBytes); }
    /// Names an argument of the last recorded kernel.
    void name(const char* name, uint32_t argument) {
        uint32_t node = 0;
        CHECK_GPO(gpo_template_get_last_node(template_, stream_, &node));
        CHECK_GPO(gpo_template_add_parameter(template_, name, node, GPO_PARAMETER_ARGUMENT, argument));
    }
    gpo_template_t end() {
        CHECK_GPO(gpo_template_end(template_));
        return template_;
    }
    gpo_setting setting(const char* name, const uint64_t* value) const {
        auto made = sized<gpo_setting>();
        uint64_t bytes = 0;
        CHECK_GPO(gpo_template_get_parameter(template_, name, &made.parameter, &bytes));
        made.value = value;
        made.bytes = bytes;
        return made;
    }
    gpo_stream_t stream() const { return stream_; }
    void check(uint64_t vector, float wanted) const {
        float read[kFloats];
        CHECK_GPO(gpo_copy_to_host(stream_, read, vector, sizeof read));
        finish(stream_);
        require_all(read, wanted, "the library");
    }

private:
    Gpu& gpu_;
    const Stream stream_;
    const Kernel kernel_;
    std::vector<std::unique_ptr<Memory>> memory_;  // freed before the runtime is shut down, after the template
    Template template_;
};

}  // namespace gpo::bench
