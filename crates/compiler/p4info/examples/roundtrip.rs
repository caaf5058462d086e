//! Reads every `.p4info.txtpb` of a folder, writes it again and compares; computes the ids and aliases of its objects
//! and compares those: `roundtrip FOLDER`.
//!
//! Differing ids are counted, not failures: a program may choose ids with `@id`.

use anyhow::{Context, bail};
use forebay_p4info::ids::{SymbolKind, SymbolTable};
use forebay_p4info::model::{P4Info, Preamble};

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("which folder?")?;
    let (mut same, mut different) = (0, 0);
    let (mut computed, mut chosen) = (0, 0);
    for entry in std::fs::read_dir(&folder).with_context(|| folder.clone())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".p4info.txtpb") {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| name.clone())?;
        let info = forebay_p4info::read(&text).with_context(|| name.clone())?;
        for preamble in other_ids(&info) {
            println!("{name}: {} {} is chosen by the program", preamble.name, preamble.id);
            chosen += 1;
        }
        computed += preambles(&info).len();
        let written = forebay_p4info::write(&info);
        if written == text {
            same += 1;
        } else {
            different += 1;
            let line = written.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or(0);
            println!("{name}: line {}: {:?}", line + 1, written.lines().nth(line));
        }
    }
    println!("{same} the same, {different} different");
    println!("{} ids and aliases as computed, {chosen} not", computed - chosen);
    if different > 0 || same == 0 {
        bail!("not all files survive");
    }
    Ok(())
}

/// Objects whose id or alias is not what their name says.
fn other_ids(info: &P4Info) -> Vec<&Preamble> {
    let objects = preambles(info);
    let mut table = SymbolTable::new();
    objects
        .iter()
        .for_each(|(kind, preamble)| table.add(*kind, &preamble.name, None));
    let symbols = table.assign().expect("no user ids, no errors");
    let same = |kind, preamble: &Preamble| {
        (preamble.id, preamble.alias.as_str()) == (symbols.id(kind, &preamble.name), symbols.alias(&preamble.name))
    };
    objects
        .into_iter()
        .filter(|(kind, preamble)| !same(*kind, preamble))
        .map(|(_, preamble)| preamble)
        .collect()
}

/// All objects but packet metadata, whose ids come from the name of the header type.
fn preambles(info: &P4Info) -> Vec<(SymbolKind, &Preamble)> {
    let mut objects = Vec::new();
    objects.extend(info.tables.iter().map(|x| (SymbolKind::Table, &x.preamble)));
    objects.extend(info.actions.iter().map(|x| (SymbolKind::Action, &x.preamble)));
    objects.extend(
        info.action_profiles
            .iter()
            .map(|x| (SymbolKind::ActionProfile, &x.preamble)),
    );
    objects.extend(info.counters.iter().map(|x| (SymbolKind::Counter, &x.preamble)));
    objects.extend(
        info.direct_counters
            .iter()
            .map(|x| (SymbolKind::DirectCounter, &x.preamble)),
    );
    objects.extend(info.meters.iter().map(|x| (SymbolKind::Meter, &x.preamble)));
    objects.extend(
        info.direct_meters
            .iter()
            .map(|x| (SymbolKind::DirectMeter, &x.preamble)),
    );
    objects.extend(info.value_sets.iter().map(|x| (SymbolKind::ValueSet, &x.preamble)));
    objects.extend(info.registers.iter().map(|x| (SymbolKind::Register, &x.preamble)));
    objects.extend(info.digests.iter().map(|x| (SymbolKind::Digest, &x.preamble)));
    objects
}
