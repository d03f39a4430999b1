// A bucket: the template of one shape; and the recording of buckets.
//
// A bucket exists once it is recorded and has its graphs. The table (graph/buckets.h) and launches that have just found
// the bucket keep references to it. The bucket owns the handle of its template. A held launch needs only the graph.
#pragma once

#include "gpuorch/buckets.h"
#include "graph/restored_memory.h"
#include "graph/template.h"
#include "stream/event.h"

namespace gpo {

/// The program's functions that put a bucket's work on a stream. Called under no lock. Their exceptions and failures
/// are thrown as Failure(GPO_CALLBACK_FAILED).
class BucketCallbacks {
public:
    /// `of` owns this.
    BucketCallbacks(const Object& of, const gpo_buckets_options& options) noexcept
        : of_(of), record_(options.record), pad_(options.pad), user_(options.user) {}

    bool pads() const noexcept { return pad_ != nullptr; }
    void record(gpo_stream_t stream, const gpo_bucket_work& work) const { call("record", record_, stream, work); }
    void pad(gpo_stream_t stream, const gpo_bucket_work& work) const { call("pad", pad_, stream, work); }

private:
    void call(const char* which, gpo_bucket_fn function, gpo_stream_t stream, const gpo_bucket_work& work) const;

    const Object& of_;
    const gpo_bucket_fn record_, pad_;
    void* const user_;
};

class Bucket final : public Counted {
public:
    /// With an empty template. Throws Failure.
    Bucket(Ref<Context> context, const char* label, uint64_t shape);

    uint64_t shape() const noexcept { return shape_; }
    Template& recorded() const noexcept { return *template_; }
    gpo_template_t handle() const noexcept { return handle_; }
    /// Device memory that the bucket takes, as far as known.
    uint64_t bytes() const noexcept { return bytes_; }
    void set_bytes(uint64_t bytes) noexcept { bytes_ = bytes; }

private:
    ~Bucket() override;

    const uint64_t shape_;
    const Ref<Template> template_;
    gpo_template_t handle_ = nullptr;
    uint64_t bytes_ = 0;
};

/// Records buckets, one at a time, on a stream of its own.
class BucketRecorder {
public:
    /// For `of`, which owns this and `callbacks`. Each bucket gets `graphs` graphs. Throws Failure.
    BucketRecorder(const Object& of, Ref<Context> context, gpo_device_t device, const BucketCallbacks& callbacks,
                   uint32_t graphs, const gpo_buckets_options& options);

    /// Whether work can be ordered with the work of `caller` now. GPO_CAPTURE_REFUSED: `caller` is in capture.
    /// GPO_INVALID_STATE: `caller` is held, or work of an earlier warm-up is. Throws Failure.
    gpo_status possible(Stream& caller);
    /// Warms up, behind the work on `caller`, and records. Later work on `caller` comes after the warm-up. Throws
    /// Failure.
    Ref<Bucket> record(uint64_t shape, Stream& caller);
    /// Whether the last record() failed in its recording, or saving memory: then the work itself may run.
    bool failed_in_recording() const noexcept { return recording_; }
    /// Gives back the memory that record() keeps for the next recording.
    void rest() noexcept { restored_.release(); }
    void close() noexcept;

private:
    Stream& own();
    void follow(Stream& later, Stream& earlier);
    void warm_up(uint64_t shape, Stream& caller);
    void end_warm_up(Stream& caller);
    ErrorPtr restore();
    void record_into(Bucket& bucket);
    [[noreturn]] void fail_record(Bucket& bucket, const Failure& failure);
    uint64_t free_bytes() const;

    const Ref<Context> context_;
    const gpo_device_t device_;
    const BucketCallbacks& callbacks_;
    const char* const label_;  // interned
    const uint32_t graphs_;
    const bool warms_up_;
    const Ref<Event> order_;
    RestoredMemory restored_;
    bool recording_ = false;
    Ref<Stream> stream_;   // NULL until the first recording
    uint64_t handle_ = 0;  // of stream_
};

}  // namespace gpo
