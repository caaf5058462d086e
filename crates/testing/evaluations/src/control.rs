//! The control plane's side of an update: one rule, or one register, gets its next version.
//!
//! | control | an update is |
//! |---|---|
//! | [`Library`] | a call of the pipeline in the same process |
//! | [`P4Runtime`] | a `Write` by gRPC over TCP, to a server in the same process |
//! | [`Command`] | a line to a process that configures a switch of another maker, and its answer |

use crate::router::{Decision, REGISTER, Router, TABLE, entry, register_value};
use crate::rules::{Kind, rule};
use forebay_bits::Bits;
use forebay_client::{Client, ClientOptions};
use forebay_ir::EntryMatch;
use forebay_p4info::model::P4Info;
use forebay_p4runtime::{Device, Now, Settings};
use forebay_pipeline::{Entry, EntryAction, Pipeline};
use forebay_protocol::p4::v1::field_match::{self, FieldMatchType};
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    Action, Entity, FieldMatch, Index, P4Data, RegisterEntry, TableAction, TableEntry, Update, action, entity, p4_data,
    table_action, update,
};
use forebay_server::{Access, Environment, Limits, Options, Running, link, start};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What updates a rule.
pub trait Control: Send {
    /// Gives the rule this version, and returns when the switch says that it has it.
    ///
    /// # Errors
    /// When the switch refuses it, in words.
    fn set(&mut self, version: u64) -> Result<(), String>;
}

/// The rule that is updated.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Where it is.
    pub decision: Decision,
    /// Its number, for tables.
    pub index: u32,
}

/// Updates by calls of the pipeline.
pub struct Library {
    pipeline: Arc<Pipeline>,
    target: Target,
}

impl Library {
    /// Updates of this pipeline, which has the rule already.
    pub fn new(pipeline: Arc<Pipeline>, target: Target) -> Library {
        Library { pipeline, target }
    }
}

impl Control for Library {
    fn set(&mut self, version: u64) -> Result<(), String> {
        let done = match self.target.decision {
            Decision::Table(kind) => {
                let entry = entry(kind, self.target.index, version);
                self.pipeline.modify_entry(TABLE, &entry)
            }
            Decision::Register => self.pipeline.write_register(REGISTER, 0, &register_value(version)),
        };
        done.map_err(|error| error.to_string())
    }
}

/// Updates by P4Runtime.
pub struct P4Runtime {
    client: Client,
    target: Target,
    ids: Ids,
    _server: Running,
}

/// Numbers of P4Info.
struct Ids {
    table: u32,
    action: u32,
    register: u32,
}

impl P4Runtime {
    /// Serves the pipeline, and connects.
    ///
    /// # Errors
    /// When there is no connection, in words.
    pub fn new(router: &Router, pipeline: Arc<Pipeline>, target: Target) -> Result<P4Runtime, String> {
        let ids = Ids::of(&router.p4info);
        let server = serve(router, pipeline)?;
        let options = ClientOptions {
            address: server.address().cloned().ok_or("the server does not listen")?,
            device_id: DEVICE,
            role: String::new(),
            election_id: Some(1),
            tls: None,
        };
        let mut client = Client::connect_without_thread(options).map_err(|error| error.to_string())?;
        client.become_primary().map_err(|error| error.to_string())?;
        Ok(P4Runtime {
            client,
            target,
            ids,
            _server: server,
        })
    }
}

/// The number of the device.
const DEVICE: u64 = 1;

impl Ids {
    fn of(info: &P4Info) -> Ids {
        Ids {
            table: info.tables.first().map_or(0, |table| table.preamble.id),
            action: info
                .actions
                .iter()
                .find(|action| action.preamble.name == crate::router::FORWARD)
                .map_or(0, |action| action.preamble.id),
            register: info.registers.first().map_or(0, |register| register.preamble.id),
        }
    }
}

