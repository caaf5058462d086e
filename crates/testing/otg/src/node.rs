//! JSON with the path to each value, so that what is wrong can be named.

use serde_json::Value;
use std::fmt;

/// What is wrong with a request, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// As `flows[0].rate.pps`; empty for the request as a whole.
    pub path: String,
    /// In words.
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            formatter.write_str(&self.message)
        } else {
            write!(formatter, "{}: {}", self.path, self.message)
        }
    }
}

/// A value and its path.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    path: String,
    value: &'a Value,
}

static NULL: Value = Value::Null;

impl<'a> Node<'a> {
    /// A request.
    pub fn root(value: &'a Value) -> Node<'a> {
        Node {
            path: String::new(),
            value,
        }
    }

    /// An error at this place.
    pub fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong {
            path: self.path.clone(),
            message: message.into(),
        }
    }

    /// A copy of the value.
    pub fn json(&self) -> Value {
        self.value.clone()
    }

    /// Whether there is something.
    pub fn is_there(&self) -> bool {
        !self.value.is_null()
    }

    /// Whether this is nothing, or an object whose keys are among these.
    pub fn object(&self, known: &[&str]) -> Result<(), Wrong> {
        let object = match self.value {
            Value::Null => return Ok(()),
            Value::Object(object) => object,
            _ => return Err(self.wrong("an object is expected")),
        };
        let unknown = object
            .iter()
            .find(|(key, value)| !is_nothing(value) && !known.contains(&key.as_str()));
        match unknown {
            Some((key, _)) => Err(self
                .at(key)
                .wrong(format!("is not supported; supported are {}", known.join(", ")))),
            None => Ok(()),
        }
    }

    /// A member; null when there is none.
    pub fn at(&self, key: &str) -> Node<'a> {
        let path = if self.path.is_empty() {
            key.to_string()
        } else {
            format!("{}.{key}", self.path)
        };
        Node {
            path,
            value: self.value.get(key).unwrap_or(&NULL),
        }
    }

    /// The elements of a list; none when there is no list.
    pub fn list(&self) -> Result<Vec<Node<'a>>, Wrong> {
        match self.value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => Ok(items
                .iter()
                .enumerate()
                .map(|(index, value)| Node {
                    path: format!("{}[{index}]", self.path),
                    value,
                })
                .collect()),
            _ => Err(self.wrong("a list is expected")),
        }
    }

    /// A string.
    pub fn text(&self) -> Result<&'a str, Wrong> {
        self.value.as_str().ok_or_else(|| self.wrong("a string is expected"))
    }

    /// Strings of a list.
    pub fn texts(&self) -> Result<Vec<String>, Wrong> {
        self.list()?
            .iter()
            .map(|node| node.text().map(str::to_string))
            .collect()
    }

    /// A truth value; `default` when there is none.
    pub fn flag(&self, default: bool) -> Result<bool, Wrong> {
        match self.value {
            Value::Null => Ok(default),
            Value::Bool(value) => Ok(*value),
            _ => Err(self.wrong("true or false is expected")),
        }
    }

    /// A whole number within a range. 64-bit numbers may be strings, as in protobuf's JSON.
    pub fn whole(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, Wrong> {
        let number = match self.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            self.wrong(format!(
                "a whole number from {} to {} is expected",
                range.start(),
                range.end()
            ))
        })
    }

    /// The same, with a default when there is none.
    pub fn whole_or(&self, default: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64, Wrong> {
        if self.is_there() {
            self.whole(range)
        } else {
            Ok(default)
        }
    }

    /// A number that is more than 0.
    pub fn positive(&self) -> Result<f64, Wrong> {
        self.number()
            .filter(|number| *number > 0.0)
            .ok_or_else(|| self.wrong("a number more than 0 is expected"))
    }

    /// A number of 0 or more.
    pub fn not_negative(&self) -> Result<f64, Wrong> {
        self.number()
            .filter(|number| *number >= 0.0)
            .ok_or_else(|| self.wrong("a number of 0 or more is expected"))
    }

    fn number(&self) -> Option<f64> {
        let number = match self.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite())
    }

    /// What an object has chosen: its `choice`; without one its only member, or the default when it has none.
    pub fn choice(&self, default: &'a str) -> Result<(&'a str, Node<'a>), Wrong> {
        let choice = self.at("choice");
        let members = self.value.as_object().into_iter().flatten();
        let members = members.filter(|(key, value)| key.as_str() != "choice" && !is_nothing(value));
        let members: Vec<&'a str> = members.map(|(key, _)| key.as_str()).collect();
        let name = match members.as_slice() {
            _ if choice.is_there() => choice.text()?,
            [] => default,
            [only] => *only,
            several => return Err(choice.wrong(format!("which of these is it: {}?", several.join(", ")))),
        };
        match members.first() {
            Some(other) if !members.contains(&name) => {
                Err(choice.wrong(format!("{name:?} is chosen, and {other:?} is given")))
            }
            _ => Ok((name, self.at(name))),
        }
    }

    /// An error for a choice that is not supported.
    pub fn not_supported(&self, choice: &str, supported: &[&str]) -> Wrong {
        let message = format!("{choice:?} is not supported; supported are {}", supported.join(", "));
        self.at("choice").wrong(message)
    }
}

/// Whether there is nothing. Clients write lists that they have looked into, although nothing is in them.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_has_its_path() {
        let value = json!({ "flows": [{ "rate": { "pps": "many" } }, { "speed": 1 }] });
        let flows = Node::root(&value).at("flows").list().expect("a list");
        let wrong = flows[0].at("rate").at("pps").whole(1..=9).expect_err("no number");
        assert_eq!(
            wrong.to_string(),
            "flows[0].rate.pps: a whole number from 1 to 9 is expected"
        );
        let wrong = flows[1].object(&["rate"]).expect_err("an unknown key");
        assert_eq!(
            wrong.to_string(),
            "flows[1].speed: is not supported; supported are rate"
        );
        let numbers = json!({ "pps": "1000" });
        assert_eq!(Node::root(&numbers).at("pps").whole(1..=5000), Ok(1000));
    }

    #[test]
    fn without_a_choice_the_only_member_is_chosen() {
        let choice = |value: Value| Node::root(&value).choice("pps").map(|(name, _)| name.to_string());
        for (value, name) in [
            (json!(null), "pps"),
            (json!({}), "pps"),
            (json!({ "gbps": 1 }), "gbps"),
            (json!({ "gbps": 1, "values": [], "mbps": null }), "gbps"),
            (json!({ "choice": "gbps" }), "gbps"),
            (json!({ "choice": "gbps", "gbps": 1, "mbps": 2 }), "gbps"),
        ] {
            assert_eq!(choice(value.clone()).as_deref(), Ok(name), "{value}");
        }
        let refused = |value| choice(value).expect_err("no clear choice").to_string();
        assert_eq!(
            refused(json!({ "gbps": 1, "mbps": 2 })),
            "choice: which of these is it: gbps, mbps?"
        );
        assert_eq!(
            refused(json!({ "choice": "pps", "gbps": 1 })),
            "choice: \"pps\" is chosen, and \"gbps\" is given"
        );
    }
}
