//! Packets that begin again, on the fast path: recirculated packets at the beginning of a poll, and resubmitted packets
//! before the packet that comes next. Their frames go through specialised code in a burst of their own, like those that
//! ports deliver. A packet that cannot take the fast path takes the slow path before the next one.

use crate::fast_path::Settling;
use crate::switch::{Activity, Switch};
use forebay_packet::Burst;
use forebay_pipeline::{Arrival, IngressPacket, Origin, Tracer, VerdictRun};
use std::collections::VecDeque;

/// Packets of a burst that begin again.
#[derive(Default)]
pub(crate) struct Again {
    /// Those that are not settled yet, contiguous in memory.
    waiting: VecDeque<IngressPacket>,
    /// The origin of the last packet that was settled.
    last: Origin,
    /// Whether the packet is resubmitted, and so the only one.
    is_resubmitted: bool,
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

/// What is kept so that nothing is allocated for a burst. A resubmitted packet needs another burst while that of its
/// pass before is not finished.
#[derive(Default)]
pub(crate) struct AgainBuffers(Vec<Buffers>);

struct Buffers {
    burst: Burst,
    verdicts: Vec<VerdictRun>,
    again: Again,
}

impl Buffers {
    fn new(packets: usize) -> Buffers {
        Buffers {
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
        if !self.worker.has_fast_path_of_returns() || !self.stages.slow.resubmitted.is_empty() {
            return;
        }
        // A packet that takes the slow path must not find others there.
        let mut entering = std::mem::take(&mut self.stages.slow.entering);
        while let Some(first) = entering.front()
            && self.room_to_pass::<T>().is_some()
        {
            let ingress_port = first.arguments.ingress_port;
            let is_of_port = |packet: &&IngressPacket| packet.arguments.ingress_port == ingress_port;
            let count = entering.iter().take(self.config.burst).take_while(is_of_port).count();
            let began_ns = self.delays.arrival(count as u64);
            let arrival = self.arrival(ingress_port, now_ns);
            let mut buffers = self.buffers_again();
            buffers.again.is_resubmitted = false;
            buffers.again.waiting.extend(entering.drain(..count));
            self.pass_burst_again(buffers, arrival, now_ns, (tracer, activity));
            self.delays.burst_ends(began_ns);
        }
        self.stages.slow.entering = entering;
    }

    /// Takes the packet that was just resubmitted, if there is one, to its end or its queue, and then that which is made
    /// of it by a further resubmission, and so on.
    #[inline]
    pub(crate) fn pass_resubmitted<T: Tracer>(&mut self, settling: &mut Settling<'_, T>) {
        let is_last = settling.again.as_ref().is_some_and(|again| again.is_resubmitted);
        if !is_last && !self.stages.slow.resubmitted.is_empty() {
            self.pass_all_resubmitted(settling);
        }
    }

    #[cold]
    fn pass_all_resubmitted<T: Tracer>(&mut self, settling: &mut Settling<'_, T>) {
        while let Some(packet) = self.stages.slow.resubmitted.pop_front() {
            if self.worker.has_fast_path_of_returns() && self.room_to_pass::<T>().is_some() {
                let mut buffers = self.buffers_again();
                buffers.again.is_resubmitted = true;
                buffers.again.waiting.push_back(packet);
                let around = (&mut *settling.tracer, &mut *settling.activity);
                self.pass_burst_again(buffers, settling.arrival, settling.now_ns, around);
            } else {
                self.stages.slow.resubmitted.push_front(packet);
                let (ingress, egress) = self.run_entering(settling.now_ns, settling.tracer);
                settling.activity.ingress += ingress;
                settling.activity.egress += egress;
            }
            settling.activity.egress += self.run_queues(settling.now_ns, settling.tracer);
        }
    }

    fn buffers_again(&mut self) -> Buffers {
        let kept = self.stages.again.0.pop();
        kept.unwrap_or_else(|| Buffers::new(self.config.burst))
    }

    /// Lets packets take the fast path in a burst, as far as possible.
    fn pass_burst_again<T: Tracer>(
        &mut self,
        mut buffers: Buffers,
        arrival: Arrival,
        now_ns: u64,
        (tracer, activity): (&mut T, &mut Activity),
    ) {
        let Buffers { burst, verdicts, again } = &mut buffers;
        for packet in &*again.waiting.make_contiguous() {
            let place = burst.allocate().expect("a burst holds them");
            place.set_data(&packet.bytes);
        }
        let mut settling = Settling {
            arrival,
            now_ns,
            tracer,
            activity,
            again: Some(again),
        };
        self.settle_burst(burst.as_mut_slice(), verdicts, &mut settling);
        burst.clear();
        self.stages.again.0.push(buffers);
    }
}
