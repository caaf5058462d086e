//! Functions that compiled code calls for work that is rare or long, or that belongs to tables and stateful objects.
//!
//! # Safety
//!
//! Only code made by [`crate::translate`] calls these functions and makes the pointers that they take. A [`Context`]
//! is the one with which the compiled function was called. Descriptions ([`TableShape`], [`WideOperation`], ...) are
//! kept with the machine code of the calling function. Values are in the state or in temporaries, with as many words
//! as their width needs.

use crate::context::{Context, NO_COLOR};
use crate::fast_path::NotedClone;
use crate::flow_slots::{FoundForFlow, LINES_WORD, SlotLayout, Sought};
use crate::packet_context::{HEAD_WORDS, Lane};
use crate::route::SendsBack;
use crate::tables::{Members, TableObjects};
use forebay_bits::{Bits, read_limbs, write_limbs};
use forebay_exec::{CloneRequest, DIGESTS_MAX, DigestRequest, Preserve};
use forebay_ir::pipeline::Argument;
use forebay_ir::{BinaryOp, CloneKind, CounterId, DigestId, HashAlgorithm, MeterId, TableId, UnaryOp, ValueSetId};
use forebay_tables::{Found, LookUp, OnePlace, Pin, Record, TOGETHER_MAX, TableView, ask_together, find_together};
use smallvec::SmallVec;
use std::mem::offset_of;
use std::slice;

/// A function that compiled code may call. All parameters and results are 64 bits wide.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) address: *const (),
    pub(crate) parameters: usize,
    pub(crate) has_result: bool,
}

/// Each function with its parameters. The cast to a function type makes a wrong number of parameters a compile error.
macro_rules! functions {
    ($($name:ident = $function:ident($($parameter:tt),*) $(-> $result:ident)?;)*) => {$(
        pub(crate) const $name: Function = Function {
            address: $function as unsafe extern "C" fn($($parameter),*) $(-> $result)? as *const (),
            parameters: [$(functions!(@each $parameter)),*].len(),
            has_result: functions!(@has_result $($result)?),
        };
    )*};
    (@each $parameter:tt) => { () };
    (@has_result) => { false };
    (@has_result $result:ident) => { true };
}

functions! {
    WIDE = wide(_, _, _, _);
    COPY = copy(_, _, _);
    SATURATE = saturate(_, _) -> u64;
    READ_PACKET = read_packet(_, _, _, _);
    READ_VARBIT = read_varbit(_, _, _, _, _);
    STORE_VARBIT = store_varbit(_, _, _, _);
    LOOKUP = lookup(_, _, _, _) -> u64;
    FIND_RECORD = find_record(_, _, _) -> u64;
    FIND = find(_, _, _);
    FIND_MEMBER = find_member(_, _, _);
    FIND_FOR_FLOW = find_for_flow(_, _, _, _);
    ADMIT_FLOW = admit_flow(_, _, _, _);
    ASK = ask(_, _, _, _);
    FIND_ALL = find_all(_, _, _, _, _);
    HIT = hit(_, _, _) -> u64;
    NOTE_METER = note_meter(_, _, _, _);
    MISS = miss(_, _) -> u64;
    FIND_MEMBERS = find_members(_, _);
    COPY_BYTES = copy_bytes(_, _, _);
    OUTPUT_BEGIN = output_begin(_, _);
    OUTPUT_END = output_end(_, _);
    VALUE_SET_CONTAINS = value_set_contains(_, _, _) -> u64;
    COUNT = count(_, _, _);
    TAKE_BACK_COUNT = take_back_count(_, _, _);
    ENTER_ATOMIC = enter_atomic(_, _, _);
    EXECUTE_METER = execute_meter(_, _, _, _) -> u64;
    HASH_BYTES = hash_bytes(_, _, _, _) -> u64;
    HASH_BEGIN = hash_begin(_);
    HASH_END = hash_end(_, _, _) -> u64;
    HASH_IN_RANGE = hash_in_range(_, _, _, _);
    EXTEND_OUTPUT = extend_output(_, _) -> u64;
    GROW_OUTPUT = grow_output(_, _) -> u64;
    APPEND_BITS = append_bits(_, _, _, _);
    APPEND_VALUE = append_value(_, _, _, _, _);
    CHECKSUM_ERROR = checksum_error(_);
    REQUESTED = requested(_, _) -> u64;
    CLEAR = clear(_, _);
    DIGEST = digest(_, _, _);
    NOTE_DIGEST = note_digest(_, _, _, _);
    NOTE_CLONE = note_clone(_, _, _, _, _, _, _);
    NOTE_SENT_BACK = note_sent_back(_, _, _, _) -> u64;
    NOTE_GOING_ON = note_going_on(_, _, _);
    NOTE_CLONE_OF_LEAVING = note_clone_of_leaving(_, _, _, _, _);
    CLONE = clone(_, _, _, _);
    RESUBMIT = resubmit(_, _);
    RECIRCULATE = recirculate(_, _);
    TRUNCATE = truncate(_, _);
}

