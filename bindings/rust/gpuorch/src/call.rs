//! How the library's functions are called: through its table, with a status that becomes an [`Error`](crate::Error).

use crate::error::Error;
use gpuorch_sys as sys;

/// The loaded library's functions.
pub(crate) fn table() -> Result<&'static sys::gpo_api, Error> {
    sys::api().map_err(Error::not_loaded)
}

/// `status!(stream_query(stream))`: calls a function of the table and returns its status unchanged; `Err` only if the
/// function is missing.
///
/// Why these calls are safe: handles are numbers that the library checks, structs carry their sizes, and memory behind
/// a pointer lives as long as the function's comment asks for. If it has to outlive the call, or the call affects
/// memory or code of the caller, a comment at the call says why this holds.
macro_rules! status {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::call::table().and_then(|api| match api.$function {
            // SAFETY: as above.
            #[allow(clippy::macro_metavars_in_unsafe)]
            Some(function) => Ok(unsafe { function($($argument),*) }),
            None => Err($crate::error::Error::lacking(concat!("gpo_", stringify!($function)))),
        })
    };
}

/// Like `status!`, with every status but success as an error.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::call::status!($function($($argument),*))
            .and_then(|status| $crate::error::check(status, concat!("gpo_", stringify!($function))))
    };
}

pub(crate) use {call, status};

/// Calls a function that fills (buffer, capacity, needed) until the text fits: the text may grow between two calls.
pub(crate) fn text(
    ask: impl Fn(*mut std::ffi::c_char, usize, *mut usize) -> Result<i32, Error>,
    function: &'static str,
) -> Result<String, Error> {
    let bytes = bytes(|buffer, capacity, needed| ask(buffer.cast(), capacity, needed), function)?;
    let text = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Like [`text`], for bytes.
pub(crate) fn bytes(
    ask: impl Fn(*mut u8, usize, *mut usize) -> Result<i32, Error>,
    function: &'static str,
) -> Result<Vec<u8>, Error> {
    let mut buffer = Vec::new();
    loop {
        let mut needed = 0;
        let status =
            ask(if buffer.is_empty() { std::ptr::null_mut() } else { buffer.as_mut_ptr() }, buffer.len(), &mut needed)?;
        match status {
            // A call without a buffer succeeds, too.
            sys::GPO_SUCCESS if needed <= buffer.len() => {
                buffer.truncate(needed);
                return Ok(buffer);
            }
            sys::GPO_SUCCESS | sys::GPO_BUFFER_TOO_SMALL => buffer.resize(needed, 0),
            failure => return Err(crate::error::failure(failure, function)),
        }
    }
}

/// All elements that a function of the library writes: grows the array until they fit.
pub(crate) fn rows<R: Copy>(
    empty: R,
    read: impl Fn(*mut R, u64, u64, &mut u64) -> Result<(), Error>,
) -> Result<Vec<R>, Error> {
    let mut rows = vec![empty; 256];
    loop {
        let mut count = 0;
        read(rows.as_mut_ptr(), std::mem::size_of::<R>() as u64, rows.len() as u64, &mut count)?;
        if (count as usize) < rows.len() {
            rows.truncate(count as usize);
            return Ok(rows);
        }
        rows.resize(2 * rows.len(), empty);
    }
}
