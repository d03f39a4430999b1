//! Rust code that the library calls: closures behind its (function, user) pairs. No panic leaves them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs what is the caller's. A panic ends here, as its text.
///
/// What the closure had taken hold of is dropped on the way out, so nobody sees it half done.
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
