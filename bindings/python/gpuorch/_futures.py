"""Futures of GPU work: concurrent.futures for threads; places, requests and tasks that can be awaited.

Imported at the first use, since asyncio and concurrent.futures take time to import."""
import atexit
import os
import threading
import weakref
from asyncio import get_running_loop
from concurrent.futures import Future

from . import _gpuorch

_services = weakref.WeakKeyDictionary()  # runtime → the service of its concurrent.futures
_lock = threading.Lock()


def _after_fork():
    """In a child: another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class Service:
    """A thread that ends the concurrent.futures of a runtime. The thread ends with the runtime, or with the program."""

    def __init__(self, runtime):
        self.mailbox = _gpuorch.mailbox(runtime, None)
        self.thread = threading.Thread(target=serve, args=(self.mailbox,), name="gpuorch futures", daemon=True)
        self.thread.start()
        atexit.register(stop, weakref.ref(self))


def serve(mailbox):
    while mailbox.serve():
        pass


def stop(service):
    """At exit: the thread ends. Futures that wait stay unfinished."""
    service = service()
    if service:
        service.mailbox.stop()
        service.thread.join(1)


def _mailbox_of(source):
    runtime = _gpuorch.runtime_of(source)
    with _lock:
        service = _services.get(runtime)
        if service is None or not service.thread.is_alive():
            service = _services[runtime] = Service(runtime)
    return service.mailbox


def concurrent(source, value, convert=None):
    """The future of a stream, an event, a pipeline, a timeline's value. convert(number, operation, status) makes the
    result."""
    future = Future()
    if not _mailbox_of(source).begin(source, value, future, convert):
        future.set_running_or_notify_cancel()
        future.set_result(convert(0, 0, 0) if convert else None)
    return future


def figures(pipeline):
    """What makes the result of a pipeline's future: the run's figures."""
    def convert(number, operation, status):
        try:
            return None if status else _gpuorch.wait(pipeline, 0)
        except (TimeoutError, ValueError):  # another run has begun, or the pipeline is closed
            return None
    return convert


def _wake(future):
    if not future.done():
        future.set_result(None)


async def readable(queue):
    """Until there may be entries in the queue."""
    loop = get_running_loop()
    descriptor = _gpuorch.cq_get_fd(queue)  # a duplicate
    future = loop.create_future()
    loop.add_reader(descriptor, _wake, future)
    try:
        await future
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


class Request:
    """Something that is asked for when it is awaited, once. The mailbox keeps it until it has ended."""

    _begun = False
    ticket = None

    def _begin(self, mailbox, future):
        if self._begun:
            raise RuntimeError("the request was begun already")
        self._begun = True
        number = mailbox.add(future, self._ended, self)
        try:
            self._ask(mailbox, number)
        except BaseException:
            mailbox.remove(number)
            raise

    def __await__(self):
        loop = get_running_loop()
        future = loop.create_future()
        self._begin(_gpuorch.mailbox(self._owner, loop), future)
        try:
            return (yield from future.__await__())
        except BaseException:
            # The request itself has failed, or the task is cancelled or collected, perhaps at the moment of the answer.
            if not future.done() or future.cancelled() or future.exception() is None:
                future.cancel()
                self._give_up()
            raise

    def future(self):
        """A concurrent.futures.Future of the request, which begins now."""
        future = Future()
        self._begin(_mailbox_of(self._owner), future)
        future.add_done_callback(self._done)
        return future

    def _done(self, future):
        if future.cancelled():
            self._give_up()


class Place(Request):
    """A place of an admission: admission.enter()."""

    def __init__(self, admission, request):
        self._owner, self._request = admission, request

    def _ask(self, mailbox, number):
        self.ticket = _gpuorch.admission_enter(self._owner, self._request, mailbox.cq, number)

    def _ended(self, number, ticket, status):
        return ticket

    def _give_up(self):
        try:
            _gpuorch.admission_cancel(self._owner, self.ticket)
        except Exception:  # it was admitted at this moment, or has ended
            self.leave()

    def leave(self):
        """Gives the place back, unless the program has done so, or has closed the admission."""
        if self._owner.closed:
            return
        try:
            _gpuorch.admission_leave(self._owner, self.ticket)
        except Exception as end:
            if getattr(end, "status", 0) not in (11, 12, 13, 15, 72):  # not there any more
                raise

    async def __aenter__(self):
        return await self

    async def __aexit__(self, *_):
        self.leave()


class Submitted(Request):
    """A request of a batcher: batcher.submit()."""

    def __init__(self, batcher, request):
        self._owner, self._request = batcher, request

    def _ask(self, mailbox, number):
        answer = _gpuorch.batcher_submit(self._owner, self._request, mailbox.cq, number)
        self.ticket = answer[0] if isinstance(answer, tuple) else answer

    def _ended(self, number, ticket, status):
        return None

    def _give_up(self):
        try:
            _gpuorch.batcher_cancel(self._owner, self.ticket)
        except Exception:  # its batch was formed, or it has ended
            pass


class Tenant:
    """The answers of a tenant of a host ring, which come into a loop's mailbox."""

    def __init__(self, queue, tenant, limit, mailbox):
        self.queue, self.tenant, self.answers = weakref.ref(queue), tenant, {}
        self.cq = weakref.ref(mailbox.cq)  # the mailbox ends with its loop
        self.size = queue.info().answer_size
        _gpuorch.queue_set_tenant(queue, tenant, {"completions": mailbox.cq, "limit": limit})

    def take(self, number):
        """The bytes of an answer whose entry has come, or None where answers have no bytes."""
        queue = self.queue()
        if self.size and number not in self.answers and queue is not None and not queue.closed:
            entries, data = _gpuorch.queue_take(queue, self.tenant, 256)
            for i, entry in enumerate(entries):
                self.answers[entry.user_data] = data[i * self.size:(i + 1) * self.size]
        return self.answers.pop(number, None)


_tenants = weakref.WeakKeyDictionary()  # queue → tenant → Tenant


class Task(Request):
    """A task of a host ring: queue.ask()."""

    def __init__(self, queue, task, tenant, limit):
        self._owner, self._task, self._tenant, self._limit = queue, task, tenant, limit

    def _ask(self, mailbox, number):
        tenants = _tenants.setdefault(self._owner, {})
        answers = tenants.get(self._tenant)
        if answers is None or answers.cq() is not mailbox.cq:
            answers = tenants[self._tenant] = Tenant(self._owner, self._tenant, self._limit, mailbox)
        self._answers = answers
        _gpuorch.queue_post(self._owner, self._tenant, self._task, 1, number)

    def _ended(self, number, tenant, status):
        return self._answers.take(number)

    def _give_up(self):
        """A posted task is done. The coming answer is dropped."""
