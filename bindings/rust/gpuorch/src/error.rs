//! Failures, and their details.

pub use crate::generated::ErrorKind;
use gpuorch_sys as sys;
use std::ffi::{CStr, c_char};
use std::fmt;

/// The result of `gpuorch` functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: kind, function, object, and a sentence.
///
/// ```
/// let error = gpuorch::Runtime::builder().device("toaster").build().unwrap_err();
/// assert_eq!(error.kind(), gpuorch::ErrorKind::InvalidArgument);
/// assert_eq!(error.function(), "gpo_runtime_create");
/// assert!(error.message().contains("toaster"));
/// ```
#[derive(Clone)]
pub struct Error {
    details: Box<Details>,
}

#[derive(Clone)]
struct Details {
    kind: ErrorKind,
    native: Option<NativeCode>,
    operation: u64,
    function: String,
    object: String,
    message: String,
}

/// A number of the driver, the system or the compiler that came with a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NativeCode {
    /// A `CUresult`.
    Cuda(i32),
    /// An `errno`.
    Errno(i32),
    /// An `nvrtcResult`.
    Nvrtc(i32),
    /// An `ncclResult_t`.
    Nccl(i32),
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $status:ident),* $(,)?) => {
        /// What went wrong. The C header `status.h` says what the caller has to do about each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $name,)*
            /// There is no library, or not the right one: see [`gpuorch_sys::LoadError`].
            NoLibrary,
            /// A status that a newer library has.
            Unknown(i32),
        }

        impl ErrorKind {
            pub(crate) fn of(status: i32) -> Self {
                match status {
                    $(sys::$status => Self::$name,)*
                    other => Self::Unknown(other),
                }
            }

            /// The status of the C interface for this kind; `None` for [`NoLibrary`](Self::NoLibrary).
            pub fn status(self) -> Option<i32> {
                match self {
                    $(Self::$name => Some(sys::$status),)*
                    Self::NoLibrary => None,
                    Self::Unknown(status) => Some(status),
                }
            }
        }
    };
}

pub(crate) use kinds;

impl ErrorKind {
    /// Whether the work has ended, and no longer uses its memory, if a wait for it fails with `self`.
    pub(crate) fn ends_work(self) -> bool {
        use ErrorKind::*;
        matches!(self, Cancelled | Failed | CallbackFailed | DeviceLost | ShutDown | InvalidHandle)
    }
}

