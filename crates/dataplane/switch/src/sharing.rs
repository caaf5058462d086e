//! Shares one set of ports between several workers.
//!
//! Every port has an *owner*: the worker that alone calls it. Every worker has its own switch with a
//! port for each number: the owner has a [`SteeringPort`] around the port itself; the others have a [`RemotePort`]
//! that reaches it through two [rings](crate::ring), one for each direction.
//!
//! ```text
//!            worker 0                              worker 1
//!   ┌───────────────────────┐             ┌───────────────────────┐
//!   │ Switch                │             │                Switch │
//!   │   │ ▲                 │  arrivals   │                 ▲ │   │
//!   │   ▼ │        ┌────────┼────────────►┼────────┐        │ ▼   │
//!   │ SteeringPort ┤        │  departures │     RemotePort        │
//!   │   │ ▲        └────────┼◄────────────┼────────┘              │
//!   └───┼─┼─────────────────┘             └───────────────────────┘
//!       ▼ │
//!      port
//! ```
//!
//! Arriving packets are spread by a hash of their flow ([`crate::Spread`]). Rings keep the order, so the packets of a
//! flow that arrive at one port stay in order from port to port. Copies, resubmitted and recirculated packets stay
//! with their worker.
//!
//! A port may also be divided into a share for each worker, for example an interface with several receive queues,
//! whose kernel or network card spreads flows. Each worker then uses its share directly ([`share`]), without rings.
//!
//! # When something is full
//! An owner takes no more packets from its port than the fullest ring of arrivals has room for. The port's own queue
//! then fills and drops, and the port counts these drops. A worker whose ring of departures is full leaves packets in
//! the queues of its traffic manager ([`Port::room`]), which drop under `queue_full`. Nothing is dropped in between.
//!
//! # When everything is done
//! See [`WorkerStatus`].

mod share;

use crate::counters::Counters;
use crate::ring::{Consumer, Producer, Progress, ring};
use crate::rss::{Classifier, Spread};
use forebay_packet::{Burst, DEFAULT_BURST, DropReason, Packet, Port, PortCounters, PortError, PortState, Readiness};
use forebay_pipeline::Pipeline;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How workers share ports.
#[derive(Clone, Debug)]
pub struct SharingConfig {
    /// The number of workers, at least one.
    pub workers: usize,
    /// What identifies a flow.
    pub spread: Spread,
    /// The most packets in transit between two workers, for each port and direction.
    pub ring_capacity: usize,
}

impl Default for SharingConfig {
    fn default() -> SharingConfig {
        SharingConfig {
            workers: 1,
            spread: Spread::FiveTuple,
            ring_capacity: 256,
        }
    }
}

/// What one worker attaches to its switch: the ports that it owns, and the remote ends of all others.
pub struct WorkerPorts {
    /// The ports by their P4 numbers.
    pub ports: Vec<(u32, Box<dyn Port>)>,
    /// Whether other workers have packets for this one: nothing announces those.
    pub has_rings: bool,
    /// Tells when all workers have done everything.
    pub status: WorkerStatus,
}

/// Divides ports among workers: port `i` of the list is owned by worker `i` modulo the number of workers. Returns one
/// entry for each worker; a single worker gets the ports themselves. A port number that occurs once for each worker is
/// a port in shares.
pub fn share_ports(
    ports: Vec<(u32, Box<dyn Port>)>,
    pipeline: &Arc<Pipeline>,
    config: &SharingConfig,
) -> Vec<WorkerPorts> {
    let workers = config.workers.max(1);
    let (divided, ports) = share::divided(ports, workers);
    let wires: Vec<Vec<Wire>> = (0..ports.len())
        .map(|index| wires(workers, index % workers, config.ring_capacity))
        .collect();
    let are_timers: Vec<bool> = ports.iter().map(|(_, port)| port.is_timer()).collect();
    let shared = Arc::new(Shared::new(workers, &wires, &are_timers));
    let status = |worker| WorkerStatus {
        worker,
        shared: Arc::clone(&shared),
    };
    let mut all: Vec<WorkerPorts> = (0..workers)
        .map(|worker| WorkerPorts {
            ports: Vec::with_capacity(ports.len()),
            has_rings: workers > 1 && !ports.is_empty(),
            status: status(worker),
        })
        .collect();
    if let [alone] = &mut all[..] {
        alone.ports = ports;
        return all;
    }
    for (worker, (number, port)) in divided {
        let share = share::SharedPort::new(port, worker == 0, status(worker));
        all[worker].ports.push((number, Box::new(share)));
    }
    for (index, ((number, port), wires)) in ports.into_iter().zip(wires).enumerate() {
        let classifier = Classifier::new(&config.spread, pipeline);
        share_one(&mut all, index, (number, port, classifier), wires);
    }
    all
}

