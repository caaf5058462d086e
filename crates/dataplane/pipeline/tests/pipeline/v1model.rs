//! What v1model does between and after the controls.

use crate::common::{Blocks, enqueued, transmitted};
use forebay_pipeline::{
    CloneSession, DropReason, EgressDecision, EgressPacket, Event, IngressDecision, InstanceType, Options, Replica,
    Tracer,
};

fn session(replicas: &[(u32, u16)]) -> CloneSession {
    CloneSession {
        replicas: replicas
            .iter()
            .map(|&(egress_port, instance)| Replica { egress_port, instance })
            .collect(),
        ..CloneSession::default()
    }
}

#[test]
fn unicast_keeps_the_payload() {
    let mut switch = Blocks {
        ingress: "h.a = 8w0x99\nsm.egress_spec = 9w0x7\nreturn",
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[1, 2, 3, 4]), [(7, vec![0x99, 2, 3, 4])]);
}

#[test]
fn ingress_sees_its_arguments() {
    let ingress = "added.$valid$ = 1w0x1\nadded.x = sm.ingress_global_timestamp ++ 16w0x0\n\
        h.a = sm.ingress_port[7:0]\nh.b = sm.packet_length[7:0]\nreturn";
    let mut switch = Blocks {
        ingress,
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[1, 2, 3]), [(0, vec![0, 0, 0, 0, 0, 100, 0, 0, 3, 3, 3])]);
}

#[test]
fn egress_sees_its_arguments() {
    let egress = "added.$valid$ = 1w0x1\n\
        added.x = sm.enq_timestamp[7:0] ++ (sm.enq_qdepth[7:0] ++ (sm.deq_timedelta[7:0] ++ (sm.deq_qdepth[7:0] ++ \
        (sm.egress_global_timestamp[7:0] ++ (sm.egress_port[7:0] ++ (sm.egress_spec[7:0] ++ sm.packet_length[7:0]))))))\nreturn";
    let mut switch = Blocks {
        egress,
        ..Blocks::default()
    }
    .load();
    // egress_spec is 512 modulo 2^9.
    assert_eq!(switch.send(&[1, 2]), [(1, vec![110, 4, 20, 2, 130, 1, 0, 2, 1, 2])]);
}

#[test]
fn packet_length_counts_headers_that_ingress_added() {
    let ingress = "added.$valid$ = 1w0x1\nh.$valid$ = 1w0x0\nsm.egress_spec = 9w0x1\nreturn";
    let mut switch = Blocks {
        ingress,
        egress: "added.x = zext(64, sm.packet_length)\nreturn",
        ..Blocks::default()
    }
    .load();
    let queued = enqueued(switch.receive(&[1, 2, 3]).remove(0)).expect("a packet");
    assert_eq!(queued.length(), 3 + 8 - 2);
    let left = switch.egress(queued).into_iter().find_map(transmitted);
    assert_eq!(left, Some((1, vec![0, 0, 0, 0, 0, 0, 0, 9, 3])));
}

#[test]
fn parser_error_runs_ingress() {
    let ingress = "added.$valid$ = 1w0x1\nadded.x = zext(64, sm.parser_error)\nsm.egress_spec = 9w0x1\nreturn";
    let mut switch = Blocks {
        ingress,
        ..Blocks::default()
    }
    .load();
    assert_eq!(
        switch.send(&[9]),
        [(1, vec![0, 0, 0, 0, 0, 0, 0, 1, 9])],
        "PacketTooShort, and the byte is payload"
    );
}

#[test]
fn checksum_error_is_seen_by_ingress() {
    let verify = "verify_checksum csum16 {h.a, h.b} == (16w0xfdfc) if (h.$valid$)\nreturn";
    let ingress = "h.a = zext(8, sm.checksum_error)\nreturn";
    let mut switch = Blocks {
        verify,
        ingress,
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[2, 3]), [(0, vec![0, 3])]);
    assert_eq!(switch.send(&[2, 4]), [(0, vec![1, 4])]);
}

