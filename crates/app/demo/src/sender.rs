//! The devices: messages of several flows through ordinary UDP sockets, one for each flow.

use forebay_traffic::{MessageFormat, MessageSource};
use serde_json::{Value, json};
use std::io::{self, BufRead, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Longest time without looking whether to stop.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Messages that may be sent at once to catch up after a pause; the schedule moves back by the rest.
const MAX_CATCH_UP: f64 = 64.0;

/// What to send.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// The server.
    pub to: SocketAddr,
    /// Messages of all flows together; they take turns.
    pub messages: u64,
    /// The form of the messages.
    pub format: MessageFormat,
    /// Flows.
    pub flows: u32,
    /// The first flow's source port, the others having the next ones; none: any.
    pub first_source_port: Option<u16>,
    /// Messages a second at most; none: as fast as sockets take them.
    pub rate: Option<f64>,
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Sent {
    /// As an object.
    pub fn json(&self) -> Value {
        json!({ "event": "sent", "messages": self.messages, "seconds": self.seconds })
    }
}

/// The number of messages that may have been sent so far, which the receiving side raises from time to time.
#[derive(Debug)]
pub struct Credit {
    allowed: u64,
    updates: Receiver<u64>,
}

impl Credit {
    /// Credit that comes through a channel, each number replacing the one before. It ends when the channel is closed.
    pub fn new(updates: Receiver<u64>) -> Credit {
        Credit { allowed: 0, updates }
    }

    /// Credit that is read from lines of text, for example the standard input. Other lines are passed over.
    pub fn from_lines(lines: impl BufRead + Send + 'static) -> Credit {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let numbers = lines
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| line.trim().parse().ok());
            for number in numbers {
                if sender.send(number).is_err() {
                    break;
                }
            }
        });
        Credit::new(receiver)
    }

    /// Waits until message `number` (from 0) may be sent; false when it never may.
    fn wait_for(&mut self, number: u64, stop: &AtomicBool) -> bool {
        while number >= self.allowed {
            match self.updates.recv_timeout(LOOK_AROUND) {
                Ok(allowed) => self.allowed = self.allowed.max(allowed),
                Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// Sends the messages, until all are sent, `stop` is set, or the credit ends.
///
/// # Errors
/// When a socket cannot be opened or used.
pub fn send(options: &SendOptions, mut credit: Option<Credit>, stop: &AtomicBool) -> io::Result<Sent> {
    let sockets = (0..options.flows.max(1))
        .map(|flow| open(options, flow))
        .collect::<io::Result<Vec<_>>>()?;
    let mut source = MessageSource::new(options.format, options.flows);
    let mut pace = options.rate.map(Pace::new);
    let mut datagram = Vec::new();
    let started = Instant::now();
    let mut messages = 0;
    while messages < options.messages && !stop.load(Ordering::Relaxed) {
        if credit.as_mut().is_some_and(|credit| !credit.wait_for(messages, stop)) {
            break;
        }
        if let Some(pace) = &mut pace {
            pace.wait(stop);
        }
        let id = source.next_udp_payload(&mut datagram);
        send_datagram(&sockets[id.flow as usize], &datagram)?;
        messages += 1;
    }
    Ok(Sent {
        messages,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn open(options: &SendOptions, flow: u32) -> io::Result<UdpSocket> {
    let any = match options.to {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let port = match options.first_source_port {
        None => 0,
        Some(first) => u16::try_from(u32::from(first) + flow)
            .map_err(|_| io::Error::new(ErrorKind::InvalidInput, "the last source port would be above 65535"))?,
    };
    let socket = UdpSocket::bind((any, port))?;
    socket.connect(options.to)?;
    Ok(socket)
}

/// Sends a datagram. A refused datagram is not an error: the server may start later.
fn send_datagram(socket: &UdpSocket, datagram: &[u8]) -> io::Result<()> {
    loop {
        match socket.send(datagram) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused || error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => std::thread::yield_now(),
            Err(error) => return Err(error),
        }
    }
}

/// Keeps to a rate without bursts.
struct Pace {
    interval: Duration,
    next: Instant,
}

impl Pace {
    fn new(rate: f64) -> Pace {
        Pace {
            interval: Duration::from_secs_f64((1.0 / rate).min(3600.0)),
            next: Instant::now(),
        }
    }

    /// Waits until the next message is due.
    fn wait(&mut self, stop: &AtomicBool) {
        let now = Instant::now();
        let earliest = now.checked_sub(self.interval.mul_f64(MAX_CATCH_UP)).unwrap_or(now);
        self.next = self.next.max(earliest);
        while let Some(left) = self.next.checked_duration_since(Instant::now()) {
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                break;
            }
            std::thread::sleep(left.min(LOOK_AROUND));
        }
        self.next += self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(to: SocketAddr) -> SendOptions {
        SendOptions {
            to,
            messages: 20,
            format: MessageFormat::new(16).expect("an allowed length"),
            flows: 4,
            first_source_port: None,
            rate: None,
        }
    }

    #[test]
    fn credit_is_not_exceeded() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let options = options(server.local_addr().expect("bound"));
        let (updates, receiver) = mpsc::channel();
        updates.send(7).expect("the receiver is there");
        drop(updates);
        let sent = send(&options, Some(Credit::new(receiver)), &AtomicBool::new(false)).expect("sockets");
        assert_eq!(sent.messages, 7);
    }

    #[test]
    fn credit_is_read_from_lines() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let options = options(server.local_addr().expect("bound"));
        let credit = Credit::from_lines(&b"3\nnonsense\n 12 \n"[..]);
        let sent = send(&options, Some(credit), &AtomicBool::new(false)).expect("sockets");
        assert_eq!(sent.messages, 12);
    }

    #[test]
    fn a_rate_is_kept() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let mut options = options(server.local_addr().expect("bound"));
        options.rate = Some(200.0);
        let sent = send(&options, None, &AtomicBool::new(false)).expect("sockets");
        assert_eq!(sent.messages, 20);
        assert!(
            sent.seconds > 0.09,
            "{} s for 20 messages at 200 a second",
            sent.seconds
        );
    }

    #[test]
    fn a_set_flag_stops() {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let options = options(server.local_addr().expect("bound"));
        let sent = send(&options, None, &AtomicBool::new(true)).expect("sockets");
        assert_eq!(sent.messages, 0);
    }
}
