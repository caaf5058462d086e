//! Flows whose look-ups are cached, and all kinds of writes to what they have found: packets after a write see what
//! the interpreter finds.

use crate::common::{Blocks, Switch, bits};
use forebay_bits::Bits;
use forebay_ir::EntryMatch;
use forebay_packet::{Packet, SplitMix64};
use forebay_pipeline::{
    Arrival, Batch, ControlError, Engine, Entry, EntryAction, FastForm, FastPath, Options, PacketVerdict, Worker,
};

const TABLES: &str = "action I.lead(next: bit<16>) = I.lead\nbody I.lead action {\nblock0:\n kept = $next\n return\n}\n\
    action I.add(m: bit<8>) = I.add\nbody I.add action {\nblock0:\n h.b = h.b + $m\n return\n}\n\
    table I.t {\n key h.a: bit<8> exact = h.a\n action I.lead\n action NoAction\n default NoAction()\n size 256\n}\n\
    table I.u {\n key kept: bit<16> exact = kept\n action I.add\n action NoAction\n default NoAction()\n size 4096\n}\n\
    table I.s {\n key h.a: bit<8> exact = h.a\n key h.a2: bit<8> selector = h.a\n action I.add\n action NoAction\n \
     default NoAction()\n size 256\n implementation I.ap\n}\naction_profile I.ap size 64 selector identity width 8\n\
    table I.w {\n key lost: bit<16> exact = lost\n action I.add\n action NoAction\n default NoAction()\n size 64\n}\n\
    table I.x {\n key h.a: bit<8> ternary = h.a\n action I.forward\n action I.add\n action NoAction\n default NoAction()\n size 64\n}";

const INGRESS: &str = "sm.egress_spec = 9w0x1\napply I.x -> block1\nblock1:\napply I.t -> block2\nblock2:\napply I.u -> block3\n\
    block3:\napply I.s -> block4\nblock4:\nlost = register_read(I.r, 8w0x0)\napply I.w -> block5\nblock5:\nreturn";

/// The first bytes of frames are below this.
const FLOWS: u64 = 8;

fn switch(engine: Engine) -> Switch {
    Blocks {
        more: TABLES,
        ingress: INGRESS,
        ..Blocks::default()
    }
    .load_with(Options {
        engine,
        fast_path: FastPath::BeforePackets,
        ..Options::default()
    })
}

/// The ports by which packets with these first bytes leave the fast path, and their bytes.
fn pass(worker: &mut Worker, firsts: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut packets: Vec<Packet> = firsts.iter().map(|first| Packet::from_bytes(&[*first, 0])).collect();
    let mut verdicts = Vec::new();
    let all = worker.pass(&mut packets, Arrival::default(), 0, &mut verdicts);
    let together = all.map(|leaving| (PacketVerdict::Transmit(leaving.port), leaving.packets));
    let runs = together
        .into_iter()
        .chain(verdicts.iter().map(|run| (run.verdict, run.packets)));
    let verdicts = runs.flat_map(|(verdict, packets)| std::iter::repeat_n(verdict, packets));
    let left = packets.iter().zip(verdicts).map(|(packet, verdict)| match verdict {
        PacketVerdict::Transmit(port) => (port, packet.data().to_vec()),
        other => panic!("the packet leaves on the fast path: {other:?}"),
    });
    left.collect()
}

fn entry(key: EntryMatch, priority: i64, action: EntryAction) -> Entry {
    Entry {
        matches: vec![key],
        priority,
        action,
    }
}

fn mark(number: u64) -> Bits {
    bits(8, (number & 0xff).into())
}

