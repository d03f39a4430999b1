//! Points in a stream that can be asked about, waited for and timed.

use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::done::{Awaited, Done, Enqueued};
use crate::error::{Error, ErrorKind, Result, failure};
use crate::handle::{FOR_EVER, Owned, nanoseconds};
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// A point in a stream: the one at which it was last recorded. Clones are the same event.
#[derive(Clone)]
pub struct Event {
    inner: Arc<Owned<sys::gpo_event_t, Device>>,
}

builder! {
    /// What an event is made with.
    EventBuilder of Event: event_create(Device, gpo_event_options);
    fields {}
    flags {
        /// It takes times; without, it is cheaper for the GPU.
        timing: GPO_EVENT_TIMING,
        /// Whoever waits for it sleeps at once, in place of spinning for a while.
        blocking_sync: GPO_EVENT_BLOCKING_SYNC,
    }
}

impl Device {
    /// An event that takes no times.
    pub fn event(&self) -> Result<Event> {
        self.event_builder().build()
    }

    /// For an event with options.
    pub fn event_builder(&self) -> EventBuilder<'_> {
        EventBuilder::new(self)
    }
}

impl Event {
    /// The device whose event it is.
    pub fn device(&self) -> &Device {
        &self.inner.parent
    }

    /// Marks the point behind all that was put on the stream so far. What waits for an earlier recording goes on to.
    pub fn record<'s>(&self, stream: &'s Stream) -> Result<Enqueued<'s>> {
        call!(event_record(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Whether the last recording has been reached, or there was none; `Err` if the work before it has failed.
    pub fn is_done(&self) -> Result<bool> {
        match status!(event_query(self.as_raw()))? {
            sys::GPO_SUCCESS => Ok(true),
            sys::GPO_NOT_READY => Ok(false),
            other => Err(failure(other, "gpo_event_query")),
        }
    }

    /// A future of the recording that is the last when the future is first polled.
    pub fn done(&self) -> Done {
        Done::new(Awaited::Event(self.clone()))
    }

    /// Waits for the last recording.
    pub fn wait(&self) -> Result<()> {
        call!(event_wait(self.as_raw(), FOR_EVER))
    }

    /// The same with a timeout: [`ErrorKind::Timeout`] if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(event_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// GPU time since the recording of `start`; both events take times. [`ErrorKind::NotReady`] while one is pending,
    /// [`ErrorKind::InvalidState`] if one was never recorded, or if `start` came later.
    pub fn since(&self, start: &Self) -> Result<Duration> {
        const FUNCTION: &str = "gpo_event_get_elapsed";
        let mut elapsed = 0;
        call!(event_get_elapsed(start.as_raw(), self.as_raw(), &mut elapsed))?;
        let later = |_| Error::new(ErrorKind::InvalidState, FUNCTION, format!("the start came {} ns later", -elapsed));
        u64::try_from(elapsed).map(Duration::from_nanos).map_err(later)
    }

    /// Its `CUevent`, which is the library's: don't destroy it.
    pub fn native(&self) -> Result<*mut c_void> {
        let mut native = std::ptr::null_mut();
        call!(event_get_native(self.as_raw(), &mut native))?;
        Ok(native)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_event_t {
        self.inner.raw
    }
}

impl Stream {
    /// What comes next waits until the event's last recording is reached: on the GPU, the host goes on. The event may be of
    /// another device of the runtime.
    pub fn wait_event(&self, event: &Event) -> Result<Enqueued<'_>> {
        call!(stream_wait_event(self.as_raw(), event.as_raw()))?;
        Ok(Enqueued { stream: self })
    }
}
