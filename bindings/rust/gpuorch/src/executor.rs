//! Executors: closures that are called when work is done, at a time or at once.

use crate::builder::builder;
use crate::call::call;
use crate::callback::contained;
use crate::done::{Awaited, Completion};
use crate::error::{Result, completion_failure};
use crate::event::Event;
use crate::handle::{Owned, clock_time};
use crate::runtime::Runtime;
use crate::stream::Stream;
use crate::timeline::Timeline;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Calls closures when work is done, at a time or at once: on threads of its own or on the threads that run the
/// executor. Clones are the same executor.
///
/// An accepted closure is called exactly once, on success, failure or cancellation of the work. Closures of one stream
/// run one at a time, in order. Closures may block and call anything; a call that would wait for the closure itself
/// returns [`ErrorKind::WouldDeadlock`](crate::ErrorKind::WouldDeadlock). The executor catches and counts panics.
///
/// When the last clone is dropped, closures that are still pending are called with
/// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let stream = runtime.open_device()?.stream()?;
/// let executor = runtime.executor()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// stream.then(&executor, move |done| sender.send(done.is_ok()).unwrap())?;
/// assert!(receiver.recv().unwrap());
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Clone)]
pub struct Executor {
    inner: Arc<Owned<sys::gpo_executor_t, Runtime>>,
    panics: Arc<AtomicU64>,
}

builder! {
    /// Options of an executor. `build` starts its threads, if it has any.
    ExecutorBuilder of Executor: executor_create(Runtime, gpo_executor_options), panics;
}

impl Runtime {
    /// An executor with two threads.
    pub fn executor(&self) -> Result<Executor> {
        self.executor_builder().build()
    }

    /// For an executor with options.
    pub fn executor_builder(&self) -> ExecutorBuilder<'_> {
        ExecutorBuilder::new(self)
    }
}

impl Executor {
    /// The runtime that the executor was made from.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.parent
    }

    /// How many closures have panicked.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_executor_t {
        self.inner.raw
    }

    /// The panic counter, for closures that mustn't keep the executor alive.
    pub(crate) fn panic_count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.panics)
    }

    /// Calls a closure as soon as a thread runs the executor and is free. The closure is never called inside this
    /// function. Closures begin in the order in which they were posted; several may run at the same time on different
    /// threads.
    ///
    /// Host nodes of graphs ([`Template::add_host_call`](crate::Template::add_host_call)) may call this, too.
    ///
    /// - [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock): the executor has no room. The closure is dropped.
    /// - [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown): the runtime is shutting down. The closure is dropped.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// let executor = runtime.executor_builder().run_by_caller().build()?;
    /// let own = executor.clone();
    /// executor.post(move |_| own.post(|_| println!("second")).unwrap())?;
    /// assert_eq!(executor.run()?, 2);
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn post(&self, closure: impl FnOnce(Result<Completion>) + Send + 'static) -> Result<()> {
        self.give("gpo_executor_post", closure, |callback, user| call!(executor_post(self.as_raw(), callback, user)))
    }

    /// Calls a closure at a time, or at once if that has passed. The closure may be called late, but never early. With
    /// `None` the time never comes, and the closure keeps [`run`](Self::run) inside until the closure is cancelled.
    ///
    /// Returns the closure's ticket, for [`cancel`](Self::cancel). The end of the executor and
    /// [`Runtime::shutdown`] don't wait for times: a closure whose time has not come then gets
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    ///
    /// - [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock), [`ErrorKind::ShutDown`](crate::ErrorKind::ShutDown):
    ///   as in [`post`](Self::post).
    ///
    /// ```
    /// # use std::time::{Duration, Instant};
    /// # let runtime = gpuorch::Runtime::new()?;
    /// let executor = runtime.executor()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let told = sender.clone();
    /// executor.post_at(Instant::now() + Duration::from_millis(5), move |_| told.send("the time has come").unwrap())?;
    /// let limit = executor.post_at(Instant::now() + Duration::from_secs(60), move |ended| {
    ///     sender.send(if ended.is_ok() { "too late" } else { "in time" }).unwrap();
    /// })?;
    /// assert_eq!(receiver.recv(), Ok("the time has come"));
    /// executor.cancel(limit)?;
    /// assert_eq!(receiver.recv(), Ok("in time"));
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn post_at(
        &self,
        time: impl Into<Option<Instant>>,
        closure: impl FnOnce(Result<Completion>) + Send + 'static,
    ) -> Result<u64> {
        let time_ns = time.into().map_or(NEVER, clock_time);
        let mut ticket = 0;
        self.give("gpo_executor_post_at", closure, |callback, user| {
            call!(executor_post_at(self.as_raw(), time_ns, callback, user, &mut ticket))
        })?;
        Ok(ticket)
    }

    fn call_when(&self, what: &Awaited, closure: impl FnOnce(Result<Completion>) + Send + 'static) -> Result<()> {
        self.give(what.function(), closure, |callback, user| what.then(self.as_raw(), callback, user))
    }

    /// Gives a closure to the library by `submit`, which calls `function`. A closure that is refused is dropped here.
    fn give(
        &self,
        function: &'static str,
        closure: impl FnOnce(Result<Completion>) + Send + 'static,
        submit: impl FnOnce(sys::gpo_completion_fn, *mut c_void) -> Result<()>,
    ) -> Result<()> {
        let (callback, user) = into_callback(self, function, closure);
        let asked = submit(callback.function, user);
        if asked.is_err() {
            // SAFETY: `user` is still this function's: the call was refused.
            unsafe { (callback.refused)(user) };
        }
        asked
    }
}

