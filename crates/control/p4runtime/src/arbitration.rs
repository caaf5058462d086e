//! Who may write: one primary controller for each role (P4Runtime §5).
//!
//! A controller is known by its stream. The primary of a role is the one with the highest election id that the role has
//! ever seen; when it goes, the role has none until one comes with an id that is at least as high.
//!
//! BMv2 ([`Arbitration::as_bmv2`]) forgets an id with its stream: the primary is the one with the highest id of those
//! that are connected, so that a backup follows a primary that goes without a claim of its own.

use crate::StreamId;
use crate::roles::RoleConfig;
use crate::status::{Code, Error};
use forebay_protocol::google::rpc::Status;
use forebay_protocol::p4::v1::{MasterArbitrationUpdate, Role as RoleMessage, Uint128};
use std::collections::BTreeMap;

/// Streams that one role may have at a time.
const STREAMS_MAX: usize = 4096;

/// Roles that a device remembers, and bytes of the name of one.
const ROLES_MAX: usize = 1024;
const NAME_MAX: usize = 1024;

/// A notice for a stream.
pub(crate) type Notice = (StreamId, MasterArbitrationUpdate);

/// The streams of a device and their roles.
#[derive(Debug, Default)]
pub(crate) struct Arbitration {
    device_id: u64,
    /// Whether an election id counts only as long as its stream is open.
    forgets_ids: bool,
    /// The configuration of the role without a name while no controller has taken part in it.
    untouched: RoleConfig,
    roles: BTreeMap<String, Role>,
    streams: BTreeMap<StreamId, Controller>,
}

#[derive(Debug, Default)]
struct Role {
    /// The highest election id ever seen, or of the streams that are open; none before the first primary.
    highest: Option<u128>,
    /// From the last primary that sent one.
    config: RoleConfig,
    primary: Option<StreamId>,
}

/// The controller behind a stream that takes part in a role.
#[derive(Clone, Debug)]
struct Controller {
    role: String,
    election: Option<u128>,
}

