//! A device with a folder on a disk in memory, and what is known of it: every state that it had, and which was
//! acknowledged.

use forebay_journal::memory::{Disk, End};
use forebay_journal::{Recovered, Store, Sync};
use forebay_p4runtime::{Code, Device, Error, Event, Keeper, Keeping, KeepingStatus, Now, Settings, StreamId};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{
    Entity, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, Uint128, Update, WriteRequest,
};
use forebay_protocol::text;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

/// What is done.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Another program, without what the old one has.
    Push(usize),
    /// Another program with the state of the old one.
    Reconcile(usize),
    /// A program that waits for its commit.
    Save(usize),
    Commit,
    Insert(u8),
    Modify(u8),
    Delete(u8),
    Register(u8),
    Digest,
    Meter,
    /// A fresh snapshot.
    Refresh,
    /// The process ends and starts again.
    Restart,
}

const FOLDER: &str = "/state";
const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

/// Two programs, compiled: they differ in the size of the table.
static PROGRAMS: LazyLock<[ForwardingPipelineConfig; 2]> = LazyLock::new(|| {
    ["size = 64;", "size = 65;"].map(|size| {
        let source = include_str!("program.p4").replace("size = 64;", size);
        let loaded = forebay_p4runtime::load(source.as_bytes()).expect("the program is correct");
        ForwardingPipelineConfig {
            p4info: loaded.p4info,
            p4_device_config: forebay_ir::text::write(&loaded.program).into_bytes(),
            cookie: None,
        }
    })
});

/// The state that a restart loads, by what it finds.
static LOADED: LazyLock<Mutex<HashMap<Found, Vec<u8>>>> = LazyLock::new(Mutex::default);

type Found = (Vec<u8>, Vec<Vec<u8>>);

fn settings() -> Settings {
    Settings {
        device_id: 1,
        keeps_state: true,
        ..Settings::default()
    }
}

/// As `forebay run --save-state` does it.
struct Folder(Store, Arc<Mutex<Vec<String>>>);

impl Keeper for Folder {
    fn keep(&mut self, batch: &[u8]) -> Result<(), String> {
        self.0.append(batch).map_err(|error| error.to_string())
    }

    fn keep_all(&mut self, state: &[u8]) -> Result<(), String> {
        self.0.snapshot(state).map_err(|error| error.to_string())
    }

    fn takes_batches(&self) -> bool {
        self.0.takes_batches()
    }

    fn tell(&mut self, event: &Event) {
        self.1.lock().unwrap().push(event.to_string());
    }
}

pub struct Session {
    pub disk: Disk,
    /// While the process runs.
    running: Option<(Device, Keeping)>,
    now: Now,
    /// Every state that there was, in order.
    history: Vec<Vec<u8>>,
    /// The last one that was acknowledged; none before the first start.
    acknowledged: Option<usize>,
    last_error: String,
    events: Arc<Mutex<Vec<String>>>,
}

impl Session {
    pub fn new(disk: Disk) -> Session {
        Session {
            disk,
            running: None,
            now: Now::default(),
            history: vec![Device::new(settings()).snapshot()],
            acknowledged: None,
            last_error: String::new(),
            events: Arc::default(),
        }
    }

    pub fn run(&mut self, steps: &[Step]) {
        for step in steps {
            self.now.switch_ns += 1_000_000_000;
            if self.running.is_none() && !self.start() {
                continue;
            }
            match *step {
                Step::Push(program) => self.push(Action::VerifyAndCommit, Some(program)),
                Step::Reconcile(program) => self.push(Action::ReconcileAndCommit, Some(program)),
                Step::Save(program) => self.push(Action::VerifyAndSave, Some(program)),
                Step::Commit => self.push(Action::Commit, None),
                Step::Insert(number) => self.write(Type::Insert, &entry(number, 1)),
                Step::Modify(number) => self.write(Type::Modify, &entry(number, 2)),
                Step::Delete(number) => self.write(Type::Delete, &entry(number, 1)),
                Step::Register(value) => self.write(Type::Modify, &register(value)),
                Step::Digest => self.write(Type::Insert, &digest()),
                Step::Meter => self.write(Type::Modify, &meter()),
                Step::Refresh => self.refresh(),
                Step::Restart => {
                    self.running = None;
                    self.start();
                }
            }
        }
    }

