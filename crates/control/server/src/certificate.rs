//! The names in a certificate (the common names of its subject, and its alternative names), and when it ends.
//!
//! A client's certificate has been verified by TLS when its names are read here. What is not as X.509 (RFC 5280) says
//! has no names and no end.

/// Tags of DER.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 0x06;
const OCTETS: u8 = 0x04;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
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

/// When a certificate (DER) ends, in seconds since 1970.
pub(crate) fn end(certificate: &[u8]) -> Option<i64> {
    let mut validity = Elements(up_to_validity(certificate)?.expect_tag(SEQUENCE)?);
    let _begin = validity.next()?;
    let (tag, time) = validity.next()?;
    seconds(tag, time)
}

/// The fields from the validity on.
fn up_to_validity(certificate: &[u8]) -> Option<Elements<'_>> {
    let mut certificate = Elements(Elements(certificate).expect_tag(SEQUENCE)?);
    let mut fields = Elements(certificate.expect_tag(SEQUENCE)?);
    let mut next = fields.next()?;
    if next.0 == VERSION {
        next = fields.next()?;
    }
    // `next` is the serial number; then come the algorithm and the issuer.
    let _serial = next;
    for _ in 0..2 {
        fields.expect_tag(SEQUENCE)?;
    }
    Some(fields)
}

/// A time as RFC 5280, 4.1.2.5 restricts it: with seconds, and in UTC.
fn seconds(tag: u8, time: &[u8]) -> Option<i64> {
    let digits = time.strip_suffix(b"Z")?;
    let (year, rest) = digits.split_at_checked(if tag == GENERALIZED_TIME { 4 } else { 2 })?;
    let year = match (tag, number(year)?) {
        (GENERALIZED_TIME, year) => year,
        (UTC_TIME, year @ 50..) => 1900 + year,
        (UTC_TIME, year) => 2000 + year,
        _ => return None,
    };
    let mut pairs = rest.chunks(2).map(number);
    let mut next = || pairs.next().flatten();
    let (month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?);
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn number(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Days from 1970 to a date of the Gregorian calendar, with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn read(certificate: &[u8]) -> Option<Vec<String>> {
    let mut fields = up_to_validity(certificate)?;
    let _validity = fields.expect_tag(SEQUENCE)?;
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

    #[test]
    fn times_of_both_forms() {
        assert_eq!(seconds(UTC_TIME, b"240301123456Z"), Some(1_709_296_496));
        assert_eq!(seconds(GENERALIZED_TIME, b"20240301123456Z"), Some(1_709_296_496));
        assert_eq!(seconds(UTC_TIME, b"700101000000Z"), Some(0));
        assert_eq!(seconds(GENERALIZED_TIME, b"99991231235959Z"), Some(253_402_300_799));
        for wrong in [&b"240301123456"[..], b"2403011234Z", b"24xx01123456Z", b"Z", b""] {
            assert_eq!(seconds(UTC_TIME, wrong), None);
        }
        assert_eq!(seconds(OCTETS, b"240301123456Z"), None);
    }
}
