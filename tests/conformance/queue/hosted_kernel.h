// A host thread in place of a kernel that serves a host ring, so that tests of the host's half need no kernel. The
// thread reads and writes the slots in pinned memory like the functions of gpuorch/device/queue.cuh.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "conformance/queue/host_rig.h"

namespace gpo::test {

class HostedKernel {
public:
    struct Task {
        uint32_t ticket;
        std::vector<uint32_t> words;
    };
    /// Returns the answer to a task: a status and words.
    using Answer = std::function<std::pair<gpo_status, std::vector<uint32_t>>(const Task&)>;

    /// Starts the thread. `answer` answers each task at once. Without `answer`, the thread only reads tasks.
    explicit HostedKernel(gpo_queue_t queue, Answer answer = nullptr)
        : row_(row_of<HostRingRow>(queue)), answer_(std::move(answer)), thread_([this] { run(); }) {}
    ~HostedKernel() { end(); }
    /// Ends the thread. Must be called before the queue's memory is freed.
    void end() {
        stopping_ = true;
        if (thread_.joinable()) thread_.join();
    }
    /// How many tasks the thread has read.
    uint64_t read() const { return read_; }

private:
    void run() {
        while (!stopping_) {
            Task task;
            if (!read_task(task)) {
                std::this_thread::yield();
                continue;
            }
            if (!answer_) continue;
            const auto [status, words] = answer_(task);
            write_answer(task.ticket, status, words);
        }
    }
    static uint64_t* at(uint64_t address) { return reinterpret_cast<uint64_t*>(address); }
    uint64_t mask() const { return (uint64_t{1} << row_.capacity_log2) - 1; }
    uint64_t flag(uint64_t position) const { return (position >> row_.capacity_log2) % 0xffffffff + 1; }
    bool read_task(Task& task) {
        uint64_t* slot = at(row_.posted_slots) + (read_ & mask()) * row_.task_words;
        for (uint32_t i = 0; i < row_.task_words; ++i) {
            const uint64_t word = __atomic_load_n(&slot[i], __ATOMIC_ACQUIRE);
            if (word >> 32 != flag(read_)) return false;
            if (i == 0)
                task.ticket = static_cast<uint32_t>(word);
            else
                task.words.push_back(static_cast<uint32_t>(word));
        }
        ++read_;
        __atomic_store_n(at(row_.control) + 16, read_.load(), __ATOMIC_RELEASE);
        return true;
    }
    void write_answer(uint32_t ticket, gpo_status status, const std::vector<uint32_t>& words) {
        uint64_t* slot = at(row_.answer_slots) + (answered_ & mask()) * row_.answer_words;
        const uint64_t high = flag(answered_) << 32;
        ++answered_;
        for (uint32_t i = 0; i < row_.answer_words; ++i) {
            const uint32_t data = i == 0 ? ticket : i == 1 ? static_cast<uint32_t>(status) : words.at(i - 2);
            __atomic_store_n(&slot[i], high | data, __ATOMIC_RELEASE);
        }
    }

    const HostRingRow row_;
    const Answer answer_;
    std::atomic<uint64_t> read_{0};
    uint64_t answered_ = 0;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace gpo::test
