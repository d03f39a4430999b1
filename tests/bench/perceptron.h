// A perceptron of 784, 512, 512 and 10 neurons: one request at a time through the driver, and as the work of a batcher.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

namespace gpo::bench {

/// layer(out, in, weights, inputs, outputs, rows)   max(0, weights in), for each row
///
/// A warp has a neuron and up to 16 rows: so many requests share a read of the weights. The sum of a row doesn't depend
/// on the rows beside it.
inline const char* const perceptron_source = R"(
enum { kRows = 16, kWarps = 8 };

template <int rows>
__device__ __forceinline__ void tile(float *out, const float *in, const float *weights, unsigned inputs,
                                     unsigned outputs, unsigned neuron, unsigned count) {
    const unsigned lane = threadIdx.x % 32;
    float sums[rows] = {};
    for (unsigned i = lane; i < inputs; i += 32) {
        const float weight = weights[neuron * inputs + i];
#pragma unroll
        for (int row = 0; row < rows; ++row)
            if (rows == 1 || row < count) sums[row] += weight * in[row * inputs + i];
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        for (int apart = 16; apart > 0; apart /= 2) sums[row] += __shfl_xor_sync(0xffffffffu, sums[row], apart);
        if (lane == 0 && row < count) out[row * outputs + neuron] = fmaxf(sums[row], 0);
    }
}

extern "C" __global__ void layer(float *out, const float *in, const float *weights, unsigned inputs, unsigned outputs,
                                 unsigned rows) {
    const unsigned neuron = blockIdx.x * kWarps + threadIdx.x / 32, first = blockIdx.y * kRows;
    if (neuron >= outputs) return;
    out += (size_t)first * outputs;
    in += (size_t)first * inputs;
    if (rows == 1) tile<1>(out, in, weights, inputs, outputs, neuron, 1);
    else tile<kRows>(out, in, weights, inputs, outputs, neuron, rows - first < kRows ? rows - first : kRows);
}
)";

inline constexpr unsigned kTileRows = 16, kTileWarps = 8;  // as in the source
inline constexpr size_t kInputs = 784, kScores = 10, kLayers = 3;
inline constexpr uint64_t kInputBytes = kInputs * sizeof(float), kScoreBytes = kScores * sizeof(float);

/// The network on the CPU, some images, and their scores.
class Network {
public:
    static constexpr size_t kImages = 16;

    explicit Network(unsigned hidden) : neurons{kInputs, hidden, hidden, kScores} {
        std::mt19937_64 random(1);
        std::uniform_real_distribution<float> pixel(0, 1), weight(-1 / 16.0f, 1 / 16.0f);
        for (size_t l = 0; l < kLayers; ++l) {
            weights[l].resize(size_t{neurons[l]} * neurons[l + 1]);
            for (float& one : weights[l]) one = weight(random);
        }
        for (size_t i = 0; i < kImages; ++i) {
            for (float& one : images_[i]) one = pixel(random);
            scores_[i] = scores(images_[i]);
        }
    }
    const std::array<unsigned, kLayers + 1> neurons;
    std::array<std::vector<float>, kLayers> weights;  // a row for each neuron

    const float* image(size_t request) const { return images_[request % kImages].data(); }
    /// Throws unless these are the scores of a request's image.
    void require_scores(size_t request, const float* found, const char* arm) const {
        for (size_t i = 0; i < kScores; ++i) {
            const float wanted = scores_[request % kImages][i];
            if (!(std::fabs(found[i] - wanted) <= 1e-4f * (1 + std::fabs(wanted))))
                throw std::runtime_error(std::string(arm) + " has the score " + std::to_string(found[i]) + " and not " +
                                         std::to_string(wanted));
        }
    }

private:
    std::vector<float> scores(const std::array<float, kInputs>& image) const {
        std::vector<float> from(image.begin(), image.end());
        for (size_t l = 0; l < kLayers; ++l) {
            std::vector<float> to(neurons[l + 1]);
            for (size_t j = 0; j < to.size(); ++j) {
                float sum = 0;
                for (size_t i = 0; i < from.size(); ++i) sum += weights[l][j * from.size() + i] * from[i];
                to[j] = std::fmax(sum, 0.0f);
            }
            from = std::move(to);
        }
        return from;
    }
    std::array<std::array<float, kInputs>, kImages> images_{};
    std::array<std::vector<float>, kImages> scores_;
};

