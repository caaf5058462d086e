//! Multicast nodes and groups, and clone sessions.
//!
//! A group of BMv2 is a list of nodes, each a replication id with ports and link aggregation groups, and a clone
//! session may name a multicast group. P4Runtime has finished lists of replicas, so whatever depends on a change is
//! written again.
//!
//! A node sends one copy to each link aggregation group. BMv2 takes the same member for every packet, the one that a
//! hash of 255 picks (`simple_pre_lag.cpp`), and so it is here.

use crate::codes::{Failure, Family, INVALID_L1_HANDLE, INVALID_MGID, SESSION_NOT_FOUND};
use crate::runtime::{Runtime, update};
use crate::switch::Switch;
use forebay_p4runtime::{Code, Error};
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Entry;
use forebay_protocol::p4::v1::replica::PortKind;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{CloneSessionEntry, MulticastGroupEntry, PacketReplicationEngineEntry, Replica, Update};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where the clones of a session go: to a port, where the packets of a multicast group go, or to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The port.
    pub port: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

impl Target {
    /// One clone to a port.
    pub fn port(port: u32) -> Target {
        Target {
            port: Some(port),
            group: None,
        }
    }

    /// A clone for each member of a group.
    pub fn group(group: u32) -> Target {
        Target {
            port: None,
            group: Some(group),
        }
    }
}

/// The largest number of a link aggregation group.
const LAG_MAX: u32 = 256;
/// What BMv2 has in place of a packet's hash.
const LAG_HASH: usize = 255;

#[derive(Clone, Debug)]
struct Node {
    rid: u32,
    ports: BTreeSet<u32>,
    lags: BTreeSet<u32>,
    /// Whether it was made for a group of another interface, and goes with it unless it has been used since.
    is_taken_in: bool,
}

/// A node as it is shown.
pub(crate) struct NodeAbout {
    pub(crate) handle: u32,
    pub(crate) rid: u32,
    pub(crate) ports: Vec<u32>,
    pub(crate) lags: Vec<u32>,
}

/// What has been configured through this interface.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replication {
    nodes: BTreeMap<u32, Node>,
    /// Nodes of a group in the order of their association.
    groups: BTreeMap<u32, Vec<u32>>,
    /// Ports of link aggregation groups.
    lags: BTreeMap<u32, BTreeSet<u32>>,
    sessions: BTreeMap<u32, Session>,
    /// Groups of which another interface has said what nodes do not: metadata, or backups of replicas.
    noted: BTreeMap<u32, MulticastGroupEntry>,
}

/// A clone session, with the replicas that were written for it: while it has these, no other interface has changed it.
#[derive(Clone, Debug)]
struct Session {
    target: Target,
    written: Vec<(u32, u32)>,
}

impl Session {
    fn is(&self, found: &CloneSessionEntry) -> bool {
        places(&found.replicas) == self.written && found.packet_length_bytes == 0 && found.class_of_service == 0
    }
}

impl Replication {
    fn node(&mut self, handle: i32) -> Result<&mut Node, Failure> {
        let node = self.nodes.get_mut(&(handle as u32));
        node.ok_or_else(|| INVALID_L1_HANDLE.because(format!("there is no node {handle}")))
    }

    fn group(&mut self, group: i32) -> Result<&mut Vec<u32>, Failure> {
        let nodes = self.groups.get_mut(&(group as u32));
        nodes.ok_or_else(|| INVALID_MGID.because(format!("there is no multicast group {group}")))
    }

    fn replicas(&self, group: u32) -> Vec<Replica> {
        let nodes = self.groups.get(&group).into_iter().flatten();
        let nodes = nodes.filter_map(|handle| self.nodes.get(handle));
        let ports = |node: &Node| {
            let of_lags = node.lags.iter().filter_map(|lag| self.port_of_lag(*lag));
            node.ports.iter().copied().chain(of_lags).collect::<Vec<_>>()
        };
        nodes
            .flat_map(|node| ports(node).into_iter().map(|port| replica(port, node.rid)))
            .collect()
    }

