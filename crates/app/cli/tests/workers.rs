//! Several workers do what one does: the same packets leave, those of a flow in the same order, whatever decides which
//! worker a packet belongs to.

use forebay_differential::workers::{Frames, run};
use forebay_driver::FileSources;
use forebay_entries::{Command, Controller};
use forebay_ir::Op;
use forebay_pipeline::{Engine, Options, Pipeline};
use forebay_switch::{Spread, five_tuple_hash};
use forebay_traffic::{Checker, FrameSpec, MessageFormat, MessageSource};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

fn load(path: &Path, defines: &[String], engine: Engine) -> Option<Arc<Pipeline>> {
    let sources = FileSources::new();
    let compiled = forebay_driver::compile(
        &path.to_string_lossy(),
        &forebay_driver::Options {
            provider: &sources,
            include_paths: &[],
            defines,
        },
    );
    let options = Options {
        engine,
        ..Options::default()
    };
    Some(Arc::new(
        Pipeline::load_with(compiled.program?, options).expect("it can be loaded"),
    ))
}

/// Applies what a test configures, and lists its packets.
fn packets_of(test: &forebay_entries::Test, pipeline: &Arc<Pipeline>) -> Frames {
    let mut controller = Controller::new(Arc::clone(pipeline));
    let mut frames = Frames::new();
    for command in &test.commands {
        match &command.value {
            Command::Packet { port, data } => frames.entry(*port).or_default().push(data.clone()),
            configuration => drop(controller.apply(configuration)),
        }
    }
    frames
}

fn sorted(mut frames: Frames) -> Frames {
    frames.values_mut().for_each(|frames| frames.sort());
    frames
}

/// Packets of a flow in their order, by port and flow.
fn by_flow(frames: &Frames) -> BTreeMap<(u32, u64), Vec<&[u8]>> {
    let mut flows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (port, frames) in frames {
        for frame in frames {
            flows
                .entry((*port, five_tuple_hash(frame)))
                .or_default()
                .push(&frame[..]);
        }
    }
    flows
}

/// Frames of 40 flows in turn, that routes of l3fwd's entries carry to two ports, numbered in their payload.
fn flows_for_l3fwd() -> Frames {
    let mut frames = Vec::new();
    for number in 0..4000u32 {
        let flow = number % 40;
        let destination = Ipv4Addr::new(10, 0, if flow % 2 == 0 { 2 } else { 7 }, flow as u8);
        let mut spec = FrameSpec::udp_ipv4((Ipv4Addr::new(10, 0, 1, 1), 5000 + flow as u16), (destination, 53));
        spec.source_mac = [2, 0, 0, 0, 0, 1];
        frames.push(spec.build(&[&number.to_be_bytes()[..], &[0; 26]].concat()));
    }
    let half = frames.split_off(2000);
    // Flows of the second half are others than those of the first.
    Frames::from([(1, frames), (5, half.into_iter().map(other_flow).collect())])
}

/// The same frame from another source address, whose last byte and checksum differ.
fn other_flow(frame: Vec<u8>) -> Vec<u8> {
    let mut frame = frame;
    frame[29] += 1;
    let checksum = u16::from_be_bytes([frame[24], frame[25]]) - 1;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame
}

#[test]
fn flows_keep_their_order() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let pipeline = load(&repository("programs/l3fwd/l3fwd.p4"), &[], engine).expect("it compiles");
        let entries = std::fs::read_to_string(repository("programs/l3fwd/entries.stf")).expect("entries");
        packets_of(&forebay_entries::parse(&entries).expect("STF"), &pipeline);
        let frames = flows_for_l3fwd();
        let expected = run(&pipeline, &frames, 1, &Spread::FiveTuple);
        assert_eq!(expected.values().map(Vec::len).sum::<usize>(), 4000);
        let by_fields = Spread::Fields(pipeline.flow_key(&["ipv4.src_addr", "ipv4.dst_addr"]).expect("fields"));
        for workers in 2..=4 {
            for spread in [&Spread::FiveTuple, &by_fields] {
                let found = run(&pipeline, &frames, workers, spread);
                assert_eq!(by_flow(&found), by_flow(&expected), "{workers} workers, {spread:?}");
            }
        }
    }
}

