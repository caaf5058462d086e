//! What became of each IoT message: whether it came out, alone or in an N-packet, and how long it waited.
//!
//! A message is known by its payload. Payloads that are sent again are told apart by their order: the first that comes out
//! is the first that came in.

use crate::results::MessageResults;
use forebay_chip::Picos;
use forebay_traffic::{inspect, mixed};
use hdrhistogram::Histogram;
use std::collections::{HashMap, VecDeque};

pub(crate) struct Messages {
    /// By payload: when those came in that have not come out.
    inside: HashMap<Vec<u8>, VecDeque<Picos>>,
    wait: Histogram<u64>,
    results: MessageResults,
}

impl Messages {
    pub(crate) fn new(wait: Histogram<u64>) -> Messages {
        Messages {
            inside: HashMap::new(),
            wait,
            results: MessageResults::default(),
        }
    }

    /// A frame comes in; what is no message is passed over.
    pub(crate) fn sent(&mut self, frame: &[u8], now: Picos) {
        let Ok(inspected) = inspect(frame) else { return };
        let Ok(payloads) = mixed::payloads(&frame[inspected.payload]) else {
            return;
        };
        for payload in payloads {
            self.results.sent += 1;
            match self.inside.get_mut(payload) {
                Some(times) => times.push_back(now),
                None => drop(self.inside.insert(payload.to_vec(), VecDeque::from([now]))),
            }
        }
    }

    /// A frame goes out.
    pub(crate) fn departed(&mut self, frame: &[u8], now: Picos) {
        let Ok(inspected) = inspect(frame) else {
            self.results.damaged += 1;
            return;
        };
        let Ok(payloads) = mixed::payloads(&frame[inspected.payload]) else {
            return;
        };
        self.results.frames += 1;
        for payload in payloads {
            match self.inside.get_mut(payload).and_then(VecDeque::pop_front) {
                Some(came) => {
                    self.results.delivered += 1;
                    self.wait.saturating_record(((now - came) / 1_000).max(1));
                }
                None => self.results.unexpected += 1,
            }
        }
    }

    pub(crate) fn results(&self) -> MessageResults {
        MessageResults {
            missing: self.inside.values().map(|times| times.len() as u64).sum(),
            messages_per_frame: self.results.delivered as f64 / self.results.frames.max(1) as f64,
            wait: crate::measure::latency_results(&self.wait),
            ..self.results.clone()
        }
    }
}
