//! Clients of the service that encrypt, that do not, and that speak gRPC.

use super::*;
use crate::devices::Memory;
use crate::self_signed;
use forebay_tester::device;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const VERSION: &str = "GET /capabilities/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A service, which ends when this is dropped.
struct Running {
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), String>>,
}

/// A service, and what verifies its certificate.
async fn started(is_required: bool) -> (SocketAddr, Arc<ClientConfig>, Running) {
    let (certificate, key) = self_signed::make().expect("a certificate");
    let tls = Tls::new(vec![certificate.clone()], key, None, is_required).expect("a certificate that can be used");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("an address");
    let address = listener.local_addr().expect("an address");
    let wire = |numbers: &[u32]| Ok(device::wire(numbers, &[(1, 2), (2, 1)], 4096));
    let generator = Generator::new(Memory(wire)).expect("a thread");
    let (sender, receiver) = oneshot::channel::<()>();
    let stop = async {
        // Ends when the sender is dropped.
        let _ = receiver.await;
    };
    let running = Running {
        stop: sender,
        served: tokio::spawn(serve(listener, tls, generator, stop)),
    };
    (address, Arc::new(client(certificate)), running)
}

fn client(authority: CertificateDer<'static>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(authority).expect("an authority");
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

async fn plain(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

async fn encrypted(address: SocketAddr, client: &Arc<ClientConfig>, name: &'static str) -> TlsStream<TcpStream> {
    let name = name.try_into().expect("a name");
    let connector = TlsConnector::from(Arc::clone(client));
    let connected = connector.connect(name, plain(address).await).await;
    connected.expect("the certificate is good for this name")
}

/// What is answered until the service closes the connection.
async fn asked(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> String {
    stream.write_all(request).await.expect("a request is sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer comes");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Scripts say `https://`, people type `http://`.
#[tokio::test]
async fn http_and_https_on_one_port() {
    let (address, client, _running) = started(false).await;
    let said = asked(plain(address).await, VERSION.as_bytes()).await;
    assert!(said.contains("sdk_version"), "{said}");
    for name in ["localhost", "127.0.0.1", "::1"] {
        let said = asked(encrypted(address, &client, name).await, VERSION.as_bytes()).await;
        assert!(said.contains("sdk_version"), "{said}");
    }
}

/// With a certificate of the user everything is encrypted, and a client that does not learns how to.
#[tokio::test]
async fn with_a_certificate_there_is_https_alone() {
    let (address, client, _running) = started(true).await;
    let said = asked(encrypted(address, &client, "localhost").await, VERSION.as_bytes()).await;
    assert!(said.contains("sdk_version"), "{said}");
    let said = asked(plain(address).await, VERSION.as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
    assert!(
        said.contains("its location begins with https://") && !said.contains("sdk_version"),
        "{said}"
    );
}

/// A client that connects and says nothing keeps no other waiting.
#[tokio::test]
async fn silent_clients_are_not_waited_for() {
    let (address, client, _running) = started(false).await;
    let silent = plain(address).await;
    let said = asked(encrypted(address, &client, "localhost").await, VERSION.as_bytes()).await;
    assert!(said.contains("sdk_version"), "{said}");
    drop(silent);
}

/// A client whose request never ends does not keep a service that is to end.
#[tokio::test]
async fn a_service_ends_though_a_client_does_not() {
    let (address, _, running) = started(false).await;
    let mut client = plain(address).await;
    let request = b"POST /config HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
    client.write_all(request).await.expect("half of a request is sent");
    // The service has taken the connection before it is told to end.
    sleep(Duration::from_millis(200)).await;
    let Running { stop, served } = running;
    drop(stop);
    let served = tokio::time::timeout(Duration::from_secs(20), served).await;
    assert!(served.is_ok_and(|served| served.is_ok()), "it ends");
}

/// Its clients speak HTTP/2; what they are told does not depend on it.
#[tokio::test]
async fn grpc_is_refused_in_its_own_words() {
    let (address, _, _running) = started(false).await;
    let headers = "Host: localhost\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\nConnection: close";
    let request = format!("POST /otg.Openapi/GetVersion HTTP/1.1\r\n{headers}\r\n\r\n");
    let said = asked(plain(address).await, request.as_bytes()).await;
    assert!(
        said.contains("grpc-status: 12\r\n") && said.contains("this service has no gRPC"),
        "{said}"
    );
}

#[test]
fn what_is_no_certificate_is_told() {
    let why =
        |certificate: &[u8], key: &[u8], authority| Tls::required(certificate, key, authority).expect_err("rubbish");
    assert_eq!(
        why(b"rubbish", b"", None),
        "the file of the certificate has no certificate in PEM"
    );
    let certificate = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(
        why(certificate, b"rubbish", None),
        "the file of the key has no private key in PEM"
    );
}
