"""The plain methods of gpuorch's objects, by their classes. The classes of gpuorch's objects derive
from these, and add what needs more.

Made from abi.json by generate/generate.py.
"""

from . import _constants, _gpuorch


class RuntimeCalls:
    __slots__ = ()

    def driver(self):
        """Says which driver the runtime uses, and loads the driver if that has not happened yet.

        Returns: records.DriverInfo

        Raises:
          NoDevice: the requested driver can't be used, or an NVIDIA GPU is there and can't be used (above); the
            message says why
        """
        return _gpuorch.runtime_get_driver(self)

    def statistics(self):
        """Reads the counters. Blocks on nothing. The counters are read one after the other while work goes on, so
        they may be from slightly different moments.

        Returns: records.Statistics
        """
        return _gpuorch.runtime_get_statistics(self)

    def device_count(self):
        """Says how many devices the runtime shows. The first call loads the driver.

        Returns: int (count)

        Raises:
          NoDevice: the driver that was asked for can't be used; the message says why
        """
        return _gpuorch.runtime_get_device_count(self)

    def describe_device(self, ordinal=0):
        """Describes device `ordinal` (from 0), which need not be open. Makes no context.

        Returns: records.DeviceProperties

        Raises:
          NoDevice: there is no device with this ordinal
        """
        return _gpuorch.runtime_describe_device(self, ordinal)

    def describe_peer(self, from_, to):
        """Describes how device `from` reaches device `to`. Both are ordinals; neither device need be open. Makes no
        context.

        Returns: records.PeerProperties

        Raises:
          NoDevice: `from` or `to` is not the ordinal of a device
        """
        return _gpuorch.runtime_describe_peer(self, from_, to)

    def device_open(self, **options):
        """Opens a device. Opening a device twice gives two handles to one context.

        Blocks on the driver while it makes the context.

        Keywords:
          flags: 0: there are none yet
          ordinal: from 0
          native_context: None: the device's primary context, which is retained; its flags stay as they are. Not
            None: the caller's CUcontext on that device, which must exist until all objects that were made from the
            device are destroyed and their work is done
          label: a name for errors, logs and traces

        Returns: Device

        Raises:
          NoDevice: there is no device with this ordinal; or the driver can't be used (runtime.h, "Which driver"),
            and the message says why
          InvalidArgument: `native_context` is of another device
        """
        return _gpuorch.device_open(self, options)

    def timeline_create(self, **options):
        """Creates a timeline.

        Keywords:
          flags: 0: there are none yet
          value: the initial value
          label: a name for errors, logs and traces

        Returns: Timeline
        """
        return _gpuorch.timeline_create(self, options)

    def cq_create(self, **options):
        """Creates a queue of a runtime, for work of all its devices.

        Keywords:
          flags: 0: there are none yet
          capacity: entries in the queue and accepted notifies together; AUTO: 4096; at most 2^24
          label: a name for errors, logs and traces

        Returns: CompletionQueue

        Raises:
          InvalidArgument: `capacity` is above 2^24
        """
        return _gpuorch.cq_create(self, options)

    def metrics(self):
        """Reads the metrics of a runtime. Blocks on nothing.

        Returns: records.Metrics
        """
        return _gpuorch.runtime_get_metrics(self)

    def metrics_text(self):
        """Returns the statistics and metrics of the runtime, and the metrics of every device on which an object was
        opened, in Prometheus' text format 0.0.4. Names begin with gpuorch_. Units are seconds and bytes; ratios go
        from 0 to 1.

        Each sample has a label "runtime", to distinguish the runtimes of a process. The value is the runtime's own
        label (options.RuntimeOptions.label), or without a label the runtime's number in this process, "1" for the
        first created.

        The text is a complete page. To show several runtimes on one page, group the samples of each metric
        together.

        Blocks as Device.metrics does.

        Returns: str
        """
        return _gpuorch.runtime_get_metrics_text(self)

    def executor_create(self, **options):
        """Creates an executor and starts its threads.

        Keywords:
          flags: EXECUTOR_*
          threads: the executor's own threads; AUTO: 2; at most 256. 0 with EXECUTOR_CALLER
          capacity: how many callbacks may be accepted and not run; AUTO: 65536; at most 2^24. Beyond that functions
            return WOULD_BLOCK
          label: a name for errors, logs and traces

        Returns: Executor

        Raises:
          LimitExceeded: the system has no thread left
        """
        return _gpuorch.executor_create(self, options)

    def set_log_executor(self, executor=None):
        """Lets the runtime's log function be called on `executor` from now on, in the order of the lines. With
        None, the initial state, the function is called on the thread on which a line arises. Destroying the
        executor restores this state. If the executor is full, lines are dropped and counted in
        records.ExecutorStatistics.refused.
        """
        return _gpuorch.runtime_set_log_executor(self, executor)

    def trace_start(self, **options):
        """Starts a trace of all devices of a runtime.

        Blocks while the files are opened and the clock of each device is compared with the host's (some 100 us
        each).

        Keywords:
          flags: TRACE_*
          path: the trace's file, replaced if it exists, and gzipped if its name ends in .gz. None: no file, only
            the summary or the picture. The folder of this file and of the picture is created if its parent folder
            exists
          picture: the SVG's file, written when the trace ends. None: none
          title: heading of the picture; None: the program's name

        Raises:
          InvalidState: a trace of the runtime is running
          IoError: a file can't be written, is a pipe without a reader or another user's symbolic link, or another
            trace, of this process or of another, is writing it (then the native code is EWOULDBLOCK); the message
            names the file. All files are unchanged
        """
        return _gpuorch.trace_start(self, options)

    def trace_stop(self):
        """Stops the trace: writes what was recorded, and closes the files. Runtime.close does so too. The call
        doesn't wait for the GPU: operations that still run are in the trace without their GPU times.

        Blocks until the files are written.

        Raises:
          InvalidState: no trace of the runtime is running
          IoError: a file could not be written completely, for instance because the disk is full. The trace has
            ended all the same. The file is well-formed and ends early, or is deleted. The failure was logged when
            it happened, and the program's work went on
          WouldDeadlock: called in the log function, on the trace's own thread
        """
        return _gpuorch.trace_stop(self)

    def trace_info(self):
        """Describes the running trace, or the last one if none is running. Blocks on nothing.

        Returns: records.TraceInfo
        """
        return _gpuorch.trace_get_info(self)

    def trace_summary(self):
        """Returns a few lines of text about the running trace, as far as it has come, or about the last one. The
        text says how long each engine was busy, the bytes and speed of copies, and how much of the copying was
        hidden behind other work. Then come the longest gaps in which no engine worked, with the work before each,
        and serialising calls.

        Returns: str

        Raises:
          InvalidState: the runtime was never traced
        """
        return _gpuorch.trace_get_summary(self)

    def peers(self, devices, **options):
        """Creates a group of `count` devices (1 to PEERS_MOST_RANKS) of one runtime. Devices that can reach each
        other get permanent access to each other's memory (Device.enable_peer).

        Serialises the devices (runtime.h).

        Keywords:
          flags: 0: there are none yet
          engine: ENGINE_* for all collectives of the group; AUTO: one for each collective
          label: a name for errors, logs and traces

        Returns: Peers

        Raises:
          InvalidArgument: a device is in the list twice
          InvalidHandle: a device is of another runtime than the first
          NotSupported: the engine that is asked for can't be used: two devices can't reach each other's memory
            (direct), or NCCL isn't there, is too old or refuses (NCCL); the message says which, and what to install
            or set. Where AUTO finds neither engine, the message says it of both
          InvalidState: a device has resident work (stream.h), which the driver would wait for while it loads
            kernels of the group; the message names the stream. A group of one device needs none. Those of the
            direct engine are there already if a group of several devices was made before, or if several devices of
            the runtime were open when the device's resident stream was made. NCCL can't be begun beside resident
            work: where AUTO leaves the choice, the group does without it
          DriverError: a thread captures in the mode CU_STREAM_CAPTURE_MODE_GLOBAL. NCCL's threads then make calls
            that the driver forbids, and the capture becomes invalid. Create the group before the capture
        """
        return _gpuorch.peers_create(devices, options)

    def admission_create(self, **options):
        """Creates an admission.

        The watched pool is looked at on each of its allocations and frees. Destroying the pool's handle ends the
        watch.

        Keywords:
          flags: 0: there are none yet
          count: budget: places; AUTO: unlimited
          bytes: budget: bytes; AUTO: unlimited
          capacity: how many requests may wait at a time; AUTO: 65536; at most 2^20
          priorities: 1 to 16; AUTO: 1
          pool: a pool of device memory that is watched; None: none
          high_bytes: bytes in use of the pool, above which admissions pause
          low_bytes: bytes in use of the pool, at or below which they go on; at most high_bytes; AUTO: nine tenths
            of high_bytes
          label: a name for errors, logs and traces

        Returns: Admission

        Raises:
          InvalidArgument: an option is out of range, or there are watermarks without a pool, or a pool without
            `high_bytes`
          InvalidHandle: the pool is of another runtime
        """
        return _gpuorch.admission_create(self, options)

    def batcher(self, **options):
        """Creates a batcher without keys. If `executor` is destroyed, waiting requests end with CANCELLED, later
        submissions fail with CANCELLED, and batches that run are brought to their end by the library.

        Keywords:
          flags: 0: there are none yet
          devices: handles of different devices of one runtime
          lanes: lanes of each device; AUTO: 1; at most 16
          capacity: how many requests may wait at a time, of all keys; AUTO: 65536; at most 2^20
          executor: forms batches and calls `work`; None: the batcher has one of its own, with a thread for each
            lane. It has to have as many threads as lanes are to work at a time. While requests wait, Executor.run
            doesn't return
          label: a name for errors, logs and traces

        Returns: Batcher

        Raises:
          InvalidArgument: an option is out of range, or a device comes twice
          InvalidHandle: the devices and the executor are of different runtimes
        """
        return _gpuorch.batcher_create(options)


