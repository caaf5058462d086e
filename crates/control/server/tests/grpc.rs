//! Over real connections: the answers of the state machine arrive, errors in the form of the specification.

use forebay_client::P4RuntimeClient;
use forebay_packet::{Burst, Packet, Port};
use forebay_protocol::google::rpc;
use forebay_protocol::p4::v1::entity::Entity;
use forebay_protocol::p4::v1::packet_replication_engine_entry::Type as Replication;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, Error, ForwardingPipelineConfig, MasterArbitrationUpdate, ReadRequest,
    SetForwardingPipelineConfigRequest, StreamMessageRequest, StreamMessageResponse, Uint128, WriteRequest,
};
use forebay_protocol::text;
use prost::Message;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

mod support;
use support::{ELECTION, Full, PROGRAM, bed, bed_with};

async fn connect(bed: &support::Bed) -> P4RuntimeClient<Channel> {
    P4RuntimeClient::connect(format!("http://{}", bed.server.address().unwrap()))
        .await
        .unwrap()
}

/// Opens a stream with an election id.
async fn stream(
    client: &mut P4RuntimeClient<Channel>,
    device_id: u64,
    election: Uint128,
) -> (mpsc::Sender<StreamMessageRequest>, Streaming<StreamMessageResponse>) {
    let (requests, to_send) = mpsc::channel(8);
    let claim = Request::Arbitration(MasterArbitrationUpdate {
        device_id,
        election_id: Some(election),
        ..MasterArbitrationUpdate::default()
    });
    requests
        .send(StreamMessageRequest { update: Some(claim) })
        .await
        .unwrap();
    let responses = client
        .stream_channel(tokio_stream::wrappers::ReceiverStream::new(to_send))
        .await;
    (requests, responses.unwrap().into_inner())
}

async fn next(responses: &mut Streaming<StreamMessageResponse>) -> Response {
    responses.message().await.unwrap().unwrap().update.unwrap()
}

async fn push(client: &mut P4RuntimeClient<Channel>) {
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap();
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(ELECTION),
        action: Action::VerifyAndCommit as i32,
        config: Some(ForwardingPipelineConfig {
            p4info: loaded.p4info,
            p4_device_config: PROGRAM.as_bytes().to_vec(),
            cookie: None,
        }),
        ..SetForwardingPipelineConfigRequest::default()
    };
    client.set_forwarding_pipeline_config(request).await.unwrap();
}

fn write_request(updates: &str) -> WriteRequest {
    let text = format!("device_id: 1 election_id {{ low: 1 }} {updates}");
    text::read("p4.v1.WriteRequest", &text).unwrap()
}

const GROUP: &str = r#"updates { type: INSERT entity { packet_replication_engine_entry {
    multicast_group_entry { multicast_group_id: 1 replicas { port: "\x01" } } } } }"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_session() {
    let mut bed = bed();
    let mut client = connect(&bed).await;
    let version = client
        .capabilities(CapabilitiesRequest::default())
        .await
        .unwrap()
        .into_inner();
    assert_eq!(version.p4runtime_api_version, "1.5.0");
    let (requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    let Response::Arbitration(notice) = next(&mut responses).await else {
        panic!()
    };
    assert_eq!(notice.status.unwrap().code, 0);
    push(&mut client).await;
    assert_eq!(bed.installed.lock().unwrap().len(), 1);
    client.write(write_request(GROUP)).await.unwrap();
    let read: ReadRequest = text::read(
        "p4.v1.ReadRequest",
        "device_id: 1 entities { packet_replication_engine_entry { multicast_group_entry {} } }",
    )
    .unwrap();
    let mut entities = client.read(read).await.unwrap().into_inner();
    assert_eq!(entities.message().await.unwrap().unwrap().entities.len(), 1);
    let mut burst = Burst::new(4);
    burst.push_exchange(&mut Packet::from_bytes(&[0x00, 0x80, 7, 7]));
    bed.port.send(&mut burst, 0).unwrap();
    let Response::Packet(packet) = next(&mut responses).await else {
        panic!()
    };
    assert_eq!(packet.payload, [7, 7]);
    let out = r#"packet { payload: "abc" metadata { metadata_id: 1 value: "\x01" } metadata { metadata_id: 2 value: "\x00" } }"#;
    requests
        .send(text::read("p4.v1.StreamMessageRequest", out).unwrap())
        .await
        .unwrap();
    while bed.port.receive(&mut burst, 4, 0).unwrap() == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(burst.iter().next().unwrap().data(), b"\x00\x80abc");
}

