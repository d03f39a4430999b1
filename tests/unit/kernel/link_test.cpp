// Kernels that launch kernels on a CUDA device: the driver links the compiler's output before loading. The driver here
// is the software GPU's with a linker and a compiler of the test's.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "gpuorch/gpuorch.h"
#include "support/files.h"
#include "support/soft.h"

namespace {

using gpo::driver::CompileRequest;
using gpo::driver::CompileResult;

constexpr const char* kRuntimePath = "/toolkit/lib/libcudadevrt.a";

/// The fake linker's answers, and a record of the calls to it.
struct LinkerPlan {
    const char* fails = "";  // the function that fails, with `result` and `error`
    CUresult result = CUDA_SUCCESS;
    std::string error, info;
    const char* image = "\177ELF relocatable";
    std::string linked;

    std::vector<std::string> calls;
    int open = 0;
    void *info_buffer = nullptr, *error_buffer = nullptr;

    CUresult answer(const char* function) {
        calls.emplace_back(function);
        if (std::strcmp(function, fails) != 0) return CUDA_SUCCESS;
        if (error_buffer) std::strcpy(static_cast<char*>(error_buffer), error.c_str());
        return result;
    }
};
LinkerPlan linker_plan;

CUresult CUDAAPI fake_link_create(unsigned count, CUjit_option* options, void** values, CUlinkState* state) {
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == CU_JIT_INFO_LOG_BUFFER) linker_plan.info_buffer = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) linker_plan.error_buffer = values[i];
    }
    const CUresult result = linker_plan.answer("create");
    if (result != CUDA_SUCCESS) return result;
    ++linker_plan.open;
    *state = reinterpret_cast<CUlinkState>(&linker_plan);
    return CUDA_SUCCESS;
}
CUresult CUDAAPI fake_link_data(CUlinkState, CUjitInputType type, void*, size_t, const char*, unsigned, CUjit_option*,
                                void**) {
    linker_plan.calls.emplace_back(type == CU_JIT_INPUT_CUBIN ? "cubin" : type == CU_JIT_INPUT_PTX ? "ptx" : "other");
    return linker_plan.answer("data");
}
CUresult CUDAAPI fake_link_file(CUlinkState, CUjitInputType type, const char* path, unsigned, CUjit_option*, void**) {
    linker_plan.calls.emplace_back(type == CU_JIT_INPUT_LIBRARY ? path : "no library");
    return linker_plan.answer("file");
}
CUresult CUDAAPI fake_link_complete(CUlinkState, void** image, size_t* bytes) {
    *image = linker_plan.linked.data();
    *bytes = linker_plan.linked.size();
    if (linker_plan.info_buffer) std::strcpy(static_cast<char*>(linker_plan.info_buffer), linker_plan.info.c_str());
    return linker_plan.answer("complete");
}
CUresult CUDAAPI fake_link_destroy(CUlinkState) {
    --linker_plan.open;
    return CUDA_SUCCESS;
}

class UnlinkedCompilation final : public gpo::driver::Compilation {
public:
    explicit UnlinkedCompilation(bool launches) : launches_(launches) {}
    const std::string* inputs() const override { return &none_; }
    CompileResult finish() override {
        linker_plan.calls.emplace_back(launches_ ? "compile launching" : "compile");
        CompileResult result;
        result.ok = true;
        result.log = "compiled";
        const std::string image = launches_ ? linker_plan.image : linker_plan.linked;
        const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
        result.image.assign(bytes, bytes + image.size());
        if (launches_) result.device_runtime = kRuntimePath;
        return result;
    }

private:
    const bool launches_;
    const std::string none_;
};

class UnlinkedCompiler final : public gpo::driver::Compiler {
public:
    std::unique_ptr<gpo::driver::Compilation> begin(const CompileRequest& request) override {
        return std::make_unique<UnlinkedCompilation>(request.dynamic_parallelism);
    }
    std::string identity() override { return "one that doesn't link"; }
};

struct LinkingDriver final : gpo::driver::Driver {
    LinkingDriver(std::shared_ptr<Driver> soft, bool linker) : soft_(std::move(soft)) {
        name = soft_->name;
        version = soft_->version;
        software = soft_->software;
        reports_faults = soft_->reports_faults;
        builtin_image = soft_->builtin_image;
        table = soft_->table;
        table.cuLinkCreate = linker ? fake_link_create : nullptr;
        table.cuLinkAddData = fake_link_data;
        table.cuLinkAddFile = fake_link_file;
        table.cuLinkComplete = fake_link_complete;
        table.cuLinkDestroy = fake_link_destroy;
    }
    gpo::driver::Compiler& compiler() override { return compiler_; }

private:
    const std::shared_ptr<Driver> soft_;
    UnlinkedCompiler compiler_;
};

/// A device of the driver with the fake linker.
struct LinkingWorld {
    explicit LinkingWorld(bool linker = true, const char* cache = "") {
        linker_plan = LinkerPlan();
        gpo::driver::set_interposer([linker](std::shared_ptr<gpo::driver::Driver> driver) {
            linker_plan.linked = driver->builtin_image;
            return std::make_shared<LinkingDriver>(std::move(driver), linker);
        });
        auto options = gpo::test::sized<gpo_runtime_options>();
        options.device = "soft";
        options.cache = cache;
        REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
    }
    ~LinkingWorld() {
        CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        gpo::driver::set_interposer({});
        CHECK(linker_plan.open == 0);
    }

