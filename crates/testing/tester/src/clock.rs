//! Time: of the machine, of a processor's work for this thread, or simulated.

use forebay_ports::{Clock as MachineClock, thread_time_ns};

/// Where a trial gets the time from.
pub enum Clock {
    /// The machine's clock.
    Machine(MachineClock),
    /// The time that a processor works for this thread: other processes take none of it. For devices that this thread polls.
    Thread,
    /// A clock that goes on when it is told.
    Simulated(u64),
}

impl Clock {
    /// The machine's clock.
    pub fn machine() -> Clock {
        Clock::Machine(MachineClock::start())
    }

    /// The time in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::Machine(clock) => clock.now_ns(),
            Clock::Thread => thread_time_ns(),
            Clock::Simulated(now_ns) => *now_ns,
        }
    }

    /// Lets simulated time go on to the given one.
    pub fn advance_to(&mut self, time_ns: u64) {
        if let Clock::Simulated(now_ns) = self {
            *now_ns = time_ns.max(*now_ns);
        }
    }

    /// Whether time is simulated.
    #[inline]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Clock::Simulated(_))
    }
}
