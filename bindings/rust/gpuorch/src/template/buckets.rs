//! Shape buckets: a template for each shape of a table, recorded when it is needed.

use super::bucket_work::{self, BucketFunction, BucketWork, Calls, boxed, with_what_was_said};
use super::{Setting, parameter};
use crate::builder::Options;
use crate::call::call;
use crate::device::Device;
use crate::done::Enqueued;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::Owned;
use crate::memory::DeviceSlice;
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::fmt::Display;
use std::mem::size_of;
use std::sync::Arc;

/// Templates for requests of any size. A table has *shapes*, numbers of elements, and each shape has a *bucket*, which
/// is a template. A request of a size runs in the smallest bucket that it fits into. Clones are the same buckets.
///
/// The program's closure puts the work on a stream. For a bucket it is called twice. In the first call, the warm-up,
/// the work runs. In the second call the same work is recorded, and the closure names the parameters. A request that
/// fits into no bucket, or whose bucket can't be recorded now, runs eagerly: the closure is called with the caller's
/// stream, for exactly the request's size. [`BucketWork::phase`] distinguishes these calls.
///
/// Work that updates memory in place would update it once more in the warm-up: name the memory by
/// [`restore`](BucketsBuilder::restore), or leave the warm-up out ([`no_warm_up`](BucketsBuilder::no_warm_up)).
///
/// ```
/// use gpuorch::{Launch, template::BucketParameter};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let (device, stream) = { let device = runtime.open_device()?; let stream = device.stream()?; (device, stream) };
/// let module = device.compile(
///     r#"extern "C" __global__ void scale(unsigned *x, unsigned n, unsigned factor) {
///            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
///            if (i < n) x[i] *= factor;
///        }"#,
/// )?;
/// // SAFETY: its parameters are an address and two numbers. It writes up to `n` elements.
/// let scale = unsafe { module.kernel("scale")?.bind::<(gpuorch::DeviceBuffer<u32>, u32, u32)>()? };
/// let x = std::sync::Arc::new(device.buffer::<u32>(1000)?);
/// stream.fill(&*x, 1)?;
///
/// let factor = BucketParameter::<u32>::new("factor")?;
/// let (named, memory) = (factor.clone(), x.clone());
/// let buckets = device.buckets([10, 100, 1000]);
/// // SAFETY: the closure owns the memory, and no shape is larger. The kernel takes any factor.
/// let buckets = unsafe {
///     buckets.build(move |work| {
///         let factor = work.value(&named)?.unwrap_or(1);
///         let launch = Launch::each(work.shape(), 100);
///         scale.launch(work.stream(), &launch, (&*memory, work.shape() as u32, factor))?;
///         work.name(&named, |node| node.argument(2))
///     })?
/// };
/// assert_eq!(buckets.launch(&stream, 70, &[factor.value(2)])?, Some(100));
/// assert_eq!(buckets.launch(&stream, 80, &[factor.value(3)])?, Some(100));
/// assert_eq!(stream.copy_to_host(x.slice(99..101), vec![0; 2])?.wait()?, [6, 1]);
/// assert_eq!((buckets.statistics()?.misses, buckets.statistics()?.hits), (1, 1));
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// # Threads
///
/// Any thread may launch. Buckets are recorded one at a time, and no launch waits for another thread's recording.
/// Closures run on the thread that launches or prepares; for eager requests and for padding several threads may be in
/// them at once.
#[derive(Clone)]
pub struct Buckets {
    inner: Arc<Owned<sys::gpo_buckets_t, Arc<Calls>>>,
}

/// Options of buckets.
#[must_use = "a builder makes nothing until `build`"]
pub struct BucketsBuilder<'a> {
    device: &'a Device,
    shapes: Vec<u64>,
    pub(crate) options: Options<sys::gpo_buckets_options>,
    restored: Vec<sys::gpo_memory_range>,
    pad: Option<BucketFunction>,
    /// Size in bytes of the memory that is padded with zeros.
    room: u64,
}

