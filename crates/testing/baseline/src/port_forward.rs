//! The twin of `programs/portfwd`: what comes by a port leaves by the port that the table names, unchanged.

use crate::forwarder::{DROP_PORT, DropReason, Function, Outputs};
use forebay_packet::Burst;

/// Port forwarding.
pub struct PortForward {
    /// By port of arrival; [`DROP_PORT`] for none.
    to: Vec<u16>,
}

impl PortForward {
    /// From each of these ports to the other.
    ///
    /// # Panics
    /// When the number of a port of arrival is [`DROP_PORT`] or above.
    pub fn new(entries: &[(u16, u16)]) -> PortForward {
        let mut to = vec![DROP_PORT; usize::from(DROP_PORT)];
        for (from, port) in entries {
            to[usize::from(*from)] = *port;
        }
        PortForward { to }
    }
}

impl Function for PortForward {
    fn process(&mut self, burst: &mut Burst, ingress_port: u16, outputs: &mut Outputs) {
        match self.to[usize::from(ingress_port)] {
            DROP_PORT => outputs.drop(DropReason::Ingress, burst.len() as u64),
            port => outputs.send_burst(port, burst),
        }
    }
}
