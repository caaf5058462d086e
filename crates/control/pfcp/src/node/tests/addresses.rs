//! Addresses of UEs.

use super::*;

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
