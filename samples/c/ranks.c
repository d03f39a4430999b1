/* A group of several processes: each has one rank, with one device, and all get the sum of what they have.
 *     cc ranks.c $(pkg-config --cflags --libs gpuorch) -o ranks
 *     mpirun -np 4 ./ranks                                      on one host or several; MPI is loaded at run time
 *     for r in 0 1 2 3; do ./ranks $r 4 /dev/shm/group & done   without MPI, on one host: by the name of a file
 * If there are more processes on a host than GPUs, set GPUORCH_DEVICE=soft, or let them share the GPUs. */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT (1 << 20)
#define TRY(call)                                                                             \
    do {                                                                                      \
        if ((call) != GPO_SUCCESS) {                                                          \
            gpo_error error = {.struct_size = sizeof error};                                  \
            gpo_last_error(&error);                                                           \
            fprintf(stderr, "%s: %s\n", error.function, error.message);                       \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

/* The number of this process on its host, from Open MPI or MPICH (Hydra). */
static unsigned place_on_host(unsigned otherwise) {
    const char *names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};
    for (int i = 0; i < 2; ++i)
        if (getenv(names[i])) return (unsigned)strtoul(getenv(names[i]), NULL, 10);
    return otherwise;
}

int main(int count, char **words) {
    if (count != 1 && count != 4) {
        fprintf(stderr, "usage: mpirun -np RANKS %s, or %s RANK RANKS FILE\n", words[0], words[0]);
        return 2;
    }
    gpo_join_options options = {.struct_size = sizeof options, .by = GPO_JOIN_MPI, .label = "ranks"};
    if (count == 4) {
        options.by = GPO_JOIN_FILE;
        options.rank = (uint32_t)strtoul(words[1], NULL, 10);
        options.ranks = (uint32_t)strtoul(words[2], NULL, 10);
        options.path = words[3];
    }
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_stream_t stream;
    gpo_peers_t peers;
    uint32_t devices;
    uint64_t memory;
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_runtime_get_device_count(runtime, &devices));
    gpo_device_options which = {.struct_size = sizeof which, .ordinal = place_on_host(options.rank) % devices};
    TRY(gpo_device_open(runtime, &which, &device));
    TRY(gpo_stream_create(device, NULL, &stream));
    TRY(gpo_memory_allocate(device, COUNT * sizeof(uint32_t), NULL, &memory));
    TRY(gpo_peers_join(device, &options, &peers)); /* returns when all ranks are there */

    gpo_peers_info info = {.struct_size = sizeof info};
    TRY(gpo_peers_get_info(peers, &info));
    TRY(gpo_fill(stream, memory, info.rank + 1, sizeof(uint32_t), COUNT));
    gpo_collective sum = {.struct_size = sizeof sum, .kind = GPO_COLLECTIVE_ALL_REDUCE, .type = GPO_TYPE_UINT32,
                          .reduction = GPO_REDUCE_SUM, .count = COUNT, .label = "sum"};
    gpo_rank_part own = {.struct_size = sizeof own, .stream = stream, .send = memory, .receive = memory};
    TRY(gpo_peers_submit(peers, &sum, &own, sizeof own, 1));
    uint32_t last = 0;
    TRY(gpo_copy_to_host(stream, &last, memory + (COUNT - 1) * sizeof last, sizeof last));
    TRY(gpo_stream_wait(stream, -1)); /* if a rank has died or hangs, this says which */
    printf("rank %u of %u: the sum is %u, by %s\n", info.rank, info.ranks, last,
           info.nccl_version ? "NCCL" : "the host");

    TRY(gpo_peers_destroy(peers));
    TRY(gpo_memory_free(device, memory));
    gpo_stream_destroy(stream);
    gpo_device_close(device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS && last == info.ranks * (info.ranks + 1) / 2 ? 0 : 1;
}
