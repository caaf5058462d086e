//! Interfaces of the system, with anything between them.

use super::Device;
use forebay_ports::{OpenError, OpenOptions, PortSpec, open};

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
