//! Batchers: requests whose output is awaited, and whose memory stays until they have ended.

mod world;

use gpuorch::batcher::{Batch, Batcher, Key};
use gpuorch::{BoundKernel, DeviceBuffer, DeviceSlice, ErrorKind, Launch, Result, Runtime, sys};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;
use world::{World, eventually, world};

const SOURCE: &str = r#"
extern "C" __global__ void twice(const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void lengths(unsigned *made, const unsigned *offsets, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) made[i] = offsets[i + 1] - offsets[i];
}
"#;

type Twice = BoundKernel<(DeviceBuffer<f32>, DeviceBuffer<f32>, u32)>;

fn twice(w: &World) -> Result<Twice> {
    // SAFETY: two addresses, and the count of elements that it reads and writes.
    unsafe { w.device.compile(SOURCE)?.kernel("twice")?.bind() }
}

fn put(twice: &Twice, batch: &Batch<'_, f32, f32>) -> Result<()> {
    let (x, y): (DeviceSlice<f32>, DeviceSlice<f32>) = (batch.input(), batch.output());
    let count = x.len();
    twice.launch(batch.stream(), &Launch::each(count, 64), (x, y, count as u32))?;
    Ok(())
}

fn of_rows(batcher: &Batcher, w: &World) -> Result<Key<f32, f32>> {
    let twice = twice(w)?;
    batcher.rows(4, 4).max_batch(64).label("rows").work(move |batch| put(&twice, batch))
}

/// A key whose requests wait for others for an hour.
fn slow(batcher: &Batcher) -> Result<Key<f32, f32>> {
    let hour = Duration::from_secs(3600);
    batcher.rows(4, 4).max_batch(100).max_delay(hour).work(|_| Ok::<_, gpuorch::Error>(()))
}

#[test]
fn requests_of_many_clients_get_their_own_output() -> Result<()> {
    let w = world();
    let batcher = Batcher::builder([&w.device]).lanes(2).capacity(1000).label("front").build()?;
    let key = of_rows(&batcher, &w)?;
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (batcher, key) = (&batcher, &key);
            scope.spawn(move || {
                for i in 0..20 {
                    let row = vec![(client * 100 + i) as f32; 4];
                    let output = pollster::block_on(batcher.submit(key.request(row).flow(client))).expect("output");
                    assert_eq!(output, [2.0 * (client * 100 + i) as f32; 4]);
                }
            });
        }
    });
    let info = batcher.info()?;
    assert_eq!((info.keys, info.succeeded, info.waiting, info.running), (1, 80, 0, 0));
    assert_eq!(key.info()?.sizes.iter().sum::<u64>(), key.info()?.batches);
    assert_eq!(batcher.flow_info(3)?.succeeded, 20);
    assert_eq!(batcher.flow_info(99).expect_err("a flow nobody has seen").kind(), ErrorKind::NotFound);
    assert_eq!(batcher.cancel(1).expect_err("no such ticket").kind(), ErrorKind::NotFound);
    assert_eq!((key.number(), key.batcher().devices().len()), (0, 1));
    Ok(())
}

#[test]
fn ragged_requests_say_how_much_output_they_made() -> Result<()> {
    let w = world();
    let batcher = Batcher::new([&w.device])?;
    // SAFETY: two addresses of as many numbers as the third says, with one more offset.
    let lengths: BoundKernel<(DeviceBuffer<u32>, DeviceBuffer<u32>, u32)> =
        unsafe { w.device.compile(SOURCE)?.kernel("lengths")?.bind()? };
    let key = batcher.ragged::<u8, u8>(1, 2, 1000).variable_output().work(move |batch| {
        assert_eq!(batch.members().map(|member| member.elements).sum::<usize>(), batch.elements());
        let made = batch.made().expect("variable output");
        let count = batch.requests();
        lengths.launch(batch.stream(), &Launch::each(count, 64), (made, batch.offsets(), count as u32))?;
        Ok::<_, gpuorch::Error>(())
    })?;
    for elements in [1, 3, 1000] {
        let output = pollster::block_on(batcher.submit(key.request(vec![7u8; elements])))?;
        assert_eq!(output, vec![0; elements]); // half of its room
    }
    let refused = |input| pollster::block_on(batcher.submit(key.request(input))).unwrap_err().kind();
    assert_eq!([refused(vec![]), refused(vec![7; 1001])], [ErrorKind::InvalidArgument; 2]);
    Ok(())
}

