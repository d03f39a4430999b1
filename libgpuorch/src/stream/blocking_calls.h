// Calls of the driver that wait for all kernels on the GPU, and would so wait for one that stays.
//
// Words. *Resident work* is work on a resident stream that isn't done. A *blocking call* frees pinned memory, frees
// device memory by cuMemFree, unregisters host memory, loads or unloads code, sets the stack limit, or destroys an
// executable graph that has conditional or memory nodes, launches graphs or is launched by kernels. The driver comes back
// when all kernels of the context have ended that run at the call, and other threads' calls may wait for it meanwhile.
// Allocations, cuMemFreeAsync, pools, streams, events, other graphs and copies don't block.
//
// The two exclude each other. A blocking call is made only while there is no resident work, and resident work begins
// only while no blocking call is under way: it waits for the call, which comes back soon, since no kernel stays. A
// blocking call that finds resident work is *put off*: the errands' thread makes it when that work is done. If there is
// other resident work then, the call is put off again. A caller that has to know that the call was made is refused
// instead.
//
// The library sees resident work that it has put on a resident stream. Kernels that the program launches itself, and
// kernels that stay on other streams, are as always: the driver's calls wait for them. Blocking calls that no caller waits
// for come behind the work that is on the streams then, so that they rarely wait long.
#pragma once

#include <memory>

#include "core/errands.h"
#include "device/context.h"

namespace gpo {

class Stream;
class Streams;

/// A blocking call that may be put off. It is made on the heap and owns what it needs, so that to put it off takes no
/// memory.
class BlockingCall : private Errand {
public:
    explicit BlockingCall(Context& context) noexcept : context_(&context) {}
    ~BlockingCall() override = default;
    BlockingCall(const BlockingCall&) = delete;
    BlockingCall& operator=(const BlockingCall&) = delete;

    /// Makes the call, now or when there is no resident work, and then deletes the object. Where it isn't put off it
    /// may take long. With no lock held, and not by the scanner.
    void make() noexcept { run(); }
    /// The same by the errands' thread, behind the work that all streams but resident ones have then. Locks may be held.
    void make_elsewhere() noexcept;

protected:
    Context& context() const noexcept { return *context_; }
    /// The call itself. `ok`: inside a DriverScope; otherwise the context is lost, and the driver's objects with it.
    virtual void call(bool ok) noexcept = 0;

private:
    friend class BlockingCalls;
    void run() noexcept final;

    const Ref<Context> context_;
    BlockingCall* next_ = nullptr;   // that was put off behind it
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

/// Of a context's streams.
class BlockingCalls {
public:
    explicit BlockingCalls(Streams& streams, Context& context) noexcept : streams_(streams), context_(context) {}
    BlockingCalls(const BlockingCalls&) = delete;
    BlockingCalls& operator=(const BlockingCalls&) = delete;

    // --- for resident streams ---
    /// Before there is one. Inside a DriverScope. Throws.
    void expect_resident_work();
    /// An operation of a resident stream is given to the driver meanwhile. It waits for a blocking call under way, but
    /// for no longer than a second: the kernels that such a call waits for may wait for this operation.
    class Beginning {
    public:
        explicit Beginning(BlockingCalls& calls) noexcept : calls_(calls) { calls_.begin_work(); }
        ~Beginning() { calls_.end_beginning(); }
        Beginning(const Beginning&) = delete;
        Beginning& operator=(const Beginning&) = delete;

    private:
        BlockingCalls& calls_;
    };

    // --- for those who make blocking calls. With no lock held, and not by the scanner ---
    /// True: there is no resident work, and there will be none until end(). False: there is.
    bool begin() noexcept;
    void end() noexcept;

    /// A blocking call is made meanwhile whose outcome the caller has to know. Throws Failure(GPO_INVALID_STATE) where
    /// there is resident work, with its stream's name. `what`: "unregistering memory".
    class Now {
    public:
        Now(Context& context, const char* what);
        ~Now() { calls_.end(); }
        Now(const Now&) = delete;
        Now& operator=(const Now&) = delete;

    private:
        BlockingCalls& calls_;
    };

    /// Inside a DriverScope. Frees device memory without waiting for any kernel, where the driver can: in the order of
    /// a stream of the library's own, on which nothing else is.
    void free_memory(CUdeviceptr address) noexcept;
    /// The same for memory that kernels may still use: waits for those, unless there is resident work.
    void free_used_memory(CUdeviceptr address) noexcept;
    /// Likewise: unmaps another process's memory, now or when there is no resident work. Without memory to put that
    /// off the mapping goes with the context.
    void end_import(CUdeviceptr mapping) noexcept;

    /// How many calls were put off and aren't made yet.
    uint64_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

    /// The streams end.
    void finish() noexcept;

private:
    friend class BlockingCall;
    void begin_work() noexcept;
    bool make_stream_for_frees() noexcept;
    void end_beginning() noexcept;
    void put_off(BlockingCall& call) noexcept;
    void make_all() noexcept;
    void make_behind_all(BlockingCall& call) noexcept;

    /// Waits for the resident work that there is.
    class Watch final : public Errand {
    public:
        explicit Watch(BlockingCalls& calls) noexcept : calls_(calls) {}
        void run() noexcept override;

    private:
        BlockingCalls& calls_;   // a reference to the context is held while it is posted
    } watch_{*this};
    /// Puts what is in gathered_ behind all streams.
    class Gather final : public Errand {
    public:
        explicit Gather(BlockingCalls& calls) noexcept : calls_(calls) {}
        void run() noexcept override;

    private:
        BlockingCalls& calls_;   // likewise
    } gather_{*this};

    Streams& streams_;
    Context& context_;
    std::atomic<CUstream> frees_{nullptr};    // made under making_, as long as there may be one
    std::atomic<bool> expected_{false};       // there may be resident work
    std::atomic<uint64_t> waiting_{0};
    host::Mutex making_;
    bool finished_ = false;                   // under it: there is no stream for frees any more
    host::Mutex lock_;                        // a leaf
    host::Condition no_calls_;
    uint32_t calls_ = 0;                      // under way; under lock_, as:
    uint32_t beginning_ = 0;                  // operations that the driver is being given
    BlockingCall *first_ = nullptr, *last_ = nullptr;   // that were put off, in order
    BlockingCall* gathered_ = nullptr;   // that are to be made behind all streams
    bool watched_ = false, logged_ = false;
};

}  // namespace gpo
