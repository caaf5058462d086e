//! Sessions and their rules.

use super::*;

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

/// A PDR of a QoS flow as some SMFs write it: without the address of the UE.
fn write_flow_pdr(request: &mut Writer, (id, source): (u16, u8), tunnel: Option<FTeid>, filter: &[u8]) {
    request.element(kind::CREATE_PDR, |pdr| {
        pdr.u16_element(kind::PDR_ID, id);
        pdr.u32_element(kind::PRECEDENCE, 10);
        pdr.element(kind::PDI, |pdi| {
            pdi.u8_element(kind::SOURCE_INTERFACE, source);
            if let Some(tunnel) = tunnel {
                pdi.element(kind::F_TEID, |value| tunnel.write(value));
            }
            pdi.element(kind::SDF_FILTER, |value| value.bytes(filter));
        });
        pdr.u32_element(kind::FAR_ID, 1);
    });
}

/// An SDF filter with a description.
fn described(text: &str) -> Vec<u8> {
    let mut filter = vec![1, 0];
    filter.extend((text.len() as u16).to_be_bytes());
    filter.extend(text.as_bytes());
    filter
}

#[test]
fn a_downlink_pdr_without_an_address_has_that_of_the_session() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let to_ue = described("permit out 17 from 198.51.100.7 5000 to 10.45.0.1 6000");
    let answer = bench.modify(seid, |request| write_flow_pdr(request, (3, 1), None, &to_ue));
    assert_eq!(answer.cause(), 1);
    let session = bench.node.session(seid).expect("a session");
    let order = session.pdrs_of(crate::Endpoint::Network);
    let order: Vec<u16> = order.iter().map(|pdr| pdr.id).collect();
    assert_eq!(order, [3, 2]);
    let mut restarted = Node::new(settings());
    restarted.restore(&bench.node.save(), &[]).expect("what was saved");
    assert_eq!(restarted.session(seid), Some(session));
    let answer = bench.establish(|request| {
        let to_any = described("permit out ip from any to assigned");
        write_flow_pdr(request, (1, 1), None, &to_any);
        write_far(request, 1, 2, None);
    });
    assert_eq!(answer.cause(), Cause::ConditionalIeMissing as u8);
}

/// The PDR of another QoS flow comes later: its packets come in the tunnel that the gNB knows.
#[test]
fn pdrs_with_the_same_choose_id_have_the_same_tunnel_in_later_requests() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let saved = bench.node.save();
    bench.node = Node::new(settings());
    bench.node.restore(&saved, &[]).expect("what was saved");
    let choose = |id| {
        Some(FTeid::Choose {
            v4: true,
            v6: true,
            id: Some(id),
        })
    };
    let filter = described("permit out ip from any to assigned");
    let mut created = |pdr: (u16, u8), id: u8| {
        let answer = bench.modify(seid, |request| write_flow_pdr(request, pdr, choose(id), &filter));
        let created = answer.elements().mandatory_group(kind::CREATED_PDR).expect("a PDR");
        Some(created.mandatory::<FTeid>(kind::F_TEID).expect("a tunnel"))
    };
    let (same, other, of_core) = (created((3, 0), 1), created((4, 0), 2), created((5, 1), 1));
    let known = bench.node.session(seid).expect("a session").pdrs[&1].pdi.tunnel;
    assert_eq!(same, known);
    assert!(other != known && of_core != known && of_core != other);
}

#[test]
fn a_filter_for_both_directions_is_described_once() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let number = 7u32.to_be_bytes();
    let mut whole = described("permit out 17 from 198.51.100.7 5000 to 10.45.0.1 6000");
    whole[0] |= 16;
    whole.extend(number);
    let by_number = [&[16u8, 0][..], &number].concat();
    let tunnel = Some(FTeid::Choose {
        v4: true,
        v6: false,
        id: Some(1),
    });
    let answer = bench.modify(seid, |request| {
        write_flow_pdr(request, (3, 0), tunnel, &by_number);
        write_flow_pdr(request, (4, 1), None, &whole);
    });
    assert_eq!(answer.cause(), 1);
    let saved = bench.node.save();
    bench.node = Node::new(settings());
    bench.node.restore(&saved, &[]).expect("what was saved");
    let answer = bench.modify(seid, |request| write_flow_pdr(request, (5, 0), tunnel, &by_number));
    assert_eq!(answer.cause(), 1);
    let pdrs = &bench.node.session(seid).expect("a session").pdrs;
    let filters = &pdrs[&4].pdi.filters;
    assert_eq!(filters[0].local_ports, [(6000, 6000)]);
    assert!([3u16, 5].iter().all(|id| pdrs[id].pdi.filters == *filters));
    let unknown = [16u8, 0, 0, 0, 0, 8];
    let answer = bench.modify(seid, |request| write_flow_pdr(request, (6, 0), tunnel, &unknown));
    assert_eq!(answer.cause(), Cause::RuleFailure as u8);
}

/// Some SMFs write no more than source interface and filters of a PDR whose filters change.
#[test]
fn a_pdr_that_gets_other_filters_keeps_tunnel_and_address() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    let before = bench.node.session(seid).expect("a session").pdrs.clone();
    let filter = described("permit out 17 from any to assigned");
    let answer = bench.modify(seid, |request| {
        for (id, source) in [(1, 0), (2, 1)] {
            request.element(kind::UPDATE_PDR, |pdr| {
                pdr.u16_element(kind::PDR_ID, id);
                pdr.element(kind::PDI, |pdi| {
                    pdi.u8_element(kind::SOURCE_INTERFACE, source);
                    pdi.element(kind::SDF_FILTER, |value| value.bytes(&filter));
                });
            });
        }
    });
    assert_eq!(answer.cause(), 1);
    for (id, pdr) in &bench.node.session(seid).expect("a session").pdrs {
        assert_eq!(pdr.pdi.filters.len(), 1);
        assert_eq!((pdr.pdi.tunnel, pdr.pdi.ue), (before[id].pdi.tunnel, before[id].pdi.ue));
    }
}

#[test]
fn a_session_is_deleted_also_while_the_switch_is_away() {
    let mut bench = Bench::associated();
    let seid = bench.session(1);
    bench.plane.refuses = true;
    bench.plane.is_unreadable = true;
    let answer = bench.ask(MessageType::SessionDeletionRequest, Some(seid), |_| {});
    assert_eq!(answer.cause(), 1);
    assert_eq!(bench.plane.dropped, [seid]);
    bench.plane = FakePlane::default();
    bench.session(1);
}
