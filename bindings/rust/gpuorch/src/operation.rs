//! Work on a stream that owns host memory of the caller.

use crate::after::drop_after;
use crate::done::Done;
use crate::error::{Error, Result};
use crate::stream::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A copy under way. The operation owns the host buffer, and gives it back when the copy has ended.
///
/// The copy is on the stream when this is returned. An await, or [`wait`](Self::wait), waits for all work on the stream
/// at that time and gives the buffer back: after a failure as a part of [`Failed`]. Dropping the operation doesn't stop
/// the copy: the buffer is dropped when the stream has done the copy. Forgetting the operation leaks the buffer and
/// does nothing else.
///
/// Until then the buffer can't be accessed:
///
/// ```compile_fail,E0382
/// # fn copy(stream: gpuorch::Stream, x: gpuorch::DeviceBuffer<u8>, mut host: gpuorch::PinnedVec<u8>) -> gpuorch::Result<()> {
/// let operation = stream.copy_to_device(host, &x)?;
/// host[0] = 1; // the copy may be reading it
/// # Ok(())
/// # }
/// ```
#[must_use = "the buffer comes back when this is awaited or waited for"]
pub struct Operation<B: Send + 'static> {
    stream: Stream,
    /// `None` once the buffer was given back.
    buffer: Option<B>,
    done: Option<Done>,
}

/// A failure, and the buffer of the operation that failed.
pub struct Failed<B> {
    error: Error,
    buffer: Option<B>,
}

impl<B> Failed<B> {
    pub(crate) fn new(error: Error, buffer: B) -> Self {
        Self { error, buffer: Some(buffer) }
    }

    pub(crate) fn of(error: Error, buffer: Option<B>) -> Self {
        Self { error, buffer }
    }

    /// What went wrong.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The buffer. `None` only if the work goes on and could not be waited for ([`ErrorKind`](crate::ErrorKind)s like
    /// `WouldDeadlock` and `WouldBlock`); the buffer is then dropped when the stream has done the work.
    pub fn into_buffer(self) -> Option<B> {
        self.buffer
    }

    /// The failure and the buffer.
    pub fn into_parts(self) -> (Error, Option<B>) {
        (self.error, self.buffer)
    }
}

impl<B> From<Failed<B>> for Error {
    fn from(failed: Failed<B>) -> Self {
        failed.error
    }
}

impl<B> fmt::Display for Failed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> fmt::Debug for Failed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failed").field("error", &self.error).field("buffer", &self.buffer.is_some()).finish()
    }
}

impl<B> std::error::Error for Failed<B> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<B: Send + 'static> Operation<B> {
    pub(crate) fn new(stream: &Stream, buffer: B) -> Self {
        Self { stream: stream.clone(), buffer: Some(buffer), done: None }
    }

    /// The operation's stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether all work on the stream is done; `Err` if the stream has failed.
    pub fn is_done(&self) -> Result<bool> {
        self.stream.is_done()
    }

    /// Waits for the stream and gives the buffer back.
    pub fn wait(mut self) -> Result<B, Failed<B>> {
        let waited = self.stream.wait();
        let ended = waited.as_ref().err().is_none_or(|error| error.kind().ends_work());
        self.end(waited, ended)
    }

    /// Waits with a timeout: `Err` with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if the timeout passes first.
    /// Can be called repeatedly. [`wait`](Self::wait) gives the buffer back.
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        self.stream.wait_for(timeout)
    }

    fn end(&mut self, result: Result<()>, ended: bool) -> Result<B, Failed<B>> {
        let buffer = if ended { self.buffer.take() } else { self.detach() };
        match (result, buffer) {
            (Ok(()), Some(buffer)) => Ok(buffer),
            (Err(error), buffer) => Err(Failed { error, buffer }),
            (Ok(()), None) => panic!("polled after it had ended"),
        }
    }

    /// Drops the buffer when the work on the stream has ended.
    fn detach(&mut self) -> Option<B> {
        if let Some(buffer) = self.buffer.take() {
            drop_after(&self.stream, Box::new(buffer));
        }
        None
    }
}

impl<B: Send + Unpin + 'static> Future for Operation<B> {
    type Output = Result<B, Failed<B>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let done = this.done.get_or_insert_with(|| this.stream.done());
        let result = ready!(Pin::new(&mut *done).poll(context));
        // After the callback the copy has ended, with success or failure.
        let ended = done.has_begun();
        Poll::Ready(this.end(result.map(drop), ended))
    }
}

impl<B: Send + 'static> Drop for Operation<B> {
    fn drop(&mut self) {
        if self.buffer.is_some() && !matches!(self.stream.is_done(), Ok(true)) {
            self.detach();
        }
    }
}

impl<B: Send + 'static> fmt::Debug for Operation<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("stream", &self.stream).finish_non_exhaustive()
    }
}
