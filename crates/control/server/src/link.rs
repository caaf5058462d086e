//! Between a switch and the server: packets in both directions, and digests.
//!
//! The switch's side never waits. It counts what it had to drop, and a descriptor tells its worker, which may be
//! waiting for packets, that there is one from a controller.

use forebay_packet::{Burst, DropReason, Packet, Port, PortCounters, PortError, Readiness};
use forebay_pipeline::DigestMessage;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::mpsc;

/// Packets that may wait in each direction.
const PACKETS_MAX: usize = 4096;

/// Bytes of packets that may wait in each direction.
const BYTES_MAX: usize = 16 << 20;

/// Digests that may wait for the server.
const DIGESTS_MAX: usize = 65_536;

/// The port of the controllers: what the switch sends to it becomes a packet-in, a packet-out is received from it.
pub struct CpuPort {
    to_server: mpsc::Sender<SentPacket>,
    /// See [`Eras`].
    era: Arc<AtomicU64>,
    to_server_bytes: Bytes,
    /// `None` for a share that only sends.
    from_server: Option<FromServer>,
    counters: PortCounters,
}

/// Where packets of controllers are received.
struct FromServer {
    packets: Receiver<PacketOut>,
    /// A packet for a program that workers are taking over.
    held: Option<PacketOut>,
    turns: Arc<Turns>,
    bytes: Bytes,
    wake: UnixStream,
    /// Bytes that were written to `wake`, and those that were read of it.
    rung: Arc<AtomicU64>,
    heard: u64,
}

/// Bytes of packets that wait.
#[derive(Clone, Debug, Default)]
struct Bytes(Arc<AtomicUsize>);

impl Bytes {
    /// Notes a packet; false when there is no room for it.
    fn add(&self, packet: usize) -> bool {
        let before = self.0.fetch_add(packet, Ordering::Relaxed);
        let has_room = before + packet <= BYTES_MAX;
        if !has_room {
            self.remove(packet);
        }
        has_room
    }

    fn remove(&self, packet: usize) {
        self.0.fetch_sub(packet, Ordering::Relaxed);
    }
}

/// A packet on its way to controllers, with its era.
pub(crate) type SentPacket = (u64, Vec<u8>);

/// Packets on their way to controllers.
pub(crate) struct PacketsIn {
    packets: mpsc::Receiver<SentPacket>,
    bytes: Bytes,
}

impl PacketsIn {
    /// Waits for packets, and appends at most `max` of them. Returns 0 when no more packets can arrive.
    pub(crate) async fn receive(&mut self, packets: &mut Vec<SentPacket>, max: usize) -> usize {
        let first = packets.len();
        let received = self.packets.recv_many(packets, max).await;
        packets[first..]
            .iter()
            .for_each(|(_, packet)| self.bytes.remove(packet.len()));
        received
    }
}

/// Tells packets for controllers apart by their program, where programs give them different headers. A packet is of the
/// *era* in which the switch has sent it. While workers take a program over it is unknown of which program a packet is:
/// that is an era of its own, whose packets are lost.
#[derive(Debug)]
pub(crate) struct Eras {
    present: Arc<AtomicU64>,
    /// The era of the program that runs; none while workers take it over.
    accepted: AtomicU64,
    /// Programs that workers are taking over.
    changes: AtomicU64,
}

impl Eras {
    const NONE: u64 = u64::MAX;

    /// Another program is about to run. The caller must not let others begin or end a change meanwhile.
    pub(crate) fn begin_change(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.accepted.store(Eras::NONE, Ordering::Relaxed);
        self.present.fetch_add(1, Ordering::Release);
    }

    /// Workers have taken it over. As above.
    pub(crate) fn end_change(&self) {
        let present = self.present.fetch_add(1, Ordering::Release) + 1;
        if self.changes.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.accepted.store(present, Ordering::Relaxed);
        }
    }

    /// Whether packets of an era are those of the program that runs.
    pub(crate) fn accepts(&self, era: u64) -> bool {
        era == self.accepted.load(Ordering::Relaxed)
    }
}

/// A packet of a controller, with the program that it is for: the number of changes before it ([`Turns`]).
type PacketOut = (u64, Vec<u8>);

/// Tells for which program packets of controllers are, where programs have different headers for them. While workers
/// take a program over, packets for it wait; those for programs before it are lost.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Programs with another header that workers were told to run, and those that they run. Both only grow.
    begun: AtomicU64,
    ended: AtomicU64,
    lost: AtomicU64,
}

