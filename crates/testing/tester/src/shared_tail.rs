//! Templates that differ in their first bytes alone, as they are sent.
//!
//! ```text
//!   template n:  head n (headers) │ the last bytes of the tail (payload and tag)
//! ```
//!
//! The templates of a thousand flows with frames of 1,500 bytes are 1.5 MB, more than the processor's near caches. To
//! copy a frame from there would take longer the more flows there are, and that time would be part of the latency of
//! every device. So what all templates end with is kept once, and each has a cache line or two of its own.

/// Bytes of a head at most.
const HEAD_MAX: usize = 128;

/// Bytes that the longest template must have behind its head: fewer are copied sooner in one piece.
const TAIL_MIN: usize = 128;

/// Templates that have no more bytes than this together are in the nearest cache as they are.
const NEAR_BYTES: usize = 16 << 10;

/// Heads begin at multiples of this: a cache line.
const LINE_BYTES: usize = 64;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedTail {
    heads: Vec<u8>,
    head_bytes: usize,
    /// From the beginning of one head to that of the next.
    stride: usize,
    /// The length of each template.
    lengths: Vec<u32>,
    tail: Vec<u8>,
}

impl SharedTail {
    /// None when these templates are too few or too short to gain by it, or do not have the same end.
    pub(crate) fn of(templates: &[Vec<u8>]) -> Option<SharedTail> {
        let bytes: usize = templates.iter().map(Vec::len).sum();
        let longest = templates.iter().max_by_key(|template| template.len())?;
        if bytes <= NEAR_BYTES || longest.len() < TAIL_MIN {
            return None;
        }
        let head_bytes = head_bytes(templates, longest)?;
        let tail = longest.get(head_bytes..).filter(|tail| tail.len() >= TAIL_MIN)?;
        let stride = head_bytes.next_multiple_of(LINE_BYTES);
        let mut heads = vec![0; stride * templates.len()];
        for (template, head) in templates.iter().zip(heads.chunks_exact_mut(stride.max(1))) {
            let own = head_bytes.min(template.len());
            head[..own].copy_from_slice(&template[..own]);
        }
        Some(SharedTail {
            heads,
            head_bytes,
            stride,
            lengths: templates.iter().map(|template| template.len() as u32).collect(),
            tail: tail.to_vec(),
        })
    }

    /// The head of a template, and what follows it.
    #[inline]
    pub(crate) fn parts(&self, template: usize) -> (&[u8], &[u8]) {
        let length = self.lengths[template] as usize;
        let own = self.head_bytes.min(length);
        let at = self.stride * template;
        (
            &self.heads[at..at + own],
            &self.tail[self.tail.len() - (length - own)..],
        )
    }
}

/// Bytes after which each template is the end of the longest one; none when these are too many.
fn head_bytes(templates: &[Vec<u8>], longest: &[u8]) -> Option<usize> {
    let mut head_bytes = 0;
    for template in templates {
        let rest = template.get(head_bytes..).unwrap_or_default();
        if longest.ends_with(rest) {
            continue;
        }
        let ends = template.iter().rev().zip(longest.iter().rev());
        let same = ends.take_while(|(own, other)| own == other).count();
        head_bytes = template.len() - same;
        if head_bytes > HEAD_MAX {
            return None;
        }
    }
    Some(head_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(shared: &SharedTail, template: usize) -> Vec<u8> {
        let (head, tail) = shared.parts(template);
        [head, tail].concat()
    }

    /// Templates of some lengths, the first 42 bytes of which differ.
    fn templates(lengths: &[usize]) -> Vec<Vec<u8>> {
        let template = |number: usize| {
            let length = lengths[number % lengths.len()];
            let mut template = vec![0; length];
            template[30..42.min(length)].fill(number as u8);
            if let Some(at) = length.checked_sub(18) {
                template[at..].fill(0xee);
            }
            template
        };
        (0..100).map(template).collect()
    }

    #[test]
    fn parts_are_the_templates() {
        for lengths in [&[1496][..], &[60, 590, 1514], &[1496, 40]] {
            let templates = templates(lengths);
            let shared = SharedTail::of(&templates).expect("templates with one end");
            for (number, template) in templates.iter().enumerate() {
                assert_eq!(&whole(&shared, number), template, "{lengths:?}, {number}");
            }
        }
    }

    #[test]
    fn a_head_is_a_line_of_its_own() {
        let shared = SharedTail::of(&templates(&[1496])).expect("templates with one end");
        assert_eq!((shared.head_bytes, shared.stride, shared.tail.len()), (42, 64, 1454));
    }

    #[test]
    fn short_few_and_different_templates_stay_whole() {
        assert_eq!(SharedTail::of(&templates(&[60])), None);
        assert_eq!(SharedTail::of(&templates(&[1496])[..3]), None);
        assert_eq!(SharedTail::of(&[]), None);
        let mut different = templates(&[1496]);
        different[7][1000] = 1;
        assert_eq!(SharedTail::of(&different), None);
    }

    /// All alike: there is no head.
    #[test]
    fn templates_without_a_difference_are_one() {
        let templates = vec![vec![7; 1500]; 20];
        let shared = SharedTail::of(&templates).expect("templates with one end");
        assert_eq!((shared.heads.len(), whole(&shared, 19)), (0, templates[19].clone()));
    }
}
