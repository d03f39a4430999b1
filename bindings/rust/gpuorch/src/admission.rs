//! Admissions: how many requests may use a GPU at a time, and how much memory they may take.

use crate::builder::builder;
use crate::call::{call, status};
use crate::callback::contained;
use crate::completion::CompletionQueue;
use crate::error::{Result, completion_failure};
use crate::handle::{Owned, monotonic_ns, nanoseconds_from};
use crate::pool::Pool;
use crate::runtime::{Runtime, Waking};
use crate::signal::Signal;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Two budgets, places and bytes, and a bounded line of requests that wait for them. Clones are the same admission.
///
/// [`Request`] says how requests are ordered. A future holds up no thread, and a request that can't be admitted ends
/// with an error: [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock) if the line has no room,
/// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) after its deadline.
///
/// ```
/// # use gpuorch::{Request, Runtime};
/// # let runtime = Runtime::new()?;
/// # let device = runtime.open_device()?;
/// # let stream = device.stream()?;
/// let admission = runtime.admission_builder().count(8).bytes(1 << 30).build()?;
/// # pollster::block_on(async {
/// let place = admission.enter(Request::new().bytes(1 << 20).flow(3)).await?;
/// let buffer = device.buffer::<f32>(1 << 18)?;
/// stream.write(&vec![1.0; 1 << 18], &buffer)?;
/// place.leave_after(&stream)?; // the place comes back behind the work
/// # Ok::<(), gpuorch::Error>(())
/// # })?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Clone)]
pub struct Admission {
    inner: Arc<Owned<sys::gpo_admission_t, Runtime>>,
}

builder! {
    /// Options of an admission. Without options nothing is limited.
    AdmissionBuilder of Admission: admission_create(Runtime, gpo_admission_options);
}

impl AdmissionBuilder<'_> {
    /// Watches a pool: admissions pause while too many of its bytes are in use. [`high_bytes`](Self::high_bytes) must
    /// be set. The admission keeps the pool.
    pub fn watch(mut self, pool: &Pool) -> Self {
        self.options.pool = pool.as_raw();
        self
    }
}

impl Runtime {
    /// For an admission with budgets.
    pub fn admission_builder(&self) -> AdmissionBuilder<'_> {
        AdmissionBuilder::new(self)
    }
}

impl Admission {
    /// The runtime that the admission was made from.
    pub fn runtime(&self) -> &Runtime {
        &self.inner.parent
    }

    /// A future of a place. The request joins the line at the first poll. Dropping the future takes the request out of
    /// the line, and gives back a place that it holds by then.
    ///
    /// The future's errors are those of [`CompletionQueue::enter`](crate::CompletionQueue::enter), and:
    ///
    /// - [`ErrorKind::Timeout`](crate::ErrorKind::Timeout): the deadline passed first.
    /// - [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled): the runtime shuts down.
    /// - [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded): a budget was lowered below the request.
    pub fn enter(&self, request: Request) -> Entering {
        Entering { admission: self.clone(), request, asked: None, ended: false }
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_admission_t {
        self.inner.raw
    }
}

/// A request for a part of the budgets: by default one place, without bytes, of the flow 0.
///
/// A request of a lower [`priority`](Self::priority) number goes first, always. Within a priority, flows share the
/// budgets by their weights ([`Admission::set_flow`]), regardless of how many requests each of them has waiting.
#[derive(Debug, Clone, Copy, Default)]
#[must_use = "a request asks for nothing until `enter`"]
pub struct Request {
    priority: u32,
    count: u64,
    bytes: u64,
    flow: u64,
    within: Option<Duration>,
}

impl Request {
    /// One place.
    pub fn new() -> Self {
        Self::default()
    }

