//! Capture files as a port: packets come from one file and go to another.

mod merge;
mod output;

use std::fs::File;
use std::io::{BufReader, Read};

use forebay_packet::pcap::Reader;
use forebay_packet::{Burst, DropReason, FRAME_BYTES_MAX, Packet, Port, PortCounters, PortError, PortState, Readiness};

use crate::OpenError;
pub use merge::Merge;
use merge::{Limit, Turn};
use output::Output;

/// How fast the input file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As fast as the switch takes the packets.
    #[default]
    Fast,
    /// With the gaps between packets that were recorded.
    Recorded,
    /// As fast as the switch takes the packets, those of all such files in the order of their times.
    Merged,
}

/// A port over capture files.
///
/// Received packets keep their recorded time; those of more than [`FRAME_BYTES_MAX`] bytes are dropped. Sent ones are
/// written with the time of the call, a burst in one system call, and counted as sent when they are in the file. When
/// that is full the port fails, and the file ends with the last whole packet. Without an output file, sent packets are
/// counted and forgotten, and the port is [`PortState::Finished`] when the input has ended or there is none.
pub struct PcapPort {
    name: String,
    input: Option<Reader<Box<dyn Read + Send>>>,
    output: Option<Output>,
    /// Why the output was given up, until it has been said.
    failure: Option<PortError>,
    has_failed: bool,
    pace: Pace,
    /// The next packet of the input, when `read_ahead` says that there is one.
    next: Packet,
    read_ahead: bool,
    /// Our time less the recorded time, fixed by the first packet when paced.
    shift_ns: Option<i128>,
    /// The place among files that are read as one.
    turn: Option<Turn>,
    counters: PortCounters,
}

impl PcapPort {
    /// Opens the files; the output is created or emptied.
    ///
    /// # Errors
    /// When a file cannot be opened, or the input is not a capture of Ethernet frames.
    pub fn open(input: Option<&str>, output: Option<&str>, pace: Pace) -> Result<PcapPort, OpenError> {
        Ok(PcapPort {
            name: format!("pcap:{},{}", input.unwrap_or_default(), output.unwrap_or_default()),
            input: input.map(open_input).transpose()?,
            output: output.map(Output::create).transpose()?,
            failure: None,
            has_failed: false,
            pace,
            next: Packet::new(),
            read_ahead: false,
            shift_ns: None,
            turn: None,
            counters: PortCounters::default(),
        })
    }

    /// Reads the input as one with those of other ports, each of which must be asked for packets.
    #[must_use]
    pub fn merged(mut self, merge: &Merge) -> PcapPort {
        let turn = merge.add();
        if self.input.is_none() {
            turn.announce(None);
        }
        self.turn = Some(turn);
        self
    }

    /// The failure that is to be said. The other files wait no more for a port that has failed.
    fn take_failure(&mut self) -> Option<PortError> {
        let failure = self.failure.take()?;
        if let Some(turn) = &self.turn {
            turn.announce(None);
        }
        Some(failure)
    }

    /// Receives packets that were recorded before a limit.
    fn receive_before(
        &mut self,
        limit: Option<&Limit>,
        burst: &mut Burst,
        max: usize,
        now_ns: u64,
    ) -> Result<usize, PortError> {
        let mut count = 0;
        while count < max && !burst.is_full() && self.look_ahead()? {
            let is_early = limit.is_some_and(|limit| !limit.is_after(self.next.timestamp_ns));
            if is_early || self.due_ns(now_ns) > now_ns {
                break;
            }
            self.read_ahead = false;
            if self.next.len() > FRAME_BYTES_MAX {
                self.counters.count_received_drops(DropReason::Truncated, 1);
                continue;
            }
            self.counters.count_received(self.next.len());
            let accepted = burst.push_exchange(&mut self.next);
            debug_assert!(accepted, "the burst was checked for room");
            count += 1;
        }
        Ok(count)
    }

