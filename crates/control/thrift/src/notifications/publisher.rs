//! The publishing end of nanomsg's PUB/SUB (protocol numbers of `sp-pubsub-01`, mappings `sp-tcp-mapping-01` and that
//! of nanomsg's IPC).
//!
//! Both ends of a connection begin with `0, 'S', 'P', 0`, their protocol in two bytes, and two zeros. Then each message
//! follows its length in eight bytes; over IPC a byte 1 stands before it. A subscriber gets all messages, and chooses
//! among them itself. One that is too slow loses messages. Over TCP, one whose host has vanished, or that takes nothing
//! at all for [`ABSENCE`], is disconnected; nanomsg connects again by itself.
//!
//! Nothing here waits for a client: a silent one holds up no other.

use forebay_ports::SocketFile;
use socket2::{SockRef, TcpKeepalive};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PUB: u8 = 0x20;
const SUB: u8 = 0x21;

/// How each end begins, with its protocol. The last two bytes are reserved.
const fn hello(protocol: u8) -> [u8; 8] {
    [0, b'S', b'P', 0, 0, protocol, 0, 0]
}

/// Subscribers at a time; one more is turned away.
const SUBSCRIBERS_MAX: usize = 64;

/// Connections at a time that have yet to say what they are; one more takes the place of the oldest.
const NEWCOMERS_MAX: usize = 64;

/// How long a connection may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a subscriber over TCP may be silent before its system is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(30);

/// How long that system may give no answer, or have no room.
const ABSENCE: Duration = Duration::from_secs(120);

enum Listener {
    Tcp(TcpListener),
    Ipc { socket: UnixListener, _file: SocketFile },
}

/// A connection, on which no call waits.
trait Connection: Read + Write + Send {}

impl Connection for TcpStream {}
impl Connection for UnixStream {}

/// A connection that has yet to say what it is.
struct Newcomer {
    connection: Box<dyn Connection>,
    accepted: Instant,
    hello: [u8; 8],
    /// Bytes of it that have come.
    read: usize,
}

struct Subscriber {
    connection: Box<dyn Connection>,
    is_ipc: bool,
    /// What is left of a message that was begun.
    rest: Vec<u8>,
}

/// See the [module](self).
pub(super) struct Publisher {
    address: String,
    listener: Listener,
    newcomers: Mutex<Vec<Newcomer>>,
    subscribers: Mutex<Vec<Subscriber>>,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Publisher at {}", self.address)
    }
}

