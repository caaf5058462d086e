//! Parquet files: columns of one length, in one row group.

use anyhow::Result;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The values of a column; [`None`] is null.
pub enum Values {
    /// UTF-8.
    Text(Vec<Option<String>>),
    /// 64 bits, signed.
    Integers(Vec<Option<i64>>),
    /// 64 bits.
    Numbers(Vec<Option<f64>>),
}

/// The bytes of a file with these columns, by name; `required` ones have no null.
///
/// # Errors
/// When the writer does not take the columns: their lengths differ, or a required one has a null.
pub fn file(columns: &[(&str, bool, Values)]) -> Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&schema(columns))?);
    let properties = Arc::new(WriterProperties::builder().build());
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties)?;
    let mut group = file.next_row_group()?;
    for (_, required, values) in columns {
        if let Some(mut column) = group.next_column()? {
            write(&mut column, *required, values)?;
            column.close()?;
        }
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn schema(columns: &[(&str, bool, Values)]) -> String {
    let field = |(name, required, values): &(&str, bool, Values)| {
        let repetition = if *required { "required" } else { "optional" };
        match values {
            Values::Text(_) => format!("{repetition} binary {name} (UTF8);"),
            Values::Integers(_) => format!("{repetition} int64 {name};"),
            Values::Numbers(_) => format!("{repetition} double {name};"),
        }
    };
    let fields: Vec<String> = columns.iter().map(field).collect();
    format!("message results {{ {} }}", fields.join(" "))
}

fn write(column: &mut SerializedColumnWriter<'_>, required: bool, values: &Values) -> Result<()> {
    // 1 for a value, 0 for null; required columns have no levels.
    let levels: Option<Vec<i16>> = (!required).then(|| match values {
        Values::Text(values) => values.iter().map(|value| i16::from(value.is_some())).collect(),
        Values::Integers(values) => values.iter().map(|value| i16::from(value.is_some())).collect(),
        Values::Numbers(values) => values.iter().map(|value| i16::from(value.is_some())).collect(),
    });
    let levels = levels.as_deref();
    match values {
        Values::Text(values) => {
            let texts: Vec<ByteArray> = values.iter().flatten().map(|text| text.as_str().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, levels, None)?
        }
        Values::Integers(values) => {
            let integers: Vec<i64> = values.iter().flatten().copied().collect();
            column.typed::<Int64Type>().write_batch(&integers, levels, None)?
        }
        Values::Numbers(values) => {
            let numbers: Vec<f64> = values.iter().flatten().copied().collect();
            column.typed::<DoubleType>().write_batch(&numbers, levels, None)?
        }
    };
    Ok(())
}
