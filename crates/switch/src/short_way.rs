//! Packets that neither wait nor are copied: from port to port in one step, in their own buffers.
//!
//! Used when nothing waits in the switch, so that no packet overtakes another. A packet that has to take the long way
//! takes it at once, before the next one goes on.

use crate::switch::{Activity, Switch};
use forebay_packet::Burst;
use forebay_pipeline::{Arrival, DropReason, Passage, Tracer};

impl Switch {
    /// Receives a burst from every port and takes it the short way as far as possible.
    pub(crate) fn pass_through<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T, activity: &mut Activity) {
        for ingress_port in self.ports.numbers() {
            let mut burst = std::mem::take(&mut self.stages.received);
            self.ports
                .receive_from(ingress_port, &mut burst, self.config.burst, now_ns);
            let count = burst.len() as u64;
            self.counters.received += count;
            activity.received += count;
            self.pass_burst(&mut burst, ingress_port, now_ns, tracer, activity);
            burst.clear();
            self.stages.received = burst;
        }
    }

    fn pass_burst<T: Tracer>(
        &mut self,
        burst: &mut Burst,
        ingress_port: u32,
        now_ns: u64,
        tracer: &mut T,
        activity: &mut Activity,
    ) {
        let arrival = Arrival {
            ingress_port,
            timestamp_us: self.microseconds(now_ns),
        };
        let mut passages = std::mem::take(&mut self.stages.passages);
        let packets = burst.as_mut_slice();
        let mut next = 0;
        while next < packets.len() {
            if self.is_empty() {
                self.worker.pass(&mut packets[next..], arrival, &mut passages);
            }
            for (passage, packet) in passages.drain(..).zip(&mut packets[next..]) {
                packet.id = self.take_tag();
                activity.ingress += 1;
                activity.egress += u64::from(matches!(passage, Passage::Transmit(_)));
                match passage {
                    Passage::Transmit(port) => self.hand_over(port, packet, ingress_port, now_ns),
                    Passage::Drop(reason) => self.book_drop(ingress_port, reason),
                }
                next += 1;
            }
            if let Some(packet) = packets.get(next) {
                self.arrive(packet.data(), ingress_port, arrival.timestamp_us);
                activity.ingress += self.ingress(now_ns, tracer);
                activity.egress += self.egress(now_ns, tracer);
                next += 1;
            }
        }
        self.stages.passages = passages;
    }

    /// Out of a port, without a copy.
    fn hand_over(&mut self, port: u32, packet: &mut forebay_packet::Packet, from: u32, now_ns: u64) {
        match self.ports.exchange(port, packet, now_ns) {
            Some(sent) => self.count_sent(sent),
            None => self.drop_here(from, DropReason::NoSuchPort),
        }
    }
}
