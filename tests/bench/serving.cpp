// The cost of asking for a place of an admission, and of giving the place back. What a batcher costs: a submission, a
// refusal, a request and a batch.
#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/pairs.h"

using namespace gpo::bench;

namespace {

constexpr int kTogether = 1024;  // requests whose entries are drained together, outside of the time

/// An admission with room for every request.
struct Subject {
    gpo_runtime_t runtime = nullptr;
    gpo_admission_t admission = nullptr;
    Subject() {
        CHECK_GPO(gpo_runtime_create(nullptr, &runtime));
        gpo_admission_options options{};
        options.struct_size = sizeof options;
        options.count = 64;
        options.bytes = 1 << 30;
        CHECK_GPO(gpo_admission_create(runtime, &options, &admission));
    }
    ~Subject() { gpo_runtime_shutdown(runtime, -1); }
};

/// A client with a queue of its own.
class Client {
public:
    explicit Client(const Subject& subject) : admission_(subject.admission) {
        CHECK_GPO(gpo_cq_create(subject.runtime, nullptr, &queue_));
        entries_.resize(kTogether);
    }
    ~Client() { gpo_cq_destroy(queue_); }
    /// Nanoseconds of `rounds` times kTogether requests, without the drains.
    double run(int rounds) {
        double spent = 0;
        for (int round = 0; round < rounds; ++round) {
            const double begin = now_ns();
            for (int i = 0; i < kTogether; ++i) {
                gpo_admission_request request{};
                request.struct_size = sizeof request;
                request.bytes = 4096;
                request.flow = 7;
                uint64_t ticket = 0;
                CHECK_GPO(gpo_admission_enter(admission_, &request, queue_, 0, &ticket));
                CHECK_GPO(gpo_admission_leave(admission_, ticket));
            }
            spent += now_ns() - begin;
            uint64_t count = 0;
            CHECK_GPO(gpo_cq_drain(queue_, entries_.data(), sizeof entries_[0], entries_.size(), &count));
            if (count != kTogether) throw std::runtime_error("entries are missing");
        }
        return spent;
    }

private:
    const gpo_admission_t admission_;
    gpo_cq_t queue_ = nullptr;
    std::vector<gpo_completion> entries_;
};

void one_thread(Row& row) {
    Subject subject;
    Client client(subject);
    const int rounds = row.size(200, 2);
    row.alone([&] { return client.run(rounds) / (rounds * kTogether); });
}

void eight_threads(Row& row) {
    Subject subject;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(subject));
    const int rounds = row.size(50, 1);
    Crew crew(8);
    std::vector<double> spent(8);
    row.alone([&] {
        crew.run([&](int thread) {
            const auto at = static_cast<size_t>(thread);
            spent[at] = clients[at]->run(rounds);
        });
        double all = 0;
        for (double one : spent) all += one;
        return all / 8 / (rounds * kTogether);
    });
}

// --- batchers ---

constexpr int kClients = 8;
constexpr uint64_t kRowBytes = 64;

/// A batcher with one key of rows of kRowBytes, and room for 2^20 requests.
class Rows {
public:
    struct Options {
        uint32_t max_batch;
        uint64_t max_delay_ns;
        gpo_batch_fn work = nullptr;  // its `user`: the object
        gpo_executor_t executor = nullptr;
        const gpo_buckets_t* buckets = nullptr;
    };
    Rows(Gpu& gpu, const Options& how) : cycles(gpu.cycles(1e6)), spin(gpu.kernel("spin")) {
        const gpo_device_t device = gpu.device;
        auto options = sized<gpo_batcher_options>();
        options.devices = &device;
        options.device_count = 1;
        options.capacity = 1 << 20;
        options.executor = how.executor;
        CHECK_GPO(gpo_batcher_create(&options, batcher_.out()));
        auto key = sized<gpo_batcher_key_options>();
        key.flags = GPO_BATCHER_KEEP_OUTPUT;
        key.layout = GPO_BATCH_ROWS;
        key.max_batch = how.max_batch;
        key.input_bytes = key.output_bytes = kRowBytes;
        key.max_delay_ns = how.max_delay_ns;
        key.buckets = how.buckets;
        key.bucket_count = how.buckets ? 1 : 0;
        key.work = how.work;
        key.user = how.work ? this : nullptr;
        CHECK_GPO(gpo_batcher_add_key(batcher_, &key, &key_));
    }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    gpo_status submit(gpo_cq_t cq, const void* input, void* output, uint64_t flow, uint64_t deadline_ns,
                      uint64_t* ticket) const {
        auto request = sized<gpo_batcher_request>();
        request.key = key_;
        request.flow = flow;
        request.input = input;
        request.output = output;
        request.deadline_ns = deadline_ns;
        return gpo_batcher_submit(batcher_, &request, cq, 0, ticket, nullptr);
    }
    gpo_batcher_t handle() const { return batcher_; }
    gpo_batcher_info info() const {
        auto seen = sized<gpo_batcher_info>();
        CHECK_GPO(gpo_batcher_get_info(batcher_, &seen));
        return seen;
    }
    double mean_batch() const {
        const gpo_batcher_info seen = info();
        return static_cast<double>(seen.batch_elements) / static_cast<double>(std::max<uint64_t>(seen.batches, 1));
    }
    const long long cycles;  // of a millisecond
    const Kernel spin;

private:
    Batcher batcher_;
    uint32_t key_ = 0;
};

