// The last operations of a stream, from which a failure names its possible causes: the *suspects*.
//
// The software GPU's driver reports which operation has failed, by a number of its own, and the history translates the
// number. On a GPU, the suspects are the operations that were submitted and not seen done. With GPUORCH_ATTRIBUTE, the
// suspect is the operation whose number was written before its work, and not yet behind its work.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "device/context.h"
#include "stream/operation.h"

namespace gpo {

class DriverStream;

class History {
public:
    explicit History(DriverStream& stream) noexcept;
    ~History();
    History(const History&) = delete;
    History& operator=(const History&) = delete;
    /// With GPUORCH_ATTRIBUTE: takes the two words that operations write their numbers to. Inside a DriverScope.
    /// Throws.
    void attribute();
    bool attributes() const noexcept { return attribution_.words != nullptr; }

    /// Notes an operation at its acceptance. Under the submit lock.
    void note(const Operation& operation, uint64_t number, CUstream native) noexcept {
        Recent& recent = recent_[number % kRecent];
        recent.kind.store(operation.kind(), std::memory_order_relaxed);
        recent.label.store(operation.label(), std::memory_order_relaxed);
        if (counts_) recent.driver_number.store(context_.driver().submitted(native), std::memory_order_relaxed);
    }
    /// Called when an operation is held, and when a held operation was issued. The driver counts an operation only when
    /// it is issued. Under the submit lock.
    void note_held(const Operation& operation) noexcept;
    void note_issued(const Operation& operation) noexcept;
    /// Called when a learning stream has accepted and withheld an operation, and when the newest `count` operations
    /// were issued as a single graph.
    void note_withheld(const Operation& operation, uint64_t number) noexcept;
    void note_replayed(size_t count) noexcept;

    /// A scope around the issuing of an operation. With GPUORCH_ATTRIBUTE, the GPU writes the operation's number before
    /// and behind the operation. Captured operations are left out: the program's graph must not contain writes of the
    /// library, and may be launched after the numbers' memory was freed.
    class Attributing {
    public:
        Attributing(History& history, const Operation& operation, uint64_t number);
        void issued() const noexcept {
            if (on_) write_end();
        }

    private:
        void write(CUdeviceptr address) const noexcept;
        void write_end() const noexcept;
        History& history_;
        const cuuint32_t number_;
        const bool on_;
    };

    /// Makes the failure of the stream's work from the driver's answer, with the suspects.
    ErrorPtr failure_of_work(CUresult result, const char* function) const noexcept;

private:
    static constexpr uint64_t kNotIssued = UINT64_MAX;
    static constexpr uint64_t kRecent = 64;
    struct Recent {
        std::atomic<const char*> kind{nullptr}, label{nullptr};
        std::atomic<uint64_t> driver_number{0};  // the driver's count after the operation, if counted; or kNotIssued
    };
    void set_driver_number(const Operation& operation, bool issued) noexcept;
    /// Numbers of the first and the last operation; 0: none.
    std::pair<uint64_t, uint64_t> operations_of(uint64_t driver_number) const noexcept;
    std::string name_of(uint64_t number) const;
    std::string names_of(uint64_t first, uint64_t last) const;
    std::string suspects() const;

    DriverStream& stream_;
    Context& context_;
    const bool counts_;                           // the driver counts operations: the software GPU
    Context::Attribution attribution_;
    std::array<Recent, kRecent> recent_;
};

}  // namespace gpo
