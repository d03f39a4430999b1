//! Graph templates: work that is recorded once, patched by name, and launched for little.
//!
//! A [`Template`] is a graph of nodes (kernels, copies, fills and more) with the order between them. Templates are
//! recorded from streams, or built node by node. A [`Graph`] is an instance of a template. A launch of a graph puts all
//! of its nodes on a stream with one call.
//!
//! ```
//! use gpuorch::{Launch, Slice, template::Parameter};
//! # let runtime = gpuorch::Runtime::new()?;
//! # let device = runtime.open_device()?;
//! let module = device.compile(
//!     r#"extern "C" __global__ void scale(unsigned *x, unsigned long long n, unsigned factor) {
//!            unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
//!            if (i < n) x[i] *= factor;
//!        }"#,
//! )?;
//! // SAFETY: its parameters are an address, a count that it stays below, and an unsigned.
//! let scale = unsafe { module.kernel("scale")?.bind::<(Slice<u32>, u32)>()? };
//! let x = device.buffer::<u32>(1000)?;
//! let stream = device.stream()?;
//!
//! let step = device.template()?;
//! // SAFETY: the graphs hold `x`, which the host doesn't access. The kernel takes any factor.
//! let factor = unsafe {
//!     step.record(&stream, |rec| {
//!         stream.fill(&x, 7)?; // is recorded, and doesn't run
//!         scale.launch(&stream, &Launch::each(1000, 256), (&x, 1))?;
//!         let node = rec.last_node(&stream)?;
//!         let factor: Parameter<u32> = rec.parameter("factor", node.argument(2))?;
//!         Ok(factor)
//!     })?
//! };
//!
//! let graph = step.graph()?;
//! graph.set(&factor, 2)?;
//! graph.launch(&stream)?;
//! assert_eq!(stream.copy_to_host(&x, vec![0; 1000])?.wait()?, [14; 1000]);
//! // Or without a graph of one's own: each stream has one then.
//! step.launch(&stream, &[factor.value(3)])?;
//! assert_eq!(stream.copy_to_host(&x, vec![0; 1000])?.wait()?, [21; 1000]);
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Memory
//!
//! A template and its graphs keep alive the kernels, events and closures of their nodes. A graph also *holds* the memory
//! that it refers to, from the moment when it is made or set. Buffers and pinned vectors with this memory can be dropped
//! at any time. The memory is freed when the last graph that holds it is dropped or set to other memory, and its launches
//! are done. The graphs of [`Template::launch`] hold memory as long as the template. A template without graphs holds
//! none.
//!
//! A graph refers to the addresses of its copies and fills, and to the addresses among its kernels' arguments. An
//! argument of 8 bytes counts as an address. In a larger argument, each word of 8 bytes (at a multiple of 8) counts if
//! the word is an address in memory of the library.
//!
//! A graph does not hold:
//! - Memory to which only other memory points, or an address at another place in an argument.
//! - Memory of other origin: [registered](Device::register_memory) memory, for example.
//! - The word of a [`Condition`].
//! - [Queues](crate::queue) and [symmetric memory](crate::peers).
//! - Memory that a launch on a [resident](crate::StreamBuilder::resident) stream still uses when the graph is dropped or
//!   set to other memory.
//!
//! Rust can't see which memory nodes use, nor whether the host accesses it meanwhile. Recording work, adding kernels,
//! copies and fills, and naming parameters are therefore unsafe: see [`Template::record`]. Launching a graph is safe: the
//! code that recorded its work is responsible.
//!
//! A template can own memory too: [`Template::buffer`], [`Template::pinned`].
//!
//! # Decisions
//!
//! A template can have conditional nodes, which run bodies once, repeatedly or not at all: [`Template::add_if`],
//! [`Template::add_while`], [`Template::add_switch`]. Kernels can launch graphs: [`Graph::device_handle`].
//!
//! # Shapes
//!
//! A graph has the recorded sizes. [`Buckets`] have a template for each shape of a table, and run a request of any size
//! in the smallest shape that it fits into.
//!
//! # Threads
//!
//! Only the thread that began a recording may use the streams of a recording, add to the template, and end it; calls of
//! other threads are refused. A graph may be set and launched by any thread. Launches of one graph run one after the
//! other, on all streams. To run several at the same time, make several graphs, or use [`Template::launch`].

mod bucket_work;
mod buckets;
mod conditional;
mod device_launch;
mod graph;
mod memory;
mod node;
mod parameter;
mod recording;

