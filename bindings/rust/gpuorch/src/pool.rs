//! Stream-ordered pools of device memory.

use crate::after::drop_after;
use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::error::Result;
use crate::figures::MemoryStatistics;
use crate::handle::Owned;
use crate::memory::{DeviceBuffer, bytes_of};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::sync::Arc;

/// A pool of device memory in which allocation and free are points in a stream. Clones are the same pool; what it has
/// handed out keeps it.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Owned<sys::gpo_pool_t, Device>>,
}

builder! {
    /// What a pool is made with.
    PoolBuilder of Pool: pool_create(Device, gpo_pool_options);
    fields {
        /// A cap on bytes in use.
        max_bytes: u64,
        /// What is kept from the system while idle; all of it, until trimmed, if not said.
        keep_bytes: u64,
        /// What is taken at once, so that the first allocations are fast.
        initial_bytes: u64,
    }
    flags {
        /// Memory that isn't in use goes back to the system; without `keep_bytes`.
        keep_nothing: GPO_POOL_KEEP_NOTHING,
    }
}

impl Pool {
    /// Memory for `len` elements, which are whatever was there: for what comes next on `stream`, and elsewhere behind it.
    pub fn buffer<T: Pod>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = bytes_of::<T>(len, "gpo_pool_allocate")?;
        let mut address = 0;
        if bytes != 0 {
            call!(pool_allocate(self.as_raw(), stream.as_raw(), bytes, &mut address))?;
        }
        Ok(DeviceBuffer::of_pool(len, address, self, stream))
    }

    /// Gives memory back to the system until at most `keep_bytes` are reserved.
    pub fn trim(&self, keep_bytes: u64) -> Result<()> {
        call!(pool_trim(self.as_raw(), keep_bytes))
    }

    /// What is in use, and what was taken from the driver.
    pub fn statistics(&self) -> Result<MemoryStatistics> {
        let mut statistics = MemoryStatistics::empty();
        call!(pool_get_statistics(self.as_raw(), &mut statistics.0))?;
        Ok(statistics)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_pool_t {
        self.inner.raw
    }

    /// Frees a piece behind what is on `stream`. One that has failed takes no free: then it happens when what was on it has
    /// ended.
    pub(crate) fn free(&self, stream: &Stream, address: u64) {
        if call!(pool_free(self.as_raw(), stream.as_raw(), address)).is_err() {
            drop_after(stream, Box::new(Leftover { pool: self.clone(), address }));
        }
    }
}

/// A piece that nothing uses any more and whose own stream has failed.
struct Leftover {
    pool: Pool,
    address: u64,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        // Refused only where the device is lost, and its memory with it.
        if let Ok(stream) = self.pool.inner.parent.stream() {
            let _ = status!(pool_free(self.pool.as_raw(), stream.as_raw(), self.address));
        }
    }
}
