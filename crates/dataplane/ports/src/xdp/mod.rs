//! A port over an existing interface through AF_XDP: frames come from the driver into memory of our own, past the
//! kernel's network stack.
//!
//! ```text
//!   driver ─► program ─► socket of the frame's queue ─► packets          receive: copied once out of the socket's memory
//!   driver ◄──────────── socket of the first queue   ◄─ packets          send: copied once into it
//! ```
//!
//! * **Who runs the program**: the driver (*native*), or, where it cannot, the kernel's stack (*generic*).
//! * **Copies** between the driver's memory and the socket's: none where the driver supports that (*zero-copy*),
//!   otherwise one by the kernel (*copy mode*: veth, and everything generic).
//! * **Queues**: an interface may receive by several. A port opens all of them, unless it is told which.
//!   When their number changes, the port is gone, and is opened again with the new ones.
//! * **The kernel gets nothing of what comes in** by these queues: no address on such an interface answers any more. A
//!   port that was not asked to be AF_XDP is gone when the interface gets an address or joins a bridge, and is opened
//!   again in another way.
//! * **Open checksums** from sockets on the same machine are completed ([`crate::offload::unmarked`]) unless the driver
//!   is a network card's (zero-copy). Super-frames do not come: veth stops its other end from making them as long as a
//!   native program is attached. Generic mode has no such protection; longer frames than fit are counted as
//!   [`DropReason::Truncated`] there.
//! * **Long frames** take several pieces of memory (Linux 6.6 and a driver that can); otherwise such an interface is
//!   refused. When the MTU becomes larger than the memory is for, the port is gone, and is opened again with more.

mod open;
mod program;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use forebay_packet::{Burst, DropReason, Port, PortCounters, PortError, PortState, Readiness};

use crate::interfaces::{Interface, NeedWatch, QueueWatch, Watch};
use crate::offload::unmarked::complete_open_checksum;
use crate::system::bpf::Attachment;
use crate::system::xdp::{CopyMode, XdpSocket};
use crate::{OpenError, OpenOptions};
use open::Request;
use program::Redirect;

const ETHERNET_HEADER: usize = 14;

/// A VLAN tag does not count for the MTU.
const TAG: usize = 4;

/// Whether this process can make what AF_XDP needs: a socket, and a map of sockets. Both are closed again.
///
/// # Errors
/// Why not: the kernel has no such sockets, a capability is missing, a filter refuses the calls.
pub fn try_xdp() -> io::Result<()> {
    crate::system::socket(libc::AF_XDP, libc::SOCK_RAW)?;
    crate::system::bpf::create_socket_map(1).map(drop)
}

/// A port over an existing interface, through AF_XDP.
pub struct XdpPort {
    interface: Interface,
    sockets: Vec<XdpSocket>,
    /// Becomes readable when one of several sockets does.
    waiting: Option<OwnedFd>,
    /// Keeps the program attached.
    _redirect: Arc<Redirect>,
    how: Attachment,
    copy_mode: CopyMode,
    state: PortState,
    /// The interface was taken away from the sockets, receives by other queues too, or has longer frames, or the
    /// kernel needs its frames.
    is_cut_off: bool,
    /// None when it receives by one queue because that was asked for.
    queue_watch: Option<QueueWatch>,
    /// None when AF_XDP was asked for, whether the kernel needs the frames or not.
    need_watch: Option<NeedWatch>,
    counters: PortCounters,
    /// The socket that is asked first.
    first: usize,
    /// The longest frame that may be sent, in bytes.
    longest: usize,
    watch: Watch,
}

impl XdpPort {
    /// Opens the interface called `name`: one of its queues, or all.
    ///
    /// # Errors
    /// When there is no such interface or queue, it has another program, its MTU is too large for it, or a right is
    /// missing.
    pub fn open(name: &str, queue: Option<u32>, options: &OpenOptions) -> Result<XdpPort, OpenError> {
        open::open(name, queue, &Request::new(open::DRIVER_OR_STACK, options))
    }

