//! Calls about the switch itself, and about its program.

use super::Answer;
use super::arguments::Arguments;
use crate::arrays::Count;
use crate::codes::{
    Failure, Family, INVALID_CALCULATION_NAME, INVALID_CONFIG, INVALID_LIST_NAME, INVALID_RESOURCE_TYPE,
    NO_ONGOING_SWAP, ONGOING_SWAP, WRONG_TYPE_CALCULATION,
};
use crate::program::numbers;
use crate::runtime::Runtime;
use crate::switch::{Load, PortAbout, QueueChange, QueueLimit, Switch};
use crate::tables::handle_of;
use crate::wire::{Fields, Value};
use forebay_ir::CustomCrc;
use forebay_p4runtime::{Code, Error};
use forebay_pipeline::CrcParameters;
use forebay_shell::catalog::{Named, find};
use std::time::Duration;

/// The method that loads a program.
pub(super) const LOAD: &str = "bm_load_new_config";

/// Compiles another program.
pub(super) fn compile<'a, S: Switch>(switch: &'a S, arguments: &Arguments) -> Result<Load<'a>, Failure> {
    switch.load(arguments.bytes(1)?).map_err(|error| load_refused(&error))
}

/// Lets calls be about a program that was compiled. Packets go through it after the swap.
pub(super) fn put(load: Load) -> Answer {
    load().map(|()| None).map_err(|error| load_refused(&error))
}

fn load_refused(error: &Error) -> Failure {
    match error.code {
        Code::AlreadyExists => ONGOING_SWAP.because(&error.message),
        _ => Failure::undeclared(&error.message),
    }
}

pub(super) fn call<S: Switch>(runtime: &mut Runtime<S>, method: &str, arguments: &Arguments) -> Option<Answer> {
    Some(match method {
        "bm_get_config" => Ok(Some(Value::Bytes(runtime.program_json()))),
        "bm_get_config_md5" => Ok(Some(Value::Bytes(runtime.program_md5()))),
        "bm_get_id_from_name" => id(runtime, arguments),
        "bm_mgmt_get_info" => Ok(Some(about(runtime))),
        "bm_dev_mgr_show_ports" => Ok(Some(ports(runtime))),
        "bm_dev_mgr_add_port" => arguments
            .text(1)
            .and_then(|interface| runtime.add_port(interface, arguments.i32(2)?))
            .map(|()| None),
        "bm_dev_mgr_remove_port" => arguments
            .i32(1)
            .and_then(|port| runtime.remove_port(port))
            .map(|()| None),
        "bm_reset_state" => runtime.reset().map(|()| None),
        "bm_serialize_state" => Err(Failure::undeclared("the state is kept with --save-state DIR")),
        LOAD => compile(&*runtime.switch, arguments).and_then(put),
        "bm_swap_configs" => runtime.swap_programs().map(|()| None),
        "bm_learning_ack" | "bm_learning_ack_buffer" | "bm_learning_set_timeout" | "bm_learning_set_buffer_size" => {
            learn(runtime, method, arguments)
        }
        "bm_set_crc16_custom_parameters" => set_crc(runtime, CustomCrc::Crc16, arguments),
        "bm_set_crc32_custom_parameters" => set_crc(runtime, CustomCrc::Crc32, arguments),
        "bm_set_toeplitz_hash_key" => Err(INVALID_CALCULATION_NAME.because("the key of Toeplitz hashes is fixed")),
        "get_time_elapsed_us" => Ok(Some(Value::I64(runtime.switch.about().elapsed_us as i64))),
        "get_time_since_epoch_us" => Ok(Some(Value::I64(runtime.switch.about().epoch_us as i64))),
        "set_egress_queue_depth"
        | "set_all_egress_queue_depths"
        | "set_egress_priority_queue_depth"
        | "set_egress_queue_rate"
        | "set_all_egress_queue_rates"
        | "set_egress_priority_queue_rate" => limit_queues(runtime, method, arguments),
        _ => return None,
    })
}

