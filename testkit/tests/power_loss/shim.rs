//! The layer that sees every write and sync: functions of the C library defined once more in this
//! program. The linker prefers them for the engine (compiled from C into the same program) and for
//! Rust's own library alike; each calls the real one, then notes what it did.
//!
//! A file is known by its inode, so a rename does not hide it. What does not pass here (a write
//! through a map) would be missed; `log::Log::complete` finds that out by comparing the files.
#![expect(
    unsafe_code,
    reason = "functions of the C library are replaced; each passes its arguments on unchanged"
)]

use crate::log::{Event, Log};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static RECORDING: AtomicUsize = AtomicUsize::new(0);
static LOGS: Mutex<Vec<Log>> = Mutex::new(Vec::new());

/// Notes everything below a folder from now on. The folder itself counts as durable.
pub(crate) fn record(root: &Path) {
    logs().push(Log::new(root));
    RECORDING.fetch_add(1, Ordering::SeqCst);
}

/// Ends the notes of a folder and hands them over.
pub(crate) fn finish(root: &Path) -> Log {
    RECORDING.fetch_sub(1, Ordering::SeqCst);
    let mut logs = logs();
    let at = logs.iter().position(|log| log.root == root);
    at.map_or_else(|| Log::new(root), |at| logs.remove(at))
}

/// Notes that a change was acknowledged, in order with the writes.
pub(crate) fn acknowledge(root: &Path, who: usize, what: u64) {
    for log in logs().iter_mut().filter(|log| log.root == root) {
        log.events.push(Event::Acknowledged { who, what });
    }
}

fn logs() -> MutexGuard<'static, Vec<Log>> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn note(path: &Path, event: impl FnOnce(&Path) -> Event) {
    let mut logs = logs();
    for log in logs.iter_mut() {
        if let Ok(inside) = path.strip_prefix(&log.root) {
            log.events.push(event(inside));
            return;
        }
    }
}

/// The path and the inode behind a descriptor, if it is a file or folder on disk.
fn behind(fd: c_int) -> Option<(PathBuf, u64)> {
    if RECORDING.load(Ordering::SeqCst) == 0 {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    // SAFETY: the descriptor is the caller's, open for as long as this call; it is not closed here.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let inode = file.metadata().ok()?.ino();
    Some((path, inode))
}

/// LMDB maps its lock file; it holds nothing that outlives the processes.
fn is_data(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "data.mdb")
}

fn wrote(fd: c_int, at: u64, bytes: Vec<u8>) {
    if let Some((path, inode)) = behind(fd)
        && is_data(&path)
    {
        // SAFETY: only reads the flags of an open descriptor.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        let synced = flags & libc::O_DSYNC != 0;
        note(&path, |path| Event::Write {
            path: path.to_owned(),
            inode,
            at,
            bytes,
            synced,
        });
    }
}

fn synced(fd: c_int) {
    if let Some((path, inode)) = behind(fd) {
        note(&path, |path| Event::Sync {
            path: path.to_owned(),
            inode,
        });
    }
}

/// The bytes that a call wrote.
///
/// # Safety
/// `from` must be readable for `length` bytes.
unsafe fn copied(from: *const c_void, length: usize) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) }.to_vec()
}

/// The bytes that a call wrote from several places.
///
/// # Safety
/// `parts` must be readable for `count` elements, and each of them for its length.
unsafe fn gathered(parts: *const libc::iovec, count: c_int, done: isize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(done as usize);
    // SAFETY: the caller's promise.
    for part in unsafe { std::slice::from_raw_parts(parts, count as usize) } {
        let length = part.iov_len.min(done as usize - bytes.len());
        // SAFETY: the caller's promise.
        bytes.extend(unsafe { copied(part.iov_base, length) });
    }
    bytes
}

/// Where a write at the descriptor's own position began: where it ended less what it wrote.
fn began(fd: c_int, done: isize) -> Option<u64> {
    if done <= 0 || RECORDING.load(Ordering::SeqCst) == 0 {
        return None;
    }
    // SAFETY: only asks for the position.
    let end = unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) };
    u64::try_from(end - done as i64).ok()
}

/// The next definition of a function behind this program's own: the C library's.
macro_rules! real {
    ($name:literal as $signature:ty) => {{
        static ADDRESS: AtomicUsize = AtomicUsize::new(0);
        let mut address = ADDRESS.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the name ends with a zero byte.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, $name.as_ptr()) } as usize;
            ADDRESS.store(address, Ordering::Relaxed);
        }
        assert_ne!(address, 0, "the C library has no {:?}", $name);
        // SAFETY: the C library's function of this name has this signature.
        unsafe { std::mem::transmute::<usize, $signature>(address) }
    }};
}

