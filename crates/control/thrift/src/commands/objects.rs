//! Commands about counters, meters, registers, value sets, multicast, clone sessions, and the switch itself.

use super::tables::handle;
use super::words::{Words, number};
use super::{Form, Printed};
use crate::arrays::{Count, Rate};
use crate::codes::{BAD_RATES_LIST, Failure};
use crate::replication::Target;
use crate::runtime::Runtime;
use crate::switch::{QueueChange, QueueLimit, Switch};
use forebay_ir::CustomCrc;
use forebay_pipeline::CrcParameters;
use forebay_shell::catalog::Named;
use num_bigint::BigInt;
use std::fmt::Write;

pub(super) const FORMS: &[Form] = &[
    (
        "counter_read",
        "COUNTER INDEX",
        "an element, or for a direct counter the entry with this handle",
    ),
    ("counter_write", "COUNTER INDEX PACKETS BYTES", "sets it"),
    ("counter_reset", "COUNTER", "sets all elements to 0"),
    (
        "meter_get_rates",
        "METER INDEX",
        "the rates of an element, or for a direct meter of the entry with this handle",
    ),
    (
        "meter_set_rates",
        "METER INDEX RATE:BURST RATE:BURST",
        "sets them; packets or bytes in a microsecond, committed and peak",
    ),
    (
        "meter_array_set_rates",
        "METER RATE:BURST RATE:BURST",
        "sets the rates of all elements",
    ),
    ("register_read", "REGISTER [INDEX]", "an element, or all"),
    ("register_write", "REGISTER INDEX VALUE", "sets an element"),
    ("register_reset", "REGISTER", "sets all elements to 0"),
    ("show_pvs", "", "value sets of parsers"),
    ("pvs_add", "SET VALUE", "adds a value to a value set"),
    ("pvs_remove", "SET VALUE", "removes a value"),
    ("pvs_get", "SET", "the values of a value set"),
    ("pvs_clear", "SET", "removes all values"),
    ("mc_mgrp_create", "GROUP", "makes an empty multicast group"),
    ("mc_mgrp_destroy", "GROUP", "deletes it"),
    (
        "mc_node_create",
        "RID PORT... [| LAG...]",
        "makes a node: copies for these ports, and one for each link aggregation group; prints its handle",
    ),
    (
        "mc_node_update",
        "NODE PORT... [| LAG...]",
        "changes its ports and link aggregation groups",
    ),
    (
        "mc_set_lag_membership",
        "LAG PORT...",
        "sets the ports of a link aggregation group, one of which gets copies",
    ),
    ("mc_node_destroy", "NODE", "deletes it"),
    ("mc_node_associate", "GROUP NODE", "adds a node to a group"),
    ("mc_node_dissociate", "GROUP NODE", "takes it out"),
    ("mc_dump", "", "groups and nodes"),
    ("mirroring_add", "SESSION PORT", "clones of the session go to a port"),
    (
        "mirroring_add_mc",
        "SESSION GROUP",
        "clones of the session go to a multicast group",
    ),
    ("mirroring_delete", "SESSION", "deletes the session"),
    ("mirroring_get", "SESSION", "where its clones go"),
    (
        "set_queue_depth",
        "PACKETS [PORT [PRIORITY]]",
        "how many packets a queue holds: one, all of a port, or all",
    ),
    (
        "set_queue_rate",
        "PACKETS_A_SECOND [PORT [PRIORITY]]",
        "how many packets a second a queue sends; 0 for as many as the port takes",
    ),
    (
        "set_crc16_parameters",
        "CALCULATION POLYNOMIAL INITIAL FINAL_XOR REFLECT_DATA REFLECT_REMAINDER",
        "the parameters of a hash with crc16_custom",
    ),
    (
        "set_crc32_parameters",
        "CALCULATION POLYNOMIAL INITIAL FINAL_XOR REFLECT_DATA REFLECT_REMAINDER",
        "the parameters of a hash with crc32_custom",
    ),
    ("get_time_elapsed", "", "microseconds since the switch started"),
    ("get_time_since_epoch", "", "microseconds since 1970"),
    (
        "port_add",
        "INTERFACE PORT",
        "lets a port that was removed carry packets again",
    ),
    ("port_remove", "PORT", "lets a port carry no packets"),
    ("show_ports", "", "the ports"),
    ("switch_info", "", "the switch"),
    (
        "load_new_config_file",
        "FILE",
        "loads another program, which commands are about from now on",
    ),
    (
        "swap_configs",
        "",
        "lets packets go through the program that was loaded",
    ),
    (
        "reset_state",
        "",
        "takes away entries, members, groups, counts, rates, register values and multicast groups; clone sessions stay",
    ),
];

