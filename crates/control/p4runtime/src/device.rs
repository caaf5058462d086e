//! A device: the state machine that serves P4Runtime.
//!
//! Whatever comes is a call, with the time where time matters; what is to be sent or done is in
//! [`Device::take_outputs`] afterwards. A call never waits, and the data plane never waits for a call.

use crate::arbitration::{Arbitration, Notice};
use crate::change::Writer;
use crate::forwarding::Forwarding;
use crate::ports::Ports;
use crate::roles::RoleConfig;
use crate::save;
use crate::schema::{PacketSchema, Schema};
use crate::status::{Code, Error, Rejection};
use crate::stream::digests::{Digests, Times};
use crate::stream::idle;
use forebay_p4info::Version;
use forebay_pipeline::{DigestMessage, Options, Pipeline};
use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, P4Info};
use forebay_protocol::p4::v1::stream_error::Details;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    DigestListAck, DigestListAckError, Entity, ForwardingPipelineConfig, PacketIn, PacketOut, PacketOutError,
    ReadRequest, ReadResponse, StreamError, StreamMessageRequest, StreamMessageResponse, StreamOtherError, Update,
    WriteRequest,
};
use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Entities of one message of a read, and their bytes, of which the last one may have more: clients take 4 MB.
const ENTITIES_PER_MESSAGE: usize = 256;
const BYTES_PER_MESSAGE: usize = 1 << 20;

/// A controller's stream, as the server numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The settings of a device.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Its number in requests.
    pub device_id: u64,
    /// How programs are loaded.
    pub options: Options,
    /// The port by which packets go to controllers and come from them.
    pub cpu_port: Option<u32>,
    /// Names of roles that only read.
    pub read_only_roles: BTreeSet<String>,
    /// Whether what must survive a restart is said by [`Output::Keep`] and [`Output::KeepAll`].
    pub keeps_state: bool,
    /// Whether that includes the entries that packets have added.
    pub keeps_learned: bool,
    /// The version of P4Runtime whose P4Info controllers are given.
    pub p4info_version: Version,
    /// Whether it stands for BMv2's simple_switch_grpc, and so does what that does where P4Runtime wants something else:
    /// election ids count while their streams are open, and without a program there is an error in place of an answer
    /// without config.
    pub is_bmv2: bool,
    /// Names the program that the switch is started with; empty when there is none. State that is restored must be of
    /// it, or of one with the same P4Info.
    pub origin: Vec<u8>,
    /// The P4Info of that program.
    pub origin_info: Option<P4Info>,
    /// Whether state that is restored, of a program with another P4Info, is written to the new one.
    pub reconciles: bool,
}

/// The time of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// Nanoseconds since the switch started first, as far as its state was kept: the clock of the data plane.
    pub switch_ns: u64,
    /// Nanoseconds since 1970, for controllers.
    pub epoch_ns: i64,
}

/// What the caller must do after a call.
#[derive(Debug)]
pub enum Output {
    /// Send this to a controller.
    Send(StreamId, StreamMessageResponse),
    /// Let this packet arrive at the port of the controllers.
    PacketOut(Vec<u8>),
    /// Run this program from now on.
    Install(Arc<Pipeline>),
    /// Drop this in a thread that no call waits for.
    Retire(Retired),
    /// Keep this batch, after those before it, until the next [`Output::KeepAll`].
    Keep(Vec<u8>),
    /// Keep this in place of all that was kept.
    KeepAll(Vec<u8>),
}

/// A program that the device does not use any more. To free all of its entries may take a while.
#[derive(Debug)]
pub struct Retired(Box<Forwarding>);

impl Retired {
    /// Whether workers still use the program: the last one to let go of it frees it, and should be none of them.
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0.pipeline) > 1
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Device {
    pub(crate) settings: Settings,
    ports: Ports,
    pub(crate) arbitration: Arbitration,
    /// What packets go through.
    pub(crate) running: Option<Forwarding>,
    /// What was saved and is not yet committed: reads and writes are about it already.
    pub(crate) saved: Option<Forwarding>,
    pub(crate) digests: Digests,
    outputs: Vec<Output>,
    /// Packets for controllers that were shorter than their header.
    short_packets: u64,
    /// Packets for controllers, and digests, that no controller was there for.
    unheard: u64,
    /// The time from which packets' time goes on after a restart.
    pub(crate) clock_ns: u64,
    /// Whether what was restored has been written to another program than it was of.
    pub(crate) is_carried_over: bool,
}

