//! Writes both directions of a port into a pcap file.

use std::io::{self, Write};

use crate::pcap::Writer;
use crate::{Burst, Packet, Port, PortError, delegate_port};

/// How long packets may be missing in the file while others arrive in every poll.
const LATE_NS: u64 = 10_000_000;

/// A port whose packets are written down. A packet's time is the `now_ns` of the call that
/// carried it.
///
/// The file can be read while the port is used, and is complete though the process is killed: it is flushed by the
/// first `receive` that finds no packet, and after 10 ms when all find some.
///
/// A file that cannot be written puts the port out of order, so that no evidence is lost silently, or ends
/// ([`Capture::or_end`]).
pub struct Capture<P, W: Write> {
    port: P,
    /// None once it could not be written.
    writer: Option<Writer<W>>,
    on_end: Option<OnEnd>,
    writes_received: bool,
    writes_sent: bool,
    /// The time of the first packet since the last flush.
    unflushed_since: Option<u64>,
}

/// Is told why the file has ended.
type OnEnd = Box<dyn FnOnce(&io::Error) + Send>;

impl<P: Port, W: Write + Send> Capture<P, W> {
    /// Wraps `port`; packets go to `writer`.
    pub fn new(port: P, writer: Writer<W>) -> Capture<P, W> {
        Capture {
            port,
            writer: Some(writer),
            on_end: None,
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

    /// When the file cannot be written any more, it ends, `on_end` is told why, and the port goes on.
    pub fn or_end(self, on_end: impl FnOnce(&io::Error) + Send + 'static) -> Capture<P, W> {
        Capture {
            on_end: Some(Box::new(on_end)),
            ..self
        }
    }

    fn write_all(&mut self, packets: &[Packet], now_ns: u64) -> Result<(), PortError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for packet in packets {
            self.unflushed_since.get_or_insert(now_ns);
            if let Err(error) = writer.write(now_ns, packet.data(), packet.len()) {
                return self.cannot_write(&error);
            }
        }
        Ok(())
    }

    fn flush_file(&mut self) -> Result<(), PortError> {
        self.unflushed_since = None;
        match self.writer.as_mut().map_or(Ok(()), Writer::flush) {
            Ok(()) => Ok(()),
            Err(error) => self.cannot_write(&error),
        }
    }

    #[cold]
    fn cannot_write(&mut self, error: &io::Error) -> Result<(), PortError> {
        let Some(on_end) = self.on_end.take() else {
            return Err(failed(self.port.name(), error));
        };
        self.writer = None;
        on_end(error);
        Ok(())
    }
}

fn failed(port: &str, error: &io::Error) -> PortError {
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

    /// A disk that is full.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A port whose file has room for its header alone, with its other end.
    fn port_on_a_full_disk() -> (Capture<MemoryPort, io::BufWriter<Full>>, MemoryPort) {
        let buffered = io::BufWriter::new(Full);
        let writer = Writer::new(buffered, TimestampUnit::Nanoseconds).expect("the buffer has room");
        let (near, far) = MemoryPort::pair("near", "far", 8);
        (Capture::new(near, writer), far)
    }

    #[test]
    fn a_full_disk_puts_the_port_out_of_order() {
        let (mut port, mut far) = port_on_a_full_disk();
        let mut burst = Burst::default();
        far.inject(b"first");
        port.receive(&mut burst, 8, 1).expect("it is in the buffer");
        burst.clear();
        let error = port.receive(&mut burst, 8, 2).expect_err("it cannot be written");
        assert!(error.to_string().contains("cannot write its capture file"), "{error}");
    }

    #[test]
    fn a_file_that_may_end_stops_no_packet() {
        let (port, mut far) = port_on_a_full_disk();
        let told = Arc::new(Mutex::new(Vec::new()));
        let told_by_port = Arc::clone(&told);
        let mut port = port.or_end(move |error| {
            told_by_port.lock().expect("no thread panicked").push(error.kind());
        });
        let mut burst = Burst::default();
        for now_ns in 1..=6 {
            if now_ns % 2 == 1 {
                far.inject(b"packet");
            }
            let received = port.receive(&mut burst, 8, now_ns);
            assert_eq!(received, Ok(usize::from(now_ns % 2 == 1)));
            burst.clear();
        }
        burst.allocate().expect("there is room").set_data(b"answer");
        assert_eq!(port.send(&mut burst, 7), Ok(1));
        assert_eq!(port.flush(), Ok(()));
        assert_eq!(*told.lock().expect("no thread panicked"), [io::ErrorKind::StorageFull]);
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
