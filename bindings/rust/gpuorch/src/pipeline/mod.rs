//! Pipelines: a stream of data through the GPU, in chunks, with copies and kernels overlapped.

mod chunk;
mod run;
mod sink;
mod source;
mod stage;

pub use chunk::{Chunk, Flow};
pub use run::{Finished, Run};
pub use sink::Sink;
pub use source::{Fill, Source};
pub use stage::{
    Index, Input, InputBytes, Offset, Output, OutputBytes, PerDevice, ResultBlock, Scratch, Stage, StageArgument,
    StageArguments,
};

use crate::builder::Options;
use crate::call::call;
use crate::callback::contained;
use crate::device::Device;
use crate::error::Result;
use crate::executor::Executor;
use crate::generated::{Progress, RunShare};
use crate::handle::{Raw, nanoseconds_from};
use chunk::Sizes;
use gpuorch_sys as sys;
use stage::{StageBuffer, StageCall};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Cuts data into chunks. While kernels work on a chunk, the previous chunk is copied out and the next chunk is copied
/// in. Clones are the same pipeline.
///
/// ```
/// use gpuorch::{pipeline::*, Slice};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let module = device.compile(
///     r#"extern "C" __global__ void invert(unsigned char *x, unsigned long long n,
///                                          unsigned char *y, unsigned long long m) {
///            for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n && i < m; i += gridDim.x * blockDim.x)
///                y[i] = ~x[i];
///        }"#,
/// )?;
/// // SAFETY: it reads below n and writes below m, the lengths of the two slices.
/// let invert = unsafe { module.kernel("invert")?.bind::<(Slice<u8>, Slice<u8>)>()? };
/// let pipeline = device.pipeline().stage(Stage::kernel(&invert, (Input, Output))).build()?;
/// let run = pipeline.start(Source::memory(vec![1u8; 100_000]), Sink::memory(vec![0u8; 100_000]))?;
/// let finished = run.wait()?;
/// assert!(finished.sink.iter().all(|&byte| byte == 254));
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Clone)]
pub struct Pipeline {
    inner: Arc<Inner>,
}

struct Inner {
    raw: sys::gpo_pipeline_t,
    devices: Vec<Device>,
    sizes: Sizes,
    /// Set while a [`Run`] exists that was neither waited for nor dropped: there may be only one, since the reports of
    /// two runs couldn't be distinguished.
    taken: AtomicBool,
    /// The closures that the library calls, until the last run has ended: a run keeps the pipeline alive.
    _stages: Vec<StageCall>,
    /// The text of a failure of a stage's closure.
    stage_failure: Arc<Mutex<Option<String>>>,
    _progress: Option<Box<ProgressCall>>,
    _executor: Option<Executor>,
    /// The buffers that kernels get for every chunk. Dropped after the handle: then no run is left.
    _buffers: Vec<Arc<dyn StageBuffer>>,
}

// SAFETY: a handle is a number, and any thread may call any function with it; the rest is Send and Sync, or the library's.
unsafe impl Send for Inner {}
// SAFETY: likewise.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        self.raw.destroy();
    }
}

struct ProgressCall {
    call: Box<dyn Fn(&Progress) + Send + Sync>,
}

/// `user` is a `ProgressCall` that lives as long as the pipeline.
unsafe extern "C" fn progressed(user: *mut c_void, progress: *const sys::gpo_pipeline_progress) {
    // SAFETY: see above; the progress is valid during the call.
    let (progressed, progress) = unsafe { (&*user.cast::<ProgressCall>(), Progress(*progress)) };
    let _ = contained(|| (progressed.call)(&progress));
}

/// Options of a pipeline.
#[must_use = "a builder makes nothing until `build`"]
pub struct PipelineBuilder<'a> {
    device: &'a Device,
    devices: Vec<Device>,
    pub(crate) options: Options<sys::gpo_pipeline_options>,
    stages: Vec<Stage>,
    progress: Option<Box<ProgressCall>>,
    executor: Option<Executor>,
}

impl Device {
    /// For a pipeline on this device.
    pub fn pipeline(&self) -> PipelineBuilder<'_> {
        let options = Options::of(sys::gpo_pipeline_options::new());
        PipelineBuilder {
            device: self,
            devices: Vec::new(),
            options,
            stages: Vec::new(),
            progress: None,
            executor: None,
        }
    }
}

