//! Events: points in a stream that can be queried, waited for and timed.

use crate::builder::builder;
use crate::call::call;
use crate::device::Device;
use crate::done::{Awaited, Done};
use crate::error::{Error, ErrorKind, Result};
use crate::handle::{Owned, optional_c_string, pointer};
use gpuorch_sys as sys;
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
}

impl EventBuilder<'_> {
    /// Recorded or waited for on a stream in a recording, the event becomes a node of the graph: each launch records
    /// it, or waits for it. The event marks no point in the recording, and adds no stream to the recording.
    pub fn external(mut self) -> Self {
        self.options.flags |= sys::GPO_EVENT_EXTERNAL;
        self
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

    /// A future that is ready when the newest recording, at the first poll, is complete.
    pub fn done(&self) -> Done {
        Done::new(Awaited::Event(self.clone()))
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

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_event_t {
        self.inner.raw
    }
}
