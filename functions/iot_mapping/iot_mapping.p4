// Maps what devices send by MQTT, CoAP and HTTP to messages of one form over UDP, which programs/iot_aggregate gathers. See README.md.
//
//   device ──► forwarded as it is ──────────────────────────────► server
//                 └─ copy ─► parsed to its payload ─► message ──► collector
//
// A packet of a device is cloned, and the clone is recirculated to the parser, which now looks for the payload. When more MQTT packets
// follow in the segment, the copy is cloned again without the first one. What cannot be mapped is counted, and never guessed.

#include <core.p4>
#include <v1model.p4>
#include "parser.p4"
#include "flows.p4"

// The clone session of copies; its port needs nothing attached to it.
#ifndef MAP_SESSION
#define MAP_SESSION 9
#endif

// Greatest number of MQTT packets of a segment that are mapped.
const bit<8> PASSES_MAX = 32;

// Ports whose payload is encrypted: MQTT and HTTP over TLS, CoAP over DTLS (IANA).
const bit<16> MQTTS_PORT = 8883;
const bit<16> HTTPS_PORT = 443;
const bit<16> COAPS_PORT = 5684;

// Indices of the counter outcomes beyond those of flows.p4.
const bit<32> COPIED = 14;
const bit<32> ENCRYPTED = 15;
const bit<32> PASSES_EXCEEDED = 16;
const bit<32> NO_TARGET = 17;
const bit<32> FORWARDED = 18;
const bit<32> NOT_FORWARDED = 19;