impl Device {
    /// For buckets of these shapes: 1 to 4096 different numbers of elements, in any order, none 0.
    pub fn buckets(&self, shapes: impl IntoIterator<Item = usize>) -> BucketsBuilder<'_> {
        let shapes = shapes.into_iter().map(|shape| shape as u64).collect();
        let options = Options::of(sys::gpo_buckets_options::new());
        BucketsBuilder { device: self, shapes, options, restored: Vec::new(), pad: None, room: 0 }
    }
}

impl BucketsBuilder<'_> {
    /// The closure isn't called for a warm-up: everything that the work needs must exist when it is recorded. Not with
    /// [`restore`](Self::restore).
    pub fn no_warm_up(mut self) -> Self {
        self.options.flags |= sys::GPO_BUCKETS_NO_WARM_UP;
        self
    }

    /// Memory that a warm-up leaves unchanged: the library copies it before the warm-up and back afterwards, in the
    /// order of the streams. May be called for several pieces of memory. The copies take as much device memory again
    /// while a bucket is recorded.
    pub fn restore<'m, T: Pod>(mut self, memory: impl Into<DeviceSlice<'m, T>>) -> Self {
        let (memory, mut range) = (memory.into(), sys::gpo_memory_range::new());
        (range.address, range.bytes) = (memory.address(), memory.bytes());
        self.restored.push(range);
        self
    }

    /// A closure that writes the elements from [`BucketWork::size`] to [`BucketWork::shape`], before a launch. An error
    /// or a panic fails the request.
    pub fn pad<E: Display>(
        mut self,
        closure: impl Fn(&BucketWork<'_>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Self {
        self.pad = Some(boxed(closure));
        self
    }

    /// Writes zeros to `memory` from a request's size to its bucket's shape. An element of a request is `each` elements
    /// of the memory. If the memory is too small for the largest shape, [`build`](Self::build) fails.
    pub fn pad_with_zeros<'m, T: Pod>(mut self, memory: impl Into<DeviceSlice<'m, T>>, each: usize) -> Self {
        let memory = memory.into();
        self.options.pad_address = memory.address();
        self.options.pad_element_bytes = (each as u64).saturating_mul(size_of::<T>() as u64);
        self.room = memory.bytes();
        self
    }

    /// Makes buckets without recording any. `record` puts the work for [`BucketWork::shape`] elements on
    /// [`BucketWork::stream`], and must not wait for the work. `record` may use other streams only if this stream waits
    /// for them again. An error or a panic fails the request.
    ///
    /// [`ErrorKind::InvalidArgument`]: there are no shapes, a shape is 0 or comes twice, both ways to pad were given, or
    /// memory to be restored is empty, or was given without a warm-up.
    ///
    /// # Safety
    ///
    /// The graphs of buckets [hold memory](super#memory) as other graphs do. Values that `record` owns last as long as
    /// the buckets.
    /// - While a call runs that calls `record`, the memory of the work is allocated. Pinned memory of work that isn't
    ///   recorded (a warm-up, a request that runs eagerly) is allocated until the work is done.
    /// - Until the buckets are dropped and their launches are done, the memory of
    ///   [`pad_with_zeros`](Self::pad_with_zeros) and [`restore`](Self::restore) is allocated. The same holds for memory
    ///   that graphs don't hold.
    /// - Whenever a request runs, the host doesn't write memory that the work reads, and doesn't access memory that the
    ///   work writes.
    pub unsafe fn build<E: Display>(
        mut self,
        record: impl Fn(&BucketWork<'_>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Buckets> {
        self.check_room()?;
        // The library uses the closures only while the handle exists, and the handle is dropped first.
        let calls = Arc::new(Calls { device: self.device.clone(), record: boxed(record), pad: self.pad });
        self.options.shapes = self.shapes.as_ptr();
        self.options.shape_count = self.shapes.len() as u64;
        self.options.restored = self.restored.as_ptr();
        self.options.restored_count = self.restored.len() as u64;
        self.options.restored_stride = size_of::<sys::gpo_memory_range>() as u64;
        self.options.record = Some(bucket_work::record);
        self.options.pad = calls.pad.as_ref().map(|_| bucket_work::pad as _);
        self.options.user = Arc::as_ptr(&calls).cast_mut().cast();
        let mut raw = std::ptr::null_mut();
        call!(buckets_create(self.device.as_raw(), self.options.checked("gpo_buckets_create")?, &mut raw))?;
        Ok(Buckets { inner: Arc::new(Owned { raw, parent: calls }) })
    }

    fn check_room(&self) -> Result<()> {
        let largest = self.shapes.iter().max().copied().unwrap_or(0);
        if self.options.pad_address == 0 || largest.saturating_mul(self.options.pad_element_bytes) <= self.room {
            return Ok(());
        }
        let each = self.options.pad_element_bytes;
        let message = format!("{largest} elements of {each} bytes are to be padded in {} bytes of memory", self.room);
        Err(Error::new(ErrorKind::InvalidArgument, "gpo_buckets_create", message))
    }
}

