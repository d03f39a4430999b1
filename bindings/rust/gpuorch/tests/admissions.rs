//! Admissions: places that are awaited, given back by drops and behind streams, and never lost.

mod world;

use gpuorch::{Admission, ErrorKind, Place, Request, Result};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use world::{eventually, world};

fn of(places: u64, w: &world::World) -> Result<Admission> {
    w.runtime.admission_builder().count(places).build()
}

fn enter(admission: &Admission, request: Request) -> Result<Place> {
    pollster::block_on(admission.enter(request))
}

#[test]
fn a_place_comes_back_when_it_is_dropped() -> Result<()> {
    let w = world();
    let admission = of(1, &w)?;
    let place = enter(&admission, Request::new())?;
    assert_ne!(place.ticket(), 0);
    let mut second = pin!(admission.enter(Request::new().flow(2)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(second.as_mut().poll(&mut context).is_pending());
    assert_eq!((admission.info()?.held, admission.info()?.waiting), (1, 1));
    drop(place);
    let place = pollster::block_on(second)?;
    assert_eq!((admission.info()?.held, admission.info()?.waiting), (1, 0));
    drop(place);
    assert_eq!(admission.info()?.held, 0);
    assert_eq!(w.runtime.metrics()?.errors.iter().sum::<u64>(), 0, "no call has failed");
    Ok(())
}

#[test]
fn a_place_comes_back_behind_a_stream_also_when_the_stream_refuses() -> Result<()> {
    let w = world();
    let admission = of(1, &w)?;
    let gate = w.runtime.timeline(0)?;
    w.stream.wait_timeline(&gate, 1)?;
    enter(&admission, Request::new())?.leave_after(&w.stream)?;
    assert_eq!(admission.info()?.held, 1);
    gate.signal(1)?;
    drop(enter(&admission, Request::new())?);
    let other = world();
    let error = enter(&admission, Request::new())?.leave_after(&other.stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidHandle);
    eventually("the place came back", || admission.info().is_ok_and(|info| info.held == 0));
    Ok(())
}

#[test]
fn a_future_that_is_dropped_leaves_the_line_or_gives_its_place_back() -> Result<()> {
    let w = world();
    let admission = of(1, &w)?;
    let mut context = Context::from_waker(Waker::noop());
    let place = enter(&admission, Request::new())?;
    {
        let mut waiting = pin!(admission.enter(Request::new()));
        assert!(waiting.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(admission.info()?.waiting, 0);
    drop(place);
    // Admitted, whether or not the callback has come already.
    for _ in 0..100 {
        let mut entering = pin!(admission.enter(Request::new()));
        if let Poll::Ready(place) = entering.as_mut().poll(&mut context) {
            drop(place?);
        }
    }
    eventually("all places came back", || admission.info().is_ok_and(|info| info.held == 0 && info.waiting == 0));
    // Never polled: no request.
    drop(admission.enter(Request::new()));
    assert_eq!(admission.info()?.waiting, 0);
    Ok(())
}

#[test]
fn a_request_ends_with_an_error_that_says_why() -> Result<()> {
    let w = world();
    let admission =
        w.runtime.admission_builder().count(1).bytes(100).capacity(1).priorities(2).label("door").build()?;
    let kind = |request| enter(&admission, request).unwrap_err().kind();
    assert_eq!(kind(Request::new().count(2)), ErrorKind::LimitExceeded);
    assert_eq!(kind(Request::new().bytes(101)), ErrorKind::LimitExceeded);
    assert_eq!(kind(Request::new().priority(2)), ErrorKind::InvalidArgument);
    let place = enter(&admission, Request::new().bytes(100).priority(1))?;
    assert_eq!(kind(Request::new().within(Duration::from_millis(5))), ErrorKind::Timeout);
    let queue = w.runtime.completion_queue()?;
    let waiting = queue.enter(&admission, Request::new().within(Duration::from_secs(3600)), 3)?;
    assert_eq!(kind(Request::new()), ErrorKind::WouldBlock);
    assert_eq!(admission.leave(waiting).unwrap_err().kind(), ErrorKind::InvalidState);
    admission.cancel(waiting)?;
    let entry = queue.drain(1)?[0];
    assert_eq!((entry.failed(), entry.operation, entry.user_data), (Some(ErrorKind::Cancelled), waiting, 3));
    admission.leave(place.ticket())?;
    assert_eq!(admission.leave(place.ticket()).unwrap_err().kind(), ErrorKind::NotFound);
    Ok(())
}

#[test]
fn a_watched_pool_pauses_admissions() -> Result<()> {
    let w = world();
    let pool = w.device.pool()?;
    let admission = w.runtime.admission_builder().watch(&pool).high_bytes(1000).low_bytes(100).build()?;
    let much = pool.buffer::<u8>(&w.stream, 2000)?;
    assert_eq!(admission.info()?.paused, 1);
    let mut entering = pin!(admission.enter(Request::new()));
    assert!(entering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(much);
    drop(pollster::block_on(entering)?);
    assert_eq!(w.runtime.admission_builder().high_bytes(1).build().unwrap_err().kind(), ErrorKind::InvalidArgument);
    Ok(())
}
