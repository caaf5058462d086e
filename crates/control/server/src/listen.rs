//! Sockets that controllers connect to: on every address of a host, or in the file system.

use forebay_ports::SocketFile;
use forebay_protocol::Address;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tokio_stream::{Stream, StreamExt};

/// Permissions of a socket in the file system: its owner alone may connect.
const SOCKET_MODE: u32 = 0o600;

/// Connections that may wait to be accepted, as of sockets of the standard library.
const BACKLOG: i32 = 128;

/// Sockets that listen. A socket in the file system goes with it.
#[derive(Debug)]
pub(crate) struct Listening {
    address: Address,
    sockets: Sockets,
    file: Option<SocketFile>,
}

#[derive(Debug)]
enum Sockets {
    /// One for each address of the host.
    Tcp(Vec<TcpListener>),
    Unix(UnixListener),
}

impl Listening {
    /// Listens.
    ///
    /// # Errors
    /// When the host is not known, or the address is taken or not allowed.
    pub(crate) fn on(address: &Address) -> io::Result<Listening> {
        match address {
            Address::Tcp { host, port } => on_host(host.as_deref(), *port),
            Address::Unix(path) => on_path(path),
        }
    }

    /// Where it listens: with the port that was chosen, when any free one was wanted.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The connections, and what removes the socket at the end. To be called inside a runtime of tokio.
    ///
    /// # Errors
    /// When the runtime has no room for the sockets.
    pub(crate) fn accept(self) -> io::Result<(Connections, Option<SocketFile>)> {
        let streams: Vec<Connections> = match self.sockets {
            Sockets::Tcp(listeners) => listeners.into_iter().map(accept_tcp).collect::<io::Result<_>>()?,
            Sockets::Unix(listener) => vec![accept_unix(listener)?],
        };
        let all = streams.into_iter().reduce(|all, next| Box::pin(all.merge(next)));
        let all = all.ok_or_else(|| io::Error::from(ErrorKind::AddrNotAvailable))?;
        Ok((all, self.file))
    }
}

/// Connections as they come.
pub(crate) type Connections = Pin<Box<dyn Stream<Item = io::Result<Connection>> + Send>>;

fn accept_tcp(listener: TcpListener) -> io::Result<Connections> {
    listener.set_nonblocking(true)?;
    let accepted = TcpListenerStream::new(tokio::net::TcpListener::from_std(listener)?);
    Ok(Box::pin(accepted.map(|stream| {
        let stream = stream?;
        stream.set_nodelay(true)?;
        Ok(Connection::Tcp(stream))
    })))
}

fn accept_unix(listener: UnixListener) -> io::Result<Connections> {
    listener.set_nonblocking(true)?;
    let accepted = UnixListenerStream::new(tokio::net::UnixListener::from_std(listener)?);
    Ok(Box::pin(accepted.map(|stream| stream.map(Connection::Unix))))
}

fn on_host(host: Option<&str>, port: u16) -> io::Result<Listening> {
    let listeners = match host {
        // The socket of IPv6 takes connections of IPv4 too; a machine may have no IPv6.
        None => vec![TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port)))?],
        Some(host) => on_addresses((host, port).to_socket_addrs()?.collect())?,
    };
    let bound = listeners[0].local_addr()?;
    Ok(Listening {
        address: Address::Tcp {
            host: host.map(str::to_string),
            port: bound.port(),
        },
        sockets: Sockets::Tcp(listeners),
        file: None,
    })
}

/// Listens on all addresses of a host that this machine has. Any free port can be had on one alone.
fn on_addresses(mut addresses: Vec<SocketAddr>) -> io::Result<Vec<TcpListener>> {
    addresses.sort();
    addresses.dedup();
    if addresses.first().is_some_and(|address| address.port() == 0) {
        addresses.truncate(1);
    }
    let (mut listeners, mut last) = (Vec::new(), io::Error::from(ErrorKind::AddrNotAvailable));
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Err(error),
            Err(error) => last = error,
        }
    }
    if listeners.is_empty() { Err(last) } else { Ok(listeners) }
}

/// Listens in the file system. A socket that a killed server has left is replaced; anything else in its place is not.
fn on_path(path: &Path) -> io::Result<Listening> {
    let (bind, connect) = (|| bind_private(path), || UnixStream::connect(path).map(drop));
    let (listener, file) = SocketFile::listen(path, bind, connect)?;
    Ok(Listening {
        address: Address::Unix(path.to_path_buf()),
        sockets: Sockets::Unix(listener),
        file: Some(file),
    })
}

/// Listens at a path that is free. On Linux a socket's file begins with the mode that the socket has before it is bound
/// (`unix_bind_bsd` in net/unix/af_unix.c), so there is no moment at which others may connect.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let socket = OwnedFd::from(Socket::new(Domain::UNIX, Type::STREAM, None)?);
    let file = File::from(socket);
    file.set_permissions(Permissions::from_mode(SOCKET_MODE))?;
    let socket = Socket::from(OwnedFd::from(file));
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(OwnedFd::from(socket).into())
}

/// A connection of a controller.
#[derive(Debug)]
pub(crate) enum Connection {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

impl Connection {
    /// The user of this machine at the other end; none when it may be another machine.
    pub(crate) fn user(&self) -> Option<u32> {
        match self {
            Connection::Tcp(_) => None,
            Connection::Unix(stream) => Some(stream.peer_cred().ok()?.uid()),
        }
    }
}

/// The stream of either kind, for a call that both have.
macro_rules! of_either {
    ($connection:expr, $stream:ident => $call:expr) => {
        match $connection.get_mut() {
            Connection::Tcp(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
            Connection::Unix(stream) => {
                let $stream = Pin::new(stream);
                $call
            }
        }
    };
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        of_either!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, stream => stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, stream => stream.poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_socket_in_the_file_system_is_its_owners_and_goes_at_the_end() {
        let folder = std::env::temp_dir().join(format!("forebay-listen-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("socket");
        let listening = on_path(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, SOCKET_MODE);
        assert_eq!(on_path(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(listening);
        assert!(!path.exists());
        drop(UnixListener::bind(&path).unwrap());
        assert!(on_path(&path).is_ok(), "what a killed server has left is replaced");
        fs::write(&path, "precious").unwrap();
        assert!(on_path(&path).is_err(), "a file is not");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_port_is_chosen_when_any_will_do() {
        for host in [None, Some("localhost"), Some("127.0.0.1")] {
            let listening = on_host(host, 0).unwrap();
            assert!(!matches!(listening.address(), Address::Tcp { port: 0, .. }));
        }
    }
}
