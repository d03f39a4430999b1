//! Traces: what the host and the GPUs did, and when.

use crate::builder::Options;
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::Runtime;
use gpuorch_sys as sys;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Options of a trace.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// runtime.trace().start()?; // for the summary alone
/// runtime.open_device()?.stream()?.wait()?;
/// runtime.stop_trace()?;
/// assert!(runtime.trace_info()?.calls > 0);
/// println!("{}", runtime.trace_summary()?);
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[must_use = "nothing is traced until `start`"]
pub struct Trace<'a> {
    runtime: &'a Runtime,
    pub(crate) options: Options<sys::gpo_trace_options>,
}

impl Trace<'_> {
    /// Starts a trace of all devices of the runtime.
    pub fn start(self) -> Result<()> {
        call!(trace_start(self.runtime.as_raw(), self.options.checked("gpo_trace_start")?))
    }
}

impl Runtime {
    /// Options for a trace of everything that this runtime does.
    pub fn trace(&self) -> Trace<'_> {
        Trace { runtime: self, options: Options::of(sys::gpo_trace_options::new()) }
    }
}

/// A path as a C string.
pub(crate) fn c_path(path: &Path, function: &'static str) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, function, format!("{path:?} holds a NUL")))
}
