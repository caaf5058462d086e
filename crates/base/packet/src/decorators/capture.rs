//! Writes both directions of a port into a pcap file.

use std::io::Write;

use crate::pcap::Writer;
use crate::{Burst, Packet, Port, PortError, delegate_port};

/// A port whose packets are written down. A packet's time is the `now_ns` of the call that
/// carried it.
pub struct Capture<P, W: Write> {
    port: P,
    writer: Writer<W>,
    writes_received: bool,
    writes_sent: bool,
}

impl<P: Port, W: Write + Send> Capture<P, W> {
    /// Wraps `port`; packets go to `writer`.
    pub fn new(port: P, writer: Writer<W>) -> Capture<P, W> {
        Capture {
            port,
            writer,
            writes_received: true,
            writes_sent: true,
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
}

/// Writes `packets`; a full disk puts the port out of order rather than losing evidence silently.
fn write_all<W: Write>(writer: &mut Writer<W>, port: &str, packets: &[Packet], now_ns: u64) -> Result<(), PortError> {
    for packet in packets {
        writer
            .write(now_ns, packet.data(), packet.len())
            .map_err(|error| failed(port, &error))?;
    }
    Ok(())
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
            write_all(&mut self.writer, self.port.name(), &burst.as_slice()[before..], now_ns)?;
        }
        result
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        if self.writes_sent
            && let Err(error) = write_all(&mut self.writer, self.port.name(), burst.as_slice(), now_ns)
        {
            burst.clear();
            return Err(error);
        }
        self.port.send(burst, now_ns)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.writer.flush().map_err(|error| failed(self.port.name(), &error))?;
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

        let bytes = file.0.lock().expect("no thread panicked").clone();
        let mut reader = pcap::Reader::new(&bytes[..]).expect("we wrote this file");
        let mut packet = Packet::new();
        let mut records = Vec::new();
        while reader.read(&mut packet).expect("we wrote this file") {
            records.push((packet.timestamp_ns, packet.data().to_vec()));
        }
        assert_eq!(records, [(11, b"first".to_vec()), (22, b"second".to_vec())]);
    }
}
