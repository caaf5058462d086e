//! Packets see what the control plane writes, and errors are explained.

use crate::common::{Blocks, Switch, bits};
use forebay_ir::EntryMatch;
use forebay_pipeline::{
    ControlError, CounterValue, CrcParameters, Engine, Entry, EntryAction, Event, IngressArguments, IngressPacket,
    LoadError, MeterRates, Options, Pipeline, Tracer,
};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

const APPLY: &str = "apply I.t -> block1\nblock1:\nreturn";

fn table(declaration: &str) -> Switch {
    Blocks {
        more: declaration,
        ingress: APPLY,
        ..Blocks::default()
    }
    .load()
}

fn exact_table() -> Switch {
    table(
        "table I.t {\n key h.a: bit<8> exact = h.a\n action I.forward\n action I.drop table_only\n action NoAction default_only\n \
         default NoAction()\n size 2\n direct_counter I.dc\n direct_meter I.dm = lost\n}\ncounter I.dc packets_and_bytes direct\nmeter I.dm packets direct",
    )
}

fn forward(key: u128, port: u128) -> Entry {
    Entry {
        matches: vec![exact(key)],
        priority: 0,
        action: to_port(port),
    }
}

fn to_port(port: u128) -> EntryAction {
    EntryAction::call("forward", vec![bits(16, port), bits(8, 0x80 + port)])
}

fn exact(key: u128) -> EntryMatch {
    EntryMatch::Exact(bits(32, key))
}

/// Bytes of the packet that leaves, after its port.
fn sent(switch: &mut Switch, a: u8) -> Vec<u8> {
    let (port, bytes) = switch.send(&[a, 0]).into_iter().next().unwrap_or((511, vec![]));
    [&[port as u8][..], &bytes].concat()
}

#[test]
fn entries_are_inserted_modified_deleted_and_read() {
    let mut switch = exact_table();
    let pipeline = switch.pipeline.clone();
    assert_eq!(sent(&mut switch, 1), [0, 1, 0]);
    pipeline.insert_entry("I.t", &forward(1, 2)).unwrap();
    assert_eq!(sent(&mut switch, 1), [2, 1, 0x82]);
    pipeline.modify_entry("t", &forward(1, 3)).unwrap();
    assert_eq!(sent(&mut switch, 1), [3, 1, 0x83]);
    let read = pipeline.entries("t").unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].matches, [EntryMatch::Exact(bits(8, 1))]);
    assert_eq!(
        read[0].action,
        EntryAction::call("I.forward", vec![bits(9, 3), bits(8, 0x83)])
    );
    pipeline.delete_entry("t", &[exact(1)], 0).unwrap();
    assert_eq!(sent(&mut switch, 1), [0, 1, 0]);
    pipeline.insert_entry("t", &forward(1, 2)).unwrap();
    pipeline.clear_entries("t").unwrap();
    assert!(pipeline.entries("t").unwrap().is_empty());
}

/// Reads the entry that a packet hits while an atomic batch waits for the packet's burst to end.
struct ReadsBesideWriter {
    pipeline: Arc<Pipeline>,
    read_before: Option<Entry>,
    writer: Option<JoinHandle<()>>,
}

impl Tracer for ReadsBesideWriter {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        let Event::Lookup {
            table,
            hit: Some(number),
            ..
        } = event
        else {
            return;
        };
        self.read_before = self.pipeline.entry_in_burst(table, number);
        let pipeline = Arc::clone(&self.pipeline);
        let write = move || {
            let written = pipeline.atomically(|batch| batch.insert_entry("t", &forward(2, 2)));
            written.expect("there is room");
        };
        self.writer = Some(thread::spawn(write));
        // The writer holds the tables from now until the burst ends.
        while self.pipeline.entry_in_burst(table, number).is_some() {
            thread::yield_now();
        }
    }
}

