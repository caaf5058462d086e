//! What controllers may cost and may do, over real connections.

use forebay_budget::Counting;
use forebay_client::P4RuntimeClient;
use forebay_p4runtime::{Device, Now, Settings};
use forebay_protocol::p4::config::v1::Documentation;
use forebay_protocol::p4::v1::forwarding_pipeline_config::Cookie;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, MasterArbitrationUpdate, ReadRequest, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, Uint128, WriteRequest,
};
use forebay_server::{Access, Environment, Limits, Options, Running, link, start};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROGRAM: &str = include_str!("../../../../tests/clients/entities.p4");

struct Bed {
    server: Running,
    installed: Arc<AtomicUsize>,
}

fn bed(limits: Limits, grants: &[&str]) -> Bed {
    let installed = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&installed);
    let environment = Environment {
        now: Box::new(Now::default),
        install: Box::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        }),
        wait_installed: Box::new(|| ()),
        confine: Box::new(|| Ok(())),
        keeper: None,
        ports: Vec::new(),
        enable_port: Box::new(|_, _| ()),
        learned: None,
    };
    let options = Options {
        address: Some("127.0.0.1:0".parse().unwrap()),
        tls: None,
        keep_period: Duration::from_secs(60),
        limits,
        access: Access::new(grants.iter().map(|grant| grant.parse().unwrap()).collect()),
    };
    let device = Device::new(Settings {
        device_id: 1,
        ..Settings::default()
    });
    let (_, _, link) = link().unwrap();
    let server = start(&options, device, link, environment).unwrap();
    Bed { server, installed }
}

async fn connect(bed: &Bed) -> P4RuntimeClient<Channel> {
    let address = format!("http://{}", bed.server.address().unwrap());
    P4RuntimeClient::connect(address).await.unwrap()
}

/// A stream that claims to be primary; it lasts as long as the sender.
async fn claim(
    client: &mut P4RuntimeClient<Channel>,
    election: Option<u64>,
) -> (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>) {
    let (requests, to_send) = mpsc::channel(8);
    let claim = Update::Arbitration(MasterArbitrationUpdate {
        device_id: 1,
        election_id: election.map(|low| Uint128 { high: 0, low }),
        ..MasterArbitrationUpdate::default()
    });
    requests
        .send(StreamMessageRequest { update: Some(claim) })
        .await
        .unwrap();
    let responses = client.stream_channel(ReceiverStream::new(to_send)).await;
    (requests, responses.unwrap().into_inner())
}

fn push_request() -> SetForwardingPipelineConfigRequest {
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap();
    SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low: 1 }),
        action: Action::VerifyAndCommit as i32,
        config: Some(ForwardingPipelineConfig {
            p4info: loaded.p4info,
            p4_device_config: PROGRAM.as_bytes().to_vec(),
            cookie: None,
        }),
        ..SetForwardingPipelineConfigRequest::default()
    }
}

/// The same push with a large program, which takes much longer to compile than the caller waits, even on a busy
/// machine.
fn slow_push_request() -> SetForwardingPipelineConfigRequest {
    let mut request = push_request();
    let source = &mut request.config.as_mut().unwrap().p4_device_config;
    for number in 0..20_000 {
        source.extend(
            format!(
                "bit<8> unused_{number}(bit<8> x) {{ return x * 3 + {}; }}\n",
                number % 256
            )
            .bytes(),
        );
    }
    request
}

