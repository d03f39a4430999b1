//! Which form of work fits a workload, why, and how much faster the workload would be.
//!
//! A program describes a [`Workload`] by what it has measured. The answer is a list of forms in which the workload
//! could run, the best first: as it is, a graph template, more streams or fewer, a device queue, and so on. Each form
//! comes with its expected gain and a reason with the figures behind it. The gain is a prediction: measure the advised
//! form.
//!
//! ```
//! use gpuorch::{advice::Workload, sys::GPO_FORM_GRAPH};
//! # let runtime = gpuorch::Runtime::new()?;
//! # let device = runtime.open_device()?;
//! let advised = Workload::new().repeats().launches(100).kernel_ns(109_000).advise(Some(&device))?;
//! let best = &advised.forms[0];
//! assert_eq!(best.form, GPO_FORM_GRAPH);
//! println!("{} to {} thousandths: {}", best.gain_low, best.gain_high, best.reason());
//! # Ok::<(), gpuorch::Error>(())
//! ```

use crate::call::{call, status, text};
use crate::device::Device;
use crate::error::Result;
use crate::trace::c_path;
use gpuorch_sys as sys;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Deref;
use std::path::Path;
use std::ptr::null_mut;

pub use crate::generated::{Advice, Costs, Diagnosis};

impl Device {
    /// The costs of launches, copies and the like on this device: an H200's, with the multiprocessors and the rates of
    /// memory and arithmetic of this device.
    pub fn costs(&self) -> Result<Costs> {
        self.costs_by(0)
    }

    /// Like [`costs`](Self::costs), with launches, graphs and copies measured on the device, in about ten milliseconds.
    /// Serialises the device. Other work on the device meanwhile makes the costs greater.
    pub fn measured_costs(&self) -> Result<Costs> {
        self.costs_by(sys::GPO_COSTS_PROBE)
    }

    fn costs_by(&self, flags: u32) -> Result<Costs> {
        let mut costs = Costs::empty();
        call!(device_get_costs(self.as_raw(), flags, &mut costs.0))?;
        Ok(costs)
    }
}

impl Costs {
    /// Costs of the program's own. A cost of 0 stands for the device's.
    pub fn of(mut raw: sys::gpo_costs) -> Self {
        raw.struct_size = size_of::<sys::gpo_costs>() as u32;
        Self(raw)
    }
}

/// A workload, described by one *round*: the work that the program repeats. A figure that isn't given is unknown. Its
/// numbers are fields of [`gpo_workload`](sys::gpo_workload).
#[derive(Clone, Copy)]
#[must_use = "a workload is for `advise`"]
pub struct Workload<'a> {
    pub(crate) raw: sys::gpo_workload,
    borrowed: PhantomData<&'a [f32]>,
}

// SAFETY: numbers, and pointers to borrowed values that are only read.
unsafe impl Send for Workload<'_> {}
// SAFETY: likewise.
unsafe impl Sync for Workload<'_> {}

/// The answer of [`Workload::advise`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Advised {
    /// The use of a round's time now.
    pub diagnosis: Diagnosis,
    /// The forms, the best first. `GPO_FORM_LEAVE`, no change, is always in the list; forms behind it are expected to
    /// gain too little.
    pub forms: Vec<Advice>,
}

impl<'a> Workload<'a> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self { raw: sys::gpo_workload::new(), borrowed: PhantomData }
    }

    /// The cost of each task, in any unit, in the tasks' order: a sample of neighbours will do.
    pub fn task_costs(mut self, costs: &'a [f32]) -> Self {
        self.raw.task_costs = if costs.is_empty() { std::ptr::null() } else { costs.as_ptr() };
        self.raw.cost_stride = size_of::<f32>() as u64;
        self.raw.cost_count = costs.len() as u64;
        self
    }

    /// The costs of launches, graphs and copies, in place of the device's.
    pub fn costs(mut self, costs: &'a Costs) -> Self {
        self.raw.costs = &costs.0;
        self
    }

    /// Says which forms fit. Without a device the costs are an H200's. Takes up to some microseconds for each task
    /// cost.
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): a figure is impossible; the message names it.
    pub fn advise(&self, device: Option<&Device>) -> Result<Advised> {
        const ROOM: usize = 16;
        let (stride, mut count) = (size_of::<sys::gpo_advice>() as u64, 0);
        let mut diagnosis = Diagnosis::empty();
        let mut forms = [Advice::empty().0; ROOM];
        let device = device.map_or(null_mut(), Device::as_raw);
        call!(advise(device, &self.raw, &mut diagnosis.0, forms.as_mut_ptr(), stride, ROOM as u64, &mut count))?;
        Ok(Advised { diagnosis, forms: forms[..count as usize].iter().map(|&form| Advice(form)).collect() })
    }
}

impl Default for Workload<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Workload<'_> {
    type Target = sys::gpo_workload;

    fn deref(&self) -> &sys::gpo_workload {
        &self.raw
    }
}

impl fmt::Debug for Workload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Workload");
        out.field("launches", &self.launches).field("round_ns", &self.round_ns).field("kernel_ns", &self.kernel_ns);
        out.field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

/// Reads a [trace](crate::Trace) that the library wrote, gzipped or not. The text shows the use of each GPU's time, and
/// possible improvements with their expected gain. The workload is the traced work of the GPU with the most work, to be
/// completed and [advised](Workload::advise) upon.
///
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound): the file doesn't exist.
/// [`ErrorKind::Io`](crate::ErrorKind::Io): the file can't be read.
/// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the file is no trace of this library.
/// [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded): the trace has more than 2^22 operations.
pub fn advise_trace(path: impl AsRef<Path>) -> Result<(String, Workload<'static>)> {
    const FUNCTION: &str = "gpo_advise_trace";
    let path = c_path(path.as_ref(), FUNCTION)?;
    let workload = std::cell::Cell::new(sys::gpo_workload::new());
    let text = text(
        |buffer, room, needed| status!(advise_trace(path.as_ptr(), workload.as_ptr(), buffer, room, needed)),
        FUNCTION,
    )?;
    Ok((text, Workload { raw: workload.get(), borrowed: PhantomData }))
}
