//! The device, and what accesses it: streams, the data plane, timers.

use crate::limits::Limits;
use crate::link::{Eras, Link, PacketsIn, PacketsOut, SentDigest, Turns};
use crate::outbox::{Outbox, Responses, outbox};
use crate::push::lower_priority;
use forebay_gnmi::{Interfaces, PortInfo, PortStatus};
use forebay_p4runtime::{Device, Error, Keeper, Keeping, KeepingStatus, Now, Output, Retired, StreamId};
use forebay_pipeline::{DigestMessage, Pipeline};
use forebay_protocol::StateReport;
use forebay_protocol::p4::config::v1::ControllerPacketMetadata;
use forebay_protocol::p4::v1::StreamMessageResponse;
use forebay_protocol::p4::v1::stream_message_response::Update;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};

/// Packets and digests of the data plane that are handed to the device before others have their turn.
const INPUTS_MAX: usize = 64;

/// Time for others when much is due at once.
const PAUSE: Duration = Duration::from_millis(1);

/// How long workers may take to let go of a program.
const RETIRING_MAX: Duration = Duration::from_secs(60);

/// Receives digests.
pub type Learned = Box<dyn Fn(&DigestMessage) + Send + Sync>;

/// What the server requires from the program around it.
pub struct Environment {
    /// The time.
    pub now: Box<dyn Fn() -> Now + Send + Sync>,
    /// Lets another program run soon.
    pub install: Box<dyn Fn(Arc<Pipeline>) + Send + Sync>,
    /// Returns when packets go through the program that was installed.
    pub wait_installed: Box<dyn Fn() + Send + Sync>,
    /// Gives up what the process does not need any more; called once it listens, before it has threads that serve.
    pub confine: Box<dyn FnOnce() -> Result<(), String> + Send + Sync>,
    /// Keeps what must survive a restart; none when nothing must.
    pub keeper: Option<Box<dyn Keeper>>,
    /// The ports of the switch that are interfaces.
    pub ports: Vec<PortInfo>,
    /// Enables or disables one of them.
    pub enable_port: Box<dyn Fn(u32, bool) + Send + Sync>,
    /// Called with every digest of the program that runs, in addition to controllers of P4Runtime. It must not block.
    pub learned: Option<Learned>,
}

/// See the [module](self).
pub(crate) struct Shared {
    /// Held while waiting for `inner`, so that the thread that has just released `inner` cannot take it again at once.
    next: Mutex<()>,
    inner: Mutex<Inner>,
    limits: Limits,
    /// Messages that had no room on their way to a controller, or no controller to go to, or whose program was replaced.
    messages_dropped: AtomicU64,
    eras: Eras,
    turns: Arc<Turns>,
    environment: Environment,
    interfaces: Interfaces,
    last_stream: AtomicU64,
    /// The status of the saved state; a copy, so that reading it does not wait for calls.
    keeping: Mutex<KeepingStatus>,
    /// Told when a fault has begun or ended.
    keeping_changed: Notify,
    /// When time is looked at next, in nanoseconds since the switch started.
    planned_ns: AtomicU64,
    replan: Notify,
    /// Counters of the data plane as JSON.
    statistics: OnceLock<Arc<Statistics>>,
}

/// A function that returns counters of the data plane as JSON. It may block.
pub(crate) type Statistics = dyn Fn() -> String + Send + Sync;

struct Inner {
    device: Device,
    keeping: Keeping,
    streams: HashMap<StreamId, Outbox>,
    packets_out: PacketsOut,
    headers: PacketHeaders,
}

/// How packets for controllers, and those from them, begin in the program that runs: a header, and its bytes.
struct PacketHeaders {
    to_controllers: Option<(ControllerPacketMetadata, usize)>,
    from_controllers: Option<(ControllerPacketMetadata, usize)>,
}

impl PacketHeaders {
    fn of(device: &Device) -> PacketHeaders {
        let owned = |(header, bytes): (&ControllerPacketMetadata, usize)| (header.clone(), bytes);
        PacketHeaders {
            to_controllers: device.packet_in_header().map(owned),
            from_controllers: device.packet_out_header().map(owned),
        }
    }
}

