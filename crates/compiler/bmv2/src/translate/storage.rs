//! Slots for headers, structs, stacks and unions.

use super::Translator;
use crate::error::{At, Error, Result, options};
use crate::model::{FieldWidth, Header, HeaderType};
use forebay_ir::verify::MAX_WIDTH;
use forebay_ir::{self as ir, HeaderField, HeaderId, SlotId, SlotKind};
use std::collections::HashMap;

/// The instance whose fields the architecture gives and takes.
pub const STANDARD_METADATA: &str = "standard_metadata";

/// Other instances with such fields, in programs of P4_14.
const INTRINSIC_INSTANCES: &[&str] = &[STANDARD_METADATA, "intrinsic_metadata", "queueing_metadata"];

/// Where everything is stored.
#[derive(Default)]
pub struct Storage {
    /// Headers and structs.
    pub instances: Vec<Instance>,
    by_name: HashMap<String, usize>,
    by_id: HashMap<u32, usize>,
    /// Stacks of headers: elements are indices of [`Storage::instances`].
    pub stacks: HashMap<String, Stack>,
    /// Unions.
    pub unions: Vec<Union>,
    union_names: HashMap<String, usize>,
    union_ids: HashMap<u32, usize>,
    /// Stacks of unions: elements are indices of [`Storage::unions`].
    pub union_stacks: HashMap<String, Stack>,
}

/// A header, or a struct.
pub struct Instance {
    /// Name.
    pub name: String,
    /// Name of its type.
    type_name: String,
    /// Its entry in the program and its validity; none for a struct.
    pub header: Option<(HeaderId, SlotId)>,
    /// Fields in order.
    pub fields: Vec<FieldSlot>,
    /// The other members of its union.
    pub siblings: Vec<usize>,
}

/// A field.
#[derive(Clone, Debug)]
pub struct FieldSlot {
    /// Name.
    pub name: String,
    /// Value.
    pub slot: SlotId,
    /// For a field of variable length: its present length in bits.
    pub length: Option<SlotId>,
    /// Width in bits.
    pub width: u32,
    /// Whether it is an `int<W>`.
    pub signed: bool,
}

/// A stack.
#[derive(Clone)]
pub struct Stack {
    /// Elements.
    pub elements: Vec<usize>,
    /// `nextIndex`.
    pub next: SlotId,
}

/// A union.
pub struct Union {
    /// Members, as indices of [`Storage::instances`].
    pub members: Vec<usize>,
    /// The names of the members in the union's type.
    pub names: Vec<String>,
}

impl Storage {
    /// A header or struct.
    pub fn instance(&self, name: &str) -> Result<usize> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let known = options(self.instances.iter().map(|instance| instance.name.as_str()));
            Error::new(format!("there is no header `{name}`; {known}"))
        })
    }

    fn type_name(&self, instance: usize) -> &str {
        &self.instances[instance].type_name
    }

    fn with_id(&self, id: u32) -> Result<usize> {
        let found = self.by_id.get(&id).copied();
        found.ok_or_else(|| Error::new(format!("there is no header with id {id}")))
    }

    /// A field of a header or struct.
    pub fn field(&self, header: &str, field: &str) -> Result<&FieldSlot> {
        self.instances[self.instance(header)?].field(field)
    }

    /// A union.
    pub fn union(&self, name: &str) -> Result<usize> {
        let found = self.union_names.get(name).copied();
        found.ok_or_else(|| Error::new(format!("there is no header union `{name}`")))
    }

    fn member_types(&self, union: usize) -> Vec<&str> {
        let members = self.unions[union].members.iter();
        members.map(|member| self.type_name(*member)).collect()
    }

    /// A stack of headers.
    pub fn stack(&self, name: &str) -> Result<&Stack> {
        let found = self.stacks.get(name);
        found.ok_or_else(|| Error::new(format!("there is no header stack `{name}`")))
    }

    /// A stack of unions.
    pub fn union_stack(&self, name: &str) -> Result<&Stack> {
        let found = self.union_stacks.get(name);
        found.ok_or_else(|| Error::new(format!("there is no stack of header unions `{name}`")))
    }
}

impl Instance {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Result<&FieldSlot> {
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| {
            let known = options(self.fields.iter().map(|field| field.name.as_str()));
            Error::new(format!("`{}` has no field `{name}`; {known}", self.name))
        })
    }
}

