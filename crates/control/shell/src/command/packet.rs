//! `packet …`: packets between program and controllers (§16).

use super::{Command, Form, Limit, Place};
use crate::arguments::Arguments;
use crate::catalog::{Catalog, select_of};
use crate::mistake::Mistake;
use crate::value::Field;
use forebay_protocol::p4::v1::{PacketMetadata, PacketOut};

pub(super) const FORMS: &[Form] = &[
    Form {
        words: "packet out",
        arguments: "HEX [FIELD=VALUE...]",
        about: "sends a packet; the fields are those of the program's header `packet_out`, 0 if left out",
        places: &[Place::Other, Place::PacketOutField],
        options: &[],
        read: out,
    },
    Form {
        words: "packet watch",
        arguments: "",
        about: "shows packets to the controllers as they come",
        places: &[],
        options: &[("count", Some("N"))],
        read: watch,
    },
];

fn out(catalog: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    let payload = bytes(arguments.at(0, "the packet")?)?;
    let fields = catalog.header_fields("packet_out");
    if fields.is_empty() && !arguments.from(1).is_empty() {
        return Err(Mistake::new(
            "the program has no header `packet_out`: packets have no fields",
        ));
    }
    let mut values: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    for word in arguments.from(1) {
        let Some((name, text)) = word.split_once('=') else {
            return Err(Mistake::new(format!("`{word}` is no FIELD=VALUE")));
        };
        let index = select_of("`packet_out`", "field", name, &names, names.iter().copied())?;
        values[index] = Some(fields[index].read(text)?);
    }
    let metadata = fields.iter().zip(values).map(|(field, value)| metadata(field, value));
    Ok(Command::PacketOut(PacketOut {
        payload,
        metadata: metadata.collect(),
    }))
}

fn metadata(field: &Field, value: Option<Vec<u8>>) -> PacketMetadata {
    PacketMetadata {
        metadata_id: field.id,
        value: value.unwrap_or_else(|| vec![0]),
    }
}

/// Reads bytes as hexadecimal digits; `:` may stand between them.
fn bytes(text: &str) -> Result<Vec<u8>, Mistake> {
    let digits: String = text.strip_prefix("0x").unwrap_or(text).replace([':', ' '], "");
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let are_digits = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        let pair = std::str::from_utf8(pair).ok().filter(|_| are_digits)?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
        Mistake::new(format!("`{text}` is no packet")).help("write its bytes as pairs of hexadecimal digits")
    })
}

fn watch(_: &Catalog, arguments: &Arguments) -> Result<Command, Mistake> {
    arguments.at_most(0)?;
    let count = arguments.number("count")?;
    Ok(Command::Packets(Limit { count }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_pairs_of_digits() {
        assert_eq!(bytes("0x00ff").unwrap(), [0, 255]);
        assert_eq!(bytes("00:ff a0").unwrap(), [0, 255, 160]);
        assert!(bytes("0").is_err() && bytes("zz").is_err() && bytes("").is_err() && bytes("é0").is_err());
    }
}