fn serve(router: &Router, pipeline: Arc<Pipeline>) -> Result<Running, String> {
    let settings = Settings {
        device_id: DEVICE,
        ..Settings::default()
    };
    let mut device = Device::new(settings);
    let info = forebay_protocol::p4info::from_compiler(&router.p4info);
    let adopted = device.adopt(info, Vec::new(), pipeline);
    adopted.map_err(|error| error.to_string())?;
    let (_cpu_port, _digests, link) = link().map_err(|error| error.to_string())?;
    let began = Instant::now();
    let environment = Environment {
        now: Box::new(move || Now {
            switch_ns: began.elapsed().as_nanos() as u64,
            epoch_ns: 0,
        }),
        install: Box::new(|_| ()),
        wait_installed: Box::new(|| ()),
        confine: Box::new(|| Ok(())),
        keeper: None,
        ports: Vec::new(),
        enable_port: Box::new(|_, _| ()),
        learned: None,
    };
    let options = Options {
        address: Some("127.0.0.1:0".parse().map_err(|_| "no address")?),
        tls: None,
        keep_period: Duration::from_secs(60),
        limits: Limits::default(),
        access: Access::default(),
    };
    start(&options, device, link, environment).map_err(|error| error.to_string())
}

impl Control for P4Runtime {
    fn set(&mut self, version: u64) -> Result<(), String> {
        let entity = match self.target.decision {
            Decision::Table(kind) => {
                entity::Entity::TableEntry(table_entry(&self.ids, kind, self.target.index, version))
            }
            Decision::Register => entity::Entity::RegisterEntry(register_entry(&self.ids, version)),
        };
        let update = Update {
            r#type: update::Type::Modify.into(),
            entity: Some(Entity { entity: Some(entity) }),
        };
        let written = self.client.write(vec![update], Atomicity::ContinueOnError);
        written.map_err(|error| error.to_string())
    }
}

fn table_entry(ids: &Ids, kind: Kind, index: u32, version: u64) -> TableEntry {
    let Entry { priority, action, .. } = entry(kind, index, version);
    let arguments = match action {
        EntryAction::Call { args, .. } => args,
        EntryAction::Member(_) | EntryAction::Group(_) => Vec::new(),
    };
    let parameter = |(id, value): (u32, &Bits)| action::Param {
        param_id: id,
        value: bytes(value),
    };
    let action = Action {
        action_id: ids.action,
        params: (1..).zip(&arguments).map(parameter).collect(),
    };
    TableEntry {
        table_id: ids.table,
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match(&rule(kind, index).key)),
        }],
        action: Some(TableAction {
            r#type: Some(table_action::Type::Action(action)),
        }),
        priority: priority as i32,
        ..TableEntry::default()
    }
}

fn field_match(key: &EntryMatch) -> FieldMatchType {
    match key {
        EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)) => {
            FieldMatchType::Exact(field_match::Exact { value: bytes(value) })
        }
        EntryMatch::Lpm { value, prefix_length } => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: *prefix_length as i32,
        }),
        EntryMatch::Ternary { value, mask } => FieldMatchType::Ternary(field_match::Ternary {
            value: bytes(value),
            mask: bytes(mask),
        }),
        EntryMatch::Range { low, high } => FieldMatchType::Range(field_match::Range {
            low: bytes(low),
            high: bytes(high),
        }),
        EntryMatch::Optional(None) => FieldMatchType::Optional(field_match::Optional { value: Vec::new() }),
    }
}

fn register_entry(ids: &Ids, version: u64) -> RegisterEntry {
    RegisterEntry {
        register_id: ids.register,
        index: Some(Index { index: 0 }),
        data: Some(P4Data {
            data: Some(p4_data::Data::Bitstring(bytes(&register_value(version)))),
        }),
    }
}

/// As P4Runtime writes numbers: the shortest big-endian bytes, at least one.
fn bytes(value: &Bits) -> Vec<u8> {
    let all = value.to_u64().to_be_bytes();
    let first = all.iter().position(|byte| *byte != 0).unwrap_or(all.len() - 1);
    all[first..].to_vec()
}

/// How long a process may take to answer, and to end when it has closed its output.
const PATIENCE: Duration = Duration::from_secs(10);
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// Exit codes of the shell.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Updates by a process: it reads a version in decimal digits a line, and answers with the line `done`, or with what is
/// wrong. Its standard error is that of this process.
pub struct Command {
    line: String,
    child: Child,
    input: ChildStdin,
    /// A socket: reading from it has a limit of time.
    output: BufReader<UnixStream>,
    patience: Duration,
}

