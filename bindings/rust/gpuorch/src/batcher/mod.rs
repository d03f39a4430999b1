//! Batchers: many small requests, put together into few large batches.
//!
//! A [`Batcher`] gathers the inputs of requests that wait together, copies them to the device at once, runs the
//! program's work once for all of them, and gives each request its part of the output. A [`Key`] is a kind of request:
//! how its elements lie in a batch, and the work.
//!
//! ```
//! use gpuorch::{DeviceBuffer, Launch, batcher::Batcher};
//! # let runtime = gpuorch::Runtime::new()?;
//! # let device = runtime.open_device()?;
//! let module = device.compile(
//!     r#"extern "C" __global__ void twice(const float *x, float *y, unsigned n) {
//!            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!            if (i < n) y[i] = 2 * x[i];
//!        }"#,
//! )?;
//! // SAFETY: its parameters are two addresses and a number. It reads and writes `n` elements.
//! let twice = unsafe { module.kernel("twice")?.bind::<(DeviceBuffer<f32>, DeviceBuffer<f32>, u32)>()? };
//! let batcher = Batcher::new([&device])?;
//! let key = batcher.rows::<f32, f32>(4, 4).max_batch(64).work(move |batch| {
//!     let count = batch.input().len();
//!     twice.launch(batch.stream(), &Launch::each(count, 128), (batch.input(), batch.output(), count as u32))?;
//!     Ok::<_, gpuorch::Error>(())
//! })?;
//! # pollster::block_on(async {
//! let output = batcher.submit(key.request(vec![1.0, 2.0, 3.0, 4.0])).await?;
//! assert_eq!(output, [2.0, 4.0, 6.0, 8.0]);
//! # Ok::<(), gpuorch::Error>(())
//! # })?;
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Overload
//!
//! Nothing waits in an unbounded line. A request is refused at once with
//! [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock) if as many wait as may, and with
//! [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if its deadline ([`Request::within`]) can't be met.
//! [`Failure::wait`] then has the predicted time.

mod key;
mod submit;
mod work;

pub use crate::generated::{BatcherFlowInfo, BatcherInfo};
pub use key::{Key, KeyBuilder};
pub use submit::{Failure, Request, Submitted};
pub use work::{Batch, Member};

use crate::builder::Options;
use crate::call::call;
use crate::completion::CompletionQueue;
use crate::device::Device;
use crate::error::Result;
use crate::executor::Executor;
use crate::handle::Owned;
use crate::runtime::Runtime;
use gpuorch_sys as sys;
use std::any::Any;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

/// Puts requests together into batches, on one device or several. Clones are the same batcher.
///
/// Requests keep the batcher: after its last clone is dropped, they still get their output.
#[derive(Clone)]
pub struct Batcher {
    inner: Arc<Inner>,
}

struct Inner {
    /// Dropped first: then no work is called any more, since each request holds this struct until it has ended.
    owned: Owned<sys::gpo_batcher_t, Vec<Device>>,
    /// The closures and the buckets of keys.
    kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    _executor: Option<Executor>,
}

/// Options of a batcher: see [`Batcher::builder`].
#[must_use = "a builder makes nothing until `build`"]
pub struct BatcherBuilder<'a> {
    devices: Vec<&'a Device>,
    executor: Option<Executor>,
    pub(crate) options: Options<sys::gpo_batcher_options>,
}

impl BatcherBuilder<'_> {
    /// The executor that forms batches and calls the closures of keys. It has to have as many threads as lanes are to
    /// work at a time. By default the batcher has threads of its own. The batcher keeps the executor.
    pub fn executor(mut self, executor: &Executor) -> Self {
        self.executor = Some(executor.clone());
        self
    }

    /// Makes a batcher without keys.
    ///
    /// - [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): there are no devices or more than 64, a
    ///   device comes twice, or an option is out of range.
    /// - [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle): the devices and the executor are of different
    ///   runtimes.
    pub fn build(mut self) -> Result<Batcher> {
        let handles: Vec<_> = self.devices.iter().map(|device| device.as_raw()).collect();
        self.options.devices = handles.as_ptr();
        self.options.device_count = handles.len() as u64;
        self.options.executor = self.executor.as_ref().map_or(null_mut(), Executor::as_raw);
        let mut raw = null_mut();
        call!(batcher_create(self.options.checked("gpo_batcher_create")?, &mut raw))?;
        let owned = Owned { raw, parent: self.devices.into_iter().cloned().collect() };
        Ok(Batcher { inner: Arc::new(Inner { owned, kept: Mutex::default(), _executor: self.executor }) })
    }
}

impl Batcher {
    /// A batcher of these devices, of one runtime.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a Device>) -> Result<Self> {
        Self::builder(devices).build()
    }

    /// For a batcher of these devices with options.
    pub fn builder<'a>(devices: impl IntoIterator<Item = &'a Device>) -> BatcherBuilder<'a> {
        let options = Options::of(sys::gpo_batcher_options::new());
        BatcherBuilder { devices: devices.into_iter().collect(), executor: None, options }
    }

    /// The devices that batches run on.
    pub fn devices(&self) -> &[Device] {
        &self.inner.owned.parent
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_batcher_t {
        self.inner.owned.raw
    }

    fn runtime(&self) -> &Runtime {
        // A batcher has at least one device.
        self.devices()[0].runtime()
    }

    fn keep(&self, value: Arc<dyn Any + Send + Sync>) {
        self.inner.kept.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

impl CompletionQueue {
    /// Submits a request in the terms of the C interface, and returns its ticket. This queue gets an entry with
    /// `user_data` when the request has ended. [`Batcher::cancel`] takes a request that still waits out of the line.
    ///
    /// # Safety
    ///
    /// The memory in `request` is allocated until the entry has come, and so is the batcher. Until then nothing else
    /// writes the input, or accesses the output.
    pub unsafe fn submit(&self, batcher: &Batcher, request: &sys::gpo_batcher_request, user_data: u64) -> Result<u64> {
        let (raw, mut ticket) = (batcher.as_raw(), 0);
        call!(batcher_submit(raw, request, self.as_raw(), user_data, &mut ticket, null_mut()))?;
        Ok(ticket)
    }
}
