//! A value of the JSON together with its place, so that every error can say where.

use crate::error::{Error, Result};
use num_bigint::BigInt;
use num_traits::Num;
use serde_json::Value;

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Cursor<'a> {
    /// The whole JSON.
    pub fn root(value: &'a Value) -> Cursor<'a> {
        Cursor {
            value,
            path: String::new(),
        }
    }

    /// The place: `pipelines[0].tables[2]`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// An error here.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error {
            at: self.path.clone(),
            message: message.into(),
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Err(self.error(format!("here is {found}, expected {what}")))
    }

    /// An attribute, if it is there and not null.
    pub fn optional(&self, name: &str) -> Option<Cursor<'a>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Some(Cursor { value, path })
    }

    /// Whether this is an object with an attribute.
    pub fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    /// An attribute.
    pub fn field(&self, name: &str) -> Result<Cursor<'a>> {
        if !self.value.is_object() {
            return self.expected("an object");
        }
        self.optional(name)
            .ok_or_else(|| self.error(format!("the attribute `{name}` is missing")))
    }

    /// Whether it is an object without attributes.
    pub fn is_empty_object(&self) -> bool {
        self.value.as_object().is_some_and(|object| object.is_empty())
    }

    /// The elements of an array.
    pub fn items(&self) -> Result<Vec<Cursor<'a>>> {
        let Value::Array(values) = self.value else {
            return self.expected("an array");
        };
        let items = values.iter().enumerate().map(|(index, value)| Cursor {
            value,
            path: format!("{}[{index}]", self.path),
        });
        Ok(items.collect())
    }

    /// The elements of an array of exactly `count`.
    pub fn tuple(&self, count: usize) -> Result<Vec<Cursor<'a>>> {
        let items = self.items()?;
        if items.len() == count {
            Ok(items)
        } else {
            Err(self.error(format!("here are {} elements, expected {count}", items.len())))
        }
    }

    /// Reads each element of an attribute that is an array; one that is missing has none.
    pub fn list<T>(&self, name: &str, read: impl Fn(&Cursor<'a>) -> Result<T>) -> Result<Vec<T>> {
        match self.optional(name) {
            Some(array) => array.items()?.iter().map(read).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// The attributes of an object in the order of their names.
    pub fn entries(&self) -> Result<Vec<(String, Option<Cursor<'a>>)>> {
        let Value::Object(map) = self.value else {
            return self.expected("an object");
        };
        Ok(map.keys().map(|name| (name.clone(), self.optional(name))).collect())
    }

    /// Whether this is an object.
    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// A string.
    pub fn text(&self) -> Result<String> {
        match self.value {
            Value::String(text) => Ok(text.clone()),
            _ => self.expected("a string"),
        }
    }

    /// A natural number.
    pub fn number(&self) -> Result<u64> {
        match self.value.as_u64() {
            Some(number) => Ok(number),
            None => self.expected("a number that is not negative"),
        }
    }

    /// A natural number below 2^32.
    pub fn small(&self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.error(format!("{number} is too large, expected less than 2^32")))
    }

    /// A truth value; compilers write some of them as 0 and 1.
    pub fn flag(&self) -> Result<bool> {
        match self.value {
            Value::Bool(flag) => Ok(*flag),
            Value::Number(number) => Ok(number.as_u64() != Some(0)),
            _ => self.expected("true or false"),
        }
    }

    /// A number in hexadecimal (`0x0a`, `-0x1`), as the format writes constants; old compilers leave the `0x` away.
    pub fn hexadecimal(&self) -> Result<BigInt> {
        let text = self.text()?;
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.as_str()),
        };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let number = BigInt::from_str_radix(&format!("{sign}{digits}"), 16);
        number.map_err(|_| {
            self.error(format!(
                "`{text}` is no number in hexadecimal, expected one like `0x0a`"
            ))
        })
    }

    /// A name in an attribute of a given name.
    pub fn name(&self) -> Result<String> {
        self.field("name")?.text()
    }

    /// A pair of names: a header and its field.
    pub fn names(&self) -> Result<(String, String)> {
        let pair = self.tuple(2)?;
        Ok((pair[0].text()?, pair[1].text()?))
    }
}
