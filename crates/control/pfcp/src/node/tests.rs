//! Conversations with an SMF, over a data plane that remembers what it was told.

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

#[test]
fn an_association_is_set_up_updated_and_released() {
    let mut bench = Bench::associated();
    let answer = bench.ask(MessageType::AssociationUpdateRequest, None, write_node);
    assert_eq!(answer.cause(), 1);
    let seid = bench.session(1);
    assert_eq!(
        bench
            .ask(MessageType::AssociationReleaseRequest, None, write_node)
            .cause(),
        1
    );
    assert!(bench.plane.sessions.is_empty());
    assert_eq!(bench.modify(seid, |_| {}).cause(), Cause::SessionContextNotFound as u8);
    assert_eq!(
        bench
            .ask(MessageType::AssociationReleaseRequest, None, write_node)
            .cause(),
        Cause::NoAssociation as u8
    );
}

#[test]
fn a_session_gets_a_tunnel() {
    let mut bench = Bench::associated();
    let answer = bench.establish(|request| write_session(request, 1));
    assert_eq!(answer.header.seid, Some(0x77));
    let created = answer.elements().mandatory_group(kind::CREATED_PDR).expect("a PDR");
    assert_eq!(created.mandatory::<u16>(kind::PDR_ID), Ok(1));
    let tunnel: FTeid = created.mandatory(kind::F_TEID).expect("a tunnel");
    let FTeid::Given { teid, addresses } = tunnel else {
        panic!("a tunnel that is still to be chosen")
    };
    assert_eq!(addresses.any(), Some([192, 0, 2, 33].into()));
    let session = bench.plane.sessions.values().next().expect("a session");
    assert!(session.endpoints.contains_key(&crate::Endpoint::Tunnel(teid)));
    assert!(session.endpoints.contains_key(&crate::Endpoint::Network));
}

#[test]
fn an_address_is_chosen_and_given_back() {
    let mut bench = Bench::associated();
    let with_choice = |request: &mut Writer| {
        request.element(kind::CREATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, 1);
            pdr.u32_element(kind::PRECEDENCE, 100);
            pdr.element(kind::PDI, |pdi| {
                pdi.u8_element(kind::SOURCE_INTERFACE, 1);
                pdi.u8_element(kind::UE_IP_ADDRESS, 0x10);
            });
            pdr.u32_element(kind::FAR_ID, 1);
        });
        write_far(request, 1, 2, None);
    };
    let address = |answer: &Sent| {
        let created = answer.elements().mandatory_group(kind::CREATED_PDR).expect("a PDR");
        created
            .mandatory::<crate::wire::UeAddress>(kind::UE_IP_ADDRESS)
            .expect("an address")
            .addresses
            .v4
    };
    let first = bench.establish(with_choice);
    assert_eq!(address(&first), Some([10, 60, 0, 1].into()));
    let second = bench.establish(with_choice);
    assert_eq!(address(&second), Some([10, 60, 0, 2].into()));
    assert_eq!(bench.establish(with_choice).cause(), Cause::AllAddressesOccupied as u8);
    let seid = first.elements().mandatory::<FSeid>(kind::F_SEID).expect("a SEID").seid;
    bench.ask(MessageType::SessionDeletionRequest, Some(seid), |_| {});
    assert_eq!(address(&bench.establish(with_choice)), Some([10, 60, 0, 1].into()));
}

/// Rules of a downlink PDR, or of an uplink one, for whose UE addresses are chosen by these flags.
fn write_choice(request: &mut Writer, tunnel: Option<FTeid>, flags: u8) {
    request.element(kind::CREATE_PDR, |pdr| {
        pdr.u16_element(kind::PDR_ID, 1);
        pdr.u32_element(kind::PRECEDENCE, 100);
        pdr.element(kind::PDI, |pdi| {
            pdi.u8_element(kind::SOURCE_INTERFACE, u8::from(tunnel.is_none()));
            if let Some(tunnel) = tunnel {
                pdi.element(kind::F_TEID, |value| tunnel.write(value));
            }
            pdi.u8_element(kind::UE_IP_ADDRESS, flags);
        });
        pdr.u32_element(kind::FAR_ID, 1);
    });
    write_far(request, 1, 2, None);
}

