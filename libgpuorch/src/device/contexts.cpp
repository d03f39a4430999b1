#include "device/contexts.h"

#include "trace/recorder/recorder.h"

namespace gpo {

Ref<Context> Contexts::open(int native_ordinal, CUcontext foreign, ContextUsers::Make make_users) {
    const Key key(foreign ? -1 : native_ordinal, foreign);
    {
        std::lock_guard lock(lock_);
        if (runtime_.shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        // A lost context is returned too: the runtime never replaces it.
        if (auto found = contexts_.find(key); found != contexts_.end()) {
            if (found->second->ordinal() != native_ordinal) Context::refuse_ordinal(native_ordinal);
            return found->second;
        }
    }
    auto made = make<Context>(runtime_, native_ordinal, foreign, make_users);  // calls the driver: not under the lock
    Ref<Context> kept;
    bool inserted = false;
    {
        std::lock_guard lock(lock_);
        if (runtime_.shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        auto [place, added] = contexts_.try_emplace(key, std::move(made));
        kept = place->second;
        inserted = added;
    }
    trace::Recorder* recorder = trace::Recorder::of(runtime_);
    if (inserted && recorder && recorder->running()) recorder->add_gpu(*kept);
    return kept;
}

std::vector<Ref<Context>> Contexts::all() const {
    std::vector<Ref<Context>> out;
    std::lock_guard lock(lock_);
    for (const auto& [key, context] : contexts_) out.push_back(context);
    return out;
}

Ref<Context> Contexts::next(const Key* last, Key& key) const noexcept {
    std::lock_guard lock(lock_);
    const auto found = last ? contexts_.upper_bound(*last) : contexts_.begin();
    if (found == contexts_.end()) return nullptr;
    key = found->first;
    return found->second;
}

void Contexts::probe() const noexcept {
    each([](Context& context) {
        context.probe();
        return true;
    });
}

void Contexts::add_stream_counters(gpo_statistics& statistics) const noexcept {
    each([&](Context& context) {
        context.users().add_counters(statistics);
        return true;
    });
}

bool Contexts::cancel_held(uint64_t deadline) const noexcept {
    bool all = true;
    each([&](Context& context) {
        all &= context.users().cancel_held(deadline);
        return true;
    });
    return all;
}

bool Contexts::drain_marks(uint64_t deadline) const noexcept {
    return each([&](Context& context) { return context.users().drain_marks(deadline); });
}

std::map<Contexts::Key, Ref<Context>> Contexts::take_all() noexcept {
    std::map<Key, Ref<Context>> taken;
    std::lock_guard lock(lock_);
    taken.swap(contexts_);
    return taken;
}

}  // namespace gpo
