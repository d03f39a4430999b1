//! Host memory that work on a stream may read and write while its owner is elsewhere.

use bytemuck::Pod;

/// A buffer in host memory that an [`Operation`](crate::Operation) can own.
///
/// [`PinnedVec`](crate::PinnedVec) is copied from and to beside other work; a `Vec` or boxed slice works too, is slower,
/// and serialises. What is only borrowed won't do: its owner could take it back while the GPU uses it.
///
/// ```compile_fail,E0277
/// # fn copy(stream: gpuorch::Stream, x: gpuorch::DeviceBuffer<u8>) -> gpuorch::Result<()> {
/// let mut host = vec![0u8; 100];
/// stream.copy_to_host(&x, &mut host)?;
/// # Ok(())
/// # }
/// ```
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
