//! Sockets of the file system (`man 7 unix`) that carry file descriptors beside messages.

use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_void, iovec, msghdr, sockaddr_un, socklen_t};

use super::{check, socket};
use crate::socket_file::SocketFile;

/// The most descriptors that a message carries.
pub(crate) const DESCRIPTORS_MAX: usize = 32;

/// The most bytes of the path of a socket: a zero byte ends it.
pub(crate) const SOCKET_PATH_MAX: usize = 107;

/// Connections that wait to be accepted.
const BACKLOG: c_int = 8;

/// Bytes for the descriptors of a message.
const CONTROL_BYTES: usize = 256;

/// Room for control messages, aligned as their headers are.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// How a socket keeps messages apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// It does not: bytes.
    Stream,
    /// One message at a time, whole.
    Messages,
}

impl SocketKind {
    fn socket(self) -> io::Result<OwnedFd> {
        let kind = match self {
            SocketKind::Stream => libc::SOCK_STREAM,
            SocketKind::Messages => libc::SOCK_SEQPACKET,
        };
        socket(libc::AF_UNIX, kind)
    }
}

/// What has come by a socket.
pub(crate) struct Received {
    /// Bytes written to the buffer; 0 at the end of the connection.
    pub(crate) length: usize,
    /// Descriptors that came beside them.
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The address of a path; one that begins with `@` names a socket of the abstract namespace, which is in no file
/// system.
fn address(path: &str) -> io::Result<(sockaddr_un, socklen_t)> {
    // SAFETY: plain old data, see the module above.
    let mut address: sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    let is_abstract = path.starts_with('@');
    let bytes = path.as_bytes();
    // A path ends with a zero byte.
    if bytes.len() + usize::from(!is_abstract) > address.sun_path.len() || bytes.contains(&0) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as _;
    }
    if is_abstract {
        address.sun_path[0] = 0;
    }
    let length = offset_of!(sockaddr_un, sun_path) + bytes.len() + usize::from(!is_abstract);
    Ok((address, length as socklen_t))
}

/// A socket that takes connections, and its file.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) socket: OwnedFd,
    /// None for a name of the abstract namespace.
    _file: Option<SocketFile>,
}

/// A socket that takes connections at `path`. The file of a socket that is not served any more is replaced.
pub(crate) fn listen(kind: SocketKind, path: &str) -> io::Result<Listening> {
    if path.starts_with('@') {
        let socket = bind(kind, path)?;
        return Ok(Listening { socket, _file: None });
    }
    let (socket, file) = SocketFile::listen(path.as_ref(), || bind(kind, path), || connect(kind, path).map(drop))?;
    Ok(Listening {
        socket,
        _file: Some(file),
    })
}

fn bind(kind: SocketKind, path: &str) -> io::Result<OwnedFd> {
    let listener = kind.socket()?;
    let (address, length) = address(path)?;
    // SAFETY: pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(listener.as_raw_fd(), ptr::from_ref(&address).cast(), length) })?;
    // SAFETY: no pointers.
    check(unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) })?;
    Ok(listener)
}

/// A connection to the socket at `path`.
pub(crate) fn connect(kind: SocketKind, path: &str) -> io::Result<OwnedFd> {
    let connection = kind.socket()?;
    let (address, length) = address(path)?;
    // SAFETY: pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::connect(connection.as_raw_fd(), ptr::from_ref(&address).cast(), length) })?;
    Ok(connection)
}

