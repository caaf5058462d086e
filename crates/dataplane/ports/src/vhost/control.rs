//! The thread that speaks with the front end of a guest.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::VhostLink;
use super::message::{HEADER_BYTES, Header, PAYLOAD_MAX, Request};
use super::options::{VhostMode, VhostOptions};
use super::session::{Answer, Session};
use crate::link::{Fault, Lazy, Patience, Stop, not_connected, wait};
use crate::system::event::Event;
use crate::system::unix::{self, Listening, SocketKind};
use crate::system::{PollDescriptor, poll};

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(200);

/// How often a connection is looked at when nothing happens.
const LOOK: Duration = Duration::from_millis(500);

/// The most descriptors that wait for the rest of their message.
const FILES_MAX: usize = 64;

/// The link of a port, and its thread.
///
/// # Errors
/// When it cannot listen.
pub(super) fn start(options: &VhostOptions, shares: usize) -> io::Result<(Arc<VhostLink>, Lazy)> {
    let attention = Arc::new(Event::new()?);
    let link = Arc::new(VhostLink::new(options.queues, shares, Arc::clone(&attention))?);
    let listener = match options.mode {
        VhostMode::Server => Some(unix::listen(SocketKind::Stream, &options.path)?),
        VhostMode::Client => None,
    };
    let (options, its_link) = (options.clone(), Arc::clone(&link));
    let work = move |stop: &Stop| serve(&options, listener.as_ref(), &its_link, stop);
    let thread = Lazy::new("vhost-user".to_owned(), attention, work);
    Ok((link, thread))
}

/// One connection after another, until it is told to stop.
fn serve(options: &VhostOptions, listener: Option<&Listening>, link: &Arc<VhostLink>, stop: &Stop) {
    while !stop.is_set() {
        let connection = match listener {
            Some(listener) => match unix::accept(listener.socket.as_fd()) {
                Ok(connection) => connection,
                Err(error) => {
                    // No descriptors are left, for example. The connection waits on, and would wake at once.
                    link.set_why_down(format!("cannot accept a connection: {error}"));
                    wait(&link.attention, [], LOOK);
                    continue;
                }
            },
            None => match unix::connect(SocketKind::Stream, &options.path) {
                Ok(connection) => Some(connection),
                Err(error) => {
                    link.set_why_down(not_connected(&options.path, &error));
                    None
                }
            },
        };
        match connection {
            Some(connection) => {
                link.set_why_down("the guest's driver has not started yet".to_owned());
                let session = Session::new(options, Arc::clone(link));
                let next = listener.map(|listener| listener.socket.as_fd());
                let Err(End(why)) = connected(connection, session, link, stop, next);
                link.set_why_down(why.to_owned());
                if listener.is_none() {
                    // A peer may hang up each time.
                    wait(&link.attention, [], RETRY);
                }
            }
            None => match listener {
                Some(listener) => wait(&link.attention, [listener.socket.as_fd()], LOOK),
                None => wait(&link.attention, [], RETRY),
            },
        }
    }
}

