//! The fast path does the same as the slow path, or bails out.

use crate::generate;
use crate::objects::Recorder;
use crate::{setting, tables_for};
use forebay_bits::Bits;
use forebay_exec::{
    BitBuffer, Buffers, DigestRequest, Ended, Input, NoTrace, PacketFacts, Preserve, Random, Requests, Seed, State,
};
use forebay_interp::Execution;
use forebay_ir::{
    BinaryOp, BodyId, Expr, Header, HeaderField, Op, Program, Slot, SlotId, SlotKind, build, text, verify,
};
use forebay_jit::route::{
    Argument, Arguments, Cloning, DropWhen, Order, Pass, PassSet, PathId, Replication, Route, SendsBack, Source,
};
use forebay_jit::{
    CopyVerdict, FastPath, FastPathCode, Forms, Frame, Frames, Memory, NotedClones, Rewriting, SentBack, TableObjects,
    Verdict,
};

const DROP_PORT: u32 = 511;
const STEP_LIMIT: u64 = 1000;
const INGRESS_PORT: u32 = 3;
const TIMESTAMP_US: u64 = 5;
const RANDOM_SEED: u64 = 11;
/// Stands for the port of packets that are recirculated.
const AGAIN: u32 = u32::MAX;
/// Packets have fewer bytes than this.
const LENGTH_MAX: usize = 120;
/// All packets together have fewer copies than this.
const COPIES_MAX: usize = 64;

const DROPPED: DropWhen = DropWhen {
    slot: generate::EGRESS_SPEC,
    value: DROP_PORT as u64,
};

/// The names of the slots for requests to send a packet back.
const REQUESTS: [&str; 2] = ["request.resubmit", "request.recirculate"];

/// The program with requests to send a packet back in slots, if there are any.
fn with_slots_for_requests(mut program: Program) -> Program {
    let number = program.slots.len() as u32;
    let mut is_found = false;
    for statement in program.statements_mut() {
        let (slot, list) = match &statement.op {
            Op::Resubmit { field_list } => (SlotId(number), field_list.clone()),
            Op::Recirculate { field_list } => (SlotId(number + 1), field_list.clone()),
            _ => continue,
        };
        is_found = true;
        let constant = |value: u64| build::constant(9, value.into());
        let value = list.map_or(constant(SendsBack::NO_LIST), |list| {
            let list = Expr::ZeroExtend(9, Box::new(list));
            build::binary(BinaryOp::Add, list, constant(SendsBack::FIRST_LIST))
        });
        statement.op = Op::Assign { slot, value };
    }
    let slot = |name: &str| Slot {
        name: name.to_owned(),
        width: 9,
        signed: false,
        kind: SlotKind::Intrinsic,
    };
    if is_found {
        program.slots.extend(REQUESTS.map(slot));
    }
    program
}

fn sends_back(program: &Program) -> Option<SendsBack> {
    let slot = |name| {
        program
            .slots
            .iter()
            .position(|slot| slot.name == name)
            .map(|index| SlotId(index as u32))
    };
    let [resubmit, recirculate] = REQUESTS.map(slot);
    Some(SendsBack {
        resubmit: resubmit?,
        recirculate: recirculate?,
        kept: vec![generate::INSTANCE],
        recirculates_fast: false,
    })
}

fn route(program: &Program) -> Route {
    let mut before_copy = vec![
        (generate::EGRESS_SPEC, Source::EgressPort),
        (generate::INSTANCE, Source::Instance),
    ];
    before_copy.extend(sends_back(program).map(|back| (back.recirculate, Source::Number(0))));
    Route {
        parser: generate::PARSER,
        verify_checksum: generate::EMPTY,
        ingress: generate::CONTROL,
        egress: generate::EGRESS,
        compute_checksum: generate::EMPTY,
        deparser: generate::DEPARSER,
        checksum_error: None,
        parser_error: None,
        egress_spec: generate::EGRESS_SPEC,
        ingress_drop: DROPPED,
        egress_drop: DROPPED,
        requests: Vec::new(),
        sends_back: sends_back(program),
        misses: None,
        counted_length: None,
        before_parser: vec![(generate::EGRESS_SPEC, Source::Argument(Argument::IngressPort))],
        before_egress: Vec::new(),
        replication: Some(Replication {
            group: generate::COPIES,
            before_copy,
        }),
        fixed: Vec::new(),
        cloning: Cloning {
            kept: Some(vec![generate::INSTANCE]),
            from_egress: has_plain_headers(program),
            ..Cloning::default()
        },
        leaving: None,
        without: PassSet::NONE,
    }
}

