//! What a demonstration is to do.

use crate::DemoError;
use forebay_traffic::MessageFormat;
use forebay_traffic::message::FLAG_HEADER;
use std::path::{Path, PathBuf};

/// Most flows that a demonstration has: each has a socket, and a slot of the aggregating switch for itself.
pub const MAX_FLOWS: u32 = 1024;

/// Messages that may be under way, beside those that wait in an incomplete batch. The smallest queue that they pass is
/// Linux's backlog of a processor, `net.core.netdev_max_backlog`, of 1000 packets.
const UNDER_WAY: u64 = 512;

/// Seconds without a message after which the missing ones are taken for lost, beside those that batches need to fill.
const SILENCE_SECONDS: u64 = 10;

/// Message sizes (S) that both the programs and the checker can do: 12 bytes are needed to recognise a payload.
const MESSAGE_BYTES: std::ops::RangeInclusive<usize> = 18..=128;

/// How the second switch makes the copies of an N-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Resubmits it N − 1 times and clones one copy in each pass.
    Resubmit,
    /// Replicates it N times with the packet replication engine.
    Multicast,
}

impl Method {
    /// Both, in the order in which they were published.
    pub const ALL: [Method; 2] = [Method::Resubmit, Method::Multicast];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Resubmit => "resubmit",
            Method::Multicast => "multicast",
        }
    }

    /// The value of the program's macro `METHOD`.
    pub fn macro_value(self) -> u32 {
        match self {
            Method::Resubmit => 1,
            Method::Multicast => 2,
        }
    }

    /// Reads `resubmit`, `multicast` or `both`.
    ///
    /// # Errors
    /// A message for the user when it is none of them.
    pub fn parse_several(text: &str) -> Result<Vec<Method>, String> {
        if text == "both" {
            return Ok(Method::ALL.to_vec());
        }
        match Method::ALL.into_iter().find(|method| method.name() == text) {
            Some(method) => Ok(vec![method]),
            None => Err("expected resubmit, multicast or both".to_string()),
        }
    }
}

/// The options of the user.
#[derive(Clone, Debug)]
pub struct Options {
    /// Messages to send, with each method.
    pub messages: u64,
    /// Messages in an N-packet (N).
    pub batch: u32,
    /// Bytes of a message after its UDP header (S): flag header and payload.
    pub message_bytes: usize,
    /// How to disaggregate.
    pub methods: Vec<Method>,
    /// Devices, each with a UDP port of its own.
    pub flows: u32,
    /// The most messages per second; `None` to send as fast as they arrive.
    pub rate: Option<f64>,
    /// Whether to stay in memory although the process may make network namespaces.
    pub memory: bool,
    /// Where captures, programs and logs are left.
    pub folder: PathBuf,
    /// The `forebay` program, which switches, senders and server are processes of.
    pub executable: PathBuf,
}

/// Options that were checked.
#[derive(Clone, Debug)]
pub struct Settings {
    options: Options,
    format: MessageFormat,
    messages: u64,
}

