//! Parsers: states become labelled blocks, sub-parsers are inlined.

use crate::binding::{self, Bound, Policy};
use crate::build;
use crate::call;
use crate::context::Context;
use crate::elaborate;
use crate::environment::Binding;
use crate::externs;
use crate::graph;
use crate::object::{Object, ObjectId, ParserInstance};
use crate::select;
use crate::statement;
use crate::types::NAME_WIDTH;
use forebay_check::hir::{Call, Local, ParserBody, StateTarget, Transition};
use forebay_ir::{BlockId, Body, BodyKind, Expr, Terminator};
use forebay_syntax::source::Span;

fn instance(cx: &Context, id: ObjectId) -> Option<ParserInstance> {
    match cx.object(id) {
        Object::Parser(instance) => Some(instance.clone()),
        _ => None,
    }
}

fn install(cx: &mut Context, instance: &ParserInstance) {
    elaborate::install(cx, &instance.scope);
    for (set, lowered) in &instance.value_sets {
        cx.environment.bind_value_set(*set, *lowered);
    }
}

/// Lowers the parser of the architecture, whose parameters have the given meanings.
pub fn lower_top(cx: &mut Context, id: ObjectId, params: Vec<Binding>) -> Option<Body> {
    let instance = instance(cx, id)?;
    let parser = &cx.hir.parsers[instance.parser.index()];
    let body = parser.body.as_ref()?;
    let interrupted = graph::begin(cx, instance.scope.path.clone(), BodyKind::Parser);
    install(cx, &instance);
    let vars = parser
        .params
        .iter()
        .map(|param| param.var)
        .zip(params)
        .collect::<Vec<_>>();
    binding::install(cx, &vars);
    let accept = graph::new_block(cx);
    states(cx, body, "", accept);
    graph::start(cx, accept);
    Some(graph::end(cx, interrupted))
}

/// Inlines the application of a sub-parser. If it rejects, the parser around it rejects, too.
pub fn inline(cx: &mut Context, id: ObjectId, call: &Call, span: Span) {
    let Some(instance) = instance(cx, id) else { return };
    let parser = &cx.hir.parsers[instance.parser.index()];
    let Some(body) = &parser.body else { return };
    let (params, args) = call.in_written_order(&parser.params);
    let actuals = binding::evaluate(cx, &params, &args);
    install(cx, &instance);
    let path = instance.scope.path.clone();
    let outer_scope = cx.body.enter_scope(path.clone());
    let Bound { vars, copy_outs } = binding::bind(cx, &params, actuals, Policy::MayShare, &[], span);
    call::inline(cx, Bound { vars, copy_outs }, None, |cx| {
        let Some(accept) = cx.body.calls.last().map(|call| call.return_block) else {
            return;
        };
        externs::portable::clear_checksums(cx, &instance.scope.instances);
        let prefix = format!("{}.", path.split_once('.').map_or(path.as_str(), |(_, rest)| rest));
        states(cx, body, &prefix, accept);
    });
    cx.body.enter_scope(outer_scope);
}

/// Appends the local declarations and all states; the current block continues at the start state.
fn states(cx: &mut Context, body: &ParserBody, prefix: &str, accept: BlockId) {
    for local in &body.locals {
        if let Local::Var(var, value) = local {
            cx.location = cx.locate(cx.hir.vars[var.index()].span);
            statement::variable(cx, *var, value.as_ref());
        }
    }
    let blocks: Vec<BlockId> = body
        .states
        .iter()
        .map(|state| graph::new_state(cx, format!("{prefix}{}", state.name)))
        .collect();
    let Some(start) = blocks.get(body.start) else { return };
    graph::jump(cx, *start);
    for (state, block) in body.states.iter().zip(&blocks) {
        graph::start(cx, *block);
        cx.location = cx.locate(state.span);
        statement::atomically(cx, &state.annotations, |cx| {
            statement::statements(cx, &state.statements);
        });
        transition(cx, &state.transition, &blocks, accept);
    }
}

fn transition(cx: &mut Context, transition: &Transition, blocks: &[BlockId], accept: BlockId) {
    if !graph::is_reachable(cx) {
        return;
    }
    match transition {
        Transition::Direct(StateTarget::Reject) => {
            let name = rejection(cx);
            graph::terminate(cx, Terminator::Reject(error(cx, name)));
        }
        Transition::Direct(StateTarget::Accept) => graph::jump(cx, accept),
        Transition::Direct(StateTarget::State(index)) => match blocks.get(*index) {
            Some(block) => graph::jump(cx, *block),
            None => graph::jump(cx, accept),
        },
        Transition::Select { keys, cases, span } => {
            cx.location = cx.locate(*span);
            let reject = rejecting(cx, rejection(cx));
            let default = rejecting(cx, "NoMatch");
            let target = |target: &StateTarget| match target {
                StateTarget::State(index) => blocks.get(*index).copied().unwrap_or(accept),
                StateTarget::Accept => accept,
                StateTarget::Reject => reject,
            };
            select::select(cx, keys, cases, &target, default);
        }
    }
}

/// The error of a transition to `reject`: none, except in programs for Linux TC, where such a transition drops the
/// packet.
fn rejection(cx: &Context) -> &'static str {
    match cx.program.error("TC_ACT_SHOT") {
        Some(_) => "TC_ACT_SHOT",
        None => "NoError",
    }
}

/// A block that rejects with the named error of the core library.
fn rejecting(cx: &mut Context, name: &str) -> BlockId {
    let current = graph::suspend(cx);
    let block = graph::new_block(cx);
    graph::start(cx, block);
    graph::terminate(cx, Terminator::Reject(error(cx, name)));
    graph::resume(cx, current);
    block
}

fn error(cx: &Context, name: &str) -> Expr {
    build::constant(NAME_WIDTH, u128::from(cx.program.error(name).unwrap_or(0)))
}
