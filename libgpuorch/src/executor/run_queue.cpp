#include "executor/run_queue.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "executor/executor.h"

namespace gpo {

namespace asio = boost::asio;

namespace {

/// Allocates Asio's operation, one for each posting, inside the strand. Asio frees the operation before it calls the
/// handler.
template <class T>
struct RoomInStrand {
    using value_type = T;

    explicit RoomInStrand(Strand& strand) noexcept : strand(&strand) {}
    template <class U>
    RoomInStrand(const RoomInStrand<U>& other) noexcept : strand(other.strand) {}

    T* allocate([[maybe_unused]] size_t count) const noexcept {
        static_assert(sizeof(T) <= Strand::kPosted && alignof(T) <= alignof(std::max_align_t));
        return reinterpret_cast<T*>(strand->posted);
    }
    void deallocate(T*, size_t) const noexcept {}
    template <class U>
    bool operator==(const RoomInStrand<U>& other) const noexcept { return strand == other.strand; }

    Strand* strand;
};

struct Posted {
    using allocator_type = RoomInStrand<std::byte>;
    allocator_type get_allocator() const noexcept { return allocator_type(*strand); }
    void operator()() noexcept { strand->executor.run(std::move(strand)); }

    Ref<Strand> strand;
};

}  // namespace

struct RunQueue::Context {
    asio::io_context io;
    // Asio stops a context that has no work and no work guard: later polls would then run nothing.
    const asio::executor_work_guard<asio::io_context::executor_type> stays = asio::make_work_guard(io);
};

// The only use of Asio's internals: an address to prefetch.
RunQueue::RunQueue()
    : context_(std::make_unique<Context>()),
      scheduler_(reinterpret_cast<const char*>(&asio::use_service<asio::detail::io_context_impl>(context_->io))),
      scheduler_bytes_(sizeof(asio::detail::io_context_impl)) {}
RunQueue::~RunQueue() = default;

void RunQueue::post(Ref<Strand> strand) noexcept { asio::post(context_->io, Posted{std::move(strand)}); }

bool RunQueue::poll_one() noexcept { return context_->io.poll_one() != 0; }

}  // namespace gpo
