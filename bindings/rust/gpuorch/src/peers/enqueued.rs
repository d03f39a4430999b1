//! Work that was put on the streams of all ranks.

use crate::done::Done;
use crate::error::{Error, Result};
use crate::stream::Stream;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Work on a stream of each rank. The work goes on whether or not this is awaited. The await waits for all work on
/// these streams at the first poll.
#[derive(Clone)]
pub struct EnqueuedOnAll<'s> {
    streams: Vec<&'s Stream>,
}

impl<'s> EnqueuedOnAll<'s> {
    pub(super) fn new(streams: impl Iterator<Item = &'s Stream>) -> Self {
        Self { streams: streams.collect() }
    }

    /// Waits for the work, and for everything that was put on the streams since. The failure is that of the first rank
    /// whose stream has failed.
    pub fn wait(self) -> Result<()> {
        // Wait for each stream, also after a failed one.
        self.streams.iter().map(|stream| stream.wait()).fold(Ok(()), Result::and)
    }
}

impl IntoFuture for EnqueuedOnAll<'_> {
    type Output = Result<()>;
    type IntoFuture = AllDone;

    fn into_future(self) -> AllDone {
        AllDone { waiting: self.streams.iter().map(|stream| stream.done()).collect(), failure: None }
    }
}

impl fmt::Debug for EnqueuedOnAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnqueuedOnAll").field("streams", &self.streams.len()).finish_non_exhaustive()
    }
}

/// A future that is ready when work is done on the streams of all ranks. The wait begins at the first poll.
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct AllDone {
    waiting: Vec<Done>,
    failure: Option<Error>,
}

impl Future for AllDone {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Self { waiting, failure } = &mut *self;
        waiting.retain_mut(|done| match Pin::new(done).poll(context) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                *failure = failure.take().or(result.err());
                false
            }
        });
        if !waiting.is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(failure.take().map_or(Ok(()), Err))
    }
}
