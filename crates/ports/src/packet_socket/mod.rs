//! A port over an existing interface: an AF_PACKET raw socket (`man 7 packet`).
//!
//! The socket gives every frame that comes in by the interface, for whichever address, and none
//! that goes out by it. Bursts go through `recvmmsg` and `sendmmsg`. What the kernel left undone
//! for a network card is done here ([`crate::offload`]): checksums are completed, VLAN tags
//! put back, super-frames cut.
//!
//! The interface stays in the hands of the kernel too: an address on it makes the kernel answer
//! beside the switch. Give interfaces of a switch no addresses.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use forebay_packet::{Burst, DropReason, Packet, Pool, Port, PortCounters, PortError, PortState, Readiness};

use crate::OpenError;
use crate::interfaces::Interface;
use crate::offload::{self, Offload, segment};
use crate::system::messages::{self, BATCH, ReceiveSlot, ReceivedMessage};
use crate::system::{self, OFFLOAD_HEADER};

const ETHERNET_HEADER: usize = 14;

/// Room behind each receive buffer for super-frames and jumbo frames, in bytes.
const OVERFLOW: usize = 65_536;

/// What is asked of the kernel for each direction's socket buffer, in bytes: some tens of
/// thousands of small frames, so that a pause of the switch of some milliseconds loses nothing.
const SOCKET_BUFFER: i32 = 32 << 20;

/// A port over an existing interface.
pub struct PacketPort {
    interface: Interface,
    socket: OwnedFd,
    state: PortState,
    counters: PortCounters,
    kernel_drops: Cell<u64>,
    /// Buffers that `recvmmsg` writes into.
    buffers: Vec<Packet>,
    offload_headers: Vec<[u8; OFFLOAD_HEADER]>,
    overflow: Vec<u8>,
    messages: [ReceivedMessage; BATCH],
    /// Finished frames, not yet taken by the switch: a super-frame makes more than fit in a burst.
    ready: VecDeque<Packet>,
    spares: Pool,
}

impl PacketPort {
    /// Opens the interface called `name`.
    ///
    /// # Errors
    /// When there is none, it is not an Ethernet interface, or the process has not CAP_NET_RAW.
    pub fn open(name: &str) -> Result<PacketPort, OpenError> {
        let system_error = |cause| {
            let action = format!("open a packet socket on `{name}`");
            OpenError::from_system(action, "CAP_NET_RAW", cause)
        };
        let interface = Interface::find(name)?;
        let socket = system::socket(libc::AF_PACKET, libc::SOCK_RAW).map_err(system_error)?;
        configure(&socket, interface.index).map_err(system_error)?;
        let mut port = PacketPort {
            interface,
            socket,
            state: PortState::Up,
            counters: PortCounters::default(),
            kernel_drops: Cell::new(0),
            buffers: std::iter::repeat_with(Packet::new).take(BATCH).collect(),
            offload_headers: vec![[0; OFFLOAD_HEADER]; BATCH],
            overflow: vec![0; BATCH * OVERFLOW],
            messages: [ReceivedMessage::default(); BATCH],
            ready: VecDeque::with_capacity(2 * BATCH),
            spares: Pool::new(4 * BATCH),
        };
        port.look_at_interface();
        Ok(port)
    }

    /// Finds out whether the interface is up, down or gone.
    fn look_at_interface(&mut self) {
        self.state = self.interface.state();
    }

