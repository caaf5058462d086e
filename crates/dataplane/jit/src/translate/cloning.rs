//! The fast path: clones from ingress. The packet itself goes on; where ingress has ended its frame, as it came, is noted with what the
//! clone keeps. The burst ends behind the packet if the next one could tell that the clone has not been executed before it.

use super::Translator;
use super::value::{ActionData, Value};
use crate::route::plan::Leaf;
use crate::route::{BailOut, Route};
use crate::runtime::{self, CloneShape};
use cranelift_codegen::ir::types;
use cranelift_frontend::Variable;
use forebay_ir::Expr;

/// What the program asked for last.
#[derive(Clone, Copy)]
pub(super) struct CloneWanted {
    /// 0 when it has asked for nothing.
    wanted: Variable,
    session: Variable,
    field_list: Variable,
}

impl Translator<'_, '_, '_> {
    /// Behind the parser: no clone is wanted.
    pub(super) fn begin_cloning(&mut self, route: &Route, leaf: &Leaf) {
        self.clone_wanted = None;
        if !leaf.notes.clones || !route.clones(&leaf.program) {
            return;
        }
        let zero = self.number(0);
        let [wanted, session, field_list] = std::array::from_fn(|_| {
            let variable = self.builder.declare_var(types::I64);
            self.builder.def_var(variable, zero);
            variable
        });
        self.clone_wanted = Some(CloneWanted {
            wanted,
            session,
            field_list,
        });
    }

    /// The last one counts, as on the slow path.
    pub(super) fn clone_on_fast_path(&mut self, session: &Expr, field_list: Option<&Expr>, data: Option<&ActionData>) {
        let Some(clone) = self.clone_wanted else {
            return self.bail_out(BailOut::Clone);
        };
        let session = self.word_of(session, data);
        let field_list = self.field_list(field_list, data);
        let one = self.number(1);
        for (variable, value) in [
            (clone.wanted, one),
            (clone.session, session),
            (clone.field_list, field_list),
        ] {
            self.builder.def_var(variable, value);
        }
    }

    /// Behind ingress, where the packet cannot bail out before egress: notes the clone, if one is wanted.
    pub(super) fn note_clone(&mut self, route: &Route) {
        let Some(clone) = self.clone_wanted else { return };
        let wanted = self.builder.use_var(clone.wanted);
        self.when_rarely(wanted, |translator| {
            let kept: Vec<Value> = route.preserved.iter().map(|slot| translator.read_slot(*slot)).collect();
            let shape = CloneShape {
                widths: kept.iter().map(|value| value.width).collect(),
                ends_burst: !route.clones_commute(translator.program),
            };
            let shape = translator.environment.pool.keep(shape);
            let shape = translator.pointer(shape);
            let values = translator.store_all(&kept);
            translator.tell_packet();
            let session = translator.builder.use_var(clone.session);
            let field_list = translator.builder.use_var(clone.field_list);
            let place = translator.place_in_burst();
            let arguments = [translator.context, shape, values, session, field_list, place];
            translator.call(runtime::NOTE_CLONE, &arguments);
        });
    }
}
