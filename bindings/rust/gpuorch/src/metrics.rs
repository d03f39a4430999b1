//! Numbers for monitoring: the activity of the library and its GPUs.

use crate::call::{call, status, text};
use crate::device::Device;
use crate::error::Result;
use crate::figures::{DeviceMetrics, Metrics};
use crate::runtime::Runtime;

impl Runtime {
    /// Pending work, memory in use, the latency of completions, and failures. Blocks on nothing.
    pub fn metrics(&self) -> Result<Metrics> {
        let mut metrics = Metrics::empty();
        call!(runtime_get_metrics(self.as_raw(), &mut metrics.0))?;
        Ok(metrics)
    }

    /// All metrics and statistics in Prometheus' text format 0.0.4.
    pub fn metrics_text(&self) -> Result<String> {
        text(
            |buffer, room, needed| status!(runtime_get_metrics_text(self.as_raw(), buffer, room, needed)),
            "gpo_runtime_get_metrics_text",
        )
    }
}

impl Device {
    /// The metrics of the device; on CUDA devices they come from NVML. The software GPU has only the numbers about
    /// memory.
    pub fn metrics(&self) -> Result<DeviceMetrics> {
        let mut metrics = DeviceMetrics::empty();
        call!(device_get_metrics(self.as_raw(), &mut metrics.0))?;
        Ok(metrics)
    }
}