    /// Reads ahead to the next packet; false when there is none.
    fn look_ahead(&mut self) -> Result<bool, PortError> {
        if self.read_ahead {
            return Ok(true);
        }
        let Some(input) = &mut self.input else {
            return Ok(false);
        };
        match input.read(&mut self.next) {
            Ok(true) => self.read_ahead = true,
            Ok(false) => self.input = None,
            Err(error) => {
                self.input = None;
                return Err(self.failed("read its input", &error));
            }
        }
        Ok(self.read_ahead)
    }

    /// When the packet read ahead shall come in.
    fn due_ns(&mut self, now_ns: u64) -> u64 {
        match self.pace {
            Pace::Fast | Pace::Merged => now_ns,
            Pace::Recorded => {
                let recorded = i128::from(self.next.timestamp_ns);
                let shift = *self.shift_ns.get_or_insert(i128::from(now_ns) - recorded);
                saturating_time(recorded + shift)
            }
        }
    }

    /// Whether nothing more comes in.
    fn has_ended(&self) -> bool {
        self.input.is_none() && !self.read_ahead
    }

    fn failed(&self, operation: &'static str, error: &dyn std::fmt::Display) -> PortError {
        PortError::Failed {
            port: self.name.clone(),
            operation,
            detail: error.to_string(),
        }
    }
}

fn saturating_time(time_ns: i128) -> u64 {
    u64::try_from(time_ns.max(0)).unwrap_or(u64::MAX)
}

fn open_input(path: &str) -> Result<Reader<Box<dyn Read + Send>>, OpenError> {
    let file = File::open(path).map_err(|cause| OpenError::File {
        action: "read",
        path: path.to_owned(),
        cause,
    })?;
    let bytes: Box<dyn Read + Send> = Box::new(BufReader::with_capacity(1 << 16, file));
    Reader::new(bytes).map_err(|cause| OpenError::Capture {
        path: path.to_owned(),
        cause,
    })
}

