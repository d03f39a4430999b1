// Modules: from source and from images, names of their kernels, their variables, the cache, the built-in
// kernels.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/gpu.h"

using namespace gpo::test;
namespace fs = std::filesystem;

namespace {

const char kTwoKernels[] = R"(
namespace ns { __global__ void store(int* out, int value) { *out = value; } }
extern "C" __global__ void plain(int* out) { *out = 1; }
)";

const char kVariables[] = R"(
__constant__ int weights[4] = {1, 2, 3, 4};
__device__ int total = 100;
extern "C" __global__ void sum() {
    for (int i = 0; i < 4; i++) total += weights[i];
}
)";

const char kTemplates[] = R"(
template <class T, int N> __global__ void scale(T* x) { *x = T(*x * N); }
template <class T> __global__ void half(T* x) { *x = *x / 2; }
)";

/// Number of entries of a cache.
size_t entries(const Folder& folder) {
    size_t count = 0;
    for (const std::string& name : folder.names()) count += name.ends_with(".kernel");
    return count;
}

gpo_compile_options options_for(const char* source) {
    auto options = sized<gpo_compile_options>();
    options.source = source;
    options.file_name = "test.cu";
    return options;
}

Module compile(Gpu& gpu, const char* source) {
    const auto options = options_for(source);
    Module module;
    REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
    return module;
}

Kernel kernel_of(gpo_module_t module, const char* name) {
    Kernel kernel;
    REQUIRE_OK(gpo_module_get_kernel(module, name, kernel.out()));
    return kernel;
}

std::string compile_log() {
    size_t needed = 0;
    REQUIRE_OK(gpo_last_compile_log(nullptr, 0, &needed));
    std::string log(needed, '\0');
    REQUIRE_OK(gpo_last_compile_log(log.data(), log.size(), nullptr));
    log.pop_back();
    return log;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<char> image_of(gpo_module_t module) {
    size_t needed = 0;
    REQUIRE_OK(gpo_module_get_image(module, nullptr, 0, &needed));
    REQUIRE(needed > 0);
    std::vector<char> image(needed);
    REQUIRE_OK(gpo_module_get_image(module, image.data(), image.size(), &needed));
    return image;
}

}  // namespace

TEST_CASE("a kernel compiles from its source, runs, and is told apart by its names") {
    Gpu gpu;
    Module module = compile(gpu, kTwoKernels);
    Stream stream = gpu.stream();
    Pinned<int> out = gpu.pinned<int>(3);
    Kernel by_plain = kernel_of(module, "store"), by_scope = kernel_of(module, "ns::store");
    char symbol[128];
    REQUIRE_OK(gpo_kernel_get_name(by_plain, symbol, sizeof symbol, nullptr));
    CHECK(contains(symbol, "store"));
    Kernel by_symbol = kernel_of(module, symbol);
    CHECK_OK(launch(stream, by_plain.get(), 1, 1, &out[0], 7));
    CHECK_OK(launch(stream, by_scope.get(), 1, 1, &out[1], 8));
    CHECK_OK(launch(stream, by_symbol.get(), 1, 1, &out[2], 9));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 7);
    CHECK(out[1] == 8);
    CHECK(out[2] == 9);
}

TEST_CASE("a kernel that isn't there is answered with those that are") {
    Gpu gpu;
    Module module = compile(gpu, kTwoKernels);
    gpo_kernel_t none = reinterpret_cast<gpo_kernel_t>(uintptr_t{1});
    CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_kernel(module, "absent", &none));
    CHECK(none == reinterpret_cast<gpo_kernel_t>(uintptr_t{1}));
    const std::string message = last_error().message;
    CHECK(contains(message, "`absent`"));
    CHECK(contains(message, "plain"));
    CHECK(contains(message, "ns::store"));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_kernel(module, "", &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_get_kernel(module, nullptr, &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_get_kernel(module, "plain", nullptr));
}

