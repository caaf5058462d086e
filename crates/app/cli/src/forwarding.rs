//! The threads of a running switch: one for each worker, and this one, which looks after them.
//!
//! A worker polls until all have nothing left to do or it is told to stop; in between it leaves a report where this
//! thread finds it. With one worker the ports are its own; with several they are shared by [`forebay_switch::lanes()`].

use crate::output;
use crate::packet_log::{Narrator, PacketLog, Turns};
use crate::program_slot::ProgramSlot;
use crate::slow_path;
use crate::statistics::Statistics;
use anyhow::{Context, Result, anyhow};
use forebay_packet::{Port, PortError, Readiness};
use forebay_pipeline::{NoTrace, PathCounters, Pipeline, TableMemory};
use forebay_ports::{Clock, Poller, allowed_processors, pin_to_processor};
use forebay_server::DigestSender;
use forebay_switch::{Config, Counters, LaneConfig, LaneStatus, PortReport, Presence, QueueReport, Switch, lanes};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest time without looking at signals and for reports, in nanoseconds.
const MAX_WAIT_NS: u64 = 50_000_000;

/// Idle polls of one of several workers before it waits for the system: what comes next often comes soon.
const BREATHS_BEFORE_WAITING: u32 = 64;

/// How long what is inside a switch may take to come out when it stops, in nanoseconds.
const STOPPING_NS: u64 = 1_000_000_000;

/// What there is to say of a running switch, all workers together.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Ports in order of their numbers.
    pub ports: Vec<PortReport>,
    /// The queues of each port, in order.
    pub queues: Vec<QueueReport>,
    /// The books.
    pub counters: Counters,
    /// Messages to the control plane, and how many more were lost.
    pub digests: u64,
    pub digests_lost: u64,
    /// What tables need of memory.
    pub tables: Vec<TableMemory>,
    /// How many packets took which path through the program.
    pub paths: PathCounters,
    /// What keeps packets off the fast path, as [`slow_path::json`] says it.
    pub obstacles: Value,
}

impl Report {
    fn merge(mut self, other: &Report) -> Report {
        for port in &other.ports {
            match self.ports.iter_mut().find(|own| own.number == port.number) {
                Some(own) => own.merge(port),
                None => self.ports.push(port.clone()),
            }
        }
        for queue in &other.queues {
            let same = |own: &&mut QueueReport| (own.port, own.queue) == (queue.port, queue.queue);
            match self.queues.iter_mut().find(same) {
                Some(own) => own.merge(queue),
                None => self.queues.push(*queue),
            }
        }
        self.ports.sort_by_key(|port| port.number);
        self.queues.sort_by_key(|queue| (queue.port, queue.queue));
        self.counters = self.counters + other.counters;
        self.digests += other.digests;
        self.digests_lost += other.digests_lost;
        self.paths += other.paths;
        self
    }
}

/// How long to forward, and what to do when there is nothing to forward.
pub struct Until {
    /// Set by signals that end the switch.
    pub stop: Arc<AtomicBool>,
    /// Set by the signal that asks for statistics now.
    pub show: Arc<AtomicBool>,
    /// The end of the duration, on the clock.
    pub end_ns: Option<u64>,
    /// Look for packets again and again in place of waiting for them.
    pub busy_poll: bool,
}

/// Is told the state of ports.
pub type Watch<'a> = dyn Fn(&[PortReport]) + 'a;

/// What joins the workers with a control plane that changes while they run.
pub struct Controlled<'a> {
    /// The program.
    pub program: Arc<ProgramSlot>,
    /// Where digests go; they are counted and lost when there is nobody.
    pub digests: Option<DigestSender>,
    /// Is told the state of ports several times a second.
    pub watch: Option<&'a Watch<'a>>,
    /// Where every packet's way is logged, and whose turn it is to deliver one.
    pub log: Option<(PacketLog, Turns)>,
}

/// What forwarding has come to.
pub struct Forwarded {
    /// What was reported at last.
    pub report: Report,
    /// Ports that failed, as messages have said.
    pub failures: Vec<u32>,
}