/// The number of words that a value of this width takes.
pub(crate) const fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}

/// Reads a value from memory.
unsafe fn load(width: u32, value: *const u64) -> Bits {
    // SAFETY: see the module.
    Bits::from_limbs(width, unsafe { slice::from_raw_parts(value, words(width)) })
}

/// Writes a value to memory.
unsafe fn store(value: &Bits, target: *mut u64) {
    for (index, limb) in value.limbs().enumerate() {
        // SAFETY: see the module.
        unsafe { target.add(index).write(limb) }
    }
}

/// An operation on values that do not fit in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideOperation {
    pub(crate) operator: WideOperator,
    pub(crate) left_width: u32,
    /// 0 for operators with one operand.
    pub(crate) right_width: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WideOperator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Slice { hi: u32, lo: u32 },
    Concat,
    ZeroExtend(u32),
    SignExtend(u32),
    Truncate(u32),
}

/// Applies the reference's own arithmetic to values in memory.
unsafe extern "C" fn wide(target: *mut u64, operation: *const WideOperation, left: *const u64, right: *const u64) {
    // SAFETY: see the module.
    unsafe {
        let WideOperation {
            operator,
            left_width,
            right_width,
        } = *operation;
        let left = load(left_width, left);
        let result = match operator {
            WideOperator::Unary(operator) => operator.apply(&left),
            WideOperator::Binary(operator) => operator.apply(&left, &load(right_width, right)),
            WideOperator::Slice { hi, lo } => left.slice(hi, lo),
            WideOperator::Concat => Bits::concat(&left, &load(right_width, right)),
            WideOperator::ZeroExtend(width) => left.zext(width),
            WideOperator::SignExtend(width) => left.sext(width),
            WideOperator::Truncate(width) => left.truncate(width),
        };
        store(&result, target);
    }
}

/// Copies words.
unsafe extern "C" fn copy(target: *mut u64, source: *const u64, words: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::copy(source, target, words as usize) }
}

/// A number of `words` words, or the largest 64-bit number if it is larger.
unsafe extern "C" fn saturate(value: *const u64, words: u64) -> u64 {
    // SAFETY: see the module.
    let value = unsafe { slice::from_raw_parts(value, words as usize) };
    match value {
        [] => 0,
        [low, high @ ..] if high.iter().all(|&word| word == 0) => *low,
        _ => u64::MAX,
    }
}

fn packet<'a>(context: &Context<'a>) -> &'a [u8] {
    // SAFETY: the context describes a packet that lives as long as the context.
    unsafe { slice::from_raw_parts(context.packet, context.packet_bits as usize / 8) }
}

