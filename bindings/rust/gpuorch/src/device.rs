//! The GPUs that a runtime has opened.

use crate::arena::{Arena, ArenaBuilder};
use crate::builder::Options;
use crate::call::call;
use crate::error::Result;
use crate::handle::Owned;
use crate::pool::{Pool, PoolBuilder};
use crate::runtime::Runtime;
use crate::stream::{Stream, StreamBuilder, StreamPoolBuilder};
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A GPU, real or software. Clones are the same handle.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Owned<sys::gpo_device_t, Runtime>>,
}

/// Options for opening a device.
#[must_use = "a builder opens nothing until `open`"]
pub struct DeviceBuilder<'a> {
    runtime: &'a Runtime,
    pub(crate) options: Options<sys::gpo_device_options>,
}

impl<'a> DeviceBuilder<'a> {
    pub(crate) fn new(runtime: &'a Runtime, ordinal: u32) -> Self {
        let mut options = Options::of(sys::gpo_device_options::new());
        options.ordinal = ordinal;
        Self { runtime, options }
    }

    /// Uses this `CUcontext` of another library in place of the primary context.
    ///
    /// # Safety
    ///
    /// `context` must be a context of this device, and must outlive the device's handle and everything that is made
    /// from it.
    pub unsafe fn native_context(mut self, context: *mut c_void) -> Self {
        self.options.native_context = context;
        self
    }

    /// Opens the device. Blocks while the driver makes the context. Opening a device twice gives two handles to one
    /// context.
    pub fn open(self) -> Result<Device> {
        let mut raw = std::ptr::null_mut();
        call!(device_open(self.runtime.as_raw(), self.options.checked("gpo_device_open")?, &mut raw))?;
        Ok(Device { inner: Arc::new(Owned { raw, parent: self.runtime.clone() }) })
    }
}

impl Device {
    /// The runtime from which the device was opened.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.parent
    }

    /// The priorities that streams of the device can have, from the greatest, which runs first, to the least.
    pub fn stream_priorities(&self) -> Result<RangeInclusive<i32>> {
        let (mut least, mut greatest) = (0, 0);
        call!(device_get_priority_range(self.as_raw(), &mut least, &mut greatest))?;
        Ok(greatest..=least)
    }

    /// A stream.
    pub fn stream(&self) -> Result<Stream> {
        self.stream_builder().build()
    }

    /// For a stream with options, or for a stream of another library.
    pub fn stream_builder(&self) -> StreamBuilder<'_> {
        StreamBuilder::new(self)
    }

    /// For a pool of streams.
    pub fn stream_pool(&self) -> StreamPoolBuilder<'_> {
        StreamPoolBuilder::new(self)
    }

    /// For an arena of pinned host memory with options.
    pub fn arena_builder(&self) -> ArenaBuilder<'_> {
        ArenaBuilder::new(self)
    }

    /// An arena of pinned host memory.
    pub fn arena(&self) -> Result<Arena> {
        self.arena_builder().build()
    }

    /// For a stream-ordered pool of device memory with options.
    pub fn pool_builder(&self) -> PoolBuilder<'_> {
        PoolBuilder::new(self)
    }

    /// A stream-ordered pool of device memory.
    pub fn pool(&self) -> Result<Pool> {
        self.pool_builder().build()
    }

    /// Whether two handles are of one context of one runtime.
    pub(crate) fn is_same(&self, other: &Self) -> Result<bool> {
        let (own, others) = (self.runtime().as_raw(), other.runtime().as_raw());
        Ok(self.as_raw() == other.as_raw() || own == others && self.native()? == other.native()?)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_device_t {
        self.inner.raw
    }
}
