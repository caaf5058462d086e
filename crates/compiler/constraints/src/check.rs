//! Expressions to conditions: names are found, types agree, conversions are spelled out.
//!
//! A key as a whole converts to a number only when it is matched exactly. Any other key equals a number when it matches
//! that number and nothing else: its mask is all ones, its prefix as long as the key, its range one value.

use crate::parse::{Comparison, Expression, Kind as Written};
use crate::{Key, Kind, Mistake, Part, Subject, Value, Values};
use num_bigint::BigInt;
use num_traits::Zero;

/// Something that holds or does not.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Constant(bool),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Implies(Box<[Condition; 2]>),
    /// `==` between conditions.
    Same(Box<[Condition; 2]>),
    Compare(Comparison, Operand, Operand),
}

/// A number or a string.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    Constant(Value),
    /// A part of the key with this index.
    Part(usize, Part),
    Priority,
    Minus(Box<Operand>),
    /// Modulo 2 to the power of this.
    Truncated(Box<Operand>, u32),
    /// The number that the bytes of a string are, the most significant first.
    Bytes(Box<Operand>),
}

/// The type of what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    /// A number of any size.
    Int,
    Bits(u32),
    Text,
    /// A key as a whole that is not matched exactly.
    Key(usize),
}

/// What expressions are checked against.
pub(crate) struct Checker<'a> {
    pub(crate) subject: Subject,
    pub(crate) keys: &'a [Key],
}

