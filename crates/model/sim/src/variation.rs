//! A setup with one thing changed: to see how much a result hangs on it.

use crate::scenario::ArrivalsEntry;
use crate::setup::{Setup, picos, queue_configs};
use forebay_chip::ChipSpec;
use std::collections::BTreeSet;
use std::fmt;

/// One thing that is changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Variation {
    /// How the frames of all streams are spaced.
    Arrivals(ArrivalsEntry),
    /// The time for which traffic is sent, multiplied by this factor.
    Length(f64),
    /// A constant of the chips, `table.key`, multiplied by this factor.
    Constant(String, f64),
}

impl Variation {
    /// The variations that a result is usually tried with: other arrivals, shorter and longer trials, and a tenth less
    /// and more of each constant of the setup's chips that was fitted.
    pub fn usual(setup: &Setup) -> Vec<Variation> {
        let arrivals = [
            ArrivalsEntry::Jittered,
            ArrivalsEntry::Constant,
            ArrivalsEntry::Bursts { frames: 16 },
            ArrivalsEntry::OnOff { on_us: 1.0 },
            ArrivalsEntry::Poisson,
        ];
        let lengths = [0.25, 4.0, 16.0].map(Variation::Length);
        let fitted: BTreeSet<String> = setup
            .specs()
            .flat_map(ChipSpec::fitted)
            .map(|constant| constant.name)
            .collect();
        let constants = fitted
            .into_iter()
            .flat_map(|name| [0.9, 1.1].map(|factor| Variation::Constant(name.clone(), factor)));
        arrivals
            .map(Variation::Arrivals)
            .into_iter()
            .chain(lengths)
            .chain(constants)
            .collect()
    }
}

impl fmt::Display for Variation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variation::Arrivals(ArrivalsEntry::Jittered) => f.write_str("arrivals up to a frame early or late"),
            Variation::Arrivals(ArrivalsEntry::Constant) => f.write_str("arrivals at constant distances"),
            Variation::Arrivals(ArrivalsEntry::Poisson) => f.write_str("Poisson arrivals"),
            Variation::Arrivals(ArrivalsEntry::Bursts { frames }) => write!(f, "bursts of {frames} frames"),
            Variation::Arrivals(ArrivalsEntry::OnOff { on_us }) => {
                write!(f, "on and off, {on_us} us of line rate on average")
            }
            Variation::Arrivals(ArrivalsEntry::Capture) => f.write_str("arrivals as in the capture"),
            Variation::Length(factor) => write!(f, "trials {factor} times as long"),
            Variation::Constant(name, factor) => write!(f, "{name} x {factor}"),
        }
    }
}

impl Setup {
    /// With one thing changed; none when that changes nothing or cannot be: arrivals that the scenario has anyway,
    /// another length of a scenario whose streams have steps or ends of their own, one that ends before the warm-up or
    /// before a stream begins, a constant that is rounded to what it was.
    pub fn varied(&self, variation: &Variation) -> Option<Setup> {
        let mut varied = self.clone();
        match variation {
            Variation::Arrivals(arrivals) => {
                let streams = varied.streams.iter_mut();
                streams.for_each(|stream| stream.arrivals = *arrivals);
                let same = |setup: &Setup| setup.streams.iter().all(|stream| stream.arrivals == *arrivals);
                (!same(self)).then_some(varied)
            }
            Variation::Length(factor) => {
                let duration_us = *self.scenario.duration_us.get_ref() * factor;
                let mut entries = self.scenario.traffic.iter();
                if entries.any(|entry| entry.stop_us.is_some() || !entry.steps.is_empty()) {
                    return None;
                }
                let starts = self.scenario.traffic.iter().map(|entry| entry.start_us);
                let latest = starts.fold(self.scenario.warm_up_us, f64::max);
                if latest >= duration_us {
                    return None;
                }
                varied.set_duration(duration_us);
                Some(varied)
            }
            Variation::Constant(name, factor) => varied.scale_constant(name, *factor).then_some(varied),
        }
    }

    fn set_duration(&mut self, duration_us: f64) {
        let duration = &mut self.scenario.duration_us;
        *duration = toml::Spanned::new(duration.span(), duration_us);
        for stream in &mut self.streams {
            stream.rates.last_mut().expect("a stream has an end").0 = picos(duration_us);
        }
    }

    /// Whether any chip has changed.
    fn scale_constant(&mut self, name: &str, factor: f64) -> bool {
        let mut changed = false;
        for (chip, entry) in self.chips.iter_mut().zip(&self.scenario.chip) {
            let Some(spec) = chip.spec.scaled(name, factor) else {
                continue;
            };
            changed = true;
            chip.spec = spec;
            let entries = entry
                .port
                .iter()
                .flat_map(|port| port.numbers.get_ref().iter().map(move |_| port));
            for (port, entry) in chip.ports.iter_mut().zip(entries) {
                port.queues = queue_configs(entry, &chip.spec);
            }
        }
        changed
    }
}
