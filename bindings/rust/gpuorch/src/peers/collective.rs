//! Operations of all ranks.

use super::builder::count_of;
use super::{Element, EnqueuedOnAll, Peers, Reduction};
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::DeviceSlice;
use crate::stream::Stream;
use gpuorch_sys as sys;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;

/// An operation of all ranks of a group; reusable. The buffers in the [parts](Part) give the number of elements. n is
/// the number of ranks:
///
/// | collective | each rank sends | each rank receives |
/// |---|---|---|
/// | [`all_reduce`](Self::all_reduce) | elements | their reduction, the same for all |
/// | [`reduce`](Self::reduce) | elements | the root alone: their reduction |
/// | [`reduce_scatter`](Self::reduce_scatter) | n pieces | the reduction of its piece |
/// | [`broadcast`](Self::broadcast) | the root alone: elements | these (the root too) |
/// | [`all_gather`](Self::all_gather) | a piece | n pieces, in the order of the ranks |
/// | [`all_to_all`](Self::all_to_all) | n pieces, one for each rank | n pieces, one of each rank |
/// | [`send_receive`](Self::send_receive) | elements to one rank | as many elements of one rank |
#[derive(Clone, Copy)]
pub struct Collective<'a> {
    raw: sys::gpo_collective,
    label: PhantomData<&'a CStr>,
}

// SAFETY: the only pointer leads to a label, which any thread may read.
unsafe impl Send for Collective<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Collective<'_> {}

impl<'a> Collective<'a> {
    fn new(kind: u32) -> Self {
        let mut raw = sys::gpo_collective::new();
        raw.kind = kind;
        Self { raw, label: PhantomData }
    }

    fn reducing(kind: u32, reduction: Reduction) -> Self {
        let mut made = Self::new(kind);
        made.raw.reduction = reduction.into();
        made
    }

    /// All ranks get the reduction of all ranks' elements.
    pub fn all_reduce(reduction: Reduction) -> Self {
        Self::reducing(sys::GPO_COLLECTIVE_ALL_REDUCE, reduction)
    }

    /// The rank `root` gets the reduction of all ranks' elements.
    pub fn reduce(reduction: Reduction, root: u32) -> Self {
        let mut made = Self::reducing(sys::GPO_COLLECTIVE_REDUCE, reduction);
        made.raw.root = root;
        made
    }

    /// Each rank gets its piece of the reduction of all ranks' elements.
    pub fn reduce_scatter(reduction: Reduction) -> Self {
        Self::reducing(sys::GPO_COLLECTIVE_REDUCE_SCATTER, reduction)
    }

    /// All ranks get the elements of the rank `root`.
    pub fn broadcast(root: u32) -> Self {
        let mut made = Self::new(sys::GPO_COLLECTIVE_BROADCAST);
        made.raw.root = root;
        made
    }

    /// All ranks get the pieces of all ranks.
    pub fn all_gather() -> Self {
        Self::new(sys::GPO_COLLECTIVE_ALL_GATHER)
    }

    /// Each rank gets a piece of each rank.
    pub fn all_to_all() -> Self {
        Self::new(sys::GPO_COLLECTIVE_ALL_TO_ALL)
    }

    /// Ranks get elements of one another: see [`Part::to`] and [`Part::from`].
    pub fn send_receive() -> Self {
        Self::new(sys::GPO_COLLECTIVE_SEND_RECEIVE)
    }

    /// The name for failures and traces. Each submission reads it.
    #[must_use]
    pub fn label(mut self, label: &'a CStr) -> Self {
        self.raw.label = label.as_ptr();
        self
    }

    /// The elements that a rank's part sends and receives, in multiples of `count`.
    fn shares<T: Element>(&self, part: &Part<'_, T>, rank: u32, ranks: u32) -> (usize, usize) {
        let (n, root) = (ranks as usize, usize::from(rank == self.raw.root));
        match self.raw.kind {
            sys::GPO_COLLECTIVE_ALL_REDUCE => (1, 1),
            sys::GPO_COLLECTIVE_REDUCE => (1, root),
            sys::GPO_COLLECTIVE_REDUCE_SCATTER => (n, 1),
            sys::GPO_COLLECTIVE_BROADCAST => (root, 1),
            sys::GPO_COLLECTIVE_ALL_GATHER => (1, n),
            sys::GPO_COLLECTIVE_ALL_TO_ALL => (n, n),
            sys::GPO_COLLECTIVE_SEND_RECEIVE => (usize::from(part.to.is_some()), usize::from(part.from.is_some())),
            _ => (0, 0),
        }
    }
}

