//! What goes wrong on the wires that lead back into a network: frames that are lost, come twice, or come late.
//!
//! For experiments with programs that rely on what they send themselves: which frames are hit is decided by their
//! length and by a sequence of random numbers with a seed, so that the same faults come every time.

use crate::books::Loss;
use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::network::Observer;
use crate::pacer::Picos;
use forebay_packet::SplitMix64;
use forebay_pipeline::IngressPacket;
use std::collections::BTreeMap;

/// Faults on the wire of a port. The frames that they leave alone arrive as they would without.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// Only frames of these lengths, without framing: from the first to the second.
    pub bytes: (u32, u32),
    /// The share of frames that are lost, 0 to 1.
    pub loss: f64,
    /// The share of frames that come twice.
    pub duplication: f64,
    /// The share of frames that come late, after others that were sent after them.
    pub delay: f64,
    /// How late.
    pub delay_ps: Picos,
    /// Begins the sequence of random numbers.
    pub seed: u64,
}

/// A [`FaultSpec`] at work.
#[derive(Debug)]
pub(crate) struct Fault {
    spec: FaultSpec,
    random: SplitMix64,
}

/// What happens to a frame.
enum Mishap {
    Lost,
    Twice,
    Late(Picos),
}

impl Fault {
    pub(crate) fn new(spec: &FaultSpec) -> Fault {
        Fault {
            spec: spec.clone(),
            random: SplitMix64::new(spec.seed),
        }
    }

    fn strikes(&mut self, length: u32) -> Option<Mishap> {
        let FaultSpec {
            bytes: (shortest, longest),
            loss,
            duplication,
            delay,
            delay_ps,
            ..
        } = self.spec;
        if !(shortest..=longest).contains(&length) {
            return None;
        }
        if self.random.chance(loss) {
            return Some(Mishap::Lost);
        }
        if self.random.chance(duplication) {
            return Some(Mishap::Twice);
        }
        self.random.chance(delay).then_some(Mishap::Late(delay_ps))
    }
}

impl Chip {
    /// What arrives of a frame at the end of a port's wire: at most the frame itself, and a second one.
    pub(crate) fn pass_faults<O: Observer>(
        &mut self,
        index: u16,
        frame: IngressPacket,
        context: &mut Context<'_, O>,
    ) -> [Option<IngressPacket>; 2] {
        let faults = &mut self.ports[usize::from(index)].faults;
        let mishap = faults
            .iter_mut()
            .find_map(|fault| fault.strikes(frame.bytes.len() as u32));
        match mishap {
            None => [Some(frame), None],
            Some(Mishap::Twice) => {
                self.books.copies += 1;
                let report = &mut self.ports[usize::from(index)].report;
                report.sent_frames += 1;
                report.sent_bytes += frame.bytes.len() as u64;
                [Some(frame.clone()), Some(frame)]
            }
            Some(Mishap::Late(delay)) => {
                self.late.put(context.now + delay, index, frame);
                context.schedule(context.now + delay, Kind::Late, index);
                [None, None]
            }
            Some(Mishap::Lost) => {
                self.lose(index, frame.tag, Loss::InjectedFault, context);
                self.worker_of(index).discard_arrived(frame);
                [None, None]
            }
        }
    }
}

/// Frames on their way, each with an event at the time at which it comes. A long delay holds up millions.
#[derive(Default)]
pub(crate) struct LateFrames {
    /// By time, port and number.
    frames: BTreeMap<(Picos, u16, u64), IngressPacket>,
    /// The number of the next one.
    next: u64,
}

impl LateFrames {
    /// A frame that comes to a port at a time.
    pub(crate) fn put(&mut self, time: Picos, port: u16, frame: IngressPacket) {
        self.frames.insert((time, port, self.next), frame);
        self.next += 1;
    }

    /// The frame that comes to a port now: of several, the one that was put in first.
    pub(crate) fn take(&mut self, now: Picos, port: u16) -> IngressPacket {
        let due = self.frames.range((now, port, 0)..=(now, port, u64::MAX)).next();
        let due = *due.expect("an event has a frame").0;
        self.frames.remove(&due).expect("it was found")
    }

    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::arguments_of;

    /// Of those that come to one port at one time the first stays the first, whatever else was put in.
    #[test]
    fn late_frames_come_at_their_time_and_in_their_order() {
        let mut late = LateFrames::default();
        for (time, port, number) in [(5, 1, 0), (3, 1, 1), (5, 2, 2), (5, 1, 3), (3, 1, 4)] {
            late.put(time, port, IngressPacket::new(vec![number], arguments_of(port)));
        }
        let came = [(3, 1), (3, 1), (5, 2), (5, 1), (5, 1)].map(|(time, port)| late.take(time, port).bytes[0]);
        assert_eq!((came, late.len()), ([1, 4, 2, 0, 3], 0));
    }
}
