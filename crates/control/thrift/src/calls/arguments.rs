//! The arguments of a call, by number and type.

use crate::arrays::{Count, Rate};
use crate::codes::{BAD_MATCH_KEY, Failure};
use crate::key::Said;
use crate::wire::{Fields, Value};

/// The arguments.
pub(super) struct Arguments<'a>(pub(super) &'a Fields);

fn missing(number: i16, what: &str) -> Failure {
    Failure::undeclared(format!("argument {number} is missing, or is no {what}"))
}

impl Arguments<'_> {
    pub(super) fn i32(&self, number: i16) -> Result<i32, Failure> {
        i32_in(self.0, number).ok_or_else(|| missing(number, "i32"))
    }

    pub(super) fn i16(&self, number: i16) -> Result<i16, Failure> {
        match self.0.get(number) {
            Some(Value::I16(value)) => Ok(*value),
            _ => Err(missing(number, "i16")),
        }
    }

    pub(super) fn i64(&self, number: i16) -> Result<i64, Failure> {
        match self.0.get(number) {
            Some(Value::I64(value)) => Ok(*value),
            _ => Err(missing(number, "i64")),
        }
    }

    pub(super) fn bool(&self, number: i16) -> Result<bool, Failure> {
        match self.0.get(number) {
            Some(Value::Bool(value)) => Ok(*value),
            _ => Err(missing(number, "bool")),
        }
    }

    pub(super) fn bytes(&self, number: i16) -> Result<&[u8], Failure> {
        match self.0.get(number) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(missing(number, "binary")),
        }
    }

    pub(super) fn text(&self, number: i16) -> Result<&str, Failure> {
        let text = self
            .bytes(number)
            .ok()
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.ok_or_else(|| missing(number, "string"))
    }

    fn list(&self, number: i16) -> Result<&[Value], Failure> {
        match self.0.get(number) {
            Some(Value::List(list)) => Ok(list),
            _ => Err(missing(number, "list")),
        }
    }

    /// `list<i32>`
    pub(super) fn numbers(&self, number: i16) -> Result<Vec<i32>, Failure> {
        let numbers = self.list(number)?.iter().map(|value| match value {
            Value::I32(value) => Ok(*value),
            _ => Err(missing(number, "list of i32")),
        });
        numbers.collect()
    }

    pub(super) fn fields(&self, number: i16) -> Result<&Fields, Failure> {
        match self.0.get(number) {
            Some(Value::Struct(fields)) => Ok(fields),
            _ => Err(missing(number, "structure")),
        }
    }

    /// `BmActionData`
    pub(super) fn data(&self, number: i16) -> Result<Vec<Vec<u8>>, Failure> {
        let bytes = self.list(number)?.iter().map(|value| match value {
            Value::Bytes(bytes) => Ok(bytes.clone()),
            _ => Err(missing(number, "list of binaries")),
        });
        bytes.collect()
    }

    /// `BmMatchParams`
    pub(super) fn key(&self, number: i16) -> Result<Vec<Said>, Failure> {
        let said = self.list(number)?.iter().map(|value| match value {
            Value::Struct(fields) => {
                said(fields).ok_or_else(|| BAD_MATCH_KEY.because("a field of the key is incomplete"))
            }
            _ => Err(missing(number, "list of match parameters")),
        });
        said.collect()
    }

    /// `BmAddEntryOptions`; the priority is 0 if none is given.
    pub(super) fn priority(&self, number: i16) -> Result<i32, Failure> {
        Ok(i32_in(self.fields(number)?, 1).unwrap_or(0))
    }

    /// `BmCounterValue`
    pub(super) fn count(&self, number: i16) -> Result<Count, Failure> {
        let counts = Arguments(self.fields(number)?);
        Ok(Count {
            bytes: counts.i64(1)?,
            packets: counts.i64(2)?,
        })
    }

    /// `list<BmMeterRateConfig>`
    pub(super) fn rates(&self, number: i16) -> Result<Vec<Rate>, Failure> {
        let rate = |value: &Value| {
            let Value::Struct(fields) = value else { return None };
            let Some(Value::Double(per_microsecond)) = fields.get(1) else {
                return None;
            };
            Some(Rate {
                per_microsecond: *per_microsecond,
                burst: i32_in(fields, 2)?,
            })
        };
        let rates = self.list(number)?.iter().map(rate);
        rates
            .collect::<Option<_>>()
            .ok_or_else(|| missing(number, "list of rates"))
    }

    /// `BmMcPortMap`: a digit for each port, the last one for port 0.
    pub(super) fn ports(&self, number: i16) -> Result<Vec<u32>, Failure> {
        let digits = (0..).zip(self.text(number)?.chars().rev());
        Ok(digits
            .filter(|(_, digit)| *digit == '1')
            .map(|(port, _)| port)
            .collect())
    }
}

pub(super) fn i32_in(fields: &Fields, number: i16) -> Option<i32> {
    match fields.get(number) {
        Some(Value::I32(value)) => Some(*value),
        Some(Value::I16(value)) => Some(i32::from(*value)),
        _ => None,
    }
}

/// `BmMatchParam`
fn said(parameter: &Fields) -> Option<Said> {
    let part = |number| match parameter.get(number) {
        Some(Value::Struct(fields)) => Some(fields),
        _ => None,
    };
    let bytes = |fields: &Fields, number| match fields.get(number) {
        Some(Value::Bytes(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    Some(match i32_in(parameter, 1)? {
        0 => Said::Exact(bytes(part(2)?, 1)?),
        1 => Said::Lpm(bytes(part(3)?, 1)?, i32_in(part(3)?, 2)?),
        2 => Said::Ternary(bytes(part(4)?, 1)?, bytes(part(4)?, 2)?),
        3 => match part(5)?.get(1) {
            Some(Value::Bool(flag)) => Said::Valid(*flag),
            _ => return None,
        },
        4 => Said::Range(bytes(part(6)?, 1)?, bytes(part(6)?, 2)?),
        _ => return None,
    })
}

/// The other way round.
pub(super) fn parameter(said: &Said) -> Value {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let (kind, number, part) = match said {
        Said::Exact(value) => (0, 2, Fields::default().with(1, bytes(value))),
        Said::Lpm(value, length) => (
            1,
            3,
            Fields::default().with(1, bytes(value)).with(2, Value::I32(*length)),
        ),
        Said::Ternary(value, mask) => (2, 4, Fields::default().with(1, bytes(value)).with(2, bytes(mask))),
        Said::Valid(flag) => (3, 5, Fields::default().with(1, Value::Bool(*flag))),
        Said::Range(low, high) => (4, 6, Fields::default().with(1, bytes(low)).with(2, bytes(high))),
    };
    Value::Struct(
        Fields::default()
            .with(1, Value::I32(kind))
            .with(number, Value::Struct(part)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_field_goes_there_and_back() {
        let all = [
            Said::Exact(vec![1]),
            Said::Lpm(vec![10, 0, 0, 0], 8),
            Said::Ternary(vec![1], vec![3]),
            Said::Valid(true),
            Said::Range(vec![1], vec![2]),
        ];
        let list = Value::List(all.iter().map(parameter).collect());
        let fields = Fields::default().with(3, list);
        assert_eq!(Arguments(&fields).key(3).unwrap(), all);
        assert!(Arguments(&fields).key(2).is_err());
    }

    #[test]
    fn the_last_digit_is_port_0() {
        let fields = Fields::default().with(1, Value::text("1011"));
        assert_eq!(Arguments(&fields).ports(1).unwrap(), [0, 1, 3]);
    }
}
