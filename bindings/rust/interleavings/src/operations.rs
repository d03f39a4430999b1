//! Every interleaving of a copy and its owner's use of the operation: the buffer is given back or freed once, and never
//! while the GPU writes.

use crate::error::{Error, ErrorKind, Result};
use crate::operation::Operation;
use crate::stream::{Buffer, Memory, Stream};
use loom::sync::Arc;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

/// Runs `owner` on an operation beside the GPU, in every interleaving; checks that the buffer is freed when both have
/// ended.
fn beside_the_gpu(result: Result<()>, takes_callbacks: bool, owner: fn(Operation<Buffer>)) {
    loom::model(move || {
        let memory = Memory::new();
        let (stream, gpu) = Stream::copying(&memory, result.clone(), takes_callbacks);
        owner(Operation::new(&stream, Buffer(Arc::clone(&memory))));
        gpu.join().unwrap();
        drop(stream); // and with it the values that the runtime kept
        assert!(memory.is_freed(), "the buffer is left behind");
    });
}

fn poll_once(operation: &mut Operation<Buffer>) -> bool {
    Pin::new(operation).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn an_awaited_operation_gives_back_what_was_written() {
    beside_the_gpu(Ok(()), true, |operation| {
        assert!(loom::future::block_on(operation).ok().unwrap().0.is_written());
    });
}

#[test]
fn an_operation_that_is_waited_for_gives_back_what_was_written() {
    beside_the_gpu(Ok(()), true, |operation| {
        assert!(operation.wait().ok().unwrap().0.is_written());
    });
}

#[test]
fn the_buffer_of_an_operation_that_is_dropped_goes_when_the_gpu_is_done_with_it() {
    beside_the_gpu(Ok(()), true, drop);
}

#[test]
fn so_does_that_of_one_that_was_polled() {
    beside_the_gpu(Ok(()), true, |mut operation| {
        // If the operation has ended, the buffer came back and is freed here.
        let _ = poll_once(&mut operation);
        drop(operation);
    });
}

#[test]
fn a_failed_copy_gives_its_buffer_back_too() {
    beside_the_gpu(Err(Error::FAILED), true, |operation| {
        let (error, buffer) = loom::future::block_on(operation).err().unwrap().into_parts();
        assert_eq!((error.kind(), buffer.unwrap().0.is_written()), (ErrorKind::Failed, true));
    });
    beside_the_gpu(Err(Error::FAILED), true, |operation| {
        assert!(operation.wait().err().unwrap().into_buffer().unwrap().0.is_written());
    });
    beside_the_gpu(Err(Error::FAILED), true, drop);
}

#[test]
fn where_nobody_can_call_back_the_buffer_is_kept() {
    beside_the_gpu(Ok(()), false, |operation| {
        let (error, buffer) = loom::future::block_on(operation).err().unwrap().into_parts();
        assert_eq!((error.kind(), buffer.is_none()), (ErrorKind::WouldBlock, true));
    });
    beside_the_gpu(Ok(()), false, drop);
}
