//! The power fails: a crash at every point between two writes or syncs, with what was not synced
//! lost, reordered or torn. Every acknowledged change is there, none is there in part, and verify is
//! clean. `kill -9` (the test beside this one) cannot see a missing sync; this one does, and shows
//! that it does: without syncs, or with one kind of them ignored, the same check fails.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
#[test]
fn skipped_on_this_system() {
    eprintln!("SKIPPED: the test of power failures replaces functions of the C library of Linux");
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod log;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod run;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod shim;