/// Whether headers and their parts before and after a varbit field consist of whole bytes, and the parser leaves
/// exactly what follows the headers that it has extracted.
fn has_plain_headers(program: &Program) -> bool {
    let kind = |slot: SlotId| program.slot(slot).kind;
    let mut parsing = program.bodies[generate::PARSER.index()].statements();
    let only_extracts = parsing.all(|statement| match &statement.op {
        Op::Advance { .. } => false,
        op => op.target().is_none_or(|slot| !matches!(kind(slot), SlotKind::Valid(_))),
    });
    let bits = |fields: &[HeaderField]| -> u32 { fields.iter().map(|field| program.slot(field.slot).width).sum() };
    let is_whole = |header: &Header| {
        let mut parts = header.fields.split(|field| field.length.is_some());
        parts.all(|fields| bits(fields).is_multiple_of(8))
    };
    let mut ops = program.statements().map(|statement| &statement.op);
    let sets_length = |op: &Op| {
        let target = op.target();
        matches!(op, Op::Assign { .. }) && target.is_some_and(|slot| matches!(kind(slot), SlotKind::VarbitLength(_)))
    };
    only_extracts && program.headers.iter().all(is_whole) && !ops.any(sets_length)
}

/// A port and the bytes that leave by it, or where the packet was dropped.
type Left = Result<(u32, Vec<u8>), &'static str>;

/// The results for a packet: one for itself, or one for each copy; `None` for a packet that must take the slow path.
type Outcome = Option<Vec<Left>>;

/// The results for packets, and the calls of the program's objects.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    verdicts: Vec<Outcome>,
    /// In packet order, if packets are processed one by one.
    calls: Vec<String>,
    /// The digests of packets that did not take the slow path.
    digests: Vec<DigestRequest>,
    /// The sessions of their clones, with the clones' first bytes.
    clones: Vec<(u32, Vec<u8>)>,
    /// What packets that were sent back keep.
    sent_back: Vec<(Preserve, Vec<u8>)>,
}

/// What packets produced in addition to themselves.
#[derive(Default)]
struct Beside {
    digests: Vec<DigestRequest>,
    clones: Vec<(u32, Vec<u8>)>,
    /// What packets that were sent back keep.
    sent_back: Vec<(Preserve, Vec<u8>)>,
}

impl Beside {
    /// Notes a packet that is sent back, if this slot is set.
    fn note_sent_back(&mut self, program: &Program, state: &State, slot: impl Fn(&SendsBack) -> SlotId) -> bool {
        let Some(back) = sends_back(program) else { return false };
        let asked = state.get_u64(slot(&back));
        if asked > 0 {
            let field_list = asked.checked_sub(SendsBack::FIRST_LIST).map(|list| list as u32);
            let kept = (state.get_u64(generate::INSTANCE) as u16).to_be_bytes();
            self.sent_back.push((Preserve { field_list }, kept.to_vec()));
        }
        asked > 0
    }
}

/// The interpreter's results for packets, except for those that bailed out of the fast path.
fn interpreted(program: &Program, packets: &[Vec<u8>], given_up: &[bool], objects: Recorder<'_>) -> Seen {
    interpreted_with(None, program, packets, given_up, objects)
}

/// The same; if a slot is given, rejected packets continue with their error in that slot.
fn interpreted_with(
    errors: Option<SlotId>,
    program: &Program,
    packets: &[Vec<u8>],
    given_up: &[bool],
    objects: Recorder<'_>,
) -> Seen {
    let (mut verdicts, mut beside) = (Vec::new(), Beside::default());
    for ((packet, given_up), number) in packets.iter().zip(given_up).zip(0..) {
        verdicts.push(if *given_up {
            None
        } else {
            interpreted_packet(errors, program, packet, number, &objects, &mut beside)
        });
    }
    Seen {
        verdicts,
        calls: objects.calls(),
        digests: beside.digests,
        clones: beside.clones,
        sent_back: beside.sent_back,
    }
}

