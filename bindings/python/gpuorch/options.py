"""The structs that methods take, with their fields as keyword arguments. Each makes a dict:

    from gpuorch import options

    sum_up = options.Stage(kind=gpuorch.STAGE_KERNEL, kernel=kernel, block=256)
    device.pipeline_create(stages=[sum_up])

A method takes {"kind": gpuorch.STAGE_KERNEL, ...} as well. With the names of this module editors and type checkers know the
fields. Fields that are left out have their defaults.

Made from abi.json by generate/generate.py.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from . import (Buckets, CompletionQueue, Device, Executor, Graph, Kernel, Pool, Queue, Stream, _CFunction, _Device,
                   _Host, records)


class AdmissionOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.admission_create.

    flags: 0: there are none yet
    count: budget: places; AUTO: unlimited
    bytes: budget: bytes; AUTO: unlimited
    capacity: how many requests may wait at a time; AUTO: 65536; at most 2^20
    priorities: 1 to 16; AUTO: 1
    pool: a pool of device memory that is watched; None: none
    high_bytes: bytes in use of the pool, above which admissions pause
    low_bytes: bytes in use of the pool, at or below which they go on; at most high_bytes; AUTO: nine tenths of
      high_bytes
    label: a name for errors, logs and traces
    """
    flags: int | None
    count: int | None
    bytes: int | None
    capacity: int | None
    priorities: int | None
    pool: Pool | None
    high_bytes: int | None
    low_bytes: int | None
    label: str | None


class AdmissionRequest(TypedDict, total=False):
    """Keyword arguments of Admission.enter, Admission.enter_then.

    priority: 0 goes first; below the admission's number of priorities
    count: places; AUTO: 1
    bytes: 0: none
    flow: any number
    deadline_ns: CLOCK_MONOTONIC; 0 and UINT64_MAX: none. A request that still waits then ends with TIMEOUT, soon
      after that time
    """
    priority: int | None
    count: int | None
    bytes: int | None
    flow: int | None
    deadline_ns: int | None


class Costs(TypedDict, total=False):
    """What things cost. Times are nanoseconds of the host, unless said otherwise.

    measured: 1: launches, graphs and copies were measured on this device. 0: all costs are an H200's, except
      figures from the device's properties
    launch_ns: launch of a kernel
    wait_ns: from the launch of an empty kernel until the host, which waits, knows its end
    decision_ns: a turn of a loop that the host decides: an empty kernel, a small copy back, a wait
    graph_launch_ns: launch of a graph
    graph_node_ns: GPU time of an empty kernel in a graph that waits for the previous one
    while_turn_ns: GPU time of a turn of a while node with an empty kernel
    device_launch_ns: GPU time of a launch by a kernel (dynamic parallelism)
    doorbell_ns: from the host to a resident kernel and back, through pinned memory
    host_tasks_per_second: tasks that one thread posts to a resident kernel
    claims_per_second: claims of one counter in device memory, by all multiprocessors
    ring_tasks_per_second: tasks that are pushed into a ring in device memory and popped again
    copy_ns: time of a small copy, without the time for its bytes; in a batch: a sixth
    copy_in_rate: bytes per second from pinned memory to the device
    copy_out_rate: bytes per second from the device to pinned memory
    copy_both_rate: bytes per second of both ways together
    pageable_in_rate: bytes per second from memory that isn't pinned
    pageable_out_rate: bytes per second to memory that isn't pinned
    memory_rate: bytes per second that kernels read and write
    operation_rate: floating-point operations per second, single precision
    multiprocessors
    """
    measured: int | None
    launch_ns: int | None
    wait_ns: int | None
    decision_ns: int | None
    graph_launch_ns: int | None
    graph_node_ns: int | None
    while_turn_ns: int | None
    device_launch_ns: int | None
    doorbell_ns: int | None
    host_tasks_per_second: int | None
    claims_per_second: int | None
    ring_tasks_per_second: int | None
    copy_ns: int | None
    copy_in_rate: int | None
    copy_out_rate: int | None
    copy_both_rate: int | None
    pageable_in_rate: int | None
    pageable_out_rate: int | None
    memory_rate: int | None
    operation_rate: int | None
    multiprocessors: int | None


