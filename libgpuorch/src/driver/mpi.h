// MPI, loaded at its first use and called without its headers.
//
// MPI has no common ABI. Open MPI's handles are addresses, and its predefined handles are symbols. MPICH, and MPIs with
// MPICH's ABI, use 32-bit numbers. Here a handle is a machine word. An MPI whose handles are ints ignores the upper
// half of an argument and writes the lower half of a result (on little-endian machines that pass both in a register).
// Message statuses have no common layout, so the library never asks for them.
//
// Threads. If the library's user has initialised MPI for fewer threads than MPI_THREAD_MULTIPLE, or MPI grants less,
// calls exclude each other (Calls). All calls are made inside one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "host/host.h"

namespace gpo::driver {

class Mpi {
public:
    using Handle = uintptr_t;

    /// The process's MPI, which may be called after begin(). NULL: can't be used; `why` says the reason, and what to
    /// install or set.
    static const Mpi* open(std::string* why);

    /// Initialises MPI unless the program has. False with the reason in `why`: for example, MPI was finalised, or was
    /// initialised for too few threads. If this call initialised MPI, the process's exit finalises MPI.
    bool begin(std::string* why) const;

    /// Sets a function to call before the library finalises MPI: it should receive the messages still on their way.
    using BeforeFinalize = void (*)() noexcept;
    void before_finalize(BeforeFinalize call) const noexcept { before_finalize_.store(call); }

    class Calls {
    public:
        explicit Calls(const Mpi& mpi) noexcept : lock_(mpi.lock_, std::defer_lock) {
            if (!mpi.multiple_.load(std::memory_order_acquire)) lock_.lock();
        }

    private:
        host::Lock lock_;
    };

    static constexpr int kSuccess = 0;
    static constexpr int kErrorText = 2048;   // bytes: more than any MPI_MAX_ERROR_STRING

    Handle world() const noexcept { return world_; }
    Handle byte() const noexcept { return byte_; }
    Handle errors_return() const noexcept { return errors_return_; }
    /// MPI_STATUS_IGNORE.
    void* no_status() const noexcept { return no_status_; }
    /// Whether messages may be in device memory: GPUORCH_MPI_DEVICE if set, else the MPI's answer. After begin().
    bool takes_device_addresses() const;
    /// "Open MPI v4.1.4".
    const std::string& version() const noexcept { return version_; }
    /// "MPI_Isend: message truncated".
    std::string failure(int result, const char* function) const;

#define GPO_MPI_FUNCTIONS(X)                                         \
    X(MPI_Init_thread, int(int*, char***, int, int*))                \
    X(MPI_Initialized, int(int*))                                    \
    X(MPI_Finalized, int(int*))                                      \
    X(MPI_Finalize, int())                                           \
    X(MPI_Query_thread, int(int*))                                   \
    X(MPI_Get_library_version, int(char*, int*))                     \
    X(MPI_Error_string, int(int, char*, int*))                       \
    X(MPI_Comm_rank, int(Handle, int*))                              \
    X(MPI_Comm_size, int(Handle, int*))                              \
    X(MPI_Comm_idup, int(Handle, Handle*, Handle*))                  \
    X(MPI_Comm_set_errhandler, int(Handle, Handle))                  \
    X(MPI_Isend, int(const void*, int, Handle, int, int, Handle, Handle*)) \
    X(MPI_Irecv, int(void*, int, Handle, int, int, Handle, Handle*)) \
    X(MPI_Iprobe, int(int, int, Handle, int*, void*))                \
    X(MPI_Test, int(Handle*, int*, void*))
#define X(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
    GPO_MPI_FUNCTIONS(X)
#undef X
    // Extensions, NULL where the MPI hasn't them. The first: Open MPI and MPICH; the other: MPICH since 4.0.
    int (*MPIX_Query_cuda_support)() = nullptr;
    int (*MPIX_GPU_query_support)(int type, int* is_supported) = nullptr;

private:
    static std::unique_ptr<Mpi> load(std::string* why);
    static void finalize() noexcept;

    Handle world_ = 0, byte_ = 0, errors_return_ = 0;
    void* no_status_ = nullptr;
    std::string version_;
    mutable host::Mutex lock_;                    // held during a call, unless `multiple_`
    mutable std::atomic<bool> multiple_{false};   // several threads may call at once
    mutable std::atomic<BeforeFinalize> before_finalize_{nullptr};
    mutable host::Mutex beginning_;
    mutable bool begun_ = false;                  // under beginning_
};

}  // namespace gpo::driver
