//! Host memory that work on a stream may read and write while its owner is elsewhere.

use bytemuck::Pod;

/// A buffer in host memory that an [`Operation`](crate::Operation) can own.
///
/// [`PinnedVec`](crate::PinnedVec) is copied from and to beside other work; a `Vec` or boxed slice works too, is slower,
/// and serialises.
///
/// # Safety
///
/// The slices stay where they are when the buffer is moved, and nobody but its owner can reach what is in them.
pub unsafe trait HostBuffer: Send + 'static {
    /// What it holds.
    type Element: Pod;

    /// The whole buffer.
    fn as_slice(&self) -> &[Self::Element];

    /// The whole buffer.
    fn as_mut_slice(&mut self) -> &mut [Self::Element];
}

// SAFETY: a Vec's elements are in an allocation of its own, which doesn't move with it.
unsafe impl<T: Pod + Send> HostBuffer for Vec<T> {
    type Element = T;

    fn as_slice(&self) -> &[T] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}

// SAFETY: likewise.
unsafe impl<T: Pod + Send> HostBuffer for Box<[T]> {
    type Element = T;

    fn as_slice(&self) -> &[T] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        self
    }
}
