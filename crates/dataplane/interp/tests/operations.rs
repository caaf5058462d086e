//! Every operation and terminator, executed on programs in the text form of the IR.

use forebay_bits::Bits;
use forebay_exec::{
    Buffers, Ended, Event, Input, Lookup, NoTrace, Objects, PacketFacts, Preserve, Requests, State, Tracer,
};
use forebay_interp::Execution;
use forebay_ir::{CounterId, HashAlgorithm, MeterId, Program, RegisterId, TableId, ValueSetId, text};
use std::cell::{Cell, RefCell};

/// Objects that record the operations on them.
#[derive(Default)]
struct FakeObjects {
    register: RefCell<[u128; 4]>,
    counted: Cell<Option<(u64, u32)>>,
    /// Lock and index of sections that began, nothing for those that ended.
    sections: RefCell<Vec<Option<(u32, u64)>>>,
    args: Vec<Bits>,
    action: u32,
    hit: bool,
}

impl Objects for FakeObjects {
    fn lookup(&self, _: TableId, key: &[Bits], _: PacketFacts) -> Lookup<'_> {
        assert_eq!(key[0].width(), 8);
        let action = (self.action != u32::MAX).then_some((self.action, self.args.as_slice()));
        Lookup {
            hit: self.hit.then_some(1),
            action,
            color: self.hit.then_some(2),
        }
    }

    fn value_set_contains(&self, _: ValueSetId, components: &[Bits]) -> bool {
        components == [Bits::new(8, 7), Bits::new(16, 8)]
    }

    fn read_register(&self, _: RegisterId, index: u64) -> Bits {
        Bits::new(16, self.register.borrow().get(index as usize).copied().unwrap_or(0))
    }

    fn write_register(&self, _: RegisterId, index: u64, value: &Bits) {
        self.register.borrow_mut()[index as usize] = value.to_u128();
    }

    fn enter_atomic(&self, lock: u32, index: u64) {
        self.sections.borrow_mut().push(Some((lock, index)));
    }

    fn leave_atomic(&self) {
        self.sections.borrow_mut().push(None);
    }

    fn count(&self, _: CounterId, index: u64, packet: PacketFacts) {
        self.counted.set(Some((index, packet.length_bytes)));
    }

    fn execute_meter(&self, _: MeterId, index: u64, _: u8, packet: PacketFacts) -> Option<u8> {
        (index == 0).then_some(packet.timestamp_us as u8)
    }

    fn hash(&self, _: HashAlgorithm, data: &[u8]) -> u64 {
        data.iter().map(|&byte| u64::from(byte)).sum()
    }
}

const DECLARATIONS: &str = "
program v1model
error NoError
error PacketTooShort
error NoMatch
error StackOutOfBounds
error HeaderTooShort
error ParserTimeout
error ParserInvalidArgument
slot h.$valid$: bit<1> valid h
slot h.a: bit<4> field h
slot h.b: bit<12> field h
slot v.$valid$: bit<1> valid v
slot v.n: bit<8> field v
slot v.data: bit<32> field v
slot v.length: bit<32> varbit_length v
slot x: bit<8> local
slot y: bit<16> local
slot flag: bit<1> local
slot number: bit<32> local
slot huge: bit<200> local
header h h_t { valid h.$valid$ field a = h.a field b = h.b }
header v v_t { valid v.$valid$ field n = v.n field data = v.data length v.length }
field_list 1 { x }
action set(value: bit<8>) = set
action leave() = leave
table t {
  key x: bit<8> exact = x
  action set
  action leave
  default leave()
  size 16
  direct_meter m_direct = y
}
register r: bit<16> size 4 initial 16w0x0
counter c packets size 4
meter m packets size 1
meter m_direct packets direct
value_set vs size 4 { p: bit<8> exact q: bit<16> exact }
digest d receiver 1 { p: bit<8> }
body set action {
block0:
  x = $value
  return
}
body leave action {
block0:
  exit
}
";

struct Run {
    ended: Ended,
    state: State,
    requests: Requests,
    output: Vec<u8>,
    cursor: usize,
    program: Program,
}

impl Run {
    fn slot(&self, name: &str) -> u128 {
        let index = self
            .program
            .slots
            .iter()
            .position(|slot| slot.name == name)
            .expect("a slot's name");
        self.state.get(forebay_ir::SlotId(index as u32)).to_u128()
    }
}

