#include "stream/residence.h"

#include <algorithm>

#include "completion/watched.h"
#include "stream/operation.h"

namespace gpo {

Residence::~Residence() {
    rest_->kept.splice(rest_->kept.end(), kept_);
    if (!rest_->kept.empty()) stream_.runtime().errands().post(*rest_.release());
}

void Residence::begin(const Operation& operation, uint64_t number) {
    operation_ = number;
    release_done(stream_.watched().completed.load(std::memory_order_relaxed));
    keep(operation.owner());
}

void Residence::keep(Ref<const Counted> used) {
    if (!used) return;
    std::list<Kept> one;
    std::lock_guard lock(lock_);
    const auto known =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.used.get() == used.get(); });
    if (known != kept_.end()) {
        known->operation = operation_;
        return;
    }
    one.push_back({std::move(used), operation_});
    kept_.splice(kept_.end(), one);
}

void Residence::release_done(uint64_t completed) noexcept {
    std::lock_guard lock(lock_);
    for (auto at = kept_.begin(); at != kept_.end();) {
        const auto next = std::next(at);
        if (at->operation <= completed) done_.splice(done_.end(), kept_, at);
        at = next;
    }
    if (done_.empty() || std::exchange(posted_, true)) return;
    stream_.retain();
    stream_.runtime().errands().post(*this);
}

void Residence::run() noexcept {
    std::list<Kept> done;
    {
        std::lock_guard lock(lock_);
        done.swap(done_);
        posted_ = false;
    }
    done.clear();
    stream_.release();
}

}  // namespace gpo