/// Reads bits of the packet. Compiled code has tested that they are there.
unsafe extern "C" fn read_packet(context: *const Context<'_>, position: u64, width: u64, target: *mut u64) {
    // SAFETY: see the module.
    unsafe {
        let target = slice::from_raw_parts_mut(target, words(width as u32));
        read_limbs(packet(&*context), position as usize, width as usize, target);
    }
}

/// Reads the bits of a varbit field. Compiled code has tested that they are there and fit in the field.
unsafe extern "C" fn read_varbit(
    context: *const Context<'_>,
    position: u64,
    present: u64,
    width: u64,
    target: *mut u64,
) {
    // SAFETY: see the module.
    unsafe {
        let target = slice::from_raw_parts_mut(target, words(width as u32));
        read_limbs(packet(&*context), position as usize, present as usize, target);
    }
}

/// Stores the present bits of a varbit field, which are whole bytes, at an address with room for the longest value.
unsafe extern "C" fn store_varbit(target: *mut u8, value: *const u64, width: u64, present: u64) {
    // SAFETY: see the module.
    unsafe {
        let value = slice::from_raw_parts(value, words(width as u32));
        let target = slice::from_raw_parts_mut(target, width as usize / 8);
        write_limbs(target, 0, value, present.min(width) as usize);
    }
}

/// What a look-up needs to know about a table.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    pub(crate) table: TableId,
    /// Widths of the key fields, selectors included.
    pub(crate) key_widths: Vec<u32>,
}

/// Replaces `key` by the values in memory, which follow one another.
unsafe fn load_key(key: &mut Vec<Bits>, widths: &[u32], mut values: *const u64) {
    key.clear();
    for &width in widths {
        // SAFETY: see the module.
        unsafe {
            key.push(load(width, values));
            values = values.add(words(width));
        }
    }
}

/// Returned by [`lookup`] when no action is to run.
pub(crate) const NO_ACTION: u64 = u32::MAX as u64;

/// Looks a key up in a table with an action profile. Returns the index of the action in the table's list; its data and
/// the other results are in the context.
unsafe extern "C" fn lookup(
    context: *mut Context<'_>,
    shape: *const TableShape,
    words: *const u64,
    key: *const u64,
) -> u64 {
    // SAFETY: see the module.
    let (context, shape) = unsafe { (&mut *context, &*shape) };
    // SAFETY: see the module.
    let memory = unsafe { &mut *context.memory };
    let view = context.objects.table(shape.table);
    // SAFETY: see the module.
    let words = unsafe { slice::from_raw_parts(words, view.key_layout().words()) };
    // SAFETY: see the module.
    let load = |values: &mut Vec<Bits>| unsafe { load_key(values, &shape.key_widths, key) };
    let found = context
        .objects
        .lookup_words(shape.table, words, &mut memory.key, &load, context.facts);
    context.hit.write(found.hit.into());
    context.color.write(found.color.map_or(NO_COLOR, u64::from));
    let Some((action, arguments)) = found.action else {
        return NO_ACTION;
    };
    memory.arguments.clear();
    memory.arguments.extend(arguments.iter().flat_map(Bits::limbs));
    context.arguments.write(memory.arguments.as_ptr());
    action.into()
}

/// Looks up a key given as words. Returns the address of the record, and sets in the context whether it is an entry's.
unsafe extern "C" fn find_record(context: *mut Context<'_>, table: u64, key: *const u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &mut *context };
    let view = context.objects.table(TableId(table as u32));
    let pin = context.objects.pin();
    // SAFETY: see the module.
    let key = unsafe { slice::from_raw_parts(key, view.key_layout().words()) };
    let found = view.find(key, view.hint(key), pin);
    context.hit.write(found.is_some().into());
    let record = found.unwrap_or_else(|| view.default_record(pin));
    record.as_ptr().expose_provenance() as u64
}

