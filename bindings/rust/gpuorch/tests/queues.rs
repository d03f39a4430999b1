//! Queues that kernels take their work from.

mod world;

use gpuorch::queue::{Range, Ring, Task};
use gpuorch::sys::{GPO_QUEUE_ABORTED, GPO_QUEUE_CLOSED, GPO_QUEUE_OPEN};
use gpuorch::{BoundKernel, DeviceBuffer, ErrorKind, Launch, Object, Result, Runtime, Slice};
use std::time::{Duration, Instant};
use world::recorded::kind;
use world::{World, world};

/// Kernels that count each number, write the order of the numbers, and copy a queue's words.
const SOURCE: &str = r#"
#include <gpuorch/device/queue.cuh>

extern "C" __global__ void count(gpo::range rows, unsigned *seen, unsigned long long n) {
    gpo::thread_range mine(rows);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last; ++i)
            if (mine.number(i) < n) atomicAdd(&seen[mine.number(i)], 1);
}

extern "C" __global__ void order(gpo::range rows, unsigned *to, unsigned long long n) {
    gpo::thread_range mine(rows);
    unsigned long long first, last, at = 0;
    while (mine.next(first, last) == gpo::queue_success)
        for (unsigned long long i = first; i < last && at < n; ++i) to[at++] = mine.number(i);
}

template <class Queue>
__device__ void copy(const Queue &from, unsigned long long *to, unsigned long long n) {
    const unsigned long long *words = (const unsigned long long *)&from;
    for (unsigned i = 0; i < sizeof(Queue) / 8 && i < n; ++i) to[i] = words[i];
}
extern "C" __global__ void range_words(gpo::range from, unsigned long long *to, unsigned long long n) {
    copy(from, to, n);
}
extern "C" __global__ void ring_words(gpo::ring from, unsigned long long *to, unsigned long long n) {
    copy(from, to, n);
}
"#;

type Counting = BoundKernel<(Range, Slice<u32>)>;

fn counting(w: &World, name: &str) -> Result<Counting> {
    // SAFETY: a range, an address and a count, which `count` and `order` stay below for all numbers.
    unsafe { w.device.compile(SOURCE)?.kernel(name)?.bind() }
}

fn read<T: bytemuck::Pod + Send>(w: &World, x: &DeviceBuffer<T>) -> Result<Vec<T>> {
    Ok(w.stream.copy_to_host(x, vec![T::zeroed(); x.len()])?.wait()?)
}

// --- ranges ---

#[test]
fn every_number_of_a_range_is_handed_out_once_in_each_launch() -> Result<()> {
    let (w, numbers) = (world(), 1003);
    let count = counting(&w, "count")?;
    let rows = w.device.range(numbers).batch(7).label("rows").build()?;
    assert_eq!((rows.label()?, rows.info()?.capacity), ("rows".to_owned(), numbers));
    let seen = w.device.buffer::<u32>(numbers as usize)?;
    w.stream.fill(&seen, 0)?;
    for launches in 1..=3 {
        count.launch(&w.stream, &Launch::new(3, 40), (&rows, &seen))?;
        assert_eq!(read(&w, &seen)?, vec![launches; numbers as usize]);
    }
    let late = w.device.range(numbers).batch(7).late_claims().build()?;
    count.launch(&w.stream, &Launch::new(3, 40), (&late, &seen))?;
    assert_eq!(read(&w, &seen)?, vec![4; numbers as usize]);
    Ok(())
}

