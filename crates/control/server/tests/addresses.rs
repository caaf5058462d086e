//! Addresses of every form lead to the switch, and it answers what tools ask of any server of gRPC.

use forebay_client::P4RuntimeClient;
use forebay_client::{Client, ClientOptions};
use forebay_p4runtime::{Device, Now, Settings};
use forebay_protocol::p4::v1::CapabilitiesRequest;
use forebay_server::{Address, Environment, Options, Running, link, start};
use std::path::PathBuf;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

fn serve(address: &str) -> Running {
    let environment = Environment {
        now: Box::new(Now::default),
        install: Box::new(|_| ()),
        wait_installed: Box::new(|| ()),
        confine: Box::new(|| Ok(())),
        keeper: None,
        ports: Vec::new(),
        enable_port: Box::new(|_, _| ()),
        learned: None,
    };
    let options = Options {
        address: Some(address.parse().unwrap()),
        tls: None,
        keep_period: std::time::Duration::from_secs(60),
        limits: forebay_server::Limits::default(),
        access: forebay_server::Access::default(),
    };
    let device = Device::new(Settings {
        device_id: 1,
        ..Settings::default()
    });
    let (_, _, link) = link().unwrap();
    start(&options, device, link, environment).unwrap()
}

async fn connect(address: &Address) -> Channel {
    let uri = match address {
        Address::Unix(path) => format!("unix:{}", path.display()),
        Address::Tcp { host, port } => format!("http://{}:{port}", host.as_deref().unwrap_or("localhost")),
    };
    Endpoint::from_shared(uri).unwrap().connect().await.unwrap()
}

fn socket() -> PathBuf {
    std::env::temp_dir().join(format!("forebay-addresses-{}.sock", std::process::id()))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_address_is_served() {
    let socket = format!("unix://{}", socket().display());
    for address in ["127.0.0.1:0", "localhost:0", ":0", socket.as_str()] {
        let server = serve(address);
        let mut client = P4RuntimeClient::new(connect(server.address().unwrap()).await);
        let answer = client.capabilities(CapabilitiesRequest::default()).await;
        assert_eq!(answer.unwrap().into_inner().p4runtime_api_version, "1.5.0", "{address}");
        let address = server.address().unwrap().clone();
        let asked = tokio::task::spawn_blocking(move || {
            let options = ClientOptions {
                address,
                device_id: 1,
                role: String::new(),
                election_id: None,
                tls: None,
            };
            Client::connect(options).and_then(|mut client| client.capabilities())
        });
        assert_eq!(asked.await.unwrap().unwrap(), "1.5.0");
    }
    assert!(!self::socket().exists(), "it goes with the server");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_told_of_health_and_services() {
    let server = serve("127.0.0.1:0");
    let channel = connect(server.address().unwrap()).await;
    let mut health = HealthClient::new(channel.clone());
    for service in ["", "p4.v1.P4Runtime", "gnmi.gNMI"] {
        let service = service.to_string();
        let answer = health.check(HealthCheckRequest { service }).await.unwrap();
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving);
    }
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut reflection = ServerReflectionClient::new(channel);
    let answers = reflection.server_reflection_info(tokio_stream::iter([request])).await;
    let answer = answers.unwrap().into_inner().message().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("{answer:?}")
    };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["p4.v1.P4Runtime", "gnmi.gNMI", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{names:?}");
    }
}
