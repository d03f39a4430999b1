// A thread for work that must not run on the thread on which it becomes due. Examples are driver calls that serialise,
// work that takes a submit lock (forbidden to the scanner), and retries for lack of memory. Posting an errand needs no
// memory: each errand is made as a part of the object it serves.
#pragma once

#include <new>
#include <utility>

#include "host/host.h"

namespace gpo {

class Errand {
public:
    /// Runs once for each post(). May destroy the errand, or post it again.
    virtual void run() noexcept = 0;

protected:
    virtual ~Errand() = default;

private:
    friend class Errands;
    Errand* next_ = nullptr;
    uint64_t due_ = 0;
    bool posted_ = false;
};

class Errands {
public:
    static constexpr uint64_t kTryAgain = 1'000'000;   // ns until an errand that found no memory is run again

    ~Errands() { finish(); }

    /// Starts the thread, if there is none. Call this before posting errands. `name`: the thread's name, up to 15
    /// characters. Throws std::system_error, std::bad_alloc.
    void start(const char* name = "gpo-errands");

    /// Runs the errand on the errands' thread, in the order of posting, but not before the time `due` (host::now()).
    /// The errand must not be posted already. If the thread wasn't started or has ended, the errand runs on the calling
    /// thread, after an errand that is running there.
    void post(Errand& errand, uint64_t due = 0) noexcept;

    /// Like post(), but the errand may be posted already: it then runs once, at the earlier one of the two times. True
    /// if the errand was not posted before, and this call posted it.
    bool advance(Errand& errand, uint64_t due) noexcept;

    /// Posts a function as an errand of its own. If there is no memory for the errand, the function runs on the calling
    /// thread, where this must be safe.
    template <class Body>
    void post_body(Body body) noexcept {
        struct Once final : Errand {
            explicit Once(Body&& body) : body(std::move(body)) {}
            void run() noexcept override {
                body();
                delete this;
            }
            Body body;
        };
        if (auto* errand = new (std::nothrow) Once(std::move(body)))
            post(*errand);
        else
            body();
    }

    /// Runs the remaining errands, due or not, and ends the thread.
    void finish() noexcept;

private:
    void run() noexcept;
    bool add(Errand& errand, uint64_t due) noexcept;
    static void run_here(Errand& errand, uint64_t due) noexcept;
    Errand* take(uint64_t now) noexcept;

    host::Mutex lock_;
    host::Condition changed_;
    Errand *first_ = nullptr, *last_ = nullptr;   // in order, under lock_
    Errand* later_ = nullptr;                     // not due yet, under lock_
    bool finishing_ = false, running_ = false;
    host::Thread thread_;
};

}  // namespace gpo
