//! Where the output of a run goes.

use super::chunk::{Chunk, Flow, Sizes};
use crate::callback::contained;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::trace::c_path;
use gpuorch_sys as sys;
use std::ffi::{CString, c_void};
use std::fmt::Display;
use std::io::Write;
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Where the output of a run goes. The run owns the sink, and gives `K` back at its end.
pub struct Sink<K> {
    pub(super) value: K,
    target: Target,
    take: Option<TakeFunction>,
}

enum Target {
    None,
    Memory { start: *mut c_void, bytes: u64 },
    File(PathBuf),
    Descriptor(i32),
    Host,
}

// SAFETY: the pointer leads to a `HostBuffer`'s memory, which is `Send` and doesn't move.
unsafe impl<K: Send> Send for Sink<K> {}

type TakeFunction = Box<dyn FnMut(&Chunk<'_>) -> Result<Flow, String> + Send>;

impl<B: HostBuffer> Sink<B> {
    /// A buffer. Pinned memory is copied to directly; threads move the output to other memory. If the output doesn't
    /// fit, the run fails with [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded).
    pub fn memory(mut buffer: B) -> Self {
        let elements = buffer.as_mut_slice();
        let bytes = size_of_val(elements) as u64;
        let target = Target::Memory { start: elements.as_mut_ptr().cast(), bytes };
        Self { value: buffer, target, take: None }
    }
}

impl Sink<OwnedFd> {
    /// An open file or pipe. Never closed: the run gives the descriptor back.
    pub fn descriptor(descriptor: OwnedFd) -> Self {
        let target = Target::Descriptor(descriptor.as_raw_fd());
        Self { value: descriptor, target, take: None }
    }
}

impl Sink<()> {
    /// Output is not copied out. Results are copied out if there is a closure to [`take`](Self::take) them.
    pub fn none() -> Self {
        Self { value: (), target: Target::None, take: None }
    }

    /// A file, written under a temporary name and renamed when the run has succeeded; after a failure nothing is left.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { value: (), target: Target::File(path.into()), take: None }
    }

    /// A closure that takes the chunks, in order, with their output and result, and may block. An error or a panic ends
    /// the run with [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed).
    pub fn callback<E: Display>(take: impl FnMut(&Chunk<'_>) -> Result<Flow, E> + Send + 'static) -> Self {
        Self { value: (), target: Target::Host, take: None }.take(take)
    }

    /// Any writer.
    pub fn writer(mut writer: impl Write + Send + 'static) -> Self {
        Self::callback(move |chunk| writer.write_all(chunk.output()).map(|()| Flow::Continue))
    }
}

impl<K> Sink<K> {
    /// A closure that also gets each chunk, after the chunk was written.
    #[must_use]
    pub fn take<E: Display>(mut self, mut take: impl FnMut(&Chunk<'_>) -> Result<Flow, E> + Send + 'static) -> Self {
        self.take = Some(Box::new(move |chunk| take(chunk).map_err(|error| error.to_string())));
        self
    }

    /// The library's description of the sink, without the closure's address; and the path behind its pointer.
    pub(super) fn raw(&self) -> Result<(sys::gpo_sink, Option<CString>)> {
        let mut raw = sys::gpo_sink::new();
        let mut path = None;
        raw.take = self.take.as_ref().map(|_| take as _);
        match &self.target {
            Target::None => raw.kind = sys::GPO_SINK_NONE,
            Target::Memory { start, bytes } => {
                raw.kind = sys::GPO_SINK_MEMORY;
                raw.memory = *start;
                raw.bytes = *bytes;
            }
            Target::File(name) => {
                raw.kind = sys::GPO_SINK_FILE;
                let name = path.insert(c_path(name, "gpo_pipeline_start")?);
                raw.path = name.as_ptr();
            }
            Target::Descriptor(number) => {
                raw.kind = sys::GPO_SINK_FILE;
                raw.flags |= sys::GPO_SINK_USE_DESCRIPTOR;
                raw.descriptor = *number;
            }
            Target::Host => raw.kind = sys::GPO_SINK_CALLBACK,
        }
        Ok((raw, path))
    }

    pub(super) fn into_parts(self, sizes: Sizes) -> (K, SinkCall) {
        (self.value, SinkCall { function: self.take, sizes, failure: None })
    }
}

/// The closure that the library's sink calls, and the text of its failure.
pub(super) struct SinkCall {
    function: Option<TakeFunction>,
    sizes: Sizes,
    pub(super) failure: Option<String>,
}

/// `user` is the run's `SinkCall`, used only here during the run; calls come one at a time.
unsafe extern "C" fn take(user: *mut c_void, chunk: *const sys::gpo_chunk) -> sys::gpo_status {
    // SAFETY: see above; the chunk is valid during the call.
    let (call, chunk) = unsafe { (&mut *user.cast::<SinkCall>(), &*chunk) };
    let Some(function) = &mut call.function else { return sys::GPO_SUCCESS };
    let chunk = Chunk::new(chunk, call.sizes, None);
    match contained(|| function(&chunk)).unwrap_or_else(Err) {
        Ok(Flow::Continue) => sys::GPO_SUCCESS,
        Ok(Flow::Stop) => sys::GPO_END,
        Err(text) => {
            call.failure = Some(text);
            sys::GPO_CALLBACK_FAILED
        }
    }
}
