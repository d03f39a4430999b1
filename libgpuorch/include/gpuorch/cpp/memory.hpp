// memory.hpp: addresses in device memory, and memory that its object frees (memory.h).
#ifndef GPUORCH_CPP_MEMORY_HPP
#define GPUORCH_CPP_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "object.hpp"

namespace gpuorch {

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

}  // namespace gpuorch

#endif
