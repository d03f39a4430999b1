// An operation that can be put on a stream: a value built on the caller's stack.
//
// A stream *issues* an operation to the driver at once. A held stream *holds* a copy instead, which owns all objects
// that the copy refers to. Later the copy is either issued or *dropped* with an error, exactly once. Errors name an
// operation by its kind and label.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "stream/work.h"
#include "trace/record.h"

namespace gpo {

class DriverStream;
class Stream;
class StreamRecording;

/// The operation can never be issued, because its wait has failed.
class NeverPossible final : public Failure {
public:
    using Failure::Failure;
};

/// The waits of a held operation that isn't ready, for the search for cycles (stream/cycles.h).
struct Awaits {
    bool others = true;  // true: waits for more than streams' held work (host, callback, GPU), or for nothing
    bool handle = false;                   // the program has a handle that can end the wait
    std::vector<const Stream*> streams;    // any one's held work would end the wait. Compare, don't dereference
    std::string text;  // "waits for timeline `frames` to reach 5, whose signal is", and then "held on …"
};

/// What only operations have that wait for something, or have consequences. All other operations are their records.
class Hooks {
public:
    /// False: the operation can't be issued yet. A held operation has then arranged for a call of
    /// `stream.held().flush()` when it can be. An operation that isn't held has arranged nothing, since the stream may
    /// refuse to hold it.
    virtual bool ready(Stream&) { return true; }

    /// The waits of a held operation that isn't ready. Under the stream's submit lock. Throws std::bad_alloc.
    virtual Awaits awaits() const { return {}; }

    /// The operation is held after operation number `operation`. Under the submit lock.
    virtual void held_behind(uint64_t operation) noexcept { static_cast<void>(operation); }

    /// The held operation will never be issued. Under the stream's submit lock.
    virtual void drop(Stream&, const ErrorPtr&) noexcept {}

    /// Consequences on other streams after the operation was issued (`dropped` NULL) or dropped. Called with no lock
    /// held, for every held operation, and for others if `consequences()`.
    virtual void afterwards(const ErrorPtr& dropped) noexcept { static_cast<void>(dropped); }
    bool consequences() const noexcept { return consequences_; }

protected:
    Hooks() noexcept = default;
    Hooks(const Hooks&) noexcept = default;
    ~Hooks() = default;
    void has_consequences() noexcept { consequences_ = true; }

private:
    bool consequences_ = false;
};

class Operation {
public:
    /// `kind`: static text ("kernel"). `label`: interned, or NULL. `numbered`: counts as an operation of the stream;
    /// false for marks.
    Operation(const char* kind, const char* label, bool numbered = true) noexcept
        : kind_(kind), label_(label ? label : ""), numbered_(numbered) {}
    virtual ~Operation() = default;

    /// Whether `issue` makes only calls that never disturb another stream's capture (device/context.h, Calls::plain).
    virtual bool plain() const noexcept { return false; }

    /// Whether issuing the operation may bring the stream into a capture.
    virtual bool may_join_capture() const noexcept { return false; }

    /// Kept while the operation may run again as a graph node: its kernel. NULL: nothing.
    virtual Ref<const Counted> owner() const noexcept { return nullptr; }

    /// This stream's own operation: differs from *this only in a part of group work (stream/group_work.h).
    virtual const Operation& content(const DriverStream&) const noexcept { return *this; }

    /// The operation's work, if a stream may learn it. The work was checked in full, so that the driver has nothing to
    /// refuse. Its pointers stay valid during the call that puts the operation on the stream.
    virtual LearnableWork learnable() const noexcept { return {}; }
    /// Sizes of the arguments of a learnable kernel. Throws std::bad_alloc.
    virtual std::vector<uint32_t> argument_bytes() const { return {}; }

    /// The GPU engine that does the work, for traces. Called under the submit lock, during traces.
    virtual trace::Work work() const noexcept { return {}; }

    const char* kind() const noexcept { return kind_; }
    const char* label() const noexcept { return label_; }
    bool numbered() const noexcept { return numbered_; }
    /// Number of a held operation, assigned at its acceptance.
    uint64_t number() const noexcept { return number_; }
    void set_number(uint64_t number) noexcept { number_ = number; }

    /// Submits the operation to the driver: under the stream's submit lock, inside a DriverScope. Throws Failure, with
    /// no effect that a retry wouldn't repeat: after a lack of memory a held operation is issued again.
    virtual void issue(Stream& stream) = 0;

    /// Adds the operation to the direct recording in which the stream is (stream/captures.h). False if only the
    /// driver's capture can record the operation, or refuse it. Under the stream's submit lock, inside a DriverScope.
    /// Throws Failure.
    virtual bool add_to(Stream&, StreamRecording&) { return false; }

    /// A copy for a held stream that owns all objects it refers to. Throws std::bad_alloc.
    virtual std::unique_ptr<Operation> held_copy() const = 0;

    /// NULL: the operation waits for nothing and has no consequences.
    virtual Hooks* hooks() noexcept { return nullptr; }

protected:
    /// `label`: interned.
    void set_label(const char* label) noexcept { label_ = label; }

private:
    const char* kind_;
    const char* label_;
    bool numbered_;
    uint64_t number_ = 0;
};

class HookedOperation : public Operation, public Hooks {
public:
    using Operation::Operation;
    Hooks* hooks() noexcept final { return this; }
};

/// The hooks of an operation, of which the type is known as far as `Any` says.
template <class Any>
Hooks* hooks_of(Any& operation) noexcept {
    if constexpr (std::is_base_of_v<Hooks, Any>) return &operation;
    else return operation.hooks();
}

}  // namespace gpo
