//! A peer of memif that sends any messages and writes anything to the memory that is shared, against either role: for
//! tests and for fuzzing.
//!
//! Whatever it does is answered or refused; nothing panics, hangs, or touches memory that is not shared.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use forebay_packet::{Burst, PortCounters};

use super::client::State;
use super::message::{AddRing, Hello, Init, MESSAGE_BYTES, Message, SECRET_BYTES, VERSION};
use super::ring::{COOKIE, ring_bytes};
use super::server::{Session, Shared};
use super::{Channel, MemifLink, MemifOptions};
use crate::link::{Input, ReceiveQueue, SendQueue};
use crate::system::event::Event;
use crate::system::shared::SharedMemory;

/// Bytes of the memory that a client shares.
const MEMORY: usize = 1 << 16;

/// Bytes from one of its rings to the next.
const RING: usize = 0x400;

/// Queues for each direction.
const QUEUES: usize = 2;

/// Lets a peer do what the input says.
pub fn exercise(input: &[u8]) {
    let mut input = Input(input);
    // A system without descriptors or memory is none of the peer's doing.
    let _ = match input.below(2) {
        0 => misuse_server(&mut input),
        _ => misuse_client(&mut input),
    };
}

fn link() -> io::Result<Arc<MemifLink>> {
    Ok(Arc::new(MemifLink::new(QUEUES, 1, Arc::new(Event::new()?))?))
}

fn event() -> Option<OwnedFd> {
    Event::new().ok()?.as_fd().try_clone_to_owned().ok()
}

/// A message with fields of the input, in which one byte may be another one.
fn message(input: &mut Input<'_>) -> Option<Message> {
    let name = "peer".to_owned();
    let message = match input.below(9) {
        0 => Message::Ack,
        1 => Message::Hello(Hello {
            name,
            oldest: VERSION,
            newest: VERSION,
            last_region: input.word(),
            last_ring_to_client: input.word(),
            last_ring_to_server: input.word(),
            ring_exponent: input.byte(),
        }),
        2 => Message::Init(Init {
            version: VERSION,
            id: 0,
            is_ethernet: true,
            secret: [0; SECRET_BYTES],
            name,
        }),
        3 => Message::AddRegion {
            index: u16::from(input.byte() % 4),
            bytes: u64::from(input.word()) << input.below(48),
        },
        4 => Message::AddRing(AddRing {
            to_server: input.below(2) == 0,
            index: u16::from(input.byte() % 4),
            region: u16::from(input.byte() % 3),
            offset: u32::from(input.word()),
            exponent: input.byte() % 17,
        }),
        5 => Message::Connect { name },
        6 => Message::Connected { name },
        7 => Message::Disconnect { reason: name },
        _ => return Message::decode(&std::array::from_fn(|_| input.byte())),
    };
    let mut bytes = message.encode();
    if input.below(4) == 0 {
        bytes[input.below(MESSAGE_BYTES)] = input.byte();
    }
    Message::decode(&bytes)
}

/// Writes to shared memory whose rings lie `apart`: mostly descriptors and positions that are nearly right. What would
/// lie outside of it is left out.
fn write(memory: &SharedMemory, apart: usize, input: &mut Input<'_>) {
    let ring = input.below(2 * QUEUES) * apart;
    match input.below(4) {
        0 => {
            let at = ring + 128 + input.below(32) * 16;
            let (flags, region) = (u64::from(input.byte() % 4), u64::from(input.byte() % 3));
            let length = u64::from(input.word());
            let offset = u64::from(input.word());
            if memory.contains(at, 16) {
                memory.write_pair(at, [flags | region << 16 | length << 32, offset]);
            }
        }
        position @ (1 | 2) => {
            let (at, value) = (ring + [6, 64][position - 1], input.word() % 40);
            if memory.contains(at, 2) {
                memory.word16(at).store(value, Ordering::Release);
            }
        }
        _ => {
            let at = usize::from(input.word());
            let any: [u8; 8] = std::array::from_fn(|_| input.byte());
            if memory.contains(at, any.len()) {
                memory.copy_in(at, &any);
            }
        }
    }
}

