// An operation: what can be put on a stream, as a value built on the caller's stack.
//
// A stream *issues* an operation to the driver at once. A held stream *holds* a copy instead, which owns everything
// that it refers to. Later the copy is issued, or *dropped* with an error; one of the two happens, once. Errors call an
// operation by its kind and label.
#pragma once

#include <memory>
#include <vector>

#include "core/error.h"
#include "stream/work.h"
#include "trace/record.h"

namespace gpo {

class Stream;

/// What an operation waits for has failed: it can never be issued.
class NeverPossible final : public Failure {
public:
    using Failure::Failure;
};

/// What a held operation that isn't ready waits for, for whoever looks for streams that hold each other up
/// (stream/cycles.h).
struct Awaits {
    bool others = true;  // the host, a callback, the GPU, or nothing any more: no stream's held work alone
    bool handle = false;                   // the host has a handle by which it can end the wait
    std::vector<const Stream*> streams;    // held work of any of these would end it. To be compared, not followed
    std::string text;  // "waits for timeline `frames` to reach 5, whose signal is", and then "held on …"
};

class Operation {
public:
    /// `kind`: static text ("kernel"). `label`: interned, or NULL. `numbered`: it counts as an operation of its stream;
    /// marks don't.
    Operation(const char* kind, const char* label, bool numbered = true) noexcept
        : kind_(kind), label_(label ? label : ""), numbered_(numbered) {}
    virtual ~Operation() = default;

    /// Whether `issue` makes only calls that never disturb another stream's capture (device/context.h, Calls::plain).
    virtual bool plain() const noexcept { return false; }

    /// Whether issuing the operation may bring a stream into a capture that the stream was not in.
    virtual bool may_join_capture() const noexcept { return false; }

    /// What has to stay for as long as the operation may run again, as a node of a graph: its kernel. NULL: nothing.
    virtual Ref<const Counted> owner() const noexcept { return nullptr; }

    /// What it does on this stream, as an operation of the stream's alone: a part of work of several streams differs.
    virtual const Operation& content(const Stream&) const noexcept { return *this; }

    /// Its work, if a stream may learn it. It was checked in full, so that the driver has nothing to refuse; what it
    /// names stays valid for the length of the call that puts the operation on the stream.
    virtual LearnableWork learnable() const noexcept { return {}; }
    /// Of a kernel that can be learned: the sizes of its arguments. Throws std::bad_alloc.
    virtual std::vector<uint32_t> argument_bytes() const { return {}; }

    /// Which engine of the GPU does the work, for the trace. Called under the submit lock, while somebody traces.
    virtual trace::Work work() const noexcept { return {}; }

    const char* kind() const noexcept { return kind_; }
    const char* label() const noexcept { return label_; }
    bool numbered() const noexcept { return numbered_; }
    /// Of a held operation: its number, given when it was accepted.
    uint64_t number() const noexcept { return number_; }
    void set_number(uint64_t number) noexcept { number_ = number; }

    /// False: the operation can't be issued yet. A held operation has then arranged for a call of
    /// `stream.held().flush()` when it can be. An operation that isn't held has arranged nothing, for the stream may
    /// refuse to hold it.
    virtual bool ready(Stream&) { return true; }

    /// Of a held operation that isn't ready. Under the stream's submit lock. Throws std::bad_alloc.
    virtual Awaits awaits() const { return {}; }

    /// Gives it to the driver: under the stream's submit lock, inside a DriverScope. Throws Failure, and then has had
    /// no effect but such as doing it again repeats: where there was no memory, a held one is issued again later.
    virtual void issue(Stream& stream) = 0;

    /// A copy for a held stream, which owns everything that it refers to. Throws std::bad_alloc.
    virtual std::unique_ptr<Operation> held_copy() const = 0;

    /// Of a held operation: what it is behind, as the number of the newest operation before it. Under the submit lock.
    virtual void held_behind(uint64_t operation) noexcept { static_cast<void>(operation); }

    /// Of a held operation: it will never be issued. Under the stream's submit lock.
    virtual void drop(Stream&, const ErrorPtr&) noexcept {}

    /// What follows on other streams, once it has been issued (`dropped` NULL) or dropped: with no lock held. Called
    /// for every held one, for others only where `consequences()`.
    virtual void afterwards(const ErrorPtr& dropped) noexcept { static_cast<void>(dropped); }
    bool consequences() const noexcept { return consequences_; }

protected:
    void has_consequences() noexcept { consequences_ = true; }
    /// Interned.
    void set_label(const char* label) noexcept { label_ = label; }

private:
    const char* kind_;
    const char* label_;
    bool numbered_;
    bool consequences_ = false;
    uint64_t number_ = 0;
};

}  // namespace gpo
