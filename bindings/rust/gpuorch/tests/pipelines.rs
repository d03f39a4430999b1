//! Runs of pipelines: their input, output, results and failures.

mod world;

use gpuorch::pipeline::{
    Fill, Finished, Flow, Index, Input, InputBytes, Offset, Output, OutputBytes, PerDevice, ResultBlock, Scratch, Sink,
    Source, Stage,
};
use gpuorch::{Completions, DeviceBuffer, ErrorKind, Failed, Pipeline, Result, Runtime, Slice};
use std::io::{Read, Seek, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use world::{World, world};

const SOURCE: &str = r#"
extern "C" __global__ void invert(const unsigned char *x, unsigned long long n, unsigned char *y, unsigned long long m,
                                  unsigned long long *sum, unsigned char by) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n && i < m; i += gridDim.x * blockDim.x) {
        y[i] = x[i] ^ by;
        atomicAdd(sum, (unsigned long long)x[i]);
    }
}
extern "C" __global__ void where(unsigned long long *result, unsigned long long index, unsigned long long offset,
                                 unsigned long long in, unsigned long long out, unsigned *scratch) {
    scratch[0] = 1;
    result[0] += index, result[1] += offset, result[2] += in, result[3] += out, result[4] += scratch[0];
}
extern "C" __global__ void map(const unsigned char *x, unsigned long long n, unsigned char *y, unsigned long long m,
                               const unsigned char *table, unsigned long long entries, unsigned long long *seen) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n && i < m; i += gridDim.x * blockDim.x)
        if (x[i] < entries) {
            y[i] = table[x[i]];
            atomicAdd(seen, 1ull);
        }
}
"#;

/// Inverts the bits, and sums the bytes.
fn inverting(w: &World) -> Result<gpuorch::pipeline::PipelineBuilder<'_>> {
    type Parameters = (Slice<u8>, Slice<u8>, DeviceBuffer<u64>, u8);
    // SAFETY: it stays below both counts, and adds to one u64.
    let invert = unsafe { w.device.compile(SOURCE)?.kernel("invert")?.bind::<Parameters>()? };
    let stage = Stage::kernel(&invert, (Input, Output, ResultBlock, 255u8)).block(64).bytes_per_block(4096);
    Ok(w.device.pipeline().stage(stage).result_bytes(8).chunk_bytes(64 << 10))
}

fn pipeline(w: &World) -> Result<Pipeline> {
    inverting(w)?.build()
}

const BYTES: usize = 1_000_003;

fn data() -> Vec<u8> {
    (0..BYTES).map(|i| (i * 7 % 251) as u8).collect()
}

fn inverted() -> Vec<u8> {
    data().iter().map(|byte| !byte).collect()
}

#[test]
fn memory_goes_in_and_comes_back() -> Result<()> {
    let w = world();
    let pipeline = pipeline(&w)?;
    let arena = w.device.arena()?;
    let run = pipeline.start(Source::memory(arena.copy_of(&data())?), Sink::memory(arena.zeroed::<u8>(BYTES)?))?;
    let finished = run.wait()?;
    assert_eq!(finished.sink[..], inverted()[..]);
    assert_eq!(finished.source[..], data()[..]);
    assert_eq!((finished.summary.bytes_in, finished.summary.chunks), (BYTES as u64, 16));
    // Under any async runtime, and with the buffers that came back.
    let run = pipeline.start(Source::memory(finished.source), Sink::memory(finished.sink))?;
    assert_eq!(pollster::block_on(run)?.summary.bytes_out, BYTES as u64);
    Ok(())
}

