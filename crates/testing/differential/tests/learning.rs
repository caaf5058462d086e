//! Programs whose tables learn, with bursts in which packets of a flow follow each other closely: what a packet has
//! learnt the next one finds, in machine code as in the interpreter.

use forebay_differential::workers::{Frames, run};
use forebay_driver::{FileSources, Options as FrontEnd, compile};
use forebay_entries::{Controller, Test, parse};
use forebay_exec::Random;
use forebay_ir::{Program, TableId};
use forebay_pipeline::{Engine, Options, Pipeline};
use forebay_switch::Spread;
use forebay_syntax::render::render_all;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Frames of a run.
const FRAMES: usize = 1500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn program(path: &Path) -> Program {
    let (sources, path) = (FileSources::new(), path.to_str().expect("a path of this repository"));
    let compiled = compile(path, &FrontEnd::new(&sources));
    let messages = || render_all(&compiled.diagnostics, &compiled.sources);
    compiled.program.unwrap_or_else(|| panic!("{}", messages()))
}

/// A pipeline with the entries that a test adds.
fn pipeline(program: &Program, engine: Engine, entries: Option<&Test>) -> Arc<Pipeline> {
    let options = Options {
        engine,
        ..Options::default()
    };
    let pipeline = Pipeline::load_with(program.clone(), options).expect("a program that can be loaded");
    let pipeline = Arc::new(pipeline);
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in entries.iter().flat_map(|test| &test.commands) {
        controller.apply(&command.value);
    }
    pipeline
}

/// All entries of tables, as text.
fn entries(pipeline: &Pipeline) -> BTreeSet<String> {
    let tables = pipeline.program().tables.iter().zip((0..).map(TableId));
    let records = tables.flat_map(|(table, id)| {
        let records = pipeline.records(id).into_iter();
        records.map(|record| format!("{}: {:?}, {:?}", table.name, record.entry, record.idle))
    });
    records.collect()
}

fn learns(program: &Program) -> bool {
    (0..program.tables.len() as u32)
        .map(TableId)
        .any(|table| program.learns(table))
}

/// Which packet of two workers learns is not laid down, but that all entries are there that were added: time stands
/// still.
fn several_workers(name: &str, program: &Program) {
    let pipeline = pipeline(program, Engine::Jit, None);
    run(&pipeline, &short_frames(1), 3, &Spread::FiveTuple);
    let tables = (0..program.tables.len() as u32).map(TableId);
    let present: usize = tables
        .filter(|table| program.learns(*table))
        .map(|table| pipeline.entry_count(table))
        .sum();
    let counters = pipeline.learning_counters();
    assert_eq!(present as u64, counters.added, "{name}: {counters:?}");
}

/// Compares machine code with the interpreter.
fn agree(name: &str, program: &Program, setup: Option<&Test>, frames: &Frames) -> usize {
    let [reference, compiled] = [Engine::Interpreter, Engine::Jit].map(|engine| pipeline(program, engine, setup));
    let [expected, found] = [&reference, &compiled].map(|pipeline| run(pipeline, frames, 1, &Spread::FiveTuple));
    for (port, expected) in &expected {
        let found = found.get(port).map_or(&[][..], Vec::as_slice);
        let different = expected.iter().zip(found).position(|(one, other)| one != other);
        assert_eq!(different, None, "{name}: packet of port {port}");
    }
    assert_eq!(expected.len(), found.len(), "{name}: ports");
    let differences = reference.differences(&compiled);
    assert!(differences.is_empty(), "{name}: {differences:?}");
    assert_eq!(entries(&reference), entries(&compiled), "{name}: entries");
    assert_eq!(reference.learning_counters(), compiled.learning_counters(), "{name}");
    compiled.learning_counters().added as usize
}

