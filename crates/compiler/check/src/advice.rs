//! What to do about a mistake: the hints of messages that several parts of the checker give.

use crate::checker::Checker;
use crate::hir::*;
use forebay_syntax::ast::{self, BinaryOp, CompositeKind, Direction};
use forebay_syntax::diagnostic::Diagnostic;

impl Checker {
    /// How a value of one type can be turned into one of another.
    pub(crate) fn conversion_hint(&self, wanted: &Type, actual: &Type) -> Option<String> {
        let text = self.show(wanted);
        if self.cast_allowed(wanted, actual) {
            return Some(format!("write an explicit cast: ({text}) ..."));
        }
        match (wanted, actual) {
            (Type::Bool, Type::ApplyResult(_)) => Some("write `.hit` or `.miss` after `apply()`".to_string()),
            (Type::Bool, actual) if actual.is_number() => Some("compare it with a number: ... != 0".to_string()),
            (Type::Bool, actual) if self.program.is_header(actual) => Some(IS_VALID.to_string()),
            _ => Some(format!("write two casts: {} ...", self.two_casts(wanted, actual)?)),
        }
    }

    /// The two casts, one after the other, that turn a value of one type into one of another.
    pub(crate) fn two_casts(&self, wanted: &Type, actual: &Type) -> Option<String> {
        let between = match (wanted, actual) {
            (Type::Bit(_), Type::Bool) => Type::Bit(1),
            (Type::Bit(width), Type::Signed(_)) => Type::Signed(*width),
            (Type::Signed(width), Type::Bit(_)) => Type::Bit(*width),
            _ => return None,
        };
        Some(format!("({}) ({})", self.show(wanted), self.show(&between)))
    }

    /// The operator that was probably intended in place of one that does not exist for these operands.
    pub(crate) fn operator_hint(&self, op: BinaryOp, left: &Type, right: &Type) -> Option<&'static str> {
        let both = |test: fn(&Type) -> bool| test(left) && test(right);
        let one = |test: fn(&Type) -> bool| test(left) || test(right);
        match op {
            BinaryOp::Add if both(|ty| *ty == Type::String) => Some("strings are joined with `++`"),
            BinaryOp::BitAnd if both(|ty| *ty == Type::Bool) => Some("the operator on bool is `&&`"),
            BinaryOp::BitOr if both(|ty| *ty == Type::Bool) => Some("the operator on bool is `||`"),
            BinaryOp::BitXor if both(|ty| *ty == Type::Bool) => Some("the operator on bool is `!=`"),
            BinaryOp::And if one(Type::is_number) => {
                Some("compare numbers first: ... != 0; the operator on bits is `&`")
            }
            BinaryOp::Or if one(Type::is_number) => {
                Some("compare numbers first: ... != 0; the operator on bits is `|`")
            }
            BinaryOp::And | BinaryOp::Or => None,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge if *left == Type::Bool => {
                Some("comparisons do not chain: write `a < b && b < c`")
            }
            BinaryOp::BitAnd if *left == Type::Bool => Some("conditions are joined with `&&`"),
            BinaryOp::BitOr if *left == Type::Bool => Some("conditions are joined with `||`"),
            _ if one(|ty| *ty == Type::Bool) => Some("a bool becomes a number by a cast: (bit<1>) ..."),
            _ if one(|ty| matches!(ty, Type::Varbit(_))) => Some("a varbit<W> can only be assigned and compared"),
            _ => None,
        }
    }

    /// For operands of which one has a type made by `type` from a number: the cast that makes it the number.
    pub(crate) fn new_type_hint(&self, left: &Type, right: &Type) -> Option<String> {
        let is_numeric = |ty: &&Type| matches!(ty, Type::NewType(_)) && self.program.underlying(ty).is_number();
        let wrapped = [left, right].into_iter().find(is_numeric)?;
        let number = self.show(&self.program.underlying(wrapped));
        Some(format!(
            "{} is a type of its own: cast it, as in ({number}) ...",
            self.show(wrapped)
        ))
    }

    /// Adds to a message that a value is no header that its type is a struct which could be one: its declaration, and
    /// that this is the cause of other messages about the type.
    pub(crate) fn as_declared(&self, diagnostic: Diagnostic, ty: &Type) -> Diagnostic {
        let Type::Composite(id, args) = ty else {
            return diagnostic;
        };
        let composite = &self.program.composites[id.index()];
        let types = self.program.field_types(*id, args);
        let could_be = !types.is_empty() && types.iter().all(|ty| self.field_allowed(CompositeKind::Header, ty));
        if composite.kind != CompositeKind::Struct || !could_be {
            return diagnostic;
        }
        let name = &composite.name;
        diagnostic
            .secondary(composite.span, "declared here, as a struct")
            .hint(format!("declare it as a header: `header {name} {{ ... }}`"))
            .cause(format!("{name} is a struct"))
    }

    /// Adds to a message that something is not for a stack what there is for its elements, and that this is the cause of
    /// other messages about stacks of this type.
    pub(crate) fn of_an_element(&self, diagnostic: Diagnostic, ty: &Type, instead: &str) -> Diagnostic {
        match ty {
            Type::Stack(..) => diagnostic
                .hint(format!("name an element of the stack: `{instead}`"))
                .cause(format!("{} has elements", self.show(ty))),
            _ => diagnostic,
        }
    }

    /// The part of an expression that is known only at run time, and what it is.
    pub(crate) fn why_not_constant(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Var(id) => {
                let var = &self.program.vars[id.index()];
                let kind = match var.kind {
                    VarKind::Local => "a variable",
                    VarKind::Param(Direction::None) | VarKind::Constructor => return None,
                    VarKind::Param(_) => "a parameter",
                };
                Some(format!(
                    "`{}` is {kind}, whose value is known only at run time",
                    var.name
                ))
            }
            ExprKind::Call(_) => Some("calls are evaluated at run time".to_string()),
            _ => {
                let mut operands = expr.operands().into_iter();
                operands.find_map(|operand| self.why_not_constant(operand))
            }
        }
    }

    /// Why an expression cannot be written, as far as it has a name: what it is.
    pub(crate) fn why_read_only(&self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Var(id) => {
                let var = &self.program.vars[id.index()];
                let kind = match var.kind {
                    VarKind::Param(Direction::In) => "an `in` parameter",
                    VarKind::Param(_) => "a parameter without direction",
                    VarKind::Constructor => "a constructor parameter",
                    VarKind::Local => return None,
                };
                Some(format!("`{}` is {kind}", var.name))
            }
            ExprKind::StackLastIndex(_) => Some("`lastIndex` is computed".to_string()),
            ExprKind::StackLast(_) => Some("it is `last` of a stack".to_string()),
            _ => self.why_read_only(expr.base()?),
        }
    }
}

