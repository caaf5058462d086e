//! The ports of `forebay run`: opened, announced, with capture files of their traffic.

use crate::files;
use crate::output;
use anyhow::{Context, Result, bail};
use forebay_daemon::NumberedPort;
use forebay_packet::Port;
use forebay_packet::decorators::Capture;
use forebay_packet::pcap::{TimestampUnit, Writer};
use forebay_ports::{Merge, OpenOptions, PortSpec, PresentMeans};
use forebay_switch::{SharingConfig, Spread};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// As how many ports each is opened: one for each worker, so that all receive, unless one worker must see everything
/// that comes by a port. It must where flows are chosen by fields that only the program knows, and where a file has the
/// packets in their order.
pub fn shares(workers: &SharingConfig, captures: Captures<'_>) -> usize {
    match (&workers.spread, captures) {
        (Spread::FiveTuple, Captures::None) => workers.workers,
        _ => 1,
    }
}

/// Opens the ports, up to `shares` of each; also returns how each carries packets.
///
/// # Errors
/// When one cannot be opened, or its capture file cannot be written.
pub fn open(
    specs: &[PortSpec],
    shares: usize,
    options: &OpenOptions,
    captures: Captures<'_>,
    incomplete: &Incomplete,
) -> Result<(Vec<NumberedPort>, BTreeMap<u32, PresentMeans>)> {
    let (mut ports, mut means) = (Vec::new(), BTreeMap::new());
    let opened = forebay_ports::open_all(specs, shares, options, &Merge::default());
    let opened =
        opened.map_err(|(place, error)| anyhow::Error::new(error).context(format!("port {}", specs[place])))?;
    for opened in opened {
        let port = captured(opened.port, captures, opened.number, specs, incomplete)?;
        ports.push((opened.number, port));
        means.insert(opened.number, opened.means);
    }
    Ok((ports, means))
}

/// A line for each port that is an interface: which way was chosen to it, and why.
pub fn announce(means: &BTreeMap<u32, PresentMeans>) {
    for (number, means) in means.iter().map(|(number, means)| (number, means.now())) {
        if means.is_interface() {
            output::info(&format!("port {number}: {means}"));
        }
    }
}

/// What of the ports' traffic is written to files.
#[derive(Clone, Copy)]
pub enum Captures<'a> {
    /// Nothing.
    None,
    /// `portN.pcap` in this folder.
    ByPort(&'a Path),
    /// `INTERFACE_in.pcap` and `INTERFACE_out.pcap` in this folder.
    ByInterface(&'a Path),
}

/// Whether a capture file of the ports' traffic lacks packets, since it could not be written.
#[derive(Clone, Default)]
pub struct Incomplete(Arc<AtomicBool>);

impl Incomplete {
    /// What is called when this file has ended.
    fn on_end(&self, path: PathBuf) -> impl FnOnce(&io::Error) + Send + use<> {
        let is_incomplete = Arc::clone(&self.0);
        move |error: &io::Error| {
            is_incomplete.store(true, Ordering::Relaxed);
            output::warning(&format!(
                "--pcap: {} is incomplete, the port goes on: {error}",
                path.display()
            ));
        }
    }

    /// Looks whether all packets are in the files.
    ///
    /// # Errors
    /// When not.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("--pcap: not all packets are in the files")
        } else {
            Ok(())
        }
    }
}

/// The port with capture files of its traffic.
fn captured(
    port: Box<dyn Port>,
    captures: Captures<'_>,
    number: u32,
    specs: &[PortSpec],
    incomplete: &Incomplete,
) -> Result<Box<dyn Port>> {
    match captures {
        Captures::None => Ok(port),
        Captures::ByPort(folder) => {
            let (writer, path) = capture_file(folder, &format!("port{number}.pcap"), specs)?;
            Ok(Box::new(Capture::new(port, writer).or_end(incomplete.on_end(path))))
        }
        Captures::ByInterface(folder) => {
            let name = port.name().to_string();
            let (received, path) = capture_file(folder, &format!("{name}_in.pcap"), specs)?;
            let port = Capture::of_received(port, received).or_end(incomplete.on_end(path));
            let (sent, path) = capture_file(folder, &format!("{name}_out.pcap"), specs)?;
            Ok(Box::new(Capture::of_sent(port, sent).or_end(incomplete.on_end(path))))
        }
    }
}

/// Refuses to write a capture to a file that a port reads or writes.
///
/// # Errors
/// When a port does.
pub fn check_capture(path: &Path, specs: &[PortSpec]) -> Result<()> {
    if let Some(spec) = specs.iter().find(|spec| spec.uses_file(path)) {
        bail!("the capture {} would empty a file of port {spec}", path.display());
    }
    Ok(())
}

/// A capture file, with its path.
fn capture_file(folder: &Path, name: &str, specs: &[PortSpec]) -> Result<(Writer<BufWriter<File>>, PathBuf)> {
    files::make_folder(folder)?;
    let path = folder.join(name);
    check_capture(&path, specs)?;
    let file = File::create(&path).and_then(|file| Writer::new(BufWriter::new(file), TimestampUnit::Nanoseconds));
    let writer = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok((writer, path))
}