#[test]
fn the_longest_tasks_come_first_until_the_numbers_have_their_own_order_again() -> Result<()> {
    let w = world();
    let order = counting(&w, "order")?;
    let (rows, to) = (w.device.range(5).build()?, w.device.buffer::<u32>(5)?);
    let run = || {
        order.launch(&w.stream, &Launch::new(1, 1), (&rows, &to))?;
        read(&w, &to)
    };
    assert_eq!(run()?, [0, 1, 2, 3, 4]);
    rows.set_costs(&w.stream, &[1.0, 5.0, 3.0, 5.0, 0.5])?;
    assert_eq!(run()?, [1, 3, 2, 0, 4]);
    rows.forget_costs(&w.stream)?;
    assert_eq!(run()?, [0, 1, 2, 3, 4]);
    rows.reset(&w.stream)?;
    assert_eq!(run()?, [0, 1, 2, 3, 4]);
    let error = rows.set_costs(&w.stream, &[1.0; 4]).unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_queue_set_costs"));
    assert_eq!(kind(rows.set_costs(&w.stream, &[])), ErrorKind::InvalidArgument);
    let nan = rows.set_costs(&w.stream, &[1.0, 2.0, f32::NAN, 3.0, 4.0]).unwrap_err();
    assert!(nan.kind() == ErrorKind::InvalidArgument && nan.message().contains('2'), "{nan}");
    Ok(())
}

#[test]
fn a_graph_takes_the_numbers_of_a_range_in_each_launch() -> Result<()> {
    let w = world();
    let count = counting(&w, "count")?;
    let (rows, seen) = (w.device.range(100).build()?, w.device.buffer::<u32>(100)?);
    let template = w.device.template()?;
    w.stream.fill(&seen, 0)?;
    // SAFETY: range and buffer outlive the launches, which are waited for.
    let graph = unsafe {
        template.add_kernel(&[], &count, &Launch::new(2, 32), (&rows, &seen))?;
        template.graph()?
    };
    for _ in 0..3 {
        graph.launch(&w.stream)?;
    }
    assert_eq!(read(&w, &seen)?, [3; 100]);
    Ok(())
}

#[test]
fn a_range_is_dropped_while_kernels_use_it() -> Result<()> {
    let w = world();
    let count = counting(&w, "count")?;
    let seen = w.device.buffer::<u32>(100)?;
    let timeline = w.runtime.timeline(0)?;
    w.stream.fill(&seen, 0)?;
    w.stream.wait_timeline(&timeline, 1)?;
    for _ in 0..3 {
        count.launch(&w.stream, &Launch::new(2, 32), (&w.device.range(100).build()?, &seen))?;
    }
    timeline.signal(1)?;
    assert_eq!(read(&w, &seen)?, [3; 100]);
    Ok(())
}

// --- rings ---

gpuorch::task! {
    /// With fields of every size.
    struct Mixed {
        wide: u64,
        real: f64,
        pairs: [[i32; 2]; 4],
        single: f32,
        shorts: [u16; 3],
        bytes: [i8; 6],
    }
}

#[test]
fn a_task_has_the_same_layout_in_kernels() -> Result<()> {
    let w = world();
    let module = w
        .device
        .compile_builder(
            r#"#include "mixed.h"
               extern "C" __global__ void sum(Mixed m, double *to) {
                   *to = m.wide + m.real + m.single + m.pairs[3][1] + m.shorts[2] + m.bytes[5];
               }"#,
        )
        .header("mixed.h", Mixed::declaration())
        .compile()?;
    // SAFETY: a Mixed, and an address of one number.
    let sum = unsafe { module.kernel("sum")?.bind::<(Mixed, DeviceBuffer<f64>)>()? };
    let to = w.device.buffer::<f64>(1)?;
    let mixed = Mixed {
        wide: 1 << 40,
        real: 0.25,
        pairs: [[0, 0], [0, 0], [0, 0], [0, -5]],
        single: 0.5,
        shorts: [0, 0, 40_000],
        bytes: [0, 0, 0, 0, 0, -1],
    };
    sum.launch(&w.stream, &Launch::new(1, 1), (mixed, &to))?;
    assert_eq!(read(&w, &to)?, [(1u64 << 40) as f64 + 39_994.75]);
    assert_eq!(w.device.ring::<Mixed>().build()?.info()?.task_size, 64);
    Ok(())
}

#[test]
fn a_layout_that_is_not_rusts_does_not_compile() {
    let w = world();
    let other = Mixed::declaration().replace("unsigned short shorts[3]", "unsigned char shorts[3]");
    assert_ne!(other, Mixed::declaration());
    assert_eq!(kind(w.device.compile(&other)), ErrorKind::CompileFailed);
    let log = gpuorch::compile_log().expect("the compiler's text");
    assert!(log.contains("Mixed is as in Rust"), "{log}");
}

