//! Opening what a [`PortSpec`] describes.

use forebay_dpdk::DpdkOptions;
use forebay_packet::{MemoryPort, Port, TimerPort};

use crate::choose::{self, Means};
use crate::memif;
use crate::returning::Returning;
use crate::vhost;
use crate::{Merge, OpenError, Pace, PcapPort, PortKind, PortSpec, TapPort};

/// How many packets each direction of a memory or loopback port holds.
pub const MEMORY_QUEUE_PACKETS: usize = 4096;

/// A port that was opened.
pub struct OpenedPort {
    /// The number by which the P4 program knows it.
    pub number: u32,
    /// The port.
    pub port: Box<dyn Port>,
    /// The other end of a memory port, by which the caller feeds it; `None` for other kinds.
    pub far_end: Option<MemoryPort>,
    /// How it carries packets.
    pub means: Means,
}

/// How ports are to be opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The ports will be asked for packets again and again without waiting. Drivers then work when they are asked, on
    /// the asking processor, in place of interrupts, where they can (AF_XDP). For veth, whose other end works as long
    /// as it is not told otherwise:
    /// `echo 2 > /sys/class/net/NAME/napi_defer_hard_irqs; echo 200000 > /sys/class/net/NAME/gro_flush_timeout`.
    pub busy_poll: bool,
    /// Open an interface that is held by another AF_XDP program all the same, through a packet socket, which gets
    /// nothing of what that program takes. Concerns interfaces of which only the name is given.
    pub force: bool,
}

/// Opens a port. One over an interface outlives it: when an interface of the same name is there again, it is opened
/// again.
///
/// # Errors
/// When the interface or file is missing, busy, of the wrong sort or not permitted.
pub fn open(spec: &PortSpec, options: &OpenOptions) -> Result<OpenedPort, OpenError> {
    let mut far_end = None;
    let (port, means): (Box<dyn Port>, Means) = match &spec.kind {
        PortKind::Interface { .. } | PortKind::Xdp { .. } | PortKind::Packet { .. } | PortKind::Tap { .. } => {
            open_returning(&spec.kind, 1, options)?.remove(0)
        }
        PortKind::Memif(memif) => {
            let port = memif::open(memif, 1, options)?.remove(0);
            (Box::new(port), Means::memif(memif))
        }
        PortKind::Vhost(vhost) => {
            let port = vhost::open(vhost, 1, options)?.remove(0);
            (Box::new(port), Means::vhost(vhost))
        }
        PortKind::Dpdk(dpdk) => (open_dpdk(dpdk, 1)?.remove(0), Means::dpdk(dpdk)),
        PortKind::Pcap { input, output, pace } => {
            let port = PcapPort::open(input.as_deref(), output.as_deref(), *pace)?;
            (Box::new(port), Means::of("pcap", "capture files"))
        }
        PortKind::Memory { name } => {
            let name = if name.is_empty() {
                format!("mem{}", spec.number)
            } else {
                name.clone()
            };
            let outside = format!("{name} (outside)");
            let (port, outside) = MemoryPort::pair(&name, &outside, MEMORY_QUEUE_PACKETS);
            far_end = Some(outside);
            (Box::new(port), Means::of("mem", "memory"))
        }
        PortKind::Loopback => {
            let name = format!("loopback{}", spec.number);
            let port = MemoryPort::loopback(&name, MEMORY_QUEUE_PACKETS);
            (Box::new(port), Means::of("loopback", "memory"))
        }
        PortKind::Timer { interval_ns, packets } => {
            let port = TimerPort::new(&format!("timer{}", spec.number), *interval_ns, *packets);
            (Box::new(port), Means::of("timer", "clock"))
        }
    };
    Ok(OpenedPort {
        number: spec.number,
        port,
        far_end,
        means,
    })
}

/// Opens a device of DPDK as at most `count` ports.
fn open_dpdk(options: &DpdkOptions, count: usize) -> Result<Vec<Box<dyn Port>>, OpenError> {
    forebay_dpdk::open(options, count).map_err(OpenError::Dpdk)
}

/// A port with how it carries packets.
type Opened = (Box<dyn Port>, Means);

/// Opens an interface as `count` ports that outlive it.
fn open_returning(kind: &PortKind, count: usize, options: &OpenOptions) -> Result<Vec<Opened>, OpenError> {
    let (ports, means): (Vec<_>, Vec<_>) = open_interface(kind, count, options)?.into_iter().unzip();
    let (PortKind::Interface { interface }
    | PortKind::Xdp { interface, .. }
    | PortKind::Packet { interface, .. }
    | PortKind::Tap { interface }) = kind
    else {
        unreachable!("files and memory are no interfaces")
    };
    let (kind, options) = (kind.clone(), *options);
    let open_again = move || {
        let opened = open_interface(&kind, count, &options)?;
        Ok(opened.into_iter().map(|(port, _)| port).collect())
    };
    let ports = Returning::shares(interface, ports, open_again).into_iter();
    Ok(ports
        .zip(means)
        .map(|(port, means)| -> Opened { (Box::new(port), means) })
        .collect())
}

