//! Callbacks of every kind call every function: the calls work as elsewhere, or return WouldDeadlock.

mod world;

use gpuorch::pipeline::{Fill, Flow, Sink, Source, Stage};
use gpuorch::{ErrorKind, LogLevel, Runtime};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use world::calls::{Calls, ELSEWHERE};
use world::{World, world};

const PATIENCE: Duration = Duration::from_secs(60);

/// A closure that makes all calls, once.
type Every = Box<dyn FnOnce() + Send>;

/// The outcome of each call.
type Outcomes = Vec<(&'static str, Option<ErrorKind>)>;

fn outcomes(w: &World) -> Outcomes {
    let calls = Calls::new(w).expect("objects can be made");
    calls.every().into_iter().map(|(name, result)| (name, result.err().map(|error| error.kind()))).collect()
}

/// Makes the calls in a callback of `w`: `begin` starts the callback and passes it the closure that makes them.
fn inside(what: &str, w: World, begin: impl FnOnce(&World, Every)) {
    let wanted = outcomes(&world());
    let (sender, receiver) = mpsc::channel();
    let same = World { runtime: w.runtime.clone(), device: w.device.clone(), stream: w.stream.clone() };
    begin(
        &w,
        Box::new(move || {
            let shut_down = same.runtime.shutdown(PATIENCE).map_err(|error| error.kind());
            sender.send((shut_down, outcomes(&same))).expect("somebody listens");
        }),
    );
    let (shut_down, seen) = receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what}: the calls have no end"));
    assert_eq!(shut_down, Err(ErrorKind::WouldDeadlock), "{what}");
    for (seen, wanted) in seen.into_iter().zip(wanted) {
        assert!(
            seen == wanted || seen == (wanted.0, Some(ErrorKind::WouldDeadlock)),
            "{what}: {seen:?}, not {wanted:?}"
        );
    }
}

#[test]
fn every_function_is_among_the_calls() {
    let Ok(bindings) = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../gpuorch-sys/src/bindings.rs"))
    else {
        println!("SKIP every_function_is_among_the_calls: the sources of gpuorch-sys aren't beside this package");
        return;
    };
    let table = bindings.split_once("pub struct gpo_api {").expect("the table").1;
    let table = table.split_once("\n}\n").expect("its end").0;
    let members =
        table.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": ::core::option::Option<"));
    let made: Vec<_> = outcomes(&world()).into_iter().map(|(name, _)| name).collect();
    let missing: Vec<_> =
        members.map(|(name, _)| name).filter(|name| !made.contains(name) && !ELSEWHERE.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let works = outcomes(&world()).into_iter().filter(|(_, failed)| failed.is_none()).count();
    assert!(works > made.len() - 8, "{:?}", outcomes(&world()));
}

#[test]
fn a_closure_that_is_told_of_work_calls_every_function() {
    inside("stream.then", world(), |w, calls| {
        let executor = w.runtime.executor().expect("an executor");
        w.stream.then(&executor, move |_| calls()).expect("it is accepted");
        std::mem::forget(executor);
    });
}

#[test]
fn a_host_call_calls_every_function() {
    inside("stream.host_call", world(), |w, calls| {
        let executor = w.runtime.executor().expect("an executor");
        let calls = move || {
            calls();
            Ok::<_, &str>(())
        };
        w.stream.host_call(&executor, calls).expect("it is accepted");
        std::mem::forget(executor);
    });
}

/// Makes the calls in the callback of a pipeline with this name.
fn inside_pipeline(which: &'static str) {
    inside(which, world(), |w, calls| {
        let calls = Arc::new(Mutex::new(Some(calls)));
        let turn = move |name: &str| {
            let calls = if name == which { calls.lock().expect("no panic").take() } else { None };
            calls.into_iter().for_each(|calls| calls());
        };
        let turns = [turn.clone(), turn.clone(), turn.clone(), turn];
        let [fill, enqueue, take, progress] = turns;
        let stage = Stage::callback(move |_, _| {
            enqueue("stage");
            Ok::<_, &str>(())
        });
        let pipeline = w.device.pipeline().stage(stage).progress(Duration::ZERO, move |_| progress("progress"));
        let source = Source::callback(move |room| {
            fill("source");
            Ok::<_, &str>(Fill::End(room.len().min(100)))
        });
        let sink = Sink::callback(move |_| {
            take("sink");
            Ok::<_, &str>(Flow::Continue)
        });
        let run = pipeline.chunk_bytes(4096).build().expect("a pipeline").start(source, sink).expect("it starts");
        run.wait().expect("it ends");
    });
}

#[test]
fn a_source_calls_every_function() {
    inside_pipeline("source");
}

#[test]
fn a_stage_calls_every_function() {
    inside_pipeline("stage");
}

#[test]
fn a_sink_calls_every_function() {
    inside_pipeline("sink");
}

#[test]
fn a_progress_closure_calls_every_function() {
    inside_pipeline("progress");
}

#[test]
fn a_log_closure_calls_every_function() {
    let calls: Arc<Mutex<Option<Every>>> = Arc::default();
    let once = Arc::clone(&calls);
    let log = move |_: LogLevel, _: &str| {
        let calls = once.lock().expect("no panic").take();
        calls.into_iter().for_each(|calls| calls());
    };
    let runtime =
        Runtime::builder().cache("/dev/null/no folder").log(LogLevel::Warning, log).build().expect("a runtime");
    let device = runtime.open_device().expect("a device");
    inside("log", World { stream: device.stream().expect("a stream"), device, runtime }, |w, every| {
        *calls.lock().expect("no panic") = Some(every);
        // The first compilation logs that the cache can't be used.
        drop(w.scale().expect("it compiles"));
    });
}

#[test]
fn a_waker_calls_every_function() {
    struct Woken(Mutex<Option<Every>>, AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::SeqCst);
            let calls = self.0.lock().expect("no panic").take();
            calls.into_iter().for_each(|calls| calls());
        }
    }
    inside("waker", world(), |w, calls| {
        let timeline = w.runtime.timeline(0).expect("a timeline");
        let woken = Arc::new(Woken(Mutex::new(Some(calls)), AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut reached = timeline.reached(1);
        assert!(Pin::new(&mut reached).poll(&mut Context::from_waker(&waker)).is_pending());
        timeline.signal(1).expect("it rises");
        while !woken.1.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    });
}
