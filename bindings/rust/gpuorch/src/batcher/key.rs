//! Keys: kinds of requests.

use super::Batcher;
use super::submit::{Request, refused};
use super::work::{Batch, Calls, Sizes, call_work};
use crate::builder::Options;
use crate::call::call;
use crate::error::Result;
use crate::generated::BatcherInfo;
use crate::host::HostBuffer;
use crate::template::Buckets;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::any::Any;
use std::fmt;
use std::fmt::Display;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::{Arc, Mutex, PoisonError};

/// A kind of request, with input of the type `I` and output of the type `O`. Clones are the same key. Requests of
/// different keys never share a batch.
pub struct Key<I, O> {
    pub(super) inner: Arc<KeyInner>,
    elements: PhantomData<fn(I) -> O>,
}

pub(super) struct KeyInner {
    pub(super) batcher: Batcher,
    pub(super) number: u32,
    pub(super) sizes: Sizes,
    pub(super) variable_output: bool,
    /// The text of the newest failure of the key's closure.
    pub(super) said: Arc<Mutex<Option<String>>>,
}

impl<I, O> Clone for Key<I, O> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), elements: PhantomData }
    }
}

impl<I, O> fmt::Debug for Key<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("number", &self.inner.number).finish_non_exhaustive()
    }
}

/// Options of a key: see [`Batcher::rows`] and [`Batcher::ragged`].
#[must_use = "a builder adds nothing until `work` or `buckets`"]
pub struct KeyBuilder<'a, I, O> {
    batcher: &'a Batcher,
    sizes: Sizes,
    pub(crate) options: Options<sys::gpo_batcher_key_options>,
    elements: PhantomData<fn(I) -> O>,
}

impl Batcher {
    /// For requests of a fixed size: each is a row of `input` values of the type `I`, and gets `output` values of the
    /// type `O`. In a batch the rows lie one behind the other.
    pub fn rows<I: Pod, O: Pod>(&self, input: usize, output: usize) -> KeyBuilder<'_, I, O> {
        KeyBuilder::new(self, sys::GPO_BATCH_ROWS, Sizes { input, output, ragged: false })
    }

    /// For requests of different sizes. A request has a number of elements. Each element is `input` values of the type
    /// `I`, and gets `output` values of the type `O`. In a batch the elements of all requests lie one behind the other,
    /// and [`Batch::offsets`] says where each request begins. A batch, and a request, has at most `max_elements`
    /// elements; 0: as many as the largest shape of the buckets.
    pub fn ragged<I: Pod, O: Pod>(&self, input: usize, output: usize, max_elements: u64) -> KeyBuilder<'_, I, O> {
        let mut builder = KeyBuilder::new(self, sys::GPO_BATCH_RAGGED, Sizes { input, output, ragged: true });
        builder.options.max_elements = max_elements;
        builder
    }
}

impl<'a, I: Pod, O: Pod> KeyBuilder<'a, I, O> {
    fn new(batcher: &'a Batcher, layout: u32, sizes: Sizes) -> Self {
        let mut options = Options::of(sys::gpo_batcher_key_options::new());
        options.layout = layout;
        options.input_bytes = (sizes.input as u64).saturating_mul(size_of::<I>() as u64);
        options.output_bytes = (sizes.output as u64).saturating_mul(size_of::<O>() as u64);
        Self { batcher, sizes, options, elements: PhantomData }
    }

    /// Adds the key. `work` puts the work of a batch on [`Batch::stream`], and must not wait for the work. It may use
    /// other streams only if this stream waits for them again. After an error or a panic the requests of the batch end
    /// with [`ErrorKind::CallbackFailed`](crate::ErrorKind::CallbackFailed). Several threads may be in the closure at
    /// once: one for each lane.
    ///
    /// - [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): an option is out of range.
    /// - [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded): the batcher has 256 keys, or a batch would have
    ///   more than 2^40 bytes.
    pub fn work<E: Display>(
        mut self,
        work: impl Fn(&Batch<'_, I, O>) -> Result<(), E> + Send + Sync + 'static,
    ) -> Result<Key<I, O>> {
        let said = Arc::<Mutex<Option<String>>>::default();
        let calls = Arc::new(Calls {
            devices: self.batcher.devices().to_vec(),
            sizes: self.sizes,
            work: Box::new(move |batch: &Batch<'_, I, O>| work(batch).map_err(|error| error.to_string())),
            said: Arc::clone(&said),
        });
        self.options.work = Some(call_work::<I, O>);
        self.options.user = Arc::as_ptr(&calls).cast_mut().cast();
        self.add(calls, said)
    }

    /// Adds the key. Its work is that of `buckets`, one for each device in the order of [`Batcher::devices`]. They get
    /// the batch's number of rows or elements as their size, and the device addresses `input` and `output` (`u64`) as
    /// settings; `offsets`, `made`, `count` and `elements` too, if their templates have such parameters. The batcher
    /// keeps the buckets.
    ///
    /// - [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): an option is out of range, or there are not
    ///   as many buckets as devices.
    /// - [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle): buckets are of another device.
    /// - [`ErrorKind::LimitExceeded`](crate::ErrorKind::LimitExceeded): as for [`work`](Self::work).
    ///
    /// # Safety
    ///
    /// The work of a shape reads that many rows or elements of this key's input at most, and writes that many of its
    /// output.
    pub unsafe fn buckets<'b>(mut self, buckets: impl IntoIterator<Item = &'b Buckets>) -> Result<Key<I, O>> {
        let buckets: Vec<Buckets> = buckets.into_iter().cloned().collect();
        if buckets.len() != self.batcher.devices().len() {
            let message = format!("{} buckets for {} devices", buckets.len(), self.batcher.devices().len());
            return Err(refused("gpo_batcher_add_key", message));
        }
        let handles: Vec<_> = buckets.iter().map(Buckets::as_raw).collect();
        self.options.buckets = handles.as_ptr();
        self.options.bucket_count = handles.len() as u64;
        self.add(Arc::new(buckets), Arc::default())
    }

    fn add(self, needed: Arc<dyn Any + Send + Sync>, said: Arc<Mutex<Option<String>>>) -> Result<Key<I, O>> {
        let mut number = 0;
        call!(batcher_add_key(self.batcher.as_raw(), self.options.checked("gpo_batcher_add_key")?, &mut number))?;
        self.batcher.keep(needed);
        let variable_output = self.options.flags & sys::GPO_BATCHER_VARIABLE_OUTPUT != 0;
        let batcher = self.batcher.clone();
        let inner = KeyInner { batcher, number, sizes: self.sizes, variable_output, said };
        Ok(Key { inner: Arc::new(inner), elements: PhantomData })
    }
}

impl<I: Pod, O: Pod> Key<I, O> {
    /// A request of this key, for [`Batcher::submit`]. The request owns the input until it has ended. A
    /// [`PinnedVec`](crate::PinnedVec) is copied with the least work of the host.
    pub fn request(&self, input: impl HostBuffer<Element = I>) -> Request<I, O> {
        Request::new(self, input)
    }

    /// The key's batcher.
    pub fn batcher(&self) -> &Batcher {
        &self.inner.batcher
    }

    /// The key's number, for [`Batcher::key_info`].
    pub fn number(&self) -> u32 {
        self.inner.number
    }

    /// Figures of the key.
    pub fn info(&self) -> Result<BatcherInfo> {
        self.batcher().key_info(self.number())
    }
}

impl KeyInner {
    /// The text of the newest failure of the key's closure.
    pub(super) fn said(&self) -> Option<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
