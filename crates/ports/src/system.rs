//! Thin safe wrappers of the system calls that the standard library does not have.
//!
//! Every wrapper takes and returns plain values; no pointer outlives the call it is made for.
//! The structures given to the kernel are plain old data for which all zeroes is a valid value,
//! which is what every `zeroed` below rests on.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_short, c_void, ifreq, iovec, mmsghdr, msghdr, socklen_t};

/// How many messages a batch holds.
pub(crate) const BATCH: usize = 32;

/// Length of the header that carries offload information: `struct virtio_net_hdr`.
pub(crate) const OFFLOAD_HEADER: usize = 10;

/// Turns the -1 of a system call into the error it stands for.
fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A new non-blocking socket, closed in child processes.
pub(crate) fn socket(domain: c_int, kind: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no pointers; the descriptor returned is new and owned by nobody else.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, 0))?)) }
}

/// Sets a socket option whose value is of type `T`.
fn set_option<T: Copy>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of_val(value) as socklen_t;
    let pointer = ptr::from_ref(value).cast::<c_void>();
    // SAFETY: the pointer and length describe `value`, which the kernel only reads.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) })?;
    Ok(())
}

/// Sets an integer option of a packet socket (`man 7 packet`).
pub(crate) fn set_packet_option(socket: BorrowedFd<'_>, option: c_int, value: c_int) -> io::Result<()> {
    set_option(socket, libc::SOL_PACKET, option, &value)
}

/// Asks for socket buffers of `bytes`; what the system grants may be less.
pub(crate) fn set_buffers(socket: BorrowedFd<'_>, bytes: c_int) {
    for (force, plain) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        // Forcing needs CAP_NET_ADMIN. Smaller buffers are not an error: losses are counted.
        if set_option(socket, libc::SOL_SOCKET, force, &bytes).is_err() {
            let _ = set_option(socket, libc::SOL_SOCKET, plain, &bytes);
        }
    }
}

/// Makes the interface deliver frames for other addresses too, as long as the socket is open.
pub(crate) fn set_promiscuous(socket: BorrowedFd<'_>, interface_index: c_int) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: interface_index,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Binds a packet socket to an interface, for all protocols.
pub(crate) fn bind_to_interface(socket: BorrowedFd<'_>, interface_index: c_int) -> io::Result<()> {
    // SAFETY: plain old data, see the module.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface_index;
    let length = size_of::<libc::sockaddr_ll>() as socklen_t;
    let pointer = ptr::from_ref(&address).cast::<libc::sockaddr>();
    // SAFETY: the pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), pointer, length) })?;
    Ok(())
}

/// How many packets the kernel dropped because the socket's buffer was full, since the last call.
pub(crate) fn take_kernel_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: plain old data, see the module.
    let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as socklen_t;
    let pointer = ptr::from_mut(&mut statistics).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `statistics`.
    check(unsafe {
        let option = libc::PACKET_STATISTICS;
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, pointer, &mut length)
    })?;
    Ok(statistics.tp_drops)
}