#[test]
fn a_tracer_does_not_wait_for_a_writer_that_waits_for_it() {
    let mut switch = exact_table();
    switch.pipeline.insert_entry("t", &forward(1, 2)).unwrap();
    let mut tracer = ReadsBesideWriter {
        pipeline: switch.pipeline.clone(),
        read_before: None,
        writer: None,
    };
    let packet = IngressPacket::new(vec![1, 0], IngressArguments::default());
    switch.worker.ingress(&mut vec![packet], &mut Vec::new(), &mut tracer);
    let writer = tracer.writer.take().expect("the packet hits");
    writer.join().expect("it has written");
    assert_eq!(
        tracer.read_before.map(|entry| entry.matches),
        Some(vec![EntryMatch::Exact(bits(8, 1))])
    );
    assert_eq!(switch.pipeline.entries("t").unwrap().len(), 2);
}

#[test]
fn the_default_action_is_changed_and_reset() {
    let mut switch = exact_table();
    let pipeline = switch.pipeline.clone();
    pipeline
        .set_default_action("t", "forward", &[bits(9, 4), bits(8, 5)])
        .unwrap();
    assert_eq!(sent(&mut switch, 1), [4, 1, 5]);
    assert_eq!(
        pipeline.default_action("t").unwrap(),
        EntryAction::call("I.forward", vec![bits(9, 4), bits(8, 5)])
    );
    pipeline.reset_default_action("t").unwrap();
    assert_eq!(sent(&mut switch, 1), [0, 1, 0]);
}

#[test]
fn mistakes_are_explained_and_change_nothing() {
    let switch = exact_table();
    let pipeline = &switch.pipeline;
    pipeline.insert_entry("t", &forward(1, 2)).unwrap();
    pipeline.insert_entry("t", &forward(2, 2)).unwrap();
    let message = |result: Result<(), ControlError>| result.unwrap_err().to_string();
    let call = |action: &str, args: &[u128]| {
        let args = args.iter().map(|&arg| bits(64, arg)).collect();
        pipeline.insert_entry(
            "t",
            &Entry {
                matches: vec![exact(9)],
                priority: 0,
                action: EntryAction::call(action, args),
            },
        )
    };
    assert_eq!(
        message(pipeline.insert_entry("x", &forward(1, 2))),
        "there is no table `x`; there is `I.t`"
    );
    assert_eq!(
        message(pipeline.insert_entry("t", &forward(1, 2))),
        "`I.t` has already an entry with this key and priority"
    );
    assert_eq!(
        message(pipeline.insert_entry("t", &forward(3, 2))),
        "`I.t` is full: its size is 2"
    );
    assert_eq!(
        message(pipeline.insert_entry("t", &forward(256, 2))),
        "`I.t`: the value for `h.a` does not fit in 8 bits"
    );
    assert_eq!(
        message(pipeline.modify_entry("t", &forward(3, 2))),
        "`I.t` has no entry with this key and priority"
    );
    assert_eq!(
        message(pipeline.delete_entry("t", &[], 0)),
        "`I.t` has 1 match fields, not 0"
    );
    assert_eq!(message(call("forward", &[1])), "`I.forward` has 2 parameters, not 1");
    assert_eq!(
        message(call("forward", &[512, 1])),
        "`I.forward`: the value for `port` does not fit in 9 bits"
    );
    assert_eq!(
        message(call("NoAction", &[])),
        "`I.t` cannot use `NoAction`: it is marked @defaultonly"
    );
    assert!(message(call("nothing", &[])).starts_with("there is no action `nothing`; there is `I.forward`"));
    assert_eq!(
        message(pipeline.set_default_action("t", "drop", &[])),
        "`I.t` cannot use `I.drop`: it is marked @tableonly"
    );
    let member = Entry {
        action: EntryAction::Member(1),
        ..forward(9, 1)
    };
    assert_eq!(
        message(pipeline.insert_entry("t", &member)),
        "`I.t` has no action profile: its entries name an action"
    );
    let range = Entry {
        matches: vec![EntryMatch::Range {
            low: bits(8, 1),
            high: bits(8, 2),
        }],
        ..forward(9, 1)
    };
    assert_eq!(
        message(pipeline.insert_entry("t", &range)),
        "`I.t`: `h.a` is matched as exact"
    );
    assert_eq!(pipeline.entries("t").unwrap().len(), 2);
}

