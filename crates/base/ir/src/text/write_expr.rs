//! Expressions and references as text.

use super::names::{Keyword, Names, is_plain};
use crate::{
    Action, ActionId, BinaryOp, BlockId, BodyId, DataItem, Expr, HashAlgorithm, HeaderId, KeySet, Program, SelectCase,
    SlotId, TableId, UnaryOp,
};
use forebay_bits::Bits;

/// Prints expressions and references of one program in its text form.
pub struct ExprPrinter<'a> {
    pub(super) program: &'a Program,
    pub(super) names: Names,
    /// For each body, the action whose body it is, if there is exactly one.
    owners: Vec<Option<ActionId>>,
}

impl<'a> ExprPrinter<'a> {
    /// A printer for a program.
    pub fn new(program: &'a Program) -> Self {
        ExprPrinter {
            program,
            names: Names::new(program),
            owners: body_owners(&program.actions, program.bodies.len()),
        }
    }

    /// The name of a slot.
    pub fn slot(&self, slot: SlotId) -> String {
        self.names.slots.symbol(slot.0)
    }

    /// The name of a header.
    pub fn header(&self, header: HeaderId) -> String {
        self.names.headers.symbol(header.0)
    }

    /// The name of a table.
    pub fn table(&self, table: TableId) -> String {
        self.names.tables.symbol(table.0)
    }

    /// An expression in `body`, which may be `None` for a table's key.
    pub fn expr(&self, expr: &Expr, body: Option<BodyId>) -> String {
        let mut text = String::new();
        self.append(&mut text, expr, body);
        text
    }

    /// A set of values of a select key.
    pub fn keyset(&self, keyset: &KeySet, body: Option<BodyId>) -> String {
        match keyset {
            KeySet::Any => "_".to_owned(),
            KeySet::Exact(value) => constant(value),
            KeySet::Mask { value, mask } => format!("{} &&& {}", constant(value), constant(mask)),
            KeySet::Range { low, high } => format!("{} .. {}", constant(low), constant(high)),
            KeySet::Equals(value) => format!("= {}", self.expr(value, body)),
            KeySet::EqualsMasked { value, mask } => {
                format!("= {} &&& {}", self.expr(value, body), self.expr(mask, body))
            }
            KeySet::ValueSet { set, component } => {
                format!("in {} component {component}", self.names.value_sets.symbol(set.0))
            }
        }
    }

    /// The keysets of a select case, `(a, b)`.
    pub fn case(&self, case: &SelectCase, body: Option<BodyId>) -> String {
        let keysets: Vec<String> = case.keysets.iter().map(|keyset| self.keyset(keyset, body)).collect();
        format!("({})", keysets.join(", "))
    }

    /// Several expressions, separated by commas.
    pub(super) fn exprs(&self, exprs: &[Expr], body: Option<BodyId>) -> String {
        let texts: Vec<String> = exprs.iter().map(|expr| self.expr(expr, body)).collect();
        texts.join(", ")
    }

    pub(super) fn algorithm(&self, algorithm: HashAlgorithm) -> String {
        match algorithm {
            HashAlgorithm::Custom(calculation) => format!("custom {}", self.names.calculations.symbol(calculation.0)),
            other => other.word().to_string(),
        }
    }

    pub(super) fn data_item(&self, item: &DataItem, body: Option<BodyId>) -> String {
        match item {
            DataItem::Value(value) => self.expr(value, body),
            DataItem::Varbit { value, length } => format!("varbit {} length {}", self.slot(*value), self.slot(*length)),
        }
    }

    fn append(&self, text: &mut String, expr: &Expr, body: Option<BodyId>) {
        match expr {
            Expr::Binary(op, left, right) => {
                self.operand(text, left, body);
                text.push_str(&format!(" {} ", binary_mark(*op)));
                self.operand(text, right, body);
            }
            Expr::Concat(high, low) => {
                self.operand(text, high, body);
                text.push_str(" ++ ");
                self.operand(text, low, body);
            }
            Expr::Mux {
                condition,
                then_value,
                else_value,
            } => {
                self.operand(text, condition, body);
                text.push_str(" ? ");
                self.operand(text, then_value, body);
                text.push_str(" : ");
                self.operand(text, else_value, body);
            }
            _ => self.operand(text, expr, body),
        }
    }

    /// An expression as an operand of an operator.
    fn operand(&self, text: &mut String, expr: &Expr, body: Option<BodyId>) {
        match expr {
            Expr::Unary(op, operand) => {
                text.push(unary_mark(*op));
                self.operand(text, operand, body);
            }
            _ => self.sliceable(text, expr, body),
        }
    }

