//! A switch in memory.

use crate::errors::{self, EndlessError, InternalError};
use crate::frames::{self, FrameArrays, Room, RoomArrays};
use crate::guard::detached;
use crate::objects::{self, Counted, Rates};
use crate::program::Program;
use crate::tables::{self, ReadEntry};
use crate::values::{Field, Invoked};
use forebay_entries::{Applied, Controller};
use forebay_ir::Architecture;
use forebay_pipeline::{
    CloneSession, CounterValue, CrcParameters, Engine, NoTrace, Options, Pipeline, Replica, Tracer,
};
use forebay_stf::Observer;
use forebay_switch::{Arriving, Config, Counters, Frames, MemorySwitch, SendError};
use forebay_trace::TracePrinter;
use num_bigint::BigUint;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard};

/// A program in a switch whose ports are in memory.
#[pyclass(frozen, module = "forebay._native")]
pub(crate) struct Switch {
    pipeline: Arc<Pipeline>,
    inner: Mutex<Inner>,
    ports: Vec<u32>,
}

struct Inner {
    switch: MemorySwitch,
    controller: Controller,
}

#[pymethods]
impl Switch {
    #[new]
    fn new(
        py: Python<'_>,
        program: &Program,
        ports: Vec<u32>,
        interpreted: bool,
        seed: u64,
        memory_limit: Option<u64>,
    ) -> PyResult<Switch> {
        let options = Options {
            engine: if interpreted { Engine::Interpreter } else { Engine::Jit },
            memory_limit,
            ..Options::default()
        };
        let config = Config {
            random_seed: seed,
            ..Config::default()
        };
        check_ports(program.program.architecture, &ports)?;
        detached(py, || {
            let pipeline = Pipeline::load_with(program.program.clone(), options);
            let wrong = |error| errors::LoadError::new_err(format!("the program cannot be loaded: {error}"));
            let pipeline = Arc::new(pipeline.map_err(wrong)?);
            let inner = Inner {
                switch: MemorySwitch::new(Arc::clone(&pipeline), config, ports.iter().copied()),
                controller: Controller::new(Arc::clone(&pipeline)),
            };
            Ok(Switch {
                pipeline,
                inner: Mutex::new(inner),
                ports,
            })
        })
    }

