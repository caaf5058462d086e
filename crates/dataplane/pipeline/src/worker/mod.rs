//! Workers, which process packets with a pipeline.
//!
//! [`Worker::ingress`] is everything from the frame to the traffic manager, and [`Worker::egress`] everything after
//! it: the slow path. [`Worker::pass`] does both for packets of a burst that find queues empty: the fast path, in
//! specialised code (`specialised.rs`) or in general code. Workers decide and count; queues, ports and time belong to
//! the switch.

mod asking;
mod clones;
mod copies;
mod fast_path;
mod flow;
mod frames;
mod left_out;
mod pass;
mod returns;
mod specialised;
mod steady;
mod usefulness;

use crate::control::learning::LearnedList;
use crate::frame_buffer::FrameBuffer;
use crate::graph::{Continued, Outcome, Walk};
use crate::load::Pipeline;
use crate::machine_code::MachineCode;
use crate::objects::View;
use crate::outcome::{Decided, DigestMessage, DropReason, EgressDecision, IngressDecision};
use crate::packet::{
    EgressArguments, EgressPacket, IngressArguments, IngressPacket, InstanceType, LeavingPacket, Passes, QueuedPacket,
};
use crate::paths::{FurtherPasses, PathCounters, SlowReason};
use crate::pool::Pool;
use crate::scratch::Scratch;
pub use clones::Cloned;
pub use copies::Copied;
pub use fast_path::{Arrival, Leaving, PacketVerdict, PassedQueue, VerdictRun};
pub use flow::FlowKey;
use forebay_exec::{BitBuffer, DigestRequest, Event, Requests, Tracer};
use forebay_ir::Recipient;
use forebay_jit::graph::GraphSite;
use forebay_jit::{Arrays, Memory, TableLocations};
use forebay_tables::{Pin, Reader};
pub use returns::Return;
use specialised::FastPathMemory;
use std::sync::Arc;

/// Runs packets through a shared pipeline. Each thread has its own worker, with its own buffers.
#[derive(Debug)]
pub struct Worker {
    pub(crate) pipeline: Arc<Pipeline>,
    /// Announces when this worker reads tables.
    pub(crate) reader: Reader,
    pub(crate) stays_pinned: bool,
    /// Whether entries of any table expire.
    expires: bool,
    /// The addresses of registers and counters, for compiled code.
    pub(crate) arrays: Arrays,
    /// The locations of tables, for compiled code.
    pub(crate) locations: TableLocations,
    pub(crate) scratch: WorkerScratch,
    pub(crate) fast: FastPathMemory,
}

/// The parts of a worker that change during a burst; the burst borrows the others.
#[derive(Debug)]
pub(crate) struct WorkerScratch {
    /// The shard in which it counts.
    pub(crate) shard: usize,
    pub(crate) pool: Pool,
    pub(crate) scratch: Scratch,
    /// The memory of the code for packets that begin again.
    memory_again: Memory,
    /// The requests and the output of a packet that has stopped, and continues after others.
    pub(crate) aside: (Requests, BitBuffer),
    /// Requests of the burst's packets to tables.
    pub(crate) learned: LearnedList,
    further_passes: FurtherPasses,
    /// The time of the last packet of a session.
    now_ns: u64,
}

/// A packet that has stopped on the fast path and continues on its own: see [`Session::go_on`].
#[derive(Debug)]
pub struct GoingOn(Continued);

impl GoingOn {
    /// The port at which its drops are counted, if it is after a queue.
    pub fn egress_port(&self) -> Option<u32> {
        self.0.egress_port()
    }
}

/// A worker that processes packets one after another: see [`Worker::session`].
pub struct Session<'a> {
    scratch: &'a mut WorkerScratch,
    burst: Burst<'a>,
}

