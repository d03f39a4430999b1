"""The classes of gpuorch's objects. Each is made of the plain methods of its handle (_calls), of those that are written by
hand (_array, _kernel, _waits), and of Handle: close(), `with`, closed, label, error()."""
from . import _array, _calls, _gpuorch, _kernel, _tasks, _waits
from ._gpuorch import Handle

_set_exposed, _set_recording = _gpuorch.set_exposed, _gpuorch.set_recording
_wait, _forget_done = _gpuorch.wait, _gpuorch.forget_done


class Runtime(_calls.RuntimeCalls, Handle):
    """The root of all objects: owns drivers, threads and statistics. Devices are opened from a runtime, and everything
    else is made from these.

        with gpuorch.Runtime(device="any") as runtime, runtime.device_open() as device:
            ...

    device           "any", "cuda", "soft", "cuda:N" or "soft:N"; None: what GPUORCH_DEVICE says. "any" takes the software
                     GPU only where there is no NVIDIA GPU
    flags            RUNTIME_QUIET_FALLBACK
    log, log_level   what gets log lines, and LOG_ERROR, LOG_WARNING, LOG_INFO or LOG_DEBUG. A function of Python's is called
                     with (level, text), inside the call that the line arises in; lines of the library's own threads go to
                     stderr. The address of a function of C's gets all. GPUORCH_LOG=warning writes to stderr
    completion_mode  COMPLETION_BALANCED or COMPLETION_LATENCY
    schedule_seed    not 0: deterministic mode, for tests on the software GPU
    cache            the folder for compiled kernels; "": none
    label            the label that metrics of this runtime carry

    close(), `with` and the end of the program wait for all work, a program's end at most a second. A collected
    runtime shuts down on a thread of its own, after all objects that were made from the runtime.

    InvalidArgument: `device` is none of the known strings. InvalidState: a deterministic runtime has to be the only one."""
    __slots__ = ()

    def __new__(cls, **options):
        made = _gpuorch.runtime_create(options or None)
        if cls is not Runtime:
            made.__class__ = cls
        return made

    def shutdown(self, timeout=None):
        """Ends the runtime, as close() does. `timeout`: seconds; None: no limit.

        1. Calls of other threads that use memory are waited for. New calls with memory raise ValueError.
        2. No new work is accepted (ShutDown), and held work is cancelled.
        3. Running work is waited for. Every pending completion is delivered, every pending callback is called.
        4. Objects that were left open are closed; queues can still be drained.

        Timeout: something still runs, and the runtime stays open: call again to go on waiting. From step 2 on the runtime
        accepts no work.
        WouldDeadlock: called inside a callback of this runtime. BufferError: buffers or arrays of others use memory of the
        runtime."""
        _gpuorch.shut_down(self, timeout)


class Device(_array.DeviceArrays, _array.DeviceStreams, _kernel.DeviceModules, _tasks.DeviceSchedulers, _waits.DeviceWaits,
             _calls.DeviceCalls, Handle):
    """A GPU: runtime.device_open(ordinal=0). Streams, memory, modules and pipelines are made from it."""
    __slots__ = ()

    def native(self):
        """The CUcontext and the CUdevice, as ints. Both belong to the library. From now on a device that is collected
        stays open until its runtime is closed."""
        _set_exposed(self)
        return super().native()