    /// Lets frames arrive, and puts what leaves into the caller's arrays as far as there is room: how many frames and
    /// bytes, and the frames for which there was none.
    #[allow(clippy::too_many_arguments)]
    fn send<'py>(
        &self,
        py: Python<'py>,
        data: PyReadonlyArray1<'py, u8>,
        offsets: PyReadonlyArray1<'py, i64>,
        ports: PyReadonlyArray1<'py, u32>,
        now_ns: u64,
        mut room: RoomArrays<'py>,
    ) -> PyResult<(usize, usize, Option<FrameArrays<'py>>)> {
        let (data, offsets, ports) = (data.as_slice()?, offsets.as_slice()?, ports.as_slice()?);
        frames::check_offsets(data, offsets, ports)?;
        let mut room = Room::new(&mut room)?;
        detached(py, || {
            let arriving = Arriving { data, offsets, ports };
            let sent = self.lock()?.switch.send_to(arriving, now_ns, &mut NoTrace, &mut room);
            sent.map_err(|error| self.refused(error))
        })?;
        let others = (!room.others.is_empty()).then(|| frames::arrays(py, std::mem::take(&mut room.others)));
        Ok((room.frames, room.bytes, others))
    }

    /// Lets one packet arrive, and returns port and bytes of what leaves.
    fn send_one(&self, py: Python<'_>, packet: &[u8], port: u32, now_ns: u64) -> PyResult<Vec<(u32, Vec<u8>)>> {
        frames::check_length("the packet", packet.len())?;
        let left = detached(py, || self.send_frames([(port, packet)], now_ns, &mut NoTrace))?;
        Ok(frames::packets(&left))
    }

    /// Lets one packet arrive; what leaves, its way as text, and as JSON.
    #[allow(clippy::type_complexity)]
    fn trace(
        &self,
        py: Python<'_>,
        packet: &[u8],
        port: u32,
        now_ns: u64,
    ) -> PyResult<(Vec<(u32, Vec<u8>)>, String, String)> {
        frames::check_length("the packet", packet.len())?;
        detached(py, || {
            let mut printer = TracePrinter::new(Arc::clone(&self.pipeline));
            printer.packet_enters(1, port, packet);
            let left = self.send_frames([(port, packet)], now_ns, &mut printer)?;
            let left = frames::packets(&left);
            left.iter().for_each(|(port, data)| printer.packet_leaves(*port, data));
            let (text, json) = printer.take();
            Ok((left, text, serde_json::Value::Array(json).to_string()))
        })
    }

    /// Time passes without a packet.
    fn pass_time(&self, py: Python<'_>, now_ns: u64) -> PyResult<()> {
        detached(py, || {
            let passed = self.lock()?.switch.pass_time(now_ns, &mut NoTrace);
            passed.map_err(|error| self.refused(error))
        })
    }

    /// Applies commands of STF that configure; returns what they have to say.
    fn apply(&self, py: Python<'_>, text: &str, name: &str) -> PyResult<Vec<String>> {
        detached(py, || {
            let test = crate::stf::parse(text, name)?;
            let mut notes = Vec::new();
            let mut inner = self.lock()?;
            for command in test.commands.iter().filter(|command| !command.value.is_traffic()) {
                match inner.controller.apply(&command.value) {
                    Applied::Done => {}
                    Applied::Note(note) => notes.push(note),
                    Applied::Refused(message) | Applied::Differs(message) => {
                        return Err(errors::control(format!("{name}:{}: {message}", command.line)));
                    }
                }
            }
            Ok(notes)
        })
    }

    /// What was dropped, by reason.
    fn drops(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        detached(py, || Ok(self.lock()?.switch.drops()))
    }

    /// Packets received, copied, transmitted and dropped.
    fn books(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64)> {
        let Counters {
            received,
            copies,
            transmitted,
            dropped,
        } = detached(py, || Ok(self.lock()?.switch.switch().counters()))?;
        Ok((received, copies, transmitted, dropped))
    }

    /// Messages to the control plane: name of the digest and its fields.
    #[allow(clippy::type_complexity)]
    fn take_digests(&self, py: Python<'_>) -> PyResult<(Vec<(String, Vec<(String, BigUint)>)>, u64)> {
        let (messages, lost) = detached(py, || Ok(self.lock()?.switch.take_digests()))?;
        let digests = &self.pipeline.program().digests;
        let read = messages.into_iter().map(|message| {
            let digest = &digests[message.digest.index()];
            let names = digest.fields.iter().map(|(name, _)| name.clone());
            let values = message.values.iter().map(|value| value.to_biguint());
            (digest.name.clone(), names.zip(values).collect())
        });
        Ok((read.collect(), lost))
    }

    /// The full name of the table that a name means.
    fn table_name(&self, py: Python<'_>, name: &str) -> PyResult<&str> {
        detached(py, || tables::name(&self.pipeline, name))
    }

    fn write_entry(
        &self,
        py: Python<'_>,
        change: &str,
        table: &str,
        key: Vec<Field>,
        priority: Option<i64>,
        action: Invoked,
    ) -> PyResult<()> {
        detached(py, || {
            tables::write(&self.pipeline, change, table, key, priority, action)
        })
    }

    fn delete_entry(&self, py: Python<'_>, table: &str, key: Vec<Field>, priority: Option<i64>) -> PyResult<()> {
        detached(py, || {
            let (table, key) = tables::key(&self.pipeline, table, key, priority)?;
            let deleted = self.pipeline.delete_entry(table, &key.matches, key.priority);
            deleted.map_err(errors::control)
        })
    }

    fn clear_entries(&self, py: Python<'_>, table: &str) -> PyResult<()> {
        self.control(py, |pipeline| pipeline.clear_entries(table))
    }

    fn entries(&self, py: Python<'_>, table: &str) -> PyResult<Vec<ReadEntry>> {
        detached(py, || tables::entries(&self.pipeline, table))
    }

    fn set_default(&self, py: Python<'_>, table: &str, action: Option<Invoked>) -> PyResult<()> {
        detached(py, || tables::set_default(&self.pipeline, table, action))
    }

    fn default_action(&self, py: Python<'_>, table: &str) -> PyResult<Invoked> {
        detached(py, || tables::default(&self.pipeline, table))
    }

    fn entry_counter(
        &self,
        py: Python<'_>,
        table: &str,
        key: Vec<Field>,
        priority: Option<i64>,
    ) -> PyResult<(u64, u64)> {
        detached(py, || {
            let (table, key) = tables::key(&self.pipeline, table, key, priority)?;
            let value = self.pipeline.read_direct_counter(table, &key.matches, key.priority);
            let value = value.map_err(errors::control)?;
            Ok((value.packets, value.bytes))
        })
    }

    fn configure_entry_meter(
        &self,
        py: Python<'_>,
        table: &str,
        key: Vec<Field>,
        priority: Option<i64>,
        rates: Option<Rates>,
    ) -> PyResult<()> {
        detached(py, || {
            let (table, key) = tables::key(&self.pipeline, table, key, priority)?;
            let rates = rates.map(objects::rates);
            let set = self
                .pipeline
                .configure_direct_meter(table, &key.matches, key.priority, rates);
            set.map_err(errors::control)
        })
    }

    fn write_member(&self, py: Python<'_>, change: &str, profile: &str, member: u32, action: Invoked) -> PyResult<()> {
        detached(py, || {
            tables::write_member(&self.pipeline, change, profile, member, action)
        })
    }

    fn delete_member(&self, py: Python<'_>, profile: &str, member: u32) -> PyResult<()> {
        self.control(py, |pipeline| pipeline.delete_member(profile, member))
    }

    fn write_group(
        &self,
        py: Python<'_>,
        change: &str,
        profile: &str,
        group: u32,
        members: Vec<(u32, u32)>,
    ) -> PyResult<()> {
        self.control(py, |pipeline| match change {
            "modify" => pipeline.modify_group(profile, group, &members),
            _ => pipeline.insert_group(profile, group, &members),
        })
    }

    fn delete_group(&self, py: Python<'_>, profile: &str, group: u32) -> PyResult<()> {
        self.control(py, |pipeline| pipeline.delete_group(profile, group))
    }

    #[pyo3(signature = (name, first, count))]
    fn read_register(&self, py: Python<'_>, name: &str, first: u64, count: Option<u64>) -> PyResult<Py<PyAny>> {
        objects::read_register(py, &self.pipeline, name, first, count)
    }

    fn write_register(&self, py: Python<'_>, name: &str, first: u64, values: Vec<BigUint>) -> PyResult<()> {
        detached(py, || objects::write_register(&self.pipeline, name, first, values))
    }

    fn reset_register(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.control(py, |pipeline| pipeline.reset_register(name))
    }

    fn read_counter<'py>(&self, py: Python<'py>, name: &str, first: u64, count: Option<u64>) -> PyResult<Counted<'py>> {
        objects::read_counter(py, &self.pipeline, name, first, count)
    }

    fn write_counter(&self, py: Python<'_>, name: &str, index: u64, packets: u64, bytes: u64) -> PyResult<()> {
        let value = CounterValue { packets, bytes };
        self.control(py, |pipeline| pipeline.write_counter(name, index, value))
    }

    fn meter_rates(&self, py: Python<'_>, name: &str, index: u64) -> PyResult<Option<Rates>> {
        detached(py, || objects::read_meter(&self.pipeline, name, index))
    }

    fn configure_meter(&self, py: Python<'_>, name: &str, index: u64, rates: Option<Rates>) -> PyResult<()> {
        self.control(py, |pipeline| {
            pipeline.configure_meter(name, index, rates.map(objects::rates))
        })
    }

    fn set_crc_parameters(
        &self,
        py: Python<'_>,
        calculation: &str,
        numbers: (u64, u64, u64),
        reflect: (bool, bool),
    ) -> PyResult<()> {
        let parameters = CrcParameters {
            polynomial: numbers.0,
            initial: numbers.1,
            final_xor: numbers.2,
            reflect_input: reflect.0,
            reflect_output: reflect.1,
        };
        self.control(py, |pipeline| pipeline.set_crc_parameters(calculation, parameters))
    }

    /// Port and instance of each copy; none removes the group.
    fn set_multicast_group(&self, py: Python<'_>, group: u16, replicas: Option<Vec<(u32, u16)>>) -> PyResult<()> {
        self.control(py, |pipeline| match replicas {
            Some(replicas) => pipeline.set_multicast_group(group, &copies(replicas)),
            None => pipeline.delete_multicast_group(group),
        })
    }

    /// Port and instance of each copy; none removes the session.
    fn set_clone_session(
        &self,
        py: Python<'_>,
        session: u32,
        replicas: Option<Vec<(u32, u16)>>,
        packet_length_bytes: Option<u32>,
        class_of_service: u8,
    ) -> PyResult<()> {
        self.control(py, |pipeline| match replicas {
            Some(replicas) => {
                let config = CloneSession {
                    replicas: copies(replicas),
                    packet_length_bytes,
                    class_of_service,
                };
                pipeline.set_clone_session(session, config)
            }
            None => pipeline.delete_clone_session(session),
        })
    }
}

