//! Encrypted connections.

use crate::certificate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// Certificates, as PEM texts.
#[derive(Clone)]
pub struct Tls {
    /// The server's certificate, and those between it and the authority.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
    /// The authority that controllers' certificates must come from; without one, controllers need none.
    pub client_authority: Option<Vec<u8>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Tls")
    }
}

impl Tls {
    /// When the first of the server's certificates ends, in seconds since 1970. From then on, clients refuse the
    /// server. None when no end can be read.
    pub fn certificate_end(&self) -> Option<i64> {
        ends(&self.certificate).into_iter().min()
    }

    /// When the last certificate of the controllers' authorities ends, in seconds since 1970. TLS does not look at this
    /// end, only at that of a controller's own certificate (RFC 5280, 6.1: a trust anchor is a name and a key). None
    /// without an authority.
    pub fn authority_end(&self) -> Option<i64> {
        ends(self.client_authority.as_ref()?).into_iter().max()
    }

    pub(crate) fn config(&self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(Identity::from_pem(&self.certificate, &self.key));
        match &self.client_authority {
            None => config,
            Some(authority) => config.client_ca_root(Certificate::from_pem(authority)),
        }
    }
}

/// When the certificates of a PEM text end. Those that cannot be read are passed over.
fn ends(pem: &[u8]) -> Vec<i64> {
    let text = String::from_utf8_lossy(pem);
    let end_of = |part: &str| {
        let (body, _) = part.split_once("-----END CERTIFICATE-----")?;
        let body: String = body.split_whitespace().collect();
        certificate::end(&STANDARD.decode(body).ok()?)
    };
    let parts = text.split("-----BEGIN CERTIFICATE-----").skip(1);
    parts.filter_map(end_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -days 1`.
    const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBbjCCAROgAwIBAgIUDMr1e6uFCPBxMOSY+r89LJOZZigwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBczAeFw0yNjEyMDEwNjU1MTJaFw0yNjEyMDIwNjU1MTJaMAwx
CjAIBgNVBAMMAXMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARcGtNmBKhNHBqi
YH3oqVVdPLFf8YLXZMZi4VRoOLHwhSfVR7to2Hk076BWdb3W2IxjoW77LwpKLtg4
CaFqfK+Bo1MwUTAdBgNVHQ4EFgQU5hImcRC0x0LW8UPFIXZTx5mvCuMwHwYDVR0j
BBgwFoAU5hImcRC0x0LW8UPFIXZTx5mvCuMwDwYDVR0TAQH/BAUwAwEB/zAKBggq
hkjOPQQDAgNJADBGAiEApwkwTGBQs5zIDVYpRPkJNoyJrV2e9Vx0MrH0IigRQYAC
IQDYSVuyaRfaNXLZWFqjbd/cBAWS+EKLcf8x47ontiddbA==
-----END CERTIFICATE-----
";

    /// `openssl x509 -enddate`.
    const END: i64 = 1_796_194_512;

    fn tls(certificate: &str, authority: Option<&str>) -> Tls {
        Tls {
            certificate: certificate.into(),
            key: Vec::new(),
            client_authority: authority.map(Into::into),
        }
    }

    #[test]
    fn when_certificates_end() {
        let chain = format!("a server\n{CERTIFICATE}{}", CERTIFICATE.replace('\n', "\r\n"));
        let tls_of_chain = tls(&chain, Some(CERTIFICATE));
        assert_eq!(tls_of_chain.certificate_end(), Some(END));
        assert_eq!(tls_of_chain.authority_end(), Some(END));
        let damaged = tls("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n", None);
        assert_eq!((damaged.certificate_end(), damaged.authority_end()), (None, None));
    }
}
