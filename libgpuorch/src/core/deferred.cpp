#include "core/deferred.h"

#include <utility>

namespace gpo {

namespace {

constinit thread_local bool t_serves = false;

}  // namespace

Deferred::Entry::Entry(Deferred& in) noexcept : in_(in) {
    host::Lock lock(in_.lock_);
    number_ = ++in_.count_;
    before_ = std::exchange(in_.newest_, this);
    (before_ ? before_->behind_ : in_.oldest_) = this;
}

Deferred::Entry::~Entry() {
    host::Lock lock(in_.lock_);
    (before_ ? before_->behind_ : in_.oldest_) = behind_;
    (behind_ ? behind_->before_ : in_.newest_) = before_;
    in_.ended_.notify_all();
}

uint64_t Deferred::newest() const noexcept {
    host::Lock lock(lock_);
    return count_;
}

bool Deferred::wait(uint64_t number, uint64_t deadline) noexcept {
    host::Lock lock(lock_);
    const auto ended = [&] { return !oldest_ || oldest_->number_ > number; };
    return ended_.wait(lock, deadline, ended);
}

void Deferred::wait_for_all() noexcept {
    host::Lock lock(lock_);
    const uint64_t newest = count_;
    ended_.wait(lock, host::kForever, [&] { return !oldest_ || oldest_->number_ > newest; });
}

ServesDeferred::ServesDeferred() noexcept : outer_(std::exchange(t_serves, true)) {}
ServesDeferred::~ServesDeferred() { t_serves = outer_; }
bool ServesDeferred::here() noexcept { return t_serves; }

}  // namespace gpo
