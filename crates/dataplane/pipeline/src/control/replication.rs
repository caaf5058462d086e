//! Multicast groups and clone sessions.

use crate::control::Batch;
use crate::error::{ControlError, ObjectKind};
use crate::load::Pipeline;
use crate::replication::{CloneSession, Replica, ReplicationEngine};
use forebay_arch::psa::PORT_RECIRCULATE as RECIRCULATION_PORT;
use forebay_ir::Architecture;
use std::sync::Arc;

impl Pipeline {
    /// Adds or replaces a multicast group. Group 0 is not allowed: in `standard_metadata.mcast_grp` it means no group.
    ///
    /// # Errors
    /// For group 0, and when a copy is for PSA's port of recirculation, in a program for another architecture.
    pub fn set_multicast_group(&self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        self.batch(|batch| batch.set_multicast_group(group, replicas))
    }

    /// Removes a multicast group.
    ///
    /// # Errors
    /// When there is no such group.
    pub fn delete_multicast_group(&self, group: u16) -> Result<(), ControlError> {
        self.batch(|batch| batch.delete_multicast_group(group))
    }

    /// Adds or replaces a clone session.
    ///
    /// # Errors
    /// When a copy is for PSA's port of recirculation, in a program for another architecture.
    pub fn set_clone_session(&self, session: u32, config: CloneSession) -> Result<(), ControlError> {
        self.batch(|batch| batch.set_clone_session(session, config))
    }

    /// Removes a clone session.
    ///
    /// # Errors
    /// When there is no such session.
    pub fn delete_clone_session(&self, session: u32) -> Result<(), ControlError> {
        self.batch(|batch| batch.delete_clone_session(session))
    }

    /// The members of a multicast group, if it exists.
    pub fn multicast_group(&self, group: u16) -> Option<Vec<Replica>> {
        self.snapshot().replication.multicast_groups.get(&group).cloned()
    }

    /// All multicast groups in order of their numbers.
    pub fn multicast_groups(&self) -> Vec<(u16, Vec<Replica>)> {
        let snapshot = self.snapshot();
        let groups = snapshot.replication.multicast_groups.iter();
        groups.map(|(group, replicas)| (*group, replicas.clone())).collect()
    }

    /// All clone sessions in order of their numbers.
    pub fn clone_sessions(&self) -> Vec<(u32, CloneSession)> {
        let snapshot = self.snapshot();
        let sessions = snapshot.replication.clone_sessions.iter();
        sessions.map(|(session, config)| (*session, config.clone())).collect()
    }

    /// A clone session, if it exists.
    pub fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.snapshot().replication.clone_sessions.get(&session).cloned()
    }
}

impl Batch<'_> {
    /// See [`Pipeline::set_multicast_group`].
    pub fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        if group == 0 {
            let name = "multicast group 0".to_string();
            return Err(ControlError::Unsuitable {
                name,
                expected: "means no multicast: groups begin at 1",
            });
        }
        self.check_ports(replicas)?;
        self.change_replication(|engine| engine.change_group(group, Some(replicas.to_vec())));
        Ok(())
    }

    /// Checks whether copies may have these ports.
    fn check_ports(&self, replicas: &[Replica]) -> Result<(), ControlError> {
        let is_psa = self.pipeline.program.architecture == Architecture::Psa;
        if !is_psa && replicas.iter().any(|replica| replica.egress_port == RECIRCULATION_PORT) {
            return Err(ControlError::Unsuitable {
                name: format!("port {RECIRCULATION_PORT}"),
                expected: "is PSA's port for recirculation, which this program's architecture has not",
            });
        }
        Ok(())
    }

    /// See [`Pipeline::delete_multicast_group`].
    pub fn delete_multicast_group(&mut self, group: u16) -> Result<(), ControlError> {
        let groups = &self.snapshot().replication.multicast_groups;
        if !groups.contains_key(&group) {
            let known = groups.keys().map(u16::to_string).collect();
            return Err(unknown(ObjectKind::MulticastGroup, group.into(), known));
        }
        self.change_replication(|engine| engine.change_group(group, None));
        Ok(())
    }

    /// See [`Pipeline::set_clone_session`].
    pub fn set_clone_session(&mut self, session: u32, config: CloneSession) -> Result<(), ControlError> {
        self.check_ports(&config.replicas)?;
        self.change_replication(|engine| engine.change_session(session, Some(config)));
        Ok(())
    }

    /// See [`Pipeline::delete_clone_session`].
    pub fn delete_clone_session(&mut self, session: u32) -> Result<(), ControlError> {
        let sessions = &self.snapshot().replication.clone_sessions;
        if !sessions.contains_key(&session) {
            let known = sessions.keys().map(u32::to_string).collect();
            return Err(unknown(ObjectKind::CloneSession, session, known));
        }
        self.change_replication(|engine| engine.change_session(session, None));
        Ok(())
    }

    fn change_replication<R>(&mut self, change: impl FnOnce(&mut ReplicationEngine) -> R) -> R {
        self.change(|snapshot| change(Arc::make_mut(&mut snapshot.replication)))
    }
}

fn unknown(kind: ObjectKind, number: u32, known: Vec<String>) -> ControlError {
    ControlError::Unknown {
        kind,
        name: number.to_string(),
        known,
    }
}
