//! The blocks of the architectures and what they share.
//!
//! An architecture passes headers and metadata from block to block. So the blocks share one storage for each of them,
//! to which the parameters of every block are bound. This module has v1model, and what all architectures need; [`psa`]
//! and [`pna`] have the others.

pub mod pna;
mod psa;

use crate::context::Context;
use crate::control;
use crate::elaborate;
use crate::environment::Binding;
use crate::graph;
use crate::object::{Object, ObjectId};
use crate::parser;
use crate::storage::{self, Storage};
use crate::types;
use crate::value::Value;
use forebay_check::annotations;
use forebay_check::hir::{self, Type};
use forebay_ir::{Architecture, Body, BodyId, BodyKind, Role, SlotId, SlotKind};
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_traits::ToPrimitive;
use std::collections::BTreeSet;

/// The package of v1model.
const V1MODEL_PACKAGE: &str = "V1Switch";

/// The packages of architectures that can be executed.
const PACKAGES: &[(&str, Architecture)] = &[
    (V1MODEL_PACKAGE, Architecture::V1Model),
    (psa::PACKAGE, Architecture::Psa),
    (pna::PACKAGE, Architecture::Pna),
];

/// The architecture of a package, if its programs can be executed.
pub fn of_package(name: &str) -> Option<Architecture> {
    let found = PACKAGES.iter().find(|(package, _)| *package == name);
    found.map(|(_, architecture)| *architecture)
}

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

const WITHOUT_MAIN: &str = "the program has no instance named `main` of a package";

/// The message about a program that has a parser and a deparser, and no package; or whose only packages have other names
/// than `main`: then it marks the last one.
pub fn misnamed_main(program: &hir::Program) -> Option<Diagnostic> {
    let instances = program.top_instances.iter().map(|id| &program.instances[id.index()]);
    let Some(package) = instances
        .rev()
        .find(|instance| matches!(instance.ty, Type::Package(..)))
    else {
        return has_all_but_main(program).then(without_main);
    };
    let diagnostic = Diagnostic::error(codes::NO_MAIN, package.span, WITHOUT_MAIN);
    let is_misnamed = program.main.is_none();
    is_misnamed.then(|| diagnostic.hint(format!("name this one `main`, not `{}`", package.name)))
}

/// Whether there are a parser and a deparser, so that the file is more than a library.
fn has_all_but_main(program: &hir::Program) -> bool {
    let is_packet = |param: &hir::Param| match &program.vars[param.var.index()].ty {
        Type::Extern(id, _) => program.externs[id.index()].name == "packet_out",
        _ => false,
    };
    let mut controls = program.controls.iter().filter(|control| control.body.is_some());
    program.parsers.iter().any(|parser| parser.body.is_some())
        && controls.any(|control| control.params.iter().any(is_packet))
}

fn without_main() -> Diagnostic {
    let hint = "end the program with `V1Switch(MyParser(), ...) main;`";
    Diagnostic::error(codes::NO_MAIN, Span::NONE, WITHOUT_MAIN).hint(hint)
}

fn no_main(program: &hir::Program) -> Diagnostic {
    misnamed_main(program).unwrap_or_else(without_main)
}

/// Lowers the program from `main`.
pub fn lower_main(cx: &mut Context) {
    let hir = cx.hir;
    let Some((package, main)) = main_package(hir) else {
        cx.diagnostics.push(no_main(hir));
        return;
    };
    let Some(architecture) = of_package(package) else {
        let message = format!("programs for the package `{package}` can be checked, but not executed");
        let diagnostic = Diagnostic::error(
            codes::UNSUPPORTED_ARCHITECTURE,
            hir.instances[main.index()].span,
            message,
        );
        let names: Vec<String> = PACKAGES.iter().map(|(package, _)| format!("`{package}`")).collect();
        let hint = format!(
            "the packages of architectures that can be executed are {}",
            names.join(", ")
        );
        cx.diagnostics.push(diagnostic.hint(hint));
        return;
    };
    cx.program.architecture = architecture;
    elaborate::top_level(cx, main);
    let object = cx.environment.instance(main).map(|id| cx.object(id).clone());
    let Some(Object::Package(args)) = object else { return };
    let span = hir.instances[main.index()].span;
    match architecture {
        Architecture::V1Model => lower_blocks(cx, &args, span),
        Architecture::Psa => psa::lower_blocks(cx, &args, span),
        Architecture::Pna => pna::lower_blocks(cx, &args, span),
    }
}

