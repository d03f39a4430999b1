// Objects behind handles: reference counts, labels, last errors.
//
// Lifetime. A Ref keeps an object alive. Children hold Refs to their parents; work in flight holds Refs to what it
// uses. A handle holds one Ref from creation until destroy. When the handle's Ref is released and no call uses the
// object any more, `close()` runs once: the object stops accepting work, and releases what refers back to it. The
// destructor, which may call the driver, runs when the last Ref is released, on any thread, under no lock of the
// library.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "core/error.h"
#include "host/host.h"

namespace gpo {

class Runtime;

enum class Type : uint8_t {
    none, runtime, device, stream, stream_pool, event, timeline, cq, arena, pool, module, kernel, pipeline,
    executor, graph_template, graph, buckets, queue, scheduler, peers, symmetric,
    admission, batcher,
};
inline constexpr Type kLastType = Type::batcher;
const char* type_name(Type type) noexcept;

/// Anything with an intrusive reference count. Made with one reference, which Ref::adopt takes over.
class Counted {
public:
    Counted() noexcept = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() const noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    /// Whether the caller's reference is the only one.
    bool only() const noexcept { return references_.load(std::memory_order_acquire) == 1; }
    /// False if the count was 0 already: the object is being destroyed.
    bool try_retain() const noexcept;
    /// If the caller's reference is the only one, sets the count to 0: no thread can get another reference, and the
    /// caller must call destroy_claimed().
    bool claim_if_only() const noexcept {
        uint32_t one = 1;
        return references_.compare_exchange_strong(one, 0, std::memory_order_acq_rel);
    }
    void destroy_claimed() const noexcept { delete this; }

protected:
    virtual ~Counted() = default;

private:
    mutable std::atomic<uint32_t> references_{1};
};

template <class T>
class Ref {
public:
    Ref() noexcept = default;
    Ref(std::nullptr_t) noexcept {}
    explicit Ref(T* object) noexcept : object_(object) {
        if (object_) object_->retain();
    }
    Ref(const Ref& other) noexcept : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <class U>
    Ref(const Ref<U>& other) noexcept : Ref(other.get()) {}
    template <class U>
    Ref(Ref<U>&& other) noexcept : object_(other.leak()) {}
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_) object_->release();
    }
    static Ref adopt(T* object) noexcept {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
    T* leak() noexcept { return std::exchange(object_, nullptr); }
    T* get() const noexcept { return object_; }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }
    explicit operator bool() const noexcept { return object_ != nullptr; }
    bool operator==(const Ref&) const noexcept = default;

private:
    T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make(Args&&... args) {
    return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

class Object : public Counted {
public:
    /// `label` may be NULL; it is cut to 63 bytes.
    Object(Runtime& runtime, Type type, const char* label);
    /// For the runtime object, whose runtime() is the object itself.
    Object(Runtime& self, Type type);

    Runtime& runtime() const noexcept { return runtime_; }
    Type type() const noexcept { return type_; }

    /// A label that stays valid for as long as the runtime (labels are interned); "" if there is none.
    const char* label() const noexcept { return label_.load(std::memory_order_acquire); }
    void set_label(const char* label);
    /// "stream `upload`", or "stream" without a label. Allocates no memory, because messages of failures use it.
    FixedText<96> describe() const noexcept;

    /// The failure that gpo_object_get_error reports. Later failures replace it, unless it is sticky.
    virtual ErrorPtr error() const;
    void note_error(ErrorPtr error) noexcept;
    void note_sticky_error(ErrorPtr error) noexcept;

    virtual void close() noexcept {}

    /// After close(): gives up the handle's reference.
    virtual void release_handle() noexcept { release(); }

    /// Called when the handle has been destroyed. Other threads may still be inside calls: waiting calls must return
    /// GPO_CANCELLED.
    virtual void destroyed() noexcept {}

    /// The runtime shuts down: cancels held work and work on the host, and makes waiting calls return. Blocks on
    /// nothing.
    virtual void stop() noexcept {}
    /// After stop(): waits for work that still runs. False when the deadline passes first.
    virtual bool drain(uint64_t deadline) noexcept {
        static_cast<void>(deadline);
        return true;
    }
    /// A shutdown has timed out: makes waiting calls return. The caller may try the shutdown again.
    virtual void shutdown_timed_out() noexcept {}
    /// The runtime has shut down. Called only for objects that outlive it (handle::outlives_runtime).
    virtual void runtime_ended() noexcept {}
    /// What the user has not freed in this object, for the leak report: "3 pieces of 4096 bytes in all"; "" if nothing.
    virtual FixedText<128> leaks() noexcept { return {}; }
    /// Whether this object is a part of another. The leak report omits parts.
    virtual bool is_part() const noexcept { return false; }

protected:
    ~Object() override;

private:
    mutable host::Mutex error_lock_;
    Runtime& runtime_;   // this object is a use of it (Runtime::begin_use); those that outlive it hold a reference
    std::atomic<const char*> label_;
    ErrorPtr error_;
    const Type type_;
    bool error_sticky_ = false;
};

}  // namespace gpo
