//! Settings and sessions as table entries.

use crate::compile::{self, Compiler, TWIN};
use crate::entry::{Action, Difference, Entries, Key, Match, Table};
use crate::plane::Plane;
use crate::rule_sets::RuleSets;
use crate::settings::Settings;
use forebay_client::ClientOptions;
use forebay_pfcp::wire::{Addresses, Cause, Elements, FSeid, FTeid, NodeId, OuterHeader, RuleId, Writer, kind};
use forebay_pfcp::{Endpoint, Session};
use forebay_protocol::Address;
use std::net::IpAddr;
use std::time::Duration;

const EXAMPLE: &str = include_str!("../../../../functions/upf/n4.toml");

fn own() -> Addresses {
    Addresses::from(IpAddr::from([192, 168, 3, 1]))
}

/// A session of these rules; its endpoints are numbered 100 and 101, FARs, QERs and URRs ten times their identifiers.
fn session(rules: impl FnOnce(&mut Writer)) -> Session {
    let mut writer = Writer::default();
    rules(&mut writer);
    let peer = FSeid {
        seid: 1,
        addresses: own(),
    };
    let mut session = Session::new(7, peer, NodeId::Address([192, 168, 4, 2].into()));
    let elements = Elements::new(writer.as_bytes()).expect("elements");
    session.apply(elements, Duration::ZERO).expect("rules");
    session.fars.values_mut().for_each(|far| far.number = 10 * far.id);
    session.qers.values_mut().for_each(|qer| qer.number = 10 * qer.id);
    session.urrs.values_mut().for_each(|urr| urr.number = 10 * urr.id);
    let endpoints: Vec<Endpoint> = session.pdrs.values().filter_map(Session::endpoint_of).collect();
    for (number, endpoint) in (100..).zip(endpoints) {
        session.endpoints.entry(endpoint).or_insert(number);
    }
    session
}

/// A PDR with FAR 1, QER 1 and URR 1.
fn pdr(writer: &mut Writer, id: u16, precedence: u32, source: u8, teid: Option<u32>, filter: Option<&str>) {
    writer.element(kind::CREATE_PDR, |pdr| {
        pdr.u16_element(kind::PDR_ID, id);
        pdr.u32_element(kind::PRECEDENCE, precedence);
        pdr.element(kind::PDI, |pdi| {
            pdi.u8_element(kind::SOURCE_INTERFACE, source);
            if let Some(teid) = teid {
                let tunnel = FTeid::Given { teid, addresses: own() };
                pdi.element(kind::F_TEID, |value| tunnel.write(value));
            }
            pdi.element(kind::UE_IP_ADDRESS, |value| value.bytes(&[2, 10, 45, 0, 2]));
            if let Some(text) = filter {
                pdi.element(kind::SDF_FILTER, |value| {
                    value.u16(0x0100);
                    value.u16(text.len() as u16);
                    value.bytes(text.as_bytes());
                });
            }
        });
        pdr.u32_element(kind::FAR_ID, 1);
        pdr.u32_element(kind::QER_ID, 1);
        pdr.u32_element(kind::URR_ID, 1);
    });
}

fn other_rules(writer: &mut Writer, tunnel: Option<OuterHeader>, gates: u8) {
    writer.element(kind::CREATE_FAR, |far| {
        far.u32_element(kind::FAR_ID, 1);
        far.u8_element(kind::APPLY_ACTION, 2);
        far.element(kind::FORWARDING_PARAMETERS, |parameters| {
            if let Some(tunnel) = tunnel {
                parameters.element(kind::OUTER_HEADER_CREATION, |value| tunnel.write(value));
            }
        });
    });
    writer.element(kind::CREATE_QER, |qer| {
        qer.u32_element(kind::QER_ID, 1);
        qer.u8_element(kind::GATE_STATUS, gates);
        qer.element(kind::MBR, |value| {
            value.u40(8);
            value.u40(80_000);
        });
        qer.u8_element(kind::QFI, 9);
    });
    writer.element(kind::CREATE_URR, |urr| {
        urr.u32_element(kind::URR_ID, 1);
        urr.u8_element(kind::MEASUREMENT_METHOD, 2);
        urr.element(kind::REPORTING_TRIGGERS, |value| value.bytes(&[0, 0]));
    });
}

