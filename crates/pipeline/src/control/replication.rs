//! Multicast groups and clone sessions.

use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use crate::replication::{CloneSession, Replica, ReplicationEngine};
use std::sync::Arc;

impl Pipeline {
    /// Adds or replaces a multicast group. Group 0 cannot be: in `standard_metadata.mcast_grp` it means none.
    pub fn set_multicast_group(&self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        if group == 0 {
            let name = "multicast group 0".to_string();
            return Err(ControlError::Unsuitable {
                name,
                expected: "means no multicast: groups begin at 1",
            });
        }
        self.change_replication(|engine| engine.multicast_groups.insert(group, replicas.to_vec()));
        Ok(())
    }

    /// Removes a multicast group.
    pub fn delete_multicast_group(&self, group: u16) -> Result<(), ControlError> {
        let removed = self.change_replication(|engine| engine.multicast_groups.remove(&group));
        removed.map(drop).ok_or_else(|| {
            let engine = &self.snapshot().replication;
            unknown(
                ObjectKind::MulticastGroup,
                group.into(),
                engine.multicast_groups.keys().map(u16::to_string).collect(),
            )
        })
    }

    /// The members of a multicast group, if it exists.
    pub fn multicast_group(&self, group: u16) -> Option<Vec<Replica>> {
        self.snapshot().replication.multicast_groups.get(&group).cloned()
    }

    /// Adds or replaces a clone session.
    pub fn set_clone_session(&self, session: u32, config: CloneSession) -> Result<(), ControlError> {
        self.change_replication(|engine| engine.clone_sessions.insert(session, config));
        Ok(())
    }

    /// Removes a clone session.
    pub fn delete_clone_session(&self, session: u32) -> Result<(), ControlError> {
        let removed = self.change_replication(|engine| engine.clone_sessions.remove(&session));
        removed.map(drop).ok_or_else(|| {
            let engine = &self.snapshot().replication;
            unknown(
                ObjectKind::CloneSession,
                session,
                engine.clone_sessions.keys().map(u32::to_string).collect(),
            )
        })
    }

    /// A clone session, if it exists.
    pub fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.snapshot().replication.clone_sessions.get(&session).cloned()
    }

    fn change_replication<R>(&self, change: impl FnOnce(&mut ReplicationEngine) -> R) -> R {
        let mut guard = self.snapshot_mut();
        change(Arc::make_mut(&mut Arc::make_mut(&mut guard).replication))
    }
}

fn unknown(kind: ObjectKind, number: u32, known: Vec<String>) -> ControlError {
    ControlError::Unknown {
        kind,
        name: number.to_string(),
        known,
    }
}
