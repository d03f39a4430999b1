// What a process says of something of its own so that another process can use it: the bytes of gpo_memory_export and
// gpo_event_export. Nothing of it is trusted: it may be garbage, and what it names may be gone.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/context.h"
#include "gpuorch/interprocess.h"
#include "host/shared_file.h"

namespace gpo {

/// The same layout in all processes.
struct Exported {
    static constexpr uint64_t kMagic = 0x3174'7270'786f'7067;   // "gpoxprt1": the layout, too
    enum Kind : uint32_t { memory = 1, event };

    uint64_t magic = kMagic;
    uint32_t kind = 0, reserved = 0;
    host::Process process;           // that exported it
    char driver[8] = {};             // its name
    unsigned char device[16] = {};   // its UUID
    uint64_t bytes = 0;              // of memory
    uint64_t offset = 0;             // of its begin in what the driver's handle stands for
    host::SharedFileName file;       // of an event: what its processes share of ours
    unsigned char handle[64] = {};   // the driver's
    uint64_t rest[12] = {};
    uint64_t digest = 0;             // of all before it
};
static_assert(sizeof(Exported) == GPO_EXPORT_BYTES);

/// Throws Failure(GPO_NOT_SUPPORTED) in a deterministic runtime, which other processes are no part of.
void refuse_deterministic();
/// Of this process and this device; the rest is the caller's, who seals it in the end. `what`: "memory". Throws
/// Failure(GPO_NOT_SUPPORTED): the runtime is deterministic.
Exported begin_export(Context& context, Exported::Kind kind);
void seal(Exported& exported) noexcept;
/// gpo_memory_export's and gpo_event_export's way to give it out: a status, or a failure.
void write_exported(const Exported& exported, void* buffer, size_t capacity, size_t* needed);

/// Throws Failure where the bytes are none of this kind that this process can use with the context's driver.
Exported read_exported(Context& context, Exported::Kind kind, const void* bytes, size_t count);
/// The driver's number of the device with this UUID; -1: this process doesn't see it. Inside a DriverScope. Throws.
int ordinal_of(Context& context, const unsigned char (&uuid)[16]);
/// The process in words: "process 4711".
std::string process_of(const Exported& exported);
/// Throws Failure(GPO_PEER_LOST) if the process has ended.
void refuse_lost(const Exported& exported);
/// The same, and else what the driver has answered.
[[noreturn]] void fail_import(Context& context, const Exported& exported, CUresult result, const char* function);

}  // namespace gpo