pub use crate::generated::{BucketPhase, PictureFormat};
pub use bucket_work::{BucketParameter, BucketWork};
pub use buckets::{Buckets, BucketsBuilder};
pub use conditional::{Condition, LoopRuns};
pub use device_launch::DeviceGraph;
pub use graph::{Graph, GraphBuilder};
pub use node::{Field, Node};
pub use parameter::{Parameter, Setting};
pub use recording::Recording;

use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::done::Enqueued;
use crate::error::Result;
use crate::handle::{Owned, Raw, c_string};
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::mem::size_of;
use std::sync::Arc;

/// A graph of nodes that is recorded, or built, and then launched any number of times. Clones are the same template.
///
/// Dropping the last clone discards a recording. Graphs of the template keep it alive.
#[derive(Clone)]
pub struct Template {
    inner: Arc<Owned<Handle, Device>>,
}

/// A template's handle, and whether it is only lent: a bucket's template is the library's to destroy.
#[derive(Clone, Copy)]
struct Handle {
    raw: sys::gpo_template_t,
    lent: bool,
}

impl From<sys::gpo_template_t> for Handle {
    fn from(raw: sys::gpo_template_t) -> Self {
        Self { raw, lent: false }
    }
}

impl Raw for Handle {
    fn destroy(self) {
        if !self.lent {
            // Fails only if the template was destroyed with its runtime.
            let _ = status!(template_destroy(self.raw));
        }
    }
}

builder! {
    /// Options of a template.
    TemplateBuilder of Template: template_create(Device, gpo_template_options);
}

impl TemplateBuilder<'_> {
    /// Makes a template of a `CUgraph` of the program or of another library. The `CUgraph` is copied and stays its
    /// owner's; later changes to it don't change the template. Nodes have numbers in the order in which
    /// `cuGraphGetNodes` lists them: [`Node::nth`]. A kernel node's label is the kernel's name
    /// ([`Template::find_node`]).
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): `native` is NULL or unknown to the driver.
    /// [`ErrorKind::NotSupported`](crate::ErrorKind::NotSupported): the graph has a node that the driver can't copy;
    /// the message names the node.
    ///
    /// # Safety
    ///
    /// `native` is a graph of this device's context, or NULL. Kernels and memory that its nodes use stay valid for as
    /// long as graphs of the template may run, and what [`record`](Template::record) asks for holds.
    pub unsafe fn import(self, native: *mut c_void) -> Result<Template> {
        let mut raw = std::ptr::null_mut();
        call!(template_import(self.parent.as_raw(), native, self.options.checked("gpo_template_import")?, &mut raw))?;
        Ok(Template { inner: Arc::new(Owned { raw: raw.into(), parent: self.parent.clone() }) })
    }
}

impl Device {
    /// An empty template for graphs on this device.
    pub fn template(&self) -> Result<Template> {
        self.template_builder().build()
    }

    /// For a template with options.
    pub fn template_builder(&self) -> TemplateBuilder<'_> {
        TemplateBuilder::new(self)
    }
}

impl Template {
    /// A bucket's template. After the bucket was evicted, calls on it fail.
    fn lent(raw: sys::gpo_template_t, device: &Device) -> Self {
        Self { inner: Arc::new(Owned { raw: Handle { raw, lent: true }, parent: device.clone() }) }
    }

    /// The template's device.
    pub fn device(&self) -> &Device {
        &self.inner.parent
    }

    /// Finds a node by its label: that of the [`Launch`](crate::Launch), or the kernel's.
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound): no node has this label.
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): several have it.
    pub fn find_node(&self, label: &str) -> Result<Node> {
        const FUNCTION: &str = "gpo_template_find_node";
        let label = c_string(label, FUNCTION)?;
        let mut node = 0;
        call!(template_find_node(self.as_raw(), label.as_ptr(), &mut node))?;
        Node::of(node, FUNCTION)
    }

    /// Launches the template on `stream`, with the values of `settings`, and the recorded values of all other
    /// parameters.
    ///
    /// Each stream gets a graph of its own, made at the first launch there. Launches on different streams therefore run
    /// beside each other, and any number of them can be in flight. Streams beyond
    /// [`max_instances`](TemplateBuilder::max_instances) share graphs. The library updates all these graphs to the
    /// newest recording. Doesn't wait for the GPU.
    pub fn launch<'s>(&self, stream: &'s Stream, settings: &[Setting]) -> Result<Enqueued<'s>> {
        const STRIDE: u64 = size_of::<sys::gpo_setting>() as u64;
        parameter::with_raw(Some(self), settings, "gpo_template_launch", |raw| {
            call!(template_launch(self.as_raw(), stream.as_raw(), raw.as_ptr(), STRIDE, raw.len() as u64))
        })?;
        Ok(Enqueued { stream })
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_template_t {
        self.inner.raw.raw
    }
}
