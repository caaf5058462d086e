//! Recirculated packets on the fast path. At the beginning of a poll their frames go through specialised code in bursts,
//! like those that ports deliver. A packet that cannot take the fast path takes the slow path before the next one.
//!
//! Resubmitted packets take the slow path: each would be a burst of its own, since it comes before the next packet.

use crate::fast_path::Settling;
use crate::switch::{Activity, Switch};
use forebay_packet::Burst;
use forebay_pipeline::{IngressPacket, Origin, Tracer, VerdictRun};
use std::collections::VecDeque;

/// Packets of a burst that begin again.
#[derive(Default)]
pub(crate) struct Again {
    /// Those that are not settled yet, contiguous in memory.
    waiting: VecDeque<IngressPacket>,
    /// The origin of the last packet that was settled.
    last: Origin,
}

impl Again {
    /// The packets that are not settled yet.
    pub(crate) fn packets(&self) -> &[IngressPacket] {
        let (packets, wrapped) = self.waiting.as_slices();
        debug_assert!(wrapped.is_empty(), "they are contiguous");
        packets
    }

    /// Removes the first packet, which is settled.
    pub(crate) fn take(&mut self) -> IngressPacket {
        let packet = self.waiting.pop_front().expect("each verdict has a packet");
        self.last = packet.origin();
        packet
    }

    /// The origin of the packet at a place of the burst, of which the first `done` packets are settled: one of the
    /// others, or the last of these.
    pub(crate) fn origin_of(&self, place: usize, done: usize) -> Origin {
        let waits = place.checked_sub(done);
        waits.map_or(self.last, |index| self.waiting[index].origin())
    }

    /// The tags of the packets that are not settled yet.
    pub(crate) fn tags(&self) -> impl Iterator<Item = u64> {
        self.waiting.iter().map(|packet| packet.tag)
    }
}

/// What is kept so that nothing is allocated for a burst.
pub(crate) struct AgainBuffers {
    burst: Burst,
    verdicts: Vec<VerdictRun>,
    again: Again,
}

impl AgainBuffers {
    /// For bursts of this many packets.
    pub(crate) fn new(packets: usize) -> AgainBuffers {
        AgainBuffers {
            burst: Burst::new(packets),
            verdicts: Vec::with_capacity(packets),
            again: Again::default(),
        }
    }
}

impl Switch {
    /// Lets the packets that enter ingress, which begin again, take the fast path as long as there is room. Others are
    /// left where they are.
    #[cold]
    pub(crate) fn pass_again<T: Tracer>(&mut self, now_ns: u64, tracer: &mut T, activity: &mut Activity) {
        if !self.worker.has_fast_path_of_returns() {
            return;
        }
        // A packet that takes the slow path must not find others there.
        let mut entering = std::mem::take(&mut self.stages.slow.entering);
        let mut buffers = self.stages.again.take().expect("it is put back below");
        while let Some(first) = entering.front()
            && self.room_to_pass::<T>().is_some()
        {
            let ingress_port = first.arguments.ingress_port;
            let is_of_port = |packet: &&IngressPacket| packet.arguments.ingress_port == ingress_port;
            let count = entering.iter().take(self.config.burst).take_while(is_of_port).count();
            let began_ns = self.delays.arrival(count as u64);
            let AgainBuffers { burst, verdicts, again } = &mut *buffers;
            again.waiting.extend(entering.drain(..count));
            for packet in &*again.waiting.make_contiguous() {
                let place = burst.allocate().expect("a burst holds them");
                place.set_data(&packet.bytes);
            }
            let mut settling = Settling {
                arrival: self.arrival(ingress_port, now_ns),
                now_ns,
                tracer,
                activity,
                again: Some(again),
            };
            self.settle_burst(burst.as_mut_slice(), verdicts, &mut settling);
            burst.clear();
            self.delays.burst_ends(began_ns);
        }
        self.stages.again = Some(buffers);
        self.stages.slow.entering = entering;
    }
}
