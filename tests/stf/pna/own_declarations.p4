// A package of three blocks that the program declares itself, with no more metadata than it needs; its counters are not told lengths.
#include <core.p4>

typedef bit<32> PortIdUint_t;
type PortIdUint_t PortId_t;

struct pna_main_parser_input_metadata_t {
    PortId_t input_port;
}

struct pna_main_input_metadata_t {
    bool     recirculated;
    bit<64>  timestamp;
    error    parser_error;
    bit<8>   class_of_service;
    PortId_t input_port;
}

struct pna_main_output_metadata_t {
    bit<8> class_of_service;
}

enum PNA_CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}

extern Counter<W, S> {
    Counter(bit<32> n_counters, PNA_CounterType_t type);
    void count(in S index);
}

extern void send_to_port(in PortId_t dest_port);
extern bool is_net_port(in PortId_t p);

parser MainParserT<H, M>(packet_in packet, out H hdr, inout M meta, in pna_main_parser_input_metadata_t istd);
control MainControlT<H, M>(inout H hdr, inout M meta, in pna_main_input_metadata_t istd,
                           inout pna_main_output_metadata_t ostd);
control MainDeparserT<H, M>(packet_out packet, inout H hdr, in M meta, in pna_main_output_metadata_t ostd);
package PNA_NIC<H, M>(MainParserT<H, M> main_parser, MainControlT<H, M> main_control, MainDeparserT<H, M> main_deparser);

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
          inout pna_main_output_metadata_t ostd) {
    Counter<bit<32>, PortId_t>(512, PNA_CounterType_t.PACKETS) arrivals;

    apply {
        arrivals.count(istd.input_port);
        hdr.input.kind = is_net_port(istd.input_port) ? hdr.input.value : 8w0xff;
        send_to_port((PortId_t) 2);
    }
}

control D(packet_out packet, inout headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr);
    }
}

PNA_NIC(P(), C(), D()) main;
