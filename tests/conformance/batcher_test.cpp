// Batchers: what a batch is, whose bytes lie where, and all kinds of memory. When batches are formed is in
// batcher_forming_test.cpp.
#include <cstring>
#include <random>
#include <set>

#include "conformance/batcher_rig.h"

using namespace gpo::test;

namespace {

/// Reads words of a batch back, in the order of its stream.
template <class T>
void read_back(gpo_stream_t stream, Pinned<T>& to, uint64_t from, size_t count) {
    REQUIRE(count <= to.size());
    CHECK_OK(gpo_copy_to_host(stream, to.data(), from, count * sizeof(T)));
}

/// Device memory with the words of a request's input or output, in place of its host memory.
struct DeviceCopy {
    DeviceCopy(Gpu& gpu, const std::vector<uint32_t>& words) : stream(gpu.stream()), memory(gpu, bytes_of(words)) {
        REQUIRE_OK(gpo_copy_to_device(stream, memory, words.data(), bytes_of(words)));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }
    void read(std::vector<uint32_t>& words) {
        REQUIRE_OK(gpo_copy_to_host(stream, words.data(), memory, bytes_of(words)));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }
    static uint64_t bytes_of(const std::vector<uint32_t>& words) { return words.size() * sizeof words[0]; }
    Stream stream;
    Memory memory;
};

/// Requests whose input and output lie in memory of each kind.
class Mixed {
public:
    explicit Mixed(BatcherRig& rig) : rig_(rig) {}
    /// 0: pageable, 1: pinned, 2: device.
    void enter(uint32_t key, int in, int out, uint64_t elements = 0) {
        Asked& one = rig_.ask(key, 0, elements);
        if (in == 1) {
            pinned_.push_back(rig_.gpu.pinned<uint32_t>(one.in.size()));
            std::copy(one.in.begin(), one.in.end(), pinned_.back().begin());
            one.request.input = pinned_.back().data();
        } else if (in == 2) {
            device_.emplace_back(rig_.gpu, one.in);
            one.request.input = nullptr;
            one.request.input_address = device_.back().memory;
        }
        if (out == 1) {
            pinned_.push_back(rig_.gpu.pinned<uint32_t>(one.out.size()));
            one.request.output = pinned_.back().data();
            pinned_out_[one.number] = pinned_.back().data();
        } else if (out == 2) {
            device_.emplace_back(rig_.gpu, one.out);
            one.request.output = nullptr;
            one.request.output_address = device_.back().memory;
            device_out_[one.number] = &device_.back();
        }
        rig_.enter(one);
        ++count_;
    }
    /// All end well. Their memory of other kinds is read first.
    void check() {
        for (const auto& [number, entry] : rig_.take(count_)) {
            Asked& one = rig_.asked[number];
            INFO("request " << number << ": " << rig_.text_of(entry));
            CHECK(entry.status == GPO_SUCCESS);
            if (pinned_out_.count(number)) std::copy_n(pinned_out_[number], one.out.size(), one.out.begin());
            if (device_out_.count(number)) device_out_[number]->read(one.out);
            CHECK(one.right());
        }
        count_ = 0;
    }

private:
    BatcherRig& rig_;
    std::deque<Pinned<uint32_t>> pinned_;
    std::deque<DeviceCopy> device_;
    std::map<uint64_t, uint32_t*> pinned_out_;
    std::map<uint64_t, DeviceCopy*> device_out_;
    size_t count_ = 0;
};

}  // namespace