impl PipelineBuilder<'_> {
    /// Several devices that share the work; the first must be the pipeline's device. A chunk goes to the device that is
    /// likely to finish it first. Stages have a kernel for each device ([`Stage::kernels`]).
    pub fn devices<'d>(mut self, devices: impl IntoIterator<Item = &'d Device>) -> Self {
        self.devices = devices.into_iter().cloned().collect();
        self
    }

    /// Adds a stage behind the stages so far. A pipeline has 1 to 64 stages.
    pub fn stage(mut self, stage: Stage) -> Self {
        self.stages.push(stage);
        self
    }

    /// Output bytes are input bytes times `numerator` / `denominator`, rounded up; by default as many as input bytes.
    pub fn output_ratio(mut self, numerator: u32, denominator: u32) -> Self {
        (self.options.output_numerator, self.options.output_denominator) = (numerator, denominator);
        self
    }

    /// A closure that is called at most once every `interval`, and once at the end.
    pub fn progress(mut self, interval: Duration, progress: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.options.progress_ns = nanoseconds_from(interval);
        self.progress = Some(Box::new(ProgressCall { call: Box::new(progress) }));
        self
    }

    /// Runs the closures of sources, stages and sinks and the progress closure on this executor. A thread that runs the
    /// executor must not wait for the pipeline, except by awaiting its run.
    pub fn executor(mut self, executor: &Executor) -> Self {
        self.executor = Some(executor.clone());
        self
    }

    /// Checks all options and makes the pipeline. The first run makes buffers and streams.
    pub fn build(mut self) -> Result<Pipeline> {
        let handles: Vec<_> = self.devices.iter().map(Device::as_raw).collect();
        let devices =
            if self.devices.is_empty() { vec![self.device.clone()] } else { std::mem::take(&mut self.devices) };
        let arguments =
            self.stages.iter().map(|stage| stage.raw_arguments(devices.len())).collect::<Result<Vec<_>>>()?;
        let kernels = self.stages.iter().map(|stage| stage.raw_kernels(devices.len())).collect::<Result<Vec<_>>>()?;
        let mut buffers = Vec::new();
        for stage in &self.stages {
            buffers.extend(stage.buffers(self.device)?);
        }
        let stage_failure = Arc::default();
        let sizes = Sizes { result: self.options.result_bytes as usize, scratch: self.options.scratch_bytes as usize };
        let mut stages = Vec::with_capacity(self.stages.len());
        let mut calls = Vec::new();
        for (stage, (arguments, kernels)) in self.stages.iter_mut().zip(arguments.iter().zip(&kernels)) {
            stages.push(stage.raw(arguments, kernels));
            calls.extend(stage.take_call(&devices, sizes, &stage_failure));
        }
        // The addresses are final: no call is added any more.
        for (raw, call) in stages.iter_mut().filter(|stage| stage.kind == sys::GPO_STAGE_CALLBACK).zip(&mut calls) {
            raw.user = (&raw mut *call).cast();
        }
        self.options.stages = stages.as_ptr();
        self.options.stage_stride = size_of::<sys::gpo_stage>() as u64;
        self.options.stage_count = stages.len() as u32;
        if let Some(progress) = &self.progress {
            self.options.progress = Some(progressed);
            self.options.progress_user = (&raw const **progress).cast_mut().cast();
        }
        self.options.executor = self.executor.as_ref().map_or(std::ptr::null_mut(), Executor::as_raw);
        if !handles.is_empty() {
            self.options.devices = handles.as_ptr();
            self.options.device_count = handles.len() as u32;
        }
        let mut raw = std::ptr::null_mut();
        call!(pipeline_create(self.device.as_raw(), self.options.checked("gpo_pipeline_create")?, &mut raw))?;
        let inner = Inner {
            raw,
            devices,
            sizes,
            taken: AtomicBool::new(false),
            _stages: calls,
            stage_failure,
            _progress: self.progress,
            _executor: self.executor,
            _buffers: buffers,
        };
        Ok(Pipeline { inner: Arc::new(inner) })
    }
}

impl Pipeline {
    /// The device that the pipeline runs on; the first of several.
    pub fn device(&self) -> &Device {
        &self.inner.devices[0]
    }

    /// The devices that the pipeline runs on.
    pub fn devices(&self) -> &[Device] {
        &self.inner.devices
    }

    /// A device's part of the run that ended last; `device` is its place in [`devices`](Self::devices).
    pub fn share(&self, device: usize) -> Result<RunShare> {
        let mut share = RunShare::empty();
        call!(pipeline_get_share(self.as_raw(), u32::try_from(device).unwrap_or(u32::MAX), &mut share.0))?;
        Ok(share)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_pipeline_t {
        self.inner.raw
    }

    /// False if a [`Run`] of the pipeline still exists.
    fn take(&self) -> bool {
        !self.inner.taken.swap(true, Ordering::AcqRel)
    }

    /// Takes the text of a failure of a stage's closure.
    fn stage_failure(&self) -> Option<String> {
        self.inner.stage_failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn give_back(&self) {
        self.inner.taken.store(false, Ordering::Release);
    }
}
