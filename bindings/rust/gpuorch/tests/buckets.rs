//! Shape buckets: the choice of a bucket, padding, and the closures' rights.

mod world;

use gpuorch::template::{BucketParameter, BucketPhase, BucketWork, BucketsBuilder, Parameter};
use gpuorch::{BoundKernel, Buckets, DeviceBuffer, Error, ErrorKind, Launch, Result};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use world::recorded::{affine, kind, read};
use world::{World, world};

const LEN: usize = 64;

/// Work that makes `x * factor + 1` of as many elements as the shape has; the factor is 2 if the request sets none.
#[derive(Clone)]
struct Scaler {
    x: Arc<DeviceBuffer<u32>>,
    kernel: BoundKernel<(DeviceBuffer<u32>, u64, u32, u32)>,
    factor: BucketParameter<u32>,
    /// (shape, whether it was recorded) of all calls.
    calls: Arc<Mutex<Vec<(usize, bool)>>>,
}

impl Scaler {
    fn new(w: &World) -> Result<Self> {
        // SAFETY: an address, a count that it stays below, and two numbers.
        let kernel = unsafe { affine(w)?.kernel().bind()? };
        let (x, factor) = (Arc::new(w.device.buffer(LEN)?), BucketParameter::new("factor")?);
        Ok(Self { x, kernel, factor, calls: Arc::default() })
    }

    fn put(&self, work: &BucketWork<'_>) -> Result<()> {
        self.calls.lock().expect("no panic").push((work.shape(), work.recording().is_some()));
        let factor = work.value(&self.factor)?.unwrap_or(2);
        let count = work.shape().min(LEN) as u64;
        self.kernel.launch(work.stream(), &Launch::each(LEN, 32), (&*self.x, count, factor, 1))?;
        // SAFETY: the kernel takes any factor.
        unsafe { work.name(&self.factor, |node| node.argument(2)) }
    }

    fn build(&self, builder: BucketsBuilder<'_>) -> Result<Buckets> {
        let this = self.clone();
        // SAFETY: the closure owns the memory, and nothing is written beyond its end.
        unsafe { builder.build(move |work| this.put(work)) }
    }

    /// A request where all elements are 10: how many are `value` then, from the first on, and the shape.
    fn request(
        &self,
        w: &World,
        buckets: &Buckets,
        size: usize,
        factor: Option<u32>,
    ) -> Result<(Option<usize>, usize)> {
        let settings: Vec<_> = factor.map(|factor| self.factor.value(factor)).into_iter().collect();
        w.stream.fill(&*self.x, 10)?;
        let shape = buckets.launch(&w.stream, size, &settings)?;
        let value = factor.unwrap_or(2) * 10 + 1;
        Ok((shape, read(w, &self.x)?.iter().take_while(|&&x| x == value).count()))
    }

    fn shapes(&self) -> Vec<(usize, bool)> {
        self.calls.lock().expect("no panic").clone()
    }
}

// --- which bucket ---

#[test]
fn a_request_runs_in_the_smallest_bucket_that_it_fits_into_or_eagerly() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let buckets = scaler.build(w.device.buckets([16, 4]).label("scaler").max_buckets(1))?;
    assert_eq!(scaler.shapes(), []);
    assert_eq!(buckets.launch(&w.stream, 3, &[])?, Some(4));
    assert_eq!(scaler.shapes(), [(4, false), (4, true)]);
    assert_eq!(scaler.request(&w, &buckets, 4, None)?, (Some(4), 4));
    assert_eq!(scaler.request(&w, &buckets, 2, Some(5))?, (Some(4), 4));
    assert_eq!(scaler.request(&w, &buckets, 3, None)?, (Some(4), 4));
    assert_eq!(scaler.request(&w, &buckets, 50, Some(7))?, (None, 50));
    assert_eq!(buckets.launch(&w.stream, 9, &[])?, Some(16));
    w.stream.wait()?;
    assert_eq!(scaler.shapes()[2..], [(50, false), (16, false), (16, true)]);
    let counts = buckets.statistics()?;
    assert_eq!((counts.hits, counts.misses, counts.eager, counts.evictions), (3, 2, 1, 1));
    assert_eq!((counts.buckets, counts.requested, counts.padded), (1, 3 + 4 + 2 + 3 + 50 + 9, 1 + 2 + 1 + 7));
    Ok(())
}

