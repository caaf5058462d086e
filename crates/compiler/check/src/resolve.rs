//! Types as written to types (§7, §7.2.12).

use crate::call::{count_text, given_text};
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast;
use forebay_syntax::codes::check as codes;
use forebay_syntax::diagnostic::Diagnostic;
use forebay_syntax::source::Span;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};
use std::rc::Rc;

/// The widest `bit<W>` and `int<W>`, as in p4c.
pub(crate) const MAX_WIDTH: u32 = 2048;
/// The widest `varbit<W>`. Programs write the longest payload that the 16 bits of a length can count, 524,280 bits.
const MAX_VARBIT_WIDTH: u32 = 1 << 20;
/// The largest stack or array.
const MAX_STACK_SIZE: u32 = 1 << 16;

impl Checker {
    /// The type that is written; [`Type::Unknown`] after an error.
    pub(crate) fn resolve_type(&mut self, ty: &ast::Type) -> Type {
        let resolved = self.nested(ty.span, |checker| checker.resolve_nested(ty));
        self.bounded_type(resolved.unwrap_or(Type::Unknown), ty.span)
    }

    fn resolve_nested(&mut self, ty: &ast::Type) -> Type {
        match &ty.kind {
            ast::TypeKind::Void => Type::Void,
            ast::TypeKind::Bool => Type::Bool,
            ast::TypeKind::Error => Type::Error,
            ast::TypeKind::MatchKind => Type::MatchKind,
            ast::TypeKind::String => Type::String,
            ast::TypeKind::Int => Type::Int,
            ast::TypeKind::Bit(width) => self.width(width, 0, MAX_WIDTH).map_or(Type::Unknown, Type::Bit),
            ast::TypeKind::SignedInt(width) => self.width(width, 1, MAX_WIDTH).map_or(Type::Unknown, Type::Signed),
            ast::TypeKind::Varbit(width) => self
                .width(width, 0, MAX_VARBIT_WIDTH)
                .map_or(Type::Unknown, Type::Varbit),
            ast::TypeKind::Named { name, args } => {
                let found = self.resolve_named(name, args, ty.span);
                self.with_type_args(found, ty.span)
            }
            ast::TypeKind::Stack { element, size } => self.resolve_stack(element, size),
            ast::TypeKind::Tuple(types) => {
                let types = types.iter().map(|ty| self.resolve_element(ty, "tuple")).collect();
                Type::Tuple(Rc::new(types))
            }
            ast::TypeKind::List(element) => Type::List(Rc::new(self.resolve_element(element, "list"))),
            ast::TypeKind::DontCare => Type::Unknown,
        }
    }

    fn width(&mut self, width: &ast::Expr, min: u32, max: u32) -> Option<u32> {
        let value = self.constant_int(width)?;
        match value.to_u32() {
            Some(value) if (min..=max).contains(&value) => Some(value),
            _ => {
                let message = format!("the width {value} is not allowed here: it must be between {min} and {max}");
                self.error(codes::INVALID_WIDTH, width.span, message);
                None
            }
        }
    }

    /// The value of a compile-time constant of a number type.
    pub(crate) fn constant_int(&mut self, expr: &ast::Expr) -> Option<BigInt> {
        let checked = self.check_typed_value(expr);
        let checked = self.number_of(checked);
        match &checked.kind {
            ExprKind::Int(value) => Some(value.clone()),
            ExprKind::Invalid => None,
            _ => {
                if checked.ty.is_number() {
                    self.not_constant(&checked, "this number");
                } else {
                    let ty = self.show(&checked.ty);
                    let message = format!("an integer constant is needed here, but this has type {ty}");
                    self.error(codes::NOT_CONSTANT, expr.span, message);
                }
                None
            }
        }
    }

    /// A type with its arguments, of which a generic one may have none: they are inferred from constructor arguments.
    pub(crate) fn resolve_for_instance(&mut self, ty: &ast::Type) -> Type {
        match &ty.kind {
            ast::TypeKind::Named { name, args } => self.resolve_named(name, args, ty.span),
            _ => self.resolve_type(ty),
        }
    }

