//! Parameters: values that may change from launch to launch.

use super::{Field, Template};
use crate::call::call;
use crate::error::{Error, ErrorKind, Result};
use crate::handle::c_string;
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::ffi::CString;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::Arc;

/// A name of a value that may change from launch to launch, and the value's type. The parameter stays valid when the
/// template is recorded anew and names it again. Clones are the same parameter.
pub struct Parameter<T> {
    number: u32,
    name: Arc<CString>,
    template: TemplateHandle,
    value: PhantomData<fn(T) -> T>,
}

/// The template of a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TemplateHandle(usize);

impl TemplateHandle {
    fn of(template: &Template) -> Self {
        Self(template.as_raw() as usize)
    }
}

impl<T: Pod> Parameter<T> {
    /// The value that this parameter gets from [`Graph::set_all`](super::Graph::set_all) or [`Template::launch`].
    pub fn value(&self, value: T) -> Setting {
        Setting::new(Key::Of(self.number, Arc::clone(&self.name), self.template), value)
    }

    /// The name as a C string.
    pub(super) fn name(&self) -> &CString {
        &self.name
    }

    /// The number of a template's parameter.
    #[inline]
    pub(super) fn number_in(&self, template: &Template, function: &'static str) -> Result<u32> {
        check_template(self.template, &self.name, template, function)?;
        Ok(self.number)
    }
}

#[inline]
fn check_template(own: TemplateHandle, name: &CString, template: &Template, function: &'static str) -> Result<()> {
    if own == TemplateHandle::of(template) {
        return Ok(());
    }
    let message = format!("parameter `{}` is of another template", name.to_string_lossy());
    Err(Error::new(ErrorKind::InvalidArgument, function, message))
}

/// The error for a setting that buckets can't have: each bucket has a template of its own.
#[cold]
fn of_one_template(name: &CString, function: &'static str) -> Error {
    let message = format!("parameter `{}` is of one template, and not a BucketParameter", name.to_string_lossy());
    Error::new(ErrorKind::InvalidArgument, function, message)
}

impl<T> Clone for Parameter<T> {
    fn clone(&self) -> Self {
        let Self { number, template, .. } = *self;
        Self { number, name: Arc::clone(&self.name), template, value: PhantomData }
    }
}

impl<T> fmt::Debug for Parameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = std::any::type_name::<T>();
        f.debug_struct("Parameter").field("name", &self.name).field("value", &value).finish_non_exhaustive()
    }
}

impl Template {
    /// Names a field of a node. If the name was given before, both fields are set together; they must have the same
    /// size. The parameter's first value is the recorded one.
    ///
    /// [`ErrorKind::InvalidArgument`]: the node has no such field, the field has another size than `T`, or `name` is
    /// empty or longer than 63 bytes.
    /// [`ErrorKind::NotSupported`]: the driver can't report the size of the argument (before CUDA 12.4), or the field
    /// can't be changed; the message says why.
    /// [`ErrorKind::InvalidState`]: a graph of the template was made.
    ///
    /// # Safety
    ///
    /// For all values of `T`, the requirements of [`record`](Self::record) hold, and the kernel takes the value: it
    /// accesses no memory but its buffers, within their lengths. For an address, a count or a length this relies on all
    /// code that sets the parameter.
    pub unsafe fn parameter<T: Pod>(&self, name: &str, field: Field<T>) -> Result<Parameter<T>> {
        const FUNCTION: &str = "gpo_template_add_parameter";
        let name = c_string(name, FUNCTION)?;
        call!(template_add_parameter(self.as_raw(), name.as_ptr(), field.node.number(), field.what, field.index))?;
        self.known_parameter(name, FUNCTION)
    }

