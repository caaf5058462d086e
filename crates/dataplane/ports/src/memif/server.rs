//! A server of memif: it listens, and takes the memory of clients.
//!
//! Ports with the same path are offers of one [`Listener`], which is there as long as one of them. Its thread accepts
//! connections and answers their messages; each connection names the offer that it wants.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::frames::{Receiver, Sender};
use super::message::{AddRing, Hello, Init, Message, VERSION};
use super::options::MemifOptions;
use super::ring::{EXPONENT_MAX, Regions, Ring, Side};
use super::{Channel, End, MemifLink, NAME, socket_error};
use crate::OpenError;
use crate::link::{Controller, Lazy, Patience, Stop, wait};
use crate::system::event::Event;
use crate::system::shared::SharedMemory;
use crate::system::unix::{self, Listening, SocketKind};

/// The interval at which connections are checked when nothing happens.
const LOOK: Duration = Duration::from_millis(500);

/// The most regions of a connection.
const REGIONS_MAX: usize = 64;

/// The most connections that have not requested an interface yet.
const STRANGERS_MAX: usize = 16;

/// All sockets of this process.
static LISTENERS: Mutex<Vec<Weak<Listener>>> = Mutex::new(Vec::new());

/// An interface that clients may connect to; the controller of its port.
pub(super) struct Offer {
    shared: Arc<Shared>,
    listener: Arc<Listener>,
}

/// An interface, as the listener sees it.
pub(super) struct Shared {
    id: u32,
    secret: String,
    link: Arc<MemifLink>,
    is_taken: AtomicBool,
    is_closed: AtomicBool,
}

impl Shared {
    pub(super) fn new(options: &MemifOptions, link: Arc<MemifLink>) -> Shared {
        Shared {
            id: options.id,
            secret: options.secret.clone(),
            link,
            is_taken: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        }
    }
}

impl Offer {
    /// Offers an interface at a path, where this process may listen already.
    ///
    /// # Errors
    /// When it cannot listen there, or the number is taken.
    pub(super) fn new(options: &MemifOptions, shares: usize) -> Result<Offer, OpenError> {
        let socket_error = |cause| socket_error(&options.path, cause);
        let listener = Listener::find(&options.path).map_err(socket_error)?;
        let link = MemifLink::new(options.queues, shares, Arc::clone(&listener.attention));
        let shared = Arc::new(Shared::new(options, Arc::new(link.map_err(socket_error)?)));
        let mut offers = lock(&listener.offers);
        if offers.iter().any(|offer| offer.id == options.id) {
            return Err(OpenError::Busy {
                name: format!("{}, id {}", options.path, options.id),
            });
        }
        offers.push(Arc::clone(&shared));
        drop(offers);
        Ok(Offer { shared, listener })
    }

    /// The link of the port.
    pub(super) fn link(&self) -> Arc<MemifLink> {
        Arc::clone(&self.shared.link)
    }
}