#[test]
fn other_match_kinds() {
    let mut switch = table(
        "table I.t {\n key h.a: bit<8> ternary = h.a\n key h.b: bit<8> range = h.b\n key o: bit<16> optional = sm.mcast_grp\n \
         action I.forward\n action NoAction\n default NoAction()\n size 8\n}",
    );
    let pipeline = switch.pipeline.clone();
    let insert = |value, mask, low, high, priority, port| {
        let matches = vec![
            EntryMatch::Ternary {
                value: bits(8, value),
                mask: bits(8, mask),
            },
            EntryMatch::Range {
                low: bits(8, low),
                high: bits(8, high),
            },
            EntryMatch::Optional(None),
        ];
        pipeline.insert_entry(
            "t",
            &Entry {
                matches,
                priority,
                action: to_port(port),
            },
        )
    };
    insert(0x10, 0xF0, 0, 255, 1, 1).unwrap();
    insert(0x11, 0xFF, 0, 255, 2, 2).unwrap();
    insert(0x11, 0xFF, 5, 6, 3, 3).unwrap();
    assert_eq!(switch.send(&[0x12, 0])[0].0, 1);
    assert_eq!(switch.send(&[0x11, 0])[0].0, 2);
    assert_eq!(switch.send(&[0x11, 5])[0].0, 3);
    assert_eq!(
        insert(0, 0, 7, 6, 4, 1).unwrap_err().to_string(),
        "`I.t`: `h.b` is given a range whose ends are reversed"
    );
}

#[test]
fn entries_of_the_program_are_there_and_may_be_constant() {
    let mut switch = table(
        "table I.t {\n key h.a: bit<8> lpm = h.a\n action I.forward\n action NoAction\n const default NoAction()\n size 1\n const entries\n \
         const entry (8w0x10 / 4) -> I.forward(9w0x1, 8w0x0) priority 0\n const entry (8w0x18 / 5) -> I.forward(9w0x2, 8w0x0) priority 0\n}",
    );
    assert_eq!(switch.send(&[0x11, 0])[0].0, 1);
    assert_eq!(switch.send(&[0x19, 0])[0].0, 2);
    let pipeline = &switch.pipeline;
    let matches = [EntryMatch::Lpm {
        value: bits(8, 0x10),
        prefix_length: 4,
    }];
    let errors = [
        pipeline.delete_entry("t", &matches, 0),
        pipeline.clear_entries("t"),
        pipeline.set_default_action("t", "NoAction", &[]),
    ];
    let messages = errors.map(|error| error.unwrap_err().to_string());
    assert_eq!(
        messages,
        [
            "`I.t`: its list of entries is constant",
            "`I.t`: its list of entries is constant",
            "`I.t`: its default action is constant"
        ]
    );
}

