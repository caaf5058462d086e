//! The parts of a program that the control plane sees, each once, by name.
//!
//! Starting at `main`, controls and parsers are followed where they are applied. A control that several instances
//! share appears once for each of them, under their names.

use super::architecture::{Architecture, ExternKind};
use super::instance::{Instances, ObjectId, ObjectKind, Scope};
use super::number::Numbered;
use super::types;
use super::usage;
use super::value::{self, Value};
use crate::limits::{self, MAX_INLINE_DEPTH, MAX_OBJECTS, TOO_LARGE};
use crate::names;
use forebay_check::annotations;
use forebay_check::hir::{
    Action, ActionId, Call, Callee, Composite, ControlId, Expr, ExprKind, FunctionId, KeySet, Local, Node, ParserBody,
    ParserId, Program, StateTarget, Statement, Table, TableAction, TableId, Transition, Type, ValueSet, calls,
};
use forebay_check::types::Substitution;
use forebay_p4info::ids::SymbolKind;
use forebay_syntax::ast::CompositeKind;
use forebay_syntax::codes::lower as codes;
use forebay_syntax::diagnostic::{Diagnostic, Diagnostics};
use forebay_syntax::source::Span;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Everything that the control plane sees, by name.
pub struct Catalog<'a> {
    /// Every instance.
    pub instances: Instances<'a>,
    /// Tables that are applied.
    pub tables: BTreeMap<String, UsedTable<'a>>,
    /// Actions that these tables list, or that the apply blocks around them call.
    pub actions: BTreeMap<String, UsedAction<'a>>,
    /// Extern objects that P4Runtime supports.
    pub externs: BTreeMap<ObjectId, ExternKind>,
    /// Digests that extern functions send.
    pub digests: BTreeMap<String, Digest>,
    /// The names of those whose data has no named type.
    pub digest_names: DigestNames,
    /// Value sets that parsers select on.
    pub value_sets: BTreeMap<String, UsedValueSet<'a>>,
    /// Header types with `@controller_header`.
    pub packet_headers: Vec<&'a Composite>,
}

/// Names of digests, by the call and the type of its data, which differs where the call is in something generic.
pub type DigestNames = HashMap<(*const Call, Type), String>;

/// A table of one instance of a control.
pub struct UsedTable<'a> {
    /// Its control-plane name.
    pub name: String,
    /// Its declaration.
    pub table: &'a Table,
    /// The meanings of names around it.
    pub scope: Rc<Scope>,
    /// Its actions, in order of its list.
    pub actions: Vec<ListedAction<'a>>,
    /// Its action profile.
    pub implementation: Option<ObjectId>,
    /// Its direct counter.
    pub counter: Option<ObjectId>,
    /// Its direct meter.
    pub meter: Option<ObjectId>,
}

/// An action in a table's list.
pub struct ListedAction<'a> {
    /// Its control-plane name.
    pub name: String,
    /// Its reference in the list; `None` for the `NoAction` that a table without a default action gets (§14.2.1.3).
    pub listed: Option<&'a TableAction>,
}

/// An action.
pub struct UsedAction<'a> {
    /// Its control-plane name.
    pub name: String,
    /// Its declaration.
    pub action: &'a Action,
    /// The meanings of names around it.
    pub scope: Rc<Scope>,
    /// Whether a table lists it. If not, the program calls it directly, and it has no action data.
    pub is_listed: bool,
}

/// A kind of digest.
pub struct Digest {
    /// Name of the type of its messages, or one made up.
    pub name: String,
    /// The type.
    pub ty: Type,
}

/// A value set of one instance of a parser.
pub struct UsedValueSet<'a> {
    /// Its control-plane name.
    pub name: String,
    /// Its declaration.
    pub value_set: &'a ValueSet,
    /// The meanings of names around it.
    pub scope: Rc<Scope>,
}

