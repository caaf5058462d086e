// The blocks of a PSA program that a test does not write itself. A test declares headers_t and meta_t, names the metadata
// that crosses the switch in macros (NORMAL, RESUBMIT, RECIRCULATE, CLONE_I2E, CLONE_E2E), writes the blocks that it is
// about, names each of them in a macro (`#define INGRESS TestIngress`), and includes this file at its end. What is not
// named is as plain as can be:
//
//   INGRESS_PARSER, EGRESS_PARSER      extract the one header hdr.input
//   INGRESS                            sends every packet to port 2
//   EGRESS                             does nothing
//   INGRESS_DEPARSER, EGRESS_DEPARSER  emit every valid header in the order of headers_t

#ifndef NO_METADATA
#define NO_METADATA
struct none_t {}
#endif

#ifndef NORMAL
#define NORMAL none_t
#endif
#ifndef RESUBMIT
#define RESUBMIT none_t
#endif
#ifndef RECIRCULATE
#define RECIRCULATE none_t
#endif
#ifndef CLONE_I2E
#define CLONE_I2E none_t
#endif
#ifndef CLONE_E2E
#define CLONE_E2E none_t
#endif

#ifndef INGRESS_PARSER
#define INGRESS_PARSER PlainIngressParser
parser PlainIngressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                          in psa_ingress_parser_input_metadata_t istd, in RESUBMIT resubmit_meta,
                          in RECIRCULATE recirculate_meta) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}
#endif

#ifndef INGRESS
#define INGRESS PlainIngress
control PlainIngress(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
                     inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 2);
    }
}
#endif

#ifndef INGRESS_DEPARSER
#define INGRESS_DEPARSER PlainIngressDeparser
control PlainIngressDeparser(packet_out packet, out CLONE_I2E clone_i2e_meta, out RESUBMIT resubmit_meta,
                             out NORMAL normal_meta, inout headers_t hdr, in meta_t meta,
                             in psa_ingress_output_metadata_t istd) {
    apply {
        packet.emit(hdr);
    }
}
#endif

#ifndef EGRESS_PARSER
#define EGRESS_PARSER PlainEgressParser
parser PlainEgressParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                         in psa_egress_parser_input_metadata_t istd, in NORMAL normal_meta,
                         in CLONE_I2E clone_i2e_meta, in CLONE_E2E clone_e2e_meta) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}
#endif

#ifndef EGRESS
#define EGRESS PlainEgress
control PlainEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
                    inout psa_egress_output_metadata_t ostd) {
    apply {}
}
#endif

#ifndef EGRESS_DEPARSER
#define EGRESS_DEPARSER PlainEgressDeparser
control PlainEgressDeparser(packet_out packet, out CLONE_E2E clone_e2e_meta, out RECIRCULATE recirculate_meta,
                            inout headers_t hdr, in meta_t meta, in psa_egress_output_metadata_t istd,
                            in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr);
    }
}
#endif

IngressPipeline(INGRESS_PARSER(), INGRESS(), INGRESS_DEPARSER()) ingress_pipeline;
EgressPipeline(EGRESS_PARSER(), EGRESS(), EGRESS_DEPARSER()) egress_pipeline;
PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;
