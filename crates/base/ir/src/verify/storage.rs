//! Slots, headers, roles of bodies.

use super::{Place, Rule, Verifier};
use crate::{Header, HeaderId, SlotId, SlotKind};
use std::collections::BTreeSet;

impl Verifier<'_> {
    pub(super) fn storage(&mut self) {
        self.errors_of_program();
        self.slots();
        for (index, header) in self.program.headers.iter().enumerate() {
            self.place = Place::Declaration("header", header.name.clone());
            self.header(HeaderId(index as u32), header);
        }
        self.slot_owners();
        self.place = Place::Program;
        self.stages();
        self.named_slots();
    }

    fn errors_of_program(&mut self) {
        let errors = &self.program.errors;
        let first = errors.first().is_none_or(|name| name == "NoError");
        self.require(first, Rule::ErrorNames, || "error 0 is not NoError".to_owned());
        let distinct: BTreeSet<&String> = errors.iter().collect();
        self.require(distinct.len() == errors.len(), Rule::ErrorNames, || {
            "two errors have one name".to_owned()
        });
    }

    fn slots(&mut self) {
        for slot in &self.program.slots {
            self.place = Place::Declaration("slot", slot.name.clone());
            self.width_limit(slot.width);
            match slot.kind {
                SlotKind::Field(header) => {
                    self.in_range("header", header.0, self.program.headers.len());
                }
                SlotKind::Valid(header) => {
                    self.in_range("header", header.0, self.program.headers.len());
                    self.same_width("a validity bit", slot.width, 1);
                }
                SlotKind::VarbitLength(header) => {
                    self.in_range("header", header.0, self.program.headers.len());
                    self.same_width("a varbit length", slot.width, 32);
                }
                SlotKind::NextIndex => self.same_width("a stack index", slot.width, 32),
                SlotKind::Metadata | SlotKind::Intrinsic | SlotKind::Local | SlotKind::Request => {}
            }
        }
    }

    fn header(&mut self, id: HeaderId, header: &Header) {
        self.header_slot(header.valid, SlotKind::Valid(id));
        for field in &header.fields {
            self.header_slot(field.slot, SlotKind::Field(id));
            if let Some(length) = field.length {
                self.header_slot(length, SlotKind::VarbitLength(id));
            }
        }
        let varbits = header.fields.iter().filter(|field| field.length.is_some()).count();
        self.require(varbits <= 1, Rule::OneVarbit, || format!("{varbits} varbit fields"));
    }

    fn header_slot(&mut self, slot: SlotId, kind: SlotKind) {
        if self.in_range("slot", slot.0, self.program.slots.len()) {
            let found = self.program.slot(slot).kind;
            self.require(found == kind, Rule::HeaderSlot, || {
                format!("{} is {found:?}, expected {kind:?}", self.program.slot(slot).name)
            });
        }
    }

    /// Checks that a header names each of its slots exactly once.
    fn slot_owners(&mut self) {
        let mut named = vec![0u32; self.program.slots.len()];
        for header in &self.program.headers {
            let fields = header
                .fields
                .iter()
                .flat_map(|field| [Some(field.slot), field.length])
                .flatten();
            for slot in fields.chain([header.valid]) {
                if let Some(count) = named.get_mut(slot.index()) {
                    *count += 1;
                }
            }
        }
        for (slot, count) in self.program.slots.iter().zip(named) {
            let belongs = matches!(
                slot.kind,
                SlotKind::Field(_) | SlotKind::Valid(_) | SlotKind::VarbitLength(_)
            );
            self.place = Place::Declaration("slot", slot.name.clone());
            self.require(!belongs || count == 1, Rule::SlotOwner, || {
                format!("headers name it {count} times")
            });
        }
    }

    fn stages(&mut self) {
        for &role in self.program.architecture.roles() {
            let Some(body) = self.program.stages.get(&role) else {
                self.report(Rule::StageMissing, format!("no body plays {role:?}"));
                continue;
            };
            if !self.in_range("body", body.0, self.program.bodies.len()) {
                continue;
            }
            let kind = self.program.bodies[body.index()].kind;
            let expected = role.kind();
            self.require(kind == expected, Rule::StageKind, || {
                format!("{role:?} is played by a {kind:?}")
            });
        }
    }

    fn named_slots(&mut self) {
        for (name, slot) in &self.program.intrinsic {
            if self.in_range("slot", slot.0, self.program.slots.len()) {
                let kind = self.program.slot(*slot).kind;
                let is_intrinsic = kind == SlotKind::Intrinsic;
                self.require(is_intrinsic, Rule::IntrinsicKind, || {
                    format!("{name} is stored in a slot of {kind:?}")
                });
            }
        }
        for slot in self.program.field_lists.values().flatten() {
            self.in_range("slot", slot.0, self.program.slots.len());
        }
    }
}
