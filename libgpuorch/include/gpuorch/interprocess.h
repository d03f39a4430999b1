/* interprocess.h: memory and events that processes of one host share.
 *
 * A process *exports* device memory or an event: it gets GPO_EXPORT_BYTES bytes, and passes them to another process by
 * any means of its own. That process *imports* them, and then both use the same memory, or the same event:
 *
 *     gpo_memory_allocate(device, bytes, "frames", &address);                  the one process
 *     gpo_memory_export(device, address, exported, sizeof exported, NULL);
 *
 *     gpo_memory_import(device, exported, sizeof exported, "frames", &address, &bytes);      the other process
 *     gpo_copy_to_host(stream, data, address, bytes);
 *     gpo_memory_free(device, address);
 *
 * The processes have the same user, the same driver and the same host, and see each other's process numbers (one PID
 * namespace). Nothing is left behind in the file system, however they end. The bytes are no secret, and give no right
 * to another user. Groups of several processes (peers.h) pass such bytes themselves: gpo_symmetric_allocate.
 *
 * Memory
 *   What one process writes another one sees once it knows that the write is done: by an event, as below, or as it
 *   learns anything of the other. CUDA shares memory in blocks of 2 MiB: an allocation that is no multiple of that may
 *   let the other process see neighbouring allocations too.
 *   The process that exported the memory frees it when the others have ended their imports. If it frees the memory
 *   before, then what they find there is undefined. If the process ends, its memory stays until the last import ends.
 *
 * Events
 *   An event that is made with GPO_EVENT_INTERPROCESS (event.h) can be exported. It is one event, of both processes:
 *   each may record it, query it, wait for it, be notified, and have its streams wait for it.
 *   Such functions refer to the newest recording that the driver has been given, of whichever process. Processes have
 *   no common order: a process tells the other one, by means of its own, that it has recorded the event, and the other
 *   one waits for the event after that. A recording that is held (stream.h) counts for the other processes only once
 *   the stream has gone on.
 *   A failure of the work before a recording is known in the process of that work alone.
 *   If a process ends before a recording that it made is complete, whoever waits for that recording learns it within a
 *   tenth of a second: the host's waits, queries and notifies with GPO_PEER_LOST, which names the process, and streams
 *   that wait fail with it. So do later ones, until somebody records the event anew.
 *   An event of several processes can't be recorded or waited for in a capture, nor be in a template, and has no
 *   CUevent: it is a list of words in pinned memory. Of 1020 recordings one behind the other that aren't complete, the
 *   next one waits for the oldest.
 */
#ifndef GPUORCH_INTERPROCESS_H
#define GPUORCH_INTERPROCESS_H

#include "event.h"
#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of something exported. */
#define GPO_EXPORT_BYTES 256

/* Writes what another process needs to import memory of gpo_memory_allocate. `address` is the start of an allocation.
 * `buffer`, `capacity` and `needed` are as for strings (types.h), without a terminator. May be called again and again;
 * the memory stays this process's.
 * GPO_INVALID_ARGUMENT: `address` is not the start of an allocation of this device: it is inside of one, or is of a
 *     pool, whose memory can't be exported; or it is imported itself
 * GPO_INVALID_STATE: the memory is of an object, a queue or a template, which the message names
 * GPO_NOT_SUPPORTED: the system or the driver has no memory that processes share; or the runtime is deterministic */
GPO_API gpo_status gpo_memory_export(gpo_device_t device, uint64_t address, void *buffer, size_t capacity,
                                     size_t *needed);

/* Maps memory that another process has exported: `exported`, of `bytes` bytes (GPO_EXPORT_BYTES). Writes its address in
 * this process and its size. The memory stays on the device that it is on, and `device` gets access to it, for good.
 * gpo_memory_free ends the import, behind the device's work as with other memory. Until then the memory is reported at
 * shutdown by `label` (may be NULL), as other memory is. What is imported a second time may get the same address: each
 * import has to be ended, and the first label is kept.
 *
 * GPO_INVALID_ARGUMENT: the bytes are none of gpo_memory_export, or damaged; they are of another driver, which the
 *     message names, or of this process; or the memory was freed
 * GPO_PEER_LOST: the process that exported the memory has ended
 * GPO_NOT_SUPPORTED: the device can't reach the memory, or this process doesn't see the device that it is on; or the
 *     runtime is deterministic
 * GPO_OUT_OF_MEMORY: there are too few addresses
 * Serialises the device (runtime.h). */
GPO_API gpo_status gpo_memory_import(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                                     uint64_t *address, uint64_t *size);

/* Writes what another process needs to import an event that was made with GPO_EVENT_INTERPROCESS. The rest as for
 * gpo_memory_export. The process destroys the event when the others have destroyed theirs.
 * GPO_INVALID_ARGUMENT: the event was made without GPO_EVENT_INTERPROCESS, or is imported itself */
GPO_API gpo_status gpo_event_export(gpo_event_t event, void *buffer, size_t capacity, size_t *needed);

/* Makes a handle for an event that another process has exported. `device`: on whose streams this process records it;
 * streams of all devices can wait for it. `label` may be NULL. Destroy the handle as that of any event.
 * Statuses as gpo_memory_import. Serialises the device (runtime.h). */
GPO_API gpo_status gpo_event_import(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                                    gpo_event_t *event);

#ifdef __cplusplus
}
#endif

#endif
