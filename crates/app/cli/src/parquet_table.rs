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

use anyhow::Result;
use forebay_sim::Row;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use std::sync::Arc;

const SCHEMA: &str = "message results {
    required binary case (UTF8);
    required binary measure (UTF8);
    optional int64 sample;
    required double value;
}";

/// The table, column by column.
#[derive(Default)]
struct Table {
    case: Vec<ByteArray>,
    measure: Vec<ByteArray>,
    /// Those that are not null.
    sample: Vec<i64>,
    /// 1 for a row that has a sample, 0 for one that has none.
    has_sample: Vec<i16>,
    value: Vec<f64>,
}

/// The bytes of a file; `cases` is what goes into results.json.
///
/// # Errors
/// When the writer does not take the table, which would be a mistake of ours.
pub fn file(cases: &Value) -> Result<Vec<u8>> {
    let mut table = Table::default();
    for case in cases.as_array().into_iter().flatten() {
        let name = case["case"].as_str().unwrap_or_default();
        for part in ["results", "search"] {
            forebay_sim::rows(part, &case[part])
                .into_iter()
                .for_each(|row| table.row(name, row));
        }
    }
    table.write()
}

impl Table {
    fn row(&mut self, case: &str, row: Row) {
        self.case.push(case.into());
        self.measure.push(row.measure.as_str().into());
        self.sample.extend(row.sample);
        self.has_sample.push(i16::from(row.sample.is_some()));
        self.value.push(row.value);
    }

    fn write(&self) -> Result<Vec<u8>> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = Arc::new(WriterProperties::builder().build());
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, schema, properties)?;
        let mut group = file.next_row_group()?;
        for texts in [&self.case, &self.measure] {
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(texts, None, None)?;
                column.close()?;
            }
        }
        if let Some(mut column) = group.next_column()? {
            let writer = column.typed::<Int64Type>();
            writer.write_batch(&self.sample, Some(&self.has_sample), None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(&self.value, None, None)?;
            column.close()?;
        }
        group.close()?;
        file.close()?;
        Ok(bytes)
    }
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
