//! A port over an existing interface: AF_PACKET raw sockets (`man 7 packet`).
//!
//! ```text
//!   kernel ─► ring of slots ─► packets          receive: copied once out of the slot; no system call
//!   kernel ◄───── sendmmsg ◄── packets          send: copied once by the kernel; a system call for a batch
//!   kernel ◄────── sendmsg ◄── TCP segments     send to a veth pair: joined to a super-frame
//! ```
//!
//! One socket receives, another sends, past the queueing discipline and past sniffers. The first gives every frame that
//! comes in by the interface, for whichever address, and none that goes out by it. A *shared* port has one socket for
//! both, without these short cuts: sniffers see what it sends, and what other programs send by the interface comes in,
//! as with libpcap, by which BMv2 opens interfaces. What it sends goes through the queueing discipline; little of it
//! waits there, since programs see only the queues of the switch. What the kernel left undone for a network card is
//! done here ([`crate::offload`]): checksums are completed, VLAN tags put back, super-frames cut.
//!
//! A veth pair takes super-frames too, so that TCP between two machines on this one is not cut for good: what was cut
//! on the way in is joined on the way out ([`crate::offload::join`]).
//!
//! There is no ring for sending (PACKET_TX_RING): the kernel would put the slots' memory itself into the frames and
//! give a slot back when a veth pair hands the frame on, while the receiver still reads from it.
//!
//! The interface stays in the hands of the kernel too: an address on it makes the kernel answer
//! beside the switch. Give interfaces of a switch no addresses.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use forebay_packet::{Burst, DropReason, FRAME_BYTES_MAX, Packet, Port, PortCounters, PortError, PortState, Readiness};

use crate::OpenError;
use crate::interfaces::{Interface, Watch};
use crate::offload::join::{Joined, SEGMENTS_MAX};
use crate::offload::segments::Segments;
use crate::offload::{self, Offload};
use crate::system::messages::{self, BATCH, Group, PARTS, Receives};
use crate::system::packet_ring::{self, ReceiveRing, Slot};
use crate::system::{self, OFFLOAD_HEADER};

const ETHERNET_HEADER: usize = 14;

/// Room for a frame that does not fit in a slot: an offload header and a super-frame or jumbo frame, in bytes.
const LARGEST: usize = OFFLOAD_HEADER + 65_536 + 64;

/// Slots of the ring: a pause of the switch of some milliseconds loses nothing.
const SLOTS: usize = 8192;

/// Slots of a shared port's ring, which takes 4 MiB of the kernel's memory: emulated networks have hundreds of such ports
/// on one machine, with little traffic each.
const SHARED_SLOTS: usize = 2048;

/// Slots that are looked at in one call: frames that are dropped, or are the switch's own, fill no burst, and a flood of
/// them must not keep the worker from its other ports.
const LOOKS_MAX: usize = 1024;

/// Bytes of a slot: a full Ethernet frame with tags, and what stands before it. Longer frames come another way.
const SLOT_BYTES: usize = 2048;

/// The offload header of a frame that is complete: it leaves no checksum and no cutting to the kernel.
const NO_OFFLOAD: [u8; OFFLOAD_HEADER] = [0; OFFLOAD_HEADER];

/// The driver that takes super-frames of any sort as they are.
const TAKES_SUPER_FRAMES: &str = "veth";

/// What is asked of the kernel for frames that do not fit in slots, and for those being sent, in bytes.
const SOCKET_BUFFER: i32 = 32 << 20;

/// The most memory of frames that a shared port has sent and that wait in the kernel, in bytes: Linux's default for a
/// socket. Beyond it a slow interface (`tc`) fills the queues of the switch, whose depths programs read, as with BMv2.
const WAITING_MAX: usize = 212_992;

/// Memory of a frame in the kernel beside its bytes, at most.
const FRAME_OVERHEAD: usize = 1024;

/// A port over an existing interface.
pub struct PacketPort {
    interface: Interface,
    receiver: OwnedFd,
    ring: ReceiveRing,
    sender: OwnedFd,
    /// Whether what is sent begins with an offload header: where one socket receives and sends.
    sends_headers: bool,
    /// How much of what was sent waited in the kernel at the last look, in bytes of memory. Only shared ports look.
    waiting: Cell<usize>,
    /// Sends super-frames, where the interface takes them.
    super_sender: Option<OwnedFd>,
    /// The longest frame that the interface takes, without a tag, in bytes.
    longest: usize,
    state: PortState,
    counters: PortCounters,
    kernel_drops: Cell<u64>,
    watch: Watch,
    /// A frame that did not fit in its slot.
    large: Vec<u8>,
    segments: Segments,
}