/// Does the command.
pub(super) fn run<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let quietly = |done: Result<(), Failure>| done.map(|()| String::new());
    match words.name {
        "counter_read" => read_counter(runtime, words),
        "counter_write" => write_counter(runtime, words),
        "counter_reset" => reset_counter(runtime, words),
        "meter_get_rates" => get_rates(runtime, words),
        "meter_set_rates" => set_rates(runtime, words),
        "meter_array_set_rates" => set_all_rates(runtime, words),
        "register_read" => read_register(runtime, words),
        "register_write" => write_register(runtime, words),
        "register_reset" => quietly(
            words
                .exactly()
                .and_then(|[name]| runtime.write_register(name, None, &BigInt::ZERO)),
        ),
        "show_pvs" => Ok(value_sets(runtime)),
        "pvs_add" => change_value(runtime, words, true),
        "pvs_remove" => change_value(runtime, words, false),
        "pvs_get" => values(runtime, words),
        "pvs_clear" => quietly(words.exactly().and_then(|[name]| runtime.clear_values(name))),
        "set_queue_depth" => limit_queues(runtime, words, |packets| {
            Ok(QueueLimit::Packets(number(packets, "number of packets")?))
        }),
        "set_queue_rate" => limit_queues(runtime, words, |rate| {
            Ok(QueueLimit::PacketsPerSecond(number(
                rate,
                "number of packets a second",
            )?))
        }),
        "set_crc16_parameters" => quietly(set_crc(runtime, CustomCrc::Crc16, words)),
        "set_crc32_parameters" => quietly(set_crc(runtime, CustomCrc::Crc32, words)),
        "get_time_elapsed" => Ok(format!("{}\n", runtime.switch.about().elapsed_us)),
        "get_time_since_epoch" => Ok(format!("{}\n", runtime.switch.about().epoch_us)),
        "port_add" => quietly(add_port(runtime, words)),
        "port_remove" => quietly(
            words
                .exactly()
                .and_then(|[port]| runtime.remove_port(number(port, "port")?)),
        ),
        "show_ports" => Ok(ports(runtime)),
        "switch_info" => Ok(info(runtime)),
        "load_new_config_file" => Err(Failure::undeclared(
            "the file is read where simple_switch_CLI runs: programs cannot be loaded by a file of commands",
        )),
        "swap_configs" => quietly(runtime.swap_programs()),
        "reset_state" => quietly(runtime.reset()),
        _ => replicate(runtime, words),
    }
}

fn limit_queues<S: Switch>(
    runtime: &Runtime<S>,
    words: &Words,
    limit: impl FnOnce(&str) -> Result<QueueLimit, Failure>,
) -> Printed {
    let ([value], queues) = words.first()?;
    let (port, priority) = match queues[..] {
        [] => (None, None),
        [port] => (Some(number(port, "port")?), None),
        [port, priority] => (Some(number(port, "port")?), Some(number(priority, "priority")?)),
        _ => return Err(words.usage()),
    };
    let change = QueueChange {
        port,
        priority,
        limit: limit(value)?,
    };
    let done = runtime.switch.limit_queues(change);
    done.map(|()| String::new()).map_err(Failure::undeclared)
}

fn add_port<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Result<(), Failure> {
    // The name of a capture file may follow; captures are an option of the switch here.
    let ([interface, port], rest) = words.first()?;
    match rest.len() {
        0 | 1 => runtime.add_port(interface, number(port, "port")?),
        _ => Err(words.usage()),
    }
}

fn set_crc<S: Switch>(runtime: &Runtime<S>, crc: CustomCrc, words: &Words) -> Result<(), Failure> {
    let [name, polynomial, initial, final_xor, reflect_data, reflect_remainder] = words.exactly()?;
    let parameters = CrcParameters {
        polynomial: number(polynomial, "polynomial")?,
        initial: number(initial, "initial remainder")?,
        final_xor: number(final_xor, "final XOR value")?,
        reflect_input: truth(reflect_data)?,
        reflect_output: truth(reflect_remainder)?,
    };
    runtime.set_crc_parameters(name, crc, parameters)
}

