/* interprocess.h: memory and events that processes of one host share.
 *
 * A process *exports* device memory or an event: it gets GPO_EXPORT_BYTES bytes, and passes them to another process by
 * any means of its own. The other process *imports* them, and then both use the same memory, or the same event:
 *
 *     gpo_memory_allocate(device, bytes, "frames", &address);                  the first process
 *     gpo_memory_export(device, address, exported, sizeof exported, NULL);
 *
 *     gpo_memory_import(device, exported, sizeof exported, "frames", &address, &bytes);      the second process
 *     gpo_copy_to_host(stream, data, address, bytes);
 *     gpo_memory_free(device, address);
 *
 * The processes have the same user, the same driver and the same host, and see each other's process numbers (one PID
 * namespace). Nothing is left behind in the file system, however they end. The bytes are no secret, and give no right
 * to another user. Groups of several processes (peers.h) pass such bytes themselves: gpo_symmetric_allocate.
 *
 * Memory
 *   A process sees another one's write once it knows that the write is done: by an event, as below, or by any other
 *   message. CUDA shares memory in blocks of 2 MiB: if an allocation's size is no multiple of 2 MiB, the other process
 *   may see neighbouring allocations too.
 *   The process that exported the memory frees it when the others have ended their imports. If it frees the memory
 *   earlier, the contents of their imports are undefined. If the process ends, its memory stays until the last import
 *   ends.
 *
 * Events
 *   An event that is made with GPO_EVENT_INTERPROCESS (event.h) can be exported. Both processes then have the same
 *   event: each may record, query and wait for it, be notified, and have its streams wait for it.
 *   All these functions refer to the newest recording, by any process, that the driver has been given. Processes have
 *   no common order: after a process has recorded the event, it has to inform the other one by means of its own. The
 *   other process waits for the event only then. A recording that is held (stream.h) counts for the other processes
 *   only once the stream has gone on.
 *   A failure of the work before a recording is known only in the process of that work.
 *   If a process ends before its recording is complete, waits for that recording fail within a tenth of a second. The
 *   host's waits, queries and notifies get GPO_PEER_LOST, and the message names the process. Streams that wait fail
 *   with the same status. Later waits, queries and notifies fail alike, until any process records the event anew.
 *   An event of several processes can't be recorded or waited for in a capture, nor be in a template, and has no
 *   CUevent: it is a list of words in pinned memory. If the 1020 newest recordings aren't complete, the next one waits
 *   for the oldest.
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

/* Writes the bytes by which another process imports memory of gpo_memory_allocate. `address` is the start of an
 * allocation. `buffer`, `capacity` and `needed` are as for strings (types.h), without a terminator. May be called
 * repeatedly; the memory stays this process's.
 * GPO_INVALID_ARGUMENT: `address` is not the start of an allocation of this device (but inside an allocation, or of a
 *     pool, whose memory can't be exported), or the memory is imported
 * GPO_INVALID_STATE: the memory belongs to a queue or a template. The message names its owner
 * GPO_NOT_SUPPORTED: the system or the driver can't share memory between processes, or the runtime is deterministic */
GPO_API gpo_status gpo_memory_export(gpo_device_t device, uint64_t address, void *buffer, size_t capacity,
                                     size_t *needed);

/* Maps memory that another process has exported: `exported`, of `bytes` bytes (GPO_EXPORT_BYTES). Writes the memory's
 * address in this process and its size. The memory stays on its device, and `device` gets permanent access to it.
 * gpo_memory_free ends the import, behind the device's work as with other memory. Until then the memory is reported at
 * shutdown by `label` (may be NULL), like other memory. Memory that is imported twice may get the same address: each
 * import has to be ended, and the first label is kept.
 *
 * GPO_INVALID_ARGUMENT: the bytes are not from gpo_memory_export, are damaged, or are of this process or of another
 *     driver (the message names that driver); or the memory was freed
 * GPO_PEER_LOST: the process that exported the memory has ended. The message names the process
 * GPO_NOT_SUPPORTED: the device can't reach the memory, this process doesn't see the memory's device, or the runtime
 *     is deterministic
 * GPO_OUT_OF_MEMORY: there are too few addresses
 * Serialises the device (runtime.h). */
GPO_API gpo_status gpo_memory_import(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                                     uint64_t *address, uint64_t *size);

/* Writes the bytes by which another process imports an event that was made with GPO_EVENT_INTERPROCESS. The rest as
 * for gpo_memory_export. The process destroys the event when the others have destroyed theirs.
 * GPO_INVALID_ARGUMENT: the event was made without GPO_EVENT_INTERPROCESS, or is imported itself */
GPO_API gpo_status gpo_event_export(gpo_event_t event, void *buffer, size_t capacity, size_t *needed);

/* Makes a handle for an event that another process has exported. This process records the event on streams of
 * `device`; streams of all devices can wait for it. `label` may be NULL. Destroy the handle like any event's.
 * Statuses as gpo_memory_import. Serialises the device (runtime.h). */
GPO_API gpo_status gpo_event_import(gpo_device_t device, const void *exported, size_t bytes, const char *label,
                                    gpo_event_t *event);

#ifdef __cplusplus
}
#endif

#endif