/// The works of batches: output is input; and a millisecond.
gpo_status copied(void*, gpo_stream_t stream, const gpo_batch* batch) {
    return gpo_copy_on_device(stream, batch->output, batch->input, batch->elements * kRowBytes);
}
gpo_status slow(void* user, gpo_stream_t stream, const gpo_batch* batch) {
    const auto& rows = *static_cast<const Rows*>(user);
    launch(stream, rows.spin, shape(1, 1), rows.cycles);
    return copied(user, stream, batch);
}

/// A row of bytes for each request.
using Line = std::array<unsigned char, kRowBytes>;
std::vector<Line> lines(size_t count) {
    std::vector<Line> made(count);
    for (size_t i = 0; i < count; ++i)
        for (size_t at = 0; at < kRowBytes; ++at) made[i][at] = static_cast<unsigned char>(i * 31 + at);
    return made;
}
void require_same(std::vector<Line>& found, const std::vector<Line>& wanted) {
    if (found != wanted) throw std::runtime_error("an output isn't its request's input");
    std::fill(found.begin(), found.end(), Line{});
}

/// How many entries there were, whatever their statuses.
uint64_t drained(gpo_cq_t cq) {
    static thread_local gpo_completion entries[1024];
    uint64_t got = 0;
    CHECK_GPO(gpo_cq_drain(cq, entries, sizeof entries[0], std::size(entries), &got));
    return got;
}
void take_any(gpo_cq_t cq, uint64_t count) {
    for (uint64_t got = 0; got < count; got += drained(cq)) CHECK_GPO(gpo_cq_wait(cq, -1));
}

/// No batch is formed meanwhile: the requests are cancelled, outside of the time.
void submit_eight_threads(Row& row) {
    Gpu gpu;
    const size_t each = row.size(size_t{4096}, size_t{32});
    const Rows rows(gpu, {.max_batch = 65536, .max_delay_ns = 1'000'000'000'000, .work = copied});
    struct Client {
        Queue cq;
        std::vector<uint64_t> tickets;
        double spent = 0;
    };
    std::vector<Client> clients(kClients);
    for (Client& client : clients) {
        client.cq = gpu.queue(1 << 16);
        client.tickets.resize(each);
    }
    Line input{}, output{};
    Crew crew(kClients);
    row.alone([&] {
        crew.run([&](int thread) {
            Client& client = clients[static_cast<size_t>(thread)];
            const double begin = now_ns();
            for (uint64_t& ticket : client.tickets)
                CHECK_GPO(rows.submit(client.cq, &input, &output, static_cast<uint64_t>(thread), 0, &ticket));
            client.spent = now_ns() - begin;
        });
        double all = 0;
        for (Client& client : clients) {
            for (const uint64_t ticket : client.tickets) CHECK_GPO(gpo_batcher_cancel(rows.handle(), ticket));
            take_any(client.cq, each);
            all += client.spent;
        }
        return all / kClients / static_cast<double>(each);
    });
}