    /// An expression before `[hi:lo]`.
    fn sliceable(&self, text: &mut String, expr: &Expr, body: Option<BodyId>) {
        match expr {
            Expr::Const(value) => text.push_str(&constant(value)),
            Expr::Slot(slot) => text.push_str(&self.slot(*slot)),
            Expr::Param { index, width } => text.push_str(&self.param(*index, *width, body)),
            Expr::Slice { operand, hi, lo } => {
                self.sliceable(text, operand, body);
                text.push_str(&format!("[{hi}:{lo}]"));
            }
            Expr::ZeroExtend(width, operand) => self.call(text, "zext", *width, operand, body),
            Expr::SignExtend(width, operand) => self.call(text, "sext", *width, operand, body),
            Expr::Truncate(width, operand) => self.call(text, "trunc", *width, operand, body),
            Expr::Unary(..) | Expr::Binary(..) | Expr::Concat(..) | Expr::Mux { .. } => {
                text.push('(');
                self.append(text, expr, body);
                text.push(')');
            }
        }
    }

    fn call(&self, text: &mut String, function: &str, width: u32, operand: &Expr, body: Option<BodyId>) {
        text.push_str(&format!("{function}({width}, "));
        self.append(text, operand, body);
        text.push(')');
    }

    fn param(&self, index: u32, width: u32, body: Option<BodyId>) -> String {
        let owner = body.and_then(|body| self.owners.get(body.index()).copied().flatten());
        let named = owner.and_then(|action| param_name(&self.program.actions[action.index()], index, width));
        named.map_or_else(|| format!("${index}:{width}"), |name| format!("${name}"))
    }
}

/// For each of `bodies` bodies, the action whose body it is, if it is the only one.
pub(super) fn body_owners(actions: &[Action], bodies: usize) -> Vec<Option<ActionId>> {
    let mut count = vec![0u32; bodies];
    let mut owners = vec![None; bodies];
    for (index, action) in actions.iter().enumerate() {
        if let Some(count) = count.get_mut(action.body.index()) {
            *count += 1;
            owners[action.body.index()] = Some(ActionId(index as u32));
        }
    }
    owners
        .into_iter()
        .zip(count)
        .map(|(owner, count)| owner.filter(|_| count == 1))
        .collect()
}

/// The name of an action's parameter, if it identifies the parameter and its width.
fn param_name(action: &Action, index: u32, width: u32) -> Option<&str> {
    let params = &action.params;
    let param = params.get(index as usize)?;
    let unique = params.iter().filter(|other| other.name == param.name).count() == 1;
    (unique && param.width == width && is_plain(&param.name)).then_some(param.name.as_str())
}

pub(super) fn constant(value: &Bits) -> String {
    format!("{}w{value:#x}", value.width())
}

pub(super) fn block(id: BlockId) -> String {
    format!("block{}", id.0)
}

fn unary_mark(op: UnaryOp) -> char {
    match op {
        UnaryOp::Not => '~',
        UnaryOp::Negate => '-',
    }
}

/// Binary operators and their notation.
const BINARY_MARKS: &[(BinaryOp, &str)] = &[
    (BinaryOp::Add, "+"),
    (BinaryOp::Sub, "-"),
    (BinaryOp::Mul, "*"),
    (BinaryOp::Div, "/"),
    (BinaryOp::Mod, "%"),
    (BinaryOp::SatAddUnsigned, "|+|"),
    (BinaryOp::SatAddSigned, "|+|s"),
    (BinaryOp::SatSubUnsigned, "|-|"),
    (BinaryOp::SatSubSigned, "|-|s"),
    (BinaryOp::And, "&"),
    (BinaryOp::Or, "|"),
    (BinaryOp::Xor, "^"),
    (BinaryOp::Shl, "<<"),
    (BinaryOp::Shr, ">>"),
    (BinaryOp::ShrSigned, ">>s"),
    (BinaryOp::Eq, "=="),
    (BinaryOp::Ne, "!="),
    (BinaryOp::Lt, "<"),
    (BinaryOp::Le, "<="),
    (BinaryOp::LtSigned, "<s"),
    (BinaryOp::LeSigned, "<=s"),
];

fn binary_mark(op: BinaryOp) -> &'static str {
    let found = BINARY_MARKS.iter().find(|(candidate, _)| *candidate == op);
    found.map(|(_, mark)| *mark).expect("every operator has a mark")
}

/// The operator with this notation.
pub(super) fn binary_op(mark: &str) -> Option<BinaryOp> {
    BINARY_MARKS
        .iter()
        .find(|(_, candidate)| *candidate == mark)
        .map(|(op, _)| *op)
}