#[test]
fn an_address_without_its_counterpart_is_given_back() {
    let mut bench = Bench::associated();
    // There are two IPv4 addresses and no IPv6 prefix.
    for _ in 0..3 {
        let answer = bench.establish(|request| write_choice(request, None, 0x30));
        assert_eq!(answer.cause(), Cause::AllAddressesOccupied as u8);
    }
    for _ in 0..2 {
        assert_eq!(bench.establish(|request| write_choice(request, None, 0x10)).cause(), 1);
    }
}

#[test]
fn refusals_name_what_is_wrong() {
    let mut bench = Bench::new();
    let answer = bench.establish(|request| write_session(request, 1));
    assert_eq!(answer.cause(), Cause::NoAssociation as u8);
    assert_eq!(answer.header.seid, Some(0x77));
    bench.associate(false);
    let answer = bench.establish(|request| write_far(request, 1, 2, None));
    assert_eq!(answer.cause(), Cause::MandatoryIeMissing as u8);
    assert_eq!(
        answer.elements().mandatory::<u16>(kind::OFFENDING_IE),
        Ok(kind::CREATE_PDR)
    );
    let answer = bench.establish(|request| {
        write_pdr(request, 5, 1, None, 1);
        write_far(request, 6, 2, None);
    });
    assert_eq!(answer.cause(), Cause::RuleFailure as u8);
    let failed = answer.elements().find(kind::FAILED_RULE_ID).map(<[u8]>::to_vec);
    assert_eq!(failed, Some(vec![0, 0, 5]), "PDR 5 names FAR 5");
    let answer = bench.establish(|request| {
        write_far(request, 6, 16, None);
        write_pdr(request, 6, 1, None, 1);
    });
    assert_eq!(
        answer.elements().mandatory::<u16>(kind::OFFENDING_IE),
        Ok(kind::APPLY_ACTION)
    );
    let failed = answer.elements().find(kind::FAILED_RULE_ID).map(<[u8]>::to_vec);
    assert_eq!(failed, Some(vec![1, 0, 0, 0, 6]));
    bench.plane.refuses = true;
    assert_eq!(
        bench.establish(|request| write_session(request, 1)).cause(),
        Cause::NoResources as u8
    );
    assert_eq!(bench.node.sessions().count(), 0);
}

#[test]
fn a_modification_that_fails_leaves_everything() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let before = bench.node.session(seid).cloned();
    let answer = bench.modify(seid, |request| {
        update_far(request, 4, 0x2002, 0);
        request.element(kind::REMOVE_PDR, |pdr| pdr.u16_element(kind::PDR_ID, 99));
    });
    assert_eq!(answer.cause(), Cause::RuleFailure as u8);
    bench.plane.refuses = true;
    assert_eq!(
        bench.modify(seid, |request| update_far(request, 4, 0x2002, 0)).cause(),
        Cause::NoResources as u8
    );
    assert_eq!(bench.node.session(seid).cloned(), before);
    assert_eq!(bench.plane.sessions.get(&seid).cloned(), before);
}

#[test]
fn numbers_and_tunnels_are_given_back() {
    let mut bench = Bench::associated();
    // More sessions than there are numbers: FARs and all else come round again.
    for _ in 0..100 {
        let seid = bench.session(1);
        let answer = bench.ask(MessageType::SessionDeletionRequest, Some(seid), |_| {});
        assert_eq!(answer.cause(), 1);
        assert!(answer.elements().has(kind::USAGE_REPORT_DELETION));
    }
    for ue in 1..=3 {
        bench.session(ue);
    }
    assert_eq!(
        bench.establish(|request| write_session(request, 4)).cause(),
        Cause::NoResources as u8
    );
}

#[test]
fn an_address_belongs_to_one_session() {
    let mut bench = Bench::associated();
    bench.session(1);
    let answer = bench.establish(|request| write_session(request, 1));
    assert_eq!(answer.cause(), Cause::RuleFailure as u8);
    assert_eq!(
        answer.elements().mandatory::<u16>(kind::OFFENDING_IE),
        Ok(kind::UE_IP_ADDRESS)
    );
    bench.session(2);
}

#[test]
fn a_repeated_request_is_done_once() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionEstablishmentRequest,
        seid: Some(0),
        sequence: 500,
    };
    let datagram = header.message(|request| {
        write_node(request);
        request.element(kind::F_SEID, |value| peer().write(value));
        write_session(request, 1);
    });
    bench.send(&datagram);
    let first = bench.sent().expect("an answer").body;
    bench.send(&datagram);
    assert_eq!(bench.sent().expect("the same answer").body, first);
    assert_eq!(bench.node.sessions().count(), 1);
    assert_eq!(bench.node.counters().repeated, 1);
}