impl Turns {
    /// Another program is about to run. The caller must not let packets be sent meanwhile.
    pub(crate) fn begin_change(&self) {
        self.begun.fetch_add(1, Ordering::Release);
    }

    /// The program that all workers run; none while they take another one over.
    fn settled(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire) == ended).then_some(ended)
    }

    /// Packets that were lost since their program was replaced before the switch took them.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

/// A digest with the number of the pipeline that has sent it.
pub(crate) type SentDigest = (u64, DigestMessage);

/// Takes digests of a switch.
#[derive(Clone, Debug)]
pub struct DigestSender {
    to_server: mpsc::Sender<SentDigest>,
    refused: Arc<AtomicU64>,
}

impl DigestSender {
    /// Hands over a digest of the program with this number ([`forebay_pipeline::Pipeline::number`]); false when there
    /// is no room, and it is lost.
    pub fn send(&self, program: u64, message: DigestMessage) -> bool {
        self.to_server.try_send((program, message)).is_ok()
    }

    /// Digests that were lost since the last call, although there was room: their program had been replaced before the
    /// server took them.
    pub fn take_refused(&self) -> u64 {
        self.refused.swap(0, Ordering::Relaxed)
    }
}

/// The server's side.
pub struct Link {
    pub(crate) packets_in: PacketsIn,
    pub(crate) eras: Eras,
    pub(crate) digests: mpsc::Receiver<SentDigest>,
    pub(crate) refused: Arc<AtomicU64>,
    pub(crate) packets_out: PacketsOut,
}

/// Packets of controllers, on their way to the switch.
pub(crate) struct PacketsOut {
    to_port: SyncSender<PacketOut>,
    pub(crate) turns: Arc<Turns>,
    bytes: Bytes,
    wake: UnixStream,
    rung: Arc<AtomicU64>,
}

impl PacketsOut {
    /// Hands a packet over; false when there is no room.
    pub(crate) fn send(&self, packet: Vec<u8>) -> bool {
        let bytes = packet.len();
        if !self.bytes.add(bytes) {
            return false;
        }
        let turn = self.turns.begun.load(Ordering::Relaxed);
        let sent = self.to_port.try_send((turn, packet)).is_ok();
        if !sent {
            self.bytes.remove(bytes);
        }
        self.ring();
        sent
    }

    /// Workers have taken a program over: what waited for it may go.
    pub(crate) fn end_change(&self) {
        self.turns.ended.fetch_add(1, Ordering::Release);
        self.ring();
    }

    fn ring(&self) {
        // A full pipe will wake the worker just as well.
        if matches!((&self.wake).write(&[0]), Ok(1)) {
            self.rung.fetch_add(1, Ordering::Release);
        }
    }
}

/// A port for controllers, a way for digests, and the server's side of both.
///
/// # Errors
/// When the system gives no more descriptors.
pub fn link() -> std::io::Result<(CpuPort, DigestSender, Link)> {
    let (to_server, packets_in) = mpsc::channel(PACKETS_MAX);
    let (to_port, from_server) = sync_channel(PACKETS_MAX);
    let (digests_to_server, digests) = mpsc::channel(DIGESTS_MAX);
    let (sender, wake) = UnixStream::pair()?;
    sender.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let (to_server_bytes, from_server_bytes) = (Bytes::default(), Bytes::default());
    let (rung, refused) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let turns = Arc::<Turns>::default();
    let packets_in = PacketsIn {
        packets: packets_in,
        bytes: to_server_bytes.clone(),
    };
    let packets_out = PacketsOut {
        to_port,
        turns: Arc::clone(&turns),
        bytes: from_server_bytes.clone(),
        wake: sender,
        rung: Arc::clone(&rung),
    };
    let era = Arc::<AtomicU64>::default();
    let eras = Eras {
        present: Arc::clone(&era),
        accepted: AtomicU64::new(0),
        changes: AtomicU64::new(0),
    };
    let port = CpuPort {
        to_server,
        era,
        to_server_bytes,
        from_server: Some(FromServer {
            packets: from_server,
            held: None,
            turns,
            bytes: from_server_bytes,
            wake,
            rung,
            heard: 0,
        }),
        counters: PortCounters::default(),
    };
    let digest_sender = DigestSender {
        to_server: digests_to_server,
        refused: Arc::clone(&refused),
    };
    let link = Link {
        packets_in,
        eras,
        digests,
        refused,
        packets_out,
    };
    Ok((port, digest_sender, link))
}

