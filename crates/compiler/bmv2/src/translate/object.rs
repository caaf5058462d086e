//! Arrays of counters, meters and registers, action profiles, value sets, field lists, calculations.

use super::Translator;
use super::number::constant;
use crate::error::{At, Error, Result, options};
use crate::known::KnownField;
use crate::model::{Array, Input, Named, Operand, ParseState, TransitionWhen, ValueSet};
use forebay_bits::Bits;
use forebay_ir::verify::MAX_WIDTH;
use forebay_ir::{
    ActionProfile, Calculation, CalculationId, Counter, CustomCrc, DataItem, Expr, HashAlgorithm, MatchKind, Meter,
    Register, SlotId, Unit, ValueSetComponent,
};

/// Elements of a table, profile or value set.
const MAX_SIZE: u64 = 1 << 32;

/// Bytes that the elements of an array may take.
const MAX_ARRAY_BYTES: u64 = 1 << 30;

/// Bytes of a counter, and of a meter.
const COUNTER_BYTES: u64 = 16;
const METER_BYTES: u64 = 64;

/// What is known of the objects while a program is translated.
#[derive(Default)]
pub struct Objects {
    /// By action profile with a selector: what its hash is computed over.
    pub selectors: Vec<(String, Vec<Operand>)>,
}

/// A calculation, its data translated.
pub struct Calculated {
    /// Algorithm.
    pub algorithm: HashAlgorithm,
    /// Data in order.
    pub data: Vec<DataItem>,
    /// Whether the payload follows.
    pub payload: bool,
}

impl Translator<'_> {
    pub(super) fn declare_objects(&mut self) -> Result<()> {
        let json = self.json;
        for counter in &json.counters {
            self.declare_counter(counter).at(&counter.at)?;
        }
        for meter in &json.meters {
            let size = array_size(&meter.array, METER_BYTES).at(&meter.array.at)?;
            self.program.meters.push(Meter {
                name: meter.array.name.clone(),
                unit: if meter.counts_bytes { Unit::Bytes } else { Unit::Packets },
                size,
            });
        }
        for register in &json.registers {
            self.declare_register(register).at(&register.at)?;
        }
        for set in &json.value_sets {
            self.declare_value_set(set).at(&set.at)?;
        }
        self.declare_field_lists()?;
        self.declare_digests();
        self.declare_profiles()
    }

    fn declare_counter(&mut self, counter: &Array) -> Result<()> {
        let size = array_size(counter, COUNTER_BYTES)?;
        // p4c calls every direct counter that is declared inside its table `counter`; in the P4Info it has the table's
        // name.
        let name = match &counter.binding {
            Some(table) if self.program.counters.iter().any(|other| other.name == counter.name) => table,
            _ => &counter.name,
        };
        let unit = self.known.counters.get(name).copied();
        self.program.counters.push(Counter {
            name: name.clone(),
            unit: unit.unwrap_or(Unit::PacketsAndBytes),
            size,
            element_names: Vec::new(),
        });
        Ok(())
    }

    fn declare_register(&mut self, register: &Array) -> Result<()> {
        let width = register.width.filter(|width| (1..=MAX_WIDTH).contains(width));
        let width = width.ok_or_else(|| Error::new(format!("a register needs a `bitwidth` from 1 to {MAX_WIDTH}")))?;
        let size = array_size(register, u64::from(width.div_ceil(8)))?;
        self.program.registers.push(Register {
            name: register.name.clone(),
            width,
            signed: false,
            size: size.unwrap_or(0),
            initial: Bits::zero(width),
        });
        Ok(())
    }

    /// The JSON has the width of an element, but not its fields: these follow from the key of a state that uses the
    /// set.
    fn declare_value_set(&mut self, set: &ValueSet) -> Result<()> {
        let json = self.json;
        let uses = |state: &&ParseState| {
            let mut transitions = state.transitions.iter();
            transitions
                .any(|transition| matches!(&transition.when, TransitionWhen::ValueSet(name) if *name == set.name))
        };
        let user = json.parsers.iter().flat_map(|parser| &parser.states).find(uses);
        let widths = match user {
            Some(state) => state
                .key
                .iter()
                .map(|key| Ok(self.shape(key)?.bits))
                .collect::<Result<_>>()?,
            None => vec![set.width],
        };
        let total: u32 = widths.iter().sum();
        if total != set.width {
            let message = format!(
                "an element has {} bits, but the key of a state that uses it has {total}",
                set.width
            );
            return Err(Error::new(message));
        }
        let known = self
            .known
            .value_sets
            .get(&set.name)
            .filter(|known| known.len() == widths.len());
        let components = widths.iter().enumerate().map(|(index, width)| {
            let known: Option<&KnownField> = known.map(|known| &known[index]);
            ValueSetComponent {
                name: known.map(|known| known.name.clone()).unwrap_or_default(),
                width: *width,
                match_kind: known.map_or(MatchKind::Exact, |known| known.match_kind),
            }
        });
        self.program.value_sets.push(forebay_ir::ValueSet {
            name: set.name.clone(),
            size: set.size.min(MAX_SIZE),
            components: components.collect(),
        });
        Ok(())
    }

    fn declare_field_lists(&mut self) -> Result<()> {
        for list in &self.json.field_lists {
            if list.id > 255 {
                let message = format!("the field list has the id {}; there can be at most 255", list.id);
                return Err(Error::new(message).or_at(&list.at));
            }
            let mut slots: Vec<SlotId> = Vec::new();
            for (element, _) in &list.elements {
                slots.extend(self.listed(element).at(&list.at)?);
            }
            self.program.field_lists.insert(list.id, slots);
        }
        Ok(())
    }

    /// The slots of an element of a field list.
    fn listed(&self, element: &Operand) -> Result<Vec<SlotId>> {
        match element {
            Operand::Number(_) => Ok(Vec::new()),
            Operand::Field(header, name) => match &**header {
                Operand::Named(Named::Header, header) => {
                    let field = self.storage.field(header, name)?;
                    Ok(std::iter::once(field.slot).chain(field.length).collect())
                }
                _ => Err(Error::new("a field list holds fields of headers that are known")),
            },
            Operand::Named(Named::Header, header) => {
                let fields = &self.storage.instances[self.storage.instance(header)?].fields;
                let slots = fields
                    .iter()
                    .flat_map(|field| std::iter::once(field.slot).chain(field.length));
                Ok(slots.collect())
            }
            _ => Err(Error::new("a field list holds fields and headers")),
        }
    }

    fn declare_profiles(&mut self) -> Result<()> {
        let json = self.json;
        for pipeline in &json.pipelines {
            let of_tables = pipeline.tables.iter().filter_map(|table| table.own_profile.as_ref());
            for profile in pipeline.profiles.iter().chain(of_tables) {
                let selector = match &profile.selector {
                    Some((name, input)) => {
                        self.objects.selectors.push((profile.name.clone(), input.clone()));
                        let algorithm = match CustomCrc::from_name(name) {
                            Some(crc) => crc.plain(),
                            None => algorithm(name).at(&pipeline.at)?,
                        };
                        Some((algorithm, SELECTOR_WIDTH))
                    }
                    None => None,
                };
                self.program.action_profiles.push(ActionProfile {
                    name: profile.name.clone(),
                    size: profile.size.min(MAX_SIZE),
                    selector,
                });
            }
        }
        Ok(())
    }

    /// A calculation by its name.
    pub(super) fn calculation(&mut self, name: &str) -> Result<Calculated> {
        let json = self.json;
        let calculation = json.calculations.iter().find(|calculation| calculation.name == name);
        let calculation = calculation.ok_or_else(|| {
            let known = options(json.calculations.iter().map(|calculation| calculation.name.as_str()));
            Error::new(format!("there is no calculation `{name}`; {known}"))
        })?;
        let algorithm = match CustomCrc::from_name(&calculation.algorithm) {
            Some(crc) => HashAlgorithm::Custom(self.custom(name, crc)),
            None => algorithm(&calculation.algorithm).at(&calculation.at)?,
        };
        let mut data = Vec::new();
        let mut payload = false;
        for input in &calculation.input {
            match input {
                Input::Payload => payload = true,
                Input::Constant(value, width) => {
                    data.push(DataItem::Value(Expr::Const(Bits::from_bigint(
                        (*width).min(MAX_WIDTH),
                        value,
                    ))));
                }
                Input::Data(operand) => self.data(operand, &mut data).at(&calculation.at)?,
            }
        }
        Ok(Calculated {
            algorithm,
            data,
            payload,
        })
    }

    /// The calculation of this name whose parameters the control plane may change.
    fn custom(&mut self, name: &str, crc: CustomCrc) -> CalculationId {
        let calculations = &mut self.program.calculations;
        let known = calculations.iter().position(|known| known.name == name);
        let place = known.unwrap_or_else(|| {
            let name = name.to_string();
            calculations.push(Calculation { name, crc });
            calculations.len() - 1
        });
        CalculationId(place as u32)
    }

    /// A field, or all fields of a header.
    fn data(&mut self, operand: &Operand, data: &mut Vec<DataItem>) -> Result<()> {
        if let Operand::Named(Named::Header, name) = operand {
            let instance = self.storage.instance(name)?;
            let fields = self.storage.instances[instance].fields.iter();
            data.extend(fields.map(|field| item(field.slot, field.length)));
            return Ok(());
        }
        let field = match operand {
            Operand::Field(header, name) if name != crate::model::VALID && is_fixed(header) => {
                self.field_slots(operand)?.pop().map(|field| field.what)
            }
            _ => None,
        };
        match field {
            Some(field) => data.push(item(field.slot, field.length)),
            None => {
                let value = self.exact(operand)?.expr;
                data.push(DataItem::Value(value));
            }
        }
        Ok(())
    }
}

