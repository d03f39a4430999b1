//! Modules of kernels: compiled from CUDA C++ source, loaded from prebuilt images, or built in.

use crate::builder::Options;
use crate::call::{call, status, text};
use crate::compiling::Compiling;
use crate::device::Device;
use crate::error::Result;
use crate::handle::{Owned, c_string, optional_c_string, pointer};
use crate::kernel::Kernel;
use gpuorch_sys as sys;
use std::ffi::{CString, c_char};
use std::sync::Arc;

/// Kernels and variables on a device. Clones are the same module. A kernel keeps its module alive.
#[derive(Clone)]
pub struct Module {
    inner: Arc<Owned<sys::gpo_module_t, Device>>,
}

/// Options for compiling CUDA C++ source.
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
    pub(crate) options: Options<sys::gpo_compile_options>,
    compiler_options: Vec<String>,
    instances: Vec<String>,
    headers: Vec<(String, String)>,
}

impl<'a> Compile<'a> {
    /// An option in NVRTC's spelling: `-DN=4`, `--std=c++17`, `-I/usr/include/mine`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.compiler_options.push(option.into());
        self
    }

    /// A template to instantiate: `scale<float>`. The expression is also the name of the kernel.
    pub fn instantiate(mut self, expression: impl Into<String>) -> Self {
        self.instances.push(expression.into());
        self
    }

    /// A header for the source's includes: the name as in the `#include` line, and the text.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// The source's kernels may launch kernels: `child<<<grid, block>>>(x)`. The C header `module.h` says what holds
    /// for these launches.
    ///
    /// [`ErrorKind::NoCompiler`](crate::ErrorKind::NoCompiler): CUDA's `libcudadevrt.a`, or the driver's linker, was
    /// not found.
    pub fn dynamic_parallelism(mut self) -> Self {
        self.options.flags |= sys::GPO_COMPILE_DYNAMIC_PARALLELISM;
        self
    }

    /// Compiles the source, or takes the result from the cache. Blocks on the compiler for milliseconds to seconds. On
    /// a thread of an async runtime use [`compile_async`](Self::compile_async) instead.
    pub fn compile(self) -> Result<Module> {
        self.request()?.run()
    }

    /// Compiles as a future. The compilation runs on a thread of its own, `gpuorch-compile`, which starts now, wakes
    /// the future and ends with the compilation. Each call takes a thread and a compiler; the caller decides how many
    /// run at once. Dropping the future doesn't stop the compilation; its result is dropped.
    ///
    /// ```
    /// # let runtime = gpuorch::Runtime::new()?;
    /// # let device = runtime.open_device()?;
    /// # pollster::block_on(async {
    /// let module = device.compile_builder("__global__ void nothing() {}").label("nothing").compile_async().await?;
    /// # module.kernel("nothing")?;
    /// # Ok::<(), gpuorch::Error>(())
    /// # })?;
    /// # Ok::<(), gpuorch::Error>(())
    /// ```
    pub fn compile_async(self) -> Compiling {
        Compiling::begin(self.request())
    }

    /// All options as owned C strings.
    fn request(self) -> Result<Request> {
        self.options.checked(FUNCTION)?;
        let (names, texts): (Vec<_>, Vec<_>) = self.headers.into_iter().unzip();
        let [compiler_options, instances, names, texts] = [self.compiler_options, self.instances, names, texts]
            .map(|list| list.iter().map(|text| c_string(text, FUNCTION)).collect::<Result<Vec<_>>>());
        let (compiler_options, instances, names, texts) = (compiler_options?, instances?, names?, texts?);
        let (device, source) = (self.device.clone(), c_string(self.source, FUNCTION)?);
        Ok(Request { device, source, options: self.options, compiler_options, instances, names, texts })
    }
}

const FUNCTION: &str = "gpo_module_compile";

