//! Pinned host memory, which can be copied from and to while other work runs.

use crate::builder::builder;
use crate::call::{call, status};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::Owned;
use crate::host::{HostBuffer, HostSlice};
use crate::template::Template;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::fmt;
use std::mem::{align_of, size_of};
use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::NonNull;
use std::sync::Arc;

/// Hands out pinned memory from large slabs of the driver. Clones are the same arena. Memory from the arena keeps the
/// arena alive.
#[derive(Clone)]
pub struct Arena {
    inner: Arc<Owned<sys::gpo_arena_t, Device>>,
}

builder! {
    /// Options of an arena.
    ArenaBuilder of Arena: arena_create(Device, gpo_arena_options);
}

impl ArenaBuilder<'_> {
    /// The NUMA node of the slabs; by default they are near the device.
    pub fn numa_node(mut self, node: i32) -> Self {
        self.options.flags |= sys::GPO_ARENA_NUMA;
        self.options.numa_node = node;
        self
    }
}

impl Arena {
    /// The device for which the arena was made.
    pub fn device(&self) -> &Device {
        &self.inner.parent
    }

    /// A vector of `len` zeros.
    pub fn zeroed<T: Pod>(&self, len: usize) -> Result<PinnedVec<T>> {
        let mut vec = self.unspecified(len)?;
        vec.fill(T::zeroed());
        Ok(vec)
    }

    /// A vector of `len` elements with arbitrary contents, to be written before it is read.
    pub fn unspecified<T: Pod>(&self, len: usize) -> Result<PinnedVec<T>> {
        const FUNCTION: &str = "gpo_arena_allocate";
        let too_large = || Error::new(ErrorKind::InvalidArgument, FUNCTION, format!("{len} elements are too many"));
        let bytes =
            size_of::<T>().checked_mul(len).filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(too_large)?;
        if bytes == 0 {
            return Ok(PinnedVec { memory: NonNull::dangling(), len, home: None });
        }
        let mut memory = std::ptr::null_mut();
        let alignment = align_of::<T>().max(256) as u64;
        PinnedVec::allocated(len, Home::Arena(self.clone()), FUNCTION, || {
            call!(arena_allocate(self.as_raw(), bytes as u64, alignment, &mut memory))?;
            NonNull::new(memory.cast::<T>()).ok_or_else(too_large)
        })
    }

    /// A vector with the elements of a slice.
    pub fn copy_of<T: Pod>(&self, elements: &[T]) -> Result<PinnedVec<T>> {
        let mut vec = self.unspecified(elements.len())?;
        vec.copy_from_slice(elements);
        Ok(vec)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_arena_t {
        self.inner.raw
    }
}

/// A vector of fixed length in pinned host memory. Kernels of every device of the runtime can read it at its address.
///
/// Dropping the vector frees it at once, but not while a [graph holds it](crate::template#memory). While a stream uses
/// the vector, an [`Operation`](crate::Operation) owns it.
pub struct PinnedVec<T: Pod> {
    memory: NonNull<T>,
    len: usize,
    /// `None` for vectors without bytes.
    home: Option<Home>,
}

/// The owner of the memory.
enum Home {
    Arena(Arena),
    /// The template frees the memory with itself, behind all work on streams.
    Template(Template),
}

impl Home {
    fn device(&self) -> &Device {
        match self {
            Self::Arena(arena) => arena.device(),
            Self::Template(template) => template.device(),
        }
    }
}

// SAFETY: it owns its elements, as a Vec does.
unsafe impl<T: Pod + Send> Send for PinnedVec<T> {}
// SAFETY: likewise.
unsafe impl<T: Pod + Sync> Sync for PinnedVec<T> {}

impl<T: Pod> PinnedVec<T> {
    /// Pins the runtime: the memory, and so the runtime, must last until the vector is dropped.
    fn allocated(
        len: usize,
        home: Home,
        function: &str,
        allocate: impl FnOnce() -> Result<NonNull<T>>,
    ) -> Result<Self> {
        let runtime = Arc::clone(&home.device().runtime().inner);
        runtime.pin(function)?;
        match allocate() {
            Ok(memory) => Ok(Self { memory, len, home: Some(home) }),
            Err(error) => {
                runtime.unpin();
                Err(error)
            }
        }
    }

    /// A vector with arbitrary contents. `allocate` isn't called for vectors without bytes.
    pub(crate) fn of_template(
        len: usize,
        template: &Template,
        allocate: impl FnOnce() -> Result<NonNull<T>>,
    ) -> Result<Self> {
        if len == 0 || size_of::<T>() == 0 {
            return Ok(Self { memory: NonNull::dangling(), len, home: None });
        }
        Self::allocated(len, Home::Template(template.clone()), "gpo_template_allocate_host", allocate)
    }

    /// The arena of the vector; `None` for a vector without bytes, and for one of a template.
    pub fn arena(&self) -> Option<&Arena> {
        match &self.home {
            Some(Home::Arena(arena)) => Some(arena),
            _ => None,
        }
    }

    /// A part of the vector, for copies. The part owns the vector and [gives it back](HostSlice::into_buffer). Panics if
    /// the range isn't within the vector, as for slices.
    pub fn slice(self, range: impl RangeBounds<usize>) -> HostSlice<Self>
    where
        T: Send,
    {
        HostSlice::new(self, range)
    }

    /// Frees the vector when all work that is on `stream` now is done: for vectors whose address was passed to a
    /// kernel.
    pub fn free_after(self, stream: &crate::Stream) -> Result<()> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not used afterwards nor dropped, so its home is moved out once.
        let Some(home) = (unsafe { std::ptr::read(&this.home) }) else { return Ok(()) };
        let freed = match &home {
            Home::Arena(arena) => {
                call!(arena_free_after(arena.as_raw(), this.memory.as_ptr().cast(), stream.as_raw()))
            }
            Home::Template(_) => Ok(()),
        };
        if freed.is_err() {
            crate::after::drop_after(stream, Box::new(Piece { address: this.memory.as_ptr() as usize, home }));
            return freed;
        }
        home.device().runtime().inner.unpin();
        Ok(())
    }
}

/// A piece of an arena, freed when dropped, or of a template.
struct Piece {
    address: usize,
    home: Home,
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Home::Arena(arena) = &self.home {
            // Refused only where the arena's runtime has been shut down.
            let _ = status!(arena_free(arena.as_raw(), self.address as *mut std::ffi::c_void));
        }
        self.home.device().runtime().inner.unpin();
    }
}

impl<T: Pod> Drop for PinnedVec<T> {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            drop(Piece { address: self.memory.as_ptr() as usize, home });
        }
    }
}

impl<T: Pod> Deref for PinnedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the arena gave as many bytes, aligned, which are this vector's until it is dropped; any bytes are a T.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PinnedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PinnedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

// SAFETY: the memory is the arena's, stays at its address, and belongs to this vector alone.
unsafe impl<T: Pod + Send> HostBuffer for PinnedVec<T> {
    type Element = T;

    fn as_slice(&self) -> &[T] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}
