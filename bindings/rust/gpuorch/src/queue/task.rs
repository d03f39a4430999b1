//! The types of tasks, and their layout in kernels.

use bytemuck::Pod;
use std::mem::size_of;

/// The type of a [`Ring`](super::Ring)'s tasks: any `Pod` type of 16 to 256 bytes, a multiple of 16. A kernel pushes
/// and pops structs of the same layout.
///
/// [`task!`](crate::task) makes such a type, and the declaration of the same struct for kernels.
///
/// A type of another size doesn't compile:
///
/// ```compile_fail,E0080
/// # let device = gpuorch::Runtime::new()?.open_device()?;
/// let ring = device.ring::<[u32; 5]>().build()?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
pub trait Task: Pod + Send {
    /// Fails to compile if a ring can't hold such a task.
    #[doc(hidden)]
    const FITS: () = {
        assert!(size_of::<Self>() >= 16 && size_of::<Self>() <= 256, "a ring's task has 16 to 256 bytes");
        assert!(size_of::<Self>() % 16 == 0, "the size of a ring's task is a multiple of 16");
    };
}

impl<T: Pod + Send> Task for T {}

/// The type of a kernel's answers to tasks of a [`HostRing`](super::HostRing): any `Pod` type of up to 256 bytes, a
/// multiple of 4. `()` is an answer with a status alone.
///
/// ```compile_fail,E0080
/// # let device = gpuorch::Runtime::new()?.open_device()?;
/// let ring = device.host_ring::<[u32; 4], [u8; 5]>(&device.stream()?).build()?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
pub trait Answer: Pod + Send {
    /// Fails to compile if a host ring can't hold such an answer.
    #[doc(hidden)]
    const FITS: () = {
        assert!(size_of::<Self>() <= 256, "an answer has up to 256 bytes");
        assert!(size_of::<Self>() % 4 == 0, "the size of an answer is a multiple of 4");
    };
}

impl<A: Pod + Send> Answer for A {}

/// The type of a field of a [`task!`](crate::task): a number of 8 to 64 bits, or an array of numbers.
///
/// # Safety
///
/// `declare` declares a variable of the same size, alignment and meaning in CUDA C++.
pub unsafe trait DeviceType: Pod {
    /// `unsigned name`
    #[doc(hidden)]
    fn declare(name: &str) -> String;
}

macro_rules! device_types {
    ($($type:ty = $name:literal),* $(,)?) => {$(
        // SAFETY: these types correspond on every platform of CUDA.
        unsafe impl DeviceType for $type {
            fn declare(name: &str) -> String {
                format!(concat!($name, " {}"), name)
            }
        }
    )*};
}

device_types! {
    u8 = "unsigned char", i8 = "signed char", u16 = "unsigned short", i16 = "short", u32 = "unsigned", i32 = "int",
    u64 = "unsigned long long", i64 = "long long", f32 = "float", f64 = "double",
}

// SAFETY: an array of the elements.
unsafe impl<T: DeviceType, const N: usize> DeviceType for [T; N]
where
    [T; N]: Pod,
{
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

/// Makes a type for the tasks of a [`Ring`](crate::queue::Ring), and the same struct for kernels: `declaration()`
/// returns a declaration in CUDA C++, with assertions that size and field offsets are as in Rust. A kernel whose source
/// includes the declaration has the same layout, or doesn't compile.
///
/// Fields are numbers, and arrays of numbers. The struct is `#[repr(C)]`, `Copy` and `Pod`. The struct must have no
/// padding: put the largest fields first, and fill the rest with an array.
///
/// ```
/// gpuorch::task! {
///     /// A vertex to be visited.
///     pub struct Visit {
///         pub path: u64,
///         pub vertex: u32,
///         pub weights: [u16; 2],
///     }
/// }
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let ring = device.ring::<Visit>().capacity(1 << 10).build()?;
/// let module = device
///     .compile_builder(
///         r#"#include "visit.h"
///            extern "C" __global__ void vertex(Visit visit, unsigned *to) {
///                *to = visit.vertex + visit.weights[1];
///            }"#,
///     )
///     .header("visit.h", Visit::declaration())
///     .compile()?;
/// # // SAFETY: a Visit and the address of one number.
/// # let vertex = unsafe { module.kernel("vertex")?.bind::<(Visit, gpuorch::DeviceBuffer<u32>)>()? };
/// # let (stream, to) = (device.stream()?, device.buffer::<u32>(1)?);
/// # vertex.launch(&stream, &gpuorch::Launch::new(1, 1), (Visit { path: 1, vertex: 40, weights: [1, 2] }, &to))?;
/// # assert_eq!(stream.copy_to_host(&to, vec![0])?.wait()?, [42]);
/// # assert_eq!(ring.info()?.task_size, 16);
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// A struct with padding doesn't compile:
///
/// ```compile_fail,E0080
/// gpuorch::task! {
///     struct Padded { vertex: u32, path: u64 }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! task {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $type,)*
        }

        const _: () = {
            let fields = 0 $(+ ::core::mem::size_of::<$type>())*;
            assert!(fields == ::core::mem::size_of::<$name>(), "a task has no padding");
        };

        // SAFETY: the fields are `Pod` (`declaration` requires it), without padding between them.
        unsafe impl $crate::queue::Zeroable for $name {}
        // SAFETY: likewise.
        unsafe impl $crate::queue::Pod for $name {}

        impl $name {
            /// The declaration of this struct in CUDA C++.
            $visibility fn declaration() -> ::std::string::String {
                $crate::queue::declared(
                    stringify!($name),
                    ::core::mem::size_of::<$name>(),
                    &[$((
                        stringify!($field),
                        <$type as $crate::queue::DeviceType>::declare(stringify!($field)),
                        ::core::mem::offset_of!($name, $field),
                    )),*],
                )
            }
        }
    };
}

/// NVRTC has no offsetof, but what its front end makes offsetof of. The software GPU's compiler has the builtin function.
const OFFSET: &str = "#if defined(__CUDACC_RTC__) && !defined(__GPUORCH_SOFT__)
#define GPUORCH_OFFSET(type, field) __INTADDR__(&static_cast<type *>(0)->field)
#else
#define GPUORCH_OFFSET(type, field) __builtin_offsetof(type, field)
#endif
";

/// The declaration of a struct of `bytes` bytes, with fields (name, declaration, offset).
#[doc(hidden)]
pub fn declared(name: &str, bytes: usize, fields: &[(&str, String, usize)]) -> String {
    let members: String = fields.iter().map(|(_, declaration, _)| format!("    {declaration};\n")).collect();
    let places = fields.iter().map(|(field, _, offset)| format!(" && GPUORCH_OFFSET({name}, {field}) == {offset}"));
    let places: String = places.collect();
    format!(
        "{OFFSET}struct {name} {{\n{members}}};\nstatic_assert(sizeof({name}) == {bytes}{places}, \"{name} is as in Rust\");\n"
    )
}
