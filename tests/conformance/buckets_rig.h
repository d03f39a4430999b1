// Shared by the tests of buckets: buckets whose work scales as many words as the shape has.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

inline const char* const kScale = R"(
extern "C" __global__ void scale(unsigned* to, const unsigned* from, unsigned count, unsigned factor) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] * factor + 1;
}
)";
inline constexpr uint32_t kMost = 64;

inline std::string last_text() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

inline gpo_setting setting_of(const char* name, const uint32_t& value) {
    auto setting = sized<gpo_setting>();
    setting.name = name;
    setting.value = &value;
    setting.bytes = sizeof value;
    return setting;
}

/// `out[i] = in[i] * factor + 1` for all elements of a shape, with 3 as the factor where a request gives none.
class Scaler {
public:
    struct Call {
        uint64_t size, shape;
        gpo_template_t recorded;  // NULL: the work ran
        gpo_stream_t stream;
        uint32_t phase;
    };

    explicit Scaler(Gpu& gpu)
        : kernel(gpu.kernel(kScale, "scale")), in(gpu.pinned<uint32_t>(kMost)), out(gpu.pinned<uint32_t>(kMost)),
          gpu_(gpu) {
        std::fill(in.begin(), in.end(), 10);
    }

    gpo_buckets_options options() {
        auto made = sized<gpo_buckets_options>();
        made.shapes = shapes.data();
        made.shape_count = shapes.size();
        made.record = record;
        made.user = this;
        made.label = "scaler";
        return made;
    }
    Buckets make(const gpo_buckets_options& options) {
        Buckets made;
        REQUIRE_OK(gpo_buckets_create(gpu_.device, &options, made.out()));
        return made;
    }
    Buckets make() { return make(options()); }

    /// The shape that a request ran in.
    uint64_t request(gpo_buckets_t buckets, gpo_stream_t stream, uint64_t size) {
        uint64_t shape = UINT64_MAX;
        CHECK_OK(gpo_buckets_launch(buckets, stream, size, nullptr, 0, 0, &shape));
        return shape;
    }
    uint64_t request(gpo_buckets_t buckets, gpo_stream_t stream, uint64_t size, uint32_t factor) {
        const gpo_setting setting = setting_of("factor", factor);
        uint64_t shape = UINT64_MAX;
        CHECK_OK(gpo_buckets_launch(buckets, stream, size, &setting, sizeof setting, 1, &shape));
        return shape;
    }
    /// How many elements have this value, from the first on; then all are 0 again.
    size_t written(gpo_stream_t stream, uint32_t value) {
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        const auto other = [&](const uint32_t& one) { return read(one) != value; };
        const auto count = static_cast<size_t>(std::find_if(out.begin(), out.end(), other) - out.begin());
        std::fill(out.begin(), out.end(), 0);
        return count;
    }
    size_t recordings() const {
        const auto recorded = [](const Call& call) { return call.recorded != nullptr; };
        return static_cast<size_t>(std::count_if(calls.begin(), calls.end(), recorded));
    }
    /// The template of the newest recording of a shape.
    gpo_template_t recorded(uint64_t shape) const {
        gpo_template_t found = nullptr;
        for (const Call& call : calls)
            if (call.recorded && call.shape == shape) found = call.recorded;
        return found;
    }

    Kernel kernel;
    Pinned<uint32_t> in, out;
    std::vector<uint64_t> shapes{16, 4, 64};  // in no order
    std::vector<Call> calls;
    /// Runs at the end of a call of `record`.
    std::function<gpo_status(const gpo_bucket_work&, gpo_stream_t)> also;

private:
    static gpo_status record(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
        return static_cast<Scaler*>(user)->put(stream, *work);
    }
    gpo_status put(gpo_stream_t stream, const gpo_bucket_work& work) {
        calls.push_back({work.size, work.shape, work.graph_template, stream, work.phase});
        uint32_t factor = 3;
        if (work.setting_count) factor = *static_cast<const uint32_t*>(work.settings[0].value);
        const auto count = static_cast<uint32_t>(std::min<uint64_t>(work.shape, kMost));
        CHECK_OK(launch(stream, kernel, 1, kMost, out.data(), in.data(), count, factor));
        if (work.graph_template) {
            uint32_t node = 0;
            CHECK_OK(gpo_template_get_last_node(work.graph_template, stream, &node));
            CHECK_OK(gpo_template_add_parameter(work.graph_template, "factor", node, GPO_PARAMETER_ARGUMENT, 3));
        }
        return also ? also(work, stream) : GPO_SUCCESS;
    }

    Gpu& gpu_;
};

inline gpo_buckets_statistics counts_of(gpo_buckets_t buckets) {
    auto out = sized<gpo_buckets_statistics>();
    REQUIRE_OK(gpo_buckets_get_statistics(buckets, &out));
    return out;
}

inline gpo_template_statistics template_counts(gpo_template_t of) {
    auto out = sized<gpo_template_statistics>();
    REQUIRE_OK(gpo_template_get_statistics(of, &out));
    return out;
}

}  // namespace gpo::test