/// Writes to a table, or to an object that its entries refer to. The same number always gives the same write.
fn write(batch: &mut Batch<'_>, number: u64) -> Result<(), ControlError> {
    let part = |shift: u32, count: u64| (number >> shift) % count;
    let (first, key, member) = (part(8, FLOWS), part(16, 5), part(24, 6) as u32);
    let add = || EntryAction::call("add", vec![mark(number >> 32)]);
    let of = |width: u32, value: u64| EntryMatch::Exact(bits(width, value.into()));
    let masked = || EntryMatch::Ternary {
        value: bits(8, first.into()),
        mask: bits(8, 7 >> part(40, 3)),
    };
    match number % 20 {
        0 => batch.insert_entry(
            "I.t",
            &entry(of(8, first), 0, EntryAction::call("lead", vec![bits(16, key.into())])),
        ),
        1 => batch.modify_entry(
            "I.t",
            &entry(of(8, first), 0, EntryAction::call("lead", vec![bits(16, key.into())])),
        ),
        2 => batch.delete_entry("I.t", &[of(8, first)], 0),
        3 => batch.set_default_action("I.t", "lead", &[bits(16, key.into())]),
        4 => batch.insert_entry("I.u", &entry(of(16, key), 0, add())),
        5 => batch.modify_entry("I.u", &entry(of(16, key), 0, add())),
        6 => batch.delete_entry("I.u", &[of(16, key)], 0),
        7 => batch.set_default_action("I.u", "add", &[mark(number >> 32)]),
        8 => batch.reset_default_action("I.u"),
        9 => batch.insert_entry("I.x", &entry(masked(), part(48, 4) as i64 + 1, add())),
        10 => batch.delete_entry("I.x", &[masked()], part(48, 4) as i64 + 1),
        11 => batch.insert_entry("I.w", &entry(of(16, key), 0, add())),
        12 => batch.delete_entry("I.w", &[of(16, key)], 0),
        13 => batch.insert_member("I.ap", member, "add", &[mark(number >> 32)]),
        14 => batch.modify_member("I.ap", member, "add", &[mark(number >> 32)]),
        15 => batch.insert_group("I.ap", member, &[(member, 1), ((member + 1) % 6, 2)]),
        16 => batch.modify_group("I.ap", member, &[((member + key as u32) % 6, 1)]),
        17 => batch.insert_entry("I.s", &entry(of(8, first), 0, EntryAction::Member(member))),
        18 => batch.insert_entry("I.s", &entry(of(8, first), 0, EntryAction::Group(member))),
        _ => batch.delete_entry("I.s", &[of(8, first)], 0),
    }
}

/// Makes one write, or several that packets see at once. Writes that do not suit the tables are refused in both
/// switches.
fn write_both(switches: [&Switch; 2], random: &mut SplitMix64) {
    let kind = random.next_u64() % 8;
    let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
    let refused = switches.map(|switch| {
        let pipeline = &switch.pipeline;
        match kind {
            0 => pipeline
                .write_register("I.r", 0, &bits(16, (numbers[0] % 5).into()))
                .is_err(),
            1 => {
                let all = |batch: &mut Batch<'_>| numbers.iter().try_for_each(|number| write(batch, *number));
                pipeline.atomically(all).is_err()
            }
            _ => pipeline.batch(|batch| write(batch, numbers[0])).is_err(),
        }
    });
    assert_eq!(refused[0], refused[1]);
}

#[test]
fn packets_after_a_write_meet_what_was_written() {
    let [mut compiled, mut interpreted] = [Engine::Jit, Engine::Interpreter].map(switch);
    assert!(compiled.worker.has_fast_path());
    let mut random = SplitMix64::new(7);
    let mut packets = 0;
    for step in 0..6_000 {
        write_both([&compiled, &interpreted], &mut random);
        let expected: Vec<_> = (0..FLOWS as u8)
            .flat_map(|first| interpreted.send(&[first, 0]))
            .collect();
        // Flows are found again, in another order each time.
        for round in 0..6 {
            let firsts: Vec<u8> = (0..FLOWS as u8).map(|first| first ^ round as u8).collect();
            let left = pass(&mut compiled.worker, &firsts);
            packets += left.len() as u64;
            for (first, left) in firsts.iter().zip(left) {
                assert_eq!(left, expected[usize::from(*first)], "step {step}, flow {first}");
            }
        }
    }
    let paths = compiled.worker.paths();
    let cached = paths.fast().find(|(form, _)| *form == FastForm::FlowCache);
    assert_eq!(
        cached,
        Some((FastForm::FlowCache, packets)),
        "nothing switches the cache off"
    );
    // Without the cache there would be five look-ups a packet.
    assert!(paths.flow_misses < packets / 2, "{} of {packets}", paths.flow_misses);
}
