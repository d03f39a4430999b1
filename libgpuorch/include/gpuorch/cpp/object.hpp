// object.hpp: a handle with the calls of its object, and its owner.
#ifndef GPUORCH_CPP_OBJECT_HPP
#define GPUORCH_CPP_OBJECT_HPP

#include <array>
#include <cstdint>
#include <utility>

#include "call.hpp"

namespace gpuorch {

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

}  // namespace gpuorch

#endif
