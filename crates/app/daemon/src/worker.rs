//! A worker: a thread that polls its switch until no more packets can arrive or it must stop.
//!
//! With one worker the ports are its own; with several they are shared by [`forebay_switch::share_ports()`]. Between
//! two polls a worker takes over a program that was installed and limits of queues, and answers requests for reports.

use crate::error::Error;
use crate::program_slot::ProgramSlot;
use crate::queue_control::QueueControl;
use crate::report::{Event, Report};
use forebay_histogram::Histogram;
use forebay_packet::Readiness;
use forebay_pipeline::{NoTrace, Pipeline};
use forebay_ports::{Clock, Poller, TimeSlice, pin_to_processor, set_time_slice};
use forebay_server::DigestSender;
use forebay_switch::{Activity, Switch, WorkerStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest time without looking for a request, in nanoseconds.
const MAX_WAIT_NS: u64 = 50_000_000;

/// The number of a request that is never made.
const ENDED: u64 = u64::MAX;

/// Idle polls of one of several workers before it waits for the system: what comes next often comes soon.
const POLLS_BEFORE_WAITING: u32 = 64;

/// Polls a worker's switch in place of the worker, for example with a tracer.
pub trait OwnPoll: Send {
    /// Polls the switch once. Returns what the poll has done.
    fn poll(&mut self, switch: &mut Switch, now_ns: u64) -> Activity;

    /// Lets the switch run another program from the next poll on: [`Switch::replace_pipeline`], with the tracer of the
    /// polls.
    fn replace(&mut self, switch: &mut Switch, pipeline: Arc<Pipeline>, now_ns: u64);
}

/// What has happened to ports.
#[derive(Default)]
pub(crate) struct Events {
    /// Events that nothing has read yet.
    pub(crate) pending: Vec<Event>,
    /// Ports that have failed so far.
    pub(crate) failures: Vec<u32>,
}

/// What workers and the handle of the switch share.
pub(crate) struct Shared {
    /// The last report of each worker.
    reports: Vec<Mutex<Report>>,
    events: Mutex<Events>,
    /// The number of requests for reports.
    requested: AtomicU64,
    /// The last request that each worker has answered; [`ENDED`] of one that has ended, whose last report stays.
    answered: Vec<AtomicU64>,
    /// Ports deliver nothing more.
    pub(crate) closing: AtomicBool,
    /// Workers stop whatever there is to do.
    pub(crate) stop: AtomicBool,
    /// A worker has failed, so all stop.
    pub(crate) has_failed: AtomicBool,
    /// Timers alone bring packets, so the switch goes on until it is closed.
    lives_by_timers: bool,
}

impl Shared {
    pub(crate) fn new(workers: usize, lives_by_timers: bool) -> Shared {
        Shared {
            reports: (0..workers).map(|_| Mutex::default()).collect(),
            events: Mutex::default(),
            requested: AtomicU64::new(0),
            answered: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            closing: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            lives_by_timers,
        }
    }

    /// The last reports of all workers.
    pub(crate) fn report(&self, pipeline: &Pipeline) -> Report {
        let mut report = self.reports.iter().fold(Report::default(), |sum, report| {
            sum.merge(&report.lock().unwrap_or_else(PoisonError::into_inner))
        });
        report.tables = pipeline.table_memory();
        report.learning = pipeline.learning_counters();
        report
    }

    /// New reports of all workers, as far as they come soon.
    pub(crate) fn fresh_report(&self, pipeline: &Pipeline) -> Report {
        self.ask(Duration::from_nanos(2 * MAX_WAIT_NS));
        self.report(pipeline)
    }

    /// Asks all workers for new reports, and waits for them. Returns whether all have come in time.
    pub(crate) fn ask(&self, patience: Duration) -> bool {
        let request = self.requested.fetch_add(1, Ordering::Relaxed) + 1;
        let has_answered = |answered: &AtomicU64| answered.load(Ordering::Acquire) >= request;
        let begin = Instant::now();
        while !self.answered.iter().all(has_answered) {
            if begin.elapsed() >= patience {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// Says that a worker answers no more requests.
    pub(crate) fn end(&self, index: usize) {
        self.answered[index].store(ENDED, Ordering::Release);
    }

    /// Why packets are not forwarded for much longer, if so. When one worker has ended, the others do soon.
    pub(crate) fn why_ending(&self) -> Option<&'static str> {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        let has_ended = |answered: &AtomicU64| answered.load(Ordering::Acquire) == ENDED;
        if is_set(&self.has_failed) {
            Some("a worker has failed: the switch is ending")
        } else if is_set(&self.closing) || is_set(&self.stop) {
            Some("the switch is ending")
        } else {
            let ended = self.answered.iter().any(has_ended);
            ended.then_some("the switch has ended: its ports bring no more packets")
        }
    }

    pub(crate) fn lock_events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker's thread works with.
pub(crate) struct Worker {
    pub(crate) index: usize,
    pub(crate) switch: Switch,
    pub(crate) status: WorkerStatus,
    clock: Clock,
    pub(crate) shared: Arc<Shared>,
    pub(crate) alone: bool,
    /// Other workers have packets for it.
    pub(crate) has_rings: bool,
    pub(crate) busy_poll: bool,
    /// Where its thread runs; anywhere when there are not enough processors.
    pub(crate) processor: Option<usize>,
    /// How long packets were inside. A worker reads the clock once a poll, so the end of a poll is the beginning of the
    /// next.
    inside: Histogram,
    digests: u64,
    digests_lost: u64,
    /// Digests that the switch itself has lost.
    lost_in_switch: u64,
    /// Requests for reports that were answered.
    reports: u64,
    program: Arc<ProgramSlot>,
    version: u64,
    queues: Arc<QueueControl>,
    queues_version: u64,
    pub(crate) to_controllers: Option<DigestSender>,
    pub(crate) own_poll: Option<Box<dyn OwnPoll>>,
}

impl Worker {
    pub(crate) fn new(
        index: usize,
        switch: Switch,
        status: WorkerStatus,
        clock: Clock,
        shared: &Arc<Shared>,
        program: &Arc<ProgramSlot>,
        queues: &Arc<QueueControl>,
    ) -> Worker {
        Worker {
            index,
            switch,
            status,
            clock,
            shared: Arc::clone(shared),
            alone: true,
            has_rings: false,
            busy_poll: false,
            processor: None,
            inside: Histogram::default(),
            digests: 0,
            digests_lost: 0,
            lost_in_switch: 0,
            reports: 0,
            program: Arc::clone(program),
            version: 0,
            queues: Arc::clone(queues),
            queues_version: 0,
            to_controllers: None,
            own_poll: None,
        }
    }

    /// Runs until it must stop, or no more packets can arrive.
    ///
    /// # Errors
    /// When the system refuses to wait for ports or to keep the thread on its processor.
    pub(crate) fn work(&mut self) -> Result<(), Error> {
        self.switch.stay_pinned(true);
        let end = self.forward();
        self.switch.stay_pinned(false);
        self.publish_report();
        end
    }

    fn forward(&mut self) -> Result<(), Error> {
        if let (Some(processor), false) = (self.processor, self.alone) {
            pin_to_processor(processor).map_err(|error| Error::Processor { processor, error })?;
        }
        // Without it, controllers on the same processors merely wait longer.
        let _ = set_time_slice(TimeSlice::Long);
        let mut poller = Poller::new();
        let mut idle_polls = 0;
        let mut before = (0, 0);
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now_ns();
            if let (began_ns, received @ 1..) = before {
                self.inside.record_many(now_ns - began_ns, received);
            }
            self.take_over_changes(now_ns);
            let activity = self.poll(now_ns);
            before = (now_ns, activity.received);
            self.take_digests();
            self.answer();
            if !activity.is_idle() {
                idle_polls = 0;
                continue;
            }
            self.publish_events();
            if self.is_done() {
                break;
            }
            idle_polls += 1;
            if self.busy_poll {
                std::hint::spin_loop();
            } else if self.alone || idle_polls > POLLS_BEFORE_WAITING {
                self.wait(&mut poller, now_ns)?;
            } else {
                std::thread::yield_now();
            }
        }
        self.publish_events();
        Ok(())
    }

    /// The program that it runs, and the next ones.
    pub(crate) fn program_slot(&self) -> Arc<ProgramSlot> {
        Arc::clone(&self.program)
    }

    /// Takes over a program that was installed, and changed limits of queues.
    #[inline]
    fn take_over_changes(&mut self, now_ns: u64) {
        if let Some(pipeline) = self.program.newer(&mut self.version) {
            let replaced = self.switch.pipeline().number();
            match &mut self.own_poll {
                None => self.switch.replace_pipeline(pipeline, now_ns, &mut NoTrace),
                Some(own_poll) => own_poll.replace(&mut self.switch, pipeline, now_ns),
            }
            // The digests of packets that were inside.
            self.take_digests_of(replaced);
            self.program.arrive(self.version);
        }
        if let Some(changes) = self.queues.newer(&mut self.queues_version) {
            changes.into_iter().for_each(|change| self.switch.change_queues(change));
        }
    }

    /// Polls the switch once.
    #[inline]
    pub(crate) fn poll(&mut self, now_ns: u64) -> Activity {
        match &mut self.own_poll {
            None => self.switch.poll(now_ns, &mut NoTrace),
            Some(own_poll) => own_poll.poll(&mut self.switch, now_ns),
        }
    }

    /// Whether nothing can come to any worker. Said after an idle poll.
    fn is_done(&self) -> bool {
        if self.switch.counters().in_flight() > 0 {
            return false;
        }
        let is_closing = self.shared.closing.load(Ordering::Relaxed);
        if self.alone && is_closing {
            return true;
        }
        if self.shared.lives_by_timers && !is_closing {
            return false;
        }
        if self
            .switch
            .working_ports()
            .any(|port| !port.is_timer() && port.readiness() != Readiness::Never)
        {
            return false;
        }
        self.status.rest();
        self.status.all_done()
    }

    /// Waits until a port may have packets. Packets from other workers are not announced by a descriptor.
    fn wait(&self, poller: &mut Poller, now_ns: u64) -> Result<(), Error> {
        let others = (self.has_rings || self.switch.counters().in_flight() > 0).then_some(Readiness::Unknown);
        let readiness = self.switch.working_ports().map(|port| port.readiness()).chain(others);
        poller.wait(readiness, now_ns, MAX_WAIT_NS).map_err(Error::Wait)?;
        Ok(())
    }

    /// Hands on what the program has sent to the control plane.
    pub(crate) fn take_digests(&mut self) {
        self.take_digests_of(self.switch.pipeline().number());
    }

    /// The same for what this program has sent.
    fn take_digests_of(&mut self, program: u64) {
        let (messages, lost) = self.switch.take_digests();
        self.digests_lost += lost - self.lost_in_switch;
        self.lost_in_switch = lost;
        for message in messages {
            let to_controllers = self.to_controllers.as_ref();
            let is_taken = to_controllers.is_none_or(|sender| sender.send(program, message));
            let counter = if is_taken {
                &mut self.digests
            } else {
                &mut self.digests_lost
            };
            *counter += 1;
        }
    }

    fn answer(&mut self) {
        let requested = self.shared.requested.load(Ordering::Relaxed);
        if requested != self.reports {
            self.reports = requested;
            self.publish_report();
            self.publish_events();
            self.shared.answered[self.index].store(requested, Ordering::Release);
        }
    }

    /// Publishes the counters as they are now.
    pub(crate) fn publish_report(&mut self) {
        self.digests_lost += self.to_controllers.as_ref().map_or(0, DigestSender::take_refused);
        let report = Report {
            ports: self.switch.ports(),
            queues: self.switch.queues(),
            counters: self.status.settled(self.switch.counters()),
            digests: self.digests,
            digests_lost: self.digests_lost,
            paths: self.switch.paths(),
            inside: self.inside.clone(),
            delays: self.switch.delays().cloned(),
            ..Report::default()
        };
        *self.shared.reports[self.index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// Publishes what has happened to ports.
    pub(crate) fn publish_events(&mut self) {
        let shared = &self.shared;
        for (number, error) in self.switch.take_failures() {
            let mut events = shared.lock_events();
            events.failures.push(number);
            events.pending.push(Event::failed(number, &error));
        }
        self.switch.presence_changes(|number, name, presence| {
            shared
                .lock_events()
                .pending
                .push(Event::presence(number, name, presence));
        });
    }
}
