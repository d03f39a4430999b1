//! Device memory.

use crate::after::drop_after;
use crate::call::{call, status};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::event::EXPORT_BYTES;
use crate::generated::MemoryInfo;
use crate::handle::{Owned, c_string, pointer};
use crate::host::within;
use crate::pool::Pool;
use crate::stream::Stream;
use crate::template::Template;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex, PoisonError};

/// Elements in the memory of a device.
///
/// Dropping it blocks on nothing. The memory is freed when the work that uses it is done on every stream, and when no
/// [graph holds it](crate::template#memory).
pub struct DeviceBuffer<T: Pod> {
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

/// A piece of device memory, and the streams that may still use it.
pub(crate) struct Memory {
    address: u64,
    /// `None` for buffers without bytes, and for memory with restricted users.
    piece: Option<Piece>,
    users: Users,
    /// Streams that the library's own free doesn't wait for.
    elsewhere: Mutex<Vec<Stream>>,
}

/// The users that memory may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Users {
    All,
    /// For a chunk's memory: the stage's stream alone, by its handle; 0: no stream.
    StageStream(usize),
    /// For memory that a graph allocates: nodes.
    Nodes,
}

struct Piece {
    address: u64,
    home: Home,
}

/// The next user of memory.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum MemoryUser<'a> {
    /// The next operation of a stream.
    Stream(&'a Stream),
    /// A node of a template on this device. The library knows which memory graphs hold, and the node's adder is
    /// responsible for the rest.
    Node(&'a Device),
}

/// Symmetric memory, with a piece on each of these devices.
type SymmetricOwner = Owned<sys::gpo_symmetric_t, Vec<Device>>;

enum Home {
    /// Freed behind all work on the device's streams, resident streams excepted.
    Device(Device),
    /// Freed in the order of this stream.
    Pool(Pool, Stream),
    /// Freed with the template, behind all work on streams.
    Template(Template),
    /// Freed with its last piece, behind all work on streams, resident streams excepted. The device is the piece's.
    Symmetric(Device, Arc<SymmetricOwner>),
}

impl Drop for Piece {
    fn drop(&mut self) {
        match &self.home {
            // Refused only where the runtime has been shut down.
            Home::Device(device) => drop(status!(memory_free(device.as_raw(), self.address))),
            Home::Pool(pool, stream) => pool.free(stream, self.address),
            Home::Template(_) => {}
            Home::Symmetric(_, _owner) => {}
        }
    }
}

impl Memory {
    /// Memory that a pipeline owns, and reuses for the next chunk when the work on `stream` is done. `None`: in a sink,
    /// after this work.
    pub(crate) fn of_chunk(address: u64, stream: Option<&Stream>) -> Self {
        let users = Users::StageStream(stream.map_or(0, |stream| stream.as_raw() as usize));
        Self { address, piece: None, users, elsewhere: Mutex::default() }
    }

    pub(crate) fn symmetric(address: u64, device: &Device, owner: &Arc<SymmetricOwner>) -> Self {
        let piece = Piece { address, home: Home::Symmetric(device.clone(), Arc::clone(owner)) };
        Self { address, piece: Some(piece), users: Users::All, elsewhere: Mutex::default() }
    }

    /// Records that `stream` uses the memory from now on.
    #[inline]
    fn used_on(&self, stream: &Stream) {
        let known = match &self.piece {
            None => true,
            Some(Piece { home: Home::Device(device), .. }) => {
                stream.device().as_raw() == device.as_raw() && !stream.is_resident()
            }
            Some(Piece { home: Home::Pool(_, home), .. }) => stream.as_raw() == home.as_raw(),
            Some(Piece { home: Home::Template(_), .. }) => true,
            Some(Piece { home: Home::Symmetric(..), .. }) => !stream.is_resident(),
        };
        if !known {
            self.used_elsewhere(stream);
        }
    }

    /// Records the use by work that `function` is about to put on the stream. Refuses uses that a free couldn't wait
    /// for: a chunk's memory on another stream than the stage's, and memory of another runtime.
    #[inline]
    pub(crate) fn given_to(&self, stream: &Stream, function: &'static str) -> Result<()> {
        if self.piece.is_none() {
            return self.refuse_elsewhere(stream, function);
        }
        self.reachable_from(stream.device(), function)?;
        self.used_on(stream);
        Ok(())
    }

    /// Checks memory for a node that `function` is about to add to a template. Refuses a chunk's memory: the next chunk
    /// reuses it.
    pub(crate) fn given_to_node(&self, device: &Device, function: &'static str) -> Result<()> {
        if let Users::StageStream(_) = self.users {
            let message = "a chunk's device memory is for its stage's work, and not for the nodes of a template";
            return Err(Error::new(ErrorKind::InvalidState, function, message));
        }
        self.reachable_from(device, function)
    }

    /// Refuses memory of another runtime than the device's.
    #[inline]
    pub(crate) fn reachable_from(&self, device: &Device, function: &'static str) -> Result<()> {
        let home = match &self.piece {
            None => return Ok(()),
            Some(Piece { home: Home::Device(home), .. }) => home,
            Some(Piece { home: Home::Pool(_, home), .. }) => home.device(),
            Some(Piece { home: Home::Template(home), .. }) => home.device(),
            Some(Piece { home: Home::Symmetric(home, _), .. }) => home,
        };
        if home.as_raw() == device.as_raw() || home.runtime().as_raw() == device.runtime().as_raw() {
            return Ok(());
        }
        let message = "a buffer among the arguments is of another runtime";
        Err(Error::new(ErrorKind::InvalidArgument, function, message))
    }

    fn refuse_elsewhere(&self, stream: &Stream, function: &'static str) -> Result<()> {
        let message = match self.users {
            Users::All => return Ok(()),
            Users::StageStream(only) if only == stream.as_raw() as usize => return Ok(()),
            Users::StageStream(_) => {
                "a chunk's device memory is for the stream that its stage's closure is given, and for no other"
            }
            Users::Nodes => "memory that a graph allocates is for the nodes of its template",
        };
        Err(Error::new(ErrorKind::InvalidState, function, message))
    }

    #[cold]
    fn used_elsewhere(&self, stream: &Stream) {
        let mut elsewhere = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if !elsewhere.iter().any(|known| known.as_raw() == stream.as_raw()) {
            elsewhere.push(stream.clone());
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Some(piece) = self.piece.take() else { return };
        let mut streams = std::mem::take(self.elsewhere.get_mut().unwrap_or_else(PoisonError::into_inner));
        // A free that is held on the host may be cancelled there.
        if let Home::Pool(_, home) = &piece.home {
            if home.info().is_ok_and(|info| info.held != 0) {
                streams.push(home.clone());
            }
        }
        let piece = Arc::new(piece);
        for stream in streams {
            drop_after(&stream, Box::new(Arc::clone(&piece)));
        }
    }
}

impl Device {
    /// Memory for `len` elements with arbitrary contents. Serialises the device: for long-lived memory.
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<DeviceBuffer<T>> {
        self.allocate(len, None)
    }

    /// Like [`buffer`](Self::buffer), with a name for errors, logs, statistics and traces.
    pub fn labelled_buffer<T: Pod>(&self, len: usize, label: &str) -> Result<DeviceBuffer<T>> {
        self.allocate(len, Some(label))
    }

    fn allocate<T: Pod>(&self, len: usize, label: Option<&str>) -> Result<DeviceBuffer<T>> {
        const FUNCTION: &str = "gpo_memory_allocate";
        let label = label.map(|label| c_string(label, FUNCTION)).transpose()?;
        let bytes = bytes_of::<T>(len, FUNCTION)?;
        let mut address = 0;
        if bytes != 0 {
            call!(memory_allocate(self.as_raw(), bytes, pointer(&label), &mut address))?;
        }
        Ok(DeviceBuffer::new(len, address, || Home::Device(self.clone())))
    }

    /// Memory that another process of this host has exported ([`DeviceBuffer::export`]), for as long as the buffer
    /// lives. [`ErrorKind::InvalidArgument`] also if the memory's size is no multiple of the element's.
    /// [`ErrorKind::PeerLost`]: the exporting process has ended.
    ///
    /// # Safety
    ///
    /// The other process may write the memory at any time: the program must order the accesses of both processes, by
    /// events for example. The other process must not free the memory before the buffer is dropped.
    pub unsafe fn import_memory<T: Pod>(&self, exported: &[u8], label: Option<&str>) -> Result<DeviceBuffer<T>> {
        const FUNCTION: &str = "gpo_memory_import";
        let label = label.map(|label| c_string(label, FUNCTION)).transpose()?;
        let (mut address, mut bytes) = (0, 0);
        let from = exported.as_ptr().cast();
        call!(memory_import(self.as_raw(), from, exported.len(), pointer(&label), &mut address, &mut bytes))?;
        let element = size_of::<T>().max(1) as u64;
        let buffer = DeviceBuffer::new((bytes / element) as usize, address, || Home::Device(self.clone()));
        if bytes % element == 0 {
            return Ok(buffer);
        }
        let message = format!("the memory has {bytes} bytes, which are no whole elements of {element}");
        Err(Error::new(ErrorKind::InvalidArgument, FUNCTION, message))
    }

    /// Says what kind of memory an address points to. The address may be of any host or device memory, allocated by the
    /// library or not.
    pub fn describe_memory(&self, address: u64) -> Result<MemoryInfo> {
        let mut info = MemoryInfo::empty();
        call!(memory_describe(self.as_raw(), address, &mut info.0))?;
        Ok(info)
    }

    /// Pins memory of the caller. Copies from and to the memory then run beside other work. Takes about 0.1 ms for each
    /// MiB, and serialises.
    ///
    /// # Safety
    ///
    /// The `bytes` bytes from `memory` must belong to an allocation that lives until
    /// [`unregister_memory`](Self::unregister_memory). Slices that overlap it must not be passed to [`Stream::write`].
    pub unsafe fn register_memory(&self, memory: *mut c_void, bytes: u64, read_only: bool) -> Result<()> {
        let flags = if read_only { sys::GPO_REGISTER_READ_ONLY } else { 0 };
        call!(host_register(self.as_raw(), memory, bytes, flags))
    }

    /// Ends a registration.
    ///
    /// # Safety
    ///
    /// No copy may be using the memory.
    pub unsafe fn unregister_memory(&self, memory: *mut c_void) -> Result<()> {
        call!(host_unregister(self.as_raw(), memory))
    }
}

pub(crate) fn bytes_of<T>(len: usize, function: &'static str) -> Result<u64> {
    let bytes = (len as u64).checked_mul(size_of::<T>() as u64);
    bytes.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, function, format!("{len} elements are too many")))
}