#[test]
fn drop_in_ingress_and_in_egress() {
    let mut switch = Blocks {
        ingress: "sm.egress_spec = 9w0x1ff\nreturn",
        ..Blocks::default()
    }
    .load();
    assert!(matches!(
        switch.receive(&[1, 2])[..],
        [IngressDecision::Drop(DropReason::IngressDrop)]
    ));
    assert_eq!(switch.pipeline.drops().nonzero(), [(DropReason::IngressDrop, 1)]);
    let mut switch = Blocks {
        egress: "sm.egress_spec = 9w0x1ff\nreturn",
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[1, 2]), []);
    assert_eq!(switch.pipeline.drops().get(DropReason::EgressDrop), 1);
}

#[test]
fn multicast_makes_a_copy_for_each_member() {
    let ingress = "kept = 16w0x5\nsm.mcast_grp = 16w0x7\nsm.egress_spec = 9w0x1ff\nreturn";
    let egress = "h.a = sm.egress_rid[7:0]\nh.b = (sm.instance_type[3:0] ++ kept[3:0])\nreturn";
    let mut switch = Blocks {
        ingress,
        egress,
        ..Blocks::default()
    }
    .load();
    assert!(matches!(
        switch.receive(&[1, 2])[..],
        [IngressDecision::Drop(DropReason::NoMulticastMember)]
    ));
    let members = [(4, 10), (5, 11), (4, 12)].map(|(egress_port, instance)| Replica { egress_port, instance });
    switch.pipeline.set_multicast_group(7, &members).unwrap();
    let expected = [(4, vec![10, 0x55, 9]), (5, vec![11, 0x55, 9]), (4, vec![12, 0x55, 9])];
    assert_eq!(switch.send(&[1, 2, 9]), expected, "multicast comes before drop");
}

#[test]
fn clone_from_ingress_is_the_packet_that_came() {
    let ingress = "kept = 16w0x5\nlost = 16w0x6\nh.a = 8w0xff\nclone i2e(32w0x9, 8w0x1)\nkept = 16w0x7\n\
        sm.egress_spec = 9w0x1ff\nreturn";
    let egress = "h.b = (sm.instance_type[3:0] ++ kept[3:0]) + lost[7:0]\nadded.$valid$ = 1w0x1\nadded.x = zext(64, sm.ingress_port)\nreturn";
    let mut switch = Blocks {
        ingress,
        egress,
        ..Blocks::default()
    }
    .load();
    assert!(matches!(
        switch.receive(&[1, 2])[..],
        [IngressDecision::Drop(DropReason::IngressDrop)]
    ));
    assert_eq!(switch.pipeline.drops().get(DropReason::NoCloneSession), 1);
    switch.pipeline.set_clone_session(9, CloneSession::to_port(6)).unwrap();
    let expected = [(6, vec![0, 0, 0, 0, 0, 0, 0, 0, 1, 0x17, 3])];
    assert_eq!(
        switch.send(&[1, 2, 3]),
        expected,
        "final value of `kept`, no `lost`, no ingress port, headers as they came"
    );
}

#[test]
fn clones_come_first_and_take_all_replicas() {
    let ingress = "clone i2e(32w0x9)\ndigest(d, h.a)\nsm.egress_spec = 9w0x2\nreturn";
    let mut switch = Blocks {
        ingress,
        ..Blocks::default()
    }
    .load();
    switch
        .pipeline
        .set_clone_session(9, session(&[(6, 1), (7, 2)]))
        .unwrap();
    let decisions = switch.receive(&[1, 2, 3]);
    let [
        IngressDecision::Enqueue(first),
        IngressDecision::Enqueue(second),
        IngressDecision::Digest(digest),
        IngressDecision::Enqueue(packet),
    ] = &decisions[..]
    else {
        panic!("{decisions:?}")
    };
    assert_eq!([first.egress_port, second.egress_port, packet.egress_port], [6, 7, 2]);
    assert_eq!(first.instance_type(), InstanceType::IngressClone);
    assert_eq!(packet.instance_type(), InstanceType::Normal);
    assert_eq!(digest.values, [crate::common::bits(8, 1)]);
}

