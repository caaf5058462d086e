//! Entries, groups and sessions for a program, the same for the same seed.

use forebay_bits::Bits;
use forebay_exec::Random;
use forebay_ir::{EntryMatch, MatchKind, Program, Table};
use forebay_pipeline::{CloneSession, Entry, EntryAction, Pipeline, Replica};

/// Entries that are offered to each table. Some do not fit, or are there already; no harm is done.
const ENTRIES: usize = 12;

/// Configures a pipeline that was just loaded with entries for the tables of `program`, which is what it has loaded or
/// has at least these tables.
pub fn fill(pipeline: &Pipeline, program: &Program, seed: u64) {
    let mut random = Random::new(seed);
    for table in &program.tables {
        for _ in 0..ENTRIES {
            let entry = entry(program, table, &mut random);
            _ = pipeline.insert_entry(&table.name, &entry);
        }
        if random.next_u64().is_multiple_of(2) {
            let (action, args) = call(program, table, &mut random);
            _ = pipeline.set_default_action(&table.name, &action, &args);
        }
    }
    let members = |ports: &[u32]| -> Vec<Replica> {
        let replica = |(instance, port): (u16, &u32)| Replica {
            egress_port: *port,
            instance,
        };
        (0..).zip(ports).map(replica).collect()
    };
    for (group, ports) in [(1, &[2, 3][..]), (2, &[4, 5, 4])] {
        pipeline.set_multicast_group(group, &members(ports)).expect("a group");
    }
    pipeline
        .set_clone_session(5, CloneSession::to_port(6))
        .expect("a session");
}

fn entry(program: &Program, table: &Table, random: &mut Random) -> Entry {
    let keys = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
    let matches = keys.map(|key| matching(key.match_kind, key.width, random)).collect();
    let (action, args) = call(program, table, random);
    Entry {
        matches,
        priority: 1 + (random.next_u64() % 50) as i64,
        action: EntryAction::call(&action, args),
    }
}

pub(crate) fn call(program: &Program, table: &Table, random: &mut Random) -> (String, Vec<Bits>) {
    let listed = &table.actions[(random.next_u64() % table.actions.len() as u64) as usize];
    let action = &program.actions[listed.action.index()];
    let args = action.params.iter().map(|param| value(param.width, random)).collect();
    (action.name.clone(), args)
}

/// Small numbers are frequent, so that packets hit.
fn value(width: u32, random: &mut Random) -> Bits {
    let number = random.next_u64();
    match number >> 60 {
        0..=9 => Bits::new(width, u128::from(number & 3)),
        10..=12 => Bits::ones(width),
        _ => Bits::new(width, u128::from(number) << 64 | u128::from(random.next_u64())),
    }
}

pub(crate) fn matching(kind: MatchKind, width: u32, random: &mut Random) -> EntryMatch {
    match kind {
        MatchKind::Exact | MatchKind::Selector => EntryMatch::Exact(value(width, random)),
        MatchKind::Lpm => {
            let prefix_length = (random.next_u64() % (u64::from(width) + 1)) as u32;
            let mask = Bits::ones(width).shl(u64::from(width - prefix_length));
            EntryMatch::Lpm {
                value: value(width, random).and(&mask),
                prefix_length,
            }
        }
        MatchKind::Ternary => {
            let mask = value(width, random);
            EntryMatch::Ternary {
                value: value(width, random).and(&mask),
                mask,
            }
        }
        MatchKind::Range => {
            let (one, other) = (value(width, random), value(width, random));
            let ordered = one.to_biguint() <= other.to_biguint();
            let (low, high) = if ordered { (one, other) } else { (other, one) };
            EntryMatch::Range { low, high }
        }
        MatchKind::Optional => {
            let anything = random.next_u64().is_multiple_of(3);
            EntryMatch::Optional((!anything).then(|| value(width, random)))
        }
    }
}
