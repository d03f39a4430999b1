//! Letting go of something once a stream has passed all that is on it.

use crate::call::call;
use crate::callback::contained;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::any::Any;
use std::ffi::c_void;

type Parcel = Box<dyn Any + Send>;

/// Drops `value` when all that is on the stream now has ended, well or not. Doesn't block.
pub(crate) fn drop_after(stream: &Stream, value: Parcel) {
    let runtime = &stream.device().runtime().inner;
    let user = Box::into_raw(Box::new(value));
    let asked =
        runtime.waking().and_then(|executor| call!(stream_then(stream.as_raw(), executor, Some(passed), user.cast())));
    if asked.is_err() {
        // SAFETY: from into_raw, and nobody was given it: the call was refused.
        runtime.keep(*unsafe { Box::from_raw(user) });
    }
}

/// `user` is a boxed `Parcel` of this call's.
unsafe extern "C" fn passed(user: *mut c_void, _: *const sys::gpo_completion, _: *const sys::gpo_error) {
    // SAFETY: see above; called once.
    let parcel = unsafe { Box::from_raw(user.cast::<Parcel>()) };
    let _ = contained(move || drop(parcel));
}
