//! Whether a switch carries traffic: told at `/ready`, to `forebay ctl ready`, with statistics, and to systemd.

use crate::numbers;
use anyhow::{Result, bail};
use forebay_daemon::{ReadyWhen, Watch};
use forebay_pipeline::Pipeline;
use forebay_syntax::diagnostic::closest_name;
use forebay_telemetry::ReadyPage;
use serde_json::{Value, json};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// Options about when a switch is ready.
#[derive(clap::Args)]
pub struct ReadyOptions {
    /// Be ready only while this table has an entry, or N entries; may be repeated. For entries that a controller
    /// writes: those of --entries and of --save-state are there before the switch is
    #[arg(long, value_name = "TABLE[=N]", value_parser = wanted_entries)]
    ready_entries: Vec<(String, usize)>,
}

/// Reads a table and how many entries it must have.
fn wanted_entries(text: &str) -> Result<(String, usize), String> {
    match text.split_once('=') {
        None => Ok((text.to_owned(), 1)),
        Some((table, count)) => Ok((table.to_owned(), numbers::whole_in(count, 1..=u32::MAX)? as usize)),
    }
}

impl ReadyOptions {
    /// When a switch is ready that begins with this program, or with none when `needs_program` is set.
    ///
    /// # Errors
    /// When the program has no table that is named.
    pub fn when(&self, pipeline: &Pipeline, needs_program: bool) -> Result<ReadyWhen> {
        let tables = || pipeline.program().tables.iter().map(|table| table.name.as_str());
        for (name, _) in self.ready_entries.iter().filter(|_| !needs_program) {
            if !tables().any(|table| ReadyWhen::is_meant(table, name)) {
                let closest = closest_name(name, tables()).map(|table| format!("; did you mean `{table}`?"));
                bail!(
                    "--ready-entries: the program has no table `{name}`{}",
                    closest.unwrap_or_default()
                );
            }
        }
        Ok(ReadyWhen {
            needs_program,
            entries: self.ready_entries.clone(),
        })
    }
}

/// Says whether a running switch is ready.
#[derive(Clone)]
pub struct Readiness {
    watch: Watch,
    /// What was written before it started: the name of a file, or the saved state.
    written: Option<String>,
}

impl Readiness {
    /// Of a switch that has started with these entries.
    pub fn new(watch: Watch, written: Option<String>) -> Readiness {
        Readiness { watch, written }
    }

    /// For other programs.
    pub fn json(&self) -> Value {
        let lacks = self.watch.lacks();
        json!({ "ready": lacks.is_ready(), "lacks": lacks.0, "entries": self.written })
    }

    /// The answer to a request.
    pub fn page(&self) -> ReadyPage {
        let json = self.json();
        ReadyPage {
            is_ready: is_ready(&json),
            text: format!("{}\n", sentence(&json)),
            json: format!("{json}\n"),
        }
    }
}

/// Whether a switch is ready that has told this.
pub fn is_ready(json: &Value) -> bool {
    json["ready"].as_bool().unwrap_or(false)
}

/// The same in words.
pub fn sentence(json: &Value) -> String {
    let lacks = json["lacks"].as_array().into_iter().flatten();
    let lacks: Vec<&str> = lacks.filter_map(Value::as_str).collect();
    if is_ready(json) {
        "ready".to_owned()
    } else {
        format!("not ready: {}", lacks.join("; "))
    }
}

/// Time between two looks at what a service manager is told.
const LOOK: Duration = Duration::from_secs(1);

/// The service manager that has started the switch, if one has: systemd, by the protocol of `sd_notify`.
pub struct ServiceManager {
    socket: Option<UnixDatagram>,
    said: String,
    looked: Option<Instant>,
}

impl ServiceManager {
    /// The one whose socket is `$NOTIFY_SOCKET`; none is as well.
    pub fn of_environment() -> ServiceManager {
        let address = std::env::var("NOTIFY_SOCKET").ok();
        ServiceManager {
            socket: address.and_then(|address| connect(&address).ok()),
            said: String::new(),
            looked: None,
        }
    }

    /// Says that the switch has started, and what it lacks when that has changed. Whether it is ready depends on
    /// controllers and cables, for which nothing that starts after the switch must wait.
    pub fn tell(&mut self, readiness: &Readiness) {
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if self.socket.is_none() || !is_due {
            return;
        }
        self.looked = Some(Instant::now());
        self.say(sentence(&readiness.json()));
    }

    /// Says that the switch has started, and this sentence, unless that was said last. What the service manager has no
    /// room for is said at the next look.
    fn say(&mut self, sentence: String) {
        if sentence != self.said && self.send(&format!("READY=1\nSTATUS={sentence}")) {
            self.said = sentence;
        }
    }

    /// Says that the switch ends.
    pub fn tell_end(&self) {
        self.send("STOPPING=1");
    }

    /// Whether the service manager takes it. One that has gone is no reason to stop packets.
    fn send(&self, text: &str) -> bool {
        let socket = self.socket.as_ref();
        socket.is_some_and(|socket| socket.send(text.as_bytes()).is_ok())
    }
}

fn connect(address: &str) -> std::io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    match address.strip_prefix('@') {
        Some(name) => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        None => socket.connect(address)?,
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_may_be_wanted_with_a_number() {
        assert_eq!(wanted_entries("nat"), Ok(("nat".to_owned(), 1)));
        assert_eq!(wanted_entries("I.nat=20"), Ok(("I.nat".to_owned(), 20)));
        assert!(wanted_entries("nat=").is_err());
        assert!(wanted_entries("nat=0").is_err());
    }

    #[test]
    fn what_a_service_manager_had_no_room_for_is_said_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).expect("a socket");
        manager.set_nonblocking(true).expect("it can be");
        let mut switch = ServiceManager {
            socket: connect(path.to_str().expect("a text")).ok(),
            said: String::new(),
            looked: None,
        };
        while switch.send("from others") {}
        switch.say("ready".to_owned());
        let mut bytes = [0; 64];
        while manager.recv(&mut bytes).is_ok() {}
        switch.say("ready".to_owned());
        let length = manager.recv(&mut bytes).expect("it is said");
        assert_eq!(bytes[..length], *b"READY=1\nSTATUS=ready");
        switch.say("ready".to_owned());
        assert!(manager.recv(&mut bytes).is_err(), "once is enough");
    }

    #[test]
    fn what_is_lacking_is_one_sentence() {
        let lacks = json!({ "ready": false, "lacks": ["port 1 (a) is down", "table `t` has 0 of at least 1 entries"] });
        let said = "not ready: port 1 (a) is down; table `t` has 0 of at least 1 entries";
        assert_eq!(sentence(&lacks), said);
        assert_eq!(sentence(&json!({ "ready": true, "lacks": [] })), "ready");
    }
}