fn program(body: &str) -> Program {
    text::read(&format!("{DECLARATIONS}{body}")).expect("the text form")
}

/// Runs the body `main` of a kind, whose blocks are given.
fn run(kind: &str, blocks: &str, packet: &[u8]) -> Run {
    run_with(kind, blocks, packet, &FakeObjects::default(), 1000)
}

fn run_with(kind: &str, blocks: &str, packet: &[u8], objects: &FakeObjects, step_limit: u64) -> Run {
    let program = program(&format!("body main {kind} {{\n{blocks}\n}}"));
    execute(program, packet, objects, step_limit, &mut NoTrace)
}

fn execute<T: Tracer>(program: Program, packet: &[u8], objects: &FakeObjects, step_limit: u64, tracer: &mut T) -> Run {
    let mut state = State::new(&program);
    let mut requests = Requests::default();
    let mut buffers = Buffers::default();
    let facts = PacketFacts {
        length_bytes: packet.len() as u32,
        timestamp_us: 1,
    };
    let input = Input {
        packet,
        cursor: 0,
        facts,
        random_seed: 7,
        step_limit,
    };
    let main = program
        .bodies
        .iter()
        .position(|body| body.name == "main")
        .expect("main");
    let mut execution = Execution::new(
        &program,
        objects,
        input,
        &mut state,
        &mut requests,
        &mut buffers,
        tracer,
    );
    let ended = execution.run(forebay_ir::BodyId(main as u32));
    let cursor = execution.cursor();
    Run {
        ended,
        state,
        requests,
        output: buffers.output.bytes().to_vec(),
        cursor,
        program,
    }
}

#[test]
fn extract_reads_fields_and_moves_on() {
    let run = run("parser", "block0:\n extract h\n return", &[0xAB, 0xCD, 0xEF]);
    assert_eq!(run.ended, Ended::Returned);
    assert_eq!(
        (run.slot("h.$valid$"), run.slot("h.a"), run.slot("h.b")),
        (1, 0xA, 0xBCD)
    );
    assert_eq!(run.cursor, 16);
}

#[test]
fn extract_of_a_short_packet_changes_nothing() {
    let run = run("parser", "block0:\n extract h\n return", &[0xAB]);
    assert_eq!(run.ended, Ended::Rejected(1));
    assert_eq!((run.slot("h.$valid$"), run.slot("h.a"), run.cursor), (0, 0, 0));
}

#[test]
fn extract_of_variable_length() {
    let parse = |bits: u32, packet: &[u8]| {
        run(
            "parser",
            &format!("block0:\n extract v varbit 32w{bits:#x}\n return"),
            packet,
        )
    };
    let two = parse(16, &[2, 0xAA, 0xBB, 0xCC]);
    assert_eq!((two.slot("v.data"), two.slot("v.length"), two.cursor), (0xAABB, 16, 24));
    assert_eq!(parse(0, &[2]).slot("v.$valid$"), 1);
    assert_eq!(parse(12, &[2, 3, 4]).ended, Ended::Rejected(6), "not whole bytes");
    assert_eq!(parse(16, &[2, 3]).ended, Ended::Rejected(1), "too few bytes");
    assert_eq!(
        parse(40, &[2, 3, 4, 5, 6, 7]).ended,
        Ended::Rejected(4),
        "too many for the field"
    );
    assert_eq!(parse(0xFFFF_FFF8, &[2, 3]).ended, Ended::Rejected(1));
}

#[test]
fn advance_lookahead_and_length() {
    let blocks = "block0:\n advance(32w0x4)\n x = lookahead\n number = packet_length\n return";
    let run_ = run("parser", blocks, &[0x1A, 0xBC]);
    assert_eq!((run_.slot("x"), run_.slot("number"), run_.cursor), (0xAB, 2, 4));
    assert_eq!(
        run("parser", "block0:\n advance(32w0x11)\n return", &[0, 0]).ended,
        Ended::Rejected(1)
    );
    assert_eq!(
        run("parser", "block0:\n y = lookahead\n return", &[0]).ended,
        Ended::Rejected(1)
    );
}

