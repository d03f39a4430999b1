//! stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...: streams files through a GPU, or the software GPU where
//! there is none. A kernel counts the bytes of each chunk, maps them by a table of 256 (by default the complement) and
//! takes the CRC-32 of the result. In the pipeline, reading, copying in, kernels, copying out and taking go on at the
//! same time. Without files the program takes the largest of the machine's own. -o writes the mapped files into DIR,
//! --trace a picture of the run over time, timeline.svg, and trace.json for ui.perfetto.dev.
use bytemuck::{Pod, Zeroable};
use gpuorch::pipeline::{Chunk, Flow, Input, InputBytes, Output, ResultBlock, Sink, Source, Stage};
use gpuorch::{Device, DeviceBuffer, Pipeline, Runtime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::collections::HashMap;
use std::error::Error;
use std::ffi::OsStr;
use std::io::{IsTerminal, Read, Write, stderr, stdout};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Counts of a chunk; then of a file, or of all files.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Counted {
    histogram: [u64; 256],
    crc: u32,
    unused: u32,
}

/// `powers[k]` is x^(8 * 2^k): CRCs are polynomials over GF(2) modulo the polynomial of CRC-32; the highest bit is x^0.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Tables {
    map: [u8; 256],
    powers: [u32; 32],
}

/// Figures of a file, or of all files: sums, and times in nanoseconds, also of the copies.
#[derive(Clone, Copy)]
struct Figures {
    sum: Counted,
    bytes: u64,
    elapsed: u64,
    copied: u64,
    hidden: u64,
}

const KERNEL: &str = include_str!("../stream_files.cu");
type Parameters = (DeviceBuffer<u8>, DeviceBuffer<u8>, DeviceBuffer<Counted>, u64, Tables);

fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for i in (0..32).rev() {
        product ^= if a >> i & 1 != 0 { b } else { 0 };
        b = b >> 1 ^ if b & 1 != 0 { 0xedb8_8320 } else { 0 };
    }
    product
}

impl Tables {
    fn new(map: [u8; 256]) -> Self {
        let mut powers = [1 << 23; 32];
        for k in 1..32 {
            powers[k] = multiply(powers[k - 1], powers[k - 1]);
        }
        Self { map, powers }
    }

    /// The CRC of the data with the CRC `crc`, followed by `zeros` zeros.
    fn with_zeros(&self, crc: u32, zeros: u64) -> u32 {
        (0..64).filter(|k| zeros >> k & 1 != 0).fold(crc, |crc, k| multiply(self.powers[k % 32], crc)) // x^(8 * 2^32) is x^8 again
    }
}

impl Figures {
    fn none() -> Self {
        Self { sum: Counted::zeroed(), bytes: 0, elapsed: 0, copied: 0, hidden: 0 }
    }

    /// Adds the next part: a chunk of a file, or a file.
    fn add(&mut self, bytes: u64, next: &Counted, tables: &Tables) {
        for (sum, count) in self.sum.histogram.iter_mut().zip(next.histogram) {
            *sum += count;
        }
        self.sum.crc = tables.with_zeros(self.sum.crc, bytes) ^ next.crc;
        self.bytes += bytes;
    }

    fn print(&self, name: &str, tables: &Tables) {
        let size = self.bytes as f64;
        let shares = self.sum.histogram.iter().map(|&n| n as f64 / size).filter(|&share| share > 0.0);
        let entropy = shares.fold(0.0, |entropy, share| entropy - share * share.log2());
        let crc = tables.with_zeros(!0, self.bytes) ^ self.sum.crc ^ !0;
        let speed = if self.bytes > 0 { size / self.elapsed as f64 } else { 0.0 };
        let hidden = if self.copied > 0 { 100.0 * self.hidden as f64 / self.copied as f64 } else { 0.0 };
        say(&format!(
            "{name}: {size} bytes, entropy {entropy:.4}, CRC-32 {crc:08x}, {speed:.2} GB/s, {hidden:.0} % of copying hidden"
        ));
    }
}

/// Whether the standard output failed, which is reported once.
static UNWRITABLE: AtomicBool = AtomicBool::new(false);