#[test]
fn a_ring_counts_what_is_pushed_and_what_finds_no_room() -> Result<()> {
    let w = world();
    let ring = w.device.ring::<[u32; 4]>().capacity(60).priorities(2).label("work").build()?;
    let before = ring.info()?;
    assert_eq!(
        (ring.label()?.as_str(), before.capacity, before.task_size, before.state),
        ("work", 64, 16, GPO_QUEUE_OPEN)
    );
    ring.push(&w.stream, &[[1; 4]; 60])?;
    ring.push(&w.stream, &[])?;
    ring.push_with_priority(&w.stream, &[[2; 4]; 64], 1)?.wait()?;
    let full = ring.info()?;
    assert_eq!((full.pushed, full.depth, full.refused), (124, 124, 0));
    ring.push(&w.stream, &[[3; 4]; 6])?.wait()?;
    let over = ring.info()?;
    assert_eq!((over.pushed, over.refused), (128, 2));
    assert_eq!(kind(ring.push_with_priority(&w.stream, &[[2; 4]], 2)), ErrorKind::InvalidArgument);
    ring.reset(&w.stream)?.wait()?;
    assert_eq!((ring.info()?.depth, ring.info()?.refused), (0, 0));
    Ok(())
}

#[test]
fn a_ring_is_open_until_it_is_closed_or_aborted() -> Result<()> {
    let w = world();
    let ring = w.device.ring::<[u64; 2]>().tickets().build()?;
    ring.close()?;
    ring.close()?;
    assert_eq!(ring.info()?.state, GPO_QUEUE_CLOSED);
    ring.push(&w.stream, &[[1; 2]; 3])?.wait()?;
    assert_eq!((ring.info()?.pushed, ring.info()?.refused), (0, 3));
    ring.abort()?;
    // Aborting waits for nothing.
    let deadline = Instant::now() + Duration::from_secs(20);
    while ring.info()?.state != GPO_QUEUE_ABORTED && Instant::now() < deadline {}
    assert_eq!(ring.info()?.state, GPO_QUEUE_ABORTED);
    ring.reset(&w.stream)?.wait()?;
    assert_eq!(ring.info()?.state, GPO_QUEUE_OPEN);
    Ok(())
}

#[test]
fn options_that_are_out_of_range_are_named() -> Result<()> {
    let w = world();
    for (error, named) in [
        (w.device.range(0).build().map(drop), "options.count"),
        (w.device.range((1 << 48) + 1).build().map(drop), "options.count"),
        (w.device.ring::<[u32; 4]>().priorities(9).build().map(drop), "options.priorities"),
        (w.device.ring::<[u32; 4]>().capacity(1 << 27).build().map(drop), "options.capacity"),
    ] {
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_queue_create"));
        assert!(error.message().contains(named), "{error}");
    }
    assert_eq!(kind(w.device.range(1).label("a\0b").build()), ErrorKind::InvalidArgument);
    Ok(())
}

/// Each task of a number n > 0 pushes two of n - 1, and counts. A worker that finds no room does the task itself.
const TREE: &str = r#"
struct node { unsigned height, unused[3]; };
__device__ void visit(gpo::ring tasks, node which, unsigned *visits) {
    atomicAdd(visits, 1);
    if (which.height == 0) return;
    for (int i = 0; i < 2; ++i) {
        const node child = {which.height - 1, {}};
        if (gpo::try_push(tasks, child) != gpo::queue_success) visit(tasks, child, visits);
    }
}
extern "C" __global__ void tree(gpo::ring tasks, unsigned *visits, int *ends) {
    node next;
    int status;
    while ((status = gpo::pop(tasks, next, gpo::nanoseconds(20000000000ull))) == gpo::queue_success ||
           status == gpo::queue_would_block) {
        if (status == gpo::queue_would_block) continue;
        visit(tasks, next, visits);
        gpo::done(tasks);
    }
    ends[blockIdx.x * blockDim.x + threadIdx.x] = status;
}
"#;

