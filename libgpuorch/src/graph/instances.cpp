#include "graph/instances.h"

#include <algorithm>

#include "graph/instance.h"

namespace gpo {

// Here, where a Graph is a complete type.
Instances::Instances(Template& of, uint32_t most) noexcept : of_(of), most_(most) {}

Instances::~Instances() = default;

Ref<Graph> Instances::make_graph() { return make<Graph>(Ref<Template>(&of_), 0, of_.label()); }

Instances::Entry* Instances::find(const Stream* stream) noexcept {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.stream == stream; });
    return found == entries_.end() ? nullptr : &*found;
}

// All streams share one graph if the driver allows one executable at a time and the recipe can't be copied.
uint32_t Instances::most_of(const Recipe& recipe) const noexcept {
    return recipe.traits().single && !recipe.traits().copyable ? std::min(most_, 1u) : most_;
}

// Removes the graphs beyond `most`: an earlier recording may have allowed more. Under lock_.
std::vector<Instances::Entry> Instances::take_beyond(uint32_t most) {
    std::vector<Entry> taken;
    while (entries_.size() > most) {
        taken.push_back(std::move(entries_.back()));
        entries_.pop_back();
    }
    return taken;
}

// The stream's own graph; else an unassigned graph; else, once the limit is reached, the least recently used graph.
Instances::Entry* Instances::ready_for(const Stream& stream, uint32_t most) noexcept {
    if (Entry* own = find(&stream)) return own;
    if (Entry* nobodys = find(nullptr)) return nobodys;
    if (entries_.size() < most) return nullptr;
    return &*std::min_element(entries_.begin(), entries_.end(),
                              [](const Entry& a, const Entry& b) { return a.used < b.used; });
}

// Two threads don't make the only possible graph at once. NULL: another thread was faster.
Ref<Graph> Instances::make_one_of(uint32_t most) {
    if (most != 1) return make_graph();
    std::lock_guard making(making_);
    {
        std::lock_guard lock(lock_);
        if (!entries_.empty()) return nullptr;
    }
    Ref<Graph> made = make_graph();
    std::lock_guard lock(lock_);
    entries_.push_back({nullptr, made, 0});
    return made;
}

// A graph is made without the lock: launches on other streams go on meanwhile.
Ref<Graph> Instances::of_stream(Stream& stream, const Recipe& recipe, const std::function<void()>& check) {
    const uint32_t most = most_of(recipe);
    Ref<Graph> made;   // destroyed after the unlock if another thread was faster
    std::vector<Entry> beyond;
    std::unique_lock lock(lock_);
    beyond = take_beyond(most);
    if (!find(&stream)) {
        lock.unlock();
        check();
        lock.lock();
    }
    Entry* entry = ready_for(stream, most);
    while (!entry) {
        lock.unlock();
        made = make_one_of(most);
        lock.lock();
        entry = ready_for(stream, most);
        if (entry || !made) continue;   // another thread made a graph, perhaps cleared since
        entries_.push_back({nullptr, made, 0});
        entry = &entries_.back();
    }
    entry->stream = &stream;
    entry->used = ++launches_;
    return entry->graph;
}

gpo_status Instances::prepare(uint32_t count, Stream& stream, const Recipe& recipe) {
    const uint32_t most = most_of(recipe);
    std::vector<Entry> beyond;   // destroyed after the unlock
    std::lock_guard lock(lock_);
    beyond = take_beyond(most);
    while (entries_.size() < std::min(count, most)) entries_.push_back({nullptr, make_graph(), 0});
    for (const Entry& entry : entries_) {
        entry.graph->update();
        UploadGraph upload(*entry.graph);
        if (const gpo_status status = stream.submit(upload); status != GPO_SUCCESS) return status;
    }
    return GPO_SUCCESS;
}

uint32_t Instances::size() noexcept {
    std::lock_guard lock(lock_);
    return static_cast<uint32_t>(entries_.size());
}

void Instances::clear() noexcept {
    std::vector<Entry> entries;   // destroyed after the unlock
    std::lock_guard lock(lock_);
    entries.swap(entries_);
}

}  // namespace gpo