/// Why a connection has ended: the peer has gone, has done something that cannot be right, or the port is closed.
struct End(&'static str);

/// The peer has gone.
const GONE: End = End("the peer has closed the connection");

impl From<Fault> for End {
    fn from(fault: Fault) -> End {
        End(fault.0)
    }
}

/// Answers requests until the connection ends. One by which no request has come gives way to a connection that waits at
/// the socket `next`: a program that has connected and does nothing is no guest.
fn connected(
    connection: OwnedFd,
    mut session: Session,
    link: &VhostLink,
    stop: &Stop,
    next: Option<BorrowedFd<'_>>,
) -> Result<std::convert::Infallible, End> {
    let mut incoming = Incoming::new();
    let (patience, mut is_silent) = (Patience::begin(), true);
    loop {
        while let Some(message) = incoming.take_message()? {
            is_silent = false;
            if let Some(bytes) = answer(&mut session, message)? {
                unix::send(connection.as_fd(), &bytes, &[]).map_err(|_| GONE)?;
            }
        }
        if !incoming.read(&connection)? {
            wait(&link.attention, [connection.as_fd()], LOOK);
        }
        if stop.is_set() {
            return Err(End("the port is closed"));
        }
        if is_silent && patience.is_over() && next.is_some_and(has_connection) {
            return Err(End("the peer has sent no request, and another one waits"));
        }
        if let Some(fault) = link.take_fault() {
            return Err(fault.into());
        }
        if session.has_lost_memory() {
            return Err(End("the guest's memory was made shorter"));
        }
    }
}

/// Whether a connection waits to be accepted.
fn has_connection(listener: BorrowedFd<'_>) -> bool {
    let mut descriptor = [PollDescriptor::readable(listener.as_raw_fd())];
    poll(&mut descriptor, 0).unwrap_or(false)
}

/// The bytes that answer a message, if any do.
fn answer(session: &mut Session, message: Message) -> Result<Option<Vec<u8>>, Fault> {
    let Message { header, payload, files } = message;
    // What is not served here is not done, and the peer may know.
    let Some(request) = Request::decode(header.request, &payload)? else {
        let refusal = || Header::reply(header.request, &1u64.to_ne_bytes());
        return Ok((header.needs_reply && session.replies()).then(refusal));
    };
    Ok(match session.answer(request, files)? {
        Answer::Number(number) => Some(Header::reply(header.request, &number.to_ne_bytes())),
        Answer::Base { ring, base } => {
            let words = [ring, base].map(u32::to_ne_bytes);
            Some(Header::reply(header.request, words.as_flattened()))
        }
        Answer::Done if header.needs_reply && session.replies() => {
            Some(Header::reply(header.request, &0u64.to_ne_bytes()))
        }
        Answer::Done => None,
    })
}

/// A message with what came beside it.
struct Message {
    header: Header,
    payload: Vec<u8>,
    files: Vec<OwnedFd>,
}

/// Bytes that have come, until they are whole messages.
struct Incoming {
    bytes: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl Incoming {
    fn new() -> Incoming {
        Incoming {
            bytes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// How many bytes the message that has begun still needs.
    fn missing(&self) -> Result<usize, Fault> {
        let Some(header) = self.bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(HEADER_BYTES - self.bytes.len());
        };
        let bytes = HEADER_BYTES + Header::decode(header)?.bytes;
        Ok(bytes.saturating_sub(self.bytes.len()))
    }

    /// Reads no further than the message goes, so that descriptors are those of this message. False when nothing has
    /// come.
    fn read(&mut self, connection: &OwnedFd) -> Result<bool, End> {
        let missing = self.missing()?;
        let mut buffer = [0; HEADER_BYTES + PAYLOAD_MAX];
        match unix::receive(connection.as_fd(), &mut buffer[..missing]) {
            Ok(received) if received.length == 0 => Err(GONE),
            Ok(received) => {
                self.bytes.extend(&buffer[..received.length]);
                self.files.extend(received.descriptors);
                if self.files.len() > FILES_MAX {
                    return Err(End("a message has too many descriptors"));
                }
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(false),
            Err(_) => Err(GONE),
        }
    }

    /// The message, if it is whole.
    fn take_message(&mut self) -> Result<Option<Message>, Fault> {
        let Some(header) = self.bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::decode(header)?;
        if self.bytes.len() < HEADER_BYTES + header.bytes {
            return Ok(None);
        }
        let payload = self.bytes.split_off(HEADER_BYTES);
        self.bytes.clear();
        let files = std::mem::take(&mut self.files);
        Ok(Some(Message { header, payload, files }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::link::Controller;

    #[test]
    fn a_peer_that_hangs_up_is_called_again_after_a_pause() {
        let path = format!("@forebay-hangs-up-{}", std::process::id());
        let listener = unix::listen(SocketKind::Stream, &path).expect("can listen");
        let options = VhostOptions {
            mode: VhostMode::Client,
            ..VhostOptions::new(&path)
        };
        let (_link, thread) = start(&options, 1).expect("it needs only descriptors");
        thread.start();
        let (started, mut connections) = (Instant::now(), 0);
        while started.elapsed() < 3 * RETRY {
            connections += usize::from(unix::accept(listener.socket.as_fd()).expect("can accept").is_some());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!((1..=4).contains(&connections), "{connections}");
    }

    #[test]
    fn a_peer_that_says_nothing_gives_way_to_the_next() {
        /// GET_FEATURES, version 1, no payload.
        const REQUEST: [u32; 3] = [1, 1, 0];
        let path = format!("@forebay-says-nothing-{}", std::process::id());
        let (_link, thread) = start(&VhostOptions::new(&path), 1).expect("the name is free");
        thread.start();
        let silent = unix::connect(SocketKind::Stream, &path).expect("it listens");
        let guest = unix::connect(SocketKind::Stream, &path).expect("it listens");
        unix::send(guest.as_fd(), REQUEST.map(u32::to_ne_bytes).as_flattened(), &[]).expect("it can wait");
        let receive = |connection: &OwnedFd, seconds: u64| {
            let end = Instant::now() + Duration::from_secs(seconds);
            loop {
                match unix::receive(connection.as_fd(), &mut [0; 64]) {
                    Ok(received) => return Some(received.length),
                    Err(_) if Instant::now() > end => return None,
                    Err(_) => std::thread::sleep(Duration::from_millis(10)),
                }
            }
        };
        assert_eq!(receive(&guest, 1), None, "the first one has some seconds");
        assert_eq!(receive(&guest, 20), Some(HEADER_BYTES + 8), "the second one is served");
        assert_eq!(receive(&silent, 1), Some(0), "the first one is closed");
    }
}
