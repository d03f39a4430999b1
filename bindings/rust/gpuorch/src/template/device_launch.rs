//! Graphs that kernels launch.

use super::Graph;
use crate::arguments::{Argument, Parameter};
use crate::call::call;
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryUser;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::mem::size_of;

/// The handle by which kernels launch a graph: the argument for a kernel's `gpo::device_graph`
/// (`gpuorch/device/graph.cuh`), 16 bytes. See [`Graph::device_handle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DeviceGraph {
    native: u64,
    status: u64,
}

const _: () = assert!(size_of::<DeviceGraph>() == 16);

impl DeviceGraph {
    /// The graph: a `CUgraphExec`.
    pub fn native(self) -> u64 {
        self.native
    }

    /// The address of the word that gets the last failure of a launch.
    pub fn status(self) -> u64 {
        self.status
    }
}

// SAFETY: one parameter, the value itself.
unsafe impl Parameter for DeviceGraph {
    type Value = Self;
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [size_of::<Self>() as u32, 0];

    fn point_to(value: &Self, pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: the value is no address of a buffer.
unsafe impl Argument<DeviceGraph> for DeviceGraph {
    fn value(self, _: MemoryUser<'_>) -> Result<Self> {
        Ok(self)
    }
}

/// # Launches by kernels
///
/// A kernel in a graph can launch other graphs that were made with
/// [`device_launch`](super::GraphBuilder::device_launch).
///
/// ```
/// use gpuorch::{Launch, template::DeviceGraph};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let (device, stream) = { let device = runtime.open_device()?; let stream = device.stream()?; (device, stream) };
/// let module = device.compile(
///     r#"#include <gpuorch/device/graph.cuh>
///        extern "C" __global__ void go(gpo::device_graph next) { gpo::launch_tail(next); }"#,
/// )?;
/// // SAFETY: its parameter is a gpo::device_graph.
/// let go = unsafe { module.kernel("go")?.bind::<(DeviceGraph,)>()? };
/// let x = device.buffer::<u32>(1)?;
///
/// let (next, first) = (device.template()?, device.template()?);
/// // SAFETY: the graph holds `x`, which the host doesn't access.
/// unsafe { next.add_fill(&[], &x, 7)? };
/// let next = next.graph_builder().device_launch().build()?;
/// // SAFETY: `next` isn't rebuilt, and is dropped when all launches are done.
/// unsafe { first.add_kernel(&[], &go, &Launch::new(1, 1), (next.device_handle()?,))? };
/// first.graph()?.launch(&stream)?;
/// assert_eq!(stream.copy_to_host(&x, vec![0])?.wait()?, [7]);
/// assert_eq!(next.device_status()?, None);
/// # Ok::<(), gpuorch::Error>(())
/// ```
impl Graph {
    /// The handle by which kernels launch the graph. Set values and updates reach launches by kernels with the next
    /// [`upload`](Self::upload) or [`launch`](Self::launch).
    ///
    /// [`ErrorKind::InvalidState`]: the graph was made without [`device_launch`](super::GraphBuilder::device_launch).
    ///
    /// # Safety
    ///
    /// The graph is neither dropped nor rebuilt by [`update`](Self::update) before the last kernel with the handle is
    /// done.
    pub unsafe fn device_handle(&self) -> Result<DeviceGraph> {
        let mut handle = DeviceGraph { native: 0, status: 0 };
        call!(graph_get_device_handle(self.as_raw(), &mut handle.native, &mut handle.status))?;
        Ok(handle)
    }

    /// The last failure of a launch by a kernel since the last call; `None` if there was none.
    ///
    /// [`ErrorKind::LimitExceeded`]: a launch too many: a run of a graph may make 120 fire-and-forget and 255 tail
    /// launches, and this graph can be launched once at a time. [`ErrorKind::InvalidArgument`]: anything else.
    ///
    /// `Err` with [`ErrorKind::InvalidState`]: the graph was made without
    /// [`device_launch`](super::GraphBuilder::device_launch).
    pub fn device_status(&self) -> Result<Option<ErrorKind>> {
        let mut status = sys::GPO_SUCCESS;
        call!(graph_get_device_status(self.as_raw(), &mut status))?;
        Ok((status != sys::GPO_SUCCESS).then(|| ErrorKind::of(status)))
    }
}