impl<T: Pod> DeviceBuffer<T> {
    /// The bytes with which another process of this host imports the memory ([`Device::import_memory`]). The buffer
    /// must be from [`Device::buffer`], and must outlive the imported buffers. [`ErrorKind::InvalidArgument`]: the
    /// buffer is of another origin, or empty.
    pub fn export(&self) -> Result<[u8; EXPORT_BYTES]> {
        const FUNCTION: &str = "gpo_memory_export";
        let Some(Piece { address, home: Home::Device(device) }) = &self.memory.piece else {
            let message = "only a buffer of a device, which isn't empty, can be exported";
            return Err(Error::new(ErrorKind::InvalidArgument, FUNCTION, message));
        };
        let mut exported = [0; EXPORT_BYTES];
        let to = exported.as_mut_ptr().cast();
        call!(memory_export(device.as_raw(), *address, to, EXPORT_BYTES, std::ptr::null_mut()))?;
        Ok(exported)
    }

    fn new(len: usize, address: u64, home: impl FnOnce() -> Home) -> Self {
        let piece = (address != 0).then(|| Piece { address, home: home() });
        let memory = Memory { address, piece, users: Users::All, elsewhere: Mutex::default() };
        Self { memory, len, element: PhantomData }
    }

    pub(crate) fn of_pool(len: usize, address: u64, pool: &Pool, stream: &Stream) -> Self {
        Self::new(len, address, || Home::Pool(pool.clone(), stream.clone()))
    }