impl Union {
    /// A member by its name in the type.
    pub fn member(&self, name: &str) -> Result<usize> {
        let position = self.names.iter().position(|known| known == name);
        let member = position.and_then(|position| self.members.get(position));
        member.copied().ok_or_else(|| {
            let known = options(self.names.iter().map(String::as_str));
            Error::new(format!("the header union has no member `{name}`; {known}"))
        })
    }
}

impl Translator<'_> {
    /// Slots for all that the JSON declares.
    pub(super) fn declare_storage(&mut self) -> Result<()> {
        let json = self.json;
        for header in &json.headers {
            self.declare_instance(header).at(&header.at)?;
        }
        for stack in &json.stacks {
            let elements = stack.headers.iter().map(|id| self.storage.with_id(*id));
            let elements: Vec<usize> = elements.collect::<Result<_>>().at(&stack.at)?;
            let types = elements.iter().map(|element| self.storage.type_name(*element));
            check_same(types).at(&stack.at)?;
            let stack_storage = self.stack(&stack.name, elements);
            self.storage.stacks.insert(stack.name.clone(), stack_storage);
        }
        self.declare_unions()?;
        self.declare_intrinsics()
    }

    fn stack(&mut self, name: &str, elements: Vec<usize>) -> Stack {
        let next = self.slot(format!("{name}.$next"), 32, false, SlotKind::NextIndex);
        Stack { elements, next }
    }

    fn declare_unions(&mut self) -> Result<()> {
        let json = self.json;
        for union in &json.unions {
            let members = union.headers.iter().map(|id| self.storage.with_id(*id));
            let members: Vec<usize> = members.collect::<Result<_>>().at(&union.at)?;
            for member in &members {
                let others = members.iter().copied().filter(|other| other != member);
                self.storage.instances[*member].siblings = others.collect();
            }
            let names = json.union_types.iter().find(|(name, _)| *name == union.union_type);
            let index = self.storage.unions.len();
            self.storage.unions.push(Union {
                members,
                names: names.map(|(_, names)| names.clone()).unwrap_or_default(),
            });
            self.storage.union_names.insert(union.name.clone(), index);
            self.storage.union_ids.insert(union.id, index);
        }
        for stack in &json.union_stacks {
            let unions = stack.unions.iter().map(|id| self.storage.union_ids.get(id).copied());
            let unions: Option<Vec<usize>> = unions.collect();
            let unions = unions.ok_or_else(|| Error::new("one of the header unions of this stack is not there"));
            let unions = unions.at(&stack.at)?;
            let types = unions.iter().map(|union| self.storage.member_types(*union));
            check_same(types).at(&stack.at)?;
            let storage = self.stack(&stack.name, unions);
            self.storage.union_stacks.insert(stack.name.clone(), storage);
        }
        Ok(())
    }

    fn declare_instance(&mut self, header: &Header) -> Result<()> {
        let json = self.json;
        let found = json.header_types.iter().find(|known| known.name == header.header_type);
        let header_type = found.ok_or_else(|| {
            let known = options(json.header_types.iter().map(|known| known.name.as_str()));
            Error::new(format!("there is no header type `{}`; {known}", header.header_type))
        })?;
        let instance = if header.is_metadata {
            self.declare_struct(header, header_type)?
        } else {
            self.declare_header(header, header_type)?
        };
        let index = self.storage.instances.len();
        self.storage.instances.push(instance);
        self.storage.by_id.insert(header.id, index);
        match self.storage.by_name.insert(header.name.clone(), index) {
            Some(_) => Err(Error::new(format!("two headers have the name `{}`", header.name))),
            None => Ok(()),
        }
    }

    fn declare_struct(&mut self, header: &Header, header_type: &HeaderType) -> Result<Instance> {
        let kind = if INTRINSIC_INSTANCES.contains(&header.name.as_str()) {
            SlotKind::Intrinsic
        } else {
            SlotKind::Metadata
        };
        Ok(Instance {
            name: header.name.clone(),
            type_name: header_type.name.clone(),
            header: None,
            fields: self.declare_fields(header, header_type, kind, kind)?,
            siblings: Vec::new(),
        })
    }

    fn declare_header(&mut self, header: &Header, header_type: &HeaderType) -> Result<Instance> {
        let id = HeaderId(self.program.headers.len() as u32);
        let valid = self.slot(format!("{}.$valid", header.name), 1, false, SlotKind::Valid(id));
        let fields = self.declare_fields(header, header_type, SlotKind::Field(id), SlotKind::VarbitLength(id))?;
        let of_program = fields.iter().map(|field| HeaderField {
            name: field.name.clone(),
            slot: field.slot,
            length: field.length,
        });
        self.program.headers.push(ir::Header {
            name: header.name.clone(),
            type_name: header_type.name.clone(),
            valid,
            fields: of_program.collect(),
        });
        Ok(Instance {
            name: header.name.clone(),
            type_name: header_type.name.clone(),
            header: Some((id, valid)),
            fields,
            siblings: Vec::new(),
        })
    }

    fn declare_fields(
        &mut self,
        header: &Header,
        header_type: &HeaderType,
        kind: SlotKind,
        length_kind: SlotKind,
    ) -> Result<Vec<FieldSlot>> {
        let variable = variable_width(header_type).at(&header_type.at)?;
        let mut fields = Vec::new();
        for field in &header_type.fields {
            let name = format!("{}.{}", header.name, field.name);
            let (width, is_variable) = match field.width {
                FieldWidth::Fixed(width) => (width, false),
                FieldWidth::Variable => (variable, true),
            };
            if width == 0 || width > MAX_WIDTH {
                let message = format!("`{}` has {width} bits; there can be 1 to {MAX_WIDTH}", field.name);
                return Err(Error::new(message).or_at(&header_type.at));
            }
            let slot = self.slot(name.clone(), width, field.signed, kind);
            fields.push(FieldSlot {
                name: field.name.clone(),
                slot,
                length: is_variable.then(|| self.slot(format!("{name}.$length"), 32, false, length_kind)),
                width,
                signed: field.signed,
            });
        }
        Ok(fields)
    }

    /// Names the slots by which the architecture gives and takes.
    fn declare_intrinsics(&mut self) -> Result<()> {
        let aliases = self.json.aliases.iter().filter_map(|(target, field)| {
            let (instance, name) = target.split_once('.')?;
            INTRINSIC_INSTANCES.contains(&instance).then_some((name, field))
        });
        for name in INTRINSIC_INSTANCES {
            let Ok(instance) = self.storage.instance(name) else {
                continue;
            };
            for field in &self.storage.instances[instance].fields {
                self.program.intrinsic.entry(field.name.clone()).or_insert(field.slot);
            }
        }
        for (name, (header, field)) in aliases {
            let slot = self.storage.field(header, field).at("field_aliases")?.slot;
            let is_struct = matches!(self.program.slot(slot).kind, SlotKind::Metadata | SlotKind::Intrinsic);
            if is_struct {
                self.program.slots[slot.index()].kind = SlotKind::Intrinsic;
                self.program.intrinsic.insert(name.to_owned(), slot);
            }
        }
        Ok(())
    }
}