/// The time that never comes.
const NEVER: u64 = u64::MAX;

/// A closure, for one call.
struct Callback<F> {
    closure: F,
    /// The function that was called to submit the closure.
    function: &'static str,
    panics: Arc<AtomicU64>,
}

/// The two ways in which a closure that was boxed for the library ends.
struct Ends {
    function: sys::gpo_completion_fn,
    refused: unsafe fn(*mut c_void),
}

fn into_callback<F: FnOnce(Result<Completion>) + Send + 'static>(
    executor: &Executor,
    function: &'static str,
    closure: F,
) -> (Ends, *mut c_void) {
    let callback = Box::new(Callback { closure, function, panics: executor.panic_count() });
    (Ends { function: Some(called::<F>), refused: refused::<F> }, Box::into_raw(callback).cast())
}

unsafe fn refused<F>(user: *mut c_void) {
    // SAFETY: the caller has it from into_callback, with the same F.
    drop(unsafe { Box::from_raw(user.cast::<Callback<F>>()) });
}

/// `user` is a boxed `Callback<F>` of this call's.
unsafe extern "C" fn called<F: FnOnce(Result<Completion>) + Send + 'static>(
    user: *mut c_void,
    completion: *const sys::gpo_completion,
    error: *const sys::gpo_error,
) {
    // SAFETY: see above; called once. The completion is valid during the call.
    let (callback, completion) = unsafe { (Box::from_raw(user.cast::<Callback<F>>()), *completion) };
    let Callback { closure, function, panics } = *callback;
    let result = completion_failure(completion.status, error, function).map_or(Ok(Completion(completion)), Err);
    if contained(move || closure(result)).is_err() {
        panics.fetch_add(1, Ordering::Relaxed);
    }
}

impl Stream {
    /// Calls a closure when all work that is on the stream now is done. The closure runs on another thread:
    ///
    /// ```compile_fail,E0277
    /// # fn then(stream: gpuorch::Stream, executor: gpuorch::Executor) {
    /// let here = std::rc::Rc::new(());
    /// stream.then(&executor, move |_| drop(here));
    /// # }
    /// ```
    pub fn then(&self, executor: &Executor, closure: impl FnOnce(Result<Completion>) + Send + 'static) -> Result<()> {
        executor.call_when(&Awaited::Stream(self.clone()), closure)
    }
}

impl Event {
    /// Calls a closure when the newest recording is complete.
    pub fn then(&self, executor: &Executor, closure: impl FnOnce(Result<Completion>) + Send + 'static) -> Result<()> {
        executor.call_when(&Awaited::Event(self.clone()), closure)
    }
}

impl Timeline {
    /// Calls a closure when the timeline reaches `value`, or can't reach it any more.
    pub fn then(
        &self,
        value: u64,
        executor: &Executor,
        closure: impl FnOnce(Result<Completion>) + Send + 'static,
    ) -> Result<()> {
        executor.call_when(&Awaited::Timeline(self.clone(), value), closure)
    }
}
