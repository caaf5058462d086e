//! What was lost in the runs that an experiment evaluates.

use crate::metrics::Found;
use crate::report::put;
use forebay_sim::Results;
use serde::Serialize;
use std::collections::BTreeMap;

/// The packets of a run, or of a search: its run at the highest load without loss.
#[derive(Clone, Debug, Serialize)]
pub struct Losses {
    /// For which parameters.
    pub parameters: BTreeMap<String, String>,
    /// Which of several seeds, from 0.
    pub seed: u64,
    /// Counts; none when a search found no load without loss.
    pub run: Option<Counts>,
    /// The lowest load that lost something, if the load was searched.
    pub lowest_loss: Option<LowestLoss>,
}

/// Packets by what became of them.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    /// Packets sent by all streams.
    pub sent: u64,
    /// Packets of which at least one frame came out.
    pub delivered: u64,
    /// Frames that came out beyond one for each of these.
    pub copies: u64,
    /// Dropped by programs, copies included.
    pub dropped: u64,
    /// Lost by chips, by reason.
    pub lost: BTreeMap<String, u64>,
}

/// The lowest load of a search that lost something.
#[derive(Clone, Debug, Serialize)]
pub struct LowestLoss {
    /// Gbps of each stream.
    pub gbps: f64,
    /// Frames sent.
    pub sent: u64,
    /// Lost by chips, by reason.
    pub lost: BTreeMap<String, u64>,
    /// Frames that should have come out and did not.
    pub missing: i64,
    /// Packets of which no frame came out, and those of which only some did, when that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole_and_in_part: Option<(u64, u64)>,
}

impl Losses {
    pub(crate) fn of(parameters: &BTreeMap<String, String>, seed: u64, found: &Found) -> Losses {
        let counts = |results: &Results| Counts {
            sent: results.sent(),
            delivered: results.delivered(),
            copies: results.frames_out() - results.delivered(),
            dropped: results.dropped(),
            lost: results.losses(),
        };
        let search = found.search.as_ref();
        let lowest_loss = search.and_then(|search| {
            let trial = search.lowest_bad()?;
            Some(LowestLoss {
                gbps: trial.gbps,
                sent: trial.sent,
                lost: search.lowest_loss.as_ref().map(Results::losses).unwrap_or_default(),
                missing: trial.missing,
                whole_and_in_part: search.lowest_loss.as_ref().and_then(Results::lost_whole_and_in_part),
            })
        });
        Losses {
            parameters: parameters.clone(),
            seed,
            run: found.results.as_ref().map(counts),
            lowest_loss,
        }
    }
}

/// A row for each run, in Markdown; of the parameters those in `shown`.
pub(crate) fn losses_table(losses: &[Losses], shown: &[String]) -> String {
    let seeds = losses.iter().any(|losses| losses.seed > 0);
    let searched = losses
        .iter()
        .any(|losses| losses.lowest_loss.is_some() || losses.run.is_none());
    let mut header: Vec<&str> = shown.iter().map(String::as_str).collect();
    if seeds {
        header.push("seed");
    }
    // What hosts send is no stream's.
    let has_streams = losses
        .iter()
        .any(|losses| losses.run.as_ref().is_none_or(|run| run.sent > 0));
    if has_streams {
        header.extend(["sent", "delivered", "copies", "dropped by the program"]);
    }
    header.push("lost by the chip");
    if searched {
        header.push("at the lowest load that loses");
    }
    let mut text = format!("| {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len()));
    for losses in losses {
        let value = |name: &String| losses.parameters.get(name).cloned().unwrap_or_default();
        let mut fields: Vec<String> = shown.iter().map(value).collect();
        if seeds {
            fields.push(losses.seed.to_string());
        }
        match &losses.run {
            Some(run) => {
                let counts = [run.sent, run.delivered, run.copies, run.dropped];
                fields.extend(counts.iter().filter(|_| has_streams).map(u64::to_string));
                fields.push(reasons(&run.lost));
            }
            None => fields.extend(["nothing found", "", "", "", ""].map(String::from)),
        }
        if searched {
            fields.push(losses.lowest_loss.as_ref().map_or(String::new(), lowest));
        }
        put(&mut text, &format!("| {} |\n", fields.join(" | ")));
    }
    text
}

fn reasons(lost: &BTreeMap<String, u64>) -> String {
    let reasons: Vec<String> = lost.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    if reasons.is_empty() {
        "0".to_string()
    } else {
        reasons.join(", ")
    }
}

fn lowest(loss: &LowestLoss) -> String {
    let missing = match loss.missing {
        0 => String::new(),
        missing => format!(", {missing} frames missing"),
    };
    let parts = match loss.whole_and_in_part {
        Some((whole, part)) => format!(", {whole} packets lost as a whole, {part} in part"),
        None => String::new(),
    };
    format!(
        "{:.2} Gbps: {} of {} sent{missing}{parts}",
        loss.gbps,
        reasons(&loss.lost),
        loss.sent
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_its_losses() {
        let losses = Losses {
            parameters: BTreeMap::from([("n".to_string(), "8".to_string())]),
            seed: 0,
            run: Some(Counts {
                sent: 100,
                delivered: 97,
                copies: 0,
                dropped: 800,
                lost: BTreeMap::from([("queue_full".to_string(), 3)]),
            }),
            lowest_loss: None,
        };
        let nothing = Losses {
            run: None,
            lowest_loss: Some(LowestLoss {
                gbps: 1.0,
                sent: 50,
                lost: BTreeMap::new(),
                missing: 7,
                whole_and_in_part: Some((3, 2)),
            }),
            ..losses.clone()
        };
        let text = losses_table(&[losses, nothing], &["n".to_string()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "| 8 | 100 | 97 | 0 | 800 | 3 queue_full |  |");
        assert_eq!(
            lines[3],
            "| 8 | nothing found |  |  |  |  | 1.00 Gbps: 0 of 50 sent, 7 frames missing, 3 packets lost as a whole, 2 in part |"
        );
    }
}
