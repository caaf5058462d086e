// The blocks of a v1model program that a test does not write itself. A test declares headers_t and meta_t, writes the
// blocks that it is about, names each of them in a macro (`#define INGRESS TestIngress`), and includes this file at its
// end. What is not named is as plain as can be:
//
//   PARSER    extracts the one header hdr.input
//   VERIFY    does nothing
//   INGRESS   sends every packet to port 2
//   EGRESS    does nothing
//   COMPUTE   does nothing
//   DEPARSER  emits every valid header in the order of headers_t

#ifndef PARSER
#define PARSER PlainParser
parser PlainParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}
#endif

#ifndef VERIFY
#define VERIFY PlainVerify
control PlainVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}
#endif

#ifndef INGRESS
#define INGRESS PlainIngress
control PlainIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
    }
}
#endif

#ifndef EGRESS
#define EGRESS PlainEgress
control PlainEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}
#endif

#ifndef COMPUTE
#define COMPUTE PlainCompute
control PlainCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}
#endif

#ifndef DEPARSER
#define DEPARSER PlainDeparser
control PlainDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
#endif

V1Switch(PARSER(), VERIFY(), INGRESS(), EGRESS(), COMPUTE(), DEPARSER()) main;