#[test]
fn direct_counters_and_meters_belong_to_entries() {
    let mut switch = exact_table();
    let pipeline = switch.pipeline.clone();
    pipeline.insert_entry("t", &forward(1, 2)).unwrap();
    switch.send(&[1, 0, 0]);
    switch.send(&[1, 0]);
    switch.send(&[7, 0]);
    let read = |key| pipeline.read_direct_counter("t", &[exact(key)], 0);
    assert_eq!(read(1), Ok(CounterValue { packets: 2, bytes: 5 }));
    assert!(matches!(read(7), Err(ControlError::NotFound { .. })));
    pipeline
        .write_direct_counter("t", &[exact(1)], 0, CounterValue { packets: 9, bytes: 9 })
        .unwrap();
    assert_eq!(read(1).unwrap().packets, 9);
    let rates = MeterRates {
        committed_rate: 1.into(),
        committed_burst: 1,
        peak_rate: 1.into(),
        peak_burst: 1,
    };
    pipeline
        .configure_direct_meter("t", &[exact(1)], 0, Some(rates))
        .unwrap();
    assert_eq!(pipeline.direct_meter_rates("t", &[exact(1)], 0), Ok(Some(rates)));
    pipeline.delete_entry("t", &[exact(1)], 0).unwrap();
    pipeline.insert_entry("t", &forward(1, 2)).unwrap();
    assert_eq!(read(1), Ok(CounterValue::default()), "a new entry begins at 0");
    assert_eq!(pipeline.direct_meter_rates("t", &[exact(1)], 0), Ok(None));
    let error = pipeline.read_counter("dc", 0).unwrap_err().to_string();
    assert_eq!(
        error,
        "`I.dc` belongs to a table's entries: name the table and the entry"
    );
}

#[test]
fn a_direct_meter_colours_hits() {
    let declaration = "table I.t {\n key h.a: bit<8> exact = h.a\n action NoAction\n default NoAction()\n size 2\n direct_meter I.dm = lost\n}\nmeter I.dm packets direct";
    let ingress = "apply I.t -> block1\nblock1:\nh.b = lost[7:0]\nreturn";
    let mut switch = Blocks {
        more: declaration,
        ingress,
        ..Blocks::default()
    }
    .load();
    let entry = Entry {
        matches: vec![exact(1)],
        priority: 0,
        action: EntryAction::call("NoAction", vec![]),
    };
    switch.pipeline.insert_entry("t", &entry).unwrap();
    let rates = MeterRates {
        committed_rate: 1.into(),
        committed_burst: 1,
        peak_rate: 1.into(),
        peak_burst: 2,
    };
    switch
        .pipeline
        .configure_direct_meter("t", &[exact(1)], 0, Some(rates))
        .unwrap();
    let colours: Vec<u8> = (0..3).map(|_| sent(&mut switch, 1)[2]).collect();
    assert_eq!(colours, [0, 1, 2]);
    assert_eq!(sent(&mut switch, 2)[2], 0);
}

#[test]
fn registers_counters_and_meters() {
    let ingress = "h.a = register_read(I.r, h.a)[7:0]\nreturn";
    // `register_read` returns 16 bits, so it goes through metadata.
    let ingress = ingress.replace("h.a = register_read(I.r, h.a)[7:0]", "kept = register_read(I.r, h.a)\ncount(I.c, h.a)\nkept = kept + 16w0x1\nregister_write(I.r, h.a, kept)\nlost = execute_meter(I.m, h.a)\nh.b = lost[7:0]");
    let mut switch = Blocks {
        ingress: &ingress,
        ..Blocks::default()
    }
    .load();
    let pipeline = switch.pipeline.clone();
    switch.send(&[2, 0]);
    assert_eq!(pipeline.read_register("r", 2), Ok(bits(16, 6)));
    assert_eq!(pipeline.read_register("I.r", 3), Ok(bits(16, 5)));
    pipeline.write_register("r", 3, &bits(64, 0xFFFF)).unwrap();
    switch.send(&[3, 0]);
    assert_eq!(pipeline.read_register("r", 3), Ok(bits(16, 0)));
    pipeline.reset_register("r").unwrap();
    assert_eq!(pipeline.read_register("r", 3), Ok(bits(16, 5)));
    assert_eq!(pipeline.read_counter("c", 2), Ok(CounterValue { packets: 1, bytes: 2 }));
    pipeline.write_counter("c", 2, CounterValue::default()).unwrap();
    assert_eq!(pipeline.read_counter("c", 2), Ok(CounterValue::default()));
    assert_eq!(
        pipeline.read_counter("c", 4).unwrap_err().to_string(),
        "`I.c` has 4 elements, so there is no index 4"
    );
    assert_eq!(
        switch.send(&[9, 0])[0].1,
        [9, 0],
        "indices outside the arrays do nothing"
    );
    let rates = MeterRates {
        committed_rate: 1.into(),
        committed_burst: 0,
        peak_rate: 1.into(),
        peak_burst: 1,
    };
    pipeline.configure_meter("m", 1, Some(rates)).unwrap();
    assert_eq!(pipeline.meter_rates("m", 1), Ok(Some(rates)));
    assert_eq!([switch.send(&[1, 0])[0].1[1], switch.send(&[1, 0])[0].1[1]], [1, 2]);
    let bad = MeterRates {
        committed_rate: 2.into(),
        ..rates
    };
    assert!(
        pipeline
            .configure_meter("m", 1, Some(bad))
            .unwrap_err()
            .to_string()
            .contains("peak rate")
    );
}

