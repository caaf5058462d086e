//! Reading and writing.

use super::place::Place;
use super::{Flow, State};
use crate::hir::*;
use forebay_syntax::ast::{BinaryOp, UnaryOp};
use forebay_syntax::codes::check as codes;

impl<'a> Flow<'a> {
    /// An expression is evaluated.
    pub(super) fn read(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Call(call) => self.call(call, expr.span),
            ExprKind::Unary(_, base) | ExprKind::Cast(base) => self.read(base),
            ExprKind::TableHit(base) | ExprKind::TableMiss(base) => self.read(base),
            ExprKind::Binary(first, links) => self.read_chain(first, links),
            ExprKind::Ternary(condition, left, right) => {
                self.read(condition);
                let before = self.state.clone();
                self.assume(condition, true);
                self.read(left);
                let after = std::mem::replace(&mut self.state, before);
                self.assume(condition, false);
                self.read(right);
                self.state = State::joined(self.state.take(), after);
            }
            ExprKind::Aggregate(elements) => elements.iter().for_each(|element| self.read(element)),
            ExprKind::Reordered(elements, written) => written.iter().for_each(|index| self.read(&elements[*index])),
            _ => {
                self.read_indices(expr);
                if let Some(place) = self.place(expr) {
                    self.read_place(expr, &place);
                } else if let Some(base) = expr.base() {
                    self.read(base);
                }
            }
        }
    }

    /// Operators from the left. In `a && b && c`, `c` is evaluated only where `a` and `b` hold.
    fn read_chain(&mut self, first: &'a Expr, links: &'a [Link]) {
        self.read(first);
        let mut skipped = None;
        for (index, link) in links.iter().enumerate() {
            if !matches!(link.op, BinaryOp::And | BinaryOp::Or) {
                self.read(&link.right);
                continue;
            }
            skipped = State::joined(skipped, self.state.clone());
            let truth = link.op == BinaryOp::And;
            match index.checked_sub(1).map(|before| &links[before]) {
                Some(before) if before.op == link.op => self.assume(&before.right, truth),
                _ => self.assume_chain(first, &links[..index], truth),
            }
            self.read(&link.right);
            if links.get(index + 1).is_none_or(|next| next.op != link.op) {
                self.state = State::joined(self.state.take(), skipped.take());
            }
        }
    }

    /// The result of a chain of operators is known to be true, or to be false.
    fn assume_chain(&mut self, first: &Expr, links: &[Link], truth: bool) {
        let op = if truth { BinaryOp::And } else { BinaryOp::Or };
        let unknown = links.iter().rposition(|link| link.op != op);
        if unknown.is_none() {
            self.assume(first, truth);
        }
        let known = &links[unknown.map_or(0, |index| index + 1)..];
        known.iter().for_each(|link| self.assume(&link.right, truth));
    }

    fn read_place(&mut self, expr: &'a Expr, place: &Place) {
        if place.of_header {
            return self.use_header(expr, place, "so its fields have no values");
        }
        if self.is_unset(place.var, &place.path) {
            let name = self.name(place);
            let var = &self.program.vars[place.var.index()];
            let message = format!("`{name}` may be read before it is set");
            let warning = forebay_syntax::diagnostic::Diagnostic::warning(codes::MAYBE_UNSET, expr.span, message);
            let warning = warning.secondary(var.span, "declared here without a value");
            self.warn(warning.hint("give it a value where it is declared, or on every path"));
        }
    }

    /// The index expressions in a place.
    pub(super) fn read_indices(&mut self, expr: &'a Expr) {
        if let Some(base) = expr.base() {
            self.read_indices(base);
        }
        if let ExprKind::Index(_, index) | ExprKind::PlusSlice(_, index, _) = &expr.kind {
            self.read(index);
        }
    }

    /// A field of a header is read or written, which must be valid.
    fn use_header(&mut self, expr: &Expr, place: &Place, why: &str) {
        let header = Place {
            path: place.path.clone(),
            ..*place
        };
        let Some(number) = self.header(&header) else { return };
        if self.state.as_ref().is_some_and(|state| state.invalid.contains(number)) {
            let message = format!("the header `{}` is invalid here, {why}", self.name(place));
            let hint = "extract it, assign it or call setValid() before";
            self.warn_of(codes::HEADER_IS_INVALID, expr.span, message, hint);
        }
    }

    /// The variable, and the fields and elements on the way to a place.
    fn name(&self, place: &Place) -> String {
        let var = &self.program.vars[place.var.index()];
        let mut name = var.name.clone();
        let mut ty = var.ty.clone();
        for index in &place.path {
            (name, ty) = match &ty {
                Type::Composite(id, args) => {
                    let field = &self.program.composites[id.index()].fields[*index].name;
                    (
                        format!("{name}.{field}"),
                        self.program.field_types(*id, args)[*index].clone(),
                    )
                }
                Type::Stack(element, _) => (format!("{name}[{index}]"), (**element).clone()),
                _ => break,
            };
        }
        name
    }

    /// A place is written; the value has been evaluated.
    pub(super) fn write(&mut self, target: &'a Expr) {
        self.read_indices(target);
        let Some(place) = self.place(target) else { return };
        if place.of_header {
            return self.use_header(target, &place, "so this writes nothing");
        }
        self.set(place.var, &place.path);
    }

    /// `target = value`
    pub(super) fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        self.read(value);
        let is_invalid = match &value.kind {
            ExprKind::InvalidHeader => true,
            _ => self.place(value).is_some_and(|place| self.is_invalid(&place)),
        };
        self.write(target);
        if is_invalid && let Some(place) = self.place(target).filter(|place| !place.is_inside) {
            self.set_validity(&place, true);
        }
    }

    fn is_invalid(&mut self, place: &Place) -> bool {
        let number = self.header(place).filter(|_| !place.is_inside);
        number.is_some_and(|number| self.state.as_ref().is_some_and(|state| state.invalid.contains(number)))
    }

    /// A header becomes invalid, or is not known to be.
    pub(super) fn set_validity(&mut self, place: &Place, invalid: bool) {
        match self.header(place).filter(|_| !place.is_inside) {
            Some(number) => self.change(|state| {
                if invalid {
                    state.invalid.insert(number)
                } else {
                    state.invalid.remove(number)
                }
            }),
            None if invalid => {}
            // Any element, or any member of a union.
            None => self.set(place.var, &place.path),
        }
    }

    /// A condition is known to be true, or to be false.
    pub(super) fn assume(&mut self, condition: &Expr, truth: bool) {
        match &condition.kind {
            ExprKind::Bool(value) if *value != truth => self.state = None,
            ExprKind::Unary(UnaryOp::Not, inner) => self.assume(inner, !truth),
            ExprKind::Binary(first, links) => self.assume_chain(first, links, truth),
            ExprKind::TableHit(apply) => self.assume_hit(apply, truth),
            ExprKind::TableMiss(apply) => self.assume_hit(apply, !truth),
            ExprKind::Call(call) => {
                if let Callee::IsValid(header) = &call.callee
                    && let Some(place) = self.place(header)
                {
                    self.set_validity(&place, !truth);
                }
            }
            _ => {}
        }
    }
}

impl Flow<'_> {
    /// A table that was just applied is known to have hit, or to have missed.
    fn assume_hit(&mut self, apply: &Expr, hit: bool) {
        let Some(applied) = self.applied(apply) else { return };
        let after = if hit { applied.hit.clone() } else { applied.miss.clone() };
        self.state = State::narrowed(self.state.take(), after);
    }
}
