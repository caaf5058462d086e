//! The tester's own regularity: how long its loop was away, and which frames that disturbed.
//!
//! On a machine that is shared the tester's thread stops now and then for milliseconds. What it measures then is the
//! machine, not the device. A pause longer than the threshold begins a *disturbance*; it ends when the tester has
//! caught up with what was due, and has been on time for as long as that took. A frame is disturbed when it should have
//! been sent before that.

use crate::histogram::Histogram;

/// A disturbance ends after this multiple of the pause, even when the tester does not catch up: then it is too slow
/// anyway, which its lateness shows.
const CATCH_UP_MAX: u64 = 10;

/// The gaps of the polling loop.
pub struct Polling {
    threshold_ns: u64,
    last_ns: u64,
    /// Gaps between rounds of the loop.
    pub gaps: Histogram,
    /// Pauses longer than the threshold.
    pub pauses: u64,
    /// Time that was disturbed.
    pub disturbed_ns: u64,
    /// When the present disturbance began, and how long the pause was.
    since: Option<(u64, u64)>,
    quiet_from_ns: u64,
}

impl Polling {
    /// A loop that begins now.
    pub fn new(threshold_ns: u64, now_ns: u64) -> Polling {
        Polling {
            threshold_ns,
            last_ns: now_ns,
            gaps: Histogram::default(),
            pauses: 0,
            disturbed_ns: 0,
            since: None,
            quiet_from_ns: 0,
        }
    }

    /// A round of the loop begins.
    #[inline]
    pub fn round(&mut self, now_ns: u64) {
        let gap = now_ns - self.last_ns;
        self.gaps.record(gap);
        if gap > self.threshold_ns {
            self.pauses += 1;
            let since = self.since.map_or(self.last_ns, |(since, _)| since);
            self.since = Some((since, gap));
        }
        self.last_ns = now_ns;
    }

    /// A time within a round: a pause since the round began is noted before frames that came meanwhile are recorded.
    #[inline]
    pub fn within(&mut self, now_ns: u64) {
        if now_ns - self.last_ns > self.threshold_ns {
            self.round(now_ns);
        }
    }

    /// A round in which nothing is to be sent has ended. A pause in such rounds counts only if frames came meanwhile.
    #[inline]
    pub fn waited(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
        self.caught_up(false);
    }

    /// Everything that was due has been sent, or not.
    #[inline]
    pub fn caught_up(&mut self, is_behind: bool) {
        let Some((since, gap)) = self.since else { return };
        let now_ns = self.last_ns;
        if is_behind && now_ns - since < CATCH_UP_MAX * gap {
            return;
        }
        self.since = None;
        let begins = since.max(self.quiet_from_ns);
        self.quiet_from_ns = now_ns + (now_ns - since);
        self.disturbed_ns += self.quiet_from_ns.saturating_sub(begins);
    }

    /// Whether a frame that should be sent then and comes back now is disturbed.
    #[inline]
    pub fn is_disturbed(&self, intended_ns: u64) -> bool {
        self.since.is_some() || intended_ns < self.quiet_from_ns
    }

    /// Counts from now on: the measured time begins. What has been disturbed stays so.
    pub fn forget(&mut self) {
        self.gaps = Histogram::default();
        (self.pauses, self.disturbed_ns) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_disturbs_until_it_has_been_caught_up_for_as_long() {
        let mut polling = Polling::new(100, 0);
        polling.round(50);
        polling.caught_up(false);
        assert!(!polling.is_disturbed(0));
        polling.round(1050);
        assert!(polling.is_disturbed(1040));
        polling.caught_up(true);
        polling.round(1100);
        polling.caught_up(false);
        assert!(polling.is_disturbed(2100) && !polling.is_disturbed(2150));
        assert_eq!((polling.pauses, polling.disturbed_ns), (1, 2100));
    }

    #[test]
    fn a_pause_within_a_round_disturbs_what_came_meanwhile() {
        let mut polling = Polling::new(100, 0);
        polling.round(50);
        polling.within(120);
        assert!(!polling.is_disturbed(60) && polling.pauses == 0);
        polling.within(500);
        assert!(polling.is_disturbed(60));
        assert_eq!(polling.pauses, 1);
    }

    #[test]
    fn waiting_for_the_last_frames_is_no_pause() {
        let mut polling = Polling::new(100, 0);
        polling.round(50);
        for now in (100..1000).step_by(50) {
            polling.within(now);
            polling.waited(now + 10);
        }
        assert!(!polling.is_disturbed(60) && polling.pauses == 0);
        polling.within(5000);
        assert!(polling.is_disturbed(60) && polling.pauses == 1);
        polling.waited(5010);
        assert!(polling.is_disturbed(4000) && !polling.is_disturbed(9500));
    }

    #[test]
    fn a_tester_that_never_catches_up_is_not_disturbed_for_ever() {
        let mut polling = Polling::new(100, 0);
        polling.round(200);
        for now in (250..2500).step_by(50) {
            polling.round(now);
            polling.caught_up(true);
        }
        assert!(!polling.is_disturbed(5000));
    }

    #[test]
    fn pauses_before_the_measured_time_are_not_counted() {
        let mut polling = Polling::new(100, 0);
        polling.round(1000);
        polling.caught_up(false);
        polling.forget();
        polling.round(1050);
        assert_eq!((polling.pauses, polling.disturbed_ns, polling.gaps.max()), (0, 0, 50));
        assert!(polling.is_disturbed(1500) && !polling.is_disturbed(2000));
    }
}
