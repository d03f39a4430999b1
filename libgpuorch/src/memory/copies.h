// Copies as operations: one range, rows, many ranges at once.
//
// The constructor makes the checks that need no driver. The driver is asked at issue, and only where the answer changes
// what happens: host memory that isn't ours may be pageable. Device memory that isn't ours is left to the driver's own
// check, and a refusal is then explained. An operation that is held for later is checked in full when it is held, and
// copies its pageable sources: the caller may reuse them when the call returns.
#pragma once

#include <memory>
#include <vector>

#include "memory/place.h"
#include "memory/registry.h"
#include "stream/stream.h"
#include "stream/work.h"

namespace gpo {

class Copy final : public Operation {
public:
    using Way = CopyWork::Way;

    /// On a stream of `context`. Throws Failure(GPO_INVALID_ARGUMENT).
    Copy(Context& context, Way way, uint64_t destination, uint64_t source, uint64_t bytes)
        : Operation("copy", nullptr), context_(context) {
        work_.way = way;
        work_.destination = destination;
        work_.source = source;
        work_.bytes = bytes;
        if (way == Way::to_device || way == Way::to_host) {
            // Usually both sides lie in the ranges that this thread found last, and need no other check.
            const Registry& registry = Registry::of(context_.runtime());
            const bool in = way == Way::to_device;
            known_ = registry.host.remembers(in ? source : destination, bytes) &&
                     registry.device.remembers(in ? destination : source, bytes);
            both_known_ = known_;
        }
        if (!known_) [[unlikely]] check();
    }
    /// For Way::peer.
    void set_contexts(Ref<Context> destination, Ref<Context> source) noexcept;

    const CopyWork& record() const noexcept { return work_; }

    bool plain() const noexcept override { return known_ || work_.way == Way::on_device; }
    void issue(Stream& stream) override {
        if (!known_ || work_.bytes == 0) [[unlikely]] return issue_unknown(stream);
        const Issued issued = gpo::issue(context_, stream.native(), work_);
        if (issued.result != CUDA_SUCCESS) [[unlikely]] refused(issued);
        stream.submission().count(work_);
    }
    bool add_to(Stream& stream, StreamRecording& recording) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override;
    LearnableWork learnable() const noexcept override;

private:
    Copy(const Copy& other);
    void check();
    void issue_unknown(Stream& stream);
    [[noreturn]] void refused(const Issued& issued) const;
    bool check_side(Registry& registry, const char* role, uint64_t address, bool host);
    bool touches_pageable(Context& context) const;
    void check_fully(Context& context) const;

    Context& context_;
    CopyWork work_;
    bool known_ = false;       // the host side, if there is one, is pinned memory of ours
    bool both_known_ = false;  // both sides are memory of ours
    bool held_pageable_ = false;
    Ref<Context> destination_context_, source_context_;
    std::unique_ptr<std::byte[]> taken_;  // a held copy's pageable source
};

class CopyRows final : public Operation {
public:
    CopyRows(Context& context, const gpo_copy_2d& copy);
    void issue(Stream& stream) override;
    bool add_to(Stream& stream, StreamRecording& recording) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override;

private:
    CopyRows(const CopyRows& other);
    Context& context_;
    RowsWork work_;
    std::unique_ptr<std::byte[]> taken_;
};

/// A copy between any two of device memory and pinned host memory, for a graph. Inside a DriverScope. Throws
/// Failure(GPO_INVALID_ARGUMENT).
RowsWork row_between(Context& context, const gpo_copy& copy);

class CopyBatch final : public Operation {
public:
    /// Reads the caller's array. Throws Failure(GPO_INVALID_ARGUMENT), std::bad_alloc.
    CopyBatch(Context& context, const gpo_copy* copies, uint64_t stride, uint64_t count);
    void issue(Stream& stream) override;
    bool add_to(Stream& stream, StreamRecording& recording) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override;

private:
    static constexpr size_t kInline = 64;
    CopyBatch(const CopyBatch& other);
    void make_room(size_t count);
    void check_pieces();
    void submit_one_by_one(Stream& stream, size_t first, size_t last);
    /// For pieces that the driver has refused: throws Failure if a piece is pinned in part.
    void check_pinned(size_t first, size_t last) const;

    Context& context_;
    size_t count_ = 0;
    size_t pageable_from_ = 0;             // pieces from here on touch pageable memory
    bool checked_ = false;
    CUdeviceptr *destinations_ = nullptr, *sources_ = nullptr;
    size_t* sizes_ = nullptr;
    uint64_t total_ = 0;
    std::unique_ptr<uint64_t[]> room_;     // for more than kInline
    uint64_t inline_room_[3 * kInline];
    std::unique_ptr<std::byte[]> taken_;
};

}  // namespace gpo