TEST_CASE("templates are instantiated by name expressions, and found by them") {
    Gpu gpu;
    const char* expressions[] = {"scale<float, 3>", "scale<int, 5>", "half<double>"};
    auto options = options_for(kTemplates);
    options.name_expressions = expressions;
    options.name_expression_count = 3;
    Module module;
    REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
    Stream stream = gpu.stream();
    auto real = gpu.pinned<float>(1);
    auto whole = gpu.pinned<int>(1);
    auto wide = gpu.pinned<double>(1);
    real[0] = 1.5f, whole[0] = 7, wide[0] = 5;
    CHECK_OK(launch(stream, kernel_of(module, "scale<float, 3>").get(), 1, 1, real.data()));
    CHECK_OK(launch(stream, kernel_of(module, "scale<int,5>").get(), 1, 1, whole.data()));
    CHECK_OK(launch(stream, kernel_of(module, "half<double>").get(), 1, 1, wide.data()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(real[0] == 4.5f);
    CHECK(whole[0] == 35);
    CHECK(wide[0] == 2.5);
    gpo_kernel_t none = nullptr;
    CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_kernel(module, "scale", &none));
}

TEST_CASE("options and headers reach the compiler") {
    Gpu gpu;
    const char* options_given[] = {"-DVALUE=42", "--std=c++17"};
    const char* names[] = {"mine.h", "deep/other.h"};
    const char* texts[] = {"#include \"deep/other.h\"\n#define TWICE (2 * OTHER)\n", "#define OTHER 4\n"};
    auto options = options_for("#include \"mine.h\"\n"
                               "extern \"C\" __global__ void f(int* out) { *out = VALUE + TWICE; }\n");
    options.options = options_given;
    options.option_count = 2;
    options.header_names = names;
    options.header_texts = texts;
    options.header_count = 2;
    Module module;
    REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
    Pinned<int> out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    CHECK_OK(launch(stream, kernel_of(module, "f").get(), 1, 1, out.data()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 50);
}

TEST_CASE("a source that doesn't compile gives the first error with its line, and the whole text in the log") {
    Gpu gpu;
    const auto options = options_for("__global__ void f() {\n    int x = undeclared;\n    other();\n}\n");
    gpo_module_t module = nullptr;
    CHECK_STATUS(GPO_COMPILE_FAILED, gpo_module_compile(gpu.device, &options, &module));
    CHECK(module == nullptr);
    const gpo_error error = last_error();
    CHECK(contains(error.message, "test.cu"));
    CHECK(contains(error.message, "2"));
    CHECK(contains(error.message, "undeclared"));
    CHECK(contains(compile_log(), "undeclared"));
    CHECK(contains(compile_log(), "other"));
    // The refusal doesn't affect the next module.
    compile(gpu, kTwoKernels);
    CHECK_FALSE(contains(compile_log(), "undeclared"));
}

TEST_CASE("requests that make no sense are refused before any compiler runs") {
    Gpu gpu;
    gpo_module_t module = nullptr;
    auto options = options_for(kTwoKernels);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, nullptr, &module));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, nullptr));
    options.source = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, &module));
    options = options_for(kTwoKernels);
    options.flags = 0x80;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, &module));
    options = options_for(kTwoKernels);
    options.option_count = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, &module));
    CHECK(contains(last_error().message, "options.options[0]"));
    options = options_for(kTwoKernels);
    options.header_count = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, &module));
    options = options_for(kTwoKernels);
    options.source_bytes = sizeof kTwoKernels;   // the NUL is inside
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_compile(gpu.device, &options, &module));
    CHECK(module == nullptr);
}

TEST_CASE("a source is taken up to its length where one is given") {
    Gpu gpu;
    const std::string source = std::string(kTwoKernels) + "this is no longer part of it";
    auto options = options_for(source.c_str());
    options.source_bytes = sizeof kTwoKernels - 1;
    Module module;
    CHECK_OK(gpo_module_compile(gpu.device, &options, module.out()));
}

TEST_CASE("a module's image can be kept, loaded again, and works the same") {
    Gpu gpu;
    std::vector<char> image;
    {
        Module module = compile(gpu, kTwoKernels);
        image = image_of(module);
        size_t needed = 0;
        std::vector<char> small(image.size() - 1);
        CHECK_OK(gpo_module_get_image(module, nullptr, 0, nullptr));
        CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_module_get_image(module, small.data(), small.size(), &needed));
        CHECK(needed == image.size());
    }
    Module module;
    REQUIRE_OK(gpo_module_load(gpu.device, image.data(), image.size(), "again", module.out()));
    std::fill(image.begin(), image.end(), 0);   // the bytes may go
    Pinned<int> out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    CHECK_OK(launch(stream, kernel_of(module, "store").get(), 1, 1, out.data(), 3));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 3);
}

