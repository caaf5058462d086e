//! Clients that do what they should not, and what a server makes of them: it says why, and serves the next.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use forebay_packet::{Burst, Port, PortState};

use super::message::{AddRing, Init, MESSAGE_BYTES, Message, SECRET_BYTES, VERSION};
use super::ring::ring_bytes;
use super::{Channel, End, MemifOptions, MemifPort, open};
use crate::OpenOptions;
use crate::system::event::Event;
use crate::system::shared::SharedMemory;
use crate::system::unix::{self, SocketKind};

const PATIENCE: Duration = Duration::from_secs(10);
const EXPONENT: u8 = 4;
const MEMORY: usize = 1 << 16;
const COOKIE: u32 = 0x03E3_1F20;

/// A client that sends what a test wants.
struct Stranger {
    channel: Channel,
    memory: SharedMemory,
    file: OwnedFd,
}

impl Stranger {
    fn new(path: &str) -> Stranger {
        let channel = Channel(unix::connect(SocketKind::Messages, path).expect("the server listens"));
        let (memory, file) = SharedMemory::create("stranger", MEMORY).expect("memory");
        for ring in [0, ring_bytes(EXPONENT)] {
            memory.word32(ring).store(COOKIE, Ordering::Relaxed);
        }
        let stranger = Stranger { channel, memory, file };
        assert!(matches!(stranger.answer(), Ok(Message::Hello(_))));
        stranger
    }

    fn answer(&self) -> Result<Message, String> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            match self.channel.receive() {
                Ok(Some((Message::Disconnect { reason }, _))) => return Err(reason),
                Ok(Some((message, _))) => return Ok(message),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(End::Peer(_)) => return Err("closed".to_owned()),
                Err(End::Refused(reason)) => panic!("the server misbehaves: {reason}"),
            }
        }
        panic!("no answer")
    }

    fn ask(&self, message: &Message, file: Option<&OwnedFd>) -> Result<Message, String> {
        let sent = self.channel.send(message, file.map(AsFd::as_fd));
        sent.map_err(|_| "closed".to_owned())?;
        self.answer()
    }

    fn init(&self) -> Result<Message, String> {
        let init = Init {
            version: VERSION,
            id: 0,
            is_ethernet: true,
            secret: [0; SECRET_BYTES],
            name: "stranger".to_owned(),
        };
        self.ask(&Message::Init(init), None)
    }

    fn add_region(&self, bytes: u64) -> Result<Message, String> {
        self.ask(&Message::AddRegion { index: 0, bytes }, Some(&self.file))
    }

    fn add_ring(&self, to_server: bool, offset: u32, exponent: u8) -> Result<Message, String> {
        let ring = AddRing {
            to_server,
            index: 0,
            region: 0,
            offset,
            exponent,
        };
        let event = Event::new()
            .expect("an event")
            .as_fd()
            .try_clone_to_owned()
            .expect("a copy");
        self.ask(&Message::AddRing(ring), Some(&event))
    }

    fn connect(&self) -> Result<Message, String> {
        let name = "stranger".to_owned();
        self.ask(&Message::Connect { name }, None)
    }

    /// All that a client should do.
    fn connect_rightly(&self) {
        let steps = [
            self.init(),
            self.add_region(MEMORY as u64),
            self.add_ring(true, 0, EXPONENT),
            self.add_ring(false, ring_bytes(EXPONENT) as u32, EXPONENT),
            self.connect(),
        ];
        assert!(steps.iter().all(Result::is_ok), "{steps:?}");
    }

    /// Puts a descriptor into the ring to the server, and announces `head` descriptors.
    fn offer(&self, (region, offset, bytes): (u64, u64, u64), flags: u64, head: u16) {
        self.memory
            .write_pair(128, [flags | region << 16 | bytes << 32, offset]);
        self.memory.word16(6).store(head, Ordering::Release);
    }
}

fn server() -> (tempfile::TempDir, String, MemifPort) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memif.sock").display().to_string();
    let mut ports = open(&MemifOptions::new(&path), 1, &OpenOptions::default()).expect("a free path");
    let mut port = ports.remove(0);
    assert_eq!(poll(&mut port), 0);
    (folder, path, port)
}

fn poll(port: &mut MemifPort) -> usize {
    port.receive(&mut Burst::new(32), 32, 0)
        .expect("a port is never out of order")
}

/// Whoever was there before, an ordinary client is served.
fn assert_serves(path: &str, port: &mut MemifPort) {
    let started = Instant::now();
    while port.state() == PortState::Up {
        poll(port);
        assert!(started.elapsed() < PATIENCE, "the connection before does not end");
    }
    let stranger = loop {
        let stranger = Stranger::new(path);
        match stranger.init() {
            Ok(_) => break stranger,
            Err(_) => assert!(started.elapsed() < PATIENCE, "the interface stays taken"),
        }
    };
    stranger.add_region(MEMORY as u64).expect("a right region");
    stranger.add_ring(true, 0, EXPONENT).expect("a right ring");
    stranger
        .add_ring(false, ring_bytes(EXPONENT) as u32, EXPONENT)
        .expect("a right ring");
    stranger.connect().expect("all is there");
    stranger.offer((0, 4096, 60), 0, 1);
    while poll(port) == 0 {
        assert!(started.elapsed() < PATIENCE, "the frame does not come");
    }
}

