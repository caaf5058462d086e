//! Access control: rights of certificates, and of users of this machine.
//!
//! Roles and election ids (P4Runtime §5) decide which controller writes. Each controller chooses its own, so they
//! protect against mistakes, not against attacks. The operator grants rights to names that TLS or the operating system
//! has verified.
//!
//! | right | what it allows |
//! |---|---|
//! | read | Read, Get, Subscribe, streams that are not primary |
//! | write | besides: being primary, Write, packets to the switch |
//! | push | besides: another program |
//! | admin | besides: disabling ports (gNMI Set) |
//!
//! Without any grant, every client that can connect may do everything.

use crate::calls;
use crate::certificate;
use crate::connections::Peer;
use forebay_protocol::p4::v1::MasterArbitrationUpdate;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use tonic::transport::server::TlsConnectInfo;
use tonic::{Extensions, Status};

/// A right; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To read.
    Read,
    /// To change the forwarding state, and to send packets.
    Write,
    /// To push a program.
    Push,
    /// To disable ports.
    Admin,
}

impl fmt::Display for Right {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Right::Read => "read",
            Right::Write => "write",
            Right::Push => "push",
            Right::Admin => "admin",
        })
    }
}

/// Whom a grant is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Every client that can connect.
    Anyone,
    /// Clients whose certificate has this common name or alternative name.
    Certificate(String),
    /// The user of this machine with this number, over a socket of the file system.
    User(u32),
}

/// A right of a subject: `SUBJECT=RIGHT` or `SUBJECT=RIGHT:ROLE,ROLE`, where `-` is the role without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The clients that have it.
    pub subject: Subject,
    /// What they may do.
    pub right: Right,
    /// The roles that they may take part in; none for all.
    pub roles: Option<BTreeSet<String>>,
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Grant, String> {
        let expected = || {
            "expected SUBJECT=RIGHT, for example ops.example=admin or viewer.example=read:viewer; SUBJECT is a name in a \
             certificate, `uid:N` or `anyone`, RIGHT is read, write, push or admin"
                .to_string()
        };
        let (subject, rest) = text.rsplit_once('=').ok_or_else(expected)?;
        let (right, roles) = match rest.split_once(':') {
            Some((right, roles)) => (right, Some(roles)),
            None => (rest, None),
        };
        let right = match right {
            "read" => Right::Read,
            "write" => Right::Write,
            "push" => Right::Push,
            "admin" => Right::Admin,
            _ => return Err(expected()),
        };
        let subject = match (subject, subject.strip_prefix("uid:")) {
            ("", _) => return Err(expected()),
            ("anyone", _) => Subject::Anyone,
            (_, Some(number)) => Subject::User(number.parse().map_err(|_| expected())?),
            (name, None) => Subject::Certificate(name.to_string()),
        };
        let role = |name: &str| if name == "-" { String::new() } else { name.to_string() };
        let roles = roles.map(|roles| roles.split(',').map(role).collect());
        Ok(Grant { subject, right, roles })
    }
}

/// The rights of all clients.
#[derive(Clone, Debug, Default)]
pub struct Access {
    grants: Vec<Grant>,
}

/// What one peer may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Permissions {
    /// Grants for it; none when there are no grants at all, and everything is allowed.
    granted: Option<Vec<(Right, Option<BTreeSet<String>>)>>,
}

impl Access {
    /// Rights as these grants say.
    pub fn new(grants: Vec<Grant>) -> Access {
        Access { grants }
    }

    /// Whether every client may do everything.
    pub fn is_open(&self) -> bool {
        self.grants.is_empty()
    }

    /// Whether rights belong to certificates, so that controllers must have some.
    pub fn needs_certificates(&self) -> bool {
        let mut grants = self.grants.iter();
        grants.any(|grant| matches!(grant.subject, Subject::Certificate(_)))
    }

    /// What the sender of a call may do.
    pub(crate) fn of_call(&self, extensions: &Extensions) -> Permissions {
        if self.grants.is_empty() {
            return Permissions::default();
        }
        let certificates = extensions
            .get::<TlsConnectInfo<Peer>>()
            .and_then(TlsConnectInfo::peer_certs);
        let own = certificates.as_ref().and_then(|certificates| certificates.first());
        let names = own.map(|own| certificate::names(own)).unwrap_or_default();
        let user = calls::peer(extensions).and_then(|peer| peer.user);
        self.of(&names, user)
    }

    fn of(&self, names: &[String], user: Option<u32>) -> Permissions {
        let is_meant = |subject: &Subject| match subject {
            Subject::Anyone => true,
            Subject::Certificate(name) => names.contains(name),
            Subject::User(number) => user == Some(*number),
        };
        let granted = self.grants.iter().filter(|grant| is_meant(&grant.subject));
        Permissions {
            granted: Some(granted.map(|grant| (grant.right, grant.roles.clone())).collect()),
        }
    }
}

impl Permissions {
    /// # Errors
    /// `PERMISSION_DENIED` without this right.
    pub(crate) fn check(&self, right: Right) -> Result<(), Status> {
        self.check_role(right, None)
    }