/// Gives each worker its end of the port with this index of the list: the owner the port itself, the others a remote
/// end. `wires` are those between the owner and each worker.
fn share_one(
    all: &mut [WorkerPorts],
    index: usize,
    (number, port, classifier): (u32, Box<dyn Port>, Classifier),
    wires: Vec<Wire>,
) {
    let owner = index % all.len();
    let place = |worker: &WorkerPorts| Place {
        index,
        status: worker.status.clone(),
    };
    let name = port.name().to_string();
    let mut steering = SteeringPort::new(port, number, classifier, place(&all[owner]));
    for (worker, (wire, own)) in wires.into_iter().zip(all.iter_mut()).enumerate() {
        if worker == owner {
            steering.arrivals.push(None);
            continue;
        }
        steering.arrivals.push(Some(wire.arrivals.0));
        steering.departures.push((worker, wire.departures.1));
        let remote = RemotePort {
            name: name.clone(),
            arrivals: wire.arrivals.1,
            departures: wire.departures.0,
            counters: PortCounters::default(),
            place: place(own),
        };
        own.ports.push((number, Box::new(remote)));
    }
    all[owner].ports.push((number, Box::new(steering)));
}

/// The two rings between a port's owner and another worker.
struct Wire {
    arrivals: (Producer<Packet>, Consumer<Packet>),
    departures: (Producer<Packet>, Consumer<Packet>),
}

/// The rings of a port for each worker. The owner uses none, so its own have no room to speak of.
fn wires(workers: usize, owner: usize, capacity: usize) -> Vec<Wire> {
    let wire = |worker: usize| {
        let capacity = if worker == owner { 1 } else { capacity };
        Wire {
            arrivals: ring(capacity, Packet::new),
            departures: ring(capacity, Packet::new),
        }
    };
    (0..workers).map(wire).collect()
}

/// What all workers share.
struct Shared {
    /// Set when ports must not deliver anything more.
    closing: AtomicBool,
    /// By worker: whether its switch is empty, and only other workers can give it packets.
    resting: Vec<AtomicBool>,
    /// Set when a worker has found that everything is done, and takes nothing more. Timers still deliver packets.
    done: AtomicBool,
    ports: Vec<PortShared>,
}

/// What all workers share about a port.
struct PortShared {
    /// Whether the port has delivered its last packet.
    ended: AtomicBool,
    /// Whether the port has failed to send. Its owner then takes nothing more from the rings of departures.
    failed: AtomicBool,
    arrivals: Vec<Progress<Packet>>,
    departures: Vec<Progress<Packet>>,
    /// By worker: what it has handed over in vain.
    refused: Vec<Refused>,
}

impl PortShared {
    /// Packets that the worker handed over and the owner never takes, because the port has failed. They are not counted
    /// but found in the ring: a worker may hand over some more before it sees that the port has failed.
    fn stranded(&self, worker: usize) -> u64 {
        if self.failed.load(Ordering::SeqCst) {
            self.departures[worker].waiting() as u64
        } else {
            0
        }
    }

    /// Packets that the worker handed over and the port has not sent.
    fn not_sent(&self, worker: usize) -> u64 {
        self.refused[worker].all.load(Ordering::Relaxed) + self.stranded(worker)
    }

    /// Those of them that the port does not count.
    fn not_counted(&self, worker: usize) -> u64 {
        self.refused[worker].uncounted.load(Ordering::Relaxed) + self.stranded(worker)
    }
}

/// Packets that the owner of a port has taken from another worker, and that the port has not sent.
#[derive(Default)]
struct Refused {
    all: AtomicU64,
    /// Packets that the port does not count, because it had failed.
    uncounted: AtomicU64,
}

