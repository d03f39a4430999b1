// A description of memory or an event that a process exports to other processes: the bytes that gpo_memory_export and
// gpo_event_export write. Readers trust nothing: the bytes may be garbage, and the described objects freed.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/context.h"
#include "gpuorch/interprocess.h"
#include "host/shared_file.h"

namespace gpo {

/// Laid out alike in all processes.
struct Exported {
    static constexpr uint64_t kMagic = 0x3174'7270'786f'7067;   // "gpoxprt1": the layout, too
    enum Kind : uint32_t { memory = 1, event };

    uint64_t magic = kMagic;
    uint32_t kind = 0, reserved = 0;
    host::Process process;           // the exporter
    char driver[8] = {};             // the driver's name
    unsigned char device[16] = {};   // the device's UUID
    uint64_t bytes = 0;              // of memory
    uint64_t offset = 0;             // where the memory begins in the allocation that `handle` names
    host::SharedFileName file;       // of an event: a file of the library, shared by the processes that use the event
    unsigned char handle[64] = {};   // the driver's
    uint64_t rest[12] = {};
    uint64_t digest = 0;             // of all fields above
};
static_assert(sizeof(Exported) == GPO_EXPORT_BYTES);

/// Throws Failure(GPO_NOT_SUPPORTED) in a deterministic runtime, whose schedule includes no other process.
void refuse_deterministic();
/// Names this process and this device; the caller fills in the rest and seals the result. Throws Failure, with
/// GPO_NOT_SUPPORTED if the runtime is deterministic or there is no /proc.
Exported begin_export(Context& context, Exported::Kind kind);
void seal(Exported& exported) noexcept;
/// Writes the result of gpo_memory_export and gpo_event_export. Throws Failure(GPO_INVALID_ARGUMENT,
/// GPO_BUFFER_TOO_SMALL).
void write_exported(const Exported& exported, void* buffer, size_t capacity, size_t* needed);

/// Throws Failure unless the bytes are of this kind, and usable in this process with the context's driver.
Exported read_exported(Context& context, Exported::Kind kind, const void* bytes, size_t count);
/// The driver's number of the device with this UUID; -1: invisible to this process. Inside a DriverScope. Throws.
int ordinal_of(Context& context, const unsigned char (&uuid)[16]);
/// The process in words: "process 4711".
std::string process_of(const Exported& exported);
/// Throws Failure(GPO_PEER_LOST) if the process has ended.
void refuse_lost(const Exported& exported);
/// Throws the Failure for a failed import: GPO_PEER_LOST if the exporter has ended, otherwise the driver's error.
[[noreturn]] void fail_import(Context& context, const Exported& exported, CUresult result, const char* function);

}  // namespace gpo
