//! Numbers that only rise, for waits between the host and streams of any device.

use crate::call::call;
use crate::done::{Awaited, Done};
use crate::error::{Error, ErrorKind, Result};
use crate::handle::{Owned, c_string, optional_c_string, pointer};
use crate::runtime::Runtime;
use gpuorch_sys as sys;
use std::sync::Arc;

/// A number that only rises. A signal raises it to a value. A wait for a value ends when the number is this value or
/// higher; a wait may be submitted before the signal. Clones are the same timeline.
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

    /// Like [`timeline`](Self::timeline), with a name for errors, logs, statistics and traces.
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
    /// The runtime that the timeline was made from.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.parent
    }

    /// Fails the timeline permanently: waits for values that are not reached fail with this failure. `kind` must be a
    /// failure of work: [`Cancelled`](ErrorKind::Cancelled), [`Failed`](ErrorKind::Failed), … If the timeline has
    /// failed before, the first failure stays.
    pub fn fail(&self, kind: ErrorKind, message: &str) -> Result<()> {
        const FUNCTION: &str = "gpo_timeline_fail";
        let message = c_string(message, FUNCTION)?;
        let refused = || Error::new(ErrorKind::InvalidArgument, FUNCTION, format!("{kind:?} has no status"));
        call!(timeline_fail(self.as_raw(), kind.status().ok_or_else(refused)?, message.as_ptr()))
    }

    /// A future that is ready when the timeline reaches `value`, or can't reach it any more.
    pub fn reached(&self, value: u64) -> Done {
        Done::new(Awaited::Timeline(self.clone(), value))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_timeline_t {
        self.inner.raw
    }
}