/// Forwards between the ports until there is a reason to stop.
pub fn forward(
    controlled: &Controlled<'_>,
    ports: Vec<(u32, Box<dyn Port>)>,
    config: Config,
    workers: &LaneConfig,
    clock: Clock,
    until: &Until,
    statistics: &mut Statistics,
) -> Result<Forwarded> {
    let desk = Arc::new(Desk::new(workers.workers));
    let pipeline = &controlled.program.present();
    let (finished, ends) = channel();
    let mut threads = Vec::new();
    let processors = allowed_processors().unwrap_or_default();
    for (index, lane) in lanes(ports, pipeline, workers).into_iter().enumerate() {
        let mut switch = Switch::new(Arc::clone(pipeline), of_worker(config, index));
        for (number, port) in lane.ports {
            switch.attach(number, port);
        }
        let mut worker = Worker::new(index, switch, lane.status, clock, Arc::clone(&desk), controlled);
        worker.alone = workers.workers == 1;
        worker.busy_poll = until.busy_poll;
        worker.processor = processors
            .get(index)
            .copied()
            .filter(|_| processors.len() >= workers.workers);
        worker.leave_report();
        threads.push(worker);
    }
    statistics.note_slow_path(pipeline);
    statistics.first(&desk.report(pipeline));
    let status = threads.first().map(|worker| worker.status.clone());
    let threads: Vec<_> = threads
        .into_iter()
        .map(|worker| spawn(worker, finished.clone()))
        .collect();
    drop(finished);
    let threads = threads.into_iter().collect::<Result<Vec<_>>>()?;
    look_after(&desk, &ends, controlled, clock, until, statistics, status);
    desk.stop.store(true, Ordering::Relaxed);
    let mut workers = Vec::new();
    for thread in threads {
        workers.push(thread.join().map_err(|_| anyhow!("a worker has panicked"))??);
    }
    last_round(&mut workers, clock);
    for mut worker in workers {
        worker.switch.flush();
        worker.pass_news_on();
        worker.leave_report();
    }
    desk.tell_news(statistics);
    statistics.note_slow_path(&controlled.program.present());
    Ok(Forwarded {
        report: desk.report(&controlled.program.present()),
        failures: std::mem::take(&mut desk.lock_news().failures),
    })
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
    let mut is_done = false;
    while !is_done && clock.now_ns() < end_ns {
        is_done = true;
        for worker in workers.iter_mut() {
            is_done &= worker.switch.poll(clock.now_ns(), &mut NoTrace).is_idle();
            worker.take_digests();
        }
        is_done &= workers.iter().all(|worker| worker.switch.counters().in_flight() == 0);
    }
    workers.iter_mut().for_each(Worker::pass_news_on);
}

/// A poll whose packets are logged; whether it was idle.
fn narrated(switch: &mut Switch, now_ns: u64, narrator: &mut Narrator, turns: &Turns) -> bool {
    turns.next();
    let is_idle = switch.poll(now_ns, narrator).is_idle();
    if is_idle {
        narrator.log().flush();
    }
    is_idle
}

/// Programs on different workers see different random numbers.
fn of_worker(config: Config, index: usize) -> Config {
    Config {
        random_seed: config.random_seed ^ (index as u64) << 48,
        ..config
    }
}

fn spawn(mut worker: Worker, finished: Sender<()>) -> Result<std::thread::JoinHandle<Result<Worker>>> {
    let builder = std::thread::Builder::new().name(format!("worker {}", worker.index));
    let work = move || {
        let mut farewell = Farewell {
            desk: Arc::clone(&worker.desk),
            finished,
            is_regular: false,
        };
        let result = worker.work();
        farewell.is_regular = result.is_ok();
        result.map(|()| worker)
    };
    builder.spawn(work).context("cannot start a thread for a worker")
}

/// Tells of a worker's end, whatever ended it. When one fails, all stop.
struct Farewell {
    desk: Arc<Desk>,
    finished: Sender<()>,
    is_regular: bool,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        if !self.is_regular {
            self.desk.stop.store(true, Ordering::Relaxed);
        }
        // Nobody listens any more when this thread was told to stop.
        let _ = self.finished.send(());
    }
}

