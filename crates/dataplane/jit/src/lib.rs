//! Compiles the intermediate representation to machine code, with Cranelift. The code does what the interpreter does,
//! faster.
//!
//! [`compile_graph`] turns a [`forebay_ir::Program`] and the glue of its architecture into one function ([`graph`]).
//! This is the general code: a [`graph::GraphPass`] takes packets through it with the same state, objects and requests
//! as the interpreter (`forebay-interp`), and with the same result for every packet: bytes, drops, registers, counters,
//! step limits. Only the interpreter traces. [`compile_fast_path`] makes specialised code for a program ([`route`]),
//! through which a [`FastPath`] takes bursts. That takes longer to compile; until it is done, packets use the general
//! code.
//!
//! ```text
//!   Program ──► analysis ──► translate ──► Cranelift ──► GraphCode, FastPathCode
//!                                                         │ calls
//!                                                         ▼
//!                         runtime: tables, registers, hashes, values wider than 128 bits
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `analysis.rs` | the parser's position in the packet, the number of steps of a body |
//! | `translate/` | translates bodies to Cranelift's representation |
//! | `compile.rs` | the module, its functions |
//! | `route/` | plans the fast path: what is known about packets after each path through the parser |
//! | `code.rs` | the memory of finished code, and the locations of its tables |
//! | `graph.rs` | an architecture's graph as one function, with its entries and suspension points |
//! | `live_slots.rs`, `body_liveness.rs` | liveness of the slots of a graph, and within a body |
//! | `fast_path_code.rs` | the finished fast path, and its forms |
//! | `fast_path.rs` | how bursts run through it |
//! | `verdict.rs`, `notes.rs` | frames and the verdicts on them; what is noted of them for the architecture |
//! | `context.rs` | the packet's data that generated code accesses |
//! | `arrays.rs` | the addresses of registers and counters |
//! | `packet_context.rs` | the per-packet contexts of a burst on the fast path |
//! | `flows.rs`, `flow_pages.rs`, `flow_slots.rs`, `flow_trail.rs` | the flow cache: look-up results of a flow's last packet |
//! | `cold_calls.rs` | calls that change no register |
//! | `wide_stores.rs` | joins neighbouring stores of loop-invariant values |
//! | `tables.rs` | how generated code accesses tables |
//! | `runtime/` | functions that generated code calls |
//!
//! # Why generated code stays within its bounds
//!
//! Generated code reads and writes memory through a few base pointers only. The accesses through each stay in bounds
//! because:
//!
//! * **The context.** Offsets are those that the Rust compiler gives the fields of a `#[repr(C)]` structure.
//! * **The state.** A slot's offset comes from the same [`forebay_exec::StateLayout`] from which the state is
//!   allocated; accesses are to whole words of the slot, at offsets known at compile time. There are no computed
//!   indices: lowering has turned them into branches.
//! * **Temporaries.** Offsets are assigned at compile time and the largest is recorded; a [`graph::GraphPass`]
//!   allocates that much memory before anything runs.
//! * **The packet.** It is accessed only after a test that the packet has all bits of the header (or of the lookahead)
//!   at the current position, or of all headers of a sequence that is extracted together. The position is at most the
//!   packet's length: it starts at the packet's beginning or at the position where a parser stopped, and moves only
//!   past bits that were tested. The tests cannot overflow: what is added to a position is a constant, or a number that
//!   was first found to be at most the packet's length. A load that covers more than its field stays between the
//!   header's first and last byte. On the fast path, changed fields are written to where they were read. A stack
//!   element with a computed index is loaded at that index if it is in range, and at the last element's index
//!   otherwise; all elements have been extracted. Loads for the copies of a packet may be hoisted out of the loop over
//!   the copies, since nothing in the loop writes to the packet: only loads of whole headers that the path to the loop
//!   has extracted.
//! * **Emitted bytes and the frame's front.** General code puts what deparsers emit into a buffer of its own and
//!   compares with its end before each header; when a header does not fit, it goes to the output together with
//!   everything in the buffer. The emitted bytes are copied in front of what the parser left, sixteen at a time from
//!   the back, after a test that there is room for them and for fifteen bytes more before the frame.
//! * **Arguments and kept values.** Each of the switch's arguments has a word. Values that come with packets are at the
//!   indices of the plan from which their memory is allocated.
//! * **Action data.** Offsets are those of the parameters of the action. A record holds the action together with its
//!   data, and tables check the number and widths of arguments when an entry is written. Compiler and table derive the
//!   record layout, and so its number of words, from the same declaration.
//! * **Frames and verdicts.** In run-to-completion order, code walks the caller's frame descriptors and the list of
//!   verdicts up to the given end; both have as many entries as the burst has packets, at most [`BURST_MAX`]. Code
//!   writes the start and length of a frame that leaves to its descriptor: the frame starts after the extracted
//!   headers, or earlier by the length of the headers that were put there, and ends where it ended or earlier.
//! * **Lanes and queues.** Offsets in a lane are assigned at compile time, and [`FastPath`] makes every lane large
//!   enough for the largest of them. A queue has an element for every lane of a burst, and a lane is in one queue at a
//!   time.
//! * **Registers and counters.** [`Arrays`] have as many words as the program declares, and registers lie in their
//!   banks as [`RegisterBanks`] says: both are checked when they are made. An index is compared with the declared
//!   number of elements before it becomes an address; out of range, reads give 0 and writes do nothing. The comparison
//!   is left out where the preceding instruction has masked the index to values that are all in range.
//! * **Direct counters.** They have an element for each slot that an entry of their tables may have, and one for the
//!   default entry. The slot is read from the record that a look-up has found.
//! * **Locks.** Code takes the lock in the word of an element whose index is in range, and releases the lock that
//!   [`TableObjects::held_lock`] points to. That pointer is null or the address of a lock's word, which does not move
//!   as long as the registers exist.
//! * **Tables.** A [`forebay_tables::Location`] is that of a table made of the same declaration, and its pin lives as
//!   long as the burst, or another pin of the same [session](forebay_tables::Session) does. A bucket's number is the
//!   high half of a product with the number of buckets, so it is smaller; the position of an entry in its bucket is
//!   that of a bit under a mask of positions. Numbers in cells were published by the table's writer after the rows that
//!   they refer to; an index of cells has as many bits as the array was made for.
//! * **Memos.** A memo (an inline cache) is part of a record that a look-up of the burst has found, and only machine
//!   code writes it. It points into the array of the version that it records: this was checked before the memo was
//!   written.
//! * **Flows.** The number of an index entry has as many bits of a hash as the index is large. Entries contain slot
//!   numbers, which only the runtime writes, and offsets stay within a slot. An address in a valid slot is that of a
//!   record which was found when the tables were in the same state as at the beginning of the burst, under a pin of the
//!   same reader: see [`forebay_tables::epoch`]. A copied record has the words that the layout says.
//! * **Copies.** The runtime hands out descriptors for as many copies as a group has members, if that many are left. A
//!   copy has at most the bytes of the headers that are put together and of the packet after its headers; the caller of
//!   [`Memory::set_copies`] promises that much memory.
//! * **The room before a packet.** A frame grows at its front by at most [`FastPathCode::headroom`] bytes, which the
//!   caller of the fast path promises to be there.
//!
//! Keys, indices of meters and the like are not used as addresses here: they go to the runtime as values, and tables
//! and arrays check them. The index into a CRC's table is a byte. Divisors are never zero and shift amounts are
//! compared with the width before the result is used, so nothing traps. Loops end by the step limit, which is left out
//! only where the longest path through every body is shorter.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod analysis;
mod arrays;
mod body_liveness;
mod code;
mod cold_calls;
mod compile;
mod context;
mod fast_path;
mod fast_path_code;
mod flow_pages;
mod flow_slots;
mod flow_trail;
mod flows;
pub mod graph;
mod inline_caches;
mod live_slots;
mod noted_digests;
mod notes;
mod packet_context;
mod pool;
mod register_groups;
pub mod route;
mod runtime;
mod section_locks;
mod tables;
mod translate;
mod verdict;
mod wide_stores;

pub use arrays::{Arrays, default_slot};
pub use code::TableLocations;
pub use compile::{CompileError, compile_fast_path, compile_graph};
pub use context::Memory;
pub use fast_path::FastPath;
pub use fast_path_code::{FastPathCode, Forms};
pub use inline_caches::leading_tables;
pub use notes::{GoingOn, NotedClone, NotedClones, SentBack};
pub use packet_context::BURST_MAX;
pub use register_groups::RegisterBanks;
pub use tables::{Members, TableObjects, key_spec};
pub use verdict::{CopyVerdict, Departures, Frame, Frames, Rewriting, Verdict};
