//! From the intermediate representation to machine code, with Cranelift: what the interpreter does, fast.
//!
//! [`compile_graph`] turns a [`forebay_ir::Program`] and what its architecture does around the bodies into one function
//! ([`graph`]): general code, through which a [`graph::GraphPass`] takes packets with the same state, objects and requests as
//! the interpreter (`forebay-interp`), and the same result for every packet: bytes, drops, registers, counters, step limits.
//! Only tracing is the interpreter's alone. [`compile_fast_path`] makes specialised code of a v1model program ([`route`]),
//! through which a [`FastPath`] takes bursts. That takes longer, and packets need not wait for it.
//!
//! ```text
//!   Program ──► analysis ──► translate ──► Cranelift ──► GraphCode, ShortCode
//!                                                         │ calls
//!                                                         ▼
//!                         runtime: tables, registers, hashes, values wider than 128 bits
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `analysis.rs` | where the parser stands in the packet, how many steps a body can take |
//! | `translate/` | bodies to Cranelift's own representation |
//! | `compile.rs` | the module, its functions |
//! | `route/` | the fast path: what is known of packets behind each way through the parser |
//! | `code.rs` | the memory of finished code, and where its tables are |
//! | `graph.rs` | the graph of an architecture as one function, entered and left where packets are |
//! | `live_slots.rs` | which slots of a graph are read, and so have to be computed, or 0 |
//! | `fast_path.rs` | the finished fast path, and its use for a burst |
//! | `context.rs` | what generated code knows of the packet |
//! | `arrays.rs` | where it finds registers and counters |
//! | `crc.rs` | the tables of remainders for CRCs in generated code |
//! | `packet_context.rs` | the packets of a burst on the fast path |
//! | `flows.rs`, `flow_pages.rs`, `flow_slots.rs`, `flow_trail.rs` | what look-ups found for the last packet of a flow |
//! | `cold_calls.rs` | calls that change no register |
//! | `unused_loads.rs`, `wide_stores.rs` | loads that turn out to be of no use; neighbouring stores of what is the same in a whole loop |
//! | `tables.rs` | how generated code reaches tables |
//! | `runtime.rs` | functions that generated code calls |
//!
//! # Why generated code stays within its bounds
//!
//! Generated code reads and writes memory through a few base pointers only. For each, an argument:
//!
//! * **The context.** Offsets are those that the compiler of Rust gives the fields of a `#[repr(C)]` structure.
//! * **The state.** A slot's offset comes from the same [`forebay_exec::StateLayout`] from which the state is allocated;
//!   accesses are of whole words of the slot, at offsets known when the program is compiled. There are no computed indices:
//!   lowering has turned them into branches.
//! * **Temporaries.** Offsets are handed out when the program is compiled; the largest is recorded, and a [`graph::GraphPass`]
//!   makes sure that there is so much memory before anything runs.
//! * **The packet.** It is accessed only after a test that the packet has all bits of the header (or of the
//!   lookahead) at the present position, or of all headers that are extracted one behind the other. The position is at most the packet's length: it begins there or at 0 and moves
//!   only past bits that were tested. The tests cannot overflow: what is added to a position is a constant, or a number
//!   that was first found to be at most the packet's length. A load that covers more than its field stays between the
//!   header's first and last byte. On the fast path, changed fields are written to where they were read. An element of a
//!   stack that is chosen by a computed index is loaded when the index is smaller than their number, or with the last one's index when it
//!   is not, all of them having been extracted. Loads for the copies of a packet may be made before the loop over them, which nobody in it writes to: those
//!   of whole headers that the way to the loop has extracted, and no others.
//! * **Emitted bytes and the frame's front.** General code puts what deparsers emit into memory of its own, whose end it compares
//!   with before each header; what does not fit goes to the output, with all that was put there before. It copies these bytes in front of what the
//!   parser left, sixteen at a time from the back, where a test has found as much room before the frame, and fifteen bytes more.
//! * **What is said and kept.** The switch's arguments have a word each. Values that come with packets have the places of the plan
//!   from which their memory is allocated.
//! * **Action data.** Offsets are those of the parameters of the action. Which action runs is what the table said together
//!   with the data, and tables check the number and widths of arguments when an entry is written. Records of tables have
//!   as many words as the layout says that compiler and table make of the same declaration.
//! * **Frames and fates.** Where packets go one after the other, code moves along the caller's descriptions of frames and the list
//!   of fates, until the end that it is told; both have as many entries as the burst has packets, at most [`BURST_MAX`]. Where a
//!   frame that leaves begins and how long it is, code writes there: it begins behind what was extracted, or before that by the
//!   headers that were put there, and ends where it ended or earlier.
//! * **Lanes and queues.** Offsets in a lane are handed out when the program is compiled, and [`FastPath`] makes sure that
//!   every lane is as large as the last of them wants. A queue has a place for every lane of a burst, and a lane stands in
//!   one queue at a time.
//! * **Registers and counters.** [`Arrays`] have as many words as the program declares, and registers lie in their banks as
//!   [`RegisterBanks`] says: both are compared when they are made. An index is compared with the
//!   declared number of elements before it becomes an address; outside, reads give 0 and writes do nothing. The comparison is
//!   left out where the instruction before has masked the index to fewer bits than a larger one has. A write to one of several
//!   registers is reached when a test has found the number to be that of one of them, and nothing on the way from there writes the
//!   number; they have the same size, are in one bank, and each is as far behind the one before it as the next.
//! * **Direct counters.** They have an element for each slot that an entry of their tables may have, and one for the default entry. The
//!   slot stands in the record that a look-up has found.
//! * **Locks.** Code takes the lock in the word of an element whose index it has compared like this, and gives back that whose word is
//!   named where [`TableObjects::held_lock`] says. What is named there is null or the word of a lock, and stays where it is as long
//!   as the registers do.
//! * **Tables.** A [`forebay_tables::Location`] is that of a table made of the same declaration, and its pin lives as long as the
//!   burst, or another one of the same [session](forebay_tables::Session) does. A bucket's number is the high half of a product
//!   with the number of buckets, so it is smaller; an entry's place is that of a bit under a mask of places. Numbers in cells are
//!   those that the table's writer published, after the rows that they name; an index of cells has as many bits as the array was
//!   made for.
//! * **Pairs.** Sixteen bytes are loaded from a header only if it has so many, and from where they are all within it. Two words of
//!   the state are stored at once for two slots that are neighbours there; where two are loaded for one slot alone, and it is the last
//!   of all, they begin a word earlier.
//! * **Memos.** A memo is part of a record that a look-up of the burst has found, and is written by machine code alone. Where it
//!   leads is within the array whose version it has: that was tested before it was written.
//! * **Flows.** An entry of the index has as many bits of a hash as the index is large, numbers in it are those of slots, written by the
//!   runtime alone, and a place is within its slot. An address in a slot that holds is
//!   that of a record which was found when the tables were in the state in which they were when the burst began, under a pin of the
//!   same reader: see [`forebay_tables::epoch`]. A copied record has the words that the layout says.
//! * **Copies.** The runtime hands out places for as many copies as a group has members, as long as there are some. A copy
//!   has at most the bytes of the headers that are put together and of the packet behind its headers: memory for so much where its
//!   frame begins is what [`Memory::set_copies`] is promised.
//! * **The room before a packet.** A frame becomes longer by at most [`ShortCode::headroom`] bytes, which the caller of the fast path
//!   promises to be there.
//!
//! Keys, indices of meters and the like are not addresses here: they go to the runtime as values, and tables and arrays
//! check them. The index into a CRC's table is a byte. Divisors are never zero and shift amounts are compared with the width before
//! the result is used, so nothing traps. Loops end by the step limit, which is left out only where every way through every body is shorter.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod analysis;
mod arrays;
mod code;
mod cold_calls;
mod compile;
mod context;
mod crc;
mod fast_path;
mod flow_pages;
mod flow_slots;
mod flow_trail;
mod flows;
pub mod graph;
mod inline_caches;
mod live_slots;
mod packet_context;
mod pool;
mod register_groups;
pub mod route;
mod runtime;
mod seed;
mod tables;
mod translate;
mod unused_loads;
mod wide_stores;

pub use arrays::{Arrays, default_slot};
pub use code::Locations;
pub use compile::{CompileError, compile_fast_path, compile_graph};
pub use context::Memory;
pub use fast_path::{CopyFate, Departures, FastPath, Fate, Forms, Frame, Frames, NotedClone, NotedClones, ShortCode};
pub use inline_caches::leading_tables;
pub use packet_context::BURST_MAX;
pub use register_groups::RegisterBanks;
pub use seed::Seed;
pub use tables::{Members, TableObjects};
