// The table of buckets, which decides where a request runs, when buckets are recorded, and which are evicted.
//
// Locks. `lock_` guards the table. A thread holds the lock to look up a bucket or to put one in, never while anything
// is recorded, launched or destroyed. `taken_`, under the lock, says that a thread has the turn to record. No thread
// waits for the turn: requests run eagerly instead. Callbacks run under no lock.
#pragma once

#include "graph/bucket.h"
#include "graph/settings.h"

namespace gpo {

class Buckets final : public Object {
public:
    /// Throws Failure.
    Buckets(Ref<Context> context, gpo_device_t device, const gpo_buckets_options& options);

    struct Request {
        uint64_t size;
        const gpo_setting* settings;
        uint64_t stride, count;
        uint64_t optional_from = UINT64_MAX;  // settings from here on may lack a parameter
    };
    /// Runs a request on the stream, whose handle is `handle`. `shape` gets the bucket's shape; 0: the request ran
    /// eagerly. GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure.
    gpo_status launch(Stream& stream, gpo_stream_t handle, const Request& request, uint64_t* shape);
    /// Records all buckets that fit. Throws Failure.
    void prepare(Stream& stream);
    gpo_buckets_statistics statistics();

    const Context& context() const noexcept { return *context_; }
    uint64_t largest_shape() const noexcept { return entries_.back().shape; }
    /// Elements that the work for `size` elements works on.
    uint64_t shape_for(uint64_t size) const noexcept {
        for (const Entry& entry : entries_)
            if (entry.shape >= size) return entry.shape;
        return size;
    }

    void close() noexcept override;

private:
    struct Entry {
        uint64_t shape;          // doesn't change
        Ref<Bucket> bucket;      // NULL: it isn't recorded
        uint64_t used = 0;       // when, counted in requests
        bool too_large = false;  // the bucket alone takes more than max_bytes_
        bool refused = false;    // the recording has failed, and requests run eagerly
    };
    /// The turn to record. False: another thread has it.
    class Turn {
    public:
        explicit Turn(Buckets& of) noexcept;
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        explicit operator bool() const noexcept { return mine_; }

    private:
        Buckets& of_;
        bool mine_;
    };
    struct Found {
        Ref<Bucket> bucket;     // NULL: to be run eagerly
        bool recorded = false;  // for this request
        bool refused = false;
    };

    ~Buckets() override = default;
    void read_shapes(const gpo_buckets_options& options);
    void check_padding() const;
    void require_device(const Stream& stream) const;

    Entry* entry_of(uint64_t size) noexcept;
    Found find(Entry& entry, Stream& stream);
    Found ready(Entry& entry) noexcept;
    bool wanted(const Entry& entry) noexcept;
    bool full() noexcept;
    Ref<Bucket> record(Entry& entry, Stream& stream);
    bool may_fall_back(Stream& stream) const noexcept;
    void note_failure(Entry& entry, const Error& error, bool falls_back) noexcept;
    bool over(uint64_t buckets, uint64_t bytes) const noexcept;
    void keep(Entry& entry, const Ref<Bucket>& bucket, bool evicts);
    Entry* least_used(const Entry& but) noexcept;
    void note(const Request& request, const Found& found) noexcept;

    gpo_status run_eagerly(gpo_stream_t handle, const Request& request);
    gpo_status run_in(Bucket& bucket, Stream& stream, gpo_stream_t handle, const Request& request,
                      const SettingArray& settings);
    gpo_status pad(const Bucket& bucket, Stream& stream, gpo_stream_t handle, const Request& request);
    gpo_status pad_with_zeros(const Bucket& bucket, Stream& stream, uint64_t size);
    ErrorPtr error_in(uint64_t shape, const Failure& failure) const;

    const Ref<Context> context_;
    const uint64_t max_bytes_, pad_address_, pad_element_bytes_;
    const uint32_t max_buckets_;  // 0: any number
    const bool falls_back_;       // on a recording that fails
    const BucketCallbacks callbacks_;
    BucketRecorder recorder_;  // used by the thread that has the turn
    host::Mutex lock_;
    std::vector<Entry> entries_;  // by shape; the number is fixed. Under lock_, as are:
    uint64_t requests_ = 0, bytes_ = 0;
    uint32_t recorded_ = 0;
    bool taken_ = false;
    uint64_t failures_ = 0;
    FixedText<sizeof gpo_buckets_statistics::last_failure> last_failure_;
    std::atomic<uint64_t> hits_{0}, misses_{0}, eager_{0}, fallbacks_{0}, evictions_{0}, requested_{0}, padded_{0};
};

template <>
struct TypeOf<Buckets> { static constexpr Type value = Type::buckets; };

}  // namespace gpo
