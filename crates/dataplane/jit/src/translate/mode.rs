//! What a function is translated for, and what only such a translation has.

use super::Translator;
use super::burst::Burst;
use super::checksum;
use super::cloning::CloneWanted;
use super::copies::CopyLoop;
use super::counting::{Counted, TakenBack};
use super::flows::FlowSlot;
use crate::route::plan::Leaf;
use cranelift_codegen::ir;
use cranelift_frontend::Variable;
use forebay_ir::{SlotId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// What a function is translated for.
pub(super) enum Mode<'a> {
    /// The graph of an architecture, with the bodies.
    Graph {
        /// The block to which parser errors lead, while a parser is translated.
        on_reject: Option<ir::Block>,
    },
    /// The fast path, or the part of it that finds hashes.
    FastPath(Box<FastPath<'a>>),
}

/// What the translation of the fast path has.
pub(super) struct FastPath<'a> {
    /// The loop over the packets of a burst.
    pub(super) burst: Burst,
    /// Whether the function only finds the hashes of flows.
    pub(super) finds_hashes: bool,
    /// The parser's position, in bits.
    pub(super) cursor: Variable,
    /// Whether a checksum was found to be wrong.
    pub(super) checksum_failed: Variable,
    /// The parser path of packets that end before what the statement reads, if that path was left out.
    pub(super) too_short: Option<usize>,
    /// The path through the parser behind which code is being translated.
    pub(super) path: Option<ParserPath<'a>>,
    /// Packets that bail out after they have been counted. They are translated after everything else.
    pub(super) taken_back: Vec<TakenBack>,
}

/// A path through the parser, and what the code behind it uses.
pub(super) struct ParserPath<'a> {
    pub(super) leaf: &'a Leaf,
    /// After ingress: the output port.
    pub(super) egress_port: Variable,
    /// Bits of the headers that were valid after the parser, if that is needed.
    pub(super) parsed_bits: Option<Variable>,
    /// Sums that are needed again, and the slots that may change in between.
    pub(super) bases: Vec<checksum::Base<'a>>,
    pub(super) changing: checksum::Changing,
    /// By block of the flow: the sums that are known at its beginning; and the sums that are known in the current
    /// block.
    pub(super) sums_before: Vec<checksum::SumsKnown>,
    pub(super) sums_known: checksum::SumsKnown,
    /// In orders in which packets do not wait: the most bytes of the current packet that leave, if the program
    /// truncates packets.
    pub(super) truncate_to: Option<Variable>,
    /// The current packet's slot in the flow cache, if a look-up uses it, and the tables that are looked up with it.
    pub(super) flow_slot: Option<FlowSlot>,
    pub(super) flow_tables: BTreeSet<TableId>,
    /// By leading table: the address of the memo in the record that was found.
    pub(super) memos: BTreeMap<TableId, Variable>,
    /// The clone requested for the current packet, if clones are noted.
    pub(super) clone_wanted: Option<CloneWanted>,
    /// Where the current packet has been counted.
    pub(super) counted: Counted,
    /// The slot with the length that is counted in the current block, unless that is the frame's length: see
    /// [`crate::route::Route::counted_length`].
    pub(super) counted_length: Option<SlotId>,
    /// The loop that makes copies, inside that loop.
    pub(super) copy_loop: Option<CopyLoop>,
    /// Whether the packet is constant: nothing has written to it since the parser, or will while this packet is
    /// current.
    pub(super) packet_rests: bool,
    /// The block at which packets with a wrong checksum continue at once.
    pub(super) on_checksum_error: Option<ir::Block>,
}

impl<'a> ParserPath<'a> {
    pub(super) fn new(leaf: &'a Leaf, egress_port: Variable) -> ParserPath<'a> {
        ParserPath {
            leaf,
            egress_port,
            parsed_bits: None,
            bases: Vec::new(),
            changing: checksum::Changing::default(),
            sums_before: Vec::new(),
            sums_known: checksum::SumsKnown::default(),
            truncate_to: None,
            flow_slot: None,
            flow_tables: BTreeSet::new(),
            memos: BTreeMap::new(),
            clone_wanted: None,
            counted: Counted::default(),
            counted_length: None,
            copy_loop: None,
            packet_rests: false,
            on_checksum_error: None,
        }
    }
}

impl<'a> Translator<'_, 'a, '_> {
    /// Whether the function is the fast path.
    pub(super) fn is_fast_path(&self) -> bool {
        matches!(self.mode, Mode::FastPath(_))
    }

    /// # Panics
    /// If the function is not the fast path.
    pub(super) fn fast_path(&self) -> &FastPath<'a> {
        match &self.mode {
            Mode::FastPath(fast) => fast,
            Mode::Graph { .. } => unreachable!("{NO_FAST_PATH}"),
        }
    }

    /// # Panics
    /// If the function is not the fast path.
    pub(super) fn fast_path_mut(&mut self) -> &mut FastPath<'a> {
        match &mut self.mode {
            Mode::FastPath(fast) => fast,
            Mode::Graph { .. } => unreachable!("{NO_FAST_PATH}"),
        }
    }

    /// The path behind which code is being translated; none in the parser, and in general code.
    pub(super) fn path(&self) -> Option<&ParserPath<'a>> {
        match &self.mode {
            Mode::FastPath(fast) => fast.path.as_ref(),
            Mode::Graph { .. } => None,
        }
    }

    /// The same where there is one.
    pub(super) fn on_path(&self) -> &ParserPath<'a> {
        self.path().expect(NO_PATH)
    }

    /// The same, to be changed.
    pub(super) fn path_mut(&mut self) -> &mut ParserPath<'a> {
        self.fast_path_mut().path.as_mut().expect(NO_PATH)
    }

    /// The loop that makes copies, inside that loop.
    pub(super) fn copy_loop(&self) -> Option<CopyLoop> {
        self.path()?.copy_loop
    }

    /// See [`ParserPath::packet_rests`].
    pub(super) fn packet_rests(&self) -> bool {
        self.path().is_some_and(|path| path.packet_rests)
    }
}

const NO_FAST_PATH: &str = "only the fast path has that";
const NO_PATH: &str = "a path through the parser is being translated";
