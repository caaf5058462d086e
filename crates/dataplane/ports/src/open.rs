//! Opening what a [`PortSpec`] describes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use forebay_dpdk::DpdkOptions;
use forebay_packet::{MemoryPort, Port, TimerPort};

use crate::choose::{self, Means, PresentMeans};
use crate::memif;
use crate::returning::Returning;
use crate::vhost;
use crate::{Merge, OpenError, Pace, PcapPort, PortKind, PortSpec, TapPort, primary_name};

/// How many packets each direction of a memory or loopback port holds.
pub const MEMORY_QUEUE_PACKETS: usize = 4096;

/// Threads that open or close interfaces. The kernel lets each wait for all processors, once or several times.
const THREADS: usize = 16;

/// A port that was opened.
pub struct OpenedPort {
    /// The number by which the P4 program knows it.
    pub number: u32,
    /// The port.
    pub port: Box<dyn Port>,
    /// The other end of a memory port, by which the caller feeds it; `None` for other kinds.
    pub far_end: Option<MemoryPort>,
    /// How it carries packets.
    pub means: PresentMeans,
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
    let (port, means): Opened = match &spec.kind {
        PortKind::Interface { .. } | PortKind::Xdp { .. } | PortKind::Packet { .. } | PortKind::Tap { .. } => {
            let Shares { mut ports, means } = open_returning(&spec.kind, 1, options)?;
            return Ok(opened(spec, ports.remove(0), means));
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
        far_end,
        ..opened(spec, port, PresentMeans::new(means))
    })
}

/// A port without another end in this process.
fn opened(spec: &PortSpec, port: Box<dyn Port>, means: PresentMeans) -> OpenedPort {
    OpenedPort {
        number: spec.number,
        port,
        far_end: None,
        means,
    }
}

/// Opens a device of DPDK as at most `count` ports.
fn open_dpdk(options: &DpdkOptions, count: usize) -> Result<Vec<Box<dyn Port>>, OpenError> {
    forebay_dpdk::open(options, count).map_err(OpenError::Dpdk)
}

/// A port with how it carries packets.
type Opened = (Box<dyn Port>, Means);

/// Ports that share what comes in by one way.
struct Shares {
    ports: Vec<Box<dyn Port>>,
    means: PresentMeans,
}

impl Shares {
    /// Of ports that carry packets by these means as long as they are there.
    fn of(ports: impl IntoIterator<Item = Box<dyn Port>>, means: Means) -> Shares {
        Shares {
            ports: ports.into_iter().collect(),
            means: PresentMeans::new(means),
        }
    }
}

/// Opens an interface as `count` ports that outlive it.
fn open_returning(kind: &PortKind, count: usize, options: &OpenOptions) -> Result<Shares, OpenError> {
    let (ports, means) = open_together(kind, count, options)?;
    let means = PresentMeans::new(means);
    let (PortKind::Interface { interface }
    | PortKind::Xdp { interface, .. }
    | PortKind::Packet { interface, .. }
    | PortKind::Tap { interface }) = kind
    else {
        unreachable!("files and memory are no interfaces")
    };
    let (kind, options, present) = (kind.clone(), *options, means.clone());
    let open_again = move || {
        let (ports, means) = open_together(&kind, count, &options)?;
        // It may have got an address meanwhile, or another driver.
        present.set(means);
        Ok(ports)
    };
    let ports = Returning::shares(interface, ports, open_again);
    let ports = ports.into_iter().map(|port| -> Box<dyn Port> { Box::new(port) });
    Ok(Shares {
        ports: ports.collect(),
        means,
    })
}

/// Opens an interface of the system as `count` ports, which carry packets by the same means.
fn open_together(
    kind: &PortKind,
    count: usize,
    options: &OpenOptions,
) -> Result<(Vec<Box<dyn Port>>, Means), OpenError> {
    let (ports, means): (Vec<_>, Vec<_>) = open_interface(kind, count, options)?.into_iter().unzip();
    let means = means.into_iter().next().expect("at least one port was opened");
    Ok((ports, means))
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
    let means = PresentMeans::new(Means::of("pcap", "capture files"));
    Ok(vec![opened(spec, Box::new(port.merged(merge)), means)])
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
    let shares = match &spec.kind {
        _ if count < 2 => return open(spec, options).map(|opened| vec![opened]),
        PortKind::Interface { .. }
        | PortKind::Xdp { queue: None, .. }
        | PortKind::Packet { .. }
        | PortKind::Tap { .. } => match open_returning(&spec.kind, count, options) {
            Err(OpenError::TooFewQueues { .. }) => return open(spec, options).map(|opened| vec![opened]),
            shares => shares?,
        },
        PortKind::Memif(memif) if memif.queues >= count => {
            let ports = memif::open(memif, count, options)?.into_iter();
            Shares::of(
                ports.map(|port| -> Box<dyn Port> { Box::new(port) }),
                Means::memif(memif),
            )
        }
        PortKind::Vhost(vhost) if vhost.queues >= count => {
            let ports = vhost::open(vhost, count, options)?.into_iter();
            Shares::of(
                ports.map(|port| -> Box<dyn Port> { Box::new(port) }),
                Means::vhost(vhost),
            )
        }
        PortKind::Dpdk(dpdk) => {
            let ports = open_dpdk(dpdk, count)?;
            if (2..count).contains(&ports.len()) {
                // Each thread has a share, or one of them has the whole.
                drop(ports);
                return open(spec, options).map(|opened| vec![opened]);
            }
            Shares::of(ports, Means::dpdk(dpdk))
        }
        _ => return open(spec, options).map(|opened| vec![opened]),
    };
    let Shares { ports, means } = shares;
    let numbered = ports.into_iter().map(|port| opened(spec, port, means.clone()));
    Ok(numbered.collect())
}

