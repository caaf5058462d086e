//! Look-ups in tables, action profiles and value sets.

use super::Function;
use super::values::{load, words};
use crate::context::{Context, NO_COLOR};
use crate::flow_slots::{FoundForFlow, LINES_WORD, SlotLayout, Sought};
use crate::packet_context::{HEAD_WORDS, Lane};
use crate::tables::{Members, TableObjects};
use forebay_bits::Bits;
use forebay_ir::{TableId, ValueSetId};
use forebay_tables::{Found, LookUp, OnePlace, Pin, Record, TOGETHER_MAX, TableView, find_together, prefetch_together};
use smallvec::SmallVec;
use std::mem::offset_of;
use std::slice;

functions! {
    FIND = find(_, _, _);
    FIND_MEMBER = find_member(_, _, _);
    FIND_FOR_FLOW = find_for_flow(_, _, _, _);
    ADMIT_FLOW = admit_flow(_, _, _, _);
    PREFETCH = prefetch(_, _, _, _);
    FIND_ALL = find_all(_, _, _, _, _);
    HIT = hit(_, _, _) -> u64;
    MISS = miss(_, _) -> u64;
    FIND_MEMBERS = find_members(_, _);
    VALUE_SET_CONTAINS = value_set_contains(_, _, _) -> u64;
}

/// Replaces `key` by the values in memory, which follow one another.
///
/// # Safety
///
/// There are as many words as values of these widths need.
unsafe fn load_key(key: &mut Vec<Bits>, widths: &[u32], mut values: *const u64) {
    key.clear();
    for &width in widths {
        // SAFETY: as the caller promises.
        unsafe {
            key.push(load(width, values));
            values = values.add(words(width));
        }
    }
}

/// Puts the result of a look-up into the lane.
///
/// # Safety
///
/// The lane belongs to the calling code.
unsafe fn found(lane: *mut Lane, view: &TableView, record: Option<Record<'_>>, pin: &Pin<'_>) {
    // SAFETY: as the caller promises.
    unsafe {
        (*lane).hit = record.is_some().into();
        (*lane).record = record.unwrap_or_else(|| view.default_record(pin)).as_ptr();
    }
}

/// A key in a lane, from the word `first` on.
///
/// # Safety
///
/// The lane belongs to the calling code, and has `words` words there.
unsafe fn key_of<'a>(lane: *const Lane, first: usize, words: usize) -> &'a [u64] {
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(lane.cast::<u64>().add(first), words) }
}

/// Looks up the key of a lane, or of temporaries with a lane's layout.
unsafe extern "C" fn find(context: *const Context<'_>, table: u64, lane: *mut Lane) {
    // SAFETY: see the module.
    unsafe {
        let tables = (*context).objects;
        let (view, pin) = (tables.table(TableId(table as u32)), tables.pin());
        let key = key_of(lane, HEAD_WORDS, view.key_layout().words());
        found(lane, view, view.find(key, view.hint(key), pin), pin);
    }
}

/// Does the same for a table whose entries name members of an action profile, and builds a record after the key.
unsafe extern "C" fn find_member(context: *const Context<'_>, members: *const Members, lane: *mut Lane) {
    // SAFETY: see the module; lanes and temporaries have room for these words.
    unsafe {
        let members = &*members;
        let key = key_of(lane, HEAD_WORDS, members.key.words());
        let record = lane.cast::<u64>().add(HEAD_WORDS + members.key.words());
        let words = slice::from_raw_parts_mut(record, members.record.words());
        let values = &mut (*(*context).memory).key;
        (*lane).hit = (*context).objects.find_member(members, key, values, words).into();
        (*lane).record = record;
    }
}

