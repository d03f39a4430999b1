//! Drops a value once the work on the stream has ended.

use crate::stream::Stream;
use std::any::Any;

pub(crate) fn drop_after(stream: &Stream, value: Box<dyn Any + Send>) {
    if let Err(callback) = stream.then(Box::new(move |_| drop(value))) {
        stream.keep(callback);
    }
}
