//! What a user says about the switch around a program: workers, queues, random numbers.

use anyhow::{Context, Result, bail};
use forebay_daemon::{QUEUE_DEPTH_MAX, QueueControl};
use forebay_pipeline::Pipeline;
use forebay_ports::Clock;
use forebay_switch::{Config, QUEUES_MAX, QueueChange, QueueLimit, Service, SharingConfig, Spread};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The most workers.
const WORKERS_MAX: u64 = 64;

/// Workers, queues, random numbers.
#[derive(clap::Args)]
pub struct SwitchOptions {
    /// Threads that process packets, each on a processor of its own if there are enough
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=WORKERS_MAX))]
    workers: u64,
    /// Header fields that make a flow, whose packets go to one worker; without it addresses, protocol and ports
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    rss: Vec<String>,
    /// Queues of each port, one for each value of standard_metadata.priority from 0 on
    /// [default: 8, or one for each weight]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=QUEUES_MAX as u64))]
    queues: Option<u64>,
    /// For each queue, from priority 0 on, its share of the port by bytes, or `strict` to go before those with shares
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',', value_parser = service)]
    queue_weights: Vec<Service>,
    /// Packets that a queue holds
    #[arg(long, value_name = "PACKETS", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=QUEUE_DEPTH_MAX as u64))]
    queue_depth: u64,
    /// Packets a second that a queue sends at most [default: as many as its port takes]
    #[arg(long, value_name = "PACKETS")]
    queue_rate: Option<NonZeroU64>,
    /// Begin the program's random numbers with this one: with one worker the same packets then get the same numbers, in
    /// any engine
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn service(text: &str) -> Result<Service, String> {
    match (text, text.parse::<u32>()) {
        ("strict", _) => Ok(Service::Strict),
        (_, Ok(weight @ 1..=1000)) => Ok(Service::Weight(weight)),
        _ => Err("expected a weight from 1 to 1000, or `strict`".to_string()),
    }
}

impl SwitchOptions {
    /// The configuration of each worker's switch. Without weights all queues are strict.
    ///
    /// # Errors
    /// When there are weights, but not one for each queue.
    pub fn config(&self, clock: &Clock) -> Result<Config> {
        let queues = self.queues()?;
        let mut queue_service = [Service::Strict; QUEUES_MAX];
        for (service, given) in queue_service.iter_mut().zip(&self.queue_weights) {
            *service = *given;
        }
        Ok(Config {
            start_ns: clock.now_ns(),
            random_seed: self.seed.unwrap_or_else(|| clock.now_ns()),
            queues,
            queue_service,
            queue_capacity: self.queue_depth as usize,
            ..Config::default()
        })
    }

    /// Limits of queues that may be changed while the switch runs, with the rate that was given.
    ///
    /// # Errors
    /// As those of [`SwitchOptions::config`].
    pub fn queue_control(&self) -> Result<Arc<QueueControl>> {
        let control = QueueControl::new(self.queues()?, self.workers as usize);
        if self.queue_rate.is_some() {
            control.set(QueueChange {
                port: None,
                queue: None,
                limit: QueueLimit::PacketsPerSecond(self.queue_rate),
            })?;
        }
        Ok(control)
    }

    /// The number of queues of a port: the requested number, otherwise the number of weights, otherwise all.
    fn queues(&self) -> Result<usize> {
        let weights = self.queue_weights.len();
        let queues = match (self.queues, weights) {
            (Some(queues), _) => queues as usize,
            (None, 0) => QUEUES_MAX,
            (None, weights) => weights,
        };
        if queues > QUEUES_MAX {
            bail!("--queue-weights has {weights} values; a port has at most {QUEUES_MAX} queues");
        }
        if weights > 0 && weights != queues {
            bail!(
                "--queues {queues} and --queue-weights with {weights} value{}: give a weight or `strict` for each queue, \
                 from priority 0 on",
                if weights == 1 { "" } else { "s" },
            );
        }
        Ok(queues)
    }

    /// Threads that process packets.
    pub fn worker_count(&self) -> u32 {
        self.workers as u32
    }

    /// How ports are shared between workers.
    pub fn workers(&self, pipeline: &Pipeline) -> Result<SharingConfig> {
        let spread = if self.rss.is_empty() {
            Spread::FiveTuple
        } else {
            Spread::Fields(pipeline.flow_key(&self.rss).context("--rss")?)
        };
        Ok(SharingConfig {
            workers: self.workers as usize,
            spread,
            ..SharingConfig::default()
        })
    }
}