impl Error {
    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.details.kind
    }

    /// The driver's, the system's or the compiler's number for it.
    pub fn native_code(&self) -> Option<NativeCode> {
        self.details.native
    }

    /// The number of the operation on its stream, from 1.
    pub fn operation(&self) -> Option<u64> {
        Some(self.details.operation).filter(|&operation| operation != 0)
    }

    /// The function that was called, or the driver's function that failed. For awaited work it is `gpo_stream_then` or
    /// a similar function. Empty for the failure of a queue's entry.
    pub fn function(&self) -> &str {
        &self.details.function
    }

    /// Type and label of the object that failed: ``stream `upload` ``. Empty if there is none.
    pub fn object(&self) -> &str {
        &self.details.object
    }

    /// One sentence.
    pub fn message(&self) -> &str {
        &self.details.message
    }

    /// A failure found by this crate, not the library.
    pub(crate) fn new(kind: ErrorKind, function: &str, message: impl Into<String>) -> Self {
        Self {
            details: Box::new(Details {
                kind,
                native: None,
                operation: 0,
                function: function.to_owned(),
                object: String::new(),
                message: message.into(),
            }),
        }
    }

    pub(crate) fn not_loaded(error: &sys::LoadError) -> Self {
        Self::new(ErrorKind::NoLibrary, "gpo_get_api", error.to_string())
    }

    pub(crate) fn lacking(function: &str) -> Self {
        let message = format!("the libgpuorch that was found is older than this crate and has no {function}");
        Self::new(ErrorKind::NotSupported, function, message)
    }

    pub(crate) fn from_sys(error: &sys::gpo_error) -> Self {
        let native = match error.native_domain {
            sys::GPO_NATIVE_CUDA => Some(NativeCode::Cuda(error.native_code)),
            sys::GPO_NATIVE_ERRNO => Some(NativeCode::Errno(error.native_code)),
            sys::GPO_NATIVE_NVRTC => Some(NativeCode::Nvrtc(error.native_code)),
            sys::GPO_NATIVE_NCCL => Some(NativeCode::Nccl(error.native_code)),
            _ => None,
        };
        Self {
            details: Box::new(Details {
                kind: ErrorKind::of(error.status),
                native,
                operation: error.operation,
                function: fixed_text(&error.function),
                object: fixed_text(&error.object),
                message: fixed_text(&error.message),
            }),
        }
    }

    /// Adds the function that was called for the failure, if the library names none.
    pub(crate) fn heard_by(mut self, function: &'static str) -> Self {
        if self.details.function.is_empty() {
            function.clone_into(&mut self.details.function);
        }
        self
    }

    /// Adds the text of a callback's failure.
    pub(crate) fn with_note(mut self, note: &str) -> Self {
        self.details.message = format!("{}: {note}", self.details.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.details.function.is_empty() {
            write!(f, "{}: ", self.details.function)?;
        }
        f.write_str(&self.details.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { kind, native, operation, function, object, message } = &*self.details;
        let mut out = f.debug_struct("Error");
        out.field("kind", kind).field("function", function).field("message", message);
        if !object.is_empty() {
            out.field("object", object);
        }
        if let Some(native) = native {
            out.field("native_code", native);
        }
        if *operation != 0 {
            out.field("operation", operation);
        }
        out.finish()
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match (error.native_code(), error.kind()) {
            (Some(NativeCode::Errno(code)), _) => Self::from_raw_os_error(code).kind(),
            (_, ErrorKind::Timeout) => Io::TimedOut,
            (_, ErrorKind::WouldBlock) => Io::WouldBlock,
            (_, ErrorKind::InvalidArgument) => Io::InvalidInput,
            (_, ErrorKind::NotFound) => Io::NotFound,
            (_, ErrorKind::OutOfMemory) => Io::OutOfMemory,
            _ => Io::Other,
        };
        Self::new(kind, error)
    }
}

/// The text in an array that the library has filled and terminated.
pub(crate) fn fixed_text(text: &[c_char]) -> String {
    // SAFETY: a c_char is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(text.as_ptr().cast::<u8>(), text.len()) };
    CStr::from_bytes_until_nul(bytes).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}

pub(crate) fn check(status: i32, function: &'static str) -> Result<()> {
    if status == sys::GPO_SUCCESS { Ok(()) } else { Err(failure(status, function)) }
}

/// The failure that a call has just returned, with the library's details.
#[cold]
pub(crate) fn failure(status: i32, function: &'static str) -> Error {
    let mut last = sys::gpo_error::new();
    let told = crate::call::status!(last_error(&mut last));
    if matches!(told, Ok(sys::GPO_SUCCESS)) && last.status == status {
        return Error::from_sys(&last);
    }
    Error::new(ErrorKind::of(status), function, status_text(status))
}

/// The failure of a completion, with the details in `error` if the library has some. `function` is the function that
/// asked for the completion.
pub(crate) fn completion_failure(status: i32, error: *const sys::gpo_error, function: &'static str) -> Option<Error> {
    // SAFETY: the library's details live during the callback that reads them.
    match (status, unsafe { error.as_ref() }) {
        (sys::GPO_SUCCESS, _) => None,
        (_, Some(details)) => Some(Error::from_sys(details).heard_by(function)),
        (_, None) => Some(Error::new(ErrorKind::of(status), function, status_text(status))),
    }
}

fn status_text(status: i32) -> String {
    match crate::call::status!(status_text(status)) {
        // SAFETY: the text is static and NUL-terminated.
        Ok(text) if !text.is_null() => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        _ => format!("status {status}"),
    }
}
