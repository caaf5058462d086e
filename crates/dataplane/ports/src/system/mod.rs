//! Thin safe wrappers of the system calls that the standard library does not have.
//!
//! Every wrapper takes and returns plain values; no pointer outlives the call it is made for, except those into the
//! mappings of [`mapping`], which say why. The structures given to the kernel are plain old data for which all zeroes
//! is a valid value, which is what every `zeroed` rests on.

#![allow(unsafe_code)]

pub(crate) mod bpf;
pub(crate) mod btf;
pub(crate) mod event;
pub(crate) mod interface;
pub(crate) mod limits;
mod mapping;
pub(crate) mod messages;
pub(crate) mod packet_ring;
pub(crate) mod privileges;
mod ringer;
pub(crate) mod shared;
pub(crate) mod unix;
pub(crate) mod xdp;
mod xdp_ring;

use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_void, socklen_t};

/// Length of the header that carries offload information: `struct virtio_net_hdr`.
pub(crate) const OFFLOAD_HEADER: usize = 10;

/// Turns the -1 of a system call into the error it stands for.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A new non-blocking socket, closed in child processes.
pub(crate) fn socket(domain: c_int, kind: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers; the descriptor returned is new, and has no other owner.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, 0))?)) }
}

/// Sets a socket option whose value is of type `T`.
pub(crate) fn set_option<T: Copy>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of_val(value) as socklen_t;
    let pointer = ptr::from_ref(value).cast::<c_void>();
    // SAFETY: the pointer and length describe `value`, which the kernel only reads.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) })?;
    Ok(())
}

/// Takes the pending error of a socket (SO_ERROR), which clears it.
pub(crate) fn take_error(socket: BorrowedFd<'_>) -> io::Result<c_int> {
    let mut error: c_int = 0;
    let mut length = size_of_val(&error) as socklen_t;
    let pointer = ptr::from_mut(&mut error).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `error`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            pointer,
            &mut length,
        )
    })?;
    Ok(error)
}

/// A descriptor to wait for.
#[repr(transparent)]
pub(crate) struct PollDescriptor(libc::pollfd);

impl PollDescriptor {
    /// Waits until `descriptor` is readable or has an error.
    pub(crate) fn readable(descriptor: RawFd) -> PollDescriptor {
        PollDescriptor(libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        })
    }
}

/// Waits for one of `descriptors`, at most `wait_ns`; returns whether one is ready. A signal ends
/// the wait early.
pub(crate) fn poll(descriptors: &mut [PollDescriptor], wait_ns: u64) -> io::Result<bool> {
    // SAFETY: plain old data, see the module.
    let mut timeout: libc::timespec = unsafe { zeroed() };
    timeout.tv_sec = (wait_ns / 1_000_000_000).min(i32::MAX as u64) as libc::time_t;
    timeout.tv_nsec = (wait_ns % 1_000_000_000) as _;
    let pointer = descriptors.as_mut_ptr().cast::<libc::pollfd>();
    let count = descriptors.len() as libc::nfds_t;
    // SAFETY: `PollDescriptor` is transparent over `pollfd`; pointer and count describe the slice.
    match check(unsafe { libc::ppoll(pointer, count, &timeout, ptr::null()) }) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// A descriptor that is readable when one of `descriptors` is, as long as those are open.
pub(crate) fn wait_for_any<'a>(descriptors: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<OwnedFd> {
    // SAFETY: no pointers; the descriptor returned is new, and has no other owner.
    let any = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
    for descriptor in descriptors {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: 0,
        };
        // SAFETY: both descriptors are open; the kernel only reads `event`.
        check(unsafe { libc::epoll_ctl(any.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor.as_raw_fd(), &mut event) })?;
    }
    Ok(any)
}
