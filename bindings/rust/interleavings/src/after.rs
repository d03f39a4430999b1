//! Letting go of something once the stream has passed.

use crate::stream::Stream;
use std::any::Any;

pub(crate) fn drop_after(stream: &Stream, value: Box<dyn Any + Send>) {
    if let Err(callback) = stream.then(Box::new(move |_| drop(value))) {
        stream.keep(callback);
    }
}
