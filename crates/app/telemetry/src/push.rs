//! Batches on their way to a database.
//!
//! ```text
//!   offer ─► [ batch, batch, … ] ─► POST ─► delivered
//!              full: the oldest     ├─ not now: again after 0.5 s, 1 s, 2 s, …, at most five times in all, then lost
//!              is lost              └─ refused: lost
//! ```
//!
//! Offering never waits. What is lost is counted, in batches and in rows.

use crate::family::Family;
use crate::http::{Authorities, Failure, Request, send};
use crate::target::Target;
use hyper::body::Bytes;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Batches that may wait.
const BATCHES_MAX: usize = 64;

/// Bytes of all batches that may wait.
const BYTES_MAX: usize = 64 << 20;

/// Times between attempts.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Kinds of problems of one fault that are told.
const KINDS_MAX: usize = 8;

/// Rows that are sent together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What is posted.
    pub body: Vec<u8>,
    /// How many rows it has.
    pub rows: u64,
}

/// What became of batches so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushCounts {
    /// Batches and rows that the database has taken.
    pub sent_batches: u64,
    /// See `sent_batches`.
    pub sent_rows: u64,
    /// Batches and rows that were given up.
    pub lost_batches: u64,
    /// See `lost_batches`.
    pub lost_rows: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Batches that wait now.
    pub waiting_batches: usize,
    /// Why the last attempt failed; none when it did not.
    pub problem: Option<String>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Batch>,
    bytes: usize,
    counts: PushCounts,
    /// A batch is being delivered.
    is_delivering: bool,
    /// The kinds of problems that were told since the last delivery.
    told: BTreeSet<String>,
}

/// What offers batches, and what sends them, share.
pub struct Pusher {
    target: Target,
    authorities: Option<Authorities>,
    state: Mutex<State>,
    offered: Notify,
    /// Told of problems and of their ends.
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Pusher {
    /// A way to a target, whose certificate must come from one of the authorities if it is secure; `tell` gets a
    /// sentence when deliveries begin to fail, when they fail for another reason, and when they succeed again.
    pub fn new(target: Target, authorities: Option<Authorities>, tell: Box<dyn Fn(&str) + Send + Sync>) -> Arc<Pusher> {
        Arc::new(Pusher {
            target,
            authorities,
            state: Mutex::default(),
            offered: Notify::new(),
            tell,
        })
    }

    /// Where batches go.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Takes a batch; when too many wait, the oldest are lost.
    pub fn offer(&self, batch: Batch) {
        if batch.rows == 0 {
            return;
        }
        let mut state = self.lock();
        state.bytes += batch.body.len();
        state.waiting.push_back(batch);
        while state.waiting.len() > BATCHES_MAX || state.bytes > BYTES_MAX {
            let Some(oldest) = state.waiting.pop_front() else {
                break;
            };
            state.bytes -= oldest.body.len();
            state.lose(oldest.rows);
        }
        drop(state);
        self.offered.notify_one();
    }

    /// What became of batches so far.
    pub fn counts(&self) -> PushCounts {
        let state = self.lock();
        PushCounts {
            waiting_batches: state.waiting.len(),
            ..state.counts.clone()
        }
    }

    /// Whether nothing waits or is on its way.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && !state.is_delivering
    }

    /// Sends what is offered, for ever.
    pub(crate) async fn run(self: Arc<Pusher>) {
        loop {
            match self.take() {
                Some(batch) => self.deliver(batch).await,
                None => self.offered.notified().await,
            }
        }
    }

    fn take(&self) -> Option<Batch> {
        let mut state = self.lock();
        let batch = state.waiting.pop_front();
        state.is_delivering = batch.is_some();
        state.bytes -= batch.as_ref().map_or(0, |batch| batch.body.len());
        batch
    }