#[test]
fn usage_is_reported_at_thresholds_and_a_used_up_quota_stops() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let number = bench.urr_number(seid);
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    let mut usage = Usage {
        uplink_bytes: 900,
        uplink_packets: 9,
        downlink_bytes: 200,
        downlink_packets: 2,
    };
    bench.plane.usage.insert(number, usage);
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    assert_eq!(request.header.seid, Some(0x77));
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(
        report.flags(kind::USAGE_REPORT_TRIGGER),
        Ok(Some(triggers::VOLUME_THRESHOLD))
    );
    let volume = report.find(kind::VOLUME_MEASUREMENT).expect("a volume");
    assert_eq!(Reader::new(&volume[1..]).u64(), Ok(1100));
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    // The quota: packets are stopped, which is told once.
    usage.downlink_bytes = 5000;
    bench.plane.usage.insert(number, usage);
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    let trigger = report
        .flags(kind::USAGE_REPORT_TRIGGER)
        .expect("flags")
        .expect("a trigger");
    assert_ne!(trigger & triggers::VOLUME_QUOTA, 0);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    bench.renew_volume_quota(seid);
    assert!(!bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
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

    /// The session has sent so much in all.
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

#[test]
fn a_report_without_an_answer_is_sent_again_as_it_was() {
    let (mut bench, seid) = Bench::unanswered_report();
    bench.use_bytes(seid, 2600);
    let again = bench.sent().expect("the same report");
    assert_eq!(reports_of(&again, kind::USAGE_REPORT), [(0, 1500)]);
    let next = bench.sent().expect("the next report");
    assert_eq!(reports_of(&next, kind::USAGE_REPORT), [(1, 1100)]);
    for request in [&again, &next] {
        bench.answer(request, MessageType::SessionReportResponse, |answer| {
            answer.cause(Cause::Accepted)
        });
    }
    assert!(bench.node.session(seid).expect("a session").reports.is_empty());
}

#[test]
fn reports_without_an_answer_survive_a_restart() {
    let (bench, seid) = Bench::unanswered_report();
    let saved = bench.node.save();
    let mut bench = Bench::new();
    bench.node.restore(&saved, &[]).expect("what was saved");
    bench.use_bytes(seid, 1500);
    let again = bench.sent().expect("the same report");
    assert_eq!(reports_of(&again, kind::USAGE_REPORT), [(0, 1500)]);
}

#[test]
fn reports_without_an_answer_are_in_that_of_the_end() {
    let (mut bench, seid) = Bench::unanswered_report();
    bench.use_bytes(seid, 1600);
    bench.sent().expect("the same report");
    let answer = bench.ask(MessageType::SessionDeletionRequest, Some(seid), |_| {});
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_DELETION), [(0, 1500), (1, 100)]);
}

#[test]
fn a_query_that_finds_no_counters_does_not_report_usage_twice() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.use_bytes(seid, 1500);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    let query = |request: &mut Writer| {
        request.element(kind::QUERY_URR, |urr| urr.u32_element(kind::URR_ID, 1));
    };
    bench.plane.is_unreadable = true;
    let answer = bench.modify(seid, query);
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_MODIFICATION), [(1, 0)]);
    bench.plane.is_unreadable = false;
    bench.use_bytes(seid, 1600);
    let answer = bench.modify(seid, query);
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_MODIFICATION), [(2, 100)]);
}

/// A peer that restarts begins its sequence numbers anew.
#[test]
fn a_request_with_a_used_number_and_other_contents_is_done() {
    let mut bench = Bench::associated();
    bench.session(1);
    bench.sequence = 0;
    bench.recovery += 1;
    assert_eq!(bench.associate(false).cause(), 1);
    assert!(bench.plane.sessions.is_empty());
    bench.session(1);
    assert_eq!(bench.plane.sessions.len(), 1, "the same words as in its former life");
}