fn interpreted_packet(
    errors: Option<SlotId>,
    program: &Program,
    packet: &[u8],
    number: u64,
    objects: &Recorder<'_>,
    beside: &mut Beside,
) -> Outcome {
    let mut state = State::new(program);
    state.set_number(generate::EGRESS_SPEC, INGRESS_PORT.into());
    let seed = Seed::of_packet(RANDOM_SEED, number);
    let mut ingress = Stage::new(program, packet, objects, Requests::default(), seed);
    match (ingress.run(generate::PARSER, &mut state), errors) {
        (Ended::Returned, _) => {}
        (Ended::Rejected(error), Some(slot)) => state.set_number(slot, error.into()),
        _ => return None,
    }
    ingress.parsed_bytes = header_bytes(program, &state);
    if ingress.run(generate::CONTROL, &mut state) == Ended::AssertFailed {
        return Some(vec![Err("assertion")]);
    }
    beside.digests.append(&mut ingress.requests.digests);
    if let Some(clone) = ingress.requests.clone.take() {
        let kept = (state.get_u64(generate::INSTANCE) as u16).to_be_bytes();
        beside.clones.push((clone.session, [&kept[..], packet].concat()));
    }
    if beside.note_sent_back(program, &state, |back| back.resubmit) {
        return Some(vec![Err("resubmitted")]);
    }
    let group = state.get_u64(generate::COPIES) as u16;
    if group != 0 {
        let members = objects.replicas(group).iter();
        let copies = members.map(|member| {
            let mut state = state.clone();
            state.set_number(generate::EGRESS_SPEC, member.egress_port.into());
            state.set_number(generate::INSTANCE, member.instance.into());
            if let Some(back) = sends_back(program) {
                state.set_number(back.recirculate, 0);
            }
            let seed = seed.in_egress(member.egress_port, member.instance);
            ingress.copy(seed).egress(&mut state, member.egress_port, beside)
        });
        return copies.collect();
    }
    let port = state.get_u64(generate::EGRESS_SPEC) as u32;
    if port == DROP_PORT {
        return Some(vec![Err("ingress")]);
    }
    let egress = ingress.copy(seed.in_egress(port, 0));
    egress.egress(&mut state, port, beside).map(|left| vec![left])
}

/// The path of a packet, or of a copy, through some bodies.
struct Stage<'a> {
    program: &'a Program,
    packet: &'a [u8],
    objects: &'a Recorder<'a>,
    requests: Requests,
    buffers: Buffers,
    cursor: usize,
    /// Bytes of the headers that are valid after the parser.
    parsed_bytes: usize,
    /// The seed of the next random numbers.
    seed: u64,
}

impl<'a> Stage<'a> {
    fn new(program: &'a Program, packet: &'a [u8], objects: &'a Recorder<'a>, requests: Requests, seed: Seed) -> Self {
        Stage {
            program,
            packet,
            objects,
            requests,
            buffers: Buffers::default(),
            cursor: 0,
            parsed_bytes: 0,
            seed: seed.value(),
        }
    }

    /// The packet on the other side of the queue, where it draws other random numbers.
    fn copy(&self, seed: Seed) -> Self {
        Stage {
            cursor: self.cursor,
            parsed_bytes: self.parsed_bytes,
            ..Stage::new(self.program, self.packet, self.objects, self.requests.clone(), seed)
        }
    }

    fn run(&mut self, body: BodyId, state: &mut State) -> Ended {
        let input = Input {
            packet: self.packet,
            cursor: self.cursor,
            facts: PacketFacts {
                length_bytes: self.packet.len() as u32,
                timestamp_us: TIMESTAMP_US,
            },
            random_seed: self.seed,
            step_limit: STEP_LIMIT,
        };
        let (requests, buffers, tracer) = (&mut self.requests, &mut self.buffers, &mut NoTrace);
        let mut execution = Execution::new(self.program, self.objects, input, state, requests, buffers, tracer);
        let ended = execution.run(body);
        self.cursor = execution.cursor();
        ended
    }

