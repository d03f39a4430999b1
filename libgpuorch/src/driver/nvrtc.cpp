#include "driver/nvrtc.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>

#include "base/environment.h"
#include "base/text.h"
#include "driver/device_runtime.h"
#include "driver/library.h"
#include "driver/nvrtc_includes.h"
#include "driver/nvrtc_reads.h"
#include "host/host.h"

namespace gpo::driver {

namespace nvrtc {

// nvrtc.h comes with another wheel than cuda.h: these few prototypes have not changed since CUDA 11.
struct Program;
using Result = int;
inline constexpr Result kSuccess = 0;

#define GPO_NVRTC_FUNCTIONS(X)                                                                                   \
    X(nvrtcVersion, Result(int*, int*))                                                                          \
    X(nvrtcGetErrorString, const char*(Result))                                                                  \
    X(nvrtcGetNumSupportedArchs, Result(int*))                                                                   \
    X(nvrtcGetSupportedArchs, Result(int*))                                                                      \
    X(nvrtcCreateProgram, Result(Program**, const char*, const char*, int, const char* const*, const char* const*)) \
    X(nvrtcDestroyProgram, Result(Program**))                                                                    \
    X(nvrtcCompileProgram, Result(Program*, int, const char* const*))                                            \
    X(nvrtcGetPTXSize, Result(Program*, size_t*))                                                                \
    X(nvrtcGetPTX, Result(Program*, char*))                                                                      \
    X(nvrtcGetCUBINSize, Result(Program*, size_t*))                                                              \
    X(nvrtcGetCUBIN, Result(Program*, char*))                                                                    \
    X(nvrtcGetProgramLogSize, Result(Program*, size_t*))                                                         \
    X(nvrtcGetProgramLog, Result(Program*, char*))                                                               \
    X(nvrtcAddNameExpression, Result(Program*, const char*))                                                     \
    X(nvrtcGetLoweredName, Result(Program*, const char*, const char**))

struct Loaded {
#define X(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
    GPO_NVRTC_FUNCTIONS(X)
#undef X
    std::string path;
    int major = 0, minor = 0;
    std::vector<int> architectures;       // ascending: 75, 80, …
    Includes includes;                    // the toolkit's folders
};

namespace {

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// Loads NVRTC's library of built-ins. NVRTC opens this library by its bare name, which works only if the library is
/// already loaded or on the search path.
void load_builtins(const Loaded& library) {
    const std::string folder = folder_of(library.path);
    if (folder.empty()) return;
    std::string tried;
    Library::open({text(folder, "/libnvrtc-builtins.so.", library.major, ".", library.minor)}, &tried).stay();
}

/// A text that changes with the state of an include folder, for example by an upgrade in place. The text has the times
/// and sizes of the folder and of some headers. The folder's time changes when entries are added or removed; cuda.h
/// names the version.
std::string state_of(const std::string& folder) {
    std::string state;
    for (const char* name : {"", "/cuda.h", "/cuda_fp16.h", "/cuda_fp16.hpp", "/cooperative_groups.h", "/nv/target"}) {
        struct stat status;
        if (stat((folder + name).c_str(), &status) == 0)
            state += text(" ", uint64_t(status.st_mtim.tv_sec), ".", uint64_t(status.st_mtim.tv_nsec), ".",
                          uint64_t(status.st_size));
    }
    return state;
}

/// Loads the NVRTC with this name or path. NULL if it can't be used, with the reason added to `tried`.
const Loaded* load(const std::string& name, std::string* tried) {
    Library opened = Library::open({name}, tried);
    if (!opened) return nullptr;
    auto library = std::make_unique<Loaded>();
#define X(function, ...) \
    if (!opened.required(#function, library->function, tried)) return nullptr;
    GPO_NVRTC_FUNCTIONS(X)
#undef X
    opened.stay();
    int count = 0;
    if (library->nvrtcVersion(&library->major, &library->minor) != kSuccess || library->major < 12 ||
        library->nvrtcGetNumSupportedArchs(&count) != kSuccess || count <= 0) {
        add_tried(tried,
                  text(name, " is of CUDA ", library->major, ".", library->minor, ", and 12.0 or newer is needed"));
        return nullptr;
    }
    library->architectures.resize(static_cast<size_t>(count));
    library->nvrtcGetSupportedArchs(library->architectures.data());
    std::sort(library->architectures.begin(), library->architectures.end());
    library->path = opened.path();
    load_builtins(*library);
    library->includes = find_includes(folder_of(library->path), library->major, "/usr/local");
    return library.release();   // kept for the life of the process, like the library itself
}

/// The library, loaded once. After a failure, the next call tries again.
const Loaded* library(int driver_version, std::string* tried) {
    static std::atomic<const Loaded*> ready{nullptr};
    static host::Mutex lock;
    if (const Loaded* loaded = ready.load(std::memory_order_acquire)) return loaded;
    std::lock_guard guard(lock);
    if (const Loaded* loaded = ready.load(std::memory_order_acquire)) return loaded;
    for (const std::string& name : candidates(driver_version)) {
        if (const Loaded* loaded = load(name, tried)) {
            ready.store(loaded, std::memory_order_release);
            return loaded;
        }
    }
    return nullptr;
}

class OwnProgram {
public:
    explicit OwnProgram(const Loaded& library) : library_(library) {}
    ~OwnProgram() {
        if (program_) library_.nvrtcDestroyProgram(&program_);
    }
    Program** out() { return &program_; }
    Program* get() const { return program_; }

private:
    const Loaded& library_;
    Program* program_ = nullptr;
};

bool starts_with_one_of(const std::string& option, std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return option.compare(0, prefix.size(), prefix) == 0; });
}

}  // namespace

std::vector<std::string> candidates(int driver_version) {
    if (const char* path = environment::get("GPUORCH_NVRTC"); path && *path) return {path};
    std::vector<int> majors = {13, 12};
    if (driver_version < 13000) std::swap(majors[0], majors[1]);
    std::vector<std::string> names;
    for (const int major : majors) {
        names.push_back(text("libnvrtc.so.", major));
        for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"})
            names.push_back(text(folder, "/libnvrtc.so.", major));
        names.push_back(text("/usr/local/cuda-", major, "/lib64/libnvrtc.so.", major));
    }
    names.push_back("libnvrtc.so");
    return names;
}

}  // namespace nvrtc

std::string NvrtcCompiler::identity() {
    std::string tried;
    const nvrtc::Loaded* library = nvrtc::library(version_, &tried);
    if (!library) return "none";
    std::string identity = text("nvrtc ", library->major, ".", library->minor);
    for (const std::string& include : library->includes.folders) identity += " " + include + nvrtc::state_of(include);
    // The library's own headers count too: another version of libgpuorch with other headers makes other images.
    std::string ours;
    for (const auto& [name, body] : nvrtc::own_headers()) ours += text(name, "\n", body);
    return identity + text(" headers ", uint64_t{std::hash<std::string>()(ours)});
}

namespace {

using namespace nvrtc;

/// Texts in NVRTC's log for a kernel that launches kernels, but is compiled without --relocatable-device-code.
constexpr std::string_view kSaysOfLaunches[] = {
    "required runtime APIs are not declared", "requires separate compilation mode",
    "\"cudaStreamTailLaunch\" is undefined", "\"cudaStreamFireAndForget\" is undefined"};
constexpr char kLaunchesNeedFlag[] =
    "error: a kernel that launches kernels is compiled with the flag GPO_COMPILE_DYNAMIC_PARALLELISM\n";

bool is_about_launches(const std::string& log) {
    return std::any_of(std::begin(kSaysOfLaunches), std::end(kSaysOfLaunches),
                       [&](std::string_view words) { return log.find(words) != std::string::npos; });
}

DeviceRuntime device_runtime_of(const Loaded& library) {
    return find_device_runtime(folder_of(library.path), library.major, "/usr/local");
}

// A single compilation. Call the functions in the order of their declaration. A function that returns false has added
// the reason to the log.
class OwnCompilation {
public:
    OwnCompilation(const Loaded& library, const CompileRequest& request)
        : library_(library), request_(request), program_(library) {}