impl Port for CpuPort {
    fn name(&self) -> &str {
        "controllers"
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let Some(from_server) = &mut self.from_server else {
            return Ok(0);
        };
        // Before packets are taken: what comes later wakes the worker again.
        if from_server.rung.load(Ordering::Acquire) != from_server.heard {
            from_server.be_quiet();
        }
        let mut received = 0;
        while received < max && burst.room() > 0 {
            let Some(frame) = from_server.next_frame() else { break };
            from_server.bytes.remove(frame.len());
            let mut packet = Packet::from_bytes(&frame);
            packet.timestamp_ns = now_ns;
            packet.original_length = packet.len() as u32;
            self.counters.count_received(packet.len());
            burst.push_exchange(&mut packet);
            received += 1;
        }
        Ok(received)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let mut accepted = 0;
        for packet in burst.as_mut_slice() {
            if self.hand_over(packet.data()) {
                self.counters.count_sent(packet.len());
                accepted += 1;
            } else {
                self.counters.count_drops(DropReason::QueueFull, 1);
            }
        }
        burst.clear();
        Ok(accepted)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn readiness(&self) -> Readiness {
        let descriptor = |from_server: &FromServer| Readiness::Descriptor(from_server.wake.as_raw_fd());
        self.from_server.as_ref().map_or(Readiness::Never, descriptor)
    }
}

impl CpuPort {
    /// A share for each of several workers. The first one receives what controllers send, since packets that went on
    /// to other workers could meet the next program there; each sends what its own worker has for controllers.
    pub fn shares(self, workers: usize) -> Vec<CpuPort> {
        let share = |_| CpuPort {
            to_server: self.to_server.clone(),
            era: Arc::clone(&self.era),
            to_server_bytes: self.to_server_bytes.clone(),
            from_server: None,
            counters: PortCounters::default(),
        };
        let others: Vec<CpuPort> = (1..workers).map(share).collect();
        std::iter::once(self).chain(others).collect()
    }