/// Prints statistics, and closes the lanes when it is time to stop.
fn look_after(
    desk: &Desk,
    ends: &Receiver<()>,
    controlled: &Controlled<'_>,
    clock: Clock,
    until: &Until,
    statistics: &mut Statistics,
    status: Option<LaneStatus>,
) {
    let mut closing_ns = None;
    let mut left = desk.slots.len();
    loop {
        match ends.recv_timeout(Duration::from_nanos(MAX_WAIT_NS)) {
            Ok(()) => left -= 1,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => left = 0,
        }
        let now_ns = clock.now_ns();
        if left == 0 {
            return;
        }
        desk.tell_news(statistics);
        statistics.note_slow_path(&controlled.program.present());
        let is_wanted = until.show.swap(false, Ordering::Relaxed);
        statistics.tick(now_ns, is_wanted, || desk.fresh_report(&controlled.program.present()));
        if let Some(watch) = controlled.watch {
            watch(&desk.fresh_report(&controlled.program.present()).ports);
        }
        let over = until.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        match closing_ns {
            None if over || until.stop.load(Ordering::Relaxed) => {
                closing_ns = Some(now_ns);
                desk.closing.store(true, Ordering::Relaxed);
                status.iter().for_each(LaneStatus::close);
            }
            Some(since_ns) if now_ns > since_ns + STOPPING_NS => return,
            _ => {}
        }
    }
}

/// What has happened to ports.
#[derive(Default)]
struct News {
    /// Messages that have not been printed yet.
    messages: Vec<String>,
    /// Ports that have failed so far.
    failures: Vec<u32>,
}

impl News {
    fn failed(&mut self, number: u32, error: &PortError) {
        self.failures.push(number);
        self.messages
            .push(format!("port {number}: {error}; it is not used any more"));
    }

    fn presence(&mut self, number: u32, name: &str, presence: Presence) {
        self.messages.push(match presence {
            Presence::Gone => {
                format!("port {number}: {name} is gone (deleted or moved away); the switch waits for it to come back")
            }
            Presence::Back => format!("port {number}: {name} is back"),
        });
    }
}

/// Where workers leave their reports.
struct Desk {
    slots: Vec<Mutex<Report>>,
    news: Mutex<News>,
    /// How often reports were asked for, and how many workers have answered in all.
    wanted: AtomicU64,
    answered: AtomicU64,
    /// Ports deliver nothing more.
    closing: AtomicBool,
    /// Workers stop whatever there is to do.
    stop: AtomicBool,
}

impl Desk {
    fn new(workers: usize) -> Desk {
        Desk {
            slots: (0..workers).map(|_| Mutex::default()).collect(),
            news: Mutex::default(),
            wanted: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        }
    }

    /// The last reports of all workers.
    fn report(&self, pipeline: &Pipeline) -> Report {
        let slots = self.slots.iter();
        let mut report = slots.fold(Report::default(), |sum, slot| {
            sum.merge(&slot.lock().unwrap_or_else(PoisonError::into_inner))
        });
        report.tables = pipeline.table_memory();
        report.obstacles = slow_path::json(pipeline);
        report
    }

