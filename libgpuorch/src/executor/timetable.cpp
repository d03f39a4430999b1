#include "executor/timetable.h"

#include <utility>

namespace gpo {

uint64_t Timetable::add(Task& task, uint64_t time_ns) {
    heap_.emplace_back();
    if (free_ == 0) {
        try {
            places_.emplace_back();
        } catch (...) {
            heap_.pop_back();
            throw;
        }
        free_ = static_cast<uint32_t>(places_.size() - 1);
    }
    const uint32_t index = free_;
    Place& place = places_[index];
    free_ = std::exchange(place.at, 0);
    place.task = &task;
    up(heap_.size() - 1, {time_ns, ++added_, index});
    return place.generation << kPlaceBits | index;
}

Task* Timetable::take(uint64_t ticket) noexcept {
    const uint64_t index = ticket & ((uint64_t{1} << kPlaceBits) - 1);
    if (index >= places_.size()) return nullptr;
    const Place& place = places_[index];
    if (!place.task || place.generation != ticket >> kPlaceBits) return nullptr;
    return remove(place.at);
}

Task* Timetable::take_due(uint64_t now) noexcept {
    if (heap_.empty() || heap_.front().time_ns > now) return nullptr;
    return remove(0);
}

Task* Timetable::remove(size_t at) noexcept {
    const uint32_t index = heap_[at].place;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) {
        if (at != 0 && last < heap_[(at - 1) / 2])
            up(at, last);
        else
            down(at, last);
    }
    Place& place = places_[index];
    Task* const task = std::exchange(place.task, nullptr);
    ++place.generation;
    place.at = std::exchange(free_, index);
    return task;
}

void Timetable::put(size_t at, const Entry& entry) noexcept {
    heap_[at] = entry;
    places_[entry.place].at = static_cast<uint32_t>(at);
}

void Timetable::up(size_t at, const Entry& entry) noexcept {
    while (at != 0 && entry < heap_[(at - 1) / 2]) {
        put(at, heap_[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put(at, entry);
}

void Timetable::down(size_t at, const Entry& entry) noexcept {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap_.size()) break;
        if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
        if (!(heap_[child] < entry)) break;
        put(at, heap_[child]);
        at = child;
    }
    put(at, entry);
}

}  // namespace gpo
