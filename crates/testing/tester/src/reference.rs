//! What the reference executor says of each frame: see [`Reference`].

use crate::device;
use crate::stream::Stream;
use crate::tag::{TAG_BYTES, Tag};
use forebay_ir::Recipient;
use forebay_packet::{Burst, MemoryPort, Port};
use forebay_pipeline::DROP_PORT;
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_switch::{Config, Settled, Switch};
use forebay_traffic::wire::MINIMUM_FRAME_BYTES;
use std::sync::Arc;

/// Polls after which a packet that still moves is taken to move for ever.
const POLLS_MAX: u32 = 10_000;

/// Frames whose difference is kept for the report.
const EXAMPLES_MAX: usize = 8;

/// The longest frame that may have been padded: the shortest one, with a VLAN tag.
const PADDED_BYTES_MAX: usize = MINIMUM_FRAME_BYTES + 4;

/// What must come out for a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The port's number.
    pub port: u32,
    /// The port's index among those of the device; none when the device of the test has no such port, and nothing is
    /// measured there.
    index: Option<usize>,
    /// The frame, with any tag.
    frame: Vec<u8>,
    /// Where the tag is in it.
    tag_at: usize,
}

impl Output {
    /// Whether the device of the test has the port.
    pub fn is_measured(&self) -> bool {
        self.index.is_some()
    }

    /// Whether a frame with its tag at a place is this one, tags left out. A short one may be padded on the way (IEEE 802.3
    /// §3.2.8); what else is added is a difference.
    #[inline]
    fn is_same(&self, frame: &[u8], at: usize) -> bool {
        let expected = &self.frame[..];
        let Some((own, padding)) = frame.split_at_checked(expected.len()) else {
            return false;
        };
        let end = self.tag_at + TAG_BYTES;
        at == self.tag_at
            && own[..at] == expected[..at]
            && own[end..] == expected[end..]
            && (padding.is_empty() || frame.len() <= PADDED_BYTES_MAX && padding.iter().all(|byte| *byte == 0))
    }

    /// The first byte, tags left out, in which a frame differs from this one. Where they are the same as far as both go, the
    /// end of the shorter one.
    fn first_difference(&self, frame: &[u8]) -> usize {
        let tag = self.tag_at..self.tag_at + TAG_BYTES;
        let mut both = frame.iter().zip(&self.frame).enumerate();
        let found = both.find(|(at, (byte, expected))| byte != expected && !tag.contains(at));
        found.map_or(frame.len().min(self.frame.len()), |(at, _)| at)
    }
}

/// The outputs of the reference executor for every template of every stream.
///
/// Frames of a template differ in their tags alone. The executor runs each template twice, with different tags, in
/// opposite orders and at different times; when all outputs agree but for the tag, they hold for all frames of the
/// template, and a frame that comes back is compared with bytes in memory, at any rate. Otherwise the program's output
/// depends on the payload, on what came before or on the time, and the check is refused with the name of the stream.
pub struct Reference {
    outputs: Vec<Vec<Vec<Output>>>,
}

/// What a comparison said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The frame is what the reference says.
    Same,
    /// Another content should have come out of this port.
    Different,
    /// Nothing of this template comes out of this port.
    Unexpected,
}

/// Frames whose content was compared.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Frames that are right.
    pub same: u64,
    /// Frames with another content.
    pub different: u64,
    /// Frames at ports where they should not be.
    pub unexpected: u64,
    /// Frames that were sent and that the program drops, as the reference says.
    pub expected_drops: u64,
    /// Frames that were sent and leave only by ports that the test does not have, as the reference says.
    pub unmeasured: u64,
    /// The first frames that are wrong: number, index of the port, frame.
    pub examples: Vec<(u64, usize, Vec<u8>)>,
}

