//! A port of a switch: bursts in, bursts out, never blocking.
//!
//! # Contract
//! * `receive` appends at most `max` packets, never more than the burst has room for, and returns
//!   how many; zero means that nothing is there *now*.
//! * `send` empties the burst, in order, and returns how many packets were accepted. The others
//!   are dropped and counted. A switch port does not push back: what its queue cannot take is lost.
//! * A packet is never an error. An error says that the *port* is out of order; the switch reports
//!   it and may go on with the other ports.
//! * Time is an argument. It never goes back from call to call.

use std::fmt;

use crate::{Burst, Packet};

/// Which way a packet crosses a port, seen from the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Into the switch.
    Received,
    /// Out of the switch.
    Sent,
}

/// Why a port dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum DropReason {
    /// A bounded queue was full, ours or the kernel's, on the way out.
    QueueFull,
    /// The kernel's receive queue was full: the switch was too slow.
    ReceiveQueueFull,
    /// Longer than the interface's MTU allows.
    TooLong,
    /// Shorter than an Ethernet header.
    TooShort,
    /// An offloaded (GSO) super-frame that cannot be cut into frames here.
    Unsegmentable,
    /// A frame that was cut off because it did not fit in the largest buffer.
    Truncated,
    /// The interface was down when the packet should be sent, or vanished meanwhile.
    LinkDown,
    /// The interface is away: it was deleted or moved, and has not come back.
    PortDown,
    /// The system refused to send for another reason.
    SendRefused,
    /// To be sent by a port that an operator has disabled.
    Disabled,
    /// Received by a port that an operator has disabled.
    ReceiveDisabled,
    /// Dropped on purpose by the loss decorator.
    InjectedLoss,
}

impl DropReason {
    /// Every reason, in the order they are counted and printed.
    pub const ALL: [DropReason; 12] = [
        DropReason::QueueFull,
        DropReason::ReceiveQueueFull,
        DropReason::TooLong,
        DropReason::TooShort,
        DropReason::Unsegmentable,
        DropReason::Truncated,
        DropReason::LinkDown,
        DropReason::PortDown,
        DropReason::SendRefused,
        DropReason::Disabled,
        DropReason::ReceiveDisabled,
        DropReason::InjectedLoss,
    ];

    /// The name under which drops are reported, for people and for metrics.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue-full",
            DropReason::ReceiveQueueFull => "receive-queue-full",
            DropReason::TooLong => "too-long",
            DropReason::TooShort => "too-short",
            DropReason::Unsegmentable => "unsegmentable",
            DropReason::Truncated => "truncated",
            DropReason::LinkDown => "link-down",
            DropReason::PortDown => "port-down",
            DropReason::SendRefused => "send-refused",
            DropReason::Disabled => "disabled",
            DropReason::ReceiveDisabled => "receive-disabled",
            DropReason::InjectedLoss => "injected-loss",
        }
    }

    /// What a user can do about it, where there is something.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            DropReason::ReceiveQueueFull => {
                Some("the switch cannot keep up: lower the rate or raise net.core.rmem_max")
            }
            DropReason::TooLong => Some("raise the interface's MTU: ip link set dev NAME mtu BYTES"),
            DropReason::Unsegmentable => Some("switch offloads off: ethtool -K NAME gro off gso off tso off"),
            _ => None,
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The most bytes of a frame that comes in. Lengths of longer ones fit neither the length fields of IP nor those of
/// switches.
pub const FRAME_BYTES_MAX: usize = 65_535;

/// How many packets were for more stations than one, by the destination addresses of their Ethernet headers. They are
/// counted where a [`Gate`](crate::decorators::Gate) stands before a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCounters {
    /// Packets for groups of stations.
    pub multicast: u64,
    /// Packets for all stations.
    pub broadcast: u64,
}

impl GroupCounters {
    /// The counters of some packets.
    #[inline]
    pub(crate) fn of(packets: &[Packet]) -> GroupCounters {
        let mut counters = GroupCounters::default();
        for packet in packets {
            match packet.data() {
                [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..] => counters.broadcast += 1,
                [first, ..] if first & 1 == 1 => counters.multicast += 1,
                _ => {}
            }
        }
        counters
    }

    /// All of them.
    pub fn total(self) -> u64 {
        self.multicast + self.broadcast
    }
}

impl std::ops::Add for GroupCounters {
    type Output = GroupCounters;

    fn add(self, other: GroupCounters) -> GroupCounters {
        GroupCounters {
            multicast: self.multicast + other.multicast,
            broadcast: self.broadcast + other.broadcast,
        }
    }
}