impl Checker<'_> {
    /// An expression that is true or false.
    pub(crate) fn condition(&self, expression: &Expression) -> Result<Condition, Mistake> {
        let all = |parts: &[Expression]| {
            parts
                .iter()
                .map(|part| self.condition(part))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match &expression.kind {
            Written::Bool(value) => Condition::Constant(*value),
            Written::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Written::All(parts) => Condition::All(all(parts)?),
            Written::Any(parts) => Condition::Any(all(parts)?),
            Written::Implies(sides) => Condition::Implies(Box::new(self.conditions(sides)?)),
            Written::Compare(operator, sides) => self.comparison(*operator, sides, expression)?,
            _ => {
                let (of, _) = self.operand(expression)?;
                let what = self.show(of);
                let message = format!("a condition is wanted here, and this is {what}");
                return Err(Mistake::new(expression.place.clone(), message));
            }
        })
    }

    fn conditions(&self, sides: &[Expression; 2]) -> Result<[Condition; 2], Mistake> {
        Ok([self.condition(&sides[0])?, self.condition(&sides[1])?])
    }

    fn comparison(
        &self,
        operator: Comparison,
        sides: &[Expression; 2],
        whole: &Expression,
    ) -> Result<Condition, Mistake> {
        let equality = match operator {
            Comparison::Equal => Some(true),
            Comparison::NotEqual => Some(false),
            _ => None,
        };
        if sides.iter().any(is_condition) {
            let same = Condition::Same(Box::new(self.conditions(sides)?));
            return match equality {
                Some(is_equal) => Ok(positive(is_equal, same)),
                None => Err(Mistake::new(
                    whole.place.clone(),
                    "conditions have no order: compare them with `==` or `!=`",
                )),
            };
        }
        let [left, right] = [self.operand(&sides[0])?, self.operand(&sides[1])?];
        if !matches!(
            (left.0, right.0),
            (Type::Key(_), _) | (_, Type::Key(_)) | (Type::Text, _) | (_, Type::Text)
        ) {
            let (left, right) = self.numbers(left, right, whole)?;
            return Ok(Condition::Compare(operator, left, right));
        }
        match equality {
            Some(is_equal) => Ok(positive(is_equal, self.equality(left, right, whole)?)),
            None => self.order_of_strings(operator, left, right, whole),
        }
    }

    /// Strings are ordered as the numbers that their bytes are; keys as a whole are not.
    fn order_of_strings(
        &self,
        operator: Comparison,
        left: (Type, Operand),
        right: (Type, Operand),
        whole: &Expression,
    ) -> Result<Condition, Mistake> {
        if let Some(Type::Key(key)) = [left.0, right.0].into_iter().find(|of| matches!(of, Type::Key(_))) {
            let Key { name, kind, .. } = &self.keys[key];
            let parts = parts(*kind).iter();
            let message = format!(
                "{} has no order as a whole: compare a part of it",
                self.show(Type::Key(key))
            );
            return Err(Mistake {
                options: parts.map(|part| format!("`{name}::{}`", part_name(*part))).collect(),
                ..Mistake::new(whole.place.clone(), message)
            });
        }
        let number = |(of, operand): (Type, Operand)| match of {
            Type::Text => Some(Operand::Bytes(Box::new(operand))),
            Type::Int => Some(operand),
            Type::Bits(_) | Type::Key(_) => None,
        };
        let (left_type, right_type) = (left.0, right.0);
        match (number(left), number(right)) {
            (Some(left), Some(right)) => Ok(Condition::Compare(operator, left, right)),
            _ => {
                let message = format!(
                    "{} cannot be compared with {}",
                    self.show(left_type),
                    self.show(right_type)
                );
                Err(Mistake::new(whole.place.clone(), message))
            }
        }
    }

    /// Whether two operands are equal, one of which is a string or a key as a whole.
    fn equality(
        &self,
        left: (Type, Operand),
        right: (Type, Operand),
        whole: &Expression,
    ) -> Result<Condition, Mistake> {
        match (left.0, right.0) {
            (Type::Key(one), Type::Key(other)) => self.same_keys(one, other, whole),
            (Type::Key(key), _) => self.key_equals(key, right, whole),
            (_, Type::Key(key)) => self.key_equals(key, left, whole),
            _ => match (as_text(left), as_text(right)) {
                (Some(left), Some(right)) => Ok(equal(left, right)),
                _ => Err(Mistake::new(
                    whole.place.clone(),
                    "a string can be compared with a string in single quotes, or with a number that stands there",
                )),
            },
        }
    }

    fn same_keys(&self, one: usize, other: usize, whole: &Expression) -> Result<Condition, Mistake> {
        let (left, right) = (&self.keys[one], &self.keys[other]);
        if (left.kind, left.values) != (right.kind, right.values) {
            let message = format!(
                "`{}` and `{}` are not of the same kind and width",
                left.name, right.name
            );
            return Err(Mistake::new(whole.place.clone(), message));
        }
        let parts = parts(left.kind).iter();
        let same = parts.map(|part| equal(Operand::Part(one, *part), Operand::Part(other, *part)));
        Ok(Condition::All(same.collect()))
    }

    /// Whether a key matches one value and nothing else.
    fn key_equals(&self, key: usize, value: (Type, Operand), whole: &Expression) -> Result<Condition, Mistake> {
        let Key { kind, values, .. } = self.keys[key];
        let equals = |part| {
            let of_part = (self.part_type(key, part), Operand::Part(key, part));
            match values {
                Values::Text => self.equality(of_part, value.clone(), whole),
                Values::Bits(_) => {
                    let (left, right) = self.numbers(of_part, value.clone(), whole)?;
                    Ok(equal(left, right))
                }
            }
        };
        let is = |part, number: BigInt| equal(Operand::Part(key, part), Operand::Constant(Value::Number(number)));
        let width = self.mask_width(key);
        let parts = match kind {
            Kind::Exact => vec![equals(Part::Value)?],
            Kind::Ternary | Kind::Optional => vec![equals(Part::Value)?, is(Part::Mask, ones(width))],
            Kind::Lpm => vec![equals(Part::Value)?, is(Part::PrefixLength, width.into())],
            Kind::Range => vec![equals(Part::Low)?, equals(Part::High)?],
        };
        Ok(Condition::All(parts))
    }

    /// Two numbers of one type.
    fn numbers(
        &self,
        left: (Type, Operand),
        right: (Type, Operand),
        whole: &Expression,
    ) -> Result<(Operand, Operand), Mistake> {
        match (left.0, right.0) {
            (Type::Int, Type::Int) => Ok((left.1, right.1)),
            (Type::Bits(one), Type::Bits(other)) if one == other => Ok((left.1, right.1)),
            (Type::Bits(width), Type::Int) => Ok((left.1, truncated(right.1, width))),
            (Type::Int, Type::Bits(width)) => Ok((truncated(left.1, width), right.1)),
            _ => {
                let message = format!("{} cannot be compared with {}", self.show(left.0), self.show(right.0));
                Err(Mistake::new(whole.place.clone(), message))
            }
        }
    }

    /// A number, a string, or a key.
    fn operand(&self, expression: &Expression) -> Result<(Type, Operand), Mistake> {
        Ok(match &expression.kind {
            Written::Number(number) => (Type::Int, Operand::Constant(Value::Number(number.clone()))),
            Written::Text(text) => (Type::Text, Operand::Constant(Value::Text(text.clone().into_bytes()))),
            Written::Name(name) => {
                let key = self.key(name, expression)?;
                match self.keys[key].kind {
                    Kind::Exact => (self.part_type(key, Part::Value), Operand::Part(key, Part::Value)),
                    _ => (Type::Key(key), Operand::Part(key, Part::Value)),
                }
            }
            Written::Part(of, part) => self.part(of, part, expression)?,
            Written::Attribute(name) => self.attribute(name, expression)?,
            Written::Minus(inner) => match self.operand(inner)? {
                (Type::Int, operand) => (Type::Int, negative(operand)),
                (other, _) => {
                    let message = format!(
                        "`-` stands before numbers without a width, not before {}",
                        self.show(other)
                    );
                    return Err(Mistake::new(inner.place.clone(), message));
                }
            },
            _ => {
                let message = "a number is wanted here, and this is a condition";
                return Err(Mistake::new(expression.place.clone(), message));
            }
        })
    }

    fn key(&self, name: &str, expression: &Expression) -> Result<usize, Mistake> {
        let found = self.keys.iter().position(|key| key.name == name);
        found.ok_or_else(|| {
            let kind = match self.subject {
                Subject::Table => "key",
                Subject::Action => "parameter",
            };
            Mistake {
                options: self.keys.iter().map(|key| format!("`{}`", key.name)).collect(),
                ..Mistake::new(expression.place.clone(), format!("there is no {kind} `{name}`"))
            }
        })
    }

    fn part(&self, of: &Expression, name: &str, whole: &Expression) -> Result<(Type, Operand), Mistake> {
        let Written::Name(key) = &of.kind else {
            let message = "only keys have parts, which `::` names";
            return Err(Mistake::new(whole.place.clone(), message));
        };
        let key = self.key(key, of)?;
        let parts = parts(self.keys[key].kind);
        let part = parts.iter().find(|part| part_name(**part) == name);
        let part = *part.ok_or_else(|| Mistake {
            options: parts.iter().map(|part| format!("`{}`", part_name(*part))).collect(),
            ..Mistake::new(
                whole.place.clone(),
                format!("{} has no part `{name}`", self.show(Type::Key(key))),
            )
        })?;
        Ok((self.part_type(key, part), Operand::Part(key, part)))
    }

    fn attribute(&self, name: &str, whole: &Expression) -> Result<(Type, Operand), Mistake> {
        match (self.subject, name) {
            (Subject::Table, "priority") => Ok((Type::Int, Operand::Priority)),
            (Subject::Table, _) => Err(Mistake {
                options: vec!["`::priority`".to_string()],
                ..Mistake::new(whole.place.clone(), format!("entries have no attribute `{name}`"))
            }),
            (Subject::Action, _) => Err(Mistake::new(whole.place.clone(), "actions have no attributes")),
        }
    }

    fn part_type(&self, key: usize, part: Part) -> Type {
        match (self.keys[key].values, part) {
            (_, Part::PrefixLength) => Type::Int,
            (_, Part::Mask) => Type::Bits(self.mask_width(key)),
            (Values::Bits(width), _) => Type::Bits(width),
            (Values::Text, _) => Type::Text,
        }
    }

    /// Strings have one bit of mask: there or not.
    fn mask_width(&self, key: usize) -> u32 {
        match self.keys[key].values {
            Values::Bits(width) => width,
            Values::Text => 1,
        }
    }

    /// A type in words.
    fn show(&self, of: Type) -> String {
        match of {
            Type::Int => "a number".to_string(),
            Type::Bits(width) => format!("a value of {width} bits"),
            Type::Text => "a string".to_string(),
            Type::Key(key) => {
                let Key { name, kind, .. } = &self.keys[key];
                format!("`{name}` (matched as {})", kind_name(*kind))
            }
        }
    }
}

