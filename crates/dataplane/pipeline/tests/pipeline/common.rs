//! Small v1model programs in the text form of the IR, and a way to run packets through them.

use forebay_bits::Bits;
use forebay_ir::{Program, text, verify};
use forebay_pipeline::{
    Decided, EgressArguments, EgressDecision, EgressPacket, IngressArguments, IngressDecision, IngressPacket, NoTrace,
    Options, Pipeline, QueuedPacket, Worker,
};
use std::sync::Arc;

/// `standard_metadata_t`, an Ethernet-like header `h` of two bytes, and metadata.
pub const DECLARATIONS: &str = r#"
program v1model
error NoError
error PacketTooShort
error NoMatch
error StackOutOfBounds
error HeaderTooShort
error ParserTimeout
error ParserInvalidArgument
slot sm.ingress_port: bit<9> intrinsic
slot sm.egress_spec: bit<9> intrinsic
slot sm.egress_port: bit<9> intrinsic
slot sm.instance_type: bit<32> intrinsic
slot sm.packet_length: bit<32> intrinsic
slot sm.enq_timestamp: bit<32> intrinsic
slot sm.enq_qdepth: bit<19> intrinsic
slot sm.deq_timedelta: bit<32> intrinsic
slot sm.deq_qdepth: bit<19> intrinsic
slot sm.ingress_global_timestamp: bit<48> intrinsic
slot sm.egress_global_timestamp: bit<48> intrinsic
slot sm.mcast_grp: bit<16> intrinsic
slot sm.egress_rid: bit<16> intrinsic
slot sm.checksum_error: bit<1> intrinsic
slot sm.parser_error: bit<32> intrinsic
slot sm.priority: bit<3> intrinsic
slot h.$valid$: bit<1> valid h
slot h.a: bit<8> field h
slot h.b: bit<8> field h
slot added.$valid$: bit<1> valid added
slot added.x: bit<64> field added
slot kept: bit<16> metadata
slot lost: bit<16> metadata
slot tmp: bit<32> local
intrinsic ingress_port = sm.ingress_port
intrinsic egress_spec = sm.egress_spec
intrinsic egress_port = sm.egress_port
intrinsic instance_type = sm.instance_type
intrinsic "packet_length" = sm.packet_length
intrinsic enq_timestamp = sm.enq_timestamp
intrinsic enq_qdepth = sm.enq_qdepth
intrinsic deq_timedelta = sm.deq_timedelta
intrinsic deq_qdepth = sm.deq_qdepth
intrinsic ingress_global_timestamp = sm.ingress_global_timestamp
intrinsic egress_global_timestamp = sm.egress_global_timestamp
intrinsic mcast_grp = sm.mcast_grp
intrinsic egress_rid = sm.egress_rid
intrinsic checksum_error = sm.checksum_error
intrinsic parser_error = sm.parser_error
intrinsic "priority" = sm.priority
header h h_t { valid h.$valid$ field a = h.a field b = h.b }
header added added_t { valid added.$valid$ field x = added.x }
field_list 1 { kept }
stage parser = P
stage verify_checksum = V
stage ingress = I
stage egress = E
stage compute_checksum = C
stage deparser = D
action I.forward(port: bit<9>, mark: bit<8>) = I.forward
action I.drop() = I.drop
action NoAction() = NoAction
body I.forward action {
block0:
  sm.egress_spec = $port
  h.b = $mark
  return
}
body I.drop action {
block0:
  sm.egress_spec = 9w0x1ff
  sm.mcast_grp = 16w0x0
  return
}
body NoAction action {
block0:
  return
}
digest d receiver 1 { a: bit<8> }
register I.r: bit<16> size 4 initial 16w0x5
counter I.c packets_and_bytes size 4
meter I.m packets size 4
"#;

