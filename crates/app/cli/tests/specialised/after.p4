// The programs of this folder end with this.

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.new_tag);
        packet.emit(hdr.tag);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
