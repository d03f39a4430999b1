// gpuorch.hpp: libgpuorch for C++17 and newer: one thin layer over the C functions, header-only.
//
//     auto runtime = gpuorch::runtime::create();            // CUDA where there is a GPU, else the software GPU
//     auto device = runtime.open_device();
//     auto stream = device.create_stream();
//     auto halve = device.compile(source).kernel("halve");
//     auto x = device.allocate<float>(n);                   // device memory, freed by the destructor
//
//     stream.copy_to_device(x, host);                       // host: a vector, an array, a pinned piece of an arena
//     halve.launch(stream, n / 256, 256, x, n);             // grid, block, then the kernel's arguments
//     stream.copy_to_host(host, x);
//     stream.wait();
//
// The C headers are the manual: a member does what the C function of the same name does, and the comments here say only
// what differs. An object converts to its C handle. Functions without a member are called as in C:
//
//     gpuorch::check(gpo_device_enable_peer(one, two));
//
// - Errors are exceptions. gpuorch::error has the status, the function, the object and the sentence of gpo_last_error.
//   Exceptions rather than returned values, because C++17 has no std::expected, a returned status is easily dropped,
//   and functions that return an object have no place for one. Answers are not errors. A call that asks or waits
//   returns false, or an empty optional, for "not yet" (GPO_NOT_READY, GPO_TIMEOUT). A call that finds no room throws
//   GPO_WOULD_BLOCK, and no work is lost unseen; its try_ form returns false instead.
// - An object owns its handle: it can be moved and not copied, and its destructor destroys the handle. A destructor
//   never throws: it ignores the status of the destroy function. `.get()` is the handle, `.release()` gives it up, and
//   gpuorch::stream(handle) takes one over. An object that was default-constructed, moved from or released is empty:
//   its handle is NULL, and calls with it throw GPO_INVALID_HANDLE.
// - Objects may be destroyed in any order, memory excepted: the library keeps all objects that are still in use. A
//   buffer is freed through its device and pinned memory through its arena: declare memory behind device and arena. The
//   destructor of the runtime waits for all work.
// - Options are the C structs with a default for each field (options.hpp): fill in what differs. In C++20:
//       auto stream = device.create_stream({.priority = -1});
//   In C++17:
//       gpuorch::stream_options options;
//       options.priority = -1;
//       auto stream = device.create_stream(options);
//   A gpo_stream_options will do, too: its `struct_size` is set here. GCC's -Wextra reports the fields that a
//   designated initialiser of the C struct doesn't name. It reports none of gpuorch::stream_options, which converts to
//   the C struct.
// - A graph template is recorded by a callable, and its graphs take values of their parameters by name:
//       auto step = device.create_graph_template();
//       step.record(stream, [&](gpuorch::recording recorded) {
//           halve.launch(stream, n / 256, 256, x, n);
//           recorded.argument("data", 0);
//       });
//       auto graph = step.create_graph();
//       graph.launch(stream, gpuorch::setting("data", y));
// - Shape buckets (buckets.h) take one callable for the work that runs and for the work that is recorded for a shape:
//       auto record = [&](gpuorch::stream_ref on, const gpuorch::bucket_work& work) {
//           halve.launch(on, 1, 256, work.value("data", x), work.shape());
//           work.argument("data", 0);
//       };
//       auto buckets = device.create_buckets({16, 64, 256}, record);
//       buckets.launch(stream, 50, gpuorch::setting("data", y));
// - A device queue (queue.h) is a kernel's argument by range(), ring() or host_ring():
//       auto rows = device.create_queue({.kind = GPO_QUEUE_RANGE, .count = n});
//       solve.launch(stream, 132, 256, rows.range(), x);
// - A scheduler (scheduler.h) does the tasks of a queue by functions of a source:
//       auto scheduler = device.create_scheduler(source, {"visit"}, {.queue = ring});
//       scheduler.start();
//       ring.push(stream, &first, 1);
//       stream.wait();
//       scheduler.drain();
// - Devices that work together are a group (peers.h):
//       auto all = gpuorch::peers::create({first, second});
//       all.all_reduce(GPO_TYPE_FLOAT32, GPO_REDUCE_SUM, n, {{first_stream, x, x}, {second_stream, y, y}});
// - Any thread may make any call, as in C. While an object is moved, reset or destroyed, no other thread may use it.
// - The library owns a callable that is passed to `then`, `host_call`, buckets or a pipeline until its last run.
//   Callables run on the threads that executor.h, buckets.h and pipeline.h name.
#ifndef GPUORCH_HPP
#define GPUORCH_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "options.hpp"

namespace gpuorch {

// --- structs and errors ---

/// The struct with its size set, for calls of C functions: sized<gpo_metrics>().
template <class Struct>
Struct sized(Struct value = Struct()) noexcept {
    value.struct_size = sizeof value;
    return value;
}

/// Why a call or an operation has failed.
class error : public std::runtime_error {
public:
    explicit error(const gpo_error& details) : std::runtime_error(sentence(details)), details_(details) {}

    /// For the calling thread's last call, which has returned `status`.
    static error of_last_call(gpo_status status) {
        auto details = sized<gpo_error>();
        gpo_last_error(&details);
        return error(details.status == status ? details : of_status(status));
    }

    gpo_status status() const noexcept { return details_.status; }
    const char* function() const noexcept { return details_.function; }
    const char* object() const noexcept { return details_.object; }
    const char* message() const noexcept { return details_.message; }
    const gpo_error& details() const noexcept { return details_; }

    /// A status that came without details.
    static gpo_error of_status(gpo_status status) noexcept {
        auto details = sized<gpo_error>();
        details.status = status;
        std::strncpy(details.message, gpo_status_text(status), sizeof details.message - 1);
        return details;
    }

private:
    static std::string sentence(const gpo_error& details) {
        const std::string message = std::string(details.message) + " (" + gpo_status_name(details.status) + ")";
        return details.function[0] != '\0' ? std::string(details.function) + ": " + message : message;
    }

    gpo_error details_;
};

/// Throws gpuorch::error unless `status`, from a C function that this thread has just called, is GPO_SUCCESS.
inline void check(gpo_status status) {
    if (status != GPO_SUCCESS) throw error::of_last_call(status);
}

namespace detail {

/// True: done. False: the answer was `not_yet`. Anything else is thrown.
inline bool done(gpo_status status, gpo_status not_yet) {
    if (status == not_yet) return false;
    check(status);
    return true;
}

/// A negative time asks and returns, as 0 does. (For the C functions a negative time has no limit.)
inline std::int64_t timeout(std::chrono::nanoseconds time) noexcept { return time.count() < 0 ? 0 : time.count(); }

/// The struct that a getter of an object writes.
template <class Struct, class Handle>
Struct got(gpo_status (*get)(Handle, Struct*), Handle object) {
    auto value = sized<Struct>();
    check(get(object, &value));
    return value;
}

/// Options for a C function, whose size is set. Members take them as the C struct or as the struct of options.hpp. The
/// latter is the default of a template parameter, so that braces make it.
template <class Struct>
class with_size {
public:
    explicit with_size(const Struct& options) noexcept : options_(sized(options)) {}
    operator const Struct*() const noexcept { return &options_; }

private:
    Struct options_;
};

/// The object that `create(arguments..., &handle)` makes.
template <class Object, class Create, class... Arguments>
Object made(Create create, Arguments... arguments) {
    typename Object::handle_type handle = nullptr;
    check(create(arguments..., &handle));
    return Object(handle);
}

/// A text that a function returns through (buffer, capacity, needed). The text may grow between two calls.
template <class Get>
std::string text(Get&& get) {
    std::string buffer(256, '\0');
    std::size_t needed = 0;
    gpo_status status = GPO_SUCCESS;
    while ((status = get(&buffer[0], buffer.size(), &needed)) == GPO_BUFFER_TOO_SMALL) buffer.resize(needed);
    check(status);
    buffer.resize(std::strlen(buffer.c_str()));
    return buffer;
}

/// A parameter that no template argument is deduced from.
template <class T>
struct given {
    using type = T;
};

/// Calls the callable that `user` owns, once.
template <class Callable>
void call_back(void* user, const gpo_completion* completion, const gpo_error* failure) {
    const std::unique_ptr<Callable> owned(static_cast<Callable*>(user));
    Callable& callable = *owned;
    if constexpr (std::is_invocable_v<Callable, const gpo_completion&, const gpo_error*>)
        std::move(callable)(*completion, failure);
    else
        std::move(callable)(completion->status);
}

/// Gives the library a callable of its own, if `then(arguments..., function, user)` succeeds.
template <class Callable, class Then, class... Arguments>
gpo_status hand_over(Callable&& callable, Then then, Arguments... arguments) {
    using Own = std::decay_t<Callable>;
    static_assert(
        std::is_invocable_v<Own, const gpo_completion&, const gpo_error*> || std::is_invocable_v<Own, gpo_status>,
        "then takes a callable with (gpo_status), or with (const gpo_completion&, const gpo_error*)");
    auto own = std::make_unique<Own>(std::forward<Callable>(callable));
    const gpo_status status = then(arguments..., &call_back<Own>, own.get());
    if (status == GPO_SUCCESS) static_cast<void>(own.release());  // call_back calls and deletes it, perhaps already
    return status;
}

/// Calls the callable that `user` owns in the order of a stream, once.
template <class Callable>
gpo_status call_host(void* user, const gpo_host_call* call) {
    const std::unique_ptr<Callable> owned(static_cast<Callable*>(user));
    Callable& callable = *owned;
    if constexpr (std::is_invocable_r_v<gpo_status, Callable, const gpo_host_call&>) {
        return std::move(callable)(*call);
    } else {
        if (call->status == GPO_SUCCESS) std::move(callable)();
        return GPO_SUCCESS;
    }
}

}  // namespace detail

// --- objects ---

/// A C handle that this object doesn't own.
template <class Handle>
class ref {
public:
    using handle_type = Handle;
    ref() noexcept = default;
    explicit ref(Handle handle) noexcept : handle_(handle) {}
    Handle get() const noexcept { return handle_; }
    operator Handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    Handle handle_ = nullptr;
};

/// An object that owns its handle. `Base` has the calls.
template <class Base, auto Destroy>
class owner : public Base {
public:
    using handle_type = typename Base::handle_type;
    owner() noexcept = default;
    explicit owner(handle_type adopted) noexcept : Base(adopted) {}
    owner(owner&& other) noexcept : Base(other.release()) {}
    owner& operator=(owner&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~owner() { reset(); }

    handle_type release() noexcept { return std::exchange(this->handle_, nullptr); }
    void reset(handle_type adopted = nullptr) noexcept {
        const handle_type old = std::exchange(this->handle_, adopted);
        if (old != nullptr) static_cast<void>(Destroy(old));
    }

    operator handle_type() const& noexcept { return this->handle_; }
    operator handle_type() && = delete;  // of a temporary, which is about to destroy the handle
};

/// Bytes by which other processes import memory or an event (interprocess.h).
using exported_bytes = std::array<std::uint8_t, GPO_EXPORT_BYTES>;

class event : public owner<ref<gpo_event_t>, gpo_event_destroy> {
public:
    using owner::owner;

