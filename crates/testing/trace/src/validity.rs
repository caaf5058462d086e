//! Which headers are valid while a packet goes from its parser to the next decision about it, so that a trace can say
//! where a program uses the fields of one that is not. What follows a decision may be about a copy of the packet.

use forebay_ir::{BodyKind, Expr, HeaderId, Program, SlotId, SlotKind};
use forebay_pipeline::Event;
use std::collections::HashSet;

/// The valid headers of the present packet.
#[derive(Default)]
pub struct Validity {
    /// Whether the packet has been followed since its parser began.
    is_known: bool,
    valid: HashSet<HeaderId>,
}

impl Validity {
    /// Takes note of a step.
    pub fn follow(&mut self, program: &Program, event: &Event<'_>) {
        match event {
            Event::Enter {
                kind: BodyKind::Parser, ..
            } => {
                self.is_known = true;
                self.valid.clear();
            }
            Event::Verdict { .. } => self.is_known = false,
            Event::Extract { header, .. } => {
                self.valid.insert(*header);
            }
            Event::Assign { slot, new, .. } => {
                if let SlotKind::Valid(header) = program.slot(*slot).kind {
                    if new.is_zero() {
                        self.valid.remove(&header);
                    } else {
                        self.valid.insert(header);
                    }
                }
            }
            _ => {}
        }
    }

    /// The name of the header to which a field belongs, if it is invalid now.
    pub fn invalid_header<'p>(&self, program: &'p Program, field: SlotId) -> Option<&'p str> {
        match program.slot(field).kind {
            SlotKind::Field(header) if self.is_known && !self.valid.contains(&header) => {
                Some(&program.headers[header.index()].name)
            }
            _ => None,
        }
    }

    /// The invalid headers whose fields are keys of the table that is looked up, each once.
    pub fn invalid_keys<'p>(&self, program: &'p Program, event: &Event<'_>) -> Vec<&'p str> {
        let Event::Lookup { table, .. } = event else {
            return Vec::new();
        };
        let keys = program.tables[table.index()].keys.iter();
        let mut headers: Vec<&str> = keys
            .filter_map(|key| match key.expr {
                Expr::Slot(slot) => self.invalid_header(program, slot),
                _ => None,
            })
            .collect();
        headers.dedup();
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_bits::Bits;
    use forebay_ir::Location;

    #[test]
    fn a_header_is_valid_from_its_extraction_until_it_is_made_invalid() {
        let text = include_str!("../../../dataplane/switch/tests/operations.ir");
        let program = forebay_ir::text::read(text).expect("a program");
        let header = &program.headers[0];
        let (field, valid) = (header.fields[0].slot, header.valid);
        let location = Location::default();
        let mut validity = Validity::default();
        assert_eq!(validity.invalid_header(&program, field), None, "nothing is known");
        let kind = BodyKind::Parser;
        validity.follow(&program, &Event::Enter { body: "P", kind });
        assert_eq!(validity.invalid_header(&program, field), Some("hdr.h"));
        assert_eq!(validity.invalid_header(&program, valid), None, "it is no field");
        let extract = Event::Extract {
            header: HeaderId(0),
            fields: &[],
            cursor: 16,
            location,
        };
        validity.follow(&program, &extract);
        assert_eq!(validity.invalid_header(&program, field), None);
        let (old, new) = (Bits::new(1, 1), Bits::zero(1));
        let set_invalid = Event::Assign {
            slot: valid,
            old: &old,
            new: &new,
            location,
        };
        validity.follow(&program, &set_invalid);
        assert_eq!(validity.invalid_header(&program, field), Some("hdr.h"));
        let text = "enqueue for port 1";
        validity.follow(&program, &Event::Verdict { text });
        assert_eq!(validity.invalid_header(&program, field), None, "it may be a copy");
    }
}
