//! A first program: a kernel from source, its data on a stream, and an await in place of a wait for the GPU.
//!     cd bindings/rust && cargo run -p gpuorch-samples --bin first
use gpuorch::{Launch, Result, Runtime, Slice};

const N: usize = 1 << 20;
const SOURCE: &str = r#"
    extern "C" __global__ void halve(float *x, unsigned long long n) {
        unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= 0.5f;
    }"#;

async fn run() -> Result<()> {
    let runtime = Runtime::new()?; // CUDA where there is a GPU, else the software GPU
    let device = runtime.open_device()?;
    let stream = device.stream()?;
    // SAFETY: its parameters are an address and a count, and it stays below the count.
    let halve = unsafe { device.compile(SOURCE)?.kernel("halve")?.bind::<(Slice<f32>,)>()? };

    let mut host = device.arena()?.zeroed::<f32>(N)?; // pinned: copies run beside other work
    for (i, x) in host.iter_mut().enumerate() {
        *x = i as f32;
    }
    let x = device.buffer::<f32>(N)?;
    let upload = stream.copy_to_device(host, &x)?; // has `host` until it is done
    halve.launch(&stream, &Launch::each(N, 256), (&x,))?;
    let host = stream.copy_to_host(&x, upload.await?)?.await?; // any runtime: this thread is free meanwhile
    println!("x[1000] is {}", host[1000]);
    Ok(())
}

fn main() -> Result<()> {
    pollster::block_on(run())
}
