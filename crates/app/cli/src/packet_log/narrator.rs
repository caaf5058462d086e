//! Steps of a packet as lines of BMv2's log.

use super::{Level, PacketLog, hex};
use forebay_bits::Bits;
use forebay_ir::{BodyKind, HeaderId, Location, Program, Role, TableId};
use forebay_pipeline::{Event, Pipeline, Tracer};
use forebay_trace::SourceLines;
use std::sync::Arc;

/// Writes a line for each step.
pub struct Narrator {
    log: PacketLog,
    pipeline: Arc<Pipeline>,
    source: SourceLines,
    /// The parser state that the packet is in.
    state: String,
    /// Whether the packet enters again.
    goes_round: bool,
}

impl Narrator {
    /// A narrator of a program.
    pub fn new(log: PacketLog, pipeline: Arc<Pipeline>) -> Narrator {
        Narrator {
            log,
            pipeline,
            source: SourceLines::default(),
            state: String::new(),
            goes_round: false,
        }
    }

    /// Another program runs.
    pub fn replace(&mut self, pipeline: Arc<Pipeline>) {
        self.pipeline = pipeline;
        self.source = SourceLines::default();
    }

    /// Whether what was decided last is that the packet enters again.
    pub fn goes_round(&self) -> bool {
        self.goes_round
    }

    /// The log.
    pub fn log(&self) -> &PacketLog {
        &self.log
    }

    fn debug(&self, text: std::fmt::Arguments<'_>) {
        self.log.packet_line(Level::Debug, text);
    }

    fn trace(&self, text: std::fmt::Arguments<'_>) {
        self.log.packet_line(Level::Trace, text);
    }

    fn enter(&self, body: &str, kind: BodyKind) {
        match kind {
            BodyKind::Action => self.trace(format_args!("Action {body}")),
            _ => {
                if let Some(stage) = stage(self.pipeline.program(), body) {
                    self.debug(format_args!("{stage}: start"));
                }
            }
        }
    }

    fn header(&self, header: HeaderId) -> &str {
        plain(&self.pipeline.program().headers[header.index()].name)
    }

    fn leave(&self, body: &str) {
        if let Some(stage) = stage(self.pipeline.program(), body) {
            self.debug(format_args!("{stage}: end"));
        }
    }

    fn lookup(&self, table: TableId, key: &[Bits], hit: Option<u64>, action: &str, args: &[Bits]) {
        let declared = &self.pipeline.program().tables[table.index()];
        let name = &declared.name;
        self.trace(format_args!("Applying table '{name}'"));
        if !self.log.takes(Level::Debug) {
            return;
        }
        let names = declared.keys.iter().map(|key| key.name.as_str());
        let fields = names
            .zip(key)
            .map(|(name, value)| format!("\n* {name:<20}: {}", digits(value)));
        self.debug(format_args!("Looking up key:{}", fields.collect::<String>()));
        match hit {
            Some(handle) => self.debug(format_args!("Table '{name}': hit with handle {handle}")),
            None => self.debug(format_args!("Table '{name}': miss")),
        }
        let data: String = args.iter().map(|arg| format!("{:x},", arg.to_biguint())).collect();
        self.debug(format_args!("Action entry is {action} - {data}"));
    }

    fn branch(&mut self, is_taken: bool, location: Location) {
        if !self.log.takes(Level::Trace) {
            return;
        }
        let program = self.pipeline.program();
        let text = match self.source.condition(program, location) {
            Some(condition) => bare(&condition.text).to_string(),
            None => self.source.statement(program, location).unwrap_or_default(),
        };
        let file = program.files.get(location.file as usize).map_or("", String::as_str);
        self.trace(format_args!(
            "{file}({}) Condition \"{text}\" is {is_taken}",
            location.line
        ));
    }

    /// What the architecture decided, which the pipeline says in words of its own.
    fn verdict(&self, text: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        match words.as_slice() {
            ["enqueue", "for", "port", port, ..] => {
                self.debug(format_args!("Egress port is {}", port.trim_end_matches(',')));
            }
            ["drop:", "ingress_drop"] => {
                self.debug(format_args!("Egress port is {}", forebay_pipeline::DROP_PORT));
                self.debug(format_args!("Dropping packet at the end of ingress"));
            }
            ["drop:", "egress_drop"] => self.debug(format_args!("Dropping packet at the end of egress")),
            ["transmit", bytes, "bytes", "on", "port", port] => {
                self.debug(format_args!("Transmitting packet of size {bytes} out of port {port}"));
            }
            ["multicast", ..] => {
                self.debug(format_args!("Multicast requested for packet"));
                self.trace(format_args!("{text}"));
            }
            ["clone", ..] => {
                self.debug(format_args!("Cloning packet"));
                self.trace(format_args!("{text}"));
            }
            ["resubmit"] => self.debug(format_args!("Resubmitting packet")),
            ["recirculate", ..] => self.debug(format_args!("Recirculating packet")),
            _ => self.debug(format_args!("{text}")),
        }
    }

