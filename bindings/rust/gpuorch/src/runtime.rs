//! The root object: it owns drivers, threads and statistics, and everything else is made from it.

use crate::builder::Options;
use crate::call::{call, status};
use crate::callback::contained;
use crate::device::{Device, DeviceBuilder};
use crate::error::{Error, ErrorKind, Result};
use crate::generated::LogLevel;
use crate::handle::{FOR_EVER, Owned, nanoseconds};
use gpuorch_sys as sys;
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The root object. Clones are the same runtime.
///
/// The runtime is shut down when its last clone and the last object made from it are dropped. This drop waits for
/// running work. [`shutdown`](Self::shutdown) shuts down with a timeout and reports the result.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) raw: sys::gpo_runtime_t,
    /// The executor whose callbacks wake futures, made by the first future. A shutdown takes it out.
    waking: Mutex<Option<Waking>>,
    /// Pieces of the library's host memory that Rust code can reach: a shutdown would free them.
    pinned: AtomicUsize,
    /// Shutdowns that are about to begin or have begun: while there are any, no piece is handed out. A shutdown raises
    /// this before it reads `pinned`; `pin` raises `pinned` before it reads this. At least one side therefore sees the
    /// other.
    closing: AtomicUsize,
    kept: Kept,
}

/// The executor whose callbacks wake futures. Each pending callback has a share of the executor. The executor is
/// therefore destroyed when no callback is pending: an earlier end would call callbacks of work that still runs.
pub(crate) type Waking = Arc<Owned<sys::gpo_executor_t, ()>>;

/// Values that must live until all work of the runtime has ended.
#[derive(Default)]
struct Kept {
    _log: Option<Box<Logger>>,
    /// Values that GPU work may still use, and for which no callback was possible.
    values: Mutex<Vec<Box<dyn Any + Send>>>,
}

struct Logger {
    write: Box<LogFunction>,
}

type LogFunction = dyn Fn(LogLevel, &str) + Send + Sync;

// SAFETY: the raw members are handles: numbers for any thread. The rest is Send and Sync.
unsafe impl Send for Inner {}
// SAFETY: likewise.
unsafe impl Sync for Inner {}

/// Options of a runtime.
///
/// ```
/// let runtime = gpuorch::Runtime::builder().device("soft").label("example").build()?;
/// assert_eq!(runtime.driver()?.name(), "soft");
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[must_use = "a builder makes nothing until `build`"]
pub struct RuntimeBuilder {
    pub(crate) options: Options<sys::gpo_runtime_options>,
    log: Option<Box<Logger>>,
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self { options: Options::of(sys::gpo_runtime_options::new()), log: None }
    }
}

impl RuntimeBuilder {
    /// Lines up to `level` go to `log`, which may be called on any thread, also on several at once, and may call the
    /// library.
    pub fn log(mut self, level: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.options.log_level = level.into();
        self.log = Some(Box::new(Logger { write: Box::new(log) }));
        self
    }

    /// Checks for completed work all the time while work is pending: futures are woken within single microseconds, but
    /// each device uses a core.
    pub fn low_latency(mut self) -> Self {
        self.options.completion_mode = sys::GPO_COMPLETION_LATENCY;
        self
    }

    /// Makes the runtime. Loads no driver and touches no device.
    pub fn build(mut self) -> Result<Runtime> {
        if let Some(log) = &self.log {
            self.options.log = Some(log_line);
            self.options.log_user = (&raw const **log).cast_mut().cast();
        }
        let mut raw = std::ptr::null_mut();
        call!(runtime_create(self.options.checked("gpo_runtime_create")?, &mut raw))?;
        let inner = Inner {
            raw,
            waking: Mutex::default(),
            pinned: AtomicUsize::new(0),
            closing: AtomicUsize::new(0),
            kept: Kept { _log: self.log, values: Mutex::default() },
        };
        Ok(Runtime { inner: Arc::new(inner) })
    }
}

/// `user` is a `Logger` that lives until the runtime has shut down.
unsafe extern "C" fn log_line(user: *mut c_void, level: i32, text: *const c_char) {
    // SAFETY: see above; the text is NUL-terminated and valid during the call.
    let (log, text) = unsafe { (&*user.cast::<Logger>(), CStr::from_ptr(text)) };
    let _ = contained(|| (log.write)(LogLevel::try_from(level).unwrap_or(LogLevel::Debug), &text.to_string_lossy()));
}

impl Runtime {
    /// A runtime with CUDA if there is a GPU, else with the software GPU, unless `GPUORCH_DEVICE` says otherwise.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// For a runtime with options.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Opens the first device.
    pub fn open_device(&self) -> Result<Device> {
        self.device(0).open()
    }