impl Refused {
    fn count(&self, packets: u64, are_uncounted: bool) {
        self.all.fetch_add(packets, Ordering::Relaxed);
        if are_uncounted {
            self.uncounted.fetch_add(packets, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn new(workers: usize, wires: &[Vec<Wire>], are_timers: &[bool]) -> Shared {
        let port = |(wires, is_timer): (&Vec<Wire>, &bool)| PortShared {
            // A timer never ends, so the switch does not wait for it.
            ended: AtomicBool::new(*is_timer),
            failed: AtomicBool::new(false),
            arrivals: wires.iter().map(|wire| wire.arrivals.0.progress()).collect(),
            departures: wires.iter().map(|wire| wire.departures.0.progress()).collect(),
            refused: wires.iter().map(|_| Refused::default()).collect(),
        };
        Shared {
            closing: AtomicBool::new(false),
            resting: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            done: AtomicBool::new(false),
            ports: wires.iter().zip(are_timers).map(port).collect(),
        }
    }

    fn all_rest(&self) -> bool {
        self.resting.iter().all(|resting| resting.load(Ordering::SeqCst))
    }

    /// The number of packets ever handed from one worker to another.
    fn published(&self) -> usize {
        let rings = self
            .ports
            .iter()
            .flat_map(|port| port.arrivals.iter().chain(&port.departures));
        rings.fold(0, |sum, ring| sum.wrapping_add(ring.published()))
    }

    fn nothing_under_way(&self) -> bool {
        self.ports.iter().all(|port| {
            let failed = port.failed.load(Ordering::SeqCst);
            port.arrivals.iter().all(Progress::is_empty) && (failed || port.departures.iter().all(Progress::is_empty))
        })
    }
}

/// Tells when the workers that share ports have done everything.
///
/// A worker [rests](WorkerStatus::rest) when its poll was idle, its switch is empty and none of its ports waits for
/// anything. It wakes before it takes a packet from a port or a ring.
#[derive(Clone)]
pub struct WorkerStatus {
    worker: usize,
    shared: Arc<Shared>,
}

impl WorkerStatus {
    /// From now on, shared ports deliver no packets; what is in the switches still leaves.
    pub fn close(&self) {
        self.shared.closing.store(true, Ordering::SeqCst);
    }

    /// Records that this worker has nothing to do.
    pub fn rest(&self) {
        self.shared.resting[self.worker].store(true, Ordering::SeqCst);
    }

    /// The counters of this worker's switch, in which packets for ports of other workers are transmitted as soon as
    /// they are handed over. Those that a port has refused then are dropped.
    pub fn settled(&self, counters: Counters) -> Counters {
        let refused: u64 = self.shared.ports.iter().map(|port| port.not_sent(self.worker)).sum();
        Counters {
            transmitted: counters.transmitted - refused,
            dropped: counters.dropped + refused,
            ..counters
        }
    }

    fn wake(&self) {
        self.shared.resting[self.worker].store(false, Ordering::SeqCst);
    }

    /// Whether all workers rest and no packet is in transit between them, so that none of them will ever have anything
    /// to do. Also true when another worker has found this, even if timers have delivered packets since.
    ///
    /// This looks twice. Consider a worker that took a packet from a ring before this function examined the ring. It
    /// was awake by then, or it has rested again and has passed on the results before, which changes the numbers of
    /// packets.
    pub fn all_done(&self) -> bool {
        let shared = &self.shared;
        if shared.done.load(Ordering::SeqCst) {
            return true;
        }
        let before = shared.published();
        let is_done =
            shared.all_rest() && shared.nothing_under_way() && shared.all_rest() && shared.published() == before;
        if is_done {
            shared.done.store(true, Ordering::SeqCst);
        }
        is_done
    }
}

/// The index of the port, and the worker's status.
struct Place {
    index: usize,
    status: WorkerStatus,
}

impl Place {
    fn port(&self) -> &PortShared {
        &self.status.shared.ports[self.index]
    }

    fn closing(&self) -> bool {
        self.status.shared.closing.load(Ordering::Relaxed)
    }
}

/// A port for its owner: delivers the owner's share of what arrives, hands the rest to other workers, and sends what
/// these have for it.
struct SteeringPort {
    port: Box<dyn Port>,
    number: u32,
    classifier: Classifier,
    /// By worker; `None` for the owner itself.
    arrivals: Vec<Option<Producer<Packet>>>,
    /// With the worker that hands these packets over.
    departures: Vec<(usize, Consumer<Packet>)>,
    /// What has arrived and is not yet spread; and what leaves for other workers.
    received: Burst,
    leaving: Burst,
    in_last_round: bool,
    /// Whether the port has failed to receive. It may still send.
    is_deaf: bool,
    place: Place,
}

impl SteeringPort {
    fn new(port: Box<dyn Port>, number: u32, classifier: Classifier, place: Place) -> SteeringPort {
        SteeringPort {
            port,
            number,
            classifier,
            arrivals: Vec::new(),
            departures: Vec::new(),
            received: Burst::new(DEFAULT_BURST),
            leaving: Burst::new(DEFAULT_BURST),
            in_last_round: false,
            is_deaf: false,
            place,
        }
    }

    fn send_for_others(&mut self, now_ns: u64) -> Result<(), PortError> {
        for (worker, departures) in &mut self.departures {
            let mut waiting = departures.waiting().min(self.port.room());
            if waiting > 0 {
                self.place.status.wake();
            }
            while waiting > 0 {
                while let Some(packet) = self.leaving.allocate() {
                    if !departures.exchange(packet) {
                        self.leaving.truncate(self.leaving.len() - 1);
                        break;
                    }
                    waiting -= 1;
                    if waiting == 0 {
                        break;
                    }
                }
                departures.release();
                let offered = self.leaving.len() as u64;
                let sent = self.port.send(&mut self.leaving, now_ns);
                let refused = offered - sent.as_ref().map_or(0, |accepted| *accepted as u64);
                if refused > 0 {
                    // A port that has failed does not count any more.
                    self.place.port().refused[*worker].count(refused, sent.is_err() || self.is_deaf);
                }
                sent?;
            }
        }
        Ok(())
    }

    /// Gives every packet to its worker. The rings have room for all of them.
    fn spread(&mut self, burst: &mut Burst) {
        let workers = self.arrivals.len();
        for packet in self.received.iter_mut() {
            let worker = self.classifier.worker(packet.data(), self.number, workers);
            let has_room = match &mut self.arrivals[worker] {
                None => burst.push_exchange(packet),
                Some(ring) => ring.exchange(packet),
            };
            debug_assert!(has_room, "no more is received than there is room for");
        }
        self.received.clear();
        self.arrivals.iter_mut().flatten().for_each(Producer::publish);
    }

    /// Tells the other workers when the port has failed to send: nothing empties their rings any more.
    fn noted<T>(&self, result: Result<T, PortError>) -> Result<T, PortError> {
        if result.is_err() {
            self.place.port().failed.store(true, Ordering::SeqCst);
        }
        result
    }

    /// Whether another worker has a packet for the port, which has not failed to send.
    fn has_departures(&self) -> bool {
        !self.place.port().failed.load(Ordering::Relaxed) && self.departures.iter().any(|(_, ring)| !ring.is_empty())
    }

    fn receive_and_send(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        let sent = self.send_for_others(now_ns);
        self.noted(sent)?;
        if self.is_deaf || self.place.closing() && !self.in_last_round {
            return Ok(0);
        }
        let room = self.arrivals.iter().flatten().map(Producer::room).min();
        let max = max
            .min(burst.room())
            .min(room.unwrap_or(usize::MAX))
            .min(self.received.capacity());
        let result = self.port.receive(&mut self.received, max, now_ns);
        if result.is_err() {
            self.is_deaf = true;
            self.place.port().ended.store(true, Ordering::SeqCst);
        }
        if !self.received.is_empty() {
            self.place.status.wake();
        }
        let before = burst.len();
        self.spread(burst);
        result.map(|_| burst.len() - before)
    }
}

impl Port for SteeringPort {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, now_ns: u64) -> Result<usize, PortError> {
        self.receive_and_send(burst, max, now_ns)
    }

    fn send(&mut self, burst: &mut Burst, now_ns: u64) -> Result<usize, PortError> {
        let result = self.port.send(burst, now_ns);
        self.noted(result)
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn state(&self) -> PortState {
        self.port.state()
    }

    fn why_down(&self) -> Option<String> {
        self.port.why_down()
    }

    fn readiness(&self) -> Readiness {
        if self.has_departures() {
            // Nothing tells when a port has room again.
            return match self.port.room() {
                0 => Readiness::Unknown,
                _ => Readiness::Now,
            };
        }
        let readiness = if self.place.closing() {
            Readiness::Never
        } else {
            self.port.readiness()
        };
        if readiness == Readiness::Never {
            self.place.port().ended.store(true, Ordering::SeqCst);
        }
        readiness
    }

    fn room(&self) -> usize {
        self.port.room()
    }

    fn is_timer(&self) -> bool {
        self.port.is_timer()
    }

    fn reads_ids(&self) -> bool {
        self.port.reads_ids()
    }

    fn begin_last_round(&mut self) -> bool {
        self.in_last_round = self.port.begin_last_round();
        self.place.status.close();
        // It also sends what other workers have for it.
        true
    }

    fn still_sends(&self) -> bool {
        self.is_deaf && !self.place.port().failed.load(Ordering::Relaxed)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.port.flush()
    }
}

/// A port for a worker that does not keep it. Its counters cover only what is dropped here, and what was on its way
/// when the port failed.
struct RemotePort {
    name: String,
    arrivals: Consumer<Packet>,
    departures: Producer<Packet>,
    counters: PortCounters,
    place: Place,
}

impl RemotePort {
    fn failed(&self) -> bool {
        self.place.port().failed.load(Ordering::Relaxed)
    }

    fn lost(&self) -> u64 {
        self.place.port().not_counted(self.place.status.worker)
    }
}

impl Port for RemotePort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, burst: &mut Burst, max: usize, _now_ns: u64) -> Result<usize, PortError> {
        let count = self.arrivals.waiting().min(max).min(burst.room());
        if count == 0 {
            return Ok(0);
        }
        self.place.status.wake();
        for _ in 0..count {
            let taken = burst.allocate().is_some_and(|spare| self.arrivals.exchange(spare));
            debug_assert!(taken, "the burst has room and the ring has packets");
        }
        self.arrivals.release();
        Ok(count)
    }

    fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
        let offered = burst.len();
        let (sent, reason) = if self.failed() {
            (0, DropReason::LinkDown)
        } else {
            let refused = burst.iter_mut().position(|packet| !self.departures.exchange(packet));
            (refused.unwrap_or(offered), DropReason::QueueFull)
        };
        self.departures.publish();
        self.counters.count_drops(reason, (offered - sent) as u64);
        burst.clear();
        Ok(sent)
    }

