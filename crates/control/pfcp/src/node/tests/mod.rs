//! Conversations with an SMF, over a data plane that remembers what it was told.

mod addresses;
mod associations;
mod messages;
mod quotas;
mod reports;
mod restart;
mod sessions;
mod usage;

use super::*;
use crate::rules::{Far, triggers};
use crate::wire::{FSeid, FTeid, OuterHeader, Reader, Usage, Value, kind};
use std::collections::HashMap;

/// A data plane in memory.
#[derive(Default)]
struct FakePlane {
    sessions: HashMap<u64, Session>,
    usage: HashMap<u32, Usage>,
    end_markers: Vec<OuterHeader>,
    refuses: bool,
    is_unreadable: bool,
    /// Sessions whose packets were dropped by a call.
    dropped: Vec<u64>,
}

impl UserPlane for FakePlane {
    fn change(&mut self, before: Option<&Session>, after: Option<&Session>) -> Result<(), Refusal> {
        if self.refuses {
            return Err(Refusal::new(Cause::NoResources, "full"));
        }
        if let Some(before) = before {
            assert!(self.sessions.remove(&before.seid).is_some());
        }
        self.sessions.extend(after.map(|after| (after.seid, after.clone())));
        Ok(())
    }

    fn counters(&mut self, urrs: &[u32]) -> Result<Vec<Usage>, String> {
        if self.is_unreadable {
            return Err("gone".to_string());
        }
        Ok(urrs
            .iter()
            .map(|number| self.usage.get(number).copied().unwrap_or_default())
            .collect())
    }

    fn send_end_markers(&mut self, tunnels: &[OuterHeader]) {
        self.end_markers.extend(tunnels);
    }

    fn drop_buffered(&mut self, session: &Session) {
        self.dropped.push(session.seid);
    }
}

/// An SMF, the node and its data plane.
struct Bench {
    node: Node,
    plane: FakePlane,
    now: Duration,
    sequence: u32,
    recovery: u32,
}

/// A message that the node has sent.
struct Sent {
    header: Header,
    body: Vec<u8>,
}

impl Sent {
    fn elements(&self) -> Elements<'_> {
        Elements::new(&self.body).expect("the node writes elements")
    }

    fn cause(&self) -> u8 {
        self.elements().mandatory(kind::CAUSE).expect("an answer has a cause")
    }
}

const SMF: &str = "192.0.2.2:8805";

fn settings() -> Settings {
    let tunnels_at = Addresses::from(IpAddr::from([192, 0, 2, 33]));
    Settings {
        node: NodeId::Address([192, 0, 2, 1].into()),
        address: [192, 0, 2, 1].into(),
        tunnels_at,
        pools: Pools {
            v4: Some(([10, 60, 0, 1].into(), 2)),
            v6: None,
        },
        limits: Limits {
            sessions: 3,
            fars: 16,
            qers: 16,
            urrs: 16,
        },
        recovery: 4_000_000_000,
        first_sequence: 0,
        retry: Duration::from_secs(3),
        attempts: 3,
        heartbeat: Duration::from_secs(20),
        peers: vec![Network::parse("192.0.2.0/24").expect("a network")],
    }
}

impl Bench {
    fn new() -> Bench {
        Bench {
            node: Node::new(settings()),
            plane: FakePlane::default(),
            now: Duration::from_secs(1_800_000_000),
            sequence: 0,
            recovery: 7,
        }
    }

    fn associated() -> Bench {
        let mut bench = Bench::new();
        assert_eq!(bench.associate(false).cause(), 1);
        bench
    }

    fn associate(&mut self, retains: bool) -> Sent {
        let recovery = self.recovery;
        self.ask(MessageType::AssociationSetupRequest, None, |request| {
            write_node(request);
            request.u32_element(kind::RECOVERY_TIME_STAMP, recovery);
            if retains {
                request.element(kind::PFCP_SESSION_RETENTION_INFORMATION, |_| {});
            }
        })
    }

    fn send(&mut self, datagram: &[u8]) {
        let from = SMF.parse().expect("an address");
        self.node.receive(self.now, from, datagram, &mut self.plane);
    }

