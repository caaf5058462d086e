//! Programs that people have written: both engines must do the same with them.
//!
//! Frames are made for each way through the parser of a program, and changed here and there. Random entries would never
//! be hit where keys are addresses, so entries are made of keys that the interpreter looks up; what they do leads
//! packets to further tables, for which entries are made in the next round.

use crate::compare::{Case, Compared, Packets};
use crate::entries::{self, call};
use forebay_bits::Bits;
use forebay_driver::{FileSources, Format, Options as FrontEnd, compile, read_compiled};
use forebay_exec::Random;
use forebay_ir::{ActionProfile, EntryMatch, Expr, MatchKind, Op, Program, Table, TableId};
use forebay_packet::MemoryPort;
use forebay_pipeline::{CloneSession, Engine, Entry, EntryAction, Event, Pipeline, Replica, Tracer};
use forebay_switch::{Config, Switch};
use forebay_tester::parser_paths;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Lengths of frames, of which short ones end within headers of some programs.
const LENGTHS: [usize; 3] = [64, 110, 220];
/// Frames of a length and way, and frames at most.
const VARIANTS: usize = 2;
const FRAMES_MAX: usize = 60;
/// Packets that go all at once.
const BURST_PACKETS: usize = 240;
/// Rounds in which entries are made, and entries for a table in each.
const ROUNDS: u64 = 4;
const ENTRIES: usize = 6;
/// Elements of a value set.
const ELEMENTS: u64 = 3;
/// Members of each action profile, and groups of each selector.
const MEMBERS: u32 = 4;
const GROUPS: u32 = 2;
/// The port of clone sessions, and those of multicast groups.
const CLONE_PORT: u32 = 7;
const COPY_PORTS: [u32; 2] = [2, 8];
/// Clone sessions for programs that take their numbers from entries or packets.
const SESSIONS: std::ops::RangeInclusive<u32> = 1..=3;
const INGRESS_PORTS: u64 = 4;
/// Polls in which packets pass a switch.
const POLLS: u32 = 64;

/// What is written to a program that was just loaded. What it refuses is passed over: both engines refuse the same.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    members: Vec<(String, u32, String, Vec<Bits>)>,
    groups: Vec<Group>,
    value_sets: Vec<(String, Vec<Vec<EntryMatch>>)>,
    /// Clone sessions and multicast groups, if they do not exist yet.
    clone_sessions: BTreeSet<u32>,
    multicast_groups: BTreeSet<u16>,
    entries: Vec<(String, Entry)>,
}

/// A group of a selector: its profile, its number, its members with their weights.
type Group = (String, u32, Vec<(u32, u32)>);

impl Configuration {
    pub(crate) fn write(&self, pipeline: &Pipeline) {
        for (profile, member, action, args) in &self.members {
            _ = pipeline.insert_member(profile, *member, action, args);
        }
        for (profile, group, members) in &self.groups {
            _ = pipeline.insert_group(profile, *group, members);
        }
        for (set, elements) in &self.value_sets {
            _ = pipeline.set_value_set(set, elements);
        }
        for session in &self.clone_sessions {
            if pipeline.clone_session(*session).is_none() {
                _ = pipeline.set_clone_session(*session, CloneSession::to_port(CLONE_PORT));
            }
        }
        for group in &self.multicast_groups {
            if pipeline.multicast_group(*group).is_none() {
                let replicas = COPY_PORTS.map(|egress_port| Replica {
                    egress_port,
                    instance: 1,
                });
                _ = pipeline.set_multicast_group(*group, &replicas);
            }
        }
        for (table, entry) in &self.entries {
            _ = pipeline.insert_entry(table, entry);
        }
    }

    /// Members and groups of the program's action profiles, elements of its value sets, and the clone sessions and
    /// multicast groups whose numbers it names.
    pub(crate) fn of_program(program: &Program, random: &mut Random) -> Configuration {
        let mut configuration = Configuration {
            clone_sessions: sessions_named(program),
            multicast_groups: groups_named(program),
            ..Configuration::default()
        };
        for (index, profile) in program.action_profiles.iter().enumerate() {
            let uses = |table: &&Table| table.implementation.is_some_and(|profile| profile.index() == index);
            let Some(table) = program.tables.iter().find(uses) else {
                continue;
            };
            for member in 1..=MEMBERS {
                let (action, args) = call(program, table, random);
                configuration.members.push((profile.name.clone(), member, action, args));
            }
            configuration.groups.extend(groups(profile, random));
        }
        for set in &program.value_sets {
            let mut element = || {
                let components = set.components.iter();
                components
                    .map(|component| entries::matching(component.match_kind, component.width, random))
                    .collect()
            };
            let elements = (0..set.size.min(ELEMENTS)).map(|_| element()).collect();
            configuration.value_sets.push((set.name.clone(), elements));
        }
        configuration
    }
}

