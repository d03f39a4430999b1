//! The bindings over a table that is no library's: what runs here runs under Miri, too.
#![cfg(not(feature = "load"))]

#[allow(missing_docs)]
#[path = "../../fake/src/lib.rs"]
mod fake;

use gpuorch::{ErrorKind, Result, Runtime};
use std::sync::mpsc;

#[test]
fn operations_own_their_buffers_and_give_them_back() -> Result<()> {
    let device = Runtime::new()?.open_device()?;
    let (stream, arena) = (device.stream()?, device.arena()?);
    let x = device.buffer::<u32>(100)?;
    let pinned = stream.copy_to_device(arena.copy_of(&[7u32; 100])?, &x)?.wait()?;
    let host = pollster::block_on(stream.copy_to_host(&x, vec![0; 100])?)?;
    assert_eq!(host[..], pinned[..]);
    stream.write(&[1, 2, 3], x.slice(..3))?;
    assert_eq!(stream.copy_to_host(x.slice(1..4), vec![0; 3].into_boxed_slice())?.wait()?[..], [2, 3, 7]);
    drop(stream.copy_to_device(pinned, &x)?);
    drop(stream.copy_to_host(&x, host)?);
    pollster::block_on(stream.done())?;
    Ok(())
}

#[test]
fn closures_and_futures_end_whoever_goes_first() -> Result<()> {
    let runtime = Runtime::new()?;
    let stream = runtime.open_device()?.stream()?;
    let executor = runtime.executor()?;
    let (sender, receiver) = mpsc::channel();
    let told = sender.clone();
    stream.then(&executor, move |result| told.send(result.is_ok()).expect("somebody listens"))?;
    stream.then(&executor, move |_| {
        let _held = sender;
        panic!("it ends in the callback");
    })?;
    assert!(receiver.iter().eq([true]));
    for _ in 0..3 {
        let mut done = stream.done();
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = std::future::Future::poll(std::pin::Pin::new(&mut done), &mut context);
    }
    let completions = gpuorch::Completions::new();
    completions.watch_stream(&stream, 1)?;
    let all = (runtime, stream.clone(), executor.clone());
    stream.then(&executor, move |_| drop(all))?;
    Ok(())
}

#[test]
fn what_the_table_lacks_is_named() -> Result<()> {
    let runtime = Runtime::new()?;
    let error = runtime.metrics().unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::NotSupported, "gpo_runtime_get_metrics"));
    Ok(())
}