#[test]
fn what_was_prepared_is_not_recorded_again_whichever_thread_launches() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let buckets = scaler.build(w.device.buckets([4, 16, 64]).streams(4))?;
    buckets.prepare(&w.stream)?.wait()?;
    let largest_first = [(64, false), (64, true), (16, false), (16, true), (4, false), (4, true)];
    assert_eq!(scaler.shapes(), largest_first);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (w, buckets, factor) = (&w, buckets.clone(), &scaler.factor);
            scope.spawn(move || -> Result<()> {
                let stream = w.device.stream()?;
                for size in (1..=LEN).filter(|size| size % 4 == thread) {
                    let smallest = [4, 16, 64].into_iter().find(|&shape| size <= shape);
                    assert_eq!(buckets.launch(&stream, size, &[factor.value(3)])?, smallest);
                }
                stream.wait()
            });
        }
    });
    assert_eq!(scaler.shapes(), largest_first);
    assert_eq!((buckets.statistics()?.hits, buckets.statistics()?.misses), (LEN as u64, 0));
    Ok(())
}

// --- padding ---

#[test]
fn elements_between_the_size_and_the_shape_are_padded_by_a_closure_or_with_zeros() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let x = Arc::clone(&scaler.x);
    let by_closure = w.device.buckets([4, 16]).pad(move |work| {
        assert!(work.recording().is_none());
        work.stream().fill(x.slice(work.size()..work.shape()), 7).map(drop)
    });
    let by_closure = scaler.build(by_closure)?;
    let with_zeros = scaler.build(w.device.buckets([4, 16]).pad_with_zeros(&*scaler.x, 1))?;
    for (buckets, padding) in [(by_closure, 7), (with_zeros, 0)] {
        buckets.prepare(&w.stream)?;
        assert_eq!(scaler.request(&w, &buckets, 10, Some(3))?, (Some(16), 10));
        let after = read(&w, &scaler.x)?;
        assert_eq!(after[10..16], [padding * 3 + 1; 6]);
        assert_eq!(after[16..], [10; LEN - 16]);
        assert_eq!(scaler.request(&w, &buckets, 16, Some(3))?, (Some(16), 16));
        assert_eq!(buckets.statistics()?.padded, 6);
    }
    Ok(())
}

#[test]
fn memory_to_pad_has_to_have_room_for_the_largest_shape() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let refused = scaler.build(w.device.buckets([4, LEN]).pad_with_zeros(scaler.x.slice(1..), 1));
    assert!(refused.unwrap_err().message().contains("64 elements of 4 bytes"));
    let refused = scaler.build(w.device.buckets([LEN]).pad_with_zeros(&*scaler.x, 2));
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
    let both = w.device.buckets([4]).pad_with_zeros(&*scaler.x, 1).pad(|_| Ok::<_, Error>(()));
    assert!(scaler.build(both).unwrap_err().message().contains("both"));
    Ok(())
}

// --- what closures may do ---

