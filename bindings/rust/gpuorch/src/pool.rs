//! Stream-ordered pools of device memory.

use crate::after::drop_after;
use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::error::Result;
use crate::handle::Owned;
use crate::memory::{DeviceBuffer, bytes_of};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::sync::Arc;

/// A pool of device memory whose allocations and frees are operations of a stream. Clones are the same pool. Memory
/// from the pool keeps the pool alive.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Owned<sys::gpo_pool_t, Device>>,
}

builder! {
    /// Options of a pool.
    PoolBuilder of Pool: pool_create(Device, gpo_pool_options);
}

impl Pool {
    /// Memory for `len` elements with arbitrary contents. Later work on `stream` may use it, and work on other streams
    /// that waits for `stream`.
    pub fn buffer<T: Pod>(&self, stream: &Stream, len: usize) -> Result<DeviceBuffer<T>> {
        let bytes = bytes_of::<T>(len, "gpo_pool_allocate")?;
        let mut address = 0;
        if bytes != 0 {
            call!(pool_allocate(self.as_raw(), stream.as_raw(), bytes, &mut address))?;
        }
        Ok(DeviceBuffer::of_pool(len, address, self, stream))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_pool_t {
        self.inner.raw
    }

    /// Frees a piece behind the work on `stream`. A failed stream refuses the free: then the piece is freed when the
    /// work on the stream has ended.
    pub(crate) fn free(&self, stream: &Stream, address: u64) {
        if call!(pool_free(self.as_raw(), stream.as_raw(), address)).is_err() {
            drop_after(stream, Box::new(Leftover { pool: self.clone(), address }));
        }
    }
}

/// A piece that nothing uses any more, and whose stream has failed.
struct Leftover {
    pool: Pool,
    address: u64,
}

impl Drop for Leftover {
    fn drop(&mut self) {
        // Refused only if the device is lost, and with it the memory.
        if let Ok(stream) = self.pool.inner.parent.stream() {
            let _ = status!(pool_free(self.pool.as_raw(), stream.as_raw(), self.address));
        }
    }
}