    void record(gpo_stream_t stream) const { check(gpo_event_record(get(), stream)); }
    /// Whether the last recording has been reached.
    bool query() const { return detail::done(gpo_event_query(get()), GPO_NOT_READY); }
    void wait() const { check(gpo_event_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_event_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    /// GPU time from this event's recording to the recording of `end`; empty while either is pending.
    std::optional<std::chrono::nanoseconds> elapsed(gpo_event_t end) const {
        std::int64_t time = 0;
        if (!detail::done(gpo_event_get_elapsed(get(), end, &time), GPO_NOT_READY)) return std::nullopt;
        return std::chrono::nanoseconds(time);
    }

    /// For another process to import (device::import_event); the event needs GPO_EVENT_INTERPROCESS.
    exported_bytes exported() const {
        exported_bytes bytes{};
        check(gpo_event_export(get(), bytes.data(), bytes.size(), nullptr));
        return bytes;
    }

    void notify(gpo_cq_t queue, std::uint64_t user_data) const { check(gpo_event_notify(get(), queue, user_data)); }
    /// See stream_ref::then.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_event_then, get(), executor));
    }
};

class timeline : public owner<ref<gpo_timeline_t>, gpo_timeline_destroy> {
public:
    using owner::owner;

    void signal(std::uint64_t value) const { check(gpo_timeline_signal(get(), value)); }
    void fail(gpo_status status, const char* message = nullptr) const {
        check(gpo_timeline_fail(get(), status, message));
    }
    std::uint64_t value() const {
        std::uint64_t value = 0;
        check(gpo_timeline_get_value(get(), &value));
        return value;
    }
    void wait(std::uint64_t value) const { check(gpo_timeline_wait(get(), value, -1)); }
    /// False: the time has passed first.
    bool wait(std::uint64_t value, std::chrono::nanoseconds time) const {
        return detail::done(gpo_timeline_wait(get(), value, detail::timeout(time)), GPO_TIMEOUT);
    }

    void notify(std::uint64_t value, gpo_cq_t queue, std::uint64_t user_data) const {
        check(gpo_timeline_notify(get(), value, queue, user_data));
    }
    /// See stream_ref::then.
    template <class Callable>
    void then(std::uint64_t value, gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_timeline_then, get(), value, executor));
    }
};

class completion_queue : public owner<ref<gpo_cq_t>, gpo_cq_destroy> {
public:
    using owner::owner;

