//! Ranges: numbers, handed out in batches.

use super::Shared;
use crate::arguments::{Argument, Parameter};
use crate::call::call;
use crate::device::Device;
use crate::done::Enqueued;
use crate::error::Result;
use crate::memory::MemoryUser;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::sync::Arc;

/// Hands out the numbers from 0 to a count to the threads, warps or blocks of a kernel: a worker that is done early
/// takes more. A kernel takes the range as a `gpo::range`. Made by [`Device::range`]. Clones are the same range.
///
/// Launches that use a range must not overlap. No reset is needed in between: the range begins anew when all numbers
/// are handed out and each worker has got the end.
///
/// If launches overlap, and while the order changes, workers may get any numbers.
#[derive(Clone)]
pub struct Range {
    pub(super) shared: Arc<Shared>,
}

const WORDS: usize = 8;

// SAFETY: one parameter, a gpo::range.
unsafe impl Parameter for Range {
    type Value = [u64; WORDS];
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [8 * WORDS as u32, 0];

    fn point_to(value: &[u64; WORDS], pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: a queue whose memory is freed behind the launch, if at all.
unsafe impl Argument<Range> for &Range {
    fn value(self, user: MemoryUser<'_>) -> Result<[u64; WORDS]> {
        self.shared.given_to(user)
    }
}

impl Range {
    /// The range's device.
    pub fn device(&self) -> &Device {
        self.shared.device()
    }

    /// Later work on `stream` gets the numbers with the greatest costs first: uneven work takes the least time if the
    /// longest tasks begin first. `costs[i]` is the expected cost of number i, in any unit. Equal costs keep the order
    /// of their numbers. The new order is copied as work of `stream`; no other work that uses the range may run at that
    /// time. A launch or node from before the first call keeps the numbers' own order.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): there aren't as many costs as the range has
    /// numbers; a cost is NaN; or the stream is of another device.
    /// [`ErrorKind::NotSupported`](crate::ErrorKind::NotSupported): the range has more than 2^32 numbers.
    pub fn set_costs<'s>(&self, stream: &'s Stream, costs: &[f32]) -> Result<Enqueued<'s>> {
        // Without costs the pointer is dangling, but the library refuses the count 0.
        let (first, count) = (costs.as_ptr(), costs.len() as u64);
        call!(queue_set_costs(self.as_raw(), stream.as_raw(), first, count))?;
        Ok(Enqueued { stream })
    }

    /// Later work on `stream` gets the numbers in their own order again.
    pub fn forget_costs<'s>(&self, stream: &'s Stream) -> Result<Enqueued<'s>> {
        call!(queue_set_costs(self.as_raw(), stream.as_raw(), std::ptr::null(), 0))?;
        Ok(Enqueued { stream })
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_queue_t {
        self.shared.raw()
    }
}