class DeviceCalls:
    __slots__ = ()

    def properties(self):
        """Describes an open device, as Runtime.describe_device does.

        Returns: records.DeviceProperties
        """
        return _gpuorch.device_get_properties(self)

    def native(self):
        """Returns the CUcontext and the CUdevice behind a handle, for use with other libraries.

        Returns: (context: int, ordinal: int)
        """
        return _gpuorch.device_get_native(self)

    def memory(self):
        """Returns the free and the total bytes of device memory, as the driver sees them now.

        Returns: (free_bytes: int, total_bytes: int)
        """
        return _gpuorch.device_get_memory(self)

    def enable_peer(self, peer):
        """Lets kernels and copies on `device` access the memory of `peer`. Succeeds if they can already.

        Serialises both devices (runtime.h).

        Raises:
          NotSupported: these two devices can't reach each other
          InvalidHandle: the devices are of different runtimes
        """
        return _gpuorch.device_enable_peer(self, peer)

    def disable_peer(self, peer):
        """Ends the access of kernels and copies on `device` to the memory of `peer`.

        Serialises both devices (runtime.h).

        Raises:
          InvalidState: `device` has no access to the memory of `peer`
          InvalidArgument: both are the same device, which always reaches its own memory
        """
        return _gpuorch.device_disable_peer(self, peer)

    def limit(self, limit):
        """Reads the value of `limit` (LIMIT_*) that is in force now.

        Returns: int (value)

        Raises:
          InvalidArgument: `limit` is none of these numbers
          NotSupported: the device doesn't have this limit
        """
        return _gpuorch.device_get_limit(self, limit)

    def set_limit(self, limit, value):
        """Sets a limit. The driver may round the value: read it back with Device.limit. Raises the same as there.
        INVALID_ARGUMENT, too: on a CUDA device the limits of printf and of the heap can't be set, not even to the
        same value, once a kernel that uses printf, or malloc, has been launched in the context (cuCtxSetLimit)

        Raises:
          InvalidState: `limit` is LIMIT_STACK_BYTES, and there is resident work (stream.h), which the driver would
            wait for; the message names its stream
        """
        return _gpuorch.device_set_limit(self, limit, value)

    def event_create(self, **options):
        """Creates an event, which is not recorded yet.

        With EVENT_INTERPROCESS it serialises the device (runtime.h).

        Keywords:
          flags: EVENT_*
          label: a name for errors, logs and traces

        Returns: Event

        Raises:
          InvalidArgument: EVENT_INTERPROCESS is set, and EVENT_TIMING or EVENT_EXTERNAL too
          NotSupported: EVENT_INTERPROCESS in a deterministic runtime
        """
        return _gpuorch.event_create(self, options)

    def stream_create(self, **options):
        """Creates a stream. A device's first resident stream also loads kernels of the library's own, which is
        serialising (runtime.h): two small kernels and, while several devices of the runtime are open, the kernels
        of groups (peers.h). The driver translates the kernels of groups when they are first loaded on a machine.

        Keywords:
          flags: STREAM_*
          priority: 0 is the default; lower numbers run first; clamped to Device.priority_range
          max_held: how many operations may be held; AUTO: 65536. Beyond that calls give WOULD_BLOCK
          label: a name for errors, logs and traces

        Returns: Stream

        Raises:
          NotSupported: two of the flags STREAM_BLOCKING, STREAM_LEARNS and STREAM_RESIDENT together
        """
        return _gpuorch.stream_create(self, options)

    def stream_wrap(self, native=None, **options):
        """Makes a handle for a CUstream of the caller or of another library. `native` is a stream of this device's
        context, or None or 1 for the legacy default stream.

        The CUstream must exist until the handle is destroyed and the last work put on the handle is done. The
        library never destroys the CUstream.

        The stream may be in capture. The legacy stream counts as in capture while any blocking stream of its
        context is. If the handle is destroyed during a capture, the library no longer waits for the work that the
        stream was given before the capture.

        Keywords:
          flags: STREAM_*
          priority: 0 is the default; lower numbers run first; clamped to Device.priority_range
          max_held: how many operations may be held; AUTO: 65536. Beyond that calls give WOULD_BLOCK
          label: a name for errors, logs and traces

        Returns: Stream

        Raises:
          InvalidArgument: the stream is of another context
          NotSupported: `native` is 2, the per-thread default stream: it is a different stream in every thread, and
            the library's threads would get their own; or options.flags has STREAM_LEARNS or STREAM_RESIDENT
        """
        return _gpuorch.stream_wrap(self, native, options)

    def priority_range(self):
        """Returns the least and the greatest priority that streams of the device can have. Lower numbers are
        greater priorities, so greatest <= least. Both are 0 if the device has no priorities.

        Returns: (least: int, greatest: int)
        """
        return _gpuorch.device_get_priority_range(self)

    def stream_pool_create(self, **options):
        """Creates a pool and all of its streams: `streams` for each of `priorities`.

        Keywords:
          flags: 0: there are none yet
          streams: streams for each priority; AUTO: 4
          priorities: how many priorities, from 0 upwards to greater ones; AUTO: 1; at most as many as the device
            has
          label: a name for errors, logs and traces

        Returns: StreamPool

        Raises:
          InvalidArgument: that would be more than 1024 streams
        """
        return _gpuorch.stream_pool_create(self, options)

    def arena_create(self, **options):
        """Creates an arena.

        Serialises the device if `initial_bytes` is not 0.

        Keywords:
          flags: ARENA_*
          max_bytes: most bytes that the arena takes from the driver; 0: no limit
          slab_bytes: least size of a slab; AUTO: 64 MiB, or max_bytes if that is less
          initial_bytes: bytes that Device.arena_create takes; 0: none, the first allocation takes a slab
          numa_node: with ARENA_NUMA: 0 to 1023; otherwise 0
          label: a name for errors, logs and traces

        Returns: Arena

        Raises:
          InvalidArgument: `slab_bytes` or `initial_bytes` is above `max_bytes`
        """
        return _gpuorch.arena_create(self, options)

    def memory_describe(self, address):
        """Says what kind of memory `address` (not 0) points to. The address may be of host or device memory,
        allocated by the library or by other code. The memory must not be freed meanwhile: drivers may crash then
        (580 has).

        Returns: records.MemoryInfo
        """
        return _gpuorch.memory_describe(self, address)

    def pool_create(self, **options):
        """Creates a pool of device memory. Allocations and frees are operations of a stream. On an H200 an
        allocation and a free together take the host about 1 us, including 0.7 us in the driver.

        Keywords:
          flags: POOL_KEEP_NOTHING
          max_bytes: most bytes in use; 0: no limit
          keep_bytes: how much unused memory the pool keeps instead of giving it back to the system; AUTO: all,
            until Pool.trim. To keep none, set POOL_KEEP_NOTHING
          initial_bytes: bytes that Device.pool_create takes, to make the first allocations fast; at most max_bytes
          label: a name for errors, logs and traces

        Returns: Pool

        Raises:
          NotSupported: the device has no memory pools (records.DeviceProperties.memory_pools)
        """
        return _gpuorch.pool_create(self, options)

    def module_load(self, image, label=None):
        """Loads a module from an image: for a CUDA device a cubin, fatbin or PTX; for the software GPU a shared
        object that the library made for it (Module.image).

        Returns: Module

        Raises:
          InvalidImage: the driver refuses the image; the message has the driver's text. Images of the software GPU
            carry a digest: a damaged image, or one of another version of the library, is refused
        """
        return _gpuorch.module_load(self, image, label)

    def module_load_builtin(self):
        """Loads the module of built-in kernels, which need no compiler. All loop over n, so any grid and block will
        do: gpo_fill_u32(uint32_t *y, uint32_t value, uint64_t n)                         y = value
        gpo_copy_u32(uint32_t *y, const uint32_t *x, uint64_t n)                      y = x gpo_scale_add_f32(float
        *y, const float *x, float a, uint64_t n)              y = a * x + y gpo_add_f32(float *z, const float *x,
        const float *y, uint64_t n)             z = x + y gpo_histogram_u8(uint64_t *bins, const uint8_t *x,
        uint64_t n)                adds to bins[256] gpo_reduce_add_f32(float *sum, const float *x, uint64_t n)
        adds to *sum

        Returns: Module
        """
        return _gpuorch.module_load_builtin(self)

    def pipeline_create(self, **options):
        """Creates a pipeline. All options are checked and copied, with the kernels' arguments. The first run makes
        buffers and streams.

        Keywords:
          flags: PIPELINE_*
          chunk_bytes: input bytes of a chunk: a multiple of `granule`, at most 1 TiB. AUTO: the first run measures
            which size is best (64 KiB to 64 MiB), and the pipeline remembers it
          granule: all chunks except the last are multiples of it; 0: 4096; at most 1 TiB
          slots: chunks under way at a time on each device, 1 to 1024; AUTO: 3, or up to 6 if host code takes part
          output_numerator: output bytes = input bytes * numerator / denominator, rounded up; at most 4096 times the
            input. Numerator 0 with a denominator: no output. Both 0: as many output bytes as input bytes
          output_denominator
          stages: a list of options.Stage
          scratch_bytes: device memory for each chunk, not cleared; at most 1 TiB
          result_bytes: result of a chunk: a block that is zeroed before the stages run, and that the sink gets; at
            most 1 MiB
          max_pinned_bytes: most pinned memory for staging, for all devices together; AUTO: 1 GiB for each device
          progress: a function (progress: records.PipelineProgress). May be None
          progress_ns: least time between two calls of `progress`; 0: 100 ms
          label: a name for errors, logs and traces
          executor: runs the callbacks of sources, stages and sinks and `progress` (executor.h): one of each kind at
            a time, while a thread of the pipeline waits. None: threads of the pipeline run them. If the executor is
            destroyed during a run, the run ends with CANCELLED. A thread that runs the executor must not wait for
            the pipeline, except by Pipeline.then
          devices: several devices that share the work: `device_count` of them, all different and of one runtime;
            the first is the `device` that Device.pipeline_create gets. None: that device alone

        Returns: Pipeline

        Raises:
          InvalidArgument: a value is out of range, a device is in the list twice, or a kernel is of another device
            than its place says; the message names it
          InvalidHandle: also a device or an executor of another runtime
        """
        return _gpuorch.pipeline_create(self, options)

    def metrics(self):
        """Reads the metrics of a device. Blocks on the driver for less than a millisecond; the first call blocks
        until NVML is loaded. May be called during stream captures.

        Returns: records.DeviceMetrics
        """
        return _gpuorch.device_get_metrics(self)

    def template(self, **options):
        """Creates an empty template for graphs on `device`.

        Keywords:
          flags: 0: there are none yet
          max_instances: most graphs that Template.launch makes; AUTO: 64
          label: a name for errors, logs and traces

        Returns: Template
        """
        return _gpuorch.template_create(self, options)

    def buckets(self, **options):
        """Makes buckets without recording any.

        Keywords:
          flags: BUCKETS_*
          shapes: numbers of elements, in any order; none is 0, none comes twice
          max_bytes: device memory that all buckets may take; 0: any. A bucket takes as much as the device's free
            memory went down by while the bucket was recorded and its graphs were made. Allocations of `record`
            count, and also other allocations at that time
          max_buckets: most buckets that are recorded at a time; the least recently used bucket makes room for
            another; 0: all
          streams: graphs of each bucket from the start, one for each launching stream; AUTO: 1; at most 64
          record: a function (stream: Stream, work: records.BucketWork). It returns None or True: success; False or
            a status: a failure
          pad: a function (stream: Stream, work: records.BucketWork). It returns None or True: success; False or a
            status: a failure. Writes the elements from `size` to `shape`. None: `pad_address`
          pad_address: element 0 in device memory: zeros are written instead of a call of `pad`. 0: no padding is
            needed. 0 with `pad`
          pad_element_bytes: size of an element there; 0 without `pad_address`
          label: a name for errors, logs and traces
          restored: a list of options.MemoryRange. The memory is read and written in the order of the caller's
            stream, and not at the same time by other work. Copies take as much device memory again while a bucket
            is recorded

        Returns: Buckets

        Raises:
          InvalidArgument: `record` is None, there are no shapes, a shape is 0 or comes twice, `pad_address` doesn't
            go with the rest; a range of `restored` is empty, at None, or runs past the end of addresses, there are
            too many, or there are some with BUCKETS_NO_WARM_UP
        """
        return _gpuorch.buckets_create(self, options)

    def template_import(self, native, **options):
        """Makes a template of a CUgraph of the caller or of another library. The graph is copied: it stays the
        caller's, and later changes of it don't change the template. The kernels and memory that the nodes use must
        stay valid for as long as graphs of the template may run: the library knows only its own memory among them
        (see Lifetime). Nodes have numbers in the order in which cuGraphGetNodes lists those of `native`. A kernel
        node's label is the kernel's name, as the driver has it.

        Keywords:
          flags: 0: there are none yet
          max_instances: most graphs that Template.launch makes; AUTO: 64
          label: a name for errors, logs and traces

        Returns: Template

        Raises:
          InvalidArgument: `native` is None, or the driver doesn't know it
          NotSupported: the graph, or a child graph in it, has a node with which the driver copies no graph (a
            conditional, an allocation, a free): the message says which
        """
        return _gpuorch.template_import(self, native, options)

    def queue(self, **options):
        """Creates a queue. Any stream may use it when the call returns.

        Blocks on the GPU for some microseconds, while the memory is initialised; not on work of other streams.
        Allocating is serialising (runtime.h). A device's first ring also loads the kernel of Queue.push, unless an
        earlier resident stream has loaded the kernel. Loading is serialising too. The kernel stays loaded until the
        runtime shuts down, and later rings load nothing.

        Keywords:
          kind: QUEUE_RANGE, …
          flags: QUEUE_TICKETS, QUEUE_NO_ANSWERS, QUEUE_LATE_CLAIMS
          batch: range: numbers in a batch; AUTO: 1
          count: range: how many numbers there are, 1 to 2^48. A kernel may use fewer
          capacity: rings: how many tasks fit, for each priority, at most 2^26; rounded up to a power of two from 64
            on; AUTO: 65536, in a host ring 4096
          task_size: rings: bytes of a task, 16 to 256, a multiple of 16
          priorities: ring: 1 to 8, with QUEUE_TICKETS 1; AUTO: 1. Pops look at priority 0 first
          answer_size: host ring: bytes of an answer, 0 to 256, a multiple of 4; beside them an answer has a status
          tenants: host ring: 1 to 64; AUTO: 1; with QUEUE_NO_ANSWERS there is 1
          stream: the resident stream (stream.h) of a kernel that uses the queue: see "Memory". None: there is none;
            a host ring needs one
          label: a name for errors, logs and traces

        Returns: Queue

        Raises:
          InvalidArgument: an option is out of range, or is one of another kind, which has to be 0: the message
            names it; or the stream is of another device, or isn't resident
          InvalidHandle: the stream is of another runtime
          OutOfMemory: there is no device memory, or no pinned memory
        """
        return _gpuorch.queue_create(self, options)

    def costs(self, flags=0):
        """Returns what things cost on a device: an H200's costs, with the multiprocessors and the rates of memory
        and arithmetic of this device.

        With COSTS_PROBE launches, graphs and copies are measured, on streams of the library's own. The probe loads
        a small module, allocates 4 MiB of device memory and 4 MiB of pinned memory and frees them: it serialises
        the device (runtime.h). Other work on the device and on the host makes the costs greater.

        May be called during stream captures. Blocks on the GPU with COSTS_PROBE, otherwise on nothing.

        Returns: records.Costs

        Raises:
          InvalidState: with COSTS_PROBE, there is resident work (stream.h)
        """
        return _gpuorch.device_get_costs(self, flags)

    def advise(self, **workload):
        """Says which forms fit a workload, the best first. FORM_LEAVE is always in the list; forms behind it are
        expected to gain too little.

        Takes up to some microseconds for each task cost. Blocks on nothing.

        A workload, described by one *round*: the work that the program repeats. 0 stands for "not known" in every
        field but for flags. Copies and kernels of the round that aren't described are left out of account.

        Keywords:
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

        Returns: (diagnosis: records.Diagnosis, advice: list[records.Advice])

        Raises:
          InvalidArgument: also if a figure is impossible (a cost is negative or no number, a block has more workers
            than there are in all, ...); the message names it
        """
        return _gpuorch.advise(self, workload)

    def scheduler(self, handlers, **options):
        """Creates a scheduler, compiles its handlers, and loads and allocates everything for its runs. A task whose
        first four bytes are i is for handlers[i].

        Blocks on the compiler, and as Device.queue. Loading and allocating are serialising (runtime.h).

        Parameters:
          handlers: a list of options.Handler

        Keywords:
          form: SCHEDULER_RESIDENT, …
          queue: a ring without QUEUE_TICKETS, or a host ring, of the same device
          source: CUDA C++ with the handlers' functions; SCHEDULER_GRAPHS: None
          file_name: name of the source in the compiler's messages; None: "handlers.cu"
          compile_options: as options.CompileOptions.options
          workers: WORKER_THREAD, …; AUTO: WORKER_WARP
          threads: threads of a block, a multiple of 32 up to 1024; AUTO: 128
          blocks_per_multiprocessor: blocks on each multiprocessor; AUTO: 1
          multiprocessors: number for the scheduler's blocks; AUTO: all that no other scheduler has, less
            `leave_free`
          leave_free: multiprocessors to be left to other work. With `multiprocessors` given, at least this many
            must remain
          batch: SCHEDULER_WHILE: tasks of a worker in a turn, AUTO: 16; SCHEDULER_GRAPHS: tasks of a step, up to
            120, AUTO: 120
          max_errors: how many errors are stored, the first ones, up to 4096; AUTO: 64. All are counted
          argument: value that handlers get by argument<T>(): an address, or any number
          dynamic_shared_bytes: shared memory of each block, for handlers
          idle_timeout_ns: the run ends after this time with nothing to do; 0: never
          sample_interval_ns: how often the queue's depth is noted; AUTO: a millisecond
          label: a name for errors, logs and traces

        Returns: Scheduler

        Raises:
          InvalidArgument: an option is out of range, or is one of another form, which has to be 0: the message
            names it; the queue or a graph is of another device; a handler's name is missing or no identifier;
            `leave_free` leaves no multiprocessor; a graph is given twice
          InvalidHandle: the queue or a graph is of another runtime
          InvalidState: the queue has a scheduler already: the message names it; or a graph was made without
            GRAPH_DEVICE_LAUNCH; or there is resident work (stream.h), for example of a running scheduler: create
            all schedulers before the first is started
          NotSupported: the queue is a range, or has tickets, or the form isn't for host rings
          CompileFailed: the source has errors; or a handler isn't there, isn't of the form int (gpo::task_context
            &, const task &), or its task is larger than the queue's: last_compile_log has the whole text
          NoCompiler: as Device.module_compile
          LimitExceeded: other schedulers have the multiprocessors, or blocks_per_multiprocessor blocks with these
            handlers don't fit on a multiprocessor at a time: the message has the numbers
        """
        return _gpuorch.scheduler_create(self, options, handlers)

    def join(self, **options):
        """Joins a group with a device. All processes of the group call it; it blocks until all are there.

        By MPI: the library is loaded when it is first needed (Open MPI 4 or 5: libmpi.so.40; MPICH 4 and those that
        have its ABI: libmpi.so.12, libmpich.so.12; the environment's GPUORCH_MPI may name the file). If the program
        has initialised MPI, it has asked for MPI_THREAD_MULTIPLE, or it has got MPI_THREAD_SERIALIZED and makes no
        MPI call as long as such a group exists; and it finalises MPI after the group is destroyed. If it hasn't,
        the library initialises MPI, and finalises it at the exit of the process. MPI_Init waits for all processes
        of the job, whatever timeout_ns says.

        Keywords:
          flags: JOIN_CHECK_ORDER: the same for all ranks
          by: JOIN_*
          engine: ENGINE_NCCL or ENGINE_HOST, the same for all ranks; AUTO: NCCL where all ranks have CUDA devices
            and NCCL, and the host engine elsewhere
          rank: this process's, from 0. By MPI: 0, or the rank in the communicator
          ranks: how many. By MPI: 0, or the communicator's size
          timeout_ns: how long joining may take, and how long a rank may keep a collective waiting once this
            process's stream has come to it. 0: 60 s; negative: no limit
          path: JOIN_FILE: nothing has to be there. The file is made, readable and writable to its user alone, and
            removed when all have joined. The file of a group whose processes have died is replaced. All ranks are
            processes of one user
          id: JOIN_ID: PEERS_ID_BYTES bytes
          communicator: JOIN_MPI: the program's MPI_Comm, cast to void *; None: MPI_COMM_WORLD
          label: a name for errors, logs and traces

        Returns: Peers

        Raises:
          InvalidArgument: a field is wrong, or differs from what rank 0 has; `path` is a file of another kind, of
            another user, cut short, or one that others may write to; or its folder lets others put a file in its
            place (they may write there, and it isn't sticky as /tmp is)
          InvalidState: this rank is there already; another group is joining by the same file; the program has
            finalised MPI, or has initialised it for fewer threads
          PeerLost: ranks were missing when the timeout passed, and the message names them; or a rank has died or
            given up
          NotSupported: MPI or NCCL is needed and can't be used, the message says what to install or set; or the
            runtime is deterministic; or the engine has to be NCCL, and a process has resident work on its device
            (stream.h)
          NotFound: the folder of the file doesn't exist
          IoError: a file can't be made, opened or mapped
        """
        return _gpuorch.peers_join(self, options)

    def memory_export(self, address):
        """Returns the bytes by which another process imports memory of Device.memory_allocate. `address` is the
        start of an allocation. May be called repeatedly; the memory stays this process's.

        Returns: bytes

        Raises:
          InvalidArgument: `address` is not the start of an allocation of this device (but inside an allocation, or
            of a pool, whose memory can't be exported), or the memory is imported
          InvalidState: the memory belongs to a queue or a template. The message names its owner
          NotSupported: the system or the driver can't share memory between processes, or the runtime is
            deterministic
        """
        return _gpuorch.memory_export(self, address)

    def event_import(self, exported, label=None):
        """Makes a handle for an event that another process has exported. This process records the event on streams
        of `device`; streams of all devices can wait for it. Destroy the handle like any event's. Exceptions as
        Device.memory_import. Serialises the device (runtime.h).

        Returns: Event
        """
        return _gpuorch.event_import(self, exported, label)


