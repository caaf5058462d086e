//! Timers of a scenario: the packet generator of a switch chip (see [`forebay_packet::TimerPort`]).

use crate::run::Simulation;
use forebay_chip::{Pacer, Picos, Place, Stop};
use forebay_packet::{TIMER_FRAME_BYTES, TimerKind, TimerNumbers};

/// A timer as the scenario declares it.
#[derive(Clone, Debug)]
pub(crate) struct TimerSetup {
    pub(crate) place: Place,
    pub(crate) interval: Picos,
    pub(crate) packets: u32,
    pub(crate) last_round: bool,
}

/// A timer at some time of its simulation.
pub(crate) struct Timer<'a> {
    setup: &'a TimerSetup,
    numbers: TimerNumbers,
}

impl<'a> Timer<'a> {
    pub(crate) fn new(setup: &'a TimerSetup) -> Timer<'a> {
        Timer {
            setup,
            numbers: TimerNumbers::new(setup.packets),
        }
    }
}

impl Simulation<'_> {
    /// Number of the wake-up call of a timer: after those of streams.
    fn timer_call(&self, index: usize) -> u16 {
        (self.setup.streams.len() + index) as u16
    }

    pub(crate) fn schedule_timers(&mut self) {
        (0..self.timers.len()).for_each(|index| self.schedule_timer(index));
    }

    fn schedule_timer(&mut self, index: usize) {
        let next = self.network.now() + self.timers[index].setup.interval;
        if next < self.end {
            let call = self.timer_call(index);
            self.network.wake_at(next, call);
        }
    }

    /// A timer's packet is due.
    pub(crate) fn tick(&mut self, index: usize) {
        self.timer_packet(index, TimerKind::Periodic);
        self.schedule_timer(index);
    }

    fn timer_packet(&mut self, index: usize, kind: TimerKind) {
        let tag = self.meter.begun(index);
        let timer = &mut self.timers[index];
        let frame = timer.numbers.next_frame(kind);
        self.network.arrive(timer.setup.place, &frame, tag, &mut self.meter);
    }

    /// When traffic has ended and everything has come out that will: all numbers once more, as fast as the port takes
    /// them.
    pub(crate) fn last_round(&mut self, until: Picos) {
        for index in 0..self.timers.len() {
            let TimerSetup {
                place,
                packets,
                last_round,
                ..
            } = *self.timers[index].setup;
            if !last_round {
                continue;
            }
            let spec = &self.setup.chips[usize::from(place.chip)].spec;
            let mut pacer = Pacer::new(spec.ports.bits_per_second);
            let bits = 8 * spec.wire_bytes(TIMER_FRAME_BYTES as u32);
            self.timers[index].numbers = TimerNumbers::new(packets);
            for _ in 0..packets {
                let next = self.network.now() + pacer.take(bits);
                // What comes to hosts, which are silent by now, does not shorten the time.
                while self.network.advance(next, &mut self.meter) != Stop::Until {
                    while self.network.take_host_event().is_some() {}
                }
                self.timer_packet(index, TimerKind::LastRound);
            }
            self.network.settle(self.network.now() + until, &mut self.meter);
        }
    }
}