#[test]
fn a_session_may_truncate() {
    let mut switch = Blocks {
        ingress: "clone i2e(32w0x9)\nsm.egress_spec = 9w0x1ff\nreturn",
        ..Blocks::default()
    }
    .load();
    let truncating = CloneSession {
        packet_length_bytes: Some(3),
        ..CloneSession::to_port(6)
    };
    switch.pipeline.set_clone_session(9, truncating).unwrap();
    assert_eq!(switch.send(&[1, 2, 3, 4, 5]), [(6, vec![1, 2, 3])]);
}

/// The class of service of a session is the priority of its clones, and so their queue.
#[test]
fn a_session_may_have_a_class_of_service() {
    for (class, expected) in [(5, 5), (0, 0)] {
        let mut switch = Blocks {
            ingress: "sm.priority = 3w0x2\nclone i2e(32w0x9)\nsm.egress_spec = 9w0x1ff\nreturn",
            egress: "h.a = 5w0x0 ++ sm.priority\nclone e2e(32w0x8)\nreturn",
            ..Blocks::default()
        }
        .load();
        let classed = |class_of_service| CloneSession {
            class_of_service,
            ..CloneSession::to_port(6)
        };
        switch.pipeline.set_clone_session(9, classed(class)).unwrap();
        switch.pipeline.set_clone_session(8, classed(7)).unwrap();
        let clone = switch.receive(&[1, 2]).into_iter().find_map(enqueued).unwrap();
        assert_eq!(clone.priority, expected);
        let decisions = switch.egress(clone);
        let again = decisions.iter().find_map(|decision| match decision {
            EgressDecision::Enqueue(packet) => Some(packet.priority),
            _ => None,
        });
        assert_eq!(again, Some(7));
        let sent = decisions.into_iter().find_map(transmitted);
        assert_eq!(sent, Some((6, vec![expected, 2])));
    }
}

#[test]
fn resubmit_begins_again_with_the_packet_that_came() {
    let parser = "extract h\nreturn";
    let ingress = "branch sm.instance_type == 32w0x6, block2, block1\n\
        block1:\nkept = 16w0x5\nlost = 16w0x6\nh.a = 8w0xff\nresubmit(8w0x1)\nsm.mcast_grp = 16w0x7\nreturn\n\
        block2:\nh.b = kept[7:0] + lost[7:0]\nsm.egress_spec = sm.ingress_port\nreturn";
    let mut switch = Blocks {
        parser,
        ingress,
        ..Blocks::default()
    }
    .load();
    let mut decisions = switch.receive(&[1, 2, 3]);
    let Some(IngressDecision::Resubmit(again)) = decisions.pop() else {
        panic!("resubmit comes before multicast")
    };
    assert_eq!(
        (&again.bytes[..], again.instance_type()),
        (&[1, 2, 3][..], InstanceType::Resubmitted)
    );
    let queued = switch.ingress(again).into_iter().find_map(enqueued).expect("a packet");
    let left = switch.egress(queued).into_iter().find_map(transmitted);
    assert_eq!(left, Some((3, vec![1, 5, 3])));
}

#[test]
fn resubmission_is_limited() {
    let options = Options {
        resubmit_limit: 2,
        ..Options::default()
    };
    let mut switch = Blocks {
        ingress: "resubmit()\nreturn",
        ..Blocks::default()
    }
    .load_with(options);
    let mut decisions = switch.receive(&[1, 2]);
    for _ in 0..2 {
        let Some(IngressDecision::Resubmit(again)) = decisions.pop() else {
            panic!("{decisions:?}")
        };
        decisions = switch.ingress(again);
    }
    assert!(matches!(
        decisions[..],
        [IngressDecision::Drop(DropReason::ResubmitLimit)]
    ));
}

