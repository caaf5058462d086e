//! Headers of packets between switch and controller (`@controller_header`).

use super::differs;
use super::value::{Translations, ValueType};
use crate::status::Error;
use forebay_bits::Bits;
use forebay_ir::{HeaderField, Program};
use forebay_protocol::p4::config::v1::controller_packet_metadata::Metadata;
use forebay_protocol::p4::config::v1::p4_new_type_spec::Representation;
use forebay_protocol::p4::config::v1::p4_new_type_translation::SdnType;
use forebay_protocol::p4::config::v1::{ControllerPacketMetadata, P4Info};
use forebay_protocol::p4::v1::PacketMetadata;

/// The header of packets in one direction: the fields that controllers see, in the order of the wire.
#[derive(Debug)]
pub(crate) struct PacketSchema {
    fields: Vec<PacketField>,
    /// Bits of all fields, hidden ones included.
    width: usize,
}

#[derive(Debug)]
struct PacketField {
    id: u32,
    name: String,
    value: ValueType,
    /// Bits of the header before it.
    offset: usize,
}

/// Where a field stands in the header, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: usize,
    width: u32,
}

/// The type by which packets of controllers name ports: one with strings, as wide as a port.
pub(super) fn port_type<'a>(info: &'a P4Info, program: &Program) -> Option<&'a str> {
    let mut intrinsic = program.intrinsic.iter();
    let port = intrinsic.find(|(name, _)| name.rsplit('.').next() == Some("ingress_port"))?;
    let port_width = program.slot(*port.1).width;
    let types = &info.type_info.as_ref()?.new_types;
    let has_strings = |name: &str| match &types.get(name)?.representation {
        Some(Representation::TranslatedType(translation)) => match translation.sdn_type {
            Some(SdnType::SdnString(_)) => Some(()),
            _ => None,
        },
        _ => None,
    };
    let fields = info
        .controller_packet_metadata
        .iter()
        .flat_map(|header| widths(program, header));
    let mut names = fields.filter_map(|(field, width)| {
        let name = field.type_name.as_ref()?.name.as_str();
        (width == port_width).then_some(name)
    });
    names.find(|name| has_strings(name).is_some())
}

/// The fields of a header that controllers see, with their widths in the data plane.
pub(super) fn widths<'a>(program: &Program, header: &'a ControllerPacketMetadata) -> Vec<(&'a Metadata, u32)> {
    let (places, _) = layout(program, header).unwrap_or_default();
    let widths = places.iter().map(|place| place.width);
    header.metadata.iter().zip(widths).collect()
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
    let (places, width) = layout(program, header).unwrap_or_else(|| described(header));
    let fields = header.metadata.iter().zip(places).map(|(field, place)| PacketField {
        id: field.id,
        name: field.name.clone(),
        value: translations.value_type(field.type_name.as_ref(), place.width),
        offset: place.offset,
    });
    Some(PacketSchema {
        fields: fields.collect(),
        width,
    })
}

/// The places of the header's fields in the data plane, and its width: the P4Info has the widths of the controller,
/// which are others where types are translated, and leaves out hidden fields. It does not say which header it is: it is
/// one with exactly these fields, or, where there is none, the smallest one that has these among others.
fn layout(program: &Program, header: &ControllerPacketMetadata) -> Option<(Vec<Place>, usize)> {
    let mut candidates: Vec<_> = program.headers.iter().collect();
    candidates.sort_by_key(|known| known.fields.len());
    candidates.into_iter().find_map(|known| {
        let mut visible = header.metadata.iter().peekable();
        let (mut places, mut offset) = (Vec::new(), 0);
        for field in &known.fields {
            let width = program.slot(field.slot).width;
            if visible.next_if(|metadata| is_field(program, field, metadata)).is_some() {
                places.push(Place { offset, width });
            }
            offset += width as usize;
        }
        visible.next().is_none().then_some((places, offset))
    })
}

/// Whether a field of a program's header is the one that a P4Info describes.
fn is_field(program: &Program, field: &HeaderField, metadata: &Metadata) -> bool {
    let is_translated = metadata.type_name.is_some();
    let width = program.slot(field.slot).width;
    field.name == metadata.name && (is_translated || width == metadata.bitwidth as u32)
}

/// Refuses a header whose fields the program has with other widths.
///
/// # Errors
/// `INVALID_ARGUMENT`, with the field that differs.
pub(super) fn check(program: &Program, header: &ControllerPacketMetadata) -> Result<(), Error> {
    if layout(program, header).is_some() {
        return Ok(());
    }
    let says = || header.metadata.iter();
    let names = || says().map(|field| &field.name);
    let mut known = program.headers.iter();
    let known = known.find(|known| known.fields.iter().map(|field| &field.name).eq(names()));
    let pairs = known.into_iter().flat_map(|known| known.fields.iter().zip(says()));
    for (field, metadata) in pairs {
        if metadata.bitwidth > 0 && !is_field(program, field, metadata) {
            return Err(differs(format!(
                "`{}`: `{}` has {} bits, not {}",
                super::tables::name(&header.preamble),
                field.name,
                program.slot(field.slot).width,
                metadata.bitwidth
            )));
        }
    }
    Ok(())
}

/// The places as the P4Info alone says them, for a header that the program does not have.
fn described(header: &ControllerPacketMetadata) -> (Vec<Place>, usize) {
    let mut offset = 0;
    let places = header.metadata.iter().map(|field| {
        let place = Place {
            offset,
            width: field.bitwidth as u32,
        };
        offset += place.width as usize;
        place
    });
    (places.collect(), offset)
}

impl PacketSchema {
    /// Bytes of the header.
    pub(crate) fn bytes(&self) -> usize {
        self.width.div_ceil(8)
    }

    /// The header that metadata describe; hidden fields, and those that are not given, are 0.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when one is of no field, is given twice or does not fit.
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
        for field in &self.fields {
            let value = field.find(metadata)?;
            forebay_bits::write_bits(&mut header, field.offset, &value);
        }
        Ok(header)
    }

    /// The metadata of a header; none when the packet is shorter.
    pub(crate) fn read(&self, packet: &[u8]) -> Option<Vec<PacketMetadata>> {
        if packet.len() < self.bytes() {
            return None;
        }
        let fields = self.fields.iter().map(|field| {
            let value = forebay_bits::read_bits(packet, field.offset, field.value.width);
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
    /// What the metadata say of this field. Controllers leave out padding, so a field that is not given is 0.
    fn find(&self, metadata: &[PacketMetadata]) -> Result<Bits, Error> {
        let what = || format!("packet_out: metadata `{}`", self.name);
        let mut given = metadata.iter().filter(|given| given.metadata_id == self.id);
        let Some(first) = given.next() else {
            return Ok(Bits::zero(self.value.width));
        };
        if given.next().is_some() {
            return Err(Error::invalid(format!("{} is given twice", what())));
        }
        let value = self.value.read(&first.value, what);
        value.map_err(|error| Error::invalid(error.message))
    }
}