/// Pinned memory for the images and the scores of so many requests.
class Requests {
public:
    Requests(const Gpu& gpu, const Network& network, size_t count)
        : count(count), arena_(gpu.arena(count * (kInputBytes + kScoreBytes) + 4096)), network_(network) {
        CHECK_GPO(gpo_arena_allocate(arena_, count * kInputBytes, GPO_AUTO, &images_));
        CHECK_GPO(gpo_arena_allocate(arena_, count * kScoreBytes, GPO_AUTO, &scores_));
        for (size_t i = 0; i < count; ++i)
            for (size_t at = 0; at < kInputs; ++at) image(i)[at] = network.image(i)[at];
        forget();
    }
    ~Requests() {
        gpo_arena_free(arena_, images_);
        gpo_arena_free(arena_, scores_);
    }
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    const size_t count;
    float* image(size_t request) const { return static_cast<float*>(images_) + request % count * kInputs; }
    float* scores(size_t request) const { return static_cast<float*>(scores_) + request % count * kScores; }
    void forget() const {
        for (size_t i = 0; i < count * kScores; ++i) scores(0)[i] = -1;
    }
    void check(const char* arm) const {
        for (size_t i = 0; i < count; ++i) network_.require_scores(i, scores(i), arm);
    }

private:
    Arena arena_;
    void* images_ = nullptr;
    void* scores_ = nullptr;
    const Network& network_;
};

inline gpo_launch layer_shape(unsigned outputs, uint64_t rows) {
    gpo_launch made = shape((outputs + kTileWarps - 1) / kTileWarps, kTileWarps * 32);
    made.grid[1] = static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows);
    return made;
}

/// One request at a time, on some streams.
class RawPerceptron {
public:
    RawPerceptron(Raw& raw, Gpu& gpu, const Network& network, size_t streams)
        : raw_(raw), network_(network), kernel_(raw.function(gpu, "layer")) {
        for (size_t i = 0; i < streams; ++i) {
            Lane lane{raw.stream(), {}};
            for (size_t l = 0; l <= kLayers; ++l) lane.rows[l] = raw.memory(network.neurons[l] * sizeof(float));
            lanes_.push_back(lane);
        }
        for (size_t l = 0; l < kLayers; ++l) {
            const std::vector<float>& weights = network.weights[l];
            weights_[l] = raw.memory(weights.size() * sizeof(float));
            CHECK_CU(raw.cu.cuMemcpyHtoDAsync(weights_[l], weights.data(), weights.size() * sizeof(float),
                                              lanes_[0].stream));
        }
        finish();
    }

    void put(size_t stream, const float* image, float* scores) const {
        const Lane& lane = lanes_[stream];
        CHECK_CU(raw_.cu.cuMemcpyHtoDAsync(lane.rows[0], image, kInputBytes, lane.stream));
        for (size_t l = 0; l < kLayers; ++l) {
            CUdeviceptr out = lane.rows[l + 1], in = lane.rows[l], weights = weights_[l];
            unsigned inputs = network_.neurons[l], outputs = network_.neurons[l + 1], rows = 1;
            void* arguments[] = {&out, &in, &weights, &inputs, &outputs, &rows};
            const gpo_launch one = layer_shape(outputs, 1);
            CHECK_CU(raw_.cu.cuLaunchKernel(kernel_, one.grid[0], 1, 1, one.block[0], 1, 1, 0, lane.stream, arguments,
                                            nullptr));
        }
        CHECK_CU(raw_.cu.cuMemcpyDtoHAsync(scores, lane.rows[kLayers], kScoreBytes, lane.stream));
    }
    void finish() const {
        for (const Lane& lane : lanes_) raw_.finish(lane.stream);
    }

private:
    struct Lane {
        CUstream stream;
        std::array<CUdeviceptr, kLayers + 1> rows;
    };
    Raw& raw_;
    const Network& network_;
    const CUfunction kernel_;
    std::vector<Lane> lanes_;
    std::array<CUdeviceptr, kLayers> weights_{};
};