impl Checked {
    /// Counts a comparison.
    #[inline]
    pub fn count(&mut self, comparison: Comparison, number: u64, port: usize, frame: &[u8]) {
        match comparison {
            Comparison::Same => {
                self.same += 1;
                return;
            }
            Comparison::Different => self.different += 1,
            Comparison::Unexpected => self.unexpected += 1,
        }
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push((number, port, frame.to_vec()));
        }
    }
}

impl Reference {
    /// Runs all templates of the streams. The pipeline executes with the interpreter and has the entries of the
    /// device's.
    ///
    /// # Errors
    /// When the program's output depends on more than the headers of a frame, in words.
    pub fn new(pipeline: Arc<Pipeline>, ports: &[u32], streams: &[Stream]) -> Result<Reference, String> {
        state_free(&pipeline)?;
        let reached = reached_ports(pipeline.clone(), streams).concat();
        let mut bench = Bench::new(pipeline, ports, &reached);
        let mut outputs = Vec::new();
        for stream in streams {
            comparable(stream)?;
            outputs.push(bench.stream(stream)?);
        }
        for (stream, known) in streams.iter().zip(&outputs) {
            bench.confirm(stream, known)?;
        }
        Ok(Reference { outputs })
    }

    /// A wire gives back what is sent, by the ports that [`device::end_of`] says.
    ///
    /// # Errors
    /// When a stream's frames differ in more than their tags, in words.
    pub fn of_wire(ports: &[u32], pairs: &[(u32, u32)], streams: &[Stream]) -> Result<Reference, String> {
        let output = |stream: &Stream, template: &Vec<u8>| {
            let port = device::end_of(stream.from, pairs);
            Output {
                port,
                index: ports.iter().position(|own| *own == port),
                frame: template.clone(),
                tag_at: template.len() - TAG_BYTES,
            }
        };
        let all = |stream: &Stream| {
            comparable(stream)?;
            let templates = stream.frames.templates().iter();
            Ok(templates.map(|template| vec![output(stream, template)]).collect())
        };
        let outputs: Result<_, String> = streams.iter().map(all).collect();
        Ok(Reference { outputs: outputs? })
    }

    /// What must come out for a template of a stream.
    #[inline]
    pub fn outputs(&self, stream: usize, template: usize) -> &[Output] {
        &self.outputs[stream][template]
    }

    /// The ports of the test where frames of a stream come out.
    pub fn ports(&self, stream: usize) -> Vec<u32> {
        let outputs = self.outputs[stream].iter().flatten();
        let measured = outputs.filter(|output| output.index.is_some());
        let mut ports: Vec<u32> = measured.map(|output| output.port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Compares a frame with its tag at a place.
    #[inline]
    pub fn check(&self, stream: usize, template: usize, port: usize, (frame, at): (&[u8], usize)) -> Comparison {
        let mut comparison = Comparison::Unexpected;
        for output in self
            .outputs(stream, template)
            .iter()
            .filter(|output| output.index == Some(port))
        {
            comparison = Comparison::Different;
            if output.is_same(frame, at) {
                return Comparison::Same;
            }
        }
        comparison
    }

    /// What should have come in place of a wrong frame, and the first byte, tags left out, in which it differs.
    pub fn expected(&self, stream: usize, template: usize, port: usize, frame: &[u8]) -> Option<(&[u8], usize)> {
        let mut outputs = self.outputs(stream, template).iter();
        let output = outputs.find(|output| output.index == Some(port))?;
        Some((&output.frame[..], output.first_difference(frame)))
    }
}

/// Only frames that differ in nothing but their tags can be compared with a template.
fn comparable(stream: &Stream) -> Result<(), String> {
    match stream.messages {
        None => Ok(()),
        Some(_) => Err(format!(
            "{}: IoT messages differ in their payloads; they check themselves",
            stream.name
        )),
    }
}

/// Programs with state give the same packet different fates.
///
/// # Errors
/// That this is such a program, in words.
pub fn state_free(pipeline: &Pipeline) -> Result<(), String> {
    let program = pipeline.program();
    let reason = match program {
        program if !program.registers.is_empty() => "has registers",
        program if !program.meters.is_empty() => "has meters",
        program
            if program
                .digests
                .iter()
                .any(|digest| !matches!(digest.to, Recipient::Controller)) =>
        {
            "has tables that learn"
        }
        program if program.draws_random_numbers() => "draws random numbers",
        _ => return Ok(()),
    };
    Err(format!(
        "the program {reason}: what comes out for a frame depends on more than the frame; `check` is for programs without state"
    ))
}

/// Templates of a stream that are run to find the ports where it comes out.
const TEMPLATES_LOOKED_AT: usize = 1 << 12;

/// The ports where frames of each stream come out, as the reference executor says: of up to 4096 templates each.
pub fn reached_ports(pipeline: Arc<Pipeline>, streams: &[Stream]) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..DROP_PORT).collect();
    let mut bench = Bench::new(pipeline, &all, &[]);
    streams.iter().map(|stream| bench.reached(stream)).collect()
}

