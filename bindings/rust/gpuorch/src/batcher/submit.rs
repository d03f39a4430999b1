//! Requests, and futures of their output.

use super::key::{Key, KeyInner};
use super::{Batcher, Inner};
use crate::call::{call, status};
use crate::callback::contained;
use crate::error::{Error, ErrorKind, Result, completion_failure};
use crate::handle::{monotonic_ns, nanoseconds_from};
use crate::host::HostBuffer;
use crate::runtime::Waking;
use crate::signal::Signal;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::size_of;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request of a key, with its input: see [`Key::request`].
#[must_use = "a request does nothing until `submit`"]
pub struct Request<I, O> {
    key: Arc<KeyInner>,
    input: Input,
    elements: Option<usize>,
    flow: u64,
    within: Option<Duration>,
    types: PhantomData<fn(I) -> O>,
}

/// Host memory with its owner. The memory stays where it is when the owner moves.
struct Input {
    address: usize,
    len: usize,
    _owner: Box<dyn Any + Send>,
}

impl<I: Pod, O: Pod> Request<I, O> {
    pub(super) fn new(key: &Key<I, O>, input: impl HostBuffer<Element = I>) -> Self {
        let (address, len) = (input.as_slice().as_ptr() as usize, input.as_slice().len());
        let input = Input { address, len, _owner: Box::new(input) };
        let key = Arc::clone(&key.inner);
        Self { key, input, elements: None, flow: 0, within: None, types: PhantomData }
    }

    /// The flow: a tenant, a connection, … Flows share batches by their weights ([`Batcher::set_flow`]).
    pub fn flow(mut self, flow: u64) -> Self {
        self.flow = flow;
        self
    }

    /// A deadline, counted from the first poll of the future. A request that can't meet it is refused with
    /// [`ErrorKind::Timeout`], and one that still waits when it passes ends with that error.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// How many elements a request of a [ragged](Batcher::ragged) key without input has.
    pub fn elements(mut self, elements: usize) -> Self {
        self.elements = Some(elements);
        self
    }

    /// The number of elements: by the input, or if there is none as the caller says.
    fn counted(&self) -> Result<usize> {
        let (sizes, len) = (self.key.sizes, self.input.len);
        let elements = match (sizes.ragged, sizes.input) {
            (false, _) => 1,
            (true, 0) => self.elements.unwrap_or(1),
            (true, each) => len / each,
        };
        if Some(len) != elements.checked_mul(sizes.input) || self.elements.is_some_and(|said| said != elements) {
            let each = sizes.input;
            return Err(refused(FUNCTION, format!("{len} values of input, where an element has {each}")));
        }
        Ok(elements)
    }

    fn raw(&self, elements: usize) -> sys::gpo_batcher_request {
        let mut raw = sys::gpo_batcher_request::new();
        (raw.key, raw.flow, raw.elements) = (self.key.number, self.flow, elements as u64);
        if self.input.len * size_of::<I>() != 0 {
            raw.input = self.input.address as *const c_void;
        }
        if let Some(time) = self.within {
            raw.deadline_ns = monotonic_ns().saturating_add(nanoseconds_from(time));
        }
        raw
    }
}

impl<I, O> fmt::Debug for Request<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Request");
        out.field("key", &self.key.number).field("flow", &self.flow).field("within", &self.within);
        out.finish_non_exhaustive()
    }
}

/// Why there is no output. [`Error`] is made of it, so `?` works in functions that return one.
#[derive(Debug)]
pub struct Failure {
    error: Error,
    wait: Duration,
}

impl Failure {
    /// What went wrong.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.error.kind()
    }

    /// The predicted time until the request would have been done, if it was refused because of its deadline. Otherwise
    /// zero.
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, wait: Duration::ZERO }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

pub(super) fn refused(function: &'static str, message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, function, message)
}

/// Where the callback puts the output, and the future finds it.
type Outcome<O> = Signal<Result<Vec<O>>>;

/// A future of a request's output: see [`Batcher::submit`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Submitted<I, O> {
    batcher: Batcher,
    /// `None` once it was submitted.
    request: Option<Request<I, O>>,
    asked: Option<(Arc<Outcome<O>>, u64)>,
    /// The outcome was taken.
    ended: bool,
}

impl<I, O> Unpin for Submitted<I, O> {}

impl Batcher {
    /// A future of the request's output. The request joins the line at the first poll. The future owns input and output
    /// until the request has ended. Dropping the future takes the request out of the line if it still waits. Otherwise
    /// its batch runs, and the memory is freed afterwards. Forgetting the future does nothing else.
    ///
    /// If the key has [`variable_output`](super::KeyBuilder::variable_output), the output is as long as the work has
    /// made it, in whole values.
    ///
    /// The future's errors:
    ///
    /// - [`ErrorKind::WouldBlock`]: as many requests wait as may.
    /// - [`ErrorKind::Timeout`]: the deadline can't be met, or passed before the request's batch was formed.
    /// - [`ErrorKind::InvalidArgument`]: the key is of another batcher; or the input isn't a row, or isn't 1 to as many
    ///   whole elements as a request may have.
    /// - [`ErrorKind::CallbackFailed`]: the key's closure has failed for the batch; the message has its text.
    /// - [`ErrorKind::Cancelled`]: the runtime shuts down.
    /// - [`ErrorKind::DeviceLost`], and others: the failure of the batch.
    pub fn submit<I: Pod, O: Pod + Send>(&self, request: Request<I, O>) -> Submitted<I, O> {
        Submitted { batcher: self.clone(), request: Some(request), asked: None, ended: false }
    }
}

