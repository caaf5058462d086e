//! Free packets, kept for the next use.

use crate::Packet;

/// A bounded stack of free packets.
///
/// Taking from an empty pool makes a new packet, so a pool never refuses; giving to a full one
/// frees the packet, so a pool never grows beyond its limit. In the steady state neither happens.
#[derive(Debug)]
pub struct Pool {
    free: Vec<Packet>,
    limit: usize,
    created: u64,
}

impl Pool {
    /// An empty pool that keeps at most `limit` free packets.
    pub fn new(limit: usize) -> Pool {
        Pool {
            free: Vec::with_capacity(limit),
            limit,
            created: 0,
        }
    }

    /// A pool that starts with all its `limit` packets made.
    pub fn filled(limit: usize) -> Pool {
        let mut pool = Pool::new(limit);
        pool.free.resize_with(limit, Packet::new);
        pool
    }

    /// An empty packet with cleared metadata.
    pub fn take(&mut self) -> Packet {
        match self.free.pop() {
            Some(mut packet) => {
                packet.reset();
                packet
            }
            None => {
                self.created += 1;
                Packet::new()
            }
        }
    }

    /// Gives a packet back.
    pub fn give(&mut self, packet: Packet) {
        if self.free.len() < self.limit {
            self.free.push(packet);
        }
    }

    /// How many packets are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// How many packets had to be allocated because the pool was empty.
    pub fn created(&self) -> u64 {
        self.created
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_reused_and_come_back_clean() {
        let mut pool = Pool::new(2);
        let mut packet = pool.take();
        packet.set_data(b"old");
        packet.id = 9;
        pool.give(packet);
        assert_eq!(pool.take(), Packet::new());
        assert_eq!(pool.created(), 1);
    }

    #[test]
    fn a_pool_keeps_no_more_than_its_limit() {
        let mut pool = Pool::filled(1);
        pool.give(Packet::new());
        assert_eq!(pool.free(), 1);
    }
}
