//! Numbers that only rise, on which the host and streams of any device wait for one another.

use crate::call::call;
use crate::done::{Awaited, Done, Enqueued};
use crate::error::{Error, ErrorKind, Result};
use crate::handle::{FOR_EVER, Owned, c_string, nanoseconds, optional_c_string, pointer};
use crate::runtime::Runtime;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::sync::Arc;
use std::time::Duration;

/// A number that only rises. Whoever reaches a point signals a value; whoever needs it waits for that value or a higher
/// one, in any order. Clones are the same timeline.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let stream = runtime.open_device()?.stream()?;
/// let timeline = runtime.timeline(0)?;
/// stream.wait_timeline(&timeline, 1)?; // held on the host; the GPU isn't told
/// timeline.signal(1)?;
/// stream.wait()?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Clone)]
pub struct Timeline {
    inner: Arc<Owned<sys::gpo_timeline_t, Runtime>>,
}

impl Runtime {
    /// A timeline that begins with `value`.
    pub fn timeline(&self, value: u64) -> Result<Timeline> {
        self.make_timeline(value, None)
    }

    /// The same, with a name for errors, logs, statistics and traces.
    pub fn labelled_timeline(&self, value: u64, label: &str) -> Result<Timeline> {
        self.make_timeline(value, Some(label))
    }

    fn make_timeline(&self, value: u64, label: Option<&str>) -> Result<Timeline> {
        let label = optional_c_string(label, "gpo_timeline_create")?;
        let mut options = sys::gpo_timeline_options::new();
        options.value = value;
        options.label = pointer(&label);
        let mut raw = std::ptr::null_mut();
        call!(timeline_create(self.as_raw(), &options, &mut raw))?;
        Ok(Timeline { inner: Arc::new(Owned { raw, parent: self.clone() }) })
    }
}

impl Timeline {
    /// The runtime that it was made from.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.parent
    }

    /// Raises the value from the host, and releases all who waited for it.
    pub fn signal(&self, value: u64) -> Result<()> {
        call!(timeline_signal(self.as_raw(), value))
    }

    /// Fails it for good: whoever waits for a value that it hasn't reached fails with this. `kind` is a failure of work:
    /// [`Cancelled`](ErrorKind::Cancelled), [`Failed`](ErrorKind::Failed), … The first failure stays.
    pub fn fail(&self, kind: ErrorKind, message: &str) -> Result<()> {
        const FUNCTION: &str = "gpo_timeline_fail";
        let message = c_string(message, FUNCTION)?;
        let refused = || Error::new(ErrorKind::InvalidArgument, FUNCTION, format!("{kind:?} has no status"));
        call!(timeline_fail(self.as_raw(), kind.status().ok_or_else(refused)?, message.as_ptr()))
    }

    /// The value that has been reached; `Err` if it has failed.
    pub fn value(&self) -> Result<u64> {
        let mut value = 0;
        call!(timeline_get_value(self.as_raw(), &mut value))?;
        Ok(value)
    }

    /// A future of the moment in which it has reached `value`, or can't any more.
    pub fn reached(&self, value: u64) -> Done {
        Done::new(Awaited::Timeline(self.clone(), value))
    }

    /// Waits for a value on the host.
    pub fn wait(&self, value: u64) -> Result<()> {
        call!(timeline_wait(self.as_raw(), value, FOR_EVER))
    }

    /// The same with a timeout: [`ErrorKind::Timeout`] if it passes first.
    pub fn wait_for(&self, value: u64, timeout: Duration) -> Result<()> {
        call!(timeline_wait(self.as_raw(), value, nanoseconds(timeout)))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_timeline_t {
        self.inner.raw
    }
}

impl Stream {
    /// What comes next waits until the timeline reaches `value`: on the GPU if the signal is on its way there, else the
    /// stream is held on the host.
    pub fn wait_timeline(&self, timeline: &Timeline, value: u64) -> Result<Enqueued<'_>> {
        call!(stream_wait_timeline(self.as_raw(), timeline.as_raw(), value))?;
        Ok(Enqueued { stream: self })
    }

    /// Raises the timeline to `value` when the stream gets there. If work before it fails, the timeline fails with it.
    pub fn signal_timeline(&self, timeline: &Timeline, value: u64) -> Result<Enqueued<'_>> {
        call!(stream_signal_timeline(self.as_raw(), timeline.as_raw(), value))?;
        Ok(Enqueued { stream: self })
    }
}