/// Puts the result of a look-up into the lane.
///
/// # Safety
///
/// The lane belongs to the fast path.
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
/// The lane belongs to the fast path, and has `words` words there.
unsafe fn key_of<'a>(lane: *const Lane, first: usize, words: usize) -> &'a [u64] {
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(lane.cast::<u64>().add(first), words) }
}

/// Looks up the key of a lane.
unsafe extern "C" fn find(context: *const Context<'_>, table: u64, lane: *mut Lane) {
    // SAFETY: see the module.
    unsafe {
        let tables = (*context).objects;
        let (view, pin) = (tables.table(TableId(table as u32)), tables.pin());
        let key = key_of(lane, HEAD_WORDS, view.key_layout().words());
        found(lane, view, view.find(key, view.hint(key), pin), pin);
    }
}

/// Looks up the key of a lane in a table whose entries name members of an action profile, and builds a record after
/// the key.
unsafe extern "C" fn find_member(context: *const Context<'_>, members: *const Members, lane: *mut Lane) {
    // SAFETY: see the module; lanes have room for these words.
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
unsafe extern "C" fn ask(
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
        ask_together(&together, end.offset_from_unsigned(begin));
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

/// Stores the addresses that a meter's element reads. A first word other than 0 means that they are stored.
unsafe extern "C" fn note_meter(context: *const Context<'_>, meter: u64, index: u64, lines: *mut [usize; 2]) {
    // SAFETY: see the module; slots have two words for a meter.
    unsafe {
        let [element, meter] = (*context).objects.meter_lines(MeterId(meter as u32), index);
        lines.write([element.max(1), meter]);
    }
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

/// Copies bytes that do not overlap.
unsafe extern "C" fn copy_bytes(target: *mut u8, source: *const u8, count: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::copy_nonoverlapping(source, target, count as usize) }
}

/// Begins the deparser's output for a lane, after the output for other lanes.
unsafe extern "C" fn output_begin(context: *mut Context<'_>, lane: *mut Lane) {
    // SAFETY: see the module.
    unsafe {
        let output = &mut *(*context).output;
        let padding = (8 - output.len_bits() % 8) % 8;
        output.push(&Bits::zero(padding as u32));
        (*lane).output_start = output.len_bits() as u64;
    }
}

unsafe extern "C" fn output_end(context: *mut Context<'_>, lane: *mut Lane) {
    // SAFETY: see the module.
    unsafe { (*lane).output_bits = (*(*context).output).len_bits() as u64 - (*lane).output_start }
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

unsafe extern "C" fn count(context: *const Context<'_>, counter: u64, index: u64) {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    context.objects.count(CounterId(counter as u32), index, context.facts);
}

unsafe extern "C" fn take_back_count(context: *const Context<'_>, counter: u64, index: u64) {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    context
        .objects
        .take_back_count(CounterId(counter as u32), index, context.facts);
}

/// The colour, or [`NO_COLOR`] outside the array.
unsafe extern "C" fn execute_meter(context: *const Context<'_>, meter: u64, index: u64, before: u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &*context };
    let color = context
        .objects
        .execute_meter(MeterId(meter as u32), index, before.min(2) as u8, context.facts);
    color.map_or(NO_COLOR, u64::from)
}

/// The hash of bytes that compiled code has put in order.
unsafe extern "C" fn hash_bytes(
    context: *const Context<'_>,
    algorithm: *const HashAlgorithm,
    data: *const u8,
    length: u64,
) -> u64 {
    // SAFETY: see the module.
    unsafe {
        (*context)
            .objects
            .hash(*algorithm, slice::from_raw_parts(data, length as usize))
    }
}

/// Begins the input of a hash; [`append_bits`] and [`append_value`] add to it.
unsafe extern "C" fn hash_begin(context: *mut Context<'_>) {
    // SAFETY: see the module.
    unsafe { (*(*context).memory).hash_input.clear() }
}

/// The hash of the input. If `payload` is not 0, the input includes the part of the packet that the parser left.
unsafe extern "C" fn hash_end(context: *mut Context<'_>, algorithm: *const HashAlgorithm, payload: u64) -> u64 {
    // SAFETY: see the module.
    unsafe {
        let context = &*context;
        let input = &mut (*context.memory).hash_input;
        if payload != 0 {
            let padding = (8 - input.len_bits() % 8) % 8;
            input.push(&Bits::zero(padding as u32));
            input.push_from(packet(context), context.cursor as usize);
        }
        context.objects.hash(*algorithm, input.bytes())
    }
}

/// `base + hash mod max` on numbers of two words each; a `max` of 0 counts as 1.
unsafe extern "C" fn hash_in_range(hash: u64, base: *const u64, max: *const u64, target: *mut u64) {
    // SAFETY: see the module.
    unsafe {
        let base = load(128, base).to_u128();
        let max = load(128, max).to_u128().max(1);
        store(&Bits::new(128, base.wrapping_add(u128::from(hash) % max)), target);
    }
}

/// The buffers to which data can be appended.
pub(crate) mod target {
    pub(crate) const OUTPUT: i64 = 0;
    pub(crate) const HASH_INPUT: i64 = 1;
}

unsafe fn buffer<'a>(context: *mut Context<'_>, target: u64) -> &'a mut forebay_exec::BitBuffer {
    // SAFETY: see the module.
    unsafe {
        match target as i64 {
            target::OUTPUT => &mut *(*context).output,
            _ => &mut (*(*context).memory).hash_input,
        }
    }
}

/// Extends the output, which consists of whole bytes, by `bytes`. Returns the address at which they are to be written.
unsafe extern "C" fn extend_output(context: *mut Context<'_>, bytes: u64) -> u64 {
    // SAFETY: see the module.
    let output = unsafe { &mut *(*context).output };
    let place = output.append_zeros(bytes as usize);
    place.expect("headers of whole bytes").as_mut_ptr() as u64
}

/// The least number of bytes by which the output grows: more than most deparsers emit.
const OUTPUT_STEP: usize = 256;

/// Makes room for `bytes` more bytes, and returns their address.
unsafe extern "C" fn grow_output(context: *mut Context<'_>, bytes: u64) -> u64 {
    // SAFETY: see the module.
    unsafe {
        let context = &mut *context;
        context.leave_frame();
        let place = (*context.output).append_zeros(OUTPUT_STEP.max(bytes as usize));
        let place = place.expect("headers of whole bytes").as_mut_ptr_range();
        context.output_next = place.start;
        context.output_end = place.end;
        place.start.expose_provenance() as u64
    }
}

/// Appends the first `bits` bits of `data`.
unsafe extern "C" fn append_bits(context: *mut Context<'_>, target: u64, data: *const u8, bits: u64) {
    // SAFETY: see the module.
    unsafe {
        let data = slice::from_raw_parts(data, bits.div_ceil(8) as usize);
        buffer(context, target).append(data, bits as usize);
    }
}

/// Appends the low `present` bits of a value, at most its width.
unsafe extern "C" fn append_value(context: *mut Context<'_>, target: u64, value: *const u64, width: u64, present: u64) {
    // SAFETY: see the module.
    unsafe {
        let value = slice::from_raw_parts(value, words(width as u32));
        buffer(context, target).push_limbs(value, present.min(width) as usize);
    }
}

unsafe extern "C" fn enter_atomic(context: *const Context<'_>, lock: u64, index: u64) {
    // SAFETY: see the module.
    unsafe { (*context).objects.enter_atomic(lock as u32, index) };
}

/// The bit of a request in [`Context::asked`].
const fn asked(argument: Argument) -> u64 {
    let mut place = 0;
    while Argument::REQUESTS[place] as usize != argument as usize {
        place += 1;
    }
    1 << place
}

/// A request of the packet: the value of the argument at this index of [`Argument::REQUESTS`].
unsafe extern "C" fn requested(context: *const Context<'_>, argument: u64) -> u64 {
    // SAFETY: see the module.
    let requests = unsafe { &*(*context).requests };
    requests.argument(Argument::REQUESTS[argument as usize])
}

/// Sets words to zero.
unsafe extern "C" fn clear(words: *mut u64, count: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::write_bytes(words, 0, count as usize) }
}

