//! What comes before `--`: the options of every switch of BMv2.

use super::{Kind, Lines, Note};
use crate::packet_log::Level;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

/// The version of BMv2's JSON that is understood.
const JSON_VERSION: &str = "2.24";

/// Arguments of `forebay simple-switch`.
#[derive(clap::Args, Debug)]
#[command(
    infer_long_args = true,
    disable_version_flag = true,
    after_help = "\
docs/simple-switch.md says of every option of BMv2 what becomes of it. Started under the name simple_switch or \
simple_switch_grpc (a link to forebay), the program takes the command line of either.

Example:
  forebay simple-switch -i 1@veth1 -i 2@veth2 --device-id 1 --no-p4 \\
      -- --grpc-server-addr 0.0.0.0:9559 --cpu-port 255"
)]
pub struct Arguments {
    /// JSON of p4c for BMv2, P4_16 source, or ir.txt of `forebay build`; a file called .json may hold any of them.
    /// Ports may stand here too
    #[arg(value_name = "PROGRAM")]
    places: Vec<String>,
    /// A port; may be repeated
    #[arg(short = 'i', long = "interface", value_name = "PORT@INTERFACE")]
    interfaces: Vec<String>,
    /// The number by which controllers know the switch
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device_id: u64,
    /// Wait for a controller to push a program
    #[arg(long)]
    no_p4: bool,
    /// Serve no P4Runtime, as simple_switch
    #[arg(long)]
    pub no_grpc: bool,
    /// Where to serve Thrift, for simple_switch_CLI [default of simple_switch: 9090, if it is free]
    #[arg(long, value_name = "PORT")]
    pub thrift_port: Option<u16>,
    /// Write what each interface receives and sends to DIR/INTERFACE_in.pcap and DIR/INTERFACE_out.pcap
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pcap: Option<PathBuf>,
    /// Ports are files, INTERFACE_in.pcap and INTERFACE_out.pcap; begin after this number of seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub use_files: Option<i64>,
    /// Log to the standard output
    #[arg(long)]
    pub log_console: bool,
    /// Log to this file, to whose name .txt is added
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// How much to log
    #[arg(short = 'L', long, value_name = "LEVEL", value_enum, default_value = "trace")]
    pub log_level: Level,
    /// Write out every line of the log file at once
    #[arg(long)]
    pub log_flush: bool,
    /// Bytes of a log file, which is put aside then
    #[arg(long, value_name = "BYTES", default_value_t = 5 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub log_file_max_size: u64,
    /// Log files that are kept besides
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub log_file_max_files: usize,
    /// Log this number of bytes of each packet that comes or goes
    #[arg(long, value_name = "BYTES")]
    pub dump_packet_data: Option<usize>,
    /// Table entries, clone sessions, multicast groups: as `forebay run --entries`
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Do all commands of the entries' file that can be done: as `forebay run --keep-going`
    #[arg(long, requires = "entries")]
    keep_going: bool,
    /// Keep the program and the forwarding state in this folder, and begin with what is in it
    #[arg(long, value_name = "DIR")]
    save_state: Option<PathBuf>,
    /// Print the version
    #[arg(short = 'v', long)]
    version: bool,
    /// Print the version of JSON that is understood
    #[arg(long)]
    json_version: bool,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    nanolog: Option<String>,
    /// Publish digests, idle entries and states of ports over nanomsg: ipc://PATH or tcp://HOST:PORT
    /// [default: ipc:///tmp/bmv2-DEVICE_ID-notifications.ipc]
    #[arg(long, value_name = "ADDRESS")]
    pub notifications_addr: Option<String>,
    #[arg(long, hide = true)]
    debugger: bool,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    debugger_addr: Option<String>,
    #[arg(long, value_name = "FILE", hide = true)]
    restore_state: Option<PathBuf>,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    packet_in: Option<String>,
    #[arg(long, value_name = "N", hide = true)]
    max_port_count: Option<u32>,
    /// What follows `--`: --grpc-server-addr, --cpu-port, …
    #[arg(last = true, value_name = "TARGET OPTIONS")]
    pub target: Vec<String>,
}

/// Words of the command line that stand where ports, a folder or the program may stand.
pub struct Places {
    /// Ports in the words of `forebay run`.
    pub ports: Vec<String>,
    /// The program, if there is to be one.
    pub program: Option<String>,
    /// Where to write captures.
    pub captures: Option<PathBuf>,
}