#[test]
fn an_error_or_a_panic_fails_the_request_with_its_text_and_the_next_one_is_a_first_one_again() -> Result<()> {
    const ERROR: u32 = 1;
    const PANIC: u32 = 2;
    const NO_PADDING: u32 = 3;
    let w = world();
    let (scaler, mood) = (Scaler::new(&w)?, Arc::new(AtomicU32::new(ERROR)));
    let (this, recording, padding) = (scaler.clone(), Arc::clone(&mood), Arc::clone(&mood));
    let builder = w.device.buckets([4]).label("moody").pad(move |_| match padding.load(Ordering::Relaxed) {
        NO_PADDING => Err("no padding today"),
        _ => Ok(()),
    });
    // SAFETY: the closure owns the memory.
    let buckets = unsafe {
        builder.build(move |work| {
            this.put(work)?;
            match (recording.load(Ordering::Relaxed), work.recording()) {
                (ERROR, _) => BucketParameter::<u32>::new("a\0b").map(drop),
                (PANIC, Some(_)) => panic!("on purpose"),
                _ => Ok(()),
            }
        })?
    };
    let first = buckets.launch(&w.stream, 4, &[]).unwrap_err();
    assert_eq!((first.kind(), first.function()), (ErrorKind::CallbackFailed, "gpo_buckets_launch"));
    assert!(first.message().contains("bucket 4 of buckets `moody`"), "{first}");
    assert!(first.message().contains("holds a NUL"), "{first}");
    mood.store(PANIC, Ordering::Relaxed);
    let second = buckets.prepare(&w.stream).map(drop).unwrap_err();
    assert_eq!((second.kind(), second.function()), (ErrorKind::CallbackFailed, "gpo_buckets_prepare"));
    assert!(second.message().contains("a callback panicked: on purpose"), "{second}");
    mood.store(0, Ordering::Relaxed);
    assert_eq!(buckets.launch(&w.stream, 4, &[])?, Some(4));
    mood.store(NO_PADDING, Ordering::Relaxed);
    let third = scaler.request(&w, &buckets, 3, None).unwrap_err();
    assert!(third.message().contains("no padding today"), "{third}");
    assert_eq!(read(&w, &scaler.x)?, [10; LEN]);
    let counts = buckets.statistics()?;
    assert_eq!((counts.misses, counts.hits, counts.requested), (1, 0, 4));
    Ok(())
}

#[test]
fn settings_are_of_parameters_of_buckets_and_of_their_sizes() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let buckets = scaler.build(w.device.buckets([4]))?;
    let launch = |setting| buckets.launch(&w.stream, 4, &[setting]);
    let unknown = launch(BucketParameter::<u32>::new("facto")?.value(1)).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    assert!(unknown.message().contains("`facto`") && unknown.message().contains("`factor`"), "{unknown}");
    assert_eq!(kind(launch(BucketParameter::<u64>::new("factor")?.value(1))), ErrorKind::InvalidArgument);
    assert_eq!(kind(BucketParameter::<u32>::new("fac\0tor")), ErrorKind::InvalidArgument);
    // An eager request checks when its value is asked for.
    let eager = buckets.launch(&w.stream, 5, &[BucketParameter::<u64>::new("factor")?.value(1)]).unwrap_err();
    assert_eq!(eager.kind(), ErrorKind::CallbackFailed);
    assert!(eager.message().contains("parameter `factor` is set to 8 bytes, and `u32` has 4"), "{eager}");
    let template = w.device.template()?;
    // SAFETY: the buffer outlives the launches.
    let value: Parameter<u32> = unsafe {
        let fill = template.add_fill(&[], &*scaler.x, 1)?;
        template.parameter("factor", fill.value())?
    };
    let foreign = launch(value.value(1)).unwrap_err();
    assert_eq!((foreign.kind(), foreign.function()), (ErrorKind::InvalidArgument, "gpo_buckets_launch"));
    assert_eq!(kind(buckets.launch(&w.stream, 0, &[])), ErrorKind::InvalidArgument);
    // A template takes a bucket parameter's setting by its name.
    template.launch(&w.stream, &[scaler.factor.value(6)])?;
    assert_eq!(read(&w, &scaler.x)?, [6; LEN]);
    Ok(())
}

#[test]
fn the_size_of_a_parameter_is_checked_when_it_is_named() -> Result<()> {
    let w = world();
    let (scaler, wrong) = (Scaler::new(&w)?, BucketParameter::<u64>::new("factor")?);
    let this = scaler.clone();
    // SAFETY: the closure owns the memory.
    let buckets = unsafe {
        w.device.buckets([4]).build(move |work| {
            this.put(work)?;
            work.name(&wrong, |node| node.argument(2))
        })?
    };
    let refused = buckets.prepare(&w.stream).map(drop).unwrap_err();
    assert!(refused.message().contains("parameter `factor` has 4 bytes, and `u64` has 8"), "{refused}");
    w.stream.wait()
}