#[test]
fn an_address_of_a_pool_that_a_smf_names_is_not_chosen() {
    let mut bench = Bench::associated();
    let named = |request: &mut Writer| {
        write_session(request, 1);
    };
    let chosen = |bench: &mut Bench, explicit: Option<u8>| {
        let answer = bench.establish(|request| {
            write_far(request, 1, 2, None);
            request.element(kind::CREATE_PDR, |pdr| {
                pdr.u16_element(kind::PDR_ID, 1);
                pdr.u32_element(kind::PRECEDENCE, 100);
                pdr.element(kind::PDI, |pdi| {
                    pdi.u8_element(kind::SOURCE_INTERFACE, 1);
                    pdi.element(kind::UE_IP_ADDRESS, |value| match explicit {
                        Some(last) => value.bytes(&[2, 10, 60, 0, last]),
                        None => value.bytes(&[0x10]),
                    });
                });
                pdr.u32_element(kind::FAR_ID, 1);
            });
        });
        let seid = answer.elements().mandatory::<FSeid>(kind::F_SEID).map(|own| own.seid);
        (answer.cause(), seid.unwrap_or(0))
    };
    assert_eq!(bench.establish(named).cause(), 1);
    // The pool has 10.60.0.1 and 10.60.0.2.
    let (cause, first) = chosen(&mut bench, Some(1));
    assert_eq!(cause, 1);
    let (cause, second) = chosen(&mut bench, None);
    assert_eq!(cause, 1);
    let address = |seid: u64| {
        bench.node.session(seid).expect("a session").pdrs[&1]
            .pdi
            .ue
            .expect("a UE")
            .addresses
    };
    assert_eq!(address(second).v4, Some([10, 60, 0, 2].into()));
    assert_eq!(address(first).v4, Some([10, 60, 0, 1].into()));
    for seid in [first, second] {
        assert_eq!(
            bench
                .ask(MessageType::SessionDeletionRequest, Some(seid), |_| {})
                .cause(),
            1
        );
    }
    let both = [chosen(&mut bench, None), chosen(&mut bench, None)].map(|(cause, _)| cause);
    assert_eq!(both, [1, 1]);
}

#[test]
fn a_late_heartbeat_of_a_former_life_changes_nothing() {
    let mut bench = Bench::associated();
    bench.session(1);
    let heartbeat = |bench: &mut Bench, recovery: u32| {
        bench.ask(MessageType::HeartbeatRequest, None, |request| {
            request.u32_element(kind::RECOVERY_TIME_STAMP, recovery);
        });
        bench.plane.sessions.len()
    };
    assert_eq!(heartbeat(&mut bench, 6), 1);
    assert_eq!(heartbeat(&mut bench, 7), 1);
    assert_eq!(heartbeat(&mut bench, 8), 0, "it has restarted");
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

#[test]
fn time_is_measured_from_the_first_packet_on() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 2, 0], 2);
    bench.pass(10);
    bench.use_bytes(seid, 0);
    assert!(bench.sent().is_none(), "no packet has come");
    bench.use_bytes(seid, 100);
    bench.pass(1);
    bench.use_bytes(seid, 100);
    assert!(bench.sent().is_none(), "a second is left");
    bench.pass(1);
    bench.use_bytes(seid, 100);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::TIME_QUOTA)));
    assert_eq!(report.mandatory::<u32>(kind::DURATION_MEASUREMENT), Ok(2));
}

#[test]
fn a_new_volume_quota_leaves_the_time_quota_as_it_is() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 3, 0], 2);
    bench.use_bytes(seid, 100);
    bench.pass(1);
    bench.renew_volume_quota(seid);
    bench.pass(1);
    bench.use_bytes(seid, 100);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::TIME_QUOTA)));
}

#[test]
fn a_used_up_quota_stops_packets_without_its_trigger() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 0, 0], 2);
    bench.use_bytes(seid, 100);
    bench.pass(2);
    bench.use_bytes(seid, 100);
    assert!(bench.sent().is_none(), "no report is wanted");
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
}

/// The report of the first packet has no measurement: what is counted until then is in the next one.
#[test]
fn usage_before_the_report_of_the_first_packet_is_reported() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0x12, 1, 0], 1000);
    bench.use_bytes(seid, 500);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(report.flags(kind::USAGE_REPORT_TRIGGER), Ok(Some(triggers::START)));
    assert!(!report.has(kind::VOLUME_MEASUREMENT));
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.use_bytes(seid, 1200);
    let request = bench.sent().expect("a report");
    assert_eq!(reports_of(&request, kind::USAGE_REPORT), [(1, 1200)]);
}

