//! A network to test ports in, and frames to send through it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::namespace::Namespace;
use forebay_packet::{Burst, Port, PortCounters, PortError};
use forebay_ports::{Clock, OpenError, OpenOptions, PacketPort, Poller, XdpPort};

/// How long a test waits for what should come at once.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The ways to open an existing interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Packet,
    Shared,
    Xdp,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Packet, Kind::Shared, Kind::Xdp];

    pub fn open(self, name: &str) -> Result<Box<dyn Port>, OpenError> {
        Ok(match self {
            Kind::Packet => Box::new(PacketPort::open(name, false)?),
            Kind::Shared => Box::new(PacketPort::open(name, true)?),
            Kind::Xdp => Box::new(XdpPort::open(name, None, &OpenOptions::default())?),
        })
    }
}

/// A frame of this length to an unused address, of an EtherType for experiments.
pub fn frame(length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..14].copy_from_slice(b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x88\xb5");
    frame
}

pub fn send(port: &mut dyn Port, frames: &[Vec<u8>]) -> Result<usize, PortError> {
    let mut burst = Burst::new(frames.len());
    for frame in frames {
        burst.allocate().expect("the burst is large enough").set_data(frame);
    }
    port.send(&mut burst, 0)
}

/// Receives until `enough` is true.
pub fn receive_until(port: &mut dyn Port, mut enough: impl FnMut(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let (mut burst, mut frames) = (Burst::default(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        port.receive(&mut burst, 32, 0).expect("the interface is there");
        for packet in burst.iter() {
            frames.push(packet.data().to_vec());
            if enough(packet.data()) {
                return frames;
            }
        }
        burst.clear();
        std::thread::yield_now();
    }
    panic!(
        "nothing suitable came in {PATIENCE:?}; {} frames, {}",
        frames.len(),
        port.counters()
    );
}

/// Two hosts, each on a veth pair to a switch in the middle.
pub struct Network {
    pub left: Namespace,
    pub right: Namespace,
    pub switch: Namespace,
}

impl Network {
    pub fn new() -> Option<Network> {
        let network = Network {
            left: Namespace::new()?,
            right: Namespace::new()?,
            switch: Namespace::new()?,
        };
        network.switch.veth("s0", &network.left, "eth0");
        network.switch.veth("s1", &network.right, "eth0");
        network.left.ip("addr add 10.9.0.1/24 dev eth0");
        network.right.ip("addr add 10.9.0.2/24 dev eth0");
        Some(network)
    }

    pub fn port(&self, kind: Kind, name: &str) -> Box<dyn Port> {
        self.switch.enter(|| kind.open(name)).expect("the interface is there")
    }

    /// Carries frames between the two hosts while `action` runs; returns the ports' counters.
    pub fn bridged<T>(&self, kind: Kind, action: impl FnOnce() -> T) -> (T, [PortCounters; 2]) {
        bridged([self.port(kind, "s0"), self.port(kind, "s1")], action)
    }
}

/// Carries frames between two ports while `action` runs; returns the ports' counters.
pub fn bridged<T>(mut ports: [Box<dyn Port>; 2], action: impl FnOnce() -> T) -> (T, [PortCounters; 2]) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let bridge = scope.spawn(|| {
            let (clock, mut poller, mut burst) = (Clock::start(), Poller::new(), Burst::new(64));
            while !done.load(Ordering::Relaxed) {
                let readiness = ports.each_ref().map(|port| port.readiness());
                poller.wait(readiness, clock.now_ns(), 5_000_000).expect("can wait");
                for (from, to) in [(0, 1), (1, 0)] {
                    ports[from]
                        .receive(&mut burst, 64, clock.now_ns())
                        .expect("it is there");
                    ports[to].send(&mut burst, clock.now_ns()).expect("it is there");
                }
            }
            ports.each_ref().map(|port| port.counters())
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(action));
        done.store(true, Ordering::Relaxed);
        let counters = bridge.join().expect("the bridge does not panic");
        match result {
            Ok(result) => (result, counters),
            Err(panic) => {
                eprintln!("left: {}\nright: {}", counters[0], counters[1]);
                std::panic::resume_unwind(panic)
            }
        }
    })
}

/// Sends four million bytes by TCP from one host to the other, at 10.9.0.2.
pub fn transfer(left: &Namespace, right: &Namespace) {
    let listener = right.enter(|| TcpListener::bind("10.9.0.2:80")).expect("can bind");
    let sent: Vec<u8> = (0..4_000_000u32).map(|number| (number ^ (number >> 9)) as u8).collect();
    let received = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut received = Vec::new();
            let (mut stream, _) = listener.accept().expect("the sender connects");
            stream.read_to_end(&mut received).expect("the sender closes");
            received
        });
        let mut stream = left.enter(|| TcpStream::connect("10.9.0.2:80")).expect("can connect");
        stream.write_all(&sent).expect("the receiver reads");
        drop(stream);
        reader.join().expect("the reader does not panic")
    });
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}
