//! Entities of the forwarding state as records.

use crate::action;
use crate::arguments::time;
use crate::catalog::{Catalog, Named, by_id, element_names};
use crate::data::Shape;
use crate::key::Key;
use crate::listing::{Cell, Record};
use forebay_protocol::p4::config::v1::counter_spec::Unit;
use forebay_protocol::p4::config::v1::{CounterSpec, ValueSet};
use forebay_protocol::p4::v1::action_profile_group::Member;
use forebay_protocol::p4::v1::action_profile_group::member::WatchKind;
use forebay_protocol::p4::v1::entity::Entity as Kind;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::replica::PortKind;
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CloneSessionEntry, CounterData, CounterEntry, DigestEntry, DigestList,
    DirectCounterEntry, DirectMeterEntry, Entity, Index, MeterConfig, MeterCounterData, MeterEntry,
    MulticastGroupEntry, PacketIn, RegisterEntry, Replica, TableEntry, ValueSetEntry, ValueSetMember,
};

/// The records of entities, in their order. A value set has one for each member.
pub fn entities(catalog: &Catalog, entities: &[Entity]) -> Vec<Record> {
    let kinds = entities.iter().filter_map(|entity| entity.entity.as_ref());
    kinds.flat_map(|kind| records(catalog, kind)).collect()
}

fn records(catalog: &Catalog, kind: &Kind) -> Vec<Record> {
    vec![match kind {
        Kind::TableEntry(entry) => table_entry(catalog, entry),
        Kind::CounterEntry(entry) => counter(catalog, entry),
        Kind::DirectCounterEntry(entry) => direct_counter(catalog, entry),
        Kind::MeterEntry(entry) => meter(catalog, entry),
        Kind::DirectMeterEntry(entry) => direct_meter(catalog, entry),
        Kind::RegisterEntry(entry) => register(catalog, entry),
        Kind::ActionProfileMember(member) => profile_member(catalog, member),
        Kind::ActionProfileGroup(group) => profile_group(catalog, group),
        Kind::DigestEntry(entry) => digest(catalog, entry),
        Kind::PacketReplicationEngineEntry(entry) => match &entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => multicast_group(group),
            Some(Replication::CloneSessionEntry(session)) => clone_session(session),
            None => return Vec::new(),
        },
        Kind::ValueSetEntry(entry) => return value_set(catalog, entry),
        Kind::ExternEntry(_) => return Vec::new(),
    }]
}

fn name<T: Named>(id: u32, objects: &[T]) -> String {
    by_id(id, objects).map_or_else(|| format!("{id:#010x}"), |object| object.alias().to_string())
}

/// Table, match and priority of an entry.
fn key(catalog: &Catalog, entry: &TableEntry) -> Record {
    let record = Record::of("table", name(entry.table_id, &catalog.info.tables));
    let Some(table) = catalog.table_by_id(entry.table_id) else {
        return record;
    };
    let key = Key::new(catalog, String::new(), &table.match_fields);
    let said = if entry.is_default_action {
        let names = key.short_names().into_iter();
        names.map(|name| (name.to_string(), "(default)".to_string())).collect()
    } else {
        key.write(&entry.r#match)
    };
    let record = record.with("match", Cell::Spread(said));
    if key.needs_priority() && !entry.is_default_action {
        record.number("priority", i64::from(entry.priority))
    } else {
        record
    }
}

fn table_entry(catalog: &Catalog, entry: &TableEntry) -> Record {
    let mut record = key(catalog, entry);
    if entry.is_default_action {
        record = record.with("default", Cell::Flag(true));
    }
    let record = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(ActionType::Action(action)) => {
            let (name, parameters) = action::written(catalog, action);
            record.text("action", name).with("parameters", Cell::Pairs(parameters))
        }
        _ => record.text(
            "action",
            entry
                .action
                .as_ref()
                .map_or_else(String::new, |action| action::write(catalog, action)),
        ),
    };
    let idle = (entry.idle_timeout_ns > 0).then(|| Cell::Text(time(entry.idle_timeout_ns)));
    let since = entry
        .time_since_last_hit
        .map(|since| Cell::Text(time(rounded(since.elapsed_ns))));
    let metadata = (!entry.metadata.is_empty()).then(|| Cell::Text(String::from_utf8_lossy(&entry.metadata).into()));
    let record = record
        .maybe("idle_timeout", idle)
        .maybe("since_last_hit", since)
        .maybe("metadata", metadata);
    let counts_bytes = direct_counter_counts_bytes(catalog, entry.table_id);
    let record = with_counted(record, entry.counter_data.as_ref(), counts_bytes);
    with_rates(record, entry.meter_config.as_ref())
}

