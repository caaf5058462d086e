//! The flow to which a packet belongs, by fields of its headers. Packets are spread over workers by it.

use super::Worker;
use crate::control::names::resolve;
use crate::error::{ControlError, ObjectKind};
use crate::load::{Engine, Pipeline};
use crate::objects::View;
use crate::scratch::Scratch;
use forebay_exec::{Input, NoTrace, PacketFacts, Random, State};
use forebay_ir::pipeline::{Argument, End, Entry, EntryInfo, Finish, GlueBlock, GlueOp, Graph};
use forebay_ir::{Architecture, BlockId, BodyId, Location, SlotId, SlotKind};
use forebay_jit::compile_graph;
use forebay_jit::graph::{FrameInPlace, GraphCode, GraphPacket, GraphPass, GraphSite};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields whose values identify a flow; see [`Pipeline::flow_key`].
#[derive(Clone, Debug)]
pub struct FlowKey {
    slots: Vec<SlotId>,
    /// The program's parser alone, with the engine that compiles.
    code: Option<Arc<GraphCode>>,
}

impl PartialEq for FlowKey {
    /// Whether both have the same fields of the same program.
    fn eq(&self, other: &FlowKey) -> bool {
        self.slots == other.slots
    }
}

impl Eq for FlowKey {}

impl Pipeline {
    /// A key of header fields, given by their names in the program: `hdr.ipv4.src_addr`, or an unambiguous suffix of
    /// it. Also `ingress_port` of the first parser's metadata.
    ///
    /// # Errors
    /// If a name denotes no field, or several.
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
        let slots: Vec<SlotId> = fields.iter().map(find).collect::<Result<_, _>>()?;
        let compile = || {
            let code = compile_graph(&self.program, &self.parser_alone(&slots), self.options.step_limit);
            // Without code, the interpreter does the same.
            code.ok().map(Arc::new)
        };
        let code = match self.options.engine {
            Engine::Interpreter => None,
            Engine::Jit => compile(),
        };
        Ok(FlowKey { slots, code })
    }

    /// The graph of the program's first parser, after which only these slots are needed.
    fn parser_alone(&self, wanted: &[SlotId]) -> Graph {
        let block = |label: &str, ops, end| GlueBlock {
            label: label.to_string(),
            ops,
            end,
            location: Location::default(),
        };
        let port = self.parser_port().map(|slot| GlueOp::Take {
            slot,
            argument: Argument::IngressPort,
        });
        let end = BlockId(1);
        let parse = End::Run {
            body: self.first_parser(),
            next: end,
            reject: Some(end),
        };
        let pairs = wanted.iter().map(|slot| (*slot, *slot)).collect();
        let info = EntryInfo {
            block: BlockId(0),
            preserved: Vec::new(),
        };
        Graph {
            entries: BTreeMap::from([(Entry::Arrival, info)]),
            blocks: vec![
                block("received", port.into_iter().collect(), parse),
                block("parsed", Vec::new(), End::Finish(Finish::Resubmit(pairs))),
            ],
        }
    }

    fn first_parser(&self) -> BodyId {
        let parser = self.program.architecture.roles()[0];
        self.program.stages[&parser]
    }

    /// The slot with the port for the first parser.
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
    /// A hash of the values that the fields of `key` have after the program's parser has read the frame. No lasting
    /// state is changed.
    pub fn flow_hash(&mut self, key: &FlowKey, frame: &[u8], ingress_port: u32) -> u64 {
        let pin = self.reader.pin_again();
        let pipeline = &*self.pipeline;
        let view = View::of_burst(pipeline, &pin, self.scratch.shard, &self.arrays);
        let mut state = self.scratch.pool.any_state(&pipeline.storage.zero);
        self.scratch.scratch.requests.clear();
        let parser = FirstParser {
            pipeline,
            view: &view,
            frame,
            ingress_port,
        };
        match &key.code {
            Some(code) => {
                let site = GraphSite::new(code, &view, &mut self.locations);
                parser.run_compiled(site, &mut self.scratch.scratch, &mut state);
            }
            None => parser.interpret(&mut self.scratch.scratch, &mut state),
        }
        let mut hash = 0u64;
        for &slot in &key.slots {
            for limb in state.get(slot).limbs() {
                hash = (hash ^ limb).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
            }
        }
        self.scratch.pool.recycle_state_alone(state);
        drop(view);
        super::end_burst(pin, self.stays_pinned);
        hash
    }
}

/// A frame before the first parser.
struct FirstParser<'a> {
    pipeline: &'a Pipeline,
    view: &'a View<'a>,
    frame: &'a [u8],
    ingress_port: u32,
}

impl FirstParser<'_> {
    fn facts(&self) -> PacketFacts {
        PacketFacts {
            length_bytes: self.frame.len() as u32,
            timestamp_us: 0,
        }
    }

    fn run_compiled(&self, site: GraphSite<'_>, scratch: &mut Scratch, state: &mut State) {
        let Scratch {
            requests,
            buffers,
            memory,
            ..
        } = scratch;
        let length_max = self.pipeline.options.packet_limit;
        let mut pass = GraphPass::new(site, self.view, length_max, requests, buffers, memory);
        pass.set_argument(Argument::IngressPort, self.ingress_port.into());
        let packet = GraphPacket {
            frame: FrameInPlace {
                start: self.frame.as_ptr().cast_mut(),
                length: self.frame.len(),
                floor: FrameInPlace::UNCHANGED,
            },
            cursor: 0,
            facts: self.facts(),
            random: Random::new(0),
            seed: 0,
        };
        // SAFETY: the graph does not change the frame.
        unsafe { pass.run(site.code.entry(Entry::Arrival), packet, state) };
    }

    fn interpret(&self, scratch: &mut Scratch, state: &mut State) {
        state.clone_from(&self.pipeline.storage.zero);
        if let Some(port) = self.pipeline.parser_port() {
            state.set_number(port, self.ingress_port.into());
        }
        let input = Input {
            packet: self.frame,
            cursor: 0,
            facts: self.facts(),
            random_seed: 0,
            step_limit: self.pipeline.options.step_limit,
        };
        let Scratch { requests, buffers, .. } = scratch;
        let program = &self.pipeline.program;
        forebay_interp::Execution::new(program, self.view, input, state, requests, buffers, &mut NoTrace)
            .run(self.pipeline.first_parser());
    }
}
