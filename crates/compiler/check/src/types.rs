//! Types as values: printing, substitution, and questions about them (§7).

use crate::hir::*;
use forebay_syntax::ast::CompositeKind;
use std::collections::HashMap;
use std::rc::Rc;

/// Types for type parameters.
#[derive(Clone, Debug, Default)]
pub struct Substitution {
    map: HashMap<TypeVarId, Type>,
}

impl Substitution {
    /// Binds the parameters to the arguments, one by one.
    pub fn new(params: &[TypeVarId], args: &[Type]) -> Substitution {
        Substitution {
            map: params.iter().copied().zip(args.iter().cloned()).collect(),
        }
    }

    /// The type bound to a parameter.
    pub fn get(&self, var: TypeVarId) -> Option<&Type> {
        self.map.get(&var)
    }

    /// Binds a parameter.
    pub fn bind(&mut self, var: TypeVarId, ty: Type) {
        self.map.insert(var, ty);
    }

    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The type with all bound parameters replaced. Parameters that are bound to each other are followed; what is not
    /// bound stays.
    pub fn apply(&self, ty: &Type) -> Type {
        if self.map.is_empty() {
            return ty.clone();
        }
        self.apply_bounded(ty, FOLLOW_LIMIT)
    }

    /// The [size](Type::tree_size) of what [`Substitution::apply`] makes of a type, if no parameter is bound to a type
    /// with parameters.
    pub fn tree_size(&self, ty: &Type) -> usize {
        match ty {
            Type::Var(var) => self.map.get(var).map_or(1, Type::tree_size),
            _ => ty
                .parts()
                .into_iter()
                .fold(1, |sum: usize, part| sum.saturating_add(self.tree_size(part))),
        }
    }

    fn apply_bounded(&self, ty: &Type, limit: u32) -> Type {
        let list = |types: &Rc<Vec<Type>>| Rc::new(types.iter().map(|ty| self.apply_bounded(ty, limit)).collect());
        match ty {
            Type::Var(var) => match self.map.get(var) {
                Some(bound) if *bound == *ty || limit == 0 => ty.clone(),
                Some(bound) if !bound.any(&|part| matches!(part, Type::Var(_))) => bound.clone(),
                Some(bound) => self.apply_bounded(bound, limit - 1),
                None => ty.clone(),
            },
            Type::Composite(id, args) => Type::Composite(*id, list(args)),
            Type::Extern(id, args) => Type::Extern(*id, list(args)),
            Type::Parser(id, args) => Type::Parser(*id, list(args)),
            Type::Control(id, args) => Type::Control(*id, list(args)),
            Type::Package(id, args) => Type::Package(*id, list(args)),
            Type::Tuple(types) => Type::Tuple(list(types)),
            Type::Stack(element, size) => Type::Stack(Rc::new(self.apply_bounded(element, limit)), *size),
            Type::List(element) => Type::List(Rc::new(self.apply_bounded(element, limit))),
            Type::Set(element) => Type::Set(Rc::new(self.apply_bounded(element, limit))),
            Type::Record(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), self.apply_bounded(ty, limit)));
                Type::Record(Rc::new(fields.collect()))
            }
            _ => ty.clone(),
        }
    }
}

/// How many bindings of parameters to parameters are followed: more than any nesting of generic declarations needs.
const FOLLOW_LIMIT: u32 = 64;

impl Type {
    /// The types directly inside this one.
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Type::Composite(_, types)
            | Type::Extern(_, types)
            | Type::Parser(_, types)
            | Type::Control(_, types)
            | Type::Package(_, types)
            | Type::Tuple(types) => types.iter().collect(),
            Type::Stack(element, _) | Type::List(element) | Type::Set(element) => vec![element],
            Type::Record(fields) => fields.iter().map(|(_, ty)| ty).collect(),
            _ => Vec::new(),
        }
    }

    /// The number of types of which this one is made, with itself. Structs are not opened.
    pub fn tree_size(&self) -> usize {
        self.parts()
            .into_iter()
            .fold(1, |sum: usize, part| sum.saturating_add(part.tree_size()))
    }

    /// Whether this type or one inside it passes a test.
    pub fn any(&self, test: &dyn Fn(&Type) -> bool) -> bool {
        test(self) || self.parts().into_iter().any(|part| part.any(test))
    }

    /// Whether it is `bit<W>`, `int<W>` or `int`.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Bit(_) | Type::Signed(_) | Type::Int)
    }

    /// The width of `bit<W>` and `int<W>`.
    pub fn width(&self) -> Option<u32> {
        match self {
            Type::Bit(width) | Type::Signed(width) => Some(*width),
            _ => None,
        }
    }

    /// Whether it is the unknown type.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Type::Unknown)
    }

    /// Whether it is a parser, control, package or extern: something that is instantiated.
    pub fn is_object(&self) -> bool {
        matches!(
            self,
            Type::Parser(..) | Type::Control(..) | Type::Package(..) | Type::Extern(..)
        )
    }
}

