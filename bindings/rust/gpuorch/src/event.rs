//! Events: points in a stream that can be queried, waited for and timed.

use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::done::{Awaited, Done, Enqueued};
use crate::error::{Error, ErrorKind, Result, failure};
use crate::handle::{FOR_EVER, Owned, nanoseconds, optional_c_string, pointer};
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

/// Size of an export for other processes, in bytes: [`Event::export`] and
/// [`DeviceBuffer::export`](crate::memory::DeviceBuffer::export).
pub const EXPORT_BYTES: usize = sys::GPO_EXPORT_BYTES as usize;

/// A point in a stream: the place of the event's newest recording. Clones are the same event.
///
/// A graph with the event as a node ([`Template::add_event_record`](crate::template::Template::add_event_record), or
/// [`external`](EventBuilder::external)) records it with each launch: two events with
/// [`timing`](EventBuilder::timing) time a part of a graph ([`Event::since`]).
#[derive(Clone)]
pub struct Event {
    inner: Arc<Owned<sys::gpo_event_t, Device>>,
}

builder! {
    /// Options of an event.
    EventBuilder of Event: event_create(Device, gpo_event_options);
    fields {}
    flags {
        /// The event records GPU times. Without this it costs the GPU less.
        timing: GPO_EVENT_TIMING,
        /// A thread that waits for the event sleeps at once and doesn't spin first.
        blocking_sync: GPO_EVENT_BLOCKING_SYNC,
        /// Other processes can import the event ([`Event::export`]). Not with `timing` or `external`.
        interprocess: GPO_EVENT_INTERPROCESS,
        /// Recorded or waited for on a stream in a recording, the event becomes a node of the graph: each launch
        /// records it, or waits for it. The event marks no point in the recording, and adds no stream to the recording.
        external: GPO_EVENT_EXTERNAL,
    }
}

impl Device {
    /// Makes an event that records no times.
    pub fn event(&self) -> Result<Event> {
        self.event_builder().build()
    }

    /// For an event with options.
    pub fn event_builder(&self) -> EventBuilder<'_> {
        EventBuilder::new(self)
    }

    /// An event that another process of this host has exported ([`Event::export`]). Both processes may record the event
    /// and wait for it. After a recording the program has to inform the other process by its own means.
    /// [`ErrorKind::PeerLost`]: the exporting process has ended. Waits fail with it if a process ends before its
    /// recording is complete.
    pub fn import_event(&self, exported: &[u8], label: Option<&str>) -> Result<Event> {
        const FUNCTION: &str = "gpo_event_import";
        let label = optional_c_string(label, FUNCTION)?;
        let mut raw = std::ptr::null_mut();
        let bytes = exported.as_ptr().cast();
        call!(event_import(self.as_raw(), bytes, exported.len(), pointer(&label), &mut raw))?;
        Ok(Event { inner: Arc::new(Owned { raw, parent: self.clone() }) })
    }
}

impl Event {
    /// The event's device.
    pub fn device(&self) -> &Device {
        &self.inner.parent
    }

    /// Records the event behind all work that was put on the stream so far. Waits for an earlier recording still wait
    /// for that recording.
    pub fn record<'s>(&self, stream: &'s Stream) -> Result<Enqueued<'s>> {
        call!(event_record(self.as_raw(), stream.as_raw()))?;
        Ok(Enqueued { stream })
    }

    /// Whether the newest recording is complete, or there was none. `Err` if the work before the recording has failed.
    pub fn is_done(&self) -> Result<bool> {
        match status!(event_query(self.as_raw()))? {
            sys::GPO_SUCCESS => Ok(true),
            sys::GPO_NOT_READY => Ok(false),
            other => Err(failure(other, "gpo_event_query")),
        }
    }

    /// A future that is ready when the newest recording, at the first poll, is complete.
    pub fn done(&self) -> Done {
        Done::new(Awaited::Event(self.clone()))
    }

    /// Waits until the newest recording is complete.
    pub fn wait(&self) -> Result<()> {
        call!(event_wait(self.as_raw(), FOR_EVER))
    }

    /// Waits with a timeout: [`ErrorKind::Timeout`] if it passes first.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        call!(event_wait(self.as_raw(), nanoseconds(timeout)))
    }

    /// GPU time since the recording of `start`. Both events must record times. [`ErrorKind::NotReady`] while a
    /// recording is not complete; [`ErrorKind::InvalidState`] if an event was never recorded, or if `start` came later.
    pub fn since(&self, start: &Self) -> Result<Duration> {
        const FUNCTION: &str = "gpo_event_get_elapsed";
        let mut elapsed = 0;
        call!(event_get_elapsed(start.as_raw(), self.as_raw(), &mut elapsed))?;
        let later = |_| Error::new(ErrorKind::InvalidState, FUNCTION, format!("the start came {} ns later", -elapsed));
        u64::try_from(elapsed).map(Duration::from_nanos).map_err(later)
    }

    /// The bytes with which another process of this host imports the event. The event must have been made with
    /// [`interprocess`](EventBuilder::interprocess), and must outlive the imported events.
    pub fn export(&self) -> Result<[u8; EXPORT_BYTES]> {
        let mut exported = [0; EXPORT_BYTES];
        call!(event_export(self.as_raw(), exported.as_mut_ptr().cast(), EXPORT_BYTES, std::ptr::null_mut()))?;
        Ok(exported)
    }

    /// The event's `CUevent`. The library owns it: don't destroy it.
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
    /// Makes later work on the stream wait, on the GPU, until the event's newest recording is complete. The host
    /// doesn't wait. The event may be of another device of the runtime.
    pub fn wait_event(&self, event: &Event) -> Result<Enqueued<'_>> {
        call!(stream_wait_event(self.as_raw(), event.as_raw()))?;
        Ok(Enqueued { stream: self })
    }
}