impl Device {
    /// A device without a program.
    pub fn new(settings: Settings) -> Device {
        Device {
            arbitration: if settings.is_bmv2 {
                Arbitration::as_bmv2(settings.device_id)
            } else {
                Arbitration::new(settings.device_id)
            },
            ports: Ports {
                cpu: settings.cpu_port,
                ..Ports::default()
            },
            settings,
            running: None,
            saved: None,
            digests: Digests::default(),
            outputs: Vec::new(),
            short_packets: 0,
            unheard: 0,
            clock_ns: 0,
            is_carried_over: false,
        }
    }

    /// Serves a program that runs already. `blob` is the program as controllers can read it.
    ///
    /// # Errors
    /// When the P4Info is not that of the program.
    pub fn adopt(&mut self, p4info: P4Info, blob: Vec<u8>, pipeline: Arc<Pipeline>) -> Result<(), Error> {
        let config = ForwardingPipelineConfig {
            p4info: Some(p4info),
            p4_device_config: blob,
            cookie: None,
        };
        self.running = Some(Forwarding::adopt(config, pipeline)?);
        Ok(())
    }

    /// What is to be done, in order.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// When to call [`Device::tick`] again, in nanoseconds since the switch started; none when nothing is planned.
    pub fn next_tick_ns(&self) -> Option<u64> {
        let running = self.running.as_ref()?;
        let idle = running.timers.next_ns();
        let digests = self.digests.next_ns(running.ledger.digests());
        idle.into_iter().chain(digests).min()
    }

    /// Does what time has made due: lists of digests, idle entries. It does a bounded part: when more is due,
    /// [`Device::next_tick_ns`] says that the next time is now.
    pub fn tick(&mut self, now: Now) {
        let Some(running) = &mut self.running else { return };
        let is_heard = |object| self.arbitration.primaries().any(|(_, role)| role.hears_of(object));
        let lists = self
            .digests
            .tick(&running.schema, running.ledger.digests(), times(now), is_heard);
        let idle = idle::look(running, now.switch_ns, now.epoch_ns, is_heard);
        for list in lists {
            self.notify(list.digest_id, Response::Digest(list));
        }
        for (table, notification) in idle {
            self.notify(table, Response::IdleTimeoutNotification(notification));
        }
    }

    /// A port exists, and carries packets or not.
    pub fn port_changed(&mut self, port: u32, is_up: bool) {
        if self.ports.up.insert(port, is_up) == Some(is_up) {
            return;
        }
        for forwarding in self.running.iter_mut().chain(&mut self.saved) {
            // What was written was checked then.
            let _ = forwarding.ports_changed(&self.ports);
        }
    }

    /// A stream has ended.
    pub fn stream_closed(&mut self, stream: StreamId) {
        let notices = self.arbitration.close(stream);
        self.send_notices(notices);
    }

    /// Whether the message claims the election id of a controller on another stream, for which it is refused. A
    /// controller that has just ended its stream, and claims its id on a new one, can come before the end of the old
    /// one has been seen.
    pub fn claims_taken_id(&self, stream: StreamId, message: &StreamMessageRequest) -> bool {
        match &message.update {
            Some(Request::Arbitration(claim)) => self.arbitration.claims_taken(stream, claim),
            _ => false,
        }
    }

    /// A controller has sent something.
    ///
    /// # Errors
    /// The stream is to be ended with this error.
    pub fn stream_message(&mut self, stream: StreamId, message: StreamMessageRequest) -> Result<(), Error> {
        match message.update {
            Some(Request::Arbitration(claim)) => {
                let reads_only = |role: &str| self.settings.read_only_roles.contains(role);
                let notices = self.arbitration.update(stream, &claim, reads_only)?;
                self.send_notices(notices);
            }
            Some(Request::Packet(packet)) => self.packet_out(stream, packet),
            Some(Request::DigestAck(ack)) => self.acknowledge(stream, ack),
            Some(Request::Other(other)) => {
                let error = Error::unimplemented("messages of other kinds are not understood");
                let details = Details::Other(StreamOtherError { other: Some(other) });
                self.send_error(stream, &error, details);
            }
            None => {
                let error = Error::invalid("the message is empty");
                self.send_error(stream, &error, Details::Other(StreamOtherError { other: None }));
            }
        }
        Ok(())
    }

    fn packet_out(&mut self, stream: StreamId, packet: PacketOut) {
        match self.check_packet_out(stream, &packet) {
            Ok(mut bytes) => {
                bytes.extend_from_slice(&packet.payload);
                self.outputs.push(Output::PacketOut(bytes));
            }
            Err(error) => {
                let details = Details::PacketOut(PacketOutError {
                    packet_out: Some(packet),
                });
                self.send_error(stream, &error, details);
            }
        }
    }

