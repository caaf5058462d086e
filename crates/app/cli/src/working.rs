//! A line on the terminal for commands that say nothing for long: what they do, and for how many seconds already.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing is shown before.
const QUIET: Duration = Duration::from_secs(2);

/// From then on the line is written anew so often.
const PACE: Duration = Duration::from_secs(1);

/// The line that is shown, if one is.
struct Line {
    is_shown: bool,
    /// Whether the command has written something, after which no line is shown.
    is_over: bool,
}

static LINE: Mutex<Line> = Mutex::new(Line {
    is_shown: false,
    is_over: true,
});

/// Does something. From two seconds on a line on the standard error says what is being done, if a person reads it, until
/// the command writes something or has done it.
pub fn while_working<R>(what: &str, work: impl FnOnce() -> R) -> R {
    if !io::stderr().is_terminal() {
        return work();
    }
    line().is_over = false;
    let (working, end) = mpsc::channel::<()>();
    let done = thread::scope(move |scope| {
        let shown = move || tell(what, &end, QUIET, PACE, show);
        // Without a thread the command works all the same.
        let _ = thread::Builder::new()
            .name("working".to_string())
            .spawn_scoped(scope, shown);
        let done = work();
        drop(working);
        done
    });
    make_room();
    done
}

/// Takes the line away for what the command writes. It does not come back.
pub fn make_room() {
    let mut line = line();
    if line.is_shown {
        write("");
    }
    *line = Line {
        is_shown: false,
        is_over: true,
    };
}

fn line() -> MutexGuard<'static, Line> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows lines with the seconds that have passed, until the work ends or `show` wants no more.
fn tell(what: &str, end: &Receiver<()>, quiet: Duration, pace: Duration, mut show: impl FnMut(&str) -> bool) {
    let started = Instant::now();
    let mut wait = quiet;
    while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        if !show(&format!("{what}: {:.0} s", started.elapsed().as_secs_f64())) {
            return;
        }
        wait = pace;
    }
}

/// Shows a line unless the command has written something.
fn show(text: &str) -> bool {
    let mut line = line();
    if line.is_over {
        return false;
    }
    write(text);
    line.is_shown = true;
    true
}

/// Writes over the line. Errors are ignored, because there is no other place to report them.
fn write(text: &str) {
    let _ = io::stderr().write_all(format!("\r\x1b[K{text}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_as_long_as_work_goes_on() {
        let (working, end) = mpsc::channel();
        let mut lines = Vec::new();
        let three = |text: &str| {
            lines.push(text.to_string());
            lines.len() < 3
        };
        tell("searching", &end, Duration::ZERO, Duration::ZERO, three);
        drop(working);
        assert_eq!(lines, ["searching: 0 s"; 3]);
    }

    #[test]
    fn work_that_ends_soon_shows_nothing() {
        let (working, end) = mpsc::channel();
        drop(working);
        tell("searching", &end, QUIET, PACE, |text| panic!("{text}"));
    }

    #[test]
    fn what_is_done_is_given_back() {
        assert_eq!(while_working("adding", || 1 + 1), 2);
    }
}
