// Kernels that another library puts on a recorded stream: parameters can set their arguments, as far as the driver
// knows them. With cuBLAS, where the machine has it.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "foreign/graph.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

/// All arguments of a template's kernels, each as a parameter, for any kernels.
class Arguments {
public:
    /// Call before the template has a graph.
    explicit Arguments(gpo_template_t recorded) {
        auto figures = sized<gpo_template_statistics>();
        REQUIRE_OK(gpo_template_get_statistics(recorded, &figures));
        for (uint32_t node = 1; node <= figures.nodes; ++node)
            for (uint32_t index = 0; name(recorded, node, index); ++index) {
            }
    }
    /// Replaces an address by another wherever it occurs, also within structs. Returns the number of places.
    uint32_t replace(gpo_graph_t graph, uint64_t from, uint64_t to) const {
        uint32_t places = 0;
        for (const Argument& argument : arguments_) {
            std::vector<unsigned char> value(argument.bytes);
            REQUIRE_OK(gpo_graph_get(graph, argument.name.c_str(), value.data(), value.size()));
            const uint32_t before = places;
            for (size_t at = 0; at + sizeof from <= value.size(); at += sizeof from)
                if (std::memcmp(&value[at], &from, sizeof from) == 0) {
                    std::memcpy(&value[at], &to, sizeof to);
                    ++places;
                }
            if (places == before) continue;
            REQUIRE_OK(gpo_graph_set(graph, argument.name.c_str(), value.data(), value.size()));
        }
        return places;
    }

private:
    struct Argument {
        std::string name;
        uint64_t bytes;
    };
    bool name(gpo_template_t recorded, uint32_t node, uint32_t index) {
        Argument made{std::to_string(node) + "." + std::to_string(index), 0};
        if (gpo_template_add_parameter(recorded, made.name.c_str(), node, GPO_PARAMETER_ARGUMENT, index)) return false;
        REQUIRE_OK(gpo_template_get_parameter(recorded, made.name.c_str(), nullptr, &made.bytes));
        arguments_.push_back(made);
        return true;
    }
    std::vector<Argument> arguments_;
};

/// The C functions of cuBLAS that the test calls. GPUORCH_CUBLAS may name the library's path.
class Cublas {
public:
    Cublas() {
        if (const char* path = std::getenv("GPUORCH_CUBLAS")) {
            std::string other = path;  // beside it, where the loader needn't look
            if (const size_t at = other.rfind("libcublas."); at != std::string::npos) {
                other.replace(at, std::strlen("libcublas."), "libcublasLt.");
                dlopen(other.c_str(), RTLD_NOW | RTLD_GLOBAL);
            }
            library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
        for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
            if (!library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        find(create, "cublasCreate_v2");
        find(destroy, "cublasDestroy_v2");
        find(set_stream, "cublasSetStream_v2");
        find(set_workspace, "cublasSetWorkspace_v2");
        find(sgemm, "cublasSgemm_v2");
    }
    bool there() const noexcept { return create && destroy && set_stream && set_workspace && sgemm; }

    int (*create)(void**) = nullptr;
    int (*destroy)(void*) = nullptr;
    int (*set_stream)(void*, CUstream) = nullptr;
    int (*set_workspace)(void*, void*, size_t) = nullptr;
    int (*sgemm)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*,
                 float*, int) = nullptr;

private:
    template <class Function>
    void find(Function*& function, const char* name) {
        if (library_) function = reinterpret_cast<Function*>(dlsym(library_, name));
    }
    void* library_ = nullptr;
};

/// Square matrices of small whole numbers, column by column: products are exact.
struct Matrices : GraphRig {
    static constexpr int kRows = 64;
    static constexpr size_t kElements = size_t{kRows} * kRows, kBytes = kElements * sizeof(float);
    using Matrix = std::vector<float>;

    Matrices() {
        write(left, 1, 7);
        write(other, 2, 5);
        write(right, 3, 4);
    }
    static Matrix matrix(uint32_t seed, uint32_t most) {
        Matrix made(kElements);
        for (size_t i = 0; i < kElements; ++i) made[i] = static_cast<float>((i * seed + i / kRows) % most);
        return made;
    }
    void write(uint64_t to, uint32_t seed, uint32_t most) {
        const Matrix values = matrix(seed, most);
        std::memcpy(host.data(), values.data(), kBytes);
        RAW_OK(cu.cuMemcpyHtoDAsync(to, host.data(), kBytes, native));
        sync();
    }
    Matrix read(uint64_t from) {
        RAW_OK(cu.cuMemcpyDtoHAsync(host.data(), from, kBytes, native));
        sync();
        return Matrix(host.begin(), host.end());
    }
    static Matrix product(const Matrix& a, const Matrix& b) {
        Matrix c(kElements);
        for (size_t column = 0; column < kRows; ++column)
            for (size_t k = 0; k < kRows; ++k)
                for (size_t row = 0; row < kRows; ++row)
                    c[column * kRows + row] += a[k * kRows + row] * b[column * kRows + k];
        return c;
    }
    void multiply(const Cublas& cublas, void* handle) {
        const float one = 1, zero = 0;
        const auto at = [](uint64_t address) { return reinterpret_cast<float*>(address); };
        REQUIRE(cublas.sgemm(handle, 0, 0, kRows, kRows, kRows, &one, at(left), kRows, at(right), kRows, &zero,
                             at(out_matrix), kRows) == 0);
    }
    bool software() {
        auto info = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(runtime, &info));
        return info.software != 0;
    }