/// Packets do not pass until the next look at the counters.
#[test]
fn an_empty_quota_stops_packets_at_once() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.give_time_quota(seid, [0, 2, 0], 0);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_some(), "it is reported");
}

/// A request removes a rule that PDRs name: they go on without it, and its last usage is in the answer.
#[test]
fn rules_that_are_removed_are_left_out_of_pdrs() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let answer = bench.modify(seid, |request| {
        request.element(kind::REMOVE_URR, |urr| urr.u32_element(kind::URR_ID, 1));
        request.element(kind::REMOVE_QER, |qer| qer.u32_element(kind::QER_ID, 1));
    });
    assert_eq!(answer.cause(), 1);
    assert_eq!(reports_of(&answer, kind::USAGE_REPORT_MODIFICATION), [(0, 0)]);
    let session = bench.node.session(seid).expect("a session");
    assert!(
        session
            .pdrs
            .values()
            .all(|pdr| pdr.urrs.is_empty() && pdr.qers.is_empty())
    );
    let answer = bench.modify(seid, |request| {
        request.element(kind::REMOVE_FAR, |far| far.u32_element(kind::FAR_ID, 1));
    });
    assert_eq!(
        answer.cause(),
        Cause::RuleFailure as u8,
        "a PDR without a FAR says nothing"
    );
}

#[test]
fn counters_that_begin_again_are_counted_from_what_they_are() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let number = bench.urr_number(seid);
    let uplink = |uplink_bytes| Usage {
        uplink_bytes,
        uplink_packets: uplink_bytes / 100,
        ..Usage::default()
    };
    bench.plane.usage.insert(number, uplink(3000));
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    // The switch has been restarted, with counters that it had saved before.
    bench.plane.usage.insert(number, uplink(2900));
    bench.node.counters_restarted(&mut bench.plane);
    bench.plane.usage.insert(number, uplink(4000));
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    assert_eq!(
        Reader::new(&report.find(kind::VOLUME_MEASUREMENT).expect("a volume")[1..]).u64(),
        Ok(1100)
    );
}

#[test]
fn the_smf_is_told_once_that_packets_wait() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_none(), "the FAR forwards");
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    for _ in 0..3 {
        bench.node.downlink_data(bench.now, seid, 2);
    }
    let request = bench.sent().expect("a report");
    let report = request
        .elements()
        .mandatory_group(kind::DOWNLINK_DATA_REPORT)
        .expect("a report");
    assert_eq!(report.mandatory::<u16>(kind::PDR_ID), Ok(2));
    assert!(bench.sent().is_none());
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted)
    });
    bench.modify(seid, |request| update_far(request, 2, 0x2001, 0));
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_some(), "idle once more");
}

#[test]
fn the_smf_is_told_again_after_it_had_packets_dropped() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.modify(seid, |request| update_far(request, 12, 0x2001, 0));
    bench.node.downlink_data(bench.now, seid, 2);
    let request = bench.sent().expect("a report");
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::Accepted);
        answer.u8_element(kind::PFCPSRRSP_FLAGS, 1);
    });
    bench.node.downlink_data(bench.now, seid, 2);
    assert!(bench.sent().is_some(), "no packet waited");
}

#[test]
fn a_session_that_its_smf_does_not_know_ends() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.node.error_indication(bench.now, &gnb(0x9999));
    assert!(bench.sent().is_none(), "no session sends there");
    bench.node.error_indication(bench.now, &gnb(0x2001));
    let request = bench.sent().expect("a report");
    let report = request
        .elements()
        .mandatory_group(kind::ERROR_INDICATION_REPORT)
        .expect("a report");
    let addresses = Addresses::from(gnb(0).peer);
    assert_eq!(
        report.mandatory::<FTeid>(kind::F_TEID),
        Ok(FTeid::Given {
            teid: 0x2001,
            addresses
        })
    );
    bench.answer(&request, MessageType::SessionReportResponse, |answer| {
        answer.cause(Cause::SessionContextNotFound)
    });
    assert!(bench.node.session(seid).is_none() && bench.plane.sessions.is_empty());
}