TEST_CASE("requests of many threads share batches, and each gets its own output") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(16, GPO_AUTO));
    constexpr size_t kThreads = 4, kEach = 250;
    for (size_t i = 0; i < kThreads * kEach; ++i) rig.ask(key, i % 3);
    {
        LaneHold hold(rig);
        for (size_t i = 0; i < 64; ++i) rig.enter(rig.asked[i]);  // these share batches in any case
    }
    std::vector<std::thread> threads;
    std::atomic<int> refused{0};
    for (size_t thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            for (size_t i = std::max<size_t>(thread * kEach, 64); i < (thread + 1) * kEach; ++i)
                refused += rig.submit(rig.asked[i]) != GPO_SUCCESS;
        });
    for (auto& thread : threads) thread.join();
    CHECK(refused == 0);
    rig.take(kThreads * kEach, GPO_SUCCESS);
    uint64_t members = 0, largest = 0;
    for (const auto& seen : rig.work.seen()) {
        members += seen.batch.requests;
        largest = std::max<uint64_t>(largest, seen.batch.requests);
    }
    CHECK(members == kThreads * kEach);
    CHECK(largest == 16);
    CHECK(rig.info(key).batches == rig.work.count());
}

TEST_CASE("the work is told its batch and the members, as they were submitted") {
    Gpu gpu;
    BatcherRig rig(gpu);
    auto offsets = gpu.pinned<uint32_t>(6);
    auto input = gpu.pinned<uint32_t>(20), output = gpu.pinned<uint32_t>(20);
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        read_back(stream, offsets, seen.batch.offsets, 6);
        read_back(stream, input, seen.batch.input, 20);
        read_back(stream, output, seen.batch.output, 20);
        return GPO_SUCCESS;
    };
    const uint32_t other = rig.add(rig.rows(1)), key = rig.add(rig.rows(5));
    CHECK(other == 0);
    CHECK(key == 1);
    for (uint64_t i = 0; i < 5; ++i) rig.enter(key, 7);
    rig.take(5, GPO_SUCCESS);
    const auto all = rig.work.seen();
    REQUIRE(all.size() == 1);
    const gpo_batch& batch = all[0].batch;
    CHECK(batch.struct_size >= sizeof(gpo_batch));
    CHECK(batch.requests == 5);
    CHECK(batch.elements == 5);
    CHECK(batch.shape == 5);
    CHECK(batch.made == 0);
    CHECK(batch.key == key);
    CHECK(batch.device == 0);
    CHECK(batch.lane == 0);
    CHECK(batch.member_stride >= sizeof(gpo_batch_request));
    for (uint64_t i = 0; i < 5; ++i) {
        const gpo_batch_request& member = all[0].members[i];
        CHECK(member.struct_size >= sizeof member);
        CHECK(member.user_data == i);
        CHECK(member.flow == 7);
        CHECK(member.elements == 1);
        CHECK(member.first == i);
        CHECK(member.input_bytes == 16);
        CHECK(member.output_bytes == 16);
        CHECK(std::equal(rig.asked[i].in.begin(), rig.asked[i].in.end(), input.begin() + 4 * i));
    }
    for (uint32_t i = 0; i <= 5; ++i) CHECK(offsets[i] == i);
    for (const uint32_t word : output) CHECK(word == 0);
}

TEST_CASE("ragged requests lie one behind the other, and fill batches in their order") {
    Gpu gpu;
    BatcherRig rig(gpu);
    constexpr uint64_t kCount = 200, kMost = 64;
    auto offsets = gpu.pinned<uint32_t>(kCount * 9);
    rig.work.after = [&](gpo_stream_t stream, const SeenBatch& seen) {
        const size_t place = seen.members[0].user_data * 9;
        return gpo_copy_to_host(stream, &offsets[place], seen.batch.offsets, (seen.batch.requests + 1) * 4);
    };
    const uint32_t key = rig.add(rig.ragged(kMost, 8, 1));
    std::mt19937 random(5);
    {
        LaneHold hold(rig);
        for (uint64_t i = 0; i < kCount; ++i) rig.enter(key, 0, i % 20 == 7 ? kMost : 1 + random() % 24);
    }
    rig.take(kCount, GPO_SUCCESS);
    uint64_t next = 0;
    for (const SeenBatch& seen : rig.work.seen()) {
        const uint32_t* const sums = &offsets[next * 9];
        REQUIRE(seen.batch.requests <= 8);
        CHECK(seen.batch.elements <= kMost);
        CHECK(seen.batch.shape == seen.batch.elements);
        uint32_t elements = 0;
        for (size_t i = 0; i < seen.members.size(); ++i) {
            CHECK(seen.members[i].user_data == next);
            CHECK(seen.members[i].elements == rig.asked[next].request.elements);
            CHECK(seen.members[i].first == elements);
            CHECK(seen.members[i].input_bytes == 4 * seen.members[i].elements);
            CHECK(seen.members[i].output_bytes == 4 * seen.members[i].elements);
            CHECK(sums[i] == elements);
            elements += static_cast<uint32_t>(rig.asked[next++].request.elements);
        }
        CHECK(sums[seen.members.size()] == elements);
        CHECK(seen.batch.elements == elements);
        // All of them waited: a batch ends where the next request has no room.
        if (next < kCount && seen.batch.requests < 8) CHECK(elements + rig.asked[next].request.elements > kMost);
    }
    CHECK(next == kCount);
}

