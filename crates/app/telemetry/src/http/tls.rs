//! TLS for requests to databases.

use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The authorities from which certificates of databases must come.
#[derive(Clone)]
pub struct Authorities(TlsConnector);

impl fmt::Debug for Authorities {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Authorities")
    }
}

impl Authorities {
    /// The certificates of a file in PEM. Those that cannot be used are passed over.
    ///
    /// # Errors
    /// With a sentence, when there is none that can be used.
    pub fn of_pem(pem: &[u8]) -> Result<Authorities, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
        if roots.is_empty() {
            return Err("it has no certificate".to_string());
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Authorities(TlsConnector::from(Arc::new(config))))
    }

    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_string()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rubbish_is_no_authority() {
        for pem in [
            "",
            "rubbish",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert_eq!(
                Authorities::of_pem(pem.as_bytes()).err().as_deref(),
                Some("it has no certificate")
            );
        }
    }
}