    async fn deliver(&self, batch: Batch) {
        let body = Bytes::from(batch.body);
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = Request {
                endpoint: &self.target.endpoint,
                authorities: self.authorities.as_ref(),
                body: body.clone(),
            };
            let (problem, pause) = match send(request).await {
                Ok(()) => return self.delivered(batch.rows),
                Err(Failure::Later(problem)) => (problem, pauses.next()),
                Err(Failure::Refused(problem)) => (problem, None),
            };
            self.failed(problem, pause.is_none().then_some(batch.rows));
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return,
            }
        }
    }

    fn delivered(&self, rows: u64) {
        let mut state = self.lock();
        state.counts.sent_batches += 1;
        state.counts.sent_rows += rows;
        let is_back = state.counts.problem.take().is_some();
        state.told.clear();
        drop(state);
        if is_back {
            (self.tell)(&format!("{}: it takes data again", self.target));
        }
    }

    /// An attempt failed, for good if rows are lost with it.
    fn failed(&self, problem: String, lost: Option<u64>) {
        let mut state = self.lock();
        state.counts.failures += 1;
        lost.iter().for_each(|rows| state.lose(*rows));
        state.counts.problem = Some(problem.clone());
        let is_new = state.told.len() < KINDS_MAX && state.told.insert(kind(&problem).to_string());
        drop(state);
        if is_new {
            (self.tell)(&format!(
                "{}: {problem}; what cannot be delivered is counted",
                self.target
            ));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kind of a problem: a status or an error, without the details that may differ with each batch.
fn kind(problem: &str) -> &str {
    problem.split(": ").next().unwrap_or(problem)
}

impl State {
    fn lose(&mut self, rows: u64) {
        self.counts.lost_batches += 1;
        self.counts.lost_rows += rows;
    }
}

/// What became of what was pushed, as metrics.
pub fn families(pushers: &[Arc<Pusher>]) -> Vec<Family> {
    let counter = Family::counter;
    let mut batches = counter(
        "forebay_push_batches_total",
        "Batches pushed to databases, by what became of them.",
    );
    let mut rows = counter(
        "forebay_push_rows_total",
        "Rows pushed to databases, by what became of them.",
    );
    let mut failures = counter("forebay_push_failures_total", "Attempts to push a batch that failed.");
    let mut waiting = Family::gauge("forebay_push_waiting_batches", "Batches that wait for a database.");
    for pusher in pushers {
        let (counts, target) = (pusher.counts(), pusher.target());
        let to: (&'static str, &dyn std::fmt::Display) = ("target", target);
        batches.add(&[to, ("result", &"sent")], counts.sent_batches);
        batches.add(&[to, ("result", &"lost")], counts.lost_batches);
        rows.add(&[to, ("result", &"sent")], counts.sent_rows);
        rows.add(&[to, ("result", &"lost")], counts.lost_rows);
        failures.add(&[to], counts.failures);
        waiting.add(&[to], counts.waiting_batches);
    }
    vec![batches, rows, failures, waiting]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_a_fault_is_told_once() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&said);
        let tell = move |text: &str| log.lock().expect("no panic").push(text.to_string());
        let target = Target::otlp("http://localhost").expect("a target");
        let pusher = Pusher::new(target, None, Box::new(tell));
        let problems = [
            "Connection refused",
            "404 Not Found: row 1",
            "404 Not Found: row 2",
            "Connection refused",
        ];
        problems
            .iter()
            .for_each(|problem| pusher.failed((*problem).to_string(), None));
        assert_eq!(said.lock().expect("no panic").len(), 2);
        pusher.delivered(1);
        pusher.failed("Connection refused".to_string(), None);
        let said = said.lock().expect("no panic");
        assert!(
            said[1].contains("404 Not Found: row 1") && said[3].contains("refused"),
            "{said:?}"
        );
    }

    #[test]
    fn the_oldest_batch_is_lost_when_too_many_wait() {
        let target = Target::otlp("http://localhost").expect("a target");
        let pusher = Pusher::new(target, None, Box::new(|_| ()));
        let batch = |rows| Batch {
            body: vec![0; 1 << 10],
            rows,
        };
        (1..=BATCHES_MAX as u64 + 2).for_each(|rows| pusher.offer(batch(rows)));
        let counts = pusher.counts();
        assert_eq!((counts.lost_batches, counts.lost_rows), (2, 3));
        assert_eq!(counts.waiting_batches, BATCHES_MAX);
        assert_eq!(pusher.take().map(|batch| batch.rows), Some(3));
        pusher.offer(Batch {
            body: vec![0; BYTES_MAX],
            rows: 9,
        });
        assert_eq!(pusher.counts().waiting_batches, 1);
    }
}