#[test]
fn an_end_marker_goes_into_the_tunnel_that_is_left() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.modify(seid, |request| update_far(request, 2, 0x2001, 2));
    assert!(bench.plane.end_markers.is_empty(), "the tunnel is the same");
    bench.modify(seid, |request| update_far(request, 2, 0x2002, 2));
    assert_eq!(bench.plane.end_markers, [gnb(0x2001)]);
}

#[test]
fn a_peer_that_does_not_answer_keeps_its_sessions() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.pass(20);
    let heartbeat = bench.sent().expect("a heartbeat");
    assert_eq!(heartbeat.header.message, MessageType::HeartbeatRequest);
    bench.answer(&heartbeat, MessageType::HeartbeatResponse, |answer| {
        answer.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.pass(19);
    assert!(bench.sent().is_none());
    bench.pass(1);
    let mut heartbeat = bench.sent();
    for _ in 0..3 {
        bench.pass(3);
        heartbeat = bench.sent().or(heartbeat);
    }
    assert!(bench.node.associations().all(|(_, association)| association.is_lost));
    assert!(bench.node.session(seid).is_some());
    // Usage adds up meanwhile.
    let number = bench.urr_number(seid);
    bench.plane.usage.insert(
        number,
        Usage {
            uplink_bytes: 2000,
            uplink_packets: 2,
            ..Usage::default()
        },
    );
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert!(bench.sent().is_none());
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    assert_eq!(
        bench.sent().expect("a report").header.message,
        MessageType::SessionReportRequest
    );
}

#[test]
fn sessions_of_a_peer_that_has_restarted_end() {
    let mut bench = Bench::associated();
    bench.session(1);
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 8)
    });
    assert!(bench.plane.sessions.is_empty());
    assert_eq!(
        bench.establish(|request| write_session(request, 1)).cause(),
        Cause::NoAssociation as u8
    );
}

#[test]
fn a_quota_holds_while_the_smf_is_away() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    for _ in 0..4 {
        bench.pass(20);
    }
    while bench.sent().is_some() {}
    assert!(bench.node.associations().all(|(_, association)| association.is_lost));
    bench.use_bytes(seid, 4900);
    assert!(!bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    bench.use_bytes(seid, 5100);
    assert!(bench.plane.sessions[&seid].urrs[&1].measured.is_exhausted);
    assert!(bench.sent().is_none());
    bench.ask(MessageType::HeartbeatRequest, None, |request| {
        request.u32_element(kind::RECOVERY_TIME_STAMP, 7)
    });
    bench.node.report_usage(bench.now, &mut bench.plane);
    let request = bench.sent().expect("a report");
    assert_eq!(reports_of(&request, kind::USAGE_REPORT), [(0, 5100)]);
    let report = request.elements().mandatory_group(kind::USAGE_REPORT).expect("usage");
    let trigger = report.flags(kind::USAGE_REPORT_TRIGGER).expect("flags");
    assert_eq!(trigger, Some(triggers::VOLUME_THRESHOLD | triggers::VOLUME_QUOTA));
}

#[test]
fn a_session_that_ends_while_the_switch_is_away_keeps_no_packets() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.plane.refuses = true;
    bench.associate(false);
    assert!(bench.node.session(seid).is_none());
    assert_eq!(bench.plane.dropped, [seid]);
}

#[test]
fn an_association_that_is_set_up_anew_ends_sessions_or_retains_them() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let answer = bench.associate(true);
    assert_eq!(answer.elements().mandatory::<u8>(kind::PFCPASRSP_FLAGS), Ok(1));
    assert!(bench.node.session(seid).is_some());
    assert!(!bench.associate(false).elements().has(kind::PFCPASRSP_FLAGS));
    assert!(bench.node.session(seid).is_none());
}

#[test]
fn a_restart_changes_nothing() {
    let mut bench = Bench::associated();
    let first = bench.session(1);
    let snapshot = bench.node.save();
    bench.node.save_changes();
    let second = bench.session(2);
    bench.modify(first, |request| update_far(request, 12, 0x2005, 0));
    let batches: Vec<Vec<u8>> = bench.node.save_changes().into_iter().collect();
    assert_eq!(bench.node.save_changes(), None);
    let mut node = Node::new(Settings {
        recovery: 1,
        ..settings()
    });
    node.restore(&snapshot, &batches).expect("what was saved");
    assert_eq!(node.settings.recovery, settings().recovery, "no peer sees a restart");
    for seid in [first, second] {
        assert_eq!(node.session(seid), bench.node.session(seid));
    }
    bench.node = node;
    let third = bench.session(3);
    assert!(![first, second].contains(&third));
    let numbers: HashSet<u32> = bench
        .node
        .sessions()
        .flat_map(|session| session.fars.values().map(|far: &Far| far.number))
        .collect();
    assert_eq!(numbers.len(), 6, "no number is given twice");
    for length in 0..snapshot.len() {
        let _ = Node::new(settings()).restore(&snapshot[..length], &[]);
    }
}