impl<'a> Catalog<'a> {
    /// Everything that gets an id. This includes what is hidden, because it takes part in the choice of aliases.
    pub fn numbered(&self) -> Vec<Numbered<'_>> {
        let mut all = Vec::new();
        let mut add = |kind, name, annotations, span| {
            all.push(Numbered {
                kind,
                name,
                annotations,
                span,
            })
        };
        for used in self.tables.values() {
            add(
                SymbolKind::Table,
                used.name.as_str(),
                used.table.annotations.as_slice(),
                used.table.span,
            );
            for action in used
                .actions
                .iter()
                .filter(|action| !self.actions.contains_key(&action.name))
            {
                add(SymbolKind::Action, &action.name, &[], used.table.span);
            }
        }
        for used in self.actions.values() {
            add(
                SymbolKind::Action,
                &used.name,
                &used.action.annotations,
                used.action.span,
            );
        }
        for (id, kind) in &self.externs {
            let object = self.instances.get(*id);
            add(kind.symbol(), &object.name, object.annotations, object.span);
        }
        for name in self.digests.keys() {
            add(SymbolKind::Digest, name, &[], Span::NONE);
        }
        for used in self.value_sets.values() {
            add(
                SymbolKind::ValueSet,
                &used.name,
                &used.value_set.annotations,
                used.value_set.span,
            );
        }
        for header in &self.packet_headers {
            let name = types::composite_name(header);
            add(SymbolKind::ControllerHeader, name, &header.annotations, header.span);
        }
        all
    }
}

/// Collects everything that the control plane sees.
pub fn collect<'a>(
    program: &'a Program,
    architecture: &'static Architecture,
    diagnostics: &mut Diagnostics,
) -> Catalog<'a> {
    let instances = Instances::elaborate(program);
    let is_packet_header =
        |c: &&Composite| c.kind == CompositeKind::Header && annotations::has(&c.annotations, "controller_header");
    let catalog = Catalog {
        instances,
        tables: BTreeMap::new(),
        actions: BTreeMap::new(),
        externs: BTreeMap::new(),
        digests: BTreeMap::new(),
        digest_names: DigestNames::new(),
        value_sets: BTreeMap::new(),
        packet_headers: program.composites.iter().filter(is_packet_header).collect(),
    };
    let mut collector = Collector {
        program,
        architecture,
        catalog,
        visited: BTreeSet::new(),
        unnamed: Vec::new(),
        large_type: None,
    };
    for id in &program.top_instances {
        let Some(object) = collector.catalog.instances.top(*id) else {
            continue;
        };
        if Some(*id) == program.main || collector.catalog.instances.extern_object(object).is_some() {
            collector.instance(object);
        }
    }
    let Collector {
        mut catalog,
        unnamed,
        large_type,
        ..
    } = collector;
    name_digests(&mut catalog, unnamed);
    if let Some(span) = catalog.instances.excess {
        let message = format!("there are more than {MAX_OBJECTS} instances, or {MAX_INLINE_DEPTH} in one another");
        diagnostics.push(Diagnostic::error(codes::TOO_MANY_INSTANCES, span, message).cause(TOO_LARGE));
    }
    if let Some(span) = catalog.instances.large_type.or(large_type) {
        let message = limits::type_too_large();
        diagnostics.push(Diagnostic::error(codes::PROGRAM_TOO_LARGE, span, message).cause(TOO_LARGE));
    }
    catalog
}

/// Gives digests whose data has no named type the names that p4c gives: numbered block by block, and in a block as they
/// stand in the source.
fn name_digests(catalog: &mut Catalog, mut unnamed: Vec<Unnamed>) {
    unnamed.sort_by_key(|digest| (digest.block, digest.span));
    for Unnamed { call, ty, .. } in unnamed {
        let name = format!("digest_{}", catalog.digest_names.len());
        if let Entry::Vacant(unknown) = catalog.digest_names.entry((std::ptr::from_ref(call), ty.clone())) {
            unknown.insert(name.clone());
            catalog.digests.entry(name.clone()).or_insert(Digest { name, ty });
        }
    }
}

