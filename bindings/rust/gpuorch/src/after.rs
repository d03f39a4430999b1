//! Drops a value once the work that uses it has ended.

use crate::done::Awaited;
use crate::stream::Stream;
use std::any::Any;

type Parcel = Box<dyn Any + Send>;

/// Drops `value` when all work that is on the stream now has ended, successfully or not. Doesn't block.
pub(crate) fn drop_after(stream: &Stream, value: Parcel) {
    drop_when(&Awaited::Stream(stream.clone()), value);
}

/// Drops `value` when `what`, anything that can be awaited, has ended. Doesn't block.
pub(crate) fn drop_when(what: &Awaited, value: Parcel) {
    if let Err((_, value)) = what.wake(value, |value, _| drop(value)) {
        what.runtime().inner.keep(value);
    }
}
