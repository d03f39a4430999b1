//! Completion queues: the host learns that GPU work is done without waiting for it. For programs with an event loop of
//! their own.

use crate::call::call;
use crate::done::Completion;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::figures::QueueStatistics;
use crate::handle::{FOR_EVER, Owned, nanoseconds, optional_c_string, pointer};
use crate::pipeline::Pipeline;
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::timeline::Timeline;
use gpuorch_sys as sys;
use std::mem::size_of;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

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
    /// Promises an entry when all work that is on the stream now is done.
    /// [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock) if the queue is full: no entry will come.
    pub fn notify(&self, stream: &Stream, user_data: u64) -> Result<()> {
        call!(stream_notify(stream.as_raw(), self.as_raw(), user_data))
    }

    /// Like [`notify`](Self::notify). The entry's `gpu_ns` has the GPU time from the event to this point of the stream.
    /// The event must record times.
    pub fn notify_timed(&self, stream: &Stream, user_data: u64, since: &Event) -> Result<()> {
        call!(stream_notify_timed(stream.as_raw(), self.as_raw(), user_data, since.as_raw()))
    }

    /// Promises an entry when the event's newest recording is complete.
    pub fn notify_event(&self, event: &Event, user_data: u64) -> Result<()> {
        call!(event_notify(event.as_raw(), self.as_raw(), user_data))
    }

    /// Promises an entry when the timeline reaches `value`, or can't reach it any more.
    pub fn notify_timeline(&self, timeline: &Timeline, value: u64, user_data: u64) -> Result<()> {
        call!(timeline_notify(timeline.as_raw(), value, self.as_raw(), user_data))
    }

    /// Promises an entry when the pipeline's run has ended.
    pub fn notify_pipeline(&self, pipeline: &Pipeline, user_data: u64) -> Result<()> {
        call!(pipeline_notify(pipeline.as_raw(), self.as_raw(), user_data))
    }

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

    /// Waits until there is an entry, or [`wake`](Self::wake) is called.
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) as for [`drain`](Self::drain).
    pub fn wait(&self) -> Result<()> {
        call!(cq_wait(self.as_raw(), FOR_EVER))
    }

    /// Waits with a timeout: [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(cq_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Ends one wait, in progress or the next to begin, and makes the descriptor readable.
    pub fn wake(&self) -> Result<()> {
        call!(cq_wake(self.as_raw()))
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

    /// How many notifies the queue has accepted and how many entries it has delivered.
    pub fn statistics(&self) -> Result<QueueStatistics> {
        let mut statistics = QueueStatistics::empty();
        call!(cq_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_cq_t {
        self.inner.raw
    }
}