    /// The same for what is done in a role.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` without this right in this role.
    pub(crate) fn check_role(&self, right: Right, role: Option<&str>) -> Result<(), Status> {
        let Some(granted) = &self.granted else { return Ok(()) };
        let covers = |roles: &Option<BTreeSet<String>>| match (roles, role) {
            (Some(roles), Some(role)) => roles.contains(role),
            _ => true,
        };
        if granted.iter().any(|(has, roles)| *has >= right && covers(roles)) {
            Ok(())
        } else {
            let enough = granted.iter().filter(|(has, _)| *has >= right);
            let roles = enough.filter_map(|(_, roles)| roles.as_ref()).flatten();
            Err(denied(right, role, roles.filter(|role| !role.is_empty()).collect()))
        }
    }

    /// Checks whether a client may claim a role. A primary needs the right to write, unless the role was granted to it
    /// by name.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` when it may not.
    pub(crate) fn check_claim(&self, claim: &MasterArbitrationUpdate) -> Result<(), Status> {
        let role = claim.role.as_ref().map_or("", |role| &role.name);
        let Some(granted) = &self.granted else { return Ok(()) };
        let is_named = |roles: &Option<BTreeSet<String>>| roles.as_ref().is_some_and(|roles| roles.contains(role));
        match claim.election_id {
            Some(_) if granted.iter().any(|(_, roles)| is_named(roles)) => Ok(()),
            Some(_) => self.check_role(Right::Write, Some(role)),
            None => self.check_role(Right::Read, Some(role)),
        }
    }
}

/// `given_in`: the roles in which the client has the right.
fn denied(right: Right, role: Option<&str>, given_in: BTreeSet<&String>) -> Status {
    let in_role = match role {
        None => String::new(),
        Some("") => " in the role without a name".to_string(),
        Some(role) => format!(" in role `{role}`"),
    };
    let names: Vec<String> = given_in.into_iter().map(|role| format!("`{role}`")).collect();
    let advice = match names.as_slice() {
        [] => String::new(),
        names => format!(
            "; you have it in role {}: claim that one (`forebay ctl --role`)",
            names.join(", ")
        ),
    };
    Status::permission_denied(format!(
        "this needs the right `{right}`{in_role}, which the operator has not given you{advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::v1::{Role, Uint128};

    fn access(grants: &[&str]) -> Access {
        Access::new(grants.iter().map(|grant| grant.parse().unwrap()).collect())
    }

    fn claim(role: &str, election: Option<u64>) -> MasterArbitrationUpdate {
        MasterArbitrationUpdate {
            role: Some(Role {
                name: role.to_string(),
                ..Role::default()
            }),
            election_id: election.map(|low| Uint128 { high: 0, low }),
            ..MasterArbitrationUpdate::default()
        }
    }

    #[test]
    fn without_grants_everything_is_allowed() {
        let all = Access::default().of_call(&Extensions::default());
        assert!(all.check(Right::Admin).is_ok() && all.check_claim(&claim("x", Some(1))).is_ok());
    }

    #[test]
    fn rights_include_those_before_them() {
        let access = access(&["ops=admin", "pusher=push", "viewer=read", "uid:7=write"]);
        let of = |name: &str| access.of(&[name.to_string()], None);
        assert!(of("ops").check(Right::Admin).is_ok());
        assert!(of("pusher").check(Right::Push).is_ok() && of("pusher").check(Right::Admin).is_err());
        assert!(of("viewer").check(Right::Read).is_ok() && of("viewer").check(Right::Write).is_err());
        assert!(of("stranger").check(Right::Read).is_err());
        assert!(
            access.of(&[], Some(7)).check(Right::Write).is_ok() && access.of(&[], Some(8)).check(Right::Read).is_err()
        );
    }

    #[test]
    fn roles_are_those_that_were_given() {
        let access = access(&["viewer=read:viewer", "app=write:app,-", "other=read"]);
        let of = |name: &str| access.of(&[name.to_string()], None);
        let viewer = of("viewer");
        assert!(viewer.check_claim(&claim("viewer", Some(1))).is_ok());
        assert!(viewer.check_claim(&claim("", Some(1))).is_err() && viewer.check_claim(&claim("", None)).is_err());
        let elsewhere = viewer.check_claim(&claim("", None)).unwrap_err();
        assert!(
            elsewhere.message().contains("in role `viewer`: claim that one"),
            "{elsewhere}"
        );
        let nowhere = viewer.check_role(Right::Write, Some("viewer")).unwrap_err();
        assert!(nowhere.message().ends_with("has not given you"), "{nowhere}");
        assert!(of("app").check_role(Right::Write, Some("")).is_ok());
        assert!(of("app").check_role(Right::Write, Some("else")).is_err());
        assert!(
            of("other").check_claim(&claim("x", None)).is_ok()
                && of("other").check_claim(&claim("x", Some(1))).is_err()
        );
    }

    #[test]
    fn grants_are_read() {
        let grant: Grant = "CN=a=read:x,-".parse().unwrap();
        assert_eq!(grant.subject, Subject::Certificate("CN=a".to_string()));
        assert_eq!(grant.roles, Some(["x".to_string(), String::new()].into()));
        for bad in ["", "x", "=read", "x=", "x=all", "uid:x=read"] {
            assert!(bad.parse::<Grant>().is_err(), "{bad}");
        }
    }
}
