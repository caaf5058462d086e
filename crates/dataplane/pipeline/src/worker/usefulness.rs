//! Whether the fast path pays: not when nearly all packets bail out of it.
//!
//! A packet that bails out has been executed in vain up to there, and interrupts its burst. When seven of eight packets do so, the
//! next ones are not tried; after a while some are again, since traffic may have changed.

/// Packets that are tried before it is decided.
const WINDOW: u64 = 4_096;

/// Packets that are not tried then.
const REST: u64 = 64 * WINDOW;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Usefulness {
    tried: u64,
    bailed_out: u64,
    /// Packets that are not to be tried from now on.
    rests_for: u64,
    /// Which one of the fast paths that were compiled has been tried.
    generation: usize,
}

impl Usefulness {
    /// Whether packets shall be tried.
    #[inline]
    pub(super) fn pays(&self) -> bool {
        self.rests_for == 0
    }

    /// Packets were tried, and some have bailed out.
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

    /// Packets took the slow path without being tried. Another fast path is tried at once.
    pub(super) fn rest(&mut self, packets: u64, generation: usize) {
        self.rests_for = match generation == self.generation {
            true => self.rests_for.saturating_sub(packets),
            false => 0,
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
