//! What a user writes for a port: `PORT@INTERFACE`, as for BMv2, with kinds.
//!
//! ```text
//!   spec  = number "@" kind
//!   kind  = NAME | "xdp:" NAME [":" QUEUE] | "packet:" NAME | "tap:" NAME | "memif:" PATH {"," OPTION "=" VALUE}
//!         | "vhost:" PATH {"," OPTION "=" VALUE} | "dpdk:" DEVICE {"," ARGUMENT "=" VALUE}
//!         | "pcap:" [IN] "," [OUT] ["," ("paced" | "merged")] | "mem:" [NAME] | "loopback:" | "timer:" INTERVAL "," PACKETS
//! ```
//!
//! A bare name is an existing interface, opened the fastest way that it supports. In IN and OUT, `\,` is a comma of the
//! file's name. Parsing changes nothing: whether the interface or file exists is found out by [`open`](crate::open()).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use forebay_dpdk::DpdkOptions;

use crate::interfaces::similar;
use crate::interval;
use crate::memif::MemifOptions;
use crate::pcap_file::Pace;
use crate::vhost::VhostOptions;

/// The longest interface name Linux takes, in bytes (IFNAMSIZ less the closing zero).
const MAX_INTERFACE_NAME: usize = 15;

const KINDS: [&str; 11] = [
    "xdp", "packet", "shared", "tap", "memif", "vhost", "dpdk", "pcap", "mem", "loopback", "timer",
];

const KINDS_HELP: &str = "write NAME, xdp:NAME, packet:NAME or shared:NAME for an interface, tap:NAME, memif:PATH, vhost:PATH, dpdk:DEVICE, \
                          pcap:IN,OUT (either may be empty), mem:, loopback:, or timer:INTERVAL,PACKETS";

/// A comma in the name of a capture file.
const ESCAPED_COMMA: &str = "\\,";

/// A port as the user described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSpec {
    /// The number by which the P4 program knows it.
    pub number: u32,
    /// What it is.
    pub kind: PortKind,
}

/// What a port is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortKind {
    /// An existing interface, the fastest way that it supports.
    Interface {
        /// The interface's name.
        interface: String,
    },
    /// An existing interface, through AF_XDP sockets.
    Xdp {
        /// The interface's name.
        interface: String,
        /// Only this receive queue; all of them if none.
        queue: Option<u32>,
    },
    /// An existing interface, through a packet socket.
    Packet {
        /// The interface's name.
        interface: String,
        /// Whether other programs see what is sent, and what they send comes in.
        is_shared: bool,
    },
    /// A TAP device, made if it does not exist.
    Tap {
        /// The device's name.
        interface: String,
    },
    /// Memory shared with another process.
    Memif(MemifOptions),
    /// The network card of a virtual machine.
    Vhost(VhostOptions),
    /// A device of DPDK.
    Dpdk(DpdkOptions),
    /// Capture files.
    Pcap {
        /// The file that packets come from.
        input: Option<String>,
        /// The file that packets go to.
        output: Option<String>,
        /// How fast the input is read.
        pace: Pace,
    },
    /// A queue in this process.
    Memory {
        /// A name to know it by; may be empty.
        name: String,
    },
    /// What is sent comes back in.
    Loopback,
    /// A clock makes its packets.
    Timer {
        /// Nanoseconds from one to the next.
        interval_ns: u64,
        /// How many numbers they have.
        packets: u32,
    },
}

/// A port description that cannot be understood, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError {
    /// What the user wrote.
    pub text: String,
    /// The bytes of `text` at fault.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl PortSpec {
    /// Whether the port reads or writes this file.
    pub fn uses_file(&self, path: &Path) -> bool {
        let (input, output) = files(self);
        let path = path.to_string_lossy();
        input.into_iter().chain(output).any(|file| are_one_file(file, &path))
    }

    /// The existing interface that it stands on; none when it is of another kind.
    pub fn interface(&self) -> Option<&str> {
        match &self.kind {
            PortKind::Interface { interface }
            | PortKind::Xdp { interface, .. }
            | PortKind::Packet { interface, .. } => Some(interface),
            _ => None,
        }
    }
}

