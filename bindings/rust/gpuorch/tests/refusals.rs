//! After the shutdown every call that can be refused is refused. Before it, failures name the culprit.

mod world;

use gpuorch::{DeviceBuffer, ErrorKind, LogLevel, Object, Result, Runtime, Slice};
use std::time::Duration;
use world::calls::Calls;
use world::{SOURCE, world};

#[test]
fn everything_is_refused_after_a_shutdown() -> Result<()> {
    let w = world();
    let calls = Calls::new(&w)?;
    w.runtime.shutdown(Duration::from_secs(20))?;
    assert_eq!(kind(w.runtime.shutdown(Duration::from_millis(1))), ErrorKind::InvalidHandle);
    for (name, result) in calls.every() {
        let wanted = match name {
            // Functions without a runtime.
            "last_compile_log" | "peers_make_id" => continue,
            // No piece of host memory is handed out once a shutdown has begun.
            "arena_allocate" | "arena_free_after" | "template_allocate_host" => ErrorKind::ShutDown,
            // A queue, here empty, outlives its runtime with its entries.
            "cq_wait" | "cq_drain" => ErrorKind::ShutDown,
            "cq_wake" | "cq_get_fd" | "cq_get_statistics" => {
                assert!(result.is_ok(), "{name}: {result:?}");
                continue;
            }
            _ => ErrorKind::InvalidHandle,
        };
        assert_eq!(result.map_err(|error| error.kind()), Err(wanted), "{name}");
    }
    Ok(())
}

#[track_caller]
fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

#[test]
fn what_is_wrong_is_named() -> Result<()> {
    let w = world();
    assert_eq!(kind(Runtime::builder().device("toaster").build()), ErrorKind::InvalidArgument);
    assert_eq!(kind(Runtime::builder().label("a\0b").build()), ErrorKind::InvalidArgument);
    // The last text counts.
    w.device.range(1).label("a\0b").label("ab").build()?;
    assert_eq!(kind(w.device.range(1).label("ab").label("a\0b").build()), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.runtime.device(99).open()), ErrorKind::NoDevice);
    assert_eq!(kind(w.device.compile("this is no kernel")), ErrorKind::CompileFailed);
    assert!(!gpuorch::compile_log()?.is_empty());
    let module = w.device.compile(SOURCE)?;
    let missing = module.kernel("no_such_kernel").map(drop).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("scale"), "{missing}");
    // SAFETY: it is refused.
    assert_eq!(kind(unsafe { module.kernel("scale")?.bind::<(f32,)>() }), ErrorKind::InvalidArgument);
    // SAFETY: it is no image.
    assert_eq!(kind(unsafe { w.device.load_module(b"no image", Some("it")) }), ErrorKind::InvalidImage);
    assert_eq!(kind(w.device.buffer::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.device.arena()?.zeroed::<u64>(usize::MAX)), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.runtime.trace_summary()), ErrorKind::InvalidState);
    assert_eq!(kind(w.device.pipeline().build()), ErrorKind::InvalidArgument);
    let x = w.device.buffer::<u32>(10)?;
    assert_eq!(kind(w.stream.copy_rows(&x, 4, &x, 4, (4, 3))), ErrorKind::InvalidArgument);
    // A single row, or none, fits with any pitch: the library refuses pitches that are too large in bytes.
    assert_eq!(kind(w.stream.copy_rows(&x, usize::MAX, &x, 4, (4, 1))), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.stream.copy_rows(&x, 4, &x, usize::MAX, (4, 0))), ErrorKind::InvalidArgument);
    assert_eq!(kind(w.stream.fill(&w.device.buffer::<u64>(1)?, 1)), ErrorKind::InvalidArgument);
    let error = w.device.arena_builder().max_bytes(4096).build()?.zeroed::<u8>(1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    Ok(())
}

