#include "driver/nccl.h"

#include <mutex>
#include <type_traits>

#include "base/environment.h"
#include "base/text.h"
#include "driver/library.h"
#include "host/host.h"

namespace gpo::driver {

std::string Nccl::version_text(int version) {
    return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

std::unique_ptr<Nccl> Nccl::load(std::string* why) {
    const char* named = environment::get("GPUORCH_NCCL");
    std::string tried;
    Library library = Library::open({named && *named ? named : "libnccl.so.2"}, &tried);
    const auto refuse = [&](const std::string& reason) {
        *why = text("NCCL can't be used: ", reason, "; install NCCL ", version_text(kOldestVersion),
                    " or newer (libnccl2), or name its file in GPUORCH_NCCL");
        return nullptr;
    };
    if (!library) return refuse(tried);
    auto made = std::make_unique<Nccl>();
#define X(name, ...) \
    if (!library.required(#name, made->name, &tried)) return refuse(tried);
    GPO_NCCL_FUNCTIONS(X)
#undef X
    if (made->ncclGetVersion(&made->version_) != kSuccess) return refuse("it doesn't tell its version");
    if (made->version_ < kOldestVersion)
        return refuse(text(library.path(), " is version ", version_text(made->version_)));
    library.stay();   // it has threads, and others may use it
    return made;
}

const Nccl* Nccl::open(std::string* why) {
    static host::Mutex lock;
    static const Nccl* opened = nullptr;
    std::lock_guard guard(lock);
    if (!opened) opened = load(why).release();
    return opened;
}

}  // namespace gpo::driver
