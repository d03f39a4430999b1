//! Decisions on the GPU: nodes that run other templates, or don't.

use super::node::add;
use super::{Graph, Node, Template};
use crate::call::call;
use crate::error::Result;
use crate::handle::Owned;
use gpuorch_sys as sys;
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;

/// The condition of a conditional node: a comparison of a 32-bit word with a constant, or a kernel's decision.
///
/// A word is given by its address, a multiple of 4, in device or pinned memory. Comparisons are unsigned.
#[derive(Clone, Copy)]
#[must_use = "a condition decides nothing until a node is added with it"]
pub struct Condition(sys::gpo_condition);

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: $comparison:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(word: u64, constant: u32) -> Self {
            Self::new(sys::$comparison, word, constant)
        }
    )*};
}

impl Condition {
    fn new(comparison: u32, word: u64, constant: u32) -> Self {
        let mut condition = sys::gpo_condition::new();
        condition.comparison = comparison;
        condition.word = word;
        condition.constant = constant;
        Self(condition)
    }

    comparisons! {
        /// The word is the constant.
        equal: GPO_COMPARE_EQUAL;
        /// The word isn't the constant.
        not_equal: GPO_COMPARE_NOT_EQUAL;
        /// The word is less than the constant.
        less: GPO_COMPARE_LESS;
        /// The word is the constant or greater.
        greater_equal: GPO_COMPARE_GREATER_EQUAL;
    }

    /// The word itself: the number of a switch's body, or whether the word isn't 0.
    pub fn value(word: u64) -> Self {
        Self::new(sys::GPO_COMPARE_VALUE, word, 0)
    }

    /// A kernel sets the condition: [`Template::bind_condition`]. When the graph starts, the condition is `initial`.
    pub fn kernel(initial: u32) -> Self {
        let mut condition = Self::new(sys::GPO_COMPARE_KERNEL, 0, 0);
        condition.0.initial = initial;
        condition
    }

    /// A while ends after its body ran this many times: at most, and by default, 2^32 - 1.
    pub fn max_iterations(mut self, count: u64) -> Self {
        self.0.max_iterations = count;
        self
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Condition");
        out.field("comparison", &self.0.comparison).field("word", &self.0.word).field("constant", &self.0.constant);
        out.field("initial", &self.0.initial).field("max_iterations", &self.0.max_iterations).finish()
    }
}

/// How a while ended: see [`Graph::loop_runs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopRuns {
    /// How often the body ran.
    pub iterations: u64,
    /// Whether [`Condition::max_iterations`] ended the loop. If a kernel sets the condition, also if the kernel ended
    /// it just then.
    pub limited: bool,
}

/// # Decisions on the GPU
///
/// A conditional node has *bodies*: templates of their own, which belong to the node and are recorded or built like any
/// other. A body may have kernels, copies, fills, empty nodes, child templates and conditional nodes. Other nodes are
/// refused when they are added, or, if they were recorded, when the recording ends. A body alone can't have a graph.
/// Parameters of bodies become parameters of the template when it gets its first graph: find them there by
/// [`find_parameter`](Template::find_parameter).
///
/// ```
/// use gpuorch::{DeviceBuffer, Launch, template::Condition};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let (device, stream) = { let device = runtime.open_device()?; let stream = device.stream()?; (device, stream) };
/// let module = device.compile(r#"extern "C" __global__ void add(unsigned *x, unsigned by) { *x += by; }"#)?;
/// // SAFETY: its parameters are the address of one element, and an unsigned.
/// let add = unsafe { module.kernel("add")?.bind::<(DeviceBuffer<u32>, u32)>()? };
/// let x = device.buffer::<u32>(1)?;
///
/// let template = device.template()?;
/// // SAFETY: `x`, whose element is the condition's word, is dropped when the launch is done.
/// let node = unsafe {
///     let fill = template.add_fill(&[], &x, 0)?;
///     let again = Condition::less(x.address(), 100).max_iterations(1000);
///     let (body, node) = template.add_while(&[fill], again)?;
///     body.add_kernel(&[], &add, &Launch::new(1, 1), (&x, 7))?;
///     node
/// };
/// let graph = template.graph()?;
/// graph.launch(&stream)?;
/// assert_eq!(stream.copy_to_host(&x, vec![0])?.wait()?, [105]);
/// assert_eq!(graph.loop_runs(&template, node)?.iterations, 15);
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// Functions that add a conditional node fail as [above](#building-node-by-node), and with:
/// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the condition is invalid: its word is in
/// pageable memory, or its address is no multiple of 4, or it has a limit and the node is no while.
/// [`ErrorKind::NotSupported`](crate::ErrorKind::NotSupported) if the driver has no such nodes (before CUDA 12.3; a
/// switch or an otherwise: before 12.8).
impl Template {
    /// Adds an if: its body runs if the condition isn't 0 when the graph gets to the node.
    ///
    /// # Safety
    ///
    /// Whenever a graph with the node runs, the condition's word is allocated, and not written by the host: as for
    /// [`record`](Template::record).
    pub unsafe fn add_if(&self, after: &[Node], condition: Condition) -> Result<(Template, Node)> {
        let mut body = null_mut();
        let node = add!(self, after, template_add_if(&condition.0, &mut body, null_mut()))?;
        Ok((self.body(body), node))
    }

