//! What happened to single packets of a run: as pcapng, and as a timeline for Perfetto.
//!
//! * pcapng: an interface for each port. Frames that arrive and those that leave have the number of the packet they were made of; one that
//!   ends inside has the verdict *drop* and the reason as comment.
//! * Timeline: a process for each chip, in it tracks for the parser, ingress, queues, egress and wire of each port, and counters of
//!   queues (bytes) and of the buffer (bytes and cells). An arrow joins the parts that a packet passes, also when it recirculates, and copies with their original.

use crate::results::Results;
use crate::timeline::{Timeline, Track};
use forebay_chip::{Loss, Observer, Part, Picos, Place};
use forebay_packet::pcap::{Direction, NgPacket, NgWriter, Verdict};
use forebay_pipeline::DropReason;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
    chips: Vec<String>,
    stays: Vec<Stay>,
    frames: Vec<Frame>,
    bytes: Vec<u8>,
    /// Packets that have ended inside: by tag, where and why.
    ends: BTreeMap<u64, (Place, String)>,
    /// What was left out.
    left_out: u64,
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
    time: Picos,
    /// Where its bytes end.
    end: usize,
}

impl Recording {
    /// One of a network with these chips.
    pub(crate) fn new(chips: Vec<String>) -> Recording {
        Recording {
            chips,
            ..Recording::default()
        }
    }

    /// A frame comes from outside.
    pub(crate) fn arrived(&mut self, place: Place, frame: &[u8], tag: u64, time: Picos) {
        self.keep(place, Direction::In, frame, (tag, time));
    }

    fn keep(&mut self, place: Place, direction: Direction, frame: &[u8], (tag, time): (u64, Picos)) {
        if self.frames.len() == FRAMES_MAX || self.bytes.len() + frame.len() > BYTES_MAX {
            self.left_out += 1;
            return;
        }
        self.bytes.extend_from_slice(frame);
        self.frames.push(Frame {
            place,
            direction,
            tag,
            time,
            end: self.bytes.len(),
        });
    }

    /// Frames and stays that had no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn name(&self, place: Place) -> String {
        format!("{}:{}", self.chips[usize::from(place.chip)], place.port)
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
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by_key(|index| self.frames[*index].time);
        for index in order {
            let frame = &self.frames[index];
            let start = index.checked_sub(1).map_or(0, |before| self.frames[before].end);
            let end = self.ends.get(&frame.tag).filter(|_| frame.direction == Direction::In);
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
                // Queues are not told apart here.
                queue: None,
                verdict,
                comment: comment.as_deref().unwrap_or_default(),
            })?;
        }
        Ok(file)
    }

    /// The timeline as JSON.
    pub fn timeline(&self, results: &Results) -> String {
        let mut timeline = Timeline::new("forebay sim");
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
        self.counters(results, &mut timeline);
        timeline.json()
    }

    fn track(&self, stay: &Stay) -> Track {
        let part = match stay.part {
            Part::Parser => "parser",
            Part::Ingress => "ingress",
            Part::Queue => "queue",
            Part::Egress => "egress",
            Part::Wire => "wire",
        };
        Track {
            process: self.chips[usize::from(stay.place.chip)].clone(),
            name: format!("port {}: {part}", stay.place.port),
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
        self.keep(place, Direction::Out, frame, (tag, time));
    }

    fn lost(&mut self, place: Place, loss: Loss, tag: u64, _time: Picos) {
        self.ends.insert(tag, (place, loss.name().to_string()));
    }

    fn dropped(&mut self, place: Place, reason: DropReason, tag: u64, _time: Picos) {
        self.ends.insert(tag, (place, reason.label(&[])));
    }

    fn inside(&mut self, place: Place, part: Part, tag: u64, from: Picos, until: Picos) {
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
