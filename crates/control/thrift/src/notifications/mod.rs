//! What BMv2 publishes: digests, idle entries and changes of ports, as messages over nanomsg, which its controllers
//! unpack.
//!
//! | bytes | digests |
//! |---|---|
//! | 0 to 3 | `LEA\|` |
//! | 4 to 11 | the number of the switch |
//! | 12 to 15 | the context: 0 |
//! | 16 to 19 | the list: the digest's place in the program, from 1 on |
//! | 20 to 27 | the buffer, to be acknowledged |
//! | 28 to 31 | how many samples follow |
//! | then | samples one after another: their fields, each in whole bytes, the most significant first |
//!
//! | bytes | idle entries | ports |
//! |---|---|---|
//! | 0 to 3 | `AGE\|` | `PRT\|` |
//! | 4 to 11 | the number of the switch | the same |
//! | 12 to 15 | the context: 0 | how many ports follow |
//! | 16 to 23 | the message's number | nothing |
//! | 24 to 27 | the table's number in the JSON | nothing |
//! | 28 to 31 | how many entries follow | nothing |
//! | then | their handles, 4 bytes each | number and state of each, 4 bytes each: 1 for up |
//!
//! Numbers before the samples are little-endian, as on the machines that BMv2 runs on. A sample that was sent is not
//! sent again until its buffer is acknowledged.

mod list;
mod publisher;

use forebay_pipeline::DigestMessage;
use list::{Buffer, LearnList};
use publisher::Publisher;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often time-outs of buffers are looked at, new subscribers, and what subscribers were too slow for.
const TICK: Duration = Duration::from_millis(20);

/// Bytes of a message before what it is about.
const HEAD_BYTES: usize = 32;

/// See the [module](self).
#[derive(Debug)]
pub struct Notifications {
    publisher: Publisher,
    device_id: u64,
    lists: Mutex<HashMap<i32, LearnList>>,
    /// Messages about idle entries.
    idle: AtomicU64,
}

impl Notifications {
    /// Listens at `ipc://PATH` or `tcp://HOST:PORT`.
    ///
    /// # Errors
    /// When the address is neither, or taken.
    pub fn bind(address: &str, device_id: u64) -> io::Result<Notifications> {
        Ok(Notifications {
            publisher: Publisher::bind(address)?,
            device_id,
            lists: Mutex::default(),
            idle: AtomicU64::new(0),
        })
    }

    /// The address for subscribers.
    pub fn address(&self) -> &str {
        self.publisher.address()
    }