#[test]
fn members_and_groups() {
    let mut switch = table(
        "table I.t {\n key h.a: bit<8> exact = h.a\n key h.b: bit<8> selector = h.b\n action I.forward\n action NoAction\n \
         default NoAction()\n size 8\n implementation I.ap\n}\naction_profile I.ap size 4 selector identity width 8",
    );
    let pipeline = switch.pipeline.clone();
    for port in [1, 2, 3] {
        pipeline
            .insert_member("ap", port, "forward", &[bits(9, port.into()), bits(8, 0)])
            .unwrap();
    }
    pipeline.insert_group("ap", 10, &[(1, 1), (2, 2)]).unwrap();
    let entry = |key, action| Entry {
        matches: vec![exact(key)],
        priority: 0,
        action,
    };
    pipeline.insert_entry("t", &entry(1, EntryAction::Group(10))).unwrap();
    pipeline.insert_entry("t", &entry(2, EntryAction::Member(3))).unwrap();
    let ports: Vec<u32> = (0..6).map(|b| switch.send(&[1, b])[0].0).collect();
    assert_eq!(ports, [1, 2, 2, 1, 2, 2]);
    assert_eq!(switch.send(&[2, 0])[0].0, 3);
    pipeline.modify_group("ap", 10, &[]).unwrap();
    assert_eq!(switch.send(&[1, 0]), [(0, vec![1, 0])], "an empty group runs no action");
    assert_eq!(pipeline.members("ap").unwrap().len(), 3);
    assert_eq!(pipeline.group("ap", 10), Ok(vec![]));
    let message = |result: Result<(), ControlError>| result.unwrap_err().to_string();
    assert_eq!(message(pipeline.delete_member("ap", 3)), "`I.ap`: member 3 is in use");
    assert_eq!(message(pipeline.delete_group("ap", 10)), "`I.ap`: group 10 is in use");
    assert_eq!(
        message(pipeline.insert_entry("t", &entry(5, EntryAction::Member(9)))),
        "`I.ap` has no member 9"
    );
    let direct = entry(5, EntryAction::call("NoAction", vec![]));
    assert_eq!(
        message(pipeline.insert_entry("t", &direct)),
        "`I.t` has an action selector: its entries name a member or a group"
    );
    pipeline.modify_entry("t", &entry(2, EntryAction::Group(10))).unwrap();
    pipeline.delete_member("ap", 3).unwrap();
    pipeline.clear_entries("t").unwrap();
    pipeline.delete_group("ap", 10).unwrap();
}