    /// Egress and deparser; `None` for a packet that must take the slow path.
    fn egress(mut self, state: &mut State, port: u32, beside: &mut Beside) -> Option<Left> {
        if self.run(generate::EGRESS, state) == Ended::AssertFailed {
            return Some(Err("assertion"));
        }
        beside.digests.append(&mut self.requests.digests);
        if let Some(clone) = self.requests.clone.take() {
            beside.clones.push((clone.session, self.clone_from_egress(state)));
        }
        if state.get_u64(generate::EGRESS_SPEC) as u32 == DROP_PORT {
            return Some(Err("egress"));
        }
        let before_deparser = state.clone();
        if self.run(generate::DEPARSER, state) == Ended::AssertFailed {
            return Some(Err("assertion"));
        }
        let again = beside.note_sent_back(self.program, &before_deparser, |back| back.recirculate);
        self.buffers.output.push_from(self.packet, self.cursor);
        let limit = self.requests.truncate_to.map_or(usize::MAX, |limit| limit as usize);
        let mut bytes = self.buffers.output.bytes().to_vec();
        bytes.truncate(limit);
        Some(Ok((if again { AGAIN } else { port }, bytes)))
    }
}

impl Stage<'_> {
    /// The first bytes of a clone from egress: see [`NotedClones::bytes_of`].
    fn clone_from_egress(&self, state: &State) -> Vec<u8> {
        let headers = &self.program.headers;
        let is_valid = |header: &&Header| state.get_u64(header.valid) == 1;
        let length = (self.packet.len() + header_bytes(self.program, state)).saturating_sub(self.parsed_bytes);
        let mut noted = BitBuffer::default();
        noted.push(&Bits::new(16, state.get_u64(generate::INSTANCE).into()));
        [length, self.packet.len()]
            .iter()
            .for_each(|bytes| noted.push(&Bits::new(32, *bytes as u128)));
        headers
            .iter()
            .for_each(|header| noted.push(&Bits::from_bool(is_valid(&header))));
        let rest = headers.len().next_multiple_of(8) - headers.len();
        noted.push(&Bits::zero(rest as u32));
        for header in headers {
            let length = header.fields.iter().find_map(|field| field.length);
            let length = length.map(|length| if is_valid(&header) { state.get_u64(length) } else { 0 });
            length
                .iter()
                .for_each(|bits| noted.push(&Bits::new(32, (*bits).into())));
        }
        let in_order = Route::headers_of_clones(self.program);
        let in_order = in_order.iter().map(|id| &headers[id.index()]);
        for field in in_order.filter(is_valid).flat_map(|header| &header.fields) {
            let value = state.get(field.slot);
            noted.push(&match field.length {
                Some(length) => value.truncate(state.get_u64(length) as u32),
                None => value,
            });
        }
        noted.push_from(self.packet, self.cursor);
        noted.bytes().to_vec()
    }
}

/// Bytes of all valid headers.
fn header_bytes(program: &Program, state: &State) -> usize {
    let valid = program.headers.iter().filter(|header| state.get_u64(header.valid) == 1);
    let bits = valid.flat_map(|header| &header.fields).map(|field| match field.length {
        Some(length) => state.get_u64(length) as usize,
        None => program.slot(field.slot).width as usize,
    });
    bits.sum::<usize>() / 8
}