impl Settings {
    /// Checks the options. The number of messages is rounded up so that the last batch of every flow is full: an
    /// incomplete one would wait in the switch for ever.
    ///
    /// # Errors
    /// When a number is out of its range.
    pub fn new(options: &Options) -> Result<Settings, DemoError> {
        let refuse = |message: String| Err(DemoError::Settings(message));
        if !matches!(options.batch, 1 | 2 | 4 | 8) {
            return refuse(format!("an N-packet has 1, 2, 4 or 8 messages, not {}", options.batch));
        }
        if !MESSAGE_BYTES.contains(&options.message_bytes) {
            let (least, most) = (MESSAGE_BYTES.start(), MESSAGE_BYTES.end());
            return refuse(format!(
                "a message (S) has {least} to {most} bytes, not {}",
                options.message_bytes
            ));
        }
        if !(1..=MAX_FLOWS).contains(&options.flows) {
            return refuse(format!("there are 1 to {MAX_FLOWS} flows, not {}", options.flows));
        }
        if options.messages == 0 || options.messages > u64::from(u32::MAX) {
            return refuse("the number of messages is 1 to 4294967295".to_string());
        }
        if options.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return refuse("a rate is a number of messages per second above 0".to_string());
        }
        let format = MessageFormat::new(options.message_bytes - FLAG_HEADER)
            .map_err(|error| DemoError::Settings(error.to_string()))?;
        let round = u64::from(options.flows) * u64::from(options.batch);
        Ok(Settings {
            messages: options.messages.next_multiple_of(round),
            format,
            options: options.clone(),
        })
    }

    /// Messages that are sent: of every flow as many, a multiple of N.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The requested number of messages.
    pub fn messages_asked(&self) -> u64 {
        self.options.messages
    }

    /// Messages in an N-packet.
    pub fn batch(&self) -> u32 {
        self.options.batch
    }

    /// The form of the messages.
    pub fn format(&self) -> MessageFormat {
        self.format
    }

    /// Devices.
    pub fn flows(&self) -> u32 {
        self.options.flows
    }

    /// The methods, in order.
    pub fn methods(&self) -> &[Method] {
        &self.options.methods
    }

    /// Messages per second at most.
    pub fn rate(&self) -> Option<f64> {
        self.options.rate
    }

    /// Whether the user wants to stay in memory.
    pub fn memory(&self) -> bool {
        self.options.memory
    }

    /// Where files are left.
    pub fn folder(&self) -> &Path {
        &self.options.folder
    }

    /// The `forebay` program.
    pub fn executable(&self) -> &Path {
        &self.options.executable
    }

    /// Seconds without a message after which the missing ones are taken for lost: nothing arrives before a batch is
    /// full, and the batches of all flows fill at the same time.
    pub fn silence_seconds(&self) -> u64 {
        let batches = f64::from(self.flows()) * f64::from(self.batch());
        let filling = self.rate().map_or(0.0, |rate| batches / rate);
        SILENCE_SECONDS.saturating_add(filling.ceil() as u64)
    }

    /// Messages that may be sent beyond those that have arrived: some under way, and a batch of every flow that lacks
    /// one.
    pub fn window(&self) -> u64 {
        UNDER_WAY + u64::from(self.flows()) * u64::from(self.batch() - 1)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn options() -> Options {
        Options {
            messages: 1000,
            batch: 8,
            message_bytes: 22,
            methods: Method::ALL.to_vec(),
            flows: 10,
            rate: None,
            memory: true,
            folder: PathBuf::from("unused"),
            executable: PathBuf::from("unused"),
        }
    }

    #[test]
    fn every_batch_is_full() {
        let settings = Settings::new(&options()).expect("correct options");
        assert_eq!((settings.messages_asked(), settings.messages()), (1000, 1040));
        assert_eq!(settings.messages() % 80, 0);
        let exact = Options {
            messages: 100_000,
            ..options()
        };
        assert_eq!(Settings::new(&exact).expect("correct options").messages(), 100_000);
    }

    #[test]
    fn the_window_is_larger_than_what_waits_in_batches() {
        let many = Options {
            flows: MAX_FLOWS,
            ..options()
        };
        let settings = Settings::new(&many).expect("correct options");
        assert!(settings.window() > u64::from(MAX_FLOWS) * 7);
    }

    #[test]
    fn a_silence_is_longer_than_batches_need_to_fill() {
        let slow = Options {
            rate: Some(5.0),
            ..options()
        };
        let silence = |options: &Options| Settings::new(options).expect("correct options").silence_seconds();
        assert_eq!((silence(&options()), silence(&slow)), (10, 26));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for (wrong, word) in [
            (Options { batch: 3, ..options() }, "1, 2, 4 or 8"),
            (
                Options {
                    message_bytes: 17,
                    ..options()
                },
                "18 to 128",
            ),
            (
                Options {
                    message_bytes: 129,
                    ..options()
                },
                "18 to 128",
            ),
            (Options { flows: 0, ..options() }, "1 to 1024"),
            (
                Options {
                    flows: 1025,
                    ..options()
                },
                "1 to 1024",
            ),
            (
                Options {
                    messages: 0,
                    ..options()
                },
                "messages",
            ),
            (
                Options {
                    rate: Some(0.0),
                    ..options()
                },
                "rate",
            ),
            (
                Options {
                    rate: Some(f64::NAN),
                    ..options()
                },
                "rate",
            ),
        ] {
            let error = Settings::new(&wrong).expect_err("a wrong number");
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn methods_have_names() {
        assert_eq!(Method::parse_several("both"), Ok(Method::ALL.to_vec()));
        for method in Method::ALL {
            assert_eq!(Method::parse_several(method.name()), Ok(vec![method]));
        }
        assert!(Method::parse_several("clone").is_err());
    }
}
