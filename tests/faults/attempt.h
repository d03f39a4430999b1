// An attempt runs a scenario while faults are injected (*trouble*), and checks what must hold under any faults.
//
// A scenario is a sequence of calls to a part of the API. Each step may fail, with any status except GPO_INTERNAL. The
// scenario then continues as far as it can. Accepted work must complete exactly once, and nothing may hang. When the
// trouble has ended, the runtime must work again, unless its device is lost, and it must be possible to shut it down.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "faults/places.h"
#include "support/gpu.h"

namespace gpo::test {

/// A fault that is injected during an attempt.
struct Trouble {
    std::string name;                        // for messages
    std::function<void()> begin = [] {};     // starts injecting the fault
    std::function<void()> end = [] {};       // stops injecting it
    std::function<bool()> happened = [] { return false; };
    std::function<void(const char*)> after = [](const char*) {};   // called with the text of each step and question
    std::function<bool()> shuts_down = [] { return false; };   // a shutdown has begun beside the scenario
    bool once = false;                       // a step that failed must succeed when it is tried again
    bool must_succeed = false;               // nothing goes wrong: every step succeeds
    std::function<std::string()> where = [] { return std::string(); };   // the place where it happened, for messages
    bool no_memory = false;  // an allocation may fail: sizes that the library chooses may shrink
};

class Attempt {
public:
    explicit Attempt(const Trouble& trouble) : trouble_(trouble) {}
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_cq_t queue = nullptr;

    /// Uses a runtime that another thread shuts down before the trouble ends.
    void use(gpo_runtime_t there) { runtime = there, shared_ = true; }
    /// Opens runtime, device and queue. False if that failed.
    bool open(const gpo_runtime_options& options = sized<gpo_runtime_options>());

    /// Runs a step that should succeed. Returns false if it failed, which is allowed during trouble.
    bool step(const char* text, const std::function<gpo_status()>& call);
    /// Like step(), but statuses below 10, such as GPO_TIMEOUT, also count as success.
    bool ask(const char* text, const std::function<gpo_status()>& call);

    /// Puts a mark on the stream. finish() checks that its entry comes out of the queue exactly once.
    bool notify(gpo_stream_t stream);
    /// For marks that other functions make: next_mark() gives the number to pass, and accepted() registers the mark.
    uint64_t next_mark() { return ++marks_; }
    void accepted(uint64_t mark);
    /// Takes all entries that are in the queue.
    void drain();

    /// Ends the trouble, waits for all accepted marks, checks that the runtime works, and shuts it down.
    void finish();

    int failures() const { return failures_; }
    bool memory_may_be_out() const { return trouble_.no_memory; }
    /// The runtime may be shut down meanwhile.
    bool shared() const { return shared_; }
    /// Whether a shutdown has begun: held work may have been cancelled, and the runtime's memory must not be accessed.
    bool shuts_down() const { return trouble_.shuts_down(); }

private:
    bool judge(const char* text, gpo_status status, bool answers);
    void check_sound();
    /// After the shutdown: checks for all accepted marks, and for the queue's end.
    void check_end_of_queue();

    const Trouble& trouble_;
    std::map<uint64_t, int> pending_;        // marks accepted, and how often they came out
    uint64_t marks_ = 0;
    std::string story_;                      // what was marked and what failed, in order: for messages
    int failures_ = 0;
    bool finished_ = false, shared_ = false;
};

struct Scenario {
    const char* name;
    void (*run)(Attempt&);
    uint64_t most = UINT64_MAX;    // how many faults of each kind are tried, spread evenly over all possible ones
    uint64_t most_in_full = UINT64_MAX;   // the same under --full
    bool compiles = false;         // each run starts a compiler, which takes as long as all other steps together
    bool makes_groups = false;     // makes groups of devices; on CUDA these use NCCL, which has its own threads
};

/// All scenarios. Together they call every exported function.
const std::vector<Scenario>& scenarios();

/// Runs one scenario with one trouble. After a minute, prints both and aborts the program. `attempted`, unless NULL, is
/// the attempt while it runs.
void attempt(const Scenario& scenario, const Trouble& trouble, Attempt** attempted = nullptr);

/// Whether --full was asked for (GPUORCH_TEST_FULL).
bool full();

/// Chooses the cases of one scenario after the other. GPUORCH_TEST_FAULT=k selects case k alone.
class Choice {
public:
    /// AddressSanitizer's build tries about `sample` cases of a scenario, spread from the first to the last, and
    /// ThreadSanitizer's a third of them, unless `every` is set.
    explicit Choice(uint64_t sample, bool every = full()) : sample_(sample), every_(every) {}
    /// The numbers of the cases to try: all under --full, otherwise those that aren't repeats (places.h); no more than
    /// the scenario's limit (printed under --full).
    std::vector<uint64_t> of(const Scenario& scenario, const std::vector<uint64_t>& places);

private:
    const uint64_t sample_;
    const bool every_;
    places::Tried tried_;
};

#define STEP(a, ...) (a).step(#__VA_ARGS__, [&]() -> gpo_status { return __VA_ARGS__; })
#define ASK(a, ...) (a).ask(#__VA_ARGS__, [&]() -> gpo_status { return __VA_ARGS__; })

}  // namespace gpo::test
