// The kernel gpo_combine, launched by the driver's table, against a reference that computes one element at a time. The
// software GPU and, where present, a CUDA GPU pass the same tests, so both give the same bits.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "support/report.h"
#include "unit/base/narrow_reference.h"

namespace {

#define OK(call) REQUIRE((call) == CUDA_SUCCESS)

constexpr uint32_t kSum = 1, kProduct = 2, kMinimum = 3, kMaximum = 4, kAverage = 5;

// -- element types, and the reference ---------------------------------------------------------------------------------

struct Type {
    const char* name;
    uint32_t number, bytes;
    enum { signed_integer, unsigned_integer, narrow, float32, float64 } kind;
    const narrow_reference::Format* format;

    uint64_t mask() const { return ~uint64_t{0} >> (64 - 8 * bytes); }
    bool integer() const { return kind == signed_integer || kind == unsigned_integer; }
};

const std::vector<Type>& types() {
    using namespace narrow_reference;
    static const std::vector<Type> all = {
        {"int8", 1, 1, Type::signed_integer, nullptr},  {"uint8", 2, 1, Type::unsigned_integer, nullptr},
        {"int32", 3, 4, Type::signed_integer, nullptr}, {"uint32", 4, 4, Type::unsigned_integer, nullptr},
        {"int64", 5, 8, Type::signed_integer, nullptr}, {"uint64", 6, 8, Type::unsigned_integer, nullptr},
        {"float16", 7, 2, Type::narrow, &float16()},    {"bfloat16", 8, 2, Type::narrow, &bfloat16()},
        {"float32", 9, 4, Type::float32, nullptr},      {"float64", 10, 8, Type::float64, nullptr},
        {"e4m3", 11, 1, Type::narrow, &float8_e4m3()},  {"e5m2", 12, 1, Type::narrow, &float8_e5m2()},
    };
    return all;
}

/// Holds integers of any type, before truncation to their bits.
using Whole = __int128;

Whole whole(const Type& type, uint64_t bits) {
    if (type.kind == Type::unsigned_integer) return static_cast<Whole>(bits);
    const unsigned unused = 64 - 8 * type.bytes;
    return static_cast<Whole>(static_cast<int64_t>(bits << unused) >> unused);
}

uint64_t combine_integers(const Type& type, const std::vector<uint64_t>& elements, uint32_t reduction,
                          uint32_t divisor) {
    Whole result = whole(type, elements[0]);
    for (size_t i = 1; i < elements.size(); ++i) {
        const Whole next = whole(type, elements[i]);
        // Overflow wraps around; the kept bits are still right.
        if (reduction == kProduct)
            result = static_cast<Whole>(static_cast<unsigned __int128>(result) * static_cast<unsigned __int128>(next));
        else if (reduction == kMinimum)
            result = std::min(result, next);
        else if (reduction == kMaximum)
            result = std::max(result, next);
        else
            result += next;
    }
    if (reduction == kAverage) result = whole(type, static_cast<uint64_t>(result) & type.mask()) / divisor;
    return static_cast<uint64_t>(result) & type.mask();
}

double value(const Type& type, uint64_t bits) {
    switch (type.kind) {
        case Type::narrow: return type.format->value(static_cast<uint32_t>(bits));
        case Type::float32: return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        default: return std::bit_cast<double>(bits);
    }
}

/// The nearest number of the type in which elements are combined. A double has enough more digits than a float: for one
/// operation, rounding twice is the same as rounding once.
double in_wide(const Type& type, double x) {
    return type.kind == Type::float64 ? x : static_cast<double>(static_cast<float>(x));
}

uint64_t stored(const Type& type, double x) {
    switch (type.kind) {
        case Type::narrow: return type.format->nearest(x);
        case Type::float32: return std::isnan(x) ? 0x7fffffff : std::bit_cast<uint32_t>(static_cast<float>(x));
        default: return std::isnan(x) ? 0x7fffffffffffffff : std::bit_cast<uint64_t>(x);
    }
}

/// Whether a < b, with -0 < +0.
bool less(double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

uint64_t combine_numbers(const Type& type, const std::vector<uint64_t>& elements, uint32_t reduction,
                         uint32_t divisor) {
    double result = value(type, elements[0]);
    for (size_t i = 1; i < elements.size(); ++i) {
        const double next = value(type, elements[i]);
        if (reduction == kMinimum || reduction == kMaximum) {
            if (std::isnan(result) || std::isnan(next))
                result = std::nan("");
            else if (reduction == kMinimum ? less(next, result) : less(result, next))
                result = next;
        } else {
            result = in_wide(type, reduction == kProduct ? result * next : result + next);
        }
    }
    if (reduction == kAverage) result = in_wide(type, result / in_wide(type, divisor));
    return stored(type, result);
}

uint64_t combined(const Type& type, const std::vector<uint64_t>& elements, uint32_t reduction, uint32_t divisor) {
    return type.integer() ? combine_integers(type, elements, reduction, divisor)
                          : combine_numbers(type, elements, reduction, divisor);
}

/// Inputs: any bits, special numbers, and numbers near 1, whose sums and products are finite.
class Elements {
public:
    uint64_t next(const Type& type) {
        switch (random_() % 4) {
            case 0: return random_() & type.mask();
            case 1: return special(type);
            default: return type.integer() ? (random_() % 256 - 128) & type.mask() : stored(type, near_one());
        }
    }

private:
    double near_one() {
        const double fraction = static_cast<double>(random_() % 100'000) / 50'000 + 0.01;
        return random_() % 2 ? fraction : -fraction;
    }
    uint64_t special(const Type& type) {
        const uint64_t sign = (type.mask() >> 1) + 1, negative = random_() % 2 ? sign : 0;
        if (type.integer()) {
            const uint64_t extremes[] = {0, 1, type.mask(), sign, sign - 1, sign + 1};
            return extremes[random_() % 6];
        }
        uint64_t normal = 0, infinity = 0;  // the least normal number; of e4m3, the NaN is in the infinity's place
        switch (type.kind) {
            case Type::narrow: normal = type.format->least_normal(), infinity = type.format->largest + 1; break;
            case Type::float32: normal = 1 << 23, infinity = 0x7f800000; break;
            default: normal = uint64_t{1} << 52, infinity = 0x7ff0000000000000; break;
        }
        // Zeros, denormals, normal numbers, infinities and NaNs.
        const uint64_t magnitudes[] = {
            0, 1, 2, normal - 1, normal, normal + 1, infinity / 2, infinity - 1, infinity, infinity + 1, sign - 1};
        return std::min(magnitudes[random_() % std::size(magnitudes)], sign - 1) | negative;
    }

    std::mt19937_64 random_{20261126};
};

// -- the kernel -------------------------------------------------------------------------------------------------------

struct Sources {
    uint64_t address[16];
};

struct Shape {
    unsigned grid[3], block[3];
};

constexpr Shape kShapes[] = {{{2, 1, 1}, {256, 1, 1}},
                             {{1, 1, 1}, {1, 1, 1}},
                             {{3, 2, 1}, {11, 3, 2}},
                             {{1, 1, 4}, {1024, 1, 1}},
                             {{7, 1, 1}, {1, 1, 5}}};

class Kernel {
public:
    explicit Kernel(std::shared_ptr<gpo::driver::Driver> driver) : driver_(std::move(driver)), cu_(driver_->table) {
        OK(cu_.cuInit(0));
        OK(cu_.cuDevicePrimaryCtxRetain(&context_, 0));
        OK(cu_.cuCtxSetCurrent(context_));
        OK(cu_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
        OK(cu_.cuModuleLoadDataEx(&module_, driver_->combine_image.data(), 0, nullptr, nullptr));
        OK(cu_.cuModuleGetFunction(&function_, module_, "gpo_combine"));
        void* memory = nullptr;
        OK(cu_.cuMemHostAlloc(&memory, kBytes, CU_MEMHOSTALLOC_PORTABLE));  // at the same address on the GPU
        memory_ = static_cast<unsigned char*>(memory);
    }
    ~Kernel() {
        CHECK(cu_.cuMemFreeHost(memory_) == CUDA_SUCCESS);
        CHECK(cu_.cuModuleUnload(module_) == CUDA_SUCCESS);
        CHECK(cu_.cuStreamDestroy(stream_) == CUDA_SUCCESS);
        cu_.cuCtxSetCurrent(nullptr);
        CHECK(cu_.cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    }
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    void launch(const Shape& shape, uint64_t destination, Sources sources, uint32_t count, uint32_t type,
                uint32_t reduction, uint32_t divisor, uint64_t n) {
        void* parameters[] = {&destination, &sources, &count, &type, &reduction, &divisor, &n};
        OK(cu_.cuLaunchKernel(function_, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                              shape.block[2], 0, stream_, parameters, nullptr));
        OK(cu_.cuStreamSynchronize(stream_));
    }
    unsigned char* memory() { return memory_; }

    static constexpr size_t kBytes = size_t{4} << 20;

private:
    std::shared_ptr<gpo::driver::Driver> driver_;
    const gpo::driver::Table& cu_;
    CUcontext context_ = nullptr;
    CUstream stream_ = nullptr;
    CUmodule module_ = nullptr;
    CUfunction function_ = nullptr;
    unsigned char* memory_ = nullptr;
};

// -- the comparison ---------------------------------------------------------------------------------------------------

enum class Layout { aligned, one_element_off, one_source_off, in_place, in_place_off };

/// The inputs of one launch: by rank, then by element.
using Inputs = std::vector<std::vector<uint64_t>>;

class Comparison {
public:
    explicit Comparison(Kernel& kernel) : kernel_(kernel) {}

    void compare(const Type& type, uint32_t reduction, uint32_t divisor, const Inputs& inputs, Layout layout) {
        const auto ranks = static_cast<uint32_t>(inputs.size());
        const size_t n = inputs[0].size();
        const bool off = layout == Layout::one_element_off || layout == Layout::in_place_off;
        // 16 free bytes on both sides of each buffer, to detect stray writes.
        const size_t each = (n * type.bytes + 15) / 16 * 16 + 48;
        REQUIRE(each * (ranks + 1) <= Kernel::kBytes);
        unsigned char* const memory = kernel_.memory();
        std::memset(memory, 0xa5, each * (ranks + 1));
        const auto place = [&](uint32_t of, bool shifted) {
            return memory + of * each + 16 + (shifted ? type.bytes : 0);
        };
        Sources sources{};
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            unsigned char* const at = place(rank, off || (layout == Layout::one_source_off && rank + 1 == ranks));
            sources.address[rank] = reinterpret_cast<uint64_t>(at);
            for (size_t i = 0; i < n; ++i) std::memcpy(at + i * type.bytes, &inputs[rank][i], type.bytes);
        }
        const bool in_place = layout == Layout::in_place || layout == Layout::in_place_off;
        unsigned char* const destination = place(in_place ? ranks / 2 : ranks, off);
        std::vector<unsigned char> expected(memory, memory + each * (ranks + 1));
        std::vector<uint64_t> elements(ranks);
        for (size_t i = 0; i < n; ++i) {
            for (uint32_t rank = 0; rank < ranks; ++rank) elements[rank] = inputs[rank][i];
            const uint64_t result = combined(type, elements, reduction, divisor);
            std::memcpy(expected.data() + (destination - memory) + i * type.bytes, &result, type.bytes);
        }
        kernel_.launch(kShapes[launches_++ % std::size(kShapes)], reinterpret_cast<uint64_t>(destination), sources,
                       ranks, type.number, reduction, divisor, n);
        if (std::memcmp(memory, expected.data(), expected.size()) == 0) return;
        INFO(std::string(type.name), ", reduction ", reduction, ", ", ranks, " sources, layout ",
             static_cast<int>(layout));
        for (size_t i = 0; i < n; ++i) {
            uint64_t found = 0, wanted = 0;
            std::memcpy(&found, destination + i * type.bytes, type.bytes);
            std::memcpy(&wanted, expected.data() + (destination - memory) + i * type.bytes, type.bytes);
            if (found == wanted) continue;
            std::string of;
            for (uint32_t rank = 0; rank < ranks; ++rank) of += " " + std::to_string(inputs[rank][i]);
            INFO("element ", i, " of", of);
            REQUIRE(found == wanted);
        }
        FAIL("something was written outside of the destination");
    }
    uint32_t launches() const { return launches_; }

private:
    Kernel& kernel_;
    uint32_t launches_ = 0;
};

void compare_types_and_layouts(Kernel& kernel) {
    Comparison comparison(kernel);
    Elements elements;
    for (const Type& type : types())
        for (const uint32_t ranks : {1, 2, 3, 16})
            for (const Layout layout : {Layout::aligned, Layout::one_element_off, Layout::one_source_off,
                                        Layout::in_place, Layout::in_place_off}) {
                Inputs inputs(ranks, std::vector<uint64_t>(ranks == 16 ? 301 : 531));
                for (auto& of_rank : inputs)
                    for (uint64_t& element : of_rank) element = elements.next(type);
                for (uint32_t reduction = kSum; reduction <= kAverage; ++reduction)
                    comparison.compare(type, reduction, ranks, inputs, layout);
            }
    CHECK(comparison.launches() == 12 * 4 * 5 * 5);
}

void compare_counts(Kernel& kernel) {
    Comparison comparison(kernel);
    Elements elements;
    for (const Type& type : types())
        for (size_t n = 0; n <= 33; ++n) {
            Inputs inputs(2, std::vector<uint64_t>(n));
            for (auto& of_rank : inputs)
                for (uint64_t& element : of_rank) element = elements.next(type);
            comparison.compare(type, kSum, 1, inputs, Layout::aligned);
        }
    CHECK(comparison.launches() == 12 * 34);
}

void compare_all_pairs_of_bytes(Kernel& kernel) {
    Comparison comparison(kernel);
    Inputs inputs(2, std::vector<uint64_t>(65536));
    for (uint32_t i = 0; i < 65536; ++i) inputs[0][i] = i & 255, inputs[1][i] = i >> 8;
    for (const Type& type : types())
        for (uint32_t reduction = kSum; type.bytes == 1 && reduction <= kAverage; ++reduction)
            comparison.compare(type, reduction, 3, inputs, Layout::aligned);
    CHECK(comparison.launches() == 4 * 5);
}

void compare_all_codes_of_16_bits(Kernel& kernel) {
    Comparison comparison(kernel);
    Elements elements;
    Inputs inputs(2, std::vector<uint64_t>(65536));
    for (const Type& type : types()) {
        if (type.bytes != 2) continue;
        for (uint32_t i = 0; i < 65536; ++i) inputs[0][i] = i, inputs[1][i] = elements.next(type);
        for (uint32_t reduction = kSum; reduction <= kAverage; ++reduction)
            comparison.compare(type, reduction, 7, inputs, Layout::aligned);
    }
    CHECK(comparison.launches() == 2 * 5);
}

void compare_divisors(Kernel& kernel) {
    Comparison comparison(kernel);
    Elements elements;
    for (const Type& type : types())
        for (const uint32_t divisor : {1u, 2u, 3u, 127u, 129u, 0x7fffffffu, 0x80000001u, 0xffffffffu}) {
            Inputs inputs(2, std::vector<uint64_t>(501));
            for (auto& of_rank : inputs)
                for (uint64_t& element : of_rank) element = elements.next(type);
            comparison.compare(type, kAverage, divisor, inputs, Layout::aligned);
        }
    CHECK(comparison.launches() == 12 * 8);
}

void compare_all(Kernel& kernel) {
    SUBCASE("for every type, reduction and layout") { compare_types_and_layouts(kernel); }
    SUBCASE("for every number of elements") { compare_counts(kernel); }
    SUBCASE("for every pair of 8-bit elements") { compare_all_pairs_of_bytes(kernel); }
    SUBCASE("for every 16-bit element") { compare_all_codes_of_16_bits(kernel); }
    SUBCASE("for averages by small and large divisors") { compare_divisors(kernel); }
}

}  // namespace

TEST_CASE("gpo_combine on the software GPU has the bits of the reference") {
    std::string why;
    auto driver = gpo::driver::open_soft(&why);
    INFO(why);
    REQUIRE(driver != nullptr);
    Kernel kernel(std::move(driver));
    compare_all(kernel);
}

TEST_CASE("gpo_combine on CUDA has the bits of the reference") {
    std::string why;
    auto driver = gpo::driver::open_cuda(&why);
    if (!driver) return gpo::test::skip(why);
    Kernel kernel(std::move(driver));
    compare_all(kernel);
}
