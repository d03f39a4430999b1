//! How queues are made.

use super::watch::Watches;
use super::{Answer, HostRing, Range, Ring, Shared, Task};
use crate::builder::Options;
use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use crate::handle::Owned;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::null_mut;
use std::sync::Arc;

/// Options of a queue of the kind `Q`: see [`Device::range`], [`Device::ring`] and [`Device::host_ring`].
#[must_use = "a builder makes nothing until `build`"]
pub struct QueueBuilder<'a, Q> {
    device: &'a Device,
    resident_on: Option<&'a Stream>,
    pub(crate) options: Options<sys::gpo_queue_options>,
    kind: PhantomData<fn() -> Q>,
}

impl Device {
    /// For a range, which hands out the numbers from 0 to `count` - 1.
    pub fn range(&self, count: u64) -> QueueBuilder<'_, Range> {
        let mut builder = QueueBuilder::new(self, sys::GPO_QUEUE_RANGE);
        builder.options.count = count;
        builder
    }

    /// For a ring of tasks of the type `T`.
    pub fn ring<T: Task>(&self) -> QueueBuilder<'_, Ring<T>> {
        const { T::FITS };
        let mut builder = QueueBuilder::new(self, sys::GPO_QUEUE_RING);
        builder.options.task_size = size_of::<T>() as u32;
        builder
    }

    /// For a ring of tasks of the type `T` from the host to a kernel on `stream`, a
    /// [resident](crate::StreamBuilder::resident) one, with answers of the type `A`. Answers of the type `()` have a
    /// status alone.
    pub fn host_ring<'a, T: Task, A: Answer>(&'a self, stream: &'a Stream) -> QueueBuilder<'a, HostRing<T, A>> {
        const { T::FITS };
        const { A::FITS };
        let mut builder = QueueBuilder::new(self, sys::GPO_QUEUE_HOST_RING).resident_on(stream);
        builder.options.task_size = size_of::<T>() as u32;
        builder.options.answer_size = size_of::<A>() as u32;
        builder
    }
}

impl<'a, Q> QueueBuilder<'a, Q> {
    fn new(device: &'a Device, kind: u32) -> Self {
        let mut options = Options::of(sys::gpo_queue_options::new());
        options.kind = kind;
        Self { device, resident_on: None, options, kind: PhantomData }
    }

    /// The [resident](crate::StreamBuilder::resident) stream of a kernel that stays on the GPU and uses the queue. The
    /// queue is aborted when it is dropped and when the runtime shuts down. Its memory stays until the work on this
    /// stream is done.
    pub fn resident_on(mut self, stream: &'a Stream) -> Self {
        self.resident_on = Some(stream);
        self
    }

    fn made(mut self) -> Result<Arc<Shared>> {
        self.options.stream = self.resident_on.map_or(null_mut(), Stream::as_raw);
        let mut raw = null_mut();
        call!(queue_create(self.device.as_raw(), self.options.checked("gpo_queue_create")?, &mut raw))?;
        let owned = Owned { raw, parent: self.device.clone() };
        let resident_on = self.options.stream as usize;
        Ok(Arc::new(Shared { owned, resident_on, watches: Watches::default() }))
    }
}

impl QueueBuilder<'_, Range> {
    /// Makes the range. Blocks on the GPU for some microseconds.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the count is 0 or above 2^48; or the stream
    /// is of another device, or isn't resident.
    pub fn build(self) -> Result<Range> {
        Ok(Range { shared: self.made()? })
    }
}

impl<T: Task> QueueBuilder<'_, Ring<T>> {
    /// Makes the ring, empty and open. Blocks on the GPU for some microseconds.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): an option is out of range, and the message
    /// names it; or the stream is of another device, or isn't resident.
    pub fn build(self) -> Result<Ring<T>> {
        Ok(Ring::of(self.made()?))
    }
}

impl<T: Task, A: Answer> QueueBuilder<'_, HostRing<T, A>> {
    /// Makes the ring. Blocks on the GPU for some microseconds.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): an option is out of range, and the message
    /// names it; or the stream is of another device, or isn't resident.
    pub fn build(self) -> Result<HostRing<T, A>> {
        Ok(HostRing::of(self.made()?))
    }
}
