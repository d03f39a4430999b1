//! Every interleaving of callbacks and the future, stream or operation that they wake, by loom: gpuorch's own source, with loom's
//! lock, and for operations a stream that stands for the GPU.
#![cfg(test)]

mod after;
#[path = "../../gpuorch/src/arrivals.rs"]
mod arrivals;
mod done;
mod error;
#[expect(dead_code, reason = "what ends or gives up no operation isn't modelled")]
#[path = "../../gpuorch/src/operation.rs"]
mod operation;
mod operations;
#[path = "../../gpuorch/src/signal.rs"]
mod signal;
mod stream;

use arrivals::Arrivals;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use signal::Signal;
use std::future::poll_fn;
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn a_future_that_waits_is_always_woken() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let callback = Arc::clone(&signal);
        let thread = thread::spawn(move || callback.set(7));
        assert_eq!(loom::future::block_on(poll_fn(|context| signal.poll(context))), 7);
        thread.join().unwrap();
    });
}

/// Counts wakes, with loom's atomics, so that loom sees the reads.
struct Counted(AtomicUsize);

impl Wake for Counted {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counted() -> (std::sync::Arc<Counted>, Waker) {
    let counted = std::sync::Arc::new(Counted(AtomicUsize::new(0)));
    (std::sync::Arc::clone(&counted), Waker::from(counted))
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let callback = Arc::clone(&signal);
        let thread = thread::spawn(move || callback.set(7));
        let (_, first) = counted();
        let (last, waker) = counted();
        let pending = signal.poll(&Context::from_waker(&first)).is_pending()
            && signal.poll(&Context::from_waker(&waker)).is_pending();
        thread.join().unwrap();
        if pending {
            assert_eq!(last.0.load(Ordering::SeqCst), 1);
            assert_eq!(signal.poll(&Context::from_waker(&waker)), Poll::Ready(7));
        }
    });
}

#[test]
fn a_future_that_goes_leaves_no_waker_behind() {
    loom::model(|| {
        let signal = Arc::new(Signal::new());
        let (counted, waker) = counted();
        let _ = signal.poll(&Context::from_waker(&waker));
        drop(waker);
        let callback = Arc::clone(&signal);
        let thread = thread::spawn(move || callback.set(7));
        signal.forget_waker();
        thread.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        assert!(counted.0.load(Ordering::SeqCst) <= 1);
    });
}

#[test]
fn a_stream_gets_all_that_arrives_and_then_ends() {
    // Three threads: limited to two preemptions.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let arrivals = Arc::new(Arrivals::default());
        let threads = [1, 2].map(|item| {
            arrivals.expect();
            let callback = Arc::clone(&arrivals);
            thread::spawn(move || callback.arrive(item))
        });
        let next = || loom::future::block_on(poll_fn(|context| arrivals.poll(context)));
        let (first, second) = (next(), next());
        assert_eq!(first.zip(second).map(|(first, second)| first + second), Some(3));
        assert_eq!((next(), arrivals.len()), (None, 0));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_stream_that_goes_leaves_no_waker_behind() {
    loom::model(|| {
        let arrivals = Arc::new(Arrivals::default());
        arrivals.expect();
        arrivals.expect();
        let (counted, waker) = counted();
        let _ = arrivals.poll(&Context::from_waker(&waker));
        drop(waker);
        let callback = Arc::clone(&arrivals);
        let thread = thread::spawn(move || callback.arrive(7));
        arrivals.forget_waker();
        arrivals.give_up();
        thread.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        assert!(counted.0.load(Ordering::SeqCst) <= 1);
        assert_eq!(arrivals.len(), 1);
    });
}
