//! What a role may do (P4Runtime §5.2).
//!
//! A controller may describe its role when it claims it, as `stratum.P4RoleConfig`: ids that it may write, whether it
//! gets packets, whether it may push a program. A role without description may do everything, unless the operator has
//! said that roles of this name only read.

use crate::schema::Schema;
use crate::status::Error;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::{PacketMetadata, Update};
use forebay_protocol::stratum::P4RoleConfig;
use prost::Message;
use prost_types::Any;

/// Bytes of the description of a role, which a device remembers.
const CONFIG_MAX: usize = 64 << 10;

/// Objects that a role names, of each kind: other roles' claims, writes and reads are compared with them.
const OBJECTS_MAX: usize = 4096;

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RoleConfig {
    /// As the controller sent it.
    pub(crate) sent: Option<Any>,
    described: Option<P4RoleConfig>,
    /// The operator allows reading only.
    reads_only: bool,
}

impl RoleConfig {
    /// The configuration that a controller has sent.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when it is not of the type that is understood here.
    pub(crate) fn new(sent: Option<Any>, reads_only: bool) -> Result<RoleConfig, Error> {
        let described = match &sent {
            None => None,
            Some(any) if any.value.len() > CONFIG_MAX || any.type_url.len() > CONFIG_MAX => {
                return Err(Error::invalid(format!("role.config has more than {CONFIG_MAX} bytes")));
            }
            Some(any) if any.type_url.ends_with("P4RoleConfig") => Some(read(&any.value)?),
            Some(any) => {
                return Err(Error::invalid(format!(
                    "role.config is of type `{}`; this switch understands stratum.P4RoleConfig",
                    any.type_url
                )));
            }
        };
        Ok(RoleConfig {
            sent,
            described,
            reads_only,
        })
    }

    /// An object that both roles claim for themselves alone.
    pub(crate) fn exclusive_with(&self, other: &RoleConfig) -> Option<u32> {
        let (own, other) = (self.described.as_ref()?, other.described.as_ref()?);
        let is_other = |id: &&u32| other.exclusive_p4_ids.binary_search(id).is_ok();
        own.exclusive_p4_ids.iter().find(is_other).copied()
    }

    /// Whether the role may do an update.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` when it may not.
    pub(crate) fn check_write(&self, update: &Update, schema: &Schema) -> Result<(), Error> {
        if self.reads_only {
            return Err(Error::denied("this role only reads"));
        }
        let (Some(config), Some(entity)) = (&self.described, &update.entity) else {
            return Ok(());
        };
        match entity.entity.as_ref().and_then(object) {
            Some(id) if !names(config, id) => {
                let name = schema
                    .name(id)
                    .map_or_else(|| format!("the object with id {id:#010x}"), |name| format!("`{name}`"));
                Err(Error::denied(format!("this role may not write to {name}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether an entity belongs to the role, for reads.
    pub(crate) fn owns(&self, entity: &Kind) -> bool {
        let Some(config) = &self.described else { return true };
        object(entity).is_none_or(|id| names(config, id))
    }

    /// Whether the role may push a program.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` when it may not.
    pub(crate) fn check_push(&self) -> Result<(), Error> {
        match &self.described {
            _ if self.reads_only => Err(Error::denied("this role only reads")),
            Some(config) if !config.can_push_pipeline => Err(Error::denied("this role may not push a program")),
            _ => Ok(()),
        }
    }

    /// Whether a packet with these metadata goes to the role's primary.
    pub(crate) fn receives_packet(&self, metadata: &[PacketMetadata]) -> bool {
        let Some(config) = &self.described else { return true };
        let Some(filter) = &config.packet_in_filter else {
            return config.receives_packet_ins;
        };
        let passes = metadata
            .iter()
            .any(|given| given.metadata_id == filter.metadata_id && shortest(&given.value) == shortest(&filter.value));
        config.receives_packet_ins && passes
    }

    /// Whether the role may send packets.
    pub(crate) fn sends_packets(&self) -> bool {
        !self.reads_only
    }

    /// Whether notifications about an object go to the role's primary.
    pub(crate) fn hears_of(&self, id: u32) -> bool {
        let Some(config) = &self.described else { return true };
        names(config, id)
    }
}

/// A description, with the ids in order and each once.
fn read(bytes: &[u8]) -> Result<P4RoleConfig, Error> {
    let mut config = P4RoleConfig::decode(bytes)
        .map_err(|error| Error::invalid(format!("role.config is no P4RoleConfig: {error}")))?;
    for ids in [&mut config.exclusive_p4_ids, &mut config.shared_p4_ids] {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > OBJECTS_MAX {
            return Err(Error::invalid(format!(
                "role.config names {} objects; it may name {OBJECTS_MAX} for itself alone, and as many with others",
                ids.len()
            )));
        }
    }
    Ok(config)
}

/// Whether a role has an object, for itself alone or with others.
fn names(config: &P4RoleConfig, id: u32) -> bool {
    let is_in = |ids: &[u32]| ids.binary_search(&id).is_ok();
    is_in(&config.exclusive_p4_ids) || is_in(&config.shared_p4_ids)
}

/// A number without leading zeros: both forms name the same value (§8.3).
fn shortest(value: &[u8]) -> &[u8] {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    &value[zeros..]
}

/// The object of the program that an entity belongs to; groups and sessions belong to none.
pub(crate) fn object(entity: &Kind) -> Option<u32> {
    let of_table = |entry: &Option<forebay_protocol::p4::v1::TableEntry>| entry.as_ref().map(|entry| entry.table_id);
    Some(match entity {
        Kind::TableEntry(entry) => entry.table_id,
        Kind::DirectCounterEntry(entry) => of_table(&entry.table_entry)?,
        Kind::DirectMeterEntry(entry) => of_table(&entry.table_entry)?,
        Kind::ActionProfileMember(member) => member.action_profile_id,
        Kind::ActionProfileGroup(group) => group.action_profile_id,
        Kind::MeterEntry(entry) => entry.meter_id,
        Kind::CounterEntry(entry) => entry.counter_id,
        Kind::ValueSetEntry(entry) => entry.value_set_id,
        Kind::RegisterEntry(entry) => entry.register_id,
        Kind::DigestEntry(entry) => entry.digest_id,
        Kind::ExternEntry(entry) => entry.extern_id,
        Kind::PacketReplicationEngineEntry(_) => return None,
    })
}
