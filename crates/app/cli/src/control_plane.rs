//! P4Runtime beside a running switch: options, and the program to begin with.

use crate::certificates;
use crate::limits::{MemoryOptions, ServerLimits};
use crate::output;
use crate::program::{self, CompileOptions};
use crate::sandbox::SandboxOptions;
use crate::saved_state::SaveOptions;
use crate::thrift;
use anyhow::{Context, Result, anyhow, bail};
use forebay_daemon::{ControlPlane, Gates, ProgramSlot, QueueControl, Replaced, ServeOptions, Start};
use forebay_ir::{Architecture, Program};
use forebay_p4info::Version;
use forebay_p4runtime::Settings;
use forebay_pipeline::{DROP_PORT, DigestMessage, PORTABLE_CPU_PORT, Pipeline};
use forebay_ports::Clock;
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::Update;
use forebay_protocol::why_not_listening;
use forebay_server::{Access, Address, AddressError, DEFAULT_PORT, Grant, Learned, Link, Options, Tls};
use forebay_thrift::{Notifications, Serving};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Reads the number of the controllers' port.
fn cpu_port(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(port) if port < DROP_PORT || port == PORTABLE_CPU_PORT => Ok(port),
        _ => Err(format!("not a port from 0 to {} or {PORTABLE_CPU_PORT}", DROP_PORT - 1)),
    }
}

/// What runs until a controller pushes a program.
const NO_PROGRAM: &str = include_str!("no_program.p4");

/// Options of the P4Runtime server.
#[derive(clap::Args, Clone, Debug)]
pub struct ControlOptions {
    /// Serve P4Runtime; without an address, on 127.0.0.1:9559. HOST:PORT, :PORT for all interfaces, or unix:PATH. The
    /// program may then be left out, for a controller to push
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "9559")]
    pub grpc: Option<Served>,
    /// Serve the control interface of BMv2 over Thrift, for simple_switch_CLI and p4-utils: PORT, HOST:PORT, or :PORT
    /// for all interfaces; BMv2 has port 9090
    #[arg(long, value_name = "ADDRESS")]
    pub thrift: Option<Address>,
    /// Publish digests, idle entries and states of ports over nanomsg, as BMv2 does, for controllers that subscribe
    /// with nnpy: ipc://PATH or tcp://HOST:PORT
    #[arg(long, value_name = "ADDRESS", requires = "thrift")]
    pub notifications: Option<String>,
    /// The number by which controllers know the switch
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub device_id: u64,
    /// The port by which programs send packets to controllers and get packets from them [default: 510; 4294967293 for
    /// programs for PSA and PNA, which call it PSA_PORT_CPU and PNA_PORT_CPU]
    #[arg(long, value_name = "PORT", value_parser = cpu_port)]
    pub cpu_port: Option<u32>,
    /// The server's certificate (PEM); connections are encrypted then
    #[arg(long, value_name = "FILE", requires_all = ["grpc", "grpc_key"])]
    pub grpc_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_cert")]
    pub grpc_key: Option<PathBuf>,
    /// The authority that certificates of controllers must come from (PEM)
    #[arg(long, value_name = "FILE", requires = "grpc_cert")]
    pub grpc_client_ca: Option<PathBuf>,
    /// A role that may read and nothing else; may be repeated
    #[arg(long, value_name = "ROLE", requires = "grpc")]
    pub read_only_role: Vec<String>,
    /// Give controllers a P4Info without what is newer than this version of P4Runtime: 1.3 or 1.5
    #[arg(long, value_name = "VERSION", default_value = "1.5")]
    pub p4info_version: Version,
    /// Do as BMv2's simple_switch_grpc where P4Runtime wants something else; `forebay simple-switch` gives it
    #[arg(long, hide = true)]
    pub as_bmv2: bool,
    /// A right, as SUBJECT=RIGHT or SUBJECT=RIGHT:ROLE,ROLE; may be repeated. SUBJECT is a name in a certificate,
    /// uid:N or anyone; RIGHT is read, write, push or admin, each with those before it. Without any, all may do
    /// everything
    #[arg(long, value_name = "GRANT", requires = "grpc")]
    pub grant: Vec<Grant>,
    #[command(flatten)]
    pub memory: MemoryOptions,
    #[command(flatten)]
    pub limits: ServerLimits,
    #[command(flatten)]
    pub sandbox: SandboxOptions,
    #[command(flatten)]
    pub save: SaveOptions,
}

/// What stands after `--grpc`. The address may be left out, so the program may follow at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// An address.
    At(Address),
    /// The program; the address is the usual one.
    Program(PathBuf),
}

