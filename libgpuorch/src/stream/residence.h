// What a resident stream has beside what any stream has: it keeps what its operations use.
//
// Other streams keep nothing: what their operations use goes only when all streams of the context have passed
// (Streams:: when_all_pass), and resident streams are left out there. So a resident stream holds a reference to the
// kernel or graph of each operation, until the operation is done. What is done is looked at when something is put on
// the stream, when the stream is asked or waited for, and when it is destroyed.
//
// The references are given up by the errands' thread: the last reference to a graph marks streams.
#pragma once

#include <list>
#include <memory>

#include "core/errands.h"
#include "core/object.h"

namespace gpo {

class Operation;
class Stream;

class Residence final : private Errand {
public:
    /// Throws std::bad_alloc.
    explicit Residence(Stream& stream) : stream_(stream), rest_(std::make_unique<Rest>()) {}
    /// With its stream, of which all is done.
    ~Residence() override;

    // --- under the submit lock ---
    /// Before an operation is issued: keeps its owner. Throws std::bad_alloc.
    void begin(const Operation& operation, uint64_t number);
    /// From within Operation::issue: something else that the operation uses. NULL: nothing. Throws std::bad_alloc.
    void keep(Ref<const Counted> used);

    /// Gives up what only operations up to `completed` use. Any thread.
    void release_done(uint64_t completed) noexcept;

private:
    struct Kept {
        Ref<const Counted> used;
        uint64_t operation;  // number of the newest that uses it
    };
    // What is left when the stream goes.
    struct Rest final : Errand {
        void run() noexcept override { delete this; }
        std::list<Kept> kept;
    };
    void run() noexcept override;

    Stream& stream_;
    uint64_t operation_ = 0;       // that is being issued; under the submit lock
    host::Mutex lock_;             // a leaf
    std::list<Kept> kept_, done_;  // under lock_, as:
    bool posted_ = false;          // a reference to the stream is held meanwhile
    std::unique_ptr<Rest> rest_;
};

}  // namespace gpo