/// Looks up the key of a lane, and stores the result in a slot of the flow cache.
unsafe extern "C" fn find_for_flow(
    context: *const Context<'_>,
    sought: *const Sought,
    lane: *mut Lane,
    slot: *mut u64,
) {
    // SAFETY: see the module; slots have as many words as their layout says, and memos come after the copied words.
    unsafe {
        let sought = &*sought;
        let (place, tables) = (sought.place, (*context).objects);
        let key = key_of(lane, HEAD_WORDS, sought.key_words);
        slot.add(place.key)
            .copy_from_nonoverlapping(key.as_ptr(), place.key_words);
        let record = match &sought.members {
            Some(members) => {
                find_member(context, members, lane);
                (*lane).record
            }
            None => {
                let (view, pin) = (tables.table(sought.table), tables.pin());
                let found = view.find(key, view.hint(key), pin);
                if found.is_none() && sought.learns {
                    place.nothing.put_into(slot);
                }
                found.unwrap_or_else(|| view.default_record(pin)).as_ptr()
            }
        };
        let is_another = match place.found {
            FoundForFlow::Address(word) => {
                slot.add(word).write(record.expose_provenance() as u64);
                true
            }
            FoundForFlow::Copy(word, words) => {
                let (present, found) = (slot.add(word), slice::from_raw_parts(record, words));
                // An emptied slot still has its old record, unless the emptiness is recorded in the record itself.
                let is_another = place.key_words == 0 || slice::from_raw_parts(present, words) != found;
                present.copy_from_nonoverlapping(record, words);
                is_another
            }
        };
        if sought.lines != 0 {
            *slot.add(LINES_WORD) |= sought.lines;
        }
        if is_another {
            let followers = sought.followers.iter();
            followers.for_each(|follower| follower.nothing.put_into(slot));
        }
        (*(*context).memory).flows.misses += 1;
    }
}

/// Assigns a slot of the flow cache to a flow.
unsafe extern "C" fn admit_flow(context: *const Context<'_>, layout: *const SlotLayout, entry: usize, signature: u64) {
    // SAFETY: see the module; code shifts hashes by the amount that it was given when the cache was opened.
    unsafe { (*(*context).memory).flows.admit(&*layout, entry, signature) }
}

/// A look-up for waiting packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneLookup {
    pub(crate) table: TableId,
    /// Whether the slots of entries are needed.
    pub(crate) needs_slots: bool,
    /// The word of the lane at which the key begins.
    pub(crate) key: usize,
    pub(crate) key_words: usize,
    /// The word of the lane for the record's address; the next word says whether the look-up hit.
    pub(crate) found: usize,
}

impl LaneLookup {
    /// The word of [`Lane`] for the result.
    pub(crate) const FOUND: usize = offset_of!(Lane, record) / 8;

    /// Puts a result into a lane.
    ///
    /// # Safety
    ///
    /// The lane belongs to the fast path that makes this look-up.
    unsafe fn put(&self, lane: *mut Lane, record: *const u64, hit: bool) {
        // SAFETY: as the caller promises.
        unsafe {
            let place = lane.cast::<u64>().add(self.found);
            place.write(record.expose_provenance() as u64);
            place.add(1).write(hit.into());
        }
    }

    /// Puts a record of one word into a lane, over the key.
    ///
    /// # Safety
    ///
    /// As for [`LaneLookup::put`].
    unsafe fn put_word(&self, lane: *mut Lane, word: u64) {
        // SAFETY: as the caller promises.
        unsafe {
            let place = lane.cast::<u64>().add(self.key);
            place.write(word);
            self.put(lane, place, true);
        }
    }
}

const _: () = assert!(offset_of!(Lane, hit) == offset_of!(Lane, record) + 8);

/// A look-up for the lanes of a queue.
#[derive(Clone, Copy)]
struct InLanes<'pin> {
    place: OnePlace<'pin>,
    /// The record of the default action.
    default: *const u64,
    look_up: LaneLookup,
    lanes: *const *mut Lane,
}

impl<'pin> InLanes<'pin> {
    /// `None` if the look-up makes several dependent accesses to memory.
    ///
    /// # Safety
    ///
    /// The lanes belong to the fast path that makes this look-up. There are as many as keys are looked up.
    unsafe fn new(
        look_up: &LaneLookup,
        lanes: *const *mut Lane,
        tables: &'pin dyn TableObjects,
    ) -> Option<InLanes<'pin>> {
        let (view, pin) = (tables.table(look_up.table), tables.pin());
        Some(InLanes {
            place: view.one_place(look_up.needs_slots, pin)?,
            default: view.default_record(pin).as_ptr(),
            look_up: *look_up,
            lanes,
        })
    }
}

impl<'pin> LookUp<'pin> for InLanes<'pin> {
    #[inline(always)]
    fn place(&self) -> OnePlace<'pin> {
        self.place
    }

    #[inline(always)]
    fn key(&self, index: usize) -> &[u64] {
        // SAFETY: `new` was promised that there is such a lane, with a key.
        unsafe { key_of(*self.lanes.add(index), self.look_up.key, self.look_up.key_words) }
    }

    #[inline(always)]
    fn take(&self, index: usize, found: Found<'pin>) {
        // SAFETY: `new` was promised that there is such a lane, with room for the result.
        unsafe {
            let lane = *self.lanes.add(index);
            match found {
                Found::Nothing => self.look_up.put(lane, self.default, false),
                Found::Word(word) => self.look_up.put_word(lane, word),
                Found::Record(record) => self.look_up.put(lane, record.as_ptr(), true),
            }
        }
    }
}

