//! Bursts through a compiled graph, each packet in its own buffer and past empty queues.
//!
//! Packets are processed one after another, each to its end. A packet stops if it needs more than its buffer: if it is
//! copied, cloned, queued or goes round again, or has something for the control plane. It is then moved to memory of
//! its own, and continues from there ([`Continued`]) before the next packet begins.

use super::compiled::stop_of;
use super::{Outcome, PacketInfo, Start};
use crate::load::Pipeline;
use crate::objects::View;
use crate::outcome::{DropReason, EgressDecision, IngressDecision};
use crate::packet::{Contents, EgressArguments, IngressArguments, InstanceType, Passes};
use crate::paths::FastForm;
use crate::pool::Pool;
use crate::scratch::Scratch;
use crate::straight::side_exit::SideExit;
use crate::worker::{
    Arrival, Burst, Leaving, PacketVerdict, PassedQueue, VerdictRun, Worker, WorkerScratch, end_burst,
};
use forebay_exec::{PacketFacts, Random, Requests, Seed, State, Tracer};
use forebay_ir::pipeline::{Argument, End, Entry, Finish, Graph};
use forebay_jit::GoingOn;
use forebay_jit::graph::{At, FrameInPlace, GraphPacket, GraphPass, GraphSite, GraphStop};
use forebay_packet::Packet;

/// A packet of a burst that has stopped, and what is known about it.
#[derive(Debug)]
pub(crate) struct Continued {
    packet: Box<Contents>,
    stop: Stopped,
    egress: Option<EgressArguments>,
    parser_error: u32,
    random: Random,
}

/// Where a packet has stopped.
#[derive(Debug)]
enum Stopped {
    InGraph(GraphStop),
    /// After ingress, with these requests.
    BehindIngress(At, Requests),
}

impl Continued {
    /// A packet that leaves specialised code after ingress. It is given with its number in the burst.
    pub(crate) fn after_ingress(
        exit: &SideExit,
        noted: &GoingOn,
        (frame, number): (&[u8], usize),
        arrival: Arrival,
        (pool, like): (&mut Pool, &State),
    ) -> Continued {
        let number = arrival.first_packet.wrapping_add(number as u64);
        let facts = Contents {
            arguments: arguments_of(arrival, number),
            tag: number,
            payload_bit: noted.cursor,
            ingress_length: frame.len() as u32,
            ..Contents::default()
        };
        let mut packet = own(pool, &facts, frame);
        let mut state = pool.any_state(like);
        let requests = exit.take(noted, &mut state);
        packet.state = Some(state);
        Continued {
            packet,
            stop: Stopped::BehindIngress(exit.at(), requests),
            egress: None,
            parser_error: 0,
            random: exit.random(noted, facts.arguments.random_seed),
        }
    }

    /// A packet that has stopped in general code, without its state. It is given with its number.
    fn in_graph(
        pass: &GraphPass<'_>,
        stop: GraphStop,
        (frame, number): (&[u8], u64),
        arrival: Arrival,
        pool: &mut Pool,
    ) -> Continued {
        let at_queue = EgressArguments {
            timestamp_us: arrival.timestamp_us,
            enq_timestamp_us: arrival.timestamp_us,
            ..EgressArguments::default()
        };
        let after_queue = pass.has_passed_queue();
        let (egress_port, priority) = if after_queue { queue_of(pass) } else { (0, 0) };
        let facts = Contents {
            arguments: arguments_of(arrival, number),
            tag: number,
            egress_port,
            priority,
            payload_bit: pass.cursor(),
            ingress_length: pass.length_bytes(),
            ..Contents::default()
        };
        Continued {
            packet: own(pool, &facts, frame),
            stop: Stopped::InGraph(stop),
            egress: after_queue.then_some(at_queue),
            parser_error: pass.argument(Argument::ParserError) as u32,
            random: pass.random(),
        }
    }

    /// The packet's arrival time.
    pub(crate) fn timestamp_us(&self) -> u64 {
        self.packet.arguments.timestamp_us
    }

    /// The packet's port, if it is after a queue.
    pub(crate) fn egress_port(&self) -> Option<u32> {
        self.egress.map(|_| self.packet.egress_port)
    }
}

impl Worker {
    /// Does the same as [`Worker::pass`], in general code.
    pub(crate) fn pass_in_general(
        &mut self,
        packets: &mut [Packet],
        arrival: Arrival,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        let leaving = self.pass_uncounted(packets, arrival, verdicts);
        let others = verdicts.iter().map(|run| run.packets).sum::<usize>();
        let taken = leaving.map_or(others, |leaving| leaving.packets);
        self.fast.paths.count_fast(FastForm::General, taken as u64);
        leaving
    }

