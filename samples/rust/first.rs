//! A first program: a kernel from source, its data on a stream, and an await in place of a wait for the GPU. The
//! program runs on CUDA where there is a GPU, else on the software GPU.
//!     cargo add gpuorch pollster && cargo run
use gpuorch::{Launch, Result, Runtime, Slice};

const SOURCE: &str = r#"extern "C" __global__ void halve(float *x, unsigned long long n) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f; }"#;

async fn run() -> Result<()> {
    let device = Runtime::new()?.open_device()?;
    let stream = device.stream()?;
    // SAFETY: the kernel takes an address and a count, and stays below the count.
    let halve = unsafe { device.compile(SOURCE)?.kernel("halve")?.bind::<(Slice<f32>,)>()? };
    let mut host = device.arena()?.zeroed::<f32>(1 << 20)?; // pinned: copies run beside other work
    host.iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
    let x = device.buffer::<f32>(host.len())?;
    let upload = stream.copy_to_device(host, &x)?; // has `host` until it is done
    halve.launch(&stream, &Launch::each(x.len(), 256), (&x,))?;
    let host = stream.copy_to_host(&x, upload.await?)?.await?; // any runtime: this thread is free meanwhile
    println!("x[1000] is {}", host[1000]);
    Ok(())
}

fn main() -> Result<()> {
    pollster::block_on(run())
}