/// The fast path's results for packets in bursts of at most `burst`.
fn compiled(program: &Program, code: &FastPathCode, packets: &[Vec<u8>], burst: usize, objects: Recorder<'_>) -> Seen {
    let (mut requests, mut buffers, mut memory) = (Requests::default(), Buffers::default(), Memory::default());
    if burst > 1 {
        memory.fetch_few_flows();
    }
    let mut targets = vec![vec![0; FastPathCode::copy_bytes(LENGTH_MAX)]; COPIES_MAX];
    let at = |target: &mut Vec<u8>| Frame {
        start: target.as_mut_ptr(),
        length: usize::MAX,
    };
    let mut copies: Vec<Frame> = targets.iter_mut().map(at).collect();
    let copies_described = described(&mut copies);
    // SAFETY: every place is a vector of its own, large enough for copies of the longest packet.
    unsafe { memory.set_copies(copies_described) };
    let mut path = FastPath::new(Forms::of(code), &objects, &mut requests, &mut buffers, &mut memory);
    let headroom = path.headroom();
    let (mut verdicts, mut digests, mut clones, mut sent_back) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    while verdicts.len() < packets.len() {
        let arguments = Arguments {
            ingress_port: INGRESS_PORT,
            timestamp_us: TIMESTAMP_US,
            last_queue: 7,
            random_seed: Seed::of_packet(RANDOM_SEED, verdicts.len() as u64).value(),
        };
        let rest = &packets[verdicts.len()..];
        let with_room = |packet: &Vec<u8>| [vec![0xA5; headroom], packet.clone()].concat();
        let mut frames: Vec<Vec<u8>> = rest.iter().take(burst).map(with_room).collect();
        let mut places: Vec<Frame> = frames
            .iter_mut()
            .map(|frame| Frame {
                length: frame.len() - headroom,
                start: frame.as_mut_ptr().wrapping_add(headroom),
            })
            .collect();
        // SAFETY: each frame is a vector of its own, with this much headroom.
        let ran = unsafe { path.run(described(&mut places), arguments) };
        path.take_digests(|digest, words| {
            let fields = &program.digests[digest.index()].fields;
            let widths = fields.iter().map(|(_, width)| *width);
            digests.push(DigestRequest::of_words(digest, widths, words));
        });
        let mut noted = NotedClones::default();
        path.take_clones(&mut noted);
        clones.extend(
            noted
                .iter()
                .map(|clone| (clone.session, noted.bytes_of(clone).to_vec())),
        );
        let mut notes = SentBack::default();
        path.take_sent_back(&mut notes);
        // SAFETY: compiled code has written the descriptors of the copies, and has returned.
        let copies = unsafe { std::slice::from_raw_parts(copies_described.first, copies_described.count) };
        for (index, frame) in frames[..ran].iter().enumerate() {
            let verdict = path.verdict(index);
            verdicts.push(left(
                &path,
                verdict,
                (frame, places[index]),
                headroom,
                (&rest[index], copies),
                |note| {
                    let (preserve, kept) = notes.note(note);
                    sent_back.push((preserve, kept.to_vec()));
                },
            ));
        }
        let untouched = frames[ran..].iter().zip(&rest[ran..]);
        for (frame, packet) in untouched {
            assert_eq!(
                frame[headroom..],
                packet[..],
                "a packet after one that bailed out is as it was"
            );
        }
    }
    Seen {
        verdicts,
        calls: objects.calls(),
        digests,
        clones,
        sent_back,
    }
}

/// The descriptors of frames.
fn described(frames: &mut [Frame]) -> Frames {
    Frames {
        first: frames.as_mut_ptr(),
        stride: size_of::<Frame>(),
        count: frames.len(),
    }
}

fn left(
    path: &FastPath<'_>,
    verdict: Verdict,
    (frame, place): (&[u8], Frame),
    headroom: usize,
    (packet, copies): (&[u8], &[Frame]),
    mut sent_back: impl FnMut(u32),
) -> Outcome {
    let dropped = |place| Some(vec![Err(place)]);
    let plain = || {
        let start = place.start.addr() - frame.as_ptr().addr();
        frame[start..][..place.length].to_vec()
    };
    let rewritten = |headers: Rewriting| {
        let mut output = BitBuffer::default();
        output.append(&path.output().bytes()[headers.output_start..], headers.output_bits);
        output.push_from(&frame[headroom..], headers.parsed_bits);
        let mut bytes = output.bytes().to_vec();
        bytes.truncate(headers.length_max as usize);
        bytes
    };
    match verdict {
        Verdict::Plain { port } => Some(vec![Ok((port, plain()))]),
        Verdict::Rewritten { port, headers } => Some(vec![Ok((port, rewritten(headers)))]),
        Verdict::Resubmitted { note } => {
            sent_back(note);
            assert_eq!(frame[headroom..], *packet, "a packet that is resubmitted is as it was");
            dropped("resubmitted")
        }
        Verdict::Recirculated { note, headers } => {
            sent_back(note);
            Some(vec![Ok((AGAIN, headers.map_or_else(plain, rewritten)))])
        }
        Verdict::Replicated { first, count } => {
            let copies = (first..first + count).map(|index| {
                let Frame { start, length } = copies[index];
                let bytes = || {
                    assert!(length <= FastPathCode::copy_bytes(LENGTH_MAX), "it fits");
                    // SAFETY: as above.
                    unsafe { std::slice::from_raw_parts(start, length) }.to_vec()
                };
                match path.memory().copy(index) {
                    CopyVerdict::Leaves { port } => Ok((port, bytes())),
                    CopyVerdict::Dropped { .. } => Err("egress"),
                    CopyVerdict::AssertFailed { .. } => Err("assertion"),
                    CopyVerdict::Recirculated { note } => {
                        sent_back(note);
                        Ok((AGAIN, bytes()))
                    }
                }
            });
            Some(copies.collect())
        }
        Verdict::DroppedInIngress { .. } => dropped("ingress"),
        Verdict::DroppedInEgress { .. } => dropped("egress"),
        Verdict::AssertFailed => dropped("assertion"),
        Verdict::GoesOn(_) => unreachable!("the route of these tests has no such packets"),
        Verdict::BailedOut(_) => {
            assert_eq!(
                frame[headroom..],
                *packet,
                "a packet that takes the slow path is as it was"
            );
            None
        }
    }
}