    pub(crate) fn of_nodes(len: usize, address: u64) -> Self {
        let memory = Memory { address, piece: None, users: Users::Nodes, elsewhere: Mutex::default() };
        Self { memory, len, element: PhantomData }
    }

    pub(crate) fn of_template(len: usize, address: u64, template: &Template) -> Self {
        Self::new(len, address, || Home::Template(template.clone()))
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The whole buffer.
    pub fn all(&self) -> DeviceSlice<'_, T> {
        DeviceSlice { memory: &self.memory, start: 0, len: self.len, element: PhantomData }
    }

    /// A part of the buffer. Panics if the range isn't within the buffer, as for slices.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'_, T> {
        self.all().slice(range)
    }

    /// The address in the device's memory; 0 for a buffer without bytes. The buffer doesn't know about uses of the
    /// address.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Informs the buffer of uses on `stream` that the buffer can't see. When the buffer is dropped, its memory is
    /// freed behind the work on the stream.
    pub fn used_on(&self, stream: &Stream) {
        self.memory.used_on(stream);
    }
}

impl<T: Pod> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let type_name = std::any::type_name::<T>();
        f.debug_struct("DeviceBuffer").field("element", &type_name).field("len", &self.len).finish_non_exhaustive()
    }
}

/// A part of a [`DeviceBuffer`]. The slice can't outlive the buffer:
///
/// ```compile_fail,E0505
/// # fn part(stream: gpuorch::Stream, x: gpuorch::DeviceBuffer<u8>) -> gpuorch::Result<()> {
/// let half = x.slice(..x.len() / 2);
/// drop(x);
/// stream.fill(half, 0)?;
/// # Ok(())
/// # }
/// ```
pub struct DeviceSlice<'a, T: Pod> {
    memory: &'a Memory,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Pod> Copy for DeviceSlice<'_, T> {}

impl<'a, T: Pod> DeviceSlice<'a, T> {
    pub(crate) fn of(memory: &'a Memory, len: usize) -> Self {
        Self { memory, start: 0, len, element: PhantomData }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of the slice. Panics if the range isn't within the slice.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'a, T> {
        let range = within(range, self.len);
        DeviceSlice { memory: self.memory, start: self.start + range.start, len: range.len(), element: PhantomData }
    }

    /// The address in the device's memory.
    pub fn address(&self) -> u64 {
        self.memory.address + (self.start * size_of::<T>()) as u64
    }

    /// The slice's size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    #[inline]
    pub(crate) fn given_to(&self, stream: &Stream, function: &'static str) -> Result<()> {
        self.memory.given_to(stream, function)
    }

    pub(crate) fn given_to_node(&self, device: &Device, function: &'static str) -> Result<()> {
        self.memory.given_to_node(device, function)
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.all()
    }
}

impl<T: Pod> fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let type_name = std::any::type_name::<T>();
        f.debug_struct("DeviceSlice").field("element", &type_name).field("len", &self.len).finish_non_exhaustive()
    }
}