/// Receives and sends by all queues that are there; false when one of them has a fault, which ends the connection.
fn carry(link: &MemifLink) -> bool {
    let mut is_right = true;
    for queue in 0..QUEUES {
        let (mut burst, mut counters) = (Burst::new(16), PortCounters::default());
        if let Some(mut receiver) = link.set_receiver(queue, None) {
            is_right &= receiver.receive(&mut burst, 16, 0, &mut counters).is_ok();
            let counted = counters.received_packets as usize;
            assert_eq!(burst.len(), counted, "what is counted is there");
            receiver.arm();
            receiver.disarm();
            link.set_receiver(queue, Some(receiver));
        }
        burst.clear();
        for length in [10, 60, 1500, 9000] {
            burst.allocate().expect("there is room").set_data(&vec![7; length]);
        }
        if let Some(mut sender) = link.set_sender(queue, None) {
            let mut counters = PortCounters::default();
            if let Ok(accepted) = sender.send(burst.as_slice(), &mut counters) {
                assert_eq!(accepted as u64, counters.sent_packets, "what is accepted is counted");
                assert_eq!(counters.total_drops() + counters.sent_packets, 4, "so is what is not");
            } else {
                is_right = false;
            }
            link.set_sender(queue, Some(sender));
        }
    }
    is_right
}

/// A client of ours.
struct Stranger {
    session: Session,
    offers: Mutex<Vec<Arc<Shared>>>,
    memory: SharedMemory,
    file: OwnedFd,
    /// What the session speaks with.
    _peer: UnixStream,
}

impl Stranger {
    fn new(link: &Arc<MemifLink>) -> io::Result<Option<Stranger>> {
        let (ours, peer) = UnixStream::pair()?;
        let shared = Shared::new(&MemifOptions::new("exercise"), Arc::clone(link));
        let (memory, file) = SharedMemory::create("stranger", MEMORY)?;
        for ring in 0..2 * QUEUES {
            memory.word32(ring * RING).store(COOKIE, Ordering::Relaxed);
        }
        let session = Session::begin(ours.into(), QUEUES);
        Ok(session.map(|session| Stranger {
            session,
            offers: Mutex::new(vec![Arc::new(shared)]),
            memory,
            file,
            _peer: peer,
        }))
    }

    /// Says something; false when the connection is over.
    fn say(&mut self, message: Message) -> bool {
        let descriptor = match message {
            Message::AddRegion { .. } => self.file.try_clone().ok(),
            Message::AddRing(_) => event(),
            _ => None,
        };
        self.session.answer(message, descriptor, &self.offers).is_ok() && self.session.check().is_ok()
    }

    /// What a right client says, so that most inputs get as far as descriptors.
    fn connect(&mut self, input: &mut Input<'_>) -> bool {
        let name = || "peer".to_owned();
        let init = Message::Init(Init {
            version: VERSION,
            id: 0,
            is_ethernet: true,
            secret: [0; SECRET_BYTES],
            name: name(),
        });
        let bytes = MEMORY as u64;
        let region = |index| Message::AddRegion { index, bytes };
        let mut is_right = self.say(init) && self.say(region(0)) && self.say(region(1));
        for ring in 0..2 * QUEUES {
            is_right &= self.say(Message::AddRing(AddRing {
                to_server: ring < QUEUES,
                index: (ring % QUEUES) as u16,
                region: u16::from(input.byte() % 2),
                offset: (ring * RING) as u32,
                exponent: input.byte() % 6,
            }));
        }
        is_right && self.say(Message::Connect { name: name() })
    }
}