#[test]
fn clone_from_egress_has_the_headers_of_egress() {
    let ingress = "kept = 16w0x5\nlost = 16w0x6\nsm.egress_spec = 9w0x1\nreturn";
    let egress = "branch sm.instance_type == 32w0x2, block2, block1\n\
        block1:\nh.a = 8w0xaa\nclone e2e(32w0x9, 8w0x1)\nsm.egress_spec = 9w0x1ff\nreturn\n\
        block2:\nh.b = (sm.egress_port[3:0] ++ kept[3:0]) + lost[7:0]\nreturn";
    let mut switch = Blocks {
        ingress,
        egress,
        ..Blocks::default()
    }
    .load();
    switch.pipeline.set_clone_session(9, CloneSession::to_port(6)).unwrap();
    let queued = switch
        .receive(&[1, 2, 3])
        .into_iter()
        .find_map(enqueued)
        .expect("a packet");
    let mut decisions = switch.egress(queued);
    assert!(
        matches!(decisions[1], EgressDecision::Drop(DropReason::EgressDrop)),
        "the clone survives the drop"
    );
    let EgressDecision::Enqueue(clone) = decisions.remove(0) else {
        panic!("{decisions:?}")
    };
    assert_eq!(
        (clone.egress_port, clone.instance_type()),
        (6, InstanceType::EgressClone)
    );
    let left = switch.egress(clone).into_iter().find_map(transmitted);
    assert_eq!(left, Some((6, vec![0xAA, 0x65, 3])));
}

#[test]
fn clones_of_clones_are_limited() {
    assert_eq!(left_of_endless_clones(CloneSession::to_port(6), 3), (4, 1));
}

/// The limit is one for the whole tree: three copies of the first clone leave (20 - 3) / 3 to each, and that is (5 - 3) / 3 to
/// each of theirs.
#[test]
fn clones_of_clones_that_are_made_several_times_are_limited_together() {
    let three = session(&[(4, 0), (5, 0), (6, 0)]);
    assert_eq!(left_of_endless_clones(three, 20), (1 + 3 + 9, 9));
}

/// Where egress clones every packet: packets that leave, and clones that are not made.
fn left_of_endless_clones(session: CloneSession, clone_limit: u32) -> (usize, u64) {
    let options = Options {
        clone_limit,
        ..Options::default()
    };
    let mut switch = Blocks {
        egress: "clone e2e(32w0x9)\nreturn",
        ..Blocks::default()
    }
    .load_with(options);
    switch.pipeline.set_clone_session(9, session).unwrap();
    let mut waiting: Vec<_> = switch.receive(&[1, 2]).into_iter().filter_map(enqueued).collect();
    let mut left = 0;
    while let Some(packet) = waiting.pop() {
        for decision in switch.egress(packet) {
            match decision {
                EgressDecision::Enqueue(clone) => waiting.push(clone),
                EgressDecision::Transmit(_) => left += 1,
                other => panic!("{other:?}"),
            }
        }
    }
    (left, switch.pipeline.drops().get(DropReason::CloneLimit))
}

