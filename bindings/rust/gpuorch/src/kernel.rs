//! Kernels and their launch.

use crate::arguments::{Arguments, Parameters};
use crate::call::call;
use crate::done::Enqueued;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::{Object, Owned};
use crate::memory::MemoryUser;
use crate::module::Module;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A kernel whose parameters aren't known yet: see [`bind`](Self::bind). Clones are the same kernel.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Owned<sys::gpo_kernel_t, Module>>,
}

impl Kernel {
    pub(crate) fn new(module: &Module, raw: sys::gpo_kernel_t) -> Self {
        Self { inner: Arc::new(Owned { raw, parent: module.clone() }) }
    }

    /// The kernel's module.
    pub fn module(&self) -> &Module {
        &self.inner.parent
    }

    /// Declares the types of the kernel's parameters, which makes launches safe. The number and sizes of the parameters
    /// are checked if the driver knows them (CUDA 12.4 or newer, and the software GPU).
    ///
    /// # Safety
    ///
    /// For all arguments of these types, and for all shapes of the launch, the kernel
    /// - takes the arguments as its parameters, in this order and of these sizes: an address for a
    ///   [`DeviceBuffer<T>`](crate::DeviceBuffer), an address and an `unsigned long long` for a
    ///   [`Slice<T>`](crate::Slice);
    /// - accesses no memory but its own and the given buffers, within their lengths: for all numbers of a
    ///   [`Range`](crate::queue::Range), and all bytes of a ring's tasks;
    /// - leaves values of the right types in the buffers: any bytes, since `T` is `Pod`;
    /// - uses queues by the functions of `gpuorch/device/queue.cuh` alone, with tasks and answers of the sizes in the
    ///   queues' types;
    /// - uses [symmetric memory](crate::peers::Symmetric) within its length, on all ranks, and otherwise by the functions
    ///   of `gpuorch/device/peer.cuh` and `gpuorch/device/steal.cuh` alone.
    ///
    /// Without this promise nothing can be bound or launched:
    ///
    /// ```compile_fail,E0133
    /// # fn bind(kernel: gpuorch::Kernel) {
    /// let halve = kernel.bind::<(gpuorch::Slice<f32>,)>();
    /// # }
    /// ```
    ///
    /// A kernel that takes an address and a separate count relies on every caller of [`BoundKernel::launch`] to pass
    /// the right count. Give it a `Slice` instead.
    pub unsafe fn bind<P: Parameters>(&self) -> Result<BoundKernel<P>> {
        if let Some(own) = self.parameter_sizes()? {
            let given: Vec<u64> = P::SIZES.iter().map(|&size| size.into()).collect();
            if own != given {
                let (name, own, given) = (self.name().unwrap_or_default(), listed(&own), listed(&given));
                let message = format!("kernel `{name}` has {own}, and the types given are {given} (a `Slice` is two)");
                return Err(Error::new(ErrorKind::InvalidArgument, "Kernel::bind", message));
            }
        }
        Ok(BoundKernel { kernel: self.clone(), parameters: PhantomData })
    }