fn misuse_server(input: &mut Input<'_>) -> io::Result<()> {
    let link = link()?;
    let Some(mut stranger) = Stranger::new(&link)? else {
        return Ok(());
    };
    if input.below(8) > 0 && !stranger.connect(input) {
        return Ok(());
    }
    while !input.is_at_end() {
        let goes_on = match input.below(8) {
            0 => message(input).is_some_and(|message| stranger.say(message)),
            1..=4 => {
                write(&stranger.memory, RING, input);
                true
            }
            _ => carry(&link),
        };
        if !goes_on {
            return Ok(());
        }
    }
    carry(&link);
    Ok(())
}

/// A server that our client is connected with.
struct Host {
    state: Option<State>,
    channel: Channel,
    peer: Channel,
    options: MemifOptions,
    link: Arc<MemifLink>,
    /// The client's memory, and bytes from one of its rings to the next.
    memory: Option<(SharedMemory, usize)>,
}

impl Host {
    fn new(input: &mut Input<'_>) -> io::Result<Host> {
        let (ours, peer) = UnixStream::pair()?;
        for socket in [&ours, &peer] {
            socket.set_nonblocking(true)?;
        }
        let options = MemifOptions {
            queues: QUEUES,
            ring: 1 << (1 + input.below(5)),
            buffer: 64 << input.below(6),
            ..MemifOptions::new("exercise")
        };
        Ok(Host {
            state: Some(State::Greeted),
            channel: Channel(ours.into()),
            peer: Channel(peer.into()),
            options,
            link: link()?,
            memory: None,
        })
    }

    /// Says something, and takes what the client answers; false when the connection is over.
    fn say(&mut self, message: Message) -> bool {
        let Some(state) = self.state.take() else { return false };
        self.state = state.advance(message, &self.channel, &self.options, &self.link).ok();
        while let Ok(Some((answer, descriptor))) = self.peer.receive() {
            if let (Message::AddRegion { bytes, .. }, Some(file)) = (answer, descriptor) {
                let memory = SharedMemory::map(file.as_fd(), 0, bytes as usize).ok();
                self.memory = memory.map(|memory| (memory, ring_bytes(self.options.ring.ilog2() as u8)));
            }
        }
        self.state.is_some()
    }

    /// What a right server says.
    fn connect(&mut self) -> bool {
        let hello = Message::Hello(Hello {
            name: "peer".to_owned(),
            oldest: VERSION,
            newest: VERSION,
            last_region: 1,
            last_ring_to_client: 1,
            last_ring_to_server: 1,
            ring_exponent: 14,
        });
        // A region, the rings, and the wish to connect.
        let is_right = self.say(hello) && (0..2 * QUEUES + 2).all(|_| self.say(Message::Ack));
        is_right
            && self.say(Message::Connected {
                name: "peer".to_owned(),
            })
    }
}

fn misuse_client(input: &mut Input<'_>) -> io::Result<()> {
    let mut host = Host::new(input)?;
    if input.below(8) > 0 && !host.connect() {
        return Ok(());
    }
    while !input.is_at_end() {
        let goes_on = match input.below(8) {
            0 => message(input).is_some_and(|message| host.say(message)),
            1..=4 => {
                if let Some((memory, apart)) = &host.memory {
                    write(memory, *apart, input);
                }
                true
            }
            _ => carry(&host.link),
        };
        if !goes_on {
            return Ok(());
        }
    }
    carry(&host.link);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40_000))]
        #[test]
        fn whatever_a_peer_does_is_contained(input in proptest::collection::vec(any::<u8>(), 0..600)) {
            exercise(&input);
        }
    }

    #[test]
    fn inputs_get_as_far_as_packets() {
        let link = link().expect("descriptors");
        let mut stranger = Stranger::new(&link).expect("memory").expect("a session");
        assert!(stranger.connect(&mut Input(&[0, 4, 0, 4, 0, 4, 0, 4])));
        assert!(link.is_up() && carry(&link));
        let mut host = Host::new(&mut Input(&[4, 5])).expect("descriptors");
        assert!(host.connect() && host.memory.is_some());
        assert!(host.link.is_up() && carry(&host.link));
    }
}
