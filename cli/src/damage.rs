//! What a damaged file does to a process: LMDB reads its pages where they are mapped and goes where
//! they lead. Where they lead out of the file, the operating system ends the process. It is told what
//! happened before, and the exit code is that of a failure.

use std::ffi::c_int;

const MESSAGE: &[u8] = b"error: the database is damaged: a page of its file leads to where no page \
is; what this command was about to change has not been changed\n  = help: restore the folder from a \
copy, or make it anew with `querent create` and `querent load`\n";

/// From here on, a fault is told as what it is. For commands that open a database: all else that they
/// read is checked before it is used.
pub(crate) fn tell_faults() {
    for signal in [libc::SIGBUS, libc::SIGSEGV, libc::SIGABRT] {
        on_signal(signal);
    }
}

#[expect(unsafe_code, reason = "handlers of signals are set by the C library")]
fn on_signal(signal: c_int) {
    // SAFETY: an all-zero `sigaction` is a valid one: no flags, nothing masked. The handler calls
    // only functions that may be called at any point of a program, and does not return.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(c_int) as usize;
        // The stack may be what has run out.
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

#[expect(
    unsafe_code,
    reason = "a handler may call very few functions, all of the C library"
)]
extern "C" fn end(_: c_int) {
    // SAFETY: `write` and `_exit` are safe in a handler; the message is static.
    unsafe {
        libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(2);
    }
}
