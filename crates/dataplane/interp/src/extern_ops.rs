//! Externs of v1model: stateful objects, hashes and checksums, and requests to the architecture.

use crate::execution::Execution;
use forebay_bits::Bits;
use forebay_exec::{CloneRequest, DIGESTS_MAX, DigestRequest, Event, Objects, Preserve, Tracer};
use forebay_ir::{DataItem, DigestId, Expr, HashAlgorithm, Location, Op, SlotId};

impl<'a, O: Objects, T: Tracer> Execution<'a, O, T> {
    /// Executes an extern's operation.
    pub(crate) fn extern_op(&mut self, op: &'a Op, location: Location, action_data: &[Bits]) {
        match op {
            Op::RegisterRead { register, index, slot } => {
                let index = self.index(index, action_data);
                let value = self.objects.read_register(*register, index);
                let name = &self.program.registers[register.index()].name;
                self.trace_extern("register.read", name, Some(index), Some(&value), location);
                self.assign(*slot, value, location);
            }
            Op::RegisterWrite { register, index, value } => {
                let index = self.index(index, action_data);
                let value = self.eval(value, action_data);
                let name = &self.program.registers[register.index()].name;
                self.trace_extern("register.write", name, Some(index), Some(&value), location);
                self.objects.write_register(*register, index, &value);
            }
            Op::EnterAtomic { lock, index } => {
                let index = index.as_ref().map_or(0, |index| self.index(index, action_data));
                self.objects.enter_atomic(*lock, index);
            }
            Op::LeaveAtomic => self.objects.leave_atomic(),
            Op::Count { counter, index } => {
                let index = self.index(index, action_data);
                let name = &self.program.counters[counter.index()].name;
                self.trace_extern("counter.count", name, Some(index), None, location);
                self.objects.count(*counter, index, self.facts);
            }
            Op::ExecuteMeter {
                meter,
                index,
                before,
                slot,
            } => {
                let index = self.index(index, action_data);
                let before = before.as_ref().map_or(0, |before| self.index(before, action_data));
                let before = before.min(2) as u8;
                let color = self.objects.execute_meter(*meter, index, before, self.facts);
                let color = color.map(|color| Bits::new(self.width(*slot), color.into()));
                let name = &self.program.meters[meter.index()].name;
                self.trace_extern("meter.execute_meter", name, Some(index), color.as_ref(), location);
                if let Some(color) = color {
                    self.assign(*slot, color, location);
                }
            }
            Op::Hash {
                algorithm,
                data,
                range,
                slot,
            } => {
                let hash = self.hash(*algorithm, data, false, action_data);
                let result = match range {
                    None => Bits::new(self.width(*slot), hash.into()),
                    Some((base, max)) => self.hash_in_range(hash, base, max, *slot, action_data),
                };
                self.trace_extern("hash", "", None, Some(&result), location);
                self.assign(*slot, result, location);
            }
            Op::VerifyChecksum {
                condition,
                data,
                checksum,
                algorithm,
                payload,
            } => {
                if !self.eval(condition, action_data).is_zero() {
                    let carried = self.eval(checksum, action_data);
                    let computed = Bits::new(
                        carried.width(),
                        self.hash(*algorithm, data, *payload, action_data).into(),
                    );
                    self.trace_extern("verify_checksum", "", None, Some(&computed), location);
                    self.requests.checksum_error |= computed != carried;
                }
            }
            Op::UpdateChecksum {
                condition,
                data,
                slot,
                algorithm,
                payload,
            } => {
                if !self.eval(condition, action_data).is_zero() {
                    let computed = self.hash(*algorithm, data, *payload, action_data);
                    let computed = Bits::new(self.width(*slot), computed.into());
                    self.trace_extern("update_checksum", "", None, Some(&computed), location);
                    self.assign(*slot, computed, location);
                }
            }
            Op::Random { low, high, slot } => {
                let low = self.eval(low, action_data).to_u64_saturating();
                let high = self.eval(high, action_data).to_u64_saturating();
                // Reversed bounds leave the result unchanged, as in BMv2.
                if let Some(drawn) = self.random.between(low, high) {
                    let drawn = Bits::new(self.width(*slot), drawn.into());
                    self.trace_extern("random", "", None, Some(&drawn), location);
                    self.assign(*slot, drawn, location);
                }
            }
            Op::LogMessage { format, args } => self.log(format, args, location, action_data),
            _ => self.request(op, location, action_data),
        }
    }

