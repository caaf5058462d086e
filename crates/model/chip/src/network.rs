//! Chips, links, and the time that passes.

use crate::books::{Books, Loss};
use crate::chip::{Chip, ChipConfig, Context};
use crate::drops::ProgramDrop;
use crate::events::{EventQueue, Kind, Subject};
use crate::fault::{Fault, FaultSpec};
use crate::link::{Link, LinkSpec};
use crate::outside::{Peer, Upstream, Wires, pause, to_host};
use crate::pacer::{Pacer, Picos};
use crate::parser_channel::Origin;
use crate::port::{Port, PortReport, QueueSample, WireEnd};
use forebay_pipeline::{DigestMessage, DropReason, FrameBuffer, IngressPacket, InstanceType, Pipeline};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A port of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index of the chip, in the order in which they were added.
    pub chip: u16,
    /// Number of the port.
    pub port: u16,
}

/// Is told what becomes of packets, and where they are meanwhile.
pub trait Observer {
    /// A frame leaves by a port that leads outside; `time` is when its last byte has left, which may be later than now.
    fn departed(&mut self, _place: Place, _frame: &[u8], _tag: u64, _time: Picos) {}

    /// The chip loses a packet at this port.
    fn lost(&mut self, _place: Place, _loss: Loss, _tag: u64, _time: Picos) {}

    /// The program drops a packet; the port is that by which it came to ingress, or that of egress.
    fn dropped(&mut self, _place: Place, _drop: ProgramDrop, _tag: u64, _time: Picos) {}

    /// Whether it is wanted where in its source the program decides to drop packets. The reference executor executes the
    /// program meanwhile, which is slower.
    fn wants_locations(&self) -> bool {
        false
    }

    /// A packet is in a part of the chip for this time, whose end may be later than now.
    fn inside(&mut self, _place: Place, _part: Part, _tag: u64, _from: Picos, _until: Picos) {}
}

/// A part of a chip that packets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The ingress parser of a port.
    Parser,
    /// The ingress pipeline after the parser of a port.
    Ingress,
    /// The queue of a port with this number.
    Queue(u8),
    /// The egress pipeline of a port, with its parser.
    Egress,
    /// The wire of a port.
    Wire,
}

/// An observer that ignores everything.
pub struct NoObserver;

impl Observer for NoObserver {}

/// A link from one port to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Where frames come from.
    pub from: Place,
    /// Where they go.
    pub to: Place,
    /// What happens on the way.
    pub link: LinkSpec,
}

/// Why the requested network cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// There is no such chip.
    NoSuchChip(u16),
    /// The chip has no such port.
    NoSuchPort(Place),
    /// The port's wire leads elsewhere already.
    PortTaken(Place),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::NoSuchChip(chip) => write!(f, "there is no chip {chip}"),
            NetworkError::NoSuchPort(Place { chip, port }) => write!(f, "chip {chip} has no port {port}"),
            NetworkError::PortTaken(Place { chip, port }) => {
                write!(
                    f,
                    "port {port} of chip {chip} is a loopback port, or has a link or a host already"
                )
            }
        }
    }
}

impl std::error::Error for NetworkError {}

/// Why [`Network::advance`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is the time that [`Network::wake_at`] named, with its number.
    Wake(u16),
    /// Something has come to a host: [`Network::take_host_event`].
    Host,
    /// Nothing is left to happen until then.
    Until,
}

/// Chips joined by links, at a point in time.
#[derive(Default)]
pub struct Network {
    chips: Vec<Chip>,
    pub(crate) wires: Wires,
    events: EventQueue,
    now: Picos,
}

impl Network {
    /// Without chips, at time 0.
    pub fn new() -> Network {
        Network::default()
    }

    /// Adds a chip; its index.
    ///
    /// # Errors
    /// When a port is configured that the chip does not have.
    pub fn add_chip(&mut self, config: ChipConfig) -> Result<u16, NetworkError> {
        let chip = self.chips.len() as u16;
        let known = |port: &u16| *port < config.spec.ports.count;
        if let Some(port) = config.ports.iter().map(|port| port.number).find(|port| !known(port)) {
            return Err(NetworkError::NoSuchPort(Place { chip, port }));
        }
        self.chips.push(Chip::new(chip, config));
        Ok(chip)
    }

