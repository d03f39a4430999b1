//! Nodes: the fields for parameters, and functions that add nodes one by one.

use super::Template;
use crate::arguments::{Arguments, Parameters};
use crate::call::call;
use crate::callback::contained;
use crate::copy::fill_bits;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::handle::c_string;
use crate::kernel::{BoundKernel, Launch};
use crate::memory::{DeviceSlice, MemoryUser};
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A node of a template or of a recording: its number there, from 1, in the order in which nodes were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Node(NonZeroU32);

impl Node {
    /// 0 is no node.
    pub(super) fn of(number: u32, function: &'static str) -> Result<Self> {
        let none = || Error::new(ErrorKind::NotFound, function, "there is no such node, or there are several");
        NonZeroU32::new(number).map(Self).ok_or_else(none)
    }

    /// The node with this number, for imported graphs. The number isn't compared with any template's nodes.
    ///
    /// [`ErrorKind::NotFound`]: the number is 0.
    pub fn nth(number: u32) -> Result<Self> {
        Self::of(number, "gpo_template_import")
    }

    /// The number, as in errors and reports.
    pub fn number(self) -> u32 {
        self.0.get()
    }

    /// Argument `index` of a kernel, from 0. A [`Slice`](crate::Slice) is two arguments. An address is a `u64`.
    pub fn argument<T: Pod>(self, index: u32) -> Field<T> {
        Field { index, ..self.field(sys::GPO_PARAMETER_ARGUMENT) }
    }

    /// How many blocks a kernel has.
    pub fn grid(self) -> Field<[u32; 3]> {
        self.field(sys::GPO_PARAMETER_GRID)
    }

    /// How many threads a block of a kernel has.
    pub fn block(self) -> Field<[u32; 3]> {
        self.field(sys::GPO_PARAMETER_BLOCK)
    }

    /// The dynamic shared memory of a kernel's block, in bytes.
    pub fn dynamic_shared_bytes(self) -> Field<u32> {
        self.field(sys::GPO_PARAMETER_SHARED_BYTES)
    }

    /// Where a copy or fill writes: an address of the same kind of memory as was recorded.
    pub fn destination(self) -> Field<u64> {
        self.field(sys::GPO_PARAMETER_DESTINATION)
    }

    /// Where a copy reads: an address of the same kind of memory as was recorded.
    pub fn source(self) -> Field<u64> {
        self.field(sys::GPO_PARAMETER_SOURCE)
    }

    /// The length of a copy of one row, or of a fill, in bytes; not 0.
    pub fn bytes(self) -> Field<u64> {
        self.field(sys::GPO_PARAMETER_BYTES)
    }

    /// The value of a fill; if the elements are smaller, its low bytes.
    pub fn value(self) -> Field<u32> {
        self.field(sys::GPO_PARAMETER_VALUE)
    }

    /// Whether a kernel, copy or fill does anything: with 0 it does nothing.
    pub fn enabled(self) -> Field<u32> {
        self.field(sys::GPO_PARAMETER_ENABLED)
    }

    fn field<T>(self, what: u32) -> Field<T> {
        Field { node: self, what, index: 0, value: PhantomData }
    }
}

/// A field of a node, to be named by [`Template::parameter`], with values of type `T`.
pub struct Field<T> {
    pub(super) node: Node,
    pub(super) what: u32,
    pub(super) index: u32,
    value: PhantomData<fn(T) -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Field");
        out.field("node", &self.node.number()).field("what", &self.what).field("index", &self.index).finish()
    }
}

/// `add!(template, after, function(arguments))`: calls a function that adds a node, and returns the node.
macro_rules! add {
    ($template:expr, $after:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        // A Node is its number.
        let (after, count, mut node) = ($after.as_ptr().cast::<u32>(), $after.len() as u32, 0);
        call!($function($template.as_raw(), after, count, $($argument,)* &mut node))
            .and_then(|()| Node::of(node, concat!("gpo_", stringify!($function))))
    }};
}

pub(super) use add;

/// # Building node by node
///
/// `after` are the nodes that the new node comes after. During a recording, these functions add to the recording.
///
/// For all of them: [`ErrorKind::InvalidArgument`] if a node of `after` isn't in this template or is named twice;
/// [`ErrorKind::InvalidState`] if a graph of the template was made: record the template anew, or
/// [`clear`](Template::clear) it first.
impl Template {
    /// Adds a kernel: as [`BoundKernel::launch`].
    ///
    /// # Safety
    ///
    /// The requirements of [`record`](Template::record) hold.
    pub unsafe fn add_kernel<P: Parameters>(
        &self,
        after: &[Node],
        kernel: &BoundKernel<P>,
        launch: &Launch<'_>,
        arguments: impl Arguments<P>,
    ) -> Result<Node> {
        let mut added = None;
        arguments.pass(MemoryUser::Node(self.device()), |pointers| {
            let (pointers, sizes, count) = (pointers.as_ptr(), P::SIZES.as_ptr(), P::SIZES.len() as u32);
            let kernel = kernel.kernel().as_raw();
            added = Some(add!(self, after, template_add_kernel(kernel, launch.raw(), pointers, sizes, count))?);
            Ok(())
        })?;
        Ok(added.expect("the arguments were passed"))
    }