impl FromStr for Served {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Served, AddressError> {
        let path = Path::new(text);
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_program = extension.is_some_and(|extension| ["p4", "json", "ir", "txt"].contains(&extension));
        match text.parse() {
            Ok(address) => Ok(Served::At(address)),
            Err(_) if is_program || path.is_file() => Ok(Served::Program(path.to_path_buf())),
            Err(error) => Err(error),
        }
    }
}

/// Loads the program of a command line, or one that drops everything when there is none.
///
/// # Errors
/// When it cannot be read or loaded. None when it has mistakes, which have been printed.
pub fn load(
    path: Option<&Path>,
    options: &CompileOptions,
    loading: forebay_pipeline::Options,
    with_p4info: bool,
) -> Result<Option<Start>> {
    let Some(path) = path else {
        let start = Start::read(NO_PROGRAM.as_bytes(), loading)?;
        return Ok(Some(Start::new(start.pipeline, None)));
    };
    let compilation = program::compile_file(path, options)?;
    program::print(&compilation.report);
    let Some(program) = compilation.program else {
        return Ok(None);
    };
    let known = if with_p4info {
        Some(known(path, compilation.p4info.as_ref(), &program)?)
    } else {
        None
    };
    let pipeline = program::load(program, loading)?;
    Ok(Some(Start::new(pipeline, known)))
}

/// The program of a file for controllers: its P4Info, from the compiler or from a file beside it, and the blob that
/// they can read and push again.
///
/// # Errors
/// When there is no P4Info, or a file cannot be read.
pub fn known(
    path: &Path,
    info: Option<&forebay_p4info::model::P4Info>,
    program: &Program,
) -> Result<(P4Info, Vec<u8>)> {
    let info = match info {
        Some(info) => forebay_protocol::p4info::from_compiler(info),
        None => p4info_of(path)?,
    };
    Ok((info, blob(path, program)?))
}

/// The program as controllers can read it, and push it again.
fn blob(path: &Path, program: &Program) -> Result<Vec<u8>> {
    if forebay_files::is_bmv2(path)? {
        Ok(forebay_files::bytes(path)?)
    } else {
        Ok(forebay_ir::text::write(program).into_bytes())
    }
}

/// The P4Info beside a compiled program.
fn p4info_of(path: &Path) -> Result<P4Info> {
    let beside = forebay_files::p4info_beside(path)?;
    beside.with_context(|| {
        format!(
            "there is no p4info.txtpb beside {}, as `forebay build` writes it",
            path.display()
        )
    })
}

/// What serves controllers.
pub struct Control {
    /// P4Runtime and gNMI.
    pub control_plane: ControlPlane,
    /// The interface of BMv2, if it is wanted.
    pub thrift: Option<Serving>,
}

/// Command lines without options of the server.
#[derive(clap::Parser)]
struct NoOptions {
    #[command(flatten)]
    options: ControlOptions,
}

impl Default for ControlOptions {
    fn default() -> ControlOptions {
        <NoOptions as clap::Parser>::parse_from(["forebay"]).options
    }
}

impl ControlOptions {
    /// Whether the switch can be controlled from outside.
    pub fn is_served(&self) -> bool {
        self.grpc.is_some() || self.thrift.is_some()
    }

    /// Where to serve P4Runtime, if anywhere.
    pub fn address(&self) -> Option<Address> {
        self.grpc.as_ref().map(|served| match served {
            Served::At(address) => address.clone(),
            Served::Program(_) => Address::loopback(DEFAULT_PORT),
        })
    }

    /// The program of the command line: `given`, or what stands after `--grpc` in place of an address.
    ///
    /// # Errors
    /// When there are two.
    pub fn program<'a>(&'a self, given: Option<&'a Path>) -> Result<Option<&'a Path>> {
        match (&self.grpc, given) {
            (Some(Served::Program(program)), Some(given)) => bail!(
                "`{}` and `{}` are two programs; an address of --grpc is HOST:PORT",
                program.display(),
                given.display()
            ),
            (Some(Served::Program(program)), None) => Ok(Some(program)),
            (_, given) => Ok(given),
        }
    }