/// The inputs of a compilation, for any thread.
pub(crate) struct Request {
    device: Device,
    source: CString,
    options: Options<sys::gpo_compile_options>,
    compiler_options: Vec<CString>,
    instances: Vec<CString>,
    names: Vec<CString>,
    texts: Vec<CString>,
}

impl Request {
    /// Blocks on the compiler.
    pub(crate) fn run(&self) -> Result<Module> {
        let [compiler_options, instances, names, texts] =
            [&self.compiler_options, &self.instances, &self.names, &self.texts].map(|list| pointers(list));
        let mut options = *self.options;
        options.source = self.source.as_ptr();
        (options.options, options.option_count) = listed(&compiler_options);
        (options.name_expressions, options.name_expression_count) = listed(&instances);
        (options.header_names, options.header_count) = listed(&names);
        (options.header_texts, _) = listed(&texts);
        let mut raw = std::ptr::null_mut();
        call!(module_compile(self.device.as_raw(), &options, &mut raw))?;
        Ok(Module::new(&self.device, raw))
    }
}

/// Pointers to the texts, valid for as long as `texts` is.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

fn listed(pointers: &[*const c_char]) -> (*const *const c_char, u32) {
    (if pointers.is_empty() { std::ptr::null() } else { pointers.as_ptr() }, pointers.len() as u32)
}

/// The compiler's text, with warnings, from the calling thread's last compilation or load; "" if the compiler had
/// nothing to say. The text of [`Compile::compile_async`] is in [`Compiling::log`].
pub fn compile_log() -> Result<String> {
    text(|buffer, room, needed| status!(last_compile_log(buffer, room, needed)), "gpo_last_compile_log")
}

impl Device {
    /// Compiles CUDA C++ for the device: with NVRTC, or for the software GPU with the machine's C++ compiler. Blocks on
    /// the compiler.
    pub fn compile(&self, source: &str) -> Result<Module> {
        self.compile_builder(source).compile()
    }

    /// Compiles as a future, on a thread of its own: see [`Compile::compile_async`].
    pub fn compile_async(&self, source: &str) -> Compiling {
        self.compile_builder(source).compile_async()
    }

    /// For source that needs options.
    pub fn compile_builder<'a>(&'a self, source: &'a str) -> Compile<'a> {
        let options = Options::of(sys::gpo_compile_options::new());
        let (compiler_options, instances, headers) = (Vec::new(), Vec::new(), Vec::new());
        Compile { device: self, source, options, compiler_options, instances, headers }
    }

    /// Loads an image: cubin, fatbin or PTX for CUDA, a shared object made for it for the software GPU.
    ///
    /// # Safety
    ///
    /// The image is code. For the software GPU it runs in this process.
    pub unsafe fn load_module(&self, image: &[u8], label: Option<&str>) -> Result<Module> {
        let label = optional_c_string(label, "gpo_module_load")?;
        let mut raw = std::ptr::null_mut();
        call!(module_load(self.as_raw(), image.as_ptr().cast(), image.len() as u64, pointer(&label), &mut raw))?;
        Ok(Module::new(self, raw))
    }

    /// The built-in kernels, which need no compiler: the C header `module.h` lists them.
    pub fn builtin_module(&self) -> Result<Module> {
        let mut raw = std::ptr::null_mut();
        call!(module_load_builtin(self.as_raw(), &mut raw))?;
        Ok(Module::new(self, raw))
    }
}

impl Module {
    fn new(device: &Device, raw: sys::gpo_module_t) -> Self {
        Self { inner: Arc::new(Owned { raw, parent: device.clone() }) }
    }

    /// A kernel by its name: the name in the source if the kernel is `extern "C"` or is neither a template nor
    /// overloaded; the expression of an instantiated template; or the mangled symbol.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let name = c_string(name, "gpo_module_get_kernel")?;
        let mut raw = std::ptr::null_mut();
        call!(module_get_kernel(self.as_raw(), name.as_ptr(), &mut raw))?;
        Ok(Kernel::new(self, raw))
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_module_t {
        self.inner.raw
    }
}