struct Collector<'a> {
    program: &'a Program,
    architecture: &'static Architecture,
    catalog: Catalog<'a>,
    visited: BTreeSet<ObjectId>,
    unnamed: Vec<Unnamed<'a>>,
    /// The first call of a function with a type argument that is too large.
    large_type: Option<Span>,
}

/// A call that sends a digest whose data has no named type.
struct Unnamed<'a> {
    /// The number of the control or parser that calls.
    block: usize,
    span: Span,
    call: &'a Call,
    ty: Type,
}

/// The effects of a control's apply block, including the functions and actions that it calls.
#[derive(Default)]
struct Effects<'a> {
    /// The number of the control or parser.
    block: usize,
    tables: Vec<TableId>,
    applied: Vec<ObjectId>,
    /// Functions with their type arguments.
    functions: HashSet<(FunctionId, Vec<Type>)>,
    actions: BTreeSet<ActionId>,
    /// Actions that are called from the apply block itself.
    called: BTreeSet<ActionId>,
    /// Bodies that are called and not yet visited.
    pending: Vec<Body<'a>>,
}

/// A body.
struct Body<'a> {
    statements: &'a [Statement],
    /// Whether it is an apply block. An action that is called from another one is part of that action.
    is_apply: bool,
    /// The meanings of type parameters in a function.
    types: Option<Substitution>,
}

impl<'a> Body<'a> {
    /// A body in a control or parser.
    fn new(statements: &'a [Statement], is_apply: bool) -> Body<'a> {
        Body {
            statements,
            is_apply,
            types: None,
        }
    }
}

impl<'a> Collector<'a> {
    fn instance(&mut self, id: ObjectId) {
        if !self.visited.insert(id) {
            return;
        }
        match self.catalog.instances.get(id).kind.clone() {
            ObjectKind::Extern(object) => {
                let kind = self
                    .architecture
                    .extern_kind(&self.program.externs[object.id.index()].name);
                if let Some(kind) = kind {
                    self.catalog.externs.insert(id, kind);
                }
            }
            ObjectKind::Control(control, scope) => self.control(control, scope),
            ObjectKind::Parser(parser, scope) => self.parser(parser, scope),
            ObjectKind::Package(args) => {
                for arg in args.iter() {
                    if let Value::Object(id) = arg {
                        self.instance(*id);
                    }
                }
            }
        }
    }

    fn externs_of(&mut self, scope: &Scope) {
        for id in scope.objects() {
            if matches!(self.catalog.instances.get(id).kind, ObjectKind::Extern(_)) {
                self.instance(id);
            }
        }
    }

    fn control(&mut self, id: ControlId, scope: Rc<Scope>) {
        self.externs_of(&scope);
        let Some(body) = &self.program.controls[id.index()].body else {
            return;
        };
        let mut effects = Effects {
            block: self.visited.len(),
            pending: vec![Body::new(&body.apply.statements, true)],
            ..Effects::default()
        };
        for (call, span) in calls(body.locals.iter().filter_map(Local::value).map(Node::Expr)) {
            self.call(call, span, &scope, &mut effects);
        }
        self.follow(&scope, &mut effects);
        // A key can apply another table.
        let mut next = 0;
        while let Some(table) = effects.tables.get(next).copied() {
            next += 1;
            self.table(table, &scope, &mut effects);
            self.follow(&scope, &mut effects);
        }
        for action in std::mem::take(&mut effects.called) {
            self.action(action, &scope, false);
        }
        effects.applied.into_iter().for_each(|object| self.instance(object));
    }