    /// Opens all queues of the interface called `name`, if its driver can run the program itself. When the interface gets
    /// an address, for which the kernel must answer, the port is gone.
    ///
    /// # Errors
    /// As for [`XdpPort::open`], and when the driver cannot.
    pub fn open_native(name: &str, options: &OpenOptions) -> Result<XdpPort, OpenError> {
        open::open(name, None, &Request::new(open::DRIVER, options))
    }

    /// Opens the interface called `name` as `count` ports for as many threads, each with its share of the queues.
    ///
    /// # Errors
    /// As for [`XdpPort::open`], and when the interface has fewer queues.
    pub fn open_shares(name: &str, count: usize, options: &OpenOptions) -> Result<Vec<XdpPort>, OpenError> {
        open::open_shares(name, count, &Request::new(open::DRIVER_OR_STACK, options))
    }

    /// As [`XdpPort::open_shares`], if the interface's driver can run the program itself.
    ///
    /// # Errors
    /// As for [`XdpPort::open_shares`], and when the driver cannot.
    pub fn open_native_shares(name: &str, count: usize, options: &OpenOptions) -> Result<Vec<XdpPort>, OpenError> {
        open::open_shares(name, count, &Request::new(open::DRIVER, options))
    }

    /// Whether the interface's driver itself runs the program; otherwise the kernel's stack does, for any driver.
    pub fn is_native(&self) -> bool {
        self.how == Attachment::Native
    }

    /// Whether the driver uses the port's memory, so that the kernel copies nothing.
    pub fn is_zero_copy(&self) -> bool {
        self.copy_mode == CopyMode::ZeroCopy
    }

    /// How many of the interface's queues it receives by.
    pub fn queues(&self) -> usize {
        self.sockets.len()
    }

    /// Finds out whether the interface is up, down or gone, and how long its frames may be.
    fn look_at_interface(&mut self) {
        let mtu = self.interface.mtu();
        self.is_cut_off |= self.sockets.iter().any(XdpSocket::has_lost_interface);
        // Drivers that run the program and take such an MTU can also give frames in pieces. Without the driver, or where
        // the interface could not be opened again, frames that fit go on to come.
        let is_longer = mtu + open::HEADERS > self.sockets[0].longest_received();
        self.is_cut_off |= is_longer && self.is_native() && self.interface.has_its_name();
        self.state = if self.is_cut_off {
            PortState::Gone
        } else {
            self.interface.state()
        };
        self.longest = (mtu + ETHERNET_HEADER).min(self.sockets[0].longest());
    }