/// What comes from the data plane.
pub(crate) struct Inputs {
    packets_in: PacketsIn,
    digests: mpsc::Receiver<SentDigest>,
    /// Counts digests of programs that have been replaced.
    refused: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn new(
        device: Device,
        link: Link,
        mut environment: Environment,
        limits: Limits,
    ) -> (Arc<Shared>, Inputs) {
        let ports = std::mem::take(&mut environment.ports);
        let now = (environment.now)();
        let interfaces = Interfaces::new(ports, now.epoch_ns);
        let keeping = Keeping::begin(environment.keeper.take(), now);
        let shared = Shared {
            next: Mutex::new(()),
            limits,
            messages_dropped: AtomicU64::new(0),
            eras: link.eras,
            turns: Arc::clone(&link.packets_out.turns),
            keeping: Mutex::new(keeping.status().clone()),
            keeping_changed: Notify::new(),
            inner: Mutex::new(Inner {
                headers: PacketHeaders::of(&device),
                device,
                keeping,
                streams: HashMap::new(),
                packets_out: link.packets_out,
            }),
            environment,
            interfaces,
            last_stream: AtomicU64::new(0),
            planned_ns: AtomicU64::new(u64::MAX),
            replan: Notify::new(),
            statistics: OnceLock::new(),
        };
        let inputs = Inputs {
            packets_in: link.packets_in,
            digests: link.digests,
            refused: link.refused,
        };
        (Arc::new(shared), inputs)
    }

    /// Calls the device, and acts on its outputs, before any other thread does. The call must not change the state that
    /// is kept.
    pub(crate) fn call<R>(&self, action: impl FnOnce(&mut Device, Now) -> R) -> R {
        let mut inner = self.lock();
        let now = (self.environment.now)();
        let result = action(&mut inner.device, now);
        let outputs = inner.device.take_outputs();
        // No controller waits for this change: the fault is logged, and ends like all others.
        let (outputs, _) = inner.keeping.settle(outputs, now);
        self.finish(inner, outputs);
        result
    }

    /// The same for what changes the state that is kept; also whether the change is kept.
    ///
    /// # Errors
    /// When it could not be kept: nothing was done.
    pub(crate) fn change<R>(
        &self,
        action: impl FnOnce(&mut Device, Now) -> R,
    ) -> Result<(R, Result<(), Error>), Error> {
        let mut inner = self.lock();
        let now = (self.environment.now)();
        let Inner { device, keeping, .. } = &mut *inner;
        let (outputs, result) = match keeping.change(device, now, action) {
            Ok(changed) => (changed.outputs, Ok((changed.result, changed.kept))),
            Err(refused) => (Vec::new(), Err(refused)),
        };
        self.finish(inner, outputs);
        result
    }

    /// Keeps all of the state, as it is now.
    pub(crate) fn keep_all(&self) -> Result<(), String> {
        let mut inner = self.lock();
        let now = (self.environment.now)();
        let Inner { device, keeping, .. } = &mut *inner;
        let kept = keeping.refresh(device, now);
        self.finish(inner, Vec::new());
        kept
    }