/// What a controller says of digests, which it gets over nanomsg.
fn learn<S: Switch>(runtime: &Runtime<S>, method: &str, arguments: &Arguments) -> Answer {
    let notifications = runtime.switch.notifications().ok_or_else(|| {
        INVALID_LIST_NAME
            .because("digests are not published: `forebay run --notifications`, or they come over P4Runtime")
    })?;
    let list = arguments.i32(2)?;
    match method {
        "bm_learning_ack" => {
            let places = arguments.numbers(4)?;
            notifications.acknowledge(list, arguments.i64(3)? as u64, Some(&places));
        }
        "bm_learning_ack_buffer" => notifications.acknowledge(list, arguments.i64(3)? as u64, None),
        "bm_learning_set_timeout" => {
            let ms = u64::try_from(arguments.i32(3)?).unwrap_or(0);
            notifications.set_timeout(list, Duration::from_millis(ms));
        }
        _ => notifications.set_buffer_size(list, usize::try_from(arguments.i32(3)?).unwrap_or(1)),
    }
    Ok(None)
}

/// `BmCrc16Config` and `BmCrc32Config`
fn set_crc<S: Switch>(runtime: &Runtime<S>, crc: CustomCrc, arguments: &Arguments) -> Answer {
    let config = Arguments(arguments.fields(3)?);
    let number = |place: i16| match crc {
        CustomCrc::Crc16 => Ok(u64::from(config.i16(place)? as u16)),
        CustomCrc::Crc32 => Ok(u64::from(config.i32(place)? as u32)),
    };
    let parameters = CrcParameters {
        polynomial: number(1)?,
        initial: number(2)?,
        final_xor: number(3)?,
        reflect_input: config.bool(4)?,
        reflect_output: config.bool(5)?,
    };
    runtime
        .set_crc_parameters(arguments.text(2)?, crc, parameters)
        .map(|()| None)
}

/// Changes limits of queues: of one of a port, all of a port, or all. The status is 0, or 1 when there are no such
/// queues: the methods declare no exception.
fn limit_queues<S: Switch>(runtime: &Runtime<S>, method: &str, arguments: &Arguments) -> Answer {
    let number = |place: i16| {
        let number = arguments.i32(place)?;
        u32::try_from(number).map_err(|_| Failure::undeclared(format!("argument {place} is negative")))
    };
    let (port, priority, limit) = match method {
        _ if method.starts_with("set_all_") => (None, None, 1),
        _ if method.contains("_priority_") => (Some(number(1)?), Some(number(2)?), 3),
        _ => (Some(number(1)?), None, 2),
    };
    let limit = if method.contains("_rate") {
        QueueLimit::PacketsPerSecond(arguments.i64(limit)?.try_into().unwrap_or(0))
    } else {
        QueueLimit::Packets(number(limit)?)
    };
    let done = runtime.switch.limit_queues(QueueChange { port, priority, limit });
    Ok(Some(Value::I32(i32::from(done.is_err()))))
}

fn refusal(message: &str) -> Error {
    Error {
        code: Code::FailedPrecondition,
        message: message.to_string(),
    }
}

/// `BmConfig`
fn about<S: Switch>(runtime: &Runtime<S>) -> Value {
    let about = runtime.switch.about();
    let fields = Fields::default()
        .with(1, Value::I64(about.device_id as i64))
        .with(2, Value::I32(i32::from(about.thrift_port)));
    let fields = match runtime.switch.notifications() {
        Some(notifications) => fields.with(3, Value::text(notifications.address())),
        None => fields,
    };
    Value::Struct(fields)
}

/// `list<DevMgrPortInfo>`
fn ports<S: Switch>(runtime: &Runtime<S>) -> Value {
    let ports = runtime.switch.about().ports.into_iter().map(|port| {
        let fields = Fields::default()
            .with(1, Value::I32(port.number as i32))
            .with(2, Value::text(port.name))
            .with(3, Value::Bool(port.is_up))
            .with(4, Value::Map(Vec::new()));
        Value::Struct(fields)
    });
    Value::List(ports.collect())
}

