//! Headers of packets between switch and controller (`@controller_header`).

use super::value::{Translations, ValueType};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_ir::{HeaderField, Program};
use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, P4Info};
use forebay_protocol::p4::v1::PacketMetadata;

/// The header of packets in one direction: its fields in the order of the wire.
#[derive(Debug)]
pub(crate) struct PacketSchema {
    fields: Vec<PacketField>,
    /// Bits of all fields.
    width: usize,
}

#[derive(Debug)]
struct PacketField {
    id: u32,
    name: String,
    value: ValueType,
}

/// The header with this name, if the program has it.
pub(super) fn header(
    info: &P4Info,
    program: &Program,
    name: &str,
    translations: &Translations,
) -> Option<PacketSchema> {
    let mut headers = info.controller_packet_metadata.iter();
    let header = headers.find(|header| super::tables::name(&header.preamble) == name)?;
    let widths = widths(program, header);
    let fields = header.metadata.iter().enumerate().map(|(index, field)| PacketField {
        id: field.id,
        name: field.name.clone(),
        value: translations.value_type(
            field.type_name.as_ref(),
            widths.as_ref().map_or(field.bitwidth as u32, |widths| widths[index]),
        ),
    });
    let fields: Vec<PacketField> = fields.collect();
    Some(PacketSchema {
        width: fields.iter().map(|field| field.value.width as usize).sum(),
        fields,
    })
}

/// The widths of the header's fields in the data plane: the P4Info has those of the controller, which are others where types
/// are translated. It does not say which header it is, so it is the one with these fields.
fn widths(program: &Program, header: &ControllerPacketMetadata) -> Option<Vec<u32>> {
    let width = |field: &HeaderField| program.slot(field.slot).width;
    let mut known = program.headers.iter();
    let known = known.find(|known| {
        let mut pairs = known.fields.iter().zip(&header.metadata);
        known.fields.len() == header.metadata.len()
            && pairs.all(|(field, metadata)| {
                let is_translated = metadata.type_name.is_some();
                field.name == metadata.name && (is_translated || width(field) == metadata.bitwidth as u32)
            })
    })?;
    Some(known.fields.iter().map(width).collect())
}

impl PacketSchema {
    /// Bytes of the header.
    pub(crate) fn bytes(&self) -> usize {
        self.width.div_ceil(8)
    }

    /// The header that metadata describe.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` unless there is exactly one for each field and each fits.
    pub(crate) fn write(&self, metadata: &[PacketMetadata]) -> Result<Vec<u8>, Error> {
        if let Some(unknown) = metadata
            .iter()
            .find(|given| !self.fields.iter().any(|field| field.id == given.metadata_id))
        {
            return Err(Error::invalid(format!(
                "packet_out has no metadata field {}; it has {}",
                unknown.metadata_id,
                self.names()
            )));
        }
        let mut header = vec![0; self.bytes()];
        let mut offset = 0;
        for field in &self.fields {
            let value = field.find(metadata)?;
            forebay_bits::write_bits(&mut header, offset, &value);
            offset += field.value.width as usize;
        }
        Ok(header)
    }

    /// The metadata of a header; none when the packet is shorter.
    pub(crate) fn read(&self, packet: &[u8]) -> Option<Vec<PacketMetadata>> {
        if packet.len() < self.bytes() {
            return None;
        }
        let mut offset = 0;
        let fields = self.fields.iter().map(|field| {
            let value = forebay_bits::read_bits(packet, offset, field.value.width);
            offset += field.value.width as usize;
            PacketMetadata {
                metadata_id: field.id,
                value: field.value.write(&value),
            }
        });
        Some(fields.collect())
    }

    fn names(&self) -> String {
        let names = self.fields.iter().map(|field| format!("{} `{}`", field.id, field.name));
        names.collect::<Vec<_>>().join(", ")
    }
}

impl PacketField {
    /// What the metadata say of this field.
    fn find(&self, metadata: &[PacketMetadata]) -> Result<Bits, Error> {
        let what = || format!("packet_out: metadata `{}`", self.name);
        let mut given = metadata.iter().filter(|given| given.metadata_id == self.id);
        let (Some(first), None) = (given.next(), given.next()) else {
            return Err(Error::invalid(format!("{} must be given exactly once", what())));
        };
        let value = self.value.read(&first.value, what);
        value.map_err(|error| Error::invalid(error.message))
    }
}