/// Buckets for batches of 1, 2, 4, … up to `most` requests, recorded.
class PerceptronBuckets {
public:
    PerceptronBuckets(Gpu& gpu, const Network& network, uint64_t most)
        : network_(network), kernel_(gpu.kernel("layer")) {
        const Stream stream = gpu.stream();
        for (const unsigned neurons : network.neurons)
            rows_.push_back(std::make_unique<Memory>(gpu, most * neurons * sizeof(float)));
        for (const std::vector<float>& weights : network.weights) {
            weights_.push_back(std::make_unique<Memory>(gpu, weights.size() * sizeof(float)));
            CHECK_GPO(
                gpo_copy_to_device(stream, weights_.back()->address, weights.data(), weights.size() * sizeof(float)));
        }
        std::vector<uint64_t> shapes;
        for (uint64_t one = 1; one <= most; one *= 2) shapes.push_back(one);
        auto options = sized<gpo_buckets_options>();
        options.shapes = shapes.data();
        options.shape_count = shapes.size();
        options.record = record;
        options.user = this;
        CHECK_GPO(gpo_buckets_create(gpu.device, &options, buckets_.out()));
        CHECK_GPO(gpo_buckets_prepare(buckets_, stream));
        finish(stream);
    }
    PerceptronBuckets(const PerceptronBuckets&) = delete;
    PerceptronBuckets& operator=(const PerceptronBuckets&) = delete;

    /// For a key of a batcher.
    gpo_batcher_key_options key(uint64_t max_delay_ns) {
        buckets_handle_ = buckets_;
        auto options = sized<gpo_batcher_key_options>();
        options.flags = GPO_BATCHER_KEEP_OUTPUT;
        options.layout = GPO_BATCH_ROWS;
        options.input_bytes = kInputBytes;
        options.output_bytes = kScoreBytes;
        options.max_delay_ns = max_delay_ns;
        options.buckets = &buckets_handle_;
        options.bucket_count = 1;
        return options;
    }

private:
    static gpo_status record(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
        static_cast<PerceptronBuckets*>(user)->put(stream, *work);
        return GPO_SUCCESS;
    }
    void put(gpo_stream_t stream, const gpo_bucket_work& work) const {
        if (work.phase == GPO_BUCKET_EAGER) throw std::runtime_error("a batch runs eagerly");
        const auto rows = static_cast<uint32_t>(work.shape);
        for (size_t l = 0; l < kLayers; ++l) {
            const unsigned inputs = network_.neurons[l], outputs = network_.neurons[l + 1];
            launch(stream, kernel_, layer_shape(outputs, rows), rows_[l + 1]->address, rows_[l]->address,
                   weights_[l]->address, inputs, outputs, rows);
            if (!work.graph_template) continue;
            uint32_t node = 0;
            CHECK_GPO(gpo_template_get_last_node(work.graph_template, stream, &node));
            const auto name = [&](const char* what, uint32_t argument) {
                CHECK_GPO(
                    gpo_template_add_parameter(work.graph_template, what, node, GPO_PARAMETER_ARGUMENT, argument));
            };
            if (l == 0) name("input", 1);
            if (l + 1 == kLayers) name("output", 0);
        }
    }

    const Network& network_;
    const Kernel kernel_;
    std::vector<std::unique_ptr<Memory>> rows_, weights_;
    Buckets buckets_;
    gpo_buckets_t buckets_handle_ = nullptr;
};

}  // namespace gpo::bench