unsafe extern "C" fn checksum_error(context: *mut Context<'_>) {
    // SAFETY: see the module.
    unsafe {
        (*context).asked |= asked(Argument::ChecksumError);
        (*(*context).requests).checksum_error = true;
    }
}

/// What a digest needs to know about its fields.
#[derive(Clone, Debug)]
pub(crate) struct DigestShape {
    pub(crate) digest: DigestId,
    pub(crate) widths: Vec<u32>,
    /// The words of all values.
    pub(crate) words: usize,
    /// Fast path: whether the burst ends after the packet, because the next packet must find what a table learns.
    pub(crate) ends_burst: bool,
}

unsafe extern "C" fn digest(context: *mut Context<'_>, shape: *const DigestShape, values: *const u64) {
    // SAFETY: see the module.
    unsafe {
        (*context).wants_copies = 1;
        let (requests, shape) = (&mut *(*context).requests, &*shape);
        if requests.digests.len() >= DIGESTS_MAX {
            requests.digests_lost += 1;
            return;
        }
        let values = slice::from_raw_parts(values, shape.words);
        let request = DigestRequest::of_words(shape.digest, shape.widths.iter().copied(), values);
        requests.digests.push(request);
    }
}

/// Fast path: notes a digest of the packet at this index of the burst.
unsafe extern "C" fn note_digest(
    context: *mut Context<'_>,
    shape: *const DigestShape,
    values: *const u64,
    place: usize,
) {
    // SAFETY: see the module; the fast path begins with a list of verdicts, in which the packet has an entry.
    unsafe {
        let (memory, shape) = (&mut *(*context).memory, &*shape);
        let values = slice::from_raw_parts(values, shape.words);
        memory.digests.note(place, shape.digest, values);
        if shape.ends_burst {
            end_burst(&mut *context, place);
        }
    }
}

