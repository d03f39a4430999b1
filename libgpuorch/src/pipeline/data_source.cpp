// Sources that are memory or a callback.
#include "pipeline/data_source.h"

#include <cstring>

#include "core/struct_options.h"
#include "pipeline/data_file.h"
#include "pipeline/range_source.h"

namespace gpo::pipeline {

namespace {

class MemoryRange final : public Bytes {
public:
    MemoryRange(const void* memory, bool pinned) : memory_(static_cast<const char*>(memory)), pinned_(pinned) {}

    int fetch(char* to, uint64_t at, uint64_t bytes) const noexcept override {
        std::memcpy(to, memory_ + at, bytes);
        return 0;
    }
    void fail(int) const override { gpo::fail(GPO_INTERNAL, "memory can always be read"); }
    const void* direct() const noexcept override { return pinned_ ? memory_ : nullptr; }
    bool staged() const noexcept override { return true; }

private:
    const char* const memory_;
    const bool pinned_;
};

class CallbackSource final : public SerialSource {
public:
    CallbackSource(gpo_source_fn fill, void* user, const Owner& owner) : fill_(fill), user_(user), owner_(owner) {}

    void interrupt() noexcept override { interrupted_.store(true, std::memory_order_relaxed); }

private:
    uint64_t fill(void* buffer, uint64_t capacity) override {
        uint64_t filled = 0;
        for (unsigned empty = 0; filled < capacity && !ended_;) {
            if (interrupted_.load(std::memory_order_relaxed)) return filled;
            uint64_t bytes = 0;
            const gpo_status status = run_callback(owner_, "source", [&] {
                return fill_(user_, static_cast<char*>(buffer) + filled, capacity - filled, &bytes);
            });
            if (bytes > capacity - filled)
                fail(GPO_CALLBACK_FAILED, "the source callback of ", owner_.pipeline->describe(), " filled ", bytes,
                     " bytes of a buffer of ", capacity - filled);
            filled += bytes;
            ended_ = status == GPO_END;
            if (bytes == 0 && !ended_) host::step(empty++);
        }
        return filled;
    }

    const gpo_source_fn fill_;
    void* const user_;
    const Owner owner_;
    bool ended_ = false;
    std::atomic<bool> interrupted_{false};
};

}  // namespace

void fail_callback(const Owner& owner, const char* which, gpo_status status) {
    fail(GPO_CALLBACK_FAILED, "the ", which, " callback of ", owner.pipeline->describe(), " returned ",
         gpo_status_name(status), " (", status, ")");
}

void fail_callback_threw(const Owner& owner, const char* which, const ThrownText& thrown) {
    fail(GPO_CALLBACK_FAILED, "the ", which, " callback of ", owner.pipeline->describe(), " threw ", thrown);
}

bool is_pinned(Context& context, const void* memory, uint64_t bytes, const char* name) {
    if (bytes == 0) return false;
    DriverScope scope(context);
    const auto& table = context.table();
    const auto first = reinterpret_cast<CUdeviceptr>(memory);
    // For plain memory, which the driver doesn't know, an error is the normal answer.
    unsigned type = 0;
    if (table.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, first) != CUDA_SUCCESS || type == 0)
        return false;
    int managed = 0;
    if (table.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, first) == CUDA_SUCCESS && managed)
        return false;
    if (type != CU_MEMORYTYPE_HOST)
        fail(GPO_INVALID_ARGUMENT, name, " is device memory at ", hex(first), ": host memory is needed");
    CUdeviceptr start = 0;
    size_t size = 0;
    if (table.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, first) != CUDA_SUCCESS ||
        table.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, first) != CUDA_SUCCESS)
        return false;
    return first - start <= size && size - (first - start) >= bytes;
}

std::unique_ptr<Source> open_source(const gpo_source& source, Context& context, const Owner& owner, Team& team) {
    refuse_unknown_flags(source.flags, GPO_SOURCE_UNCHANGED | GPO_SOURCE_USE_DESCRIPTOR, "source.flags");
    if (source.flags != 0 && source.kind != GPO_SOURCE_FILE)
        fail(GPO_INVALID_ARGUMENT, "source.flags has ",
             source.flags & GPO_SOURCE_UNCHANGED ? "GPO_SOURCE_UNCHANGED" : "GPO_SOURCE_USE_DESCRIPTOR",
             ", and the source is no file");
    switch (source.kind) {
        case GPO_SOURCE_MEMORY: {
            if (!source.memory && source.bytes != 0) fail(GPO_INVALID_ARGUMENT, "source.memory is NULL");
            if (reinterpret_cast<uintptr_t>(source.memory) + source.bytes < source.bytes)
                fail(GPO_INVALID_ARGUMENT, "source.bytes is more than the address space: ", source.bytes);
            const bool pinned = is_pinned(context, source.memory, source.bytes, "source.memory");
            return read_range(std::make_unique<MemoryRange>(source.memory, pinned), 0, source.bytes, team);
        }
        case GPO_SOURCE_FILE:
            return open_file_source(source, team);
        case GPO_SOURCE_CALLBACK:
            if (!source.fill) fail(GPO_INVALID_ARGUMENT, "source.fill is NULL");
            return std::make_unique<CallbackSource>(source.fill, source.user, owner);
    }
    fail(GPO_INVALID_ARGUMENT, "source.kind is ", source.kind, ", which is none of GPO_SOURCE_*");
}

}  // namespace gpo::pipeline