/// A truth value as BMv2's CLI takes it.
fn truth(word: &str) -> Result<bool, Failure> {
    match word {
        "true" | "True" => Ok(true),
        "false" | "False" => Ok(false),
        word => match number::<i64>(word, "number") {
            Ok(number) => Ok(number != 0),
            Err(_) => Err(Failure::undeclared(format!("`{word}` is neither true nor false"))),
        },
    }
}

fn replicate<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    match words.name {
        "mc_mgrp_create" => {
            let group = one(words, "multicast group")?;
            runtime.create_group_of_nodes(group)?;
            Ok(format!("Creating multicast group {group}\n"))
        }
        "mc_mgrp_destroy" => {
            let group = one(words, "multicast group")?;
            runtime.destroy_group_of_nodes(group)?;
            Ok(format!("Destroying multicast group {group}\n"))
        }
        "mc_node_create" => create_node(runtime, words),
        "mc_node_update" => update_node(runtime, words),
        "mc_set_lag_membership" => set_lag(runtime, words),
        "mc_node_destroy" => {
            let node = one(words, "node")?;
            runtime.destroy_node(node)?;
            Ok(format!("Destroying node {node}\n"))
        }
        "mc_node_associate" => {
            let [group, node] = two(words, ["multicast group", "node"])?;
            runtime.associate_node(group, node)?;
            Ok(format!("Associating node {node} to multicast group {group}\n"))
        }
        "mc_node_dissociate" => {
            let [group, node] = two(words, ["multicast group", "node"])?;
            runtime.dissociate_node(group, node)?;
            Ok(format!("Dissociating node {node} from multicast group {group}\n"))
        }
        "mc_dump" => groups(runtime),
        "mirroring_add" => {
            let [session, port] = two(words, ["clone session", "port"])?;
            runtime
                .set_session(session, Target::port(port as u32))
                .map(|()| String::new())
        }
        "mirroring_add_mc" => {
            let [session, group] = two(words, ["clone session", "multicast group"])?;
            runtime
                .set_session(session, Target::group(group as u32))
                .map(|()| String::new())
        }
        "mirroring_delete" => {
            let session = one(words, "clone session")?;
            runtime.delete_session(session).map(|()| String::new())
        }
        "mirroring_get" => {
            let Target { port, group } = runtime.session(one(words, "clone session")?)?;
            let written = |number: Option<u32>| number.map_or("None".to_string(), |number| number.to_string());
            Ok(format!(
                "MirroringSessionConfig(port={}, mgid={})\n",
                written(port),
                written(group)
            ))
        }
        _ => Err(words.usage()),
    }
}

/// The only word, a number from 0 on.
fn one(words: &Words, what: &str) -> Result<i32, Failure> {
    let [word] = words.exactly()?;
    whole(word, what)
}

fn two(words: &Words, what: [&str; 2]) -> Result<[i32; 2], Failure> {
    let [first, second] = words.exactly()?;
    Ok([whole(first, what[0])?, whole(second, what[1])?])
}

fn whole(word: &str, what: &str) -> Result<i32, Failure> {
    number::<u32>(word, what).and_then(|number| {
        let number = i32::try_from(number).ok();
        number.ok_or_else(|| Failure::undeclared(format!("`{word}` is no {what}")))
    })
}

/// The index of an element of an array, or the handle of the entry of a direct one.
fn element(word: &str, is_direct: bool) -> Result<i32, Failure> {
    if is_direct { handle(word) } else { whole(word, "index") }
}

fn read_counter<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, written] = words.exactly()?;
    let table = runtime.table_of_direct_counter(name);
    let index = element(written, table.is_some())?;
    let (said, count) = match table {
        Some(table) => {
            let said = format!("this is the direct counter for table {}\n", table.name());
            (said, runtime.read_direct_counter(table.name(), index)?)
        }
        None => (String::new(), runtime.read_counter(name, index)?),
    };
    Ok(format!(
        "{said}{name}[{index}]= ({} bytes, {} packets)\n",
        count.bytes, count.packets
    ))
}