    /// A request, and the answer to it.
    fn ask(&mut self, message: MessageType, seid: Option<u64>, elements: impl FnOnce(&mut Writer)) -> Sent {
        self.sequence += 1;
        let sequence = self.sequence;
        self.send(
            &Header {
                message,
                seid,
                sequence,
            }
            .message(elements),
        );
        let sent = self.sent().expect("an answer");
        assert_eq!(sent.header.sequence, sequence);
        sent
    }

    fn sent(&mut self) -> Option<Sent> {
        let (to, datagram) = self.node.next_output()?;
        assert_eq!(to, SMF.parse().expect("an address"));
        let (header, body) = Header::read(&datagram).expect("the node writes messages");
        let body = body.to_vec();
        Some(Sent { header, body })
    }

    /// An answer to a request of the node.
    fn answer(&mut self, request: &Sent, message: MessageType, elements: impl FnOnce(&mut Writer)) {
        let header = Header {
            message,
            seid: request.header.seid,
            sequence: request.header.sequence,
        };
        self.send(&header.message(elements));
    }

    fn establish(&mut self, rules: impl FnOnce(&mut Writer)) -> Sent {
        self.ask(MessageType::SessionEstablishmentRequest, Some(0), |request| {
            write_node(request);
            request.element(kind::F_SEID, |value| peer().write(value));
            rules(request);
        })
    }

    /// A session with an uplink and a downlink PDR; its SEID.
    fn session(&mut self, ue: u8) -> u64 {
        let answer = self.establish(|request| write_session(request, ue));
        assert_eq!(answer.cause(), 1);
        answer.elements().mandatory::<FSeid>(kind::F_SEID).expect("a SEID").seid
    }

    fn modify(&mut self, seid: u64, elements: impl FnOnce(&mut Writer)) -> Sent {
        self.ask(MessageType::SessionModificationRequest, Some(seid), elements)
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.node.tick(self.now);
    }

    fn urr_number(&self, seid: u64) -> u32 {
        self.node.session(seid).expect("a session").urrs[&1].number
    }
}

fn peer() -> FSeid {
    FSeid {
        seid: 0x77,
        addresses: Addresses::from(IpAddr::from([192, 0, 2, 2])),
    }
}

fn write_node(request: &mut Writer) {
    request.element(kind::NODE_ID, |value| {
        NodeId::Address([192, 0, 2, 2].into()).write(value)
    });
}

fn write_session(request: &mut Writer, ue: u8) {
    write_pdr(
        request,
        1,
        0,
        Some(FTeid::Choose {
            v4: true,
            v6: false,
            id: Some(1),
        }),
        ue,
    );
    write_pdr(request, 2, 1, None, ue);
    write_far(request, 1, 2, None);
    write_far(request, 2, 2, Some(gnb(0x2001)));
    request.element(kind::CREATE_QER, |qer| {
        qer.u32_element(kind::QER_ID, 1);
        qer.u8_element(kind::GATE_STATUS, 0);
        qer.u8_element(kind::QFI, 9);
    });
    request.element(kind::CREATE_URR, |urr| {
        urr.u32_element(kind::URR_ID, 1);
        urr.u8_element(kind::MEASUREMENT_METHOD, 3);
        urr.element(kind::REPORTING_TRIGGERS, |value| value.bytes(&[2, 1, 0]));
        urr.element(kind::VOLUME_THRESHOLD, |value| {
            value.u8(1);
            value.u64(1000);
        });
        urr.element(kind::VOLUME_QUOTA, |value| {
            value.u8(1);
            value.u64(5000);
        });
    });
}

fn write_pdr(request: &mut Writer, id: u16, source: u8, tunnel: Option<FTeid>, ue: u8) {
    request.element(kind::CREATE_PDR, |pdr| {
        pdr.u16_element(kind::PDR_ID, id);
        pdr.u32_element(kind::PRECEDENCE, 100);
        pdr.element(kind::PDI, |pdi| {
            pdi.u8_element(kind::SOURCE_INTERFACE, source);
            if let Some(tunnel) = tunnel {
                pdi.element(kind::F_TEID, |value| tunnel.write(value));
            }
            pdi.element(kind::UE_IP_ADDRESS, |value| value.bytes(&[2, 10, 45, 0, ue]));
        });
        pdr.u32_element(kind::FAR_ID, u32::from(id));
        pdr.u32_element(kind::QER_ID, 1);
        pdr.u32_element(kind::URR_ID, 1);
    });
}

