#include "driver/nvshmem.h"

#include <mutex>

#include "base/environment.h"
#include "base/text.h"
#include "driver/library.h"

namespace gpo::driver {

std::string Nvshmem::version_text(int version) {
    return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::unique_ptr<Nvshmem> Nvshmem::load(std::string* why) {
    const char* named = environment::get("GPUORCH_NVSHMEM");
    std::string tried;
    Library library = Library::open({named && *named ? named : "libnvshmem_host.so.3"}, &tried);
    const auto refuse = [&](const std::string& reason) {
        *why = text("NVSHMEM can't be used: ", reason, "; install NVSHMEM 3, ", version_text(kOldestVersion),
                    " or newer (pip: nvidia-nvshmem-cu12 or -cu13; Debian: libnvshmem3-cuda-12 or -13), or name its "
                    "libnvshmem_host.so.3 in GPUORCH_NVSHMEM");
        return nullptr;
    };
    if (!library) return refuse(tried);
    auto made = std::make_unique<Nvshmem>();
    if (!library.required("nvshmemx_vendor_get_version_info", made->nvshmemx_vendor_get_version_info, &tried))
        return refuse(tried);
    int major = 0, minor = 0, patch = 0;
    made->nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    made->version_ = major * 10000 + minor * 100 + patch;
    if (made->version_ < kOldestVersion || made->version_ >= kNextMajor)
        return refuse(text(library.path(), " is version ", version_text(made->version_)));
#define X(name, ...) \
    if (!library.required(#name, made->name, &tried)) return refuse(tried);
    GPO_NVSHMEM_FUNCTIONS(X)
#undef X
    library.optional("nvshmemx_cumodule_finalize", made->nvshmemx_cumodule_finalize);
    library.stay();   // it has threads, and others may use it
    return made;
}

const Nvshmem* Nvshmem::open(std::string* why) {
    static host::Mutex lock;
    static const Nvshmem* opened = nullptr;
    std::lock_guard guard(lock);
    if (!opened) opened = load(why).release();
    return opened;
}

}  // namespace gpo::driver
