//! Ports that are divided into a share for each worker.

use super::WorkerStatus;
use forebay_packet::{Burst, Port, PortError, PortState, Readiness, delegate_port};
use std::sync::atomic::Ordering;

/// A port under its P4 number.
type Numbered = (u32, Box<dyn Port>);

/// Separates ports that have a share for each of several workers from the others. Shares come with their worker, in
/// the order of the list.
pub(super) fn divided(ports: Vec<Numbered>, workers: usize) -> (Vec<(usize, Numbered)>, Vec<Numbered>) {
    let count = |number| ports.iter().filter(|(other, _)| *other == number).count();
    let are_divided: Vec<bool> = ports
        .iter()
        .map(|(number, _)| workers > 1 && count(*number) == workers)
        .collect();
    let (mut shares, mut whole): (Vec<(usize, Numbered)>, Vec<Numbered>) = (Vec::new(), Vec::new());
    for (port, is_divided) in ports.into_iter().zip(are_divided) {
        if is_divided {
            let worker = shares.iter().filter(|(_, (number, _))| *number == port.0).count();
            shares.push((worker, port));
        } else {
            whole.push(port);
        }
    }
    (shares, whole)
}

/// The share of a port that belongs to one worker.
pub(super) struct SharedPort {
    port: Box<dyn Port>,
    /// Whether this is the first share, which stands for all shares where one is enough.
    is_first: bool,
    status: WorkerStatus,
}

impl SharedPort {
    pub(super) fn new(port: Box<dyn Port>, is_first: bool, status: WorkerStatus) -> SharedPort {
        SharedPort { port, is_first, status }
    }

    fn is_closing(&self) -> bool {
        self.status.shared.closing.load(Ordering::Relaxed)
    }
}

impl Port for SharedPort {
    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        if self.is_closing() {
            return Ok(0);
        }
        let received = self.port.receive(burst, max, now_ns);
        if !burst.is_empty() {
            self.status.wake();
        }
        received
    }

    /// A vanished interface is reported once for all shares.
    fn state(&self) -> PortState {
        match self.port.state() {
            PortState::Gone if !self.is_first => PortState::Down,
            state => state,
        }
    }

    fn readiness(&self) -> Readiness {
        if self.is_closing() {
            Readiness::Never
        } else {
            self.port.readiness()
        }
    }

    fn begin_last_round(&mut self) -> bool {
        false
    }

    delegate_port!(port: name, send, counters, why_down, room, reads_ids, flush);
}

#[cfg(test)]
mod tests {
    use super::super::{SharingConfig, share_ports};
    use super::*;
    use forebay_packet::MemoryPort;
    use forebay_pipeline::Pipeline;
    use std::sync::Arc;

    fn pair(name: &str) -> (Box<dyn Port>, MemoryPort) {
        let (near, far) = MemoryPort::pair(name, "outside", 16);
        (Box::new(near), far)
    }

    #[test]
    fn a_number_for_each_worker_is_a_port_in_shares() {
        let list = |numbers: &[u32]| {
            numbers
                .iter()
                .map(|number| (*number, pair("port").0))
                .collect::<Vec<_>>()
        };
        let (shares, whole) = divided(list(&[1, 1, 2, 3, 3]), 2);
        let shares: Vec<_> = shares.iter().map(|(worker, (number, _))| (*worker, *number)).collect();
        assert_eq!(shares, [(0, 1), (1, 1), (0, 3), (1, 3)]);
        assert_eq!(whole.len(), 1);
        assert_eq!(divided(list(&[1]), 1).1.len(), 1);
    }

    #[test]
    fn each_worker_receives_by_its_own_share() {
        let program = forebay_ir::text::read(include_str!("../../tests/operations.ir")).expect("a program");
        let pipeline = Arc::new(Pipeline::load(program).expect("it loads"));
        let (first, mut to_first) = pair("port");
        let (second, mut to_second) = pair("port");
        let (other, _outside) = pair("other");
        let config = SharingConfig {
            workers: 2,
            ..SharingConfig::default()
        };
        let divided_alone = share_ports(vec![(7, pair("port").0), (7, pair("port").0)], &pipeline, &config);
        assert!(divided_alone.iter().all(|worker| !worker.has_rings));
        let mut workers = share_ports(vec![(7, first), (7, second), (8, other)], &pipeline, &config);
        assert!(workers.iter().all(|worker| worker.has_rings));
        to_first.inject(&[1; 60]);
        to_second.inject(&[2; 60]);
        let mut burst = Burst::new(8);
        for (worker, byte) in workers.iter_mut().zip([1, 2]) {
            assert_eq!(worker.ports.len(), 2);
            let (_, share) = worker
                .ports
                .iter_mut()
                .find(|(number, _)| *number == 7)
                .expect("a share");
            assert_eq!(share.receive(&mut burst, 8, 0), Ok(1));
            assert_eq!(burst.as_slice()[0].data(), [byte; 60]);
            burst.clear();
        }
        to_first.inject(&[1; 60]);
        workers[1].status.close();
        let (_, share) = &mut workers[0].ports[0];
        assert_eq!(share.receive(&mut burst, 8, 0), Ok(0), "nothing more is taken");
        assert_eq!(share.readiness(), Readiness::Never);
    }
}
