//! Futures of GPU work, woken by callbacks on an executor of the library.

use crate::call::call;
use crate::callback::contained;
use crate::error::{Error, ErrorKind, Result, completion_failure};
use crate::event::Event;
use crate::pipeline::Pipeline;
use crate::runtime::{Runtime, Waking};
use crate::signal::Signal;
use crate::stream::Stream;
use crate::timeline::Timeline;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Work that is done: which, and when. Its numbers are fields of [`gpo_completion`](sys::gpo_completion).
#[derive(Clone, Copy)]
pub struct Completion(pub(crate) sys::gpo_completion);

impl Completion {
    /// The work's failure, if it has failed.
    pub fn failed(&self) -> Option<ErrorKind> {
        (self.0.status != sys::GPO_SUCCESS).then(|| ErrorKind::of(self.0.status))
    }
}

impl Deref for Completion {
    type Target = sys::gpo_completion;

    fn deref(&self) -> &sys::gpo_completion {
        &self.0
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Completion");
        out.field("user_data", &self.user_data).field("failed", &self.failed()).field("operation", &self.operation);
        out.field("submitted_ns", &self.submitted_ns).field("completed_ns", &self.completed_ns).finish_non_exhaustive()
    }
}

pub(crate) type Ended = Result<Completion>;

/// A future that is ready when work is done or has failed. The wait begins at the first poll.
///
/// Futures are woken by callbacks of one executor with two threads, which the runtime makes at the first await.
/// Dropping a future leaves the work as it is.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Done {
    what: Awaited,
    asked: Option<Arc<Signal<Ended>>>,
}

/// The argument of a callback.
struct Callback<U> {
    user: U,
    function: fn(U, Ended),
    /// The function that was called to submit it.
    submitted_by: &'static str,
    waking: Waking,
}

/// An object that can be awaited. Each keeps alive the objects that it needs.
pub(crate) enum Awaited {
    Stream(Stream),
    Event(Event),
    Timeline(Timeline, u64),
    Pipeline(Pipeline),
}

impl Awaited {
    pub(crate) fn runtime(&self) -> &Runtime {
        match self {
            Self::Stream(stream) => stream.device().runtime(),
            Self::Event(event) => event.device().runtime(),
            Self::Timeline(timeline, _) => timeline.runtime(),
            Self::Pipeline(pipeline) => pipeline.device().runtime(),
        }
    }

    /// The function that [`then`](Self::then) calls.
    pub(crate) fn function(&self) -> &'static str {
        match self {
            Self::Stream(_) => "gpo_stream_then",
            Self::Event(_) => "gpo_event_then",
            Self::Timeline(..) => "gpo_timeline_then",
            Self::Pipeline(_) => "gpo_pipeline_then",
        }
    }

    /// Asks for exactly one callback, on success or failure.
    pub(crate) fn then(
        &self,
        executor: sys::gpo_executor_t,
        callback: sys::gpo_completion_fn,
        user: *mut c_void,
    ) -> Result<()> {
        match self {
            Self::Stream(stream) => call!(stream_then(stream.as_raw(), executor, callback, user)),
            Self::Event(event) => call!(event_then(event.as_raw(), executor, callback, user)),
            Self::Timeline(timeline, value) => {
                call!(timeline_then(timeline.as_raw(), *value, executor, callback, user))
            }
            Self::Pipeline(pipeline) => call!(pipeline_then(pipeline.as_raw(), executor, callback, user)),
        }
    }

    /// Asks for exactly one call of `function`, on success or failure, on the executor that wakes futures. If that is
    /// refused, `user` comes back.
    pub(crate) fn wake<U: Send>(&self, user: U, function: fn(U, Ended)) -> Result<(), (Error, U)> {
        let waking = match self.runtime().inner.waking() {
            Ok(waking) => waking,
            Err(error) => return Err((error, user)),
        };
        let executor = waking.raw;
        let callback = Box::into_raw(Box::new(Callback { user, function, submitted_by: self.function(), waking }));
        self.then(executor, Some(called::<U>), callback.cast()).map_err(|error| {
            // SAFETY: from into_raw, and still this function's: the call was refused.
            let callback = unsafe { Box::from_raw(callback) };
            (error, callback.user)
        })
    }
}

/// `user` is a boxed `Callback<U>` of this call's.
unsafe extern "C" fn called<U: Send>(
    user: *mut c_void,
    completion: *const sys::gpo_completion,
    error: *const sys::gpo_error,
) {
    // SAFETY: see above; called once. The completion is valid during the call.
    let (callback, completion) = unsafe { (Box::from_raw(user.cast::<Callback<U>>()), *completion) };
    // The share of the executor goes last.
    let Callback { user, function, submitted_by, waking: _share } = *callback;
    let ended = completion_failure(completion.status, error, submitted_by).map_or(Ok(Completion(completion)), Err);
    // Wakers are code of the async runtime and may panic, and so may the values dropped here.
    let _ = contained(move || function(user, ended));
}

impl Done {
    pub(crate) fn new(what: Awaited) -> Self {
        Self { what, asked: None }
    }

    /// Whether a callback was requested. After the callback all work that was on the stream has ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.asked.is_some()
    }

    fn begin(&self) -> Result<Arc<Signal<Ended>>> {
        let asked = Arc::new(Signal::new());
        self.what.wake(Arc::clone(&asked), |asked, ended| asked.set(ended)).map_err(|(error, _)| error)?;
        Ok(asked)
    }
}

impl Future for Done {
    type Output = Result<Completion>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.asked.is_none() {
            match self.begin() {
                Ok(asked) => self.asked = Some(asked),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        match &self.asked {
            Some(asked) => asked.poll(context),
            None => unreachable!("set above"),
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(asked) = &self.asked {
            asked.forget_waker();
        }
    }
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Done").field("begun", &self.asked.is_some()).finish_non_exhaustive()
    }
}

/// Work that was put on a stream. The work goes on whether or not this is awaited. The await waits for all work on the
/// stream at the first poll.
#[derive(Clone, Copy)]
pub struct Enqueued<'s> {
    pub(crate) stream: &'s Stream,
}

impl Enqueued<'_> {
    /// Waits for the work, and for everything that was put on the stream since.
    pub fn wait(self) -> Result<()> {
        self.stream.wait()
    }
}

impl IntoFuture for Enqueued<'_> {
    type Output = Result<Completion>;
    type IntoFuture = Done;

    fn into_future(self) -> Done {
        self.stream.done()
    }
}

impl fmt::Debug for Enqueued<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueued").finish_non_exhaustive()
    }
}