#[test]
fn a_dropped_future_takes_its_request_out_of_the_line() -> Result<()> {
    let w = world();
    let batcher = Batcher::new([&w.device])?;
    let (fast, slow) = (of_rows(&batcher, &w)?, slow(&batcher)?);
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut waiting = pin!(batcher.submit(slow.request(vec![1.0; 4])));
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert_eq!(slow.info()?.waiting, 1);
    }
    assert_eq!((slow.info()?.waiting, slow.info()?.cancelled), (0, 1));
    // Batches that run use the memory of futures that are gone.
    for _ in 0..100 {
        let _ = pin!(batcher.submit(fast.request(vec![1.0; 4]))).as_mut().poll(&mut context);
    }
    // Never polled: no request.
    drop(batcher.submit(fast.request(vec![1.0; 4])));
    eventually("all requests ended", || {
        batcher.info().is_ok_and(|info| info.succeeded + info.cancelled == 101 && info.running == 0)
    });
    Ok(())
}

#[test]
fn a_request_ends_with_an_error_that_says_why() -> Result<()> {
    let w = world();
    let batcher = Batcher::builder([&w.device]).capacity(1).build()?;
    let slow = slow(&batcher)?;
    let broken = batcher.rows::<f32, f32>(4, 4).work(|_| Err("no such weights"))?;
    let panics = batcher.rows::<f32, f32>(4, 4).work(|_| -> Result<()> { panic!("on purpose") })?;
    let failure = |request| pollster::block_on(batcher.submit(request)).unwrap_err();
    let failed = failure(broken.request(vec![0.0; 4]));
    assert_eq!(failed.kind(), ErrorKind::CallbackFailed);
    assert!(failed.to_string().contains("no such weights"), "{failed}");
    assert!(failure(panics.request(vec![0.0; 4])).to_string().contains("on purpose"));
    assert_eq!(failure(slow.request(vec![0.0; 3])).kind(), ErrorKind::InvalidArgument);
    let other = Batcher::new([&w.device])?;
    assert_eq!(failure(of_rows(&other, &w)?.request(vec![0.0; 4])).kind(), ErrorKind::InvalidArgument);
    let late = failure(slow.request(vec![0.0; 4]).within(Duration::ZERO));
    assert_eq!((late.kind(), late.error().kind()), (ErrorKind::Timeout, ErrorKind::Timeout));
    let mut waiting = pin!(batcher.submit(slow.request(vec![1.0; 4])));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(failure(slow.request(vec![0.0; 4])).kind(), ErrorKind::WouldBlock);
    assert!(batcher.rows::<f32, f32>(0, 0).work(|_| Ok::<_, gpuorch::Error>(())).is_err());
    assert_eq!(Batcher::new([]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn closures_go_with_the_batcher_once_its_requests_have_ended() -> Result<()> {
    let w = world();
    let calls = Arc::new(AtomicUsize::new(0));
    let batcher = Batcher::new([&w.device])?;
    let counted = Arc::clone(&calls);
    let key = batcher.rows::<f32, f32>(1, 1).preserve_order().work(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, gpuorch::Error>(())
    })?;
    let future = batcher.submit(key.request(vec![1.0]));
    drop((batcher, key));
    assert_eq!(pollster::block_on(future)?, [0.0]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    eventually("the closure went", || Arc::strong_count(&calls) == 1);
    Ok(())
}

#[test]
fn a_shutdown_ends_requests_and_leaves_their_memory_to_their_batches() -> Result<()> {
    let runtime = Runtime::new()?;
    let device = runtime.open_device()?;
    let batcher = Batcher::new([&device])?;
    let slow = slow(&batcher)?;
    let mut waiting = pin!(batcher.submit(slow.request(vec![1.0; 4])));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    runtime.shutdown(Duration::from_secs(20))?;
    assert_eq!(pollster::block_on(waiting).unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(batcher.info().is_err());
    Ok(())
}

#[test]
fn a_queue_takes_the_end_of_a_request_in_cs_terms() -> Result<()> {
    let w = world();
    let (batcher, queue) = (Batcher::new([&w.device])?, w.runtime.completion_queue()?);
    let key = of_rows(&batcher, &w)?;
    let (input, mut output) = ([1.0f32, 2.0, 3.0, 4.0], [0.0f32; 4]);
    let mut request = sys::gpo_batcher_request::new();
    request.key = key.number();
    request.input = input.as_ptr().cast();
    request.output = output.as_mut_ptr().cast();
    // SAFETY: the memory is used again when the entry has come.
    let ticket = unsafe { queue.submit(&batcher, &request, 7)? };
    eventually("the entry came", || queue.wait_for(Duration::from_secs(1)).is_ok());
    let entry = queue.drain(1)?[0];
    assert_eq!((entry.failed(), entry.operation, entry.user_data), (None, ticket, 7));
    assert_eq!(output, [2.0, 4.0, 6.0, 8.0]);
    Ok(())
}
