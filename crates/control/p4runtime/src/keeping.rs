//! Keeping the state through restarts, and what happens while it cannot be kept.
//!
//! A change is done first and kept then, since only doing it shows whether it can be done. It is acknowledged when it
//! is kept. When it cannot be kept (the disk is full, say), the contract is:
//!
//! * The call fails with `INTERNAL`. Its change is in force for packets and readers, and it is not saved.
//! * From then on what is kept is *behind* the switch, and nothing may follow it but a snapshot of everything. Every
//!   call that would change something makes that snapshot first. If that fails too, the call is not done, and fails
//!   with `UNAVAILABLE`.
//! * [`Keeping::refresh`] tries again by itself, ever more rarely up to every eight seconds, so that the fault ends
//!   when its cause does. Packets and reads go on all the while.
//!
//! So what a restart loads is always a state that the switch had, and every change that was acknowledged is in it: kept
//! batches follow one another without a gap. `crates/control/p4runtime/tests/faults` tries it with a fault in every
//! operation on files.
//!
//! A snapshot that is only to be fresh ([`Keeping::refresh`]) and fails leaves the switch not behind: batches go on
//! following the last snapshot. It is a fault all the same, and is tried again.

use crate::device::{Device, Now, Output};
use crate::status::{Code, Error};
use std::fmt;

/// Keeps the forwarding state where it survives a restart. The errors are sentences for people.
pub trait Keeper: Send + Sync {
    /// Keeps a batch after those before it; it is kept when this returns.
    ///
    /// # Errors
    /// When it cannot be kept. [`Keeper::takes_batches`] is false then until [`Keeper::keep_all`] has succeeded.
    fn keep(&mut self, batch: &[u8]) -> Result<(), String>;

    /// Keeps all of the state anew.
    ///
    /// # Errors
    /// When it cannot be kept. What was kept before can still be loaded.
    fn keep_all(&mut self, state: &[u8]) -> Result<(), String>;

    /// Whether a batch can follow what is kept.
    fn takes_batches(&self) -> bool;

    /// Reports that a fault has begun or ended.
    fn tell(&mut self, event: &Event);
}

/// An event for the log, reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The state cannot be kept.
    Fault {
        /// Why.
        problem: String,
        /// Whether changes are refused until the state is kept again.
        is_behind: bool,
    },
    /// It is kept again.
    Healed {
        /// How long the fault was, in nanoseconds.
        after_ns: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Fault {
                problem,
                is_behind: true,
            } => write!(
                formatter,
                "the state is not saved: {problem}. Packets go on; changes by controllers are refused until it is saved again"
            ),
            Event::Fault {
                problem,
                is_behind: false,
            } => write!(
                formatter,
                "no new snapshot is saved: {problem}. What controllers write is still saved, what packets write is not"
            ),
            Event::Healed { after_ns } => write!(
                formatter,
                "the state is saved again, after {:.1} s",
                *after_ns as f64 / 1e9
            ),
        }
    }
}

/// How it stands with what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeepingStatus {
    /// Whether anything is kept at all.
    pub keeps_state: bool,
    /// The fault that there is now.
    pub fault: Option<Fault>,
    /// Faults that have begun since the switch started.
    pub faults: u64,
    /// Calls that were not done, since the state could not be kept.
    pub refused_calls: u64,
}

/// Why the state cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The sentence for people, of the last attempt.
    pub problem: String,
    /// When it began, in nanoseconds since the switch started.
    pub since_ns: u64,
    /// Whether changes are refused until it ends. Otherwise only snapshots fail, and batches are still kept.
    pub is_behind: bool,
    /// When it is tried again without a call, in nanoseconds since the switch started.
    pub retry_ns: u64,
    /// Time between the last attempt and that, in nanoseconds.
    pause_ns: u64,
    /// Before this time no call tries again: the last attempt took so long that further ones would delay every call.
    calls_wait_until_ns: u64,
}

/// The first pause between attempts, and the longest.
const PAUSE_MIN_NS: u64 = 250_000_000;
const PAUSE_MAX_NS: u64 = 8_000_000_000;
/// Calls try again at most once in the time that writing takes at 100 MB/s.
const NS_PER_BYTE: u64 = 10;

/// What a call that changes something came to.
#[derive(Debug)]
pub struct Changed<R> {
    /// What the call itself returned.
    pub result: R,
    /// An `INTERNAL` error when its change is in force and not kept.
    pub kept: Result<(), Error>,
    /// What else is to be done, in order; nothing of it is to be kept.
    pub outputs: Vec<Output>,
}

/// See the [module](self).
#[derive(Default)]
pub struct Keeping {
    keeper: Option<Box<dyn Keeper>>,
    status: KeepingStatus,
}

impl Keeping {
    /// Keeps state by these means, in which all of it is now; nothing is kept without any. Means that take no batches
    /// from the beginning are a fault like any other.
    pub fn new(keeper: Option<Box<dyn Keeper>>) -> Keeping {
        Keeping::begin(keeper, Now::default())
    }

    /// The same, at another time than 0.
    pub fn begin(keeper: Option<Box<dyn Keeper>>, now: Now) -> Keeping {
        let is_behind = keeper.as_ref().is_some_and(|keeper| !keeper.takes_batches());
        let status = KeepingStatus {
            keeps_state: keeper.is_some(),
            ..KeepingStatus::default()
        };
        let mut keeping = Keeping { keeper, status };
        if is_behind {
            keeping.failed("it could not be written when the switch started", now, true, 0);
        }
        keeping
    }

    /// How it stands.
    pub fn status(&self) -> &KeepingStatus {
        &self.status
    }

