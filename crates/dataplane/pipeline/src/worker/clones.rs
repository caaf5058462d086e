//! Clones of packets on the fast path. The clones of a burst are noted, and are then processed together, in buffers of
//! their own, by [specialised code](crate::straight::clones). Until that is compiled, or where it bails out, they take
//! the slow path.

use super::fast_path::{Arrival, PacketVerdict};
use super::frames::frames;
use super::left_out::LeftOut;
use super::pass::finish;
use super::{Session, Worker};
use crate::graph::Outcome;
use crate::load::Options;
use crate::machine_code::{FramesOfClones, MachineCode};
use crate::objects::View;
use crate::outcome::{DropReason, IngressDecision};
use crate::packet::{IngressArguments, Origin, Preserved};
use crate::scratch::Scratch;
use crate::straight::clone_head::Head;
use forebay_exec::Tracer;
use forebay_ir::Architecture;
use forebay_ir::pipeline::Entry;
use forebay_jit::{BURST_MAX, FastPath, FastPathCode, NotedClones, SentBack, Verdict};
use forebay_packet::{Burst, Packet};
use std::ops::Range;

/// The most clones that are made together, and the most packets beside them.
const CLONES_MAX: usize = 1024;

/// The result for a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cloned {
    /// The index of its packet in the burst.
    pub place: usize,
    /// Whether it comes after its packet, like clones from egress; clones from ingress come before it.
    pub goes_after: bool,
    /// The port to which its session sends it.
    pub port: u32,
    /// The verdict: it leaves, was dropped (and counted), or takes the slow path: see [`Session::clone`].
    pub verdict: PacketVerdict,
    /// Its session, and the index of the port in the session.
    session: (u32, usize),
}

/// The clones of a burst.
#[derive(Debug)]
pub(super) struct Clones {
    pub(super) noted: NotedClones,
    made: Vec<Cloned>,
    /// The frames of the clones are the spares of this burst.
    burst: Burst,
    /// The memory of the code that processes them.
    memory: forebay_jit::Memory,
    left_out: LeftOut,
}

impl Default for Clones {
    fn default() -> Clones {
        Clones {
            noted: NotedClones::default(),
            made: Vec::new(),
            burst: Burst::new(CLONES_MAX),
            memory: forebay_jit::Memory::default(),
            left_out: LeftOut::default(),
        }
    }
}

/// The most packets to take together, if each may have this many copies and clones, and there is room for `room` of
/// them.
pub(super) fn packets_together(copies: usize, clones: usize, room: usize) -> usize {
    room.min(CLONES_MAX) / (copies.max(1) + clones)
}

impl Clones {
    /// Processes the noted clones.
    pub(super) fn run(
        &mut self,
        code: &MachineCode,
        view: &View<'_>,
        (arrival, options): (&Arrival, &Options),
        scratch: &mut Scratch,
        sent_back: &mut SentBack,
        count_drop: impl Fn(DropReason),
    ) {
        self.make(code, view, options, &count_drop);
        let Some(forms) = code.forms_of_clones() else { return };
        if self.made.is_empty() {
            return;
        }
        let Scratch {
            requests,
            buffers,
            rewritten,
            ..
        } = scratch;
        let arguments = arrival.arguments();
        let packets = self.burst.spares_mut(self.made.len());
        let mut fast_path = FastPath::new(forms, view, requests, buffers, &mut self.memory);
        if let Some(order) = fast_path.wanted() {
            code.want_for_clones(order);
        }
        Packet::make_headroom_in_all(packets, fast_path.headroom());
        let mut done = 0;
        while done < packets.len() {
            let behind = packets.len().min(done + BURST_MAX);
            let rest = &mut packets[done..behind];
            // SAFETY: every packet has its own buffer, with this much headroom, and its descriptor says where its
            // frame is.
            let ran = unsafe { fast_path.run(frames(rest), arguments) };
            for (index, packet) in rest[..ran].iter_mut().enumerate() {
                let verdict = fast_path.verdict(index);
                if let Verdict::BailedOut(reason) = verdict {
                    let path = fast_path.path_left_out(index);
                    self.left_out.note(fast_path.code(), reason, path);
                }
                let verdict = finish(
                    options.packet_limit as usize,
                    &mut fast_path,
                    rewritten,
                    packet,
                    verdict,
                );
                if let Some(reason) = verdict.drop_reason() {
                    count_drop(reason);
                }
                self.made[done + index].verdict = verdict;
            }
            done += ran;
            let bailed_out = self.made[done - 1].verdict == PacketVerdict::SlowPath;
            if bailed_out && code.first().is_some_and(FastPathCode::keeps_order_of_clones) {
                // Later clones take the slow path, too.
                break;
            }
        }
        fast_path.take_sent_back(sent_back);
        if let Some(left_out) = self.left_out.report(fast_path.code(), done) {
            code.want_paths_for_clones(&left_out);
        }
    }

