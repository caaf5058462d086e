// The blocks of a PNA program that a test does not write itself. A test declares headers_t and meta_t, writes the blocks
// that it is about, names each of them in a macro (`#define MAIN TestMain`), and includes this file at its end. What is not
// named is as plain as can be:
//
//   MAIN_PARSER  extracts the one header hdr.input
//   PRE          does nothing; with WITHOUT_PRE there is none, and the package has three blocks
//   MAIN         sends every packet to port 2
//   DEPARSER     emits every valid header in the order of headers_t

#ifndef MAIN_PARSER
#define MAIN_PARSER PlainParser
parser PlainParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}
#endif

#ifdef WITHOUT_PRE
#define PRE_BLOCK
#else
#ifndef PRE
#define PRE PlainPre
control PlainPre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
                 inout pna_pre_output_metadata_t ostd) {
    apply {}
}
#endif
#define PRE_BLOCK PRE(),
#endif

#ifndef MAIN
#define MAIN PlainMain
control PlainMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                  inout pna_main_output_metadata_t ostd) {
    apply {
        send_to_port((PortId_t) 2);
    }
}
#endif

#ifndef DEPARSER
#define DEPARSER PlainDeparser
control PlainDeparser(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr);
    }
}
#endif

PNA_NIC(MAIN_PARSER(), PRE_BLOCK MAIN(), DEPARSER()) main;
