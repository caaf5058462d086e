//! Opening an interface: a socket for each queue, then the program, so that no frame comes before there is a socket for
//! it.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use forebay_packet::{PortCounters, PortState};

use super::XdpPort;
use super::program::Redirect;
use crate::interfaces::{Interface, NeedWatch, QueueWatch, Watch};
use crate::system;
use crate::system::bpf::Attachment;
use crate::system::xdp::{CopyMode, SocketOptions, XdpSocket};
use crate::{OpenError, OpenOptions};

/// Frames in each ring of a socket: a pause of the switch of some milliseconds loses nothing.
const RING_FRAMES: u32 = 4096;

/// Bytes of a frame in the socket's memory when the interface's MTU allows it.
const SMALL_FRAME: usize = 2048;

/// Bytes of a frame otherwise: a page.
const LARGE_FRAME: usize = 4096;

/// Ethernet header and two VLAN tags, which do not count for the MTU.
pub(super) const HEADERS: usize = 22;

/// How long a queue may be busy because a socket that was closed is still being cleared away.
const CLEARING_TIME: Duration = Duration::from_secs(1);

/// What opening, attaching and binding need.
const CAPABILITIES: &str = "CAP_NET_RAW,CAP_NET_ADMIN,CAP_BPF";

/// Sockets with their queues, for each port.
type Shares = Vec<Vec<(u32, XdpSocket)>>;

/// Only the driver may run the program.
pub(super) const DRIVER: &[Attachment] = &[Attachment::Native];

/// The driver runs the program, or the kernel's stack if the driver cannot.
pub(super) const DRIVER_OR_STACK: &[Attachment] = &[Attachment::Native, Attachment::Generic];

/// How to open an interface.
pub(super) struct Request {
    /// What may run the program, in order of preference.
    how: &'static [Attachment],
    busy_poll: bool,
}

impl Request {
    pub(super) fn new(how: &'static [Attachment], options: &OpenOptions) -> Request {
        Request {
            how,
            busy_poll: options.busy_poll,
        }
    }

    /// Whether the kernel gets the interface as soon as it needs it: AF_XDP is the fastest way, not the one that was
    /// asked for.
    fn gives_way(&self) -> bool {
        self.how == DRIVER
    }
}

pub(super) fn open(name: &str, queue: Option<u32>, request: &Request) -> Result<XdpPort, OpenError> {
    let interface = Interface::find(name)?;
    let queues = interface.receive_queues();
    let chosen: Vec<u32> = match queue {
        None => (0..queues).collect(),
        Some(queue) if queue < queues => vec![queue],
        Some(queue) => {
            return Err(OpenError::NoSuchQueue {
                name: name.to_owned(),
                queue,
                queues,
            });
        }
    };
    let mut ports = open_ports(&interface, queues, &[chosen], request)?;
    Ok(ports.pop().expect("one was asked for"))
}

pub(super) fn open_shares(name: &str, count: usize, request: &Request) -> Result<Vec<XdpPort>, OpenError> {
    let interface = Interface::find(name)?;
    let queues = interface.receive_queues();
    if (queues as usize) < count {
        return Err(OpenError::TooFewQueues {
            name: name.to_owned(),
            wanted: count,
            queues,
        });
    }
    let share = |first: usize| (first as u32..queues).step_by(count).collect();
    let shares: Vec<Vec<u32>> = (0..count).map(share).collect();
    open_ports(&interface, queues, &shares, request)
}

