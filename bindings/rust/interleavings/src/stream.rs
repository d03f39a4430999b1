//! A stream with one copy, as far as an operation sees it. The copy writes into a buffer, on a thread that stands for
//! the GPU. Then the stream is done, and the requested callbacks are called.

use crate::done::Done;
use crate::error::{Error, Result};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use std::time::Duration;

/// The value that the GPU writes, and the value that a free leaves in the memory.
const WRITTEN: u32 = 7;
const FREED: u32 = 99;

/// Host memory. Loom fails the test if a thread accesses the memory while another writes it.
pub(crate) struct Memory(UnsafeCell<u32>);

// SAFETY: exclusive access is what the tests check.
unsafe impl Sync for Memory {}

impl Memory {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn put(&self, fresh: u32) {
        // SAFETY: loom checks that no other thread accesses the memory.
        self.0.with_mut(|value| unsafe {
            assert_ne!(*value, FREED, "it was freed before");
            *value = fresh;
        });
    }

    pub(crate) fn is_written(&self) -> bool {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value == WRITTEN })
    }

    pub(crate) fn is_freed(&self) -> bool {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value == FREED })
    }
}

/// A buffer that the copy writes into. Its drop marks the memory as freed.
pub(crate) struct Buffer(pub(crate) Arc<Memory>);

impl Drop for Buffer {
    fn drop(&mut self) {
        self.0.put(FREED);
    }
}

pub(crate) type Callback = Box<dyn FnOnce(Result<()>) + Send>;

#[derive(Default)]
struct State {
    passed: Option<Result<()>>,
    callbacks: Vec<Callback>,
    kept: Vec<Callback>,
}

#[derive(Clone)]
pub(crate) struct Stream {
    state: Arc<Mutex<State>>,
    passed: Arc<Condvar>,
    /// Whether the stream has room for another callback.
    takes_callbacks: bool,
}

impl Stream {
    /// The stream, and the thread that copies into `memory` and ends with `result`.
    pub(crate) fn copying(
        memory: &Arc<Memory>,
        result: Result<()>,
        takes_callbacks: bool,
    ) -> (Self, thread::JoinHandle<()>) {
        let stream = Self { state: Arc::default(), passed: Arc::new(Condvar::new()), takes_callbacks };
        let (gpu, memory) = (stream.clone(), Arc::clone(memory));
        let thread = thread::spawn(move || {
            memory.put(WRITTEN);
            let callbacks = {
                let mut state = gpu.state.lock().unwrap();
                state.passed = Some(result.clone());
                std::mem::take(&mut state.callbacks)
            };
            gpu.passed.notify_all();
            for callback in callbacks {
                callback(result.clone());
            }
        });
        (stream, thread)
    }

    /// Calls back once, from the GPU's thread or, if the stream is done, at once. `Err` if there is no room.
    pub(crate) fn then(&self, callback: Callback) -> Result<(), Callback> {
        if !self.takes_callbacks {
            return Err(callback);
        }
        let mut state = self.state.lock().unwrap();
        match state.passed.clone() {
            None => state.callbacks.push(callback),
            Some(result) => {
                drop(state);
                callback(result);
            }
        }
        Ok(())
    }

    /// Keeps a callback that is never called until the stream is dropped, as the runtime keeps values for which no
    /// callback is possible.
    pub(crate) fn keep(&self, callback: Callback) {
        self.state.lock().unwrap().kept.push(callback);
    }

    pub(crate) fn is_done(&self) -> Result<bool> {
        match &self.state.lock().unwrap().passed {
            None => Ok(false),
            Some(result) => result.clone().map(|()| true),
        }
    }

    pub(crate) fn wait(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        loop {
            match &state.passed {
                Some(result) => return result.clone(),
                None => state = self.passed.wait(state).unwrap(),
            }
        }
    }

    pub(crate) fn wait_for(&self, _: Duration) -> Result<()> {
        match self.is_done() {
            Ok(false) => Err(Error::WOULD_BLOCK),
            other => other.map(drop),
        }
    }

    pub(crate) fn done(&self) -> Done {
        Done::new(self.clone())
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stream")
    }
}
