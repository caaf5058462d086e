//! Which way to open an interface whose user did not say, and why.
//!
//! The order is by speed, measured (`docs/ports.md`): AF_XDP with the program in the driver, then packet sockets.
//! AF_XDP through the kernel's stack (generic) is never chosen: it is not faster than a packet socket on every machine,
//! and loses the super-frames of local senders. Nor is AF_XDP chosen for an interface with an address, which the kernel
//! could not answer for any more, for a member of a bridge or the parent of a VLAN's interface, which would get no
//! frames of it, or for a TAP device or a bond, whose drivers run programs, but lose frames then.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_dpdk::DpdkOptions;
use forebay_packet::Port;

use crate::interfaces::Interface;
use crate::memif::{MemifOptions, MemifRole};
use crate::vhost::{VhostMode, VhostOptions};
use crate::{OpenError, OpenOptions, PacketPort, TapPort, XdpPort};

/// How a port carries packets, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Means {
    /// The kind of port, as in [`PortSpec`](crate::PortSpec).
    pub kind: &'static str,
    /// What does it, and in which mode.
    pub detail: String,
    /// Why this kind was chosen, when the user did not say which.
    pub reason: Option<String>,
}

impl Means {
    pub(crate) fn of(kind: &'static str, detail: &str) -> Means {
        Means {
            kind,
            detail: detail.to_owned(),
            reason: None,
        }
    }

    pub(crate) fn packet(is_shared: bool) -> Means {
        if is_shared {
            Means::of("shared", "AF_PACKET socket, shared with other programs")
        } else {
            Means::of("packet", "AF_PACKET socket")
        }
    }

    pub(crate) fn tap() -> Means {
        Means::of("tap", "TAP device")
    }

    pub(crate) fn memif(options: &MemifOptions) -> Means {
        let does = match options.role {
            MemifRole::Server => "listens at",
            MemifRole::Client => "connects to",
        };
        Means::of("memif", &format!("memif, {does} {}", options.path))
    }

    pub(crate) fn vhost(options: &VhostOptions) -> Means {
        let does = match options.mode {
            VhostMode::Server => "listens at",
            VhostMode::Client => "connects to",
        };
        Means::of("vhost", &format!("vhost-user, {does} {}", options.path))
    }

    pub(crate) fn dpdk(options: &DpdkOptions) -> Means {
        Means::of("dpdk", &format!("DPDK, {}", options.name()))
    }

    /// Whether it leads out of this process.
    pub fn is_interface(&self) -> bool {
        matches!(
            self.kind,
            "xdp" | "packet" | "shared" | "tap" | "memif" | "vhost" | "dpdk"
        )
    }

    /// A port by AF_XDP. `queues` are those of the interface, which several ports may share.
    fn xdp(port: &XdpPort, queues: usize) -> Means {
        let program = if port.is_native() { "native" } else { "generic" };
        let copies = if port.is_zero_copy() { "zero-copy" } else { "copy mode" };
        let queues = match queues {
            1 => "1 queue".to_owned(),
            several => format!("{several} queues"),
        };
        Means::of("xdp", &format!("AF_XDP, {program}, {copies}, {queues}"))
    }

    fn because(self, reason: impl Into<String>) -> Means {
        Means {
            reason: Some(reason.into()),
            ..self
        }
    }
}

impl fmt::Display for Means {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.detail)?;
        match &self.reason {
            Some(reason) => write!(formatter, " ({reason})"),
            None => Ok(()),
        }
    }
}

/// How a port carries packets now. An interface that has been away may be opened in another way than before.
#[derive(Debug, Clone)]
pub struct PresentMeans(Arc<Mutex<Means>>);

impl PresentMeans {
    pub(crate) fn new(means: Means) -> PresentMeans {
        PresentMeans(Arc::new(Mutex::new(means)))
    }

    /// How it carries packets now; while its interface is away, how it did before.
    pub fn now(&self) -> Means {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, means: Means) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = means;
    }
}

impl fmt::Display for PresentMeans {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(formatter)
    }
}

/// A port with how it carries packets.
type Opened = (Box<dyn Port>, Means);

/// Opens an interface through AF_XDP.
pub(crate) fn open_xdp(interface: &str, queue: Option<u32>, options: &OpenOptions) -> Result<Opened, OpenError> {
    XdpPort::open(interface, queue, options).map(described)
}

/// Opens an interface through AF_XDP for several threads.
pub(crate) fn open_xdp_shares(interface: &str, count: usize, options: &OpenOptions) -> Result<Vec<Opened>, OpenError> {
    XdpPort::open_shares(interface, count, options).map(described_shares)
}

/// Opens an interface through packet sockets as `count` ports, one for each thread.
pub(crate) fn open_packet_shares(interface: &str, count: usize, is_shared: bool) -> Result<Vec<Opened>, OpenError> {
    let ports = match count {
        0 | 1 => vec![PacketPort::open(interface, is_shared)?],
        _ => PacketPort::open_shares(interface, count, is_shared)?,
    };
    let describe = |port| -> Opened { (Box::new(port), Means::packet(is_shared)) };
    Ok(ports.into_iter().map(describe).collect())
}