    /// New reports of all workers, as far as they come soon.
    fn fresh_report(&self, pipeline: &Pipeline) -> Report {
        let expected = self.answered.load(Ordering::Relaxed) + self.slots.len() as u64;
        self.wanted.fetch_add(1, Ordering::Relaxed);
        for _ in 0..2 * MAX_WAIT_NS / 1_000_000 {
            if self.answered.load(Ordering::Relaxed) >= expected {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.report(pipeline)
    }

    fn lock_news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_news(&self, statistics: &mut Statistics) {
        let messages = std::mem::take(&mut self.lock_news().messages);
        for message in messages {
            statistics.leave_shown();
            output::warning(&message);
        }
    }
}

/// What a worker's thread works with.
struct Worker {
    index: usize,
    switch: Switch,
    status: LaneStatus,
    clock: Clock,
    desk: Arc<Desk>,
    alone: bool,
    busy_poll: bool,
    /// Where its thread runs; anywhere when there are not enough processors.
    processor: Option<usize>,
    digests: u64,
    digests_lost: u64,
    /// Those that the switch itself has lost.
    lost_in_switch: u64,
    reports: u64,
    program: Arc<ProgramSlot>,
    version: u64,
    to_controllers: Option<DigestSender>,
    narrator: Option<(Narrator, Turns)>,
}

impl Worker {
    fn new(
        index: usize,
        switch: Switch,
        status: LaneStatus,
        clock: Clock,
        desk: Arc<Desk>,
        controlled: &Controlled<'_>,
    ) -> Worker {
        Worker {
            index,
            switch,
            status,
            clock,
            desk,
            alone: true,
            busy_poll: false,
            processor: None,
            digests: 0,
            digests_lost: 0,
            lost_in_switch: 0,
            reports: 0,
            program: Arc::clone(&controlled.program),
            version: 0,
            to_controllers: controlled.digests.clone(),
            narrator: controlled.log.as_ref().map(|(log, turns)| {
                let narrator = Narrator::new(log.clone(), controlled.program.present());
                (narrator, turns.clone())
            }),
        }
    }

    fn work(&mut self) -> Result<()> {
        self.switch.stay_pinned(true);
        let end = self.forward();
        self.switch.stay_pinned(false);
        end
    }

    /// Until it is told to stop, or nothing can come any more.
    fn forward(&mut self) -> Result<()> {
        if let (Some(processor), false) = (self.processor, self.alone) {
            pin_to_processor(processor).with_context(|| format!("cannot keep a worker on processor {processor}"))?;
        }
        let mut poller = Poller::new();
        let mut idle_breaths = 0;
        while !self.desk.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now_ns();
            if let Some(pipeline) = self.program.newer(&mut self.version) {
                if let Some((narrator, _)) = &mut self.narrator {
                    narrator.replace(Arc::clone(&pipeline));
                }
                self.switch.replace_pipeline(pipeline, now_ns);
                self.program.arrive();
            }
            let idle = match &mut self.narrator {
                None => self.switch.poll(now_ns, &mut NoTrace).is_idle(),
                Some((narrator, turns)) => narrated(&mut self.switch, now_ns, narrator, turns),
            };
            self.take_digests();
            self.answer();
            if !idle {
                idle_breaths = 0;
                continue;
            }
            self.pass_news_on();
            if self.is_done() {
                break;
            }
            idle_breaths += 1;
            if self.busy_poll {
                std::hint::spin_loop();
            } else if self.alone || idle_breaths > BREATHS_BEFORE_WAITING {
                self.wait(&mut poller, now_ns)?;
            } else {
                std::thread::yield_now();
            }
        }
        self.pass_news_on();
        Ok(())
    }

    /// Whether nothing can come to any worker. Said after an idle poll.
    fn is_done(&self) -> bool {
        if self.switch.counters().in_flight() > 0 {
            return false;
        }
        if self.alone && self.desk.closing.load(Ordering::Relaxed) {
            return true;
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

    /// Waits until a port may have something. What another worker has, no descriptor tells.
    fn wait(&self, poller: &mut Poller, now_ns: u64) -> Result<()> {
        let others = (!self.alone || self.switch.counters().in_flight() > 0).then_some(Readiness::Unknown);
        let readiness = self.switch.working_ports().map(|port| port.readiness()).chain(others);
        poller
            .wait(readiness, now_ns, MAX_WAIT_NS)
            .context("cannot wait for packets")?;
        Ok(())
    }

    /// Hands on what the program has sent to the control plane.
    fn take_digests(&mut self) {
        let (messages, lost) = self.switch.take_digests();
        self.digests_lost += lost - self.lost_in_switch;
        self.lost_in_switch = lost;
        for message in messages {
            let is_taken = self.to_controllers.as_ref().is_none_or(|sender| sender.send(message));
            let counter = if is_taken {
                &mut self.digests
            } else {
                &mut self.digests_lost
            };
            *counter += 1;
        }
    }

    fn answer(&mut self) {
        let wanted = self.desk.wanted.load(Ordering::Relaxed);
        if wanted != self.reports {
            self.reports = wanted;
            self.leave_report();
            self.pass_news_on();
            self.desk.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn leave_report(&mut self) {
        let report = Report {
            ports: self.switch.ports(),
            queues: self.switch.queues(),
            counters: self.switch.counters(),
            digests: self.digests,
            digests_lost: self.digests_lost,
            paths: self.switch.paths(),
            ..Report::default()
        };
        *self.desk.slots[self.index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// Passes on what has happened to ports.
    fn pass_news_on(&mut self) {
        let desk = &self.desk;
        for (number, error) in self.switch.take_failures() {
            desk.lock_news().failed(number, &error);
        }
        self.switch
            .presence_changes(|number, name, presence| desk.lock_news().presence(number, name, presence));
    }
}