/// Rounds to whole milliseconds: more digits of a running time are of no use.
fn rounded(nanoseconds: i64) -> i64 {
    nanoseconds - nanoseconds % 1_000_000
}

/// Packets, and bytes if the counter counts them.
fn with_counted(record: Record, data: Option<&CounterData>, counts_bytes: bool) -> Record {
    let packets = data.map(|data| Cell::Number(data.packet_count));
    let bytes = data.filter(|_| counts_bytes).map(|data| Cell::Number(data.byte_count));
    record.maybe("packets", packets).maybe("bytes", bytes)
}

/// Whether a counter counts bytes; so does one of which nothing is known.
fn counts_bytes(spec: Option<&CounterSpec>) -> bool {
    spec.is_none_or(|spec| spec.unit() != Unit::Packets)
}

fn direct_counter_counts_bytes(catalog: &Catalog, table: u32) -> bool {
    let mut counters = catalog.info.direct_counters.iter();
    let counter = counters.find(|counter| counter.direct_table_id == table);
    counts_bytes(counter.and_then(|counter| counter.spec.as_ref()))
}

fn with_rates(record: Record, config: Option<&MeterConfig>) -> Record {
    let Some(config) = config else { return record };
    record
        .maybe("cir", Some(rate(config.cir, config.forebay_cir_millionths)))
        .number("cburst", config.cburst)
        .maybe("pir", Some(rate(config.pir, config.forebay_pir_millionths)))
        .number("pburst", config.pburst)
}

fn rate(per_second: i64, millionths: u32) -> Cell {
    match millionths {
        0 => Cell::Number(per_second),
        _ => Cell::Real(per_second as f64 + f64::from(millionths) / 1e6),
    }
}

fn indexed(record: Record, index: Option<&Index>) -> Record {
    record.maybe("index", index.map(|index| Cell::Number(index.index)))
}

fn counter(catalog: &Catalog, entry: &CounterEntry) -> Record {
    let record = Record::of("counter", name(entry.counter_id, &catalog.info.counters));
    let counter = by_id(entry.counter_id, &catalog.info.counters);
    let counts_bytes = counts_bytes(counter.and_then(|counter| counter.spec.as_ref()));
    let record = indexed(record, entry.index.as_ref());
    let names = counter.map(element_names).unwrap_or_default();
    let index = entry.index.as_ref().and_then(|index| usize::try_from(index.index).ok());
    let name = index.and_then(|index| names.into_iter().nth(index));
    with_counted(
        record.maybe("name", name.map(Cell::Text)),
        entry.data.as_ref(),
        counts_bytes,
    )
}

fn meter(catalog: &Catalog, entry: &MeterEntry) -> Record {
    let record = indexed(
        Record::of("meter", name(entry.meter_id, &catalog.info.meters)),
        entry.index.as_ref(),
    );
    let record = match &entry.config {
        None => record.text("rates", "not set: all packets are green"),
        config => with_rates(record, config.as_ref()),
    };
    with_colours(record, entry.counter_data.as_ref())
}

