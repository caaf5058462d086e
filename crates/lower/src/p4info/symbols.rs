//! The names that get ids.

use super::{annotations, packets};
use crate::context::Context;
use forebay_p4info::ids::{SymbolKind, SymbolTable};

/// Every object of the program.
pub fn collect(cx: &Context) -> SymbolTable {
    let mut symbols = SymbolTable::new();
    let (program, origins, hir) = (&cx.program, &cx.origins, cx.hir);
    for (action, origin) in program.actions.iter().zip(&origins.actions) {
        let id = origin.and_then(|origin| annotations::id(&hir.actions[origin.index()].annotations));
        symbols.add(SymbolKind::Action, &action.name, id);
    }
    for (name, origin) in &origins.called_actions {
        symbols.add(
            SymbolKind::Action,
            name,
            annotations::id(&hir.actions[origin.index()].annotations),
        );
    }
    for (table, origin) in program.tables.iter().zip(&origins.tables) {
        symbols.add(
            SymbolKind::Table,
            &table.name,
            annotations::id(&hir.tables[origin.index()].annotations),
        );
    }
    for (set, (origin, _)) in program.value_sets.iter().zip(&origins.value_sets) {
        symbols.add(
            SymbolKind::ValueSet,
            &set.name,
            annotations::id(&hir.value_sets[origin.index()].annotations),
        );
    }
    for (header, _) in packets::controller_headers(cx) {
        symbols.add(
            SymbolKind::ControllerHeader,
            &header.name,
            annotations::id(&header.annotations),
        );
    }
    for (profile, origin) in program.action_profiles.iter().zip(&origins.action_profiles) {
        symbols.add(
            SymbolKind::ActionProfile,
            &profile.name,
            annotations::id(&origin.annotations),
        );
    }
    for (counter, origin) in program.counters.iter().zip(&origins.counters) {
        let kind = if counter.size.is_some() {
            SymbolKind::Counter
        } else {
            SymbolKind::DirectCounter
        };
        symbols.add(kind, &counter.name, annotations::id(&origin.annotations));
    }
    for (meter, origin) in program.meters.iter().zip(&origins.meters) {
        let kind = if meter.size.is_some() {
            SymbolKind::Meter
        } else {
            SymbolKind::DirectMeter
        };
        symbols.add(kind, &meter.name, annotations::id(&origin.annotations));
    }
    for (register, origin) in program.registers.iter().zip(&origins.registers) {
        symbols.add(
            SymbolKind::Register,
            &register.name,
            annotations::id(&origin.annotations),
        );
    }
    for digest in &program.digests {
        symbols.add(SymbolKind::Digest, &digest.name, None);
    }
    symbols
}