    /// Whether some clones take the slow path, and the clones of later packets must be executed after them.
    pub(super) fn wait_in_order(&self, code: &MachineCode) -> bool {
        let waits = |clone: &Cloned| clone.verdict == PacketVerdict::SlowPath;
        self.made.iter().any(waits) && code.first().is_some_and(FastPathCode::keeps_order_of_clones)
    }

    /// Builds the frames of the clones, as they enter.
    fn make(&mut self, code: &MachineCode, view: &View<'_>, options: &Options, count_drop: &impl Fn(DropReason)) {
        self.made.clear();
        let frames = code.frames_of_clones();
        let head = code.head();
        let sessions = &view.snapshot.replication.clone_sessions;
        for clone in self.noted.iter() {
            if clone.from_egress && options.clone_limit == 0 {
                count_drop(DropReason::CloneLimit);
                continue;
            }
            let Some(session) = sessions.get(&clone.session) else {
                count_drop(DropReason::NoCloneSession);
                continue;
            };
            let mut noted = self.noted.bytes_of(clone);
            if frames != FramesOfClones::OfV1model {
                let before = head.bytes() - Head::FIXED_BYTES;
                if noted.len() - before > options.packet_limit as usize {
                    // The packet with this frame does not leave either.
                    continue;
                }
                let limit = session.packet_length_bytes.map_or(usize::MAX, |limit| limit as usize);
                noted = &noted[..noted.len().min(before.saturating_add(limit))];
            }
            let has_head = frames != FramesOfClones::Leave;
            let length = if has_head { Head::FIXED_BYTES } else { 0 } + noted.len();
            for (index, replica) in session.replicas.iter().enumerate() {
                let place = self.made.len();
                let packet = &mut self.burst.spares_mut(place + 1)[place];
                packet.reset();
                let target = packet.receive_room_behind(0, length);
                if has_head {
                    head.write((noted, clone.preserve, clone.from_egress), (session, *replica), target)
                } else {
                    target.copy_from_slice(noted)
                }
                packet.set_received(length);
                self.made.push(Cloned {
                    place: clone.place,
                    goes_after: clone.from_egress,
                    port: replica.egress_port,
                    verdict: if has_head {
                        PacketVerdict::SlowPath
                    } else {
                        PacketVerdict::Transmit(replica.egress_port)
                    },
                    session: (clone.session, index),
                });
            }
        }
        self.noted.clear();
    }
}

impl Worker {
    /// The clones of the packets that the last [`Worker::pass`] has taken, in the order of these packets.
    #[inline]
    pub fn clones(&self) -> &[Cloned] {
        &self.fast.clones.made
    }

    /// The frames of the clones from `start` up to but not including `end`. They may be exchanged for others.
    pub fn frames_of_clones(&mut self, start: usize, end: usize) -> &mut [Packet] {
        &mut self.fast.clones.burst.spares_mut(end)[start..]
    }

    /// Some of the clones, with their frames.
    pub fn clones_with_frames(&mut self, clones: Range<usize>) -> (&mut [Packet], &[Cloned]) {
        let Clones { made, burst, .. } = &mut self.fast.clones;
        let frames = &mut burst.spares_mut(clones.end)[clones.start..];
        (frames, &made[clones])
    }

    /// Forgets the clones.
    pub fn forget_clones(&mut self) {
        self.fast.clones.made.clear();
    }
}

impl Session<'_> {
    /// Processes a clone that takes the slow path, of a packet of this origin, up to its queue. Reports the
    /// decisions about it. `frame` is the clone's frame from [`Worker::frames_of_clones`].
    pub fn clone<T: Tracer>(
        &mut self,
        (clone, frame): (Cloned, &[u8]),
        arguments: IngressArguments,
        origin: Origin,
        mut decide: impl FnMut(IngressDecision),
        tracer: &mut T,
    ) {
        let code = self.burst.pipeline.code.as_ref().expect("the fast path has cloned it");
        let program = &self.burst.pipeline.program;
        let has_headers = clone.goes_after && program.architecture == Architecture::V1Model;
        let from_egress = has_headers.then(|| code.head().beginning(program, frame));
        let entry = if clone.goes_after {
            Entry::CloneEgress
        } else {
            Entry::CloneIngress
        };
        let received = &frame[code.head().bytes()..];
        // With room for headers before it.
        let mut bytes = self.scratch.pool.buffer();
        bytes.extend_from_slice(from_egress.as_ref().map_or(received, |clone| clone.payload));
        let mut packet = self.scratch.packet(bytes, arguments);
        (packet.tag, packet.passes) = (origin.tag, origin.passes);
        let kept = code.head().kept_by(frame);
        let mut sink = |outcome: Outcome| decide(outcome.before_queue());
        let walk = self.scratch.walk(self.burst, &mut sink, tracer);
        walk.clone_noted(packet, clone.session, Preserved(kept), entry, from_egress);
    }
}