    /// 0 goes first. Must be below the admission's number of priorities.
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// How many places.
    pub fn count(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// How many bytes.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// The flow: a tenant, a connection, …
    pub fn flow(mut self, flow: u64) -> Self {
        self.flow = flow;
        self
    }

    /// A request that still waits after this time, counted from `enter`, ends with
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout).
    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    fn raw(&self) -> sys::gpo_admission_request {
        let mut raw = sys::gpo_admission_request::new();
        (raw.priority, raw.count, raw.bytes, raw.flow) = (self.priority, self.count, self.bytes, self.flow);
        if let Some(time) = self.within {
            raw.deadline_ns = monotonic_ns().saturating_add(nanoseconds_from(time));
        }
        raw
    }
}

/// A held part of an admission's budgets. Dropping it gives it back at once, except in a host node of a graph, where
/// the library refuses the call: move a place out of there before it is dropped.
#[must_use = "a place is given back when it is dropped"]
pub struct Place {
    admission: Admission,
    ticket: u64,
}

impl Place {
    /// The admission whose place it is.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The request's number, for the functions of [`Admission`] that take one.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Gives the place back in stream order: when all work that is on the stream now has ended, also by a failure. If
    /// the stream refuses the call, the place is given back at once.
    pub fn leave_after(self, stream: &Stream) -> Result<()> {
        self.admission.leave_after(self.ticket, stream)?;
        let mut place = ManuallyDrop::new(self);
        // SAFETY: the place is dropped no more, so that its admission is dropped once.
        unsafe { std::ptr::drop_in_place(&mut place.admission) };
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Fails only if the place was given back by its ticket, or the runtime has shut down.
        let _ = status!(admission_leave(self.admission.as_raw(), self.ticket));
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

/// A future of a [`Place`]: see [`Admission::enter`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Entering {
    admission: Admission,
    request: Request,
    asked: Option<(Arc<Signal<Result<Place>>>, u64)>,
    /// The outcome was taken.
    ended: bool,
}

const FUNCTION: &str = "gpo_admission_enter_then";

/// The argument of a callback.
struct Asked {
    signal: Arc<Signal<Result<Place>>>,
    admission: Admission,
    waking: Waking,
}

/// `user` is a boxed `Asked` of this call's.
unsafe extern "C" fn entered(user: *mut c_void, completion: *const sys::gpo_completion, error: *const sys::gpo_error) {
    // SAFETY: see above; called once. The completion is valid during the call.
    let (asked, completion) = unsafe { (Box::from_raw(user.cast::<Asked>()), *completion) };
    // The share of the executor goes last.
    let Asked { signal, admission, waking: _share } = *asked;
    let ended = match completion_failure(completion.status, error, FUNCTION) {
        Some(error) => Err(error),
        None => Ok(Place { admission, ticket: completion.operation }),
    };
    // Wakers are code of the async runtime and may panic. A place whose future is gone is given back here.
    let _ = contained(move || {
        signal.set(ended);
        drop(signal);
    });
}

impl Entering {
    fn begin(&self) -> Result<(Arc<Signal<Result<Place>>>, u64)> {
        let waking = self.admission.runtime().inner.waking()?;
        let (executor, request) = (waking.raw, self.request.raw());
        let signal = Arc::new(Signal::new());
        let asked = Asked { signal: Arc::clone(&signal), admission: self.admission.clone(), waking };
        let user = Box::into_raw(Box::new(asked));
        let mut ticket = 0;
        let raw = self.admission.as_raw();
        let entered = call!(admission_enter_then(raw, &request, executor, Some(entered), user.cast(), &mut ticket));
        if let Err(error) = entered {
            // SAFETY: from into_raw, and still this function's: the call was refused.
            drop(unsafe { Box::from_raw(user) });
            return Err(error);
        }
        Ok((signal, ticket))
    }
}

impl Future for Entering {
    type Output = Result<Place>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.asked.is_none() {
            match self.begin() {
                Ok(asked) => self.asked = Some(asked),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Some((signal, _)) = &self.asked else { unreachable!("set above") };
        let polled = signal.poll(context);
        self.ended = polled.is_ready();
        polled
    }
}

impl Drop for Entering {
    fn drop(&mut self) {
        if let (Some((signal, ticket)), false) = (&self.asked, self.ended) {
            signal.forget_waker();
            // Fails if the request has ended, or was admitted. Then its place goes with the signal.
            let _ = status!(admission_cancel(self.admission.as_raw(), *ticket));
        }
    }
}

impl fmt::Debug for Entering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entering").field("begun", &self.asked.is_some()).finish_non_exhaustive()
    }
}

impl CompletionQueue {
    /// Asks an admission for a place, and returns the request's ticket. This queue gets an entry with `user_data` when
    /// the request was admitted or has failed. [`Admission::leave`] gives an admitted request's place back.
    ///
    /// - [`ErrorKind::WouldBlock`](crate::ErrorKind::WouldBlock): the line has no room, or the queue is full.
    /// - [`ErrorKind::Timeout`](crate::ErrorKind::Timeout): the deadline has passed already.
    /// - [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded): the request asks for more than a whole budget,
    ///   or 2^24 requests wait or hold places.
    /// - [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): there is no such priority.
    pub fn enter(&self, admission: &Admission, request: Request, user_data: u64) -> Result<u64> {
        let (request, mut ticket) = (request.raw(), 0);
        call!(admission_enter(admission.as_raw(), &request, self.as_raw(), user_data, &mut ticket))?;
        Ok(ticket)
    }
}