    /// Returns how many entries were taken out, 0 if there was none. Throws GPO_SHUT_DOWN at the end of the queue.
    std::uint64_t drain(gpo_completion* entries, std::uint64_t capacity) const {
        std::uint64_t count = 0;
        check(gpo_cq_drain(get(), entries, sizeof *entries, capacity, &count));
        return count;
    }
    void wait() const { check(gpo_cq_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_cq_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    void wake() const { check(gpo_cq_wake(get())); }
    /// A descriptor for an event loop. The caller closes it.
    int descriptor() const {
        std::int32_t descriptor = -1;
        check(gpo_cq_get_fd(get(), &descriptor));
        return descriptor;
    }
    /// The failure of a failed entry.
    error failure(const gpo_completion& entry) const {
        auto details = sized<gpo_error>();
        if (gpo_cq_get_error(get(), entry.error_id, &details) != GPO_SUCCESS) details = error::of_status(entry.status);
        return error(details);
    }
    gpo_cq_statistics statistics() const { return detail::got(gpo_cq_get_statistics, get()); }
};

class executor : public owner<ref<gpo_executor_t>, gpo_executor_destroy> {
public:
    using owner::owner;

    /// Runs callbacks on this thread until none is pending, and returns how many it has run.
    std::uint64_t run() const {
        std::uint64_t count = 0;
        check(gpo_executor_run(get(), &count));
        return count;
    }
    /// False: callbacks are still pending.
    bool run_for(std::chrono::nanoseconds time) const {
        return detail::done(gpo_executor_run_for(get(), detail::timeout(time), nullptr), GPO_TIMEOUT);
    }
    std::uint64_t poll() const {
        std::uint64_t count = 0;
        check(gpo_executor_poll(get(), &count));
        return count;
    }
    gpo_executor_statistics statistics() const { return detail::got(gpo_executor_get_statistics, get()); }
};

// --- memory ---

/// An address in device memory: what a kernel's parameter `T*` takes. The host can't dereference it.
template <class T>
class device_ptr {
public:
    device_ptr() noexcept = default;
    explicit device_ptr(std::uint64_t address) noexcept : address_(address) {}
    std::uint64_t address() const noexcept { return address_; }
    explicit operator bool() const noexcept { return address_ != 0; }

    template <class Other, std::enable_if_t<std::is_convertible_v<T*, Other*>, int> = 0>
    operator device_ptr<Other>() const noexcept {
        return device_ptr<Other>(address_);
    }

    friend device_ptr operator+(device_ptr at, std::uint64_t elements) noexcept {
        return device_ptr(at.address_ + elements * sizeof(T));
    }
    friend bool operator==(device_ptr a, device_ptr b) noexcept { return a.address_ == b.address_; }
    friend bool operator!=(device_ptr a, device_ptr b) noexcept { return a.address_ != b.address_; }

private:
    std::uint64_t address_ = 0;
};

/// Device memory for `size()` elements, from device::allocate. The destructor returns at once; the memory is freed when
/// all work is done that is on the device's streams at that moment. Destroy the buffer before the device's object.
template <class T>
class buffer {
public:
    static_assert(std::is_trivially_copyable_v<T>, "the GPU copies bytes");
    buffer() noexcept = default;
    /// Takes over memory of gpo_memory_allocate.
    buffer(gpo_device_t device, std::uint64_t address, std::uint64_t size) noexcept
        : device_(device), address_(address), size_(size) {}
    buffer(buffer&& other) noexcept
        : device_(other.device_), address_(std::exchange(other.address_, 0)), size_(std::exchange(other.size_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~buffer() {
        if (address_ != 0) static_cast<void>(gpo_memory_free(device_, address_));
    }

    device_ptr<T> get() const noexcept { return device_ptr<T>(address_); }
    operator device_ptr<T>() const noexcept { return get(); }
    std::uint64_t size() const noexcept { return size_; }
    /// The whole buffer, for gpo_buckets_options.restored.
    gpo_memory_range range() const noexcept {
        auto made = sized<gpo_memory_range>();
        made.address = address_;
        made.bytes = size_ * sizeof(T);
        return made;
    }
    /// For another process to import (device::import_memory).
    exported_bytes exported() const {
        exported_bytes bytes{};
        check(gpo_memory_export(device_, address_, bytes.data(), bytes.size(), nullptr));
        return bytes;
    }
    void swap(buffer& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(address_, other.address_);
        std::swap(size_, other.size_);
    }

private:
    gpo_device_t device_ = nullptr;
    std::uint64_t address_ = 0;
    std::uint64_t size_ = 0;
};

/// Pinned host memory for `size()` elements, from arena::allocate. The memory isn't cleared. Kernels reach it at the
/// same address. The destructor frees it at once, and no copy or kernel may be using it at that moment: wait before, or
/// call free_after. Destroy it before the arena's object.
template <class T>
class pinned {
public:
    static_assert(std::is_trivially_copyable_v<T>, "the GPU copies bytes");
    using value_type = T;
    pinned() noexcept = default;
    /// Takes over memory of gpo_arena_allocate.
    pinned(gpo_arena_t arena, T* data, std::size_t size) noexcept : arena_(arena), data_(data), size_(size) {}
    pinned(pinned&& other) noexcept
        : arena_(other.arena_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    pinned& operator=(pinned&& other) noexcept {
        pinned(std::move(other)).swap(*this);
        return *this;
    }
    ~pinned() {
        if (data_ != nullptr) static_cast<void>(gpo_arena_free(arena_, data_));
    }
    /// Frees the memory when all work that is on the stream now is done. This object is empty afterwards.
    void free_after(gpo_stream_t stream) {
        check(gpo_arena_free_after(arena_, data_, stream));
        data_ = nullptr;
        size_ = 0;
    }

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t index) const noexcept { return data_[index]; }
    void swap(pinned& other) noexcept {
        std::swap(arena_, other.arena_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

private:
    gpo_arena_t arena_ = nullptr;
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Pinned host memory that a graph template owns, from graph_template::allocate_host. Kernels reach it at the same
/// address.
template <class T>
class host_memory {
public:
    using value_type = T;
    host_memory() noexcept = default;
    host_memory(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

    T* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + size_; }
    T& operator[](std::size_t index) const noexcept { return data_[index]; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {

/// Size of `count` elements in bytes. A product that overflows becomes a size that the library refuses.
template <class T>
std::uint64_t bytes_of(std::uint64_t count) noexcept {
    return count > UINT64_MAX / sizeof(T) ? UINT64_MAX : count * sizeof(T);
}

}  // namespace detail

class arena : public owner<ref<gpo_arena_t>, gpo_arena_destroy> {
public:
    using owner::owner;

    template <class T>
    [[nodiscard]] pinned<T> allocate(std::size_t count) const {
        void* memory = nullptr;
        check(gpo_arena_allocate(get(), detail::bytes_of<T>(count), alignof(T) > 256 ? alignof(T) : GPO_AUTO, &memory));
        return pinned<T>(get(), static_cast<T*>(memory), count);
    }
    void trim(std::uint64_t keep_bytes) const { check(gpo_arena_trim(get(), keep_bytes)); }
    gpo_memory_statistics statistics() const { return detail::got(gpo_arena_get_statistics, get()); }
};

/// A pool of device memory in stream order. Its allocations have no owner: `free` frees them.
class pool : public owner<ref<gpo_pool_t>, gpo_pool_destroy> {
public:
    using owner::owner;

    template <class T>
    [[nodiscard]] device_ptr<T> allocate(gpo_stream_t stream, std::uint64_t count) const {
        std::uint64_t address = 0;
        check(gpo_pool_allocate(get(), stream, detail::bytes_of<T>(count), &address));
        return device_ptr<T>(address);
    }
    template <class T>
    void free(gpo_stream_t stream, device_ptr<T> piece) const {
        check(gpo_pool_free(get(), stream, piece.address()));
    }
    void trim(std::uint64_t keep_bytes) const { check(gpo_pool_trim(get(), keep_bytes)); }
    gpo_memory_statistics statistics() const { return detail::got(gpo_pool_get_statistics, get()); }
};

// --- streams ---

/// The calls of a stream, for a handle that this object doesn't own, such as the stream that a stage's callable gets.
class stream_ref : public ref<gpo_stream_t> {
public:
    using ref::ref;

    /// Whether all work that was put on the stream is done.
    bool query() const { return detail::done(gpo_stream_query(get()), GPO_NOT_READY); }
    void wait() const { check(gpo_stream_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_stream_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    gpo_stream_info info() const { return detail::got(gpo_stream_get_info, get()); }
    /// Returns how many operations were cancelled.
    std::uint64_t cancel_held() const {
        std::uint64_t count = 0;
        check(gpo_stream_cancel_held(get(), &count));
        return count;
    }

    void wait_event(gpo_event_t event) const { check(gpo_stream_wait_event(get(), event)); }
    void wait_stream(gpo_stream_t other) const { check(gpo_stream_wait_stream(get(), other)); }
    void wait_timeline(gpo_timeline_t timeline, std::uint64_t value) const {
        check(gpo_stream_wait_timeline(get(), timeline, value));
    }
    void signal_timeline(gpo_timeline_t timeline, std::uint64_t value) const {
        check(gpo_stream_signal_timeline(get(), timeline, value));
    }

    /// Copies all of a host container (a vector, an array, pinned memory). Pinned memory must stay unchanged until the
    /// copy is done. GPO_INVALID_ARGUMENT if the buffer is smaller.
    template <class T, class Host>
    void copy_to_device(const buffer<T>& destination, const Host& source) const {
        copy_to_device(destination.get(), std::data(source), std::size(source));
    }
    template <class T>
    void copy_to_device(device_ptr<T> destination, const T* source, std::uint64_t count) const {
        check(gpo_copy_to_device(get(), destination.address(), source, detail::bytes_of<T>(count)));
    }
    /// Fills all of a host container, which must stay until the copy is done. GPO_INVALID_ARGUMENT if the buffer is
    /// smaller.
    template <class Host, class T>
    void copy_to_host(Host& destination, const buffer<T>& source) const {
        copy_to_host(std::data(destination), source.get(), std::size(destination));
    }
    template <class T>
    void copy_to_host(T* destination, typename detail::given<device_ptr<const T>>::type source,
                      std::uint64_t count) const {
        check(gpo_copy_to_host(get(), destination, source.address(), detail::bytes_of<T>(count)));
    }
    template <class T>
    void copy_on_device(device_ptr<T> destination, typename detail::given<device_ptr<const T>>::type source,
                        std::uint64_t count) const {
        check(gpo_copy_on_device(get(), destination.address(), source.address(), detail::bytes_of<T>(count)));
    }
    /// Sets elements of 1, 2 or 4 bytes.
    template <class T>
    void fill(device_ptr<T> destination, typename detail::given<T>::type value, std::uint64_t count) const {
        static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4, "elements of 1, 2 or 4 bytes");
        using Half = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
        std::conditional_t<sizeof(T) == 4, std::uint32_t, Half> bits;
        std::memcpy(&bits, &value, sizeof bits);
        check(gpo_fill(get(), destination.address(), bits, sizeof bits, count));
    }
    template <class T>
    void fill(const buffer<T>& destination, typename detail::given<T>::type value) const {
        fill(destination.get(), value, destination.size());
    }

    void notify(gpo_cq_t queue, std::uint64_t user_data) const { check(gpo_stream_notify(get(), queue, user_data)); }
    /// False: the queue is full, and nothing comes.
    [[nodiscard]] bool try_notify(gpo_cq_t queue, std::uint64_t user_data) const {
        return detail::done(gpo_stream_notify(get(), queue, user_data), GPO_WOULD_BLOCK);
    }

    /// Calls `callable(gpo_status)` or `callable(const gpo_completion&, const gpo_error*)` on the executor, exactly
    /// once, when all work that is on the stream now is done or has failed. The callable is moved or copied into place,
    /// called as an rvalue, and destroyed by the thread that called it. If this function throws, the callable isn't
    /// called.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_stream_then, get(), executor));
    }
    /// False: the executor has no room, and the callable isn't called. A callable that was moved in is lost.
    template <class Callable>
    [[nodiscard]] bool try_then(gpo_executor_t executor, Callable&& callable) const {
        return detail::done(detail::hand_over(std::forward<Callable>(callable), gpo_stream_then, get(), executor),
                            GPO_WOULD_BLOCK);
    }

    /// Runs host code in the order of the stream. `callable()` runs if all before it has succeeded; otherwise it is
    /// destroyed without a call. `gpo_status callable(const gpo_host_call&)` runs in either case and asks the struct.
    /// An exception fails the stream; the failure's message has its text.
    template <class Callable>
    void host_call(gpo_executor_t executor, Callable&& callable) const {
        using Own = std::decay_t<Callable>;
        static_assert(std::is_invocable_v<Own> || std::is_invocable_r_v<gpo_status, Own, const gpo_host_call&>,
                      "host_call takes a callable with (), or with (const gpo_host_call&) that returns a gpo_status");
        auto own = std::make_unique<Own>(std::forward<Callable>(callable));
        check(gpo_stream_host_call(get(), executor, &detail::call_host<Own>, own.get()));
        static_cast<void>(own.release());
    }
};

class stream : public owner<stream_ref, gpo_stream_destroy> {
public:
    using owner::owner;
};

/// A stream from stream_pool::acquire. The destructor gives it back to the pool.
class pooled_stream : public stream_ref {
public:
    pooled_stream() noexcept = default;
    pooled_stream(gpo_stream_pool_t pool, gpo_stream_t lent) noexcept : stream_ref(lent), pool_(pool) {}
    pooled_stream(pooled_stream&& other) noexcept
        : stream_ref(std::exchange(other.handle_, nullptr)), pool_(other.pool_) {}
    pooled_stream& operator=(pooled_stream&& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(pool_, other.pool_);
        return *this;
    }
    ~pooled_stream() {
        if (handle_ != nullptr) static_cast<void>(gpo_stream_pool_release(pool_, handle_));
    }

private:
    gpo_stream_pool_t pool_ = nullptr;
};

class stream_pool : public owner<ref<gpo_stream_pool_t>, gpo_stream_pool_destroy> {
public:
    using owner::owner;

    [[nodiscard]] pooled_stream acquire(std::int32_t priority = 0) const {
        gpo_stream_t lent = nullptr;
        check(gpo_stream_pool_acquire(get(), priority, &lent));
        return pooled_stream(get(), lent);
    }
};

// --- kernels ---

/// The size of a grid in blocks, or of a block in threads. A single number is x.
struct dim3 {
    std::uint32_t x, y, z;
    constexpr dim3(std::uint32_t of_x, std::uint32_t of_y = 1, std::uint32_t of_z = 1) noexcept
        : x(of_x), y(of_y), z(of_z) {}
};

namespace detail {

/// The form in which a kernel gets an argument: the value itself, or the address of memory that the GPU reaches.
template <class T>
std::decay_t<T> kernel_argument(const T& value) noexcept {
    static_assert(!std::is_pointer_v<T> && !std::is_null_pointer_v<T> && !std::is_array_v<T>,
                  "a kernel can't follow a pointer of the host: pass a device_ptr, a buffer or pinned memory");
    static_assert(std::is_trivially_copyable_v<T>, "a kernel's arguments are copied as bytes");
    return value;
}
template <class T>
device_ptr<T> kernel_argument(const buffer<T>& memory) noexcept {
    return memory.get();
}
template <class T>
device_ptr<T> kernel_argument(const pinned<T>& memory) noexcept {
    return device_ptr<T>(reinterpret_cast<std::uintptr_t>(memory.data()));
}
template <class T>
device_ptr<T> kernel_argument(const host_memory<T>& memory) noexcept {
    return device_ptr<T>(reinterpret_cast<std::uintptr_t>(memory.data()));
}

}  // namespace detail

class kernel : public owner<ref<gpo_kernel_t>, gpo_kernel_destroy> {
public:
    using owner::owner;

    /// Puts the kernel on a stream. For a pointer pass a device_ptr, a buffer or pinned memory; pointers of the host
    /// don't compile. Any other argument is passed unchanged, trivially copyable and of the parameter's own type. The
    /// size is checked: an `int` for a `long long` is refused.
    template <class... Arguments>
    void launch(gpo_stream_t stream, dim3 grid, dim3 block, const Arguments&... arguments) const {
        gpo_launch how{};
        write(how.grid, grid);
        write(how.block, block);
        launch(stream, how, arguments...);
    }
    /// Launches with a gpuorch::launch or gpo_launch, which has shared memory, clusters, flags and a label. `Launch` is
    /// a template parameter so that braces always make a dim3.
    template <class Launch, class... Arguments, std::enable_if_t<std::is_convertible_v<Launch, gpo_launch>, int> = 0>
    void launch(gpo_stream_t stream, const Launch& given, const Arguments&... arguments) const {
        const gpo_launch how = sized<gpo_launch>(given);
        const auto values = std::make_tuple(detail::kernel_argument(arguments)...);
        std::apply(
            [&](const auto&... value) {
                const void* addresses[] = {static_cast<const void*>(std::addressof(value))..., nullptr};
                const std::uint32_t sizes[] = {static_cast<std::uint32_t>(sizeof value)..., 0};
                check(gpo_stream_launch_kernel(stream, get(), &how, addresses, sizes, sizeof...(value)));
            },
            values);
    }

    gpo_kernel_attributes attributes() const { return detail::got(gpo_kernel_get_attributes, get()); }

private:
    static void write(std::uint32_t (&to)[3], dim3 from) noexcept {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
    }
};

class module : public owner<ref<gpo_module_t>, gpo_module_destroy> {
public:
    using owner::owner;

    /// The kernel keeps the module: `device.compile(source).kernel("blur")`.
    [[nodiscard]] gpuorch::kernel kernel(const char* name) const {
        return detail::made<gpuorch::kernel>(gpo_module_get_kernel, get(), name);
    }
    /// The address of a __device__ or __constant__ variable, which is a T or an array of T. GPO_INVALID_ARGUMENT if the
    /// variable's size says otherwise.
    template <class T>
    [[nodiscard]] device_ptr<T> symbol(const char* name) const {
        std::uint64_t address = 0, bytes = 0;
        check(gpo_module_get_symbol(get(), name, &address, &bytes));
        if (bytes == 0 || bytes % sizeof(T) != 0) throw error(error::of_status(GPO_INVALID_ARGUMENT));
        return device_ptr<T>(address);
    }
};

/// The compiler's text from this thread's last device::compile or device::load.
inline std::string compile_log() {
    return detail::text(
        [](char* buffer, std::size_t room, std::size_t* needed) { return gpo_last_compile_log(buffer, room, needed); });
}

// --- graph templates ---

/// A value for a parameter, by its name or by its number: a number or struct of the parameter's size, a dim3 for a grid
/// or block, a device_ptr, a buffer or pinned memory. The setting refers to the name without copying it.
template <class T>
class setting {
public:
    template <class From>
    setting(const char* name, const From& value) : name_(name), value_(detail::kernel_argument(value)) {}
    template <class From>
    setting(std::uint32_t number, const From& value) : number_(number), value_(detail::kernel_argument(value)) {}

    /// The result refers to this object.
    gpo_setting raw() const noexcept {
        auto one = sized<gpo_setting>();
        one.name = name_;
        one.parameter = number_;
        one.value = std::addressof(value_);
        one.bytes = sizeof value_;
        return one;
    }

private:
    const char* name_ = nullptr;
    std::uint32_t number_ = 0;
    T value_;
};
template <class From>
setting(const char*, const From&) -> setting<decltype(detail::kernel_argument(std::declval<const From&>()))>;
template <class From>
setting(std::uint32_t, const From&) -> setting<decltype(detail::kernel_argument(std::declval<const From&>()))>;

/// A graph, from graph_template::create_graph. Each has its own values.
class graph : public owner<ref<gpo_graph_t>, gpo_graph_destroy> {
public:
    using owner::owner;

    /// Sets values for later launches, all or none: graph.set(setting("factor", 2.0f), setting("data", x)).
    template <class... T>
    void set(const setting<T>&... settings) const {
        static_assert(sizeof...(T) > 0, "set takes settings");
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        check(gpo_graph_set_all(get(), all.data(), sizeof all[0], all.size()));
    }
    template <class T>
    void set(const char* name, const T& value) const {
        const auto given = detail::kernel_argument(value);
        check(gpo_graph_set(get(), name, std::addressof(given), sizeof given));
    }
    /// For a parameter of kind GPO_PARAMETER_ENABLED.
    void enable(const char* name, bool enabled = true) const { set(name, std::uint32_t{enabled}); }
    /// The value that the next launch uses. GPO_INVALID_ARGUMENT if the parameter is of another size.
    template <class T>
    T value(const char* name) const {
        static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");
        T value{};
        check(gpo_graph_get(get(), name, std::addressof(value), sizeof value));
        return value;
    }

    /// Sets the values, for this launch and later ones, and launches.
    template <class... T>
    void launch(gpo_stream_t stream, const setting<T>&... settings) const {
        if constexpr (sizeof...(T) > 0) set(settings...);
        check(gpo_graph_launch(get(), stream));
    }
    void upload(gpo_stream_t stream) const { check(gpo_graph_upload(get(), stream)); }
    /// Brings the graph to the template's newest recording, and says how.
    gpo_graph_update_report update() const { return detail::got(gpo_graph_update, get()); }
};

/// Argument of graph_template::record's callable: names parameters of the recorded nodes.
class recording {
public:
    recording(gpo_template_t recorded, gpo_stream_t stream) noexcept : template_(recorded), stream_(stream) {}

    /// The node that was recorded last on the stream that the recording began on, or on another.
    std::uint32_t last_node() const { return last_node(stream_); }
    std::uint32_t last_node(gpo_stream_t stream) const {
        std::uint32_t node = 0;
        check(gpo_template_get_last_node(template_, stream, &node));
        return node;
    }
    /// Later work on the stream comes after this node.
    void set_last_node(std::uint32_t node) const { set_last_node(stream_, node); }
    void set_last_node(gpo_stream_t stream, std::uint32_t node) const {
        check(gpo_template_set_last_node(template_, stream, node));
    }
    /// Names something of the last node (GPO_PARAMETER_*).
    void parameter(const char* name, std::uint32_t what, std::uint32_t index = 0) const {
        check(gpo_template_add_parameter(template_, name, last_node(), what, index));
    }
    /// An argument of the last node, a kernel.
    void argument(const char* name, std::uint32_t index) const { parameter(name, GPO_PARAMETER_ARGUMENT, index); }

private:
    gpo_template_t template_;
    gpo_stream_t stream_;
};

/// A node that allocates, from graph_template::add_allocation.
template <class T>
struct allocation {
    std::uint32_t node = 0;
    device_ptr<T> memory;
};

class graph_template : public owner<ref<gpo_template_t>, gpo_template_destroy> {
public:
    using owner::owner;

    /// Records what `callable()` or `callable(recording)` puts on the stream. The recording ends when the callable
    /// returns. If an exception leaves the callable, the recording is discarded, and the template stays what it was.
    template <class Callable>
    void record(gpo_stream_t stream, Callable&& callable) const {
        using Own = std::decay_t<Callable>;
        static_assert(std::is_invocable_v<Own&, recording> || std::is_invocable_v<Own&>,
                      "record takes a callable with (), or with (gpuorch::recording)");
        check(gpo_template_begin(get(), stream));
        try {
            if constexpr (std::is_invocable_v<Own&, recording>)
                callable(recording(get(), stream));
            else
                callable();
        } catch (...) {
            static_cast<void>(gpo_template_cancel(get()));
            throw;
        }
        check(gpo_template_end(get()));
    }

    /// Names something of a node (GPO_PARAMETER_*).
    void parameter(const char* name, std::uint32_t node, std::uint32_t what, std::uint32_t index = 0) const {
        check(gpo_template_add_parameter(get(), name, node, what, index));
    }
    /// Number by which a setting finds the parameter faster than by its name.
    std::uint32_t parameter_number(const char* name) const {
        std::uint32_t number = 0;
        check(gpo_template_get_parameter(get(), name, &number, nullptr));
        return number;
    }
    std::uint32_t find_node(const char* label) const {
        std::uint32_t node = 0;
        check(gpo_template_find_node(get(), label, &node));
        return node;
    }
    void clear() const { check(gpo_template_clear(get())); }

    /// Device memory for `count` elements: it lives as long as the template, its graphs and their launches.
    template <class T>
    [[nodiscard]] device_ptr<T> allocate(std::uint64_t count) const {
        std::uint64_t address = 0;
        check(gpo_template_allocate(get(), detail::bytes_of<T>(count), &address));
        return device_ptr<T>(address);
    }
    /// Pinned host memory with the same lifetime, which isn't cleared.
    template <class T>
    [[nodiscard]] host_memory<T> allocate_host(std::size_t count) const {
        static_assert(std::is_trivially_copyable_v<T>, "the GPU copies bytes");
        void* memory = nullptr;
        check(gpo_template_allocate_host(get(), detail::bytes_of<T>(count), &memory));
        return host_memory<T>(static_cast<T*>(memory), count);
    }
    /// Device memory that exists while a graph runs, from this node to the node of add_free.
    template <class T>
    [[nodiscard]] allocation<T> add_allocation(std::uint64_t count,
                                               const std::vector<std::uint32_t>& after = {}) const {
        std::uint64_t address = 0;
        allocation<T> made;
        check(gpo_template_add_allocation(get(), after.data(), static_cast<std::uint32_t>(after.size()),
                                          detail::bytes_of<T>(count), &address, &made.node));
        made.memory = device_ptr<T>(address);
        return made;
    }
    /// `after`: all nodes that use the memory are before these.
    template <class T>
    std::uint32_t add_free(device_ptr<T> memory, const std::vector<std::uint32_t>& after) const {
        std::uint32_t node = 0;
        check(gpo_template_add_free(get(), after.data(), static_cast<std::uint32_t>(after.size()), memory.address(),
                                    &node));
        return node;
    }

    template <class Options = graph_options>
    [[nodiscard]] graph create_graph(const Options& options = {}) const {
        return detail::made<graph>(gpo_graph_create, get(), detail::with_size<gpo_graph_options>(options));
    }
    /// Launches a graph of the template's own, one for each stream, with these values and those recorded for all other
    /// parameters.
    template <class... T>
    void launch(gpo_stream_t stream, const setting<T>&... settings) const {
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        check(gpo_template_launch(get(), stream, all.data(), sizeof(gpo_setting), all.size()));
    }
    void prepare(std::uint32_t count, gpo_stream_t stream) const { check(gpo_template_prepare(get(), count, stream)); }
    gpo_template_statistics statistics() const { return detail::got(gpo_template_get_statistics, get()); }
    /// Drawn as GPO_PICTURE_SVG or GPO_PICTURE_DOT.
    std::string picture(std::uint32_t format = GPO_PICTURE_SVG) const {
        return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
            return gpo_template_get_picture(get(), format, buffer, room, needed);
        });
    }
};

// --- shape buckets ---

/// The work that a callable of buckets puts on its stream. Valid during the call.
class bucket_work {
public:
    bucket_work(const gpo_bucket_work& work, gpo_stream_t stream) noexcept : raw_(work), stream_(stream) {}

    /// Elements of the request.
    std::uint64_t size() const noexcept { return raw_.size; }
    /// Elements that the work is for.
    std::uint64_t shape() const noexcept { return raw_.shape; }
    /// Why the callable is called: GPO_BUCKET_*; 0 if the library is older than that.
    std::uint32_t phase() const noexcept {
        return raw_.struct_size > offsetof(gpo_bucket_work, phase) ? raw_.phase : 0;
    }
    const gpo_bucket_work& raw() const noexcept { return raw_; }

    /// The request's value for the parameter of this name; `otherwise` if the request sets none, and without a request.
    /// Throws GPO_INVALID_ARGUMENT for a setting of another size.
    template <class T>
    auto value(const char* name, const T& otherwise) const {
        auto value = detail::kernel_argument(otherwise);
        for (std::uint64_t i = 0; i < raw_.setting_count; ++i) {
            const gpo_setting& given = setting(i);
            if (given.name == nullptr || std::strcmp(given.name, name) != 0) continue;
            if (given.bytes != sizeof value) throw error(error::of_status(GPO_INVALID_ARGUMENT));
            std::memcpy(static_cast<void*>(std::addressof(value)), given.value, sizeof value);
        }
        return value;
    }

    /// For the callable that records. Names something of the node that was recorded last (GPO_PARAMETER_*). Does
    /// nothing when the work runs.
    void parameter(const char* name, std::uint32_t what, std::uint32_t index = 0) const {
        if (raw_.graph_template != nullptr) recording(raw_.graph_template, stream_).parameter(name, what, index);
    }
    /// An argument of that node, a kernel.
    void argument(const char* name, std::uint32_t index) const { parameter(name, GPO_PARAMETER_ARGUMENT, index); }

private:
    const gpo_setting& setting(std::uint64_t index) const noexcept {
        const auto* bytes = reinterpret_cast<const unsigned char*>(raw_.settings);
        return *reinterpret_cast<const gpo_setting*>(bytes + index * raw_.setting_stride);
    }

    const gpo_bucket_work& raw_;
    gpo_stream_t stream_;
};

/// A template for each shape of a table, from device::create_buckets. The callables are destroyed with the object,
/// which may be destroyed in its own callables.
class buckets : public owner<ref<gpo_buckets_t>, gpo_buckets_destroy> {
public:
    using owner::owner;

    /// The callables are leaked: the handle needs them.
    gpo_buckets_t release() noexcept {
        if (auto* leaked = callables_.get()) leaked->itself = std::move(callables_);
        return owner::release();
    }

    /// Runs a request of `size` elements with these values. Returns the shape of its bucket; 0: it ran eagerly.
    template <class... T>
    std::uint64_t launch(gpo_stream_t stream, std::uint64_t size, const setting<T>&... settings) const {
        const auto stay = callables_;
        const std::array<gpo_setting, sizeof...(T)> all{settings.raw()...};
        std::uint64_t shape = 0;
        check(gpo_buckets_launch(get(), stream, size, all.data(), sizeof(gpo_setting), all.size(), &shape));
        return shape;
    }
    void prepare(gpo_stream_t stream) const {
        const auto stay = callables_;
        check(gpo_buckets_prepare(get(), stream));
    }
    gpo_buckets_statistics statistics() const { return detail::got(gpo_buckets_get_statistics, get()); }

private:
    friend class device;
    struct callables {
        std::shared_ptr<callables> itself;  // keeps leaked callables alive
    };
    template <class Record, class Pad>
    struct callables_of : callables {
        callables_of(Record&& to_record, Pad&& to_pad) : record(std::move(to_record)), pad(std::move(to_pad)) {}
        static gpo_status call_record(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            static_cast<callables_of*>(user)->record(stream_ref(stream), bucket_work(*work, stream));
            return GPO_SUCCESS;
        }
        static gpo_status call_pad(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            static_cast<callables_of*>(user)->pad(stream_ref(stream), bucket_work(*work, stream));
            return GPO_SUCCESS;
        }
        Record record;
        Pad pad;
    };
    struct no_pad {};

    template <class Record, class Pad>
    static buckets create(gpo_device_t device, const std::vector<std::uint64_t>& shapes, Record record, Pad pad,
                          gpo_buckets_options options) {
        using Own = callables_of<Record, Pad>;
        constexpr bool pads = !std::is_same_v<Pad, no_pad>;
        static_assert(std::is_invocable_v<Record&, stream_ref, const bucket_work&> &&
                          (!pads || std::is_invocable_v<Pad&, stream_ref, const bucket_work&>),
                      "buckets take callables with (gpuorch::stream_ref, const gpuorch::bucket_work&)");
        const auto own = std::make_shared<Own>(std::move(record), std::move(pad));
        options.shapes = shapes.data();
        options.shape_count = shapes.size();
        options.record = &Own::call_record;
        if constexpr (pads) options.pad = &Own::call_pad;
        options.user = own.get();
        auto made = detail::made<buckets>(gpo_buckets_create, device, detail::with_size<gpo_buckets_options>(options));
        made.callables_ = own;
        return made;
    }

    std::shared_ptr<callables> callables_;
};

// --- device queues ---

/// A queue as a kernel's argument: gpo::range, gpo::ring or gpo::host_ring of gpuorch/device/queue.cuh.
template <std::size_t Bytes>
struct queue_argument {
    std::uint64_t words[Bytes / sizeof(std::uint64_t)];
};
using range_argument = queue_argument<64>;
using ring_argument = queue_argument<96>;
using host_ring_argument = queue_argument<192>;

/// Pushed and posted tasks (T) have task_size bytes, answers (A) have answer_size bytes.
class queue : public owner<ref<gpo_queue_t>, gpo_queue_destroy> {
public:
    using owner::owner;

    /// For a queue of kind GPO_QUEUE_RANGE. Read the range again after the first set_costs().
    range_argument range() const { return argument<64>(); }
    ring_argument ring() const { return argument<96>(); }
    host_ring_argument host_ring() const { return argument<192>(); }

    void set_costs(gpo_stream_t stream, const std::vector<float>& costs) const {
        check(gpo_queue_set_costs(get(), stream, costs.data(), costs.size()));
    }
    /// The numbers come in their own order again.
    void forget_costs(gpo_stream_t stream) const { check(gpo_queue_set_costs(get(), stream, nullptr, 0)); }
    template <class T>
    void push(gpo_stream_t stream, const T* tasks, std::uint64_t count, std::uint32_t priority = 0) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        check(gpo_queue_push(get(), stream, tasks, count, priority));
    }
    /// gpo_queue_reset.
    void restart(gpo_stream_t stream) const { check(gpo_queue_reset(get(), stream)); }

    template <class Options = tenant_options>
    void set_tenant(std::uint32_t tenant, const Options& options) const {
        check(gpo_queue_set_tenant(get(), tenant, detail::with_size<gpo_tenant_options>(options)));
    }
    /// Returns how many were posted, from the first on: 0 if there is no room.
    template <class T>
    std::uint64_t try_post(std::uint32_t tenant, const T* tasks, std::uint64_t count, std::uint64_t user_data) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        std::uint64_t posted = 0;
        static_cast<void>(
            detail::done(gpo_queue_post(get(), tenant, tasks, count, user_data, &posted), GPO_WOULD_BLOCK));
        return posted;
    }
    /// One task. Throws GPO_WOULD_BLOCK if there is no room.
    template <class T>
    void post(std::uint32_t tenant, const T& task, std::uint64_t user_data) const {
        static_assert(std::is_trivially_copyable_v<T>, "tasks are copied as bytes");
        std::uint64_t posted = 0;
        check(gpo_queue_post(get(), tenant, &task, 1, user_data, &posted));
    }
    /// Returns how many answers were taken, 0 if there was none. `answers` may be NULL.
    template <class A>
    std::uint64_t take(std::uint32_t tenant, gpo_answer* entries, A* answers, std::uint64_t capacity) const {
        std::uint64_t count = 0;
        check(gpo_queue_take(get(), tenant, entries, sizeof *entries, answers, capacity, &count));
        return count;
    }
    /// Throws GPO_END if no answer will come any more.
    void wait(std::uint32_t tenant) const { check(gpo_queue_wait(get(), tenant, -1)); }
    /// False: the time has passed first.
    bool wait(std::uint32_t tenant, std::chrono::nanoseconds time) const {
        return detail::done(gpo_queue_wait(get(), tenant, detail::timeout(time)), GPO_TIMEOUT);
    }

    void close() const { check(gpo_queue_close(get())); }
    void abort() const { check(gpo_queue_abort(get())); }
    gpo_queue_info info() const { return detail::got(gpo_queue_get_info, get()); }

private:
    template <std::size_t Bytes>
    queue_argument<Bytes> argument() const {
        queue_argument<Bytes> out{};
        std::size_t needed = 0;
        check(gpo_queue_get_device_handle(get(), out.words, sizeof out.words, &needed));
        if (needed != Bytes) throw error(wrong_kind());
        return out;
    }
    static gpo_error wrong_kind() noexcept { return error::of_status(GPO_NOT_SUPPORTED); }
};

// --- schedulers ---

/// From device::create_scheduler.
class scheduler : public owner<ref<gpo_scheduler_t>, gpo_scheduler_destroy> {
public:
    using owner::owner;

    void start() const { check(gpo_scheduler_start(get())); }
    /// Throws GPO_CANCELLED if the run has ended with tasks left.
    void drain() const { check(gpo_scheduler_drain(get(), -1)); }
    /// False: the time has passed first, and the run still drains. `stop` and `wait` with a time return false in the
    /// same way.
    bool drain(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_drain(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    void stop() const { check(gpo_scheduler_stop(get(), -1)); }
    bool stop(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_stop(get(), detail::timeout(time)), GPO_TIMEOUT);
    }
    /// Waits until the run has ended by itself.
    void wait() const { check(gpo_scheduler_wait(get(), -1)); }
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_scheduler_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    gpo_scheduler_info info() const { return detail::got(gpo_scheduler_get_info, get()); }
    gpo_handler_info handler(std::uint32_t number) const {
        gpo_handler_info info{};
        info.struct_size = sizeof info;
        check(gpo_scheduler_get_handler(get(), number, &info));
        return info;
    }
    std::vector<gpo_scheduler_block> blocks() const {
        return all(gpo_scheduler_get_blocks, static_cast<std::size_t>(info().blocks));
    }
    std::vector<gpo_depth_sample> samples() const { return all(gpo_scheduler_get_samples, 1024); }
    /// The first errors, as many as are stored.
    std::vector<gpo_task_error> errors() const { return all(gpo_scheduler_get_errors, 4096); }

private:
    template <class T>
    std::vector<T> all(gpo_status (*read)(gpo_scheduler_t, T*, std::uint64_t, std::uint64_t, std::uint64_t*),
                       std::size_t most) const {
        std::vector<T> out(most);
        std::uint64_t count = 0;
        check(read(get(), out.data(), sizeof(T), most, &count));
        out.resize(static_cast<std::size_t>(count));
        return out;
    }
};

// --- groups of devices ---

/// A rank's part in a collective: a stream of the rank's device, and the addresses of the sent and received data.
struct rank_buffers {
    gpo_stream_t stream;
    std::uint64_t send, receive;
};

/// From create, or from split or join.
class peers : public owner<ref<gpo_peers_t>, gpo_peers_destroy> {
public:
    using owner::owner;

    /// The device at place r has rank r.
    template <class Options = peers_options>
    static peers create(const std::vector<gpo_device_t>& devices, const Options& options = {}) {
        return detail::made<peers>(gpo_peers_create, devices.data(), static_cast<std::uint32_t>(devices.size()),
                                   detail::with_size<gpo_peers_options>(options));
    }
    /// This process's rank in a group of several processes; each process calls this function.
    template <class Options = join_options>
    static peers join(gpo_device_t device, const Options& options) {
        return detail::made<peers>(gpo_peers_join, device, detail::with_size<gpo_join_options>(options));
    }
    template <class Options = peers_options>
    peers split(const std::vector<std::uint32_t>& ranks, const Options& options = {}) const {
        return detail::made<peers>(gpo_peers_split, get(), ranks.data(), static_cast<std::uint32_t>(ranks.size()),
                                   detail::with_size<gpo_peers_options>(options));
    }
    gpo_peers_info info() const { return detail::got(gpo_peers_get_info, get()); }
    gpo_peer_properties link(std::uint32_t from, std::uint32_t to) const {
        gpo_peer_properties out{};
        out.struct_size = sizeof out;
        check(gpo_peers_get_link(get(), from, to, &out));
        return out;
    }
    /// Ends the waits for other processes.
    void abort() const { check(gpo_peers_abort(get())); }

    void all_reduce(std::uint32_t type, std::uint32_t reduction, std::uint64_t count,
                    const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_REDUCE, type, count, reduction), ranks);
    }
    void reduce(std::uint32_t type, std::uint32_t reduction, std::uint64_t count, std::uint32_t root,
                const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_REDUCE, type, count, reduction, root), ranks);
    }
    void reduce_scatter(std::uint32_t type, std::uint32_t reduction, std::uint64_t count,
                        const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_REDUCE_SCATTER, type, count, reduction), ranks);
    }
    void broadcast(std::uint32_t type, std::uint64_t count, std::uint32_t root,
                   const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_BROADCAST, type, count, 0, root), ranks);
    }
    void all_gather(std::uint32_t type, std::uint64_t count, const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_GATHER, type, count), ranks);
    }
    void all_to_all(std::uint32_t type, std::uint64_t count, const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_TO_ALL, type, count), ranks);
    }
    /// A barrier ignores the buffers.
    void barrier(const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_BARRIER, 0, 0), ranks);
    }
    /// Any collective.
    template <class Collective = gpuorch::collective>
    void submit(const Collective& what, const std::vector<gpo_rank_part>& parts) const {
        check(gpo_peers_submit(get(), detail::with_size<gpo_collective>(what), parts.data(), sizeof(gpo_rank_part),
                               static_cast<std::uint32_t>(parts.size())));
    }