/// Prefetches the memory of look-ups that will be made for the lanes of a queue.
unsafe extern "C" fn prefetch(
    context: *const Context<'_>,
    look_ups: *const Vec<LaneLookup>,
    begin: *const *mut Lane,
    end: *const *mut Lane,
) {
    // SAFETY: see the module.
    unsafe {
        let tables = (*context).objects;
        let look_ups = (*look_ups).iter();
        let together = look_ups.filter_map(|look_up| InLanes::new(look_up, begin, tables));
        let together: SmallVec<[InLanes<'_>; TOGETHER_MAX]> = together.collect();
        prefetch_together(&together, end.offset_from_unsigned(begin));
    }
}

/// Makes look-ups for all lanes of a queue: those at `index` of a list.
unsafe extern "C" fn find_all(
    context: *const Context<'_>,
    list: *const Vec<Vec<LaneLookup>>,
    index: u64,
    begin: *const *mut Lane,
    end: *const *mut Lane,
) {
    // SAFETY: see the module.
    unsafe {
        let tables = (*context).objects;
        let count = end.offset_from_unsigned(begin);
        let mut together = SmallVec::<[InLanes<'_>; TOGETHER_MAX]>::new();
        for look_up in &(&*list)[index as usize] {
            match InLanes::new(look_up, begin, tables) {
                Some(in_lanes) => together.push(in_lanes),
                None => {
                    let lanes = slice::from_raw_parts(begin, count);
                    find_alone(look_up, tables.table(look_up.table), lanes, tables.pin());
                }
            }
        }
        find_together(&together, count);
    }
}

/// Makes a look-up with several dependent accesses to memory.
///
/// # Safety
///
/// The lanes belong to the fast path that makes this look-up.
unsafe fn find_alone(look_up: &LaneLookup, view: &TableView, lanes: &[*mut Lane], pin: &Pin<'_>) {
    let default = view.default_record(pin);
    view.find_all(
        lanes.len(),
        // SAFETY: as the caller promises.
        |index| unsafe { key_of(lanes[index], look_up.key, look_up.key_words) },
        |index, record| {
            let hit = record.is_some();
            let record = record.unwrap_or(default);
            // SAFETY: as the caller promises.
            unsafe { look_up.put(lanes[index], record.as_ptr(), hit) }
        },
        pin,
    );
}

/// Applies the effects of a hit other than the direct counter and the hit time. Returns the colour, or [`NO_COLOR`].
unsafe extern "C" fn hit(context: *const Context<'_>, table: u64, slot: u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    let color = context.objects.hit(TableId(table as u32), slot as u32, context.facts);
    color.map_or(NO_COLOR, u64::from)
}

/// Applies the effects of a miss in the same way: the default entry is metered.
unsafe extern "C" fn miss(context: *const Context<'_>, table: u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    let color = context.objects.miss(TableId(table as u32), context.facts);
    color.map_or(NO_COLOR, u64::from)
}

/// Finds the members of a group, and asserts that there is room for a copy for each.
unsafe extern "C" fn find_members(context: *mut Context<'_>, group: u64) {
    // SAFETY: see the module.
    let context = unsafe { &mut *context };
    let members = u16::try_from(group).map_or(&[][..], |group| context.objects.replicas(group));
    let size = members.len() as u64;
    // SAFETY: the fast path sets both before its code runs.
    let (copies, copies_max) = unsafe { (context.copies.assume_init(), context.copies_max.assume_init()) };
    assert!(copies + size <= copies_max, "there is room for all copies");
    context.group.write(group);
    context.group_members.write(members.as_ptr());
    context.group_size.write(size);
}

/// What a membership test needs to know about a value set.
#[derive(Clone, Debug)]
pub(crate) struct ValueSetShape {
    pub(crate) set: ValueSetId,
    /// Widths of the components.
    pub(crate) widths: Vec<u32>,
}

unsafe extern "C" fn value_set_contains(
    context: *mut Context<'_>,
    shape: *const ValueSetShape,
    components: *const u64,
) -> u64 {
    // SAFETY: see the module.
    unsafe {
        let (context, shape) = (&*context, &*shape);
        let key = &mut (*context.memory).key;
        load_key(key, &shape.widths, components);
        context.objects.value_set_contains(shape.set, key).into()
    }
}
