//! Ownership of the library's handles.

use crate::call::{call, status, text};
use crate::error::{Error, ErrorKind, Result};
use gpuorch_sys as sys;
use std::ffi::CString;

/// A handle of the library: a number whose type is a pointer that is never dereferenced.
pub(crate) trait Raw: Copy {
    fn destroy(self);
}

macro_rules! raw {
    ($($handle:ident: $destroy:ident),* $(,)?) => {
        $(impl Raw for sys::$handle {
            fn destroy(self) {
                // Fails only if the object was destroyed with its runtime.
                let _ = status!($destroy(self));
            }
        })*
    };
}

raw! {
    gpo_device_t: device_close, gpo_event_t: event_destroy, gpo_timeline_t: timeline_destroy,
    gpo_stream_t: stream_destroy, gpo_stream_pool_t: stream_pool_destroy, gpo_cq_t: cq_destroy,
    gpo_arena_t: arena_destroy, gpo_pool_t: pool_destroy, gpo_module_t: module_destroy,
    gpo_kernel_t: kernel_destroy, gpo_pipeline_t: pipeline_destroy, gpo_executor_t: executor_destroy,
    gpo_graph_t: graph_destroy, gpo_buckets_t: buckets_destroy, gpo_queue_t: queue_destroy,
    gpo_scheduler_t: scheduler_destroy, gpo_peers_t: peers_destroy, gpo_symmetric_t: symmetric_destroy,
    gpo_admission_t: admission_destroy, gpo_batcher_t: batcher_destroy,
}

/// A handle that keeps its parent alive, and is destroyed before the parent.
pub(crate) struct Owned<R: Raw, P> {
    pub(crate) raw: R,
    pub(crate) parent: P,
}

impl<R: Raw, P> Drop for Owned<R, P> {
    fn drop(&mut self) {
        self.raw.destroy();
    }
}

// SAFETY: a handle is a number, and any thread may call any function with it.
unsafe impl<R: Raw, P: Send> Send for Owned<R, P> {}
// SAFETY: likewise.
unsafe impl<R: Raw, P: Sync> Sync for Owned<R, P> {}

pub(crate) mod sealed {
    pub trait Sealed {
        fn object(&self) -> *mut std::ffi::c_void;
    }
}

/// Every object has a label, its name in errors, logs, statistics and traces; and carries a failure.
pub trait Object: sealed::Sealed {
    /// Sets the label; at most 63 bytes are stored. "" removes it.
    fn set_label(&self, label: &str) -> Result<()> {
        let label = c_string(label, "gpo_object_set_label")?;
        call!(object_set_label(self.object(), label.as_ptr()))
    }

    /// The label; "" where there is none.
    fn label(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(object_get_label(self.object(), buffer, room, needed)),
            "gpo_object_get_label",
        )
    }

    /// The failure that the object carries: for streams, timelines, pipelines and devices the first failure that stays;
    /// otherwise the failure of the last failed call on the object.
    fn last_error(&self) -> Result<Option<Error>> {
        let mut error = sys::gpo_error::new();
        call!(object_get_error(self.object(), &mut error))?;
        Ok((error.status != sys::GPO_SUCCESS).then(|| Error::from_sys(&error)))
    }
}

macro_rules! objects {
    ($([$($generics:tt)*] $type:ty = $name:literal),* $(,)?) => {$(
        impl<$($generics)*> sealed::Sealed for $type {
            fn object(&self) -> *mut std::ffi::c_void {
                self.as_raw().cast()
            }
        }

        impl<$($generics)*> Object for $type {}

        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).field("label", &self.label().unwrap_or_default()).finish_non_exhaustive()
            }
        }
    )*};
}

