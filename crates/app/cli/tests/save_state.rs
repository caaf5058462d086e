//! `forebay run --save-state`: the forwarding state survives `kill -9`, batch by batch.

use forebay_client::P4RuntimeClient;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::field_match::{Exact, FieldMatchType};
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    Action, Entity, FieldMatch, GetForwardingPipelineConfigRequest, MasterArbitrationUpdate, ReadRequest,
    StreamMessageRequest, TableAction, TableEntry, Uint128, Update, WriteRequest, action::Param,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;

mod support;
use support::announced;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/save_state.p4");
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };
/// Entries of a batch, and batches.
const BATCH: u64 = 5;
const BATCHES: u64 = 2_000;

/// A switch that runs, and where it serves controllers.
struct Switch {
    process: Child,
    address: String,
}

impl Switch {
    fn start(state: &Path) -> Switch {
        let mut process = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["run", PROGRAM, "--engine", "interp", "--stats-interval", "0"])
            .args(["--grpc", "127.0.0.1:0", "--save-unsynced", "--save-state"])
            .arg(state)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the command runs");
        let address = format!("http://{}", announced(&mut process, "P4Runtime: "));
        Switch { process, address }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it has ended");
    }
}

/// A primary controller.
struct Controller {
    client: P4RuntimeClient<Channel>,
    table: u32,
    action: u32,
    /// Open as long as it is primary.
    _stream: mpsc::UnboundedSender<StreamMessageRequest>,
}

impl Controller {
    async fn connect(address: &str) -> Controller {
        let mut client = P4RuntimeClient::connect(address.to_string()).await.expect("it listens");
        let (stream, requests) = mpsc::unbounded_channel();
        let claim = MasterArbitrationUpdate {
            device_id: 1,
            election_id: Some(ELECTION),
            ..MasterArbitrationUpdate::default()
        };
        let update = Some(Request::Arbitration(claim));
        stream.send(StreamMessageRequest { update }).expect("somebody listens");
        let answers = client.stream_channel(UnboundedReceiverStream::new(requests)).await;
        answers
            .expect("streams are served")
            .into_inner()
            .message()
            .await
            .expect("it is primary");
        let wanted = GetForwardingPipelineConfigRequest {
            device_id: 1,
            response_type: ResponseType::P4infoAndCookie as i32,
        };
        let config = client
            .get_forwarding_pipeline_config(wanted)
            .await
            .expect("there is a program");
        let info = config
            .into_inner()
            .config
            .and_then(|config| config.p4info)
            .expect("it has a P4Info");
        let id = |preamble: Option<&forebay_protocol::p4::config::v1::Preamble>| preamble.map_or(0, |named| named.id);
        let forward = info.actions.iter().find(|action| !action.params.is_empty());
        Controller {
            client,
            table: id(info.tables[0].preamble.as_ref()),
            action: id(forward.and_then(|action| action.preamble.as_ref())),
            _stream: stream,
        }
    }

    fn entry(&self, number: u64) -> Update {
        let exact = FieldMatchType::Exact(Exact {
            value: number.to_be_bytes().to_vec(),
        });
        let port = Param {
            param_id: 1,
            value: vec![(number % 200) as u8],
        };
        let action = ActionType::Action(Action {
            action_id: self.action,
            params: vec![port],
        });
        let entry = TableEntry {
            table_id: self.table,
            r#match: vec![FieldMatch {
                field_id: 1,
                field_match_type: Some(exact),
            }],
            action: Some(TableAction { r#type: Some(action) }),
            ..TableEntry::default()
        };
        Update {
            r#type: Type::Insert as i32,
            entity: Some(Entity {
                entity: Some(Kind::TableEntry(entry)),
            }),
        }
    }

    /// Whether a batch of entries was written.
    async fn write(&mut self, batch: u64) -> bool {
        let request = WriteRequest {
            device_id: 1,
            election_id: Some(ELECTION),
            updates: (batch * BATCH..(batch + 1) * BATCH)
                .map(|number| self.entry(number))
                .collect(),
            atomicity: Atomicity::DataplaneAtomic as i32,
            ..WriteRequest::default()
        };
        self.client.write(request).await.is_ok()
    }

