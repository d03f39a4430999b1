//! The types of elements that collectives have.

use bytemuck::{Pod, Zeroable};
use gpuorch_sys as sys;

mod sealed {
    pub trait Sealed {
        const TYPE: u32;
    }
}
pub(super) use sealed::Sealed;

/// The types that collectives exchange and reduce: integers of 8, 32 and 64 bits, floating point of 32 and 64 bits, and
/// the small floating point types [`F16`], [`BF16`], [`F8E4M3`] and [`F8E5M2`]. Integers wrap; an average of integers
/// is truncated.
pub trait Element: Pod + Sealed {}

macro_rules! elements {
    ($($type:ident = $number:ident),* $(,)?) => {$(
        impl Sealed for $type {
            const TYPE: u32 = sys::$number;
        }

        impl Element for $type {}
    )*};
}

elements! {
    i8 = GPO_TYPE_INT8, u8 = GPO_TYPE_UINT8, i32 = GPO_TYPE_INT32, u32 = GPO_TYPE_UINT32, i64 = GPO_TYPE_INT64,
    u64 = GPO_TYPE_UINT64, F16 = GPO_TYPE_FLOAT16, BF16 = GPO_TYPE_BFLOAT16, f32 = GPO_TYPE_FLOAT32,
    f64 = GPO_TYPE_FLOAT64, F8E4M3 = GPO_TYPE_FLOAT8_E4M3, F8E5M2 = GPO_TYPE_FLOAT8_E5M2,
}

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident($bits:ty)),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $bits);

        // SAFETY: an integer.
        unsafe impl Zeroable for $name {}
        // SAFETY: likewise.
        unsafe impl Pod for $name {}
    )*};
}

bits! {
    /// The bits of a floating point number of 16 bits, which CUDA C++ has as `__half`.
    F16(u16),
    /// The bits of a floating point number of 16 bits with the exponent of 32 bits, `__nv_bfloat16`.
    BF16(u16),
    /// The bits of a floating point number of 8 bits, 4 of them the exponent, `__nv_fp8_e4m3`.
    F8E4M3(u8),
    /// The bits of a floating point number of 8 bits, 5 of them the exponent, `__nv_fp8_e5m2`.
    F8E5M2(u8),
}
