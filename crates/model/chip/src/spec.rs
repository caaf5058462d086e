//! What a kind of chip is: sizes, rates and delays, read from TOML.
//!
//! A specification never changes during a simulation. The files in `chips/` say for each value where it comes from: see
//! [`Origin`].

use crate::bounds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A kind of chip. `bounds` has the possible values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChipSpec {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// Front-panel and internal ports.
    pub ports: Ports,
    /// What a frame takes on a wire.
    pub framing: Framing,
    /// Ingress and egress pipelines.
    pub pipelines: Pipelines,
    /// Between a port's input buffer and ingress, and between its queues and egress.
    pub parser: Parser,
    /// The latency of match-action stages, deparsers and traffic manager.
    pub latency: Latency,
    /// The packet buffer of the traffic manager.
    pub buffer: Buffer,
    /// Deficit weighted round robin.
    pub scheduler: Scheduler,
    /// The match-action stages that programs must fit, by the name for `forebay build --chip`; none when every program
    /// runs.
    #[serde(default)]
    pub stages: Option<String>,
    /// The origin of each value, by table and key; values without an origin in the file are left out.
    #[serde(default)]
    pub from: BTreeMap<String, BTreeMap<String, Origin>>,
    /// The values as they are written, by `table.key`.
    #[serde(skip)]
    values: BTreeMap<String, String>,
}

/// Where a value of a specification comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A standard, a publication or a data sheet gives it.
    Source(String),
    /// It was chosen so that the model agrees with these published values.
    Fitted(String),
    /// An assumption without a source, for this reason.
    Assumed(String),
}

/// A value of a specification that no source gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Constant {
    /// `table.key` of the specification.
    pub name: String,
    /// The value.
    pub value: String,
    /// What it was fitted to, or why it was assumed.
    pub because: String,
}

/// Ports, numbered from 0, each pipeline's together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// How many.
    pub count: u16,
    /// Bits a second of each, on the wire.
    pub bits_per_second: u64,
    /// The most that a scenario may give one of them, as a port of several channels has; 0: any rate. Their own when it
    /// is not there.
    #[serde(default)]
    pub max_bits_per_second: Option<u64>,
    /// Bytes that wait for the parser; what comes when it is full is lost.
    pub input_buffer_bytes: u64,
}

/// What a frame takes on a wire beside its bytes (IEEE 802.3 §3.1, §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Preamble and start frame delimiter.
    pub preamble_bytes: u32,
    /// Frame check sequence.
    pub check_sequence_bytes: u32,
    /// Gap between frames.
    pub gap_bytes: u32,
    /// The shortest frame without its check sequence; a shorter one takes as long.
    pub minimum_frame_bytes: u32,
}

/// Pipelines. Each serves an equal share of the ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipelines {
    /// How many.
    pub count: u16,
    /// Cycles a second of parsers and match-action stages. 0: none of them takes time.
    pub clock_hz: u64,
    /// Whether each has registers and meters of its own, which packets of the others do not see.
    #[serde(default)]
    pub own_registers: bool,
}

/// The parsers of a port, one before ingress and one before egress: each takes one state a cycle. See the `parse`
/// module for what a state is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parser {
    /// States that the chip's compiler adds before those of an ingress parser.
    pub added_states: u32,
    /// The same, of a program that resubmits packets.
    pub added_states_resubmit: u32,
    /// The same, of an egress parser.
    pub added_states_egress: u32,
    /// Bytes that a state takes into containers of all sizes.
    pub state_bytes: u32,
    /// Bytes that a state takes into containers of 32 bits alone.
    pub word_state_bytes: u32,
    /// Bytes of words on a packet's way for which there are containers of 32 bits.
    pub word_group_bytes: u32,
    /// Bytes that a state takes into the other containers.
    pub late_word_state_bytes: u32,
    /// Bytes of words that go into registers, or come from them, that a state takes.
    pub register_state_bytes: u32,
    /// Resubmitted packets that may wait; a further one is lost.
    pub resubmit_buffer_packets: u32,
    /// How often a packet may be resubmitted between two arrivals at a port; a further time it is lost. 0: without a
    /// limit.
    #[serde(default)]
    pub max_resubmissions: u32,
    /// Rows of a parser's TCAM; 0: as many as a program needs.
    #[serde(default)]
    pub tcam_rows: u32,
    /// Bytes of a packet that an egress parser can read; 0: all.
    #[serde(default)]
    pub max_egress_bytes: u32,
}

