// NVSHMEM (libnvshmem_host.so.3), loaded at first use and called without NVIDIA's headers. The types below follow the
// headers: the parts used here have not changed since 3.3.
//
// A process has one world of NVSHMEM: its processing elements (PEs) are the same processes until the end. Two threads
// may not call NVSHMEM at once. Calls that all PEs have to make wait for the other PEs without limit.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "host/host.h"

namespace gpo::driver {

class Nvshmem {
public:
    static constexpr int kOldestVersion = 30300, kNextMajor = 40000;   // 3.3.0, 4.0.0
    static constexpr unsigned kByUniqueId = 1 << 3;                    // NVSHMEMX_INIT_WITH_UNIQUEID
    static constexpr int kSuccess = 0;
    enum Status : int { kNotBegun = 0, kHalfBegun = 1 };               // from 2 on it runs

    /// nvshmemx_uniqueid_t and the structures around it, each version 1: the size is part of the version.
    struct UniqueId {
        int version = (1 << 16) + 128;
        char bytes[124] = {};
    };
    struct UniqueIdArguments {
        int version = (1 << 16) + 24;
        const UniqueId* id = nullptr;
        int rank = -1, ranks = -1;
    };
    struct Arguments {
        int version = (1 << 16) + 128;
        UniqueIdArguments by_id;
        char rest[96] = {};
    };
    struct Attributes {
        int version = (1 << 16) + 144;
        void* communicator = nullptr;
        Arguments arguments;
    };
    static_assert(sizeof(UniqueId) == 128 && sizeof(UniqueIdArguments) == 24 && sizeof(Arguments) == 128 &&
                  sizeof(Attributes) == 144);

    /// NULL: can't be used; `why` says the reason, and what to install or set. Loaded once for the process.
    static const Nvshmem* open(std::string* why);
    /// The process's NVSHMEM once begin_running() was called; NULL before.
    static const Nvshmem* running() noexcept { return running_.load(std::memory_order_acquire); }
    void begin_running() const noexcept { running_.store(this, std::memory_order_release); }

    int version() const noexcept { return version_; }
    /// "3.8.0"
    static std::string version_text(int version);

    /// Held around each call.
    using Calls = std::lock_guard<host::Mutex>;
    host::Mutex& calls() const noexcept { return calls_; }

#define GPO_NVSHMEM_FUNCTIONS(X)                                              \
    X(nvshmemx_vendor_get_version_info, void(int*, int*, int*))               \
    X(nvshmemx_init_status, int())                                            \
    X(nvshmemx_get_uniqueid, int(UniqueId*))                                  \
    X(nvshmemx_set_attr_uniqueid_args, int(int, int, const UniqueId*, Attributes*)) \
    X(nvshmemx_hostlib_init_attr, int(unsigned, Attributes*))                 \
    X(nvshmem_my_pe, int())                                                   \
    X(nvshmem_n_pes, int())                                                   \
    X(nvshmem_calloc, void*(size_t, size_t))                                  \
    X(nvshmem_free, void(void*))                                              \
    X(nvshmem_ptr, void*(const void*, int))                                   \
    X(nvshmemx_cumodule_init, int(CUmodule))
#define X(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
    GPO_NVSHMEM_FUNCTIONS(X)
#undef X
    int (*nvshmemx_cumodule_finalize)(CUmodule) = nullptr;   // since 3.5; NULL before

private:
    static std::unique_ptr<Nvshmem> load(std::string* why);
    static inline std::atomic<const Nvshmem*> running_{nullptr};
    int version_ = 0;
    mutable host::Mutex calls_;
};

}  // namespace gpo::driver
