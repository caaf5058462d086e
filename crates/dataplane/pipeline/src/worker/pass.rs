//! The packets of one call of [`Worker::pass`](super::Worker::pass): runs compiled code on them, and makes the switch's
//! verdicts from those of the code.

use super::asking::Asking;
use super::copies::Copies;
use super::fast_path::{Leaving, PacketVerdict, VerdictRun};
use super::frames::{all_fit, frames};
use super::left_out::LeftOut;
use super::returns::Return;
use super::specialised::Again;
use crate::outcome::DropReason;
use crate::paths::{FastForm, PathCounters, SlowReason};
use forebay_exec::{BitBuffer, Seed};
use forebay_jit::route::Arguments;
use forebay_jit::{FastPath, Rewriting, Verdict};
use forebay_packet::Packet;

/// The packets of a burst on the fast path.
pub(super) struct Pass<'a, 'b> {
    pub(super) fast_path: &'a mut FastPath<'b>,
    pub(super) asking: Asking<'a>,
    pub(super) rewritten: &'a mut BitBuffer,
    pub(super) copies: &'a mut Copies,
    /// The most bytes of a packet.
    pub(super) length_max: usize,
    /// See [`Arrival::random_seed`](super::Arrival::random_seed).
    pub(super) seed: (u64, u64),
    /// See [`length_bits`](super::frames::length_bits); computed before the packets were changed.
    pub(super) bits: usize,
    pub(super) verdicts: &'a mut Vec<VerdictRun>,
    pub(super) paths: &'a mut PathCounters,
    pub(super) left_out: &'a mut LeftOut,
    /// The packets, if they begin again. They are then settled in order, one by one or in runs.
    pub(super) again: Option<Again<'a>>,
}

impl Pass<'_, '_> {
    /// Processes the packets of a burst of `all`, in the form that the code has, and takes their digests.
    pub(super) fn run(
        &mut self,
        packets: &mut [Packet],
        all: usize,
        arguments: Arguments,
    ) -> (Option<Leaving>, FastForm) {
        let (leaving, form) = if self.fast_path.is_uniform() {
            (self.unseen(packets, arguments), FastForm::WholeBurst)
        } else {
            let leaving = self.one_by_one(packets, all, arguments);
            (leaving, self.fast_path.order().into())
        };
        self.asking.take_digests(self.fast_path);
        (leaving, form)
    }

    /// Processes packets that the program does not read.
    fn unseen(&mut self, packets: &mut [Packet], arguments: Arguments) -> Option<Leaving> {
        let verdict = self.fast_path.run_unseen(arguments);
        match verdict {
            Verdict::Plain { port } if all_fit(packets, self.length_max) => {
                let packets = packets.len();
                return Some(Leaving { port, packets });
            }
            _ => packets.iter_mut().for_each(|packet| self.finish(packet, verdict, 1)),
        }
        None
    }

    /// Processes the packets of a burst of `all`: all of them, or up to one that must take the slow path or wait for a
    /// table.
    fn one_by_one(&mut self, packets: &mut [Packet], all: usize, arguments: Arguments) -> Option<Leaving> {
        let headroom = self.fast_path.headroom();
        if headroom > 0 {
            Packet::make_headroom_in_all(packets, headroom);
        }
        if let Some(again) = self.again {
            again.write_before(packets);
        }
        // Frames can only grow at their beginning.
        let will_fit = self.bits + headroom <= self.length_max;
        let mut done = 0;
        let mut waits = false;
        while done < packets.len() && !waits && self.goes_on() {
            let together = self.again.map_or(usize::MAX, Again::packets_together);
            let end = packets.len().min(done.saturating_add(together));
            let rest = &mut packets[done..end];
            let arguments = Arguments {
                random_seed: self.random_seed(done),
                ..arguments
            };
            // SAFETY: every packet has its own buffer, with this much headroom, and its descriptor says where its
            // frame is.
            let ran = unsafe { self.fast_path.run(frames(rest), arguments) };
            waits = self.fast_path.may_ask_table() && !self.asking.answer(self.fast_path);
            let is_cloned = self.fast_path.has_clones();
            if !is_cloned && let Some((port, each)) = self.copies_together(done, ran) {
                let verdict = PacketVerdict::CopiesTogether { port, each };
                self.verdicts.push(VerdictRun { verdict, packets: ran });
                return None;
            }
            let fit = will_fit || all_fit(&rest[..ran], self.length_max);
            let alike = self.alike(0, ran, fit);
            if ran == all
                && !is_cloned
                && let Some(leaving) = self.leaving(rest, alike, fit)
            {
                return Some(leaving);
            }
            self.finish_each(&mut rest[..ran], alike, fit);
            done += ran;
        }
        None
    }

