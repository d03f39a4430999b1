// The last operations of a stream, so that a failure names those that may be its cause: the *suspects*.
//
// On the software GPU the driver says which of its own operations has failed, and the history translates that number.
// On a GPU the suspects are what was submitted and not seen done, or, with GPUORCH_ATTRIBUTE, the operation that had
// written its number before itself and not yet behind itself.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "device/context.h"
#include "stream/operation.h"

namespace gpo {

class Stream;

class History {
public:
    History(Stream& stream, Context& context) noexcept;
    ~History();
    History(const History&) = delete;
    History& operator=(const History&) = delete;
    /// With GPUORCH_ATTRIBUTE: takes the two words that operations write their numbers to. Inside a DriverScope.
    /// Throws.
    void attribute();
    bool attributes() const noexcept { return attribution_.words != nullptr; }

    /// An operation that is accepted. Under the submit lock.
    void note(const Operation& operation, uint64_t number, CUstream native) noexcept {
        Recent& recent = recent_[number % kRecent];
        recent.kind.store(operation.kind(), std::memory_order_relaxed);
        recent.label.store(operation.label(), std::memory_order_relaxed);
        if (counts_) recent.driver_number.store(context_.driver().submitted(native), std::memory_order_relaxed);
    }
    /// Of a held operation that it is, or that it was issued: the driver counts it then. Under the submit lock.
    void note_held(const Operation& operation) noexcept;
    void note_issued(const Operation& operation) noexcept;
    /// Of an operation that a stream that learns has accepted, that it is withheld; and of the newest so many, that
    /// they were issued as one graph.
    void note_withheld(const Operation& operation, uint64_t number) noexcept;
    void note_replayed(size_t count) noexcept;

    /// Around an operation while it is issued: with GPUORCH_ATTRIBUTE its number is written on the GPU before and
    /// behind it. Not in a capture: the program's graph is not to have what is ours, and may be launched when the
    /// numbers' memory is gone.
    class Attributing {
    public:
        Attributing(Stream& stream, const Operation& operation, uint64_t number);
        void issued() const noexcept {
            if (on_) write_end();
        }

    private:
        void write(CUdeviceptr address) const noexcept;
        void write_end() const noexcept;
        Stream& stream_;
        const cuuint32_t number_;
        const bool on_;
    };

    /// The failure of work on the stream, with the suspects, for what the driver answered.
    ErrorPtr failure_of_work(CUresult result, const char* function) const noexcept;

private:
    static constexpr uint64_t kNotIssued = UINT64_MAX;
    static constexpr uint64_t kRecent = 64;
    struct Recent {
        std::atomic<const char*> kind{nullptr}, label{nullptr};
        std::atomic<uint64_t> driver_number{0};  // the driver's count behind it, where the driver counts; or kNotIssued
    };
    void set_driver_number(const Operation& operation, bool issued) noexcept;
    /// First and last; 0: none.
    std::pair<uint64_t, uint64_t> operations_of(uint64_t driver_number) const noexcept;
    std::string name_of(uint64_t number) const;
    std::string names_of(uint64_t first, uint64_t last) const;
    std::string suspects() const;

    Stream& stream_;
    Context& context_;
    const bool counts_;                           // the driver counts what streams are given: the software GPU
    Context::Attribution attribution_;
    std::array<Recent, kRecent> recent_;
};

}  // namespace gpo