class StreamCalls:
    __slots__ = ()

    def info(self):
        """Returns what the library knows of a stream. Doesn't ask the driver.

        Returns: records.StreamInfo
        """
        return _gpuorch.stream_get_info(self)

    def native(self):
        """Returns the CUstream behind the handle. Don't destroy the CUstream: the library owns it, unless the
        stream was wrapped. Work that is put on the CUstream directly is not held back while the stream is held (see
        "Held streams").

        Returns: int (native)
        """
        return _gpuorch.stream_get_native(self)

    def query(self):
        """Says whether all work that was put on the stream is done.

        Any other status: the stream has failed with it, even if earlier work still runs

        Raises:
          no exception: it is not done
          CaptureRefused: the stream is in capture
        """
        return _gpuorch.stream_query(self)

    def cancel_held(self):
        """Cancels all operations that are held on the stream: they complete with CANCELLED. The stream can be used
        again.

        Returns: int (count)
        """
        return _gpuorch.stream_cancel_held(self)

    def wait_event(self, event):
        """Makes later work on the stream wait, on the GPU, until the event's newest recording is complete. The host
        doesn't wait. An event that was never recorded counts as complete. The event may be of another device of the
        same runtime. A stream that waits for an event recorded in a capture joins that capture. On a stream in
        capture an event with EVENT_EXTERNAL becomes a node of the graph instead, which waits at each launch
        (event.h).

        Raises:
          CaptureRefused: the stream is in capture, and the event was recorded outside of that capture; or the
            event's newest recording was made in a capture that has ended. The stream is unchanged
        """
        return _gpuorch.stream_wait_event(self, event)

    def wait_stream(self, other):
        """Makes later work on `stream` wait, on the GPU, until all work that was put on `other` before the call is
        done. The host doesn't wait. If `other` is in capture, `stream` joins that capture.

        Raises:
          CaptureRefused: only `stream` is in capture, or the two are in different captures
        """
        return _gpuorch.stream_wait_stream(self, other)

    def wait_timeline(self, timeline, value):
        """Makes later work on the stream wait until the timeline reaches `value`. If the signal has been submitted
        to some stream, the GPU waits. Otherwise the stream is held (see "Held streams"). The host doesn't wait.

        Any other status: the timeline has failed with it, and the value is not reached

        Raises:
          NotSupported: the stream is wrapped and would have to be held
          CaptureRefused: the stream is in capture, and the value is not reached
        """
        return _gpuorch.stream_wait_timeline(self, timeline, value)

    def signal_timeline(self, timeline, value):
        """Raises the timeline to `value` when all work that was put on the stream before the call is done. If the
        timeline is already higher at that moment, nothing changes. If the work before fails, the timeline fails
        with the same failure.

        Raises:
          InvalidArgument, Failed: as Timeline.signal
          CaptureRefused: the stream is in capture
        """
        return _gpuorch.stream_signal_timeline(self, timeline, value)

    def copy_to_device(self, destination, source):
        """Copies from the host to the device."""
        return _gpuorch.copy_to_device(self, destination, source)

    def copy_to_host(self, destination, source):
        """Copies from the device to the host."""
        return _gpuorch.copy_to_host(self, destination, source)

    def copy_on_device(self, destination, source, bytes=None):
        """Copies between two ranges of the stream's device."""
        return _gpuorch.copy_on_device(self, destination, source, bytes)

    def copy_peer(self, destination_device, destination, source_device, source, bytes=None):
        """Copies between two devices of one runtime: directly if the devices can reach each other, otherwise
        through the host.

        Raises:
          InvalidHandle: the stream or one of the devices is of another runtime
        """
        return _gpuorch.copy_peer(self, destination_device, destination, source_device, source, bytes)

    def copy_batch(self, copies):
        """Submits many copies with one call of the driver. Worthwhile for copies of 256 KiB and less. The copies
        have no order among themselves. If the driver can't batch (before CUDA 12.8, in a capture, on the default
        stream), the copies are submitted one by one.

        All copies are checked before the first is submitted. Ranges of different copies must not overlap; the
        library doesn't check that.

        Parameters:
          copies: a list of options.Copy

        Raises:
          InvalidArgument: source and destination of a copy overlap, or a range is too long (as above)
        """
        return _gpuorch.copy_batch(self, copies)

    def copy_rows(self, **copy):
        """Copies rows. Source and destination must not overlap; the library doesn't check that. Pageable memory as
        above.

        A copy of `height` rows of `width` bytes. A pitch is the distance from one row to the next in bytes, at
        least `width`.

        Keywords:
          flags: 0: there are none yet
          destination
          destination_pitch: bytes
          source
          source_pitch: bytes
          width: bytes of a row
          height: rows
        """
        return _gpuorch.copy_rows(self, copy)

    def fill(self, destination, value, element_bytes=4, count=None):
        """Sets `count` elements of `element_bytes` (1, 2 or 4) bytes to the low bytes of `value`. `destination`
        must be a multiple of `element_bytes`.
        """
        return _gpuorch.fill(self, destination, value, element_bytes, count)

    def fill_rows(self, destination, pitch, value, width, height):
        """Sets `height` rows of `width` bytes, which lie `pitch` bytes apart, to the low byte of `value`."""
        return _gpuorch.fill_rows(self, destination, pitch, value, width, height)

    def notify(self, cq, user_data=0):
        """Puts a mark behind all work that is on the stream now. When that work is done, `cq` gets an entry with
        `user_data`. `cq` must be of the stream's runtime.

        If the stream fails or has failed, the entry has that failure. The entry comes when the work that the GPU
        was given before the failure has ended. Memory that the work used can then be reused.

        Raises:
          WouldBlock: the queue is full: accepted notifies count as long as their entries have not been drained. No
            mark was put and no entry will come
          CaptureRefused: the stream is in capture
        """
        return _gpuorch.stream_notify(self, cq, user_data)

    def notify_timed(self, cq, since, user_data=0):
        """Like Stream.notify, and the entry's `gpu_ns` has the GPU time from the newest recording of `since` to the
        mark. `gpu_ns` is -1 if that recording is not complete before the mark, or if the event is recorded again
        before the library sees the mark: use several events for several measurements at a time. Costs the GPU two
        time stamps, about 1 us.

        Exceptions as Stream.notify, and:

        Raises:
          InvalidArgument: `since` was made without EVENT_TIMING, or was not recorded on the same device
          CaptureRefused: `since` was recorded in a capture
        """
        return _gpuorch.stream_notify_timed(self, cq, user_data, since)

    def then(self, executor, callback):
        """Calls `callback` when all work that is on the stream now is done: as Stream.notify.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)

        Raises:
          WouldBlock: the executor has no room; the callback is never called
        """
        return _gpuorch.stream_then(self, executor, callback)

    def host_call(self, executor, function):
        """Puts a host call on a stream: `function` runs on the executor when all work before it on the stream is
        done. Work behind it is held on the host until the host call is finished (stream.h), so the GPU itself never
        waits for it. The function may call CUDA. If the function fails, all work behind the host call completes
        with this failure and never runs.

        The function is called exactly once, even if it must not do its work (records.HostCall.status). In both
        cases the call comes after the work that the GPU was given before has ended, so memory that the work used
        can be reused. Only when the executor is destroyed does the call come at once.

        Stream.cancel_held cancels a host call that has not begun. For a running host call, it ends the stream's
        wait.

        Parameters:
          function: a function (call: records.HostCall). It returns None or True: done; False: not finished yet; a
            status: a failure

        Raises:
          NotSupported: the stream is wrapped and so can't be held
          CaptureRefused: the stream is in capture
          WouldBlock: the executor or the stream has no room
        """
        return _gpuorch.stream_host_call(self, executor, function)


