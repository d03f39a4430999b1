// Loads a kernel image, a shared object held in memory.
//
// The bytes are checked before the dynamic loader sees them (check.h, seal.h), since the loader trusts what it maps: a
// file that is cut short would cause a SIGBUS, and an altered file would run. The image is loaded from an anonymous
// file with a name that was never used before, so each load has variables of its own: for a known name the loader
// returns the object loaded before.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "softgpu/image/builtin.h"
#include "softgpu/image/check.h"
#include "softgpu/image/image.h"
#include "softgpu/image/seal.h"
#include "softgpu/memory/range_allocator.h"

namespace gpo::softgpu {

namespace {

/// A descriptor that closes itself.
struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) close(number);
    }
};

bool write_all(int file, const char* data, size_t size) {
    while (size != 0) {
        const ssize_t written = write(file, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        data += written;
        size -= static_cast<size_t>(written);
    }
    return true;
}

/// "/proc/self/fd/N" written in a way not used before: the bits of a counter as "/" and "/./" after "/proc".
std::string fresh_path(int file) {
    static std::atomic<uint64_t> loads{0};
    std::string path = "/proc";
    for (uint64_t bits = loads.fetch_add(1, std::memory_order_relaxed) + 1; bits; bits >>= 1)
        path += bits & 1 ? "/./" : "//";
    return path + "/self/fd/" + std::to_string(file);
}

class LoadedImage final : public Image {
public:
    LoadedImage(void* object, const gpo_soft_image* table) : object_(object), table_(table) {}
    ~LoadedImage() override { dlclose(object_); }

    std::span<const gpo_soft_kernel> kernels() const override { return {table_->kernels, table_->kernel_count}; }
    std::span<const gpo_soft_variable> variables() const override {
        return {table_->variables, table_->variable_count};
    }
    std::span<const gpo_soft_name> names() const override { return {table_->names, table_->name_count}; }

private:
    void* object_;
    const gpo_soft_image* table_;
};

/// The kernels that are part of the library.
class BuiltinImage final : public Image {
public:
    std::span<const gpo_soft_kernel> kernels() const override { return builtin_kernels(); }
    std::span<const gpo_soft_variable> variables() const override { return {}; }
    std::span<const gpo_soft_name> names() const override { return {}; }
};

/// The host may write every variable of a module; the C++ compiler has put constant ones among the read-only data.
bool make_variables_writable(const gpo_soft_image& table) {
    for (uint32_t i = 0; i < table.variable_count; ++i) {
        const gpo_soft_variable& variable = table.variables[i];
        if (!variable.constant || variable.size == 0) continue;
        const auto begin = reinterpret_cast<uintptr_t>(variable.address) & ~(kPage - 1);
        const auto end = reinterpret_cast<uintptr_t>(variable.address) + variable.size;
        if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) return false;
    }
    return true;
}

bool whole(const gpo_soft_image& table) {
    for (uint32_t i = 0; i < table.kernel_count; ++i) {
        const gpo_soft_kernel& kernel = table.kernels[i];
        if (!kernel.name || !kernel.run || (kernel.parameter_count != 0 && !kernel.parameters)) return false;
    }
    for (uint32_t i = 0; i < table.variable_count; ++i)
        if (!table.variables[i].name || !table.variables[i].address) return false;
    return true;
}

/// Puts the bytes into a file that only we can reach, and opens it as an object. NULL with the reason in `why`.
void* open_object(const char* data, size_t size, std::string& why) {
    Descriptor file{memfd_create("gpuorch-image", MFD_CLOEXEC)};
    if (file.number >= 0 && write_all(file.number, data, size)) {
        if (void* object = dlopen(fresh_path(file.number).c_str(), RTLD_NOW | RTLD_LOCAL)) return object;
    }
    const char* error = dlerror();
    why = error ? error : "no anonymous file could be made";
    // No /proc, or no anonymous files here: a private file, removed before any code runs.
    const char* folder = secure_getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/gpuorch-image-XXXXXX";
    Descriptor named{mkostemp(path.data(), O_CLOEXEC)};
    if (named.number < 0) return nullptr;
    void* object = nullptr;
    if (write_all(named.number, data, size)) {
        object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (const char* text = object ? nullptr : dlerror()) why = text;
    }
    unlink(path.c_str());
    return object;
}

CUresult refuse(std::string* log, std::string sentence) {
    if (log) *log = std::move(sentence);
    return CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

CUresult Image::load(const void* data, size_t size, std::string* log, std::unique_ptr<Image>* out) try {
    if (!data) return refuse(log, "no image was given");
    const auto* bytes = static_cast<const char*>(data);
    if (is_builtin_image(data)) {
        *out = std::make_unique<BuiltinImage>();
        return CUDA_SUCCESS;
    }
    if (size == 0)
        if (const size_t object = image_size(bytes)) size = object + kSealBytes;
    if (const char* fault = image_fault(bytes, size))
        return refuse(log, std::string("not an image of the software GPU: ") + fault);
    const size_t object_size = image_size(bytes);
    if (const char* fault = seal_fault(bytes, object_size, size)) return refuse(log, fault);
    std::string why;
    std::unique_ptr<void, int (*)(void*)> object(open_object(bytes, object_size, why), dlclose);
    if (!object) return refuse(log, "the image could not be loaded: " + why);
    const auto get = reinterpret_cast<gpo_soft_image_get_t>(dlsym(object.get(), kImageGetter));
    const gpo_soft_image* table = get ? get() : nullptr;
    if (get && !table) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!table || table->abi != GPO_SOFT_KERNEL_ABI || table->struct_size != sizeof(gpo_soft_image) || !whole(*table))
        return refuse(log, "the image was made for another version of the software GPU");
    if (!make_variables_writable(*table)) {
        if (log) *log = "the image's constant variables could not be made writable";
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = std::make_unique<LoadedImage>(object.get(), table);
    object.release();
    return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace gpo::softgpu
