// Checks during and after an attempt.
#include "faults/attempt.h"

#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

#include "faults/places.h"

namespace gpo::test {

namespace {

/// Ends the program when an attempt hangs.
class Watchdog {
public:
    Watchdog(std::string what, const Trouble& trouble)
        : what_(std::move(what)), trouble_(trouble), thread_([this] { watch(); }) {}
    ~Watchdog() {
        {
            const std::lock_guard guard(lock_);
            done_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }

private:
    void watch() {
        std::unique_lock guard(lock_);
        // Wait in steps of a second: time during which the machine or this program is suspended counts as one step.
        for (int second = 0; second < 60; ++second)
            if (changed_.wait_for(guard, std::chrono::seconds(1), [this] { return done_; })) return;
        std::fprintf(stderr, "hangs: %s\n%s\n", what_.c_str(), trouble_.where().c_str());
        std::fflush(stderr);
        std::abort();
    }

    const std::string what_;
    const Trouble& trouble_;
    std::mutex lock_;
    std::condition_variable changed_;
    bool done_ = false;
    std::thread thread_;
};

bool lost(gpo_status status) { return status == GPO_DEVICE_LOST; }

/// Whether a part of a text "X: Y: Z" begins with the part before it, or the part before with it.
bool says_twice(std::string_view text) {
    const auto begins = [](std::string_view longer, std::string_view with) {
        return longer.starts_with(with) && (longer.size() == with.size() || longer[with.size()] == ' ');
    };
    std::string_view before;
    for (;;) {
        const size_t colon = text.find(": ");
        const std::string_view part = text.substr(0, colon);
        if (!before.empty() && !part.empty() && (begins(part, before) || begins(before, part))) return true;
        if (colon == std::string_view::npos) return false;
        before = part;
        text.remove_prefix(colon + 2);
    }
}

/// Checks the message of the failure of this thread's last call. `text`: the call, or a function that makes several
/// calls, the last of which may have failed too. Doctest hears only of faults, because there are millions of failures.
void check_words(const char* text, gpo_status status) {
    const gpo_error error = last_error();
    if (std::string_view(text).starts_with("gpo_") && error.status != status) CHECK(error.status == status);
    if (!error.message[0]) FAIL_CHECK("there is no message");
    const std::string shown = std::string(error.function) + ": " + error.message;
    if (says_twice(shown)) FAIL_CHECK("it says something twice: " << shown);
    if (error.native_domain != GPO_NATIVE_CUDA || error.native_code != CUDA_ERROR_OUT_OF_MEMORY) return;
    const std::string_view function = error.function;
    const bool host = function == "cuMemHostAlloc" || function == "cuMemHostRegister";
    if (!host && function != "cuMemAlloc" && function != "cuMemAllocFromPoolAsync") return;
    if (shown.find(host ? "the host has no memory left to pin for " : " has no memory left for ") == std::string::npos)
        FAIL_CHECK("it doesn't say for whom: " << shown);
}

}  // namespace

bool Attempt::judge(const char* text, gpo_status status, bool answers) {
    trouble_.after(text);
    if (status == GPO_SUCCESS || (answers && status < 10 && status > 0)) return true;
    ++failures_;
    INFO(explain(text, status));
    story_ += "  " + explain(text, status) + "\n";
    CHECK(std::string(gpo_status_name(status)) != "GPO_UNKNOWN");
    CHECK(status != GPO_INTERNAL);
    CHECK(status >= 10);
    check_words(text, status);
    CHECK_FALSE(trouble_.must_succeed);
    return false;
}

bool Attempt::step(const char* text, const std::function<gpo_status()>& call) {
    if (judge(text, call(), false)) return true;
    if (!trouble_.once || !trouble_.happened()) return false;
    const gpo_status again = call();
    INFO("after it had failed, " << explain(text, again));
    CHECK(again == GPO_SUCCESS);
    return again == GPO_SUCCESS;
}

void Attempt::accepted(uint64_t mark) {
    pending_[mark] = 0;
    story_ += "  mark " + std::to_string(mark) + " accepted\n";
}

bool Attempt::ask(const char* text, const std::function<gpo_status()>& call) { return judge(text, call(), true); }

bool Attempt::open(const gpo_runtime_options& options) {
    const places::Common common;
    return (shared_ || STEP(*this, gpo_runtime_create(&options, &runtime))) &&
           STEP(*this, gpo_device_open(runtime, nullptr, &device)) &&
           STEP(*this, gpo_cq_create(runtime, nullptr, &queue));
}

bool Attempt::notify(gpo_stream_t stream) {
    const uint64_t mark = next_mark();
    if (!STEP(*this, gpo_stream_notify(stream, queue, mark))) return false;
    accepted(mark);
    return true;
}

void Attempt::drain() {
    gpo_completion entries[16];
    uint64_t count = 0;
    do {
        if (gpo_cq_drain(queue, entries, sizeof entries[0], 16, &count) != GPO_SUCCESS) return;
        for (uint64_t i = 0; i < count; ++i) {
            CHECK(entries[i].status != GPO_INTERNAL);
            if (trouble_.must_succeed) CHECK((entries[i].status == GPO_SUCCESS || entries[i].status >= 50));
            const auto mark = pending_.find(entries[i].user_data);
            if (mark == pending_.end()) {
                FAIL_CHECK("mark " << entries[i].user_data << " completed and was never accepted");
            } else {
                CHECK(++mark->second == 1);
            }
        }
    } while (count > 0);
}

void Attempt::check_sound() {
    gpo_stream_t stream = nullptr;
    const gpo_status created = gpo_stream_create(device, nullptr, &stream);
    if (lost(created)) return;
    INFO(explain("afterwards, gpo_stream_create", created));
    CHECK(created == GPO_SUCCESS);
    if (created != GPO_SUCCESS) return;
    const uint64_t mark = next_mark();
    const gpo_status notified = gpo_stream_notify(stream, queue, mark);
    INFO(explain("afterwards, gpo_stream_notify", notified));
    CHECK((notified == GPO_SUCCESS || lost(notified)));
    if (notified == GPO_SUCCESS) accepted(mark);
    const gpo_status waited = gpo_stream_wait(stream, kPatience);
    INFO(explain("afterwards, gpo_stream_wait", waited));
    CHECK((waited == GPO_SUCCESS || lost(waited)));
    CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
}

void Attempt::finish() {
    if (finished_) return;
    finished_ = true;
    // Under trouble a shutdown may fail, with a status; it can then be asked again.
    trouble_.end();
    if (shared_) return check_end_of_queue();
    if (device && queue) check_sound();
    if (queue) {
        const auto all_came = [this] {
            return std::all_of(pending_.begin(), pending_.end(), [](const auto& mark) { return mark.second > 0; });
        };
        drain();
        while (!all_came()) {
            const gpo_status status = gpo_cq_wait(queue, kPatience / 2);
            drain();
            if (status == GPO_SUCCESS || all_came()) continue;
            std::string missing;
            for (const auto& [mark, seen] : pending_)
                if (seen == 0) missing += " " + std::to_string(mark);
            FAIL_CHECK(explain("gpo_cq_wait", status), "; marks that never completed:", missing, "; before:\n", story_);
            break;
        }
    }
    if (runtime) {
        const gpo_status status = gpo_runtime_shutdown(runtime, kPatience);
        INFO(explain("gpo_runtime_shutdown", status));
        CHECK(status == GPO_SUCCESS);
        check_end_of_queue();
    }
}

void Attempt::check_end_of_queue() {
    if (!queue) return;
    drain();
    for (const auto& pending : pending_) {
        INFO("mark " << pending.first << "; before:\n" << story_);
        CHECK(pending.second == 1);
    }
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_wait(queue, kPatience));
    CHECK_OK(gpo_cq_destroy(queue));
}

Attempt::~Attempt() { finish(); }

void attempt(const Scenario& scenario, const Trouble& trouble, Attempt** attempted) {
    INFO(std::string(scenario.name) << ", " << trouble.name);
    INFO(trouble.where());
    Watchdog watchdog(std::string(scenario.name) + ", " + trouble.name, trouble);
    Attempt a(trouble);
    if (attempted) *attempted = &a;
    trouble.begin();
    scenario.run(a);
    a.finish();
}

bool full() { return std::getenv("GPUORCH_TEST_FULL") != nullptr; }

std::vector<uint64_t> Choice::of(const Scenario& scenario, const std::vector<uint64_t>& places) {
    if (const char* only = std::getenv("GPUORCH_TEST_FAULT")) return {std::strtoull(only, nullptr, 10)};
    std::vector<uint64_t> all(places.size());
    std::iota(all.begin(), all.end(), 1);
    if (!every_) all = places::without_repeats(places, tried_);
    const uint64_t total = all.size();
#if defined(__SANITIZE_THREAD__)
    uint64_t sample = every_ ? total : std::min(total, sample_ / 3);  // ten times slower than a plain build
#elif defined(__SANITIZE_ADDRESS__)
    uint64_t sample = every_ ? total : std::min(total, sample_);
#else
    uint64_t sample = total;
#endif
    sample = std::min(sample, every_ ? scenario.most_in_full : scenario.most);
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < sample; ++i) {
        const uint64_t number = all[sample < 2 ? 0 : i * (total - 1) / (sample - 1)];
        if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
    }
    std::vector<uint64_t> chosen;
    for (const uint64_t number : numbers) chosen.push_back(places[number - 1]);
    tried_.add(chosen);
    if (full() && numbers.size() < total)
        std::printf("%s: %zu of %llu places, spread\n", scenario.name, numbers.size(),
                    static_cast<unsigned long long>(total));
    return numbers;
}

}  // namespace gpo::test