#[test]
fn closures_readers_and_writers_are_sources_and_sinks() -> Result<()> {
    let w = world();
    let (calls, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&calls);
    let executor = w.runtime.executor()?;
    let pipeline = inverting(&w)?
        .label("closures")
        .slots(3)
        .max_pinned_bytes(64 << 20)
        .granule(4096)
        .output_ratio(1, 1)
        .times()
        .executor(&executor)
        .progress(Duration::ZERO, move |progress| {
            assert!(progress.bytes_done <= BYTES as u64);
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .build()?;
    let (sender, receiver) = mpsc::channel();
    let mut at = 0;
    let bytes = data();
    let source = Source::callback(move |room| {
        let count = room.len().min(BYTES - at).min(10_000);
        room[..count].copy_from_slice(&bytes[at..at + count]);
        at += count;
        Ok::<_, &str>(if at == BYTES { Fill::End(count) } else { Fill::More(count) })
    });
    let sums = Arc::clone(&seen);
    let sink = Sink::callback(move |chunk| {
        sums.fetch_add(chunk.result_as::<u64>(), Ordering::SeqCst);
        assert_eq!((chunk.output().len() as u64, chunk.offset()), (chunk.bytes(), chunk.output_offset()));
        sender.send(chunk.output().to_vec()).map(|()| Flow::Continue)
    });
    pipeline.start(source, sink)?.wait()?;
    assert_eq!(receiver.iter().flatten().collect::<Vec<_>>(), inverted());
    assert_eq!(seen.load(Ordering::SeqCst), data().iter().map(|&byte| u64::from(byte)).sum());
    assert!(calls.load(Ordering::SeqCst) > 0);
    let (sender, receiver) = mpsc::channel();
    struct Sender(mpsc::Sender<Vec<u8>>);
    impl Write for Sender {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.send(bytes.to_vec()).map(|()| bytes.len()).map_err(std::io::Error::other)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    pipeline.start(Source::reader(std::io::Cursor::new(data())), Sink::writer(Sender(sender)))?.wait()?;
    assert_eq!(receiver.iter().flatten().collect::<Vec<_>>(), inverted());
    Ok(())
}

#[test]
fn files_are_read_and_written() -> Result<()> {
    let w = world();
    let pipeline = pipeline(&w)?;
    let folder = std::env::temp_dir().join(format!("gpuorch-rust-pipelines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::write(&from, data()).expect("a file");
    let chunks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&chunks);
    let sink = Sink::file(&to).take(move |chunk| {
        assert_eq!(chunk.index(), counted.fetch_add(1, Ordering::SeqCst));
        Ok::<_, &str>(Flow::Continue)
    });
    pipeline.start(Source::file(&from).offset(3).at_most(500_000), sink)?.wait()?;
    assert_eq!(std::fs::read(&to).expect("the output"), &inverted()[3..500_003]);
    assert_eq!(chunks.load(Ordering::SeqCst), 8);
    let open = std::fs::File::open(&from).expect("it is there");
    let out = std::fs::File::create(&to).expect("it can be written");
    let finished = pipeline.start(Source::descriptor(open.into()), Sink::descriptor(out.into()))?.wait()?;
    let mut out = std::fs::File::open(&to).expect("it is there");
    drop(finished.sink);
    let mut written = Vec::new();
    out.rewind().and_then(|()| out.read_to_end(&mut written)).expect("it can be read");
    assert_eq!(written, inverted());
    let missing = pipeline.start(Source::file(folder.join("missing")), Sink::none()).unwrap_err();
    assert_eq!(missing.error().kind(), ErrorKind::NotFound);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    Ok(())
}

#[test]
fn a_file_that_has_to_stay_unchanged_may_not_be_deleted_while_it_is_read() -> Result<()> {
    let w = world();
    let pipeline = pipeline(&w)?;
    let folder = std::env::temp_dir().join(format!("gpuorch-rust-unchanged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (from, to) = (folder.join("from"), folder.join("to"));
    std::fs::write(&from, data()).expect("a file");
    pipeline.start(Source::file(&from).unchanged(), Sink::file(&to))?.wait()?;
    assert_eq!(std::fs::read(&to).expect("the output"), inverted());
    std::fs::remove_file(&to).expect("it goes");
    let deleted = from.clone();
    let sink = Sink::file(&to).take(move |chunk| match chunk.index() {
        0 => std::fs::remove_file(&deleted).map(|()| Flow::Continue),
        _ => Ok(Flow::Continue),
    });
    let failed = pipeline.start(Source::file(&from).unchanged(), sink)?.wait().unwrap_err();
    assert_eq!(failed.error().kind(), ErrorKind::Io);
    let message = format!("file `{}` was deleted while it was read", from.display());
    assert!(failed.error().message().contains(&message), "{}", failed.error());
    assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 0);
    let refused = pipeline.start(Source::memory(vec![1u8]).unchanged(), Sink::none()).unwrap_err();
    assert_eq!(refused.error().kind(), ErrorKind::InvalidArgument);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    Ok(())
}

#[test]
fn a_stage_knows_where_its_chunk_is() -> Result<()> {
    let w = world();
    type Parameters = (DeviceBuffer<u64>, u64, u64, u64, u64, DeviceBuffer<u32>);
    // SAFETY: it adds to five u64, and writes one u32.
    let kernel = unsafe { w.device.compile(SOURCE)?.kernel("where")?.bind::<Parameters>()? };
    let given = (ResultBlock, Index, Offset, InputBytes, OutputBytes, Scratch);
    let launched = kernel.clone();
    let pipeline = w
        .device
        .pipeline()
        .stage(Stage::kernel(&kernel, given).grid(1).block(1).dynamic_shared_bytes(0))
        .stage(Stage::callback(move |stream, chunk| {
            let (result, scratch) = (chunk.device_result::<u64>(), chunk.device_scratch::<u32>());
            assert_eq!((result.len(), scratch.len()), (5, 16));
            assert_eq!(chunk.device_input::<u8>().len() as u64, chunk.bytes());
            assert_eq!(chunk.device_output::<u8>().len() as u64, chunk.output_bytes());
            let arguments = (result, chunk.index(), chunk.offset(), chunk.bytes(), chunk.output_bytes(), scratch);
            launched.launch(stream, &gpuorch::Launch::new(1, 1), arguments).map(drop)
        }))
        .result_bytes(40)
        .scratch_bytes(64)
        .chunk_bytes(4096)
        .build()?;
    let (sender, receiver) = mpsc::channel();
    let sink = Sink::none().take(move |chunk| {
        assert!(chunk.output().is_empty());
        sender.send(chunk.result_as::<[u64; 5]>()).map(|()| Flow::Continue)
    });
    pipeline.start(Source::memory(vec![0u8; 9000]), sink)?.wait()?;
    let wanted = [[0, 0, 8192, 8192, 2], [2, 8192, 8192, 8192, 2], [4, 16384, 1616, 1616, 2]];
    assert!(receiver.iter().eq(wanted));
    Ok(())
}

#[test]
fn a_stage_keeps_buffers_for_all_chunks() -> Result<()> {
    let w = world();
    type Parameters = (Slice<u8>, Slice<u8>, Slice<u8>, DeviceBuffer<u64>);
    // SAFETY: it stays below the three counts, and adds to one u64.
    let map = unsafe { w.device.compile(SOURCE)?.kernel("map")?.bind::<Parameters>()? };
    let table = w.device.buffer::<u8>(256)?;
    let complement: Vec<u8> = (0..=255).rev().collect();
    w.stream.write(&complement, &table)?.wait()?;
    let pool = w.device.pool()?;
    let seen = Arc::new(pool.buffer::<u64>(&w.stream, 1)?);
    w.stream.write(&[0], &*seen)?.wait()?;
    let stage = Stage::kernel(&map, (Input, Output, table, Arc::clone(&seen))).block(64).bytes_per_block(4096);
    let pipeline = w.device.pipeline().stage(stage).chunk_bytes(64 << 10).build()?;
    for round in 1..=2 {
        let finished = pipeline.start(Source::memory(data()), Sink::memory(vec![0u8; BYTES]))?.wait()?;
        assert_eq!(finished.sink, inverted());
        assert_eq!(w.stream.copy_to_host(&*seen, vec![0; 1])?.wait()?, [round * BYTES as u64]);
    }
    // Both live as long as the pipeline, which a run keeps, too.
    let (open, gate) = mpsc::channel::<()>();
    let sink = Sink::callback(move |_| gate.recv().map(|()| Flow::Stop));
    let run = pipeline.start(Source::memory(data()), sink)?;
    drop((pipeline, run));
    assert_eq!(Arc::strong_count(&seen), 2);
    open.send(()).expect("it waits");
    while Arc::strong_count(&seen) > 1 {
        std::thread::yield_now();
    }
    drop(seen);
    w.stream.wait()?;
    assert_eq!(pool.statistics()?.in_use, 0);
    Ok(())
}

#[test]
fn a_stage_takes_no_buffer_of_another_runtime() -> Result<()> {
    let w = world();
    let other = Runtime::new()?.open_device()?.buffer::<u64>(1)?;
    // SAFETY: it is never run.
    let add = unsafe { w.device.builtin_module()?.kernel("gpo_fill_u32")?.bind::<(DeviceBuffer<u64>, u32, u64)>()? };
    let stage = Stage::kernel(&add, (other, 0, 0));
    let error = w.device.pipeline().stage(stage).build().map(drop).unwrap_err();
    assert_eq!(
        (error.kind(), error.message().contains("another runtime")),
        (ErrorKind::InvalidArgument, true),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_chunks_memory_is_for_its_stages_stream_alone() -> Result<()> {
    let w = world();
    let (other, arena) = (w.device.stream()?, w.device.arena()?);
    // SAFETY: it stays within n.
    let scale = unsafe { w.device.compile(world::SOURCE)?.kernel("scale")?.bind::<(Slice<f32>, f32)>()? };
    let elsewhere = other.clone();
    let x = Arc::new(w.device.buffer::<f32>(1024)?);
    let y = Arc::clone(&x);
    let every_use = move |stream: &gpuorch::Stream, input: gpuorch::DeviceSlice<'_, f32>| -> Vec<Result<()>> {
        let host = || arena.zeroed::<f32>(1024).expect("room");
        vec![
            stream.copy_to_host(input, host()).map(drop).map_err(Into::into),
            stream.copy_to_device(host(), input).map(drop).map_err(Into::into),
            stream.write(&[1.0; 1024], input).map(drop),
            stream.fill(input, 1.0).map(drop),
            stream.copy_on_device(input, &*y).map(drop),
            stream.copy_on_device(&*y, input).map(drop),
            stream.copy_batch(&[(input, y.all())]).map(drop),
            stream.copy_rows(input, 32, &*y, 32, (32, 32)).map(drop),
            scale.launch(stream, &gpuorch::Launch::new(1, 64), (input, 1.0)).map(drop),
        ]
    };
    let refused = |results: Vec<Result<()>>| {
        results.into_iter().all(|result| result.is_err_and(|error| error.kind() == ErrorKind::InvalidState))
    };
    let in_sink = every_use.clone();
    let stage = Stage::callback(move |stream, chunk| {
        if !refused(every_use(&elsewhere, chunk.device_input())) {
            return Err("accepted on another stream".to_owned());
        }
        every_use(stream, chunk.device_input()).into_iter().collect::<Result<()>>().map_err(|error| error.to_string())
    });
    let pipeline = w.device.pipeline().stage(stage).chunk_bytes(4096).build()?;
    let sink = Sink::callback(move |chunk| match refused(in_sink(&other, chunk.device_input())) {
        true => Ok(Flow::Continue),
        false => Err("accepted in a sink"),
    });
    pipeline.start(Source::memory(vec![0u8; 8192]), sink)?.wait()?;
    Ok(())
}

#[test]
fn a_closure_that_fails_or_panics_ends_the_run_with_its_text() -> Result<()> {
    let w = world();
    let pipeline = pipeline(&w)?;
    let memory = || Source::memory(data());
    let run = pipeline.start(Source::callback(|_| Err("no more tape")), Sink::memory(data()))?;
    fails(run.wait(), "no more tape");
    let run =
        pipeline.start(Source::callback(|_| -> Result<Fill, &str> { panic!("torn tape") }), Sink::memory(data()))?;
    fails(run.wait(), "torn tape");
    let run =
        pipeline.start(Source::callback(|room| Ok::<_, &str>(Fill::More(room.len() + 1))), Sink::memory(data()))?;
    fails(run.wait(), "bytes into");
    let take = Sink::callback(|_| -> Result<Flow, &str> { panic!("no room") });
    fails(pollster::block_on(pipeline.start(memory(), take)?), "no room");
    // Enough is no failure.
    let take = Sink::callback(|chunk| Ok::<_, &str>(if chunk.index() == 1 { Flow::Stop } else { Flow::Continue }));
    pipeline.start(memory(), take)?.wait()?;
    let stage = Stage::callback(|_, _| -> Result<(), &str> { panic!("no such stage") });
    let broken = w.device.pipeline().stage(stage).build()?;
    fails(broken.start(memory(), Sink::none())?.wait(), "no such stage");
    // A failure without words is one all the same.
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words for it")
        }
    }
    let broken = w.device.pipeline().stage(Stage::callback(|_, _| Err(Unspeakable))).build()?;
    fails(broken.start(memory(), Sink::none())?.wait(), "no words for it");
    fails(pipeline.start(Source::callback(|_| Err(Unspeakable)), Sink::none())?.wait(), "no words for it");
    fails(pipeline.start(memory(), Sink::callback(|_| Err(Unspeakable)))?.wait(), "no words for it");
    // A panic in the progress closure has no effect on the run.
    let told = inverting(&w)?.progress(Duration::ZERO, |_| panic!("no progress")).build()?;
    told.start(memory(), Sink::none())?.wait()?;
    Ok(())
}

#[track_caller]
fn fails<S, K>(result: Result<Finished<S, K>, Failed<(S, K)>>, text: &str) {
    let (error, values) = result.map(drop).unwrap_err().into_parts();
    assert_eq!(error.kind(), ErrorKind::CallbackFailed);
    assert!(error.message().contains(text), "{error}");
    assert!(values.is_some());
}

#[test]
fn a_closure_that_panics_when_it_goes_leaves_the_pipeline_free() -> Result<()> {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("not without a fight");
        }
    }
    let w = world();
    let pipeline = pipeline(&w)?;
    let panics = Panics;
    let sink = Sink::callback(move |_| {
        let _ = &panics;
        Ok::<_, &str>(Flow::Continue)
    });
    let run = pipeline.start(Source::memory(data()), sink)?;
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.wait().map(drop))).is_err());
    pipeline.start(Source::memory(data()), Sink::none())?.wait()?;
    Ok(())
}

