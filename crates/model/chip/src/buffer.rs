//! The packet buffer that all queues of a chip share, in cells.
//!
//! A packet takes whole cells. How many a queue may hold depends on how many are free: when few queues are busy each may
//! grow long, when many are, each keeps short and room is left for those that begin (dynamic thresholds; Choudhury and
//! Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

use crate::books::Loss;
use crate::division::Divisor;
use crate::spec;

#[derive(Debug)]
pub(crate) struct PacketBuffer {
    cell_bytes: u32,
    by_cell: Divisor,
    threshold_percent: u64,
    cells: u64,
    used: u64,
    used_max: u64,
}

impl PacketBuffer {
    pub(crate) fn new(spec: &spec::Buffer) -> PacketBuffer {
        PacketBuffer {
            cell_bytes: spec.cell_bytes,
            by_cell: Divisor::new(spec.cell_bytes.into()),
            threshold_percent: spec.threshold_percent.into(),
            cells: spec.bytes / u64::from(spec.cell_bytes),
            used: 0,
            used_max: 0,
        }
    }

    /// Cells of a packet.
    #[inline]
    pub(crate) fn cells_of(&self, bytes: u32) -> u32 {
        let (before_last, _) = self.by_cell.divide(u64::from(bytes.max(1) - 1));
        before_last as u32 + 1
    }

    /// Takes cells for a packet of a queue that holds `held` of them.
    #[inline]
    pub(crate) fn take(&mut self, cells: u32, held: u64) -> Result<(), Loss> {
        let cells = u64::from(cells);
        let free = self.cells - self.used;
        if cells > free {
            return Err(Loss::BufferFull);
        }
        if self.threshold_percent > 0 && (held + cells) * 100 > free * self.threshold_percent {
            return Err(Loss::QueueThreshold);
        }
        self.used += cells;
        self.used_max = self.used_max.max(self.used);
        Ok(())
    }

    #[inline]
    pub(crate) fn give(&mut self, cells: u32) {
        self.used -= u64::from(cells);
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used * u64::from(self.cell_bytes)
    }

    pub(crate) fn used_max_bytes(&self) -> u64 {
        self.used_max * u64::from(self.cell_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_queue_may_hold_half_of_the_buffer_with_a_threshold_of_one() {
        let mut buffer = PacketBuffer::new(&spec::Buffer {
            bytes: 1_000,
            cell_bytes: 10,
            threshold_percent: 100,
        });
        let mut held = 0;
        while buffer.take(1, held).is_ok() {
            held += 1;
        }
        assert_eq!(held, 50);
        assert_eq!(buffer.take(1, held), Err(Loss::QueueThreshold));
        assert_eq!(buffer.take(51, 0), Err(Loss::BufferFull));
        assert_eq!(buffer.take(25, 0), Ok(()), "another queue still finds room");
        assert_eq!((buffer.used_bytes(), buffer.cells_of(1500)), (750, 150));
    }
}
