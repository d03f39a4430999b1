#![doc = include_str!("../README.md")]

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