/// The time that a packet takes beside parsers, queues and wires. In cycles but for the last two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Cycles of the match-action stages of ingress or egress together, beside those of single stages.
    pub base_cycles: u32,
    /// Cycles of a stage that is matched by what an earlier stage writes, and of the first stage.
    pub match_cycles: u32,
    /// Further cycles of such a stage if it searches a TCAM.
    pub ternary_cycles: u32,
    /// Further cycles of such a stage if it accesses a register.
    pub register_cycles: u32,
    /// Cycles of a stage that computes with what an earlier stage writes.
    pub action_cycles: u32,
    /// Cycles of any other stage.
    pub concurrent_cycles: u32,
    /// The fewest cycles of all stages of egress together.
    pub egress_least_cycles: u32,
    /// Packets that stages and deparser hold at the same time; 0: any number. A pipeline whose latency is longer takes
    /// fewer packets a second.
    pub packets_inside: u32,
    /// Cycles that a packet is held beside those of the stages.
    pub inside_cycles: u32,
    /// From the stages of ingress to the queues: deparser, traffic manager.
    pub ingress_rest_ps: u64,
    /// From the stages of egress to the wire and back: deparser, ports.
    pub egress_rest_ps: u64,
}

/// The packet buffer that all queues share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Cells in the pool of all queues.
    pub cells: u64,
    /// What is allocated together.
    pub cell_bytes: u32,
    /// How many cells of the pool a queue may hold, in percent of those that are free: 400 is four times as many
    /// (Choudhury and Hahne, 1998). With 0 it may hold all.
    pub share_percent: u32,
    /// Cells of the pool that a queue may hold however few are free, as long as some are.
    #[serde(default)]
    pub base_cells: u64,
    /// Cells that each queue has beside the pool.
    pub queue_cells: u64,
}

/// How queues take turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Bytes a turn for each unit of a queue's weight.
    pub bytes_per_weight: u32,
    /// The largest weight; 0: any.
    #[serde(default)]
    pub max_weight: u32,
}