impl Controller for Offer {
    fn start(&self) {
        if let Some(thread) = self.listener.thread.get() {
            thread.start();
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        lock(&self.listener.offers).retain(|offer| !Arc::ptr_eq(offer, &self.shared));
        self.listener.attention.ring();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket and the interfaces that are offered there.
struct Listener {
    path: String,
    offers: Arc<Mutex<Vec<Arc<Shared>>>>,
    attention: Arc<Event>,
    thread: std::sync::OnceLock<Lazy>,
}

impl Listener {
    /// The listener at a path.
    fn find(path: &str) -> io::Result<Arc<Listener>> {
        let mut listeners = lock(&LISTENERS);
        listeners.retain(|listener| listener.strong_count() > 0);
        let same = |listener: &Arc<Listener>| listener.path == path;
        if let Some(listener) = listeners.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(listener);
        }
        let listening = unix::listen(SocketKind::Messages, path)?;
        let attention = Arc::new(Event::new()?);
        let listener = Arc::new(Listener {
            path: path.to_owned(),
            offers: Arc::default(),
            attention: Arc::clone(&attention),
            thread: std::sync::OnceLock::new(),
        });
        let offers = Arc::clone(&listener.offers);
        let events = Arc::clone(&attention);
        let work = move |stop: &Stop| serve(&listening, &offers, &events, stop);
        let thread = Lazy::new("memif listener".to_owned(), attention, work);
        assert!(listener.thread.set(thread).is_ok(), "the listener is new");
        listeners.push(Arc::downgrade(&listener));
        Ok(listener)
    }
}

/// Accepts connections and answers messages until `stop` is set.
fn serve(listening: &Listening, offers: &Mutex<Vec<Arc<Shared>>>, attention: &Event, stop: &Stop) {
    let mut sessions: Vec<Session> = Vec::new();
    while !stop.is_set() {
        let accepts = loop {
            match unix::accept(listening.socket.as_fd()) {
                Ok(Some(connection)) => {
                    let strangers = sessions.iter().filter(|session| session.offer.is_none()).count();
                    if strangers < STRANGERS_MAX {
                        sessions.extend(Session::begin(connection, least_queues(offers)));
                    }
                }
                Ok(None) => break true,
                // No descriptors are left, for example. The connection waits on, and would wake at once.
                Err(_) => break false,
            }
        };
        sessions.retain_mut(|session| session.advance(offers));
        let open = sessions.iter().map(|session| session.channel.0.as_fd());
        wait(attention, open.chain(accepts.then(|| listening.socket.as_fd())), LOOK);
    }
}

/// A connection.
pub(super) struct Session {
    channel: Channel,
    patience: Patience,
    offer: Option<Arc<Shared>>,
    regions: Vec<SharedMemory>,
    rings: Vec<(AddRing, Event)>,
    /// The memory by which packets pass.
    connected: Option<Regions>,
}

/// The queues that every interface has.
fn least_queues(offers: &Mutex<Vec<Arc<Shared>>>) -> usize {
    let offers = lock(offers);
    let queues = offers.iter().map(|offer| offer.link.queues());
    queues.min().unwrap_or(super::options::QUEUES_MAX)
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(offer) = &self.offer {
            offer.link.close();
            offer.is_taken.store(false, Ordering::Relaxed);
        }
    }
}

impl Session {
    /// Greets a client. Which interface it will request is unknown yet, so it is offered only as many queues as every
    /// interface has.
    pub(super) fn begin(connection: OwnedFd, queues: usize) -> Option<Session> {
        let channel = Channel(connection);
        let last_ring = queues as u16 - 1;
        let hello = Message::Hello(Hello {
            name: NAME.to_owned(),
            oldest: VERSION,
            newest: VERSION,
            last_region: REGIONS_MAX as u16 - 1,
            last_ring_to_client: last_ring,
            last_ring_to_server: last_ring,
            ring_exponent: EXPONENT_MAX,
        });
        channel.send(&hello, None).ok()?;
        Some(Session {
            channel,
            patience: Patience::begin(),
            offer: None,
            regions: Vec::new(),
            rings: Vec::new(),
            connected: None,
        })
    }

    /// Answers what has come; false when the connection is over.
    fn advance(&mut self, offers: &Mutex<Vec<Arc<Shared>>>) -> bool {
        let result = self.answer_all(offers).and_then(|()| self.check());
        if let Err(end) = &result {
            self.channel.refuse(end);
            if let Some(offer) = &self.offer {
                offer.link.set_why_down(end.to_string());
            }
        }
        result.is_ok()
    }

    fn answer_all(&mut self, offers: &Mutex<Vec<Arc<Shared>>>) -> Result<(), End> {
        while let Some((message, descriptor)) = self.channel.receive()? {
            let answer = self.answer(message, descriptor, offers)?;
            self.channel.send(&answer, None)?;
        }
        Ok(())
    }

    /// Checks whether the connection may continue; the error says why it must end.
    pub(super) fn check(&self) -> Result<(), End> {
        if self.connected.is_none() && self.patience.is_over() {
            return Err(End::Refused("the connection was not made in time"));
        }
        let Some(offer) = &self.offer else { return Ok(()) };
        if offer.is_closed.load(Ordering::Relaxed) {
            return Err(End::Refused("the port is closed"));
        }
        if self
            .connected
            .iter()
            .flat_map(|regions| regions.iter())
            .any(SharedMemory::is_lost)
        {
            return Err(End::Refused("shared memory was made shorter"));
        }
        match offer.link.take_fault() {
            Some(fault) => Err(End::Refused(fault.0)),
            None => Ok(()),
        }
    }

