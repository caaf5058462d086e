//! What is at the ends of wires: mistakes that a network would carry out without a word.

use crate::setup::{Reader, Setup};
use forebay_chip::Place;
use std::collections::BTreeSet;

/// Looks at links, hosts, faults and traffic by port.
pub(crate) fn check(setup: &Setup, reader: &mut Reader<'_>) {
    links(setup, reader);
    hosts(setup, reader);
    traffic(setup, reader);
    faults(setup, reader);
    if !reader.is_cosimulation {
        chips(setup, reader);
    }
}

/// A link joins two ports; a port whose frames come back is a loopback port.
fn links(setup: &Setup, reader: &mut Reader<'_>) {
    for (index, (connection, entry)) in setup.connections.iter().zip(&setup.scenario.link).enumerate() {
        let is_second = setup.connections[..index]
            .iter()
            .any(|before| before.from == connection.from);
        if let Some(taken) = taken(setup, connection.from).or(is_second.then_some("has a link")) {
            let port = entry.from.get_ref();
            reader.wrong(
                entry.from.span(),
                format!("{port} {taken} already; a port has one wire"),
            );
        }
        let is_second = setup.connections[..index]
            .iter()
            .any(|before| before.to == connection.to);
        if let Some(taken) = taken(setup, connection.to).or(is_second.then_some("is at the end of a link")) {
            let port = entry.to.get_ref();
            reader.wrong(entry.to.span(), format!("{port} {taken} already; a port has one wire"));
        }
        if connection.from == connection.to {
            let port = entry.to.get_ref();
            reader.wrong(
                entry.to.span(),
                format!(
                    "a link leads from {port} to another port; loopback = true of a [[chip.port]] makes it lead back"
                ),
            );
        }
    }
}

/// Where the wire of a port leads beside its links.
fn taken(setup: &Setup, place: Place) -> Option<&'static str> {
    if is_loopback(setup, place) {
        return Some("is a loopback port");
    }
    setup
        .hosts
        .iter()
        .any(|host| host.place == place)
        .then_some("has a host")
}

fn is_loopback(setup: &Setup, place: Place) -> bool {
    let ports = &setup.chips[usize::from(place.chip)].ports;
    ports.iter().any(|port| port.number == place.port && port.loopback)
}

/// The wire of a port with a host is the host's.
fn hosts(setup: &Setup, reader: &mut Reader<'_>) {
    for (host, entry) in setup.hosts.iter().zip(&setup.scenario.host) {
        if is_loopback(setup, host.place) {
            let port = entry.at.get_ref();
            reader.wrong(
                entry.at.span(),
                format!("{port} is a loopback port already; a port has one wire"),
            );
        }
    }
}

/// Traffic comes by ports whose wires lead outside.
fn traffic(setup: &Setup, reader: &mut Reader<'_>) {
    let entries = setup.scenario.traffic.iter();
    let entries = entries.flat_map(|entry| entry.to.get_ref().iter().map(move |port| (entry, port)));
    for (stream, (entry, port)) in setup.streams.iter().zip(entries) {
        let is_linked = setup.connections.iter().any(|connection| connection.to == stream.place);
        let wire = if setup.hosts.iter().any(|host| host.place == stream.place) {
            "is that of a host, which sends its flows"
        } else if is_loopback(setup, stream.place) {
            "leads from the port back to it"
        } else if is_linked {
            "is that of a link"
        } else {
            continue;
        };
        reader.wrong(
            entry.to.span(),
            format!("the wire of {port} {wire}; traffic comes by other ports"),
        );
    }
}

/// A chip does nothing when nothing can come to it.
fn chips(setup: &Setup, reader: &mut Reader<'_>) {
    let streams = setup.streams.iter().map(|stream| stream.place);
    let timers = setup.timers.iter().map(|timer| timer.place);
    let hosts = setup.hosts.iter().map(|host| host.place);
    let links = setup.connections.iter().map(|connection| connection.to);
    let reached: BTreeSet<u16> = (streams.chain(timers).chain(hosts).chain(links))
        .map(|place| place.chip)
        .collect();
    for (index, entry) in (0..).zip(&setup.scenario.chip) {
        if !reached.contains(&index) {
            let message = format!(
                "nothing comes to chip {:?}; it has no traffic, timer or host, and no link leads to it",
                entry.name.get_ref()
            );
            reader.wrong(entry.name.span(), message);
        }
    }
}

/// A fault is one of frames that stay in the network.
fn faults(setup: &Setup, reader: &mut Reader<'_>) {
    for ((place, _), entry) in setup.faults.iter().zip(&setup.scenario.fault) {
        if !stays_inside(setup, *place) {
            let port = entry.port.get_ref();
            reader.wrong(
                entry.port.span(),
                format!("frames leave the network at {port}, so the fault would do nothing; it is for loopback ports, and ports with a link or a host"),
            );
        }
    }
}

/// Whether frames that leave a port come to another one, back to it, or to a host.
fn stays_inside(setup: &Setup, place: Place) -> bool {
    is_loopback(setup, place)
        || setup.connections.iter().any(|connection| connection.from == place)
        || setup.hosts.iter().any(|host| host.place == place)
}
