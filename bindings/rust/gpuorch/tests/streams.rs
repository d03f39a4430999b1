//! Streams, kernels and copies, waited for and awaited.

mod world;

use gpuorch::{ErrorKind, HostSlice, Launch, Object, Result};
use std::time::Duration;
use world::world;

#[test]
fn a_kernel_works_on_what_was_copied_in() -> Result<()> {
    let w = world();
    let arena = w.device.arena()?;
    let x = w.device.buffer::<f32>(1000)?;
    let host = arena.copy_of(&vec![2.0; 1000])?;
    let host = w.stream.copy_to_device(host, &x)?.wait()?;
    w.launch_scale(&x, 1.5)?;
    let host = w.stream.copy_to_host(&x, host)?.wait()?;
    assert!(host.iter().all(|&x| x == 3.0));
    Ok(())
}

#[test]
fn a_stream_and_an_operation_are_awaited() -> Result<()> {
    let w = world();
    pollster::block_on(async {
        let x = w.device.buffer::<f32>(100)?;
        w.stream.write(&[1.0; 100], &x)?.await?;
        let scale = w.scale()?;
        let completion = scale.launch(&w.stream, &Launch::each(100, 64), (&x, 4.0))?.await?;
        assert_eq!(completion.failed(), None);
        let host = w.stream.copy_to_host(&x, vec![0.0; 100])?.await?;
        assert_eq!(host, [4.0; 100]);
        w.stream.done().await?;
        Ok(())
    })
}

#[test]
fn a_part_of_a_pinned_vector_is_copied_in_and_out() -> Result<()> {
    let w = world();
    let arena = w.device.arena()?;
    let x = w.device.buffer::<u32>(10)?;
    w.stream.fill(&x, 0)?;
    let host = arena.copy_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])?;
    let part = w.stream.copy_to_device(host.slice(2..5), x.slice(..3))?.wait()?;
    assert_eq!((part.range(), &part[..]), (2..5, &[2, 3, 4][..]));
    let mut host = part.into_buffer();
    host.fill(100);
    let mut part = pollster::block_on(w.stream.copy_to_host(x.slice(1..=2), host.slice(8..))?)?;
    assert_eq!(part[..], [3, 4]);
    part[0] = 7;
    let part = pollster::block_on(w.stream.copy_to_device(part, x.slice(..2))?)?;
    assert_eq!(part.into_buffer()[..], [100, 100, 100, 100, 100, 100, 100, 100, 7, 4]);
    // Other buffers have parts too.
    let part = w.stream.copy_to_host(&x, HostSlice::new(vec![9; 12], 1..11))?.wait()?;
    assert_eq!(part.into_buffer(), [9, 7, 4, 4, 0, 0, 0, 0, 0, 0, 0, 9]);
    let refused = w.stream.copy_to_host(x.slice(..2), HostSlice::new(vec![9; 4], 1..)).unwrap_err();
    assert_eq!(refused.error().kind(), ErrorKind::InvalidArgument);
    assert_eq!(refused.into_buffer().map(HostSlice::into_buffer), Some(vec![9; 4]));
    Ok(())
}

#[test]
#[should_panic(expected = "2..6 is not within 5 elements")]
fn a_part_is_within_its_vector() {
    let _ = HostSlice::new(vec![0; 5], 2..6);
}

#[test]
fn a_stream_tells_what_it_is() -> Result<()> {
    let w = world();
    let stream = w.device.stream_builder().label("upload").priority(0).build()?;
    assert_eq!(stream.label()?, "upload");
    stream.wait_for(Duration::from_secs(5))?;
    assert!(stream.is_done()?);
    assert_eq!(stream.info()?.accepted, 0);
    assert!(!w.stream.native()?.is_null());
    assert_eq!(format!("{stream:?}"), r#"Stream { label: "upload", .. }"#);
    Ok(())
}

#[test]
fn lengths_that_differ_are_refused_and_the_buffer_comes_back() -> Result<()> {
    let w = world();
    let x = w.device.buffer::<u32>(10)?;
    let (error, buffer) = w.stream.copy_to_device(vec![1, 2, 3], &x).unwrap_err().into_parts();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(buffer, Some(vec![1, 2, 3]));
    Ok(())
}

#[test]
fn after_a_shutdown_everything_says_so() -> Result<()> {
    let w = world();
    w.runtime.shutdown(Duration::from_secs(10))?;
    assert_eq!(w.stream.wait().unwrap_err().kind(), ErrorKind::InvalidHandle);
    assert_eq!(w.runtime.shutdown(Duration::ZERO).unwrap_err().kind(), ErrorKind::InvalidHandle);
    Ok(())
}

#[test]
fn a_runtime_is_not_shut_down_under_pinned_memory() -> Result<()> {
    let w = world();
    let host = w.device.arena()?.zeroed::<u8>(100)?;
    let error = w.runtime.shutdown(Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidState);
    assert_eq!(host[99], 0);
    drop(host);
    w.runtime.shutdown(Duration::from_secs(10))
}

#[test]
fn a_stream_that_learns_computes_what_another_does_and_says_what_it_has_learned() -> Result<()> {
    let w = world();
    let (scale, x) = (w.scale()?, w.device.buffer::<f32>(64)?);
    let stream = w.device.stream_builder().learns().build()?;
    for round in 0..1000 {
        if stream.info()?.replayed > 0 {
            break;
        }
        for i in 1..=10 {
            stream.fill(&x, i as f32 + round as f32)?;
            scale.launch(&stream, &Launch::each(64, 64), (&x, 2.0))?;
            scale.launch(&stream, &Launch::each(64, 64), (&x, i as f32))?;
        }
        assert_eq!(stream.copy_to_host(&x, vec![0.0; 64])?.wait()?, [20.0 * (10 + round) as f32; 64]);
    }
    let info = stream.info()?;
    assert!(info.learned % 3 == 0 && info.replayed > 0, "{info:?}");
    assert_eq!(w.device.stream_builder().learns().blocking().build().unwrap_err().kind(), ErrorKind::NotSupported);
    Ok(())
}

#[test]
fn what_is_exported_is_for_other_processes() -> Result<()> {
    let w = world();
    let event = w.device.event_builder().interprocess().build()?;
    let exported = event.export()?;
    assert_eq!(exported, event.export()?);
    assert!(w.device.import_event(&exported, None).is_err());
    assert_eq!(w.device.event()?.export().unwrap_err().kind(), ErrorKind::InvalidArgument);
    Ok(())
}
