// Batchers under load: a perceptron, whose batches are compared with requests launched one at a time, and arrivals that
// don't wait for the answers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/load.h"
#include "bench/pairs.h"
#include "bench/perceptron.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

constexpr int kClients = 8;
constexpr uint64_t kFlows = 64;
// Members of a batch where the load is twice the capacity: of larger batches, clients can't submit so many.
constexpr uint64_t kFew = 8;
constexpr uint64_t kDelay = 200'000;

/// A perceptron served by a batcher. `delays`: of the batcher's keys.
class Served {
public:
    /// `members`: the most of a batch.
    Served(Row& row, const std::vector<uint64_t>& delays, uint64_t members = 64)
        : row_(row), most(row.size(members, uint64_t{4})), gpu_(GPO_COMPLETION_LATENCY), network_(hidden(row)) {
        gpu_.use_source(perceptron_source);
        requests_ = std::make_unique<Requests>(gpu_, network_, row.size(size_t{4096}, size_t{64}));
        buckets_ = std::make_unique<PerceptronBuckets>(gpu_, network_, most);
        const gpo_device_t device = gpu_.device;
        auto options = sized<gpo_batcher_options>();
        options.devices = &device;
        options.device_count = 1;
        CHECK_GPO(gpo_batcher_create(&options, batcher_.out()));
        for (const uint64_t delay : delays) add_key(delay);
        full_batches_ = add_key(1'000'000'000);
        load_ = std::make_unique<Load>(gpu_, batcher_, network_, *requests_);
        cq_ = gpu_.queue(1 << 20);
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    static unsigned hidden(const Row& row) { return row.size(512U, 16U); }
    /// Submits as many requests as there is memory for, from all clients, and takes them: M/s.
    double all_at_once(Crew& clients) {
        const size_t count = requests_->count;
        requests_->forget();
        const double begin = now_ns();
        clients.run([&](int client) {
            for (size_t i = static_cast<size_t>(client); i < count; i += kClients) submit(i, 0);
        });
        take(cq_, count);
        const double spent = now_ns() - begin;
        requests_->check("the batcher");
        return million_per_second(count, spent);
    }
    /// How long a batch of the most requests takes when nothing else runs: the median of some.
    double batch_ns() {
        std::vector<double> times;
        for (int i = 0; i < row_.size(21, 3); ++i) {
            for (size_t at = 0; at < most; ++at) submit(at, full_batches_);
            const double begin = now_ns();
            take(cq_, most);
            times.push_back(now_ns() - begin);
        }
        return median(times);
    }
    Answers run(Pattern pattern, double per_second, double seconds, uint32_t key, double deadline_ns = 0) {
        return load_->run(arrivals(pattern, per_second, seconds, kFlows, random_), key, deadline_ns);
    }
    Answers run(const Schedule& schedule, uint32_t key, double deadline_ns) {
        return load_->run(schedule, key, deadline_ns);
    }
    /// The highest rate with which 99 % of the requests are answered within `limit_ns`. `batch_ns`: where to search.
    double capacity(Pattern pattern, uint32_t key, double limit_ns, double batch_ns, int steps, double seconds) {
        const double without_pause = static_cast<double>(most) / batch_ns * 1e9;
        return highest_rate(without_pause * 0.3, without_pause * 4, steps,
                            [&](double rate) { return run(pattern, rate, seconds, key).p99_ns() <= limit_ns; });
    }
    gpo_batcher_info info() const {
        auto seen = sized<gpo_batcher_info>();
        CHECK_GPO(gpo_batcher_get_info(batcher_, &seen));
        return seen;
    }
    std::mt19937_64& random() { return random_; }
    double behind() const { return load_->behind(); }

private:
    uint32_t add_key(uint64_t delay) {
        const gpo_batcher_key_options key = buckets_->key(delay);
        uint32_t number = 0;
        CHECK_GPO(gpo_batcher_add_key(batcher_, &key, &number));
        return number;
    }
    void submit(size_t number, uint32_t key) {
        auto request = sized<gpo_batcher_request>();
        request.key = key;
        request.flow = number % kFlows;
        request.input = requests_->image(number);
        request.output = requests_->scores(number);
        uint64_t ticket = 0;
        CHECK_GPO(gpo_batcher_submit(batcher_, &request, cq_, number, &ticket, nullptr));
    }

    Row& row_;

public:
    const uint64_t most;

private:
    Gpu gpu_;
    const Network network_;
    std::mt19937_64 random_{1};
    std::unique_ptr<Requests> requests_;
    std::unique_ptr<PerceptronBuckets> buckets_;
    Batcher batcher_;  // destroyed before its buckets
    std::unique_ptr<Load> load_;
    Queue cq_;
    uint32_t full_batches_ = 0;  // a key whose batches are all of the most requests
};

template <class... Arguments>
std::string text(const char* format, Arguments... arguments) {
    char made[128];
    std::snprintf(made, sizeof made, format, arguments...);
    return made;
}

// --- requests that are all there ---

void against_one_at_a_time(Row& row, int streams) {
    const Network network(Served::hidden(row));
    Gpu gpu;
    gpu.use_source(perceptron_source);
    Raw raw(gpu);
    const Requests requests(gpu, network, row.size(size_t{4096}, size_t{64}));
    const RawPerceptron base(raw, gpu, network, static_cast<size_t>(streams));
    Served served(row, {GPO_AUTO});
    Crew launching(streams, [&] { raw.make_current(); }), clients(kClients);
    row.pairs(
        [&] {
            requests.forget();
            const double begin = now_ns();
            launching.run([&](int stream) {
                for (size_t i = static_cast<size_t>(stream); i < requests.count; i += static_cast<size_t>(streams))
                    base.put(static_cast<size_t>(stream), requests.image(i), requests.scores(i));
            });
            base.finish();
            const double spent = now_ns() - begin;
            requests.check("the base");
            return million_per_second(requests.count, spent);
        },
        [&] { return served.all_at_once(clients); });
    const gpo_batcher_info seen = served.info();
    row.note(
        text("%.1f requests a batch", static_cast<double>(seen.batch_elements) / static_cast<double>(seen.batches)));
}

// --- arrivals that don't wait ---

/// The rate that the row's loads are made of, found first.
struct Found {
    double batch_ns, deadline_ns, per_second, seconds;
};
Found find_capacity(Row& row, Served& served, double delay_ns) {
    Found found{};
    found.batch_ns = served.batch_ns();
    found.deadline_ns = delay_ns + 4 * found.batch_ns;
    // Many deadlines long: the line that an overload fills is a small part of the load.
    found.seconds = row.size(std::clamp(25 * found.deadline_ns / 1e9, 0.1, 1.0), 0.005);
    found.per_second =
        served.capacity(Pattern::poisson, 0, found.deadline_ns, found.batch_ns, row.size(8, 2), found.seconds);
    row.note(text("capacity %.4g a second, largest batch %.4g us", found.per_second, found.batch_ns / 1e3));
    return found;
}

void p99_below_capacity(Row& row) {
    Served served(row, {kDelay});
    const Found found = find_capacity(row, served, static_cast<double>(kDelay));
    row.pairs([&] { return (static_cast<double>(kDelay) + 2 * served.batch_ns()) / 1e6; },
              [&] { return served.run(Pattern::poisson, found.per_second * 0.8, found.seconds, 0).p99_ns() / 1e6; });
}

void goodput_in_overload(Row& row) {
    Served served(row, {GPO_AUTO}, kFew);
    const Found found = find_capacity(row, served, 0);
    const auto goodput = [&](double rate, double deadline_ns) {
        const Answers answers = served.run(Pattern::poisson, rate, found.seconds, 0, deadline_ns);
        return answers.million_per_second(answers.in_time());
    };
    row.pairs([&] { return goodput(found.per_second, found.deadline_ns); },
              [&] { return goodput(found.per_second * 2, found.deadline_ns); });
    row.note(text("clients were at most %.4g us behind", served.behind() / 1e3));
}

/// A block's figure is of all blocks so far: the misses that are allowed are too few for one.
void missed_in_overload(Row& row) {
    Served served(row, {GPO_AUTO}, kFew);
    const Found found = find_capacity(row, served, 0);
    size_t admitted = 0, missed = 0, slow = 0;
    row.alone([&] {
        const Answers answers = served.run(Pattern::poisson, found.per_second * 2, found.seconds, 0, found.deadline_ns);
        admitted += answers.admitted();
        missed += answers.missed();
        slow += answers.slower(found.deadline_ns);
        return 100 * static_cast<double>(missed) / static_cast<double>(std::max<size_t>(admitted, 1));
    });
    row.note(text("%zu of %zu; %zu were drained later than that", missed, admitted, slow));
}

/// A learnt delay against the one of these that bears the most.
void learnt_delay(Row& row, Pattern pattern) {
    const std::vector<uint64_t> delays = {GPO_AUTO, 1, 50'000, 200'000, 1'000'000};
    Served served(row, delays);
    const double batch_ns = served.batch_ns(), limit_ns = 4 * batch_ns;
    uint32_t best = 1;
    double most = 0;
    for (uint32_t key = 1; key < delays.size(); ++key) {
        const double borne = served.capacity(pattern, key, limit_ns, batch_ns, row.size(7, 2), row.size(0.05, 0.003));
        if (borne > most) best = key, most = borne;
    }
    row.note(text("best of the others: %.4g us; 99 %% within %.4g us", static_cast<double>(delays[best]) / 1e3,
                  limit_ns / 1e3));
    const auto borne = [&](uint32_t key) {
        return highest_rate(most * 0.6, most * 1.3, row.size(5, 1),
                            [&](double rate) {
                                return served.run(pattern, rate, row.size(0.025, 0.003), key).p99_ns() <= limit_ns;
                            }) /
               1e6;
    };
    row.pairs([&] { return borne(best); }, [&] { return borne(0); });
}

/// Two flows of equal weight that ask for twice the capacity, the larger for ten times as much as the smaller. The base
/// is the smaller one alone.
void small_flow(Row& row) {
    Served served(row, {GPO_AUTO}, kFew);
    const Found found = find_capacity(row, served, 0);
    const auto small_gets = [&](bool both) {
        const double rate = found.per_second * 2;
        Schedule schedule =
            arrivals(Pattern::poisson, both ? rate : rate / 11, found.seconds, both ? 11 : 1, served.random());
        for (Arrival& one : schedule) one.flow = one.flow == 0 ? 0 : 1;
        const Answers answers = served.run(schedule, 0, 2 * found.deadline_ns);
        return static_cast<double>(answers.in_time(0)) / static_cast<double>(std::max<size_t>(answers.offered(0), 1));
    };
    row.pairs([&] { return small_gets(false); }, [&] { return small_gets(true); });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("serving_load", argc, argv);
    bench.row(
        {.name = "batcher_perceptron",
         .what = "784-512-512-10, 64 flows, 8 clients, all requests at once: by a batcher with templates for 1 to 64",
         .unit = "M/s",
         .base = "two copies and cuLaunchKernel, 3 times, for each request on one stream",
         .target = ratio_at_least(8)},
        [](Row& row) { against_one_at_a_time(row, 1); });
    bench.row({.name = "batcher_perceptron_8",
               .what = "the same",
               .unit = "M/s",
               .base = "the same on 8 streams, by 8 threads",
               .target = ratio_at_least(3)},
              [](Row& row) { against_one_at_a_time(row, kClients); });
    bench.row({.name = "batcher_p99",
               .what = "that perceptron, Poisson arrivals at 80 % of the capacity, a delay of 200 us: p99",
               .unit = "ms",
               .base = "the delay and twice the time of the largest batch",
               .target = ratio_at_most(1)},
              p99_below_capacity);
    bench.row(
        {.name = "batcher_overload",
         .what = "Poisson arrivals at twice the capacity, deadlines of four of the largest batches: answers in time",
         .unit = "M/s",
         .base = "at the capacity",
         .target = ratio_at_least(0.95)},
        goodput_in_overload);
    bench.row({.name = "batcher_overload_missed",
               .what = "the same: requests that weren't refused and miss their deadlines, in all blocks so far",
               .unit = "%",
               .target = value_at_most(0.01)},
              missed_in_overload);
    const std::pair<const char*, Pattern> patterns[] = {{"batcher_delay_poisson", Pattern::poisson},
                                                        {"batcher_delay_bursts", Pattern::bursts},
                                                        {"batcher_delay_steady", Pattern::steady}};
    const char* whats[] = {
        "rate that a learnt delay bears with 99 % within four of the largest batches, Poisson arrivals",
        "the same, bursts of 16 at random times", "the same, equal gaps"};
    for (size_t i = 0; i < 3; ++i)
        bench.row({.name = patterns[i].first,
                   .what = whats[i],
                   .unit = "M/s",
                   .base = "the best of 1 ns, 50 us, 200 us and 1 ms",
                   .target = ratio_at_least(0.95)},
                  [&](Row& row) { learnt_delay(row, patterns[i].second); });
    bench.row({.name = "batcher_small_flow",
               .what = "two flows that ask for twice the capacity, as 10 to 1: the share that the small one gets of "
                       "what it asks for",
               .unit = "got/asked",
               .base = "the small one alone",
               .target = ratio_at_least(0.95)},
              small_flow);
    return bench.finish();
}