#[test]
fn emit_writes_valid_headers_with_their_present_length() {
    let blocks = "block0:\n h.$valid$ = 1w0x1\n h.a = 4w0xA\n h.b = 12w0xBCD\n v.n = 8w0x7\n v.data = 32w0xAABB\n \
        v.length = 32w0x8\n emit h\n emit v\n v.$valid$ = 1w0x1\n emit v\n return";
    assert_eq!(run("deparser", blocks, &[]).output, [0xAB, 0xCD, 7, 0xBB]);
}

#[test]
fn select_takes_the_first_case_that_matches() {
    let choose = |x: u32, y: u32| {
        let blocks = format!(
            "block0:\n x = 8w{x:#x}\n y = 16w{y:#x}\n number = 32w0x5\n select (x, y) {{\n (8w0x1, _) => block1\n \
             (8w0x10 &&& 8w0xf0, 16w0x1 .. 16w0x9) => block2\n (in vs component 0, in vs component 1) => block3\n \
             (_, = zext(16, x) + 16w0x1) => block4\n (_, = y &&& 16w0xff00) => block5\n default => block6\n }}\n\
             block1:\n number = 32w0x1\n return\nblock2:\n number = 32w0x2\n return\nblock3:\n number = 32w0x3\n return\n\
             block4:\n number = 32w0x4\n return\nblock5:\n number = 32w0x5\n return\nblock6:\n reject 32w0x2"
        );
        run("parser", &blocks, &[])
    };
    assert_eq!(choose(1, 99).slot("number"), 1);
    assert_eq!(choose(0x1F, 9).slot("number"), 2);
    assert_eq!(
        choose(0x1F, 0x1FF).slot("number"),
        5,
        "y &&& 0xff00 is never y itself unless masked"
    );
    assert_eq!(choose(7, 8).slot("number"), 3);
    assert_eq!(choose(8, 9).slot("number"), 4);
}

#[test]
fn select_without_a_match_takes_the_default() {
    let blocks =
        "block0:\n select (x) {\n (8w0x1) => block1\n default => block2\n }\nblock1:\n return\nblock2:\n reject 32w0x2";
    assert_eq!(run("parser", blocks, &[]).ended, Ended::Rejected(2));
}

#[test]
fn branch_and_jump() {
    let blocks = "block0:\n branch flag, block1, block2\nblock1:\n x = 8w0x1\n return\nblock2:\n x = 8w0x2\n jump block3\nblock3:\n exit";
    let run = run("control", blocks, &[]);
    assert_eq!((run.slot("x"), run.ended), (2, Ended::Exited));
}

#[test]
fn apply_runs_the_action_with_its_data() {
    let blocks = "block0:\n apply t hit flag run number -> block1\nblock1:\n return";
    let hit = FakeObjects {
        hit: true,
        args: vec![Bits::new(8, 42)],
        ..FakeObjects::default()
    };
    let run = run_with("control", blocks, &[], &hit, 1000);
    assert_eq!(
        (run.slot("x"), run.slot("flag"), run.slot("number"), run.ended),
        (42, 1, 0, Ended::Returned)
    );
    assert_eq!(run.slot("y"), 2, "the direct meter's colour");
    let miss = FakeObjects {
        action: 1,
        ..FakeObjects::default()
    };
    let run = run_with("control", blocks, &[], &miss, 1000);
    assert_eq!(
        (run.slot("flag"), run.slot("number"), run.ended),
        (0, 1, Ended::Exited),
        "exit in an action ends all"
    );
    let empty_group = FakeObjects {
        hit: true,
        action: u32::MAX,
        ..FakeObjects::default()
    };
    let run = run_with("control", blocks, &[], &empty_group, 1000);
    assert_eq!(
        (run.slot("flag"), run.slot("number"), run.ended),
        (1, 0xFFFF_FFFF, Ended::Returned)
    );
}

#[test]
fn registers_counters_and_meters() {
    let objects = FakeObjects::default();
    let blocks = "block0:\n register_write(r, 2w0x3, 16w0xabcd)\n y = register_read(r, 8w0x3)\n count(c, 64w0x2)\n \
        x = execute_meter(m, 8w0x0)\n number = 32w0x9\n number = execute_meter(m, 8w0x1)\n return";
    let run = run_with("control", blocks, &[0; 60], &objects, 1000);
    assert_eq!((run.slot("y"), run.slot("x")), (0xABCD, 1));
    assert_eq!(
        run.slot("number"),
        9,
        "a meter outside the array leaves its result alone"
    );
    assert_eq!(objects.counted.get(), Some((2, 60)));
}

