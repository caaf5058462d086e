//! Network functions between an uplink and a downlink that run on their own: `forebay vnf` without its output.
//!
//! Each is a process of `forebay run`, which its [`Instance`] remembers in a file of the run folder, beside what the
//! process writes. A process is known by its number and the time of its start, so that another one with the same number
//! is not taken for it.

pub mod measure;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::functions::Function;
use crate::{files, output, run_config};
use forebay_ports::PortSpec;

/// The signal that lets `forebay run` print its statistics.
const SHOW: i32 = signal_hook::consts::SIGUSR1;

/// The folder of instances of everyone who may write there.
const COMMON: &str = "/run/forebay";

/// The signal that ends it.
const END: i32 = signal_hook::consts::SIGTERM;

/// Longest time until a function answers, and until one has ended.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longest time until a function carries packets, as for `forebay@NAME`: it is compiled, and entries and saved state are
/// loaded.
const START_PATIENCE: Duration = Duration::from_secs(300);

/// Options of `forebay run` that are given here, and that none can have twice.
const OWN_OPTIONS: [&str; 2] = ["--json", "--stats-interval"];

/// Between looks.
const LOOK: Duration = Duration::from_millis(20);

/// A log that is longer, in bytes, loses its statistics: each question leaves a line of them there.
const LOG_BYTES: u64 = 1 << 20;

/// A function that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its name, which is that of its files.
    pub name: String,
    /// The program that it runs.
    pub program: PathBuf,
    /// The interface that is its port 1.
    pub uplink: String,
    /// The interface that is its port 2.
    pub downlink: String,
    process: u32,
    /// When it was brought up, for people, in the form of RFC 3339.
    started: String,
    /// When the process was started, in ticks since the machine was.
    start_ticks: u64,
}

/// What is started.
pub struct Start<'a> {
    /// The name of the instance.
    pub name: &'a str,
    /// The function.
    pub function: &'a Function,
    /// The interface for port 1.
    pub uplink: &'a str,
    /// The interface for port 2.
    pub downlink: &'a str,
    /// More options of `forebay run`.
    pub options: &'a [OsString],
    /// Set when it is not to be started any more.
    pub stop: &'a AtomicBool,
}