/// Opens a port for each share of the queues of an interface that has `queues`.
fn open_ports(
    interface: &Interface,
    queues: u32,
    shares: &[Vec<u32>],
    request: &Request,
) -> Result<Vec<XdpPort>, OpenError> {
    let mut copy_mode = CopyMode::ZeroCopy;
    let mut sockets: Shares = Vec::new();
    for share in shares {
        let mut opened = Vec::new();
        for &queue in share {
            let (socket, mode) = open_socket(interface, queue, request.busy_poll)?;
            if mode == CopyMode::Copy {
                copy_mode = mode;
            }
            opened.push((queue, socket));
        }
        sockets.push(opened);
    }
    let (redirect, attached) = attach(interface, queues, &sockets, request.how)?;
    let redirect = Arc::new(redirect);
    let has_all_queues = shares.iter().map(Vec::len).sum::<usize>() == queues as usize;
    let make = |sockets: Vec<(u32, XdpSocket)>| {
        let sockets: Vec<XdpSocket> = sockets.into_iter().map(|(_, socket)| socket).collect();
        let waiting = match sockets.len() {
            1 => None,
            _ => Some(
                system::wait_for_any(sockets.iter().map(XdpSocket::descriptor))
                    .map_err(|cause| system_error(interface, cause))?,
            ),
        };
        let interface = Interface::find(&interface.name)?;
        let mut port = XdpPort {
            queue_watch: has_all_queues.then(|| QueueWatch::begin(&interface, queues)).flatten(),
            need_watch: request.gives_way().then(NeedWatch::begin).flatten(),
            interface,
            sockets,
            waiting,
            _redirect: Arc::clone(&redirect),
            how: attached,
            copy_mode,
            state: PortState::Up,
            is_cut_off: false,
            counters: PortCounters::default(),
            first: 0,
            longest: 0,
            watch: Watch::default(),
        };
        port.look_at_interface();
        Ok(port)
    };
    sockets.into_iter().map(make).collect()
}

/// Opens a socket for a queue with frames as the interface's MTU asks for.
fn open_socket(interface: &Interface, queue: u32, busy_poll: bool) -> Result<(XdpSocket, CopyMode), OpenError> {
    let longest = interface.mtu() + HEADERS;
    let frame_bytes = [SMALL_FRAME, LARGE_FRAME]
        .into_iter()
        .find(|bytes| longest <= XdpSocket::room(*bytes));
    let options = SocketOptions {
        interface_index: interface.index as u32,
        queue,
        frame_bytes: frame_bytes.unwrap_or(LARGE_FRAME),
        ring_frames: RING_FRAMES,
        pieces: frame_bytes.is_none(),
        busy_poll,
    };
    let started = Instant::now();
    loop {
        match XdpSocket::open(&options) {
            Ok(opened) => return Ok(opened),
            Err(cause) if is(&cause, libc::EBUSY) && started.elapsed() < CLEARING_TIME => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(cause) if is(&cause, libc::EBUSY) => {
                return Err(OpenError::Busy {
                    name: format!("{}, queue {queue}", interface.name),
                });
            }
            Err(cause) if options.pieces && (is(&cause, libc::EINVAL) || is(&cause, libc::EOPNOTSUPP)) => {
                return Err(mtu_error(interface));
            }
            Err(cause) => return Err(system_error(interface, cause)),
        }
    }
}

/// Attaches the program the first way of `how` that the driver can.
fn attach(
    interface: &Interface,
    queues: u32,
    sockets: &Shares,
    how: &[Attachment],
) -> Result<(Redirect, Attachment), OpenError> {
    for &how in how {
        let all = sockets.iter().flatten().map(|(queue, socket)| (*queue, socket));
        match Redirect::attach(interface, queues, all, how) {
            Ok(redirect) => return Ok((redirect, how)),
            Err(error) if is(&error, libc::EOPNOTSUPP) => {}
            Err(error) => return Err(attach_error(interface, queues, error)),
        }
    }
    Err(OpenError::NoXdp {
        name: interface.name.clone(),
        driver: interface.driver(),
    })
}

fn attach_error(interface: &Interface, queues: u32, cause: io::Error) -> OpenError {
    let name = interface.name.clone();
    match cause.raw_os_error() {
        Some(libc::EBUSY | libc::EEXIST) => OpenError::XdpInUse { name },
        Some(libc::ERANGE) => mtu_error(interface),
        // The driver's word (veth) for a peer that sends by more queues than this end receives by.
        Some(libc::ENOSPC) => OpenError::QueuesOfPeer { name, queues },
        _ => system_error(interface, cause),
    }
}

fn is(error: &io::Error, number: i32) -> bool {
    error.raw_os_error() == Some(number)
}

fn mtu_error(interface: &Interface) -> OpenError {
    OpenError::MtuTooLarge {
        name: interface.name.clone(),
        mtu: interface.mtu(),
        longest: XdpSocket::room(LARGE_FRAME) - HEADERS,
    }
}

fn system_error(interface: &Interface, cause: io::Error) -> OpenError {
    // The kernel's word for locked memory over the limit, of processes without CAP_IPC_LOCK.
    if is(&cause, libc::ENOBUFS) {
        return OpenError::LockedMemory {
            name: interface.name.clone(),
        };
    }
    OpenError::from_system(format!("use AF_XDP on `{}`", interface.name), CAPABILITIES, cause)
}
