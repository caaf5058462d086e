//! What is at the ends of wires: mistakes that a network would carry out without a word.

use crate::setup::{Reader, Setup};
use forebay_chip::Place;

/// Looks at links, hosts, faults and traffic by port.
pub(crate) fn check(setup: &Setup, reader: &mut Reader<'_>) {
    links(setup, reader);
    hosts(setup, reader);
    faults(setup, reader);
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
    let entries = setup.scenario.traffic.iter();
    let entries = entries.flat_map(|entry| entry.to.get_ref().iter().map(move |port| (entry, port)));
    for (stream, (entry, port)) in setup.streams.iter().zip(entries) {
        if setup.hosts.iter().any(|host| host.place == stream.place) {
            reader.wrong(
                entry.to.span(),
                format!("the wire of {port} is that of a host, which sends its flows; traffic comes by other ports"),
            );
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
