#include "driver/mpi.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "base/text.h"
#include "driver/library.h"

namespace gpo::driver {

namespace {

constexpr int kSerialized = 2, kMultiple = 3;   // MPI_THREAD_*, the same in both ABIs

constexpr std::array kNames = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};

constexpr std::array kWithMpichsAbi = {"MPICH", "Intel(R) MPI", "MVAPICH"};   // in their versions' texts

constexpr int kGpuIsCuda = 0;   // MPIX_GPU_SUPPORT_CUDA

// MPICH's predefined handles (mpi.h).
constexpr Mpi::Handle kMpichWorld = 0x44000000, kMpichByte = 0x4c00010d, kMpichErrorsReturn = 0x54000001;
const auto kMpichNoStatus = reinterpret_cast<void*>(uintptr_t{1});

std::atomic<const Mpi*> g_begun{nullptr};   // the Mpi that this library has initialised

}  // namespace

std::unique_ptr<Mpi> Mpi::load(std::string* why) {
    const char* named = environment::get("GPUORCH_MPI");
    std::string tried;
    const auto refuse = [&](const std::string& reason) {
        *why = text("MPI can't be used: ", reason,
                    "; install Open MPI (openmpi-bin and libopenmpi3, or libopenmpi40) or MPICH, or name the file in "
                    "GPUORCH_MPI");
        return nullptr;
    };
    std::vector<std::string> candidates{kNames.begin(), kNames.end()};
    const auto loaded = std::find_if(kNames.begin(), kNames.end(), [](const char* name) {
        void* const handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
        if (handle) dlclose(handle);
        return handle != nullptr;
    });
    if (loaded != kNames.end()) candidates = {*loaded};   // the library that the program has loaded
    if (named && *named) candidates = {named};
    Library library = Library::open(candidates, &tried);
    if (!library) return refuse(tried);
    auto made = std::make_unique<Mpi>();
#define X(name, ...) \
    if (!library.required(#name, made->name, &tried)) return refuse(tried);
    GPO_MPI_FUNCTIONS(X)
#undef X
    library.optional("MPIX_Query_cuda_support", made->MPIX_Query_cuda_support);
    library.optional("MPIX_GPU_query_support", made->MPIX_GPU_query_support);
    char version[8192] = {};   // more than any MPI_MAX_LIBRARY_VERSION_STRING
    int length = 0;
    if (made->MPI_Get_library_version(version, &length) != kSuccess) return refuse("it doesn't tell its version");
    made->version_.assign(version, strcspn(version, ",\n"));
    std::replace(made->version_.begin(), made->version_.end(), '\t', ' ');
    // In a program linked with MPI, all code may use the program's copies of these symbols (copy relocations).
    const auto find = [&](const char* name, Handle& handle) {
        auto* found = static_cast<char*>(dlsym(RTLD_DEFAULT, name));
        if (!found && !library.required(name, found, &tried)) return false;
        handle = reinterpret_cast<Handle>(found);
        return true;
    };
    if (find("ompi_mpi_comm_world", made->world_)) {
        if (!find("ompi_mpi_byte", made->byte_) || !find("ompi_mpi_errors_return", made->errors_return_))
            return refuse(tried);
    } else if (std::any_of(kWithMpichsAbi.begin(), kWithMpichsAbi.end(),
                           [&](const char* name) { return std::strstr(version, name) != nullptr; })) {
        made->world_ = kMpichWorld;
        made->byte_ = kMpichByte;
        made->errors_return_ = kMpichErrorsReturn;
        made->no_status_ = kMpichNoStatus;
    } else {
        return refuse(text(library.path(), " is ", made->version_, ", which is neither Open MPI nor has MPICH's ABI"));
    }
    library.stay();   // it has threads, and others may use it
    return made;
}

const Mpi* Mpi::open(std::string* why) {
    static host::Mutex lock;
    static const Mpi* opened = nullptr;
    std::lock_guard guard(lock);
    if (!opened) opened = load(why).release();
    return opened;
}

void Mpi::finalize() noexcept {
    const Mpi* const mpi = g_begun.exchange(nullptr);
    int finalized = 1;
    if (!mpi || mpi->MPI_Finalized(&finalized) != kSuccess || finalized) return;
    if (const BeforeFinalize before = mpi->before_finalize_.load()) before();
    mpi->MPI_Finalize();
}

bool Mpi::begin(std::string* why) const {
    std::lock_guard guard(beginning_);
    int done = 0, level = 0;
    if (MPI_Finalized(&done) == kSuccess && done) {
        *why = text("MPI was finalised already, and can't be initialised again");
        return false;
    }
    if (begun_) return true;
    int initialized = 0;
    MPI_Initialized(&initialized);
    const int result = initialized ? MPI_Query_thread(&level) : MPI_Init_thread(nullptr, nullptr, kMultiple, &level);
    if (result != kSuccess) {
        *why = failure(result, initialized ? "MPI_Query_thread" : "MPI_Init_thread");
        return false;
    }
    if (!initialized && g_begun.exchange(this) == nullptr) std::atexit([] { finalize(); });
    if (level < kSerialized) {
        *why =
            text(version_, initialized ? " was initialised by the program" : " can only be used", " for one thread: ",
                 initialized ? "call MPI_Init_thread with MPI_THREAD_MULTIPLE" : "install one built for threads");
        return false;
    }
    multiple_.store(level >= kMultiple, std::memory_order_release);
    return begun_ = true;
}

bool Mpi::takes_device_addresses() const {
    if (const char* given = environment::get("GPUORCH_MPI_DEVICE"); given && *given)
        return environment::flag("GPUORCH_MPI_DEVICE");
    const Calls calls(*this);
    if (MPIX_Query_cuda_support) return MPIX_Query_cuda_support() == 1;
    int supported = 0;
    return MPIX_GPU_query_support && MPIX_GPU_query_support(kGpuIsCuda, &supported) == kSuccess && supported;
}

std::string Mpi::failure(int result, const char* function) const {
    char message[kErrorText + 1] = {};
    int length = 0;
    if (MPI_Error_string(result, message, &length) != kSuccess || !*message) return text(function, ": error ", result);
    return text(function, ": ", message);
}

}  // namespace gpo::driver
