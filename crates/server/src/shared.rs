//! The device and those who take part in it: streams, the data plane, time.

use crate::gnmi::interfaces::{Interfaces, PortInfo, PortStatus};
use crate::link::{Link, PacketsOut};
use crate::state_report::StateReport;
use forebay_control::{Device, Error, Keeper, Keeping, KeepingStatus, Now, Output, StreamId};
use forebay_pipeline::{DigestMessage, Pipeline};
use forebay_protocol::p4::v1::StreamMessageResponse;
use forebay_protocol::p4::v1::stream_message_response::Update;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tonic::Status;

/// Messages that may wait for a controller that does not read.
const MESSAGES_MAX: usize = 1024;

/// What the server asks of the program that it runs in.
pub struct Environment {
    /// The time.
    pub now: Box<dyn Fn() -> Now + Send + Sync>,
    /// Runs another program; returns when packets go through it.
    pub install: Box<dyn Fn(Arc<Pipeline>) + Send + Sync>,
    /// Keeps what must survive a restart; none when nothing must.
    pub keeper: Option<Box<dyn Keeper>>,
    /// The ports of the switch that are interfaces.
    pub ports: Vec<PortInfo>,
    /// Enables or disables one of them.
    pub enable_port: Box<dyn Fn(u32, bool) + Send + Sync>,
}

/// What goes to a stream.
#[derive(Clone)]
pub(crate) struct ToStream {
    pub(crate) messages: mpsc::Sender<Result<StreamMessageResponse, Status>>,
    /// Told when the controller is to be disconnected.
    pub(crate) end: Arc<Notify>,
}

/// See the [module](self).
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    environment: Environment,
    interfaces: Interfaces,
    last_stream: AtomicU64,
    /// How it stands with what is kept; a copy, to be read without waiting for calls.
    keeping: Mutex<KeepingStatus>,
    /// Told when a fault has begun or ended.
    keeping_changed: Notify,
    /// When time is looked at next, in nanoseconds since the switch started.
    planned_ns: AtomicU64,
    replan: Notify,
}

struct Inner {
    device: Device,
    keeping: Keeping,
    streams: HashMap<StreamId, ToStream>,
    packets_out: PacketsOut,
}

/// What comes from the data plane.
pub(crate) struct Inputs {
    packets_in: mpsc::Receiver<Vec<u8>>,
    digests: mpsc::Receiver<DigestMessage>,
}