impl Publisher {
    pub(super) fn bind(address: &str) -> io::Result<Publisher> {
        let (address, listener) = match address.split_once("://") {
            Some(("ipc", path)) => (address.to_string(), Listener::ipc(Path::new(path))?),
            Some(("tcp", place)) => {
                let listener = TcpListener::bind(place.replacen("*:", "0.0.0.0:", 1))?;
                (format!("tcp://{}", listener.local_addr()?), Listener::Tcp(listener))
            }
            _ => {
                let message = format!("`{address}` is neither ipc://PATH nor tcp://HOST:PORT");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        };
        Ok(Publisher {
            address,
            listener,
            newcomers: Mutex::default(),
            subscribers: Mutex::default(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Takes connections, for ever. [`Publisher::flush`] makes subscribers of them.
    pub(super) fn accept(&self) {
        loop {
            match self.next_connection() {
                // A client that has gone already gets no answer.
                Ok(connection) => _ = self.welcome(connection, Instant::now()),
                // No descriptors are left, for example.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn next_connection(&self) -> io::Result<Box<dyn Connection>> {
        let connection: Box<dyn Connection> = match &self.listener {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                watch_over(&stream)?;
                Box::new(stream)
            }
            Listener::Ipc { socket, .. } => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
        };
        Ok(connection)
    }

    fn welcome(&self, mut connection: Box<dyn Connection>, now: Instant) -> io::Result<()> {
        // A new connection has room for it.
        connection.write_all(&hello(PUB))?;
        let mut newcomers = lock(&self.newcomers);
        if newcomers.len() >= NEWCOMERS_MAX {
            newcomers.remove(0);
        }
        newcomers.push(Newcomer {
            connection,
            accepted: now,
            hello: [0; 8],
            read: 0,
        });
        Ok(())
    }

    /// Makes subscribers of those newcomers that have said so. What speaks another protocol, has gone, or is silent for
    /// too long, is disconnected.
    fn greet(&self, now: Instant) {
        let mut newcomers = lock(&self.newcomers);
        for mut newcomer in std::mem::take(&mut *newcomers) {
            match newcomer.says_subscriber() {
                Ok(true) => self.admit(newcomer.connection),
                Ok(false) if now < newcomer.accepted + PATIENCE => newcomers.push(newcomer),
                _ => {}
            }
        }
    }

    fn admit(&self, connection: Box<dyn Connection>) {
        let mut subscribers = self.subscribers();
        if subscribers.len() < SUBSCRIBERS_MAX {
            subscribers.push(Subscriber {
                connection,
                is_ipc: matches!(self.listener, Listener::Ipc { .. }),
                rest: Vec::new(),
            });
        }
    }

    /// Sends a message to all subscribers that have taken the ones before.
    pub(super) fn publish(&self, message: &[u8]) {
        self.subscribers()
            .retain_mut(|subscriber| subscriber.send(message).is_ok());
    }

    pub(super) fn has_subscribers(&self) -> bool {
        !self.subscribers().is_empty()
    }

    /// Takes in new subscribers, sends on what was begun, and makes room where subscribers have gone.
    pub(super) fn flush(&self, now: Instant) {
        self.greet(now);
        self.subscribers()
            .retain_mut(|subscriber| subscriber.is_there() && subscriber.flush().is_ok());
    }

    fn subscribers(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        lock(&self.subscribers)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the system end a connection whose other end is not there any more.
fn watch_over(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE))?;
    socket.set_tcp_user_timeout(Some(ABSENCE))
}

impl Listener {
    fn ipc(path: &Path) -> io::Result<Listener> {
        let (bind, connect) = (|| UnixListener::bind(path), || UnixStream::connect(path).map(drop));
        let (socket, _file) = SocketFile::listen(path, bind, connect)?;
        Ok(Listener::Ipc { socket, _file })
    }
}

impl Newcomer {
    /// Whether it has said that it subscribes; false while there is more to come.
    fn says_subscriber(&mut self) -> io::Result<bool> {
        while self.read < self.hello.len() {
            match self.connection.read(&mut self.hello[self.read..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.read += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.hello[..6] == hello(SUB)[..6] {
            Ok(true)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

impl Subscriber {
    /// Whether it is still connected. Subscribers send nothing, so there is nothing else to learn from a read.
    fn is_there(&mut self) -> bool {
        match self.connection.read(&mut [0; 64]) {
            Ok(read) => read > 0,
            Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.flush()?;
        if !self.rest.is_empty() {
            // It loses this one.
            return Ok(());
        }
        self.rest.extend(self.is_ipc.then_some(1));
        self.rest.extend((message.len() as u64).to_be_bytes());
        self.rest.extend(message);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.rest.is_empty() {
            match self.connection.write(&self.rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => _ = self.rest.drain(..written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn subscribe(mut stream: impl Read + Write, publisher: &Publisher, count: usize) -> impl Read {
        stream.write_all(&hello(SUB)).expect("sent");
        let mut answer = [0; 8];
        stream.read_exact(&mut answer).expect("greeted");
        assert_eq!(answer, [0, b'S', b'P', 0, 0, 0x20, 0, 0]);
        while publisher.subscribers().len() < count {
            publisher.flush(Instant::now());
            thread::yield_now();
        }
        stream
    }

    /// A publisher that takes connections.
    fn serving(address: &str) -> Arc<Publisher> {
        let publisher = Arc::new(Publisher::bind(address).expect("an address"));
        let accepting = Arc::clone(&publisher);
        thread::spawn(move || accepting.accept());
        publisher
    }

    /// The same over TCP, and a function that connects.
    fn over_tcp() -> (Arc<Publisher>, impl Fn() -> TcpStream) {
        let publisher = serving("tcp://127.0.0.1:0");
        let place = publisher.address().trim_start_matches("tcp://").to_string();
        (publisher, move || TcpStream::connect(&place).expect("listens"))
    }

    #[test]
    fn subscribers_get_messages_with_their_lengths() {
        let (publisher, connect) = over_tcp();
        let mut stream = subscribe(connect(), &publisher, 1);
        publisher.publish(b"digest");
        let mut message = [0; 14];
        stream.read_exact(&mut message).expect("published");
        assert_eq!(&message, b"\0\0\0\0\0\0\0\x06digest");
    }

    #[test]
    fn over_ipc_a_byte_stands_before_the_length() {
        let path = std::env::temp_dir().join(format!("forebay-publisher-{}.ipc", std::process::id()));
        let address = format!("ipc://{}", path.display());
        let publisher = serving(&address);
        assert!(Publisher::bind(&address).is_err(), "somebody listens there");
        let mut stream = subscribe(UnixStream::connect(&path).expect("listens"), &publisher, 1);
        publisher.publish(b"x");
        let mut message = [0; 10];
        stream.read_exact(&mut message).expect("published");
        assert_eq!(message, [1, 0, 0, 0, 0, 0, 0, 0, 1, b'x']);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn subscribers_that_have_gone_make_room() {
        let (publisher, connect) = over_tcp();
        let stream = subscribe(connect(), &publisher, 1);
        publisher.flush(Instant::now());
        assert!(publisher.has_subscribers());
        drop(stream);
        let is_noticed = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            publisher.flush(Instant::now());
            !publisher.has_subscribers()
        });
        assert!(is_noticed);
    }

    #[test]
    fn silent_connections_hold_up_no_subscriber() {
        let (publisher, connect) = over_tcp();
        let begun = Instant::now();
        let silent: Vec<TcpStream> = (0..NEWCOMERS_MAX / 2).map(|_| connect()).collect();
        let mut subscriber = connect();
        subscriber.write_all(&hello(SUB)).expect("sent");
        while !publisher.has_subscribers() {
            publisher.greet(begun);
            thread::yield_now();
        }
        assert_eq!(lock(&publisher.newcomers).len(), silent.len());
        publisher.greet(Instant::now() + PATIENCE);
        assert!(lock(&publisher.newcomers).is_empty());
    }

    #[test]
    fn the_newcomer_that_is_silent_for_longest_gives_way() {
        let (publisher, connect) = over_tcp();
        let mut connections: Vec<TcpStream> = (0..=NEWCOMERS_MAX).map(|_| connect()).collect();
        let mut first = connections.remove(0);
        first.read_exact(&mut [0; 8]).expect("greeted");
        assert_eq!(first.read(&mut [0]).expect("ended"), 0);
        while lock(&publisher.newcomers).len() < connections.len() {
            thread::yield_now();
        }
    }

    #[test]
    fn other_protocols_are_not_served() {
        let (publisher, connect) = over_tcp();
        let mut stream = connect();
        stream.write_all(&hello(PUB)).expect("sent");
        while lock(&publisher.newcomers).is_empty() {
            thread::yield_now();
        }
        while !lock(&publisher.newcomers).is_empty() {
            publisher.greet(Instant::now());
            thread::yield_now();
        }
        assert!(!publisher.has_subscribers());
        stream.read_exact(&mut [0; 8]).expect("greeted");
        assert_eq!(stream.read(&mut [0]).expect("ended"), 0);
    }

    #[test]
    fn the_system_ends_connections_without_an_end() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("a port")).expect("listens");
        watch_over(&stream).expect("a socket of TCP");
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().expect("an option"));
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(ABSENCE));
    }

    #[test]
    fn an_address_must_be_of_a_known_kind() {
        let error = Publisher::bind("inproc://x").expect_err("not served");
        assert!(
            error.to_string().contains("neither ipc://PATH nor tcp://HOST:PORT"),
            "{error}"
        );
    }
}
