//! Groups of devices that work together, in one process or in several.
//!
//! A group ([`Peers`]) is a list of devices. The device at place r of the list has *rank* r. A [`Collective`] is one
//! operation of all ranks. Each rank has a [`Part`] in it: a stream and buffers of the rank's device. The devices
//! exchange the data in the order of these streams.
//!
//! ```
//! use gpuorch::peers::{Collective, Part, Peers, Reduction};
//! # let runtime = gpuorch::Runtime::new()?;
//! # let count = runtime.device_count()?.min(2);
//! # let devices = (0..count).map(|ordinal| runtime.device(ordinal).open()).collect::<gpuorch::Result<Vec<_>>>()?;
//! let peers = Peers::new(&devices)?; // of each device once
//! let streams = devices.iter().map(|device| device.stream()).collect::<Result<Vec<_>, _>>()?;
//! let buffers = devices.iter().map(|device| device.buffer::<f32>(100)).collect::<Result<Vec<_>, _>>()?;
//! for (stream, x) in streams.iter().zip(&buffers) {
//!     stream.fill(x, 1.5)?;
//! }
//! let parts: Vec<_> = streams.iter().zip(&buffers).map(|(stream, x)| Part::in_place(stream, x)).collect();
//! peers.submit(&Collective::all_reduce(Reduction::Sum), &parts)?;
//! for (stream, x) in streams.iter().zip(&buffers) {
//!     assert_eq!(stream.copy_to_host(x, vec![0.0; 100])?.wait()?, [1.5 * devices.len() as f32; 100]);
//! }
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Order
//!
//! A collective is put on all of its streams at once, or on none. Each stream does its part after its earlier work.
//! Later work on the stream finds the rank's result, and may change the rank's buffers. If one of the streams is held,
//! the collective is held on all of them. If a held collective is cancelled or fails on one stream, the collective and
//! all of its streams fail.
//!
//! # Several processes
//!
//! A group of several processes has one rank, with one device, in each. A process joins the group by a file, by an id
//! or by MPI: [`Device::join_by_file`], [`Device::join_by_id`], [`Device::join_by_mpi`]. All processes submit the same
//! collectives in the same order, each with the part of its own rank. If their collectives differ, the collective fails
//! in all processes with [`ErrorKind::InvalidState`]; with NCCL the difference isn't noticed.
//!
//! A group is *broken* when one of its processes has died, has left, has aborted, or keeps the others waiting for
//! longer than their [timeout](JoinBuilder::timeout). Then all submitted collectives fail with [`ErrorKind::PeerLost`].
//!
//! # Kernels of several devices
//!
//! [`Symmetric`] memory has the same number of elements on each device, for the kernels of all devices.
//! [`Peers::launch`] puts kernels that wait for each other on a stream of each rank.
//!
//! [`Device::join_by_file`]: crate::Device::join_by_file
//! [`Device::join_by_id`]: crate::Device::join_by_id
//! [`Device::join_by_mpi`]: crate::Device::join_by_mpi
//! [`ErrorKind::InvalidState`]: crate::ErrorKind::InvalidState
//! [`ErrorKind::PeerLost`]: crate::ErrorKind::PeerLost

mod builder;
mod collective;
mod element;
mod enqueued;
mod join;
mod launch;
mod symmetric;

pub use crate::generated::{Engine, PeersInfo, Reduction, SymmetricInfo};
pub use builder::PeersBuilder;
pub use collective::{Collective, Part};
pub use element::{BF16, Element, F8E4M3, F8E5M2, F16};
pub use enqueued::{AllDone, EnqueuedOnAll};
pub use join::{JoinBuilder, PeersId};
pub use launch::RankLaunch;
pub use symmetric::{Symmetric, SymmetricBuilder, SymmetricRank};

use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use crate::handle::Owned;
use gpuorch_sys as sys;
use std::sync::Arc;

/// A group of devices. Clones are the same group.
///
/// Submitted collectives go on when the last clone is dropped. After this drop the process has left a group of several
/// processes: the group is broken for the others as soon as they need this process.
#[derive(Clone)]
pub struct Peers {
    inner: Arc<Inner>,
}

struct Inner {
    owned: Owned<sys::gpo_peers_t, Vec<Device>>,
    /// The first rank of this process, and how many ranks the group has.
    first: u32,
    ranks: u32,
}

impl Peers {
    /// A group of these devices, of one runtime.
    pub fn new<'a>(devices: impl IntoIterator<Item = &'a Device>) -> Result<Self> {
        Self::builder(devices).build()
    }

    /// For a group of these devices with options.
    pub fn builder<'a>(devices: impl IntoIterator<Item = &'a Device>) -> PeersBuilder<'a> {
        PeersBuilder::of_devices(devices.into_iter().collect())
    }

    /// For a group of some ranks of this group: rank i of the new group is rank `ranks[i]` here. The two groups don't
    /// depend on each other.
    ///
    /// If the group is of several processes, all processes whose ranks are in the list build it, with the same list,
    /// and the others don't.
    pub fn split<'a>(&'a self, ranks: &'a [u32]) -> PeersBuilder<'a> {
        PeersBuilder::of_ranks(self, ranks)
    }

    /// The devices of this process's ranks, in the order of the ranks.
    pub fn devices(&self) -> &[Device] {
        &self.inner.owned.parent
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.inner.ranks
    }

    /// The first rank of this process.
    pub fn rank(&self) -> u32 {
        self.inner.first
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_peers_t {
        self.inner.owned.raw
    }

    /// A group that the library has just made.
    fn of(raw: sys::gpo_peers_t, devices: Vec<Device>) -> Result<Self> {
        let owned = Owned { raw, parent: devices };
        let info = info(raw)?;
        Ok(Self { inner: Arc::new(Inner { owned, first: info.rank, ranks: info.ranks }) })
    }
}

fn info(raw: sys::gpo_peers_t) -> Result<PeersInfo> {
    let mut info = PeersInfo::empty();
    call!(peers_get_info(raw, &mut info.0))?;
    Ok(info)
}