/// Why a text is no specification of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The line, from 1, when it is known.
    pub line: Option<usize>,
    /// What is wrong, and what would be right.
    pub message: String,
    /// What the line says.
    pub written: Option<String>,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.written {
            Some(written) if !written.is_empty() => write!(f, ": `{written}`"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}

/// Chips that are known by name.
const KNOWN: &[(&str, &str)] = &[
    ("tofino", include_str!("../chips/tofino.toml")),
    ("tofino-32", include_str!("../chips/tofino-32.toml")),
    ("tofino-a0", include_str!("../chips/tofino-a0.toml")),
    ("tofino2", include_str!("../chips/tofino2.toml")),
    ("v1model-ideal", include_str!("../chips/v1model-ideal.toml")),
];

impl ChipSpec {
    /// Reads a specification.
    ///
    /// # Errors
    /// When the text is no TOML, a key is missing or unknown, or a value is impossible.
    pub fn from_toml(text: &str) -> Result<ChipSpec, SpecError> {
        let wrong = |error: toml::de::Error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            SpecError {
                line,
                message: error.message().to_string(),
                written: line
                    .and_then(|line| text.lines().nth(line - 1))
                    .map(|line| line.trim().to_string()),
            }
        };
        let mut spec: ChipSpec = toml::from_str(text).map_err(wrong)?;
        spec.values = values(&toml::from_str(text).map_err(wrong)?);
        match bounds::problem(&spec).or_else(|| spec.origin_of_nothing()) {
            None => Ok(spec),
            Some(message) => Err(SpecError {
                line: None,
                message,
                written: None,
            }),
        }
    }

    /// The chip of this name.
    pub fn known(name: &str) -> Option<ChipSpec> {
        let text = KNOWN.iter().find(|(known, _)| *known == name)?.1;
        Some(ChipSpec::from_toml(text).expect("the chips that are built in are right"))
    }

    /// The names of chips that are built in.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// An origin that is given for no value, or that says nothing.
    fn origin_of_nothing(&self) -> Option<String> {
        let mut origins = self
            .from
            .iter()
            .flat_map(|(table, keys)| keys.iter().map(move |(key, origin)| (format!("{table}.{key}"), origin)));
        origins.find_map(|(name, origin)| {
            let (Origin::Source(words) | Origin::Fitted(words) | Origin::Assumed(words)) = origin;
            if !self.values.contains_key(&name) {
                return Some(format!("from.{name}: there is no value {name}"));
            }
            let is_empty = words.trim().is_empty();
            is_empty.then(|| format!("from.{name} is empty; it says where the value comes from"))
        })
    }

    /// The names of values without an origin in the specification.
    pub fn unsourced(&self) -> Vec<String> {
        let has_origin = |name: &str| {
            let (table, key) = name.split_once('.')?;
            self.from.get(table)?.get(key)
        };
        let names = self.values.keys().filter(|name| has_origin(name).is_none());
        names.cloned().collect()
    }

    /// Bytes that a frame takes on a wire.
    #[inline]
    pub fn wire_bytes(&self, frame_bytes: u32) -> u64 {
        self.framing.wire_bytes(frame_bytes)
    }

    /// This specification with the number `table.key` multiplied by `factor`, rounded to a whole one; none when there
    /// is no such number, or rounding leaves it as it is.
    pub fn scaled(&self, name: &str, factor: f64) -> Option<ChipSpec> {
        let (table, key) = name.split_once('.')?;
        let mut written = toml::Value::try_from(self).ok()?;
        let value = written.get_mut(table)?.get_mut(key)?;
        let before = value.as_integer()?;
        let after = (before as f64 * factor).round() as i64;
        *value = toml::Value::Integer(after);
        let mut scaled: ChipSpec = written.try_into().ok()?;
        scaled.values.clone_from(&self.values);
        scaled.values.insert(name.to_string(), after.to_string());
        (after != before && bounds::problem(&scaled).is_none()).then_some(scaled)
    }

    /// Values that were fitted to published results.
    pub fn fitted(&self) -> Vec<Constant> {
        self.constants(|origin| match origin {
            Origin::Fitted(to) => Some(to),
            _ => None,
        })
    }

    /// Values that were assumed.
    pub fn assumed(&self) -> Vec<Constant> {
        self.constants(|origin| match origin {
            Origin::Assumed(why) => Some(why),
            _ => None,
        })
    }

    fn constants(&self, chosen: impl Fn(&Origin) -> Option<&String>) -> Vec<Constant> {
        let entries = self.from.iter().flat_map(|(table, keys)| {
            let named = move |(key, origin)| (format!("{table}.{key}"), origin);
            keys.iter().map(named)
        });
        let constant = |(name, origin): (String, &Origin)| {
            let because = chosen(origin)?.clone();
            let value = self.values.get(&name).cloned().unwrap_or_default();
            Some(Constant { name, value, because })
        };
        entries.filter_map(constant).collect()
    }
}

/// The values of a specification's tables, by `table.key`; those about origins are not among them.
fn values(text: &toml::Table) -> BTreeMap<String, String> {
    let tables = text.iter().filter(|(name, _)| *name != "from");
    let tables = tables.filter_map(|(name, value)| Some((name, value.as_table()?)));
    tables
        .flat_map(|(name, table)| {
            let of_table = move |(key, value): (&String, &toml::Value)| (format!("{name}.{key}"), value.to_string());
            table.iter().map(of_table)
        })
        .collect()
}

