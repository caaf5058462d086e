//! The calls by which a process bails out what it may do.

use libc::{c_int, c_long, c_ulong};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// The version of the kernel's structures of capabilities that has 64 of them.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// How the kernel takes capabilities: which thread, and two halves of three sets.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    thread: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityHalf {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// A user of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserIds {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

fn checked(result: c_long) -> io::Result<()> {
    match result {
        ..=-1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn control(option: c_int, argument: c_ulong) -> io::Result<()> {
    // SAFETY: these options take numbers.
    checked(unsafe { libc::prctl(option, argument, 0, 0, 0) }.into())
}

/// The numbers of a user by name; none when there is no such user.
pub(crate) fn user_by_name(name: &CStr) -> io::Result<Option<UserIds>> {
    let mut record = MaybeUninit::<libc::passwd>::uninit();
    let mut strings = vec![0; 16 << 10];
    let mut found = null_mut();
    // SAFETY: the pointers are to what the call fills, with their lengths.
    let error = unsafe {
        libc::getpwnam_r(
            name.as_ptr(),
            record.as_mut_ptr(),
            strings.as_mut_ptr(),
            strings.len(),
            &mut found,
        )
    };
    match (error, found.is_null()) {
        (0, true) => Ok(None),
        (0, false) => {
            // SAFETY: the call has filled the record and points to it.
            let record = unsafe { record.assume_init() };
            Ok(Some(UserIds {
                user: record.pw_uid,
                group: record.pw_gid,
            }))
        }
        (error, _) => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Lets all threads be of another user, who keeps the capabilities of this thread.
pub(crate) fn become_user(ids: UserIds) -> io::Result<()> {
    control(libc::PR_SET_KEEPCAPS, 1)?;
    // SAFETY: one group is given by its number.
    checked(unsafe { libc::setgroups(1, &ids.group) }.into())?;
    // SAFETY: numbers are given.
    checked(unsafe { libc::setgid(ids.group) }.into())?;
    // SAFETY: a number is given.
    checked(unsafe { libc::setuid(ids.user) }.into())
}

/// Keeps those capabilities of this thread that are in a set of bits, and no others; threads that it starts have the
/// same.
pub(crate) fn keep_capabilities(kept: u64) -> io::Result<()> {
    change_capabilities(|half, place| {
        half.permitted &= [kept as u32, (kept >> 32) as u32][place];
        half.effective = half.permitted;
        half.inheritable = 0;
    })
}

/// Makes all permitted capabilities of this thread effective; threads that it starts have the same.
pub(crate) fn raise_capabilities() -> io::Result<()> {
    change_capabilities(|half, _| half.effective = half.permitted)
}

/// Reads the sets of this thread, changes each of their halves, of which 0 has the lower numbers, and writes them.
fn change_capabilities(change: impl Fn(&mut CapabilityHalf, usize)) -> io::Result<()> {
    let mut header = CapabilityHeader {
        version: CAPABILITY_VERSION,
        thread: 0,
    };
    let mut halves = [CapabilityHalf::default(); 2];
    // SAFETY: the structures are those of this version, of which there are two halves.
    checked(unsafe { libc::syscall(libc::SYS_capget, &mut header, halves.as_mut_ptr()) })?;
    for (place, half) in halves.iter_mut().enumerate() {
        change(half, place);
    }
    // SAFETY: as above.
    checked(unsafe { libc::syscall(libc::SYS_capset, &mut header, halves.as_ptr()) })
}

/// Removes a capability from those that the process could ever get. Fails without the right to do so, or if there is no
/// such capability.
pub(crate) fn never_get(capability: u32) -> io::Result<()> {
    control(libc::PR_CAPBSET_DROP, capability.into())
}

/// No program that is started gets more rights than this process has.
pub(crate) fn no_new_privileges() -> io::Result<()> {
    control(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Runs a filter of system calls before each call of every thread of this process, from now on.
pub(crate) fn filter_calls(filter: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the length is that of the program.
    checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &program,
        )
    })
}
