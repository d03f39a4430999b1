//! Stages: the work on each chunk on the device.

use super::chunk::{Chunk, Sizes};
use crate::arguments::{Parameter, Parameters, Slice};
use crate::callback::contained;
use crate::device::Device;
use crate::kernel::{BoundKernel, Dim3, Kernel};
use crate::memory::{DeviceBuffer, Memory};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

/// The work on each chunk on the device: a kernel, or work that a closure enqueues.
#[must_use = "a stage is for a pipeline"]
pub struct Stage {
    pub(crate) raw: sys::gpo_stage,
    arguments: Vec<Passed>,
    kernels: Vec<Kernel>,
    enqueue: Option<EnqueueFunction>,
}

type EnqueueFunction = Box<dyn FnMut(&Stream, &Chunk<'_>) -> Result<(), String> + Send>;

/// An argument in the library's terms: its kind, the bytes of a value or of a value for each device, and the buffers
/// behind values that are addresses.
#[doc(hidden)]
pub struct Passed {
    kind: u32,
    value: Vec<u8>,
    /// Number of values; 1: the same value on every device.
    values: usize,
    buffers: Vec<Arc<dyn StageBuffer>>,
}

impl Passed {
    fn part(kind: u32) -> Self {
        Self { kind, value: Vec::new(), values: 1, buffers: Vec::new() }
    }
}

impl std::fmt::Debug for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passed").field("kind", &self.kind).field("value", &self.value).finish_non_exhaustive()
    }
}

/// A buffer among a stage's arguments, which lives as long as the pipeline.
pub(super) trait StageBuffer: Send + Sync {
    fn memory(&self) -> &Memory;
}

impl<T: Pod + Send + Sync> StageBuffer for DeviceBuffer<T> {
    fn memory(&self) -> &Memory {
        self.memory()
    }
}

// SAFETY: the raw struct's pointers are filled in when the pipeline is made; its kernel is a handle.
unsafe impl Send for Stage {}

impl Stage {
    /// A kernel that is launched for each chunk. Its arguments are values, parts of the chunk ([`Input`], [`Output`],
    /// [`InputBytes`], …), and buffers that the pipeline owns (a [`DeviceBuffer`], or an `Arc` of one). A borrowed
    /// buffer is not accepted:
    ///
    /// ```compile_fail,E0277
    /// # use gpuorch::{pipeline::{Input, Stage}, BoundKernel, DeviceBuffer};
    /// # fn stage(map: BoundKernel<(DeviceBuffer<u8>, DeviceBuffer<u8>)>, table: DeviceBuffer<u8>) {
    /// Stage::kernel(&map, (Input, &table));
    /// # }
    /// ```
    ///
    /// By default a launch has as many threads as the chunk has bytes.
    pub fn kernel<P: Parameters>(kernel: &BoundKernel<P>, arguments: impl StageArguments<P>) -> Self {
        let mut raw = sys::gpo_stage::new();
        raw.kind = sys::GPO_STAGE_KERNEL;
        Self { raw, arguments: arguments.list(), kernels: vec![kernel.kernel().clone()], enqueue: None }
    }

    /// For a pipeline over several devices ([`PipelineBuilder::devices`](super::PipelineBuilder::devices)): a kernel
    /// for each of them, in their order. An argument that differs between the devices is a [`PerDevice`].
    pub fn kernels<'a, P: Parameters + 'a>(
        kernels: impl IntoIterator<Item = &'a BoundKernel<P>>,
        arguments: impl StageArguments<P>,
    ) -> Self {
        let mut raw = sys::gpo_stage::new();
        raw.kind = sys::GPO_STAGE_KERNEL;
        let kernels = kernels.into_iter().map(|kernel| kernel.kernel().clone()).collect();
        Self { raw, arguments: arguments.list(), kernels, enqueue: None }
    }

