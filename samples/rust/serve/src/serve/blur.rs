//! The work of the service: a kernel that blurs all images of a batch.

use crate::ppm::Image;
use gpuorch::batcher::{Batcher, Failure, Key};
use gpuorch::{Launch, Runtime, Slice};
use std::time::Duration;

/// In a batch, the width and the height are in front of the pixels: an element each.
const HEAD: usize = 2;
/// An element: the bytes of a pixel.
const ELEMENT: usize = 3;
const MOST_IN_BATCH: u32 = 256;

pub struct Blur {
    key: Key<u8, u8>,
    within: Duration,
}

impl Blur {
    /// For images of at most `side` x `side` pixels. At most `waiting` images wait. A request is refused if it can't be
    /// done `within` that time.
    pub fn new(runtime: &Runtime, side: usize, waiting: u32, within: Duration) -> gpuorch::Result<Self> {
        let device = runtime.open_device()?;
        let module = device.compile_builder(include_str!("blur.cu")).file_name("blur.cu").compile()?;
        // SAFETY: the kernel stays within the lengths of its slices. Only the closure below launches it, with offsets
        // that lie within the batch.
        let kernel = unsafe { module.kernel("blur")?.bind::<(Slice<u8>, Slice<u8>, Slice<u32>)>()? };
        let batcher = Batcher::builder([&device]).capacity(waiting).label("blur").build()?;
        // A batch has two of the largest images, or many small ones. The kernel writes each element, so the output
        // needs no zeros.
        let most = 2 * (HEAD + side * side) as u64;
        let images = batcher.ragged::<u8, u8>(ELEMENT, ELEMENT, most).max_batch(MOST_IN_BATCH).keep_output();
        let key = images.label("images").work(move |batch| {
            let threads = Launch::each(batch.elements(), 128);
            kernel.launch(batch.stream(), &threads, (batch.input(), batch.output(), batch.offsets()))?;
            Ok::<_, gpuorch::Error>(())
        })?;
        Ok(Self { key, within })
    }

    /// The pixels of the blurred image. If the future is dropped, an image that waits leaves the line. The memory of an
    /// image that is in a batch already stays until the GPU is done with it.
    pub async fn blurred(&self, image: &Image<'_>, flow: u64) -> Result<Vec<u8>, Failure> {
        let mut input = Vec::with_capacity(HEAD * ELEMENT + image.pixels.len());
        for number in [image.width, image.height] {
            input.extend_from_slice(&(number as u32).to_le_bytes()[..ELEMENT]);
        }
        input.extend_from_slice(image.pixels);
        let request = self.key.request(input).flow(flow).within(self.within);
        let mut output = self.key.batcher().submit(request).await?;
        output.drain(..HEAD * ELEMENT);
        Ok(output)
    }

    pub fn batcher(&self) -> &Batcher {
        self.key.batcher()
    }
}
