//! A shell on a device in the same process.

use forebay_p4runtime::{Device, Now, Settings, StreamId};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, Update, WriteRequest,
};
use forebay_shell::{Catalog, Command, Record, listing, show};

const PROGRAM: &str = include_str!("../../../../../tests/clients/entities.p4");
const ELECTION: Option<Uint128> = Some(Uint128 { high: 0, low: 1 });
const NOW: Now = Now {
    switch_ns: 0,
    epoch_ns: 0,
};

pub struct Shell {
    pub catalog: Catalog,
    device: Device,
}

impl Shell {
    /// With the program and this controller as primary.
    pub fn new() -> Shell {
        let info = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap().p4info.unwrap();
        let mut device = Device::new(Settings {
            device_id: 1,
            cpu_port: Some(510),
            ..Settings::default()
        });
        let claim = Request::Arbitration(MasterArbitrationUpdate {
            device_id: 1,
            election_id: ELECTION,
            ..MasterArbitrationUpdate::default()
        });
        let message = StreamMessageRequest { update: Some(claim) };
        device.stream_message(StreamId(1), message).unwrap();
        let push = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: ELECTION,
            action: Action::VerifyAndCommit.into(),
            config: Some(ForwardingPipelineConfig {
                p4info: Some(info.clone()),
                p4_device_config: PROGRAM.as_bytes().to_vec(),
                cookie: None,
            }),
            ..SetForwardingPipelineConfigRequest::default()
        };
        device.set_pipeline_config(&push, NOW).unwrap();
        let catalog = Catalog::new(info);
        Shell { catalog, device }
    }

    /// The command of a line, or the message about it.
    pub fn read(&self, line: &str) -> Result<Command, String> {
        let words = forebay_shell::split(line).map_err(|mistake| mistake.to_string())?;
        forebay_shell::read(&self.catalog, &words).map_err(|mistake| mistake.to_string())
    }

    /// Executes a line; returns the records that it shows.
    pub fn records(&mut self, line: &str) -> Vec<Record> {
        match self.read(line).unwrap_or_else(|mistake| panic!("{line}: {mistake}")) {
            Command::Show(records) => records,
            Command::Read(reading) => {
                let found = self.entities(reading.entities.clone());
                show::entities(&self.catalog, &reading.wanted(found))
            }
            Command::Write(updates) => {
                self.write(line, updates);
                Vec::new()
            }
            Command::Modify(modification) => {
                let found = self.entities(vec![modification.question(&self.catalog)]);
                let update = modification.update(&self.catalog, &found);
                self.write(line, vec![update]);
                Vec::new()
            }
            Command::Change(entities, change) => {
                let found = self.entities(entities);
                let updates = change.updates(&self.catalog, found);
                self.write(line, updates);
                Vec::new()
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    /// The same as a table.
    pub fn text(&mut self, line: &str) -> String {
        listing::text(&self.records(line))
    }

    fn entities(&self, entities: Vec<Entity>) -> Vec<Entity> {
        let request = ReadRequest {
            device_id: 1,
            entities,
            ..ReadRequest::default()
        };
        let mut found = Vec::new();
        let read = self
            .device
            .read(&request, NOW, &mut |answer| found.extend(answer.entities));
        read.unwrap_or_else(|rejection| panic!("{rejection:?}"));
        found
    }

    fn write(&mut self, line: &str, updates: Vec<Update>) {
        let request = WriteRequest {
            device_id: 1,
            election_id: ELECTION,
            updates,
            ..WriteRequest::default()
        };
        let written = self.device.write(&request, NOW);
        written.unwrap_or_else(|rejection| panic!("{line}: {rejection:?}"));
    }
}
