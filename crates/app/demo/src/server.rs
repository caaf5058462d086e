//! The server: receives messages through an ordinary UDP socket and checks every one.

use crate::system;
use forebay_traffic::{Checker, MessageFormat, Report};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The requested size of the receive buffer, in bytes.
const RECEIVE_BUFFER: i32 = 64 << 20;

/// Messages between two tellings of progress, while there is no pause.
const TELL_EVERY: u64 = 64;

/// The longest time between two checks whether to stop, and the shortest time between two progress reports.
const LOOK_AROUND: Duration = Duration::from_millis(10);

/// How long to wait for duplicates after everything has come.
const LINGER: Duration = Duration::from_millis(200);

/// What to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen.
    pub bind: SocketAddr,
    /// Messages of all flows together, which take turns.
    pub expect: u64,
    /// Flows.
    pub flows: u32,
    /// The messages' form.
    pub format: MessageFormat,
    /// How long a silence ends the wait for messages that are missing.
    pub silence: Duration,
}

/// A report of a server while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It can be sent to.
    Listening(SocketAddr),
    /// This number of different messages has arrived unchanged.
    Delivered(u64),
}

impl Event {
    /// As an object.
    pub fn json(&self) -> Value {
        match self {
            Event::Listening(address) => json!({ "event": "listening", "address": address.to_string() }),
            Event::Delivered(messages) => json!({ "event": "delivered", "messages": messages }),
        }
    }
}

/// What a server found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// What became of the messages.
    pub report: Report,
    /// From the first datagram to the last.
    pub seconds: f64,
}

impl Served {
    /// As an object.
    pub fn json(&self) -> Value {
        let mut value = report_json(&self.report);
        value["event"] = json!("report");
        value["seconds"] = json!(self.seconds);
        value
    }

    /// From an object; none when it is not of this form.
    pub fn from_json(value: &Value) -> Option<Served> {
        if value["event"] != "report" {
            return None;
        }
        let report = Report {
            sent: value["sent"].as_u64()?,
            delivered: value["delivered"].as_u64()?,
            lost: value["lost"].as_u64()?,
            duplicated: value["duplicated"].as_u64()?,
            reordered: value["reordered"].as_u64()?,
            reordering_extent_max: value["reordering_extent_max"].as_u64()?,
            too_late: value["too_late"].as_u64()?,
            changed: value["changed"].as_u64()?,
            unexpected: value["unexpected"].as_u64()?,
            aggregates: value["aggregates"].as_u64()?,
        };
        Some(Served {
            report,
            seconds: value["seconds"].as_f64()?,
        })
    }
}

/// A report as an object.
pub fn report_json(report: &Report) -> Value {
    json!({
        "sent": report.sent,
        "delivered": report.delivered,
        "lost": report.lost,
        "duplicated": report.duplicated,
        "reordered": report.reordered,
        "reordering_extent_max": report.reordering_extent_max,
        "too_late": report.too_late,
        "changed": report.changed,
        "unexpected": report.unexpected,
        "aggregates": report.aggregates,
    })
}

/// Whether every message arrived once and unchanged, in any order.
pub fn is_correct(report: &Report) -> bool {
    let faults = report.lost + report.duplicated + report.changed + report.unexpected + report.too_late;
    faults == 0 && report.delivered == report.sent
}

/// How many of `messages` each of the flows sends when they take turns.
pub fn messages_of_flows(messages: u64, flows: u32) -> Vec<u32> {
    let flows = u64::from(flows.max(1));
    (0..flows)
        .map(|flow| (messages / flows + u64::from(flow < messages % flows)) as u32)
        .collect()
}

