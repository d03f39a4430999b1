//! Queues of GPU work, and pools of them.

use crate::builder::{Options, builder};
use crate::call::{call, status};
use crate::device::Device;
use crate::done::{Awaited, Done};
use crate::error::Result;
use crate::handle::{Owned, Raw};
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::sync::Arc;

/// A queue of GPU work. Operations on it run in order, beside those of other streams. Clones are the same stream.
///
/// Once an operation has failed, everything behind it fails with the same failure, and new work is refused. Dropping
/// the last clone leaves the stream's work as it is.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    raw: sys::gpo_stream_t,
    device: Device,
    owner: Owner,
    resident: bool,
}

/// The owner of a stream, which decides what the drop of the last clone does.
enum Owner {
    /// The last clone destroys the stream.
    Us,
    /// The last clone gives the stream back to the pool.
    Pool(StreamPool),
    /// The stream has another owner: the last clone does nothing.
    Nobody,
}

// SAFETY: a handle is a number, and any thread may call any function with it.
unsafe impl Send for Inner {}
// SAFETY: likewise.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Nobody => {}
            Owner::Us => self.raw.destroy(),
            // Refused only where the runtime has been shut down.
            Owner::Pool(pool) => drop(status!(stream_pool_release(pool.as_raw(), self.raw))),
        }
    }
}

/// Options of a stream.
#[must_use = "a builder makes nothing until `build`"]
pub struct StreamBuilder<'a> {
    device: &'a Device,
    pub(crate) options: Options<sys::gpo_stream_options>,
}

impl<'a> StreamBuilder<'a> {
    pub(crate) fn new(device: &'a Device) -> Self {
        Self { device, options: Options::of(sys::gpo_stream_options::new()) }
    }

    /// Experimental: the stream launches repeated sequences of launches, copies and fills as one graph each.
    /// [`StreamInfo`](crate::StreamInfo) counts them: `learned` and `replayed`. A learning stream can't be
    /// [`blocking`](Self::blocking), nor [`wrap`](Self::wrap) a `CUstream`.
    pub fn learns(mut self) -> Self {
        self.options.flags |= sys::GPO_STREAM_LEARNS;
        self
    }

    /// For kernels that stay on the GPU until the program ends them, such as kernels that serve a queue. Waits for
    /// everything ([`Device::wait`], frees of memory) leave the stream out; waits for the stream itself are as with any
    /// stream. A resident stream can't be [`blocking`](Self::blocking), [`learn`](Self::learns), nor
    /// [`wrap`](Self::wrap) a `CUstream`.
    ///
    /// Dropping the last handle of a runtime waits for resident work too: end this work before. The library ends the
    /// kernels of queues that were made [`resident_on`](crate::queue::QueueBuilder::resident_on) the stream.
    pub fn resident(mut self) -> Self {
        self.options.flags |= sys::GPO_STREAM_RESIDENT;
        self
    }

    /// Makes the stream.
    pub fn build(self) -> Result<Stream> {
        let mut raw = std::ptr::null_mut();
        call!(stream_create(self.device.as_raw(), self.options.checked("gpo_stream_create")?, &mut raw))?;
        Ok(self.stream(raw))
    }

    /// A handle for a `CUstream` of another library, which may be in capture. The `CUstream` is never destroyed, and
    /// the stream is never held.
    ///
    /// # Safety
    ///
    /// `native` must be a stream of this device's context (or NULL or 1 for the legacy default stream) and must outlive
    /// the work that is put on it.
    pub unsafe fn wrap(self, native: *mut c_void) -> Result<Stream> {
        let mut raw = std::ptr::null_mut();
        call!(stream_wrap(self.device.as_raw(), native, self.options.checked("gpo_stream_wrap")?, &mut raw))?;
        Ok(self.stream(raw))
    }

    fn stream(&self, raw: sys::gpo_stream_t) -> Stream {
        let resident = self.options.flags & sys::GPO_STREAM_RESIDENT != 0;
        Stream { inner: Arc::new(Inner { raw, device: self.device.clone(), owner: Owner::Us, resident }) }
    }
}

impl Stream {
    /// The stream's device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// A stream with another owner. After the owner has destroyed the stream, calls on it fail.
    pub(crate) fn borrowed(raw: sys::gpo_stream_t, device: &Device) -> Self {
        let mut info = sys::gpo_stream_info::new();
        let told = status!(stream_get_info(raw, &mut info));
        let resident = matches!(told, Ok(sys::GPO_SUCCESS)) && info.flags & sys::GPO_STREAM_RESIDENT != 0;
        Self { inner: Arc::new(Inner { raw, device: device.clone(), owner: Owner::Nobody, resident }) }
    }

    /// Whether waits for everything, and frees of memory, leave this stream out: [`StreamBuilder::resident`].
    pub fn is_resident(&self) -> bool {
        self.inner.resident
    }

    /// A future that is ready when all work that is on the stream at the first poll is done.
    pub fn done(&self) -> Done {
        Done::new(Awaited::Stream(self.clone()))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_stream_t {
        self.inner.raw
    }
}

/// A few streams that many users share. Clones are the same pool. Acquired streams keep the pool alive.
#[derive(Clone)]
pub struct StreamPool {
    inner: Arc<Owned<sys::gpo_stream_pool_t, Device>>,
}

builder! {
    /// Options of a pool of streams.
    StreamPoolBuilder of StreamPool: stream_pool_create(Device, gpo_stream_pool_options);
}

impl StreamPool {
    /// Acquires a stream of the priority nearest to `priority`: the stream with the fewest users, or, if several have
    /// equally few, the least busy of them. Several users may get the same stream. Dropping the stream gives it back.
    pub fn acquire(&self, priority: i32) -> Result<Stream> {
        let mut raw = std::ptr::null_mut();
        call!(stream_pool_acquire(self.as_raw(), priority, &mut raw))?;
        let device = self.inner.parent.clone();
        let inner = Inner { raw, device, owner: Owner::Pool(self.clone()), resident: false };
        Ok(Stream { inner: Arc::new(inner) })
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_stream_pool_t {
        self.inner.raw
    }
}