private:
    static gpo_collective collective(std::uint32_t kind, std::uint32_t type, std::uint64_t count,
                                     std::uint32_t reduction = 0, std::uint32_t root = 0) noexcept {
        gpo_collective out{};
        out.kind = kind;
        out.type = type;
        out.count = count;
        out.reduction = reduction;
        out.root = root;
        return out;
    }
    void submit_to(const gpo_collective& what, const std::vector<rank_buffers>& ranks) const {
        std::vector<gpo_rank_part> parts;
        for (const rank_buffers& rank : ranks) {
            gpo_rank_part part{};
            part.struct_size = sizeof part;
            part.stream = rank.stream;
            part.send = rank.send;
            part.receive = rank.receive;
            parts.push_back(part);
        }
        submit(what, parts);
    }
};

// --- pipelines ---

/// Arguments of a stage's kernel that differ from chunk to chunk.
namespace chunk {

struct part {
    std::uint32_t kind;  // GPO_STAGE_*
};
inline constexpr part input{GPO_ARGUMENT_INPUT};  // device addresses
inline constexpr part output{GPO_ARGUMENT_OUTPUT};
inline constexpr part scratch{GPO_ARGUMENT_SCRATCH};
inline constexpr part result{GPO_ARGUMENT_RESULT};
inline constexpr part input_bytes{GPO_ARGUMENT_INPUT_BYTES};  // uint64_t
inline constexpr part output_bytes{GPO_ARGUMENT_OUTPUT_BYTES};
inline constexpr part index{GPO_ARGUMENT_INDEX};
inline constexpr part offset{GPO_ARGUMENT_OFFSET};

}  // namespace chunk