/// Packets and bytes that were given each colour.
fn with_colours(record: Record, data: Option<&MeterCounterData>) -> Record {
    let Some(data) = data else { return record };
    let counted = |data: &Option<CounterData>| {
        let data = data.unwrap_or_default();
        format!("{} ({} bytes)", data.packet_count, data.byte_count)
    };
    record
        .text("green", counted(&data.green))
        .text("yellow", counted(&data.yellow))
        .text("red", counted(&data.red))
}

fn direct_counter(catalog: &Catalog, entry: &DirectCounterEntry) -> Record {
    let table_entry = entry.table_entry.clone().unwrap_or_default();
    let counts_bytes = direct_counter_counts_bytes(catalog, table_entry.table_id);
    with_counted(key(catalog, &table_entry), entry.data.as_ref(), counts_bytes)
}

fn direct_meter(catalog: &Catalog, entry: &DirectMeterEntry) -> Record {
    let record = key(catalog, &entry.table_entry.clone().unwrap_or_default());
    with_colours(with_rates(record, entry.config.as_ref()), entry.counter_data.as_ref())
}

fn register(catalog: &Catalog, entry: &RegisterEntry) -> Record {
    let record = Record::of("register", name(entry.register_id, &catalog.info.registers));
    let record = indexed(record, entry.index.as_ref());
    let info = by_id(entry.register_id, &catalog.info.registers);
    let spec = info.and_then(|info| info.type_spec.as_ref());
    let shape = spec.and_then(|spec| Shape::new(&catalog.types(), spec, info.map_or("", |info| info.alias())));
    let (Some(shape), Some(data)) = (shape, &entry.data) else {
        return record;
    };
    record.with("value", Cell::Spread(members(&shape, data)))
}

/// The simple values of a value; one alone is called `value`.
fn members(shape: &Shape, data: &forebay_protocol::p4::v1::P4Data) -> Vec<(String, String)> {
    let names = shape.names().into_iter().map(|name| match name.as_str() {
        "" => "value".to_string(),
        _ => name,
    });
    names.zip(shape.write(data)).collect()
}

fn profile_member(catalog: &Catalog, member: &ActionProfileMember) -> Record {
    let record = Record::of("profile", name(member.action_profile_id, &catalog.info.action_profiles));
    let record = record.number("member", i64::from(member.member_id));
    let Some(action) = &member.action else { return record };
    let (name, parameters) = action::written(catalog, action);
    record.text("action", name).with("parameters", Cell::Pairs(parameters))
}

fn profile_group(catalog: &Catalog, group: &ActionProfileGroup) -> Record {
    let record = Record::of("profile", name(group.action_profile_id, &catalog.info.action_profiles));
    let members = group.members.iter().map(group_member).collect();
    let record = record
        .number("group", i64::from(group.group_id))
        .with("members", Cell::List(members));
    record.maybe(
        "max_size",
        (group.max_size > 0).then_some(Cell::Number(i64::from(group.max_size))),
    )
}

/// `3:2@1`: member 3 with weight 2, watching port 1.
fn group_member(member: &Member) -> String {
    let weight = if member.weight == 1 {
        String::new()
    } else {
        format!(":{}", member.weight)
    };
    let watch = match &member.watch_kind {
        Some(WatchKind::WatchPort(port)) => format!("@{}", action::port_number(port)),
        _ => String::new(),
    };
    format!("{}{weight}{watch}", member.member_id)
}

fn multicast_group(group: &MulticastGroupEntry) -> Record {
    let record = Record::default().number("group", i64::from(group.multicast_group_id));
    let metadata = (!group.metadata.is_empty()).then(|| Cell::Text(String::from_utf8_lossy(&group.metadata).into()));
    record
        .with("replicas", replicas(&group.replicas))
        .maybe("metadata", metadata)
}