/// What all clones noted at one point of the program have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloneShape {
    pub(crate) from_egress: bool,
    /// Whether the clones get the whole frame; otherwise they get what the parser left of it.
    pub(crate) whole_frame: bool,
    /// Whether the burst ends after the packet.
    pub(crate) ends_burst: bool,
}

/// Fast path: notes a clone of the packet that the context describes, at an index of the burst. The clone begins with
/// the `head_bytes` bytes at `head`.
unsafe extern "C" fn note_clone(
    context: *mut Context<'_>,
    shape: *const CloneShape,
    head: *const u8,
    head_bytes: usize,
    session: u64,
    field_list: u64,
    place: usize,
) {
    // SAFETY: see the module; the fast path begins with a list of verdicts, in which the packet has an entry.
    unsafe {
        let (context, shape) = (&mut *context, &*shape);
        let clones = &mut (*context.memory).clones;
        let first = clones.bytes.len();
        clones.bytes.extend_from_slice(slice::from_raw_parts(head, head_bytes));
        let left = match shape.whole_frame {
            true => 0,
            false => context.cursor as usize / 8,
        };
        clones.bytes.extend_from_slice(&packet(context)[left..]);
        clones.noted.push(NotedClone {
            place,
            from_egress: shape.from_egress,
            session: session as u32,
            preserve: preserve(field_list),
            bytes: first..clones.bytes.len(),
        });
        if shape.ends_burst {
            end_burst(context, place);
        }
    }
}