#[test]
fn pinned_memory_is_copied_whether_the_work_runs_or_is_recorded() -> Result<()> {
    let w = world();
    let (x, arena) = (w.device.buffer::<u32>(LEN)?, w.device.arena()?);
    let (mut input, mut output) = (arena.copy_of(&[1u32; LEN])?, arena.zeroed::<u32>(LEN)?);
    let (from, to) = (input.as_mut_ptr() as usize, output.as_mut_ptr() as usize);
    let copies = move |work: &BucketWork<'_>| -> Result<()> {
        let count = work.shape();
        // SAFETY: the vectors outlive the requests, and are looked at between them.
        unsafe {
            work.copy_to_device(std::slice::from_raw_parts(from as *const u32, count), x.slice(..count))?;
            work.copy_to_host(x.slice(..count), std::slice::from_raw_parts_mut(to as *mut u32, count))
        }
    };
    // SAFETY: likewise.
    let buckets = unsafe { w.device.buckets([8]).build(copies)? };
    for (round, (size, shape)) in [(5, Some(8)), (8, Some(8)), (9, None)].into_iter().enumerate() {
        input.fill(round as u32 + 2);
        assert_eq!(buckets.launch(&w.stream, size, &[])?, shape);
        w.stream.wait()?;
        assert!(output[..size].iter().all(|&x| x == round as u32 + 2), "{output:?}");
    }
    Ok(())
}

#[test]
fn closures_and_what_they_own_go_with_the_last_handle() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let owned = || Arc::strong_count(&scaler.x);
    assert_eq!(owned(), 1);
    assert_eq!(kind(scaler.build(w.device.buckets([0]))), ErrorKind::InvalidArgument);
    assert_eq!(owned(), 1);
    let buckets = scaler.build(w.device.buckets([4]))?;
    let clone = buckets.clone();
    drop(buckets);
    assert_eq!((owned(), clone.launch(&w.stream, 4, &[])?), (2, Some(4)));
    drop(clone);
    assert_eq!(owned(), 1);
    w.stream.wait()
}

#[test]
fn a_request_of_a_closure_runs_eagerly_and_its_failure_is_its_own() -> Result<()> {
    let w = world();
    let scaler = Scaler::new(&w)?;
    let (inner, asked) = (scaler.build(w.device.buckets([4]))?, Arc::new(AtomicBool::new(false)));
    let (other, seen) = (w.device.stream()?, Arc::clone(&asked));
    // SAFETY: the closure uses no memory.
    let failing = unsafe { w.device.buckets([4]).build(|_| Err("never"))? };
    // SAFETY: likewise.
    let outer = unsafe {
        w.device.buckets([4]).build(move |work| -> Result<()> {
            if work.recording().is_none() {
                assert_eq!(inner.launch(&other, 4, &[])?, Some(4));
                assert_eq!(kind(failing.launch(&other, 4, &[])), ErrorKind::CallbackFailed);
                seen.store(true, Ordering::Relaxed);
            }
            other.wait_for(std::time::Duration::from_secs(20))
        })?
    };
    assert_eq!(outer.launch(&w.stream, 4, &[])?, Some(4));
    assert!(asked.load(Ordering::Relaxed));
    w.stream.wait()
}

// --- work that updates memory in place ---

/// Appends a digit to a number in device memory, and notes the phases of its calls. Fails its recordings if `fails` is
/// set.
struct Steps {
    x: Arc<DeviceBuffer<u32>>,
    digit: BucketParameter<u32>,
    phases: Arc<Mutex<Vec<BucketPhase>>>,
    fails: Arc<AtomicBool>,
}

impl Steps {
    fn new(w: &World) -> Result<Self> {
        let x = Arc::new(w.device.buffer(1)?);
        w.stream.fill(&*x, 0)?;
        Ok(Self { x, digit: BucketParameter::new("digit")?, phases: Arc::default(), fails: Arc::default() })
    }

