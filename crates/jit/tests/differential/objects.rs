//! Objects whose answers are a function of what is asked, and that remember it.

use forebay_bits::Bits;
use forebay_interp::{Lookup, Objects, PacketFacts};
use forebay_ir::{CounterId, HashAlgorithm, MeterId, Program, RegisterId, TableId, ValueSetId};
use std::cell::RefCell;

/// See the [module](self).
pub struct Recorder<'a> {
    program: &'a Program,
    calls: RefCell<Vec<String>>,
    /// Action data by table and action.
    arguments: Vec<Vec<Vec<Bits>>>,
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
    pub fn new(program: &'a Program) -> Self {
        let data = |listed: &forebay_ir::TableAction| {
            let params = program.actions[listed.action.index()].params.iter().zip(0..);
            params.map(|(param, index)| bits(param.width, index)).collect()
        };
        let tables = program
            .tables
            .iter()
            .map(|table| table.actions.iter().map(data).collect());
        Recorder {
            program,
            calls: RefCell::default(),
            arguments: tables.collect(),
        }
    }

    pub fn calls(self) -> Vec<String> {
        self.calls.into_inner()
    }

    fn record(&self, call: String) {
        self.calls.borrow_mut().push(call);
    }
}

impl Objects for Recorder<'_> {
    fn lookup(&self, table: TableId, key: &[Bits], packet: PacketFacts) -> Lookup<'_> {
        self.record(format!("lookup {table:?} {key:?} {packet:?}"));
        let answer = mix(key.iter().flat_map(Bits::limbs));
        let actions = &self.arguments[table.index()];
        let action = (answer % (actions.len() as u64 + 1)) as usize;
        Lookup {
            hit: answer & 256 != 0,
            action: actions.get(action).map(|data| (action as u32, data.as_slice())),
            color: (answer & 512 != 0).then_some((answer >> 10) as u8 & 3),
        }
    }

    fn value_set_contains(&self, set: ValueSetId, components: &[Bits]) -> bool {
        let answer = mix(components.iter().flat_map(Bits::limbs));
        answer.is_multiple_of(2 + u64::from(set.0))
    }

    fn read_register(&self, register: RegisterId, index: u64) -> Bits {
        let array = &self.program.registers[register.index()];
        if index >= array.size {
            return Bits::zero(array.width);
        }
        bits(array.width, mix([register.0.into(), index]))
    }

    fn write_register(&self, register: RegisterId, index: u64, value: &Bits) {
        self.record(format!("write {register:?} {index} {value:?}"));
    }

    fn enter_atomic(&self, _lock: u32, _index: u64) {}

    fn leave_atomic(&self) {}

    fn count(&self, counter: CounterId, index: u64, packet: PacketFacts) {
        self.record(format!("count {counter:?} {index} {packet:?}"));
    }

    fn execute_meter(&self, meter: MeterId, index: u64, packet: PacketFacts) -> Option<u8> {
        self.record(format!("meter {meter:?} {index} {packet:?}"));
        let answer = mix([index]);
        (!answer.is_multiple_of(3)).then_some(answer as u8 & 3)
    }

    fn hash(&self, algorithm: HashAlgorithm, data: &[u8]) -> u64 {
        match algorithm {
            HashAlgorithm::Csum16 => forebay_tables::checksum::internet_checksum(data).into(),
            _ => mix(data.iter().map(|&byte| byte.into()).chain([algorithm as u64])),
        }
    }
}