#[test]
fn atomic_sections_begin_with_a_lock_and_an_index() {
    let objects = FakeObjects::default();
    let blocks = "block0:\n x = 8w0x5\n enter_atomic(7, x)\n leave_atomic\n enter_atomic(0)\n return";
    run_with("control", blocks, &[], &objects, 1000);
    assert_eq!(*objects.sections.borrow(), [Some((7, 5)), None, Some((0, 0))]);
}

#[test]
fn hashes_are_of_packed_data() {
    let blocks = "block0:\n h.a = 4w0x1\n h.b = 12w0x203\n v.data = 32w0xff01\n v.length = 32w0x8\n \
        y = hash crc32 {h.a, h.b, varbit v.data length v.length}\n \
        x = hash crc32 {h.a, h.b} range(8w0x64, 32w0x4)\n number = hash crc32 {h.a, h.b} range(8w0x64, 32w0x0)\n return";
    let run = run("control", blocks, &[]);
    assert_eq!(run.slot("y"), 0x12 + 0x03 + 0x01);
    assert_eq!(run.slot("x"), 100 + 0x15 % 4);
    assert_eq!(run.slot("number"), 100, "max 0 counts as 1");
}

#[test]
fn checksums() {
    let verify = |claimed: u32, condition: u32| {
        let blocks =
            format!("block0:\n verify_checksum csum16 {{8w0x5}} == (16w{claimed:#x}) if (1w{condition:#x})\n return");
        run("control", &blocks, &[]).requests.checksum_error
    };
    assert!(!verify(5, 1));
    assert!(verify(6, 1));
    assert!(!verify(6, 0));
    let blocks = "block0:\n y = update_checksum csum16 {8w0x5, 4w0x1} if (1w0x1) payload\n \
        x = update_checksum csum16 {8w0x5} if (1w0x0)\n return";
    let updated = run("control", blocks, &[1, 2]);
    assert_eq!(updated.slot("y"), 5 + 0x10 + 1 + 2, "the payload begins at a byte");
    assert_eq!(updated.slot("x"), 0);
}

#[test]
fn random_is_within_bounds_and_reproducible() {
    let draw = |bounds: &str| {
        run(
            "control",
            &format!("block0:\n x = 8w0xee\n x = random({bounds})\n return"),
            &[],
        )
        .slot("x")
    };
    assert!((3..=9).contains(&draw("8w0x3, 8w0x9")));
    assert_eq!(draw("8w0x3, 8w0x9"), draw("8w0x3, 8w0x9"));
    assert_eq!(draw("8w0x9, 8w0x3"), 0xEE, "reversed bounds");
}

#[test]
fn requests_are_collected() {
    let blocks = "block0:\n x = 8w0x7\n digest(d, x)\n clone i2e(32w0x5)\n clone i2e(32w0x6, 8w0x1)\n resubmit()\n \
        recirculate(8w0x1)\n truncate(32w0x40)\n truncate(32w0x20)\n truncate(32w0x30)\n x = 8w0x8\n digest(d, x)\n return";
    let requests = run("control", blocks, &[]).requests;
    let clone = requests.clone.expect("a clone");
    assert_eq!((clone.session, clone.preserve.field_list), (6, Some(1)), "the last one");
    assert_eq!(requests.resubmit, Some(Preserve { field_list: None }));
    assert_eq!(requests.recirculate, Some(Preserve { field_list: Some(1) }));
    assert_eq!(requests.truncate_to, Some(0x20), "the least one");
    let digested: Vec<u128> = requests
        .digests
        .iter()
        .map(|digest| digest.values[0].to_u128())
        .collect();
    assert_eq!(digested, [7, 8], "the values when it was called");
}

#[test]
fn digests_are_limited() {
    let blocks = "block0:\n digest(d, x)\n x = x + 8w0x1\n branch x == 8w0x64, block1, block0\nblock1:\n return";
    let requests = run("control", blocks, &[]).requests;
    assert_eq!((requests.digests.len(), requests.digests_lost), (64, 36));
}

