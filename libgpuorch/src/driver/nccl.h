// NCCL (libnccl.so.2), loaded at first use and called without its header nccl.h. The types below follow that header:
// the parts used here have not changed since 2.19.
#pragma once

#include <cuda.h>

#include <climits>
#include <cstddef>
#include <memory>
#include <string>

namespace gpo::driver {

class Nccl {
public:
    using Result = int;
    using Communicator = struct NcclCommunicator*;
    using DataType = int;
    using Reduction = int;
    struct UniqueId {
        char bytes[128];
    };
    static constexpr int kOldestVersion = 21900;   // 2.19.0
    /// ncclConfig_t since 2.17; NCCL sets the fields that later versions added at the end to their defaults.
    struct Config {
        size_t size = sizeof(Config);
        unsigned magic = 0xcafebeef, version = kOldestVersion;
        int blocking = kUndefined, cluster_size = kUndefined, least_blocks = kUndefined, most_blocks = kUndefined;
        const char* network = nullptr;
        int split_share = kUndefined;

    private:
        static constexpr int kUndefined = INT_MIN;
    };
    static constexpr Result kSuccess = 0, kInProgress = 7;

    /// NULL: can't be used; `why` says the reason, and what to install or set. Loaded once for the process.
    static const Nccl* open(std::string* why);

    int version() const noexcept { return version_; }
    /// "2.28.9"
    static std::string version_text(int version);

#define GPO_NCCL_FUNCTIONS(X)                                                                                         \
    X(ncclGetVersion, Result(int*))                                                                                   \
    X(ncclGetErrorString, const char*(Result))                                                                        \
    X(ncclGetLastError, const char*(Communicator))                                                                    \
    X(ncclGetUniqueId, Result(UniqueId*))                                                                             \
    X(ncclCommInitRankConfig, Result(Communicator*, int, UniqueId, int, Config*))                                     \
    X(ncclCommGetAsyncError, Result(Communicator, Result*))                                                           \
    X(ncclCommCount, Result(Communicator, int*))                                                                      \
    X(ncclCommFinalize, Result(Communicator))                                                                         \
    X(ncclCommInitAll, Result(Communicator*, int, const int*))                                                        \
    X(ncclCommDestroy, Result(Communicator))                                                                          \
    X(ncclCommAbort, Result(Communicator))                                                                            \
    X(ncclGroupStart, Result())                                                                                       \
    X(ncclGroupEnd, Result())                                                                                         \
    X(ncclAllReduce, Result(const void*, void*, size_t, DataType, Reduction, Communicator, CUstream))                 \
    X(ncclReduce, Result(const void*, void*, size_t, DataType, Reduction, int, Communicator, CUstream))               \
    X(ncclReduceScatter, Result(const void*, void*, size_t, DataType, Reduction, Communicator, CUstream))             \
    X(ncclBroadcast, Result(const void*, void*, size_t, DataType, int, Communicator, CUstream))                       \
    X(ncclAllGather, Result(const void*, void*, size_t, DataType, Communicator, CUstream))                            \
    X(ncclSend, Result(const void*, size_t, DataType, int, Communicator, CUstream))                                   \
    X(ncclRecv, Result(void*, size_t, DataType, int, Communicator, CUstream))
#define X(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
    GPO_NCCL_FUNCTIONS(X)
#undef X

private:
    static std::unique_ptr<Nccl> load(std::string* why);
    int version_ = 0;
};

}  // namespace gpo::driver