    fn start(&mut self) -> bool {
        let Ok((store, found)) = open(&self.disk) else {
            return false;
        };
        let is_kept = store.takes_batches();
        let mut keeper = Folder(store, Arc::clone(&self.events));
        let mut device = match found {
            Some(found) => {
                let state = self.checked(&found);
                if is_kept {
                    let place = self.history.iter().rposition(|known| *known == state);
                    self.acknowledged = place.max(self.acknowledged);
                }
                restored(&found)
            }
            None => {
                assert_eq!(self.acknowledged, None, "all is gone");
                let device = Device::new(settings());
                if keeper.keep_all(&device.snapshot()).is_err() {
                    return false;
                }
                self.history.push(device.snapshot());
                self.acknowledged = Some(self.history.len() - 1);
                device
            }
        };
        claim(&mut device);
        self.running = Some((device, Keeping::new(Some(Box::new(keeper)))));
        true
    }

    fn push(&mut self, action: Action, program: Option<usize>) {
        let request = SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(ELECTION),
            action: action as i32,
            config: program.map(|number| PROGRAMS[number].clone()),
            ..SetForwardingPipelineConfigRequest::default()
        };
        self.change(|device, now| device.set_pipeline_config(&request, now));
    }

    fn write(&mut self, how: Type, entity: &str) {
        let entity: Entity = text::read("p4.v1.Entity", entity).unwrap_or_else(|error| panic!("{error}\n{entity}"));
        let update = Update {
            r#type: how as i32,
            entity: Some(entity),
        };
        let request = WriteRequest {
            device_id: 1,
            election_id: Some(ELECTION),
            updates: vec![update],
            ..WriteRequest::default()
        };
        self.change(|device, now| device.write(&request, now).map_err(|rejection| rejection.error));
    }

    /// A call as the server does it.
    fn change(&mut self, action: impl FnOnce(&mut Device, Now) -> Result<(), Error>) {
        let (device, keeping) = self.running.as_mut().expect("it has started");
        let before = device.snapshot();
        let changed = keeping.change(device, self.now, action);
        let after = device.snapshot();
        match changed.map(|changed| (changed.result, changed.kept)) {
            Err(refused) => {
                assert_eq!(refused.code, Code::Unavailable);
                assert_eq!(before, after, "a call that was refused has changed something");
                self.last_error = refused.message;
            }
            Ok((Err(error), kept)) => {
                // An earlier step that it builds on was refused. It may have numbered a string all the same.
                assert_eq!(kept, Ok(()), "{error}");
                if before != after {
                    self.history.push(after);
                }
                self.last_error = error.message;
            }
            Ok((Ok(()), kept)) => {
                self.history.push(after);
                match kept {
                    Ok(()) => self.acknowledged = Some(self.history.len() - 1),
                    Err(error) => self.last_error = error.message,
                }
            }
        }
    }

    fn refresh(&mut self) {
        let (device, keeping) = self.running.as_mut().expect("it has started");
        if keeping.refresh(device, self.now).is_ok() {
            self.acknowledged = Some(self.history.len() - 1);
        }
    }

    /// Waits for the time of the next attempt, and does it; how long it waited, in nanoseconds.
    pub fn retry_when_due(&mut self) -> u64 {
        let due_ns = self.status().fault.as_ref().map_or(0, |fault| fault.retry_ns);
        let waited_ns = due_ns - self.now.switch_ns;
        self.now.switch_ns = due_ns;
        self.refresh();
        waited_ns
    }

    pub fn expect_all_acknowledged(&self) {
        assert_eq!(self.acknowledged, Some(self.history.len() - 1), "{}", self.last_error);
    }

    pub fn last_error(&self) -> &str {
        &self.last_error
    }

    pub fn status(&self) -> &KeepingStatus {
        self.running.as_ref().expect("it has started").1.status()
    }

    pub fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    pub fn has_entry(&self, number: u8) -> bool {
        let (device, _) = self.running.as_ref().expect("it has started");
        let wanted: Entity = text::read("p4.v1.Entity", &key(number)).expect("it is an entity");
        let request = ReadRequest {
            device_id: 1,
            entities: vec![wanted],
            ..ReadRequest::default()
        };
        let mut count = 0;
        let read = device.read(&request, self.now, &mut |answer| count += answer.entities.len());
        read.is_ok() && count == 1
    }

    /// Ends in these ways, and looks at what a restart loads; how many ends those were.
    pub fn check(&self, ends: &[End]) -> usize {
        for end in ends {
            let opened = open(&self.disk.after(*end));
            let (_, found) = opened.unwrap_or_else(|error| panic!("{end:?}: {error}"));
            match found {
                Some(found) => drop(self.checked(&found)),
                None => assert_eq!(self.acknowledged, None, "{end:?}: all is gone"),
            }
        }
        ends.len()
    }

    /// The state that a restart loads.
    fn checked(&self, found: &Recovered) -> Vec<u8> {
        let key = (found.snapshot.clone(), found.batches.clone());
        let mut loaded = LOADED.lock().unwrap();
        let state = loaded.entry(key).or_insert_with(|| restored(found).snapshot());
        let first = self.acknowledged.unwrap_or(0);
        let is_known = self.history[first..].contains(state);
        assert!(
            is_known,
            "what is loaded is no state since the one that was acknowledged"
        );
        state.clone()
    }
}

