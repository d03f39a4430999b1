//! Completions as an asynchronous stream.

use crate::arrivals::Arrivals;
use crate::done::{Awaited, Completion};
use crate::error::Result;
use crate::event::Event;
use crate::pipeline::Pipeline;
use crate::stream::Stream;
use crate::timeline::Timeline;
use futures_core::FusedStream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Completions of many streams, events, timelines and pipelines, in the order in which they were done.
///
/// Each `watch` function adds one item, with the caller's number and the completion or failure. The stream ends when
/// nothing is watched any more, and continues when something is watched again. It implements
/// [`futures_core::Stream`](futures_core::Stream). Dropping it leaves the watched work as it is.
///
/// ```
/// use futures_core::Stream;
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let mut completions = gpuorch::Completions::new();
/// let streams = [device.stream()?, device.stream()?];
/// for (number, stream) in streams.iter().enumerate() {
///     completions.watch_stream(stream, number as u64)?;
/// }
/// # pollster::block_on(async {
/// let mut seen = 0;
/// while let Some((number, result)) =
///     std::future::poll_fn(|context| std::pin::Pin::new(&mut completions).poll_next(context)).await
/// {
///     result?;
///     seen += number;
/// }
/// assert_eq!(seen, 1);
/// # Ok::<(), gpuorch::Error>(())
/// # })?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[derive(Default)]
pub struct Completions {
    arrivals: Arc<Arrivals<Item>>,
}

type Item = (u64, Result<Completion>);

impl Completions {
    /// Nothing is watched yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an item, which comes when all work that is on the stream now is done.
    pub fn watch_stream(&self, stream: &Stream, number: u64) -> Result<()> {
        self.watch(&Awaited::Stream(stream.clone()), number)
    }

    /// Adds an item, which comes when the event's newest recording is complete.
    pub fn watch_event(&self, event: &Event, number: u64) -> Result<()> {
        self.watch(&Awaited::Event(event.clone()), number)
    }

    /// Adds an item, which comes when the timeline reaches `value`, or can't reach it any more.
    pub fn watch_timeline(&self, timeline: &Timeline, value: u64, number: u64) -> Result<()> {
        self.watch(&Awaited::Timeline(timeline.clone(), value), number)
    }

    /// Adds an item, which comes when the pipeline's run has ended.
    pub fn watch_pipeline(&self, pipeline: &Pipeline, number: u64) -> Result<()> {
        self.watch(&Awaited::Pipeline(pipeline.clone()), number)
    }

    /// How many items are still to be taken, ready or not.
    pub fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Whether nothing is watched any more.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn watch(&self, what: &Awaited, number: u64) -> Result<()> {
        self.arrivals.expect();
        let asked = what.wake((Arc::clone(&self.arrivals), number), |(arrivals, number), ended| {
            arrivals.arrive((number, ended));
        });
        asked.map_err(|(error, _)| {
            self.arrivals.give_up();
            error
        })
    }
}

impl futures_core::Stream for Completions {
    type Item = Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Item>> {
        self.arrivals.poll(context)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), None)
    }
}

impl FusedStream for Completions {
    fn is_terminated(&self) -> bool {
        self.is_empty()
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        self.arrivals.forget_waker();
    }
}

impl fmt::Debug for Completions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completions").field("to_come", &self.len()).finish()
    }
}
