//! Learning that GPU work is done, without waiting for it: queues that programs with a loop of their own drain.

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

/// A queue of completions: what is marked here appears in it when it is done, with the caller's number. Clones are the same
/// queue.
///
/// A program whose event loop watches descriptors takes [`fd`](Self::fd); one that has Rust's futures needs no queue.
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

    /// A queue for `capacity` entries, counting those that are accepted and not done.
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
    /// Marks the point behind all that is on the stream now. [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock) if the
    /// queue is full: nothing is marked then.
    pub fn notify(&self, stream: &Stream, user_data: u64) -> Result<()> {
        call!(stream_notify(stream.as_raw(), self.as_raw(), user_data))
    }

    /// The same, and the entry's `gpu_ns` says how much GPU time lies between the event, which takes times, and the mark.
    pub fn notify_timed(&self, stream: &Stream, user_data: u64, since: &Event) -> Result<()> {
        call!(stream_notify_timed(stream.as_raw(), self.as_raw(), user_data, since.as_raw()))
    }

    /// An entry when the event's last recording is reached.
    pub fn notify_event(&self, event: &Event, user_data: u64) -> Result<()> {
        call!(event_notify(event.as_raw(), self.as_raw(), user_data))
    }

    /// An entry when the timeline has reached `value`, or can't any more.
    pub fn notify_timeline(&self, timeline: &Timeline, value: u64, user_data: u64) -> Result<()> {
        call!(timeline_notify(timeline.as_raw(), value, self.as_raw(), user_data))
    }

    /// An entry when the pipeline's run has ended.
    pub fn notify_pipeline(&self, pipeline: &Pipeline, user_data: u64) -> Result<()> {
        call!(pipeline_notify(pipeline.as_raw(), self.as_raw(), user_data))
    }

    /// Takes up to `most` entries out: `usize::MAX` for all that there are. Doesn't block; each entry goes to one caller.
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) if there are none and the runtime has shut down: all that was
    /// accepted has been taken.
    pub fn drain(&self, most: usize) -> Result<Vec<Completion>> {
        let mut taken = Vec::new();
        let mut piece = [sys::gpo_completion::new(); 64];
        loop {
            let room = piece.len().min(most - taken.len());
            let count = match self.drain_into(&mut piece[..room]) {
                Ok(count) => count,
                Err(error) if taken.is_empty() => return Err(error),
                // What was taken is nobody else's any more.
                Err(_) => 0,
            };
            taken.extend(piece[..count].iter().map(|&entry| Completion(entry)));
            if count < room || taken.len() == most {
                return Ok(taken);
            }
        }
    }

    /// The same into the caller's memory: gives how many entries it has written.
    pub fn drain_into(&self, entries: &mut [sys::gpo_completion]) -> Result<usize> {
        let mut count = 0;
        let stride = size_of::<sys::gpo_completion>() as u64;
        call!(cq_drain(self.as_raw(), entries.as_mut_ptr(), stride, entries.len() as u64, &mut count))?;
        Ok(count as usize)
    }

    /// Waits until there is an entry, or [`wake`](Self::wake) is called.
    /// [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown) as [`drain`](Self::drain).
    pub fn wait(&self) -> Result<()> {
        call!(cq_wait(self.as_raw(), FOR_EVER))
    }

    /// The same with a timeout: [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(cq_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// Ends one wait, the one in progress or the next, and makes the descriptor readable.
    pub fn wake(&self) -> Result<()> {
        call!(cq_wake(self.as_raw()))
    }

    /// A descriptor that is readable when there may be something to drain: for epoll and all that is built on it. One drain
    /// for each wake is enough. Never read it or write it.
    pub fn fd(&self) -> Result<OwnedFd> {
        let mut descriptor = -1;
        call!(cq_get_fd(self.as_raw(), &mut descriptor))?;
        // SAFETY: it is a duplicate, made for this caller.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }

    /// The details of a failed entry; they are kept for the last 256 failures.
    pub fn error(&self, entry: &Completion) -> Result<Error> {
        let mut error = sys::gpo_error::new();
        call!(cq_get_error(self.as_raw(), entry.error_id, &mut error))?;
        Ok(Error::from_sys(&error))
    }

    /// What it has taken and given.
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
