//! Where the data of a run comes from.

use crate::callback::contained;
use crate::error::Result;
use crate::host::HostBuffer;
use crate::trace::c_path;
use gpuorch_sys as sys;
use std::ffi::{CString, c_void};
use std::fmt::Display;
use std::io::{self, Read};
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Where the data of a run comes from. The run owns the source, and gives `S` back at its end.
pub struct Source<S> {
    pub(super) value: S,
    origin: Origin,
    offset: u64,
    most: u64,
    flags: u32,
}

enum Origin {
    Memory { start: *const c_void, bytes: u64 },
    File(PathBuf),
    Descriptor(i32),
    Callback(FillFunction),
}

// SAFETY: the pointer leads to a `HostBuffer`'s memory, which is `Send` and doesn't move.
unsafe impl<S: Send> Send for Source<S> {}

type FillFunction = Box<dyn FnMut(&mut [u8]) -> Result<Fill, String> + Send>;

/// The result of a call of a source's closure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fill {
    /// The closure has written this many bytes; more may come.
    More(usize),
    /// The closure has written this many bytes, the last ones.
    End(usize),
}

impl<B: HostBuffer> Source<B> {
    /// A buffer. Pinned memory is copied from directly; other memory is staged by threads.
    pub fn memory(buffer: B) -> Self {
        let elements = buffer.as_slice();
        let origin = Origin::Memory { start: elements.as_ptr().cast(), bytes: size_of_val(elements) as u64 };
        Self { value: buffer, origin, offset: 0, most: 0, flags: 0 }
    }
}

impl Source<OwnedFd> {
    /// An open file or pipe. Never closed: the run gives the descriptor back.
    pub fn descriptor(descriptor: OwnedFd) -> Self {
        let origin = Origin::Descriptor(descriptor.as_raw_fd());
        Self { value: descriptor, origin, offset: 0, most: 0, flags: 0 }
    }
}

impl Source<()> {
    /// A file or pipe, opened when the run starts.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { value: (), origin: Origin::File(path.into()), offset: 0, most: 0, flags: 0 }
    }

    /// A closure that fills a slice from its start. The closure is called until a whole chunk is there, and may block.
    /// An error or a panic ends the run with [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed).
    pub fn callback<E: Display>(mut fill: impl FnMut(&mut [u8]) -> Result<Fill, E> + Send + 'static) -> Self {
        let fill: FillFunction = Box::new(move |room| fill(room).map_err(|error| error.to_string()));
        Self { value: (), origin: Origin::Callback(fill), offset: 0, most: 0, flags: 0 }
    }

    /// Any reader, up to its end.
    pub fn reader(mut reader: impl Read + Send + 'static) -> Self {
        Self::callback(move |room| match reader.read(room) {
            Ok(0) => Ok(Fill::End(0)),
            Ok(bytes) => Ok(Fill::More(bytes)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Fill::More(0)),
            Err(error) => Err(error),
        })
    }
}

impl<S> Source<S> {
    /// Where to begin in the file.
    #[must_use]
    pub fn offset(mut self, bytes: u64) -> Self {
        self.offset = bytes;
        self
    }

    /// How many bytes of a file to read at most.
    #[must_use]
    pub fn at_most(mut self, bytes: u64) -> Self {
        self.most = bytes;
        self
    }

    /// The run fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if a regular file grows, shrinks, is written to or is
    /// deleted while it is read. The file is checked once, when its last byte has been read.
    #[must_use]
    pub fn unchanged(mut self) -> Self {
        self.flags |= sys::GPO_SOURCE_UNCHANGED;
        self
    }

    /// The library's description of the source, without the closure's address; and the path behind its pointer.
    pub(super) fn raw(&self) -> Result<(sys::gpo_source, Option<CString>)> {
        let mut raw = sys::gpo_source::new();
        raw.offset = self.offset;
        raw.bytes = self.most;
        raw.flags = self.flags;
        let mut path = None;
        match &self.origin {
            Origin::Memory { start, bytes } => {
                raw.kind = sys::GPO_SOURCE_MEMORY;
                raw.memory = *start;
                raw.bytes = *bytes;
            }
            Origin::File(name) => {
                raw.kind = sys::GPO_SOURCE_FILE;
                let name = path.insert(c_path(name, "gpo_pipeline_start")?);
                raw.path = name.as_ptr();
            }
            Origin::Descriptor(number) => {
                raw.kind = sys::GPO_SOURCE_FILE;
                raw.flags |= sys::GPO_SOURCE_USE_DESCRIPTOR;
                raw.descriptor = *number;
            }
            Origin::Callback(_) => {
                raw.kind = sys::GPO_SOURCE_CALLBACK;
                raw.fill = Some(fill);
            }
        }
        Ok((raw, path))
    }

    pub(super) fn into_parts(self) -> (S, SourceCall) {
        let function = match self.origin {
            Origin::Callback(function) => Some(function),
            _ => None,
        };
        (self.value, SourceCall { function, failure: None })
    }
}

/// The closure that the library's source calls, and the text of its failure.
pub(super) struct SourceCall {
    function: Option<FillFunction>,
    pub(super) failure: Option<String>,
}

/// `user` is the run's `SourceCall`, used only here during the run; calls come one at a time.
unsafe extern "C" fn fill(user: *mut c_void, buffer: *mut c_void, capacity: u64, bytes: *mut u64) -> sys::gpo_status {
    // SAFETY: see above; the buffer has `capacity` bytes, which are this call's.
    let (call, room, bytes) = unsafe {
        let room = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), capacity as usize);
        (&mut *user.cast::<SourceCall>(), room, &mut *bytes)
    };
    let Some(function) = &mut call.function else { return sys::GPO_END };
    let capacity = room.len();
    let (count, status) = match contained(|| function(room)).unwrap_or_else(Err) {
        Ok(Fill::More(count)) => (count, sys::GPO_SUCCESS),
        Ok(Fill::End(count)) => (count, sys::GPO_END),
        Err(text) => {
            call.failure = Some(text);
            return sys::GPO_CALLBACK_FAILED;
        }
    };
    if count > capacity {
        call.failure = Some(format!("a source has written {count} bytes into {capacity}"));
        return sys::GPO_CALLBACK_FAILED;
    }
    *bytes = count as u64;
    status
}