fn gnb(teid: u32) -> OuterHeader {
    OuterHeader {
        teid,
        peer: [192, 0, 2, 66].into(),
    }
}

fn write_far(request: &mut Writer, id: u32, action: u8, tunnel: Option<OuterHeader>) {
    request.element(kind::CREATE_FAR, |far| {
        far.u32_element(kind::FAR_ID, id);
        far.u8_element(kind::APPLY_ACTION, action);
        far.element(kind::FORWARDING_PARAMETERS, |parameters| {
            parameters.u8_element(kind::DESTINATION_INTERFACE, u8::from(tunnel.is_none()));
            if let Some(tunnel) = tunnel {
                parameters.element(kind::OUTER_HEADER_CREATION, |value| tunnel.write(value));
            }
        });
    });
}

fn update_far(request: &mut Writer, action: u8, teid: u32, flags: u8) {
    request.element(kind::UPDATE_FAR, |far| {
        far.u32_element(kind::FAR_ID, 2);
        far.u8_element(kind::APPLY_ACTION, action);
        far.element(kind::UPDATE_FORWARDING_PARAMETERS, |parameters| {
            parameters.element(kind::OUTER_HEADER_CREATION, |value| gnb(teid).write(value));
            parameters.u8_element(kind::PFCPSMREQ_FLAGS, flags);
        });
    });
}

/// The numbers and volumes of the usage reports of a message.
fn reports_of(message: &Sent, kind_of_report: u16) -> Vec<(u32, u64)> {
    let report = |report: Result<Elements<'_>, _>| {
        let report = report.expect("usage");
        let volume = report.find(kind::VOLUME_MEASUREMENT).expect("a volume");
        let number = report.mandatory(kind::UR_SEQN).expect("a number");
        (number, Reader::new(&volume[1..]).u64().expect("a total"))
    };
    message.elements().groups(kind_of_report).map(report).collect()
}

impl Bench {
    /// A session of which a report was sent that has never been answered.
    fn unanswered_report() -> (Bench, u64) {
        let mut bench = Bench::associated();
        let seid = bench.session(1);
        bench.use_bytes(seid, 1500);
        for attempt in 0..3 {
            let request = bench.sent().unwrap_or_else(|| panic!("no attempt {attempt}"));
            assert_eq!(reports_of(&request, kind::USAGE_REPORT), [(0, 1500)]);
            bench.pass(3);
        }
        assert_eq!(bench.node.counters().reports_kept, 1);
        assert!(bench.sent().is_none());
        (bench, seid)
    }

    /// Sets what the session has sent since its beginning.
    fn use_bytes(&mut self, seid: u64, uplink_bytes: u64) {
        let usage = Usage {
            uplink_bytes,
            uplink_packets: uplink_bytes / 100,
            ..Usage::default()
        };
        self.plane.usage.insert(self.urr_number(seid), usage);
        self.node.report_usage(self.now, &mut self.plane);
    }
}

impl Bench {
    /// URR 1 of the session gets a new volume quota of 5,000 bytes.
    fn renew_volume_quota(&mut self, seid: u64) {
        let answer = self.modify(seid, |request| {
            request.element(kind::UPDATE_URR, |urr| {
                urr.u32_element(kind::URR_ID, 1);
                urr.element(kind::VOLUME_QUOTA, |value| {
                    value.u8(1);
                    value.u64(5000);
                });
            });
        });
        assert_eq!(answer.cause(), 1);
    }

    /// URR 1 of the session gets a time quota and these triggers.
    fn give_time_quota(&mut self, seid: u64, triggers: [u8; 3], seconds: u32) {
        let answer = self.modify(seid, |request| {
            request.element(kind::UPDATE_URR, |urr| {
                urr.u32_element(kind::URR_ID, 1);
                urr.element(kind::REPORTING_TRIGGERS, |value| value.bytes(&triggers));
                urr.u32_element(kind::TIME_QUOTA, seconds);
            });
        });
        assert_eq!(answer.cause(), 1);
    }
}