/// The reference executor between ports in memory.
struct Bench {
    switch: Switch,
    ports: Vec<(u32, MemoryPort)>,
    /// How many of the ports, from the first on, the device of the test has.
    measured: usize,
    burst: Burst,
}

/// Different tags for the two runs.
const TAGS: [Tag; 2] = [
    Tag {
        trial: 1,
        stream: 0x5a,
        number: 0x0123_4567,
        intended_ns: 0x89ab_cdef,
        lateness_ns: 0x1357,
    },
    Tag {
        trial: 2,
        stream: 0xa5,
        number: 0x7654_3210,
        intended_ns: 0xfedc_ba98_7654,
        lateness_ns: 0x2468_ace0,
    },
];

/// When the two runs are. An hour and more lies between them, so that every part of a time stamp differs.
const TIMES_NS: [u64; 2] = [0, 5_025_678_901_234];

impl Bench {
    /// With the ports of the test's device, and others where frames come out.
    fn new(pipeline: Arc<Pipeline>, numbers: &[u32], others: &[u32]) -> Bench {
        let mut switch = Switch::new(pipeline, Config::default());
        let mut ports: Vec<(u32, MemoryPort)> = Vec::new();
        for number in numbers.iter().chain(others) {
            if ports.iter().any(|(own, _)| own == number) {
                continue;
            }
            let (outside, inside) = MemoryPort::pair("outside", "inside", 256);
            switch.attach(*number, Box::new(inside));
            ports.push((*number, outside));
        }
        Bench {
            switch,
            ports,
            measured: numbers.len(),
            burst: Burst::default(),
        }
    }

    fn inject(&mut self, port: u32, frame: &[u8]) {
        if let Some((_, port)) = self.ports.iter_mut().find(|(number, _)| *number == port) {
            port.inject(frame);
        }
    }

    /// The ports where frames of a stream come out.
    fn reached(&mut self, stream: &Stream) -> Vec<u32> {
        let templates = stream.frames.templates();
        let mut reached = vec![false; self.ports.len()];
        for template in templates.iter().step_by(templates.len().div_ceil(TEMPLATES_LOOKED_AT)) {
            self.inject(stream.from, template);
            // What moves for ever reaches its ports, too.
            let _ = self.switch.settle(0, POLLS_MAX, &mut NoTrace);
            for ((_, port), reached) in self.ports.iter_mut().zip(&mut reached) {
                while port.waiting() > 0 && port.receive(&mut self.burst, usize::MAX, 0).unwrap_or(0) > 0 {
                    *reached = true;
                    self.burst.clear();
                }
            }
        }
        let ports = self.ports.iter().zip(reached);
        ports
            .filter(|(_, reached)| *reached)
            .map(|((number, _), _)| *number)
            .collect()
    }

