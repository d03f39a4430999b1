// Shared by the tests of batchers: work that scales words, requests with memory of their own, and stops for callbacks.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

inline const char* const kBatchScale = R"(
extern "C" __global__ void scale(unsigned* to, const unsigned* from, unsigned long long count) {
    const unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count; i += threads)
        to[i] = from[i] * 3 + 1;
}
)";
inline uint32_t scaled(uint32_t word) { return word * 3 + 1; }

inline std::string name_of(gpo_status status) { return gpo_status_name(status); }

inline constexpr uint32_t kUntouched = 0xa5a5a5a5;
inline constexpr uint64_t kHour = 3'600'000'000'000;

/// A place where callbacks wait on the host until the test lets them go on. The destructor does so, too.
class Stop {
public:
    ~Stop() {
        open();
        while (inside_ != 0) std::this_thread::yield();
    }
    void wait() {
        ++inside_;
        ++arrived;
        while (!open_) open_.wait(false);
        --inside_;
    }
    void open() {
        open_ = true;
        open_.notify_all();
    }
    /// Whether as many have come.
    bool reached(uint32_t count = 1) {
        return comes_true([&] { return arrived >= count; });
    }

    std::atomic<uint32_t> arrived{0};

private:
    std::atomic<uint32_t> inside_{0};
    std::atomic<bool> open_{false};
};

/// A batch as its callback saw it.
struct SeenBatch {
    gpo_batch batch;
    std::vector<gpo_batch_request> members;
    std::thread::id thread;
    std::vector<uint64_t> numbers() const {
        std::vector<uint64_t> out;
        for (const auto& member : members) out.push_back(member.user_data);
        return out;
    }
    uint64_t output_words() const {
        uint64_t bytes = 0;
        for (const auto& member : members) bytes += member.output_bytes;
        return bytes / sizeof(uint32_t);
    }
    bool has(uint64_t user_data) const {
        const auto numbers = this->numbers();
        return std::find(numbers.begin(), numbers.end(), user_data) != numbers.end();
    }
};

/// The work of keys: each word of the output is the scaled word of the input. Stores the batches that it saw.
class BatchWork {
public:
    using Part = std::function<gpo_status(gpo_stream_t, const SeenBatch&)>;

    /// A kernel for each device of the batcher.
    explicit BatchWork(std::vector<gpo_kernel_t> kernels) : kernels_(std::move(kernels)) {}
    BatchWork(const BatchWork&) = delete;

    static gpo_status put(void* user, gpo_stream_t stream, const gpo_batch* batch) {
        return static_cast<BatchWork*>(user)->run(stream, *batch);
    }
    std::vector<SeenBatch> seen() {
        std::lock_guard held(lock_);
        return seen_;
    }
    size_t count() {
        std::lock_guard held(lock_);
        return seen_.size();
    }

    bool scales = true;  // false: only `before` and `after` are called
    // Set them while no batch runs.
    Part before, after;

private:
    gpo_status run(gpo_stream_t stream, const gpo_batch& batch) {
        SeenBatch one{batch, {}, std::this_thread::get_id()};
        const auto* at = reinterpret_cast<const char*>(batch.members);
        for (uint32_t i = 0; i < batch.requests; ++i, at += batch.member_stride)
            one.members.push_back(*reinterpret_cast<const gpo_batch_request*>(at));
        {
            std::lock_guard held(lock_);
            seen_.push_back(one);
        }
        gpo_status status = before ? before(stream, one) : GPO_SUCCESS;
        if (status == GPO_SUCCESS && scales) {
            const uint64_t count = one.output_words();
            status = launch(stream, kernels_.at(batch.device), 8, 64, batch.output, batch.input, count);
        }
        if (status == GPO_SUCCESS && after) status = after(stream, one);
        return status;
    }

    const std::vector<gpo_kernel_t> kernels_;
    std::mutex lock_;
    std::vector<SeenBatch> seen_;
};

/// A request with its memory, which is pageable.
struct Asked {
    std::vector<uint32_t> in, out;
    gpo_batcher_request request = sized<gpo_batcher_request>();
    uint64_t number = 0, ticket = 0, made = UINT64_MAX;

    bool right() const {
        return std::equal(in.begin(), in.end(), out.begin(), out.end(),
                          [](uint32_t from, uint32_t to) { return to == scaled(from); });
    }
    bool untouched() const { return all(kUntouched); }
    bool all(uint32_t word) const {
        return std::all_of(out.begin(), out.end(), [&](uint32_t one) { return one == word; });
    }
};

/// A batcher of the fixture's device, one lane unless the options say more, and its requests.
class BatcherRig {
public:
    using Ends = std::map<uint64_t, gpo_completion>;  // by user_data

