//! Capture files as a port: packets come from one file and go to another.

mod output;

use std::fs::File;
use std::io::{BufReader, Read};

use forebay_packet::pcap::Reader;
use forebay_packet::{Burst, DropReason, FRAME_BYTES_MAX, Packet, Port, PortCounters, PortError, PortState, Readiness};

use crate::OpenError;
use output::Output;

/// How fast the input file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As fast as the switch takes the packets.
    #[default]
    Fast,
    /// With the gaps between packets that were recorded.
    Recorded,
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
            counters: PortCounters::default(),
        })
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
            Pace::Fast => now_ns,
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
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut count = 0;
        while count < max && !burst.is_full() && self.look_ahead()? {
            if self.due_ns(now_ns) > now_ns {
                break;
            }
            self.read_ahead = false;
            if self.next.len() > FRAME_BYTES_MAX {
                self.counters.count_drops(DropReason::Truncated, 1);
                continue;
            }
            self.counters.count_received(self.next.len());
            let accepted = burst.push_exchange(&mut self.next);
            debug_assert!(accepted, "the burst was checked for room");
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if let Some(failure) = self.failure.take() {
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
        match self.has_ended() && self.output.is_none() {
            true => PortState::Finished,
            false => PortState::Up,
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
        self.failure.take().map_or(Ok(()), Err)
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
