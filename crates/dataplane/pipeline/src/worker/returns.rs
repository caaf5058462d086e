//! Packets that the fast path sends back to ingress. It has completed their pass, and has noted what they keep for the
//! next one, which goes through [specialised code](crate::straight::returns) of its own, if there is any.

use super::fast_path::{Arrival, Leaving, PacketVerdict, VerdictRun};
use super::frames::length_bits;
use super::left_out::LeftOut;
use super::specialised::{Again, SpecialisedBurst};
use super::usefulness::Usefulness;
use super::{Worker, end_burst};
use crate::objects::View;
use crate::outcome::DropReason;
use crate::packet::{Contents, IngressArguments, IngressPacket, InstanceType, Origin};
use crate::paths::PathCounters;
use forebay_jit::SentBack;
use forebay_packet::Packet;

/// How a packet of the fast path begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// Resubmitted, before the next packet. The number is that of its note.
    Resubmitted(u32),
    /// Recirculated, in the next poll. The number is that of its note.
    Recirculated(u32),
    /// Recirculated by a [port](Worker::goes_round_by). It keeps no metadata.
    ByPort,
}

/// What is noted of packets that begin again, and how they went through their fast path.
#[derive(Debug, Default)]
pub(super) struct Returns {
    /// Packets, and copies of them.
    pub(super) of_packets: SentBack,
    /// Clones.
    pub(super) of_clones: SentBack,
    pub(super) left_out: LeftOut,
    pub(super) usefulness: Usefulness,
    /// Their passes by variant and reason. [`Worker::paths`] counts only first passes like this.
    pub(super) paths: PathCounters,
}

impl Worker {
    /// A packet of the last [`Worker::pass`] that begins again with this frame. `is_clone` says that it is one of the
    /// [clones](Worker::clones).
    ///
    /// # Errors
    /// If it has reached a limit; the drop is counted.
    pub fn begins_again(
        &mut self,
        (how, is_clone): (Return, bool),
        frame: &[u8],
        arguments: IngressArguments,
        origin: Origin,
    ) -> Result<IngressPacket, DropReason> {
        let options = &self.pipeline.options;
        let (passes, is_too_often, reason) = match how {
            Return::Resubmitted(_) => {
                let passes = origin.passes.resubmitted();
                let is_too_often = passes.resubmissions > options.resubmit_limit;
                (passes, is_too_often, DropReason::ResubmitLimit)
            }
            Return::Recirculated(_) | Return::ByPort => {
                let passes = origin.passes.recirculated();
                let is_too_often = passes.recirculations > options.recirculate_limit;
                (passes, is_too_often, DropReason::RecirculateLimit)
            }
        };
        if is_too_often {
            self.count_drop(reason);
            return Err(reason);
        }
        let mut bytes = self.buffer();
        bytes.extend_from_slice(frame);
        let mut packet = self.packet(bytes, arguments);
        packet.tag = origin.tag;
        packet.passes = passes;
        packet.instance_type = match how {
            Return::Resubmitted(_) => InstanceType::Resubmitted,
            Return::Recirculated(_) | Return::ByPort => InstanceType::Recirculated,
        };
        if let Return::Resubmitted(note) | Return::Recirculated(note) = how {
            self.take_kept(note, is_clone, &mut packet);
        }
        Ok(packet)
    }

    /// Whether packets that begin again may be able to take the fast path. The first call starts compiling it.
    pub fn has_fast_path_of_returns(&self) -> bool {
        let code = self.pipeline.code.as_ref();
        code.is_some_and(|code| code.forms_of_returns().is_some())
    }

    /// Takes packets that begin again through the fast path, like [`Worker::pass`]. `packets` have the frames of
    /// `again`. A packet with the verdict [`PacketVerdict::SlowPath`] is unchanged in `again`.
    pub fn pass_again(
        &mut self,
        packets: &mut [Packet],
        again: &[IngressPacket],
        arrival: Arrival,
        room: usize,
        verdicts: &mut Vec<VerdictRun>,
    ) -> Option<Leaving> {
        let code = self.pipeline.code.as_ref()?;
        let (forms, before_frame) = code.forms_of_returns()?;
        if !self.fast.returns.usefulness.pays() {
            // The first of them takes the slow path; the others come again.
            self.fast.returns.usefulness.rest(1, code.generation_of_returns());
            return None;
        }
        let pin = self.reader.pin_again();
        let view = View::of_burst(&self.pipeline, &pin, self.scratch.shard, &self.arrays);
        let burst = SpecialisedBurst {
            pipeline: &self.pipeline,
            code,
            forms,
            view: &view,
            pin: &pin,
            arrival,
            bits: length_bits(packets),
            again: Some(Again {
                before_frame,
                packets: again,
            }),
        };
        let (leaving, _) = self.fast.pass(burst, &mut self.scratch, packets, room, verdicts);
        drop(view);
        end_burst(pin, self.stays_pinned);
        self.learn(arrival.timestamp_us * 1_000);
        let is_fast = |run: &&VerdictRun| run.verdict != PacketVerdict::SlowPath;
        let settled: usize = verdicts.iter().filter(is_fast).map(|run| run.packets).sum();
        let passed = settled + leaving.map_or(0, |leaving| leaving.packets);
        for packet in &again[..passed] {
            self.scratch.further_passes.count(packet.instance_type());
        }
        self.scratch.further_passes.fast += passed as u64;
        leaving
    }

    /// Gives a packet the metadata that its note keeps.
    fn take_kept(&self, note: u32, is_clone: bool, packet: &mut Contents) {
        let notes = if is_clone {
            &self.fast.returns.of_clones
        } else {
            &self.fast.returns.of_packets
        };
        let (preserve, values) = notes.note(note);
        let code = self.pipeline.code.as_ref().expect("the fast path has sent it back");
        packet.kept_bytes.extend_from_slice(values);
        code.kept_by_returns().clear_others(preserve, &mut packet.kept_bytes);
    }
}
