// Assertions about statuses, which say what the library says went wrong.
//
//     REQUIRE_OK(gpo_stream_create(device, nullptr, &stream));
//     CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "gpuorch/gpuorch.h"

namespace gpo::test {

/// "gpo_fill(…) gave GPO_INVALID_ARGUMENT: destination is … (object)", with the calling thread's last error.
std::string explain(const char* call, gpo_status status);

/// The calling thread's last failure.
gpo_error last_error();

/// The error stored in an object.
gpo_error object_error(const void* object);

/// Where an assertion stands, and whether the test ends where it fails.
struct Assertion {
    const char* file;
    int line;
    bool required;
};

/// Asserts a call's status. A function, because the macros below are used in thousands of places.
void assert_status(const Assertion& where, const char* call, gpo_status expected, gpo_status got);

}  // namespace gpo::test

#define GPO_ASSERT_STATUS(required, expected, ...) \
    gpo::test::assert_status({__FILE__, __LINE__, required}, #__VA_ARGS__, expected, (__VA_ARGS__))

#define CHECK_STATUS(expected, ...) GPO_ASSERT_STATUS(false, expected, __VA_ARGS__)
#define REQUIRE_STATUS(expected, ...) GPO_ASSERT_STATUS(true, expected, __VA_ARGS__)
#define CHECK_OK(...) GPO_ASSERT_STATUS(false, GPO_SUCCESS, __VA_ARGS__)
#define REQUIRE_OK(...) GPO_ASSERT_STATUS(true, GPO_SUCCESS, __VA_ARGS__)