/// What a port has carried and dropped since it was opened. Bytes are frame bytes (no preamble,
/// check sequence or gap).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets handed to the switch.
    pub received_packets: u64,
    /// Bytes handed to the switch.
    pub received_bytes: u64,
    /// Packets accepted for sending.
    pub sent_packets: u64,
    /// Bytes accepted for sending.
    pub sent_bytes: u64,
    /// Of the packets handed to the switch, those for more stations than one.
    pub received_groups: GroupCounters,
    /// Of the packets accepted for sending, those for more stations than one.
    pub sent_groups: GroupCounters,
    drops: [u64; DropReason::ALL.len()],
    /// Of the drops, those of packets that came in.
    received_drops: u64,
}

impl PortCounters {
    /// How many packets were dropped for `reason`.
    pub fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// All drops.
    pub fn total_drops(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Packets that came in and were dropped before the switch had them.
    pub fn received_drops(&self) -> u64 {
        self.received_drops
    }

    /// Packets that the port refused to send.
    pub fn refusals(&self) -> u64 {
        self.total_drops() - self.received_drops
    }

    /// The reasons for which something was dropped, with how many.
    pub fn nonzero_drops(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL
            .into_iter()
            .map(|reason| (reason, self.drops(reason)))
            .filter(|(_, count)| *count > 0)
    }

    /// Counts a received frame of `length` bytes.
    #[inline]
    pub fn count_received(&mut self, length: usize) {
        self.received_packets += 1;
        self.received_bytes += length as u64;
    }

    /// Counts a sent frame of `length` bytes.
    #[inline]
    pub fn count_sent(&mut self, length: usize) {
        self.sent_packets += 1;
        self.sent_bytes += length as u64;
    }

    /// Counts `count` packets that were not sent for `reason`.
    pub fn count_drops(&mut self, reason: DropReason, count: u64) {
        self.drops[reason as usize] += count;
    }

    /// Counts `count` packets that came in and were dropped for `reason`: some reasons are the same in both directions.
    pub fn count_received_drops(&mut self, reason: DropReason, count: u64) {
        self.count_drops(reason, count);
        self.received_drops += count;
    }
}

impl std::ops::Add for PortCounters {
    type Output = PortCounters;

    /// What two ports have carried and dropped together.
    fn add(self, other: PortCounters) -> PortCounters {
        PortCounters {
            received_packets: self.received_packets + other.received_packets,
            received_bytes: self.received_bytes + other.received_bytes,
            sent_packets: self.sent_packets + other.sent_packets,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            received_groups: self.received_groups + other.received_groups,
            sent_groups: self.sent_groups + other.sent_groups,
            drops: std::array::from_fn(|reason| self.drops[reason] + other.drops[reason]),
            received_drops: self.received_drops + other.received_drops,
        }
    }
}

impl fmt::Display for PortCounters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "received {} packets ({} bytes), sent {} packets ({} bytes)",
            self.received_packets, self.received_bytes, self.sent_packets, self.sent_bytes
        )?;
        for (reason, count) in self.nonzero_drops() {
            write!(formatter, ", dropped {count} {reason}")?;
        }
        Ok(())
    }
}

/// Whether a port can carry packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// It carries packets.
    Up,
    /// It exists but is down, or has no carrier; it may come up again.
    Down,
    /// What it stands on has vanished: an interface was deleted or moved away.
    Gone,
    /// It brings nothing any more and sends nothing anywhere: a file that was read, without one to write.
    Finished,
}

/// When it is worth calling `receive` again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Packets are waiting: call at once.
    Now,
    /// Wait until this file descriptor is readable.
    Descriptor(i32),
    /// Not before this time, in nanoseconds.
    At(u64),
    /// Nothing to wait on: look again from time to time.
    Unknown,
    /// Nothing will come any more.
    Never,
}

/// A port that is out of order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortError {
    /// What the port stands on has vanished: an interface was deleted or moved away.
    Gone {
        /// The port's name.
        port: String,
        /// What happened.
        detail: String,
    },
    /// A system call or a file failed in a way that will not mend itself.
    Failed {
        /// The port's name.
        port: String,
        /// What was being done.
        operation: &'static str,
        /// What the system or the file said.
        detail: String,
    },
}

impl fmt::Display for PortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::Gone { port, detail } => write!(formatter, "port {port} is gone: {detail}"),
            PortError::Failed {
                port,
                operation,
                detail,
            } => {
                write!(formatter, "port {port} cannot {operation}: {detail}")
            }
        }
    }
}

impl std::error::Error for PortError {}

/// A port of a switch. The module's documentation is its contract.
pub trait Port: Send {
    /// The name for users: that of an interface or a file.
    fn name(&self) -> &str;

