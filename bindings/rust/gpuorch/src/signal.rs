//! A cell: a callback puts in the outcome of work, and a future takes it out.

use std::task::{Context, Poll, Waker};

#[cfg(gpuorch_loom)]
use loom::sync::Mutex;
#[cfg(not(gpuorch_loom))]
use std::sync::Mutex;

/// Set once by a callback, taken once by a future. The future may be polled with changing wakers, on changing threads,
/// and may be dropped at any moment.
pub(crate) struct Signal<T> {
    state: Mutex<State<T>>,
}

enum State<T> {
    Waiting(Option<Waker>),
    Ended(T),
    Taken,
}

impl<T> Signal<T> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::Waiting(None)) }
    }

    /// Called by the callback. Wakes the task that polled last.
    pub(crate) fn set(&self, value: T) {
        let before = std::mem::replace(&mut *self.lock(), State::Ended(value));
        // Outside the lock: a waker runs foreign code.
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    /// Called by the future. Panics if the value was taken before.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<T> {
        let mut fresh = None;
        loop {
            let mut state = self.lock();
            match &mut *state {
                State::Waiting(Some(waker)) if waker.will_wake(context.waker()) => return Poll::Pending,
                State::Waiting(known) => match fresh.take() {
                    Some(waker) => {
                        let stale = known.replace(waker);
                        drop(state);
                        drop(stale);
                        return Poll::Pending;
                    }
                    // Cloned outside the lock: a waker runs foreign code.
                    None => drop(state),
                },
                State::Ended(_) => {
                    let State::Ended(value) = std::mem::replace(&mut *state, State::Taken) else { unreachable!() };
                    return Poll::Ready(value);
                }
                State::Taken => panic!("polled after it had ended"),
            }
            fresh = Some(context.waker().clone());
        }
    }

    /// The future is dropped: no task is woken any more.
    pub(crate) fn forget_waker(&self) {
        let mut state = self.lock();
        let waker = match &mut *state {
            State::Waiting(waker) => waker.take(),
            _ => None,
        };
        drop(state);
        drop(waker);
    }

    #[cfg(not(gpuorch_loom))]
    fn lock(&self) -> std::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(gpuorch_loom)]
    fn lock(&self) -> loom::sync::MutexGuard<'_, State<T>> {
        self.state.lock().unwrap()
    }
}