    /// A group as its nodes make it, with what else was said of it and of the replicas that it keeps.
    fn as_written(&self, group: u32) -> MulticastGroupEntry {
        let mut replicas = self.replicas(group);
        let noted = self.noted.get(&group);
        let mut with_backups: Vec<&Replica> = noted.into_iter().flat_map(|noted| &noted.replicas).collect();
        with_backups.retain(|replica| !replica.backup_replicas.is_empty());
        for replica in &mut replicas {
            let place = (replica.instance, port_of(replica));
            let is_same = |noted: &&Replica| (noted.instance, port_of(noted)) == place;
            if let Some(found) = with_backups.iter().position(is_same) {
                replica.backup_replicas = with_backups.swap_remove(found).backup_replicas.clone();
            }
        }
        MulticastGroupEntry {
            multicast_group_id: group,
            replicas,
            metadata: noted.map_or(Vec::new(), |noted| noted.metadata.clone()),
        }
    }

    /// The member of a link aggregation group that gets packets.
    fn port_of_lag(&self, lag: u32) -> Option<u32> {
        let members = self.lags.get(&lag).filter(|members| !members.is_empty())?;
        members.iter().nth(LAG_HASH % members.len()).copied()
    }

    fn session_replicas(&self, target: Target) -> Vec<Replica> {
        let to_port = target.port.map(|port| replica(port, 0));
        let to_group = target.group.map_or(Vec::new(), |group| self.replicas(group));
        to_port.into_iter().chain(to_group).collect()
    }

    /// The updates that bring these groups, and the sessions that name them, up to date.
    fn refreshed(&self, groups: &[u32]) -> Vec<Update> {
        let of_groups = groups
            .iter()
            .map(|group| update(Type::Modify, entry(Entry::MulticastGroupEntry(self.as_written(*group)))));
        let of_sessions = self
            .dependent(groups)
            .map(|(id, target)| update(Type::Modify, session_entry(id, self.session_replicas(target))));
        of_groups.chain(of_sessions).collect()
    }

    /// The sessions that name one of these groups.
    fn dependent(&self, groups: &[u32]) -> impl Iterator<Item = (u32, Target)> {
        let depends = move |target: Target| target.group.is_some_and(|group| groups.contains(&group));
        let sessions = self.sessions.iter().map(|(id, session)| (*id, session.target));
        sessions.filter(move |(_, target)| depends(*target))
    }

    /// The updates that bring these groups up to date have been done.
    fn note_refreshed(&mut self, groups: &[u32]) {
        let dependent: Vec<(u32, Target)> = self.dependent(groups).collect();
        for (id, target) in dependent {
            self.note_session(id, target);
        }
    }

    /// A session was written.
    fn note_session(&mut self, id: u32, target: Target) {
        let written = places(&self.session_replicas(target));
        self.sessions.insert(id, Session { target, written });
    }

    /// Takes in what another interface has done to groups.
    fn look_at(&mut self, mut found: BTreeMap<u32, MulticastGroupEntry>) {
        let replicas = found.iter().map(|(group, entry)| (*group, entry.replicas.clone()));
        self.take_in(&replicas.collect());
        let has_backups = |replica: &Replica| !replica.backup_replicas.is_empty();
        found.retain(|_, entry| !entry.metadata.is_empty() || entry.replicas.iter().any(has_backups));
        self.noted = found;
    }

    /// Where a group does not have the replicas that its nodes make, it gets new nodes, one for each instance, and more
    /// for copies that are made more than once.
    fn take_in(&mut self, found: &BTreeMap<u32, Vec<Replica>>) {
        self.groups.retain(|group, _| found.contains_key(group));
        self.drop_unused();
        for (group, replicas) in found {
            let is_known = self.groups.contains_key(group);
            if is_known && places(&self.replicas(*group)) == places(replicas) {
                continue;
            }
            self.groups.remove(group);
            self.drop_unused();
            // A copy that is made twice is one of two nodes.
            let mut by_instance: BTreeMap<(u32, usize), BTreeSet<u32>> = BTreeMap::new();
            for same in places(replicas).chunk_by(|place, next| place == next) {
                for (nth, (instance, port)) in same.iter().enumerate() {
                    by_instance.entry((*instance, nth)).or_default().insert(*port);
                }
            }
            let nodes = by_instance.into_iter().map(|((rid, _), ports)| Node {
                rid,
                ports,
                lags: BTreeSet::new(),
                is_taken_in: true,
            });
            let handles = nodes.map(|node| self.add(node)).collect();
            self.groups.insert(*group, handles);
        }
    }