/// The numbers of clone sessions in the program's text; [`SESSIONS`] where they come from elsewhere.
fn sessions_named(program: &Program) -> BTreeSet<u32> {
    let mut sessions: BTreeSet<u32> = numbers_of(program, &["clone_session_id"])
        .map(|number| number as u32)
        .collect();
    for statement in program.statements() {
        match &statement.op {
            Op::Clone {
                session: Expr::Const(session),
                ..
            } => _ = sessions.insert(session.to_u64() as u32),
            Op::Clone { .. } => sessions.extend(SESSIONS),
            _ => {}
        }
    }
    sessions
}

/// The numbers of multicast groups in the program's text.
fn groups_named(program: &Program) -> BTreeSet<u16> {
    let slots = ["mcast_grp", "multicast_group"];
    let numbers = numbers_of(program, &slots).map(|number| number as u16);
    numbers.filter(|group| *group != 0).collect()
}

/// The constants that the program assigns to slots whose names end like this.
fn numbers_of<'p>(program: &'p Program, ends: &'p [&str]) -> impl Iterator<Item = u64> + 'p {
    program.statements().filter_map(move |statement| match &statement.op {
        Op::Assign {
            slot,
            value: Expr::Const(number),
        } if ends.iter().any(|end| program.slot(*slot).name.ends_with(end)) => Some(number.to_u64()),
        _ => None,
    })
}

fn groups(profile: &ActionProfile, random: &mut Random) -> Vec<Group> {
    let mut members = || {
        (1..=MEMBERS)
            .filter(|_| random.next_u64().is_multiple_of(2))
            .map(|member| (member, 1))
            .collect()
    };
    (1..=GROUPS)
        .map(|group| (profile.name.clone(), group, members()))
        .collect()
}

/// Compiles a program, or reads what p4c made of one for BMv2; `None` if it has errors.
pub fn read(path: &Path, include_paths: &[String], defines: &[String]) -> Option<Program> {
    let text = || std::fs::read_to_string(path);
    let format = Format::of_file(path, text).ok()?;
    if format != Format::P4 {
        let read = read_compiled(&path.to_string_lossy(), format, &text().ok()?, None);
        return read.ok().map(|read| read.program);
    }
    let provider = FileSources::new();
    let options = FrontEnd {
        provider: &provider,
        include_paths,
        defines,
    };
    compile(&path.to_string_lossy(), &options).program
}

/// Compares both engines, and one worker with several, on a program.
///
/// # Errors
/// What differs, for people.
pub fn compare(program: &Program, seed: u64, workers: usize) -> Result<Compared, String> {
    case(program, seed).compare(workers)
}

/// The program with frames for the ways through its parser, and entries that they meet.
pub(crate) fn case(program: &Program, seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut case = Case {
        program: program.clone(),
        seed,
        configuration: Configuration::of_program(program, &mut random),
        single: Packets::new(),
        burst: Packets::new(),
    };
    case.single = frames(&case.load(Engine::Interpreter), &mut random);
    add_entries(&mut case, ROUNDS);
    case.burst = (0..BURST_PACKETS).map(|_| changed(&case.single, &mut random)).collect();
    case
}

/// Adds entries that the case's packets meet. Each round makes entries for the keys that packets look
/// up with those of the rounds before.
pub(crate) fn add_entries(case: &mut Case, rounds: u64) {
    for round in 1..=rounds {
        let met = keys_met(case);
        let entries = entries_for(&case.program, met, &mut Random::new(case.seed ^ round));
        case.configuration.entries.extend(entries);
    }
}

/// Frames for the ways through the parser of the program; random ones where there are none.
fn frames(pipeline: &Arc<Pipeline>, random: &mut Random) -> Packets {
    let mut frames = Vec::new();
    for bytes in LENGTHS {
        let port = (random.next_u64() % INGRESS_PORTS) as u32;
        let of_length = parser_paths::frames(pipeline, port, bytes, VARIANTS, random.next_u64()).unwrap_or_default();
        frames.extend(of_length.into_iter().map(|frame| (port, frame)));
    }
    while frames.len() > FRAMES_MAX {
        frames.swap_remove((random.next_u64() % frames.len() as u64) as usize);
    }
    if frames.is_empty() {
        frames = crate::packets::packets(random.next_u64(), FRAMES_MAX);
    }
    frames
}

