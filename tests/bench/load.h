// Open-loop load on a batcher: requests are submitted at times that were drawn beforehand, whatever becomes of those
// before. A request's time counts from its intended submission, so a wait of the generator counts too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/perceptron.h"

namespace gpo::bench {

struct Arrival {
    double at_ns;  // from the begin
    uint64_t flow;
};
using Schedule = std::vector<Arrival>;

enum class Pattern { poisson, bursts, steady };
inline constexpr int kBurst = 16;  // requests that arrive together in a burst; bursts are a Poisson process

/// Arrivals of `flows` flows that take turns at random.
inline Schedule arrivals(Pattern pattern, double per_second, double seconds, uint64_t flows, std::mt19937_64& random) {
    const int together = pattern == Pattern::bursts ? kBurst : 1;
    std::exponential_distribution<double> gap(per_second / 1e9 / together);
    std::uniform_int_distribution<uint64_t> flow(0, flows - 1);
    Schedule made;
    for (double at = 0; at < seconds * 1e9;) {
        at += pattern == Pattern::steady ? 1e9 / per_second : gap(random);
        for (int i = 0; i < together; ++i) made.push_back({at, flow(random)});
    }
    return made;
}

/// What became of a request.
struct Answer {
    enum Kind : uint8_t { refused, expired, done } kind = refused;
    bool late = false;   // by the library's clock, done after the deadline
    double took_ns = 0;  // until its entry was drained
};

class Answers {
public:
    Answers(const Schedule& schedule, std::vector<Answer> all) : schedule_(schedule), all_(std::move(all)) {}

    /// The time within which 99 % of all requests were answered; infinite if more were refused or expired.
    double p99_ns() const {
        std::vector<double> times;
        for (const Answer& one : all_) times.push_back(one.kind == Answer::done ? one.took_ns : HUGE_VAL);
        return quantile(std::move(times), 0.99);
    }
    /// Requests that were answered in time, of all flows or of one.
    size_t in_time() const {
        return count([](const Answer& one, uint64_t) { return one.kind == Answer::done && !one.late; });
    }
    size_t in_time(uint64_t flow) const {
        return count(
            [&](const Answer& one, uint64_t of) { return of == flow && one.kind == Answer::done && !one.late; });
    }
    size_t offered(uint64_t flow) const {
        return count([&](const Answer&, uint64_t of) { return of == flow; });
    }
    /// Requests that weren't refused, and missed their deadline.
    size_t missed() const {
        return count([](const Answer& one, uint64_t) { return one.kind == Answer::expired || one.late; });
    }
    /// Requests whose entries were drained later than so long after their intended submission.
    size_t slower(double ns) const {
        return count([&](const Answer& one, uint64_t) { return one.kind == Answer::done && one.took_ns > ns; });
    }
    size_t admitted() const {
        return count([](const Answer& one, uint64_t) { return one.kind != Answer::refused; });
    }
    double seconds() const { return schedule_.back().at_ns / 1e9; }
    double million_per_second(size_t count) const { return static_cast<double>(count) / seconds() / 1e6; }

private:
    template <class Which>
    size_t count(Which&& which) const {
        size_t found = 0;
        for (size_t i = 0; i < all_.size(); ++i) found += which(all_[i], schedule_[i].flow);
        return found;
    }
    const Schedule schedule_;
    const std::vector<Answer> all_;
};

/// Some threads that submit, and one that drains. The answers are checked.
class Load {
public:
    Load(Gpu& gpu, gpo_batcher_t batcher, const Network& network, const Requests& requests)
        : batcher_(batcher), network_(network), requests_(requests), cq_(gpu.queue(1 << 20)), crew_(generators() + 1) {}

