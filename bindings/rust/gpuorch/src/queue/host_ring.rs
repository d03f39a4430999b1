//! Host rings: tasks from the host to a kernel that stays on the GPU, and its answers.

use super::watch::{Change, Place};
use super::{Answer, Shared, Task};
use crate::arguments::{Argument, Parameter};
use crate::call::call;
use crate::completion::CompletionQueue;
use crate::device::Device;
use crate::error::{ErrorKind, Result};
use crate::handle::{FOR_EVER, nanoseconds};
use crate::memory::MemoryUser;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

/// Tasks of the type `T` from the host to a kernel that stays on the GPU, and an answer of the type `A` to each. A
/// kernel takes the ring as a `gpo::host_ring`. Made by [`Device::host_ring`]. Clones are the same ring.
///
/// The users of a ring are its *tenants*. The ring itself is used as tenant 0; [`tenant`](Self::tenant) gives the
/// others. A tenant posts and takes answers under its own number, and never gets another tenant's answers.
///
/// ```
/// use gpuorch::{Launch, queue::HostRing};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let module = device.compile(
///     r#"#include <gpuorch/device/queue.cuh>
///        struct number { unsigned value, unused[3]; };
///        extern "C" __global__ void squares(gpo::host_ring requests) {
///            __shared__ gpo::dispatch_memory memory;
///            const gpo::bound patience = gpo::nanoseconds(60000000000ull);
///            if (blockIdx.x == 0) {
///                gpo::dispatch(requests, memory, patience);
///                return;
///            }
///            gpo::host_task<number> next;
///            while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
///                gpo::warp_answer(requests, next.ticket, 0, next.task.value * next.task.value);
///        }"#,
/// )?;
/// // SAFETY: its parameter is a gpo::host_ring, whose tasks have 16 bytes and answers 4.
/// let squares = unsafe { module.kernel("squares")?.bind::<(HostRing<[u32; 4], u32>,)>()? };
///
/// let resident = device.stream_builder().resident().build()?;
/// let requests = device.host_ring::<[u32; 4], u32>(&resident).build()?;
/// squares.launch(&resident, &Launch::new(2, 32), (&requests,))?;
/// assert_eq!(requests.post(&[[5; 4], [6; 4]], 100)?, 2);
/// let mut answers = Vec::new();
/// while answers.len() < 2 {
///     requests.wait()?;
///     answers.extend(requests.take(2)?.iter().map(|answer| (answer.user_data, answer.value)));
/// }
/// answers.sort();
/// assert_eq!(answers, [(100, 25), (101, 36)]);
/// requests.close()?; // the kernel ends when it has answered all
/// resident.wait()?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// When the last clone and tenant is dropped, and when the runtime shuts down, the ring is aborted, and its kernel
/// ends.
pub struct HostRing<T: Task, A: Answer> {
    first: Tenant<T, A>,
}

/// A user of a [`HostRing`]. Any thread may post and take for any tenant. Clones are the same tenant. A tenant keeps
/// the ring alive.
///
/// A task occupies a place in the ring from its post until its answer has been taken: a tenant that posts and never
/// takes gets [`ErrorKind::WouldBlock`]. [`post_async`](Self::post_async) and [`take_async`](Self::take_async) are
/// futures, which wait for room and for answers.
pub struct Tenant<T: Task, A: Answer> {
    shared: Arc<Shared>,
    number: u32,
    task: PhantomData<fn(T) -> A>,
}

/// An answer of a kernel to a task.
#[derive(Clone, Copy)]
pub struct Answered<A> {
    /// The task's number: see [`Tenant::post`].
    pub user_data: u64,
    /// The kernel's answer.
    pub value: A,
    status: sys::gpo_status,
}

impl<A> Answered<A> {
    /// The kernel's status, unless it is a success.
    pub fn failed(&self) -> Option<ErrorKind> {
        (self.status != sys::GPO_SUCCESS).then(|| ErrorKind::of(self.status))
    }
}

impl<A: fmt::Debug> fmt::Debug for Answered<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Answered");
        out.field("user_data", &self.user_data).field("value", &self.value).field("failed", &self.failed()).finish()
    }
}

const WORDS: usize = 24;

// SAFETY: one parameter, a gpo::host_ring.
unsafe impl<T: Task, A: Answer> Parameter for HostRing<T, A> {
    type Value = [u64; WORDS];
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [8 * WORDS as u32, 0];

