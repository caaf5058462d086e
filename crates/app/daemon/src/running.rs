//! Starting a switch, and the handle of one that runs.

use crate::error::Error;
use crate::program_slot::ProgramSlot;
use crate::queue_control::QueueControl;
use crate::ready::{Lacks, ReadyWhen, ports_lack};
use crate::report::{Event, Report};
use crate::worker::{OwnPoll, Shared, Worker};
use forebay_packet::{Port, Readiness};
use forebay_pipeline::Pipeline;
use forebay_ports::{Clock, allowed_processors, close_all};
use forebay_server::DigestSender;
use forebay_switch::{Config, QUEUES_MAX, SharingConfig, Switch, WorkerStatus, share_ports};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long what is inside a switch may take to come out when it stops, in nanoseconds.
const STOPPING_NS: u64 = 1_000_000_000;

/// Time between two looks at the workers while a switch stops.
const STOPPING_LOOK: Duration = Duration::from_millis(10);

/// How long workers may take to end when they must. One may wait for a file, such as a pipe that brings nothing.
const ENDING: Duration = Duration::from_secs(5);

/// Longest time in which workers that run answer, also where other processes have the processors.
const ANSWER: Duration = Duration::from_secs(1);

/// A switch that has not been started.
pub struct Daemon {
    slot: Arc<ProgramSlot>,
    queues: Arc<QueueControl>,
    workers: SharingConfig,
    ports: Vec<(u32, Box<dyn Port>)>,
    config: Config,
    clock: Clock,
    busy_poll: bool,
    digests: Option<DigestSender>,
    delay_sample: Option<u64>,
    own_poll: Option<Box<dyn OwnPoll>>,
    ready_when: ReadyWhen,
}

impl Daemon {
    /// A switch around a program, without ports.
    pub fn new(pipeline: Arc<Pipeline>, workers: SharingConfig) -> Daemon {
        let clock = Clock::start();
        let now_ns = clock.now_ns();
        Daemon {
            slot: ProgramSlot::new(pipeline, workers.workers.max(1)),
            queues: QueueControl::new(QUEUES_MAX, workers.workers),
            workers,
            ports: Vec::new(),
            config: Config {
                start_ns: now_ns,
                random_seed: now_ns,
                ..Config::default()
            },
            clock,
            busy_poll: false,
            digests: None,
            delay_sample: None,
            own_poll: None,
            ready_when: ReadyWhen::default(),
        }
    }

    /// The program of all workers, for a control plane that replaces it.
    pub fn slot(&self) -> &Arc<ProgramSlot> {
        &self.slot
    }

    /// Takes limits of queues from here, which is for as many workers.
    pub fn control_queues(&mut self, queues: Arc<QueueControl>) {
        self.queues = queues;
    }

    /// Attaches a port under its P4 number.
    pub fn attach(&mut self, number: u32, port: Box<dyn Port>) {
        self.ports.push((number, port));
    }

    /// Takes the time from this clock, from which `config.start_ns` comes too.
    pub fn configure(&mut self, clock: Clock, config: Config) {
        self.clock = clock;
        self.config = config;
    }

    /// Looks for packets again and again in place of waiting for them.
    pub fn busy_poll(&mut self, is_on: bool) {
        self.busy_poll = is_on;
    }

    /// Times one of every `every` packets that leave: see [`Report::delays`].
    pub fn sample_delays(&mut self, every: u64) {
        self.delay_sample = Some(every);
    }

    /// Where digests go. Without it they are counted and forgotten.
    pub fn send_digests(&mut self, digests: DigestSender) {
        self.digests = Some(digests);
    }

    /// What the switch must have to be ready: see [`Watch::lacks`].
    pub fn ready_when(&mut self, ready_when: ReadyWhen) {
        self.ready_when = ready_when;
    }

