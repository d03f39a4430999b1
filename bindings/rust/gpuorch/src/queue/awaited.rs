//! Futures of host rings.

use super::watch::{Change, Place};
use super::{Answer, Answered, Task, Tenant};
use crate::error::{ErrorKind, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A future of the next answers to a tenant: see [`Tenant::take_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Taking<T: Task, A: Answer> {
    tenant: Tenant<T, A>,
    most: usize,
    place: Option<Place>,
}

/// A future of a post to a ring that may be full: see [`Tenant::post_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Posting<'a, T: Task, A: Answer> {
    tenant: Tenant<T, A>,
    tasks: &'a [T],
    user_data: u64,
    place: Option<Place>,
}

impl<T: Task, A: Answer> Tenant<T, A> {
    /// Takes up to `most` answers, as soon as there is at least one. Answers stay in the ring until the poll that
    /// returns them: dropping the future loses none. The wait begins at the first poll.
    ///
    /// ```
    /// # use gpuorch::{Launch, queue::HostRing};
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// # let module = device.compile(
    /// #     r#"#include <gpuorch/device/queue.cuh>
    /// #        struct number { unsigned value, unused[3]; };
    /// #        extern "C" __global__ void squares(gpo::host_ring requests) {
    /// #            __shared__ gpo::dispatch_memory memory;
    /// #            const gpo::bound patience = gpo::nanoseconds(60000000000ull);
    /// #            if (blockIdx.x == 0) {
    /// #                gpo::dispatch(requests, memory, patience);
    /// #                return;
    /// #            }
    /// #            gpo::host_task<number> next;
    /// #            while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
    /// #                gpo::warp_answer(requests, next.ticket, 0, next.task.value * next.task.value);
    /// #        }"#,
    /// # )?;
    /// # // SAFETY: its parameter is a gpo::host_ring, whose tasks have 16 bytes and answers 4.
    /// # let squares = unsafe { module.kernel("squares")?.bind::<(HostRing<[u32; 4], u32>,)>()? };
    /// # let resident = device.stream_builder().resident().build()?;
    /// # let requests = device.host_ring::<[u32; 4], u32>(&resident).build()?;
    /// # squares.launch(&resident, &Launch::new(2, 32), (&requests,))?;
    /// # pollster::block_on(async {
    /// let tasks: Vec<[u32; 4]> = (0..1000).map(|number| [number; 4]).collect();
    /// let (mut posted, mut answers) = (0, Vec::new());
    /// while posted < tasks.len() {
    ///     posted += requests.post_async(&tasks[posted..], posted as u64).await?;
    /// }
    /// while answers.len() < tasks.len() {
    ///     answers.extend(requests.take_async(usize::MAX).await?);
    /// }
    /// assert!(answers.iter().all(|answer| u64::from(answer.value) == answer.user_data * answer.user_data));
    /// # Ok::<(), gpuorch::Error>(())
    /// # })?;
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    ///
    /// A thread of the crate wakes the futures of a tenant. The thread starts at the first wait for the tenant's
    /// answers and ends with the ring. Each answer goes to one caller.
    ///
    /// [`ErrorKind::End`]: no answer will come any more: the ring is closed and all tasks of the tenant are answered.
    /// [`ErrorKind::Cancelled`]: no answer is there, and the ring was aborted. [`ErrorKind::ShutDown`],
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::InvalidHandle`]: the runtime shuts down, or has shut down.
    /// [`ErrorKind::InvalidArgument`]: the ring has no such tenant. [`ErrorKind::InvalidState`]: there is never an
    /// answer to take: the answers go to a completion queue. [`ErrorKind::NotSupported`]: the ring was made without
    /// answers. [`ErrorKind::LimitExceeded`]: the system has no thread left. Any other kind: the ring's stream has failed
    /// with it.
    pub fn take_async(&self, most: usize) -> Taking<T, A> {
        Taking { tenant: self.clone(), most, place: None }
    }

    /// Like [`post`](Self::post), but waits as long as there is no room. Returns how many tasks were posted, from the
    /// first on, at least one. Tasks are posted by the poll that returns: if the future is dropped, none was posted.
    ///
    /// A thread of the crate wakes the futures that wait for room, at least each millisecond, to post again.
    ///
    /// [`ErrorKind::InvalidState`]: the ring is closed or aborted. [`ErrorKind::ShutDown`],
    /// [`ErrorKind::StaleHandle`], [`ErrorKind::InvalidHandle`]: the runtime shuts down, or has shut down.
    /// [`ErrorKind::StaleHandle`] also: the tenant's completion queue was dropped. [`ErrorKind::InvalidArgument`]: the
    /// ring has no such tenant. [`ErrorKind::LimitExceeded`]: the system has no thread left.
    pub fn post_async<'a>(&self, tasks: &'a [T], user_data: u64) -> Posting<'a, T, A> {
        Posting { tenant: self.clone(), tasks, user_data, place: None }
    }
}

impl<T: Task, A: Answer> Taking<T, A> {
    /// Takes what is there; `None`: answers are still to come.
    fn attempt(&self) -> Result<Option<Vec<Answered<A>>>> {
        loop {
            let taken = self.tenant.take(self.most)?;
            if !taken.is_empty() || self.most == 0 {
                return Ok(Some(taken));
            }
            match self.tenant.wait_for(Duration::ZERO) {
                Ok(()) => {} // an answer has come, which another caller may take first
                Err(error) if error.kind() == ErrorKind::Timeout => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl<T: Task, A: Answer> Future for Taking<T, A> {
    type Output = Result<Vec<Answered<A>>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(ended) = self.attempt().transpose() {
            return Poll::Ready(ended);
        }
        let Self { tenant, place, .. } = &mut *self;
        pending(tenant.wake_at(Change::Answer(tenant.number()), place, context))
    }
}

impl<T: Task, A: Answer> Future for Posting<'_, T, A> {
    type Output = Result<usize>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.tenant.post(self.tasks, self.user_data) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            ended => return Poll::Ready(ended),
        }
        let Self { tenant, place, .. } = &mut *self;
        pending(tenant.wake_at(Change::Room, place, context))
    }
}

fn pending<R>(waits: Result<()>) -> Poll<Result<R>> {
    waits.map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending)
}

impl<T: Task, A: Answer> fmt::Debug for Taking<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = self.tenant.number();
        f.debug_struct("Taking").field("tenant", &tenant).field("most", &self.most).finish_non_exhaustive()
    }
}

impl<T: Task, A: Answer> fmt::Debug for Posting<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tenant, tasks) = (self.tenant.number(), self.tasks.len());
        f.debug_struct("Posting").field("tenant", &tenant).field("tasks", &tasks).finish_non_exhaustive()
    }
}