/// The number of an object in the JSON that clients get.
fn id<S: Switch>(runtime: &Runtime<S>, arguments: &Arguments) -> Answer {
    fn full<T: Named>(name: &str, objects: &[T]) -> String {
        find(name, objects).map_or(name, Named::name).to_string()
    }
    let (name, info) = (arguments.text(3)?, &runtime.catalog.info);
    let (list, name) = match arguments.i32(2)? {
        0 => ("tables", full(name, &info.tables)),
        1 => ("action_profiles", full(name, &info.action_profiles)),
        2 => ("counter_arrays", full(name, &info.counters)),
        3 => ("meter_arrays", full(name, &info.meters)),
        4 => ("register_arrays", full(name, &info.registers)),
        5 => ("learn_lists", full(name, &info.digests)),
        other => return Err(INVALID_RESOURCE_TYPE.because(format!("there is no resource type {other}"))),
    };
    let number = numbers(&runtime.program_json(), list).get(&name).copied();
    let none = || Failure::refused(Family::Lookup, &refusal(&format!("the program has no `{name}`")));
    number.map(|number| Some(Value::I32(number))).ok_or_else(none)
}

fn port_refused(message: &str) -> Failure {
    Failure::refused(Family::Device, &refusal(message))
}

impl<S: Switch> Runtime<S> {
    /// Lets a port that was removed carry packets again.
    ///
    /// # Errors
    /// When the switch was not started with the port, or it was not removed.
    pub fn add_port(&self, interface: &str, number: i32) -> Result<(), Failure> {
        let port = self.known_port(number)?;
        if port.name != interface {
            return Err(port_refused(&format!("port {number} is `{}`, and stays so", port.name)));
        }
        if port.is_enabled {
            return Err(port_refused(&format!("port {number} is there already")));
        }
        self.switch.enable_port(port.number, true);
        Ok(())
    }

    /// Lets a port carry no packets until it is added again.
    ///
    /// # Errors
    /// When there is no such port, or it was removed before.
    pub fn remove_port(&self, number: i32) -> Result<(), Failure> {
        let port = self.known_port(number)?;
        if !port.is_enabled {
            return Err(port_refused(&format!("port {number} was removed before")));
        }
        self.switch.enable_port(port.number, false);
        Ok(())
    }

    fn known_port(&self, number: i32) -> Result<PortAbout, Failure> {
        let mut ports = self.switch.about().ports.into_iter();
        let known = ports.find(|port| i64::from(port.number) == i64::from(number));
        known.ok_or_else(|| {
            port_refused(&format!(
                "there is no port {number}: ports are given when the switch starts (-i PORT@INTERFACE)"
            ))
        })
    }

    /// Changes the parameters of a hash with `crc16_custom` or `crc32_custom`.
    ///
    /// # Errors
    /// When the program has no such hash of this name.
    pub fn set_crc_parameters(&self, name: &str, crc: CustomCrc, parameters: CrcParameters) -> Result<(), Failure> {
        let known = self.switch.calculations();
        match known.iter().find(|known| known.name == name) {
            None if known.is_empty() => {
                Err(INVALID_CALCULATION_NAME.because("the program computes neither crc16_custom nor crc32_custom"))
            }
            None => {
                let names: Vec<String> = known.iter().map(|known| format!("`{}`", known.name)).collect();
                let names = names.join(", ");
                Err(INVALID_CALCULATION_NAME.because(format!("there is no calculation `{name}`; there is {names}")))
            }
            Some(known) if known.crc != crc => {
                Err(WRONG_TYPE_CALCULATION.because(format!("`{name}` is a {}", known.crc.name())))
            }
            Some(_) => {
                let done = self.switch.set_crc_parameters(name, parameters);
                done.map_err(|why| INVALID_CONFIG.because(why))
            }
        }
    }

    /// Lets packets go through the program that was loaded.
    ///
    /// # Errors
    /// When there is none.
    pub fn swap_programs(&self) -> Result<(), Failure> {
        self.switch.swap().map_err(|error| match error.code {
            Code::NotFound => NO_ONGOING_SWAP.because("load a program first: load_new_config_file FILE"),
            _ => Failure::undeclared(&error.message),
        })?;
        if let Some(notifications) = self.switch.notifications() {
            notifications.reset();
        }
        Ok(())
    }

