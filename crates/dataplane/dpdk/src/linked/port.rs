//! A queue of a device as a port, for one worker.

use super::shim::{BURST, Device, Frame};
use forebay_packet::{Burst, DropReason, Packet, Port, PortCounters, PortError, PortState};
use std::sync::Arc;

/// The shortest frame: an Ethernet header, in bytes.
const SHORTEST: usize = 14;

/// A port, or the share of one worker in it.
pub(crate) struct DpdkPort {
    name: String,
    device: Arc<Device>,
    queue: u16,
    frames: [Frame; BURST],
    counters: PortCounters,
}

impl DpdkPort {
    /// The port of the worker that has this queue.
    pub(crate) fn new(name: &str, device: &Arc<Device>, queue: u16) -> DpdkPort {
        DpdkPort {
            name: name.to_owned(),
            device: device.clone(),
            queue,
            frames: [const { Frame::none() }; BURST],
            counters: PortCounters::default(),
        }
    }

    /// Receives into empty packets at the end of the burst; returns how many frames came, and how many are packets now.
    fn receive_some(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> (usize, usize) {
        let longest = self.device.longest();
        let before = burst.len();
        let wanted = max.min(burst.room()).min(BURST);
        for frame in &mut self.frames[..wanted] {
            let Some(packet) = burst.allocate() else { break };
            *frame = Frame::of(packet.receive_room_behind(0, longest));
        }
        let came = self
            .device
            .receive(self.queue, &mut self.frames[..burst.len() - before]);
        let mut kept = before;
        for at in 0..came {
            let length = self.frames[at].length();
            let reason = match length {
                ..SHORTEST => DropReason::TooShort,
                _ if length > longest => DropReason::Truncated,
                _ => {
                    let packets = burst.as_mut_slice();
                    let packet = &mut packets[before + at];
                    packet.set_received(length);
                    packet.timestamp_ns = now_ns;
                    packets.swap(kept, before + at);
                    self.counters.count_received(length);
                    kept += 1;
                    continue;
                }
            };
            self.counters.count_received_drops(reason, 1);
        }
        burst.truncate(kept);
        (came, kept - before)
    }

    /// Sends packets that are no longer than the device takes; returns how many it took.
    fn send_run(&mut self, packets: &mut [Packet]) -> usize {
        let mut sent = 0;
        while sent < packets.len() {
            let rest = &mut packets[sent..];
            let count = rest.len().min(BURST);
            for (frame, packet) in self.frames.iter_mut().zip(&mut rest[..count]) {
                *frame = Frame::of(packet.data_mut());
            }
            let taken = self.device.send(self.queue, &self.frames[..count]);
            rest[..taken]
                .iter()
                .for_each(|packet| self.counters.count_sent(packet.len()));
            sent += taken;
            if taken < count {
                let reason = if self.device.has_link() {
                    DropReason::QueueFull
                } else {
                    DropReason::LinkDown
                };
                self.counters.count_drops(reason, (packets.len() - sent) as u64);
                break;
            }
        }
        sent
    }
}

impl Port for DpdkPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let max = max.min(burst.room());
        let mut received = 0;
        while received < max {
            let wanted = (max - received).min(BURST);
            let (came, kept) = self.receive_some(burst, wanted, now_ns);
            received += kept;
            if came < wanted {
                break;
            }
        }
        Ok(received)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let longest = self.device.longest();
        let fits = |packet: &Packet| (SHORTEST..=longest).contains(&packet.len());
        let mut sent = 0;
        for run in burst
            .as_mut_slice()
            .chunk_by_mut(|before, after| fits(before) == fits(after))
        {
            match &run[0] {
                first if fits(first) => sent += self.send_run(run),
                first if first.len() < SHORTEST => self.counters.count_drops(DropReason::TooShort, run.len() as u64),
                _ => self.counters.count_drops(DropReason::TooLong, run.len() as u64),
            }
        }
        burst.clear();
        Ok(sent)
    }

    fn counters(&self) -> PortCounters {
        let mut counters = self.counters;
        // The device counts for all its queues.
        if self.queue == 0 {
            counters.count_received_drops(DropReason::ReceiveQueueFull, self.device.missed());
        }
        counters
    }

    fn state(&self) -> PortState {
        if self.device.has_link() {
            PortState::Up
        } else {
            PortState::Down
        }
    }

    fn why_down(&self) -> Option<String> {
        (!self.device.has_link()).then(|| "the device has no link".to_owned())
    }
}