class Workload(TypedDict, total=False):
    """A workload, described by one *round*: the work that the program repeats. 0 stands for "not known" in every
    field but for flags. Copies and kernels of the round that aren't described are left out of account.

    flags: WORKLOAD_*
    costs: options.Costs. A cost of 0 stands for the device's. None: all costs are the device's
    launches: kernels that are launched in a round
    round_ns: time of a round, from its begin to the next one's
    kernel_ns: GPU time of all kernels of a round together
    decisions: how often in a round the host waits for a result of the GPU before it can go on
    streams: streams that the launches are spread over now; 0: one
    blocks: blocks of a launch: launches with few blocks leave room beside them
    bytes: bytes that the kernels of a round read and write in device memory
    operations: floating-point operations of the kernels of a round
    copies: copies of a round; 0: one for each direction that has bytes
    copy_in_bytes: bytes that a round copies from the host to the device
    copy_out_bytes: bytes that a round copies from the device to the host
    tasks: tasks of a round: independent pieces of work, many in one kernel
    task_ns: time of a mean task on its worker while all workers work; 0: found from kernel_ns
    order: ORDER_*: how tasks are handed out now; 0: ORDER_GRID
    workers: workers at a time on the GPU; 0: 64 warps on each multiprocessor
    block_workers: workers of a block; 0: 8 warps, or 1 if `workers` is given
    task_costs: cost of each task, in any unit, in the tasks' order: a sample of neighbours will do. None is
      negative. None: only the following two are known
    cost_deviation: standard deviation of the costs, in thousandths of their mean
    cost_max: cost of the longest task, in thousandths of the mean
    """
    flags: int | None
    costs: Costs | records.Costs | None
    launches: int | None
    round_ns: int | None
    kernel_ns: int | None
    decisions: int | None
    streams: int | None
    blocks: int | None
    bytes: int | None
    operations: int | None
    copies: int | None
    copy_in_bytes: int | None
    copy_out_bytes: int | None
    tasks: int | None
    task_ns: int | None
    order: int | None
    workers: int | None
    block_workers: int | None
    task_costs: float | Sequence[float] | None
    cost_deviation: int | None
    cost_max: int | None


class BatcherOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.batcher.

    flags: 0: there are none yet
    devices: handles of different devices of one runtime
    lanes: lanes of each device; AUTO: 1; at most 16
    capacity: how many requests may wait at a time, of all keys; AUTO: 65536; at most 2^20
    executor: forms batches and calls `work`; None: the batcher has one of its own, with a thread for each lane. It
      has to have as many threads as lanes are to work at a time. While requests wait, Executor.run doesn't return
    label: a name for errors, logs and traces
    """
    flags: int | None
    devices: Sequence[Device] | None
    lanes: int | None
    capacity: int | None
    executor: Executor | None
    label: str | None


class BatcherKeyOptions(TypedDict, total=False):
    """Keyword arguments of Batcher.add_key.

    flags: BATCHER_PRESERVE_ORDER, BATCHER_VARIABLE_OUTPUT, BATCHER_KEEP_OUTPUT
    layout: BATCH_*
    max_batch: most members of a batch, up to 65536; AUTO: rows with buckets: the largest shape, else 64. 1:
      requests run alone, spread over the lanes
    input_bytes: of a row or an element, in and out; not both are 0
    output_bytes
    max_elements: ragged: most elements of a batch, and of a request; up to 2^32 - 1; AUTO: with buckets the largest
      shape. Rows: 0
    max_delay_ns: how long a request may wait for others; AUTO: learnt, see below; 1: never
    buckets: the work: one for each device, in the order of the devices. None: `work`
    work: a function (stream: Stream, batch: records.Batch). It returns None or True: success; False or a status: a
      failure. None: `buckets`
    label: names the key in failures and figures; None: "key 0", by its number
    """
    flags: int | None
    layout: int | None
    max_batch: int | None
    input_bytes: int | None
    output_bytes: int | None
    max_elements: int | None
    max_delay_ns: int | None
    buckets: Sequence[Buckets] | None
    work: Callable[[Stream, records.Batch], int | None] | _CFunction | None
    label: str | None


class BatcherRequest(TypedDict, total=False):
    """Keyword arguments of Batcher.submit, Batcher.submit_then.

    key
    flow: any number: a tenant, a connection
    elements: ragged: 1 up to the key's max_elements. Rows: 0 or 1
    input: host memory, or
    input_address: device memory: as many bytes as the key and `elements` say; one of the two, unless the key has no
      bytes in
    output: host memory, or
    output_address: device memory, likewise
    output_made: None, or gets the number of bytes of output before the entry comes. Device memory is always written
      as far as the room reaches
    deadline_ns: CLOCK_MONOTONIC; 0 and UINT64_MAX: none
    """
    key: int | None
    flow: int | None
    elements: int | None
    input: _Host | None
    input_address: _Device | None
    output: _Host | None
    output_address: _Device | None
    output_made: _Host | None
    deadline_ns: int | None


class MemoryRange(TypedDict, total=False):
    """Memory from `address` on.

    address
    bytes
    """
    address: _Device | None
    bytes: int | None


class BucketsOptions(TypedDict, total=False):
    """Keyword arguments of Device.buckets.

    flags: BUCKETS_*
    shapes: numbers of elements, in any order; none is 0, none comes twice
    max_bytes: device memory that all buckets may take; 0: any. A bucket takes as much as the device's free memory
      went down by while the bucket was recorded and its graphs were made. Allocations of `record` count, and also
      other allocations at that time
    max_buckets: most buckets that are recorded at a time; the least recently used bucket makes room for another; 0:
      all
    streams: graphs of each bucket from the start, one for each launching stream; AUTO: 1; at most 64
    record: a function (stream: Stream, work: records.BucketWork). It returns None or True: success; False or a
      status: a failure
    pad: a function (stream: Stream, work: records.BucketWork). It returns None or True: success; False or a status:
      a failure. Writes the elements from `size` to `shape`. None: `pad_address`
    pad_address: element 0 in device memory: zeros are written instead of a call of `pad`. 0: no padding is needed.
      0 with `pad`
    pad_element_bytes: size of an element there; 0 without `pad_address`
    label: a name for errors, logs and traces
    restored: a list of options.MemoryRange. The memory is read and written in the order of the caller's stream, and
      not at the same time by other work. Copies take as much device memory again while a bucket is recorded
    """
    flags: int | None
    shapes: int | Sequence[int] | None
    max_bytes: int | None
    max_buckets: int | None
    streams: int | None
    record: Callable[[Stream, records.BucketWork], int | None] | _CFunction | None
    pad: Callable[[Stream, records.BucketWork], int | None] | _CFunction | None
    pad_address: _Device | None
    pad_element_bytes: int | None
    label: str | None
    restored: Sequence[MemoryRange] | None


class CqOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.cq_create.

    flags: 0: there are none yet
    capacity: entries in the queue and accepted notifies together; AUTO: 4096; at most 2^24
    label: a name for errors, logs and traces
    """
    flags: int | None
    capacity: int | None
    label: str | None


class DeviceOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.device_open.

    flags: 0: there are none yet
    ordinal: from 0
    native_context: None: the device's primary context, which is retained; its flags stay as they are. Not None: the
      caller's CUcontext on that device, which must exist until all objects that were made from the device are
      destroyed and their work is done
    label: a name for errors, logs and traces
    """
    flags: int | None
    ordinal: int | None
    native_context: int | None
    label: str | None


class EventOptions(TypedDict, total=False):
    """Keyword arguments of Device.event_create.

    flags: EVENT_*
    label: a name for errors, logs and traces
    """
    flags: int | None
    label: str | None


class ExecutorOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.executor_create.

    flags: EXECUTOR_*
    threads: the executor's own threads; AUTO: 2; at most 256. 0 with EXECUTOR_CALLER
    capacity: how many callbacks may be accepted and not run; AUTO: 65536; at most 2^24. Beyond that functions
      return WOULD_BLOCK
    label: a name for errors, logs and traces
    """
    flags: int | None
    threads: int | None
    capacity: int | None
    label: str | None


class ArenaOptions(TypedDict, total=False):
    """Keyword arguments of Device.arena_create.

    flags: ARENA_*
    max_bytes: most bytes that the arena takes from the driver; 0: no limit
    slab_bytes: least size of a slab; AUTO: 64 MiB, or max_bytes if that is less
    initial_bytes: bytes that Device.arena_create takes; 0: none, the first allocation takes a slab
    numa_node: with ARENA_NUMA: 0 to 1023; otherwise 0
    label: a name for errors, logs and traces
    """
    flags: int | None
    max_bytes: int | None
    slab_bytes: int | None
    initial_bytes: int | None
    numa_node: int | None
    label: str | None


