//! Completion queues: the host learns that GPU work is done without waiting for it. For programs with an event loop of
//! their own.

use crate::call::call;
use crate::done::Completion;
use crate::error::{Error, Result};
use crate::handle::{Owned, optional_c_string, pointer};
use crate::runtime::Runtime;
use gpuorch_sys as sys;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

/// A queue of completions. A notify promises an entry with the caller's number, which appears in the queue when the
/// work is done. Clones are the same queue.
///
/// A program whose event loop watches descriptors uses [`fd`](Self::fd). A program that uses Rust's futures needs no
/// queue.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let stream = runtime.open_device()?.stream()?;
/// let queue = runtime.completion_queue()?;
/// queue.notify(&stream, 42)?;
/// queue.wait()?;
/// let entries = queue.drain(16)?;
/// assert_eq!(entries[0].user_data, 42);
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Clone)]
pub struct CompletionQueue {
    inner: Arc<Owned<sys::gpo_cq_t, Runtime>>,
}

impl Runtime {
    /// A queue for 4096 entries.
    pub fn completion_queue(&self) -> Result<CompletionQueue> {
        self.make_queue(sys::GPO_AUTO, None)
    }

    /// A queue for `capacity` entries. Accepted notifies count as entries.
    pub fn completion_queue_of(&self, capacity: u32, label: Option<&str>) -> Result<CompletionQueue> {
        self.make_queue(capacity, label)
    }

    fn make_queue(&self, capacity: u32, label: Option<&str>) -> Result<CompletionQueue> {
        let label = optional_c_string(label, "gpo_cq_create")?;
        let mut options = sys::gpo_cq_options::new();
        options.capacity = capacity;
        options.label = pointer(&label);
        let mut raw = std::ptr::null_mut();
        call!(cq_create(self.as_raw(), &options, &mut raw))?;
        Ok(CompletionQueue { inner: Arc::new(Owned { raw, parent: self.clone() }) })
    }
}

impl CompletionQueue {
    /// Takes up to `most` entries out (`usize::MAX`: all that there are). Doesn't block. Each entry goes to one caller.
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) if the queue is empty and the runtime has shut down: every
    /// accepted entry has been taken.
    pub fn drain(&self, most: usize) -> Result<Vec<Completion>> {
        let mut taken = Vec::new();
        let mut piece = [sys::gpo_completion::new(); 64];
        loop {
            let room = piece.len().min(most - taken.len());
            let count = match self.drain_into(&mut piece[..room]) {
                Ok(count) => count,
                Err(error) if taken.is_empty() => return Err(error),
                // Return the entries that were taken: no other caller can get them.
                Err(_) => 0,
            };
            taken.extend(piece[..count].iter().map(|&entry| Completion(entry)));
            if count < room || taken.len() == most {
                return Ok(taken);
            }
        }
    }

    /// Like [`drain`](Self::drain), into the caller's memory. Returns how many entries were written.
    pub fn drain_into(&self, entries: &mut [sys::gpo_completion]) -> Result<usize> {
        let mut count = 0;
        let stride = size_of::<sys::gpo_completion>() as u64;
        call!(cq_drain(self.as_raw(), entries.as_mut_ptr(), stride, entries.len() as u64, &mut count))?;
        Ok(count as usize)
    }

    /// A descriptor for epoll and the event loops built on it. The descriptor is readable when there may be entries to
    /// drain. A single drain for each wake-up is enough. Never read or write the descriptor.
    pub fn fd(&self) -> Result<OwnedFd> {
        let mut descriptor = -1;
        call!(cq_get_fd(self.as_raw(), &mut descriptor))?;
        // SAFETY: it is a duplicate, made for this caller.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }

    /// The details of a failed entry. The queue stores them for its last 256 failures.
    pub fn error(&self, entry: &Completion) -> Result<Error> {
        let mut error = sys::gpo_error::new();
        call!(cq_get_error(self.as_raw(), entry.error_id, &mut error))?;
        Ok(Error::from_sys(&error))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_cq_t {
        self.inner.raw
    }
}
