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
        if let Err(loss) = self.admit(&packet, length) {
            return self.lose_queued(packet, index as u16, loss, context);
        }
        let cells = self.buffer.cells_of(length);
        let port = &mut self.ports[index as usize];
        let queue_index = usize::from(packet.priority).min(port.queues.0.len() - 1);
        let queue = &mut port.queues.0[queue_index];
        queue.push(Waiting {
            depth: queue.len() as u32,
            packet,
            length,
            cells,
            enqueued: context.now,
        });
        port.backlog += 1;
        if !port.is_scheduled {
            port.is_scheduled = true;
            let time = context.now.max(port.free_at);
            context.schedule(time, Kind::PortReady, index as u16);
        }
    }

    fn admit(&mut self, packet: &QueuedPacket, length: u32) -> Result<(), Loss> {
        let queues = &self.ports[packet.egress_port as usize].queues.0;
        let queue = &queues[usize::from(packet.priority).min(queues.len() - 1)];
        if queue.capacity_bytes > 0 && queue.bytes + u64::from(length) > queue.capacity_bytes {
            return Err(Loss::QueueFull);
        }
        let held = queue.cells;
        self.buffer.take(self.buffer.cells_of(length), held)
    }

    /// The packet that a port sends next.
    pub(crate) fn dequeue(&mut self, index: u16, now: u64) -> Option<(Waiting, u32)> {
        let port = &mut self.ports[usize::from(index)];
        let queue_index = port.scheduler.next(&port.queues)?;
        let queue = &mut port.queues.0[queue_index];
        let mut waiting = queue.pop(now)?;
        waiting.packet.priority = queue_index as u8;
        port.backlog -= 1;
        self.buffer.give(waiting.cells);
        Some((waiting, queue.len() as u32))
    }

    fn lose_queued<O: Observer>(&mut self, packet: QueuedPacket, port: u16, loss: Loss, context: &mut Context<'_, O>) {
        self.lose(port, packet.tag, loss, context);
        self.worker.discard(packet);
    }
}
