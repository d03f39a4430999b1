//! The library's reports about itself and about devices: its C structs, with their texts as `&str`. Which there are is in
//! `generated`.

use crate::generated::DeviceProperties;
use std::ffi::{CStr, c_char};

/// ```text
/// figures! {
///     /// The subject of the figures.
///     Name(gpo_struct) { /// What the text says.
///                        text, ... }
///     { number, ... }
/// }
/// ```
macro_rules! figures {
    (
        $(#[$doc:meta])*
        $name:ident($raw:ident) { $($(#[$text_doc:meta])* $text:ident,)* }
        { $($number:ident),* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name(pub(crate) sys::$raw);

        impl $name {
            pub(crate) fn empty() -> Self {
                Self(sys::$raw::new())
            }

            $(
                $(#[$text_doc])*
                pub fn $text(&self) -> &str {
                    $crate::figures::text(&self.0.$text)
                }
            )*
        }

        impl std::ops::Deref for $name {
            type Target = sys::$raw;

            fn deref(&self) -> &sys::$raw {
                &self.0
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut out = f.debug_struct(stringify!($name));
                $(out.field(stringify!($text), &self.$text());)*
                $(out.field(stringify!($number), &self.0.$number);)*
                out.finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use figures;

impl DeviceProperties {
    /// The compute capability, major and minor: (9, 0) for 9.0.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// let properties = device.properties()?;
    /// let (major, minor) = properties.compute_capability();
    /// println!("{}: {major}.{minor}, {} MiB", properties.name(), properties.memory_bytes() >> 20);
    /// let blocks = 2 * properties.multiprocessors();
    /// # assert!(blocks > 0);
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn compute_capability(&self) -> (u32, u32) {
        (self.0.compute_capability_major as u32, self.0.compute_capability_minor as u32)
    }
}

pub(crate) fn text(bytes: &[c_char]) -> &str {
    // SAFETY: a c_char is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len()) };
    CStr::from_bytes_until_nul(bytes).ok().and_then(|text| text.to_str().ok()).unwrap_or_default()
}
