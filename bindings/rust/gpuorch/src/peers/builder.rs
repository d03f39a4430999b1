//! How groups of one process are made, and parts of groups.

use super::Peers;
use crate::builder::Options;
use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use gpuorch_sys as sys;
use std::ptr::null_mut;

/// Options of a group: see [`Peers::builder`] and [`Peers::split`].
#[must_use = "a builder makes nothing until `build`"]
pub struct PeersBuilder<'a> {
    from: Origin<'a>,
    pub(crate) options: Options<sys::gpo_peers_options>,
}

enum Origin<'a> {
    Devices(Vec<&'a Device>),
    Ranks(&'a Peers, &'a [u32]),
}

impl<'a> PeersBuilder<'a> {
    pub(super) fn of_devices(devices: Vec<&'a Device>) -> Self {
        Self { from: Origin::Devices(devices), options: Options::of(sys::gpo_peers_options::new()) }
    }

    pub(super) fn of_ranks(peers: &'a Peers, ranks: &'a [u32]) -> Self {
        Self { from: Origin::Ranks(peers, ranks), options: Options::of(sys::gpo_peers_options::new()) }
    }

    /// Makes the group. Devices that can reach each other get permanent access to each other's memory. Serialises the
    /// devices. With several processes, a part of a group is made when all processes of the part have called this.
    ///
    /// - [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): there are no devices, or more than 32; a
    ///   device or a rank is in the list twice; a rank doesn't exist, or this process's rank isn't in the list.
    /// - [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle): a device is of another runtime than the first.
    /// - [`ErrorKind::NotSupported`](crate::ErrorKind::NotSupported): the engine can't be used; the message says why.
    /// - [`ErrorKind::PeerLost`](crate::ErrorKind::PeerLost): processes were missing until the timeout passed.
    pub fn build(self) -> Result<Peers> {
        let function = match self.from {
            Origin::Devices(_) => "gpo_peers_create",
            Origin::Ranks(..) => "gpo_peers_split",
        };
        let options = self.options.checked(function)?;
        let mut raw = null_mut();
        match self.from {
            Origin::Devices(devices) => {
                let handles: Vec<_> = devices.iter().map(|device| device.as_raw()).collect();
                call!(peers_create(handles.as_ptr(), count_of(handles.len()), options, &mut raw))?;
                Peers::of(raw, devices.into_iter().cloned().collect())
            }
            Origin::Ranks(peers, ranks) => {
                call!(peers_split(peers.as_raw(), ranks.as_ptr(), count_of(ranks.len()), options, &mut raw))?;
                let place = |rank: &u32| rank.checked_sub(peers.rank()).map(|place| place as usize);
                let devices = ranks.iter().filter_map(|rank| peers.devices().get(place(rank)?)).cloned();
                Peers::of(raw, devices.collect())
            }
        }
    }
}

/// The length as the library takes it. The library refuses lists that are too long, so the exact length doesn't matter.
pub(super) fn count_of(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