fn say(line: &str) {
    let mut out = stdout();
    if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
        if !UNWRITABLE.swap(true, Relaxed) {
            eprintln!("stream_files: standard output: {error}");
        }
    }
}

/// Whether the file is really empty: files of /proc have the size 0, too, but contents.
fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == 0)
        && std::fs::File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok_and(|read| read == 0)
}

/// Whether the program was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

struct Job {
    pipeline: Pipeline,
    tables: Tables,
    folder: Option<PathBuf>,
    interrupted: Arc<AtomicUsize>, // by which signal
}

impl Job {
    fn new(device: &Device, tables: Tables, folder: Option<PathBuf>) -> Result<Self, Box<dyn Error>> {
        let module = device.compile_builder(KERNEL).file_name("stream.cu").compile()?;
        // SAFETY: the kernel reads `bytes` bytes of its first buffer, writes as many to the second, and adds to one
        // result. Only the pipeline launches it, with buffers of these sizes.
        let kernel = unsafe { module.kernel("stream_files")?.bind::<Parameters>()? };
        let stage = Stage::kernel(&kernel, (Input, Output, ResultBlock, InputBytes, tables));
        let stage = stage.block(64).bytes_per_block(64 << 10);
        let pipeline = device.pipeline().stage(stage).times().result_bytes(size_of::<Counted>() as u64).build()?;
        let interrupted = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && is_ignored(signal) {
                continue; // as nohup leaves it
            }
            // The first signal of a kind ends the run, the second ends the program.
            let came = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&came))?;
            flag::register(signal, came)?;
            flag::register_usize(signal, Arc::clone(&interrupted), signal as usize)?;
        }
        Ok(Self { pipeline, tables, folder, interrupted })
    }

    fn stream(&self, path: &Path) -> Result<Figures, Box<dyn Error>> {
        if is_empty(path) {
            return Err("it is empty".into());
        }
        let figures = Arc::new(Mutex::new(Figures::none()));
        let (taken, tables) = (Arc::clone(&figures), self.tables);
        let take = move |chunk: &Chunk<'_>| {
            taken.lock().map_err(|error| error.to_string())?.add(chunk.bytes(), &chunk.result_as(), &tables);
            Ok::<_, String>(Flow::Continue)
        };
        let sink = match &self.folder {
            Some(folder) => Sink::file(self.target(folder, path)?).take(take),
            None => Sink::callback(take),
        };
        let run = self.pipeline.start(Source::file(path).unchanged(), sink).map_err(gpuorch::Error::from)?;
        while !run.wait_for(Duration::from_millis(100))? {
            if self.interrupted.load(Relaxed) != 0 {
                run.cancel()?;
            }
            if stderr().is_terminal() {
                let now = run.progress()?;
                eprint!(
                    "\r\x1b[K{}: {:.0} of {:.0} MB",
                    path.display(),
                    now.bytes_done as f64 * 1e-6,
                    now.bytes_total as f64 * 1e-6
                );
            }
        }
        if stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        let run = run.wait().map_err(gpuorch::Error::from)?.summary;
        let mut figures = *figures.lock().map_err(|error| error.to_string())?;
        figures.elapsed = run.elapsed_ns;
        figures.copied = run.copy_in_ns + run.copy_out_ns;
        figures.hidden = run.copy_hidden_ns;
        Ok(figures)
    }

    fn target(&self, folder: &Path, path: &Path) -> Result<PathBuf, String> {
        let target = folder.join(path.file_name().ok_or("it has no name")?);
        match (std::fs::metadata(path), std::fs::metadata(&target)) {
            (Ok(from), Ok(to)) if (from.dev(), from.ino()) == (to.dev(), to.ino()) => {
                Err("it would be written over itself".into())
            }
            _ => Ok(target),
        }
    }
}

