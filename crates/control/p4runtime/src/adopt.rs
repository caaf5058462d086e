//! What a pipeline holds already when it is first served: controllers read it as if one of them had written it.
//!
//! Table entries, counters, meters, registers and value sets are read from the pipeline anyway; members, groups and
//! sessions from the ledger, so they are noted here.

use crate::entity::action;
use crate::ledger::Ledger;
use crate::schema::{ProfileSchema, Schema};
use crate::status::Error;
use forebay_pipeline::{CloneSession, Pipeline, Replica};
use forebay_protocol::p4::v1::action_profile_group::Member;
use forebay_protocol::p4::v1::replica::PortKind;
use forebay_protocol::p4::v1::{self, ActionProfileGroup, ActionProfileMember, CloneSessionEntry, MulticastGroupEntry};

/// The ledger of a pipeline that was written to by other means than P4Runtime.
pub(crate) fn ledger(schema: &Schema, pipeline: &Pipeline) -> Result<Ledger, Error> {
    let mut ledger = Ledger::default();
    for (id, profile) in &schema.profiles {
        members(&mut ledger, schema, pipeline, *id, profile)?;
        if profile.has_selector {
            groups(&mut ledger, pipeline, *id, profile)?;
        }
    }
    for (number, written) in pipeline.multicast_groups() {
        let group = MulticastGroupEntry {
            multicast_group_id: number.into(),
            replicas: replicas(schema, &written),
            ..MulticastGroupEntry::default()
        };
        ledger.multicast_groups_mut().insert(number.into(), group);
    }
    for (number, written) in pipeline.clone_sessions() {
        ledger
            .clone_sessions_mut()
            .insert(number, clone_session(schema, number, &written));
    }
    Ok(ledger)
}

fn members(
    ledger: &mut Ledger,
    schema: &Schema,
    pipeline: &Pipeline,
    id: u32,
    profile: &ProfileSchema,
) -> Result<(), Error> {
    for (number, call) in pipeline.members(&profile.name)? {
        let member = ActionProfileMember {
            action_profile_id: id,
            member_id: number,
            action: action::write(schema, &call),
        };
        ledger.members_mut().insert((id, number), member);
    }
    Ok(())
}

fn groups(ledger: &mut Ledger, pipeline: &Pipeline, id: u32, profile: &ProfileSchema) -> Result<(), Error> {
    for number in pipeline.groups(&profile.name)? {
        let members = pipeline.group(&profile.name, number)?.into_iter();
        let members = members.map(|(member_id, weight)| Member {
            member_id,
            weight: if profile.weights_disallowed { 0 } else { weight as i32 },
            watch_kind: None,
        });
        let group = ActionProfileGroup {
            action_profile_id: id,
            group_id: number,
            members: members.collect(),
            max_size: profile.max_group_size,
        };
        ledger.groups_mut().insert((id, number), group);
    }
    Ok(())
}

fn clone_session(schema: &Schema, number: u32, written: &CloneSession) -> CloneSessionEntry {
    let length = written.packet_length_bytes.unwrap_or(0);
    CloneSessionEntry {
        session_id: number,
        replicas: replicas(schema, &written.replicas),
        packet_length_bytes: i32::try_from(length).unwrap_or(i32::MAX),
        class_of_service: written.class_of_service.into(),
    }
}

fn replicas(schema: &Schema, written: &[Replica]) -> Vec<v1::Replica> {
    let name = |port: u32| match schema.port_names() {
        Some(names) => names.text(port.into()),
        None => crate::bytestring::write(&forebay_bits::Bits::new(32, port.into())),
    };
    let replicas = written.iter().map(|replica| v1::Replica {
        port_kind: Some(PortKind::Port(name(replica.egress_port))),
        instance: replica.instance.into(),
        ..v1::Replica::default()
    });
    replicas.collect()
}