    fn counters(&self) -> PortCounters {
        let mut counters = self.counters;
        counters.count_drops(DropReason::LinkDown, self.lost());
        counters
    }

    fn readiness(&self) -> Readiness {
        if !self.arrivals.is_empty() {
            Readiness::Now
        } else if self.place.closing() || self.failed() || self.place.port().ended.load(Ordering::SeqCst) {
            Readiness::Never
        } else {
            Readiness::Unknown
        }
    }

    fn begin_last_round(&mut self) -> bool {
        true
    }

    fn room(&self) -> usize {
        if self.failed() {
            usize::MAX
        } else {
            self.departures.room()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_packet::MemoryPort;

    /// A port that fails when it sends.
    struct Broken;

    impl Port for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
            Ok(0)
        }

        fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
            burst.clear();
            Err(PortError::Failed {
                port: "broken".to_string(),
                operation: "send",
                detail: "it is broken".to_string(),
            })
        }

        fn counters(&self) -> PortCounters {
            PortCounters::default()
        }
    }

    /// A port that fails when it receives.
    struct Deaf(PortCounters);

    impl Port for Deaf {
        fn name(&self) -> &str {
            "deaf"
        }

        fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
            Err(PortError::Failed {
                port: "deaf".to_string(),
                operation: "receive",
                detail: "its file is damaged".to_string(),
            })
        }

        fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
            let sent = burst.len();
            burst.iter().for_each(|packet| self.0.count_sent(packet.len()));
            burst.clear();
            Ok(sent)
        }

        fn counters(&self) -> PortCounters {
            self.0
        }
    }

    #[test]
    fn a_port_that_cannot_receive_any_more_sends_what_other_workers_have() {
        let [(mut own, _), (mut remote, status)] = shared_by_two(Deaf(PortCounters::default()));
        let mut burst = Burst::new(8);
        assert!(!own.still_sends());
        assert!(own.receive(&mut burst, 8, 0).is_err());
        assert_eq!((own.still_sends(), remote.readiness()), (true, Readiness::Never));
        assert_eq!(send(&mut remote), Ok(1));
        assert_eq!(own.receive(&mut burst, 8, 0), Ok(0));
        assert_eq!(own.counters().sent_packets, 1);
        assert_eq!(status.settled(transmitted(1)), transmitted(1));
    }

    /// A port that is down.
    struct Down(PortCounters);

    impl Port for Down {
        fn name(&self) -> &str {
            "down"
        }

        fn receive(&mut self, _burst: &mut Burst, _max: usize, _now_ns: u64) -> Result<usize, PortError> {
            Ok(0)
        }

        fn send(&mut self, burst: &mut Burst, _now_ns: u64) -> Result<usize, PortError> {
            self.0.count_drops(DropReason::LinkDown, burst.len() as u64);
            burst.clear();
            Ok(0)
        }

        fn counters(&self) -> PortCounters {
            self.0
        }
    }

    /// A port shared by two workers, the first of which has it.
    fn shared_by_two(port: impl Port + 'static) -> [(Box<dyn Port>, WorkerStatus); 2] {
        let program = forebay_ir::text::read(include_str!("../tests/operations.ir")).expect("a program");
        let pipeline = Arc::new(Pipeline::load(program).expect("it loads"));
        let config = SharingConfig {
            workers: 2,
            ..SharingConfig::default()
        };
        let port: Box<dyn Port> = Box::new(port);
        let mut workers = share_ports(vec![(1, port)], &pipeline, &config).into_iter();
        std::array::from_fn(|_| {
            let mut worker = workers.next().expect("two workers");
            (worker.ports.remove(0).1, worker.status)
        })
    }

    fn send(port: &mut Box<dyn Port>) -> Result<usize, PortError> {
        let mut burst = Burst::new(8);
        burst.allocate().expect("it is empty").set_data(&[1; 60]);
        port.send(&mut burst, 0)
    }

    fn transmitted(packets: u64) -> Counters {
        Counters {
            received: packets,
            transmitted: packets,
            ..Counters::default()
        }
    }

    #[test]
    fn only_workers_that_do_not_have_a_port_need_memory_for_it() {
        let rooms = |workers: usize, owner: usize| -> Vec<usize> {
            let wires = wires(workers, owner, 256);
            wires.iter().map(|wire| wire.departures.0.room()).collect()
        };
        assert_eq!(rooms(3, 1), [256, 1, 256]);
        assert_eq!(rooms(1, 0), [1]);
    }

    #[test]
    fn other_workers_know_of_a_port_that_has_failed_to_send() {
        let [(mut own, _), (mut remote, status)] = shared_by_two(Broken);
        assert_eq!(send(&mut remote), Ok(1), "it waits for the owner");
        assert!(send(&mut own).is_err());
        assert_eq!(send(&mut remote), Ok(0));
        assert_eq!(remote.counters().drops(DropReason::LinkDown), 2, "also what has waited");
        assert_eq!(remote.readiness(), Readiness::Never);
        let settled = status.settled(transmitted(1));
        assert_eq!((settled.transmitted, settled.dropped), (0, 1));
    }

    #[test]
    fn packets_that_are_handed_over_while_a_port_fails_are_counted() {
        let [(mut own, _), (mut remote, status)] = shared_by_two(Broken);
        assert!(send(&mut own).is_err());
        let failed = &status.shared.ports[0].failed;
        // The worker looks before the port fails, and hands over afterwards.
        failed.store(false, Ordering::SeqCst);
        assert_eq!(send(&mut remote), Ok(1));
        failed.store(true, Ordering::SeqCst);
        assert_eq!(remote.counters().drops(DropReason::LinkDown), 1);
        let settled = status.settled(transmitted(1));
        assert_eq!((settled.transmitted, settled.dropped), (0, 1));
        assert_eq!(own.readiness(), Readiness::Unknown, "the port's own");
    }

    #[test]
    fn a_worker_waits_while_a_port_has_no_room_for_what_others_send() {
        let (near, mut far) = MemoryPort::pair("near", "far", 1);
        let [(mut own, _), (mut remote, _)] = shared_by_two(near);
        assert_eq!((send(&mut own), send(&mut remote)), (Ok(1), Ok(1)));
        assert_eq!(own.receive(&mut Burst::new(8), 8, 0), Ok(0));
        assert_eq!(own.readiness(), Readiness::Unknown);
        assert!(far.extract().is_some());
        assert_eq!(own.readiness(), Readiness::Now);
    }

    #[test]
    fn what_a_port_refuses_of_other_workers_is_not_transmitted() {
        let [(mut own, first), (mut remote, second)] = shared_by_two(Down(PortCounters::default()));
        assert_eq!(send(&mut remote), Ok(1), "it waits for the owner");
        assert_eq!(second.settled(transmitted(1)), transmitted(1));
        assert_eq!(own.receive(&mut Burst::new(8), 8, 0), Ok(0));
        let settled = second.settled(transmitted(1));
        assert_eq!((settled.transmitted, settled.dropped), (0, 1));
        assert_eq!(first.settled(transmitted(1)), transmitted(1));
        let drops = [&own, &remote].map(|port| port.counters().total_drops());
        assert_eq!(drops, [1, 0], "it is listed once");
    }
}
