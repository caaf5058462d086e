//! Lengths of the frames of a flow.

use crate::node::{Node, Wrong};
use forebay_packet::SplitMix64;

/// The longest frame, with check sequence.
const BYTES_MAX: u64 = 9_218;

/// Lengths that a flow has at random.
const SIZES_MAX: usize = 256;

/// Frames in which all lengths come in the proportions of their weights at most: enough for weights of two places whose
/// sum is 100.
const WEIGHTED_MAX: u64 = 1 << 14;

/// Lengths with check sequence, in turn.
pub(super) fn sizes(node: &Node<'_>) -> Result<Vec<usize>, Wrong> {
    if !node.is_there() {
        return Ok(vec![64]);
    }
    node.object(&["choice", "fixed", "increment", "random", "weight_pairs"])?;
    let bytes = |node: &Node<'_>, default| node.whole_or(default, 1..=BYTES_MAX);
    let (choice, chosen) = node.choice("fixed")?;
    match choice {
        "fixed" => Ok(vec![bytes(&chosen, 64)? as usize]),
        "increment" => {
            chosen.object(&["start", "end", "step"])?;
            let (start, end) = (bytes(&chosen.at("start"), 64)?, bytes(&chosen.at("end"), 1518)?);
            let step = chosen.at("step").whole_or(1, 1..=BYTES_MAX)?;
            let sizes: Vec<usize> = (start..=end)
                .step_by(step as usize)
                .map(|bytes| bytes as usize)
                .collect();
            if sizes.is_empty() {
                Err(chosen.wrong("start is more than end"))
            } else {
                Ok(sizes)
            }
        }
        "random" => {
            chosen.object(&["min", "max"])?;
            let (min, max) = (bytes(&chosen.at("min"), 64)?, bytes(&chosen.at("max"), 1518)?);
            if min > max {
                return Err(chosen.at("min").wrong("is more than max"));
            }
            let mut random = SplitMix64::new(1);
            Ok((0..SIZES_MAX)
                .map(|_| (min + random.next_u64() % (max - min + 1)) as usize)
                .collect())
        }
        "weight_pairs" => weights(&chosen),
        other => Err(node.not_supported(other, &["fixed", "increment", "random", "weight_pairs"])),
    }
}

/// The mix `imix` of the API: 64, 570 and 1518 bytes in proportions 7 : 4 : 1.
const IMIX: [usize; 12] = [64, 570, 64, 64, 570, 64, 570, 64, 1518, 64, 570, 64];

/// Its other mixes, whose lengths all have these weights.
const MIXES: [(&str, [usize; 4]); 4] = [
    ("ipsec_imix", [90, 92, 594, 1418]),
    ("ipv6_imix", [60, 496, 594, 1518]),
    ("standard_imix", [58, 62, 594, 1518]),
    ("tcp_imix", [90, 92, 594, 1518]),
];
const MIX_WEIGHTS: [f64; 4] = [58.67, 2.0, 23.66, 15.67];

fn weights(node: &Node<'_>) -> Result<Vec<usize>, Wrong> {
    node.object(&["choice", "predefined", "custom"])?;
    let (choice, chosen) = node.choice("predefined")?;
    if choice == "predefined" {
        let name = if chosen.is_there() { chosen.text()? } else { "imix" };
        return predefined(&chosen, name);
    }
    let mut pairs = Vec::new();
    for pair in chosen.list()? {
        pair.object(&["size", "weight"])?;
        let bytes = pair.at("size").whole_or(64, 1..=BYTES_MAX)? as usize;
        let weight = pair.at("weight");
        pairs.push((bytes, if weight.is_there() { weight.positive()? } else { 1.0 }));
    }
    if pairs.is_empty() {
        return Err(chosen.wrong("at least one pair of size and weight is expected"));
    }
    in_proportion(&chosen, &pairs)
}

/// A mix that the API has by name.
fn predefined(node: &Node<'_>, name: &str) -> Result<Vec<usize>, Wrong> {
    if name == "imix" {
        return Ok(IMIX.to_vec());
    }
    match MIXES.iter().find(|(own, _)| *own == name) {
        Some((_, sizes)) => in_proportion(node, &std::array::from_fn::<_, 4, _>(|at| (sizes[at], MIX_WEIGHTS[at]))),
        None => {
            let known: Vec<&str> = MIXES.iter().map(|(own, _)| *own).collect();
            Err(node.wrong(format!(
                "there is no mix {name:?}; there are imix, {}",
                known.join(", ")
            )))
        }
    }
}

/// The smallest numbers of frames in the proportions of the weights, of which three places count.
fn in_proportion(node: &Node<'_>, weights: &[(usize, f64)]) -> Result<Vec<usize>, Wrong> {
    let whole = |weight: f64| (weight * 1000.0).round().max(1.0) as u64;
    let mut pairs: Vec<(usize, u64)> = weights.iter().map(|(bytes, weight)| (*bytes, whole(*weight))).collect();
    let common = pairs
        .iter()
        .fold(0, |common, (_, weight)| common_divisor(common, *weight));
    pairs.iter_mut().for_each(|(_, weight)| *weight /= common);
    let total = pairs
        .iter()
        .fold(0, |total: u64, (_, weight)| total.saturating_add(*weight));
    if total > WEIGHTED_MAX {
        return Err(node.wrong(format!(
            "sizes in these proportions need {total} frames; {WEIGHTED_MAX} are possible"
        )));
    }
    Ok(interleaved(&pairs, total))
}

/// Sizes as often as they are to come, `total` in all, so that each is spread evenly: the next one is the one that is
/// farthest behind its share.
pub(super) fn interleaved(pairs: &[(usize, u64)], total: u64) -> Vec<usize> {
    let mut came = vec![0; pairs.len()];
    let next = |step: u64| {
        let behind = |index: &usize| (pairs[*index].1 * step) as i64 - (came[*index] * total) as i64;
        let index = (0..pairs.len()).max_by_key(behind).unwrap_or_default();
        came[index] += 1;
        pairs[index].0
    };
    (1..=total).map(next).collect()
}

/// The greatest number that divides both; the second one when the first is 0.
fn common_divisor(mut first: u64, mut second: u64) -> u64 {
    while first != 0 {
        (first, second) = (second % first, first);
    }
    second
}
