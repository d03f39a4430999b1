// From CUDA C++ source to a loaded module: the request, the cache, the driver's compiler.
#include <pthread.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <new>

#include "base/environment.h"
#include "core/struct_options.h"
#include "kernel/cache.h"
#include "kernel/link.h"
#include "kernel/module.h"

namespace gpo {

namespace {

// Each thread has its log: a heap string behind a pthread key, freed with the thread. A thread-local object with a
// destructor would make glibc end the process when there is no memory to register it.
class ThreadLog {
public:
    /// The calling thread's log; NULL: none.
    static std::string* get() noexcept {
        pthread_once(&once_, [] { made_ = pthread_key_create(&key_, destroy) == 0; });
        return made_ ? static_cast<std::string*>(pthread_getspecific(key_)) : nullptr;
    }
    /// The thread's log, made if necessary; NULL without memory.
    static std::string* make() noexcept {
        if (std::string* log = get()) return log;
        if (!made_) return nullptr;
        auto log = std::unique_ptr<std::string>(new (std::nothrow) std::string);
        return log && pthread_setspecific(key_, log.get()) == 0 ? log.release() : nullptr;
    }

private:
    static void destroy(void* log) { delete static_cast<std::string*>(log); }
    static inline pthread_once_t once_ = PTHREAD_ONCE_INIT;
    static inline pthread_key_t key_ = 0;
    static inline bool made_ = false;
};

driver::CompileRequest request_of(const gpo_compile_options& options, int compute_capability) {
    const auto text_at = [](const char* const* array, uint32_t i, const char* name) -> const char* {
        if (!array || !array[i]) fail(GPO_INVALID_ARGUMENT, "options.", name, "[", i, "] is NULL");
        return array[i];
    };
    refuse_unknown_flags(options.flags, GPO_COMPILE_NO_CACHE | GPO_COMPILE_DYNAMIC_PARALLELISM, "options.flags");
    if (options.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
    if (!options.source) fail(GPO_INVALID_ARGUMENT, "options.source is NULL");
    driver::CompileRequest request;
    if (options.source_bytes > std::numeric_limits<int32_t>::max())
        fail(GPO_INVALID_ARGUMENT, "options.source_bytes is ", options.source_bytes);
    if (options.source_bytes)
        request.source.assign(options.source, options.source_bytes);
    else
        request.source = options.source;
    if (request.source.find('\0') != std::string::npos)
        fail(GPO_INVALID_ARGUMENT, "options.source has a NUL before its end");
    request.file_name = options.file_name && *options.file_name ? options.file_name : "kernel.cu";
    for (uint32_t i = 0; i < options.option_count; ++i)
        request.options.emplace_back(text_at(options.options, i, "options"));
    for (uint32_t i = 0; i < options.name_expression_count; ++i)
        request.name_expressions.emplace_back(text_at(options.name_expressions, i, "name_expressions"));
    for (uint32_t i = 0; i < options.header_count; ++i)
        request.headers.emplace_back(text_at(options.header_names, i, "header_names"),
                                     text_at(options.header_texts, i, "header_texts"));
    request.compute_capability = compute_capability;
    request.dynamic_parallelism = (options.flags & GPO_COMPILE_DYNAMIC_PARALLELISM) != 0;
    return request;
}

int compute_capability(Context& context) {
    return device_attribute(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           device_attribute(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/// The first line of a compiler's log that says what is wrong.
std::string first_error(const std::string& log) {
    std::string first;
    for (size_t at = 0; at < log.size();) {
        size_t end = log.find('\n', at);
        if (end == std::string::npos) end = log.size();
        std::string line = log.substr(at, end - at);
        if (line.find("error") != std::string::npos) return line;
        if (first.empty()) first = std::move(line);
        at = end + 1;
    }
    return first;
}

gpo_status status_of_failure(const driver::CompileResult& result) noexcept {
    if (result.unavailable) return GPO_NO_COMPILER;
    switch (result.system_error) {
        case 0: return GPO_COMPILE_FAILED;
        case ENOMEM: return GPO_OUT_OF_MEMORY;
        case EMFILE:
        case ENFILE:
        case EAGAIN: return GPO_LIMIT_EXCEEDED;
        default: return GPO_IO_ERROR;
    }
}

[[noreturn]] void fail_compilation(const driver::CompileResult& result, const char* label) {
    auto error = std::make_shared<Error>();
    error->status = status_of_failure(result);
    if (result.system_error != 0) {
        error->native_code = result.system_error;
        error->native_domain = GPO_NATIVE_ERRNO;
    }
    if (label && *label) error->object = text("module `", label, "`");
    error->message = result.unavailable ? result.log : first_error(result.log);
    if (error->message.empty()) error->message = "the compiler failed and said nothing";
    throw Failure(std::move(error));
}

/// Links the image with the device runtime; then the driver can load the image.
void link_compiled(Context& context, driver::CompileResult& result, const char* label) {
    try {
        kernel::link(context, result);
        set_compile_log(result.log);
    } catch (const Failure& failure) {
        set_compile_log(result.log);
        if (!label || !*label) throw;
        auto error = std::make_shared<Error>(*failure.error());
        error->object = text("module `", label, "`");
        throw Failure(std::move(error));
    }
}

Ref<Module> load_compiled(Device& device, const driver::CompileResult& result, const char* label) {
    std::string text_of_driver;
    kernel::ImageBytes image(result.image.data(), result.image.size());
    auto module = make<Module>(device.context_ref(), std::move(image), result.lowered, label, &text_of_driver);
    set_compile_log(result.log.empty() || text_of_driver.empty() ? result.log + text_of_driver
                                                                 : result.log + "\n" + text_of_driver);
    return module;
}

}  // namespace

void set_compile_log(std::string log) noexcept {
    if (std::string* mine = log.empty() ? ThreadLog::get() : ThreadLog::make()) mine->swap(log);
}

std::string_view compile_log() noexcept {
    const std::string* mine = ThreadLog::get();
    return mine ? std::string_view(*mine) : std::string_view();
}

namespace {

// Logs a warning. If GPUORCH_CACHE named the folder, also prints the warning to stderr, once per process.
void report_uncached(Runtime& runtime, const std::string& why) {
    static constinit std::atomic<bool> reported{false};
    const char* named = environment::get("GPUORCH_CACHE");
    if (!named || runtime.cache_folder() != named || reported.exchange(true))
        return runtime.log(GPO_LOG_WARNING, "compiled kernels are not cached: ", why);
    runtime.log_and_print(GPO_LOG_WARNING, text("GPUORCH_CACHE: compiled kernels are not cached: ", why).c_str());
}

}  // namespace

Ref<Module> compile_module(Device& device, const gpo_compile_options& options) {
    Context& context = device.context();
    Runtime& runtime = context.runtime();
    set_compile_log({});
    driver::CompileRequest request = request_of(options, compute_capability(context));
    driver::Compiler& compiler = context.driver().compiler();

    std::optional<kernel::Cache> cache;
    if (!(options.flags & GPO_COMPILE_NO_CACHE) && !runtime.cache_folder().empty()) {
        cache.emplace(runtime.cache_folder());
        if (!cache->refused().empty()) {
            if (!runtime.cache_refusal_logged.exchange(true)) report_uncached(runtime, cache->refused());
            cache.reset();
        } else {
            request.shelf = &*cache;
        }
    }
    const auto compilation = compiler.begin(request);
    std::string key;   // "": not cached. There is no cache, or the inputs or the compiler are unknown
    if (const std::string* inputs = cache ? compilation->inputs() : nullptr)
        if (const std::string identity = compiler.identity(); !identity.empty())
            key = kernel::cache_key(request, *inputs, identity, context.driver().name);
    if (!key.empty()) {
        if (const auto found = cache->find(key)) {
            try {
                Ref<Module> module = load_compiled(device, *found, options.label);
                runtime.log(GPO_LOG_DEBUG, module->describe(), " was in the cache");
                return module;
            } catch (const Failure& failure) {
                // The entry is whole, but its image is invalid: another program has replaced it. Compile anew.
                if (failure.error()->status != GPO_INVALID_IMAGE) throw;
                cache->remove(key);
            }
        }
    }
    const uint64_t begun = host::now();
    driver::CompileResult result = compilation->finish();
    set_compile_log(result.log);
    if (!result.ok) fail_compilation(result, options.label);
    if (!result.device_runtime.empty()) link_compiled(context, result, options.label);
    auto module = load_compiled(device, result, options.label);
    runtime.log(GPO_LOG_DEBUG, module->describe(), " was compiled, in ", (host::now() - begun) / 1'000'000, " ms",
                key.empty() ? "" : ", and goes into the cache");
    if (!key.empty()) cache->store(key, result);
    return module;
}

namespace {

/// A copy of the image. Throws ImageBytes' Failure with the module as its object.
kernel::ImageBytes bytes_for_module(const void* image, uint64_t bytes, const char* label) {
    try {
        return {image, bytes};
    } catch (const Failure& failure) {
        auto error = std::make_shared<Error>(*failure.error());
        error->object = label && *label ? text("module `", label, "`") : "module";
        throw Failure(std::move(error));
    }
}

}  // namespace

Ref<Module> load_module(Device& device, const void* image, uint64_t bytes, const char* label) {
    set_compile_log({});
    if (!image) fail(GPO_INVALID_ARGUMENT, "image is NULL");
    if (!bytes) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
    std::string log;
    try {
        kernel::ImageBytes copy = bytes_for_module(image, bytes, label);
        auto module = make<Module>(device.context_ref(), std::move(copy), Module::Lowered{}, label, &log);
        set_compile_log(std::move(log));
        return module;
    } catch (...) {
        set_compile_log(std::move(log));
        throw;
    }
}

Ref<Module> builtin_module(Device& device) {
    const std::string_view image = device.context().driver().builtin_image;
    if (image.empty()) fail(GPO_NOT_SUPPORTED, "this driver has no built-in kernels");
    kernel::ImageBytes copy(image.data(), image.size());
    return make<Module>(device.context_ref(), std::move(copy), Module::Lowered{}, "built-in", nullptr);
}

}  // namespace gpo
