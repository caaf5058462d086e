//! The program that an interface runs on every frame to give it to an AF_XDP socket.
//!
//! ```text
//!   if the frame's VLAN tag stands beside it (bpf_xdp_metadata_rx_vlan_tag):      only where the driver can tell
//!       put it after the addresses, where it belongs
//!   return bpf_redirect_map(sockets, context->rx_queue_index, XDP_PASS)
//! ```
//!
//! `sockets` is a map from queues to sockets; XDP_PASS leaves frames of queues without a socket to the kernel. The
//! program is short and thus written as instructions: no compiler for the kernel's virtual machine (RFC 9669) is
//! needed. The kernel verifies it when it is loaded. The attachment is a *link* (Linux 5.9): it is undone when its
//! descriptor is closed, also by the end of a process that was killed, so that nothing stays behind on the interface.
//!
//! The tag: a VLAN interface at the other end of a veth pair, and a network card that takes tags out, leave the tag
//! beside the frame. Linux 6.8 and later can tell it to programs that are bound to their interface. Elsewhere it is
//! lost.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use crate::interfaces::Interface;
use crate::system;
use crate::system::bpf::{self, Attachment, Demands, Instruction};
use crate::system::btf;
use crate::system::messages;
use crate::system::xdp::XdpSocket;

/// What the program tells the kernel of its licence. The function for tags may only be called by programs that may also
/// be used under the GPL, which these instructions may.
const LICENSE: &CStr = c"Dual MIT/GPL";

/// The function that tells a tag.
const TELL_TAG: &str = "bpf_xdp_metadata_rx_vlan_tag";

/// Numbers of helper functions.
const ADJUST_HEAD: i32 = 44;
const REDIRECT_MAP: i32 = 51;

/// What becomes of a frame.
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;

/// Offsets of fields in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE_INDEX: i16 = 16;

/// Registers. R0 has results, R1 to R3 arguments, which calls destroy; FRAME_POINTER is the end of the stack.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const CONTEXT: u8 = 6;
const FRAME_POINTER: u8 = 10;

/// Places on the stack: the tag's protocol identifier in network order, and its control information.
const PROTOCOL_AT: i16 = -8;
const CONTROL_AT: i16 = -6;

/// A program that is attached to an interface, as long as this lives. It keeps its map of sockets.
pub(super) struct Redirect {
    _link: OwnedFd,
    /// Keeps the interface delivering frames for addresses other than its own, which a switch forwards.
    _promiscuous: OwnedFd,
}

impl Redirect {
    /// Attaches the program, for an interface with `queues` queues, with these sockets in its map.
    pub(super) fn attach<'a>(
        interface: &Interface,
        queues: u32,
        sockets: impl IntoIterator<Item = (u32, &'a XdpSocket)>,
        how: Attachment,
    ) -> io::Result<Redirect> {
        let map = bpf::create_socket_map(queues)?;
        for (queue, socket) in sockets {
            bpf::set_socket(map.as_fd(), queue, socket.descriptor())?;
        }
        Ok(Redirect {
            _promiscuous: promiscuous(interface.index)?,
            _link: attach_program(map, interface.index as u32, how)?,
        })
    }
}

/// The number of the function that tells a tag. It is looked for once, since all of the kernel's types are read for it.
fn number_of_tell_tag() -> Option<i32> {
    static NUMBER: OnceLock<Option<i32>> = OnceLock::new();
    *NUMBER.get_or_init(|| btf::function_number(TELL_TAG))
}

/// Loads the best program that the driver takes, and attaches it.
fn attach_program(map: OwnedFd, index: u32, how: Attachment) -> io::Result<OwnedFd> {
    let attach = |program: OwnedFd| bpf::attach_xdp(program.as_fd(), index, how);
    if how == Attachment::Native
        && let Some(tell_tag) = number_of_tell_tag()
    {
        let demands = Demands {
            fragments: true,
            driver_of: Some(index),
        };
        let instructions = [&put_tag_back(tell_tag)[..], &redirect(map.as_raw_fd()), &DROP].concat();
        // A driver that runs programs may not let them be bound to it.
        if let Ok(program) = bpf::load_xdp(&instructions, LICENSE, demands) {
            return attach(program);
        }
    }
    let instructions = [&[copy(CONTEXT, R1)], &redirect(map.as_raw_fd())[..]].concat();
    // Frames in several pieces come since Linux 5.18; without them, long frames are refused when attaching.
    let load = |fragments| {
        let demands = Demands {
            fragments,
            driver_of: None,
        };
        bpf::load_xdp(&instructions, LICENSE, demands)
    };
    attach(load(true).or_else(|_| load(false))?)
}

/// A packet socket that receives nothing, and by which the interface delivers all frames as long as it is open.
fn promiscuous(index: i32) -> io::Result<OwnedFd> {
    let socket = system::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    messages::set_promiscuous(socket.as_fd(), index)?;
    Ok(socket)
}