impl Program {
    /// The fields of a composite with its type arguments put in.
    pub fn field_types(&self, id: CompositeId, args: &[Type]) -> Vec<Type> {
        let composite = &self.composites[id.index()];
        let substitution = Substitution::new(&composite.type_params, args);
        composite
            .fields
            .iter()
            .map(|field| substitution.apply(&field.ty))
            .collect()
    }

    /// The type of one field of a composite with its type arguments put in.
    pub fn field_type(&self, id: CompositeId, args: &[Type], index: usize) -> Type {
        let composite = &self.composites[id.index()];
        match composite.fields.get(index) {
            Some(field) => Substitution::new(&composite.type_params, args).apply(&field.ty),
            None => Type::Unknown,
        }
    }

    /// The kind of a composite type.
    pub fn composite_kind(&self, ty: &Type) -> Option<CompositeKind> {
        match ty {
            Type::Composite(id, _) => Some(self.composites[id.index()].kind),
            _ => None,
        }
    }

    /// Whether it is a header.
    pub fn is_header(&self, ty: &Type) -> bool {
        self.composite_kind(ty) == Some(CompositeKind::Header)
    }

    /// Whether it is a header union.
    pub fn is_union(&self, ty: &Type) -> bool {
        self.composite_kind(ty) == Some(CompositeKind::HeaderUnion)
    }

    /// The underlying type of an enum with representation; any other type itself.
    pub fn representation(&self, ty: &Type) -> Type {
        match ty {
            Type::Enum(id) => self.enums[id.index()]
                .representation
                .clone()
                .unwrap_or_else(|| ty.clone()),
            _ => ty.clone(),
        }
    }

    /// The underlying type of a `type`, through all `type`s; any other type itself.
    pub fn unwrapped(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        while let Type::NewType(id) = ty {
            ty = self.new_types[id.index()].ty.clone();
        }
        ty
    }

    /// The underlying number type of `type`s and of enums with a representation; any other type itself.
    pub fn underlying(&self, ty: &Type) -> Type {
        self.representation(&self.unwrapped(ty))
    }

    /// The type as P4 text.
    pub fn display(&self, ty: &Type) -> String {
        match ty {
            Type::Void => "void".to_string(),
            Type::Bool => "bool".to_string(),
            Type::Int => "int".to_string(),
            Type::Bit(width) => format!("bit<{width}>"),
            Type::Signed(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".to_string(),
            Type::Error => "error".to_string(),
            Type::MatchKind => "match_kind".to_string(),
            Type::Composite(id, args) => self.with_args(&self.composites[id.index()].name, args),
            Type::Enum(id) => self.enums[id.index()].name.clone(),
            Type::NewType(id) => self.new_types[id.index()].name.clone(),
            Type::Stack(element, size) => format!("{}[{size}]", self.display(element)),
            Type::Tuple(types) => format!("tuple<{}>", self.display_list(types)),
            Type::List(element) => format!("list<{}>", self.display(element)),
            Type::Record(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, ty)| format!("{} {name}", self.display(ty)))
                    .collect();
                format!("struct {{{}}}", fields.join("; "))
            }
            Type::Set(element) => format!("set<{}>", self.display(element)),
            Type::Var(id) => self.type_vars[id.index()].name.clone(),
            Type::Extern(id, args) => self.with_args(&self.externs[id.index()].name, args),
            Type::Parser(id, args) => self.with_args(&self.parsers[id.index()].name, args),
            Type::Control(id, args) => self.with_args(&self.controls[id.index()].name, args),
            Type::Package(id, args) => self.with_args(&self.packages[id.index()].name, args),
            Type::Table(id) => format!("table {}", self.tables[id.index()].name),
            Type::ApplyResult(id) => format!("apply result of {}", self.tables[id.index()].name),
            Type::ActionRun(id) => format!("action_run of {}", self.tables[id.index()].name),
            Type::ValueSet(id) => format!("value_set<{}>", self.display(&self.value_sets[id.index()].element)),
            Type::Unknown => "_".to_string(),
        }
    }

    fn with_args(&self, name: &str, args: &[Type]) -> String {
        if args.is_empty() {
            name.to_string()
        } else {
            format!("{name}<{}>", self.display_list(args))
        }
    }

    /// Types with commas between them.
    pub fn display_list(&self, types: &[Type]) -> String {
        types.iter().map(|ty| self.display(ty)).collect::<Vec<_>>().join(", ")
    }
}