impl fmt::Display for SpecError {
    /// Three lines: the text, a marker under the place with the message, the help.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = |range: Range<usize>| self.text.get(range).map_or(0, |t| t.chars().count());
        let indent = columns(0..self.span.start);
        let width = columns(self.span.clone()).max(1);
        writeln!(formatter, "  {}", self.text.escape_debug())?;
        writeln!(formatter, "  {:indent$}{} {}", "", "^".repeat(width), self.message)?;
        write!(formatter, "  help: {}", self.help)
    }
}

impl std::error::Error for SpecError {}

/// A piece of the user's text that knows where it stands.
#[derive(Clone, Copy)]
struct Piece<'a> {
    whole: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Piece<'a> {
    fn text(self) -> &'a str {
        &self.whole[self.start..self.end]
    }

    /// The pieces before and after the first `separator`.
    fn split_once(self, separator: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let at = self.start + self.text().find(separator)?;
        let after = at + separator.len_utf8();
        Some((Piece { end: at, ..self }, Piece { start: after, ..self }))
    }

    /// The pieces before and after the first comma that no backslash makes part of a file's name.
    fn split_at_comma(self) -> Option<(Piece<'a>, Piece<'a>)> {
        let text = self.text();
        let mut commas = text.match_indices(',').map(|(at, _)| at);
        let at = self.start + commas.find(|at| !text[..*at].ends_with('\\'))?;
        Some((Piece { end: at, ..self }, Piece { start: at + 1, ..self }))
    }

    /// The name of a file; none when it is empty.
    fn file(self) -> Option<String> {
        Some(self.text().replace(ESCAPED_COMMA, ",")).filter(|name| !name.is_empty())
    }

    fn error(self, message: impl Into<String>, help: impl Into<String>) -> SpecError {
        SpecError {
            text: self.whole.to_owned(),
            span: self.start..self.end,
            message: message.into(),
            help: help.into(),
        }
    }
}

impl PortSpec {
    /// Reads one `PORT@INTERFACE`.
    ///
    /// # Errors
    /// With the place in the text when it is not of the module's form.
    pub fn parse(text: &str) -> Result<PortSpec, SpecError> {
        let whole = Piece {
            whole: text,
            start: 0,
            end: text.len(),
        };
        let (number, kind) = whole
            .split_once('@')
            .ok_or_else(|| whole.error("there is no `@`", "a port is PORT@INTERFACE, for example 0@veth0"))?;
        Ok(PortSpec {
            number: parse_number(number)?,
            kind: parse_kind(kind)?,
        })
    }

    /// Reads several and checks that no number, interface or output file is used twice.
    ///
    /// # Errors
    /// For the first that is wrong or repeats another.
    pub fn parse_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<PortSpec>, SpecError> {
        let mut specs: Vec<PortSpec> = Vec::new();
        for text in texts {
            let spec = PortSpec::parse(text)?;
            check_distinct(&specs, &spec, text)?;
            specs.push(spec);
        }
        Ok(specs)
    }
}

/// Refuses a port that shares its number or its device with an earlier one.
fn check_distinct(specs: &[PortSpec], new: &PortSpec, text: &str) -> Result<(), SpecError> {
    let at = text.find('@').unwrap_or(text.len());
    let number = Piece {
        whole: text,
        start: 0,
        end: at,
    };
    let kind = Piece {
        whole: text,
        start: (at + 1).min(text.len()),
        end: text.len(),
    };
    if specs.iter().any(|spec| spec.number == new.number) {
        let free = (0..)
            .find(|free| specs.iter().all(|spec| spec.number != *free))
            .unwrap_or(0);
        return Err(number.error(
            format!("port {} is given twice", new.number),
            format!("every port needs its own number; {free} is free"),
        ));
    }
    if let Some(device) = device(&new.kind)
        && let Some(other) = specs.iter().find(|spec| share_device(spec, new))
    {
        return Err(kind.error(
            format!("`{device}` already is port {}", other.number),
            "one interface or output file can serve only one port",
        ));
    }
    if let Some(file) = overwritten(specs, new) {
        return Err(kind.error(
            format!("`{file}` would be emptied before it is read"),
            "write to a file that no port reads",
        ));
    }
    Ok(())
}

/// A file of the new port that is to be read and written, by itself or by another port.
fn overwritten<'a>(specs: &'a [PortSpec], new: &'a PortSpec) -> Option<&'a str> {
    let (input, output) = files(new);
    specs.iter().chain([new]).map(files).find_map(|(read, written)| {
        let is_written = input.filter(|input| written.is_some_and(|written| are_one_file(input, written)));
        is_written.or(output.filter(|output| read.is_some_and(|read| are_one_file(read, output))))
    })
}

