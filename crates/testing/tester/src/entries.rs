//! Traffic from installed entries: for each entry of a table a frame that hits it.
//!
//! The reference executor traces a frame of the stream once, which says where in it each header is. Key fields that are
//! fields of those headers are set to what an entry matches; IPv4, UDP and TCP checksums are computed again. Then the
//! frame is traced: only frames whose look-up in the table really found their entry become flows. Keys that are no
//! header fields (the ingress port, metadata) are left to the program; entries that frames of this kind cannot hit are
//! counted.

use forebay_bits::{Bits, read_bits, write_bits};
use forebay_ir::{EntryMatch, Expr, Program, SlotId, SlotKind, Table, TableId};
use forebay_packet::SplitMix64;
use forebay_packet::checksum::{Sum, internet_checksum};
use forebay_packet::{Burst, MemoryPort, Port};
use forebay_pipeline::{Entry, Event, Pipeline, Tracer};
use forebay_switch::{Config, Switch};
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Polls in which a frame passes a program.
const POLLS: u32 = 64;

/// Keys that are tried for a hit.
const HIT_TRIES: usize = 16;

/// Random keys that are tried for a miss.
const MISS_TRIES: usize = 1000;

/// Flows that hit no entry, when there are any.
const MISSES_MIN: usize = 16;
const MISSES_MAX: usize = 1 << 16;

/// Frames that hit entries, and frames that hit none.
pub struct EntryFrames {
    /// A frame for each entry that can be hit, then frames that miss.
    pub frames: Vec<Vec<u8>>,
    /// How many of them hit an entry.
    pub hits: usize,
    /// Entries that no frame of this kind hits.
    pub unreachable: usize,
}

/// Frames for the entries of a table, made of a frame that comes by a port. `misses` is the share of frames that hit
/// none.
///
/// # Errors
/// When there is no such table, it has no entries, or none of them can be hit, in words.
pub fn frames(
    pipeline: &Arc<Pipeline>,
    port: u32,
    base: &[u8],
    table: &str,
    misses: f64,
    seed: u64,
) -> Result<EntryFrames, String> {
    let mut bench = Bench::new(pipeline.clone(), port);
    let id = find_table(pipeline.program(), table)?;
    let declared = &pipeline.program().tables[id.index()];
    let entries = pipeline.entries(&declared.name).map_err(|error| error.to_string())?;
    if entries.is_empty() {
        return Err(format!("table {table} has no entries"));
    }
    let places = bench.trace(base, id).places;
    let settable = settable(declared, &places);
    let mut found = EntryFrames {
        frames: Vec::new(),
        hits: 0,
        unreachable: 0,
    };
    let mut random = SplitMix64::new(seed);
    for entry in &entries {
        match bench.hit(base, id, &settable, entry, &mut random) {
            Some(frame) => found.frames.push(frame),
            None => found.unreachable += 1,
        }
    }
    found.hits = found.frames.len();
    if found.hits == 0 {
        return Err(format!(
            "no frame of this kind hits any of the {} entries of table {table}; its keys are {}",
            entries.len(),
            declared
                .keys
                .iter()
                .map(|key| key.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    for _ in 0..missing_flows(found.hits, misses) {
        found.frames.push(bench.miss(base, id, &settable, &mut random)?);
    }
    Ok(found)
}

/// Flows that hit no entry: as many as the share of frames asks for when each flow sends as often, within limits. How
/// often each of them sends is decided by the order of frames.
fn missing_flows(hits: usize, misses: f64) -> usize {
    match misses {
        0.0 => 0,
        share => ((hits as f64 * share / (1.0 - share)).round() as usize).clamp(MISSES_MIN, MISSES_MAX),
    }
}

/// The table with this name, or the only one whose name ends with it.
fn find_table(program: &Program, name: &str) -> Result<TableId, String> {
    let names = || program.tables.iter().map(|table| table.name.as_str());
    let tables = || (0..).map(TableId).zip(names());
    if let Some((id, _)) = tables().find(|(_, known)| *known == name) {
        return Ok(id);
    }
    let ends_with_it = |known: &str| known.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let found: Vec<(TableId, &str)> = tables().filter(|(_, known)| ends_with_it(known)).collect();
    match found[..] {
        [(id, _)] => Ok(id),
        [] => {
            let suggestion = forebay_sim::suggestion(name, names());
            Err(format!("the program has no table {name:?}{suggestion}"))
        }
        _ => {
            let candidates: Vec<&str> = found.iter().map(|(_, known)| *known).collect();
            Err(format!(
                "several tables are called {name}; write one of {}",
                candidates.join(", ")
            ))
        }
    }
}

/// A key field that is a header field: its index, where it is in the frame, and its width.
type Settable = (usize, usize, u32);

fn settable(table: &Table, places: &HashMap<SlotId, usize>) -> Vec<Settable> {
    let keys = table.keys.iter().enumerate();
    let place = |(index, key): (usize, &forebay_ir::TableKey)| match &key.expr {
        Expr::Slot(slot) => places.get(slot).map(|bit| (index, *bit, key.width)),
        _ => None,
    };
    keys.filter_map(place).collect()
}

/// A value that matches, and the bits of it that matter; none when anything matches.
fn value_of(entry: &EntryMatch) -> Option<(Bits, Bits)> {
    let all = |value: &Bits| Some((value.clone(), Bits::ones(value.width())));
    match entry {
        EntryMatch::Exact(value) | EntryMatch::Optional(Some(value)) | EntryMatch::Range { low: value, .. } => {
            all(value)
        }
        EntryMatch::Lpm { value, prefix_length } => {
            let host = value.width() - prefix_length;
            Some((value.clone(), Bits::ones(value.width()).shl(u64::from(host))))
        }
        EntryMatch::Ternary { value, mask } => Some((value.clone(), mask.clone())),
        EntryMatch::Optional(None) => None,
    }
}

fn with_key(base: &[u8], settable: &[Settable], value: impl Fn(usize) -> Option<(Bits, Bits)>) -> Vec<u8> {
    let mut frame = base.to_vec();
    for (key, bit, width) in settable {
        let Some((value, mask)) = value(*key) else { continue };
        let old = read_bits(&frame, *bit, *width);
        write_bits(&mut frame, *bit, &value.and(&mask).or(&old.and(&mask.not())));
    }
    correct_checksums(&mut frame);
    frame
}

/// What a frame met in the program.
#[derive(Default)]
struct Traced {
    /// Where fields of headers are, in bits.
    places: HashMap<SlotId, usize>,
    /// The key of the first look-up in the table.
    key: Option<Vec<Bits>>,
}

struct Watch<'a> {
    program: &'a Program,
    table: TableId,
    traced: Traced,
}

impl Tracer for Watch<'_> {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Extract { header, cursor, .. } => {
                let fields = &self.program.headers[header.index()].fields;
                let width = |slot: SlotId| self.program.slot(slot).width as usize;
                // Positions are known only of headers without fields of varying length.
                if fields.iter().any(|field| field.length.is_some()) {
                    return;
                }
                let mut at = cursor - fields.iter().map(|field| width(field.slot)).sum::<usize>();
                for field in fields {
                    debug_assert!(matches!(self.program.slot(field.slot).kind, SlotKind::Field(_)));
                    self.traced.places.insert(field.slot, at);
                    at += width(field.slot);
                }
            }
            Event::Lookup { table, key, .. } if table == self.table && self.traced.key.is_none() => {
                self.traced.key = Some(key.to_vec());
            }
            _ => {}
        }
    }
}