/// The switch takes none of them here, and 4,096 may wait.
#[tokio::test(flavor = "multi_thread")]
async fn packets_for_which_the_switch_has_no_room_are_counted() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let (requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    let out = r#"packet { payload: "abc" metadata { metadata_id: 1 value: "\x01" } metadata { metadata_id: 2 value: "\x00" } }"#;
    let packet: StreamMessageRequest = text::read("p4.v1.StreamMessageRequest", out).unwrap();
    for _ in 0..4_096 + 3 {
        requests.send(packet.clone()).await.unwrap();
    }
    while bed.server.messages_dropped() < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(bed.server.messages_dropped(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_a_batch_have_details() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let early = client.write(write_request(GROUP)).await.unwrap_err();
    assert_eq!((early.code(), early.details().len()), (Code::PermissionDenied, 0));
    let (_requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    let status = client
        .write(write_request(&format!("{GROUP} {GROUP}")))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    let details = rpc::Status::decode(status.details()).unwrap();
    assert_eq!((details.code, details.message.as_str()), (2, status.message()));
    assert!(
        details
            .details
            .iter()
            .all(|any| any.type_url == "type.googleapis.com/p4.v1.Error")
    );
    let codes = details
        .details
        .iter()
        .map(|any| Error::decode(any.value.as_slice()).unwrap().canonical_code);
    assert_eq!(codes.collect::<Vec<_>>(), [0, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_refused_ends_with_the_error() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = stream(&mut client, 9, ELECTION).await;
    let status = responses.message().await.unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().contains("there is no device 9"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backup_takes_over_when_the_primary_goes() {
    let bed = bed();
    let (mut first, mut second) = (connect(&bed).await, connect(&bed).await);
    let (requests, mut of_first) = stream(&mut first, 1, Uint128 { high: 0, low: 2 }).await;
    next(&mut of_first).await;
    let (_second, mut of_second) = stream(&mut second, 1, ELECTION).await;
    let Response::Arbitration(notice) = next(&mut of_second).await else {
        panic!()
    };
    assert_eq!(notice.status.unwrap().code, Code::AlreadyExists as i32);
    drop((requests, of_first, first));
    let Response::Arbitration(notice) = next(&mut of_second).await else {
        panic!()
    };
    assert_eq!(notice.status.unwrap().code, Code::NotFound as i32);
}

/// The end of the old stream and the claim on the new one come to different tasks, in either order.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_opens_another_stream_while_its_first_one_ends() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let (requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    let (_again, mut of_again) = stream(&mut client, 1, ELECTION).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop((requests, responses));
    let Response::Arbitration(notice) = next(&mut of_again).await else {
        panic!()
    };
    assert_eq!(notice.status.unwrap().code, 0, "it is primary again");
    let (_other, mut of_other) = stream(&mut client, 1, ELECTION).await;
    let status = of_other.message().await.unwrap_err();
    assert!(status.message().contains("another controller"), "{status}");
}

const ENTRIES: u32 = 40;

/// A batch that writes a number of entries.
fn entries(how: &str) -> WriteRequest {
    let update = |number: u32| {
        let (high, low) = (number >> 8, number & 0xff);
        format!(
            r#"updates {{ type: {how} entity {{ packet_replication_engine_entry {{ multicast_group_entry {{
               multicast_group_id: {} replicas {{ port: "\x01" }} metadata: "\x{high:02x}\x{low:02x}" }} }} }} }}"#,
            number + 1
        )
    };
    write_request(&(0..ENTRIES).map(update).collect::<String>())
}

/// A batch and a read follow one another, also from different clients.
#[tokio::test(flavor = "multi_thread")]
async fn reads_see_batches_as_a_whole() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    let readers = (0..2).map(|_| async {
        let mut reader = connect(&bed).await;
        let wanted = "device_id: 1 entities { packet_replication_engine_entry { multicast_group_entry {} } }";
        let wanted: ReadRequest = text::read("p4.v1.ReadRequest", wanted).unwrap();
        for _ in 0..60 {
            let mut answer = reader.read(wanted.clone()).await.unwrap().into_inner();
            let mut found = 0;
            while let Some(message) = answer.message().await.unwrap() {
                found += message.entities.len();
            }
            assert!([0, ENTRIES as usize].contains(&found), "{found} entries");
        }
    });
    let writer = async {
        for _ in 0..30 {
            client.write(entries("INSERT")).await.unwrap();
            client.write(entries("DELETE")).await.unwrap();
        }
    };
    let mut readers = readers.collect::<Vec<_>>().into_iter();
    let (first, second) = (readers.next().unwrap(), readers.next().unwrap());
    tokio::join!(writer, first, second);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_more_than_four_megabytes_are_taken() {
    let bed = bed();
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    let mut request = write_request(GROUP);
    let Some(Entity::PacketReplicationEngineEntry(entry)) = request.updates[0]
        .entity
        .as_mut()
        .and_then(|entity| entity.entity.as_mut())
    else {
        panic!()
    };
    let Some(Replication::MulticastGroupEntry(group)) = &mut entry.r#type else {
        panic!()
    };
    group.metadata = vec![7; 6_000_000];
    client.write(request).await.unwrap();
}