/// The parsers and controls that a package was instantiated with; `None` when the value is not a package.
fn package_args(cx: &Context, value: Option<&Value>) -> Option<Vec<ObjectId>> {
    let Some(Value::Object(id)) = value else { return None };
    let Object::Package(args) = cx.object(*id) else {
        return None;
    };
    let block = |arg: &Option<Value>| match arg {
        Some(Value::Object(id)) => Some(*id),
        _ => None,
    };
    args.iter().map(block).collect()
}

/// The parameters of a parser or control. From here on, names are resolved in its scope.
fn params<'c>(cx: &mut Context<'c>, block: ObjectId) -> Option<&'c [hir::Param]> {
    let (params, scope) = match cx.object(block).clone() {
        Object::Parser(instance) => (&cx.hir.parsers[instance.parser.index()].params, instance.scope),
        Object::Control(instance) => (&cx.hir.controls[instance.control.index()].params, instance.scope),
        _ => return None,
    };
    elaborate::install(cx, &scope);
    Some(params)
}

/// Storage for a parameter of a block, under its name, with a prefix if one is given.
fn param_storage(
    cx: &mut Context,
    block: ObjectId,
    index: usize,
    prefix: Option<&str>,
    kind: SlotKind,
) -> Option<Storage> {
    let param = params(cx, block)?.get(index)?;
    let var = &cx.hir.vars[param.var.index()];
    let name = match prefix {
        Some(prefix) => format!("{prefix}.{}", var.name),
        None => var.name.clone(),
    };
    let ty = types::resolve(cx, &var.ty);
    Some(storage::allocate(cx, &ty, &name, kind, var.span))
}

/// Storage for a parameter that is a struct of intrinsic metadata. The names of its fields have the struct's name as a
/// prefix.
fn name_intrinsics(cx: &mut Context, block: ObjectId, index: usize, name: &str) -> Option<Storage> {
    let param = params(cx, block)?.get(index)?;
    let var = &cx.hir.vars[param.var.index()];
    let ty = types::resolve(cx, &var.ty);
    let storage = storage::allocate(cx, &ty, name, SlotKind::Intrinsic, var.span);
    let Type::Composite(id, args) = &ty else { return None };
    for ((field, _), part) in types::fields(cx, *id, args).into_iter().zip(storage.components()) {
        if let Storage::Scalar(slot) = part {
            cx.program.intrinsic.insert(format!("{name}.{field}"), *slot);
        }
    }
    Some(storage)
}

/// Lowers a block. Its parameters after the packet's, if it has one, are bound to `stored`.
fn block_bodies(cx: &mut Context, role: Role, block: ObjectId, stored: &[&Storage]) -> Option<()> {
    let count = params(cx, block)?.len();
    let stored = stored.iter().map(|storage| Binding::Storage((*storage).clone()));
    cx.role = Some(role);
    let packet = match role.kind() {
        BodyKind::Parser => Some(packet(cx, Object::PacketIn)),
        BodyKind::Deparser => Some(packet(cx, Object::PacketOut)),
        _ => None,
    };
    let mut params: Vec<Binding> = packet.into_iter().chain(stored).collect();
    let further = further_objects(cx, block, params.len());
    params.extend(further);
    if params.len() != count {
        return None;
    }
    let body = match role.kind() {
        BodyKind::Parser => parser::lower_top(cx, block, params)?,
        kind => control::lower_top(cx, block, params, kind)?,
    };
    add_stage(cx, role, body);
    (!cx.aborted).then_some(())
}

