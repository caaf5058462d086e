//! Counters, registers, meters, clone sessions and multicast groups.

use super::{ParseError, line::Line};
use crate::{Command, Comparison, CounterCondition, CounterIndex, CounterUnit, MeterRate};

/// Most ports of a multicast node.
const MAX_NODE_PORTS: usize = 512;

pub fn check_counter(line: &mut Line) -> Result<Command, ParseError> {
    let counter = line.qualified_name("a counter's name")?;
    line.symbol("(")?;
    let index = counter_index(line)?;
    line.symbol(")")?;
    let condition = if line.at_end() {
        None
    } else {
        Some(counter_condition(line)?)
    };
    Ok(Command::CheckCounter {
        counter,
        index,
        condition,
    })
}

fn counter_index(line: &mut Line) -> Result<CounterIndex, ParseError> {
    if line.peek().is_some_and(|c| c.is_ascii_digit()) {
        return Ok(CounterIndex::Element(line.number_u64("an index")?));
    }
    let handle = line.qualified_name("an index or the name of an entry")?;
    Ok(CounterIndex::Entry(handle.trim_start_matches('$').to_string()))
}

fn counter_condition(line: &mut Line) -> Result<CounterCondition, ParseError> {
    let column = line.column();
    let unit = match line.keyword()?.as_str() {
        "packets" => CounterUnit::Packets,
        "bytes" => CounterUnit::Bytes,
        _ => return Err(line.error_at(column, "expected `packets` or `bytes`")),
    };
    let comparison = comparison(line)?;
    let value = line.number_u64("a number")?;
    Ok(CounterCondition {
        unit,
        comparison,
        value,
    })
}

fn comparison(line: &mut Line) -> Result<Comparison, ParseError> {
    // The longer symbols first, since `<` begins `<=`.
    let symbols = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::LessOrEqual,
        Comparison::GreaterOrEqual,
        Comparison::Less,
        Comparison::Greater,
    ];
    symbols
        .into_iter()
        .find(|comparison| line.accept(comparison.symbol()))
        .ok_or_else(|| line.expected("one of ==, !=, <, <=, >, >="))
}

pub fn counter_read(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::CounterRead {
        counter: line.qualified_name("a counter's name")?,
        index: line.number_u64("an index")?,
    })
}

pub fn counter_write(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::CounterWrite {
        counter: line.qualified_name("a counter's name")?,
        index: line.number_u64("an index")?,
        packets: line.number_u64("a number of packets")?,
        bytes: line.number_u64("a number of bytes")?,
    })
}

pub fn register_read(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::RegisterRead {
        register: line.qualified_name("a register's name")?,
        index: line.number_u64("an index")?,
    })
}

pub fn register_write(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::RegisterWrite {
        register: line.qualified_name("a register's name")?,
        index: line.number_u64("an index")?,
        value: line.plain_literal("a value")?,
    })
}

pub fn register_reset(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::RegisterReset {
        register: line.qualified_name("a register's name")?,
    })
}

pub fn meter_get_rates(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MeterGetRates {
        meter: line.qualified_name("a meter's name")?,
        index: line.number_u64("an index")?,
    })
}

pub fn meter_set_rates(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MeterSetRates {
        meter: line.qualified_name("a meter's name")?,
        index: line.number_u64("an index")?,
        rates: [meter_rate(line)?, meter_rate(line)?],
    })
}

pub fn meter_array_set_rates(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MeterArraySetRates {
        meter: line.qualified_name("a meter's name")?,
        rates: [meter_rate(line)?, meter_rate(line)?],
    })
}

fn meter_rate(line: &mut Line) -> Result<MeterRate, ParseError> {
    let column = line.column();
    let text = line.take_while(|c| c.is_ascii_digit() || c == '.');
    let per_microsecond = text
        .parse::<f64>()
        .ok()
        .filter(|rate| rate.is_finite())
        .ok_or_else(|| line.error_at(column, "expected RATE:BURST, a rate being units in a microsecond"))?;
    line.symbol(":")?;
    Ok(MeterRate {
        per_microsecond,
        burst: line.number_u64("a burst")?,
    })
}

pub fn mirroring_add(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MirroringAdd {
        session: line.number_u32("a clone session")?,
        port: line.number_u32("a port")?,
        truncate: truncation(line)?,
    })
}

pub fn mirroring_add_mc(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MirroringAddMulticast {
        session: line.number_u32("a clone session")?,
        group: line.number_u32("a multicast group")?,
        truncate: truncation(line)?,
    })
}

fn truncation(line: &mut Line) -> Result<Option<u32>, ParseError> {
    if line.at_end() {
        return Ok(None);
    }
    line.number_u32("a length in bytes").map(Some)
}

pub fn mirroring_delete(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MirroringDelete {
        session: line.number_u32("a clone session")?,
    })
}

pub fn mirroring_get(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MirroringGet {
        session: line.number_u32("a clone session")?,
    })
}

pub fn mc_mgrp_create(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MulticastGroupCreate {
        group: line.number_u32("a multicast group")?,
    })
}

pub fn mc_node_create(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MulticastNodeCreate {
        rid: line.number_u32("a replication id")?,
        ports: ports(line)?,
    })
}

pub fn mc_node_update(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MulticastNodeUpdate {
        node: line.number_u32("a node")?,
        ports: ports(line)?,
    })
}

pub fn mc_node_associate(line: &mut Line) -> Result<Command, ParseError> {
    Ok(Command::MulticastNodeAssociate {
        group: line.number_u32("a multicast group")?,
        node: line.number_u32("a node")?,
    })
}

fn ports(line: &mut Line) -> Result<Vec<u32>, ParseError> {
    let mut ports = Vec::new();
    while !line.at_end() {
        if ports.len() == MAX_NODE_PORTS {
            return Err(line.error(format!("a node has at most {MAX_NODE_PORTS} ports")));
        }
        ports.push(line.number_u32("a port")?);
    }
    Ok(ports)
}
