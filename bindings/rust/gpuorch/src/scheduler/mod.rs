//! Schedulers, which stay on the GPU and do the tasks of a queue.
//!
//! A scheduler takes tasks out of a [`Ring`](crate::queue::Ring) or a [`HostRing`](crate::queue::HostRing) and calls
//! for each task a *handler*, without the host. The first four bytes of a task are the number of its handler. Handlers
//! are device functions, which the library compiles together with its own loop; or graphs.
//! `gpuorch/device/scheduler.cuh` says what handlers may do. A handler returns a status. A status other than 0 is
//! stored with the task ([`Scheduler::errors`]), and the scheduler goes on.
//!
//! ```
//! gpuorch::task! {
//!     /// A node of a tree.
//!     struct Node { handler: u32, number: u32, unused: [u32; 2] }
//! }
//! # let runtime = gpuorch::Runtime::new()?;
//! # let device = runtime.open_device()?;
//! # let stream = device.stream()?;
//! let visit = r#"
//!     #include <gpuorch/device/scheduler.cuh>
//!     __device__ int visit(gpo::task_context &at, const Node &node) {
//!         if (at.thread() == 0) atomicAdd(at.argument<unsigned>(), node.number);
//!         if (node.number >= 64 || at.thread() >= 2) return 0;
//!         return at.push(Node{0, 2 * node.number + at.thread(), {}});
//!     }"#;
//! let ring = device.ring::<Node>().capacity(1024).build()?;
//! let sum = device.buffer::<u32>(1)?;
//! stream.fill(&sum, 0)?.wait()?;
//!
//! let builder = ring.scheduler(visit).declaration(Node::declaration()).handler("visit").argument(sum.address());
//! # let builder = builder.multiprocessors(1).threads(64);
//! // SAFETY: the handler adds to one number, and the run has ended before the number goes.
//! let scheduler = unsafe { builder.build()? };
//! scheduler.start()?;
//! ring.push(&stream, &[Node { handler: 0, number: 1, unused: [0; 2] }])?.wait()?;
//! scheduler.drain()?;
//! assert_eq!(stream.copy_to_host(&sum, vec![0])?.wait()?, [127 * 128 / 2]);
//! assert_eq!(scheduler.info()?.tasks, 127);
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Runs
//!
//! [`Scheduler::start`] begins a *run*, which ends when
//! - it was asked to [drain](Scheduler::drain), and all tasks are done;
//! - it was asked to [stop](Scheduler::stop), and the tasks that had begun are done. The others stay in the queue;
//! - there was nothing to do for the [idle timeout](SchedulerBuilder::idle_timeout);
//! - the queue was closed and all tasks are done, or the queue was aborted.
//!
//! The scheduler may then be started again, and goes on with the queue's tasks.

mod builder;

pub use crate::figures::{BlockInfo, DepthSample, HandlerInfo, SchedulerInfo, TaskError};
pub use builder::{Graphs, Resident, SchedulerBuilder, While, Workers};

use crate::call::call;
use crate::device::Device;
use crate::error::{ErrorKind, Result};
use crate::handle::{FOR_EVER, Owned, nanoseconds};
use crate::queue::Shared;
use gpuorch_sys as sys;
use std::mem::size_of;
use std::sync::Arc;
use std::time::Duration;

/// Does the tasks of a queue, on the GPU. Made by [`Ring::scheduler`](crate::queue::Ring::scheduler) and the like.
/// Clones are the same scheduler.
///
/// A scheduler keeps its queue alive. When the last clone is dropped, and when the runtime shuts down, a run is
/// stopped: dropping waits for no handler. A handler that never returns keeps
/// [`Runtime::shutdown`](crate::Runtime::shutdown) from succeeding.
#[derive(Clone)]
pub struct Scheduler {
    inner: Arc<Owned<sys::gpo_scheduler_t, Arc<Shared>>>,
}

impl Scheduler {
    fn of(owned: Owned<sys::gpo_scheduler_t, Arc<Shared>>) -> Self {
        Self { inner: Arc::new(owned) }
    }

    /// The scheduler's device.
    pub fn device(&self) -> &Device {
        self.inner.parent.device()
    }