/// Bindings of further parameters that are extern objects of the target. These are not executed.
fn further_objects(cx: &mut Context, block: ObjectId, first: usize) -> Vec<Binding> {
    let declared = params(cx, block).unwrap_or_default();
    let hir = cx.hir;
    let ty = |param: &hir::Param| &hir.vars[param.var.index()].ty;
    let objects = declared
        .iter()
        .skip(first)
        .take_while(|param| matches!(ty(param), Type::Extern(..)));
    let count = objects.count();
    (0..count)
        .map(|_| Binding::Value(Value::Object(cx.add_object(Object::OfTarget))))
        .collect()
}

/// An empty body for a block that the program leaves out.
fn empty_body(cx: &mut Context, role: Role) {
    let interrupted = graph::begin(cx, format!("{role:?}"), role.kind());
    let body = graph::end(cx, interrupted);
    add_stage(cx, role, body);
}

fn add_stage(cx: &mut Context, role: Role, body: Body) {
    let id = BodyId(cx.program.bodies.len() as u32);
    cx.program.bodies.push(body);
    cx.program.stages.insert(role, id);
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
    warn_of_exchanged_blocks(cx, &blocks, span);
    for (role, block) in Architecture::V1Model.roles().iter().zip(blocks) {
        let Some(block) = block else {
            cx.error(
                codes::UNSUPPORTED_ARCHITECTURE,
                span,
                format!("`V1Switch` lacks its block {role:?}"),
            );
            continue;
        };
        block_bodies(cx, *role, block, &shared.of_block(*role));
        if cx.aborted {
            return;
        }
    }
}

/// Warns when a control called egress is the ingress of `V1Switch`, and one called ingress its egress: both fit both
/// places.
fn warn_of_exchanged_blocks(cx: &mut Context, blocks: &[Option<ObjectId>], span: Span) {
    let hir = cx.hir;
    let name_of = |role: Role| {
        let place = Architecture::V1Model.roles().iter().position(|other| *other == role)?;
        match cx.object((*blocks.get(place)?)?) {
            Object::Control(instance) => Some(hir.controls[instance.control.index()].name.clone()),
            _ => None,
        }
    };
    let (Some(ingress), Some(egress)) = (name_of(Role::Ingress), name_of(Role::Egress)) else {
        return;
    };
    if !ingress.to_lowercase().contains("egress") || !egress.to_lowercase().contains("ingress") {
        return;
    }
    let message = format!("`{ingress}` is the ingress of `V1Switch` here, and `{egress}` its egress");
    let hint = "the order is V1Switch(parser, VerifyChecksum, ingress, egress, ComputeChecksum, deparser)";
    cx.diagnostics
        .push(Diagnostic::warning(codes::EXCHANGED_BLOCKS, span, message).hint(hint));
}

impl Shared {
    /// The storages for the parameters of a v1model block after the packet's, in order.
    fn of_block(&self, role: Role) -> Vec<&Storage> {
        match role {
            Role::VerifyChecksum | Role::ComputeChecksum => vec![&self.headers, &self.metadata],
            Role::Deparser => vec![&self.headers],
            _ => vec![&self.headers, &self.metadata, &self.standard_metadata],
        }
    }
}

fn packet(cx: &mut Context, object: Object) -> Binding {
    Binding::Value(Value::Object(cx.add_object(object)))
}

/// Allocates the shared storages, with the types and names of the parser's parameters.
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
            name_standard_metadata(cx, &storage, &ty);
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

fn name_standard_metadata(cx: &mut Context, storage: &Storage, ty: &Type) {
    let Type::Composite(id, args) = ty else { return };
    for ((name, _), part) in types::fields(cx, *id, args).into_iter().zip(storage.components()) {
        if let Storage::Scalar(slot) = part {
            cx.program.intrinsic.insert(name, *slot);
        }
    }
}

/// Collects the fields that `@field_list(i)` marks; a marked struct stands for all of its fields. `lists` are the
/// lists of the enclosing struct.
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
