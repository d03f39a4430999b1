// Threads: they start with all signals blocked except the synchronous ones, have names, and are joined by their owners.
// A thread that is started by an actor of a Schedule is an actor too, from before its start until after its body has
// returned.
#include "host/host.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "host/linux.h"
#include "host/schedule.h"

namespace gpo::host {

namespace {

constexpr size_t kLeastStack = size_t{1} << 20;  // even if `ulimit -s` is less; enough for the library's code
constexpr size_t kShownName = 15;                // bytes of a name that Linux keeps

constinit std::atomic<uint32_t> live_threads{0};
constinit std::atomic<ThreadNames> thread_names{nullptr};

void block_signals(sigset_t* before) noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&blocked, synchronous);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}

class Attributes {
public:
    Attributes() {
        if (const int error = pthread_attr_init(&attributes_))
            throw std::system_error(error, std::generic_category(), "pthread_attr_init");
        size_t size = 0;
        if (pthread_attr_getstacksize(&attributes_, &size) == 0 && size < kLeastStack)
            pthread_attr_setstacksize(&attributes_, kLeastStack);
    }
    ~Attributes() { pthread_attr_destroy(&attributes_); }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    const pthread_attr_t* get() const noexcept { return &attributes_; }

private:
    pthread_attr_t attributes_;
};

}  // namespace

NoCancel::NoCancel() noexcept {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &outer_);
}

NoCancel::~NoCancel() {
    pthread_setcancelstate(outer_, nullptr);
}

void watch_thread_names(ThreadNames watch) noexcept { thread_names.store(watch, std::memory_order_release); }

struct Thread::Impl {
    pthread_t handle{};
    char name[kShownName + 1]{};
    std::function<void()> body;
    uint32_t forks = detail::forks();   // identifies the thread's process
    detail::Actor* actor = nullptr;     // while a Schedule is in force; the thread deletes it
    std::atomic<uint32_t> ended{0};     // joiners in a Schedule wait for it

    static thread_local Impl* current;
    static void* run(void* argument) noexcept;
};

thread_local Thread::Impl* Thread::Impl::current = nullptr;

void* Thread::Impl::run(void* argument) noexcept {
    auto* impl = static_cast<Impl*>(argument);
    current = impl;
    pthread_setname_np(pthread_self(), impl->name);
    if (const ThreadNames watch = thread_names.load(std::memory_order_acquire)) watch(impl->name);
    detail::Actor* const actor = impl->actor;
    if (actor != nullptr) detail::actor_begin(actor);
    impl->body();
    impl->body = nullptr;  // destroys the captured objects on this thread
    live_threads.fetch_sub(1, std::memory_order_relaxed);
    if (actor != nullptr) detail::actor_end(actor, impl->ended);
    return nullptr;
}

Thread::Thread(const char* name, std::function<void()> body) : impl_(std::make_unique<Impl>()) {
    static_cast<void>(forked());  // registers the fork handler
    std::strncpy(impl_->name, name, kShownName);
    impl_->body = std::move(body);
    const Attributes attributes;
    if (detail::scheduled()) impl_->actor = detail::actor_create(impl_->name);
    live_threads.fetch_add(1, std::memory_order_relaxed);
    sigset_t before;
    block_signals(&before);
    const int error = pthread_create(&impl_->handle, attributes.get(), Impl::run, impl_.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) {
        live_threads.fetch_sub(1, std::memory_order_relaxed);
        if (impl_->actor != nullptr) detail::actor_discard(impl_->actor);
        throw std::system_error(error, std::generic_category(), "no thread could be started");
    }
    if (detail::scheduled()) detail::scheduled_step();
}

Thread::Thread() noexcept = default;
Thread::Thread(Thread&&) noexcept = default;

Thread& Thread::operator=(Thread&& other) noexcept {
    if (this != &other) {
        join();
        impl_ = std::move(other.impl_);
    }
    return *this;
}

Thread::~Thread() { join(); }

void Thread::join() noexcept {
    if (!impl_) return;
    if (impl_->forks != detail::forks()) {
        // The thread stayed in the parent. The fork may have left Impl half changed: leak it.
        static_cast<void>(impl_.release());
        return;
    }
    if (detail::scheduled() && impl_->actor != nullptr) detail::scheduled_join(impl_->ended);
    pthread_join(impl_->handle, nullptr);
    impl_.reset();
}

bool Thread::is_current() const noexcept { return impl_ != nullptr && Impl::current == impl_.get(); }

namespace detail {

uint32_t running_threads() noexcept { return live_threads.load(std::memory_order_relaxed); }

void forget_running_threads() noexcept { live_threads.store(0, std::memory_order_relaxed); }

}  // namespace detail

}  // namespace gpo::host