impl Arguments {
    /// What is printed in place of running.
    pub fn about_itself(&self, kind: Kind) -> Option<String> {
        if self.json_version {
            return Some(format!("{JSON_VERSION}\n"));
        }
        let version = || format!("{} (forebay {})\n", kind.name(), env!("CARGO_PKG_VERSION"));
        self.version.then(version)
    }

    /// Ports, program and folder, wherever they stand.
    ///
    /// # Errors
    /// When there are two programs, or none.
    pub fn places(&self) -> Result<Places> {
        let mut words = self.places.clone();
        let mut captures = self.pcap.clone();
        // The folder may be left out, so what follows `--pcap` may be the program or a port.
        if let Some(word) = self.pcap.as_deref().and_then(Path::to_str)
            && (is_port(word) || is_program(word))
        {
            words.insert(0, word.to_string());
            captures = Some(PathBuf::from("."));
        }
        let (ports, programs): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| is_port(word));
        if let [first, second, ..] = programs.as_slice() {
            bail!("`{first}` and `{second}`: there is one program; options of the target come after `--`");
        }
        let program = programs.into_iter().next().filter(|_| !self.no_p4);
        if program.is_none() && !self.no_p4 {
            bail!("name a program, or say --no-p4 to wait for a controller to push one");
        }
        let ports = self.interfaces.iter().cloned().chain(ports);
        Ok(Places {
            ports: ports.map(|port| self.port(port)).collect(),
            program,
            captures: captures.filter(|_| self.use_files.is_none()),
        })
    }

    /// A port, which is a pair of files with `--use-files`, read in the order of all files' times. An interface is shared with other programs, as BMv2's are.
    fn port(&self, port: String) -> String {
        match (self.use_files, port.split_once('@')) {
            (Some(_), Some((number, name))) => {
                let name = name.replace(',', r"\,");
                format!("{number}@pcap:{name}_in.pcap,{name}_out.pcap,merged")
            }
            (None, Some((number, name))) if !name.contains(':') => format!("{number}@shared:{name}"),
            _ => port,
        }
    }

    /// Says the rest in words of `forebay run`.
    ///
    /// # Errors
    /// When an option is refused.
    pub fn write(&self, lines: &mut Lines) -> Result<()> {
        if let Some(port) = self.thrift_port {
            lines.word("--thrift", format_args!("0.0.0.0:{port}"));
        }
        if let Some(entries) = &self.entries {
            lines.word("--entries", entries.display());
            lines.words.extend(self.keep_going.then(|| "--keep-going".to_string()));
        }
        match (&self.save_state, &self.restore_state) {
            (Some(folder), None) => lines.word("--save-state", folder.display()),
            (None, Some(folder)) if folder.is_dir() => lines.word("--save-state", folder.display()),
            (_, Some(_)) => bail!(
                "--restore-state: files of BMv2's state cannot be read; `--save-state DIR` keeps the state of this switch in a \
                 folder and begins with it"
            ),
            (None, None) => {}
        }
        if self.packet_in.is_some() {
            bail!("--packet-in: packets come from interfaces, not over nanomsg; give ports with -i");
        }
        self.note(lines);
        Ok(())
    }

    fn note(&self, lines: &mut Lines) {
        let no_nanomsg = "nothing is sent over nanomsg";
        let debugger = "`forebay trace` shows a packet step by step";
        let given = [
            (
                "--nanolog",
                self.nanolog.is_some(),
                "--log-console and --log-file write a log",
            ),
            ("--debugger", self.debugger, debugger),
            ("--debugger-addr", self.debugger_addr.is_some(), no_nanomsg),
            (
                "--max-port-count",
                self.max_port_count.is_some(),
                "there may be any number of ports",
            ),
            (
                "--log-flush",
                self.log_flush && self.log_file.is_none(),
                "there is no --log-file",
            ),
        ];
        for (name, _, why) in given.into_iter().filter(|(_, is_given, _)| *is_given) {
            lines.note(Note::Nothing(name, why));
        }
        if self.no_p4 && self.places.iter().any(|word| !is_port(word)) {
            lines.note(Note::Changed("--no-p4", "the program on the command line is not used"));
        }
    }
}

/// `2@veth2`
fn is_port(word: &str) -> bool {
    let number = word.split_once('@').map(|(number, _)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_program(word: &str) -> bool {
    let extension = Path::new(word).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["json", "p4", "ir", "txt"].contains(&extension))
}
