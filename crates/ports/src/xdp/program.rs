//! The program that an interface runs on every frame to give it to an AF_XDP socket.
//!
//! ```text
//!   r2 = context->rx_queue_index          the queue by which the frame came
//!   r1 = sockets                          the map from queues to sockets
//!   r3 = XDP_PASS                         what to do when the map has no socket for the queue
//!   return bpf_redirect_map(r1, r2, r3)
//! ```
//!
//! It is five instructions and thus written as such: no compiler for the kernel's virtual machine is needed. The kernel
//! verifies it when it is loaded. The attachment is a *link* (Linux 5.9): it is undone when its descriptor is closed, also
//! by the end of a process that was killed, so that nothing stays behind on the interface.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use crate::interfaces::Interface;
use crate::system::bpf::{self, Attachment, Instruction};
use crate::system::xdp::XdpSocket;

/// The kernel asks for the licence of what runs inside it; only programs that use some of its functions must name the
/// GPL.
const LICENSE: &CStr = c"Apache-2.0";

/// Offset of the queue number in `struct xdp_md`.
const QUEUE_INDEX: i16 = 16;

/// The action that leaves a frame to the kernel's stack.
const XDP_PASS: i32 = 2;

/// The number of the helper function `bpf_redirect_map`.
const REDIRECT_MAP: i32 = 51;

/// A program that is attached to an interface, as long as this lives. It keeps its map of sockets.
pub(super) struct Redirect {
    _link: OwnedFd,
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
        let instructions = instructions(map.as_raw_fd());
        // Frames in several pieces come since Linux 5.18; without them, long frames are refused when attaching.
        let program =
            bpf::load_xdp(&instructions, LICENSE, true).or_else(|_| bpf::load_xdp(&instructions, LICENSE, false))?;
        let link = bpf::attach_xdp(program.as_fd(), interface.index as u32, how)?;
        Ok(Redirect { _link: link })
    }
}

/// The program, for a map with this descriptor.
fn instructions(map: RawFd) -> [Instruction; 6] {
    let instruction = |opcode, registers, offset, immediate| Instruction {
        opcode,
        registers,
        offset,
        immediate,
    };
    [
        // r2 = *(u32 *)(r1 + QUEUE_INDEX)
        instruction(0x61, 0x12, QUEUE_INDEX, 0),
        // r1 = map, a load of 64 bits in two slots; source register 1 says that the value is a map's descriptor
        instruction(0x18, 0x11, 0, map),
        instruction(0x00, 0x00, 0, 0),
        // r3 = XDP_PASS
        instruction(0xb7, 0x03, 0, XDP_PASS),
        // call bpf_redirect_map
        instruction(0x85, 0x00, 0, REDIRECT_MAP),
        // return r0
        instruction(0x95, 0x00, 0, 0),
    ]
}
