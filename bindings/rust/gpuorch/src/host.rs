//! Host memory that work on a stream may read and write while the owner does something else.

use bytemuck::Pod;
use std::fmt;
use std::ops::{Bound, Deref, DerefMut, Range, RangeBounds};

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

/// A part of a host buffer, for copies from and to this part. The part owns the whole buffer. A copy's
/// [`Operation`](crate::Operation) owns the part until the copy has ended.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let (stream, arena) = (device.stream()?, device.arena()?);
/// let x = device.buffer(2)?;
/// let host = arena.copy_of(&[1, 2, 3, 4])?;
/// let part = stream.copy_to_device(host.slice(1..3), &x)?.wait()?;
/// assert_eq!(part[..], [2, 3]);
/// let host = part.into_buffer();
/// # pollster::block_on(async {
/// let part = stream.copy_to_host(&x, host.slice(2..))?.await?;
/// assert_eq!(part.into_buffer()[..], [1, 2, 2, 3]);
/// # Ok::<(), gpuorch::Error>(())
/// # })?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// During a copy the rest of the buffer can't be accessed either. Copies that run at the same time need a buffer each.
pub struct HostSlice<B> {
    buffer: B,
    range: Range<usize>,
}

impl<B: HostBuffer> HostSlice<B> {
    /// A part of a buffer. Panics if the range isn't within the buffer, as for slices.
    pub fn new(buffer: B, range: impl RangeBounds<usize>) -> Self {
        let range = within(range, buffer.as_slice().len());
        Self { buffer, range }
    }
}

impl<B> HostSlice<B> {
    /// The whole buffer.
    pub fn into_buffer(self) -> B {
        self.buffer
    }

    /// The position of the part in its buffer.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

impl<B: HostBuffer> Deref for HostSlice<B> {
    type Target = [B::Element];

    fn deref(&self) -> &[B::Element] {
        &self.buffer.as_slice()[self.range.clone()]
    }
}

impl<B: HostBuffer> DerefMut for HostSlice<B> {
    fn deref_mut(&mut self) -> &mut [B::Element] {
        &mut self.buffer.as_mut_slice()[self.range.clone()]
    }
}

impl<B> fmt::Debug for HostSlice<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostSlice").field("range", &self.range).finish_non_exhaustive()
    }
}

// SAFETY: a part of the buffer's slices, which are as the trait asks for.
unsafe impl<B: HostBuffer> HostBuffer for HostSlice<B> {
    type Element = B::Element;

    fn as_slice(&self) -> &[B::Element] {
        self
    }

    fn as_mut_slice(&mut self) -> &mut [B::Element] {
        self
    }
}

/// The range as numbers. Panics if it isn't within `len` elements.
pub(crate) fn within(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&at) => at,
        Bound::Excluded(&at) => at.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&at) => at.saturating_add(1),
        Bound::Excluded(&at) => at,
        Bound::Unbounded => len,
    };
    assert!(start <= end && end <= len, "{start}..{end} is not within {len} elements");
    start..end
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