    /// Nodes that were made for a group of another interface go with it.
    fn drop_unused(&mut self) {
        if self.nodes.values().any(|node| node.is_taken_in) {
            let used: BTreeSet<u32> = self.groups.values().flatten().copied().collect();
            self.nodes
                .retain(|handle, node| !node.is_taken_in || used.contains(handle));
        }
    }

    /// Adds a node under the lowest free handle.
    fn add(&mut self, node: Node) -> u32 {
        let taken = (0..).zip(self.nodes.keys()).find(|(free, taken)| free != *taken);
        let handle = taken.map_or(self.nodes.len() as u32, |(free, _)| free);
        self.nodes.insert(handle, node);
        handle
    }

    fn groups_with_lag(&self, lag: u32) -> Vec<u32> {
        let has_lag = |node: &u32| self.nodes.get(node).is_some_and(|node| node.lags.contains(&lag));
        let groups = self.groups.iter().filter(|(_, nodes)| nodes.iter().any(has_lag));
        groups.map(|(group, _)| *group).collect()
    }

    fn groups_with(&self, node: i32) -> Vec<u32> {
        let groups = self.groups.iter().filter(|(_, nodes)| nodes.contains(&(node as u32)));
        groups.map(|(group, _)| *group).collect()
    }
}

fn replica(port: u32, instance: u32) -> Replica {
    let bytes = port.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count().min(3);
    Replica {
        instance,
        port_kind: Some(PortKind::Port(bytes[zeros..].to_vec())),
        ..Replica::default()
    }
}

fn group_entry(group: u32, replicas: Vec<Replica>) -> Kind {
    entry(Entry::MulticastGroupEntry(MulticastGroupEntry {
        multicast_group_id: group,
        replicas,
        ..MulticastGroupEntry::default()
    }))
}

fn session_entry(session: u32, replicas: Vec<Replica>) -> Kind {
    entry(Entry::CloneSessionEntry(CloneSessionEntry {
        session_id: session,
        replicas,
        ..CloneSessionEntry::default()
    }))
}

fn entry(entry: Entry) -> Kind {
    Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(entry) })
}

