//! A client of memif: it connects, and its memory is shared.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::frames::{Receiver, Sender};
use super::message::{AddRing, Hello, Init, Message, SECRET_BYTES, VERSION};
use super::options::MemifOptions;
use super::ring::{Regions, Ring, Side, ring_bytes};
use super::{Channel, End, MemifLink, NAME};
use crate::link::{Lazy, Patience, Stop, not_connected, wait};
use crate::system::event::Event;
use crate::system::shared::SharedMemory;
use crate::system::unix::{self, SocketKind};

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(200);

/// The interval at which a connection is checked when nothing happens.
const LOOK: Duration = Duration::from_millis(500);

/// The link of a client, and its thread.
pub(super) fn start(options: &MemifOptions, shares: usize) -> io::Result<(Arc<MemifLink>, Lazy)> {
    let attention = Arc::new(Event::new()?);
    let link = Arc::new(MemifLink::new(options.queues, shares, Arc::clone(&attention))?);
    let (options, its_link) = (options.clone(), Arc::clone(&link));
    let work = move |stop: &Stop| {
        while !stop.is_set() {
            match unix::connect(SocketKind::Messages, &options.path) {
                Ok(connection) => {
                    let channel = Channel(connection);
                    let end = connected(&channel, &options, &its_link, stop);
                    its_link.set_why_down(end.to_string());
                    its_link.close();
                    channel.refuse(&end);
                }
                Err(error) => its_link.set_why_down(not_connected(&options.path, &error)),
            }
            wait(&its_link.attention, [], RETRY);
        }
    };
    let thread = Lazy::new("memif client".to_owned(), attention, work);
    Ok((link, thread))
}

/// Speaks with a server until one of both ends it.
fn connected(channel: &Channel, options: &MemifOptions, link: &MemifLink, stop: &Stop) -> End {
    let patience = Patience::begin();
    let mut state = State::Greeted;
    loop {
        match channel.receive() {
            Ok(Some((message, _))) => match state.advance(message, channel, options, link) {
                Ok(next) => state = next,
                Err(end) => return end,
            },
            Ok(None) => wait(&link.attention, [channel.0.as_fd()], LOOK),
            Err(end) => return end,
        }
        if stop.is_set() {
            return End::Refused("the port is closed");
        }
        if let Some(fault) = link.take_fault() {
            return End::Refused(fault.0);
        }
        if !matches!(state, State::Connected) && patience.is_over() {
            return End::Refused("the connection was not made in time");
        }
    }
}

/// What a client waits for.
pub(super) enum State {
    /// The server's limits.
    Greeted,
    /// An answer to the last message; what comes then.
    Answered(Box<Offered>, usize),
    /// Nothing: packets pass.
    Connected,
}

impl State {
    pub(super) fn advance(
        self,
        message: Message,
        channel: &Channel,
        options: &MemifOptions,
        link: &MemifLink,
    ) -> Result<State, End> {
        match (self, message) {
            (_, Message::Disconnect { reason }) => Err(End::Peer(Some(reason))),
            (State::Greeted, Message::Hello(hello)) => {
                let offered = Offered::new(&hello, options)?;
                channel.send(&init(options), None)?;
                Ok(State::Answered(Box::new(offered), 0))
            }
            (State::Answered(offered, step), Message::Ack) => {
                let (message, descriptor) = offered.message(step).ok_or(End::Refused("an answer to nothing"))?;
                channel.send(&message, descriptor)?;
                Ok(State::Answered(offered, step + 1))
            }
            (State::Answered(offered, _), Message::Connected { .. }) => {
                offered.open(link);
                Ok(State::Connected)
            }
            _ => Err(End::Refused("an unexpected message")),
        }
    }
}

fn init(options: &MemifOptions) -> Message {
    let mut secret = [0; SECRET_BYTES];
    secret[..options.secret.len()].copy_from_slice(options.secret.as_bytes());
    Message::Init(Init {
        version: VERSION,
        id: options.id,
        is_ethernet: true,
        secret,
        name: NAME.to_owned(),
    })
}

/// Memory and rings that a client offers.
pub(super) struct Offered {
    file: OwnedFd,
    bytes: usize,
    rings: Vec<(AddRing, Ring)>,
}

impl Offered {
    /// One region: all rings, then the buffers of each.
    fn new(hello: &Hello, options: &MemifOptions) -> Result<Offered, End> {
        if hello.oldest > VERSION || hello.newest < VERSION {
            return Err(End::Refused("another version of memif"));
        }
        let most = hello.last_ring_to_server.min(hello.last_ring_to_client);
        let queues = options.queues.min(usize::from(most) + 1);
        let exponent = (options.ring.ilog2() as u8).min(hello.ring_exponent);
        let (rings, ring) = (2 * queues, ring_bytes(exponent));
        let buffers = (options.buffer as usize) << exponent;
        let buffers_at = |index: usize| (rings * ring).next_multiple_of(64) + index * buffers;
        let bytes = buffers_at(rings);
        let out_of_memory = |_| End::Refused("there is no memory for the rings");
        if u32::try_from(bytes).is_err() {
            return Err(End::Refused("the rings take more than 4 GiB"));
        }
        let (memory, file) = SharedMemory::create("memif", bytes).map_err(out_of_memory)?;
        let regions: Regions = Arc::new([memory]);
        let new_ring = |index: usize| {
            let add = AddRing {
                to_server: index < queues,
                index: (index % queues) as u16,
                region: 0,
                offset: (index * ring) as u32,
                exponent,
            };
            let side = Side::Client {
                buffer_bytes: options.buffer,
                buffers_at: buffers_at(index) as u32,
            };
            let event = Event::for_peer().map_err(out_of_memory)?;
            let ring = Ring::new(&regions, (0, add.offset), exponent, side, event);
            Ok((add, ring.map_err(|fault| End::Refused(fault.0))?))
        };
        let rings = (0..rings).map(new_ring).collect::<Result<_, End>>()?;
        Ok(Offered { file, bytes, rings })
    }

    /// The message that is sent after `step` answers, and the descriptor that goes with it.
    fn message(&self, step: usize) -> Option<(Message, Option<BorrowedFd<'_>>)> {
        let region = Message::AddRegion {
            index: 0,
            bytes: self.bytes as u64,
        };
        match step.checked_sub(1) {
            None => Some((region, Some(self.file.as_fd()))),
            Some(index) if index < self.rings.len() => {
                let (add, ring) = &self.rings[index];
                Some((Message::AddRing(*add), Some(ring.event().as_fd())))
            }
            Some(index) if index == self.rings.len() => {
                let name = NAME.to_owned();
                Some((Message::Connect { name }, None))
            }
            Some(_) => None,
        }
    }

    /// Lets packets pass.
    fn open(self, link: &MemifLink) {
        let queues = self.rings.len() / 2;
        for (add, ring) in self.rings {
            let queue = usize::from(add.index);
            if add.to_server {
                link.set_sender(queue, Some(Sender::new(ring)));
            } else {
                link.set_receiver(queue, Some(Receiver::new(ring)));
            }
        }
        link.set_open_senders(queues);
        link.set_up(true);
    }
}
