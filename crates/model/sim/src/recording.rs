//! What happened to single packets of a run: as pcapng, and as a timeline for Perfetto.
//!
//! * pcapng: an interface for each port. Frames that arrive and those that leave have the number of the packet they
//!   were made of; one that leaves has the queue in which it waited, one of which nothing leaves has the verdict *drop*
//!   and as comment the reason, the place in the program's source, and the port: `drop: ingress_drop l3fwd.p4:47 at
//!   switch:3`.
//! * Timeline: a process for each chip, in it tracks for the parser, ingress, queues, egress and wire of each port, and
//!   counters of packets in queues; of a run that takes samples also of queues (bytes) and of the buffer
//!   (bytes and cells). An arrow joins the parts that a packet passes, also when it recirculates, and copies with their
//!   original.

use crate::results::Results;
use crate::timeline::{Timeline, Track};
use forebay_chip::{Loss, Observer, Part, Picos, Place, ProgramDrop};
use forebay_ir::Program;
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, Verdict};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What is kept of a run at most: stays in parts of chips, frames, and bytes of frames.
const STAYS_MAX: usize = 1 << 18;
const FRAMES_MAX: usize = 1 << 18;
const BYTES_MAX: usize = 256 << 20;

/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;

/// Collects what happens, up to a limit.
#[derive(Default)]
pub struct Recording {
    chips: Vec<RecordedChip>,
    stays: Vec<Stay>,
    frames: Vec<Frame>,
    bytes: Vec<u8>,
    /// By port and tag, the queue in which a packet waited that has not left yet.
    queues: BTreeMap<(Place, u64), u8>,
    /// Packets that have ended inside: by tag, where and why.
    ends: BTreeMap<u64, (Place, String)>,
    /// What was left out.
    left_out: u64,
}

/// A chip, and what the names of its drops are made of.
pub struct RecordedChip {
    /// Its name.
    pub name: String,
    /// The names of its program's errors.
    pub errors: Vec<String>,
    /// The files of its program.
    pub files: Vec<String>,
}

impl RecordedChip {
    /// A chip with this program.
    pub fn new(name: &str, program: &Program) -> RecordedChip {
        RecordedChip {
            name: name.to_string(),
            errors: program.errors.clone(),
            files: program.files.clone(),
        }
    }
}

/// A packet in a part of a chip.
#[derive(Clone, Copy)]
struct Stay {
    place: Place,
    part: Part,
    tag: u64,
    from: Picos,
    until: Picos,
}

/// A frame at a port that leads outside.
struct Frame {
    place: Place,
    direction: Direction,
    tag: u64,
    /// The queue in which it waited, of a frame that leaves.
    queue: Option<u8>,
    time: Picos,
    /// Where its bytes end.
    end: usize,
}

impl Recording {
    /// One of a network with these chips.
    pub fn new(chips: impl IntoIterator<Item = RecordedChip>) -> Recording {
        Recording {
            chips: chips.into_iter().collect(),
            ..Recording::default()
        }
    }

    /// Whether no more frames are kept.
    fn is_full(&self) -> bool {
        self.frames.len() == FRAMES_MAX
    }

    /// A packet has ended inside.
    fn end(&mut self, place: Place, tag: u64, reason: String) {
        if !self.is_full() {
            self.ends.insert(tag, (place, reason));
        }
    }

    /// A frame comes from outside.
    pub fn arrived(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        self.keep(place, Direction::In, frame, (tag, None, time));
    }

    fn keep(&mut self, place: Place, direction: Direction, frame: &[u8], (tag, queue, time): (u64, Option<u8>, Picos)) {
        if self.frames.len() == FRAMES_MAX || self.bytes.len() + frame.len() > BYTES_MAX {
            self.left_out += 1;
            return;
        }
        self.bytes.extend_from_slice(frame);
        self.frames.push(Frame {
            place,
            direction,
            tag,
            queue,
            time,
            end: self.bytes.len(),
        });
    }

