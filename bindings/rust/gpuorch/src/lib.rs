#![doc = include_str!("../README.md")]
//!
//! # Rules
//!
//! - Handles ([`Runtime`], [`Device`], [`Stream`], …) are counted references: `Clone`, `'static`, `Send` and `Sync`. A
//!   handle keeps its parent object alive. Dropping the last handle of a runtime waits for running work.
//! - Functions that put work on a stream return at once. Work that moves bytes from or to host memory is an
//!   [`Operation`]. An operation owns the memory until the work is done, and then gives the memory back, also after a
//!   failure.
//! - Work that is launched repeatedly can be recorded, with named parameters: see [`template`].
//! - Kernels whose tasks differ in length, or make tasks, take them from queues: see [`queue`].
//! - Tasks that make tasks can be done by a kernel of the library, which calls functions of the program: see
//!   [`scheduler`].
//! - Devices that work together exchange data by collectives, and by kernels that use each other's memory: see
//!   [`peers`].
//! - Many small requests are put together into few large batches: see [`batcher`].
//! - To find the form of work for a workload, with its expected gain: see [`advice`].
//! - To wait, block ([`Stream::wait`], [`Operation::wait`], [`Device::compile`]) or await a future: an [`Operation`],
//!   [`Stream::done`], [`Event::done`], [`Timeline::reached`], a [`Run`](pipeline::Run) of a pipeline, the answers of a
//!   host ring ([`take_async`](queue::Tenant::take_async)), [`Device::compile_async`]. A future that isn't polled costs
//!   nothing. Dropping or forgetting a future leaves its work as it is. The library's executor wakes futures, so no async
//!   runtime is needed. The crate starts threads only for [`Compile::compile_async`] and for host rings.
//! - Dropped device memory is freed behind the work that uses it. Dropping it doesn't wait.
//! - A panic in a callback is caught and becomes a status.
//!
//! # Where the library comes from
//!
//! The feature chooses, as above; [gpuorch-sys](sys) has the details. If no library is found at run time, calls return
//! [`ErrorKind::NoLibrary`]. If the library is older than this crate and lacks a function, a call of that function returns
//! [`ErrorKind::NotSupported`].

#![deny(missing_debug_implementations)]

mod admission;
pub mod advice;
mod after;
mod arena;
mod arguments;
mod arrivals;
pub mod batcher;
mod builder;
mod call;
mod callback;
mod compiling;
mod completion;
mod completions;
mod copy;
mod device;
mod done;
mod error;
mod event;
mod executor;
mod figures;
mod generated;
mod handle;
mod host;
mod host_call;
mod kernel;
mod memory;
mod module;
mod operation;
pub mod peers;
pub mod pipeline;
mod pool;
pub mod queue;
mod runtime;
pub mod scheduler;
mod signal;
mod stream;
pub mod template;
mod timeline;
mod trace;

pub use admission::{Admission, AdmissionBuilder, Entering, Place, Request};
pub use arena::{Arena, ArenaBuilder, PinnedVec};
pub use arguments::{Argument, Arguments, Parameter, Parameters, Slice};
pub use batcher::Batcher;
pub use compiling::Compiling;
pub use completion::CompletionQueue;
pub use completions::Completions;
pub use device::{Device, DeviceBuilder};
pub use done::{Completion, Done, Enqueued};
pub use error::{Error, ErrorKind, NativeCode, Result};
pub use event::{EXPORT_BYTES, Event, EventBuilder};
pub use executor::{Executor, ExecutorBuilder};
pub use generated::{
    AdmissionInfo, BucketsStatistics, DeviceLimit, DeviceMetrics, DeviceProperties, DriverInfo, ExecutorStatistics,
    KernelAttributes, LogLevel, MemoryInfo, MemoryStatistics, Metrics, PeerProperties, Progress, QueueInfo,
    QueueStatistics, RunShare, RunSummary, Statistics, StreamInfo, TemplateStatistics, TraceInfo, UpdateReport,
};
pub use gpuorch_sys as sys;
pub use handle::Object;
pub use host::{HostBuffer, HostSlice};
pub use host_call::HostCall;
pub use kernel::{BoundKernel, Dim3, Kernel, Launch};
#[doc(hidden)]
pub use memory::MemoryUser;
pub use memory::{DeviceBuffer, DeviceSlice};
pub use module::{Compile, Module, compile_log};
pub use operation::{Failed, Operation};
pub use peers::Peers;
pub use pipeline::Pipeline;
pub use pool::{Pool, PoolBuilder};
pub use runtime::{Runtime, RuntimeBuilder};
pub use stream::{Stream, StreamBuilder, StreamPool, StreamPoolBuilder};
pub use template::{Buckets, Graph, Template};
pub use timeline::Timeline;
pub use trace::Trace;
