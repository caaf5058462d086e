//! Looks keys up in place, in tables laid out as [`forebay_tables::search`] says.
//!
//! The rarest case is left to the runtime: an entry that is in neither of the two buckets examined. Less rare cases (a
//! miss, an entry in its second bucket, a prefix longer than two arrays cover) are out of line, so most packets execute
//! straight-line code.

use super::Translator;
use super::within_bounds;
use crate::context::Context;
use crate::packet_context::{HEAD_WORDS, Lane};
use crate::runtime::{self, Function};
use crate::tables::Members;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use forebay_ir::TableId;
use forebay_tables::Search;
use forebay_tables::search::{
    self, DEEPER, DEEPER_BITS, FIRST_CHUNK, FIRST_TAG, HASH_FACTOR, HASH_START, Location, PASSED_SHIFT,
};
use std::mem::offset_of;

/// A bit for each entry of a bucket.
const TAG_ONES: u64 = 0x0101_0101_0101_0101;

/// The number of buckets examined here. Entries that have passed by more are left to the runtime.
const PROBES: usize = 2;

/// The result of a look-up.
#[derive(Clone, Copy)]
pub(super) struct Match {
    /// The address of the record of the entry, or of the default action.
    pub(super) record: ir::Value,
    /// Whether the record is an entry's: 1 or 0.
    pub(super) hit: ir::Value,
}

/// The blocks to which a search leads. `found` takes a [`Match`] as parameters.
struct Exits {
    found: ir::Block,
    missed: ir::Block,
    /// Calls the runtime.
    hard: ir::Block,
}