    /// Frames and stays that had no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn name(&self, place: Place) -> String {
        format!("{}:{}", self.chips[usize::from(place.chip)].name, place.port)
    }

    /// The frames as a file.
    ///
    /// # Errors
    /// When memory does not take it.
    pub fn pcapng(&self) -> io::Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut writer = NgWriter::new(&mut file, "forebay sim")?;
        let mut interfaces = BTreeMap::new();
        for frame in &self.frames {
            if let Entry::Vacant(entry) = interfaces.entry(frame.place) {
                entry.insert(writer.interface(&self.name(frame.place), "")?);
            }
        }
        let out = self.frames.iter().filter(|frame| frame.direction == Direction::Out);
        let left: BTreeSet<u64> = out.map(|frame| frame.tag).collect();
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by_key(|index| self.frames[*index].time);
        for index in order {
            let frame = &self.frames[index];
            let start = index.checked_sub(1).map_or(0, |before| self.frames[before].end);
            // A copy that ends inside is not the end of a packet of which another one leaves.
            let is_end = frame.direction == Direction::In && !left.contains(&frame.tag);
            let end = self.ends.get(&frame.tag).filter(|_| is_end);
            let comment = end.map(|(place, reason)| format!("drop: {reason} at {}", self.name(*place)));
            let verdict = match (frame.direction, end) {
                (Direction::In, Some(_)) => Some(Verdict::Dropped),
                (Direction::In, None) => Some(Verdict::Forwarded),
                (Direction::Out, _) => None,
            };
            writer.packet(&NgPacket {
                interface: interfaces[&frame.place],
                time_ns: frame.time / NANOSECOND,
                data: &self.bytes[start..frame.end],
                direction: frame.direction,
                id: frame.tag,
                queue: frame.queue.map(u32::from),
                verdict,
                comment: comment.as_deref().unwrap_or_default(),
            })?;
        }
        Ok(file)
    }

    /// The timeline of a run with these results, as JSON.
    pub fn timeline(&self, results: &Results) -> String {
        let mut timeline = Timeline::new("forebay sim");
        self.add_to(&mut timeline);
        self.counters(results, &mut timeline);
        timeline.json()
    }

    /// Adds the parts of chips that packets passed, where they ended, and how many waited in queues.
    pub fn add_to(&self, timeline: &mut Timeline) {
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        let mut stays: Vec<&Stay> = self.stays.iter().collect();
        stays.sort_by_key(|stay| (stay.from, stay.part, stay.place));
        for stay in stays {
            let track = self.track(stay);
            let name = format!("packet {:x}", stay.tag);
            let slice = timeline.slice(&track, &name, stay.from, stay.until);
            if let Some(before) = last.insert(stay.tag, slice) {
                timeline.arrow(stay.tag, before, slice);
            }
        }
        for (tag, (place, reason)) in &self.ends {
            if let Some(slice) = last.get(tag) {
                timeline.note(*slice, "dropped", &format!("{reason} at {}", self.name(*place)));
            }
        }
        self.waiting(timeline);
    }

    fn track(&self, stay: &Stay) -> Track {
        let part = match stay.part {
            Part::Parser => "parser".to_string(),
            Part::Ingress => "ingress".to_string(),
            Part::Queue(queue) => format!("queue {queue}"),
            Part::Egress => "egress".to_string(),
            Part::Wire => "wire".to_string(),
        };
        Track {
            process: self.chips[usize::from(stay.place.chip)].name.clone(),
            name: format!("port {}: {part}", stay.place.port),
        }
    }

    /// How many packets wait in each queue, whenever that changes.
    fn waiting(&self, timeline: &mut Timeline) {
        let mut changes: BTreeMap<(Place, u8), Vec<(Picos, i64)>> = BTreeMap::new();
        for stay in &self.stays {
            if let Part::Queue(queue) = stay.part {
                let of_queue = changes.entry((stay.place, queue)).or_default();
                of_queue.extend([(stay.from, 1), (stay.until, -1)]);
            }
        }
        for ((place, queue), mut changes) in changes {
            changes.sort_unstable();
            let mut waiting = 0;
            let mut points: Vec<(Picos, u64)> = Vec::new();
            for (time, change) in changes {
                waiting += change;
                // Of several changes at one time the last one counts.
                points.pop_if(|(before, _)| *before == time);
                points.push((time, waiting.max(0) as u64));
            }
            let track = Track {
                process: self.chips[usize::from(place.chip)].name.clone(),
                name: format!("port {}, queue {queue} (packets)", place.port),
            };
            timeline.counter_at(&track, &points);
        }
    }

    fn counters(&self, results: &Results, timeline: &mut Timeline) {
        let sample = (results.sample_us * 1e6) as Picos;
        for chip in &results.chips {
            let mut buffer = |unit: &str, values: &[u64]| {
                let track = Track {
                    process: chip.name.clone(),
                    name: format!("buffer ({unit})"),
                };
                timeline.counter(&track, sample, values);
            };
            let bytes = &chip.buffer_samples_bytes;
            let cell_bytes = u64::from(chip.buffer_cell_bytes).max(1);
            let cells: Vec<u64> = bytes.iter().map(|bytes| bytes / cell_bytes).collect();
            buffer("bytes", bytes);
            buffer("cells", &cells);
            for queue in &chip.queues {
                let track = Track {
                    process: chip.name.clone(),
                    name: format!("port {}, queue {} (bytes)", queue.port, queue.queue),
                };
                timeline.counter(&track, sample, &queue.samples_bytes);
            }
        }
    }
}

