#include "softgpu/compiler/compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "base/device_headers.h"
#include "base/environment.h"
#include "host/host.h"
#include "softgpu/compiler/cccl.h"
#include "softgpu/compiler/headers.h"
#include "softgpu/compiler/includes.h"
#include "softgpu/compiler/lexer.h"
#include "softgpu/compiler/messages.h"
#include "softgpu/compiler/options.h"
#include "softgpu/compiler/prefix.h"
#include "softgpu/compiler/process.h"
#include "softgpu/compiler/token_pass.h"
#include "softgpu/image/image.h"
#include "softgpu/image/init.h"
#include "softgpu/image/seal.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

namespace {

constexpr uint64_t kCompileTimeout = 300'000'000'000;   // ns, for all the processes of a compilation
constexpr uint64_t kVersionTimeout = 20'000'000'000;
constexpr size_t kLargestSource = 256 << 20;            // bytes, preprocessed too
constexpr uint64_t kReadingMemory = uint64_t{1} << 30;  // bytes, for a process that reads a source with its includes
constexpr uint64_t kCompilingMemory = uint64_t{8} << 30;

#if defined(__aarch64__)
constexpr const char* kNative = "-mcpu=native";
#else
constexpr const char* kNative = "-march=native";
#endif

/// Assumptions of CUDA's compilers: no errno, no traps, integers that wrap, contraction, punned pointers.
constexpr const char* kCompileFlags[] = {
    "-O3", "-g0", "-fPIC", kNative, "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
    "-fno-trapping-math", "-ffp-contract=fast", "-fno-exceptions", "-fno-rtti", "-fno-semantic-interposition",
    "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-Wno-unknown-pragmas", "-Wno-attributes"};
constexpr const char* kLinkFlags[] = {"-shared", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,--as-needed"};

/// Only for GCC. Without this flag all objects in the process share inline variables and static members of templates,
/// in spite of RTLD_LOCAL, and can't be unloaded.
constexpr const char* kOwnVariables = "-fno-gnu-unique";

constexpr const char* kMacros[] = {"-D__CUDACC__=1", "-D__CUDACC_RTC__=1", "-D__NVCC__=1", "-D__CUDA_ARCH__=900",
                                   "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__GPUORCH_SOFT__=1"};

/// Before each name expression behind the source.
constexpr const char* kNameMark = "#pragma gpuorch name expression\n";

bool can_be_run(const std::string& path) {
    struct stat status;
    return access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string in_path(const std::string& name) {
    // Make the path absolute, because the compiler runs in another folder.
    const auto whole_path = [](const std::string& path) {
        std::error_code error;
        const std::filesystem::path whole = std::filesystem::absolute(path, error);
        return error ? std::string() : whole.string();
    };
    if (name.find('/') != std::string::npos) return can_be_run(name) ? whole_path(name) : std::string();
    const char* path = secure_getenv("PATH");
    std::string_view left = path ? path : kUsualPath;
    while (!left.empty()) {
        const size_t colon = left.find(':');
        const std::string_view folder = left.substr(0, colon);
        left.remove_prefix(colon == std::string_view::npos ? left.size() : colon + 1);
        const std::string whole = std::string(folder.empty() ? "." : folder) + "/" + name;
        if (can_be_run(whole)) return whole_path(whole);
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

/// Hides the source's macros while one of the library's headers is read, except macros that are meant for this header.
struct Curtain {
    /// Goes before a header that the token pass must not change.
    static constexpr const char* kSystem = "#pragma GCC system_header\n";
    std::string down, up;
    explicit Curtain(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (name.starts_with("_") || name.starts_with("CUDA") || name.starts_with("GPO_")) continue;
            down += "#pragma push_macro(\"" + name + "\")\n#undef " + name + "\n";
            up.insert(0, "#pragma pop_macro(\"" + name + "\")\n");
        }
    }
};

/// The compilers that a process has asked for their versions. Any thread.
class Versions {
public:
    /// Gets the first line of the compiler's version text. Runs each compiler only once. Returns 0 or an errno.
    int find(const std::string& path, std::string& version) {
        {
            host::Lock lock(lock_);
            if (const auto known = versions_.find(path); known != versions_.end()) {
                version = known->second;
                return 0;
            }
        }
        const PrivateFolder folder;
        const ProcessResult answer = run_process({.arguments = {path, "--version"},
                                                  .folder = folder.path.empty() ? "/" : folder.path,
                                                  .deadline = host::now() + kVersionTimeout});
        version = answer.output.substr(0, answer.output.find('\n'));
        if (!answer.started) return answer.error;
        host::Lock lock(lock_);
        versions_.emplace(path, version);
        return 0;
    }

private:
    host::Mutex lock_;
    std::map<std::string, std::string> versions_;
};

/// What compilations share.
struct Shared {
    Versions versions;
    PrecompiledPrefixes prefixes;
};

class SoftCompilation final : public driver::Compilation {
public:
    SoftCompilation(const driver::CompileRequest& request, Shared& shared)
        : request_(request), shared_(shared), path_(find_compiler(result_.log)) {
        if (path_.empty()) {
            result_.unavailable = true;
            return;
        }
        options_ = translate_options(request.options);
        if (!options_.refused.empty()) {
            result_.log = options_.refused;
            return;
        }
        if (request.source.size() > kLargestSource) {
            result_.log = "error: the source has more than 256 MiB";
            return;
        }
        folder_.emplace();
        if (folder_->path.empty()) {
            result_.system_error = folder_->error;
            result_.log = folder_->why;
            return;
        }
        result_.log = unreadable_include(request, options_);
        preprocessed_ = result_.log.empty() && preprocess();
    }

    const std::string* inputs() const override { return preprocessed_ ? &text_ : nullptr; }

    driver::CompileResult finish() override {
        if (preprocessed_ && rewrite() && build()) find_lowered_names();
        return std::move(result_);
    }

private:
    std::string file_name() const { return request_.file_name.empty() ? "source.cu" : request_.file_name; }

    bool write(const std::string& name, std::string_view text) {
        result_.system_error = folder_->write(name, text);
        if (result_.system_error != 0)
            result_.log += "error: " + name + " could not be written to " + folder_->path + ": " +
                           std::strerror(result_.system_error);
        return result_.system_error == 0;
    }

    bool write_sources() {
        const Curtain curtain(options_.macro_names);
        for (const EmbeddedHeader& header : embedded_headers()) {
            const bool own = !header.name.starts_with("include/");
            const std::string text = own || curtain.down.empty()
                                         ? std::string(header.text)
                                         : Curtain::kSystem + curtain.down + std::string(header.text) + curtain.up;
            if (!write("device/" + std::string(header.name), text)) return false;
        }
        for (const DeviceHeader& header : device_headers())
            if (!write(std::string("device/include/") + header.name, curtain.down + header.text + curtain.up))
                return false;
        const std::string macros = kPrefixEnd + std::string("# 1 \"<command-line>\"\n") + options_.macros +
                                   "#ifdef NDEBUG\n#include \"device/assert.h\"\n#endif\n";
        if (!write("macros.h", macros)) return false;
        for (const auto& [name, text] : cccl_.wrappers)
            if (!write("cccl/" + name, text)) return false;
        for (const auto& [name, text] : request_.headers) {
            if (write("headers/" + name, text)) continue;
            if (result_.system_error == EINVAL) {
                result_.system_error = 0;
                result_.log =
                    "error: the header " + name + " could not be written: its name must be relative and without \"..\"";
            }
            return false;
        }
        return write("source.cu",
                     "# 1 \"" + clean_name(request_.file_name) + "\"\n" + request_.source + "\n" + name_expressions());
    }

    /// The name expressions come behind the source, so that the source's macros apply to them.
    std::string name_expressions() const {
        std::string out;
        for (size_t i = 0; i < request_.name_expressions.size(); ++i) {
            std::string name = request_.name_expressions[i];
            std::replace(name.begin(), name.end(), '\n', ' ');
            out += kNameMark + ("# 1 \"name expression " + std::to_string(i)) + "\"\n" + name + "\n";
        }
        return out;
    }

    /// Takes them off the preprocessed text again.
    std::vector<std::string> take_name_expressions() {
        std::vector<std::string> names(request_.name_expressions.size());
        for (size_t i = names.size(); i-- > 0;) {
            const size_t mark = text_.rfind(kNameMark);
            if (mark == std::string::npos) return {};
            for (std::string_view left = std::string_view(text_).substr(mark); !left.empty();) {
                const std::string_view line = left.substr(0, left.find('\n'));
                left.remove_prefix(std::min(left.size(), line.size() + 1));
                if (!line.starts_with("#")) names[i] += std::string(line) + " ";
            }
            text_.resize(mark);
        }
        return names;
    }

    /// Preprocesses the source into text_.
    bool preprocess() {
        cccl_ = find_cccl(request_, options_);
        if (!write_sources()) return false;
        // The language without exceptions, as it will be compiled, is what headers ask for.
        std::vector<std::string> command = {path_, "-E",  "-fno-exceptions", "-fno-rtti",
                                            "-x",  "c++", options_.standard};
        command.insert(command.end(), std::begin(kMacros), std::end(kMacros));
        // The toolkit's headers are ours wherever the toolkit's own may lie; the C library's are those of the source's
        // folders. The source's macros are defined behind the device header, in which their names have other meanings.
        command.insert(command.end(), {"-Iheaders", "-Idevice/include", "-Icccl", "-isystem", "device", "-include",
                                       "device/gpo_device.h", "-include", "macros.h"});
        command.insert(command.end(), options_.preprocess.begin(), options_.preprocess.end());
        if (cccl_.found) command.push_back("-I" + cccl_.folder);
        command.insert(command.end(), {"source.cu", "-o", "preprocessed.ii"});
        const bool done =
            step({.arguments = std::move(command), .memory = kReadingMemory}, "preprocessed.ii", kLargestSource);
        result_.log = readable_preprocessor_log(result_.log);
        return done;
    }

    /// From CUDA C++ to C++, in text_.
    bool rewrite() {
        try {
            result_.system_error = shared_.versions.find(path_, version_);
            if (result_.system_error != 0) {
                result_.log += "error: " + version_ + "\n";
                return false;
            }
            pass_.clang = version_.find("clang") != std::string::npos;
            pass_.name_expressions = request_.name_expressions;
            pass_.fibers = environment::flag("GPUORCH_SOFT_FIBERS");
            pass_.launches = request_.dynamic_parallelism;
            pass_.expanded = take_name_expressions();
            original_ = std::move(text_);
            rewritten_ = rewrite_kernels(original_, pass_);
            text_ = rewritten_.text;
        } catch (const SourceError& error) {
            result_.log += std::string(error.what()) + "\n";
            return false;
        }
        return true;
    }

    /// Compiles text_ to the image, and converts the places in the compiler's messages to places in the user's source.
    bool build() {
        const std::string before = std::exchange(result_.log, {});
        const bool built = compile();
        make_log_readable();
        result_.log.insert(0, before);
        if (!built) return false;
        if (initializes_variables(text_) && !check_initializers()) return false;
        if (!keep_own_init_and_fini(text_)) {
            result_.log += "error: the linker's object isn't made as GNU ld and LLD make them\n";
            return false;
        }
        result_.image = seal_image(text_);
        return true;
    }

    void make_log_readable() {
        const auto text_of = [&](const std::string& file) -> std::string_view {
            if (file == file_name()) return request_.source;
            for (const auto& [name, text] : request_.headers)
                if (file == "headers/" + name) return text;
            return {};
        };
        if (!result_.log.empty())
            result_.log =
                readable_compiler_log(result_.log, {original_, rewritten_, request_.name_expressions, text_of});
    }

    /// False, with errors in the log, if a device variable has an initialiser that would have to run. CUDA has no such
    /// initialisers. Host variables of the source aren't compiled in CUDA, so their initialisers don't run either.
    bool check_initializers() {
        pass_.constant_initializers = true;
        rewritten_ = rewrite_kernels(original_, pass_);
        if (!write("kernels.cpp", rewritten_.text)) return false;
        const std::string before = std::exchange(result_.log, {});
        std::vector<std::string> command = compiler_command();
        command.insert(command.end(), {"-fsyntax-only", "-isystem", "device", "-x", "c++", "kernels.cpp"});
        const ProcessResult process =
            run({.arguments = std::move(command), .memory = kCompilingMemory, .include_paths = false});
        make_log_readable();
        std::string errors = initializer_errors(result_.log);
        if (errors.empty() && process.failed())
            errors = result_.log + file_name() +
                     ": error: variables have constructors, and of which space couldn't be told\n";
        result_.log = before + errors;
        if (errors.empty())
            result_.log += file_name() +
                           ": warning: constructors of variables that are neither __device__ nor __constant__ "
                           "don't run\n";
        return errors.empty();
    }

    std::vector<std::string> compiler_command() const {
        std::vector<std::string> command = {path_, options_.standard};
        command.insert(command.end(), std::begin(kCompileFlags), std::end(kCompileFlags));
        if (!pass_.clang) command.emplace_back(kOwnVariables);
        // The user hasn't written this text.
        command.emplace_back(pass_.clang ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret");
        command.insert(command.end(), options_.compile.begin(), options_.compile.end());
        return command;
    }

    bool compile() {
        std::vector<std::string> command = compiler_command();
        const bool warm = !pass_.clang && request_.shelf &&
                          shared_.prefixes.use(*request_.shelf, *folder_, command, version_, deadline_, text_);
        if (compile_text(command, warm)) return true;
        // If the compiler can't read its own precompiled header, the error names the header instead of the source.
        if (!warm || result_.log.find(kPrecompiledPrefix) == std::string::npos) return false;
        text_ = rewritten_.text;
        result_.log.clear();
        return compile_text(command, false);
    }

    /// From C++ to a shared object, both in text_.
    bool compile_text(std::vector<std::string> command, bool behind_prefix) {
        if (!write("kernels.cpp", text_)) return false;
        if (behind_prefix) command.insert(command.end(), {"-include", kPrefix});
        command.insert(command.end(), std::begin(kLinkFlags), std::end(kLinkFlags));
        command.insert(command.end(), {"-isystem", "device", "-x", "c++", "kernels.cpp", "-o", "image.so"});
        return step({.arguments = std::move(command), .memory = kCompilingMemory, .include_paths = false}, "image.so",
                    kLargestOutput);
    }

    /// Runs a process in our folder until our deadline. The log gets its output and any exceeded limit.
    ProcessResult run(ProcessRequest asked) {
        asked.folder = folder_->path;
        asked.deadline = deadline_;
        ProcessResult process = run_process(asked);
        result_.log += process.output;
        if (!process.started) {
            result_.unavailable = process.error == ENOENT || process.error == EACCES || process.error == ENOEXEC;
            result_.system_error = process.error;
        }
        const std::string bound = exceeded(process, asked.memory);
        if (!bound.empty()) result_.log.insert(0, file_name() + ": error: " + bound + "\n");
        return process;
    }

    /// run(), and reads what the process made, to text_.
    bool step(ProcessRequest asked, const std::string& made, uint64_t most) {
        const ProcessResult process = run(std::move(asked));
        if (!process.failed()) {
            const int error = folder_->read(made, most, text_);
            if (error == 0 && !text_.empty()) return true;
            if (error == EFBIG) {
                result_.log +=
                    file_name() + ": error: " + made + " has more than " + std::to_string(most >> 20) + " MiB\n";
            } else if (error != 0 && error != ENOENT) {
                result_.system_error = error;
                result_.log += "error: " + made + " could not be read: " + std::strerror(error) + "\n";
            }
        }
        if (process.started && result_.log.empty())
            result_.log = "error: the compiler ended with " + std::to_string(process.status) + " and said nothing\n";
        return false;
    }

    /// Names the limit that a process has exceeded; "" if it has exceeded none.
    static std::string exceeded(const ProcessResult& process, uint64_t memory) {
        const auto says = [&](const char* words) { return process.output.find(words) != std::string::npos; };
        if (process.timed_out || process.status == -SIGXCPU || says("CPU time limit exceeded"))
            return "the compiler took longer than 300 s";
        if (process.status == -SIGXFSZ || says("File size limit exceeded"))
            return "the compiler wrote more than " + std::to_string(kLargestOutput >> 20) + " MiB";
        if (process.failed() && (says("out of memory") || says("memory exhausted") || says("bad_alloc")))
            return "the compiler needed more than the " + std::to_string(memory >> 30) +
                   " GiB of memory that it may take";
        return {};
    }

    void find_lowered_names() {
        std::unique_ptr<Image> image;
        if (Image::load(result_.image.data(), result_.image.size(), &result_.log, &image) != CUDA_SUCCESS) return;
        for (const std::string& expression : request_.name_expressions) {
            bool found = false;
            for (const gpo_soft_name& name : image->names()) {
                if (name.expression != expression) continue;
                result_.lowered.emplace_back(expression, name.symbol);
                found = true;
                break;
            }
            if (!found) {
                result_.log += "error: \"" + expression + "\" names no kernel or device variable\n";
                return;
            }
        }
        result_.ok = true;
    }

    const driver::CompileRequest& request_;
    Shared& shared_;
    driver::CompileResult result_;
    const std::string path_;   // of the compiler
    CompilerOptions options_;
    Cccl cccl_;
    std::optional<PrivateFolder> folder_;
    const uint64_t deadline_ = host::now() + kCompileTimeout;
    bool preprocessed_ = false;
    PassOptions pass_;
    std::string version_;
    std::string text_;         // what the latest step has made
    std::string original_;     // preprocessed
    Rewritten rewritten_;
};

class SoftCompiler final : public driver::Compiler {
public:
    std::unique_ptr<driver::Compilation> begin(const driver::CompileRequest& request) override {
        return std::make_unique<SoftCompilation>(request, shared_);
    }

    std::string identity() override {
        std::string log;
        const std::string path = find_compiler(log);
        if (path.empty()) return "none";
        uint64_t headers = 14695981039346656037ull;
        for (const EmbeddedHeader& header : embedded_headers()) headers = hash(header.text, headers);
        for (const DeviceHeader& header : device_headers()) headers = hash(header.text, headers);
        char numbers[80];
        snprintf(numbers, sizeof numbers, " abi %d cpu %016llx header %016llx", GPO_SOFT_KERNEL_ABI,
                 static_cast<unsigned long long>(hash(processor_features())), static_cast<unsigned long long>(headers));
        std::string version;
        if (shared_.versions.find(path, version) != 0) return {};
        if (environment::flag("GPUORCH_SOFT_FIBERS")) version += " fibers";
        std::string parts;   // where GCC and Clang look for their own programs, and what changes their arguments
        for (const char* name : {"GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"})
            if (const char* value = secure_getenv(name)) parts += std::string(" ") + name + "=" + value;
        return path + " " + version + numbers + " library " + std::string(compiler_digest()) + parts;
    }

private:
    Shared shared_;
};

}  // namespace

std::unique_ptr<driver::Compiler> make_soft_compiler() { return std::make_unique<SoftCompiler>(); }

}  // namespace gpo::softgpu
