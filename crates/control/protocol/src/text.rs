//! Messages from and to the text form of protocol buffers.

use crate::DESCRIPTORS;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};
use std::fmt;
use std::sync::LazyLock;

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).expect("the build has made the descriptors"));

/// Why a text is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError(String);

impl fmt::Display for TextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TextError {}

/// Reads a message whose full name is `name` (`p4.v1.WriteRequest`).
///
/// # Errors
/// When the text is not such a message; the error says where.
///
/// # Panics
/// When there is no message of this name: names stand in our code.
pub fn read<M: Message + Default>(name: &str, text: &str) -> Result<M, TextError> {
    let message = DynamicMessage::parse_text_format(descriptor(name), text);
    let message = message.map_err(|error| TextError(error.to_string()))?;
    M::decode(message.encode_to_vec().as_slice()).map_err(|error| TextError(error.to_string()))
}

/// The text of a message whose full name is `name`, on several lines.
///
/// # Panics
/// When there is no message of this name, or `message` is not one: names stand in our code.
pub fn write<M: Message>(name: &str, message: &M) -> String {
    let options = prost_reflect::text_format::FormatOptions::new().pretty(true);
    dynamic(name, message).to_text_format_with_options(&options)
}

/// A message whose full name is `name`, with its fields by name.
pub(crate) fn dynamic<M: Message>(name: &str, message: &M) -> DynamicMessage {
    let bytes = message.encode_to_vec();
    DynamicMessage::decode(descriptor(name), bytes.as_slice()).expect("the message has this type")
}

fn descriptor(name: &str) -> MessageDescriptor {
    POOL.get_message_by_name(name).expect("the message is in proto/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p4::v1::{TableEntry, Uint128};

    #[test]
    fn there_and_back() {
        let text = "table_id: 7 match { field_id: 1 lpm { value: \"\\x0a\" prefix_len: 8 } } priority: 0";
        let entry: TableEntry = read("p4.v1.TableEntry", text).unwrap();
        assert_eq!(entry.table_id, 7);
        let again = read("p4.v1.TableEntry", &write("p4.v1.TableEntry", &entry));
        assert_eq!(again, Ok(entry));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let error = read::<Uint128>("p4.v1.Uint128", "hgih: 1").unwrap_err();
        assert!(error.to_string().contains("hgih"), "{error}");
    }
}
