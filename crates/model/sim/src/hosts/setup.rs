//! From what a scenario says of hosts, flows and flow control to what is simulated.

use super::entries::{FlowEntry, HostEntry, PfcEntry, Transport};
use super::frames::Address;
use crate::numbers::{DELAYS_NS, SHARES, TIMES_US};
use crate::setup::{ChipSetup, Reader, picos};
use crate::suggestion::suggestion;
use forebay_chip::{Framing, LinkSpec, PfcConfig, Picos, Place};
use forebay_traffic::frame::parse_mac;
use std::net::Ipv4Addr;

/// Hosts and flows of a scenario: their wake-up calls have numbers of 16 bits.
const HOSTS_MAX: usize = 1_000;
const FLOWS_MAX: usize = 10_000;

/// Bytes of data in a packet.
const TCP_BYTES: u32 = 1_460;
const ROCE_BYTES: u32 = 1_024;
const SEGMENT_MAX: u32 = 9_000;

/// The least time-out may be so long, in microseconds: as short as a round trip beside a chip, as long as a second.
const RTO_SHORTEST_US: f64 = 1.0;
const RTO_LONGEST_US: f64 = 1e6;

/// A host at its port.
#[derive(Clone, Debug)]
pub(crate) struct HostSetup {
    pub(crate) place: Place,
    pub(crate) link: LinkSpec,
    pub(super) address: Address,
    pub(crate) name: String,
    /// The framing of its line.
    pub(super) framing: Framing,
}

/// A flow between two of them, by their indices.
#[derive(Clone, Debug)]
pub(crate) struct FlowSetup {
    pub(super) name: String,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) transport: Transport,
    pub(super) bytes: Option<u64>,
    pub(super) start: Picos,
    pub(super) segment_bytes: u32,
    pub(super) is_ecn_capable: bool,
    pub(super) bits_per_second: u64,
    /// The framing of its sender's line.
    pub(super) framing: Framing,
    pub(super) rto_min: Picos,
}

/// The hosts of a scenario.
pub(crate) fn hosts(entries: &[HostEntry], chips: &[ChipSetup], seed: u64, reader: &mut Reader<'_>) -> Vec<HostSetup> {
    let mut hosts: Vec<HostSetup> = Vec::new();
    for entry in entries {
        let Some(place) = reader.place(chips, entry.at.get_ref(), entry.at.span()) else {
            continue;
        };
        if hosts
            .iter()
            .any(|host| host.place == place || host.name == *entry.name.get_ref())
        {
            reader.wrong(entry.at.span(), "a port has one host, and a name is that of one host");
        } else if hosts.iter().any(|host| host.address.ipv4 == entry.address) {
            let message = format!("two hosts have the address {}", entry.address);
            reader.wrong_key(entry.at.span(), "address", message);
        }
        reader.name(&entry.name, "host");
        if let Some(kind) = kind_of_no_host(entry.address) {
            let message = format!("{} is {kind}, not the address of a host", entry.address);
            reader.wrong_key(entry.at.span(), "address", message);
        }
        if hosts.len() >= HOSTS_MAX {
            reader.wrong(entry.at.span(), format!("there are at most {HOSTS_MAX} hosts"));
            return hosts;
        }
        reader.within(entry.at.span(), "loss", entry.loss, SHARES);
        reader.within(entry.at.span(), "delay_ns", entry.delay_ns, DELAYS_NS);
        reader.wire_rate(entry.at.span(), entry.gbps);
        let spec = &chips[usize::from(place.chip)].spec;
        reader.port_rate(entry.at.span(), entry.gbps, spec);
        let of_port = chips[usize::from(place.chip)]
            .ports
            .iter()
            .find(|port| port.number == place.port);
        let port_rate = match of_port.map_or(0, |port| port.bits_per_second) {
            0 => spec.ports.bits_per_second,
            own => own,
        };
        let own_rate = (entry.gbps * 1e9) as u64;
        hosts.push(HostSetup {
            place,
            link: LinkSpec {
                bits_per_second: if own_rate == 0 { port_rate } else { own_rate },
                delay_ps: (entry.delay_ns * 1e3) as u64,
                loss: entry.loss,
                seed: seed.wrapping_add(HOST_SEEDS + hosts.len() as u64),
            },
            address: Address {
                ipv4: entry.address,
                mac: mac(entry, reader),
            },
            name: entry.name.get_ref().clone(),
            framing: spec.framing,
        });
    }
    hosts
}

/// Seeds of hosts' lines are not those of links and faults.
const HOST_SEEDS: u64 = 1 << 33;

fn mac(entry: &HostEntry, reader: &mut Reader<'_>) -> [u8; 6] {
    let [a, b, c, d] = entry.address.octets();
    let Some(written) = &entry.mac else {
        return [2, 0, a, b, c, d];
    };
    match parse_mac(written.get_ref()) {
        Some(mac) if mac[0] & GROUP == 0 => mac,
        Some(_) => {
            let message = format!("{} is a group address, not the address of a host", written.get_ref());
            reader.wrong(written.span(), message);
            [0; 6]
        }
        None => {
            let message = format!("{:?} is no MAC address, as in \"02:00:00:00:00:01\"", written.get_ref());
            reader.wrong(written.span(), message);
            [0; 6]
        }
    }
}