class PoolOptions(TypedDict, total=False):
    """Keyword arguments of Device.pool_create.

    flags: POOL_KEEP_NOTHING
    max_bytes: most bytes in use; 0: no limit
    keep_bytes: how much unused memory the pool keeps instead of giving it back to the system; AUTO: all, until
      Pool.trim. To keep none, set POOL_KEEP_NOTHING
    initial_bytes: bytes that Device.pool_create takes, to make the first allocations fast; at most max_bytes
    label: a name for errors, logs and traces
    """
    flags: int | None
    max_bytes: int | None
    keep_bytes: int | None
    initial_bytes: int | None
    label: str | None


class Copy(TypedDict, total=False):
    """A copy of a batch. `destination` and `source` may be device addresses or addresses of the host.

    flags: 0: there are none yet
    destination
    source
    bytes
    """
    flags: int | None
    destination: _Device | None
    source: _Device | None
    bytes: int | None


class Copy2d(TypedDict, total=False):
    """A copy of `height` rows of `width` bytes. A pitch is the distance from one row to the next in bytes, at least
    `width`.

    flags: 0: there are none yet
    destination
    destination_pitch: bytes
    source
    source_pitch: bytes
    width: bytes of a row
    height: rows
    """
    flags: int | None
    destination: _Device | None
    destination_pitch: int | None
    source: _Device | None
    source_pitch: int | None
    width: int | None
    height: int | None


class CompileOptions(TypedDict, total=False):
    """Keyword arguments of Device.module_compile.

    flags: COMPILE_*
    source: CUDA C++
    file_name: name of the source in the compiler's messages; None: "kernel.cu"
    options: in NVRTC's spelling: "-DN=4", "--std=c++17", "-I/usr/include/mine"
    name_expressions: template kernels to instantiate, "scale<float>"; the expression is then a name for
      Module.kernel
    headers: headers that the source may include: names as in its #include lines
    label: a name for errors, logs and traces
    """
    flags: int | None
    source: str | None
    file_name: str | None
    options: Sequence[str] | None
    name_expressions: Sequence[str] | None
    headers: Mapping[str, str] | None
    label: str | None


class Launch(TypedDict, total=False):
    """Keyword arguments of Template.add_kernel.

    flags: LAUNCH_*
    grid: blocks in each dimension; 0 counts as 1, except in grid[0]
    block: threads in each dimension; 0 counts as 1, except in block[0]
    cluster: blocks of a cluster; all 0: as the kernel's __cluster_dims__ says, else none
    priority: with LAUNCH_PRIORITY
    dynamic_shared_bytes: dynamic shared memory of a block
    label: the operation's label; None: the kernel's
    """
    flags: int | None
    grid: int | Sequence[int] | None
    block: int | Sequence[int] | None
    cluster: int | Sequence[int] | None
    priority: int | None
    dynamic_shared_bytes: int | None
    label: str | None


class PeersOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.peers, Peers.split.

    flags: 0: there are none yet
    engine: ENGINE_* for all collectives of the group; AUTO: one for each collective
    label: a name for errors, logs and traces
    """
    flags: int | None
    engine: int | None
    label: str | None


class JoinOptions(TypedDict, total=False):
    """Keyword arguments of Device.join.

    flags: JOIN_CHECK_ORDER: the same for all ranks
    by: JOIN_*
    engine: ENGINE_NCCL or ENGINE_HOST, the same for all ranks; AUTO: NCCL where all ranks have CUDA devices and
      NCCL, and the host engine elsewhere
    rank: this process's, from 0. By MPI: 0, or the rank in the communicator
    ranks: how many. By MPI: 0, or the communicator's size
    timeout_ns: how long joining may take, and how long a rank may keep a collective waiting once this process's
      stream has come to it. 0: 60 s; negative: no limit
    path: JOIN_FILE: nothing has to be there. The file is made, readable and writable to its user alone, and removed
      when all have joined. The file of a group whose processes have died is replaced. All ranks are processes of
      one user
    id: JOIN_ID: PEERS_ID_BYTES bytes
    communicator: JOIN_MPI: the program's MPI_Comm, cast to void *; None: MPI_COMM_WORLD
    label: a name for errors, logs and traces
    """
    flags: int | None
    by: int | None
    engine: int | None
    rank: int | None
    ranks: int | None
    timeout_ns: int | None
    path: str | None
    id: _Host | None
    communicator: int | None
    label: str | None


class Collective(TypedDict, total=False):
    """Keyword arguments of Peers.submit.

    kind: COLLECTIVE_*
    type: TYPE_*; 0 for a barrier
    reduction: REDUCE_*; 0 for those that reduce nothing
    root: REDUCE, BROADCAST: a rank; 0 for others
    flags: 0: there are none yet
    count: elements: see above. 0: nothing is sent, but streams wait for each other all the same
    label: for failures and traces, and to tell equal collectives of a group of several processes apart (see above);
      may be None
    """
    kind: int | None
    type: int | None
    reduction: int | None
    root: int | None
    flags: int | None
    count: int | None
    label: str | None


class RankPart(TypedDict, total=False):
    """What one rank brings.

    stream: of the rank's device
    send: address of device memory; 0 where the rank sends nothing
    receive: likewise
    send_to: SEND_RECEIVE: a rank, or NO_RANK; 0 for others
    receive_from: likewise
    """
    stream: Stream | None
    send: _Device | None
    receive: _Device | None
    send_to: int | None
    receive_from: int | None


class Source(TypedDict, total=False):
    """For `source` of Pipeline.start.

    kind: SOURCE_MEMORY, SOURCE_FILE or SOURCE_CALLBACK
    memory: MEMORY: the input. Pinned memory (of an arena, or registered) is copied from directly; other memory is
      staged by threads
    bytes: MEMORY: its size. FILE: how many bytes to read at most; 0: up to the end
    path: FILE: a regular file or a pipe, which the run opens and closes. A regular file is read up to its size at
      the opening; if fewer bytes are left, the run fails with IO_ERROR. A FILE source has either a path or
      SOURCE_USE_DESCRIPTOR, else INVALID_ARGUMENT
    offset: FILE: where to begin in a regular file; beyond its end there is no input. Must be 0 for pipes and
      devices (else INVALID_ARGUMENT), which are read from where they stand. Regular files that report 0 bytes (as
      in /proc) are read alike, for any `offset`
    fill: a function (memory: memoryview). It returns how many bytes were written; None or 0: there is no more data.
      CALLBACK
    descriptor: FILE with SOURCE_USE_DESCRIPTOR: read, not closed. A regular file is read from `offset`; the
      descriptor's own position is neither used nor changed
    flags: SOURCE_UNCHANGED, SOURCE_USE_DESCRIPTOR; 0 unless FILE
    """
    kind: int | None
    memory: _Host | None
    bytes: int | None
    path: str | None
    offset: int | None
    fill: Callable[[memoryview], int | None] | _CFunction | None
    descriptor: int | None
    flags: int | None


class StageArgument(TypedDict, total=False):
    """For `arguments` of Stage.

    kind: ARGUMENT_VALUE to ARGUMENT_DEVICE_VALUE
    value: VALUE, DEVICE_VALUE
    """
    kind: int | None
    value: Any


class Stage(TypedDict, total=False):
    """For `stages` of Device.pipeline_create.

    kind: STAGE_KERNEL or STAGE_CALLBACK
    kernel: KERNEL; None where `kernels` is given
    block: threads; all 0: as Kernel.suggest_shape suggests
    grid: blocks; all 0: computed, input bytes / bytes_per_block, rounded up
    bytes_per_block: input bytes for each block; 0: one byte for each thread. Must be 0 with a given grid
    dynamic_shared_bytes: dynamic shared memory of a block
    arguments: a list of options.StageArgument
    max_blocks: greatest grid[0] that is computed, for kernels that loop; 0: no limit. Must be 0 with a given grid
    enqueue: a function (stream: Stream, chunk: records.Chunk). It returns None or True: success; False or a status:
      a failure. CALLBACK
    label: a name for errors, logs and traces
    kernels: KERNEL, on several devices: one for each, in the order of options.PipelineOptions.devices
    """
    kind: int | None
    kernel: Kernel | None
    block: int | Sequence[int] | None
    grid: int | Sequence[int] | None
    bytes_per_block: int | None
    dynamic_shared_bytes: int | None
    arguments: Sequence[StageArgument | Any] | None
    max_blocks: int | None
    enqueue: Callable[[Stream, records.Chunk], int | None] | _CFunction | None
    label: str | None
    kernels: Sequence[Kernel] | None


class Sink(TypedDict, total=False):
    """For `sink` of Pipeline.start.

    kind: SINK_NONE, SINK_MEMORY, SINK_FILE or SINK_CALLBACK
    memory: MEMORY: where the output goes. Pinned memory is copied to directly; threads move the output to other
      memory
    path: FILE: the output is written to a temporary file beside it, which gets this name when the run has
      succeeded; after a failure nothing is left. If the path is a symbolic link to a file, that file is replaced.
      Devices and pipes are written to directly. A FILE sink has either a path or SINK_USE_DESCRIPTOR, else
      INVALID_ARGUMENT
    take: a function (chunk: records.Chunk). It returns None or True: go on; False: enough, the run ends; a status:
      a failure. CALLBACK; with the other kinds it may be set too, and runs after a chunk was written
    descriptor: FILE with SINK_USE_DESCRIPTOR: written from where it stands, not closed
    flags: SINK_USE_DESCRIPTOR; 0 unless FILE
    """
    kind: int | None
    memory: _Host | None
    path: str | None
    take: Callable[[records.Chunk], int | None] | _CFunction | None
    descriptor: int | None
    flags: int | None


class PipelineOptions(TypedDict, total=False):
    """Keyword arguments of Device.pipeline_create.

    flags: PIPELINE_*
    chunk_bytes: input bytes of a chunk: a multiple of `granule`, at most 1 TiB. AUTO: the first run measures which
      size is best (64 KiB to 64 MiB), and the pipeline remembers it
    granule: all chunks except the last are multiples of it; 0: 4096; at most 1 TiB
    slots: chunks under way at a time on each device, 1 to 1024; AUTO: 3, or up to 6 if host code takes part
    output_numerator: output bytes = input bytes * numerator / denominator, rounded up; at most 4096 times the
      input. Numerator 0 with a denominator: no output. Both 0: as many output bytes as input bytes
    output_denominator
    stages: a list of options.Stage
    scratch_bytes: device memory for each chunk, not cleared; at most 1 TiB
    result_bytes: result of a chunk: a block that is zeroed before the stages run, and that the sink gets; at most 1
      MiB
    max_pinned_bytes: most pinned memory for staging, for all devices together; AUTO: 1 GiB for each device
    progress: a function (progress: records.PipelineProgress). May be None
    progress_ns: least time between two calls of `progress`; 0: 100 ms
    label: a name for errors, logs and traces
    executor: runs the callbacks of sources, stages and sinks and `progress` (executor.h): one of each kind at a
      time, while a thread of the pipeline waits. None: threads of the pipeline run them. If the executor is
      destroyed during a run, the run ends with CANCELLED. A thread that runs the executor must not wait for the
      pipeline, except by Pipeline.then
    devices: several devices that share the work: `device_count` of them, all different and of one runtime; the
      first is the `device` that Device.pipeline_create gets. None: that device alone
    """
    flags: int | None
    chunk_bytes: int | None
    granule: int | None
    slots: int | None
    output_numerator: int | None
    output_denominator: int | None
    stages: Sequence[Stage] | None
    scratch_bytes: int | None
    result_bytes: int | None
    max_pinned_bytes: int | None
    progress: Callable[[records.PipelineProgress], object] | _CFunction | None
    progress_ns: int | None
    label: str | None
    executor: Executor | None
    devices: Sequence[Device] | None


class QueueOptions(TypedDict, total=False):
    """Keyword arguments of Device.queue.

    kind: QUEUE_RANGE, …
    flags: QUEUE_TICKETS, QUEUE_NO_ANSWERS, QUEUE_LATE_CLAIMS
    batch: range: numbers in a batch; AUTO: 1
    count: range: how many numbers there are, 1 to 2^48. A kernel may use fewer
    capacity: rings: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two from 64 on;
      AUTO: 65536, in a host ring 4096
    task_size: rings: bytes of a task, 16 to 256, a multiple of 16
    priorities: ring: 1 to 8, with QUEUE_TICKETS 1; AUTO: 1. Pops look at priority 0 first
    answer_size: host ring: bytes of an answer, 0 to 256, a multiple of 4; beside them an answer has a status
    tenants: host ring: 1 to 64; AUTO: 1; with QUEUE_NO_ANSWERS there is 1
    stream: the resident stream (stream.h) of a kernel that uses the queue: see "Memory". None: there is none; a
      host ring needs one
    label: a name for errors, logs and traces
    """
    kind: int | None
    flags: int | None
    batch: int | None
    count: int | None
    capacity: int | None
    task_size: int | None
    priorities: int | None
    answer_size: int | None
    tenants: int | None
    stream: Stream | None
    label: str | None


class TenantOptions(TypedDict, total=False):
    """Keyword arguments of Queue.set_tenant.

    limit: most places of the ring that the tenant may take at a time; AUTO: all
    completions: gets an entry for each answer: the task's user_data, the answer's status, origin ORIGIN_QUEUE.
      None: none
    """
    limit: int | None
    completions: CompletionQueue | None


class RuntimeOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.

    flags: RUNTIME_*
    device: "any", "soft", "cuda", "cuda:N" or "soft:N" (above); "any" takes the software GPU only where there is no
      NVIDIA GPU. None: what GPUORCH_DEVICE says
    log: a function (level: int, text: str). Gets log lines. None: no log, unless GPUORCH_LOG names a level (to
      stderr). With or without a log, stderr reports once: the trace of GPUORCH_TRACE can't be written; the folder
      in GPUORCH_CACHE can't be used; a variable has a value that it can't have; the software GPU stands in
    log_level: LOG_*; 0: the level that GPUORCH_LOG names, else LOG_WARNING
    completion_mode: COMPLETION_*
    schedule_seed: not 0: deterministic mode. Threads and clock follow one schedule, the same for the same seed.
      Needs the software GPU, and no other runtime in the process
    cache: folder for compiled kernels. None: the folder in GPUORCH_CACHE, else the user's cache folder. "": no
      cache
    label: the label that metrics of this runtime carry (metrics.h). None or "": none
    """
    flags: int | None
    device: str | None
    log: Callable[[int, str], object] | _CFunction | None
    log_level: int | None
    completion_mode: int | None
    schedule_seed: int | None
    cache: str | None
    label: str | None


