//! A run of a pipeline, which owns its source and sink.

use super::Pipeline;
use super::sink::{Sink, SinkCall};
use super::source::{Source, SourceCall};
use crate::after::drop_when;
use crate::call::{call, status};
use crate::done::{Awaited, Done};
use crate::error::{Error, ErrorKind, Result, failure};
use crate::generated::{Progress, RunSummary};
use crate::handle::{FOR_EVER, nanoseconds};
use crate::operation::Failed;
use gpuorch_sys as sys;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A run under way. The run goes on whether or not it is waited for. Dropping this doesn't end the run; source and sink
/// are dropped when the run has ended. An await, or [`wait`](Self::wait), gives source and sink back: after a failure
/// as a part of [`Failed`].
#[must_use = "source and sink come back when this is awaited or waited for"]
pub struct Run<S: Send + 'static, K: Send + 'static> {
    pipeline: Pipeline,
    /// `None` once source and sink were given back.
    parts: Option<Parts<S, K>>,
    done: Option<Done>,
}

/// The result of a successful run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished<S, K> {
    /// The run's counters and times.
    pub summary: RunSummary,
    /// The source.
    pub source: S,
    /// The sink.
    pub sink: K,
}

/// Values that the library uses until the run has ended.
struct Parts<S, K> {
    source: S,
    sink: K,
    calls: Calls,
    pipeline: Pipeline,
}

/// The closures. Not a `Box`: during the run only the library may access them.
struct Calls(NonNull<(SourceCall, SinkCall)>);

// SAFETY: the closures are `Send`, and reached by one thread at a time.
unsafe impl Send for Calls {}