/// One of these packets, of which one in two has another byte, another port or another end.
fn changed(packets: &Packets, random: &mut Random) -> (u32, Vec<u8>) {
    let mut below = |bound: usize| (random.next_u64() % bound.max(1) as u64) as usize;
    let (mut port, mut frame) = packets[below(packets.len())].clone();
    match below(8) {
        0 => frame.truncate(14 + below(frame.len().saturating_sub(14))),
        1 => port = below(INGRESS_PORTS as usize) as u32,
        2 | 3 => {
            let at = below(frame.len().min(80));
            frame[at] = below(256) as u8;
        }
        _ => {}
    }
    (port, frame)
}

/// Keys that are looked up.
#[derive(Default)]
struct Keys {
    seen: HashSet<(TableId, Vec<Bits>)>,
    in_order: Vec<(TableId, Vec<Bits>)>,
}

impl Tracer for Keys {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        if let Event::Lookup {
            table, key, hit: None, ..
        } = event
            && self.seen.insert((table, key.to_vec()))
        {
            self.in_order.push((table, key.to_vec()));
        }
    }
}

/// Keys that packets of the case look up and do not find.
fn keys_met(case: &Case) -> Vec<(TableId, Vec<Bits>)> {
    let mut switch = Switch::new(case.load(Engine::Interpreter), Config::default());
    let mut outside = Vec::new();
    for port in 0..INGRESS_PORTS {
        let (peer, inside) = MemoryPort::pair("outside", "inside", 1 << 12);
        switch.attach(port as u32, Box::new(inside));
        outside.push(peer);
    }
    let mut keys = Keys::default();
    for (port, frame) in &case.single {
        outside[*port as usize].inject(frame);
        _ = switch.settle(0, POLLS, &mut keys);
        outside.iter_mut().for_each(|peer| while peer.extract().is_some() {});
    }
    keys.in_order
}

/// Entries for some of these keys.
fn entries_for(program: &Program, met: Vec<(TableId, Vec<Bits>)>, random: &mut Random) -> Vec<(String, Entry)> {
    let mut made = vec![0; program.tables.len()];
    let mut entries = Vec::new();
    for (id, key) in met {
        let table = &program.tables[id.index()];
        if made[id.index()] == ENTRIES || random.next_u64().is_multiple_of(4) {
            continue;
        }
        made[id.index()] += 1;
        let fields = table.keys.iter().zip(key);
        let matches = fields
            .filter(|(field, _)| field.match_kind != MatchKind::Selector)
            .map(|(field, value)| matching(field.match_kind, value, random))
            .collect();
        let action = match (table.implementation, random.next_u64()) {
            (None, _) => {
                let (action, args) = call_with_data(program, table, random);
                EntryAction::call(&action, args)
            }
            (Some(_), number) if number.is_multiple_of(2) => EntryAction::Group(1 + (number >> 32) as u32 % GROUPS),
            (Some(_), number) => EntryAction::Member(1 + (number >> 32) as u32 % MEMBERS),
        };
        let entry = Entry {
            matches,
            priority: 1 + (random.next_u64() % 50) as i64,
            action,
        };
        entries.push((table.name.clone(), entry));
    }
    entries
}

/// The one of two random calls that has more action data: actions that drop packets have none.
fn call_with_data(program: &Program, table: &Table, random: &mut Random) -> (String, Vec<Bits>) {
    let (one, other) = (call(program, table, random), call(program, table, random));
    if other.1.len() > one.1.len() { other } else { one }
}

/// What matches this value, and often others too.
fn matching(kind: MatchKind, value: Bits, random: &mut Random) -> EntryMatch {
    let width = value.width();
    let number = random.next_u64();
    match kind {
        MatchKind::Exact | MatchKind::Selector => EntryMatch::Exact(value),
        MatchKind::Lpm => {
            let prefix_length = width - (number % (u64::from(width) / 2 + 1)) as u32;
            let mask = Bits::ones(width).shl(u64::from(width - prefix_length));
            EntryMatch::Lpm {
                value: value.and(&mask),
                prefix_length,
            }
        }
        MatchKind::Ternary => {
            let mask = match number % 3 {
                0 => Bits::ones(width),
                1 => Bits::zero(width),
                _ => Bits::new(width, u128::from(random.next_u64())),
            };
            EntryMatch::Ternary {
                value: value.and(&mask),
                mask,
            }
        }
        MatchKind::Range => EntryMatch::Range {
            low: if number & 1 == 0 {
                value.clone()
            } else {
                Bits::zero(width)
            },
            high: if number & 2 == 0 { value } else { Bits::ones(width) },
        },
        MatchKind::Optional => EntryMatch::Optional((!number.is_multiple_of(3)).then_some(value)),
    }
}
