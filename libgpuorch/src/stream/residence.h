// The part that only resident streams have: references to the objects that their operations use.
//
// Other streams need no references: the objects that their operations use are destroyed only after all streams of the
// context have passed (Streams::when_all_pass). Resident streams are left out there. Therefore a resident stream holds
// a reference to the kernel or graph of each operation, until the operation is done. References of operations that are
// done are released when an operation is put on the stream, when the stream is queried or waited for, and when the
// stream is destroyed.
//
// The errands' thread releases the references, because releasing the last reference to a graph marks streams.
#pragma once

#include <list>
#include <memory>

#include "core/errands.h"
#include "core/object.h"

namespace gpo {

class Operation;
class WatchedStream;

class Residence final : private Errand {
public:
    /// Throws std::bad_alloc.
    explicit Residence(WatchedStream& stream) : stream_(stream), rest_(std::make_unique<Rest>()) {}
    /// Destroyed with the stream, after all work is done.
    ~Residence() override;

    // --- under the submit lock ---
    /// Called before an operation is issued: keeps the operation's owner. Throws std::bad_alloc.
    void begin(const Operation& operation, uint64_t number);
    /// Called from within Operation::issue: keeps another object that the operation uses. NULL: nothing. Throws
    /// std::bad_alloc.
    void keep(Ref<const Counted> used);

    /// Releases the objects that only operations up to `completed` use. Any thread.
    void release_done(uint64_t completed) noexcept;

private:
    struct Kept {
        Ref<const Counted> used;
        uint64_t operation;  // number of the newest operation that uses the object
    };
    // The references that are left when the stream is destroyed.
    struct Rest final : Errand {
        void run() noexcept override { delete this; }
        std::list<Kept> kept;
    };
    void run() noexcept override;

    WatchedStream& stream_;
    uint64_t operation_ = 0;       // number of the operation being issued; under the submit lock
    host::Mutex lock_;             // a leaf
    std::list<Kept> kept_, done_;  // under lock_, as:
    bool posted_ = false;          // while set, a reference to the stream is held
    std::unique_ptr<Rest> rest_;
};

}  // namespace gpo