TEST_CASE("requests without input or without output are rows, too") {
    Gpu gpu;
    BatcherRig rig(gpu);
    auto options = rig.rows(4);
    options.work = [](void*, gpo_stream_t stream, const gpo_batch* batch) {
        return gpo_fill(stream, batch->output, 77, 4, batch->elements * 4);
    };
    options.input_bytes = 0;
    const uint32_t sources = rig.add(options);
    auto got = gpu.pinned<uint32_t>(16);
    options = rig.rows(4);
    options.output_bytes = 0;
    options.user = &got;
    options.work = [](void* user, gpo_stream_t stream, const gpo_batch* batch) {
        auto& to = *static_cast<Pinned<uint32_t>*>(user);
        return gpo_copy_to_host(stream, to.data(), batch->input, batch->elements * 16);
    };
    const uint32_t sinks = rig.add(options);
    for (int i = 0; i < 4; ++i) rig.enter(sources);
    for (int i = 0; i < 4; ++i) rig.enter(sinks);
    for (const auto& [number, entry] : rig.take(8)) {
        CHECK(entry.status == GPO_SUCCESS);
        const Asked& one = rig.asked[number];
        if (number < 4)
            CHECK(one.all(77));
        else
            CHECK(std::equal(one.in.begin(), one.in.end(), &got[(number - 4) * 4]));
    }
}

TEST_CASE("pageable, pinned and device memory are mixed in one batch") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t rows = rig.add(rig.rows(36, kHour, 5)), ragged = rig.add(rig.ragged(36 * 50, 36));
    Mixed mixed(rig);
    for (int i = 0; i < 36; ++i) mixed.enter(rows, i % 3, i / 3 % 3);
    mixed.check();
    CHECK(rig.work.seen().back().batch.requests == 36);
    for (int i = 0; i < 36; ++i) mixed.enter(ragged, i / 3 % 3, i % 3, 50);
    mixed.check();
    CHECK(rig.work.seen().back().batch.elements == 36 * 50);
}

TEST_CASE("large pieces of each kind of memory arrive whole") {
    Gpu gpu;
    BatcherRig rig(gpu);
    constexpr uint64_t kWords = (1 << 18) + 37;  // more than 1 MiB
    const uint32_t key = rig.add(rig.rows(3, kHour, kWords));
    Mixed mixed(rig);
    for (int i = 0; i < 9; ++i) mixed.enter(key, i % 3, i / 3);
    mixed.check();
    CHECK(rig.info(key).batches == 3);
}