TEST_CASE("an image that is cut short, random or of another kind is refused with a sentence") {
    Gpu gpu;
    Module module = compile(gpu, kTwoKernels);
    const std::vector<char> image = image_of(module);
    gpo_module_t none = nullptr;
    for (const size_t size : {size_t{1}, size_t{16}, size_t{64}, image.size() / 2, image.size() - 1}) {
        CAPTURE(size);
        CHECK_STATUS(GPO_INVALID_IMAGE, gpo_module_load(gpu.device, image.data(), size, nullptr, &none));
        CHECK(std::strlen(last_error().message) > 0);
    }
    std::vector<char> random(10'000);
    uint32_t seed = 1;
    for (char& byte : random) byte = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    CHECK_STATUS(GPO_INVALID_IMAGE, gpo_module_load(gpu.device, random.data(), random.size(), nullptr, &none));
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string program(std::istreambuf_iterator<char>(file), {});
    CHECK_STATUS(GPO_INVALID_IMAGE, gpo_module_load(gpu.device, program.data(), program.size(), nullptr, &none));
    const std::string text = "#!/bin/sh\nexit 1\n";
    CHECK_STATUS(GPO_INVALID_IMAGE, gpo_module_load(gpu.device, text.data(), text.size(), nullptr, &none));
    const std::string ptx = ".version 8.2\n.target sm_75\n.address_size 64\nthis is no instruction\n";
    CHECK_STATUS(GPO_INVALID_IMAGE, gpo_module_load(gpu.device, ptx.data(), ptx.size(), nullptr, &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_load(gpu.device, image.data(), 0, nullptr, &none));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_load(gpu.device, nullptr, 10, nullptr, &none));
    CHECK(none == nullptr);
    CHECK_OK(gpo_module_load(gpu.device, image.data(), image.size(), nullptr, &none));
    CHECK_OK(gpo_module_destroy(none));
}

TEST_CASE("variables of a module are read and written from the host, each load having its own") {
    Gpu gpu;
    Module module = compile(gpu, kVariables);
    const std::vector<char> image = image_of(module);
    Module second;
    REQUIRE_OK(gpo_module_load(gpu.device, image.data(), image.size(), nullptr, second.out()));
    uint64_t total = 0, weights = 0, bytes = 0, other_total = 0;
    REQUIRE_OK(gpo_module_get_symbol(module, "total", &total, &bytes));
    CHECK(bytes == sizeof(int));
    REQUIRE_OK(gpo_module_get_symbol(module, "weights", &weights, &bytes));
    CHECK(bytes == 4 * sizeof(int));
    REQUIRE_OK(gpo_module_get_symbol(second, "total", &other_total, nullptr));
    CHECK(total != other_total);

    Stream stream = gpu.stream();
    auto values = gpu.pinned<int>(4);
    std::iota(values.begin(), values.end(), 10);
    auto read_back = gpu.pinned<int>(2);
    REQUIRE_OK(gpo_copy_to_device(stream, weights, values.data(), values.bytes()));
    CHECK_OK(launch(stream, kernel_of(module, "sum").get(), 1, 1));
    CHECK_OK(launch(stream, kernel_of(second, "sum").get(), 1, 1));
    REQUIRE_OK(gpo_copy_to_host(stream, &read_back[0], total, sizeof(int)));
    REQUIRE_OK(gpo_copy_to_host(stream, &read_back[1], other_total, sizeof(int)));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read_back[0] == 100 + 10 + 11 + 12 + 13);
    CHECK(read_back[1] == 100 + 1 + 2 + 3 + 4);

    CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_symbol(module, "absent", &total, &bytes));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_module_get_symbol(module, nullptr, &total, &bytes));
}

