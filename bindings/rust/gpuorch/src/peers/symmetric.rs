//! Memory that the kernels of all devices of a group use.

use super::Peers;
use crate::arguments::{Argument, Parameter};
use crate::builder::Options;
use crate::call::call;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::Owned;
use crate::memory::{DeviceSlice, Memory, MemoryUser, bytes_of};
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::null_mut;
use std::sync::Arc;

/// Memory with the same number of elements on each device of a group. A kernel takes the memory as an argument, by
/// value: a `gpo::symmetric` of `gpuorch/device/peer.cuh`. The kernel moves data between the devices itself. In Rust
/// the parameter is of the type `Symmetric<T>`, and the argument is the rank's: [`Symmetric::on`]. Made by
/// [`Peers::symmetric`]. Clones are the same memory.
///
/// ```
/// use gpuorch::Launch;
/// use gpuorch::peers::{Peers, RankLaunch, Symmetric};
/// # let runtime = gpuorch::Runtime::new()?;
/// # let count = runtime.device_count()?.min(2);
/// # let devices = (0..count).map(|ordinal| runtime.device(ordinal).open()).collect::<gpuorch::Result<Vec<_>>>()?;
/// // Each rank writes its number to the next one.
/// const SHIFT: &str = r#"
///     #include <gpuorch/device/peer.cuh>
///     extern "C" __global__ void shift(gpo::symmetric memory) {
///         const unsigned next = (memory.rank + 1) % memory.ranks;
///         if (threadIdx.x == 0) gpo::put(memory, next, 0, &memory.rank, 4);
///         gpo::barrier(memory, gpo::nanoseconds(20000000000));
///     }"#;
/// let peers = Peers::new(&devices)?;
/// let memory = peers.symmetric::<u32>(16).build()?;
/// let streams = devices.iter().map(|device| device.stream()).collect::<Result<Vec<_>, _>>()?;
/// let kernels = devices
///     .iter()
///     // SAFETY: it takes a gpo::symmetric, and uses it by the functions of the header.
///     .map(|device| unsafe { device.compile(SHIFT)?.kernel("shift")?.bind::<(Symmetric<u32>,)>() })
///     .collect::<Result<Vec<_>, _>>()?;
/// let launches = (streams.iter().zip(&kernels).zip(0..))
///     .map(|((stream, kernel), rank)| RankLaunch::new(stream, kernel, &Launch::new(1, 32), (memory.on(rank),)))
///     .collect::<Result<Vec<_>, _>>()?;
/// peers.launch(&launches)?.wait()?;
/// for (stream, rank) in streams.iter().zip(0..) {
///     let before = (rank + peers.ranks() - 1) % peers.ranks();
///     assert_eq!(stream.copy_to_host(memory.on(rank).slice(..1), vec![9])?.wait()?, [before]);
/// }
/// # Ok::<(), gpuorch::Error>(())
/// ```
///
/// The memory stays when the group is dropped. Dropping the last clone blocks on nothing: the memory is freed behind
/// all earlier work on streams of the runtime. A template doesn't keep alive the memory of its nodes.
pub struct Symmetric<T: Pod> {
    inner: Arc<Inner>,
    element: PhantomData<fn() -> T>,
}

struct Inner {
    owned: Arc<Owned<sys::gpo_symmetric_t, Vec<Device>>>,
    /// Memory of each rank; `None` if this process has no address of it.
    memories: Vec<Option<Memory>>,
    len: usize,
}

/// Options of symmetric memory.
#[must_use = "a builder allocates nothing until `build`"]
pub struct SymmetricBuilder<'a, T> {
    peers: &'a Peers,
    len: usize,
    pub(crate) options: Options<sys::gpo_symmetric_options>,
    element: PhantomData<fn() -> T>,
}

impl Peers {
    /// For memory of `len` elements on each device.
    pub fn symmetric<T: Pod>(&self, len: usize) -> SymmetricBuilder<'_, T> {
        let options = Options::of(sys::gpo_symmetric_options::new());
        SymmetricBuilder { peers: self, len, options, element: PhantomData }
    }
}

impl<T: Pod> SymmetricBuilder<'_, T> {
    /// Allocates the memory and zeroes it. Afterwards any stream of the devices may use it. Blocks on the GPUs for the
    /// zeroing. Serialises the devices. In a group of several processes all of them call this, with the same size and
    /// alignment; the call succeeds or fails in all of them.
    ///
    /// - [`ErrorKind::InvalidArgument`]: the size is 0 or above 2^48 bytes, or the alignment is not allowed.
    /// - [`ErrorKind::NotSupported`]: two devices can't reach each other's memory; or NVSHMEM can't be used.
    /// - [`ErrorKind::OutOfMemory`]: a device has too little memory. The message names its rank.
    pub fn build(self) -> Result<Symmetric<T>> {
        const FUNCTION: &str = "gpo_symmetric_allocate";
        let mut raw = null_mut();
        let bytes = bytes_of::<T>(self.len, FUNCTION)?;
        call!(symmetric_allocate(self.peers.as_raw(), bytes, self.options.checked(FUNCTION)?, &mut raw))?;
        let owned = Arc::new(Owned { raw, parent: self.peers.devices().to_vec() });
        let mut info = sys::gpo_symmetric_info::new();
        call!(symmetric_get_info(raw, &mut info))?;
        // A rank of another process has memory here, too.
        let memories = (0..info.ranks).map(|rank| {
            let device = owned.parent.get(rank as usize).unwrap_or(&owned.parent[0]);
            match address_of(raw, rank) {
                Ok(address) => Ok(Some(Memory::symmetric(address, device, &owned))),
                Err(error) if error.kind() == ErrorKind::NotSupported => Ok(None),
                Err(error) => Err(error),
            }
        });
        let memories = memories.collect::<Result<_>>()?;
        Ok(Symmetric { inner: Arc::new(Inner { owned, memories, len: self.len }), element: PhantomData })
    }
}

