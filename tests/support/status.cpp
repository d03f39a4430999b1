// Text that assertions print about failures.
#include "support/status.h"

namespace gpo::test {

gpo_error last_error() {
    gpo_error error{};
    error.struct_size = sizeof error;
    gpo_last_error(&error);
    return error;
}

gpo_error object_error(const void* object) {
    gpo_error error{};
    error.struct_size = sizeof error;
    CHECK(gpo_object_get_error(object, &error) == GPO_SUCCESS);
    return error;
}

std::string explain(const char* call, gpo_status status) {
    std::string text = std::string(call) + " gave " + gpo_status_name(status);
    const gpo_error error = last_error();
    if (status >= 10 && error.status == status) {
        text += std::string(": ") + error.message;
        if (error.object[0]) text += std::string(" (") + error.object + ")";
        if (error.native_code) text += ", native code " + std::to_string(error.native_code);
    }
    return text;
}

void assert_status(const Assertion& where, const char* call, gpo_status expected, gpo_status got) {
    if (got == expected) {
        CHECK(true);   // counted
        return;
    }
    const std::string text = explain(call, got) + ", not " + gpo_status_name(expected);
    if (where.required) {
        ADD_FAIL_AT(where.file, where.line, text);
    } else {
        ADD_FAIL_CHECK_AT(where.file, where.line, text);
    }
}

}  // namespace gpo::test
