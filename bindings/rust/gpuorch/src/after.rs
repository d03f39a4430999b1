//! Drops a value once the work that uses it has ended.

use crate::callback::contained;
use crate::done::Awaited;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::any::Any;
use std::ffi::c_void;

type Parcel = Box<dyn Any + Send>;

/// Drops `value` when all work that is on the stream now has ended, successfully or not. Doesn't block.
pub(crate) fn drop_after(stream: &Stream, value: Parcel) {
    drop_when(&Awaited::Stream(stream.clone()), value);
}

/// Drops `value` when `what`, anything that can be awaited, has ended. Doesn't block.
pub(crate) fn drop_when(what: &Awaited, value: Parcel) {
    let runtime = &what.runtime().inner;
    let user = Box::into_raw(Box::new(value));
    if runtime.waking().and_then(|executor| what.then(executor, Some(passed), user.cast())).is_err() {
        // SAFETY: from into_raw, and still this function's: the call was refused.
        runtime.keep(*unsafe { Box::from_raw(user) });
    }
}

/// `user` is a boxed `Parcel` of this call's.
unsafe extern "C" fn passed(user: *mut c_void, _: *const sys::gpo_completion, _: *const sys::gpo_error) {
    // SAFETY: see above; called once.
    let parcel = unsafe { Box::from_raw(user.cast::<Parcel>()) };
    let _ = contained(move || drop(parcel));
}