fn write_counter<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, written, packets, bytes] = words.exactly()?;
    let table = runtime.table_of_direct_counter(name);
    let index = element(written, table.is_some())?;
    let count = Count {
        packets: number(packets, "number of packets")?,
        bytes: number(bytes, "number of bytes")?,
    };
    match table {
        Some(table) => runtime.write_direct_counter(table.name(), index, count)?,
        None => runtime.write_counter(name, Some(index), count)?,
    }
    Ok(format!("{name}[{index}] has been updated\n"))
}

fn reset_counter<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    match runtime.table_of_direct_counter(name) {
        Some(table) => runtime.reset_direct_counters(table.name())?,
        None => runtime.write_counter(name, None, Count::default())?,
    }
    Ok(String::new())
}

fn rates(words: &[&str]) -> Result<Vec<Rate>, Failure> {
    let rate = |word: &&str| {
        let wrong = || BAD_RATES_LIST.because(format!("`{word}` is no RATE:BURST, as in 0.001:100"));
        let (rate, burst) = word.split_once(':').ok_or_else(wrong)?;
        Ok(Rate {
            per_microsecond: rate.parse().map_err(|_| wrong())?,
            burst: burst.parse().map_err(|_| wrong())?,
        })
    };
    words.iter().map(rate).collect()
}

fn get_rates<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let [name, written] = words.exactly()?;
    let table = runtime.table_of_direct_meter(name);
    let index = element(written, table.is_some())?;
    let rates = match table {
        Some(table) => runtime.direct_meter_rates(table.name(), index)?,
        None => runtime.meter_rates(name, index)?,
    };
    let mut text = String::new();
    for (number, rate) in rates.iter().enumerate() {
        let _ = writeln!(
            text,
            "{number}: info rate = {:?}, burst size = {}",
            rate.per_microsecond, rate.burst
        );
    }
    Ok(text)
}

fn set_rates<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name, written], rest) = words.first()?;
    let table = runtime.table_of_direct_meter(name);
    let (index, rates) = (element(written, table.is_some())?, rates(&rest)?);
    match table {
        Some(table) => runtime.set_direct_meter_rates(table.name(), index, &rates)?,
        None => runtime.set_meter_rates(name, index, &rates)?,
    }
    Ok(String::new())
}

fn set_all_rates<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([name], rest) = words.first()?;
    runtime
        .set_all_meter_rates(name, &rates(&rest)?)
        .map(|()| String::new())
}

fn read_register<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let ([name], rest) = words.first()?;
    let index = match rest[..] {
        [] => None,
        [index] => Some(whole(index, "index")?),
        _ => return Err(words.usage()),
    };
    let values = runtime.read_register(name, index)?;
    let written: Vec<String> = values.iter().map(ToString::to_string).collect();
    let place = index.map_or(String::new(), |index| format!("[{index}]"));
    Ok(format!("{name}{place}= {}\n", written.join(", ")))
}

fn write_register<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name, index, value] = words.exactly()?;
    let index = whole(index, "index")?;
    let value = any_number(value).ok_or_else(|| Failure::undeclared(format!("`{value}` is no value")))?;
    runtime
        .write_register(name, Some(index), &value)
        .map(|()| String::new())
}

/// A number of any size in decimal notation, or with 0x in front.
fn any_number(text: &str) -> Option<BigInt> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => BigInt::parse_bytes(digits.as_bytes(), 16),
        None => BigInt::parse_bytes(text.as_bytes(), 10),
    }
}

fn value_sets<S: Switch>(runtime: &Runtime<S>) -> String {
    let sets = runtime.catalog.info.value_sets.iter().map(|set| {
        let width: i32 = set.r#match.iter().map(|field| field.bitwidth).sum();
        format!("{:<30} [compressed bitwidth:{width}]\n", set.name())
    });
    sets.collect()
}

fn change_value<S: Switch>(runtime: &Runtime<S>, words: &Words, is_added: bool) -> Printed {
    let [name, value] = words.exactly()?;
    let set = runtime.value_set(name)?;
    let [field] = &set.r#match[..] else {
        return Err(Failure::undeclared(format!(
            "`{name}` has more than one field: use P4Runtime"
        )));
    };
    let read = runtime.catalog.match_field(field).read(value);
    let value = read.map_err(|mistake| Failure::undeclared(mistake.to_string()))?;
    runtime.change_value(name, &value, is_added).map(|()| String::new())
}

