//! Traces: what the host and the GPUs did, and when.

use crate::builder::Options;
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::pointer;
use crate::runtime::Runtime;
use gpuorch_sys as sys;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
    path: Option<PathBuf>,
    picture: Option<PathBuf>,
    pub(crate) options: Options<sys::gpo_trace_options>,
}

impl Trace<'_> {
    /// The trace's file, for Perfetto; gzipped if the name ends in `.gz`.
    pub fn path(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The picture's file, an SVG, written when the trace ends.
    pub fn picture(mut self, path: impl Into<PathBuf>) -> Self {
        self.picture = Some(path.into());
        self
    }

    /// Starts a trace of all devices of the runtime.
    pub fn start(mut self) -> Result<()> {
        const FUNCTION: &str = "gpo_trace_start";
        let path = optional_path(self.path.as_deref(), FUNCTION)?;
        let picture = optional_path(self.picture.as_deref(), FUNCTION)?;
        self.options.path = pointer(&path);
        self.options.picture = pointer(&picture);
        call!(trace_start(self.runtime.as_raw(), self.options.checked(FUNCTION)?))
    }
}

impl Runtime {
    /// Options for a trace of everything that this runtime does.
    pub fn trace(&self) -> Trace<'_> {
        Trace { runtime: self, path: None, picture: None, options: Options::of(sys::gpo_trace_options::new()) }
    }
}

/// A path as a C string.
pub(crate) fn c_path(path: &Path, function: &'static str) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, function, format!("{path:?} holds a NUL")))
}

fn optional_path(path: Option<&Path>, function: &'static str) -> Result<Option<CString>> {
    path.map(|path| c_path(path, function)).transpose()
}