/// A push that fails for a limit; others are served then.
async fn failing_push(limits: Limits) -> Status {
    let bed = bed(limits, &[]);
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = claim(&mut client, Some(1)).await;
    responses.message().await.unwrap().unwrap();
    let status = client.set_forwarding_pipeline_config(push_request()).await.unwrap_err();
    client.capabilities(CapabilitiesRequest::default()).await.unwrap();
    assert_eq!(bed.installed.load(Ordering::Relaxed), 0);
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_has_so_much_time() {
    let status = failing_push(Limits {
        push_time: Duration::from_micros(10),
        ..Limits::default()
    })
    .await;
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert!(status.message().contains("--push-time"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_has_so_much_memory() {
    let status = failing_push(Limits {
        push_memory: Some(64 << 10),
        ..Limits::default()
    })
    .await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("--push-memory"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_call_ends_its_push() {
    let bed = bed(Limits::default(), &[]);
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = claim(&mut client, Some(1)).await;
    responses.message().await.unwrap().unwrap();
    let mut request = Request::new(slow_push_request());
    request.set_timeout(Duration::from_micros(50));
    client.set_forwarding_pipeline_config(request).await.unwrap_err();
    client.set_forwarding_pipeline_config(push_request()).await.unwrap();
    assert_eq!(
        bed.installed.load(Ordering::Relaxed),
        1,
        "the first one was not installed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_wait_for_each_other() {
    let bed = bed(Limits::default(), &[]);
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = claim(&mut client, Some(1)).await;
    responses.message().await.unwrap().unwrap();
    let (mut first, mut second) = (client.clone(), client.clone());
    let (first, second) = tokio::join!(
        first.set_forwarding_pipeline_config(push_request()),
        second.set_forwarding_pipeline_config(push_request())
    );
    first.and(second).unwrap();
    assert_eq!(bed.installed.load(Ordering::Relaxed), 2);
}

/// Bytes that a client takes before it looks at them.
const WINDOW_BYTES: u32 = 65_535;

/// More bytes than the system and the connection take of an answer that its client does not look at.
const LONG_BYTES: usize = 3 << 20;

/// A switch to which a program was pushed, a client that takes [`WINDOW_BYTES`] of an answer, and its channel.
async fn pushed(push: SetForwardingPipelineConfigRequest) -> (Bed, P4RuntimeClient<Channel>, Channel) {
    let limits = Limits {
        messages_bytes: 8 << 20,
        ..Limits::default()
    };
    let bed = bed(limits, &[]);
    let address = format!("http://{}", bed.server.address().unwrap());
    let endpoint = Endpoint::from_shared(address).unwrap();
    let channel = endpoint
        .initial_stream_window_size(WINDOW_BYTES)
        .connect()
        .await
        .unwrap();
    let mut client = P4RuntimeClient::new(channel.clone());
    let (_requests, mut responses) = claim(&mut client, Some(1)).await;
    responses.message().await.unwrap().unwrap();
    client.set_forwarding_pipeline_config(push).await.unwrap();
    (bed, client, channel)
}

fn get() -> GetForwardingPipelineConfigRequest {
    GetForwardingPipelineConfigRequest {
        device_id: 1,
        ..GetForwardingPipelineConfigRequest::default()
    }
}

/// An answer with the program of which the client takes nothing.
async fn unread(channel: &Channel) -> Response<Streaming<GetForwardingPipelineConfigResponse>> {
    let mut calls = tonic::client::Grpc::new(channel.clone());
    calls.ready().await.unwrap();
    let codec: ProstCodec<GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse> =
        ProstCodec::default();
    let path = PathAndQuery::from_static("/p4.v1.P4Runtime/GetForwardingPipelineConfig");
    calls.server_streaming(Request::new(get()), path, codec).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p4infos_that_wait_for_a_client_are_bounded() {
    let mut push = push_request();
    let info = push.config.as_mut().unwrap().p4info.as_mut().unwrap();
    let doc = Documentation {
        brief: " ".repeat(LONG_BYTES),
        ..Documentation::default()
    };
    info.pkg_info.get_or_insert_default().doc = Some(doc);
    let (_bed, mut client, channel) = pushed(push).await;
    let unread = unread(&channel).await;
    let refused = client.get_forwarding_pipeline_config(get()).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    drop(unread);
    for _ in 0..500 {
        // The switch has yet to see that the call has ended.
        if client.get_forwarding_pipeline_config(get()).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("what nobody waits for any more is still counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_wait_for_a_client_are_in_memory_once() {
    let mut push = push_request();
    let config = push.config.as_mut().unwrap();
    config.p4_device_config.extend(std::iter::repeat_n(b'\n', LONG_BYTES));
    config.cookie = Some(Cookie { cookie: 7 });
    let config = config.clone();
    let (_bed, mut client, channel) = pushed(push).await;
    let mut waiting = Vec::new();
    for _ in 0..10 {
        waiting.push(unread(&channel).await);
    }
    let read = client.get_forwarding_pipeline_config(get()).await.unwrap().into_inner();
    assert_eq!(read.config.as_ref(), Some(&config), "it needs no memory");
    let read = waiting.pop().unwrap().into_inner().message().await.unwrap().unwrap();
    assert_eq!(read.config, Some(config), "it was there all the time");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_reads() {
    let bed = bed(Limits::default(), &["anyone=read"]);
    let mut client = connect(&bed).await;
    let denied = |status: Status| {
        assert_eq!(status.code(), Code::PermissionDenied, "{status}");
        assert!(
            status.message().contains("which the operator has not given you"),
            "{status}"
        );
    };
    let write = WriteRequest {
        device_id: 1,
        ..WriteRequest::default()
    };
    denied(client.write(write).await.unwrap_err());
    denied(client.set_forwarding_pipeline_config(push_request()).await.unwrap_err());
    let (_requests, mut primary) = claim(&mut client, Some(1)).await;
    denied(primary.message().await.unwrap_err());
    let (_requests, mut backup) = claim(&mut client, None).await;
    backup.message().await.unwrap().unwrap();
    let read = ReadRequest {
        device_id: 1,
        ..ReadRequest::default()
    };
    let read = client.read(read).await.unwrap().into_inner().message().await;
    assert_eq!(
        read.unwrap_err().code(),
        Code::FailedPrecondition,
        "there is no program"
    );
}