/// The folder of the instances.
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// The one that is named; without, /run/forebay for root, and $XDG_RUNTIME_DIR/forebay for others.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(named: Option<&Path>) -> Result<RunFolder> {
        let own = || std::env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("forebay"));
        let folder = match named {
            Some(folder) => folder.to_owned(),
            None if is_usable(Path::new(COMMON)) => COMMON.into(),
            None => own().context("/run/forebay cannot be used, and $XDG_RUNTIME_DIR is not set; see --run-dir")?,
        };
        files::make_folder(&folder)?;
        Ok(RunFolder(folder))
    }

    fn record(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.log"))
    }

    /// All instances that were started and not taken down, by name.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn instances(&self) -> Result<Vec<Instance>> {
        let entries = std::fs::read_dir(&self.0).with_context(|| format!("cannot read {}", self.0.display()))?;
        let mut found = Vec::new();
        for entry in entries {
            let path = entry
                .with_context(|| format!("cannot read {}", self.0.display()))?
                .path();
            if path.extension().is_some_and(|kind| kind == "json") {
                match Instance::read(&path) {
                    Ok(instance) => found.push(instance),
                    Err(error) => output::warning(&format!("{error:#}; it is passed over")),
                }
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The instance with this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn instance(&self, name: &str) -> Result<Instance> {
        let path = self.record(name);
        if !path.is_file() {
            let names: Vec<String> = self.instances()?.into_iter().map(|instance| instance.name).collect();
            if names.is_empty() {
                bail!("there is no function `{name}` that was brought up, nor any other");
            }
            bail!(
                "there is no function `{name}` that was brought up; there are: {}",
                names.join(", ")
            );
        }
        Instance::read(&path)
    }

    /// Starts a function and waits until it carries packets.
    ///
    /// # Errors
    /// When one of this name runs, an interface cannot be used, or the switch ends at once: then with what it said.
    pub fn up(&self, start: &Start<'_>) -> Result<Instance> {
        check_name(start.name)?;
        check_options(start.options)?;
        if let Ok(instance) = self.instance(start.name)
            && instance.is_running()
        {
            bail!("`{}` runs already; forebay vnf down {}", start.name, start.name);
        }
        let ports = [format!("1@{}", start.uplink), format!("2@{}", start.downlink)];
        let specs = PortSpec::parse_all(ports.iter().map(String::as_str))
            .map_err(|error| anyhow!("an interface is not written correctly\n{error}"))?;
        for interface in specs.iter().filter_map(PortSpec::interface) {
            forebay_ports::bring_up(interface)?;
        }
        let mut child = self.spawn(start, &ports)?;
        // Without a secret, which others must not read in the record.
        let [uplink, downlink] = [&specs[0], &specs[1]].map(interface_text);
        let instance = Instance {
            name: start.name.to_owned(),
            program: start.function.program.clone(),
            uplink,
            downlink,
            process: child.id(),
            started: output::now(),
            start_ticks: start_of_process(child.id()).unwrap_or(0),
        };
        let recorded = files::write(&self.record(start.name), format!("{:#}\n", instance.record()));
        if let Err(error) = recorded {
            // `vnf down` finds it by its record.
            let _ = child.kill();
            let _ = child.wait();
            let _ = std::fs::remove_file(self.record(start.name));
            return Err(error.into());
        }
        self.wait_until_ready(&instance, &mut child, start.stop)?;
        Ok(instance)
    }

    fn spawn(&self, start: &Start<'_>, ports: &[String; 2]) -> Result<Child> {
        let log = self.log(start.name);
        // Appended to, so that it can be shortened meanwhile.
        let output = File::create(&log).and_then(|_| OpenOptions::new().append(true).open(&log));
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let errors = output
            .try_clone()
            .with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(std::env::current_exe().context("the executable is not found")?);
        command.arg("run").arg(&start.function.program);
        // One line at the start, and one when it is asked for.
        command.args(["--json", "--stats-interval", "1e9"]);
        command.args(["-i", &ports[0], "-i", &ports[1]]);
        if let Some(entries) = start
            .function
            .entries
            .as_ref()
            .filter(|_| !is_configured(start.options))
        {
            command.arg("--entries").arg(entries);
        }
        command
            .args(start.options)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        // Signals of the terminal are not for it.
        command.process_group(0);
        command.spawn().context("`forebay run` cannot be started")
    }

    fn wait_until_ready(&self, instance: &Instance, child: &mut Child, stop: &AtomicBool) -> Result<()> {
        let end = Instant::now() + START_PATIENCE;
        while self.statistics_lines(&instance.name).is_empty() {
            if stop.load(Ordering::Relaxed) {
                self.down(instance)?;
                bail!(
                    "`{}` was interrupted before it carried packets, and is down again",
                    instance.name
                );
            }
            let has_ended = child.try_wait().context("the function is lost")?.is_some();
            if has_ended || Instant::now() > end {
                let said = std::fs::read(self.log(&instance.name)).unwrap_or_default();
                self.down(instance)?;
                let when = if has_ended {
                    String::new()
                } else {
                    format!(" within {} s", START_PATIENCE.as_secs())
                };
                let said = String::from_utf8_lossy(&said);
                // The same follows as JSON, on the standard output.
                let said = said.split("\n{\n").next().unwrap_or_default();
                bail!("`{}` does not start{when}\n{}", instance.name, said.trim());
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ends a function and forgets it. One that has ended by itself is forgotten only.
    ///
    /// # Errors
    /// When its process does not end.
    pub fn down(&self, instance: &Instance) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        if instance.is_running() {
            forebay_ports::signal(instance.process, END).context("the function cannot be ended")?;
        }
        while instance.is_running() {
            if Instant::now() > end {
                bail!("`{}` (process {}) does not end", instance.name, instance.process);
            }
            std::thread::sleep(LOOK);
        }
        for path in [self.record(&instance.name), self.log(&instance.name)] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The present statistics of a function, as `forebay run --json` prints them; none when it does not run any more.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn statistics(&self, instance: &Instance) -> Result<Option<Value>> {
        if !instance.is_running() {
            return Ok(None);
        }
        let log = self.log(&instance.name);
        self.shorten_log(&instance.name);
        let before = self.statistics_lines(&instance.name).len();
        check_log(&log, instance)?;
        forebay_ports::signal(instance.process, SHOW).context("the function cannot be asked")?;
        let end = Instant::now() + PATIENCE;
        loop {
            let lines = self.statistics_lines(&instance.name);
            if lines.len() > before {
                return Ok(lines.into_iter().next_back());
            }
            if !instance.is_running() {
                return Ok(None);
            }
            check_log(&log, instance)?;
            if Instant::now() > end {
                return Err(anyhow!(
                    "`{}` (process {}) does not answer",
                    instance.name,
                    instance.process
                ));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the statistics out of a log that has become long; messages stay. Who may not write there leaves it as it
    /// is.
    fn shorten_log(&self, name: &str) {
        let path = self.log(name);
        if std::fs::metadata(&path).is_ok_and(|log| log.len() > LOG_BYTES)
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let lines = text.split_inclusive('\n');
            let messages: String = lines.filter(|line| statistics_in(line).is_none()).collect();
            let _ = std::fs::write(&path, messages);
        }
    }

    /// The statistics that a function has printed.
    fn statistics_lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log(name)).unwrap_or_default();
        text.lines().filter_map(statistics_in).collect()
    }
}

/// Whether a function writes its statistics into its log: not when that was removed, or another file is in its place.
///
/// # Errors
/// When it does not.
fn check_log(log: &Path, instance: &Instance) -> Result<()> {
    let lost = |how: &str| {
        anyhow!(
            "its log {} {how}, so it cannot say its state; it carries packets as before, and `forebay vnf down {}` and `up` \
             give it another log",
            log.display(),
            instance.name
        )
    };
    let Ok(here) = std::fs::metadata(log) else {
        return Err(lost("is not there"));
    };
    // The output of another user's process cannot be looked at.
    let Ok(written) = std::fs::metadata(format!("/proc/{}/fd/1", instance.process)) else {
        return Ok(());
    };
    if (here.dev(), here.ino()) == (written.dev(), written.ino()) {
        Ok(())
    } else {
        Err(lost("is another file than the one that it writes"))
    }
}

/// The statistics in a line of a log: a whole object with ports. Messages are objects, too, with `--log-format json`.
fn statistics_in(line: &str) -> Option<Value> {
    if !line.starts_with('{') {
        return None;
    }
    let value: Value = serde_json::from_str(line).ok()?;
    value.get("ports").is_some().then_some(value)
}

/// Whether files can be made in a folder, which may be another user's.
fn is_usable(folder: &Path) -> bool {
    let probe = folder.join(format!(".{}", std::process::id()));
    files::make_folder(folder).is_ok() && files::check_writable(&probe).is_ok()
}

/// A port as it was written, without its number.
fn interface_text(spec: &PortSpec) -> String {
    let text = spec.to_string();
    text.split_once('@')
        .map_or(text.clone(), |(_, interface)| interface.to_owned())
}

/// Whether entries come from elsewhere than the function's demonstration.
fn is_configured(options: &[OsString]) -> bool {
    let mut words = options.iter().filter_map(|option| option.to_str());
    words.any(|option| option.starts_with("--entries") || option.starts_with("--grpc"))
        || run_config::has_key(options, &["entries", "grpc"])
}

/// Refuses options that `vnf` itself gives to `forebay run`, which would say that they are there twice.
fn check_options(options: &[OsString]) -> Result<()> {
    let words = options.iter().filter_map(|option| option.to_str());
    let mut names = words.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    if let Some(name) = names.find(|name| OWN_OPTIONS.contains(name)) {
        bail!("{name} is not for a function of `forebay vnf`: `forebay vnf status --json` prints its statistics");
    }
    Ok(())
}

/// A name is that of files.
fn check_name(name: &str) -> Result<()> {
    let is_good = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if !name.is_empty() && name.chars().all(is_good) {
        Ok(())
    } else {
        bail!("`{name}` is no name for a function: letters, digits, - and _ are allowed")
    }
}

/// When a process was started, in ticks since the machine was; none when there is no such process, or when it has ended
/// and nothing has waited for it.
fn start_of_process(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok()).flatten()
}

impl Instance {
    fn read(path: &Path) -> Result<Instance> {
        let text = files::text(path, "record of a function")?;
        let value: Value = serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let number = |key: &str| value[key].as_u64();
        let read = || {
            Some(Instance {
                name: text("name")?,
                program: text("program")?.into(),
                uplink: text("uplink")?,
                downlink: text("downlink")?,
                process: number("process")?.try_into().ok()?,
                started: text("started")?,
                start_ticks: number("start_ticks")?,
            })
        };
        read().with_context(|| format!("{} is damaged", path.display()))
    }

    /// What is remembered of it.
    pub fn record(&self) -> Value {
        let mut record = self.json();
        record["start_ticks"] = self.start_ticks.into();
        record
    }

    /// What users may know of it.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "program": self.program,
            "uplink": self.uplink,
            "downlink": self.downlink,
            "process": self.process,
            "started": self.started,
        })
    }

    /// Whether its process is there.
    pub fn is_running(&self) -> bool {
        start_of_process(self.process) == Some(self.start_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_apart_by_their_start() {
        let own = std::process::id();
        let start_ticks = start_of_process(own).expect("this process runs");
        let mut instance = Instance {
            name: "x".to_owned(),
            program: "x.p4".into(),
            uplink: "a".to_owned(),
            downlink: "b".to_owned(),
            process: own,
            started: output::now(),
            start_ticks,
        };
        assert!(instance.is_running());
        instance.start_ticks += 1;
        assert!(!instance.is_running());
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::open(Some(folder.path())).expect("a folder");
        let instance = Instance {
            name: "nat".to_owned(),
            program: "nat44.p4".into(),
            uplink: "eth1".to_owned(),
            downlink: "eth2".to_owned(),
            process: 7,
            started: "2026-12-01T05:06:07.000008Z".to_owned(),
            start_ticks: 8,
        };
        files::write(&folder.record("nat"), instance.record().to_string()).expect("a file");
        assert_eq!(instance.json()["started"], "2026-12-01T05:06:07.000008Z");
        assert_eq!(folder.instances().expect("instances"), [instance]);
        let error = folder.instance("net").expect_err("no such one").to_string();
        assert!(error.ends_with("there are: nat"), "{error}");
    }

    #[test]
    fn a_log_does_not_grow_by_questions() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::open(Some(folder.path())).expect("a folder");
        let log = |statistics: usize| {
            let text = format!("a message\n{}the last one\n", "{\"ports\":[]}\n".repeat(statistics));
            files::write(&folder.log("nat"), text).expect("a file");
            folder.shorten_log("nat");
            folder.statistics_lines("nat").len()
        };
        assert_eq!(log(1000), 1000);
        assert_eq!(log(100_000), 0);
        let left = std::fs::read_to_string(folder.log("nat")).expect("a file");
        assert_eq!(left, "a message\nthe last one\n");
    }

    #[test]
    fn messages_as_json_are_no_statistics() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::open(Some(folder.path())).expect("a folder");
        let message = "{\"level\":\"warning\",\"message\":\"port 1: eth1 is gone\"}\n";
        let log = |statistics: usize| {
            let text = format!(
                "{message}{}{message}",
                "{\"ports\":[],\"inside\":{}}\n".repeat(statistics)
            );
            files::write(&folder.log("nat"), text).expect("a file");
            folder.shorten_log("nat");
            folder.statistics_lines("nat").len()
        };
        assert_eq!(log(0), 0, "it does not carry packets yet");
        assert_eq!(log(2), 2);
        assert_eq!(log(100_000), 0);
        let left = std::fs::read_to_string(folder.log("nat")).expect("a file");
        assert_eq!(left, format!("{message}{message}"));
    }

    #[test]
    fn options_that_it_gives_itself_are_refused() {
        let check = |options: &[&str]| {
            let options: Vec<OsString> = options.iter().map(OsString::from).collect();
            check_options(&options)
        };
        assert!(check(&["--workers", "2", "--grpc=9559"]).is_ok());
        for option in ["--json", "--stats-interval", "--stats-interval=1"] {
            let error = check(&["--workers", "2", option, "1"]).expect_err("it is given already");
            assert!(error.to_string().contains("forebay vnf status --json"), "{error}");
        }
    }

    #[test]
    fn entries_of_a_configuration_file_take_the_place_of_the_demonstrations() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own.toml");
        let is_configured = |text: &str| {
            files::write(&path, text).expect("a file");
            is_configured(&["--config".into(), path.clone().into()])
        };
        assert!(is_configured("entries = \"own.stf\"\n"));
        assert!(is_configured("grpc = true\n"));
        assert!(!is_configured("workers = 2\ngrpc = false\n"));
        assert!(!super::is_configured(&["--config".into(), "/no/such/file".into()]));
    }

    #[test]
    fn a_folder_in_which_nothing_can_be_written_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(is_usable(&folder.path().join("below")));
        assert_eq!(folder.path().join("below").read_dir().expect("it was made").count(), 0);
        assert!(!is_usable(Path::new("/proc/self")));
    }

    #[test]
    fn names_are_those_of_files() {
        assert!(check_name("nat44-a").is_ok());
        assert!(check_name("../x").is_err());
        assert!(check_name("").is_err());
    }
}