    /// A closure that puts the chunk's work on the given stream, and returns without waiting for the work. An error or
    /// a panic ends the run with [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed).
    pub fn callback<E: Display>(
        mut enqueue: impl FnMut(&Stream, &Chunk<'_>) -> Result<(), E> + Send + 'static,
    ) -> Self {
        let mut raw = sys::gpo_stage::new();
        raw.kind = sys::GPO_STAGE_CALLBACK;
        let enqueue: EnqueueFunction =
            Box::new(move |stream, chunk| enqueue(stream, chunk).map_err(|error| error.to_string()));
        Self { raw, arguments: Vec::new(), kernels: Vec::new(), enqueue: Some(enqueue) }
    }

    /// Threads of a block; by default the number with the best occupancy.
    pub fn block(mut self, threads: impl Into<Dim3>) -> Self {
        self.raw.block = threads.into().0;
        self
    }

    /// The number of blocks; by default it follows from the chunk's bytes.
    pub fn grid(mut self, blocks: impl Into<Dim3>) -> Self {
        self.raw.grid = blocks.into().0;
        self
    }

    /// The buffers that the stage's kernels get for every chunk. Fails if a buffer is of another runtime than the
    /// pipeline.
    pub(super) fn buffers(&self, device: &Device) -> crate::Result<Vec<Arc<dyn StageBuffer>>> {
        let buffers: Vec<_> = self.arguments.iter().flat_map(|passed| passed.buffers.iter().cloned()).collect();
        for buffer in &buffers {
            buffer.memory().reachable_from(device, "gpo_pipeline_create")?;
        }
        Ok(buffers)
    }

    pub(super) fn raw_arguments(&self, devices: usize) -> crate::Result<Vec<sys::gpo_stage_argument>> {
        let raw = |passed: &Passed| {
            let mut raw = sys::gpo_stage_argument::new();
            raw.kind = passed.kind;
            if passed.kind == sys::GPO_ARGUMENT_DEVICE_VALUE && passed.values != devices {
                return Err(refused(format!("an argument has {} values for {devices} devices", passed.values)));
            }
            if !passed.value.is_empty() {
                raw.value = passed.value.as_ptr().cast();
                raw.bytes = (passed.value.len() / passed.values) as u64;
            }
            Ok(raw)
        };
        self.arguments.iter().map(raw).collect()
    }

    /// The handles of the stage's kernels, one for each device.
    pub(super) fn raw_kernels(&self, devices: usize) -> crate::Result<Vec<sys::gpo_kernel_t>> {
        if self.enqueue.is_none() && self.kernels.len() != devices {
            return Err(refused(format!("a stage has {} kernels for {devices} devices", self.kernels.len())));
        }
        Ok(self.kernels.iter().map(Kernel::as_raw).collect())
    }

    /// The library's description of the stage, valid while `arguments`, `kernels` and the stage live.
    pub(super) fn raw(&self, arguments: &[sys::gpo_stage_argument], kernels: &[sys::gpo_kernel_t]) -> sys::gpo_stage {
        let mut raw = self.raw;
        if !kernels.is_empty() {
            raw.kernels = kernels.as_ptr();
        }
        raw.arguments = arguments.as_ptr();
        raw.argument_stride = size_of::<sys::gpo_stage_argument>() as u64;
        raw.argument_count = arguments.len() as u32;
        raw.enqueue = self.enqueue.as_ref().map(|_| enqueue as _);
        raw
    }

    pub(super) fn take_call(
        &mut self,
        devices: &[Device],
        sizes: Sizes,
        failure: &Arc<Mutex<Option<String>>>,
    ) -> Option<StageCall> {
        let function = self.enqueue.take()?;
        Some(StageCall { function, devices: devices.to_vec(), sizes, failure: Arc::clone(failure) })
    }
}

fn refused(message: String) -> crate::Error {
    crate::Error::new(crate::ErrorKind::InvalidArgument, "gpo_pipeline_create", &message)
}

/// The closure that the library's stage calls; lives as long as the pipeline.
pub(super) struct StageCall {
    function: EnqueueFunction,
    devices: Vec<Device>,
    sizes: Sizes,
    failure: Arc<Mutex<Option<String>>>,
}

/// `user` is a `StageCall`, which lives as long as the pipeline and is used only here; calls come one at a time.
unsafe extern "C" fn enqueue(
    user: *mut c_void,
    stream: sys::gpo_stream_t,
    chunk: *const sys::gpo_chunk,
) -> sys::gpo_status {
    // SAFETY: see above; the chunk is valid during the call.
    let (call, chunk) = unsafe { (&mut *user.cast::<StageCall>(), &*chunk) };
    let stream = Stream::borrowed(stream, &call.devices[chunk.device as usize]);
    let chunk = Chunk::new(chunk, call.sizes, Some(&stream));
    match contained(|| (call.function)(&stream, &chunk)).unwrap_or_else(Err) {
        Ok(()) => sys::GPO_SUCCESS,
        Err(text) => {
            *call.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            sys::GPO_CALLBACK_FAILED
        }
    }
}

/// An argument that a stage may pass for a parameter `P` of its kernel: a value, a part of the chunk, or a buffer that
/// the pipeline owns.
pub trait StageArgument<P: Parameter> {
    #[doc(hidden)]
    fn add_to(self, list: &mut Vec<Passed>);
}

impl<T: Pod> StageArgument<T> for T {
    fn add_to(self, list: &mut Vec<Passed>) {
        let value = bytemuck::bytes_of(&self).to_vec();
        list.push(Passed { kind: sys::GPO_ARGUMENT_VALUE, value, values: 1, buffers: Vec::new() });
    }
}

/// A shared buffer for all chunks: a table, weights, a sum. The pipeline owns the buffer. Its kernels see the buffer's
/// contents at the start of a run. A program that has a clone of the `Arc` can read the buffer afterwards.
impl<T: Pod + Send + Sync> StageArgument<DeviceBuffer<T>> for Arc<DeviceBuffer<T>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let value = self.address().to_ne_bytes().to_vec();
        list.push(Passed { kind: sys::GPO_ARGUMENT_VALUE, value, values: 1, buffers: vec![self] });
    }
}

