//! Keysets (§8.16, §13.6): the sets of values in `select` cases and table entries.

use crate::call::{count_text, given_text};
use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::source::Span;

impl Checker {
    /// The keysets of a case or entry, one for each key; none after an error.
    pub(crate) fn check_keysets(&mut self, keyset: &ast::Expr, keys: &[Type]) -> Option<Vec<KeySet>> {
        match &keyset.kind {
            ast::ExprKind::DontCare | ast::ExprKind::Default => Some(vec![KeySet::Any; count_scalars(keys)]),
            ast::ExprKind::Tuple(elements) => self.check_tuple_keyset(elements, keys, keyset.span),
            ast::ExprKind::List {
                elements,
                has_default: false,
            } if elements.len() == keys.len() => self.check_tuple_keyset(elements, keys, keyset.span),
            _ => match keys {
                [Type::Tuple(parts)] => self.check_keysets(keyset, parts),
                [key] => Some(vec![self.check_keyset(keyset, key)?]),
                _ => self.check_whole_keyset(keyset, keys),
            },
        }
    }

    fn check_tuple_keyset(&mut self, elements: &[ast::Expr], keys: &[Type], span: Span) -> Option<Vec<KeySet>> {
        if elements.len() != keys.len() {
            self.wrong_count(elements.len(), keys.len(), span);
            return None;
        }
        let mut keysets = Vec::new();
        let mut fine = true;
        for (element, key) in elements.iter().zip(keys) {
            let checked = match key {
                Type::Tuple(parts) => self.check_keysets(element, parts),
                key => self.check_keyset(element, key).map(|keyset| vec![keyset]),
            };
            fine &= checked.is_some();
            keysets.extend(checked.unwrap_or_default());
        }
        fine.then_some(keysets)
    }

    /// Keys that are tuples, as their parts.
    pub(crate) fn flatten_keys(&self, keys: Vec<Expr>) -> Vec<Expr> {
        let mut parts = Vec::new();
        for key in keys {
            flatten(key, &self.program, &mut parts);
        }
        parts
    }

    fn wrong_count(&mut self, given: usize, keys: usize, span: Span) {
        let are = if keys == 1 { "is" } else { "are" };
        let message = format!(
            "there {are} {}, but {} given",
            count_text(keys, "key"),
            given_text(given, "keyset")
        );
        self.error(codes::INVALID_KEYSET, span, message);
    }

    /// One expression for several keys: a value set, or a struct or tuple whose parts are the keys' values.
    fn check_whole_keyset(&mut self, keyset: &ast::Expr, keys: &[Type]) -> Option<Vec<KeySet>> {
        let checked = self.check_value(keyset);
        match (&checked.kind, &checked.ty) {
            (ExprKind::ValueSet(id), _) => {
                let element = self.program.value_sets[id.index()].element.clone();
                let types = self.flattened(&element);
                let fits = types.len() == keys.len()
                    && types
                        .iter()
                        .zip(keys)
                        .all(|(ty, key)| self.same_type(key, ty) || self.converts(key, ty));
                if !fits {
                    let message = format!(
                        "the elements of the value set have type {}, not those of the keys",
                        self.show(&element)
                    );
                    self.error(codes::INVALID_KEYSET, keyset.span, message);
                    return None;
                }
                Some(vec![KeySet::ValueSet(*id); keys.len()])
            }
            (ExprKind::Invalid, _) => None,
            (_, Type::Composite(..) | Type::Tuple(_) | Type::Record(_)) => {
                let mut parts = Vec::new();
                flatten(checked, &self.program, &mut parts);
                if parts.len() != keys.len() {
                    self.wrong_count(parts.len(), keys.len(), keyset.span);
                    return None;
                }
                let values = parts
                    .into_iter()
                    .zip(keys)
                    .map(|(part, key)| KeySet::Value(self.coerce_key(part, key)));
                Some(values.collect())
            }
            _ => {
                self.wrong_count(1, keys.len(), keyset.span);
                None
            }
        }
    }

    /// The number types of which a value set's element consists.
    fn flattened(&self, ty: &Type) -> Vec<Type> {
        match ty {
            Type::Composite(id, args) => self
                .program
                .field_types(*id, args)
                .iter()
                .flat_map(|ty| self.flattened(ty))
                .collect(),
            Type::Tuple(types) => types.iter().flat_map(|ty| self.flattened(ty)).collect(),
            _ => vec![ty.clone()],
        }
    }

