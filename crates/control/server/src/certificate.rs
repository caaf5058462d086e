//! The names in a certificate: the common names of its subject, and its alternative names.
//!
//! The certificate has been verified by TLS when it comes here. What is not as X.509 (RFC 5280) says has no names.

/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
const OCTETS: u8 = 0x04;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;
/// Alternative names that are texts: address of mail, name of a host, URI.
const TEXTS: [u8; 3] = [0x81, 0x82, 0x86];

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1D, 0x11];

/// The names in a certificate (DER), without those that are no texts.
pub(crate) fn names(certificate: &[u8]) -> Vec<String> {
    read(certificate).unwrap_or_default()
}

fn read(certificate: &[u8]) -> Option<Vec<String>> {
    let mut certificate = Elements(Elements(certificate).expect_tag(SEQUENCE)?);
    let mut fields = Elements(certificate.expect_tag(SEQUENCE)?);
    let mut next = fields.next()?;
    if next.0 == VERSION {
        next = fields.next()?;
    }
    // `next` is the serial number; then come the algorithm, the issuer and the validity.
    let _serial = next;
    for _ in 0..3 {
        fields.expect_tag(SEQUENCE)?;
    }
    let mut names = common_names(fields.expect_tag(SEQUENCE)?)?;
    fields.expect_tag(SEQUENCE)?;
    for (tag, content) in fields {
        if tag == EXTENSIONS {
            names.extend(alternative_names(content)?);
        }
    }
    Some(names)
}

/// The subject: a sequence of sets of pairs.
fn common_names(subject: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for (tag, set) in Elements(subject) {
        for (_, pair) in Elements(set).filter(|_| tag == SET) {
            let mut pair = Elements(pair);
            let (is_name, (_, value)) = (pair.expect_tag(OBJECT)? == COMMON_NAME, pair.next()?);
            names.extend(is_name.then(|| text(value)).flatten());
        }
    }
    Some(names)
}

fn alternative_names(extensions: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for (_, extension) in Elements(Elements(extensions).expect_tag(SEQUENCE)?) {
        let mut parts = Elements(extension);
        if parts.expect_tag(OBJECT)? != ALTERNATIVE_NAMES {
            continue;
        }
        // Whether it is critical may stand before it.
        let (_, value) = parts.find(|(tag, _)| *tag == OCTETS)?;
        let texts = Elements(Elements(value).expect_tag(SEQUENCE)?).filter(|(tag, _)| TEXTS.contains(tag));
        names.extend(texts.filter_map(|(_, value)| text(value)));
    }
    Some(names)
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_string)
}

/// Elements of DER, one after another: each a tag and its content. Ends at the first byte that begins no element.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    /// The content of the next element, if it has this tag.
    fn expect_tag(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, content) = self.next()?;
        (found == tag).then_some(content)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&short, rest) = rest.split_first()?;
        let (length, rest) = match short {
            0..=0x7F => (usize::from(short), rest),
            // Four bytes of length are more than a certificate has.
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(short - 0x80))?;
                let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                (length, rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        match content.len() {
            length @ 0..=0x7F => bytes.push(length as u8),
            length => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
        }
        bytes.extend(content);
        bytes
    }

    fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
        element(SEQUENCE, &parts.concat())
    }

    fn certificate(common: &str, alternatives: &[(u8, &str)]) -> Vec<u8> {
        let pair = sequence(&[element(OBJECT, COMMON_NAME), element(0x0C, common.as_bytes())]);
        let country = sequence(&[element(OBJECT, &[0x55, 0x04, 0x06]), element(0x13, b"CH")]);
        let subject = sequence(&[element(SET, &country), element(SET, &pair)]);
        let texts: Vec<_> = alternatives
            .iter()
            .map(|(tag, text)| element(*tag, text.as_bytes()))
            .collect();
        let value = element(OCTETS, &sequence(&texts));
        let extension = sequence(&[element(OBJECT, ALTERNATIVE_NAMES), element(0x01, &[0xFF]), value]);
        let other = sequence(&[element(OBJECT, &[0x55, 0x1D, 0x0F]), element(OCTETS, &[3])]);
        let empty = || sequence(&[]);
        let fields = [
            element(VERSION, &element(0x02, &[2])),
            element(0x02, &[7]),
            empty(),
            empty(),
            empty(),
            subject,
            empty(),
            element(EXTENSIONS, &sequence(&[other, extension])),
        ];
        sequence(&[sequence(&fields), empty(), element(0x03, &[0])])
    }

    #[test]
    fn common_and_alternative_names() {
        let long = "x".repeat(200);
        let bytes = certificate(
            "operator",
            &[(0x82, "ops.example"), (0x87, "\x7F\0\0\x01"), (0x86, &long)],
        );
        assert_eq!(names(&bytes), ["operator", "ops.example", &long]);
    }

    #[test]
    fn what_is_damaged_has_no_names_or_some_of_them() {
        let bytes = certificate("operator", &[(0x82, "ops.example")]);
        for end in 0..bytes.len() {
            assert_eq!(names(&bytes[..end]), Vec::<String>::new());
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xFF;
            assert!(names(&damaged).len() <= 2);
        }
    }
}
