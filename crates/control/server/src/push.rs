//! Programs that controllers push: compiled and loaded beside everything else, one at a time.
//!
//! ```text
//!   begin_push ─► turn ─► load (a thread of low priority, under a budget) ─► finish_push ─► packets go through it
//!   under lock                                                               under lock
//! ```
//!
//! Other calls are served meanwhile. A second push waits for its turn. What the first step allowed is asked anew in the
//! last: the sender may not be primary any more. The budget ends with the time that a push may take, and with the call:
//! when its deadline is over, or the controller has gone, the compiler stops.

use crate::limits::Limits;
use crate::status::of_error;
use forebay_budget::{Budget, Stop};
use forebay_p4runtime::{Code, Error, NewProgram};
use forebay_pipeline::Options;
use forebay_protocol::p4::v1::SetForwardingPipelineConfigRequest;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tonic::Status;

/// Pushes that may wait for their turn: each keeps its program in memory.
const WAITING_MAX: usize = 4;

/// Stack of the thread that compiles; used as far as a program is nested.
const STACK_BYTES: usize = 64 << 20;

/// By how much others go before the thread that compiles, as of `nice`.
const NICENESS: i32 = 10;

/// See the [module](self).
pub(crate) struct Pushes {
    limits: Limits,
    /// One for each push that waits or works.
    places: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

/// The right to change the program, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _place: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

impl Pushes {
    pub(crate) fn new(limits: Limits) -> Pushes {
        Pushes {
            limits,
            places: Arc::new(Semaphore::new(1 + WAITING_MAX)),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Waits for the pushes before this one.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when too many wait.
    pub(crate) async fn turn(&self) -> Result<Turn, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| Status::resource_exhausted("too many programs are being pushed at once"))?;
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let turn = turn.map_err(|_| Status::unavailable("the switch is ending"))?;
        Ok(Turn {
            _place: place,
            _turn: turn,
        })
    }

    /// Compiles and loads the program of a request. When it ends early, the turn is over as soon as the compiler has
    /// noticed.
    ///
    /// # Errors
    /// What is wrong with the program, or which part of the budget was not enough.
    pub(crate) async fn load(
        &self,
        turn: Turn,
        request: Arc<SetForwardingPipelineConfigRequest>,
        options: Options,
    ) -> Result<(Turn, NewProgram), Status> {
        let budget = Budget::new(self.limits.push_memory);
        let of_task = Arc::clone(&budget);
        let (sender, loaded) = oneshot::channel();
        let task = move || {
            lower_priority();
            let loaded = of_task.run(|| NewProgram::load(&request, options));
            // If the call has ended, there is no receiver.
            let _ = sender.send((turn, loaded));
        };
        let guard = CancelOnDrop(Some(Arc::clone(&budget)));
        let thread = thread::Builder::new().name("push".to_string()).stack_size(STACK_BYTES);
        let started = thread.spawn(task);
        started.map_err(|error| Status::unavailable(format!("cannot start a thread for the compiler: {error}")))?;
        let loaded = tokio::time::timeout(self.limits.push_time, loaded).await;
        let (turn, loaded) = match loaded {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => return Err(Status::internal("the compiler has ended without a result")),
            Err(_) => {
                budget.end_time();
                return Err(of_error(&stopped(&self.limits, &Stop::Time)));
            }
        };
        guard.keep();
        match loaded {
            Ok(Ok(program)) => Ok((turn, program)),
            Ok(Err(error)) => Err(of_error(&error)),
            Err(stop) => Err(of_error(&stopped(&self.limits, &stop))),
        }
    }
}

/// Does the same as [`Pushes::load`] for a program without P4Info, and blocks meanwhile.
///
/// # Errors
/// What is wrong with the program, or which part of the budget was not enough.
pub(crate) fn load_blob(limits: &Limits, blob: Vec<u8>, options: Options) -> Result<NewProgram, Error> {
    let budget = Budget::new(limits.push_memory);
    let of_task = Arc::clone(&budget);
    let (sender, loaded) = mpsc::channel();
    let task = move || {
        lower_priority();
        let loaded = of_task.run(|| NewProgram::of_blob(blob, options));
        // After the time-out there is no receiver.
        let _ = sender.send(loaded);
    };
    let thread = thread::Builder::new().name("push".to_string()).stack_size(STACK_BYTES);
    let started = thread.spawn(task);
    started.map_err(|error| Error {
        code: Code::Unavailable,
        message: format!("cannot start a thread for the compiler: {error}"),
    })?;
    match loaded.recv_timeout(limits.push_time) {
        Ok(Ok(program)) => program,
        Ok(Err(stop)) => Err(stopped(limits, &stop)),
        Err(RecvTimeoutError::Timeout) => {
            budget.end_time();
            Err(stopped(limits, &Stop::Time))
        }
        Err(RecvTimeoutError::Disconnected) => Err(Error {
            code: Code::Internal,
            message: "the compiler has ended without a result".to_string(),
        }),
    }
}

fn stopped(limits: &Limits, stop: &Stop) -> Error {
    let code = match stop {
        Stop::Cancelled => Code::Cancelled,
        Stop::Time => Code::DeadlineExceeded,
        Stop::Memory(_) => Code::ResourceExhausted,
        Stop::Panicked(_) => Code::Internal,
    };
    let limit = match stop {
        Stop::Time => format!(" (--push-time {})", limits.push_time.as_secs_f64()),
        Stop::Memory(_) => " (--push-memory)".to_string(),
        Stop::Cancelled | Stop::Panicked(_) => String::new(),
    };
    let message = format!("the program was not loaded: {stop}{limit}");
    Error { code, message }
}

/// Ends the compiler when the call does.
struct CancelOnDrop(Option<Arc<Budget>>);

impl CancelOnDrop {
    /// The compiler has ended by itself, and what it still does beside packets goes on.
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(budget) = &self.0 {
            budget.cancel();
        }
    }
}

/// Lets packets and calls go before this thread, and those that it starts.
pub(crate) fn lower_priority() {
    // SAFETY: the call changes a number of the calling thread and touches no memory. Without it, it is merely slower
    // for others.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}