class StreamPoolCalls:
    __slots__ = ()

    def acquire(self, priority=0):
        """Acquires a stream of the priority nearest to `priority`: a stream with the fewest users and, among
        several, with the least pending work. Several users may share a stream, so a call never blocks and never
        fails for lack of streams. Give the stream back with StreamPool.release, or close it.

        Returns: Stream
        """
        return _gpuorch.stream_pool_acquire(self, priority)


class EventCalls:
    __slots__ = ()

    def record(self, stream):
        """Records the event behind all work that was put on the stream before the call. Waits for an earlier
        recording still wait for that recording. On a held stream (stream.h) the recording is held too, and the
        event is incomplete meanwhile. On a stream in capture the event marks a point in the graph, or becomes a
        node of it (see above).

        Raises:
          InvalidArgument: event and stream are of different devices
        """
        return _gpuorch.event_record(self, stream)

    def query(self):
        """Says whether the newest recording is complete.

        Any other status: the failure of the work before the recording

        Raises:
          no exception: it is not complete
          CaptureRefused: it was made in a capture (see above)
        """
        return _gpuorch.event_query(self)

    def elapsed(self, end):
        """Returns the GPU time from the newest recording of `start` to that of `end`, in nanoseconds, with the
        driver's resolution (about 0.5 us). Negative if `end` was complete first.

        Returns: int (nanoseconds)

        Raises:
          InvalidArgument: an event was made without EVENT_TIMING, or the events are of different devices
          no exception: a recording is not complete
          InvalidState: an event was never recorded
          CaptureRefused: a recording was made in a capture (see above)
        """
        return _gpuorch.event_get_elapsed(self, end)

    def notify(self, cq, user_data=0):
        """Puts an entry into `cq` (completion.h) when the newest recording is complete, at once if the event was
        never recorded. The entry has `user_data` and a status: SUCCESS, or the failure if the work before that
        recording fails or has failed or the device is lost.

        Raises:
          WouldBlock: the queue is full; no entry will come
          CaptureRefused: the recording was made in a capture (see above)
        """
        return _gpuorch.event_notify(self, cq, user_data)

    def native(self):
        """Returns the CUevent behind the handle. The library owns it: don't destroy it.

        Returns: int (native)

        Raises:
          NotSupported: the event was made with EVENT_INTERPROCESS, or is imported
        """
        return _gpuorch.event_get_native(self)

    def then(self, executor, callback):
        """Calls `callback` when the event's newest recording is complete or has failed: as Event.notify.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)
        """
        return _gpuorch.event_then(self, executor, callback)

    def export(self):
        """Returns the bytes by which another process imports an event that was made with EVENT_INTERPROCESS. The
        rest as for Device.memory_export. The process destroys the event when the others have destroyed theirs.

        Returns: bytes

        Raises:
          InvalidArgument: the event was made without EVENT_INTERPROCESS, or is imported itself
        """
        return _gpuorch.event_export(self)


class TimelineCalls:
    __slots__ = ()

    def signal(self, value):
        """Raises the timeline to `value` from the host, and releases the waits for it. When the call returns, no
        stream is held for this value any more, nor for work that was held behind such a wait on another stream.

        Raises:
          InvalidArgument: `value` is not above the value reached; or not above every signal that the GPU has been
            given; or a stream is on the way to signal exactly this value
          Failed: the timeline has failed; Timeline.value returns the status it has failed with
        """
        return _gpuorch.timeline_signal(self, value)

    def fail(self, status, message=None):
        """Fails the timeline with `status`, which must be 50 or above (else INVALID_ARGUMENT), and a sentence,
        which may be None. If the timeline has failed before, the first failure stays.

        Waits for values that are not reached fail with `status`. Later waits of streams for these values fail too,
        even if a signal that would reach the value was submitted before. Only waits that the GPU has been given
        already go on.
        """
        return _gpuorch.timeline_fail(self, status, message)

    def value(self):
        """Returns the value that has been reached. If the timeline has failed, returns the status of that failure
        instead.

        Returns: int (value)
        """
        return _gpuorch.timeline_get_value(self)

    def notify(self, value, cq, user_data=0):
        """Puts an entry into `cq` when the timeline reaches `value`, at once if it has. If the timeline fails, or
        has failed, the entry has its failure. If the timeline is destroyed and no signal that was put on a stream
        will reach `value`, the entry has CANCELLED.

        Raises:
          WouldBlock: the queue is full; no entry will come
        """
        return _gpuorch.timeline_notify(self, value, cq, user_data)

    def then(self, value, executor, callback):
        """Calls `callback` when the timeline reaches `value` or can't reach it any more: as Timeline.notify.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)
        """
        return _gpuorch.timeline_then(self, value, executor, callback)


class CompletionQueueCalls:
    __slots__ = ()

    def wake(self):
        """Makes one CompletionQueue.wait, in progress or the next, return SUCCESS, and makes the descriptor
        readable. Any thread may call it. Several wakes before a wait count as one.
        """
        return _gpuorch.cq_wake(self)

    def statistics(self):
        """Reads the counts since the queue was created. Blocks on nothing.

        Returns: records.CqStatistics
        """
        return _gpuorch.cq_get_statistics(self)

    def fd(self):
        """Returns a file descriptor that is readable when there may be something to drain, for epoll, poll,
        kqueue-like loops, libuv, asyncio, Go's poller and others. Each call makes a duplicate, which the caller
        closes; closing it does the queue no harm. The descriptor is non-blocking and is closed on exec.

        - Watch the descriptor for reading. Never read or write the descriptor: CompletionQueue.drain does all that
        is needed.

        - Readability is a hint: a wake may stand for many entries, or for none. Only the result of
        CompletionQueue.drain counts.

        - A single drain per wake is enough, with any capacity: if the drain leaves entries in the queue, the
        descriptor becomes readable again. Level-triggered and edge-triggered pollers both work. More drains do no
        harm.

        - Any number of threads may poll duplicates and drain. Each entry goes to one of them, so `user_data` should
        identify the waiter.

        - CompletionQueue.wake, from any thread, makes the descriptor readable until the next drain.

        - At the end of the queue the descriptor stays readable: drains return the entries that are left, then
        SHUT_DOWN. After CompletionQueue.close the descriptor stays readable too: the next drain returns
        STALE_HANDLE, or INVALID_HANDLE if the runtime was shut down before.

        Delivering entries costs a system call only for the first entry after a drain, and none before the first
        call of this function.

        Returns: int (descriptor)

        Raises:
          LimitExceeded: the process has no descriptor left
        """
        return _gpuorch.cq_get_fd(self)


class ArenaCalls:
    __slots__ = ()

    def trim(self, keep_bytes=0):
        """Gives empty slabs back to the driver until at most `keep_bytes` are reserved. Serialises the device.
        Beside resident work (stream.h) the driver gets them when that work has ended, and until then they count
        nowhere in the arena.
        """
        return _gpuorch.arena_trim(self, keep_bytes)

    def statistics(self):
        """Reads the arena's figures.

        Returns: records.MemoryStatistics
        """
        return _gpuorch.arena_get_statistics(self)


class PoolCalls:
    __slots__ = ()

    def trim(self, keep_bytes=0):
        """Gives unused memory back to the system until at most `keep_bytes` are reserved. Serialises the device.
        Memory that was freed on a stream with unfinished work, or in capture, stays reserved. Looking at such a
        stream takes up to 0.5 ms.
        """
        return _gpuorch.pool_trim(self, keep_bytes)

    def statistics(self):
        """Reads the pool's figures.

        Returns: records.MemoryStatistics
        """
        return _gpuorch.pool_get_statistics(self)


class ModuleCalls:
    __slots__ = ()

    def image(self):
        """The image is not a string and has no terminator.

        Returns: bytes
        """
        return _gpuorch.module_get_image(self)

    def symbol(self, name):
        """Returns the device address and the size in bytes of a __device__ or __constant__ variable. The variable
        can be copied to and from like any device memory.

        Returns: (address: int, bytes: int)

        Raises:
          NotFound: there is no such variable
        """
        return _gpuorch.module_get_symbol(self, name)


class KernelCalls:
    __slots__ = ()

    def attributes(self):
        """Returns what the driver says of a kernel.

        Returns: records.KernelAttributes
        """
        return _gpuorch.kernel_get_attributes(self)

    def name(self):
        """Returns the function's name in the image.

        Returns: str
        """
        return _gpuorch.kernel_get_name(self)

    def native(self):
        """Returns the CUfunction behind the handle. The library owns it.

        Returns: int (function)
        """
        return _gpuorch.kernel_get_native(self)

    def set_max_dynamic_shared(self, bytes):
        """Allows launches of this kernel to use up to `bytes` of dynamic shared memory. The setting holds for all
        handles of the kernel. A launch whose static and dynamic shared memory together exceed 48 KiB needs this
        call first.

        Raises:
          InvalidArgument: a block can't have that much on this device
        """
        return _gpuorch.kernel_set_max_dynamic_shared(self, bytes)

    def occupancy(self, threads, dynamic_shared_bytes=0):
        """Returns how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a multiprocessor
        at once.

        Returns: int (blocks)

        Raises:
          InvalidArgument: `threads` is 0, or more than a block can have on this device
        """
        return _gpuorch.kernel_get_occupancy(self, threads, dynamic_shared_bytes)

    def suggest_shape(self, dynamic_shared_bytes=0, max_threads=0):
        """Suggests a launch shape: `threads` gets the block size with the best occupancy, at most `max_threads` (0:
        no bound), and `blocks` the fewest blocks that fill the device.

        Returns: (threads: int, blocks: int)

        Raises:
          InvalidArgument: no block fits with that much dynamic shared memory
        """
        return _gpuorch.kernel_suggest_shape(self, dynamic_shared_bytes, max_threads)

    def parameter(self, index):
        """Returns the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's parameters.
        The library knows both already, so the call doesn't block.

        Returns: (offset: int, bytes: int)

        Raises:
          InvalidArgument: the kernel has no such parameter; the message says how many it has
          NotSupported: the driver is older than CUDA 12.4 and can't tell
        """
        return _gpuorch.kernel_get_parameter(self, index)


