#include "softgpu/compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "core/environment.h"
#include "host/host.h"
#include "softgpu/compiler_headers.h"
#include "softgpu/compiler_options.h"
#include "softgpu/compiler_process.h"
#include "softgpu/executor.h"
#include "softgpu/kernel_abi.h"
#include "softgpu/token_lexer.h"
#include "softgpu/token_pass.h"

namespace gpo::softgpu {

namespace {

constexpr uint64_t kCompileTimeout = 300'000'000'000;   // ns
constexpr uint64_t kVersionTimeout = 20'000'000'000;
constexpr size_t kLargestSource = 256 << 20;            // bytes, preprocessed too

#if defined(__aarch64__)
constexpr const char* kNative = "-mcpu=native";
#else
constexpr const char* kNative = "-march=native";
#endif

/// What CUDA's compilers take for granted: no errno, no traps, integers that wrap, contraction, punned pointers.
constexpr const char* kCompileFlags[] = {
    "-O3", "-g0", "-fPIC", "-shared", kNative, "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
    "-fno-trapping-math", "-ffp-contract=fast", "-fno-exceptions", "-fno-rtti", "-fno-semantic-interposition",
    "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,--as-needed",
    "-Wno-unknown-pragmas", "-Wno-attributes"};

/// For GCC alone, whose objects else share the static members of templates and the inline variables across the process, in
/// spite of RTLD_LOCAL, and are never unloaded.
constexpr const char* kOwnVariables = "-fno-gnu-unique";

constexpr const char* kMacros[] = {"-D__CUDACC__=1", "-D__CUDACC_RTC__=1", "-D__NVCC__=1", "-D__CUDA_ARCH__=900",
                                   "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__GPUORCH_SOFT__=1"};

bool can_be_run(const std::string& path) {
    struct stat status;
    return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string in_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return can_be_run(name) ? name : std::string();
    const char* path = secure_getenv("PATH");
    std::string_view left = path ? path : kUsualPath;
    while (!left.empty()) {
        const size_t colon = left.find(':');
        const std::string_view folder = left.substr(0, colon);
        left.remove_prefix(colon == std::string_view::npos ? left.size() : colon + 1);
        const std::string whole = std::string(folder.empty() ? "." : folder) + "/" + name;
        if (can_be_run(whole)) return whole;
    }
    return {};
}

/// The compiler's path; empty with what was looked for in `log`.
std::string find_compiler(std::string& log) {
    if (const char* asked = environment::get("GPUORCH_CXX"); asked && *asked) {
        std::string found = in_path(asked);
        if (found.empty()) log = std::string("no C++ compiler: GPUORCH_CXX names ") + asked + ", which can't be run";
        return found;
    }
    for (const char* name : {"c++", "g++", "clang++"})
        if (std::string found = in_path(name); !found.empty()) return found;
    log = "no C++ compiler: looked for c++, g++ and clang++ in PATH; GPUORCH_CXX can name one";
    return {};
}

uint64_t hash(std::string_view text, uint64_t seed = 14695981039346656037ull) {
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return seed;
}

std::string processor_features() {
    std::ifstream file("/proc/cpuinfo");
    std::string line, out;
    while (std::getline(file, line) && !line.empty())
        if (line.starts_with("model name") || line.starts_with("flags") || line.starts_with("Features"))
            out += line + "\n";
    return out;
}

std::string clean_name(const std::string& name) {
    std::string out;
    for (const char c : name.empty() ? std::string("source.cu") : name) {
        if (c == '"' || c == '\\') out += '\\';
        if (c != '\n') out += c;
    }
    return out;
}

/// What hides the source's macros from a header of ours while it is read. Not those that the headers are meant to see.
struct Curtain {
    std::string down, up;
    explicit Curtain(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (name.starts_with("_") || name.starts_with("CUDA")) continue;
            down += "#pragma push_macro(\"" + name + "\")\n#undef " + name + "\n";
            up.insert(0, "#pragma pop_macro(\"" + name + "\")\n");
        }
        if (!down.empty()) down.insert(0, "#pragma GCC system_header\n");
    }
};

class SoftCompiler final : public driver::Compiler {
public:
    driver::CompileResult compile(const driver::CompileRequest& request) override {
        driver::CompileResult result;
        const std::string path = find_compiler(result.log);
        if (path.empty()) {
            result.unavailable = true;
            return result;
        }
        const CompilerOptions options = translate_options(request.options);
        if (!options.refused.empty()) {
            result.log = options.refused;
            return result;
        }
        if (request.source.size() > kLargestSource) {
            result.log = "error: the source has more than 256 MiB";
            return result;
        }
        const PrivateFolder folder;
        if (folder.path.empty()) {
            result.system_error = folder.error;
            result.log = folder.why;
            return result;
        }
        build(request, options, path, folder, result);
        return result;
    }