    fn point_to(value: &[u64; WORDS], pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: a queue whose memory is freed behind the launch, if at all.
unsafe impl<T: Task, A: Answer> Argument<HostRing<T, A>> for &HostRing<T, A> {
    fn value(self, user: MemoryUser<'_>) -> Result<[u64; WORDS]> {
        self.first.shared.given_to(user)
    }
}

impl<T: Task, A: Answer> HostRing<T, A> {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { first: Tenant { shared, number: 0, task: PhantomData } }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.first.shared
    }

    /// The ring's device.
    pub fn device(&self) -> &Device {
        self.shared.device()
    }

    /// A tenant of the ring. If the number is out of range, calls of the tenant return [`ErrorKind::InvalidArgument`].
    pub fn tenant(&self, number: u32) -> Tenant<T, A> {
        Tenant { number, ..self.first.clone() }
    }

    /// Ends posting: the kernel gets the posted tasks, and then the end of the ring.
    pub fn close(&self) -> Result<()> {
        call!(queue_close(self.as_raw()))
    }

    /// Ends the ring at once: unanswered tasks stay unanswered.
    pub fn abort(&self) -> Result<()> {
        call!(queue_abort(self.as_raw()))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_queue_t {
        self.shared.raw()
    }
}

/// The ring as tenant 0.
impl<T: Task, A: Answer> Deref for HostRing<T, A> {
    type Target = Tenant<T, A>;

    fn deref(&self) -> &Tenant<T, A> {
        &self.first
    }
}

impl<T: Task, A: Answer> Clone for HostRing<T, A> {
    fn clone(&self) -> Self {
        Self { first: self.first.clone() }
    }
}

impl<T: Task, A: Answer> Tenant<T, A> {
    /// The tenant's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many places of the ring the tenant may take at a time, and the completion queue that gets an entry for each
    /// answer, with the task's number and the answer's status. Initially both are `None`: the tenant may take all
    /// places, and has no completion queue. Answers that have bytes are still to be [taken](Self::take); an answer of
    /// the type `()` is taken with its entry.
    ///
    /// [`ErrorKind::InvalidArgument`]: the limit is above the ring's capacity. [`ErrorKind::InvalidState`]: the tenant
    /// has unanswered tasks, or answers that weren't taken. [`ErrorKind::NotSupported`]: the ring was made without
    /// answers.
    pub fn set(&self, limit: Option<u64>, completions: Option<&CompletionQueue>) -> Result<()> {
        let mut options = sys::gpo_tenant_options::new();
        options.limit = limit.unwrap_or(sys::GPO_AUTO.into());
        options.completions = completions.map_or(null_mut(), CompletionQueue::as_raw);
        call!(queue_set_tenant(self.raw(), self.number, &options))
    }

    /// Posts tasks to the kernel. Task i comes back with `user_data` + i. Returns how many were posted, from the first
    /// on: not all if the ring or the tenant's share gets full. Blocks on nothing.
    ///
    /// [`ErrorKind::WouldBlock`]: no task was posted: there is no room, for which [`post_async`](Self::post_async)
    /// waits. [`ErrorKind::InvalidState`]: the ring is closed or aborted.
    pub fn post(&self, tasks: &[T], user_data: u64) -> Result<usize> {
        let (first, count, mut posted) = (tasks.as_ptr().cast(), tasks.len() as u64, 0);
        call!(queue_post(self.raw(), self.number, first, count, user_data, &mut posted))?;
        Ok(posted as usize)
    }

    /// Takes up to `most` answers, in the order in which they came. Doesn't block. Each answer goes to one caller.
    pub fn take(&self, most: usize) -> Result<Vec<Answered<A>>> {
        const PIECE: usize = 32;
        let mut taken = Vec::new();
        let (mut entries, mut values) = ([sys::gpo_answer::new(); PIECE], [A::zeroed(); PIECE]);
        loop {
            let room = PIECE.min(most - taken.len());
            let count = match self.take_into(&mut entries[..room], &mut values[..room]) {
                Ok(count) => count,
                Err(error) if taken.is_empty() => return Err(error),
                // Return the answers that were taken: no other caller can get them.
                Err(_) => 0,
            };
            taken.extend(entries.iter().zip(values).take(count).map(|(entry, value)| Answered {
                user_data: entry.user_data,
                value,
                status: entry.status,
            }));
            if count < room || taken.len() == most {
                return Ok(taken);
            }
        }
    }

    /// Like [`take`](Self::take), into the caller's memory: as many answers as fit into the shorter slice. Returns how
    /// many answers were written.
    pub fn take_into(&self, entries: &mut [sys::gpo_answer], values: &mut [A]) -> Result<usize> {
        let (stride, room, mut count) = (size_of::<sys::gpo_answer>() as u64, entries.len().min(values.len()), 0);
        let values = if size_of::<A>() == 0 { null_mut() } else { values.as_mut_ptr().cast() };
        let entries = entries.as_mut_ptr();
        call!(queue_take(self.raw(), self.number, entries, stride, values, room as u64, &mut count))?;
        Ok(count as usize)
    }

    /// Waits until there is an answer to take.
    ///
    /// [`ErrorKind::End`]: no answer will come any more: the ring is closed and all tasks of the tenant are answered.
    /// [`ErrorKind::Cancelled`]: no answer is there, and the ring was aborted. [`ErrorKind::InvalidState`]: there is
    /// never an answer to take: the answers go to a completion queue.
    pub fn wait(&self) -> Result<()> {
        call!(queue_wait(self.raw(), self.number, FOR_EVER))
    }

    /// Waits with a timeout: [`ErrorKind::Timeout`] if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(queue_wait(self.raw(), self.number, nanoseconds(timeout)))
    }

    /// Wakes the future that is polled, and has waited in vain, at the next change.
    pub(super) fn wake_at(&self, change: Change, place: &mut Option<Place>, context: &Context<'_>) -> Result<()> {
        self.shared.watches.wake_at(change, self.raw(), place, context)
    }

    fn raw(&self) -> sys::gpo_queue_t {
        self.shared.raw()
    }
}

impl<T: Task, A: Answer> Clone for Tenant<T, A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), number: self.number, task: PhantomData }
    }
}

impl<T: Task, A: Answer> fmt::Debug for Tenant<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant").field("number", &self.number).finish_non_exhaustive()
    }
}
