//! The packet buffer that all queues of a chip share, in cells.
//!
//! A packet takes whole cells: first those that its queue has for itself, then cells of the pool. How many of the pool
//! a queue may hold depends on how many are free: when few queues are busy each may grow long, when many are, each
//! keeps short and room is left for those that begin (dynamic thresholds; Choudhury and Hahne, IEEE/ACM Transactions on
//! Networking 6(2), 1998).

use crate::books::Loss;
use crate::division::Divisor;
use crate::spec;

#[derive(Debug)]
pub(crate) struct PacketBuffer {
    cell_bytes: u32,
    by_cell: Divisor,
    share_percent: u64,
    base_cells: u64,
    queue_cells: u64,
    /// The number of queues for which each cell is taken: a simulated queue stands for this many equal queues.
    alike: u64,
    /// Cells of the pool, and how many of them are used.
    pool: u64,
    pool_used: u64,
    /// Cells in use, those of the queues included.
    used: u64,
    used_max: u64,
}

impl PacketBuffer {
    pub(crate) fn new(spec: &spec::Buffer, alike: u32) -> PacketBuffer {
        PacketBuffer {
            cell_bytes: spec.cell_bytes,
            by_cell: Divisor::new(spec.cell_bytes.into()),
            share_percent: spec.share_percent.into(),
            base_cells: spec.base_cells,
            queue_cells: spec.queue_cells,
            alike: alike.max(1).into(),
            pool: spec.cells,
            pool_used: 0,
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

    /// The cells of the pool that a queue has if it holds `held` cells in all.
    #[inline]
    fn of_pool(&self, held: u64) -> u64 {
        held.saturating_sub(self.queue_cells)
    }

    pub(crate) fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    /// Takes cells for a packet of a queue that holds `held` of them.
    #[inline]
    pub(crate) fn take(&mut self, cells: u32, held: u64) -> Result<(), Loss> {
        let cells = u64::from(cells);
        let after = self.of_pool(held + cells);
        let more = (after - self.of_pool(held)) * self.alike;
        let free = self.pool - self.pool_used;
        if more > free {
            return Err(Loss::BufferFull);
        }
        let is_beyond_share = self.share_percent > 0 && after * 100 > free * self.share_percent;
        if more > 0 && is_beyond_share && after > self.base_cells {
            return Err(Loss::QueueThreshold);
        }
        self.pool_used += more;
        self.used += cells * self.alike;
        self.used_max = self.used_max.max(self.used);
        Ok(())
    }

    /// Gives back the cells of a packet of a queue that held `held` of them, its own included.
    #[inline]
    pub(crate) fn give(&mut self, cells: u32, held: u64) {
        let cells = u64::from(cells);
        self.pool_used -= (self.of_pool(held) - self.of_pool(held - cells)) * self.alike;
        self.used -= cells * self.alike;
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

    const SPEC: spec::Buffer = spec::Buffer {
        cells: 100,
        cell_bytes: 10,
        share_percent: 100,
        base_cells: 0,
        queue_cells: 0,
    };

    #[test]
    fn one_queue_may_hold_half_of_the_pool_with_a_share_of_one() {
        let mut buffer = PacketBuffer::new(&SPEC, 1);
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

    #[test]
    fn four_times_what_is_free_are_four_fifths_of_the_pool() {
        let spec = spec::Buffer {
            share_percent: 400,
            ..SPEC
        };
        let mut buffer = PacketBuffer::new(&spec, 1);
        let mut held = 0;
        while buffer.take(1, held).is_ok() {
            held += 1;
        }
        assert_eq!(held, 80, "the last finds 21 free, the next one 20");
    }

    #[test]
    fn a_queue_may_have_its_base_when_little_is_free() {
        let mut buffer = PacketBuffer::new(&spec::Buffer { base_cells: 5, ..SPEC }, 1);
        buffer.take(50, 0).unwrap();
        buffer.take(25, 0).unwrap();
        buffer.take(12, 0).unwrap();
        buffer.take(6, 0).unwrap();
        buffer.take(4, 0).unwrap();
        assert_eq!(buffer.take(1, 4), Ok(()), "the fifth cell, of 3 that are free");
        assert_eq!(buffer.take(1, 5), Err(Loss::QueueThreshold));
        assert_eq!(buffer.take(3, 0), Err(Loss::BufferFull));
    }

    #[test]
    fn a_queue_has_cells_of_its_own_beside_the_pool() {
        let mut buffer = PacketBuffer::new(&spec::Buffer { queue_cells: 4, ..SPEC }, 1);
        for held in (0..54).step_by(2) {
            buffer.take(2, held).unwrap();
        }
        assert_eq!(buffer.take(2, 54), Err(Loss::QueueThreshold));
        for held in (2..=54).rev().step_by(2) {
            buffer.give(2, held);
        }
        assert_eq!((buffer.used_bytes(), buffer.pool_used), (0, 0));
    }

    #[test]
    fn queues_that_are_alike_take_the_pool_too() {
        let mut buffer = PacketBuffer::new(&SPEC, 10);
        let mut held = 0;
        while buffer.take(1, held).is_ok() {
            held += 1;
        }
        assert_eq!(
            (held, buffer.used_bytes()),
            (10, 1_000),
            "the last finds 100 - 10 x 9 free"
        );
    }
}
