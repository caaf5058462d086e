//! Objects whose results are a function of the arguments, and which record their calls. Tables are real ones.

use forebay_bits::Bits;
use forebay_exec::{Lookup, Objects, PacketFacts};
use forebay_ir::{CounterId, HashAlgorithm, MeterId, Program, RegisterId, TableId, Unit, ValueSetId};
use forebay_jit::route::Replica;
use forebay_jit::{Arrays, Members, RegisterBanks, TableObjects};
use forebay_tables::{
    ActionCall, ActionId, ActionRef, ActionScope, ActionSpec, CounterArray, CounterKind, CounterValue, Domain,
    EntryAction, HitTimes, Implementation, KeyMatch, KeySpec, MatchKind, NewEntry, Pin, RegisterArray, Table,
    TableSpec, TableView,
};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The most entries of a table.
const SIZE: usize = 1000;

/// Tables of a program.
pub struct Tables {
    pub domain: Arc<Domain>,
    tables: Vec<Table>,
}

impl Tables {
    /// Empty tables.
    pub fn new(program: &Program) -> Self {
        let domain = Domain::new();
        let leading = forebay_jit::leading_tables(program);
        let tables = program.tables.iter().zip((0..).map(TableId)).map(|(table, id)| {
            let actions = table.actions.iter().zip(0..).map(|(listed, index)| {
                let params = program.actions[listed.action.index()].params.iter();
                let widths = params.map(|param| param.width).collect();
                ActionSpec::new(ActionId(index), widths, ActionScope::TableAndDefault)
            });
            let key = |key: &forebay_ir::TableKey| KeySpec {
                width: key.width,
                kind: MatchKind::Exact,
            };
            let default = &table.default_action;
            let spec = TableSpec {
                keys: table.keys.iter().map(key).collect(),
                size: SIZE,
                actions: actions.collect(),
                default_action: ActionCall::new(ActionId(default.action), default.args.clone()),
                const_default: false,
                implementation: Implementation::Direct,
                memo: leading.contains(&id),
                learns: program.learns(id),
            };
            Table::in_domain(spec, &domain)
        });
        Tables {
            tables: tables.collect(),
            domain: Arc::clone(&domain),
        }
    }

    /// Adds entries for some of the keys that were looked up.
    pub fn fill(&mut self, keys: Vec<(TableId, Vec<Bits>)>) {
        for (table, key) in keys {
            let answer = mix(key.iter().flat_map(Bits::limbs));
            let table = &mut self.tables[table.index()];
            if answer.is_multiple_of(3) {
                continue;
            }
            let action = &table.spec().actions[(answer >> 8) as usize % table.spec().actions.len()];
            let widths = action.parameter_widths.iter().zip(0..);
            let data = widths.map(|(&width, index)| bits(width, answer ^ index)).collect();
            let call = EntryAction::Call(ActionCall::new(action.id, data));
            let key = key.into_iter().map(KeyMatch::Exact).collect();
            // The same key may occur again.
            let _ = table.insert(NewEntry::new(key, 0, call));
        }
    }

    fn view(&self, table: TableId) -> &TableView {
        self.tables[table.index()].view()
    }
}

/// See the [module](self).
pub struct Recorder<'a> {
    calls: RefCell<Vec<String>>,
    registers: Vec<RegisterArray>,
    counters: Vec<CounterArray>,
    _hit_times: Vec<Option<HitTimes>>,
    /// The addresses of the arrays for compiled code.
    arrays: Arrays,
    tables: &'a Tables,
    pin: &'a Pin<'a>,
    keys: RefCell<Vec<(TableId, Vec<Bits>)>>,
}

/// A number that depends on all words.
fn mix(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0x9E37_79B9_7F4A_7C15, |state, word| {
        let mixed = (state ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed ^ mixed >> 29
    })
}

fn bits(width: u32, seed: u64) -> Bits {
    let limbs: Vec<u64> = (0..u64::from(width.div_ceil(64)))
        .map(|index| mix([seed, index]))
        .collect();
    Bits::from_limbs(width, &limbs)
}

impl<'a> Recorder<'a> {
    pub fn new(program: &Program, tables: &'a Tables, pin: &'a Pin<'a>) -> Self {
        let registers = registers(program);
        let counters: Vec<CounterArray> = program.counters.iter().map(counter).collect();
        let times = |table: &forebay_ir::Table| {
            table
                .supports_timeout
                .then(|| HitTimes::new(SIZE).expect("few entries"))
        };
        let hit_times: Vec<Option<HitTimes>> = program.tables.iter().map(times).collect();
        // SAFETY: a caller that gets the arrays borrows the recorder that holds them.
        let arrays = unsafe {
            let counter = |id: CounterId| counters[id.index()].shard_words(SHARD);
            let hit_times = |id: TableId| hit_times[id.index()].as_ref().map(HitTimes::words);
            Arrays::new(program, |id: RegisterId| &registers[id.index()], counter, hit_times)
        };
        Recorder {
            registers,
            counters,
            _hit_times: hit_times,
            arrays,
            calls: RefCell::default(),
            tables,
            pin,
            keys: RefCell::default(),
        }
    }

    /// The keys that were looked up in tables.
    pub fn keys(&self) -> Vec<(TableId, Vec<Bits>)> {
        self.keys.take()
    }