#[test]
fn recirculation_takes_the_deparsed_packet() {
    let ingress = "branch sm.instance_type == 32w0x4, block2, block1\n\
        block1:\nkept = 16w0x5\nlost = 16w0x6\nadded.$valid$ = 1w0x1\nadded.x = 64w0x0102030405060708\nsm.egress_spec = 9w0x1\nreturn\n\
        block2:\nh.b = h.b + (kept[7:0] + lost[7:0])\nsm.egress_spec = sm.packet_length[8:0]\nreturn";
    let egress = "branch added.$valid$, block1, block2\nblock1:\nrecirculate(8w0x1)\nreturn\nblock2:\nreturn";
    let mut switch = Blocks {
        ingress,
        egress,
        ..Blocks::default()
    }
    .load();
    let queued = switch
        .receive(&[1, 2])
        .into_iter()
        .find_map(enqueued)
        .expect("a packet");
    let mut decisions = switch.egress(queued);
    let Some(EgressDecision::Recirculate(again)) = decisions.pop() else {
        panic!("{decisions:?}")
    };
    assert_eq!(again.bytes[..], [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]);
    assert_eq!(
        (again.instance_type(), again.passes().recirculations),
        (InstanceType::Recirculated, 1)
    );
    let queued = switch.ingress(again).into_iter().find_map(enqueued).expect("a packet");
    let left = switch.egress(queued).into_iter().find_map(transmitted);
    assert_eq!(left, Some((10, vec![1, 7, 3, 4, 5, 6, 7, 8, 1, 2])));
}

#[test]
fn recirculation_is_limited_and_comes_after_drop() {
    let options = Options {
        recirculate_limit: 0,
        ..Options::default()
    };
    let mut switch = Blocks {
        egress: "recirculate()\nreturn",
        ..Blocks::default()
    }
    .load_with(options);
    switch.send(&[1, 2]);
    assert_eq!(switch.pipeline.drops().nonzero(), [(DropReason::RecirculateLimit, 1)]);
    let mut switch = Blocks {
        egress: "recirculate()\nsm.egress_spec = 9w0x1ff\nreturn",
        ..Blocks::default()
    }
    .load();
    switch.send(&[1, 2]);
    assert_eq!(switch.pipeline.drops().nonzero(), [(DropReason::EgressDrop, 1)]);
}

#[test]
fn the_least_truncation_counts() {
    let ingress = "truncate(32w0x4)\nsm.egress_spec = 9w0x1\nreturn";
    let mut switch = Blocks {
        ingress,
        egress: "truncate(32w0x3)\ntruncate(32w0x5)\nreturn",
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[1, 2, 3, 4, 5, 6]), [(1, vec![1, 2, 3])]);
    assert_eq!(switch.send(&[1, 2]), [(1, vec![1, 2])], "nothing is added");
}

#[test]
fn checksums_are_computed_before_deparsing() {
    let compute = "h.b = update_checksum csum16 {h.a, 8w0x0} if (1w0x1) payload\nreturn";
    let mut switch = Blocks {
        compute,
        ..Blocks::default()
    }
    .load();
    // ~(0x0100 + 0x0203) = 0xFCFC
    assert_eq!(switch.send(&[1, 0, 2, 3]), [(1, vec![1, 0xFC, 2, 3])]);
}

#[test]
fn limits_drop_with_their_names() {
    let options = Options {
        step_limit: 100,
        packet_limit: 9,
        ..Options::default()
    };
    let endless = "jump block1\nblock1:\njump block1";
    for blocks in [
        Blocks {
            ingress: endless,
            ..Blocks::default()
        },
        Blocks {
            egress: endless,
            ..Blocks::default()
        },
        Blocks {
            deparser: endless,
            ..Blocks::default()
        },
    ] {
        let mut switch = blocks.load_with(options);
        assert_eq!(switch.send(&[1, 2]), []);
        assert_eq!(switch.pipeline.drops().nonzero(), [(DropReason::StepLimit, 1)]);
    }
    let mut switch = Blocks {
        parser: endless,
        ingress: "sm.egress_spec = 9w0x1ff\nreturn",
        ..Blocks::default()
    }
    .load_with(options);
    assert_eq!(switch.send(&[1, 2]), []);
    let timeout = switch
        .pipeline
        .program()
        .error("ParserTimeout")
        .expect("core.p4 declares it");
    assert_eq!(
        switch.pipeline.drops().nonzero(),
        [(DropReason::ParserError(timeout as u16), 1)]
    );
    let mut switch = Blocks {
        ingress: "added.$valid$ = 1w0x1\nreturn",
        ..Blocks::default()
    }
    .load_with(options);
    assert_eq!(switch.send(&[1, 2]), []);
    assert_eq!(switch.pipeline.drops().nonzero(), [(DropReason::PacketTooLong, 1)]);
    let mut switch = Blocks {
        ingress: "assert(1w0x0, \"never\")\nresubmit()\nreturn",
        ..Blocks::default()
    }
    .load();
    assert!(matches!(
        switch.receive(&[1, 2])[..],
        [IngressDecision::Drop(DropReason::AssertFailed)]
    ));
}

