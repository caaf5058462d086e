//! What `forebay run` writes of each packet: a log, or a capture with what became of it.

use crate::packet_capture::{CapturedPort, CapturingPoll, PacketFile};
use crate::packet_log::{Destination, LogOptions, LoggedPort, NarratedPoll, Narrator, PacketLog, Turns};
use crate::run_ports::Incomplete;
use anyhow::{Context, Result, bail};
use forebay_daemon::{Daemon, NumberedPort};
use forebay_packet::Port;
use forebay_pipeline::Pipeline;
use forebay_switch::SharingConfig;
use std::path::Path;
use std::sync::Arc;

/// What is written of each packet.
pub struct Records {
    log: Option<PacketLog>,
    capture: Option<PacketFile>,
    /// Of the capture files of single ports.
    pub incomplete: Incomplete,
}

impl Records {
    /// Opens the files, before rights are given up by which they may be made.
    ///
    /// # Errors
    /// When there are several workers, or a file cannot be made.
    pub fn open(log: Option<&LogOptions>, capture: Option<&Path>, workers: &SharingConfig) -> Result<Records> {
        let log = log.map(|options| packet_log(options, workers));
        let log = log.transpose()?;
        if capture.is_some() && (workers.workers > 1 || log.is_some()) {
            bail!("--capture is for one worker, and without a log of packets");
        }
        let capture = capture.map(|path| {
            let file = PacketFile::create(path);
            file.with_context(|| format!("cannot write {}", path.display()))
        });
        let capture = capture.transpose()?;
        Ok(Records {
            log,
            capture,
            incomplete: Incomplete::default(),
        })
    }

    /// The ports, recorded, and polled by what writes down what becomes of packets.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn of_ports(
        &self,
        mut ports: Vec<NumberedPort>,
        daemon: &mut Daemon,
        pipeline: &Arc<Pipeline>,
    ) -> Result<Vec<NumberedPort>> {
        if let Some(log) = &self.log {
            let turns = Turns::new(ports.len());
            ports = logged(ports, log, &turns);
            let narrator = Narrator::new(log.clone(), Arc::clone(pipeline));
            daemon.poll_by(Box::new(NarratedPoll::new(narrator, turns)));
        }
        if let Some(file) = &self.capture {
            let turns = Turns::new(ports.len());
            ports = captured_in(file, ports, &turns)?;
            daemon.poll_by(Box::new(CapturingPoll::new(file.clone(), turns, Arc::clone(pipeline))));
        }
        Ok(ports)
    }

    /// Looks whether all packets are in the files.
    ///
    /// # Errors
    /// When not.
    pub fn check(&self) -> Result<()> {
        self.incomplete.check()?;
        match &self.capture {
            Some(file) if !file.is_complete() => bail!("--capture: not all packets are in the file"),
            _ => Ok(()),
        }
    }
}

/// Opens the log of packets. Its lines are in order for one worker only.
fn packet_log(options: &LogOptions, workers: &SharingConfig) -> Result<PacketLog> {
    if workers.workers > 1 {
        bail!("packets are logged with one worker only");
    }
    PacketLog::open(options).with_context(|| match &options.destination {
        Destination::File(file) => format!("cannot write the log {}", file.path.display()),
        Destination::Console => "cannot write the log".to_string(),
    })
}

/// The ports, logged.
fn logged(ports: Vec<NumberedPort>, log: &PacketLog, turns: &Turns) -> Vec<NumberedPort> {
    let logged = |(place, (number, port)): (usize, NumberedPort)| {
        let port = LoggedPort::new(port, number, log.clone(), turns.clone(), place);
        (number, Box::new(port) as Box<dyn Port>)
    };
    ports.into_iter().enumerate().map(logged).collect()
}

/// The ports, captured in one file.
fn captured_in(file: &PacketFile, ports: Vec<NumberedPort>, turns: &Turns) -> Result<Vec<NumberedPort>> {
    let captured = |(place, (number, port)): (usize, NumberedPort)| -> Result<NumberedPort> {
        let port = CapturedPort::new(port, number, file, (turns, place))?;
        Ok((number, Box::new(port) as Box<dyn Port>))
    };
    ports.into_iter().enumerate().map(captured).collect()
}