impl fmt::Debug for Collective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Collective");
        out.field("kind", &self.raw.kind).field("reduction", &self.raw.reduction).field("root", &self.raw.root);
        out.finish_non_exhaustive()
    }
}

/// A rank's part in a collective: a stream and memory of the rank's device. A buffer that the collective doesn't use at
/// this rank is allowed, and is left unchanged.
pub struct Part<'a, T: Element> {
    stream: &'a Stream,
    send: Option<DeviceSlice<'a, T>>,
    receive: Option<DeviceSlice<'a, T>>,
    to: Option<u32>,
    from: Option<u32>,
}

impl<'a, T: Element> Part<'a, T> {
    /// Sends the elements of `send`, and receives into `receive`. The buffers must not overlap, except as in
    /// [`in_place`](Self::in_place).
    pub fn new(
        stream: &'a Stream,
        send: impl Into<DeviceSlice<'a, T>>,
        receive: impl Into<DeviceSlice<'a, T>>,
    ) -> Self {
        Self { send: Some(send.into()), receive: Some(receive.into()), ..Self::none(stream) }
    }

    /// Sends the elements of a buffer and receives into it: for all-reduce, reduce and broadcast. In an all-gather
    /// `send` may be the rank's own piece of `receive`, and in a reduce-scatter `receive` the rank's own piece of
    /// `send`: see [`new`](Self::new).
    pub fn in_place(stream: &'a Stream, buffer: impl Into<DeviceSlice<'a, T>>) -> Self {
        let buffer = buffer.into();
        Self::new(stream, buffer, buffer)
    }

    /// Only sends.
    pub fn sending(stream: &'a Stream, send: impl Into<DeviceSlice<'a, T>>) -> Self {
        Self { send: Some(send.into()), ..Self::none(stream) }
    }

    /// Only receives.
    pub fn receiving(stream: &'a Stream, receive: impl Into<DeviceSlice<'a, T>>) -> Self {
        Self { receive: Some(receive.into()), ..Self::none(stream) }
    }

    /// Sends and receives nothing.
    pub fn none(stream: &'a Stream) -> Self {
        Self { stream, send: None, receive: None, to: None, from: None }
    }

    /// The rank that gets what is sent, in a [`send_receive`](Collective::send_receive).
    #[must_use]
    pub fn to(mut self, rank: u32) -> Self {
        self.to = Some(rank);
        self
    }

    /// The rank whose elements are received, in a [`send_receive`](Collective::send_receive).
    #[must_use]
    pub fn from(mut self, rank: u32) -> Self {
        self.from = Some(rank);
        self
    }
}

impl<T: Element> Clone for Part<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Part<'_, T> {}

impl<T: Element> fmt::Debug for Part<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part").field("send", &self.send).field("receive", &self.receive).finish_non_exhaustive()
    }
}

const FUNCTION: &str = "gpo_peers_submit";

fn refused<R>(message: String) -> Result<R> {
    Err(Error::new(ErrorKind::InvalidArgument, FUNCTION, message))
}