TEST_CASE("a second compilation of one source comes from the cache, and does the same") {
    Folder folder;
    for (int turn = 0; turn < 2; ++turn) {
        CAPTURE(turn);
        auto options = sized<gpo_runtime_options>();
        options.cache = folder.path.c_str();
        Gpu gpu(options);
        const char* expressions[] = {"half<double>"};
        auto compile_options = options_for(kTemplates);
        compile_options.name_expressions = expressions;
        compile_options.name_expression_count = 1;
        Module module;
        REQUIRE_OK(gpo_module_compile(gpu.device, &compile_options, module.out()));
        CHECK(entries(folder) == 1);
        auto value = gpu.pinned<double>(1);
        value[0] = 3;
        Stream stream = gpu.stream();
        CHECK_OK(launch(stream, kernel_of(module, "half<double>").get(), 1, 1, value.data()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(value[0] == 1.5);
    }
}

TEST_CASE("a compilation may pass the cache by, and a failed one leaves nothing in it") {
    Folder folder;
    auto options = sized<gpo_runtime_options>();
    options.cache = folder.path.c_str();
    Gpu gpu(options);
    auto compile_options = options_for(kTwoKernels);
    compile_options.flags = GPO_COMPILE_NO_CACHE;
    Module module;
    REQUIRE_OK(gpo_module_compile(gpu.device, &compile_options, module.out()));
    CHECK(entries(folder) == 0);
    compile_options = options_for("__global__ void f() { nonsense }");
    gpo_module_t none = nullptr;
    CHECK_STATUS(GPO_COMPILE_FAILED, gpo_module_compile(gpu.device, &compile_options, &none));
    CHECK(entries(folder) == 0);
}

TEST_CASE("a broken entry of the cache is compiled anew") {
    Folder folder;
    auto options = sized<gpo_runtime_options>();
    options.cache = folder.path.c_str();
    Gpu gpu(options);
    compile(gpu, kTwoKernels);
    REQUIRE(entries(folder) == 1);
    std::string entry;
    for (const auto& file : fs::directory_iterator(folder.path))
        if (file.path().extension() == ".kernel") entry = file.path();
    const auto size = fs::file_size(entry);
    for (const uintmax_t cut : {uintmax_t{0}, size / 2, size - 1}) {
        fs::resize_file(entry, cut);
        compile(gpu, kTwoKernels);
        CHECK(fs::file_size(entry) == size);
    }
}

TEST_CASE("a cache folder that others may write to is not used, and that is said once") {
    Folder folder;
    REQUIRE(chmod(folder.path.c_str(), 0777) == 0);
    std::vector<std::string> lines;
    auto options = sized<gpo_runtime_options>();
    options.cache = folder.path.c_str();
    options.log = [](void* user, int32_t, const char* text) {
        static_cast<std::vector<std::string>*>(user)->push_back(text);
    };
    options.log_user = &lines;
    Gpu gpu(options);
    compile(gpu, kTwoKernels);
    compile(gpu, kVariables);
    CHECK(entries(folder) == 0);
    size_t said = 0;
    for (const std::string& line : lines) said += contains(line, "not cached");
    CHECK(said == 1);
}

TEST_CASE("the built-in kernels need no compiler and compute what they say, in grids of any shape") {
    Gpu gpu;
    Module module;
    REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
    constexpr uint64_t n = 100'003;
    Stream stream = gpu.stream();
    auto x = gpu.pinned<float>(n), y = gpu.pinned<float>(n), z = gpu.pinned<float>(n), sum = gpu.pinned<float>(1);
    auto words = gpu.pinned<uint32_t>(n), copy = gpu.pinned<uint32_t>(n);
    auto bytes = gpu.pinned<uint8_t>(n);
    auto bins = gpu.pinned<uint64_t>(256);
    Kernel fill = kernel_of(module, "gpo_fill_u32"), copy_words = kernel_of(module, "gpo_copy_u32"),
           scale_add = kernel_of(module, "gpo_scale_add_f32"), add = kernel_of(module, "gpo_add_f32"),
           histogram = kernel_of(module, "gpo_histogram_u8"), reduce = kernel_of(module, "gpo_reduce_add_f32");

    struct Shape {
        uint32_t grid[3], block[3];
    };
    for (const Shape& shape : {Shape{{1, 1, 1}, {1, 1, 1}}, Shape{{7, 1, 1}, {256, 1, 1}}, Shape{{3, 2, 2}, {5, 3, 2}},
                               Shape{{400, 1, 1}, {1000, 1, 1}}}) {
        CAPTURE(shape.grid[0]);
        for (uint64_t i = 0; i < n; ++i) {
            x[i] = static_cast<float>(i % 1000);
            y[i] = 1;
            z[i] = 0;
            copy[i] = 0;
            bytes[i] = static_cast<uint8_t>(i * i / 7);
        }
        for (uint64_t& bin : bins) bin = 5;
        sum[0] = 3;
        const auto put = [&](gpo_kernel_t kernel, std::vector<const void*> arguments) {
            auto where = sized<gpo_launch>();
            for (int i = 0; i < 3; ++i) {
                where.grid[i] = shape.grid[i];
                where.block[i] = shape.block[i];
            }
            REQUIRE_OK(gpo_stream_launch_kernel(stream, kernel, &where, arguments.data(), nullptr,
                                         static_cast<uint32_t>(arguments.size())));
        };
        uint32_t *words_at = words.data(), *copy_at = copy.data();
        float *x_at = x.data(), *y_at = y.data(), *z_at = z.data(), *sum_at = sum.data();
        uint64_t* bins_at = bins.data();
        uint8_t* bytes_at = bytes.data();
        const uint32_t value = 0xdeadbeef;
        const float a = 2;
        put(fill, {&words_at, &value, &n});
        put(copy_words, {&copy_at, &words_at, &n});
        put(scale_add, {&y_at, &x_at, &a, &n});
        put(add, {&z_at, &x_at, &y_at, &n});
        put(histogram, {&bins_at, &bytes_at, &n});
        put(reduce, {&sum_at, &x_at, &n});
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));

        std::vector<uint64_t> expected_bins(256, 5);
        double expected_sum = 3;
        bool same = true;
        for (uint64_t i = 0; i < n; ++i) {
            same &= copy[i] == value && y[i] == 2 * x[i] + 1 && z[i] == 3 * x[i] + 1;
            ++expected_bins[bytes[i]];
            expected_sum += x[i];
        }
        CHECK(same);
        CHECK(std::vector<uint64_t>(bins.begin(), bins.end()) == expected_bins);
        CHECK(std::abs(sum[0] - expected_sum) / expected_sum < 1e-3);
    }
}