/// The blocks of the six bodies; an empty block is a plain default.
#[derive(Clone, Copy, Default)]
pub struct Blocks<'a> {
    pub more: &'a str,
    pub parser: &'a str,
    pub verify: &'a str,
    pub ingress: &'a str,
    pub egress: &'a str,
    pub compute: &'a str,
    pub deparser: &'a str,
}

impl Blocks<'_> {
    pub fn text(&self) -> String {
        let or = |given: &str, default: &str| {
            format!("{{\nblock0:\n{}\n}}\n", if given.is_empty() { default } else { given })
        };
        format!(
            "{DECLARATIONS}{}\nbody P parser {}body V control {}body I control {}body E control {}body C control {}body D deparser {}",
            self.more,
            or(self.parser, "extract h\nreturn"),
            or(self.verify, "return"),
            or(self.ingress, "sm.egress_spec = 9w0x1\nreturn"),
            or(self.egress, "return"),
            or(self.compute, "return"),
            or(self.deparser, "emit added\nemit h\nreturn"),
        )
    }

    pub fn program(&self) -> Program {
        let program = text::read(&self.text()).unwrap_or_else(|error| {
            panic!(
                "{error}: {}",
                self.text().lines().nth(error.line as usize - 1).unwrap_or_default()
            )
        });
        let errors = verify::verify(&program);
        assert!(errors.is_empty(), "{errors:?}");
        program
    }

    pub fn load(&self) -> Switch {
        self.load_with(Options::default())
    }

    pub fn load_with(&self, options: Options) -> Switch {
        let pipeline = Arc::new(Pipeline::load_with(self.program(), options).expect("a program that can be loaded"));
        Switch {
            worker: Worker::new(Arc::clone(&pipeline)),
            pipeline,
        }
    }
}

/// A worker whose decisions are returned.
pub struct Switch {
    pub pipeline: Arc<Pipeline>,
    pub worker: Worker,
}

impl Switch {
    pub fn ingress(&mut self, packet: IngressPacket) -> Vec<IngressDecision> {
        let mut decisions = Vec::new();
        self.worker.ingress(&mut vec![packet], &mut decisions, &mut NoTrace);
        decisions.into_iter().map(|Decided { decision, .. }| decision).collect()
    }

    pub fn receive(&mut self, bytes: &[u8]) -> Vec<IngressDecision> {
        self.ingress(IngressPacket::new(
            bytes.to_vec(),
            IngressArguments {
                ingress_port: 3,
                timestamp_us: 100,
                random_seed: 0,
            },
        ))
    }

    pub fn egress(&mut self, packet: QueuedPacket) -> Vec<EgressDecision> {
        let arguments = EgressArguments {
            timestamp_us: 130,
            enq_timestamp_us: 110,
            enq_qdepth: 4,
            deq_qdepth: 2,
            random_seed: 0,
        };
        let mut decisions = Vec::new();
        self.worker.egress(
            &mut vec![EgressPacket { packet, arguments }],
            &mut decisions,
            &mut NoTrace,
        );
        decisions.into_iter().map(|Decided { decision, .. }| decision).collect()
    }

    /// Takes a packet through ingress, and everything enqueued through egress. Returns what left: port and bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let enqueued: Vec<QueuedPacket> = self.receive(bytes).into_iter().filter_map(enqueued).collect();
        let decisions = enqueued
            .into_iter()
            .flat_map(|packet| self.egress(packet))
            .collect::<Vec<_>>();
        decisions.into_iter().filter_map(transmitted).collect()
    }
}

pub fn enqueued(decision: IngressDecision) -> Option<QueuedPacket> {
    match decision {
        IngressDecision::Enqueue(packet) => Some(packet),
        _ => None,
    }
}

pub fn transmitted(decision: EgressDecision) -> Option<(u32, Vec<u8>)> {
    match decision {
        EgressDecision::Transmit(packet) => Some((packet.egress_port, packet.into_bytes().into_vec())),
        _ => None,
    }
}

pub fn bits(width: u32, value: u128) -> Bits {
    Bits::new(width, value)
}
