#include "memory/holds.h"

#include "device/contexts.h"
#include "stream/streams.h"

namespace gpo {

// --- a free that waits ---

void WaitingFree::become_due() noexcept {
    due_.emplace(Streams::of(*context_).deferred());
    context_->runtime().errands().post(*this);
}

// Waits for the streams of one context after the other: a graph may use memory of another device. At the end of a
// shutdown the runtime has no contexts any more; nothing runs then.
void WaitingFree::run() noexcept {
    Runtime& runtime = context_->runtime();
    Ref<Context> next;
    if (const Contexts* contexts = runtime.find_annex<Contexts>()) {
        unsigned number = 0;
        contexts->each([&](Context& context) {
            if (number++ < passed_) return true;
            next = Ref<Context>(&context);
            return false;
        });
    }
    if (!next) {
        free();
        delete this;
        return;
    }
    try {
        Streams::of(*next).when_all_pass(
            [this](bool) {
                ++passed_;
                run();
            },
            next.get() == context_.get() ? behind() : nullptr);
    } catch (...) {
        // No memory for the wait now: try again later.
        runtime.errands().post(*this, host::now() + Errands::kTryAgain);
    }
}

// --- holding ---

// Under lock_, as the following. The first hold in the free's memory; end() if there is none.
std::map<Holds::Key, uint64_t>::const_iterator Holds::first_in(const WaitingFree& free) const noexcept {
    const auto first = holds_.lower_bound({free.start(), nullptr, {}});
    return first != holds_.end() && first->first.address - free.start() < free.bytes() ? first : holds_.end();
}

void Holds::count(uint64_t address, uint32_t change) noexcept {
    held_.fetch_add(change, std::memory_order_relaxed);
    cells_[cell_of(address >> kRegionShift)].fetch_add(change, std::memory_order_relaxed);
}

void Holds::add(const Key& key) {
    const auto [place, added] = holds_.try_emplace(key, 0);
    if (added) count(key.address, 1);
    ++place->second;
}

void Holds::drop(const Key& key) noexcept {
    const auto found = holds_.find(key);
    if (found == holds_.end() || --found->second != 0) return;
    holds_.erase(found);
    count(key.address, 0u - 1);
}

// Takes the waiting frees of the memory around `address` in which no address is held any more.
void Holds::take_due(uint64_t address, Frees& due) noexcept {
    for (auto behind = waiting_.upper_bound(address); behind != waiting_.begin();) {
        const auto at = std::prev(behind);
        const WaitingFree& free = *at->second;
        if (address - free.start() >= free.bytes()) return;
        if (first_in(free) != holds_.end())
            behind = at;
        else
            due.insert(waiting_.extract(at));
    }
}

void Holds::become_due(Frees& frees) noexcept {
    for (auto& entry : frees) entry.second.release()->become_due();
}

void Holds::hold(uint64_t address, const Object& holder, const HeldWord& word) {
    std::lock_guard lock(lock_);
    add({address, &holder, word});
}

void Holds::release(uint64_t address, const Object& holder, const HeldWord& word) noexcept {
    Frees due;
    {
        std::lock_guard lock(lock_);
        drop({address, &holder, word});
        take_due(address, due);
    }
    become_due(due);
}

void Holds::replace(uint64_t from, uint64_t to, const Object& holder, const HeldWord& word) {
    if (from == to) return;
    Frees due;
    {
        std::lock_guard lock(lock_);
        const auto found = holds_.find({from, &holder, word});
        if (found != holds_.end() && found->second == 1 && !holds_.contains({to, &holder, word})) {
            auto node = holds_.extract(found);
            node.key().address = to;
            holds_.insert(std::move(node));
            count(to, 1);
            count(from, 0u - 1);
        } else {
            add({to, &holder, word});
            drop({from, &holder, word});
        }
        take_due(from, due);
    }
    become_due(due);
}

// --- freeing ---

bool Holds::holds(uint64_t start, uint64_t bytes) const noexcept {
    std::lock_guard lock(lock_);
    const auto first = holds_.lower_bound({start, nullptr, {}});
    return first != holds_.end() && first->first.address - start < bytes;
}

Holds::Ready Holds::make_ready(std::unique_ptr<WaitingFree> free) {
    const uint64_t start = free->start();
    Frees one;
    one.emplace(start, std::move(free));
    return one.extract(one.begin());
}

bool Holds::wait_if_held(Ready& free) noexcept {
    if (first_in(*free.mapped()) == holds_.end()) return false;
    waiting_.insert(std::move(free));
    return true;
}

void Holds::free(Ready free) noexcept {
    {
        std::lock_guard lock(lock_);
        if (wait_if_held(free)) return;
    }
    free.mapped().release()->become_due();
}

void Holds::accept(Ready free) noexcept {
    const auto what = free.mapped()->describe();
    FixedText<96> holder;
    HeldWord word;
    bool others = false, only_words = true;
    {
        std::lock_guard lock(lock_);
        const uint64_t start = free.mapped()->start(), bytes = free.mapped()->bytes();
        if (const auto first = first_in(*free.mapped()); wait_if_held(free)) {
            holder = first->first.holder->describe();
            word = first->first.word;
            for (auto at = first; at != holds_.end() && at->first.address - start < bytes; ++at) {
                others |= at->first.holder != first->first.holder;
                only_words &= at->first.word.kernel != nullptr;
            }
        }
    }
    if (free) return free.mapped().release()->become_due();   // the last hold was released meanwhile
    const auto place = only_words ? fixed_text<192>(" (held by argument ", word.argument, ", word ", word.word,
                                                    ", of kernel `", word.kernel, "`)")
                                  : FixedText<192>();
    runtime_.log(GPO_LOG_INFO, what, " is freed when ", holder,
                 others ? " and others no longer refer to it" : " no longer refers to it", place);
}

Holds::Waiting Holds::waiting_frees(const Object& holder) const noexcept {
    Waiting waiting;
    std::lock_guard lock(lock_);
    for (const auto& [start, free] : waiting_) {
        bool held = false, only_words = true;
        for (auto at = first_in(*free); at != holds_.end() && at->first.address - start < free->bytes(); ++at) {
            if (at->first.holder != &holder) continue;
            held = true;
            only_words &= at->first.word.kernel != nullptr;
        }
        waiting.frees += held;
        waiting.for_words += held && only_words;
    }
    return waiting;
}

void Holds::shut_down() noexcept {
    Frees due;
    {
        std::lock_guard lock(lock_);
        due.swap(waiting_);
    }
    become_due(due);
}

}  // namespace gpo