fn compiled(session: &Session, sets: &mut RuleSets) -> Entries {
    for set in compile::rule_sets(session).expect("rule sets") {
        sets.acquire(&set);
    }
    let compiler = Compiler {
        tunnels_at: own(),
        rule_sets: sets,
    };
    compiler.entries(session).expect("entries")
}

fn action<'a>(entries: &'a Entries, table: Table, fields: &[u32]) -> Option<&'a Action> {
    let fields: Vec<Match> = fields.iter().map(|field| Match::exact(*field)).collect();
    entries.get(&Key::new(table, fields))
}

const UE: u32 = 0x0a2d_0002;

#[test]
fn the_example_is_read() {
    let settings = Settings::read(EXAMPLE).expect("the example is right");
    assert_eq!(settings.tunnels_at(), own());
    let entries = settings.entries().expect("entries");
    assert!(action(&entries, Table::OwnIpv4, &[0xc0a8_0301]).is_some());
    assert!(
        action(&entries, Table::OwnIpv4, &[0xc633_6401]).is_none(),
        "no tunnels end at N6"
    );
    let (first, count) = settings.pools().expect("pools").v4.expect("a pool");
    assert_eq!((first, count), ([10, 60, 0, 1].into(), 65_534));
}

#[test]
fn tunnels_end_at_addresses_for_gtp_u_alone() {
    let of_ipv6 = EXAMPLE.replace("198.51.100.1", "2001:db8:6::1");
    let count = |text: &str, table: Table| {
        let entries = Settings::read(text).expect("settings").entries().expect("entries");
        entries.keys().filter(|key| key.table == table).count()
    };
    assert_eq!((count(EXAMPLE, Table::OwnIpv4), count(EXAMPLE, Table::ArpIpv4)), (1, 2));
    assert_eq!(
        (count(&of_ipv6, Table::OwnIpv6), count(&of_ipv6, Table::NdIpv6)),
        (0, 1)
    );
    assert_eq!(
        count(&of_ipv6.replace("gtpu = false", "gtpu = true"), Table::OwnIpv6),
        1
    );
}

#[test]
fn what_is_wrong_in_settings_is_named() {
    let wrong = [
        ("next_hop = 2", "next_hop = 3", "next hop 3, which does not exist"),
        ("02:00:00:00:03:02", "02:00:00:00:03", "is no MAC address"),
        ("02:00:00:00:03:02", "+2:00:00:00:03:02", "is no MAC address"),
        ("\"192.168.4.0/24\"", "\"192.168.4.0/33\"", "n4.peers"),
        ("10.60.0.0/16", "10.60.0.0/31", "pools.v4"),
        ("mtu = 1600", "mtuu = 1600", "mtuu"),
        (
            "mtu = 1600",
            "mtu = 0",
            "next_hop.mtu: that of next hop 1 is 0; IPv4 needs at least 68",
        ),
        (
            "port = 1",
            "port = 600",
            "next_hop.port: that of next hop 1 is 600; a port is 0 to 510",
        ),
        ("number = 2", "number = 1", "next_hop: there are two with the number 1"),
    ];
    for (text, other, expected) in wrong {
        let changed = EXAMPLE.replace(text, other);
        assert_ne!(changed, EXAMPLE);
        let error = Settings::read(&changed).expect_err(other).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_session_both_ways() {
    let gnb = OuterHeader {
        teid: 0x2001,
        peer: [192, 168, 3, 2].into(),
    };
    let session = session(|writer| {
        pdr(writer, 1, 200, 0, Some(0x1001), None);
        pdr(writer, 2, 200, 1, None, None);
        other_rules(writer, Some(gnb), 0);
    });
    let entries = compiled(&session, &mut RuleSets::default());
    let uplink = action(&entries, Table::SessionsUplink, &[0x1001]);
    assert_eq!(
        uplink,
        // The UE has no IPv6 prefix: nothing may come from one.
        Some(&Action::new(
            "uplink_session",
            [100, 0, u128::from(UE), u64::MAX.into(), 0]
        ))
    );
    let forward = Action::new("forward", [10, 10, 0, 10, 0, 0, 0, 0, 0]);
    assert_eq!(action(&entries, Table::TerminationsUplink, &[100, 0]), Some(&forward));
    assert_eq!(action(&entries, Table::TerminationsDownlink, &[101, 0]), Some(&forward));
    let to_gnb = [0xc0a8_0301, 0xc0a8_0302, 0x2001, 2152, 0];
    assert_eq!(
        action(&entries, Table::Fars, &[10]),
        Some(&Action::new("to_tunnel_ipv4", to_gnb))
    );
    assert_eq!(
        action(&entries, Table::Qers, &[10]),
        Some(&Action::new("set_qer", [0, 0, 9, 0]))
    );
    assert_eq!(
        action(&entries, Table::UplinkRates, &[10]),
        Some(&Action::new("rate", [1000, 3200]))
    );
    assert_eq!(
        action(&entries, Table::DownlinkRates, &[10]),
        Some(&Action::new("rate", [10_000_000, 1_000_000]))
    );
    assert_eq!(entries.len(), 8);
}

#[test]
fn a_pdr_0_with_filters_does_not_find_all_packets() {
    let session = session(|writer| {
        pdr(
            writer,
            0,
            100,
            0,
            Some(0x1001),
            Some("permit out 17 from any to assigned"),
        );
        pdr(writer, 1, 200, 0, Some(0x1001), None);
        other_rules(writer, None, 0);
        writer.element(kind::CREATE_QER, |qer| {
            qer.u32_element(kind::QER_ID, 2);
            qer.u8_element(kind::GATE_STATUS, 0);
        });
        writer.element(kind::UPDATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, 1);
            pdr.u32_element(kind::QER_ID, 1);
            pdr.u32_element(kind::QER_ID, 2);
        });
    });
    let mut sets = RuleSets::default();
    let entries = compiled(&session, &mut sets);
    let of_all = Action::new("forward", [10, 10, 20, 10, 0, 0, 0, 0, 0]);
    assert_eq!(action(&entries, Table::TerminationsUplink, &[100, 0]), Some(&of_all));
    let of_udp = Action::new("forward", [10, 10, 0, 10, 0, 0, 0, 0, 0]);
    assert_eq!(
        action(&entries, Table::TerminationsUplink, &[100, 0xffff]),
        Some(&of_udp)
    );
    assert!(sets.entries().values().all(|action| action.values == [0xffff_u128]));
    let found = |application| compile::pdr_of(&session, Endpoint::Tunnel(0x1001), application).map(|pdr| pdr.id);
    assert_eq!((found(0), found(0xffff)), (Some(1), Some(0)));
}

