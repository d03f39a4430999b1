//! The raw table: calls that the crate `gpuorch` can't make.

use gpuorch_sys::{
    GPO_BUFFER_TOO_SMALL, GPO_INVALID_ARGUMENT, GPO_SUCCESS, GPO_VERSION, GPO_VERSION_MAJOR, GPO_VERSION_MINOR,
    GPO_VERSION_PATCH, api, gpo_error,
};
use std::ffi::CStr;

#[test]
fn every_member_is_there() {
    let api = api().expect("the library");
    assert_eq!(api.struct_size as usize, size_of_val(api));
    assert_eq!(api.library_version, GPO_VERSION);
    assert!(api.status_name.is_some() && api.buckets_get_statistics.is_some());
}

#[test]
fn the_packages_version_names_the_librarys() {
    let headers = format!("{GPO_VERSION_MAJOR}.{GPO_VERSION_MINOR}.{GPO_VERSION_PATCH}");
    let (_, named) = env!("CARGO_PKG_VERSION").split_once('+').expect("the library's version");
    assert_eq!(named, headers);
}

#[test]
fn a_status_has_a_name_and_a_text() {
    let api = api().expect("the library");
    // SAFETY: both take any number, and give static text.
    let (name, text) = unsafe {
        let (name, text) = (api.status_name.expect("a member"), api.status_text.expect("a member"));
        (CStr::from_ptr(name(GPO_BUFFER_TOO_SMALL)), CStr::from_ptr(text(GPO_BUFFER_TOO_SMALL)))
    };
    assert_eq!(name, c"GPO_BUFFER_TOO_SMALL");
    assert!(!text.is_empty());
}

#[test]
fn what_has_no_size_or_no_room_is_refused() {
    let api = api().expect("the library");
    let mut error = gpo_error::new();
    error.struct_size = 0;
    // SAFETY: the struct says that it has no bytes, and none is touched.
    assert_eq!(unsafe { api.last_error.expect("a member")(&mut error) }, GPO_INVALID_ARGUMENT);
    let mut needed = 0;
    let mut room = [0; 1];
    let log = api.last_compile_log.expect("a member");
    // SAFETY: the capacity is 0: nothing is written.
    assert_eq!(unsafe { log(room.as_mut_ptr(), 0, &mut needed) }, GPO_BUFFER_TOO_SMALL);
    // SAFETY: one byte, for the terminator.
    assert_eq!(unsafe { log(room.as_mut_ptr(), 1, &mut needed) }, GPO_SUCCESS);
    assert_eq!((needed, room[0]), (1, 0));
}
