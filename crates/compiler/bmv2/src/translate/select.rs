//! Transitions between parser states.
//!
//! A transition's value is that of all key fields one after the other, each padded in front to whole bytes.

use super::Translator;
use super::parser::States;
use crate::error::{At, Error, Result};
use crate::model::{ParseState, Transition, TransitionWhen};
use forebay_bits::Bits;
use forebay_ir::{Expr, KeySet, SelectCase, Terminator, ValueSetId};
use num_bigint::BigInt;

impl Translator<'_> {
    pub(super) fn transitions(&mut self, state: &ParseState, states: &States) -> Result<()> {
        let by_default = state
            .transitions
            .iter()
            .find(|transition| matches!(transition.when, TransitionWhen::Default));
        let others: Vec<&Transition> = state
            .transitions
            .iter()
            .filter(|transition| !matches!(transition.when, TransitionWhen::Default))
            .collect();
        if others.is_empty() {
            let next = by_default.and_then(|transition| transition.next.as_deref());
            self.body.jump(states.block(next)?);
            return Ok(());
        }
        let keys = self.transition_keys(state)?;
        let widths: Vec<u32> = keys.iter().map(|key| key.width(&self.program)).collect();
        let cases = others.iter().map(|transition| {
            let keysets = self.keysets(transition, &widths).at(&transition.at)?;
            let target = states.block(transition.next.as_deref()).at(&transition.at)?;
            Ok(SelectCase { keysets, target })
        });
        let cases = cases.collect::<Result<_>>()?;
        let default = match by_default {
            Some(transition) => states.block(transition.next.as_deref()).at(&transition.at)?,
            None => self.body.block(None),
        };
        self.body.terminate(Terminator::Select { keys, cases, default });
        if by_default.is_none() {
            self.body.start(default);
            let error = self.error_constant("NoMatch");
            self.body.terminate(Terminator::Reject(error));
        }
        Ok(())
    }

    fn transition_keys(&mut self, state: &ParseState) -> Result<Vec<Expr>> {
        if state.key.is_empty() {
            return Err(Error::new("transitions with values need a `transition_key`"));
        }
        state.key.iter().map(|key| Ok(self.exact(key)?.expr)).collect()
    }

    fn keysets(&self, transition: &Transition, widths: &[u32]) -> Result<Vec<KeySet>> {
        match &transition.when {
            TransitionWhen::Default => Ok(vec![KeySet::Any; widths.len()]),
            TransitionWhen::Value(value, mask) => {
                let values = unpack(value, widths);
                let Some(mask) = mask else {
                    return Ok(values.into_iter().map(KeySet::Exact).collect());
                };
                let pairs = values.into_iter().zip(unpack(mask, widths));
                Ok(pairs.map(|(value, mask)| keyset(value, mask)).collect())
            }
            TransitionWhen::ValueSet(name) => self.value_set(name, widths),
        }
    }

    fn value_set(&self, name: &str, widths: &[u32]) -> Result<Vec<KeySet>> {
        let position = self.program.value_sets.iter().position(|set| set.name == name);
        let position = position.ok_or_else(|| Error::new(format!("there is no value set `{name}`")))?;
        let components = &self.program.value_sets[position].components;
        let fits = components
            .iter()
            .map(|component| component.width)
            .eq(widths.iter().copied());
        if !fits {
            return Err(Error::new(format!(
                "the key does not have the fields of value set `{name}`"
            )));
        }
        let set = ValueSetId(position as u32);
        Ok((0..widths.len() as u32)
            .map(|component| KeySet::ValueSet { set, component })
            .collect())
    }
}

fn keyset(value: Bits, mask: Bits) -> KeySet {
    match () {
        () if mask.is_zero() => KeySet::Any,
        () if mask.not().is_zero() => KeySet::Exact(value),
        () => KeySet::Mask {
            value: value.and(&mask),
            mask,
        },
    }
}

/// Takes a value apart into its fields.
fn unpack(value: &BigInt, widths: &[u32]) -> Vec<Bits> {
    let mut rest = value.clone();
    let mut fields: Vec<Bits> = Vec::new();
    for width in widths.iter().rev() {
        fields.push(Bits::from_bigint(*width, &rest));
        rest >>= width.div_ceil(8) * 8;
    }
    fields.reverse();
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_padded_to_bytes() {
        let fields = unpack(&BigInt::from(0x0a_ba03), &[12, 2]);
        assert_eq!(fields, vec![Bits::new(12, 0xaba), Bits::new(2, 3)]);
    }
}
