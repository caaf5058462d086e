//! Files: written, listed, read, deleted.

use super::rows::{Filled, Rows, Stored, Values, report_of};
use super::schema;
use crate::analysis::Sequences;
use crate::report::Reporter;
use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The beginning and the ends of names.
const PREFIX: &str = "reports-";
const COMPLETE: &str = "parquet";
const PART: &str = "parquet.part";

/// The key of the next sequence numbers in a file's metadata.
const SEQUENCES: &str = "forebay.sequences";

/// Why a file could not be written, read or deleted.
#[derive(Debug)]
pub struct StoreError {
    path: PathBuf,
    cause: String,
}

impl StoreError {
    pub(super) fn new(path: &Path, cause: &str) -> StoreError {
        at(path)(cause)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for StoreError {}

fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> StoreError + use<'_, E> {
    move |cause| StoreError {
        path: path.to_path_buf(),
        cause: cause.to_string(),
    }
}

/// The files of a folder.
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// The files of a folder that may not exist.
    pub fn of(folder: &Path) -> Files {
        Files {
            folder: folder.to_path_buf(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The files of a folder, which is made if it does not exist. Files that were not completed are removed.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn make(folder: &Path) -> Result<Files, StoreError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let files = Files::of(folder);
        for part in files.named(PART)? {
            fs::remove_file(&part).map_err(at(&part))?;
        }
        Ok(files)
    }

    /// The files that were completed, the oldest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.named(COMPLETE)
    }

    fn named(&self, end: &str) -> Result<Vec<PathBuf>, StoreError> {
        let entries = fs::read_dir(&self.folder).map_err(at(&self.folder))?;
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(at(&self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(end));
            if middle.is_some_and(|middle| middle.ends_with('.')) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Writes rows, the first of which came at a time, to a new file. It is complete, too, if a problem is returned:
    /// then a power failure may take its name away.
    pub(super) fn write(
        &self,
        rows: &Rows,
        began_ns: u64,
        sequences: &Sequences,
    ) -> Result<Option<StoreError>, StoreError> {
        let name = format!("{PREFIX}{}", file_time(began_ns));
        let part = self.folder.join(format!("{name}.{PART}"));
        let written = write_file(&part, rows, sequences).and_then(|()| self.complete(&part, &name));
        if written.is_err() {
            // It would only take room.
            let _ = fs::remove_file(&part);
        }
        written.map_err(at(&part))?;
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(synced.err().map(at(&self.folder)))
    }

    /// Gives a file that is on the disk its name. A file of the same time gets a number, with which it sorts after the
    /// other.
    fn complete(&self, part: &Path, name: &str) -> Result<(), ParquetError> {
        let mut path = self.folder.join(format!("{name}.{COMPLETE}"));
        let mut number = 1;
        while path.exists() {
            path = self.folder.join(format!("{name}_{number:04}.{COMPLETE}"));
            number += 1;
        }
        fs::rename(part, path)?;
        Ok(())
    }

    /// Deletes the oldest files until all together have at most `bytes_max` bytes; the newest stays. Returns how many
    /// were deleted.
    pub(super) fn delete_oldest(&self, bytes_max: u64) -> Result<u64, StoreError> {
        let files = self.list()?;
        let size = |path: &PathBuf| fs::metadata(path).map(|metadata| metadata.len()).map_err(at(path));
        let sizes = files.iter().map(size).collect::<Result<Vec<u64>, StoreError>>()?;
        let mut bytes: u64 = sizes.iter().sum();
        let mut deleted = 0;
        for (path, size) in files.iter().zip(&sizes).take(files.len().saturating_sub(1)) {
            if bytes <= bytes_max {
                break;
            }
            fs::remove_file(path).map_err(at(path))?;
            bytes -= size;
            deleted += 1;
        }
        Ok(deleted)
    }
}

fn write_file(path: &Path, rows: &Rows, sequences: &Sequences) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(&schema::text())?);
    let times = parquet::schema::types::ColumnPath::from("received");
    let properties = WriterProperties::builder()
        .set_created_by(concat!("forebay ", env!("CARGO_PKG_VERSION")).to_string())
        .set_key_value_metadata(Some(vec![KeyValue::new(
            SEQUENCES.to_string(),
            sequences_text(sequences),
        )]))
        // Times differ from row to row, but by little.
        .set_column_dictionary_enabled(times.clone(), false)
        .set_column_encoding(times, Encoding::DELTA_BINARY_PACKED)
        .build();
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(&file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &rows.columns {
        let next = group.next_column()?;
        let mut next = next.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_string()))?;
        write_column(&mut next, column)?;
        next.close()?;
    }
    group.close()?;
    writer.close()?;
    file.sync_all()?;
    Ok(())
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &Filled) -> Result<(), ParquetError> {
    let levels = column.levels.as_deref();
    match &column.values {
        Values::Whole(values) => writer.typed::<Int64Type>().write_batch(values, levels, None)?,
        Values::Text(values) => writer.typed::<ByteArrayType>().write_batch(values, levels, None)?,
        Values::Truth(values) => writer.typed::<BoolType>().write_batch(values, levels, None)?,
    };
    Ok(())
}