#[test]
fn an_empty_group_runs_the_action_of_empty_groups() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let more = "table I.t {\n key h.a: bit<8> exact = h.a\n key h.b: bit<8> selector = h.b\n action I.drop\n action I.forward\n \
             action NoAction\n default NoAction()\n size 8\n implementation I.ap\n empty_group I.forward(9w0x7, 8w0x70)\n}\n\
             action_profile I.ap size 4 selector identity width 8";
        let blocks = Blocks {
            more,
            ingress: APPLY,
            ..Blocks::default()
        };
        let mut switch = blocks.load_with(Options {
            engine,
            ..Options::default()
        });
        let pipeline = switch.pipeline.clone();
        pipeline
            .insert_member("ap", 1, "forward", &[bits(9, 1), bits(8, 0x10)])
            .unwrap();
        pipeline.insert_group("ap", 10, &[]).unwrap();
        let entry = Entry {
            matches: vec![exact(1)],
            priority: 0,
            action: EntryAction::Group(10),
        };
        assert_eq!(switch.send(&[1, 0]), [(0, vec![1, 0])], "a miss is no empty group");
        pipeline.insert_entry("t", &entry).unwrap();
        assert_eq!(switch.send(&[1, 0]), [(7, vec![1, 0x70])], "{engine:?}");
        pipeline.modify_group("ap", 10, &[(1, 1)]).unwrap();
        assert_eq!(switch.send(&[1, 0]), [(1, vec![1, 0x10])], "{engine:?}");
        pipeline.modify_group("ap", 10, &[]).unwrap();
        assert_eq!(switch.send(&[1, 0]), [(7, vec![1, 0x70])], "{engine:?}");
    }
}

#[test]
fn a_member_or_group_may_be_the_default() {
    for engine in [Engine::Interpreter, Engine::Jit] {
        let more = "table I.t {\n key h.a: bit<8> exact = h.a\n key h.b: bit<8> selector = h.b\n action I.forward\n \
             action NoAction\n default NoAction()\n size 8\n implementation I.ap\n}\n\
             action_profile I.ap size 4 selector identity width 8";
        let blocks = Blocks {
            more,
            ingress: APPLY,
            ..Blocks::default()
        };
        let mut switch = blocks.load_with(Options {
            engine,
            ..Options::default()
        });
        let pipeline = switch.pipeline.clone();
        for port in [1, 2] {
            pipeline
                .insert_member("ap", port, "forward", &[bits(9, port.into()), bits(8, 0)])
                .unwrap();
        }
        pipeline.insert_group("ap", 10, &[(1, 1), (2, 1)]).unwrap();
        let set = |action: EntryAction| pipeline.batch(|batch| batch.set_default_entry("t", &action));
        set(EntryAction::Member(2)).unwrap();
        assert_eq!(switch.send(&[9, 0])[0].0, 2, "{engine:?}");
        set(EntryAction::Group(10)).unwrap();
        let ports: Vec<u32> = (0..4).map(|b| switch.send(&[9, b])[0].0).collect();
        assert_eq!(ports, [1, 2, 1, 2], "{engine:?}");
        let message = |result: Result<(), ControlError>| result.unwrap_err().to_string();
        assert_eq!(message(set(EntryAction::Member(9))), "`I.ap` has no member 9");
        assert_eq!(message(pipeline.delete_group("ap", 10)), "`I.ap`: group 10 is in use");
        assert_eq!(pipeline.default_action("t"), Ok(EntryAction::Group(10)));
        pipeline.delete_member("ap", 2).unwrap_err();
        pipeline.reset_default_action("t").unwrap();
        assert_eq!(switch.send(&[9, 0]), [(0, vec![9, 0])], "{engine:?}");
        pipeline.delete_group("ap", 10).unwrap();
        pipeline.delete_member("ap", 2).unwrap();
    }
}