#[test]
fn exit_ends_ingress_only() {
    let mut switch = Blocks {
        ingress: "sm.egress_spec = 9w0x4\nexit",
        egress: "h.a = 8w0x9\nexit",
        ..Blocks::default()
    }
    .load();
    assert_eq!(switch.send(&[1, 2]), [(4, vec![9, 2])]);
}

#[test]
fn priority_and_tag_travel_with_the_packet() {
    let mut switch = Blocks {
        ingress: "sm.priority = 3w0x5\nreturn",
        ..Blocks::default()
    }
    .load();
    let mut packet = forebay_pipeline::IngressPacket::new(vec![1, 2], Default::default());
    packet.tag = 77;
    let queued = switch.ingress(packet).into_iter().find_map(enqueued).expect("a packet");
    assert_eq!((queued.priority, queued.tag), (5, 77));
    assert!(matches!(
        &switch.egress(queued)[..],
        [EgressDecision::Transmit(packet)] if packet.tag == 77
    ));
}

#[test]
fn decisions_say_which_packet_of_the_burst_they_are_about() {
    let ingress = "branch h.a == 8w0x0, block1, block2\nblock1:\nsm.egress_spec = 9w0x1ff\nreturn\nblock2:\nreturn";
    let mut switch = Blocks {
        ingress,
        ..Blocks::default()
    }
    .load();
    let mut burst: Vec<_> = [0, 1, 0, 1]
        .iter()
        .map(|&a| forebay_pipeline::IngressPacket::new(vec![a, a], Default::default()))
        .collect();
    let mut decisions = Vec::new();
    switch
        .worker
        .ingress(&mut burst, &mut decisions, &mut forebay_pipeline::NoTrace);
    assert!(burst.is_empty());
    let dropped: Vec<_> = decisions
        .iter()
        .filter(|d| matches!(d.decision, IngressDecision::Drop(_)))
        .map(|d| d.packet)
        .collect();
    assert_eq!((decisions.len(), dropped), (4, vec![0, 2]));
}

/// Collects bodies and verdicts.
#[derive(Default)]
struct Steps(Vec<String>);

impl Tracer for Steps {
    const ON: bool = true;

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Enter { body, .. } => self.0.push(body.to_string()),
            Event::Verdict { text } => self.0.push(text.to_string()),
            _ => {}
        }
    }
}

#[test]
fn a_trace_follows_a_packet_to_its_verdict() {
    let mut switch = Blocks::default().load();
    let (mut steps, mut decisions, mut left) = (Steps::default(), Vec::new(), Vec::new());
    let packet = forebay_pipeline::IngressPacket::new(vec![1, 2], Default::default());
    switch.worker.ingress(&mut vec![packet], &mut decisions, &mut steps);
    let packet = decisions
        .pop()
        .and_then(|decided| enqueued(decided.decision))
        .expect("a packet");
    switch.worker.egress(
        &mut vec![EgressPacket {
            packet,
            arguments: Default::default(),
        }],
        &mut left,
        &mut steps,
    );
    assert_eq!(
        steps.0,
        [
            "P",
            "V",
            "I",
            "enqueue for port 1",
            "E",
            "C",
            "D",
            "transmit 2 bytes on port 1"
        ]
    );
}
