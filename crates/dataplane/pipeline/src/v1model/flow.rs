//! To which flow a packet belongs, by fields of its headers: what spreads packets over workers.

use super::pass::Pass;
use super::{Burst, Worker};
use crate::control::names::resolve;
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use forebay_exec::{Input, NoTrace, PacketFacts};
use forebay_ir::{Architecture, SlotId, SlotKind};

/// Fields whose values make a flow; see [`Pipeline::flow_key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowKey(Vec<SlotId>);

impl Pipeline {
    /// Header fields by their names in the program: `hdr.ipv4.src_addr`, or a suffix of it that is not ambiguous. Also
    /// `ingress_port` of the metadata that the first parser is given.
    ///
    /// # Errors
    /// When a name means nothing, or several fields.
    pub fn flow_key<S: AsRef<str>>(&self, fields: &[S]) -> Result<FlowKey, ControlError> {
        let port = self.parser_port();
        let slots = (0..).map(SlotId).zip(&self.program.slots);
        let (ids, names): (Vec<SlotId>, Vec<&str>) = slots
            .filter(|(id, slot)| Some(*id) == port || matches!(slot.kind, SlotKind::Field(_)))
            .map(|(id, slot)| (id, slot.name.as_str()))
            .unzip();
        let find = |name: &S| {
            let index = resolve(ObjectKind::HeaderField, name.as_ref(), names.iter().copied())?;
            Ok(ids[index])
        };
        fields.iter().map(find).collect::<Result<_, _>>().map(FlowKey)
    }

    /// The port that the first parser is told of.
    fn parser_port(&self) -> Option<SlotId> {
        let name = match self.program.architecture {
            Architecture::V1Model => "ingress_port",
            Architecture::Psa => "psa_ingress_parser_input_metadata.ingress_port",
            Architecture::Pna => "pna_main_parser_input_metadata.input_port",
        };
        self.program.intrinsic.get(name).copied()
    }
}

impl Worker {
    /// A hash of the values that the fields of `key` have when the program's parser has read the frame. Nothing lasting is
    /// changed.
    pub fn flow_hash(&mut self, key: &FlowKey, frame: &[u8], ingress_port: u32) -> u64 {
        let mut hash = 0u64;
        self.burst(None, |bench, burst| {
            let pipeline = burst.pipeline;
            let mut packet = bench.pool.packet();
            bench.pool.renew_state(&mut packet, &pipeline.storage.zero);
            let state = packet.state();
            if let Some(port) = pipeline.parser_port() {
                state.set_number(port, ingress_port.into());
            }
            bench.scratch.requests.clear();
            let input = parser_input(burst, frame);
            let parser = pipeline.program.architecture.roles()[0];
            Pass::new(burst, input, state, &mut bench.scratch, &mut NoTrace).run(pipeline.program.stages[&parser]);
            for &slot in &key.0 {
                for limb in state.get(slot).limbs() {
                    hash = (hash ^ limb).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
                }
            }
            bench.pool.recycle_packet(packet);
        });
        hash
    }
}

fn parser_input<'a>(burst: Burst<'a>, packet: &'a [u8]) -> Input<'a> {
    Input {
        packet,
        cursor: 0,
        facts: PacketFacts {
            length_bytes: packet.len() as u32,
            timestamp_us: 0,
        },
        random_seed: 0,
        step_limit: burst.pipeline.options.step_limit,
    }
}
