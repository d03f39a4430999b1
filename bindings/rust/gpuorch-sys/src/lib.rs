//! Raw bindings to libgpuorch: its types and constants as bindgen makes them from the C headers, and its table of
//! functions. The headers are the manual; programs use the crate `gpuorch`.
//!
//! ```
//! let api = gpuorch_sys::api()?;
//! let version = api.version.expect("every library has it");
//! // SAFETY: takes nothing, and may be called at any time.
//! assert_eq!(unsafe { version() } / 100, gpuorch_sys::GPO_VERSION / 100);
//! # Ok::<(), &gpuorch_sys::LoadError>(())
//! ```
//!
//! # Features
//!
//! Without any, the library is linked: from the folder `GPUORCH_LIB_DIR`, else where pkg-config finds it.
//! `dynamic-loading` links nothing and opens the library at run time; `vendored` builds the library from the sources in
//! this package.

mod loading;
mod structs;

#[allow(missing_docs, non_camel_case_types, clippy::undocumented_unsafe_blocks)]
mod bindings {
    include!("bindings.rs");
}

// The layouts of the structs are checked for such targets.
const _: () = assert!(size_of::<*const ()>() == 8, "libgpuorch is made for targets with pointers of 64 bits");

pub use bindings::*;
pub use loading::{LoadError, api};
