//! Threads: on processors of their own, and the time that processors work for them.

#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};

/// The processors that the calling thread may run on.
///
/// # Errors
/// When the system does not say.
pub fn allowed_processors() -> io::Result<Vec<usize>> {
    // SAFETY: a set of processors is plain old data for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the kernel writes no more than the size says.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the numbers are below the size of the set.
    let allowed = |processor: &usize| unsafe { libc::CPU_ISSET(*processor, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(allowed).collect())
}

/// Keeps the calling thread on one processor from now on.
///
/// # Errors
/// When there is no such processor, or the thread may not run on it.
pub fn pin_to_processor(processor: usize) -> io::Result<()> {
    if processor >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the number is below the size of the set.
    unsafe { libc::CPU_SET(processor, &mut set) };
    // SAFETY: the kernel reads no more than the size says.
    match unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends a signal to a process.
///
/// # Errors
/// When there is no such process, or it belongs to another user.
pub fn signal(process: u32, signal: i32) -> io::Result<()> {
    let process = i32::try_from(process).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    if process == 0 {
        // That would be every process of the group.
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: numbers are given.
    match unsafe { libc::kill(process, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Nanoseconds that a processor has worked for the calling thread: it stands still while the thread does not run.
pub fn thread_time_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a valid timespec, which the call fills.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "Linux has this clock since 2.6.12");
    (time.tv_sec as u64).saturating_mul(1_000_000_000) + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_stays_where_it_is() {
        let processors = allowed_processors().expect("the system says");
        let last = *processors.last().expect("at least one");
        let pinned = std::thread::spawn(move || {
            pin_to_processor(last).expect("it is allowed");
            allowed_processors().expect("the system says")
        });
        assert_eq!(pinned.join().expect("no panic"), [last]);
        assert!(pin_to_processor(usize::MAX).is_err());
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_time() {
        let before = thread_time_ns();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let slept = thread_time_ns() - before;
        assert!(slept < 100_000_000, "{slept}");
    }
}