    /// Takes subscribers, and publishes buffers whose time is over, in threads of its own.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn serve(self: &Arc<Self>) -> io::Result<()> {
        let accepting = Arc::clone(self);
        let accept = move || accepting.publisher.accept();
        thread::Builder::new().name("subscribers".to_string()).spawn(accept)?;
        let of_timer = Arc::downgrade(self);
        let tick = move || {
            while let Some(notifications) = of_timer.upgrade() {
                notifications.tick(Instant::now());
                drop(notifications);
                thread::sleep(TICK);
            }
        };
        thread::Builder::new().name("notifications".to_string()).spawn(tick)?;
        Ok(())
    }

    /// The program has sent a digest.
    pub fn digest(&self, message: &DigestMessage) {
        let mut sample = Vec::new();
        for value in &message.values {
            sample.extend(value.to_bytes_be());
        }
        let number = message.digest.0 as i32 + 1;
        let mut lists = self.lists();
        let full = lists.entry(number).or_default().add(sample, Instant::now());
        // Published under the lock: buffers are sent in their order.
        full.iter().for_each(|buffer| self.publish(number, buffer));
    }

    /// Whether there are subscribers.
    pub(crate) fn are_heard(&self) -> bool {
        self.publisher.has_subscribers()
    }

    /// Entries of a table are idle.
    pub(crate) fn idle(&self, table: i32, handles: &[i32]) {
        let mut message = self.head(b"AGE|");
        message.extend(0i32.to_le_bytes());
        message.extend(self.idle.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        message.extend(table.to_le_bytes());
        message.extend((handles.len() as u32).to_le_bytes());
        message.extend(handles.iter().flat_map(|handle| handle.to_le_bytes()));
        self.publisher.publish(&message);
    }

    /// Ports have begun to carry packets, or do so no more.
    pub(crate) fn ports(&self, states: &[(u32, bool)]) {
        let mut message = self.head(b"PRT|");
        message.extend((states.len() as u32).to_le_bytes());
        message.resize(HEAD_BYTES, 0);
        for (port, is_up) in states {
            message.extend(port.to_le_bytes());
            message.extend(i32::from(*is_up).to_le_bytes());
        }
        self.publisher.publish(&message);
    }

    /// How every message begins.
    fn head(&self, topic: &[u8; 4]) -> Vec<u8> {
        let mut message = topic.to_vec();
        message.extend(self.device_id.to_le_bytes());
        message
    }

    /// A controller has dealt with samples of a buffer, all of them when none are named.
    pub(crate) fn acknowledge(&self, list: i32, buffer: u64, samples: Option<&[i32]>) {
        if let Some(list) = self.lists().get_mut(&list) {
            list.acknowledge(buffer, samples);
        }
    }

    /// How long a buffer that is not full waits; for ever when it is 0.
    pub(crate) fn set_timeout(&self, list: i32, timeout: Duration) {
        self.lists().entry(list).or_default().timeout = timeout;
    }

    /// How many samples a buffer has.
    pub(crate) fn set_buffer_size(&self, number: i32, samples: usize) {
        let mut lists = self.lists();
        let full = lists.entry(number).or_default().resize(samples);
        full.iter().for_each(|buffer| self.publish(number, buffer));
    }

    /// Forgets all samples, sent ones too, so that they are sent again when packets bring them. To be called when
    /// another program is about to run: samples of both must not come into one buffer.
    pub fn reset(&self) {
        self.lists().values_mut().for_each(LearnList::reset);
        self.idle.store(0, Ordering::Relaxed);
    }

    fn tick(&self, now: Instant) {
        self.publisher.flush(now);
        for (number, list) in self.lists().iter_mut() {
            list.over(now).iter().for_each(|buffer| self.publish(*number, buffer));
        }
    }

    fn publish(&self, list: i32, buffer: &Buffer) {
        let mut message = self.head(b"LEA|");
        message.extend(0i32.to_le_bytes());
        message.extend(list.to_le_bytes());
        message.extend(buffer.number.to_le_bytes());
        message.extend((buffer.samples.len() as u32).to_le_bytes());
        message.extend(buffer.samples.iter().flatten());
        self.publisher.publish(&message);
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<i32, LearnList>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    #[test]
    fn heads_of_messages_are_bmv2s() {
        let notifications = Arc::new(Notifications::bind("tcp://127.0.0.1:0", 5).expect("a port"));
        notifications.serve().expect("threads");
        let place = notifications.address().trim_start_matches("tcp://").to_string();
        let mut stream = TcpStream::connect(place).expect("listens");
        stream.write_all(&[0, b'S', b'P', 0, 0, 0x21, 0, 0]).expect("sent");
        stream.read_exact(&mut [0; 8]).expect("greeted");
        while !notifications.are_heard() {
            thread::yield_now();
        }
        let mut next = move || {
            let mut length = [0; 8];
            stream.read_exact(&mut length).expect("a length");
            let mut message = vec![0; u64::from_be_bytes(length) as usize];
            stream.read_exact(&mut message).expect("a message");
            message
        };
        notifications.idle(3, &[7, 1 << 24]);
        let idle = b"AGE|\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\x02\0\0\0\x07\0\0\0\0\0\0\x01";
        assert_eq!(next(), idle);
        notifications.ports(&[(1, true), (258, false)]);
        let ports =
            b"PRT|\x05\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x02\x01\0\0\0\0\0\0";
        assert_eq!(next(), ports);
    }
}
