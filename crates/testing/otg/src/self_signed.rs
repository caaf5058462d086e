//! A certificate of its own for the service: X.509 (RFC 5280) in DER, signed by its own key (ECDSA, P-256).
//!
//! ```text
//!   certificate: what is signed ─┬─ version 3, number, issuer, validity, subject
//!                algorithm       ├─ public key
//!                signature       └─ names that clients may connect to
//! ```

use ring::error::Unspecified;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8: u8 = 0x0C;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;
/// Alternative names: of a host, and an IP address.
const HOST: u8 = 0x82;
const ADDRESS: u8 = 0x87;

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.17
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1D, 0x11];
/// 1.2.840.10045.2.1
const ELLIPTIC_CURVE_KEY: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01];
/// 1.2.840.10045.3.1.7
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
/// 1.2.840.10045.4.3.2
const ECDSA_WITH_SHA256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02];

/// A certificate for this machine's own names, and its key. It never expires, and is gone with the process.
///
/// # Errors
/// When the system gives no random numbers.
pub(crate) fn make() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Unspecified> {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, key.as_ref(), &random)
        .map_err(|_rejected| Unspecified)?;
    let mut number = [0; 16];
    random.fill(&mut number)?;
    let signed = what_is_signed(number, pair.public_key().as_ref());
    let signature = pair.sign(&random, &signed)?;
    let certificate = sequence(&[signed, algorithm(), bits(signature.as_ref())]);
    let key = PrivatePkcs8KeyDer::from(key.as_ref().to_vec());
    Ok((CertificateDer::from(certificate), PrivateKeyDer::from(key)))
}

fn what_is_signed(mut number: [u8; 16], public_key: &[u8]) -> Vec<u8> {
    // Numbers are positive, and have no zeros before them.
    number[0] = number[0] & 0x3F | 0x40;
    let validity = [
        element(UTC_TIME, b"200101000000Z"),
        // For certificates that have no end (RFC 5280, 4.1.2.5).
        element(GENERALIZED_TIME, b"99991231235959Z"),
    ];
    let curve = sequence(&[element(OBJECT, ELLIPTIC_CURVE_KEY), element(OBJECT, P256)]);
    sequence(&[
        element(VERSION, &element(INTEGER, &[2])),
        element(INTEGER, &number),
        algorithm(),
        name(),
        sequence(&validity),
        name(),
        sequence(&[curve, bits(public_key)]),
        element(EXTENSIONS, &sequence(&[alternative_names()])),
    ])
}

fn algorithm() -> Vec<u8> {
    sequence(&[element(OBJECT, ECDSA_WITH_SHA256)])
}

/// Issuer and subject.
fn name() -> Vec<u8> {
    let pair = [element(OBJECT, COMMON_NAME), element(UTF8, b"forebay tester")];
    sequence(&[element(SET, &sequence(&pair))])
}

fn alternative_names() -> Vec<u8> {
    let (mut ipv6, ipv4) = ([0; 16], [127, 0, 0, 1]);
    ipv6[15] = 1;
    let names = [
        element(HOST, b"localhost"),
        element(ADDRESS, &ipv4),
        element(ADDRESS, &ipv6),
    ];
    sequence(&[element(OBJECT, ALTERNATIVE_NAMES), element(OCTETS, &sequence(&names))])
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

/// Whole bytes as a string of bits.
fn bits(bytes: &[u8]) -> Vec<u8> {
    element(BITS, &[&[0], bytes].concat())
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut bytes = vec![tag];
    match u8::try_from(length) {
        Ok(length @ 0..=0x7F) => bytes.push(length),
        Ok(length) => bytes.extend([0x81, length]),
        // Nothing here has 64 kB.
        Err(_) => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(content);
    bytes
}
