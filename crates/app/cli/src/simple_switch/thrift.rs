//! What answers on the Thrift port of BMv2: that there is no Thrift server, as an exception that every client shows.
//!
//! Topologies wait until something listens there. A client that calls must neither hang nor be cut off without a word.

use anyhow::{Context, Result};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// What the exception says.
const REASON: &str = "this switch has no Thrift server: use P4Runtime (simple_switch_grpc, forebay ctl)";

/// How long a client may take for its call.
const PATIENCE: Duration = Duration::from_secs(2);

/// Characters of a method's name.
const NAME_MAX: usize = 256;

/// Bytes of a call that are read and thrown away.
const CALL_MAX: u64 = 1 << 20;

/// Begin of a message of the binary protocol, without its type in the last byte.
const VERSION: u32 = 0x8001_0000;
const CALL: u32 = 1;
const EXCEPTION: u32 = 3;
/// An exception's kind: the method is not known.
const UNKNOWN_METHOD: u32 = 1;
/// Types of fields, and the end of a structure.
const STRING: u8 = 11;
const I32: u8 = 8;
const STOP: u8 = 0;

/// Listens until the program ends.
///
/// # Errors
/// When the port is taken.
pub fn refuse_on(port: u16) -> Result<()> {
    let listener = TcpListener::bind(("0.0.0.0", port));
    let listener = listener.with_context(|| format!("--thrift-port: cannot listen on port {port}"))?;
    let answer_all = move || {
        for stream in listener.incoming().flatten() {
            // A client that breaks off gets no answer.
            let _ = answer(stream);
        }
    };
    let thread = std::thread::Builder::new().name("thrift".to_string());
    thread.spawn(answer_all).context("cannot start a thread")?;
    Ok(())
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    if let Some((name, sequence)) = call(&mut stream)? {
        stream.write_all(&exception(&name, sequence))?;
    }
    // What of the call is not read would make the system throw the answer away.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream.take(CALL_MAX), &mut io::sink()).map(drop)
}

/// Name and number of a call; none when it is something else.
fn call(stream: &mut impl Read) -> io::Result<Option<(Vec<u8>, u32)>> {
    if number(stream)? != VERSION | CALL {
        return Ok(None);
    }
    let length = number(stream)? as usize;
    if length > NAME_MAX {
        return Ok(None);
    }
    let mut name = vec![0; length];
    stream.read_exact(&mut name)?;
    Ok(Some((name, number(stream)?)))
}

fn number(stream: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

fn exception(name: &[u8], sequence: u32) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend((VERSION | EXCEPTION).to_be_bytes());
    message.extend((name.len() as u32).to_be_bytes());
    message.extend(name);
    message.extend(sequence.to_be_bytes());
    message.extend([STRING, 0, 1]);
    message.extend((REASON.len() as u32).to_be_bytes());
    message.extend(REASON.as_bytes());
    message.extend([I32, 0, 2]);
    message.extend(UNKNOWN_METHOD.to_be_bytes());
    message.push(STOP);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client gets that sends these bytes.
    fn answer_to(bytes: &[u8]) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(bytes).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
        let mut got = Vec::new();
        client.read_to_end(&mut got).unwrap();
        // A client that sends nothing is an end of file.
        let _ = server.join().unwrap();
        got
    }

    #[test]
    fn a_call_gets_an_exception_of_its_number() {
        let mut call = (VERSION | CALL).to_be_bytes().to_vec();
        call.extend(b"\0\0\0\x0fstandard:bm_get\0\0\0\x07\0");
        let answer = answer_to(&call);
        assert_eq!(answer[..4], (VERSION | EXCEPTION).to_be_bytes());
        assert_eq!(&answer[8..27], b"standard:bm_get\0\0\0\x07");
        assert!(String::from_utf8_lossy(&answer).contains(REASON));
    }

    #[test]
    fn anything_else_gets_none() {
        assert_eq!(answer_to(b"GET / HTTP/1.1\r\n\r\n"), b"");
        assert_eq!(answer_to(b""), b"");
    }
}
