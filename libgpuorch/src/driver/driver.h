// A driver: a filled table, a compiler of kernel source for its devices, and what it supports. There are two: the
// machine's CUDA driver and the software GPU. The rest of the library never asks which of them it has.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/table.h"

namespace gpo::driver {

/// Where a compiler keeps what it makes once and needs for every compilation, such as a precompiled header, from
/// process to process. Nothing here fails a compilation. Any thread.
class Shelf {
public:
    virtual ~Shelf() = default;
    /// What was put there under this name, whole and unaltered. The name is letters and digits.
    virtual std::optional<std::string> take(const std::string& name) = 0;
    /// Adds or replaces it. False if it couldn't be written.
    virtual bool put(const std::string& name, std::string_view bytes) = 0;
};

struct CompileRequest {
    std::string source;                                         // CUDA C++, one translation unit
    std::string file_name;                                      // shown in messages
    std::vector<std::string> options;                           // NVRTC's spelling: -I, -D, --std=c++17, …
    std::vector<std::string> name_expressions;                  // "blur<float, 4>": templates to instantiate
    std::vector<std::pair<std::string, std::string>> headers;   // include name, text
    int compute_capability = 0;                                 // 90 for sm_90; ignored by the software GPU
    bool dynamic_parallelism = false;                           // kernels may launch kernels
    Shelf* shelf = nullptr;                                     // not part of what is asked for; may be NULL
};

struct CompileResult {
    bool ok = false;
    bool unavailable = false;                                   // no compiler here; `log` says which was looked for
    int system_error = 0;  // errno of what kept it from working, if that wasn't the source
    std::string log;                                            // the compiler's text, warnings included
    std::vector<std::byte> image;                               // what cuModuleLoadDataEx of the same driver takes
    std::vector<std::pair<std::string, std::string>> lowered;   // name expression, symbol in the image
    std::string device_runtime;   // library that the driver must link the image with before it loads it; "": linked
};

/// One request on its way through a compiler. One thread uses it; the request must outlive it.
class Compilation {
public:
    virtual ~Compilation() = default;
    /// Everything that the image depends on beside the request and Compiler::identity(): what the source reads from
    /// files. The text stays valid until finish(). NULL: the compiler can't tell, or has failed already; such an image
    /// is never cached.
    virtual const std::string* inputs() const = 0;
    /// Makes the image. Called once at most.
    virtual CompileResult finish() = 0;
};

/// Compiles kernel source. Any thread may call it, several at once. Blocks for as long as the compiler takes.
class Compiler {
public:
    virtual ~Compiler() = default;
    /// Reads the source with all that it includes. A failure is what finish() returns.
    virtual std::unique_ptr<Compilation> begin(const CompileRequest& request) = 0;
    CompileResult compile(const CompileRequest& request) { return begin(request)->finish(); }
    /// Part of the key of the disk cache: compiler, version, and what of the machine the code depends on. "": it can't
    /// be told now.
    virtual std::string identity() = 0;
};

/// The operation that took a driver's devices down, where the driver can tell.
struct Fault {
    CUresult result = CUDA_SUCCESS;
    CUstream stream = nullptr;        // NULL: the legacy stream
    uint64_t number = 0;              // of the operation in its stream: see Driver::submitted
    std::string kernel;               // its symbol; empty when it wasn't a kernel
    std::string text;                 // of an assert or trap: what, file, line, block, thread
};

/// Who waits for events of a context, and would else ask for them again and again. It sets `listening`, passes a heavy
/// fence (host/fence.h), asks once more, and then waits for the word to change. Whoever tells passes a light one before
/// it looks.
struct Listener {
    explicit Listener(CUcontext context) noexcept : context(context) {}
    const CUcontext context;
    std::atomic<bool> listening{false};
    std::atomic<uint32_t> signal{0};   // a wait word
};

struct Driver {
    virtual ~Driver() = default;
    Table table;
    int version = 0;                  // of the driver: 13000
    const char* name = "";            // "cuda" or "soft"
    bool software = false;            // for properties that users see; what is done differently is a feature
    /// NVIDIA's libraries (NCCL, NVSHMEM, NVML) know its devices.
    bool has_libraries = false;
    /// fault() tells what failed, and submitted() counts.
    bool tells_faults = false;
    /// Its kernels run on the host's cores, and a thread that spins takes time from them.
    bool uses_host_cores = false;
    /// Streams and graphs are made beside any number of others without waiting for kernels (stream/room.h).
    bool has_room = false;
    /// The built-in kernels (kernel/builtin.h), as cuModuleLoadDataEx of this driver takes them; static.
    std::string_view builtin_image;
    /// The kernel gpo_decide (driver/condition.cu), likewise.
    std::string_view condition_image;
    /// The kernel gpo_push (driver/push.cu), likewise.
    std::string_view push_image;
    /// The kernel gpo_combine (driver/combine.cu), likewise.
    std::string_view combine_image;
    virtual Compiler& compiler() = 0;
    /// What failed, exactly; nothing while nothing has, and never on a driver without tells_faults. Any thread.
    virtual std::optional<Fault> fault() { return std::nullopt; }
    /// The number of operations that the stream was given since its creation: one for each successful call that gives
    /// it work, by any caller. 0 without tells_faults.
    virtual uint64_t submitted(CUstream) { return 0; }
    /// From now on until ignore(): when an event of the listener's context has been reached, or never will be, and
    /// asking would say so, and it is listening, then it no longer is, `signal` changes, and who waits for it wakes up.
    /// False: this driver can't tell, or there is no memory.
    virtual bool listen(Listener&) noexcept { return false; }
    virtual void ignore(Listener&) noexcept {}
};

/// The machine's CUDA driver, loaded and initialised on the first call. NULL with the reason in `why` when it can't be
/// used (no library, broken library, a required function missing, too old, no device, forked process). `*absent` says
/// whether that is because this machine has no NVIDIA GPU: it shows no device node of one, and there is no libcuda, or
/// libcuda says that there is no device.
std::shared_ptr<Driver> open_cuda(std::string* why, bool* absent = nullptr);

/// For tests: the folder in which open_cuda looks for device nodes, in place of /dev.
void set_device_folder(std::string folder);

/// The software GPU. One for the process, shared by all runtimes, gone when the last of them lets go of it. NULL with
/// the reason if it can't be started, or the library was built without it.
std::shared_ptr<Driver> open_soft(std::string* why);
/// Whether the library was built with it.
bool has_soft() noexcept;

/// For tests: every driver that a runtime opens from now on passes through `wrap` (faults.h, recorder.h). Empty: none.
using Interposer = std::function<std::shared_ptr<Driver>(std::shared_ptr<Driver>)>;
void set_interposer(Interposer wrap);

/// What the runtime calls on a driver that it has opened: the interposer's answer, or the driver itself.
std::shared_ptr<Driver> interpose(std::shared_ptr<Driver> driver);

}  // namespace gpo::driver