    /// For a device with options.
    pub fn device(&self, ordinal: u32) -> DeviceBuilder<'_> {
        DeviceBuilder::new(self, ordinal)
    }

    /// Ends the runtime: it accepts no new work, held work is cancelled, running work is waited for. Afterwards every
    /// object of the runtime fails with [`ErrorKind::InvalidHandle`], except completion queues, which keep their
    /// entries.
    ///
    /// [`ErrorKind::Timeout`]: something still runs; call again to go on waiting. [`ErrorKind::InvalidState`]: pinned
    /// vectors exist whose memory would be freed with the runtime. [`ErrorKind::WouldDeadlock`]: called from inside a
    /// callback.
    pub fn shutdown(&self, timeout: Duration) -> Result<()> {
        self.inner.closing.fetch_add(1, Ordering::SeqCst);
        let alive = self.inner.pinned.load(Ordering::SeqCst);
        let ended = if alive == 0 {
            self.inner.give_waking_up();
            call!(runtime_shutdown(self.inner.raw, nanoseconds(timeout)))
        } else {
            let message = format!("{alive} pinned vectors are alive, or on their way through a stream");
            Err(Error::new(ErrorKind::InvalidState, "gpo_runtime_shutdown", message))
        };
        if ended.is_ok() {
            let kept = std::mem::take(&mut *self.inner.kept.values.lock().unwrap_or_else(PoisonError::into_inner));
            drop(kept);
        }
        // If the shutdown hasn't begun, the runtime goes on.
        if ended.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::InvalidState | ErrorKind::WouldDeadlock))
        {
            self.inner.closing.fetch_sub(1, Ordering::SeqCst);
        }
        ended
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_runtime_t {
        self.inner.raw
    }
}

impl Inner {
    /// The executor whose callbacks wake futures.
    pub(crate) fn waking(&self) -> Result<Waking> {
        let mut waking = self.lock_waking();
        if let Some(executor) = &*waking {
            return Ok(Arc::clone(executor));
        }
        let mut options = sys::gpo_executor_options::new();
        options.label = c"futures".as_ptr();
        options.capacity = 1 << 24;
        let mut raw = std::ptr::null_mut();
        call!(executor_create(self.raw, &options, &mut raw))?;
        Ok(Arc::clone(waking.insert(Arc::new(Owned { raw, parent: () }))))
    }

    /// Call before a shutdown, which reports executors that were not destroyed. The next future makes another.
    fn give_waking_up(&self) {
        let waking = self.lock_waking().take();
        drop(waking);
    }

    fn lock_waking(&self) -> MutexGuard<'_, Option<Waking>> {
        self.waking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Call before a piece of host memory is handed out, and [`unpin`](Self::unpin) when the piece can't be reached any
    /// more.
    pub(crate) fn pin(&self, function: &str) -> Result<()> {
        self.pinned.fetch_add(1, Ordering::SeqCst);
        if self.closing.load(Ordering::SeqCst) != 0 {
            self.unpin();
            return Err(Error::new(ErrorKind::ShutDown, function, "the runtime is shut down, or about to be"));
        }
        Ok(())
    }

    pub(crate) fn unpin(&self) {
        self.pinned.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a shutdown is about to begin, or has begun.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst) != 0
    }

    /// Keeps a value until all work has ended.
    pub(crate) fn keep(&self, value: Box<dyn Any + Send>) {
        self.kept.values.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.give_waking_up();
        // Work that the shutdown can't end may still use these values.
        let kept = ManuallyDrop::new(std::mem::take(&mut self.kept));
        let runtime = Waited { raw: self.raw, kept };
        // The last handle was dropped in a callback of this runtime, which has to return first.
        if let Err((runtime, sys::GPO_WOULD_DEADLOCK)) = runtime.shut_down() {
            let thread = std::thread::Builder::new().name("gpuorch-shutdown".to_owned());
            let _ = thread.spawn(move || runtime.shut_down().is_ok());
        }
    }
}

/// A runtime without handles, before its shutdown.
struct Waited {
    raw: sys::gpo_runtime_t,
    kept: ManuallyDrop<Kept>,
}

// SAFETY: a handle, and values that are Send.
unsafe impl Send for Waited {}

impl Waited {
    fn shut_down(self) -> std::result::Result<(), (Self, i32)> {
        match status!(runtime_shutdown(self.raw, FOR_EVER)) {
            // InvalidHandle: the runtime was shut down before.
            Ok(sys::GPO_SUCCESS | sys::GPO_INVALID_HANDLE) => {
                drop(ManuallyDrop::into_inner(self.kept));
                Ok(())
            }
            Ok(failure) => Err((self, failure)),
            Err(_) => Err((self, sys::GPO_INTERNAL)),
        }
    }
}
