#include "gpuorch/memory.h"

#include "abi/call.h"
#include "device/device.h"
#include "memory/arena.h"
#include "memory/copies.h"
#include "memory/fill.h"
#include "memory/pool.h"
#include "memory/registry.h"

using namespace gpo;

namespace {

uint64_t number(const void* pointer) noexcept {
    return reinterpret_cast<uint64_t>(pointer);
}

// The stream is the first handle given.
template <class Put>
gpo_status on_stream(const char* function, const abi::Given& given, Put put) noexcept {
    return abi::submit(function, given, [&] {
        Pin<Stream> on(given.handles[0].number);
        return abi::blame(*on, [&] { return put(*on); });
    });
}

// Like on_stream(), for calls that may copy pageable memory. Such a copy has cancellation points.
template <class Put>
gpo_status on_stream_at_length(const char* function, const abi::Given& given, Put put) noexcept {
    host::NoCancel no_cancel;
    return on_stream(function, given, put);
}

}  // namespace

extern "C" {

// --- pinned arenas ---

GPO_API gpo_status gpo_arena_create(gpo_device_t device, const gpo_arena_options* options, gpo_arena_t* arena) {
    return abi::call(__func__, {device}, [&] {
        required(arena, "arena");
        const gpo_arena_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_ARENA_WRITE_COMBINED | GPO_ARENA_NUMA, "options.flags");
        if (read.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is ", read.reserved, ", not 0");
        if (read.flags & GPO_ARENA_NUMA ? read.numa_node < 0 || read.numa_node > 1023 : read.numa_node != 0)
            fail(GPO_INVALID_ARGUMENT, "options.numa_node is ", read.numa_node, " (0 without GPO_ARENA_NUMA)");
        if (read.max_bytes && (read.slab_bytes > read.max_bytes || read.initial_bytes > read.max_bytes))
            fail(GPO_INVALID_ARGUMENT, "options.max_bytes is ", read.max_bytes, ", less than slab_bytes ",
                 read.slab_bytes, " or initial_bytes ", read.initial_bytes);
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            auto made = make<Arena>(on->context_ref(), read);
            *arena = on->runtime().publish<gpo_arena_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_arena_destroy(gpo_arena_t arena) {
    return abi::destroy(__func__, arena, Type::arena);
}

GPO_API gpo_status gpo_arena_allocate(gpo_arena_t arena, uint64_t bytes, uint64_t alignment, void** memory) {
    return abi::submit(__func__, {arena}, [&] {
        required(memory, "memory");
        Pin<Arena> from(arena);
        return abi::blame(*from, [&] {
            *memory = from->allocate(bytes, alignment, from.thread());
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_arena_free(gpo_arena_t arena, void* memory) {
    return abi::submit(__func__, {arena}, [&] {
        Pin<Arena> to(arena);
        return abi::blame(*to, [&] {
            if (memory) to->free(memory, to.thread());
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_arena_free_after(gpo_arena_t arena, void* memory, gpo_stream_t stream) {
    return abi::submit(__func__, {arena, abi::works_on(stream)}, [&] {
        Pin<Arena> to(arena);
        Pin<Stream> after(stream);
        return abi::blame(*to, [&] {
            if (memory) to->free_after(memory, *after);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_arena_trim(gpo_arena_t arena, uint64_t keep_bytes) {
    return abi::call(__func__, {arena}, [&] {
        Pin<Arena> of(arena);
        return abi::blame(*of, [&] {
            of->trim(keep_bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_arena_get_statistics(gpo_arena_t arena, gpo_memory_statistics* statistics) {
    return abi::call(__func__, {arena}, [&] {
        required(statistics, "statistics");
        Pin<Arena> of(arena);
        write_struct(statistics, of->statistics(), "statistics");
        return GPO_SUCCESS;
    });
}

// --- memory of the caller's ---

GPO_API gpo_status gpo_host_register(gpo_device_t device, void* memory, uint64_t bytes, uint32_t flags) {
    return abi::call(__func__, {device}, [&] {
        if (!memory) fail(GPO_INVALID_ARGUMENT, "memory is NULL");
        if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
        refuse_unknown_flags(flags, GPO_REGISTER_READ_ONLY, "flags");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            Registry::of(on->runtime()).register_host(on->context(), memory, bytes, flags);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_host_unregister(gpo_device_t device, void* memory) {
    return abi::call(__func__, {device}, [&] {
        if (!memory) fail(GPO_INVALID_ARGUMENT, "memory is NULL");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            Registry::of(on->runtime()).unregister_host(memory);
            return GPO_SUCCESS;
        });
    });
}

// --- device memory ---

GPO_API gpo_status gpo_memory_allocate(gpo_device_t device, uint64_t bytes, const char* label, uint64_t* address) {
    return abi::call(__func__, {device}, [&] {
        required(address, "address");
        if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            *address = Registry::of(on->runtime()).allocate(on->context(), bytes, label);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_memory_free(gpo_device_t device, uint64_t address) {
    return abi::call(__func__, {device}, [&] {
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            if (address) Registry::of(on->runtime()).free(on->context(), address);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_memory_export(gpo_device_t device, uint64_t address, void* buffer, size_t capacity,
                                     size_t* needed) {
    return abi::call(__func__, {device}, [&] {
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            write_exported(Registry::of(on->runtime()).export_allocation(on->context(), address), buffer, capacity,
                           needed);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_memory_import(gpo_device_t device, const void* exported, size_t bytes, const char* label,
                                     uint64_t* address, uint64_t* size) {
    return abi::call(__func__, {device}, [&] {
        if (!exported) fail(GPO_INVALID_ARGUMENT, "exported is NULL");
        required(address, "address");
        required(size, "size");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            const Exported read = read_exported(on->context(), Exported::memory, exported, bytes);
            *address = Registry::of(on->runtime()).import(on->context(), read, label);
            *size = read.bytes;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_memory_describe(gpo_device_t device, uint64_t address, gpo_memory_info* info) {
    return abi::call(__func__, {device}, [&] {
        required(info, "info");
        if (address == 0) fail(GPO_INVALID_ARGUMENT, "address is NULL");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            DriverScope scope(on->context());
            const Place place = place_of(on->context(), address);
            gpo_memory_info out{};
            out.kind = place.kind;
            out.device_ordinal = place.ordinal;
            out.start = place.start;
            out.bytes = place.bytes;
            write_struct(info, out, "info");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_pool_create(gpo_device_t device, const gpo_pool_options* options, gpo_pool_t* pool) {
    return abi::call(__func__, {device}, [&] {
        required(pool, "pool");
        const gpo_pool_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_POOL_KEEP_NOTHING, "options.flags");
        if (read.flags & GPO_POOL_KEEP_NOTHING && read.keep_bytes != 0)
            fail(GPO_INVALID_ARGUMENT, "options.keep_bytes is ", read.keep_bytes,
                 ", and options.flags has GPO_POOL_KEEP_NOTHING");
        if (read.max_bytes && read.initial_bytes > read.max_bytes)
            fail(GPO_INVALID_ARGUMENT, "options.initial_bytes ", read.initial_bytes, " is more than max_bytes ",
                 read.max_bytes);
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            auto made = make<Pool>(on->context_ref(), read);
            *pool = on->runtime().publish<gpo_pool_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_pool_destroy(gpo_pool_t pool) {
    return abi::destroy(__func__, pool, Type::pool);
}

GPO_API gpo_status gpo_pool_allocate(gpo_pool_t pool, gpo_stream_t stream, uint64_t bytes, uint64_t* address) {
    return abi::call(__func__, {pool, abi::works_on(stream)}, [&] {
        required(address, "address");
        Pin<Pool> from(pool);
        Pin<Stream> on(stream);
        return abi::blame(*from, [&] {
            *address = from->allocate(*on, bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_pool_free(gpo_pool_t pool, gpo_stream_t stream, uint64_t address) {
    return abi::call(__func__, {pool, abi::works_on(stream)}, [&] {
        Pin<Pool> to(pool);
        Pin<Stream> on(stream);
        return abi::blame(*to, [&]() -> gpo_status { return address ? to->free(*on, address) : GPO_SUCCESS; });
    });
}

GPO_API gpo_status gpo_pool_trim(gpo_pool_t pool, uint64_t keep_bytes) {
    return abi::call(__func__, {pool}, [&] {
        Pin<Pool> of(pool);
        return abi::blame(*of, [&] {
            of->trim(keep_bytes);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_pool_get_statistics(gpo_pool_t pool, gpo_memory_statistics* statistics) {
    return abi::call(__func__, {pool}, [&] {
        required(statistics, "statistics");
        Pin<Pool> of(pool);
        return abi::blame(*of, [&] {
            write_struct(statistics, of->statistics(), "statistics");
            return GPO_SUCCESS;
        });
    });
}

// --- copies and fills ---

GPO_API gpo_status gpo_copy_to_device(gpo_stream_t stream, uint64_t destination, const void* source, uint64_t bytes) {
    return on_stream(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        Copy copy(on.context(), Copy::Way::to_device, destination, number(source), bytes);
        return on.submit(copy);
    });
}

GPO_API gpo_status gpo_copy_to_host(gpo_stream_t stream, void* destination, uint64_t source, uint64_t bytes) {
    return on_stream(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        Copy copy(on.context(), Copy::Way::to_host, number(destination), source, bytes);
        return on.submit(copy);
    });
}

GPO_API gpo_status gpo_copy_on_device(gpo_stream_t stream, uint64_t destination, uint64_t source, uint64_t bytes) {
    return on_stream(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        Copy copy(on.context(), Copy::Way::on_device, destination, source, bytes);
        return on.submit(copy);
    });
}

GPO_API gpo_status gpo_copy_peer(gpo_stream_t stream, gpo_device_t destination_device, uint64_t destination,
                                 gpo_device_t source_device, uint64_t source, uint64_t bytes) {
    return on_stream_at_length(__func__, {abi::works_on(stream), destination_device, source_device}, [&](Stream& on) {
        Pin<Device> to(destination_device), from(source_device);
        if (&to->runtime() != &on.runtime() || &from->runtime() != &on.runtime())
            fail(GPO_INVALID_HANDLE, "the stream and the two devices are not of one runtime");
        Copy copy(on.context(), Copy::Way::peer, destination, source, bytes);
        copy.set_contexts(to->context_ref(), from->context_ref());
        return on.submit(copy);
    });
}

GPO_API gpo_status gpo_copy_batch(gpo_stream_t stream, const gpo_copy* copies, uint64_t stride, uint64_t count) {
    return on_stream_at_length(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        if (count) required(copies, "copies");
        CopyBatch batch(on.context(), copies, stride, count);
        return on.submit(batch);
    });
}

GPO_API gpo_status gpo_copy_rows(gpo_stream_t stream, const gpo_copy_2d* copy) {
    return on_stream_at_length(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        const gpo_copy_2d read = read_struct(&required(copy, "copy"), "copy");
        refuse_unknown_flags(read.flags, 0, "copy.flags");
        CopyRows rows(on.context(), read);
        return on.submit(rows);
    });
}

GPO_API gpo_status gpo_fill(gpo_stream_t stream, uint64_t destination, uint32_t value, uint32_t element_bytes,
                            uint64_t count) {
    return on_stream(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        Fill fill(on.context(), destination, value, element_bytes, count);
        return on.submit(fill);
    });
}

GPO_API gpo_status gpo_fill_rows(gpo_stream_t stream, uint64_t destination, uint64_t pitch, uint32_t value,
                                 uint64_t width, uint64_t height) {
    return on_stream(__func__, {abi::works_on(stream)}, [&](Stream& on) {
        Fill fill(on.context(), destination, pitch, value, width, height);
        return on.submit(fill);
    });
}
}