    /// The header of a packet from a controller.
    fn check_packet_out(&self, stream: StreamId, packet: &PacketOut) -> Result<Vec<u8>, Error> {
        let role = self.arbitration.primary_on(stream);
        if !role.is_some_and(RoleConfig::sends_packets) {
            return Err(Error::denied("only a primary controller may send packets"));
        }
        let running = self.running.as_ref().ok_or_else(no_program)?;
        let limit = self.settings.options.packet_limit;
        if packet.payload.len() > limit as usize {
            return Err(Error::invalid(format!(
                "a packet has at most {limit} bytes, not {}",
                packet.payload.len()
            )));
        }
        if self.settings.cpu_port.is_none() {
            return Err(Error::precondition(
                "the switch runs without a port for controllers (--cpu-port)",
            ));
        }
        match &running.schema.packet_out {
            Some(header) => header.write(&packet.metadata),
            None if packet.metadata.is_empty() => Ok(Vec::new()),
            None => Err(Error::invalid(
                "the program has no header \"packet_out\", so packets have no metadata",
            )),
        }
    }

    /// A packet has left by the port of the controllers.
    pub fn packet_in(&mut self, packet: &[u8]) {
        let Some(running) = &self.running else { return };
        let (metadata, payload) = match &running.schema.packet_in {
            None => (Vec::new(), packet),
            Some(header) => match header.read(packet) {
                Some(metadata) => (metadata, &packet[header.bytes()..]),
                None => {
                    self.short_packets += 1;
                    return;
                }
            },
        };
        let receivers = self
            .arbitration
            .primaries()
            .filter(|(_, role)| role.receives_packet(&metadata));
        let mut is_heard = false;
        for (stream, _) in receivers {
            is_heard = true;
            let packet = PacketIn {
                payload: payload.to_vec(),
                metadata: metadata.clone(),
            };
            self.outputs
                .push(Output::Send(stream, response(Response::Packet(packet))));
        }
        self.unheard += u64::from(!is_heard);
    }

    /// The header with which packets for controllers begin in the running program, and its length in bytes;
    /// `None` if it has none.
    pub fn packet_in_header(&self) -> Option<(&ControllerPacketMetadata, usize)> {
        self.packet_header("packet_in", |schema| schema.packet_in.as_ref())
    }

    /// The same for packets from controllers.
    pub fn packet_out_header(&self) -> Option<(&ControllerPacketMetadata, usize)> {
        self.packet_header("packet_out", |schema| schema.packet_out.as_ref())
    }

    fn packet_header(
        &self,
        name: &str,
        of: impl Fn(&Schema) -> Option<&PacketSchema>,
    ) -> Option<(&ControllerPacketMetadata, usize)> {
        let running = self.running.as_ref()?;
        let bytes = of(&running.schema)?.bytes();
        let mut headers = running.config.p4info.as_ref()?.controller_packet_metadata.iter();
        let is_named = |header: &&ControllerPacketMetadata| {
            let preamble = header.preamble.as_ref();
            preamble.is_some_and(|preamble| preamble.name == name)
        };
        Some((headers.find(is_named)?, bytes))
    }

    /// Packets for controllers that were dropped since they are shorter than the program's header for them.
    pub fn short_packets(&self) -> u64 {
        self.short_packets
    }

    /// Packets for controllers, and messages of digests that are on, for which no controller was there, since the last
    /// call; also messages that were gathered when the program was replaced.
    pub fn take_unheard(&mut self) -> u64 {
        std::mem::take(&mut self.unheard) + self.digests.take_lost()
    }

    /// Whether this is the program that runs, by the number of its pipeline; any is while none is known.
    pub fn runs(&self, program: u64) -> bool {
        let running = self.running.as_ref();
        running.is_none_or(|running| running.pipeline.number() == program)
    }

    /// The running program has sent a digest.
    pub fn digest(&mut self, message: DigestMessage, now: Now) {
        let Some(running) = &self.running else { return };
        let is_heard = |id| self.arbitration.primaries().any(|(_, role)| role.hears_of(id));
        let id = running.schema.digest_ids.get(message.digest.index()).copied().flatten();
        let Some((id, config)) = id.and_then(|id| Some((id, running.ledger.digests().get(&id)?))) else {
            return;
        };
        // What no controller hears of is not gathered: only what was sent is not sent again.
        if !is_heard(id) {
            self.unheard += 1;
            return;
        }
        let list = self
            .digests
            .receive(&running.schema, id, message.values, config, times(now));
        if let Some(list) = list {
            self.notify(id, Response::Digest(list));
        }
    }