    std::string identity() override {
        std::string log;
        const std::string path = find_compiler(log);
        if (path.empty()) return "none";
        uint64_t headers = 14695981039346656037ull;
        for (const EmbeddedHeader& header : embedded_headers()) headers = hash(header.text, headers);
        char numbers[80];
        snprintf(numbers, sizeof numbers, " abi %d cpu %016llx header %016llx", GPO_SOFT_KERNEL_ABI,
                 static_cast<unsigned long long>(hash(processor_features())), static_cast<unsigned long long>(headers));
        std::string version;
        if (version_of(path, version) != 0) return {};
        return path + " " + version + numbers + " library " + std::string(compiler_digest());
    }

private:
    /// The first line that the compiler says of itself; asked once for each path. 0, or why it couldn't be asked.
    int version_of(const std::string& path, std::string& version) {
        {
            host::Lock lock(lock_);
            if (const auto known = versions_.find(path); known != versions_.end()) {
                version = known->second;
                return 0;
            }
        }
        const PrivateFolder folder;
        ProcessResult answer =
            run_process({path, "--version"}, folder.path.empty() ? "/" : folder.path, kVersionTimeout);
        version = answer.output.substr(0, answer.output.find('\n'));
        if (!answer.started) return answer.error;
        host::Lock lock(lock_);
        versions_.emplace(path, version);
        return 0;
    }

    static bool write(const PrivateFolder& folder, const std::string& name, std::string_view text, driver::CompileResult& result) {
        result.system_error = folder.write(name, text);
        if (result.system_error != 0)
            result.log += "error: " + name + " could not be written to " + folder.path + ": " + std::strerror(result.system_error);
        return result.system_error == 0;
    }

    static bool write_sources(const driver::CompileRequest& request, const CompilerOptions& options, const PrivateFolder& folder,
                              driver::CompileResult& result) {
        const Curtain curtain(options.macro_names);
        for (const EmbeddedHeader& header : embedded_headers()) {
            const bool own = !header.name.starts_with("include/");
            const std::string text = own ? std::string(header.text) : curtain.down + std::string(header.text) + curtain.up;
            if (!write(folder, "device/" + std::string(header.name), text, result)) return false;
        }
        const std::string macros = "# 1 \"<command-line>\"\n" + options.macros + "#ifdef NDEBUG\n#include \"device/assert.h\"\n#endif\n";
        if (!write(folder, "macros.h", macros, result)) return false;
        for (const auto& [name, text] : request.headers) {
            if (write(folder, "headers/" + name, text, result)) continue;
            if (result.system_error == EINVAL) {
                result.system_error = 0;
                result.log = "error: the header " + name + " could not be written: its name must be relative and without \"..\"";
            }
            return false;
        }
        return write(folder, "source.cu", "# 1 \"" + clean_name(request.file_name) + "\"\n" + request.source + "\n", result);
    }