/// A shared buffer for all chunks, with its length.
impl<T: Pod + Send + Sync> StageArgument<Slice<T>> for Arc<DeviceBuffer<T>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let len = self.len() as u64;
        StageArgument::<DeviceBuffer<T>>::add_to(self, list);
        len.add_to(list);
    }
}

/// A buffer for all chunks, which only the pipeline owns.
impl<T: Pod + Send + Sync> StageArgument<DeviceBuffer<T>> for DeviceBuffer<T> {
    fn add_to(self, list: &mut Vec<Passed>) {
        StageArgument::<DeviceBuffer<T>>::add_to(Arc::new(self), list);
    }
}

/// A buffer for all chunks, which only the pipeline owns, with its length.
impl<T: Pod + Send + Sync> StageArgument<Slice<T>> for DeviceBuffer<T> {
    fn add_to(self, list: &mut Vec<Passed>) {
        StageArgument::<Slice<T>>::add_to(Arc::new(self), list);
    }
}

/// An argument that differs between the pipeline's devices: a value or a buffer for each, in their order.
///
/// ```
/// use gpuorch::{DeviceBuffer, Slice, pipeline::*};
/// # fn stage(maps: &[gpuorch::BoundKernel<(DeviceBuffer<u8>, DeviceBuffer<u8>, Slice<u8>)>],
/// #     tables: Vec<DeviceBuffer<u8>>) -> Stage {
/// Stage::kernels(maps, (Input, Output, PerDevice(tables)))
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PerDevice<T>(pub Vec<T>);

impl<T: Pod> StageArgument<T> for PerDevice<T> {
    fn add_to(self, list: &mut Vec<Passed>) {
        list.push(Passed {
            kind: sys::GPO_ARGUMENT_DEVICE_VALUE,
            value: bytemuck::cast_slice(&self.0).to_vec(),
            values: self.0.len(),
            buffers: Vec::new(),
        });
    }
}

/// A shared buffer on each device.
impl<T: Pod + Send + Sync> StageArgument<DeviceBuffer<T>> for PerDevice<Arc<DeviceBuffer<T>>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let addresses: Vec<u64> = self.0.iter().map(|buffer| buffer.address()).collect();
        StageArgument::<u64>::add_to(PerDevice(addresses), list);
        if let Some(passed) = list.last_mut() {
            passed.buffers = self.0.into_iter().map(|buffer| buffer as Arc<dyn StageBuffer>).collect();
        }
    }
}