    fn acknowledge(&mut self, stream: StreamId, ack: DigestListAck) {
        let is_known = self
            .running
            .as_ref()
            .is_some_and(|running| running.schema.digests.contains_key(&ack.digest_id));
        if !is_known {
            let error = Error::invalid(format!("the program has no digest with id {:#010x}", ack.digest_id));
            let details = Details::DigestListAck(DigestListAckError {
                digest_list_ack: Some(ack),
            });
            return self.send_error(stream, &error, details);
        }
        if self.arbitration.primary_on(stream).is_some() {
            self.digests.acknowledge(&ack);
        }
    }

    /// Changes forwarding state.
    ///
    /// # Errors
    /// See P4Runtime §12; when updates of the batch fail, the rejection has an error for each.
    pub fn write(&mut self, request: &WriteRequest, now: Now) -> Result<(), Rejection> {
        let role = self
            .arbitration
            .primary_role(request.device_id, &request.role, request.election_id)?;
        let is_running = self.saved.is_none();
        let forwarding = self.saved.as_mut().or(self.running.as_mut()).ok_or_else(no_program)?;
        let atomicity = request.atomicity();
        if request.atomicity != atomicity as i32 {
            return Err(Error::invalid(format!("there is no atomicity {}", request.atomicity)).into());
        }
        let writer = Writer {
            role,
            ports: &self.ports,
            now_ns: now.switch_ns,
            writes_again: false,
            is_bound: true,
            is_bmv2: false,
        };
        let results = forwarding.write(&request.updates, atomicity, writer);
        if is_running {
            self.digests.forget_deleted(&request.updates, &results);
        }
        self.keep_batch(&request.updates, &results);
        Rejection::of_batch(&results)
    }

    /// Says that what was written is to be kept.
    fn keep_batch(&mut self, updates: &[Update], results: &[Result<(), Error>]) {
        if !self.settings.keeps_state || !results.iter().any(Result::is_ok) {
            return;
        }
        let forwarding = self.saved.as_mut().or(self.running.as_mut());
        if let Some(forwarding) = forwarding {
            // What a batch says of strings adds to those before it; it cannot take back numbers.
            if std::mem::take(&mut forwarding.has_freed_numbers) {
                return self.keep_all();
            }
            let batch = save::batch(forwarding, updates, results);
            self.outputs.push(Output::Keep(batch));
        }
    }

    /// Writes for an operator within the process, to whom arbitration does not apply: all updates or none.
    ///
    /// # Errors
    /// The error of the first update that is refused.
    pub fn write_locally(&mut self, updates: &[Update], now: Now) -> Result<(), Error> {
        let forwarding = self.saved.as_mut().or(self.running.as_mut()).ok_or_else(no_program)?;
        let writer = Writer {
            role: &RoleConfig::default(),
            ports: &self.ports,
            now_ns: now.switch_ns,
            writes_again: false,
            is_bound: true,
            is_bmv2: true,
        };
        let results = forwarding.write(updates, Atomicity::RollbackOnError, writer);
        self.keep_batch(updates, &results);
        let errors = results.into_iter().filter_map(Result::err);
        let mut own = errors.filter(|error| error.code != Code::Aborted);
        own.next().map_or(Ok(()), Err)
    }

    /// Reads for an operator within the process.
    ///
    /// # Errors
    /// If a requested entity cannot be read.
    pub fn read_locally(&self, wanted: &[Entity], now: Now) -> Result<Vec<Entity>, Error> {
        let forwarding = self.current().ok_or_else(no_program)?;
        let mut entities = Vec::new();
        let mut sink = |entity| entities.push(Entity { entity: Some(entity) });
        wanted
            .iter()
            .try_for_each(|wanted| forwarding.read(wanted, now.switch_ns, &mut sink))?;
        Ok(entities)
    }

    /// The program that reads and writes are about, as it was pushed.
    pub fn program(&self) -> Option<&ForwardingPipelineConfig> {
        self.current().map(|forwarding| &*forwarding.config)
    }

    /// A number that changes when reads and writes are about another program; 0 while there is none.
    pub fn program_number(&self) -> u64 {
        self.current().map_or(0, |forwarding| forwarding.number)
    }

    /// The number of the device in requests.
    pub fn device_id(&self) -> u64 {
        self.settings.device_id
    }

