//! A kernel that crashes. All devices of the process are lost, hence the process of its own.

mod world;

use gpuorch::{ErrorKind, Launch, Result};
use world::{SOURCE, world};

#[test]
fn a_lost_device_gives_the_buffers_back() -> Result<()> {
    let w = world();
    let crash = w.device.compile(SOURCE)?.kernel("crash")?;
    // SAFETY: the kernel takes one address, and only traps.
    let crash = unsafe { crash.bind::<(gpuorch::DeviceBuffer<u32>,)>()? };
    let x = w.device.buffer::<u32>(4)?;
    crash.launch(&w.stream, &Launch::new(1, 1), (&x,))?;
    let copied = w.stream.copy_to_host(&x, vec![7u32; 4]);
    let (error, buffer) = match copied {
        Ok(operation) => operation.wait().unwrap_err().into_parts(),
        Err(failed) => failed.into_parts(),
    };
    assert_eq!(error.kind(), ErrorKind::DeviceLost);
    assert_eq!(buffer.expect("it comes back").len(), 4);
    Ok(())
}
