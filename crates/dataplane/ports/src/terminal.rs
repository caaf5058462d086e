//! Whether a person is looking at what is written.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd};

/// Whether this process is in the foreground of the terminal: not one that a shell has started with `&`, behind its
/// prompt. A file or a pipe has no foreground.
pub fn is_foreground(terminal: &impl AsFd) -> bool {
    let descriptor = terminal.as_fd().as_raw_fd();
    // SAFETY: the descriptor is open as long as it is borrowed; the calls change nothing.
    let (front, own) = unsafe { (libc::tcgetpgrp(descriptor), libc::getpgrp()) };
    front == own
}

/// Keys of a terminal as they are pressed, without the return key and without an echo, until it is dropped. Ctrl-C and
/// ctrl-Z remain signals.
pub struct Keys<T: AsFd> {
    terminal: T,
    /// How the terminal was, and how it is for keys.
    modes: (libc::termios, libc::termios),
}

impl<T: AsFd> Keys<T> {
    /// None when it is no terminal, or this process is not in its foreground.
    pub fn open(terminal: T) -> Option<Keys<T>> {
        if !is_foreground(&terminal) {
            return None;
        }
        // SAFETY: all zeros is a value of the structure, which the call fills; the descriptor is open as long as it is
        // borrowed.
        let before = unsafe {
            let mut before: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(terminal.as_fd().as_raw_fd(), &raw mut before) == 0).then_some(before)
        }?;
        let mut mode = before;
        mode.c_lflag &= !(libc::ICANON | libc::ECHO);
        mode.c_cc[libc::VMIN] = 0;
        mode.c_cc[libc::VTIME] = 0;
        let keys = Keys {
            terminal,
            modes: (before, mode),
        };
        keys.set(&keys.modes.1).then_some(keys)
    }

    /// The next key that has been pressed; none when there is none, or another process is in the foreground.
    pub fn next(&self) -> Option<u8> {
        let descriptor = self.terminal.as_fd().as_raw_fd();
        let mut key = 0u8;
        // SAFETY: one byte is read into one byte. A process in the background must not read, for that stops it.
        let read = is_foreground(&self.terminal) && unsafe { libc::read(descriptor, (&raw mut key).cast(), 1) } == 1;
        read.then_some(key)
    }

    /// Sets the mode again: a shell in whose background the process was has set its own.
    pub fn resume(&self) {
        if is_foreground(&self.terminal) {
            self.set(&self.modes.1);
        }
    }

    fn set(&self, mode: &libc::termios) -> bool {
        // SAFETY: the call reads the structure; the descriptor is open as long as it is borrowed.
        unsafe { libc::tcsetattr(self.terminal.as_fd().as_raw_fd(), libc::TCSADRAIN, mode) == 0 }
    }
}

impl<T: AsFd> Drop for Keys<T> {
    fn drop(&mut self) {
        if is_foreground(&self.terminal) {
            self.set(&self.modes.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_foreground() {
        let file = std::fs::File::open("/dev/null").expect("it is always there");
        assert!(!is_foreground(&file));
        assert!(Keys::open(&file).is_none());
    }
}
