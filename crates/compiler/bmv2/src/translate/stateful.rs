//! Primitives on registers, counters and meters, hashes, random numbers and digests.

use super::Translator;
use super::number::describe;
use super::primitive::arity;
use crate::error::{Error, Result, options};
use crate::model::{Named, Operand, Primitive};
use forebay_ir::{CounterId, Digest, DigestId, MeterId, Op};
use num_traits::ToPrimitive;

/// The primitives that are known, for messages.
const KNOWN: &[&str] = &[
    "assign",
    "assign_header",
    "add_header",
    "remove_header",
    "push",
    "pop",
    "mark_to_drop",
    "exit",
    "count",
    "execute_meter",
    "register_read",
    "register_write",
    "modify_field_with_hash_based_offset",
    "modify_field_rng_uniform",
    "generate_digest",
    "clone_ingress_pkt_to_egress",
    "resubmit",
    "recirculate",
    "truncate",
    "log_msg",
];

impl Translator<'_> {
    pub(super) fn stateful(&mut self, primitive: &Primitive) -> Result<()> {
        match (primitive.op.as_str(), primitive.parameters.as_slice()) {
            ("count", [counter, index]) => self.count(counter, index),
            ("execute_meter", [meter, index, target]) => self.execute_meter(meter, index, target),
            ("register_read", [target, register, index]) => self.register_read(target, register, index),
            ("register_write", [register, index, value]) => self.register_write(register, index, value),
            ("modify_field_with_hash_based_offset", [target, base, calculation, size]) => {
                self.hash(target, base, calculation, size)
            }
            ("modify_field_rng_uniform", [target, low, high]) => self.random(target, low, high),
            ("generate_digest", [receiver, list]) => self.digest(receiver, list),
            (name, _) if is_known(name) => Err(arity(primitive)),
            (name, parameters) => Err(unknown(name, parameters)),
        }
    }

    fn count(&mut self, counter: &Operand, index: &Operand) -> Result<()> {
        let name = name_of(counter, Named::Counter)?;
        let position = self.program.counters.iter().position(|known| known.name == name);
        let counter = position.ok_or_else(|| {
            let known = options(self.program.counters.iter().map(|known| known.name.as_str()));
            Error::new(format!("there is no counter array `{name}`; {known}"))
        })?;
        let index = self.exact(index)?.expr;
        let counter = CounterId(counter as u32);
        self.body.emit(Op::Count { counter, index });
        Ok(())
    }

    fn execute_meter(&mut self, meter: &Operand, index: &Operand, target: &Operand) -> Result<()> {
        let name = name_of(meter, Named::Meter)?;
        let position = self.program.meters.iter().position(|known| known.name == name);
        let meter = position.ok_or_else(|| {
            let known = options(self.program.meters.iter().map(|known| known.name.as_str()));
            Error::new(format!("there is no meter array `{name}`; {known}"))
        })?;
        let index = self.exact(index)?.expr;
        let meter = MeterId(meter as u32);
        self.receive(target, None, |slot| Op::ExecuteMeter {
            meter,
            index,
            before: None,
            slot,
        })
    }

    fn register_read(&mut self, target: &Operand, register: &Operand, index: &Operand) -> Result<()> {
        let register = self.register(name_of(register, Named::Register)?)?;
        let width = self.program.registers[register.index()].width;
        let index = self.exact(index)?.expr;
        self.receive(target, Some(width), |slot| Op::RegisterRead { register, index, slot })
    }

    fn register_write(&mut self, register: &Operand, index: &Operand, value: &Operand) -> Result<()> {
        let register = self.register(name_of(register, Named::Register)?)?;
        let width = self.program.registers[register.index()].width;
        let index = self.exact(index)?.expr;
        let value = self.low(value, width)?;
        self.body.emit(Op::RegisterWrite { register, index, value });
        Ok(())
    }

    fn hash(&mut self, target: &Operand, base: &Operand, calculation: &Operand, size: &Operand) -> Result<()> {
        let calculation = self.calculation(name_of(calculation, Named::Calculation)?)?;
        if calculation.payload {
            return Err(Error::new(
                "the payload can be in the data of a checksum, not of a hash",
            ));
        }
        let range = (self.exact(base)?.expr, self.exact(size)?.expr);
        self.receive(target, None, |slot| Op::Hash {
            algorithm: calculation.algorithm,
            data: calculation.data,
            range: Some(range),
            slot,
        })
    }

    fn random(&mut self, target: &Operand, low: &Operand, high: &Operand) -> Result<()> {
        let of_target = self.shape(target)?;
        let width = of_target.union(self.shape(low)?).union(self.shape(high)?).bits;
        let (low, high) = (self.low(low, width)?, self.low(high, width)?);
        self.receive(target, Some(width), |slot| Op::Random { low, high, slot })
    }

    /// A digest for each learn list, in their order: messages to controllers of BMv2 number them so.
    pub(super) fn declare_digests(&mut self) {
        let json = self.json;
        for list in &json.learn_lists {
            let fields = list.elements.iter().enumerate().map(|(index, (element, width))| {
                // One that makes no sense is an error where the list is used.
                let width = width.or_else(|| self.shape(element).ok().map(|shape| shape.bits));
                (element_name(element, index), width.unwrap_or(1))
            });
            let digest = Digest {
                name: list.name.clone(),
                receiver: 0,
                fields: fields.collect(),
                to: forebay_ir::Recipient::Controller,
            };
            self.program.digests.push(digest);
        }
    }

    fn digest(&mut self, receiver: &Operand, list: &Operand) -> Result<()> {
        let number = self.constant(list)?;
        let json = self.json;
        let index = json.learn_lists.iter().position(|list| list.id == number);
        let index = index.ok_or_else(|| Error::new(format!("there is no learn list with id {number}")))?;
        let mut data = Vec::new();
        for (element, width) in &json.learn_lists[index].elements {
            data.push(match width {
                Some(width) => self.low(element, *width)?,
                None => self.exact(element)?.expr,
            });
        }
        if let Operand::Number(number) = receiver {
            self.program.digests[index].receiver = number.to_u32().unwrap_or(0);
        }
        let digest = DigestId(index as u32);
        self.body.emit(Op::Digest { digest, data });
        Ok(())
    }
}

/// The name of a digest's field: that of the header's field. The names in the P4 source are not in the JSON.
fn element_name(element: &Operand, index: usize) -> String {
    match element {
        Operand::Field(_, name) | Operand::StackField(_, name) | Operand::UnionStackField(_, _, name) => name.clone(),
        _ => format!("f{index}"),
    }
}

fn name_of(operand: &Operand, kind: Named) -> Result<&str> {
    match operand {
        Operand::Named(found, name) if *found == kind => Ok(name),
        other => {
            let wanted = describe(&Operand::Named(kind, "…".to_owned()));
            Err(Error::new(format!("{wanted} is needed here, not {}", describe(other))))
        }
    }
}

fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

fn unknown(name: &str, parameters: &[Operand]) -> Error {
    match parameters.first() {
        Some(Operand::Named(Named::Extern, instance)) => Error::new(format!(
            "the extern object `{instance}` is not part of v1model: its method `{name}` cannot be executed"
        )),
        _ => Error::new(format!(
            "the primitive `{name}` is not known; {}",
            options(KNOWN.iter().copied())
        )),
    }
}