class Handler(TypedDict, total=False):
    """For `handlers` of Device.scheduler.

    name: the device function's; SCHEDULER_GRAPHS: in messages, and may be None
    graphs: SCHEDULER_GRAPHS: a launch of any of these does a task. A graph has one launch at a time, so a step does
      up to graph_count tasks of the handler. The graphs stay while the scheduler needs them, even if their handles
      are destroyed
    task_memory: SCHEDULER_GRAPHS: device memory of graph_count * task_size bytes, at a multiple of 16: graph i
      finds its task at i * task_size. 0: graphs don't read their tasks
    """
    name: str | None
    graphs: Sequence[Graph] | None
    task_memory: _Device | None


class SchedulerOptions(TypedDict, total=False):
    """Keyword arguments of Device.scheduler.

    form: SCHEDULER_RESIDENT, …
    queue: a ring without QUEUE_TICKETS, or a host ring, of the same device
    source: CUDA C++ with the handlers' functions; SCHEDULER_GRAPHS: None
    file_name: name of the source in the compiler's messages; None: "handlers.cu"
    compile_options: as options.CompileOptions.options
    workers: WORKER_THREAD, …; AUTO: WORKER_WARP
    threads: threads of a block, a multiple of 32 up to 1024; AUTO: 128
    blocks_per_multiprocessor: blocks on each multiprocessor; AUTO: 1
    multiprocessors: number for the scheduler's blocks; AUTO: all that no other scheduler has, less `leave_free`
    leave_free: multiprocessors to be left to other work. With `multiprocessors` given, at least this many must
      remain
    batch: SCHEDULER_WHILE: tasks of a worker in a turn, AUTO: 16; SCHEDULER_GRAPHS: tasks of a step, up to 120,
      AUTO: 120
    max_errors: how many errors are stored, the first ones, up to 4096; AUTO: 64. All are counted
    argument: value that handlers get by argument<T>(): an address, or any number
    dynamic_shared_bytes: shared memory of each block, for handlers
    idle_timeout_ns: the run ends after this time with nothing to do; 0: never
    sample_interval_ns: how often the queue's depth is noted; AUTO: a millisecond
    label: a name for errors, logs and traces
    """
    form: int | None
    queue: Queue | None
    source: str | None
    file_name: str | None
    compile_options: Sequence[str] | None
    workers: int | None
    threads: int | None
    blocks_per_multiprocessor: int | None
    multiprocessors: int | None
    leave_free: int | None
    batch: int | None
    max_errors: int | None
    argument: _Device | None
    dynamic_shared_bytes: int | None
    idle_timeout_ns: int | None
    sample_interval_ns: int | None
    label: str | None