    /// The outputs for all templates of a stream.
    fn stream(&mut self, stream: &Stream) -> Result<Vec<Vec<Output>>, String> {
        let templates = stream.frames.templates().iter();
        templates.map(|template| self.frame(stream, template, 0)).collect()
    }

    /// Runs them again in opposite order, with another tag and at another time.
    fn confirm(&mut self, stream: &Stream, known: &[Vec<Output>]) -> Result<(), String> {
        for (template, known) in stream.frames.templates().iter().zip(known).rev() {
            let again = self.frame(stream, template, 1)?;
            let same = again.len() == known.len()
                && again.iter().zip(known).all(|(again, known)| {
                    let mut frame = again.frame.clone();
                    if known.tag_at == again.tag_at {
                        TAGS[0].write(&mut frame[..again.tag_at + TAG_BYTES]);
                    }
                    again.port == known.port && frame == known.frame
                });
            if !same {
                return Err(format!(
                    "{}: what the program sends for a frame depends on its payload, on frames before it or on the time; `check` is for programs of which it does not",
                    stream.name
                ));
            }
        }
        Ok(())
    }

    /// The outputs for a template in one of the two runs.
    fn frame(&mut self, stream: &Stream, template: &[u8], run: usize) -> Result<Vec<Output>, String> {
        let (tag, now_ns) = (TAGS[run], TIMES_NS[run]);
        let mut frame = template.to_vec();
        tag.write(&mut frame);
        self.inject(stream.from, &frame);
        if self.switch.settle(now_ns, POLLS_MAX, &mut NoTrace) == Settled::Busy {
            return Err(format!("{}: a frame goes round and round in the program", stream.name));
        }
        let mut outputs = Vec::new();
        for (index, (number, port)) in self.ports.iter_mut().enumerate() {
            let index = (index < self.measured).then_some(index);
            while port.receive(&mut self.burst, usize::MAX, now_ns).unwrap_or(0) > 0 {
                for packet in self.burst.iter() {
                    let Some((tag_at, _)) = Tag::find(packet.data(), |found| *found == tag) else {
                        return Err(format!(
                            "{}: what leaves port {number} has lost the last {TAG_BYTES} bytes of its frame, by which the tester knows it",
                            stream.name
                        ));
                    };
                    outputs.push(Output {
                        port: *number,
                        index,
                        frame: packet.data().to_vec(),
                        tag_at,
                    });
                }
                self.burst.clear();
            }
        }
        Ok(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of this length that ends with its tag.
    fn output(bytes: usize) -> Output {
        Output {
            port: 2,
            index: Some(0),
            frame: vec![7; bytes],
            tag_at: bytes - TAG_BYTES,
        }
    }

    fn padded(output: &Output, padding: &[u8]) -> bool {
        output.is_same(&[&output.frame[..], padding].concat(), output.tag_at)
    }

    /// A device that adds bytes to a long frame changes it.
    #[test]
    fn short_frames_alone_may_be_padded() {
        assert!(padded(&output(40), &[]) && padded(&output(40), &[0; 20]) && padded(&output(60), &[0; 4]));
        assert!(!padded(&output(40), &[0; 25]) && !padded(&output(590), &[0; 6]) && !padded(&output(40), &[1]));
        assert!(padded(&output(590), &[]));
        assert!(!output(590).is_same(&output(586).frame, output(586).tag_at), "cut");
    }

    #[test]
    fn the_first_difference_is_outside_of_the_tag() {
        let expected = output(100);
        let mut frame = expected.frame.clone();
        frame[90] = 1;
        assert!(expected.is_same(&frame, expected.tag_at));
        assert_eq!(expected.first_difference(&frame), 100, "none");
        frame[11] = 1;
        assert!(!expected.is_same(&frame, expected.tag_at));
        assert_eq!(expected.first_difference(&frame), 11);
        assert_eq!(expected.first_difference(&expected.frame[..50]), 50);
    }
}