#[test]
fn a_run_is_cancelled_dropped_or_somebody_elses() -> Result<()> {
    let w = world();
    let pipeline = pipeline(&w)?;
    let never = Completions::new();
    let refused = never.watch_pipeline(&pipeline, 1).unwrap_err();
    assert_eq!((refused.kind(), never.len()), (ErrorKind::InvalidState, 0));
    let (open, gate) = mpsc::channel::<()>();
    let source = || Source::callback(|room| Ok::<_, &str>(Fill::More(room.len())));
    let run = pipeline.start(source(), Sink::none())?;
    assert!(!run.wait_for(Duration::from_millis(1))?);
    assert!(run.progress()?.running != 0);
    let busy = pipeline.start(source(), Sink::none()).unwrap_err();
    assert_eq!(busy.error().kind(), ErrorKind::InvalidState);
    let queue = w.runtime.completion_queue()?;
    queue.notify_pipeline(&pipeline, 5)?;
    let completions = Completions::new();
    completions.watch_pipeline(&pipeline, 6)?;
    run.cancel()?;
    assert_eq!(run.wait().unwrap_err().error().kind(), ErrorKind::Cancelled);
    queue.wait()?;
    assert_eq!(queue.drain(1)?[0].failed(), Some(ErrorKind::Cancelled));
    // A dropped run goes on; its source and sink are dropped when it ends.
    let held = Arc::new(());
    let owned = Arc::clone(&held);
    let sink = Sink::callback(move |_| {
        let _ = &owned;
        gate.recv().map(|()| Flow::Stop)
    });
    drop(pipeline.start(Source::memory(data()), sink)?);
    assert_eq!(Arc::strong_count(&held), 2);
    open.send(()).expect("it waits");
    while Arc::strong_count(&held) > 1 {
        std::thread::yield_now();
    }
    while pipeline.start(Source::memory(vec![1u8]), Sink::none()).is_err() {
        std::thread::yield_now();
    }
    Ok(())
}

