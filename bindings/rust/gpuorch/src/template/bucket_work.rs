//! The arguments of buckets' closures, and the texts of their failures.

use super::recording::{put_copy_to_device, put_copy_to_host};
use super::{BucketPhase, Field, Node, Recording, Setting, Template};
use crate::callback::contained;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::c_string;
use crate::memory::DeviceSlice;
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, size_of};
use std::sync::Arc;

/// A name, in all templates of some buckets, of a value that changes from request to request, and the value's type.
/// Clones are the same parameter.
pub struct BucketParameter<T> {
    name: Arc<CString>,
    value: PhantomData<fn(T) -> T>,
}

impl<T: Pod> BucketParameter<T> {
    /// Makes a name for [`BucketWork::name`], by which the recording closure assigns it.
    ///
    /// [`ErrorKind::InvalidArgument`]: there is a NUL in the name.
    pub fn new(name: &str) -> Result<Self> {
        Ok(Self { name: Arc::new(c_string(name, "gpo_template_add_parameter")?), value: PhantomData })
    }

    /// The value that a request sets the parameter to: [`Buckets::launch`](super::Buckets::launch).
    pub fn value(&self, value: T) -> Setting {
        Setting::by_name(&self.name, value)
    }
}

impl<T> Clone for BucketParameter<T> {
    fn clone(&self) -> Self {
        Self { name: Arc::clone(&self.name), value: PhantomData }
    }
}

impl<T> fmt::Debug for BucketParameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = std::any::type_name::<T>();
        f.debug_struct("BucketParameter").field("name", &self.name).field("value", &value).finish()
    }
}

/// The work that a closure of [`Buckets`](super::Buckets) has to put on a stream.
pub struct BucketWork<'a> {
    raw: &'a sys::gpo_bucket_work,
    stream: &'a Stream,
    /// The recording, if the work is recorded. The library ends it.
    recording: Option<&'a Recording<'a>>,
}

impl BucketWork<'_> {
    /// The stream for the work, usable only during the call.
    pub fn stream(&self) -> &Stream {
        self.stream
    }

    /// How many elements the request has.
    pub fn size(&self) -> usize {
        self.raw.size as usize
    }

    /// How many elements the work is for: the bucket's shape, or [`size`](Self::size) if the request runs eagerly.
    pub fn shape(&self) -> usize {
        self.raw.shape as usize
    }

    /// Why the closure is called. Work that updates memory in place may leave out the update in a
    /// [`BucketPhase::WarmUp`].
    pub fn phase(&self) -> BucketPhase {
        BucketPhase::try_from(self.raw.phase).unwrap_or(BucketPhase::Padding)
    }

    /// The recording, for work that has to be added node by node; `None` when the work runs.
    pub fn recording(&self) -> Option<&Recording<'_>> {
        self.recording
    }

    /// The value that the request sets the parameter to; `None` if the request doesn't, and in a warm-up and a
    /// recording.
    ///
    /// [`ErrorKind::InvalidArgument`]: the request's value has another size than `T`.
    pub fn value<T: Pod>(&self, parameter: &BucketParameter<T>) -> Result<Option<T>> {
        let mut found = None;
        for setting in self.settings().filter(|setting| is_named(setting, &parameter.name)) {
            if setting.bytes != size_of::<T>() as u64 {
                return Err(another_size::<T>(&parameter.name, setting.bytes));
            }
            // SAFETY: a value has as many bytes as its setting says, and is valid during the call. Any bytes are a `T`.
            found = Some(unsafe { setting.value.cast::<T>().read_unaligned() });
        }
        Ok(found)
    }

    /// For the closure that records. Names something of the node that was recorded last on [`stream`](Self::stream).
    /// Does nothing when the work runs.
    ///
    /// # Safety
    ///
    /// The requirements of [`Template::parameter`] hold.
    pub unsafe fn name<T: Pod>(
        &self,
        parameter: &BucketParameter<T>,
        field: impl FnOnce(Node) -> Field<T>,
    ) -> Result<()> {
        let Some(recording) = self.recording else { return Ok(()) };
        let field = field(recording.last_node(self.stream)?);
        // SAFETY: the caller promises it.
        unsafe { recording.parameter(&parameter.name.to_string_lossy(), field).map(drop) }
    }

    /// A copy from pinned host memory to the device. If recorded, each launch reads the memory's contents at that time.
    ///
    /// # Safety
    ///
    /// The requirements of [`BucketsBuilder::build`](super::BucketsBuilder::build) hold.
    pub unsafe fn copy_to_device<'a, T: Pod>(
        &self,
        host: &[T],
        destination: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<()> {
        put_copy_to_device(self.stream, host, &destination.into())
    }

    /// A copy from the device to pinned host memory. If recorded, each launch writes the memory.
    ///
    /// # Safety
    ///
    /// The requirements of [`BucketsBuilder::build`](super::BucketsBuilder::build) hold.
    pub unsafe fn copy_to_host<'a, T: Pod>(&self, source: impl Into<DeviceSlice<'a, T>>, host: &mut [T]) -> Result<()> {
        put_copy_to_host(self.stream, &source.into(), host)
    }

    fn settings(&self) -> impl Iterator<Item = &sys::gpo_setting> {
        let sys::gpo_bucket_work { settings, setting_stride, setting_count, .. } = *self.raw;
        (0..setting_count).map(move |index| {
            // SAFETY: the array has `setting_count` structs, `setting_stride` bytes apart, during the call.
            unsafe { &*settings.cast::<u8>().add((index * setting_stride) as usize).cast::<sys::gpo_setting>() }
        })
    }
}

