#include "abi/call.h"
#include "core/runtime.h"

namespace gpo {

template <>
struct TypeOf<Object> { static constexpr Type value = Type::none; };

namespace abi {
const gpo_error& last_error() noexcept;
}

}  // namespace gpo

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_last_error(gpo_error* error) {
    // Doesn't use abi::call, because reading the last error must not replace it.
    try {
        write_struct(error, abi::last_error(), "error");
        return GPO_SUCCESS;
    } catch (...) {
        return GPO_INVALID_ARGUMENT;
    }
}

GPO_API gpo_status gpo_object_get_error(const void* object, gpo_error* error) {
    return abi::call<abi::InHostNode::works>(__func__, {object}, [&] {
        required(error, "error");
        Pin<Object> pinned(object);
        gpo_error out{};
        if (const ErrorPtr kept = pinned->error()) kept->write_to(out);
        write_struct(error, out, "error");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_object_set_label(void* object, const char* label) {
    return abi::call<abi::InHostNode::works>(__func__, {object}, [&] {
        Pin<Object> pinned(object);
        pinned->set_label(label);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_object_get_label(const void* object, char* buffer, size_t capacity, size_t* needed) {
    return abi::call<abi::InHostNode::works>(__func__, {object}, [&] {
        Pin<Object> pinned(object);
        return write_text(pinned->label(), buffer, capacity, needed);
    });
}

}