fn sequences_text(sequences: &Sequences) -> String {
    let nodes: Vec<Value> = sequences
        .iter()
        .map(|(reporter, next)| json!([reporter.node, reporter.hardware, next]))
        .collect();
    Value::from(nodes).to_string()
}

/// The next sequence numbers of nodes when a file was written.
///
/// # Errors
/// When it cannot be read.
pub fn sequences_of(path: &Path) -> Result<Sequences, StoreError> {
    let reader = open(path)?;
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let entry = entries.into_iter().flatten().find(|entry| entry.key == SEQUENCES);
    let text = entry.and_then(|entry| entry.value.as_deref()).unwrap_or("[]");
    let nodes: Vec<(u32, u8, u32)> = serde_json::from_str(text).map_err(at(path))?;
    let node = |(node, hardware, next)| (Reporter { node, hardware }, next);
    Ok(nodes.into_iter().map(node).collect())
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, StoreError> {
    let file = File::open(path).map_err(at(path))?;
    SerializedFileReader::new(file).map_err(at(path))
}

/// Reads a file: `take` gets its reports, in the order in which they came, until it returns `false`.
///
/// # Errors
/// When it cannot be read, or is not as this program writes it.
pub fn read(path: &Path, mut take: impl FnMut(Stored) -> bool) -> Result<(), StoreError> {
    let reader = open(path)?;
    let columns = reader.metadata().file_metadata().schema_descr();
    let is_own = columns
        .columns()
        .iter()
        .map(|column| column.name())
        .eq(schema::COLUMNS.iter().map(|column| column.name));
    if !is_own {
        return Err(at(path)("it has other columns than `forebay collect` writes"));
    }
    let mut present: Option<(i64, Stored)> = None;
    for row in reader.get_row_iter(None).map_err(at(path))? {
        let row = row.map_err(at(path))?;
        let (number, stored) = report_of(&row).ok_or_else(|| at(path)("it has a row that is no hop of a report"))?;
        match &mut present {
            Some((own, report)) if *own == number => report.report.hops.extend(stored.report.hops),
            _ => {
                if let Some((_, report)) = present.replace((number, stored))
                    && !take(report)
                {
                    return Ok(());
                }
            }
        }
    }
    if let Some((_, report)) = present {
        take(report);
    }
    Ok(())
}

/// Whether the first report of a file came before a time, by the file's name.
pub(crate) fn begins_before(path: &Path, time_ns: u64) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix(PREFIX).is_none_or(|time| time < &*file_time(time_ns))
}

/// A time in a file's name, which sorts as times do.
fn file_time(time_ns: u64) -> String {
    let text = forebay_telemetry::rfc3339(std::time::Duration::from_nanos(time_ns));
    text.replace(['-', ':'], "")
}