    gpo_status compile(uint32_t flags = GPO_COMPILE_DYNAMIC_PARALLELISM) {
        auto options = gpo::test::sized<gpo_compile_options>();
        options.source = "any";
        options.flags = flags;
        options.label = "mine";
        gpo_module_t module = nullptr;
        const gpo_status status = gpo_module_compile(device, &options, &module);
        if (status == GPO_SUCCESS) {
            gpo_kernel_t kernel = nullptr;
            CHECK(gpo_module_get_kernel(module, "gpo_fill_u32", &kernel) == GPO_SUCCESS);
            CHECK(gpo_kernel_destroy(kernel) == GPO_SUCCESS);
            CHECK(gpo_module_destroy(module) == GPO_SUCCESS);
        }
        return status;
    }

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
};

gpo_error last_error_of_linking() {
    auto error = gpo::test::sized<gpo_error>();
    CHECK(gpo_last_error(&error) == GPO_SUCCESS);
    return error;
}

std::string compile_log_of_linking() {
    char log[1024] = "";
    CHECK(gpo_last_compile_log(log, sizeof log, nullptr) == GPO_SUCCESS);
    return log;
}

bool has_words(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("an image of kernels that launch kernels is linked with the device runtime, and what was linked is loaded") {
    LinkingWorld world;
    linker_plan.info = "linked with pleasure\n";
    REQUIRE(world.compile() == GPO_SUCCESS);
    CHECK(linker_plan.calls == Calls{"compile launching", "create", "cubin", "data", kRuntimePath, "file", "complete"});
    CHECK(compile_log_of_linking() == "compiled\nlinked with pleasure");
}

TEST_CASE("PTX goes to the linker as such") {
    LinkingWorld world;
    linker_plan.image = "//\n.version 9.0\n";
    REQUIRE(world.compile() == GPO_SUCCESS);
    REQUIRE(linker_plan.calls.size() > 2);
    CHECK(linker_plan.calls[2] == "ptx");
}

TEST_CASE("kernels that launch none are not linked") {
    LinkingWorld world;
    REQUIRE(world.compile(0) == GPO_SUCCESS);
    CHECK(linker_plan.calls == Calls{"compile"});
}

TEST_CASE("a linked image comes from the cache the next time, and is another than one that isn't linked") {
    const gpo::test::Folder folder;
    LinkingWorld world(true, folder.path.c_str());
    REQUIRE(world.compile() == GPO_SUCCESS);
    linker_plan.calls.clear();
    REQUIRE(world.compile() == GPO_SUCCESS);
    CHECK(linker_plan.calls.empty());
    REQUIRE(world.compile(0) == GPO_SUCCESS);
    CHECK(linker_plan.calls == Calls{"compile"});
}

TEST_CASE("a link that fails says which function failed and what the linker says, and leaves no linker") {
    struct Row {
        const char *function, *driver_function;
        CUresult result;
        const char* said;
        gpo_status status;
    };
    const Row rows[] = {
        {"create", "cuLinkCreate", CUDA_ERROR_OUT_OF_MEMORY, "", GPO_OUT_OF_MEMORY},
        {"create", "cuLinkCreate", CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "", GPO_NO_COMPILER},
        {"data", "cuLinkAddData", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "too new", GPO_COMPILE_FAILED},
        {"file", "cuLinkAddFile", CUDA_ERROR_FILE_NOT_FOUND, "", GPO_NO_COMPILER},
        {"file", "cuLinkAddFile", CUDA_ERROR_INVALID_IMAGE, "", GPO_COMPILE_FAILED},
        {"complete", "cuLinkComplete", CUDA_ERROR_UNKNOWN, "error: undefined reference to 'f'", GPO_COMPILE_FAILED},
        {"complete", "cuLinkComplete", CUDA_ERROR_UNKNOWN, "", GPO_DRIVER_ERROR},
    };
    for (const Row& row : rows) {
        CAPTURE(row.function);
        CAPTURE(row.result);
        LinkingWorld world;
        linker_plan.fails = row.function;
        linker_plan.result = row.result;
        linker_plan.error = row.said;
        CHECK(world.compile() == row.status);
        const gpo_error error = last_error_of_linking();
        CHECK(std::string(error.function) == row.driver_function);
        CHECK(has_words(error.message, row.said));
        CHECK(error.native_code == row.result);
        CHECK(std::string(error.object) == "module `mine`");
        CHECK(has_words(compile_log_of_linking(), row.said));
        CHECK(linker_plan.open == 0);
    }
}

TEST_CASE("a failure to read the device runtime names the file") {
    LinkingWorld world;
    linker_plan.fails = "file";
    linker_plan.result = CUDA_ERROR_FILE_NOT_FOUND;
    CHECK(world.compile() == GPO_NO_COMPILER);
    CHECK(has_words(last_error_of_linking().message, kRuntimePath));
}

TEST_CASE("a driver without a linker refuses kernels that launch kernels") {
    LinkingWorld world(false);
    CHECK(world.compile() == GPO_NOT_SUPPORTED);
    CHECK(has_words(last_error_of_linking().message, "linker"));
    CHECK(world.compile(0) == GPO_SUCCESS);
}

TEST_CASE("a link during which the context is lost reports the loss") {
    LinkingWorld world;
    linker_plan.fails = "complete";
    linker_plan.result = CUDA_ERROR_ILLEGAL_ADDRESS;
    linker_plan.error = "said something";
    CHECK(world.compile() == GPO_DEVICE_LOST);
}