    /// Takes away what BMv2 takes away (`P4Objects::reset_state`, `SimpleSwitch::reset_target_state_`): entries that
    /// were written, members and groups, what counters, meters and registers hold, multicast groups and nodes, and what
    /// is known of digests and idle entries. Clone sessions and value sets stay.
    ///
    /// # Errors
    /// When something cannot be taken away.
    pub fn reset(&mut self) -> Result<(), Failure> {
        let info = self.catalog.info.clone();
        self.rates_of_entries.clear();
        self.free_members.clear();
        self.free_groups.clear();
        info.tables
            .iter()
            .try_for_each(|table| self.clear_entries(table.name(), table.const_default_action_id == 0))?;
        for profile in &info.action_profiles {
            let handles: Vec<u32> = self.groups(profile)?.iter().map(|group| group.group_id).collect();
            for number in handles {
                self.delete_group(profile.name(), handle_of(number))?;
            }
            let handles: Vec<u32> = self.members(profile)?.iter().map(|member| member.member_id).collect();
            for number in handles {
                self.delete_member(profile.name(), handle_of(number))?;
            }
        }
        info.counters
            .iter()
            .try_for_each(|counter| self.write_counter(counter.name(), None, Count::default()))?;
        for register in &info.registers {
            if crate::arrays::width(register).is_ok() {
                self.write_register(register.name(), None, &num_bigint::BigInt::ZERO)?;
            }
        }
        info.meters
            .iter()
            .try_for_each(|meter| self.reset_meter_rates(meter.name()))?;
        if let Some(notifications) = self.switch.notifications() {
            notifications.reset();
        }
        self.reset_multicast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::testing::Idle;
    use crate::wire::{CALL, Message};
    use forebay_protocol::p4::config::v1::{P4Info, Preamble, Table};
    use forebay_protocol::p4::v1::ForwardingPipelineConfig;

    /// p4c gives numbers to tables of its own, too, which no P4Info has.
    #[test]
    fn numbers_are_those_of_the_json_that_clients_get() {
        let table = Table {
            preamble: Some(Preamble {
                id: 5,
                name: "I.t".to_string(),
                ..Preamble::default()
            }),
            ..Table::default()
        };
        let json = br#"{"pipelines": [{"tables": [{"name": "tbl_x", "id": 0}, {"name": "I.t", "id": 1}]}]}"#;
        let mut runtime = Runtime::new(Idle(ForwardingPipelineConfig {
            p4info: Some(P4Info {
                tables: vec![table],
                ..P4Info::default()
            }),
            p4_device_config: json.to_vec(),
            cookie: None,
        }));
        let mut number = |name: &str| number_of(&mut runtime, 0, name);
        assert_eq!(number("I.t"), Some(Value::I32(1)));
        assert_eq!(number("t"), Some(Value::I32(1)), "a name may be shortened");
        assert_eq!(number("tbl_x"), Some(Value::I32(0)));
        assert_eq!(number("nothing"), None);
    }

    /// A P4Info has them by name.
    #[test]
    fn lists_of_digests_have_the_numbers_that_are_published() {
        let mut runtime = Runtime::new(Idle(ForwardingPipelineConfig::default()));
        assert_eq!(number_of(&mut runtime, 5, "zebra_t"), Some(Value::I32(1)));
        assert_eq!(number_of(&mut runtime, 5, "ant_t"), Some(Value::I32(2)));
    }

    #[test]
    fn ports_that_can_be_added_and_removed() {
        let runtime = Runtime::new(Idle(ForwardingPipelineConfig::default()));
        let why = |done: Result<(), Failure>| done.map_err(|failure| failure.to_string()).err().unwrap_or_default();
        assert_eq!(why(runtime.remove_port(1)), "");
        assert!(why(runtime.remove_port(-1)).contains("no port -1: ports are given when the switch starts"));
        assert!(why(runtime.add_port("veth1", 2)).contains("no port 2"));
        assert!(why(runtime.add_port("veth2", 1)).contains("port 1 is `veth1`"));
        assert!(why(runtime.add_port("veth1", 1)).contains("is there already"));
    }

    /// What `bm_get_id_from_name` says of an object of this kind.
    fn number_of(runtime: &mut Runtime<Idle>, kind: i32, name: &str) -> Option<Value> {
        let fields = Fields::default().with(1, Value::I32(0)).with(2, Value::I32(kind));
        let call = Message {
            kind: CALL,
            name: "standard:bm_get_id_from_name".to_string(),
            number: 7,
            fields: fields.with(3, Value::text(name)),
        };
        let answer = runtime.call(&call).expect("an answer");
        answer.fields.get(0).cloned()
    }
}
