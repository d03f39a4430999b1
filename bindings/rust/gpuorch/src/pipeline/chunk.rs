//! Chunks, as the closures of stages and sinks get them.

use crate::memory::{DeviceSlice, Memory};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::fmt;
use std::mem::size_of;

/// A piece of the input with its buffers. The chunk is valid only during the closure's call:
///
/// ```compile_fail,E0521
/// use gpuorch::pipeline::Stage;
/// let mut kept = None;
/// let stage = Stage::callback(move |_, chunk| {
///     kept = Some(chunk.device_input::<u8>()); // the next chunk's, when this returns
///     Ok::<_, gpuorch::Error>(())
/// });
/// ```
pub struct Chunk<'a> {
    raw: &'a sys::gpo_chunk,
    sizes: Sizes,
    input: Memory,
    output: Memory,
    scratch: Memory,
    result: Memory,
}

/// Sizes of every chunk's blocks, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) result: usize,
    pub(super) scratch: usize,
}

/// Whether a sink wants more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// The next chunk may come.
    Continue,
    /// Enough: the run ends as a success.
    Stop,
}

impl<'a> Chunk<'a> {
    /// `raw` is the library's, valid during a callback. `stream` is the stream of a stage's callback.
    pub(super) fn new(raw: &'a sys::gpo_chunk, sizes: Sizes, stream: Option<&Stream>) -> Self {
        let [input, output, scratch, result] =
            [raw.input_address, raw.output_address, raw.scratch_address, raw.result_address]
                .map(|address| Memory::of_chunk(address, stream));
        Self { raw, sizes, input, output, scratch, result }
    }

    /// The chunk's number, from 0.
    pub fn index(&self) -> u64 {
        self.raw.index
    }

    /// The chunk's device, by its place among the pipeline's devices, from 0.
    pub fn device(&self) -> u32 {
        self.raw.device
    }

    /// The slot of its device that the chunk is in: below the number of slots.
    pub fn slot(&self) -> u32 {
        self.raw.slot
    }

    /// Position of the chunk's first byte in the input.
    pub fn offset(&self) -> u64 {
        self.raw.offset
    }

    /// Bytes of input; the last chunk may have fewer than the others.
    pub fn bytes(&self) -> u64 {
        self.raw.bytes
    }

    /// Position of the chunk's first byte in the output.
    pub fn output_offset(&self) -> u64 {
        self.raw.output_offset
    }

    /// How many bytes of output the chunk has.
    pub fn output_bytes(&self) -> u64 {
        self.raw.output_bytes
    }

    /// In a sink: the output in host memory; empty if the output is not copied there.
    pub fn output(&self) -> &[u8] {
        // SAFETY: the library gives this many bytes, valid during the callback, which `self` can't outlive.
        unsafe { bytes(self.raw.output, self.raw.output_bytes as usize) }
    }

    /// In a sink: the result in host memory; empty if the pipeline has none.
    pub fn result(&self) -> &[u8] {
        // SAFETY: likewise.
        unsafe { bytes(self.raw.result, self.sizes.result) }
    }

    /// The result as a value of type `T`. Panics if results have another size.
    pub fn result_as<T: Pod>(&self) -> T {
        bytemuck::pod_read_unaligned(self.result())
    }

    /// In a stage: the input in device memory. Only the stream of the stage's closure can use it. Other streams are
    /// refused with [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState), since the next chunk gets the memory
    /// once the stage's stream has done its work.
    pub fn device_input<T: Pod>(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of(&self.input, self.raw.bytes as usize / size_of::<T>().max(1))
    }

    /// In a stage: the output in device memory.
    pub fn device_output<T: Pod>(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of(&self.output, self.raw.output_bytes as usize / size_of::<T>().max(1))
    }

    /// In a stage: the scratch memory.
    pub fn device_scratch<T: Pod>(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of(&self.scratch, self.sizes.scratch / size_of::<T>().max(1))
    }

    /// In a stage: the result in device memory.
    pub fn device_result<T: Pod>(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of(&self.result, self.sizes.result / size_of::<T>().max(1))
    }
}

/// # Safety
///
/// `start` is NULL, or leads to `len` bytes, which are not written while the slice lives.
unsafe fn bytes<'a>(start: *const std::ffi::c_void, len: usize) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start.cast(), len) }
}

impl fmt::Debug for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Chunk");
        out.field("index", &self.index()).field("offset", &self.offset()).field("bytes", &self.bytes());
        out.field("output_bytes", &self.output_bytes()).finish_non_exhaustive()
    }
}