#[test]
fn packets_to_the_access_side_without_a_tunnel_are_dropped() {
    let session = session(|writer| {
        pdr(writer, 2, 200, 1, None, None);
        other_rules(writer, None, 0);
        writer.element(kind::UPDATE_FAR, |far| {
            far.u32_element(kind::FAR_ID, 1);
            far.element(kind::UPDATE_FORWARDING_PARAMETERS, |parameters| {
                parameters.u8_element(kind::DESTINATION_INTERFACE, 0);
            });
        });
    });
    let entries = compiled(&session, &mut RuleSets::default());
    let dropped = Action::new("drop_packet", []);
    assert_eq!(action(&entries, Table::Fars, &[10]), Some(&dropped));
}

/// Some SMFs write the QFI 0 into the QER of the session.
#[test]
fn a_qer_with_the_qfi_0_is_that_of_the_session() {
    let session = session(|writer| {
        pdr(writer, 1, 200, 0, Some(0x1001), None);
        other_rules(writer, None, 0);
        writer.element(kind::CREATE_QER, |qer| {
            qer.u32_element(kind::QER_ID, 2);
            qer.u8_element(kind::GATE_STATUS, 0);
            qer.u8_element(kind::QFI, 0);
        });
        writer.element(kind::UPDATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, 1);
            pdr.u32_element(kind::QER_ID, 2);
            pdr.u32_element(kind::QER_ID, 1);
        });
    });
    let entries = compiled(&session, &mut RuleSets::default());
    let forward = Action::new("forward", [10, 10, 20, 10, 0, 0, 0, 0, 0]);
    assert_eq!(action(&entries, Table::TerminationsUplink, &[100, 0]), Some(&forward));
}