const FUNCTION: &str = "gpo_batcher_submit_then";

/// The argument of a callback: all that the request's batch uses.
struct Asked<O> {
    signal: Arc<Outcome<O>>,
    key: Arc<KeyInner>,
    _input: Input,
    output: Vec<O>,
    /// How many bytes of output there are, written by the library.
    made: u64,
    waking: Waking,
}

/// What the batch of a request may still use after a callback that came early.
struct StillUsed<O> {
    _batcher: Arc<Inner>,
    _input: Input,
    _output: Vec<O>,
}

/// `user` is a boxed `Asked` of this call's.
unsafe extern "C" fn answered<O: Pod + Send>(
    user: *mut c_void,
    completion: *const sys::gpo_completion,
    error: *const sys::gpo_error,
) {
    // SAFETY: see above; called once. The completion is valid during the call.
    let (asked, status) = unsafe { (Box::from_raw(user.cast::<Asked<O>>()), (*completion).status) };
    // The share of the executor goes last.
    let Asked { signal, key, _input: input, mut output, made, waking: _share } = *asked;
    let ended = match completion_failure(status, error, FUNCTION) {
        None => {
            if key.variable_output {
                output.truncate(made as usize / size_of::<O>().max(1));
            }
            let _ = contained(move || drop(input));
            Ok(output)
        }
        Some(error) => {
            let runtime = &key.batcher.runtime().inner;
            if status == sys::GPO_CANCELLED && runtime.is_closing() {
                // A shutdown ends executors before batches.
                let batcher = Arc::clone(&key.batcher.inner);
                runtime.keep(Box::new(StillUsed { _batcher: batcher, _input: input, _output: output }));
            } else {
                let _ = contained(move || drop((input, output)));
            }
            match (error.kind(), key.said()) {
                (ErrorKind::CallbackFailed, Some(text)) => Err(error.with_note(&text)),
                _ => Err(error),
            }
        }
    };
    // Wakers are code of the async runtime and may panic.
    let _ = contained(move || {
        signal.set(ended);
        drop((signal, key));
    });
}

impl<I: Pod, O: Pod + Send> Submitted<I, O> {
    fn begin(&self, request: Request<I, O>) -> Result<(Arc<Outcome<O>>, u64), Failure> {
        if !Arc::ptr_eq(&request.key.batcher.inner, &self.batcher.inner) {
            return Err(refused(FUNCTION, "the request's key is of another batcher".to_owned()).into());
        }
        let elements = request.counted()?;
        let waking = self.batcher.runtime().inner.waking()?;
        let (executor, mut raw) = (waking.raw, request.raw(elements));
        let signal = Arc::new(Signal::new());
        let output = vec![O::zeroed(); elements.saturating_mul(request.key.sizes.output)];
        let Request { key, input, .. } = request;
        let asked = Asked { signal: Arc::clone(&signal), key, _input: input, output, made: 0, waking };
        let user = Box::into_raw(Box::new(asked));
        // SAFETY: `user` is this function's until the call has succeeded.
        unsafe {
            if size_of::<O>() != 0 && !(*user).output.is_empty() {
                raw.output = (*user).output.as_mut_ptr().cast();
            }
            raw.output_made = &raw mut (*user).made;
        }
        let (batcher, mut ticket, mut wait) = (self.batcher.as_raw(), 0, 0);
        let callback = Some(answered::<O> as _);
        call!(batcher_submit_then(batcher, &raw, executor, callback, user.cast(), &mut ticket, &mut wait)).map_err(
            |error| {
                // SAFETY: from into_raw, and still this function's: the call was refused.
                drop(unsafe { Box::from_raw(user) });
                Failure { error, wait: Duration::from_nanos(wait) }
            },
        )?;
        Ok((signal, ticket))
    }
}

impl<I: Pod, O: Pod + Send> Future for Submitted<I, O> {
    type Output = Result<Vec<O>, Failure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(request) = self.request.take() {
            match self.begin(request) {
                Ok(asked) => self.asked = Some(asked),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
        let Some((signal, _)) = &self.asked else { panic!("polled after it had ended") };
        let polled = signal.poll(context);
        self.ended = polled.is_ready();
        polled.map(|ended| ended.map_err(Failure::from))
    }
}

impl<I, O> Drop for Submitted<I, O> {
    fn drop(&mut self) {
        if let (Some((signal, ticket)), false) = (&self.asked, self.ended) {
            signal.forget_waker();
            // Fails if the batch was formed, or the request has ended. The callback frees the memory either way.
            let _ = status!(batcher_cancel(self.batcher.as_raw(), *ticket));
        }
    }
}

impl<I, O> fmt::Debug for Submitted<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitted").field("begun", &self.asked.is_some()).finish_non_exhaustive()
    }
}