impl Shared {
    pub(crate) fn new(device: Device, link: Link, mut environment: Environment) -> (Arc<Shared>, Inputs) {
        let ports = std::mem::take(&mut environment.ports);
        let interfaces = Interfaces::new(ports, (environment.now)().epoch_ns);
        let keeping = Keeping::new(environment.keeper.take());
        let shared = Shared {
            keeping: Mutex::new(keeping.status().clone()),
            keeping_changed: Notify::new(),
            inner: Mutex::new(Inner {
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
        };
        let inputs = Inputs {
            packets_in: link.packets_in,
            digests: link.digests,
        };
        (Arc::new(shared), inputs)
    }

    /// Does something with the device, and what comes of it, before anybody else does. It must not change what is kept.
    pub(crate) fn call<R>(&self, action: impl FnOnce(&mut Device, Now) -> R) -> R {
        let mut inner = self.lock();
        let now = (self.environment.now)();
        let result = action(&mut inner.device, now);
        let outputs = inner.device.take_outputs();
        // A change that a controller does not wait for: the fault is told, and ends as all others do.
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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a call: does what it wants done, and plans what time will make due.
    fn finish(&self, mut inner: MutexGuard<'_, Inner>, outputs: Vec<Output>) {
        for output in outputs {
            inner.deliver(output, &self.environment);
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
    }

    /// How it stands with what is kept.
    pub(crate) fn keeping(&self) -> KeepingStatus {
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for controllers.
    pub(crate) fn state_report(&self) -> StateReport {
        StateReport::new(&self.keeping(), (self.environment.now)())
    }

    /// Keeps all of the state now and then, since packets change it too, and after a fault as soon as its pause is over.
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
            // A fault is told when it begins; calls that it concerns have errors of their own.
            let _ = tokio::task::block_in_place(|| self.keep_all());
            next_ns = self.switch_ns() + period.as_nanos() as u64;
        }
    }

    /// The ports, for gNMI.
    pub(crate) fn interfaces(&self) -> &Interfaces {
        &self.interfaces
    }

    /// Takes note of a port's state.
    pub(crate) fn port_seen(&self, port: u32, status: PortStatus) {
        self.interfaces.update(port, status, self.epoch_ns());
    }

    /// Enables or disables a port.
    pub(crate) fn enable_port(&self, port: u32, is_enabled: bool) {
        (self.environment.enable_port)(port, is_enabled);
        self.interfaces.enable(port, is_enabled, self.epoch_ns());
    }

    /// The time, in nanoseconds since 1970.
    pub(crate) fn epoch_ns(&self) -> i64 {
        (self.environment.now)().epoch_ns
    }

    /// The time, in nanoseconds since the switch started.
    pub(crate) fn switch_ns(&self) -> u64 {
        (self.environment.now)().switch_ns
    }

    /// A number for a new stream, and what is to be sent to it.
    pub(crate) fn open_stream(
        &self,
    ) -> (
        StreamId,
        mpsc::Receiver<Result<StreamMessageResponse, Status>>,
        ToStream,
    ) {
        let stream = StreamId(self.last_stream.fetch_add(1, Ordering::Relaxed) + 1);
        let (messages, receiver) = mpsc::channel(MESSAGES_MAX);
        let sender = ToStream {
            messages,
            end: Arc::default(),
        };
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.streams.insert(stream, sender.clone());
        (stream, receiver, sender)
    }

    /// The stream has ended.
    pub(crate) fn close_stream(&self, stream: StreamId) {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .streams
            .remove(&stream);
        self.call(|device, _| device.stream_closed(stream));
    }

    /// Calls the device when time has made something due.
    pub(crate) async fn keep_time(self: Arc<Self>) {
        loop {
            let now_ns = (self.environment.now)().switch_ns;
            let planned_ns = self.planned_ns.load(Ordering::Relaxed);
            if planned_ns <= now_ns {
                self.planned_ns.store(u64::MAX, Ordering::Relaxed);
                self.call(|device, now| device.tick(now));
                continue;
            }
            let wait = Duration::from_nanos((planned_ns - now_ns).min(3_600_000_000_000));
            // Either way the plan is looked at again.
            let _ = tokio::time::timeout(wait, self.replan.notified()).await;
        }
    }
}

impl Inner {
    fn deliver(&mut self, output: Output, environment: &Environment) {
        match output {
            Output::Keep(_) | Output::KeepAll(_) => debug_assert!(false, "what is to be kept is settled before"),
            Output::Send(stream, message) => self.send(stream, message),
            Output::PacketOut(packet) => {
                // The port counts nothing that never came to it; a controller sees no answer to a packet-out either way.
                let _ = self.packets_out.send(packet);
            }
            Output::Install(pipeline) => tokio::task::block_in_place(|| (environment.install)(pipeline)),
        }
    }

    /// A controller that does not read loses packets and notifications; one that would miss who is primary is
    /// disconnected.
    fn send(&mut self, stream: StreamId, message: StreamMessageResponse) {
        let is_arbitration = matches!(message.update, Some(Update::Arbitration(_)));
        let Some(sender) = self.streams.get(&stream) else {
            return;
        };
        if sender.messages.try_send(Ok(message)).is_err() && is_arbitration {
            sender.end.notify_one();
        }
    }
}

impl Inputs {
    /// Hands to the device what comes from the data plane.
    pub(crate) async fn pump(mut self, shared: Arc<Shared>) {
        loop {
            tokio::select! {
                Some(packet) = self.packets_in.recv() => shared.call(|device, _| device.packet_in(&packet)),
                Some(digest) = self.digests.recv() => shared.call(|device, now| device.digest(digest, now)),
                else => return,
            }
        }
    }
}