    /// One keyset for one key.
    fn check_keyset(&mut self, keyset: &ast::Expr, key: &Type) -> Option<KeySet> {
        match &keyset.kind {
            ast::ExprKind::DontCare | ast::ExprKind::Default => Some(KeySet::Any),
            ast::ExprKind::Mask { value, mask } => {
                let (value, mask) = self.check_set_ends(value, mask, key, keyset.span)?;
                Some(KeySet::Mask(value, mask))
            }
            ast::ExprKind::Range { low, high } => {
                let (low, high) = self.check_set_ends(low, high, key, keyset.span)?;
                Some(KeySet::Range(low, high))
            }
            ast::ExprKind::Tuple(elements) if elements.len() == 1 => self.check_keyset(&elements[0], key),
            _ => self.check_value_keyset(keyset, key),
        }
    }

    fn check_value_keyset(&mut self, keyset: &ast::Expr, key: &Type) -> Option<KeySet> {
        let checked = self.check_value(keyset);
        if let ExprKind::ValueSet(id) = checked.kind {
            let element = self.program.value_sets[id.index()].element.clone();
            let types = self.flattened(&element);
            let fits = matches!(types.as_slice(), [one] if self.converts(key, one) || self.converts(one, key));
            if !fits && !key.is_unknown() {
                let message = format!(
                    "the value set has elements of type {}, the key has type {}",
                    self.show(&element),
                    self.show(key)
                );
                self.error(codes::INVALID_KEYSET, keyset.span, message);
                return None;
            }
            return Some(KeySet::ValueSet(id));
        }
        let is_wrapped = matches!(checked.ty, Type::Tuple(_) | Type::Composite(..) | Type::Record(_));
        let value = if is_wrapped {
            let mut parts = Vec::new();
            flatten(checked, &self.program, &mut parts);
            if parts.len() != 1 {
                self.wrong_count(parts.len(), 1, keyset.span);
                return None;
            }
            parts.pop()?
        } else {
            checked
        };
        let value = self.coerce_key(value, key);
        (!matches!(value.kind, ExprKind::Invalid)).then_some(KeySet::Value(value))
    }

    /// A value as a key: a key of an enum with representation also takes values of the underlying type.
    fn coerce_key(&mut self, value: Expr, key: &Type) -> Expr {
        if value.ty == *key {
            return value;
        }
        if let Type::Enum(_) = key
            && value.ty.is_number()
            && self.converts(&self.program.representation(key), &value.ty)
        {
            let number = self.program.representation(key);
            let value = self.coerce(value, &number);
            return self.convert(value, key);
        }
        self.coerce(value, key)
    }

    fn check_set_ends(&mut self, left: &ast::Expr, right: &ast::Expr, key: &Type, span: Span) -> Option<(Expr, Expr)> {
        let left = self.check_value(left);
        let right = self.check_value(right);
        let number = self.program.representation(key);
        if !number.is_number() && !number.is_unknown() {
            let message = format!(
                "masks and ranges are for numbers, but the key has type {}",
                self.show(key)
            );
            self.error(codes::INVALID_KEYSET, span, message);
            return None;
        }
        let left = self.coerce_set_end(left, &number);
        let right = self.coerce_set_end(right, &number);
        let failed = matches!(left.kind, ExprKind::Invalid) || matches!(right.kind, ExprKind::Invalid);
        if !failed {
            self.require_constant(&left, "an end of a set");
            self.require_constant(&right, "an end of a set");
        }
        (!failed).then_some((left, right))
    }

    fn coerce_set_end(&mut self, end: Expr, number: &Type) -> Expr {
        let end = self.number_of(end);
        self.coerce(end, number)
    }
}

/// The number of keys, counting the parts of tuples.
fn count_scalars(keys: &[Type]) -> usize {
    keys.iter()
        .map(|key| match key {
            Type::Tuple(parts) => count_scalars(parts),
            _ => 1,
        })
        .sum()
}

/// The parts of a struct or tuple value that are no structs or tuples themselves.
fn flatten(expr: Expr, program: &Program, parts: &mut Vec<Expr>) {
    let span = expr.span;
    match (expr.kind, &expr.ty) {
        (ExprKind::Aggregate(elements), _) => {
            for element in elements {
                flatten(element, program, parts);
            }
        }
        (kind, Type::Composite(id, args)) => {
            let base = Expr {
                kind,
                ty: expr.ty.clone(),
                span,
            };
            for (index, ty) in program.field_types(*id, args).into_iter().enumerate() {
                let kind = ExprKind::Field(Box::new(base.clone()), index);
                flatten(Expr { kind, ty, span }, program, parts);
            }
        }
        (kind, Type::Tuple(types)) => {
            let base = Expr {
                kind,
                ty: expr.ty.clone(),
                span,
            };
            for (index, ty) in types.iter().enumerate() {
                let kind = ExprKind::TupleElement(Box::new(base.clone()), index);
                flatten(
                    Expr {
                        kind,
                        ty: ty.clone(),
                        span,
                    },
                    program,
                    parts,
                );
            }
        }
        (kind, _) => parts.push(Expr {
            kind,
            ty: expr.ty,
            span,
        }),
    }
}