    explicit BatcherRig(Gpu& gpu, gpo_batcher_options options = sized<gpo_batcher_options>())
        : gpu(gpu), queue(gpu.queue(1 << 16)), kernel(gpu.kernel(kBatchScale, "scale")), work({kernel.get()}) {
        if (!options.devices) {
            options.devices = &gpu.device;
            options.device_count = 1;
        }
        REQUIRE_OK(gpo_batcher_create(&options, batcher.out()));
    }
    /// Waits for the entries: then no callback is running, and no request uses its memory.
    ~BatcherRig() {
        batcher.reset();
        const bool ended = comes_true([&] {
            auto figures = sized<gpo_cq_statistics>();
            if (executor) gpo_executor_poll(executor, nullptr);
            return !queue || gpo_cq_get_statistics(queue, &figures) != GPO_SUCCESS ||
                   figures.delivered == figures.accepted;
        });
        CHECK(ended);
    }
    BatcherRig(const BatcherRig&) = delete;

    /// Keys of rows of `words` words, and of elements of one word. `work` runs their batches.
    gpo_batcher_key_options rows(uint32_t max_batch, uint64_t max_delay_ns = kHour, uint64_t words = 4) {
        auto options = sized<gpo_batcher_key_options>();
        options.layout = GPO_BATCH_ROWS;
        options.max_batch = max_batch;
        options.max_delay_ns = max_delay_ns;
        options.input_bytes = options.output_bytes = words * sizeof(uint32_t);
        options.work = BatchWork::put;
        options.user = &work;
        return options;
    }
    gpo_batcher_key_options ragged(uint64_t max_elements, uint32_t max_batch, uint64_t max_delay_ns = kHour) {
        auto options = rows(max_batch, max_delay_ns, 1);
        options.layout = GPO_BATCH_RAGGED;
        options.max_elements = max_elements;
        return options;
    }
    uint32_t add(const gpo_batcher_key_options& options) {
        uint32_t key = UINT32_MAX;
        REQUIRE_OK(gpo_batcher_add_key(batcher, &options, &key));
        REQUIRE(key == keys_.size());
        keys_.push_back(options);
        return key;
    }

    /// A request that is not submitted yet. Its user_data is its number, from 0.
    Asked& ask(uint32_t key, uint64_t flow = 0, uint64_t elements = 0) {
        Asked& one = asked.emplace_back();
        const auto& options = keys_.at(key);
        const uint64_t count = std::max<uint64_t>(elements, 1);
        one.number = asked.size() - 1;
        one.in.resize(count * options.input_bytes / sizeof(uint32_t));
        one.out.resize(count * options.output_bytes / sizeof(uint32_t), kUntouched);
        for (size_t i = 0; i < one.in.size(); ++i) one.in[i] = static_cast<uint32_t>(one.number * 1000 + i);
        one.request.key = key;
        one.request.flow = flow;
        one.request.elements = elements;
        one.request.input = one.in.empty() ? nullptr : one.in.data();
        one.request.output = one.out.empty() ? nullptr : one.out.data();
        return one;
    }
    gpo_status submit(Asked& one, uint64_t* wait_ns = nullptr) {
        return gpo_batcher_submit(batcher, &one.request, queue, one.number, &one.ticket, wait_ns);
    }
    /// A request that is accepted.
    Asked& enter(uint32_t key, uint64_t flow = 0, uint64_t elements = 0) { return enter(ask(key, flow, elements)); }
    Asked& enter(Asked& one) {
        uint64_t wait_ns = 77;
        REQUIRE_OK(submit(one, &wait_ns));
        CHECK(one.ticket != 0);
        CHECK(wait_ns == 0);
        return one;
    }
    /// A row that was asked for and is refused: nothing comes of it.
    void refused(gpo_status status, Asked& one) {
        const auto before = info();
        uint64_t wait_ns = 77;
        CHECK_STATUS(status, submit(one, &wait_ns));
        if (status != GPO_TIMEOUT) CHECK(wait_ns == 0);
        CHECK(info().submitted == before.submitted);
        CHECK(one.untouched());
    }

