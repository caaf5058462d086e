//! Priority flow control (IEEE 802.1Qbb): a port whose packets fill the buffer stops the sender at the other end of its
//! link, queue by queue.
//!
//! What came by a port and waits in a queue of that number, at any port, is counted together. When it is more than a
//! limit, the port sends a pause frame; when it is little enough, another one that ends the pause. What comes in
//! between and finds no room in the pool goes into the headroom that each port and queue has for it.

use crate::books::Loss;
use crate::chip::{Chip, Context};
use crate::events::Kind;
use crate::network::Observer;
use crate::outside::pause_index;
use forebay_packet::scheduler::QUEUES_MAX;

/// Priority flow control of a chip, at all of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcConfig {
    /// A bit for each queue whose packets are not to be lost, the lowest for queue 0.
    pub queues: u8,
    /// Bytes of a port and queue in the packet buffer above which the other end of the port is paused.
    pub pause_above_bytes: u64,
    /// Bytes up to which it may go on.
    pub resume_below_bytes: u64,
    /// Bytes that each port and queue has beside the pool.
    pub headroom_bytes: u64,
}

/// Bytes of a pause frame on the wire.
const PAUSE_BYTES: u64 = 84;

/// What of a port waits in queues of one number.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: u64,
    headroom: u64,
    is_paused: bool,
}

/// Flow control at work.
#[derive(Debug)]
pub(crate) struct Pfc {
    config: PfcConfig,
    /// By port and queue.
    held: Vec<[Held; QUEUES_MAX]>,
    headroom: u64,
    pub(crate) headroom_max: u64,
}

impl Pfc {
    pub(crate) fn new(config: PfcConfig, ports: u16) -> Pfc {
        Pfc {
            config,
            held: vec![[Held::default(); QUEUES_MAX]; ports.into()],
            headroom: 0,
            headroom_max: 0,
        }
    }

    fn covers(&self, queue: usize) -> bool {
        self.config.queues >> queue & 1 == 1
    }

    /// Takes headroom for a packet that the pool has no room for.
    ///
    /// # Errors
    /// Why the packet is lost: `otherwise` in a queue without flow control, or because the headroom is full.
    pub(crate) fn take_headroom(&mut self, from: u16, queue: usize, length: u32, otherwise: Loss) -> Result<(), Loss> {
        if !self.covers(queue) {
            return Err(otherwise);
        }
        let held = &mut self.held[usize::from(from)][queue];
        if held.headroom + u64::from(length) > self.config.headroom_bytes {
            return Err(Loss::HeadroomFull);
        }
        held.headroom += u64::from(length);
        self.headroom += u64::from(length);
        self.headroom_max = self.headroom_max.max(self.headroom);
        Ok(())
    }

    /// Counts a packet that waits. Returns whether a pause begins.
    fn count(&mut self, from: u16, queue: usize, length: u32) -> bool {
        if !self.covers(queue) {
            return false;
        }
        let held = &mut self.held[usize::from(from)][queue];
        held.bytes += u64::from(length);
        let begins = !held.is_paused && held.bytes > self.config.pause_above_bytes;
        held.is_paused |= begins;
        begins
    }

    /// Counts a packet that has left its queue. Returns whether a pause ends.
    fn release(&mut self, from: u16, queue: usize, length: u32, in_headroom: bool) -> bool {
        if !self.covers(queue) {
            return false;
        }
        let held = &mut self.held[usize::from(from)][queue];
        held.bytes -= u64::from(length);
        if in_headroom {
            held.headroom -= u64::from(length);
            self.headroom -= u64::from(length);
        }
        let ends = held.is_paused && held.bytes <= self.config.resume_below_bytes;
        held.is_paused &= !ends;
        ends
    }
}

impl Chip {
    /// Counts a packet that came by a port and waits in a queue. Sends a pause frame if there are too many.
    #[inline(never)]
    pub(crate) fn hold<O: Observer>(&mut self, from: u16, queue: usize, length: u32, context: &mut Context<'_, O>) {
        if self.pfc.as_mut().is_some_and(|pfc| pfc.count(from, queue, length)) {
            self.ports[usize::from(from)].report.pauses_sent += 1;
            self.send_pause(from, queue, true, context);
        }
    }

    /// Counts a packet that has left its queue. Ends the pause of its port if there is room again.
    #[inline(never)]
    pub(crate) fn release<O: Observer>(
        &mut self,
        from: u16,
        queue: usize,
        (length, in_headroom): (u32, bool),
        context: &mut Context<'_, O>,
    ) {
        let pfc = self.pfc.as_mut();
        if pfc.is_some_and(|pfc| pfc.release(from, queue, length, in_headroom)) {
            self.send_pause(from, queue, false, context);
        }
    }

    /// A pause frame goes out after the frame that is on the wire.
    fn send_pause<O: Observer>(&mut self, port: u16, queue: usize, is_paused: bool, context: &mut Context<'_, O>) {
        let of_port = &self.ports[usize::from(port)];
        let Some(upstream) = of_port.upstream else { return };
        let begins = context.now.max(of_port.wire_free_at);
        // Computed on a copy: the pause frame does not delay the frames after it.
        let takes = of_port.wire.clone().take(8 * PAUSE_BYTES);
        let index = pause_index(port, queue, is_paused);
        context.schedule(begins + takes + upstream.delay, Kind::Pause, index);
    }
}