    /// `deadline_ns` after a request's intended submission; 0: none.
    Answers run(const Schedule& schedule, uint32_t key, double deadline_ns = 0) {
        std::vector<Answer> answers(schedule.size());
        std::atomic<size_t> refused{0};
        requests_.forget();
        const double begin = now_ns() + 100'000;
        failed_ = false;
        crew_.run([&](int thread) {
            try {
                if (thread == generators())
                    drain(schedule, begin, deadline_ns, answers, refused);
                else
                    submit(schedule, begin, deadline_ns, key, static_cast<size_t>(thread), refused);
            } catch (...) {
                failed_ = true;  // the others end too
                throw;
            }
        });
        for (size_t i = 0; i < answers.size(); ++i)
            if (answers[i].kind == Answer::done) network_.require_scores(i, requests_.scores(i), "the batcher");
        return {schedule, std::move(answers)};
    }

    /// How long after its time a request was submitted, at most, in ns: a generator that is far behind measures itself.
    double behind() const { return behind_; }

private:
    static int generators() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency() / 2, 1U, 8U)); }
    static void wait_until(double due) {
        for (double left; (left = due - now_ns()) > 0;) {
            if (left > 300'000)
                std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<long>(left - 200'000)));
            else
                std::this_thread::yield();
        }
    }
    void submit(const Schedule& schedule, double begin, double deadline_ns, uint32_t key, size_t first,
                std::atomic<size_t>& refused) {
        auto request = sized<gpo_batcher_request>();
        request.key = key;
        double behind = 0;
        for (size_t i = first; i < schedule.size() && !failed_; i += static_cast<size_t>(generators())) {
            const double due = begin + schedule[i].at_ns;
            wait_until(due);
            behind = std::max(behind, now_ns() - due);
            request.flow = schedule[i].flow;
            request.input = requests_.image(i);
            request.output = requests_.scores(i);
            request.deadline_ns = deadline_ns > 0 ? static_cast<uint64_t>(due + deadline_ns) : 0;
            uint64_t ticket = 0;
            const gpo_status status = gpo_batcher_submit(batcher_, &request, cq_, i, &ticket, nullptr);
            if (status == GPO_WOULD_BLOCK || status == GPO_TIMEOUT)
                ++refused;
            else
                check_call("gpo_batcher_submit", status);
        }
        for (double known = behind_; behind > known && !behind_.compare_exchange_weak(known, behind);) {
        }
    }
    void drain(const Schedule& schedule, double begin, double deadline_ns, std::vector<Answer>& answers,
               const std::atomic<size_t>& refused) {
        std::vector<gpo_completion> entries(1024);
        for (size_t ended = 0; ended + refused < answers.size() && !failed_;) {
            uint64_t count = 0;
            CHECK_GPO(gpo_cq_drain(cq_, entries.data(), sizeof entries[0], entries.size(), &count));
            if (count == 0) gpo_cq_wait(cq_, 200'000);  // the last one may be refused meanwhile
            const double now = now_ns();
            for (uint64_t i = 0; i < count; ++i) {
                const size_t at = entries[i].user_data;
                const double due = begin + schedule[at].at_ns;
                if (entries[i].status != GPO_TIMEOUT) check_call("a request", entries[i].status);
                answers[at].kind = entries[i].status == GPO_SUCCESS ? Answer::done : Answer::expired;
                answers[at].took_ns = now - due;
                answers[at].late = answers[at].kind == Answer::done && deadline_ns > 0 &&
                                   static_cast<double>(entries[i].completed_ns) > due + deadline_ns;
            }
            ended += count;
        }
    }

    const gpo_batcher_t batcher_;
    const Network& network_;
    const Requests& requests_;
    const Queue cq_;
    std::atomic<bool> failed_{false};
    std::atomic<double> behind_{0};
    Crew crew_;
};

/// The highest rate between `low` and `high` that `bears` says yes to, by halving; `low` if it does to none.
template <class Bears>
double highest_rate(double low, double high, int steps, Bears&& bears) {
    for (int i = 0; i < steps; ++i) {
        const double middle = std::sqrt(low * high);
        (bears(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace gpo::bench
