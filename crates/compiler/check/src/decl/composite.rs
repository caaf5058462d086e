//! Structs, headers, header unions (§7.2.2, §7.2.5, §7.2.6, §7.2.9), typedef and type (§7.5, §7.6).

use crate::advice::field_types_hint;
use crate::checker::Checker;
use crate::hir::*;
use crate::scope::Entity;
use forebay_syntax::ast::{self, CompositeKind, DeclarationKind};
use forebay_syntax::codes::check as codes;
use forebay_syntax::known::Place;

impl Checker {
    /// Declares a struct, header or header union.
    pub(super) fn declare_composite(&mut self, item: &ast::Composite, annotations: &[ast::Annotation]) -> CompositeId {
        let place = match item.kind {
            CompositeKind::Struct => Place::Struct,
            CompositeKind::Header => Place::Header,
            CompositeKind::HeaderUnion => Place::HeaderUnion,
        };
        let annotations = self.annotations(place, annotations);
        self.context.defining.push(item.name.name.clone());
        let (type_params, fields) = self.scoped(|checker| {
            let type_params = checker.declare_type_params(&item.type_params);
            (type_params, checker.check_fields(item))
        });
        self.context.defining.pop();
        let parts = self.fields_parts(&fields);
        self.composite_parts.push(parts);
        let id = CompositeId(self.program.composites.len() as u32);
        self.program.composites.push(Composite {
            kind: item.kind,
            name: item.name.name.clone(),
            type_params,
            fields,
            annotations,
            span: item.name.span,
        });
        self.define(&item.name, Entity::Composite(id));
        id
    }

    fn check_fields(&mut self, item: &ast::Composite) -> Vec<Field> {
        self.check_distinct(item.fields.iter().map(|field| &field.name));
        let mut fields = Vec::new();
        for field in &item.fields {
            let mut ty = self.resolve_type(&field.ty);
            if field.name.name == "_" {
                self.error(
                    codes::INVALID_NAME,
                    field.name.span,
                    "`_` cannot be the name of a field",
                );
            }
            if !self.field_allowed(item.kind, &ty) {
                let message = format!(
                    "a field of a {} cannot have type {}",
                    kind_text(item.kind),
                    self.show(&ty)
                );
                let hint = field_types_hint(item.kind);
                self.error_with_hint(codes::INVALID_FIELD_TYPE, field.ty.span, message, hint);
                ty = Type::Unknown;
            }
            let annotations = self.annotations(Place::Field, &field.annotations);
            fields.push(Field {
                name: field.name.name.clone(),
                ty,
                annotations,
                span: field.name.span,
            });
        }
        fields
    }

    /// Whether a composite of this kind can have a field of this type.
    pub(crate) fn field_allowed(&self, kind: CompositeKind, ty: &Type) -> bool {
        let unwrapped = self.program.unwrapped(ty);
        match (kind, &unwrapped) {
            (_, Type::Unknown | Type::Var(_)) => true,
            (CompositeKind::Header, Type::Varbit(_)) => true,
            (CompositeKind::Header, _) => self.is_header_field(&unwrapped),
            (CompositeKind::HeaderUnion, _) => self.program.is_header(ty),
            (CompositeKind::Struct, _) => matches!(
                unwrapped,
                Type::Bool
                    | Type::Bit(_)
                    | Type::Signed(_)
                    | Type::Varbit(_)
                    | Type::Error
                    | Type::MatchKind
                    | Type::Composite(..)
                    | Type::Enum(_)
                    | Type::Stack(..)
                    | Type::Tuple(_)
            ),
        }
    }

    /// Fields of fixed size: numbers, bool, enums with representation, and structs and arrays of these.
    fn is_header_field(&self, ty: &Type) -> bool {
        match self.program.unwrapped(ty) {
            Type::Bool | Type::Bit(_) | Type::Signed(_) | Type::Unknown | Type::Var(_) => true,
            Type::Enum(id) => self.program.enums[id.index()].representation.is_some(),
            Type::Stack(element, _) => self.is_header_field(&element),
            Type::Composite(id, args) => {
                self.program.composites[id.index()].kind == CompositeKind::Struct
                    && self
                        .program
                        .field_types(id, &args)
                        .iter()
                        .all(|ty| self.is_header_field(ty))
            }
            _ => false,
        }
    }

    /// Declares a `typedef` or a `type`.
    pub(super) fn declare_typedef(&mut self, item: &ast::Typedef, annotations: &[ast::Annotation]) {
        let place = if item.is_new { Place::NewType } else { Place::Typedef };
        let annotations = self.annotations(place, annotations);
        self.context.defining.push(item.name.name.clone());
        let ty = self.typedef_target(&item.ty);
        self.context.defining.pop();
        if !item.is_new {
            self.program.typedefs.push((item.name.name.clone(), ty.clone()));
            self.define(&item.name, Entity::Typedef(ty));
            return;
        }
        let allowed = matches!(
            ty,
            Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::NewType(_) | Type::Unknown
        );
        if !allowed {
            let message = format!("`type` cannot be made from {}", self.show(&ty));
            self.error(codes::INVALID_NEW_TYPE, item.name.span, message);
            self.define(&item.name, Entity::Broken);
            return;
        }
        let id = NewTypeId(self.program.new_types.len() as u32);
        self.program.new_types.push(NewType {
            name: item.name.name.clone(),
            ty,
            annotations,
            span: item.name.span,
        });
        self.define(&item.name, Entity::NewType(id));
    }

    fn typedef_target(&mut self, target: &ast::TypedefTarget) -> Type {
        let declaration = match target {
            ast::TypedefTarget::Type(ty) => return self.resolve_type(ty),
            ast::TypedefTarget::Declaration(declaration) => declaration,
        };
        match &declaration.kind {
            DeclarationKind::Composite(item) => {
                let id = self.declare_composite(item, &declaration.annotations);
                Type::Composite(id, std::rc::Rc::new(Vec::new()))
            }
            DeclarationKind::Enum(item) => Type::Enum(self.declare_enum(item, &declaration.annotations)),
            _ => {
                self.error(codes::NOT_A_TYPE, declaration.span, "a typedef needs a type here");
                Type::Unknown
            }
        }
    }
}

fn kind_text(kind: CompositeKind) -> &'static str {
    match kind {
        CompositeKind::Struct => "struct",
        CompositeKind::Header => "header",
        CompositeKind::HeaderUnion => "header_union",
    }
}