class PipelineCalls:
    __slots__ = ()

    def start(self, source, sink):
        """Starts a run. The module keeps the memory of source and sink. Their descriptors must stay open until the
        run has ended.

        Parameters:
          source: options.Source
          sink: options.Sink

        Raises:
          InvalidState: another run of this pipeline is under way
          NotFound, IoError: a file can't be opened; the message names it
          LimitExceeded: the slots need more than `max_pinned_bytes`, or the system has no thread left
        """
        return _gpuorch.pipeline_start(self, source, sink)

    def cancel(self):
        """Ends the run early: no further chunk is begun, chunks under way are finished and their output is dropped,
        and the run's status is CANCELLED. Succeeds if no run is under way. Any thread may call it, also in a
        callback.
        """
        return _gpuorch.pipeline_cancel(self)

    def notify(self, cq, user_data=0):
        """Puts an entry into `cq` (completion.h) when the run has ended, at once if it has.

        Raises:
          InvalidState: the pipeline was never started
          WouldBlock: the queue is full; no entry will come
        """
        return _gpuorch.pipeline_notify(self, cq, user_data)

    def progress(self):
        """Says how far the run is, or how far the last run came. Any thread may call it, also in a callback. Blocks
        on nothing.

        Returns: records.PipelineProgress
        """
        return _gpuorch.pipeline_get_progress(self)

    def then(self, executor, callback):
        """Calls `callback` when the pipeline's run has ended: as Pipeline.notify.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)
        """
        return _gpuorch.pipeline_then(self, executor, callback)

    def share(self, device=0):
        """Reads a device's share of the work in the run that ended last. `device` is its place in
        options.PipelineOptions.devices; 0 for a pipeline of one device. Any thread may call it, also in a callback.
        Blocks on nothing.

        Returns: records.PipelineShare

        Raises:
          InvalidArgument: the pipeline hasn't so many devices
          InvalidState: no run has ended
        """
        return _gpuorch.pipeline_get_share(self, device)


class ExecutorCalls:
    __slots__ = ()

    def statistics(self):
        """Reads the counts since the executor was created. Blocks on nothing.

        Returns: records.ExecutorStatistics
        """
        return _gpuorch.executor_get_statistics(self)

    def host_call_finish(self, call, status=0, message=None):
        """Finishes a host call, from any thread, also before its function has returned. `status` is SUCCESS, or a
        failure from 50 to 89, with which the stream then fails.

        Raises:
          InvalidArgument: `status` is none of these
          NotFound: this executor has no host call with the number `call`, or the call has been finished
        """
        return _gpuorch.host_call_finish(self, call, status, message)

    def post(self, callback):
        """Calls `callback` as soon as a thread runs the executor and is free, with SUCCESS and the origin
        ORIGIN_EXECUTOR. Never calls it inside this function, unless the executor is destroyed meanwhile and has no
        threads (Executor.close). Callbacks begin in the order in which they were posted; several may run at the
        same time on different threads. Any thread may call this, also a callback, and a host node of a graph.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)

        Raises:
          WouldBlock: the executor has no room; the callback is never called
          ShutDown: the runtime is shutting down
        """
        return _gpuorch.executor_post(self, callback)

    def post_at(self, time_ns, callback):
        """Calls `callback` when it is `time_ns` of CLOCK_MONOTONIC (Executor.time), at once if that has passed.
        UINT64_MAX: never; such a callback keeps Executor.run inside until it is cancelled. A callback may be late,
        because no thread is free or a thread wakes up late, but never early. With EXECUTOR_CALLER, times come
        inside the functions that run the executor. Executor.close and Runtime.close don't wait for times: callbacks
        that still wait for one then get CANCELLED.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)

        Returns: int (ticket)

        Raises:
          WouldBlock, ShutDown: as in Executor.post
        """
        return _gpuorch.executor_post_at(self, time_ns, callback)

    def cancel(self, ticket):
        """Lets a callback that still waits for its time be called at once, with CANCELLED, as if it had been posted
        now.

        Raises:
          NotFound: no callback with this ticket waits for a time: its time has come, or it was cancelled
        """
        return _gpuorch.executor_cancel(self, ticket)

    def time(self):
        """The time now, by the clock of Executor.post_at: CLOCK_MONOTONIC, and in deterministic mode
        (options.RuntimeOptions.schedule_seed) the virtual clock.

        Returns: int (time_ns)
        """
        return _gpuorch.executor_get_time(self)


class TemplateCalls:
    __slots__ = ()

    def begin(self, stream):
        """Begins a recording: until Template.end, work that is put on `stream` is recorded and doesn't run. If the
        template has nodes already, the recording replaces them when it ends (see Graph.update).

        Raises:
          InvalidState: the template is being recorded already; or the stream is held (stream.h); or the template is
            a body that has nodes, or to which nothing can be added any more
          CaptureRefused: the stream is in capture, or is the legacy default stream
          InvalidArgument: template and stream are of different devices
        """
        return _gpuorch.template_begin(self, stream)

    def end(self):
        """Ends the recording. Parameters of an earlier recording are dropped.

        Raises:
          CaptureRefused: a call that names a stream of the recording, or adds a node, was refused: the message
            names the first such call, its object and why. Or a call of another library broke the recording. Or a
            stream of the recording doesn't join the first stream again. Or the recording of a body has a node that
            a body can't have or that can't be copied: the message names the node
          OutOfMemory: the first refused call was refused for lack of memory, or this call has none
          InvalidState: no recording was begun, or another thread began it
        """
        return _gpuorch.template_end(self)

    def cancel(self):
        """Discards the recording. The streams can be used as before. Any thread."""
        return _gpuorch.template_cancel(self)

    def last_node(self, stream):
        """During a recording: writes the node that was recorded last on `stream`; 0 if there is none, or if the
        stream waits for several nodes.

        Returns: int (node)

        Raises:
          InvalidState: the stream isn't in the template's recording
        """
        return _gpuorch.template_get_last_node(self, stream)

    def set_last_node(self, stream, node):
        """During a recording: later work on `stream` comes after `node` instead of the stream's last nodes. Use it
        to put nodes that the functions below add, a conditional for example, at their place in a recording.
        `stream` must be in the recording.
        """
        return _gpuorch.template_set_last_node(self, stream, node)

    def add_kernel(self, kernel, arguments, after=None, **launch):
        """A kernel: as Stream.launch_kernel.

        Keywords:
          flags: LAUNCH_*
          grid: blocks in each dimension; 0 counts as 1, except in grid[0]
          block: threads in each dimension; 0 counts as 1, except in block[0]
          cluster: blocks of a cluster; all 0: as the kernel's __cluster_dims__ says, else none
          priority: with LAUNCH_PRIORITY
          dynamic_shared_bytes: dynamic shared memory of a block
          label: the operation's label; None: the kernel's

        Returns: int (node)
        """
        return _gpuorch.template_add_kernel(self, after, kernel, launch, arguments)

    def add_copy(self, after=None, **copy):
        """A copy. Addresses may be of device memory or of pinned host memory.

        A copy of a batch. `destination` and `source` may be device addresses or addresses of the host.

        Keywords:
          flags: 0: there are none yet
          destination
          source
          bytes

        Returns: int (node)

        Raises:
          InvalidArgument: an address is of pageable memory; or as Stream.copy_batch
        """
        return _gpuorch.template_add_copy(self, after, copy)

    def add_fill(self, destination, value, after=None, element_bytes=4, count=None):
        """A fill: as Stream.fill.

        Returns: int (node)
        """
        return _gpuorch.template_add_fill(self, after, destination, value, element_bytes, count)

    def add_empty(self, after=None):
        """A node that does nothing, to join others.

        Returns: int (node)
        """
        return _gpuorch.template_add_empty(self, after)

    def add_event_record(self, event, after=None):
        """Each launch of the graph records `event` (event.h) when it reaches this node. Streams, the host and other
        graphs can wait for the recording, be notified of it and time it. A stream in the recording of a template
        adds such a node by Event.record of an event with EVENT_EXTERNAL. If the event is recorded while such a
        launch is held (stream.h), the recording made meanwhile stays the newest, also once the launch has been
        given to the GPU. If the graph is updated while a launch of it is held, and has no such node any more, the
        recording is complete when the launch is.

        Returns: int (node)

        Raises:
          NotSupported: the event was made with EVENT_INTERPROCESS, or is imported; or the template is a body
        """
        return _gpuorch.template_add_event_record(self, after, event)

    def add_event_wait(self, event, after=None):
        """Later nodes wait, on the GPU, for the recording of `event` that is the newest when the graph is launched.
        If the recording or the launch is held (stream.h), the whole launch waits for the recording. The launch
        fails as Stream.wait_event would: CAPTURE_REFUSED if the newest recording was made in a capture, or with the
        failure of a held recording. A stream in the recording of a template adds such a node by Stream.wait_event
        of an event with EVENT_EXTERNAL.

        Returns: int (node)

        Raises:
          NotSupported: as Template.add_event_record
        """
        return _gpuorch.template_add_event_wait(self, after, event)

    def add_host_call(self, function, after=None):
        """Calls `function` on the host. The launch of a graph with host nodes may block until the graph's earlier
        launch is done.

        Parameters:
          function: the address of a function of C's, alone or in a tuple with its `user`

        Returns: int (node)
        """
        return _gpuorch.template_add_host_call(self, after, function)

    def add_child(self, child, after=None, prefix=None):
        """Adds copies of all nodes of `child`, with conditional nodes and their bodies, after `after`. `node` gets
        an empty node behind all copies. Parameters of `child` become parameters of this template, named `prefix`
        followed by the name in the child. Parameters of several children with one name are set together. Nothing
        can be added to `child` any more. Graph.loop finds loops of a child by the child's handle, and those of its
        bodies by theirs.

        Returns: int (node)

        Raises:
          NotSupported: `child` has a node that can't be copied: an allocation or free of memory, or a node of
            another library that the driver doesn't describe in full (an unknown kind of node; a kernel whose
            argument sizes the driver can't report; a node behind a programmatic launch). Or this template is a
            body, and `child` has a node that a body can't have. The message names the node
          InvalidArgument: `child` is this template, or this template is a body of `child`
        """
        return _gpuorch.template_add_child(self, after, child, prefix)

    def add_parameter(self, name, node, what, index):
        """Names a field of a node as a parameter. `index` is 0 except for arguments. If a field already has the
        name, both are set together, and must have the same size.

        Raises:
          InvalidArgument: the node has no such field, the sizes differ, or `name` is empty or longer than 63 bytes
          NotSupported: the driver can't tell the size of the argument (before CUDA 12.4), or it can't be changed
            (the message says why)
          InvalidState: as for nodes
        """
        return _gpuorch.template_add_parameter(self, name, node, what, index)

    def parameter(self, name):
        """Returns a number by which Graph.set_parameter finds the parameter faster than by its name. Numbers stay
        the same when the template is recorded anew.

        Returns: (parameter: int, bytes: int)

        Raises:
          NotFound: there is no such parameter; the message lists the template's parameters
        """
        return _gpuorch.template_get_parameter(self, name)

    def find_node(self, label):
        """Finds a node by its label: that of options.Launch, or the kernel's.

        Returns: int (node)

        Raises:
          NotFound: no node has this label; INVALID_ARGUMENT: several have it
        """
        return _gpuorch.template_find_node(self, label)

    def native(self):
        """Returns the CUgraph behind the template. The library owns the CUgraph: read, copy or instantiate it, but
        don't change it. The CUgraph is valid until the template is recorded anew, cleared or destroyed. Nothing can
        be added to the template any more.

        Returns: int (native)

        Raises:
          InvalidState: the template is being recorded, or is a body
        """
        return _gpuorch.template_get_native(self)

    def clear(self):
        """Removes all nodes and parameters, so that the template can be built anew. Its graphs keep what they have
        until Graph.update.

        Raises:
          InvalidState: the template is being recorded
        """
        return _gpuorch.template_clear(self)

    def statistics(self):
        """Reads the size of a template, and the counters of its graphs.

        Returns: records.TemplateStatistics
        """
        return _gpuorch.template_get_statistics(self)

    def graph(self, **options):
        """Makes a graph of the template as it is now.

        Blocks on the GPU until the upload is done, with GRAPH_UPLOAD and GRAPH_DEVICE_LAUNCH.

        Keywords:
          flags: GRAPH_*
          label: a name for errors, logs and traces

        Returns: Graph

        Raises:
          InvalidState: the template or a body of it is being recorded; or the template is a body; or no node frees
            an allocation of the template (Template.add_allocation): the message names the node
          NotSupported: with GRAPH_DEVICE_LAUNCH, the template has a node that such a graph can't have (only
            kernels, copies of device and pinned memory, and fills): the message names the node. Or it has
            conditional nodes or memory nodes and a graph already, and a node that can't be copied
          InvalidArgument: an empty template with GRAPH_DEVICE_LAUNCH
        """
        return _gpuorch.graph_create(self, options)

    def launch(self, stream, settings=None):
        """Launches the template on `stream`, with the values of `settings` (as for Graph.set_all), and what was
        recorded for all other parameters. Each stream gets a graph of its own, made at the first launch there.
        Launches on different streams therefore run beside each other, and any number of them can be in flight.
        Beyond `max_instances` streams, streams share graphs, and launches of one graph run one after the other. The
        library updates all these graphs to the newest recording. A launch that is held meanwhile is of the newest
        recording too: see Graph.launch. Exceptions as Template.graph, Graph.set_all, Graph.launch. Doesn't wait for
        the GPU.

        Parameters:
          settings: a list of options.Setting
        """
        return _gpuorch.template_launch(self, stream, settings)

    def prepare(self, count, stream):
        """Makes graphs for Template.launch in advance, until there are `count`, and uploads them on `stream`."""
        return _gpuorch.template_prepare(self, count, stream)

    def add_if(self, after=None, otherwise=False, **condition):
        """Runs `body` if the condition isn't 0, else `otherwise`, if `otherwise` isn't None. The condition is
        evaluated when the graph gets to the node.

        Keywords:
          comparison: COMPARE_*
          word: address of the word, a multiple of 4, in device or pinned memory
          constant
          initial: with COMPARE_KERNEL: the condition when the graph starts
          max_iterations: of a while: after that many the loop ends; AUTO: 2^32 - 1; at most that

        Returns: (body: Template, otherwise: Template | None, node: int)

        Raises:
          NotSupported: the driver has no conditional nodes (before CUDA 12.3), or no else (before 12.8)
        """
        return _gpuorch.template_add_if(self, after, condition, otherwise)

    def add_while(self, after=None, **condition):
        """Runs `body` again and again as long as the condition isn't 0. The condition is evaluated when the graph
        gets to the node, and at the end of each run of the body. Graph.loop says how often it ran. A looping graph
        can't be stopped, and destroying it blocks until the loop ends: set condition.max_iterations. A graph that
        is launched on a resident stream (stream.h) is freed when the loop has ended, and destroying it doesn't
        block.

        Keywords:
          comparison: COMPARE_*
          word: address of the word, a multiple of 4, in device or pinned memory
          constant
          initial: with COMPARE_KERNEL: the condition when the graph starts
          max_iterations: of a while: after that many the loop ends; AUTO: 2^32 - 1; at most that

        Returns: (body: Template, node: int)
        """
        return _gpuorch.template_add_while(self, after, condition)

    def add_switch(self, count, after=None, **condition):
        """Runs the body whose number, from 0, equals the condition; no body if the condition is `count` or more.
        `bodies` gets `count` templates (1 to 1024).

        Keywords:
          comparison: COMPARE_*
          word: address of the word, a multiple of 4, in device or pinned memory
          constant
          initial: with COMPARE_KERNEL: the condition when the graph starts
          max_iterations: of a while: after that many the loop ends; AUTO: 2^32 - 1; at most that

        Returns: (bodies: list[Template], node: int)

        Raises:
          NotSupported: the driver has no switch nodes (before CUDA 12.8)
        """
        return _gpuorch.template_add_switch(self, after, condition, count)

    def bind_condition(self, kernel_node, index, conditional_in, conditional):
        """Gives a kernel node the condition of a node that was made with COMPARE_KERNEL: argument `index` becomes
        the handle that gpo::set_condition takes (gpuorch/device/graph.cuh; 8 bytes, of type gpo::condition). The
        kernel must come before the conditional node, or be in the body of the while that it decides. `kernel_in`
        and `conditional_in` are the templates that the nodes were added to: one template or bodies of it. Copies of
        both nodes, in children and in further graphs, have conditions of their own.

        Raises:
          InvalidArgument: a node isn't what it has to be, or the kernel has no such argument of 8 bytes; or the
            templates don't belong together
          InvalidState: as for nodes; or the recording that had the conditional node was discarded
        """
        return _gpuorch.template_bind_condition(self, kernel_node, index, conditional_in, conditional)

    def picture(self, format=_constants.PICTURE_SVG):
        """Draws the template: its nodes with their labels, operations and parameters, the order between them, and
        bodies inside of their conditional nodes. The picture also has the number of launches of the template's
        graphs, and the duration of the newest launch that a trace (trace.h) has timed, if there is one. Nodes have
        the numbers of the template or body that they were added to. A string (types.h). Values are shown as they
        were recorded.

        Returns: str

        Raises:
          InvalidState: the template is being recorded, or a body of it, or another body of the template that it
            belongs to
          InvalidArgument: an unknown format
        """
        return _gpuorch.template_get_picture(self, format)

    def add_allocation(self, bytes, after=None):
        """Device memory that exists while the graph runs, from this node to a node of Template.add_free. Its
        address is the same in every launch. Graphs that don't run at once may share the physical memory. Each
        allocation needs a free: without one no graph of the template can be made. A template with such nodes has
        one graph at a time, which all streams of Template.launch share; a new recording always rebuilds the graph.
        The template can't be a child. Kernels can't launch its graph.

        Allocations in stream order that other libraries make in a recording (cuMemAllocAsync) become such nodes,
        too. A recording may allocate memory and not free it: then the memory is still allocated when a launch is
        done. The next launch of the same graph begins by freeing the memory. After the last launch the program has
        to free the memory (cuMemFreeAsync).

        Returns: (address: int, node: int)

        Raises:
          NotSupported: the device has no memory pools, or the template is a body
        """
        return _gpuorch.template_add_allocation(self, after, bytes)

    def add_free(self, address, after=None):
        """Frees such memory. All nodes that use the memory have to be in `after`, or before nodes in `after`.

        Returns: int (node)

        Raises:
          InvalidArgument: no node of the template allocates memory at `address`, a node frees it already, or the
            new node would not come after the allocation
          NotSupported: the template is a body
        """
        return _gpuorch.template_add_free(self, after, address)


