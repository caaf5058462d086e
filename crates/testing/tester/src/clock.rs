//! Time: of the machine, of a processor's work for this thread, simulated, or modelled.

use forebay_ports::{Clock as MachineClock, thread_time_ns};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a trial gets the time from.
pub enum Clock {
    /// The machine's clock.
    Machine(MachineClock),
    /// The time that a processor works for this thread: other processes take none of it. For devices that this thread
    /// polls.
    Thread(ThreadClock),
    /// A clock that goes on when it is told.
    Simulated(u64),
    /// A model of one processor's time: reading it takes time, and so does what a device adds. Trials run as in real
    /// time.
    Modelled(ModelTime),
}

/// Time that a modelled device and a [`Clock::Modelled`] share.
#[derive(Clone, Debug, Default)]
pub struct ModelTime(Arc<AtomicU64>);

/// How long it takes to read modelled time.
const READING_NS: u64 = 10;

impl ModelTime {
    /// Adds what some work takes; the time after it.
    pub fn spend(&self, ns: u64) -> u64 {
        self.0.fetch_add(ns, Ordering::Relaxed) + ns
    }
}

impl Clock {
    /// The machine's clock.
    pub fn machine() -> Clock {
        Clock::Machine(MachineClock::start())
    }

    /// The time of the thread that calls this.
    pub fn thread() -> Clock {
        Clock::Thread(ThreadClock::start())
    }

    /// The time in nanoseconds.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        match self {
            Clock::Machine(clock) => clock.now_ns(),
            Clock::Thread(clock) => clock.now_ns(),
            Clock::Simulated(now_ns) => *now_ns,
            Clock::Modelled(time) => time.spend(READING_NS),
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

/// If two readings are at least this far apart, in nanoseconds, the system is queried for the time that this thread ran
/// in between.
const LONG_NS: u64 = 20_000;

/// The system is queried at least once in this time, in nanoseconds. Short interruptions count as work, and their
/// errors must not add up.
const ASKED_EACH_NS: u64 = 1_000_000;

/// The time that a processor works for one thread.
///
/// To ask the system takes a microsecond, as long as several packets. So the machine's clock gives the time, which
/// takes a fortieth of that, as long as readings follow each other closely: then nothing else can have run between them
/// but an interruption.
pub struct ThreadClock {
    machine: MachineClock,
    reading: Cell<Reading>,
}

/// The state of a [`ThreadClock`] when it was read.
#[derive(Clone, Copy)]
struct Reading {
    machine_ns: u64,
    now_ns: u64,
    asked: Asked,
}

/// When the system was asked: what it said, and what the clock showed.
#[derive(Clone, Copy)]
struct Asked {
    thread_ns: u64,
    now_ns: u64,
}

impl ThreadClock {
    /// Begins at 0, for the thread that calls this.
    fn start() -> ThreadClock {
        let machine = MachineClock::start();
        let asked = Asked {
            thread_ns: thread_time_ns(),
            now_ns: 0,
        };
        let reading = Reading {
            machine_ns: machine.now_ns(),
            now_ns: 0,
            asked,
        };
        ThreadClock {
            machine,
            reading: Cell::new(reading),
        }
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        let mut reading = self.reading.get();
        let machine_ns = self.machine.now_ns();
        let passed_ns = machine_ns.saturating_sub(reading.machine_ns);
        reading.machine_ns = machine_ns;
        if passed_ns < LONG_NS && reading.now_ns - reading.asked.now_ns < ASKED_EACH_NS {
            reading.now_ns += passed_ns;
        } else {
            reading.ask(passed_ns);
        }
        self.reading.set(reading);
        reading.now_ns
    }
}

impl Reading {
    /// Adds what the system says is the thread's share of the time that has passed.
    #[cold]
    fn ask(&mut self, passed_ns: u64) {
        let thread_ns = thread_time_ns();
        let worked_ns = thread_ns.saturating_sub(self.asked.thread_ns);
        let known_ns = self.now_ns - self.asked.now_ns;
        self.now_ns += worked_ns.saturating_sub(known_ns).min(passed_ns);
        self.asked = Asked {
            thread_ns,
            now_ns: self.now_ns,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_time_of_a_thread_stands_still_while_it_sleeps() {
        let clock = Clock::thread();
        let before_ns = clock.now_ns();
        std::thread::sleep(Duration::from_millis(50));
        let slept_ns = clock.now_ns() - before_ns;
        assert!(slept_ns < 10_000_000, "{slept_ns} ns");
    }

    #[test]
    fn the_time_of_a_thread_is_what_the_system_says() {
        let clock = Clock::thread();
        let thread_ns = thread_time_ns();
        let mut last_ns = clock.now_ns();
        while thread_time_ns() - thread_ns < 50_000_000 {
            let now_ns = clock.now_ns();
            assert!(now_ns >= last_ns);
            last_ns = now_ns;
        }
        let worked_ns = thread_time_ns() - thread_ns;
        assert!(
            last_ns.abs_diff(worked_ns) < worked_ns / 10,
            "{last_ns} ns, {worked_ns} ns"
        );
    }
}