    fn external(&self, name: &str, instance: &str, index: Option<u64>, value: Option<&Bits>) {
        let index = index.map_or(String::new(), |index| format!("[{index}]"));
        let value = value.map_or(String::new(), |value| format!(": {}", digits(value)));
        let dot = if instance.is_empty() { "" } else { " " };
        self.trace(format_args!("Primitive {name}{dot}{instance}{index}{value}"));
    }
}

impl Tracer for Narrator {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Enter { body, kind } => self.enter(body, kind),
            Event::ParserState { name, .. } => {
                self.state = name.to_string();
                self.debug(format_args!("Parser 'parser' entering state '{name}'"));
            }
            Event::Extract { header, .. } => self.debug(format_args!("Extracting header '{}'", self.header(header))),
            Event::Advance { bits, .. } => self.debug(format_args!("Advancing by {} bytes", bits / 8)),
            Event::Select { keys, .. } => {
                let key: String = keys.iter().map(digits).collect();
                self.debug(format_args!("Parser state '{}': key is {key}", self.state));
            }
            Event::Branch { taken, location } => self.branch(taken, location),
            Event::Lookup {
                table,
                key,
                hit,
                action,
                args,
                ..
            } => self.lookup(table, key, hit, action, args),
            Event::Assign { slot, new, .. } => {
                let name = &self.pipeline.program().slot(slot).name;
                if !name.contains('$') {
                    self.trace(format_args!("Primitive {} = {}", plain(name), digits(new)));
                }
            }
            Event::Extern {
                name,
                instance,
                index,
                value,
                ..
            } => self.external(name, instance, index, value),
            Event::Emit {
                header, valid: true, ..
            } => self.debug(format_args!("Deparsing header '{}'", self.header(header))),
            Event::Log { text, .. } => self.log.line(Level::Info, format_args!("{text}")),
            Event::AssertionFailed { text, .. } => {
                self.log.line(Level::Error, format_args!("Assertion failed: {text}"));
            }
            Event::ParserError { error, .. } => {
                self.log
                    .packet_line(Level::Error, format_args!("Exception while parsing: {error}"));
            }
            Event::Leave { body, .. } => self.leave(body),
            Event::Verdict { text } => {
                self.goes_round = text.starts_with("resubmit") || text.starts_with("recirculate");
                self.verdict(text);
            }
            _ => {}
        }
    }
}

/// What a body is to the architecture; nothing for actions and for checksum controls.
fn stage(program: &Program, body: &str) -> Option<&'static str> {
    let mut stages = program.stages.iter();
    let (role, _) = stages.find(|(_, id)| program.bodies[id.index()].name == body)?;
    Some(match role {
        Role::Parser => "Parser 'parser'",
        Role::IngressParser => "Parser 'ingress_parser'",
        Role::EgressParser => "Parser 'egress_parser'",
        Role::Ingress => "Pipeline 'ingress'",
        Role::Egress => "Pipeline 'egress'",
        Role::Deparser => "Deparser 'deparser'",
        Role::IngressDeparser => "Deparser 'ingress_deparser'",
        Role::EgressDeparser => "Deparser 'egress_deparser'",
        _ => return None,
    })
}

/// What stands between the parentheses of an `if`, which is what BMv2 says of it.
fn bare(condition: &str) -> &str {
    match condition.strip_prefix("if (") {
        Some(rest) => rest.strip_suffix(')').unwrap_or(rest),
        None => condition,
    }
}

/// A name without the name of the structure that everything is in: `hdr.ipv4.ttl` is `ipv4.ttl`.
fn plain(name: &str) -> &str {
    name.strip_prefix("hdr.").unwrap_or(name)
}

/// A value as hexadecimal digits, as many as its width has.
fn digits(value: &Bits) -> String {
    let bytes = value.to_biguint().to_bytes_be();
    let width = value.width().div_ceil(8) as usize;
    let mut padded = vec![0; width.saturating_sub(bytes.len())];
    padded.extend(&bytes[bytes.len().saturating_sub(width.max(1))..]);
    hex(&padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_said_without_their_keyword() {
        assert_eq!(bare("if (hdr.ipv4.isValid())"), "hdr.ipv4.isValid()");
        assert_eq!(bare("if (a == 1 || ..."), "a == 1 || ...");
        assert_eq!(bare("for (x in 1..3)"), "for (x in 1..3)");
    }
}
