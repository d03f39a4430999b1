//! Recording of work on streams.

use super::{Node, Template};
use crate::call::{call, status};
use crate::copy::same_length;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::DeviceSlice;
use crate::stream::Stream;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, size_of_val};
use std::ops::Deref;

impl Template {
    /// Records the work that the closure puts on `stream`: the work doesn't run until a graph is launched. If the
    /// template has nodes already, the recording replaces them, with their parameters, when it ends; see
    /// [`Graph::update`](super::Graph::update).
    ///
    /// A recording is a transaction. If the closure returns an error or panics, or the recording can't be ended, the
    /// template is unchanged, and the streams can be used as before.
    ///
    /// Other streams join when they wait for an event that was recorded on a stream of the recording, and must be waited
    /// for in turn by `stream` before the closure returns. Work that other libraries put on these streams is recorded too.
    ///
    /// Calls that can't be recorded are refused with [`ErrorKind::CaptureRefused`]: waits, queries, notifications, host
    /// calls, copies with pageable memory, allocations of a pool, launches of graphs. Any call that names a stream of
    /// the recording and is refused makes the recording fail, even if the closure goes on. Copies of [`Stream`] that
    /// own their host buffer wait for the stream before they give the buffer back, which fails the recording as well:
    /// use [`Recording::copy_to_device`] and [`Recording::copy_to_host`].
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// # let (stream, x) = (device.stream()?, device.buffer::<u8>(100)?);
    /// let template = device.template()?;
    /// // SAFETY: nothing is launched.
    /// let refused = unsafe {
    ///     template.record(&stream, |_| {
    ///         stream.fill(&x, 1)?;
    ///         stream.wait() // what is recorded has no end that could be waited for
    ///     })
    /// };
    /// assert_eq!(refused.unwrap_err().kind(), gpuorch::ErrorKind::CaptureRefused);
    /// stream.fill(&x, 2)?.wait()?;
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    ///
    /// [`ErrorKind::InvalidState`]: the template is being recorded already, or the stream is held.
    /// [`ErrorKind::InvalidArgument`]: template and stream are of different devices.
    ///
    /// # Safety
    ///
    /// For all graphs with the recorded nodes, of this template or of a template with this one as a child:
    /// - When a graph is made (also by [`launch`](Self::launch)), updated or set, the memory that the nodes use is
    ///   allocated.
    /// - Whenever a graph runs, memory that [graphs don't hold](super#memory) is allocated. Memory that they hold may be
    ///   dropped.
    /// - Whenever a graph runs, the host doesn't write memory that the nodes read, and doesn't access memory that they
    ///   write.
    ///
    /// Nothing can be recorded without this promise:
    ///
    /// ```compile_fail,E0133
    /// # fn record(template: gpuorch::Template, stream: gpuorch::Stream) {
    /// template.record(&stream, |_| Ok(()));
    /// # }
    /// ```
    pub unsafe fn record<R>(&self, stream: &Stream, closure: impl FnOnce(&Recording<'_>) -> Result<R>) -> Result<R> {
        call!(template_begin(self.as_raw(), stream.as_raw()))?;
        let recording = Recording::of(self);
        let recorded = closure(&recording)?;
        recording.end()?;
        Ok(recorded)
    }
}

/// A template that is being recorded, by this thread: see [`Template::record`]. The closure's nodes and parameters
/// become a part of the recording.
pub struct Recording<'a> {
    template: &'a Template,
    /// Makes the type neither Send nor Sync: another thread's calls would be refused.
    thread: PhantomData<*const ()>,
}

impl<'a> Recording<'a> {
    /// `template`'s recording has begun. Dropping this discards the recording.
    pub(super) fn of(template: &'a Template) -> Self {
        Self { template, thread: PhantomData }
    }
}