/// An argument of a stage's kernel that differs between the pipeline's devices: per_device(tables), with a container
/// that has an element for each device.
template <class T>
struct device_values {
    std::vector<T> values;
};
template <class Container>
[[nodiscard]] auto per_device(const Container& values) {
    using T = std::decay_t<decltype(detail::kernel_argument(*std::begin(values)))>;
    device_values<T> out;
    for (const auto& value : values) out.values.push_back(detail::kernel_argument(value));
    return out;
}

/// A stage of a pipeline, from kernel_stage or callback_stage. Copies share the callable.
class stage {
public:
    stage& block(dim3 threads) { return set(raw_.block, threads); }
    /// Give the grid, or the bytes of input for each block; the grid is computed from those.
    stage& grid(dim3 blocks) { return set(raw_.grid, blocks); }
    stage& bytes_per_block(std::uint64_t bytes) { return raw_.bytes_per_block = bytes, *this; }
    stage& max_blocks(std::uint32_t blocks) { return raw_.max_blocks = blocks, *this; }
    stage& dynamic_shared_bytes(std::uint64_t bytes) { return raw_.dynamic_shared_bytes = bytes, *this; }
    stage& label(std::string text) { return label_ = std::move(text), *this; }

private:
    friend class device;
    friend class pipeline;
    template <class... Arguments>
    friend stage kernel_stage(gpo_kernel_t kernel, const Arguments&... arguments);
    template <class... Arguments>
    friend stage kernel_stage(std::vector<gpo_kernel_t> kernels, const Arguments&... arguments);
    template <class Callable>
    friend stage callback_stage(Callable&& callable);

