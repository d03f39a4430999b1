//! Constructors for all structs that begin with their size.

use crate::bindings::*;

macro_rules! structs {
    ($($name:ident),* $(,)?) => {
        $(
            impl $name {
                /// Zeroed except for the size: the defaults.
                pub const fn new() -> Self {
                    // SAFETY: its members are integers, pointers and optional functions: zero is a value of each.
                    let mut made: Self = unsafe { std::mem::zeroed() };
                    made.struct_size = size_of::<Self>() as u32;
                    made
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::new()
                }
            }
        )*
    };
}

include!("sized.rs");
