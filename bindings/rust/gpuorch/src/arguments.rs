//! The parameters of kernels as types, and the values that launches pass for them.

use crate::error::Result;
use crate::memory::{DeviceBuffer, DeviceSlice, MemoryUser};
use bytemuck::Pod;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::size_of;

/// The type of one or two parameters of a kernel: `T` for a value, [`DeviceBuffer<T>`] for an address, [`Slice<T>`] for
/// two parameters, an address and a count. A [`Range`](crate::queue::Range), a [`Ring`](crate::queue::Ring) and a
/// [`HostRing`](crate::queue::HostRing) stand for a `gpo::range`, a `gpo::ring` and a `gpo::host_ring`, and
/// [`Symmetric`](crate::peers::Symmetric) memory for a `gpo::symmetric`.
///
/// # Safety
///
/// `SIZES` has the sizes of the parts of `Value`, in order. `point_to` writes as many pointers, one to each part.
pub unsafe trait Parameter {
    /// The value that is passed to the kernel.
    type Value: Copy;
    /// How many parameters of the kernel this type stands for.
    const COUNT: usize;
    /// Their sizes.
    const SIZES: [u32; 2];

    #[doc(hidden)]
    fn point_to(value: &Self::Value, pointers: &mut [*const c_void]);
}

/// Two parameters of a kernel: an address, `T *`, followed by the number of elements there, an `unsigned long long`.
#[derive(Debug)]
pub struct Slice<T>(PhantomData<T>);

/// The two parameters that a [`Slice`] is.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    address: u64,
    count: u64,
}

// SAFETY: one parameter, the value itself.
unsafe impl<T: Pod> Parameter for T {
    type Value = T;
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [size_of::<T>() as u32, 0];

