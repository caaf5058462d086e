//! The state of a chip, and what it shares among its parts.

use crate::books::{Books, Loss};
use crate::buffer::PacketBuffer;
use crate::drops::ProgramDrop;
use crate::events::{EventQueue, Kind, Subject};
use crate::fault::LateFrames;
use crate::ingress::IngressLine;
use crate::network::{Observer, Part, Place};
use crate::pacer::{Pacer, Picos};
use crate::parser_channel::Origin;
use crate::pfc::{Pfc, PfcConfig};
use crate::port::{Port, PortConfig};
use crate::sharing::ingress_and_egress_share_state;
use crate::spec::ChipSpec;
use crate::timing::Timing;
use forebay_packet::SplitMix64;
use forebay_pipeline::{
    DigestMessage, EgressDecision, FrameBuffer, IngressArguments, IngressPacket, Pipeline, QueuedPacket, Worker,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Digests that may wait for the control plane; further ones are counted and lost.
const DIGESTS_MAX: usize = 1024;

/// A chip with its program.
pub struct ChipConfig {
    /// What kind of chip it is.
    pub spec: ChipSpec,
    /// The program, with its tables and its state: registers and meters.
    pub pipeline: Arc<Pipeline>,
    /// The same program for the second and each further of the chip's pipelines, when each has registers and meters of
    /// its own; none when all share those of [`ChipConfig::pipeline`].
    pub of_other_pipes: Vec<Arc<Pipeline>>,
    /// The ports that are not as the specification has them.
    pub ports: Vec<PortConfig>,
    /// How many groups of ports there are that carry what these carry, of which one is simulated: what their queues
    /// hold is taken so often from the packet buffer. Usually 1.
    pub alike: u32,
    /// Priority flow control, if there is any.
    pub pfc: Option<PfcConfig>,
    /// Begins the sequence of random numbers that programs see.
    pub seed: u64,
}

/// A pipeline of the chip: it takes one packet a clock into ingress, and one into egress.
pub(crate) struct Pipe {
    pub(crate) ingress: Clock,
    pub(crate) egress: Clock,
}

/// When a pipeline takes packets in.
pub(crate) struct Clock {
    period: Pacer,
    /// Units of `period` that a packet takes.
    packets: u64,
    next: Picos,
}

impl Clock {
    /// The clock of the fullest pipeline. `alike` groups of ports are spread over `pipelines`, each group in one of
    /// them; one group is simulated, and the packets of the others in its pipeline take their share of the cycles.
    fn new(timing: &Timing, pipelines: u16, alike: u32) -> Clock {
        Clock {
            period: Pacer::new(timing.packets_per_second),
            packets: alike.div_ceil(pipelines.into()).max(1).into(),
            next: 0,
        }
    }

    /// The next tick that no packet has, from `now` on.
    #[inline]
    pub(crate) fn tick(&mut self, now: Picos) -> Picos {
        let tick = now.max(self.next);
        self.next = tick + self.period.take(self.packets);
        tick
    }
}

/// Seeds for the random numbers of each pass, if the program draws any.
pub(crate) struct Seeds(Option<SplitMix64>);

impl Seeds {
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.as_mut().map_or(0, SplitMix64::next_u64)
    }
}

pub(crate) struct Chip {
    pub(crate) number: u16,
    pub(crate) spec: ChipSpec,
    pub(crate) timing: Timing,
    /// One for all pipelines, or one for each when registers and meters belong to a pipeline: [`Port::state`] says
    /// which.
    pub(crate) workers: Vec<Worker>,
    pub(crate) ports: Vec<Port>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) buffer: PacketBuffer,
    pub(crate) pfc: Option<Box<Pfc>>,
    /// Packets in ingress, by worker.
    pub(crate) lines: Vec<IngressLine>,
    /// Clones from egress on their way to the traffic manager, with their time, the port that they come from and what
    /// the egress parser takes for them.
    pub(crate) clones: VecDeque<(Picos, u16, QueuedPacket, u32)>,
    /// Frames that a fault holds up, and those that pass a line.
    pub(crate) late: LateFrames,
    pub(crate) seeds: Seeds,
    pub(crate) books: Books,
    pub(crate) digests: Vec<DigestMessage>,
    pub(crate) digests_lost: u64,
    /// What egress decided about the present packet beside its own frame.
    pub(crate) egress_decisions: Vec<EgressDecision>,
}

/// What a part needs beside its chip to handle an event.
pub(crate) struct Context<'a, O> {
    pub(crate) now: Picos,
    pub(crate) chip: u16,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) observer: &'a mut O,
}

impl<O> Context<'_, O> {
    #[inline]
    pub(crate) fn schedule(&mut self, time: Picos, kind: Kind, index: u16) {
        let chip = self.chip;
        self.events.schedule(time, kind, Subject { chip, index });
    }
}

impl<O: Observer> Context<'_, O> {
    /// Tells that a packet is in a part of this chip.
    #[inline(always)]
    pub(crate) fn inside(&mut self, port: u16, part: Part, tag: u64, (from, until): (Picos, Picos)) {
        let place = Place { chip: self.chip, port };
        self.observer.inside(place, part, tag, from, until);
    }
}

