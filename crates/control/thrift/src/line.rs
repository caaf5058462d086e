//! The line to a client, with a time by which something must be done: it holds for all of it together, so that a client
//! that sends or takes a byte now and then does not keep its place.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How long nothing may come or go before that time.
const STALL: Duration = Duration::from_secs(10);

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Line<'a> {
    stream: &'a TcpStream,
    /// None while anything may take as long as it does.
    end: Option<Instant>,
}

impl<'a> Line<'a> {
    /// A line without a time.
    pub(crate) fn new(stream: &'a TcpStream) -> Line<'a> {
        Line { stream, end: None }
    }

    /// From now on, what is read and written must be done within this time; none for any time.
    pub(crate) fn limit(&mut self, time: Option<Duration>) {
        self.end = time.map(|time| Instant::now() + time);
    }

    /// The time that the next step may take.
    fn left(&self) -> io::Result<Option<Duration>> {
        let Some(end) = self.end else { return Ok(None) };
        let left = end.saturating_duration_since(Instant::now());
        // A time of 0 would mean any.
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Some(left.min(STALL)))
    }
}

impl Read for Line<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    /// Both ends of a connection.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (stream, _) = listener.accept().expect("a connection");
        (stream, client)
    }

    #[test]
    fn bytes_now_and_then_do_not_lengthen_the_time() {
        let (stream, mut client) = pair();
        let drip = thread::spawn(move || {
            while client.write_all(&[0]).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let mut line = Line::new(&stream);
        line.limit(Some(Duration::from_millis(200)));
        let began = Instant::now();
        let read = line.read_exact(&mut [0; 100_000]);
        // What the system says of a time that is over is one or the other.
        let kind = read.map_err(|error| error.kind());
        assert!(matches!(kind, Err(io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)));
        assert!(began.elapsed() < Duration::from_secs(20));
        drop(stream);
        drip.join().expect("no panic");
    }

    #[test]
    fn without_a_time_it_waits() {
        let (stream, mut client) = pair();
        let mut line = Line::new(&stream);
        line.limit(Some(Duration::ZERO));
        assert!(line.write_all(&[1]).is_err());
        line.limit(None);
        line.write_all(&[1]).expect("room");
        client.write_all(&[2]).expect("room");
        let mut byte = [0];
        line.read_exact(&mut byte).expect("a byte");
        assert_eq!(byte, [2]);
    }
}