impl Session<'_> {
    /// Takes a packet through parser, checksum verification and ingress. Reports the decisions about it.
    pub fn ingress<T: Tracer>(
        &mut self,
        packet: IngressPacket,
        mut decide: impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        self.scratch.now_ns = packet.arguments.timestamp_us * 1_000;
        self.scratch.enter(self.burst, packet, &mut decide, tracer);
        self.burst.view.section.leave();
    }

    /// Processes a packet that continues on its own ([`PacketVerdict::GoesOn`]), up to a queue or its end. Reports the
    /// decisions about it, for the side of the queue on which it is.
    pub fn go_on<T: Tracer>(
        &mut self,
        packet: GoingOn,
        mut before_queue: impl FnMut(IngressDecision),
        mut after_queue: impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        let (burst, scratch) = (self.burst, &mut *self.scratch);
        scratch.now_ns = packet.0.timestamp_us() * 1_000;
        scratch.continue_packet(burst, packet.0, &mut before_queue, &mut after_queue, tracer);
        self.burst.view.section.leave();
    }

    /// Takes a packet through egress, checksum computation and deparser. Reports the decisions about it.
    pub fn egress<T: Tracer>(&mut self, packet: EgressPacket, mut decide: impl FnMut(EgressDecision), tracer: &mut T) {
        let EgressPacket { packet, arguments } = packet;
        self.scratch.now_ns = arguments.timestamp_us * 1_000;
        self.scratch
            .leave_queue(self.burst, packet, &arguments, &mut decide, tracer);
        self.burst.view.section.leave();
    }

    /// Whether packets have requested table entries. These are added when the session ends.
    pub fn has_learned(&self) -> bool {
        !self.scratch.learned.is_empty()
    }

    /// See [`Worker::count_drop`].
    #[inline]
    pub fn count_drop(&self, reason: DropReason) {
        self.scratch.count_drop(self.burst, reason);
    }

    /// See [`Worker::discard`].
    pub fn discard(&mut self, packet: QueuedPacket) {
        self.scratch.pool.recycle_packet(packet.0);
    }

    /// See [`Worker::recycle`].
    pub fn recycle(&mut self, packet: LeavingPacket) {
        self.scratch.pool.recycle_packet(packet.0);
    }
}

/// What all packets of a burst share.
#[derive(Clone, Copy)]
pub(crate) struct Burst<'a> {
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) view: &'a View<'a>,
    /// The compiled program, if there is one.
    graph_site: Option<GraphSite<'a>>,
}

impl<'a> Burst<'a> {
    /// The compiled program, if it is to be executed. A traced packet needs the interpreter, which reports every step.
    #[inline]
    pub(crate) fn graph_site<T: Tracer>(self) -> Option<GraphSite<'a>> {
        self.graph_site.filter(|_| !T::ON)
    }
}