    /// Does this without counting the packets by their paths.
    pub(crate) fn pass_uncounted(
        &mut self,
        packets: &mut [Packet],
        arrival: Arrival,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        let Worker {
            pipeline,
            reader,
            arrays,
            locations,
            scratch,
            fast,
            stays_pinned,
            ..
        } = self;
        let code = pipeline.code.as_ref()?.general_for_bursts()?;
        let pin = reader.pin_again();
        let view = View::of_burst(pipeline, &pin, scratch.shard, arrays);
        let burst = GraphBurst {
            pipeline,
            view: &view,
            site: GraphSite::new(code, &view, locations),
            scratch,
            arrival,
        };
        let before = verdicts.len();
        fast.continued = burst.pass(packets, verdicts, &mut fast.passed_queues);
        for run in &verdicts[before..] {
            if let Some(reason) = run.verdict.drop_reason() {
                pipeline.drops().count_many(scratch.shard, reason, run.packets as u64);
            }
        }
        drop(view);
        end_burst(pin, *stays_pinned);
        match verdicts[..] {
            [
                VerdictRun {
                    verdict: PacketVerdict::Transmit(port),
                    packets: count,
                },
            ] if count == packets.len() => {
                verdicts.clear();
                Some(Leaving { port, packets: count })
            }
            _ => None,
        }
    }
}

/// A burst on its way.
struct GraphBurst<'w, 'a> {
    pipeline: &'a Pipeline,
    view: &'a View<'a>,
    site: GraphSite<'a>,
    scratch: &'w mut WorkerScratch,
    arrival: Arrival,
}

impl GraphBurst<'_, '_> {
    /// Takes packets through the graph: either all of them, or up to a packet that continues on its own, whose verdict
    /// is [`PacketVerdict::GoesOn`].
    fn pass(
        self,
        packets: &mut [Packet],
        verdicts: &mut Vec<VerdictRun>,
        passed_queues: &mut Vec<PassedQueue>,
    ) -> Option<Continued> {
        let graph = self.pipeline.program.graph.as_ref().expect("it has been compiled");
        let arrival = self.arrival;
        let mut state = self.scratch.pool.any_state(&self.pipeline.storage.zero);
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = &mut self.scratch.scratch;
        let length_max = self.pipeline.options.packet_limit;
        let mut pass = GraphPass::new(self.site, self.view, length_max, requests, buffers, memory);
        set_arguments_of_arrival(&mut pass, arrival);
        let entrance = self.site.code.entry(Entry::Arrival);
        let first = verdicts.len();
        let mut stopped = None;
        for (packet, number) in packets.iter_mut().zip(arrival.first_packet..) {
            let seed = Seed::of_packet(arrival.random_seed, number).value();
            let stop = enter(&mut pass, packet, (entrance, seed), arrival.timestamp_us, &mut state);
            if pass.has_passed_queue() {
                note_queue(passed_queues, &pass);
            }
            let Some(verdict) = verdict(&mut pass, graph, stop) else {
                stopped = Some((stop, packet, number));
                break;
            };
            note(verdicts, first, verdict);
        }
        let Some((stop, packet, number)) = stopped else {
            self.scratch.pool.recycle_state_alone(state);
            return None;
        };
        note(verdicts, first, PacketVerdict::GoesOn);
        let pool = &mut self.scratch.pool;
        let mut continued = Continued::in_graph(&pass, stop, (packet.data(), number), arrival, pool);
        continued.packet.state = Some(state);
        self.scratch.exchange_aside();
        Some(continued)
    }
}

/// The arguments of a packet that arrives with this number.
fn arguments_of(arrival: Arrival, number: u64) -> IngressArguments {
    IngressArguments {
        ingress_port: arrival.ingress_port,
        timestamp_us: arrival.timestamp_us,
        random_seed: Seed::of_packet(arrival.random_seed, number).value(),
    }
}

/// A packet in memory of its own.
fn own(pool: &mut Pool, facts: &Contents, frame: &[u8]) -> Box<Contents> {
    let mut own = pool.packet();
    own.copy_facts(facts);
    own.passes = Passes::default();
    own.instance_type = InstanceType::Normal;
    own.bytes = pool.buffer();
    own.bytes.extend_from_slice(frame);
    own
}

/// Sets the switch's arguments for arriving packets.
fn set_arguments_of_arrival(pass: &mut GraphPass<'_>, arrival: Arrival) {
    pass.pass_queues(Some(arrival.last_queue.into()));
    pass.set_argument(Argument::IngressPort, arrival.ingress_port.into());
    for argument in [
        Argument::ReplicaPort,
        Argument::ReplicaInstance,
        Argument::Session,
        Argument::SessionClass,
        Argument::SessionLimit,
    ] {
        pass.set_argument(argument, 0);
    }
    pass.set_argument(Argument::TimeUs, arrival.timestamp_us);
    pass.keep(&[]);
}

