//! A switch with the program `tests/clients/entities.p4` and its primary controller. Entities are written as texts in
//! which `$name` stands for the id of an object.

use forebay_p4runtime::{Code, Device, Error, Now, Output, Rejection, Settings, StreamId};
use forebay_pipeline::{IngressArguments, IngressPacket, NoTrace, Pipeline, Worker};
use forebay_protocol::p4::config::v1::{P4Info, Preamble};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, Role, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, Update, WriteRequest,
};
use forebay_protocol::text;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::LazyLock;

pub const PROGRAM: &str = include_str!("../../../../../tests/clients/entities.p4");

/// A program with what the first has not.
pub const VARIANTS: &str = include_str!("variants.p4");

static INFO: LazyLock<P4Info> = LazyLock::new(|| {
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).expect("the program is correct");
    loaded.p4info.expect("it was compiled from source")
});

/// The stream of the primary controller.
pub const PRIMARY: StreamId = StreamId(1);

pub struct Switch {
    pub device: Device,
    /// What packets go through, once something was installed.
    pub pipeline: Option<Arc<Pipeline>>,
    pub now: Now,
    pub ids: BTreeMap<String, u32>,
}

/// A code and a part of the message.
pub type Expected = (Code, &'static str);

impl Switch {
    /// With the program and a primary controller with election id 1.
    pub fn new() -> Switch {
        let mut switch = Switch::empty();
        switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
        switch.push(Action::VerifyAndCommit, Some(config())).unwrap();
        switch.pipeline = installed(&mut switch.device);
        switch
    }

    /// With another program.
    pub fn with(source: &str) -> Switch {
        let mut switch = Switch::keeping(source, Switch::empty_settings());
        switch.pipeline = installed(&mut switch.device);
        switch
    }

    /// With a program and settings; the effects of the first push are not yet taken.
    pub fn keeping(source: &str, settings: Settings) -> Switch {
        let mut switch = Switch::empty();
        switch.device = Device::new(settings);
        let config = config_of(source);
        switch.ids = ids(config.p4info.as_ref().expect("it was compiled from source"));
        switch.arbitrate(PRIMARY, "", Some(1)).unwrap();
        switch.push(Action::VerifyAndCommit, Some(config)).unwrap();
        switch
    }

    fn empty_settings() -> Settings {
        Settings {
            device_id: 1,
            cpu_port: Some(510),
            ..Settings::default()
        }
    }

    /// Without a program and a controller.
    pub fn empty() -> Switch {
        Switch {
            device: Device::new(Switch::empty_settings()),
            pipeline: None,
            now: Now {
                switch_ns: 1_000,
                epoch_ns: 5_000_000,
            },
            ids: ids(&INFO),
        }
    }

    /// The same, as BMv2's simple_switch_grpc.
    pub fn as_bmv2() -> Switch {
        let settings = Settings {
            is_bmv2: true,
            ..Switch::empty_settings()
        };
        Switch {
            device: Device::new(settings),
            ..Switch::empty()
        }
    }

    pub fn push(&mut self, action: Action, config: Option<ForwardingPipelineConfig>) -> Result<(), Error> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            action: action as i32,
            config,
            ..Default::default()
        };
        self.device.set_pipeline_config(&request, self.now)
    }

    pub fn arbitrate(&mut self, stream: StreamId, role: &str, election: Option<u64>) -> Result<(), Error> {
        let role = Role {
            name: role.to_string(),
            ..Role::default()
        };
        self.send(
            stream,
            Request::Arbitration(MasterArbitrationUpdate {
                device_id: 1,
                role: Some(role),
                election_id: election.map(|low| Uint128 { high: 0, low }),
                status: None,
            }),
        )
    }

    pub fn send(&mut self, stream: StreamId, update: Request) -> Result<(), Error> {
        let message = StreamMessageRequest { update: Some(update) };
        self.device.stream_message(stream, message)
    }

    /// What was sent to streams since the last call.
    pub fn sent(&mut self) -> Vec<(StreamId, Response)> {
        let outputs = self.device.take_outputs().into_iter();
        let sent = outputs.filter_map(|output| match output {
            Output::Send(stream, message) => Some((stream, message.update.expect("messages are not empty"))),
            _ => None,
        });
        sent.collect()
    }

    /// An entity from its text.
    pub fn entity(&self, text: &str) -> Entity {
        let mut resolved = text.to_string();
        let mut names: Vec<(&String, &u32)> = self.ids.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (name, id) in names {
            resolved = resolved.replace(&format!("${name}"), &id.to_string());
        }
        text::read("p4.v1.Entity", &resolved).unwrap_or_else(|error| panic!("{error}\n{resolved}"))
    }

    pub fn update(&self, how: Type, text: &str) -> Update {
        Update {
            r#type: how as i32,
            entity: Some(self.entity(text)),
        }
    }

    pub fn batch(&mut self, atomicity: Atomicity, updates: Vec<Update>) -> Result<(), Rejection> {
        let request = WriteRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            updates,
            atomicity: atomicity as i32,
            ..WriteRequest::default()
        };
        self.device.write(&request, self.now)
    }

    fn one(&mut self, how: Type, text: &str) -> Result<(), (Code, String)> {
        let update = self.update(how, text);
        self.batch(Atomicity::ContinueOnError, vec![update])
            .map_err(|rejection| {
                assert_eq!(rejection.error.code, Code::Unknown);
                let detail = &rejection.details[0];
                (code(detail.canonical_code), detail.message.clone())
            })
    }

    pub fn insert(&mut self, text: &str) {
        self.one(Type::Insert, text).unwrap_or_else(|error| panic!("{error:?}"));
    }

    pub fn modify(&mut self, text: &str) {
        self.one(Type::Modify, text).unwrap_or_else(|error| panic!("{error:?}"));
    }

    pub fn delete(&mut self, text: &str) {
        self.one(Type::Delete, text).unwrap_or_else(|error| panic!("{error:?}"));
    }

    /// An update that must fail; nothing may change.
    pub fn refuse(&mut self, how: Type, text: &str, (expected, part): Expected) {
        let before = self.everything();
        let (code, message) = self.one(how, text).expect_err(text);
        assert_eq!(code, expected, "{message}");
        assert!(message.contains(part), "{message}\ndoes not contain: {part}");
        assert_eq!(self.everything(), before, "a refused update has changed something");
    }

    pub fn refuse_insert(&mut self, text: &str, expected: Expected) {
        self.refuse(Type::Insert, text, expected);
    }

    pub fn refuse_modify(&mut self, text: &str, expected: Expected) {
        self.refuse(Type::Modify, text, expected);
    }

    pub fn refuse_delete(&mut self, text: &str, expected: Expected) {
        self.refuse(Type::Delete, text, expected);
    }

    /// What a read gives.
    pub fn read(&self, text: &str) -> Vec<Entity> {
        self.try_read(text).unwrap_or_else(|rejection| panic!("{rejection}"))
    }

    pub fn try_read(&self, text: &str) -> Result<Vec<Entity>, Rejection> {
        let request = ReadRequest {
            device_id: 1,
            entities: vec![self.entity(text)],
            ..ReadRequest::default()
        };
        let mut entities = Vec::new();
        let done = self
            .device
            .read(&request, self.now, &mut |message| entities.extend(message.entities));
        done.map(|()| entities)
    }

    /// A read that must fail.
    pub fn refuse_read(&self, text: &str, (expected, part): Expected) {
        let rejection = self.try_read(text).expect_err(text);
        let detail = &rejection.details[0];
        assert_eq!(code(detail.canonical_code), expected, "{}", detail.message);
        assert!(detail.message.contains(part), "{}", detail.message);
    }

    /// Asserts that a read gives exactly these, in any order.
    pub fn expect(&self, wanted: &str, expected: &[&str]) {
        let mut found = self.read(wanted);
        for text in expected {
            let entity = self.entity(text);
            let position = found.iter().position(|found| *found == entity);
            let position = position.unwrap_or_else(|| panic!("missing: {text}\nfound: {}", show(&found)));
            found.remove(position);
        }
        assert!(found.is_empty(), "not expected: {}", show(&found));
    }

    /// The program that runs.
    pub fn running(&self) -> &Pipeline {
        self.pipeline.as_ref().expect("a program was pushed")
    }

    /// Members that the pipeline itself has in the selector.
    pub fn device_members(&self) -> usize {
        self.running().members("EntityIngress.next_hop_selector").unwrap().len()
    }

    /// Members that the pipeline itself has in a group of the selector.
    pub fn live_members(&self, group: u32) -> Vec<u32> {
        let members = self.running().group("EntityIngress.next_hop_selector", group).unwrap();
        members.into_iter().map(|(member, _)| member).collect()
    }

    /// How many members each group of a selector has in the pipeline itself.
    pub fn live_groups(&self, selector: &str) -> Vec<usize> {
        let groups = self.running().groups(selector).unwrap().into_iter();
        let sizes = groups.map(|group| self.running().group(selector, group).unwrap().len());
        sizes.collect()
    }

    /// Lets a packet arrive at port 0.
    pub fn packet(&self, bytes: &[u8]) {
        let pipeline = self.pipeline.as_ref().expect("a program was pushed");
        let packet = IngressPacket::new(bytes.to_vec(), IngressArguments::default());
        Worker::new(Arc::clone(pipeline)).ingress(&mut vec![packet], &mut Vec::new(), &mut NoTrace);
    }

    /// Ports and instances of the copies that the pipeline makes for a multicast group.
    pub fn copies(&self, group: u16) -> Vec<(u32, u16)> {
        let replicas = self.running().multicast_group(group).unwrap();
        replicas
            .iter()
            .map(|replica| (replica.egress_port, replica.instance))
            .collect()
    }

    /// All that can be read.
    pub fn everything(&self) -> Vec<Entity> {
        let wanted = [
            "table_entry { counter_data {} meter_config {} meter_counter_data {} }",
            "table_entry { is_default_action: true counter_data {} meter_config {} meter_counter_data {} }",
            "action_profile_member {}",
            "action_profile_group {}",
            "counter_entry {}",
            "meter_entry { counter_data {} }",
            "register_entry {}",
            "value_set_entry {}",
            "digest_entry {}",
            "packet_replication_engine_entry { multicast_group_entry {} }",
            "packet_replication_engine_entry { clone_session_entry {} }",
        ];
        wanted.into_iter().flat_map(|wanted| self.read(wanted)).collect()
    }
}

