//! Host memory that work on a stream may read and write while the owner does something else.

use bytemuck::Pod;

/// A buffer in host memory that an [`Operation`](crate::Operation) can own.
///
/// A [`PinnedVec`](crate::PinnedVec) is copied from and to while other work runs. A `Vec` or a boxed slice works too,
/// but is slower and serialises. Borrowed memory is not accepted: its owner could reuse it during the copy.
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
/// The slices stay at their addresses when the buffer is moved, and only the buffer's owner can access their contents.
pub unsafe trait HostBuffer: Send + 'static {
    /// The type of its elements.
    type Element: Pod;

    /// The whole buffer.
    fn as_slice(&self) -> &[Self::Element];

    /// The whole buffer.
    fn as_mut_slice(&mut self) -> &mut [Self::Element];
}

// SAFETY: a Vec's elements are in a separate allocation, which doesn't move with the Vec.
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
