//! What goes on until it is interrupted: counters again and again, digests and packets as they come.

use super::session::Session;
use crate::output;
use crate::statistics::{NO_WRAPPING, WRAPPING};
use anyhow::{Context, Result};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::{DigestEntry, DigestList, DigestListAck, Entity};
use forebay_shell::rates::Rates;
use forebay_shell::{Limit, Record, Watching, listing, show};
use signal_hook::consts::SIGINT;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long ctrl-C may go unnoticed.
const NAP: Duration = Duration::from_millis(100);

/// A flag that ctrl-C sets, until it is dropped. Then ctrl-C ends the program again.
struct Interrupt {
    flag: Arc<AtomicBool>,
    ends_program: Arc<AtomicBool>,
    registration: signal_hook::SigId,
}

impl Interrupt {
    fn watch() -> Result<Interrupt> {
        let ends_program = ends_program()?;
        ends_program.store(false, Ordering::Relaxed);
        let flag = Arc::new(AtomicBool::new(false));
        let registration = signal_hook::flag::register(SIGINT, Arc::clone(&flag)).context("cannot watch for ctrl-C")?;
        Ok(Interrupt {
            flag,
            ends_program,
            registration,
        })
    }

    fn has_come(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Sleeps, but not beyond ctrl-C.
    fn sleep_until(&self, end: Instant) {
        while !self.has_come() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.ends_program.store(true, Ordering::Relaxed);
        signal_hook::low_level::unregister(self.registration);
    }
}

/// While it is set, ctrl-C ends the program: a signal that was watched for once has no other default any more.
fn ends_program() -> Result<Arc<AtomicBool>> {
    static ENDS_PROGRAM: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(known) = ENDS_PROGRAM.get() {
        return Ok(Arc::clone(known));
    }
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&flag)).context("cannot watch for ctrl-C")?;
    Ok(Arc::clone(ENDS_PROGRAM.get_or_init(|| flag)))
}

/// Shows counters and their rates; on a terminal in place.
pub(super) fn counters(session: &mut Session, watching: &Watching) -> Result<()> {
    let interrupt = Interrupt::watch()?;
    let (mut rates, mut lines) = (Rates::default(), 0);
    let mut before: Option<Instant> = None;
    let mut shown = 0;
    while !interrupt.has_come() {
        let found = session.client.read(watching.entities.clone())?;
        let now = Instant::now();
        let seconds = before.map_or(0.0, |before| (now - before).as_secs_f64());
        before = Some(now);
        let records = rates.look(show::entities(&session.catalog, &found), seconds);
        lines = refresh(session, &records, lines)?;
        shown += 1;
        if watching.limit.count.is_some_and(|count| shown >= count) {
            break;
        }
        interrupt.sleep_until(now + Duration::from_nanos(watching.interval_ns));
    }
    Ok(())
}

/// Replaces the last `lines` lines on the terminal by records; returns how many lines they take.
fn refresh(session: &Session, records: &[Record], lines: usize) -> Result<usize> {
    if session.format.is_json() {
        output::print(&format!("{}\n", listing::json(records)))?;
        return Ok(0);
    }
    let text = if records.is_empty() {
        "nothing counted yet\n".to_string()
    } else {
        listing::text(records)
    };
    let shown = if output::takes_sequences(&std::io::stdout()) {
        in_place(&text, lines)
    } else {
        format!("\n{text}")
    };
    output::print(&shown)?;
    Ok(text.lines().count())
}

/// What puts a text in the place of the last `lines` lines of a terminal.
fn in_place(text: &str, lines: usize) -> String {
    let back = match lines {
        0 => String::new(),
        _ => format!("\x1b[{lines}A\x1b[J"),
    };
    format!("{back}{NO_WRAPPING}{text}{WRAPPING}")
}

/// Shows digests as they come, and acknowledges them.
pub(super) fn digests(session: &mut Session, ids: &[u32], limit: Limit) -> Result<()> {
    let all = Entity {
        entity: Some(Kind::DigestEntry(DigestEntry::default())),
    };
    // A switch that does not say which digests are on may send any.
    if session.client.read(vec![all]).is_ok_and(|on| !is_one_on(&on, ids)) {
        output::note("nothing comes until a digest is on: `digest enable DIGEST`");
    }
    follow(session, limit, |session, message| {
        let Response::Digest(list) = message else { return Ok(0) };
        session.client.send(Request::DigestAck(DigestListAck {
            digest_id: list.digest_id,
            list_id: list.list_id,
        }))?;
        show_digests(session, ids, &list)
    })
}

/// Whether one of the digests with these ids is on, or any if there are none.
fn is_one_on(on: &[Entity], ids: &[u32]) -> bool {
    on.iter().any(|entity| match &entity.entity {
        Some(Kind::DigestEntry(entry)) => ids.is_empty() || ids.contains(&entry.digest_id),
        _ => false,
    })
}

fn show_digests(session: &Session, ids: &[u32], list: &DigestList) -> Result<u64> {
    if !ids.is_empty() && !ids.contains(&list.digest_id) {
        return Ok(0);
    }
    let records = show::digest_list(&session.catalog, list);
    session.format.lines(&records)?;
    Ok(records.len() as u64)
}

/// Shows packets to the controllers as they come.
pub(super) fn packets(session: &mut Session, limit: Limit) -> Result<()> {
    follow(session, limit, |session, message| {
        let Response::Packet(packet) = message else {
            return Ok(0);
        };
        session.format.lines(&[show::packet_in(&session.catalog, &packet)])?;
        Ok(1)
    })
}

/// Takes messages until ctrl-C, or until `count` of them were shown.
fn follow(
    session: &mut Session,
    limit: Limit,
    mut take: impl FnMut(&mut Session, Response) -> Result<u64>,
) -> Result<()> {
    let interrupt = Interrupt::watch()?;
    let mut shown = 0;
    while !interrupt.has_come() && limit.count.is_none_or(|count| shown < count) {
        if let Some(message) = session.client.next_message(NAP)? {
            shown += take(session, message)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_come_when_one_of_those_wanted_is_on() {
        let entry = DigestEntry {
            digest_id: 7,
            config: None,
        };
        let on = [Entity {
            entity: Some(Kind::DigestEntry(entry)),
        }];
        assert!(is_one_on(&on, &[]) && is_one_on(&on, &[3, 7]));
        assert!(!is_one_on(&on, &[3]) && !is_one_on(&[], &[]));
    }

    #[test]
    fn a_long_line_takes_one_line_of_the_terminal() {
        assert_eq!(in_place("long\n", 0), "\x1b[?7llong\n\x1b[?7h");
        assert_eq!(in_place("long\n", 2), "\x1b[2A\x1b[J\x1b[?7llong\n\x1b[?7h");
    }
}