/// Seeds of programs that once revealed bugs: a header that is extracted and emitted twice; a checksum with the
/// payload after a look-up at which another packet had resumed before; a field, changed by the parser, of a header
/// with a varbit field; copies of a packet with a header whose validity the parser has computed.
const ONCE_DIFFERENT: [u64; 4] = [1_000_222, 2_004_267, 3_001_684, 144_001_726];

/// Lets packets that the parser rejects continue to ingress, on paths of their own once these are requested. Returns
/// how many did.
fn rejected_go_on<'a>(program: &Program, packets: &[Vec<u8>], objects: &impl Fn() -> Recorder<'a>) -> usize {
    let errors = Some(generate::INSTANCE);
    let lenient = Route {
        parser_error: errors,
        ..route(program)
    };
    let code = |paths: &[PathId]| {
        let code = forebay_jit::compile_fast_path(
            program,
            &lenient,
            Order::RunToCompletion,
            STEP_LIMIT,
            paths,
            &mut |_| (),
        );
        code.expect("it compiled without these paths")
    };
    let strict = code(&[]);
    let all = code(strict.left_out());
    let [with_few, with_all] = [&strict, &all].map(|code| compiled(program, code, packets, 5, objects()));
    for seen in [&with_few, &with_all] {
        let bailed_out: Vec<bool> = seen.verdicts.iter().map(Option::is_none).collect();
        let expected = interpreted_with(errors, program, packets, &bailed_out, objects());
        assert_eq!(&expected, seen, "packets {packets:02x?}\n{}", text::write(program));
    }
    let taken = |seen: &Seen| seen.verdicts.iter().flatten().count();
    // There may be no room for paths that were there before.
    taken(&with_all).saturating_sub(taken(&with_few))
}

/// The program of a seed, and the generator of its packets.
fn program_of(seed: u64) -> (Program, Random) {
    let mut random = Random::new(seed);
    let program = if ONCE_DIFFERENT.contains(&seed) {
        generate::former_program(&mut random, true)
    } else {
        generate::program(&mut random, true)
    };
    let program = with_slots_for_requests(program);
    let errors = verify::verify(&program);
    assert!(
        errors.is_empty(),
        "seed {seed}: {}\n{}",
        errors[0],
        text::write(&program)
    );
    (program, random)
}

/// What programs have shown.
#[derive(Default)]
struct Totals {
    /// Programs without a fast path, and those with a flow cache.
    without: u64,
    caching: u64,
    /// Packets that took the fast path, and those that bailed out.
    taken: usize,
    given_up: usize,
    copied: usize,
    sent_back: usize,
    rejected: usize,
}

