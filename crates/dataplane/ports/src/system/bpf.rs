//! The four commands of `bpf(2)` that put packets from an interface into sockets: make a map of sockets, load a
//! program, attach it, put a socket in the map. Each argument structure is the beginning of the kernel's
//! `union bpf_attr`; what is left out counts as zero.

use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_long, c_uint};

const MAP_CREATE: c_int = 0;
const MAP_UPDATE_ELEMENT: c_int = 2;
const PROGRAM_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;

const MAP_TYPE_SOCKETS: u32 = 17;
const PROGRAM_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;

/// The program takes frames in several pieces (Linux 5.18).
const TAKES_FRAGMENTS: u32 = 1 << 5;

/// The program is for one interface and may ask its driver about frames (Linux 6.3).
const FOR_ONE_INTERFACE: u32 = 1 << 6;

/// An instruction of the kernel's virtual machine (RFC 9669 §3).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// What to do.
    pub(crate) opcode: u8,
    /// Destination register in the low four bits, source register in the high ones.
    pub(crate) registers: u8,
    /// Offset of memory, or of a jump.
    pub(crate) offset: i16,
    /// Immediate value.
    pub(crate) immediate: i32,
}

/// What runs a program that is attached to an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attachment {
    /// The driver, before the kernel makes anything of the frame.
    Native,
    /// The kernel's stack, with any driver.
    Generic,
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
}

#[repr(C)]
struct MapUpdateElement {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface_index: u32,
    expected_attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface_index: u32,
    attach_type: u32,
    flags: u32,
}

/// Runs a command.
///
/// # Safety
/// `T` must be the beginning of the command's part of `union bpf_attr`, and every address in it valid for the call.
unsafe fn bpf<T>(command: c_int, attributes: &T) -> io::Result<c_long> {
    let (pointer, size) = (ptr::from_ref(attributes), size_of::<T>() as c_uint);
    // SAFETY: pointer and size describe `attributes`; the commands used here only read it. The rest is the caller's
    // promise.
    match unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// Runs a command that returns a new descriptor.
///
/// # Safety
/// As for [`bpf`].
unsafe fn bpf_descriptor<T>(command: c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise; the descriptor is new, and has no other owner.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attributes)? as RawFd)) }
}

fn number(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// A map from queue numbers below `queues` to sockets.
pub(crate) fn create_socket_map(queues: u32) -> io::Result<OwnedFd> {
    let attributes = MapCreate {
        map_type: MAP_TYPE_SOCKETS,
        key_size: 4,
        value_size: 4,
        max_entries: queues,
    };
    // SAFETY: the structure is that of the command and holds no addresses.
    unsafe { bpf_descriptor(MAP_CREATE, &attributes) }
}

/// Makes `socket` the one for `queue`. The entry vanishes when the socket is closed.
pub(crate) fn set_socket(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    let value = number(socket);
    let attributes = MapUpdateElement {
        map: number(map),
        padding: 0,
        key: ptr::from_ref(&queue) as u64,
        value: ptr::from_ref(&value) as u64,
        flags: 0,
    };
    // SAFETY: the structure is that of the command; key and value live beyond the call and have the map's sizes.
    unsafe { bpf(MAP_UPDATE_ELEMENT, &attributes) }.map(drop)
}

/// What a program needs of the kernel that loads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demands {
    /// It takes frames in several pieces.
    pub(crate) fragments: bool,
    /// It asks the driver of this interface about frames.
    pub(crate) driver_of: Option<u32>,
}

/// Loads a program for interfaces. The kernel verifies it.
pub(crate) fn load_xdp(instructions: &[Instruction], license: &CStr, demands: Demands) -> io::Result<OwnedFd> {
    let fragments = if demands.fragments { TAKES_FRAGMENTS } else { 0 };
    let driver = if demands.driver_of.is_some() {
        FOR_ONE_INTERFACE
    } else {
        0
    };
    let attributes = ProgramLoad {
        program_type: PROGRAM_TYPE_XDP,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: fragments | driver,
        name: *b"forebay\0\0\0\0\0\0\0\0\0",
        interface_index: demands.driver_of.unwrap_or(0),
        expected_attach_type: ATTACH_TYPE_XDP,
    };
    // SAFETY: the structure is that of the command; instructions and licence live beyond the call, and the count is
    // theirs.
    unsafe { bpf_descriptor(PROGRAM_LOAD, &attributes) }
}

/// Attaches a program to an interface, as long as the returned descriptor is open.
pub(crate) fn attach_xdp(program: BorrowedFd<'_>, interface_index: u32, how: Attachment) -> io::Result<OwnedFd> {
    let attributes = LinkCreate {
        program: number(program),
        interface_index,
        attach_type: ATTACH_TYPE_XDP,
        // XDP_FLAGS_DRV_MODE and XDP_FLAGS_SKB_MODE.
        flags: match how {
            Attachment::Native => 1 << 2,
            Attachment::Generic => 1 << 1,
        },
    };
    // SAFETY: the structure is that of the command and holds no addresses.
    unsafe { bpf_descriptor(LINK_CREATE, &attributes) }
}