/// Open5GS's SMF has one for router solicitations in each session, and one for each QoS flow.
#[test]
fn a_pdr_without_the_ue_does_not_end_the_check_of_sources() {
    let nameless = |writer: &mut Writer, id: u16, filter: &str| {
        writer.element(kind::CREATE_PDR, |pdr| {
            pdr.u16_element(kind::PDR_ID, id);
            pdr.u32_element(kind::PRECEDENCE, 100);
            pdr.element(kind::PDI, |pdi| {
                pdi.u8_element(kind::SOURCE_INTERFACE, 0);
                let tunnel = FTeid::Given {
                    teid: 0x1001,
                    addresses: own(),
                };
                pdi.element(kind::F_TEID, |value| tunnel.write(value));
                pdi.element(kind::SDF_FILTER, |value| {
                    value.u16(0x0100);
                    value.u16(filter.len() as u16);
                    value.bytes(filter.as_bytes());
                });
            });
            pdr.u32_element(kind::FAR_ID, 1);
        });
    };
    let sources = |named_at: Option<Endpoint>, destination: u8| {
        let session = session(|writer| {
            match named_at {
                Some(Endpoint::Tunnel(teid)) => pdr(writer, 1, 200, 0, Some(teid), None),
                Some(Endpoint::Network) => pdr(writer, 1, 200, 1, None, None),
                None => {}
            }
            nameless(writer, 3, "permit out 58 from ff02::2/128 to assigned");
            nameless(writer, 4, "permit out 17 from 198.51.100.0/24 to assigned");
            other_rules(writer, None, 0);
            writer.element(kind::UPDATE_FAR, |far| {
                far.u32_element(kind::FAR_ID, 1);
                far.element(kind::UPDATE_FORWARDING_PARAMETERS, |parameters| {
                    parameters.u8_element(kind::DESTINATION_INTERFACE, destination);
                });
            });
        });
        let entries = compiled(&session, &mut RuleSets::default());
        let uplink = action(&entries, Table::SessionsUplink, &[0x1001]).expect("a session");
        uplink.values[2..4].to_vec()
    };
    let of_ue = [u128::from(UE), u64::MAX.into()];
    assert_eq!(sources(Some(Endpoint::Tunnel(0x1001)), 1), of_ue);
    assert_eq!(
        sources(Some(Endpoint::Network), 1),
        of_ue,
        "named by the PDR of the network"
    );
    assert_eq!(sources(Some(Endpoint::Network), 0), [0, 0], "forwarded to another gNB");
    assert_eq!(sources(None, 1), [0, 0]);
}

#[test]
fn a_ue_that_is_the_destination_is_no_source() {
    let source = |is_destination: bool| {
        let mut session = session(|writer| {
            pdr(writer, 1, 200, 0, Some(0x1001), None);
            other_rules(writer, None, 0);
        });
        let ue = session.pdrs.values_mut().find_map(|pdr| pdr.pdi.ue.as_mut());
        ue.expect("a UE").is_destination = is_destination;
        let entries = compiled(&session, &mut RuleSets::default());
        let uplink = action(&entries, Table::SessionsUplink, &[0x1001]).expect("a session");
        uplink.values[2]
    };
    assert_eq!([source(false), source(true)], [u128::from(UE), 0]);
}

/// free5GC's SMF sends three or four URRs for a PDR.
#[test]
fn a_pdr_has_up_to_four_urrs() {
    let with_urrs = |urrs: &[u32]| {
        session(|writer| {
            pdr(writer, 1, 200, 0, Some(0x1001), None);
            other_rules(writer, None, 0);
            for id in 2..=5 {
                writer.element(kind::CREATE_URR, |urr| {
                    urr.u32_element(kind::URR_ID, id);
                    urr.u8_element(kind::MEASUREMENT_METHOD, 2);
                    urr.element(kind::REPORTING_TRIGGERS, |value| value.bytes(&[0, 0]));
                });
            }
            writer.element(kind::UPDATE_PDR, |pdr| {
                pdr.u16_element(kind::PDR_ID, 1);
                for id in urrs {
                    pdr.u32_element(kind::URR_ID, *id);
                }
            });
        })
    };
    // One that is named twice counts once.
    let entries = compiled(&with_urrs(&[2, 4, 2, 1, 3]), &mut RuleSets::default());
    let forward = Action::new("forward", [10, 10, 0, 20, 40, 10, 30, 0, 0]);
    assert_eq!(action(&entries, Table::TerminationsUplink, &[100, 0]), Some(&forward));
    let sets = RuleSets::default();
    let compiler = Compiler {
        tunnels_at: own(),
        rule_sets: &sets,
    };
    let refusal = compiler.entries(&with_urrs(&[1, 2, 3, 4, 5])).expect_err("five URRs");
    assert_eq!(
        (refusal.cause, refusal.rule),
        (Cause::RuleFailure, Some(RuleId::Pdr(1)))
    );
    assert_eq!(refusal.why, "a PDR has at most two QERs and four URRs");
}