class GraphCalls:
    __slots__ = ()

    def set(self, name, value):
        """Sets a parameter for later launches: a number, or a value of as many bytes as the parameter has. Costs no
        call of the driver, except for the source or destination of a copy or fill in memory that isn't the
        library's: then the driver is asked what the memory is.

        Raises:
          NotFound: there is no such parameter
          InvalidArgument: another size; or a value that can't be: a grid or block beyond the device's limits, a
            length of 0, an address of another kind of memory or of none that the GPU can use. The message names the
            parameter
        """
        return _gpuorch.graph_set(self, name, value)

    def set_parameter(self, parameter, value):
        """Sets the parameter with this number of Template.parameter, otherwise as Graph.set."""
        return _gpuorch.graph_set_parameter(self, parameter, value)

    def set_all(self, settings=None):
        """Sets several parameters, all or none.

        Parameters:
          settings: a list of options.Setting
        """
        return _gpuorch.graph_set_all(self, settings)

    def get(self, name, bytes=None):
        """Returns the value that the next launch will use.

        Returns: bytes
        """
        return _gpuorch.graph_get(self, name, bytes)

    def launch(self, stream):
        """Puts all of the graph's work on a stream, as one operation. On a held stream (stream.h) the launch is
        held with the values of this moment. If the graph is updated before a held launch is given to the GPU, the
        launch is of the new recording, and of these values those that were set stay as in Graph.update.

        May block in the driver if the graph has host nodes or copies.

        Raises:
          CaptureRefused: the stream is in capture, where the driver launches no graphs; Template.add_child adds the
            nodes of a template to a recording
          InvalidArgument: graph and stream are of different devices; or the driver refuses a value that was set:
            then nothing was launched, the message names the node, and the graph can be launched with other values;
            or the memory at an address that was set has been freed: then too nothing was launched, and the message
            names the parameter. A held launch fails later, with the same status
          InvalidState: the graph frees memory that another graph allocates and that isn't allocated now
        """
        return _gpuorch.graph_launch(self, stream)

    def upload(self, stream):
        """Uploads the graph in stream order, so that the next launch needn't.

        Raises:
          CaptureRefused: the stream is in capture
        """
        return _gpuorch.graph_upload(self, stream)

    def update(self):
        """Brings the graph to the template's newest recording: in place if its shape is the same, else by
        instantiating it anew. Values that were set stay for parameters that mean the same (see Parameters), and
        others are dropped. If it fails, the graph can be launched as before, and no value is dropped. Graphs of
        Template.launch are updated by themselves.

        Returns: records.GraphUpdateReport
        """
        return _gpuorch.graph_update(self)

    def native(self):
        """Returns the CUgraphExec behind the graph, with all values that were set in it. The library owns the
        CUgraphExec, which is valid until the graph is updated or destroyed.

        Returns: int (native)
        """
        return _gpuorch.graph_get_native(self)

    def loop(self, conditional_in, node):
        """How often the body of a while ran in the newest launch that is done, and whether `max_iterations` ended
        it. `conditional_in` is the template that `node` was added to: the graph's, or a body; or a child, or a body
        of a child, however deep. With a condition that a kernel sets, `limited` is 1 also if the kernel ended the
        loop just then.

        Blocks for a copy from the device.

        Returns: (iterations: int, limited: bool)

        Raises:
          InvalidArgument: `node` is no while; or `conditional_in` wasn't in the graph's template when the graph was
            made or updated; or the template has the child more than once, and the call can't distinguish the copies
            (make a template for each)
        """
        return _gpuorch.graph_get_loop(self, conditional_in, node)

    def device_handle(self):
        """Returns the handle by which kernels launch the graph: `native` names the graph, and `status` is the
        address of a word that gets the last failure of such a launch. A kernel takes both as one argument of 16
        bytes, a gpo::device_graph (gpuorch/device/graph.cuh). Both are valid until the graph is rebuilt or
        destroyed. Set values and updates reach launches by kernels with the next Graph.upload or launch by the
        host.

        Returns: (native: int, status: int)

        Raises:
          InvalidState: the graph was made without GRAPH_DEVICE_LAUNCH
        """
        return _gpuorch.graph_get_device_handle(self)

    def device_status(self):
        """Reads that word: the last failure of a device launch by this handle since the last call; SUCCESS if there
        was none. LIMIT_EXCEEDED: one launch too many: one run of a graph may make 120 fire-and-forget and 255 tail
        launches, and this graph can be launched once at a time. INVALID_ARGUMENT: anything else

        Returns: int (device_status)
        """
        return _gpuorch.graph_get_device_status(self)


class BucketsCalls:
    __slots__ = ()

    def prepare(self, stream):
        """Records all buckets that aren't recorded yet, the largest first, as far as `max_bytes` and `max_buckets`
        allow: a bucket that doesn't fit is left out, and none is evicted for it. The warm-ups come after what is on
        `stream`. If it fails, the buckets that were recorded before stay. With BUCKETS_EAGER_FALLBACK a bucket
        whose recording fails is left out, and the call goes on to the next; buckets whose recording had failed
        before are tried again.

        Raises:
          CallbackFailed: see the function `record`; the message names the bucket, and what was refused in a
            recording
          CaptureRefused: a recording has failed (see Template.end); or `stream` is in capture
          OutOfMemory: for the copies of `restored`, with which nothing has run yet; or for a graph
          InvalidArgument: a range of `restored` is in pageable memory, or runs past the end of its allocation
          InvalidState: a bucket is being recorded, by another thread or around this call; or `stream` is held
        """
        return _gpuorch.buckets_prepare(self, stream)

    def launch(self, stream, size, settings=None):
        """Runs a request of `size` elements on `stream`: pads, and launches the graph of the smallest bucket that
        it fits into with `settings` (as Template.launch). If the bucket isn't recorded it is recorded now, and
        `settings` are read after that. If `max_bytes` or `max_buckets` are exceeded then, the buckets that were not
        used for the longest time are evicted: their templates are destroyed, and their launches that were accepted
        still run.

        Work that `record` or `pad` put on the stream before a failure stays. Memory of `restored` is as before the
        warm-up after any failure, unless the message says that the memory couldn't be restored: if the device is
        lost, or `record` has made the library's stream fail. Doesn't wait for the GPU.

        Parameters:
          settings: a list of options.Setting

        Returns: int (shape)

        Raises:
          NotFound: the bucket has no parameter of that name; the message names both
          InvalidArgument: `size` is 0; or as Template.launch
          CallbackFailed, CaptureRefused: as Buckets.prepare: the bucket isn't recorded, and the next request for it
            tries again
          OutOfMemory, InvalidArgument: as Buckets.prepare, too
        """
        return _gpuorch.buckets_launch(self, stream, size, settings)

    def statistics(self):
        """Reads the counters of the buckets and their requests.

        Returns: records.BucketsStatistics
        """
        return _gpuorch.buckets_get_statistics(self)