TEST_CASE("the built-in kernels touch nothing where there is nothing to do, nor beyond the end") {
    Gpu gpu;
    Module module;
    REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
    Stream stream = gpu.stream();
    auto words = gpu.pinned<uint32_t>(10);
    CHECK_OK(launch(stream, kernel_of(module, "gpo_fill_u32").get(), 2, 32, words.data(), uint32_t{1}, uint64_t{0}));
    CHECK_OK(launch(stream, kernel_of(module, "gpo_fill_u32").get(), 2, 32, words.data(), uint32_t{2}, uint64_t{9}));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(words[0] == 2);
    CHECK(words[8] == 2);
    CHECK(words[9] == 0);
}

TEST_CASE("a module and its image outlive each other's handles") {
    Gpu gpu;
    Module module;
    REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
    const std::vector<char> image = image_of(module);
    Kernel kernel = kernel_of(module, "gpo_fill_u32");
    const gpo_module_t stale = module.get();
    module.reset();
    gpo_kernel_t none = nullptr;
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_module_get_kernel(stale, "gpo_fill_u32", &none));
    auto words = gpu.pinned<uint32_t>(4);
    Stream stream = gpu.stream();
    CHECK_OK(launch(stream, kernel.get(), 1, 32, words.data(), uint32_t{9}, uint64_t{4}));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(words[3] == 9);
    REQUIRE_OK(gpo_module_load(gpu.device, image.data(), image.size(), nullptr, module.out()));
    kernel_of(module, "gpo_add_f32");
}

TEST_CASE("loads of modules and kernels are counted as serialising calls") {
    Gpu gpu;
    const uint64_t before = gpu.statistics().module_loads;
    Module module = compile(gpu, kTwoKernels);
    const uint64_t loaded = gpu.statistics().module_loads;
    CHECK(loaded > before);
    Kernel kernel = kernel_of(module, "plain");
    const uint64_t described = gpu.statistics().module_loads;
    Pinned<int> out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    for (int i = 0; i < 10; ++i) CHECK_OK(launch(stream, kernel.get(), 1, 1, out.data()));
    Kernel again = kernel_of(module, "plain");
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(gpu.statistics().module_loads == described);
}