    /// Appends up to `max` received packets to `burst` and returns how many.
    ///
    /// # Errors
    /// When the port is out of order. Packets appended before the error stay in the burst.
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError>;

    /// Sends the packets of `burst`, leaves it empty, and returns how many were accepted.
    ///
    /// The port counts each of the others once, under a [`DropReason`]. A switch counts only those that the port has not
    /// counted ([`PortCounters::refusals`]): those of a port that has failed, under the reason `port_error`.
    ///
    /// # Errors
    /// When the port is out of order and has accepted nothing; the burst is emptied and counted all the same. A port that
    /// fails after it has accepted packets returns their number, and the error from its next call.
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError>;

    /// What it has carried and dropped so far.
    fn counters(&self) -> PortCounters;

    /// Whether it can carry packets.
    fn state(&self) -> PortState {
        PortState::Up
    }

    /// Why a port is [`PortState::Down`], or still [`PortState::Gone`], as text for the user; `None` if it is neither
    /// or the reason is unknown.
    fn why_down(&self) -> Option<String> {
        None
    }

    /// When it is worth calling `receive` again.
    fn readiness(&self) -> Readiness {
        Readiness::Unknown
    }

    /// The number of packets that `send` would accept now. A switch keeps the others in its queues. A port that cannot
    /// determine the number returns the default, and drops packets that exceed its room.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Whether the [ids](crate::Packet::id) of packets that are sent here are read. A switch sets ids only for such
    /// ports.
    fn reads_ids(&self) -> bool {
        false
    }

    /// Whether its packets are made by a clock ([`crate::TimerPort`]). A switch ends when the input of all other ports
    /// has ended.
    fn is_timer(&self) -> bool {
        false
    }

    /// Announces that the switch stops: from now on a timer delivers each of its packets once more, and other ports
    /// deliver nothing. Returns whether the port must still be polled.
    fn begin_last_round(&mut self) -> bool {
        false
    }

    /// Whether `receive` must be called after it has failed, too: it delivers nothing then, but sends what other
    /// threads have for this port.
    fn still_sends(&self) -> bool {
        false
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// When the buffered data cannot be written.
    fn flush(&mut self) -> Result<(), PortError> {
        Ok(())
    }
}

impl<P: Port + ?Sized> Port for Box<P> {
    fn name(&self) -> &str {
        (**self).name()
    }
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        (**self).receive(burst, max, now_ns)
    }
    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        (**self).send(burst, now_ns)
    }
    fn counters(&self) -> PortCounters {
        (**self).counters()
    }
    fn state(&self) -> PortState {
        (**self).state()
    }
    fn why_down(&self) -> Option<String> {
        (**self).why_down()
    }
    fn readiness(&self) -> Readiness {
        (**self).readiness()
    }
    fn room(&self) -> usize {
        (**self).room()
    }
    fn is_timer(&self) -> bool {
        (**self).is_timer()
    }
    fn reads_ids(&self) -> bool {
        (**self).reads_ids()
    }
    fn begin_last_round(&mut self) -> bool {
        (**self).begin_last_round()
    }
    fn still_sends(&self) -> bool {
        (**self).still_sends()
    }
    fn flush(&mut self) -> Result<(), PortError> {
        (**self).flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_counter_and_name() {
        let mut counters = PortCounters::default();
        for (index, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
            counters.count_drops(reason, index as u64 + 1);
        }
        let names: std::collections::BTreeSet<_> = DropReason::ALL.into_iter().map(DropReason::name).collect();
        assert_eq!(names.len(), DropReason::ALL.len());
        assert_eq!(counters.total_drops(), 78);
        let injected = DropReason::InjectedLoss;
        assert_eq!(counters.drops(injected), injected as u64 + 1);
    }

    #[test]
    fn drops_of_one_reason_are_told_apart_by_direction() {
        let mut counters = PortCounters::default();
        counters.count_received_drops(DropReason::TooShort, 3);
        counters.count_received_drops(DropReason::Unsegmentable, 1);
        counters.count_drops(DropReason::TooShort, 2);
        assert_eq!(counters.drops(DropReason::TooShort), 5);
        assert_eq!((counters.received_drops(), counters.refusals()), (4, 2));
        let both = counters + counters;
        assert_eq!((both.received_drops(), both.refusals()), (8, 4));
    }

    #[test]
    fn counters_print_only_what_was_dropped() {
        let mut counters = PortCounters::default();
        counters.count_received(60);
        counters.count_drops(DropReason::TooLong, 2);
        assert_eq!(
            counters.to_string(),
            "received 1 packets (60 bytes), sent 0 packets (0 bytes), dropped 2 too-long"
        );
    }
}
