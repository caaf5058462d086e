//! What the tester is connected with: ports, and what is behind them.
//!
//! | device | ports | time | what is behind |
//! |---|---|---|---|
//! | [mod@wire] | memory | real | nothing: the self test |
//! | [mod@program], [chain] | memory | real | a switch with a P4 program, polled by the tester's thread; several of them |
//! | [mod@slow] | memory | modelled | a switch of known capacity, for tests of searches |
//! | [mod@interfaces] | AF_XDP, AF_PACKET, TAP | real | anything; of a switch that serves its [mod@metrics] why it drops packets is known |
//! | [mod@chip] | memory | simulated | a chip of the timed model |

mod chip;
mod interfaces;
mod metrics;
mod program;
mod slow;
mod wire;

pub use chip::{chip, line_rate};
pub(crate) use interfaces::too_long;
pub use interfaces::{frames_fit, interface_exists, interfaces, wait_for_links};
pub use program::{chain, program};
pub use slow::{Processor, slow};
pub use wire::{end_of, pairs_of, wire};

use crate::impairment::{Impaired, Impairment, Injected, SharedHeld, SharedInjected};
use forebay_chip::Framing;
use forebay_packet::{MemoryPort, Port, PortState, Readiness};
use forebay_sim::Recording;
use std::sync::PoisonError;

/// A port of the tester.
pub struct DevicePort {
    /// The number by which traffic names it.
    pub number: u32,
    /// The port: what is sent by it enters the device.
    pub port: Box<dyn Port>,
    injected: Option<SharedInjected>,
    held: Option<SharedHeld>,
    /// Whether it was seen with a link.
    had_link: bool,
}

/// What the wires of a device's ports take, where the device knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineRate {
    /// Bits a second.
    pub bits_per_second: u64,
    /// What a frame takes on the wire.
    pub framing: Framing,
}

/// What is behind the ports, when it is in the tester's process.
pub trait Inside {
    /// Moves packets on.
    fn work(&mut self, now_ns: u64);

    /// The next time at which something happens inside, in simulated time. None when nothing will.
    fn next_ns(&self) -> Option<u64> {
        None
    }

    /// Packets that were dropped so far, by reason.
    fn drops(&self) -> Vec<(String, u64)>;

    /// Packets inside now, where they are counted.
    fn waiting(&self) -> Option<u64> {
        None
    }

    /// Keeps from now on what happens to single packets inside, where that is known.
    fn record(&mut self) {}

    /// What was kept; nothing more is kept.
    fn take_recording(&mut self) -> Option<Recording> {
        None
    }
}

/// What the tester measures.
pub struct Device {
    /// What it is, in a few words.
    pub description: String,
    /// Its ports.
    pub ports: Vec<DevicePort>,
    /// Whether its time is simulated.
    pub is_simulated: bool,
    /// What each of its ports takes; none when that is not known.
    pub line_rate: Option<LineRate>,
    inside: Option<Box<dyn Inside>>,
}

impl Device {
    fn new(
        description: impl Into<String>,
        ports: Vec<(u32, Box<dyn Port>)>,
        inside: Option<Box<dyn Inside>>,
    ) -> Device {
        let ports = ports.into_iter().map(|(number, port)| DevicePort {
            number,
            port,
            injected: None,
            held: None,
            had_link: false,
        });
        Device {
            description: description.into(),
            ports: ports.collect(),
            is_simulated: false,
            line_rate: None,
            inside,
        }
    }

    /// The same device with a clock that stands still unless something happens: results depend on the seed alone.
    #[must_use]
    pub fn in_simulated_time(mut self) -> Device {
        self.is_simulated = true;
        self
    }

    /// Ports that have no link now, and had one before.
    pub(crate) fn without_link(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        for own in &mut self.ports {
            match own.port.state() {
                PortState::Up => own.had_link = true,
                PortState::Down | PortState::Gone if own.had_link => found.push(own.number),
                PortState::Down | PortState::Gone | PortState::Finished => {}
            }
        }
        found
    }

    /// Impairs what comes back by a port.
    pub fn impair(&mut self, number: u32, impairment: Impairment, seed: u64) {
        let Some(at) = self.ports.iter().position(|port| port.number == number) else {
            return;
        };
        let DevicePort { port, had_link, .. } = self.ports.remove(at);
        let port = Impaired::new(port, impairment, seed);
        let (injected, held) = (Some(port.injected()), Some(port.held()));
        let port = DevicePort {
            number,
            port: Box::new(port),
            injected,
            held,
            had_link,
        };
        self.ports.insert(at, port);
    }

    /// Moves packets inside the device on.
    #[inline]
    pub fn work(&mut self, now_ns: impl FnOnce() -> u64) {
        if let Some(inside) = &mut self.inside {
            inside.work(now_ns());
        }
    }

    /// Takes the reasons for which packets are dropped from the switch with metrics at `HOST:PORT`.
    ///
    /// # Errors
    /// When they cannot be read, in words.
    pub fn ask_for_drops(&mut self, address: &str) -> Result<(), String> {
        self.inside = Some(Box::new(metrics::SwitchMetrics::open(address)?));
        Ok(())
    }

    /// Packets that it dropped so far, by reason.
    pub fn drops(&self) -> Vec<(String, u64)> {
        self.inside.as_ref().map(|inside| inside.drops()).unwrap_or_default()
    }

    /// Whether the reasons of its drops are known.
    pub(crate) fn counts_drops(&self) -> bool {
        self.inside.is_some()
    }

    /// Packets inside now, where the device counts them.
    pub fn waiting(&self) -> Option<u64> {
        self.inside.as_ref()?.waiting()
    }

    /// Keeps from now on what happens to single packets inside, where the device knows it: a chip.
    pub fn record(&mut self) {
        if let Some(inside) = &mut self.inside {
            inside.record();
        }
    }

    /// What was kept; nothing more is kept.
    pub fn take_recording(&mut self) -> Option<Recording> {
        self.inside.as_mut()?.take_recording()
    }

    /// What was done to frames on purpose.
    pub fn injected(&self) -> Injected {
        let all = self.ports.iter().filter_map(|port| port.injected.as_ref());
        all.fold(Injected::default(), |sum, injected| {
            sum.plus(*injected.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// Loses the frames that still wait for others to pass: those of the next trial are none of theirs.
    pub fn lose_held(&mut self) {
        for held in self.ports.iter().filter_map(|port| port.held.as_ref()) {
            held.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// The next time at which something happens in it.
    pub fn next_ns(&self) -> Option<u64> {
        let of_port = |port: &DevicePort| match port.port.readiness() {
            Readiness::Now => Some(0),
            Readiness::At(time_ns) => Some(time_ns),
            _ => None,
        };
        let ports = self.ports.iter().filter_map(of_port);
        ports
            .chain(self.inside.as_ref().and_then(|inside| inside.next_ns()))
            .min()
    }
}

/// Ports of the tester with their numbers.
type NumberedPorts = Vec<(u32, Box<dyn Port>)>;

/// Ports in memory with these numbers: the tester's ends, and the device's.
fn memory_ports(numbers: &[u32], queue_packets: usize) -> (NumberedPorts, Vec<(u32, MemoryPort)>) {
    let pair = |number: &u32| {
        let (outside, inside) = MemoryPort::pair(&format!("port {number}"), &format!("device {number}"), queue_packets);
        ((*number, Box::new(outside) as Box<dyn Port>), (*number, inside))
    };
    numbers.iter().map(pair).unzip()
}