type Tree = BoundKernel<(Ring<[u32; 4]>, DeviceBuffer<u32>, DeviceBuffer<i32>)>;

fn tree(w: &World) -> Result<Tree> {
    let source = format!("#include <gpuorch/device/queue.cuh>\n{TREE}");
    // SAFETY: a ring of 16 bytes, one number, and one for each of the 64 threads that the tests launch.
    unsafe { w.device.compile(&source)?.kernel("tree")?.bind() }
}

#[test]
fn tasks_push_tasks_until_a_ring_is_closed_and_all_are_done() -> Result<()> {
    let w = world();
    let tree = tree(&w)?;
    let ring = w.device.ring::<[u32; 4]>().capacity(64).build()?;
    let (visits, ends) = (w.device.buffer::<u32>(1)?, w.device.buffer::<i32>(64)?);
    w.stream.fill(&visits, 0)?;
    ring.push(&w.stream, &[[8, 0, 0, 0], [3, 0, 0, 0]])?;
    w.stream.wait()?;
    ring.close()?;
    tree.launch(&w.stream, &Launch::new(2, 32), (&ring, &visits, &ends))?;
    assert_eq!(read(&w, &visits)?, [511 + 15]);
    assert_eq!(read(&w, &ends)?, [gpuorch::sys::GPO_END; 64]);
    let info = ring.info()?;
    assert_eq!((info.depth, info.done), (0, info.pushed));
    Ok(())
}

#[test]
fn workers_hear_that_a_ring_was_aborted() -> Result<()> {
    let w = world();
    let tree = tree(&w)?;
    let ring = w.device.ring::<[u32; 4]>().build()?;
    let (visits, ends) = (w.device.buffer::<u32>(1)?, w.device.buffer::<i32>(64)?);
    tree.launch(&w.stream, &Launch::new(2, 32), (&ring, &visits, &ends))?;
    ring.abort()?;
    assert_eq!(read(&w, &ends)?, [gpuorch::sys::GPO_CANCELLED; 64]);
    Ok(())
}

// --- queues as arguments ---

