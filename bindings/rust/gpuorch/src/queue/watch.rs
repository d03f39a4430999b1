//! Wakes futures of host rings. The library calls nothing back for answers and for room. Threads of the crate wait
//! instead: one for each tenant whose answers are awaited, and one for the ring's room.

use crate::call::status;
use crate::callback::contained;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::FOR_EVER;
use gpuorch_sys as sys;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// The change of a ring that a future waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// An answer to this tenant, or the end of its answers.
    Answer(u32),
    /// Room for a task. The library has no wait for room: the futures are woken after a short time, and post again.
    Room,
}

/// The threads of a ring, which end when this is dropped.
#[derive(Default)]
pub(super) struct Watches {
    begun: Mutex<BTreeMap<Change, Arc<Watch>>>,
}

/// The futures that a thread wakes.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By their numbers: the waker, and when the future began to wait.
    waiting: BTreeMap<u64, (Waker, Instant)>,
    last_number: u64,
    ended: bool,
}

/// The place of a future among those that a thread wakes. Dropping the place ends the wait.
pub(super) struct Place {
    watch: Arc<Watch>,
    number: u64,
    since: Instant,
}

impl Watches {
    /// Wakes a future, which has looked for the change in vain, at the next change. Starts the thread at first.
    pub(super) fn wake_at(
        &self,
        change: Change,
        ring: sys::gpo_queue_t,
        place: &mut Option<Place>,
        context: &Context<'_>,
    ) -> Result<()> {
        if place.is_none() {
            *place = Some(Place::new(self.begun(change, ring)?));
        }
        if let Some(place) = place {
            place.wait(context.waker().clone());
        }
        Ok(())
    }

    fn begun(&self, change: Change, ring: sys::gpo_queue_t) -> Result<Arc<Watch>> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = begun.get(&change) {
            return Ok(Arc::clone(watch));
        }
        let watch = Arc::new(Watch::default());
        let (watched, ring) = (Arc::clone(&watch), ring as usize);
        let run = move || watched.run(change, ring as sys::gpo_queue_t);
        std::thread::Builder::new().name("gpuorch-ring".to_owned()).spawn(run).map_err(|error| {
            let message = format!("there is no thread to wait on: {error}");
            Error::new(ErrorKind::LimitExceeded, "gpo_queue_wait", message)
        })?;
        begun.insert(change, Arc::clone(&watch));
        Ok(watch)
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for watch in take(self.begun.get_mut().unwrap_or_else(PoisonError::into_inner)).into_values() {
            watch.lock().ended = true;
            watch.changed.notify_one();
        }
    }
}

impl Watch {
    fn run(&self, change: Change, ring: sys::gpo_queue_t) {
        while let Some(newest) = self.newest() {
            match change {
                // Returns at the end of the ring, too.
                Change::Answer(tenant) => drop(status!(queue_wait(ring, tenant, FOR_EVER))),
                Change::Room => std::thread::sleep(rest(newest.elapsed())),
            }
            let waiting = take(&mut self.lock().waiting);
            for (waker, _) in waiting.into_values() {
                // Wakers are code of the async runtime and may panic.
                let _ = contained(|| waker.wake());
            }
        }
    }

    /// Waits for futures. Returns when the newest of them began to wait, and `None` at the end.
    fn newest(&self) -> Option<Instant> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            if let Some(newest) = state.waiting.values().map(|&(_, since)| since).max() {
                return Some(newest);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long futures of this age sleep: as long as the library sleeps in its waits for answers.
fn rest(age: Duration) -> Duration {
    (age / 16).clamp(Duration::from_micros(10), Duration::from_millis(1))
}

impl Place {
    fn new(watch: Arc<Watch>) -> Self {
        let number = {
            let mut state = watch.lock();
            state.last_number += 1;
            state.last_number
        };
        Self { watch, number, since: Instant::now() }
    }

    fn wait(&self, waker: Waker) {
        let stale = self.watch.lock().waiting.insert(self.number, (waker, self.since));
        self.watch.changed.notify_one();
        // Outside the lock: a waker runs foreign code.
        drop(stale);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let stale = self.watch.lock().waiting.remove(&self.number);
        drop(stale);
    }
}
