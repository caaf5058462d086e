//! Writes to an output whose reader may stop reading, such as a pipe, without waiting for it.
//!
//! What is written is handed to a thread. A caller that must not fill the memory looks at the
//! [backlog](BackgroundWriter::backlog) before it makes more.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// An output, and the thread that writes to it.
#[derive(Clone)]
pub struct BackgroundWriter(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What the thread takes next.
    waiting: Vec<u8>,
    /// Bytes that the thread is writing.
    in_hand: usize,
    /// Why nothing can be written any more.
    failure: Option<io::ErrorKind>,
}

impl BackgroundWriter {
    /// Begins to write to this output. The thread ends with the process, or when the output fails.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn new(output: impl Write + Send + 'static) -> io::Result<BackgroundWriter> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name("output".to_string());
        thread.spawn(move || of_thread.write_all(output))?;
        Ok(BackgroundWriter(shared))
    }

    /// Bytes that have not been written yet.
    pub fn backlog(&self) -> usize {
        let state = self.0.state();
        state.waiting.len() + state.in_hand
    }

    /// Waits until everything has been written, as long as this at most.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] when it has not been written by then, else why it cannot be.
    pub fn finish(&self, patience: Duration) -> io::Result<()> {
        let is_busy = |state: &mut State| state.failure.is_none() && (state.in_hand > 0 || !state.waiting.is_empty());
        let waited = self.0.changed.wait_timeout_while(self.0.state(), patience, is_busy);
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.failure {
            Some(kind) => Err(kind.into()),
            None if waited.timed_out() => Err(io::ErrorKind::TimedOut.into()),
            None => Ok(()),
        }
    }
}

/// It never waits. An error is that of an earlier write.
impl Write for BackgroundWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.state();
        if let Some(kind) = state.failure {
            return Err(kind.into());
        }
        state.waiting.extend_from_slice(bytes);
        self.0.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut output: impl Write) {
        let mut state = self.state();
        loop {
            let is_idle = |state: &mut State| state.waiting.is_empty();
            let waited = self.changed.wait_while(state, is_idle);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            let bytes = std::mem::take(&mut state.waiting);
            state.in_hand = bytes.len();
            drop(state);
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            state = self.state();
            state.in_hand = 0;
            state.failure = written.err().map(|error| error.kind());
            self.changed.notify_all();
            if state.failure.is_some() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_reader_that_does_not_read_holds_up_nobody() {
        let (mut reader, pipe) = io::pipe().expect("a pipe");
        let mut writer = BackgroundWriter::new(pipe).expect("a thread");
        let text = vec![b'x'; 1 << 20];
        writer.write_all(&text).expect("it does not wait");
        let unfinished = writer.finish(SHORT).expect_err("a pipe has no room for this");
        assert_eq!(unfinished.kind(), io::ErrorKind::TimedOut);
        assert!(writer.backlog() > 0);
        let mut read = vec![0; text.len()];
        reader.read_exact(&mut read).expect("all of it");
        writer.finish(LONG).expect("all was read");
        assert_eq!((read, writer.backlog()), (text, 0));
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error_of_the_next_write() {
        let (reader, pipe) = io::pipe().expect("a pipe");
        drop(reader);
        let mut writer = BackgroundWriter::new(pipe).expect("a thread");
        writer.write_all(b"lost").expect("it is not known yet");
        writer.finish(LONG).expect_err("it cannot be written");
        let error = writer.write_all(b"more").expect_err("it has failed");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