// A packet that its receiver drops must not become a message: its retransmission would count as a duplicate. Copies are not verified, since they
// may lack a part of their segment.
control MapVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum_with_payload(hdr.tcp.isValid() && meta.is_mapped == 1,
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol,
              hdr.ipv4.total_len - ((bit<16>) hdr.ipv4.ihl << 2), hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.seq_no,
              hdr.tcp.ack_no, hdr.tcp.data_offset, hdr.tcp.reserved, hdr.tcp.cwr, hdr.tcp.ece, hdr.tcp.urg, hdr.tcp.ack,
              hdr.tcp.psh, hdr.tcp.rst, hdr.tcp.syn, hdr.tcp.fin, hdr.tcp.window, hdr.tcp.urgent_pointer },
            hdr.tcp.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.udp.isValid() && meta.is_mapped == 1 && hdr.udp.checksum != 0,
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol, hdr.udp.length_, hdr.udp.src_port,
              hdr.udp.dst_port, hdr.udp.length_ },
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control MapIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Track() track;

    @element_names("mapped", "no payload", "too long", "segmented", "continuation", "retransmission", "gap",
                   "unknown flow", "unknown version", "properties", "no length", "malformed", "pipelined", "opened",
                   "copied", "encrypted", "passes exceeded", "no target", "forwarded", "not forwarded")
    counter(20, CounterType.packets) outcomes;

    action to_port(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action to_group(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    table dst_mac {
        key = {
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            to_port;
            to_group;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table wire {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            to_port;
            to_group;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    mac_address_t src_mac = 0;
    mac_address_t target_mac = 0;
    ipv4_address_t src_addr = 0;
    ipv4_address_t target_addr = 0;
    bit<16> src_port = 0;

    action set_target(bit<9> port, mac_address_t source_mac, mac_address_t mac, ipv4_address_t source, ipv4_address_t address,
                      bit<16> udp_source_port) {
        standard_metadata.egress_spec = port;
        src_mac = source_mac;
        target_mac = mac;
        src_addr = source;
        target_addr = address;
        src_port = udp_source_port;
    }

    // Where the messages of a protocol go: 1 MQTT, 2 CoAP, 3 HTTP. Messages with the same addresses and ports are gathered together.
    table targets {
        key = {
            meta.kind: exact;
        }
        actions = {
            set_target;
            NoAction;
        }
        default_action = NoAction();
        size = 8;
    }

    action forward() {
        outcomes.count(FORWARDED);
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_RECIRCULATED && meta.skip != 0) {
            // The parser has removed the first MQTT packet of the segment, which has been handled. The copy comes back once more.
            meta.is_trimmed = 1;
            standard_metadata.egress_spec = standard_metadata.ingress_port;
            return;
        }
        if (standard_metadata.instance_type == INSTANCE_RECIRCULATED) {
            bit<32> outcome;
            track.apply(hdr, meta, standard_metadata, outcome);
            // Another MQTT packet of this segment.
            if (meta.skip != 0) {
                if (meta.passes + 1 < PASSES_MAX) {
                    meta.passes = meta.passes + 1;
                    clone_preserving_field_list(CloneType.I2E, MAP_SESSION, 1);
                } else {
                    outcomes.count(PASSES_EXCEEDED);
                }
            }
            if (outcome == MAPPED && !targets.apply().hit) {
                outcome = NO_TARGET;
            }
            outcomes.count(outcome);
            if (outcome != MAPPED) {
                mark_to_drop(standard_metadata);
                return;
            }
            meta.is_message = 1;
            if (meta.is_first_left_out == 1) {
                hdr.mqtt_first.setInvalid();
            }
            if (meta.kind == KIND_MQTT) {
                hash(meta.topic, HashAlgorithm.crc32, 32w0, { hdr.mqtt_topic.topic }, 33w0x100000000);
            } else {
                hash(meta.topic, HashAlgorithm.crc32, 32w0, { meta.path }, 33w0x100000000);
            }
            hdr.mapping.setValid();
            hdr.mapping.kind = meta.kind;
            hdr.mapping.length_ = (bit<8>) meta.data_bytes;
            hdr.mapping.sequence = meta.sequence;
            hdr.mapping.device = hdr.ipv4.src_addr;
            hdr.mapping.device_port = hdr.tcp.isValid() ? hdr.tcp.src_port : hdr.udp.src_port;
            hdr.mapping.reserved = 0;
            hdr.topic.setValid();
            hdr.topic.hash = meta.topic;
            hdr.message_ethernet.setValid();
            hdr.message_ethernet.src_addr = src_mac;
            hdr.message_ethernet.dst_addr = target_mac;
            hdr.message_ipv4.setValid();
            hdr.message_ipv4.src_addr = src_addr;
            hdr.message_ipv4.dst_addr = target_addr;
            hdr.message_udp.setValid();
            hdr.message_udp.src_port = src_port;
            return;
        }

        bool found = dst_mac.apply().hit;
        if (!found) {
            found = wire.apply().hit;
        }
        if (!found || !hdr.ethernet.isValid()) {
            outcomes.count(NOT_FORWARDED);
            mark_to_drop(standard_metadata);
        } else {
            forward();
        }
        if (standard_metadata.parser_error != error.NoError || !hdr.ipv4.isValid()
            || (bit<32>) hdr.ipv4.total_len + 14 > standard_metadata.packet_length) {
            return;
        }
        bool is_encrypted = hdr.tcp.isValid() && (hdr.tcp.dst_port == MQTTS_PORT || hdr.tcp.dst_port == HTTPS_PORT)
            || hdr.udp.isValid() && hdr.udp.dst_port == COAPS_PORT;
        if (is_encrypted && meta.payload_bytes != 0) {
            outcomes.count(ENCRYPTED);
        } else if (meta.is_mapped == 1 && standard_metadata.checksum_error == 1) {
            outcomes.count(MALFORMED);
        } else if (meta.is_mapped == 1) {
            if (hdr.tcp.isValid() && hdr.tcp.syn == 1) {
                bit<32> outcome;
                track.apply(hdr, meta, standard_metadata, outcome);
                outcomes.count(outcome);
            }
            if (meta.payload_bytes != 0) {
                outcomes.count(COPIED);
                meta.skip = 0;
                meta.passes = 0;
                clone_preserving_field_list(CloneType.I2E, MAP_SESSION, 1);
            }
        }
    }
}

// Puts the message in place of the packet.
control MakeMessage(inout headers_t hdr, in metadata_t meta) {
    apply {
        bit<16> padding = DATA_BYTES - meta.data_bytes;
        hdr.message_ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.message_ipv4.version = 4;
        hdr.message_ipv4.ihl = 5;
        hdr.message_ipv4.dscp = 0;
        hdr.message_ipv4.ecn = 0;
        hdr.message_ipv4.total_len = 20 + 8 + S;
        hdr.message_ipv4.identification = 0;
        hdr.message_ipv4.reserved = 0;
        hdr.message_ipv4.dont_fragment = 1;
        hdr.message_ipv4.more_fragments = 0;
        hdr.message_ipv4.frag_offset = 0;
        hdr.message_ipv4.ttl = 64;
        hdr.message_ipv4.protocol = IP_PROTOCOL_UDP;
        hdr.message_udp.dst_port = IOT_UDP_PORT;
        hdr.message_udp.length_ = 8 + S;
        hdr.message_udp.checksum = 0;
        hdr.ethernet.setInvalid();
        hdr.ipv4.setInvalid();
        hdr.tcp.setInvalid();
        hdr.udp.setInvalid();
        hdr.flag.setValid();
        hdr.flag.type = 0xfa;
        hdr.flag.padding = 0;
        if (padding[0:0] == 1) {
            hdr.pad1.setValid();
            hdr.pad1.zero = 0;
        }
        if (padding[1:1] == 1) {
            hdr.pad2.setValid();
            hdr.pad2.zero = 0;
        }
        if (padding[2:2] == 1) {
            hdr.pad4.setValid();
            hdr.pad4.zero = 0;
        }
        if (padding[3:3] == 1) {
            hdr.pad8.setValid();
            hdr.pad8.zero = 0;
        }
        if (padding[4:4] == 1) {
            hdr.pad16.setValid();
            hdr.pad16.zero = 0;
        }
        if (padding[5:5] == 1) {
            hdr.pad32.setValid();
            hdr.pad32.zero = 0;
        }
        if (padding[6:6] == 1) {
            hdr.pad64.setValid();
            hdr.pad64.zero = 0;
        }
        truncate(14 + 20 + 8 + S);
    }
}

control MapEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    MakeMessage() make_message;

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            recirculate_preserving_field_list(1);
        } else if (meta.is_trimmed == 1) {
            // As if the segment began after its first MQTT packet, which the parser has left out.
            hdr.tcp.seq_no = hdr.tcp.seq_no + (bit<32>) meta.skip;
            hdr.ipv4.total_len = hdr.ipv4.total_len - meta.skip;
            meta.skip = 0;
            recirculate_preserving_field_list(1);
        } else if (meta.is_message == 1) {
            make_message.apply(hdr, meta);
        }
    }
}

control MapComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.message_ipv4.isValid(),
            { hdr.message_ipv4.version, hdr.message_ipv4.ihl, hdr.message_ipv4.dscp, hdr.message_ipv4.ecn,
              hdr.message_ipv4.total_len, hdr.message_ipv4.identification, hdr.message_ipv4.reserved,
              hdr.message_ipv4.dont_fragment, hdr.message_ipv4.more_fragments, hdr.message_ipv4.frag_offset,
              hdr.message_ipv4.ttl, hdr.message_ipv4.protocol, hdr.message_ipv4.src_addr, hdr.message_ipv4.dst_addr },
            hdr.message_ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control MapDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.message_ethernet);
        packet.emit(hdr.message_ipv4);
        packet.emit(hdr.message_udp);
        packet.emit(hdr.flag);
        packet.emit(hdr.mapping);
        packet.emit(hdr.topic);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.tcp);
        packet.emit(hdr.tcp_options);
        packet.emit(hdr.udp);
        packet.emit(hdr.mqtt_first);
        packet.emit(hdr.body);
        packet.emit(hdr.pad1);
        packet.emit(hdr.pad2);
        packet.emit(hdr.pad4);
        packet.emit(hdr.pad8);
        packet.emit(hdr.pad16);
        packet.emit(hdr.pad32);
        packet.emit(hdr.pad64);
    }
}

V1Switch(MapParser(), MapVerifyChecksum(), MapIngress(), MapEgress(), MapComputeChecksum(), MapDeparser()) main;