/// Some SMFs make the downlink PDR once they know the gNB's tunnel.
#[test]
fn an_address_that_was_chosen_for_an_uplink_pdr_is_kept_over_a_restart() {
    let mut bench = Bench::associated();
    let tunnel = FTeid::Choose {
        v4: true,
        v6: false,
        id: None,
    };
    let chosen = |answer: &Sent| {
        let created = answer.elements().mandatory_group(kind::CREATED_PDR).expect("a PDR");
        let ue = created.mandatory::<crate::wire::UeAddress>(kind::UE_IP_ADDRESS);
        ue.expect("an address").addresses.v4
    };
    let first = chosen(&bench.establish(|request| write_choice(request, Some(tunnel), 0x10)));
    let saved = bench.node.save();
    bench.node = Node::new(settings());
    bench.node.restore(&saved, &[]).expect("what was saved");
    let second = chosen(&bench.establish(|request| write_choice(request, None, 0x10)));
    assert_eq!(first, Some([10, 60, 0, 1].into()));
    assert_eq!(second, Some([10, 60, 0, 2].into()));
}

#[test]
fn what_is_no_message_is_counted() {
    let mut bench = Bench::associated();
    bench.send(&[]);
    bench.send(&[0x20, 1, 0, 9, 0, 0, 0, 0]);
    bench.send(&[0x20, 99, 0, 4, 0, 0, 1, 0]);
    bench.send(&[0x20, 50, 0, 4, 0, 0, 1, 0]);
    assert_eq!(bench.node.counters().short, 2);
    assert_eq!(bench.node.counters().unknown, 2);
    bench.send(&[0x40, 5, 0, 4, 0, 0, 9, 0]);
    let (_, answer) = bench.node.next_output().expect("an answer");
    assert_eq!(answer, [0x20, 11, 0, 4, 0, 0, 9, 0]);
    bench.node.receive(
        bench.now,
        "203.0.113.1:8805".parse().expect("an address"),
        &[0x20],
        &mut bench.plane,
    );
    assert_eq!(bench.node.counters().not_allowed, 1);
    assert!(bench.sent().is_none());
}

/// TS 29.244 §7.6.3.
#[test]
fn a_request_that_is_shorter_than_it_says_is_refused() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionDeletionRequest,
        seid: Some(1),
        sequence: 900,
    };
    let mut cut = header.message(|_| {});
    cut[3] += 9;
    bench.send(&cut);
    let answer = bench.sent().expect("an answer");
    assert_eq!(answer.header.message, MessageType::SessionDeletionResponse);
    assert_eq!(answer.cause(), Cause::InvalidLength as u8);
    assert_eq!(bench.node.counters().short, 1);
}

#[test]
fn every_prefix_of_a_request_is_refused_or_counted() {
    let mut bench = Bench::associated();
    let header = Header {
        message: MessageType::SessionEstablishmentRequest,
        seid: Some(0),
        sequence: 900,
    };
    let whole = header.message(|request| {
        write_node(request);
        request.element(kind::F_SEID, |value| peer().write(value));
        write_session(request, 1);
    });
    for length in 16..whole.len() {
        let mut cut = whole[..length].to_vec();
        let said = (length - 4) as u16;
        cut[2..4].copy_from_slice(&said.to_be_bytes());
        cut[12..15].copy_from_slice(&(1000 + length as u32).to_be_bytes()[1..]);
        bench.send(&cut);
        if let Some(answer) = bench.sent() {
            assert!(answer.cause() == 1 || answer.cause() >= 64);
        }
        // A cut between two elements may leave a session that is whole.
        bench
            .node
            .end_sessions_of(&NodeId::Address([192, 0, 2, 2].into()), &mut bench.plane);
    }
    assert!(bench.plane.sessions.is_empty());
    assert!(FSeid::read(&mut Reader::new(&[0])).is_err());
}