    fn parser(&mut self, id: ParserId, scope: Rc<Scope>) {
        self.externs_of(&scope);
        let Some(body) = &self.program.parsers[id.index()].body else {
            return;
        };
        let mut effects = Effects {
            block: self.visited.len(),
            ..Effects::default()
        };
        let mut selected = BTreeSet::new();
        for state in reachable_states(body) {
            let state = &body.states[state];
            effects.pending.push(Body::new(&state.statements, false));
            if let Transition::Select { cases, .. } = &state.transition {
                selected.extend(
                    cases
                        .iter()
                        .flat_map(|(keysets, ..)| keysets)
                        .filter_map(|keyset| match keyset {
                            KeySet::ValueSet(id) => Some(*id),
                            _ => None,
                        }),
                );
            }
        }
        self.follow(&scope, &mut effects);
        for local in &body.locals {
            if let Local::ValueSet(id) = local
                && selected.contains(id)
            {
                let value_set = &self.program.value_sets[id.index()];
                let name = scope.name(&value_set.name, &value_set.annotations);
                let used = UsedValueSet {
                    name: name.clone(),
                    value_set,
                    scope: scope.clone(),
                };
                self.catalog.value_sets.insert(name, used);
            }
        }
        effects.applied.into_iter().for_each(|object| self.instance(object));
    }

    /// Visits all pending bodies, and those that they call.
    fn follow(&mut self, scope: &Scope, effects: &mut Effects<'a>) {
        let program = self.program;
        let known = |condition: &Expr| match value::evaluate(program, scope, condition) {
            Value::Bool(truth) => Some(truth),
            _ => None,
        };
        while let Some(body) = effects.pending.pop() {
            for (call, span) in usage::calls(body.statements, &known) {
                if let (true, Callee::Action(id)) = (body.is_apply, &call.callee) {
                    effects.called.insert(*id);
                }
                self.call_with(call, span, scope, body.types.as_ref(), effects);
            }
        }
    }

    fn call(&mut self, call: &'a Call, span: Span, scope: &Scope, effects: &mut Effects<'a>) {
        self.call_with(call, span, scope, None, effects);
    }

    /// A call, with the types of the function that it is in.
    fn call_with(
        &mut self,
        call: &'a Call,
        span: Span,
        scope: &Scope,
        types: Option<&Substitution>,
        effects: &mut Effects<'a>,
    ) {
        match &call.callee {
            Callee::TableApply(table) => match table.kind {
                ExprKind::Table(id) if !effects.tables.contains(&id) => effects.tables.push(id),
                _ => {}
            },
            Callee::Apply(receiver) => {
                if let Value::Object(object) = value::evaluate(self.program, scope, receiver) {
                    effects.applied.push(object);
                }
            }
            Callee::Action(id) => self.enter_action(*id, effects),
            Callee::Function(id) => {
                let function = &self.program.functions[id.index()];
                let types = types.unwrap_or(&scope.types);
                match &function.body {
                    Some(body) => self.enter_function(*id, &body.statements, (call, span), types, effects),
                    None if self.architecture.digest == Some(function.name.as_str()) => {
                        self.digest(call, span, types, effects.block)
                    }
                    None => {}
                }
            }
            _ => {}
        }
    }

    /// Enters a function, given the types around its call.
    fn enter_function(
        &mut self,
        id: FunctionId,
        statements: &'a [Statement],
        (call, span): (&Call, Span),
        types: &Substitution,
        effects: &mut Effects<'a>,
    ) {
        forebay_budget::check();
        let mut sizes = call.type_args.iter().map(|ty| types.tree_size(ty));
        if sizes.any(|size| size > limits::MAX_TYPE_SIZE) {
            self.large_type.get_or_insert(span);
            return;
        }
        if effects.functions.len() >= MAX_OBJECTS {
            self.catalog.instances.excess.get_or_insert(span);
            return;
        }
        let args: Vec<Type> = call.type_args.iter().map(|ty| types.apply(ty)).collect();
        let types = Substitution::new(&self.program.functions[id.index()].type_params, &args);
        if effects.functions.insert((id, args)) {
            effects.pending.push(Body {
                statements,
                is_apply: false,
                types: Some(types),
            });
        }
    }

    fn enter_action(&mut self, id: ActionId, effects: &mut Effects<'a>) {
        if effects.actions.insert(id) {
            let statements = &self.program.actions[id.index()].body.statements;
            effects.pending.push(Body::new(statements, false));
        }
    }

