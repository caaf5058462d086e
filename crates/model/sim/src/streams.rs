//! Streams of frames from what a scenario says of its traffic.

use crate::check;
use crate::frames;
use crate::scenario::{ArrivalsEntry, TrafficEntry};
use crate::setup::{ChipSetup, Library, Reader};
use crate::source::Stream;
use std::sync::Arc;

impl Reader<'_> {
    /// A stream for each port that traffic goes to.
    pub(crate) fn streams(&mut self, entry: &TrafficEntry, chips: &[ChipSetup], duration_us: f64) -> Vec<Stream> {
        let library = self.library;
        let capture = |file: &str| capture_frames(library, file);
        let frames = match frames::frames(entry.frame.get_ref(), capture) {
            Ok(frames) => Arc::new(frames),
            Err(message) => {
                self.wrong(entry.frame.span(), message);
                return Vec::new();
            }
        };
        let gaps = match self.gaps(entry) {
            Ok(gaps) => Arc::new(gaps),
            Err(message) => {
                self.wrong(entry.frame.span(), message);
                return Vec::new();
            }
        };
        let rates = check::rates(entry, duration_us);
        let payload_bytes = frames::payload_bytes(entry.frame.get_ref());
        let mut streams = Vec::new();
        for text in entry.to.get_ref() {
            if let Some(place) = self.place(chips, text, entry.to.span()) {
                let spec = &chips[usize::from(place.chip)].spec;
                streams.push(Stream {
                    name: entry.name.get_ref().clone(),
                    place,
                    frames: Arc::clone(&frames),
                    arrivals: entry.arrivals,
                    rates: rates.clone(),
                    line_bits_per_second: spec.ports.bits_per_second,
                    gaps: Arc::clone(&gaps),
                    payload_bytes,
                });
            }
        }
        streams
    }

    /// Distances of frames that come as their capture says; none for others.
    fn gaps(&self, entry: &TrafficEntry) -> Result<Vec<f64>, String> {
        match (entry.arrivals, &entry.frame.get_ref().pcap) {
            (ArrivalsEntry::Capture, Some(pcap)) => capture_gaps(self.library, &pcap.file),
            (ArrivalsEntry::Capture, None) => Err(
                "arrivals = \"capture\" needs the frames of a capture: frame = { pcap = { file = ... } }".to_string(),
            ),
            _ => Ok(Vec::new()),
        }
    }
}

fn capture_frames(library: &dyn Library, file: &str) -> Result<Vec<Vec<u8>>, String> {
    let bytes = library.bytes(file)?;
    let packets = forebay_packet::pcap::read_all(&bytes).map_err(|error| format!("{file}: {error}"))?;
    if packets.is_empty() {
        Err(format!("{file} holds no packet"))
    } else {
        Ok(packets.iter().map(|packet| packet.data().to_vec()).collect())
    }
}

/// From each frame of a capture to the next, in mean distances; the last has one to the first.
fn capture_gaps(library: &dyn Library, file: &str) -> Result<Vec<f64>, String> {
    let bytes = library.bytes(file)?;
    let packets = forebay_packet::pcap::read_all(&bytes).map_err(|error| format!("{file}: {error}"))?;
    let gaps = packets
        .windows(2)
        .map(|pair| pair[1].timestamp_ns.saturating_sub(pair[0].timestamp_ns) as f64);
    let mut gaps: Vec<f64> = gaps.collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
    if mean <= 0.0 {
        return Err(format!("the packets of {file} have no times that tell them apart"));
    }
    gaps.iter_mut().for_each(|gap| *gap /= mean);
    gaps.push(1.0);
    Ok(gaps)
}
