// A device handle: a context with a label. The context lives on after the handle is destroyed, until the runtime shuts
// down.
#pragma once

#include "device/context.h"
#include "gpuorch/device.h"

namespace gpo {

class Device final : public Object {
public:
    Device(Runtime& runtime, uint32_t ordinal, Ref<Context> context, const char* label)
        : Object(runtime, Type::device, label), context_(std::move(context)), ordinal_(ordinal) {}
    Context& context() const noexcept { return *context_; }
    const Ref<Context>& context_ref() const noexcept { return context_; }
    uint32_t ordinal() const noexcept { return ordinal_; }  // the runtime's number
    ErrorPtr error() const override { return context_->lost() ? context_->loss() : Object::error(); }

private:
    const Ref<Context> context_;
    const uint32_t ordinal_;
};

template <>
struct TypeOf<Device> { static constexpr Type value = Type::device; };

gpo_device_properties device_properties(driver::Driver& driver, int native_ordinal);
gpo_peer_properties peer_properties(driver::Driver& driver, int from, int to);

}  // namespace gpo