/// Short frames of few different bytes.
fn short_frames(seed: u64) -> Frames {
    let mut random = Random::new(seed);
    let mut frames = Frames::new();
    for _ in 0..FRAMES {
        let word = random.next_u64();
        let values = [word, word >> 8, word >> 16, word >> 24].map(|word| (word % 7) as u8);
        let frame = [&values[..], &[0; 12]].concat();
        frames.entry(u32::from(word >> 32 & 3 == 0)).or_default().push(frame);
    }
    frames
}

#[test]
fn small_programs_agree() {
    let mut paths: Vec<PathBuf> = ["learning", "pna"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join("tests/stf").join(folder)).expect("a folder"))
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "p4"))
        .collect();
    paths.sort();
    let (mut programs, mut added) = (0, 0);
    for path in paths {
        let program = program(&path);
        if !learns(&program) {
            continue;
        }
        programs += 1;
        let name = path.display().to_string();
        added += (0..4)
            .map(|seed| agree(&name, &program, None, &short_frames(seed)))
            .sum::<usize>();
        several_workers(&name, &program);
    }
    assert!(programs > 30 && added > 300, "{added} entries in {programs} programs");
}

fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A frame of 64 bytes. `ports` and `flags`: of TCP, or of UDP without flags.
fn ip_frame(to: [u8; 6], addresses: [[u8; 4]; 2], ports: [u16; 2], flags: Option<u8>) -> Vec<u8> {
    let protocol = if flags.is_some() { 6 } else { 17 };
    let mut head = vec![0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    head.extend(addresses.concat());
    let sum = checksum(&head);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    let ports = ports.map(u16::to_be_bytes).concat();
    let rest = match flags {
        Some(flags) => vec![0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 4, 0, 0, 0, 0, 0],
        None => vec![0, 30, 0, 0],
    };
    let mut frame = [&to[..], &[2, 0, 0, 0, 9, 9, 8, 0], &head, &ports, &rest].concat();
    frame.resize(64, 0);
    frame
}

/// Packets of a few hundred flows from one network to another, and unsolicited answers.
fn flows(to: [[u8; 6]; 2], networks: [[u8; 2]; 2], seed: u64) -> Frames {
    let mut random = Random::new(seed);
    let mut frames = Frames::new();
    let [near, far] = networks.map(|[high, low]| move |host: u64| [high, low, 7, host as u8]);
    for _ in 0..FRAMES {
        let word = random.next_u64();
        let hosts = [near(word % 3 + 2), far(word >> 8 & 3)];
        let ports = [20_000 + (word >> 16 & 31) as u16, 443];
        let flags = [None, Some(0x02), Some(0x10), Some(0x12), Some(0x11), Some(0x04)];
        let flags = flags[(word >> 24) as usize % flags.len()];
        let (port, frame) = match word >> 32 & 7 {
            0 => (2, ip_frame(to[1], [hosts[1], hosts[0]], [ports[1], ports[0]], flags)),
            _ => (1, ip_frame(to[0], hosts, ports, flags)),
        };
        frames.entry(port).or_default().push(frame);
    }
    frames
}

#[test]
fn functions_agree() {
    let gateway = |high, low| [2, 0, 0, 0, high, low];
    let functions = [
        ("nat44", [gateway(0, 1), gateway(1, 1)], [[10, 1], [198, 18]]),
        ("firewall", [gateway(1, 1), gateway(2, 1)], [[10, 1], [192, 0]]),
    ];
    for (name, to, networks) in functions {
        let folder = root().join("functions").join(name);
        let program = program(&folder.join(format!("{name}.p4")));
        let setup = std::fs::read_to_string(folder.join("entries.stf")).expect("a file");
        let setup = parse(&setup).expect("commands");
        let obstacles = pipeline(&program, Engine::Jit, None).obstacles();
        let asks = obstacles.iter().find(|obstacle| obstacle.text.contains("asks a table"));
        assert_eq!(asks, None, "{name}: packets that learn take the fast path");
        for seed in 0..2 {
            let added = agree(name, &program, Some(&setup), &flows(to, networks, seed));
            assert!(added > 200, "{name}: {added} entries");
        }
    }
}
