// Driver calls that wait for all kernels on the GPU, hence also for kernels that stay.
//
// Words. *Resident work* is work on a resident stream that isn't done. A *blocking call* frees pinned memory, frees
// device memory by cuMemFree, unregisters host memory, loads or unloads code, or sets the stack limit. The destruction
// of an executable graph blocks too if the graph has conditional or memory nodes, launches graphs or is launched by
// kernels. The driver returns when all kernels of the context that run at the call have ended, and other threads' calls
// may wait for this call. Making streams and graphs blocks only if there is no room for them (stream/room.h).
// Allocations, cuMemFreeAsync, pools, events, the destruction of streams and of other graphs, and copies don't block.
//
// The two exclude each other. A blocking call is made only while there is no resident work, and resident work begins
// only while no blocking call is in progress: it waits for the call, which returns soon, since no kernel stays. A
// blocking call that finds resident work is *put off*: the errands' thread makes it when that work is done. If there is
// other resident work then, the call is put off again. A caller that has to know that the call was made is refused
// instead.
//
// The library sees only the resident work that it has put on a resident stream. The driver's calls wait, as always, for
// kernels that the program launches itself and for kernels that stay on other streams. If no caller waits for a
// blocking call, the call is made after the current work of all streams, and hence rarely waits long.
#pragma once

#include <memory>

#include "core/errands.h"
#include "device/context.h"

namespace gpo {

class StreamServices;

/// A blocking call that may be put off. The object is on the heap and owns everything the call needs: putting it off
/// takes no memory.
class BlockingCall : private Errand {
public:
    explicit BlockingCall(Context& context) noexcept : context_(&context) {}
    ~BlockingCall() override = default;
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;

    /// Makes the call, now or when there is no resident work, and then deletes the object. May take long unless put
    /// off. Called with no lock held, and not by the scanner.
    void make() noexcept { run(); }
    /// Has the errands' thread make() the call after the current work of all streams but resident ones. Locks may be
    /// held.
    void make_elsewhere() noexcept;

protected:
    Context& context() const noexcept { return *context_; }
    /// The call itself. `ok`: inside a DriverScope; otherwise the context is lost, and the driver's objects with it.
    virtual void call(bool ok) noexcept = 0;

private:
    friend class BlockingCalls;
    void run() noexcept final;

    const Ref<Context> context_;
    BlockingCall* next_ = nullptr;   // the next call that was put off
    bool put_off_ = false;
};

/// cuMemFreeHost. The memory may be given later than the object is made.
class HostMemoryFree final : public BlockingCall {
public:
    explicit HostMemoryFree(Context& context, void* memory = nullptr) noexcept
        : BlockingCall(context), memory_(memory) {}
    void set(void* memory) noexcept { memory_ = memory; }

private:
    void call(bool ok) noexcept override;
    void* memory_;
};

/// The blocking calls of a context, and its resident work.
class BlockingCalls {
public:
    BlockingCalls(StreamServices& services, Context& context) noexcept : services_(services), context_(context) {}
    BlockingCalls(const BlockingCalls&) = delete;
    BlockingCalls& operator=(const BlockingCalls&) = delete;

    // --- for resident streams ---
    /// Called before a resident stream is made, inside a DriverScope. Throws.
    void expect_resident_work();
    /// A scope in which an operation of a resident stream is submitted to the driver. The constructor waits for a
    /// blocking call in progress, but at most a second: the kernels that the call waits for may wait for this
    /// operation.
    class Beginning {
    public:
        explicit Beginning(BlockingCalls& calls) noexcept : calls_(calls) { calls_.begin_work(); }
        ~Beginning() { calls_.end_beginning(); }
        Beginning(const Beginning&) = delete;
        Beginning& operator=(const Beginning&) = delete;

    private:
        BlockingCalls& calls_;
    };

    // --- for makers of blocking calls: with no lock held, and not on the scanner ---
    /// True: there is no resident work, and none begins before end(). False: there is resident work.
    bool begin() noexcept;
    void end() noexcept;

    /// A scope for a blocking call whose outcome the caller has to know. Throws Failure(GPO_INVALID_STATE) beside
    /// resident work, with the stream's name. `what`: "unregistering memory".
    class Now {
    public:
        Now(Context& context, const char* what);
        ~Now() { calls_.end(); }
        Now(const Now&) = delete;
        Now& operator=(const Now&) = delete;

    private:
        BlockingCalls& calls_;
    };

    /// Frees device memory, if the driver can, without waiting for any kernel: in the order of an otherwise empty
    /// stream of the library. Called inside a DriverScope.
    void free_memory(CUdeviceptr address) noexcept;
    /// Frees memory that kernels may still use: waits for the kernels, unless there is resident work.
    void free_used_memory(CUdeviceptr address) noexcept;
    /// Unmaps another process's memory, now or when there is no resident work. If there is no memory to put the call
    /// off, the mapping ends with the context.
    void end_import(CUdeviceptr mapping) noexcept;

    /// Number of calls that were put off and aren't made yet.
    uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

    /// Called when the context's streams end.
    void finish() noexcept;

private:
    friend class BlockingCall;
    void begin_work() noexcept;
    bool make_stream_for_frees() noexcept;
    void end_beginning() noexcept;
    void put_off(BlockingCall& call) noexcept;
    void make_all() noexcept;
    void make_behind_all(BlockingCall& call) noexcept;

    /// Waits for the current resident work.
    class Watch final : public Errand {
    public:
        explicit Watch(BlockingCalls& calls) noexcept : calls_(calls) {}
        void run() noexcept override;

    private:
        BlockingCalls& calls_;   // a reference to the context is held while it is posted
    } watch_{*this};
    /// Makes the calls in gathered_ after the current work of all streams.
    class Gather final : public Errand {
    public:
        explicit Gather(BlockingCalls& calls) noexcept : calls_(calls) {}
        void run() noexcept override;

    private:
        BlockingCalls& calls_;   // as in Watch
    } gather_{*this};

    StreamServices& services_;
    Context& context_;
    std::atomic<CUstream> frees_{nullptr};    // made under making_, as long as there may be one
    std::atomic<bool> expected_{false};       // there may be resident work
    std::atomic<uint64_t> waiting_{0};
    host::Mutex making_;
    bool finished_ = false;                   // under making_: there is no stream for frees any more
    host::Mutex lock_;                        // a leaf
    host::Condition no_calls_;
    uint32_t calls_ = 0;                      // under way; under lock_, as:
    uint32_t beginning_ = 0;                  // operations being submitted
    BlockingCall *first_ = nullptr, *last_ = nullptr;   // calls that were put off, in order
    BlockingCall* gathered_ = nullptr;   // calls to make after the work of all streams
    bool watched_ = false, logged_ = false;
};

}  // namespace gpo
