//! Multicast nodes, groups and clone sessions as simple_switch_CLI has them, brought to the pipeline's form.
//!
//! On BMv2's command line a group is a list of *nodes*, each a replication id with ports, and a clone session may name
//! a group. A pipeline knows only finished lists of replicas, so after each change whatever depends on it is written
//! anew. A change that the pipeline refuses is taken back.

use forebay_pipeline::{CloneSession, Pipeline, Replica};
use std::collections::{BTreeMap, BTreeSet};

/// A replication id and the ports to copy to.
#[derive(Clone, Debug)]
struct Node {
    rid: u16,
    ports: BTreeSet<u32>,
}

/// Where a session's clones go.
#[derive(Clone, Copy, Debug)]
enum Target {
    Port(u32),
    Group(u32),
}

/// What the test has configured so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replication {
    nodes: Vec<Node>,
    /// Nodes of a group in the order of their association.
    groups: BTreeMap<u32, Vec<usize>>,
    sessions: BTreeMap<u32, (Target, Option<u32>)>,
}

impl Replication {
    pub(crate) fn create_group(&mut self, pipeline: &Pipeline, group: u32) -> Result<(), String> {
        if self.groups.contains_key(&group) {
            return Err(format!("multicast group {group} exists already"));
        }
        self.groups.insert(group, Vec::new());
        let written = self.write_group(pipeline, group);
        if written.is_err() {
            self.groups.remove(&group);
        }
        written
    }

    /// Nodes are numbered from 0 as they come.
    pub(crate) fn create_node(&mut self, rid: u32, ports: &[u32]) -> Result<(), String> {
        let rid = u16::try_from(rid).map_err(|_| format!("replication id {rid} is larger than 65535"))?;
        self.nodes.push(Node {
            rid,
            ports: ports.iter().copied().collect(),
        });
        Ok(())
    }

    pub(crate) fn update_node(&mut self, pipeline: &Pipeline, node: u32, ports: &[u32]) -> Result<(), String> {
        let index = self.node_index(node)?;
        let before = std::mem::replace(&mut self.nodes[index].ports, ports.iter().copied().collect());
        let changed: Vec<u32> = self
            .groups
            .iter()
            .filter(|(_, nodes)| nodes.contains(&index))
            .map(|(group, _)| *group)
            .collect();
        let written = changed
            .into_iter()
            .try_for_each(|group| self.write_group(pipeline, group));
        if written.is_err() {
            self.nodes[index].ports = before;
        }
        written
    }

    pub(crate) fn associate(&mut self, pipeline: &Pipeline, group: u32, node: u32) -> Result<(), String> {
        let index = self.node_index(node)?;
        let nodes = self
            .groups
            .get_mut(&group)
            .ok_or_else(|| format!("there is no multicast group {group}"))?;
        if nodes.contains(&index) {
            return Err(format!("node {node} is in multicast group {group} already"));
        }
        nodes.push(index);
        let written = self.write_group(pipeline, group);
        if written.is_err() {
            self.groups.get_mut(&group).and_then(Vec::pop);
        }
        written
    }

    pub(crate) fn clone_to_port(
        &mut self,
        pipeline: &Pipeline,
        session: u32,
        port: u32,
        truncate: Option<u32>,
    ) -> Result<(), String> {
        self.set_session(pipeline, session, (Target::Port(port), truncate))
    }

    pub(crate) fn clone_to_group(
        &mut self,
        pipeline: &Pipeline,
        session: u32,
        group: u32,
        truncate: Option<u32>,
    ) -> Result<(), String> {
        self.set_session(pipeline, session, (Target::Group(group), truncate))
    }

    fn set_session(&mut self, pipeline: &Pipeline, session: u32, new: (Target, Option<u32>)) -> Result<(), String> {
        let before = self.sessions.insert(session, new);
        let written = self.write_session(pipeline, session);
        if written.is_err() {
            match before {
                Some(before) => self.sessions.insert(session, before),
                None => self.sessions.remove(&session),
            };
        }
        written
    }

    pub(crate) fn delete_session(&mut self, pipeline: &Pipeline, session: u32) -> Result<(), String> {
        self.sessions
            .remove(&session)
            .ok_or_else(|| format!("there is no clone session {session}"))?;
        pipeline
            .delete_clone_session(session)
            .map_err(|error| error.to_string())
    }

    /// The session in words.
    pub(crate) fn describe_session(&self, session: u32) -> Result<String, String> {
        let (target, truncate) = self
            .sessions
            .get(&session)
            .ok_or_else(|| format!("there is no clone session {session}"))?;
        let cut = truncate.map_or(String::new(), |bytes| format!(", at most {bytes} bytes"));
        Ok(match target {
            Target::Port(port) => format!("clone session {session}: port {port}{cut}"),
            Target::Group(group) => format!("clone session {session}: multicast group {group}{cut}"),
        })
    }

    fn node_index(&self, node: u32) -> Result<usize, String> {
        let index = node as usize;
        if index < self.nodes.len() {
            Ok(index)
        } else {
            Err(format!("there is no multicast node {node}"))
        }
    }

    fn replicas(&self, group: u32) -> Vec<Replica> {
        let nodes = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        let nodes = nodes.iter().map(|&index| &self.nodes[index]);
        nodes
            .flat_map(|node| {
                node.ports.iter().map(|&egress_port| Replica {
                    egress_port,
                    instance: node.rid,
                })
            })
            .collect()
    }

    fn write_group(&self, pipeline: &Pipeline, group: u32) -> Result<(), String> {
        let number = u16::try_from(group).map_err(|_| format!("multicast group {group} is larger than 65535"))?;
        pipeline
            .set_multicast_group(number, &self.replicas(group))
            .map_err(|error| error.to_string())?;
        let dependent = |target: &Target| matches!(target, Target::Group(named) if *named == group);
        let sessions = self
            .sessions
            .iter()
            .filter(|(_, (target, _))| dependent(target))
            .map(|(session, _)| *session);
        sessions
            .into_iter()
            .try_for_each(|session| self.write_session(pipeline, session))
    }

    fn write_session(&self, pipeline: &Pipeline, session: u32) -> Result<(), String> {
        let (target, truncate) = self.sessions[&session];
        let mut config = match target {
            Target::Port(port) => CloneSession::to_port(port),
            Target::Group(group) => CloneSession {
                replicas: self.replicas(group),
                ..CloneSession::default()
            },
        };
        config.packet_length_bytes = truncate;
        pipeline
            .set_clone_session(session, config)
            .map_err(|error| error.to_string())
    }
}
