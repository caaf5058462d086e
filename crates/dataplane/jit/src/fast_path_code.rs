//! The finished machine code of a fast path, and the forms in which a program has it.

use crate::arrays::ArraysShape;
use crate::code::{CodeMemory, Entry};
use crate::context::Memory;
use crate::flow_slots::SlotLayout;
use crate::packet_context::Shape;
use crate::route::plan::COMPOSED_BITS_MAX;
use crate::route::{Obstacle, Order, PathId};
use crate::tables::TableObjects;
use forebay_ir::TableId;

/// The compiled fast path of a program in one of its forms; shared by all threads.
#[derive(Debug)]
pub struct FastPathCode {
    /// Unique among all code.
    pub(crate) number: u64,
    pub(crate) entries: Entries,
    pub(crate) metadata: FastPathMetadata,
    _memory: CodeMemory,
}

/// The functions of a fast path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    /// Executes packets.
    pub(crate) packets: Entry,
    /// The size of `packets` in bytes.
    pub(crate) packets_bytes: usize,
    /// Computes the hashes of packets' flows, if there is a flow cache.
    pub(crate) hashes: Option<Entry>,
}

/// What the run time must know of the code of a fast path.
#[derive(Clone, Debug)]
pub(crate) struct FastPathMetadata {
    /// Words of temporaries.
    pub(crate) temporaries: usize,
    /// See [`FastPathCode::headroom`].
    pub(crate) headroom: usize,
    /// Lanes and queues.
    pub(crate) shape: Shape,
    /// Whether packets may become copies.
    pub(crate) copies: bool,
    /// The most clones of a packet that may be recorded, whether each must be executed before the next packet, and
    /// whether they must be executed in order.
    pub(crate) clones: usize,
    pub(crate) clones_first: bool,
    pub(crate) clones_in_order: bool,
    /// Whether packets request changes of tables, pools or quotas.
    pub(crate) asks_tables: bool,
    /// The shape of the program's arrays.
    pub(crate) arrays: ArraysShape,
    /// Whether packets may be truncated.
    pub(crate) truncates: bool,
    /// What was left out at planning.
    pub(crate) obstacles: Vec<Obstacle>,
    /// Whether packets are batched at look-ups.
    pub(crate) staged: bool,
    /// Whether all packets of a burst have the same verdict, and no packet is read.
    pub(crate) uniform: bool,
    /// Whether this also holds for later packets from the same port, as long as the tables do not change.
    pub(crate) steady: bool,
    /// Tables whose locations the code reads.
    pub(crate) searched: Vec<TableId>,
    /// The layout of slots in the flow cache, if there is one.
    pub(crate) slots: Option<SlotLayout>,
    /// See [`FastPathCode::left_out`].
    pub(crate) left_out: Vec<PathId>,
}

impl FastPathCode {
    /// Finished code.
    ///
    /// # Safety
    ///
    /// The entries are functions in that memory, and need no more than `metadata` says.
    pub(crate) unsafe fn new(memory: CodeMemory, entries: Entries, metadata: FastPathMetadata) -> Self {
        FastPathCode {
            number: crate::code::next_number(),
            entries,
            metadata,
            _memory: memory,
        }
    }

    /// Bytes in front of a frame that the code may read and write.
    pub fn headroom(&self) -> usize {
        self.metadata.headroom
    }

    /// The machine code, for disassemblers and profilers, at the address where it is executed.
    pub fn machine_code(&self) -> &[u8] {
        // SAFETY: the memory is readable, holds the function in this length, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.entries.packets as *const u8, self.entries.packets_bytes) }
    }

    /// What keeps packets off the fast path because the program is too large, or because its copies cannot be put
    /// together.
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.metadata.obstacles
    }

    /// The left-out paths through the parser, and beginnings of paths: packets on them
    /// [bail out](crate::route::BailOut::TooLarge).
    pub fn left_out(&self) -> &[PathId] {
        &self.metadata.left_out
    }

    /// The unique number of this code.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether look-ups use the flow cache. In a program without look-ups [`Order::Cached`] generates the same code as
    /// [`Order::RunToCompletion`].
    #[inline]
    pub fn caches_flows(&self) -> bool {
        self.metadata.slots.is_some()
    }

    /// Whether packets may become copies on the fast path.
    #[inline]
    pub fn makes_copies(&self) -> bool {
        self.metadata.copies
    }

    /// Whether clones of packets may be [recorded](crate::FastPath::take_clones).
    #[inline]
    pub fn notes_clones(&self) -> bool {
        self.clones_of_each() > 0
    }

    /// Whether clones must be executed in the order of their packets.
    #[inline]
    pub fn keeps_order_of_clones(&self) -> bool {
        self.metadata.clones_in_order
    }

    /// The most clones of a packet that may be recorded, one per session.
    #[inline]
    pub fn clones_of_each(&self) -> usize {
        self.metadata.clones
    }

    /// Updates the locations of its tables: see [`Memory::locate`].
    pub(crate) fn locate(&self, memory: &mut Memory, objects: &dyn TableObjects) -> usize {
        memory.locate(self.number, &self.metadata.searched, objects)
    }

    /// The most bytes that a copy of a frame needs.
    pub fn copy_bytes(frame_bytes: usize) -> usize {
        frame_bytes + (COMPOSED_BITS_MAX / 8) as usize
    }
}

/// Tables of at most this total size are assumed to be in near caches, so packets are not batched at look-ups.
const NEAR_BYTES: usize = 512 << 10;

/// The compiled forms of a fast path.
#[derive(Clone, Copy, Debug)]
pub struct Forms<'a> {
    /// The form that is compiled first: [`Order::Cached`], unless a test selects another one.
    pub first: &'a FastPathCode,
    /// [`Order::RunToCompletion`].
    pub straight: Option<&'a FastPathCode>,
    /// [`Order::Staged`].
    pub staged: Option<&'a FastPathCode>,
}

impl<'a> Forms<'a> {
    /// Only this form.
    pub fn of(first: &'a FastPathCode) -> Forms<'a> {
        Forms {
            first,
            straight: None,
            staged: None,
        }
    }

    /// The form for a burst that does not use the flow cache, with its tables located; and a missing form that would be
    /// better.
    pub(crate) fn without_cache(
        self,
        memory: &mut Memory,
        objects: &dyn TableObjects,
    ) -> (&'a FastPathCode, Option<Order>) {
        let is_straight = !self.first.caches_flows();
        let straight = self.straight.or(is_straight.then_some(self.first));
        let bytes = straight.unwrap_or(self.first).locate(memory, objects);
        match (straight, self.staged) {
            (None, _) => (self.first, Some(Order::RunToCompletion)),
            (Some(straight), _) if bytes <= NEAR_BYTES => (straight, None),
            (Some(straight), None) => (straight, Some(Order::Staged)),
            (_, Some(staged)) => {
                staged.locate(memory, objects);
                memory.forget_memos(NEAR_BYTES);
                (staged, None)
            }
        }
    }

    /// The lanes and queues that are enough for all forms.
    pub(crate) fn shape(self) -> Shape {
        let others = [self.straight, self.staged].into_iter().flatten();
        others.fold(self.first.metadata.shape, |shape, code| shape.or(code.metadata.shape))
    }
}