/// Opens ports as [`open_beside`] does, and returns them in their order. Interfaces are opened at the same time, since
/// opening one is mostly waiting; capture files last, since those that are written are emptied.
///
/// # Errors
/// Of a port that cannot be opened, with its place among `specs`. No port is open then.
pub fn open_all(
    specs: &[PortSpec],
    count: usize,
    options: &OpenOptions,
    merge: &Merge,
) -> Result<Vec<OpenedPort>, (usize, OpenError)> {
    check_names(specs)?;
    let (interfaces, mut others): (Vec<usize>, Vec<usize>) =
        (0..specs.len()).partition(|place| is_of_system(&specs[*place]));
    others.sort_by_key(|place| matches!(specs[*place].kind, PortKind::Pcap { .. }));
    let places: Vec<_> = specs.iter().map(|_| Mutex::new(None)).collect();
    let open_at = |place: usize| {
        let opened = open_beside(&specs[place], count, options, merge);
        let is_open = opened.is_ok();
        *places[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        is_open
    };
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    in_threads(interfaces.len(), || {
        while !has_failed.load(Ordering::Relaxed)
            && let Some(place) = interfaces.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if !open_at(*place) {
                has_failed.store(true, Ordering::Relaxed);
            }
        }
    });
    if !has_failed.load(Ordering::Relaxed) {
        // Their order matters where their packets are merged.
        let _ = others.into_iter().all(open_at);
    }
    let mut all = Vec::new();
    for (place, opened) in places.into_iter().enumerate() {
        match opened.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(opened)) => all.extend(opened),
            Some(Err(error)) => return Err((place, error)),
            None => {}
        }
    }
    Ok(all)
}

/// Refuses two ports over one interface that has several names: each frame would come by both.
fn check_names(specs: &[PortSpec]) -> Result<(), (usize, OpenError)> {
    let mut names: Vec<(String, &str)> = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        let Some((name, primary)) = spec.interface().and_then(|name| Some((name, primary_name(name)?))) else {
            continue;
        };
        let is_other = |(own, given): &&(String, &str)| *own == primary && *given != name;
        if let Some((_, other)) = names.iter().find(is_other) {
            let (name, other) = (name.to_owned(), (*other).to_owned());
            return Err((place, OpenError::SameInterface { name, other }));
        }
        names.push((primary, name));
    }
    Ok(())
}

/// Closes ports at the same time, since closing an interface is mostly waiting.
pub fn close_all(ports: Vec<Box<dyn Port>>) {
    let (count, ports) = (ports.len(), Mutex::new(ports));
    let next = || ports.lock().unwrap_or_else(PoisonError::into_inner).pop();
    in_threads(count, || while next().is_some() {});
}

/// Whether a port stands on an interface of the system.
fn is_of_system(spec: &PortSpec) -> bool {
    matches!(
        spec.kind,
        PortKind::Interface { .. } | PortKind::Xdp { .. } | PortKind::Packet { .. } | PortKind::Tap { .. }
    )
}

/// Runs `work` in several threads, at most one for each piece of work. Each call takes pieces until none is left.
fn in_threads(pieces: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 1..pieces.min(THREADS) {
            // Without a thread it takes longer.
            let _ = thread::Builder::new()
                .name("ports".to_owned())
                .spawn_scoped(scope, &work);
        }
        work();
    });
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
    fn ports_are_opened_in_their_order() {
        let specs = |texts: &[&str]| PortSpec::parse_all(texts.iter().copied()).expect("correct texts");
        let open = |texts: &[&str]| open_all(&specs(texts), 1, &OpenOptions::default(), &Merge::default());
        let opened = open(&["5@mem:", "1@loopback:", "3@timer:1ms,1"]).map_err(|(_, error)| error);
        let numbers: Vec<u32> = opened
            .expect("they are always there")
            .iter()
            .map(|port| port.number)
            .collect();
        assert_eq!(numbers, [5, 1, 3]);
        let Err((place, error)) = open(&["1@mem:", "2@nowhere0", "3@mem:", "4@nowhere1"]) else {
            panic!("there are no such interfaces")
        };
        assert_eq!(place, 1, "{error}");
    }

    #[test]
    fn no_file_is_emptied_for_a_port_that_cannot_be_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = folder.path().join("kept.pcap").display().to_string();
        std::fs::write(&kept, "content").expect("a folder");
        for wrong in ["2@nowhere0", "2@vhost:/nonexistent/socket"] {
            let texts = [format!("1@pcap:,{kept}"), wrong.to_owned()];
            let specs = PortSpec::parse_all(texts.iter().map(String::as_str)).expect("correct texts");
            let Err((place, error)) = open_all(&specs, 1, &OpenOptions::default(), &Merge::default()) else {
                panic!("it cannot be opened")
            };
            assert_eq!(place, 1, "{error}");
            assert_eq!(std::fs::read(&kept).expect("it is there"), b"content");
        }
    }

    #[test]
    fn a_missing_file_says_so() {
        let Err(error) = open_text("0@pcap:/nonexistent/in.pcap") else {
            panic!("no such file")
        };
        assert!(error.to_string().starts_with("cannot read `/nonexistent/in.pcap`: "));
    }
}