/// Bits of the hash of a selector that are used.
const SELECTOR_WIDTH: u32 = 64;

fn item(slot: SlotId, length: Option<SlotId>) -> DataItem {
    match length {
        Some(length) => DataItem::Varbit { value: slot, length },
        None => DataItem::Value(Expr::Slot(slot)),
    }
}

/// Whether the header is fixed, rather than selected at run time.
fn is_fixed(header: &Operand) -> bool {
    match header {
        Operand::Named(..) => true,
        Operand::Element(_, index) => constant(index).is_some(),
        _ => false,
    }
}

/// An algorithm by the name that p4c or BMv2 gives it.
fn algorithm(name: &str) -> Result<HashAlgorithm> {
    let name = match name {
        "cksum16" => "csum16",
        name => name,
    };
    HashAlgorithm::from_name(name).ok_or_else(|| {
        let known = "`crc16`, `crc32`, `crc16_custom`, `crc32_custom`, `csum16`, `xor16`, `identity`, `random`";
        Error::new(format!("the hash algorithm `{name}` is not known; there is {known}"))
    })
}

/// The size of an array, if its elements are not too many.
fn array_size(array: &Array, element_bytes: u64) -> Result<Option<u64>> {
    match array.size {
        Some(size) if size.saturating_mul(element_bytes) > MAX_ARRAY_BYTES => {
            let largest = MAX_ARRAY_BYTES / element_bytes;
            Err(Error::new(format!(
                "`{}` has {size} elements; there can be at most {largest}",
                array.name
            )))
        }
        size => Ok(size),
    }
}