objects! {
    [] crate::Runtime = "Runtime",
    [] crate::Device = "Device",
    [] crate::Stream = "Stream",
    [] crate::StreamPool = "StreamPool",
    [] crate::Event = "Event",
    [] crate::Timeline = "Timeline",
    [] crate::CompletionQueue = "CompletionQueue",
    [] crate::Executor = "Executor",
    [] crate::Admission = "Admission",
    [] crate::batcher::Batcher = "Batcher",
    [] crate::Arena = "Arena",
    [] crate::Pool = "Pool",
    [] crate::Module = "Module",
    [] crate::Kernel = "Kernel",
    [] crate::Pipeline = "Pipeline",
    [] crate::Template = "Template",
    [] crate::Graph = "Graph",
    [] crate::Buckets = "Buckets",
    [] crate::queue::Range = "Range",
    [T: crate::queue::Task] crate::queue::Ring<T> = "Ring",
    [T: crate::queue::Task, A: crate::queue::Answer] crate::queue::HostRing<T, A> = "HostRing",
    [] crate::scheduler::Scheduler = "Scheduler",
    [] crate::peers::Peers = "Peers",
    [T: bytemuck::Pod] crate::peers::Symmetric<T> = "Symmetric",
}

/// Implements `Debug` for builders and the like: shows their name.
macro_rules! shown_by_name {
    ($([$($generics:tt)*] $type:ty = $name:literal),* $(,)?) => {$(
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    )*};
}

shown_by_name! {
    [] crate::RuntimeBuilder = "RuntimeBuilder",
    [] crate::DeviceBuilder<'_> = "DeviceBuilder",
    [] crate::StreamBuilder<'_> = "StreamBuilder",
    [] crate::StreamPoolBuilder<'_> = "StreamPoolBuilder",
    [] crate::EventBuilder<'_> = "EventBuilder",
    [] crate::ExecutorBuilder<'_> = "ExecutorBuilder",
    [] crate::AdmissionBuilder<'_> = "AdmissionBuilder",
    [] crate::batcher::BatcherBuilder<'_> = "BatcherBuilder",
    [I, O] crate::batcher::KeyBuilder<'_, I, O> = "KeyBuilder",
    [] crate::ArenaBuilder<'_> = "ArenaBuilder",
    [] crate::PoolBuilder<'_> = "PoolBuilder",
    [] crate::Compile<'_> = "Compile",
    [] crate::Trace<'_> = "Trace",
    [] crate::pipeline::PipelineBuilder<'_> = "PipelineBuilder",
    [] crate::template::TemplateBuilder<'_> = "TemplateBuilder",
    [] crate::template::GraphBuilder<'_> = "GraphBuilder",
    [] crate::template::BucketsBuilder<'_> = "BucketsBuilder",
    [] crate::peers::PeersBuilder<'_> = "PeersBuilder",
    [] crate::peers::JoinBuilder<'_> = "JoinBuilder",
    [Q] crate::queue::QueueBuilder<'_, Q> = "QueueBuilder",
    [F] crate::scheduler::SchedulerBuilder<'_, F> = "SchedulerBuilder",
    [T] crate::peers::SymmetricBuilder<'_, T> = "SymmetricBuilder",
    [] crate::pipeline::Stage = "Stage",
    [S] crate::pipeline::Source<S> = "Source",
    [K] crate::pipeline::Sink<K> = "Sink",
}

/// A text as a C string.
pub(crate) fn c_string(text: &str, function: &'static str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(ErrorKind::InvalidArgument, function, format!("{text:?} holds a NUL")))
}

pub(crate) fn optional_c_string(text: Option<&str>, function: &'static str) -> Result<Option<CString>> {
    text.map(|text| c_string(text, function)).transpose()
}

/// The pointer to a text; NULL for `None`.
pub(crate) fn pointer(text: &Option<CString>) -> *const std::ffi::c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// A timeout in nanoseconds; -1, no bound, for more than 292 years.
pub(crate) fn nanoseconds(timeout: std::time::Duration) -> i64 {
    i64::try_from(timeout.as_nanos()).unwrap_or(-1)
}

/// A time in nanoseconds, for an option; the greatest number for more than 292 years.
pub(crate) fn nanoseconds_from(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The library's clock, which std doesn't give as a number.
pub(crate) fn monotonic_ns() -> u64 {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_MONOTONIC: i32 = 1;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library of 64-bit Linux writes this struct.
    unsafe { clock_gettime(CLOCK_MONOTONIC, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// A time as a number of the library's clock; the greatest number for a time that the clock can't reach.
pub(crate) fn clock_time(time: std::time::Instant) -> u64 {
    // The clock is read last, so that the sum may be late, but is never early.
    let ahead = time.saturating_duration_since(std::time::Instant::now());
    monotonic_ns().saturating_add(nanoseconds_from(ahead))
}

pub(crate) const FOR_EVER: i64 = -1;
