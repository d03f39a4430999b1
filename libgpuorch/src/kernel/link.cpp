#include "kernel/link.h"

#include <cstring>
#include <vector>

#include "base/text.h"

namespace gpo::kernel {

namespace {

constexpr size_t kLinkerLogBytes = 64 * 1024;

/// Options and buffers that cuLinkCreate needs for as long as the linker exists.
struct LinkerLogs {
    std::vector<char> info = std::vector<char>(kLinkerLogBytes), errors = std::vector<char>(kLinkerLogBytes);
    CUjit_option options[4] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                               CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[4] = {info.data(), reinterpret_cast<void*>(kLinkerLogBytes), errors.data(),
                       reinterpret_cast<void*>(kLinkerLogBytes)};

    static std::string lines_of(const std::vector<char>& buffer) {
        std::string lines(buffer.data(), strnlen(buffer.data(), buffer.size()));
        while (!lines.empty() && lines.back() == '\n') lines.pop_back();
        return lines;
    }
};

gpo_status status_of_linking(CUresult result, gpo_status otherwise, bool explained) noexcept {
    switch (result) {
        case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        case CUDA_ERROR_FILE_NOT_FOUND: return GPO_NO_COMPILER;
        case CUDA_ERROR_OUT_OF_MEMORY: return GPO_OUT_OF_MEMORY;
        default: break;
    }
    if (otherwise == GPO_INVALID_IMAGE) return GPO_COMPILE_FAILED;
    return explained && !is_sticky(result) ? GPO_COMPILE_FAILED : otherwise;
}

/// One link. Inside a DriverScope.
class Linker {
public:
    Linker(Context& context, driver::CompileResult& result) : context_(context), result_(result) {
        check(context.table().cuLinkCreate(4, logs_.options, logs_.values, &state_), "cuLinkCreate");
    }
    ~Linker() {
        if (state_) context_.table().cuLinkDestroy(state_);
    }
    Linker(const Linker&) = delete;
    Linker& operator=(const Linker&) = delete;

    void add_image(std::vector<std::byte>& image) {
        const bool cubin = image.size() > 4 && std::memcmp(image.data(), "\177ELF", 4) == 0;
        check(context_.table().cuLinkAddData(state_, cubin ? CU_JIT_INPUT_CUBIN : CU_JIT_INPUT_PTX, image.data(),
                                             image.size(), "the module", 0, nullptr, nullptr),
              "cuLinkAddData");
    }

    void add_library(const std::string& path) {
        check(context_.table().cuLinkAddFile(state_, CU_JIT_INPUT_LIBRARY, path.c_str(), 0, nullptr, nullptr),
              "cuLinkAddFile", path);
    }

    std::vector<std::byte> finish() {
        void* image = nullptr;  // the linker's
        size_t bytes = 0;
        check(context_.table().cuLinkComplete(state_, &image, &bytes), "cuLinkComplete");
        add_to_log(logs_.lines_of(logs_.info));
        const auto* begin = static_cast<const std::byte*>(image);
        return {begin, begin + bytes};
    }

private:
    void add_to_log(const std::string& lines) {
        if (lines.empty()) return;
        if (!result_.log.empty()) result_.log += '\n';
        result_.log += lines;
    }

    void check(CUresult result, const char* function, const std::string& file = {}) {
        if (result == CUDA_SUCCESS) return;
        const std::string said = logs_.lines_of(logs_.errors);
        add_to_log(said);
        auto error = std::make_shared<Error>(*context_.error_of(result, function));
        error->status = status_of_linking(result, error->status, !said.empty());
        if (!file.empty()) error->message += text(" (", file, ")");
        if (!said.empty()) error->message += ": " + said.substr(0, said.find('\n'));
        throw Failure(std::move(error));
    }

    Context& context_;
    driver::CompileResult& result_;
    LinkerLogs logs_;
    CUlinkState state_ = nullptr;
};

}  // namespace

void link(Context& context, driver::CompileResult& result) {
    const driver::Table& table = context.table();
    if (!table.cuLinkCreate || !table.cuLinkAddData || !table.cuLinkAddFile || !table.cuLinkComplete ||
        !table.cuLinkDestroy)
        fail(GPO_NOT_SUPPORTED, "this driver has no linker, which kernels that launch kernels need");
    DriverScope scope(context);
    Linker linker(context, result);
    linker.add_image(result.image);
    linker.add_library(result.device_runtime);
    result.image = linker.finish();
    result.device_runtime.clear();
}

}  // namespace gpo::kernel
