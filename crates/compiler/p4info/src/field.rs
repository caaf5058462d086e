//! Messages as trees of fields and back.
//!
//! A message is a structure that lists, for each of its fields, the number and the name in the protobuf (the macro
//! `message!`); what a field's Rust type means in protobuf is said once per type, by [`FieldValue`]:
//!
//! | Rust | protobuf | not written when |
//! |---|---|---|
//! | `u32`, `i32`, `i64`, `bool`, `String`, enumerations | singular scalar | it has its default |
//! | [`Bytes`] | `bytes` | empty |
//! | a message | singular message that is always there | never |
//! | `Option` of a message | singular message | `None` |
//! | `Vec` | repeated | empty |
//! | `BTreeMap` by `String` | map | empty |
//! | `Option` of an enumeration made by `oneof!` | `oneof`, whose default values are written | `None` |

use crate::textproto::{Field, ReadError, Tree, Value};
use std::collections::BTreeMap;

/// A protobuf message.
pub(crate) trait Message: Sized + Default {
    /// Its fields, in order of their numbers.
    fn to_tree(&self) -> Tree;

    /// The message with these fields.
    fn from_tree(tree: &[Field]) -> Result<Self, ReadError>;
}

/// A value of type `bytes`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

/// A type that a field can have once.
pub(crate) trait Singular: Default + PartialEq {
    /// Whether the field is written though it has its default: messages are.
    const ALWAYS_WRITTEN: bool = false;

    /// The value of the field.
    fn to_value(&self) -> Value;

    /// Reads the value of the field.
    fn from_field(field: &Field) -> Result<Self, ReadError>;
}

/// The Rust type of a field, repeated, optional or singular.
pub(crate) trait FieldValue {
    /// Appends the field, if it is there at all.
    fn append(&self, number: u32, name: &'static str, tree: &mut Tree);

    /// Merges an occurrence of the field: the last one counts, or they accumulate.
    fn merge(&mut self, field: &Field) -> Result<(), ReadError>;
}

impl<S: Singular> FieldValue for S {
    fn append(&self, number: u32, name: &'static str, tree: &mut Tree) {
        if S::ALWAYS_WRITTEN || *self != S::default() {
            push(tree, number, name, self.to_value());
        }
    }

    fn merge(&mut self, field: &Field) -> Result<(), ReadError> {
        *self = S::from_field(field)?;
        Ok(())
    }
}

impl<S: Singular> FieldValue for Option<S> {
    fn append(&self, number: u32, name: &'static str, tree: &mut Tree) {
        if let Some(value) = self {
            push(tree, number, name, value.to_value());
        }
    }

    fn merge(&mut self, field: &Field) -> Result<(), ReadError> {
        *self = Some(S::from_field(field)?);
        Ok(())
    }
}

impl<S: Singular> FieldValue for Vec<S> {
    fn append(&self, number: u32, name: &'static str, tree: &mut Tree) {
        for item in self {
            push(tree, number, name, item.to_value());
        }
    }

    fn merge(&mut self, field: &Field) -> Result<(), ReadError> {
        self.push(S::from_field(field)?);
        Ok(())
    }
}

impl<S: Singular> FieldValue for BTreeMap<String, S> {
    fn append(&self, number: u32, name: &'static str, tree: &mut Tree) {
        for (key, value) in self {
            let mut entry = Tree::new();
            push(&mut entry, 1, "key", key.to_value());
            push(&mut entry, 2, "value", value.to_value());
            push(tree, number, name, Value::Message(entry));
        }
    }

    fn merge(&mut self, field: &Field) -> Result<(), ReadError> {
        let Value::Message(entry) = &field.value else {
            return field.error(format!("`{}` has entries of key and value", field.name));
        };
        let (mut key, mut value) = (String::new(), S::default());
        for part in entry {
            match part.name.as_str() {
                "key" => key = String::from_field(part)?,
                "value" => value = S::from_field(part)?,
                _ => return part.error(format!("an entry of a map has no `{}`", part.name)),
            }
        }
        self.insert(key, value);
        Ok(())
    }
}

/// An alternative of fields of which at most one is there.
pub(crate) trait Oneof: Sized {
    /// Appends the field that is there.
    fn append(&self, tree: &mut Tree);

