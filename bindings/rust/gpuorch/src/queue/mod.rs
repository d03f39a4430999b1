//! Queues that kernels take their work from: the GPU hands out its own work.
//!
//! - [`Range`] hands out the numbers below a count in batches: a worker that is done early takes more. For tasks that
//!   exist before the launch and differ in length.
//! - [`Ring`] is a bounded queue of tasks in device memory. Kernels push and pop, and tasks may push tasks.
//! - [`HostRing`] carries tasks from the host to a kernel that stays on the GPU, and its answers back.
//!
//! A [`scheduler`](crate::scheduler) does the tasks of a ring or a host ring by functions of the program.
//!
//! A kernel takes a queue as an argument, by value: a `gpo::range` or a `gpo::ring` of `gpuorch/device/queue.cuh`,
//! which documents their use in kernels. [`Device::compile`] finds that header by itself. In Rust the parameter is of
//! the queue's own type, and the argument is a reference to the queue.
//!
//! ```
//! use gpuorch::{Launch, Slice, queue::Range};
//! # let runtime = gpuorch::Runtime::new()?;
//! # let device = runtime.open_device()?;
//! # let stream = device.stream()?;
//! let module = device.compile(
//!     r#"#include <gpuorch/device/queue.cuh>
//!        extern "C" __global__ void count(gpo::range rows, unsigned *seen, unsigned long long n) {
//!            gpo::thread_range mine(rows);
//!            unsigned long long first, last;
//!            while (mine.next(first, last) == gpo::queue_success)
//!                for (unsigned long long i = first; i < last; ++i)
//!                    if (mine.number(i) < n) atomicAdd(&seen[mine.number(i)], 1);
//!        }"#,
//! )?;
//! // SAFETY: a gpo::range, an address and a count, which it stays below whatever the range's numbers are.
//! let count = unsafe { module.kernel("count")?.bind::<(Range, Slice<u32>)>()? };
//!
//! let rows = device.range(1000).batch(8).build()?;
//! let seen = device.buffer::<u32>(1000)?;
//! stream.fill(&seen, 0)?;
//! for _ in 0..3 {
//!     count.launch(&stream, &Launch::new(2, 64), (&rows, &seen))?; // nothing is reset in between
//! }
//! assert_eq!(stream.copy_to_host(&seen, vec![0; 1000])?.wait()?, [3; 1000]);
//! # Ok::<(), gpuorch::Error>(())
//! ```
//!
//! # Ownership
//!
//! A queue owns its memory. Dropping a queue blocks on nothing: its memory is freed behind all earlier work on the
//! device's streams.
//!
//! A kernel that stays on the GPU runs on a [resident](crate::StreamBuilder::resident) stream, which this free doesn't
//! wait for. Therefore a launch on a resident stream takes only queues made for that stream:
//! [`QueueBuilder::resident_on`]. Queues of a resident stream are aborted when they are dropped and when the runtime
//! shuts down. The abort ends the kernel; the memory stays until its end.
//!
//! A template doesn't keep alive the queues of its nodes: see the safety of [`Template::record`]. The value that a
//! kernel gets stays the same for as long as the queue lives; only the first [`Range::set_costs`] changes it.
//!
//! [`Template::record`]: crate::Template::record

mod awaited;
mod builder;
mod host_ring;
mod range;
mod ring;
mod task;
mod watch;

pub use awaited::{Posting, Taking};
pub use builder::QueueBuilder;
#[doc(hidden)]
pub use bytemuck::{Pod, Zeroable};
pub use host_ring::{Answered, HostRing, Tenant};
pub use range::Range;
pub use ring::Ring;
#[doc(hidden)]
pub use task::declared;
pub use task::{Answer, DeviceType, Task};

use crate::call::call;
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::Owned;
use crate::memory::MemoryUser;
use crate::stream::Stream;
use gpuorch_sys as sys;
use watch::Watches;

/// The common part of all kinds of queues.
pub(crate) struct Shared {
    owned: Owned<sys::gpo_queue_t, Device>,
    /// The handle of the resident stream that the queue was made for; 0: none.
    resident_on: usize,
    /// For host rings.
    watches: Watches,
}

impl Shared {
    pub(crate) fn raw(&self) -> sys::gpo_queue_t {
        self.owned.raw
    }

    pub(crate) fn device(&self) -> &Device {
        &self.owned.parent
    }

    /// The value that kernels take: `WORDS` words, by the queue's kind.
    fn device_handle<const WORDS: usize>(&self) -> Result<[u64; WORDS]> {
        let mut words = [0; WORDS];
        let bytes = size_of_val(&words);
        call!(queue_get_device_handle(self.raw(), words.as_mut_ptr().cast(), bytes, std::ptr::null_mut()))?;
        Ok(words)
    }

    /// The value for a launch by `user`, after checks.
    #[inline]
    fn given_to<const WORDS: usize>(&self, user: MemoryUser<'_>) -> Result<[u64; WORDS]> {
        match user {
            MemoryUser::Stream(stream) => {
                self.check_device(stream.device(), "gpo_stream_launch_kernel")?;
                self.check_residence(stream)?;
            }
            MemoryUser::Node(device) => self.check_device(device, "gpo_template_add_kernel")?,
        }
        self.device_handle()
    }

    #[inline]
    fn check_device(&self, device: &Device, function: &'static str) -> Result<()> {
        if device.as_raw() == self.owned.parent.as_raw() { Ok(()) } else { self.check_context(device, function) }
    }

    /// Two handles may be of one device.
    #[cold]
    fn check_context(&self, device: &Device, function: &'static str) -> Result<()> {
        if self.owned.parent.is_same(device)? {
            return Ok(());
        }
        let message = "a queue among the arguments is of another device than the kernel's launch";
        Err(Error::new(ErrorKind::InvalidArgument, function, message))
    }

    /// Refuses a resident stream that the queue wasn't made for: the queue's memory would be freed while the kernel
    /// runs.
    fn check_residence(&self, stream: &Stream) -> Result<()> {
        if !stream.is_resident() || stream.as_raw() as usize == self.resident_on {
            return Ok(());
        }
        let message = "the stream is resident, and a queue among the arguments was not made for it (`resident_on`)";
        Err(Error::new(ErrorKind::InvalidArgument, "gpo_stream_launch_kernel", message))
    }
}