impl Chip {
    pub(crate) fn new(number: u16, config: ChipConfig) -> Chip {
        let ChipConfig {
            spec,
            pipeline,
            of_other_pipes,
            ..
        } = config;
        let timing = Timing::new(&spec, pipeline.program(), pipeline.resubmits());
        let in_bursts = !ingress_and_egress_share_state(pipeline.program());
        let draws_random_numbers = pipeline.program().draws_random_numbers();
        let workers: Vec<Worker> = [pipeline].into_iter().chain(of_other_pipes).map(Worker::new).collect();
        let ports_of_pipe = spec.ports.count.div_ceil(spec.pipelines.count);
        let mut ports: Vec<Port> = (0..spec.ports.count)
            .map(|port| Port::new(&spec, &timing, port / ports_of_pipe, workers.len()))
            .collect();
        for port in &config.ports {
            ports[usize::from(port.number)].configure(port);
        }
        let pipe = |_| Pipe {
            ingress: Clock::new(&timing, spec.pipelines.count, config.alike),
            egress: Clock::new(&timing, spec.pipelines.count, config.alike),
        };
        Chip {
            number,
            pipes: (0..spec.pipelines.count).map(pipe).collect(),
            ports,
            buffer: PacketBuffer::new(&spec.buffer, config.alike),
            pfc: config.pfc.map(|pfc| Box::new(Pfc::new(pfc, spec.ports.count))),
            timing,
            lines: workers.iter().map(|_| IngressLine::new(in_bursts)).collect(),
            clones: VecDeque::new(),
            late: LateFrames::default(),
            seeds: Seeds(draws_random_numbers.then(|| SplitMix64::new(config.seed))),
            books: Books::default(),
            digests: Vec::new(),
            digests_lost: 0,
            egress_decisions: Vec::new(),
            workers,
            spec,
        }
    }

    /// What executes the program for packets of a port.
    #[inline]
    pub(crate) fn worker_of(&mut self, port: u16) -> &mut Worker {
        let state = self.ports[usize::from(port)].state;
        &mut self.workers[usize::from(state)]
    }

    /// The program with the tables and the state of the first pipeline.
    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        self.workers[0].pipeline()
    }

    /// Keeps tables pinned, or lets them go.
    pub(crate) fn pin_tables(&mut self, pinned: bool) {
        self.workers.iter_mut().for_each(|worker| worker.stay_pinned(pinned));
    }

    /// What executes ingress for packets of a pipeline, the packets that are in it, and how long everything takes.
    #[inline]
    pub(crate) fn of_ingress(&mut self, state: u16) -> (&mut Worker, &mut IngressLine, &Timing) {
        let state = usize::from(state);
        (&mut self.workers[state], &mut self.lines[state], &self.timing)
    }

    /// A packet comes to a port's parser.
    #[inline(never)]
    pub(crate) fn arrive<O: Observer>(
        &mut self,
        port: u16,
        origin: Origin,
        packet: IngressPacket,
        context: &mut Context<'_, O>,
    ) {
        let taken = self.ports[usize::from(port)].arrive(port, origin, packet.into(), &self.timing, context);
        if let Err((loss, packet)) = taken {
            self.lose_arrived(port, packet, loss, context);
        }
    }

    #[cold]
    pub(crate) fn lose_arrived<O: Observer>(
        &mut self,
        port: u16,
        packet: IngressPacket,
        loss: Loss,
        context: &mut Context<'_, O>,
    ) {
        self.lose(port, packet.tag, loss, context);
        self.worker_of(port).discard_arrived(packet);
    }

    /// A frame as a packet for the ingress pipeline; the time is set when it enters.
    pub(crate) fn arriving(&mut self, bytes: FrameBuffer, ingress_port: u16, tag: u64) -> IngressPacket {
        let mut packet = self.worker_of(ingress_port).packet(bytes, arguments_of(ingress_port));
        packet.tag = tag;
        packet
    }

    #[cold]
    pub(crate) fn lose<O: Observer>(&mut self, port: u16, tag: u64, loss: Loss, context: &mut Context<'_, O>) {
        self.books.lose(loss);
        let place = Place {
            chip: self.number,
            port,
        };
        context.observer.lost(place, loss, tag, context.now);
    }

    #[inline(never)]
    pub(crate) fn drop_by_program<O: Observer>(
        &mut self,
        port: u16,
        tag: u64,
        drop: ProgramDrop,
        context: &mut Context<'_, O>,
    ) {
        self.books.drop_by_program(drop.reason);
        let place = Place {
            chip: self.number,
            port,
        };
        context.observer.dropped(place, drop, tag, context.now);
    }

    pub(crate) fn keep_digest(&mut self, message: DigestMessage) {
        if self.digests.len() < DIGESTS_MAX {
            self.digests.push(message);
        } else {
            self.digests_lost += 1;
        }
    }

    /// Packets in all its parts, counted one by one.
    pub(crate) fn packets(&self) -> u64 {
        let ports: u64 = self.ports.iter().map(Port::packets).sum();
        let in_ingress: u64 = self.lines.iter().map(IngressLine::packets).sum();
        ports + in_ingress + (self.clones.len() + self.late.len()) as u64
    }
}

/// What a packet brings from a port; time and seed follow when it enters ingress.
#[inline]
pub(crate) fn arguments_of(ingress_port: u16) -> IngressArguments {
    IngressArguments {
        ingress_port: ingress_port.into(),
        ..IngressArguments::default()
    }
}
