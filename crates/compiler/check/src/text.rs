//! Expressions as P4 text: the default control-plane name of a table key is the key as written (§14.2.1.1).

use crate::expr::operator::{binary_text, unary_text};
use forebay_syntax::ast::{Expr, ExprKind, IntLiteral, Signedness, TypeKind};

/// The expression as text. Nesting is bounded by the parser.
pub(crate) fn expr_text(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(literal) => int_text(literal),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::String(text) => format!("\"{text}\""),
        ExprKind::Name(name) => {
            if name.absolute {
                format!(".{}", name.ident.name)
            } else {
                name.ident.name.clone()
            }
        }
        ExprKind::Type(ty) => match &ty.kind {
            TypeKind::Named { name, .. } => name.ident.name.clone(),
            TypeKind::Error => "error".to_string(),
            _ => "type".to_string(),
        },
        ExprKind::This => "this".to_string(),
        ExprKind::Member { base, member } => format!("{}.{}", expr_text(base), member.name),
        ExprKind::Index { base, index } => format!("{}[{}]", expr_text(base), expr_text(index)),
        ExprKind::Slice { base, hi, lo } => format!("{}[{}:{}]", expr_text(base), expr_text(hi), expr_text(lo)),
        ExprKind::PlusSlice { base, lo, width } => {
            format!("{}[{}+:{}]", expr_text(base), expr_text(lo), expr_text(width))
        }
        ExprKind::Unary { op, operand } => format!("{}{}", unary_text(*op), expr_text(operand)),
        ExprKind::Binary { first, links } => {
            let links = links
                .iter()
                .map(|link| format!(" {} {}", binary_text(link.op), expr_text(&link.right)));
            expr_text(first) + &links.collect::<String>()
        }
        ExprKind::Ternary {
            condition,
            then_value,
            else_value,
        } => {
            format!(
                "{} ? {} : {}",
                expr_text(condition),
                expr_text(then_value),
                expr_text(else_value)
            )
        }
        ExprKind::Cast { operand, .. } => expr_text(operand),
        ExprKind::Call { callee, args, .. } => {
            let args: Vec<String> = args.iter().map(|arg| expr_text(&arg.value)).collect();
            format!("{}({})", expr_text(callee), args.join(", "))
        }
        ExprKind::List { elements, .. } => format!("{{ {} }}", list_text(elements)),
        ExprKind::Struct { fields, .. } => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{} = {}", name.name, expr_text(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        ExprKind::Tuple(elements) => format!("({})", list_text(elements)),
        ExprKind::InvalidHeader => "{#}".to_string(),
        ExprKind::Mask { value, mask } => format!("{} &&& {}", expr_text(value), expr_text(mask)),
        ExprKind::Range { low, high } => format!("{} .. {}", expr_text(low), expr_text(high)),
        ExprKind::DontCare => "_".to_string(),
        ExprKind::Default => "default".to_string(),
        ExprKind::Error => "?".to_string(),
    }
}

fn list_text(elements: &[Expr]) -> String {
    elements.iter().map(expr_text).collect::<Vec<_>>().join(", ")
}

fn int_text(literal: &IntLiteral) -> String {
    match literal.width {
        None => literal.value.to_string(),
        Some((width, Signedness::Unsigned)) => format!("{width}w{}", literal.value),
        Some((width, Signedness::Signed)) => format!("{width}s{}", literal.value),
    }
}
