// One run of a scenario while something goes wrong: what has to hold then, whatever it was.
//
// A scenario is a straight walk through a part of the API. Each of its steps may fail, with a status that is not
// GPO_INTERNAL; it then goes on as well as it can. What was accepted completes exactly once, nothing hangs, and when
// nothing goes wrong any more the same runtime works, unless its device is lost, and can be shut down.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

/// What goes wrong during an attempt.
struct Trouble {
    std::string name;                        // for messages
    std::function<void()> begin = [] {};     // from here on it may happen
    std::function<void()> end = [] {};       // and no longer
    std::function<bool()> happened = [] { return false; };
    std::function<void(const char*)> after = [](const char*) {};   // each step and question, told by its text
    std::function<bool()> shuts_down = [] { return false; };   // a shutdown has begun beside the scenario
    bool once = false;                       // a step that failed must succeed when it is tried again
    bool must_succeed = false;               // nothing goes wrong: every step succeeds
    std::function<std::string()> where = [] { return std::string(); };   // it has happened, for messages
    bool no_memory = false;  // what fails may be an allocation: sizes that are the library's choice may shrink
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

    /// For a runtime that is there already, and that somebody else shuts down meanwhile, by the end of the trouble.
    void use(gpo_runtime_t there) { runtime = there, shared_ = true; }
    /// Opens runtime, device and queue. False if that failed.
    bool open(const gpo_runtime_options& options = sized<gpo_runtime_options>());

    /// A step that is to succeed. False if it failed, which is fine while there is trouble.
    bool step(const char* text, const std::function<gpo_status()>& call);
    /// A step with an answer (status below 10) that is as good as success.
    bool ask(const char* text, const std::function<gpo_status()>& call);

    /// Marks the stream; what was accepted has to come out of the queue, once.
    bool notify(gpo_stream_t stream);
    /// For marks by other functions: a number to be given, and whether it was accepted.
    uint64_t next_mark() { return ++marks_; }
    void accepted(uint64_t mark);
    /// Takes what is in the queue.
    void drain();

    /// Ends the trouble, waits for all that was accepted, sees that the runtime works, and shuts it down.
    void finish();

    int failures() const { return failures_; }
    bool memory_may_be_out() const { return trouble_.no_memory; }
    /// The runtime may be shut down meanwhile.
    bool shared() const { return shared_; }
    /// A shutdown has begun: what was held may have been cancelled, and the host must not touch the runtime's memory.
    bool shuts_down() const { return trouble_.shuts_down(); }

private:
    bool judge(const char* text, gpo_status status, bool answers);
    void check_sound();
    /// The runtime has shut down: all that was accepted has come, and the queue says that it is at its end.
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
    uint64_t most = UINT64_MAX;    // faults of a kind that are tried, spread over all there are
    uint64_t most_in_full = UINT64_MAX;   // the same under --full
    bool compiles = false;         // each time, by a compiler, which takes as long as everything else together
};

/// All of them: together they call every exported function.
const std::vector<Scenario>& scenarios();

/// Runs one scenario with one trouble. Aborts the program, and says what it was, if that takes longer than a minute.
void attempt(const Scenario& scenario, const Trouble& trouble);

/// Whether --full was asked for (GPUORCH_TEST_FULL).
bool full();

/// Which of `total` cases of a scenario are tried: all, or the most it says (under --full that is printed); under
/// sanitizers about `sample` of them, spread, the first and the last among them, unless it is to be `every` one.
/// GPUORCH_TEST_FAULT=k is the k-th alone.
std::vector<uint64_t> chosen(const Scenario& scenario, uint64_t total, uint64_t sample, bool every = full());

#define STEP(a, ...) (a).step(#__VA_ARGS__, [&]() -> gpo_status { return __VA_ARGS__; })
#define ASK(a, ...) (a).ask(#__VA_ARGS__, [&]() -> gpo_status { return __VA_ARGS__; })

}  // namespace gpo::test