    /// Does something that may change what is to be kept, and keeps it.
    ///
    /// # Errors
    /// `UNAVAILABLE` when what is kept is behind, and still cannot be replaced: nothing was done.
    pub fn change<R>(
        &mut self,
        device: &mut Device,
        now: Now,
        action: impl FnOnce(&mut Device, Now) -> R,
    ) -> Result<Changed<R>, Error> {
        self.catch_up(device, now)?;
        let result = action(device, now);
        let (outputs, kept) = self.settle(device.take_outputs(), now);
        let kept = kept.or_else(|error| self.catch_up_at_once(device, now).map_err(|()| error));
        Ok(Changed { result, kept, outputs })
    }

    /// Saves what the outputs require to be saved; returns the other outputs.
    pub fn settle(&mut self, outputs: Vec<Output>, now: Now) -> (Vec<Output>, Result<(), Error>) {
        let mut others = Vec::with_capacity(outputs.len());
        let mut kept = Ok(());
        for output in outputs {
            let done = match output {
                Output::Keep(batch) => self.keep(&batch, now),
                Output::KeepAll(state) => self.keep_all(&state, now, true),
                other => {
                    others.push(other);
                    Ok(())
                }
            };
            kept = kept.and(done.map_err(not_kept));
        }
        (others, kept)
    }

    /// Makes a fresh snapshot.
    ///
    /// # Errors
    /// When it cannot be kept; the sentence is for people.
    pub fn refresh(&mut self, device: &mut Device, now: Now) -> Result<(), String> {
        if self.keeper.is_none() {
            return Ok(());
        }
        let state = device.snapshot();
        self.keep_all(&state, now, false)
    }

    /// Before a change: nothing may follow what is behind.
    fn catch_up(&mut self, device: &mut Device, now: Now) -> Result<(), Error> {
        let Some(fault) = self.status.fault.as_ref().filter(|fault| fault.is_behind) else {
            return Ok(());
        };
        let tried = if now.switch_ns < fault.calls_wait_until_ns {
            Err(fault.problem.clone())
        } else {
            self.refresh(device, now)
        };
        tried.map_err(|problem| {
            self.status.refused_calls += 1;
            refused(&problem)
        })
    }

    /// After a batch that could not be kept: a snapshot may succeed where it did not, in a folder that is gone for
    /// example.
    fn catch_up_at_once(&mut self, device: &mut Device, now: Now) -> Result<(), ()> {
        let fault = self.status.fault.as_ref();
        if fault.is_some_and(|fault| now.switch_ns < fault.calls_wait_until_ns) {
            Err(())
        } else {
            self.refresh(device, now).map_err(drop)
        }
    }

    fn keep(&mut self, batch: &[u8], now: Now) -> Result<(), String> {
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        if let Some(fault) = self.status.fault.as_ref().filter(|fault| fault.is_behind) {
            return Err(fault.problem.clone());
        }
        let kept = keeper.keep(batch);
        kept.inspect_err(|problem| self.failed(problem, now, true, 0))
    }

    fn keep_all(&mut self, state: &[u8], now: Now, is_change: bool) -> Result<(), String> {
        let Some(keeper) = &mut self.keeper else {
            return Ok(());
        };
        let kept = keeper.keep_all(state);
        let is_behind = is_change || !keeper.takes_batches();
        match &kept {
            Ok(()) => self.healed(now),
            Err(problem) => self.failed(problem, now, is_behind, state.len()),
        }
        kept
    }

    fn failed(&mut self, problem: &str, now: Now, is_behind: bool, bytes: usize) {
        let now_ns = now.switch_ns;
        let before = self.status.fault.take();
        let was_behind = before.as_ref().is_some_and(|before| before.is_behind);
        let (since_ns, pause_ns) = match &before {
            None => (now_ns, PAUSE_MIN_NS),
            Some(before) => (before.since_ns, (before.pause_ns * 2).min(PAUSE_MAX_NS)),
        };
        let fault = Fault {
            problem: problem.to_string(),
            since_ns,
            is_behind: is_behind || was_behind,
            retry_ns: now_ns + pause_ns,
            pause_ns,
            calls_wait_until_ns: now_ns + bytes as u64 * NS_PER_BYTE,
        };
        let is_news = before.is_none() || fault.is_behind != was_behind;
        self.status.faults += u64::from(before.is_none());
        if let (true, Some(keeper)) = (is_news, &mut self.keeper) {
            keeper.tell(&Event::Fault {
                problem: fault.problem.clone(),
                is_behind: fault.is_behind,
            });
        }
        self.status.fault = Some(fault);
    }

    fn healed(&mut self, now: Now) {
        if let (Some(fault), Some(keeper)) = (self.status.fault.take(), &mut self.keeper) {
            let after_ns = now.switch_ns.saturating_sub(fault.since_ns);
            keeper.tell(&Event::Healed { after_ns });
        }
    }
}

impl fmt::Debug for Keeping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Keeping").field(&self.status).finish()
    }
}

fn not_kept(problem: String) -> Error {
    Error {
        code: Code::Internal,
        message: format!(
            "the change is in force, but it is not saved: {problem}. A restart loses it unless the state is saved before; \
             the switch tries again by itself, and refuses changes until then"
        ),
    }
}

fn refused(problem: &str) -> Error {
    Error {
        code: Code::Unavailable,
        message: format!(
            "nothing was done: the state cannot be saved, so that a restart could lose the change: {problem}. Packets go \
             on, and the switch tries again by itself: repeat the call later"
        ),
    }
}