    struct argument {
        std::uint32_t kind;
        std::vector<unsigned char> value;
        std::size_t bytes = value.size();   // of one device
    };
    stage() = default;
    stage& set(std::uint32_t (&to)[3], dim3 from) {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
        return *this;
    }
    void add(chunk::part part) { arguments_.push_back({part.kind, {}}); }
    template <class T>
    void add(const T& value) {
        const auto given = detail::kernel_argument(value);
        const auto bytes = reinterpret_cast<const unsigned char*>(std::addressof(given));
        arguments_.push_back({GPO_ARGUMENT_VALUE, {bytes, bytes + sizeof given}});
    }
    template <class T>
    void add(const device_values<T>& given) {
        const auto bytes = reinterpret_cast<const unsigned char*>(given.values.data());
        arguments_.push_back({GPO_ARGUMENT_DEVICE_VALUE, {bytes, bytes + given.values.size() * sizeof(T)}, sizeof(T)});
    }

    gpo_stage raw_{};  // its pointers are written when the pipeline is created
    std::vector<argument> arguments_;
    std::vector<gpo_kernel_t> kernels_;
    std::shared_ptr<void> callable_;
    std::string label_;
};

/// A kernel that runs for each chunk. Its arguments may be those of kernel::launch, and values of namespace chunk:
///     kernel_stage(blur, chunk::input, chunk::output, chunk::input_bytes, 0.5f).block(256).bytes_per_block(65536)
template <class... Arguments>
[[nodiscard]] stage kernel_stage(gpo_kernel_t kernel, const Arguments&... arguments) {
    stage made;
    made.raw_.kind = GPO_STAGE_KERNEL;
    made.raw_.kernel = kernel;
    (made.add(arguments), ...);
    return made;
}

/// For a pipeline over several devices: a kernel for each device, in the order of gpo_pipeline_options.devices.
///     kernel_stage({blur_here, blur_there}, chunk::input, chunk::output, per_device(tables))
template <class... Arguments>
[[nodiscard]] stage kernel_stage(std::vector<gpo_kernel_t> kernels, const Arguments&... arguments) {
    stage made = kernel_stage(gpo_kernel_t{}, arguments...);
    made.kernels_ = std::move(kernels);
    return made;
}

/// `callable(stream_ref, const gpo_chunk&)` puts the stage's work for a chunk on the stream. An exception ends the run.
template <class Callable>
[[nodiscard]] stage callback_stage(Callable&& callable) {
    using Own = std::decay_t<Callable>;
    auto own = std::make_shared<Own>(std::forward<Callable>(callable));
    stage made;
    made.raw_.kind = GPO_STAGE_CALLBACK;
    made.raw_.user = own.get();
    made.raw_.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk* chunk) -> gpo_status {
        (*static_cast<Own*>(user))(stream_ref(stream), *chunk);
        return GPO_SUCCESS;
    };
    made.callable_ = std::move(own);
    return made;
}

/// The input of a run: from_file, from_descriptor, from_memory or from_callable. Copies share the callable.
class source {
public:
    /// Files: where to begin, and how much to read at most.
    source& offset(std::uint64_t bytes) { return raw_.offset = bytes, *this; }
    source& bytes(std::uint64_t most) { return raw_.bytes = most, *this; }
    /// Files: a change while the file is read ends the run (GPO_SOURCE_UNCHANGED).
    source& unchanged() { return raw_.flags |= GPO_SOURCE_UNCHANGED, *this; }

private:
    friend class pipeline;
    friend source from_file(std::string path);
    friend source from_descriptor(int descriptor);
    friend source from_memory(const void* memory, std::uint64_t bytes);
    template <class Callable>
    friend source from_callable(Callable&& callable);
    source() = default;

    gpo_source raw_{};
    std::optional<std::string> path_;
    std::shared_ptr<void> callable_;
};

[[nodiscard]] inline source from_file(std::string path) {
    source made;
    made.raw_.kind = GPO_SOURCE_FILE;
    made.path_ = std::move(path);
    return made;
}
/// The descriptor is read and not closed.
[[nodiscard]] inline source from_descriptor(int descriptor) {
    source made;
    made.raw_.kind = GPO_SOURCE_FILE;
    made.raw_.flags = GPO_SOURCE_USE_DESCRIPTOR;
    made.raw_.descriptor = descriptor;
    return made;
}
/// The memory must stay until the run has ended.
[[nodiscard]] inline source from_memory(const void* memory, std::uint64_t bytes) {
    source made;
    made.raw_.kind = GPO_SOURCE_MEMORY;
    made.raw_.memory = memory;
    made.raw_.bytes = bytes;
    return made;
}
/// A container, an array, pinned memory.
template <class Host>
[[nodiscard]] source from_memory(const Host& memory) {
    static_assert(std::is_trivially_copyable_v<std::remove_pointer_t<decltype(std::data(memory))>>,
                  "the GPU copies bytes");
    return from_memory(std::data(memory), std::size(memory) * sizeof *std::data(memory));
}
/// `std::size_t callable(void* buffer, std::size_t capacity)` writes to the buffer and returns how many bytes; 0 is the
/// end. An exception ends the run.
template <class Callable>
[[nodiscard]] source from_callable(Callable&& callable) {
    using Own = std::decay_t<Callable>;
    auto own = std::make_shared<Own>(std::forward<Callable>(callable));
    source made;
    made.raw_.kind = GPO_SOURCE_CALLBACK;
    made.raw_.user = own.get();
    made.raw_.fill = [](void* user, void* buffer, std::uint64_t capacity, std::uint64_t* bytes) -> gpo_status {
        *bytes = (*static_cast<Own*>(user))(buffer, static_cast<std::size_t>(capacity));
        return *bytes != 0 ? GPO_SUCCESS : GPO_END;
    };
    made.callable_ = std::move(own);
    return made;
}