impl Command {
    /// Starts it, by the shell.
    ///
    /// # Errors
    /// When it cannot be started, in words.
    pub fn start(line: &str) -> Result<Command, String> {
        Command::start_with(line, PATIENCE)
    }

    fn start_with(line: &str, patience: Duration) -> Result<Command, String> {
        let cannot = |error: io::Error| format!("cannot start the control command `{line}`: {error}");
        let (output, of_child) = UnixStream::pair().map_err(cannot)?;
        output.set_read_timeout(Some(patience)).map_err(cannot)?;
        let mut child = std::process::Command::new("sh")
            .args(["-c", line])
            .stdin(Stdio::piped())
            .stdout(OwnedFd::from(of_child))
            .spawn()
            .map_err(cannot)?;
        let input = child.stdin.take();
        Ok(Command {
            line: line.to_string(),
            child,
            input: input.ok_or_else(|| format!("the control command `{line}` has no input"))?,
            output: BufReader::new(output),
            patience,
        })
    }

    /// What became of the process when it takes no version any more, or closes its output.
    fn ended(&mut self) -> String {
        let end = Instant::now() + LAST_PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let hint = match status.code() {
                        Some(NOT_EXECUTABLE) => ": it cannot be executed",
                        Some(NOT_FOUND) => ": there is no such command",
                        _ => "; it must read a version from each line until its input ends",
                    };
                    return format!("the control command `{}` has ended ({status}){hint}", self.line);
                }
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
                _ => {
                    return format!(
                        "the control command `{}` has closed its standard input or output",
                        self.line
                    );
                }
            }
        }
    }
}

impl Control for Command {
    fn set(&mut self, version: u64) -> Result<(), String> {
        let written = writeln!(self.input, "{version}").and_then(|()| self.input.flush());
        let mut answer = String::new();
        let read = written.and_then(|()| self.output.read_line(&mut answer));
        match (read, answer.trim()) {
            (Ok(1..), "done") => Ok(()),
            (Ok(1..), other) => Err(format!(
                "the control command `{}` answers version {version} with `{other}`, not with `done`",
                self.line
            )),
            (Err(error), _) if error.kind() == io::ErrorKind::WouldBlock => Err(format!(
                "the control command `{}` has not answered version {version} within {} s: it must write the line `done`, and \
                 not keep it in a buffer (`flush`)",
                self.line,
                self.patience.as_secs_f64()
            )),
            _ => Err(self.ended()),
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_p4runtime_wants_them() {
        assert_eq!(bytes(&Bits::new(48, 0)), [0]);
        assert_eq!(bytes(&Bits::new(48, 256)), [1, 0]);
        assert_eq!(bytes(&register_value(5)), [2, 0, 0, 0, 0, 0, 5]);
    }

    #[test]
    fn a_process_answers_each_version() {
        let mut control =
            Command::start("while read v; do test $v = 3 && echo no || echo done; done").expect("a shell");
        assert_eq!(control.set(1), Ok(()));
        let said = control.set(3).expect_err("refused");
        assert!(
            said.ends_with(" answers version 3 with `no`, not with `done`"),
            "{said}"
        );
    }

    /// A pipe that is broken says nothing of the reason.
    #[test]
    fn a_process_that_has_ended_is_named_with_its_status() {
        for (line, said) in [
            (
                "exit 3",
                "the control command `exit 3` has ended (exit status: 3); it must read",
            ),
            (
                "./no-such-command 2>/dev/null",
                "the control command `./no-such-command 2>/dev/null` has ended (exit status: 127): there is no such command",
            ),
            (
                "kill -9 $$",
                "the control command `kill -9 $$` has ended (signal: 9 (SIGKILL));",
            ),
        ] {
            let error = Command::start(line).expect("a shell").set(1).expect_err("it ends");
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn a_process_that_does_not_answer_is_told_of() {
        let mut control = Command::start_with("cat > /dev/null", Duration::from_millis(50)).expect("a shell");
        let error = control.set(7).expect_err("it is silent");
        assert!(error.contains("has not answered version 7 within 0.05 s"), "{error}");
    }
}