/// Makes the folder if it is missing, and refuses two files with one target.
fn prepare(folder: &Path, files: &[PathBuf]) -> Result<(), String> {
    let _ = std::fs::create_dir(folder); // the library says why nothing can be written there
    let mut named = HashMap::new();
    for file in files {
        if let Some(first) = named.insert(file.file_name(), file) {
            let (first, file, folder) = (first.display(), file.display(), folder.display());
            return Err(format!("{first} and {file} would be one in {folder}"));
        }
    }
    Ok(())
}

/// The largest of the machine's own files.
fn largest() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let list = "find /usr/lib /usr/share -type f -readable -size +64k -printf '%s\\t%p\\n' 2>/dev/null | sort -rn | \
                awk -F '\\t' '{ n = $2; sub(/.*\\//, \"\", n) } !named[n]++ { print $2; if ((sum += $1) >= 67108864) exit }'";
    let found = Command::new("sh").args(["-c", list]).output()?.stdout;
    let lines = found.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(|line| OsStr::from_bytes(line).into()).collect())
}

fn table(path: Option<PathBuf>) -> Result<[u8; 256], String> {
    let Some(path) = path else {
        return Ok(std::array::from_fn(|i| !(i as u8)));
    };
    let read = std::fs::read(&path).unwrap_or_default();
    read.try_into().map_err(|_| format!("{} is not a file of 256 bytes", path.display()))
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).peekable(); // names of files are bytes
    let (mut folder, mut map, mut trace) = (None, None, None);
    while let Some(option) = arguments.next_if(|word| word.as_bytes().starts_with(b"-")) {
        let value = arguments.next().filter(|value| !value.is_empty()).map(PathBuf::from);
        match (option.as_bytes(), value) {
            (b"-o", value @ Some(_)) => folder = value,
            (b"--table", value @ Some(_)) => map = value,
            (b"--trace", value @ Some(_)) => trace = value,
            _ => {
                eprintln!("usage: stream_files [-o DIR] [--table FILE] [--trace DIR] [FILE]...");
                return Ok(ExitCode::from(2));
            }
        }
    }
    let tables = match table(map) {
        Ok(map) => Tables::new(map),
        Err(error) => {
            eprintln!("stream_files: {error}");
            return Ok(ExitCode::from(2));
        }
    };
    let files: Vec<_> = if arguments.peek().is_some() { arguments.map(PathBuf::from).collect() } else { largest()? };

    if let Some(Err(error)) = folder.as_deref().map(|folder| prepare(folder, &files)) {
        eprintln!("stream_files: {error}");
        return Ok(ExitCode::from(2));
    }
    let runtime = Runtime::new()?;
    let device = runtime.open_device()?;
    let job = Job::new(&device, tables, folder)?;
    let pictures = trace.map(|folder| (folder.join("timeline.svg"), folder.join("trace.json")));
    if let Some((picture, trace)) = &pictures {
        runtime.trace().path(trace).picture(picture).start()?;
    }
    say(&format!("device: {}", device.properties()?.name()));
    let (mut total, mut failures) = (Figures::none(), 0);
    for file in files {
        if job.interrupted.load(Relaxed) != 0 || (job.folder.is_none() && UNWRITABLE.load(Relaxed)) {
            break;
        }
        match job.stream(&file) {
            Ok(figures) => {
                figures.print(&file.display().to_string(), &tables);
                total.add(figures.bytes, &figures.sum, &tables);
                total.elapsed += figures.elapsed;
                total.copied += figures.copied;
                total.hidden += figures.hidden;
            }
            Err(error) => {
                let message =
                    error.downcast_ref::<gpuorch::Error>().map_or_else(|| error.to_string(), |e| e.message().into());
                eprintln!("stream_files: {}: {message}", file.display());
                failures += 1;
            }
        }
    }
    total.print("total", &tables);
    if let Some((picture, trace)) = &pictures {
        runtime.stop_trace()?;
        say(&format!("trace: {}, {}", picture.display(), trace.display()));
    }
    let failed = failures != 0 || UNWRITABLE.load(Relaxed);
    Ok(ExitCode::from(match job.interrupted.load(Relaxed) {
        0 => u8::from(failed),
        signal => 128 + signal as u8,
    }))
}

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("stream_files: {error}");
        ExitCode::FAILURE
    })
}
