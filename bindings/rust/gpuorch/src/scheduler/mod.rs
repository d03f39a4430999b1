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

pub(crate) mod builder;

pub use crate::generated::{BlockInfo, DepthSample, HandlerInfo, SchedulerInfo, TaskError};
pub(crate) use builder::sealed;
pub use builder::{Graphs, Resident, SchedulerBuilder, While, Workers};

use crate::device::Device;
use crate::error::ErrorKind;
use crate::handle::Owned;
use crate::queue::Shared;
use gpuorch_sys as sys;
use std::sync::Arc;

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

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_scheduler_t {
        self.inner.raw
    }
}

impl TaskError {
    /// The status that the handler returned. [`ErrorKind::NotFound`]: there is no handler of the task's number.
    /// [`ErrorKind::LimitExceeded`], [`ErrorKind::InvalidArgument`]: a graph couldn't be launched.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::of(self.status)
    }
}