    /// Lets the first worker poll its switch in another way, to watch packets.
    pub fn poll_by(&mut self, own_poll: Box<dyn OwnPoll>) {
        self.own_poll = Some(own_poll);
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start(self) -> Result<Running, Error> {
        let count = self.workers.workers.max(1);
        let shared = Arc::new(Shared::new(count, live_by_timers(&self.ports)));
        let pipeline = self.slot.present();
        let processors = allowed_processors().unwrap_or_default();
        let mut own_poll = self.own_poll;
        let mut workers = Vec::new();
        for (index, own) in share_ports(self.ports, &pipeline, &self.workers)
            .into_iter()
            .enumerate()
        {
            let mut switch = Switch::new(Arc::clone(&pipeline), of_worker(self.config, index));
            for (number, port) in own.ports {
                switch.attach(number, port);
            }
            if let Some(every) = self.delay_sample {
                let clock = self.clock;
                switch.sample_delays(every, Box::new(move || clock.now_ns()));
            }
            let mut worker = Worker::new(index, switch, own.status, self.clock, &shared, &self.slot, &self.queues);
            worker.alone = count == 1;
            worker.has_rings = own.has_rings;
            worker.busy_poll = self.busy_poll;
            worker.to_controllers = self.digests.clone();
            worker.own_poll = own_poll.take();
            worker.processor = processors.get(index).copied().filter(|_| processors.len() >= count);
            worker.publish_report();
            workers.push(worker);
        }
        let status = workers.first().map(|worker| worker.status.clone());
        let (finished, ends) = channel();
        let mut running = Running {
            shared,
            slot: self.slot,
            ready_when: Arc::new(self.ready_when),
            clock: self.clock,
            status,
            threads: Vec::new(),
            supervision: Mutex::new(Supervision {
                ends,
                left: count,
                closing_ns: None,
            }),
        };
        for worker in workers {
            running.threads.push(spawn(worker, finished.clone())?);
        }
        Ok(running)
    }
}

/// Whether timers are the only ports that can bring packets. The end of other input, a capture file's for example, ends
/// a switch with timers too.
fn live_by_timers(ports: &[(u32, Box<dyn Port>)]) -> bool {
    let (timers, others): (Vec<_>, Vec<_>) = ports.iter().partition(|(_, port)| port.is_timer());
    !timers.is_empty() && others.iter().all(|(_, port)| port.readiness() == Readiness::Never)
}

/// Programs on different workers see different random numbers.
fn of_worker(config: Config, index: usize) -> Config {
    Config {
        random_seed: config.random_seed ^ (index as u64) << 48,
        ..config
    }
}

type WorkerThread = JoinHandle<Result<Worker, Error>>;

fn spawn(mut worker: Worker, finished: Sender<()>) -> Result<WorkerThread, Error> {
    let builder = std::thread::Builder::new().name(format!("worker {}", worker.index));
    let work = move || {
        let mut guard = ExitGuard {
            worker: worker.index,
            shared: Arc::clone(&worker.shared),
            slot: worker.program_slot(),
            finished,
            is_regular: false,
        };
        let result = worker.work();
        guard.is_regular = result.is_ok();
        result.map(|()| worker)
    };
    builder.spawn(work).map_err(Error::Thread)
}

/// Reports the end of a worker's thread, also of one that panics. When one fails, all stop.
struct ExitGuard {
    worker: usize,
    shared: Arc<Shared>,
    slot: Arc<ProgramSlot>,
    finished: Sender<()>,
    is_regular: bool,
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        if !self.is_regular {
            self.shared.has_failed.store(true, Ordering::Relaxed);
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        self.shared.end(self.worker);
        self.slot.end();
        // The receiver is gone when the switch was dropped.
        let _ = self.finished.send(());
    }
}

/// The workers that still run.
struct Supervision {
    ends: Receiver<()>,
    left: usize,
    /// Since when ports deliver nothing more.
    closing_ns: Option<u64>,
}

/// A switch that runs. Dropping it stops the workers at once.
pub struct Running {
    shared: Arc<Shared>,
    slot: Arc<ProgramSlot>,
    ready_when: Arc<ReadyWhen>,
    clock: Clock,
    status: Option<WorkerStatus>,
    threads: Vec<WorkerThread>,
    supervision: Mutex<Supervision>,
}

/// What a switch has come to.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The last counters.
    pub report: Report,
    /// Ports that have failed.
    pub failures: Vec<u32>,
    /// What has happened to ports since [`Running::events`] was called last.
    pub events: Vec<Event>,
}

/// Reads the counters of a running switch from any thread, also when the switch has ended.
#[derive(Clone)]
pub struct Watch {
    shared: Arc<Shared>,
    slot: Arc<ProgramSlot>,
    ready_when: Arc<ReadyWhen>,
}

impl Watch {
    /// As [`Running::report`].
    pub fn report(&self) -> Report {
        self.shared.fresh_report(&self.slot.present())
    }

    /// The program that runs.
    pub fn program(&self) -> Arc<Pipeline> {
        self.slot.present()
    }

    /// What the switch lacks to carry traffic: workers that answer, a program, ports that are up, entries of
    /// [`Daemon::ready_when`]. It waits a second at most.
    pub fn lacks(&self) -> Lacks {
        if let Some(end) = self.shared.why_ending() {
            return Lacks(vec![end.to_owned()]);
        }
        let silent = (!self.shared.ask(ANSWER)).then(|| "the workers do not answer".to_owned());
        let report = self.shared.report(&self.slot.present());
        let unloaded = self.ready_when.needs_program && !self.slot.is_replaced();
        let unloaded = unloaded.then(|| "there is no program yet: a controller must push one".to_owned());
        let failed = self.shared.lock_events().failures.clone();
        let ports = ports_lack(&report.ports, &failed);
        let tables = self.ready_when.tables_lack(&report.tables);
        Lacks(silent.into_iter().chain(unloaded).chain(ports).chain(tables).collect())
    }
}