    bool create_program() {
        // The caller's headers replace the library's headers of the same name.
        std::vector<const char*> names, texts;
        for (const auto& [name, body] : request_.headers) {
            names.push_back(name.c_str());
            texts.push_back(body.c_str());
        }
        for (const auto& [name, body] : own_headers()) {
            const bool given = std::any_of(request_.headers.begin(), request_.headers.end(),
                                           [name = name](const auto& header) { return header.first == name; });
            if (given) continue;
            names.push_back(name);
            texts.push_back(body);
        }
        const Result created =
            library_.nvrtcCreateProgram(program_.out(), request_.source.c_str(), request_.file_name.c_str(),
                                        static_cast<int>(names.size()), texts.data(), names.data());
        if (created != kSuccess) return refused("nvrtcCreateProgram", created);
        for (const std::string& expression : request_.name_expressions) {
            const Result added = library_.nvrtcAddNameExpression(program_.get(), expression.c_str());
            if (added != kSuccess) return refused("nvrtcAddNameExpression", added);
        }
        return true;
    }

    // Chooses the output. An architecture in the caller's options has priority. Otherwise the output is a cubin for the
    // device's architecture. If this NVRTC doesn't know that architecture, the output is PTX for the newest older one,
    // which the driver translates.
    bool choose_architecture() {
        bool given = false;
        for (const std::string& option : request_.options) {
            if (!starts_with_one_of(option, {"--gpu-architecture", "-arch"})) continue;
            given = true;
            cubin_ = option.find("sm_") != std::string::npos;
        }
        if (given) return true;
        const auto& known = library_.architectures;
        const int wanted = request_.compute_capability;
        const auto above = std::upper_bound(known.begin(), known.end(), wanted);
        if (above == known.begin()) {
            out_.log = text("error: NVRTC ", library_.major, ".", library_.minor, " has no architecture for a device ",
                            "of compute capability ", wanted / 10, ".", wanted % 10, "; its oldest is ",
                            known.front() / 10, ".", known.front() % 10);
            return false;
        }
        cubin_ = above[-1] == wanted;
        own_options_.push_back(text("--gpu-architecture=", cubin_ ? "sm_" : "compute_", above[-1]));
        return true;
    }