impl<S: Switch> Runtime<S> {
    /// Groups may have been written over P4Runtime, which knows no nodes, and sessions too, which are none of ours then.
    pub(crate) fn look_at_groups(&mut self) -> Result<(), Failure> {
        if !self.replication.sessions.is_empty() {
            let present = self.clone_sessions()?;
            let is_own = |id: &u32, session: &Session| present.get(id).is_some_and(|found| session.is(found));
            self.replication.sessions.retain(|id, session| is_own(id, session));
        }
        let read = self.read(Family::Replication, group_entry(0, Vec::new()))?;
        let groups = read.into_iter().filter_map(|kind| match kind {
            Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                r#type: Some(Entry::MulticastGroupEntry(found)),
            }) => Some((found.multicast_group_id, found)),
            _ => None,
        });
        self.replication.look_at(groups.collect());
        Ok(())
    }

    /// Makes an empty multicast group.
    ///
    /// # Errors
    /// When there is one of this number, or it is none.
    pub fn create_group_of_nodes(&mut self, group: i32) -> Result<(), Failure> {
        let kind = group_entry(group as u32, Vec::new());
        self.write_one(Family::Replication, Type::Insert, kind)?;
        self.replication.groups.insert(group as u32, Vec::new());
        Ok(())
    }

    /// Deletes a multicast group.
    ///
    /// # Errors
    /// When there is none.
    pub fn destroy_group_of_nodes(&mut self, group: i32) -> Result<(), Failure> {
        self.look_at_groups()?;
        let kind = group_entry(group as u32, Vec::new());
        self.write_one(Family::Replication, Type::Delete, kind)?;
        self.replication.groups.remove(&(group as u32));
        let updates = self.replication.refreshed(&[group as u32]);
        // The group itself is gone.
        self.write(Family::Replication, &updates[1..])?;
        self.replication.note_refreshed(&[group as u32]);
        Ok(())
    }

    /// Makes a node of ports and link aggregation groups; gives its handle.
    pub fn create_node(&mut self, rid: i32, ports: &[u32], lags: &[u32]) -> i32 {
        let node = Node {
            rid: rid as u32 & 0xffff,
            ports: ports.iter().copied().collect(),
            lags: lags.iter().copied().collect(),
            is_taken_in: false,
        };
        self.replication.add(node) as i32
    }

    /// Changes the ports and link aggregation groups of a node.
    ///
    /// # Errors
    /// When there is none, or a port cannot be.
    pub fn update_node(&mut self, handle: i32, ports: &[u32], lags: &[u32]) -> Result<(), Failure> {
        self.look_at_groups()?;
        let mut changed = self.replication.clone();
        let node = changed.node(handle)?;
        node.ports = ports.iter().copied().collect();
        node.lags = lags.iter().copied().collect();
        node.is_taken_in = false;
        let groups = changed.groups_with(handle);
        self.take_over(changed, &groups)
    }

    /// Sets the ports of a link aggregation group.
    ///
    /// # Errors
    /// When there is none of this number, or a port cannot be.
    pub fn set_lag(&mut self, lag: u32, ports: &[u32]) -> Result<(), Failure> {
        self.look_at_groups()?;
        if lag > LAG_MAX {
            let message = format!("link aggregation groups have the numbers 0 to {LAG_MAX}, not {lag}");
            let code = Code::OutOfRange;
            return Err(Failure::refused(Family::Replication, &Error { code, message }));
        }
        let mut changed = self.replication.clone();
        changed.lags.insert(lag, ports.iter().copied().collect());
        let groups = changed.groups_with_lag(lag);
        self.take_over(changed, &groups)
    }

    /// Deletes a node, out of all groups.
    ///
    /// # Errors
    /// When there is none.
    pub fn destroy_node(&mut self, handle: i32) -> Result<(), Failure> {
        self.look_at_groups()?;
        let mut changed = self.replication.clone();
        changed.node(handle)?;
        let groups = changed.groups_with(handle);
        changed.nodes.remove(&(handle as u32));
        changed
            .groups
            .values_mut()
            .for_each(|nodes| nodes.retain(|node| *node != handle as u32));
        self.take_over(changed, &groups)
    }

    /// Adds a node to a group.
    ///
    /// # Errors
    /// When there is no such node or group, or it is in it already.
    pub fn associate_node(&mut self, group: i32, handle: i32) -> Result<(), Failure> {
        self.look_at_groups()?;
        let mut changed = self.replication.clone();
        changed.node(handle)?.is_taken_in = false;
        let nodes = changed.group(group)?;
        if nodes.contains(&(handle as u32)) {
            return Err(INVALID_L1_HANDLE.because(format!("node {handle} is in group {group} already")));
        }
        nodes.push(handle as u32);
        self.take_over(changed, &[group as u32])
    }

    /// Takes a node out of a group.
    ///
    /// # Errors
    /// When it is not in it.
    pub fn dissociate_node(&mut self, group: i32, handle: i32) -> Result<(), Failure> {
        self.look_at_groups()?;
        let mut changed = self.replication.clone();
        changed.node(handle)?.is_taken_in = false;
        let nodes = changed.group(group)?;
        let place = nodes.iter().position(|node| *node == handle as u32);
        let place = place.ok_or_else(|| INVALID_L1_HANDLE.because(format!("node {handle} is not in group {group}")))?;
        nodes.remove(place);
        self.take_over(changed, &[group as u32])
    }

    fn take_over(&mut self, changed: Replication, groups: &[u32]) -> Result<(), Failure> {
        self.write(Family::Replication, &changed.refreshed(groups))?;
        self.replication = changed;
        self.replication.note_refreshed(groups);
        Ok(())
    }

    /// Makes a clone session, or changes where its clones go.
    ///
    /// # Errors
    /// When it has no such number, or there is no such port.
    pub fn set_session(&mut self, session: i32, target: Target) -> Result<(), Failure> {
        if target.group.is_some() {
            self.look_at_groups()?;
        }
        let kind = session_entry(session as u32, self.replication.session_replicas(target));
        let exists = self.clone_sessions()?.contains_key(&(session as u32));
        let how = if exists { Type::Modify } else { Type::Insert };
        self.write_one(Family::Mirroring, how, kind)?;
        self.replication.note_session(session as u32, target);
        Ok(())
    }

    /// Deletes a clone session.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete_session(&mut self, session: i32) -> Result<(), Failure> {
        self.write_one(
            Family::Mirroring,
            Type::Delete,
            session_entry(session as u32, Vec::new()),
        )?;
        self.replication.sessions.remove(&(session as u32));
        Ok(())
    }

    /// Where the clones of a session go.
    ///
    /// # Errors
    /// When there is none.
    pub fn session(&self, session: i32) -> Result<Target, Failure> {
        let none = || SESSION_NOT_FOUND.because(format!("there is no clone session {session}"));
        let found = self.clone_sessions()?.remove(&(session as u32)).ok_or_else(none)?;
        let own = self.replication.sessions.get(&(session as u32));
        Ok(match own.filter(|own| own.is(&found)) {
            Some(own) => own.target,
            None => Target::port(found.replicas.first().map_or(0, port_of)),
        })
    }

    /// The clone sessions that there are.
    fn clone_sessions(&self) -> Result<BTreeMap<u32, CloneSessionEntry>, Failure> {
        let read = self.read(Family::Mirroring, session_entry(0, Vec::new()))?;
        let sessions = read.into_iter().filter_map(|kind| match kind {
            Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry {
                r#type: Some(Entry::CloneSessionEntry(found)),
            }) => Some((found.session_id, found)),
            _ => None,
        });
        Ok(sessions.collect())
    }

    /// Deletes all multicast groups, nodes and link aggregation groups.
    pub(crate) fn reset_multicast(&mut self) -> Result<(), Failure> {
        self.look_at_groups()?;
        let groups: Vec<u32> = self.replication.groups.keys().copied().collect();
        groups
            .into_iter()
            .try_for_each(|group| self.destroy_group_of_nodes(group as i32))?;
        self.replication = Replication {
            sessions: std::mem::take(&mut self.replication.sessions),
            ..Replication::default()
        };
        Ok(())
    }

    /// Each group with its nodes.
    pub(crate) fn groups_and_nodes(&mut self) -> Result<Vec<(u32, Vec<NodeAbout>)>, Failure> {
        self.look_at_groups()?;
        let node = |handle: &u32| {
            let node = self.replication.nodes.get(handle)?;
            Some(NodeAbout {
                handle: *handle,
                rid: node.rid,
                ports: node.ports.iter().copied().collect(),
                lags: node.lags.iter().copied().collect(),
            })
        };
        let groups = self.replication.groups.iter();
        Ok(groups
            .map(|(group, nodes)| (*group, nodes.iter().filter_map(node).collect()))
            .collect())
    }

    /// Link aggregation groups with their ports.
    pub(crate) fn lags(&self) -> impl Iterator<Item = (u32, &BTreeSet<u32>)> {
        self.replication.lags.iter().map(|(lag, ports)| (*lag, ports))
    }

    /// Nodes and groups, as BMv2 writes them down.
    ///
    /// # Errors
    /// When groups cannot be read.
    pub fn replication_as_json(&mut self) -> Result<Value, Failure> {
        self.look_at_groups()?;
        let Replication {
            nodes, groups, lags, ..
        } = &self.replication;
        let groups = groups.iter().map(|(id, nodes)| json!({"id": id, "l1_handles": nodes}));
        let heads = nodes
            .iter()
            .map(|(handle, node)| json!({"handle": handle, "rid": node.rid, "l2_handle": handle}));
        let ports = nodes
            .iter()
            .map(|(handle, node)| json!({"handle": handle, "ports": node.ports, "lags": node.lags}));
        let lags = lags.iter().map(|(id, ports)| json!({"id": id, "ports": ports}));
        Ok(json!({
            "mgrps": groups.collect::<Vec<_>>(),
            "l1_handles": heads.collect::<Vec<_>>(),
            "l2_handles": ports.collect::<Vec<_>>(),
            "lags": lags.collect::<Vec<_>>(),
        }))
    }
}

