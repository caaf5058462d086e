//! Tells a sink about every packet that crosses a port.

use crate::{Burst, Direction, Packet, Port, PortError, delegate_port};

/// What [`Trace`] tells: the port's name, the direction, the packet, the time in nanoseconds.
/// Any closure with these arguments is one.
pub trait TraceSink: Send {
    /// Called for every packet, before it is sent or after it was received.
    fn packet(&mut self, port: &str, direction: Direction, packet: &Packet, now_ns: u64);
}

impl<F: FnMut(&str, Direction, &Packet, u64) + Send> TraceSink for F {
    fn packet(&mut self, port: &str, direction: Direction, packet: &Packet, now_ns: u64) {
        self(port, direction, packet, now_ns);
    }
}

/// A port whose packets are shown to a sink.
pub struct Trace<P, S> {
    port: P,
    sink: S,
}

impl<P: Port, S: TraceSink> Trace<P, S> {
    /// Wraps `port`.
    pub fn new(port: P, sink: S) -> Trace<P, S> {
        Trace { port, sink }
    }
}

impl<P: Port, S: TraceSink> Port for Trace<P, S> {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let before = burst.len();
        let result = self.port.receive(burst, max, now_ns);
        for packet in &burst.as_slice()[before..] {
            self.sink.packet(self.port.name(), Direction::Received, packet, now_ns);
        }
        result
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        for packet in burst.iter() {
            self.sink.packet(self.port.name(), Direction::Sent, packet, now_ns);
        }
        self.port.send(burst, now_ns)
    }

    delegate_port!(port: name, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::MemoryPort;

    #[test]
    fn the_sink_sees_both_directions() {
        let (near, mut far) = MemoryPort::pair("near", "far", 8);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let mut port = Trace::new(near, move |port: &str, direction: Direction, packet: &Packet, now| {
            let line = (port.to_owned(), direction, packet.data().to_vec(), now);
            log.lock().expect("no thread panicked").push(line);
        });
        far.inject(b"in");
        let mut burst = Burst::default();
        port.receive(&mut burst, 8, 1).expect("memory ports do not fail");
        port.send(&mut burst, 2).expect("memory ports do not fail");
        assert_eq!(
            *seen.lock().expect("no thread panicked"),
            [
                ("near".to_owned(), Direction::Received, b"in".to_vec(), 1),
                ("near".to_owned(), Direction::Sent, b"in".to_vec(), 2)
            ]
        );
    }
}
