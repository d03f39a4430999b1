//! A queue: callbacks put items in as they arrive, and an asynchronous stream takes them out in the same order.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

#[cfg(gpuorch_loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(gpuorch_loom))]
use std::sync::{Mutex, MutexGuard};

/// Any number of callbacks may put items in. The stream may be polled with changing wakers and dropped at any moment.
pub(crate) struct Arrivals<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    ready: VecDeque<T>,
    /// Items that are expected and haven't arrived.
    pending: usize,
    waker: Option<Waker>,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { ready: VecDeque::new(), pending: 0, waker: None }) }
    }
}

impl<T> Arrivals<T> {
    /// Expects one more item.
    pub(crate) fn expect(&self) {
        self.lock().pending += 1;
    }

    /// Expects one item less: its callback won't come.
    pub(crate) fn give_up(&self) {
        self.lock().pending -= 1;
    }

    /// Called by a callback. Wakes the task that polled last.
    pub(crate) fn arrive(&self, item: T) {
        let mut state = self.lock();
        state.pending -= 1;
        state.ready.push_back(item);
        let waker = state.waker.take();
        drop(state);
        // Outside the lock: a waker runs foreign code.
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Called by the stream. `None` if nothing is expected.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Option<T>> {
        // Cloned outside the lock: a waker runs foreign code.
        let waker = context.waker().clone();
        let mut state = self.lock();
        if let Some(item) = state.ready.pop_front() {
            return Poll::Ready(Some(item));
        }
        if state.pending == 0 {
            return Poll::Ready(None);
        }
        let stale = state.waker.replace(waker);
        drop(state);
        drop(stale);
        Poll::Pending
    }

    /// How many are still to be taken.
    pub(crate) fn len(&self) -> usize {
        let state = self.lock();
        state.pending + state.ready.len()
    }

    /// The stream is dropped: no task is woken any more.
    pub(crate) fn forget_waker(&self) {
        let waker = self.lock().waker.take();
        drop(waker);
    }

    #[cfg(not(gpuorch_loom))]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(gpuorch_loom)]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap()
    }
}
