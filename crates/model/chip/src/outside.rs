//! Hosts at ports of chips. The caller of the simulation simulates them, and gets the frames that arrive at them.

use crate::books::Loss;
use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::link::{Link, LinkSpec};
use crate::network::{Network, NetworkError, Observer, Place};
use crate::pacer::Picos;
use crate::port::WireEnd;
use forebay_packet::SplitMix64;
use forebay_pipeline::{FrameBuffer, IngressPacket};
use std::collections::VecDeque;

/// Something comes to a host.
#[derive(Clone)]
pub enum HostEvent {
    /// The last byte of a frame.
    Frame {
        /// The host's number.
        host: u16,
        /// The frame, without its check sequence.
        frame: FrameBuffer,
    },
    /// The chip pauses the host, or lets it continue (IEEE 802.1Qbb).
    Pause {
        /// The host's number.
        host: u16,
        /// The queue of the chip that is full.
        queue: u8,
        /// Whether it is to send nothing.
        is_paused: bool,
    },
}

/// The other end of a port's wire: the sender that a pause frame of the port stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upstream {
    pub(crate) peer: Peer,
    pub(crate) delay: Picos,
}

/// The other end of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    Port(Place),
    Host(u16),
}

/// A host's line from its port.
struct HostLine {
    loss: f64,
    random: SplitMix64,
}

/// All that leads from chips elsewhere.
#[derive(Default)]
pub(crate) struct Wires {
    pub(crate) links: Vec<Link>,
    hosts: Vec<HostLine>,
    /// Events of hosts that the caller has not taken yet.
    pub(crate) for_hosts: VecDeque<HostEvent>,
}

impl Network {
    /// Joins a host to a port, by a line in both directions; the host's number, from 0. The rate, the delay and the
    /// losses of the specification are those of frames to the host; what the host sends [arrives](Network::arrive) when
    /// the caller says.
    ///
    /// # Errors
    /// When there is no such port, or it leads elsewhere already.
    pub fn attach(&mut self, place: Place, line: &LinkSpec) -> Result<u16, NetworkError> {
        let host = self.wires.hosts.len() as u16;
        self.lead(place, WireEnd::Host(host), line)?;
        self.port_mut(place).upstream = Some(Upstream {
            peer: Peer::Host(host),
            delay: line.delay_ps,
        });
        self.wires.hosts.push(HostLine {
            loss: line.loss,
            random: SplitMix64::new(line.seed),
        });
        Ok(host)
    }

    /// The next of what has come to hosts.
    pub fn take_host_event(&mut self) -> Option<HostEvent> {
        self.wires.for_hosts.pop_front()
    }
}

/// A frame at the end of a line comes to its host, unless it was lost.
pub(crate) fn to_host<O: Observer>(
    chip: &mut Chip,
    wires: &mut Wires,
    (from, host): (u16, u16),
    packet: IngressPacket,
    context: &mut Context<'_, O>,
) {
    let line = &mut wires.hosts[usize::from(host)];
    if line.loss > 0.0 && line.random.chance(line.loss) {
        chip.lose(from, packet.tag, Loss::LinkLoss, context);
        return chip.worker_of(from).discard_arrived(packet);
    }
    chip.books.transmitted += 1;
    let tag = packet.tag;
    let frame = chip.worker_of(from).into_bytes(packet);
    let place = Place {
        chip: chip.number,
        port: from,
    };
    context.observer.departed(place, &frame, tag, context.now);
    wires.for_hosts.push_back(HostEvent::Frame { host, frame });
}

/// A pause of a queue, as the index of an event: port, queue, whether it begins.
pub(crate) fn pause_index(port: u16, queue: usize, is_paused: bool) -> u16 {
    port * 16 + queue as u16 * 2 + u16::from(is_paused)
}

/// A pause frame has reached the other end of its port's wire.
pub(crate) fn pause<O: Observer>(chips: &mut [Chip], wires: &mut Wires, index: u16, context: &mut Context<'_, O>) {
    let (port, queue, is_paused) = (index / 16, index / 2 % 8, index % 2 == 1);
    let upstream = chips[usize::from(context.chip)].ports[usize::from(port)].upstream;
    match upstream.map(|upstream| upstream.peer) {
        None => {}
        Some(Peer::Host(host)) => wires.for_hosts.push_back(HostEvent::Pause {
            host,
            queue: queue as u8,
            is_paused,
        }),
        Some(Peer::Port(place)) => {
            let port = &mut chips[usize::from(place.chip)].ports[usize::from(place.port)];
            if port.pause(queue as usize, is_paused) {
                let time = context.now.max(port.free_at);
                let sender = std::mem::replace(&mut context.chip, place.chip);
                context.schedule(time, Kind::PortReady, place.port);
                context.chip = sender;
            }
        }
    }
}
