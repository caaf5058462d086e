//! Counters and meters of entries and of the default entry: every executor counts the same.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::{EntryMatch, TableId};
use forebay_packet::Packet;
use forebay_pipeline::{Arrival, ColorCounts, CounterValue, Engine, Entry, EntryAction, MeterRates, Options};

const TABLE: &str = "table I.t {\n key h.a: bit<8> exact = h.a\n action I.forward\n action NoAction\n default NoAction()\n \
    size 2\n direct_counter I.dc\n direct_meter I.dm = lost\n}\ncounter I.dc packets_and_bytes direct\nmeter I.dm packets direct";
const INGRESS: &str = "lost = 16w0x7\nsm.egress_spec = 9w0x1\napply I.t -> block1\nblock1:\nh.b = lost[7:0]\nreturn";

/// How packets pass a program.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Interpreter,
    GeneralCode,
    SpecialisedCode,
}

const PATHS: [Path; 3] = [Path::Interpreter, Path::GeneralCode, Path::SpecialisedCode];

fn switch(path: Path) -> Switch {
    let engine = match path {
        Path::Interpreter => Engine::Interpreter,
        Path::GeneralCode | Path::SpecialisedCode => Engine::Jit,
    };
    let options = Options {
        engine,
        ..Options::default()
    };
    let blocks = Blocks {
        more: TABLE,
        ingress: INGRESS,
        ..Blocks::default()
    };
    blocks.load_with(options)
}

/// The second byte of the packet that leaves: the colour, or 7 when no meter has set one.
fn colour(switch: &mut Switch, path: Path, first: u8) -> u8 {
    if path != Path::SpecialisedCode {
        return switch.send(&[first, 0])[0].1[1];
    }
    assert!(switch.worker.has_fast_path());
    let mut packets = [Packet::from_bytes(&[first, 0])];
    switch.worker.pass(&mut packets, Arrival::default(), 0, &mut Vec::new());
    packets[0].data()[1]
}

fn rates(burst: u64) -> Option<MeterRates> {
    Some(MeterRates {
        committed_rate: 1.into(),
        committed_burst: burst,
        peak_rate: 1.into(),
        peak_burst: burst,
    })
}

fn value(packets: u64) -> CounterValue {
    CounterValue {
        packets,
        bytes: 2 * packets,
    }
}

#[test]
fn misses_are_counted_and_metered_for_the_default_entry() {
    for path in PATHS {
        let mut switch = switch(path);
        let pipeline = switch.pipeline.clone();
        let (table, default_slot) = (TableId(0), pipeline.default_slot(TableId(0)));
        let matches = vec![EntryMatch::Exact(bits(8, 1))];
        let entry = Entry {
            matches: matches.clone(),
            priority: 0,
            action: EntryAction::call("NoAction", vec![]),
        };
        pipeline.insert_entry("t", &entry).unwrap();
        let slot = pipeline.record(table, &matches, 0).unwrap().slot;
        let colours = |switch: &mut Switch| [1, 1, 9, 9, 9].map(|first| colour(switch, path, first));
        assert_eq!(
            colours(&mut switch),
            [0, 0, 7, 7, 7],
            "{path:?}: a meter without rates leaves misses alone"
        );
        pipeline.set_direct_meter_at(table, slot, rates(1)).unwrap();
        pipeline.set_direct_meter_at(table, default_slot, rates(2)).unwrap();
        assert_eq!(colours(&mut switch), [0, 2, 0, 0, 2], "{path:?}");
        assert_eq!(pipeline.direct_counter_at(table, slot), Some(value(4)), "{path:?}");
        assert_eq!(
            pipeline.direct_counter_at(table, default_slot),
            Some(value(6)),
            "{path:?}"
        );
        let counts = |green, red| ColorCounts {
            green: value(green),
            yellow: value(0),
            red: value(red),
        };
        assert_eq!(
            pipeline.direct_meter_counts_at(table, slot),
            Some(counts(3, 1)),
            "{path:?}"
        );
        assert_eq!(
            pipeline.direct_meter_counts_at(table, default_slot),
            Some(counts(5, 1)),
            "{path:?}"
        );
    }
}