    fn resolve_named(&mut self, name: &ast::Name, args: &[ast::Type], span: Span) -> Type {
        let found = if name.absolute {
            self.scopes.find_top(&name.ident.name)
        } else {
            self.scopes.find(&name.ident.name)
        };
        let Some(entry) = found else {
            self.unknown_name(&name.ident, "type", Entity::is_type);
            return Type::Unknown;
        };
        let entity = self.overload_with(entry.entity.clone(), &name.ident.name, args.len());
        self.uses.note(&entity);
        let errors = self.diagnostics.error_count();
        let args: Vec<Type> = args.iter().map(|arg| self.resolve_type_arg(arg)).collect();
        if self.diagnostics.error_count() > errors {
            return Type::Unknown;
        }
        let count = self.type_param_count(&entity);
        if !args.is_empty() && args.len() != count {
            let message = if count == 0 {
                format!(
                    "`{}` has no type parameters, so it takes no type arguments",
                    name.ident.name
                )
            } else {
                format!(
                    "`{}` has {}, but {} given",
                    name.ident.name,
                    count_text(count, "type parameter"),
                    given_text(args.len(), "type argument")
                )
            };
            self.error(codes::TYPE_ARGUMENTS, span, message);
            return Type::Unknown;
        }
        self.check_type_args(&entity, &args, span);
        let args = Rc::new(args);
        match entity {
            Entity::TypeVar(id) => Type::Var(id),
            Entity::Typedef(ty) => ty,
            Entity::Composite(id) => Type::Composite(id, args),
            Entity::Enum(id) => Type::Enum(id),
            Entity::NewType(id) => Type::NewType(id),
            Entity::Extern(id) => Type::Extern(id, args),
            Entity::Parser(id) => Type::Parser(id, args),
            Entity::Control(id) => Type::Control(id, args),
            Entity::Package(id) => Type::Package(id, args),
            Entity::Broken => Type::Unknown,
            other => {
                let message = format!("`{}` is {}, not a type", name.ident.name, other.describe());
                self.error(codes::NOT_A_TYPE, name.ident.span, message);
                Type::Unknown
            }
        }
    }

    /// A generic type must not stand in its own arguments, and its fields must be allowed with these arguments.
    fn check_type_args(&mut self, entity: &Entity, args: &[Type], span: Span) {
        let contains = |test: &dyn Fn(&Type) -> bool| args.iter().any(|arg| arg.any(test));
        let nested = match entity {
            Entity::Composite(id) => contains(&|ty| matches!(ty, Type::Composite(other, _) if other == id)),
            Entity::Extern(id) => contains(&|ty| matches!(ty, Type::Extern(other, _) if other == id)),
            _ => false,
        };
        if nested {
            self.error(codes::RECURSION, span, "a generic type cannot be its own type argument");
        }
        if let Entity::Composite(id) = entity
            && !args.is_empty()
        {
            self.check_specialised_fields(*id, args, span);
        }
    }

    fn check_specialised_fields(&mut self, id: CompositeId, args: &[Type], span: Span) {
        let kind = self.program.composites[id.index()].kind;
        for (index, ty) in self.program.field_types(id, args).into_iter().enumerate() {
            let name = &self.program.composites[id.index()].fields[index].name;
            let message = if ty.any(&Type::is_unknown) {
                format!("the type of the field `{name}` must be known, so `_` cannot be a type argument here")
            } else if !self.field_allowed(kind, &ty) {
                format!(
                    "with these type arguments the field `{name}` has the type {}, which is not allowed",
                    self.show(&ty)
                )
            } else {
                continue;
            };
            self.error(codes::INVALID_FIELD_TYPE, span, message);
        }
    }

    /// A type argument: not a parser, control or package, and not generic without arguments.
    pub(crate) fn resolve_type_arg(&mut self, arg: &ast::Type) -> Type {
        let ty = self.resolve_type(arg);
        let not_data = matches!(ty, Type::Parser(..) | Type::Control(..) | Type::Package(..));
        if not_data {
            let message = format!("{} cannot be a type argument", self.show(&ty));
            self.error(codes::TYPE_ARGUMENTS, arg.span, message);
            return Type::Unknown;
        }
        ty
    }

    /// Among parsers, controls or packages of one name, the one with as many type parameters as there are arguments;
    /// the last one if none has, or there are no arguments.
    fn overload_with(&self, entity: Entity, name: &str, count: usize) -> Entity {
        if count == 0 || self.type_param_count(&entity) == count {
            return entity;
        }
        let kind = std::mem::discriminant(&entity);
        let candidates = self.overloads.get(name).into_iter().flatten();
        let mut entities = candidates.filter_map(Entity::of_constructible);
        let found =
            entities.find(|other| std::mem::discriminant(other) == kind && self.type_param_count(other) == count);
        found.unwrap_or(entity)
    }

