//! Between ingress and egress: whether there is room for a packet, and when a port takes the next one.

use crate::books::Loss;
use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::network::Observer;
use crate::port::Waiting;
use forebay_pipeline::QueuedPacket;

impl Chip {
    /// Into the queue of the packet's port and priority; a priority for which there is no queue goes to the last.
    pub(crate) fn enqueue<O: Observer>(&mut self, packet: QueuedPacket, from: u16, context: &mut Context<'_, O>) {
        let index = packet.egress_port;
        if index as usize >= self.ports.len() {
            return self.lose_queued(packet, from, Loss::NoSuchPort, context);
        }
        let length = packet.length();
        let cells = self.buffer.cells_of(length);
        let port = &mut self.ports[index as usize];
        let queue_index = usize::from(packet.priority).min(port.queues.count() - 1);
        let queue = port.queues.get(queue_index);
        let room = if queue.has_room(length) {
            self.buffer.take(cells, queue.cells)
        } else {
            Err(Loss::QueueFull)
        };
        if let Err(loss) = room {
            return self.lose_queued(packet, index as u16, loss, context);
        }
        let depth = queue.len() as u32;
        port.queues.push(
            queue_index,
            Waiting {
                depth,
                packet,
                length,
                cells,
                enqueued: context.now,
            },
        );
        port.backlog += 1;
        if !port.is_scheduled {
            port.is_scheduled = true;
            let time = context.now.max(port.free_at);
            context.schedule(time, Kind::PortReady, index as u16);
        }
    }

    /// The packet that a port sends next.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, index: u16, now: u64) -> Option<(Waiting, u32)> {
        let port = &mut self.ports[usize::from(index)];
        let queue_index = port.scheduler.next(&port.queues)?;
        let mut waiting = port.queues.pop(queue_index, now)?;
        waiting.packet.priority = queue_index as u8;
        port.backlog -= 1;
        self.buffer.give(waiting.cells);
        Some((waiting, port.queues.get(queue_index).len() as u32))
    }

    fn lose_queued<O: Observer>(&mut self, packet: QueuedPacket, port: u16, loss: Loss, context: &mut Context<'_, O>) {
        self.lose(port, packet.tag, loss, context);
        self.worker.discard(packet);
    }
}