class StreamOptions(TypedDict, total=False):
    """Keyword arguments of Device.stream_create, Device.stream_wrap.

    flags: STREAM_*
    priority: 0 is the default; lower numbers run first; clamped to Device.priority_range
    max_held: how many operations may be held; AUTO: 65536. Beyond that calls give WOULD_BLOCK
    label: a name for errors, logs and traces
    """
    flags: int | None
    priority: int | None
    max_held: int | None
    label: str | None


class StreamPoolOptions(TypedDict, total=False):
    """Keyword arguments of Device.stream_pool_create.

    flags: 0: there are none yet
    streams: streams for each priority; AUTO: 4
    priorities: how many priorities, from 0 upwards to greater ones; AUTO: 1; at most as many as the device has
    label: a name for errors, logs and traces
    """
    flags: int | None
    streams: int | None
    priorities: int | None
    label: str | None


class SymmetricOptions(TypedDict, total=False):
    """Keyword arguments of Peers.allocate.

    flags: SYMMETRIC_REMOTE, or 0
    alignment: of the memory's address on each device: a power of two, 256 to 2097152; AUTO: 256
    label: a name for errors, logs and traces
    engine: ENGINE_DIRECT, or for a group of several processes ENGINE_NVSHMEM; AUTO: direct
    """
    flags: int | None
    alignment: int | None
    label: str | None
    engine: int | None