fn delete_request() -> WriteRequest {
    let mut request = write_request(GROUP);
    request.updates[0].r#type = forebay_protocol::p4::v1::update::Type::Delete as i32;
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_is_not_acknowledged() {
    let disk = Full::default();
    let bed = bed_with(Some(Box::new(disk.clone())));
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    disk.is_full.store(true, Ordering::SeqCst);
    let status = client.write(write_request(GROUP)).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert!(
        status
            .message()
            .contains("is in force, but it is not saved: no space left"),
        "{status}"
    );
    assert!(status.details().is_empty(), "all of the call is not acknowledged");
    let status = client.write(delete_request()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains("nothing was done"), "{status}");
    let fault = bed.server.keeping().fault.unwrap();
    assert!(fault.is_behind);
    assert_eq!(bed.server.keeping().refused_calls, 1);
    disk.is_full.store(false, Ordering::SeqCst);
    client
        .write(delete_request())
        .await
        .expect("the group is there, and the disk has room");
    disk.is_full.store(true, Ordering::SeqCst);
    let mut half = write_request(GROUP);
    half.updates.insert(0, delete_request().updates.remove(0));
    let status = client.write(half).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    let details = rpc::Status::decode(status.details()).unwrap().details;
    let codes = details
        .iter()
        .map(|any| Error::decode(&any.value[..]).unwrap().canonical_code);
    let expected = [Code::NotFound, Code::Internal].map(|code| code as i32);
    assert_eq!(
        codes.collect::<Vec<_>>(),
        expected,
        "what was done is not acknowledged either"
    );
    disk.is_full.store(false, Ordering::SeqCst);
    client.write(delete_request()).await.expect("the disk has room");
    assert_eq!(bed.server.keeping().fault, None);
    assert_eq!(bed.server.keeping().faults, 2);
    let events = disk.events.lock().unwrap().clone();
    assert_eq!(events.len(), 4, "{events:?}");
    assert!(events[1].contains("is saved again"), "{events:?}");
}

/// No controller calls: the server tries again.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_heals_by_itself() {
    let disk = Full::default();
    let bed = bed_with(Some(Box::new(disk.clone())));
    let mut client = connect(&bed).await;
    let (_requests, mut responses) = stream(&mut client, 1, ELECTION).await;
    next(&mut responses).await;
    push(&mut client).await;
    disk.is_full.store(true, Ordering::SeqCst);
    client.write(write_request(GROUP)).await.unwrap_err();
    disk.is_full.store(false, Ordering::SeqCst);
    for _ in 0..600 {
        if bed.server.keeping().fault.is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:?}", bed.server.keeping());
}

/// The small version of `tests/clients/soak_client.py`.
#[tokio::test(flavor = "multi_thread")]
async fn controllers_come_and_go_while_others_are_idle() {
    let bed = bed();
    let mut idle = Vec::new();
    for low in 1..=50 {
        let mut client = connect(&bed).await;
        let (requests, mut responses) = stream(&mut client, 1, Uint128 { high: 0, low }).await;
        next(&mut responses).await;
        idle.push((client, requests, responses));
    }
    for low in 100..300 {
        let mut client = connect(&bed).await;
        let (_requests, mut responses) = stream(&mut client, 1, Uint128 { high: 0, low }).await;
        let Response::Arbitration(notice) = next(&mut responses).await else {
            panic!()
        };
        assert_eq!(notice.status.unwrap().code, 0, "the highest election id is primary");
    }
    let (client, ..) = &mut idle[0];
    client.capabilities(CapabilitiesRequest::default()).await.unwrap();
}

/// A message of a stream whose packet is no message (§16.6).
#[derive(Clone, PartialEq, Message)]
struct Undecodable {
    #[prost(bytes = "vec", tag = "2")]
    packet: Vec<u8>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_decoded_ends_the_stream_with_the_reason() {
    let bed = bed();
    let address = format!("http://{}", bed.server.address().unwrap());
    let channel = Channel::from_shared(address).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let message = Undecodable { packet: vec![0xff] };
    let codec = tonic_prost::ProstCodec::<Undecodable, StreamMessageResponse>::default();
    let path = "/p4.v1.P4Runtime/StreamChannel".parse().unwrap();
    let messages = tokio_stream::iter([message]).chain(tokio_stream::pending());
    let answer = client.streaming(tonic::Request::new(messages), path, codec).await;
    let status = match answer {
        Ok(responses) => responses.into_inner().message().await.unwrap_err(),
        Err(status) => status,
    };
    assert_eq!(status.code(), Code::Internal, "{status}");
    assert!(status.message().contains("decode"), "{status}");
}
