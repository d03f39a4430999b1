//! Kernels' code: from CUDA C++ source, from prebuilt images, and built in.

use crate::call::{bytes, call, status, text};
use crate::device::Device;
use crate::error::Result;
use crate::handle::{Owned, c_string, optional_c_string, pointer};
use crate::kernel::Kernel;
use gpuorch_sys as sys;
use std::ffi::{CString, c_char};
use std::sync::Arc;

/// Kernels and variables on a device. Clones are the same module; its kernels keep it.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Owned<sys::gpo_module_t, Device>>,
}

/// What CUDA C++ source is compiled with.
///
/// ```
/// # let runtime = gpuorch::Runtime::new()?;
/// # let device = runtime.open_device()?;
/// let module = device
///     .compile_builder("template <class T> __global__ void set(T *x) { *x = VALUE; }")
///     .option("-DVALUE=7")
///     .instantiate("set<int>")
///     .compile()?;
/// let set = module.kernel("set<int>")?;
/// # Ok::<(), gpuorch::Error>(())
/// ```
#[must_use = "a builder compiles nothing until `compile`"]
pub struct Compile<'a> {
    device: &'a Device,
    source: &'a str,
    file_name: Option<String>,
    label: Option<String>,
    options: Vec<String>,
    instances: Vec<String>,
    headers: Vec<(String, String)>,
    cached: bool,
}

impl<'a> Compile<'a> {
    /// The name of the source in the compiler's messages; `kernel.cu` if not said.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// The module's name for errors, logs, statistics and traces.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// An option in NVRTC's spelling: `-DN=4`, `--std=c++17`, `-I/usr/include/mine`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// A template to instantiate: `scale<float>`. It is the kernel's name, too.
    pub fn instantiate(mut self, expression: impl Into<String>) -> Self {
        self.instances.push(expression.into());
        self
    }

    /// A header by the name that it is included by.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// The cache on disk is neither looked into nor added to.
    pub fn uncached(mut self) -> Self {
        self.cached = false;
        self
    }

    /// Compiles it, unless the result is in the cache. Blocks on the compiler: milliseconds to seconds.
    pub fn compile(self) -> Result<Module> {
        const FUNCTION: &str = "gpo_module_compile";
        let file_name = optional_c_string(self.file_name.as_deref(), FUNCTION)?;
        let label = optional_c_string(self.label.as_deref(), FUNCTION)?;
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let texts: Vec<_> = self.headers.iter().map(|(_, text)| text.as_str()).collect();
        let [compiler_options, instances, names, texts] =
            [&as_str(&self.options), &as_str(&self.instances), &names, &texts].map(|list| Texts::new(list, FUNCTION));
        let (compiler_options, instances, names, texts) = (compiler_options?, instances?, names?, texts?);
        let source = c_string(self.source, FUNCTION)?;
        let mut options = sys::gpo_compile_options::new();
        options.flags = if self.cached { 0 } else { sys::GPO_COMPILE_NO_CACHE };
        options.source = source.as_ptr();
        options.file_name = pointer(&file_name);
        options.label = pointer(&label);
        (options.options, options.option_count) = compiler_options.list();
        (options.name_expressions, options.name_expression_count) = instances.list();
        (options.header_names, options.header_count) = names.list();
        (options.header_texts, _) = texts.list();
        let mut raw = std::ptr::null_mut();
        call!(module_compile(self.device.as_raw(), &options, &mut raw))?;
        Ok(Module::new(self.device, raw))
    }
}

fn as_str(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// An array of texts as the library takes it.
struct Texts {
    _owned: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    fn new(texts: &[&str], function: &'static str) -> Result<Self> {
        let owned = texts.iter().map(|text| c_string(text, function)).collect::<Result<Vec<_>>>()?;
        let pointers = owned.iter().map(|text| text.as_ptr()).collect();
        Ok(Self { _owned: owned, pointers })
    }

    fn list(&self) -> (*const *const c_char, u32) {
        (if self.pointers.is_empty() { std::ptr::null() } else { self.pointers.as_ptr() }, self.pointers.len() as u32)
    }
}

/// The compiler's text from this thread's last compilation or load, warnings included; "" if it had nothing to say.
pub fn compile_log() -> Result<String> {
    text(|buffer, room, needed| status!(compile_log(buffer, room, needed)), "gpo_compile_log")
}

impl Device {
    /// Compiles CUDA C++ for the device: by NVRTC, or by the machine's C++ compiler for the software GPU.
    pub fn compile(&self, source: &str) -> Result<Module> {
        self.compile_builder(source).compile()
    }

    /// For source that needs options.
    pub fn compile_builder<'a>(&'a self, source: &'a str) -> Compile<'a> {
        let (options, instances, headers) = (Vec::new(), Vec::new(), Vec::new());
        Compile { device: self, source, file_name: None, label: None, options, instances, headers, cached: true }
    }

    /// Loads an image: cubin, fatbin or PTX for CUDA, a shared object made for it for the software GPU.
    ///
    /// # Safety
    ///
    /// It is code: for the software GPU it runs in this process.
    pub unsafe fn load_module(&self, image: &[u8], label: Option<&str>) -> Result<Module> {
        let label = optional_c_string(label, "gpo_module_load")?;
        let mut raw = std::ptr::null_mut();
        call!(module_load(self.as_raw(), image.as_ptr().cast(), image.len() as u64, pointer(&label), &mut raw))?;
        Ok(Module::new(self, raw))
    }

    /// The built-in kernels, which need no compiler: the C header `module.h` lists them.
    pub fn builtin_module(&self) -> Result<Module> {
        let mut raw = std::ptr::null_mut();
        call!(module_builtin(self.as_raw(), &mut raw))?;
        Ok(Module::new(self, raw))
    }
}

impl Module {
    fn new(device: &Device, raw: sys::gpo_module_t) -> Self {
        Self { inner: Arc::new(Owned { raw, parent: device.clone() }) }
    }

    /// A kernel by its name: as in the source for `extern "C"`, an instantiated template, the mangled symbol, or the plain
    /// name of one that is neither a template nor overloaded.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let name = c_string(name, "gpo_module_kernel")?;
        let mut raw = std::ptr::null_mut();
        call!(module_kernel(self.as_raw(), name.as_ptr(), &mut raw))?;
        Ok(Kernel::new(self, raw))
    }

    /// Address and size in bytes of a `__device__` or `__constant__` variable.
    pub fn symbol(&self, name: &str) -> Result<(u64, u64)> {
        let name = c_string(name, "gpo_module_symbol")?;
        let (mut address, mut bytes) = (0, 0);
        call!(module_symbol(self.as_raw(), name.as_ptr(), &mut address, &mut bytes))?;
        Ok((address, bytes))
    }

    /// The image that it was made from, to be kept and loaded again.
    pub fn image(&self) -> Result<Vec<u8>> {
        bytes(
            |buffer, room, needed| status!(module_image(self.as_raw(), buffer.cast(), room, needed)),
            "gpo_module_image",
        )
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_module_t {
        self.inner.raw
    }
}
