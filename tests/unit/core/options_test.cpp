#include <doctest/doctest.h>

#include <cstring>

#include "core/struct_options.h"
#include "gpuorch/stream.h"

using namespace gpo;

namespace {

gpo_status status_of_reading(const void* options) {
    try {
        read_struct(static_cast<const gpo_stream_options*>(options), "options");
        return GPO_SUCCESS;
    } catch (const Failure& failure) {
        return failure.error()->status;
    }
}

}  // namespace

TEST_CASE("structs are read whatever their age, as long as nothing unknown is asked for") {
    alignas(8) unsigned char bytes[sizeof(gpo_stream_options) + 16] = {};
    auto* options = reinterpret_cast<gpo_stream_options*>(bytes);
    CHECK(status_of_reading(options) == GPO_INVALID_ARGUMENT);  // size 0
    options->struct_size = sizeof(gpo_stream_options);
    options->priority = -3;
    CHECK(read_struct(options, "options").priority == -3);
    options->struct_size = 8;  // before there was a priority
    CHECK(read_struct(options, "options").priority == 0);
    options->struct_size = sizeof bytes;
    CHECK(status_of_reading(options) == GPO_SUCCESS);
    bytes[sizeof bytes - 1] = 1;
    CHECK(status_of_reading(options) == GPO_INVALID_ARGUMENT);
    options->struct_size = UINT32_MAX;
    CHECK(status_of_reading(options) == GPO_INVALID_ARGUMENT);
}

TEST_CASE("a struct ends where one of its fields does, and nowhere else") {
    // Fields of gpo_stream_options: struct_size, flags, priority, max_held, and the pointer `label` from 16 to 24.
    alignas(8) unsigned char bytes[sizeof(gpo_stream_options)] = {};
    auto* options = reinterpret_cast<gpo_stream_options*>(bytes);
    options->label = reinterpret_cast<const char*>(0x5555555555555555);   // half of it must not be followed
    for (uint32_t size = 0; size <= sizeof bytes; ++size) {
        INFO("size " << size);
        options->struct_size = size;
        const bool whole = size == 4 || size == 8 || size == 12 || size == 16 || size == 24;
        CHECK(status_of_reading(options) == (whole ? GPO_SUCCESS : GPO_INVALID_ARGUMENT));
    }
    options->struct_size = 20;
    try {
        read_struct(options, "options");
        FAIL("half of the label was read");
    } catch (const Failure& failure) {
        CHECK(failure.error()->sentence() ==
              doctest::String(
                  "options.struct_size is 20, which ends inside the field label: set it to sizeof the struct"));
    }
}

TEST_CASE(
    "a struct that ends in the padding behind a field is refused, and one that ends before or behind the padding "
    "isn't") {
    static constexpr StructField kFields[] = {
        {"struct_size", 0, 4}, {"number", 4, 8}, {"small", 8, 9}, {"large", 16, 24}};
    constexpr detail::Shape shape{24, kFields};
    const auto status = [&](uint32_t size) {
        try {
            detail::writable(size, shape, "padded");
            return GPO_SUCCESS;
        } catch (const Failure& failure) {
            return failure.error()->status;
        }
    };
    for (const uint32_t size : {4u, 8u, 9u, 16u, 24u, 40u}) CHECK(status(size) == GPO_SUCCESS);
    for (const uint32_t size : {0u, 3u, 5u, 7u, 10u, 15u, 17u, 23u}) CHECK(status(size) == GPO_INVALID_ARGUMENT);
}

TEST_CASE("structs are written no further than the caller's goes, and zeroed where it goes further than ours") {
    gpo_stream_info value{};
    value.priority = 7;
    value.accepted = 9;
    alignas(8) unsigned char bytes[sizeof(gpo_stream_info) + 8];
    auto* info = reinterpret_cast<gpo_stream_info*>(bytes);
    std::memset(bytes, 0xee, sizeof bytes);
    info->struct_size = offsetof(gpo_stream_info, accepted);
    write_struct(info, value, "info");
    CHECK(info->priority == 7);
    CHECK(info->accepted == 0xeeeeeeeeeeeeeeee);
    CHECK(info->struct_size == offsetof(gpo_stream_info, accepted));
    std::memset(bytes, 0xee, sizeof bytes);
    info->struct_size = sizeof bytes;
    write_struct(info, value, "info");
    CHECK(info->accepted == 9);
    CHECK(bytes[sizeof bytes - 1] == 0);
}

TEST_CASE("texts come out cut and terminated, with the length that they need") {
    char buffer[4];
    size_t needed = 0;
    CHECK(write_text("abc", buffer, sizeof buffer, &needed) == GPO_SUCCESS);
    CHECK(needed == 4);
    CHECK(std::strcmp(buffer, "abc") == 0);
    CHECK_THROWS_AS(write_text("abcd", buffer, sizeof buffer, &needed), Failure);
    CHECK(needed == 5);
    CHECK(std::strcmp(buffer, "abc") == 0);
    CHECK(write_text("abc", nullptr, 0, &needed) == GPO_SUCCESS);
    CHECK_THROWS_AS(write_text("abc", nullptr, 4, &needed), Failure);
}
