#include "device/exported.h"

#include <cstring>

namespace gpo {

namespace {

const char* name_of(uint32_t kind) noexcept { return kind == Exported::memory ? "memory" : "an event"; }

// FNV-1a: detects damage, not malice.
uint64_t digest_of(const Exported& exported) noexcept {
    uint64_t digest = 0xcbf2'9ce4'8422'2325;
    const auto* bytes = reinterpret_cast<const unsigned char*>(&exported);
    for (size_t i = 0; i < offsetof(Exported, digest); ++i) digest = (digest ^ bytes[i]) * 0x100'0000'01b3;
    return digest;
}

}  // namespace

void refuse_deterministic() {
    if (host::detail::scheduled())
        fail(GPO_NOT_SUPPORTED, "the runtime is deterministic, and other processes are not in its schedule");
}

int ordinal_of(Context& context, const unsigned char (&uuid)[16]) {
    const driver::Table& table = context.table();
    int count = 0;
    context.check(table.cuDeviceGetCount(&count), "cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        CUdevice device = 0;
        CUuuid of{};
        if (table.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
            table.cuDeviceGetUuid(&of, device) == CUDA_SUCCESS && std::memcmp(of.bytes, uuid, sizeof uuid) == 0)
            return ordinal;
    }
    return -1;
}

Exported begin_export(Context& context, Exported::Kind kind) {
    refuse_deterministic();
    Exported made;
    made.kind = kind;
    made.process = host::this_process();
    if (made.process.number == 0)
        fail(GPO_NOT_SUPPORTED, "/proc isn't there, by which other processes find what this one exports");
    copy_text(made.driver, context.driver().name);
    const DriverScope scope(context);
    CUdevice device = 0;
    CUuuid uuid{};
    context.check(context.table().cuDeviceGet(&device, context.ordinal()), "cuDeviceGet");
    context.check(context.table().cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
    std::memcpy(made.device, uuid.bytes, sizeof made.device);
    return made;
}

void seal(Exported& exported) noexcept { exported.digest = digest_of(exported); }

void write_exported(const Exported& exported, void* buffer, size_t capacity, size_t* needed) {
    if (!buffer && capacity) fail(GPO_INVALID_ARGUMENT, "buffer is NULL, and capacity is ", capacity);
    if (needed) *needed = sizeof exported;
    if (!buffer) return;
    if (capacity < sizeof exported)
        fail(GPO_BUFFER_TOO_SMALL, "capacity is ", capacity, ", and what is exported has ", sizeof exported, " bytes");
    std::memcpy(buffer, &exported, sizeof exported);
}

Exported read_exported(Context& context, Exported::Kind kind, const void* bytes, size_t count) {
    refuse_deterministic();
    if (count != sizeof(Exported))
        fail(GPO_INVALID_ARGUMENT, "bytes is ", count, ": what a process exports has ", sizeof(Exported));
    Exported read;
    std::memcpy(&read, bytes, sizeof read);
    if (read.magic != Exported::kMagic)
        fail(GPO_INVALID_ARGUMENT, "exported is nothing that this version of the library has exported");
    if (read.digest != digest_of(read))
        fail(GPO_INVALID_ARGUMENT, "exported is damaged: some of its bytes aren't those that were exported");
    if (read.kind != kind)
        fail(GPO_INVALID_ARGUMENT, "exported is of ", name_of(read.kind), ", not of ", name_of(kind));
    read.driver[sizeof read.driver - 1] = 0;
    if (std::strcmp(read.driver, context.driver().name) != 0)
        fail(GPO_INVALID_ARGUMENT, "exported is of the driver `", read.driver, "`, and the device is of `",
             context.driver().name, "`");
    if (read.process == host::this_process())
        fail(GPO_INVALID_ARGUMENT, "exported is of ", name_of(kind), " of this process, which has it already");
    refuse_lost(read);
    const DriverScope scope(context);
    if (ordinal_of(context, read.device) < 0)
        fail(GPO_NOT_SUPPORTED, "exported is of ", name_of(kind), " on a device that this process doesn't see");
    return read;
}

std::string process_of(const Exported& exported) { return text("process ", exported.process.number); }

void refuse_lost(const Exported& exported) {
    if (host::has_ended(exported.process))
        fail(GPO_PEER_LOST, process_of(exported), ", which exported it, has ended");
}

void fail_import(Context& context, const Exported& exported, CUresult result, const char* function) {
    refuse_lost(exported);
    if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_MAP_FAILED || result == CUDA_ERROR_INVALID_VALUE ||
        result == CUDA_ERROR_INVALID_CONTEXT)
        fail(GPO_INVALID_ARGUMENT, "the driver finds nothing of ", process_of(exported),
             " there: it has freed or destroyed what it exported, or is another user's (", function, " gave ",
             static_cast<int>(result), ")");
    context.check(result, function);
    fail(GPO_INTERNAL, function, " failed without a reason");
}

}  // namespace gpo