    /// Whether the next packet may follow the last one that has a verdict.
    #[inline]
    fn goes_on(&self) -> bool {
        let last = self.verdicts.last().map(|run| run.verdict);
        let waits = matches!(
            last,
            Some(PacketVerdict::SlowPath | PacketVerdict::GoesOn | PacketVerdict::Returns(Return::Resubmitted(_)))
        );
        !waits && !self.fast_path.is_clone_first()
    }

    /// The seed of the packet before which `before` have come.
    #[inline]
    fn random_seed(&self, before: usize) -> u64 {
        let (switch, first) = self.seed;
        match self.again {
            None => Seed::of_packet(switch, first.wrapping_add(before as u64)).value(),
            Some(again) => again.packets[before].ingress_seed(switch),
        }
    }

    /// The packets of a whole burst that leave, if those that are not dropped do so by one port. The first `alike`
    /// packets have the same verdict.
    #[inline]
    fn leaving(&mut self, packets: &mut [Packet], alike: usize, fit: bool) -> Option<Leaving> {
        if alike < packets.len() {
            let may_move = fit && self.again.is_none();
            return may_move.then(|| self.gather(packets, alike)).flatten();
        }
        match self.fast_path.verdict(0) {
            Verdict::Plain { port } => Some(Leaving { port, packets: alike }),
            _ => None,
        }
    }

    /// Completes the packets that have been processed together, the first `alike` of which are settled together.
    #[inline]
    fn finish_each(&mut self, packets: &mut [Packet], mut alike: usize, fit: bool) {
        let mut index = 0;
        while index < packets.len() {
            let verdict = self.fast_path.verdict(index);
            if let Verdict::BailedOut(reason) = verdict {
                let path = self.fast_path.path_left_out(index);
                self.left_out.note(self.fast_path.code(), reason, path);
            }
            self.finish(&mut packets[index], verdict, alike);
            index += alike;
            alike = self.alike(index, packets.len(), fit);
        }
    }

    /// The number of consecutive packets from `first` up to but not including `behind` that are settled together, if
    /// all of them fit.
    #[inline]
    fn alike(&self, first: usize, behind: usize, fit: bool) -> usize {
        match (behind - first, fit) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => self.fast_path.alike(first, behind),
        }
    }

    /// If some packets leave by one port and all others were dropped, moves those that leave to the front, with their
    /// numbers as ids. The first `alike` packets have the same verdict.
    fn gather(&mut self, packets: &mut [Packet], alike: usize) -> Option<Leaving> {
        let departures = self.fast_path.departures(packets.len(), alike)?;
        let (_, first) = self.seed;
        for (place, now) in departures.places().enumerate() {
            packets.swap(place, now);
            packets[place].id = first.wrapping_add(now as u64);
        }
        let in_ingress = PacketVerdict::Drop(DropReason::IngressDrop);
        let in_egress = PacketVerdict::EgressDrop(departures.port);
        for (verdict, packets) in [
            (in_ingress, departures.dropped_in_ingress),
            (in_egress, departures.dropped_in_egress),
        ] {
            if packets > 0 {
                self.verdicts.push(VerdictRun { verdict, packets });
            }
        }
        Some(Leaving {
            port: departures.port,
            packets: departures.count(),
        })
    }

    /// If every packet was replicated into the same number of copies, and all copies leave by one port: the port and
    /// that number. `before` packets came before these.
    fn copies_together(&mut self, before: usize, packets: usize) -> Option<(u32, u32)> {
        if before > 0 || packets == 0 || !self.fast_path.makes_copies() || self.again.is_some() {
            return None;
        }
        let each = self.fast_path.copies_of_each(packets)?;
        self.copies.made(each * packets);
        let port = self
            .copies
            .one_port(self.fast_path.memory(), each * packets, self.length_max)?;
        Some((port, each as u32))
    }

    /// Completes a packet, and records the verdict on it and on the following packets with the same verdict, `packets`
    /// in total. The following packets are complete already.
    #[inline]
    fn finish(&mut self, packet: &mut Packet, verdict: Verdict, packets: usize) {
        match verdict {
            Verdict::Replicated { first, count } => self.copies.made(first + count),
            Verdict::BailedOut(reason) | Verdict::GoesOn(reason) => {
                self.paths.count_slow(SlowReason::BailedOut(reason), packets as u64);
            }
            _ => {}
        }
        let verdict = finish(self.length_max, self.fast_path, self.rewritten, packet, verdict);
        match self.verdicts.last_mut() {
            Some(run) if run.verdict == verdict => run.packets += packets,
            _ => self.verdicts.push(VerdictRun { verdict, packets }),
        }
    }
}