/// Whether two ports have one device, or write one file.
fn share_device(one: &PortSpec, other: &PortSpec) -> bool {
    match (files(one).1, files(other).1) {
        (Some(one), Some(other)) => are_one_file(one, other),
        _ => device(&one.kind).is_some_and(|device| self::device(&other.kind) == Some(device)),
    }
}

/// Whether two paths lead to one file, which may have several, or would if it were made.
fn are_one_file(one: &str, other: &str) -> bool {
    one == other || identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// The numbers of a file, or those of the folder in which it would be made, with its name.
fn identity(path: &str) -> Option<(u64, u64, Option<&OsStr>)> {
    if let Ok(found) = std::fs::metadata(path) {
        return found.is_file().then(|| (found.dev(), found.ino(), None));
    }
    let path = Path::new(path);
    let name = path.file_name()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::fs::metadata(folder.unwrap_or(Path::new("."))).ok()?;
    Some((folder.dev(), folder.ino(), Some(name)))
}

/// The files that a port reads and writes.
fn files(spec: &PortSpec) -> (Option<&str>, Option<&str>) {
    match &spec.kind {
        PortKind::Pcap { input, output, .. } => (input.as_deref(), output.as_deref()),
        _ => (None, None),
    }
}

/// What a port has for itself alone.
fn device(kind: &PortKind) -> Option<Cow<'_, str>> {
    match kind {
        PortKind::Interface { interface }
        | PortKind::Xdp { interface, .. }
        | PortKind::Packet { interface, .. }
        | PortKind::Tap { interface } => Some(interface.into()),
        PortKind::Memif(memif) => Some(format!("{},id={}", memif.path, memif.id).into()),
        PortKind::Vhost(vhost) => Some(vhost.path.as_str().into()),
        PortKind::Dpdk(dpdk) => Some(dpdk.name().into()),
        PortKind::Pcap { output, .. } => output.as_deref().map(Cow::from),
        PortKind::Memory { .. } | PortKind::Loopback | PortKind::Timer { .. } => None,
    }
}

fn parse_number(piece: Piece<'_>) -> Result<u32, SpecError> {
    let help = "the port number stands before the `@`, for example 0@veth0";
    let text = piece.text();
    if text.is_empty() {
        return Err(piece.error("the port number is missing", help));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(piece.error("not a port number", help));
    }
    let help = "a port number is at most 4294967295; most programs have 9 bits for it (0 to 511)";
    text.parse()
        .map_err(|_| piece.error("the port number is too large", help))
}

fn parse_kind(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let Some((kind, rest)) = piece.split_once(':') else {
        return parse_bare_name(piece);
    };
    match kind.text() {
        "xdp" => parse_xdp(rest),
        "packet" | "shared" => Ok(PortKind::Packet {
            interface: parse_interface(rest)?,
            is_shared: kind.text() == "shared",
        }),
        "tap" => Ok(PortKind::Tap {
            interface: parse_interface(rest)?,
        }),
        "memif" => parse_memif(rest),
        "vhost" => parse_vhost(rest),
        "dpdk" => parse_dpdk(rest),
        "pcap" => parse_pcap(rest),
        "mem" => Ok(PortKind::Memory {
            name: rest.text().to_owned(),
        }),
        "timer" => parse_timer(rest),
        "loopback" if rest.text().is_empty() => Ok(PortKind::Loopback),
        "loopback" => Err(rest.error("nothing may follow", "write loopback: alone")),
        unknown => Err(kind.error(
            format!("unknown kind of port `{unknown}`"),
            match similar(unknown, KINDS).first() {
                Some(near) => format!("did you mean `{near}:`? {KINDS_HELP}"),
                None => KINDS_HELP.to_owned(),
            },
        )),
    }
}

fn parse_bare_name(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    if piece.text().is_empty() {
        return Err(piece.error("the interface is missing", KINDS_HELP));
    }
    let interface = parse_interface(piece)?;
    // `loopback` without its colon is more likely a slip than an interface of that name.
    if matches!(interface.as_str(), "loopback" | "mem" | "pcap" | "timer") {
        let help = format!(
            "for this kind of port write `{interface}:`; for an interface of this \
                            name write packet:{interface}"
        );
        return Err(piece.error("a kind of port without its `:`", help));
    }
    Ok(PortKind::Interface { interface })
}