    /// Adds an if with two bodies: the first runs if the condition isn't 0, the second otherwise.
    ///
    /// # Safety
    ///
    /// The requirements of [`add_if`](Self::add_if) hold.
    pub unsafe fn add_if_else(&self, after: &[Node], condition: Condition) -> Result<(Template, Template, Node)> {
        let (mut body, mut otherwise) = (null_mut(), null_mut());
        let node = add!(self, after, template_add_if(&condition.0, &mut body, &mut otherwise))?;
        Ok((self.body(body), self.body(otherwise), node))
    }

    /// Adds a while: its body runs repeatedly as long as the condition isn't 0. The condition is evaluated when the
    /// graph gets to the node and at the end of each run of the body. [`Graph::loop_runs`] says how often the body ran.
    ///
    /// A looping graph can't be stopped, and dropping it blocks until the loop ends: see [`Condition::max_iterations`].
    ///
    /// # Safety
    ///
    /// The requirements of [`add_if`](Self::add_if) hold.
    pub unsafe fn add_while(&self, after: &[Node], condition: Condition) -> Result<(Template, Node)> {
        let mut body = null_mut();
        let node = add!(self, after, template_add_while(&condition.0, &mut body))?;
        Ok((self.body(body), node))
    }

    /// Adds a switch with `count` bodies, 1 to 1024: the body whose number, from 0, equals the condition runs; no body
    /// if the condition is `count` or more.
    ///
    /// # Safety
    ///
    /// The requirements of [`add_if`](Self::add_if) hold.
    pub unsafe fn add_switch(&self, after: &[Node], condition: Condition, count: u32) -> Result<(Vec<Template>, Node)> {
        // At most 1024: the library refuses more before it writes any.
        let mut bodies = vec![null_mut(); count.min(1024) as usize];
        let node = add!(self, after, template_add_switch(&condition.0, bodies.as_mut_ptr(), count))?;
        Ok((bodies.into_iter().map(|body| self.body(body)).collect(), node))
    }

    /// Gives a kernel the condition of this template's node `conditional`, which was made with [`Condition::kernel`]:
    /// argument `index` of the node `kernel` of `kernel_in` becomes the handle that `gpo::set_condition` takes
    /// (`gpuorch/device/graph.cuh`). In Rust such an argument is a `u64`; pass 0 for it. A [`Slice`](crate::Slice) is
    /// two arguments.
    ///
    /// The kernel must come before the conditional node, or be in the body of the while that it decides. Both templates
    /// are one template or bodies of it.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): a node is of the wrong kind, or the kernel
    /// has no such argument of 8 bytes.
    ///
    /// # Safety
    ///
    /// The kernel's argument `index` is a `gpo::condition`.
    pub unsafe fn bind_condition(&self, conditional: Node, kernel_in: &Self, kernel: Node, index: u32) -> Result<()> {
        let (kernel, conditional) = (kernel.number(), conditional.number());
        call!(template_bind_condition(kernel_in.as_raw(), kernel, index, self.as_raw(), conditional))
    }

    fn body(&self, raw: sys::gpo_template_t) -> Self {
        Self { inner: Arc::new(Owned { raw: raw.into(), parent: self.device().clone() }) }
    }
}

impl Graph {
    /// How often the body of a while ran in the newest launch that is done. `node` is the while, and `conditional_in`
    /// the template that it was added to: the graph's template, a body, a child or a body of a child. Blocks for a copy
    /// from the device.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the node is no while, or the graph's template
    /// has the child more than once.
    pub fn loop_runs(&self, conditional_in: &Template, node: Node) -> Result<LoopRuns> {
        let (mut iterations, mut limited) = (0, 0);
        let number = node.number();
        call!(graph_get_loop(self.as_raw(), conditional_in.as_raw(), number, &mut iterations, &mut limited))?;
        Ok(LoopRuns { iterations, limited: limited != 0 })
    }
}
