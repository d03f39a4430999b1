"""Waits and futures as methods: a base for each class of objects that can be waited for.

`wait()` blocks, without the GIL, and ends at signals. `await` suspends the task in asyncio and uvloop. `future()` is for
threads: a concurrent.futures.Future. All three raise the failure of the work."""
from _thread import RLock
from _weakref import ref

from . import _gpuorch
from ._constants import ORIGIN_BATCHER

_take, _wait, _await = _gpuorch.take, _gpuorch.wait, _gpuorch.await_


def _loop():
    """The running loop. asyncio is imported by the first await, not by `import gpuorch`."""
    global _loop
    from asyncio import get_running_loop
    _loop = get_running_loop
    return get_running_loop()


def _concurrent(source, value=0):
    from . import _futures
    return _futures.concurrent(source, value)


class StreamWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for all work that is on the stream now. Timeout: the seconds have passed."""
        _wait(self, timeout)

    def __await__(self):
        """All work that is on the stream now."""
        return _await(self, 0, _loop())

    def future(self):
        """A concurrent.futures.Future of all work that is on the stream now; its result is None."""
        return _concurrent(self)


class EventWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for the event's newest recording. Timeout: the seconds have passed."""
        _wait(self, timeout)

    def __await__(self):
        """The event's newest recording."""
        return _await(self, 0, _loop())

    def future(self):
        """A concurrent.futures.Future of the event's newest recording; its result is None."""
        return _concurrent(self)


class Reached:
    """The moment when a timeline reaches a value: timeline.reached(value)."""
    __slots__ = ("timeline", "value")

    def __init__(self, timeline, value):
        self.timeline, self.value = timeline, value

    def __repr__(self):
        return f"<{self.timeline!r} reaches {self.value}>"

    def __await__(self):
        return _await(self.timeline, self.value, _loop())


class TimelineWaits:
    __slots__ = ()

    def wait(self, value, timeout=None):
        """Waits until the timeline has reached the value. Timeout: the seconds have passed."""
        _wait(self, timeout, value)

    def reached(self, value):
        """An awaitable: the moment when the timeline reaches the value."""
        return Reached(self, value)

    def future(self, value):
        """A concurrent.futures.Future of the moment when the timeline reaches the value; its result is None."""
        return _concurrent(self, value)


class PipelineWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for the end of the run, and returns its figures, or None if another run has begun meanwhile. Callbacks of
        the run go on only while another thread runs their executor. Timeout: the seconds have passed."""
        return _wait(self, timeout)

    def __await__(self):
        """The end of the run: its figures, as of wait()."""
        yield from _await(self, 0, _loop())
        try:
            return _wait(self, 0)
        except TimeoutError:  # another run has begun
            return None

    def future(self):
        """A concurrent.futures.Future of the end of the run; its result is the run's figures, as of wait()."""
        from . import _futures
        return _futures.concurrent(self, 0, _futures.figures(self))


class DeviceWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for all work that is on the device's streams now, and for memory that was freed behind it. Failures of
        streams aren't raised. Timeout: the seconds have passed."""
        _wait(self, timeout)


class SchedulerWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits for the end of the run, without asking for it. Timeout: the seconds have passed."""
        _wait(self, timeout, 0)

    def drain(self, timeout=None):
        """Asks the run to end when all earlier tasks are done, and waits for the end. Timeout: the seconds have passed,
        and the run still drains."""
        _wait(self, timeout, 1)

    def stop(self, timeout=None):
        """Asks the run to end, and waits for the end. Timeout: the seconds have passed, and a handler has still not
        returned."""
        _wait(self, timeout, 2)


class QueueWaits:
    __slots__ = ()

    def wait(self, tenant=0, timeout=None):
        """Waits until an answer of the tenant can be taken: True. False: none is left, and none will come. Timeout: the
        seconds have passed."""
        return _wait(self, timeout, tenant)

    def ask(self, task, tenant=0, *, limit=0):
        """Posts a task of a host ring when it is awaited. The result is the answer's bytes (None where answers have
        none). A status of the kernel's that isn't 0 is raised. WouldBlock: the ring has no room.

        The tenant's answers then belong to the running loop: take them in no other way. `limit`: most places of the
        ring that the tenant may take; as the first task of a tenant says."""
        from . import _futures
        return _futures.Task(self, task, tenant, limit)


_requests_lock = RLock()


class Requests:
    """The requests of batchers whose entries come into one queue. What the batchers read and write is kept until an entry
    has been drained, and if none is, until the runtime is closed."""
    __slots__ = ("lock", "begun", "tickets", "queue")

    def __init__(self, queue):
        self.queue = ref(queue)
        self.lock = RLock()  # a finalizer may drain the queue
        self.begun = 0  # submissions under way: their entries may be drained before their tickets are known
        self.tickets = {}  # ticket → [what requests use, how many of their entries were drained]

    def _take_ended(self):
        """Under the lock. Batchers may give the same ticket. The caller releases the objects without the lock."""
        return [self.tickets.pop(ticket) for ticket, (kept, drained) in list(self.tickets.items())
                if drained == len(kept) or (drained > len(kept) and not self.begun)]

    def submit(self, batcher, request, cq, user_data):
        uses = list(request.values()) if isinstance(request, dict) else request
        with self.lock:
            self.begun += 1
        try:
            answer = _gpuorch.batcher_submit(batcher, request, cq, user_data)
        except BaseException:
            with self.lock:
                self.begun -= 1
            raise
        with self.lock:
            self.begun -= 1
            self.tickets.setdefault(answer[0] if isinstance(answer, tuple) else answer, [[], 0])[0].append(uses)
            ended = self._take_ended() if self.tickets else None
        del ended
        return answer

    def drained(self, entries):
        with self.lock:
            for entry in entries:
                if entry.origin == ORIGIN_BATCHER and (self.begun or entry.operation in self.tickets):
                    self.tickets.setdefault(entry.operation, [[], 0])[1] += 1
            ended = self._take_ended()
        del ended


def _drain(queue, most):
    """Like take(); what the requests of the entries have used is not kept any more."""
    entries = _take(queue, most)
    requests = getattr(queue, "_requests", None)
    if entries and requests is not None:
        requests.drained(entries)
    return entries


class CompletionQueueWaits:
    __slots__ = ()

    def wait(self, timeout=None):
        """Waits until the queue has an entry, or wake() was called. Timeout: the seconds have passed. ShutDown: no entry
        will come any more."""
        _wait(self, timeout)

    def drain(self, most=256):
        """Takes entries out of the queue: a list of at most `most`, 256 at a time. Never blocks. ShutDown: the queue is
        empty, and no entry will come any more."""
        entries = _drain(self, most)
        if entries is None:
            _wait(self, 0)  # which says so
        return entries

    def failure(self, entry):
        """The failure of an entry as an exception, with the details if the queue still has them, or None."""
        return _gpuorch.failure(self, entry.status, entry.error_id) if entry.status else None

    def __aiter__(self):
        """The entries as they come, until the runtime has shut down or the queue is closed."""
        return Entries(self)


class Entries:
    """The entries of a queue as they come: `async for completion in queue`."""
    __slots__ = ("queue",)

    def __init__(self, queue):
        self.queue = queue

    def __aiter__(self):
        return self

    async def __anext__(self):
        from . import _futures
        queue = self.queue
        while not queue.closed:
            entries = _drain(queue, 1)  # one: the others stay in the queue if the loop is left
            if entries:
                return entries[0]
            if entries is None:
                break
            await _futures.readable(queue)
        raise StopAsyncIteration


class AdmissionWaits:
    __slots__ = ()

    def enter(self, request=None, cq=None, user_data=0, **fields):
        """Asks for a place: one, or what the keywords say (priority, count, bytes, flow, deadline_ns).

            async with admission.enter(bytes=size):
                ...                        # the place is given back at the end
            ticket = await admission.enter()
            admission.leave(ticket)

        With a completion queue `cq`, the request begins at once, and the ticket is returned."""
        if request is None and fields:
            request = fields
        elif fields:
            raise TypeError("enter() takes a request or keywords, not both")
        if cq is not None:
            return _gpuorch.admission_enter(self, request, cq, user_data)
        from . import _futures
        return _futures.Place(self, request)


def _requests_of(batcher, queue):
    """What keeps the memory of requests whose entries come into the queue: with the queue and with the batcher."""
    with _requests_lock:
        requests = getattr(queue, "_requests", None)
        if requests is None:
            requests = queue._requests = Requests(queue)
        known = getattr(batcher, "_requests", None)
        if known is None:
            known = batcher._requests = []
            _gpuorch.keep(batcher, known)  # batches go on when the batcher is closed
        if requests not in known:
            known[:] = [one for one in known if one.tickets or one.queue() is not None]
            known.append(requests)
    return requests


class BatcherWaits:
    __slots__ = ()

    def submit(self, request=None, cq=None, user_data=0, **fields):
        """Submits a request, made from keywords (key, flow, elements, input, output...).

            await batcher.submit(key=key, input=image, output=scores)
            batcher.submit(key=key, input=image, output=scores).future().result()

        The memory is kept until the request has ended, also if the task is cancelled, which takes a request that still
        waits out of the line. WouldBlock, Timeout: the request is refused. With a completion queue `cq`, the request
        begins at once, what C's function writes is returned, and the memory is kept until the entry is drained."""
        if request is None and fields:
            request = fields
        elif fields:
            raise TypeError("submit() takes a request or keywords, not both")
        if isinstance(cq, CompletionQueueWaits):
            return _requests_of(self, cq).submit(self, request, cq, user_data)
        if cq is not None:
            return _gpuorch.batcher_submit(self, request, cq, user_data)
        from . import _futures
        return _futures.Submitted(self, request)


class ExecutorWaits:
    __slots__ = ()

    def run(self):
        """Runs callbacks on this thread until none is pending, and returns how many ran. Raises the exception of a
        callback."""
        return _gpuorch.run(self)

    def run_for(self, timeout):
        """Like run(), for at most these seconds. Callbacks may then be pending: see statistics()."""
        return _gpuorch.run(self, timeout)

    def poll(self):
        """Runs the callbacks that are due, and returns how many ran. Raises the exception of a callback."""
        return _gpuorch.run(self, 0, True)