fn number(id: Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

fn message(id: u128) -> Uint128 {
    Uint128 {
        high: (id >> 64) as u64,
        low: id as u64,
    }
}

/// What a role says that has had a primary and has none.
fn no_primary(highest: u128) -> String {
    let Uint128 { high, low } = message(highest);
    let parts = if high > 0 {
        format!(" (high {high}, low {low})")
    } else {
        String::new()
    };
    format!(
        "there is no primary controller: to be it takes an election id of at least {highest}{parts}, the highest since \
         the switch started"
    )
}

impl Arbitration {
    pub(crate) fn new(device_id: u64) -> Arbitration {
        Arbitration {
            device_id,
            ..Arbitration::default()
        }
    }

    /// The same, which elects primaries as BMv2 does.
    pub(crate) fn as_bmv2(device_id: u64) -> Arbitration {
        Arbitration {
            forgets_ids: true,
            ..Arbitration::new(device_id)
        }
    }

    /// Takes a claim. The notices are in the order in which they are to be sent.
    ///
    /// # Errors
    /// The stream is to be ended with the error.
    pub(crate) fn update(
        &mut self,
        stream: StreamId,
        claim: &MasterArbitrationUpdate,
        reads_only: impl Fn(&str) -> bool,
    ) -> Result<Vec<Notice>, Error> {
        let role = claim.role.clone().unwrap_or_default();
        let election = claim.election_id.map(number);
        self.check(stream, claim, &role.name, election)?;
        // Until it has a first primary, only the operator has said what the role may do.
        let undescribed = RoleConfig::new(None, reads_only(&role.name))?;
        let config = RoleConfig::new(role.config, reads_only(&role.name))?;
        self.check_exclusive(&role.name, &config)?;
        let controller = Controller {
            role: role.name.clone(),
            election,
        };
        self.streams.insert(stream, controller);
        let connected = self.forgets_ids.then(|| self.highest_of_others(&role.name, stream));
        let entry = self.roles.entry(role.name.clone()).or_insert_with(|| Role {
            config: undescribed,
            ..Role::default()
        });
        if let Some(connected) = connected {
            entry.highest = connected;
        }
        let was_primary = entry.primary == Some(stream);
        if election.is_some_and(|election| entry.highest.is_none_or(|highest| election >= highest)) {
            entry.highest = election;
            entry.primary = Some(stream);
            entry.config = config;
            return Ok(self.notices(&role.name));
        }
        if was_primary {
            self.end_primary(&role.name);
            return Ok(self.notices(&role.name));
        }
        Ok(vec![(stream, self.notice(&role.name, stream))])
    }

    fn check(
        &self,
        stream: StreamId,
        claim: &MasterArbitrationUpdate,
        role: &str,
        election: Option<u128>,
    ) -> Result<(), Error> {
        let known = self.streams.get(&stream);
        if claim.device_id != self.device_id {
            let message = format!("there is no device {}; there is {}", claim.device_id, self.device_id);
            return Err(match known {
                None => Error::not_found(message),
                Some(_) => Error::precondition(message),
            });
        }
        if role.len() > NAME_MAX {
            return Err(Error::invalid(format!(
                "the name of a role has at most {NAME_MAX} bytes, not {}",
                role.len()
            )));
        }
        if let Some(known) = known.filter(|known| known.role != role) {
            return Err(Error::precondition(format!(
                "this stream has role `{}`; open another stream for role `{role}`",
                known.role
            )));
        }
        if self.is_taken(stream, role, election) {
            let of_role = if role.is_empty() {
                String::new()
            } else {
                format!(" of role `{role}`")
            };
            // finsy looks for these words, and claims a lower one then.
            return Err(Error::invalid(format!(
                "election id {}{of_role} is used by another controller",
                election.unwrap_or_default()
            )));
        }
        let streams = self.streams.values().filter(|other| other.role == role).count();
        if known.is_none() && streams >= STREAMS_MAX {
            return Err(Error::exhausted(format!("role `{role}` has {streams} streams already")));
        }
        if !self.roles.contains_key(role) && self.roles.len() >= ROLES_MAX {
            return Err(Error::exhausted(format!("there are {ROLES_MAX} roles already")));
        }
        Ok(())
    }

    /// Whether a controller on another stream has this election id in the role.
    fn is_taken(&self, stream: StreamId, role: &str, election: Option<u128>) -> bool {
        let mut others = self
            .streams
            .iter()
            .filter(|(id, other)| **id != stream && other.role == role);
        election.is_some() && others.any(|(_, other)| other.election == election)
    }

    /// Whether the claim has the election id of another stream's controller, for which it is refused.
    pub(crate) fn claims_taken(&self, stream: StreamId, claim: &MasterArbitrationUpdate) -> bool {
        let role = claim.role.as_ref().map_or("", |role| &role.name);
        self.is_taken(stream, role, claim.election_id.map(number))
    }

    /// What one role writes alone, no other may claim for itself alone.
    fn check_exclusive(&self, role: &str, config: &RoleConfig) -> Result<(), Error> {
        let others = self.roles.iter().filter(|(name, _)| *name != role);
        for (name, other) in others {
            if let Some(id) = config.exclusive_with(&other.config) {
                return Err(Error::invalid(format!(
                    "role `{name}` has claimed the object with id {id:#010x} for itself alone"
                )));
            }
        }
        Ok(())
    }

    /// A stream has ended.
    pub(crate) fn close(&mut self, stream: StreamId) -> Vec<Notice> {
        let Some(controller) = self.streams.remove(&stream) else {
            return Vec::new();
        };
        match self.roles.get_mut(&controller.role) {
            Some(role) if role.primary == Some(stream) => {
                self.end_primary(&controller.role);
                self.notices(&controller.role)
            }
            Some(role) if role.highest.is_none() => {
                // There is nothing to remember of a role that never had a primary.
                if !self.streams.values().any(|other| other.role == controller.role) {
                    self.roles.remove(&controller.role);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// The highest election id of a role's streams but one.
    fn highest_of_others(&self, role: &str, stream: StreamId) -> Option<u128> {
        let others = self
            .streams
            .iter()
            .filter(|(id, other)| **id != stream && other.role == role);
        others.filter_map(|(_, other)| other.election).max()
    }

    /// A role loses its primary. The next primary is the one that claims it next; as BMv2, the controller of the role with the highest
    /// election id follows at once.
    fn end_primary(&mut self, name: &str) {
        let of_role = self.streams.iter().filter(|(_, controller)| controller.role == name);
        let highest = of_role
            .filter_map(|(stream, controller)| Some((controller.election?, *stream)))
            .max();
        let Some(role) = self.roles.get_mut(name) else {
            return;
        };
        role.primary = None;
        if self.forgets_ids {
            role.highest = highest.map(|(election, _)| election);
            role.primary = highest.map(|(_, stream)| stream);
        }
    }

    /// The role of a request that changes something. While the role has no primary, a request without an election id is
    /// accepted, so that scripts can write to a switch that no controller manages; one with an election id is not,
    /// since its sender has lost its role.
    ///
    /// # Errors
    /// `NOT_FOUND` for another device or an unknown role, `PERMISSION_DENIED` when the sender is not the primary.
    pub(crate) fn primary_role(
        &self,
        device_id: u64,
        role: &str,
        election: Option<Uint128>,
    ) -> Result<&RoleConfig, Error> {
        self.check_device(device_id)?;
        let found = self.roles.get(role);
        if found.is_none() && !role.is_empty() {
            return Err(Error::not_found(format!("there is no role `{role}`")));
        }
        let primary = found.and_then(|found| found.primary.map(|primary| (found, primary)));
        let Some((found, primary)) = primary else {
            return match election {
                None => Ok(found.map_or(&self.untouched, |found| &found.config)),
                Some(_) => Err(Error::denied(match found.and_then(|found| found.highest) {
                    None => {
                        "there is no primary controller: open a stream and send an election id first, or leave it out"
                            .to_string()
                    }
                    Some(highest) => format!("{}; a request may leave it out", no_primary(highest)),
                })),
            };
        };
        let of_primary = self.streams.get(&primary).and_then(|controller| controller.election);
        if election.map(number) == of_primary {
            Ok(&found.config)
        } else {
            Err(Error::denied(
                "only the primary controller may do this; its election id is another",
            ))
        }
    }

    /// The configuration of a role that reads.
    ///
    /// # Errors
    /// `NOT_FOUND` for an unknown role.
    pub(crate) fn reader(&self, role: &str) -> Result<Option<&RoleConfig>, Error> {
        match (role, self.roles.get(role)) {
            ("", _) => Ok(None),
            (_, Some(found)) => Ok(Some(&found.config)),
            (_, None) => Err(Error::not_found(format!("there is no role `{role}`"))),
        }
    }

    /// Refuses other devices.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn check_device(&self, device_id: u64) -> Result<(), Error> {
        if device_id == self.device_id {
            Ok(())
        } else {
            Err(Error::not_found(format!(
                "there is no device {device_id}; there is {}",
                self.device_id
            )))
        }
    }

    /// The configuration of the role whose primary a stream is.
    pub(crate) fn primary_on(&self, stream: StreamId) -> Option<&RoleConfig> {
        let role = self.roles.get(&self.streams.get(&stream)?.role)?;
        (role.primary == Some(stream)).then_some(&role.config)
    }

    /// The primaries of all roles.
    pub(crate) fn primaries(&self) -> impl Iterator<Item = (StreamId, &RoleConfig)> {
        self.roles
            .values()
            .filter_map(|role| Some((role.primary?, &role.config)))
    }

    /// Tells all controllers of a role who is primary, the primary last.
    fn notices(&self, role: &str) -> Vec<Notice> {
        let of_role = self.streams.iter().filter(|(_, controller)| controller.role == role);
        let mut streams: Vec<StreamId> = of_role.map(|(stream, _)| *stream).collect();
        let primary = self.roles.get(role).and_then(|role| role.primary);
        streams.sort_by_key(|stream| Some(*stream) == primary);
        streams
            .into_iter()
            .map(|stream| (stream, self.notice(role, stream)))
            .collect()
    }

    fn notice(&self, name: &str, stream: StreamId) -> MasterArbitrationUpdate {
        let role = self.roles.get(name);
        let primary = role.and_then(|role| role.primary);
        let highest = role.and_then(|role| role.highest);
        let (code, text) = match primary {
            Some(primary) if primary == stream => (Code::Ok, "you are primary".to_string()),
            Some(_) => (Code::AlreadyExists, "another controller is primary".to_string()),
            None => (
                Code::NotFound,
                highest.map_or_else(|| "there is no primary controller".to_string(), no_primary),
            ),
        };
        let config = role.and_then(|role| role.config.sent.clone());
        let is_default = name.is_empty() && config.is_none();
        MasterArbitrationUpdate {
            device_id: self.device_id,
            role: (!is_default).then(|| RoleMessage {
                name: name.to_string(),
                config,
                ..RoleMessage::default()
            }),
            election_id: highest.map(message),
            status: Some(Status {
                code: code as i32,
                message: text,
                details: Vec::new(),
            }),
        }
    }
}
