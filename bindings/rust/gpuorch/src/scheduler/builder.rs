//! How schedulers are made.

use super::Scheduler;
use crate::builder::Options;
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::{Owned, c_string};
use crate::memory::DeviceBuffer;
use crate::queue::{Answer, HostRing, Ring, Shared, Task};
use crate::template::Graph;
use gpuorch_sys as sys;
use std::ffi::CString;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::null_mut;
use std::sync::Arc;

/// The form of a scheduler of one kernel, which stays on the GPU. The time from a push to its handler is the shortest,
/// but the run keeps its multiprocessors. See [`Ring::scheduler`] and [`HostRing::scheduler`].
#[derive(Debug)]
pub enum Resident {}

/// The form of a scheduler as a graph with a while node. The body does up to [`batch`](SchedulerBuilder::batch) tasks
/// for each worker. The multiprocessors are free for other work between two turns. See [`Ring::while_scheduler`].
#[derive(Debug)]
pub enum While {}

/// The form of a scheduler that launches a graph of the program for each task, of the type `T`. See
/// [`Ring::graph_scheduler`].
#[derive(Debug)]
pub struct Graphs<T> {
    task: PhantomData<fn(T)>,
}

pub(crate) mod sealed {
    /// A form of a scheduler.
    pub trait Form {
        const FORM: u32;
    }
    /// A form whose handlers are functions.
    pub trait Functions: Form {}
    /// A form that does a batch of tasks at a time.
    pub trait Turns: Form {}
}
use sealed::{Form, Functions, Turns};

impl Form for Resident {
    const FORM: u32 = sys::GPO_SCHEDULER_RESIDENT;
}
impl Form for While {
    const FORM: u32 = sys::GPO_SCHEDULER_WHILE;
}
impl<T> Form for Graphs<T> {
    const FORM: u32 = sys::GPO_SCHEDULER_GRAPHS;
}
impl Functions for Resident {}
impl Functions for While {}
impl Turns for While {}
impl<T> Turns for Graphs<T> {}

/// The worker that does a task: all threads of a worker call the task's handler together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workers {
    /// Each thread is a worker.
    Threads,
    /// Each warp is a worker. This is the default.
    Warps,
    /// Each block is a worker.
    Blocks,
}

/// Options of a scheduler of the form `F`: [`Resident`], [`While`] or [`Graphs`].
#[must_use = "a builder makes nothing until `build`"]
pub struct SchedulerBuilder<'a, F> {
    queue: &'a Arc<Shared>,
    source: Option<&'a str>,
    declarations: String,
    compile_options: Vec<String>,
    handlers: Vec<Handler<'a>>,
    pub(crate) options: Options<sys::gpo_scheduler_options>,
    form: PhantomData<fn() -> F>,
}

struct Handler<'a> {
    name: String,
    graphs: Vec<&'a Graph>,
    /// The address of the tasks' memory, and its capacity in tasks.
    tasks: Option<(u64, usize)>,
}

impl<T: Task> Ring<T> {
    /// For a scheduler of one kernel, whose handlers are functions of `source`. The ring must have no
    /// [tickets](crate::queue::QueueBuilder::tickets).
    pub fn scheduler<'a>(&'a self, source: &'a str) -> SchedulerBuilder<'a, Resident> {
        SchedulerBuilder::new(self.shared(), Some(source))
    }

    /// For a scheduler as a while node, whose handlers are functions of `source`.
    pub fn while_scheduler<'a>(&'a self, source: &'a str) -> SchedulerBuilder<'a, While> {
        SchedulerBuilder::new(self.shared(), Some(source))
    }

    /// For a scheduler whose tasks are graphs. A *step* takes tasks and launches a graph for each. When these graphs
    /// are done, the step launches itself again.
    pub fn graph_scheduler(&self) -> SchedulerBuilder<'_, Graphs<T>> {
        SchedulerBuilder::new(self.shared(), None)
    }
}