/// free5GC's SMF names one URR before QoS and one after it for each PDR.
#[test]
fn urrs_before_qos_count_what_qers_drop() {
    let session = session(|writer| {
        pdr(writer, 1, 200, 0, Some(0x1001), None);
        pdr(writer, 2, 200, 1, None, None);
        other_rules(writer, None, 0);
        writer.element(kind::CREATE_URR, |urr| {
            urr.u32_element(kind::URR_ID, 2);
            urr.u8_element(kind::MEASUREMENT_METHOD, 2);
            urr.element(kind::REPORTING_TRIGGERS, |value| value.bytes(&[0, 0]));
            urr.u8_element(kind::MEASUREMENT_INFORMATION, 1);
        });
        writer.element(kind::CREATE_QER, |qer| {
            qer.u32_element(kind::QER_ID, 2);
            // Closed for uplink.
            qer.u8_element(kind::GATE_STATUS, 0b0100);
        });
        for id in [1, 2] {
            writer.element(kind::UPDATE_PDR, |pdr| {
                pdr.u16_element(kind::PDR_ID, id);
                for rule in [1, 2] {
                    pdr.u32_element(kind::QER_ID, rule);
                    pdr.u32_element(kind::URR_ID, rule);
                }
            });
        }
    });
    let entries = compiled(&session, &mut RuleSets::default());
    let uplink = Action::new("forward", [10, 10, 20, 10, 20, 0, 0, 0b10, 1]);
    assert_eq!(action(&entries, Table::TerminationsUplink, &[100, 0]), Some(&uplink));
    let downlink = Action::new("forward", [10, 10, 20, 10, 20, 0, 0, 0b10, 0]);
    assert_eq!(
        action(&entries, Table::TerminationsDownlink, &[101, 0]),
        Some(&downlink)
    );
}

#[test]
fn filters_are_shared_and_a_rule_for_everything_ends_the_order() {
    let make = || {
        session(|writer| {
            pdr(writer, 1, 200, 1, None, None);
            pdr(
                writer,
                2,
                100,
                1,
                None,
                Some("permit out 17 from 203.0.113.0/24 53,60-69 to assigned 4000"),
            );
            pdr(writer, 3, 300, 1, None, Some("permit out ip from any to assigned"));
            other_rules(writer, None, 0);
        })
    };
    let mut sets = RuleSets::default();
    let entries = compiled(&make(), &mut sets);
    let terminations = entries
        .keys()
        .filter(|key| key.table == Table::TerminationsDownlink)
        .count();
    assert_eq!(terminations, 3);
    compiled(&make(), &mut sets);
    let applications = sets.entries();
    let keys: Vec<&Key> = applications.keys().collect();
    assert_eq!(
        keys.len(),
        2,
        "two ranges of PDR 2; PDR 3 comes after the one for everything"
    );
    assert!(keys.iter().all(|key| key.table == Table::ApplicationsIpv4));
    assert_eq!(keys[0].fields[1], Match::Ternary(0xcb00_7100, 0xffff_ff00));
    assert_eq!(keys[0].fields[3], Match::Range(53, 53));
    for set in compile::rule_sets(&make()).expect("rule sets") {
        assert!(!sets.is_last_use(&set));
        sets.release(&set);
        assert!(sets.is_last_use(&set));
    }
}

#[test]
fn what_comes_by_n9_or_from_the_smf_is_counted_and_limited_the_other_way_round() {
    for source in [1, 3] {
        let session = session(|writer| {
            pdr(writer, 1, 200, source, Some(0x3001), None);
            other_rules(writer, None, 0b01);
        });
        is_turned_round(&session);
    }
}

fn is_turned_round(session: &Session) {
    let entries = compiled(session, &mut RuleSets::default());
    // The gate of downlink is closed, which the program takes for uplink here.
    let qer = action(&entries, Table::Qers, &[10 + TWIN]);
    assert_eq!(qer, Some(&Action::new("set_qer", [1, 0, 9, 0])));
    assert_eq!(
        action(&entries, Table::UplinkRates, &[10 + TWIN]).map(|rate| rate.values[0]),
        Some(10_000_000)
    );
    let forward = action(&entries, Table::TerminationsUplink, &[100, 0]).expect("a rule");
    assert_eq!(forward.values[3], u128::from(10 + TWIN));
    let uplink = action(&entries, Table::SessionsUplink, &[0x3001]).expect("a session");
    assert_eq!(uplink.values[2..], [0_u128, 0, 1], "the UE is the destination");
}