fn open(disk: &Disk) -> Result<(Store, Option<Recovered>), forebay_journal::StateError> {
    Store::open_with(Arc::new(disk.clone()), Path::new(FOLDER), Sync::Disk)
}

fn restored(found: &Recovered) -> Device {
    let device = Device::restore(settings(), &found.snapshot, &found.batches, Now::default());
    let mut device = device.unwrap_or_else(|error| panic!("what was kept cannot be loaded: {error}"));
    claim(&mut device);
    device
}

fn claim(device: &mut Device) {
    let claim = MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(ELECTION),
        ..MasterArbitrationUpdate::default()
    };
    let message = StreamMessageRequest {
        update: Some(Request::Arbitration(claim)),
    };
    device
        .stream_message(StreamId(1), message)
        .expect("there is no other controller");
    device.take_outputs();
}

/// The id of an object of the program.
fn id(name: &str) -> u32 {
    let info = PROGRAMS[0].p4info.as_ref().expect("it was compiled from source");
    let preambles = (info.tables.iter().map(|object| &object.preamble))
        .chain(info.actions.iter().map(|object| &object.preamble))
        .chain(info.registers.iter().map(|object| &object.preamble))
        .chain(info.meters.iter().map(|object| &object.preamble))
        .chain(info.digests.iter().map(|object| &object.preamble));
    let mut named = preambles.flatten().filter(|preamble| preamble.alias == name);
    named.next().unwrap_or_else(|| panic!("{name}")).id
}

fn key(number: u8) -> String {
    format!("table_entry {{ {} }}", matches(number))
}

fn matches(number: u8) -> String {
    format!(
        r#"table_id: {} match {{ field_id: 1 exact {{ value: "\x{number:02x}" }} }}"#,
        id("addresses")
    )
}

fn entry(number: u8, port: u8) -> String {
    format!(
        r#"table_entry {{ {} action {{ action {{ action_id: {} params {{ param_id: 1 value: "port {port} of {number}" }} }} }} }}"#,
        matches(number),
        id("forward")
    )
}

fn register(value: u8) -> String {
    format!(
        r#"register_entry {{ register_id: {} index {{ index: 3 }} data {{ bitstring: "\x{value:02x}" }} }}"#,
        id("marks")
    )
}

fn digest() -> String {
    format!(
        "digest_entry {{ digest_id: {} config {{ max_list_size: 10 max_timeout_ns: 1000 }} }}",
        id("seen_t")
    )
}

fn meter() -> String {
    format!(
        "meter_entry {{ meter_id: {} index {{ index: 1 }} config {{ cir: 1 cburst: 2 pir: 3 pburst: 4 }} }}",
        id("rates")
    )
}