impl<T: Task, A: Answer> HostRing<T, A> {
    /// For a scheduler whose handlers, functions of `source`, answer what the host posts. The scheduler runs on the
    /// ring's stream.
    pub fn scheduler<'a>(&'a self, source: &'a str) -> SchedulerBuilder<'a, Resident> {
        SchedulerBuilder::new(self.shared(), Some(source))
    }
}

impl<'a, F: Form> SchedulerBuilder<'a, F> {
    fn new(queue: &'a Arc<Shared>, source: Option<&'a str>) -> Self {
        let mut options = Options::of(sys::gpo_scheduler_options::new());
        options.form = F::FORM;
        Self {
            queue,
            source,
            declarations: String::new(),
            compile_options: Vec::new(),
            handlers: Vec::new(),
            options,
            form: PhantomData,
        }
    }

    /// Makes the scheduler: compiles its handlers, and loads and allocates everything for its runs. Blocks on the
    /// compiler for milliseconds to seconds, and on the GPU for some microseconds.
    ///
    /// - [`ErrorKind::InvalidArgument`]: an option is out of range, and the message names it; a handler has a name that
    ///   is no identifier; `leave_free` leaves no multiprocessor; a graph is of another device, or is given twice, or
    ///   its tasks have no room.
    /// - [`ErrorKind::InvalidState`]: the queue has a scheduler already, which the message names; or a graph was made
    ///   without [`device_launch`](crate::template::GraphBuilder::device_launch).
    /// - [`ErrorKind::NotSupported`]: the ring has tickets.
    /// - [`ErrorKind::CompileFailed`]: the source has errors; or a handler is missing, isn't of the form
    ///   `int (gpo::task_context &, const task &)`, or its task is larger than the queue's.
    ///   [`compile_log`](crate::compile_log) has the whole text.
    /// - [`ErrorKind::LimitExceeded`]: other schedulers have the multiprocessors, or `blocks_per_multiprocessor` blocks
    ///   with these handlers don't fit on a multiprocessor at a time. The message has the numbers.
    ///
    /// # Safety
    ///
    /// For all bytes of a task, its handler, or the nodes of its graph,
    /// - accesses only memory that was given for it, within its length: memory behind [`argument`](Self::argument), and
    ///   a graph's own arguments. This memory stays until the last run has ended. Dropping the scheduler asks the run
    ///   to end, without waiting; [`Scheduler::stop`] waits;
    /// - leaves values of the right types in this memory;
    /// - uses the queue by the functions of `gpuorch/device/scheduler.cuh` and `gpuorch/device/queue.cuh` alone.
    ///
    /// Graphs are not [updated](Graph::update) while the scheduler exists.
    pub unsafe fn build(mut self) -> Result<Scheduler> {
        // Lines of the source keep their numbers.
        let source = self.source.map(|source| format!("{}#line 1\n{source}", self.declarations));
        let compile_options = c_strings(self.compile_options.iter().map(String::as_str))?;
        let option_pointers: Vec<_> = compile_options.iter().map(|option| option.as_ptr()).collect();
        let names = c_strings(self.handlers.iter().map(|handler| &*handler.name))?;
        let graphs: Vec<Vec<_>> =
            self.handlers.iter().map(|handler| handler.graphs.iter().map(|graph| graph.as_raw()).collect()).collect();
        let mut handlers = Vec::new();
        for ((handler, name), graphs) in self.handlers.iter().zip(&names).zip(&graphs) {
            let mut raw = sys::gpo_handler::new();
            raw.name = name.as_ptr();
            raw.graph_count = u32::try_from(graphs.len()).unwrap_or(u32::MAX);
            raw.graphs = if graphs.is_empty() { std::ptr::null() } else { graphs.as_ptr() };
            raw.task_memory = handler.task_memory()?;
            handlers.push(raw);
        }
        self.options.queue = self.queue.raw();
        if let Some(source) = &source {
            (self.options.source, self.options.source_bytes) = (source.as_ptr().cast(), source.len() as u64);
        }
        if !option_pointers.is_empty() {
            self.options.compile_options = option_pointers.as_ptr();
            self.options.compile_option_count = option_pointers.len() as u32;
        }
        let (device, first, count) = (self.queue.device().as_raw(), handlers.as_ptr(), handlers.len() as u32);
        let (stride, mut raw) = (size_of::<sys::gpo_handler>() as u64, null_mut());
        call!(scheduler_create(device, self.options.checked(FUNCTION)?, first, stride, count, &mut raw))?;
        Ok(Scheduler::of(Owned { raw, parent: Arc::clone(self.queue) }))
    }
}