    /// Leads a port's wire to another port, in this direction only.
    ///
    /// # Errors
    /// When one of the ports does not exist, or the first leads elsewhere already.
    pub fn connect(&mut self, connection: &Connection) -> Result<(), NetworkError> {
        let Connection { from, to, link } = connection;
        self.check(*to)?;
        let index = self.wires.links.len() as u16;
        self.lead(*from, WireEnd::Link(index), link)?;
        self.port_mut(*to).upstream = Some(Upstream {
            peer: Peer::Port(*from),
            delay: link.delay_ps,
        });
        self.wires.links.push(Link::new(link, to.chip, to.port));
        Ok(())
    }

    /// Leads a port's wire somewhere.
    pub(crate) fn lead(&mut self, from: Place, end: WireEnd, link: &LinkSpec) -> Result<(), NetworkError> {
        self.check(from)?;
        let chip = &mut self.chips[usize::from(from.chip)];
        let port = &mut chip.ports[usize::from(from.port)];
        if port.wire_end != WireEnd::Outside {
            return Err(NetworkError::PortTaken(from));
        }
        port.wire_end = end;
        port.link_delay = link.delay_ps;
        if link.bits_per_second > 0 && link.bits_per_second < port.bits_per_second {
            port.wire = Pacer::new(link.bits_per_second);
        }
        Ok(())
    }

    /// A port that exists.
    pub(crate) fn port_mut(&mut self, place: Place) -> &mut Port {
        &mut self.chips[usize::from(place.chip)].ports[usize::from(place.port)]
    }

    /// Lets things go wrong on a port's wire, for frames that do not leave the network.
    ///
    /// # Errors
    /// When there is no such port.
    pub fn add_fault(&mut self, place: Place, fault: &FaultSpec) -> Result<(), NetworkError> {
        self.check(place)?;
        let port = &mut self.chips[usize::from(place.chip)].ports[usize::from(place.port)];
        port.faults.push(Fault::new(fault));
        Ok(())
    }

    fn check(&self, place: Place) -> Result<(), NetworkError> {
        let chip = self.chips.get(usize::from(place.chip));
        let chip = chip.ok_or(NetworkError::NoSuchChip(place.chip))?;
        match chip.ports.get(usize::from(place.port)) {
            Some(_) => Ok(()),
            None => Err(NetworkError::NoSuchPort(place)),
        }
    }

    /// The present time.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Events scheduled so far: the work that the simulation had.
    pub fn events(&self) -> u64 {
        self.events.scheduled()
    }

    /// Whether nothing is left to happen.
    pub fn is_idle(&self) -> bool {
        self.events.is_empty()
    }

    /// When something happens next, if nothing comes from outside before.
    pub fn next_event(&self) -> Option<Picos> {
        self.events.next_time()
    }

    /// Requests [`Stop::Wake`] with this number at a time that is not in the past.
    pub fn wake_at(&mut self, time: Picos, number: u16) {
        let subject = Subject { chip: 0, index: number };
        self.events.schedule(time.max(self.now), Kind::Wake, subject);
    }

    /// The last byte of a frame from outside comes to a port that exists, now. The tag goes with the packet and all
    /// that is made of it.
    pub fn arrive<O: Observer>(&mut self, place: Place, frame: &[u8], tag: u64, observer: &mut O) {
        let chip = &mut self.chips[usize::from(place.chip)];
        let mut bytes = chip.worker_of(place.port).buffer();
        bytes.extend_from_slice(frame);
        let context = &mut Context {
            now: self.now,
            chip: place.chip,
            events: &mut self.events,
            observer,
        };
        receive(chip, place.port, bytes, tag, context);
    }

    /// Lets time pass until the next requested wake-up, or until the given time.
    pub fn advance<O: Observer>(&mut self, until: Picos, observer: &mut O) -> Stop {
        let stop = self.pass(until, observer);
        if stop == Stop::Until {
            self.now = self.now.max(until);
        }
        stop
    }

