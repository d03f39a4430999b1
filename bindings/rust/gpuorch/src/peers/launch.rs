//! Kernels of all ranks that wait for each other.

use super::builder::count_of;
use super::{EnqueuedOnAll, Peers};
use crate::arguments::{Arguments, Parameters};
use crate::call::call;
use crate::error::Result;
use crate::kernel::{BoundKernel, Kernel, Launch};
use crate::memory::MemoryUser;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;

/// A rank's part of a launch on all ranks: a stream and a kernel of its device, the launch's shape and values for the
/// kernel's parameters. The part borrows the values' buffers:
///
/// ```compile_fail,E0505
/// # use gpuorch::{BoundKernel, DeviceBuffer, Launch, Stream, peers::{Peers, RankLaunch}};
/// # fn put(peers: Peers, stream: Stream, kernel: BoundKernel<(DeviceBuffer<f32>,)>, x: DeviceBuffer<f32>)
/// #     -> gpuorch::Result<()> {
/// let launch = RankLaunch::new(&stream, &kernel, &Launch::new(1, 64), (&x,))?;
/// drop(x);
/// peers.launch(&[launch])?;
/// # Ok(())
/// # }
/// ```
pub struct RankLaunch<'a> {
    stream: &'a Stream,
    kernel: &'a Kernel,
    launch: Launch<'a>,
    /// The values, one behind the other, of these sizes.
    values: Vec<u8>,
    sizes: &'static [u32],
}

impl<'a> RankLaunch<'a> {
    /// Takes values for the kernel's parameters.
    pub fn new<P: Parameters>(
        stream: &'a Stream,
        kernel: &'a BoundKernel<P>,
        launch: &Launch<'a>,
        arguments: impl Arguments<P> + 'a,
    ) -> Result<Self> {
        let mut values = Vec::with_capacity(P::SIZES.iter().map(|&size| size as usize).sum());
        arguments.pass(MemoryUser::Stream(stream), |pointers| {
            for (&pointer, &size) in pointers.iter().zip(P::SIZES) {
                // SAFETY: the pointer leads to a value of this size.
                values.extend_from_slice(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size as usize) });
            }
            Ok(())
        })?;
        Ok(Self { stream, kernel: kernel.kernel(), launch: *launch, values, sizes: P::SIZES })
    }

    fn pointers(&self) -> Vec<*const c_void> {
        let mut rest = &*self.values;
        let mut next = |&size: &u32| {
            let (value, behind) = rest.split_at(size as usize);
            rest = behind;
            value.as_ptr().cast()
        };
        self.sizes.iter().map(&mut next).collect()
    }
}

impl fmt::Debug for RankLaunch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankLaunch").field("kernel", &self.kernel).field("launch", &self.launch).finish_non_exhaustive()
    }
}

impl Peers {
    /// Puts one kernel on a stream of each rank, on all or on none: `launches[r]` is the launch of rank r. The kernels
    /// may wait for each other: each launch is [cooperative](Launch::cooperative), and no kernel begins before all of
    /// the streams have done their earlier work. The kernels may differ. If one of the streams is held, the launch is
    /// held on all of them.
    ///
    /// - [`ErrorKind::InvalidArgument`]: there aren't as many launches as ranks, or a launch is wrong: the message
    ///   names the rank.
    /// - [`ErrorKind::InvalidHandle`]: a stream or a kernel is of another runtime.
    /// - [`ErrorKind::LimitExceeded`]: not all blocks of a kernel fit on its device at the same time. The message has the
    ///   numbers.
    /// - [`ErrorKind::NotSupported`]: a device has no cooperative launches; a stream is resident; or the launch would
    ///   have to be held on a wrapped stream.
    /// - [`ErrorKind::WouldBlock`], [`ErrorKind::CaptureRefused`]: as for [`submit`](Self::submit).
    ///
    /// [`ErrorKind::InvalidArgument`]: crate::ErrorKind::InvalidArgument
    /// [`ErrorKind::InvalidHandle`]: crate::ErrorKind::InvalidHandle
    /// [`ErrorKind::LimitExceeded`]: crate::ErrorKind::LimitExceeded
    /// [`ErrorKind::NotSupported`]: crate::ErrorKind::NotSupported
    /// [`ErrorKind::WouldBlock`]: crate::ErrorKind::WouldBlock
    /// [`ErrorKind::CaptureRefused`]: crate::ErrorKind::CaptureRefused
    pub fn launch<'s>(&self, launches: &[RankLaunch<'s>]) -> Result<EnqueuedOnAll<'s>> {
        let pointers: Vec<_> = launches.iter().map(RankLaunch::pointers).collect();
        let mut parts = Vec::with_capacity(launches.len());
        for (launch, pointers) in launches.iter().zip(&pointers) {
            let mut part = sys::gpo_rank_launch::new();
            part.stream = launch.stream.as_raw();
            part.kernel = launch.kernel.as_raw();
            part.launch = launch.launch.raw();
            part.arguments = pointers.as_ptr();
            part.sizes = launch.sizes.as_ptr();
            part.argument_count = launch.sizes.len() as u32;
            parts.push(part);
        }
        let stride = size_of::<sys::gpo_rank_launch>() as u64;
        // By the promise of `bind` these are the kernels' parameters.
        call!(peers_launch(self.as_raw(), parts.as_ptr(), stride, count_of(parts.len())))?;
        Ok(EnqueuedOnAll::new(launches.iter().map(|launch| launch.stream)))
    }
}