const FUNCTION: &str = "gpo_scheduler_create";

fn c_strings<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Vec<CString>> {
    texts.map(|text| c_string(text, FUNCTION)).collect()
}

impl Handler<'_> {
    fn task_memory(&self) -> Result<u64> {
        match self.tasks {
            None => Ok(0),
            Some((address, room)) if room >= self.graphs.len() => Ok(address),
            Some((_, room)) => {
                let (name, graphs) = (&self.name, self.graphs.len());
                let message = format!("`{name}` has {graphs} graphs, and its buffer room for the tasks of {room}");
                Err(Error::new(ErrorKind::InvalidArgument, FUNCTION, message))
            }
        }
    }
}

impl<F: Functions> SchedulerBuilder<'_, F> {
    /// A handler: the name of a function of the source. The first one's number is 0, and so on. A task whose first four
    /// bytes are a handler's number is done by that handler.
    pub fn handler(mut self, name: impl Into<String>) -> Self {
        self.handlers.push(Handler { name: name.into(), graphs: Vec::new(), tasks: None });
        self
    }

    /// Text in front of the source, such as the `declaration()` of a [task](crate::task): with it, handlers have Rust's
    /// layout or don't compile.
    pub fn declaration(mut self, text: impl AsRef<str>) -> Self {
        self.declarations.push_str(text.as_ref());
        self.declarations.push('\n');
        self
    }

    /// An option in NVRTC's spelling: `-DN=4`.
    pub fn compile_option(mut self, option: impl Into<String>) -> Self {
        self.compile_options.push(option.into());
        self
    }

    /// The kind of workers; by default warps.
    pub fn workers(mut self, workers: Workers) -> Self {
        self.options.workers = match workers {
            Workers::Threads => sys::GPO_WORKER_THREAD,
            Workers::Warps => sys::GPO_WORKER_WARP,
            Workers::Blocks => sys::GPO_WORKER_BLOCK,
        };
        self
    }
}

impl<'a, T: Task> SchedulerBuilder<'a, Graphs<T>> {
    /// A handler: a launch of any of these graphs does a task. A graph has one launch at a time, so a step does at most
    /// as many of the handler's tasks as there are graphs. The graphs were made with
    /// [`device_launch`](crate::template::GraphBuilder::device_launch), and stay while the scheduler needs them. The
    /// name is for messages.
    ///
    /// Graph i finds its task in `tasks[i]`. `None`: the graphs don't read their tasks. A buffer of other tasks than the
    /// ring's doesn't compile:
    ///
    /// ```compile_fail,E0308
    /// # fn of(ring: gpuorch::queue::Ring<[u32; 4]>, graph: gpuorch::Graph, tasks: gpuorch::DeviceBuffer<[u32; 8]>) {
    /// let builder = ring.graph_scheduler().graphs("add", [&graph], Some(&tasks));
    /// # }
    /// ```
    pub fn graphs(
        mut self,
        name: impl Into<String>,
        graphs: impl IntoIterator<Item = &'a Graph>,
        tasks: Option<&'a DeviceBuffer<T>>,
    ) -> Self {
        let tasks = tasks.map(|tasks| (tasks.address(), tasks.len()));
        self.handlers.push(Handler { name: name.into(), graphs: graphs.into_iter().collect(), tasks });
        self
    }
}
