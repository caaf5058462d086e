//! What a user program with UDP sockets reaches: sending alone, receiving alone, and aggregation.
//!
//! One thread, one system call a datagram, over the loopback interface. A socket's queue is filled first, and then read
//! as fast as the thread can; time is what a processor works for this thread. Sending on the loopback interface
//! includes what the system does to deliver, as it does that at once.

use forebay_ports::thread_time_ns;
use forebay_traffic::message::FLAG_HEADER;
use forebay_traffic::wire::wire_bytes;
use forebay_traffic::{MessageFormat, MessageId};
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};

/// Bytes of Ethernet, IPv4 and UDP headers.
const HEADER_BYTES: usize = 14 + 20 + 8;

/// Datagrams of a round: a socket's queue of the default length holds all of them.
const PORTION: u64 = 64;

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketSetting {
    /// Messages that go through each program.
    pub datagrams: u64,
    /// N of the aggregating program.
    pub messages: Vec<u32>,
    /// S: bytes of a message after its UDP header.
    pub message_bytes: usize,
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Sends messages.
    Send,
    /// Receives messages.
    Receive,
    /// Receives messages, and sends one N-packet for N of them.
    Aggregate,
}

impl Task {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Task::Send => "sending alone",
            Task::Receive => "receiving alone",
            Task::Aggregate => "aggregation",
        }
    }
}

/// What a program reaches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SocketResult {
    pub task: Task,
    /// N, where messages are aggregated.
    pub messages: u32,
    pub message_bytes: usize,
    pub datagrams: u64,
    /// Seconds of processor time.
    pub seconds: f64,
    pub pps: f64,
    /// The rate of the messages on an Ethernet wire.
    pub gbps: f64,
    /// Datagrams that the system refused or lost.
    pub lost: u64,
}

/// Measures all programs.
///
/// # Errors
/// When the system gives no sockets, in words.
pub fn measure(setting: &SocketSetting) -> Result<Vec<SocketResult>, String> {
    let mut tasks = vec![(Task::Send, 1), (Task::Receive, 1)];
    tasks.extend(setting.messages.iter().map(|messages| (Task::Aggregate, *messages)));
    let one = |(task, messages)| run(task, messages, setting).map_err(|error| format!("sockets: {error}"));
    tasks.into_iter().map(one).collect()
}

fn run(task: Task, messages: u32, setting: &SocketSetting) -> Result<SocketResult, Error> {
    let payload_bytes = setting.message_bytes.saturating_sub(FLAG_HEADER);
    let format =
        MessageFormat::new(payload_bytes).map_err(|error| Error::new(ErrorKind::InvalidInput, error.to_string()))?;
    let mut program = Program::new(format, messages)?;
    let (mut worked_ns, mut done, mut lost) = (0, 0, 0);
    while done < setting.datagrams {
        let began_ns = thread_time_ns();
        let sent = program.fill(done)?;
        let filled_ns = thread_time_ns();
        let received = match task {
            Task::Aggregate => program.aggregate()?,
            Task::Send | Task::Receive => program.receive()?,
        };
        let ended_ns = thread_time_ns();
        worked_ns += match task {
            Task::Send => filled_ns - began_ns,
            Task::Receive | Task::Aggregate => ended_ns - filled_ns,
        };
        program.drain()?;
        lost += sent.saturating_sub(received);
        done += sent;
    }
    let seconds = worked_ns as f64 / 1e9;
    let pps = done as f64 / seconds;
    Ok(SocketResult {
        task,
        messages,
        message_bytes: setting.message_bytes,
        datagrams: done,
        seconds,
        pps,
        gbps: pps * 8.0 * wire_bytes(HEADER_BYTES + setting.message_bytes) as f64 / 1e9,
        lost,
    })
}

/// The sockets of the devices, of the program that is measured, and of the server.
struct Program {
    format: MessageFormat,
    messages: usize,
    devices: UdpSocket,
    own: UdpSocket,
    server: UdpSocket,
    buffer: Vec<u8>,
    batch: Vec<u8>,
    waiting: usize,
}

impl Program {
    fn new(format: MessageFormat, messages: u32) -> Result<Program, Error> {
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let (devices, own, server) = (socket()?, socket()?, socket()?);
        devices.connect(own.local_addr()?)?;
        own.set_nonblocking(true)?;
        server.set_nonblocking(true)?;
        Ok(Program {
            format,
            messages: messages as usize,
            devices,
            own,
            server,
            buffer: vec![0; 2048],
            batch: Vec::new(),
            waiting: 0,
        })
    }

    /// Sends messages from the devices. Returns their number.
    fn fill(&mut self, first: u64) -> Result<u64, Error> {
        let mut datagram = Vec::new();
        for number in first..first + PORTION {
            let id = MessageId {
                flow: 0,
                sequence: number as u32,
            };
            self.format.write_message(id, &mut datagram);
            self.devices.send(&datagram)?;
        }
        Ok(PORTION)
    }

    /// The length of the next datagram; none when there is none.
    fn next(&mut self) -> Result<Option<usize>, Error> {
        match self.own.recv(&mut self.buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self) -> Result<u64, Error> {
        let mut count = 0;
        while self.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Gathers payloads, and sends them on when there are N.
    fn aggregate(&mut self) -> Result<u64, Error> {
        let server = self.server.local_addr()?;
        let mut count = 0;
        while let Some(length) = self.next()? {
            count += 1;
            if self.waiting == 0 {
                self.batch.clear();
                self.batch.push(forebay_traffic::message::AGGREGATE_TYPE);
                self.batch.resize(FLAG_HEADER, 0);
            }
            self.batch.extend_from_slice(&self.buffer[FLAG_HEADER..length]);
            self.waiting += 1;
            if self.waiting == self.messages {
                self.own.send_to(&self.batch, server)?;
                self.waiting = 0;
            }
        }
        Ok(count)
    }

    /// Empties the queue of the server.
    fn drain(&mut self) -> Result<(), Error> {
        loop {
            match self.server.recv(&mut self.buffer) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_datagram_is_lost() {
        let setting = SocketSetting {
            datagrams: 1_000,
            messages: vec![2, 8],
            message_bytes: 22,
        };
        let found = measure(&setting).expect("sockets");
        let tasks: Vec<(Task, u32)> = found.iter().map(|result| (result.task, result.messages)).collect();
        let expected = [
            (Task::Send, 1),
            (Task::Receive, 1),
            (Task::Aggregate, 2),
            (Task::Aggregate, 8),
        ];
        assert_eq!(tasks, expected);
        for result in &found {
            assert_eq!((result.lost, result.datagrams), (0, 1_024), "{result:?}");
            assert!(result.pps > 0.0 && result.gbps > 0.0);
        }
    }
}