    /// Writes what is to be there from the beginning, before any controller: all of it or nothing.
    ///
    /// # Errors
    /// As those of [`Device::write`]. Updates that were not done because of others are `ABORTED`.
    pub fn configure(&mut self, updates: &[Update]) -> Result<(), Rejection> {
        let forwarding = self.running.as_mut().ok_or_else(no_program)?;
        let writer = Writer {
            role: &RoleConfig::default(),
            ports: &self.ports,
            now_ns: 0,
            writes_again: false,
            is_bound: true,
            is_bmv2: false,
        };
        Rejection::of_batch(&forwarding.write(updates, Atomicity::RollbackOnError, writer))
    }

    /// Reads forwarding state; each message of the answer goes to `sink`. An answer without entities is one empty
    /// message: clients take a stream that ends without any for a failure.
    ///
    /// # Errors
    /// See P4Runtime §13; when requests of the batch fail, the others are answered and the rejection has an error for
    /// each.
    pub fn read(&self, request: &ReadRequest, now: Now, sink: &mut dyn FnMut(ReadResponse)) -> Result<(), Rejection> {
        self.arbitration.check_device(request.device_id)?;
        let forwarding = self.current().ok_or_else(no_program)?;
        let role = self.arbitration.reader(&request.role)?;
        let mut message = ReadResponse::default();
        let mut bytes = 0;
        let mut is_empty = true;
        let results: Vec<Result<(), Error>> = request
            .entities
            .iter()
            .map(|wanted| {
                forwarding.read(wanted, now.switch_ns, &mut |entity| {
                    if role.is_some_and(|role| !role.owns(&entity)) {
                        return;
                    }
                    is_empty = false;
                    let entity = Entity { entity: Some(entity) };
                    bytes += entity.encoded_len();
                    message.entities.push(entity);
                    if message.entities.len() >= ENTITIES_PER_MESSAGE || bytes >= BYTES_PER_MESSAGE {
                        sink(std::mem::take(&mut message));
                        bytes = 0;
                    }
                })
            })
            .collect();
        if is_empty || !message.entities.is_empty() {
            sink(message);
        }
        Rejection::of_batch(&results)
    }

    /// What reads and writes are about.
    pub(crate) fn current(&self) -> Option<&Forwarding> {
        self.saved.as_ref().or(self.running.as_ref())
    }

    /// Runs another program; what was gathered for controllers of the old one is forgotten.
    pub(crate) fn run(&mut self, forwarding: Forwarding) {
        self.outputs.push(Output::Install(Arc::clone(&forwarding.pipeline)));
        if let Some(old) = self.running.replace(forwarding) {
            self.retire(old);
        }
        self.digests.forget_all();
    }

    /// A program is not used by the device any more.
    pub(crate) fn retire(&mut self, forwarding: Forwarding) {
        self.outputs.push(Output::Retire(Retired(Box::new(forwarding))));
    }

    /// Says that everything is to be kept anew, if anything is kept.
    pub fn keep_all(&mut self) {
        if self.settings.keeps_state {
            let snapshot = self.snapshot();
            self.outputs.push(Output::KeepAll(snapshot));
        }
    }

    /// The ports, as entities name them.
    pub(crate) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Tells the primaries that hear of an object.
    fn notify(&mut self, object: u32, message: Response) {
        let receivers = self.arbitration.primaries().filter(|(_, role)| role.hears_of(object));
        for (stream, _) in receivers {
            self.outputs.push(Output::Send(stream, response(message.clone())));
        }
    }

    fn send_notices(&mut self, notices: Vec<Notice>) {
        let notices = notices.into_iter();
        let messages = notices.map(|(stream, notice)| Output::Send(stream, response(Response::Arbitration(notice))));
        self.outputs.extend(messages);
    }

    fn send_error(&mut self, stream: StreamId, error: &Error, details: Details) {
        let error = StreamError {
            canonical_code: error.code as i32,
            message: error.message.clone(),
            space: "forebay".to_string(),
            code: 0,
            details: Some(details),
        };
        self.outputs
            .push(Output::Send(stream, response(Response::Error(error))));
    }
}

pub(crate) fn no_program() -> Error {
    Error::precondition("the switch has no program yet: push one with SetForwardingPipelineConfig")
}

fn response(update: Response) -> StreamMessageResponse {
    StreamMessageResponse { update: Some(update) }
}

fn times(now: Now) -> Times {
    Times {
        now_ns: now.switch_ns,
        epoch_ns: now.epoch_ns,
    }
}
