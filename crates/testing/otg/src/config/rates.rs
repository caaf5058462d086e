//! The rate of a flow, when it begins and ends, and its bursts.

use super::Limit;
use crate::node::{Node, Wrong};
use forebay_tester::schedule::Shape;
use forebay_tester::stream::{Rate, Stream};
use forebay_tester::tag::NUMBER_MAX;

/// The highest rates that are taken.
const PPS_MAX: u64 = 1_000_000_000;

/// The least gap between frames, which is that of the wire; other ones are not kept.
const GAP_BYTES: u64 = 12;

/// How long after its start a flow may begin.
const DELAY_S_MAX: f64 = 86_400.0;

/// How long a flow with an end lasts at most.
const SECONDS_MAX: f64 = 86_400.0;

pub(super) fn rate(node: &Node<'_>, speed: f64) -> Result<Rate, Wrong> {
    const SUPPORTED: [&str; 6] = ["pps", "bps", "kbps", "mbps", "gbps", "percentage"];
    if !node.is_there() {
        return Ok(Rate::Frames(1000.0));
    }
    node.object(&["choice", "pps", "bps", "kbps", "mbps", "gbps", "percentage"])?;
    let (choice, chosen) = node.choice("pps")?;
    // A unit without a number is 1 Gbps.
    let bits = |unit: f64| -> Result<Rate, Wrong> {
        let value = if chosen.is_there() {
            chosen.positive()?
        } else {
            1e9 / unit
        };
        if value * unit <= 1e12 {
            Ok(Rate::Bits(value * unit))
        } else {
            Err(chosen.wrong("at most 1000 Gbps are possible"))
        }
    };
    match choice {
        "pps" => Ok(Rate::Frames(chosen.whole_or(1000, 1..=PPS_MAX)? as f64)),
        "bps" => bits(1.0),
        "kbps" => bits(1e3),
        "mbps" => bits(1e6),
        "gbps" => bits(1e9),
        "percentage" => {
            let percent = if chosen.is_there() { chosen.positive()? } else { 100.0 };
            if percent <= 100.0 {
                Ok(Rate::Bits(speed * percent / 100.0))
            } else {
                Err(chosen.wrong("at most 100 is possible"))
            }
        }
        other => Err(node.not_supported(other, &SUPPORTED)),
    }
}

/// When the flow ends, and how long after its start it begins; bursts change its shape.
pub(super) fn duration(
    node: &Node<'_>,
    stream: &mut Stream,
    speed: f64,
    warnings: &mut Vec<String>,
) -> Result<(Limit, u64), Wrong> {
    const SUPPORTED: [&str; 4] = ["continuous", "fixed_packets", "fixed_seconds", "burst"];
    if !node.is_there() {
        return Ok((Limit::None, 0));
    }
    node.object(&["choice", "continuous", "fixed_packets", "fixed_seconds", "burst"])?;
    let (choice, chosen) = node.choice("continuous")?;
    let limit = match choice {
        "continuous" => {
            chosen.object(&["gap", "delay"])?;
            Limit::None
        }
        "fixed_packets" => {
            chosen.object(&["packets", "gap", "delay"])?;
            Limit::Frames(chosen.at("packets").whole_or(1, 1..=NUMBER_MAX)?)
        }
        "fixed_seconds" => {
            chosen.object(&["seconds", "gap", "delay"])?;
            let seconds = chosen.at("seconds");
            let seconds = if seconds.is_there() { seconds.positive()? } else { 1.0 };
            if seconds > SECONDS_MAX {
                let warning = format!("at most {SECONDS_MAX} are possible, after which the flow ends");
                warnings.push(chosen.at("seconds").wrong(warning).to_string());
            }
            Limit::Seconds(seconds.min(SECONDS_MAX))
        }
        "burst" => bursts(&chosen, stream, speed)?,
        other => return Err(node.not_supported(other, &SUPPORTED)),
    };
    let gap = chosen.at("gap");
    if gap.whole_or(GAP_BYTES, 0..=u64::MAX)? != GAP_BYTES {
        warnings.push(format!(
            "{}: the rate alone decides the gaps between frames",
            gap.wrong("").path
        ));
    }
    let delay_s = time(&chosen.at("delay"), speed)?;
    if delay_s > DELAY_S_MAX {
        return Err(chosen
            .at("delay")
            .wrong(format!("at most {DELAY_S_MAX} seconds are possible")));
    }
    Ok((limit, (delay_s * 1e9) as u64))
}

/// Seconds of a time in one of three units; 0 when there is none.
fn time(node: &Node<'_>, speed: f64) -> Result<f64, Wrong> {
    if !node.is_there() {
        return Ok(0.0);
    }
    node.object(&["choice", "bytes", "nanoseconds", "microseconds"])?;
    let (choice, chosen) = node.choice("bytes")?;
    let value = if chosen.is_there() { chosen.not_negative()? } else { 0.0 };
    match choice {
        "nanoseconds" => Ok(value / 1e9),
        "microseconds" => Ok(value / 1e6),
        "bytes" => Ok(value * 8.0 / speed),
        other => Err(node.not_supported(other, &["bytes", "nanoseconds", "microseconds"])),
    }
}

fn bursts(node: &Node<'_>, stream: &mut Stream, speed: f64) -> Result<Limit, Wrong> {
    node.object(&["bursts", "packets", "gap", "inter_burst_gap"])?;
    let bursts = node.at("bursts").whole_or(0, 0..=1 << 32)?;
    let packets = node.at("packets").whole_or(1, 1..=1 << 24)?;
    let gap = node.at("inter_burst_gap");
    let gap_s = time(&gap, speed)?;
    if let Some(pps) = stream.mean_pps()
        && gap_s > 0.0
    {
        let shape = Shape::on_off(packets as f64 / pps, gap_s);
        stream.shape = shape.ok_or_else(|| gap.wrong("bursts and gaps take too long at this rate"))?;
    }
    let total = bursts.saturating_mul(packets);
    match total {
        0 => Ok(Limit::None),
        1..=NUMBER_MAX => Ok(Limit::Frames(total)),
        _ => Err(node.wrong(format!(
            "{bursts} bursts of {packets} packets are more than {NUMBER_MAX} frames"
        ))),
    }
}
