// Threads that stand ready: work of several threads at once is timed without their start.
#pragma once

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/pairs.h"

namespace gpo::bench {

class Crew {
public:
    /// `begin` runs once on each thread, before anything else.
    explicit Crew(int count, const std::function<void()>& begin = {}) : gate_(count + 1) {
        for (int i = 0; i < count; ++i)
            threads_.emplace_back([this, i, begin] {
                if (begin) attempt(begin);
                for (;;) {
                    gate_.arrive_and_wait();
                    if (!job_) return;
                    const double from = now_ns();
                    attempt([&] { job_(i); });
                    const double to = now_ns();
                    {
                        std::lock_guard lock(lock_);
                        from_ = std::min(from_, from);
                        to_ = std::max(to_, to);
                    }
                    gate_.arrive_and_wait();
                }
            });
    }
    ~Crew() {
        job_ = nullptr;
        gate_.arrive_and_wait();
        for (std::thread& thread : threads_) thread.join();
    }

    /// Calls job(0), job(1), … on the threads, all at once. Returns nanoseconds from the first thread's begin to the
    /// last thread's end.
    double run(std::function<void(int)> job) {
        job_ = std::move(job);
        from_ = 1e300;
        to_ = 0;
        gate_.arrive_and_wait();
        gate_.arrive_and_wait();
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
        return to_ - from_;
    }

private:
    template <class Body>
    void attempt(Body&& body) noexcept {
        try {
            body();
        } catch (...) {
            std::lock_guard lock(lock_);
            problem_ = std::current_exception();
        }
    }
    std::barrier<> gate_;
    std::function<void(int)> job_;
    std::mutex lock_;
    double from_ = 0, to_ = 0;
    std::exception_ptr problem_;
    std::vector<std::thread> threads_;
};

}  // namespace gpo::bench
