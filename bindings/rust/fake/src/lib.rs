//! A table of functions in place of the library's, for tests of the bindings: without a library, under Miri, and with
//! gaps in the table. Work on a stream happens at once, callbacks come from threads. With `FAKE=broken` in the
//! environment the table states a size below its own header's.

use gpuorch_sys::*;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Blocks that were handed out, and threads that call back.
#[derive(Default)]
struct World {
    blocks: HashMap<usize, Layout>,
    threads: Vec<JoinHandle<()>>,
}

fn world() -> MutexGuard<'static, World> {
    static WORLD: OnceLock<Mutex<World>> = OnceLock::new();
    WORLD.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn allocate(bytes: u64, alignment: u64) -> *mut u8 {
    let layout = Layout::from_size_align(bytes as usize, alignment as usize).expect("a size");
    // SAFETY: callers never ask for 0 bytes.
    let block = unsafe { alloc_zeroed(layout) };
    world().blocks.insert(block as usize, layout);
    block
}

fn free(block: usize) -> gpo_status {
    match world().blocks.remove(&block) {
        // SAFETY: from alloc_zeroed, with this layout, and freed once.
        Some(layout) => unsafe { dealloc(block as *mut u8, layout) },
        None => return GPO_INVALID_ARGUMENT,
    }
    GPO_SUCCESS
}

/// Handles are numbers: all objects get the same.
fn handle<T>() -> *mut T {
    std::ptr::without_provenance_mut(8)
}

macro_rules! makes {
    ($($name:ident($($argument:ty),*) -> $handle:ty;)*) => {$(
        unsafe extern "C" fn $name($(_: $argument,)* out: *mut $handle) -> gpo_status {
            // SAFETY: the caller's, to be written.
            unsafe { out.write(handle()) };
            GPO_SUCCESS
        }
    )*};
}

makes! {
    runtime_create(*const gpo_runtime_options) -> gpo_runtime_t;
    device_open(gpo_runtime_t, *const gpo_device_options) -> gpo_device_t;
    stream_create(gpo_device_t, *const gpo_stream_options) -> gpo_stream_t;
    executor_create(gpo_runtime_t, *const gpo_executor_options) -> gpo_executor_t;
    arena_create(gpo_device_t, *const gpo_arena_options) -> gpo_arena_t;
}

unsafe extern "C" fn destroy<T>(_: *mut T) -> gpo_status {
    GPO_SUCCESS
}

unsafe extern "C" fn runtime_shutdown(_: gpo_runtime_t, _: i64) -> gpo_status {
    let threads = std::mem::take(&mut world().threads);
    let here = std::thread::current().id();
    if threads.iter().any(|thread| thread.thread().id() == here) {
        world().threads.extend(threads);
        return GPO_WOULD_DEADLOCK;
    }
    for thread in threads {
        let _ = thread.join();
    }
    GPO_SUCCESS
}

unsafe extern "C" fn stream_query(_: gpo_stream_t) -> gpo_status {
    GPO_NOT_READY
}

unsafe extern "C" fn stream_wait(_: gpo_stream_t, _: i64) -> gpo_status {
    GPO_SUCCESS
}

struct Call(gpo_completion_fn, *mut c_void);

// SAFETY: the pointer is for the callback, which may run on any thread.
unsafe impl Send for Call {}

unsafe extern "C" fn stream_then(
    _: gpo_stream_t,
    _: gpo_executor_t,
    callback: gpo_completion_fn,
    user: *mut c_void,
) -> gpo_status {
    let call = Call(callback, user);
    let thread = std::thread::spawn(move || {
        let Call(callback, user) = { call };
        let completion = gpo_completion::new();
        // SAFETY: called once, with the pointer that came with it.
        unsafe { callback.expect("a callback")(user, &completion, std::ptr::null()) };
    });
    world().threads.push(thread);
    GPO_SUCCESS
}

unsafe extern "C" fn memory_allocate(_: gpo_device_t, bytes: u64, _: *const c_char, address: *mut u64) -> gpo_status {
    // SAFETY: the caller's, to be written.
    unsafe { address.write(allocate(bytes, 256).expose_provenance() as u64) };
    GPO_SUCCESS
}

unsafe extern "C" fn memory_free(_: gpo_device_t, address: u64) -> gpo_status {
    free(address as usize)
}

unsafe extern "C" fn memory_describe(_: gpo_device_t, _: u64, info: *mut gpo_memory_info) -> gpo_status {
    // SAFETY: the caller's, to be written.
    unsafe { (*info).kind = GPO_MEMORY_PAGEABLE };
    GPO_SUCCESS
}

unsafe extern "C" fn arena_allocate(
    _: gpo_arena_t,
    bytes: u64,
    alignment: u64,
    memory: *mut *mut c_void,
) -> gpo_status {
    // SAFETY: the caller's, to be written.
    unsafe { memory.write(allocate(bytes, alignment).cast()) };
    GPO_SUCCESS
}

unsafe extern "C" fn arena_free(_: gpo_arena_t, memory: *mut c_void) -> gpo_status {
    free(memory as usize)
}

unsafe extern "C" fn copy_to_device(_: gpo_stream_t, to: u64, from: *const c_void, bytes: u64) -> gpo_status {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(to as usize);
    // SAFETY: the caller has both blocks, which are as large.
    unsafe { to.copy_from(from.cast(), bytes as usize) };
    GPO_SUCCESS
}

unsafe extern "C" fn copy_to_host(_: gpo_stream_t, to: *mut c_void, from: u64, bytes: u64) -> gpo_status {
    let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
    // SAFETY: likewise.
    unsafe { to.cast::<u8>().copy_from(from, bytes as usize) };
    GPO_SUCCESS
}

struct Table(gpo_api);

// SAFETY: numbers and functions.
unsafe impl Sync for Table {}
// SAFETY: likewise.
unsafe impl Send for Table {}

fn table(broken: bool) -> gpo_api {
    // SAFETY: zero is a value of numbers, and `None` of functions.
    let mut table: gpo_api = unsafe { std::mem::zeroed() };
    table.library_version = GPO_VERSION;
    table.struct_size = if broken { 3 } else { size_of::<gpo_api>() as u32 };
    table.runtime_create = Some(runtime_create);
    table.runtime_shutdown = Some(runtime_shutdown);
    table.device_open = Some(device_open);
    table.device_close = Some(destroy);
    table.stream_create = Some(stream_create);
    table.stream_destroy = Some(destroy);
    table.stream_query = Some(stream_query);
    table.stream_wait = Some(stream_wait);
    table.stream_then = Some(stream_then);
    table.executor_create = Some(executor_create);
    table.memory_allocate = Some(memory_allocate);
    table.memory_free = Some(memory_free);
    table.memory_describe = Some(memory_describe);
    table.arena_create = Some(arena_create);
    table.arena_destroy = Some(destroy);
    table.arena_allocate = Some(arena_allocate);
    table.arena_free = Some(arena_free);
    table.copy_to_device = Some(copy_to_device);
    table.copy_to_host = Some(copy_to_host);
    table
}

/// The symbol that the bindings look for in a library.
#[unsafe(no_mangle)]
pub extern "C" fn gpo_get_api(_version: u32) -> *const gpo_api {
    static TABLE: OnceLock<Table> = OnceLock::new();
    &raw const TABLE.get_or_init(|| Table(table(std::env::var_os("FAKE").is_some_and(|which| which == "broken")))).0
}
