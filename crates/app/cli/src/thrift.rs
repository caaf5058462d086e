//! BMv2's control interface: of a switch that runs, and of one that is about to.

use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use forebay_daemon::QueueControl;
use forebay_ir::Calculation;
use forebay_p4runtime::{Code, Device, Error, Now};
use forebay_pipeline::{CrcParameters, Pipeline};
use forebay_protocol::p4::v1::{Entity, ForwardingPipelineConfig, Update};
use forebay_protocol::why_not_listening;
use forebay_server::{Address, Local};
use forebay_thrift::{
    About, Line, Load, Notifications, PortAbout, QueueChange, QueueLimit, Runtime, Serving, Switch, only_shows,
};
use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::num::NonZeroU64;
use std::sync::Arc;

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
    listener.map_err(|error| anyhow!("--thrift: cannot listen on {address}: {}", why_not_listening(&error)))
}

/// Serves a switch.
///
/// # Errors
/// When there can be no thread.
pub fn serve(
    listener: TcpListener,
    local: Local,
    queues: Arc<QueueControl>,
    notifications: Option<Arc<Notifications>>,
) -> Result<Serving> {
    let port = listener.local_addr().map_or(0, |address| address.port());
    if let Some(notifications) = &notifications {
        notifications
            .serve()
            .context("--notifications: cannot start a thread")?;
    }
    let switch = OfServer {
        local,
        queues,
        port,
        notifications,
    };
    forebay_thrift::serve(listener, switch).context("--thrift: cannot start a thread")
}

fn calculations(pipeline: Option<&Pipeline>) -> Vec<Calculation> {
    pipeline.map_or(Vec::new(), |pipeline| pipeline.program().calculations.clone())
}

fn digests(pipeline: Option<&Pipeline>) -> Vec<String> {
    let digests = pipeline.map(|pipeline| &pipeline.program().digests);
    digests
        .into_iter()
        .flatten()
        .map(|digest| digest.name.clone())
        .collect()
}

fn set_crc_parameters(pipeline: Option<&Pipeline>, name: &str, parameters: CrcParameters) -> Result<(), String> {
    let pipeline = pipeline.ok_or("no program runs")?;
    pipeline
        .set_crc_parameters(name, parameters)
        .map_err(|why| why.to_string())
}

/// Changes limits of queues.
fn limit_queues(queues: &QueueControl, change: QueueChange) -> Result<(), String> {
    let QueueChange { port, priority, limit } = change;
    let change = forebay_switch::QueueChange {
        port,
        queue: priority.map(|priority| priority as usize),
        limit: match limit {
            QueueLimit::Packets(packets) => forebay_switch::QueueLimit::Packets(packets as usize),
            QueueLimit::PacketsPerSecond(rate) => forebay_switch::QueueLimit::PacketsPerSecond(NonZeroU64::new(rate)),
        },
    };
    queues.set(change).map_err(|error| error.to_string())
}

/// A switch that runs.
struct OfServer {
    local: Local,
    queues: Arc<QueueControl>,
    port: u16,
    notifications: Option<Arc<Notifications>>,
}

impl Switch for OfServer {
    fn program_number(&self) -> u64 {
        self.local.program_number()
    }

    fn program(&self) -> Option<ForwardingPipelineConfig> {
        self.local.program()
    }

    fn load(&self, program: &[u8]) -> Result<Load<'_>, Error> {
        let compiled = self.local.compile(program.to_vec())?;
        Ok(Box::new(move || self.local.save(compiled)))
    }

    fn swap(&self) -> Result<(), Error> {
        self.local.commit()
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
            is_enabled: port.is_enabled,
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

    fn enable_port(&self, port: u32, is_enabled: bool) {
        self.local.enable_port(port, is_enabled);
    }

    fn limit_queues(&self, change: QueueChange) -> Result<(), String> {
        limit_queues(&self.queues, change)
    }

    fn calculations(&self) -> Vec<Calculation> {
        calculations(self.local.pipeline().as_deref())
    }

    fn set_crc_parameters(&self, calculation: &str, parameters: CrcParameters) -> Result<(), String> {
        set_crc_parameters(self.local.pipeline().as_deref(), calculation, parameters)
    }

    fn digests(&self) -> Vec<String> {
        digests(self.local.pipeline().as_deref())
    }

    fn notifications(&self) -> Option<&Notifications> {
        self.notifications.as_deref()
    }
}

fn not_running(what: &str) -> Error {
    Error {
        code: Code::FailedPrecondition,
        message: format!("the switch does not run yet: {what}"),
    }
}

/// A switch that is about to run.
struct OfDevice<'a> {
    device: RefCell<&'a mut Device>,
    queues: &'a QueueControl,
}

impl Switch for OfDevice<'_> {
    fn program_number(&self) -> u64 {
        self.device.borrow().program_number()
    }

    fn program(&self) -> Option<ForwardingPipelineConfig> {
        self.device.borrow().program().cloned()
    }

    fn load(&self, _: &[u8]) -> Result<Load<'_>, Error> {
        Err(not_running("name the program on its command line"))
    }

    fn swap(&self) -> Result<(), Error> {
        Err(not_running("there is one program"))
    }

    fn write(&self, updates: &[Update]) -> Result<(), Error> {
        self.device.borrow_mut().write_locally(updates, Now::default())
    }

    fn read(&self, wanted: &[Entity]) -> Result<Vec<Entity>, Error> {
        self.device.borrow().read_locally(wanted, Now::default())
    }

    fn about(&self) -> About {
        About {
            device_id: self.device.borrow().device_id(),
            ..About::default()
        }
    }

    /// It has no ports yet.
    fn enable_port(&self, _: u32, _: bool) {}

    fn limit_queues(&self, change: QueueChange) -> Result<(), String> {
        limit_queues(self.queues, change)
    }

    fn calculations(&self) -> Vec<Calculation> {
        calculations(self.device.borrow().pipeline().map(Arc::as_ref))
    }

    fn set_crc_parameters(&self, calculation: &str, parameters: CrcParameters) -> Result<(), String> {
        let device = self.device.borrow();
        set_crc_parameters(device.pipeline().map(Arc::as_ref), calculation, parameters)
    }

    fn digests(&self) -> Vec<String> {
        digests(self.device.borrow().pipeline().map(Arc::as_ref))
    }

    /// None: this switch does not run yet, so it has no subscribers.
    fn notifications(&self) -> Option<&Notifications> {
        None
    }
}

/// Does the commands of a file that configure a switch; those that only show something are passed over. An entry that
/// is there already stays as it is, with a warning, and commands about ports are passed over with one: files that were
/// tried with BMv2 have such lines. Returns what is wrong with the commands that cannot be done, with their numbers in
/// the file.
pub fn apply(file: &str, lines: &[Line], device: &mut Device, queues: &QueueControl) -> Vec<String> {
    let device = RefCell::new(device);
    let mut runtime = Runtime::new(OfDevice { device, queues });
    let commands = lines.iter().filter(|line| !only_shows(&line.text));
    commands
        .filter_map(|line| {
            if let Some(command @ ("port_add" | "port_remove")) = line.text.split_whitespace().next() {
                output::warning(&format!(
                    "{file}:{}: {command} is passed over; options of the command line give the ports",
                    line.number
                ));
                return None;
            }
            let failure = runtime.command(&line.text).err()?;
            let said = format!(
                "{file}:{}: {}",
                line.number,
                failure.to_string().replace('\n', "\n    ")
            );
            if failure.is_of_known_entry() {
                output::warning(&said);
                return None;
            }
            Some(said)
        })
        .collect()
}