/// A shared buffer on each device, with its length.
impl<T: Pod + Send + Sync> StageArgument<Slice<T>> for PerDevice<Arc<DeviceBuffer<T>>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let lengths = self.0.iter().map(|buffer| buffer.len() as u64).collect();
        StageArgument::<DeviceBuffer<T>>::add_to(self, list);
        StageArgument::<u64>::add_to(PerDevice(lengths), list);
    }
}

/// A buffer on each device, which only the pipeline owns.
impl<T: Pod + Send + Sync> StageArgument<DeviceBuffer<T>> for PerDevice<DeviceBuffer<T>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let shared = PerDevice(self.0.into_iter().map(Arc::new).collect());
        StageArgument::<DeviceBuffer<T>>::add_to(shared, list);
    }
}

/// A buffer on each device, which only the pipeline owns, with its length.
impl<T: Pod + Send + Sync> StageArgument<Slice<T>> for PerDevice<DeviceBuffer<T>> {
    fn add_to(self, list: &mut Vec<Passed>) {
        let shared = PerDevice(self.0.into_iter().map(Arc::new).collect());
        StageArgument::<Slice<T>>::add_to(shared, list);
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name;

        impl StageArgument<u64> for $name {
            fn add_to(self, list: &mut Vec<Passed>) {
                list.push(Passed::part(sys::$kind));
            }
        }
    )*};
}

numbers! {
    /// `unsigned long long`: how many bytes of input the chunk has.
    InputBytes: GPO_ARGUMENT_INPUT_BYTES;
    /// `unsigned long long`: how many bytes of output the chunk has.
    OutputBytes: GPO_ARGUMENT_OUTPUT_BYTES;
    /// `unsigned long long`: the chunk's number, from 0.
    Index: GPO_ARGUMENT_INDEX;
    /// `unsigned long long`: position of the chunk's first byte in the input.
    Offset: GPO_ARGUMENT_OFFSET;
}

macro_rules! buffers {
    ($($(#[$doc:meta])* $name:ident: $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name;

        impl<T: Pod> StageArgument<DeviceBuffer<T>> for $name {
            fn add_to(self, list: &mut Vec<Passed>) {
                list.push(Passed::part(sys::$kind));
            }
        }
    )*};
}

buffers! {
    /// The address of the chunk's input; for a [`Slice<u8>`], with its bytes.
    Input: GPO_ARGUMENT_INPUT;
    /// The address of the chunk's output; for a [`Slice<u8>`], with its bytes.
    Output: GPO_ARGUMENT_OUTPUT;
    /// The address of the chunk's scratch memory.
    Scratch: GPO_ARGUMENT_SCRATCH;
    /// The address of the chunk's result.
    ResultBlock: GPO_ARGUMENT_RESULT;
}

impl StageArgument<Slice<u8>> for Input {
    fn add_to(self, list: &mut Vec<Passed>) {
        StageArgument::<DeviceBuffer<u8>>::add_to(self, list);
        InputBytes.add_to(list);
    }
}

impl StageArgument<Slice<u8>> for Output {
    fn add_to(self, list: &mut Vec<Passed>) {
        StageArgument::<DeviceBuffer<u8>>::add_to(self, list);
        OutputBytes.add_to(list);
    }
}

/// The arguments that a stage may pass for the parameters `P`: a tuple of [`StageArgument`]s.
pub trait StageArguments<P: Parameters> {
    #[doc(hidden)]
    fn list(self) -> Vec<Passed>;
}

impl StageArguments<()> for () {
    fn list(self) -> Vec<Passed> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($(($($parameter:ident $argument:ident $value:ident),*))*) => {$(
        impl<$($parameter: Parameter, $argument: StageArgument<$parameter>),*> StageArguments<($($parameter,)*)>
            for ($($argument,)*)
        {
            fn list(self) -> Vec<Passed> {
                let ($($value,)*) = self;
                let mut list = Vec::new();
                $($value.add_to(&mut list);)*
                list
            }
        }
    )*};
}

tuples! {
    (P0 A0 v0)
    (P0 A0 v0, P1 A1 v1)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9, P10 A10 v10)
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9, P10 A10 v10,
     P11 A11 v11)
}
