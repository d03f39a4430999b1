// Images that were made for some device: each runs where that is the device at hand, and is refused with a sentence
// anywhere else.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

constexpr size_t kMachine = 18;           // where an ELF file has its e_machine
constexpr uint16_t kNvidiaGpu = 190;      // EM_CUDA

/// ELF machine number of an image.
uint16_t machine_of(const std::vector<char>& image) {
    REQUIRE(image.size() > kMachine + 2);
    REQUIRE(std::memcmp(image.data(), "\177ELF", 4) == 0);
    uint16_t machine = 0;
    std::memcpy(&machine, &image[kMachine], sizeof machine);
    return machine;
}

/// A file of tests/images, with what it was made for: NVIDIA's GPUs.
struct Made {
    const char* file;
    bool translatable;  // PTX is in it, for any device of compute capability 7.5 or newer; else it is code for 7.x
                        // from 7.5 on

    /// `own`: an image that was made for the device.
    bool suits(const gpo_device_properties& device, const std::vector<char>& own) const {
        if (machine_of(own) != kNvidiaGpu) return false;
        if (device.compute_capability_major == 7) return device.compute_capability_minor >= 5;
        return translatable && device.compute_capability_major > 7;
    }
};
constexpr Made kMade[] = {
    {"triple.ptx", true}, {"triple.fatbin", true}, {"triple.sm_75.fatbin", false}, {"triple.sm_75.cubin", false}};

std::vector<char> bytes_of(const char* name) {
    std::ifstream file(test_file(std::string("images/") + name), std::ios::binary);
    std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    REQUIRE(bytes.size() > 100);
    return bytes;
}

const char kTriple[] = R"(extern "C" __global__ void triple(unsigned *out, unsigned value) { *out = 3 * value; })";

/// A GPU that loads an image and runs its kernel.
struct Loader {
    Gpu gpu;
    Stream stream = gpu.stream();
    Pinned<uint32_t> out = gpu.pinned<uint32_t>(1);

    void runs(const std::vector<char>& image) {
        Module module;
        Kernel kernel;
        REQUIRE_OK(gpo_module_load(gpu.device, image.data(), image.size(), "made", module.out()));
        REQUIRE_OK(gpo_module_get_kernel(module, "triple", kernel.out()));
        out[0] = 0;
        CHECK_OK(launch(stream, kernel.get(), 1, 1, out.data(), 14u));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(out[0] == 42);
    }
    void is_refused(const std::vector<char>& image) {
        const uint32_t live = gpu.statistics().live_objects;
        gpo_module_t none = nullptr;
        CHECK_STATUS(GPO_INVALID_IMAGE,
                     gpo_module_load(gpu.device, image.data(), image.size(), "made elsewhere", &none));
        CHECK(none == nullptr);
        const gpo_error error = last_error();
        CHECK(std::strlen(error.message) > 20);
        CHECK(std::string(error.object).find("made elsewhere") != std::string::npos);
        CHECK(gpu.statistics().live_objects == live);
    }
    std::vector<char> own() {
        auto options = sized<gpo_compile_options>();
        options.source = kTriple;
        Module module;
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        size_t needed = 0;
        REQUIRE_OK(gpo_module_get_image(module, nullptr, 0, &needed));
        std::vector<char> image(needed);
        REQUIRE_OK(gpo_module_get_image(module, image.data(), image.size(), &needed));
        return image;
    }
};

}  // namespace

TEST_CASE("cubins, fatbins and PTX run on the devices that they were made for, and are refused by others") {
    Loader loader;
    auto device = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_device_get_properties(loader.gpu.device, &device));
    const std::vector<char> own = loader.own();
    for (const Made& made : kMade) {
        CAPTURE(made.file);
        if (made.suits(device, own)) loader.runs(bytes_of(made.file));
        else loader.is_refused(bytes_of(made.file));
        loader.runs(own);   // the refusal doesn't affect the next image
    }
}

/// Numbers by SplitMix64, the same in every run.
struct Numbers {
    uint64_t state;
    size_t below(size_t end) {
        uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return (z ^ z >> 31) % end;
    }
};

/// Damages an image as a disk or a network may: some bits flipped, or a run of bytes zeroed or overwritten.
std::vector<char> damaged(std::vector<char> image, size_t round) {
    Numbers numbers{round};
    const size_t run = 1 + numbers.below(std::min<size_t>(4096, image.size())),
                 at = numbers.below(image.size() - run + 1);
    switch (round % 3) {
        case 0:
            for (size_t flips = 1 + numbers.below(8); flips != 0; --flips)
                image[numbers.below(image.size())] ^= char(1 << numbers.below(8));
            break;
        case 1: std::fill_n(image.begin() + std::ptrdiff_t(at), run, '\0'); break;
        default:
            for (size_t i = 0; i < run; ++i) image[at + i] = char(numbers.below(256));
            break;
    }
    return image;
}

TEST_CASE("a damaged image of the software GPU is refused with a sentence, whatever is damaged") {
    Loader loader;
    const std::vector<char> own = loader.own();
    if (machine_of(own) == kNvidiaGpu) return skip("a GPU's images are checked by its driver");
    size_t refused = 0;
    for (size_t round = 0; round < 900; ++round) {
        const std::vector<char> image = damaged(own, round);
        if (image == own) continue;   // zeros over zeros
        CAPTURE(round);
        loader.is_refused(image);
        ++refused;
    }
    CHECK(refused > 700);
    // Each byte of what stands behind the shared object counts too.
    for (size_t at = own.size() - 64; at < own.size(); ++at) {
        CAPTURE(at);
        std::vector<char> image = own;
        image[at] ^= 0x10;
        loader.is_refused(image);
    }
    loader.runs(own);
}

TEST_CASE("an image for another kind of processor is refused, and as it was before it runs") {
    Loader loader;
    const std::vector<char> own = loader.own();
    for (const uint16_t machine : {uint16_t{0}, uint16_t{8}, uint16_t{243}}) {   // none, MIPS, RISC-V
        CAPTURE(machine);
        REQUIRE(machine_of(own) != machine);
        std::vector<char> image = own;
        std::memcpy(&image[kMachine], &machine, sizeof machine);
        loader.is_refused(image);
    }
    loader.runs(own);
}