impl fmt::Debug for BucketWork<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("BucketWork");
        out.field("size", &self.size()).field("shape", &self.shape());
        out.field("phase", &self.phase()).finish_non_exhaustive()
    }
}

fn is_named(setting: &sys::gpo_setting, name: &CStr) -> bool {
    // SAFETY: a name is a string that is valid during the call.
    !setting.name.is_null() && unsafe { CStr::from_ptr(setting.name) } == name
}

fn another_size<T>(name: &CStr, bytes: u64) -> Error {
    let (name, value) = (name.to_string_lossy(), std::any::type_name::<T>());
    let message = format!("parameter `{name}` is set to {bytes} bytes, and `{value}` has {}", size_of::<T>());
    Error::new(ErrorKind::InvalidArgument, "gpo_buckets_launch", message)
}

// --- the closures ---

pub(super) type BucketFunction = Box<dyn Fn(&BucketWork<'_>) -> Result<(), String> + Send + Sync>;

/// The closures that the library's buckets call; live as long as the buckets.
pub(super) struct Calls {
    pub(super) device: Device,
    pub(super) record: BucketFunction,
    pub(super) pad: Option<BucketFunction>,
}

pub(super) fn boxed<E: fmt::Display>(
    closure: impl Fn(&BucketWork<'_>) -> Result<(), E> + Send + Sync + 'static,
) -> BucketFunction {
    Box::new(move |work| closure(work).map_err(|error| error.to_string()))
}

/// `user` is a `Calls` that lives as long as the buckets; several threads may be here.
pub(super) unsafe extern "C" fn record(
    user: *mut c_void,
    stream: sys::gpo_stream_t,
    work: *const sys::gpo_bucket_work,
) -> sys::gpo_status {
    // SAFETY: see above; the work is valid during the call.
    let (calls, raw) = unsafe { (&*user.cast::<Calls>(), &*work) };
    let stream = Stream::borrowed(stream, &calls.device);
    let template = (!raw.graph_template.is_null()).then(|| Template::lent(raw.graph_template, &calls.device));
    let recording = template.as_ref().map(|template| ManuallyDrop::new(Recording::of(template)));
    let work = BucketWork { raw, stream: &stream, recording: recording.as_deref() };
    status_of(contained(|| (calls.record)(&work)))
}

/// `user` as for [`record`]. The template in `work` isn't being recorded.
pub(super) unsafe extern "C" fn pad(
    user: *mut c_void,
    stream: sys::gpo_stream_t,
    work: *const sys::gpo_bucket_work,
) -> sys::gpo_status {
    // SAFETY: as above.
    let (calls, raw) = unsafe { (&*user.cast::<Calls>(), &*work) };
    let stream = Stream::borrowed(stream, &calls.device);
    let work = BucketWork { raw, stream: &stream, recording: None };
    status_of(contained(|| calls.pad.as_ref().map_or(Ok(()), |pad| pad(&work))))
}

thread_local! {
    /// The text of a closure's failure. The library calls closures on the thread of the call that then fails.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn status_of(called: Result<Result<(), String>, String>) -> sys::gpo_status {
    match called.unwrap_or_else(Err) {
        Ok(()) => sys::GPO_SUCCESS,
        Err(text) => {
            let _ = SAID.try_with(|said| said.replace(Some(text)));
            sys::GPO_CALLBACK_FAILED
        }
    }
}

/// Adds the text of the closure's failure to a failure of a call of buckets.
pub(super) fn with_what_was_said(error: Error) -> Error {
    if error.kind() != ErrorKind::CallbackFailed {
        return error;
    }
    match SAID.try_with(RefCell::take) {
        Ok(Some(text)) => error.with_note(&text),
        _ => error,
    }
}