/// An interface request that names an interface.
fn interface_request(name: &str) -> io::Result<ifreq> {
    // SAFETY: plain old data, see the module.
    let mut request: ifreq = unsafe { zeroed() };
    // One byte stays zero to close the name.
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Runs an interface request (`man 7 netdevice`) that reads or fills an `ifreq`.
fn interface_ioctl(socket: BorrowedFd<'_>, request: u64, data: &mut ifreq) -> io::Result<()> {
    // SAFETY: every caller passes a request that takes a pointer to an `ifreq`.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, ptr::from_mut(data)) })?;
    Ok(())
}

/// The number of the interface called `name` in the socket's network namespace.
pub(crate) fn interface_index(socket: BorrowedFd<'_>, name: &str) -> io::Result<c_int> {
    let mut request = interface_request(name)?;
    interface_ioctl(socket, libc::SIOCGIFINDEX, &mut request)?;
    // SAFETY: SIOCGIFINDEX has filled the index; any bits are a valid integer.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

/// The hardware type (ARPHRD number) of an interface.
pub(crate) fn interface_hardware_type(socket: BorrowedFd<'_>, name: &str) -> io::Result<u16> {
    let mut request = interface_request(name)?;
    interface_ioctl(socket, libc::SIOCGIFHWADDR, &mut request)?;
    // SAFETY: SIOCGIFHWADDR has filled the address; any bits are a valid address.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

/// Whether the interface with this number is up; an error of kind `ENODEV` when there is none.
pub(crate) fn interface_is_up(socket: BorrowedFd<'_>, index: c_int) -> io::Result<bool> {
    // SAFETY: plain old data, see the module.
    let mut request: ifreq = unsafe { zeroed() };
    request.ifr_ifru.ifru_ifindex = index;
    // The kernel answers with the present name, which may have changed.
    interface_ioctl(socket, libc::SIOCGIFNAME, &mut request)?;
    interface_ioctl(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled the flags; any bits are a valid integer.
    let flags = c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    Ok(flags & libc::IFF_UP != 0)
}

/// Brings an interface up.
pub(crate) fn set_interface_up(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = interface_request(name)?;
    interface_ioctl(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled the flags; any bits are a valid integer.
    unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as c_short };
    interface_ioctl(socket, libc::SIOCSIFFLAGS, &mut request)
}

/// Makes an open `/dev/net/tun` the TAP device `name`, without packet information headers.
pub(crate) fn attach_tap(tun: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = interface_request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as c_short;
    interface_ioctl(tun, libc::TUNSETIFF, &mut request)
}

/// The names of all interfaces in this thread's network namespace.
pub(crate) fn interface_names() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: the list is null or an array closed by an entry with a null name; it is read before
    // it is freed, once, and its names are copied.
    unsafe {
        let list = libc::if_nameindex();
        let mut entry = list;
        while !entry.is_null() && !(*entry).if_name.is_null() {
            names.push(CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
    }
    names
}

/// A descriptor to wait for.
#[repr(transparent)]
pub(crate) struct PollDescriptor(libc::pollfd);

impl PollDescriptor {
    /// Waits until `descriptor` is readable or has an error.
    pub(crate) fn readable(descriptor: RawFd) -> PollDescriptor {
        PollDescriptor(libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        })
    }
}

/// Waits for one of `descriptors`, at most `wait_ns`; returns whether one is ready. A signal ends
/// the wait early.
pub(crate) fn poll(descriptors: &mut [PollDescriptor], wait_ns: u64) -> io::Result<bool> {
    // SAFETY: plain old data, see the module.
    let mut timeout: libc::timespec = unsafe { zeroed() };
    timeout.tv_sec = (wait_ns / 1_000_000_000).min(i32::MAX as u64) as libc::time_t;
    timeout.tv_nsec = (wait_ns % 1_000_000_000) as _;
    let pointer = descriptors.as_mut_ptr().cast::<libc::pollfd>();
    let count = descriptors.len() as libc::nfds_t;
    // SAFETY: `PollDescriptor` is transparent over `pollfd`; pointer and count describe the slice.
    match check(unsafe { libc::ppoll(pointer, count, &timeout, ptr::null()) }) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Where one received message goes: up to three buffers, filled one after another.
pub(crate) struct ReceiveSlot<'a> {
    /// Takes the offload header.
    pub(crate) offload: &'a mut [u8; OFFLOAD_HEADER],
    /// Takes the beginning of the frame.
    pub(crate) frame: &'a mut [u8],
    /// Takes what does not fit in `frame`.
    pub(crate) overflow: &'a mut [u8],
}

/// What the kernel says of a received message.
#[derive(Clone, Copy, Default)]
pub(crate) struct ReceivedMessage {
    /// Bytes written to the slot, offload header included.
    pub(crate) length: usize,
    /// Whether it was cut because it did not fit.
    pub(crate) truncated: bool,
    /// Whether it was on its way out of the machine.
    pub(crate) outgoing: bool,
    /// The VLAN tag that the kernel took out: protocol identifier and control information.
    pub(crate) vlan: Option<(u16, u16)>,
}

/// Room for the ancillary data of one message, aligned as the kernel wants it.
type Control = [u64; 8];

/// Receives up to [`BATCH`] messages into `slots`, one each, without blocking. Returns how many came; their
/// descriptions are in `messages`.
pub(crate) fn receive_batch<'a>(
    socket: BorrowedFd<'_>,
    slots: impl Iterator<Item = ReceiveSlot<'a>>,
    messages: &mut [ReceivedMessage; BATCH],
) -> io::Result<usize> {
    // SAFETY: plain old data, see the module.
    let (mut headers, mut vectors, mut addresses): ([mmsghdr; BATCH], [[iovec; 3]; BATCH], [libc::sockaddr_ll; BATCH]) =
        unsafe { (zeroed(), zeroed(), zeroed()) };
    let mut controls: [Control; BATCH] = [[0; 8]; BATCH];
    let mut count = 0;
    for (index, slot) in slots.take(BATCH).enumerate() {
        vectors[index] = [
            io_vector(slot.offload.as_mut_slice()),
            io_vector(slot.frame),
            io_vector(slot.overflow),
        ];
        let header = &mut headers[index].msg_hdr;
        header.msg_iov = vectors[index].as_mut_ptr();
        header.msg_iovlen = 3;
        header.msg_name = ptr::from_mut(&mut addresses[index]).cast();
        header.msg_namelen = size_of::<libc::sockaddr_ll>() as socklen_t;
        header.msg_control = controls[index].as_mut_ptr().cast();
        header.msg_controllen = size_of::<Control>() as _;
        count += 1;
    }
    // SAFETY: each of the `count` headers points to arrays on this stack frame and to the slots'
    // buffers, which are borrowed mutably for `'a`, beyond this call, with their true lengths.
    let received = check(unsafe {
        let flags = libc::MSG_DONTWAIT as _;
        libc::recvmmsg(
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count as _,
            flags,
            ptr::null_mut(),
        )
    })? as usize;
    for index in 0..received {
        let header = &headers[index].msg_hdr;
        messages[index] = ReceivedMessage {
            length: headers[index].msg_len as usize,
            truncated: header.msg_flags & libc::MSG_TRUNC != 0,
            outgoing: addresses[index].sll_pkttype == libc::PACKET_OUTGOING,
            // SAFETY: the kernel has filled this header and the control room it points to, both
            // alive on this stack frame.
            vlan: unsafe { removed_vlan_tag(header) },
        };
    }
    Ok(received)
}

/// The VLAN tag told in the ancillary data of a message (PACKET_AUXDATA).
///
/// # Safety
/// `header` must have been filled by `recvmmsg`, and its control room must still be alive.
unsafe fn removed_vlan_tag(header: &msghdr) -> Option<(u16, u16)> {
    // SAFETY: the caller's promise is what the CMSG functions need; a message of this level and
    // type that is long enough holds a `tpacket_auxdata`, read unaligned.
    let auxiliary = unsafe {
        let message = libc::CMSG_FIRSTHDR(header);
        let needed = libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) as usize;
        let is_auxiliary = !message.is_null()
            && (*message).cmsg_level == libc::SOL_PACKET
            && (*message).cmsg_type == libc::PACKET_AUXDATA
            && (*message).cmsg_len as usize >= needed;
        if !is_auxiliary {
            return None;
        }
        libc::CMSG_DATA(message)
            .cast::<libc::tpacket_auxdata>()
            .read_unaligned()
    };
    let protocol = match auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => 0x8100,
        _ => auxiliary.tp_vlan_tpid,
    };
    (auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID != 0).then_some((protocol, auxiliary.tp_vlan_tci))
}

/// Sends up to [`BATCH`] frames, each behind an offload header that says "nothing to do", without
/// blocking. Returns how many went (at least one), or why the first did not.
pub(crate) fn send_batch(socket: BorrowedFd<'_>, frames: &[&[u8]]) -> io::Result<usize> {
    let count = frames.len().min(BATCH);
    let offload = [0u8; OFFLOAD_HEADER];
    // SAFETY: plain old data, see the module.
    let (mut headers, mut vectors): ([mmsghdr; BATCH], [[iovec; 2]; BATCH]) = unsafe { (zeroed(), zeroed()) };
    for (index, frame) in frames[..count].iter().enumerate() {
        vectors[index] = [constant_io_vector(&offload), constant_io_vector(frame)];
        headers[index].msg_hdr.msg_iov = vectors[index].as_mut_ptr();
        headers[index].msg_hdr.msg_iovlen = 2;
    }
    // SAFETY: each of the `count` headers points to arrays on this stack frame and to the frames,
    // which are borrowed for the whole call, with their true lengths. `sendmmsg` only reads them.
    let sent = check(unsafe {
        let flags = libc::MSG_DONTWAIT as _;
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count as _, flags)
    })?;
    Ok(sent as usize)
}

fn io_vector(bytes: &mut [u8]) -> iovec {
    iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    }
}

/// A vector that is only read through, whatever its type says.
fn constant_io_vector(bytes: &[u8]) -> iovec {
    iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}
