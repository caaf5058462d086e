//! Requests to the architecture: clones, digests, packets that are sent back.

use super::Function;
use super::frames::packet;
use crate::context::Context;
use crate::notes::NotedClone;
use crate::route::SendsBack;
use forebay_exec::{CloneRequest, DIGESTS_MAX, DigestRequest, Preserve};
use forebay_ir::pipeline::Argument;
use forebay_ir::{CloneKind, DigestId};
use std::slice;

functions! {
    CHECKSUM_ERROR = checksum_error(_);
    REQUESTED = requested(_, _) -> u64;
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
        let left = if shape.whole_frame {
            0
        } else {
            context.cursor as usize / 8
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