impl Switch {
    /// The switch, unless a panic has left it half done.
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        let broken =
            |_| InternalError::new_err("this switch is broken by a mistake of Forebay's before; make a new one");
        self.inner.lock().map_err(broken)
    }

    /// Reads or changes what controllers can read and change.
    fn control<R: Send, E: Display>(
        &self,
        py: Python<'_>,
        what: impl FnOnce(&Pipeline) -> Result<R, E> + Send,
    ) -> PyResult<R> {
        detached(py, || what(&self.pipeline).map_err(errors::control))
    }

    fn send_frames<'f, T: Tracer>(
        &self,
        frames: impl IntoIterator<Item = (u32, &'f [u8])>,
        now_ns: u64,
        tracer: &mut T,
    ) -> PyResult<Frames> {
        let sent = self.lock()?.switch.send(frames, now_ns, tracer);
        sent.map_err(|error| self.refused(error))
    }

    fn refused(&self, error: SendError) -> PyErr {
        match error {
            SendError::Endless => {
                EndlessError::new_err("a packet still goes round in the switch, and seems to for ever")
            }
            SendError::NoPort(port) => {
                let message = format!("there is no port {port}; {}", port_list(&self.ports));
                PyValueError::new_err(message)
            }
        }
    }
}

/// The largest port of v1model, whose ports have 9 bits; 511 is where dropped packets go.
const V1MODEL_PORT_MAX: u32 = 510;

/// Ports that programs of an architecture can tell apart.
fn check_ports(architecture: Architecture, ports: &[u32]) -> PyResult<()> {
    let beyond = ports.iter().find(|port| **port > V1MODEL_PORT_MAX);
    match (architecture, beyond) {
        (Architecture::V1Model, Some(port)) => {
            let message = format!("there is no port {port}: programs for v1model have ports 0 to {V1MODEL_PORT_MAX}");
            Err(PyValueError::new_err(message))
        }
        _ => Ok(()),
    }
}

/// The ports of a switch, for a message.
fn port_list(ports: &[u32]) -> String {
    match ports {
        [] => "the switch has none".to_string(),
        [only] => format!("the only port is {only}"),
        [first, .., last] if (*last - *first) as usize + 1 == ports.len() => format!("ports are {first} to {last}"),
        all => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            format!("ports are {}", all.join(", "))
        }
    }
}

fn copies(replicas: Vec<(u32, u16)>) -> Vec<Replica> {
    let copy = |(egress_port, instance)| Replica { egress_port, instance };
    replicas.into_iter().map(copy).collect()
}