TEST_CASE("memory that is pinned in part, and pinned memory of neighbours, arrive whole") {
    Gpu gpu;
    BatcherRig rig(gpu);
    constexpr size_t kBytes = 128 << 10, kPieces = 4;
    const uint32_t key = rig.add(rig.rows(kPieces, kHour, kBytes / 4));
    void* const pages = std::aligned_alloc(4096, 2 * kPieces * kBytes);
    const std::unique_ptr<char, decltype(&std::free)> memory(static_cast<char*>(pages), std::free);
    // A half of the first input and of the first output, and each of the others by itself.
    std::vector<char*> pinned;
    for (size_t i = 0; i < 2 * kPieces; ++i) {
        pinned.push_back(memory.get() + i * kBytes);
        REQUIRE_OK(gpo_host_register(gpu.device, pinned.back(), i % kPieces ? kBytes : kBytes / 2, 0));
    }
    for (size_t i = 0; i < kPieces; ++i) {
        Asked& one = rig.ask(key);
        std::memcpy(pinned[i], one.in.data(), kBytes);
        one.request.input = pinned[i];
        one.request.output = pinned[kPieces + i];
        rig.enter(one);
    }
    for (const auto& [number, entry] : rig.take(kPieces)) {
        CHECK(entry.status == GPO_SUCCESS);
        std::memcpy(rig.asked[number].out.data(), pinned[kPieces + number], kBytes);
        CHECK(rig.asked[number].right());
    }
    for (char* const one : pinned) CHECK_OK(gpo_host_unregister(gpu.device, one));
}

TEST_CASE("addresses that are not of this device's memory are refused") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(4));
    Asked& one = rig.ask(key);
    const auto with_input = [&](uint64_t address) {
        one.request.input = nullptr;
        one.request.input_address = address;
        rig.refused(GPO_INVALID_ARGUMENT, one);
        one.request.input = one.in.data();
        one.request.input_address = 0;
    };
    const auto with_output = [&](uint64_t address) {
        one.request.output = nullptr;
        one.request.output_address = address;
        rig.refused(GPO_INVALID_ARGUMENT, one);
        one.request.output = one.out.data();
        one.request.output_address = 0;
    };
    const Memory memory = gpu.memory(1 << 21);
    for (const uint64_t address : {uint64_t{64}, UINT64_MAX - 8, reinterpret_cast<uint64_t>(one.in.data()),
                                   memory + memory.bytes() - 8}) {  // the last 8 of 16 bytes are in no allocation
        CAPTURE(address);
        with_input(address);
        with_output(address);
    }
    if (const Device second = gpu.second_device(); second) {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(second, 64, nullptr, &address));
        with_input(address);
        with_output(address);
        CHECK_OK(gpo_memory_free(second, address));
    }
    CHECK(rig.info().waiting == 0);
}

TEST_CASE("without KEEP_OUTPUT the output buffer has zeros: no request sees bytes of another") {
    Gpu gpu;
    BatcherRig rig(gpu);
    rig.work.scales = false;
    std::atomic<bool> writes{true};
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) -> gpo_status {
        if (!writes) return GPO_SUCCESS;
        return gpo_fill(stream, seen.batch.output, 0xeeeeeeee, 4, seen.output_words());
    };
    const uint32_t rows = rig.add(rig.rows(8, 1)), ragged = rig.add(rig.ragged(64, 8, 1));
    for (int round = 0; round < 6; ++round) {
        writes = round % 2 == 0;
        for (const uint32_t key : {rows, ragged}) {
            LaneHold hold(rig);
            for (uint64_t i = 0; i < 10; ++i) rig.enter(key, i, key == rows ? 0 : 1 + (i * 7 + round) % 20);
            hold.open();
            for (const auto& [number, entry] : rig.take(10)) {
                CHECK(entry.status == GPO_SUCCESS);
                CHECK(rig.asked[number].all(writes ? 0xeeeeeeee : 0));
            }
        }
    }
}

TEST_CASE("with KEEP_OUTPUT the work writes it all, and gets it all back") {
    Gpu gpu;
    BatcherRig rig(gpu);
    auto options = rig.rows(4, 1);
    options.flags = GPO_BATCHER_KEEP_OUTPUT;
    const uint32_t key = rig.add(options);
    for (int i = 0; i < 50; ++i) rig.enter(key, i % 3);
    rig.take(50, GPO_SUCCESS);
}