    /// Handles all pending events, but no longer than until the given time; the time is then that of the last event.
    /// Wake-ups, and frames that arrive at hosts, are discarded.
    pub fn settle<O: Observer>(&mut self, until: Picos, observer: &mut O) {
        while self.pass(until, observer) != Stop::Until {
            self.wires.for_hosts.clear();
        }
    }

    /// Handles events. Tables do not change meanwhile.
    fn pass<O: Observer>(&mut self, until: Picos, observer: &mut O) -> Stop {
        self.pin_tables(true);
        let mut context = Context {
            now: self.now,
            chip: 0,
            events: &mut self.events,
            observer,
        };
        let (chips, wires) = (&mut self.chips[..], &mut self.wires);
        let stop = loop {
            let Some(event) = context.events.next_until(until) else {
                break Stop::Until;
            };
            let Subject { chip, index } = event.subject();
            (context.now, context.chip) = (event.time, chip);
            if event.kind() == Kind::Wake {
                break Stop::Wake(index);
            }
            handle(chips, wires, event.kind(), index, &mut context);
            if !wires.for_hosts.is_empty() {
                break Stop::Host;
            }
        };
        self.now = context.now;
        self.pin_tables(false);
        stop
    }

    fn pin_tables(&mut self, pinned: bool) {
        self.chips.iter_mut().for_each(|chip| chip.pin_tables(pinned));
    }

    /// The number of chips. Their indices are the numbers below it.
    pub fn chips(&self) -> u16 {
        self.chips.len() as u16
    }

    /// The books of a chip: the balance of its packets.
    pub fn books(&self, chip: u16) -> &Books {
        &self.chips[usize::from(chip)].books
    }