    /// The alternative that the field is, if it is one of them.
    fn from_field(field: &Field) -> Option<Result<Self, ReadError>>;
}

/// An enumeration.
pub(crate) trait Enumeration: Copy + PartialEq + Default + 'static {
    /// Each value with its number and name.
    const VALUES: &'static [(Self, i32, &'static str)];
}

pub(crate) fn push(tree: &mut Tree, number: u32, name: &str, value: Value) {
    tree.push(Field {
        number,
        name: name.to_owned(),
        value,
        line: 0,
        column: 0,
    });
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Singular for $type {
            fn to_value(&self) -> Value {
                Value::Number(self.to_string())
            }

            fn from_field(field: &Field) -> Result<Self, ReadError> {
                integer(field)?.try_into().or_else(|_| field.error("the number does not fit"))
            }
        }
    )+};
}

integers!(u32, i32, i64);

/// An integer in any base.
fn integer(field: &Field) -> Result<i128, ReadError> {
    let Value::Number(text) = &field.value else {
        return field.error(format!("`{}` is a number", field.name));
    };
    let (negative, digits) = text
        .strip_prefix('-')
        .map_or((false, text.as_str()), |digits| (true, digits));
    let parsed = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    match parsed {
        Ok(magnitude) if negative => Ok(-i128::from(magnitude)),
        Ok(magnitude) => Ok(i128::from(magnitude)),
        Err(_) => field.error(format!("`{text}` is no integer")),
    }
}

impl Singular for bool {
    fn to_value(&self) -> Value {
        Value::Word(self.to_string())
    }

    fn from_field(field: &Field) -> Result<Self, ReadError> {
        match &field.value {
            Value::Word(word) if matches!(word.as_str(), "true" | "True" | "t") => Ok(true),
            Value::Word(word) if matches!(word.as_str(), "false" | "False" | "f") => Ok(false),
            Value::Number(number) if number == "1" => Ok(true),
            Value::Number(number) if number == "0" => Ok(false),
            _ => field.error(format!("`{}` is true or false", field.name)),
        }
    }
}

impl Singular for String {
    fn to_value(&self) -> Value {
        Value::Text(self.clone().into_bytes())
    }

    fn from_field(field: &Field) -> Result<Self, ReadError> {
        let Bytes(bytes) = Bytes::from_field(field)?;
        String::from_utf8(bytes).or_else(|_| field.error("the string is not UTF-8"))
    }
}

impl Singular for Bytes {
    fn to_value(&self) -> Value {
        Value::Text(self.0.clone())
    }

    fn from_field(field: &Field) -> Result<Self, ReadError> {
        match &field.value {
            Value::Text(bytes) => Ok(Bytes(bytes.clone())),
            _ => field.error(format!("`{}` is a string", field.name)),
        }
    }
}

/// The message that a field holds.
pub(crate) fn read_message<M: Message>(field: &Field) -> Result<M, ReadError> {
    match &field.value {
        Value::Message(tree) => M::from_tree(tree),
        _ => field.error(format!("`{}` is a message", field.name)),
    }
}

/// The enumerator as a value of a field.
pub(crate) fn enumerator<E: Enumeration>(value: E) -> Value {
    let found = E::VALUES.iter().find(|(candidate, ..)| *candidate == value);
    Value::Word(
        found
            .map(|(_, _, name)| (*name).to_owned())
            .expect("every enumerator is listed"),
    )
}

/// The enumerator that a field names, or numbers.
pub(crate) fn read_enumerator<E: Enumeration>(field: &Field) -> Result<E, ReadError> {
    let found = match &field.value {
        Value::Word(word) => E::VALUES.iter().find(|(_, _, name)| name == word),
        Value::Number(_) => {
            let wanted = integer(field)?;
            E::VALUES.iter().find(|(_, number, _)| i128::from(*number) == wanted)
        }
        _ => None,
    };
    match found {
        Some((value, ..)) => Ok(*value),
        None => field.error(format!("`{}` has no such value", field.name)),
    }
}

