//! The system calls that the standard library does not have.
#![allow(unsafe_code)]

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Requests a receive buffer of `bytes` bytes: beyond the administrator's limit if the process is privileged, otherwise
/// up to it.
pub(crate) fn enlarge_receive_buffer(socket: &UdpSocket, bytes: i32) {
    let _ = set_buffer(socket, libc::SO_RCVBUFFORCE, bytes).or_else(|_| set_buffer(socket, libc::SO_RCVBUF, bytes));
}

fn set_buffer(socket: &UdpSocket, option: i32, bytes: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value is an int of the length that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Asks a process of ours, which has not been waited for, to end.
pub(crate) fn terminate(process: u32) {
    // SAFETY: sends a signal; touches no memory.
    unsafe {
        libc::kill(process as libc::pid_t, libc::SIGTERM);
    }
}

/// Whether the process has the rights of root.
pub(crate) fn is_root() -> bool {
    // SAFETY: reads a number of this process.
    unsafe { libc::geteuid() == 0 }
}
