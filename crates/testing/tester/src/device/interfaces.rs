//! Interfaces of the system, with anything between them.

use super::Device;
use forebay_packet::PortState;
use forebay_ports::{OpenError, OpenOptions, PortKind, PortSpec, open};
use std::time::{Duration, Instant};

/// How long links may take to come up after their interfaces were opened.
const LINK_WAIT: Duration = Duration::from_secs(3);

/// How often it is looked whether they have.
const LINK_LOOK: Duration = Duration::from_millis(10);

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
pub fn wait_for_links(specs: &[PortSpec], device: &Device) -> Result<(), String> {
    let until = Instant::now() + LINK_WAIT;
    loop {
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