    /// Clones and digests of a chip's programs that were never made, so that they are in no balance: sessions that do
    /// not exist, and limits.
    pub fn refused(&self, chip: u16) -> BTreeMap<DropReason, u64> {
        let reasons = [
            DropReason::NoCloneSession,
            DropReason::CloneLimit,
            DropReason::DigestLimit,
        ];
        let workers = &self.chips[usize::from(chip)].workers;
        let count = |reason| -> u64 {
            let counts = workers.iter().map(|worker| worker.pipeline().drops().get(reason));
            counts.sum()
        };
        let counts = reasons.into_iter().map(|reason| (reason, count(reason)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Compares, chip by chip, the number of packets inside according to the books with the number that is counted
    /// there.
    ///
    /// # Errors
    /// When they differ, which is a mistake of ours.
    pub fn audit(&self) -> Result<(), String> {
        for chip in &self.chips {
            let (booked, counted) = (chip.books.inside(), chip.packets());
            if booked != counted {
                return Err(format!(
                    "chip {}: {booked} packets inside by the books, {counted} counted",
                    chip.number
                ));
            }
        }
        Ok(())
    }

    /// The program of a chip with its tables, and with the state of its first pipeline.
    pub fn pipeline(&self, chip: u16) -> &Arc<Pipeline> {
        self.chips[usize::from(chip)].pipeline()
    }

    /// What a port has carried so far.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn port(&self, place: Place) -> PortReport {
        self.chips[usize::from(place.chip)].ports[usize::from(place.port)].report(self.now)
    }

    /// What waits in a queue that exists.
    pub fn queue(&self, place: Place, queue: usize) -> QueueSample {
        let port = &self.chips[usize::from(place.chip)].ports[usize::from(place.port)];
        port.queues.get(queue).sample()
    }

    /// Queues of a port that exists.
    pub fn queue_count(&self, place: Place) -> usize {
        self.chips[usize::from(place.chip)].ports[usize::from(place.port)]
            .queues
            .count()
    }

    /// Bytes of the packet buffer that are taken now, and the most that were at any time.
    pub fn buffer_bytes(&self, chip: u16) -> (u64, u64) {
        let buffer = &self.chips[usize::from(chip)].buffer;
        (buffer.used_bytes(), buffer.used_max_bytes())
    }

    /// Bytes of a cell of the packet buffer, which packets take as a whole.
    pub fn cell_bytes(&self, chip: u16) -> u32 {
        self.chips[usize::from(chip)].buffer.cell_bytes()
    }

    /// The most bytes that were in headroom at any time.
    pub fn headroom_max_bytes(&self, chip: u16) -> u64 {
        let pfc = &self.chips[usize::from(chip)].pfc;
        pfc.as_ref().map_or(0, |pfc| pfc.headroom_max)
    }

    /// Messages to the control plane since the last call, and how many more were lost since the beginning.
    pub fn take_digests(&mut self, chip: u16) -> (Vec<DigestMessage>, u64) {
        let chip = &mut self.chips[usize::from(chip)];
        (std::mem::take(&mut chip.digests), chip.digests_lost)
    }
}

/// Something happens to a part of the context's chip.
#[inline(always)]
fn handle<O: Observer>(chips: &mut [Chip], wires: &mut Wires, kind: Kind, index: u16, context: &mut Context<'_, O>) {
    let chip = &mut chips[usize::from(context.chip)];
    match kind {
        Kind::Parsed => chip.parsed(index, context),
        Kind::IngressDone => chip.ingress_done(index, context),
        Kind::CloneDone => chip.clone_done(context),
        Kind::PortReady => chip.port_ready(index, context),
        Kind::Delivered => {
            let port = &mut chip.ports[usize::from(index)];
            let frame = port.take_delivered(index, context);
            if matches!(port.wire_end, WireEnd::Link(_) | WireEnd::Host(_)) || !port.faults.is_empty() {
                return deliver_what_faults_leave(chips, wires, index, frame.packet, context);
            }
            if let Err((loss, frame)) = port.arrive(index, Origin::Recirculated, frame, &chip.timing, context) {
                chip.lose_arrived(index, frame, loss, context);
            }
        }
        Kind::Late => {
            let frame = chip.late.take(context.now, index);
            deliver(chips, wires, index, frame, context);
        }
        Kind::Pause => pause(chips, wires, index, context),
        Kind::Wake => {}
    }
}

#[inline(never)]
fn deliver_what_faults_leave<O: Observer>(
    chips: &mut [Chip],
    wires: &mut Wires,
    index: u16,
    frame: IngressPacket,
    context: &mut Context<'_, O>,
) {
    let frames = chips[usize::from(context.chip)].pass_faults(index, frame, context);
    for frame in frames.into_iter().flatten() {
        deliver(chips, wires, index, frame, context);
    }
}

/// A frame is at the other end of a port's wire. What was recirculated comes back into the port, wherever that leads.
fn deliver<O: Observer>(
    chips: &mut [Chip],
    wires: &mut Wires,
    index: u16,
    packet: IngressPacket,
    context: &mut Context<'_, O>,
) {
    let chip = &mut chips[usize::from(context.chip)];
    match chip.ports[usize::from(index)].wire_end {
        WireEnd::Link(link) if packet.instance_type() == InstanceType::Normal => {
            cross(chips, &mut wires.links[usize::from(link)], index, packet, context);
        }
        WireEnd::Host(host) if packet.instance_type() == InstanceType::Normal => {
            to_host(chip, wires, (index, host), packet, context);
        }
        _ => chip.arrive(index, Origin::Recirculated, packet, context),
    }
}

/// A frame at the end of a link comes into the other chip, unless it was lost.
fn cross<O: Observer>(
    chips: &mut [Chip],
    link: &mut Link,
    from: u16,
    packet: IngressPacket,
    context: &mut Context<'_, O>,
) {
    let chip = &mut chips[usize::from(context.chip)];
    if link.loses() {
        chip.lose(from, packet.tag, Loss::LinkLoss, context);
        return chip.worker_of(from).discard_arrived(packet);
    }
    chip.books.transmitted += 1;
    let tag = packet.tag;
    let bytes = chip.worker_of(from).into_bytes(packet);
    let sender = std::mem::replace(&mut context.chip, link.to_chip);
    receive(&mut chips[usize::from(link.to_chip)], link.to_port, bytes, tag, context);
    context.chip = sender;
}

fn receive<O: Observer>(chip: &mut Chip, port: u16, bytes: FrameBuffer, tag: u64, context: &mut Context<'_, O>) {
    chip.books.received += 1;
    let report = &mut chip.ports[usize::from(port)].report;
    report.received_frames += 1;
    report.received_bytes += bytes.len() as u64;
    let packet = chip.arriving(bytes, port, tag);
    chip.arrive(port, Origin::New, packet, context);
}
