//! Ports whose packets all have the same verdict as long as the tables are unchanged.
//!
//! If the verdict on a packet depends only on its port and the tables, the verdict on one packet holds for the next
//! ones, and no code needs to be executed for them.

use forebay_tables::State;

/// The number of places. Ports with the same remainder share one.
const PLACES: usize = 64;

/// The output ports of packets, by their input port.
#[derive(Debug, Default)]
pub(super) struct SteadyPorts {
    /// Empty until there is a port.
    places: Vec<Option<SteadyPort>>,
}

#[derive(Clone, Copy, Debug)]
struct SteadyPort {
    ingress_port: u32,
    egress_port: u32,
    state: State,
}

impl SteadyPorts {
    /// The output port of packets that arrive at a port while the tables are in this state, if it is known.
    #[inline]
    pub(super) fn path(&self, ingress_port: u32, state: Option<State>) -> Option<u32> {
        let known = (*self.places.get(ingress_port as usize % PLACES)?)?;
        (known.ingress_port == ingress_port && Some(known.state) == state).then_some(known.egress_port)
    }

    /// Stores the output port of a port's packets.
    pub(super) fn note(&mut self, ingress_port: u32, egress_port: u32, state: State) {
        self.places.resize(PLACES, None);
        self.places[ingress_port as usize % PLACES] = Some(SteadyPort {
            ingress_port,
            egress_port,
            state,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_tables::Domain;

    #[test]
    fn a_path_holds_for_its_port_and_the_state_of_the_tables() {
        let [state, other] = [Domain::new(), Domain::new()].map(|domain| domain.reader().pin().state());
        let mut ports = SteadyPorts::default();
        assert_eq!(ports.path(3, state), None);
        ports.note(3, 7, state.expect("nobody changes tables"));
        assert_eq!(ports.path(3, state), Some(7));
        assert_eq!(ports.path(3, other), None, "the tables were changed");
        assert_eq!(ports.path(3, None), None, "they are being changed");
        assert_eq!(ports.path(3 + PLACES as u32, state), None, "another port");
        ports.note(3 + PLACES as u32, 8, state.expect("as above"));
        assert_eq!(
            (ports.path(3, state), ports.path(3 + PLACES as u32, state)),
            (None, Some(8))
        );
    }
}
