//! What the system knows of its interfaces: `man 7 netdevice`, and the questions that `ethtool` asks.

use std::ffi::CStr;
use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_short, ifreq};

use super::{check, unix};

/// Attributes of an interface (`linux/if_link.h`): the number of the one that it belongs to (IFLA_MASTER), what sort it
/// is, the name of TUN's, and how many queues of such a device are in use (IFLA_TUN_NUM_QUEUES).
const LINK_MASTER: u16 = 10;
const LINK_INFORMATION: u16 = 18;
const INFORMATION_KIND: u16 = 1;
const INFORMATION_DATA: u16 = 2;
const KIND_TUN: &[u8] = b"tun\0";
const TUN_QUEUES: u16 = 8;

/// Bytes before the attributes of an answer about an interface: `struct nlmsghdr`, `struct ifinfomsg`.
const ATTRIBUTES_AT: usize = 32;

/// Where the number of the interface stands in a message about it, or about its address: after `struct nlmsghdr` and
/// four bytes.
const INDEX_AT: usize = 20;

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

/// The MAC address of an interface.
pub(crate) fn interface_mac_address(socket: BorrowedFd<'_>, name: &str) -> io::Result<[u8; 6]> {
    let mut request = interface_request(name)?;
    interface_ioctl(socket, libc::SIOCGIFHWADDR, &mut request)?;
    // SAFETY: SIOCGIFHWADDR has filled the address; any bits are a valid address.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    Ok(std::array::from_fn(|index| address[index] as u8))
}

/// What the system says of whether an interface carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// It is up, and so is its link, or its driver tells nothing of that.
    Running,
    /// It is up, and the link is not, or has come up within the last second, after which the kernel says so.
    NotRunning,
    /// It has been set down.
    Down,
}

/// Whether the interface with this number carries frames; an error of kind `ENODEV` when there is none.
///
/// IFF_RUNNING is the operational state of RFC 2863 (`operstate`): up, or unknown where the driver tells nothing. The
/// kernel answers without its lock for changes of interfaces, unlike for the questions of `ethtool`.
pub(crate) fn operation(socket: BorrowedFd<'_>, index: c_int) -> io::Result<Operation> {
    let mut request = request_by_index(socket, index)?;
    interface_ioctl(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled the flags; any bits are a valid integer.
    let flags = c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    Ok(match (flags & libc::IFF_UP != 0, flags & libc::IFF_RUNNING != 0) {
        (false, _) => Operation::Down,
        (true, false) => Operation::NotRunning,
        (true, true) => Operation::Running,
    })
}

/// Whether the interface with this number has a carrier, now; false when the driver does not tell.
pub(crate) fn has_carrier(socket: BorrowedFd<'_>, index: c_int) -> bool {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let mut value = Value { command: 0x0a, data: 0 };
    let Ok(mut request) = request_by_index(socket, index) else {
        return false;
    };
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut value).cast();
    interface_ioctl(socket, libc::SIOCETHTOOL, &mut request).is_ok() && value.data != 0
}

/// An interface request with the present name of the interface with this number, which may have changed.
fn request_by_index(socket: BorrowedFd<'_>, index: c_int) -> io::Result<ifreq> {
    // SAFETY: plain old data, see the module.
    let mut request: ifreq = unsafe { zeroed() };
    request.ifr_ifru.ifru_ifindex = index;
    interface_ioctl(socket, libc::SIOCGIFNAME, &mut request)?;
    Ok(request)
}

