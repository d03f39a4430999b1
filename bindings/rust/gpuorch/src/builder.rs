//! Builders: structs of options with their texts. Setters of plain options are in `generated`.

use crate::error::{Error, ErrorKind, Result};
use std::ffi::{CString, c_char};
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A struct of options of the library, and the texts that it points to.
pub(crate) struct Options<R> {
    raw: R,
    texts: Vec<CString>,
    /// The texts that no C string can hold, each with its field.
    refused: Vec<(&'static str, String)>,
}

// SAFETY: the struct has numbers and pointers. The pointers lead to its own texts, or are read only by the call that makes
// the object, which any thread may make.
unsafe impl<R> Send for Options<R> {}
// SAFETY: likewise.
unsafe impl<R> Sync for Options<R> {}

impl<R> Options<R> {
    pub(crate) fn of(raw: R) -> Self {
        Self { raw, texts: Vec::new(), refused: Vec::new() }
    }

    /// The path of a field as a C string, which stays as long as the options.
    pub(crate) fn path(&mut self, field: &'static str, path: PathBuf) -> *const c_char {
        self.kept(field, path.into_os_string().into_vec())
    }

    /// The text of a field as a C string, which stays as long as the options.
    pub(crate) fn text(&mut self, field: &'static str, text: String) -> *const c_char {
        self.kept(field, text.into_bytes())
    }

    fn kept(&mut self, field: &'static str, text: Vec<u8>) -> *const c_char {
        self.refused.retain(|(of, _)| *of != field);
        match CString::new(text) {
            Ok(text) => {
                let pointer = text.as_ptr();
                self.texts.push(text);
                pointer
            }
            Err(error) => {
                let text = String::from_utf8_lossy(&error.into_vec()).into_owned();
                self.refused.push((field, text));
                std::ptr::null()
            }
        }
    }

    /// The struct for a call of `function`, if all texts are C strings.
    pub(crate) fn checked(&self, function: &str) -> Result<&R> {
        match self.refused.first() {
            None => Ok(&self.raw),
            Some((_, text)) => Err(Error::new(ErrorKind::InvalidArgument, function, format!("{text:?} holds a NUL"))),
        }
    }
}

impl<R> Deref for Options<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.raw
    }
}

impl<R> DerefMut for Options<R> {
    fn deref_mut(&mut self) -> &mut R {
        &mut self.raw
    }
}

/// Defines a builder that borrows the parent, and calls the create function with the options.
///
/// ```text
/// builder! {
///     /// What a thing is made with.
///     ThingBuilder of Thing: thing_create(Parent, gpo_thing_options), member_by_default...;
/// }
/// ```
macro_rules! builder {
    (
        $(#[$doc:meta])*
        $builder:ident of $made:ident: $create:ident($parent:ident, $options:ident) $(, $member:ident)*;
    ) => {
        $(#[$doc])*
        #[must_use = "a builder makes nothing until `build`"]
        pub struct $builder<'a> {
            parent: &'a $parent,
            pub(crate) options: $crate::builder::Options<gpuorch_sys::$options>,
        }

        impl<'a> $builder<'a> {
            pub(crate) fn new(parent: &'a $parent) -> Self {
                Self { parent, options: $crate::builder::Options::of(gpuorch_sys::$options::new()) }
            }

            /// Makes it.
            pub fn build(self) -> $crate::error::Result<$made> {
                let options = self.options.checked(concat!("gpo_", stringify!($create)))?;
                let mut raw = std::ptr::null_mut();
                $crate::call::call!($create(self.parent.as_raw(), options, &mut raw))?;
                let owned = $crate::handle::Owned { raw: raw.into(), parent: self.parent.clone() };
                Ok($made { inner: std::sync::Arc::new(owned), $($member: Default::default()),* })
            }
        }
    };
}

/// Defines an enum of constants of the library.
///
/// ```text
/// constants! {
///     /// The subject of the constants.
///     Name: u32 {
///         /// What the constant means.
///         Variant = GPO_CONSTANT, ...
///     }
/// }
/// ```
macro_rules! constants {
    ($(#[$doc:meta])* $name:ident: $number:ty { $($(#[$variant_doc:meta])* $variant:ident = $constant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        /// The constant of the C interface.
        impl From<$name> for $number {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant => sys::$constant,)*
                }
            }
        }

        /// The enum for a constant of the C interface; `Err` for constants that only a newer library has.
        impl TryFrom<$number> for $name {
            type Error = $number;

            fn try_from(number: $number) -> std::result::Result<Self, $number> {
                match number {
                    $(sys::$constant => Ok(Self::$variant),)*
                    other => Err(other),
                }
            }
        }
    };
}

pub(crate) use {builder, constants};