/// Every byte through a table of its device's.
const MAPPED: &str = r#"
extern "C" __global__ void mapped(const unsigned char *x, unsigned long long n, unsigned char *y, unsigned long long m,
                                  const unsigned char *table, unsigned char more) {
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n && i < m; i += gridDim.x * blockDim.x)
        y[i] = table[x[i]] + more;
}
"#;

#[test]
fn a_pipeline_over_two_devices_has_a_kernel_and_buffers_on_each() -> Result<()> {
    type Parameters = (Slice<u8>, Slice<u8>, DeviceBuffer<u8>, u8);
    let runtime = Runtime::new()?;
    let devices = (0..2).map(|ordinal| runtime.device(ordinal).open()).collect::<Result<Vec<_>>>()?;
    let mut kernels = Vec::new();
    let mut tables = Vec::new();
    for (device, add) in devices.iter().zip(1u8..) {
        // SAFETY: it stays below both counts, and a table has an entry for each byte.
        kernels.push(unsafe { device.compile(MAPPED)?.kernel("mapped")?.bind::<Parameters>()? });
        let entries: Vec<u8> = (0..=255u8).map(|byte| byte.wrapping_add(add)).collect();
        let table = device.buffer(256)?;
        let stream = device.stream()?;
        stream.write(&entries, &table)?;
        stream.wait()?;
        tables.push(table);
    }
    let stage = Stage::kernels(&kernels, (Input, Output, PerDevice(tables), PerDevice(vec![10u8, 20]))).block(64);
    let pipeline = devices[0].pipeline().devices(&devices).stage(stage).chunk_bytes(64 << 10).build()?;
    assert_eq!(pipeline.devices().len(), 2);
    let (sender, seen) = mpsc::channel();
    let sink = Sink::callback(move |chunk| {
        sender.send((chunk.device(), chunk.offset(), chunk.output().to_vec())).map(|()| Flow::Continue)
    });
    let finished = pipeline.start(Source::memory(data()), sink)?.wait()?;
    let data = data();
    let mut chunks = [0u64; 2];
    for (device, offset, output) in seen {
        let add = [11u8, 22][device as usize];
        let input = &data[offset as usize..offset as usize + output.len()];
        assert!(output.iter().zip(input).all(|(&out, &byte)| out == byte.wrapping_add(add)));
        chunks[device as usize] += 1;
    }
    assert_eq!(chunks.iter().sum::<u64>(), finished.summary.chunks);
    for (device, &chunks) in chunks.iter().enumerate() {
        assert!(chunks > 0);
        assert_eq!(pipeline.share(device)?.chunks, chunks);
    }
    assert_eq!(pipeline.share(2).map(|_| ()).map_err(|error| error.kind()), Err(ErrorKind::InvalidArgument));
    let few = Stage::kernels(&kernels[..1], (Input, Output, PerDevice(Vec::<DeviceBuffer<u8>>::new()), 0u8));
    let refused = devices[0].pipeline().devices(&devices).stage(few).build();
    assert_eq!(refused.map(|_| ()).map_err(|error| error.kind()), Err(ErrorKind::InvalidArgument));
    Ok(())
}