    Memory left = memory(kBytes), other = memory(kBytes), right = memory(kBytes), out_matrix = memory(kBytes);
    Pinned<float> host = pinned<float>(kElements);
};

/// A product that cuBLAS put into a recording, launched with other inputs.
void multiply_by_a_graph(bool own_workspace) {
    Matrices m;
    if (m.software()) return skip("cuBLAS has no software GPU");
    const Cublas cublas;
    if (!cublas.there()) return skip("no libcublas here");
    constexpr size_t kWorkspace = 32 << 20;
    const Memory workspace = m.memory(kWorkspace);
    void* handle = nullptr;
    REQUIRE(cublas.create(&handle) == 0);
    REQUIRE(cublas.set_stream(handle, m.native) == 0);
    if (own_workspace)
        REQUIRE(cublas.set_workspace(handle, reinterpret_cast<void*>(uint64_t{workspace}), kWorkspace) == 0);
    m.multiply(cublas, handle);  // loads what it needs
    m.sync();

    Template recorded;
    Graph graph;
    REQUIRE_OK(gpo_template_create(m.device, nullptr, recorded.out()));
    REQUIRE_OK(gpo_template_begin(recorded, m.on));
    m.multiply(cublas, handle);
    REQUIRE_OK(gpo_template_end(recorded));
    const Arguments arguments(recorded);
    REQUIRE_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    const auto run = [&] {
        RAW_OK(m.cu.cuMemsetD32Async(m.out_matrix, 0, Matrices::kElements, m.native));
        REQUIRE_OK(gpo_graph_launch(graph, m.on));
        return m.read(m.out_matrix);
    };
    const Matrices::Matrix right = m.matrix(3, 4);
    CHECK((run() == Matrices::product(m.matrix(1, 7), right)));
    const uint32_t places = arguments.replace(graph, m.left, m.other);
    MESSAGE("the address of a factor is in ", places, " places of the kernels' arguments");
    if (places != 0) CHECK((run() == Matrices::product(m.matrix(2, 5), right)));
    m.write(places ? m.other : m.left, 5, 3);
    CHECK((run() == Matrices::product(m.matrix(5, 3), right)));
    graph.reset();
    REQUIRE(cublas.destroy(handle) == 0);
}

}  // namespace

TEST_CASE("an address within a struct that another library's kernel takes is set by a parameter") {
    GraphRig rig;
    const char* const source = R"(
struct Task { unsigned before; unsigned *words[2]; unsigned by; };
extern "C" __global__ void perform(unsigned times, Task task) { *task.words[1] += task.by * times; }
)";
    struct Task {
        uint32_t before;
        uint64_t words[2];
        uint32_t by;
    } task{1, {rig.word(5), rig.word(0)}, 4};
    Kernel kernel = rig.kernel(source, "perform");
    if (!tells_parameters(kernel)) return skip("this driver can't tell the sizes of a kernel's arguments");
    const CUfunction function = gpo::Pin<gpo::Kernel>(kernel.get())->native();
    uint32_t times = 2;
    void* given[] = {&times, &task};
    Template recorded;
    REQUIRE_OK(gpo_template_create(rig.device, nullptr, recorded.out()));
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    RAW_OK(rig.cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, rig.native, given, nullptr));
    REQUIRE_OK(gpo_template_end(recorded));
    uint32_t node = 0;
    CHECK_OK(gpo_template_find_node(recorded, "perform", &node));
    CHECK(node == 1);
    const Arguments arguments(recorded);
    Graph graph;
    REQUIRE_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    CHECK(arguments.replace(graph, rig.word(0), rig.word(1)) == 1);
    CHECK(arguments.replace(graph, rig.word(0), rig.word(1)) == 0);
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    CHECK(rig.value(0) == 0);
    CHECK(rig.value(1) == 8);
}

TEST_CASE("a product of matrices that cuBLAS puts into a recording is launched with another factor") {
    multiply_by_a_graph(true);
}

TEST_CASE("cuBLAS with a workspace of its own is recorded and launched, too") { multiply_by_a_graph(false); }