/// The output of a run: to_file, to_descriptor, to_memory, to_callable or to_nothing. Copies share the callable.
class sink {
public:
    /// Calls `callable(const gpo_chunk&)` for each chunk, in order, once it is written. The callable returns nothing or
    /// a gpo_status; GPO_END ends the run as a success. An exception ends it too.
    template <class Callable>
    sink& take(Callable&& callable) {
        using Own = std::decay_t<Callable>;
        auto own = std::make_shared<Own>(std::forward<Callable>(callable));
        raw_.user = own.get();
        raw_.take = [](void* user, const gpo_chunk* chunk) -> gpo_status {
            Own& take = *static_cast<Own*>(user);
            if constexpr (std::is_invocable_r_v<gpo_status, Own&, const gpo_chunk&>)
                return take(*chunk);
            else
                take(*chunk);
            return GPO_SUCCESS;
        };
        callable_ = std::move(own);
        return *this;
    }

private:
    friend class pipeline;
    friend sink to_file(std::string path);
    friend sink to_descriptor(int descriptor);
    friend sink to_memory(void* memory, std::uint64_t bytes);
    friend sink to_nothing();
    template <class Callable>
    friend sink to_callable(Callable&& callable);
    sink() = default;

    gpo_sink raw_{};
    std::optional<std::string> path_;
    std::shared_ptr<void> callable_;
};

[[nodiscard]] inline sink to_file(std::string path) {
    sink made;
    made.raw_.kind = GPO_SINK_FILE;
    made.path_ = std::move(path);
    return made;
}
/// The descriptor is written and not closed.
[[nodiscard]] inline sink to_descriptor(int descriptor) {
    sink made;
    made.raw_.kind = GPO_SINK_FILE;
    made.raw_.flags = GPO_SINK_USE_DESCRIPTOR;
    made.raw_.descriptor = descriptor;
    return made;
}
/// The memory must stay until the run has ended.
[[nodiscard]] inline sink to_memory(void* memory, std::uint64_t bytes) {
    sink made;
    made.raw_.kind = GPO_SINK_MEMORY;
    made.raw_.memory = memory;
    made.raw_.bytes = bytes;
    return made;
}
/// A container, an array, pinned memory: output that doesn't fit is GPO_LIMIT_EXCEEDED.
template <class Host>
[[nodiscard]] sink to_memory(Host& memory) {
    static_assert(std::is_trivially_copyable_v<std::remove_pointer_t<decltype(std::data(memory))>>,
                  "the GPU copies bytes");
    return to_memory(std::data(memory), std::size(memory) * sizeof *std::data(memory));
}
/// The output isn't copied out. With `take` the callable sees the results.
[[nodiscard]] inline sink to_nothing() { return {}; }
/// The output goes to the callable alone: see sink::take.
template <class Callable>
[[nodiscard]] sink to_callable(Callable&& callable) {
    sink made;
    made.raw_.kind = GPO_SINK_CALLBACK;
    made.take(std::forward<Callable>(callable));
    return made;
}

/// A pipeline and the callables of its stages and its newest run. The destructor cancels a run and waits for its end:
/// no callable is called afterwards. In a callback of the same pipeline the destructor can't wait, and the callables
/// are leaked.
class pipeline {
public:
    using handle_type = gpo_pipeline_t;
    pipeline() noexcept = default;
    explicit pipeline(gpo_pipeline_t adopted) noexcept : handle_(adopted) {}
    pipeline(pipeline&& other) noexcept = default;
    pipeline& operator=(pipeline&& other) noexcept {
        if (this == &other) return *this;
        end();
        handle_ = std::move(other.handle_);
        executor_ = other.executor_;
        callables_ = std::move(other.callables_);
        return *this;
    }
    ~pipeline() { end(); }

    gpo_pipeline_t get() const noexcept { return handle_.get(); }
    operator gpo_pipeline_t() const& noexcept { return get(); }
    operator gpo_pipeline_t() && = delete;
    explicit operator bool() const noexcept { return get() != nullptr; }
    /// The callables are leaked: the handle needs them.
    gpo_pipeline_t release() noexcept {
        static_cast<void>(callables_.release());
        return handle_.release();
    }

    /// Starts a run: pipeline.start(from_file("in"), to_file("out")). The callables of source and sink stay until the
    /// next run.
    void start(source from, sink to) {
        from.raw_ = sized(from.raw_);
        from.raw_.path = from.path_ ? from.path_->c_str() : nullptr;
        to.raw_ = sized(to.raw_);
        to.raw_.path = to.path_ ? to.path_->c_str() : nullptr;
        if (callables_ == nullptr) callables_ = std::make_unique<callables>();
        check(gpo_pipeline_start(get(), &from.raw_, &to.raw_));
        callables_->source = std::move(from.callable_);  // the run that used the old one has ended
        callables_->sink = std::move(to.callable_);
    }
    /// Waits for the run's end. Throws the run's failure.
    gpo_pipeline_result wait() const {
        auto result = sized<gpo_pipeline_result>();
        check(gpo_pipeline_wait(get(), -1, &result));
        return result;
    }
    /// Empty: the time has passed first.
    std::optional<gpo_pipeline_result> wait(std::chrono::nanoseconds time) const {
        auto result = sized<gpo_pipeline_result>();
        if (!detail::done(gpo_pipeline_wait(get(), detail::timeout(time), &result), GPO_TIMEOUT)) return std::nullopt;
        return result;
    }
    /// Waits for the run's end. Meanwhile `callable(const gpo_pipeline_progress&)` is called on this thread, once per
    /// `interval`. The callable may cancel the run.
    template <class Callable>
    gpo_pipeline_result wait(std::chrono::nanoseconds interval, Callable&& callable) const {
        for (;;) {
            if (const auto result = wait(interval)) return *result;
            callable(progress());
        }
    }
    /// Starts a run and waits for its end.
    gpo_pipeline_result run(source from, sink to) {
        start(std::move(from), std::move(to));
        return wait();
    }
    void cancel() const { check(gpo_pipeline_cancel(get())); }
    gpo_pipeline_progress progress() const { return detail::got(gpo_pipeline_get_progress, get()); }
    /// A device's share of the run that ended last.
    gpo_pipeline_share share(std::uint32_t device) const {
        auto out = sized<gpo_pipeline_share>();
        check(gpo_pipeline_get_share(get(), device, &out));
        return out;
    }
    void notify(gpo_cq_t queue, std::uint64_t user_data) const { check(gpo_pipeline_notify(get(), queue, user_data)); }
    /// When the run has ended. See stream_ref::then.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_pipeline_then, get(), executor));
    }

private:
    friend class device;
    struct callables {
        std::vector<std::shared_ptr<void>> stages;
        std::shared_ptr<void> source, sink;
    };

    static pipeline create(gpo_device_t device, const std::vector<stage>& stages, gpo_pipeline_options options) {
        std::vector<std::vector<gpo_stage_argument>> arguments;
        std::vector<gpo_stage> raw;
        auto calls = std::make_unique<callables>();
        const std::size_t devices = options.devices != nullptr ? options.device_count : 1;
        for (const stage& stage : stages) {
            arguments.emplace_back();
            if (!stage.kernels_.empty() && stage.kernels_.size() != devices)
                throw error(refused("a stage hasn't one kernel for each device of the pipeline"));
            for (const auto& argument : stage.arguments_) {
                if (argument.kind == GPO_ARGUMENT_DEVICE_VALUE && argument.value.size() != devices * argument.bytes)
                    throw error(refused("an argument of a stage hasn't one value for each device of the pipeline"));
                auto out = sized<gpo_stage_argument>();
                out.kind = argument.kind;
                out.value = argument.value.empty() ? nullptr : argument.value.data();
                out.bytes = argument.bytes;
                arguments.back().push_back(out);
            }
            gpo_stage out = sized(stage.raw_);
            out.arguments = arguments.back().data();
            out.argument_stride = sizeof(gpo_stage_argument);
            out.argument_count = static_cast<std::uint32_t>(arguments.back().size());
            out.label = stage.label_.c_str();
            out.kernels = stage.kernels_.empty() ? nullptr : stage.kernels_.data();
            raw.push_back(out);
            calls->stages.push_back(stage.callable_);
        }
        options.stages = raw.data();
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = static_cast<std::uint32_t>(raw.size());
        auto made =
            detail::made<pipeline>(gpo_pipeline_create, device, detail::with_size<gpo_pipeline_options>(options));
        made.executor_ = options.executor;
        made.callables_ = std::move(calls);
        return made;
    }

    static gpo_error refused(const char* message) noexcept {
        gpo_error details = error::of_status(GPO_INVALID_ARGUMENT);
        std::strncpy(details.message, message, sizeof details.message - 1);
        return details;
    }

    /// Waits until no callable is called any more. Meanwhile an executor without threads is run here, as perhaps no
    /// other thread runs it.
    void end() noexcept {
        if (get() == nullptr) return;
        static_cast<void>(gpo_pipeline_cancel(get()));
        auto about = sized<gpo_executor_statistics>();
        const bool ours =
            executor_ != nullptr && gpo_executor_get_statistics(executor_, &about) == GPO_SUCCESS && about.threads == 0;
        gpo_status status = GPO_SUCCESS;
        do {
            if (ours) static_cast<void>(gpo_executor_poll(executor_, nullptr));
            status = gpo_pipeline_wait(get(), ours ? 1000000 : -1, nullptr);
        } while (status == GPO_TIMEOUT);
        if (status == GPO_WOULD_DEADLOCK || status == GPO_FORKED) static_cast<void>(callables_.release());
        handle_.reset();
    }

    owner<ref<gpo_pipeline_t>, gpo_pipeline_destroy> handle_;
    gpo_executor_t executor_ = nullptr;
    std::unique_ptr<callables> callables_;
};

// --- devices and the runtime ---

/// The forms of work that fit a workload, the best first (advice.h). `now`, which may be NULL, gets a breakdown of a
/// round's time. Costs that the workload leaves at 0 are those of `device`, or of an H200 without a device.
template <class Workload = workload>
std::vector<gpo_advice> advise(const Workload& work, gpo_diagnosis* now = nullptr, gpo_device_t device = nullptr) {
    if (now) now->struct_size = sizeof *now;
    std::vector<gpo_advice> forms(32);
    for (gpo_advice& form : forms) form.struct_size = sizeof form;
    std::uint64_t count = 0;
    check(gpo_advise(device, detail::with_size<gpo_workload>(work), now, forms.data(), sizeof forms[0], forms.size(),
                     &count));
    forms.resize(count);
    return forms;
}

/// The report on the run in a trace file; `work`, which may be NULL, gets the run as a workload.
inline std::string advise_trace(const std::string& path, gpo_workload* work = nullptr) {
    if (work) work->struct_size = sizeof *work;
    return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
        return gpo_advise_trace(path.c_str(), work, buffer, room, needed);
    });
}

class device : public owner<ref<gpo_device_t>, gpo_device_close> {
public:
    using owner::owner;

