// A batcher under many threads with random keys, sizes, memory, deadlines and cancels: each accepted request is
// answered once, with the right output or with none, and the figures are exact.
#include <array>
#include <cstdlib>
#include <random>

#include "conformance/batcher_rig.h"

using namespace gpo::test;

namespace {

enum Key : uint32_t { rows, ragged, ordered, alone, failing, keys };

/// Clients of one batcher. Each has places with memory, and uses a place again when its request was answered.
class Crowd {
public:
    static constexpr uint64_t kClients = 4, kPlaces = 48, kMost = 40;

    struct Place {
        std::vector<uint32_t> pageable_in, pageable_out;
        Pinned<uint32_t> pinned_in, pinned_out;
        std::atomic<uint64_t> ticket{0};
        std::atomic<int> answers{0};
        std::atomic<bool> used{false};
        uint32_t *in = nullptr, *out = nullptr;
        uint64_t words = 0, sequence = 0;
        Key key = rows;
        explicit Place(Gpu& gpu)
            : pageable_in(kMost), pageable_out(kMost), pinned_in(gpu.pinned<uint32_t>(kMost)),
              pinned_out(gpu.pinned<uint32_t>(kMost)) {}
    };

    Crowd(Gpu& gpu, uint64_t each) : each(each), queue(gpu.queue(1 << 12)), kernel(gpu.kernel(kBatchScale, "scale")) {
        for (uint64_t i = 0; i < kClients * kPlaces; ++i) places.emplace_back(gpu);
        auto options = batcher_options(2, 100);
        options.devices = &gpu.device;
        options.device_count = 1;
        REQUIRE_OK(gpo_batcher_create(&options, batcher.out()));
        for (uint32_t key = 0; key < keys; ++key) add(static_cast<Key>(key));
    }

    void client(uint64_t client) {
        std::mt19937 random(static_cast<unsigned>(client) + 1);
        for (uint64_t number = 0; number < each;) {
            const uint64_t at = client * kPlaces + random() % kPlaces;
            if (places[at].used) {
                std::this_thread::yield();
                continue;
            }
            ++number;
            submit(random, client, at);
            if (random() % 6 == 0) cancel(client * kPlaces + random() % kPlaces);
        }
        ++done;
    }
    /// Drains the queue until all was answered.
    void server() {
        gpo_completion entries[32];
        while (done < kClients || answered < accepted) {
            gpo_cq_wait(queue, 1'000'000);
            uint64_t count = 0;
            wrong += gpo_cq_drain(queue, entries, sizeof entries[0], 32, &count) != GPO_SUCCESS;
            for (uint64_t i = 0; i < count; ++i) take(entries[i]);
            answered += count;
        }
    }