    /// The calls, and the elements of registers and counters that have changed.
    pub fn calls(self) -> Vec<String> {
        let Recorder {
            registers,
            counters,
            calls,
            ..
        } = self;
        let mut calls = calls.into_inner();
        for (id, array) in (0..).zip(&registers) {
            let changed =
                (0..array.len() as u64).filter(|&index| array.read(index) != initial(id, array.width(), index));
            calls.extend(changed.map(|index| format!("register {id} at {index}: {:?}", array.read(index))));
        }
        for (id, array) in counters.iter().enumerate() {
            let counted = (0..array.len() as u64).map(|index| (index, array.read(index)));
            let counted = counted.filter(|(_, value)| *value != CounterValue::default());
            calls.extend(counted.map(|(index, value)| format!("counter {id} at {index}: {value:?}")));
        }
        calls
    }

    fn record(&self, call: String) {
        self.calls.borrow_mut().push(call);
    }
}

/// Members of groups.
const MEMBERS: [Replica; 3] = [member(4, 0), member(4, 1), member(9, 7)];

const fn member(egress_port: u32, instance: u16) -> Replica {
    Replica { egress_port, instance }
}

/// The shard in which packets are counted.
const SHARD: usize = 0;

/// Registers whose elements differ.
fn registers(program: &Program) -> Vec<RegisterArray> {
    let registers = RegisterBanks::of(program).arrays(program).expect("they are small");
    for (id, array) in (0..).zip(&registers) {
        for index in 0..array.len() as u64 {
            array.write(index, &initial(id, array.width(), index));
        }
    }
    registers
}

fn initial(register: u32, width: u32, index: u64) -> Bits {
    bits(width, mix([register.into(), index]))
}

fn counter(declared: &forebay_ir::Counter) -> CounterArray {
    let kind = match declared.unit {
        Unit::Packets => CounterKind::Packets,
        Unit::Bytes => CounterKind::Bytes,
        Unit::PacketsAndBytes => CounterKind::PacketsAndBytes,
    };
    let array = CounterArray::new(kind, declared.size.unwrap_or(0) as usize).expect("it is small");
    array.make_shard(SHARD);
    array
}

impl TableObjects for Recorder<'_> {
    fn replicas(&self, group: u16) -> &[Replica] {
        match group % 4 {
            0 => &[],
            members => &MEMBERS[..usize::from(members)],
        }
    }

    fn arrays(&self) -> &Arrays {
        &self.arrays
    }

    fn held_lock(&self) -> *mut *const AtomicU64 {
        std::ptr::null_mut()
    }

    fn table(&self, table: TableId) -> &TableView {
        self.tables.view(table)
    }

    fn pin(&self) -> &Pin<'_> {
        self.pin
    }

    fn hit(&self, _: TableId, _: u32, _: PacketFacts) -> Option<u8> {
        unreachable!("no table counts or meters hits")
    }

    fn miss(&self, _: TableId, _: PacketFacts) -> Option<u8> {
        unreachable!("no table counts or meters misses")
    }

    fn meter_lines(&self, _: MeterId, _: u64) -> [usize; 2] {
        [0; 2]
    }

    fn find_member(&self, _: &Members, _: &[u64], _: &mut Vec<Bits>, _: &mut [u64]) -> bool {
        unreachable!("there are no action profiles")
    }

    fn take_back_count(&self, _: CounterId, _: u64, _: PacketFacts) {
        unreachable!("every counter has words of the worker's own")
    }
}

impl Objects for Recorder<'_> {
    fn lookup(&self, table: TableId, key: &[Bits], _: PacketFacts) -> Lookup<'_> {
        self.keys.borrow_mut().push((table, key.to_vec()));
        let found = self.tables.view(table).lookup(key, self.pin);
        let ActionRef::Call(call) = found.action else {
            unreachable!("there are no action profiles")
        };
        Lookup {
            hit: found.hit.map(|entry| entry.id().0),
            action: Some((call.action.0, &call.args)),
            color: None,
        }
    }

    fn value_set_contains(&self, set: ValueSetId, components: &[Bits]) -> bool {
        let answer = mix(components.iter().flat_map(Bits::limbs));
        answer.is_multiple_of(2 + u64::from(set.0))
    }

    fn read_register(&self, register: RegisterId, index: u64) -> Bits {
        self.registers[register.index()].read(index)
    }

    fn write_register(&self, register: RegisterId, index: u64, value: &Bits) {
        self.registers[register.index()].write(index, value);
    }

    fn enter_atomic(&self, _lock: u32, _index: u64) {}

    fn leave_atomic(&self) {}

    fn count(&self, counter: CounterId, index: u64, packet: PacketFacts) {
        self.counters[counter.index()].count(SHARD, index, packet.length_bytes.into());
    }

    fn execute_meter(&self, meter: MeterId, index: u64, before: u8, packet: PacketFacts) -> Option<u8> {
        self.record(format!("meter {meter:?} {index} {before} {packet:?}"));
        let answer = mix([index]);
        (!answer.is_multiple_of(3)).then_some(answer as u8 & 3)
    }

    fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match algorithm {
            HashAlgorithm::Csum16 => forebay_tables::checksum::internet_checksum(data).into(),
            HashAlgorithm::Crc32 => forebay_tables::hash::crc32(data),
            HashAlgorithm::Crc16 => forebay_tables::hash::crc16(data),
            _ => mix(data
                .iter()
                .map(|&byte| byte.into())
                .chain(format!("{algorithm:?}").bytes().map(u64::from))),
        }
    }
}