impl Totals {
    /// Compares the forms of a program with the interpreter.
    fn add_program(&mut self, seed: u64) {
        let (program, mut random) = program_of(seed);
        // Every fourth program is compiled without one of the passes.
        let left_out = Pass::ALL[(seed / 4) as usize % Pass::ALL.len()];
        let route = Route {
            without: (seed % 4 == 3).then_some(left_out).into_iter().collect(),
            ..route(&program)
        };
        if route.is_blocked(&program, STEP_LIMIT) {
            self.without += 1;
            return;
        }
        let form = |order| {
            let code = forebay_jit::compile_fast_path(&program, &route, order, STEP_LIMIT, &[], &mut |_| ());
            code.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
        };
        let straight = form(Order::RunToCompletion);
        let staged = (!route.keeps_order(&program)).then(|| form(Order::Staged));
        let packets: Vec<Vec<u8>> = (0..8)
            .map(|_| {
                let length = random.next_u64() % LENGTH_MAX as u64;
                (0..length).map(|_| generate::packet_byte(&mut random)).collect()
            })
            .collect();
        let tables = tables_for(&program, &packets, |packet, objects| {
            interpreted_packet(None, &program, packet, 0, objects, &mut Beside::default());
        });
        let mut reader = tables.domain.reader();
        let pin = reader.pin();
        let objects = || Recorder::new(&program, &tables, &pin);
        let one_by_one = compiled(&program, &straight, &packets, 1, objects());
        let bailed_out: Vec<bool> = one_by_one.verdicts.iter().map(Option::is_none).collect();
        let expected = interpreted(&program, &packets, &bailed_out, objects());
        let agrees = |expected: &Seen, seen: &Seen| {
            assert_eq!(
                expected,
                seen,
                "seed {seed}, packets {packets:02x?}\n{}",
                text::write(&program)
            );
        };
        agrees(&expected, &one_by_one);
        agrees(&expected, &compiled(&program, &straight, &packets, 5, objects()));
        // The second time, all flows are known.
        let (twice, bailed_out_twice) = ([packets.clone(), packets.clone()].concat(), bailed_out.repeat(2));
        let expected_twice = interpreted(&program, &twice, &bailed_out_twice, objects());
        let cached = form(Order::Cached);
        agrees(&expected_twice, &compiled(&program, &cached, &twice, 5, objects()));
        if let Some(staged) = staged {
            let mut staged = compiled(&program, &staged, &packets, 5, objects());
            // In the staged variant, packets with digests take the slow path.
            let bailed_out: Vec<bool> = staged.verdicts.iter().map(Option::is_none).collect();
            let mut expected = interpreted(&program, &packets, &bailed_out, objects());
            expected.calls.sort();
            staged.calls.sort();
            agrees(&expected, &staged);
        }
        self.rejected += rejected_go_on(&program, &packets, &objects);
        self.caching += u64::from(cached.caches_flows());
        self.sent_back += expected.sent_back.len();
        let outcomes = expected.verdicts.iter().flatten();
        self.copied += outcomes.filter(|outcome| outcome.len() > 1).count();
        let given_up = bailed_out.iter().filter(|bailed_out| **bailed_out).count();
        self.given_up += given_up;
        self.taken += bailed_out.len() - given_up;
    }
}

#[test]
fn the_fast_path_does_the_same() {
    let first = setting("FOREBAY_DIFFERENTIAL_SEED", 0);
    let rounds = setting("FOREBAY_DIFFERENTIAL_ROUNDS", 150);
    let mut totals = Totals::default();
    let seeds = (first..first + rounds).chain(ONCE_DIFFERENT);
    seeds.for_each(|seed| totals.add_program(seed));
    let Totals {
        without,
        caching,
        taken,
        given_up,
        copied,
        sent_back,
        rejected,
    } = totals;
    assert!(
        2 * taken > given_up,
        "{taken} packets took the fast path, {given_up} did not"
    );
    assert!(200 * copied > taken, "{copied} of {taken} packets were copied");
    assert!(100 * sent_back > taken, "{sent_back} of {taken} packets were sent back");
    assert!(
        20 * rejected > taken,
        "{rejected} packets that the parser rejects, {taken} others"
    );
    assert!(4 * caching > rounds, "{caching} of {rounds} programs have a flow cache");
    // Programs that read in egress what ingress writes.
    assert!(
        10 * without <= rounds,
        "{without} of {rounds} programs have no fast path"
    );
}
