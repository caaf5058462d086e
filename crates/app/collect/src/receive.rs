//! The socket that reports come to.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Bytes of datagrams that the kernel keeps for us; it may give less (net.core.rmem_max).
const BUFFER_BYTES: usize = 16 << 20;

/// How long to wait for a datagram before looking at the time.
const WAIT: Duration = Duration::from_millis(100);

/// A socket for reports.
pub struct Receiver {
    socket: UdpSocket,
    datagram: Vec<u8>,
}

impl Receiver {
    /// Listens on `HOST:PORT`.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub fn listen(address: &str) -> io::Result<Receiver> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in forebay_telemetry::resolve(address)? {
            match open(address) {
                Ok(socket) => {
                    return Ok(Receiver {
                        socket,
                        datagram: vec![0; 1 << 16],
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next datagram; none when none comes for a while.
    ///
    /// # Errors
    /// When the socket is not usable any more.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        match self.socket.recv(&mut self.datagram) {
            Ok(length) => Ok(Some(&self.datagram[..length])),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn open(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // As much as the kernel gives.
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    socket.bind(&address.into())?;
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(WAIT))?;
    Ok(socket)
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    [WouldBlock, TimedOut, Interrupted, ConnectionRefused].contains(&error.kind())
}