    /// Executes operations that make a request to the architecture.
    fn request(&mut self, op: &'a Op, location: Location, action_data: &[Bits]) {
        match op {
            Op::Digest { digest, data } => self.digest(*digest, data, location, action_data),
            Op::Clone {
                kind,
                session,
                field_list,
            } => {
                let session = self.eval(session, action_data).to_u64() as u32;
                let preserve = self.preserve(field_list.as_ref(), action_data);
                self.trace_extern("clone", "", Some(session.into()), None, location);
                self.requests.clone = Some(CloneRequest {
                    kind: *kind,
                    session,
                    preserve,
                });
            }
            Op::Resubmit { field_list } => {
                let preserve = self.preserve(field_list.as_ref(), action_data);
                self.trace_extern("resubmit", "", preserve.field_list.map(u64::from), None, location);
                self.requests.resubmit = Some(preserve);
            }
            Op::Recirculate { field_list } => {
                let preserve = self.preserve(field_list.as_ref(), action_data);
                self.trace_extern("recirculate", "", preserve.field_list.map(u64::from), None, location);
                self.requests.recirculate = Some(preserve);
            }
            Op::Truncate { bytes } => {
                let bytes = self.eval(bytes, action_data).to_u64().min(u32::MAX.into()) as u32;
                self.trace_extern("truncate", "", Some(bytes.into()), None, location);
                let least = self.requests.truncate_to.map_or(bytes, |before| before.min(bytes));
                self.requests.truncate_to = Some(least);
            }
            other => unreachable!("{other:?} is executed elsewhere"),
        }
    }

    fn width(&self, slot: SlotId) -> u32 {
        self.program.slot(slot).width
    }

    fn index(&self, index: &Expr, action_data: &[Bits]) -> u64 {
        self.eval(index, action_data).to_u64_saturating()
    }

    fn preserve(&self, field_list: Option<&Expr>, action_data: &[Bits]) -> Preserve {
        Preserve {
            field_list: field_list.map(|index| self.eval(index, action_data).to_u64() as u32),
        }
    }

    /// `base + hash mod max`; a `max` of 0 counts as 1 (BMv2).
    fn hash_in_range(&self, hash: u64, base: &Expr, max: &Expr, slot: SlotId, action_data: &[Bits]) -> Bits {
        let base = self.eval(base, action_data).to_u128();
        let max = self.eval(max, action_data).to_u128().max(1);
        Bits::new(self.width(slot), base.wrapping_add(u128::from(hash) % max))
    }

    /// The hash of data items, packed without gaps and padded with zeros to a whole byte, followed by the payload if
    /// `payload` is set.
    fn hash(&mut self, algorithm: HashAlgorithm, data: &[DataItem], payload: bool, action_data: &[Bits]) -> u64 {
        let mut input = std::mem::take(&mut self.buffers.hash_input);
        input.clear();
        for item in data {
            match item {
                DataItem::Value(expr) => input.push(&self.eval(expr, action_data)),
                DataItem::Varbit { value, length } => {
                    let value = self.state.get(*value);
                    let present = self.state.get(*length).to_u64().min(value.width().into()) as u32;
                    input.push(&value.truncate(present));
                }
            }
        }
        if payload {
            let padding = (8 - input.len_bits() % 8) % 8;
            input.push(&Bits::zero(padding as u32));
            input.push_from(self.packet, self.cursor);
        }
        let hash = self.objects.hash(algorithm, input.bytes());
        self.buffers.hash_input = input;
        hash
    }

    fn digest(&mut self, digest: DigestId, data: &[Expr], location: Location, action_data: &[Bits]) {
        let name = &self.program.digests[digest.index()].name;
        self.trace_extern("digest", name, None, None, location);
        if self.requests.digests.len() >= DIGESTS_MAX {
            self.requests.digests_lost += 1;
            return;
        }
        let values = data.iter().map(|value| self.eval(value, action_data)).collect();
        self.requests.digests.push(DigestRequest { digest, values });
    }

    /// `log_msg` costs nothing without a tracer.
    fn log(&mut self, format: &str, args: &[Expr], location: Location, action_data: &[Bits]) {
        if !T::ON {
            return;
        }
        let mut values = args
            .iter()
            .map(|arg| self.eval(arg, action_data).to_biguint().to_string());
        let mut pieces = format.split("{}");
        let mut text = pieces.next().unwrap_or_default().to_string();
        for piece in pieces {
            text.push_str(&values.next().unwrap_or_else(|| "{}".to_string()));
            text.push_str(piece);
        }
        self.tracer.event(Event::Log { text: &text, location });
    }

    fn trace_extern(
        &mut self,
        name: &'static str,
        instance: &str,
        index: Option<u64>,
        value: Option<&Bits>,
        location: Location,
    ) {
        if T::ON {
            self.tracer.event(Event::Extern {
                name,
                instance,
                index,
                value,
                location,
            });
        }
    }
}