impl Buckets {
    /// The device that the buckets' graphs run on.
    pub fn device(&self) -> &Device {
        &self.inner.parent.device
    }

    /// Records all buckets that aren't recorded yet, the largest first, as far as
    /// [`max_bytes`](BucketsBuilder::max_bytes) and [`max_buckets`](BucketsBuilder::max_buckets) allow. The warm-ups
    /// come after what is on `stream`.
    ///
    /// [`ErrorKind::CallbackFailed`]: the closure has failed or panicked; the message has the bucket and the closure's
    /// text. [`ErrorKind::CaptureRefused`]: a recording has failed, or `stream` is being recorded.
    /// [`ErrorKind::InvalidState`]: a bucket is being recorded, by another thread or around this call; or `stream` is
    /// held.
    pub fn prepare<'s>(&self, stream: &'s Stream) -> Result<Enqueued<'s>> {
        call!(buckets_prepare(self.as_raw(), stream.as_raw())).map_err(with_what_was_said)?;
        Ok(Enqueued { stream })
    }

    /// Runs a request of `size` elements on `stream`: pads, and launches the graph of the smallest bucket that it fits
    /// into, with the values of `settings`, and the recorded values of all other parameters. If the bucket isn't
    /// recorded, it is recorded now. Gives the bucket's shape; `None`: the request ran eagerly. Doesn't wait for the
    /// GPU.
    ///
    /// [`ErrorKind::NotFound`]: the bucket has no parameter of a setting's name.
    /// [`ErrorKind::InvalidArgument`]: `size` is 0, a value is of another size than the parameter, or a setting isn't
    /// of a [`BucketParameter`](super::BucketParameter).
    /// [`ErrorKind::CallbackFailed`], [`ErrorKind::CaptureRefused`]: as for [`prepare`](Self::prepare). Work that was
    /// put on the stream before the failure stays, and the next request for the bucket tries again. Memory of
    /// [`restore`](BucketsBuilder::restore) is as before the warm-up.
    pub fn launch(&self, stream: &Stream, size: usize, settings: &[Setting]) -> Result<Option<usize>> {
        const STRIDE: u64 = size_of::<sys::gpo_setting>() as u64;
        let (raw, stream, size, mut shape) = (self.as_raw(), stream.as_raw(), size as u64, 0);
        parameter::with_raw(None, settings, "gpo_buckets_launch", |all| {
            call!(buckets_launch(raw, stream, size, all.as_ptr(), STRIDE, all.len() as u64, &mut shape))
                .map_err(with_what_was_said)
        })?;
        Ok(Some(shape as usize).filter(|&shape| shape != 0))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_buckets_t {
        self.inner.raw
    }
}