/// Instructions of [`put_tag_back`] and of [`redirect`].
const TAG_LENGTH: i16 = 29;
const REDIRECT_LENGTH: i16 = 6;

/// The offset of a jump from an instruction of [`put_tag_back`] to [`redirect`].
const fn to_redirect(from: i16) -> i16 {
    TAG_LENGTH - from - 1
}

/// The offset of a jump from an instruction of [`put_tag_back`] to [`DROP`].
const fn to_drop(from: i16) -> i16 {
    TAG_LENGTH + REDIRECT_LENGTH - from - 1
}

/// Puts a tag that stands beside the frame into it, and goes on after the last of these instructions.
fn put_tag_back(tell_tag: i32) -> [Instruction; TAG_LENGTH as usize] {
    [
        copy(CONTEXT, R1),
        // The tag's place on the stack is readable before the function writes it.
        store_zero(PROTOCOL_AT),
        // r0 = tell_tag(context, &protocol, &control); without a tag go on after it
        copy(R1, CONTEXT),
        copy(R2, FRAME_POINTER),
        add(R2, PROTOCOL_AT.into()),
        copy(R3, FRAME_POINTER),
        add(R3, CONTROL_AT.into()),
        call_kernel(tell_tag),
        jump_unless_zero(R0, to_redirect(8)),
        // r0 = adjust_head(context, -4)
        copy(R1, CONTEXT),
        set(R2, -4),
        call(ADJUST_HEAD),
        jump_unless_zero(R0, to_drop(12)),
        // r1 = data; data + 18 must not be beyond data_end
        load_word(R1, CONTEXT, DATA),
        load_word(R2, CONTEXT, DATA_END),
        copy(R3, R1),
        add(R3, 18),
        jump_if_greater(R3, R2, to_drop(17)),
        // The addresses, four bytes to the front.
        load_word(R3, R1, 4),
        store_word(R1, 0, R3),
        load_word(R3, R1, 8),
        store_word(R1, 4, R3),
        load_word(R3, R1, 12),
        store_word(R1, 8, R3),
        // The tag after them, in network order.
        load_half(R3, FRAME_POINTER, PROTOCOL_AT),
        store_half(R1, 12, R3),
        load_half(R3, FRAME_POINTER, CONTROL_AT),
        to_network_order(R3),
        store_half(R1, 14, R3),
    ]
}

/// Gives the frame to the socket of its queue, for a map with this descriptor.
fn redirect(map: RawFd) -> [Instruction; REDIRECT_LENGTH as usize] {
    [
        load_word(R2, CONTEXT, QUEUE_INDEX),
        // A load of 64 bits in two slots; source register 1 says that the value is a map's descriptor.
        instruction(0x18, R1, 1, 0, map),
        instruction(0x00, 0, 0, 0, 0),
        set(R3, XDP_PASS),
        call(REDIRECT_MAP),
        exit(),
    ]
}

/// Drops the frame. The kernel refuses a program that never comes here.
const DROP: [Instruction; 2] = [set(R0, XDP_DROP), exit()];

const fn instruction(opcode: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        opcode,
        registers: destination | source << 4,
        offset,
        immediate,
    }
}

const fn copy(to: u8, from: u8) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, to, 0, 0, value)
}

const fn add(to: u8, value: i32) -> Instruction {
    instruction(0x07, to, 0, 0, value)
}

const fn to_network_order(half: u8) -> Instruction {
    instruction(0xdc, half, 0, 0, 16)
}

const fn load_word(to: u8, pointer: u8, offset: i16) -> Instruction {
    instruction(0x61, to, pointer, offset, 0)
}

const fn load_half(to: u8, pointer: u8, offset: i16) -> Instruction {
    instruction(0x69, to, pointer, offset, 0)
}

const fn store_word(pointer: u8, offset: i16, from: u8) -> Instruction {
    instruction(0x63, pointer, from, offset, 0)
}

const fn store_half(pointer: u8, offset: i16, from: u8) -> Instruction {
    instruction(0x6b, pointer, from, offset, 0)
}

/// Eight bytes of the stack.
const fn store_zero(offset: i16) -> Instruction {
    instruction(0x7a, FRAME_POINTER, 0, offset, 0)
}

const fn jump_unless_zero(register: u8, instructions: i16) -> Instruction {
    instruction(0x55, register, 0, instructions, 0)
}

const fn jump_if_greater(left: u8, right: u8, instructions: i16) -> Instruction {
    instruction(0x2d, left, right, instructions, 0)
}

const fn call(helper: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, helper)
}

/// Source register 2 says that the number is that of a function of the kernel.
const fn call_kernel(function: i32) -> Instruction {
    instruction(0x85, 0, 2, 0, function)
}

const fn exit() -> Instruction {
    instruction(0x95, 0, 0, 0, 0)
}