class Stream(_array.StreamForOthers, _kernel.StreamLaunches, _waits.StreamWaits, _calls.StreamCalls, Handle):
    """A queue of GPU work: device.stream_create(). Operations run in the order of submission; streams run beside each other.
    A failure stays on its stream: error() has it. Memory of the stream's work is kept until the work is done."""
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for all work that is on the stream now. Timeout: the seconds have passed."""
        _wait(self, timeout)
        _forget_done(self)

    def native(self):
        """The CUstream, as an int. Belongs to the library. From now on a stream that is collected stays open until its
        runtime is closed."""
        _set_exposed(self)
        return super().native()

    @property
    def __cuda_stream__(self):
        """The protocol by which other libraries take streams. On the software GPU there is no such attribute."""
        found = super().__cuda_stream__
        _set_exposed(self)
        return found


class StreamPool(_calls.StreamPoolCalls, Handle):
    """A number of streams that users share: device.stream_pool_create(). A stream of pool.acquire() goes back to the pool
    when it is closed or collected."""
    __slots__ = ()

    def release(self, stream):
        """Gives a stream of this pool back: stream.close(). Its work goes on.

        InvalidArgument: the stream is of another pool, or of none."""
        if isinstance(stream, Stream) and stream.parent is self:
            stream.close()
        else:
            _gpuorch.stream_pool_release(self, stream)  # which says what is wrong


class Event(_waits.EventWaits, _calls.EventCalls, Handle):
    """A point in a stream's work: device.event_create()."""
    __slots__ = ()

    def native(self):
        """The CUevent, as an int. Belongs to the library. From now on an event that is collected stays open until its
        runtime is closed."""
        _set_exposed(self)
        return super().native()

    def export(self):
        """The bytes that another process imports. From now on an event that is collected stays open until
        its runtime is closed."""
        _set_exposed(self)
        return super().export()


class Timeline(_waits.TimelineWaits, _calls.TimelineCalls, Handle):
    """A counter that only grows: runtime.timeline_create(). Streams and the host wait for its values and signal them."""
    __slots__ = ()


class CompletionQueue(_waits.CompletionQueueWaits, _calls.CompletionQueueCalls, Handle):
    """A queue that gets an entry when work is done: runtime.cq_create(). Can be drained after its runtime's end."""
    __slots__ = ()


class Arena(_array.ArenaArrays, _calls.ArenaCalls, Handle):
    """Pinned host memory, allocated without the driver: device.arena_create()."""
    __slots__ = ()


class Pool(_array.PoolArrays, _calls.PoolCalls, Handle):
    """Device memory in stream order: device.pool_create()."""
    __slots__ = ()


class Module(_kernel.ModuleKernels, _calls.ModuleCalls, Handle):
    """Compiled kernels: device.module_compile(source), device.module_load(image)."""
    __slots__ = ()

    def symbol(self, name):
        _set_exposed(self)
        return super().symbol(name)
    symbol.__doc__ = _calls.ModuleCalls.symbol.__doc__


class Kernel(_kernel.KernelPlans, _calls.KernelCalls, Handle):
    """A kernel of a module: module.kernel("saxpy", "u32 f32 ptr ptr"). kernel[grid, block, stream] launches it."""
    __slots__ = ()

    def native(self):
        """The CUfunction, as an int. Belongs to the library. From now on a kernel that is collected stays open until its
        runtime is closed."""
        _set_exposed(self)
        return super().native()


class Pipeline(_waits.PipelineWaits, _calls.PipelineCalls, Handle):
    """Data from a source in chunks through kernels to a sink: device.pipeline_create(stages=[...]). The memory of a run is
    kept until the run has ended, also if the pipeline is closed or dropped before."""
    __slots__ = ()


class Executor(_waits.ExecutorWaits, _calls.ExecutorCalls, Handle):
    """Calls functions when work is done: runtime.executor_create(). With EXECUTOR_CALLER the program's own threads run it,
    and it calls functions of Python's; otherwise its own threads call functions of C's."""
    __slots__ = ()


class Template(_array.TemplateArrays, _calls.TemplateCalls, Handle):
    """A graph in the making, recorded from streams or built node by node: device.template()."""
    __slots__ = ()

    def begin(self, stream):
        super().begin(stream)
        _set_recording(self, True)
    begin.__doc__ = _calls.TemplateCalls.begin.__doc__

    def end(self):
        try:
            super().end()
        finally:
            _set_recording(self, False)
    end.__doc__ = _calls.TemplateCalls.end.__doc__

    def cancel(self):
        super().cancel()
        _set_recording(self, False)
    cancel.__doc__ = _calls.TemplateCalls.cancel.__doc__

    def native(self):
        """The CUgraph, as an int. Belongs to the library. From now on a template that is collected stays open until its
        runtime is closed."""
        _set_exposed(self)
        return super().native()


