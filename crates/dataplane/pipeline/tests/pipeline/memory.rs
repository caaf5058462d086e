//! The memory limit of a program's state: refused before allocation, taken on use.

use crate::common::{Blocks, bits};
use forebay_ir::{EntryMatch, text};
use forebay_pipeline::{ControlError, Entry, EntryAction, LoadError, Options, Pipeline};

const LIMIT: u64 = 64 << 20;

fn load(more: &str) -> Result<Pipeline, LoadError> {
    let blocks = Blocks {
        more,
        ..Blocks::default()
    };
    let program = text::read(&blocks.text()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        memory_limit: Some(LIMIT),
        ..Options::default()
    };
    Pipeline::load_with(program, options)
}

#[test]
fn a_program_that_needs_too_much_is_refused_with_its_largest_objects() {
    let objects = [
        (
            "register I.large: bit<32> size 16777216 initial 32w0x0\n",
            "register `I.large` 134 MB",
        ),
        ("counter I.large packets size 4194304\n", "counter `I.large` 134 MB"),
        ("meter I.large packets size 2097152\n", "meter `I.large` 134 MB"),
    ];
    for (object, expected) in objects {
        let error = load(object).expect_err("134 MB are more than 64 MB");
        let message = error.to_string();
        assert!(
            message.contains(expected) && message.contains("may have 67 MB"),
            "{message}"
        );
    }
    let small: String = (0..100)
        .map(|number| format!("register I.small{number}: bit<32> size 131072 initial 32w0x0\n"))
        .collect();
    let message = load(&small).expect_err("100 times 1 MB").to_string();
    assert!(
        message.contains("needs 105 MB") && message.contains("1.0 MB"),
        "{message}"
    );
    assert!(load("register I.fits: bit<32> size 1048576 initial 32w0x0\n").is_ok());
}

#[test]
fn entries_count_as_they_come() {
    let table = "table I.t {\n key h.a: bit<32> exact = tmp\n action I.drop\n action NoAction\n default NoAction()\n \
                 size 1000000\n}\nregister I.most: bit<64> size 8388000 initial 64w0x0\n";
    let pipeline = load(table).unwrap_or_else(|error| panic!("{error}"));
    let entry = |number: u128| Entry {
        matches: vec![EntryMatch::Exact(bits(32, number))],
        priority: 0,
        action: EntryAction::Call {
            action: "I.drop".to_string(),
            args: Vec::new(),
        },
    };
    let written = (0..1000).find_map(|number| Some((number, pipeline.insert_entry("I.t", &entry(number)).err()?)));
    let (count, error) = written.expect("there is no room for a thousand");
    assert!(matches!(&error, ControlError::NoMemory { limit: LIMIT, .. }), "{error}");
    assert!(error.to_string().contains("no memory for another entry"), "{error}");
    pipeline.delete_entry("I.t", &entry(0).matches, 0).unwrap();
    pipeline.insert_entry("I.t", &entry(count)).unwrap();
    assert!(pipeline.insert_entry("I.t", &entry(count + 1)).is_err());
    let failed = pipeline.atomically(|batch| {
        batch.delete_entry("I.t", &entry(1).matches, 0)?;
        batch.insert_entry("I.t", &entry(count + 1))?;
        batch.insert_entry("I.t", &entry(count + 2))
    });
    assert!(failed.is_err());
    assert!(
        pipeline.insert_entry("I.t", &entry(count + 1)).is_err(),
        "nothing was done"
    );
    pipeline.clear_entries("I.t").unwrap();
    (0..count).for_each(|number| pipeline.insert_entry("I.t", &entry(number)).unwrap());
}

/// Bytes of this process in resident memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_not_used_takes_no_memory() {
    let objects = "register I.large: bit<32> size 67108864 initial 32w0x0\ncounter I.many packets size 16777216\n\
                   meter I.rates bytes size 8388608\n";
    let blocks = Blocks {
        more: objects,
        ..Blocks::default()
    };
    let program = text::read(&blocks.text()).unwrap();
    let before = resident();
    let pipeline = Pipeline::load(program).unwrap_or_else(|error| panic!("{error}"));
    pipeline.write_register("I.large", 60_000_000, &bits(32, 7)).unwrap();
    assert_eq!(pipeline.read_register("I.large", 60_000_000).unwrap(), bits(32, 7));
    let grown = resident().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown} bytes of more than 1,300 MB");
}