/// Deadlines that lie before the end of the batches in front. A batch takes a millisecond, and some run meanwhile.
void refusals(Row& row) {
    Gpu gpu;
    const Rows rows(gpu, {.max_batch = 64, .max_delay_ns = 1, .work = slow});
    const uint64_t waiting = row.size(60'000, 256);
    const int each = row.size(1000, 10);
    const Queue cq = gpu.queue(1 << 20);
    Line input{}, output{};
    uint64_t ticket = 0;
    const auto fill = [&] {
        for (uint64_t i = rows.info().waiting; i < waiting; ++i)
            CHECK_GPO(rows.submit(cq, &input, &output, i % 64, 0, &ticket));
    };
    // The time of batches is known when some have ended.
    fill();
    take(cq, std::min<uint64_t>(waiting, 8 * 64));
    std::vector<std::vector<double>> times(kClients);
    double longest = 0;
    Crew crew(kClients);
    row.alone([&] {
        fill();
        crew.run([&](int thread) {
            std::vector<double>& mine = times[static_cast<size_t>(thread)];
            mine.clear();
            uint64_t unused = 0;
            for (int i = 0; i < each; ++i) {
                const double begin = now_ns();
                const gpo_status status =
                    rows.submit(cq, &input, &output, 64, static_cast<uint64_t>(begin) + 500'000, &unused);
                mine.push_back((now_ns() - begin) / 1e3);
                if (status != GPO_TIMEOUT) throw std::runtime_error("a request that can't be in time wasn't refused");
            }
        });
        std::vector<double> all;
        for (const std::vector<double>& mine : times) all.insert(all.end(), mine.begin(), mine.end());
        longest = std::max(longest, *std::max_element(all.begin(), all.end()));
        while (drained(cq) > 0) {
        }
        return quantile(all, 0.99);
    });
    row.note("the longest of all calls took " + std::to_string(longest) + " us");
}

void many_requests(Row& row) {
    Gpu gpu;
    const Rows rows(gpu, {.max_batch = 4096, .max_delay_ns = GPO_AUTO, .work = copied});
    const size_t count = row.size(size_t{1} << 18, size_t{256});
    const std::vector<Line> inputs = lines(count);
    std::vector<Line> outputs(count);
    const Queue cq = gpu.queue(1 << 20);
    Crew crew(kClients);
    row.alone([&] {
        const double begin = now_ns();
        std::thread drain([&] { take_any(cq, count); });
        crew.run([&](int thread) {
            uint64_t ticket = 0;
            const size_t each = count / kClients, first = static_cast<size_t>(thread) * each;
            for (size_t i = first; i < first + each; ++i)
                CHECK_GPO(rows.submit(cq, &inputs[i], &outputs[i], static_cast<uint64_t>(thread), 0, &ticket));
        });
        drain.join();
        const double spent = now_ns() - begin;
        require_same(outputs, inputs);
        return million_per_second(count, spent);
    });
    row.note(std::to_string(rows.mean_batch()) + " requests a batch");
}

/// Batches of one size, with a template of one kernel that doubles rows of four floats each.
class Doubling {
public:
    Doubling(Gpu& gpu, uint64_t rows)
        : rows_(rows), kernel_(gpu.kernel("scale")), in_(gpu, rows * kRowBytes), out_(gpu, rows * kRowBytes) {
        auto options = sized<gpo_buckets_options>();
        options.shapes = &rows_;
        options.shape_count = 1;
        options.record = [](void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            static_cast<const Doubling*>(user)->put(stream, *work);
            return GPO_SUCCESS;
        };
        options.user = this;
        CHECK_GPO(gpo_buckets_create(gpu.device, &options, buckets_.out()));
        const Stream stream = gpu.stream();
        CHECK_GPO(gpo_buckets_prepare(buckets_, stream));
        finish(stream);
        for (size_t i = 0; i < 2; ++i) {
            settings_[i] = sized<gpo_setting>();
            settings_[i].name = i == 0 ? "input" : "output";
            settings_[i].value = i == 0 ? &in_.address : &out_.address;
            settings_[i].bytes = sizeof(uint64_t);
        }
    }
    /// A batch without a batcher.
    void put_batch(gpo_stream_t stream, void* pinned_output, const void* pinned_input) const {
        CHECK_GPO(gpo_copy_to_device(stream, in_.address, pinned_input, rows_ * kRowBytes));
        CHECK_GPO(gpo_buckets_launch(buckets_, stream, rows_, settings_.data(), sizeof settings_[0], settings_.size(),
                                     nullptr));
        CHECK_GPO(gpo_copy_to_host(stream, pinned_output, out_.address, rows_ * kRowBytes));
    }
    gpo_buckets_t buckets() const { return buckets_; }

private:
    void put(gpo_stream_t stream, const gpo_bucket_work& work) const {
        launch(stream, kernel_, shape(static_cast<uint32_t>((work.shape + 31) / 32), 128), out_.address, in_.address,
               work.shape * kRowBytes);
        if (!work.graph_template) return;
        uint32_t node = 0;
        CHECK_GPO(gpo_template_get_last_node(work.graph_template, stream, &node));
        CHECK_GPO(gpo_template_add_parameter(work.graph_template, "output", node, GPO_PARAMETER_ARGUMENT, 0));
        CHECK_GPO(gpo_template_add_parameter(work.graph_template, "input", node, GPO_PARAMETER_ARGUMENT, 1));
    }
    const uint64_t rows_;
    const Kernel kernel_;
    const Memory in_, out_;
    std::array<gpo_setting, 2> settings_{};
    Buckets buckets_;
};

/// The batcher's executor is run by this thread, so that its work can be timed; the submissions are outside of the
/// time.
void cost_of_a_batch(Row& row) {
    Gpu gpu;
    constexpr uint64_t kMembers = 64;
    const Doubling doubling(gpu, kMembers);
    const gpo_buckets_t buckets = doubling.buckets();
    auto options = sized<gpo_executor_options>();
    options.flags = GPO_EXECUTOR_CALLER;
    Executor executor;
    CHECK_GPO(gpo_executor_create(gpu.runtime, &options, executor.out()));
    const Rows rows(
        gpu, {.max_batch = kMembers, .max_delay_ns = 1'000'000'000'000, .executor = executor, .buckets = &buckets});
    const Queue cq = gpu.queue(1024);
    const Stream stream = gpu.stream();
    const Arena arena = gpu.arena(1 << 20);
    void *input = nullptr, *output = nullptr;
    CHECK_GPO(gpo_arena_allocate(arena, kMembers * kRowBytes, GPO_AUTO, &input));
    CHECK_GPO(gpo_arena_allocate(arena, kMembers * kRowBytes, GPO_AUTO, &output));
    const int batches = row.size(200, 3);
    const auto block = [&](auto&& batch) {
        std::vector<double> times;
        for (int i = 0; i < batches; ++i) times.push_back(batch());
        return median(times);
    };
    const auto base = [&] {
        const double begin = now_ns();
        doubling.put_batch(stream, output, input);
        const double spent = now_ns() - begin;
        finish(stream);
        return spent;
    };
    const auto ours = [&] {
        uint64_t ticket = 0;
        for (uint64_t at = 0; at < kMembers; ++at)
            CHECK_GPO(rows.submit(cq, static_cast<char*>(input) + at * kRowBytes,
                                  static_cast<char*>(output) + at * kRowBytes, at % 8, 0, &ticket));
        double spent = 0;
        for (uint64_t ended = 0, ran = 0; ended < kMembers;) {
            const double begin = now_ns();
            CHECK_GPO(gpo_executor_poll(executor, &ran));
            if (ran) spent += now_ns() - begin;
            ended += drained(cq);
        }
        return spent;
    };
    row.pairs([&] { return block(base); }, [&] { return block(ours); });
    CHECK_GPO(gpo_arena_free(arena, input));
    CHECK_GPO(gpo_arena_free(arena, output));
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("serving", argc, argv);
    bench.row({.name = "admission",
               .what = "gpo_admission_enter + gpo_admission_leave, one thread",
               .target = value_at_most(150),
               .target_on = on_any},
              one_thread);
    bench.row({.name = "admission_8_threads",
               .what = "the same from eight threads at once, per request and thread",
               .target = value_at_most(500)},
              eight_threads);
    bench.row(
        {.name = "batcher_submit",
         .what = "gpo_batcher_submit from eight threads at once, while no batch is formed, per request and thread",
         .target = value_at_most(500)},
        submit_eight_threads);
    bench.row(
        {.name = "batcher_refusal",
         .what = "a request that can't meet its deadline, eight threads, 60,000 requests before it: p99 of the call",
         .unit = "us",
         .target = value_at_most(100)},
        refusals);
    bench.row({.name = "batcher_requests",
               .what = "requests of 64 bytes that are copied, from eight threads, submitted until drained",
               .unit = "M/s",
               .target = value_at_least(1)},
              many_requests);
    bench.row({.name = "batcher_batch",
               .what = "what a batch of 64 such requests costs the batcher's thread, without the submissions",
               .base = "two copies and gpo_buckets_launch",
               .target = difference_at_most(5000 + 64 * 100)},
              cost_of_a_batch);
    return bench.finish();
}
