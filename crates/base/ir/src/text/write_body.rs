//! Bodies as text: operations and terminators.

use super::names::{Keyword, plain_or_quoted, quoted};
use super::write_expr::{ExprPrinter, block};
use crate::{Block, BodyId, DataItem, Expr, Location, Op, SlotId, Terminator};

impl ExprPrinter<'_> {
    /// A whole body.
    pub(super) fn body(&self, text: &mut String, id: BodyId) {
        let body = &self.program.bodies[id.index()];
        let name = self.names.bodies.symbol(id.0);
        text.push_str(&format!("body {name} {} {{\n", body.kind.word()));
        for (index, block) in body.blocks.iter().enumerate() {
            self.block(text, index, block, id);
        }
        text.push_str("}\n");
    }

    fn block(&self, text: &mut String, index: usize, block: &Block, body: BodyId) {
        let state = block
            .label
            .as_ref()
            .map_or(String::new(), |label| format!(" state {}", plain_or_quoted(label)));
        text.push_str(&format!("block{index}{state}:\n"));
        for statement in &block.statements {
            let op = self.op(&statement.op, body);
            text.push_str(&format!("  {op}{}\n", location(statement.location)));
        }
        let terminator = self.terminator(&block.terminator, body);
        text.push_str(&format!("  {terminator}{}\n", location(block.location)));
    }

    /// A terminator, which may take several lines.
    pub fn terminator(&self, terminator: &Terminator, body: BodyId) -> String {
        let here = Some(body);
        match terminator {
            Terminator::Jump(target) => format!("jump {}", block(*target)),
            Terminator::Branch {
                condition,
                then_block,
                else_block,
            } => {
                format!(
                    "branch {}, {}, {}",
                    self.expr(condition, here),
                    block(*then_block),
                    block(*else_block)
                )
            }
            Terminator::Select { keys, cases, default } => {
                let mut text = format!("select ({}) {{\n", self.exprs(keys, here));
                for case in cases {
                    text.push_str(&format!("    {} => {}\n", self.case(case, here), block(case.target)));
                }
                text.push_str(&format!("    default => {}\n  }}", block(*default)));
                text
            }
            Terminator::Apply {
                table,
                hit,
                action_run,
                next,
            } => {
                let hit = hit.map_or(String::new(), |slot| format!(" hit {}", self.slot(slot)));
                let run = action_run.map_or(String::new(), |slot| format!(" run {}", self.slot(slot)));
                format!("apply {}{hit}{run} -> {}", self.table(*table), block(*next))
            }
            Terminator::Return => "return".to_owned(),
            Terminator::Exit => "exit".to_owned(),
            Terminator::Reject(error) => format!("reject {}", self.expr(error, here)),
        }
    }

    /// An operation, on one line.
    pub fn op(&self, op: &Op, body: BodyId) -> String {
        let here = Some(body);
        let to = |slot: &SlotId, text: String| format!("{} = {text}", self.slot(*slot));
        match op {
            Op::Assign { slot, value } => to(slot, self.expr(value, here)),
            Op::Extract { header, varbit_bits } => {
                let varbit = varbit_bits
                    .as_ref()
                    .map_or(String::new(), |b| format!(" varbit {}", self.expr(b, here)));
                format!("extract {}{varbit}", self.header(*header))
            }
            Op::Advance { bits } => format!("advance({})", self.expr(bits, here)),
            Op::Lookahead { slot } => to(slot, "lookahead".to_owned()),
            Op::PacketLength { slot } => to(slot, "packet_length".to_owned()),
            Op::Emit { header } => format!("emit {}", self.header(*header)),
            Op::RegisterRead { register, index, slot } => {
                let register = self.names.registers.symbol(register.0);
                to(slot, format!("register_read({register}, {})", self.expr(index, here)))
            }
            Op::RegisterWrite { register, index, value } => {
                let register = self.names.registers.symbol(register.0);
                format!(
                    "register_write({register}, {}, {})",
                    self.expr(index, here),
                    self.expr(value, here)
                )
            }
            Op::Count { counter, index } => {
                format!(
                    "count({}, {})",
                    self.names.counters.symbol(counter.0),
                    self.expr(index, here)
                )
            }
            Op::ExecuteMeter {
                meter,
                index,
                before,
                slot,
            } => {
                let meter = self.names.meters.symbol(meter.0);
                let before = before
                    .as_ref()
                    .map_or(String::new(), |before| format!(" before({})", self.expr(before, here)));
                to(
                    slot,
                    format!("execute_meter({meter}, {}){before}", self.expr(index, here)),
                )
            }
            Op::Hash {
                algorithm,
                data,
                range,
                slot,
            } => {
                let range = range.as_ref().map_or(String::new(), |(base, max)| {
                    format!(" range({}, {})", self.expr(base, here), self.expr(max, here))
                });
                to(
                    slot,
                    format!("hash {} {}{range}", self.algorithm(*algorithm), self.data(data, body)),
                )
            }
            Op::VerifyChecksum {
                condition,
                data,
                checksum,
                algorithm,
                payload,
            } => format!(
                "verify_checksum {} {} == {} if {}{}",
                self.algorithm(*algorithm),
                self.data(data, body),
                self.parenthesised(checksum, body),
                self.parenthesised(condition, body),
                if *payload { " payload" } else { "" },
            ),
            Op::UpdateChecksum {
                condition,
                data,
                slot,
                algorithm,
                payload,
            } => {
                let data = self.data(data, body);
                let condition = self.parenthesised(condition, body);
                let payload = if *payload { " payload" } else { "" };
                to(
                    slot,
                    format!(
                        "update_checksum {} {data} if {condition}{payload}",
                        self.algorithm(*algorithm)
                    ),
                )
            }
            Op::Random { low, high, slot } => to(
                slot,
                format!("random({}, {})", self.expr(low, here), self.expr(high, here)),
            ),
            Op::Digest { digest, data } => {
                let data: String = data
                    .iter()
                    .map(|value| format!(", {}", self.expr(value, here)))
                    .collect();
                format!("digest({}{data})", self.names.digests.symbol(digest.0))
            }
            Op::Clone {
                kind,
                session,
                field_list,
            } => {
                let list = field_list
                    .as_ref()
                    .map_or(String::new(), |list| format!(", {}", self.expr(list, here)));
                format!("clone {}({}{list})", kind.word(), self.expr(session, here))
            }
            Op::Resubmit { field_list } => format!("resubmit({})", self.optional(field_list, body)),
            Op::Recirculate { field_list } => format!("recirculate({})", self.optional(field_list, body)),
            Op::Truncate { bytes } => format!("truncate({})", self.expr(bytes, here)),
            Op::EnterAtomic { lock, index } => {
                let index = index.as_ref();
                let index = index.map_or(String::new(), |index| format!(", {}", self.expr(index, here)));
                format!("enter_atomic({lock}{index})")
            }
            Op::LeaveAtomic => "leave_atomic".to_owned(),
            Op::LogMessage { format, args } => format!("log {}({})", quoted(format), self.exprs(args, here)),
            Op::Assert { condition, text } => format!("assert({}, {})", self.expr(condition, here), quoted(text)),
            Op::Assume { condition, text } => format!("assume({}, {})", self.expr(condition, here), quoted(text)),
        }
    }

    fn data(&self, items: &[DataItem], body: BodyId) -> String {
        let items: Vec<String> = items.iter().map(|item| self.data_item(item, Some(body))).collect();
        format!("{{{}}}", items.join(", "))
    }

    fn parenthesised(&self, expr: &Expr, body: BodyId) -> String {
        format!("({})", self.expr(expr, Some(body)))
    }

    fn optional(&self, expr: &Option<Expr>, body: BodyId) -> String {
        expr.as_ref().map_or(String::new(), |expr| self.expr(expr, Some(body)))
    }
}

/// ` @0:12`, or nothing for an unknown location.
pub(super) fn location(location: Location) -> String {
    if location == Location::default() {
        return String::new();
    }
    format!(" @{}:{}", location.file, location.line)
}
