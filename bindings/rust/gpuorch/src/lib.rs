//! Keeps every engine of a GPU busy: streams, kernels, copies and pipelines that are awaited under any runtime.
//!
//! It runs on NVIDIA GPUs, and on a software GPU inside the library where there is none; `GPUORCH_DEVICE` or
//! [`RuntimeBuilder::device`] decides.
//!
//! ```
//! use gpuorch::{Launch, Runtime, Slice};
//!
//! let runtime = Runtime::new()?;
//! let device = runtime.open_device()?;
//! let stream = device.stream()?;
//! let module = device.compile(
//!     r#"extern "C" __global__ void halve(float *x, unsigned long long n) {
//!            unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
//!            if (i < n) x[i] *= 0.5f;
//!        }"#,
//! )?;
//! // SAFETY: its parameters are an address and a count, and it stays below the count.
//! let halve = unsafe { module.kernel("halve")?.bind::<(Slice<f32>,)>()? };
//!
//! let x = device.buffer::<f32>(1000)?;
//! stream.write(&[1.0; 1000], &x)?;
//! halve.launch(&stream, &Launch::new(4, 256), (&x,))?;
//! let host = stream.copy_to_host(&x, vec![0.0; 1000])?.wait()?;
//! assert!(host.iter().all(|&x| x == 0.5));
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Rules
//!
//! - Handles ([`Runtime`], [`Device`], [`Stream`], …) are counted references: `Clone`, `'static`, `Send` and `Sync`. They
//!   keep what they were made from. When the last one of a runtime goes, what runs is waited for.
//! - What puts work on a stream returns at once. Work that moves bytes from or to host memory owns that memory until it
//!   is done, and gives it back, on failure too: an [`Operation`].
//! - Waiting blocks ([`Stream::wait`], [`Operation::wait`], [`Device::compile`]) or is awaited: an [`Operation`], [`Stream::done`],
//!   [`Event::done`], [`Timeline::reached`], a [`Run`](pipeline::Run) of a pipeline, [`Device::compile_async`]. A future that isn't polled costs nothing; one that
//!   is dropped or forgotten leaves its work alone. They are woken by the library's executor: no runtime is asked for,
//!   and no thread is started here, but for each [`Compile::compile_async`].
//! - Device memory that is dropped is freed behind the work that uses it, without waiting.
//! - A panic in a callback ends there, and becomes a status.
//!
//! # Where the library comes from
//!
//! It is linked: from the folder `GPUORCH_LIB_DIR`, else where pkg-config finds it. With the feature `dynamic-loading` it is
//! opened when it is first needed, the file that `GPUORCH_LIBRARY` names or `libgpuorch.so.0`, and a machine without it gets
//! [`ErrorKind::NoLibrary`]; with `vendored` it is built from sources in the package `gpuorch-sys` and linked statically. A
//! library that is older than this crate and lacks a function gives [`ErrorKind::NotSupported`] where that is called.

#![deny(missing_debug_implementations)]

mod after;
mod arena;
mod arguments;
mod arrivals;
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
mod handle;
mod host;
mod host_call;
mod kernel;
mod memory;
mod metrics;
mod module;
mod operation;
pub mod pipeline;
mod pool;
mod runtime;
mod signal;
mod stream;
mod timeline;
mod trace;

pub use arena::{Arena, ArenaBuilder, PinnedVec};
pub use arguments::{Argument, Arguments, Parameter, Parameters, Slice};
pub use compiling::Compiling;
pub use completion::CompletionQueue;
pub use completions::Completions;
pub use device::{Device, DeviceBuilder, DeviceLimit};
pub use done::{Completion, Done, Enqueued};
pub use error::{Error, ErrorKind, NativeCode, Result};
pub use event::{Event, EventBuilder};
pub use executor::{Executor, ExecutorBuilder};
pub use figures::{
    DeviceMetrics, DeviceProperties, DriverInfo, ExecutorStatistics, KernelAttributes, MemoryInfo, MemoryStatistics,
    Metrics, PeerProperties, Progress, QueueStatistics, RunSummary, Statistics, StreamInfo, TraceInfo,
};
pub use gpuorch_sys as sys;
pub use handle::Object;
pub use host::HostBuffer;
pub use host_call::HostCall;
pub use kernel::{BoundKernel, Dim3, Kernel, Launch};
pub use memory::{DeviceBuffer, DeviceSlice};
pub use module::{Compile, Module, compile_log};
pub use operation::{Failed, Operation};
pub use pipeline::Pipeline;
pub use pool::{Pool, PoolBuilder};
pub use runtime::{LogLevel, Runtime, RuntimeBuilder};
pub use stream::{Stream, StreamBuilder, StreamPool, StreamPoolBuilder};
pub use timeline::Timeline;
pub use trace::Trace;