    const uint64_t each;
    Queue queue;
    Kernel kernel;
    std::deque<Place> places;
    std::atomic<uint64_t> accepted{0}, answered{0}, wrong{0}, out_of_order{0}, done{0};
    std::map<gpo_status, uint64_t> refused, ended;
    Batcher batcher;

private:
    void add(Key key) {
        auto options = sized<gpo_batcher_key_options>();
        options.layout = key == ragged ? GPO_BATCH_RAGGED : GPO_BATCH_ROWS;
        options.input_bytes = options.output_bytes = key == ragged ? 4 : 16;
        options.max_elements = key == ragged ? 60 : 0;
        options.max_batch = key == alone ? 1 : 12;
        options.max_delay_ns = key == ordered ? 200'000 : key == failing ? 1 : GPO_AUTO;
        options.flags = key == ordered ? GPO_BATCHER_PRESERVE_ORDER : key == rows ? GPO_BATCHER_KEEP_OUTPUT : 0;
        options.user = this;
        options.work = [](void* user, gpo_stream_t stream, const gpo_batch* batch) {
            return static_cast<Crowd*>(user)->put(stream, *batch);
        };
        uint32_t number = 0;
        REQUIRE_OK(gpo_batcher_add_key(batcher, &options, &number));
        REQUIRE(number == key);
    }
    gpo_status put(gpo_stream_t stream, const gpo_batch& batch) {
        if (batch.key == failing && batch.members[0].user_data % 3 == 0) return GPO_FAILED;
        const uint64_t count = batch.elements * (batch.key == ragged ? 1 : 4);
        const gpo_status status = launch(stream, kernel.get(), 4, 64, batch.output, batch.input, count);
        return batch.key == failing && batch.members[0].user_data % 3 == 1 ? GPO_FAILED : status;
    }
    void submit(std::mt19937& random, uint64_t client, uint64_t at) {
        Place& place = places[at];
        const Key key = static_cast<Key>(random() % keys);
        auto request = sized<gpo_batcher_request>();
        request.key = key;
        request.flow = key == ordered ? client : random() % 5;
        request.elements = key == ragged ? 1 + random() % kMost : random() % 2;
        place.words = key == ragged ? request.elements : 4;
        place.key = key;
        place.in = random() % 2 ? place.pageable_in.data() : place.pinned_in.data();
        place.out = random() % 2 ? place.pageable_out.data() : place.pinned_out.data();
        for (uint64_t i = 0; i < kMost; ++i) {
            place.in[i] = static_cast<uint32_t>(random());
            place.out[i] = kUntouched;
        }
        request.input = place.in;
        request.output = place.out;
        if (random() % 4 == 0) request.deadline_ns = monotonic_ns() + random() % 3'000'000;
        place.sequence = ++sequences_[client];
        place.answers = 0;
        place.used = true;
        uint64_t ticket = 0;
        const gpo_status status = gpo_batcher_submit(batcher, &request, queue, at, &ticket, nullptr);
        if (status == GPO_SUCCESS) {
            ++accepted;
            place.ticket = ticket;
            return;
        }
        wrong += status != GPO_WOULD_BLOCK && status != GPO_TIMEOUT;
        wrong += touched_from(place, 0);
        place.used = false;
        std::this_thread::yield();
    }
    void cancel(uint64_t at) {
        const gpo_status status = gpo_batcher_cancel(batcher, places[at].ticket);
        wrong += status != GPO_SUCCESS && status != GPO_INVALID_STATE && status != GPO_NOT_FOUND;
    }
    /// Whether words from this one on were written.
    static bool touched_from(const Place& place, uint64_t from) {
        return std::any_of(place.out + from, place.out + kMost, [](uint32_t word) { return word != kUntouched; });
    }
    void take(const gpo_completion& entry) {
        Place& place = places.at(entry.user_data);
        wrong += ++place.answers != 1 || !place.used;
        wrong += entry.origin != GPO_ORIGIN_BATCHER || entry.operation == 0;
        ++ended[entry.status];
        const bool good = entry.status == GPO_SUCCESS;
        for (uint64_t i = 0; good && i < place.words; ++i) wrong += place.out[i] != scaled(place.in[i]);
        wrong += touched_from(place, good ? place.words : 0);
        if (place.key == ordered) {
            uint64_t& last = last_[entry.user_data / kPlaces];
            out_of_order += place.sequence <= last;
            last = place.sequence;
        }
        place.used = false;
    }

    std::array<uint64_t, kClients> sequences_{}, last_{};
};

}  // namespace

TEST_CASE("requests of many threads, with deadlines and cancels, are each answered once, with their own output") {
    Gpu gpu;
    Crowd crowd(gpu, std::getenv("GPUORCH_TEST_FULL") ? 250'000 : 5'000);
    std::vector<std::thread> threads;
    for (uint64_t client = 0; client < Crowd::kClients; ++client)
        threads.emplace_back([&, client] { crowd.client(client); });
    threads.emplace_back([&] { crowd.server(); });
    for (auto& thread : threads) thread.join();
    CHECK(crowd.wrong == 0);
    CHECK(crowd.out_of_order == 0);
    CHECK(crowd.answered == crowd.accepted);
    auto info = sized<gpo_batcher_info>(), sum = info;
    REQUIRE(comes_true([&] {  // figures of a batch may follow its entries
        REQUIRE_OK(gpo_batcher_get_info(crowd.batcher, &info));
        return info.running == 0;
    }));
    CHECK(info.waiting == 0);
    CHECK(info.waiting_elements == 0);
    CHECK(info.waiting_flows == 0);
    CHECK(info.running_batches == 0);
    CHECK(info.submitted == crowd.accepted);
    CHECK(info.succeeded == crowd.ended[GPO_SUCCESS]);
    CHECK(info.failed == crowd.ended[GPO_CALLBACK_FAILED]);
    CHECK(info.expired == crowd.ended[GPO_TIMEOUT]);
    CHECK(info.cancelled == crowd.ended[GPO_CANCELLED]);
    CHECK(info.succeeded + info.failed + info.expired + info.cancelled == info.submitted);
    for (uint32_t key = 0; key < keys; ++key) {
        auto one = sized<gpo_batcher_info>();
        REQUIRE_OK(gpo_batcher_get_key_info(crowd.batcher, key, &one));
        CHECK(one.succeeded + one.failed + one.expired + one.cancelled == one.submitted);
        sum.submitted += one.submitted;
        sum.batches += one.batches;
        uint64_t sizes = 0;
        for (const uint64_t size : one.sizes) sizes += size;
        CHECK(sizes == one.batches);
        CHECK(one.succeeded > 0);
    }
    CHECK(sum.submitted == info.submitted);
    CHECK(sum.batches == info.batches);
    CHECK(info.cancelled > 0);
    CHECK(info.failed > 0);
}
