//! Batches, as the closures of keys get them.

use crate::callback::contained;
use crate::device::Device;
use crate::memory::{DeviceSlice, Memory};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// How many values an element of a key has, in and out.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) ragged: bool,
}

/// Requests that run together. The batch is valid only during the closure's call. Only [`stream`](Self::stream) can use
/// its memory: the next batch gets the memory once this stream has done its work.
pub struct Batch<'a, I, O> {
    raw: &'a sys::gpo_batch,
    stream: &'a Stream,
    sizes: Sizes,
    input: Memory,
    output: Memory,
    offsets: Memory,
    made: Memory,
    elements: PhantomData<fn(I) -> O>,
}

/// A request in a batch.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The flow of the request.
    pub flow: u64,
    /// How many elements the request has; 1 for rows.
    pub elements: usize,
    /// The position of its first element in the batch.
    pub first: usize,
}

impl<'a, I: Pod, O: Pod> Batch<'a, I, O> {
    fn new(raw: &'a sys::gpo_batch, stream: &'a Stream, sizes: Sizes) -> Self {
        let [input, output, offsets, made] =
            [raw.input, raw.output, raw.offsets, raw.made].map(|address| Memory::of_chunk(address, Some(stream)));
        Self { raw, stream, sizes, input, output, offsets, made, elements: PhantomData }
    }

    /// The stream for the work, usable only during the call.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.raw.requests as usize
    }

    /// How many elements all requests have; the number of requests for rows.
    pub fn elements(&self) -> usize {
        self.raw.elements as usize
    }

    /// The input of all requests, one behind the other.
    pub fn input(&self) -> DeviceSlice<'_, I> {
        DeviceSlice::of(&self.input, self.elements() * self.sizes.input)
    }

    /// The output of all requests, one behind the other. Zeros at first, unless the key has
    /// [`keep_output`](super::KeyBuilder::keep_output).
    pub fn output(&self) -> DeviceSlice<'_, O> {
        DeviceSlice::of(&self.output, self.elements() * self.sizes.output)
    }

    /// Where each request begins, in elements, and where the last one ends.
    pub fn offsets(&self) -> DeviceSlice<'_, u32> {
        DeviceSlice::of(&self.offsets, self.requests() + 1)
    }

    /// For a key with [`variable_output`](super::KeyBuilder::variable_output): where the work may write how many bytes
    /// of output it made for each request. 0, as at first: all of the request's room. Otherwise `None`.
    pub fn made(&self) -> Option<DeviceSlice<'_, u32>> {
        (self.raw.made != 0).then(|| DeviceSlice::of(&self.made, self.requests()))
    }

    /// The device that the batch runs on, by its place in [`Batcher::devices`](super::Batcher::devices).
    pub fn device(&self) -> usize {
        self.raw.device as usize
    }

    /// The number of the lane, from 0. Batches of a lane run one after the other.
    pub fn lane(&self) -> usize {
        self.raw.lane as usize
    }

    /// The requests, in the order in which they lie in the batch.
    pub fn members(&self) -> impl Iterator<Item = Member> + '_ {
        let sys::gpo_batch { members, member_stride, .. } = *self.raw;
        (0..self.requests()).map(move |index| {
            // SAFETY: the array has `requests` structs, `member_stride` bytes apart, during the call.
            let member =
                unsafe { &*members.cast::<u8>().add(index * member_stride as usize).cast::<sys::gpo_batch_request>() };
            Member { flow: member.flow, elements: member.elements as usize, first: member.first as usize }
        })
    }
}

impl<I, O> fmt::Debug for Batch<'_, I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Batch");
        out.field("requests", &self.raw.requests).field("elements", &self.raw.elements);
        out.field("device", &self.raw.device).field("lane", &self.raw.lane).finish_non_exhaustive()
    }
}

// --- the closure ---

type WorkFunction<I, O> = Box<dyn Fn(&Batch<'_, I, O>) -> Result<(), String> + Send + Sync>;

/// The closure of a key; lives as long as the batcher and its requests.
pub(super) struct Calls<I, O> {
    pub(super) devices: Vec<Device>,
    pub(super) sizes: Sizes,
    pub(super) work: WorkFunction<I, O>,
    pub(super) said: Arc<Mutex<Option<String>>>,
}

/// `user` is a `Calls<I, O>` that lives as long as the batcher and its requests; several threads may be here.
pub(super) unsafe extern "C" fn call_work<I: Pod, O: Pod>(
    user: *mut c_void,
    stream: sys::gpo_stream_t,
    batch: *const sys::gpo_batch,
) -> sys::gpo_status {
    // SAFETY: see above; the batch is valid during the call.
    let (calls, raw) = unsafe { (&*user.cast::<Calls<I, O>>(), &*batch) };
    let called = contained(|| {
        let device = calls.devices.get(raw.device as usize).ok_or("the batcher has no such device")?;
        let stream = Stream::borrowed(stream, device);
        (calls.work)(&Batch::new(raw, &stream, calls.sizes))
    });
    match called.unwrap_or_else(Err) {
        Ok(()) => sys::GPO_SUCCESS,
        Err(text) => {
            *calls.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            sys::GPO_CALLBACK_FAILED
        }
    }
}