    fn type_param_count(&self, entity: &Entity) -> usize {
        match entity {
            Entity::Composite(id) => self.program.composites[id.index()].type_params.len(),
            Entity::Extern(id) => self.program.externs[id.index()].type_params.len(),
            Entity::Parser(id) => self.program.parsers[id.index()].type_params.len(),
            Entity::Control(id) => self.program.controls[id.index()].type_params.len(),
            Entity::Package(id) => self.program.packages[id.index()].type_params.len(),
            _ => 0,
        }
    }

    /// The type parameters of a generic type.
    pub(crate) fn type_params(&self, ty: &Type) -> &[TypeVarId] {
        match ty {
            Type::Composite(id, _) => &self.program.composites[id.index()].type_params,
            Type::Extern(id, _) => &self.program.externs[id.index()].type_params,
            Type::Parser(id, _) => &self.program.parsers[id.index()].type_params,
            Type::Control(id, _) => &self.program.controls[id.index()].type_params,
            Type::Package(id, _) => &self.program.packages[id.index()].type_params,
            _ => &[],
        }
    }

    /// The type arguments of a generic type.
    pub(crate) fn type_args(ty: &Type) -> &[Type] {
        match ty {
            Type::Composite(_, args)
            | Type::Extern(_, args)
            | Type::Parser(_, args)
            | Type::Control(_, args)
            | Type::Package(_, args) => args,
            _ => &[],
        }
    }

    /// The type, unless it is generic and has no type arguments, which is reported.
    fn with_type_args(&mut self, ty: Type, span: Span) -> Type {
        let params = self.type_params(&ty);
        if params.is_empty() || !Checker::type_args(&ty).is_empty() {
            return ty;
        }
        let names: Vec<String> = params
            .iter()
            .map(|id| self.program.type_vars[id.index()].name.clone())
            .collect();
        let text = self.show(&ty);
        let message = format!("`{text}` is generic and needs type arguments");
        let hint = format!("write {text}<{}> with a type for each parameter", names.join(", "));
        self.report(Diagnostic::error(codes::TYPE_ARGUMENTS, span, message).hint(hint));
        Type::Unknown
    }

    fn resolve_element(&mut self, element: &ast::Type, of: &str) -> Type {
        let ty = self.resolve_type(element);
        if ty.is_object() || ty == Type::Void {
            let message = format!("a {of} cannot have elements of type {}", self.show(&ty));
            self.error(codes::INVALID_ELEMENT_TYPE, element.span, message);
            return Type::Unknown;
        }
        ty
    }

    fn resolve_stack(&mut self, element: &ast::Type, size: &ast::Expr) -> Type {
        let mut element_type = self.resolve_for_instance(element);
        if !element_type.is_object() {
            element_type = self.with_type_args(element_type, element.span);
        }
        let count = self.constant_int(size);
        let Some(count) = count else { return Type::Unknown };
        let allowed = count.is_positive() && count <= BigInt::from(MAX_STACK_SIZE);
        let Some(count) = count.to_u32().filter(|_| allowed) else {
            let message = format!("the size {count} is not allowed: it must be between 1 and {MAX_STACK_SIZE}");
            self.error(codes::INVALID_WIDTH, size.span, message);
            return Type::Unknown;
        };
        if element_type.is_unknown() {
            return Type::Unknown;
        }
        let not_storable = matches!(
            element_type,
            Type::Void | Type::Int | Type::String | Type::Parser(..) | Type::Control(..) | Type::Package(..)
        );
        if not_storable {
            let message = format!("an array cannot have elements of type {}", self.show(&element_type));
            self.error(codes::INVALID_ELEMENT_TYPE, element.span, message);
            return Type::Unknown;
        }
        Type::Stack(Rc::new(element_type), count)
    }

    /// Declares type parameters in the innermost scope.
    pub(crate) fn declare_type_params(&mut self, names: &[ast::Ident]) -> Vec<TypeVarId> {
        let mut ids = Vec::new();
        for name in names {
            let id = TypeVarId(self.program.type_vars.len() as u32);
            self.program.type_vars.push(TypeVar {
                name: name.name.clone(),
            });
            self.define(name, Entity::TypeVar(id));
            ids.push(id);
        }
        ids
    }
}