/// What is chosen by an index has the same fields whatever the index is.
fn check_same<T: PartialEq>(mut types: impl Iterator<Item = T>) -> Result<()> {
    let Some(first) = types.next() else { return Ok(()) };
    if types.all(|other| other == first) {
        Ok(())
    } else {
        Err(Error::new("the elements of this stack are of different types"))
    }
}

/// Bits that are kept of the field of variable length; 0 when there is none.
fn variable_width(header_type: &HeaderType) -> Result<u32> {
    let variable = header_type
        .fields
        .iter()
        .filter(|field| field.width == FieldWidth::Variable);
    match variable.count() {
        0 => return Ok(0),
        1 => {}
        count => {
            return Err(Error::new(format!(
                "{count} fields of variable length; a header has at most one"
            )));
        }
    }
    let fixed = header_type.fields.iter().map(|field| match field.width {
        FieldWidth::Fixed(width) => u64::from(width),
        FieldWidth::Variable => 0,
    });
    let fixed: u64 = fixed.sum();
    let longest = header_type
        .max_length
        .ok_or_else(|| Error::new("the attribute `max_length` is missing, which a field of variable length needs"))?;
    let width = (u64::from(longest) * 8).saturating_sub(fixed);
    Ok(width.min(u64::from(MAX_WIDTH)) as u32)
}
