//! P4Runtime and gNMI beside a running switch.

use crate::error::Error;
use crate::gates::{Gates, present_info};
use crate::program_slot::ProgramSlot;
use crate::start::Start;
use forebay_p4runtime::{Keeper, Now, Settings};
use forebay_ports::Clock;
use forebay_server::{CpuPort, DigestSender, Environment, Learned, Link, Options, PortStatus, Running};
use forebay_switch::PortReport;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often it is asked what interfaces are: a change of their MTU is not announced.
const INTERFACES_LOOK: Duration = Duration::from_secs(1);

/// Gives up rights of the process that it does not need any more.
pub type Confine = Box<dyn FnOnce() -> Result<(), String> + Send + Sync>;

/// How a switch is served.
pub struct ServeOptions {
    /// Where and how to listen.
    pub server: Options,
    /// The settings that controllers can read.
    pub settings: Settings,
    /// The clock of the switch.
    pub clock: Clock,
    /// When the switch started, on this clock: earlier by [`Start::clock_ns`] for one that goes on.
    pub start_ns: u64,
    /// The ports that operators can disable.
    pub gates: Gates,
    /// Called once the server listens, before there are threads that serve.
    pub confine: Confine,
    /// Called with every digest: see [`Environment::learned`].
    pub learned: Option<Learned>,
    /// Called when another program is about to run. It must not block.
    pub replaced: Option<Replaced>,
}

/// Is told that another program is about to run: digests are its own from now on.
pub type Replaced = Box<dyn Fn() + Send + Sync>;

/// What stands between a switch and the server; made before the switch, since it is a port of it.
pub struct Join {
    /// The port of the controllers.
    pub port: CpuPort,
    /// Where the switch sends digests.
    pub digests: DigestSender,
    /// The server's end.
    pub link: Link,
}

impl Join {
    /// The port and the ways to the server.
    ///
    /// # Errors
    /// When the system gives no more descriptors.
    pub fn new() -> Result<Join, Error> {
        let joined = forebay_server::link();
        let (port, digests, link) =
            joined.map_err(|error| Error::Control(format!("cannot make the port of the controllers: {error}")))?;
        Ok(Join { port, digests, link })
    }
}

/// A server of P4Runtime and gNMI. Dropping it ends all connections.
pub struct ControlPlane {
    /// The server.
    pub server: Running,
    /// Ports that are interfaces, by number and name, and when they were looked at last.
    interfaces: Vec<(u32, String)>,
    looked: Mutex<Instant>,
}

impl ControlPlane {
    /// Tells the state of ports: controllers' groups depend on whether they are up, gNMI shows all of it. To be called
    /// several times a second.
    pub fn ports_seen(&self, ports: &[PortReport]) {
        for report in ports {
            let status = PortStatus {
                state: report.state,
                counters: report.counters,
            };
            self.server.port_seen(report.number, status);
        }
        self.look_at_interfaces();
    }

    /// Tells what interfaces are now, from time to time: one that was made again has another address.
    fn look_at_interfaces(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() < INTERFACES_LOOK {
            return;
        }
        *looked = Instant::now();
        let present = self.interfaces.iter();
        let present = present.filter_map(|(number, name)| present_info(*number, name));
        present.for_each(|info| self.server.port_described(info));
    }

    /// Keeps all of the state as it is now; for the end of a switch.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub fn keep_all(&self) -> Result<(), Error> {
        let kept = self.server.keep_all();
        kept.map_err(|problem| Error::State(format!("the state is not saved: {problem}")))
    }
}

/// Serves a switch, which has the same slot.
///
/// # Errors
/// When the address cannot be listened on, the certificates cannot be used, or the state cannot be kept.
pub fn serve(
    options: ServeOptions,
    link: Link,
    mut start: Start,
    slot: &Arc<ProgramSlot>,
) -> Result<ControlPlane, Error> {
    let ServeOptions {
        server,
        settings,
        clock,
        start_ns,
        mut gates,
        confine,
        learned,
        replaced,
    } = options;
    if let Some(keeper) = &mut start.keeper {
        keeper.clock = Some((clock, start_ns));
    }
    let device = start.device(settings)?;
    let (slot, installed) = (Arc::clone(slot), Arc::clone(slot));
    let ports = std::mem::take(&mut gates.ports);
    let interfaces = ports.iter().filter(|port| port.mac_address.is_some());
    let interfaces = interfaces.map(|port| (port.number, port.name.clone())).collect();
    let environment = Environment {
        now: Box::new(move || now(&clock, start_ns)),
        install: Box::new(move |pipeline| {
            slot.install(pipeline);
            replaced.iter().for_each(|replaced| replaced());
        }),
        wait_installed: Box::new(move || {
            // Workers that are late take the program over later; controllers are answered all the same.
            let _ = installed.wait();
        }),
        confine,
        keeper: start.keeper.map(|keeper| Box::new(keeper) as Box<dyn Keeper>),
        ports,
        enable_port: Box::new(move |port, is_enabled| gates.set(port, is_enabled)),
        learned,
    };
    let started = forebay_server::start(&server, device, link, environment);
    let server = started.map_err(|error| Error::Control(error.to_string()))?;
    Ok(ControlPlane {
        server,
        interfaces,
        looked: Mutex::new(Instant::now()),
    })
}

fn now(clock: &Clock, start_ns: u64) -> Now {
    let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Now {
        switch_ns: clock.now_ns().saturating_sub(start_ns),
        epoch_ns: epoch.map_or(0, |since| since.as_nanos() as i64),
    }
}
