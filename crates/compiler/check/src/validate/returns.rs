//! Whether a function returns on every path (§10, §12.4).

use crate::hir::{Block, Statement, StatementKind};

/// Whether execution cannot reach the end of the block.
pub(crate) fn always_returns(block: &Block) -> bool {
    block.statements.iter().any(statement_returns)
}

fn statement_returns(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Return(_) | StatementKind::Exit => true,
        StatementKind::If { branches, otherwise } => {
            branches.iter().all(|branch| always_returns(&branch.body)) && always_returns(otherwise)
        }
        StatementKind::Block(block) => always_returns(block),
        StatementKind::SwitchAction { cases, .. } => {
            cases.iter().any(|(labels, _)| labels.contains(&None))
                && cases.iter().all(|(_, block)| always_returns(block))
        }
        StatementKind::Switch { cases, .. } => {
            let has_default = cases.iter().any(|(labels, _)| labels.iter().any(Option::is_none));
            has_default && cases.iter().all(|(_, block)| always_returns(block))
        }
        _ => false,
    }
}
