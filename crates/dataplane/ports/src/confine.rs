//! Drops the privileges that a switch does not need once its sockets are open.
//!
//! * **Its user**, if another is named.
//! * **Capabilities**, but for those by which interfaces are opened again after they have vanished. They are gone for
//!   good: no program that the process could start would have them either.
//! * **System calls** that a switch never makes, but an attacker that controls it would: starting programs, tracing
//!   processes, mounting, loading modules, changing the clock. They fail with `EPERM`. Memory may still be made
//!   executable, because machine code needs it.
//!
//! Called before there are other threads, since capabilities are each thread's own.

use crate::system::privileges;
use libc::{c_long, sock_filter};
use std::ffi::CString;
use std::{fmt, io};

/// Capabilities that opening an interface needs: `CAP_NET_ADMIN`, `CAP_NET_RAW`, `CAP_IPC_LOCK` (the memory of AF_XDP)
/// and `CAP_BPF`.
const KEPT: [u32; 4] = [12, 13, 14, 39];

/// Numbers of capabilities are below this.
const CAPABILITIES_END: u32 = 64;

/// Calls that are refused.
const REFUSED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
];

/// The kernel's name for the machine that calls are of.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<u32> = None;

/// Calls of another kind on the same machine have this bit in their number.
const OTHER_KIND: u32 = 0x4000_0000;

/// Why something could not be given up.
#[derive(Debug)]
pub struct ConfineError {
    what: String,
    cause: io::Error,
}

impl fmt::Display for ConfineError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.what, self.cause)
    }
}

impl std::error::Error for ConfineError {}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> ConfineError {
    let what = what.into();
    move |cause| ConfineError { what, cause }
}

/// Drops privileges: see the module. `user` is the name of another user to become; with `in_sandbox`, capabilities and
/// system calls are dropped.
///
/// # Errors
/// If there is no such user, or a system call fails; some privileges may have been dropped then.
pub fn confine(user: Option<&str>, in_sandbox: bool) -> Result<(), ConfineError> {
    if in_sandbox {
        let others = (0..CAPABILITIES_END).filter(|capability| !KEPT.contains(capability));
        // Errors are ignored: a process without the right to do this has no capabilities, and the kernel does not use
        // all numbers.
        others.for_each(|capability| drop(privileges::never_get(capability)));
    }
    if let Some(name) = user {
        become_user(name)?;
    }
    if !in_sandbox {
        // The system takes them out of effect when a process becomes that of another user.
        return match user {
            Some(_) => privileges::raise_capabilities().map_err(failed("cannot keep the capabilities")),
            None => Ok(()),
        };
    }
    let kept = KEPT.iter().fold(0, |kept, capability| kept | 1 << capability);
    privileges::keep_capabilities(kept).map_err(failed("cannot give capabilities up"))?;
    privileges::no_new_privileges().map_err(failed("cannot give up new privileges"))?;
    match MACHINE {
        Some(machine) => privileges::filter_calls(&mut filter(machine)).map_err(failed("cannot filter system calls")),
        None => Ok(()),
    }
}

/// Makes the capabilities effective that this process may have: those of the executable's file, when they are permitted
/// only.
///
/// # Errors
/// When the system refuses.
pub fn take_capabilities() -> Result<(), ConfineError> {
    privileges::raise_capabilities().map_err(failed("cannot take the capabilities of the executable"))
}

/// The numbers of a user and of the user's group, by name; none when there is no such user.
///
/// # Errors
/// When the system cannot look.
pub fn user_ids(name: &str) -> io::Result<Option<(u32, u32)>> {
    let name = CString::new(name)?;
    let found = privileges::user_by_name(&name)?;
    Ok(found.map(|ids| (ids.user, ids.group)))
}

fn become_user(name: &str) -> Result<(), ConfineError> {
    let unknown = || io::Error::other("neither /etc/passwd nor another database names it");
    let text = CString::new(name).map_err(|_| failed(format!("there is no user `{name}`"))(unknown()))?;
    let ids = privileges::user_by_name(&text).map_err(failed(format!("cannot look for the user `{name}`")))?;
    let ids = ids.ok_or_else(|| failed(format!("there is no user `{name}`"))(unknown()))?;
    privileges::become_user(ids).map_err(failed(format!("cannot become the user `{name}`")))
}

/// A program of the kernel's packet filter, which looks at the number of a call and its machine.
fn filter(machine: u32) -> Vec<sock_filter> {
    const NUMBER: u32 = 0;
    const OF_MACHINE: u32 = 4;
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let jump = |kind, value, then, otherwise| instruction(libc::BPF_JMP | kind | libc::BPF_K, value, then, otherwise);
    let end = |value| instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0);
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let count = REFUSED.len() as u8;
    let mut program = vec![
        load(OF_MACHINE),
        // To the end that refuses, or on.
        jump(libc::BPF_JEQ, machine, 0, count + 3),
        load(NUMBER),
        jump(libc::BPF_JGE, OTHER_KIND, count + 1, 0),
    ];
    for (index, call) in (0..count).zip(REFUSED) {
        program.push(jump(libc::BPF_JEQ, *call as u32, count - index, 0));
    }
    program.extend([end(libc::SECCOMP_RET_ALLOW), end(refused)]);
    program
}

fn instruction(code: u32, value: u32, then: u8, otherwise: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: then,
        jf: otherwise,
        k: value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict of a filter on a call.
    fn run(program: &[sock_filter], machine: u32, call: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let instruction = &program[at];
            at += 1;
            let jump = |is_true: bool| usize::from(if is_true { instruction.jt } else { instruction.jf });
            match u32::from(instruction.code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    value = if instruction.k == 0 { call } else { machine };
                }
                code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => at += jump(value == instruction.k),
                code if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => at += jump(value >= instruction.k),
                code => {
                    assert_eq!(code, libc::BPF_RET | libc::BPF_K);
                    return instruction.k;
                }
            }
        }
    }

    #[test]
    fn the_filter_refuses_what_it_lists_and_calls_of_other_machines() {
        let program = filter(7);
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        for call in REFUSED {
            assert_eq!(run(&program, 7, *call as u32), refused, "{call}");
        }
        for call in [
            libc::SYS_read,
            libc::SYS_mmap,
            libc::SYS_bpf,
            libc::SYS_socket,
            libc::SYS_mprotect,
        ] {
            assert_eq!(run(&program, 7, call as u32), libc::SECCOMP_RET_ALLOW, "{call}");
        }
        assert_eq!(run(&program, 8, libc::SYS_read as u32), refused);
        assert_eq!(run(&program, 7, OTHER_KIND | libc::SYS_read as u32), refused);
    }
}
