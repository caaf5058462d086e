// The state of the TCP connections of a mapping, which decides how long the mapping stays (RFC 5382 REQ-5). The state machine is that of RFC 7857 §2
// and RFC 6146 §3.5.2:
//
//   OPENING ─ SYN+ACK ─► ANSWERED ─ ACK ─► ESTABLISHED ─ FIN ─► one side closed ─ FIN of the other ─► CLOSING
//                                              ▲  └─────── RST ──────┴──────► RESET
//                                              └────── any other segment ───────┘
//
// One FIN does not shorten the time: the other side may go on sending. After a reset, which may be forged, any other segment shows that the
// connection goes on. Unlike RFC 6146, a connection is established only when both sides have acknowledged: SYNs alone keep no mapping for hours.
//
// A mapping has the state of one connection: the one that the inside has opened last. When the inside opens another one before that ends, the state
// is SEVERAL, and the mapping stays for the time of established connections until it ends. Segments from outside change the state only if they
// belong to the connection.

#ifndef NAT44_TCP_P4
#define NAT44_TCP_P4

#include "packet.p4"

const bit<8> TCP_NEW = 0;
const bit<8> TCP_OPENING = 1;
const bit<8> TCP_CLOSING = 2;
// A SYN has been answered, by the outside or by the inside.
const bit<8> TCP_ANSWERED = 3;
const bit<8> TCP_ANSWERED_INSIDE = 4;
const bit<8> TCP_RESET = 5;
// From here on mappings stay for the time of established connections.
const bit<8> TCP_ESTABLISHED = 6;
const bit<8> TCP_SEVERAL = 7;
const bit<8> TCP_FIN_INSIDE = 8;
const bit<8> TCP_FIN_OUTSIDE = 9;

bool tcp_is_lasting(in bit<8> state) {
    return state >= TCP_ESTABLISHED;
}

// Whether a segment may change the state: in most states only those that open or end a connection do.
bool tcp_may_change(in bit<8> state, in tcp_t tcp) {
    return tcp.syn == 1 || tcp.fin == 1 || tcp.rst == 1 || state >= TCP_ANSWERED && state <= TCP_RESET;
}

// After a FIN or a reset of the connection. `answered`: the state in which a segment of this side establishes it.
bit<8> tcp_after_end(in bit<8> state, in tcp_t tcp, in bit<8> answered, in bit<8> own_fin, in bit<8> other_fin) {
    bit<8> next = state;
    if (tcp.rst == 1) {
        if (tcp_is_lasting(state) && state != TCP_SEVERAL) {
            next = TCP_RESET;
        }
    } else if (state == TCP_ESTABLISHED || state == TCP_RESET || state == answered) {
        next = own_fin;
    } else if (state == other_fin) {
        next = TCP_CLOSING;
    }
    return next;
}

// After a segment from inside; `is_known`: it goes to the endpoint that the state is about.
bit<8> tcp_after_outbound(in bit<8> state, in tcp_t tcp, in bool is_known) {
    bit<8> next = state;
    bool is_free = state == TCP_NEW || state == TCP_CLOSING || state == TCP_RESET;
    if (tcp.rst == 1 || tcp.fin == 1) {
        if (is_known) {
            next = tcp_after_end(state, tcp, TCP_ANSWERED, TCP_FIN_INSIDE, TCP_FIN_OUTSIDE);
        }
    } else if (tcp.syn == 1) {
        if (!is_free && !is_known) {
            next = TCP_SEVERAL;
        } else if (tcp.ack == 1 && state == TCP_ANSWERED) {
            // Simultaneous open: each side has answered the other's SYN.
            next = TCP_ESTABLISHED;
        } else if (tcp.ack == 1 && (is_free || state == TCP_OPENING)) {
            next = TCP_ANSWERED_INSIDE;
        } else if (is_free) {
            next = TCP_OPENING;
        }
    } else if (is_known && tcp.ack == 1 && (state == TCP_ANSWERED || state == TCP_RESET)) {
        next = TCP_ESTABLISHED;
    }
    return next;
}

// After a segment from outside.
bit<8> tcp_after_inbound(in bit<8> state, in tcp_t tcp, in bool is_known) {
    bit<8> next = state;
    if (!is_known) {
        next = state;
    } else if (tcp.rst == 1 || tcp.fin == 1) {
        next = tcp_after_end(state, tcp, TCP_ANSWERED_INSIDE, TCP_FIN_OUTSIDE, TCP_FIN_INSIDE);
    } else if (state == TCP_OPENING) {
        next = tcp.syn == 1 && tcp.ack == 1 ? TCP_ANSWERED : state;
    } else if (tcp.ack == 1 && (state == TCP_ANSWERED_INSIDE || state == TCP_RESET && tcp.syn == 0)) {
        next = TCP_ESTABLISHED;
    }
    return next;
}

// The expiry time of a mapping that enters a state.
bit<8> tcp_expiry(in bit<8> state) {
    bit<8> expiry = EXPIRY_AS_IT_IS;
    if (tcp_is_lasting(state)) {
        expiry = EXPIRY_TCP_ESTABLISHED;
    } else if (state == TCP_CLOSING || state == TCP_RESET) {
        expiry = EXPIRY_TCP_TRANSITORY;
    }
    return expiry;
}

#endif