/// The next connection, if one waits.
pub(crate) fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: null pointers ask for no address; the descriptor returned is new, and has no other owner.
    let accepted = check(unsafe { libc::accept4(listener.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) });
    match accepted {
        // SAFETY: as above.
        Ok(descriptor) => Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Sends all of `bytes`, with descriptors beside the first. Does not wait: a peer that does not read is an error.
pub(crate) fn send(connection: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    assert!(
        descriptors.len() <= DESCRIPTORS_MAX,
        "more descriptors than a message carries"
    );
    let mut part = iovec {
        iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(),
        iov_len: bytes.len(),
    };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: plain old data, see the module above.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !descriptors.is_empty() {
        write_descriptors(&mut message, &mut control, descriptors);
    }
    // SAFETY: the message describes `bytes` and `control`, borrowed for the call; the kernel only reads them.
    let sent = unsafe { libc::sendmsg(connection.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    match check(sent as c_int)? as usize {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(io::Error::from(io::ErrorKind::WriteZero)),
    }
}

fn write_descriptors(message: &mut msghdr, control: &mut Control, descriptors: &[BorrowedFd<'_>]) {
    let bytes = size_of::<RawFd>() * descriptors.len();
    message.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    // SAFETY: arithmetic only.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(bytes as u32) } as _;
    // SAFETY: `control` is aligned for a header and has room for it and the descriptors: 32 times 4 bytes are less.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(bytes as u32) as _;
        let first = libc::CMSG_DATA(header).cast::<RawFd>();
        for (index, descriptor) in descriptors.iter().enumerate() {
            first.add(index).write_unaligned(descriptor.as_raw_fd());
        }
    }
}

/// Takes what has come, as far as it fits in `buffer`. Does not wait.
pub(crate) fn receive(connection: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    let mut part = iovec {
        iov_base: buffer.as_mut_ptr().cast::<c_void>(),
        iov_len: buffer.len(),
    };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: plain old data, see the module above.
    let mut message: msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the message describes `buffer` and `control`, borrowed for the call.
    let received = unsafe {
        libc::recvmsg(
            connection.as_raw_fd(),
            &raw mut message,
            libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT,
        )
    };
    let length = check(received as c_int)? as usize;
    let descriptors = read_descriptors(&message);
    if message.msg_flags & (libc::MSG_CTRUNC | libc::MSG_TRUNC) != 0 {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    Ok(Received { length, descriptors })
}

fn read_descriptors(message: &msghdr) -> Vec<OwnedFd> {
    let mut descriptors = Vec::new();
    // SAFETY: the kernel has written well-formed control messages; each descriptor in them is new, and has no other
    // owner.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                let first = libc::CMSG_DATA(header).cast::<RawFd>();
                for index in 0..bytes / size_of::<RawFd>() {
                    descriptors.push(OwnedFd::from_raw_fd(first.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    descriptors
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    fn pair(kind: SocketKind, path: &str) -> (Listening, OwnedFd, OwnedFd) {
        let listener = listen(kind, path).expect("can listen");
        let near = connect(kind, path).expect("can connect");
        let far = accept(listener.socket.as_fd()).expect("can accept").expect("one waits");
        (listener, near, far)
    }

    #[test]
    fn descriptors_travel_beside_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket").display().to_string();
        let (_listener, near, far) = pair(SocketKind::Messages, &path);
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"content").expect("can write");
        send(near.as_fd(), b"take this", &[file.as_fd(), near.as_fd()]).expect("can send");
        let mut buffer = [0; 64];
        let mut received = receive(far.as_fd(), &mut buffer).expect("a message");
        assert_eq!(&buffer[..received.length], b"take this");
        assert_eq!(received.descriptors.len(), 2);
        let mut copy = File::from(received.descriptors.swap_remove(0));
        std::io::Seek::rewind(&mut copy).expect("can seek");
        let mut text = String::new();
        copy.read_to_string(&mut text).expect("can read");
        assert_eq!(text, "content");
        drop((near, received));
        assert_eq!(receive(far.as_fd(), &mut buffer).expect("the end").length, 0);
    }

    #[test]
    fn the_file_of_a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket").display().to_string();
        drop(listen(SocketKind::Stream, &path).expect("can listen"));
        let _alive = listen(SocketKind::Stream, &path).expect("the file is left over");
        let error = listen(SocketKind::Stream, &path).expect_err("it is served");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn abstract_names_need_no_file() {
        let name = format!("@forebay-test-{}", std::process::id());
        let (_listener, near, far) = pair(SocketKind::Stream, &name);
        send(near.as_fd(), b"x", &[]).expect("can send");
        assert_eq!(receive(far.as_fd(), &mut [0; 4]).expect("a byte").length, 1);
        assert!(listen(SocketKind::Stream, &"x".repeat(200)).is_err());
    }
}
