//! Why a port cannot be opened, and what to do about it.

use std::fmt;
use std::io;

use crate::system::unix::SOCKET_PATH_MAX;
use forebay_dpdk::DpdkError;
use forebay_packet::pcap::PcapError;

/// Why a port cannot be opened. The text says what, why, and what to do.
#[derive(Debug)]
pub enum OpenError {
    /// No interface has this name in this network namespace.
    NoSuchInterface {
        /// The requested name.
        name: String,
        /// Existing names that look alike, best first.
        similar: Vec<String>,
    },
    /// Two ports name one interface, by different names.
    SameInterface {
        /// The name that one port has.
        name: String,
        /// The name that an earlier one has.
        other: String,
    },
    /// The process lacks a right.
    NotPermitted {
        /// What needs it.
        action: String,
        /// The capability that is missing.
        capability: &'static str,
    },
    /// Another process holds the device.
    Busy {
        /// The device.
        name: String,
    },
    /// The interface does not carry Ethernet frames.
    NotEthernet {
        /// The interface.
        name: String,
        /// Its hardware type (ARPHRD number).
        hardware_type: u16,
    },
    /// Another XDP program is attached to the interface.
    XdpInUse {
        /// The interface.
        name: String,
    },
    /// An interface whose way was not said is held by another AF_XDP program, which takes its frames.
    Held {
        /// The interface.
        name: String,
        /// What holds it.
        holder: &'static str,
    },
    /// The memory of AF_XDP sockets is over the limit of memory that the process may lock.
    LockedMemory {
        /// The interface.
        name: String,
    },
    /// The interface's driver cannot run XDP programs.
    NoXdp {
        /// The interface.
        name: String,
        /// Its driver, if known.
        driver: Option<String>,
    },
    /// The interface has no such receive queue.
    NoSuchQueue {
        /// The interface.
        name: String,
        /// The requested queue.
        queue: u32,
        /// How many there are.
        queues: u32,
    },
    /// The interface has fewer receive queues than there are threads.
    TooFewQueues {
        /// The interface.
        name: String,
        /// The number of threads.
        wanted: usize,
        /// How many there are.
        queues: u32,
    },
    /// The other end of a veth pair sends by more queues than this end receives by.
    QueuesOfPeer {
        /// The interface.
        name: String,
        /// How many queues it receives by.
        queues: u32,
    },
    /// The interface's MTU is larger than the kernel or the driver can carry through AF_XDP.
    MtuTooLarge {
        /// The interface.
        name: String,
        /// Its MTU, in bytes.
        mtu: usize,
        /// The largest that is possible, in bytes.
        longest: usize,
    },
    /// The interface exists and is not a TAP device.
    NotTap {
        /// The interface.
        name: String,
    },
    /// The system has no TUN/TAP driver.
    NoTapDriver {
        /// The error of the operating system.
        cause: io::Error,
    },
    /// A socket of the file system, by which a peer would come, cannot be made.
    Socket {
        /// Its path.
        path: String,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// A device of DPDK cannot be used.
    Dpdk(DpdkError),
    /// A file cannot be opened.
    File {
        /// What was tried: "read" or "write".
        action: &'static str,
        /// The file.
        path: String,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// A file is not a capture file that can be read.
    Capture {
        /// The file.
        path: String,
        /// What is wrong with it.
        cause: PcapError,
    },
    /// Another system call failed.
    System {
        /// What was being done.
        action: String,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl OpenError {
    /// The error for a system call that failed while doing `action`: a missing right is told
    /// apart, because it is the most common one and has a remedy.
    pub(crate) fn from_system(action: String, capability: &'static str, cause: io::Error) -> OpenError {
        match cause.kind() {
            io::ErrorKind::PermissionDenied => OpenError::NotPermitted { action, capability },
            _ => OpenError::System { action, cause },
        }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoSuchInterface { name, similar } if similar.is_empty() => write!(
                formatter,
                "there is no interface `{name}` here; `ip link` lists those there are"
            ),
            OpenError::NoSuchInterface { name, similar } => write!(
                formatter,
                "there is no interface `{name}` here; did you mean `{}`?",
                similar.join("` or `")
            ),
            OpenError::SameInterface { name, other } => write!(
                formatter,
                "`{name}` and `{other}` are names of one interface, which can serve only one port"
            ),
            OpenError::NotPermitted { action, capability } => write!(
                formatter,
                "not permitted to {action}; run as root, or give the program the right: \
                 setcap {}+ep PROGRAM",
                capability.to_lowercase()
            ),
            OpenError::Busy { name } => write!(
                formatter,
                "`{name}` is in use by another process; stop that process or choose another name"
            ),
            OpenError::NotEthernet { name, hardware_type } => write!(
                formatter,
                "`{name}` does not carry Ethernet frames (hardware type {hardware_type}); \
                 use an Ethernet, veth, bridge or TAP interface"
            ),
            OpenError::XdpInUse { name } => write!(
                formatter,
                "another XDP program is attached to `{name}`; take it off: ip link set dev {name} xdp off, \
                 or use packet:{name}"
            ),
            OpenError::Held { name, holder } => write!(
                formatter,
                "`{name}` is held by {holder}, which takes its frames; stop that program (`ss --xdp --processes` shows sockets, \
                 `ip link show {name}` programs), or use --force for a packet socket beside it"
            ),
            OpenError::LockedMemory { name } => write!(
                formatter,
                "the memory of an AF_XDP socket on `{name}` is over the limit of locked memory; raise it (ulimit -l unlimited) or \
                 give the program the rights: setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep PROGRAM; \
                 packet:{name} needs cap_net_raw alone"
            ),
            OpenError::NoXdp { name, driver } => write!(
                formatter,
                "the driver of `{name}` ({}) cannot run XDP programs",
                driver.as_deref().unwrap_or("unknown")
            ),
            OpenError::NoSuchQueue { name, queue, queues } => write!(
                formatter,
                "`{name}` has no queue {queue}: it receives by {queues}, numbered from 0"
            ),
            OpenError::TooFewQueues { name, wanted, queues } => write!(
                formatter,
                "`{name}` receives by {queues} queue{}, fewer than the {wanted} workers; give it more \
                 (ethtool -L {name} combined {wanted}), use fewer workers, or use packet:{name}",
                if *queues == 1 { "" } else { "s" }
            ),
            OpenError::QueuesOfPeer { name, queues } => write!(
                formatter,
                "the other end of `{name}` sends by more queues than the {queues} it receives by; \
                 make them equal (ethtool -L), or use packet:{name}"
            ),
            OpenError::MtuTooLarge { name, mtu, longest } => write!(
                formatter,
                "the MTU of `{name}` is {mtu} bytes, and through AF_XDP this kernel and driver carry at most \
                 {longest}; lower it (ip link set dev {name} mtu {longest}), or use packet:{name}"
            ),
            OpenError::NotTap { name } => write!(
                formatter,
                "`{name}` exists and is not a TAP device; choose another name, \
                 or use it as it is: packet:{name}"
            ),
            OpenError::NoTapDriver { cause } => write!(
                formatter,
                "cannot open /dev/net/tun: {cause}; load the driver: modprobe tun"
            ),
            OpenError::Socket { path, cause } if cause.kind() == io::ErrorKind::AddrInUse => write!(
                formatter,
                "another process listens at `{path}`; stop it, choose another path, or be its client: role=client or mode=client"
            ),
            OpenError::Socket { path, cause } if cause.kind() == io::ErrorKind::AlreadyExists => write!(
                formatter,
                "`{path}` exists and is not a socket; choose another path, or remove it"
            ),
            OpenError::Socket { path, cause } if cause.kind() == io::ErrorKind::InvalidInput => write!(
                formatter,
                "the path `{path}` is too long: that of a socket has at most {SOCKET_PATH_MAX} bytes"
            ),
            OpenError::Socket { path, cause } if cause.kind() == io::ErrorKind::NotFound => write!(
                formatter,
                "cannot listen at `{path}`: its directory does not exist; create it"
            ),
            OpenError::Socket { path, cause } => write!(formatter, "cannot listen at `{path}`: {cause}"),
            OpenError::Dpdk(error) => error.fmt(formatter),
            OpenError::File { action, path, cause } => {
                write!(formatter, "cannot {action} `{path}`: {cause}")
            }
            OpenError::Capture { path, cause } => {
                write!(formatter, "cannot read `{path}`: {cause}")
            }
            OpenError::System { action, cause } if cause.raw_os_error() == Some(libc::EMFILE) => write!(
                formatter,
                "cannot {action}: {cause}; allow the process more of them: ulimit -n 4096, in a service LimitNOFILE=4096"
            ),
            OpenError::System { action, cause } => write!(formatter, "cannot {action}: {cause}"),
        }
    }
}

/// The message says the cause; there is no other source.
impl std::error::Error for OpenError {}
