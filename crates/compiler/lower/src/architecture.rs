//! v1model: the blocks of `V1Switch` and what they share.
//!
//! The architecture passes headers, user metadata and standard metadata from block to block. So all blocks share one
//! storage for each of the three, and the parameters of every block are bound to it.

use crate::context::Context;
use crate::control;
use crate::elaborate;
use crate::environment::Binding;
use crate::object::{Object, ObjectId};
use crate::parser;
use crate::storage::{self, Storage};
use crate::types;
use crate::value::Value;
use forebay_check::annotations;
use forebay_check::hir::{self, Type};
use forebay_ir::{Body, BodyId, BodyKind, Role, SlotId, SlotKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_traits::ToPrimitive;
use std::collections::BTreeSet;

/// The package of v1model.
pub const V1MODEL_PACKAGE: &str = "V1Switch";

/// The blocks of v1model in order of the package's parameters.
const ROLES: [Role; 6] = [
    Role::Parser,
    Role::VerifyChecksum,
    Role::Ingress,
    Role::Egress,
    Role::ComputeChecksum,
    Role::Deparser,
];

/// The storage that the blocks share.
struct Shared {
    headers: Storage,
    metadata: Storage,
    standard_metadata: Storage,
}

/// Name of the package that `main` instantiates, and the instance.
pub fn main_package(program: &hir::Program) -> Option<(&str, hir::InstanceId)> {
    let main = program.main?;
    match &program.instances[main.index()].ty {
        Type::Package(id, _) => Some((&program.packages[id.index()].name, main)),
        _ => None,
    }
}

/// Lowers the program from `main`.
pub fn lower_main(cx: &mut Context) {
    let hir = cx.hir;
    let Some((package, main)) = main_package(hir) else {
        let message = "the program has no instance named `main` of a package";
        let hint = "end the program with `V1Switch(MyParser(), ...) main;`";
        cx.diagnostics
            .push(Diagnostic::error(codes::NO_MAIN, Span::NONE, message).hint(hint));
        return;
    };
    if package != V1MODEL_PACKAGE {
        let message = format!("programs for the package `{package}` can be checked, but not executed");
        let diagnostic = Diagnostic::error(
            codes::UNSUPPORTED_ARCHITECTURE,
            hir.instances[main.index()].span,
            message,
        );
        cx.diagnostics
            .push(diagnostic.hint("the architecture that can be executed is v1model, package `V1Switch`"));
        return;
    }
    elaborate::top_level(cx);
    let object = cx.environment.instance(main).map(|id| cx.object(id).clone());
    let Some(Object::Package(args)) = object else { return };
    lower_blocks(cx, &args, hir.instances[main.index()].span);
}

fn lower_blocks(cx: &mut Context, args: &[Option<Value>], span: Span) {
    let blocks: Vec<Option<ObjectId>> = args
        .iter()
        .map(|arg| match arg {
            Some(Value::Object(id)) => Some(*id),
            _ => None,
        })
        .collect();
    let Some(shared) = blocks.first().copied().flatten().and_then(|parser| share(cx, parser)) else {
        cx.error(
            codes::UNSUPPORTED_ARCHITECTURE,
            span,
            "the first argument of `V1Switch` must be a parser",
        );
        return;
    };
    for (role, block) in ROLES.iter().zip(blocks) {
        let Some(block) = block else {
            cx.error(
                codes::UNSUPPORTED_ARCHITECTURE,
                span,
                format!("`V1Switch` lacks its block {role:?}"),
            );
            continue;
        };
        cx.role = Some(*role);
        if let Some(body) = lower_block(cx, *role, block, &shared) {
            let id = BodyId(cx.program.bodies.len() as u32);
            cx.program.bodies.push(body);
            cx.program.stages.insert(*role, id);
        }
        if cx.aborted {
            return;
        }
    }
}

fn lower_block(cx: &mut Context, role: Role, block: ObjectId, shared: &Shared) -> Option<Body> {
    let stored = |storage: &Storage| Binding::Storage(storage.clone());
    let (headers, metadata) = (stored(&shared.headers), stored(&shared.metadata));
    let standard_metadata = stored(&shared.standard_metadata);
    match role {
        Role::Parser => {
            let packet = packet(cx, Object::PacketIn);
            parser::lower_top(cx, block, vec![packet, headers, metadata, standard_metadata])
        }
        Role::VerifyChecksum | Role::ComputeChecksum => {
            control::lower_top(cx, block, vec![headers, metadata], BodyKind::Control)
        }
        Role::Ingress | Role::Egress => {
            control::lower_top(cx, block, vec![headers, metadata, standard_metadata], BodyKind::Control)
        }
        Role::Deparser => {
            let packet = packet(cx, Object::PacketOut);
            control::lower_top(cx, block, vec![packet, headers], BodyKind::Deparser)
        }
    }
}

fn packet(cx: &mut Context, object: Object) -> Binding {
    Binding::Value(Value::Object(cx.add_object(object)))
}

/// Allocates what the blocks share, with the types and names of the parser's parameters.
fn share(cx: &mut Context, parser: ObjectId) -> Option<Shared> {
    let Object::Parser(instance) = cx.object(parser).clone() else {
        return None;
    };
    elaborate::install(cx, &instance.scope);
    let params = &cx.hir.parsers[instance.parser.index()].params;
    let mut storages = Vec::new();
    for (index, param) in params.iter().enumerate().skip(1) {
        let var = &cx.hir.vars[param.var.index()];
        let ty = types::resolve(cx, &var.ty);
        let kind = if index == 3 {
            SlotKind::Intrinsic
        } else {
            SlotKind::Metadata
        };
        let storage = storage::allocate(cx, &ty, &var.name, kind, var.span);
        if index == 3 {
            name_intrinsics(cx, &storage, &ty);
        } else {
            let mut lists = BTreeSet::new();
            field_lists(cx, &storage, &ty, &mut lists);
        }
        storages.push(storage);
    }
    let mut storages = storages.into_iter();
    Some(Shared {
        headers: storages.next()?,
        metadata: storages.next()?,
        standard_metadata: storages.next()?,
    })
}

fn name_intrinsics(cx: &mut Context, storage: &Storage, ty: &Type) {
    let Type::Composite(id, args) = ty else { return };
    for ((name, _), part) in types::fields(cx, *id, args).into_iter().zip(storage.components()) {
        if let Storage::Scalar(slot) = part {
            cx.program.intrinsic.insert(name, *slot);
        }
    }
}

/// Collects the fields that `@field_list(i)` marks; a marked struct is all of its fields. `lists` are the lists that the
/// struct around is in.
fn field_lists(cx: &mut Context, storage: &Storage, ty: &Type, lists: &mut BTreeSet<u32>) {
    let Type::Composite(id, args) = ty else { return };
    let declared = &cx.hir.composites[id.index()].fields;
    let types = types::fields(cx, *id, args);
    for ((field, (_, ty)), part) in declared.iter().zip(types).zip(storage.components()) {
        let mut all = lists.clone();
        all.extend(marks(&field.annotations));
        match (&ty, part) {
            (Type::Composite(..), Storage::Group(_)) => field_lists(cx, part, &ty, &mut all),
            _ => add_to_lists(cx, &part.slots(), &all),
        }
    }
}

fn add_to_lists(cx: &mut Context, slots: &[SlotId], lists: &BTreeSet<u32>) {
    for list in lists {
        cx.program
            .field_lists
            .entry(*list)
            .or_default()
            .extend_from_slice(slots);
    }
}

fn marks(written: &hir::Annotations) -> Vec<u32> {
    let lists = written.iter().filter(|annotation| annotation.name.name == "field_list");
    let values = lists.flat_map(annotations::values);
    values
        .filter_map(|value| match value {
            annotations::Value::Int(number) => number.to_u32(),
            _ => None,
        })
        .collect()
}
