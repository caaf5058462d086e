//! The ports of a controlled switch: operators can disable each, and read its state and its properties.

use forebay_packet::Port;
use forebay_packet::decorators::{Gate, Latch};
use forebay_ports::PresentMeans;
use forebay_server::PortInfo;
use std::collections::BTreeMap;

/// A port under its P4 number.
pub type NumberedPort = (u32, Box<dyn Port>);

/// What opens and closes ports, and what is known of them.
#[derive(Debug, Default)]
pub struct Gates {
    latches: BTreeMap<u32, Latch>,
    /// What operators can read about the ports.
    pub ports: Vec<PortInfo>,
}

impl Gates {
    /// Puts a gate before every port. Shares of a port have one number, and open and close together.
    pub fn before(ports: Vec<NumberedPort>, means: &BTreeMap<u32, PresentMeans>) -> (Vec<NumberedPort>, Gates) {
        let mut gates = Gates::default();
        let gated = ports.into_iter().map(|(number, port)| {
            let is_interface = means.get(&number).is_some_and(|means| means.now().is_interface());
            if !gates.latches.contains_key(&number) {
                gates.ports.push(info(number, port.name(), is_interface));
            }
            let latch = gates.latches.entry(number).or_default().clone();
            (number, Box::new(Gate::new(port, latch)) as Box<dyn Port>)
        });
        (gated.collect(), gates)
    }

    /// Opens or closes a port.
    pub fn set(&self, number: u32, is_open: bool) {
        if let Some(latch) = self.latches.get(&number) {
            latch.set(is_open);
        }
    }
}

fn info(number: u32, name: &str, is_interface: bool) -> PortInfo {
    let present = if is_interface { present_info(number, name) } else { None };
    present.unwrap_or_else(|| PortInfo {
        number,
        name: name.to_string(),
        ..PortInfo::default()
    })
}

/// What an interface is now; none when it is away.
pub(crate) fn present_info(number: u32, name: &str) -> Option<PortInfo> {
    let link = forebay_ports::link(name)?;
    Some(PortInfo {
        number,
        name: name.to_string(),
        mac_address: link.mac_address,
        mtu: link.mtu,
        speed_mbps: link.speed_mbps,
    })
}