impl PacketPort {
    /// Opens the interface called `name`. A shared one is that of other programs too, as with libpcap: sniffers see
    /// what it sends, and what others send by the interface comes in.
    ///
    /// # Errors
    /// When there is none, it is not an Ethernet interface, or the process has not CAP_NET_RAW.
    pub fn open(name: &str, is_shared: bool) -> Result<PacketPort, OpenError> {
        PacketPort::open_member(name, None, is_shared)
    }

    /// Opens the interface called `name` as `count` ports for as many threads. The kernel gives each its share of what
    /// comes in, by a hash of the flow.
    ///
    /// # Errors
    /// As for [`PacketPort::open`].
    pub fn open_shares(name: &str, count: usize, is_shared: bool) -> Result<Vec<PacketPort>, OpenError> {
        let first = PacketPort::open_member(name, Some(Group::New), is_shared)?;
        let number = messages::group_number(first.receiver.as_fd()).map_err(|cause| socket_error(name, cause))?;
        let mut ports = vec![first];
        for _ in 1..count {
            ports.push(PacketPort::open_member(name, Some(Group::Number(number)), is_shared)?);
        }
        Ok(ports)
    }

    fn open_member(name: &str, group: Option<Group>, is_shared: bool) -> Result<PacketPort, OpenError> {
        let system_error = |cause| socket_error(name, cause);
        let interface = Interface::find(name)?;
        let (receiver, ring) = open_receiver(interface.index, group, is_shared).map_err(system_error)?;
        // The kernel gives a socket what others send, and not what it sends itself, or another one of its group.
        let sender = if is_shared {
            receiver.try_clone()
        } else {
            open_sender(interface.index)
        };
        let sender = sender.map_err(system_error)?;
        let super_sender = match interface.driver() {
            Some(driver) if driver == TAKES_SUPER_FRAMES && is_shared => Some(receiver.try_clone()),
            Some(driver) if driver == TAKES_SUPER_FRAMES => Some(open_super_sender(interface.index)),
            _ => None,
        };
        let super_sender = super_sender.transpose().map_err(system_error)?;
        let mut port = PacketPort {
            interface,
            receiver,
            ring,
            sender,
            sends_headers: is_shared,
            waiting: Cell::new(0),
            super_sender,
            longest: 0,
            state: PortState::Up,
            counters: PortCounters::default(),
            kernel_drops: Cell::new(0),
            watch: Watch::default(),
            large: vec![0; LARGEST],
            segments: Segments::new(),
        };
        port.look_at_interface();
        Ok(port)
    }

    /// Finds out whether the interface is up, down or gone.
    fn look_at_interface(&mut self) {
        // Otherwise waiting for the socket would end at once, again and again.
        let _ = system::take_error(self.receiver.as_fd());
        self.state = if messages::has_interface(self.receiver.as_fd()) {
            self.interface.state()
        } else {
            PortState::Gone
        };
        self.longest = self.interface.mtu() + ETHERNET_HEADER;
    }