/// Whether an expression can only be a condition.
fn is_condition(expression: &Expression) -> bool {
    use Written::{All, Any, Bool, Compare, Implies, Not};
    matches!(
        expression.kind,
        Bool(_) | Not(_) | Compare(..) | All(_) | Any(_) | Implies(_)
    )
}

fn positive(is_positive: bool, condition: Condition) -> Condition {
    if is_positive {
        condition
    } else {
        Condition::Not(Box::new(condition))
    }
}

fn equal(left: Operand, right: Operand) -> Condition {
    Condition::Compare(Comparison::Equal, left, right)
}

/// A string; numbers stand for their bytes, 0 for none.
fn as_text((of, operand): (Type, Operand)) -> Option<Operand> {
    match (of, operand) {
        (Type::Text, operand) => Some(operand),
        (Type::Int, Operand::Constant(Value::Number(number))) => {
            let bytes = if number.is_zero() {
                Vec::new()
            } else {
                number.to_bytes_be().1
            };
            Some(Operand::Constant(Value::Text(bytes)))
        }
        _ => None,
    }
}

fn negative(operand: Operand) -> Operand {
    match operand {
        Operand::Constant(Value::Number(number)) => Operand::Constant(Value::Number(-number)),
        other => Operand::Minus(Box::new(other)),
    }
}

fn truncated(operand: Operand, width: u32) -> Operand {
    match operand {
        Operand::Constant(Value::Number(number)) => Operand::Constant(Value::Number(modulo(&number, width))),
        other => Operand::Truncated(Box::new(other), width),
    }
}

/// A number modulo 2^`width`.
pub(crate) fn modulo(number: &BigInt, width: u32) -> BigInt {
    number & ones(width)
}

fn ones(width: u32) -> BigInt {
    (BigInt::from(1) << width) - 1
}

/// The parts of a key.
fn parts(kind: Kind) -> &'static [Part] {
    match kind {
        Kind::Exact => &[Part::Value],
        Kind::Ternary | Kind::Optional => &[Part::Value, Part::Mask],
        Kind::Lpm => &[Part::Value, Part::PrefixLength],
        Kind::Range => &[Part::Low, Part::High],
    }
}

/// A part as it is written.
pub(crate) fn part_name(part: Part) -> &'static str {
    match part {
        Part::Value => "value",
        Part::Mask => "mask",
        Part::PrefixLength => "prefix_length",
        Part::Low => "low",
        Part::High => "high",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Exact => "exact",
        Kind::Ternary => "ternary",
        Kind::Lpm => "lpm",
        Kind::Range => "range",
        Kind::Optional => "optional",
    }
}