    /// Starts the server.
    ///
    /// # Errors
    /// When certificates cannot be read or the address cannot be listened on.
    pub fn start(
        &self,
        link: Link,
        start: Start,
        (slot, queues): (&Arc<ProgramSlot>, Arc<QueueControl>),
        (clock, start_ns): (Clock, u64),
        gates: Gates,
    ) -> Result<Control> {
        let listener = self.thrift.as_ref().map(thrift::listen).transpose()?;
        let notifications = self.notifications.as_deref().map(|address| {
            let bound = Notifications::bind(address, self.device_id);
            bound.map(Arc::new).map_err(|error| {
                anyhow!(
                    "--notifications: cannot listen on {address}: {}",
                    why_not_listening(&error)
                )
            })
        });
        let notifications = notifications.transpose()?;
        let learned = notifications
            .clone()
            .map(|notifications| Box::new(move |message: &DigestMessage| notifications.digest(message)) as Learned);
        let replaced = notifications
            .clone()
            .map(|notifications| Box::new(move || notifications.reset()) as Replaced);
        let (sandbox, save) = (self.sandbox.clone(), self.save.clone());
        let give_up = move || save.give_to(sandbox.user()).and_then(|()| sandbox.enter());
        let options = ServeOptions {
            server: Options {
                address: self.address(),
                tls: self.tls()?,
                keep_period: self.save.period(),
                limits: self.limits.limits(&self.memory),
                access: self.access()?,
            },
            settings: self.settings(&start),
            clock,
            start_ns,
            gates,
            confine: Box::new(move || give_up().map_err(|error| format!("{error:#}"))),
            learned,
            replaced,
        };
        let control_plane = forebay_daemon::serve(options, link, start, slot)?;
        let local = control_plane.server.local();
        let thrift = listener
            .map(|listener| thrift::serve(listener, local, queues, notifications))
            .transpose()?;
        Ok(Control { control_plane, thrift })
    }

    /// Puts what was saved, if anything was, in the place of the program to begin with.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn restore(&self, start: Start) -> Result<Start> {
        self.save.open(self.settings(&start), start, self.sandbox.user())
    }

    /// The port to the controllers: what the architecture of the program to begin with calls it, unless another is
    /// chosen.
    pub fn cpu_port(&self, pipeline: &Pipeline) -> u32 {
        let of_architecture = match pipeline.program().architecture {
            Architecture::V1Model => DROP_PORT - 1,
            Architecture::Psa | Architecture::Pna => PORTABLE_CPU_PORT,
        };
        self.cpu_port.unwrap_or(of_architecture)
    }

    pub(crate) fn settings(&self, start: &Start) -> Settings {
        Settings {
            device_id: self.device_id,
            options: *start.pipeline.options(),
            cpu_port: Some(self.cpu_port(&start.pipeline)),
            read_only_roles: self.read_only_role.iter().cloned().collect(),
            p4info_version: self.p4info_version,
            is_bmv2: self.as_bmv2,
            keeps_state: self.save.save_state.is_some(),
            keeps_learned: self.save.save_learned,
            origin: start.known.as_ref().map(|(_, blob)| blob.clone()).unwrap_or_default(),
            origin_info: start.known.as_ref().map(|(info, _)| info.clone()),
            reconciles: self.save.save_reconcile,
        }
    }

    /// Does the updates of a file, each with its place there: all of them or none.
    ///
    /// # Errors
    /// When the program refuses an update.
    pub fn configure(&self, path: &Path, updates: &[Update], places: &[String], start: &mut Start) -> Result<()> {
        let done = start.write(self.settings(start), updates, places);
        done.map_err(|error| anyhow!("{}: {error}", path.display()))
    }

    /// The rights of clients. Warns of settings that protect nothing.
    fn access(&self) -> Result<Access> {
        let access = Access::new(self.grant.clone());
        if access.needs_certificates() && self.grpc_client_ca.is_none() {
            bail!("--grant with the name of a certificate needs --grpc-client-ca, by which certificates are verified");
        }
        if self.thrift.is_some() && !access.is_open() {
            bail!(
                "--grant says who may do what, but whoever reaches the address of --thrift may do everything: give one of the two"
            );
        }
        if self.thrift.as_ref().is_some_and(is_of_other_machines) {
            output::warning("whoever reaches the address of --thrift may do everything");
        }
        let is_reachable = self.address().is_some_and(|address| is_of_other_machines(&address));
        if is_reachable && self.grpc_client_ca.is_none() && access.is_open() {
            output::warning(
                "whoever reaches the address of --grpc may do everything: see --grpc-client-ca and --grant",
            );
        }
        Ok(access)
    }

    fn tls(&self) -> Result<Option<Tls>> {
        let (Some(certificate), Some(key)) = (&self.grpc_cert, &self.grpc_key) else {
            return Ok(None);
        };
        warn_of_open_key(key);
        let authority = self.grpc_client_ca.as_ref();
        let authority = authority.map(|path| certificates::certificates("--grpc-client-ca", path));
        let tls = Tls {
            certificate: certificates::certificates("--grpc-cert", certificate)?,
            key: certificates::key("--grpc-key", key)?,
            client_authority: authority.transpose()?,
        };
        warn_of_end("--grpc-cert", certificate, tls.certificate_end());
        if let Some(authority) = &self.grpc_client_ca {
            warn_of_end("--grpc-client-ca", authority, tls.authority_end());
        }
        Ok(Some(tls))
    }
}