/// Opens an interface of the system as `count` ports.
fn open_interface(kind: &PortKind, count: usize, options: &OpenOptions) -> Result<Vec<Opened>, OpenError> {
    match kind {
        PortKind::Interface { interface } if count > 1 => choose::open_fastest_shares(interface, count, options),
        PortKind::Xdp { interface, queue: None } if count > 1 => choose::open_xdp_shares(interface, count, options),
        PortKind::Packet { interface, is_shared } if count > 1 => {
            choose::open_packet_shares(interface, count, *is_shared)
        }
        PortKind::Tap { interface } if count > 1 => choose::open_tap_shares(interface, count),
        PortKind::Interface { interface } => Ok(vec![choose::open_fastest(interface, options)?]),
        PortKind::Xdp { interface, queue } => Ok(vec![choose::open_xdp(interface, *queue, options)?]),
        PortKind::Packet { interface, is_shared } => Ok(choose::open_packet_shares(interface, 1, *is_shared)?),
        PortKind::Tap { interface } => Ok(vec![(Box::new(TapPort::open(interface)?), Means::tap())]),
        _ => unreachable!("files and memory are no interfaces"),
    }
}

/// Opens a port as [`open_shares`] does. Capture files of [`Pace::Merged`] are read as one with the others of `merge`.
///
/// # Errors
/// As for [`open`].
pub fn open_beside(
    spec: &PortSpec,
    count: usize,
    options: &OpenOptions,
    merge: &Merge,
) -> Result<Vec<OpenedPort>, OpenError> {
    let PortKind::Pcap {
        input,
        output,
        pace: Pace::Merged,
    } = &spec.kind
    else {
        return open_shares(spec, count, options);
    };
    let port = PcapPort::open(input.as_deref(), output.as_deref(), Pace::Merged)?;
    Ok(vec![OpenedPort {
        number: spec.number,
        port: Box::new(port.merged(merge)),
        far_end: None,
        means: Means::of("pcap", "capture files"),
    }])
}

/// Opens a port as `count` ports for as many threads, or as one where it cannot be divided. The kernel, the network
/// card or the peer gives each its share of what comes in, the packets of a flow always to the same; each sends by
/// itself.
///
/// AF_XDP ports share the interface's receive queues, memif and vhost-user ports those of the connection, and ports of
/// DPDK those of the device: where there are fewer than `count`, there is one port. A name alone is opened as packet
/// sockets then, which the kernel divides by flows. Files, memory and clocks are one port.
///
/// # Errors
/// As for [`open`].
pub fn open_shares(spec: &PortSpec, count: usize, options: &OpenOptions) -> Result<Vec<OpenedPort>, OpenError> {
    let opened: Vec<Opened> = match &spec.kind {
        _ if count < 2 => return open(spec, options).map(|opened| vec![opened]),
        PortKind::Interface { .. }
        | PortKind::Xdp { queue: None, .. }
        | PortKind::Packet { .. }
        | PortKind::Tap { .. } => match open_returning(&spec.kind, count, options) {
            Err(OpenError::TooFewQueues { .. }) => return open(spec, options).map(|opened| vec![opened]),
            opened => opened?,
        },
        PortKind::Memif(memif) if memif.queues >= count => {
            let ports = memif::open(memif, count, options)?;
            let described = |port| -> Opened { (Box::new(port), Means::memif(memif)) };
            ports.into_iter().map(described).collect()
        }
        PortKind::Vhost(vhost) if vhost.queues >= count => {
            let ports = vhost::open(vhost, count, options)?;
            let described = |port| -> Opened { (Box::new(port), Means::vhost(vhost)) };
            ports.into_iter().map(described).collect()
        }
        PortKind::Dpdk(dpdk) => {
            let ports = open_dpdk(dpdk, count)?;
            if (2..count).contains(&ports.len()) {
                // Each thread has a share, or one of them has the whole.
                drop(ports);
                return open(spec, options).map(|opened| vec![opened]);
            }
            ports.into_iter().map(|port| (port, Means::dpdk(dpdk))).collect()
        }
        _ => return open(spec, options).map(|opened| vec![opened]),
    };
    let number = spec.number;
    let numbered = opened.into_iter().map(|(port, means)| OpenedPort {
        number,
        port,
        far_end: None,
        means,
    });
    Ok(numbered.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_text(text: &str) -> Result<OpenedPort, OpenError> {
        open(&PortSpec::parse(text).expect("a correct text"), &OpenOptions::default())
    }

    #[test]
    fn memory_ports_come_with_their_far_end() {
        let mut opened = open_text("4@mem:").expect("memory is always there");
        let mut outside = opened.far_end.take().expect("a memory port has a far end");
        outside.inject(&[1; 60]);
        let mut burst = forebay_packet::Burst::default();
        assert_eq!(opened.port.receive(&mut burst, 32, 0), Ok(1));
        assert_eq!((opened.number, opened.port.name()), (4, "mem4"));
    }

    #[test]
    fn a_missing_file_says_so() {
        let Err(error) = open_text("0@pcap:/nonexistent/in.pcap") else {
            panic!("no such file")
        };
        assert!(error.to_string().starts_with("cannot read `/nonexistent/in.pcap`: "));
    }
}