fn show(entities: &[Entity]) -> String {
    let texts = entities.iter().map(|entity| text::write("p4.v1.Entity", entity));
    texts.collect::<Vec<_>>().join("\n")
}

/// The configuration that pushes the program.
pub fn config() -> ForwardingPipelineConfig {
    config_of(PROGRAM)
}

/// The configuration that pushes a source, with the P4Info of it.
pub fn config_of(source: &str) -> ForwardingPipelineConfig {
    let loaded = forebay_p4runtime::load(source.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    ForwardingPipelineConfig {
        p4info: loaded.p4info,
        p4_device_config: source.as_bytes().to_vec(),
        cookie: None,
    }
}

/// The pipeline that a call installs.
pub fn installed(device: &mut Device) -> Option<Arc<Pipeline>> {
    let outputs = device.take_outputs().into_iter();
    let mut pipelines = outputs.filter_map(|output| match output {
        Output::Install(pipeline) => Some(pipeline),
        _ => None,
    });
    pipelines.next()
}

fn ids(info: &P4Info) -> BTreeMap<String, u32> {
    let preambles = (info.tables.iter().map(|object| &object.preamble))
        .chain(info.actions.iter().map(|object| &object.preamble))
        .chain(info.action_profiles.iter().map(|object| &object.preamble))
        .chain(info.counters.iter().map(|object| &object.preamble))
        .chain(info.meters.iter().map(|object| &object.preamble))
        .chain(info.registers.iter().map(|object| &object.preamble))
        .chain(info.value_sets.iter().map(|object| &object.preamble))
        .chain(info.digests.iter().map(|object| &object.preamble));
    let named = preambles
        .flatten()
        .map(|preamble: &Preamble| (preamble.alias.clone(), preamble.id));
    named.collect()
}

/// The code with this number.
pub fn code(number: i32) -> Code {
    let known = [
        Code::Ok,
        Code::Unknown,
        Code::InvalidArgument,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
    ];
    let found = known.into_iter().find(|code| *code as i32 == number);
    found.unwrap_or_else(|| panic!("no code {number}"))
}
