//! Times of single frames that leave the network, for analyses of others: distances between departures, waits one by
//! one.

use crate::run::Simulation;
use forebay_chip::{Picos, Place};

/// A frame that has left through a port that leads outside. Times are picoseconds since the beginning of the
/// simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The port: `chip:port`.
    pub port: String,
    /// Name of the traffic that the frame belongs to, or of the host that sent it; none for a packet of a timer.
    pub source: Option<String>,
    /// Which frame of its source it was made of, from 0. An N-packet is made of the frame of its last message.
    pub sequence: u64,
    /// When the last byte of that frame came in; none for a packet of a timer, and for one that stayed inside while
    /// 131,072 frames of its source followed.
    pub arrived_ps: Option<Picos>,
    /// When its own last byte was out.
    pub departed_ps: Picos,
    /// Length without preamble, check sequence and gap.
    pub bytes: usize,
}

/// What a run notes of a departure; names come last.
pub(crate) struct Record {
    pub(crate) place: Place,
    /// The stream; after the streams, the timer or the host.
    pub(crate) origin: usize,
    pub(crate) sequence: u64,
    pub(crate) arrived: Option<Picos>,
    pub(crate) departed: Picos,
    pub(crate) bytes: usize,
}

impl Simulation<'_> {
    /// What was recorded, with names, in the order of leaving. The records are gone afterwards.
    pub(crate) fn departures(&mut self) -> Vec<Departure> {
        let mut records = self.meter.departures.take().unwrap_or_default();
        // A departure is known before its last byte is out, so those of several ports are not in order.
        records.sort_by_key(|record| record.departed);
        let departure = |record: Record| Departure {
            port: self.name(record.place),
            source: self.origin_name(record.origin),
            sequence: record.sequence,
            arrived_ps: record.arrived,
            departed_ps: record.departed,
            bytes: record.bytes,
        };
        records.into_iter().map(departure).collect()
    }

    /// The name of the traffic, or of the host; none for a timer.
    fn origin_name(&self, origin: usize) -> Option<String> {
        let streams = &self.setup.streams;
        if let Some(stream) = streams.get(origin) {
            return Some(stream.name.clone());
        }
        let host = origin.checked_sub(streams.len() + self.setup.timers.len())?;
        self.setup.hosts.get(host).map(|host| host.name.clone())
    }
}