fn address_of(raw: sys::gpo_symmetric_t, rank: u32) -> Result<u64> {
    let mut address = 0;
    call!(symmetric_get_address(raw, rank, &mut address))?;
    Ok(address)
}

impl<T: Pod> Symmetric<T> {
    /// The memory on the device of a rank. Panics if the rank doesn't exist, as for slices.
    pub fn on(&self, rank: u32) -> SymmetricRank<'_, T> {
        let ranks = self.inner.memories.len();
        assert!((rank as usize) < ranks, "there is no rank {rank} of {ranks}");
        SymmetricRank { memory: self, rank }
    }

    /// How many elements there are on each device.
    pub fn len(&self) -> usize {
        self.inner.len
    }

    /// False: the memory is never empty.
    pub fn is_empty(&self) -> bool {
        self.inner.len == 0
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_symmetric_t {
        self.inner.owned.raw
    }
}

impl<T: Pod> Clone for Symmetric<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), element: PhantomData }
    }
}

/// [`Symmetric`] memory on the device of one rank: an argument of that rank's kernels, and memory for copies and
/// collectives.
pub struct SymmetricRank<'a, T: Pod> {
    memory: &'a Symmetric<T>,
    rank: u32,
}

impl<'a, T: Pod> SymmetricRank<'a, T> {
    /// The whole memory of the rank's device. Panics if this process has no address of the memory (NVSHMEM's, of
    /// another host).
    pub fn all(&self) -> DeviceSlice<'a, T> {
        let inner = &*self.memory.inner;
        let Some(memory) = &inner.memories[self.rank as usize] else {
            panic!("this process has no address of the memory of rank {}", self.rank)
        };
        DeviceSlice::of(memory, inner.len)
    }

    /// A part of the memory. Panics if the range isn't within the memory.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'a, T> {
        self.all().slice(range)
    }
}

impl<T: Pod> fmt::Debug for SymmetricRank<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SymmetricRank").field("memory", self.memory).field("rank", &self.rank).finish()
    }
}

impl<T: Pod> Clone for SymmetricRank<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Pod> Copy for SymmetricRank<'_, T> {}

impl<'a, T: Pod> From<SymmetricRank<'a, T>> for DeviceSlice<'a, T> {
    fn from(rank: SymmetricRank<'a, T>) -> Self {
        rank.all()
    }
}

const WORDS: usize = sys::GPO_SYMMETRIC_HANDLE_BYTES as usize / 8;

// SAFETY: one parameter, a gpo::symmetric.
unsafe impl<T: Pod> Parameter for Symmetric<T> {
    type Value = [u64; WORDS];
    const COUNT: usize = 1;
    const SIZES: [u32; 2] = [8 * WORDS as u32, 0];

    fn point_to(value: &[u64; WORDS], pointers: &mut [*const c_void]) {
        pointers[0] = (&raw const *value).cast();
    }
}

// SAFETY: memory that is freed behind the launch, if at all, on all ranks.
unsafe impl<T: Pod> Argument<Symmetric<T>> for SymmetricRank<'_, T> {
    fn value(self, user: MemoryUser<'_>) -> Result<[u64; WORDS]> {
        let inner = &*self.memory.inner;
        let (device, function) = match user {
            MemoryUser::Stream(stream) => (stream.device(), "gpo_stream_launch_kernel"),
            MemoryUser::Node(device) => (device, "gpo_template_add_kernel"),
        };
        for memory in inner.memories.iter().flatten() {
            match user {
                MemoryUser::Stream(stream) => memory.given_to(stream, function)?,
                MemoryUser::Node(device) => memory.given_to_node(device, function)?,
            }
        }
        let own = inner.owned.parent.get(self.rank as usize).unwrap_or(&inner.owned.parent[0]);
        if !own.is_same(device)? {
            let rank = self.rank;
            let message = format!("the symmetric memory of rank {rank} is for kernels of another device");
            return Err(Error::new(ErrorKind::InvalidArgument, function, message));
        }
        let mut words = [0; WORDS];
        let bytes = size_of_val(&words);
        let raw = self.memory.as_raw();
        call!(symmetric_get_device_handle(raw, self.rank, words.as_mut_ptr().cast(), bytes, null_mut()))?;
        Ok(words)
    }
}