    /// The error of a port whose interface is gone.
    fn check_present(&self) -> Result<(), PortError> {
        match self.state {
            PortState::Gone => Err(PortError::Gone {
                port: self.interface.name.clone(),
                detail: "the interface was deleted or moved to another network namespace".to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Takes a batch from the kernel and puts its frames, finished, into `ready`.
    fn fill(&mut self) -> Result<(), PortError> {
        if self.state == PortState::Down {
            self.look_at_interface();
        }
        self.check_present()?;
        let count = match self.receive_messages() {
            Ok(count) => count,
            Err(error) => return self.receive_failed(&error),
        };
        for index in 0..count {
            self.finish(index);
        }
        Ok(())
    }

    fn receive_messages(&mut self) -> io::Result<usize> {
        let buffers = self.buffers.iter_mut().zip(self.offload_headers.iter_mut());
        let slots = buffers
            .zip(self.overflow.chunks_exact_mut(OVERFLOW))
            .map(|((packet, offload), overflow)| {
                packet.reset();
                ReceiveSlot {
                    offload,
                    frame: packet.receive_room(),
                    overflow,
                }
            });
        messages::receive_batch(self.socket.as_fd(), slots, &mut self.messages)
    }

    /// Sorts out why nothing could be received: mostly because nothing is there.
    fn receive_failed(&mut self, error: &io::Error) -> Result<(), PortError> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => {
                self.look_at_interface();
                self.check_present()
            }
            _ => Err(PortError::Failed {
                port: self.interface.name.clone(),
                operation: "receive",
                detail: error.to_string(),
            }),
        }
    }

    /// Finishes the frame in buffer `index`: into `ready`, or dropped and counted.
    fn finish(&mut self, index: usize) {
        let message = self.messages[index];
        if message.outgoing {
            return;
        }
        let length = message.length.saturating_sub(OFFLOAD_HEADER);
        let packet = &mut self.buffers[index];
        let room = packet.receive_room().len();
        packet.set_received(length);
        if length > room {
            let overflow = &self.overflow[index * OVERFLOW..];
            packet.append(&overflow[..(length - room).min(OVERFLOW)]);
        }
        let result = if message.truncated {
            Err(DropReason::Truncated)
        } else if length < ETHERNET_HEADER {
            Err(DropReason::TooShort)
        } else {
            self.complete(index)
        };
        if let Err(reason) = result {
            self.counters.count_drops(reason, 1);
        }
    }

    /// Does what was left to a network card, and moves the frame or its segments to `ready`.
    fn complete(&mut self, index: usize) -> Result<(), DropReason> {
        let offload = Offload::parse(&self.offload_headers[index]);
        let packet = &mut self.buffers[index];
        let first_new = self.ready.len();
        if let Some(segmentation) = offload.segmentation {
            let plan = segment::Plan::new(packet.data(), segmentation).ok_or(DropReason::Unsegmentable)?;
            for number in 0..plan.count() {
                let mut segment = self.spares.take();
                plan.write(packet.data(), number, &mut segment);
                self.ready.push_back(segment);
            }
        } else {
            if let Some((start, offset)) = offload.checksum
                && !offload::complete_checksum(packet.data_mut(), start, offset)
            {
                return Err(DropReason::Truncated);
            }
            self.ready.push_back(std::mem::replace(packet, self.spares.take()));
        }
        if let Some((protocol, control)) = self.messages[index].vlan {
            for packet in self.ready.range_mut(first_new..) {
                offload::insert_vlan_tag(packet, protocol, control);
                packet.original_length = packet.len() as u32;
            }
        }
        Ok(())
    }

    /// Moves finished frames to the switch.
    fn deliver(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> usize {
        let count = max.min(burst.room()).min(self.ready.len());
        for mut packet in self.ready.drain(..count) {
            packet.timestamp_ns = now_ns;
            self.counters.count_received(packet.len());
            let accepted = burst.push_exchange(&mut packet);
            debug_assert!(accepted, "the count was bounded by the burst's room");
            self.spares.give(packet);
        }
        count
    }

    /// Sends frames one after another, skipping those that the kernel refuses.
    fn send_all(&mut self, packets: &[Packet]) -> usize {
        let mut accepted = 0;
        let mut next = 0;
        while next < packets.len() && self.state != PortState::Gone {
            let batch = &packets[next..packets.len().min(next + BATCH)];
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            for (frame, packet) in frames.iter_mut().zip(batch) {
                *frame = packet.data();
            }
            match messages::send_batch(self.socket.as_fd(), &frames[..batch.len()]) {
                Ok(sent) => {
                    for packet in &batch[..sent] {
                        self.counters.count_sent(packet.len());
                    }
                    accepted += sent;
                    next += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.refused(&batch[0], &error);
                    next += 1;
                }
            }
        }
        self.counters
            .count_drops(DropReason::LinkDown, (packets.len() - next) as u64);
        accepted
    }

    /// Counts a frame that the kernel did not take.
    fn refused(&mut self, packet: &Packet, error: &io::Error) {
        let reason = match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS) => DropReason::QueueFull,
            Some(libc::EMSGSIZE) => DropReason::TooLong,
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => {
                self.look_at_interface();
                DropReason::LinkDown
            }
            _ if packet.len() < ETHERNET_HEADER => DropReason::TooShort,
            _ => DropReason::SendRefused,
        };
        self.counters.count_drops(reason, 1);
    }
}

/// Sets the options, and binds last: an unbound socket of protocol 0 receives nothing, so no
/// frame of another interface slips in.
fn configure(socket: &OwnedFd, interface_index: i32) -> io::Result<()> {
    let socket = socket.as_fd();
    messages::set_packet_option(socket, libc::PACKET_VNET_HDR, 1)?;
    messages::set_packet_option(socket, libc::PACKET_AUXDATA, 1)?;
    // Since Linux 4.20; on older kernels `finish` drops outgoing frames by their type.
    let _ = messages::set_packet_option(socket, libc::PACKET_IGNORE_OUTGOING, 1);
    messages::set_buffers(socket, SOCKET_BUFFER);
    messages::set_promiscuous(socket, interface_index)?;
    messages::bind_to_interface(socket, interface_index)
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let result = if self.ready.is_empty() { self.fill() } else { Ok(()) };
        let count = self.deliver(burst, max, now_ns);
        result.map(|()| count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let accepted = self.send_all(burst.as_slice());
        burst.clear();
        self.check_present().map(|()| accepted)
    }

    fn counters(&self) -> PortCounters {
        // The kernel's count starts again at every look.
        let new_drops = messages::take_kernel_drops(self.socket.as_fd()).unwrap_or(0);
        self.kernel_drops.set(self.kernel_drops.get() + u64::from(new_drops));
        let mut counters = self.counters;
        counters.count_drops(DropReason::ReceiveQueueFull, self.kernel_drops.get());
        counters
    }

    fn state(&self) -> PortState {
        self.state
    }

    fn readiness(&self) -> Readiness {
        if !self.ready.is_empty() {
            Readiness::Now
        } else if self.state == PortState::Gone {
            Readiness::Never
        } else {
            Readiness::Descriptor(self.socket.as_raw_fd())
        }
    }
}
