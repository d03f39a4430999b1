// batcher.hpp: batchers (batcher.h).
#ifndef GPUORCH_CPP_BATCHER_HPP
#define GPUORCH_CPP_BATCHER_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "batcher_calls.hpp"
#include "callable.hpp"
#include "stream.hpp"

namespace gpuorch {

/// A batcher. The callables of its keys are destroyed when the last batch has ended, on any thread (batcher.h,
/// gpo_batch_release_fn).
class batcher : public owner<batcher_calls, gpo_batcher_destroy> {
public:
    using owner::owner;

    /// For devices of one runtime.
    template <class Options = batcher_options>
    static batcher create(const std::vector<gpo_device_t>& devices, const Options& options = {}) {
        gpo_batcher_options all = options;
        all.devices = devices.data();
        all.device_count = devices.size();
        return detail::made<batcher>(gpo_batcher_create, detail::with_size<gpo_batcher_options>(all));
    }

    using owner::add_key;
    /// Adds a key whose work is a callable with (gpuorch::stream_ref, const gpo_batch&). Several threads may be in the
    /// callable at once, one for each lane.
    template <class Callable, class Options = batcher_key_options,
              class = std::enable_if_t<!std::is_convertible_v<Callable, std::vector<gpo_buckets_t>>>>
    std::uint32_t add_key(const Options& options, Callable&& callable) {
        using Own = std::decay_t<Callable>;
        static_assert(std::is_invocable_v<Own&, stream_ref, const gpo_batch&>,
                      "a key takes a callable with (gpuorch::stream_ref, const gpo_batch&)");
        auto own = std::make_unique<Own>(std::forward<Callable>(callable));
        gpo_batcher_key_options all = options;
        all.work = &call_work<Own>;
        all.release = [](void* user) { delete static_cast<Own*>(user); };
        all.user = own.get();
        const std::uint32_t number = owner::add_key(all);
        static_cast<void>(own.release());
        return number;
    }
    /// Adds a key whose work is that of buckets, one for each device.
    template <class Options = batcher_key_options>
    std::uint32_t add_key(const Options& options, const std::vector<gpo_buckets_t>& each) {
        gpo_batcher_key_options all = options;
        all.buckets = each.data();
        all.bucket_count = each.size();
        return owner::add_key(all);
    }

    /// Submits a request: the queue gets an entry. Returns the ticket.
    template <class Request = batcher_request>
    std::uint64_t submit(const Request& request, gpo_cq_t cq, std::uint64_t user_data) const {
        std::uint64_t ticket = 0;
        check(gpo_batcher_submit(get(), detail::with_size<gpo_batcher_request>(request), cq, user_data, &ticket,
                                 nullptr));
        return ticket;
    }
    /// Like submit, but returns nothing if the request is refused: as many wait as may, the queue is full, or the
    /// deadline can't be met. Then `*wait_ns` gets the predicted time until the request would have been done; 0
    /// otherwise.
    template <class Request = batcher_request>
    [[nodiscard]] std::optional<std::uint64_t> try_submit(const Request& request, gpo_cq_t cq, std::uint64_t user_data,
                                                          std::uint64_t* wait_ns = nullptr) const {
        std::uint64_t ticket = 0;
        const auto status =
            gpo_batcher_submit(get(), detail::with_size<gpo_batcher_request>(request), cq, user_data, &ticket, wait_ns);
        if (status == GPO_TIMEOUT || !detail::done(status, GPO_WOULD_BLOCK)) return {};
        return ticket;
    }
    /// Calls `callable` once on the executor when the request has ended. See stream_ref::then. Returns the ticket.
    template <class Callable, class Request = batcher_request>
    std::uint64_t submit_then(const Request& request, gpo_executor_t executor, Callable&& callable) const {
        std::uint64_t ticket = 0;
        const auto submit = [&](gpo_completion_fn function, void* user) {
            return gpo_batcher_submit_then(get(), detail::with_size<gpo_batcher_request>(request), executor, function,
                                           user, &ticket, nullptr);
        };
        check(detail::hand_over(std::forward<Callable>(callable), submit));
        return ticket;
    }

private:
    template <class Callable>
    static gpo_status call_work(void* user, gpo_stream_t stream, const gpo_batch* batch) {
        (*static_cast<Callable*>(user))(stream_ref(stream), *batch);
        return GPO_SUCCESS;
    }
};

}  // namespace gpuorch

#endif