    pub(super) fn answer(
        &mut self,
        message: Message,
        descriptor: Option<OwnedFd>,
        offers: &Mutex<Vec<Arc<Shared>>>,
    ) -> Result<Message, End> {
        match message {
            Message::Disconnect { reason } => Err(End::Peer(Some(reason))),
            Message::Init(init) if self.offer.is_none() => {
                self.offer = Some(choose(&init, &lock(offers))?);
                Ok(Message::Ack)
            }
            _ if self.offer.is_none() || self.connected.is_some() => Err(End::Refused("an unexpected message")),
            Message::AddRegion { index, bytes } => {
                self.add_region(index, bytes, descriptor)?;
                Ok(Message::Ack)
            }
            Message::AddRing(ring) => {
                self.add_ring(ring, descriptor)?;
                Ok(Message::Ack)
            }
            Message::Connect { .. } => {
                self.connect()?;
                let name = NAME.to_owned();
                Ok(Message::Connected { name })
            }
            _ => Err(End::Refused("an unexpected message")),
        }
    }

    fn add_region(&mut self, index: u16, bytes: u64, file: Option<OwnedFd>) -> Result<(), End> {
        let file = file.ok_or(End::Refused("a region comes without memory"))?;
        if usize::from(index) != self.regions.len() || self.regions.len() == REGIONS_MAX {
            return Err(End::Refused("a region has the wrong index"));
        }
        let bytes = usize::try_from(bytes).map_err(|_| End::Refused("a region is too large"))?;
        let memory = SharedMemory::map(file.as_fd(), 0, bytes);
        self.regions
            .push(memory.map_err(|_| End::Refused("a region cannot be mapped"))?);
        Ok(())
    }

    fn add_ring(&mut self, ring: AddRing, event: Option<OwnedFd>) -> Result<(), End> {
        let event = event.ok_or(End::Refused("a ring comes without an event"))?;
        let event = Event::of_peer(event).map_err(|_| End::Refused("a ring comes with something that is no event"))?;
        let queues = self.offer.as_ref().map_or(0, |offer| offer.link.queues());
        if usize::from(ring.index) >= queues {
            return Err(End::Refused("there are more rings than the port has queues"));
        }
        let same = |(other, _): &(AddRing, Event)| (other.to_server, other.index) == (ring.to_server, ring.index);
        if self.rings.iter().any(same) {
            return Err(End::Refused("a ring is there twice"));
        }
        self.rings.push((ring, event));
        Ok(())
    }

    /// Lets packets pass.
    fn connect(&mut self) -> Result<(), End> {
        let regions: Regions = std::mem::take(&mut self.regions).into();
        let mut rings = Vec::new();
        for (add, event) in self.rings.drain(..) {
            let ring = Ring::new(&regions, (add.region, add.offset), add.exponent, Side::Server, event);
            rings.push((add, ring.map_err(|fault| End::Refused(fault.0))?));
        }
        let senders = rings.iter().filter(|(add, _)| !add.to_server);
        let open = senders.clone().count();
        if senders.clone().any(|(add, _)| usize::from(add.index) >= open) {
            return Err(End::Refused("a ring is missing"));
        }
        let offer = self.offer.as_ref().ok_or(End::Refused("an unexpected message"))?;
        for (add, ring) in rings {
            let queue = usize::from(add.index);
            if add.to_server {
                offer.link.set_receiver(queue, Some(Receiver::new(ring)));
            } else {
                offer.link.set_sender(queue, Some(Sender::new(ring)));
            }
        }
        offer.link.set_open_senders(open);
        offer.link.set_up(true);
        self.connected = Some(regions);
        Ok(())
    }
}

/// The offer that a client has requested.
fn choose(init: &Init, offers: &[Arc<Shared>]) -> Result<Arc<Shared>, End> {
    if init.version != VERSION {
        return Err(End::Refused("another version of memif"));
    }
    if !init.is_ethernet {
        return Err(End::Refused("the port carries Ethernet frames only"));
    }
    let offer = offers.iter().find(|offer| offer.id == init.id);
    let offer = offer.ok_or(End::Refused("there is no interface with this id"))?;
    let mut secret = [0; super::message::SECRET_BYTES];
    secret[..offer.secret.len()].copy_from_slice(offer.secret.as_bytes());
    if !offer.secret.is_empty() && init.secret != secret {
        offer.link.set_why_down("a peer had the wrong secret".to_owned());
        return Err(End::Refused("the secret is wrong"));
    }
    if offer.is_taken.swap(true, Ordering::Relaxed) {
        return Err(End::Refused("the interface is connected already"));
    }
    Ok(Arc::clone(offer))
}