impl Framing {
    /// Bytes that a frame takes on a wire.
    #[inline]
    pub fn wire_bytes(&self, frame_bytes: u32) -> u64 {
        let frame = u64::from(frame_bytes.max(self.minimum_frame_bytes));
        frame + u64::from(self.preamble_bytes + self.check_sequence_bytes + self.gap_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chips_that_are_built_in_can_be_read() {
        for name in ChipSpec::known_names() {
            assert_eq!(ChipSpec::known(name).map(|spec| spec.name).as_deref(), Some(name));
        }
        assert_eq!(ChipSpec::known("tofino9"), None);
    }

    #[test]
    fn every_value_of_a_chip_that_is_built_in_says_where_it_comes_from() {
        for name in ChipSpec::known_names() {
            let spec = ChipSpec::known(name).unwrap();
            for value in spec.values.keys() {
                let (table, key) = value.split_once('.').unwrap();
                let origin = spec.from.get(table).and_then(|keys| keys.get(key));
                let words = match origin {
                    Some(Origin::Source(words) | Origin::Fitted(words) | Origin::Assumed(words)) => words.as_str(),
                    None => "",
                };
                assert!(words.len() > 4, "{name}: {value} does not say where it comes from");
            }
        }
    }

    #[test]
    fn fitted_values_are_known_by_name() {
        let spec = ChipSpec::known("tofino").unwrap();
        let names: Vec<String> = spec.fitted().into_iter().map(|constant| constant.name).collect();
        let expected = [
            "latency.egress_rest_ps",
            "latency.ingress_rest_ps",
            "parser.register_state_bytes",
            "scheduler.bytes_per_weight",
        ];
        assert_eq!(names, expected);
        assert_eq!(spec.fitted()[2].value, "8");
        let wrong = KNOWN[0]
            .1
            .replace("[from.parser]", "[from.parser]\nstates = { source = \"none\" }");
        let said = ChipSpec::from_toml(&wrong).unwrap_err().message;
        assert!(said.contains("there is no value parser.states"), "{said}");
    }

    #[test]
    fn an_origin_says_something() {
        let text = KNOWN[0]
            .1
            .replacen("{ source = \"Wedge 100BF-65X\" }", "{ fitted = \" \" }", 1);
        let said = ChipSpec::from_toml(&text).unwrap_err().message;
        assert!(said.contains("from.pipelines.count is empty"), "{said}");
    }

    #[test]
    fn a_value_of_another_kind_is_shown_with_its_key() {
        for value in ["-1", "nan", "1e99"] {
            let text = KNOWN[0]
                .1
                .replacen("\ngap_bytes = 12", &format!("\ngap_bytes = {value}"), 1);
            let said = ChipSpec::from_toml(&text).unwrap_err().to_string();
            assert!(said.starts_with("line 20: "), "{said}");
            assert!(said.ends_with(&format!(": `gap_bytes = {value}`")), "{said}");
        }
    }

    #[test]
    fn one_value_is_scaled_and_all_others_stay() {
        let spec = ChipSpec::known("tofino").unwrap();
        let scaled = spec.scaled("parser.register_state_bytes", 1.1).unwrap();
        assert_eq!(scaled.parser.register_state_bytes, 9);
        let back = scaled.scaled("parser.register_state_bytes", 8.0 / 9.0).unwrap();
        assert_eq!(back, spec);
        assert_eq!(spec.scaled("parser.register_state_bytes", 1.01), None, "rounded to 8");
        assert_eq!(spec.scaled("parser.bytes", 1.1), None);
    }

    #[test]
    fn values_without_a_source_are_known_by_name() {
        assert_eq!(ChipSpec::known("tofino").unwrap().unsourced(), Vec::<String>::new());
        let text = KNOWN[0].1.replacen("tcam_rows = {", "# tcam_rows = {", 1);
        assert_eq!(ChipSpec::from_toml(&text).unwrap().unsourced(), ["parser.tcam_rows"]);
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let text = KNOWN[0].1.replacen("cell_bytes", "cel_bytes", 1);
        let error = ChipSpec::from_toml(&text).unwrap_err();
        assert!(
            error
                .line
                .is_some_and(|line| text.lines().nth(line - 1).is_some_and(|l| l.contains("cel_bytes")))
        );
        assert!(error.message.contains("cel_bytes"), "{error}");
    }

    #[test]
    fn a_frame_of_64_bytes_takes_88_on_the_wire_and_a_short_one_84() {
        let spec = ChipSpec::known("tofino").unwrap();
        assert_eq!(spec.wire_bytes(64), 88);
        assert_eq!(spec.wire_bytes(20), 84);
    }
}
