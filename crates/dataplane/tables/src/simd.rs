//! Compares a whole line of words at once, with the best instructions of the processor.
//!
//! [`with_instructions`] executes code that is generic over [`Instructions`] with the best ones available.

use crate::sync::{LINE_WORDS, Line, Ordering};

/// Operations that differ between processors.
pub(crate) trait Instructions {
    /// A bit for each word of the line that equals `wanted`, apart from the bits in `ignored`. Each word is read at
    /// some moment; if it is written meanwhile, some of its bytes may be old and others new.
    fn same(line: &Line, wanted: u64, ignored: u64) -> u32;
}

/// Code that is generic over instructions.
pub(crate) trait Generic {
    fn execute<I: Instructions>(self);
}

/// Instructions that every processor has.
pub(crate) struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn same(line: &Line, wanted: u64, ignored: u64) -> u32 {
        let bit = |word: usize| {
            let word_is = line.0[word].load(Ordering::Relaxed);
            u32::from((word_is ^ wanted) & !ignored == 0) << word
        };
        (0..LINE_WORDS).fold(0, |bits, word| bits | bit(word))
    }
}

/// Executes code with the best instructions of this processor.
#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
#[inline]
pub(crate) fn with_instructions(code: impl Generic) {
    use x86::{Avx2, Avx512};

    #[target_feature(enable = "avx512f,avx2,bmi1,bmi2")]
    fn with_avx512(code: impl Generic) {
        code.execute::<Avx512>();
    }
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn with_avx2(code: impl Generic) {
        code.execute::<Avx2>();
    }
    let has_avx2 =
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
    if !has_avx2 {
        code.execute::<Portable>()
    } else if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions that the function is compiled for.
        unsafe { with_avx512(code) }
    } else {
        // SAFETY: as above.
        unsafe { with_avx2(code) }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
#[inline]
pub(crate) fn with_instructions(code: impl Generic) {
    code.execute::<Portable>();
}

#[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
mod x86 {
    use super::Instructions;
    use crate::sync::Line;
    use std::arch::asm;

    /// Used only by [`super::with_instructions`], if the processor has AVX2.
    pub(super) struct Avx2;

    impl Instructions for Avx2 {
        #[inline(always)]
        fn same(line: &Line, wanted: u64, ignored: u64) -> u32 {
            // SAFETY: the processor has AVX2.
            unsafe { with_avx2(line, wanted, ignored) }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn with_avx2(line: &Line, wanted: u64, ignored: u64) -> u32 {
        let (low, high): (u32, u32);
        // SAFETY: the line is only read. Concurrent writes are atomic, word by word. This read is too, and it is not a
        // Rust memory access.
        unsafe {
            asm!(
                "vmovq {wanted:x}, {wanted_word}",
                "vmovq {ignored:x}, {ignored_word}",
                "vpbroadcastq {wanted}, {wanted:x}",
                "vpbroadcastq {ignored}, {ignored:x}",
                "vpxor {half}, {wanted}, ymmword ptr [{line}]",
                "vpxor {wanted}, {wanted}, ymmword ptr [{line} + 32]",
                "vpandn {half}, {ignored}, {half}",
                "vpandn {wanted}, {ignored}, {wanted}",
                "vpxor {ignored:x}, {ignored:x}, {ignored:x}",
                "vpcmpeqq {half}, {half}, {ignored}",
                "vpcmpeqq {wanted}, {wanted}, {ignored}",
                "vmovmskpd {low:e}, {half}",
                "vmovmskpd {high:e}, {wanted}",
                line = in(reg) line,
                wanted_word = in(reg) wanted,
                ignored_word = in(reg) ignored,
                wanted = out(ymm_reg) _,
                ignored = out(ymm_reg) _,
                half = out(ymm_reg) _,
                low = out(reg) low,
                high = out(reg) high,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        low | high << 4
    }

    /// Used only by [`super::with_instructions`], if the processor has AVX-512.
    pub(super) struct Avx512;

    impl Instructions for Avx512 {
        #[inline(always)]
        fn same(line: &Line, wanted: u64, ignored: u64) -> u32 {
            // SAFETY: the processor has AVX-512.
            unsafe { with_avx512(line, wanted, ignored) }
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn with_avx512(line: &Line, wanted: u64, ignored: u64) -> u32 {
        let same: u32;
        // SAFETY: as above.
        unsafe {
            asm!(
                "vpbroadcastq {wanted}, {wanted_word}",
                "vpbroadcastq {ignored}, {ignored_word}",
                "vpxorq {wanted}, {wanted}, zmmword ptr [{line}]",
                "vpandnq {wanted}, {ignored}, {wanted}",
                "vptestnmq {mask}, {wanted}, {wanted}",
                "kmovw {same:e}, {mask}",
                line = in(reg) line,
                wanted_word = in(reg) wanted,
                ignored_word = in(reg) ignored,
                wanted = out(zmm_reg) _,
                ignored = out(zmm_reg) _,
                mask = out(kreg) _,
                same = out(reg) same,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        same
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::AtomicU64;

    struct Compare<'a> {
        line: &'a Line,
        wanted: u64,
        ignored: u64,
        same: &'a mut u32,
    }

    impl Generic for Compare<'_> {
        fn execute<I: Instructions>(self) {
            *self.same = I::same(self.line, self.wanted, self.ignored);
        }
    }

    #[test]
    fn all_instructions_find_the_same() {
        let words = [7, 8, 7 | 1 << 63, 0, 7 | 1 << 40, 1 << 63, 7, u64::MAX];
        let line = Line(words.map(AtomicU64::new));
        for ignored in [0, 1, 1 << 63, 1 << 40 | 1 << 63, u64::MAX] {
            for wanted in words {
                let mut same = 0;
                with_instructions(Compare {
                    line: &line,
                    wanted,
                    ignored,
                    same: &mut same,
                });
                assert_eq!(same, Portable::same(&line, wanted, ignored), "{wanted:#x} {ignored:#x}");
            }
        }
        assert_eq!(Portable::same(&line, 7, 1 << 63), 0b0100_0101);
    }
}