    /// Finds out how much of what was sent waits in the kernel. What the kernel does not tell counts as nothing.
    fn look_at_waiting(&self) {
        let waiting = messages::unsent_bytes(self.sender.as_fd());
        self.waiting.set(waiting.unwrap_or(0));
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

    /// Takes a frame out of the ring: into `burst`, or cut into segments, or dropped and counted. False when none is
    /// there. The burst has room.
    fn take(&mut self, burst: &mut Burst, now_ns: u64) -> bool {
        let PacketPort {
            ring,
            receiver,
            sends_headers,
            large,
            segments,
            counters,
            ..
        } = self;
        let Some(slot) = ring.peek() else {
            return false;
        };
        if !slot.outgoing || *sends_headers {
            let frame = whole_frame(&slot, receiver, large);
            let result = frame.and_then(|frame| match Offload::parse(slot.offload).segmentation {
                Some(segmentation) => segments.cut(frame, segmentation, slot.vlan),
                None => finish(frame, &slot, burst, now_ns).map(|length| counters.count_received(length)),
            });
            if let Err(reason) = result {
                counters.count_received_drops(reason, 1);
            }
        }
        ring.release();
        true
    }

    /// Sends frames one after another, skipping those that the kernel refuses.
    fn send_all(&mut self, packets: &[Packet]) -> usize {
        let (mut accepted, mut next) = (0, 0);
        while next < packets.len() && self.state != PortState::Gone {
            let (alone, joined) = self.plan(&packets[next..]);
            let end = next + alone;
            accepted += self.send_singly(&packets[next..end]);
            next = end;
            if let Some(joined) = joined {
                let end = next + joined.segments();
                accepted += self.send_joined(&joined, &packets[next..end]);
                next = end;
            }
        }
        self.counters
            .count_drops(DropReason::LinkDown, (packets.len() - next) as u64);
        accepted
    }

    /// How many of the first packets go as they are, at most a batch, and what follows them joined.
    fn plan(&self, packets: &[Packet]) -> (usize, Option<Joined>) {
        let batch = packets.len().min(BATCH);
        if self.super_sender.is_none() {
            return (batch, None);
        }
        for alone in 0..batch {
            if let Some(joined) = Joined::first_of(&packets[alone..], self.longest) {
                return (alone, Some(joined));
            }
        }
        (batch, None)
    }

    /// Sends segments as a super-frame, or by themselves when the kernel does not take it.
    fn send_joined(&mut self, joined: &Joined, packets: &[Packet]) -> usize {
        let sent = self.super_sender.as_ref().map(|sender| {
            let payloads = packets.iter().map(|packet| joined.payload(packet));
            messages::send_parts(
                sender.as_fd(),
                &joined.offload,
                std::iter::once(joined.headers()).chain(payloads),
            )
        });
        if let Some(Ok(())) = sent {
            packets.iter().for_each(|packet| self.counters.count_sent(packet.len()));
            return packets.len();
        }
        self.send_singly(packets)
    }

    /// Sends frames as they are.
    fn send_singly(&mut self, packets: &[Packet]) -> usize {
        let (mut accepted, mut next) = (0, 0);
        while next < packets.len() && self.state != PortState::Gone {
            let batch = &packets[next..packets.len().min(next + BATCH)];
            let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
            for (frame, packet) in frames.iter_mut().zip(batch) {
                *frame = packet.data();
            }
            let header = self.sends_headers.then_some(&NO_OFFLOAD);
            match messages::send_batch(self.sender.as_fd(), header, &frames[..batch.len()]) {
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

/// The error of a socket that cannot be opened.
fn socket_error(interface: &str, cause: io::Error) -> OpenError {
    let action = format!("open a packet socket on `{interface}`");
    OpenError::from_system(action, "CAP_NET_RAW", cause)
}

/// The whole frame of a slot: from the slot, or from the socket's queue into `large`.
fn whole_frame<'a>(slot: &Slot<'a>, receiver: &OwnedFd, large: &'a mut [u8]) -> Result<&'a [u8], DropReason> {
    let frame = if slot.is_queued {
        let length = packet_ring::receive_queued(receiver.as_fd(), large).map_err(|_| DropReason::Truncated)?;
        large.get(OFFLOAD_HEADER..length).ok_or(DropReason::Truncated)?
    } else {
        slot.frame
    };
    if frame.len() < slot.length {
        Err(DropReason::Truncated)
    } else if frame.len() < ETHERNET_HEADER {
        Err(DropReason::TooShort)
    } else {
        Ok(frame)
    }
}

/// Copies a frame into a new packet of the burst and does what was left to a network card; returns its length.
fn finish(frame: &[u8], slot: &Slot<'_>, burst: &mut Burst, now_ns: u64) -> Result<usize, DropReason> {
    if frame.len() > FRAME_BYTES_MAX {
        return Err(DropReason::Truncated);
    }
    let packet = burst.allocate().expect("the burst has room");
    packet.set_data(frame);
    packet.timestamp_ns = now_ns;
    if let Some((start, offset)) = Offload::parse(slot.offload).checksum
        && !offload::complete_checksum(packet.data_mut(), start, offset)
    {
        burst.truncate(burst.len() - 1);
        return Err(DropReason::Truncated);
    }
    put_tag_back(packet, slot);
    Ok(packet.len())
}

/// Puts the tag that the kernel took out where it was.
fn put_tag_back(packet: &mut Packet, slot: &Slot<'_>) {
    if let Some((protocol, control)) = slot.vlan {
        offload::insert_vlan_tag(packet, protocol, control);
        packet.original_length = packet.len() as u32;
    }
}

/// Sets the options, and binds last: an unbound socket of protocol 0 receives nothing, so no frame of another interface
/// slips in.
fn open_receiver(interface_index: i32, group: Option<Group>, is_shared: bool) -> io::Result<(OwnedFd, ReceiveRing)> {
    let receiver = system::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    let socket = receiver.as_fd();
    messages::set_packet_option(socket, libc::PACKET_VNET_HDR, 1)?;
    if !is_shared {
        // Since Linux 4.20; on older kernels outgoing frames are passed over by their type.
        let _ = messages::set_packet_option(socket, libc::PACKET_IGNORE_OUTGOING, 1);
    }
    messages::set_buffers(socket, SOCKET_BUFFER);
    let slots = if is_shared { SHARED_SLOTS } else { SLOTS };
    let ring = ReceiveRing::open(socket, slots, SLOT_BYTES)?;
    messages::set_promiscuous(socket, interface_index)?;
    // Before a socket is in its group it would get everything, beside those that are.
    messages::refuse_everything(socket)?;
    messages::bind_to_interface(socket, interface_index, Receives::Everything)?;
    if let Some(group) = group {
        messages::join_group(socket, group)?;
    }
    messages::accept_everything(socket)?;
    Ok((receiver, ring))
}

/// A socket that only sends, past the queueing discipline: a switch has its own queues.
fn open_sender(interface_index: i32) -> io::Result<OwnedFd> {
    let sender = system::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    messages::set_packet_option(sender.as_fd(), libc::PACKET_QDISC_BYPASS, 1)?;
    messages::set_buffers(sender.as_fd(), SOCKET_BUFFER);
    messages::bind_to_interface(sender.as_fd(), interface_index, Receives::Nothing)?;
    Ok(sender)
}

/// A socket for super-frames. They take the ordinary way, on which the kernel cuts them where the interface has been
/// told not to take them.
fn open_super_sender(interface_index: i32) -> io::Result<OwnedFd> {
    const { assert!(SEGMENTS_MAX + 2 <= PARTS) };
    let sender = system::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    messages::set_packet_option(sender.as_fd(), libc::PACKET_VNET_HDR, 1)?;
    messages::set_buffers(sender.as_fd(), SOCKET_BUFFER);
    messages::bind_to_interface(sender.as_fd(), interface_index, Receives::Nothing)?;
    Ok(sender)
}

impl Port for PacketPort {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let end = before + max.min(burst.room());
        let mut looks = 0;
        while burst.len() < end && looks < LOOKS_MAX {
            if !self.segments.is_empty() {
                let room = end - burst.len();
                self.segments.deliver(burst, room, now_ns, &mut self.counters);
            } else if self.take(burst, now_ns) {
                looks += 1;
            } else {
                break;
            }
        }
        let count = burst.len() - before;
        let is_idle = count == 0 && end > before && self.watch.is_due(now_ns);
        if is_idle || self.state == PortState::Down {
            self.look_at_interface();
        }
        self.check_present().map(|()| count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let accepted = self.send_all(burst.as_slice());
        burst.clear();
        if self.sends_headers {
            self.look_at_waiting();
        }
        match accepted {
            0 => self.check_present().map(|()| 0),
            accepted => Ok(accepted),
        }
    }

    fn counters(&self) -> PortCounters {
        // The kernel's count starts again at every look.
        let new_drops = messages::take_kernel_drops(self.receiver.as_fd()).unwrap_or(0);
        self.kernel_drops.set(self.kernel_drops.get() + u64::from(new_drops));
        let mut counters = self.counters;
        counters.count_received_drops(DropReason::ReceiveQueueFull, self.kernel_drops.get());
        counters
    }

    fn state(&self) -> PortState {
        self.state
    }

    fn why_down(&self) -> Option<String> {
        self.interface.why_down()
    }

    fn room(&self) -> usize {
        // Most interfaces take what is sent at once: no system call for them.
        if self.waiting.get() == 0 {
            return usize::MAX;
        }
        self.look_at_waiting();
        WAITING_MAX.saturating_sub(self.waiting.get()) / (self.longest + FRAME_OVERHEAD)
    }

    fn readiness(&self) -> Readiness {
        if !self.segments.is_empty() {
            Readiness::Now
        } else if self.state == PortState::Gone {
            Readiness::Never
        } else {
            Readiness::Descriptor(self.receiver.as_raw_fd())
        }
    }
}