    void build(const driver::CompileRequest& request, const CompilerOptions& options, const std::string& path,
               const PrivateFolder& folder, driver::CompileResult& result) {
        if (!write_sources(request, options, folder, result)) return;
        std::vector<std::string> command = {path, "-E", "-x", "c++", options.standard};
        command.insert(command.end(), std::begin(kMacros), std::end(kMacros));
        // The toolkit's headers are ours wherever the toolkit's own may lie; the C library's are those of the source's folders.
        // The source's macros are defined behind the device header, in which their names have other meanings.
        command.insert(command.end(), {"-Iheaders", "-Idevice/include", "-isystem", "device", "-include", "device/gpo_device.h",
                                       "-include", "macros.h"});
        command.insert(command.end(), options.preprocess.begin(), options.preprocess.end());
        command.insert(command.end(), {"source.cu", "-o", "preprocessed.ii"});
        std::string text;
        if (!step(command, folder, "preprocessed.ii", text, result)) return;
        bool clang = false;
        try {
            PassOptions pass;
            std::string version;
            result.system_error = version_of(path, version);
            if (result.system_error != 0) {
                result.log += "error: " + version + "\n";
                return;
            }
            clang = pass.clang = version.find("clang") != std::string::npos;
            pass.name_expressions = request.name_expressions;
            if (text.size() > kLargestSource)
                throw SourceError(request.file_name, 1, "the preprocessed source has more than 256 MiB");
            text = rewrite_kernels(text, pass);
        } catch (const SourceError& error) {
            result.log += std::string(error.what()) + "\n";
            return;
        }
        if (!write(folder, "kernels.cpp", text, result)) return;
        command = {path, "-x", "c++", options.standard};
        command.insert(command.end(), std::begin(kCompileFlags), std::end(kCompileFlags));
        if (!clang) command.emplace_back(kOwnVariables);
        command.insert(command.end(), options.compile.begin(), options.compile.end());
        command.insert(command.end(), {"-isystem", "device", "kernels.cpp", "-o", "image.so"});
        if (!step(command, folder, "image.so", text, result)) return;
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        result.image.assign(bytes, bytes + text.size());
        find_lowered_names(request, result);
    }

    /// Runs one command and reads what it made.
    static bool step(const std::vector<std::string>& command, const PrivateFolder& folder, const std::string& made,
                     std::string& text, driver::CompileResult& result) {
        const ProcessResult process = run_process(command, folder.path, kCompileTimeout);
        result.log += process.output;
        if (!process.started) {
            result.unavailable = process.error == ENOENT || process.error == EACCES || process.error == ENOEXEC;
            result.system_error = process.error;
        }
        if (process.timed_out) result.log += "error: the compiler took longer than 300 s\n";
        if (!process.failed()) {
            const int error = folder.read(made, text);
            if (error == 0 && !text.empty()) return true;
            if (error != 0 && error != ENOENT) {
                result.system_error = error;
                result.log += "error: " + made + " could not be read: " + std::strerror(error) + "\n";
            }
        }
        if (process.started && result.log.empty())
            result.log = "error: the compiler ended with " + std::to_string(process.status) + " and said nothing\n";
        return false;
    }

    static void find_lowered_names(const driver::CompileRequest& request, driver::CompileResult& result) {
        std::unique_ptr<Image> image;
        if (Image::load(result.image.data(), result.image.size(), &result.log, &image) != CUDA_SUCCESS) return;
        for (const std::string& expression : request.name_expressions) {
            bool found = false;
            for (const gpo_soft_name& name : image->names()) {
                if (name.expression != expression) continue;
                result.lowered.emplace_back(expression, name.symbol);
                found = true;
                break;
            }
            if (!found) {
                result.log += "error: \"" + expression + "\" names no kernel or device variable\n";
                return;
            }
        }
        result.ok = true;
    }

    host::Mutex lock_;
    std::map<std::string, std::string> versions_;
};

}  // namespace

std::unique_ptr<driver::Compiler> make_soft_compiler() { return std::make_unique<SoftCompiler>(); }

}  // namespace gpo::softgpu
