// Decides whether the payload of a copy is mapped, by the state of its flow.
//
// The state of a TCP connection has the sequence number at which the next MQTT packet or HTTP request begins: SYN gives the first one, the length
// of each the next. Only a segment that begins there is mapped, so that neither retransmissions nor the middle of long packets are.

#ifndef IOT_MAPPING_FLOWS_P4
#define IOT_MAPPING_FLOWS_P4

#include "packet.p4"

// Indices of the counter outcomes.
const bit<32> MAPPED = 0;
const bit<32> NO_PAYLOAD = 1;
const bit<32> TOO_LONG = 2;
const bit<32> SEGMENTED = 3;
const bit<32> CONTINUATION = 4;
const bit<32> RETRANSMISSION = 5;
const bit<32> GAP = 6;
const bit<32> UNKNOWN_FLOW = 7;
const bit<32> UNKNOWN_VERSION = 8;
const bit<32> PROPERTIES = 9;
const bit<32> NO_LENGTH = 10;
const bit<32> MALFORMED = 11;
const bit<32> PIPELINED = 12;
const bit<32> OPENED = 13;

control Track(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata, out bit<32> outcome) {
    // Addresses and ports of the flow that owns the place.
    register<bit<96>>(FLOWS) owners;
    // MQTT: protocol level of the connection, 0 until it is known.
    register<bit<8>>(FLOWS) levels;
    // TCP: where the next MQTT packet or request begins, and where the data received so far end. CoAP, in `ends`: message identifier of the latest
    // request with a payload, plus 1.
    register<bit<32>>(FLOWS) nexts;
    register<bit<32>>(FLOWS) ends;
    // Messages made of the flow.
    register<bit<16>>(FLOWS) counts;

    // The index of the counter for what the parser has found.
    action by_found() {
        outcome = MALFORMED;
        if (meta.found == FOUND_PAYLOAD) {
            outcome = MAPPED;
        } else if (meta.found == FOUND_CONTROL) {
            outcome = NO_PAYLOAD;
        } else if (meta.found == FOUND_PART || meta.found == FOUND_PARTIAL_HEADER) {
            outcome = SEGMENTED;
        } else if (meta.found == FOUND_NO_LENGTH) {
            outcome = NO_LENGTH;
        } else if (meta.found == FOUND_TOO_LONG) {
            outcome = TOO_LONG;
        }
    }

    apply {
        outcome = MALFORMED;
        if (standard_metadata.parser_error != error.NoError) {
            return;
        }
        bool is_tcp = hdr.tcp.isValid();
        bit<96> flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr
            ++ (is_tcp ? hdr.tcp.src_port ++ hdr.tcp.dst_port : hdr.udp.src_port ++ hdr.udp.dst_port);
        bit<32> place;
        hash(place, HashAlgorithm.crc32, 32w0, { flow, hdr.ipv4.protocol }, (bit<32>) FLOWS);
        bit<32> begin = hdr.tcp.seq_no;
        bit<32> end = begin + (bit<32>) meta.payload_bytes;
        by_found();
        // MQTT 5: the byte after the topic is the length of the properties.
        bit<8> first = hdr.mqtt_first.value;

        @atomic {
            bit<96> owner;
            bit<8> level;
            bit<32> next;
            bit<32> last;
            bit<16> count;
            owners.read(owner, place);
            levels.read(level, place);
            nexts.read(next, place);
            ends.read(last, place);
            counts.read(count, place);
            if (is_tcp && hdr.tcp.syn == 1) {
                outcome = OPENED;
                owner = flow;
                level = 0;
                next = begin + 1;
                last = next;
                count = 0;
            } else if (!is_tcp) {
                // Acknowledgements have identifiers of the other side.
                bool has_payload = meta.found == FOUND_PAYLOAD || meta.found == FOUND_PART || meta.found == FOUND_TOO_LONG;
                if (owner != flow) {
                    owner = flow;
                    count = 0;
                    last = 0;
                }
                if (has_payload && last == (bit<32>) meta.sequence + 1) {
                    outcome = RETRANSMISSION;
                } else if (has_payload) {
                    last = (bit<32>) meta.sequence + 1;
                }
            } else if (owner != flow) {
                outcome = UNKNOWN_FLOW;
            } else {
                // Differences of sequence numbers are signed (RFC 9293 §3.4).
                int<32> ahead = (int<32>) (begin - next);
                int<32> beyond = (int<32>) (end - next);
                bool is_new = (int<32>) (end - last) > 0;
                if (ahead > 0) {
                    outcome = GAP;
                } else if (ahead < 0) {
                    outcome = beyond <= 0 && is_new ? CONTINUATION : RETRANSMISSION;
                    if (beyond > 0 && meta.kind == KIND_MQTT && meta.packet_bytes != 0
                        && meta.packet_bytes <= next - begin) {
                        // The first MQTT packet has been mapped before. The copy comes again without it, until a new packet begins.
                        meta.skip = (bit<16>) meta.packet_bytes;
                    } else if (beyond > 0) {
                        // A packet begins within the segment, at an unknown place.
                        owner = 0;
                        outcome = CONTINUATION;
                    }
                } else {
                    next = begin + meta.packet_bytes;
                    if (meta.kind == KIND_MQTT) {
                        if (hdr.mqtt.type == MQTT_CONNECT && meta.found == FOUND_CONTROL) {
                            level = meta.mqtt_level;
                        }
                        if (meta.packet_bytes < (bit<32>) meta.payload_bytes) {
                            meta.skip = (bit<16>) meta.packet_bytes;
                        }
                        if (outcome == MAPPED && level == 5 && first != 0) {
                            outcome = PROPERTIES;
                        } else if (outcome == MAPPED && level == 5) {
                            meta.data_bytes = meta.data_bytes - 1;
                            meta.is_first_left_out = 1;
                            if (meta.data_bytes == 0) {
                                outcome = NO_PAYLOAD;
                            }
                        } else if (outcome == MAPPED && level != 4 && level != 3) {
                            outcome = UNKNOWN_VERSION;
                        }
                        if (outcome == MAPPED && meta.data_bytes > DATA_BYTES) {
                            outcome = TOO_LONG;
                        }
                    } else if (outcome == MAPPED && meta.left > meta.data_bytes) {
                        // Another request follows in the segment and is not parsed: neither is mapped.
                        outcome = PIPELINED;
                    }
                    // Where the next packet begins is not known any more: the rest of the connection is not mapped.
                    if (meta.packet_bytes == 0 || meta.found == FOUND_PARTIAL_HEADER
                        || meta.kind == KIND_MQTT && hdr.mqtt_length[3].isValid() && hdr.mqtt_length[3].more == 1) {
                        owner = 0;
                        meta.skip = 0;
                    }
                }
                if (is_new) {
                    last = end;
                }
            }
            if (outcome == MAPPED) {
                count = count + 1;
                meta.sequence = count - 1;
            }
            owners.write(place, owner);
            levels.write(place, level);
            nexts.write(place, next);
            ends.write(place, last);
            counts.write(place, count);
        }
    }
}

#endif
