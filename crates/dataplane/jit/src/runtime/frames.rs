//! Packets read and put together bit by bit, and hashes of data that is put together in the same way.

use super::Function;
use super::values::words;
use crate::context::Context;
use crate::packet_context::Lane;
use forebay_bits::{Bits, read_limbs, write_limbs};
use forebay_ir::HashAlgorithm;
use std::slice;

functions! {
    READ_PACKET = read_packet(_, _, _, _, _);
    STORE_VARBIT = store_varbit(_, _, _, _);
    COPY_BYTES = copy_bytes(_, _, _);
    OUTPUT_BEGIN = output_begin(_, _);
    OUTPUT_END = output_end(_, _);
    HASH_BYTES = hash_bytes(_, _, _, _) -> u64;
    HASH_BEGIN = hash_begin(_);
    HASH_END = hash_end(_, _, _) -> u64;
    EXTEND_OUTPUT = extend_output(_, _) -> u64;
    GROW_OUTPUT = grow_output(_, _) -> u64;
    APPEND_BITS = append_bits(_, _, _, _);
    APPEND_VALUE = append_value(_, _, _, _, _);
}

pub(super) fn packet<'a>(context: &Context<'a>) -> &'a [u8] {
    // SAFETY: the context describes a packet that lives as long as the context.
    unsafe { slice::from_raw_parts(context.packet, context.packet_bits as usize / 8) }
}

/// Reads bits of the packet into a field of `width` bits. Compiled code has tested that the bits are there and fit.
unsafe extern "C" fn read_packet(
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

/// Copies bytes, whose places may overlap.
unsafe extern "C" fn copy_bytes(target: *mut u8, source: *const u8, count: u64) {
    // SAFETY: see the module.
    unsafe { std::ptr::copy(source, target, count as usize) }
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

/// Ends the deparser's output for a lane.
unsafe extern "C" fn output_end(context: *mut Context<'_>, lane: *mut Lane) {
    // SAFETY: see the module.
    unsafe { (*lane).output_bits = (*(*context).output).len_bits() as u64 - (*lane).output_start }
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

/// The buffers to which data can be appended.
pub(crate) mod target {
    pub(crate) const OUTPUT: i64 = 0;
    pub(crate) const HASH_INPUT: i64 = 1;
}

/// One of the buffers.
///
/// # Safety
///
/// The context is that of the calling code, and no other reference to the buffer is used while this one is.
unsafe fn buffer<'a>(context: *mut Context<'_>, target: u64) -> &'a mut forebay_exec::BitBuffer {
    // SAFETY: as the caller promises.
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
    place.expect("headers of whole bytes").as_mut_ptr().expose_provenance() as u64
}

/// The least number of bytes by which the output grows: more than most deparsers emit.
const OUTPUT_STEP: usize = 256;

/// Makes room for `bytes` more bytes, and returns their address.
unsafe extern "C" fn grow_output(context: *mut Context<'_>, bytes: u64) -> u64 {
    // SAFETY: see the module.
    unsafe {
        let context = &mut *context;
        context.leave_buffer();
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