fn values<S: Switch>(runtime: &Runtime<S>, words: &Words) -> Printed {
    let [name] = words.exactly()?;
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    Ok(runtime.values(name)?.into_iter().map(hex).collect())
}

/// Ports, and after `|` link aggregation groups.
fn ports_and_lags(words: &[&str]) -> Result<(Vec<u32>, Vec<u32>), Failure> {
    let mut parts = words.splitn(2, |word| *word == "|");
    let mut numbers = |what| {
        let words = parts.next().unwrap_or_default().iter();
        words
            .map(|word| number::<u32>(word, what))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok((numbers("port")?, numbers("link aggregation group")?))
}

fn create_node<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([rid], rest) = words.first()?;
    let rid = i32::from(number::<u16>(rid, "replication id")?);
    let (ports, lags) = ports_and_lags(&rest)?;
    let handle = runtime.create_node(rid, &ports, &lags);
    Ok(format!(
        "Creating node with rid {rid} , port map {} and lag map {}\nnode was created with handle {handle}\n",
        port_map(&ports),
        port_map(&lags)
    ))
}

/// A digit for each port, the last one for port 0.
fn port_map(ports: &[u32]) -> String {
    let last = ports.iter().max().map_or(0, |port| port.saturating_add(1));
    let digits = (0..last.min(1024))
        .rev()
        .map(|port| if ports.contains(&port) { '1' } else { '0' });
    digits.collect()
}

fn update_node<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([node], rest) = words.first()?;
    let (node, (ports, lags)) = (whole(node, "node")?, ports_and_lags(&rest)?);
    runtime.update_node(node, &ports, &lags)?;
    Ok(format!(
        "Updating node {node} with port map {} and lag map {}\n",
        port_map(&ports),
        port_map(&lags)
    ))
}

fn set_lag<S: Switch>(runtime: &mut Runtime<S>, words: &Words) -> Printed {
    let ([lag], rest) = words.first()?;
    let lag = number::<u32>(lag, "link aggregation group")?;
    let ports = rest.iter().map(|word| number::<u32>(word, "port"));
    let ports = ports.collect::<Result<Vec<_>, _>>()?;
    runtime.set_lag(lag, &ports)?;
    Ok(format!("Setting lag membership: {lag} <- {}\n", port_map(&ports)))
}

fn groups<S: Switch>(runtime: &mut Runtime<S>) -> Printed {
    let mut text = String::from("==========\nMC ENTRIES\n");
    for (group, nodes) in runtime.groups_and_nodes()? {
        let _ = writeln!(text, "**********\nmgrp({group})");
        for node in nodes {
            let (handle, rid) = (node.handle, node.rid);
            let (ports, lags) = (listed(&node.ports), listed(&node.lags));
            let _ = writeln!(
                text,
                "  -> (L1h={handle}, rid={rid}) -> (ports=[{ports}], lags=[{lags}])"
            );
        }
    }
    text.push_str("==========\nLAGS\n");
    for (lag, ports) in runtime.lags() {
        let _ = writeln!(text, "lag({lag}) -> ports=[{}]", listed(ports));
    }
    Ok(text + "==========\n")
}

fn listed<'a>(numbers: impl IntoIterator<Item = &'a u32>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

fn ports<S: Switch>(runtime: &Runtime<S>) -> String {
    let mut text = format!(
        "{:^10}{:^20}{:^10}extra info\n{}\n",
        "port #",
        "iface name",
        "status",
        "=".repeat(50)
    );
    for port in runtime.switch.about().ports {
        let status = if port.is_up { "UP" } else { "DOWN" };
        let _ = writeln!(text, "{:^10}{:^20}{status:^10}", port.number, port.name);
    }
    text
}

fn info<S: Switch>(runtime: &Runtime<S>) -> String {
    let about = runtime.switch.about();
    let socket = runtime
        .switch
        .notifications()
        .map(|notifications| notifications.address().to_string());
    let rows = [
        ("device_id", about.device_id.to_string()),
        ("thrift_port", about.thrift_port.to_string()),
        ("notifications_socket", socket.unwrap_or_else(|| "None".to_string())),
        ("elogger_socket", "None".to_string()),
        ("debugger_socket", "None".to_string()),
    ];
    rows.iter()
        .map(|(name, value)| format!("{name:<25}: {value}\n"))
        .collect()
}