/// Messages of many flows, interleaved; every flow ends with a full batch.
fn messages(format: MessageFormat, flows: u32, rounds: u32) -> (Frames, MessageSource) {
    let mut source = MessageSource::new(format, flows);
    let mut frames = Frames::new();
    for number in 0..flows * rounds {
        let flow = number % flows;
        let device = Ipv4Addr::new(10, 0, 1, 1 + flow as u8);
        let headers = FrameSpec::udp_ipv4((device, 4000), (Ipv4Addr::new(10, 0, 2, 2), 9000));
        let mut frame = Vec::new();
        source.next_frame(&headers, &mut frame);
        frames.entry(flow % 3).or_default().push(frame);
    }
    (frames, source)
}

fn aggregate(engine: Engine, workers: usize, spread: &[&str]) {
    let defines = ["N=8".to_string(), "S=22".to_string()];
    let pipeline = load(&repository("programs/iot_aggregate/iot_aggregate.p4"), &defines, engine).expect("it compiles");
    let entries = std::fs::read_to_string(repository("programs/iot_aggregate/entries.stf")).expect("entries");
    packets_of(&forebay_entries::parse(&entries).expect("STF"), &pipeline);
    let format = MessageFormat::new(16).expect("a format");
    let (frames, source) = messages(format, 30, 160);
    let spread = match spread {
        [] => Spread::FiveTuple,
        fields => Spread::Fields(pipeline.flow_key(fields).expect("fields")),
    };
    let sent = run(&pipeline, &frames, workers, &spread);
    let mut checker = Checker::new(format, 30).accepting_aggregates();
    sent.values()
        .flatten()
        .for_each(|frame| _ = checker.receive(&frame[42..]));
    let report = checker.report(source.sent());
    let kept: u64 = (0..4096).map(|slot| stored(&pipeline, slot)).sum();
    let all = 30 * 160;
    assert_eq!(
        (report.delivered + kept, report.duplicated, report.changed),
        (all, 0, 0),
        "{report:?}, {kept} kept"
    );
    // Nearly all were aggregated: of each flow, no more is kept than a batch that is not complete.
    assert!(
        report.aggregates >= all / 8 - 30 && kept <= 30 * 7,
        "{report:?}, {kept} kept"
    );
}

/// Messages that are kept in a slot.
fn stored(pipeline: &Pipeline, slot: u64) -> u64 {
    pipeline.read_register("counts", slot).expect("a register").to_u64()
}

#[test]
fn aggregation_loses_repeats_and_changes_no_message() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        for workers in 1..=4 {
            aggregate(engine, workers, &[]);
        }
    }
}

/// The messages of one flow go to different workers, which fill one batch together.
#[test]
fn aggregation_is_correct_when_flows_are_spread() {
    for workers in 2..=4 {
        aggregate(Engine::Jit, workers, &["udp.checksum"]);
    }
}

/// Whether packets cannot meet state or entries that others have changed, nor random numbers.
fn is_without_memory(pipeline: &Pipeline) -> bool {
    if (pipeline.program().digests.iter()).any(|digest| digest.to.table().is_some()) {
        return false;
    }
    let mut statements = pipeline.program().statements();
    !statements.any(|statement| {
        matches!(
            statement.op,
            Op::RegisterWrite { .. } | Op::ExecuteMeter { .. } | Op::Random { .. }
        )
    })
}

fn files_below(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for path in entries.iter().map(std::fs::DirEntry::path) {
        if path.is_dir() {
            files_below(&path, extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
}

/// The packets of every test of the corpus.
#[test]
fn the_corpus_gives_the_same_with_several_workers() {
    let mut tests = Vec::new();
    files_below(&repository("tests/stf"), "stf", &mut tests);
    let mut compared = 0;
    for path in &tests {
        let text = std::fs::read_to_string(path).expect("text");
        let Ok(test) = forebay_entries::parse(&text) else {
            continue;
        };
        let Some(pipeline) = load(&path.with_extension("p4"), &[], Engine::Jit) else {
            continue;
        };
        if !is_without_memory(&pipeline) {
            continue;
        }
        let frames = packets_of(&test, &pipeline);
        let expected = sorted(run(&pipeline, &frames, 1, &Spread::FiveTuple));
        let found = sorted(run(&pipeline, &frames, 3, &Spread::FiveTuple));
        assert_eq!(found, expected, "{}", path.display());
        compared += 1;
    }
    assert!(compared > 50, "only {compared} of {} tests", tests.len());
}
