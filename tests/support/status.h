// Assertions about statuses, which say what the library says went wrong.
//
//     REQUIRE_OK(gpo_stream_create(device, nullptr, &stream));
//     CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "gpuorch/gpuorch.h"

namespace gpo::test {

/// A status as assertions print it: by name.
struct Answer {
    gpo_status status;
    bool operator==(const Answer&) const = default;
};

/// "gpo_fill(…) gave GPO_INVALID_ARGUMENT: destination is … (object)", with the calling thread's last error.
std::string explain(const char* call, gpo_status status);

/// The calling thread's last failure.
gpo_error last_error();

/// What an object says of itself.
gpo_error object_error(const void* object);

}  // namespace gpo::test

template <>
struct doctest::StringMaker<gpo::test::Answer> {
    static doctest::String convert(const gpo::test::Answer& answer) { return gpo_status_name(answer.status); }
};

#define GPO_ASSERT_STATUS(assertion, expected, ...)                                          \
    do {                                                                                     \
        const gpo_status status_got_ = (__VA_ARGS__);                                        \
        INFO(gpo::test::explain(#__VA_ARGS__, status_got_));                                 \
        assertion(gpo::test::Answer{status_got_} == gpo::test::Answer{expected});            \
    } while (false)

#define CHECK_STATUS(expected, ...) GPO_ASSERT_STATUS(CHECK, expected, __VA_ARGS__)
#define REQUIRE_STATUS(expected, ...) GPO_ASSERT_STATUS(REQUIRE, expected, __VA_ARGS__)
#define CHECK_OK(...) GPO_ASSERT_STATUS(CHECK, GPO_SUCCESS, __VA_ARGS__)
#define REQUIRE_OK(...) GPO_ASSERT_STATUS(REQUIRE, GPO_SUCCESS, __VA_ARGS__)
