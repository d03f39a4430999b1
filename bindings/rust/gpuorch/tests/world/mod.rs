//! The common setup of the tests: a software GPU (or the choice of `GPUORCH_DEVICE`), and kernels.
#![allow(dead_code)]

pub mod calls;
pub mod recorded;

use gpuorch::{BoundKernel, Device, Launch, Result, Runtime, Slice, Stream};
use std::time::{Duration, Instant};

pub struct World {
    pub runtime: Runtime,
    pub device: Device,
    pub stream: Stream,
}

pub fn world() -> World {
    let runtime = Runtime::new().expect("a runtime");
    let device = runtime.open_device().expect("a device");
    let stream = device.stream().expect("a stream");
    World { runtime, device, stream }
}

/// Waits until `holds` does. Panics with `what` after 20 s.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

pub const SOURCE: &str = r#"
extern "C" __global__ void scale(float *x, unsigned long long n, float by) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
struct queue { unsigned long long words[8]; };
extern "C" __global__ void take(queue) {}
struct symmetric { unsigned long long words[40]; };
extern "C" __global__ void meet(symmetric) {}
extern "C" __global__ void crash(unsigned *) { __trap(); }
extern "C" __global__ void wait_for(volatile unsigned *flag, unsigned long long) { while (flag[0] == 0) {} }
"#;

pub const HANDLER: &str = r#"
#include <gpuorch/device/scheduler.cuh>
struct number { unsigned handler, rest[3]; };
__device__ int nothing(gpo::task_context &, const number &) { return 0; }
"#;

impl World {
    pub fn scale(&self) -> Result<BoundKernel<(Slice<f32>, f32)>> {
        // SAFETY: an address, a count that it stays below, and a float.
        unsafe { self.device.compile(SOURCE)?.kernel("scale")?.bind() }
    }

    pub fn launch_scale(&self, x: &gpuorch::DeviceBuffer<f32>, by: f32) -> Result<()> {
        self.scale()?.launch(&self.stream, &Launch::each(x.len(), 64), (x, by))?;
        Ok(())
    }
}