    gpo_device_properties properties() const { return detail::got(gpo_device_get_properties, get()); }
    /// With GPO_COSTS_PROBE as `flags`: measured.
    gpo_costs costs(std::uint32_t flags = 0) const {
        gpo_costs costs{};
        costs.struct_size = sizeof costs;
        check(gpo_device_get_costs(get(), flags, &costs));
        return costs;
    }
    /// The best form of work comes first. `now` may be NULL.
    template <class Workload = workload>
    std::vector<gpo_advice> advise(const Workload& work, gpo_diagnosis* now = nullptr) const {
        return gpuorch::advise(work, now, get());
    }
    void wait() const { check(gpo_device_wait(get(), -1)); }
    /// False: the time has passed first.
    bool wait(std::chrono::nanoseconds time) const {
        return detail::done(gpo_device_wait(get(), detail::timeout(time)), GPO_TIMEOUT);
    }

    template <class Options = stream_options>
    [[nodiscard]] stream create_stream(const Options& options = {}) const {
        return detail::made<stream>(gpo_stream_create, get(), detail::with_size<gpo_stream_options>(options));
    }
    template <class Options = stream_options>
    [[nodiscard]] stream wrap_stream(void* native, const Options& options = {}) const {
        return detail::made<stream>(gpo_stream_wrap, get(), native, detail::with_size<gpo_stream_options>(options));
    }
    template <class Options = stream_pool_options>
    [[nodiscard]] stream_pool create_stream_pool(const Options& options = {}) const {
        return detail::made<stream_pool>(gpo_stream_pool_create, get(),
                                         detail::with_size<gpo_stream_pool_options>(options));
    }
    template <class Options = event_options>
    [[nodiscard]] event create_event(const Options& options = {}) const {
        return detail::made<event>(gpo_event_create, get(), detail::with_size<gpo_event_options>(options));
    }
    template <class Options = arena_options>
    [[nodiscard]] arena create_arena(const Options& options = {}) const {
        return detail::made<arena>(gpo_arena_create, get(), detail::with_size<gpo_arena_options>(options));
    }
    template <class Options = pool_options>
    [[nodiscard]] pool create_pool(const Options& options = {}) const {
        return detail::made<pool>(gpo_pool_create, get(), detail::with_size<gpo_pool_options>(options));
    }
    template <class T>
    [[nodiscard]] buffer<T> allocate(std::uint64_t count, const char* label = nullptr) const {
        std::uint64_t address = 0;
        check(gpo_memory_allocate(get(), detail::bytes_of<T>(count), label, &address));
        return buffer<T>(get(), address, count);
    }
    /// Another process's memory, of as many elements as fit.
    template <class T>
    [[nodiscard]] buffer<T> import_memory(const exported_bytes& exported, const char* label = nullptr) const {
        std::uint64_t address = 0, bytes = 0;
        check(gpo_memory_import(get(), exported.data(), exported.size(), label, &address, &bytes));
        return buffer<T>(get(), address, bytes / sizeof(T));
    }
    [[nodiscard]] event import_event(const exported_bytes& exported, const char* label = nullptr) const {
        return detail::made<event>(gpo_event_import, get(), exported.data(), exported.size(), label);
    }

    /// This function sets the source in the options.
    template <class Options = compile_options>
    [[nodiscard]] module compile(std::string_view source, const Options& options = {}) const {
        gpo_compile_options raw = options;
        raw.source = source.empty() ? "" : source.data();
        raw.source_bytes = source.size();
        return detail::made<module>(gpo_module_compile, get(), detail::with_size<gpo_compile_options>(raw));
    }
    [[nodiscard]] module load(const void* image, std::uint64_t bytes, const char* label = nullptr) const {
        return detail::made<module>(gpo_module_load, get(), image, bytes, label);
    }
    /// The kernels that need no compiler.
    [[nodiscard]] module builtin() const { return detail::made<module>(gpo_module_load_builtin, get()); }

    /// The options have at least a kind.
    template <class Options = queue_options>
    [[nodiscard]] queue create_queue(const Options& options) const {
        return detail::made<queue>(gpo_queue_create, get(), detail::with_size<gpo_queue_options>(options));
    }

    /// Handlers are device functions of `source`, by their names. The options have at least a queue; the form is
    /// GPO_SCHEDULER_RESIDENT unless they name another.
    template <class Options = scheduler_options>
    [[nodiscard]] scheduler create_scheduler(std::string_view source, const std::vector<std::string>& handlers,
                                             const Options& options) const {
        std::vector<gpo_handler> rows(handlers.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].struct_size = sizeof rows[i];
            rows[i].name = handlers[i].c_str();
        }
        gpo_scheduler_options raw = options;
        raw.source = source.data();
        raw.source_bytes = source.size();
        if (raw.form == 0) raw.form = GPO_SCHEDULER_RESIDENT;
        return create_scheduler(rows, raw);
    }
    /// Handlers in the form of the C function: for a scheduler of graphs.
    template <class Options = scheduler_options>
    [[nodiscard]] scheduler create_scheduler(const std::vector<gpo_handler>& handlers,
                                             const Options& options) const {
        return detail::made<scheduler>(gpo_scheduler_create, get(), detail::with_size<gpo_scheduler_options>(options),
                                       handlers.data(), std::uint64_t{sizeof(gpo_handler)},
                                       static_cast<std::uint32_t>(handlers.size()));
    }

    template <class Options = template_options>
    [[nodiscard]] graph_template create_graph_template(const Options& options = {}) const {
        return detail::made<graph_template>(gpo_template_create, get(),
                                            detail::with_size<gpo_template_options>(options));
    }
    /// `record(stream_ref, const bucket_work&)` puts the work for a shape on the stream and names its parameters
    /// (buckets.h). An exception fails the request with GPO_CALLBACK_FAILED. This function sets the shapes and
    /// callbacks in the options.
    template <class Record, class Options = buckets_options,
              std::enable_if_t<std::is_convertible_v<Options, gpo_buckets_options>, int> = 0>
    [[nodiscard]] buckets create_buckets(const std::vector<std::uint64_t>& shapes, Record&& record,
                                         const Options& options = {}) const {
        using Own = std::decay_t<Record>;
        return buckets::create<Own>(get(), shapes, std::forward<Record>(record), buckets::no_pad(), options);
    }
    /// With a second callable, which writes the elements from work.size() to work.shape() before a launch.
    template <class Record, class Pad, class Options = buckets_options,
              std::enable_if_t<!std::is_convertible_v<Pad, gpo_buckets_options>, int> = 0>
    [[nodiscard]] buckets create_buckets(const std::vector<std::uint64_t>& shapes, Record&& record, Pad&& pad,
                                         const Options& options = {}) const {
        using Own = std::decay_t<Record>;
        return buckets::create<Own, std::decay_t<Pad>>(get(), shapes, std::forward<Record>(record),
                                                       std::forward<Pad>(pad), options);
    }
    /// A template with copies of the nodes of a CUgraph, which stays the caller's.
    template <class Options = template_options>
    [[nodiscard]] graph_template import_graph(void* native, const Options& options = {}) const {
        return detail::made<graph_template>(gpo_template_import, get(), native,
                                            detail::with_size<gpo_template_options>(options));
    }

    /// device.create_pipeline({kernel_stage(...), kernel_stage(...)}, options). This function sets the stages in the
    /// options.
    template <class Options = pipeline_options>
    [[nodiscard]] pipeline create_pipeline(const std::vector<stage>& stages, const Options& options = {}) const {
        return pipeline::create(get(), stages, options);
    }
};

namespace detail {

/// Destroys a runtime when all of its work is done, however long the work takes.
inline gpo_status shut_down(gpo_runtime_t runtime) noexcept { return gpo_runtime_shutdown(runtime, -1); }

}  // namespace detail

/// The destructor waits for the GPU and for callbacks, without a bound: call `shutdown` first for a bound. In a
/// callback of this runtime the destructor does nothing (GPO_WOULD_DEADLOCK), and the runtime stays.
class runtime : public owner<ref<gpo_runtime_t>, detail::shut_down> {
public:
    using owner::owner;

    template <class Options = runtime_options>
    [[nodiscard]] static runtime create(const Options& options = {}) {
        return detail::made<runtime>(gpo_runtime_create, detail::with_size<gpo_runtime_options>(options));
    }
    /// False: something still runs after that time. The runtime takes no new work, and this can be called again.
    bool shutdown(std::chrono::nanoseconds time) {
        if (!detail::done(gpo_runtime_shutdown(get(), detail::timeout(time)), GPO_TIMEOUT)) return false;
        static_cast<void>(release());
        return true;
    }

    gpo_driver_info driver() const { return detail::got(gpo_runtime_get_driver, get()); }
    std::uint32_t device_count() const {
        std::uint32_t count = 0;
        check(gpo_runtime_get_device_count(get(), &count));
        return count;
    }
    gpo_statistics statistics() const { return detail::got(gpo_runtime_get_statistics, get()); }
    std::string metrics_text() const {
        return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
            return gpo_runtime_get_metrics_text(get(), buffer, room, needed);
        });
    }

    template <class Options = device_options>
    [[nodiscard]] device open_device(const Options& options = {}) const {
        return detail::made<device>(gpo_device_open, get(), detail::with_size<gpo_device_options>(options));
    }
    template <class Options = timeline_options>
    [[nodiscard]] timeline create_timeline(const Options& options = {}) const {
        return detail::made<timeline>(gpo_timeline_create, get(), detail::with_size<gpo_timeline_options>(options));
    }
    template <class Options = cq_options>
    [[nodiscard]] completion_queue create_completion_queue(const Options& options = {}) const {
        return detail::made<completion_queue>(gpo_cq_create, get(), detail::with_size<gpo_cq_options>(options));
    }
    template <class Options = executor_options>
    [[nodiscard]] executor create_executor(const Options& options = {}) const {
        return detail::made<executor>(gpo_executor_create, get(), detail::with_size<gpo_executor_options>(options));
    }

    template <class Options = trace_options>
    void start_trace(const Options& options = {}) const {
        check(gpo_trace_start(get(), detail::with_size<gpo_trace_options>(options)));
    }
    /// A trace's file and its picture; an empty path: none.
    void start_trace(const std::string& path, const std::string& picture) const {
        trace_options options;
        options.path = path.empty() ? nullptr : path.c_str();
        options.picture = picture.empty() ? nullptr : picture.c_str();
        start_trace(options);
    }
    void stop_trace() const { check(gpo_trace_stop(get())); }
    std::string trace_summary() const {
        return detail::text([&](char* buffer, std::size_t room, std::size_t* needed) {
            return gpo_trace_get_summary(get(), buffer, room, needed);
        });
    }
};

}  // namespace gpuorch

#endif