fn parse_xdp(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let (name, queue) = match piece.split_once(':') {
        None => (piece, None),
        Some((name, queue)) => {
            let help = "after the interface's name may stand the number of one receive queue, for example xdp:eth0:1";
            let number = queue.text().parse().ok();
            let number = number.filter(|_| queue.text().bytes().all(|byte| byte.is_ascii_digit()));
            (
                name,
                Some(number.ok_or_else(|| queue.error("not a queue number", help))?),
            )
        }
    };
    Ok(PortKind::Xdp {
        interface: parse_interface(name)?,
        queue,
    })
}

fn parse_interface(piece: Piece<'_>) -> Result<String, SpecError> {
    let name = piece.text();
    let help = format!(
        "an interface name has 1 to {MAX_INTERFACE_NAME} characters, no `/`, `:`, \
                        blanks or control characters"
    );
    let message = if name.is_empty() {
        "the interface name is missing"
    } else if name.len() > MAX_INTERFACE_NAME {
        "the interface name is too long"
    } else if name
        .chars()
        .any(|c| c == '/' || c == ':' || c.is_whitespace() || c.is_control())
        || matches!(name, "." | "..")
    {
        "not an interface name"
    } else {
        return Ok(name.to_owned());
    };
    Err(piece.error(message, help))
}

fn parse_memif(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let help = "write memif:PATH, for example memif:/run/memif.sock,role=client";
    let (path, rest) = parse_path(piece, help)?;
    let mut options = MemifOptions::new(path);
    parse_options(rest, |name, value| options.set(name, value))?;
    Ok(PortKind::Memif(options))
}

fn parse_vhost(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let help = "write vhost:PATH, for example vhost:/run/guest.sock,mode=client";
    let (path, rest) = parse_path(piece, help)?;
    let mut options = VhostOptions::new(path);
    parse_options(rest, |name, value| options.set(name, value))?;
    Ok(PortKind::Vhost(options))
}

fn parse_dpdk(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let help = "write dpdk:DEVICE, for example dpdk:net_tap0,iface=tap0 or dpdk:0000:3b:00.0,mtu=9000";
    let (device, rest) = split_option(piece);
    if device.text().is_empty() {
        return Err(device.error("the device is missing", help));
    }
    let mut options = DpdkOptions::new(device.text());
    parse_options(rest, |name, value| options.set(name, value))?;
    Ok(PortKind::Dpdk(options))
}

/// The path of a socket, and the options after it.
fn parse_path<'a>(piece: Piece<'a>, help: &str) -> Result<(&'a str, Option<Piece<'a>>), SpecError> {
    let (path, rest) = split_option(piece);
    match path.text() {
        "" => Err(path.error("the path of the socket is missing", help)),
        path => Ok((path, rest)),
    }
}

/// Options by name, each of which is `set`.
fn parse_options(
    mut rest: Option<Piece<'_>>,
    mut set: impl FnMut(&str, &str) -> Result<(), (&'static str, &'static str)>,
) -> Result<(), SpecError> {
    while let Some(piece) = rest {
        let option;
        (option, rest) = split_option(piece);
        let help = "options are NAME=VALUE with commas between them, for example queues=2";
        let (name, value) = option
            .split_once('=')
            .ok_or_else(|| option.error("not an option", help))?;
        set(name.text(), value.text()).map_err(|(message, help)| option.error(message, help))?;
    }
    Ok(())
}

/// The text before the first comma, and the text after it.
fn split_option(piece: Piece<'_>) -> (Piece<'_>, Option<Piece<'_>>) {
    match piece.split_once(',') {
        Some((first, rest)) => (first, Some(rest)),
        None => (piece, None),
    }
}

fn parse_pcap(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let help = "write pcap:IN,OUT; leave out what you do not need: pcap:IN, or pcap:,OUT";
    let (input, rest) = piece.split_at_comma().unwrap_or((
        piece,
        Piece {
            start: piece.end,
            ..piece
        },
    ));
    let (output, pace) = match rest.split_at_comma() {
        None => (rest, Pace::Fast),
        Some((output, pace)) if pace.text() == "paced" => (output, Pace::Recorded),
        Some((output, pace)) if pace.text() == "merged" => (output, Pace::Merged),
        Some((_, pace)) => {
            let help = "the only words that may follow the files are `paced` (read the input at the pace at which \
                        it was recorded) and `merged` (packets of all files so marked come in the order of their \
                        times); a comma in a file name is written `\\,`";
            return Err(pace.error("unknown option", help));
        }
    };
    match (input.file(), output.file()) {
        (None, None) => Err(piece.error("no file is named", help)),
        (input, output) => Ok(PortKind::Pcap { input, output, pace }),
    }
}