    fn build(&self, w: &World, builder: BucketsBuilder<'_>) -> Result<Buckets> {
        // SAFETY: an address, a count that it stays below, and two numbers.
        let kernel: BoundKernel<(DeviceBuffer<u32>, u64, u32, u32)> = unsafe { affine(w)?.kernel().bind()? };
        let (x, digit) = (self.x.clone(), self.digit.clone());
        let (phases, fails) = (self.phases.clone(), self.fails.clone());
        let put = move |work: &BucketWork<'_>| {
            phases.lock().expect("no panic").push(work.phase());
            let value = work.value(&digit)?.unwrap_or(1);
            kernel.launch(work.stream(), &Launch::each(1, 1), (&*x, 1, 10, value))?;
            // SAFETY: the kernel takes any number.
            unsafe { work.name(&digit, |node| node.argument(3))? };
            match fails.load(Ordering::Relaxed) && work.phase() == BucketPhase::Recording {
                true => work.stream().wait(), // which can't be recorded
                false => Ok(()),
            }
        };
        // SAFETY: the closure owns the memory, which has room for an element.
        unsafe { builder.build(put) }
    }

    fn number(&self, w: &World) -> Result<u32> {
        Ok(w.stream.copy_to_host(&*self.x, vec![0; 1])?.wait()?[0])
    }
}

#[test]
fn memory_that_is_restored_is_as_if_there_had_been_no_warm_up() -> Result<()> {
    let w = world();
    let steps = Steps::new(&w)?;
    let buckets = steps.build(&w, w.device.buckets([1, 2]).restore(&*steps.x))?;
    for digit in 1..=3 {
        assert_eq!(buckets.launch(&w.stream, 1, &[steps.digit.value(digit)])?, Some(1));
    }
    assert_eq!(steps.number(&w)?, 123);
    assert_eq!(buckets.launch(&w.stream, 3, &[steps.digit.value(4)])?, None);
    assert_eq!(steps.number(&w)?, 1234);
    use BucketPhase::{Eager, Recording, WarmUp};
    assert_eq!(*steps.phases.lock().expect("no panic"), [WarmUp, Recording, Eager]);
    Ok(())
}

#[test]
fn the_warm_up_can_be_left_out_and_then_nothing_is_restored() -> Result<()> {
    let w = world();
    let steps = Steps::new(&w)?;
    let buckets = steps.build(&w, w.device.buckets([1]).no_warm_up())?;
    assert_eq!(buckets.launch(&w.stream, 1, &[steps.digit.value(7)])?, Some(1));
    assert_eq!(steps.number(&w)?, 7);
    assert_eq!(*steps.phases.lock().expect("no panic"), [BucketPhase::Recording]);
    let both = steps.build(&w, w.device.buckets([1]).no_warm_up().restore(&*steps.x));
    assert_eq!(kind(both), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn where_a_recording_fails_requests_run_eagerly_and_the_reason_can_be_read() -> Result<()> {
    let w = world();
    let steps = Steps::new(&w)?;
    let buckets = steps.build(&w, w.device.buckets([1]).restore(&*steps.x).eager_fallback())?;
    steps.fails.store(true, Ordering::Relaxed);
    for digit in 1..=2 {
        assert_eq!(buckets.launch(&w.stream, 1, &[steps.digit.value(digit)])?, None);
    }
    assert_eq!(steps.number(&w)?, 12);
    let counts = buckets.statistics()?;
    assert_eq!((counts.failures, counts.fallbacks, counts.eager), (1, 2, 2));
    assert!(counts.last_failure().contains("bucket 1"), "{}", counts.last_failure());
    steps.fails.store(false, Ordering::Relaxed);
    buckets.prepare(&w.stream)?.wait()?;
    assert_eq!(buckets.launch(&w.stream, 1, &[steps.digit.value(3)])?, Some(1));
    assert_eq!(steps.number(&w)?, 123);
    Ok(())
}
