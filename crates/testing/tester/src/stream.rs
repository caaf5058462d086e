//! A stream: frames, and when they are sent.

use crate::frames::Frames;
use crate::schedule::{Arrivals, Shape};
use crate::trial::Step;
use forebay_traffic::MessageFormat;
use forebay_traffic::wire::wire_bytes;
use std::sync::Arc;

/// How fast a stream is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Frames a second.
    Frames(f64),
    /// Bits a second on the wire: with preamble, check sequence and gap.
    Bits(f64),
    /// As fast as the tester can.
    Max,
}

/// A stream that is ready to be sent.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What it is called.
    pub name: String,
    /// The number of the port it is sent by.
    pub from: u32,
    /// The port where its frames are expected; anywhere when none.
    pub to: Option<u32>,
    /// Its frames.
    pub frames: Arc<Frames>,
    /// How fast it is sent.
    pub rate: Rate,
    /// How its frames follow one another.
    pub arrivals: Arrivals,
    /// The rate over time.
    pub shape: Shape,
    /// What its frames are when they are IoT messages, and how many devices send them.
    pub messages: Option<(MessageFormat, u32)>,
}

impl Stream {
    /// Frames a second on average; none when it is as fast as the tester can.
    pub fn mean_pps(&self) -> Option<f64> {
        Some(self.pps()? * self.shape.mean())
    }

    /// Frames a second while the factor of its shape is 1.
    pub(crate) fn pps(&self) -> Option<f64> {
        match self.rate {
            Rate::Frames(rate) => Some(rate),
            Rate::Bits(rate) => Some(rate / self.mean_wire_bits()),
            Rate::Max => None,
        }
    }

    /// Frames that are due from one time of a trial to another, on average; none when it is as fast as the tester can.
    pub(crate) fn frames_due(&self, scale: f64, step: Option<Step>, from_ns: u64, to_ns: u64) -> Option<f64> {
        let seconds = |ns: u64| step.map_or(ns as f64, |step| step.without(ns)) / 1e9;
        let work = self.shape.work_until(seconds(to_ns)) - self.shape.work_until(seconds(from_ns));
        Some(self.pps()? * scale * work)
    }

    /// The work of each template, in the unit of the rate.
    pub fn works(&self) -> Vec<f64> {
        self.works_at(self.rate)
    }

    /// The work of each template, in the unit of another rate.
    pub(crate) fn works_at(&self, rate: Rate) -> Vec<f64> {
        let templates = self.frames.templates().iter();
        let work = |frame: &Vec<u8>| match rate {
            Rate::Bits(_) => wire_bits(frame.len()),
            Rate::Frames(_) | Rate::Max => 1.0,
        };
        templates.map(work).collect()
    }

    fn mean_wire_bits(&self) -> f64 {
        self.mean_of(wire_bits)
    }

    /// The mean over its frames of a function of their length in bytes.
    pub(crate) fn mean_of(&self, of: impl Fn(usize) -> f64) -> f64 {
        let templates = self.frames.templates();
        let sum: f64 = templates.iter().map(|frame| of(frame.len())).sum();
        sum / templates.len() as f64
    }
}

/// Bits of a frame on the wire.
pub fn wire_bits(frame_bytes: usize) -> f64 {
    8.0 * wire_bytes(frame_bytes) as f64
}