/// Makes a TAP device with several queues for as many threads.
pub(crate) fn open_tap_shares(interface: &str, count: usize) -> Result<Vec<Opened>, OpenError> {
    let ports = TapPort::open_shares(interface, count)?;
    let describe = |port| -> Opened { (Box::new(port), Means::tap()) };
    Ok(ports.into_iter().map(describe).collect())
}

fn described(port: XdpPort) -> Opened {
    let means = Means::xdp(&port, port.queues());
    (Box::new(port), means)
}

fn described_shares(ports: Vec<XdpPort>) -> Vec<Opened> {
    let queues = ports.iter().map(XdpPort::queues).sum();
    let described = |port| -> Opened {
        let means = Means::xdp(&port, queues);
        (Box::new(port), means)
    };
    ports.into_iter().map(described).collect()
}

/// Opens an interface the fastest way that it supports.
pub(crate) fn open_fastest(name: &str, options: &OpenOptions) -> Result<Opened, OpenError> {
    fastest(
        name,
        || XdpPort::open_native(name, options).map(described),
        || Ok(open_packet_shares(name, 1, false)?.remove(0)),
        |(port, means), reason| (port, means.because(reason)),
        options.force,
    )
}

/// Opens an interface the fastest way that it supports for several threads.
pub(crate) fn open_fastest_shares(name: &str, count: usize, options: &OpenOptions) -> Result<Vec<Opened>, OpenError> {
    let because = |ports: Vec<Opened>, reason: String| {
        let because = |(port, means): Opened| (port, means.because(reason.clone()));
        ports.into_iter().map(because).collect()
    };
    fastest(
        name,
        || XdpPort::open_native_shares(name, count, options).map(described_shares),
        || open_packet_shares(name, count, false),
        because,
        options.force,
    )
}

/// Tries AF_XDP where nothing speaks against it, and then packet sockets; notes why. An interface that another AF_XDP
/// program holds brings nothing to a packet socket: that is an error unless it is forced.
fn fastest<T>(
    name: &str,
    open_xdp: impl FnOnce() -> Result<T, OpenError>,
    open_packet: impl FnOnce() -> Result<T, OpenError>,
    because: impl FnOnce(T, String) -> T,
    force: bool,
) -> Result<T, OpenError> {
    let interface = Interface::find(name)?;
    let obstacle = match obstacle(&interface) {
        Some(obstacle) => obstacle,
        None => match open_xdp() {
            Ok(opened) => {
                let driver = interface.driver().unwrap_or_else(|| "unknown".to_owned());
                return Ok(because(
                    opened,
                    format!("the fastest; the driver {driver} runs XDP programs"),
                ));
            }
            Err(error) => match holder(&error) {
                Some(holder) if !force => {
                    let name = name.to_owned();
                    return Err(OpenError::Held { name, holder });
                }
                _ => format!("not AF_XDP: {error}"),
            },
        },
    };
    open_packet().map(|opened| because(opened, obstacle))
}

/// What holds an interface that AF_XDP could not be opened on.
fn holder(error: &OpenError) -> Option<&'static str> {
    match error {
        OpenError::Busy { .. } => Some("an AF_XDP socket of another program (another `forebay run`?)"),
        OpenError::XdpInUse { .. } => Some("another XDP program"),
        _ => None,
    }
}

/// Why an interface should not be opened through AF_XDP.
fn obstacle(interface: &Interface) -> Option<String> {
    let name = &interface.name;
    if let Some(need) = interface.kernel_need() {
        return Some(format!(
            "{need}, so the kernel needs its frames too; xdp:{name} would take them"
        ));
    }
    obstacle_of_driver(&interface.driver()?, name)
}

/// Why interfaces of some drivers should not be, though these run XDP programs.
fn obstacle_of_driver(driver: &str, name: &str) -> Option<String> {
    match driver {
        // Virtual machines, for example, go on to send super-frames when a program is attached.
        "tun" => Some(format!(
            "it is a TAP device, whose other end may send super-frames of TCP; xdp:{name} would drop them"
        )),
        // The kernel gives a socket only what comes by the interface that it is bound to.
        "bonding" => Some(format!(
            "it is a bond, and its frames come by its members; xdp:{name} would get none of them"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_in_print() {
        let means = Means::of("packet", "AF_PACKET socket");
        assert_eq!(means.to_string(), "AF_PACKET socket");
        assert!(means.is_interface() && Means::packet(true).is_interface());
        let means = means.because("the driver cannot");
        assert_eq!(means.to_string(), "AF_PACKET socket (the driver cannot)");
    }

    #[test]
    fn drivers_that_lose_frames_are_not_chosen() {
        let reason = |driver: &str| obstacle_of_driver(driver, "x0");
        assert!(reason("tun").is_some_and(|reason| reason.contains("super-frames")));
        assert!(reason("bonding").is_some_and(|reason| reason.contains("members")));
        assert_eq!(reason("veth"), None);
    }
}
