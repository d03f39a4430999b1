// queue.hpp: device queues (queue.h).
#ifndef GPUORCH_CPP_QUEUE_HPP
#define GPUORCH_CPP_QUEUE_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "queue_calls.hpp"

namespace gpuorch {

/// A queue as a kernel's argument: gpo::range, gpo::ring or gpo::host_ring of gpuorch/device/queue.cuh.
template <std::size_t Bytes>
struct queue_argument {
    std::uint64_t words[Bytes / sizeof(std::uint64_t)];
};
using range_argument = queue_argument<64>;
using ring_argument = queue_argument<96>;
using host_ring_argument = queue_argument<192>;

/// Pushed and posted tasks (T) have task_size bytes, answers (A) have answer_size bytes.
class queue : public owner<queue_calls, gpo_queue_destroy> {
public:
    using owner::owner;

    /// For a queue of kind GPO_QUEUE_RANGE. Read the range again after the first set_costs().
    range_argument range() const { return argument<64>(); }
    ring_argument ring() const { return argument<96>(); }
    host_ring_argument host_ring() const { return argument<192>(); }

    void set_costs(gpo_stream_t stream, const std::vector<float>& costs) const {
        check(gpo_queue_set_costs(get(), stream, costs.data(), costs.size()));
    }
    /// The numbers come in their own order again.
    void forget_costs(gpo_stream_t stream) const { check(gpo_queue_set_costs(get(), stream, nullptr, 0)); }
    template <class T>
    void push(gpo_stream_t stream, const T* tasks, std::uint64_t count, std::uint32_t priority = 0) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        check(gpo_queue_push(get(), stream, tasks, count, priority));
    }
    /// Returns how many were posted, from the first on: 0 if there is no room.
    template <class T>
    std::uint64_t try_post(std::uint32_t tenant, const T* tasks, std::uint64_t count, std::uint64_t user_data) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        std::uint64_t posted = 0;
        static_cast<void>(
            detail::done(gpo_queue_post(get(), tenant, tasks, count, user_data, &posted), GPO_WOULD_BLOCK));
        return posted;
    }
    /// One task. Throws GPO_WOULD_BLOCK if there is no room.
    template <class T>
    void post(std::uint32_t tenant, const T& task, std::uint64_t user_data) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        std::uint64_t posted = 0;
        check(gpo_queue_post(get(), tenant, &task, 1, user_data, &posted));
    }
    /// Returns how many answers were taken, 0 if there was none. `answers` may be NULL.
    template <class A>
    std::uint64_t take(std::uint32_t tenant, gpo_answer* entries, A* answers, std::uint64_t capacity) const {
        std::uint64_t count = 0;
        check(gpo_queue_take(get(), tenant, entries, sizeof *entries, answers, capacity, &count));
        return count;
    }

private:
    template <std::size_t Bytes>
    queue_argument<Bytes> argument() const {
        queue_argument<Bytes> out{};
        std::size_t needed = 0;
        check(gpo_queue_get_device_handle(get(), out.words, sizeof out.words, &needed));
        if (needed != Bytes) throw error(wrong_kind());
        return out;
    }
    static gpo_error wrong_kind() noexcept { return error::of_status(GPO_NOT_SUPPORTED); }
};

}  // namespace gpuorch

#endif
