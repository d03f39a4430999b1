//! The library is closed while it works, and opened again; and a second copy runs beside it.
#![cfg(feature = "load")]

mod world;

use gpuorch::{ErrorKind, Result, sys};
use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use world::world;

/// The path of the library itself. A library in front of it would really be unloaded by a close, under its callers.
fn library() -> String {
    let named = std::env::var("GPUORCH_COUNTED_LIBRARY").or_else(|_| std::env::var("GPUORCH_LIBRARY"));
    named.unwrap_or_else(|_| "libgpuorch.so.0.1".into())
}

fn open(path: &str) -> *mut c_void {
    let name = CString::new(path).expect("no NUL");
    // SAFETY: libgpuorch has no initialisers that do anything.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    // SAFETY: dlerror's text is this thread's, and NUL-terminated.
    assert!(!library.is_null(), "{:?}", unsafe { CStr::from_ptr(libc::dlerror()) });
    library
}

fn table(library: *mut c_void) -> &'static sys::gpo_api {
    // SAFETY: libgpuorch's gpo_get_api has this type, and its table is static.
    unsafe {
        let get = libc::dlsym(library, c"gpo_get_api".as_ptr());
        assert!(!get.is_null());
        let get: unsafe extern "C" fn(u32) -> *const sys::gpo_api = std::mem::transmute(get);
        get(sys::GPO_VERSION).as_ref().expect("a table")
    }
}

/// Open files, and threads: the fewest of `looks`, one each millisecond. Other threads open files for a moment.
fn files_and_threads(looks: usize) -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).expect("Linux has it").count();
    (0..looks).fold((usize::MAX, usize::MAX), |(files, threads), _| {
        std::thread::sleep(Duration::from_millis(1));
        (files.min(count("/proc/self/fd")), threads.min(count("/proc/self/task")))
    })
}

#[test]
fn in_a_process_of_its_own() -> Result<()> {
    match std::env::var("GPUORCH_TEST_CHILD").as_deref() {
        Ok("closed") => closed(),
        Ok("twice") => twice(),
        _ => Ok(()),
    }
}

/// All handles of the library are closed, and its runtime works on.
fn closed() -> Result<()> {
    let w = world();
    let gate = w.runtime.timeline(0)?;
    let x = w.device.buffer::<u32>(1000)?;
    let path = library();
    let first = open(&path);
    let api: *const sys::gpo_api = table(first);
    // SAFETY: the second close undoes the crate's own open, which is the test's point.
    assert_eq!(unsafe { (libc::dlclose(first), libc::dlclose(first)) }, (0, 0));
    let turns = if std::env::var_os("GPUORCH_TEST_FULL").is_some() { 1000 } else { 50 };
    let mut before = (0, 0);
    for turn in 1..=turns {
        w.stream.wait_timeline(&gate, turn)?;
        w.stream.fill(&x, turn as u32)?;
        let copied = w.stream.copy_to_host(&x, vec![0; 1000])?;
        let again = open(&path);
        assert!(std::ptr::eq(table(again), api));
        gate.signal(turn)?;
        // SAFETY: as above.
        assert_eq!(unsafe { libc::dlclose(again) }, 0);
        assert_eq!(pollster::block_on(copied)?, vec![turn as u32; 1000]);
        if turn == 1 {
            before = files_and_threads(20);
        }
        let mut now = files_and_threads(1);
        for _ in 0..1000 {
            if now.0 <= before.0 && now.1 <= before.1 {
                break;
            }
            now = files_and_threads(1);
        }
        assert!(now.0 <= before.0 && now.1 <= before.1, "turn {turn}: {now:?}, and {before:?} before");
    }
    open(&path);
    w.runtime.shutdown(Duration::from_secs(20))
}

/// Two copies in one process: both work, and neither takes the other's handles.
fn twice() -> Result<()> {
    let w = world();
    let copy = std::env::var("GPUORCH_TEST_COPY").expect("the parent has made it");
    let api = table(open(&copy));
    assert!(!std::ptr::eq(api, sys::api().expect("the library")));
    let (mut runtime, mut device, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    let mut address = 0;
    // SAFETY: each call gets the previous call's object.
    unsafe {
        let created = api.runtime_create.expect("a member")(std::ptr::null(), &mut runtime);
        let opened = api.device_open.expect("a member")(runtime, std::ptr::null(), &mut device);
        let made = api.stream_create.expect("a member")(device, std::ptr::null(), &mut stream);
        let got = api.memory_allocate.expect("a member")(device, 4000, std::ptr::null(), &mut address);
        assert_eq!([created, opened, made, got], [sys::GPO_SUCCESS; 4]);
    }
    let x = w.device.buffer::<u32>(1000)?;
    for turn in 0..20 {
        assert_eq!(
            w.stream.fill(&x, turn).and_then(|_| w
                .stream
                .copy_to_host(&x, vec![0; 1000])?
                .wait()
                .map_err(Into::into))?,
            vec![turn; 1000]
        );
        let mut host = vec![0u32; 1000];
        // SAFETY: the vector lives until the wait has ended.
        unsafe {
            let filled = api.fill.expect("a member")(stream, address, turn + 1, 4, 1000);
            let copied = api.copy_to_host.expect("a member")(stream, host.as_mut_ptr().cast(), address, 4000);
            let waited = api.stream_wait.expect("a member")(stream, 20_000_000_000);
            assert_eq!([filled, copied, waited], [sys::GPO_SUCCESS; 3]);
        }
        assert_eq!(host, vec![turn + 1; 1000]);
    }
    // SAFETY: both are refused.
    let refused = unsafe {
        [
            api.stream_query.expect("a member")(w.stream.as_raw()),
            api.runtime_shutdown.expect("a member")(w.runtime.as_raw(), 0),
        ]
    };
    assert_eq!(refused, [sys::GPO_INVALID_HANDLE; 2]);
    w.stream.wait()?;
    // SAFETY: nothing of it is used any more.
    assert_eq!(unsafe { api.runtime_shutdown.expect("a member")(runtime, -1) }, sys::GPO_SUCCESS);
    w.runtime.shutdown(Duration::from_secs(20))?;
    assert_eq!(w.stream.wait().unwrap_err().kind(), ErrorKind::InvalidHandle);
    Ok(())
}

#[track_caller]
fn in_child(how: &str, copy: &Path) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture"]).env("GPUORCH_TEST_CHILD", how);
    let output = command.env("GPUORCH_LIBRARY", library()).env("GPUORCH_TEST_COPY", copy).output().expect("it runs");
    let told = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "{}\n{told}", output.status);
}

#[test]
fn a_library_that_is_closed_under_work_works_on() {
    in_child("closed", Path::new(""));
}

#[test]
fn two_copies_work_side_by_side() {
    if !Path::new(&library()).exists() {
        println!("SKIP two_copies_work_side_by_side: GPUORCH_LIBRARY names no file");
        return;
    }
    let copy = std::env::temp_dir().join(format!("libgpuorch-copy-{}.so", std::process::id()));
    std::fs::copy(library(), &copy).expect("there is room");
    in_child("twice", &copy);
    std::fs::remove_file(&copy).expect("it goes");
}