/// Takes a packet through the graph until it stops.
#[inline]
fn enter(
    pass: &mut GraphPass<'_>,
    packet: &mut Packet,
    (entrance, seed): (usize, u64),
    timestamp_us: u64,
    state: &mut State,
) -> GraphStop {
    let headroom = packet.headroom();
    let frame = packet.data_mut();
    let (start, length) = (frame.as_mut_ptr(), frame.len());
    let input = GraphPacket {
        frame: FrameInPlace {
            start,
            length,
            floor: start.wrapping_sub(headroom),
        },
        cursor: 0,
        facts: PacketFacts {
            length_bytes: length as u32,
            timestamp_us,
        },
        random: Random::new(seed),
        seed,
    };
    pass.begin();
    pass.set_argument(Argument::ParserError, 0);
    // SAFETY: the frame and the room before it belong to the packet.
    let stop = unsafe { pass.run(entrance, input, state) };
    let (start_now, length) = pass.frame();
    packet.place_data(headroom + start_now.addr() - start.addr(), length);
    stop
}

/// The verdict on a packet; `None` when it continues on its own.
#[inline]
fn verdict(pass: &mut GraphPass<'_>, graph: &Graph, stop: GraphStop) -> Option<PacketVerdict> {
    match stop {
        // What the packet took for table entries must be given back.
        GraphStop::StepLimit | GraphStop::AssertFailed if pass.requests().has_digests() => None,
        GraphStop::End(block) => match &graph.block(block).end {
            End::Finish(Finish::Transmit { .. }) => Some(PacketVerdict::Transmit(pass.end_values()[0] as u32)),
            End::Finish(Finish::Drop(reason)) => {
                Some(match super::drop_reason(pass.end_values()[0], reason.otherwise) {
                    DropReason::EgressDrop => PacketVerdict::EgressDrop(pass.argument(Argument::EgressPort) as u32),
                    reason => PacketVerdict::Drop(reason),
                })
            }
            _ => None,
        },
        GraphStop::Op(_) => None,
        GraphStop::StepLimit => Some(PacketVerdict::Drop(DropReason::StepLimit)),
        GraphStop::AssertFailed => Some(PacketVerdict::Drop(DropReason::AssertFailed)),
    }
}

/// The port and the queue that the packet has passed.
#[inline]
fn queue_of(pass: &GraphPass<'_>) -> (u32, u8) {
    (
        pass.argument(Argument::EgressPort) as u32,
        pass.argument(Argument::Class) as u8,
    )
}

/// Counts a packet that has passed a queue.
#[inline]
fn note_queue(passed_queues: &mut Vec<PassedQueue>, pass: &GraphPass<'_>) {
    let (port, class) = queue_of(pass);
    let is_it = |queue: &&mut PassedQueue| (queue.port, queue.class) == (port, class);
    match passed_queues.iter_mut().rev().find(is_it) {
        Some(queue) => queue.packets += 1,
        None => passed_queues.push(PassedQueue {
            port,
            class,
            packets: 1,
        }),
    }
}

/// Adds a packet with this verdict. Runs before `first` belong to other calls.
#[inline]
fn note(verdicts: &mut Vec<VerdictRun>, first: usize, verdict: PacketVerdict) {
    match verdicts[first..].last_mut() {
        Some(run) if run.verdict == verdict => run.packets += 1,
        _ => verdicts.push(VerdictRun { verdict, packets: 1 }),
    }
}

impl WorkerScratch {
    /// Exchanges the requests and the output of the current packet for those that are set aside. Clones of earlier
    /// packets may be executed before a packet that has stopped continues.
    fn exchange_aside(&mut self) {
        let (requests, output) = &mut self.aside;
        std::mem::swap(requests, &mut self.scratch.requests);
        std::mem::swap(output, &mut self.scratch.buffers.output);
    }

    /// Continues a packet that has stopped. Reports the decisions about it, for the side of the queue on which it is.
    pub(crate) fn continue_packet<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        continued: Continued,
        before_queue: &mut impl FnMut(IngressDecision),
        after_queue: &mut impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        let Continued {
            mut packet,
            stop,
            egress,
            parser_error,
            random,
        } = continued;
        let mut info = PacketInfo {
            egress: egress.as_ref(),
            parser_error,
            ..PacketInfo::new(random)
        };
        let mut sink = |outcome: Outcome| match egress {
            None => before_queue(outcome.before_queue()),
            Some(_) => after_queue(outcome.after_queue()),
        };
        if matches!(stop, Stopped::InGraph(_)) {
            self.exchange_aside();
        }
        let mut walk = self.walk(burst, &mut sink, tracer);
        match stop {
            Stopped::InGraph(stop) => {
                let (stop, behind) = stop_of(walk.graph, stop);
                // At an end the packet does not continue.
                let from = behind.map_or(Start::Entry(Entry::Arrival), Start::Place);
                walk.go_on_from(packet, &mut info, stop, from);
            }
            Stopped::BehindIngress(at, requests) => {
                walk.scratch.scratch.requests = requests;
                walk.scratch.scratch.buffers.output.clear();
                let mut from = Start::Place(at);
                let stop = match at.op {
                    // Machine code has no entrance there. No body runs up to the clone.
                    0 => walk.advance_interpreted(&mut packet, &mut info, &mut from),
                    _ => walk.advance(&mut packet, &mut info, &mut from),
                };
                walk.go_on_from(packet, &mut info, stop, from);
            }
        }
    }
}
