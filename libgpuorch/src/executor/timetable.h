// The tasks of an executor that wait for a time.
//
// A binary heap by time, in which each task knows its place, so that a task in the middle can be taken out. Equal times
// come in the order of addition. (Asio's timer_queue is built in the same way.)
#pragma once

#include <cstdint>
#include <vector>

#include "executor/task.h"

namespace gpo {

/// Under the executor's lock.
class Timetable {
public:
    /// Returns the task's ticket, never 0. Throws std::bad_alloc; the table is then as it was. At most 2^24
    /// tasks.
    uint64_t add(Task& task, uint64_t time_ns);
    /// Takes a task out. NULL: no task with this ticket is here.
    Task* take(uint64_t ticket) noexcept;
    /// Takes out the first task whose time has come. NULL: there is none.
    Task* take_due(uint64_t now) noexcept;
    /// Takes out any task. NULL: there is none.
    Task* take_any() noexcept { return take_due(host::kForever); }
    /// When the first task is due; kForever: never.
    uint64_t next() const noexcept { return heap_.empty() ? host::kForever : heap_.front().time_ns; }
    size_t size() const noexcept { return heap_.size(); }

private:
    struct Entry {
        uint64_t time_ns;
        uint64_t number;  // in the order of addition
        uint32_t place;
        bool operator<(const Entry& other) const noexcept {
            return time_ns != other.time_ns ? time_ns < other.time_ns : number < other.number;
        }
    };
    /// Stays where it is, while its entry moves in the heap.
    struct Place {
        Task* task = nullptr;
        uint32_t at = 0;         // of its entry in heap_; of a free place: the next free one
        uint64_t generation = 1; // of the tickets
    };
    static constexpr unsigned kPlaceBits = 25;

    Task* remove(size_t at) noexcept;
    void put(size_t at, const Entry& entry) noexcept;
    void up(size_t at, const Entry& entry) noexcept;
    void down(size_t at, const Entry& entry) noexcept;

    std::vector<Entry> heap_;
    std::vector<Place> places_{1};  // the first is never used
    uint32_t free_ = 0;             // 0: none
    uint64_t added_ = 0;
};

}  // namespace gpo
