//! How fast rules change through gRPC on loopback, and how soon packets follow, while a million packets a second flow.
//!
//! ```text
//! cargo run --release -p forebay-server --example rule_updates
//! ```
//!
//! A server and a switch with ports in memory run in this process, a client beside them. It prints a line for each
//! figure: inserts a second in batches of 1,000 and one by one, and the time from the call of a Write until a packet
//! leaves by the port that the write has named.

use forebay_client::P4RuntimeClient;
use forebay_p4runtime::{Device, Now, Settings};
use forebay_packet::{Burst, MemoryPort, Packet, Port};
use forebay_pipeline::{Engine, NoTrace, Options, Pipeline};
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::table_action::Type as ActionType;
use forebay_protocol::p4::v1::update::Type;
use forebay_protocol::p4::v1::{
    Action, Entity, FieldMatch, MasterArbitrationUpdate, StreamMessageRequest, TableAction, TableEntry, Uint128,
    Update, WriteRequest, action, entity, field_match,
};
use forebay_server::{Environment, link, start};
use forebay_switch::{Config, Switch};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tonic::transport::Channel;

const PROGRAM: &str = include_str!("rule_updates.p4");
const BATCH: usize = 1_000;
const BATCHES: usize = 200;
const SINGLES: usize = 5_000;
const REACTIONS: usize = 1_000;
const PACKETS_PER_SECOND: u64 = 1_000_000;
/// The packets that a port holds: also the most that are sent late after a pause of the system.
const RING: usize = 4096;

/// What the thread of the switch tells.
#[derive(Default)]
struct Observed {
    stop: AtomicBool,
    sent: AtomicU64,
    lost: AtomicU64,
    /// The port by which the last packet left.
    port: AtomicU32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let loaded = forebay_p4runtime::load(PROGRAM.as_bytes())?;
    let p4info = loaded.p4info.ok_or("the program is source")?;
    let options = Options {
        engine: Engine::Jit,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(loaded.program, options)?);
    let mut device = Device::new(Settings {
        device_id: 1,
        ..Settings::default()
    });
    device.adopt(p4info.clone(), Vec::new(), Arc::clone(&pipeline))?;
    let (_, _, link) = link()?;
    let began = Instant::now();
    let environment = Environment {
        now: Box::new(move || Now {
            switch_ns: began.elapsed().as_nanos() as u64,
            epoch_ns: 0,
        }),
        install: Box::new(drop),
        wait_installed: Box::new(|| ()),
        confine: Box::new(|| Ok(())),
        keeper: None,
        ports: Vec::new(),
        enable_port: Box::new(|_, _| ()),
        learned: None,
    };
    let options = forebay_server::Options {
        address: Some("127.0.0.1:0".parse()?),
        tls: None,
        keep_period: std::time::Duration::from_secs(60),
        limits: forebay_server::Limits::default(),
        access: forebay_server::Access::default(),
    };
    let server = start(&options, device, link, environment)?;
    let observed = Arc::new(Observed::default());
    let flowing = Instant::now();
    let traffic = {
        let observed = Arc::clone(&observed);
        std::thread::spawn(move || forward(pipeline, &observed))
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let address = server.address().ok_or("the server does not listen")?;
    let measured = runtime.block_on(measure(format!("http://{address}"), &p4info, &observed));
    observed.stop.store(true, Ordering::Relaxed);
    traffic.join().map_err(|_| "the switch has panicked")?;
    let (sent, lost) = (
        observed.sent.load(Ordering::Relaxed),
        observed.lost.load(Ordering::Relaxed),
    );
    let seconds = flowing.elapsed().as_secs_f64();
    println!(
        "packets meanwhile                {sent} sent ({:.2} million a second), {lost} lost",
        sent as f64 / seconds / 1e6
    );
    measured
}

/// Sends packets to one address through the switch at a steady rate.
fn forward(pipeline: Arc<Pipeline>, observed: &Observed) {
    let (mut outside, inside) = MemoryPort::pair("source", "port 1", RING);
    let mut switch = Switch::new(pipeline, Config::default());
    switch.attach(1, Box::new(inside));
    let mut sinks: Vec<MemoryPort> = (2..4)
        .map(|number| {
            let (near, far) = MemoryPort::pair("port", "sink", RING);
            switch.attach(number, Box::new(near));
            far
        })
        .collect();
    switch.stay_pinned(true);
    let (mut burst, mut received) = (Burst::new(32), Burst::new(RING));
    let began = Instant::now();
    let mut made = 0;
    // Drops before the first rule.
    let mut expected_drops = None;
    while !observed.stop.load(Ordering::Relaxed) {
        let now_ns = began.elapsed().as_nanos() as u64;
        // After a long pause of the system the rate goes on from now.
        let due = now_ns * PACKETS_PER_SECOND / 1_000_000_000;
        made = made.max(due.saturating_sub(RING as u64));
        while made < due && burst.room() > 0 {
            burst.push_exchange(&mut Packet::from_bytes(&[0; 60]));
            made += 1;
        }
        let offered = burst.len() as u64;
        let accepted = outside.send(&mut burst, now_ns).unwrap_or(0) as u64;
        switch.poll(now_ns, &mut NoTrace);
        let mut arrived = 0;
        for (sink, number) in sinks.iter_mut().zip(2..) {
            let count = sink.receive(&mut received, RING, now_ns).unwrap_or(0) as u64;
            if count > 0 {
                observed.port.store(number, Ordering::Release);
            }
            arrived += count;
            received.clear();
        }
        if arrived > 0 && expected_drops.is_none() {
            expected_drops = Some(switch.counters().dropped);
        }
        observed.sent.fetch_add(arrived, Ordering::Relaxed);
        observed.lost.fetch_add(offered - accepted, Ordering::Relaxed);
    }
    let dropped = switch.counters().dropped - expected_drops.unwrap_or(0);
    observed.lost.fetch_add(dropped, Ordering::Relaxed);
}

/// An update of the entry for an address.
fn update(info: &P4Info, how: Type, address: u64, port: u8) -> Update {
    let id = |preamble: &Option<forebay_protocol::p4::config::v1::Preamble>| preamble.as_ref().map_or(0, |p| p.id);
    let forward = info.actions.iter().find(|action| !action.params.is_empty());
    let entry = TableEntry {
        table_id: id(&info.tables[0].preamble),
        r#match: vec![FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Exact(field_match::Exact {
                value: address.to_be_bytes()[2..].to_vec(),
            })),
        }],
        action: Some(TableAction {
            r#type: Some(ActionType::Action(Action {
                action_id: forward.map_or(0, |action| id(&action.preamble)),
                params: vec![action::Param {
                    param_id: 1,
                    value: vec![port],
                }],
            })),
        }),
        ..TableEntry::default()
    };
    Update {
        r#type: how as i32,
        entity: Some(Entity {
            entity: Some(entity::Entity::TableEntry(entry)),
        }),
    }
}