/// A switch that traces frames.
struct Bench {
    pipeline: Arc<Pipeline>,
    switch: Switch,
    outside: MemoryPort,
    burst: Burst,
}

impl Bench {
    fn new(pipeline: Arc<Pipeline>, port: u32) -> Bench {
        let (outside, inside) = MemoryPort::pair("outside", "inside", 256);
        let mut switch = Switch::new(pipeline.clone(), Config::default());
        switch.attach(port, Box::new(inside));
        Bench {
            pipeline,
            switch,
            outside,
            burst: Burst::default(),
        }
    }

    fn trace(&mut self, frame: &[u8], table: TableId) -> Traced {
        let mut watch = Watch {
            program: self.pipeline.program(),
            table,
            traced: Traced::default(),
        };
        self.outside.inject(frame);
        let _ = self.switch.settle(0, POLLS, &mut watch);
        let traced = watch.traced;
        while self.outside.receive(&mut self.burst, usize::MAX, 0).unwrap_or(0) > 0 {
            self.burst.clear();
        }
        traced
    }

    /// A frame that hits an entry. Bits that do not matter are first those of the base, then 0, then random: another
    /// entry may match better.
    fn hit(
        &mut self,
        base: &[u8],
        table: TableId,
        settable: &[Settable],
        entry: &Entry,
        random: &mut SplitMix64,
    ) -> Option<Vec<u8>> {
        (0..HIT_TRIES).find_map(|attempt| {
            let rest = random.next_u64();
            let frame = with_key(base, settable, |key| {
                let (value, mask) = value_of(entry.matches.get(key)?)?;
                let all = Bits::ones(value.width());
                match attempt {
                    0 => Some((value, mask)),
                    1 => Some((value.and(&mask), all)),
                    _ => {
                        let random = Bits::new(value.width(), u128::from(rest) << 64 | u128::from(rest));
                        Some((value.and(&mask).or(&random.and(&mask.not())), all))
                    }
                }
            });
            let key = self.trace(&frame, table).key?;
            let hit = self.pipeline.entry_matching(table, &key)?;
            (hit == *entry).then_some(frame)
        })
    }