fn clone_session(session: &CloneSessionEntry) -> Record {
    let record = Record::default().number("session", i64::from(session.session_id));
    let length = match session.packet_length_bytes {
        0 => Cell::Text("whole".to_string()),
        length => Cell::Number(i64::from(length)),
    };
    let class = i64::from(session.class_of_service);
    record
        .with("replicas", replicas(&session.replicas))
        .with("length", length)
        .maybe("class", (class > 0).then_some(Cell::Number(class)))
}

/// `2:1/3:1`: to port 2 as instance 1, or to port 3 as instance 1 when port 2 is down.
fn replicas(replicas: &[Replica]) -> Cell {
    let with_instance = |port: u64, instance: u32| match instance {
        0 => port.to_string(),
        instance => format!("{port}:{instance}"),
    };
    let replicas = replicas.iter().map(|replica| {
        let port = port(replica);
        let backups = replica.backup_replicas.iter();
        let backups = backups.map(|backup| with_instance(action::port_number(&backup.port), backup.instance));
        let all: Vec<String> = std::iter::once(with_instance(port, replica.instance))
            .chain(backups)
            .collect();
        all.join("/")
    });
    Cell::List(replicas.collect())
}

#[allow(deprecated, reason = "old switches write egress_port")]
fn port(replica: &Replica) -> u64 {
    match &replica.port_kind {
        Some(PortKind::Port(port)) => action::port_number(port),
        Some(PortKind::EgressPort(port)) => u64::from(*port),
        None => 0,
    }
}

fn value_set(catalog: &Catalog, entry: &ValueSetEntry) -> Vec<Record> {
    let Some(info) = by_id(entry.value_set_id, &catalog.info.value_sets) else {
        return Vec::new();
    };
    let one = |member| {
        let members = Cell::Spread(value_set_member(catalog, info, member));
        Record::of("value set", info.alias()).with("member", members)
    };
    entry.members.iter().map(one).collect()
}

fn value_set_member(catalog: &Catalog, info: &ValueSet, member: &ValueSetMember) -> Vec<(String, String)> {
    let written = Key::new(catalog, String::new(), &info.r#match).write(&member.r#match);
    let named = written.into_iter().map(|(name, value)| match name.as_str() {
        "" => ("value".to_string(), value),
        _ => (name, value),
    });
    named.collect()
}

fn digest(catalog: &Catalog, entry: &DigestEntry) -> Record {
    let record = Record::default().text("digest", name(entry.digest_id, &catalog.info.digests));
    let Some(config) = &entry.config else { return record };
    record
        .number("max_size", i64::from(config.max_list_size))
        .text("max_delay", time(config.max_timeout_ns))
        .text("ack_timeout", time(config.ack_timeout_ns))
}

/// The messages of a list of digests.
pub fn digest_list(catalog: &Catalog, list: &DigestList) -> Vec<Record> {
    let info = by_id(list.digest_id, &catalog.info.digests);
    let spec = info.and_then(|info| info.type_spec.as_ref());
    let shape = spec.and_then(|spec| Shape::new(&catalog.types(), spec, ""));
    let record = |data| {
        let values = shape.as_ref().map(|shape| Cell::Spread(members(shape, data)));
        Record::of("digest", name(list.digest_id, &catalog.info.digests))
            .number("list", list.list_id as i64)
            .maybe("message", values)
    };
    list.data.iter().map(record).collect()
}

/// A packet that the switch sent to its controllers.
pub fn packet_in(catalog: &Catalog, packet: &PacketIn) -> Record {
    let fields = catalog.header_fields("packet_in");
    let metadata =
        packet.metadata.iter().map(
            |metadata| match fields.iter().find(|field| field.id == metadata.metadata_id) {
                Some(field) => (field.name.clone(), field.write(&metadata.value)),
                None => (metadata.metadata_id.to_string(), hexadecimal(&metadata.value)),
            },
        );
    Record::default()
        .with("metadata", Cell::Pairs(metadata.collect()))
        .number("bytes", packet.payload.len() as i64)
        .text("packet", hexadecimal(&packet.payload))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
