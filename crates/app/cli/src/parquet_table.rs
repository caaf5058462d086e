//! Results as a Parquet file, for tools that read tables: pandas, DuckDB, R.
//!
//! | column | what |
//! |---|---|
//! | `case` | the scenario's parameters: `N=2 S=22` |
//! | `measure` | the place of the number in results.json: `results.sources.messages.latency.mean_ns` |
//! | `sample` | for series, which sample, from 0; null otherwise |
//! | `value` | the number |
//!
//! The rows are those of [`forebay_sim::rows`].

use crate::parquet_columns::{self, Values};
use anyhow::Result;
use serde_json::Value;

/// The bytes of a file; `cases` is what goes into results.json.
///
/// # Errors
/// When the writer does not take the table, which would be a mistake of ours.
pub fn file(cases: &Value) -> Result<Vec<u8>> {
    let (mut names, mut measures, mut samples, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for case in cases.as_array().into_iter().flatten() {
        let name = case["case"].as_str().unwrap_or_default();
        for row in ["results", "search"]
            .iter()
            .flat_map(|part| forebay_sim::rows(part, &case[part]))
        {
            names.push(Some(name.to_string()));
            measures.push(Some(row.measure));
            samples.push(row.sample);
            values.push(Some(row.value));
        }
    }
    parquet_columns::file(&[
        ("case", true, Values::Text(names)),
        ("measure", true, Values::Text(measures)),
        ("sample", false, Values::Integers(samples)),
        ("value", true, Values::Numbers(values)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use serde_json::json;
    use std::io::Write;

    #[test]
    fn every_number_is_a_row() {
        let cases = json!([{ "case": "N=2", "results": {
            "seed": 7,
            "outputs": [{ "port": "a:1", "gbps": 2.5, "samples_gbps": [1.0, 4.0] }],
        }}]);
        let mut written = tempfile::tempfile().expect("a file");
        written.write_all(&file(&cases).expect("a table")).expect("room for it");
        let reader = SerializedFileReader::new(written).expect("a Parquet file");
        let rows = reader.get_row_iter(None).expect("rows").map(|row| {
            let row = row.expect("a row");
            let sample = row.get_long(2).ok();
            let (case, measure) = (row.get_string(0).expect("text"), row.get_string(1).expect("text"));
            (
                case.clone(),
                measure.clone(),
                sample,
                row.get_double(3).expect("a number"),
            )
        });
        let row = |measure: &str, sample, value| ("N=2".to_string(), format!("results.{measure}"), sample, value);
        let mut found: Vec<_> = rows.collect();
        found.sort_by(|one, other| one.partial_cmp(other).expect("no NaN"));
        assert_eq!(
            found,
            [
                row("outputs.a:1.gbps", None, 2.5),
                row("outputs.a:1.samples_gbps", Some(0), 1.0),
                row("outputs.a:1.samples_gbps", Some(1), 4.0),
                row("seed", None, 7.0),
            ]
        );
    }
}
