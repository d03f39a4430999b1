//! Host rings: tasks from the host to a kernel that stays on the GPU, and its answers.

mod world;

use gpuorch::queue::{HostRing, Tenant};
use gpuorch::sys::GPO_QUEUE_CLOSED;
use gpuorch::{DeviceBuffer, ErrorKind, Launch, Result, Stream};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use world::recorded::{kind, read};
use world::{World, eventually, world};

gpuorch::task! {
    /// Two numbers to be added.
    struct Sum { a: u64, b: u64 }
}

/// Answers with the sum, and with a = 7 with a failure.
const SERVER: &str = r#"
#include <gpuorch/device/queue.cuh>
#include "sum.h"
extern "C" __global__ void serve(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    const gpo::bound patience = gpo::nanoseconds(60000000000ull);
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, patience);
        return;
    }
    gpo::host_task<Sum> next;
    while (gpo::warp_pop(requests.tasks, next, patience) == gpo::queue_success)
        gpo::warp_answer(requests, next.ticket, next.task.a == 7 ? 13 : 0, next.task.a + next.task.b);
}
"#;

struct Server {
    w: World,
    resident: Stream,
    requests: HostRing<Sum, u64>,
}

impl Server {
    fn new(tenants: u32) -> Result<Self> {
        let w = world();
        let module = w.device.compile_builder(SERVER).header("sum.h", Sum::declaration()).compile()?;
        // SAFETY: a host ring whose tasks and answers it has.
        let serve = unsafe { module.kernel("serve")?.bind::<(HostRing<Sum, u64>,)>()? };
        let resident = w.device.stream_builder().resident().build()?;
        let requests = w.device.host_ring(&resident).capacity(64).tenants(tenants).label("requests").build()?;
        serve.launch(&resident, &Launch::new(3, 32), (&requests,))?;
        Ok(Self { w, resident, requests })
    }
}

/// All answers that will come to a tenant whose ring is closed.
fn rest(tenant: &Tenant<Sum, u64>) -> Result<Vec<(u64, u64)>> {
    let mut answers = Vec::new();
    loop {
        match tenant.wait_for(Duration::from_secs(20)) {
            Ok(()) => answers.extend(tenant.take(usize::MAX)?.iter().map(|answer| (answer.user_data, answer.value))),
            Err(end) if end.kind() == ErrorKind::End => break,
            Err(error) => return Err(error),
        }
    }
    answers.sort_unstable();
    Ok(answers)
}

#[test]
fn a_resident_kernel_answers_what_the_host_posts() -> Result<()> {
    let server = Server::new(1)?;
    let requests = &server.requests;
    assert_eq!(requests.post(&[Sum { a: 1, b: 2 }, Sum { a: 1 << 40, b: 5 }], 100)?, 2);
    assert_eq!(requests.post(&[], 0)?, 0);
    requests.wait()?;
    requests.close()?;
    assert_eq!(kind(requests.post(&[Sum { a: 1, b: 2 }], 0)), ErrorKind::InvalidState);
    assert_eq!(rest(requests)?, [(100, 3), (101, (1 << 40) + 5)]);
    server.resident.wait()?;
    let info = requests.info()?;
    assert_eq!((info.posted, info.answered, info.state), (2, 2, GPO_QUEUE_CLOSED));
    Ok(())
}

#[test]
fn an_answer_has_the_status_that_the_kernel_gave() -> Result<()> {
    let server = Server::new(1)?;
    server.requests.post(&[Sum { a: 7, b: 0 }], 1)?;
    server.requests.wait()?;
    let answers = server.requests.take(5)?;
    assert_eq!((answers.len(), answers[0].user_data, answers[0].value), (1, 1, 7));
    assert_eq!(answers[0].failed().and_then(ErrorKind::status), Some(13));
    assert!(server.requests.take(5)?.is_empty());
    assert_eq!(kind(server.requests.wait_for(Duration::from_millis(1))), ErrorKind::Timeout);
    Ok(())
}