#[test]
fn a_range_of_all_ports_is_no_range() {
    let session = session(|writer| {
        let filter = "permit out 17 from any 0-65535 to assigned 1-65535";
        pdr(writer, 2, 100, 1, None, Some(filter));
        other_rules(writer, None, 0);
    });
    let mut sets = RuleSets::default();
    compiled(&session, &mut sets);
    let applications = sets.entries();
    assert_eq!(applications.len(), 2, "one for each family");
    for key in applications.keys() {
        assert_eq!(key.fields[3..5], [Match::Any, Match::Range(1, 65_535)]);
    }
}

/// The last usage of a URR is read when the rules of its session have gone.
#[test]
fn what_came_by_n9_counts_as_long_as_its_urr_exists() {
    let session = session(|writer| {
        pdr(writer, 1, 200, 1, Some(0x3001), None);
        other_rules(writer, None, 0);
    });
    let options = ClientOptions {
        address: Address::loopback(1),
        device_id: 1,
        role: String::new(),
        election_id: None,
        tls: None,
    };
    let mut plane = Plane::new(options, own());
    assert_eq!(plane.new_seconds(&[10], Some(&session)), [10 + TWIN]);
    assert_eq!(
        plane.new_seconds(&[], Some(&session)),
        [10 + TWIN],
        "its first PDR of N9"
    );
    plane.note(&session);
    plane.forget(&session);
    assert!(plane.twins.contains(&10));
    assert!(plane.new_seconds(&[], Some(&session)).is_empty());
    assert_eq!(plane.new_seconds(&[10], Some(&session)), [10 + TWIN], "another URR");
}

#[test]
fn end_markers_of_another_upf_go_on_where_its_packets_go() {
    let gnb = OuterHeader {
        teid: 0x2001,
        peer: [192, 168, 3, 2].into(),
    };
    let with_action = |action| {
        session(|writer| {
            let filter = Some("permit out 17 from any to assigned");
            pdr(writer, 1, 200, 1, Some(0x3001), None);
            pdr(writer, 2, 100, 1, Some(0x3001), filter);
            other_rules(writer, Some(gnb), 0);
            writer.element(kind::UPDATE_FAR, |far| {
                far.u32_element(kind::FAR_ID, 1);
                far.u8_element(kind::APPLY_ACTION, action);
            });
        })
    };
    let (forwards, buffers) = (with_action(2), with_action(4));
    assert_eq!(compile::tunnels_behind(&forwards, Endpoint::Tunnel(0x3001)), [gnb]);
    assert!(compile::tunnels_behind(&forwards, Endpoint::Network).is_empty());
    assert!(compile::tunnels_behind(&buffers, Endpoint::Tunnel(0x3001)).is_empty());
}

#[test]
fn a_switch_that_says_nothing_does_not_hold_the_agent_up() {
    // The kernel accepts for a host whose programs do not answer.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let options = ClientOptions {
        address: Address::loopback(silent.local_addr().expect("bound").port()),
        device_id: 1,
        role: String::new(),
        election_id: None,
        tls: None,
    };
    let mut plane = Plane::new(options, own());
    let begin = std::time::Instant::now();
    for _ in 0..3 {
        let connected = plane.connect_beside(&Entries::new(), std::iter::empty::<&Session>());
        assert!(matches!(connected, Ok(None)), "under way: {connected:?}");
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_differs_is_written_and_the_rest_is_left() {
    let (key, other) = (
        Key::new(Table::Fars, [Match::exact(1u32)]),
        Key::new(Table::Qers, [Match::exact(1u32)]),
    );
    let before = Entries::from([
        (key.clone(), Action::new("to_core", [])),
        (other.clone(), Action::new("set_qer", [0])),
    ]);
    let after = Entries::from([(key.clone(), Action::new("buffer", []))]);
    let difference = Difference::between(&before, &after);
    assert_eq!(difference.modified, [(key, Action::new("buffer", []))]);
    assert_eq!((difference.inserted.len(), difference.deleted), (0, vec![other]));
    assert_eq!(Difference::between(&after, &after), Difference::default());
}
