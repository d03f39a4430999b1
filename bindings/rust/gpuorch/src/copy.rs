//! Copies and fills: operations of a stream.

use crate::call::call;
use crate::done::Enqueued;
use crate::error::{Error, ErrorKind, Result};
use crate::host::HostBuffer;
use crate::memory::{DeviceSlice, bytes_of};
use crate::operation::{Failed, Operation};
use crate::stream::Stream;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::mem::{size_of, size_of_val};

impl Stream {
    /// Copies a host buffer to the device. The operation owns the buffer until it has ended.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// let (stream, arena) = (device.stream()?, device.arena()?);
    /// let x = device.buffer(4)?;
    /// let host = stream.copy_to_device(arena.copy_of(&[1, 2, 3, 4])?, &x)?.wait()?;
    /// let host = stream.copy_to_host(x.slice(1..3), vec![0; 2])?.wait()?;
    /// assert_eq!(host, [2, 3]);
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn copy_to_device<'a, B: HostBuffer>(
        &self,
        host: B,
        destination: impl Into<DeviceSlice<'a, B::Element>>,
    ) -> Result<Operation<B>, Failed<B>> {
        let destination = destination.into();
        let source = host.as_slice();
        const FUNCTION: &str = "gpo_copy_to_device";
        let fitting = same_length(source.len(), destination.len(), FUNCTION);
        let copied = fitting.and_then(|()| destination.given_to(self, FUNCTION)).and_then(|()| {
            // The operation keeps the buffer where it is until the stream has passed.
            let bytes = size_of_val(source) as u64;
            call!(copy_to_device(self.as_raw(), destination.address(), source.as_ptr().cast(), bytes))
        });
        match copied {
            Ok(()) => Ok(Operation::new(self, host)),
            Err(error) => Err(Failed::new(error, host)),
        }
    }

    /// Copies device memory into a host buffer. The operation owns the buffer until it has ended.
    pub fn copy_to_host<'a, B: HostBuffer>(
        &self,
        source: impl Into<DeviceSlice<'a, B::Element>>,
        mut host: B,
    ) -> Result<Operation<B>, Failed<B>> {
        let source = source.into();
        let destination = host.as_mut_slice();
        const FUNCTION: &str = "gpo_copy_to_host";
        let fitting = same_length(destination.len(), source.len(), FUNCTION);
        let copied = fitting.and_then(|()| source.given_to(self, FUNCTION)).and_then(|()| {
            // The operation keeps the buffer where it is, and out of reach, until the stream has passed.
            let bytes = size_of_val(destination) as u64;
            call!(copy_to_host(self.as_raw(), destination.as_mut_ptr().cast(), source.address(), bytes))
        });
        match copied {
            Ok(()) => Ok(Operation::new(self, host)),
            Err(error) => Err(Failed::new(error, host)),
        }
    }

    /// Copies elements to the device; the caller may change or drop them when this returns. For small copies: a copy is
    /// slower than by [`copy_to_device`](Self::copy_to_device) from a pinned vector, and serialises.
    pub fn write<'a, T: Pod + Send>(
        &self,
        elements: &[T],
        destination: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Enqueued<'_>> {
        let destination = destination.into();
        const FUNCTION: &str = "gpo_copy_to_device";
        same_length(elements.len(), destination.len(), FUNCTION)?;
        destination.given_to(self, FUNCTION)?;
        // The library takes bytes of pageable memory before the call returns; the GPU reads pinned memory later.
        let address = elements.as_ptr() as u64;
        if self.device().describe_memory(address)?.kind != sys::GPO_MEMORY_PAGEABLE {
            drop(self.copy_to_device(elements.to_vec(), destination)?);
        } else {
            let bytes = size_of_val(elements) as u64;
            call!(copy_to_device(self.as_raw(), destination.address(), elements.as_ptr().cast(), bytes))?;
        }
        Ok(Enqueued { stream: self })
    }

    /// Copies within the device.
    pub fn copy_on_device<'a, T: Pod>(
        &self,
        source: impl Into<DeviceSlice<'a, T>>,
        destination: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Enqueued<'_>> {
        let (source, destination) = (source.into(), destination.into());
        self.between(source, destination, "gpo_copy_on_device")?;
        call!(copy_on_device(self.as_raw(), destination.address(), source.address(), source.bytes()))?;
        Ok(Enqueued { stream: self })
    }

    /// Copies between two devices of one runtime, over the direct path if they have one.
    pub fn copy_peer<'a, T: Pod>(
        &self,
        from: &crate::Device,
        source: impl Into<DeviceSlice<'a, T>>,
        to: &crate::Device,
        destination: impl Into<DeviceSlice<'a, T>>,
    ) -> Result<Enqueued<'_>> {
        let (source, destination) = (source.into(), destination.into());
        self.between(source, destination, "gpo_copy_peer")?;
        let bytes = source.bytes();
        call!(copy_peer(self.as_raw(), to.as_raw(), destination.address(), from.as_raw(), source.address(), bytes))?;
        Ok(Enqueued { stream: self })
    }

    /// Submits many copies within the device with one call of the driver. The copies have no order among themselves and
    /// must not overlap. Pays for copies of 256 KiB and less.
    pub fn copy_batch<T: Pod>(&self, pieces: &[(DeviceSlice<'_, T>, DeviceSlice<'_, T>)]) -> Result<Enqueued<'_>> {
        let mut copies = Vec::with_capacity(pieces.len());
        for (source, destination) in pieces {
            self.between(*source, *destination, "gpo_copy_batch")?;
            let mut copy = sys::gpo_copy::new();
            copy.source = source.address();
            copy.destination = destination.address();
            copy.bytes = source.bytes();
            copies.push(copy);
        }
        let stride = size_of::<sys::gpo_copy>() as u64;
        call!(copy_batch(self.as_raw(), copies.as_ptr(), stride, copies.len() as u64))?;
        Ok(Enqueued { stream: self })
    }

    /// Copies `height` rows of `width` elements within the device. A pitch is the distance from one row to the next, in
    /// elements.
    pub fn copy_rows<'a, T: Pod>(
        &self,
        source: impl Into<DeviceSlice<'a, T>>,
        source_pitch: usize,
        destination: impl Into<DeviceSlice<'a, T>>,
        destination_pitch: usize,
        (width, height): (usize, usize),
    ) -> Result<Enqueued<'_>> {
        const FUNCTION: &str = "gpo_copy_rows";
        let (source, destination) = (source.into(), destination.into());
        rows_fit(source.len(), source_pitch, width, height, FUNCTION)?;
        rows_fit(destination.len(), destination_pitch, width, height, FUNCTION)?;
        source.given_to(self, FUNCTION)?;
        destination.given_to(self, FUNCTION)?;
        let mut copy = sys::gpo_copy_2d::new();
        copy.source = source.address();
        copy.source_pitch = bytes_of::<T>(source_pitch, FUNCTION)?;
        copy.destination = destination.address();
        copy.destination_pitch = bytes_of::<T>(destination_pitch, FUNCTION)?;
        copy.width = bytes_of::<T>(width, FUNCTION)?;
        copy.height = height as u64;
        call!(copy_rows(self.as_raw(), &copy))?;
        Ok(Enqueued { stream: self })
    }

    /// Sets every element to `value`, which is 1, 2 or 4 bytes large.
    pub fn fill<'a, T: Pod>(&self, destination: impl Into<DeviceSlice<'a, T>>, value: T) -> Result<Enqueued<'_>> {
        let destination = destination.into();
        destination.given_to(self, "gpo_fill")?;
        let element = size_of::<T>() as u32;
        let count = destination.len() as u64;
        call!(fill(self.as_raw(), destination.address(), fill_bits(value), element, count))?;
        Ok(Enqueued { stream: self })
    }

    /// Sets `height` rows of `width` bytes to `value`. `pitch` is the distance from one row to the next, in bytes.
    pub fn fill_rows<'a>(
        &self,
        destination: impl Into<DeviceSlice<'a, u8>>,
        pitch: usize,
        value: u8,
        (width, height): (usize, usize),
    ) -> Result<Enqueued<'_>> {
        let destination = destination.into();
        const FUNCTION: &str = "gpo_fill_rows";
        rows_fit(destination.len(), pitch, width, height, FUNCTION)?;
        destination.given_to(self, FUNCTION)?;
        let (width, height) = (width as u64, height as u64);
        call!(fill_rows(self.as_raw(), destination.address(), pitch as u64, value.into(), width, height))?;
        Ok(Enqueued { stream: self })
    }

    /// Checks a copy that `function` is about to put on the stream, and informs both buffers.
    fn between<T: Pod>(
        &self,
        source: DeviceSlice<'_, T>,
        destination: DeviceSlice<'_, T>,
        function: &'static str,
    ) -> Result<()> {
        same_length(source.len(), destination.len(), function)?;
        source.given_to(self, function)?;
        destination.given_to(self, function)
    }
}

/// A fill's value as the library takes it. The library refuses elements of other sizes than 1, 2 and 4 bytes.
pub(crate) fn fill_bits<T: Pod>(value: T) -> u32 {
    let mut bits = [0; 4];
    let bytes = bytemuck::bytes_of(&value);
    if let Some(low) = bits.get_mut(..bytes.len()) {
        low.copy_from_slice(bytes);
    }
    u32::from_le_bytes(bits)
}

pub(crate) fn same_length(host: usize, device: usize, function: &'static str) -> Result<()> {
    if host == device {
        return Ok(());
    }
    let message = format!("one side of the copy has {host} elements, the other {device}");
    Err(Error::new(ErrorKind::InvalidArgument, function, message))
}

/// Refuses rows that reach beyond `len` elements.
fn rows_fit(len: usize, pitch: usize, width: usize, height: usize, function: &'static str) -> Result<()> {
    let end = height.checked_sub(1).map_or(Some(0), |rows| rows.checked_mul(pitch)?.checked_add(width));
    if width <= pitch && end.is_some_and(|end| end <= len) {
        return Ok(());
    }
    let message = format!("{height} rows of {width}, {pitch} apart, are not within {len} elements");
    Err(Error::new(ErrorKind::InvalidArgument, function, message))
}