/// Types whose sizes differ from the kernel's parameters are refused, even if their count, or their total size, is
/// right.
#[test]
fn types_that_are_not_a_kernels_parameters_are_refused_by_their_sizes() -> Result<()> {
    let w = world();
    let module = w.device.compile(
        "extern \"C\" __global__ void mixed(float *x, float a, unsigned long long n) {}
         extern \"C\" __global__ void none() {}",
    )?;
    let (mixed, none) = (module.kernel("mixed")?, module.kernel("none")?);
    if none.parameter(0).map(drop).unwrap_err().kind() == ErrorKind::NotSupported {
        println!(
            "SKIP types_that_are_not_a_kernels_parameters_are_refused_by_their_sizes: this driver can't tell them"
        );
        return Ok(());
    }
    assert_eq!((mixed.parameter(0)?, mixed.parameter(1)?, mixed.parameter(2)?), ((0, 8), (8, 4), (16, 8)));
    let error = mixed.parameter(3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("kernel `mixed` has 3 parameters"), "{error}");
    // SAFETY: these types are right, and nothing is launched.
    unsafe {
        mixed.bind::<(DeviceBuffer<f32>, f32, u64)>()?;
        none.bind::<()>()?;
        for (error, given) in [
            (mixed.bind::<(Slice<f32>, f32)>().map(drop), "3 parameters, of 8, 8 and 4 bytes"),
            (mixed.bind::<(DeviceBuffer<f32>, f64, u64)>().map(drop), "3 parameters, of 8, 8 and 8 bytes"),
            (mixed.bind::<(DeviceBuffer<f32>, u16, u64)>().map(drop), "3 parameters, of 8, 2 and 8 bytes"),
            (mixed.bind::<(Slice<f32>,)>().map(drop), "2 parameters, of 8 and 8 bytes"),
            (mixed.bind::<()>().map(drop), "no parameters"),
        ] {
            let error = error.unwrap_err();
            assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "Kernel::bind"));
            assert!(error.message().contains("kernel `mixed` has 3 parameters, of 8, 4 and 8 bytes"), "{error}");
            assert!(error.message().contains(&format!("given are {given}")), "{error}");
        }
        assert!(none.bind::<(u8,)>().map(drop).unwrap_err().message().contains("given are 1 parameter, of 1 bytes"));
    }
    Ok(())
}

#[test]
fn an_object_keeps_its_failure_and_its_label() -> Result<()> {
    let w = world();
    let timeline = w.runtime.labelled_timeline(3, "frames")?;
    assert_eq!(timeline.label()?, "frames");
    assert!(timeline.last_error()?.is_none());
    timeline.fail(ErrorKind::Failed, "the camera is gone")?;
    let error = timeline.last_error()?.expect("it has failed");
    assert_eq!((error.kind(), error.message().contains("the camera is gone")), (ErrorKind::Failed, true), "{error:?}");
    assert!(timeline.wait(4).unwrap_err().object().contains("frames"));
    timeline.set_label("")?;
    assert_eq!(timeline.label()?, "");
    Ok(())
}

#[test]
fn log_lines_come_to_the_closure() -> Result<()> {
    let (sender, lines) = std::sync::mpsc::channel();
    let runtime = Runtime::builder()
        .log(LogLevel::Debug, move |level, text| {
            let _ = sender.send((level, text.to_owned()));
            panic!("a panic in a log closure ends there");
        })
        .build()?;
    let executor = runtime.executor()?;
    runtime.set_log_executor(Some(&executor))?;
    runtime.set_log_executor(None)?;
    // Objects that exist when the runtime ends are logged.
    let stream = runtime.open_device()?.stream_builder().label("left behind").build()?;
    runtime.shutdown(Duration::from_secs(10))?;
    assert!(lines.try_iter().any(|(level, text)| level <= LogLevel::Warning && text.contains("left behind")));
    drop((stream, executor));
    Ok(())
}

#[test]
fn a_kernel_takes_no_buffer_of_another_runtime() -> Result<()> {
    let w = world();
    let other = Runtime::new()?;
    let device = other.open_device()?;
    let (plain, pool) = (device.buffer::<f32>(1000)?, device.pool()?);
    let pooled = pool.buffer::<f32>(&device.stream()?, 1000)?;
    for gone in [false, true] {
        if gone {
            other.shutdown(Duration::from_secs(10))?;
        }
        for x in [&plain, &pooled] {
            let error = w.launch_scale(x, 2.0).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("of another runtime"), "{error}");
        }
    }
    Ok(())
}