    /// The error of a port whose interface is gone.
    fn check_present(&self) -> Result<(), PortError> {
        match self.state {
            PortState::Gone => Err(PortError::Gone {
                port: self.interface.name.clone(),
                detail: "the interface was deleted or moved to another network namespace, or has other queues, a larger MTU or an address, is a member of a bridge, or carries another interface"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Nothing has come: sends what waits, wakes the driver, and looks from time to time whether the interface is
    /// there.
    fn rest(&mut self, now_ns: u64) -> Result<(), PortError> {
        self.kick();
        self.sockets.iter().for_each(XdpSocket::wake_receiver);
        if self.watch.is_due(now_ns) {
            // What comes by a queue without a socket goes to the kernel, uncounted: all are opened again.
            let watch = self.queue_watch.as_mut();
            self.is_cut_off |= watch.is_some_and(|watch| watch.has_changed(&self.interface));
            let watch = self.need_watch.as_mut();
            self.is_cut_off |= watch.is_some_and(|watch| watch.is_needed(&self.interface));
            self.look_at_interface();
        }
        self.check_present()
    }

    /// Has the kernel send what is in the transmit ring; returns how many frames the interface refused.
    fn kick(&mut self) -> usize {
        let socket = &mut self.sockets[0];
        if !socket.is_sending() {
            return 0;
        }
        match socket.kick() {
            Ok(refused) => {
                self.counters.sent_packets -= refused.frames;
                self.counters.sent_bytes -= refused.bytes;
                self.counters.count_drops(DropReason::QueueFull, refused.frames);
                refused.frames as usize
            }
            Err(_) => {
                self.look_at_interface();
                0
            }
        }
    }

    /// Puts a packet in the transmit ring.
    #[inline]
    fn queue(&mut self, packet: &[u8]) -> Result<(), DropReason> {
        if packet.len() > self.longest && packet.len() > self.longest_like(packet) {
            Err(DropReason::TooLong)
        } else if packet.len() < ETHERNET_HEADER {
            Err(DropReason::TooShort)
        } else if self.sockets[0].push(packet) {
            self.counters.count_sent(packet.len());
            Ok(())
        } else {
            Err(DropReason::QueueFull)
        }
    }

    /// How long frames like this one may be.
    fn longest_like(&self, frame: &[u8]) -> usize {
        let is_tagged = matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
        let longest = self.longest + if is_tagged { TAG } else { 0 };
        longest.min(self.sockets[0].longest())
    }

    /// Puts packets in the transmit ring and counts those that do not go there; returns how many do.
    fn queue_all(&mut self, burst: &Burst) -> usize {
        let mut accepted = 0;
        let mut looked = false;
        for packet in burst.iter() {
            let mut result = self.queue(packet.data());
            if result == Err(DropReason::TooLong) && !looked {
                // The MTU may have changed; one question a burst is enough.
                looked = true;
                self.look_at_interface();
                result = self.queue(packet.data());
            }
            match result {
                Ok(()) => accepted += 1,
                Err(reason) => self.counters.count_drops(reason, 1),
            }
        }
        accepted
    }

    /// Takes what has come by one socket.
    fn receive_from(&mut self, index: usize, burst: &mut Burst, max: usize, now_ns: u64) -> usize {
        let XdpPort {
            sockets,
            counters,
            copy_mode,
            ..
        } = self;
        let before = burst.len();
        let count = sockets[index].receive(max, |piece, is_first| {
            if is_first {
                let packet = burst.allocate().expect("no more than fit were asked for");
                packet.set_data(piece);
                packet.timestamp_ns = now_ns;
            } else if let Some(packet) = burst.as_mut_slice().last_mut() {
                packet.append(piece);
                packet.original_length = packet.len() as u32;
            }
        });
        for packet in &mut burst.as_mut_slice()[before..] {
            if *copy_mode == CopyMode::Copy {
                complete_open_checksum(packet.data_mut());
            }
            counters.count_received(packet.len());
        }
        count
    }
}

impl Port for XdpPort {
    fn name(&self) -> &str {
        &self.interface.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let max = max.min(burst.room());
        let mut count = 0;
        for turn in 0..self.sockets.len() {
            let index = (self.first + turn) % self.sockets.len();
            count += self.receive_from(index, burst, max - count, now_ns);
        }
        self.first = (self.first + 1) % self.sockets.len();
        if count == 0 && max > 0 {
            self.rest(now_ns)?;
        } else if self.state == PortState::Down {
            self.look_at_interface();
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        if self.state != PortState::Up {
            self.look_at_interface();
        }
        let accepted = if self.state == PortState::Up {
            self.queue_all(burst)
        } else {
            self.counters.count_drops(DropReason::LinkDown, burst.len() as u64);
            0
        };
        burst.clear();
        let refused = self.kick();
        match accepted.saturating_sub(refused) {
            0 => self.check_present().map(|()| 0),
            accepted => Ok(accepted),
        }
    }

    fn counters(&self) -> PortCounters {
        let mut counters = self.counters;
        for statistics in self.sockets.iter().filter_map(|socket| socket.statistics().ok()) {
            counters.count_received_drops(DropReason::ReceiveQueueFull, statistics.rx_ring_full);
            counters.count_received_drops(DropReason::Truncated, statistics.rx_dropped);
            counters.count_drops(DropReason::SendRefused, statistics.tx_invalid_descs);
        }
        counters
    }

    fn state(&self) -> PortState {
        self.state
    }

    fn why_down(&self) -> Option<String> {
        self.interface.why_down()
    }

    fn readiness(&self) -> Readiness {
        match (&self.waiting, self.state) {
            (_, PortState::Gone) => Readiness::Never,
            (Some(waiting), _) => Readiness::Descriptor(waiting.as_raw_fd()),
            (None, _) => Readiness::Descriptor(self.sockets[0].raw_descriptor()),
        }
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.kick();
        Ok(())
    }
}
