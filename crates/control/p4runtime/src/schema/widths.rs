//! Widths of translated types in the data plane. A P4Info says those of the controller only; the program says those of
//! the fields that have these types.

use super::packets;
use super::tables::name;
use crate::data;
use forebay_ir::{MatchKind, Program};
use forebay_protocol::p4::config::v1::{P4Info, P4NamedType, P4TypeInfo};
use std::collections::BTreeMap;

/// The width of each type of which a field says it, by the name of the type.
pub(super) fn widths(info: &P4Info, program: &Program) -> BTreeMap<String, u32> {
    let mut widths = BTreeMap::new();
    let mut note = |name: Option<&P4NamedType>, width: u32| {
        if let Some(name) = name {
            widths.insert(name.name.clone(), width);
        }
    };
    for table in &info.tables {
        let declared = program.tables.iter().find(|known| known.name == name(&table.preamble));
        let keys = declared.into_iter().flat_map(|declared| &declared.keys);
        let keys = keys.filter(|key| key.match_kind != MatchKind::Selector);
        let fields = table.match_fields.iter().zip(keys);
        fields.for_each(|(field, key)| note(field.type_name.as_ref(), key.width));
    }
    for action in &info.actions {
        let declared = program
            .actions
            .iter()
            .find(|known| known.name == name(&action.preamble));
        let params = declared.into_iter().flat_map(|declared| &declared.params);
        let params = action.params.iter().zip(params);
        params.for_each(|(param, declared)| note(param.type_name.as_ref(), declared.width));
    }
    for header in &info.controller_packet_metadata {
        for (field, width) in packets::widths(program, header) {
            note(field.type_name.as_ref(), width);
        }
    }
    let none = P4TypeInfo::default();
    let types = info.type_info.as_ref().unwrap_or(&none);
    for register in &info.registers {
        let declared = program
            .registers
            .iter()
            .find(|known| known.name == name(&register.preamble));
        if let (Some(declared), Some(spec)) = (declared, &register.type_spec) {
            let only = data::only_width(types, spec, declared.width, &|name| widths.get(name).copied());
            widths.extend(only);
        }
    }
    widths
}
