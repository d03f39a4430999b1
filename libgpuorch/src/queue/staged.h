// Data that the caller of a queue's function passes to a stream. The stream reads a copy in pinned memory of the
// library, so the caller may reuse its own memory at once.
#pragma once

#include "core/errands.h"
#include "memory/arena.h"
#include "stream/operation.h"
#include "stream/stream.h"

namespace gpo::queue {

/// A piece of an arena. The destructor frees the piece, unless the free was put on a stream.
class Staged {
    /// Frees the piece behind the stream's work, and tries again while memory is short.
    class Free final : public Errand {
    public:
        Free(Ref<Arena> arena, void* memory, Stream& stream) noexcept
            : arena_(std::move(arena)), memory_(memory), stream_(&stream) {}
        void run() noexcept override;

    private:
        const Ref<Arena> arena_;
        void* const memory_;
        const Ref<Stream> stream_;
    };

public:
    /// Throws Failure, std::bad_alloc.
    Staged(Arena& arena, uint64_t bytes);
    ~Staged();
    Staged(const Staged&) = delete;
    Staged& operator=(const Staged&) = delete;

    template <class T>
    T* as() const noexcept {
        return static_cast<T*>(memory_);
    }
    /// Puts an operation that reads the piece on the stream. GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure,
    /// std::bad_alloc.
    template <class Any>
    gpo_status submit(Stream& stream, Any& operation) {
        auto later = prepare(stream);
        const gpo_status status = stream.submit(operation);
        if (status == GPO_SUCCESS) give(std::move(later));
        return status;
    }

private:
    std::unique_ptr<Free> prepare(Stream& stream);
    void give(std::unique_ptr<Free> later) noexcept;

    const Ref<Arena> arena_;
    void* memory_;
};

/// A copy to the device from a staged piece. Can't be captured, since the piece is reused.
class StagedCopy final : public Operation {
public:
    /// `kind`: the operation's name in messages, static.
    StagedCopy(const char* kind, const char* label, uint64_t destination, const void* source, uint64_t bytes) noexcept;
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<StagedCopy>(*this); }
    trace::Work work() const noexcept override { return {trace::Engine::copy_in, work_.bytes}; }

private:
    CopyWork work_;
};

}  // namespace gpo::queue