    /// Hands a packet to the server; false when there is no room.
    fn hand_over(&self, packet: &[u8]) -> bool {
        if !self.to_server_bytes.add(packet.len()) {
            return false;
        }
        let era = self.era.load(Ordering::Acquire);
        let is_sent = self.to_server.try_send((era, packet.to_vec())).is_ok();
        if !is_sent {
            self.to_server_bytes.remove(packet.len());
        }
        is_sent
    }
}

impl FromServer {
    /// The next packet for the program that runs.
    fn next_frame(&mut self) -> Option<Vec<u8>> {
        let present = self.turns.settled()?;
        loop {
            let (turn, frame) = self.held.take().or_else(|| self.packets.try_recv().ok())?;
            if turn == present {
                return Some(frame);
            }
            if turn > present {
                self.held = Some((turn, frame));
                return None;
            }
            self.bytes.remove(frame.len());
            self.turns.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes what has woken the worker. A packet may have been taken before its byte was written.
    fn be_quiet(&mut self) {
        let mut bytes = [0; 256];
        while let Ok(read @ 1..) = self.wake.read(&mut bytes) {
            self.heard += read as u64;
            if read < bytes.len() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_cross_in_both_directions() {
        let (mut port, _, mut link) = link().unwrap();
        let mut burst = Burst::new(8);
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(0));
        assert!(link.packets_out.send(vec![1; 60]));
        assert_eq!(port.receive(&mut burst, 8, 7), Ok(1));
        assert_eq!(port.send(&mut burst, 7), Ok(1));
        assert_eq!(link.packets_in.packets.try_recv().unwrap(), (0, vec![1; 60]));
    }

    #[test]
    fn one_share_receives_and_each_sends_for_itself() {
        let (port, _, mut link) = link().unwrap();
        let mut shares = port.shares(2);
        let mut burst = Burst::new(8);
        assert!(link.packets_out.send(vec![1; 60]));
        assert_eq!(shares.len(), 2);
        assert_eq!(shares[1].receive(&mut burst, 8, 0), Ok(0));
        assert_eq!(shares[1].readiness(), Readiness::Never);
        assert_eq!(shares[0].receive(&mut burst, 8, 0), Ok(1));
        assert_eq!(shares[1].send(&mut burst, 0), Ok(1));
        assert_eq!(shares[1].counters().sent_packets, 1);
        assert_eq!(link.packets_in.packets.try_recv().unwrap(), (0, vec![1; 60]));
    }

    #[test]
    fn packets_of_a_program_that_is_replaced_are_told_apart() {
        let (mut port, _, link) = link().unwrap();
        let Link {
            mut packets_in, eras, ..
        } = link;
        let mut burst = Burst::new(1);
        let mut sent = || {
            burst.push_exchange(&mut Packet::from_bytes(&[0; 60]));
            port.send(&mut burst, 0).unwrap();
            packets_in.packets.try_recv().unwrap().0
        };
        let before = sent();
        assert!(eras.accepts(before));
        eras.begin_change();
        let between = sent();
        assert!(!eras.accepts(before) && !eras.accepts(between));
        eras.begin_change();
        eras.end_change();
        assert!(!eras.accepts(sent()), "another program is being taken over");
        eras.end_change();
        assert!(eras.accepts(sent()) && !eras.accepts(before) && !eras.accepts(between));
    }

    #[test]
    fn packets_for_a_program_that_is_replaced_are_lost() {
        let (mut port, _, link) = link().unwrap();
        let out = link.packets_out;
        let mut burst = Burst::new(8);
        let mut received = || {
            burst.clear();
            let count = port.receive(&mut burst, 8, 0).unwrap();
            let packets = burst.as_mut_slice().iter().map(|packet| packet.data()[0]);
            (count, packets.collect::<Vec<u8>>())
        };
        out.send(vec![1; 60]);
        assert_eq!(received(), (1, vec![1]));
        out.send(vec![2; 60]);
        out.turns.begin_change();
        out.send(vec![3; 60]);
        assert_eq!(received(), (0, vec![]), "workers may run either program");
        out.turns.begin_change();
        out.send(vec![4; 60]);
        out.end_change();
        assert_eq!(received(), (0, vec![]), "another program is being taken over");
        out.end_change();
        assert_eq!(received(), (1, vec![4]));
        assert_eq!((out.turns.lost(), out.bytes.0.load(Ordering::Relaxed)), (2, 0));
    }

    /// A worker that has looked just before a change keeps what is for the next program.
    #[test]
    fn packets_for_the_next_program_are_kept() {
        let (mut port, _, link) = link().unwrap();
        let mut burst = Burst::new(8);
        link.packets_out.to_port.send((1, vec![1; 60])).unwrap();
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(0));
        link.packets_out.turns.begin_change();
        link.packets_out.end_change();
        link.packets_out.bytes.add(60);
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(1));
    }

    /// Otherwise the worker would never sleep again.
    #[test]
    fn what_wakes_late_is_taken_too() {
        let (mut port, _, link) = link().unwrap();
        let mut burst = Burst::new(8);
        let out = &link.packets_out;
        assert!(out.bytes.add(60));
        out.to_port.send((0, vec![1; 60])).unwrap();
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(1));
        (&out.wake).write_all(&[0]).unwrap();
        out.rung.fetch_add(1, Ordering::Release);
        assert_eq!(port.receive(&mut burst, 8, 0), Ok(0));
        let left = port.from_server.unwrap().wake.read(&mut [0]);
        assert_eq!(left.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
    }

    #[test]
    fn long_packets_need_more_room() {
        let (mut port, _, link) = link().unwrap();
        let mut burst = Burst::new(1);
        for _ in 0..300 {
            burst.push_exchange(&mut Packet::from_bytes(&[0; 60_000]));
            port.send(&mut burst, 0).unwrap();
        }
        assert_eq!(
            port.counters().drops(DropReason::QueueFull),
            300 - (BYTES_MAX / 60_000) as u64
        );
        let sent = (0..300).filter(|_| link.packets_out.send(vec![0; 60_000])).count();
        assert_eq!(sent, BYTES_MAX / 60_000);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let (mut port, _, _link) = link().unwrap();
        let mut burst = Burst::new(1);
        for _ in 0..PACKETS_MAX + 3 {
            burst.push_exchange(&mut Packet::from_bytes(&[0; 60]));
            port.send(&mut burst, 0).unwrap();
        }
        assert_eq!(port.counters().drops(DropReason::QueueFull), 3);
    }
}
