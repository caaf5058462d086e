//! What joins two ports of different chips.

use crate::pacer::Picos;
use forebay_packet::SplitMix64;

/// A link in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Bits a second; the port's own rate when 0 or larger than that.
    pub bits_per_second: u64,
    /// How long a bit is under way.
    pub delay_ps: Picos,
    /// The share of frames that are lost, 0 to 1.
    pub loss: f64,
    /// Begins the sequence of random numbers that choose which are lost.
    pub seed: u64,
}

impl Default for LinkSpec {
    fn default() -> LinkSpec {
        LinkSpec {
            bits_per_second: 0,
            delay_ps: 0,
            loss: 0.0,
            seed: 0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) to_chip: u16,
    pub(crate) to_port: u16,
    loss: f64,
    random: SplitMix64,
}

impl Link {
    pub(crate) fn new(spec: &LinkSpec, to_chip: u16, to_port: u16) -> Link {
        Link {
            to_chip,
            to_port,
            loss: spec.loss,
            random: SplitMix64::new(spec.seed),
        }
    }

    /// Whether the next frame is lost.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss > 0.0 && self.random.chance(self.loss)
    }
}
