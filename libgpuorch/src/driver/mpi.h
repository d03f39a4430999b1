// MPI, which joins processes and machines: loaded when it is first needed, without its headers.
//
// There is no common ABI. Open MPI's handles are addresses, and its predefined ones symbols; those of MPICH, and of the
// MPIs that have its ABI, are 32-bit numbers. Here a handle is a machine word: where an int is passed in one its upper
// half isn't looked at, and where the library writes an int the lower half is (little-endian machines, whose calling
// conventions pass both in a register). Statuses of messages have no common layout: they are never asked for.
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

    /// The process's; NULL if it can't be used, and then `why` says why, and what to install or set. Whoever gets it
    /// may call it, after begin().
    static const Mpi* open(std::string* why);

    /// Initialises MPI if nobody has. False: the program has finalised it, or has initialised it for too few threads,
    /// and `why` says so. If the library has initialised it, it finalises it at the exit of the process.
    bool begin(std::string* why) const;

    /// Is called before the library finalises MPI: whatever is still on its way should be received.
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
    /// Whether messages may be in device memory: as GPUORCH_MPI_DEVICE says, else as the MPI does. After begin().
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
    mutable host::Mutex lock_;                    // calls, where they may not be made at once
    mutable std::atomic<bool> multiple_{false};   // they may
    mutable std::atomic<BeforeFinalize> before_finalize_{nullptr};
    mutable host::Mutex beginning_;
    mutable bool begun_ = false;                  // under beginning_
};

}  // namespace gpo::driver