impl Observer for Recording {
    fn departed(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        let queue = self.queues.remove(&(place, tag));
        self.keep(place, Direction::Out, frame, (tag, queue, time));
    }

    fn lost(&mut self, place: Place, loss: Loss, tag: u64, _time: Picos) {
        self.end(place, tag, loss.name().to_string());
    }

    fn dropped(&mut self, place: Place, drop: ProgramDrop, tag: u64, _time: Picos) {
        let chip = &self.chips[usize::from(place.chip)];
        let line = drop.location.and_then(|location| location.short(&chip.files));
        let reason = drop.reason.label(&chip.errors);
        let reason = line.map_or(reason.clone(), |line| format!("{reason} {line}"));
        self.end(place, tag, reason);
    }

    fn wants_locations(&self) -> bool {
        !self.is_full()
    }

    fn inside(&mut self, place: Place, part: Part, tag: u64, from: Picos, until: Picos) {
        if let Part::Queue(queue) = part
            && !self.is_full()
        {
            self.queues.insert((place, tag), queue);
        }
        if self.stays.len() == STAYS_MAX {
            self.left_out += 1;
            return;
        }
        self.stays.push(Stay {
            place,
            part,
            tag,
            from,
            until,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_ir::Location;
    use forebay_pipeline::DropReason;

    fn switch() -> RecordedChip {
        RecordedChip {
            name: "switch".to_string(),
            errors: Vec::new(),
            files: vec!["programs/l3fwd/l3fwd.p4".to_string()],
        }
    }

    #[test]
    fn a_drop_of_the_program_has_its_reason_and_its_line() {
        let mut recording = Recording::new([switch()]);
        let place = Place { chip: 0, port: 3 };
        recording.arrived(place, &[0; 60], 1, 0);
        let drop = ProgramDrop {
            reason: DropReason::IngressDrop,
            location: Some(Location { file: 0, line: 47 }),
        };
        recording.dropped(place, drop, 1, 1_000);
        let file = recording.pcapng().expect("memory takes it");
        let comment = "drop: ingress_drop l3fwd.p4:47 at switch:3";
        assert!(String::from_utf8_lossy(&file).contains(comment));
    }

    #[test]
    fn a_packet_of_which_a_copy_leaves_is_not_dropped() {
        let mut recording = Recording::new([switch()]);
        let place = Place { chip: 0, port: 3 };
        for tag in [1, 2] {
            recording.arrived(place, &[0; 60], tag, 0);
            recording.lost(place, Loss::QueueFull, tag, 1_000);
        }
        recording.departed(place, &[0; 60], 2, 2_000);
        let file = recording.pcapng().expect("memory takes it");
        let drops = String::from_utf8_lossy(&file)
            .matches("drop: queue_full at switch:3")
            .count();
        assert_eq!(drops, 1);
    }
}
