//! Whether a person is looking at what is written.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

/// Whether this process is in the foreground of the terminal: not one that a shell has started with `&`, behind its prompt. A file or a
/// pipe has no foreground.
pub fn is_foreground(terminal: &impl AsFd) -> bool {
    let descriptor = terminal.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open as long as it is borrowed; the calls change nothing.
    let (front, own) = unsafe { (libc::tcgetpgrp(descriptor), libc::getpgrp()) };
    front == own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_foreground() {
        let file = std::fs::File::open("/dev/null").expect("it is always there");
        assert!(!is_foreground(&file));
    }
}
