//! lifecycle < lifecycle.txt: does the cases with the crate, and writes the same lines with the outcome of each step. The
//! words: tests/bindings/README.md. A closed object was dropped: the language has nothing left to call.

use futures_core::Stream as _;
use gpuorch::{
    Arena, BoundKernel, Completions, Device, DeviceBuffer, Error, ErrorKind, Event, Executor, Launch, Module, Pool,
    Runtime, Stream, Timeline,
};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io::BufRead;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

enum Thing {
    Runtime(Runtime),
    Device(Device),
    Stream(Stream),
    Event(Event),
    Timeline(Timeline),
    Queue(Completions),
    Arena(Arena),
    Pool(Pool),
    Executor(Executor),
    Module(Module),
    Kernel(BoundKernel<(DeviceBuffer<u32>, u32, u64)>),
    Memory(DeviceBuffer<u32>),
}

/// Why a step has no good end, as a status without its prefix.
struct Refused(String);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(name_of(error.kind()))
    }
}

/// `InvalidHandle`: INVALID_HANDLE.
fn name_of(kind: ErrorKind) -> String {
    let mut name = String::new();
    for letter in format!("{kind:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn ready(done: bool) -> Result<(), Refused> {
    if done { Ok(()) } else { Err(Refused("NOT_READY".into())) }
}

type Item = Option<(u64, gpuorch::Result<gpuorch::Completion>)>;

/// The status of an entry, or `nothing`.
fn entry(item: Item) -> Result<String, Refused> {
    match item {
        Some((_, result)) => result.map(|_| "SUCCESS".into()).map_err(Refused::from),
        None => Ok("nothing".into()),
    }
}

#[derive(Default)]
struct World {
    things: HashMap<String, Thing>,
}

macro_rules! finder {
    ($($function:ident: $kind:ident),*) => {$(
        fn $function(&self, name: &str) -> Result<&$kind, Refused> {
            match self.things.get(name) {
                Some(Thing::$kind(thing)) => Ok(thing),
                _ => Err(Refused("STALE_HANDLE".into())),
            }
        }
    )*};
}

impl World {
    finder!(runtime: Runtime, device: Device, stream: Stream, event: Event, timeline: Timeline, module: Module);

    fn memory(&self, name: &str) -> Result<&DeviceBuffer<u32>, Refused> {
        match self.things.get(name) {
            Some(Thing::Memory(memory)) => Ok(memory),
            _ => Err(Refused("STALE_HANDLE".into())),
        }
    }

    fn queue(&mut self, name: &str) -> Result<&mut Completions, Refused> {
        match self.things.get_mut(name) {
            Some(Thing::Queue(queue)) => Ok(queue),
            _ => Err(Refused("STALE_HANDLE".into())),
        }
    }

    fn made(&self, kind: &str, parent: &str) -> Result<Option<Thing>, Refused> {
        Ok(Some(match kind {
            "runtime" => Thing::Runtime(Runtime::builder().device("soft").build()?),
            "device" => Thing::Device(self.runtime(parent)?.open_device()?),
            "stream" => Thing::Stream(self.device(parent)?.stream()?),
            "event" => Thing::Event(self.device(parent)?.event()?),
            "timeline" => Thing::Timeline(self.runtime(parent)?.timeline(0)?),
            "queue" => Thing::Queue(Completions::new()),
            "arena" => Thing::Arena(self.device(parent)?.arena_builder().build()?),
            "pool" => Thing::Pool(self.device(parent)?.pool_builder().build()?),
            "executor" => Thing::Executor(self.runtime(parent)?.executor()?),
            "module" => Thing::Module(self.device(parent)?.builtin_module()?),
            // SAFETY: an address, a value and a count, which the launch below keeps to.
            "kernel" => Thing::Kernel(unsafe { self.module(parent)?.kernel("gpo_fill_u32")?.bind()? }),
            "memory" => Thing::Memory(self.device(parent)?.buffer(1024)?),
            _ => return Ok(None),
        }))
    }

    /// A call that needs nothing but the thing.
    fn used(&self, name: &str) -> Result<(), Refused> {
        match self.things.get(name).ok_or(Refused("STALE_HANDLE".into()))? {
            Thing::Runtime(runtime) => runtime.statistics().map(drop)?,
            Thing::Device(device) => device.memory().map(drop)?,
            Thing::Stream(stream) => ready(stream.is_done()?)?,
            Thing::Event(event) => ready(event.is_done()?)?,
            Thing::Timeline(timeline) => timeline.value().map(drop)?,
            Thing::Queue(queue) => drop(queue.len()),
            Thing::Arena(arena) => arena.statistics().map(drop)?,
            Thing::Pool(pool) => pool.statistics().map(drop)?,
            Thing::Executor(executor) => executor.statistics().map(drop)?,
            Thing::Module(module) => module.image().map(drop)?,
            Thing::Kernel(kernel) => kernel.kernel().attributes().map(drop)?,
            Thing::Memory(memory) => drop(memory.address()),
        }
        Ok(())
    }

    fn wait(&self, name: &str, timeout: Duration) -> Result<(), Refused> {
        match self.event(name) {
            Ok(event) => Ok(event.wait_for(timeout)?),
            Err(_) => Ok(self.stream(name)?.wait_for(timeout)?),
        }
    }

    fn launch(&self, stream: &str, kernel: &str, memory: &str) -> Result<(), Refused> {
        let Some(Thing::Kernel(kernel)) = self.things.get(kernel) else {
            return Err(Refused("STALE_HANDLE".into()));
        };
        kernel.launch(self.stream(stream)?, &Launch::new(1, 32), (self.memory(memory)?, 7, 1024))?;
        Ok(())
    }

    fn step(&mut self, words: &[&str]) -> Result<String, Refused> {
        let word = |number: usize| words.get(number).copied().unwrap_or_default();
        let number = |at: usize| word(at).parse().unwrap_or(0);
        if let Some(thing) = self.made(word(0), word(2))? {
            self.things.insert(word(1).into(), thing);
            return Ok("SUCCESS".into());
        }
        match word(0) {
            "close" => {
                self.things.remove(word(1));
                return Ok("closed".into());
            }
            "entry" => {
                let queue = self.queue(word(1))?;
                return entry(pollster::block_on(poll_fn(|context| Pin::new(&mut *queue).poll_next(context))));
            }
            "drain" => {
                let there = Pin::new(self.queue(word(1))?).poll_next(&mut Context::from_waker(Waker::noop()));
                return entry(if let Poll::Ready(item) = there { item } else { None });
            }
            "shutdown" => self.runtime(word(1))?.shutdown(LONG)?,
            "use" | "query" => self.used(word(1))?,
            "wait" => self.wait(word(1), LONG)?,
            "briefly" => self.wait(word(1), Duration::from_millis(20))?,
            "hold" => drop(self.stream(word(1))?.wait_timeline(self.timeline(word(2))?, number(3))?),
            "after" => drop(self.stream(word(1))?.wait_event(self.event(word(2))?)?),
            "signal" => self.timeline(word(1))?.signal(number(2))?,
            "fail" => self.timeline(word(1))?.fail(ErrorKind::Failed, "as the case says")?,
            "cancel" => drop(self.stream(word(1))?.cancel_held()?),
            "fill" => drop(self.stream(word(1))?.fill(self.memory(word(2))?, 1u32)?),
            "record" => drop(self.event(word(1))?.record(self.stream(word(2))?)?),
            "notify" => {
                let stream = self.stream(word(1))?.clone();
                self.queue(word(2))?.watch_stream(&stream, 1)?;
            }
            "launch" => self.launch(word(1), word(2), word(3))?,
            other => return Err(Refused(format!("there is no step {other}"))),
        }
        Ok("SUCCESS".into())
    }
}

fn main() {
    let mut world = World::default();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.starts_with("case ") {
            world = World::default();
            println!("{line}");
        } else if let Some((step, _)) = line.split_once(" -> ").filter(|_| !line.starts_with('#')) {
            let words: Vec<&str> = step.split(' ').collect();
            let outcome = world.step(&words).unwrap_or_else(|refused| refused.0);
            println!("{step} -> {outcome}");
        }
    }
}