    /// All table entries, as they are read.
    async fn read(&mut self) -> Vec<TableEntry> {
        let wanted = Entity {
            entity: Some(Kind::TableEntry(TableEntry::default())),
        };
        let request = ReadRequest {
            device_id: 1,
            entities: vec![wanted],
            ..ReadRequest::default()
        };
        let mut answers = self.client.read(request).await.expect("reads are served").into_inner();
        let mut entries = Vec::new();
        while let Some(answer) = answers.message().await.expect("all of it is read") {
            entries.extend(answer.entities.into_iter().filter_map(|entity| match entity.entity {
                Some(Kind::TableEntry(entry)) => Some(entry),
                _ => None,
            }));
        }
        entries
    }
}

/// The number in an entry's key.
fn number(entry: &TableEntry) -> u64 {
    let Some(FieldMatchType::Exact(exact)) = &entry.r#match[0].field_match_type else {
        panic!("the key is matched exactly")
    };
    exact
        .value
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Writes batches until the switch is killed in the middle; the batches that were answered.
async fn write_until_killed(switch: Switch) -> BTreeSet<u64> {
    let mut controller = Controller::connect(&switch.address).await;
    let killer = tokio::task::spawn_blocking(move || {
        std::thread::sleep(Duration::from_millis(700));
        switch.kill();
    });
    let mut answered = BTreeSet::new();
    for batch in 0..BATCHES {
        if !controller.write(batch).await {
            break;
        }
        answered.insert(batch);
    }
    killer.await.expect("it was killed");
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_in_the_middle_of_ten_thousand_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let answered = write_until_killed(Switch::start(&state)).await;
    assert!(!answered.is_empty(), "nothing was written in time");
    let switch = Switch::start(&state);
    let mut controller = Controller::connect(&switch.address).await;
    let entries = controller.read().await;
    let found: BTreeSet<u64> = entries.iter().map(number).collect();
    let batches: BTreeSet<u64> = found.iter().map(|number| number / BATCH).collect();
    assert_eq!(
        found.len() as u64,
        batches.len() as u64 * BATCH,
        "a batch is there in part"
    );
    assert!(batches.is_superset(&answered), "a batch that was answered is lost");
    assert!(batches.len() <= answered.len() + 1, "only one more was on its way");
    println!(
        "{} of {BATCHES} batches were answered, {} are there",
        answered.len(),
        batches.len()
    );
    switch.kill();
    let switch = Switch::start(&state);
    let again = Controller::connect(&switch.address).await.read().await;
    assert_eq!(again, entries, "a second restart changes nothing");
    switch.kill();
}

/// The error of a switch that does not start.
fn refusal(program: &str, state: &Path) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["run", program, "--grpc", "127.0.0.1:0", "--save-state"])
        .arg(state)
        .output()
        .expect("the command runs");
    assert!(!ran.status.success());
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

#[test]
fn damage_is_named_and_nothing_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    Switch::start(&state).kill();
    let snapshot = state.join("snapshot-00000001");
    let mut bytes = std::fs::read(&snapshot).expect("there is a snapshot");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&snapshot, bytes).expect("it can be written");
    let said = refusal(PROGRAM, &state);
    assert!(said.contains("snapshot-00000001 is damaged at offset 24"), "{said}");
    assert!(said.contains("move the folder away"), "{said}");
}

#[test]
fn another_program_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    Switch::start(&state).kill();
    let text = std::fs::read_to_string(PROGRAM)
        .expect("the program")
        .replace("65536", "1024");
    let other = folder.path().join("other.p4");
    std::fs::write(&other, text).expect("it can be written");
    let said = refusal(&other.display().to_string(), &state);
    assert!(said.contains("another program"), "{said}");
}