    /// A frame that misses the table.
    fn miss(
        &mut self,
        base: &[u8],
        table: TableId,
        settable: &[Settable],
        random: &mut SplitMix64,
    ) -> Result<Vec<u8>, String> {
        for _ in 0..MISS_TRIES {
            let values: Vec<Bits> = settable.iter().map(|(.., width)| random_bits(*width, random)).collect();
            let frame = with_key(base, settable, |key| {
                let at = settable.iter().position(|(own, ..)| *own == key)?;
                Some((values[at].clone(), Bits::ones(settable[at].2)))
            });
            let key = self.trace(&frame, table).key;
            if key.is_some_and(|key| self.pipeline.entry_matching(table, &key).is_none()) {
                return Ok(frame);
            }
        }
        Err("no frame of this kind misses the table: random keys hit entries, too".to_string())
    }
}

/// A value each bit of which is 0 or 1 with the same probability.
fn random_bits(width: u32, random: &mut SplitMix64) -> Bits {
    (0..width.div_ceil(64)).fold(Bits::zero(width), |high, _| {
        let low = Bits::new(width, u128::from(random.next_u64()));
        high.shl(64).or(&low)
    })
}

/// Computes the checksums of IPv4, UDP and TCP again, after up to two VLAN tags.
pub(crate) fn correct_checksums(frame: &mut [u8]) {
    let mut at = 12;
    let word = |frame: &[u8], at: usize| frame.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    while matches!(word(frame, at), Some(0x8100 | 0x88a8)) {
        at += 4;
    }
    let network = at + 2;
    match word(frame, at) {
        Some(0x0800) if frame.len() >= network + 20 => ipv4_checksums(network, frame),
        Some(0x86dd) if frame.len() >= network + 40 => ipv6_checksums(network, frame),
        _ => {}
    }
}

fn ipv4_checksums(at: usize, frame: &mut [u8]) {
    let header = usize::from(frame[at] & 15) * 4;
    let end = (at + usize::from(u16::from_be_bytes([frame[at + 2], frame[at + 3]]))).min(frame.len());
    if header < 20 || at + header > end {
        return;
    }
    frame[at + 10..at + 12].fill(0);
    let checksum = internet_checksum(&frame[at..at + header]);
    frame[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
    let address = |from: usize| Ipv4Addr::new(frame[from], frame[from + 1], frame[from + 2], frame[from + 3]);
    let protocol = frame[at + 9];
    let length = (end - at - header) as u16;
    let sum = Sum::new().add_ipv4_pseudo_header(address(at + 12), address(at + 16), protocol, length);
    transport_checksum(protocol, at + header, end, sum, frame);
}

fn ipv6_checksums(at: usize, frame: &mut [u8]) {
    let end = (at + 40 + usize::from(u16::from_be_bytes([frame[at + 4], frame[at + 5]]))).min(frame.len());
    let address = |from: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&frame[from..from + 16]);
        Ipv6Addr::from(octets)
    };
    let protocol = frame[at + 6];
    let sum = Sum::new().add_ipv6_pseudo_header(address(at + 8), address(at + 24), protocol, (end - at - 40) as u32);
    transport_checksum(protocol, at + 40, end, sum, frame);
}

fn transport_checksum(protocol: u8, at: usize, end: usize, pseudo_header: Sum, frame: &mut [u8]) {
    let field = match protocol {
        17 if at + 8 <= end => at + 6,
        6 if at + 20 <= end => at + 16,
        _ => return,
    };
    frame[field..field + 2].fill(0);
    let sum = pseudo_header.add_bytes(&frame[at..end]);
    let checksum = if protocol == 17 {
        sum.udp_checksum()
    } else {
        sum.checksum()
    };
    frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_whole_name_or_the_end_of_it() {
        let table = |name: &str| {
            format!(
                "table {name} {{\n  key meta.v: bit<16> exact = meta.v\n  action none\n  default none()\n  size 16\n}}\n"
            )
        };
        let tables = ["I.a.routes", "I.b.routes", "routes", "I.a.acl", "J.a.acl"]
            .map(table)
            .concat();
        let text = format!(
            "program v1model\nslot meta.v: bit<16> metadata\naction none() = none\n{tables}\nbody none action {{\nblock0:\n  return\n}}\n"
        );
        let program = forebay_ir::text::read(&text).expect("a program");
        let find = |name: &str| find_table(&program, name);
        assert_eq!(find("routes"), Ok(TableId(2)), "the whole name comes first");
        assert_eq!(find("b.routes"), Ok(TableId(1)));
        let several = "several tables are called acl; write one of I.a.acl, J.a.acl";
        assert_eq!(find("acl"), Err(several.to_string()));
        assert!(find("cl").is_err_and(|message| message.starts_with("the program has no table \"cl\"")));
    }

    #[test]
    fn keys_of_misses_are_random_in_every_bit() {
        for width in [1, 8, 16, 32, 48, 64, 128, 200] {
            let mut random = SplitMix64::new(1);
            let values: Vec<Bits> = (0..64).map(|_| random_bits(width, &mut random)).collect();
            let ones = |bit: u32| values.iter().filter(|value| value.bit(bit)).count();
            assert!((0..width).all(|bit| (1..64).contains(&ones(bit))), "{width}");
        }
    }
}
