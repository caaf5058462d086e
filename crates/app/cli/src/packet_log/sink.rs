//! Where lines of a log go.

use crate::background_writer::BackgroundWriter;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of lines that may wait for the reader of the standard output.
const BACKLOG_MAX: usize = 1 << 20;

/// How long the end waits for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A place for a log.
#[derive(Clone, Debug)]
pub enum Destination {
    /// The standard output.
    Console,
    /// Files.
    File(FileOptions),
}

/// A file that is put aside when it is full.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// The file that is written; those put aside have a number before their extension.
    pub path: PathBuf,
    /// Bytes of a file.
    pub max_bytes: u64,
    /// Files that are kept besides.
    pub max_files: usize,
    /// Write every line out at once.
    pub flush: bool,
}

/// An open log.
pub(super) struct Sink {
    writer: BufWriter<Box<dyn Write + Send>>,
    /// The writer to the standard output, if that is where lines go.
    console: Option<BackgroundWriter>,
    file: Option<FileOptions>,
    written: u64,
}

impl Sink {
    pub(super) fn open(destination: &Destination) -> io::Result<Sink> {
        let (writer, console, file): (Box<dyn Write + Send>, _, _) = match destination {
            Destination::Console => {
                let console = BackgroundWriter::new(io::stdout())?;
                (Box::new(console.clone()), Some(console), None)
            }
            Destination::File(options) => (Box::new(File::create(&options.path)?), None, Some(options.clone())),
        };
        Ok(Sink {
            writer: BufWriter::new(writer),
            console,
            file,
            written: 0,
        })
    }

    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if let Some(file) = &self.file
            && self.written > 0
            && self.written + line.len() as u64 > file.max_bytes
        {
            self.writer.flush()?;
            put_aside(&file.path, file.max_files)?;
            self.writer = BufWriter::new(Box::new(File::create(&file.path)?));
            self.written = 0;
        }
        self.writer.write_all(line)?;
        self.written += line.len() as u64;
        match &self.file {
            Some(file) if file.flush => self.writer.flush(),
            _ => Ok(()),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Whether more than [`BACKLOG_MAX`] bytes of lines have not been read yet.
    pub(super) fn is_behind(&self) -> bool {
        let backlog = self.console.as_ref().map_or(0, BackgroundWriter::backlog);
        backlog > BACKLOG_MAX
    }
}

impl Drop for Sink {
    /// Waits for the reader of the last lines, but not for ever.
    fn drop(&mut self) {
        let flushed = self.writer.flush();
        if let (Ok(()), Some(console)) = (flushed, &self.console) {
            // If the reader has gone, the last lines are lost.
            let _ = console.finish(PATIENCE);
        }
    }
}

/// `log.txt` becomes `log.1.txt`, that `log.2.txt`, and so on; the last is removed.
fn put_aside(path: &Path, max_files: usize) -> io::Result<()> {
    for number in (0..max_files).rev() {
        let from = numbered(path, number);
        if from.exists() {
            fs::rename(from, numbered(path, number + 1))?;
        }
    }
    Ok(())
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    match (number, path.extension()) {
        (0, _) => path.to_path_buf(),
        (_, Some(extension)) => path.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        (_, None) => path.with_extension(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("switch.log");
        let options = FileOptions {
            path: path.clone(),
            max_bytes: 8,
            max_files: 2,
            flush: true,
        };
        let mut sink = Sink::open(&Destination::File(options)).unwrap();
        for line in ["first\n", "second\n", "third\n", "fourth\n"] {
            sink.write(line.as_bytes()).unwrap();
        }
        let read = |number| fs::read_to_string(numbered(&path, number)).ok();
        assert_eq!(read(0).as_deref(), Some("fourth\n"));
        assert_eq!(read(1).as_deref(), Some("third\n"));
        assert_eq!(read(2).as_deref(), Some("second\n"));
        assert_eq!(read(3), None);
    }
}
