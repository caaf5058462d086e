//! Packets that leave specialised code after ingress, because their clones must be executed before they enter egress: see
//! [`Route::leaving`].

use forebay_bits::Bits;
use forebay_exec::{Preserve, Requests, State};
use forebay_ir::pipeline::End;
use forebay_ir::{BlockId, HeaderField, Program, SlotId};
use forebay_jit::GoingOn;
use forebay_jit::graph::At;
use forebay_jit::route::{Route, SendsBack};

/// What is needed to take such packets on in the graph.
#[derive(Debug)]
pub(crate) struct SideExit {
    /// The block of the graph at which they continue.
    block: BlockId,
    /// The slots that they take along, with their widths.
    slots: Vec<(SlotId, u32)>,
    /// The fields of variable length among these, with their lengths.
    varbits: Vec<(SlotId, SlotId)>,
    /// The slot with the bytes of the headers that were valid before ingress.
    header_bytes: SlotId,
    /// The slots that ask to send a packet back.
    sends_back: Option<[SlotId; 2]>,
    /// The number of slots of the program with the graph. Further ones are those of its specialised code.
    slots_of_graph: usize,
}

impl SideExit {
    /// For a program with a graph, and its route through `straight`, which has further slots.
    pub(crate) fn of(program: &Program, straight: &Program, route: &Route) -> Option<SideExit> {
        let slots = route.leaving.as_ref()?;
        let graph = program.graph.as_ref()?;
        let block = graph.blocks.iter().find_map(|block| match block.end {
            End::Run { body, next, .. } if body == route.ingress => Some(next),
            _ => None,
        })?;
        let fields = program.headers.iter().flat_map(|header| &header.fields);
        let varbit = |field: &HeaderField| Some((field.slot, field.length?));
        Some(SideExit {
            block,
            slots: slots.iter().map(|slot| (*slot, straight.slot(*slot).width)).collect(),
            varbits: fields.filter_map(varbit).collect(),
            header_bytes: forebay_arch::v1model::parsed_bytes(program)?,
            sends_back: route.sends_back.as_ref().map(|back| [back.resubmit, back.recirculate]),
            slots_of_graph: program.slots.len(),
        })
    }

    /// The point at which packets continue.
    pub(crate) fn at(&self) -> At {
        At::beginning(self.block)
    }

    /// Gives a packet its state, and returns what it has asked for.
    pub(crate) fn take(&self, noted: &GoingOn, state: &mut State) -> Requests {
        let mut requests = Requests {
            clone: noted.clone,
            truncate_to: noted.truncate_to,
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
        state.set_number(self.header_bytes, noted.header_bytes.into());
        requests
    }
}

/// What a packet keeps that is sent back with this value of a slot of [`SendsBack`].
fn preserve(asked: &Bits) -> Option<Preserve> {
    match asked.to_u64() {
        0 => None,
        SendsBack::NO_LIST => Some(Preserve { field_list: None }),
        list => Some(Preserve {
            field_list: Some((list - SendsBack::FIRST_LIST) as u32),
        }),
    }
}