#[allow(deprecated, reason = "old controllers write egress_port")]
fn port_of(replica: &Replica) -> u32 {
    match &replica.port_kind {
        Some(PortKind::Port(bytes)) => bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)),
        Some(PortKind::EgressPort(port)) => *port,
        None => 0,
    }
}

/// Ports with their instances, in an order of their own.
fn places(replicas: &[Replica]) -> Vec<(u32, u32)> {
    let mut places: Vec<_> = replicas
        .iter()
        .map(|replica| (replica.instance, port_of(replica)))
        .collect();
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::v1::{BackupReplica, ForwardingPipelineConfig};

    #[test]
    #[allow(deprecated, reason = "old controllers write egress_port")]
    fn groups_of_another_interface_get_nodes() {
        let mut replication = Replication::default();
        let own = replication.add(Node {
            rid: 7,
            ports: BTreeSet::from([1, 2]),
            lags: BTreeSet::new(),
            is_taken_in: false,
        });
        replication.groups.insert(5, vec![own]);
        let found = |six: &[(u32, u32)]| {
            let replicas = six.iter().map(|(port, instance)| Replica {
                instance: *instance,
                port_kind: Some(PortKind::EgressPort(*port)),
                ..Replica::default()
            });
            BTreeMap::from([(5, vec![replica(2, 7), replica(1, 7)]), (6, replicas.collect())])
        };
        replication.take_in(&found(&[(1, 1), (3, 1), (2, 4)]));
        assert_eq!(replication.groups[&5], [own], "it is as its node makes it");
        let nodes: Vec<_> = replication.groups[&6]
            .iter()
            .map(|node| &replication.nodes[node])
            .collect();
        let said: Vec<_> = nodes.iter().map(|node| (node.rid, node.ports.clone())).collect();
        assert_eq!(said, [(1, BTreeSet::from([1, 3])), (4, BTreeSet::from([2]))]);
        let handles = replication.groups[&6].clone();
        replication.take_in(&found(&[(1, 1), (8, 1), (2, 4)]));
        assert_eq!(replication.groups[&6], handles, "those of before are gone");
        assert_eq!(replication.nodes.len(), 3);
        replication.take_in(&BTreeMap::new());
        assert!(replication.groups.is_empty(), "both were deleted");
        assert_eq!(replication.nodes.keys().copied().collect::<Vec<_>>(), [own]);
    }

    #[test]
    fn metadata_and_backups_of_a_group_stay() {
        let mut replication = Replication::default();
        let backup = BackupReplica {
            port: vec![9],
            instance: 7,
        };
        let with_backup = |port| Replica {
            backup_replicas: vec![backup.clone()],
            ..replica(port, 7)
        };
        let written = MulticastGroupEntry {
            multicast_group_id: 5,
            replicas: vec![with_backup(1), with_backup(2)],
            metadata: b"mine".to_vec(),
        };
        replication.look_at(BTreeMap::from([(5, written)]));
        let node = replication.groups[&5][0];
        replication.nodes.get_mut(&node).expect("the node").ports = BTreeSet::from([2, 3]);
        let expected = MulticastGroupEntry {
            multicast_group_id: 5,
            replicas: vec![with_backup(2), replica(3, 7)],
            metadata: b"mine".to_vec(),
        };
        let expected = update(Type::Modify, entry(Entry::MulticastGroupEntry(expected)));
        assert_eq!(replication.refreshed(&[5]), [expected]);
    }

    /// As after a restart: the switch knows what nodes made, and not the nodes.
    #[test]
    fn copies_that_are_made_twice_are_those_of_two_nodes() {
        let mut replication = Replication::default();
        let found = BTreeMap::from([(5, vec![replica(1, 7), replica(2, 7), replica(1, 7), replica(2, 4)])]);
        replication.take_in(&found);
        assert_eq!(places(&replication.replicas(5)), [(4, 2), (7, 1), (7, 1), (7, 2)]);
        let said: Vec<_> = (replication.groups[&5].iter())
            .map(|node| (replication.nodes[node].rid, replication.nodes[node].ports.clone()))
            .collect();
        let expected = [
            (4, BTreeSet::from([2])),
            (7, BTreeSet::from([1, 2])),
            (7, BTreeSet::from([1])),
        ];
        assert_eq!(said, expected);
    }

    /// Whatever depends on a group is written with it, and a session that is gone cannot be.
    #[test]
    fn sessions_that_another_interface_has_deleted_are_forgotten() {
        let mut runtime = Runtime::new(crate::switch::testing::Idle(ForwardingPipelineConfig::default()));
        runtime.replication.note_session(5, Target::group(1));
        assert_eq!(runtime.look_at_groups(), Ok(()));
        assert!(runtime.replication.sessions.is_empty());
    }

    #[test]
    fn sessions_that_another_interface_has_changed_are_its_own() {
        let mut replication = Replication::default();
        let node = |rid| Node {
            rid,
            ports: BTreeSet::from([2]),
            lags: BTreeSet::new(),
            is_taken_in: false,
        };
        replication.nodes.insert(0, node(3));
        replication.nodes.insert(1, node(4));
        replication.groups.insert(1, vec![0]);
        replication.note_session(5, Target::group(1));
        let found = |replicas: &[Replica], packet_length_bytes| CloneSessionEntry {
            session_id: 5,
            replicas: replicas.to_vec(),
            packet_length_bytes,
            ..CloneSessionEntry::default()
        };
        let is_own = |replication: &Replication, found| replication.sessions[&5].is(&found);
        assert!(is_own(&replication, found(&[replica(2, 3)], 0)));
        assert!(!is_own(&replication, found(&[replica(2, 3)], 64)));
        assert!(!is_own(&replication, found(&[replica(9, 0)], 0)));
        replication.groups.insert(1, vec![0, 1]);
        replication.note_refreshed(&[1]);
        assert!(is_own(&replication, found(&[replica(2, 4), replica(2, 3)], 0)));
    }

    #[test]
    fn a_link_aggregation_group_gets_one_copy() {
        let mut replication = Replication::default();
        let node = |rid, ports: &[u32], lags: &[u32]| Node {
            rid,
            ports: ports.iter().copied().collect(),
            lags: lags.iter().copied().collect(),
            is_taken_in: false,
        };
        replication.nodes.insert(0, node(2, &[1, 5], &[1, 3]));
        replication.nodes.insert(1, node(4, &[8], &[1]));
        replication.groups.insert(7, vec![0, 1]);
        replication.lags.insert(1, BTreeSet::from([6, 9, 12, 20]));
        replication.lags.insert(2, BTreeSet::new());
        let replicas: Vec<(u32, u32)> = (replication.replicas(7).iter())
            .map(|replica| (port_of(replica), replica.instance))
            .collect();
        // 255 mod 4 is 3.
        assert_eq!(replicas, [(1, 2), (5, 2), (20, 2), (8, 4), (20, 4)]);
        assert_eq!(
            (replication.groups_with_lag(1), replication.groups_with_lag(2)),
            (vec![7], vec![])
        );
    }
}
