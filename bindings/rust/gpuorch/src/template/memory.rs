//! Memory that templates own.

use super::node::add;
use super::{Node, Template};
use crate::arena::PinnedVec;
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{DeviceBuffer, bytes_of};
use bytemuck::Pod;
use std::ptr::NonNull;

/// # Memory of a template
///
/// A template can own memory, which keeps its addresses. The memory is freed with the last of: the template, the graphs
/// of the template and of templates that have it as a child, and the launches of these graphs; and when all work on
/// streams is done. Buffers and vectors of the memory keep the template alive.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let (device, stream) = { let device = runtime.open_device()?; let stream = device.stream()?; (device, stream) };
/// let template = device.template()?;
/// let (scratch, result) = (template.buffer::<u32>(100)?, template.pinned::<u32>(100)?);
/// // SAFETY: the memory is the template's, and `result` is read when the launch is done.
/// unsafe {
///     let fill = template.add_fill(&[], &scratch, 7)?;
///     template.add_copy(&[fill], scratch.address(), result.as_ptr() as u64, 400)?;
/// }
/// template.launch(&stream, &[])?.wait()?;
/// assert_eq!(result[99], 7);
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// For both: [`ErrorKind::OutOfMemory`] if too little memory is left; [`ErrorKind::InvalidState`] for the template of a
/// bucket, which the library destroys when it evicts the bucket.
impl Template {
    /// Device memory for `len` elements with arbitrary contents. Serialises the device.
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        const FUNCTION: &str = "gpo_template_allocate";
        self.require_own(FUNCTION)?;
        let (bytes, mut address) = (bytes_of::<T>(len, FUNCTION)?, 0);
        if bytes != 0 {
            call!(template_allocate(self.as_raw(), bytes, &mut address))?;
        }
        Ok(DeviceBuffer::of_template(len, address, self))
    }

    /// A vector of `len` zeros in pinned host memory, which kernels use at the same address. Serialises the device.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedVec<T>> {
        const FUNCTION: &str = "gpo_template_allocate_host";
        self.require_own(FUNCTION)?;
        let bytes = bytes_of::<T>(len, FUNCTION)?;
        if bytes > isize::MAX as u64 {
            return Err(Error::new(ErrorKind::InvalidArgument, FUNCTION, format!("{len} elements are too many")));
        }
        let mut vec = PinnedVec::of_template(len, self, || {
            let mut memory = std::ptr::null_mut();
            call!(template_allocate_host(self.as_raw(), bytes, &mut memory))?;
            NonNull::new(memory.cast::<T>()).filter(|memory| memory.is_aligned()).ok_or_else(|| misaligned(FUNCTION))
        })?;
        vec.fill(T::zeroed());
        Ok(vec)
    }

    /// Adds an allocation: device memory for `len` elements that exists while the graph runs, from this node to the
    /// node of [`add_free`](Self::add_free), at the same address in every launch. Graphs that don't run at once may
    /// share the physical memory. Only nodes that are added one by one can use the memory; work on streams is refused.
    ///
    /// Until each allocation has a free, graphs are refused with [`ErrorKind::InvalidState`]. A template with
    /// allocations has one graph at a time, shared by all streams of [`launch`](Self::launch). The template can't be a
    /// child, and kernels can't launch its graphs.
    ///
    /// [`ErrorKind::NotSupported`]: the device has no memory pools, or the template is a body.
    /// [`ErrorKind::InvalidArgument`]: `len` is 0, or too much.
    pub fn add_allocation<T: Pod>(&self, after: &[Node], len: usize) -> Result<(DeviceBuffer<T>, Node)> {
        let (bytes, mut address) = (bytes_of::<T>(len, "gpo_template_add_allocation")?, 0);
        let node = add!(self, after, template_add_allocation(bytes, &mut address))?;
        Ok((DeviceBuffer::of_nodes(len, address), node))
    }

    /// Adds the end of the memory of [`add_allocation`](Self::add_allocation).
    ///
    /// [`ErrorKind::InvalidArgument`]: no node of this template allocates the memory, a node frees it already, or the
    /// new node would not come after the allocation.
    ///
    /// # Safety
    ///
    /// All nodes that use the memory come before the new node.
    pub unsafe fn add_free<T: Pod>(&self, after: &[Node], memory: &DeviceBuffer<T>) -> Result<Node> {
        add!(self, after, template_add_free(memory.address()))
    }

    fn require_own(&self, function: &'static str) -> Result<()> {
        if !self.inner.raw.lent {
            return Ok(());
        }
        let message = "the memory of a bucket's template goes with the bucket: take memory of the device's";
        Err(Error::new(ErrorKind::InvalidState, function, message))
    }
}

fn misaligned(function: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, function, "the elements' alignment is greater than the memory's")
}
