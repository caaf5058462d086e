//! Between ingress and egress: whether there is room for a packet, and when a port takes the next one.

use crate::books::Loss;
use crate::buffer::PacketBuffer;
use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::network::Observer;
use crate::pacer::Picos;
use crate::port::{Port, Waiting};
use forebay_pipeline::QueuedPacket;

/// What the traffic manager needs of a packet, stored apart so that the packet's memory is not accessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    egress_port: u32,
    length: u32,
    priority: u8,
    /// Parts of cycles that the egress parser will take for it.
    parse_parts: u32,
}

impl Wanted {
    #[inline]
    pub(crate) fn of(packet: &QueuedPacket, parse_parts: u32) -> Wanted {
        Wanted {
            egress_port: packet.egress_port,
            length: packet.length(),
            priority: packet.priority,
            parse_parts,
        }
    }
}

impl Chip {
    /// Into the queue of the packet's port and priority; the egress parser will take this many parts of cycles for it.
    pub(crate) fn enqueue<O: Observer>(
        &mut self,
        packet: QueuedPacket,
        from: u16,
        parse_parts: u32,
        context: &mut Context<'_, O>,
    ) {
        let wanted = Wanted::of(&packet, parse_parts);
        self.enqueue_as(packet, wanted, from, context);
    }

    /// Does the same with a packet whose memory has been accessed already.
    #[inline(always)]
    pub(crate) fn enqueue_as<O: Observer>(
        &mut self,
        packet: QueuedPacket,
        wanted: Wanted,
        from: u16,
        context: &mut Context<'_, O>,
    ) {
        let Wanted {
            egress_port: index,
            length,
            priority,
            parse_parts,
        } = wanted;
        let Some(port) = self.ports.get_mut(index as usize) else {
            return self.beyond_ports(packet, wanted, from, context);
        };
        let cells = self.buffer.cells_of(length);
        let queue_index = port.queues.of_priority(priority);
        let queue = port.queues.get(queue_index);
        let room = if queue.has_room(length) {
            self.buffer.take(cells, queue.cells)
        } else {
            Err(Loss::QueueFull)
        };
        let (room, in_headroom) = match (room, &mut self.pfc) {
            (Err(loss), Some(pfc)) => (pfc.take_headroom(from, queue_index, length, loss), true),
            (room, _) => (room, false),
        };
        if let Err(loss) = room {
            return self.lose_queued(packet, index as u16, loss, context);
        }
        let waiting = Waiting {
            depth: queue.len() as u32,
            packet,
            length,
            cells: if in_headroom { 0 } else { cells },
            parse_parts,
            enqueued: context.now,
            from,
            in_headroom,
        };
        port.queues.push(queue_index, waiting);
        if !port.is_scheduled {
            port.is_scheduled = true;
            let time = context.now.max(port.free_at);
            context.schedule(time, Kind::PortReady, index as u16);
        }
        if self.pfc.is_some() {
            self.hold(from, queue_index, length, context);
        }
    }

    /// A packet for a port that the chip has not: one that the architecture recirculates goes round through the queue
    /// of the port that it came from, others are lost.
    #[cold]
    fn beyond_ports<O: Observer>(
        &mut self,
        packet: QueuedPacket,
        wanted: Wanted,
        from: u16,
        context: &mut Context<'_, O>,
    ) {
        let goes_round = self.pipeline().recirculation_port() == Some(wanted.egress_port);
        let own = Wanted {
            egress_port: from.into(),
            ..wanted
        };
        if goes_round && usize::from(from) < self.ports.len() {
            self.enqueue_as(packet, own, from, context)
        } else {
            self.lose_queued(packet, from, Loss::NoSuchPort, context)
        }
    }

    #[cold]
    fn lose_queued<O: Observer>(&mut self, packet: QueuedPacket, port: u16, loss: Loss, context: &mut Context<'_, O>) {
        self.lose(port, packet.tag, loss, context);
        self.worker_of(port).discard(packet);
    }
}

impl Port {
    /// Takes the packet that a port sends next. Also returns the number of packets that remain in its queue.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, now: Picos, buffer: &mut PacketBuffer) -> Option<(Waiting, u32)> {
        let queue_index = self.scheduler.next(&self.queues)?;
        let held = self.queues.get(queue_index).cells;
        let mut waiting = self.queues.pop(queue_index, now)?;
        waiting.packet.priority = queue_index as u8;
        buffer.give(waiting.cells, held);
        Some((waiting, self.queues.get(queue_index).len() as u32))
    }
}
