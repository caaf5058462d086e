//! BMv2's control interface: of a switch that runs, and of one that is about to.

use anyhow::{Context, Result, bail};
use forebay_p4runtime::{Device, Error, Now};
use forebay_protocol::p4::v1::{Entity, ForwardingPipelineConfig, Update};
use forebay_server::{Address, Local};
use forebay_thrift::{About, Line, PortAbout, Runtime, Serving, Switch, only_shows};
use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// Most mistakes that a message lists.
const LISTED_MAX: usize = 10;

/// Listens; to be called while the process still may.
///
/// # Errors
/// When the port is taken, or the address is none of the network's.
pub fn listen(address: &Address) -> Result<TcpListener> {
    let Address::Tcp { host, port } = address else {
        bail!("--thrift: clients of Thrift connect to HOST:PORT, not to {address}");
    };
    let host = host.as_deref().unwrap_or("0.0.0.0").trim_matches(['[', ']']);
    let addresses: Vec<SocketAddr> = (host, *port).to_socket_addrs().into_iter().flatten().collect();
    let listener = TcpListener::bind(&addresses[..]);
    listener.with_context(|| format!("--thrift: cannot listen on {address}"))
}

/// Serves a switch.
///
/// # Errors
/// When there can be no thread.
pub fn serve(listener: TcpListener, local: Local) -> Result<Serving> {
    let port = listener.local_addr().map_or(0, |address| address.port());
    forebay_thrift::serve(listener, OfServer { local, port }).context("--thrift: cannot start a thread")
}

/// A switch that runs.
struct OfServer {
    local: Local,
    port: u16,
}

impl Switch for OfServer {
    fn program_number(&self) -> u64 {
        self.local.program_number()
    }

    fn program(&self) -> Option<ForwardingPipelineConfig> {
        self.local.program()
    }

    fn write(&self, updates: &[Update]) -> Result<(), Error> {
        self.local.write(updates)
    }

    fn read(&self, wanted: &[Entity]) -> Result<Vec<Entity>, Error> {
        self.local.read(wanted)
    }

    fn about(&self) -> About {
        let ports = self.local.ports().into_iter().map(|port| PortAbout {
            number: port.info.number,
            name: port.info.name,
            is_up: port.is_up,
        });
        let now = self.local.now();
        About {
            device_id: self.local.device_id(),
            thrift_port: self.port,
            ports: ports.collect(),
            elapsed_us: now.switch_ns / 1_000,
            epoch_us: now.epoch_ns.max(0) as u64 / 1_000,
        }
    }
}

/// A switch that is about to run.
struct OfDevice<'a>(RefCell<&'a mut Device>);

impl Switch for OfDevice<'_> {
    fn program_number(&self) -> u64 {
        self.0.borrow().program_number()
    }

    fn program(&self) -> Option<ForwardingPipelineConfig> {
        self.0.borrow().program().cloned()
    }

    fn write(&self, updates: &[Update]) -> Result<(), Error> {
        self.0.borrow_mut().write_locally(updates, Now::default())
    }

    fn read(&self, wanted: &[Entity]) -> Result<Vec<Entity>, Error> {
        self.0.borrow().read_locally(wanted, Now::default())
    }

    fn about(&self) -> About {
        About {
            device_id: self.0.borrow().device_id(),
            ..About::default()
        }
    }
}

/// Does the commands of a file that configure a switch; those that only show something are passed over.
///
/// # Errors
/// All commands that cannot be done, a line each, with their numbers in the file.
pub fn apply(file: &str, lines: &[Line], device: &mut Device) -> Result<(), String> {
    let mut runtime = Runtime::new(OfDevice(RefCell::new(device)));
    let commands = lines.iter().filter(|line| !only_shows(&line.text));
    let mut mistakes: Vec<String> = commands
        .filter_map(|line| {
            let failure = runtime.command(&line.text).err()?.to_string();
            Some(format!("{file}:{}: {}", line.number, failure.replace('\n', "\n    ")))
        })
        .collect();
    if mistakes.is_empty() {
        return Ok(());
    }
    let more = mistakes.len().saturating_sub(LISTED_MAX);
    mistakes.truncate(LISTED_MAX);
    if more > 0 {
        mistakes.push(format!("and {more} more"));
    }
    let listed: String = mistakes.iter().map(|mistake| format!("\n  {mistake}")).collect();
    Err(format!("the commands do not suit the program{listed}"))
}
