//! The future of a stream, over gpuorch's own signal.

use crate::error::{Error, Result};
use crate::signal::Signal;
use crate::stream::Stream;
use loom::sync::Arc;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(crate) struct Done {
    stream: Stream,
    signal: Option<Arc<Signal<Result<()>>>>,
}

impl Done {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, signal: None }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.signal.is_some()
    }
}

impl Future for Done {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.signal.is_none() {
            let signal = Arc::new(Signal::new());
            let of_callback = Arc::clone(&signal);
            if self.stream.then(Box::new(move |result| of_callback.set(result))).is_err() {
                return Poll::Ready(Err(Error::WOULD_BLOCK));
            }
            self.signal = Some(signal);
        }
        self.signal.as_ref().expect("set above").poll(context)
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(signal) = &self.signal {
            signal.forget_waker();
        }
    }
}