class QueueCalls:
    __slots__ = ()

    def device_handle(self):
        """Returns the value that kernels take as an argument: a gpo::range (64 bytes), gpo::ring (96 bytes) or
        gpo::host_ring (192 bytes) of device/queue.cuh.

        Returns: bytes
        """
        return _gpuorch.queue_get_device_handle(self)

    def set_costs(self, stream, costs=None):
        """Range: later work on the stream gets the numbers with the greatest costs first. Uneven work takes the
        least time if the longest tasks begin first. `costs` has `count` elements, as many as the range has numbers,
        at most 2^32. Element i is the expected cost of number i, in any unit. Equal costs keep the order of their
        numbers. `costs` None: the numbers come in their own order again, and `count` is ignored.

        The new order is copied as work of `stream`. No other work that uses the range may run at that time. The
        first call that gives costs changes the device handle: read it again.

        Raises:
          InvalidArgument: `count` isn't the range's; a cost is NaN (the message says which); the stream is of
            another device
          NotSupported: the queue is no range, or has more than 2^32 numbers
          CaptureRefused: the stream is in capture
          WouldBlock: the stream holds as many operations as it may
        """
        return _gpuorch.queue_set_costs(self, stream, costs)

    def reset(self, stream):
        """Makes a ring empty and open, or has a range begin anew although workers of the previous launch left it
        early; as work of the stream. No other work that uses the queue may run at that time. May be recorded.

        Raises:
          InvalidArgument: the stream is of another device
          WouldBlock: the stream holds as many operations as it may; a part of the work may have been put on it
        """
        return _gpuorch.queue_reset(self, stream)

    def close_ring(self):
        """Closes a ring or host ring: see "The end of a ring" and "Host rings". Takes effect at once, beside
        running kernels. Has no effect on a ring that is closed or aborted.

        Blocks on the GPU for some microseconds, for a ring; not on work of other streams.

        Raises:
          NotSupported: the queue is a range, which ends by itself
        """
        return _gpuorch.queue_close(self)

    def abort(self):
        """Aborts a ring or host ring, also a closed one. Otherwise as Queue.close_ring, but blocks on nothing."""
        return _gpuorch.queue_abort(self)

    def info(self):
        """Describes a queue. The numbers are those of one moment only if no kernel uses the queue. Blocks on the
        GPU for some microseconds, while the numbers are copied; not on work of other streams.

        Returns: records.QueueInfo
        """
        return _gpuorch.queue_get_info(self)

    def push(self, stream, tasks, count=None, priority=0):
        """Pushes tasks into a ring, as work of the stream, in their order. Tasks that find no room when the GPU
        executes the push, or find the ring closed or aborted, are left out and counted (records.QueueInfo.refused):
        the last of the tasks. Kernels that pop may run before, behind or beside the push. `tasks` are count *
        task_size bytes, which may be reused when the call returns. `priority` is below the ring's priorities.

        Raises:
          InvalidArgument: there is no such priority; the stream is of another device
          NotSupported: the queue is no ring
          OutOfMemory: there is no pinned memory for a copy of the tasks
          CaptureRefused: the stream is in capture
          WouldBlock: the stream holds as many operations as it may
        """
        return _gpuorch.queue_push(self, stream, tasks, count, priority)

    def set_tenant(self, tenant, **options):
        """Sets up a tenant. Before, each tenant may take all places and has no completion queue. Answers with bytes
        (answer_size) wait for Queue.take even with a completion queue. An answer without bytes is taken with its
        entry.

        Keywords:
          limit: most places of the ring that the tenant may take at a time; AUTO: all
          completions: gets an entry for each answer: the task's user_data, the answer's status, origin
            ORIGIN_QUEUE. None: none

        Raises:
          InvalidArgument: there is no such tenant, or `limit` is above the ring's capacity
          InvalidHandle: `completions` is of another runtime
          InvalidState: tasks of the tenant are not answered, or answers not taken
          NotSupported: the queue is no host ring, or one without answers
          LimitExceeded: the system has no thread for the completion queues of a host ring
        """
        return _gpuorch.queue_set_tenant(self, tenant, options)

    def post(self, tasks, tenant=0, count=None, user_data=0):
        """Posts tasks to the kernel, from any thread. `tasks` are count * task_size bytes, which may be reused when
        the call returns. Task i comes back with user_data + i.

        Blocks on nothing. Several threads may post at once: the tasks of a call stay in their order.

        Returns: int (posted)

        Raises:
          WouldBlock: no task was posted: there is no room
          InvalidArgument: there is no such tenant
          InvalidState: the queue is closed or aborted
          NotSupported: the queue is no host ring
          StaleHandle: the tenant's completion queue was destroyed: the message says so
        """
        return _gpuorch.queue_post(self, tenant, tasks, count, user_data)

    def take(self, tenant=0, capacity=256):
        """Never blocks.

        Returns: (entries: list[records.Answer], answers: bytes)

        Raises:
          InvalidArgument: there is no such tenant
          NotSupported: the queue is no host ring
        """
        return _gpuorch.queue_take(self, tenant, capacity)


class SchedulerCalls:
    __slots__ = ()

    def start(self):
        """Begins a run. Figures (records.SchedulerInfo and the others below) count on from earlier runs.

        Any other status: the scheduler's stream has failed with it

        Blocks on the GPU for some microseconds, while the queue's state is read.

        Raises:
          InvalidState: a run goes on; or the queue is a ring that is closed with nothing in it, or was aborted: the
            message says which. Over a host ring that is closed a run begins, and ends at once
        """
        return _gpuorch.scheduler_start(self)

    def info(self):
        """Describes a scheduler. During a run the numbers are not from a single moment. Blocks on the GPU for some
        microseconds, while the numbers are copied; not on work of other streams. The functions below block alike.

        Returns: records.SchedulerInfo
        """
        return _gpuorch.scheduler_get_info(self)

    def handler(self, handler):
        """Returns what was done by the handler of a number.

        Returns: records.HandlerInfo

        Raises:
          InvalidArgument: there is no such handler
        """
        return _gpuorch.scheduler_get_handler(self, handler)

    def blocks(self):
        """Returns the figures of the blocks in their order.

        Returns: list[records.SchedulerBlock]
        """
        return _gpuorch.scheduler_get_blocks(self)

    def samples(self):
        """Returns the newest samples of the queue's depth, oldest first; at most 1024 are stored.

        Returns: list[records.DepthSample]
        """
        return _gpuorch.scheduler_get_samples(self)

    def errors(self):
        """Returns the first errors since the scheduler was created in the order in which they were found.

        Returns: list[records.TaskError]
        """
        return _gpuorch.scheduler_get_errors(self)


class PeersCalls:
    __slots__ = ()

    def split(self, ranks, **options):
        """Creates a group of some ranks of another: rank i of the new group is rank `ranks[i]` of `peers`. The two
        groups don't depend on each other. Exceptions as Runtime.peers. For a group of several processes: the
        processes whose ranks are in the list call the function, with the same list. The call blocks until all of
        them have called, and has the statuses of Device.join too. A broken group can be split as well, so that the
        remaining processes go on without the lost one.

        Keywords:
          flags: 0: there are none yet
          engine: ENGINE_* for all collectives of the group; AUTO: one for each collective
          label: a name for errors, logs and traces

        Returns: Peers

        Raises:
          InvalidArgument: the list has a number that is no rank, or a rank twice; or this process has no rank in it
        """
        return _gpuorch.peers_split(self, ranks, options)

    def info(self):
        """Describes a group.

        Returns: records.PeersInfo
        """
        return _gpuorch.peers_get_info(self)

    def link(self, from_, to):
        """Says how rank `from` reaches the memory of rank `to`.

        Returns: records.PeerProperties

        Raises:
          InvalidArgument: there is no such rank
          NotSupported: the rank is of another process
        """
        return _gpuorch.peers_get_link(self, from_, to)

    def submit(self, parts, **collective):
        """Puts a collective on the streams of its ranks: part r, of `count` in all, is that of rank r. In a group
        of several processes `count` is 1: the part of this process.

        Addresses are multiples of the element's size. `send` and `receive` of a rank may be the same (in place) for
        ALL_REDUCE, REDUCE and BROADCAST; for ALL_GATHER `send` may be the rank's own piece of `receive`, and for
        REDUCE_SCATTER `receive` the rank's own piece of `send`. Otherwise they must not overlap, nor the buffers of
        two ranks.

        A failure has no effect, except where the driver or NCCL refuses the collective when some of its work is on
        its way already: then all of its streams have failed.

        Parameters:
          parts: a list of options.RankPart

        Keywords:
          kind: COLLECTIVE_*
          type: TYPE_*; 0 for a barrier
          reduction: REDUCE_*; 0 for those that reduce nothing
          root: REDUCE, BROADCAST: a rank; 0 for others
          flags: 0: there are none yet
          count: elements: see above. 0: nothing is sent, but streams wait for each other all the same
          label: for failures and traces, and to tell equal collectives of a group of several processes apart (see
            above); may be None

        Raises:
          InvalidArgument: a number, address or count is wrong; the message names it, and its rank
          InvalidHandle: a stream is of another runtime
          WouldBlock: a stream already holds the most operations that it can hold
          PeerLost, Cancelled: the group is broken, or was aborted
          CaptureRefused: some of the streams are being captured and others are not
          InvalidState: NCCL does the first collective of this kind and size in a group of one process, and a device
            has resident work (stream.h), which the driver would wait for while NCCL loads kernels
          NotSupported: the collective would have to be held on a stream that can't be held (a wrapped one)
        """
        return _gpuorch.peers_submit(self, collective, parts)

    def allocate(self, bytes, **options):
        """Allocates `bytes` (1 to 2^48) of memory, zeroed, on each device of the group. Any stream of these devices
        may use it when the call returns. The memory doesn't need the group any more: it stays when the group is
        destroyed. In a group of several processes all of them make the call, which returns when the memory of all
        ranks is zeroed. A failure there is returned in all processes, and names the rank.

        Blocks on the GPUs while the memory is zeroed, not on work of other streams; and on the other processes. By
        NVSHMEM one call at a time in a process. Serialises the devices (runtime.h).

        Keywords:
          flags: SYMMETRIC_REMOTE, or 0
          alignment: of the memory's address on each device: a power of two, 256 to 2097152; AUTO: 256
          label: a name for errors, logs and traces
          engine: ENGINE_DIRECT, or for a group of several processes ENGINE_NVSHMEM; AUTO: direct

        Returns: Symmetric

        Raises:
          InvalidArgument: `bytes`, the alignment or another option is out of range, or not the same in all
            processes; or two ranks have labelled the memory, and not alike: they allocate in another order, which
            the message says
          NotSupported: two devices of the group can't reach each other's memory; the message names their ranks. Or
            the processes are on several hosts, or don't see each other's devices or process numbers; or the group
            has more than 32 ranks. NVSHMEM can't be used, or has begun with other processes, or the group is of one
            process: the message says what to do
          OutOfMemory: a device has too little memory, or NVSHMEM's heap has; the message names its rank, and
            nothing is allocated
          PeerLost, Cancelled: the group is broken, or was aborted; a process has died, or hasn't come within the
            group's timeout
          InvalidState: NVSHMEM allocates, and a process has resident work on its device (stream.h); the message
            names the rank
          ShutDown: the runtime shuts down while other processes are waited for
        """
        return _gpuorch.symmetric_allocate(self, bytes, options)

    def launch(self, launches):
        """Puts one kernel on a stream of each rank, on all of them or on none: element r of `launches`, of `count`
        in all, is rank r's. In a group of several processes `count` is 1: the launch of this process's rank alone.
        The library doesn't hold or begin it together with launches of other processes: kernels that wait for other
        ranks need all processes to launch theirs, within the bounds of their waits. The kernels may wait for each
        other, and may differ.

        No kernel begins before all of the streams have done what was put on them before: so the kernels begin at
        about the same time, and two launches on the same streams never overlap, on any device. All blocks of each
        kernel are on the device at the same time, once the device's other work has left room for them. If one of
        the streams is held (stream.h), the launch is held on all of them, as a collective is (peers.h). Streams
        that are being recorded into a graph template take the launch as other work; all of them must be in the
        recording.

        A failure has no effect, with one exception: if the driver refuses a kernel when a part of the launch is
        submitted already, all streams of the launch have failed.

        Parameters:
          launches: a list of options.RankLaunch

        Raises:
          InvalidArgument: an element is wrong; the message names its rank
          InvalidHandle: a stream or a kernel is of another runtime
          LimitExceeded: not all blocks of a kernel fit on its device at the same time; the message names the rank,
            how many blocks fit, and how many were asked for
          NotSupported: a device has no cooperative launches, or a stream is resident; or a kernel launches graphs
            (module.h, Stream.launch_kernel); or the launch would have to be held on a wrapped stream; or neither
            the driver nor `sizes` gives the sizes of the parameters
          WouldBlock, CaptureRefused: as Peers.submit
        """
        return _gpuorch.peers_launch(self, launches)

    def abort(self):
        """Breaks a group of several processes. Submitted collectives fail with CANCELLED here, and within a tenth
        of a second with PEER_LOST in the other processes.

        Raises:
          NotSupported: the group is of one process: Stream.cancel_held cancels its held collectives
        """
        return _gpuorch.peers_abort(self)


