//! Ports all of whose packets go the same way, as long as the tables are the same.
//!
//! Where nothing becomes of a packet that depends on more than its port and the tables, what became of one is what will become of
//! the next ones, and no code has to be executed to find that out.

use forebay_tables::State;

/// Ports with other remainders do not get into each other's way.
const PLACES: usize = 64;

/// The ports by which packets leave, by those by which they come.
#[derive(Debug, Default)]
pub(super) struct SteadyPorts {
    /// Empty before there is one.
    places: Vec<Option<SteadyPort>>,
}

#[derive(Clone, Copy, Debug)]
struct SteadyPort {
    ingress_port: u32,
    egress_port: u32,
    state: State,
}

impl SteadyPorts {
    /// Where packets of a port leave that come while the tables are in this state, if that is known.
    #[inline]
    pub(super) fn way(&self, ingress_port: u32, state: Option<State>) -> Option<u32> {
        let known = (*self.places.get(ingress_port as usize % PLACES)?)?;
        (known.ingress_port == ingress_port && Some(known.state) == state).then_some(known.egress_port)
    }

    /// Notes by which port they leave.
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
    fn a_way_holds_for_its_port_and_the_state_of_the_tables() {
        let [state, other] = [Domain::new(), Domain::new()].map(|domain| domain.reader().pin().state());
        let mut ports = SteadyPorts::default();
        assert_eq!(ports.way(3, state), None);
        ports.note(3, 7, state.expect("nobody changes tables"));
        assert_eq!(ports.way(3, state), Some(7));
        assert_eq!(ports.way(3, other), None, "the tables were changed");
        assert_eq!(ports.way(3, None), None, "they are being changed");
        assert_eq!(ports.way(3 + PLACES as u32, state), None, "another port");
        ports.note(3 + PLACES as u32, 8, state.expect("as above"));
        assert_eq!(
            (ports.way(3, state), ports.way(3 + PLACES as u32, state)),
            (None, Some(8))
        );
    }
}
