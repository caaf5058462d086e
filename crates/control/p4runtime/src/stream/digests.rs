//! Digests on their way to controllers (P4Runtime §9.8): gathered to lists, without what was sent and not yet
//! acknowledged.

use crate::data;
use crate::schema::{DigestSchema, Schema};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_protocol::p4::v1::digest_entry::Config;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{DigestList, DigestListAck, Update};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most messages of a list: it is then sent, whatever its configuration.
const LIST_MAX: usize = 1024;

/// Lists of one kind that may wait for an acknowledgement; of more, the oldest is forgotten.
const LISTS_MAX: usize = 256;

/// The fields of a digest in order.
type Message = Vec<Bits>;

/// All kinds of digests.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    kinds: BTreeMap<u32, Kind>,
    last_list: u64,
    /// Messages that were gathered and dropped since [`Digests::take_lost`].
    lost: u64,
}

/// One kind.
#[derive(Debug, Default)]
struct Kind {
    gathered: Vec<Message>,
    /// When the first of them came.
    since_ns: u64,
    unacknowledged: VecDeque<SentList>,
}

#[derive(Debug)]
struct SentList {
    id: u64,
    sent_ns: u64,
    messages: BTreeSet<Message>,
}

/// The time, as digests need it.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Since the switch started.
    pub(crate) now_ns: u64,
    /// Since 1970.
    pub(crate) epoch_ns: i64,
}

impl Digests {
    /// Takes a message of the data plane. Gives a list when it is full.
    pub(crate) fn receive(
        &mut self,
        schema: &Schema,
        id: u32,
        message: Message,
        config: &Config,
        times: Times,
    ) -> Option<DigestList> {
        let kind = self.kinds.entry(id).or_default();
        kind.forget_old(config, times.now_ns);
        let is_known = kind.unacknowledged.iter().any(|list| list.messages.contains(&message));
        if is_known || kind.gathered.contains(&message) {
            return None;
        }
        if kind.gathered.is_empty() {
            kind.since_ns = times.now_ns;
        }
        kind.gathered.push(message);
        let limit = match config.max_list_size {
            1.. => (config.max_list_size as usize).min(LIST_MAX),
            _ => LIST_MAX,
        };
        let is_due = config.max_timeout_ns == 0 || kind.gathered.len() >= limit;
        is_due.then(|| self.send(schema, id, config, times)).flatten()
    }

    /// Lists whose time has come. What was gathered for a controller that is gone is dropped.
    pub(crate) fn tick(
        &mut self,
        schema: &Schema,
        configs: &BTreeMap<u32, Config>,
        times: Times,
        is_heard: impl Fn(u32) -> bool,
    ) -> Vec<DigestList> {
        self.kinds.retain(|id, _| configs.contains_key(id));
        let unheard = self.kinds.iter_mut().filter(|(id, _)| !is_heard(**id));
        unheard.for_each(|(_, kind)| self.lost += kind.gathered.drain(..).len() as u64);
        let due = self.kinds.iter_mut().filter_map(|(id, kind)| {
            let config = &configs[id];
            kind.forget_old(config, times.now_ns);
            let age_ns = times.now_ns.saturating_sub(kind.since_ns);
            (!kind.gathered.is_empty() && age_ns >= config.max_timeout_ns as u64).then_some(*id)
        });
        let due: Vec<u32> = due.collect();
        due.into_iter()
            .filter_map(|id| self.send(schema, id, &configs[&id], times))
            .collect()
    }

    /// When the next list is due, in nanoseconds since the switch started.
    pub(crate) fn next_ns(&self, configs: &BTreeMap<u32, Config>) -> Option<u64> {
        let waiting = self.kinds.iter().filter(|(_, kind)| !kind.gathered.is_empty());
        let due = waiting.filter_map(|(id, kind)| Some(kind.since_ns + configs.get(id)?.max_timeout_ns as u64));
        due.min()
    }

    /// A controller has seen a list.
    pub(crate) fn acknowledge(&mut self, ack: &DigestListAck) {
        if let Some(kind) = self.kinds.get_mut(&ack.digest_id) {
            kind.unacknowledged.retain(|list| list.id != ack.list_id);
        }
    }

    /// Drops what was gathered and not yet acknowledged. Numbers of lists are not given again: an acknowledgement may
    /// be under way.
    pub(crate) fn forget_all(&mut self) {
        let kinds = std::mem::take(&mut self.kinds).into_values();
        self.lost += kinds.map(|kind| kind.gathered.len() as u64).sum::<u64>();
    }

    /// Messages that were gathered, and dropped since their controller or their program was gone, since the last call.
    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Drops what was gathered and not yet acknowledged of digests whose configuration was deleted, so that one that is
    /// inserted again, perhaps by the same batch, begins anew.
    pub(crate) fn forget_deleted(&mut self, updates: &[Update], results: &[Result<(), Error>]) {
        let done = updates.iter().zip(results).filter(|(_, result)| result.is_ok());
        for (update, _) in done.filter(|(update, _)| update.r#type() == Type::Delete) {
            if let Some(Entity::DigestEntry(entry)) = update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
                self.kinds.remove(&entry.digest_id);
            }
        }
    }

    fn send(&mut self, schema: &Schema, id: u32, config: &Config, times: Times) -> Option<DigestList> {
        let declared: &DigestSchema = schema.digests.get(&id)?;
        let kind = self.kinds.get_mut(&id)?;
        self.last_list += 1;
        let messages = std::mem::take(&mut kind.gathered);
        let data = messages
            .iter()
            .filter_map(|message| data::write(&schema.types, &declared.spec, &mut message.iter()));
        let list = DigestList {
            digest_id: id,
            list_id: self.last_list,
            data: data.collect(),
            timestamp: times.epoch_ns,
        };
        if config.ack_timeout_ns > 0 {
            kind.unacknowledged.push_back(SentList {
                id: self.last_list,
                sent_ns: times.now_ns,
                messages: messages.into_iter().collect(),
            });
            kind.unacknowledged
                .drain(..kind.unacknowledged.len().saturating_sub(LISTS_MAX));
        }
        Some(list)
    }
}

impl Kind {
    /// Forgets lists that were not acknowledged in time.
    fn forget_old(&mut self, config: &Config, now_ns: u64) {
        let is_old = |list: &SentList| now_ns.saturating_sub(list.sent_ns) >= config.ack_timeout_ns as u64;
        while self.unacknowledged.front().is_some_and(is_old) {
            self.unacknowledged.pop_front();
        }
    }
}