class SymmetricCalls:
    __slots__ = ()

    def address(self, rank):
        """Returns the address of a rank's memory, for copies, fills and kernels' arguments. Memory of one rank can
        be used on the streams of all. The address is valid in this process. Memory of another process's rank has
        another address there, and the requested alignment holds for the address in the rank's own process.

        Returns: int (address)

        Raises:
          InvalidArgument: there is no such rank
          NotSupported: with NVSHMEM, this process has no address of the rank's memory
        """
        return _gpuorch.symmetric_get_address(self, rank)

    def device_handle(self, rank):
        """Returns the value that kernels of this rank take as an argument, a gpo::symmetric of device/peer.cuh. The
        value stays the same for as long as the memory lives, so it can be recorded in templates.

        Returns: bytes

        Raises:
          InvalidArgument: there is no such rank, or the rank is another process's
          NotSupported: with NVSHMEM, the rank lacks an address of some rank's memory, and SYMMETRIC_REMOTE wasn't
            set
        """
        return _gpuorch.symmetric_get_device_handle(self, rank)

    def reset(self, rank, stream):
        """Puts a rank's barriers back to their begin, as work of the stream. The memory's bytes stay as they are.
        Before kernels use barriers again, all ranks have to be reset, while no kernel uses the memory. May be
        recorded.

        Raises:
          InvalidArgument: there is no such rank, or the rank is another process's; the stream is of another device
            than the rank
          InvalidHandle: the stream is of another runtime
          WouldBlock: the stream holds as many operations as it may
        """
        return _gpuorch.symmetric_reset(self, rank, stream)

    def info(self):
        """Describes the memory.

        Returns: records.SymmetricInfo
        """
        return _gpuorch.symmetric_get_info(self)


class AdmissionCalls:
    __slots__ = ()

    def enter_then(self, executor, callback, **request):
        """Like Admission.enter, but calls `callback` on `executor` (executor.h) in place of an entry. If the
        executor is destroyed while the request waits, the callback gets CANCELLED and the request has left the
        line.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)

        Keywords:
          priority: 0 goes first; below the admission's number of priorities
          count: places; AUTO: 1
          bytes: 0: none
          flow: any number
          deadline_ns: CLOCK_MONOTONIC; 0 and UINT64_MAX: none. A request that still waits then ends with TIMEOUT,
            soon after that time

        Returns: int (ticket)

        Raises:
          WouldBlock: the line or the executor has no room; the callback is never called
        """
        return _gpuorch.admission_enter_then(self, request, executor, callback)

    def cancel(self, ticket):
        """Takes a waiting request out of the line. Its entry has CANCELLED.

        Raises:
          InvalidState: the request was admitted: give its place back
          NotFound: no request with this ticket waits or holds a place
        """
        return _gpuorch.admission_cancel(self, ticket)

    def leave(self, ticket):
        """Gives a place back at once. Waiting requests that fit now are admitted before the call returns.

        Raises:
          InvalidState: the request still waits; or its place is being given back behind a stream
          NotFound: no request with this ticket waits or holds a place
        """
        return _gpuorch.admission_leave(self, ticket)

    def leave_after(self, ticket, stream):
        """Gives a place back in stream order: when all work that is on the stream now has ended, also by a failure.
        The stream must be of the admission's runtime. A failed call has no effect: the place is still held.

        Exceptions as Admission.leave, and:

        Raises:
          CaptureRefused: the stream is in capture
          WouldBlock: the stream holds as many operations as it may
        """
        return _gpuorch.admission_leave_after(self, ticket, stream)

    def set_budget(self, count, bytes):
        """Changes the budgets: `count` places and `bytes` bytes, UINT64_MAX: unlimited. A raised budget admits
        waiting requests before the call returns. A lowered budget takes effect as places come back. Waiting
        requests that ask for more than a lowered budget end with LIMIT_EXCEEDED: with a `count` of 0, all of them.
        """
        return _gpuorch.admission_set_budget(self, count, bytes)

    def set_flow(self, flow, weight):
        """Sets the weight of a flow, 1 to 2^16, from its next turn on. Flows have the weight 1 at first.

        Raises:
          InvalidArgument: `weight` is out of range
          LimitExceeded: 65536 flows have other weights than 1
        """
        return _gpuorch.admission_set_flow(self, flow, weight)

    def info(self):
        """Describes an admission at one moment.

        Returns: records.AdmissionInfo
        """
        return _gpuorch.admission_get_info(self)


class BatcherCalls:
    __slots__ = ()

    def add_key(self, **options):
        """Adds a key, and writes its number. Keys stay as long as the batcher. At most 256. `work` may be called
        until the last batch has ended: also after Batcher.close, but not after Runtime.close. If this call fails,
        `release` isn't called.

        Buckets (buckets.h) get the batch's size, requests of rows or elements of ragged batches, and these
        settings: `input` and `output` (device addresses, 8 bytes), which their templates must have as parameters if
        the key has such bytes; and, if their templates have them, `offsets`, `made` (device addresses), `count` and
        `elements` (uint64_t: members of the batch and their elements). Callbacks that run a batch eagerly get all
        of them. The buckets must stay until the batcher is destroyed: without them, batches fail with STALE_HANDLE.
        Keys may share buckets. The batcher's streams don't wait for the warm-ups of Buckets.prepare: wait for its
        stream before the first request, if buckets share memory. Between a batch's last element and the shape,
        input and output are what earlier batches have left there. `pad` of the buckets may write them. No request
        gets them.

        With `max_delay_ns` AUTO a lane that has nothing to do takes what is there. While a batch runs, requests
        wait for others until its measured time is nearly over, less the time that gathering and copying of the next
        takes: waiting longer would leave the GPU idle, and waiting less makes smaller batches.

        OUT_OF_MEMORY is the status of requests if there is no memory for a batch's buffers.

        Keywords:
          flags: BATCHER_PRESERVE_ORDER, BATCHER_VARIABLE_OUTPUT, BATCHER_KEEP_OUTPUT
          layout: BATCH_*
          max_batch: most members of a batch, up to 65536; AUTO: rows with buckets: the largest shape, else 64. 1:
            requests run alone, spread over the lanes
          input_bytes: of a row or an element, in and out; not both are 0
          output_bytes
          max_elements: ragged: most elements of a batch, and of a request; up to 2^32 - 1; AUTO: with buckets the
            largest shape. Rows: 0
          max_delay_ns: how long a request may wait for others; AUTO: learnt, see below; 1: never
          buckets: the work: one for each device, in the order of the devices. None: `work`
          work: a function (stream: Stream, batch: records.Batch). It returns None or True: success; False or a
            status: a failure. None: `buckets`
          label: names the key in failures and figures; None: "key 0", by its number

        Returns: int (key)

        Raises:
          InvalidArgument: an option is out of range; neither or both of `buckets` and `work`
          InvalidHandle: buckets are of another device
          LimitExceeded: the batcher has 256 keys, or a batch would have more than 2^40 bytes
        """
        return _gpuorch.batcher_add_key(self, options)

    def submit_then(self, executor, callback, **request):
        """Like Batcher.submit, but calls `callback` on `executor` (executor.h) in place of an entry. If the
        executor is destroyed, the callback gets CANCELLED at once. A request whose batch is not formed then leaves
        the line. A batch that was formed may still read the input and write the output, until Batcher.info says
        that none runs.

        Parameters:
          callback: a function (completion: records.Completion, error: Error | None)

        Keywords:
          key
          flow: any number: a tenant, a connection
          elements: ragged: 1 up to the key's max_elements. Rows: 0 or 1
          input: host memory, or
          input_address: device memory: as many bytes as the key and `elements` say; one of the two, unless the key
            has no bytes in
          output: host memory, or
          output_address: device memory, likewise
          output_made: None, or gets the number of bytes of output before the entry comes. Device memory is always
            written as far as the room reaches
          deadline_ns: CLOCK_MONOTONIC; 0 and UINT64_MAX: none

        Returns: (ticket: int, wait_ns: int)

        Raises:
          WouldBlock: as many requests wait as may, or the executor is full; the callback is never called
        """
        return _gpuorch.batcher_submit_then(self, request, executor, callback)

    def cancel(self, ticket):
        """Takes a waiting request out of the line. Its entry has CANCELLED.

        Raises:
          InvalidState: its batch was formed
          NotFound: no request with this ticket waits or runs
        """
        return _gpuorch.batcher_cancel(self, ticket)

    def set_flow(self, flow, weight):
        """Sets the weight of a flow, 1 to 2^16, in all keys, from its next turn on. Flows have the weight 1 at
        first.

        Raises:
          InvalidArgument: `weight` is out of range
          LimitExceeded: 65536 flows have other weights than 1
        """
        return _gpuorch.batcher_set_flow(self, flow, weight)

    def info(self):
        """Describes a batcher, all of its keys together.

        Returns: records.BatcherInfo
        """
        return _gpuorch.batcher_get_info(self)

    def key_info(self, key):
        """Describes a key.

        Returns: records.BatcherInfo

        Raises:
          NotFound: there is no such key
        """
        return _gpuorch.batcher_get_key_info(self, key)

    def flow_info(self, flow):
        """Describes a flow. The figures of 4096 flows are kept: those that were seen least recently are forgotten.

        Returns: records.BatcherFlowInfo

        Raises:
          NotFound: no figures of such a flow are kept, or there was no memory for them
        """
        return _gpuorch.batcher_get_flow_info(self, flow)


def status_name(status):
    """The name of a status ("OUT_OF_MEMORY"), or "UNKNOWN" for a number that is no status. Static text, never None.

    Returns: str
    """
    return _gpuorch.status_name(status)


def status_text(status):
    """A sentence that says what a status means. Static text, never None.

    Returns: str
    """
    return _gpuorch.status_text(status)


def last_error():
    """Returns the last failure of a call that the calling thread made, or None. A call that succeeds leaves the
    last failure as it is. A call that returns an answer (1 to 9) does too, unless the function's comment says
    otherwise (Device.wait).

    Returns: Error | None
    """
    return _gpuorch.last_error()


def version():
    """The version of the loaded library: the VERSION of its own headers.

    Returns: int (number)
    """
    return _gpuorch.version()


def last_compile_log():
    """Returns the compiler's text, with warnings, from the last Device.module_compile or Device.module_load of the
    calling thread; "" if the compiler had nothing to say.

    Returns: str
    """
    return _gpuorch.last_compile_log()


def advise_trace(path):
    """Reads a trace file of the library (trace.h), gzipped or not, and writes a text. For each GPU the text shows
    the use of its time (kernels, copies, launches, waits of the host, the host's other work), its longest gaps, and
    possible improvements, with the expected gain. Its round is a turn of the repeated sequence of operations, or
    the whole trace if no sequence repeats.

    If a trace ends early, because its process was killed, the existing part is read, and the text says so.

    Blocks on the file.

    Returns: (workload: records.Workload, buffer: str)

    Raises:
      NotFound: the file doesn't exist
      IoError: the file can't be read
      InvalidArgument: the file is no trace of this library, or was damaged; the message names the line
      LimitExceeded: the trace has more than 2^22 operations
    """
    return _gpuorch.advise_trace(path)


def peers_make_id():
    """PEERS_ID_BYTES bytes, which one process passes to the others by any means of its own. They are no secret of
    the others' user: files that are made by the id are readable to that user alone.

    Returns: bytes
    """
    return _gpuorch.peers_make_id()
