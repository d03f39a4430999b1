//! Rust code that the library calls: closures behind its (function, user) pairs. No panic leaves them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the caller's closure. A panic is caught here and returned as its text.
///
/// Unwinding drops the closure's values, so no other code sees them half done.
pub(crate) fn contained<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = panic_text(&*payload);
        // The payload is the caller's, too: dropping it may panic.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(another);
        }
        text
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(|| "a callback panicked".to_owned(), |text| format!("a callback panicked: {text}"))
}