impl Calls {
    /// The text of a callback's failure. Call only when the run has ended.
    fn failure(&self) -> Option<String> {
        // SAFETY: from Box::into_raw, and freed with `self`; the run has ended, so the library doesn't use them.
        let (source, sink) = unsafe { self.0.as_ref() };
        source.failure.as_ref().or(sink.failure.as_ref()).cloned()
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // SAFETY: from Box::into_raw; the run has ended, so the library doesn't use them.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<S, K> Drop for Parts<S, K> {
    fn drop(&mut self) {
        self.pipeline.give_back();
    }
}

impl Pipeline {
    /// Starts a run, which owns source and sink until it has ended. [`ErrorKind::InvalidState`] while another run is
    /// under way, or while another [`Run`] still exists.
    pub fn start<S, K>(&self, source: Source<S>, sink: Sink<K>) -> Result<Run<S, K>, Failed<(S, K)>>
    where
        S: Send + 'static,
        K: Send + 'static,
    {
        const FUNCTION: &str = "gpo_pipeline_start";
        let described = source.raw().and_then(|source| Ok((source, sink.raw()?)));
        let (source, source_call) = source.into_parts();
        let (sink, sink_call) = sink.into_parts(self.inner.sizes);
        if !self.take() {
            let message = "the pipeline's last run was neither waited for nor dropped";
            let error = Error::new(ErrorKind::InvalidState, FUNCTION, message);
            return Err(Failed::new(error, (source, sink)));
        }
        let calls = NonNull::from(Box::leak(Box::new((source_call, sink_call))));
        let started = described.and_then(|((mut source, _path), (mut sink, _other_path))| {
            // The run keeps the memory, descriptors and closures until it has ended.
            let calls = calls.as_ptr();
            // SAFETY: `calls` is alive; no reference is made.
            (source.user, sink.user) = unsafe { ((&raw mut (*calls).0).cast(), (&raw mut (*calls).1).cast()) };
            call!(pipeline_start(self.as_raw(), &source, &sink))
        });
        let parts = Parts { source, sink, calls: Calls(calls), pipeline: self.clone() };
        match started {
            Ok(()) => Ok(Run { pipeline: self.clone(), parts: Some(parts), done: None }),
            Err(error) => Err(Failed::new(error, parts.into_values())),
        }
    }
}

impl<S, K> Parts<S, K> {
    fn into_values(self) -> (S, K) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` isn't used afterwards nor dropped: each member is moved out once.
        let (source, sink, calls, pipeline) = unsafe {
            use std::ptr::read;
            (read(&this.source), read(&this.sink), read(&this.calls), read(&this.pipeline))
        };
        // First, since dropping the caller's closures may panic.
        pipeline.give_back();
        drop(calls);
        (source, sink)
    }
}

impl<S: Send + 'static, K: Send + 'static> Run<S, K> {
    /// The pipeline.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Ends the run early: see [`Pipeline::cancel`].
    pub fn cancel(&self) -> Result<()> {
        self.pipeline.cancel()
    }

    /// The run's progress.
    pub fn progress(&self) -> Result<Progress> {
        self.pipeline.progress()
    }

    /// Waits for the end of the run.
    pub fn wait(mut self) -> Result<Finished<S, K>, Failed<(S, K)>> {
        self.collect(FOR_EVER)
    }

    /// Waits with a timeout and says whether the run has ended. If so, [`wait`](Self::wait) doesn't block.
    pub fn wait_for(&self, timeout: Duration) -> Result<bool> {
        match status!(pipeline_wait(self.pipeline.as_raw(), nanoseconds(timeout), std::ptr::null_mut()))? {
            sys::GPO_TIMEOUT => Ok(false),
            sys::GPO_WOULD_DEADLOCK => Err(failure(sys::GPO_WOULD_DEADLOCK, "gpo_pipeline_wait")),
            _ => Ok(true),
        }
    }

    fn collect(&mut self, timeout: i64) -> Result<Finished<S, K>, Failed<(S, K)>> {
        let mut summary = RunSummary::empty();
        let waited = status!(pipeline_wait(self.pipeline.as_raw(), timeout, &mut summary.0));
        let (ended, error) = match waited {
            Ok(sys::GPO_SUCCESS) => (true, None),
            Ok(other) => {
                let going_on = matches!(other, sys::GPO_TIMEOUT | sys::GPO_WOULD_DEADLOCK | sys::GPO_FORKED);
                (!going_on, Some(failure(other, "gpo_pipeline_wait")))
            }
            Err(error) => (false, Some(error)),
        };
        if !ended {
            self.detach();
        }
        let of_stage = self.pipeline.stage_failure();
        let note = self.parts.as_ref().and_then(|parts| parts.calls.failure()).or(of_stage);
        match (error, self.parts.take().map(Parts::into_values)) {
            (None, Some((source, sink))) => Ok(Finished { summary, source, sink }),
            (Some(error), values) => {
                let error = match note {
                    Some(note) => error.with_note(&note),
                    None => error,
                };
                Err(Failed::of(error, values))
            }
            (None, None) => panic!("polled after it had ended"),
        }
    }

    /// Drops source and sink when the run has ended.
    fn detach(&mut self) {
        if let Some(parts) = self.parts.take() {
            drop_when(&Awaited::Pipeline(self.pipeline.clone()), Box::new(parts));
        }
    }
}

impl<S: Send + Unpin + 'static, K: Send + Unpin + 'static> Future for Run<S, K> {
    type Output = Result<Finished<S, K>, Failed<(S, K)>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let done = this.done.get_or_insert_with(|| Done::new(Awaited::Pipeline(this.pipeline.clone())));
        let result = ready!(Pin::new(&mut *done).poll(context));
        match result {
            Err(error) if !done.has_begun() => {
                this.detach();
                Poll::Ready(Err(Failed::of(error, None)))
            }
            // The run has ended: this doesn't block.
            _ => Poll::Ready(this.collect(FOR_EVER)),
        }
    }
}

impl<S: Send + 'static, K: Send + 'static> Drop for Run<S, K> {
    fn drop(&mut self) {
        if self.parts.is_some() && !matches!(self.wait_for(Duration::ZERO), Ok(true)) {
            self.detach();
        }
    }
}

impl<S: Send + 'static, K: Send + 'static> fmt::Debug for Run<S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}