impl Port for PcapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if let Some(failure) = self.take_failure() {
            return Err(failure);
        }
        let limit = self.turn.as_ref().map(Turn::limit);
        let received = self.receive_before(limit.as_ref(), burst, max, now_ns);
        if limit.is_some() {
            let ahead = self.look_ahead();
            let next = (ahead == Ok(true)).then_some(self.next.timestamp_ns);
            if let Some(turn) = &self.turn {
                turn.announce(next);
            }
            ahead?;
        }
        received
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if let Some(failure) = self.take_failure() {
            burst.clear();
            return Err(failure);
        }
        let written = match &mut self.output {
            Some(output) => output.write(burst.as_slice(), now_ns),
            None if self.has_failed => Ok(0),
            None => Ok(burst.len()),
        };
        let count = written.as_ref().map_or_else(|(count, _)| *count, |count| *count);
        for packet in &burst.as_slice()[..count] {
            self.counters.count_sent(packet.len());
        }
        burst.clear();
        // What has been written is accepted; the failure is said by the next call.
        if let Err((_, error)) = written {
            self.output = None;
            self.has_failed = true;
            self.failure = Some(self.failed("write its output", &error));
        }
        Ok(count)
    }

    fn counters(&self) -> PortCounters {
        self.counters
    }

    fn state(&self) -> PortState {
        if self.has_ended() && self.output.is_none() {
            PortState::Finished
        } else {
            PortState::Up
        }
    }

    fn readiness(&self) -> Readiness {
        match (self.has_ended(), self.shift_ns) {
            _ if self.failure.is_some() => Readiness::Now,
            (true, _) => Readiness::Never,
            (_, Some(shift)) if self.read_ahead => {
                Readiness::At(saturating_time(i128::from(self.next.timestamp_ns) + shift))
            }
            _ => Readiness::Now,
        }
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.take_failure().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use forebay_packet::pcap::{self, TimestampUnit, Writer};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Writes a capture of one-byte packets at the given times.
    fn capture(path: &Path, times_ns: &[u64]) {
        let file = File::create(path).expect("a temporary folder");
        let mut writer = Writer::new(file, TimestampUnit::Nanoseconds).expect("a new file");
        for (number, time_ns) in times_ns.iter().enumerate() {
            writer.write(*time_ns, &[number as u8], 1).expect("a new file");
        }
    }

    fn numbers(burst: &Burst) -> Vec<u8> {
        burst.iter().map(|packet| packet.data()[0]).collect()
    }

    #[test]
    fn packets_go_from_file_to_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (input, output) = (folder.path().join("in.pcap"), folder.path().join("out.pcap"));
        capture(&input, &[5, 6, 7]);
        let mut port = PcapPort::open(input.to_str(), output.to_str(), Pace::Fast).expect("both files open");
        let mut burst = Burst::new(2);
        assert_eq!(port.receive(&mut burst, 9, 0), Ok(2));
        assert_eq!(burst.as_slice()[1].timestamp_ns, 6);
        assert_eq!(port.send(&mut burst, 70), Ok(2));
        assert_eq!(port.state(), PortState::Up);
        assert_eq!(port.receive(&mut burst, 9, 0), Ok(1));
        assert_eq!(port.send(&mut burst, 80), Ok(1));
        assert_eq!(port.receive(&mut burst, 9, 0), Ok(0));
        assert_eq!(
            (port.state(), port.readiness()),
            (PortState::Up, Readiness::Never),
            "it still writes"
        );
        port.flush().expect("the disk is not full");
        let written = pcap::read_all(&std::fs::read(output).expect("we wrote it")).expect("a capture");
        let records: Vec<_> = written.iter().map(|p| (p.timestamp_ns, p.data()[0])).collect();
        assert_eq!(records, [(70, 0), (70, 1), (80, 2)]);
    }

    #[test]
    fn the_recorded_pace_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = folder.path().join("in.pcap");
        capture(&input, &[100 * SECOND, 101 * SECOND, 103 * SECOND]);
        let mut port = PcapPort::open(input.to_str(), None, Pace::Recorded).expect("it exists");
        let mut burst = Burst::new(8);
        let start = 5000 * SECOND;
        assert_eq!(port.receive(&mut burst, 9, start), Ok(1));
        assert_eq!(port.readiness(), Readiness::At(start + SECOND));
        assert_eq!(port.receive(&mut burst, 9, start + SECOND - 1), Ok(0));
        assert_eq!(port.receive(&mut burst, 9, start + 5 * SECOND), Ok(2));
        assert_eq!(numbers(&burst), [0, 1, 2]);
    }

    #[test]
    fn merged_files_come_in_the_order_of_their_times() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let merge = Merge::default();
        let open = |name: &str, times_ns: &[u64]| {
            let input = folder.path().join(name);
            capture(&input, times_ns);
            let port = PcapPort::open(input.to_str(), None, Pace::Merged).expect("it exists");
            port.merged(&merge)
        };
        let only_output = PcapPort::open(None, Some("/dev/null"), Pace::Merged).expect("it can be made");
        let mut ports = [
            open("a", &[1, 5, 6, 9]),
            open("b", &[2, 3, 6, 7, 8]),
            only_output.merged(&merge),
            open("c", &[]),
        ];
        let mut order = Vec::new();
        for _ in 0..20 {
            for (place, port) in ports.iter_mut().enumerate() {
                let mut burst = Burst::new(2);
                let count = port.receive(&mut burst, 9, 0).expect("the files are sound");
                assert_eq!(count, burst.len());
                order.extend(burst.iter().map(|packet| (packet.timestamp_ns, place)));
            }
        }
        let expected = [(1, 0), (2, 1), (3, 1), (5, 0), (6, 0), (6, 1), (7, 1), (8, 1), (9, 0)];
        assert_eq!(order, expected);
        assert!(ports.iter().all(|port| port.readiness() == Readiness::Never));
    }

    #[test]
    fn a_damaged_file_does_not_stop_those_that_are_merged_with_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (cut, whole) = (folder.path().join("cut"), folder.path().join("whole"));
        capture(&cut, &[1, 2]);
        capture(&whole, &[3, 4]);
        let bytes = std::fs::read(&cut).expect("we wrote it");
        std::fs::write(&cut, &bytes[..bytes.len() - 1]).expect("a temporary folder");
        let merge = Merge::default();
        let open = |path: &Path| {
            let port = PcapPort::open(path.to_str(), None, Pace::Merged).expect("a good header");
            port.merged(&merge)
        };
        let (mut cut, mut whole) = (open(cut.as_path()), open(whole.as_path()));
        let mut burst = Burst::new(8);
        assert_eq!(cut.receive(&mut burst, 9, 0), Ok(0), "the other file was not read yet");
        assert_eq!(whole.receive(&mut burst, 9, 0), Ok(0));
        assert!(cut.receive(&mut burst, 9, 0).is_err());
        assert_eq!(whole.receive(&mut burst, 9, 0), Ok(2));
        assert_eq!(numbers(&burst), [0, 0, 1]);
    }

    #[test]
    fn a_damaged_input_is_reported_once_and_then_finished() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = folder.path().join("in.pcap");
        capture(&input, &[1, 2]);
        let bytes = std::fs::read(&input).expect("we wrote it");
        std::fs::write(&input, &bytes[..bytes.len() - 1]).expect("a temporary folder");
        let mut port = PcapPort::open(input.to_str(), None, Pace::Fast).expect("a good header");
        let mut burst = Burst::new(8);
        let error = port.receive(&mut burst, 9, 0).expect_err("the second packet is cut");
        assert!(error.to_string().contains("at byte 41: "), "{error}");
        assert_eq!(numbers(&burst), [0]);
        assert_eq!(port.receive(&mut burst, 9, 0), Ok(0));
        assert_eq!(port.state(), PortState::Finished);
    }

    #[test]
    fn only_what_is_in_the_file_counts_as_sent() {
        // `/dev/full` refuses the header of the file.
        assert!(PcapPort::open(None, Some("/dev/full"), Pace::Fast).is_err());
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("out.pcap");
        let mut port = PcapPort::open(None, path.to_str(), Pace::Fast).expect("it can be made");
        if let Some(output) = &mut port.output {
            // Two packets, and a part of the third.
            output.limit_bytes(2 * (16 + 100) + 50);
        }
        let mut burst = Burst::new(8);
        let send = |port: &mut PcapPort, burst: &mut Burst, count: u8| {
            for number in 0..count {
                burst.allocate().expect("there is room").set_data(&[number; 100]);
            }
            port.send(burst, 0)
        };
        assert_eq!(send(&mut port, &mut burst, 1), Ok(1));
        assert_eq!(
            send(&mut port, &mut burst, 4),
            Ok(1),
            "what has been written is accepted"
        );
        assert_eq!(port.counters().sent_packets, 2);
        let failure = send(&mut port, &mut burst, 4).expect_err("the disk is full");
        assert!(failure.to_string().contains("cannot write its output"), "{failure}");
        assert_eq!(send(&mut port, &mut burst, 4), Ok(0), "it is said once");
        assert_eq!((port.flush(), port.counters().sent_packets), (Ok(()), 2));
        let written = pcap::read_all(&std::fs::read(path).expect("it was made")).expect("whole records");
        assert_eq!(written.len(), 2);
    }

    #[test]
    fn a_file_that_is_no_capture_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = folder.path().join("in.txt");
        std::fs::write(&input, "some text").expect("a temporary folder");
        let Err(error) = PcapPort::open(input.to_str(), None, Pace::Fast) else {
            panic!("text is not a capture");
        };
        assert!(error.to_string().contains("not a pcap or pcapng file"), "{error}");
    }
}