class Graph(_calls.GraphCalls, Handle):
    """An executable copy of a template: template.graph()."""
    __slots__ = ()

    def native(self):
        """The CUgraphExec, as an int. Belongs to the library. From now on a graph that is collected stays open until its
        runtime is closed."""
        _set_exposed(self)
        return super().native()

    def device_handle(self):
        _set_exposed(self)
        return super().device_handle()
    device_handle.__doc__ = _calls.GraphCalls.device_handle.__doc__


class Buckets(_calls.BucketsCalls, Handle):
    """Graphs by shape, recorded when a shape is first needed: device.buckets(shapes=[...], record=function)."""
    __slots__ = ()


class Queue(_waits.QueueWaits, _calls.QueueCalls, Handle):
    """Tasks that kernels take: device.queue(kind=QUEUE_RING, task_size=16). Kernels may use a queue unseen: a queue
    that is collected after device_handle(), push() or reset() stays open until its runtime is closed."""
    __slots__ = ()

    def device_handle(self):
        _set_exposed(self)
        return super().device_handle()
    device_handle.__doc__ = _calls.QueueCalls.device_handle.__doc__

    def push(self, *arguments, **named):
        _set_exposed(self)
        return super().push(*arguments, **named)
    push.__doc__ = _calls.QueueCalls.push.__doc__

    def reset(self, *arguments, **named):
        _set_exposed(self)
        return super().reset(*arguments, **named)
    reset.__doc__ = _calls.QueueCalls.reset.__doc__


class Scheduler(_waits.SchedulerWaits, _calls.SchedulerCalls, Handle):
    """Runs a queue's tasks on the GPU: device.scheduler(...). A scheduler that is collected after start() stays open
    until its runtime is closed."""
    __slots__ = ()

    def start(self):
        _set_exposed(self)
        return super().start()
    start.__doc__ = _calls.SchedulerCalls.start.__doc__


class Peers(_calls.PeersCalls, Handle):
    """A group of GPUs: runtime.peers(devices), device.join(...)."""
    __slots__ = ()


class Symmetric(_calls.SymmetricCalls, Handle):
    """Memory that all GPUs of a group reach: peers.allocate(bytes). Memory whose address is known is freed by close(), or
    with its runtime."""
    __slots__ = ()

    def address(self, rank):
        _set_exposed(self)
        return super().address(rank)
    address.__doc__ = _calls.SymmetricCalls.address.__doc__

    def device_handle(self, rank):
        _set_exposed(self)
        return super().device_handle(rank)
    device_handle.__doc__ = _calls.SymmetricCalls.device_handle.__doc__


class Admission(_waits.AdmissionWaits, _calls.AdmissionCalls, Handle):
    """Lets so many requests in at a time: runtime.admission_create(count=8)."""
    __slots__ = ()


class Batcher(_waits.BatcherWaits, _calls.BatcherCalls, Handle):
    """Gathers requests into batches: runtime.batcher(devices=[...])."""
    __slots__ = ()


CLASSES = {"runtime": Runtime, "device": Device, "stream": Stream, "stream_pool": StreamPool, "event": Event,
           "timeline": Timeline, "cq": CompletionQueue, "arena": Arena, "pool": Pool, "module": Module, "kernel": Kernel,
           "pipeline": Pipeline, "executor": Executor, "template": Template, "graph": Graph, "buckets": Buckets,
           "queue": Queue, "scheduler": Scheduler, "peers": Peers, "symmetric": Symmetric, "admission": Admission,
           "batcher": Batcher}

__all__ = [_class.__name__ for _class in CLASSES.values()]
for _name, _class in CLASSES.items():
    _class.__module__ = "gpuorch"
    _gpuorch.register(_name, _class)
