// The machine's CUDA driver: libcuda, loaded when the first runtime asks for it and never unloaded (its threads and
// at-exit handlers would not survive that).
//
// Every entry of the table is requested from cuGetProcAddress with the version of its prototype and with the legacy
// default stream. If the driver can't be used, the caller gets the reason as a sentence. The next runtime tries again,
// because a driver may have been installed, or device nodes may have appeared, in the meantime.
//
// The library distinguishes two kinds of failures. If the machine has no NVIDIA GPU, the software GPU may replace it
// automatically. If the machine has a GPU, or a driver for one, the failure is reported: a program that continued
// without the GPU would be slow, and hide that the driver is broken.
#include <algorithm>
#include <string>

#include "base/environment.h"
#include "base/text.h"
#include "driver/builtin.h"
#include "driver/device_nodes.h"
#include "driver/driver.h"
#include "driver/functions.h"
#include "driver/library.h"
#include "driver/nvrtc.h"
#include "host/host.h"

namespace gpo::driver {

namespace {

// cuda.h maps the plain name to the later prototype.
using GetProcAddress = CUresult CUDAAPI(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using DriverGetVersion = CUresult CUDAAPI(int*);

class CudaDriver final : public Driver {
public:
    CudaDriver() {
        name = "cuda";
        has_libraries = true;
        builtin_image = builtin_ptx();
        condition_image = condition_ptx();
        push_image = push_ptx();
        combine_image = combine_ptx();
    }
    Compiler& compiler() override { return compiler_; }
    void set_version(int value) {
        version = value;
        compiler_.prefer(value);
    }

private:
    NvrtcCompiler compiler_;
};

std::string version_text(int version) { return text(version / 1000, ".", version % 1000 / 10); }

/// The reason why no driver can be used.
struct Refusal {
    std::string why;
    bool no_device = false;   // neither the machine's libraries nor its driver know of a device
};

/// libcuda, or none with a refusal. Once loaded, libcuda stays the same for the life of the process.
const Library& load_library(Refusal* refusal) {
    static host::Mutex lock;
    static auto& library = *new Library();
    std::lock_guard guard(lock);
    if (library) return library;
    std::string tried;
    bool found = false;
    // The toolkit's stub library can be loaded too, but answers every call with an error: open() reports this.
    library = Library::open({"libcuda.so.1", "libcuda.so"}, &tried, &found);
    library.stay();
    if (!library) *refusal = {text("the CUDA driver library could not be loaded: ", tried), !found};
    return library;
}

/// Fills the table, or says which required function is missing.
bool fill(Table& table, GetProcAddress* get, int version, std::string* why) {
    const int cap = std::min(version, version_cap());
    enum Need { required, optional };
    const auto find = [&](const char* name, int from, Need need) -> void* {
        if (need == optional && from > cap) return nullptr;
        void* address = nullptr;
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        const CUresult result = get(name, &address, from, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
        if (result != CUDA_SUCCESS || found != CU_GET_PROC_ADDRESS_SUCCESS) address = nullptr;
        if (!address && need == required && why->empty())
            *why = text("the CUDA driver (", version_text(version), ") has no function ", name);
        return address;
    };
#define X(name, from, need)                                                              \
    table.name = reinterpret_cast<decltype(table.name)>(find(#name, from, need));        \
    if (!table.name && need == required) return false;
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    return true;
}

/// A stream that has freed memory of a pool may be destroyed while another thread destroys the pool. In driver 580,
/// cuStreamDestroy then crashes, reading address 0x78: in one of four runs of the matrix's learning streams, and within
/// seconds in a program that only makes these two calls. With both calls under the same lock, neither program crashed.
void serialise_destruction(Table& table) {
    static host::Mutex& lock = *new host::Mutex();
    static const auto destroy_stream = table.cuStreamDestroy;
    static const auto destroy_pool = table.cuMemPoolDestroy;
    table.cuStreamDestroy = +[](CUstream stream) noexcept -> CUresult {
        std::lock_guard guard(lock);
        return destroy_stream(stream);
    };
    table.cuMemPoolDestroy = +[](CUmemoryPool pool) noexcept -> CUresult {
        std::lock_guard guard(lock);
        return destroy_pool(pool);
    };
}

std::string describe(const Table& table, CUresult result) {
    const char* name = nullptr;
    const char* sentence = nullptr;
    table.cuGetErrorName(result, &name);
    table.cuGetErrorString(result, &sentence);
    return text(name ? name : "error", " (", static_cast<int>(result), sentence ? ": " : "", sentence ? sentence : "",
                ")");
}

/// The refusal for a driver without devices. cuInit also reports no device if CUDA_VISIBLE_DEVICES names no existing
/// device.
Refusal no_device() {
    const char* const visible = environment::get("CUDA_VISIBLE_DEVICES");
    return {text("the CUDA driver sees no device",
                 visible ? text(": CUDA_VISIBLE_DEVICES is `", std::string_view(visible).substr(0, 60), "`") : ""),
            true};
}

std::shared_ptr<Driver> open(Refusal* refusal) {
    const Library& library = load_library(refusal);
    if (!library) return nullptr;

    std::string* const why = &refusal->why;
    int version = 0;
    DriverGetVersion* get_version = nullptr;
    library.optional("cuDriverGetVersion", get_version);
    if (!get_version) {
        *why = "the CUDA driver library has no function cuDriverGetVersion: it is broken, or is no CUDA driver";
        return nullptr;
    }
    if (CUresult result = get_version(&version); result != CUDA_SUCCESS) {
        // The toolkit's stub library fails here already.
        *why = text("the CUDA driver does not tell its version (error ", static_cast<int>(result),
                    result == CUDA_ERROR_STUB_LIBRARY ? ": it is the toolkit's stub, not a driver)" : ")");
        return nullptr;
    }
    if (version < kOldestVersion) {
        *why = text("the CUDA driver is too old: it is of CUDA ", version_text(version), ", and ",
                    version_text(kOldestVersion), " or newer is needed");
        return nullptr;
    }
    GetProcAddress* get = nullptr;
    library.optional("cuGetProcAddress_v2", get);
    if (!get) {
        *why = text("the CUDA driver (", version_text(version), ") has no function cuGetProcAddress_v2");
        return nullptr;
    }

    auto driver = std::make_shared<CudaDriver>();
    driver->set_version(version);
    if (!fill(driver->table, get, version, why)) return nullptr;
    serialise_destruction(driver->table);
    const Table& table = driver->table;

    if (CUresult result = table.cuInit(0); result != CUDA_SUCCESS) {
        if (result == CUDA_ERROR_NO_DEVICE) *refusal = no_device();
        else *why = text("cuInit failed: ", describe(table, result));
        return nullptr;
    }
    int count = 0;
    if (CUresult result = table.cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
        *why = text("cuDeviceGetCount failed: ", describe(table, result));
        return nullptr;
    }
    if (count <= 0) {
        *refusal = no_device();
        return nullptr;
    }
    return driver;
}

}  // namespace

std::shared_ptr<Driver> open_cuda(std::string* why, bool* absent) {
    if (absent) *absent = false;
    if (host::forked()) {
        if (why) *why = "this process was forked from one that used the library: CUDA can't be used in it";
        return nullptr;
    }
    // The process's driver, never destroyed: threads may still be inside it when the process exits.
    static host::Mutex lock;
    static auto& opened = *new std::shared_ptr<Driver>();
    {
        std::lock_guard guard(lock);
        if (opened) return opened;
    }
    Refusal refusal;
    std::shared_ptr<Driver> driver = open(&refusal);
    if (!driver) {
        const std::string node = nvidia_node();
        if (!node.empty()) refusal.why += text(", though ", node, " is there");
        if (absent) *absent = refusal.no_device && node.empty();
        if (why) *why = std::move(refusal.why);
        return nullptr;
    }
    std::lock_guard guard(lock);
    if (!opened) opened = std::move(driver);
    return opened;
}

}  // namespace gpo::driver
