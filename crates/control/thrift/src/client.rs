//! The other end, as far as simple_switch_CLI needs it.

use crate::wire::{self, Fields, Message, Value};
use std::io::{self, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};

/// Bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 1 << 30;

/// The method of ours that does a line of commands.
pub(crate) const COMMAND: &str = "forebay_command";

/// A connection to a switch of ours.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
    number: u32,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Client {
            stream: BufReader::new(stream),
            number: 0,
        })
    }

    /// Does a line of commands; gives what it prints, or what is wrong with it.
    ///
    /// # Errors
    /// When the connection is broken, or the other end is another program.
    pub fn command(&mut self, line: &str) -> io::Result<Result<String, String>> {
        let answer = self.call(COMMAND, Value::text(line))?;
        let text = |number| match answer.fields.get(number) {
            Some(Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        match (answer.kind, answer.fields.get(2)) {
            (wire::REPLY, _) => Ok(Ok(text(0).unwrap_or_default())),
            (_, Some(Value::I32(wire::UNKNOWN_METHOD))) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the switch there is none of Forebay's: use its own simple_switch_CLI",
            )),
            _ => Ok(Err(text(1).unwrap_or_default())),
        }
    }

    /// Loads another program; gives what is wrong with it.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn load_program(&mut self, program: Vec<u8>) -> io::Result<Result<(), String>> {
        let answer = self.call("bm_load_new_config", Value::Bytes(program))?;
        Ok(match (answer.kind, answer.fields.get(1)) {
            (wire::REPLY, None) => Ok(()),
            (wire::REPLY, Some(_)) => Err("another program was loaded and waits for swap_configs".to_string()),
            (_, Some(Value::Bytes(why))) => Err(String::from_utf8_lossy(why).into_owned()),
            _ => Err("the program was refused".to_string()),
        })
    }

    fn call(&mut self, name: &str, argument: Value) -> io::Result<Message> {
        self.number += 1;
        let call = Message {
            kind: wire::CALL,
            name: name.to_string(),
            number: self.number,
            fields: Fields::default().with(1, argument),
        };
        self.stream.get_mut().write_all(&call.write())?;
        let answer = Message::read(&mut self.stream, ANSWER_BYTES_MAX)?;
        answer.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }
}
