//! How a process joins a group of several processes.

use super::Peers;
use crate::builder::Options;
use crate::call::call;
use crate::device::Device;
use crate::error::Result;
use crate::handle::{nanoseconds, pointer};
use crate::trace::c_path;
use gpuorch_sys as sys;
use std::ffi::c_void;
use std::fmt;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::Duration;

const BYTES: usize = sys::GPO_PEERS_ID_BYTES as usize;

/// The id of one group. A process makes the id and passes the bytes to the others by its own means.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeersId([u8; BYTES]);

impl PeersId {
    /// Makes an id.
    pub fn new() -> Result<Self> {
        let mut bytes = [0; BYTES];
        call!(peers_make_id(bytes.as_mut_ptr().cast(), BYTES, null_mut()))?;
        Ok(Self(bytes))
    }

    /// An id that another process has made.
    pub fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes for the other processes.
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Debug for PeersId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeersId").finish_non_exhaustive()
    }
}

/// Options of joining a group: see [`Device::join_by_file`], [`Device::join_by_id`] and [`Device::join_by_mpi`].
#[must_use = "a builder joins nothing until `join`"]
pub struct JoinBuilder<'a> {
    device: &'a Device,
    by: By<'a>,
    pub(crate) options: Options<sys::gpo_join_options>,
}

enum By<'a> {
    Mpi(*mut c_void),
    File(PathBuf),
    Id(&'a PeersId),
}

// SAFETY: only `join` uses the communicator, and any thread may call `join`.
unsafe impl Send for JoinBuilder<'_> {}
// SAFETY: likewise.
unsafe impl Sync for JoinBuilder<'_> {}

impl Device {
    /// For rank `rank`, from 0, of a group of `ranks` processes of this host, which find each other by the name of a
    /// file. The file needn't exist: joining creates it, and removes it when all have joined.
    pub fn join_by_file(&self, path: impl Into<PathBuf>, rank: u32, ranks: u32) -> JoinBuilder<'_> {
        JoinBuilder::new(self, By::File(path.into()), rank, ranks)
    }

    /// For rank `rank`, from 0, of a group of `ranks` processes of this host, which find each other by an id.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// use gpuorch::peers::PeersId;
    ///
    /// let id = PeersId::new()?; // one process makes it, and tells the others
    /// let peers = device.join_by_id(&id, 0, 1).join()?;
    /// assert_eq!((peers.rank(), peers.ranks()), (0, 1));
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn join_by_id<'a>(&'a self, id: &'a PeersId, rank: u32, ranks: u32) -> JoinBuilder<'a> {
        JoinBuilder::new(self, By::Id(id), rank, ranks)
    }

    /// For a group of the processes of an MPI communicator, with its ranks. `communicator` is an `MPI_Comm`, cast to a
    /// pointer; null for `MPI_COMM_WORLD`. The MPI library is loaded when it is first needed, and initialised unless
    /// the program has done so.
    ///
    /// # Safety
    ///
    /// `communicator` is null, or a communicator of the MPI that the library finds, which lives until the group's last
    /// handle is dropped. If the program calls MPI itself, MPI is initialised for `MPI_THREAD_MULTIPLE`, or the program
    /// makes no call as long as the group exists; and the program finalises MPI after the group was dropped.
    pub unsafe fn join_by_mpi(&self, communicator: *mut c_void) -> JoinBuilder<'_> {
        JoinBuilder::new(self, By::Mpi(communicator), 0, 0)
    }
}

impl<'a> JoinBuilder<'a> {
    fn new(device: &'a Device, by: By<'a>, rank: u32, ranks: u32) -> Self {
        let mut options = Options::of(sys::gpo_join_options::new());
        (options.rank, options.ranks) = (rank, ranks);
        Self { device, by, options }
    }

    /// How long joining may take, and how long a rank may keep a collective waiting that this process's stream has
    /// reached; by default a minute. [`Duration::MAX`]: no bound.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        // 0 stands for the default.
        self.options.timeout_ns = nanoseconds(timeout.max(Duration::from_nanos(1)));
        self
    }

    /// For development: with NCCL, too, the ranks compare each collective before it runs. If one differs, the
    /// collective fails with the rank's number. All ranks set this option, or none. With it, collectives can't be
    /// recorded.
    pub fn check_order(mut self) -> Self {
        self.options.flags |= sys::GPO_JOIN_CHECK_ORDER;
        self
    }

    /// Joins the group. Each process of the group calls this; the call blocks until all have joined.
    ///
    /// - [`ErrorKind::InvalidArgument`]: an option is wrong, or differs from rank 0's; or the path is that of another
    ///   file.
    /// - [`ErrorKind::InvalidState`]: this rank has joined already; another group is joining by the same file; MPI is
    ///   finalised, or was initialised for fewer threads.
    /// - [`ErrorKind::PeerLost`]: the timeout passed with ranks missing, which the message names; or a rank has died or
    ///   given up.
    /// - [`ErrorKind::NotSupported`]: MPI or NCCL is needed and can't be used; or the runtime is deterministic.
    /// - [`ErrorKind::Io`], [`ErrorKind::NotFound`]: a file can't be made, opened or mapped; or the folder doesn't
    ///   exist.
    ///
    /// [`ErrorKind::InvalidArgument`]: crate::ErrorKind::InvalidArgument
    /// [`ErrorKind::InvalidState`]: crate::ErrorKind::InvalidState
    /// [`ErrorKind::PeerLost`]: crate::ErrorKind::PeerLost
    /// [`ErrorKind::NotSupported`]: crate::ErrorKind::NotSupported
    /// [`ErrorKind::Io`]: crate::ErrorKind::Io
    /// [`ErrorKind::NotFound`]: crate::ErrorKind::NotFound
    pub fn join(mut self) -> Result<Peers> {
        const FUNCTION: &str = "gpo_peers_join";
        let path = match &self.by {
            By::File(path) => Some(c_path(path, FUNCTION)?),
            _ => None,
        };
        self.options.path = pointer(&path);
        self.options.by = match self.by {
            By::Mpi(communicator) => {
                self.options.communicator = communicator;
                sys::GPO_JOIN_MPI
            }
            By::File(_) => sys::GPO_JOIN_FILE,
            By::Id(id) => {
                self.options.id = id.0.as_ptr().cast();
                sys::GPO_JOIN_ID
            }
        };
        let mut raw = null_mut();
        call!(peers_join(self.device.as_raw(), self.options.checked(FUNCTION)?, &mut raw))?;
        Peers::of(raw, vec![self.device.clone()])
    }
}