/// Defines a message: fields as `number "name" field: Type`, alternatives as `oneof field: Type`.
macro_rules! message {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$field_doc:meta])* $number:literal $text:literal $field:ident: $type:ty,)*
            $(oneof $(#[$oneof_doc:meta])* $oneof:ident: $oneof_type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
            $($(#[$oneof_doc])* pub $oneof: Option<$oneof_type>,)*
        }

        impl $crate::field::Message for $name {
            #[allow(unused_mut, reason = "some messages have no fields")]
            fn to_tree(&self) -> $crate::textproto::Tree {
                let mut tree = $crate::textproto::Tree::new();
                $($crate::field::FieldValue::append(&self.$field, $number, $text, &mut tree);)*
                $(if let Some(value) = &self.$oneof {
                    $crate::field::Oneof::append(value, &mut tree);
                })*
                tree.sort_by_key(|field| field.number);
                tree
            }

            #[allow(unused_mut, reason = "some messages have no fields")]
            fn from_tree(tree: &[$crate::textproto::Field]) -> Result<Self, $crate::textproto::ReadError> {
                let mut message = $name::default();
                for field in tree {
                    match field.name.as_str() {
                        $($text => $crate::field::FieldValue::merge(&mut message.$field, field)?,)*
                        _ => {
                            $(if let Some(value) = <$oneof_type as $crate::field::Oneof>::from_field(field) {
                                message.$oneof = Some(value?);
                                continue;
                            })*
                            return field.error(format!("{} has no field `{}`", stringify!($name), field.name));
                        }
                    }
                }
                Ok(message)
            }
        }

        impl $crate::field::Singular for $name {
            const ALWAYS_WRITTEN: bool = true;

            fn to_value(&self) -> $crate::textproto::Value {
                $crate::textproto::Value::Message($crate::field::Message::to_tree(self))
            }

            fn from_field(field: &$crate::textproto::Field) -> Result<Self, $crate::textproto::ReadError> {
                $crate::field::read_message(field)
            }
        }
    };
}

/// Defines an enumeration: values as `Name = number "NAME"`, the first being the default.
macro_rules! enumeration {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(#[$first_doc:meta])* $first:ident = $first_number:literal $first_text:literal,
            $($(#[$value_doc:meta])* $value:ident = $number:literal $text:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {
            $(#[$first_doc])* #[default] $first = $first_number,
            $($(#[$value_doc])* $value = $number,)*
        }

        impl $crate::field::Enumeration for $name {
            const VALUES: &'static [(Self, i32, &'static str)] =
                &[($name::$first, $first_number, $first_text), $(($name::$value, $number, $text),)*];
        }

        impl $crate::field::Singular for $name {
            fn to_value(&self) -> $crate::textproto::Value {
                $crate::field::enumerator(*self)
            }

            fn from_field(field: &$crate::textproto::Field) -> Result<Self, $crate::textproto::ReadError> {
                $crate::field::read_enumerator(field)
            }
        }
    };
}

/// Defines a `oneof`: alternatives as `number "name" Variant(Type)`.
macro_rules! oneof {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$variant_doc:meta])* $number:literal $text:literal $variant:ident($type:ty),)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant($type),)+
        }

        impl $crate::field::Oneof for $name {
            fn append(&self, tree: &mut $crate::textproto::Tree) {
                match self {
                    $($name::$variant(value) => {
                        let value = $crate::field::Singular::to_value(value);
                        $crate::field::push(tree, $number, $text, value);
                    })+
                }
            }

            fn from_field(field: &$crate::textproto::Field) -> Option<Result<Self, $crate::textproto::ReadError>> {
                match field.name.as_str() {
                    $($text => Some($crate::field::Singular::from_field(field).map($name::$variant)),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {enumeration, message, oneof};