impl Peers {
    /// Puts a collective on the streams of its ranks, on all or on none: `parts[r]` is the part of rank r. In a group
    /// of several processes, `parts` has only the part of this process.
    ///
    /// - [`ErrorKind::InvalidArgument`]: the numbers of elements in the ranks' buffers don't fit together, or a rank
    ///   lacks a buffer. A stream or a buffer is of another device than the rank. Or a root or partner is no rank. The
    ///   message names the culprit.
    /// - [`ErrorKind::InvalidHandle`]: a stream is of another runtime.
    /// - [`ErrorKind::WouldBlock`]: a stream holds as many operations as it may.
    /// - [`ErrorKind::PeerLost`], [`ErrorKind::Cancelled`]: the group is broken, or was aborted.
    /// - [`ErrorKind::CaptureRefused`]: some of the streams are being captured and others are not.
    /// - [`ErrorKind::NotSupported`]: a stream is resident; or the collective would have to be held on a wrapped stream.
    pub fn submit<'s, T: Element>(
        &self,
        collective: &Collective<'_>,
        parts: &[Part<'s, T>],
    ) -> Result<EnqueuedOnAll<'s>> {
        let mut raw = collective.raw;
        raw.type_ = T::TYPE;
        self.submit_raw(collective, raw, parts)
    }

    /// No stream goes on before all streams have reached the barrier: `streams[r]` is the stream of rank r. Fails like
    /// [`submit`](Self::submit).
    pub fn barrier<'s>(&self, streams: &[&'s Stream]) -> Result<EnqueuedOnAll<'s>> {
        let barrier = Collective::new(sys::GPO_COLLECTIVE_BARRIER);
        let parts: Vec<Part<'s, u8>> = streams.iter().map(|stream| Part::none(stream)).collect();
        self.submit_raw(&barrier, barrier.raw, &parts)
    }

    fn submit_raw<'s, T: Element>(
        &self,
        collective: &Collective<'_>,
        mut raw: sys::gpo_collective,
        parts: &[Part<'s, T>],
    ) -> Result<EnqueuedOnAll<'s>> {
        let mut count = None;
        let mut raw_parts = Vec::with_capacity(parts.len());
        for (rank, part) in (self.rank()..).zip(parts) {
            raw_parts.push(self.raw_part(collective, part, rank, &mut count)?);
        }
        raw.count = count.map_or(0, |(_, count)| count as u64);
        let (first, stride) = (raw_parts.as_ptr(), size_of::<sys::gpo_rank_part>() as u64);
        call!(peers_submit(self.as_raw(), &raw, first, stride, count_of(raw_parts.len())))?;
        Ok(EnqueuedOnAll::new(parts.iter().map(|part| part.stream)))
    }

    /// `count`: the first rank with elements, and the collective's count according to this rank.
    fn raw_part<T: Element>(
        &self,
        collective: &Collective<'_>,
        part: &Part<'_, T>,
        rank: u32,
        count: &mut Option<(u32, usize)>,
    ) -> Result<sys::gpo_rank_part> {
        let pairs = collective.raw.kind == sys::GPO_COLLECTIVE_SEND_RECEIVE;
        if pairs && (part.send.is_some(), part.receive.is_some()) != (part.to.is_some(), part.from.is_some()) {
            return refused(format!(
                "rank {rank}: a rank that sends says to which rank and has a buffer for it, and so does one that receives"
            ));
        }
        let (sends, receives) = collective.shares(part, rank, self.ranks());
        let mut address = |what: &str, buffer: Option<DeviceSlice<'_, T>>, share: usize| -> Result<u64> {
            if share == 0 {
                return Ok(0);
            }
            let Some(buffer) = buffer else {
                return refused(format!("rank {rank} has no buffer to {what}"));
            };
            let len = buffer.len();
            if len % share != 0 {
                return refused(format!("rank {rank} has {len} elements to {what}, which are no {share} equal pieces"));
            }
            let (first, count) = *count.get_or_insert((rank, len / share));
            if Some(len) != count.checked_mul(share) {
                let wanted = count.saturating_mul(share);
                return refused(format!(
                    "rank {rank} has {len} elements to {what}, and the first buffer of rank {first} asks for {wanted}"
                ));
            }
            buffer.given_to(part.stream, FUNCTION)?;
            Ok(buffer.address())
        };
        let mut raw = sys::gpo_rank_part::new();
        raw.stream = part.stream.as_raw();
        raw.send = address("send", part.send, sends)?;
        raw.receive = address("receive", part.receive, receives)?;
        let nobody = if pairs { sys::GPO_NO_RANK } else { 0 };
        (raw.send_to, raw.receive_from) = (part.to.unwrap_or(nobody), part.from.unwrap_or(nobody));
        Ok(raw)
    }
}
