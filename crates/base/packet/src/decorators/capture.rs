//! Writes both directions of a port into a pcap file.

use std::io::Write;

use crate::pcap::Writer;
use crate::{Burst, Packet, Port, PortError, delegate_port};

/// How long packets may be missing in the file while others arrive in every poll.
const LATE_NS: u64 = 10_000_000;

/// A port whose packets are written down. A packet's time is the `now_ns` of the call that
/// carried it.
///
/// The file can be read while the port is used, and is complete though the process is killed: it is flushed by the
/// first `receive` that finds no packet, and after 10 ms when all find some.
pub struct Capture<P, W: Write> {
    port: P,
    writer: Writer<W>,
    writes_received: bool,
    writes_sent: bool,
    /// The time of the first packet since the last flush.
    unflushed_since: Option<u64>,
}

impl<P: Port, W: Write + Send> Capture<P, W> {
    /// Wraps `port`; packets go to `writer`.
    pub fn new(port: P, writer: Writer<W>) -> Capture<P, W> {
        Capture {
            port,
            writer,
            writes_received: true,
            writes_sent: true,
            unflushed_since: None,
        }
    }

    /// Only what the port receives is written down.
    pub fn of_received(port: P, writer: Writer<W>) -> Capture<P, W> {
        Capture {
            writes_sent: false,
            ..Capture::new(port, writer)
        }
    }

    /// Only what is sent to the port is written down.
    pub fn of_sent(port: P, writer: Writer<W>) -> Capture<P, W> {
        Capture {
            writes_received: false,
            ..Capture::new(port, writer)
        }
    }

    /// Writes `packets`; a full disk puts the port out of order rather than losing evidence silently.
    fn write_all(&mut self, packets: &[Packet], now_ns: u64) -> Result<(), PortError> {
        for packet in packets {
            self.unflushed_since.get_or_insert(now_ns);
            let written = self.writer.write(now_ns, packet.data(), packet.len());
            written.map_err(|error| failed(self.port.name(), &error))?;
        }
        Ok(())
    }

    fn flush_file(&mut self) -> Result<(), PortError> {
        self.unflushed_since = None;
        self.writer.flush().map_err(|error| failed(self.port.name(), &error))
    }
}

fn failed(port: &str, error: &std::io::Error) -> PortError {
    PortError::Failed {
        port: port.to_owned(),
        operation: "write its capture file",
        detail: error.to_string(),
    }
}

impl<P: Port, W: Write + Send> Port for Capture<P, W> {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let result = self.port.receive(burst, max, now_ns);
        if self.writes_received {
            self.write_all(&burst.as_slice()[before..], now_ns)?;
        }
        let is_late = |since: u64| burst.len() == before || now_ns.saturating_sub(since) >= LATE_NS;
        if self.unflushed_since.is_some_and(is_late) {
            self.flush_file()?;
        }
        result
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if self.writes_sent
            && let Err(error) = self.write_all(burst.as_slice(), now_ns)
        {
            burst.clear();
            return Err(error);
        }
        self.port.send(burst, now_ns)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.flush_file()?;
        self.port.flush()
    }

    delegate_port!(port: name, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::pcap::{self, TimestampUnit};
    use crate::{MemoryPort, Packet};

    /// A file that the test can read while the port still owns it.
    #[derive(Clone, Default)]
    struct SharedFile(Arc<Mutex<Vec<u8>>>);

    impl SharedFile {
        /// The packets in the file, with their times.
        fn records(&self) -> Vec<(u64, Vec<u8>)> {
            let bytes = self.0.lock().expect("no thread panicked").clone();
            let mut reader = pcap::Reader::new(&bytes[..]).expect("we wrote this file");
            let mut packet = Packet::new();
            let mut records = Vec::new();
            while reader.read(&mut packet).expect("we wrote this file") {
                records.push((packet.timestamp_ns, packet.data().to_vec()));
            }
            records
        }
    }

    impl Write for SharedFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no thread panicked").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn both_directions_end_up_in_the_file() {
        let file = SharedFile::default();
        let writer = Writer::new(file.clone(), TimestampUnit::Nanoseconds).expect("memory file");
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let mut port = Capture::new(near, writer);
        far.inject(b"first");
        let mut burst = Burst::default();
        port.receive(&mut burst, 8, 11).expect("memory ports do not fail");
        burst.clear();
        burst.allocate().expect("there is room").set_data(b"second");
        port.send(&mut burst, 22).expect("memory ports do not fail");
        port.flush().expect("memory file");

        assert_eq!(file.records(), [(11, b"first".to_vec()), (22, b"second".to_vec())]);
    }

    /// Controllers read captures while the switch runs, and test beds kill it.
    #[test]
    fn the_file_is_complete_when_no_packet_arrives() {
        let file = SharedFile::default();
        let buffered = io::BufWriter::new(file.clone());
        let writer = Writer::new(buffered, TimestampUnit::Nanoseconds).expect("memory file");
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let mut port = Capture::new(near, writer);
        let mut burst = Burst::default();
        let mut receive = |now_ns| {
            port.receive(&mut burst, 8, now_ns).expect("memory ports do not fail");
            burst.clear();
        };
        far.inject(b"first");
        receive(11);
        assert_eq!(
            file.0.lock().expect("no thread panicked").len(),
            0,
            "more may follow at once"
        );
        receive(12);
        assert_eq!(file.records(), [(11, b"first".to_vec())]);
        far.inject(b"second");
        receive(20);
        far.inject(b"third");
        receive(20 + LATE_NS);
        assert_eq!(file.records().len(), 3, "packets in every poll");
    }
}
