//! Code for the processor that it runs on.
//!
//! [`for_this_processor`] compiles a function several times; in its body `Processor` names the instructions that there
//! are, for code that is generic over [`Instructions`].

/// What different processors do differently.
pub(crate) trait Instructions {
    /// A bit for each number whose upper 48 bits are `key`.
    fn with_upper_bits(numbers: &[u64; 8], key: u64) -> u32;
}

/// Instructions that every processor has.
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn with_upper_bits(numbers: &[u64; 8], key: u64) -> u32 {
        let bits = numbers.iter().enumerate();
        bits.fold(0, |bits, (index, number)| {
            bits | (u32::from(number >> 16 == key) << index)
        })
    }
}

/// AVX2, with the bit instructions of its time.
///
/// Only [`for_this_processor`] names it, where it has made sure of them.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx2 {
    #[inline(always)]
    fn with_upper_bits(numbers: &[u64; 8], key: u64) -> u32 {
        use std::arch::x86_64::*;
        // SAFETY: the processor has AVX2; both loads are within the numbers.
        unsafe {
            let key = _mm256_set1_epi64x(key as i64);
            let half = |index: usize| {
                let numbers = _mm256_loadu_si256(numbers.as_ptr().add(index).cast());
                let equal = _mm256_cmpeq_epi64(_mm256_srli_epi64::<16>(numbers), key);
                _mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u32
            };
            half(0) | (half(4) << 4)
        }
    }
}

/// AVX-512 as servers have it.
///
/// Only [`for_this_processor`] names it, where it has made sure of it.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    #[inline(always)]
    fn with_upper_bits(numbers: &[u64; 8], key: u64) -> u32 {
        use std::arch::x86_64::*;
        // SAFETY: the processor has AVX-512; the load is the numbers.
        unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            let equal = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<16>(numbers), _mm512_set1_epi64(key as i64));
            equal.into()
        }
    }
}

/// Whether the processor has AVX2 and the bit instructions of its time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Whether it has AVX-512 as servers do, and everything before.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && has_avx2()
}

/// Defines a function three times, for processors with AVX-512, with AVX2 and without either, and calls the best one.
/// What is marked `#[inline(always)]` and called in its body is compiled for that processor too. A body need not use
/// `Processor`; its size, which is nothing, is asked for so that it counts as used.
macro_rules! for_this_processor {
    ($(#[$attribute:meta])* fn $name:ident $(<$(const $constant:ident: usize),*>)?
     ($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[inline]
        fn $name $(<$(const $constant: usize),*>)? ($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn with_avx512 $(<$(const $constant: usize),*>)? ($($argument: $type),*) {
                    type Processor = crate::processor::Avx512;
                    const _: usize = size_of::<Processor>();
                    $body
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn with_avx2 $(<$(const $constant: usize),*>)? ($($argument: $type),*) {
                    type Processor = crate::processor::Avx2;
                    const _: usize = size_of::<Processor>();
                    $body
                }
                if crate::processor::has_avx512() {
                    // SAFETY: the processor has what the function is compiled for.
                    return unsafe { with_avx512 $(::<$($constant),*>)? ($($argument),*) };
                }
                if crate::processor::has_avx2() {
                    // SAFETY: as above.
                    return unsafe { with_avx2 $(::<$($constant),*>)? ($($argument),*) };
                }
            }
            type Processor = crate::processor::Portable;
            const _: usize = size_of::<Processor>();
            $body
        }
    };
}
pub(crate) use for_this_processor;

#[cfg(test)]
mod tests {
    use super::*;

    for_this_processor! {
        fn with_upper_bits(numbers: &[u64; 8], key: u64, bits: &mut u32) {
            *bits = Processor::with_upper_bits(numbers, key);
        }
    }

    #[test]
    fn all_instructions_find_the_same() {
        let numbers = [0x1_0000, 0x2_ffff, 0, 0x1_0001, 0x2_0000, 0x3_0000, 0x1_ffff, u64::MAX];
        for key in [0, 1, 2, 3, 4, u64::MAX >> 16] {
            let mut bits = 0;
            with_upper_bits(&numbers, key, &mut bits);
            assert_eq!(bits, Portable::with_upper_bits(&numbers, key), "key {key:#x}");
        }
        assert_eq!(Portable::with_upper_bits(&numbers, 1), 0b0100_1001);
    }
}
