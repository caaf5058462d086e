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

/// The part of `struct sched_attr` that Linux has had from the beginning.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of normal threads: the time slice, in nanoseconds.
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// How long a thread may run before others have their turn. Every thread keeps its share of the processor.
///
/// Where processors are few, a thread that polls without a pause holds up those that serve controllers: one that wakes
/// up on its processor waits until its time slice is over, or until the next tick of the system's clock, 4 ms. Linux
/// lets a thread with a shorter slice interrupt one with a longer slice at once. Waits above 1 ms of a thread that
/// wakes up beside one that polls become 3.5 times rarer (1 % of the wake-ups, on a machine with other work).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSlice {
    /// For threads that poll: longer than the 1.4 to 2.8 ms that Linux gives by itself.
    Long,
    /// For threads that wake up, work for some microseconds, and sleep again: the shortest that there is.
    Short,
    /// What Linux gives by itself: for threads that are started by one of the others.
    System,
}

impl TimeSlice {
    fn nanoseconds(self) -> u64 {
        match self {
            TimeSlice::Long => 4_000_000,
            TimeSlice::Short => 100_000,
            TimeSlice::System => 0,
        }
    }
}

/// Sets the time slice of the calling thread. Linux before 6.12 ignores it; a thread with another scheduling policy
/// than the normal one keeps what it has.
///
/// # Errors
/// When the system refuses it. The thread runs as before.
pub fn set_time_slice(slice: TimeSlice) -> io::Result<()> {
    let size = size_of::<SchedulingAttributes>() as u32;
    let mut attributes = SchedulingAttributes::default();
    // SAFETY: the kernel writes no more than the size says.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if read != 0 {
        return Err(io::Error::last_os_error());
    }
    if attributes.policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    attributes.size = size;
    attributes.runtime = slice.nanoseconds();
    // SAFETY: the kernel reads no more than the size in the attributes says.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives the calling thread the processors of the process, and the time slice of the system. It has inherited those of the
/// thread that has started it: of a worker that is kept on one processor. What it does for that worker, such as
/// compiling, is then done beside the packets, on any processor that is free.
///
/// Its niceness is that of the process. Measured with a program that takes 0.7 s to compile, on a processor that both
/// share: with 70,000 packets a second a worker waits 0.07 ms on average for each turn meanwhile, and a thread that is
/// nicer by 5 (by 10) makes that 0.03 (0.01) ms. But with more packets than it carries, those wait 4 (10) s for the
/// faster code in place of 1.1.
///
/// What the system refuses stays as it is.
pub fn run_beside_workers() {
    // SAFETY: the call has no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: a set of processors is plain old data for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // The thread with the number of the process is the first one.
    // SAFETY: the kernel writes no more than the size says.
    if unsafe { libc::sched_getaffinity(process, size_of::<libc::cpu_set_t>(), &raw mut set) } == 0 {
        // SAFETY: the kernel reads no more than the size says.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    }
    let _ = set_time_slice(TimeSlice::System);
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
    fn a_time_slice_changes_neither_policy_nor_niceness() {
        let niceness = || {
            // SAFETY: the call reads a number of the calling thread.
            unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
        };
        let before = niceness();
        for slice in [TimeSlice::Long, TimeSlice::Short, TimeSlice::System] {
            set_time_slice(slice).expect("normal threads may change their slice");
        }
        assert_eq!(niceness(), before);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_OTHER);
    }

    #[test]
    fn a_thread_that_a_worker_has_started_may_leave_its_processor() {
        let processors = allowed_processors().expect("the system says");
        let first = processors[0];
        let worker = std::thread::spawn(move || {
            pin_to_processor(first).expect("it is allowed");
            let compiling = std::thread::spawn(|| {
                let inherited = allowed_processors().expect("the system says");
                run_beside_workers();
                (inherited, allowed_processors().expect("the system says"))
            });
            compiling.join().expect("no panic")
        });
        assert_eq!(worker.join().expect("no panic"), (vec![first], processors));
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_time() {
        let before = thread_time_ns();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let slept = thread_time_ns() - before;
        assert!(slept < 100_000_000, "{slept}");
    }
}