    bool compile() {
        if (request_.dynamic_parallelism) own_options_.emplace_back("--relocatable-device-code=true");
        for (const std::string& include : library_.includes.folders) own_options_.push_back("-I" + include);
        std::vector<const char*> options;
        for (const std::string& option : request_.options) options.push_back(option.c_str());
        for (const std::string& option : own_options_) options.push_back(option.c_str());
        const Result compiled =
            library_.nvrtcCompileProgram(program_.get(), static_cast<int>(options.size()), options.data());
        read_log();
        if (compiled == kSuccess) return true;
        if (const std::string missing = missing_header(out_.log, library_.includes); !missing.empty())
            out_.log.insert(0, missing + "\n");
        else if (!request_.dynamic_parallelism && is_about_launches(out_.log))
            out_.log.insert(0, kLaunchesNeedFlag);
        return out_.log.empty() ? refused("nvrtcCompileProgram", compiled) : false;
    }

    bool read_image() {
        size_t bytes = 0;
        Result read = cubin_ ? library_.nvrtcGetCUBINSize(program_.get(), &bytes)
                             : library_.nvrtcGetPTXSize(program_.get(), &bytes);
        if (read != kSuccess || bytes == 0) return refused(cubin_ ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize", read);
        out_.image.resize(bytes);
        auto* image = reinterpret_cast<char*>(out_.image.data());
        read = cubin_ ? library_.nvrtcGetCUBIN(program_.get(), image) : library_.nvrtcGetPTX(program_.get(), image);
        if (read != kSuccess) return refused(cubin_ ? "nvrtcGetCUBIN" : "nvrtcGetPTX", read);
        for (const std::string& expression : request_.name_expressions) {
            const char* symbol = nullptr;
            read = library_.nvrtcGetLoweredName(program_.get(), expression.c_str(), &symbol);
            if (read != kSuccess || !symbol) return refused("nvrtcGetLoweredName", read);
            out_.lowered.emplace_back(expression, symbol);
        }
        return true;
    }

    CompileResult& result() { return out_; }

private:
    bool refused(const char* function, Result result) {
        out_.log += text(out_.log.empty() || out_.log.back() == '\n' ? "" : "\n", function, ": error: ",
                         library_.nvrtcGetErrorString(result));
        return false;
    }
    void read_log() {
        size_t length = 0;
        if (library_.nvrtcGetProgramLogSize(program_.get(), &length) != kSuccess || length <= 1) return;
        out_.log.resize(length);
        if (library_.nvrtcGetProgramLog(program_.get(), out_.log.data()) != kSuccess) out_.log.clear();
        while (!out_.log.empty() && (out_.log.back() == '\0' || out_.log.back() == '\n')) out_.log.pop_back();
    }

    const Loaded& library_;
    const CompileRequest& request_;
    OwnProgram program_;
    CompileResult out_;
    std::vector<std::string> own_options_;
    bool cubin_ = true;
};

CompileResult compile_with_nvrtc(const CompileRequest& request, int driver_version, const DeviceRuntime& runtime) {
    CompileResult out;
    std::string tried;
    const Loaded* library = nvrtc::library(driver_version, &tried);
    if (!library) {
        out.unavailable = true;
        out.log = "NVRTC, the CUDA toolkit's run-time compiler, could not be loaded: " + tried;
        return out;
    }
    if (request.dynamic_parallelism && runtime.path.empty()) {
        out.unavailable = true;
        out.log = missing_device_runtime(runtime);
        return out;
    }
    OwnCompilation compilation(*library, request);
    const bool ok = compilation.create_program() && compilation.choose_architecture() && compilation.compile() &&
                    compilation.read_image();
    out = std::move(compilation.result());
    if (!ok) return out;
    out.device_runtime = runtime.path;
    out.ok = true;
    return out;
}

class NvrtcCompilation final : public Compilation {
public:
    NvrtcCompilation(const CompileRequest& request, int driver_version)
        : request_(request), driver_version_(driver_version), reads_(may_read_files(request)) {
        if (request.dynamic_parallelism) find_runtime();
    }

    /// The toolkit's headers are part of the compiler's identity; other files that a source may read can't be known.
    const std::string* inputs() const override { return reads_ ? nullptr : &linked_with_; }
    CompileResult finish() override { return compile_with_nvrtc(request_, driver_version_, runtime_); }

private:
    void find_runtime() {
        std::string tried;
        const Loaded* library = nvrtc::library(driver_version_, &tried);
        if (!library) return;   // finish() reports the reason
        runtime_ = device_runtime_of(*library);
        linked_with_ = text(state_of_file(runtime_.path), " by driver ", driver_version_);
    }

    const CompileRequest& request_;
    const int driver_version_;
    const bool reads_;
    DeviceRuntime runtime_;      // only for dynamic parallelism
    std::string linked_with_;    // only for dynamic parallelism
};

}  // namespace

std::unique_ptr<Compilation> NvrtcCompiler::begin(const CompileRequest& request) {
    return std::make_unique<NvrtcCompilation>(request, version_);
}

}  // namespace gpo::driver
