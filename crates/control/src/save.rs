//! What a switch keeps over a restart: snapshots of everything, and each batch of writes since the last one.
//!
//! Both are bytes here; where they are kept is the server's matter. A snapshot holds the programs (the running one, and one
//! that was saved and is not yet committed) as they were pushed, and updates that make their forwarding state anew. What
//! packets have written (registers, counters) is in it as of the moment when it was made. Strings that the switch has
//! numbered keep their numbers, since packets may have stored them.
//!
//! Not kept: how full meters are, and since when entries are idle. Both begin anew.

use crate::change::Writer;
use crate::device::{Device, Now, Settings};
use crate::forwarding::Forwarding;
use crate::ports::Ports;
use crate::reconcile;
use crate::roles::RoleConfig;
use crate::status::Error;
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{ForwardingPipelineConfig, Update};
use prost::Message;
use std::sync::Arc;

/// All of a device.
#[derive(Clone, PartialEq, Message)]
struct Snapshot {
    #[prost(message, optional, tag = "1")]
    running: Option<State>,
    #[prost(message, optional, tag = "2")]
    saved: Option<State>,
    /// The program that the switch was started with, by which the next start knows that it is the same.
    #[prost(bytes = "vec", tag = "3")]
    origin: Vec<u8>,
}

/// A program with its forwarding state.
#[derive(Clone, PartialEq, Message)]
struct State {
    #[prost(message, optional, tag = "1")]
    config: Option<ForwardingPipelineConfig>,
    #[prost(message, repeated, tag = "2")]
    updates: Vec<Update>,
    #[prost(message, repeated, tag = "3")]
    words: Vec<Words>,
}

/// Strings of one translation, in the order of their numbers.
#[derive(Clone, PartialEq, Message)]
struct Words {
    #[prost(string, tag = "1")]
    translation: String,
    #[prost(bytes = "vec", repeated, tag = "2")]
    texts: Vec<Vec<u8>>,
}

/// Updates that were done together.
#[derive(Clone, PartialEq, Message)]
struct Batch {
    #[prost(message, repeated, tag = "1")]
    updates: Vec<Update>,
    /// Strings that were numbered since the last batch.
    #[prost(message, repeated, tag = "2")]
    words: Vec<Words>,
}

impl Device {
    /// All that is to be kept. What [`crate::Output::Keep`] says from now on follows it.
    pub fn snapshot(&mut self) -> Vec<u8> {
        let snapshot = Snapshot {
            running: self.running.as_mut().map(state),
            saved: self.saved.as_mut().map(state),
            origin: self.settings.origin.clone(),
        };
        snapshot.encode_to_vec()
    }

    /// A device as it was kept: the last snapshot, and the batches since then.
    ///
    /// # Errors
    /// When something cannot be loaded or written again; the message says what. Nothing runs then.
    pub fn restore(settings: Settings, snapshot: &[u8], batches: &[Vec<u8>], now: Now) -> Result<Device, Error> {
        let unreadable = |error| Error::invalid(format!("what was kept cannot be read: {error}"));
        let snapshot = Snapshot::decode(snapshot).map_err(unreadable)?;
        if snapshot.origin != settings.origin && !settings.origin.is_empty() {
            return Err(Error::precondition(
                "what was kept belongs to another program than that of the command line: push the new one to the running \
                 switch with RECONCILE_AND_COMMIT, or keep its state in another folder",
            ));
        }
        let mut device = Device::new(Settings {
            origin: snapshot.origin,
            ..settings
        });
        let load = |state: State| load(state, &device.settings, now);
        let running = snapshot.running.map(load).transpose()?;
        let saved = snapshot.saved.map(load).transpose()?;
        (device.running, device.saved) = (running, saved);
        for batch in batches {
            let Batch { updates, words } = Batch::decode(&batch[..]).map_err(unreadable)?;
            let forwarding = device.saved.as_mut().or(device.running.as_mut());
            let forwarding = forwarding.ok_or_else(|| Error::invalid("a batch was kept without a program"))?;
            write_again(forwarding, &updates, &words, now)?;
        }
        Ok(device)
    }

    /// What packets go through; none without a program.
    pub fn pipeline(&self) -> Option<&Arc<Pipeline>> {
        Some(&self.running.as_ref()?.pipeline)
    }
}

/// What is to be kept of a batch: the updates that were done.
pub(crate) fn batch(forwarding: &mut Forwarding, updates: &[Update], results: &[Result<(), Error>]) -> Vec<u8> {
    let done = updates.iter().zip(results).filter(|(_, result)| result.is_ok());
    let batch = Batch {
        updates: done.map(|(update, _)| update.clone()).collect(),
        words: new_words(forwarding),
    };
    batch.encode_to_vec()
}

fn state(forwarding: &mut Forwarding) -> State {
    forwarding.words_kept.clear();
    State {
        config: Some(forwarding.config.clone()),
        updates: reconcile::changes(forwarding),
        words: new_words(forwarding),
    }
}

/// Strings that were numbered since they were last asked for.
fn new_words(forwarding: &mut Forwarding) -> Vec<Words> {
    let mut all = Vec::new();
    for (translation, dictionary) in &forwarding.schema.dictionaries {
        let kept = forwarding.words_kept.entry(translation.clone()).or_default();
        let texts = dictionary.texts_from(*kept);
        *kept += texts.len();
        if !texts.is_empty() {
            let translation = translation.clone();
            all.push(Words { translation, texts });
        }
    }
    all
}

fn load(state: State, settings: &Settings, now: Now) -> Result<Forwarding, Error> {
    let config = state
        .config
        .ok_or_else(|| Error::invalid("a program was kept without its configuration"))?;
    let mut forwarding = Forwarding::load(&config, settings.options)?;
    reconcile::clear(&forwarding)?;
    write_again(&mut forwarding, &state.updates, &state.words, now)?;
    Ok(forwarding)
}

fn write_again(forwarding: &mut Forwarding, updates: &[Update], words: &[Words], now: Now) -> Result<(), Error> {
    for Words { translation, texts } in words {
        let dictionary = forwarding.schema.dictionaries.get(translation);
        let dictionary =
            dictionary.ok_or_else(|| Error::invalid(format!("there is no translation `{translation}`")))?;
        dictionary.extend(texts);
        *forwarding.words_kept.entry(translation.clone()).or_default() += texts.len();
    }
    let writer = Writer {
        role: &RoleConfig::default(),
        ports: &Ports::default(),
        now_ns: now.switch_ns,
        writes_again: true,
    };
    let results = forwarding.write(updates, Atomicity::ContinueOnError, writer);
    results
        .into_iter()
        .collect::<Result<(), Error>>()
        .map_err(|error| Error {
            code: error.code,
            message: format!("what was kept cannot be written again: {error}"),
        })
}