/// The bit of a MAC address's first byte that makes it one of a group, broadcast included.
const GROUP: u8 = 1;

/// What an address is that no host can have.
fn kind_of_no_host(address: Ipv4Addr) -> Option<&'static str> {
    let kinds = [
        (address.is_unspecified(), "the unspecified address"),
        (address.is_multicast(), "a multicast address"),
        (address.is_broadcast(), "the broadcast address"),
    ];
    kinds.iter().find(|(is_kind, _)| *is_kind).map(|(_, kind)| *kind)
}

/// The flows of a scenario.
pub(crate) fn flows(
    entries: &[FlowEntry],
    (hosts, host_entries): (&[HostSetup], &[HostEntry]),
    reader: &mut Reader<'_>,
) -> Vec<FlowSetup> {
    let mut flows: Vec<FlowSetup> = Vec::new();
    for entry in entries {
        let mut host = |name: &toml::Spanned<String>| {
            let found = hosts.iter().position(|host| host.name == *name.get_ref());
            // What is wrong with a host was said at the host.
            let is_there = host_entries.iter().any(|host| host.name.get_ref() == name.get_ref());
            if found.is_none() && !is_there {
                let names = host_entries.iter().map(|host| host.name.get_ref().as_str());
                let message = format!(
                    "there is no host {:?}{}",
                    name.get_ref(),
                    suggestion(name.get_ref(), names)
                );
                reader.wrong(name.span(), message);
            }
            found
        };
        let (Some(from), Some(to)) = (host(&entry.from), host(&entry.to)) else {
            continue;
        };
        if flows.iter().any(|flow| flow.name == *entry.name.get_ref()) {
            reader.wrong(
                entry.name.span(),
                format!("there are two flows {:?}", entry.name.get_ref()),
            );
        }
        flows.push(flow(entry, (from, hosts[from].framing), to, reader));
    }
    if let Some(beyond) = entries.get(FLOWS_MAX) {
        reader.wrong(beyond.name.span(), format!("there are at most {FLOWS_MAX} flows"));
    }
    flows
}

fn flow(entry: &FlowEntry, (from, framing): (usize, Framing), to: usize, reader: &mut Reader<'_>) -> FlowSetup {
    let is_roce = entry.transport == Transport::Roce;
    let usual = if is_roce { ROCE_BYTES } else { TCP_BYTES };
    let segment_bytes = entry.segment_bytes.as_ref().map_or(usual, |bytes| *bytes.get_ref());
    let near = entry.name.span();
    reader.name(&entry.name, "flow");
    reader.within(
        near.clone(),
        "segment_bytes",
        segment_bytes.into(),
        1.0..=SEGMENT_MAX.into(),
    );
    if entry.bytes == Some(0) {
        let message = "bytes is 0; a flow has at least a byte, or no end when the key is not there";
        reader.wrong_key(near.clone(), "bytes", message);
    }
    if from == to {
        reader.wrong(entry.to.span(), "a flow is between two hosts");
    }
    reader.within(near.clone(), "start_us", entry.start_us, TIMES_US);
    reader.wire_rate(near.clone(), entry.gbps);
    if entry.gbps != 0.0 && !is_roce {
        let message = format!(
            "gbps is the rate of a roce sender; a {} sender sends what its window lets it, at the rate of its host's line",
            entry.transport.name()
        );
        reader.wrong_key(near.clone(), "gbps", message);
    }
    reader.within(near, "rto_min_us", entry.rto_min_us, RTO_SHORTEST_US..=RTO_LONGEST_US);
    FlowSetup {
        name: entry.name.get_ref().clone(),
        from,
        to,
        transport: entry.transport,
        bytes: entry.bytes,
        start: picos(entry.start_us),
        segment_bytes,
        is_ecn_capable: entry.ecn || entry.transport == Transport::Dctcp,
        bits_per_second: (entry.gbps * 1e9) as u64,
        framing,
        rto_min: picos(entry.rto_min_us),
    }
}

/// Flow control of a chip.
pub(crate) fn pfc(entry: &PfcEntry, reader: &mut Reader<'_>) -> PfcConfig {
    let queues = entry.queues.get_ref();
    if queues.iter().any(|queue| *queue > 7) {
        reader.wrong(entry.queues.span(), "queues of [chip.pfc] are 0 to 7");
    } else if queues.is_empty() {
        let message = "queues of [chip.pfc] is empty; name those whose packets are not to be lost";
        reader.wrong(entry.queues.span(), message);
    }
    let above = *entry.pause_above_bytes.get_ref();
    if entry.resume_below_bytes > above {
        reader.wrong_key(
            entry.pause_above_bytes.span(),
            "resume_below_bytes",
            "resume_below_bytes is at most pause_above_bytes",
        );
    }
    PfcConfig {
        queues: queues.iter().fold(0, |all, queue| all | 1 << (queue & 7)),
        pause_above_bytes: above,
        resume_below_bytes: entry.resume_below_bytes,
        headroom_bytes: entry.headroom_bytes,
    }
}