    /// Takes as many entries as there are to come; the first ones in their order are in `order`.
    Ends take(size_t count) {
        Ends out;
        std::vector<gpo_completion> entries(count);
        for (size_t taken = 0; taken < count;) {
            uint64_t got = 0;
            if (executor) {
                REQUIRE(comes_true([&] {
                    gpo_executor_poll(executor, nullptr);
                    return gpo_cq_wait(queue, 0) == GPO_SUCCESS;
                }));
            } else {
                REQUIRE_OK(gpo_cq_wait(queue, kPatience));
            }
            REQUIRE_OK(gpo_cq_drain(queue, &entries[taken], sizeof entries[0], count - taken, &got));
            for (size_t i = taken; i < taken + got; ++i) note(entries[i], out);
            taken += got;
        }
        return out;
    }
    /// Takes entries that must all have this status, and with GPO_SUCCESS the right output, else none.
    Ends take(size_t count, gpo_status status) {
        const Ends ends = take(count);
        for (const auto& [number, entry] : ends) {
            INFO("request " << number << ": " << name_of(entry.status) << " " << text_of(entry));
            CHECK(entry.status == status);
            CHECK((status == GPO_SUCCESS ? asked.at(number).right() : asked.at(number).untouched()));
        }
        return ends;
    }
    bool nothing_there() {
        gpo_completion entry{};
        uint64_t count = 0;
        CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
        return count == 0;
    }
    gpo_error error_of(const gpo_completion& entry) {
        auto error = sized<gpo_error>();
        if (entry.status != GPO_SUCCESS) CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
        return error;
    }
    std::string text_of(const gpo_completion& entry) { return error_of(entry).message; }
    /// Whether the error of an entry names something.
    bool names(const gpo_completion& entry, const std::string& what) {
        const gpo_error error = error_of(entry);
        return (std::string(error.object) + " " + error.message).find(what) != std::string::npos;
    }
    gpo_batcher_info info() {
        auto out = sized<gpo_batcher_info>();
        REQUIRE_OK(gpo_batcher_get_info(batcher, &out));
        return out;
    }
    gpo_batcher_info info(uint32_t key) {
        auto out = sized<gpo_batcher_info>();
        REQUIRE_OK(gpo_batcher_get_key_info(batcher, key, &out));
        return out;
    }

    Gpu& gpu;
    Queue queue;
    Kernel kernel;
    BatchWork work;
    std::deque<Asked> asked;
    std::vector<uint64_t> order;        // user_data of the entries so far
    gpo_executor_t executor = nullptr;  // set: has no threads, and take() polls it
    Batcher batcher;

private:
    void note(const gpo_completion& entry, Ends& ends) {
        CHECK(entry.origin == GPO_ORIGIN_BATCHER);
        REQUIRE(entry.user_data < asked.size());
        CHECK(entry.operation == asked[entry.user_data].ticket);
        CHECK(entry.completed_ns >= entry.submitted_ns);
        CHECK(ends.emplace(entry.user_data, entry).second);
        CHECK(std::find(order.begin(), order.end(), entry.user_data) == order.end());
        order.push_back(entry.user_data);
    }

    std::vector<gpo_batcher_key_options> keys_;
};

/// Keeps the only lane of a rig busy: the callback of a batch of another key waits. Later requests wait then.
class LaneHold {
public:
    explicit LaneHold(BatcherRig& rig) : rig_(rig), queue_(rig.gpu.queue(1)) {
        auto options = sized<gpo_batcher_key_options>();
        options.layout = GPO_BATCH_ROWS;
        options.max_batch = 1;
        options.max_delay_ns = 1;
        options.input_bytes = sizeof word_;
        options.label = "hold";
        options.work = [](void* user, gpo_stream_t, const gpo_batch*) {
            static_cast<LaneHold*>(user)->stop_.wait();
            return GPO_SUCCESS;
        };
        options.user = this;
        key = rig.add(options);
        auto request = sized<gpo_batcher_request>();
        request.key = key;
        request.input = &word_;
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_batcher_submit(rig.batcher, &request, queue_, 0, &ticket, nullptr));
        REQUIRE(stop_.reached());
    }
    /// Ends the hold, and waits for the batch.
    ~LaneHold() {
        open();
        CHECK_OK(gpo_cq_wait(queue_, kPatience));
    }
    void open() { stop_.open(); }

    uint32_t key = 0;

private:
    BatcherRig& rig_;
    Queue queue_;
    uint32_t word_ = 0;
    Stop stop_;
};

inline gpo_batcher_options batcher_options(uint32_t lanes, uint32_t capacity = 0, gpo_executor_t executor = nullptr) {
    auto options = sized<gpo_batcher_options>();
    options.lanes = lanes;
    options.capacity = capacity;
    options.executor = executor;
    return options;
}

/// A callback of a request, and what it was called with.
struct BatchCalled {
    std::atomic<int> times{0};
    std::atomic<gpo_status> status{GPO_INTERNAL};
    std::atomic<uint64_t> ticket{0};
    static void call(void* user, const gpo_completion* completion, const gpo_error* error) {
        auto& self = *static_cast<BatchCalled*>(user);
        CHECK((error != nullptr) == (completion->status != GPO_SUCCESS));
        CHECK(completion->origin == GPO_ORIGIN_BATCHER);
        CHECK(completion->user_data == reinterpret_cast<uint64_t>(user));
        self.status = completion->status;
        self.ticket = completion->operation;
        ++self.times;
    }
    bool came() {
        return comes_true([&] { return times == 1; });
    }
};

}  // namespace gpo::test
