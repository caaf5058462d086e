//! Limits of a long task, such as the compilation of a program that a controller pushes.
//!
//! ```text
//!   server ── Budget::stop ──┐
//!                            ▼
//!   Budget::run( parse ► check ► lower ► passes ► load )     each loop calls check() now and then
//! ```
//!
//! [`Budget::run`] runs the task in the current thread. A holder of the budget may [stop](Budget::stop) it, and it
//! stops by itself when it holds more memory than it may. Loops whose length a user decides call [`check`], which does
//! not return when the task is to end: it unwinds to `run`, which says why. Outside of a budget, `check` does nothing,
//! so a compiler needs no argument for it, and callers without a budget can ignore it.
//!
//! A panic in the task ends it in the same way, so that a bug in a compiler is an error of one call.
//!
//! Memory is counted by [`Counting`], if the program has it as its allocator; otherwise there is no limit of memory.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod allocator;

pub use allocator::Counting;

use allocator::held_by_thread;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a task has ended before it was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its result is not wanted any more.
    Cancelled,
    /// It took too long.
    Time,
    /// It held more memory than this, in bytes.
    Memory(usize),
    /// It has panicked, with this message.
    Panicked(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Cancelled => formatter.write_str("it was cancelled"),
            Stop::Time => formatter.write_str("it took too long"),
            Stop::Memory(limit) => write!(formatter, "it needed more than {} MB of memory", limit >> 20),
            Stop::Panicked(message) => write!(formatter, "it has failed: {message}"),
        }
    }
}

impl std::error::Error for Stop {}

const GOES_ON: u8 = 0;
const CANCELLED: u8 = 1;
const TIME: u8 = 2;

/// See the [module](self). Shared by the task's thread and those that may stop it.
#[derive(Debug)]
pub struct Budget {
    stopped: AtomicU8,
    memory_max: Option<usize>,
}

/// A budget that the present thread works under.
struct Present {
    budget: Arc<Budget>,
    /// What the thread held when the task began.
    held_before: isize,
}

thread_local! {
    static PRESENT: RefCell<Option<Present>> = const { RefCell::new(None) };
}

impl Budget {
    /// A budget of `memory_max` bytes of memory, or without a limit of memory.
    pub fn new(memory_max: Option<usize>) -> Arc<Budget> {
        Arc::new(Budget {
            stopped: AtomicU8::new(GOES_ON),
            memory_max,
        })
    }

    /// Ends the task soon, because its result is no longer wanted.
    pub fn cancel(&self) {
        self.stop(CANCELLED);
    }

    /// Ends the task soon, since its time is over.
    pub fn end_time(&self) {
        self.stop(TIME);
    }

    /// The first reason counts.
    fn stop(&self, reason: u8) {
        let _ = self
            .stopped
            .compare_exchange(GOES_ON, reason, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Does a task under this budget.
    ///
    /// # Errors
    /// Why it has ended before it was done.
    pub fn run<R>(self: &Arc<Budget>, task: impl FnOnce() -> R) -> Result<R, Stop> {
        let present = Present {
            budget: Arc::clone(self),
            held_before: held_by_thread(),
        };
        let outer = PRESENT.replace(Some(present));
        // What the task has changed when it unwinds is its own, and is dropped with it.
        let done = catch_unwind(AssertUnwindSafe(|| {
            check();
            task()
        }));
        PRESENT.set(outer);
        done.map_err(reason)
    }

    /// Whether the task has been stopped from outside.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) != GOES_ON
    }

    /// Why the task is to end now, if it is.
    fn exceeded(&self, held_before: isize) -> Option<Stop> {
        match (self.stopped.load(Ordering::Relaxed), self.memory_max) {
            (CANCELLED, _) => Some(Stop::Cancelled),
            (TIME, _) => Some(Stop::Time),
            (_, Some(max)) if held_by_thread().saturating_sub(held_before) > max as isize => Some(Stop::Memory(max)),
            _ => None,
        }
    }
}

/// Ends the task of this thread here if its budget is exceeded; does nothing outside of [`Budget::run`]. Costs some
/// nanoseconds.
#[inline]
pub fn check() {
    let exceeded = PRESENT.with_borrow(|present| {
        let present = present.as_ref()?;
        present.budget.exceeded(present.held_before)
    });
    if let Some(stop) = exceeded {
        // Unwinds without the message of a panic.
        resume_unwind(Box::new(stop));
    }
}

/// The budget that this thread works under, for threads that do a part of the task.
pub fn of_thread() -> Option<Arc<Budget>> {
    PRESENT.with_borrow(|present| Some(Arc::clone(&present.as_ref()?.budget)))
}

fn reason(payload: Box<dyn Any + Send>) -> Stop {
    match payload.downcast::<Stop>() {
        Ok(stop) => *stop,
        Err(payload) => Stop::Panicked(message_of(&*payload)),
    }
}

/// What a panic said.
fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    #[test]
    fn what_is_within_its_budget_is_done() {
        check();
        assert_eq!(
            Budget::new(Some(1 << 20)).run(|| (0..100).inspect(|_| check()).sum::<i32>()),
            Ok(4950)
        );
    }

    #[test]
    fn a_task_is_stopped_from_outside() {
        let budget = Budget::new(None);
        let other = Arc::clone(&budget);
        let endless = move || {
            loop {
                check();
                other.end_time();
                other.cancel();
            }
        };
        assert_eq!(budget.run(endless), Err::<(), _>(Stop::Time));
        assert_eq!(budget.run(|| ()), Err(Stop::Time), "and does not begin again");
        check();
    }

    #[test]
    fn memory_counts_as_long_as_it_is_held() {
        let held = |keep: bool| {
            let mut all = Vec::new();
            for _ in 0..64 {
                check();
                all.push(vec![1u8; 1 << 16]);
                if !keep {
                    all.clear();
                }
            }
        };
        assert_eq!(Budget::new(Some(1 << 20)).run(|| held(false)), Ok(()));
        assert_eq!(
            Budget::new(Some(1 << 20)).run(|| held(true)),
            Err(Stop::Memory(1 << 20))
        );
        assert_eq!(Budget::new(None).run(|| held(true)), Ok(()));
    }

    #[test]
    fn budgets_nest_and_panics_are_caught() {
        let (outer, inner) = (Budget::new(None), Budget::new(None));
        let done = outer.run(|| {
            inner.cancel();
            assert_eq!(inner.run(|| ()), Err(Stop::Cancelled));
            check();
            resume_unwind(Box::new("on purpose"));
        });
        assert_eq!(done, Err::<(), _>(Stop::Panicked("on purpose".to_string())));
    }
}