    /// Adds a copy. Addresses may be of device memory or of pinned host memory.
    ///
    /// [`ErrorKind::InvalidArgument`]: an address is of pageable memory, or the copy isn't within its memory.
    ///
    /// # Safety
    ///
    /// The requirements of [`record`](Template::record) hold.
    pub unsafe fn add_copy(&self, after: &[Node], source: u64, destination: u64, bytes: u64) -> Result<Node> {
        let mut copy = sys::gpo_copy::new();
        copy.source = source;
        copy.destination = destination;
        copy.bytes = bytes;
        add!(self, after, template_add_copy(&copy))
    }

    /// Adds a fill: as [`Stream::fill`](crate::Stream::fill).
    ///
    /// # Safety
    ///
    /// The requirements of [`record`](Template::record) hold.
    pub unsafe fn add_fill<'a, T: Pod>(
        &self,
        after: &[Node],
        destination: impl Into<DeviceSlice<'a, T>>,
        value: T,
    ) -> Result<Node> {
        let destination = destination.into();
        destination.given_to_node(self.device(), "gpo_template_add_fill")?;
        let (element, count) = (size_of::<T>() as u32, destination.len() as u64);
        add!(self, after, template_add_fill(destination.address(), fill_bits(value), element, count))
    }

    /// Adds a node that does nothing, to join others.
    pub fn add_empty(&self, after: &[Node]) -> Result<Node> {
        add!(self, after, template_add_empty())
    }

    /// Adds a recording of an event: each launch of the graph records the event when it reaches this node. Streams, the
    /// host and other graphs can wait for the recording, and [`Event::since`] times the part of the graph between two
    /// recordings.
    pub fn add_event_record(&self, after: &[Node], event: &Event) -> Result<Node> {
        add!(self, after, template_add_event_record(event.as_raw()))
    }

    /// Adds a wait: later nodes wait, on the GPU, for the newest recording of `event` at the graph's launch.
    pub fn add_event_wait(&self, after: &[Node], event: &Event) -> Result<Node> {
        add!(self, after, template_add_event_wait(event.as_raw()))
    }

    /// Adds a call of a closure, on a thread of the driver. The closure must not block, and must not call CUDA. The
    /// closure may signal and fail timelines, finish host calls and post closures to executors
    /// ([`Executor::post`](crate::Executor::post)). Calls of this crate that need the driver are refused with
    /// [`ErrorKind::WouldDeadlock`], and objects dropped in the closure are leaked. Several launches may call the
    /// closure at the same time. A panic ends the call and is not reported.
    ///
    /// The runtime keeps the closure until its shutdown, since the last call by a graph can't be known. The launch of a
    /// graph with host calls may block until the graph's earlier launch is done.
    pub fn add_host_call(&self, after: &[Node], closure: impl Fn() + Send + Sync + 'static) -> Result<Node> {
        let closure = Arc::new(closure);
        let (function, user) = (function_of(&closure), Arc::as_ptr(&closure).cast_mut().cast());
        let node = add!(self, after, template_add_host_call(function, user))?;
        self.device().runtime().inner.keep(Box::new(closure));
        Ok(node)
    }

    /// Adds copies of all nodes of `child`, with its conditional nodes and their bodies. The returned node stands for
    /// their end. Parameters of `child` become parameters of this template, called `prefix` and the child's name
    /// ([`find_parameter`](Self::find_parameter)); parameters of several children with one name are set together.
    ///
    /// [`ErrorKind::NotSupported`]: `child` has a node that can't be copied: an allocation or free of memory, or a node
    /// of another library that the driver doesn't describe in full. Or this template is a body, and `child` has a node
    /// that a body can't have. The message names the node.
    pub fn add_child(&self, after: &[Node], child: &Self, prefix: &str) -> Result<Node> {
        let prefix = c_string(prefix, "gpo_template_add_child")?;
        add!(self, after, template_add_child(child.as_raw(), prefix.as_ptr()))
    }
}

fn function_of<F: Fn() + Send + Sync + 'static>(_: &Arc<F>) -> sys::gpo_host_node_fn {
    Some(called::<F>)
}

/// `user` is an `F` that the runtime keeps.
unsafe extern "C" fn called<F: Fn() + Send + Sync + 'static>(user: *mut c_void) {
    // SAFETY: see above.
    let closure = unsafe { &*user.cast::<F>() };
    let _ = contained(closure);
}
