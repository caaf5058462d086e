// The state of the TCP connections of a mapping, which decides how long the mapping stays (RFC 5382 REQ-5, RFC 7857 §2).
//
// A mapping has the state of one connection: of the endpoint outside that the inside last opened one to. When the inside opens a second one
// meanwhile, the mapping is for SEVERAL, and stays as long as established ones until it ends. Segments from outside change the state
// only if they belong to the connection.

#ifndef NAT44_TCP_P4
#define NAT44_TCP_P4

#include "packet.p4"

const bit<8> TCP_NEW = 0;
const bit<8> TCP_OPENING = 1;
// A SYN has been answered, by the outside or by the inside.
const bit<8> TCP_ANSWERED = 2;
const bit<8> TCP_ANSWERED_INSIDE = 3;
const bit<8> TCP_ESTABLISHED = 4;
const bit<8> TCP_SEVERAL = 5;
const bit<8> TCP_CLOSING = 6;

// After a segment from inside; `is_known`: it goes to the endpoint that the state is about.
bit<8> tcp_after_outbound(in bit<8> state, in tcp_t tcp, in bool is_known) {
    bit<8> next = state;
    bool is_free = state == TCP_NEW || state == TCP_CLOSING;
    if (tcp.rst == 1 || tcp.fin == 1) {
        if (state == TCP_ESTABLISHED && is_known) {
            next = TCP_CLOSING;
        }
    } else if (tcp.syn == 1) {
        if (!is_free && !is_known) {
            next = TCP_SEVERAL;
        } else if (tcp.ack == 1 && (is_free || state == TCP_OPENING)) {
            next = TCP_ANSWERED_INSIDE;
        } else if (is_free) {
            next = TCP_OPENING;
        }
    } else if (state == TCP_ANSWERED && tcp.ack == 1) {
        next = TCP_ESTABLISHED;
    }
    return next;
}

// After a segment from outside.
bit<8> tcp_after_inbound(in bit<8> state, in tcp_t tcp, in bool is_known) {
    bit<8> next = state;
    if (tcp.rst == 1 || tcp.fin == 1) {
        if (state == TCP_ESTABLISHED && is_known) {
            next = TCP_CLOSING;
        }
    } else if (tcp.syn == 1) {
        if (state == TCP_OPENING && tcp.ack == 1 && is_known) {
            next = TCP_ANSWERED;
        }
    } else if (state == TCP_ANSWERED_INSIDE && tcp.ack == 1) {
        next = TCP_ESTABLISHED;
    }
    return next;
}

// The time that a mapping gets when it comes to a state.
bit<8> tcp_expiry(in bit<8> state) {
    bit<8> expiry = EXPIRY_AS_IT_IS;
    if (state == TCP_ESTABLISHED || state == TCP_SEVERAL) {
        expiry = EXPIRY_TCP_ESTABLISHED;
    } else if (state == TCP_CLOSING) {
        expiry = EXPIRY_TCP_TRANSITORY;
    }
    return expiry;
}

#endif
