//! Messages in the JSON form of protocol buffers.

use crate::text;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use prost_reflect::{DynamicMessage, Kind, MapKey, Value};
use serde_json::{Value as Json, json};

/// The JSON of a message whose full name is `name`, on several lines. Of `google.protobuf.Any` it has the bytes.
///
/// # Panics
/// When there is no message of this name, or `message` is not one: names stand in our code.
pub(crate) fn write<M: Message>(name: &str, message: &M) -> String {
    format!("{:#}\n", object(&text::dynamic(name, message)))
}

fn object(message: &DynamicMessage) -> Json {
    let fields = message.fields();
    let named = fields.map(|(field, value)| (field.json_name().to_string(), written(value, &field.kind())));
    Json::Object(named.collect())
}

fn written(value: &Value, kind: &Kind) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::I32(value) => json!(value),
        Value::U32(value) => json!(value),
        // Numbers of JSON may have 53 bits.
        Value::I64(value) => json!(value.to_string()),
        Value::U64(value) => json!(value.to_string()),
        Value::F32(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::String(value) => json!(value),
        Value::Bytes(value) => json!(STANDARD.encode(value)),
        Value::EnumNumber(number) => enumerator(*number, kind),
        Value::Message(message) => object(message),
        Value::List(values) => Json::Array(values.iter().map(|value| written(value, kind)).collect()),
        Value::Map(values) => {
            let entries = values.iter();
            let entries = entries.map(|(key, value)| (key_text(key), written(value, &kind_of_values(kind))));
            Json::Object(entries.collect())
        }
    }
}

/// A number that has no name stays a number.
fn enumerator(number: i32, kind: &Kind) -> Json {
    let described = kind.as_enum().and_then(|names| names.get_value(number));
    described.map_or(json!(number), |value| json!(value.name()))
}

/// A map is a list of messages with a key and a value.
fn kind_of_values(kind: &Kind) -> Kind {
    let entry = kind.as_message().expect("maps have entries");
    entry.map_entry_value_field().kind()
}

fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}
