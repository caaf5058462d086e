//! Frames that left the timed model, one by one, as Parquet or CSV.
//!
//! | column | what |
//! |---|---|
//! | `case` | the scenario's parameters: `N=2 S=22` |
//! | `port` | where the frame left: `chip:port` |
//! | `source` | the traffic it belongs to, or the host that sent it; null for packets of a timer |
//! | `sequence` | which frame of its source it was made of, from 0 |
//! | `arrived_ps` | when the last byte of that frame came in; null when that is not known |
//! | `departed_ps` | when its own last byte was out |
//! | `bytes` | length without preamble, check sequence and gap |

use crate::parquet_columns::{self, Values};
use anyhow::Result;
use forebay_sim::Departure;
use std::fmt::Write;
use std::path::Path;

/// The bytes of a file for `path`: CSV when its name ends so, else Parquet.
///
/// # Errors
/// When the writer does not take the table, which would be a mistake of ours.
pub fn file(path: &Path, cases: &[(String, Vec<Departure>)]) -> Result<Vec<u8>> {
    if path.extension().is_some_and(|kind| kind == "csv") {
        Ok(csv(cases).into_bytes())
    } else {
        parquet(cases)
    }
}

fn csv(cases: &[(String, Vec<Departure>)]) -> String {
    let mut text = String::from("case,port,source,sequence,arrived_ps,departed_ps,bytes\n");
    for (case, departures) in cases {
        let case = quoted(case);
        for departure in departures {
            let source = departure.source.as_deref().map(quoted).unwrap_or_default();
            let arrived = departure.arrived_ps.map(|time| time.to_string()).unwrap_or_default();
            let Departure {
                port,
                sequence,
                departed_ps,
                bytes,
                ..
            } = departure;
            let port = quoted(port);
            writeln!(
                text,
                "{case},{port},{source},{sequence},{arrived},{departed_ps},{bytes}"
            )
            .expect("room in memory");
        }
    }
    text
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

fn parquet(cases: &[(String, Vec<Departure>)]) -> Result<Vec<u8>> {
    let all = || cases.iter().flat_map(|(_, departures)| departures);
    let names = cases
        .iter()
        .flat_map(|(case, departures)| departures.iter().map(|_| Some(case.clone())));
    let integers = |of: fn(&Departure) -> i64| Values::Integers(all().map(|departure| Some(of(departure))).collect());
    let arrived = |departure: &Departure| departure.arrived_ps.map(|time| time as i64);
    parquet_columns::file(&[
        ("case", true, Values::Text(names.collect())),
        (
            "port",
            true,
            Values::Text(all().map(|departure| Some(departure.port.clone())).collect()),
        ),
        (
            "source",
            false,
            Values::Text(all().map(|departure| departure.source.clone()).collect()),
        ),
        ("sequence", true, integers(|departure| departure.sequence as i64)),
        ("arrived_ps", false, Values::Integers(all().map(arrived).collect())),
        ("departed_ps", true, integers(|departure| departure.departed_ps as i64)),
        ("bytes", true, integers(|departure| departure.bytes as i64)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::io::Write as _;

    fn cases() -> Vec<(String, Vec<Departure>)> {
        let departure = |source: Option<&str>, arrived_ps| Departure {
            port: "second:2".to_string(),
            source: source.map(str::to_string),
            sequence: 3,
            arrived_ps,
            departed_ps: 2_000_001,
            bytes: 64,
        };
        vec![
            ("N=2".to_string(), vec![departure(Some("in, \"a\""), Some(1_999_000))]),
            ("N=4".to_string(), vec![departure(None, None)]),
        ]
    }

    #[test]
    fn a_frame_is_a_line_of_csv() {
        let text = file(Path::new("d.csv"), &cases()).expect("text");
        assert_eq!(
            String::from_utf8(text).expect("UTF-8"),
            "case,port,source,sequence,arrived_ps,departed_ps,bytes\n\
             N=2,second:2,\"in, \"\"a\"\"\",3,1999000,2000001,64\n\
             N=4,second:2,,3,,2000001,64\n"
        );
    }

    #[test]
    fn a_frame_is_a_row_of_parquet() {
        let mut written = tempfile::tempfile().expect("a file");
        let bytes = file(Path::new("d.parquet"), &cases()).expect("a table");
        written.write_all(&bytes).expect("room for it");
        let reader = SerializedFileReader::new(written).expect("a Parquet file");
        let rows: Vec<String> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row").to_string())
            .collect();
        assert_eq!(
            rows,
            [
                r#"{case: "N=2", port: "second:2", source: "in, "a"", sequence: 3, arrived_ps: 1999000, departed_ps: 2000001, bytes: 64}"#,
                r#"{case: "N=4", port: "second:2", source: null, sequence: 3, arrived_ps: null, departed_ps: 2000001, bytes: 64}"#,
            ]
        );
    }
}
