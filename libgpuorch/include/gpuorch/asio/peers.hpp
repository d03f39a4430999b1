// peers.hpp: groups of devices: joining, and collectives (peers.h).
#ifndef GPUORCH_ASIO_PEERS_HPP
#define GPUORCH_ASIO_PEERS_HPP

#include "module.hpp"

namespace gpuorch {

namespace asio_detail {

/// One operation that ends when several entries have come: one for each stream of a collective.
struct gathered {
    std::mutex mutex;
    std::size_t left = 0;
    operation* whole = nullptr;
    error_code error;
    completion result;  // the first failure, or else the last entry
};

class gathered_part final : public operation {
public:
    static gathered_part* make(const std::shared_ptr<gathered>& of, operation_home& home) {
        recycling_allocator<gathered_part> allocator(home.memory);
        return new (allocator.allocate(1)) gathered_part(of, home);
    }
    void destroy() noexcept {
        recycling_allocator<gathered_part> allocator(home_.memory);
        this->~gathered_part();
        allocator.deallocate(this, 1);
    }
    void complete(how way) override {
        const std::shared_ptr<gathered> of = std::move(of_);
        const error_code failed = error;
        const completion ended = result;
        destroy();
        {
            std::lock_guard<std::mutex> lock(of->mutex);
            if (!of->error) {
                of->error = failed;
                of->result = ended;
            }
            if (--of->left != 0) return;
        }
        of->whole->error = of->error;
        of->whole->result = of->result;
        of->whole->complete(way);
    }

private:
    gathered_part(std::shared_ptr<gathered> of, operation_home& home) : of_(std::move(of)), home_(home) {}
    std::shared_ptr<gathered> of_;
    operation_home& home_;
};

/// Parts that aren't under way yet. If memory runs out before all are made, they are destroyed.
struct new_parts {
    std::vector<gathered_part*> all;
    new_parts(std::size_t count, const std::shared_ptr<gathered>& of, operation_home& home) {
        all.reserve(count);
        try {
            while (all.size() < count) all.push_back(gathered_part::make(of, home));
        } catch (...) {
            destroy();
            throw;
        }
    }
    new_parts(const new_parts&) = delete;
    new_parts& operator=(const new_parts&) = delete;
    ~new_parts() { destroy(); }
    void destroy() noexcept {
        for (gathered_part* const one : all) one->destroy();
        all.clear();
    }
};

struct collective_initiation {
    using executor_type = net::any_io_executor;
    executor_type executor;
    std::shared_ptr<port_state> state;
    gpo_peers_t peers;
    gpo_collective what;
    std::vector<gpo_rank_part> parts;
    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler&& handler) {
        using plain = std::decay_t<Handler>;
        plain own(std::forward<Handler>(handler));
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        auto slot = net::get_associated_cancellation_slot(own);
#endif
        const auto all = std::make_shared<gathered>();
        const auto numbers = std::make_shared<std::vector<std::uint64_t>>(parts.size());
        all->left = parts.size() + 1;  // this function's, too
        new_parts made(parts.size() + 1, all, state->home());
        all->whole = handled_operation<plain>::make(std::move(own), state->home());
        const std::vector<gathered_part*> each = std::exchange(made.all, {});
        gathered_part* const mine = each.back();
        bool there = !parts.empty();
        for (std::size_t i = 0; i < parts.size(); ++i)
            there = ((*numbers)[i] = state->add(*each[i], true, nullptr, nullptr)) != 0 && there;
        gpo_status status = GPO_WOULD_BLOCK;
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        try {
            if (slot.is_connected())
                slot.assign([weak = std::weak_ptr<port_state>(state), numbers](net::cancellation_type type) {
                    const auto alive = type == net::cancellation_type::none ? nullptr : weak.lock();
                    for (std::size_t i = 0; alive && i < numbers->size(); ++i)
                        if ((*numbers)[i] != 0) alive->cancel((*numbers)[i]);
                });
        } catch (const std::bad_alloc&) {
            status = GPO_OUT_OF_MEMORY;
        }
#endif
        if ((there || parts.empty()) && status != GPO_OUT_OF_MEMORY)
            status = gpo_peers_submit(peers, &what, parts.data(), sizeof(gpo_rank_part),
                                      static_cast<std::uint32_t>(parts.size()));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::uint64_t number = (*numbers)[i];
            if (number == 0) continue;
            if (status != GPO_SUCCESS)
                state->note(number, {status, true});
            else
                state->note(number, {gpo_stream_notify(parts[i].stream, state->queue().get(), number), false});
        }
        if (status != GPO_SUCCESS) {
            mine->error = make_status(status);
            mine->result.status = status;
            mine->result.gpu_done = true;
        } else {
            mine->result.status = GPO_SUCCESS;
        }
        mine->complete(how::post);
    }
};

}  // namespace asio_detail

template <class Base>
class port_peers : public Base {
public:
    /// Joins a group of processes (gpo_peers_join) on another thread, one of Asio's system_executor. Completes with
    /// void(error_code, made<peers>). Memory that the options point to must stay until then. Can't be cancelled: the
    /// options' timeout_ns ends it.
    template <class Options, class Token>
    auto async_join(gpo_device_t device, const Options& options, Token&& token) const {
        auto join = [device, given = sized<gpo_join_options>(options)](made<peers>& result) {
            gpo_peers_t handle = nullptr;
            check(gpo_peers_join(device, &given, &handle));
            result.object = peers(handle);
        };
        asio_detail::making<peers, decltype(join)> one{this->get_executor(), std::move(join)};
        return net::async_initiate<Token, void(error_code, made<peers>)>(std::move(one), token);
    }
    /// Submits a collective (gpo_peers_submit). Completes with void(error_code, completion) when the streams of all
    /// parts have got there. If some fail, the error is that of the first failure. Cancellation of any type abandons
    /// the wait; the collective goes on.
    template <class Collective, class Token>
    auto async_submit(gpo_peers_t peers, const Collective& what, std::vector<gpo_rank_part> parts,
                      Token&& token) const {
        return this->begin(asio_detail::collective_initiation{this->get_executor(), this->state(), peers,
                                                              sized<gpo_collective>(what), std::move(parts)},
                           std::forward<Token>(token));
    }

protected:
    using Base::Base;
};

}  // namespace gpuorch

#endif