    /// Adds a digest, which is named after the type of its messages; one with an unnamed type gets a number later.
    fn digest(&mut self, call: &'a Call, span: Span, types: &Substitution, block: usize) {
        let Some(ty) = call.type_args.first().map(|ty| types.apply(ty)) else {
            return;
        };
        match types::named(self.program, &ty) {
            Some(name) => {
                self.catalog.digests.entry(name.clone()).or_insert(Digest { name, ty });
            }
            None => self.unnamed.push(Unnamed { block, span, call, ty }),
        }
    }

    fn table(&mut self, id: TableId, scope: &Rc<Scope>, effects: &mut Effects<'a>) {
        let program = self.program;
        let table = &program.tables[id.index()];
        let name = scope.name(&table.name, &table.annotations);
        for (call, span) in calls(table.keys.iter().map(|key| Node::Expr(&key.expr))) {
            self.call(call, span, scope, effects);
        }
        let actions = self.actions(table, scope, effects);
        let implementation = self.property(table, &name, self.architecture.implementation, scope);
        let counter = self.property(table, &name, self.architecture.counter, scope);
        let meter = self.property(table, &name, self.architecture.meter, scope);
        let scope = scope.clone();
        let used = UsedTable {
            name: name.clone(),
            table,
            scope,
            actions,
            implementation,
            counter,
            meter,
        };
        self.catalog.tables.insert(name, used);
    }

    fn actions(&mut self, table: &'a Table, scope: &Rc<Scope>, effects: &mut Effects<'a>) -> Vec<ListedAction<'a>> {
        let mut actions = Vec::new();
        for listed in &table.actions {
            self.enter_action(listed.action, effects);
            for (call, span) in calls(listed.args.iter().map(Node::Expr)) {
                self.call(call, span, scope, effects);
            }
            actions.push(ListedAction {
                name: self.action(listed.action, scope, true),
                listed: Some(listed),
            });
        }
        let is_no_action = |id: &ActionId| self.program.actions[id.index()].name == "NoAction";
        if table.default_action.is_none() && !table.actions.iter().any(|listed| is_no_action(&listed.action)) {
            let no_action = self.program.top_actions.iter().find(|id| is_no_action(id));
            let name = no_action.map_or("NoAction".to_string(), |id| self.action(*id, scope, true));
            actions.push(ListedAction { name, listed: None });
        }
        actions
    }

    fn action(&mut self, id: ActionId, scope: &Rc<Scope>, is_listed: bool) -> String {
        let action = &self.program.actions[id.index()];
        let name = crate::action::name(&scope.path, action);
        let used = || UsedAction {
            name: name.clone(),
            action,
            scope: scope.clone(),
            is_listed,
        };
        self.catalog.actions.entry(name.clone()).or_insert_with(used).is_listed |= is_listed;
        name
    }

    /// The extern object that a table property names. An object that is constructed in the property is named by the
    /// property's `@name`, without the enclosing names.
    fn property(&mut self, table: &'a Table, table_name: &str, name: &str, scope: &Scope) -> Option<ObjectId> {
        let property = table.properties.iter().find(|property| property.name == name)?;
        let object = match &property.value.kind {
            ExprKind::Construct(instance) => {
                let local = annotations::name(&property.annotations).unwrap_or(table_name);
                let name = names::control_plane_name("", local, &[]);
                self.catalog
                    .instances
                    .make_property(instance, &property.annotations, scope, name)
            }
            _ => match value::evaluate(self.program, scope, &property.value) {
                Value::Object(object) => Some(object),
                _ => None,
            },
        }?;
        self.instance(object);
        self.catalog.externs.contains_key(&object).then_some(object)
    }
}

/// States that a parser can reach, by index.
fn reachable_states(body: &ParserBody) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![StateTarget::State(body.start)];
    while let Some(target) = pending.pop() {
        let StateTarget::State(index) = target else { continue };
        if !reached.insert(index) {
            continue;
        }
        match &body.states[index].transition {
            Transition::Direct(target) => pending.push(*target),
            Transition::Select { cases, .. } => pending.extend(cases.iter().map(|(_, target, _)| *target)),
        }
    }
    reached
}