impl Worker {
    /// A worker of a pipeline.
    pub fn new(pipeline: Arc<Pipeline>) -> Self {
        pipeline.stateful.sections.arrive(&pipeline.readers);
        let shard = pipeline.take_shard();
        Worker {
            arrays: pipeline.stateful.arrays(&pipeline.program, shard),
            reader: pipeline.readers.reader(),
            stays_pinned: false,
            expires: pipeline.learning.is_used(),
            locations: Default::default(),
            pipeline,
            scratch: WorkerScratch {
                shard,
                pool: Pool::default(),
                scratch: Scratch::default(),
                memory_again: Memory::default(),
                aside: Default::default(),
                learned: LearnedList::default(),
                further_passes: FurtherPasses::default(),
                now_ns: 0,
            },
            fast: FastPathMemory::default(),
        }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Takes a burst through parser, checksum verification and ingress, in order. Takes all packets and appends the
    /// decisions; those about one packet are consecutive.
    ///
    /// All packets of the burst see what the control plane had written when the burst began. What it writes meanwhile
    /// may be seen by some packets: of a table entry the old or the new form, never a mixture.
    pub fn ingress<T: Tracer>(
        &mut self,
        packets: &mut Vec<IngressPacket>,
        decisions: &mut Vec<Decided<IngressDecision>>,
        tracer: &mut T,
    ) {
        let decide = |packet, decision| decisions.push(Decided { packet, decision });
        self.ingress_each(packets.drain(..), decide, tracer);
    }

    /// Lets `run` take packets through both sides one after another, in any order. As in a burst, all of them see what
    /// the control plane had written before.
    pub fn session<R>(&mut self, run: impl FnOnce(&mut Session<'_>) -> R) -> R {
        let Worker {
            pipeline,
            reader,
            arrays,
            locations,
            scratch,
            ..
        } = self;
        let pin = reader.pin_again();
        let view = View::of_burst(pipeline, &pin, scratch.shard, arrays);
        let code = pipeline.code.as_ref().map(MachineCode::general);
        let burst = Burst {
            pipeline,
            view: &view,
            graph_site: code.map(|code| GraphSite::new(code, &view, locations)),
        };
        let result = run(&mut Session { scratch, burst });
        drop(view);
        end_burst(pin, self.stays_pinned);
        self.learn(self.scratch.now_ns);
        result
    }

    /// Does the same as [`Worker::ingress`], and passes the packet's index with each decision.
    pub fn ingress_each<T: Tracer>(
        &mut self,
        packets: impl Iterator<Item = IngressPacket>,
        mut decide: impl FnMut(usize, IngressDecision),
        tracer: &mut T,
    ) {
        let mut packets = packets.peekable();
        let now_ns = packets.peek().map_or(0, |packet| packet.arguments.timestamp_us * 1_000);
        self.expire(now_ns);
        self.burst(|scratch, burst| {
            for (index, packet) in packets.enumerate() {
                let mut decide = |decision| decide(index, decision);
                scratch.enter(burst, packet, &mut decide, tracer);
                burst.view.section.leave();
            }
        });
        self.learn(now_ns);
    }

    /// Deletes expired entries, up to a limit. No table is pinned meanwhile.
    #[inline]
    pub fn expire(&mut self, now_ns: u64) {
        if self.expires && self.pipeline.learning.is_due(now_ns) {
            self.rest();
            self.pipeline.expire(now_ns);
        }
    }

    /// Executes the requests of a burst's packets to tables, after the burst.
    fn learn(&mut self, now_ns: u64) {
        if !self.scratch.learned.is_empty() {
            self.rest();
            self.pipeline.learn(&mut self.scratch.learned, now_ns);
        }
    }

    /// Takes a burst through egress, checksum computation and deparser, in order. Takes all packets and appends the
    /// decisions; those about one packet are consecutive.
    pub fn egress<T: Tracer>(
        &mut self,
        packets: &mut Vec<EgressPacket>,
        decisions: &mut Vec<Decided<EgressDecision>>,
        tracer: &mut T,
    ) {
        let now_ns = packets
            .first()
            .map_or(0, |packet| packet.arguments.timestamp_us * 1_000);
        self.burst(|scratch, burst| {
            for (packet, dequeued) in packets.drain(..).enumerate() {
                let mut decide = |decision| decisions.push(Decided { packet, decision });
                scratch.leave_queue(burst, dequeued.packet, &dequeued.arguments, &mut decide, tracer);
                burst.view.section.leave();
            }
        });
        self.learn(now_ns);
    }

    /// Takes one packet through egress, checksum computation and deparser, like [`Worker::egress`].
    pub fn egress_of_one<T: Tracer>(
        &mut self,
        packet: QueuedPacket,
        arguments: &EgressArguments,
        mut decide: impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        self.burst(|scratch, burst| scratch.leave_queue(burst, packet, arguments, &mut decide, tracer));
        self.learn(arguments.timestamp_us * 1_000);
    }

    fn burst(&mut self, run: impl FnOnce(&mut WorkerScratch, Burst<'_>)) {
        let pipeline = &*self.pipeline;
        let pin = self.reader.pin_again();
        let view = View::of_burst(pipeline, &pin, self.scratch.shard, &self.arrays);
        let code = pipeline.code.as_ref().map(MachineCode::general);
        let burst = Burst {
            pipeline,
            view: &view,
            graph_site: code.map(|code| GraphSite::new(code, &view, &mut self.locations)),
        };
        run(&mut self.scratch, burst);
        drop(view);
        end_burst(pin, self.stays_pinned);
    }

    /// Keeps the tables pinned between bursts, which saves a fence for each. While they are pinned, waiting for
    /// readers (as an atomic batch does) blocks until this worker's next burst or until it [rests](Worker::rest).
    pub fn stay_pinned(&mut self, stays: bool) {
        self.stays_pinned = stays;
        self.rest();
    }

    /// Unpins the tables, so that writers need not wait for this worker before its next burst.
    #[inline]
    pub fn rest(&mut self) {
        self.reader.unpin();
    }

    /// Counts a drop of this worker, or of the switch around it.
    #[inline]
    pub fn count_drop(&self, reason: DropReason) {
        self.pipeline.drops().count(self.scratch.shard, reason);
    }

    /// Counts packets for which the fast path was not tried. [`Worker::pass`] counts the others.
    pub fn count_slow(&mut self, reason: SlowReason, packets: u64) {
        self.fast.paths.count_slow(reason, packets);
        let generation = self.pipeline.code.as_ref().map_or(0, MachineCode::generation);
        self.fast.usefulness.rest(packets, generation);
    }

    /// The packets of this worker, by the path that they took.
    pub fn paths(&self) -> PathCounters {
        let mut paths = self.fast.paths;
        paths.flow_misses = self.scratch.scratch.memory.flow_misses();
        paths.further_passes = self.scratch.further_passes;
        paths
    }

    /// An empty buffer for a packet's bytes. A returned buffer is reused, if there is one.
    pub fn buffer(&mut self) -> FrameBuffer {
        self.scratch.pool.buffer()
    }

    /// A packet that arrived at a port. Returned memory is reused, if there is any.
    pub fn packet(&mut self, bytes: FrameBuffer, arguments: IngressArguments) -> IngressPacket {
        self.scratch.packet(bytes, arguments)
    }

    /// Whether packets that leave the fast path by a port go round again. They do not leave the switch, but [begin
    /// again](Worker::begins_again) with the frame that they then have.
    pub fn goes_round_by(&self, port: u32) -> bool {
        self.pipeline.loop_port == Some(port)
    }

    /// Returns the memory of a packet that will not enter ingress, for later packets.
    pub fn discard_arrived(&mut self, packet: IngressPacket) {
        self.scratch.pool.recycle_packet(packet.0);
    }

    /// The bytes of a packet that will not enter ingress here.
    pub fn into_bytes(&mut self, mut packet: IngressPacket) -> FrameBuffer {
        let bytes = std::mem::take(&mut packet.bytes);
        self.discard_arrived(packet);
        bytes
    }

    /// Returns the memory of a packet that is dropped between ingress and egress, for later packets.
    pub fn discard(&mut self, packet: QueuedPacket) {
        self.scratch.pool.recycle_packet(packet.0);
    }

    /// Returns the memory of a packet that has left, for later packets.
    pub fn recycle(&mut self, packet: LeavingPacket) {
        self.scratch.pool.recycle_packet(packet.0);
    }

    /// A packet that leaves by a wire that leads back into the switch: it arrives as a new one.
    pub fn arrive_again(&mut self, packet: LeavingPacket, arguments: IngressArguments) -> IngressPacket {
        let mut packet = packet.0;
        packet.preserved.0.clear();
        packet.arguments = arguments;
        packet.instance_type = InstanceType::Normal;
        packet.passes = Passes::default();
        IngressPacket(packet)
    }
}

/// Ends a burst. The tables stay pinned until the next burst if `stays_pinned`.
#[inline]
pub(crate) fn end_burst(pin: Pin<'_>, stays_pinned: bool) {
    if stays_pinned { pin.keep() } else { drop(pin) }
}

impl WorkerScratch {
    /// Processes a packet from a port or a loop.
    fn enter<T: Tracer>(
        &mut self,
        burst: Burst<'_>,
        mut packet: IngressPacket,
        decide: &mut impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        self.further_passes.count(packet.instance_type());
        if !packet.kept_bytes.is_empty() {
            let code = burst.pipeline.code.as_ref().expect("the fast path has sent it back");
            code.restore_kept(&mut packet);
        }
        let mut sink = |outcome: Outcome| decide(outcome.before_queue());
        self.walk(burst, &mut sink, tracer).arrive(packet);
    }

    /// Processes a packet from a queue.
    fn leave_queue<'a, T: Tracer>(
        &mut self,
        burst: Burst<'a>,
        packet: QueuedPacket,
        arguments: &'a EgressArguments,
        decide: &mut impl FnMut(EgressDecision),
        tracer: &mut T,
    ) {
        let mut sink = |outcome: Outcome| decide(outcome.after_queue());
        self.walk(burst, &mut sink, tracer).leave_queue(packet, arguments);
    }

    /// A walk of a packet through the graph of the program's architecture; `sink` receives its outcomes.
    #[inline]
    pub(crate) fn walk<'w, 'a, T: Tracer>(
        &'w mut self,
        burst: Burst<'a>,
        sink: &'w mut dyn FnMut(Outcome),
        tracer: &'w mut T,
    ) -> Walk<'w, 'a, T> {
        let graph = burst.pipeline.program.graph.as_ref();
        Walk {
            scratch: self,
            burst,
            graph: graph.expect("it was attached when the program was loaded"),
            sink,
            tracer,
        }
    }

    fn packet(&mut self, bytes: FrameBuffer, arguments: IngressArguments) -> IngressPacket {
        let mut packet = self.pool.packet();
        packet.bytes = bytes;
        packet.arguments = arguments;
        packet.tag = 0;
        packet.instance_type = InstanceType::Normal;
        packet.passes = Passes::default();
        IngressPacket(packet)
    }

    /// After a pass: gives back what a failed packet has taken for an entry.
    #[inline]
    pub(crate) fn end_pass(&mut self, burst: Burst<'_>) {
        if !self.scratch.requests.digests.is_empty() {
            self.note_failed(burst);
        }
    }

    #[cold]
    fn note_failed(&mut self, burst: Burst<'_>) {
        let program = &burst.pipeline.program;
        let is_hold = |request: &DigestRequest| {
            let to = program.digests[request.digest.index()].to;
            matches!(to, Recipient::Number { .. } | Recipient::Share { .. })
        };
        let held = self.scratch.requests.digests.drain(..).filter(is_hold);
        held.for_each(|request| self.learned.request_values(&request));
        self.learned.end_packet();
    }

    /// Takes the digests of a packet. Those for tables are kept until no table is pinned; `send` gets the others.
    pub(crate) fn take_digests(&mut self, burst: Burst<'_>, mut send: impl FnMut(DigestMessage)) {
        let before = self.learned.len();
        for request in self.scratch.requests.digests.drain(..) {
            if burst.pipeline.program.is_for_table(request.digest) {
                self.learned.request_values(&request);
            } else {
                let DigestRequest { digest, values } = request;
                send(DigestMessage { digest, values });
            }
        }
        if self.learned.len() > before {
            self.learned.end_packet();
        }
        for _ in 0..std::mem::take(&mut self.scratch.requests.digests_lost) {
            self.count_drop(burst, DropReason::DigestLimit);
        }
    }

    #[inline]
    pub(crate) fn count_drop(&self, burst: Burst<'_>, reason: DropReason) {
        burst.pipeline.drops().count(self.shard, reason);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The pipeline may be dropped together with this worker, and its tables wait for their readers.
        self.rest();
        self.pipeline.stateful.sections.leave();
        self.pipeline.stateful.give_shard(self.scratch.shard);
    }
}

/// Reports a verdict to the tracer. The text is made only when tracing is on.
pub(crate) fn verdict<T: Tracer>(tracer: &mut T, text: impl FnOnce() -> String) {
    if T::ON {
        tracer.event(Event::Verdict { text: &text() });
    }
}
