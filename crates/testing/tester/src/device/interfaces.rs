//! Interfaces of the system, with anything between them.

use super::Device;
use crate::stream::Stream;
use forebay_packet::{Burst, PortState};
use forebay_ports::{OpenError, OpenOptions, PortKind, PortSpec, open};
use std::time::{Duration, Instant};

/// How long links may take to come up after their interfaces were opened.
const LINK_WAIT: Duration = Duration::from_secs(3);

/// How often it is looked whether they have.
const LINK_LOOK: Duration = Duration::from_millis(10);

/// Bytes of an Ethernet header and of a VLAN tag, which do not count for an MTU.
const ETHERNET_HEADER: usize = 14;
const TAG: usize = 4;

/// Whether the interface of a port is there; true of ports that need none.
///
/// # Errors
/// When it is not there.
pub fn interface_exists(spec: &PortSpec) -> Result<(), OpenError> {
    match interface_of(spec) {
        Some(name) => forebay_ports::find_interface(name),
        None => Ok(()),
    }
}

/// The interface that must exist for a port.
fn interface_of(spec: &PortSpec) -> Option<&str> {
    match &spec.kind {
        PortKind::Interface { interface } | PortKind::Xdp { interface, .. } | PortKind::Packet { interface, .. } => {
            Some(interface)
        }
        _ => None,
    }
}

/// Opens interfaces. What is sent by one enters the switch that is connected with it.
///
/// # Errors
/// When an interface is missing, busy or not permitted.
pub fn interfaces(specs: &[PortSpec]) -> Result<Device, OpenError> {
    let options = OpenOptions {
        busy_poll: true,
        force: false,
    };
    let mut ports = Vec::new();
    let mut means = Vec::new();
    for spec in specs {
        let opened = open(spec, &options)?;
        means.push(format!("{} by {}", opened.port.name(), opened.means));
        ports.push((opened.number, opened.port));
    }
    Ok(Device::new(format!("interfaces: {}", means.join(", ")), ports, None))
}

/// Waits until each interface has a link: frames that are sent before are lost on a wire that is not there.
///
/// # Errors
/// When one has none after some seconds, in words.
pub fn wait_for_links(specs: &[PortSpec], device: &mut Device) -> Result<(), String> {
    let until = Instant::now() + LINK_WAIT;
    let mut nothing = Burst::new(1);
    loop {
        for own in device
            .ports
            .iter_mut()
            .filter(|own| own.port.state() == PortState::Down)
        {
            // A port that is down looks at its interface again when packets are received, be it none.
            let looked = own.port.receive(&mut nothing, 0, 0);
            looked.map_err(|error| error.to_string())?;
        }
        let down = specs.iter().zip(&device.ports).find_map(|(spec, own)| {
            let name = interface_of(spec)?;
            (own.port.state() == PortState::Down).then_some((own.number, name))
        });
        match down {
            None => return Ok(()),
            Some((number, name)) if Instant::now() >= until => {
                return Err(format!(
                    "interface {name} (port {number}) has no link: it is down, or what it is connected with is; \
                     `ip link set {name} up`, and the same for the other end"
                ));
            }
            Some(_) => std::thread::sleep(LINK_LOOK),
        }
    }
}

/// The first stream with frames that the interface of one of its ports does not take, and why, in words.
pub(crate) fn too_long(
    specs: &[PortSpec],
    streams: &[Stream],
    port: impl Fn(&Stream) -> Option<u32>,
) -> Option<(usize, String)> {
    streams.iter().enumerate().find_map(|(index, stream)| {
        let number = port(stream)?;
        let spec = specs.iter().find(|spec| spec.number == number)?;
        let message = frames_fit(spec, stream.frames.templates()).err()?;
        Some((index, format!("{}: {message}", stream.name)))
    })
}

/// Whether the interface of a port takes frames that are as long as these; true of ports that need none.
///
/// # Errors
/// How long they may be, in words.
pub fn frames_fit(spec: &PortSpec, frames: &[Vec<u8>]) -> Result<(), String> {
    let named = interface_of(spec).and_then(|name| Some((name, forebay_ports::link(name)?.mtu? as usize)));
    let Some((name, mtu)) = named else { return Ok(()) };
    match longest_beyond(mtu, frames) {
        None => Ok(()),
        Some(bytes) => Err(format!(
            "frames of {bytes} bytes are too long for the interface {name}, whose MTU is {mtu}: `ip link set {name} mtu {}`, and \
             the same for the other end",
            bytes - ETHERNET_HEADER
        )),
    }
}

/// The length of the longest frame that an interface with this MTU does not take.
fn longest_beyond(mtu: usize, frames: &[Vec<u8>]) -> Option<usize> {
    let is_tagged = |frame: &[u8]| matches!(frame.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
    let room = |frame: &[u8]| mtu + ETHERNET_HEADER + if is_tagged(frame) { TAG } else { 0 };
    let beyond = frames.iter().filter(|frame| frame.len() > room(frame));
    beyond.map(Vec::len).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_ethernet_do_not_count_for_an_mtu() {
        let frame = |bytes: usize, ether_type: [u8; 2]| {
            let mut frame = vec![0; bytes];
            frame[12..14].copy_from_slice(&ether_type);
            frame
        };
        let (plain, tagged) = ([0x08, 0x00], [0x81, 0x00]);
        let fitting = [frame(60, plain), frame(1514, plain), frame(1518, tagged)];
        assert_eq!(longest_beyond(1500, &fitting), None);
        let longer = [frame(1515, plain), frame(1519, tagged), frame(60, plain)];
        assert_eq!(longest_beyond(1500, &longer), Some(1519));
        assert_eq!(longest_beyond(1500, &longer[..1]), Some(1515));
    }
}