#[test]
fn value_sets() {
    let parser = "extract h\nselect (h.a, h.b) {\n (in P.vs component 0, in P.vs component 1) => block1\n default => block2\n}\n\
        block1:\nkept = 16w0x1\nreturn\nblock2:\nreturn";
    let more = "value_set P.vs size 2 { x: bit<8> exact y: bit<8> ternary }";
    let mut switch = Blocks {
        more,
        parser,
        ingress: "h.b = kept[7:0]\nreturn",
        ..Blocks::default()
    }
    .load();
    let pipeline = switch.pipeline.clone();
    let element = |x| {
        vec![
            exact(x),
            EntryMatch::Ternary {
                value: bits(8, 0x10),
                mask: bits(8, 0xF0),
            },
        ]
    };
    assert_eq!(sent(&mut switch, 1), [0, 1, 0]);
    pipeline.set_value_set("vs", &[element(1), element(2)]).unwrap();
    assert_eq!(switch.send(&[2, 0x15])[0].1, [2, 1]);
    assert_eq!(switch.send(&[3, 0x15])[0].1, [3, 0]);
    assert_eq!(switch.send(&[2, 0x25])[0].1, [2, 0]);
    assert_eq!(pipeline.value_set("vs").unwrap().len(), 2);
    let error = pipeline
        .set_value_set("vs", &[element(1), element(2), element(3)])
        .unwrap_err();
    assert_eq!(error.to_string(), "`P.vs` is full: its size is 2");
}

#[test]
fn custom_crcs() {
    let ingress = "kept = hash custom calc {h.a}\nh.a = kept[15:8]\nh.b = kept[7:0]\nreturn";
    let mut switch = Blocks {
        more: "calculation calc crc16_custom",
        ingress,
        ..Blocks::default()
    }
    .load();
    let arc = switch.send(&[0x31, 0]);
    // CRC-16/XMODEM of "1".
    let parameters = CrcParameters {
        polynomial: 0x1021,
        initial: 0,
        final_xor: 0,
        reflect_input: false,
        reflect_output: false,
    };
    switch.pipeline.set_crc_parameters("calc", parameters).unwrap();
    assert_ne!(switch.send(&[0x31, 0]), arc);
    assert_eq!(switch.send(&[0x31, 0])[0].1, [0x26, 0x72]);
    let wide = CrcParameters {
        polynomial: 0x11021,
        ..parameters
    };
    assert!(switch.pipeline.set_crc_parameters("calc", wide).is_err());
    let unknown = switch.pipeline.set_crc_parameters("calc_0", parameters).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no hash with parameters `calc_0`; there is `calc`"
    );
}

#[test]
fn replication_is_written_and_read() {
    let switch = Blocks::default().load();
    let pipeline = &switch.pipeline;
    assert!(pipeline.set_multicast_group(0, &[]).is_err());
    pipeline.set_multicast_group(5, &[]).unwrap();
    assert_eq!(pipeline.multicast_group(5), Some(vec![]));
    let unknown = pipeline.delete_multicast_group(6).unwrap_err().to_string();
    assert_eq!(unknown, "there is no multicast group `6`; there is `5`");
    pipeline.delete_multicast_group(5).unwrap();
    assert!(pipeline.delete_clone_session(1).is_err());
}

#[test]
fn a_worker_does_not_see_half_of_a_burst_of_writes() {
    let switch = exact_table();
    let pipeline = switch.pipeline.clone();
    let writer = {
        let pipeline = pipeline.clone();
        std::thread::spawn(move || {
            for _ in 0..300 {
                pipeline.insert_entry("t", &forward(1, 2)).unwrap();
                pipeline.delete_entry("t", &[exact(1)], 0).unwrap();
            }
        })
    };
    let mut switch = switch;
    while !writer.is_finished() {
        let output = sent(&mut switch, 1);
        assert!(output == [0, 1, 0] || output == [2, 1, 0x82], "{output:?}");
    }
    writer.join().unwrap();
}

#[test]
fn what_cannot_be_loaded_is_explained() {
    let mut program = Blocks::default().program();
    program.stages.remove(&forebay_ir::Role::Egress);
    assert_eq!(
        Pipeline::load(program).unwrap_err(),
        LoadError::MissingBlock("egress control")
    );
    let mut program = Blocks::default().program();
    program.registers[0].size = u64::MAX;
    assert!(matches!(Pipeline::load(program).unwrap_err(), LoadError::TooLarge { name, .. } if name == "I.r"));
}