    fn point_to(value: &T, pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: one parameter, an address.
unsafe impl<T: Pod> Parameter for DeviceBuffer<T> {
    type Value = u64;
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [8, 0];

    fn point_to(value: &u64, pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: two parameters, an address and a count.
unsafe impl<T: Pod> Parameter for Slice<T> {
    type Value = Counted;
    const COUNT: usize = 2;
    const SIZES: [u32; 2] = [8, 8];

    fn point_to(value: &Counted, pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const value.address).cast();
        pointers[1] = (&raw const value.count).cast();
    }
}

/// An argument that a launch may pass for a parameter `P`: a value for a value; `&DeviceBuffer<T>` or a
/// [`DeviceSlice<T>`] for a `DeviceBuffer<T>` or a [`Slice<T>`]; a reference to a queue for a queue;
/// [`Symmetric::on`](crate::peers::Symmetric::on) for symmetric memory.
///
/// # Safety
///
/// An address that `value` returns is the address of elements of an existing buffer, as many as `value` says, and the
/// buffer has been informed if a stream uses it. Safe code can't make up such an argument:
///
/// ```compile_fail,E0200
/// struct Anywhere;
/// impl gpuorch::Argument<gpuorch::DeviceBuffer<f32>> for Anywhere {
///     fn value(self, _: gpuorch::MemoryUser<'_>) -> gpuorch::Result<u64> {
///         Ok(0xbad)
///     }
/// }
/// ```
pub unsafe trait Argument<P: Parameter> {
    #[doc(hidden)]
    fn value(self, user: MemoryUser<'_>) -> Result<P::Value>;
}

// SAFETY: the value is no address of a buffer.
unsafe impl<T: Pod> Argument<T> for T {
    fn value(self, _: MemoryUser<'_>) -> Result<T> {
        Ok(self)
    }
}

#[inline]
fn given<T: Pod>(slice: &DeviceSlice<'_, T>, user: MemoryUser<'_>) -> Result<()> {
    match user {
        MemoryUser::Stream(stream) => slice.given_to(stream, "gpo_stream_launch_kernel"),
        MemoryUser::Node(device) => slice.given_to_node(device, "gpo_template_add_kernel"),
    }
}

// SAFETY: the address of a borrowed buffer, which is informed of the stream.
unsafe impl<T: Pod> Argument<DeviceBuffer<T>> for DeviceSlice<'_, T> {
    fn value(self, user: MemoryUser<'_>) -> Result<u64> {
        given(&self, user)?;
        Ok(self.address())
    }
}

// SAFETY: likewise.
unsafe impl<T: Pod> Argument<DeviceBuffer<T>> for &DeviceBuffer<T> {
    fn value(self, user: MemoryUser<'_>) -> Result<u64> {
        Argument::<DeviceBuffer<T>>::value(self.all(), user)
    }
}

// SAFETY: as above, with the length.
unsafe impl<T: Pod> Argument<Slice<T>> for DeviceSlice<'_, T> {
    fn value(self, user: MemoryUser<'_>) -> Result<Counted> {
        given(&self, user)?;
        Ok(Counted { address: self.address(), count: self.len() as u64 })
    }
}

// SAFETY: likewise.
unsafe impl<T: Pod> Argument<Slice<T>> for &DeviceBuffer<T> {
    fn value(self, user: MemoryUser<'_>) -> Result<Counted> {
        Argument::<Slice<T>>::value(self.all(), user)
    }
}

/// A kernel's parameters: a tuple of up to twelve [`Parameter`]s.
pub trait Parameters {
    /// The sizes of the kernel's parameters, in order.
    const SIZES: &'static [u32];
}

/// The arguments that a launch may pass for the parameters `P`: a tuple of [`Argument`]s.
///
/// # Safety
///
/// `pass` passes as many pointers as `P` has sizes, each to a value of that size which [`Argument`] allows.
pub unsafe trait Arguments<P: Parameters> {
    #[doc(hidden)]
    fn pass(self, user: MemoryUser<'_>, launch: impl FnOnce(&[*const c_void]) -> Result<()>) -> Result<()>;
}

/// The sizes of the parts of a tuple's members, one behind the other.
const fn flattened<const ROOM: usize>(members: &[(usize, [u32; 2])]) -> [u32; ROOM] {
    let (mut sizes, mut count, mut member) = ([0; ROOM], 0, 0);
    while member < members.len() {
        let (parts, of_parts) = members[member];
        let mut part = 0;
        while part < parts {
            sizes[count] = of_parts[part];
            (count, part) = (count + 1, part + 1);
        }
        member += 1;
    }
    sizes
}

macro_rules! tuples {
    ($(($($parameter:ident $argument:ident $value:ident),*) $room:literal)*) => {$(
        impl<$($parameter: Parameter),*> Parameters for ($($parameter,)*) {
            const SIZES: &'static [u32] = {
                let room: &'static [u32] = &flattened::<$room>(&[$(($parameter::COUNT, $parameter::SIZES)),*]);
                room.split_at(0 $(+ $parameter::COUNT)*).0
            };
        }

        // SAFETY: the members' values, in order.
        unsafe impl<$($parameter: Parameter, $argument: Argument<$parameter>),*> Arguments<($($parameter,)*)> for ($($argument,)*) {
            #[inline]
            fn pass(self, user: MemoryUser<'_>, launch: impl FnOnce(&[*const c_void]) -> Result<()>) -> Result<()> {
                let ($($value,)*) = self;
                $(let $value = $value.value(user)?;)*
                // Room for two parameters of the kernel for each member of the tuple.
                let mut pointers = [std::ptr::null(); $room];
                let mut count = 0;
                $(
                    $parameter::point_to(&$value, &mut pointers[count..]);
                    count += $parameter::COUNT;
                )*
                launch(&pointers[..count])
            }
        }
    )*};
}

impl Parameters for () {
    const SIZES: &'static [u32] = &[];
}

// SAFETY: no parameters.
unsafe impl Arguments<()> for () {
    fn pass(self, _: MemoryUser<'_>, launch: impl FnOnce(&[*const c_void]) -> Result<()>) -> Result<()> {
        launch(&[])
    }
}

tuples! {
    (P0 A0 v0) 2
    (P0 A0 v0, P1 A1 v1) 4
    (P0 A0 v0, P1 A1 v1, P2 A2 v2) 6
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3) 8
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4) 10
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5) 12
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6) 14
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7) 16
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8) 18
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9) 20
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9, P10 A10 v10) 22
    (P0 A0 v0, P1 A1 v1, P2 A2 v2, P3 A3 v3, P4 A4 v4, P5 A5 v5, P6 A6 v6, P7 A7 v7, P8 A8 v8, P9 A9 v9, P10 A10 v10,
     P11 A11 v11) 24
}
