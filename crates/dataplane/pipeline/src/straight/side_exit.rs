//! Packets that leave specialised code after ingress, because they need more than their own buffers: see
//! [`Route::leaving`].

use forebay_bits::Bits;
use forebay_exec::{Preserve, Random, Requests, State};
use forebay_ir::pipeline::{End, GlueOp, Graph};
use forebay_ir::{Architecture, BlockId, HeaderField, Program, Role, SlotId};
use forebay_jit::GoingOn;
use forebay_jit::graph::{At, slots_needed_at};
use forebay_jit::route::{Route, SendsBack};

/// What is needed to continue such packets in the graph.
#[derive(Debug)]
pub(crate) struct SideExit {
    /// The position in the graph at which they continue.
    at: At,
    /// The slots whose values go with them, with their widths.
    slots: Vec<(SlotId, u32)>,
    /// The fields of variable length among these, with their lengths.
    varbits: Vec<(SlotId, SlotId)>,
    /// For v1model: the slot with the bytes of the headers that were valid before ingress.
    header_bytes: Option<SlotId>,
    /// Whether ingress draws random numbers.
    draws_random_numbers: bool,
    /// The slots that request to send a packet back: resubmission, recirculation.
    sends_back: Option<[SlotId; 2]>,
    /// The number of slots of the program with the graph. Specialised code has further slots.
    slots_of_graph: usize,
}

impl SideExit {
    /// For a program with a graph, and its route through `straight`, which has further slots.
    pub(crate) fn of(program: &Program, straight: &Program, route: &Route) -> Option<SideExit> {
        let slots = route.leaving.as_ref()?;
        let graph = program.graph.as_ref()?;
        let block = after_ingress(program, graph)?;
        let fields = program.headers.iter().flat_map(|header| &header.fields);
        let varbit = |field: &HeaderField| Some((field.slot, field.length?));
        Some(SideExit {
            at: entrance(graph, block),
            slots: slots.iter().map(|slot| (*slot, straight.slot(*slot).width)).collect(),
            varbits: fields.filter_map(varbit).collect(),
            header_bytes: forebay_arch::v1model::parsed_bytes(program),
            draws_random_numbers: route.draws_random_numbers(straight)[0],
            sends_back: route.sends_back.as_ref().map(|back| [back.resubmit, back.recirculate]),
            slots_of_graph: program.slots.len(),
        })
    }

    /// The point at which packets continue.
    pub(crate) fn at(&self) -> At {
        self.at
    }

    /// The generator of random numbers of a packet that arrived with this seed.
    pub(crate) fn random(&self, noted: &GoingOn, seed: u64) -> Random {
        Random::new(if self.draws_random_numbers { noted.random } else { seed })
    }

    /// Restores a packet's state, and returns its requests.
    pub(crate) fn take(&self, noted: &GoingOn, state: &mut State) -> Requests {
        let mut requests = Requests {
            clone: noted.clone.filter(|_| self.header_bytes.is_some()),
            truncate_to: noted.truncate_to.filter(|_| self.header_bytes.is_some()),
            ..Requests::default()
        };
        let mut rest = &noted.slots[..];
        for &(slot, width) in &self.slots {
            let (bytes, behind) = rest.split_at(width.div_ceil(8) as usize);
            rest = behind;
            let value = Bits::from_bytes_be(width, bytes);
            match self.sends_back {
                Some([resubmit, _]) if slot == resubmit => requests.resubmit = preserve(&value),
                Some([_, recirculate]) if slot == recirculate => requests.recirculate = preserve(&value),
                _ if slot.index() < self.slots_of_graph => state.set(slot, value),
                _ => {}
            }
        }
        for &(field, length) in &self.varbits {
            let (value, bits) = (state.get(field), state.get_u64(length) as u32);
            state.set(field, value.truncate(bits).zext(value.width()));
        }
        if let Some(slot) = self.header_bytes {
            state.set_number(slot, noted.header_bytes.into());
        }
        requests
    }
}

/// The block of the graph that follows ingress.
fn after_ingress(program: &Program, graph: &Graph) -> Option<BlockId> {
    let role = match program.architecture {
        Architecture::V1Model | Architecture::Psa => Role::Ingress,
        Architecture::Pna => Role::MainControl,
    };
    let ingress = program.stages[&role];
    graph.blocks.iter().find_map(|block| match block.end {
        End::Run { body, next, .. } if body == ingress => Some(next),
        _ => None,
    })
}

/// The position at which a block is entered. The digests of a packet that leaves are already noted, so this is after
/// the operation that sends them, where machine code has an entrance.
fn entrance(graph: &Graph, block: BlockId) -> At {
    let begins_with_commit = matches!(graph.block(block).ops.first(), Some(GlueOp::Commit));
    At {
        block,
        op: usize::from(begins_with_commit),
    }
}

/// The slots whose values go with a packet that continues in the graph after ingress. `None` for a program without
/// graph.
pub(super) fn taken_along(program: &Program) -> Option<Vec<SlotId>> {
    let graph = program.graph.as_ref()?;
    Some(slots_needed_at(program, graph, after_ingress(program, graph)?))
}

/// What a packet keeps when it is sent back, by the value of a slot of [`SendsBack`].
fn preserve(asked: &Bits) -> Option<Preserve> {
    match asked.to_u64() {
        0 => None,
        SendsBack::NO_LIST => Some(Preserve { field_list: None }),
        list => Some(Preserve {
            field_list: Some((list - SendsBack::FIRST_LIST) as u32),
        }),
    }
}
