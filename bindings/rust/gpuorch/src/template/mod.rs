//! Graph templates: work that is recorded once, patched by name, and launched for little.
//!
//! A [`Template`] is a graph of nodes: kernels, copies, fills and more, and what has to be done before what. It is
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
//! // SAFETY: `x` is dropped when all launches are done. The kernel takes any factor.
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
//! A template and its graphs keep the kernels and events alive that their nodes use, and closures. Rust can't see which
//! memory nodes use: a buffer can be dropped while there is a graph that writes to it. So recording work, adding kernels,
//! copies and fills, and naming parameters are unsafe. Launching a graph is safe: whoever has recorded its work answers
//! for it.
//!
//! # Decisions
//!
//! A template can have conditional nodes, which run bodies or don't, or again and again: [`Template::add_if`],
//! [`Template::add_while`], [`Template::add_switch`]. Kernels can launch graphs: [`Graph::device_handle`].
//!
//! # Threads
//!
//! Only the thread that began a recording may use the streams of a recording, add to the template, and end it; calls of
//! other threads are refused. A graph may be set and launched by any thread. Launches of one graph run one after the
//! other, on whichever streams. Make several graphs, or use [`Template::launch`], to have several run at the same time.

mod conditional;
mod device_launch;
mod graph;
mod node;
mod parameter;
mod recording;

pub use conditional::{Condition, LoopRuns};
pub use device_launch::DeviceGraph;
pub use graph::{Graph, GraphBuilder};
pub use node::{Field, Node};
pub use parameter::{Parameter, Setting};
pub use recording::Recording;

use crate::builder::builder;
use crate::call::call;
use crate::device::Device;
use crate::done::Enqueued;
use crate::error::Result;
use crate::figures::TemplateStatistics;
use crate::handle::{Owned, c_string};
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::mem::size_of;
use std::sync::Arc;

/// A graph of nodes that is recorded, or built, and then launched as often as wanted. Clones are the same template.
///
/// Dropping the last clone discards a recording. Graphs of the template keep it.
#[derive(Clone)]
pub struct Template {
    inner: Arc<Owned<sys::gpo_template_t, Device>>,
}

builder! {
    /// Options of a template.
    TemplateBuilder of Template: template_create(Device, gpo_template_options);
    fields {
        /// The most graphs that [`Template::launch`] makes; by default 64.
        max_instances: u32,
    }
    flags {}
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

    /// Removes all nodes and parameters, so that the template can be built anew. Its graphs keep what they have until
    /// [`Graph::update`].
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState): the template is being recorded.
    pub fn clear(&self) -> Result<()> {
        call!(template_clear(self.as_raw()))
    }

    /// What the template has, and what became of its graphs.
    pub fn statistics(&self) -> Result<TemplateStatistics> {
        let mut statistics = TemplateStatistics::empty();
        call!(template_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// The `CUgraph` behind the template, to be read, copied and instantiated. The library owns it: don't change it. It
    /// is valid until the template is recorded anew, cleared or dropped.
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState): the template is being recorded.
    pub fn native(&self) -> Result<*mut c_void> {
        let mut native = std::ptr::null_mut();
        call!(template_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }

    /// Launches the template on `stream`, with the values of `settings`, and what was recorded for all other parameters.
    ///
    /// Each stream gets a graph of its own, made at the first launch there. So launches on different streams run beside
    /// each other, and any number of them can be in flight. Streams beyond
    /// [`max_instances`](TemplateBuilder::max_instances) share graphs. These graphs are updated to the newest recording by
    /// themselves. Doesn't wait for the GPU.
    pub fn launch<'s>(&self, stream: &'s Stream, settings: &[Setting]) -> Result<Enqueued<'s>> {
        const STRIDE: u64 = size_of::<sys::gpo_setting>() as u64;
        parameter::with_raw(self, settings, "gpo_template_launch", |raw| {
            call!(template_launch(self.as_raw(), stream.as_raw(), raw.as_ptr(), STRIDE, raw.len() as u64))
        })?;
        Ok(Enqueued { stream })
    }

    /// Makes graphs ahead for streams that will come, until there are `count`, and uploads them on `stream`.
    pub fn prepare<'s>(&self, count: u32, stream: &'s Stream) -> Result<Enqueued<'s>> {
        call!(template_prepare(self.as_raw(), count, stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_template_t {
        self.inner.raw
    }
}