impl Recording<'_> {
    fn end(self) -> Result<()> {
        // The recording is over, whether its end succeeds or fails.
        let this = ManuallyDrop::new(self);
        call!(template_end(this.as_raw()))
    }

    /// The node that was recorded last on `stream`.
    ///
    /// [`ErrorKind::NotFound`]: no node was recorded, or the stream waits for several nodes.
    /// [`ErrorKind::InvalidState`]: the stream isn't in the recording.
    pub fn last_node(&self, stream: &Stream) -> Result<Node> {
        const FUNCTION: &str = "gpo_template_get_last_node";
        Node::of(self.last_number(stream)?, FUNCTION)
    }

    fn last_number(&self, stream: &Stream) -> Result<u32> {
        let mut node = 0;
        call!(template_get_last_node(self.as_raw(), stream.as_raw(), &mut node))?;
        Ok(node)
    }

    /// Later work on `stream` comes after `node` instead of the stream's last nodes. Use it to put nodes that were
    /// added one by one at their place in a recording.
    ///
    /// [`ErrorKind::InvalidState`]: the stream isn't in the recording.
    pub fn set_last_node(&self, stream: &Stream, node: Node) -> Result<()> {
        call!(template_set_last_node(self.as_raw(), stream.as_raw(), node.number()))
    }

    /// Records a copy from pinned host memory to the device. Each launch reads the memory's contents at that time.
    ///
    /// # Safety
    ///
    /// The requirements of [`Template::record`] hold.
    pub unsafe fn copy_to_device<'a, T: Pod>(
        &self,
        stream: &Stream,
        host: &[T],
        destination: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Node> {
        self.require_recorded(stream)?;
        put_copy_to_device(stream, host, &destination.into())?;
        self.last_node(stream)
    }

    /// Records a copy from the device to pinned host memory. Each launch writes the memory.
    ///
    /// # Safety
    ///
    /// The requirements of [`Template::record`] hold.
    pub unsafe fn copy_to_host<'a, T: Pod>(
        &self,
        stream: &Stream,
        source: impl Into<DeviceSlice<'a, T>>,
        host: &mut [T],
    ) -> Result<Node> {
        self.require_recorded(stream)?;
        put_copy_to_host(stream, &source.into(), host)?;
        self.last_node(stream)
    }

    /// Refuses a stream that isn't in the recording: a copy on it would be done now.
    fn require_recorded(&self, stream: &Stream) -> Result<()> {
        self.last_number(stream).map(drop)
    }
}

/// A copy from pinned memory; the caller is responsible for the memory.
pub(super) fn put_copy_to_device<T: Pod>(stream: &Stream, host: &[T], destination: &DeviceSlice<'_, T>) -> Result<()> {
    check_copy(stream, host.len(), destination, "gpo_copy_to_device")?;
    let bytes = size_of_val(host) as u64;
    call!(copy_to_device(stream.as_raw(), destination.address(), host.as_ptr().cast(), bytes))
}

/// A copy to pinned memory; the caller is responsible for the memory.
pub(super) fn put_copy_to_host<T: Pod>(stream: &Stream, source: &DeviceSlice<'_, T>, host: &mut [T]) -> Result<()> {
    check_copy(stream, host.len(), source, "gpo_copy_to_host")?;
    let bytes = size_of_val(host) as u64;
    call!(copy_to_host(stream.as_raw(), host.as_mut_ptr().cast(), source.address(), bytes))
}

/// Refuses a copy of no bytes, which would be no node.
fn check_copy<T: Pod>(stream: &Stream, host: usize, device: &DeviceSlice<'_, T>, function: &'static str) -> Result<()> {
    if device.bytes() == 0 {
        let message = "a copy of no bytes can't be recorded";
        return Err(Error::new(ErrorKind::InvalidArgument, function, message));
    }
    same_length(host, device.len(), function)?;
    device.given_to(stream, function)
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        // Refused only where the runtime has been shut down.
        let _ = status!(template_cancel(self.as_raw()));
    }
}

impl Deref for Recording<'_> {
    type Target = Template;

    fn deref(&self) -> &Template {
        self.template
    }
}

impl fmt::Debug for Recording<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("template", self.template).finish_non_exhaustive()
    }
}
