// A driver: a filled table of functions, a compiler of kernel source for its devices, and the features that it has. Two
// drivers exist: the machine's CUDA driver and the software GPU. The rest of the library never asks which of the two is
// in use.
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

/// A store that outlives the process, for data that a compiler makes once and needs for every compilation, such as a
/// precompiled header. A failure of the store fails no compilation. Any thread.
class Shelf {
public:
    virtual ~Shelf() = default;
    /// The bytes put under this name, whole and unaltered; nullopt if the store doesn't have them. The name consists of
    /// letters and digits.
    virtual std::optional<std::string> take(const std::string& name) = 0;
    /// Adds the bytes, or replaces the bytes of the same name. False if they couldn't be written.
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
    Shelf* shelf = nullptr;                                     // doesn't change the image; may be NULL
};

struct CompileResult {
    bool ok = false;
    bool unavailable = false;                                   // no compiler here; `log` says which was looked for
    int system_error = 0;  // errno of the failure that stopped the compiler, if the source isn't the cause
    std::string log;                                            // the compiler's text, warnings included
    std::vector<std::byte> image;                               // for cuModuleLoadDataEx of the same driver
    std::vector<std::pair<std::string, std::string>> lowered;   // name expression, symbol in the image
    std::string device_runtime;   // library to link with the image before the image is loaded; "": none
};

/// A request on its way through a compiler. A single thread uses the compilation. The request must outlive it.
class Compilation {
public:
    virtual ~Compilation() = default;
    /// A text that describes the files that the source reads. The image depends only on these, the request, and
    /// Compiler::identity(). The text stays valid until finish(). NULL if the compiler doesn't know the files, or has
    /// failed already: the image isn't cached then.
    virtual const std::string* inputs() const = 0;
    /// Makes the image. Called once at most.
    virtual CompileResult finish() = 0;
};

/// Compiles kernel source. Any thread may call it, several at once. Blocks for as long as the compiler takes.
class Compiler {
public:
    virtual ~Compiler() = default;
    /// Reads the source and the files that it includes. finish() reports failures.
    virtual std::unique_ptr<Compilation> begin(const CompileRequest& request) = 0;
    CompileResult compile(const CompileRequest& request) { return begin(request)->finish(); }
    /// Part of the key of the disk cache: compiler, version, and the properties of the machine that the code depends
    /// on. "": unknown at the moment.
    virtual std::string identity() = 0;
};

/// The operation that made a driver's devices fail, if the driver can report it.
struct Fault {
    CUresult result = CUDA_SUCCESS;
    CUstream stream = nullptr;        // NULL: the legacy stream
    uint64_t number = 0;              // the operation's number in its stream: see Driver::submitted
    std::string kernel;               // symbol of the kernel; empty for other operations
    std::string text;                 // for an assert or trap: the condition, file, line, block and thread
};

/// Lets a thread wait for events of a context without polling. The waiting thread sets `listening`, executes a heavy
/// fence (host/fence.h), queries the events once more, and then waits until `signal` changes. A notifying thread
/// executes a light fence before it reads `listening`.
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
    bool software = false;            // only for properties that users see; different behaviour has flags of its own
    /// NVIDIA's libraries (NCCL, NVSHMEM, NVML) know its devices.
    bool has_libraries = false;
    /// fault() reports the operation that failed, and submitted() counts operations.
    bool reports_faults = false;
    /// Kernels run on the host's cores, and a spinning thread takes time from them.
    bool uses_host_cores = false;
    /// Making a stream or a graph never waits for kernels, however many streams and graphs exist (stream/room.h).
    bool has_room = false;
    /// The built-in kernels (driver/builtin.h), for cuModuleLoadDataEx of this driver. Static memory, like the images
    /// below.
    std::string_view builtin_image;
    /// The kernel gpo_decide (driver/condition.cu).
    std::string_view condition_image;
    /// The kernel gpo_push (driver/push.cu).
    std::string_view push_image;
    /// The kernel gpo_combine (driver/combine.cu).
    std::string_view combine_image;
    virtual Compiler& compiler() = 0;
    /// The operation that failed; nullopt if none has failed, or if reports_faults is false. Any thread.
    virtual std::optional<Fault> fault() { return std::nullopt; }
    /// Number of operations submitted to the stream since its creation. Each successful call that submits work counts
    /// once, by any caller. 0 without reports_faults.
    virtual uint64_t submitted(CUstream) { return 0; }
    /// Registers a listener until ignore(). The driver notifies the listener when an event of its context has been
    /// reached, or can't be reached any more, and a query would say so. If `listening` is set, a notification clears
    /// `listening`, changes `signal`, and wakes the waiting thread. False: this driver doesn't notify, or there is no
    /// memory.
    virtual bool listen(Listener&) noexcept { return false; }
    virtual void ignore(Listener&) noexcept {}
};

/// The machine's CUDA driver, loaded and initialised on the first call. NULL with the reason in `why` when it can't be
/// used (no library, broken library, a required function missing, too old, no device, forked process). `*absent` is
/// true if the reason is that the machine has no NVIDIA GPU: no device node exists, and libcuda is missing or reports
/// no device.
std::shared_ptr<Driver> open_cuda(std::string* why, bool* absent = nullptr);

/// For tests: the folder in which open_cuda looks for device nodes, in place of /dev.
void set_device_folder(std::string folder);

/// The software GPU. All runtimes of the process share a single instance, which is destroyed with its last reference.
/// NULL with the reason if it can't be started, or the library was built without it.
std::shared_ptr<Driver> open_soft(std::string* why);
/// True if the library was built with the software GPU.
bool has_soft() noexcept;

/// For tests: every driver that a runtime opens from now on passes through `wrap` (faults.h, recorder.h). Empty: none.
using Interposer = std::function<std::shared_ptr<Driver>(std::shared_ptr<Driver>)>;
void set_interposer(Interposer wrap);

/// Passes a driver that a runtime has opened through the interposer. Returns the driver itself if none is set.
std::shared_ptr<Driver> interpose(std::shared_ptr<Driver> driver);

}  // namespace gpo::driver
