//! Decides whether trying the fast path pays off. It does not if nearly all packets bail out.
//!
//! For a packet that bails out, the work up to there is wasted, and it interrupts its burst. When seven of eight
//! packets bail out, the following packets do not try the fast path. After a while some try it again, since the
//! traffic may have changed.

/// Packets that try it before each decision.
const WINDOW: u64 = 4_096;

/// Packets that then do not try it.
const REST: u64 = 64 * WINDOW;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Usefulness {
    tried: u64,
    bailed_out: u64,
    /// The number of packets that are not to try it from now on.
    rests_for: u64,
    /// The generation of the fast path that was tried.
    generation: usize,
}

impl Usefulness {
    /// Whether packets should try it.
    #[inline]
    pub(super) fn pays(&self) -> bool {
        self.rests_for == 0
    }

    /// Records that packets tried it, and how many of them bailed out.
    #[inline]
    pub(super) fn note(&mut self, tried: u64, bailed_out: u64) {
        self.tried += tried;
        self.bailed_out += bailed_out;
        if self.tried >= WINDOW {
            if 8 * self.bailed_out > 7 * self.tried {
                self.rests_for = REST;
            }
            (self.tried, self.bailed_out) = (0, 0);
        }
    }

    /// Records that packets took the slow path without trying. A new generation is tried at once.
    pub(super) fn rest(&mut self, packets: u64, generation: usize) {
        self.rests_for = if generation == self.generation {
            self.rests_for.saturating_sub(packets)
        } else {
            0
        };
        self.generation = generation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_when_nearly_all_bail_out_and_tries_again() {
        let mut usefulness = Usefulness::default();
        usefulness.note(WINDOW, WINDOW / 2);
        assert!(usefulness.pays());
        (0..WINDOW).for_each(|_| usefulness.note(1, 1));
        assert!(!usefulness.pays());
        usefulness.rest(REST - 1, 0);
        assert!(!usefulness.pays());
        usefulness.rest(32, 0);
        assert!(usefulness.pays());
        (0..WINDOW).for_each(|_| usefulness.note(1, 1));
        usefulness.rest(1, 1);
        assert!(usefulness.pays(), "another one");
    }
}