#[test]
fn more_is_posted_from_several_threads_than_fits_at_once() -> Result<()> {
    const EACH: u64 = 500;
    let server = Server::new(3)?;
    let added: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let tenant = server.requests.tenant(number);
                scope.spawn(move || {
                    let (mut posted, mut sum, mut answered) = (0, 0, 0);
                    while answered < EACH {
                        let tasks: Vec<_> = (posted..EACH.min(posted + 40)).map(|a| Sum { a: a + 8, b: 1 }).collect();
                        match tenant.post(&tasks, posted) {
                            Ok(count) => posted += count as u64,
                            Err(full) => assert_eq!(full.kind(), ErrorKind::WouldBlock),
                        }
                        for answer in tenant.take(usize::MAX).expect("answers") {
                            assert_eq!(answer.value, answer.user_data + 9);
                            (sum, answered) = (sum + answer.user_data, answered + 1);
                        }
                    }
                    sum
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(added, 3 * EACH * (EACH - 1) / 2);
    Ok(())
}

#[test]
fn answers_are_announced_in_a_completion_queue_and_a_tenant_has_its_share() -> Result<()> {
    let server = Server::new(2)?;
    let queue = server.w.runtime.completion_queue()?;
    let (plain, announced) = (server.requests.tenant(0), server.requests.tenant(1));
    assert_eq!((announced.number(), kind(announced.set(Some(65), None))), (1, ErrorKind::InvalidArgument));
    assert_eq!(kind(server.requests.tenant(2).post(&[Sum { a: 1, b: 1 }], 0)), ErrorKind::InvalidArgument);
    announced.set(Some(2), Some(&queue))?;
    assert_eq!(announced.post(&[Sum { a: 1, b: 1 }; 5], 50)?, 2);
    assert_eq!(kind(announced.set(None, None)), ErrorKind::InvalidState);
    let mut entries = Vec::new();
    while entries.len() < 2 {
        queue.wait_for(Duration::from_secs(20))?;
        entries.extend(queue.drain(8)?.iter().map(|entry| (entry.user_data, entry.failed())));
    }
    entries.sort_by_key(|&(number, _)| number);
    assert_eq!(entries, [(50, None), (51, None)]);
    assert_eq!(kind(announced.post(&[Sum { a: 1, b: 1 }], 60)), ErrorKind::WouldBlock);
    assert_eq!(announced.take(8)?.len(), 2);
    assert_eq!(announced.post(&[Sum { a: 1, b: 1 }], 60)?, 1);
    assert!(plain.take(8)?.is_empty());
    Ok(())
}

#[test]
fn a_host_ring_that_is_dropped_ends_its_kernel() -> Result<()> {
    let Server { w, resident, requests } = Server::new(1)?;
    let tenant = requests.tenant(0);
    drop(requests);
    tenant.post(&[Sum { a: 1, b: 1 }], 0)?;
    tenant.wait_for(Duration::from_secs(20))?;
    assert!(!resident.is_done()?);
    drop(tenant);
    resident.wait()?;
    drop(w);
    Ok(())
}

#[test]
fn a_host_ring_that_is_aborted_has_no_more_answers() -> Result<()> {
    let server = Server::new(1)?;
    server.requests.abort()?;
    server.resident.wait()?;
    assert_eq!(kind(server.requests.wait_for(Duration::from_secs(20))), ErrorKind::Cancelled);
    assert_eq!(kind(server.requests.post(&[Sum { a: 1, b: 1 }], 0)), ErrorKind::InvalidState);
    Ok(())
}

/// Posts and takes as many tasks as `count`, with numbers from 0 on. Returns the sum of the answered numbers.
async fn all_answered(tenant: &Tenant<Sum, u64>, count: u64) -> Result<u64> {
    let tasks: Vec<_> = (0..count).map(|a| Sum { a: a + 8, b: 1 }).collect();
    let post = async {
        let mut posted = 0;
        while posted < tasks.len() {
            posted += tenant.post_async(&tasks[posted..], posted as u64).await?;
        }
        Ok::<_, gpuorch::Error>(posted as u64)
    };
    let take = async {
        let (mut sum, mut answered) = (0, 0);
        while answered < count {
            for answer in tenant.take_async(usize::MAX).await? {
                assert_eq!(answer.value, answer.user_data + 9);
                (sum, answered) = (sum + answer.user_data, answered + 1);
            }
        }
        Ok(sum)
    };
    let (posted, sum) = smol::future::zip(post, take).await;
    assert_eq!(posted?, count);
    sum
}

#[test]
fn posts_and_answers_are_awaited() -> Result<()> {
    const EACH: u64 = 500;
    let server = Server::new(3)?;
    assert_eq!(pollster::block_on(all_answered(&server.requests, EACH))?, EACH * (EACH - 1) / 2);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("tokio");
    tokio.block_on(async {
        let tenants = (0..3).map(|number| server.requests.tenant(number));
        let tasks: Vec<_> =
            tenants.map(|tenant| tokio::spawn(async move { all_answered(&tenant, EACH).await })).collect();
        for task in tasks {
            assert_eq!(task.await.expect("no panic")?, EACH * (EACH - 1) / 2);
        }
        Ok(())
    })
}

/// A ring whose kernel doesn't run.
fn idle(w: &World) -> Result<HostRing<Sum, u64>> {
    w.device.host_ring(&w.device.stream_builder().resident().build()?).capacity(64).build()
}

fn polled<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn an_await_of_answers_ends_with_the_ring() -> Result<()> {
    let server = Server::new(2)?;
    let requests = &server.requests;
    let mut waiting = requests.take_async(8);
    assert!(polled(&mut waiting).is_pending());
    requests.close()?;
    assert_eq!(kind(pollster::block_on(waiting)), ErrorKind::End);
    assert_eq!(kind(pollster::block_on(requests.take_async(8))), ErrorKind::End);
    assert_eq!(kind(pollster::block_on(requests.tenant(2).take_async(8))), ErrorKind::InvalidArgument);
    assert_eq!(kind(pollster::block_on(requests.post_async(&[Sum { a: 1, b: 1 }], 0))), ErrorKind::InvalidState);

    let (aborted, shut_down) = (idle(&server.w)?, idle(&server.w)?);
    let mut waiting = [aborted.take_async(8), shut_down.take_async(8)];
    assert!(waiting.iter_mut().all(|future| polled(future).is_pending()));
    assert!(pollster::block_on(aborted.take_async(0))?.is_empty());
    assert_eq!(pollster::block_on(aborted.post_async(&[], 0))?, 0);
    aborted.abort()?;
    let [first, second] = waiting;
    assert_eq!(kind(pollster::block_on(first)), ErrorKind::Cancelled);
    let ended = std::thread::spawn(move || kind(pollster::block_on(second)));
    server.w.runtime.shutdown(Duration::from_secs(20))?;
    let ended = ended.join().expect("no panic");
    assert!(matches!(ended, ErrorKind::ShutDown | ErrorKind::StaleHandle | ErrorKind::InvalidHandle), "{ended:?}");
    Ok(())
}

#[test]
fn a_dropped_await_loses_no_answer_and_posts_nothing() -> Result<()> {
    let server = Server::new(1)?;
    let requests = &server.requests;
    let mut waiting = requests.take_async(8);
    assert!(polled(&mut waiting).is_pending());
    requests.post(&[Sum { a: 1, b: 2 }], 5)?;
    requests.wait_for(Duration::from_secs(20))?;
    drop(waiting);
    let answers = pollster::block_on(requests.take_async(8))?;
    assert_eq!((answers.len(), answers[0].user_data, answers[0].value), (1, 5, 3));

    let ring = idle(&server.w)?;
    assert_eq!(ring.post(&[Sum { a: 1, b: 1 }; 65], 0)?, 64);
    let tasks = [Sum { a: 1, b: 1 }];
    let mut posting = ring.post_async(&tasks, 64);
    assert!(polled(&mut posting).is_pending());
    drop(posting);
    assert_eq!(ring.info()?.posted, 64);
    Ok(())
}

/// Counts how often it was woken.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn futures_of_a_ring_are_woken_by_its_changes_and_let_their_wakers_go() -> Result<()> {
    let server = Server::new(1)?;
    let requests = &server.requests;
    requests.set(Some(2), None)?;
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&counted));
    let mut context = Context::from_waker(&waker);

    let mut taking = requests.take_async(8);
    assert!(Pin::new(&mut taking).poll(&mut context).is_pending());
    assert_eq!(requests.post(&[Sum { a: 1, b: 1 }; 3], 0)?, 2);
    eventually("it is woken", || counted.0.load(Ordering::SeqCst) == 1);
    // The share is used up until the answers are taken.
    let tasks = [Sum { a: 1, b: 1 }];
    let mut posting = requests.post_async(&tasks, 2);
    assert!(Pin::new(&mut posting).poll(&mut context).is_pending());
    let mut answers = 0;
    while answers < 2 {
        answers += pollster::block_on(requests.take_async(8))?.len();
    }
    eventually("it is woken again", || counted.0.load(Ordering::SeqCst) > 1);
    assert!(matches!(Pin::new(&mut posting).poll(&mut context), Poll::Ready(Ok(1))));
    drop(posting);

    requests.wait_for(Duration::from_secs(20))?;
    assert_eq!(requests.take(8)?.len(), 1);
    drop(taking);
    let mut taking = requests.take_async(8);
    assert!(Pin::new(&mut taking).poll(&mut context).is_pending());
    drop(waker);
    eventually("the ring's thread keeps no waker", || Arc::strong_count(&counted) == 2);
    drop(taking);
    assert_eq!(Arc::strong_count(&counted), 1);
    Ok(())
}