impl Translator<'_, '_, '_> {
    /// Looks a key up at once.
    pub(super) fn look_up_now(&mut self, table: TableId, search: Option<Search>, key: &[ir::Value]) -> Match {
        let Some(search) = search else {
            return self.find_by_runtime(table, key);
        };
        let (found, result) = self.block_with_match();
        let [missed, hard] = self.blocks();
        let exits = Exits { found, missed, hard };
        let location = self.location(table);
        match search {
            Search::Never => {
                self.ins().jump(exits.missed, &[]);
            }
            Search::Exact {
                entry_words,
                bucket_words,
                places_mask,
                ..
            } => self.search_buckets(bucket_words, (entry_words, places_mask), location, key, &exits),
            Search::Prefix {
                width,
                row_words,
                deeper_words,
            } => self.search_prefixes((key[0], width), [row_words, deeper_words], location, &exits),
        }
        self.enter_cold(exits.missed);
        let default = self.load_unchanging(location, offset_of!(Location, default));
        let missed = self.number(0);
        self.ins().jump(exits.found, &[default.into(), missed.into()]);
        self.enter_cold(exits.hard);
        let found = self.find_by_runtime(table, key);
        self.ins().jump(exits.found, &[found.record.into(), found.hit.into()]);
        self.enter(exits.found);
        result
    }

    /// A block that takes a match as parameters.
    pub(super) fn block_with_match(&mut self) -> (ir::Block, Match) {
        let block = self.builder.create_block();
        let [record, hit] = [(); 2].map(|()| self.builder.append_block_param(block, types::I64));
        (block, Match { record, hit })
    }

    fn find_by_runtime(&mut self, table: TableId, key: &[ir::Value]) -> Match {
        let table = self.number(table.0.into());
        self.find_in_lane(runtime::FIND, table, key, key.len())
    }

    /// Looks up a table whose entries name members of an action profile.
    pub(super) fn find_member(&mut self, members: &Members, key: &[ir::Value]) -> Match {
        let kept = self.environment.pool.keep(members.clone());
        let kept = self.pointer(kept);
        self.find_in_lane(runtime::FIND_MEMBER, kept, key, members.words())
    }

    /// Lets a function of the runtime look up the key of a lane. In general code, temporaries have the layout of a
    /// lane, with `words` words after the head. They last until the table's action has run, since the record may be
    /// among them.
    fn find_in_lane(&mut self, function: Function, table: ir::Value, key: &[ir::Value], words: usize) -> Match {
        if self.is_fast_path() {
            self.store_key(key);
            let lane = self.lane();
            self.call_rarely(function, &[table, lane]);
            return self.match_in_lane();
        }
        let lane = self.temporary_address(HEAD_WORDS + words);
        self.temporaries_lasting = self.temporaries_used;
        self.store_limbs(key, lane, 8 * HEAD_WORDS as i32);
        self.call(function, &[self.context, table, lane]);
        Match {
            record: self.load(lane, offset_of!(Lane, record) as i32),
            hit: self.load(lane, offset_of!(Lane, hit) as i32),
        }
    }

    /// The result that was put into the lane.
    pub(super) fn match_in_lane(&mut self) -> Match {
        Match {
            record: self.load_lane(offset_of!(Lane, record)),
            hit: self.load_lane(offset_of!(Lane, hit)),
        }
    }

    /// The address of the table's [`Location`].
    pub(super) fn location(&mut self, table: TableId) -> ir::Value {
        let searched = &mut self.environment.searched;
        let place = searched.iter().position(|known| *known == table);
        let place = place.unwrap_or_else(|| {
            searched.push(table);
            searched.len() - 1
        });
        let locations = self.load_unchanging(self.context, offset_of!(Context<'_>, locations));
        self.address(locations, (place * size_of::<Location>()) as i32)
    }

    fn search_buckets(
        &mut self,
        bucket_words: usize,
        entries: (usize, u64),
        location: ir::Value,
        key: &[ir::Value],
        exits: &Exits,
    ) {
        let hash = self.hash_of_key(key);
        let count = self.load_unchanging(location, offset_of!(Location, size));
        let home = self.ins().umulhi(hash, count);
        let home = self.times(home, 8 * bucket_words as u64);
        let array = self.load_unchanging(location, offset_of!(Location, array));
        let mut bucket = self.ins().iadd(array, home);
        let tags = self.tags(hash);
        for _ in 1..PROBES {
            let next = self.builder.create_block();
            self.probe(entries, bucket, tags, key, exits, next);
            self.enter_cold(next);
            bucket = self.next_bucket(location, bucket, 8 * bucket_words as u64);
        }
        self.probe(entries, bucket, tags, key, exits, exits.hard);
    }

    /// Examines a bucket: all entries with the tag, and then `next` if entries have passed by.
    fn probe(
        &mut self,
        (entry_words, places_mask): (usize, u64),
        bucket: ir::Value,
        tags: ir::Value,
        key: &[ir::Value],
        exits: &Exits,
        next: ir::Block,
    ) {
        let header = self.ins().atomic_load(types::I64, within_bounds(), bucket);
        let first = self.candidates(header, tags, places_mask);
        let [some, none, again] = self.blocks();
        let candidates = self.builder.append_block_param(some, types::I64);
        if next == exits.hard {
            // Entries are rarely in their second bucket.
            self.builder.set_cold_block(some);
        }
        self.ins().brif(first, some, &[first.into()], none, &[]);

        self.builder.switch_to_block(some);
        let bit = self.ins().ctz(candidates);
        // Each entry has one byte of the header, whose highest bit is set for a candidate, and `entry_words` words
        // after the header.
        let offset = self.times(bit, entry_words as u64);
        let behind = self.ins().iadd(bucket, offset);
        let offset = 8 - 7 * entry_words as i32;
        let different = self.different(behind, offset, key);
        let record = self.address(behind, offset + 8 * key.len() as i32);
        let hit = self.number(1);
        self.ins()
            .brif(different, again, &[], exits.found, &[record.into(), hit.into()]);

        self.enter_cold(again);
        let one = self.number(1);
        let less = self.ins().isub(candidates, one);
        let rest = self.ins().band(candidates, less);
        self.ins().brif(rest, some, &[rest.into()], none, &[]);
        self.builder.seal_block(some);

        self.enter_cold(none);
        let passed = self.shifted_right(header, PASSED_SHIFT);
        self.ins().brif(passed, next, &[], exits.missed, &[]);
    }

    /// The bucket after `bucket`; the first one after the last.
    fn next_bucket(&mut self, location: ir::Value, bucket: ir::Value, bytes: u64) -> ir::Value {
        let count = self.load_unchanging(location, offset_of!(Location, size));
        let array = self.load_unchanging(location, offset_of!(Location, array));
        let all = self.times(count, bytes);
        let end = self.ins().iadd(array, all);
        let next = self.address(bucket, bytes as i32);
        let is_end = self.ins().icmp(IntCC::Equal, next, end);
        self.ins().select(is_end, array, next)
    }

    /// The hash of a key, as the tables compute it.
    fn hash_of_key(&mut self, key: &[ir::Value]) -> ir::Value {
        let factor = self.number(HASH_FACTOR as i64);
        let mut state = self.number(HASH_START as i64);
        for word in key {
            let mixed = self.ins().bxor(state, *word);
            let [mixed, factor] = [mixed, factor].map(|word| self.ins().uextend(types::I128, word));
            let product = self.ins().imul(mixed, factor);
            let (low, high) = self.ins().isplit(product);
            state = self.ins().bxor(low, high);
        }
        state
    }

    /// The tag of a hash, repeated in each byte.
    fn tags(&mut self, hash: ir::Value) -> ir::Value {
        let tag = self.masked(8, hash);
        let tag = self.ins().bor_imm_u(tag, i64::from(FIRST_TAG));
        self.ins().imul_imm_u(tag, TAG_ONES as i64)
    }

    /// The highest bit of each byte of a header that equals the tag; rarely also that of a byte above such a byte.
    fn candidates(&mut self, header: ir::Value, tags: ir::Value, places_mask: u64) -> ir::Value {
        let ones = self.number(TAG_ONES as i64);
        let difference = self.ins().bxor(header, tags);
        let less = self.ins().isub(difference, ones);
        let candidates = self.ins().band_not(less, difference);
        self.ins().band_imm_u(candidates, (places_mask & TAG_ONES << 7) as i64)
    }

    /// A value that is 0 if the words at an offset from an address equal the key.
    pub(super) fn different(&mut self, base: ir::Value, first: i32, key: &[ir::Value]) -> ir::Value {
        if let [word] = key {
            let stored = self.load(base, first);
            return self.ins().icmp(IntCC::NotEqual, *word, stored);
        }
        let mut different = None;
        for (index, word) in key.iter().enumerate() {
            let stored = self.load(base, first + 8 * index as i32);
            let own = self.ins().bxor(stored, *word);
            different = Some(match different {
                Some(others) => self.ins().bor(others, own),
                None => own,
            });
        }
        different.expect("keys have words")
    }

    fn search_prefixes(
        &mut self,
        (key, width): (ir::Value, u32),
        [row_words, deeper_words]: [usize; 2],
        location: ir::Value,
        exits: &Exits,
    ) {
        let key = self.shifted_left(key, u32::BITS - width);
        let shift = self.load_unchanging(location, offset_of!(Location, size));
        let index = self.ins().ushr(key, shift);
        let array = self.load_unchanging(location, offset_of!(Location, array));
        let first = self.cell(array, index);

        let last = self.builder.create_block();
        let cell = self.builder.append_block_param(last, types::I64);
        let flag = self.number(DEEPER.into());
        let (mut present, mut left) = (first, shift);
        // As many times as the smallest first array leaves bits for.
        for depth in 0..search::deeper_max(width) {
            let goes_on = self.ins().band(present, flag);
            let deeper = self.builder.create_block();
            self.ins().brif(goes_on, deeper, &[], last, &[present.into()]);
            self.enter(deeper);
            if depth > 0 {
                self.builder.set_cold_block(deeper);
            }
            let number = self.ins().bxor(present, flag);
            let row = self.row(location, offset_of!(Location, deeper), number, deeper_words);
            // The number of bits left of the key's 32 is a multiple of a row's.
            let step = self.number(DEEPER_BITS.into());
            left = self.ins().isub(left, step);
            let index = self.ins().ushr(key, left);
            let index = self.masked(DEEPER_BITS, index);
            present = self.cell(row, index);
        }
        self.ins().jump(last, &[present.into()]);

        self.enter(last);
        let is_some = self.builder.create_block();
        self.ins().brif(cell, is_some, &[], exits.missed, &[]);
        self.enter(is_some);
        let one = self.number(1);
        let number = self.ins().isub(cell, one);
        let record = self.row(location, offset_of!(Location, records), number, row_words);
        self.ins().jump(exits.found, &[record.into(), one.into()]);
    }

    /// Loads a cell of an array.
    fn cell(&mut self, array: ir::Value, index: ir::Value) -> ir::Value {
        let offset = self.shifted_left(index, 2);
        let address = self.ins().iadd(array, offset);
        let cell = self.ins().atomic_load(types::I32, within_bounds(), address);
        self.ins().uextend(types::I64, cell)
    }

    /// The address of a row; a list contains the origins of rows: see [`search::origin_of`].
    fn row(&mut self, location: ir::Value, origins: usize, number: ir::Value, row_words: usize) -> ir::Value {
        debug_assert_eq!(search::origin_of(0).1, FIRST_CHUNK);
        let sum = self.ins().iadd_imm_u(number, FIRST_CHUNK as i64);
        let zeros = self.ins().clz(sum);
        let origins = self.load_unchanging(location, origins);
        let offset = self.shifted_left(zeros, 3);
        let place = self.ins().iadd(origins, offset);
        let origin = self.load(place, -8 * search::ZEROS_MIN as i32);
        let offset = self.times(sum, 8 * row_words as u64);
        self.ins().iadd(origin, offset)
    }
}