const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

fn request(updates: Vec<Update>) -> WriteRequest {
    WriteRequest {
        device_id: 1,
        election_id: Some(ELECTION),
        updates,
        ..WriteRequest::default()
    }
}

async fn measure(address: String, info: &P4Info, observed: &Observed) -> Result<(), Box<dyn Error>> {
    let mut client = P4RuntimeClient::connect(address).await?;
    let (claims, to_send) = tokio::sync::mpsc::channel(1);
    let claim = Request::Arbitration(MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(ELECTION),
        ..MasterArbitrationUpdate::default()
    });
    claims.send(StreamMessageRequest { update: Some(claim) }).await?;
    let stream = tokio_stream::wrappers::ReceiverStream::new(to_send);
    let mut answers = client.stream_channel(stream).await?.into_inner();
    answers.message().await?;
    client.write(request(vec![update(info, Type::Insert, 0, 2)])).await?;
    batches(&mut client, info).await?;
    singles(&mut client, info).await?;
    reactions(&mut client, info, observed).await
}

async fn batches(client: &mut P4RuntimeClient<Channel>, info: &P4Info) -> Result<(), Box<dyn Error>> {
    let requests: Vec<WriteRequest> = (0..BATCHES)
        .map(|batch| {
            let addresses = (0..BATCH).map(|index| (1 + batch * BATCH + index) as u64);
            request(
                addresses
                    .map(|address| update(info, Type::Insert, address, 2))
                    .collect(),
            )
        })
        .collect();
    let began = Instant::now();
    for request in requests {
        client.write(request).await?;
    }
    let rate = (BATCH * BATCHES) as f64 / began.elapsed().as_secs_f64();
    println!("inserts in batches of {BATCH}       {rate:.0} a second");
    Ok(())
}

async fn singles(client: &mut P4RuntimeClient<Channel>, info: &P4Info) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    for index in 0..SINGLES {
        let address = (1 + BATCH * BATCHES + index) as u64;
        client
            .write(request(vec![update(info, Type::Insert, address, 2)]))
            .await?;
    }
    let rate = SINGLES as f64 / began.elapsed().as_secs_f64();
    println!("inserts one by one               {rate:.0} a second");
    Ok(())
}

async fn reactions(
    client: &mut P4RuntimeClient<Channel>,
    info: &P4Info,
    observed: &Observed,
) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::with_capacity(REACTIONS);
    for round in 0..REACTIONS {
        let port = if round % 2 == 0 { 3 } else { 2 };
        let began = Instant::now();
        client.write(request(vec![update(info, Type::Modify, 0, port)])).await?;
        while observed.port.load(Ordering::Acquire) != u32::from(port) {
            std::hint::spin_loop();
        }
        times.push(began.elapsed());
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "from the call to the first packet  median {:.0} us, 99 of 100 under {:.0} us, longest {:.0} us",
        micros(at(0.5)),
        micros(at(0.99)),
        micros(at(1.0))
    );
    Ok(())
}
