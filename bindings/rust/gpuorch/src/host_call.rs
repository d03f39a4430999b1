//! Host calls: closures in the order of a stream.

use crate::call::call;
use crate::callback::contained;
use crate::done::Enqueued;
use crate::error::Result;
use crate::executor::Executor;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::{CString, c_void};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Stream {
    /// Puts a closure on the stream. The closure runs on the executor when all earlier work is done. Later work is held
    /// on the host until the closure has returned. If the closure fails or panics, the stream fails with
    /// [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed) and the closure's text. If earlier work has
    /// failed or was cancelled, the closure is dropped and not called.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let stream = runtime.open_device()?.stream()?;
    /// # let executor = runtime.executor()?;
    /// stream.host_call(&executor, || Err::<(), _>("the disk is full"))?;
    /// let error = stream.wait().unwrap_err();
    /// assert_eq!(error.kind(), gpuorch::ErrorKind::CallbackFailed);
    /// assert!(error.message().contains("the disk is full"));
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn host_call<E: fmt::Display>(
        &self,
        executor: &Executor,
        closure: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<Enqueued<'_>> {
        let panics = executor.panic_count();
        self.host_call_under_way(executor, move |call| {
            let result = contained(move || closure().map_err(|error| error.to_string()));
            if result.is_err() {
                panics.fetch_add(1, Ordering::Relaxed);
            }
            // Fails only if the call was cancelled meanwhile: then the stream has failed already.
            let _ = call.finish(result.unwrap_or_else(Err));
        })
    }

    /// A host call whose work goes on when the closure has returned: the stream waits for [`HostCall::finish`], which
    /// any thread may call. A call that is dropped unfinished is cancelled, and the stream then fails.
    pub fn host_call_under_way(
        &self,
        executor: &Executor,
        closure: impl FnOnce(HostCall) + Send + 'static,
    ) -> Result<Enqueued<'_>> {
        let panics = executor.panic_count();
        let user = Box::into_raw(Box::new(Closure { closure, executor: ExecutorHandle(executor.as_raw()), panics }));
        let function = function_of(user);
        let put = call!(stream_host_call(self.as_raw(), executor.as_raw(), function, user.cast()));
        if put.is_err() {
            // SAFETY: from into_raw, and still this function's: the call was refused.
            drop(unsafe { Box::from_raw(user) });
        }
        put.map(|()| Enqueued { stream: self })
    }
}

struct Closure<F> {
    closure: F,
    executor: ExecutorHandle,
    panics: Arc<AtomicU64>,
}

#[derive(Clone, Copy)]
struct ExecutorHandle(sys::gpo_executor_t);

// SAFETY: a handle is a number.
unsafe impl Send for ExecutorHandle {}
// SAFETY: likewise.
unsafe impl Sync for ExecutorHandle {}

fn function_of<F: FnOnce(HostCall) + Send + 'static>(_: *mut Closure<F>) -> sys::gpo_host_fn {
    Some(called::<F>)
}

/// `user` is a boxed `Closure<F>` of this call's.
unsafe extern "C" fn called<F: FnOnce(HostCall) + Send + 'static>(
    user: *mut c_void,
    call: *const sys::gpo_host_call,
) -> sys::gpo_status {
    // SAFETY: see above; called once. The call is valid while this runs.
    let (closure, status, number) = unsafe { (Box::from_raw(user.cast::<Closure<F>>()), (*call).status, (*call).call) };
    let Closure { closure, executor, panics } = *closure;
    if status != sys::GPO_SUCCESS {
        let _ = contained(move || drop(closure));
        return status;
    }
    let call = HostCall { executor, number, finished: false };
    if contained(move || closure(call)).is_err() {
        panics.fetch_add(1, Ordering::Relaxed);
    }
    sys::GPO_NOT_READY
}

/// A host call under way: its stream waits for [`finish`](Self::finish).
#[must_use = "a call that is dropped fails the stream"]
pub struct HostCall {
    executor: ExecutorHandle,
    number: u64,
    finished: bool,
}

impl HostCall {
    /// Finishes the call: the stream goes on, or fails with
    /// [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed) and the error's text.
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the call was cancelled or its executor was destroyed.
    pub fn finish<E: fmt::Display>(mut self, result: Result<(), E>) -> Result<()> {
        // The caller's `Display` may panic: then the call is dropped unfinished.
        let failure = result.err().map(|error| error.to_string());
        self.finished = true;
        match failure {
            None => self.tell(sys::GPO_SUCCESS, None),
            Some(text) => self.tell(sys::GPO_CALLBACK_FAILED, Some(&text)),
        }
    }

    fn tell(&self, outcome: sys::gpo_status, message: Option<&str>) -> Result<()> {
        let message = message.map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default());
        let message = crate::handle::pointer(&message);
        call!(host_call_finish(self.executor.0, self.number, outcome, message))
    }
}

impl Drop for HostCall {
    fn drop(&mut self) {
        if !self.finished {
            let panicking = std::thread::panicking();
            let outcome = if panicking { sys::GPO_CALLBACK_FAILED } else { sys::GPO_CANCELLED };
            let message = if panicking { "the host call panicked" } else { "the host call was dropped unfinished" };
            let _ = self.tell(outcome, Some(message));
        }
    }
}

impl fmt::Debug for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostCall").field("number", &self.number).finish_non_exhaustive()
    }
}
