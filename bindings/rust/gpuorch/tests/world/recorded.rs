//! A template that is recorded from two operations, with names for all that can change.

use super::{World, world};
use gpuorch::template::Parameter;
use gpuorch::{BoundKernel, DeviceBuffer, ErrorKind, Graph, Launch, Result, Slice, Template};

const SOURCE: &str = r#"
extern "C" __global__ void affine(unsigned *x, unsigned long long n, unsigned factor, unsigned offset) {
    unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * factor + offset;
}
"#;

pub const LEN: usize = 64;

pub type Affine = BoundKernel<(Slice<u32>, u32, u32)>;

#[track_caller]
pub fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

pub fn affine(w: &World) -> Result<Affine> {
    // SAFETY: an address, a count that it stays below, and two numbers.
    unsafe { w.device.compile(SOURCE)?.kernel("affine")?.bind() }
}

pub fn read(w: &World, x: &DeviceBuffer<u32>) -> Result<Vec<u32>> {
    Ok(w.stream.copy_to_host(x, vec![0; x.len()])?.wait()?)
}

/// A fill with 1, and a kernel that makes `x * factor + 5` of the elements, with a parameter for every field that can
/// change.
pub struct Work {
    pub w: World,
    pub x: DeviceBuffer<u32>,
    pub other: DeviceBuffer<u32>,
    pub affine: Affine,
    pub template: Template,
}

pub struct Named {
    pub begin: Parameter<u32>,
    pub filled: Parameter<u64>,
    pub memory: Parameter<u64>,
    pub factor: Parameter<u32>,
    pub grid: Parameter<[u32; 3]>,
    pub block: Parameter<[u32; 3]>,
    pub shared: Parameter<u32>,
    pub scaled: Parameter<u32>,
}

impl Work {
    pub fn new() -> Result<Self> {
        let w = world();
        let (x, other, affine) = (w.device.buffer(LEN)?, w.device.buffer(LEN)?, affine(&w)?);
        let template = w.device.template_builder().label("work").build()?;
        Ok(Self { x, other, affine, template, w })
    }

    pub fn record(&self, factor: u32, twice: bool) -> Result<Named> {
        let stream = &self.w.stream;
        let launch = Launch::new(2, 32).label(c"scale");
        // SAFETY: the buffers outlive the launches: each launch is waited for. Tests set only addresses of these
        // buffers.
        unsafe {
            self.template.record(stream, |rec| {
                stream.fill(&self.x, 1)?;
                let fill = rec.last_node(stream)?;
                self.affine.launch(stream, &launch, (&self.x, factor, 5))?;
                let kernel = rec.last_node(stream)?;
                if twice {
                    self.affine.launch(stream, &Launch::new(2, 32), (&self.x, factor, 5))?;
                }
                rec.parameter("memory", kernel.argument::<u64>(0))?;
                Ok(Named {
                    begin: rec.parameter("begin", fill.value())?,
                    filled: rec.parameter("filled", fill.bytes())?,
                    memory: rec.parameter("memory", fill.destination())?,
                    factor: rec.parameter("factor", kernel.argument(2))?,
                    grid: rec.parameter("grid", kernel.grid())?,
                    block: rec.parameter("block", kernel.block())?,
                    shared: rec.parameter("shared", kernel.dynamic_shared_bytes())?,
                    scaled: rec.parameter("scaled", kernel.enabled())?,
                })
            })
        }
    }

    /// The first and the last element after a launch.
    pub fn run(&self, graph: &Graph) -> Result<(u32, u32)> {
        graph.launch(&self.w.stream)?;
        self.ends(&self.x)
    }

    pub fn ends(&self, x: &DeviceBuffer<u32>) -> Result<(u32, u32)> {
        let host = read(&self.w, x)?;
        Ok((host[0], host[LEN - 1]))
    }
}