    /// Locks the device, in the order of the callers. A thread of the runtime that must wait hands its other tasks to
    /// another thread.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        if let Ok(_next) = self.next.try_lock()
            && let Ok(inner) = self.inner.try_lock()
        {
            return inner;
        }
        tokio::task::block_in_place(|| {
            let _next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            self.inner.lock().unwrap_or_else(PoisonError::into_inner)
        })
    }

    /// After a call: acts on its outputs, and plans the next timer.
    fn finish(&self, mut inner: MutexGuard<'_, Inner>, outputs: Vec<Output>) {
        let is_installed = outputs.iter().any(|output| matches!(output, Output::Install(_)));
        let (mut is_replaced_in, mut is_replaced_out) = (false, false);
        if is_installed {
            let present = PacketHeaders::of(&inner.device);
            is_replaced_in = present.to_controllers != inner.headers.to_controllers;
            is_replaced_out = present.from_controllers != inner.headers.from_controllers;
            inner.headers = present;
        }
        if is_replaced_in {
            self.eras.begin_change();
        }
        if is_replaced_out {
            self.turns.begin_change();
        }
        for output in outputs {
            self.deliver(&mut inner, output);
        }
        let next_ns = inner.device.next_tick_ns().unwrap_or(u64::MAX);
        if next_ns < self.planned_ns.load(Ordering::Relaxed) {
            self.planned_ns.store(next_ns, Ordering::Relaxed);
            self.replan.notify_one();
        }
        let mut seen = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen != *inner.keeping.status() {
            seen.clone_from(inner.keeping.status());
            self.keeping_changed.notify_one();
        }
        drop((seen, inner));
        if is_installed {
            tokio::task::block_in_place(|| (self.environment.wait_installed)());
        }
        if is_replaced_in || is_replaced_out {
            let inner = self.lock();
            if is_replaced_in {
                self.eras.end_change();
            }
            if is_replaced_out {
                inner.packets_out.end_change();
            }
        }
    }

    /// The status of the saved state.
    pub(crate) fn keeping(&self) -> KeepingStatus {
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where counters of the data plane come from, from now on.
    pub(crate) fn set_statistics(&self, statistics: Arc<Statistics>) {
        // Only the first source is used.
        let _ = self.statistics.set(statistics);
    }

    /// Counters of the data plane as JSON; empty when no source was set.
    pub(crate) async fn statistics(&self) -> String {
        let Some(statistics) = self.statistics.get().cloned() else {
            return String::new();
        };
        tokio::task::spawn_blocking(move || statistics())
            .await
            .unwrap_or_default()
    }

    /// The status of the saved state, for controllers. Its counters are filled in by the caller.
    pub(crate) fn state_report(&self) -> StateReport {
        report_of(&self.keeping(), (self.environment.now)())
    }

    /// Keeps all of the state now and then, since packets change it too, and after a fault as soon as its pause is
    /// over.
    pub(crate) async fn keep_fresh(self: Arc<Self>, period: Duration) {
        let mut next_ns = self.switch_ns() + period.as_nanos() as u64;
        loop {
            let due_ns = self
                .keeping()
                .fault
                .map_or(next_ns, |fault| fault.retry_ns.min(next_ns));
            let wait = Duration::from_nanos(due_ns.saturating_sub(self.switch_ns()));
            if tokio::time::timeout(wait, self.keeping_changed.notified())
                .await
                .is_ok()
            {
                continue;
            }
            // A fault is logged when it begins; calls that it affects return errors of their own.
            let _ = tokio::task::block_in_place(|| self.keep_all());
            next_ns = self.switch_ns() + period.as_nanos() as u64;
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The ports, for gNMI.
    pub(crate) fn interfaces(&self) -> &Interfaces {
        &self.interfaces
    }

    /// Takes note of a port's state.
    pub(crate) fn port_seen(&self, port: u32, status: PortStatus) {
        self.interfaces.update(port, status, self.epoch_ns());
    }

    /// Takes note of what a port is.
    pub(crate) fn port_described(&self, info: PortInfo) {
        self.interfaces.describe(info);
    }

    /// Enables or disables a port.
    pub(crate) fn enable_port(&self, port: u32, is_enabled: bool) {
        (self.environment.enable_port)(port, is_enabled);
        self.interfaces.enable(port, is_enabled, self.epoch_ns());
    }

    /// The time.
    pub(crate) fn now(&self) -> Now {
        (self.environment.now)()
    }

    /// The time, in nanoseconds since 1970.
    pub(crate) fn epoch_ns(&self) -> i64 {
        (self.environment.now)().epoch_ns
    }

    /// The time, in nanoseconds since the switch started.
    pub(crate) fn switch_ns(&self) -> u64 {
        (self.environment.now)().switch_ns
    }

    /// A number for a new stream, and what is to be sent to it. `of_connection` is how many bytes wait for the streams
    /// of its connection.
    pub(crate) fn open_stream(&self, of_connection: Arc<AtomicUsize>) -> (StreamId, Responses, Outbox) {
        let stream = StreamId(self.last_stream.fetch_add(1, Ordering::Relaxed) + 1);
        let (outbox, responses) = outbox(self.limits.stream_bytes, of_connection);
        self.lock().streams.insert(stream, outbox.clone());
        (stream, responses, outbox)
    }

    /// The stream has ended.
    pub(crate) fn close_stream(&self, stream: StreamId) {
        self.lock().streams.remove(&stream);
        self.call(|device, _| device.stream_closed(stream));
    }

    /// Calls the device when time has made something due.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            let now_ns = (self.environment.now)().switch_ns;
            let planned_ns = self.planned_ns.load(Ordering::Relaxed);
            if planned_ns <= now_ns {
                self.planned_ns.store(u64::MAX, Ordering::Relaxed);
                self.call(|device, now| {
                    device.tick(now);
                    self.messages_dropped
                        .fetch_add(device.take_unheard(), Ordering::Relaxed);
                });
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            let wait = Duration::from_nanos((planned_ns - now_ns).min(3_600_000_000_000));
            // Either way the plan is looked at again.
            let _ = tokio::time::timeout(wait, self.replan.notified()).await;
        }
    }

    fn deliver(&self, inner: &mut Inner, output: Output) {
        match output {
            Output::Keep(_) | Output::KeepAll(_) => debug_assert!(false, "what is to be kept is settled before"),
            Output::Send(stream, message) => self.send(inner, stream, message),
            Output::PacketOut(packet) => {
                // There is no answer to a packet-out, and the port counts nothing that never came to it.
                if !inner.packets_out.send(packet) {
                    self.messages_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Output::Install(pipeline) => (self.environment.install)(pipeline),
            Output::Retire(program) => free_in_the_background(program),
        }
    }

    /// A controller that does not read loses packets and notifications; one that would miss who is primary is
    /// disconnected.
    fn send(&self, inner: &Inner, stream: StreamId, message: StreamMessageResponse) {
        let is_arbitration = matches!(message.update, Some(Update::Arbitration(_)));
        let Some(outbox) = inner.streams.get(&stream) else {
            return;
        };
        if !outbox.send(message) {
            self.messages_dropped.fetch_add(1, Ordering::Relaxed);
            if is_arbitration {
                outbox.disconnect();
            }
        }
    }

    /// Messages that had no room on their way to a controller, packets of controllers that had none on their way to the
    /// switch, and packets in either direction whose program was replaced.
    pub(crate) fn messages_dropped(&self) -> u64 {
        self.messages_dropped.load(Ordering::Relaxed) + self.turns.lost()
    }
}

/// Frees a program when workers have let go of it.
fn free_in_the_background(program: Retired) {
    let free = move || {
        lower_priority();
        let since = Instant::now();
        while program.is_in_use() && since.elapsed() < RETIRING_MAX {
            thread::sleep(Duration::from_millis(10));
        }
        drop(program);
    };
    // Without a thread it is freed here.
    drop(thread::Builder::new().name("retire".to_string()).spawn(free));
}

impl Inputs {
    /// Hands to the device what comes from the data plane.
    pub(crate) async fn pump(mut self, shared: Arc<Shared>) {
        loop {
            let (mut packets, mut digests) = (Vec::new(), Vec::new());
            tokio::select! {
                1.. = self.packets_in.receive(&mut packets, INPUTS_MAX) => {}
                1.. = self.digests.recv_many(&mut digests, INPUTS_MAX) => {}
                else => return,
            }
            shared.call(|device, now| {
                for (era, packet) in &packets {
                    if shared.eras.accepts(*era) {
                        device.packet_in(packet)
                    } else {
                        _ = shared.messages_dropped.fetch_add(1, Ordering::Relaxed)
                    }
                }
                digests.retain(|digest| self.is_present(device, digest));
                if let Some(learned) = &shared.environment.learned {
                    digests.iter().for_each(|(_, message)| learned(message));
                }
                digests.drain(..).for_each(|(_, message)| device.digest(message, now));
                shared
                    .messages_dropped
                    .fetch_add(device.take_unheard(), Ordering::Relaxed);
            });
            tokio::task::yield_now().await;
        }
    }

    /// Whether a digest is one of the program that runs: digests are numbered by their program.
    fn is_present(&self, device: &Device, (program, _): &SentDigest) -> bool {
        let is_present = device.runs(*program);
        self.refused.fetch_add(u64::from(!is_present), Ordering::Relaxed);
        is_present
    }
}

/// The report about the saved state for a client.
fn report_of(status: &KeepingStatus, now: Now) -> StateReport {
    let fault = status.fault.as_ref();
    StateReport {
        keeps_state: status.keeps_state,
        problem: fault.map(|fault| fault.problem.clone()).unwrap_or_default(),
        refuses_changes: fault.is_some_and(|fault| fault.is_behind),
        fault_ns: fault.map_or(0, |fault| now.switch_ns.saturating_sub(fault.since_ns)),
        next_try_ns: fault.map_or(0, |fault| fault.retry_ns.saturating_sub(now.switch_ns)),
        faults: status.faults,
        refused_calls: status.refused_calls,
        statistics: String::new(),
    }
}