fn parse_timer(piece: Piece<'_>) -> Result<PortKind, SpecError> {
    let help = "write timer:INTERVAL,PACKETS, for example timer:10us,256: a packet each 10 us, numbered from 0 to 255";
    let (interval, packets) = piece
        .split_once(',')
        .ok_or_else(|| piece.error("the number of packets is missing", help))?;
    let interval_ns = interval::parse(interval.text());
    let packets_text = packets.text();
    Ok(PortKind::Timer {
        interval_ns: interval_ns
            .ok_or_else(|| interval.error("not an interval: a whole number of ns, us, ms or s", help))?,
        packets: packets_text
            .parse()
            .ok()
            .filter(|packets| *packets > 0)
            .ok_or_else(|| packets.error("not a number of packets", help))?,
    })
}

impl fmt::Display for PortSpec {
    /// In the form that [`PortSpec::parse`] reads, but for a memif's secret, which is not shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@", self.number)?;
        match &self.kind {
            PortKind::Interface { interface } => formatter.write_str(interface),
            PortKind::Xdp { interface, queue: None } => write!(formatter, "xdp:{interface}"),
            PortKind::Xdp {
                interface,
                queue: Some(queue),
            } => write!(formatter, "xdp:{interface}:{queue}"),
            PortKind::Packet { interface, is_shared } => {
                let kind = if *is_shared { "shared" } else { "packet" };
                write!(formatter, "{kind}:{interface}")
            }
            PortKind::Tap { interface } => write!(formatter, "tap:{interface}"),
            PortKind::Memif(memif) => write!(formatter, "memif:{memif}"),
            PortKind::Vhost(vhost) => write!(formatter, "vhost:{vhost}"),
            PortKind::Dpdk(dpdk) => write!(formatter, "dpdk:{dpdk}"),
            PortKind::Pcap { input, output, pace } => {
                let name = |file: &Option<String>| file.as_deref().unwrap_or_default().replace(',', ESCAPED_COMMA);
                write!(formatter, "pcap:{},{}", name(input), name(output))?;
                match pace {
                    Pace::Fast => Ok(()),
                    Pace::Recorded => formatter.write_str(",paced"),
                    Pace::Merged => formatter.write_str(",merged"),
                }
            }
            PortKind::Memory { name } => write!(formatter, "mem:{name}"),
            PortKind::Loopback => formatter.write_str("loopback:"),
            PortKind::Timer { interval_ns, packets } => {
                write!(formatter, "timer:{},{packets}", interval::text(*interval_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memif::MemifRole;
    use crate::vhost::VhostMode;
    use proptest::prelude::*;

    fn packet(interface: &str) -> PortKind {
        PortKind::Packet {
            interface: interface.to_owned(),
            is_shared: false,
        }
    }

    fn xdp(interface: &str, queue: Option<u32>) -> PortKind {
        PortKind::Xdp {
            interface: interface.to_owned(),
            queue,
        }
    }

    fn memif() -> PortKind {
        PortKind::Memif(MemifOptions {
            path: "@x".to_owned(),
            id: 3,
            role: MemifRole::Client,
            secret: String::new(),
            queues: 2,
            ring: 64,
            buffer: 4096,
        })
    }

    fn vhost() -> PortKind {
        PortKind::Vhost(VhostOptions {
            path: "a".to_owned(),
            mode: VhostMode::Client,
            queues: 4,
            packed: false,
            offload: false,
        })
    }

    #[test]
    fn every_form() {
        let pcap = |input: &str, output: &str, pace| PortKind::Pcap {
            input: Some(input.to_owned()).filter(|name| !name.is_empty()),
            output: Some(output.to_owned()).filter(|name| !name.is_empty()),
            pace,
        };
        for (text, number, kind) in [
            (
                "0@veth0",
                0,
                PortKind::Interface {
                    interface: "veth0".to_owned(),
                },
            ),
            ("1@xdp:veth1", 1, xdp("veth1", None)),
            ("1@xdp:veth1:7", 1, xdp("veth1", Some(7))),
            ("511@packet:eth0.100", 511, packet("eth0.100")),
            (
                "2@tap:p4tap",
                2,
                PortKind::Tap {
                    interface: "p4tap".to_owned(),
                },
            ),
            ("3@pcap:in.pcap,out.pcap", 3, pcap("in.pcap", "out.pcap", Pace::Fast)),
            ("3@pcap:in.pcap", 3, pcap("in.pcap", "", Pace::Fast)),
            ("3@pcap:,out.pcap", 3, pcap("", "out.pcap", Pace::Fast)),
            ("3@pcap:a,b,paced", 3, pcap("a", "b", Pace::Recorded)),
            ("3@pcap:a,b,merged", 3, pcap("a", "b", Pace::Merged)),
            (r"3@pcap:a\,1,b\,2,paced", 3, pcap("a,1", "b,2", Pace::Recorded)),
            (r"3@pcap:,\,b", 3, pcap("", ",b", Pace::Fast)),
            (
                "2@memif:/run/x.sock",
                2,
                PortKind::Memif(MemifOptions::new("/run/x.sock")),
            ),
            ("2@memif:@x,id=3,role=client,queues=2,ring=64,buffer=4096", 2, memif()),
            ("2@vhost:/run/a", 2, PortKind::Vhost(VhostOptions::new("/run/a"))),
            ("2@vhost:a,mode=client,queues=4,packed=off,offload=off", 2, vhost()),
            ("4@mem:", 4, PortKind::Memory { name: String::new() }),
            ("5@loopback:", 5, PortKind::Loopback),
            (
                "6@timer:10us,256",
                6,
                PortKind::Timer {
                    interval_ns: 10_000,
                    packets: 256,
                },
            ),
        ] {
            let spec = PortSpec { number, kind };
            assert_eq!(PortSpec::parse(text).as_ref(), Ok(&spec), "{text}");
            assert_eq!(PortSpec::parse(&spec.to_string()), Ok(spec), "{text} printed");
        }
    }

    /// Texts of ports are in logs and messages.
    #[test]
    fn a_secret_is_read_and_not_shown() {
        let spec = PortSpec::parse("2@memif:@x,id=3,secret=opensesame").expect("right");
        let PortKind::Memif(options) = &spec.kind else {
            panic!("{spec}")
        };
        assert_eq!(options.secret, "opensesame");
        assert_eq!(spec.to_string(), "2@memif:@x,id=3,secret=***");
        assert!(!format!("{spec:?}").contains("opensesame"), "{spec:?}");
    }

    #[test]
    fn every_error_points_at_its_place() {
        for (text, place, message) in [
            ("veth0", "veth0", "there is no `@`"),
            ("@veth0", "", "the port number is missing"),
            ("-1@veth0", "-1", "not a port number"),
            ("4294967296@veth0", "4294967296", "the port number is too large"),
            ("0@", "", "the interface is missing"),
            ("0@pakcet:veth0", "pakcet", "unknown kind of port `pakcet`"),
            ("0@xdp:veth0:+1", "+1", "not a queue number"),
            ("0@xdp::1", "", "the interface name is missing"),
            ("0@packet:", "", "the interface name is missing"),
            (
                "0@tap:averyveryverylongname",
                "averyveryverylongname",
                "the interface name is too long",
            ),
            ("0@veth 0", "veth 0", "not an interface name"),
            ("0@memif:", "", "the path of the socket is missing"),
            ("0@memif:x,role", "role", "not an option"),
            ("0@memif:x,id=0,role=boss", "role=boss", "not a role"),
            ("0@memif:x,rings=7", "rings=7", "unknown option"),
            ("0@memif:x,ring=100", "ring=100", "not the size of a ring"),
            ("0@vhost:a,queues=99", "queues=99", "not a number of queues"),
            ("0@vhost:a,packed=no", "packed=no", "neither on nor off"),
            ("0@pcap:", "", "no file is named"),
            ("0@pcap:a,b,quick", "quick", "unknown option"),
            ("0@loopback", "loopback", "a kind of port without its `:`"),
            ("0@loopback:x", "x", "nothing may follow"),
            ("0@timer:10us", "10us", "the number of packets is missing"),
            (
                "0@timer:10,256",
                "10",
                "not an interval: a whole number of ns, us, ms or s",
            ),
            ("0@timer:1ms,0", "0", "not a number of packets"),
        ] {
            let error = PortSpec::parse(text).expect_err(text);
            assert_eq!(&text[error.span.clone()], place, "{text}");
            assert_eq!(error.message, message, "{text}");
        }
    }

    #[test]
    fn an_error_in_print() {
        let error = PortSpec::parse("12@pakcet:veth0").expect_err("a slip");
        assert_eq!(
            error.to_string(),
            "  12@pakcet:veth0\n     ^^^^^^ unknown kind of port `pakcet`\n  help: did you mean \
             `packet:`? write NAME, xdp:NAME, packet:NAME or shared:NAME for an interface, tap:NAME, memif:PATH, vhost:PATH, dpdk:DEVICE, pcap:IN,OUT \
             (either may be empty), mem:, loopback:, or timer:INTERVAL,PACKETS"
        );
    }

    #[test]
    fn ports_must_be_distinct() {
        let error = PortSpec::parse_all(["0@a", "1@b", "1@c"]).expect_err("1 twice");
        assert_eq!(
            (error.span, error.help.as_str()),
            (0..1, "every port needs its own number; 2 is free")
        );
        let error = PortSpec::parse_all(["0@a", "1@packet:a"]).expect_err("a twice");
        assert_eq!(error.message, "`a` already is port 0");
        assert!(PortSpec::parse_all(["0@mem:", "1@mem:", "2@pcap:x", "3@pcap:x"]).is_ok());
        for ports in [
            ["0@mem:", "1@pcap:x,x"],
            ["0@pcap:x,a", "1@pcap:,x"],
            ["0@pcap:,x", "1@pcap:x"],
        ] {
            let error = PortSpec::parse_all(ports).expect_err("x is read and written");
            assert!(
                error.message.ends_with("would be emptied before it is read"),
                "{ports:?}"
            );
        }
    }

    #[test]
    fn a_file_is_not_read_and_written_by_other_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("capture"), "content").expect("it can be written");
        std::os::unix::fs::symlink(path("capture"), path("link")).expect("it can be made");
        std::fs::write(path("copy"), "content").expect("it can be written");
        let ports = |input: &str, output: &str| {
            let texts = [format!("1@pcap:{}", path(input)), format!("2@pcap:,{}", path(output))];
            PortSpec::parse_all(texts.iter().map(String::as_str))
        };
        for (input, output) in [("capture", "./capture"), ("link", "capture"), ("capture", "link")] {
            let error = ports(input, output).expect_err("it is one file");
            assert!(error.message.ends_with("would be emptied before it is read"), "{error}");
        }
        assert!(ports("capture", "copy").is_ok() && ports("capture", "new").is_ok());
        let spec = PortSpec::parse(&format!("1@pcap:{},{}", path("link"), path("new"))).expect("a port");
        for (name, is_used) in [("capture", true), ("./new", true), ("copy", false), ("newer", false)] {
            assert_eq!(spec.uses_file(Path::new(&path(name))), is_used, "{name}");
        }
    }

    #[test]
    fn two_ports_do_not_write_one_file_by_other_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let ports = |other: &str| {
            let texts = [format!("1@pcap:,{}", path("new")), format!("2@pcap:,{}", path(other))];
            PortSpec::parse_all(texts.iter().map(String::as_str))
        };
        let error = ports("./new").expect_err("it is one file");
        assert!(error.message.ends_with("already is port 1"), "{error}");
        assert!(ports("other").is_ok());
    }

    proptest! {
        #[test]
        fn no_text_panics_and_every_span_is_printable(text in "\\PC{0,40}") {
            if let Err(error) = PortSpec::parse(&text) {
                prop_assert!(text.get(error.span.clone()).is_some());
                prop_assert!(!error.to_string().is_empty());
            }
        }

        #[test]
        fn likely_texts_round_trip(text in "[0-9]{1,3}@(xdp:|packet:|tap:|memif:|vhost:|pcap:|mem:|loopback:|)[a-z0-9.,@:]{0,12}") {
            if let Ok(spec) = PortSpec::parse(&text) {
                prop_assert_eq!(PortSpec::parse(&spec.to_string()), Ok(spec));
            }
        }
    }
}
