//! Rings: bounded queues of tasks in device memory.

use super::{Shared, Task};
use crate::arguments::{Argument, Parameter};
use crate::call::call;
use crate::device::Device;
use crate::done::Enqueued;
use crate::error::Result;
use crate::memory::MemoryUser;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// A bounded queue of tasks of the type `T`, which a kernel takes as a `gpo::ring`. Kernels push and pop, and tasks may
/// push tasks. Made by [`Device::ring`]. Clones are the same ring.
///
/// A kernel that is bound with `Ring<T>` takes no ring of other tasks:
///
/// ```compile_fail,E0277
/// # fn launch(work: gpuorch::BoundKernel<(gpuorch::queue::Ring<[u32; 4]>,)>, stream: gpuorch::Stream,
/// #           other: gpuorch::queue::Ring<[u32; 8]>) {
/// work.launch(&stream, &gpuorch::Launch::new(1, 64), (&other,));
/// # }
/// ```
///
/// # The end of a ring
///
/// A ring is open at first. [`close`](Self::close) says that from now on only the tasks themselves push: when all tasks
/// are done, pops say that the ring is at its end. [`abort`](Self::abort) ends all waits at once. On the GPU each wait
/// has a bound.
#[derive(Clone)]
pub struct Ring<T: Task> {
    shared: Arc<Shared>,
    task: PhantomData<fn(T) -> T>,
}

const WORDS: usize = 12;

// SAFETY: one parameter, a gpo::ring.
unsafe impl<T: Task> Parameter for Ring<T> {
    type Value = [u64; WORDS];
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [8 * WORDS as u32, 0];

    fn point_to(value: &[u64; WORDS], pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: a queue whose memory is freed behind the launch, if at all.
unsafe impl<T: Task> Argument<Ring<T>> for &Ring<T> {
    fn value(self, user: MemoryUser<'_>) -> Result<[u64; WORDS]> {
        self.shared.given_to(user)
    }
}

impl<T: Task> Ring<T> {
    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { shared, task: PhantomData }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The ring's device.
    pub fn device(&self) -> &Device {
        self.shared.device()
    }

    /// Pushes tasks as work of `stream`, in their order, with priority 0. Tasks are dropped and counted
    /// (`refused` of [`info`](Self::info)) if they don't fit when the GPU does the push, or if the ring is closed or
    /// aborted.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the stream is of another device.
    pub fn push<'s>(&self, stream: &'s Stream, tasks: &[T]) -> Result<Enqueued<'s>> {
        self.push_with_priority(stream, tasks, 0)
    }

    /// Pushes like [`push`](Self::push), with a priority: 0 is popped first.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the ring has no such priority.
    pub fn push_with_priority<'s>(&self, stream: &'s Stream, tasks: &[T], priority: u32) -> Result<Enqueued<'s>> {
        let (first, count) = (tasks.as_ptr().cast(), tasks.len() as u64);
        call!(queue_push(self.as_raw(), stream.as_raw(), first, count, priority))?;
        Ok(Enqueued { stream })
    }

    /// Closes the ring at once, beside running kernels: see above. Has no effect on a ring that is closed or aborted.
    /// Blocks on the GPU for some microseconds.
    pub fn close(&self) -> Result<()> {
        call!(queue_close(self.as_raw()))
    }

    /// Aborts the ring at once, even if it is closed: pushes and pops in kernels report the abort. The remaining tasks
    /// stay in the ring.
    pub fn abort(&self) -> Result<()> {
        call!(queue_abort(self.as_raw()))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_queue_t {
        self.shared.raw()
    }
}