/// Whether other machines may reach an address.
fn is_of_other_machines(address: &Address) -> bool {
    match address {
        Address::Unix(_) => false,
        Address::Tcp { host: None, .. } => true,
        Address::Tcp { host: Some(host), .. } => {
            let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host != "localhost" && !number.is_ok_and(|number| number.is_loopback())
        }
    }
}

/// Warns of a certificate that has ended, or will within a month: clients refuse a server's then, and do not tell it why.
/// Those of authorities are taken all the same, but are no longer what their owner vouches for.
fn warn_of_end(option: &str, path: &Path, end: Option<i64>) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs() as i64);
    if let Some(words) = end.and_then(|end| words_of_end(end - now)) {
        output::warning(&format!("{option}: the certificate in {} {words}", path.display()));
    }
}

/// What is said of a certificate that is valid for so many seconds more; nothing when that is long.
fn words_of_end(seconds: i64) -> Option<String> {
    match seconds / DAY_S {
        _ if seconds < 0 => Some("has expired; get another one".to_string()),
        0 => Some("expires within a day".to_string()),
        1 => Some("expires in 1 day".to_string()),
        days @ 2..=SOON_DAYS => Some(format!("expires in {days} days")),
        _ => None,
    }
}

const DAY_S: i64 = 86_400;

/// The last days of a certificate, in which there is still time to get another one.
const SOON_DAYS: i64 = 30;

/// Warns of a private key that others can read.
pub fn warn_of_open_key(key: &Path) {
    if let Some(mode) = open_mode(key) {
        output::warning(&format!(
            "others can read the key {} (its mode is {mode:04o}): chmod 600 it",
            key.display()
        ));
    }
}

/// The mode of a file that is not its owner's alone.
fn open_mode(path: &Path) -> Option<u32> {
    let mode = std::fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn certificates_that_end_soon_are_warned_of() {
        let words = |days: i64| words_of_end(days * DAY_S);
        assert_eq!(words(31), None);
        assert_eq!(words(30).as_deref(), Some("expires in 30 days"));
        assert_eq!(words(1).as_deref(), Some("expires in 1 day"));
        assert_eq!(words(0).as_deref(), Some("expires within a day"));
        assert_eq!(words(-1).as_deref(), Some("has expired; get another one"));
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ControlOptions,
    }

    fn options(words: &[&str]) -> ControlOptions {
        Line::try_parse_from(words).unwrap().options
    }

    #[test]
    fn the_port_of_p4runtime_is_9559() {
        assert_eq!(options(&["run", "--grpc"]).address(), Some(Address::loopback(9559)));
        assert_eq!(options(&["run"]).address(), None);
    }

    #[test]
    fn a_certificate_is_for_a_server() {
        let certificate = ["--grpc-cert", "c.pem", "--grpc-key", "k.pem"];
        let is_taken = |server: &[&str]| Line::try_parse_from([&["run"], &certificate[..], server].concat()).is_ok();
        assert!(is_taken(&["--grpc"]));
        assert!(!is_taken(&[]));
        assert!(!is_taken(&["--thrift", "9090"]));
    }

    /// Without `--grpc` no client could use them.
    #[test]
    fn rights_are_for_a_server() {
        for right in [["--grant", "anyone=read"], ["--read-only-role", "viewer"]] {
            let is_taken = |server: &[&str]| Line::try_parse_from([&["run"], &right[..], server].concat()).is_ok();
            assert!(is_taken(&["--grpc"]));
            assert!(!is_taken(&[]));
        }
    }

    #[test]
    fn a_program_may_stand_where_the_address_is_left_out() {
        let options = options(&["run", "--grpc", "l3.p4"]);
        assert_eq!(options.address(), Some(Address::loopback(9559)));
        assert_eq!(options.program(None).unwrap(), Some(Path::new("l3.p4")));
        assert!(options.program(Some(Path::new("l2.p4"))).is_err());
        assert!(Line::try_parse_from(["run", "--grpc", "l3"]).is_err());
    }
}