/// How the validity of a header is read.
pub(crate) const IS_VALID: &str = "whether a header is valid is told by `.isValid()`";

/// Which types fields of a composite may have.
pub(crate) fn field_types_hint(kind: CompositeKind) -> &'static str {
    match kind {
        CompositeKind::Header => {
            "fields of headers are bit<W>, int<W>, varbit<W>, bool, enums with an underlying type, and structs of these"
        }
        CompositeKind::HeaderUnion => "fields of header unions are headers",
        CompositeKind::Struct => "fields of structs are data; externs, parsers and controls are instantiated elsewhere",
    }
}

/// The name of a declaration that other declarations can use, and its place.
pub(crate) fn declared_name(declaration: &ast::Declaration) -> Option<&ast::Ident> {
    use ast::DeclarationKind as Kind;
    match &declaration.kind {
        Kind::Constant(item) => Some(&item.name),
        Kind::ExternFunction(item) => Some(&item.name),
        Kind::ExternObject(item) => Some(&item.name),
        Kind::Action(item) => Some(&item.name),
        Kind::Parser(item) => Some(&item.name),
        Kind::Control(item) => Some(&item.name),
        Kind::Package(item) => Some(&item.name),
        Kind::Composite(item) => Some(&item.name),
        Kind::Enum(item) => Some(&item.name),
        Kind::Typedef(item) => Some(&item.name),
        Kind::Instantiation(item) => Some(&item.name),
        Kind::Function(item) => Some(&item.prototype.name),
        Kind::Variable(item) => Some(&item.name),
        Kind::Table(item) => Some(&item.name),
        Kind::ValueSet(item) => Some(&item.name),
        Kind::Error(_) | Kind::MatchKind(_) => None,
    }
}