#[test]
fn assertions() {
    for op in ["assert", "assume"] {
        let check = |value: u32| {
            run(
                "control",
                &format!("block0:\n {op}(1w{value:#x}, \"it\")\n x = 8w0x1\n return"),
                &[],
            )
        };
        assert_eq!(check(1).ended, Ended::Returned);
        let failed = check(0);
        assert_eq!((failed.ended, failed.slot("x")), (Ended::AssertFailed, 0));
    }
}

#[test]
fn every_loop_ends() {
    let run_ = run("control", "block0:\n x = x + 8w0x1\n jump block0", &[]);
    assert_eq!((run_.ended, run_.slot("x")), (Ended::StepLimit, 500 % 256));
    assert_eq!(run("parser", "block0:\n jump block0", &[]).ended, Ended::StepLimit);
}

#[test]
fn wide_values() {
    let blocks = "block0:\n huge = zext(200, 8w0x1) << 8w0xc7\n x = huge[199:192]\n return";
    assert_eq!(run("control", blocks, &[]).slot("x"), 0x80);
}

/// Collects the events' names and most telling parts.
#[derive(Default)]
struct Events(Vec<String>);

impl Tracer for Events {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Enter { body, kind } => format!("enter {kind:?} {body}"),
            Event::Leave { body, exit } => format!("leave {body} {exit}"),
            Event::ParserState { name, .. } => format!("state {name}"),
            Event::Extract { fields, cursor, .. } => format!("extract {fields:?} to {cursor}"),
            Event::Advance { bits, .. } => format!("advance {bits}"),
            Event::Select { keys, case, .. } => format!("select {keys:?} {case:?}"),
            Event::Branch { taken, .. } => format!("branch {taken}"),
            Event::Lookup {
                key, hit, action, args, ..
            } => format!("lookup {key:?} {} {action}{args:?}", hit.is_some()),
            Event::Assign { old, new, .. } => format!("assign {new} for {old}"),
            Event::Extern {
                name,
                instance,
                index,
                value,
                ..
            } => format!("{name} {instance} {index:?} {value:?}"),
            Event::Emit { valid, .. } => format!("emit {valid}"),
            Event::Log { text, .. } => format!("log {text}"),
            Event::AssertionFailed { text, .. } => format!("failed {text}"),
            Event::ParserError { error, .. } => format!("error {error}"),
            other => format!("{other:?}"),
        });
    }
}

fn trace(kind: &str, blocks: &str, packet: &[u8], objects: &FakeObjects) -> Vec<String> {
    let mut events = Events::default();
    execute(
        program(&format!("body main {kind} {{\n{blocks}\n}}")),
        packet,
        objects,
        1000,
        &mut events,
    );
    events.0
}

#[test]
fn a_parser_is_traced() {
    let blocks = "block0 state start:\n extract h\n select (h.a) {\n (4w0xa) => block1\n default => block2\n }\n\
        block1 state more:\n log \"a is {} of {}\"(h.a, 8w0x10)\n advance(32w0x8)\n x = 8w0x3\n extract h\n return\n\
        block2:\n reject 32w0x2";
    let expected = [
        "enter Parser main",
        "state start",
        "extract [4w0xa, 12w0xbcd] to 16",
        "select [4w0xa] Some(0)",
        "state more",
        "log a is 10 of 16",
        "advance 8",
        "assign 8w0x3 for 8w0x0",
        "error PacketTooShort",
        "leave main false",
    ];
    assert_eq!(
        trace("parser", blocks, &[0xAB, 0xCD, 0xEF], &FakeObjects::default()),
        expected
    );
}

#[test]
fn a_control_is_traced() {
    let blocks = "block0:\n apply t -> block1\nblock1:\n branch flag, block1, block2\n\
        block2:\n register_write(r, 2w0x1, 16w0x5)\n assert(flag, \"flag\")\n return";
    let objects = FakeObjects {
        hit: true,
        args: vec![Bits::new(8, 42)],
        ..FakeObjects::default()
    };
    let expected = [
        "enter Control main",
        "lookup [8w0x0] true set[8w0x2a]",
        "assign 16w0x2 for 16w0x0",
        "enter Action set",
        "assign 8w0x2a for 8w0x0",
        "leave set false",
        "branch false",
        "register.write r Some(1) Some(16w0x5)",
        "failed flag",
        "leave main false",
    ];
    assert_eq!(trace("control", blocks, &[], &objects), expected);
}
