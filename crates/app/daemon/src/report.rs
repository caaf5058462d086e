//! The reports of a running switch: counters on request, and events of its ports.

use forebay_histogram::Histogram;
use forebay_packet::PortError;
use forebay_pipeline::{LearningCounters, PathCounters, TableMemory};
use forebay_switch::{Counters, PortReport, Presence, QueueReport};
use std::fmt;

/// The counters of a running switch, all workers together.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Ports in order of their numbers.
    pub ports: Vec<PortReport>,
    /// The queues of each port, in order.
    pub queues: Vec<QueueReport>,
    /// Packets received, copied, sent, dropped.
    pub counters: Counters,
    /// Messages to the control plane.
    pub digests: u64,
    /// Messages to the control plane that were lost: there was no room, or their program was replaced on their way.
    pub digests_lost: u64,
    /// What tables need of memory.
    pub tables: Vec<TableMemory>,
    /// What became of entries that packets have added.
    pub learning: LearningCounters,
    /// How many packets took which path through the program.
    pub paths: PathCounters,
    /// How long packets were inside, in nanoseconds: from the beginning of the poll that receives them to its end.
    /// Packets that wait in a queue leave in a later poll; see `delays`.
    pub inside: Histogram,
    /// How long sampled packets were inside, in nanoseconds; none when packets are not timed: see
    /// [`crate::Daemon::sample_delays`].
    pub delays: Option<Histogram>,
}

impl Report {
    /// The report of both together.
    pub(crate) fn merge(mut self, other: &Report) -> Report {
        for port in &other.ports {
            match self.ports.binary_search_by_key(&port.number, |own| own.number) {
                Ok(place) => self.ports[place].merge(port),
                Err(place) => self.ports.insert(place, port.clone()),
            }
        }
        let key = |queue: &QueueReport| (queue.port, queue.queue);
        for queue in &other.queues {
            match self.queues.binary_search_by_key(&key(queue), key) {
                Ok(place) => self.queues[place].merge(queue),
                Err(place) => self.queues.insert(place, *queue),
            }
        }
        self.counters = self.counters + other.counters;
        self.digests += other.digests;
        self.digests_lost += other.digests_lost;
        self.paths += other.paths;
        self.inside.add(&other.inside);
        if let Some(delays) = &other.delays {
            self.delays.get_or_insert_default().add(delays);
        }
        self
    }
}

/// What has happened to a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It has failed, and is not used any more.
    Failed {
        /// The port.
        port: u32,
        /// Why.
        problem: String,
    },
    /// Its interface is gone.
    Gone {
        /// The port.
        port: u32,
        /// The interface.
        name: String,
    },
    /// Its interface is back.
    Back {
        /// The port.
        port: u32,
        /// The interface.
        name: String,
    },
}

impl Event {
    pub(crate) fn failed(port: u32, error: &PortError) -> Event {
        Event::Failed {
            port,
            problem: error.to_string(),
        }
    }

    pub(crate) fn presence(port: u32, name: &str, presence: Presence) -> Event {
        let name = name.to_string();
        match presence {
            Presence::Gone => Event::Gone { port, name },
            Presence::Back => Event::Back { port, name },
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Failed { port, problem } => write!(formatter, "port {port}: {problem}; it is not used any more"),
            Event::Gone { port, name } => write!(
                formatter,
                "port {port}: {name} is gone (deleted or moved away, or its queues, MTU or addresses have changed); the switch waits for it to come back"
            ),
            Event::Back { port, name } => write!(formatter, "port {port}: {name} is back"),
        }
    }
}