/// The present name of the interface with this number.
pub(crate) fn interface_name(socket: BorrowedFd<'_>, index: c_int) -> io::Result<String> {
    let request = request_by_index(socket, index)?;
    let name = request.ifr_name.iter().map(|byte| *byte as u8);
    let name: Vec<u8> = name.take_while(|byte| *byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Brings an interface up.
pub(crate) fn set_interface_up(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let mut request = interface_request(name)?;
    interface_ioctl(socket, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: SIOCGIFFLAGS has filled the flags; any bits are a valid integer.
    unsafe { request.ifr_ifru.ifru_flags |= libc::IFF_UP as c_short };
    interface_ioctl(socket, libc::SIOCSIFFLAGS, &mut request)
}

/// Makes an open `/dev/net/tun` the TAP device `name`, or one of its queues. Each frame comes and goes after an
/// offload header; what comes may have its checksum open or be a TCP super-frame.
pub(crate) fn attach_tap(tun: BorrowedFd<'_>, name: &str, is_one_of_several: bool) -> io::Result<()> {
    let mut request = interface_request(name)?;
    let queues = if is_one_of_several { libc::IFF_MULTI_QUEUE } else { 0 };
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | queues;
    request.ifr_ifru.ifru_flags = flags as c_short;
    interface_ioctl(tun, libc::TUNSETIFF, &mut request)?;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // SAFETY: these requests take a pointer to an integer and the integer itself.
    unsafe {
        let header = super::OFFLOAD_HEADER as c_int;
        check(libc::ioctl(tun.as_raw_fd(), libc::TUNSETVNETHDRSZ as _, &header))?;
        check(libc::ioctl(
            tun.as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            offloads as libc::c_ulong,
        ))?;
    }
    Ok(())
}

/// How many queues of the TAP device with this number processes have; none when it is no device with several queues.
///
/// # Errors
/// When the system does not answer.
pub(crate) fn tap_queues(index: c_int) -> io::Result<Option<u32>> {
    Ok(queues_in(&about_link(index)?))
}

/// The number of the bridge, bond or other interface that the interface with this number is a member of, if it is one.
///
/// # Errors
/// When the system does not answer.
pub(crate) fn master(index: c_int) -> io::Result<Option<c_int>> {
    Ok(master_in(&about_link(index)?))
}

/// All that the system tells about the interface with this number: a message.
fn about_link(index: c_int) -> io::Result<Vec<u8>> {
    let socket = super::socket(libc::AF_NETLINK, libc::SOCK_RAW)?;
    let mut question = [0; ATTRIBUTES_AT];
    question[..4].copy_from_slice(&(ATTRIBUTES_AT as u32).to_ne_bytes());
    question[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    question[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    question[20..24].copy_from_slice(&index.to_ne_bytes());
    unix::send(socket.as_fd(), &question, &[])?;
    let mut answer = vec![0; 1 << 16];
    let received = unix::receive(socket.as_fd(), &mut answer)?;
    answer.truncate(received.length);
    Ok(answer)
}

/// The attributes in such a message.
fn link_attributes(answer: &[u8]) -> Option<&[u8]> {
    if u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?) != libc::RTM_NEWLINK {
        return None;
    }
    answer.get(ATTRIBUTES_AT..)
}

/// The number of the interface that it belongs to.
fn master_in(answer: &[u8]) -> Option<c_int> {
    let master = attribute(link_attributes(answer)?, LINK_MASTER)?;
    Some(c_int::from_ne_bytes(*master.first_chunk()?)).filter(|master| *master > 0)
}

/// The number of queues in an answer.
fn queues_in(answer: &[u8]) -> Option<u32> {
    let link = attribute(link_attributes(answer)?, LINK_INFORMATION)?;
    if attribute(link, INFORMATION_KIND)? != KIND_TUN {
        return None;
    }
    let queues = attribute(attribute(link, INFORMATION_DATA)?, TUN_QUEUES)?;
    Some(u32::from_ne_bytes(*queues.first_chunk()?))
}

/// The content of the first of these attributes that has this number (`man 7 netlink`).
fn attribute(mut attributes: &[u8], number: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(*attributes.first_chunk()?));
        let found = u16::from_ne_bytes(*attributes.get(2..)?.first_chunk()?);
        let content = attributes.get(4..length)?;
        // Above the number stands whether the content is attributes again.
        if found & 0x3fff == number {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
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

/// Asks a question of `ethtool`: `value` begins with the command and is overwritten by the answer.
///
/// # Safety
/// `T` must be the structure of the command, plain old data that begins with its number.
unsafe fn ethtool<T>(socket: BorrowedFd<'_>, name: &str, value: &mut T) -> io::Result<()> {
    let mut request = interface_request(name)?;
    request.ifr_ifru.ifru_data = ptr::from_mut(value).cast();
    interface_ioctl(socket, libc::SIOCETHTOOL, &mut request)
}

/// The name of an interface's driver, when it tells.
pub(crate) fn driver(socket: BorrowedFd<'_>, name: &str) -> Option<String> {
    /// `struct ethtool_drvinfo`, of which only the driver's name is read.
    #[repr(C)]
    struct DriverInformation {
        command: u32,
        driver: [u8; 32],
        rest: [u8; 160],
    }
    let mut information = DriverInformation {
        command: 0x03,
        driver: [0; 32],
        rest: [0; 160],
    };
    // SAFETY: the structure is that of ETHTOOL_GDRVINFO (196 bytes).
    unsafe { ethtool(socket, name, &mut information) }.ok()?;
    let driver = CStr::from_bytes_until_nul(&information.driver).ok()?;
    Some(driver.to_string_lossy().into_owned())
}

/// How many queues an interface receives by; 1 when its driver does not tell.
pub(crate) fn receive_queues(socket: BorrowedFd<'_>, name: &str) -> u32 {
    /// `struct ethtool_channels`: four maxima, then what is set.
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        maxima: [u32; 4],
        receive: u32,
        transmit: u32,
        other: u32,
        combined: u32,
    }
    let mut channels = Channels {
        command: 0x3c,
        ..Channels::default()
    };
    // SAFETY: the structure is that of ETHTOOL_GCHANNELS (36 bytes).
    match unsafe { ethtool(socket, name, &mut channels) } {
        Ok(()) => (channels.receive + channels.combined).max(1),
        Err(_) => 1,
    }
}

/// The longest packet, without its Ethernet header, that an interface sends, in bytes.
pub(crate) fn interface_mtu(socket: BorrowedFd<'_>, index: c_int) -> io::Result<usize> {
    let mut request = request_by_index(socket, index)?;
    interface_ioctl(socket, libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: SIOCGIFMTU has filled the MTU; any bits are a valid integer.
    Ok(usize::try_from(unsafe { request.ifr_ifru.ifru_mtu }).unwrap_or(0))
}

/// A socket that is told when an interface gets or loses an address, or joins or leaves another one
/// (`man 7 rtnetlink`).
///
/// # Errors
/// When the system gives none.
pub(crate) fn interface_changes() -> io::Result<OwnedFd> {
    let socket = super::socket(libc::AF_NETLINK, libc::SOCK_RAW)?;
    // SAFETY: plain old data, see the module.
    let mut address: libc::sockaddr_nl = unsafe { zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = (libc::RTMGRP_LINK | libc::RTMGRP_IPV4_IFADDR | libc::RTMGRP_IPV6_IFADDR) as u32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and length describe `address`, which the kernel only reads.
    check(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) })?;
    Ok(socket)
}

/// Takes all that such a socket was told; returns whether that was anything about the interface with this number. It
/// does not wait.
pub(crate) fn take_interface_changes(socket: BorrowedFd<'_>, index: c_int) -> bool {
    // The rest of a message is cut off.
    let mut beginning = [0u8; INDEX_AT + size_of::<c_int>()];
    let mut has_changed = false;
    loop {
        // SAFETY: pointer and length describe `beginning`, borrowed for the call.
        let received = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                beginning.as_mut_ptr().cast(),
                beginning.len(),
                libc::MSG_DONTWAIT,
            )
        };
        match check(received as c_int) {
            // There were more messages than the kernel keeps.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => has_changed = true,
            Ok(1..) => has_changed |= beginning[INDEX_AT..] == index.to_ne_bytes(),
            Ok(_) | Err(_) => return has_changed,
        }
    }
}

/// Whether an interface has an IPv4 address.
pub(crate) fn has_ipv4_address(socket: BorrowedFd<'_>, name: &str) -> bool {
    interface_request(name).is_ok_and(|mut request| interface_ioctl(socket, libc::SIOCGIFADDR, &mut request).is_ok())
}
