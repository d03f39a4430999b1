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

// The stream's own, nobody's, or, once there are as many as there may be, the one that was used longest ago.
Instances::Entry* Instances::ready_for(const Stream& stream) noexcept {
    if (Entry* own = find(&stream)) return own;
    if (Entry* nobodys = find(nullptr)) return nobodys;
    if (entries_.size() < most_) return nullptr;
    return &*std::min_element(entries_.begin(), entries_.end(),
                              [](const Entry& a, const Entry& b) { return a.used < b.used; });
}

// A graph is made under no lock: launches on other streams go on meanwhile.
Ref<Graph> Instances::of_stream(Stream& stream, const std::function<void()>& check) {
    Ref<Graph> made;   // goes after the lock, where another thread was faster
    std::unique_lock lock(lock_);
    if (!find(&stream)) {
        lock.unlock();
        check();
        lock.lock();
    }
    if (!ready_for(stream)) {
        lock.unlock();
        made = make_graph();
        lock.lock();
    }
    Entry* entry = ready_for(stream);
    if (!entry) {
        entries_.push_back({nullptr, made, 0});
        entry = &entries_.back();
    }
    entry->stream = &stream;
    entry->used = ++launches_;
    return entry->graph;
}

gpo_status Instances::prepare(uint32_t count, Stream& stream) {
    std::lock_guard lock(lock_);
    while (entries_.size() < std::min(count, most_)) entries_.push_back({nullptr, make_graph(), 0});
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
    std::vector<Entry> entries;   // they go after the lock
    std::lock_guard lock(lock_);
    entries.swap(entries_);
}

}  // namespace gpo
