//! Encrypted connections: with a certificate of the user, or one that is made at the start.

use crate::self_signed;
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{Error, RootCertStore, ServerConfig};

/// Protocols inside TLS. HTTP/2 is there for clients of gRPC, which learn by it that they have the wrong transport.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// How connections are encrypted.
#[derive(Clone)]
pub struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// Whether all must be.
    pub(crate) is_required: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

impl Tls {
    /// Connections may be encrypted, with a certificate that is made now. Clients cannot verify it.
    ///
    /// # Errors
    /// When none can be made, in words.
    pub fn optional() -> Result<Tls, String> {
        let (certificate, key) = self_signed::make().map_err(|_| "the system gives no random numbers".to_string())?;
        Tls::new(vec![certificate], key, None, false)
    }

    /// Connections must be encrypted. `certificate` has the certificate of the service and those between it and its
    /// authority, `key` its private key. With `client_authority`, clients need certificates of it. All are PEM texts.
    ///
    /// # Errors
    /// When they cannot be used, in words.
    pub fn required(certificate: &[u8], key: &[u8], client_authority: Option<&[u8]>) -> Result<Tls, String> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("the certificate: {error}"))?;
        if chain.is_empty() {
            return Err("the file of the certificate has no certificate in PEM".to_string());
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| "the file of the key has no private key in PEM".to_string())?;
        Tls::new(chain, key, client_authority, true)
    }

    pub(crate) fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        client_authority: Option<&[u8]>,
        is_required: bool,
    ) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match client_authority {
            None => builder.with_no_client_auth(),
            Some(authority) => builder.with_client_cert_verifier(verifier(authority, provider)?),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
            Error::InconsistentKeys(_) => "the key is not that of the certificate".to_string(),
            error => error.to_string(),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            is_required,
        })
    }
}

/// What verifies clients.
fn verifier(authority: &[u8], provider: Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authority).flatten());
    if roots.is_empty() {
        return Err("the file of the clients' authority has no certificate in PEM".to_string());
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| error.to_string())
}
