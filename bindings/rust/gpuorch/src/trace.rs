//! Traces: what the host and the GPUs did, and when.

use crate::call::{call, status, text};
use crate::error::{Error, ErrorKind, Result};
use crate::figures::TraceInfo;
use crate::handle::{optional_c_string, pointer};
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
    title: Option<String>,
    flags: u32,
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

    /// The heading of the picture; by default the program's name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Leaves out GPU times: the trace shows only the submission of GPU work, and costs the GPU nothing.
    pub fn without_gpu_times(mut self) -> Self {
        self.flags |= sys::GPO_TRACE_NO_GPU_TIMES;
        self
    }

    /// Starts a trace of all devices of the runtime.
    pub fn start(self) -> Result<()> {
        const FUNCTION: &str = "gpo_trace_start";
        let path = optional_path(self.path.as_deref(), FUNCTION)?;
        let picture = optional_path(self.picture.as_deref(), FUNCTION)?;
        let title = optional_c_string(self.title.as_deref(), FUNCTION)?;
        let mut options = sys::gpo_trace_options::new();
        options.flags = self.flags;
        options.path = pointer(&path);
        options.picture = pointer(&picture);
        options.title = pointer(&title);
        call!(trace_start(self.runtime.as_raw(), &options))
    }
}

impl Runtime {
    /// Options for a trace of everything that this runtime does.
    pub fn trace(&self) -> Trace<'_> {
        Trace { runtime: self, path: None, picture: None, title: None, flags: 0 }
    }

    /// Stops the trace and writes what was recorded. Doesn't wait for the GPU.
    pub fn stop_trace(&self) -> Result<()> {
        call!(trace_stop(self.as_raw()))
    }

    /// The extent of the running trace, or of the last trace.
    pub fn trace_info(&self) -> Result<TraceInfo> {
        let mut info = TraceInfo::empty();
        call!(trace_get_info(self.as_raw(), &mut info.0))?;
        Ok(info)
    }

    /// A few lines about the trace: how busy each engine was, how much of the copying was hidden, the longest gaps.
    pub fn trace_summary(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(trace_get_summary(self.as_raw(), buffer, room, needed)),
            "gpo_trace_get_summary",
        )
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