/// Receives until all messages have come and nothing more does, until a long silence, or until `stop` is set. `tell`
/// hears of the progress.
///
/// # Errors
/// When the socket cannot be opened or used, or when `tell` fails.
pub fn serve(
    options: &ServeOptions,
    stop: &AtomicBool,
    mut tell: impl FnMut(Event) -> io::Result<()>,
) -> io::Result<Served> {
    let socket = UdpSocket::bind(options.bind)?;
    system::enlarge_receive_buffer(&socket, RECEIVE_BUFFER);
    socket.set_read_timeout(Some(LOOK_AROUND))?;
    tell(Event::Listening(socket.local_addr()?))?;
    let mut reception = Reception::new(options);
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                reception.receive(&buffer[..length]);
                if reception.received.is_multiple_of(TELL_EVERY) {
                    reception.tell(&mut tell)?;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                reception.tell(&mut tell)?;
                if reception.is_over(options) {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reception.finish(options))
}

/// What has come so far.
struct Reception {
    checker: Checker,
    received: u64,
    told: u64,
    first: Option<Instant>,
    last: Instant,
}

impl Reception {
    fn new(options: &ServeOptions) -> Reception {
        Reception {
            checker: Checker::new(options.format, options.flows),
            received: 0,
            told: 0,
            first: None,
            last: Instant::now(),
        }
    }

    fn receive(&mut self, datagram: &[u8]) {
        self.checker.receive(datagram);
        self.received += 1;
        self.last = Instant::now();
        self.first.get_or_insert(self.last);
    }

    /// Reports the number of delivered messages if it has grown since the last report.
    fn tell(&mut self, tell: &mut impl FnMut(Event) -> io::Result<()>) -> io::Result<()> {
        let delivered = self.checker.delivered();
        if delivered > self.told {
            self.told = delivered;
            tell(Event::Delivered(delivered))?;
        }
        Ok(())
    }

    fn is_over(&self, options: &ServeOptions) -> bool {
        let complete = self.checker.delivered() >= options.expect;
        self.last.elapsed() >= if complete { LINGER } else { options.silence }
    }

    fn finish(&self, options: &ServeOptions) -> Served {
        let first = self.first.unwrap_or(self.last);
        Served {
            report: self.checker.report(&messages_of_flows(options.expect, options.flows)),
            seconds: self.last.duration_since(first).as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::{SendOptions, send};

    fn format() -> MessageFormat {
        MessageFormat::new(16).expect("an allowed length")
    }

    /// Serves `expect` messages of 3 flows when `messages` are sent.
    fn exchange(messages: u64, expect: u64) -> (Served, Vec<Event>) {
        let options = ServeOptions {
            bind: SocketAddr::from(([127, 0, 0, 1], 0)),
            expect,
            flows: 3,
            format: format(),
            silence: Duration::from_millis(100),
        };
        let mut events = Vec::new();
        let served = serve(&options, &AtomicBool::new(false), |event| {
            events.push(event);
            if let Event::Listening(to) = event {
                let options = SendOptions {
                    to,
                    messages,
                    format: format(),
                    flows: 3,
                    first_source_port: None,
                    rate: None,
                };
                send(&options, None, &AtomicBool::new(false))?;
            }
            Ok(())
        });
        (served.expect("sockets of the loopback interface"), events)
    }

    #[test]
    fn all_messages_are_delivered() {
        let (served, events) = exchange(200, 200);
        assert!(served.report.is_perfect(), "{}", served.report);
        assert!(is_correct(&served.report));
        assert_eq!(events.last(), Some(&Event::Delivered(200)));
        assert!(events.contains(&Event::Delivered(64)));
    }

    #[test]
    fn missing_messages_are_lost_after_a_silence() {
        let (served, _) = exchange(7, 9);
        assert_eq!((served.report.delivered, served.report.lost), (7, 2));
        assert!(!is_correct(&served.report));
    }

    #[test]
    fn results_survive_json() {
        let (served, _) = exchange(5, 6);
        assert_eq!(Served::from_json(&served.json()), Some(served));
        assert_eq!(Served::from_json(&Event::Delivered(3).json()), None);
    }

    #[test]
    fn flows_take_turns() {
        assert_eq!(messages_of_flows(10, 4), [3, 3, 2, 2]);
        assert_eq!(messages_of_flows(0, 2), [0, 0]);
    }
}