#[test]
fn a_place_of_a_ring_without_answers_is_free_when_its_task_was_read() -> Result<()> {
    let w = world();
    let module = w.device.compile(
        r#"#include <gpuorch/device/queue.cuh>
           struct number { unsigned value, unused[3]; };
           extern "C" __global__ void add(gpo::host_ring from, unsigned *to) {
               gpo::host_taker taker(from);
               gpo::host_task<number> next;
               while (taker.take(next, gpo::nanoseconds(60000000000ull)) == gpo::queue_success) *to += next.task.value;
           }"#,
    )?;
    // SAFETY: a host ring with such tasks and no answers, and an address of one number.
    let add = unsafe { module.kernel("add")?.bind::<(HostRing<[u32; 4], ()>, DeviceBuffer<u32>)>()? };
    let resident = w.device.stream_builder().resident().build()?;
    let ring = w.device.host_ring::<[u32; 4], ()>(&resident).capacity(64).no_answers().build()?;
    let to = w.device.buffer::<u32>(1)?;
    w.stream.fill(&to, 0)?.wait()?;
    add.launch(&resident, &Launch::new(1, 1), (&ring, &to))?;
    let mut posted = 0;
    while posted < 1000 {
        match ring.post(&vec![[3; 4]; 1000 - posted], 0) {
            Ok(count) => posted += count,
            Err(full) => assert_eq!(full.kind(), ErrorKind::WouldBlock),
        }
    }
    pollster::block_on(async {
        while posted < 2000 {
            posted += ring.post_async(&vec![[3; 4]; 2000 - posted], 0).await?;
        }
        Ok::<_, gpuorch::Error>(())
    })?;
    ring.close()?;
    resident.wait()?;
    assert_eq!(read(&w, &to)?, [6000]);
    assert_eq!(kind(pollster::block_on(ring.take_async(8))), ErrorKind::NotSupported);
    assert_eq!(kind(ring.set(None, None)), ErrorKind::NotSupported);
    assert_eq!(kind(ring.wait()), ErrorKind::NotSupported);
    Ok(())
}
