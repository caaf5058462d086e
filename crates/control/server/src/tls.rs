//! Encrypted connections.

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
    pub(crate) fn config(&self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(Identity::from_pem(&self.certificate, &self.key));
        match &self.client_authority {
            None => config,
            Some(authority) => config.client_ca_root(Certificate::from_pem(authority)),
        }
    }
}