class RankLaunch(TypedDict, total=False):
    """A rank's part of a launch. `arguments` and `sizes` are as for Stream.launch_kernel (module.h).

    flags: 0: there are none yet
    stream: of the rank's device
    kernel: of the rank's device
    launch: options.Launch. The shape; launched as with LAUNCH_COOPERATIVE
    arguments: copied before the call returns
    """
    flags: int | None
    stream: Stream | None
    kernel: Kernel | None
    launch: Launch | None
    arguments: Sequence[Any] | None


class TemplateOptions(TypedDict, total=False):
    """Keyword arguments of Device.template, Device.template_import.

    flags: 0: there are none yet
    max_instances: most graphs that Template.launch makes; AUTO: 64
    label: a name for errors, logs and traces
    """
    flags: int | None
    max_instances: int | None
    label: str | None


class Condition(TypedDict, total=False):
    """Keyword arguments of Template.add_if, Template.add_while, Template.add_switch.

    comparison: COMPARE_*
    word: address of the word, a multiple of 4, in device or pinned memory
    constant
    initial: with COMPARE_KERNEL: the condition when the graph starts
    max_iterations: of a while: after that many the loop ends; AUTO: 2^32 - 1; at most that
    """
    comparison: int | None
    word: _Device | None
    constant: int | None
    initial: int | None
    max_iterations: int | None


class GraphOptions(TypedDict, total=False):
    """Keyword arguments of Template.graph.

    flags: GRAPH_*
    label: a name for errors, logs and traces
    """
    flags: int | None
    label: str | None


class Setting(TypedDict, total=False):
    """For `settings` of Graph.set_all.

    parameter: number of Template.parameter; with a name: 0
    name: None: `parameter` says which
    value
    """
    parameter: int | None
    name: str | None
    value: Any


class TimelineOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.timeline_create.

    flags: 0: there are none yet
    value: the initial value
    label: a name for errors, logs and traces
    """
    flags: int | None
    value: int | None
    label: str | None


class TraceOptions(TypedDict, total=False):
    """Keyword arguments of Runtime.trace_start.

    flags: TRACE_*
    path: the trace's file, replaced if it exists, and gzipped if its name ends in .gz. None: no file, only the
      summary or the picture. The folder of this file and of the picture is created if its parent folder exists
    picture: the SVG's file, written when the trace ends. None: none
    title: heading of the picture; None: the program's name
    """
    flags: int | None
    path: str | None
    picture: str | None
    title: str | None