#[test]
fn a_kernel_gets_a_queue_as_the_value_that_the_library_has_for_it() -> Result<()> {
    let w = world();
    let module = w.device.compile(SOURCE)?;
    // SAFETY: a queue, an address and a count, which they stay below.
    let (of_range, of_ring) = unsafe {
        let of_ring = module.kernel("ring_words")?.bind::<(Ring<[u32; 8]>, Slice<u64>)>()?;
        (module.kernel("range_words")?.bind::<(Range, Slice<u64>)>()?, of_ring)
    };
    let (rows, ring) =
        (w.device.range(77).batch(5).late_claims().build()?, w.device.ring::<[u32; 8]>().capacity(128).build()?);
    let (range_words, ring_words) = (w.device.buffer::<u64>(8)?, w.device.buffer::<u64>(12)?);
    of_range.launch(&w.stream, &Launch::new(1, 1), (&rows, &range_words))?;
    of_ring.launch(&w.stream, &Launch::new(1, 1), (&ring, &ring_words))?;
    let (range, ring) = (read(&w, &range_words)?, read(&w, &ring_words)?);
    assert_eq!((&range[0].to_le_bytes()[..4], range[2], range[4] as u32), (&b"GRAR"[..], 77, 5));
    assert_eq!(range[4] >> 32, 1, "its workers claim late");
    let (log2, task_size) = (ring[4] as u32, (ring[4] >> 32) as u32);
    assert_eq!((&ring[0].to_le_bytes()[..4], log2, task_size), (&b"GRRI"[..], 7, 32));
    // SAFETY: nothing is launched.
    assert_eq!(kind(unsafe { module.kernel("ring_words")?.bind::<(Range, Slice<u64>)>() }), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn a_queue_of_another_device_or_runtime_is_refused() -> Result<()> {
    let w = world();
    let count = counting(&w, "count")?;
    let seen = w.device.buffer::<u32>(10)?;
    let other = Runtime::new()?;
    let rows = other.open_device()?.range(10).build()?;
    let error = count.launch(&w.stream, &Launch::new(1, 32), (&rows, &seen)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("of another device"), "{error}");
    let template = w.device.template()?;
    // SAFETY: it is refused.
    let error = unsafe { template.add_kernel(&[], &count, &Launch::new(1, 32), (&rows, &seen)) }.unwrap_err();
    assert!(error.message().contains("of another device"), "{error}");
    assert_eq!(kind(rows.reset(&w.stream)), ErrorKind::InvalidHandle);
    // A second handle of the device is accepted.
    let rows = w.runtime.open_device()?.range(10).build()?;
    w.stream.fill(&seen, 0)?;
    count.launch(&w.stream, &Launch::new(1, 32), (&rows, &seen))?;
    assert_eq!(read(&w, &seen)?, [1; 10]);
    Ok(())
}

// --- resident streams ---

#[test]
fn a_resident_stream_takes_the_queues_that_were_made_for_it() -> Result<()> {
    let w = world();
    let count = counting(&w, "count")?;
    let resident = w.device.stream_builder().resident().build()?;
    assert!(resident.is_resident() && !w.stream.is_resident());
    let (own, other) = (w.device.range(10).resident_on(&resident).build()?, w.device.range(10).build()?);
    let seen = w.device.buffer::<u32>(10)?;
    w.stream.fill(&seen, 0)?.wait()?;
    count.launch(&resident, &Launch::new(1, 32), (&own, &seen))?.wait()?;
    let error = count.launch(&resident, &Launch::new(1, 32), (&other, &seen)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("resident_on"), "{error}");
    count.launch(&w.stream, &Launch::new(1, 32), (&own, &seen))?;
    assert_eq!(read(&w, &seen)?, [2; 10]);
    let error = w.device.range(10).resident_on(&w.stream).build().unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains("resident"), "{error}");
    Ok(())
}

/// Waits for `state` to be 2, aborted: for a ring's words, see device/handles.cuh.
const STAYS: &str = r#"
#include <gpuorch/device/queue.cuh>
extern "C" __global__ void stay(gpo::ring ring, unsigned *to) {
    while (((volatile unsigned *)ring.words)[gpo::ring_state * 32] != gpo::queue_is_aborted) {}
    *to = 1;
}
"#;

fn staying<T: Task>(w: &World) -> Result<BoundKernel<(Ring<T>, DeviceBuffer<u32>)>> {
    // SAFETY: a ring, and an address of one number.
    unsafe { w.device.compile(STAYS)?.kernel("stay")?.bind() }
}

#[test]
fn what_a_resident_kernel_uses_is_freed_when_the_kernel_has_ended() -> Result<()> {
    let w = world();
    let stay = staying::<[u32; 4]>(&w)?;
    let resident = w.device.stream_builder().resident().build()?;
    let ring = w.device.ring::<[u32; 4]>().resident_on(&resident).build()?;
    let to = w.device.buffer::<u32>(1)?;
    let address = to.address();
    stay.launch(&resident, &Launch::new(1, 1), (&ring, &to))?;
    drop(to);
    w.device.wait()?;
    assert!(!resident.is_done()?);
    assert_eq!(w.device.describe_memory(address)?.kind, gpuorch::sys::GPO_MEMORY_DEVICE);
    drop(ring);
    resident.wait()?;
    Ok(())
}

#[test]
fn a_shutdown_ends_resident_kernels_of_queues_that_were_made_for_their_stream() -> Result<()> {
    let w = world();
    let stay = staying::<[u32; 4]>(&w)?;
    let resident = w.device.stream_builder().resident().build()?;
    let ring = w.device.ring::<[u32; 4]>().resident_on(&resident).build()?;
    let to = w.device.buffer::<u32>(1)?;
    stay.launch(&resident, &Launch::new(1, 1), (&ring, &to))?;
    w.runtime.shutdown(Duration::from_secs(20))?;
    assert_eq!(kind(ring.close()), ErrorKind::InvalidHandle);
    Ok(())
}
