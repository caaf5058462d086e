//! What became of each IoT message: whether it came out, alone or in an N-packet, and how long it waited.
//!
//! A message is known by its payload. An N-packet of messages that are all alike does not say how long they are: its
//! stream does. Payloads that are sent again are told apart by their order: the first that comes out
//! is the first that came in.

use crate::results::MessageResults;
use forebay_chip::Picos;
use forebay_traffic::{MessageFormat, inspect, mixed};
use hdrhistogram::Histogram;
use std::collections::{HashMap, VecDeque};

pub(crate) struct Messages {
    /// By payload: when those came in that have not come out.
    inside: HashMap<Vec<u8>, VecDeque<Picos>>,
    wait: Histogram<u64>,
    /// By stream, where all its messages are alike.
    payload_bytes: Vec<Option<usize>>,
    results: MessageResults,
}

/// The payloads in what UDP carries, `bytes` each where N-packets do not say.
fn payloads(datagram: &[u8], bytes: Option<usize>) -> Option<Vec<&[u8]>> {
    if let Ok(payloads) = mixed::payloads(datagram) {
        return Some(payloads);
    }
    let format = MessageFormat::new(bytes?).ok()?;
    Some(format.split(datagram).ok()?.collect())
}

impl Messages {
    pub(crate) fn new(wait: Histogram<u64>, payload_bytes: Vec<Option<usize>>) -> Messages {
        Messages {
            inside: HashMap::new(),
            wait,
            payload_bytes,
            results: MessageResults::default(),
        }
    }

    /// A frame comes in; what carries no messages is passed over.
    pub(crate) fn sent(&mut self, frame: &[u8], bytes: Option<usize>, now: Picos) {
        let Ok(inspected) = inspect(frame) else { return };
        let Some(payloads) = payloads(&frame[inspected.payload], bytes) else {
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

    /// A frame of a stream goes out.
    pub(crate) fn departed(&mut self, frame: &[u8], stream: usize, now: Picos) {
        let Ok(inspected) = inspect(frame) else {
            self.results.damaged += 1;
            return;
        };
        let bytes = self.payload_bytes.get(stream).copied().flatten();
        let Some(payloads) = payloads(&frame[inspected.payload], bytes) else {
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