#[test]
fn messages_that_cannot_be_right_are_refused() {
    type Attempt = fn(&Stranger) -> Result<Message, String>;
    let attempts: [(Attempt, &str); 8] = [
        (|s| s.connect(), "an unexpected message"),
        (
            |s| s.init().and(s.add_region(MEMORY as u64 + 1)),
            "a region cannot be mapped",
        ),
        (
            |s| s.init().and(s.ask(&Message::AddRegion { index: 0, bytes: 1 }, None)),
            "a region comes without memory",
        ),
        (
            |s| {
                s.init()
                    .and(s.ask(&Message::AddRegion { index: 3, bytes: 64 }, Some(&s.file)))
            },
            "a region has the wrong index",
        ),
        (
            |s| {
                s.init()
                    .and(s.add_region(MEMORY as u64))
                    .and(s.add_ring(true, 0, 15))
                    .and(s.connect())
            },
            "a ring has too many descriptors",
        ),
        (
            |s| {
                s.init()
                    .and(s.add_region(4096))
                    .and(s.add_ring(true, 4000, 4))
                    .and(s.connect())
            },
            "a ring does not lie within its region",
        ),
        (
            |s| {
                s.init()
                    .and(s.add_region(4096))
                    .and(s.add_ring(true, 64, 4))
                    .and(s.connect())
            },
            "a ring does not begin with its cookie",
        ),
        (|s| s.init().and(s.init()), "an unexpected message"),
    ];
    for (attempt, reason) in attempts {
        let (_folder, path, mut port) = server();
        assert_eq!(attempt(&Stranger::new(&path)), Err(reason.to_owned()));
        assert_serves(&path, &mut port);
    }
    let (_folder, path, mut port) = server();
    let stranger = Stranger::new(&path);
    unix::send(stranger.channel.0.as_fd(), &[9; MESSAGE_BYTES], &[]).expect("the server listens");
    assert_eq!(stranger.answer(), Err("a message is of an unknown type".to_owned()));
    assert_serves(&path, &mut port);
}

#[test]
fn descriptors_that_cannot_be_right_end_the_connection() {
    type Attempt = fn(&Stranger);
    let attempts: [(Attempt, &str); 4] = [
        (
            |s| s.offer((0, MEMORY as u64 - 10, 60), 0, 1),
            "a descriptor points out of its region",
        ),
        (
            |s| s.offer((7, 0, 60), 0, 1),
            "a descriptor names a region that there is not",
        ),
        (
            |s| s.offer((0, 4096, u64::from(u32::MAX)), 1, 16),
            "a descriptor points out of its region",
        ),
        (|s| s.offer((0, 4096, 60), 0, 17), "a ring has more in it than it holds"),
    ];
    for (attempt, reason) in attempts {
        let (_folder, path, mut port) = server();
        let stranger = Stranger::new(&path);
        stranger.connect_rightly();
        attempt(&stranger);
        assert_eq!(poll(&mut port), 0);
        assert_eq!(port.state(), PortState::Down);
        assert_eq!(stranger.answer(), Err(reason.to_owned()));
        drop(stranger);
        assert_serves(&path, &mut port);
    }
}

#[test]
fn frames_before_a_fault_are_sent() {
    let (_folder, path, mut port) = server();
    let stranger = Stranger::new(&path);
    stranger.connect_rightly();
    let ring = ring_bytes(EXPONENT);
    for (index, offset) in [8192, MEMORY as u64].into_iter().enumerate() {
        let at = ring + 128 + index * 16;
        stranger.memory.write_pair(at, [2048 << 32, offset]);
    }
    stranger.memory.word16(ring + 6).store(2, Ordering::Release);
    let mut burst = Burst::new(4);
    for _ in 0..3 {
        burst.allocate().expect("there is room").set_data(&[7; 60]);
    }
    assert_eq!(port.send(&mut burst, 0), Ok(1));
    assert_eq!((port.counters().sent_packets, port.state()), (1, PortState::Down));
    assert_eq!(stranger.memory.word16(ring + 64).load(Ordering::Acquire), 1);
}

#[test]
fn frames_have_up_to_65535_bytes() {
    let (_folder, path, mut port) = server();
    let stranger = Stranger::new(&path);
    stranger.connect_rightly();
    // The second one comes into a buffer that has grown.
    for (index, bytes) in [65_535, 65_536].into_iter().enumerate() {
        stranger.memory.write_pair(128 + index * 16, [bytes << 32, 0]);
    }
    let mut burst = Burst::new(1);
    for (head, length) in [(1, Some(65_535)), (2, None)] {
        stranger.memory.word16(6).store(head, Ordering::Release);
        port.receive(&mut burst, 1, 0).expect("a port is never out of order");
        assert_eq!(burst.iter().next().map(|packet| packet.len()), length);
        burst.clear();
    }
    assert_eq!(port.counters().total_drops(), 1);
}

/// All descriptors are empty, as the memory is.
#[test]
fn frames_that_are_dropped_do_not_keep_the_worker() {
    let (_folder, path, mut port) = server();
    let stranger = Stranger::new(&path);
    stranger.connect_rightly();
    stranger.memory.word16(6).store(10, Ordering::Release);
    assert_eq!(port.receive(&mut Burst::new(4), 4, 0), Ok(0));
    assert_eq!(port.counters().total_drops(), 4);
    assert_eq!(poll(&mut port), 0);
    assert_eq!(port.counters().total_drops(), 10);
}

#[test]
fn frames_without_an_end_are_dropped() {
    let (_folder, path, mut port) = server();
    let stranger = Stranger::new(&path);
    stranger.connect_rightly();
    stranger.offer((0, 4096, 60), 1, 1);
    assert_eq!(poll(&mut port), 0);
    assert_eq!((port.state(), port.counters().total_drops()), (PortState::Up, 1));
}
