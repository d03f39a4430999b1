//! Compilations as futures.

use crate::callback::contained;
use crate::error::{Error, ErrorKind, Result};
use crate::module::{Module, Request, compile_log};
use crate::signal::Signal;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A module that is being compiled on a thread of its own: see [`Compile::compile_async`](crate::Compile::compile_async).
#[must_use = "the module comes when this is awaited"]
pub struct Compiling {
    signal: Arc<Signal<Compiled>>,
    log: String,
}

/// The result that the thread leaves.
struct Compiled {
    module: Result<Module>,
    log: String,
}

impl Compiling {
    pub(crate) fn begin(request: Result<Request>) -> Self {
        let signal = Arc::new(Signal::new());
        let compiling = Self { signal: Arc::clone(&signal), log: String::new() };
        let started = request.and_then(|request| {
            let compile = move || {
                let module = request.run();
                let log = compile_log().unwrap_or_default();
                drop(request); // the woken task finds nothing held here
                // A waker runs foreign code and may panic, and so may the values dropped here.
                let _ = contained(move || signal.set(Compiled { module, log }));
            };
            std::thread::Builder::new().name("gpuorch-compile".to_owned()).spawn(compile).map_err(|error| {
                let message = format!("there is no thread to compile on: {error}");
                Error::new(ErrorKind::LimitExceeded, "gpo_module_compile", message)
            })
        });
        if let Err(error) = started {
            compiling.signal.set(Compiled { module: Err(error), log: String::new() });
        }
        compiling
    }

    /// The compiler's whole text, with warnings, once the compilation has ended. "" before that, and if the compiler
    /// had nothing to say. To read it, await the compilation by reference:
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// # pollster::block_on(async {
    /// let mut compiling = device.compile_async("this is no kernel");
    /// assert!((&mut compiling).await.is_err());
    /// println!("{}", compiling.log());
    /// # assert!(!compiling.log().is_empty());
    /// # });
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn log(&self) -> &str {
        &self.log
    }
}

impl Future for Compiling {
    type Output = Result<Module>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Compiled { module, log } = ready!(self.signal.poll(context));
        self.log = log;
        Poll::Ready(module)
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        self.signal.forget_waker();
    }
}

impl fmt::Debug for Compiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiling").finish_non_exhaustive()
    }
}