    /// The sizes of all parameters; `None` if the driver doesn't know them.
    fn parameter_sizes(&self) -> Result<Option<Vec<u64>>> {
        // The count is 0 also if the driver doesn't know it: then ask for the first parameter.
        let count = self.attributes()?.parameter_count;
        let sizes = (0..count.max(1)).map(|index| self.parameter(index).map(|(_, bytes)| bytes));
        match sizes.collect::<Result<_>>() {
            Ok(sizes) => Ok(Some(sizes)),
            Err(error) if error.kind() == ErrorKind::NotSupported => Ok(None),
            Err(error) if error.kind() == ErrorKind::InvalidArgument && count == 0 => Ok(Some(Vec::new())),
            Err(error) => Err(error),
        }
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_kernel_t {
        self.inner.raw
    }
}

/// "2 parameters, of 8 and 4 bytes"
fn listed(sizes: &[u64]) -> String {
    let texts: Vec<String> = sizes.iter().map(u64::to_string).collect();
    match &*texts {
        [] => "no parameters".to_owned(),
        [one] => format!("1 parameter, of {one} bytes"),
        [most @ .., last] => format!("{} parameters, of {} and {last} bytes", texts.len(), most.join(", ")),
    }
}

/// A kernel with known parameters, which can be launched. See [`Kernel::bind`].
pub struct BoundKernel<P: Parameters> {
    kernel: Kernel,
    parameters: PhantomData<fn(P)>,
}

impl<P: Parameters> BoundKernel<P> {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Puts the kernel on a stream, with values for its parameters. Allocates nothing.
    ///
    /// ```compile_fail
    /// # fn launch(halve: gpuorch::BoundKernel<(gpuorch::Slice<f32>,)>, stream: gpuorch::Stream,
    /// #           wrong: gpuorch::DeviceBuffer<f64>) {
    /// // Bound to a slice of f32, it takes no buffer of f64:
    /// halve.launch(&stream, &gpuorch::Launch::new(1, 64), (&wrong,));
    /// # }
    /// ```
    pub fn launch<'s>(
        &self,
        stream: &'s Stream,
        launch: &Launch<'_>,
        arguments: impl Arguments<P>,
    ) -> Result<Enqueued<'s>> {
        arguments.pass(MemoryUser::Stream(stream), |pointers| {
            // By the promise of `bind` these are the kernel's parameters.
            let (pointers, sizes, count) = (pointers.as_ptr(), P::SIZES.as_ptr(), P::SIZES.len() as u32);
            call!(stream_launch_kernel(stream.as_raw(), self.kernel.as_raw(), &launch.raw, pointers, sizes, count))
        })?;
        Ok(Enqueued { stream })
    }
}

impl<P: Parameters> Clone for BoundKernel<P> {
    fn clone(&self) -> Self {
        Self { kernel: self.kernel.clone(), parameters: PhantomData }
    }
}

impl<P: Parameters> fmt::Debug for BoundKernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = std::any::type_name::<P>();
        let label = self.kernel.label().unwrap_or_default();
        f.debug_struct("BoundKernel").field("label", &label).field("parameters", &parameters).finish()
    }
}

/// Numbers of blocks or threads in up to three dimensions. Made from `x`, `(x, y)` or `(x, y, z)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(dim: [u32; 3]) -> Self {
        Self(dim)
    }
}

/// The shape of a launch; reusable.
#[derive(Clone, Copy)]
#[must_use = "a launch is only a shape"]
pub struct Launch<'a> {
    pub(crate) raw: sys::gpo_launch,
    label: PhantomData<&'a CStr>,
}

// SAFETY: the only pointer leads to a label, which any thread may read.
unsafe impl Send for Launch<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Launch<'_> {}

impl<'a> Launch<'a> {
    /// A launch of `grid` blocks of `block` threads.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        let mut raw = sys::gpo_launch::new();
        raw.grid = grid.into().0;
        raw.block = block.into().0;
        Self { raw, label: PhantomData }
    }

    pub(crate) fn raw(&self) -> &sys::gpo_launch {
        &self.raw
    }

    /// A launch with a thread for each of `n` elements, in blocks of `threads` threads.
    pub fn each(n: usize, threads: u32) -> Self {
        let blocks = n.div_ceil(threads.max(1) as usize).max(1);
        Self::new(u32::try_from(blocks).unwrap_or(u32::MAX), threads)
    }

    /// How many blocks make a cluster.
    pub fn cluster(mut self, blocks: impl Into<Dim3>) -> Self {
        self.raw.cluster = blocks.into().0;
        self
    }

    /// A priority for this launch instead of the stream's.
    pub fn priority(mut self, priority: i32) -> Self {
        self.raw.flags |= sys::GPO_LAUNCH_PRIORITY;
        self.raw.priority = priority;
        self
    }

    /// The operation's name in errors and traces, instead of the kernel's. Each launch reads it:
    ///
    /// ```compile_fail,E0597
    /// let launch = {
    ///     let label = std::ffi::CString::new("blur").unwrap();
    ///     gpuorch::Launch::new(1, 64).label(&label)
    /// };
    /// println!("{launch:?}");
    /// ```
    pub fn label(mut self, label: &'a CStr) -> Self {
        self.raw.label = label.as_ptr();
        self
    }
}

impl fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("grid", &self.raw.grid).field("block", &self.raw.block).finish_non_exhaustive()
    }
}
