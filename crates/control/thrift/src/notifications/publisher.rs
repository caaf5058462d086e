//! The publishing end of nanomsg's PUB/SUB (protocol numbers of `sp-pubsub-01`, mappings `sp-tcp-mapping-01` and that
//! of nanomsg's IPC).
//!
//! Both ends of a connection begin with `0, 'S', 'P', 0`, their protocol in two bytes, and two zeros. Then each message
//! follows its length in eight bytes; over IPC a byte 1 stands before it. A subscriber gets all messages, and chooses
//! among them itself. One that is too slow loses messages.

use forebay_ports::SocketFile;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

const PUB: u8 = 0x20;
const SUB: u8 = 0x21;

/// Subscribers at a time; one more is turned away.
const SUBSCRIBERS_MAX: usize = 64;

/// How long a subscriber may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

enum Listener {
    Tcp(TcpListener),
    Ipc { socket: UnixListener, _file: SocketFile },
}

/// A connection to a subscriber.
trait Connection: Read + Write + Send {
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()>;
    fn set_nonblocking(&self) -> io::Result<()>;
}

macro_rules! connection {
    ($($stream:ty),*) => {$(
        impl Connection for $stream {
            fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
                self.set_read_timeout(patience)?;
                self.set_write_timeout(patience)
            }

            fn set_nonblocking(&self) -> io::Result<()> {
                <$stream>::set_nonblocking(self, true)
            }
        }
    )*};
}

connection!(TcpStream, UnixStream);

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
            subscribers: Mutex::default(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Takes subscribers, for ever.
    pub(super) fn accept(&self) {
        loop {
            let accepted: io::Result<Box<dyn Connection>> = match &self.listener {
                Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_nodelay(true)?;
                    Ok(Box::new(stream) as Box<dyn Connection>)
                }),
                Listener::Ipc { socket, .. } => socket
                    .accept()
                    .map(|(stream, _)| Box::new(stream) as Box<dyn Connection>),
            };
            match accepted {
                // A client with another protocol gets no answer.
                Ok(connection) => _ = self.welcome(connection),
                // No descriptors are left, for example.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }

    fn welcome(&self, mut connection: Box<dyn Connection>) -> io::Result<()> {
        connection.set_patience(Some(PATIENCE))?;
        connection.write_all(&[0, b'S', b'P', 0, 0, PUB, 0, 0])?;
        let mut hello = [0; 8];
        connection.read_exact(&mut hello)?;
        if hello[..6] != [0, b'S', b'P', 0, 0, SUB] {
            return Ok(());
        }
        connection.set_nonblocking()?;
        let mut subscribers = self.subscribers();
        if subscribers.len() < SUBSCRIBERS_MAX {
            subscribers.push(Subscriber {
                connection,
                is_ipc: matches!(self.listener, Listener::Ipc { .. }),
                rest: Vec::new(),
            });
        }
        Ok(())
    }

    /// Sends a message to all subscribers that have taken the ones before.
    pub(super) fn publish(&self, message: &[u8]) {
        self.subscribers()
            .retain_mut(|subscriber| subscriber.send(message).is_ok());
    }

    pub(super) fn has_subscribers(&self) -> bool {
        !self.subscribers().is_empty()
    }

    /// Sends on what was begun, and makes room where subscribers have gone.
    pub(super) fn flush(&self) {
        self.subscribers()
            .retain_mut(|subscriber| subscriber.is_there() && subscriber.flush().is_ok());
    }

    fn subscribers(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    fn ipc(path: &Path) -> io::Result<Listener> {
        let (bind, connect) = (|| UnixListener::bind(path), || UnixStream::connect(path).map(drop));
        let (socket, _file) = SocketFile::listen(path, bind, connect)?;
        Ok(Listener::Ipc { socket, _file })
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
        stream.write_all(&[0, b'S', b'P', 0, 0, SUB, 0, 0]).expect("sent");
        let mut hello = [0; 8];
        stream.read_exact(&mut hello).expect("greeted");
        assert_eq!(hello, [0, b'S', b'P', 0, 0, PUB, 0, 0]);
        while publisher.subscribers().len() < count {
            thread::yield_now();
        }
        stream
    }

    #[test]
    fn subscribers_get_messages_with_their_lengths() {
        let publisher = Arc::new(Publisher::bind("tcp://127.0.0.1:0").expect("a port"));
        let accepting = Arc::clone(&publisher);
        thread::spawn(move || accepting.accept());
        let place = publisher.address().trim_start_matches("tcp://").to_string();
        let mut stream = subscribe(TcpStream::connect(place).expect("listens"), &publisher, 1);
        publisher.publish(b"digest");
        let mut message = [0; 14];
        stream.read_exact(&mut message).expect("published");
        assert_eq!(&message, b"\0\0\0\0\0\0\0\x06digest");
    }

    #[test]
    fn over_ipc_a_byte_stands_before_the_length() {
        let path = std::env::temp_dir().join(format!("forebay-publisher-{}.ipc", std::process::id()));
        let address = format!("ipc://{}", path.display());
        let publisher = Arc::new(Publisher::bind(&address).expect("a socket"));
        assert!(Publisher::bind(&address).is_err(), "somebody listens there");
        let accepting = Arc::clone(&publisher);
        thread::spawn(move || accepting.accept());
        let mut stream = subscribe(UnixStream::connect(&path).expect("listens"), &publisher, 1);
        publisher.publish(b"x");
        let mut message = [0; 10];
        stream.read_exact(&mut message).expect("published");
        assert_eq!(message, [1, 0, 0, 0, 0, 0, 0, 0, 1, b'x']);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn subscribers_that_have_gone_make_room() {
        let publisher = Arc::new(Publisher::bind("tcp://127.0.0.1:0").expect("a port"));
        let accepting = Arc::clone(&publisher);
        thread::spawn(move || accepting.accept());
        let place = publisher.address().trim_start_matches("tcp://").to_string();
        let stream = subscribe(TcpStream::connect(place).expect("listens"), &publisher, 1);
        publisher.flush();
        assert!(publisher.has_subscribers());
        drop(stream);
        let is_noticed = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            publisher.flush();
            !publisher.has_subscribers()
        });
        assert!(is_noticed);
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