/// Fast path: notes a packet that goes on after ingress with the `bytes` bytes at `slots`.
unsafe extern "C" fn note_going_on(context: *mut Context<'_>, slots: *const u8, bytes: usize) {
    // SAFETY: see the module.
    unsafe {
        let context = &*context;
        let noted = &mut (*context.memory).going_on;
        noted.slots.clear();
        noted.slots.extend_from_slice(slice::from_raw_parts(slots, bytes));
        noted.cursor = context.cursor as usize;
        noted.random = context.random.state();
    }
}

/// Fast path: notes the clone of a packet that goes on. `truncate_to` is `u32::MAX` if the packet is not truncated; the
/// headers that were valid before ingress have `header_bits` bits.
unsafe extern "C" fn note_clone_of_leaving(
    context: *mut Context<'_>,
    session: u64,
    field_list: u64,
    truncate_to: u64,
    header_bits: u64,
) {
    // SAFETY: see the module.
    unsafe {
        let noted = &mut (*(*context).memory).going_on;
        noted.clone = Some(CloneRequest {
            kind: CloneKind::IngressToEgress,
            session: session as u32,
            preserve: preserve(field_list),
        });
        noted.truncate_to = Some(truncate_to as u32).filter(|limit| *limit != u32::MAX);
        noted.header_bytes = header_bits / 8;
    }
}

/// Fast path: notes a packet that is sent back and may keep the `bytes` bytes at `kept`. Returns the number of the
/// note.
unsafe extern "C" fn note_sent_back(context: *mut Context<'_>, kept: *const u8, bytes: usize, asked: u64) -> u64 {
    // SAFETY: see the module.
    unsafe {
        let field_list = asked.checked_sub(SendsBack::FIRST_LIST).unwrap_or(NO_FIELD_LIST);
        let notes = &mut (*(*context).memory).sent_back;
        notes.add(preserve(field_list), slice::from_raw_parts(kept, bytes)) as u64
    }
}

/// Makes the burst end after the packet at this index.
///
/// # Safety
///
/// The fast path begins with a list of verdicts, in which the packet has an entry.
unsafe fn end_burst(context: &mut Context<'_>, place: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        let end = context.verdicts.assume_init().add(place + 1);
        context.verdicts_end.write(end);
    }
}

/// The number that compiled code gives for no field list.
pub(crate) const NO_FIELD_LIST: u64 = u64::MAX;

fn preserve(field_list: u64) -> Preserve {
    Preserve {
        field_list: (field_list != NO_FIELD_LIST).then_some(field_list as u32),
    }
}

unsafe extern "C" fn clone(context: *mut Context<'_>, kind: *const CloneKind, session: u64, field_list: u64) {
    // SAFETY: see the module.
    unsafe {
        (*context).wants_copies = 1;
        (*context).asked |= asked(Argument::CloneRequest) | asked(Argument::CloneSession);
        (*(*context).requests).clone = Some(CloneRequest {
            kind: *kind,
            session: session as u32,
            preserve: preserve(field_list),
        });
    }
}

unsafe extern "C" fn resubmit(context: *mut Context<'_>, field_list: u64) {
    // SAFETY: see the module.
    unsafe {
        (*context).asked |= asked(Argument::ResubmitRequest);
        (*(*context).requests).resubmit = Some(preserve(field_list));
    }
}

unsafe extern "C" fn recirculate(context: *mut Context<'_>, field_list: u64) {
    // SAFETY: see the module.
    unsafe {
        (*context).asked |= asked(Argument::RecirculateRequest);
        (*(*context).requests).recirculate = Some(preserve(field_list));
    }
}

unsafe extern "C" fn truncate(context: *mut Context<'_>, bytes: u64) {
    // SAFETY: see the module.
    unsafe {
        (*context).asked |= asked(Argument::TruncateRequest);
        let requests = &mut *(*context).requests;
        let bytes = bytes.min(u32::MAX.into()) as u32;
        requests.truncate_to = Some(requests.truncate_to.map_or(bytes, |before| before.min(bytes)));
    }
}
