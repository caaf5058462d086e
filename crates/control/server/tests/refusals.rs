//! What the client makes of a switch that refuses, and of one that is gone.

use forebay_client::{CallError, Client, ClientOptions};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{ForwardingPipelineConfig, Update, WriteRequest};
use forebay_protocol::text;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[allow(dead_code, reason = "another test uses the rest")]
mod support;
use support::{Bed, Full, PROGRAM, bed, bed_with};

fn options(address: &str) -> ClientOptions {
    ClientOptions {
        address: address.parse().unwrap(),
        device_id: 1,
        role: String::new(),
        election_id: None,
        tls: None,
    }
}

fn connect(bed: &Bed) -> Client {
    let address = bed.server.address().unwrap().to_string();
    let mut client = Client::connect(options(&address)).unwrap();
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes()).unwrap();
    let config = ForwardingPipelineConfig {
        p4info: loaded.p4info,
        p4_device_config: PROGRAM.as_bytes().to_vec(),
        cookie: None,
    };
    client.set_pipeline(Action::VerifyAndCommit, config).unwrap();
    client
}

/// Inserts or deletes a multicast group.
fn group(kind: &str, id: u32) -> Update {
    let update = format!(
        r#"updates {{ type: {kind} entity {{ packet_replication_engine_entry {{
            multicast_group_entry {{ multicast_group_id: {id} replicas {{ port: "\x01" }} }} }} }} }}"#
    );
    let mut request: WriteRequest = text::read("p4.v1.WriteRequest", &update).unwrap();
    request.updates.remove(0)
}

fn insert(client: &mut Client, id: u32) -> Result<(), CallError> {
    client.write(vec![group("INSERT", id)], Atomicity::ContinueOnError)
}

#[test]
fn a_batch_of_10_000_refused_updates_is_an_error_of_the_switch() {
    let bed = bed();
    let mut client = connect(&bed);
    let updates: Vec<Update> = (1..=10_000).map(|id| group("DELETE", id)).collect();
    let error = client
        .write(updates.clone(), Atomicity::ContinueOnError)
        .expect_err("there are no groups");
    assert!(error.is_refusal(), "{error}");
    let text = error.to_string();
    assert_eq!(error.failures().count(), 10_000, "the client has room for all");
    assert!(text.starts_with("10000 updates have failed\n"), "{text}");
    assert!(text.ends_with("\n  and 9900 more"), "{text}");
    assert!(text.contains("  update 1: NOT_FOUND: "), "{text}");

    let mut mixed: Vec<Update> = (1..=10_000).map(|id| group("INSERT", id)).collect();
    mixed.push(group("DELETE", 20_000));
    let error = client
        .write(mixed, Atomicity::ContinueOnError)
        .expect_err("there is no group 20000");
    assert_eq!(error.to_string(), "NOT_FOUND: there is no multicast group 20000");
}

#[test]
fn what_the_switch_answers_is_a_refusal_though_it_is_unavailable() {
    let disk = Full::default();
    let bed = bed_with(Some(Box::new(disk.clone())));
    let mut client = connect(&bed);
    disk.is_full.store(true, Ordering::SeqCst);
    insert(&mut client, 1).expect_err("it is not saved");
    let error = insert(&mut client, 2).expect_err("nothing is done while nothing can be saved");
    assert!(
        error.to_string().starts_with("UNAVAILABLE: nothing was done: "),
        "{error}"
    );
    assert!(error.is_refusal(), "the switch has said so: {error}");
    disk.is_full.store(false, Ordering::SeqCst);
    insert(&mut client, 2).expect("the same connection goes on");
}

#[test]
fn a_switch_that_says_nothing_is_given_up() {
    // The kernel accepts for a host whose programs do not answer.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = Client::connect(options(&silent.local_addr().unwrap().to_string())).unwrap();
    client.set_patience(Duration::from_millis(200));
    let unanswered = [
        client.capabilities().map(|_| ()),
        client.read(Vec::new()).map(|_| ()),
        insert(&mut client, 1),
    ];
    for answer in unanswered {
        let error = answer.expect_err("nothing answers");
        let text = "DEADLINE_EXCEEDED: the switch has not answered for 0.2 s; what it has done is unknown";
        assert_eq!(error.to_string(), text);
        assert!(!error.is_refusal());
    }
}

#[test]
fn a_switch_that_is_gone_has_refused_nothing() {
    let bed = bed();
    let mut client = connect(&bed);
    drop(bed);
    let error = client.capabilities().expect_err("nothing answers");
    assert!(!error.is_refusal(), "{error}");
    let error = client
        .write(Vec::new(), Atomicity::ContinueOnError)
        .expect_err("nothing answers");
    assert!(!error.is_refusal(), "{error}");
}
