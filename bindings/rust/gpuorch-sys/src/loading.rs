//! Finds the table of functions, or says why there is none.

#[cfg(all(feature = "load", not(feature = "vendored")))]
use crate::bindings::GPO_SONAME;
use crate::bindings::{GPO_VERSION, GPO_VERSION_MAJOR, GPO_VERSION_MINOR, GPO_VERSION_PATCH, gpo_api};
use std::fmt;
use std::mem::{offset_of, size_of};
use std::sync::OnceLock;

/// Why there is no table: nothing of the library can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// No library could be opened.
    NotFound {
        /// The name or path that was tried.
        file: String,
        /// The dynamic loader's reason.
        reason: String,
    },
    /// The opened library has no `gpo_get_api`: it isn't libgpuorch.
    NotGpuorch {
        /// The name or path that was opened.
        file: String,
    },
    /// The library is too old or too new for these bindings.
    WrongVersion,
    /// The library's table is shorter than its own header.
    Broken,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { file, reason } => {
                write!(
                    f,
                    "libgpuorch can't be opened as {file}: {reason} (GPUORCH_LIBRARY can name the library's file)"
                )
            }
            Self::NotGpuorch { file } => write!(f, "{file} is not libgpuorch: it has no gpo_get_api"),
            Self::WrongVersion => write!(
                f,
                "the libgpuorch that was found doesn't serve version \
                 {GPO_VERSION_MAJOR}.{GPO_VERSION_MINOR}.{GPO_VERSION_PATCH} of its interface: it is older, or too new"
            ),
            Self::Broken => write!(f, "the libgpuorch that was found gives a table without its own size"),
        }
    }
}

impl std::error::Error for LoadError {}

/// The library's functions. A member is `None` if the library is older than these bindings and lacks the function.
///
/// The first call loads the library, unless it is linked; the result never changes. Any thread may call this.
#[inline]
pub fn api() -> Result<&'static gpo_api, &'static LoadError> {
    static API: OnceLock<Result<gpo_api, LoadError>> = OnceLock::new();
    API.get_or_init(load).as_ref()
}

type GetApi = unsafe extern "C" fn(version: u32) -> *const gpo_api;

fn load() -> Result<gpo_api, LoadError> {
    let get = find()?;
    // SAFETY: `get` is gpo_get_api, which takes any version.
    let table = unsafe { get(GPO_VERSION) };
    if table.is_null() {
        return Err(LoadError::WrongVersion);
    }
    // SAFETY: every table begins with its size, and is static.
    let bytes = unsafe { (&raw const (*table).struct_size).read() } as usize;
    if bytes < offset_of!(gpo_api, status_name) {
        return Err(LoadError::Broken);
    }
    Ok(copy_of(table, bytes))
}

/// Copies the members that both sides know; members that the library lacks are `None`.
fn copy_of(table: *const gpo_api, bytes: usize) -> gpo_api {
    // SAFETY: zero is a valid value of the two numbers, and `None` of the functions.
    let mut known: gpo_api = unsafe { std::mem::zeroed() };
    let whole_members = bytes.min(size_of::<gpo_api>()) / size_of::<usize>() * size_of::<usize>();
    // SAFETY: the library's table has `bytes` bytes, ours size_of::<gpo_api>(); no more than either is copied.
    unsafe { std::ptr::copy_nonoverlapping(table.cast::<u8>(), (&raw mut known).cast::<u8>(), whole_members) };
    known
}

#[cfg(any(not(feature = "load"), feature = "vendored"))]
fn linked() -> GetApi {
    unsafe extern "C" {
        fn gpo_get_api(version: u32) -> *const gpo_api;
    }
    gpo_get_api
}

#[cfg(not(feature = "load"))]
fn find() -> Result<GetApi, LoadError> {
    Ok(linked())
}

#[cfg(feature = "load")]
fn find() -> Result<GetApi, LoadError> {
    // SAFETY: getauxval only reads what the kernel gave the program.
    let set_uid = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    match std::env::var_os("GPUORCH_LIBRARY").filter(|file| !file.is_empty() && !set_uid) {
        Some(file) => open(file.as_encoded_bytes()),
        #[cfg(feature = "vendored")]
        None => Ok(linked()),
        #[cfg(not(feature = "vendored"))]
        None => open(&GPO_SONAME[..GPO_SONAME.len() - 1]), // without its NUL
    }
}

#[cfg(feature = "load")]
fn open(file: &[u8]) -> Result<GetApi, LoadError> {
    use std::ffi::{CStr, CString};
    let name = String::from_utf8_lossy(file).into_owned();
    let not_found = |reason: String| LoadError::NotFound { file: name.clone(), reason };
    let path = CString::new(file).map_err(|_| not_found("the name holds a NUL".into()))?;
    // SAFETY: opening runs the library's initialisers; libgpuorch's do nothing, and a user who names another file is
    // responsible. The library is never closed.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: dlerror's text is this thread's, and NUL-terminated.
        let reason = unsafe { libc::dlerror().as_ref() }.map(|text| unsafe { CStr::from_ptr(text) });
        return Err(not_found(reason.map_or_else(String::new, |text| text.to_string_lossy().into_owned())));
    }
    // SAFETY: the handle is open and the name NUL-terminated.
    let symbol = unsafe { libc::dlsym(library, c"gpo_get_api".as_ptr()) };
    if symbol.is_null() {
        return Err(LoadError::NotGpuorch { file: name });
    }
    // SAFETY: libgpuorch's gpo_get_api has this type in all its versions.
    Ok(unsafe { std::mem::transmute::<*mut libc::c_void, GetApi>(symbol) })
}