/// Completes a packet.
#[inline]
pub(super) fn finish(
    length_max: usize,
    fast_path: &mut FastPath<'_>,
    rewritten: &mut BitBuffer,
    packet: &mut Packet,
    verdict: Verdict,
) -> PacketVerdict {
    let (verdict, headers) = match verdict {
        Verdict::Plain { port } => (PacketVerdict::Transmit(port), None),
        Verdict::Rewritten { port, headers } => (PacketVerdict::Transmit(port), Some(headers)),
        Verdict::Recirculated { note, headers } => (PacketVerdict::Returns(Return::Recirculated(note)), headers),
        Verdict::Resubmitted { note } => return PacketVerdict::Returns(Return::Resubmitted(note)),
        Verdict::DroppedInIngress { parser_error: 0 } => return PacketVerdict::Drop(DropReason::IngressDrop),
        Verdict::DroppedInIngress { parser_error } => {
            return PacketVerdict::Drop(DropReason::ParserError(parser_error));
        }
        Verdict::DroppedInEgress { port } => return PacketVerdict::EgressDrop(port),
        Verdict::AssertFailed => return PacketVerdict::Drop(DropReason::AssertFailed),
        Verdict::GoesOn(_) => return PacketVerdict::GoesOn,
        Verdict::Replicated { count: 0, .. } => return PacketVerdict::Drop(DropReason::NoMulticastMember),
        Verdict::Replicated { first, count } => {
            return PacketVerdict::Copies {
                first: first as u32,
                count: count as u32,
            };
        }
        Verdict::BailedOut(_) => return PacketVerdict::SlowPath,
    };
    if let Some(headers) = headers {
        rewrite(rewritten, packet, fast_path.output(), headers);
    }
    if packet.len() > length_max {
        return PacketVerdict::Drop(DropReason::PacketTooLong);
    }
    verdict
}

/// Replaces what the parser took by a part of what the deparser emitted, and truncates the packet.
fn rewrite(rewritten: &mut BitBuffer, packet: &mut Packet, output: &BitBuffer, headers: Rewriting) {
    let emitted = &output.bytes()[headers.output_start..];
    replace_parsed(rewritten, packet, headers.parsed_bits, emitted, headers.output_bits);
    packet.truncate(headers.length_max as usize);
}

/// Replaces the first `parsed_bits` by the first bits of what the deparser emitted.
fn replace_parsed(rewritten: &mut BitBuffer, packet: &mut Packet, parsed_bits: usize, emitted: &[u8], bits: usize) {
    if parsed_bits.is_multiple_of(8) && bits.is_multiple_of(8) {
        return packet.replace_front(parsed_bits / 8, &emitted[..bits / 8]);
    }
    rewritten.clear();
    rewritten.append(emitted, bits);
    rewritten.push_from(packet.data(), parsed_bits);
    packet.replace_front(packet.len(), rewritten.bytes());
}