    /// Begins a run. Blocks on the GPU for some microseconds.
    ///
    /// [`ErrorKind::InvalidState`]: a run goes on; or the queue is closed with nothing in it, or aborted.
    pub fn start(&self) -> Result<()> {
        call!(scheduler_start(self.as_raw()))
    }

    /// Asks the run to end when all earlier posted or pushed tasks are done, with the tasks that they push, and waits
    /// for the end. Tasks that others push or post meanwhile may be done or left in the queue.
    ///
    /// [`ErrorKind::Cancelled`]: the run has ended with tasks left: the queue was aborted, or the scheduler stopped.
    /// [`ErrorKind::InvalidState`]: the scheduler was never started.
    pub fn drain(&self) -> Result<()> {
        call!(scheduler_drain(self.as_raw(), FOR_EVER))
    }

    /// Drains with a timeout: [`ErrorKind::Timeout`] if it passes first. After a timeout the run still drains.
    pub fn drain_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_drain(self.as_raw(), nanoseconds(timeout)))
    }

    /// Asks the run to end, and waits for the end: handlers that have begun return, and no other begins. The remaining
    /// tasks stay in the queue. A scheduler that doesn't run is stopped already.
    pub fn stop(&self) -> Result<()> {
        call!(scheduler_stop(self.as_raw(), FOR_EVER))
    }

    /// Stops with a timeout: [`ErrorKind::Timeout`] if it passes, and a handler has still not returned. The run ends
    /// when the handler does.
    pub fn stop_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_stop(self.as_raw(), nanoseconds(timeout)))
    }

    /// Waits until the run has ended, without asking it to.
    pub fn wait(&self) -> Result<()> {
        call!(scheduler_wait(self.as_raw(), FOR_EVER))
    }

    /// Waits with a timeout: [`ErrorKind::Timeout`] if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(scheduler_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// The scheduler's properties and counters. During a run the numbers are not a consistent snapshot. Blocks on the
    /// GPU for some microseconds, as the functions below do.
    pub fn info(&self) -> Result<SchedulerInfo> {
        let mut info = SchedulerInfo::empty();
        call!(scheduler_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// The counters of the handler with this number.
    ///
    /// [`ErrorKind::InvalidArgument`]: the handler doesn't exist.
    pub fn handler(&self, number: u32) -> Result<HandlerInfo> {
        let mut info = HandlerInfo::empty();
        call!(scheduler_get_handler(self.as_raw(), number, &mut info.0))?;
        Ok(info)
    }

    /// The counters of each of the scheduler's blocks.
    pub fn blocks(&self) -> Result<Vec<BlockInfo>> {
        all(BlockInfo::empty(), |first, stride, room, count| {
            call!(scheduler_get_blocks(self.as_raw(), first.cast(), stride, room, count))
        })
    }

    /// Samples of the number of waiting tasks in the queue: the newest samples, at most 1024, oldest first.
    pub fn samples(&self) -> Result<Vec<DepthSample>> {
        all(DepthSample::empty(), |first, stride, room, count| {
            call!(scheduler_get_samples(self.as_raw(), first.cast(), stride, room, count))
        })
    }

    /// The tasks that failed: the first ones, as many as are [stored](SchedulerBuilder::max_errors), in the order in
    /// which they were found.
    pub fn errors(&self) -> Result<Vec<TaskError>> {
        all(TaskError::empty(), |first, stride, room, count| {
            call!(scheduler_get_errors(self.as_raw(), first.cast(), stride, room, count))
        })
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_scheduler_t {
        self.inner.raw
    }
}

/// All elements that a function of the library writes: grows the array until they fit.
fn all<R: Copy>(empty: R, read: impl Fn(*mut R, u64, u64, &mut u64) -> Result<()>) -> Result<Vec<R>> {
    let mut rows = vec![empty; 256];
    loop {
        let mut count = 0;
        read(rows.as_mut_ptr(), size_of::<R>() as u64, rows.len() as u64, &mut count)?;
        if (count as usize) < rows.len() {
            rows.truncate(count as usize);
            return Ok(rows);
        }
        rows.resize(2 * rows.len(), empty);
    }
}

impl TaskError {
    /// The status that the handler returned. [`ErrorKind::NotFound`]: there is no handler of the task's number.
    /// [`ErrorKind::LimitExceeded`], [`ErrorKind::InvalidArgument`]: a graph couldn't be launched.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::of(self.status)
    }
}