    /// A parameter by its name, for example a child's parameter.
    ///
    /// [`ErrorKind::NotFound`]: no parameter has this name; the message lists the template's parameters.
    /// [`ErrorKind::InvalidArgument`]: the parameter has another size than `T`.
    pub fn find_parameter<T: Pod>(&self, name: &str) -> Result<Parameter<T>> {
        const FUNCTION: &str = "gpo_template_get_parameter";
        self.known_parameter(c_string(name, FUNCTION)?, FUNCTION)
    }

    fn known_parameter<T: Pod>(&self, name: CString, function: &'static str) -> Result<Parameter<T>> {
        let (mut number, mut bytes) = (0, 0);
        call!(template_get_parameter(self.as_raw(), name.as_ptr(), &mut number, &mut bytes))?;
        if bytes != size_of::<T>() as u64 {
            let (name, value) = (name.to_string_lossy(), std::any::type_name::<T>());
            let message = format!("parameter `{name}` has {bytes} bytes, and `{value}` has {}", size_of::<T>());
            return Err(Error::new(ErrorKind::InvalidArgument, function, message));
        }
        Ok(Parameter { number, name: Arc::new(name), template: TemplateHandle::of(self), value: PhantomData })
    }
}

/// A parameter and its value: [`Parameter::value`], [`BucketParameter::value`](super::BucketParameter::value).
#[derive(Clone)]
pub struct Setting {
    key: Key,
    value: Bytes,
}

/// The parameter of a setting.
#[derive(Clone)]
enum Key {
    /// The parameter with this number, and name, of this template.
    Of(u32, Arc<CString>, TemplateHandle),
    /// The parameter with this name of the launched template.
    Named(Arc<CString>),
}

impl Setting {
    fn new<T: Pod>(key: Key, value: T) -> Self {
        Self { key, value: Bytes::of(bytemuck::bytes_of(&value)) }
    }

    pub(super) fn by_name<T: Pod>(name: &Arc<CString>, value: T) -> Self {
        Self::new(Key::Named(Arc::clone(name)), value)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Key::Of(_, name, _) | Key::Named(name)) = &self.key;
        f.debug_struct("Setting").field("name", name).field("value", &self.value.get()).finish()
    }
}

/// The bytes of a value. Small values, up to a grid's size, need no allocation.
#[derive(Clone)]
enum Bytes {
    Few([u8; Self::FEW], usize),
    Many(Box<[u8]>),
}

impl Bytes {
    const FEW: usize = 16;

    fn of(bytes: &[u8]) -> Self {
        let mut few = [0; Self::FEW];
        match few.get_mut(..bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => return Self::Many(bytes.into()),
        }
        Self::Few(few, bytes.len())
    }

    fn get(&self) -> &[u8] {
        match self {
            Self::Few(bytes, count) => &bytes[..*count],
            Self::Many(bytes) => bytes,
        }
    }
}

/// Passes settings of `template`'s parameters, or of buckets' parameters, as the library's structs. Up to eight
/// settings need no allocation.
pub(super) fn with_raw<R>(
    template: Option<&Template>,
    settings: &[Setting],
    function: &'static str,
    pass: impl FnOnce(&[sys::gpo_setting]) -> Result<R>,
) -> Result<R> {
    let mut few = [sys::gpo_setting::new(); 8];
    let mut many = Vec::new();
    let raw = match few.get_mut(..settings.len()) {
        Some(raw) => raw,
        None => {
            many.resize(settings.len(), sys::gpo_setting::new());
            &mut many[..]
        }
    };
    for (raw, setting) in raw.iter_mut().zip(settings) {
        match (&setting.key, template) {
            (Key::Named(name), _) => raw.name = name.as_ptr(),
            (Key::Of(number, name, own), Some(template)) => {
                check_template(*own, name, template, function)?;
                raw.parameter = *number;
            }
            (Key::Of(_, name, _), None) => return Err(of_one_template(name, function)),
        }
        let value = setting.value.get();
        raw.value = value.as_ptr().cast();
        raw.bytes = value.len() as u64;
    }
    pass(raw)
}
