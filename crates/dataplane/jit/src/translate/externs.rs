//! Statements, and their external effects: stateful objects, and requests to the architecture.

use super::mode::Mode;
use super::value::{ActionData, Value};
use super::{Ending, Translator};
use crate::route::BailOut;
use crate::runtime::{self, DigestShape, Function, NO_FIELD_LIST};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};
use forebay_ir::{CloneKind, DigestId, Expr, MeterId, Op, SlotId};

impl Translator<'_, '_, '_> {
    /// Translates an operation.
    pub(super) fn statement(&mut self, op: &Op, data: Option<&ActionData>) {
        match op {
            Op::Assign {
                slot,
                value: Expr::Slot(copied),
            } if self.copy_varbit(*slot, *copied) => {}
            Op::Assign { slot, value } => {
                let value = self.value(value, data);
                self.write_slot(*slot, value);
            }
            Op::Extract { header, varbit_bits } => self.extract(*header, varbit_bits.as_ref()),
            Op::Advance { bits } => self.advance(bits),
            Op::Lookahead { slot } => self.lookahead(*slot),
            Op::PacketLength { slot } => self.packet_length(*slot),
            Op::Emit { header } => self.emit(*header),
            Op::Assert { condition, .. } | Op::Assume { condition, .. } => {
                let condition = self.condition(condition, data);
                match self.copy_loop() {
                    Some(copies) => self.require_of_copy(condition, copies),
                    None => self.require(condition, Ending::AssertFailed),
                }
            }
            // Compiled code is not traced.
            Op::LogMessage { .. } => {}
            Op::Hash { .. } | Op::VerifyChecksum { .. } | Op::UpdateChecksum { .. } => self.hash_op(op, data),
            Op::Clone {
                session, field_list, ..
            } if self.is_fast_path() => self.clone_on_fast_path(session, field_list.as_ref(), data),
            Op::Clone {
                kind,
                session,
                field_list,
            } => self.clone_request(*kind, session, field_list.as_ref(), data),
            Op::Digest { .. } if self.path().is_some_and(|path| !path.leaf.notes.digests) => {
                self.bail_out(BailOut::Digest)
            }
            Op::Digest { digest, data: fields } => self.digest(*digest, fields, data),
            Op::Resubmit { field_list } => self.send_back(runtime::RESUBMIT, field_list.as_ref(), data),
            Op::Recirculate { field_list } => self.send_back(runtime::RECIRCULATE, field_list.as_ref(), data),
            Op::Truncate { bytes } => {
                let bytes = self.word_of(bytes, data);
                self.truncate_to(bytes);
            }
            Op::RegisterRead { register, index, slot } => {
                let index = self.saturated_of(index, data);
                self.read_element(*register, index, *slot);
            }
            Op::RegisterWrite { register, index, value } => {
                let index = self.saturated_of(index, data);
                let value = self.value(value, data);
                self.write_element(*register, index, value);
            }
            Op::Count { counter, index } => {
                let index = self.saturated_of(index, data);
                self.count_element(*counter, index);
            }
            Op::ExecuteMeter {
                meter,
                index,
                before,
                slot,
            } => {
                let index = self.saturated_of(index, data);
                let before = before.as_ref().map(|before| self.saturated_of(before, data));
                self.execute_meter(*meter, index, before, *slot);
            }
            Op::EnterAtomic { lock, index } => self.enter_section(*lock, index.as_ref(), data),
            Op::LeaveAtomic => self.leave_section(),
            Op::Random { low, high, slot } => self.random(low, high, *slot, data),
        }
    }

    fn execute_meter(&mut self, meter: MeterId, index: ir::Value, before: Option<ir::Value>, slot: SlotId) {
        let before = before.unwrap_or_else(|| self.number(0));
        self.note_meter(meter, index);
        let meter = self.number(meter.0.into());
        self.tell_facts();
        let color = self.call_for_result(runtime::EXECUTE_METER, &[self.context, meter, index, before]);
        self.write_color(slot, color);
    }

    fn hash_op(&mut self, op: &Op, action: Option<&ActionData>) {
        match op {
            Op::Hash {
                algorithm,
                data,
                range,
                slot,
            } => {
                let hash = self.hash(*algorithm, data, false, action);
                let width = self.program.slot(*slot).width;
                let result = match range {
                    None => self.value_of_u64(width, hash),
                    Some((base, max)) => self.hash_in_range(hash, (base, max), width, action),
                };
                self.write_slot(*slot, result);
            }
            Op::VerifyChecksum {
                condition,
                data,
                checksum,
                algorithm,
                payload,
            } => {
                let condition = self.condition(condition, action);
                self.when(condition, |translator| {
                    let carried = translator.value(checksum, action);
                    let hash = translator.hash(*algorithm, data, *payload, action);
                    let computed = translator.value_of_u64(carried.width, hash);
                    let equal = translator.equal(computed, carried);
                    let differs = translator.ins().icmp_imm_u(IntCC::Equal, equal, 0);
                    match translator.path().and_then(|path| path.on_checksum_error) {
                        Some(failed) => translator.go_on_unless(differs, failed),
                        None => translator.when_rarely(differs, Self::report_checksum_error),
                    }
                });
            }
            Op::UpdateChecksum {
                condition,
                data,
                slot,
                algorithm,
                payload,
            } => {
                let condition = self.condition(condition, action);
                self.when(condition, |translator| {
                    let hash = translator.hash(*algorithm, data, *payload, action);
                    translator.write_number(*slot, hash);
                });
            }
            other => unreachable!("{other:?} is translated elsewhere"),
        }
    }

    fn report_checksum_error(&mut self) {
        match &self.mode {
            Mode::FastPath(fast) => {
                let failed = fast.checksum_failed;
                let one = self.number(1);
                self.builder.def_var(failed, one);
            }
            Mode::Graph { .. } => self.call(runtime::CHECKSUM_ERROR, &[self.context]),
        }
    }

    fn clone_request(&mut self, kind: CloneKind, session: &Expr, field_list: Option<&Expr>, data: Option<&ActionData>) {
        let session = self.word_of(session, data);
        let field_list = self.field_list(field_list, data);
        let kind = self.environment.pool.keep(kind);
        let kind = self.pointer(kind);
        self.call(runtime::CLONE, &[self.context, kind, session, field_list]);
    }

    fn send_back(&mut self, request: Function, field_list: Option<&Expr>, data: Option<&ActionData>) {
        let field_list = self.field_list(field_list, data);
        self.call(request, &[self.context, field_list]);
    }

    fn truncate_to(&mut self, bytes: ir::Value) {
        if !self.is_fast_path() {
            return self.call(runtime::TRUNCATE, &[self.context, bytes]);
        }
        let before = self.truncate_limit();
        let least = self.ins().umin(before, bytes);
        self.set_truncate_limit(least);
    }

    pub(super) fn field_list(&mut self, field_list: Option<&Expr>, data: Option<&ActionData>) -> ir::Value {
        match field_list {
            Some(index) => self.word_of(index, data),
            None => self.number(NO_FIELD_LIST as i64),
        }
    }

    fn digest(&mut self, digest: DigestId, fields: &[Expr], data: Option<&ActionData>) {
        let values: Vec<Value> = fields.iter().map(|field| self.value(field, data)).collect();
        let widths: Vec<u32> = values.iter().map(|value| value.width).collect();
        let shape = self.environment.pool.keep(DigestShape {
            digest,
            words: widths.iter().map(|width| runtime::words(*width)).sum(),
            widths,
            ends_burst: self.program.is_for_table(digest),
        });
        let shape = self.pointer(shape);
        let values = self.store_all(&values);
        if self.is_fast_path() {
            let place = self.place_in_burst();
            self.call_rarely(runtime::NOTE_DIGEST, &[shape, values, place]);
        } else {
            self.call(runtime::DIGEST, &[self.context, shape, values])
        }
    }
}
