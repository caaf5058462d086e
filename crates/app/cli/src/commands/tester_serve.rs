//! `forebay tester serve`: the tester as a service.

use super::Status;
use super::run::stop_on_signals;
use crate::control_plane;
use crate::entries::Entries;
use crate::output;
use crate::program::CompileOptions;
use anyhow::{Context, Result, anyhow, bail};
use forebay_otg::{Generator, Interfaces, Memory, Tls};
use forebay_pipeline::{FastPath, Options};
use forebay_server::Address;
use forebay_tester::device;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// Packets that a port in memory holds.
const QUEUE_PACKETS: usize = 4096;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);

/// Arguments of `forebay tester serve`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  forebay tester serve                                     locations of ports are interfaces: veth0, packet:eth1
  forebay tester serve --program l3fwd.p4 --entries e.stf  locations are ports of this program, in memory: 1, 2
Then, in Python: snappi.api(location=\"https://127.0.0.1:8443\", verify=False), or http://; with --cert, https:// only.
What is supported: docs/tester.md")]
pub struct Arguments {
    /// Where to listen: PORT, HOST:PORT, or :PORT for all interfaces
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    address: Address,
    /// The service's certificate (PEM); connections must be encrypted then. Without it they may be, with a certificate
    /// that is made at the start and that clients cannot verify
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The authority that certificates of clients must come from (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    client_ca: Option<PathBuf>,
    /// Test this program, between ports in memory
    #[arg(long, value_name = "FILE.p4")]
    program: Option<PathBuf>,
    /// Its entries; as for `forebay run`
    #[arg(long, value_name = "FILE", requires = "program")]
    entries: Option<PathBuf>,
    /// Do all commands of the entries' file that can be done; as for `forebay run`
    #[arg(long, requires = "entries")]
    keep_going: bool,
    /// A macro for it; may be repeated
    #[arg(short = 'D', value_name = "NAME[=VALUE]", requires = "program")]
    defines: Vec<String>,
}

/// Serves until a signal comes.
pub fn run(arguments: &Arguments) -> Result<Status> {
    let tls = tls(arguments)?;
    let Some(generator) = generator(arguments)? else {
        return Ok(Status::Bad);
    };
    let stop = stop_on_signals()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the service")?;
    runtime.block_on(async {
        let listener = listen(&arguments.address).await?;
        tell(arguments, listener.local_addr()?);
        let served = forebay_otg::serve(listener, tls, generator, stopped(stop)).await;
        served.map_err(|message| anyhow!(message))
    })?;
    Ok(Status::Good)
}

/// How connections are encrypted.
fn tls(arguments: &Arguments) -> Result<Tls> {
    let (Some(certificate), Some(key)) = (&arguments.cert, &arguments.key) else {
        return Tls::optional().map_err(|message| anyhow!("cannot make a certificate: {message}"));
    };
    control_plane::warn_of_open_key(key);
    let (certificate, key) = (forebay_files::bytes(certificate)?, forebay_files::bytes(key)?);
    let authority = arguments.client_ca.as_deref().map(forebay_files::bytes).transpose()?;
    let tls = Tls::required(&certificate, &key, authority.as_deref());
    tls.map_err(|message| anyhow!("the certificates cannot be used: {message}"))
}

async fn listen(address: &Address) -> Result<TcpListener> {
    let bound = match address {
        Address::Unix(_) => bail!("--address {address}: clients of this API reach HOST:PORT alone"),
        Address::Tcp { host: Some(host), port } => TcpListener::bind((host.as_str(), *port)).await,
        Address::Tcp { host: None, port } => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).await {
            // Also of a machine without IPv6.
            Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await,
            bound => bound,
        },
    };
    bound.with_context(|| format!("cannot listen on {address}"))
}

/// Says where the service is, and who may use it if these are others than the users of this machine.
fn tell(arguments: &Arguments, address: SocketAddr) {
    let encrypted = format!("https://{address}");
    let locations = match arguments.cert {
        None => format!("http://{address} or {encrypted}"),
        Some(_) => encrypted,
    };
    output::info(&format!("Open Traffic Generator API: {locations}"));
    if !address.ip().is_loopback() && arguments.client_ca.is_none() {
        output::warning("whoever reaches this address may send traffic: see --client-ca");
    }
}

/// Ends when the flag is set.
async fn stopped(stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

/// The generator; none when the program has errors, which have been printed.
fn generator(arguments: &Arguments) -> Result<Option<Generator>> {
    let started = match &arguments.program {
        None => Generator::new(Interfaces),
        Some(path) => {
            let entries = arguments.entries.as_deref();
            let entries = entries
                .map(|path| Entries::read(path, arguments.keep_going))
                .transpose()?;
            let needs_p4info = entries.as_ref().is_some_and(Entries::need_p4info);
            let options = CompileOptions {
                define: arguments.defines.clone(),
                ..CompileOptions::default()
            };
            let loading = Options {
                fast_path: FastPath::BeforePackets,
                ..Options::default()
            };
            let Some(mut start) = control_plane::load(Some(path), &options, loading, needs_p4info)? else {
                return Ok(None);
            };
            if let Some(entries) = &entries {
                entries.fill(&mut start)?;
            }
            let pipeline = start.pipeline;
            let make = move |numbers: &[u32]| Ok(device::program(pipeline.clone(), numbers, QUEUE_PACKETS, 0));
            Generator::new(Memory(make))
        }
    };
    started.map(Some).map_err(|message| anyhow!(message))
}