macro_rules! positioned_writes {
    ($($name:ident = $real:literal, $vector:ident = $real_vector:literal, $length:ident = $real_length:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(fd: c_int, from: *const c_void, length: usize, at: i64) -> isize {
            let real = real!($real as unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize);
            // SAFETY: the caller's arguments, unchanged.
            let done = unsafe { real(fd, from, length, at) };
            if done > 0 {
                // SAFETY: so many bytes were just read from there.
                wrote(fd, at as u64, unsafe { copied(from, done as usize) });
            }
            done
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $vector(fd: c_int, parts: *const libc::iovec, count: c_int, at: i64) -> isize {
            let real = real!($real_vector as unsafe extern "C" fn(c_int, *const libc::iovec, c_int, i64) -> isize);
            // SAFETY: the caller's arguments, unchanged.
            let done = unsafe { real(fd, parts, count, at) };
            if done > 0 {
                // SAFETY: the real function has just read them.
                wrote(fd, at as u64, unsafe { gathered(parts, count, done) });
            }
            done
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $length(fd: c_int, length: i64) -> c_int {
            let real = real!($real_length as unsafe extern "C" fn(c_int, i64) -> c_int);
            // SAFETY: the caller's arguments, unchanged.
            let done = unsafe { real(fd, length) };
            if done == 0
                && let Some((path, inode)) = behind(fd)
                && is_data(&path)
            {
                note(&path, |path| Event::SetLength {
                    path: path.to_owned(),
                    inode,
                    length: length as u64,
                });
            }
            done
        }
    )*};
}

positioned_writes! {
    pwrite = c"pwrite", pwritev = c"pwritev", ftruncate = c"ftruncate";
    pwrite64 = c"pwrite64", pwritev64 = c"pwritev64", ftruncate64 = c"ftruncate64";
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, from: *const c_void, length: usize) -> isize {
    let real = real!(c"write" as unsafe extern "C" fn(c_int, *const c_void, usize) -> isize);
    // SAFETY: the caller's arguments, unchanged.
    let done = unsafe { real(fd, from, length) };
    if let Some(at) = began(fd, done) {
        // SAFETY: so many bytes were just read from there.
        wrote(fd, at, unsafe { copied(from, done as usize) });
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let real = real!(c"writev" as unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize);
    // SAFETY: the caller's arguments, unchanged.
    let done = unsafe { real(fd, parts, count) };
    if let Some(at) = began(fd, done) {
        // SAFETY: the real function has just read them.
        wrote(fd, at, unsafe { gathered(parts, count, done) });
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    let real = real!(c"fsync" as unsafe extern "C" fn(c_int) -> c_int);
    // SAFETY: the caller's argument, unchanged.
    let done = unsafe { real(fd) };
    if done == 0 {
        synced(fd);
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    let real = real!(c"fdatasync" as unsafe extern "C" fn(c_int) -> c_int);
    // SAFETY: the caller's argument, unchanged.
    let done = unsafe { real(fd) };
    if done == 0 {
        synced(fd);
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let real = real!(c"rename" as unsafe extern "C" fn(*const c_char, *const c_char) -> c_int);
    // SAFETY: the caller's arguments, unchanged.
    let done = unsafe { real(from, to) };
    if done == 0
        && RECORDING.load(Ordering::SeqCst) > 0
        // SAFETY: the real function has just read both as C strings.
        && let (Some(_), Some(to)) = unsafe { (named(from), named(to)) }
        && let Ok(about) = std::fs::metadata(&to)
    {
        note(&to, |to| Event::Rename {
            inode: about.ino(),
            to: to.to_owned(),
        });
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    let real = real!(c"mkdir" as unsafe extern "C" fn(*const c_char, c_uint) -> c_int);
    // SAFETY: the caller's arguments, unchanged.
    let done = unsafe { real(path, mode) };
    if done == 0
        && RECORDING.load(Ordering::SeqCst) > 0
        // SAFETY: the real function has just read it as a C string.
        && let Some(path) = unsafe { named(path) }
    {
        note(&path, |path| Event::MakeFolder(path.to_owned()));
    }
    done
}

/// # Safety
/// `path` must be a C string.
unsafe fn named(path: *const c_char) -> Option<PathBuf> {
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(path) }.to_str().ok()?;
    Some(PathBuf::from(text))
}