impl Running {
    /// Reads the counters beside this handle.
    pub fn watch(&self) -> Watch {
        Watch {
            shared: Arc::clone(&self.shared),
            slot: Arc::clone(&self.slot),
            ready_when: Arc::clone(&self.ready_when),
        }
    }

    /// The counters as they are now. It waits for the workers to answer, a tenth of a second at most.
    pub fn report(&self) -> Report {
        self.shared.fresh_report(&self.slot.present())
    }

    /// The counters as they were reported last; it waits for nothing.
    pub fn last_report(&self) -> Report {
        self.shared.report(&self.slot.present())
    }

    /// What has happened to ports since the last call.
    pub fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.shared.lock_events().pending)
    }

    /// The program that runs.
    pub fn program(&self) -> Arc<Pipeline> {
        self.slot.present()
    }

    /// Replaces the program; packets inside the switch leave first, by the program with which they came in. Returns
    /// whether all workers run the new one: it waits for them two seconds at most, and they take it over later when it
    /// returns `false`.
    pub fn replace(&self, pipeline: Arc<Pipeline>) -> bool {
        self.slot.install(pipeline);
        self.slot.wait()
    }

    /// Lets ports deliver nothing more. The switch ends when nothing is inside, a second later at the latest.
    pub fn close(&self) {
        let mut supervision = self.supervision();
        if supervision.closing_ns.is_none() {
            supervision.closing_ns = Some(self.clock.now_ns());
            self.shared.closing.store(true, Ordering::Relaxed);
            self.status.iter().for_each(WorkerStatus::close);
        }
    }

    /// Waits until the switch has ended, and not longer than `timeout`. Returns whether it has: no port has any more
    /// input (timers have no end, but count only where there never was other input), it was [closed](Running::close),
    /// or a worker has failed. [`Running::stop`] has the result.
    pub fn wait(&self, timeout: Duration) -> bool {
        let mut supervision = self.supervision();
        if supervision.left > 0 {
            match supervision.ends.recv_timeout(timeout) {
                Ok(()) => supervision.left -= 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => supervision.left = 0,
            }
        }
        let is_overdue = |since_ns| self.clock.now_ns() > since_ns + STOPPING_NS;
        supervision.left == 0 || supervision.closing_ns.is_some_and(is_overdue)
    }

    /// Closes the switch, waits for its end, and returns its last counters.
    ///
    /// # Errors
    /// When a worker has failed, or does not end.
    pub fn stop(mut self) -> Result<Stopped, Error> {
        self.close();
        while !self.wait(STOPPING_LOOK) {}
        let mut workers = self.join()?;
        last_round(&mut workers, self.clock);
        let mut ports = Vec::new();
        for mut worker in workers {
            worker.switch.flush();
            worker.publish_events();
            worker.publish_report();
            ports.extend(worker.switch.detach_all());
        }
        close_all(ports);
        let report = self.last_report();
        let events = self.events();
        let failures = std::mem::take(&mut self.shared.lock_events().failures);
        Ok(Stopped {
            report,
            failures,
            events,
        })
    }

    fn join(&mut self) -> Result<Vec<Worker>, Error> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut self.threads);
        let begin = Instant::now();
        while !threads.iter().all(JoinHandle::is_finished) {
            if begin.elapsed() > ENDING {
                return Err(Error::Stuck);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let threads = threads.into_iter();
        let joined = threads.map(|thread| thread.join().map_err(|_| Error::Panicked)?);
        joined.collect()
    }

    fn supervision(&self) -> MutexGuard<'_, Supervision> {
        self.supervision.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `stop` there are no threads left; otherwise the caller does not want the result.
        let _ = self.join();
    }
}

/// Lets timers bring all their packets once more, when nothing else can come, so that programs let go what they keep.
fn last_round(workers: &mut [Worker], clock: Clock) {
    if !workers
        .iter()
        .any(|worker| worker.switch.working_ports().any(Port::is_timer))
    {
        return;
    }
    workers.iter_mut().for_each(|worker| worker.switch.begin_last_round());
    let end_ns = clock.now_ns() + STOPPING_NS;
    // Polls of another sort let one port deliver after the other.
    let turns = |worker: &Worker| worker.own_poll.as_ref().map_or(0, |_| worker.switch.ports().len());
    let (turns, mut idle_polls) = (workers.iter().map(turns).max().unwrap_or(0), 0);
    while idle_polls <= turns && clock.now_ns() < end_ns {
        let mut is_idle = true;
        for worker in workers.iter_mut() {
            is_idle &= worker.poll(clock.now_ns()).is_idle();
            worker.take_digests();
        }
        is_idle &= workers.iter().all(|worker| worker.switch.counters().in_flight() == 0);
        idle_polls = if is_idle { idle_polls + 1 } else { 0 };
    }
    workers.iter_mut().for_each(Worker::publish_events);
}
