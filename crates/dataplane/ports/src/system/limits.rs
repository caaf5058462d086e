//! Limits of the process: `man 2 getrlimit`.

use std::io;

use libc::rlimit;

use super::check;

/// Lets the process open as many files as it may. Shells and service managers set a lower limit at first (1,024), for
/// programs that use `select`; an interface takes at least four descriptors.
///
/// # Errors
/// When the system refuses.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the structure.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the kernel reads the structure.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(())
}
